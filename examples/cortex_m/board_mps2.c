/* board_mps2.c - Arm's MPS2 boards with a Cortex-M4 (AN386) or M7 (AN500) as QEMU models them: start, output by semihosting,
   a count of instructions, and how deep the stack went. For a board of your own replace this file and the linker script. */
#include "board.h"

extern uint32_t linker_bss[], linker_bss_end[], linker_stack[], linker_stack_end[];
int main(void);
void board_reset(void);

/* ---- semihosting: the debugger's, or QEMU's, services ------------------------------------------------------------- */

enum { SEMIHOSTING_WRITE0 = 0x04, SEMIHOSTING_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

static void semihosting(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_write(const char *text) { semihosting(SEMIHOSTING_WRITE0, text); }

/* ---- instructions ------------------------------------------------------------------------------------------------- */

/* QEMU has no pipeline, so it knows no cycles. Under -icount shift=0 its clock advances by one nanosecond an instruction, and
   SysTick, at 25 MHz, by one tick every 40: what is measured here are instructions, to the nearest 40. */
#define SYSTICK_CONTROL (*(volatile uint32_t *)0xe000e010u)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xe000e014u)
#define SYSTICK_VALUE (*(volatile uint32_t *)0xe000e018u)
enum { SYSTICK_TOP = 0xffffff, INSTRUCTIONS_A_TICK = 40 };

uint32_t board_instructions(void) { return (SYSTICK_TOP - SYSTICK_VALUE) * INSTRUCTIONS_A_TICK; }

/* ---- stack -------------------------------------------------------------------------------------------------------- */

#define UNUSED_STACK 0xa5a5a5a5u

uint32_t board_stack(void) {
    const uint32_t *p = linker_stack;
    while (p < linker_stack_end && *p == UNUSED_STACK) p++;
    return (uint32_t)((const char *)linker_stack_end - (const char *)p);
}

/* ---- start -------------------------------------------------------------------------------------------------------- */

static void start(void) {
    uint32_t leave[2] = {APPLICATION_EXIT, 0};
    uint32_t *p;
    for (p = linker_bss; p < linker_bss_end; p++) *p = 0;
    SYSTICK_RELOAD = SYSTICK_TOP;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 5; /* on, by the processor's clock, no interrupt */
    leave[1] = (uint32_t)main();
    semihosting(SEMIHOSTING_EXIT_EXTENDED, leave);
    for (;;) {}
}

/* The floating-point unit is off after reset, and the stack not yet painted: no compiled code before both. */
__attribute__((naked, noreturn)) void board_reset(void) {
    __asm__ volatile("ldr r0, =0xe000ed88\n"
                     "ldr r1, [r0]\n"
                     "orr r1, r1, #0xf00000\n"
                     "str r1, [r0]\n"
                     "dsb\n"
                     "isb\n"
                     "ldr r0, =linker_stack\n"
                     "ldr r1, =linker_stack_end\n"
                     "ldr r2, =0xa5a5a5a5\n"
                     "1: str r2, [r0], #4\n"
                     "cmp r0, r1\n"
                     "blo 1b\n"
                     "b %c0\n"
                     :
                     : "i"(start));
}

/* Any fault ends the program with a status that says so. */
static void fault(void) {
    static const uint32_t leave[2] = {APPLICATION_EXIT, 99};
    semihosting(SEMIHOSTING_EXIT_EXTENDED, leave);
    for (;;) {}
}

typedef union vector {
    const uint32_t *stack;
    void (*handler)(void);
} vector;

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {linker_stack_end}, {.handler = board_reset}, {.handler = fault}, {.handler = fault},
    {.handler = fault}, {.handler = fault},       {.handler = fault}, {.handler = fault},
    {.handler = fault}, {.handler = fault},       {.handler = fault}, {.handler = fault},
    {.handler = fault}, {.handler = fault},       {.handler = fault}, {.handler = fault},
};
