/* test_faults.c - every allocation of every public call fails once: no crash, no leak, outputs untouched. */
#include "test.h"

/* ---- an allocator that fails at will ----------------------------------------------------------------------------- */

typedef struct faulty {
    int left;        /* allocations that still succeed */
    int outstanding; /* blocks not given back */
    int failed;      /* allocations refused */
} faulty;

static void *faulty_alloc(void *user, size_t size) {
    faulty *f = (faulty *)user;
    void *block;
    if (f->left-- <= 0) {
        f->failed++;
        return NULL;
    }
    block = malloc(size);
    assert_non_null(block);
    memset(block, 0xa5, size); /* nobody may count on zeros */
    f->outstanding++;
    return block;
}

static void faulty_free(void *user, void *block) {
    faulty *f = (faulty *)user;
    if (block) f->outstanding--;
    free(block);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* Inputs that all calls share, and the memory that they write to. */
typedef struct scene {
    shs_real *D, *Y, *gram, *dty, *norms2, *triangle;
    shs_wide *symmetric;
    unsigned char *pixels;
    shs_image image;
    shs_codes codes;     /* input: codes of Y over D */
    unsigned char *out;  /* ROOM bytes for outputs, each at OUT(k) */
    shs_codes out_codes; /* output: its arrays lie in out */
} scene;

#define P 16
#define N 40
#define M 300
#define S 4
#define SLOT 65536
#define SLOTS 4
#define OUT(scene, k, type) ((type *)(void *)((scene)->out + (size_t)(k)*SLOT))

typedef shs_status (*call_fn)(const shs_context *ctx, scene *s);

static shs_status call_gemm(const shs_context *ctx, scene *s) {
    return shs_gemm(ctx, SHS_TRANS, SHS_NO_TRANS, N, M, P, 1, s->D, P, s->Y, P, 0, OUT(s, 0, shs_real), N);
}

static shs_status call_syrk(const shs_context *ctx, scene *s) {
    return shs_syrk(ctx, SHS_LOWER, SHS_TRANS, N, P, 1, s->D, P, 0, OUT(s, 0, shs_real), N);
}

static void prepare_trsm(scene *s) { memcpy(OUT(s, 0, shs_real), s->D, P * N * sizeof *s->D); }

static shs_status call_trsm(const shs_context *ctx, scene *s) {
    return shs_trsm(ctx, SHS_LEFT, SHS_LOWER, SHS_NO_TRANS, SHS_NON_UNIT, P, N, 1, s->triangle, P, OUT(s, 0, shs_real),
                    P);
}

static void prepare_cholesky(scene *s) { memcpy(OUT(s, 0, shs_real), s->triangle, P * P * sizeof *s->triangle); }

static shs_status call_cholesky(const shs_context *ctx, scene *s) {
    return shs_cholesky(ctx, SHS_LOWER, P, OUT(s, 0, shs_real), P);
}

static shs_status call_eigh(const shs_context *ctx, scene *s) {
    return shs_eigh(ctx, P, s->symmetric, P, P, OUT(s, 0, shs_wide), OUT(s, 1, shs_wide), P);
}

static shs_status call_eigh_few(const shs_context *ctx, scene *s) {
    return shs_eigh(ctx, P, s->symmetric, P, 2, OUT(s, 0, shs_wide), OUT(s, 1, shs_wide), P);
}

static shs_status call_eigh_jacobi(const shs_context *ctx, scene *s) {
    return shs_eigh_jacobi(ctx, P, s->symmetric, P, OUT(s, 0, shs_wide), OUT(s, 1, shs_wide), P);
}

static shs_status call_codes_create(const shs_context *ctx, scene *s) {
    shs_status status = shs_codes_create(ctx, M, S, OUT(s, 0, shs_codes));
    if (status == SHS_OK) shs_codes_free(ctx, OUT(s, 0, shs_codes));
    return status;
}

static shs_status call_synthesize(const shs_context *ctx, scene *s) {
    return shs_codes_synthesize(ctx, P, N, s->D, P, &s->codes, 0, M, OUT(s, 0, shs_real), P);
}

static shs_status call_residual(const shs_context *ctx, scene *s) {
    return shs_codes_residual(ctx, P, N, s->D, P, M, s->Y, P, &s->codes, OUT(s, 0, shs_real), P, OUT(s, 1, shs_wide));
}

static shs_status call_omp(const shs_context *ctx, scene *s) {
    return shs_omp(ctx, P, N, s->D, M, s->Y, S, &s->out_codes);
}

static shs_status omp_with(const shs_context *ctx, scene *s, shs_gram_mode mode, shs_real tolerance) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    o.gram_mode = mode;
    o.tolerance = tolerance;
    return shs_omp_ex(ctx, P, N, s->D, P, M, s->Y, P, &o, &s->out_codes, OUT(s, 3, shs_real),
                      (shs_omp_report *)(void *)(s->out + 3 * SLOT + SLOT / 2));
}

static shs_status call_omp_always(const shs_context *ctx, scene *s) { return omp_with(ctx, s, SHS_GRAM_ALWAYS, 0); }
static shs_status call_omp_never(const shs_context *ctx, scene *s) { return omp_with(ctx, s, SHS_GRAM_NEVER, 0); }
static shs_status call_omp_tolerance(const shs_context *ctx, scene *s) {
    return omp_with(ctx, s, SHS_GRAM_AUTO, (shs_real)0.01);
}

static shs_status call_omp_gram(const shs_context *ctx, scene *s) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    o.gram = s->gram;
    o.ldg = N;
    return shs_omp_gram(ctx, N, M, s->dty, N, s->norms2, &o, &s->out_codes);
}

static shs_status call_ksvd(const shs_context *ctx, scene *s) {
    return shs_ksvd(ctx, P, N, OUT(s, 0, shs_real), M, s->Y, S, 2);
}

static shs_status call_ksvd_ex(const shs_context *ctx, scene *s) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = 2;
    o.parallel_atoms = 7;
    o.rounds = 2;
    o.rmse_after_update = 1;
    o.coding.tolerance = (shs_real)0.5;
    o.coding.sparsity = S;
    return shs_ksvd_ex(ctx, P, N, OUT(s, 3, shs_real), P, M, s->Y, P, &o, &s->out_codes, NULL);
}

static shs_status call_coherence(const shs_context *ctx, scene *s) {
    return shs_dictionary_coherence(ctx, P, N, s->D, P, OUT(s, 0, shs_wide));
}

static shs_patches small_patches(void) {
    shs_patches set = SHS_ZERO;
    set.width = set.height = 4;
    set.step_x = 3;
    return set;
}

static shs_status call_patches_get(const shs_context *ctx, scene *s) {
    shs_patches set = small_patches();
    return shs_patches_get(ctx, &s->image, &set, 0, shs_patches_count(&s->image, &set, NULL), OUT(s, 0, shs_real), P,
                           OUT(s, 1, shs_real), OUT(s, 2, shs_real));
}

static shs_status call_patches_put(const shs_context *ctx, scene *s) {
    shs_patches set = small_patches();
    return shs_patches_put(ctx, &s->image, &set, 0, M, s->Y, P, NULL, NULL, OUT(s, 0, shs_real), OUT(s, 1, shs_real));
}

static shs_status call_patches_average(const shs_context *ctx, scene *s) {
    return shs_patches_average(ctx, &s->image, 1, s->Y, s->Y, OUT(s, 0, shs_real));
}

static shs_status call_patches_approximate(const shs_context *ctx, scene *s) {
    shs_patches set = small_patches();
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    return shs_patches_approximate(ctx, &s->image, &set, N, s->D, P, &o, 1, OUT(s, 0, shs_real),
                                   OUT(s, 1, shs_omp_report));
}

static const struct {
    const char *name;
    call_fn call;
    void (*prepare)(scene *s); /* for calls that work in place; NULL: the outputs hold a pattern */
} calls[] = {
    {"shs_gemm", call_gemm, NULL},
    {"shs_syrk", call_syrk, NULL},
    {"shs_trsm", call_trsm, prepare_trsm},
    {"shs_cholesky", call_cholesky, prepare_cholesky},
    {"shs_eigh", call_eigh, NULL},
    {"shs_eigh, few", call_eigh_few, NULL},
    {"shs_eigh_jacobi", call_eigh_jacobi, NULL},
    {"shs_codes_create", call_codes_create, NULL},
    {"shs_codes_synthesize", call_synthesize, NULL},
    {"shs_codes_residual", call_residual, NULL},
    {"shs_omp", call_omp, NULL},
    {"shs_omp_ex, Gram matrix", call_omp_always, NULL},
    {"shs_omp_ex, no Gram matrix", call_omp_never, NULL},
    {"shs_omp_ex, tolerance", call_omp_tolerance, NULL},
    {"shs_omp_gram", call_omp_gram, NULL},
    {"shs_ksvd", call_ksvd, NULL},
    {"shs_ksvd_ex", call_ksvd_ex, NULL},
    {"shs_dictionary_coherence", call_coherence, NULL},
    {"shs_patches_get", call_patches_get, NULL},
    {"shs_patches_put", call_patches_put, NULL},
    {"shs_patches_average", call_patches_average, NULL},
    {"shs_patches_approximate", call_patches_approximate, NULL},
};
#define CALLS (sizeof calls / sizeof calls[0])

/* ---- the scene --------------------------------------------------------------------------------------------------- */

static void fill_matrices(scene *s) {
    int i, j;
    assert_ok(shs_normalize_columns(P, N, s->D, P, NULL));
    assert_ok(shs_gemm_naive(SHS_TRANS, SHS_NO_TRANS, N, N, P, 1, s->D, P, s->D, P, 0, s->gram, N));
    assert_ok(shs_gemm_naive(SHS_TRANS, SHS_NO_TRANS, N, M, P, 1, s->D, P, s->Y, P, 0, s->dty, N));
    for (i = 0; i < M; i++) s->norms2[i] = shs_dot(P, s->Y + P * i, 1, s->Y + P * i, 1);
    for (j = 0; j < P; j++)
        for (i = 0; i < P; i++) {
            s->triangle[P * j + i] = i == j ? 4 : (shs_real)0.1; /* positive definite as well as triangular */
            s->symmetric[P * j + i] = 1 / (shs_wide)(1 + i + j);
        }
}

static void scene_create(scene *s) {
    int i;
    s->D = new_normal(P * N, 1);
    s->Y = new_normal(P * M, 2);
    s->gram = new_normal(N * N, 3);
    s->dty = new_normal(N * M, 4);
    s->norms2 = new_normal(M, 5);
    s->triangle = new_normal(P * P, 6);
    s->symmetric = (shs_wide *)malloc(P * P * sizeof *s->symmetric);
    fill_matrices(s);
    s->pixels = (unsigned char *)malloc(40 * 30);
    for (i = 0; i < 40 * 30; i++) s->pixels[i] = (unsigned char)(i * 7);
    memset(&s->image, 0, sizeof s->image);
    s->image.pixels = s->pixels, s->image.type = SHS_U8, s->image.width = 40, s->image.height = 30;
    assert_ok(shs_codes_create(NULL, M, S, &s->codes));
    assert_ok(shs_omp(NULL, P, N, s->D, M, s->Y, S, &s->codes));
    s->out = (unsigned char *)malloc(SLOTS * SLOT);
    s->out_codes.m = M, s->out_codes.stride = S;
    s->out_codes.used = OUT(s, 0, int), s->out_codes.atoms = OUT(s, 1, int), s->out_codes.coefs = OUT(s, 2, shs_real);
}

static void scene_free(scene *s) {
    free(s->D), free(s->Y), free(s->gram), free(s->dty), free(s->norms2), free(s->triangle), free(s->symmetric);
    free(s->pixels), free(s->out);
    shs_codes_free(NULL, &s->codes);
}

/* Fills the outputs for call c, and keeps a copy to compare them with. */
static void prepare(scene *s, size_t c, unsigned char *before) {
    memset(s->out, 0x5a, SLOTS * SLOT);
    if (calls[c].prepare) calls[c].prepare(s);
    memcpy(before, s->out, SLOTS * SLOT);
}

static int untouched(const scene *s, const unsigned char *before) { return memcmp(s->out, before, SLOTS * SLOT) == 0; }

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_each_allocation_fails(void **state) {
    scene s;
    unsigned char *before = (unsigned char *)malloc(SLOTS * SLOT);
    size_t c;
    int threads, k;
    (void)state;
    scene_create(&s);
    for (c = 0; c < CALLS; c++)
        for (threads = 1; threads <= 2; threads++)
            for (k = 0;; k++) {
                shs_context ctx = SHS_ZERO;
                shs_status status;
                faulty f = {0, 0, 0};
                f.left = k;
                ctx.alloc_fn = faulty_alloc, ctx.free_fn = faulty_free, ctx.alloc_user = &f, ctx.threads = threads;
                prepare(&s, c, before);
                status = calls[c].call(&ctx, &s);
                if (f.outstanding != 0)
                    fail_msg("%s leaks %d blocks at allocation %d", calls[c].name, f.outstanding, k);
                if (status == SHS_OK) {
                    if (f.failed) fail_msg("%s succeeds although allocation %d failed", calls[c].name, k);
                    break;
                }
                if (status != SHS_NO_MEMORY)
                    fail_msg("%s: %s at allocation %d", calls[c].name, shs_status_name(status), k);
                if (!untouched(&s, before)) fail_msg("%s wrote to its output at allocation %d", calls[c].name, k);
            }
    free(before);
    scene_free(&s);
}

/* One call, one block: that is what the workspace queries promise. shs_codes_create makes what outlives it. */
static void test_one_block_a_call(void **state) {
    scene s;
    unsigned char *before = (unsigned char *)malloc(SLOTS * SLOT);
    size_t c;
    (void)state;
    scene_create(&s);
    for (c = 0; c < CALLS; c++) {
        shs_context ctx = SHS_ZERO;
        faulty f = {0, 0, 0};
        f.left = 1000;
        ctx.alloc_fn = faulty_alloc, ctx.free_fn = faulty_free, ctx.alloc_user = &f, ctx.threads = 2;
        prepare(&s, c, before);
        assert_ok(calls[c].call(&ctx, &s));
        if (1000 - f.left > (calls[c].call == call_codes_create ? 3 : 1))
            fail_msg("%s took %d blocks", calls[c].name, 1000 - f.left);
    }
    free(before);
    scene_free(&s);
}

/* Arenas from nothing up, until the call goes through. */
static void test_arena_exhaustion(void **state) {
    scene s;
    unsigned char *before = (unsigned char *)malloc(SLOTS * SLOT), *memory = (unsigned char *)malloc((size_t)1 << 26);
    size_t c, size;
    (void)state;
    scene_create(&s);
    for (c = 0; c < CALLS; c++)
        for (size = 0;; size = size + size / 3 + 16) {
            shs_context ctx = SHS_ZERO;
            shs_arena arena;
            shs_status status;
            if (size > (size_t)1 << 26) fail_msg("%s never has enough", calls[c].name);
            ctx.threads = 2;
            shs_arena_init(&arena, memory, size);
            shs_arena_attach(&arena, &ctx);
            prepare(&s, c, before);
            status = calls[c].call(&ctx, &s);
            assert_int_equal(arena.used, 0);
            assert_true(arena.peak <= size);
            if (status == SHS_OK) break;
            if (status != SHS_NO_MEMORY)
                fail_msg("%s: %s with %d bytes", calls[c].name, shs_status_name(status), (int)size);
            if (!untouched(&s, before)) fail_msg("%s wrote to its output with %d bytes", calls[c].name, (int)size);
        }
    free(before), free(memory);
    scene_free(&s);
}

/* ---- an engine that cannot be opened ------------------------------------------------------------------------------ */

static shs_status no_signals(void *user, const shs_context *ctx, const shs_signals_job *job, void **session) {
    (void)ctx, (void)job, (void)session;
    return *(const shs_status *)user;
}

/* Where the engine may fall back the CPU does it, to the bit; where not, or where the device failed, nothing is written. */
static void test_engine_does_not_open(void **state) {
    scene s;
    unsigned char *before = (unsigned char *)malloc(SLOTS * SLOT), *plain = (unsigned char *)malloc(SLOTS * SLOT);
    size_t c;
    int fallback;
    (void)state;
    scene_create(&s);
    for (c = 0; c < CALLS; c++) {
        if (calls[c].call != call_omp && calls[c].call != call_ksvd && calls[c].call != call_ksvd_ex) continue;
        prepare(&s, c, before);
        assert_ok(calls[c].call(NULL, &s));
        memcpy(plain, s.out, SLOTS * SLOT);
        for (fallback = 0; fallback < 2; fallback++) {
            shs_context ctx = SHS_ZERO;
            shs_engine engine = SHS_ZERO;
            shs_status answer = SHS_UNSUPPORTED;
            engine.user = &answer, engine.fallback = fallback, engine.signals_open = no_signals;
            ctx.engine = &engine;
            prepare(&s, c, before);
            assert_status(calls[c].call(&ctx, &s), fallback ? SHS_OK : SHS_UNSUPPORTED);
            assert_memory_equal(s.out, fallback ? plain : before, SLOTS * SLOT);
            answer = SHS_DEVICE_LOST;
            prepare(&s, c, before);
            assert_status(calls[c].call(&ctx, &s), SHS_DEVICE_LOST);
            assert_memory_equal(s.out, before, SLOTS * SLOT);
        }
    }
    free(before), free(plain);
    scene_free(&s);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_one_block_a_call),
        cmocka_unit_test(test_arena_exhaustion),
        cmocka_unit_test(test_engine_does_not_open),
    };
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
