/* test.h - what the test programs share: the library, cmocka, random matrices, the real data where they are. */
#ifndef SHS_TEST_H
#define SHS_TEST_H

#include <setjmp.h>
#include <float.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

/* $SHS_TEST names the only test that is to run, as make test T=SUITE/TEST sets it; * and ? stand for others. */
#ifndef _cmocka_run_group_tests
static inline int run_group(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction before,
                            CMFixtureFunction after) {
    const char *only = getenv("SHS_TEST");
    size_t k = 0;
    cmocka_set_test_filter(only);
    if (only && !strpbrk(only, "*?")) {
        while (k < count && strcmp(tests[k].name, only) != 0) k++;
        if (k == count) {
            fprintf(stderr, "%s: no test is named %s\n", name, only);
            return 1;
        }
    }
    return _cmocka_run_group_tests(name, tests, count, before, after);
}
#define _cmocka_run_group_tests run_group
#endif

/* make test-all and make check-all ask for all cases of the sweeps. */
static inline int all_cases(void) {
    const char *all = getenv("SHS_LONG");
    return all && *all;
}

/* With TEST_LINKED a suite uses the API alone and is linked with one object of the library (library.c), so that the
   implementation is compiled once and not for every suite; else the implementation, and all that is private, is here. Of a
   private copy (SPARSEHS_STATIC) a compiler compiles what the suite uses. */
#ifndef TEST_LINKED
#include "library.c"
#else
#include "library.h"
#ifdef TEST_CL
#include "../sparsehs_cl.h"
#endif
#endif

/* One bound for the CPU, another for a device, which adds in single precision in another order. */
#ifdef TEST_CL
#include "device/on_device.h"
#define BY_ENGINE(cpu, device) (device)
#else
#define BY_ENGINE(cpu, device) (cpu)
#endif

/* Sweeps take every n-th case in make test, half as many with AddressSanitizer, a third on a device, and all of them where
   $SHS_LONG is set, as make test-all does. The first case depends on the instruction set or on another loop, so that most
   cases run somewhere. */
#ifdef TEST_CL
#define SPARSER 3
#elif defined(__SANITIZE_ADDRESS__)
#define SPARSER 2
#else
#define SPARSER 1
#endif
static inline int every(int n) {
    if (all_cases()) return 1;
    return SPARSER * n;
}
static inline int first_of(int which, int n) { return which % every(n); }

/* For cases that each compile kernels: all cases run on the CPU, and every n-th case on a device. */
static inline int every_on_device(int n) {
    if (BY_ENGINE(1, 0) || all_cases()) return 1;
    return n;
}

/* Returns non-zero if nested loops leave out the next case; one case in `step` runs. A step without a common factor with the
   lengths of the loops reaches every value of each loop. `turn` counts the cases. */
static inline int left_out(int *turn, int step) { return (*turn)++ % step != 0; }

/* One bound for float, one for double. */
#ifdef SPARSEHS_DOUBLE
#define BY_TYPE(f, d) (d)
#else
#define BY_TYPE(f, d) (f)
#endif

/* How many statuses there are: numbered from 0 without a gap. */
#define TEST__ONE(code, number, text) +1
enum { STATUSES = SHS_STATUS_LIST(TEST__ONE) };

#define REAL_EPS ((shs_real)BY_TYPE(FLT_EPSILON, DBL_EPSILON))
#define REAL_MIN ((shs_real)BY_TYPE(FLT_MIN, DBL_MIN))
#define REAL_MAX ((shs_real)BY_TYPE(FLT_MAX, DBL_MAX))

/* By their bits: -ffast-math lets a compiler assume that comparisons never see NaN or infinity. */
static inline uint64_t exponent_and_fraction(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1;
}
static inline int is_nan(double x) { return exponent_and_fraction(x) > UINT64_C(0xffe0000000000000); }
static inline int is_infinite(double x) { return exponent_and_fraction(x) == UINT64_C(0xffe0000000000000); }
static inline int is_finite(double x) { return exponent_and_fraction(x) < UINT64_C(0xffe0000000000000); }

/* Whether arithmetic makes subnormal numbers zero, as programs linked with gcc's -ffast-math and some processors do. */
static inline int subnormals_vanish(void) {
    volatile shs_real least = REAL_MIN;
    least /= 2;
    return least == 0;
}

#define assert_ok(call) assert_string_equal(shs_status_name(call), "SHS_OK")
#define assert_status(call, expected) assert_string_equal(shs_status_name(call), shs_status_name(expected))
/* |a - b| <= bound, with the values in the message. NaN fails. */
#define assert_close(a, b, bound)                                                                                              \
    do {                                                                                                                       \
        double a_ = (double)(a), b_ = (double)(b), bound_ = (double)(bound);                                                   \
        if (!is_finite(a_ - b_) || !(fabs(a_ - b_) <= bound_))                                                                 \
            fail_msg("%s = %.17g, %s = %.17g, differ by %g > %g", #a, a_, #b, b_, a_ - b_, bound_);                            \
    } while (0)

#ifdef TEST_CL
#define LEAST_ROUNDS 1 /* a device may do all steps in one round */
#else
#define LEAST_ROUNDS 2
#endif

/* Runs the tests with every instance of the kernels that was compiled and that the processor has; those between the plainest and
   the widest are left to test-all. */
#ifdef TEST_CL /* there the kernels are others */
#define run_with_every_instance(name, tests) cmocka_run_group_tests_name(name, tests, NULL, NULL)
#else
#define run_with_every_instance(name, tests) run_instances(name, tests, sizeof(tests) / sizeof *(tests))
#endif
static inline int run_instances(const char *name, const struct CMUnitTest *tests, size_t count) {
    static const char *const instances[] = {"base", "AVX2", "AVX-512"};
    char title[128];
    int failed = 0, widest = test_instance;
    for (test_instance = 0; test_instance <= widest; test_instance++) {
        if (!test_has_instance(test_instance)) continue;
        if (every(2) > 1 && test_instance > 0 && test_instance < widest) continue;
        snprintf(title, sizeof title, "%s, %s", name, instances[test_instance]);
        failed += _cmocka_run_group_tests(title, tests, count, NULL, NULL);
    }
    test_instance = widest;
    return failed;
}

/* Options of a pursuit that has nothing but these. */
#define LIMITS(s, t) (&(const shs_omp_options){.sparsity = (s), .tolerance = (t)})

static inline int lesser(int a, int b) {
    if (a < b) return a;
    return b;
}

/* When a naive pursuit ends, and how it chooses (NULL: as OMP does). */
typedef struct naive_rule {
    int sparsity;
    shs_real tolerance;
    shs_wide (*score)(shs_wide alpha, shs_wide gjj, shs_wide d2);
} naive_rule;

/* The naive pursuit with coefficients as the library stores them, and the squared error of those before rounding (may be NULL). */
static inline int naive_pursuit(int p, int n, const shs_real *D, const shs_real *y, const naive_rule *rule, int *atoms,
                                shs_real *coefs, double *error2) {
    const int most = lesser(rule->sparsity, p);
    const shs_naive_rule wide = {most, (shs_wide)rule->tolerance, rule->score};
    const size_t room = (size_t)(1 + most + p + p * most + most * most);
    shs_wide *x = (shs_wide *)malloc(room * sizeof *x), *r = x + most;
    double sum = 0;
    int used, k;
    assert_non_null(x);
    used = shs_omp_naive(p, n, D, y, &wide, atoms, x, r, r + p);
    for (k = 0; k < used; k++) coefs[k] = (shs_real)x[k];
    for (k = 0; k < p; k++) {
        const double rest = (double)r[k];
        sum += rest * rest;
    }
    if (error2) *error2 = sum;
    free(x);
    return used;
}
static inline int naive_omp(int p, int n, const shs_real *D, const shs_real *y, int s, int *atoms, shs_real *coefs,
                            double *error2) {
    const naive_rule rule = {s, 0, NULL};
    return naive_pursuit(p, n, D, y, &rule, atoms, coefs, error2);
}

/* n normal deviates. */
static inline void fill_normal(size_t n, shs_real *x, uint64_t seed) {
    shs_random r;
    size_t i;
    shs_random_seed(&r, seed);
    for (i = 0; i < n; i++) x[i] = (shs_real)shs_random_normal(&r);
}

/* Memory of at least one byte, for the NULL of an empty block is no failure. */
static inline void *new_bytes(size_t bytes) {
    void *block = malloc(bytes + !bytes);
    assert_non_null(block);
    return block;
}
static inline shs_real *new_values(size_t n) { return (shs_real *)new_bytes(n * sizeof(shs_real)); }

static inline shs_real *new_normal(size_t n, uint64_t seed) {
    shs_real *x = new_values(n);
    fill_normal(n, x, seed);
    return x;
}

/* n values of [-1, 1), for where arithmetic alone counts: normal deviates take most of the time of small products. */
static inline shs_real *new_uniform(size_t n, uint64_t seed) {
    shs_real *x = new_values(n);
    shs_random r;
    size_t i;
    shs_random_seed(&r, seed);
    for (i = 0; i < n; i++) x[i] = (shs_real)(2 * shs_random_uniform(&r) - 1);
    return x;
}

/* Fills codes with marks, to find places that a call did not write. */
static inline void spoil_codes(shs_codes *c) {
    size_t cells = c->m * (size_t)c->stride;
    memset(c->used, 0x7a, c->m * sizeof *c->used);
    memset(c->atoms, 0x7a, cells * sizeof *c->atoms);
    memset(c->coefs, 0x7a, cells * sizeof *c->coefs);
}

/* The slots of the first m signals from used[i] on hold zeros. */
static inline void check_unused_slots(const shs_codes *c, size_t m) {
    const size_t stride = (size_t)c->stride;
    size_t i, k;
    for (i = 0; i < m; i++)
        for (k = (size_t)c->used[i]; k < stride; k++) {
            const int atom = c->atoms[i * stride + k];
            const double coef = (double)c->coefs[i * stride + k];
            if (atom == 0 && is_finite(coef) && coef >= 0 && coef <= 0) continue;
            fail_msg("signal %zu of %d atoms, slot %zu: atom %d, %g", i, c->used[i], k, atom, coef);
        }
}

static inline const char *data_folder(void) {
    const char *root = getenv("SHS_DATA");
    if (root && *root) return root;
    return "../shared/data";
}

/* The path of a file below the data folder ($SHS_DATA, else ../shared/data), or of a golden file ($SHS_GOLDEN, else golden
   beside it); static storage. The tests are run from the project's root. */
static inline const char *data_path(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", data_folder(), name);
    return path;
}

static inline const char *golden_path(const char *name) {
    static char path[1024];
    const char *root = getenv("SHS_GOLDEN");
    if (root && *root) snprintf(path, sizeof path, "%s/%s", root, name);
    else snprintf(path, sizeof path, "%s/../golden/%s", data_folder(), name);
    return path;
}

/* Opens a file of real data, or reports the test as skipped, by name; SHS_DATA=none asks for that. */
static inline FILE *open_or_skip(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        const char *data = getenv("SHS_DATA");
        if (data && strcmp(data, "none") == 0) print_message("without real data, as asked\n");
        else print_message("skipped: there is no %s\n", path);
        skip();
    }
    return f;
}

/* count floats of a .f32 file: little-endian, whatever the processor is. */
static inline float *read_f32_or_skip(const char *path, size_t count) {
    FILE *f = open_or_skip(path);
    float *x = (float *)new_bytes(count * sizeof *x);
    size_t i;
    assert_int_equal(fread(x, sizeof *x, count, f), count);
    fclose(f);
    for (i = 0; i < count; i++) {
        unsigned char b[4];
        uint32_t bits = 0;
        int k;
        memcpy(b, x + i, 4);
        for (k = 3; k >= 0; k--) bits = bits << 8 | b[k];
        memcpy(x + i, &bits, 4);
    }
    return x;
}

/* count doubles of a .f64 file as shs_real, likewise. */
static inline shs_real *read_f64_or_skip(const char *path, size_t count) {
    FILE *f = open_or_skip(path);
    shs_real *x = new_values(count);
    size_t i;
    int k;
    for (i = 0; i < count; i++) {
        unsigned char b[8];
        uint64_t bits = 0;
        double value;
        assert_int_equal(fread(b, 1, 8, f), 8);
        for (k = 7; k >= 0; k--) bits = bits << 8 | b[k];
        memcpy(&value, &bits, 8);
        x[i] = (shs_real)value;
    }
    fclose(f);
    return x;
}

/* The precision for tests that try both double and shs_real. */
static inline shs_precision precision_of(int precise) {
    if (precise) return SHS_PRECISION_ALWAYS;
    return SHS_PRECISION_NEVER;
}

#endif
