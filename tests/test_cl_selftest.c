/* test_cl_selftest.c - drivers that miscompile a kernel: whatever it is, what is asked of the device is right or refused, and
   shs_cl_about says why. The driver of these tests runs the kernel named in shim.wrong not at all, or for its first group only. */
#include "test.h"
#include "device/cl_shim.h"

/* ---- what is asked of a device ------------------------------------------------------------------------------------ */

enum { P = 20, N = 40, M = 120, S = 4, BANDS = 9, LINES = 40, SAMPLES = 37, PIXELS = LINES * SAMPLES, VALUES = 1 << 15 };

/* Results, as far as they are to be the CPU's. */
typedef struct result {
    size_t count;
    double values[VALUES];
} result;

static void keep(result *r, double x) {
    assert_true(r->count < VALUES);
    r->values[r->count++] = x;
}

static void keep_reals(result *r, size_t n, const shs_real *x) {
    size_t i;
    for (i = 0; i < n; i++) keep(r, (double)x[i]);
}

static void keep_wides(result *r, size_t n, const shs_wide *x) {
    size_t i;
    for (i = 0; i < n; i++) keep(r, (double)x[i]);
}

static void keep_codes(result *r, const shs_codes *codes, size_t m) {
    size_t i;
    int q;
    for (i = 0; i < m; i++) {
        keep(r, codes->used[i]);
        for (q = 0; q < codes->stride; q++) {
            const size_t at = i * (size_t)codes->stride + (size_t)q;
            keep(r, q < codes->used[i] ? codes->atoms[at] : 0);
            keep(r, q < codes->used[i] ? (double)codes->coefs[at] : 0);
        }
    }
}

/* Keeps the codes of all signals, if there are any, and frees them. */
static shs_status kept_codes(result *r, shs_status status, shs_codes *codes) {
    if (status == SHS_OK) keep_codes(r, codes, M);
    shs_codes_free(NULL, codes);
    return status;
}

/* Signals of 3 atoms each and some noise. */
static void draw_signals(shs_real *D, shs_real *Y) {
    shs_random r;
    int i, q, l;
    shs_random_seed(&r, 11);
    for (i = 0; i < P * N; i++) D[i] = (shs_real)shs_random_normal(&r);
    shs_normalize_columns(P, N, D, P, NULL);
    for (i = 0; i < M; i++) {
        for (l = 0; l < P; l++) Y[i * P + l] = (shs_real)0.01 * (shs_real)shs_random_normal(&r);
        for (q = 0; q < 3; q++) shs_axpy(P, (shs_real)(4 >> q), D + (i * 7 + q * 11) % N * P, 1, Y + i * P, 1);
    }
}

typedef shs_status (*task_fn)(const shs_context *ctx, int how, result *r);

/* how: 0 as is, 1 with a tolerance, 2 in groups that share their atoms. */
static shs_status task_code(const shs_context *ctx, int how, result *r) {
    shs_real D[P * N], Y[P * M], errors2[M];
    size_t starts[M / 8], g;
    shs_omp_options o = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    shs_status status;
    draw_signals(D, Y);
    for (g = 0; g < M / 8; g++) starts[g] = 8 * g;
    o.sparsity = 3;
    if (how == 1) o.tolerance = (shs_real)0.5;
    if (how == 2) {
        o.groups = starts;
        o.group_count = M / 8;
    }
    if (shs_codes_create(NULL, M, 3, &codes)) return SHS_NO_MEMORY;
    status = shs_omp_ex(ctx, P, N, D, P, M, Y, P, &o, &codes, errors2, NULL);
    return kept_codes(r, status, &codes);
}

/* how: the rule, and 16 for atoms in groups. */
static shs_status task_learn(const shs_context *ctx, int how, result *r) {
    shs_real D[P * N], Y[P * M];
    shs_ksvd_options o = SHS_ZERO;
    shs_status status;
    draw_signals(D, Y);
    o.coding.sparsity = S;
    o.update = (shs_update)(how & 15);
    o.parallel_atoms = how & 16 ? 8 : 1;
    o.iterations = 2;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    status = shs_ksvd_ex(ctx, P, N, M, Y, P, &o, D, P, NULL, NULL);
    if (status == SHS_OK) keep_reals(r, P * N, D);
    return status;
}

static shs_status task_online(const shs_context *ctx, int how, result *r) {
    shs_real D[P * N], Y[P * M];
    shs_online_options o = SHS_ZERO;
    shs_signals signals = SHS_ZERO;
    shs_status status;
    (void)how;
    draw_signals(D, Y);
    signals.m = M;
    signals.Y = Y;
    o.coding.sparsity = 3;
    o.batch = 40;
    o.replace = SHS_REPLACE_LEAVE;
    o.start = SHS_START_GIVEN;
    status = shs_online_ex(ctx, P, N, shs_shuffled_signals, &signals, &o, D, P, NULL);
    if (status == SHS_OK) keep_reals(r, P * N, D);
    return status;
}

static shs_status task_lasso(const shs_context *ctx, int how, result *r) {
    shs_real D[P * N], Y[P * M];
    shs_lasso_options o = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    shs_status status;
    int i, q;
    (void)how;
    draw_signals(D, Y);
    o.lambda = (shs_real)0.7;
    o.relative = 1;
    if (shs_codes_create(NULL, M, 8, &codes)) return SHS_NO_MEMORY;
    status = shs_lasso(ctx, P, N, D, P, M, Y, P, &o, &codes, NULL, NULL);
    for (i = 0; i < M && status == SHS_OK; i++) {
        double sum = 0;
        for (q = 0; q < codes.used[i]; q++) sum += (double)codes.coefs[i * 8 + q];
        keep(r, sum);
    }
    shs_codes_free(NULL, &codes);
    return status;
}

static shs_status task_round(const shs_context *ctx, int how, result *r) {
    shs_real D[P * N], Y[P * M];
    shs_codes codes = SHS_ZERO;
    shs_status status;
    draw_signals(D, Y);
    if (shs_codes_create(NULL, M, 3, &codes)) return SHS_NO_MEMORY;
    status = shs_omp(NULL, P, N, D, M, Y, 3, &codes);
    if (status == SHS_OK) status = shs_codes_round(ctx, P, N, D, P, (shs_coef_type)how, &codes);
    return kept_codes(r, status, &codes);
}

/* how: 0 a product, 1 one of deep factors, 2 a symmetric one. */
static shs_status task_product(const shs_context *ctx, int how, result *r) {
    const int m = 30, n = how == 2 ? 30 : 20, k = how ? 3000 : 50;
    shs_real *A = (shs_real *)malloc((size_t)(m * k) * sizeof *A), *B = (shs_real *)malloc((size_t)(n * k) * sizeof *B);
    shs_real *C = (shs_real *)calloc((size_t)(m * n), sizeof *C);
    shs_random random;
    shs_status status;
    int i;
    shs_random_seed(&random, 4);
    for (i = 0; i < m * k; i++) A[i] = (shs_real)shs_random_normal(&random);
    for (i = 0; i < n * k; i++) B[i] = (shs_real)shs_random_normal(&random);
    status = how == 2 ? shs_syrk(ctx, SHS_UPLO_LOWER, SHS_TRANS_YES, m, k, 1, A, k, 0, C, m)
                      : shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, m, n, k, 1, A, k, B, k, 0, C, m);
    if (status == SHS_OK) keep_reals(r, (size_t)(m * n), C);
    free(A);
    free(B);
    free(C);
    return status;
}

/* Three peaked sources in 9 bands; how: 1 in bytes. */
static unsigned char bytes_of_cube[PIXELS * BANDS];
static float floats_of_cube[PIXELS * BANDS];
static shs_cube draw_cube(int how) {
    shs_cube cube = SHS_ZERO;
    shs_random r;
    int i, b, k;
    shs_random_seed(&r, 8);
    for (i = 0; i < PIXELS; i++) {
        float y[3];
        for (k = 0; k < 3; k++) y[k] = 2 * (float)shs_random_uniform(&r) - 1;
        for (b = 0; b < BANDS; b++) {
            float x = 100 + 0.5f * (float)shs_random_normal(&r);
            for (k = 0; k < 3; k++) x += (float)(20 + (b * (k + 3) * 7) % 17) * (k == 0 ? y[k] : y[k] * y[k] * y[k]) / 2;
            floats_of_cube[i * BANDS + b] = x;
            bytes_of_cube[i * BANDS + b] = (unsigned char)fminf(fmaxf(x, 0), 255);
        }
    }
    cube.pixels = how ? (const void *)bytes_of_cube : (const void *)floats_of_cube;
    cube.type = how ? SHS_TYPE_U8 : SHS_TYPE_F32;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.lines = LINES;
    cube.samples = SAMPLES;
    cube.bands = BANDS;
    return cube;
}

/* how: 1 of bytes, 2 of the same values as 70 bands of 190 pixels. */
static shs_status task_moments(const shs_context *ctx, int how, result *r) {
    static shs_wide mean[70], C[70 * 70];
    shs_cube cube = draw_cube(how & 1);
    shs_moments moments = SHS_ZERO;
    shs_status status;
    if (how & 2) {
        cube.lines = 10;
        cube.samples = 19;
        cube.bands = 70;
    }
    status = shs_moments_create(NULL, cube.bands, &moments);
    if (status == SHS_OK) status = shs_moments_update(ctx, &cube, SHS_PRECISION_AUTO, &moments);
    if (status == SHS_OK) status = shs_moments_finish(&moments, SHS_DIVISOR_N, mean, C, cube.bands);
    if (status == SHS_OK) keep_wides(r, (size_t)cube.bands, mean);
    if (status == SHS_OK) keep_wides(r, (size_t)(cube.bands * cube.bands), C);
    shs_moments_free(NULL, &moments);
    return status;
}

static shs_status task_noise(const shs_context *ctx, int how, result *r) {
    shs_cube cube = draw_cube(how);
    shs_pca mnf = SHS_ZERO;
    shs_status status = shs_mnf_fit(ctx, &cube, NULL, &mnf);
    if (status == SHS_OK) keep_wides(r, BANDS, mnf.eigenvalues);
    shs_pca_free(NULL, &mnf);
    return status;
}

/* how: 1 from bytes, 2 rescaled to bytes. */
static shs_status task_map(const shs_context *ctx, int how, result *r) {
    enum { OUT = 3 };
    static float out[PIXELS * OUT];
    static unsigned char scaled[PIXELS * OUT];
    shs_cube cube = draw_cube(how & 1);
    shs_wide matrix[OUT * BANDS];
    shs_pixel_map map = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_status status;
    int i;
    memset(out, 0, sizeof out);
    memset(scaled, 0, sizeof scaled);
    for (i = 0; i < OUT * BANDS; i++) matrix[i] = (shs_wide)(i % 5) - 2 + (shs_wide)(i % 3) / 3;
    map.bands = BANDS;
    map.outputs = OUT;
    map.matrix = matrix;
    sink.pixels = how & 2 ? (void *)scaled : (void *)out;
    sink.type = how & 2 ? SHS_TYPE_U8 : SHS_TYPE_F32;
    sink.rescale = how & 2;
    sink.high = 255;
    status = shs_cube_map(ctx, &cube, &map, SHS_PRECISION_AUTO, &sink);
    for (i = 0; i < PIXELS * OUT && status == SHS_OK; i++) keep(r, how & 2 ? scaled[i] : (double)out[i]);
    return status;
}

/* how: 0 by fourth moments, 1 by sweeps. */
static shs_status task_sources(const shs_context *ctx, int how, result *r) {
    shs_cube cube = draw_cube(0);
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    shs_status status;
    int i;
    o.components = 3;
    o.contrast = how ? SHS_CONTRAST_TANH : SHS_CONTRAST_POW3;
    o.route = how ? SHS_ROUTE_SWEEP : SHS_ROUTE_MOMENTS;
    status = shs_ica_fit(ctx, &cube, &o, &ica);
    for (i = 0; i < 3 && status == SHS_OK; i++) {
        keep(r, (double)ica.component[i].kurtosis);
        keep(r, 100 * (double)ica.component[i].negentropy);
    }
    shs_ica_free(NULL, &ica);
    return status;
}

/* ---- who uses what ------------------------------------------------------------------------------------------------- */

typedef enum as { AS_IT_IS, AS_A_GPU, BY_BYTES, BY_SPLIT, BY_UNITS } as;

/* Which kernels do a task depends on the device: those that are asked for on a processor may not be on a GPU with NVIDIA's
   instructions, and the other way round. */
typedef enum way { AS_LISTED, WITHOUT_PTX, AS_A_PROCESSOR, WAYS } way;

/* A kernel, and what uses it. */
typedef struct use {
    const char *kernel;
    task_fn task;
    int how;
    as what;
    shs_cl_coder coder;
} use;

static const use uses[] = {
    {"gemm_plain", task_product, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"gemm", task_product, 0, AS_A_GPU, SHS_CL_CODER_AUTO},
    {"gemm_sum", task_product, 1, AS_A_GPU, SHS_CL_CODER_AUTO},
    {"syrk_tiles", task_product, 2, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"syrk_sum", task_product, 2, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"syrk_split", task_product, 2, BY_SPLIT, SHS_CL_CODER_AUTO},
    {"syrk_units", task_moments, 2, BY_UNITS, SHS_CL_CODER_AUTO},
    {"round_codes", task_round, SHS_COEF_I8, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"lengths", task_code, 0, AS_IT_IS, SHS_CL_CODER_GENERAL},
    {"tally", task_code, 0, AS_IT_IS, SHS_CL_CODER_GENERAL},
    {"omp_general", task_code, 0, AS_IT_IS, SHS_CL_CODER_GENERAL},
    {"omp_item", task_code, 0, AS_IT_IS, SHS_CL_CODER_ITEM},
    {"omp_general", task_code, 0, AS_IT_IS, SHS_CL_CODER_ITEM},
    {"omp_general", task_code, 1, AS_IT_IS, SHS_CL_CODER_ITEM},
    {"omp_warp", task_code, 0, AS_A_GPU, SHS_CL_CODER_WARP},
    {"omp_group", task_code, 0, AS_A_GPU, SHS_CL_CODER_GROUP},
    {"omp_team", task_code, 2, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"lasso", task_lasso, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"lasso", task_lasso, 0, AS_A_GPU, SHS_CL_CODER_AUTO},
    {"count_uses", task_learn, SHS_UPDATE_AKSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"scan_uses", task_learn, SHS_UPDATE_AKSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"place_uses", task_learn, SHS_UPDATE_AKSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"residual", task_learn, SHS_UPDATE_AKSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"gather", task_learn, SHS_UPDATE_AKSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"update_uses", task_learn, SHS_UPDATE_AKSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"new_atoms", task_learn, SHS_UPDATE_AKSVD | 16, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"update_signals", task_learn, SHS_UPDATE_AKSVD | 16, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"update_signals", task_learn, SHS_UPDATE_NSGK | 16, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"gather_sums", task_learn, SHS_UPDATE_KSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"gram", task_learn, SHS_UPDATE_MOD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"mod_factor", task_learn, SHS_UPDATE_MOD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"mod_solve", task_learn, SHS_UPDATE_MOD, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"sum_squares", task_online, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"gather_sums", task_online, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"validity", task_moments, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"load", task_moments, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"diagonals", task_moments, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"accumulate", task_moments, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"byte_products", task_moments, 1, BY_BYTES, SHS_CL_CODER_AUTO},
    {"load", task_noise, 1, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"store", task_map, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"store", task_map, 3, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"extremes", task_map, 3, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"widen", task_map, 3, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"whiten", task_sources, 1, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"sweep", task_sources, 1, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"gather", task_sources, 1, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"pairs", task_sources, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
    {"products", task_moments, 2, AS_IT_IS, SHS_CL_CODER_AUTO},
};
enum { USES = sizeof uses / sizeof *uses };

static shs_cl *open_as(const use *u, way how, shs_cl_options o, shs_context *ctx) {
    shs_cl *cl = NULL;
    o.platform = getenv("SHS_CL_PLATFORM");
    o.coder = u->coder;
    if (u->what == BY_SPLIT) o.syrk = SHS_CL_SYRK_SPLIT;
    if (shs_cl_create(NULL, &o, &cl) != SHS_OK) {
        print_message("skipped: there is no OpenCL device that is right\n");
        skip();
    }
    if (how != AS_LISTED) cl->ways.ptx = cl->ways.units64 = 0;
    if (how == AS_A_PROCESSOR) cl->ways.is_cpu = 1;
    if (u->what == AS_A_GPU) cl->ways.is_cpu = 0;
    cl->test.plain_bytes = u->what == BY_BYTES;
    if (u->what == BY_UNITS && !cl->ways.ptx && cl->has_double) cl->ways.units64 = 2;
    cl->test.one_way = 1;
    memset(ctx, 0, sizeof *ctx);
    ctx->engine = shs_cl_engine(cl);
    return cl;
}

static shs_cl *open_device(const use *u, shs_cl_options o, shs_context *ctx) { return open_as(u, AS_LISTED, o, ctx); }

/* Whether the results are those of the CPU. */
static int as_on_the_cpu(const use *u, const result *r) {
    static result right;
    double largest = 0;
    size_t i;
    right.count = 0;
    assert_ok(u->task(NULL, u->how, &right));
    assert_int_equal(r->count, right.count);
    for (i = 0; i < r->count; i++) largest = fabs(right.values[i]) > largest ? fabs(right.values[i]) : largest;
    for (i = 0; i < r->count; i++)
        if (!(fabs(r->values[i] - right.values[i]) <= 0.01 * largest)) return 0;
    return 1;
}

static result results;

static shs_status run_use(const use *u, const shs_context *ctx) {
    results.count = 0;
    return u->task(ctx, u->how, &results);
}

/* Resets a device object to its state after building programs: no verdicts, and no right results in buffers. `before`: how it
   was. */
static void forget_verdicts(shs_cl *cl, const shs_cl *before) {
    while (cl->verdicts) {
        shs__cl_verdict *v = cl->verdicts;
        cl->verdicts = v->next;
        shs__cl_free(cl, v);
    }
    shs_cl_trim(cl);
    cl->about.fault[0] = 0;
    cl->ways.units64 = before->ways.units64;
    cl->bytes = before->bytes;
}

/* A driver without faults is trusted with all of it. */
static void check_right(const use *u, const shs_context *ctx, const shs_cl *cl) {
    const shs_status status = run_use(u, ctx);
    if (status != SHS_OK) fail_msg("%s: %s; %s", u->kernel, shs_status_name(status), shs_cl_about(cl)->fault);
    if (!as_on_the_cpu(u, &results)) fail_msg("%s: other results than on the CPU", u->kernel);
    assert_string_equal(shs_cl_about(cl)->fault, "");
}

/* A fault in any kernel is noticed: right in another way, or refused. `few`: for all groups but the first. Whether the task uses
   the kernel. */
static int check_fault(const use *u, const shs_context *ctx, shs_cl *cl, int few) {
    const shs_cl before = *cl;
    shs_status status;
    forget_verdicts(cl, &before);
    shim.wrong = u->kernel;
    shim.few = few;
    shim.wrong_runs = 0;
    status = run_use(u, ctx);
    shim.wrong = NULL;
    if (status != SHS_OK && status != SHS_UNSUPPORTED) fail_msg("%s: %s", u->kernel, shs_status_name(status));
    if (status == SHS_OK && !as_on_the_cpu(u, &results)) fail_msg("%s, few %d: wrong results, not a word", u->kernel, few);
    if (shim.wrong_runs == 0) return 0;
    if (!few || status != SHS_OK) { /* else it has one group */
        assert_non_null(strstr(shs_cl_about(cl)->fault, shs_cl_device_name(cl)));
        assert_non_null(strstr(shs_cl_about(cl)->fault, shs_cl_about(cl)->driver));
        assert_non_null(strstr(shs_cl_about(cl)->fault, "kernel"));
    }
    forget_verdicts(cl, &before);
    return 1;
}

static int same_device(const use *a, const use *b) {
    return a->task == b->task && a->how == b->how && a->what == b->what && a->coder == b->coder;
}

/* Faults in the kernels of uses first .. end - 1, which are asked for of the same device; used[i]: whether kernel i ran. */
static void check_faults(int first, int end, way how, int *used) {
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    int i;
    shim_begin();
    cl = open_as(uses + first, how, o, &ctx);
    check_right(uses + first, &ctx, cl);
    for (i = first; i < end; i++) {
        if (!check_fault(uses + i, &ctx, cl, 0)) continue;
        check_fault(uses + i, &ctx, cl, 1);
        used[i] = 1;
    }
    shs_cl_destroy(cl);
    assert_int_equal(shim.live, 0);
}

/* Kernels that this device cannot run in any way: those of doubles. */
static int runs_here(const use *u, const shs_cl *cl) { return cl->has_double || (u->what != BY_UNITS && u->what != BY_BYTES); }

static void test_faults_are_noticed(void **state) {
    const shs_cl_options o = SHS_ZERO;
    static int used[USES];
    int first, end, i, again;
    shs_context ctx;
    shs_cl *cl;
    (void)state;
    shim_begin();
    cl = open_device(uses, o, &ctx);
    for (first = 0; first < USES; first = end) {
        for (end = first + 1; end < USES && same_device(uses + first, uses + end);) end++;
        if (!runs_here(uses + first, cl)) continue;
        check_faults(first, end, AS_LISTED, used);
        if (cl->ways.ptx) check_faults(first, end, WITHOUT_PTX, used);
        again = 0;
        for (i = first; i < end; i++) again |= !used[i];
        if (again) check_faults(first, end, AS_A_PROCESSOR, used);
        for (i = first; i < end; i++) {
            if (!used[i]) fail_msg("nothing uses the kernel %s", uses[i].kernel);
        }
    }
    shs_cl_destroy(cl);
}

/* The table above has all kernels. */
static void check_listed(const char *const *source) {
    char name[64];
    int i, line, listed, waits = 0;
    for (line = 0; source[line]; line++) {
        const char *at = strstr(source[line], "__kernel");
        waits |= at != NULL;
        at = waits ? strstr(at ? at : source[line], "void") : NULL;
        if (waits && !at && strchr(source[line], '(') && !strstr(source[line], "__attribute__")) at = source[line] - 5;
        if (!at) continue;
        at += 5;
        while (*at == ' ' || *at == '\n') at++;
        if (!*at) continue; /* its name is on the next line */
        waits = 0;
        if (sscanf(at, "%63[a-z_0-9]", name) != 1) continue;
        listed = 0;
        for (i = 0; i < USES; i++) listed |= strcmp(name, uses[i].kernel) == 0;
        if (!listed) fail_msg("no test plants a fault in %s", name);
    }
}

static void test_all_kernels_are_tested(void **state) {
    const char *const *const sources[] = {
        shs__cl_source_bytes, shs__cl_source_compact, shs__cl_source_fourth, shs__cl_source_gemm, shs__cl_source_lasso,
        shs__cl_source_map, shs__cl_source_mod, shs__cl_source_moments, shs__cl_source_omp_general, shs__cl_source_omp_group,
        shs__cl_source_omp_item, shs__cl_source_omp_team, shs__cl_source_omp_warp, shs__cl_source_pixels,
        shs__cl_source_residual, shs__cl_source_sweep, shs__cl_source_syrk, shs__cl_source_totals, shs__cl_source_update};
    size_t i;
    (void)state;
    for (i = 0; i < sizeof sources / sizeof *sources; i++) check_listed(sources[i]);
}

/* ---- what comes of it ---------------------------------------------------------------------------------------------- */

static const use coding = {"omp_general", task_code, 0, AS_IT_IS, SHS_CL_CODER_GENERAL};

/* A device whose loops end early, such as Mesa's llvmpipe, is refused with a reason, unless it is trusted. */
static void test_driver_that_cannot_count(void **state) {
    char reason[500] = "";
    shs_cl_options o = SHS_ZERO;
    shs_cl *cl = NULL;
    (void)state;
    shim_begin();
    shim.wrong = "walk";
    o.platform = getenv("SHS_CL_PLATFORM");
    o.reason = reason;
    o.reason_size = sizeof reason;
    assert_status(shs_cl_create(NULL, &o, &cl), SHS_NO_DEVICE);
    assert_non_null(strstr(reason, "walk"));
    assert_non_null(strstr(reason, "driver"));
    assert_int_equal(shim.live, 0);
    o.trust = 1;
    assert_ok(shs_cl_create(NULL, &o, &cl));
    assert_string_equal(reason, "");
    shs_cl_destroy(cl);
}

/* Trust takes the driver's word. */
static void test_trust(void **state) {
    shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_status status;
    shs_cl *cl;
    (void)state;
    shim_begin();
    o.trust = 1;
    cl = open_device(&coding, o, &ctx);
    shim.wrong = "omp_general";
    status = run_use(&coding, &ctx);
    assert_int_not_equal(status, SHS_UNSUPPORTED); /* what nobody wrote may be refused as no number */
    if (status == SHS_OK) assert_false(as_on_the_cpu(&coding, &results));
    assert_string_equal(shs_cl_about(cl)->fault, "");
    shs_cl_destroy(cl);
}

/* With `fallback` the CPU does it; what is right goes on on the device. */
static void test_fallback(void **state) {
    shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    (void)state;
    shim_begin();
    o.fallback = 1;
    cl = open_device(&coding, o, &ctx);
    shim.wrong = "omp_general";
    assert_ok(run_use(&coding, &ctx));
    assert_true(as_on_the_cpu(&coding, &results));
    assert_non_null(strstr(shs_cl_about(cl)->fault, "omp_general"));
    shs_cl_destroy(cl);
}

/* Another coder, and another way to make a symmetric product, take the place of wrong ones. */
static void test_others_take_over(void **state) {
    const use warp = {"omp_warp", task_code, 0, AS_A_GPU, SHS_CL_CODER_AUTO};
    const use tiles = {"syrk_tiles", task_product, 2, AS_IT_IS, SHS_CL_CODER_AUTO};
    const use units = {"syrk_units", task_product, 2, AS_IT_IS, SHS_CL_CODER_AUTO}; /* of doubles where the device has them */
    const use *const all[3] = {&warp, &tiles, &units};
    int products = 0;
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    int i;
    (void)state;
    for (i = 0; i < 3; i++) {
        shim_begin();
        cl = open_device(all[i], o, &ctx);
        shim.wrong = all[i]->kernel;
        assert_ok(run_use(all[i], &ctx));
        assert_true(as_on_the_cpu(all[i], &results));
        if (i == 0 || shim.wrong_runs > 0) assert_non_null(strstr(shs_cl_about(cl)->fault, all[i]->kernel));
        products += i > 0 && shim.wrong_runs > 0;
        shs_cl_destroy(cl);
    }
    assert_true(products > 0);
}

/* A kernel that is wrong as it is compiled for a processor is compiled as for a GPU, and right then. */
static void test_compiled_in_another_way(void **state) {
    static const use compiled[] = {{"sweep", task_sources, 1, AS_IT_IS, SHS_CL_CODER_AUTO},
                                   {"omp_general", task_code, 0, AS_IT_IS, SHS_CL_CODER_GENERAL}};
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    size_t i;
    (void)state;
    for (i = 0; i < sizeof compiled / sizeof *compiled; i++) {
        shim_begin();
        cl = open_as(compiled + i, AS_A_PROCESSOR, o, &ctx);
        cl->test.one_way = 0;
        shim.wrong = compiled[i].kernel;
        shim.wrong_options = "IS_CPU=1";
        assert_ok(run_use(compiled + i, &ctx));
        assert_true(shim.wrong_runs > 0);
        assert_int_equal(cl->ways.is_cpu, 0);
        assert_true(as_on_the_cpu(compiled + i, &results));
        assert_non_null(strstr(shs_cl_about(cl)->fault, compiled[i].kernel));
        shs_cl_destroy(cl);
        assert_int_equal(shim.live, 0);
    }
}

/* Rules whose kernels need more local memory than there is are refused before anything runs, or the CPU's. */
static void test_little_local_memory(void **state) {
    const use mod = {"gram", task_learn, SHS_UPDATE_MOD, AS_IT_IS, SHS_CL_CODER_AUTO};
    const use groups = {"update_signals", task_learn, SHS_UPDATE_AKSVD | 16, AS_IT_IS, SHS_CL_CODER_AUTO};
    int fallback;
    (void)state;
    for (fallback = 0; fallback < 2; fallback++) {
        shs_cl_options o = SHS_ZERO;
        shs_context ctx;
        shs_cl *cl;
        shim_begin();
        o.fallback = fallback;
        cl = open_device(&mod, o, &ctx);
        cl->about.local_bytes = 2 * SHS__CL_USES_TILE * sizeof(cl_uint);
        if (cl->has_double) assert_status(run_use(&mod, &ctx), fallback ? SHS_OK : SHS_UNSUPPORTED);
        if (cl->has_double && fallback) assert_true(as_on_the_cpu(&mod, &results));
        assert_string_equal(shs_cl_about(cl)->fault, "");
        check_right(&groups, &ctx, cl);
        shs_cl_destroy(cl);
        assert_int_equal(shim.live, 0);
    }
}

/* How much local memory kernels take, as host and kernels count it. */
static void test_local_memory_is_counted(void **state) {
    const shs_cl_options o = SHS_ZERO;
    const size_t r = sizeof(shs_real);
    shs_omp_options rule = SHS_ZERO;
    shs__cl_signals s;
    shs_context ctx;
    shs_cl *cl;
    size_t lanes;
    (void)state;
    shim_begin();
    cl = open_device(&coding, o, &ctx);
    memset(&s, 0, sizeof s);
    s.cl = cl;
    s.job.coding = &rule;
    s.padded = 64;
    lanes = shs__cl_lanes(cl);
    cl->about.local_bytes = 48 << 10;
    s.stride = 8;
    assert_int_equal(shs__cl_update_rows(&s, 4), 4);
    s.stride = (int)((48 << 10) / r - lanes);
    assert_int_equal(shs__cl_update_rows(&s, 4), 1);
    assert_true(shs__cl_update_fits(&s, 2));
    s.stride++;
    assert_int_equal(shs__cl_update_rows(&s, 4), 0);
    assert_false(shs__cl_update_fits(&s, 2));
    assert_true(shs__cl_update_fits(&s, 1));
    s.stride = 5;
    s.share.team = 32;
    assert_int_equal(shs__cl_group_bytes(&s, 2), (2 * 64 + 15 + 5 + 2 * 32 + 1) * r + (5 + 32) * sizeof(cl_int));
    rule.selection = SHS_SELECT_OLS;
    assert_int_equal(shs__cl_group_bytes(&s, 2), (2 * 64 + 15 + 5 + 3 * 32) * r + (5 + 32) * sizeof(cl_int));
    shs_cl_destroy(cl);
}

/* Where sub-groups are wrong, omp_warp does without them, and says so. */
static void test_faults_of_sub_groups(void **state) {
    const use warp = {"omp_warp", task_code, 0, AS_A_GPU, SHS_CL_CODER_WARP};
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    (void)state;
    shim_begin();
    cl = open_device(&warp, o, &ctx);
    cl->test.one_way = 0;
    if (!cl->ways.sub_groups) {
        shs_cl_destroy(cl);
        print_message("skipped: the device has no sub-groups\n");
        skip();
    }
    cl->ways.ptx = 0; /* sub-groups are for where there is no PTX */
    check_right(&warp, &ctx, cl);
    assert_non_null(cl->ways.sub_groups);
    forget_verdicts(cl, cl);
    shim.wrong = warp.kernel;
    shim.wrong_options = "SUB_GROUPS";
    assert_ok(run_use(&warp, &ctx));
    assert_true(shim.wrong_runs > 0);
    assert_null(cl->ways.sub_groups);
    assert_true(as_on_the_cpu(&warp, &results));
    assert_non_null(strstr(shs_cl_about(cl)->fault, warp.kernel));
    shs_cl_destroy(cl);
    assert_int_equal(shim.live, 0);
}

/* A compiler that refuses sub-groups is asked once, and omp_warp does without them. */
static void test_faults_of_building_sub_groups(void **state) {
    const use warp = {"omp_warp", task_code, 0, AS_A_GPU, SHS_CL_CODER_WARP};
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    int trust;
    (void)state;
    for (trust = 0; trust < 2; trust++) {
        shim_begin();
        cl = open_device(&warp, o, &ctx);
        cl->options.trust = trust;
        cl->ways.ptx = 0;
        cl->ways.sub_groups = " -D SUB_GROUPS=1 -D sub_group_reduce_max=no_such_function";
        check_right(&warp, &ctx, cl);
        assert_null(cl->ways.sub_groups);
        shs_cl_destroy(cl);
        assert_int_equal(shim.live, 0);
    }
}

/* Some devices report an instruction for dot products of bytes. Where byte_products is wrong by it, plain products take its
   place. A compiler that refuses the extension is asked once. A device without the instruction is not asked. */
static void test_faults_of_dot_products(void **state) {
    const use bytes = {"byte_products", task_moments, 1, AS_IT_IS, SHS_CL_CODER_AUTO};
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    int has, trust;
    (void)state;
    for (has = 0; has < 2; has++)
        for (trust = 0; trust < 2; trust++) {
            shim_begin();
            shim.extensions = "cl_khr_integer_dot_product";
            shim.dot_products = has;
            cl = open_device(&bytes, o, &ctx);
            cl->test.one_way = 0;
            cl->options.trust = trust;
            cl->ways.ptx = 0;
            cl->ways.is_cpu = 0; /* a processor is slower by them */
            assert_int_equal(cl->ways.dot_products, has);
            check_right(&bytes, &ctx, cl);
            if (!has) assert_int_equal(shs__cl_bytes_way(cl), SHS__CL_BYTES_PLAIN);
            if (has && !trust && shs__cl_bytes_way(cl) == SHS__CL_BYTES_DOT) { /* the compiler knows it */
                forget_verdicts(cl, cl);
                shim.wrong = bytes.kernel;
                shim.wrong_options = "DOT4=2";
                assert_ok(run_use(&bytes, &ctx));
                assert_true(shim.wrong_runs > 0);
                assert_int_equal(cl->ways.dot_products, 0);
                assert_true(as_on_the_cpu(&bytes, &results));
                assert_int_equal(shs__cl_bytes_way(cl), SHS__CL_BYTES_PLAIN);
                assert_non_null(strstr(shs_cl_about(cl)->fault, "products"));
            }
            shs_cl_destroy(cl);
            assert_int_equal(shim.live, 0);
        }
}

/* The lines of bytes_of_cube, as a stream. */
static int read_bytes(void *user, int first_line, int lines, void *block) {
    (void)user;
    memcpy(block, bytes_of_cube + (size_t)first_line * SAMPLES * BANDS, (size_t)lines * SAMPLES * BANDS);
    return 0;
}

/* how: 1 a stream, 2 twice from memory, in one session: the second time the pixels are there. */
static shs_status task_moments_of_bytes(const shs_context *ctx, int how, result *r) {
    const shs_engine *e = ctx ? ctx->engine : NULL;
    static shs_wide sums[1 + BANDS + BANDS * BANDS], mean[BANDS], C[BANDS * BANDS];
    shs_real shift[BANDS];
    shs_cube cube = draw_cube(1);
    void *session = NULL;
    shs_status status;
    int i, j, run;
    for (i = 0; i < BANDS; i++) shift[i] = 100;
    if (how == 1) {
        cube.pixels = NULL;
        cube.read_fn = read_bytes;
        cube.block_lines = 16;
    }
    if (!e) {
        shs_moments moments = SHS_ZERO;
        status = shs_moments_create(NULL, BANDS, &moments);
        if (status == SHS_OK) status = shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &moments);
        if (status == SHS_OK) status = shs_moments_finish(&moments, SHS_DIVISOR_N, mean, C, BANDS);
        for (run = 0; run < how && status == SHS_OK; run++) keep_wides(r, BANDS * BANDS, C);
        shs_moments_free(NULL, &moments);
        return status;
    }
    status = e->pixels_open(e->user, ctx, &cube, &session);
    for (run = 0; run < how && status == SHS_OK; run++) {
        status = e->pixels_moments(session, 0, 1, shift, sums);
        for (i = 0; i < BANDS * BANDS; i++) C[i] = sums[1 + BANDS + i] / sums[0];
        for (i = 0; i < BANDS; i++)
            for (j = 0; j <= i; j++) {
                C[j * BANDS + i] -= sums[1 + i] / sums[0] * (sums[1 + j] / sums[0]);
                C[i * BANDS + j] = C[j * BANDS + i];
            }
        if (status == SHS_OK) keep_wides(r, BANDS * BANDS, C);
    }
    if (session) e->pixels_close(session);
    return status;
}

/* A device with memory of its own and no instruction for bytes multiplies them in plain C while pixels come up, and not when they
   are there: both are tested, whichever the session needs. */
static void test_faults_of_plain_bytes(void **state) {
    static const char *const kernels[] = {"byte_products", "diagonals"};
    const shs_cl_options o = SHS_ZERO;
    use bytes = {"byte_products", task_moments_of_bytes, 1, AS_IT_IS, SHS_CL_CODER_AUTO};
    shs_context ctx;
    shs_cl *cl;
    int k;
    (void)state;
    for (bytes.how = 1; bytes.how <= 2; bytes.how++)
        for (k = 0; k < 2; k++) {
            shs_status status;
            shim_begin();
            cl = open_as(&bytes, WITHOUT_PTX, o, &ctx);
            cl->about.unified = 0;
            cl->about.kind = SHS_CL_GPU;
            cl->ways.dot_products = 0;
            if (!cl->has_double) skip();
            check_right(&bytes, &ctx, cl);
            forget_verdicts(cl, cl);
            shim.wrong = kernels[k];
            status = run_use(&bytes, &ctx);
            if (status != SHS_UNSUPPORTED) assert_ok(status);
            if (status == SHS_OK) assert_true(as_on_the_cpu(&bytes, &results));
            if (k == 0 || bytes.how == 2) assert_true(shim.wrong_runs > 0);
            if (shim.wrong_runs > 0) assert_non_null(strstr(shs_cl_about(cl)->fault, k ? "products" : "byte_products"));
            shs_cl_destroy(cl);
            assert_int_equal(shim.live, 0);
        }
}

/* Devices that report sub-groups in other ways than Intel's. omp_warp needs reductions, which are in cl_khr_subgroups, and no
   shuffle. Where a driver reports sub-groups and cannot compile them, the coder goes on without
   them: PoCL 3.1 is such a driver where it is made to report them. Intel's driver compiles them. */
static void test_faults_of_reported_sub_groups(void **state) {
    static const struct {
        const char *extensions;
        int asks;
    } reports[] = {{"cl_khr_subgroups", 1},
                   {"cl_khr_subgroups cl_khr_subgroup_shuffle", 1},
                   {"cl_khr_subgroup_shuffle", 0},
                   {"", 0}};
    const use warp = {"omp_warp", task_code, 0, AS_A_GPU, SHS_CL_CODER_WARP};
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    shs_cl *cl;
    int has, trust;
    size_t i;
    (void)state;
    shim_begin();
    cl = open_device(&warp, o, &ctx);
    has = cl->ways.sub_groups != NULL;
    shs_cl_destroy(cl);
    for (i = 0; i < sizeof reports / sizeof *reports; i++)
        for (trust = 0; trust < 2; trust++) {
            shim_begin();
            shim.extensions = reports[i].extensions;
            cl = open_device(&warp, o, &ctx);
            cl->options.trust = trust;
            cl->ways.ptx = 0;
            assert_int_equal(cl->ways.sub_groups != NULL, reports[i].asks);
            check_right(&warp, &ctx, cl);
            if (has) assert_int_equal(cl->ways.sub_groups != NULL, reports[i].asks);
            shs_cl_destroy(cl);
            assert_int_equal(shim.live, 0);
        }
}

/* ---- verdicts that are kept ----------------------------------------------------------------------------------------- */

enum { ENTRIES = 64 };
typedef struct store {
    int count;
    char key[ENTRIES][64];
    size_t size[ENTRIES];
    void *data[ENTRIES];
} store;

static size_t store_load(void *user, const char *key, void *data, size_t size) {
    const store *s = (const store *)user;
    int i;
    for (i = 0; i < s->count; i++) {
        if (strcmp(s->key[i], key) != 0) continue;
        if (data) memcpy(data, s->data[i], size < s->size[i] ? size : s->size[i]);
        return s->size[i];
    }
    return 0;
}

static void store_keep(void *user, const char *key, const void *data, size_t size) {
    store *s = (store *)user;
    assert_true(s->count < ENTRIES && strlen(key) < sizeof s->key[0]);
    strcpy(s->key[s->count], key);
    s->data[s->count] = malloc(size);
    memcpy(s->data[s->count], data, size);
    s->size[s->count++] = size;
}

/* A second object runs no test again, and believes what the first has found: that the driver is right, or wrong. */
static void test_verdicts_are_kept(void **state) {
    static store s;
    shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    long opening[2], kernels[2];
    int wrong, run, i;
    (void)state;
    o.load_fn = store_load;
    o.store_fn = store_keep;
    o.store_user = &s;
    for (wrong = 0; wrong < 2; wrong++) {
        for (run = 0; run < 2; run++) {
            shs_cl *cl;
            shim_begin();
            cl = open_device(&coding, o, &ctx);
            opening[run] = shim.kernels_run;
            if (wrong && run == 0) shim.wrong = "omp_general";
            assert_status(run_use(&coding, &ctx), wrong ? SHS_UNSUPPORTED : SHS_OK);
            assert_int_equal(shs_cl_about(cl)->fault[0] != 0, wrong);
            kernels[run] = shim.kernels_run - opening[run];
            shs_cl_destroy(cl);
        }
        assert_true(opening[1] < opening[0]); /* what is left is a trial of NVIDIA's instructions, where there are any */
        assert_true(kernels[1] < kernels[0]);
        if (wrong) assert_int_equal(kernels[1], 0);
        for (i = 0; i < s.count; i++) free(s.data[i]);
        s.count = 0;
    }
}

/* Calls that fail during a test leave nothing behind, and no wrong verdict: the next call is right. */
static void test_calls_fail(void **state) {
    const shs_cl_options o = SHS_ZERO;
    shs_context ctx;
    long at;
    int failed = 1;
    (void)state;
    for (at = 0; failed; at += 17) {
        shs_status status;
        shs_cl *cl;
        shim_begin();
        cl = open_device(&coding, o, &ctx);
        shim.calls = 0;
        shim.fail_at = at;
        status = run_use(&coding, &ctx);
        failed = shim.failed;
        if (status == SHS_OK) assert_true(as_on_the_cpu(&coding, &results));
        assert_int_equal(cl->in_use, 0);
        shim.fail_at = -1;
        assert_ok(run_use(&coding, &ctx));
        assert_true(as_on_the_cpu(&coding, &results));
        assert_string_equal(shs_cl_about(cl)->fault, "");
        shs_cl_destroy(cl);
        assert_int_equal(shim.live, 0);
    }
    assert_true(at > 100);
}

/* The same of the host's memory: no block is written to that was not had. */
static void test_allocations_fail(void **state) {
    static const use uses_of_memory[] = {{"omp_general", task_code, 0, AS_IT_IS, SHS_CL_CODER_GENERAL},
                                         {"omp_general", task_code, 1, AS_IT_IS, SHS_CL_CODER_GENERAL},
                                         {"omp_team", task_code, 2, AS_IT_IS, SHS_CL_CODER_AUTO},
                                         {"lasso", task_lasso, 0, AS_IT_IS, SHS_CL_CODER_AUTO},
                                         {"update_uses", task_learn, SHS_UPDATE_AKSVD, AS_IT_IS, SHS_CL_CODER_AUTO},
                                         {"round_codes", task_round, SHS_COEF_I8, AS_IT_IS, SHS_CL_CODER_AUTO},
                                         {"byte_products", task_moments, 1, AS_IT_IS, SHS_CL_CODER_AUTO}};
    shs_cl_options o = SHS_ZERO;
    size_t i;
    (void)state;
    for (i = 0; i < sizeof uses_of_memory / sizeof *uses_of_memory; i++) {
        const use *u = uses_of_memory + i;
        counter c = {0, -1, 0};
        shs_context ctx = SHS_ZERO;
        shs_cl *cl = NULL;
        long at, failed = 1;
        ctx.alloc_fn = counter_alloc;
        ctx.free_fn = counter_free;
        ctx.alloc_user = &c;
        shim_begin();
        o.platform = getenv("SHS_CL_PLATFORM");
        o.coder = u->coder;
        assert_ok(shs_cl_create(&ctx, &o, &cl));
        ctx.engine = shs_cl_engine(cl);
        check_right(u, &ctx, cl); /* builds the programs */
        for (at = 0; failed; at++) {
            shs_status status;
            forget_verdicts(cl, cl);
            c.calls = 0;
            c.fail_at = at;
            status = run_use(u, &ctx);
            failed = c.calls > at;
            c.fail_at = -1;
            if (status == SHS_OK) assert_true(as_on_the_cpu(u, &results));
            else assert_status(status, SHS_NO_MEMORY);
            assert_string_equal(shs_cl_about(cl)->fault, "");
        }
        assert_true(at > 10);
        assert_int_equal(cl->in_use, 0);
        shs_cl_destroy(cl);
        assert_int_equal(shim.live, 0);
        assert_int_equal(c.live, 0);
    }
}

/* A session that fails before it has codes does not look at the codes. */
static void test_no_codes_no_fault(void **state) {
    const shs_cl_options o = SHS_ZERO;
    counter c = {0, -1, 0};
    shs__cl_known k = SHS_ZERO;
    shs_omp_report report;
    char fault[SHS__CL_FAULT] = "";
    shs_context ctx;
    shs_cl *cl;
    (void)state;
    shim_begin();
    cl = open_device(&coding, o, &ctx);
    cl->ctx.alloc_fn = counter_alloc;
    cl->ctx.free_fn = counter_free;
    cl->ctx.alloc_user = &c;
    k.p = P;
    k.n = N;
    k.m = SHS__CL_KNOWN_SIGNALS;
    k.stride = S;
    assert_ok(shs__cl_known_open(cl, 1, &k));
    k.coding.sparsity = S;
    shim.only = "clEnqueueReadBuffer";
    shim.fail_at = 0;
    shim.calls = 0;
    shim.lost = 1;
    assert_int_not_equal(shs__cl_known_code(cl, &k, &report, fault), SHS_OK);
    assert_string_equal(fault, "");
    shs__cl_known_close(cl, &k);
    shs_cl_destroy(cl);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled_in_another_way), cmocka_unit_test(test_little_local_memory),
        cmocka_unit_test(test_local_memory_is_counted),
        cmocka_unit_test(test_faults_of_plain_bytes),  cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_no_codes_no_fault),
        cmocka_unit_test(test_faults_of_sub_groups),   cmocka_unit_test(test_faults_of_building_sub_groups),
        cmocka_unit_test(test_faults_of_reported_sub_groups),
        cmocka_unit_test(test_faults_of_dot_products),
        cmocka_unit_test(test_faults_are_noticed), cmocka_unit_test(test_all_kernels_are_tested),
        cmocka_unit_test(test_driver_that_cannot_count), cmocka_unit_test(test_trust),
        cmocka_unit_test(test_fallback),               cmocka_unit_test(test_others_take_over),
        cmocka_unit_test(test_verdicts_are_kept),      cmocka_unit_test(test_calls_fail),
    };
    if (getenv("SHS_TEST")) cmocka_set_test_filter(getenv("SHS_TEST"));
    return cmocka_run_group_tests_name("self-test", tests, NULL, NULL);
}
