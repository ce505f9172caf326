/* board_virt.c - QEMU's RISC-V machine `virt` as a microcontroller of 32 bits with a floating-point unit for float: start,
   output by its serial port, its count of instructions, and how deep the stack went. For a board of your own replace this file
   and the linker script. */
#include "board.h"

extern uint32_t linker_bss[], linker_bss_end[], linker_stack[], linker_stack_end[];
int main(void);
void board_reset(void);

#define SERIAL (*(volatile uint8_t *)0x10000000u)
#define FINISHER (*(volatile uint32_t *)0x100000u)
enum { FINISHER_PASS = 0x5555, FINISHER_FAIL = 0x3333 };
#define UNUSED_STACK 0xa5a5a5a5u

void board_write(const char *text) {
    while (*text) SERIAL = (uint8_t)*text++;
}

/* Under -icount shift=0 QEMU counts exactly; it has no pipeline, so it knows no cycles. */
uint32_t board_instructions(void) {
    uint32_t count;
    __asm__ volatile(".option arch, +zicsr\ncsrr %0, minstret" : "=r"(count));
    return count;
}

uint32_t board_stack(void) {
    const uint32_t *p = linker_stack;
    while (p < linker_stack_end && *p == UNUSED_STACK) p++;
    return (uint32_t)((const char *)linker_stack_end - (const char *)p);
}

static void finish(uint32_t status) {
    if (status) FINISHER = FINISHER_FAIL | status << 16;
    else FINISHER = FINISHER_PASS;
    for (;;) {}
}

/* Any trap ends the program with a status that says so. */
__attribute__((aligned(4), used)) static void trap(void) { finish(99); }

__attribute__((used)) static void start(void) {
    uint32_t *p;
    for (p = linker_bss; p < linker_bss_end; p++) *p = 0;
    finish((uint32_t)main());
}

/* The floating-point unit is off after reset, and the stack not yet painted: no compiled code before both. */
__attribute__((naked, noreturn, section(".reset"))) void board_reset(void) {
    __asm__ volatile(".option arch, +zicsr\n"
                     "la t0, trap\n"
                     "csrw mtvec, t0\n"
                     "li t0, 0x2000\n"
                     "csrs mstatus, t0\n"
                     "csrw fcsr, zero\n"
                     "la t0, linker_stack\n"
                     "la t1, linker_stack_end\n"
                     "li t2, 0xa5a5a5a5\n"
                     "1: sw t2, 0(t0)\n"
                     "addi t0, t0, 4\n"
                     "bltu t0, t1, 1b\n"
                     "mv sp, t1\n"
                     "j start\n");
}
