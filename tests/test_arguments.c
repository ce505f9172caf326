/* test_arguments.c - every bad argument of every function that the tests of its section do not ask for: the status that names
   it, nothing written, and what is empty or asked for in vain. */
#include "test_cube_tools.h"

/* ---- outputs that must stay as they are --------------------------------------------------------------------------- */

enum { ROOM = 4096 };
static unsigned char out_room[3][ROOM];
static unsigned char *const out = out_room[0], *const out2 = out_room[1], *const out3 = out_room[2];
#define REALS(room) ((shs_real *)(void *)(room))
#define WIDES(room) ((shs_wide *)(void *)(room))
#define INTS(room) ((int *)(void *)(room))

/* The call answers this and writes nothing to the rooms. */
#define ANSWERS(call, status)                                                                                                  \
    do {                                                                                                                       \
        memset(out_room, UNTOUCHED, sizeof out_room);                                                                          \
        assert_status(call, status);                                                                                           \
        if (!holds_untouched(out_room, sizeof out_room)) fail_msg("%s wrote to its output", #call);                            \
    } while (0)

/* A context that holds half a pair of callbacks. */
static shs_context half_a_context(void) {
    shs_context ctx = SHS_ZERO;
    ctx.alloc_fn = faulty_alloc;
    return ctx;
}

/* ---- context ------------------------------------------------------------------------------------------------------ */

static shs_moments some_moments(int bands);
static void give_back_moments(shs_moments *m) { shs_moments_free(NULL, m); }

/* Whatever takes a context looks at it first. */
static void test_contexts(void **state) {
    shs_context half = half_a_context();
    const shs_context *ctx = &half;
    shs_real A[16] = {1}, one[1] = {1};
    shs_wide mu[1] = {1};
    int used[4] = {0}, atoms[4] = {0};
    shs_codes codes = {4, 1, NULL, NULL, NULL, NULL};
    shs_omp_options o = SHS_ZERO;
    shs_lasso_options lasso = SHS_ZERO;
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_moments m = some_moments(2);
    shs_pca pca = SHS_ZERO;
    (void)state;
    codes.used = used;
    codes.atoms = atoms;
    codes.coefs = A;
    image.pixels = A;
    image.width = image.height = 2;
    set.width = set.height = 1;
    pca.bands = pca.components = 1;
    pca.forward = pca.backward = pca.mean = mu;
    ANSWERS(shs_gemm(ctx, SHS_TRANS_NO, SHS_TRANS_NO, 1, 1, 1, 1, A, 1, A, 1, 0, REALS(out), 1), SHS_BAD_CONTEXT);
    ANSWERS(shs_syrk(ctx, SHS_UPLO_LOWER, SHS_TRANS_NO, 1, 1, 1, A, 1, 0, REALS(out), 1), SHS_BAD_CONTEXT);
    ANSWERS(shs_trsm(ctx, SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_UNIT, 1, 1, 1, A, 1, REALS(out), 1),
            SHS_BAD_CONTEXT);
    ANSWERS(shs_cholesky(ctx, SHS_UPLO_LOWER, 1, REALS(out), 1), SHS_BAD_CONTEXT);
    ANSWERS(shs_codes_create(ctx, 4, 1, (shs_codes *)(void *)out), SHS_BAD_CONTEXT);
    ANSWERS(shs_codes_synthesize(ctx, 1, 1, one, 1, &codes, 0, 4, REALS(out), 1), SHS_BAD_CONTEXT);
    ANSWERS(shs_codes_residual(ctx, 1, 1, one, 1, 4, A, 1, &codes, REALS(out), 1, WIDES(out2)), SHS_BAD_CONTEXT);
    ANSWERS(shs_codes_round(ctx, 1, 1, one, 1, SHS_COEF_I8, &codes), SHS_BAD_CONTEXT);
    ANSWERS(shs_compact_load(ctx, 1, NULL, NULL, (shs_codes *)(void *)out), SHS_BAD_CONTEXT);
    ANSWERS(shs_compact_synthesize(ctx, 1, 1, one, 1, NULL, 0, 4, REALS(out), 1), SHS_BAD_CONTEXT);
    o.gram = one;
    o.ldg = 1;
    ANSWERS(shs_omp_gram(ctx, 1, 4, A, 1, NULL, &o, &codes, NULL, NULL), SHS_BAD_CONTEXT);
    lasso.gram = one;
    lasso.ldg = 1;
    ANSWERS(shs_lasso(ctx, 1, 1, one, 1, 4, A, 1, &lasso, &codes, NULL, NULL), SHS_BAD_CONTEXT);
    ANSWERS(shs_lasso_gram(ctx, 1, 4, A, 1, A, &lasso, &codes, NULL, NULL), SHS_BAD_CONTEXT);
    ANSWERS(shs_dictionary_coherence(ctx, 1, 1, one, 1, WIDES(out)), SHS_BAD_CONTEXT);
    ANSWERS(shs_patches_get(ctx, &image, &set, 0, 4, REALS(out), 1, REALS(out2), REALS(out3)), SHS_BAD_CONTEXT);
    ANSWERS(shs_patches_put(ctx, &image, &set, 0, 4, A, 1, NULL, NULL, REALS(out), REALS(out2)), SHS_BAD_CONTEXT);
    ANSWERS(shs_patches_average(ctx, &image, 1, A, A, REALS(out)), SHS_BAD_CONTEXT);
    ANSWERS(shs_moments_create(ctx, 2, (shs_moments *)(void *)out), SHS_BAD_CONTEXT);
    ANSWERS(shs_moments_reduce(ctx, &m), SHS_BAD_CONTEXT);
    ANSWERS(shs_pca_from_moments(ctx, &m, NULL, (shs_pca *)(void *)out), SHS_BAD_CONTEXT);
    ANSWERS(shs_mnf_from_noise(ctx, &m, mu, 2, NULL, (shs_pca *)(void *)out), SHS_BAD_CONTEXT);
    ANSWERS(shs_pca_denoise(ctx, &pca, 0, NULL, NULL), SHS_BAD_CONTEXT);
    give_back_moments(&m);
}

/* ---- linear algebra ------------------------------------------------------------------------------------------------ */

/* Empty products and systems change nothing; nor do updates with a factor of zero. */
static void test_nothing_to_do(void **state) {
    shs_real x[4] = {1, 2, 3, 4}, zero[4] = {0};
    (void)state;
    ANSWERS(shs_ger(0, 2, 1, x, 1, x, 1, REALS(out), 1), SHS_OK);
    ANSWERS(shs_ger(2, 0, 1, x, 1, x, 1, REALS(out), 2), SHS_OK);
    ANSWERS(shs_ger(2, 2, 0, x, 1, x, 1, REALS(out), 2), SHS_OK);
    /* the diagonal of A is zero, which does not matter to no unknowns */
    ANSWERS(shs_trsm(NULL, SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, 2, 0, 1, zero, 2, REALS(out), 2),
            SHS_OK);
    ANSWERS(shs_trsm(NULL, SHS_SIDE_RIGHT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, 0, 2, 1, zero, 2, REALS(out), 1),
            SHS_OK);
    ANSWERS(shs_trsm(NULL, SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, 2, 2, 1, zero, 2, REALS(out), 2),
            SHS_SINGULAR);
    ANSWERS(shs_trsm_naive(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, 2, 0, 1, zero, 2, REALS(out), 2),
            SHS_OK);
    ANSWERS(shs_trsm_naive(SHS_SIDE_RIGHT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, 0, 2, 1, zero, 2, REALS(out), 1),
            SHS_OK);
    ANSWERS(shs_trsm_naive(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, 2, 2, 1, zero, 2, REALS(out), 2),
            SHS_SINGULAR);
}

/* An infinite pivot is no positive definite matrix. */
static void test_infinite_pivot(void **state) {
    shs_real A[1] = {(shs_real)INFINITY};
    (void)state;
    assert_status(shs_cholesky_naive(SHS_UPLO_LOWER, 1, A, 1), SHS_NOT_POSITIVE_DEFINITE);
    assert_status(shs_cholesky(NULL, SHS_UPLO_UPPER, 1, A, 1), SHS_NOT_POSITIVE_DEFINITE);
}

/* Sizes that make no sense need no memory to speak of, or more than there is. Depth beyond a packed panel costs nothing where C
   is too large to have several. */
static void test_workspaces_of_algebra(void **state) {
    (void)state;
    assert_true(shs_cholesky_workspace(NULL, -3) == SIZE_MAX);
    assert_true(shs_cholesky_workspace(NULL, 0) < 65536);
    assert_true(shs_gemm_workspace(NULL, -1, 1, 1) == SIZE_MAX && shs_gemm_workspace(NULL, 1, -1, 1) == SIZE_MAX);
    assert_true(shs_gemm_workspace(NULL, 1, 1, -1) == SIZE_MAX && shs_gemm_workspace(NULL, 0, 0, 0) < 65536);
    assert_true(shs_trsm_workspace(NULL, SHS_SIDE_LEFT, -1, 1) == SIZE_MAX &&
                shs_trsm_workspace(NULL, SHS_SIDE_LEFT, 1, -1) == SIZE_MAX);
    assert_true(shs_syrk_workspace(NULL, -1, 1) == SIZE_MAX);
    assert_true(shs_gemm_workspace(NULL, 600, 600, 2 * SLAB_DEPTH) == shs_gemm_workspace(NULL, 600, 600, GEMM_DEPTH));
    assert_true(shs_gemm_workspace(NULL, 500, 500, 2 * SLAB_DEPTH) > shs_gemm_workspace(NULL, 500, 500, GEMM_DEPTH));
    assert_true(shs_eigh_workspace(NULL, 4, 0) == SIZE_MAX);
}

/* ---- codes and coding ---------------------------------------------------------------------------------------------- */

enum { P = 3, N = 4, M = 5, STRIDE = 2 };

typedef struct coded {
    shs_real D[P * N], Y[P * M], gram[N * N], dty[N * M], norms2[M], coefs[M * STRIDE];
    int used[M], atoms[M * STRIDE];
    shs_codes codes;
} coded;

static void coded_create(coded *c) {
    int i;
    fill_normal(P * N, c->D, 1);
    fill_normal(P * M, c->Y, 2);
    assert_ok(shs_normalize_columns(P, N, c->D, P, NULL));
    assert_ok(shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, N, N, P, 1, c->D, P, c->D, P, 0, c->gram, N));
    assert_ok(shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, N, M, P, 1, c->D, P, c->Y, P, 0, c->dty, N));
    for (i = 0; i < M; i++) c->norms2[i] = shs_dot(P, c->Y + P * i, 1, c->Y + P * i, 1);
    c->codes.m = M;
    c->codes.stride = STRIDE;
    c->codes.used = c->used;
    c->codes.atoms = c->atoms;
    c->codes.coefs = c->coefs;
    assert_ok(shs_omp(NULL, P, N, c->D, M, c->Y, STRIDE, &c->codes));
}

/* Codes without an array, with too few signals, or with atoms that do not exist. */
static void test_broken_codes(void **state) {
    coded c;
    int k;
    (void)state;
    for (k = 0; k < 10; k++) {
        shs_codes *codes = &c.codes;
        coded_create(&c);
        switch (k) {
        case 0: codes = NULL; break;
        case 1: codes->used = NULL; break;
        case 2: codes->atoms = NULL; break;
        case 3: codes->coefs = NULL; break;
        case 4: codes->stride = 0; break;
        case 5: codes->m = M - 1; break;
        case 6: c.used[M - 1] = -1; break;
        case 7: c.used[M - 1] = STRIDE + 1; break;
        case 8: c.atoms[(M - 1) * STRIDE] = -1; break;
        default: c.atoms[(M - 1) * STRIDE] = N; break;
        }
        ANSWERS(shs_codes_synthesize(NULL, P, N, c.D, P, codes, 0, M, REALS(out), P), SHS_BAD_CODES);
        ANSWERS(shs_codes_residual(NULL, P, N, c.D, P, M, c.Y, P, codes, REALS(out), P, WIDES(out2)), SHS_BAD_CODES);
        if (k < 5) ANSWERS(shs_codes_to_csc(codes, (size_t *)(void *)out, INTS(out2), REALS(out3)), SHS_BAD_CODES);
    }
    c.codes.used = NULL;
    assert_int_equal(shs_codes_nonzeros(NULL), 0);
    assert_int_equal(shs_codes_nonzeros(&c.codes), 0);
}

static void test_codes(void **state) {
    coded c;
    shs_wide sum2 = 3;
    (void)state;
    coded_create(&c);
    ANSWERS(shs_codes_create(NULL, 0, 1, (shs_codes *)(void *)out), SHS_BAD_M);
    ANSWERS(shs_codes_create(NULL, 1, 0, (shs_codes *)(void *)out), SHS_BAD_STRIDE);
    ANSWERS(shs_codes_create(NULL, 1, 1, NULL), SHS_BAD_CODES);
    ANSWERS(shs_codes_create(NULL, SIZE_MAX / 2, 1, (shs_codes *)(void *)out), SHS_TOO_LARGE);
    ANSWERS(shs_codes_create(NULL, SIZE_MAX / 2, 3, (shs_codes *)(void *)out), SHS_TOO_LARGE);
    ANSWERS(shs_codes_synthesize(NULL, P, N, c.D, P, &c.codes, 0, M, NULL, P), SHS_BAD_OUTPUT);
    ANSWERS(shs_codes_synthesize(NULL, P, N, c.D, P, &c.codes, 0, M, REALS(out), P - 1), SHS_BAD_LDZ);
    ANSWERS(shs_codes_synthesize(NULL, P, N, c.D, P, &c.codes, M + 1, 0, REALS(out), P), SHS_BAD_CODES);
    ANSWERS(shs_codes_synthesize(NULL, P, N, c.D, P, &c.codes, M, 0, NULL, P), SHS_OK);
    ANSWERS(shs_codes_residual(NULL, P, N, c.D, P, M, NULL, P, &c.codes, REALS(out), P, WIDES(out2)), SHS_BAD_SIGNALS);
    ANSWERS(shs_codes_residual(NULL, P, N, c.D, P, M, c.Y, P - 1, &c.codes, REALS(out), P, WIDES(out2)), SHS_BAD_LDY);
    ANSWERS(shs_codes_residual(NULL, P, N, c.D, P, M, c.Y, P, &c.codes, REALS(out), P - 1, WIDES(out2)), SHS_BAD_LDE);
    ANSWERS(shs_codes_residual(NULL, P, N, c.D, P, 0, NULL, P, &c.codes, REALS(out), P, &sum2), SHS_OK);
    assert_true(sum2 == 0);
}

static void test_workspaces_of_coding(void **state) {
    shs_omp_options o = SHS_ZERO;
    shs_context one = SHS_ZERO;
    shs_real gram[1] = {1};
    (void)state;
    one.threads = 1; /* whatever the machine has */
    assert_true(shs_omp_workspace(NULL, -1, 1, 1, 1, &o) == SIZE_MAX);
    assert_true(shs_omp_workspace(NULL, 1, 0, 1, 1, &o) == SIZE_MAX);
    assert_true(shs_omp_workspace(NULL, 1, 1, 1, -1, &o) == SIZE_MAX);
    assert_true(shs_omp_workspace(NULL, 1, 1, 1, 1, NULL) == shs_omp_workspace(NULL, 1, 1, 1, 1, &o));
    assert_true(shs_omp_one_workspace(0, LIMITS(1, 0)) == SIZE_MAX && shs_omp_one_workspace(1, LIMITS(-1, 0)) == SIZE_MAX);
    assert_true(shs_omp_one_direct_workspace(0, 1, LIMITS(1, 0)) == SIZE_MAX &&
                shs_omp_one_direct_workspace(1, 0, LIMITS(1, 0)) == SIZE_MAX);
    assert_true(shs_omp_one_direct_workspace(1, 1, LIMITS(-1, 0)) == SIZE_MAX);
    assert_true(shs_omp_workspace(NULL, 0, 1, 1, 1, NULL) == SIZE_MAX);
    assert_true(shs_omp_workspace(NULL, 0, 1, 1, 1, &o) == SIZE_MAX); /* no Gram matrix */
    o.gram = gram;
    o.ldg = 1;
    assert_true(shs_omp_workspace(NULL, 0, 0, 1, 1, &o) == SIZE_MAX);
    assert_true(shs_omp_workspace(NULL, 0, 1, 1, -1, &o) == SIZE_MAX);
    assert_true(shs_omp_workspace(&one, 0, 1, 1, 1, &o) < 65536);
    o.sparsity = -1;
    assert_true(shs_omp_workspace(NULL, 0, 1, 1, 1, &o) == SIZE_MAX);
    assert_true(shs_omp_workspace(NULL, 1, 1, 1, 1, &o) == SIZE_MAX);
    o.sparsity = 0;
    assert_true(shs_ksvd_workspace(&one, 1, 1, 1, NULL) < 65536);
    assert_true(shs_ksvd_workspace(NULL, 0, 1, 1, NULL) == SIZE_MAX && shs_ksvd_workspace(NULL, 1, 0, 1, NULL) == SIZE_MAX);
}

/* Numbers that no method has. */
static void test_unknown_methods(void **state) {
    static const int unknown[] = {SHS_METHOD_COUNT, -1, 1 << 20};
    coded c;
    unsigned char room[8192];
    size_t k;
    (void)state;
    coded_create(&c);
    c.codes.used = INTS(out);
    c.codes.atoms = INTS(out2);
    c.codes.coefs = REALS(out3);
    for (k = 0; k < sizeof unknown / sizeof *unknown; k++) {
        shs_omp_options o = SHS_ZERO;
        shs_ksvd_options learning = SHS_ZERO;
        o.method = (shs_method)unknown[k];
        o.sparsity = 1;
        ANSWERS(shs_omp_ex(NULL, P, N, c.D, P, M, c.Y, P, &o, &c.codes, NULL, NULL), SHS_BAD_OPTIONS);
        assert_true(shs_omp_workspace(NULL, P, N, M, 1, &o) == SIZE_MAX);
        ANSWERS(shs_omp_one_direct(P, N, c.D, P, c.Y, &o, room, sizeof room, INTS(out), REALS(out2), INTS(out3), NULL),
                SHS_BAD_OPTIONS);
        assert_true(shs_omp_one_direct_workspace(P, N, &o) == SIZE_MAX);
        o.gram = c.gram;
        o.ldg = N;
        ANSWERS(shs_omp_gram(NULL, N, M, c.dty, N, NULL, &o, &c.codes, NULL, NULL), SHS_BAD_OPTIONS);
        o.gram = NULL;
        learning.coding = o;
        ANSWERS(shs_ksvd_ex(NULL, P, N, M, c.Y, P, &learning, REALS(out2), P, NULL, NULL), SHS_BAD_OPTIONS);
    }
}

/* Options may be absent: as many atoms as fit. */
static void test_no_options(void **state) {
    coded c;
    int atoms[M * STRIDE];
    (void)state;
    coded_create(&c);
    memcpy(atoms, c.atoms, sizeof atoms);
    memset(c.used, 0, sizeof c.used);
    assert_ok(shs_omp_ex(NULL, P, N, c.D, P, M, c.Y, P, NULL, &c.codes, NULL, NULL));
    assert_int_equal(shs_codes_nonzeros(&c.codes), M * STRIDE);
    assert_memory_equal(c.atoms, atoms, sizeof atoms);
}

static void test_gram_form(void **state) {
    coded c;
    shs_omp_options o = SHS_ZERO;
    (void)state;
    coded_create(&c);
    c.codes.used = INTS(out);
    c.codes.atoms = INTS(out2);
    c.codes.coefs = REALS(out3);
    o.gram = c.gram;
    o.ldg = N;
    ANSWERS(shs_omp_gram(NULL, 0, M, c.dty, N, NULL, &o, &c.codes, NULL, NULL), SHS_BAD_N);
    ANSWERS(shs_omp_gram(NULL, N, M, NULL, N, NULL, &o, &c.codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    ANSWERS(shs_omp_gram(NULL, N, M, c.dty, N - 1, NULL, &o, &c.codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    ANSWERS(shs_omp_gram(NULL, N, M, c.dty, N, NULL, NULL, &c.codes, NULL, NULL), SHS_BAD_OPTIONS);
    ANSWERS(shs_omp_gram(NULL, N, 0, NULL, N, NULL, &o, &c.codes, NULL, NULL), SHS_OK);
    c.gram[N * N - 1] = (shs_real)NAN;
    ANSWERS(shs_omp_gram(NULL, N, M, c.dty, N, NULL, &o, &c.codes, NULL, NULL), SHS_BAD_GRAM);
}

static void test_one_signal(void **state) {
    coded c;
    unsigned char room[8192];
    const shs_real none = 0, two = 2;
    int used, atoms[STRIDE];
    shs_real coefs[STRIDE];
    (void)state;
    coded_create(&c);
#define ONE(norm2, sparsity, tolerance, memory, atoms, coefs, used)                                                            \
    shs_omp_one(N, c.gram, N, c.dty, norm2, LIMITS(sparsity, tolerance), memory, sizeof room, atoms, coefs, used, REALS(out3))
    ANSWERS(ONE(1, 1, none, room, NULL, REALS(out2), INTS(out)), SHS_BAD_OUTPUT);
    ANSWERS(ONE(1, 1, none, room, INTS(out2), NULL, INTS(out)), SHS_BAD_OUTPUT);
    ANSWERS(ONE(1, 1, none, room, INTS(out2), REALS(out2), NULL), SHS_BAD_OUTPUT);
    ANSWERS(ONE(1, 1, none, NULL, INTS(out2), REALS(out2), INTS(out)), SHS_BAD_WORKSPACE);
    ANSWERS(ONE(-1, 1, two, room, INTS(out2), REALS(out2), INTS(out)), SHS_BAD_NORMS);
    ANSWERS(ONE((shs_real)NAN, 1, two, room, INTS(out2), REALS(out2), INTS(out)), SHS_BAD_NORMS);
    ANSWERS(ONE(1, 0, none, room, NULL, NULL, INTS(out)), SHS_BAD_OUTPUT); /* as many as fit */
#undef ONE
    /* without a tolerance, and where no error is asked for, the norm is not read */
    assert_ok(shs_omp_one(N, c.gram, N, c.dty, (shs_real)NAN, LIMITS(STRIDE, none), room, sizeof room, atoms, coefs, &used, NULL));
    assert_int_equal(used, STRIDE);
    assert_memory_equal(atoms, c.atoms, sizeof atoms);
    assert_true(shs_omp_one_workspace(INT_MAX, LIMITS(INT_MAX, 0)) == SIZE_MAX || sizeof(size_t) > 4);
}

/* The reference too stops at atoms that depend on those chosen, and where nothing is left. */
static void test_naive_stops(void **state) {
    static const shs_real twins[4] = {1, 0, 1, 0}, both[2] = {3, 4}, along[2] = {5, 0};
    int atoms[2];
    shs_real coefs[2];
    double error2;
    (void)state;
    assert_int_equal(naive_omp(2, 2, twins, both, 2, atoms, coefs, &error2), 1);
    assert_true(atoms[0] == 0 && coefs[0] == 3 && error2 == 16);
    assert_int_equal(naive_omp(2, 2, twins, along, 2, atoms, coefs, &error2), 1);
    assert_true(coefs[0] == 5 && error2 == 0);
}

/* ---- dictionaries -------------------------------------------------------------------------------------------------- */

static void test_dictionaries(void **state) {
    shs_real D[P * N] = {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0};
    shs_wide mu;
    int q;
    (void)state;
    ANSWERS(shs_dictionary_dct(0, 1, 1, 1, REALS(out), 1), SHS_BAD_PATCHES);
    ANSWERS(shs_dictionary_dct(1, 0, 1, 1, REALS(out), 1), SHS_BAD_PATCHES);
    ANSWERS(shs_dictionary_dct(1, 1, 0, 1, REALS(out), 1), SHS_BAD_PATCHES);
    ANSWERS(shs_dictionary_dct(INT_MAX, 2, 1, 1, REALS(out), 1), SHS_TOO_LARGE);
    ANSWERS(shs_dictionary_dct(40000, 40000, 2, 1, REALS(out), 1), SHS_TOO_LARGE);
    ANSWERS(shs_dictionary_dct(2, 2, 1, 0, REALS(out), 4), SHS_BAD_N);
    ANSWERS(shs_dictionary_dct(2, 2, 1, 4, NULL, 4), SHS_BAD_DICTIONARY);
    ANSWERS(shs_dictionary_dct(2, 2, 1, 4, REALS(out), 3), SHS_BAD_LDD);
    ANSWERS(shs_dictionary_dct(1, 1, 2, 3, REALS(out), 2), SHS_BAD_START); /* a pixel has no more than its channels */
    ANSWERS(shs_dictionary_random(0, 1, REALS(out), 1, 1), SHS_BAD_P);
    ANSWERS(shs_dictionary_coherence(NULL, P, N, D, P, NULL), SHS_BAD_OUTPUT);
    ANSWERS(shs_dictionary_coherence(NULL, P, N, D, P - 1, WIDES(out)), SHS_BAD_LDD);
    /* the zero atom coheres with nobody, its twins with each other */
    assert_ok(shs_dictionary_coherence(NULL, P, 2, D, P, &mu));
    assert_true(mu == 0);
    assert_ok(shs_dictionary_coherence(NULL, P, N, D, P, &mu));
    assert_true(mu == 1);
    /* a line, upright or flat, has the same cosines */
    assert_ok(shs_dictionary_dct(4, 1, 1, 6, REALS(out), 4));
    assert_ok(shs_dictionary_dct(1, 4, 1, 6, REALS(out2), 4));
    assert_memory_equal(out, out2, 24 * sizeof(shs_real));
    for (q = 0; q < 4; q++) assert_close(REALS(out)[q], 0.5, 1e-6); /* and the first is constant */
    assert_ok(shs_dictionary_dct(1, 1, 2, 2, REALS(out), 2)); /* of a pixel its channels are */
    assert_ok(shs_dictionary_coherence(NULL, 2, 2, REALS(out), 2, &mu));
    assert_close(mu, 0, 1e-6);
}

static void test_learning(void **state) {
    shs_ksvd_report report = SHS_ZERO;
    static const shs_step gone[1] = {{0, 1}};
    coded c;
    shs_ksvd_options o = SHS_ZERO;
    shs_real tolerance[M];
    (void)state;
    coded_create(&c);
#define LEARN(signals, m) shs_ksvd_ex(NULL, P, N, m, signals, P, &o, REALS(out), P, NULL, &report)
    ANSWERS(LEARN(NULL, M), SHS_BAD_SIGNALS);
    ANSWERS(LEARN(c.Y, 0), SHS_BAD_M);
    o.first_iteration = -1;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_ITERATIONS);
    o.first_iteration = INT_MAX - 5; /* of 10 */
    ANSWERS(LEARN(c.Y, M), SHS_BAD_ITERATIONS);
    o.first_iteration = 0;
    o.rounds_steps = -1;
    o.rounds_schedule = gone;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_SCHEDULE);
    o.rounds_steps = 1;
    o.rounds_schedule = NULL;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_SCHEDULE);
    o.rounds_steps = 0;
    o.prune_coherence = -1;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.prune_coherence = 0;
    o.update = SHS_UPDATE_COUNT;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.update = SHS_UPDATE_AKSVD;
    o.regularisation = -1;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.regularisation = 1;
    o.regularisation_decay = (shs_real)1.5;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.regularisation_decay = 0;
    o.regularised_iterations = -1;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.regularised_iterations = 0;
    o.incoherence = (shs_real)NAN;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.incoherence = 1;
    o.update = SHS_UPDATE_MOD;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.regularisation = o.incoherence = 0;
    o.coherence = 1;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.coherence = (shs_real)0.5;
    o.coherence_rounds = -1;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_OPTIONS);
    o.coherence = 0;
    o.coherence_rounds = 0;
    o.update = SHS_UPDATE_AKSVD;
    o.start = SHS_START_DCT;
    o.patch_width = 3;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_START); /* a width without a height */
    o.patch_width = 0;
    o.patch_height = 3;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_START);
    o.patch_width = -1;
    ANSWERS(LEARN(c.Y, M), SHS_BAD_START);
    assert_true(report.iterations == 0 && report.best_iteration == 0 && !(report.rmse > 0));
    o.patch_width = 1;
    assert_ok(LEARN(c.Y, M));
    o.coding.sparsity = -1;
    assert_true(shs_ksvd_workspace(NULL, P, N, M, &o) == SIZE_MAX);
    o.coding.sparsity = 0; /* a tolerance each leaves the number of atoms open, and fewest coefficients are best */
    o.coding.tolerance_each = tolerance;
    for (o.iterations = 0; o.iterations < M; o.iterations++) tolerance[o.iterations] = (shs_real)1e-3;
    o.iterations = 1;
    assert_ok(LEARN(c.Y, M));
    assert_true(report.mean_atoms > 1);
#undef LEARN
    ANSWERS(shs_ksvd_ex(NULL, P, 1, M, c.Y, P, NULL, NULL, P, NULL, NULL), SHS_BAD_DICTIONARY);
    assert_ok(shs_ksvd_ex(NULL, P, 1, M, c.Y, P, NULL, REALS(out), P, NULL, NULL)); /* all by default */
    assert_close(shs_nrm2(P, REALS(out), 1), 1, 1e-6);
}

/* ---- patches ------------------------------------------------------------------------------------------------------- */

static void test_patches(void **state) {
    shs_real pixels[16], D[4] = {1, 0, 0, 0};
    shs_image image = SHS_ZERO, wide;
    shs_patches set = SHS_ZERO;
    shs_omp_report report;
    int p, x, y, i;
    (void)state;
    fill_normal(16, pixels, 1);
    image.pixels = pixels;
    image.width = image.height = 4;
    set.width = set.height = 2;
    ANSWERS(shs_patches_position(&image, &set, 0, NULL, INTS(out)), SHS_BAD_OUTPUT);
    ANSWERS(shs_patches_position(&image, &set, 0, INTS(out), NULL), SHS_BAD_OUTPUT);
    ANSWERS(shs_patches_position(&image, &set, 9, INTS(out), INTS(out2)), SHS_BAD_PATCHES);
    ANSWERS(shs_patches_get(NULL, &image, &set, 0, 9, NULL, 4, NULL, NULL), SHS_BAD_OUTPUT);
    ANSWERS(shs_patches_get(NULL, &image, &set, 9, 0, NULL, 4, NULL, NULL), SHS_OK);
    ANSWERS(shs_patches_put(NULL, &image, &set, 10, 0, D, 4, NULL, NULL, REALS(out), REALS(out2)), SHS_BAD_PATCHES);
    ANSWERS(shs_patches_put(NULL, &image, &set, 9, 1, D, 4, NULL, NULL, REALS(out), REALS(out2)), SHS_BAD_PATCHES);
    ANSWERS(shs_patches_put(NULL, &image, &set, 0, 9, NULL, 4, NULL, NULL, REALS(out), REALS(out2)), SHS_BAD_SIGNALS);
    ANSWERS(shs_patches_put(NULL, &image, &set, 9, 0, NULL, 4, NULL, NULL, REALS(out), REALS(out2)), SHS_OK);
    ANSWERS(shs_patches_average(NULL, &image, -1, pixels, pixels, REALS(out)), SHS_BAD_LAMBDA);
    ANSWERS(shs_patches_approximate(NULL, &image, &set, 1, D, 4, NULL, -1, REALS(out), &report), SHS_BAD_LAMBDA);
    assert_true(shs_patches_approximate_workspace(NULL, &image, &set, 0, NULL) == SIZE_MAX);
    assert_true(shs_patches_approximate_workspace(NULL, &image, &set, 1, NULL) < 1 << 20);
    /* nothing chosen at random: the image as it is */
    set.mode = SHS_PATCH_MODE_RANDOM;
    assert_int_equal(shs_patches_count(&image, &set, &p), 0);
    assert_int_equal(p, 4);
    assert_ok(shs_patches_approximate(NULL, &image, &set, 1, D, 4, NULL, 1, REALS(out), &report));
    assert_memory_equal(out, pixels, sizeof pixels);
    assert_true(report.nonzeros == 0 && report.rmse == 0);
    /* sizes that do not fit */
    set.mode = SHS_PATCH_MODE_GRID;
    wide = image, wide.pixels = NULL, wide.width = wide.height = INT_MAX;
    set.width = set.height = 65536;
    assert_status(shs_patches_position(&wide, &set, 0, &x, &y), SHS_TOO_LARGE);
    set.width = 2;
    set.height = 2;
    wide.height = 4;
    wide.channels = INT_MAX;
    assert_status(shs_patches_position(&wide, &set, 0, &x, &y), SHS_TOO_LARGE);
    wide.channels = 1, wide.row_stride = SIZE_MAX / 8;
    assert_status(shs_patches_position(&wide, &set, 0, &x, &y), SHS_TOO_LARGE);
    set.width = set.height = 30000;
    wide.width = wide.height = 60000;
    wide.channels = 3;
    wide.row_stride = 0;
    assert_status(shs_patches_position(&wide, &set, 0, &x, &y), SHS_TOO_LARGE);
    for (i = 0; i < 3; i++) assert_int_equal(shs_patches_count(&wide, &set, NULL), 0);
}

/* ---- cubes --------------------------------------------------------------------------------------------------------- */

static shs_moments some_moments(int bands) {
    plain_cube p = random_values(SHS_TYPE_F32, 5, 6, bands, 1);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_moments m;
    assert_ok(shs_moments_create(NULL, bands, &m));
    assert_ok(shs_moments_update(NULL, &cube, 0, &m));
    cube_free(&cube);
    free(p.x);
    return m;
}

static int reads_nothing(void *user, int first_line, int lines, void *block) {
    (void)first_line;
    (void)lines;
    (void)block;
    ++*(int *)user;
    return 1;
}

static ptrdiff_t *stride_of(shs_cube *cube, int which) {
    ptrdiff_t *const strides[] = {&cube->sample_stride, &cube->line_stride, &cube->band_stride};
    return strides[which];
}

static void test_cubes(void **state) {
    static const int list[1] = {0};
    shs_cube cube = SHS_ZERO;
    int asked = 0, k;
    (void)state;
    /* a stream has no strides, not one of the three */
    cube.read_fn = reads_nothing;
    cube.read_user = &asked;
    cube.type = SHS_TYPE_U8;
    cube.samples = cube.lines = 2;
    cube.bands = 1;
    assert_int_equal(shs_cube_bands(&cube), 1);
    for (k = 0; k < 3; k++) {
        shs_cube strided = cube;
        *stride_of(&strided, k) = 1;
        assert_int_equal(shs_cube_bands(&strided), 0);
    }
    cube.band_list = list;
    assert_int_equal(shs_cube_bands(&cube), 0); /* a list of no bands */
    cube.band_count = 1;
    assert_int_equal(shs_cube_bands(&cube), 1);
    cube.band_list = NULL;
    cube.samples = cube.bands = INT_MAX;
    cube.type = SHS_TYPE_F64;
    assert_int_equal(shs_cube_bands(&cube), 0); /* a line is too large */
    assert_true(shs_moments_update_workspace(NULL, &cube, 0) == SIZE_MAX);
    assert_int_equal(asked, 0);
}

/* One pixel, and one stride that says so, is a cube. */
static void test_one_stride(void **state) {
    static const double pixel[1] = {5};
    int k;
    (void)state;
    for (k = 0; k < 3; k++) {
        shs_cube cube = SHS_ZERO;
        shs_moments m;
        cube.pixels = pixel;
        cube.type = SHS_TYPE_F64;
        cube.samples = cube.lines = cube.bands = 1;
        *stride_of(&cube, k) = 7;
        assert_ok(shs_moments_create(NULL, 1, &m));
        assert_ok(shs_moments_update(NULL, &cube, 0, &m));
        assert_true(m.count == 1 && m.shift[0] + m.sum[0] == 5);
        shs_moments_free(NULL, &m);
    }
}

static void test_moments(void **state) {
    shs_moments m = some_moments(2), other = some_moments(2), empty = SHS_ZERO;
    shs_cube cube = SHS_ZERO;
    shs_wide mean[2], noise[4] = {1, 0, 0, 1};
    shs_pca_options o = SHS_ZERO;
    (void)state;
    cube.pixels = mean;
    cube.type = SHS_TYPE_F64;
    cube.samples = cube.lines = 1;
    cube.bands = 2;
    assert_status(shs_moments_update(NULL, &cube, 0, NULL), SHS_BAD_MOMENTS);
    assert_status(shs_moments_update(NULL, &cube, 0, &empty), SHS_BAD_MOMENTS);
    assert_status(shs_moments_merge(&m, &empty), SHS_BAD_MOMENTS);
    assert_status(shs_moments_merge(&empty, &m), SHS_BAD_MOMENTS);
    assert_status(shs_moments_merge(&m, NULL), SHS_BAD_MOMENTS);
    assert_status(shs_moments_merge(NULL, &m), SHS_BAD_MOMENTS);
    assert_status(shs_moments_reduce(NULL, NULL), SHS_BAD_MOMENTS);
    assert_status(shs_moments_reduce(NULL, &empty), SHS_BAD_MOMENTS);
    assert_memory_equal(m.products, other.products, 4 * sizeof *m.products);
    ANSWERS(shs_moments_finish(NULL, SHS_DIVISOR_N, WIDES(out), WIDES(out2), 2), SHS_BAD_MOMENTS);
    ANSWERS(shs_moments_finish(&empty, SHS_DIVISOR_N, WIDES(out), WIDES(out2), 2), SHS_BAD_MOMENTS);
    ANSWERS(shs_moments_finish(&m, SHS_DIVISOR_N, NULL, WIDES(out2), 2), SHS_BAD_OUTPUT);
    ANSWERS(shs_moments_finish(&m, SHS_DIVISOR_N, WIDES(out), WIDES(out2), 1), SHS_BAD_LDC);
    ANSWERS(shs_pca_from_moments(NULL, NULL, NULL, (shs_pca *)(void *)out), SHS_BAD_MOMENTS);
    ANSWERS(shs_pca_from_moments(NULL, &empty, NULL, (shs_pca *)(void *)out), SHS_BAD_MOMENTS);
    ANSWERS(shs_pca_from_moments(NULL, &m, NULL, NULL), SHS_BAD_OUTPUT);
    ANSWERS(shs_mnf_from_noise(NULL, NULL, noise, 2, NULL, (shs_pca *)(void *)out), SHS_BAD_MOMENTS);
    ANSWERS(shs_mnf_from_noise(NULL, &empty, noise, 2, NULL, (shs_pca *)(void *)out), SHS_BAD_MOMENTS);
    ANSWERS(shs_mnf_from_noise(NULL, &m, NULL, 2, NULL, (shs_pca *)(void *)out), SHS_BAD_A);
    ANSWERS(shs_mnf_from_noise(NULL, &m, noise, 1, NULL, (shs_pca *)(void *)out), SHS_BAD_LDN);
    ANSWERS(shs_mnf_from_noise(NULL, &m, noise, 2, NULL, NULL), SHS_BAD_OUTPUT);
    o.correlation = 1;
    m.products[3] = m.sum[1] = 0; /* the second band is constant */
    ANSWERS(shs_pca_from_moments(NULL, &m, &o, (shs_pca *)(void *)out), SHS_ZERO_VARIANCE);
    o.correlation = 0;
    m.count = 1; /* one pixel has no sample covariance */
    o.divisor = SHS_DIVISOR_N_LESS_1;
    ANSWERS(shs_mnf_from_noise(NULL, &m, noise, 2, &o, (shs_pca *)(void *)out), SHS_NO_PIXELS);
    give_back_moments(&m);
    give_back_moments(&other);
}

static void two_pixels(shs_cube *cube, shs_sink *sink) {
    static const double pixels[4] = {1, 2, 3, 4};
    cube->pixels = pixels;
    cube->type = SHS_TYPE_F64;
    cube->interleave = SHS_INTERLEAVE_BIP;
    cube->samples = 2;
    cube->lines = 1;
    cube->bands = 2;
    sink->pixels = out;
    sink->type = SHS_TYPE_F64;
}

static void test_maps_and_sinks(void **state) {
    static const double good[4] = {1, 0, 0, 1}, bad[4] = {1, 0, 0, NOT_A_NUMBER};
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pixel_map map = SHS_ZERO;
    int k;
    (void)state;
    two_pixels(&cube, &sink);
    map.bands = map.outputs = 2;
    map.matrix = good;
    map.centre = bad + 2;
    ANSWERS(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map.centre = NULL;
    map.offset = bad + 2;
    ANSWERS(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map.offset = NULL;
    map.matrix = bad;
    ANSWERS(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map.matrix = good;
    for (k = 0; k < 3; k++) {
        shs_sink stretched = sink;
        stretched.rescale = 1;
        if (k == 0) stretched.low = NOT_A_NUMBER;
        else if (k == 1) stretched.low = 0;
        else stretched.low = 2;
        stretched.high = k == 1 ? ENDLESS : 1;
        ANSWERS(shs_cube_map(NULL, &cube, &map, 0, &stretched), SHS_BAD_SINK);
    }
    assert_ok(shs_cube_map(NULL, &cube, &map, 0, &sink));
    assert_true(((double *)(void *)out)[0] == 1 && ((double *)(void *)out)[1] == 3);
}

/* A call checks the result of a fit before using it. */
static void test_results_of_fits(void **state) {
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_wide one[4] = {1, 0, 0, 1};
    shs_pca whole = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    int k;
    (void)state;
    two_pixels(&cube, &sink);
    whole.bands = whole.components = 2;
    whole.forward = whole.backward = one;
    whole.mean = one + 1;
    for (k = 0; k < 4; k++) {
        shs_pca pca = whole, *given = k == 0 ? NULL : &pca;
        if (k == 1) pca.bands = 0;
        if (k == 2) pca.components = 0;
        if (k == 3) pca.forward = NULL;
        ANSWERS(shs_pca_transform(NULL, given, &cube, &sink), SHS_BAD_MAP);
        ANSWERS(shs_pca_inverse(NULL, given, &cube, &sink), SHS_BAD_MAP);
        ANSWERS(shs_pca_denoise(NULL, given, 0, &cube, &sink), SHS_BAD_MAP);
    }
    ANSWERS(shs_pca_denoise(NULL, &whole, -1, &cube, &sink), SHS_BAD_COMPONENTS);
    ANSWERS(shs_pca_denoise(NULL, &whole, 3, &cube, &sink), SHS_BAD_COMPONENTS);
    ANSWERS(shs_ica_transform(NULL, NULL, &cube, &sink), SHS_BAD_MAP);
    ANSWERS(shs_ica_transform(NULL, &ica, &cube, &sink), SHS_BAD_MAP);
    ANSWERS(shs_ica_inverse(NULL, NULL, &cube, &sink), SHS_BAD_MAP);
    ANSWERS(shs_ica_inverse(NULL, &ica, &cube, &sink), SHS_BAD_MAP);
}

static void test_options_of_ica(void **state) {
    plain_cube p = mixed_cube(6, 7, 3, 2, 0.1, 1);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_ica_options o = SHS_ZERO;
    shs_ica *ica = (shs_ica *)(void *)out;
    (void)state;
    o.eigenvalue_at_least = NOT_A_NUMBER;
    ANSWERS(shs_ica_fit(NULL, &cube, &o, ica), SHS_BAD_COMPONENTS);
    o.eigenvalue_at_least = -1;
    ANSWERS(shs_ica_fit(NULL, &cube, &o, ica), SHS_BAD_COMPONENTS);
    o.eigenvalue_at_least = 0;
    o.route = SHS_ROUTE_MOMENTS;
    o.contrast = SHS_CONTRAST_TANH;
    ANSWERS(shs_ica_fit(NULL, &cube, &o, ica), SHS_BAD_OPTIONS);
    o.contrast = SHS_CONTRAST_POW3;
    o.tolerance = ENDLESS;
    ANSWERS(shs_ica_fit(NULL, &cube, &o, ica), SHS_BAD_TOLERANCE);
    o.tolerance = 0;
    o.iterations = -1;
    ANSWERS(shs_ica_fit(NULL, &cube, &o, ica), SHS_BAD_ITERATIONS);
    o.iterations = 0;
    ANSWERS(shs_ica_fit(NULL, &cube, &o, NULL), SHS_BAD_OUTPUT);
    cube_free(&cube);
    free(p.x);
}

/* Structs that were not zeroed: the first or last member is not 0. */
#define NEVER_ZEROED(of, call, expected)                                                                                       \
    do {                                                                                                                       \
        (of).start_canary = 0xcccccccc, assert_status(call, expected), (of).start_canary = 0;                                  \
        (of).end_canary = 1, assert_status(call, expected), (of).end_canary = 0;                                               \
        assert_ok(call);                                                                                                       \
    } while (0)

static void test_never_zeroed(void **state) {
    shs_context ctx = SHS_ZERO;
    shs_omp_options omp = SHS_ZERO;
    shs_ksvd_options ksvd = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pca_options pca = SHS_ZERO;
    shs_ica_options ica = SHS_ZERO;
    shs_image image = SHS_ZERO;
    shs_codes codes;
    shs_real D[8], Y[4 * 6], room[64];
    unsigned char pixels[64];
    int i, x, y;
    (void)state;
    for (i = 0; i < 8; i++) {
        D[i] = (shs_real)(i % 3 - 1);
        D[i / 2] += 1;
    }
    for (i = 0; i < 24; i++) Y[i] = (shs_real)(i * i % 7) - 3;
    for (i = 0; i < 64; i++) pixels[i] = (unsigned char)(i * i * 37 % 251);
    assert_ok(shs_codes_create(NULL, 6, 2, &codes));
    omp.sparsity = 1;
    ksvd.iterations = 1;
    ksvd.coding.sparsity = 1;
    NEVER_ZEROED(ctx, shs_omp(&ctx, 4, 2, D, 6, Y, 1, &codes), SHS_BAD_CONTEXT);
    ctx.version = 1;
    assert_status(shs_omp(&ctx, 4, 2, D, 6, Y, 1, &codes), SHS_BAD_CONTEXT);
    NEVER_ZEROED(omp, shs_omp_ex(NULL, 4, 2, D, 4, 6, Y, 4, &omp, &codes, NULL, NULL), SHS_BAD_OPTIONS);
    NEVER_ZEROED(ksvd, shs_ksvd_ex(NULL, 4, 2, 6, Y, 4, &ksvd, D, 4, NULL, NULL), SHS_BAD_OPTIONS);
    NEVER_ZEROED(ksvd.coding, shs_ksvd_ex(NULL, 4, 2, 6, Y, 4, &ksvd, D, 4, NULL, NULL), SHS_BAD_OPTIONS);
    NEVER_ZEROED(report, shs_ksvd_ex(NULL, 4, 2, 6, Y, 4, &ksvd, D, 4, NULL, &report), SHS_BAD_OUTPUT);
    image.pixels = pixels;
    image.type = SHS_TYPE_U8;
    image.width = image.height = 8;
    set.width = set.height = 2;
    NEVER_ZEROED(set, shs_patches_position(&image, &set, 1, &x, &y), SHS_BAD_PATCHES);
    cube.pixels = pixels;
    cube.type = SHS_TYPE_U8;
    cube.samples = cube.lines = 4;
    cube.bands = 4;
    sink.pixels = room;
    pca.components = ica.components = 2;
    ica.iterations = 2;
    NEVER_ZEROED(cube, shs_pca_run(NULL, &cube, &pca, &sink, NULL), SHS_BAD_CUBE);
    NEVER_ZEROED(sink, shs_pca_run(NULL, &cube, &pca, &sink, NULL), SHS_BAD_SINK);
    NEVER_ZEROED(pca, shs_pca_run(NULL, &cube, &pca, &sink, NULL), SHS_BAD_OPTIONS);
    NEVER_ZEROED(ica, shs_ica_run(NULL, &cube, &ica, &sink, NULL), SHS_BAD_OPTIONS);
    shs_codes_free(NULL, &codes);
}

static int no_signals(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    (void)user;
    (void)p;
    (void)most;
    (void)Y;
    *count = 0;
    return 0;
}

/* Options that hold nothing but garbage, pointers too: no call follows a pointer before it refuses them. */
static void test_options_of_garbage(void **state) {
    shs_omp_options omp;
    shs_lasso_options lasso;
    shs_ksvd_options ksvd;
    shs_online_options online;
    shs_pca_options pca;
    shs_ica_options ica;
    shs_detect_options detect;
    shs_endmember_options extraction;
    shs_count_options counting;
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_codes codes;
    shs_moments m;
    shs_pca made;
    shs_ica separated;
    shs_endmembers found;
    shs_real D[8] = {1, 0, 0, 0, 0, 1, 0, 0}, Y[24] = {1}, room[64];
    shs_wide spectra[16] = {1, 2, 3, 5, 1, 1, 2, 1};
    unsigned char pixels[64];
    int labels[16] = {0}, count, i;
    (void)state;
    memset(&omp, 0x55, sizeof omp);
    memset(&lasso, 0x55, sizeof lasso);
    memset(&ksvd, 0x55, sizeof ksvd);
    memset(&online, 0x55, sizeof online);
    memset(&pca, 0x55, sizeof pca);
    memset(&ica, 0x55, sizeof ica);
    memset(&detect, 0x55, sizeof detect);
    memset(&extraction, 0x55, sizeof extraction);
    memset(&counting, 0x55, sizeof counting);
    for (i = 0; i < 64; i++) pixels[i] = (unsigned char)(i * i * 37 % 251);
    cube.pixels = pixels;
    cube.type = SHS_TYPE_U8;
    cube.samples = cube.lines = 4;
    cube.bands = 4;
    sink.pixels = room;
    assert_ok(shs_codes_create(NULL, 6, 2, &codes));
    assert_ok(shs_moments_create(NULL, 4, &m));
    assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &m));
#define REFUSED(call) assert_status(call, SHS_BAD_OPTIONS)
    REFUSED(shs_omp_ex(NULL, 4, 2, D, 4, 6, Y, 4, &omp, &codes, NULL, NULL));
    REFUSED(shs_lasso(NULL, 4, 2, D, 4, 6, Y, 4, &lasso, &codes, NULL, NULL));
    REFUSED(shs_ksvd_ex(NULL, 4, 2, 6, Y, 4, &ksvd, D, 4, NULL, NULL));
    REFUSED(shs_online_ex(NULL, 4, 2, no_signals, NULL, &online, D, 4, NULL));
    REFUSED(shs_pca_fit(NULL, &cube, &pca, &made));
    REFUSED(shs_pca_run(NULL, &cube, &pca, &sink, NULL));
    REFUSED(shs_mnf_fit(NULL, &cube, &pca, &made));
    REFUSED(shs_mnf_run(NULL, &cube, &pca, &sink, NULL));
    REFUSED(shs_rx_fit(NULL, &cube, &pca, &made));
    REFUSED(shs_rx(NULL, &cube, &pca, &sink, NULL));
    REFUSED(shs_rx_classes(NULL, &cube, labels, 1, &pca, &sink, NULL));
    REFUSED(shs_pca_from_moments(NULL, &m, &pca, &made));
    REFUSED(shs_mnf_from_noise(NULL, &m, spectra, 4, &pca, &made));
    REFUSED(shs_ica_fit(NULL, &cube, &ica, &separated));
    REFUSED(shs_ica_run(NULL, &cube, &ica, &sink, NULL));
    REFUSED(shs_detect(NULL, &cube, 1, spectra, 4, &detect, &sink));
    REFUSED(shs_endmembers_find(NULL, &cube, &extraction, &found));
    REFUSED(shs_count_materials(NULL, &m, &counting, &count));
#undef REFUSED
    shs_codes_free(NULL, &codes);
    shs_moments_free(NULL, &m);
}

/* Numbers that are no divisor, precision or neighbour are refused by all fits, whether or not the fit looks at them. */
static void test_enumerations_of_fits(void **state) {
    float pixels[240], room[240];
    int few, which;
    (void)state;
    for (few = 0; few < 2; few++)
        for (which = 0; which < 3; which++) {
            shs_cube cube = SHS_ZERO;
            shs_sink sink = SHS_ZERO;
            shs_pca_options o = SHS_ZERO;
            shs_pca made;
            shs_moments m;
            shs_wide mean[8], noise[64] = {0};
            int labels[30] = {0}, i;
            for (i = 0; i < 240; i++) pixels[i] = (float)(i * i * 37 % 251);
            for (i = 0; i < 8; i++) noise[i * 9] = 1;
            cube.pixels = pixels;
            cube.type = SHS_TYPE_F32;
            cube.samples = few ? 4 : 30;
            cube.lines = 1;
            cube.bands = 8;
            sink.pixels = room;
            sink.type = SHS_TYPE_F32;
            if (which == 0) o.divisor = (shs_divisor)7;
            if (which == 1) o.precise = (shs_precision)9;
            if (which == 2) o.neighbours = (shs_neighbours)4;
            assert_status(shs_pca_fit(NULL, &cube, &o, &made), SHS_BAD_OPTIONS);
            assert_status(shs_mnf_fit(NULL, &cube, &o, &made), SHS_BAD_OPTIONS);
            assert_status(shs_rx_fit(NULL, &cube, &o, &made), SHS_BAD_OPTIONS);
            assert_status(shs_rx(NULL, &cube, &o, &sink, NULL), SHS_BAD_OPTIONS);
            assert_status(shs_rx_classes(NULL, &cube, labels, 1, &o, &sink, NULL), SHS_BAD_OPTIONS);
            assert_ok(shs_moments_create(NULL, 8, &m));
            assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &m));
            assert_status(shs_pca_from_moments(NULL, &m, &o, &made), SHS_BAD_OPTIONS);
            assert_status(shs_mnf_from_noise(NULL, &m, noise, 8, &o, &made), SHS_BAD_OPTIONS);
            assert_status(shs_moments_finish(&m, (shs_divisor)7, mean, NULL, 0), SHS_BAD_OPTIONS);
            shs_moments_free(NULL, &m);
        }
}

/* Under AddressSanitizer the members of a context between its version and its last canary may not be read, or may be again. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
static void hide_members(shs_context *ctx, int hide) {
    unsigned char *from = (unsigned char *)&ctx->alloc_fn, *to = (unsigned char *)&ctx->end_canary;
    if (hide) ASAN_POISON_MEMORY_REGION(from, (size_t)(to - from));
    else ASAN_UNPOISON_MEMORY_REGION(from, (size_t)(to - from));
}
#else
static void hide_members(shs_context *ctx, int hide) { (void)ctx, (void)hide; }
#endif

/* Memory that holds anything, and a context or an engine of a later version: no callback is called, and no other member is read. */
static void test_collective_calls_without_a_context(void **state) {
    const shs_context zero = SHS_ZERO;
    shs_context ctx;
    shs_engine later;
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pca_options pca = SHS_ZERO;
    shs_pca fit, made;
    shs_ica ica, separated;
    shs_ica_options io = SHS_ZERO;
    shs_online_options online = SHS_ZERO;
    shs_lasso_options lasso = SHS_ZERO;
    shs_ksvd_options ksvd = SHS_ZERO;
    shs_moments moments;
    shs_endmembers found;
    shs_endmember_options eo = SHS_ZERO;
    shs_pixel_map map = SHS_ZERO;
    shs_real D[8] = {1, 0, 0, 0, 0, 1, 0, 0}, Y[24] = {0}, room[64];
    shs_wide spectra[8] = {1, 2, 3, 5, 1, 1, 2, 1};
    unsigned char pixels[64];
    int labels[16] = {0}, counts[16], i, way;
    (void)state;
    for (i = 0; i < 64; i++) pixels[i] = (unsigned char)(i * i * 37 % 251);
    cube.pixels = pixels;
    cube.type = SHS_TYPE_U8;
    cube.samples = cube.lines = 4;
    cube.bands = 4;
    sink.pixels = room;
    pca.components = io.components = 2;
    io.iterations = 2;
    eo.count = 2;
    map.bands = 4;
    map.outputs = 2;
    map.matrix = spectra;
    online.coding.sparsity = 1;
    ksvd.coding.sparsity = 1;
    lasso.lambda = 1;
    assert_ok(shs_pca_fit(NULL, &cube, &pca, &fit));
    assert_ok(shs_ica_fit(NULL, &cube, &io, &ica));
    assert_ok(shs_moments_create(NULL, 4, &moments));
    memset(&later, 0xcc, sizeof later);
    later.version = 1;
    for (way = 0; way < 3; way++) {
        memset(&ctx, 0xcc, sizeof ctx);
        if (way == 1) ctx.start_canary = ctx.end_canary = 0;
        if (way == 2) {
            ctx = zero;
            ctx.engine = &later;
        } else hide_members(&ctx, 1);
#define REFUSED(call) assert_status(call, SHS_BAD_CONTEXT)
        REFUSED(shs_ksvd(&ctx, 4, 2, 6, Y, 1, 1, D));
        REFUSED(shs_online_ex(&ctx, 4, 2, no_signals, NULL, &online, D, 4, NULL));
        REFUSED(shs_moments_update(&ctx, &cube, SHS_PRECISION_AUTO, &moments));
        REFUSED(shs_moments_reduce(&ctx, &moments));
        REFUSED(shs_cube_map(&ctx, &cube, &map, SHS_PRECISION_AUTO, &sink));
        REFUSED(shs_pca_fit(&ctx, &cube, &pca, &made));
        REFUSED(shs_mnf_fit(&ctx, &cube, &pca, &made));
        REFUSED(shs_pca_run(&ctx, &cube, &pca, &sink, NULL));
        REFUSED(shs_mnf_run(&ctx, &cube, &pca, &sink, NULL));
        REFUSED(shs_pca_from_moments(&ctx, &moments, &pca, &made));
        REFUSED(shs_pca_transform(&ctx, &fit, &cube, &sink));
        REFUSED(shs_pca_denoise(&ctx, &fit, 1, &cube, &sink));
        REFUSED(shs_pca_inverse(&ctx, &fit, &cube, &sink));
        REFUSED(shs_rx(&ctx, &cube, &pca, &sink, NULL));
        REFUSED(shs_rx_fit(&ctx, &cube, &pca, &made));
        REFUSED(shs_rx_transform(&ctx, &fit, &cube, &sink));
        REFUSED(shs_rx_classes(&ctx, &cube, labels, 1, &pca, &sink, NULL));
        REFUSED(shs_rx_local(&ctx, &cube, NULL, &sink));
        REFUSED(shs_ica_fit(&ctx, &cube, &io, &separated));
        REFUSED(shs_ica_run(&ctx, &cube, &io, &sink, NULL));
        REFUSED(shs_ica_transform(&ctx, &ica, &cube, &sink));
        REFUSED(shs_ica_inverse(&ctx, &ica, &cube, &sink));
        REFUSED(shs_detect(&ctx, &cube, 1, spectra, 4, NULL, &sink));
        REFUSED(shs_unmix(&ctx, &cube, 2, spectra, 4, SHS_CONSTRAINT_FULL, &sink));
        REFUSED(shs_endmembers_find(&ctx, &cube, &eo, &found));
        REFUSED(shs_ppi(&ctx, &cube, 2, spectra, 0, counts));
#undef REFUSED
#define THE_SAME(query, ...) assert_true(query(&ctx, __VA_ARGS__) == query(NULL, __VA_ARGS__))
        THE_SAME(shs_gemm_workspace, 300, 300, 300);
        THE_SAME(shs_syrk_workspace, 300, 300);
        THE_SAME(shs_trsm_workspace, SHS_SIDE_LEFT, 300, 300);
        THE_SAME(shs_cholesky_workspace, 300);
        THE_SAME(shs_eigh_workspace, 300, 300);
        THE_SAME(shs_omp_workspace, 4, 2, 6, 1, NULL);
        THE_SAME(shs_lasso_workspace, 4, 2, 6, &lasso);
        THE_SAME(shs_ksvd_workspace, 4, 2, 6, &ksvd);
        THE_SAME(shs_online_workspace, 4, 2, &online);
        THE_SAME(shs_moments_update_workspace, &cube, SHS_PRECISION_AUTO);
        THE_SAME(shs_cube_map_workspace, &cube, &map, SHS_PRECISION_AUTO, &sink);
#undef THE_SAME
        hide_members(&ctx, 0);
    }
    shs_pca_free(NULL, &fit), shs_ica_free(NULL, &ica), shs_moments_free(NULL, &moments);
}

/* What the header says of the memory that fits take. */
static void test_memory_of_fits(void **state) {
    static const int bands[] = {3, 11, 60, 130};
    int t, call;
    (void)state;
    for (t = 0; t < 24; t++) {
        int n = bands[t % 4], threads = t < 12 ? 1 : 3, m = n < 12 ? n : 12;
        size_t count = (size_t)(n + 10 + 97 * (t % 3)), i, values = count * (size_t)n;
        unsigned char *pixels = (unsigned char *)malloc(values);
        shs_real *results = (shs_real *)malloc(values * sizeof *results);
        shs_wide *matrix = (shs_wide *)calloc((size_t)(n * n), sizeof *matrix);
        size_t room = (size_t)256 << 20, bound, whitened;
        void *memory = malloc(room);
        shs_context ctx = SHS_ZERO;
        shs_arena arena;
        shs_cube cube = SHS_ZERO;
        shs_sink sink = SHS_ZERO;
        shs_pixel_map map = SHS_ZERO;
        shs_ica_options ica = SHS_ZERO;
        shs_random r;
        assert_non_null(memory);
        shs_random_seed(&r, (uint64_t)t);
        for (i = 0; i < values; i++) pixels[i] = (unsigned char)shs_random_below(&r, 256);
        ctx.threads = threads;
        cube.pixels = pixels;
        cube.type = SHS_TYPE_U8;
        cube.bands = n;
        cube.interleave = (shs_interleave)(t % 3);
        cube.lines = 1 + t % 2;
        cube.samples = (int)count / cube.lines;
        sink.pixels = results;
        sink.type = SHS_TYPE_REAL;
        map.bands = map.outputs = n;
        map.matrix = matrix;
        ica.components = m;
        ica.iterations = 3;
        bound = shs_moments_update_workspace(&ctx, &cube, SHS_PRECISION_AUTO) + shs_eigh_workspace(&ctx, n, n) +
                shs_cube_map_workspace(&ctx, &cube, &map, SHS_PRECISION_AUTO, &sink);
        whitened = 2 * (size_t)m * (count + 8192 * (size_t)threads) * sizeof(shs_real) +
                   (size_t)(threads + 2) * (size_t)(m * (m + 1) / 2 * (m * (m + 1) / 2)) * sizeof(shs_wide);
        for (call = 0; call < 4; call++) {
            shs_pca mnf;
            shs_arena_init(&arena, memory, room);
            shs_arena_attach(&arena, &ctx);
            if (call == 0) assert_ok(shs_pca_run(&ctx, &cube, NULL, &sink, NULL));
            if (call == 1) assert_ok(shs_rx(&ctx, &cube, NULL, &sink, NULL));
            if (call == 2) {
                assert_ok(shs_mnf_fit(&ctx, &cube, NULL, &mnf));
                shs_pca_free(&ctx, &mnf);
            }
            if (call == 3) assert_ok(shs_ica_run(&ctx, &cube, &ica, &sink, NULL));
            assert_in_range(arena.peak, 1, bound + (call == 3 ? whitened : 0));
        }
        free(pixels);
        free(results);
        free(matrix);
        free(memory);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_infinite_pivot),
        cmocka_unit_test(test_workspaces_of_algebra),
        cmocka_unit_test(test_broken_codes),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_workspaces_of_coding),
        cmocka_unit_test(test_unknown_methods),
        cmocka_unit_test(test_no_options),
        cmocka_unit_test(test_gram_form),
        cmocka_unit_test(test_one_signal),
        cmocka_unit_test(test_naive_stops),
        cmocka_unit_test(test_dictionaries),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_cubes),
        cmocka_unit_test(test_one_stride),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_maps_and_sinks),
        cmocka_unit_test(test_results_of_fits),
        cmocka_unit_test(test_options_of_ica),
        cmocka_unit_test(test_enumerations_of_fits),
        cmocka_unit_test(test_never_zeroed),
        cmocka_unit_test(test_options_of_garbage),
        cmocka_unit_test(test_collective_calls_without_a_context),
        cmocka_unit_test(test_memory_of_fits),
    };
    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
