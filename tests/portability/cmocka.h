/* cmocka.h - stands in for cmocka where there is none: cross compilers, Windows, WebAssembly. As much of it as tests/ uses,
   in C99, with the same closing lines. The program's own checks: nothing here knows of the library. */
#ifndef SHS_STAND_IN_FOR_CMOCKA_H
#define SHS_STAND_IN_FOR_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    int (*setup)(void **state);
    int (*teardown)(void **state);
    void *initial_state;
};

#define cmocka_unit_test(f)                                                                                                    \
    { #f, f, NULL, NULL, NULL }
#define cmocka_unit_test_setup(f, setup)                                                                                       \
    { #f, f, setup, NULL, NULL }
#define cmocka_unit_test_setup_teardown(f, setup, teardown)                                                                    \
    { #f, f, setup, teardown, NULL }

/* What a check does that fails, or a test that cannot be made here: back to the loop over the tests. */
enum { CHECK_FAILED = 1, CHECK_SKIPPED = 2 };
static jmp_buf check_return;

static inline void print_message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

static inline void check_ends(int how, const char *what, const char *file, int line) {
    if (how == CHECK_FAILED) print_message("[  ERROR   ] --- %s\n%s:%d: error: Failure!\n", what, file, line);
    longjmp(check_return, how);
}

static inline void check_integers(uintmax_t a, uintmax_t b, int equal, const char *what, const char *file, int line) {
    if ((a == b) == equal) return;
    print_message("%" PRIdMAX " and %" PRIdMAX "\n", (intmax_t)a, (intmax_t)b);
    check_ends(CHECK_FAILED, what, file, line);
}

static inline void check_range(uintmax_t value, uintmax_t low, uintmax_t high, const char *what, const char *file, int line) {
    if (low <= value && value <= high) return;
    print_message("%" PRIuMAX " is not in %" PRIuMAX " .. %" PRIuMAX "\n", value, low, high);
    check_ends(CHECK_FAILED, what, file, line);
}

static inline void check_strings(const char *a, const char *b, int equal, const char *what, const char *file, int line) {
    if ((strcmp(a, b) == 0) == equal) return;
    print_message("\"%s\" and \"%s\"\n", a, b);
    check_ends(CHECK_FAILED, what, file, line);
}

#define skip() check_ends(CHECK_SKIPPED, "", __FILE__, __LINE__)
#define fail() check_ends(CHECK_FAILED, "", __FILE__, __LINE__)
#define fail_msg(...) (print_message(__VA_ARGS__), print_message("\n"), fail())
#define check_that(condition, what)                                                                                            \
    do {                                                                                                                       \
        if (!(condition)) check_ends(CHECK_FAILED, what, __FILE__, __LINE__);                                                  \
    } while (0)
#define assert_true(c) check_that(c, #c)
#define assert_false(c) check_that(!(c), "not: " #c)
#define assert_null(p) check_that((p) == NULL, #p " is not NULL")
#define assert_non_null(p) check_that((p) != NULL, #p " is NULL")
#define assert_ptr_equal(a, b) check_that((const void *)(a) == (const void *)(b), #a " != " #b)
#define assert_ptr_not_equal(a, b) check_that((const void *)(a) != (const void *)(b), #a " == " #b)
#define assert_int_equal(a, b) check_integers((uintmax_t)(a), (uintmax_t)(b), 1, #a " != " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) check_integers((uintmax_t)(a), (uintmax_t)(b), 0, #a " == " #b, __FILE__, __LINE__)
#define assert_in_range(value, low, high)                                                                                      \
    check_range((uintmax_t)(value), (uintmax_t)(low), (uintmax_t)(high), #value, __FILE__, __LINE__)
#define assert_string_equal(a, b) check_strings(a, b, 1, #a " != " #b, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) check_strings(a, b, 0, #a " == " #b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) check_that(memcmp(a, b, size) == 0, #a " and " #b " differ")
#define assert_memory_not_equal(a, b, size) check_that(memcmp(a, b, size) != 0, #a " and " #b " are the same")

#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define _cmocka_run_group_tests(name, tests, count, setup, teardown) check_all(name, tests, count, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                                              \
    check_all(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

static int check_one(const struct CMUnitTest *t, void **state) {
    int how = setjmp(check_return);
    if (how) return how;
    if (t->setup && t->setup(state)) return CHECK_FAILED;
    t->test(state);
    if (t->teardown && t->teardown(state)) return CHECK_FAILED;
    return 0;
}

/* Tests named in $TESTS_LEFT_OUT, a list of words, are skipped: the longest ones, where a processor is emulated. */
static inline int check_left_out(const char *name) {
    const char *list = getenv("TESTS_LEFT_OUT"), *at = list;
    size_t length = strlen(name);
    while (at && (at = strstr(at, name)) != NULL) {
        if ((at == list || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ')) return 1;
        at += length;
    }
    return 0;
}

/* The number of tests that failed. */
static inline int check_all(const char *name, const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
                            int (*teardown)(void **)) {
    static void *state, *own; /* a test begins with the group's, or with its own */
    static int failed, skipped;
    static size_t i;
    failed = skipped = 0;
    print_message("[==========] %s: Running %d test(s).\n", name, (int)count);
    if (setup && setup(&state)) return (int)count;
    for (i = 0; i < count; i++) {
        const char *told;
        int how;
        clock_t started = clock();
        print_message("[ RUN      ] %s\n", tests[i].name);
        own = tests[i].initial_state ? tests[i].initial_state : state;
        how = check_left_out(tests[i].name) ? CHECK_SKIPPED : check_one(tests + i, &own);
        failed += how == CHECK_FAILED;
        skipped += how == CHECK_SKIPPED;
        told = "     OK";
        if (how == CHECK_FAILED) told = "FAILED ";
        if (how == CHECK_SKIPPED) told = "SKIPPED";
        print_message("[  %s ] %s (%.1f s)\n", told, tests[i].name, (double)(clock() - started) / CLOCKS_PER_SEC);
    }
    if (teardown) teardown(&state);
    print_message("[  PASSED  ] %d test(s).\n", (int)count - failed - skipped);
    if (skipped) print_message("[  SKIPPED ] %d test(s).\n", skipped);
    if (failed) print_message("[  FAILED  ] %d test(s).\n", failed);
    return failed;
}

#endif
