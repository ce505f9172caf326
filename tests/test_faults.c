/* test_faults.c - every public call with what can go wrong around it: each allocation, read, write, step and reduction
   fails once, and streams say that all is well and give anything. No crash, no leak, outputs as promised. */
#include "test_components.h"
#include "memory_file.h"

/* ---- the calls --------------------------------------------------------------------------------------------------- */

#define P 16
#define N 40
#define M 300
#define S 4
#define DEEP (2 * SLAB_DEPTH + 100) /* where products are shared out by slabs of the depth */
#define LINES 11
#define SAMPLES 24
#define BANDS 4
#define SLOT 65536
#define SLOTS 4
#define OUT(scene, k, type) ((type *)(void *)((scene)->out + (size_t)(k)*SLOT))

/* The inputs of all calls, and the memory for their outputs. */
typedef struct scene {
    shs_real *D, *Y, *gram, *dty, *norms2, *triangle, *deep;
    shs_wide *symmetric;
    unsigned char *pixels;
    shs_image image;
    shs_codes codes;     /* input: codes of Y over D */
    unsigned char *out;  /* SLOTS * SLOT bytes for outputs, each at OUT(k) */
    unsigned char *before; /* what they held before the call */
    int family;            /* of the calls that a test is about */
    shs_codes out_codes; /* output: its arrays lie in out */
    unsigned char *bytes; /* input: the codes, rounded, in few bytes */
    size_t bytes_size, bytes_read;

    /* cubes: a stream of blocks, and what was made of the cube before; results are at OUT(1) */
    plain_cube plain;
    shs_cube cube, lines;
    stream read;
    shs_moments moments;
    shs_wide noise[BANDS * BANDS];
    shs_pca pca;
    shs_ica ica;
    int keeps;             /* results are not given back at once */
    shs_sink memory, sink; /* written in blocks that are put together in OUT(0) */
    collector written;
} scene;

typedef shs_status (*call_fn)(const shs_context *ctx, scene *s);

static shs_status call_gemm(const shs_context *ctx, scene *s) {
    return shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, N, M, P, 1, s->D, P, s->Y, P, 0, OUT(s, 0, shs_real), N);
}

static shs_status call_syrk(const shs_context *ctx, scene *s) {
    return shs_syrk(ctx, SHS_UPLO_LOWER, SHS_TRANS_YES, N, P, 1, s->D, P, 0, OUT(s, 0, shs_real), N);
}

/* Six slabs over two workers and more. */
static shs_status call_gemm_deep(const shs_context *ctx, scene *s) {
    return shs_gemm(ctx, SHS_TRANS_NO, SHS_TRANS_YES, 3, 2, DEEP, 1, s->deep, 3, s->deep, 2, 0, OUT(s, 0, shs_real), 3);
}

static shs_status call_syrk_deep(const shs_context *ctx, scene *s) {
    return shs_syrk(ctx, SHS_UPLO_UPPER, SHS_TRANS_NO, 3, DEEP, 1, s->deep, 3, 0, OUT(s, 0, shs_real), 3);
}

static shs_status call_trsm_right(const shs_context *ctx, scene *s) {
    return shs_trsm(ctx, SHS_SIDE_RIGHT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, N, P, 1, s->triangle, P,
                    OUT(s, 0, shs_real), N);
}

static void prepare_trsm(scene *s) { memcpy(OUT(s, 0, shs_real), s->D, P * N * sizeof *s->D); }

static shs_status call_trsm(const shs_context *ctx, scene *s) {
    return shs_trsm(ctx, SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, P, N, 1, s->triangle, P,
                    OUT(s, 0, shs_real), P);
}

static void prepare_cholesky(scene *s) { memcpy(OUT(s, 0, shs_real), s->triangle, P * P * sizeof *s->triangle); }

static shs_status call_cholesky(const shs_context *ctx, scene *s) {
    return shs_cholesky(ctx, SHS_UPLO_LOWER, P, OUT(s, 0, shs_real), P);
}

static shs_status call_eigh(const shs_context *ctx, scene *s) {
    return shs_eigh(ctx, P, s->symmetric, P, P, OUT(s, 0, shs_wide), OUT(s, 1, shs_wide), P);
}

static shs_status call_eigh_few(const shs_context *ctx, scene *s) {
    return shs_eigh(ctx, P, s->symmetric, P, 2, OUT(s, 0, shs_wide), OUT(s, 1, shs_wide), P);
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

static void prepare_round(scene *s) {
    memcpy(s->out_codes.used, s->codes.used, M * sizeof(int));
    memcpy(s->out_codes.atoms, s->codes.atoms, M * S * sizeof(int));
    memcpy(s->out_codes.coefs, s->codes.coefs, M * S * sizeof(shs_real));
}

static shs_status call_round(const shs_context *ctx, scene *s) {
    return shs_codes_round(ctx, P, N, s->D, P, SHS_COEF_I8, &s->out_codes);
}

static int write_compact(void *user, const void *bytes, size_t count) {
    scene *s = (scene *)user;
    memcpy(s->bytes + s->bytes_size, bytes, count);
    s->bytes_size += count;
    return 0;
}

static int read_compact(void *user, void *bytes, size_t count) {
    scene *s = (scene *)user;
    memcpy(bytes, s->bytes + s->bytes_read, count);
    s->bytes_read += count;
    return 0;
}

static shs_status call_compact_load(const shs_context *ctx, scene *s) {
    shs_status status;
    s->bytes_read = 0;
    status = shs_compact_load(ctx, N, read_compact, s, OUT(s, 0, shs_codes));
    if (status == SHS_OK) shs_codes_free(ctx, OUT(s, 0, shs_codes));
    return status;
}

/* Codes in three files, which are written at the first call. */
static shs_status call_npy_load(const shs_context *ctx, scene *s) {
    static memory_file files[3];
    shs_status status;
    int i;
    if (!files[0].size) assert_ok(shs_npy_save_codes(&s->codes, write_bytes, files, files + 1, files + 2));
    for (i = 0; i < 3; i++) rewind_file(files + i, 0);
    status = shs_npy_load_codes(ctx, N, read_bytes, files, files + 1, files + 2, OUT(s, 0, shs_codes));
    if (status == SHS_OK) shs_codes_free(ctx, OUT(s, 0, shs_codes));
    return status;
}

static shs_status call_compact_synthesize(const shs_context *ctx, scene *s) {
    shs_compact compact;
    assert_ok(shs_compact_open(s->bytes, s->bytes_size, &compact));
    return shs_compact_synthesize(ctx, P, N, s->D, P, &compact, 0, M, OUT(s, 0, shs_real), P);
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

#ifndef TEST_CL /* no device does what stands between such lines yet */
static shs_status call_omp_nonnegative(const shs_context *ctx, scene *s) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    o.nonnegative = 1;
    return shs_omp_ex(ctx, P, N, s->D, P, M, s->Y, P, &o, &s->out_codes, OUT(s, 3, shs_real), NULL);
}

static shs_status call_omp_weights(const shs_context *ctx, scene *s) {
    static const unsigned char mask[P * M] = {1, 1, 0, 1};
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    o.selection = SHS_SELECT_OLS;
    o.mask = mask;
    o.ldm = P;
    o.weights = s->norms2;
    o.ldw = 0;
    return shs_omp_ex(ctx, P, N, s->D, P, M, s->Y, P, &o, &s->out_codes, OUT(s, 3, shs_real), NULL);
}
#endif

static shs_status call_omp_ols(const shs_context *ctx, scene *s) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    o.selection = SHS_SELECT_OLS;
    return shs_omp_ex(ctx, P, N, s->D, P, M, s->Y, P, &o, &s->out_codes, NULL, NULL);
}

static shs_status omp_groups(const shs_context *ctx, scene *s, shs_gram_mode mode) {
    static const size_t groups[] = {0, 1, 40, M - 1};
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    o.selection = SHS_SELECT_OLS;
    o.gram_mode = mode;
    o.tolerance = (shs_real)0.01;
    o.groups = groups;
    o.group_count = 4;
    return shs_omp_ex(ctx, P, N, s->D, P, M, s->Y, P, &o, &s->out_codes, OUT(s, 3, shs_real), NULL);
}
static shs_status call_omp_groups(const shs_context *ctx, scene *s) { return omp_groups(ctx, s, SHS_GRAM_ALWAYS); }
static shs_status call_omp_groups_never(const shs_context *ctx, scene *s) { return omp_groups(ctx, s, SHS_GRAM_NEVER); }

static shs_status call_lasso(const shs_context *ctx, scene *s) {
    shs_lasso_options o = SHS_ZERO;
    o.relative = 1;
    o.lambda = (shs_real)0.2;
    return shs_lasso(ctx, P, N, s->D, P, M, s->Y, P, &o, &s->out_codes, OUT(s, 3, shs_real), NULL);
}

static shs_status call_elastic_net(const shs_context *ctx, scene *s) {
    static const shs_real path[] = {(shs_real)0.2};
    shs_lasso_options o = SHS_ZERO;
    o.relative = 1;
    o.lambdas = path;
    o.lambda_count = 1;
    o.lambda2 = (shs_real)0.1;
    return shs_lasso(ctx, P, N, s->D, P, M, s->Y, P, &o, &s->out_codes, OUT(s, 3, shs_real), NULL);
}

#ifndef TEST_CL
static shs_status call_lasso_gram(const shs_context *ctx, scene *s) {
    shs_lasso_options o = SHS_ZERO;
    o.relative = 1;
    o.lambda = (shs_real)0.2;
    o.gram = s->gram;
    o.ldg = N;
    return shs_lasso_gram(ctx, N, M, s->dty, N, s->norms2, &o, &s->out_codes, NULL, NULL);
}
#endif

static shs_status call_omp_gram(const shs_context *ctx, scene *s) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = S;
    o.gram = s->gram;
    o.ldg = N;
    return shs_omp_gram(ctx, N, M, s->dty, N, s->norms2, &o, &s->out_codes, NULL, NULL);
}

static shs_status call_ksvd(const shs_context *ctx, scene *s) {
    return shs_ksvd(ctx, P, N, M, s->Y, S, 2, OUT(s, 0, shs_real));
}

static shs_status call_ksvd_ex(const shs_context *ctx, scene *s) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = 2;
    o.parallel_atoms = 7;
    o.rounds = 2;
    o.rmse_after_update = 1;
    o.coding.tolerance = (shs_real)0.5;
    o.coding.sparsity = S;
    return shs_ksvd_ex(ctx, P, N, M, s->Y, P, &o, OUT(s, 3, shs_real), P, &s->out_codes, NULL);
}

/* Delivers the scene's signals as one batch, and then no more. */
typedef struct one_batch {
    const shs_real *Y;
    int over;
} one_batch;
static int deliver_once(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    one_batch *b = (one_batch *)user;
    if (b->over) *count = 0;
    else if (M < most) *count = M;
    else *count = most;
    memcpy(Y, b->Y, *count * (size_t)p * sizeof *Y);
    b->over = 1;
    return 0;
}
static shs_status call_online(const shs_context *ctx, scene *s) {
    shs_online_options o = SHS_ZERO;
    one_batch b = {0};
    b.Y = s->Y;
    o.coding.sparsity = S;
    o.batch = M;
    o.replace = SHS_REPLACE_RANDOM;
    o.replace_every = 1;
    o.test = s->Y;
    o.test_m = M;
    return shs_online_ex(ctx, P, N, deliver_once, &b, &o, OUT(s, 3, shs_real), P, NULL);
}

#ifndef TEST_CL
static shs_status learn_by(const shs_context *ctx, scene *s, shs_update update) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = 2;
    o.parallel_atoms = 7;
    o.rmse_after_update = 1;
    o.coding.sparsity = S;
    o.update = update;
    if (update == SHS_UPDATE_AKSVD) o.nonnegative = 1;
    else {
        o.regularisation = (shs_real)0.1;
        o.coherence = (shs_real)0.5;
    }
    if (update == SHS_UPDATE_SGK) o.incoherence = (shs_real)0.1;
    o.test = s->Y;
    o.test_m = M;
    return shs_ksvd_ex(ctx, P, N, M, s->Y, P, &o, OUT(s, 3, shs_real), P, &s->out_codes, NULL);
}
static shs_status call_nsgk(const shs_context *ctx, scene *s) { return learn_by(ctx, s, SHS_UPDATE_NSGK); }
static shs_status call_sgk(const shs_context *ctx, scene *s) { return learn_by(ctx, s, SHS_UPDATE_SGK); }
static shs_status call_mod(const shs_context *ctx, scene *s) { return learn_by(ctx, s, SHS_UPDATE_MOD); }
static shs_status call_nonnegative(const shs_context *ctx, scene *s) { return learn_by(ctx, s, SHS_UPDATE_AKSVD); }
static shs_status call_masked(const shs_context *ctx, scene *s) {
    static const unsigned char mask[P * M] = {1, 1, 0, 1};
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = 2;
    o.coding.sparsity = S;
    o.coding.mask = mask;
    o.coding.ldm = P;
    return shs_ksvd_ex(ctx, P, N, M, s->Y, P, &o, OUT(s, 3, shs_real), P, &s->out_codes, NULL);
}
static shs_status call_exact(const shs_context *ctx, scene *s) { return learn_by(ctx, s, SHS_UPDATE_KSVD); }
#endif

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

static shs_status call_noise(const shs_context *ctx, scene *s) { return shs_noise_sigma(ctx, &s->image, OUT(s, 0, shs_noise)); }

/* ---- the calls that read cubes ------------------------------------------------------------------------------------ */

static shs_status call_moments_create(const shs_context *ctx, scene *s) {
    shs_status status = shs_moments_create(ctx, BANDS, OUT(s, 1, shs_moments));
    if (status == SHS_OK) shs_moments_free(ctx, OUT(s, 1, shs_moments));
    return status;
}

/* Moments that are as they were where the call fails, else copied to the outputs. */
static shs_status moments_after(scene *s, shs_moments *m, shs_wide count_before, shs_status status) {
    if (status == SHS_OK) memcpy(OUT(s, 1, shs_wide), m->products, BANDS * BANDS * sizeof(shs_wide));
    else if (m->count < count_before || m->count > count_before) fail_msg("moments changed: %s", shs_status_name(status));
    shs_moments_free(NULL, m);
    return status;
}

static shs_status call_moments_update(const shs_context *ctx, scene *s) {
    shs_moments m = SHS_ZERO;
    assert_ok(shs_moments_create(NULL, BANDS, &m));
    return moments_after(s, &m, 0, shs_moments_update(ctx, &s->lines, 0, &m));
}

static shs_status call_moments_reduce(const shs_context *ctx, scene *s) {
    shs_moments m = SHS_ZERO;
    assert_ok(shs_moments_create(NULL, BANDS, &m));
    assert_ok(shs_moments_merge(&m, &s->moments));
    return moments_after(s, &m, s->moments.count, shs_moments_reduce(ctx, &m));
}

static shs_status call_map(const shs_context *ctx, scene *s) {
    shs_pixel_map map = SHS_ZERO;
    map.bands = map.outputs = BANDS;
    map.matrix = s->noise;
    s->sink.rescale = 1;
    s->sink.high = 255;
    return shs_cube_map(ctx, &s->lines, &map, 1, &s->sink);
}

static int handed_over(const scene *s, size_t size);
static int all_finite(size_t count, const shs_wide *x);
static shs_status pca_made(const shs_context *ctx, scene *s, shs_status status);
static shs_status ica_made(const shs_context *ctx, scene *s, shs_status status);

static shs_status call_pca_fit(const shs_context *ctx, scene *s) {
    return pca_made(ctx, s, shs_pca_fit(ctx, &s->lines, NULL, OUT(s, 1, shs_pca)));
}

static shs_status call_pca_from_moments(const shs_context *ctx, scene *s) {
    return pca_made(ctx, s, shs_pca_from_moments(ctx, &s->moments, NULL, OUT(s, 1, shs_pca)));
}

static shs_status call_mnf_fit(const shs_context *ctx, scene *s) {
    return pca_made(ctx, s, shs_mnf_fit(ctx, &s->lines, NULL, OUT(s, 1, shs_pca)));
}

static shs_status call_mnf_from_noise(const shs_context *ctx, scene *s) {
    return pca_made(ctx, s, shs_mnf_from_noise(ctx, &s->moments, s->noise, BANDS, NULL, OUT(s, 1, shs_pca)));
}

static shs_status call_pca_run(const shs_context *ctx, scene *s) {
    s->sink.rescale = 1;
    s->sink.high = 255;
    return pca_made(ctx, s, shs_pca_run(ctx, &s->lines, NULL, &s->sink, OUT(s, 1, shs_pca)));
}

static shs_status call_mnf_run(const shs_context *ctx, scene *s) {
    return pca_made(ctx, s, shs_mnf_run(ctx, &s->lines, NULL, &s->sink, OUT(s, 1, shs_pca)));
}

static shs_status call_pca_transform(const shs_context *ctx, scene *s) {
    s->sink.rescale = 1;
    s->sink.high = 255;
    return shs_pca_transform(ctx, &s->pca, &s->lines, &s->sink);
}

static shs_status call_pca_denoise(const shs_context *ctx, scene *s) {
    return shs_pca_denoise(ctx, &s->pca, 2, &s->lines, &s->sink);
}

static shs_status call_pca_inverse(const shs_context *ctx, scene *s) {
    return shs_pca_inverse(ctx, &s->pca, &s->lines, &s->sink);
}

static shs_status call_rx(const shs_context *ctx, scene *s) {
    shs_status status;
    s->written.outputs = 1;
    status = shs_rx(ctx, &s->lines, NULL, &s->sink, OUT(s, 1, int));
    if (status != SHS_OK && handed_over(s, sizeof(int))) fail_msg("shs_rx: %s, but the rank was set", shs_status_name(status));
    return status;
}

static shs_status call_rx_classes(const shs_context *ctx, scene *s) {
    size_t pixels = (size_t)s->lines.lines * (size_t)s->lines.samples, i;
    int *labels = NEW(int, pixels);
    shs_status status;
    for (i = 0; i < pixels; i++) labels[i] = (int)(i % 2);
    s->written.outputs = 1;
    status = shs_rx_classes(ctx, &s->lines, labels, 2, NULL, &s->sink, NULL);
    free(labels);
    return status;
}

#ifndef TEST_CL
/* Extremes come before the scores. */
static shs_status call_rx_local(const shs_context *ctx, scene *s) {
    shs_rx_local_options o = SHS_ZERO;
    o.inner = 1;
    o.outer = 5;
    s->written.outputs = 1;
    s->sink.rescale = 1;
    s->sink.high = 255;
    return shs_rx_local(ctx, &s->lines, &o, &s->sink);
}
#endif

/* The pixels' own statistics, and extremes, come before the scores. */
static shs_status detect_with(const shs_context *ctx, scene *s, shs_detector method) {
    shs_detect_options o = SHS_ZERO;
    o.method = method;
    o.undesired = s->noise + 2 * BANDS;
    o.undesired_count = 1;
    s->written.outputs = method == SHS_DETECTOR_AMSD ? 1 : 2;
    s->sink.rescale = 1;
    s->sink.high = 255;
    return shs_detect(ctx, &s->lines, 2, s->noise, BANDS, &o, &s->sink);
}
static shs_status call_mf(const shs_context *ctx, scene *s) { return detect_with(ctx, s, SHS_DETECTOR_MF); }
static shs_status call_ace(const shs_context *ctx, scene *s) { return detect_with(ctx, s, SHS_DETECTOR_ACE); }
static shs_status call_sam(const shs_context *ctx, scene *s) { return detect_with(ctx, s, SHS_DETECTOR_SAM); }
static shs_status call_amsd(const shs_context *ctx, scene *s) { return detect_with(ctx, s, SHS_DETECTOR_AMSD); }
static shs_status call_osp(const shs_context *ctx, scene *s) { return detect_with(ctx, s, SHS_DETECTOR_OSP); }

#ifndef TEST_CL
/* Each column has moments of its own. */
static shs_status call_columns(const shs_context *ctx, scene *s) {
    shs_detect_options o = SHS_ZERO;
    o.method = SHS_DETECTOR_GLRT;
    o.columns = 1;
    o.ridge = 1;
    s->written.outputs = 2;
    s->sink.rescale = 1;
    s->sink.high = 255;
    return shs_detect(ctx, &s->lines, 2, s->noise, BANDS, &o, &s->sink);
}
#endif

/* Abundances of three spectra; the identity is in them. */
static shs_status unmix_with(const shs_context *ctx, scene *s, shs_constraint constraint) {
    s->written.outputs = 3;
    s->sink.rescale = 1;
    s->sink.high = 255;
    return shs_unmix(ctx, &s->lines, 3, s->noise, BANDS, constraint, &s->sink);
}
static shs_status call_unmix(const shs_context *ctx, scene *s) { return unmix_with(ctx, s, SHS_CONSTRAINT_NONE); }
static shs_status call_unmix_full(const shs_context *ctx, scene *s) { return unmix_with(ctx, s, SHS_CONSTRAINT_FULL); }

/* Spectra of numbers, or nothing. */
static shs_status endmembers_with(const shs_context *ctx, scene *s, shs_extractor method) {
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers e = SHS_ZERO;
    shs_status status;
    o.method = method;
    o.count = 3;
    status = shs_endmembers_find(ctx, &s->lines, &o, &e);
    assert_int_equal(e.block != NULL, status == SHS_OK);
    if (status == SHS_OK) {
        assert_true(all_finite(3 * BANDS, e.spectra));
        memcpy(OUT(s, 1, shs_wide), e.spectra, 3 * BANDS * sizeof *e.spectra);
        memcpy(OUT(s, 2, size_t), e.pixel, 3 * sizeof *e.pixel);
    }
    shs_endmembers_free(ctx, &e);
    return status;
}
static shs_status call_vca(const shs_context *ctx, scene *s) { return endmembers_with(ctx, s, SHS_EXTRACTOR_VCA); }
static shs_status call_nfindr(const shs_context *ctx, scene *s) { return endmembers_with(ctx, s, SHS_EXTRACTOR_NFINDR); }
static shs_status call_atgp(const shs_context *ctx, scene *s) { return endmembers_with(ctx, s, SHS_EXTRACTOR_ATGP); }

static shs_ica_options ica_options(shs_contrast contrast, shs_ica_approach approach, shs_ica_route route) {
    shs_ica_options o = SHS_ZERO;
    o.components = 3;
    o.contrast = contrast;
    o.approach = approach;
    o.route = route;
    o.iterations = 6;
    return o;
}

static shs_status ica_with(const shs_context *ctx, scene *s, shs_contrast contrast, shs_ica_approach approach,
                           shs_ica_route route) {
    shs_ica_options o = ica_options(contrast, approach, route);
    return ica_made(ctx, s, shs_ica_fit(ctx, &s->lines, &o, OUT(s, 1, shs_ica)));
}

#define FIT(name, contrast, approach, route)                                                                                   \
    static shs_status name(const shs_context *ctx, scene *s) {                                                                 \
        return ica_with(ctx, s, SHS_CONTRAST_##contrast, SHS_APPROACH_##approach, SHS_ROUTE_##route);                          \
    }
FIT(call_ica_moments, POW3, DEFLATION, MOMENTS)
FIT(call_ica_moments_symmetric, POW3, SYMMETRIC, MOMENTS)
FIT(call_ica_sweep_pow3, POW3, DEFLATION, SWEEP)
FIT(call_ica_sweep_tanh, TANH, DEFLATION, SWEEP)
FIT(call_ica_tanh, TANH, SYMMETRIC, AUTO)
FIT(call_ica_gauss, GAUSS, SYMMETRIC, AUTO)
#undef FIT

static shs_status call_ica_run(const shs_context *ctx, scene *s) {
    shs_ica_options o = ica_options(SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
    s->written.outputs = 3;
    return ica_made(ctx, s, shs_ica_run(ctx, &s->lines, &o, &s->sink, OUT(s, 1, shs_ica)));
}

static shs_status call_ica_transform(const shs_context *ctx, scene *s) {
    s->written.outputs = 3;
    return shs_ica_transform(ctx, &s->ica, &s->lines, &s->sink);
}

static shs_status call_ica_inverse(const shs_context *ctx, scene *s) {
    shs_cube sources = s->lines; /* of three bands, written as one of all */
    static const int three[] = {0, 2, 3};
    sources.band_list = three;
    sources.band_count = 3;
    return shs_ica_inverse(ctx, &s->ica, &sources, &s->sink);
}

enum { BELOW = 0, COMPONENTS, SOURCES };
typedef enum made { NO_RESULT = 0, A_PCA, AN_ICA } made;

/* The calls. family: what a test may be asked to keep to, BELOW for all that components and sources are made with. blocks: as
   many as the call may take, 0 where nothing is said of it. reads, writes: block by block. makes: what is at OUT(1) then. */
static const struct {
    int family;
    const char *name;
    call_fn call;
    void (*prepare)(scene *s); /* for calls that work in place; NULL: the outputs hold a pattern */
    int blocks, reads, writes; /* reads: 2 if the call needs at least one pixel */
    made makes;
} calls[] = {
    {BELOW, "shs_gemm", call_gemm, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_syrk", call_syrk, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_gemm, deep", call_gemm_deep, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_syrk, deep", call_syrk_deep, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_trsm", call_trsm, prepare_trsm, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_trsm, right", call_trsm_right, prepare_trsm, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_cholesky", call_cholesky, prepare_cholesky, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_eigh", call_eigh, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_eigh, few", call_eigh_few, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_codes_create", call_codes_create, NULL, 3, 0, 0, NO_RESULT},
    {BELOW, "shs_codes_synthesize", call_synthesize, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_codes_residual", call_residual, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_codes_round", call_round, prepare_round, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_compact_load", call_compact_load, NULL, 2, 0, 0, NO_RESULT}, /* one of them is the codes */
    {BELOW, "shs_npy_load_codes", call_npy_load, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_compact_synthesize", call_compact_synthesize, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp", call_omp, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp_ex, Gram matrix", call_omp_always, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp_ex, no Gram matrix", call_omp_never, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp_ex, tolerance", call_omp_tolerance, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp_ex, OLS", call_omp_ols, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp_ex, groups", call_omp_groups, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp_ex, groups, no Gram matrix", call_omp_groups_never, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_lasso", call_lasso, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_lasso, elastic net", call_elastic_net, NULL, 1, 0, 0, NO_RESULT},
#ifndef TEST_CL
    {BELOW, "shs_omp_ex, nonnegative", call_omp_nonnegative, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_omp_ex, weights", call_omp_weights, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_lasso_gram", call_lasso_gram, NULL, 1, 0, 0, NO_RESULT},
#endif
    {BELOW, "shs_omp_gram", call_omp_gram, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_ksvd", call_ksvd, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_ksvd_ex", call_ksvd_ex, NULL, 1, 0, 0, NO_RESULT},
#ifndef TEST_CL
    {BELOW, "shs_ksvd_ex, missing values", call_masked, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_ksvd_ex, K-SVD", call_exact, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_ksvd_ex, NSGK", call_nsgk, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_ksvd_ex, SGK, incoherent", call_sgk, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_ksvd_ex, MOD", call_mod, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_ksvd_ex, nonnegative", call_nonnegative, NULL, 1, 0, 0, NO_RESULT},
#endif
    {BELOW, "shs_online_ex", call_online, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_dictionary_coherence", call_coherence, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_patches_get", call_patches_get, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_patches_put", call_patches_put, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_patches_average", call_patches_average, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_patches_approximate", call_patches_approximate, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_noise_sigma", call_noise, NULL, 0, 0, 0, NO_RESULT},
    {BELOW, "shs_moments_create", call_moments_create, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_moments_update", call_moments_update, NULL, 1, 1, 0, NO_RESULT},
    {BELOW, "shs_moments_reduce", call_moments_reduce, NULL, 1, 0, 0, NO_RESULT},
    {BELOW, "shs_cube_map", call_map, NULL, 1, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_pca_fit", call_pca_fit, NULL, 0, 2, 0, A_PCA},
    {COMPONENTS, "shs_pca_from_moments", call_pca_from_moments, NULL, 0, 0, 0, A_PCA},
    {COMPONENTS, "shs_mnf_fit", call_mnf_fit, NULL, 0, 2, 0, A_PCA},
    {COMPONENTS, "shs_mnf_from_noise", call_mnf_from_noise, NULL, 0, 0, 0, A_PCA},
    {COMPONENTS, "shs_pca_run", call_pca_run, NULL, 0, 2, 1, A_PCA},
    {COMPONENTS, "shs_mnf_run", call_mnf_run, NULL, 0, 2, 1, A_PCA},
    {COMPONENTS, "shs_pca_transform", call_pca_transform, NULL, 0, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_pca_denoise", call_pca_denoise, NULL, 0, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_pca_inverse", call_pca_inverse, NULL, 0, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_rx", call_rx, NULL, 0, 2, 1, NO_RESULT},
#ifndef TEST_CL
    {COMPONENTS, "shs_rx_classes", call_rx_classes, NULL, 0, 2, 1, NO_RESULT},
    {COMPONENTS, "shs_rx_local", call_rx_local, NULL, 0, 1, 1, NO_RESULT},
#endif
    {COMPONENTS, "shs_detect, MF", call_mf, NULL, 0, 2, 1, NO_RESULT},
    {COMPONENTS, "shs_detect, ACE", call_ace, NULL, 0, 2, 1, NO_RESULT},
    {COMPONENTS, "shs_detect, SAM", call_sam, NULL, 0, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_detect, OSP", call_osp, NULL, 0, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_detect, AMSD", call_amsd, NULL, 0, 1, 1, NO_RESULT},
#ifndef TEST_CL
    {COMPONENTS, "shs_detect, columns", call_columns, NULL, 0, 2, 1, NO_RESULT},
#endif
    {COMPONENTS, "shs_unmix", call_unmix, NULL, 0, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_unmix, FULL", call_unmix_full, NULL, 0, 1, 1, NO_RESULT},
    {COMPONENTS, "shs_endmembers_find, VCA", call_vca, NULL, 0, 2, 0, NO_RESULT},
    {COMPONENTS, "shs_endmembers_find, N-FINDR", call_nfindr, NULL, 0, 2, 0, NO_RESULT},
    {COMPONENTS, "shs_endmembers_find, ATGP", call_atgp, NULL, 0, 2, 0, NO_RESULT},
    {SOURCES, "shs_ica_fit, moments", call_ica_moments, NULL, 0, 2, 0, AN_ICA},
    {SOURCES, "shs_ica_fit, moments, symmetric", call_ica_moments_symmetric, NULL, 0, 2, 0, AN_ICA},
    {SOURCES, "shs_ica_fit, sweep", call_ica_sweep_pow3, NULL, 0, 2, 0, AN_ICA},
    {SOURCES, "shs_ica_fit, sweep, tanh", call_ica_sweep_tanh, NULL, 0, 2, 0, AN_ICA},
    {SOURCES, "shs_ica_fit, tanh, symmetric", call_ica_tanh, NULL, 0, 2, 0, AN_ICA},
    {SOURCES, "shs_ica_fit, gauss, symmetric", call_ica_gauss, NULL, 0, 2, 0, AN_ICA},
    {SOURCES, "shs_ica_run", call_ica_run, NULL, 0, 2, 1, AN_ICA},
    {SOURCES, "shs_ica_transform", call_ica_transform, NULL, 0, 1, 1, NO_RESULT},
    {SOURCES, "shs_ica_inverse", call_ica_inverse, NULL, 0, 1, 1, NO_RESULT},
};
#define CALLS (sizeof calls / sizeof calls[0])

/* ---- the scene --------------------------------------------------------------------------------------------------- */

static void fill_matrices(scene *s) {
    int i, j;
    assert_ok(shs_normalize_columns(P, N, s->D, P, NULL));
    assert_ok(shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, N, N, P, 1, s->D, P, s->D, P, 0, s->gram, N));
    assert_ok(shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, N, M, P, 1, s->D, P, s->Y, P, 0, s->dty, N));
    for (i = 0; i < M; i++) s->norms2[i] = shs_dot(P, s->Y + P * i, 1, s->Y + P * i, 1);
    for (j = 0; j < P; j++)
        for (i = 0; i < P; i++) {
            s->triangle[P * j + i] = i == j ? 4 : (shs_real)0.1; /* positive definite as well as triangular */
            s->symmetric[P * j + i] = 1 / (shs_wide)(1 + i + j);
        }
}

/* The moments, components and sources of a cube, for the calls that take them. */
static void make_cube(scene *s) {
    shs_ica_options o = ica_options(SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
    int i, j;
    s->plain = mixed_cube(LINES, SAMPLES, BANDS, 3, 0.1, 9);
    s->cube = cube_of(&s->plain, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 1);
    memset(&s->moments, 0, sizeof s->moments);
    memset(&s->pca, 0, sizeof s->pca);
    memset(&s->ica, 0, sizeof s->ica);
    assert_ok(shs_moments_create(NULL, BANDS, &s->moments));
    assert_ok(shs_moments_update(NULL, &s->cube, 1, &s->moments));
    assert_ok(shs_pca_fit(NULL, &s->cube, NULL, &s->pca));
    assert_ok(shs_ica_fit(NULL, &s->cube, &o, &s->ica));
    for (j = 0; j < BANDS; j++)
        for (i = 0; i < BANDS; i++) s->noise[BANDS * j + i] = (i == j) + 0.125;
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
    s->deep = new_normal(3 * DEEP, 7);
    fill_matrices(s);
    s->pixels = (unsigned char *)malloc(40 * 30);
    for (i = 0; i < 40 * 30; i++) s->pixels[i] = (unsigned char)(i * 7);
    memset(&s->image, 0, sizeof s->image);
    s->image.pixels = s->pixels;
    s->image.type = SHS_TYPE_U8;
    s->image.width = 40;
    s->image.height = 30;
    assert_ok(shs_codes_create(NULL, M, S, &s->codes));
    assert_ok(shs_omp(NULL, P, N, s->D, M, s->Y, S, &s->codes));
    make_cube(s);
    s->bytes = NEW(unsigned char, SLOT);
    s->bytes_size = 0;
    s->keeps = 0;
    s->out = NEW(unsigned char, SLOTS * SLOT);
    s->before = NEW(unsigned char, SLOTS * SLOT);
    memset(&s->memory, 0, sizeof s->memory);
    s->memory.pixels = s->out;
    s->memory.type = SHS_TYPE_F32;
    s->memory.interleave = SHS_INTERLEAVE_BIP;
    s->out_codes.m = M;
    s->out_codes.stride = S;
    s->out_codes.used = OUT(s, 0, int);
    s->out_codes.atoms = OUT(s, 1, int);
    s->out_codes.coefs = OUT(s, 2, shs_real);
    prepare_round(s);
    assert_ok(call_round(NULL, s));
    assert_ok(shs_compact_save(&s->out_codes, N, SHS_COEF_I8, write_compact, s));
}

static void scene_free(scene *s) {
    free(s->D);
    free(s->Y);
    free(s->gram);
    free(s->dty);
    free(s->norms2);
    free(s->triangle);
    free(s->symmetric);
    free(s->deep);
    free(s->pixels);
    free(s->out);
    free(s->before);
    free(s->bytes);
    shs_codes_free(NULL, &s->codes);
    shs_moments_free(NULL, &s->moments), shs_pca_free(NULL, &s->pca), shs_ica_free(NULL, &s->ica);
    cube_free(&s->cube);
    free(s->plain.x);
}

/* Fills the outputs for call c, and keeps a copy to compare them with; the stream begins anew. */
static void prepare(scene *s, size_t c) {
    memset(s->out, UNTOUCHED, SLOTS * SLOT);
    if (calls[c].prepare) calls[c].prepare(s);
    memcpy(s->before, s->out, SLOTS * SLOT);
    s->lines = streamed(&s->cube, 3, &s->read);
    s->sink = collecting(&s->memory, LINES, SAMPLES, BANDS, &s->written);
}

static int untouched(const scene *s) { return memcmp(s->out, s->before, SLOTS * SLOT) == 0; }

/* Learning that stops on the way leaves no codes, and the dictionary and the report as they were. */
static int no_codes_left(const scene *s) {
    int i = 0;
    while (i < M && s->out_codes.used[i] == 0) i++;
    return i == M && memcmp(OUT(s, 3, unsigned char), s->before + 3 * SLOT, SLOT) == 0;
}

static int handed_over(const scene *s, size_t size) {
    size_t i = 0;
    while (i < size && s->out[SLOT + i] == UNTOUCHED) i++;
    return i < size;
}

static int all_finite(size_t count, const shs_wide *x) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!is_finite((double)x[i])) return 0;
    return 1;
}

/* A result must be consistent, and the caller frees it. */
static shs_status pca_made(const shs_context *ctx, scene *s, shs_status status) {
    shs_pca *r = OUT(s, 1, shs_pca);
    if (status != SHS_OK) {
        if (handed_over(s, sizeof *r)) fail_msg("%s, but the result was touched", shs_status_name(status));
        return status;
    }
    assert_true(r->bands == BANDS && r->components >= 0 && r->components <= BANDS);
    assert_true(all_finite(BANDS, r->mean) && all_finite((size_t)r->eigenvalue_count, r->eigenvalues));
    assert_true(all_finite((size_t)(BANDS * r->components), r->forward));
    assert_true(all_finite((size_t)(BANDS * r->components), r->backward));
    if (!s->keeps) shs_pca_free(ctx, r);
    return status;
}

/* A cancelled fit may hand over the best so far. */
static shs_status ica_made(const shs_context *ctx, scene *s, shs_status status) {
    shs_ica *r = OUT(s, 1, shs_ica);
    int i;
    if (!handed_over(s, sizeof *r)) return status;
    if (status != SHS_OK && status != SHS_CANCELLED) fail_msg("%s, but the result was touched", shs_status_name(status));
    assert_true(r->bands == BANDS && r->components == 3);
    assert_true(all_finite(BANDS * 3, r->unmixing) && all_finite(BANDS * 3, r->mixing) && all_finite(9, r->rotation));
    for (i = 0; i < 3; i++) {
        const shs_ica_component *c = r->component + i;
        assert_true(is_finite((double)c->kurtosis) && is_finite((double)c->negentropy) && is_finite((double)c->change));
    }
    if (s->lines.read_fn == stream_read) check_ica(r); /* else the pixels may be anything */
    if (status == SHS_CANCELLED) assert_false(r->converged);
    if (!s->keeps) shs_ica_free(ctx, r);
    return status;
}

/* ---- one fault --------------------------------------------------------------------------------------------------- */

enum { ALLOCATION = 0, READ, WRITE, STEP, REDUCTION, MARKS, FAULTS };
enum { ALONE = 0, OF_OPENMP, OF_THE_CALLER, LOOPS = BY_ENGINE(3, 1) };

typedef struct world {
    shs_context ctx;
    faulty memory;
    watch progress;
    int reductions, fail_reduction;
    int finished; /* at the last step all is done: too late to cancel */
} world;

static int count_step(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    world *w = (world *)user;
    w->finished = step == steps;
    return -watch_progress(&w->progress, phase, step, steps, error);
}

static int count_reduction(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    world *w = (world *)user;
    (void)values;
    (void)count;
    (void)op;
    return w->reductions++ == w->fail_reduction ? -1 : 0;
}

/* Runs the chunks backwards on one thread, with changing worker numbers. */
static void backwards(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    (void)user;
    while (chunks-- > 0) body(arg, chunks, (int)(chunks % (size_t)threads));
}

static void world_create(world *w, scene *s, int loop, int fault, int k) {
    memset(w, 0, sizeof *w);
    if (loop == ALONE) w->ctx.threads = 1;
    else if (loop == OF_OPENMP) w->ctx.threads = 2;
    else w->ctx.threads = 3;
    if (loop == OF_THE_CALLER) w->ctx.parallel_fn = backwards;
    faulty_attach(&w->memory, fault == ALLOCATION ? k : -1, &w->ctx);
    w->progress.cancel_at = fault == STEP ? k : -1;
    w->ctx.progress_fn = count_step;
    w->ctx.progress_user = w;
    w->fail_reduction = fault == REDUCTION ? k : -1;
    if (fault == REDUCTION) {
        w->ctx.reduce_fn = count_reduction;
        w->ctx.reduce_user = w;
        w->ctx.ranks = 1;
    }
    if (fault == READ) s->read.fail_at = k;
    if (fault == WRITE) s->written.fail_at = k;
    if (fault == MARKS) {
        s->lines.mask_fn = stream_marks;
        s->lines.mask_user = &s->read;
        s->read.marks_fail_at = k;
    }
}

/* What holds after every call. */
static void check_world(const world *w, const scene *s, size_t c, shs_status status) {
    if (w->memory.outstanding)
        fail_msg("%s: %s leaks %d blocks", calls[c].name, shs_status_name(status), w->memory.outstanding);
    if (s->read.wrong || s->written.wrong) fail_msg("%s: lines out of order", calls[c].name);
    if (w->progress.wrong) fail_msg("%s: steps that make no sense", calls[c].name);
    if (status == SHS_OK && calls[c].writes && s->written.next_line != LINES) fail_msg("%s: lines left out", calls[c].name);
}

/* Whether a fault of this kind can happen in the call at all; */
static int could_fail(size_t c, int fault) {
    if (fault == WRITE) return calls[c].writes > 0;
    if (fault == ALLOCATION) return calls[c].family != BELOW;
    return fault != REDUCTION && calls[c].reads > 0;
}

/* Returns non-zero if the k-th fault of this kind happened. The call must then have reported the fault and stopped. */
static int fault_happened(const world *w, const scene *s, int fault, int k, int *more) {
    int happened[FAULTS];
    happened[ALLOCATION] = w->memory.refused;
    happened[READ] = s->read.calls - k;
    happened[WRITE] = s->written.calls - k;
    happened[STEP] = w->progress.calls - k;
    happened[REDUCTION] = w->reductions - k;
    happened[MARKS] = s->read.marked - k;
    *more = fault != ALLOCATION && fault != REDUCTION && happened[fault] > 1; /* ranks still tell each other */
    return happened[fault] > 0;
}

/* The initial state of a test is the family of its calls. */
static int setup(void **state) {
    scene *s = NEW(scene, 1);
    s->family = *(const int *)*state;
    scene_create(s);
    *state = s;
    return 0;
}

static int teardown(void **state) {
    scene_free((scene *)*state);
    free(*state);
    return 0;
}

/* The k-th allocation, read, write, step or reduction of every call fails, for every k until the call goes through. */
static void check_faults(scene *s, int fault) {
    static const shs_status expected[FAULTS] = {SHS_NO_MEMORY, SHS_READ_FAILED,   SHS_WRITE_FAILED,
                                                SHS_CANCELLED, SHS_REDUCE_FAILED, SHS_READ_FAILED};
    size_t c;
    int loop, k, more;
    for (c = 0; c < CALLS; c++)
        for (loop = 0; loop < LOOPS && calls[c].family == s->family; loop++)
            for (k = 0;; k++) {
                world w;
                shs_status status;
                prepare(s, c);
                world_create(&w, s, loop, fault, k);
                status = calls[c].call(&w.ctx, s);
                check_world(&w, s, c, status);
                if (!fault_happened(&w, s, fault, k, &more)) {
                    if (status != SHS_OK) fail_msg("%s: %s without a cause", calls[c].name, shs_status_name(status));
                    if (k == 0 && could_fail(c, fault)) fail_msg("%s has nothing that could fail", calls[c].name);
                    break;
                }
                if (status != expected[fault] && !(status == SHS_OK && fault == STEP && w.finished))
                    fail_msg("%s: %s at %d", calls[c].name, shs_status_name(status), k);
                if (more) fail_msg("%s goes on after failure %d", calls[c].name, k);
                /* a cancelled call returns its best result, and written output remains; any other failure touches nothing */
                if (fault == ALLOCATION || (fault != STEP && !calls[c].writes))
                    if (!untouched(s) && !(fault == REDUCTION && no_codes_left(s)))
                        fail_msg("%s wrote to its output at failure %d", calls[c].name, k);
            }
}

static void test_each_allocation_fails(void **state) { check_faults((scene *)*state, ALLOCATION); }
static void test_each_read_fails(void **state) { check_faults((scene *)*state, READ); }
static void test_each_write_fails(void **state) { check_faults((scene *)*state, WRITE); }
static void test_cancelled_at_each_step(void **state) { check_faults((scene *)*state, STEP); }
static void test_each_reduction_fails(void **state) { check_faults((scene *)*state, REDUCTION); }
static void test_each_mask_fails(void **state) { check_faults((scene *)*state, MARKS); }

/* A mask that comes with the blocks is the mask in memory: every call that reads gives the same, to the bit. */
static void test_masks_of_streams(void **state) {
    scene *s = (scene *)*state;
    unsigned char *mask = NEW(unsigned char, LINES *SAMPLES), *plain = NEW(unsigned char, SLOTS *SLOT);
    shs_cube masked = s->cube;
    size_t c, i;
    int how;
    for (i = 0; i < LINES * SAMPLES; i++) mask[i] = i >= 3 * SAMPLES && i % 5 != 2 && i / SAMPLES != 7; /* whole lines, too */
    masked.mask = mask;
    s->keeps = 1;
    for (c = 0; c < CALLS; c++) {
        shs_pca pca[2];
        shs_ica ica[2];
        if (!calls[c].reads || calls[c].family != s->family) continue;
        for (how = 0; how < 2; how++) {
            prepare(s, c);
            s->read.cube = &masked;
            if (how) {
                s->lines.mask_fn = stream_marks;
                s->lines.mask_user = &s->read;
            } else s->lines.mask = mask;
            assert_ok(calls[c].call(NULL, s));
            assert_int_equal(s->read.wrong, 0);
            /* of three passes, the first alone asks: it leaves the classes without what is masked */
            assert_int_equal(s->read.marked, !how ? 0 : s->read.calls / (calls[c].call == call_rx_classes ? 3 : 1));
            pca[how] = *OUT(s, 1, shs_pca);
            ica[how] = *OUT(s, 1, shs_ica);
            if (calls[c].makes) memset(OUT(s, 1, char), 0, SLOT); /* it has pointers */
            if (!how) memcpy(plain, s->out, SLOTS * SLOT);
        }
        if (memcmp(plain, s->out, SLOTS * SLOT)) fail_msg("%s: another output", calls[c].name);
        if (calls[c].makes == A_PCA && !same_pca(pca, pca + 1)) fail_msg("%s: another result", calls[c].name);
        if (calls[c].makes == AN_ICA && !same_ica(ica, ica + 1)) fail_msg("%s: another result", calls[c].name);
        for (how = 0; how < 2; how++)
            if (calls[c].makes == A_PCA) shs_pca_free(NULL, pca + how);
            else if (calls[c].makes == AN_ICA) shs_ica_free(NULL, ica + how);
    }
    s->keeps = 0;
    free(mask);
    free(plain);
}

/* Each call allocates one block, as the workspace queries promise. shs_codes_create allocates the block that outlives the
   call. */
static void test_one_block_a_call(void **state) {
    scene *s = (scene *)*state;
    size_t c;
    for (c = 0; c < CALLS; c++) {
        world w;
        if (calls[c].family != s->family) continue;
        prepare(s, c);
        world_create(&w, s, OF_OPENMP, FAULTS, 0);
        assert_ok(calls[c].call(&w.ctx, s));
        if (calls[c].blocks && w.memory.taken > calls[c].blocks)
            fail_msg("%s took %d blocks", calls[c].name, w.memory.taken);
    }
}

/* ---- streams that say that all is well ---------------------------------------------------------------------------- */

enum { ENDS_EARLY = 0, ALL_MISSING, ALL_INFINITE, ALL_ALIKE, OTHER_PIXELS, FEWER_PIXELS, LARGE, ANY_BITS, KINDS };

typedef struct liar {
    stream *inner;
    int kind, from; /* the first pass that is not what it should be */
    shs_random bits;
} liar;

static float lie(liar *l, float x) {
    uint32_t bits;
    switch (l->kind) {
    case ALL_MISSING: return (float)NOT_A_NUMBER;
    case ALL_INFINITE: return (float)ENDLESS;
    case ALL_ALIKE: return 7;
    case OTHER_PIXELS: return (float)shs_random_normal(&l->bits) * 1000 + x;
    case FEWER_PIXELS: return shs_random_bits(&l->bits) % 3 ? (float)NOT_A_NUMBER : x;
    case LARGE: return x * 1e36f;
    default:
        bits = (uint32_t)shs_random_bits(&l->bits);
        memcpy(&x, &bits, sizeof x);
        return x;
    }
}

static int lying_read(void *user, int first_line, int lines, void *block) {
    liar *l = (liar *)user;
    unsigned char *at = (unsigned char *)block;
    int pass = l->inner->passes - (first_line != 0), i;
    if (pass < l->from) return stream_read(l->inner, first_line, lines, block);
    if (l->kind == ENDS_EARLY) { /* fills half of the lines; the rest of the block keeps its contents */
        unsigned char rest[LINES * SAMPLES * BANDS * sizeof(float)];
        size_t line = SAMPLES * BANDS * sizeof(float), good;
        int left = LINES / 2 - first_line;
        if (left < 0) left = 0;
        if (left > lines) left = lines;
        good = (size_t)left * line;
        memcpy(rest, (unsigned char *)block + good, (size_t)lines * line - good);
        if (stream_read(l->inner, first_line, lines, block)) return 1;
        memcpy((unsigned char *)block + good, rest, (size_t)lines * line - good);
        return 0;
    }
    if (stream_read(l->inner, first_line, lines, block)) return 1;
    for (i = 0; i < lines * SAMPLES * BANDS; i++) {
        store_value(at, SHS_TYPE_F32, 1, (double)lie(l, (float)load_value(at, SHS_TYPE_F32, 1)));
        at += sizeof(float);
    }
    return 0;
}

static int about_the_pixels(shs_status status) {
    return status == SHS_OK || status == SHS_NO_PIXELS || status == SHS_ZERO_VARIANCE || status == SHS_RANK_TOO_LOW ||
           status == SHS_NOT_FINITE || status == SHS_NO_CONVERGENCE || status == SHS_BAD_MAP ||
           status == SHS_SINGULAR_COVARIANCE;
}

/* From the first pass on or from a later one: the call ends, in order, with a result that is made of numbers or with none. */
static void test_streams_of_anything(void **state) {
    scene *s = (scene *)*state;
    size_t c;
    int kind, from, loop;
    for (c = 0; c < CALLS; c++)
        for (kind = 0; kind < KINDS && calls[c].family == s->family; kind++)
            for (from = 0; from < 4 && calls[c].reads; from++)
                for (loop = 0; loop < LOOPS; loop++) {
                    world w;
                    liar l;
                    shs_status status;
                    prepare(s, c);
                    world_create(&w, s, loop, FAULTS, 0);
                    l.inner = &s->read;
                    l.kind = kind;
                    l.from = from;
                    shs_random_seed(&l.bits, 5);
                    s->lines.read_fn = lying_read;
                    s->lines.read_user = &l;
                    status = calls[c].call(&w.ctx, s);
                    check_world(&w, s, c, status);
                    if (!about_the_pixels(status))
                        fail_msg("%s: %s (kind %d from pass %d)", calls[c].name, shs_status_name(status), kind, from);
                    if (from == 0 && calls[c].reads == 2 && (kind == ALL_MISSING || kind == ALL_INFINITE))
                        assert_status(status, SHS_NO_PIXELS);
                    if (status != SHS_OK && !calls[c].writes && !untouched(s))
                        fail_msg("%s: %s, but its output was touched", calls[c].name, shs_status_name(status));
                }
}

/* Arenas from nothing up, until the call goes through. */
static void test_arena_exhaustion(void **state) {
    scene *s = (scene *)*state;
    unsigned char *memory = (unsigned char *)malloc((size_t)1 << 26);
    size_t c, size;
    for (c = 0; c < CALLS; c++)
        for (size = 0; calls[c].family == s->family; size = size + size / 3 + 16) {
            shs_context ctx = SHS_ZERO;
            shs_arena arena;
            shs_status status;
            if (size > (size_t)1 << 26) fail_msg("%s never has enough", calls[c].name);
            ctx.threads = 2;
            shs_arena_init(&arena, memory, size);
            shs_arena_attach(&arena, &ctx);
            prepare(s, c);
            status = calls[c].call(&ctx, s);
            assert_int_equal(arena.used, 0);
            assert_true(arena.peak <= size + 15); /* a buffer at another address may need so many more */
            if (status == SHS_OK) break;
            if (status != SHS_NO_MEMORY)
                fail_msg("%s: %s with %d bytes", calls[c].name, shs_status_name(status), (int)size);
            if (!untouched(s)) fail_msg("%s wrote to its output with %d bytes", calls[c].name, (int)size);
        }
    free(memory);
}

/* A result that lives in an arena is the one that the heap would hold, and still is after later calls have used the arena. */
static void test_results_in_an_arena(void **state) {
    enum { SIZE = 1 << 24 };
    scene *s = (scene *)*state;
    unsigned char *memory = (unsigned char *)malloc(SIZE);
    size_t c;
    int k;
    s->keeps = 1;
    for (c = 0; c < CALLS; c++) {
        shs_context ctx = SHS_ZERO;
        shs_arena arena;
        shs_pca pca[3];
        shs_ica ica[3];
        if (!calls[c].makes || calls[c].family != s->family) continue;
        shs_arena_init(&arena, memory, SIZE);
        shs_arena_attach(&arena, &ctx);
        for (k = 0; k < 3; k++) {
            prepare(s, c);
            assert_ok(calls[c].call(k ? &ctx : NULL, s));
            pca[k] = *OUT(s, 1, shs_pca);
            ica[k] = *OUT(s, 1, shs_ica);
        }
        if (!(calls[c].makes == A_PCA ? same_pca(pca, pca + 1) : same_ica(ica, ica + 1)))
            fail_msg("%s: its result was overwritten", calls[c].name);
        for (k = 2; k >= 0; k--)
            if (calls[c].makes == A_PCA) shs_pca_free(k ? &ctx : NULL, pca + k);
            else shs_ica_free(k ? &ctx : NULL, ica + k);
        assert_int_equal(arena.used, 0);
    }
    free(memory);
}

/* ---- an engine that cannot be opened ------------------------------------------------------------------------------ */

static shs_status no_signals(void *user, const shs_context *ctx, const shs_signals_job *job, void **session) {
    (void)ctx;
    (void)job;
    (void)session;
    return *(const shs_status *)user;
}

/* The rest of the table, which is not reached. */
static shs_status no_dictionary(void *session, const shs_real *D, int ldd) {
    (void)session;
    (void)D;
    (void)ldd;
    return SHS_ENGINE_FAILED;
}
static shs_status no_coding(void *session, shs_real *errors2, size_t *usage, shs_omp_report *report) {
    (void)session;
    (void)errors2;
    (void)usage;
    (void)report;
    return SHS_ENGINE_FAILED;
}
static shs_status no_residual(void *session, shs_wide *sum2) {
    (void)session;
    (void)sum2;
    return SHS_ENGINE_FAILED;
}
static shs_status no_atoms(void *session, const shs_atom_group *group) {
    (void)session;
    (void)group;
    return SHS_ENGINE_FAILED;
}
static shs_status no_codes(void *session, shs_codes *codes) {
    (void)session;
    (void)codes;
    return SHS_ENGINE_FAILED;
}
static void no_closing(void *session) { (void)session; }

/* Where the engine may fall back the CPU does it, to the bit; where not, or where the device failed, nothing is written. */
static void test_engine_does_not_open(void **state) {
    scene *s = (scene *)*state;
    unsigned char *plain = (unsigned char *)malloc(SLOTS * SLOT);
    size_t c;
    int fallback;
    (void)state;
    for (c = 0; c < CALLS; c++) {
        if (calls[c].call != call_omp && calls[c].call != call_ksvd && calls[c].call != call_ksvd_ex) continue;
        prepare(s, c);
        assert_ok(calls[c].call(NULL, s));
        memcpy(plain, s->out, SLOTS * SLOT);
        for (fallback = 0; fallback < 2; fallback++) {
            shs_context ctx = SHS_ZERO;
            shs_engine engine = SHS_ZERO;
            shs_status answer = SHS_UNSUPPORTED;
            engine.user = &answer;
            engine.fallback = fallback;
            engine.signals_open = no_signals;
            engine.signals_dictionary = no_dictionary;
            engine.signals_code = no_coding;
            engine.signals_fetch = no_codes;
            engine.signals_residual = no_residual;
            engine.signals_gather = engine.signals_update = no_atoms;
            engine.signals_close = no_closing;
            ctx.engine = &engine;
            prepare(s, c);
            assert_status(calls[c].call(&ctx, s), fallback ? SHS_OK : SHS_UNSUPPORTED);
            assert_memory_equal(s->out, fallback ? plain : s->before, SLOTS * SLOT);
            answer = SHS_DEVICE_LOST;
            prepare(s, c);
            assert_status(calls[c].call(&ctx, s), SHS_DEVICE_LOST);
            assert_memory_equal(s->out, s->before, SLOTS * SLOT);
        }
    }
    free(plain);
}

/* A test of each family, or of those that make results. */
static int families[] = {BELOW, COMPONENTS, SOURCES};
#define OF(family, name, test) {name, test, setup, teardown, families + (family)}
#define OF_RESULTS(test) OF(COMPONENTS, #test "_of_components", test), OF(SOURCES, #test "_of_sources", test)
#define OF_EACH(test) OF(BELOW, #test, test), OF_RESULTS(test)

int main(void) {
    static const struct CMUnitTest tests[] = {
        OF_EACH(test_each_allocation_fails),  OF_EACH(test_each_read_fails),
        OF_EACH(test_each_write_fails),       OF_EACH(test_cancelled_at_each_step),
        OF_EACH(test_each_reduction_fails),   OF_EACH(test_each_mask_fails),
        OF_EACH(test_masks_of_streams),       OF_EACH(test_streams_of_anything),
        OF_EACH(test_one_block_a_call),       OF_EACH(test_arena_exhaustion),
        OF_RESULTS(test_results_in_an_arena), OF(BELOW, "test_engine_does_not_open", test_engine_does_not_open),
    };
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
