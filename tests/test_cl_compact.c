/* test_cl_compact.c - codes rounded on an OpenCL device beside the CPU: the same bits where sums are exact, never worse than the
   nearest of each, and nothing half done where a call fails. */
#include "test_signals.h"
#include "test_codes.h"
#include "memory_file.h"
#include "device/cl_shim.h"

static shs_cl *device;
static shs_context on_device;

/* How the device is used. */
enum { AS_IT_IS = 0, AS_A_GPU = 1, NO_LOCAL = 2, SINGLE = 4, FALLBACK = 8 };

static void close_device(void) {
    assert_int_equal(device->in_use, 0);
    shs_cl_destroy(device);
    device = NULL;
    assert_int_equal(shim.live, 0);
}

static void open_device(int how, size_t memory_limit) {
    shs_cl_options o = SHS_ZERO;
    shim_begin();
    o.platform = getenv("SHS_CL_PLATFORM");
    o.memory_limit = memory_limit;
    o.trust = shim_trust();
    o.fallback = (how & FALLBACK) != 0;
    o.single_only = (how & SINGLE) != 0;
    if (shs_cl_create(NULL, &o, &device) != SHS_OK) {
        print_message("skipped: there is no OpenCL device\n");
        skip();
    }
    if (how & AS_A_GPU) device->ways.is_cpu = 0;
    if (how & NO_LOCAL) device->about.local_bytes = 0;
    memset(&on_device, 0, sizeof on_device);
    on_device.engine = shs_cl_engine(device);
}

/* Whether the device makes its sums as the CPU does. */
static int as_wide(void) { return device->has_double == (sizeof(shs_wide) > 4) && device->has_double; }

static size_t cells(const shs_codes *x) { return x->m * (size_t)x->stride; }

static void assert_same_codes(const shs_codes *a, const shs_codes *b) {
    assert_memory_equal(a->used, b->used, a->m * sizeof(int));
    assert_memory_equal(a->atoms, b->atoms, cells(a) * sizeof(int));
    assert_memory_equal(a->coefs, b->coefs, cells(a) * sizeof(shs_real));
}

/* Atoms of -2 to 2: their products are exact in any order. */
static shs_real *new_exact(int p, int n, uint64_t seed) {
    shs_real *D = (shs_real *)malloc((size_t)(p * n) * sizeof *D);
    shs_random r;
    int i;
    shs_random_seed(&r, seed);
    for (i = 0; i < p * n; i++) D[i] = (shs_real)((int)shs_random_below(&r, 5) - 2);
    return D;
}

static const struct shape {
    int p, n, stride, used;
    size_t m;
} shapes[] = {
    {16, 40, 6, -1, 300},                                                            /* with the Gram matrix */
    {16, 40, 9, 6, 257},                                                             /* whose places are not all used */
    {5, 100, 2, 2, 40},                                                              /* without: there are few signals */
    {40, 60, 20, -1, 90}, {70, 90, 64, -1, 30}, {3, 7, 1, 1, 1}, {4, 6, 6, -1, 200}, /* atoms that depend on each other */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* With exact products the bits are the CPU's, from items in groups or alone, with rooms here or there. */
static void test_same_bits(void **state) {
    int turn = 0;
    static const int hows[] = {AS_IT_IS, AS_A_GPU, AS_A_GPU | NO_LOCAL};
    size_t h, s, t;
    (void)state;
    for (h = 0; h < sizeof hows / sizeof *hows; h++) {
        open_device(hows[h], 0);
        for (s = 0; s < SHAPES && as_wide(); s++)
            for (t = 0; t < 3; t++) {
                if (left_out(&turn, every(11))) continue;
                const struct shape *w = shapes + s;
                shs_real *D = new_exact(w->p, w->n, 7 + s);
                shs_codes x = some_codes(w->m, w->stride, w->n, w->used, t == 1 ? 1e-3 : 3, 10 * s + t), z = copy_of(&x);
                assert_ok(shs_codes_round(NULL, w->p, w->n, D, w->p, coef_types[t], &x));
                assert_ok(shs_codes_round(&on_device, w->p, w->n, D, w->p, coef_types[t], &z));
                assert_same_codes(&x, &z);
                assert_ok(shs_codes_round(&on_device, w->p, w->n, D, w->p, coef_types[t], &z));
                assert_same_codes(&x, &z);
                shs_codes_free(NULL, &x), shs_codes_free(NULL, &z);
                free(D);
            }
        close_device();
    }
}

/* Any dictionary, with doubles and without: all coefficients are numbers of the type, no signal is worse than the nearest of
   each, few are not as the CPU has them, and the error of all is the CPU's. */
static void test_never_worse_than_the_nearest(void **state) {
    int turn = 0;
    static const int hows[] = {AS_IT_IS, AS_A_GPU | SINGLE, AS_A_GPU | NO_LOCAL | SINGLE};
    size_t h, s, t, i;
    int k;
    (void)state;
    for (h = 0; h < sizeof hows / sizeof *hows; h++) {
        size_t differ = 0, all = 0;
        open_device(hows[h], 0);
        for (s = 0; s < SHAPES; s++)
            for (t = 0; t < 3; t++) {
                if (left_out(&turn, every(11))) continue;
                const struct shape *w = shapes + s;
                int p = w->p, n = w->n;
                shs_real *D = new_normal((size_t)((p + 2) * n), 3 + s),
                         *close = (shs_real *)malloc((size_t)(p * n) * sizeof *D);
                shs_codes x = some_codes(w->m, w->stride, n, w->used, 3, 10 * s + t), here = copy_of(&x), there = copy_of(&x),
                          nearest = copy_of(&x), again;
                double sum_here = 0, sum_there = 0;
                memory_file *f = (memory_file *)calloc(1, sizeof *f);
                for (k = 0; k < n; k++) { /* alike */
                    D[k * (p + 2)] += (shs_real)(2 * (k % 3));
                    normalise(p, 1, D + k * (p + 2));
                    memcpy(close + k * p, D + k * (p + 2), (size_t)p * sizeof *D);
                }
                assert_ok(shs_codes_round(NULL, p, n, D, p + 2, coef_types[t], &here));
                assert_ok(shs_codes_round(NULL, 0, n, NULL, 0, coef_types[t], &nearest));
                assert_ok(shs_codes_round(&on_device, p, n, D, p + 2, coef_types[t], &there));
                again = copy_of(&there);
                assert_ok(shs_codes_round(NULL, p, n, D, p + 2, coef_types[t], &again));
                assert_same_codes(&there, &again);
                assert_non_null(f);
                if (w->m * (size_t)w->stride * 4 < sizeof f->bytes)
                    assert_ok(shs_compact_save(&there, n, coef_types[t], write_bytes, f));
                free(f);
                for (i = 0; i < x.m; i++) {
                    double size = 0, a = error_of(p, close, &x, &there, i), b = error_of(p, close, &x, &nearest, i);
                    const size_t at = i * (size_t)w->stride;
                    for (k = 0; k < w->stride; k++) size = fmax(size, fabs((double)x.coefs[at + (size_t)k]));
                    if (a > b * (1 + 1e-4) + 1e-12 * size * size) fail_msg("shape %zu, signal %zu: %g, nearest %g", s, i, a, b);
                    sum_here += error_of(p, close, &x, &here, i);
                    sum_there += a;
                    differ += memcmp(here.coefs + at, there.coefs + at, (size_t)w->stride * sizeof(shs_real)) != 0;
                    all++;
                }
                assert_true(sum_there <= sum_here * (as_wide() ? 1.01 : 1.1) + 1e-12);
                shs_codes_free(NULL, &x), shs_codes_free(NULL, &here), shs_codes_free(NULL, &there);
                shs_codes_free(NULL, &nearest), shs_codes_free(NULL, &again), free(D), free(close);
            }
        print_message("%zu of %zu signals are not as the CPU has them\n", differ, all);
        assert_true(differ * (as_wide() ? 100 : 20) <= all);
        close_device();
    }
}

/* More atoms than an item has time for: unsupported, or the CPU's; the codes are as they were, or its own. */
static void test_many_atoms(void **state) {
    const int n = 90, p = 80;
    shs_real *D = new_normal((size_t)(p * n), 5);
    int fallback;
    (void)state;
    for (fallback = 0; fallback < 2; fallback++) {
        shs_codes x = some_codes(9, 70, n, 65, 1, 4), z = copy_of(&x), before = copy_of(&x);
        open_device(fallback ? FALLBACK : AS_IT_IS, 0);
        assert_status(shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I8, &z), fallback ? SHS_OK : SHS_UNSUPPORTED);
        assert_ok(shs_codes_round(NULL, p, n, D, p, SHS_COEF_I8, &x));
        assert_same_codes(&z, fallback ? &x : &before);
        /* without a dictionary nothing is asked of it */
        assert_ok(shs_codes_round(&on_device, 0, n, NULL, 0, SHS_COEF_I8, &before));
        close_device();
        shs_codes_free(NULL, &x), shs_codes_free(NULL, &z), shs_codes_free(NULL, &before);
    }
    free(D);
}

/* Slices that take turns change nothing; memory for less than one of them is a status, or the CPU's affair. */
static void test_slices(void **state) {
    const int p = 6, n = 20;
    shs_real *D = new_exact(p, n, 1);
    shs_codes x = some_codes(3000, 4, n, -1, 1, 8), want = copy_of(&x), z;
    size_t limit;
    int refused = 0, done = 0;
    (void)state;
    open_device(AS_A_GPU, 0);
    assert_ok(shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I16, &want));
    close_device();
    for (limit = 400; limit < 200000; limit = limit * 7 / 2) {
        shs_status status;
        z = copy_of(&x);
        open_device(AS_A_GPU, limit);
        shim.kernels_run = 0;
        status = shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I16, &z);
        assert_true(device->held.peak <= limit);
        if (status == SHS_OK) done += shim.kernels_run > 4;
        else {
            assert_status(status, SHS_NO_MEMORY);
            refused++;
        }
        assert_same_codes(&z, status == SHS_OK ? &want : &x);
        close_device();
        shs_codes_free(NULL, &z);
    }
    assert_true(done > 1 && refused > 0);
    z = copy_of(&x);
    open_device(FALLBACK, 400);
    assert_ok(shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I16, &z));
    if (as_wide()) assert_same_codes(&z, &want);
    close_device();
    shs_codes_free(NULL, &x), shs_codes_free(NULL, &want), shs_codes_free(NULL, &z), free(D);
}

/* Each OpenCL call fails once, alone or with all after it: a status, nothing is left behind, each signal is as it was or as it
   shall be, and the same call again rounds the rest. */
static void test_calls_fail(void **state) {
    const int p = 6, n = 20;
    shs_real *D = new_exact(p, n, 1);
    shs_codes x = some_codes(300, 4, n, -1, 1, 8), want = copy_of(&x), z = copy_of(&x);
    int lost;
    (void)state;
    for (lost = 0; lost < 4; lost++) { /* the last two with rooms in global memory */
        long calls, live, k, refused = 0;
        open_device(AS_A_GPU | (lost > 1 ? NO_LOCAL : 0), lost > 1 ? 1 << 20 : 30000);
        memcpy(want.coefs, x.coefs, cells(&x) * sizeof *x.coefs);
        assert_ok(shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I8, &want));
        shs_cl_trim(device);
        live = shim.live;
        memcpy(z.coefs, x.coefs, cells(&x) * sizeof *x.coefs);
        shim.calls = 0;
        assert_ok(shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I8, &z));
        calls = shim.calls;
        for (k = 0; k < calls; k++) {
            shs_status status;
            size_t i;
            memcpy(z.coefs, x.coefs, cells(&x) * sizeof *x.coefs);
            shs_cl_trim(device);
            shim.calls = 0;
            shim.failed = 0;
            shim.fail_at = k;
            shim.lost = lost & 1;
            status = shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I8, &z);
            shim.fail_at = -1;
            shim.lost = 0;
            clFinish(device->queue[0]);
            clFinish(device->queue[1]);
            shs_cl_trim(device);
            if (shim.live != live || device->in_use)
                fail_msg("call %ld of %ld (%s): %ld objects, %zu bytes are left", k, calls, shim.first, shim.live - live,
                         device->in_use);
            refused += status != SHS_OK;
            if (status == SHS_OK) assert_same_codes(&z, &want);
            for (i = 0; i < x.m; i++) {
                const shs_real *row = z.coefs + i * 4;
                assert_true(!memcmp(row, x.coefs + i * 4, 4 * sizeof *row) ||
                            !memcmp(row, want.coefs + i * 4, 4 * sizeof *row));
            }
            if (status == SHS_OK) continue;
            assert_ok(shs_codes_round(&on_device, p, n, D, p, SHS_COEF_I8, &z));
            assert_same_codes(&z, &want);
        }
        assert_true(refused > calls / 2);
        close_device();
    }
    shs_codes_free(NULL, &x), shs_codes_free(NULL, &want), shs_codes_free(NULL, &z), free(D);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),  cmocka_unit_test(test_never_worse_than_the_nearest),
        cmocka_unit_test(test_many_atoms), cmocka_unit_test(test_slices),
        cmocka_unit_test(test_calls_fail),
    };
    return cmocka_run_group_tests_name("compact codes on a device", tests, NULL, NULL);
}
