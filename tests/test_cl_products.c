/* test_cl_products.c - shs_gemm and shs_syrk on an OpenCL device against their naive twins. */
#include "test_cube_tools.h"
#include "device/cl_shim.h"

/* ---- devices ------------------------------------------------------------------------------------------------------ */

static shs_cl *device;
static shs_context on_device;
static int kept; /* blocks of the device's own memory */

static void *count_alloc(void *user, size_t size) {
    (void)user;
    kept++;
    return malloc(size);
}
static void count_free(void *user, void *block) {
    (void)user;
    kept--;
    free(block);
}

static void close_device(void) {
    shs_cl_destroy(device);
    device = NULL;
    assert_int_equal(shim.live, 0);
    assert_int_equal(kept, 0);
}

/* Matrix units are taken for granted: where there is no PTX, the same sums are made without. */
static void open_device(shs_cl_syrk way, size_t memory_limit, int fallback) {
    shs_cl_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    ctx.alloc_fn = count_alloc;
    ctx.free_fn = count_free;
    shim_begin();
    o.platform = getenv("SHS_CL_PLATFORM");
    o.syrk = way;
    o.memory_limit = memory_limit;
    o.fallback = fallback;
    o.trust = shim_trust();
    if (shs_cl_create(&ctx, &o, &device) != SHS_OK) {
        print_message("skipped: there is no OpenCL device\n");
        skip();
    }
    device->ways.units64 = device->has_double ? 2 : 0;
    on_device.engine = shs_cl_engine(device);
}

/* ---- products ----------------------------------------------------------------------------------------------------- */

/* C = alpha op(A) op(B) + beta C, or the triangle of it with B = A; gap: by how much leading dimensions are too large. */
typedef struct product {
    int symmetric;
    shs_uplo uplo;
    shs_trans transa, transb;
    int m, n, k, gap;
    shs_real alpha, beta;
    int lda, ldb, ldc;
    shs_real *A, *B, *C, *before, *want, *scale;
} product;

static shs_real *magnitudes(const shs_real *x, size_t n) {
    shs_real *y = NEW(shs_real, n);
    size_t i;
    for (i = 0; i < n; i++) y[i] = x[i] < 0 ? -x[i] : x[i];
    return y;
}

static shs_real *copy_of(const shs_real *x, size_t n) {
    shs_real *y = NEW(shs_real, n);
    memcpy(y, x, n * sizeof *y);
    return y;
}

static shs_status make(const shs_context *ctx, const product *p) {
    if (p->symmetric) return shs_syrk(ctx, p->uplo, p->transa, p->n, p->k, p->alpha, p->A, p->lda, p->beta, p->C, p->ldc);
    return shs_gemm(ctx, p->transa, p->transb, p->m, p->n, p->k, p->alpha, p->A, p->lda, p->B, p->ldb, p->beta, p->C, p->ldc);
}

static void make_naive(const product *p, shs_real alpha, const shs_real *A, const shs_real *B, shs_real beta, shs_real *C) {
    if (p->symmetric) assert_ok(shs_syrk_naive(p->uplo, p->transa, p->n, p->k, alpha, A, p->lda, beta, C, p->ldc));
    else
        assert_ok(shs_gemm_general_naive(p->transa, p->transb, p->m, p->n, p->k, alpha, A, p->lda, B, p->ldb, beta, C, p->ldc));
}

/* Prepares factors of seeded values, the result of the naive twin, and the sum of magnitudes as the scale of rounding. */
static void prepare(product *p) {
    size_t a, b, c, i;
    shs_real *abs_A, *abs_B;
    if (p->symmetric) {
        p->m = p->n;
        p->transb = p->transa == SHS_TRANS_NO ? SHS_TRANS_YES : SHS_TRANS_NO;
    }
    p->lda = (p->transa == SHS_TRANS_YES ? p->k : p->m) + p->gap;
    p->ldb = (p->transb == SHS_TRANS_YES ? p->n : p->k) + p->gap;
    p->ldc = p->m + p->gap;
    a = (size_t)(p->lda * (p->transa == SHS_TRANS_YES ? p->m : p->k));
    b = (size_t)(p->ldb * (p->transb == SHS_TRANS_YES ? p->k : p->n));
    c = (size_t)(p->ldc * p->n);
    p->A = new_normal(a, 1);
    p->B = new_normal(b, 2);
    p->C = new_normal(c, 3);
    for (i = 0; p->beta == 0 && i < c; i++) p->C[i] = (shs_real)NOT_A_NUMBER; /* nobody reads it */
    p->before = copy_of(p->C, c);
    p->want = copy_of(p->C, c);
    p->scale = magnitudes(p->C, c);
    abs_A = magnitudes(p->A, a);
    abs_B = magnitudes(p->B, b);
    make_naive(p, p->alpha, p->A, p->B, p->beta, p->want);
    make_naive(p, p->alpha < 0 ? -p->alpha : p->alpha, abs_A, abs_B, p->beta < 0 ? -p->beta : p->beta, p->scale);
    free(abs_A);
    free(abs_B);
}

static void clear(product *p) { free(p->A), free(p->B), free(p->C), free(p->before), free(p->want), free(p->scale); }

/* Checks C against the twin, and checks that gaps between columns and the other triangle are unchanged. */
static void check(const product *p) {
    int i, j;
    for (j = 0; j < p->n; j++)
        for (i = 0; i < p->ldc; i++) {
            int wanted = i < p->m && (!p->symmetric || (p->uplo == SHS_UPLO_LOWER ? i >= j : i <= j));
            const shs_real *c = SHS__AT(p->C, p->ldc, i, j);
            if (wanted)
                assert_close(*c, *SHS__AT(p->want, p->ldc, i, j),
                             (2 * p->k + 4) * (double)SHS__EPS * (double)*SHS__AT(p->scale, p->ldc, i, j));
            else assert_memory_equal(c, SHS__AT(p->before, p->ldc, i, j), sizeof *c);
        }
}

static int untouched(const product *p) { return memcmp(p->C, p->before, (size_t)(p->ldc * p->n) * sizeof *p->C) == 0; }

static void check_product(product p) {
    prepare(&p);
    assert_ok_cl(make(&on_device, &p));
    check(&p);
    clear(&p);
}

static product of_gemm(int m, int n, int k, int form) {
    product p = SHS_ZERO;
    p.m = m;
    p.n = n;
    p.k = k;
    p.transa = (shs_trans)(form & 1);
    p.transb = (shs_trans)(form >> 1 & 1);
    p.gap = form >> 2 & 3;
    p.alpha = (shs_real)(form % 3 ? 1.5 : -1);
    p.beta = 0;
    if (form % 5 == 1) p.beta = (shs_real)0.5;
    if (form % 5 == 3) p.beta = -1;
    return p;
}

static product of_syrk(int n, int k, int form) {
    product p = of_gemm(n, n, k, form);
    p.symmetric = 1;
    p.uplo = (shs_uplo)(form >> 1 & 1);
    return p;
}

static const int sizes[] = {1, 2, 5, 8, 17, 31, 32, 33, 63, 64, 65, 100, 128, 130};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- tests -------------------------------------------------------------------------------------------------------- */

static void test_gemm(void **state) {
    int i, j, form = 0;
    (void)state;
    open_device(SHS_CL_SYRK_AUTO, 0, 0);
    for (i = 0; i < SIZES; i++)
        for (j = 0; j < SIZES; j += 3) {
            check_product(of_gemm(sizes[i], sizes[(i + j) % SIZES], sizes[(2 * i + j + 1) % SIZES], form));
            form++;
        }
    for (form = 0; form < 16; form++) check_product(of_gemm(40, 30, 20, form));
    for (form = 0; form < 4; form++) check_product(of_gemm(19, 7, 3001, form));
    close_device();
}

/* Processors multiply without tiles; here they have to do as devices do, in slices too. */
static void test_gemm_in_tiles(void **state) {
    int form;
    (void)state;
    open_device(SHS_CL_SYRK_AUTO, 0, 0);
    device->ways.is_cpu = 0;
    if (device->about.max_group >= 256) {
        for (form = 0; form < 16; form += every(11)) check_product(of_gemm(130, 37, 65, form));
        for (form = 0; form < 8; form += every(5)) check_product(of_gemm(19, 140, 1003, form));
    }
    close_device();
}

static void test_syrk(void **state) {
    int way, i, form;
    (void)state;
    for (way = SHS_CL_SYRK_AUTO; way <= SHS_CL_SYRK_UNITS; way++) {
        open_device((shs_cl_syrk)way, 0, 0);
        if (!way || shs__cl_can_syrk(device, (shs_cl_syrk)way)) {
            for (i = form = 0; i < SIZES; i += every(2)) {
                check_product(of_syrk(sizes[i], sizes[(5 * i + 3) % SIZES], form));
                form++;
            }
            for (form = 0; form < 16; form++) check_product(of_syrk(70, 45, form));
            for (form = 0; form < 4; form++) check_product(of_syrk(35, 3001, form));
        }
        close_device();
    }
}

/* Where little fits, the long dimension goes up in pieces. */
static void test_pieces(void **state) {
    size_t limit;
    int form, was_refused = 0;
    (void)state;
    for (limit = 32 << 10; limit <= 8 << 20; limit *= 4) {
        open_device(SHS_CL_SYRK_AUTO, limit, 0);
        for (form = 0; form < 8; form++) {
            product p = form & 4 ? of_gemm(33, 21, 1500, form) : of_syrk(33, 1500, form);
            shs_status status;
            prepare(&p);
            status = make(&on_device, &p);
            if (status == SHS_OK) check(&p);
            else {
                assert_status(status, SHS_NO_MEMORY);
                assert_true(untouched(&p));
                was_refused = 1;
            }
            assert_true(device->in_use == 0);
            if (limit >= 2 << 20) assert_ok(status);
            clear(&p);
        }
        close_device();
    }
    assert_true(was_refused);
}

/* The same bits in every run. */
static void test_same_bits_again(void **state) {
    product p = of_syrk(50, 2000, 0), q = of_gemm(50, 20, 2000, 0);
    shs_real *first;
    int i;
    (void)state;
    open_device(SHS_CL_SYRK_AUTO, 0, 0);
    prepare(&p);
    prepare(&q);
    assert_ok_cl(make(&on_device, &p));
    first = copy_of(p.C, 50 * 50);
    for (i = 0; i < 3; i++) {
        assert_ok_cl(make(&on_device, &q)); /* leaves other buffers behind */
        assert_ok_cl(make(&on_device, &p));
        assert_memory_equal(p.C, first, 50 * 50 * sizeof *first);
    }
    clear(&p);
    clear(&q);
    free(first);
    close_device();
}

/* An unsupported way returns SHS_UNSUPPORTED, or the CPU computes the product. */
static void test_ways_that_are_not_there(void **state) {
    product p = of_syrk(20, 30, 0);
    int fallback;
    (void)state;
    prepare(&p);
    for (fallback = 0; fallback < 2; fallback++) {
        open_device(SHS_CL_SYRK_UNITS, 0, fallback);
        device->ways.units64 = 0;
        assert_status(make(&on_device, &p), fallback ? SHS_OK : SHS_UNSUPPORTED);
        if (fallback) check(&p);
        else assert_true(untouched(&p));
        close_device();
        open_device(SHS_CL_SYRK_SPLIT, 0, fallback);
        device->about.max_group = 512;
        assert_status(make(&on_device, &p), fallback ? SHS_OK : SHS_UNSUPPORTED);
        close_device();
    }
    clear(&p);
    {
        shs_cl_options o = SHS_ZERO;
        shs_cl *cl;
        o.syrk = (shs_cl_syrk)4;
        assert_status(shs_cl_create(NULL, &o, &cl), SHS_BAD_OPTIONS);
    }
}

/* A compiler without matrix units is tried once for each of their instructions. Then other kernels compute the product. */
static void test_units_do_not_build(void **state) {
    int left, units;
    (void)state;
    for (left = 1; left >= 0; left--) {
        product p = of_syrk(20, 30, 0);
        prepare(&p);
        open_device(SHS_CL_SYRK_AUTO, 0, 0);
        units = shs__cl_can_syrk(device, SHS_CL_SYRK_UNITS);
        device->ways.units64 = units ? left + 1 : 0;
        shim.only = "clBuildProgram";
        shim.error = CL_BUILD_PROGRAM_FAILURE;
        shim.calls = 0;
        shim.fail_at = 0;
        if (units) {
            assert_ok_cl(make(&on_device, &p));
            check(&p);
            assert_int_equal(device->ways.units64, left);
        } else assert_status(make(&on_device, &p), SHS_BUILD_FAILED);
        close_device();
        clear(&p);
    }
}

/* Each OpenCL call fails once, alone or with all after it: a status, nothing left behind, and the next product is right. */
static void check_failures(product p, int lost) {
    long calls, live, k, refused = 0;
    int blocks;
    prepare(&p);
    open_device(SHS_CL_SYRK_AUTO, 512 << 10, 0);
    assert_ok_cl(make(&on_device, &p));
    shs_cl_trim(device);
    live = shim.live;
    blocks = kept;
    shim.calls = 0;
    memcpy(p.C, p.before, (size_t)(p.ldc * p.n) * sizeof *p.C);
    assert_ok_cl(make(&on_device, &p));
    calls = shim.calls;
    shs_cl_trim(device);
    for (k = 0; k < calls; k++) {
        shs_status status;
        memcpy(p.C, p.before, (size_t)(p.ldc * p.n) * sizeof *p.C);
        shim.calls = 0;
        shim.failed = 0;
        shim.fail_at = k;
        shim.lost = lost;
        status = make(&on_device, &p);
        shim.fail_at = -1;
        shim.lost = 0;
        clFinish(device->queue[0]);
        clFinish(device->queue[1]);
        shs_cl_trim(device);
        if (shim.live != live || kept != blocks || device->in_use)
            fail_msg("call %ld of %ld (%s): %ld objects, %d blocks, %zu bytes are left", k, calls, shim.first, shim.live - live,
                     kept - blocks, device->in_use);
        if (status == SHS_OK) check(&p);
        else refused++;
    }
    assert_true(refused > calls / 2);
    memcpy(p.C, p.before, (size_t)(p.ldc * p.n) * sizeof *p.C);
    assert_ok_cl(make(&on_device, &p));
    check(&p);
    close_device();
    clear(&p);
}

static void test_calls_fail(void **state) {
    int lost;
    (void)state;
    for (lost = 0; lost < 2; lost++) {
        check_failures(of_syrk(33, 1500, 3), lost);
        check_failures(of_gemm(33, 21, 1500, 6), lost);
    }
}

/* Without a product the CPU does the little that is left. */
static void test_nothing_to_multiply(void **state) {
    shs_real c = 3;
    (void)state;
    open_device(SHS_CL_SYRK_AUTO, 0, 0);
    shim.calls = 0;
    assert_ok(shs_gemm(&on_device, SHS_TRANS_NO, SHS_TRANS_NO, 1, 1, 0, 1, NULL, 1, NULL, 1, 2, &c, 1));
    assert_close(c, 6, 0);
    assert_ok(shs_syrk(&on_device, SHS_UPLO_LOWER, SHS_TRANS_NO, 0, 5, 1, NULL, 1, 0, NULL, 1));
    assert_int_equal(shim.calls, 0);
    close_device();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_in_tiles),
        cmocka_unit_test(test_syrk),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_same_bits_again),
        cmocka_unit_test(test_ways_that_are_not_there),
        cmocka_unit_test(test_units_do_not_build),
        cmocka_unit_test(test_calls_fail),
        cmocka_unit_test(test_nothing_to_multiply),
    };
    return cmocka_run_group_tests_name("products on a device", tests, NULL, NULL);
}
