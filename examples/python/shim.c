/* shim.c - what sparsehs.py calls: each function of the library with plain numbers and arrays in place of structs, compiled
   once for float and once for double.

   No struct crosses the border, and no number of an enumeration is written down twice. Each function that ENTRY makes has a
   text beside it with its own parameters, made by the preprocessor from the very line that is compiled; sparsehs.py reads it,
   passes arguments by these names and types, and 0 or NULL for those that it was not given: the library's own defaults. */
#ifndef SHIM_PROGRAM_CACHE
#define SHIM_PROGRAM_CACHE "../program_cache.h"
#endif
#include SHIM_PROGRAM_CACHE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef SHIM_HEADER
#define SHIM_HEADER "../../sparsehs.h"
#define SHIM_HEADER_CL "../../sparsehs_cl.h"
#endif
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#include SHIM_HEADER
/* OpenCL's headers are enough: its library is opened when a device is asked for. */
#if defined(__has_include)
#if __has_include(<CL/cl.h>)
#define SHIM_OPENCL
#define SPARSEHS_CL_DYNAMIC
#define SPARSEHS_CL_IMPLEMENTATION
#include SHIM_HEADER_CL
#endif
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* The parameters that many share. */
#define CALL shim_progress progress, int threads, void *device
#define SIGNALS int p, size_t m, const shs_real *Y, int ldy
#define CODING                                                                                                                 \
    int sparsity, double tolerance, shs_selection selection, int nonnegative, const unsigned char *mask, int ldm,              \
        const shs_real *weights, int ldw, int skip_nan, const int *sparsity_each, const shs_real *tolerance_each,              \
        shs_gram_mode gram_mode, size_t signals_per_group, const shs_real *gram, int ldg, const size_t *groups,                \
        size_t group_count, shs_method method
#define CODES int stride, int *used, int *atoms, shs_real *coefs
#define IMAGE const void *pixels, shs_type type, int width, int height, int channels, size_t row_stride
#define PATCHES                                                                                                                \
    int patch_width, int patch_height, shs_patch_mode mode, int step_x, int step_y, size_t count, uint64_t seed,               \
        int keep_mean, int unit_norm
#define CUBE                                                                                                                   \
    const void *pixels, shs_type type, int samples, int lines, int bands, ptrdiff_t sample_stride, ptrdiff_t line_stride,      \
        ptrdiff_t band_stride, int swap_bytes, const unsigned char *valid, int has_nodata, double nodata

#define TEXT(...) #__VA_ARGS__
#define ENTRY(name, parameters)                                                                                                \
    EXPORT const char *shim_##name##_parameters(void);                                                                         \
    EXPORT const char *shim_##name##_parameters(void) { return TEXT parameters; }                                              \
    EXPORT shs_status shim_##name parameters;                                                                                  \
    EXPORT shs_status shim_##name parameters
/* Python passes and takes enumerations as int. */
typedef char shim_status_is_an_int[sizeof(shs_status) == sizeof(int) ? 1 : -1];

/* ---- the context ------------------------------------------------------------------------------------------------- */

typedef int (*shim_progress)(const char *phase, size_t step, size_t steps, double error);

/* Python is asked thirty times a second of processor time, so that short steps cost nothing. */
typedef struct shim_call {
    shim_progress progress;
    clock_t last;
    int asked;
} shim_call;

static int ask(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    shim_call *c = user;
    const clock_t now = clock();
    if (c->asked && now - c->last < CLOCKS_PER_SEC / 30) return 0;
    c->asked = 1;
    c->last = now;
    return c->progress(phase, step, steps, (double)error);
}

static shs_context context(shim_call *c, shim_progress progress, int threads, void *device) {
    shs_context ctx = SHS_ZERO;
    memset(c, 0, sizeof *c);
    c->progress = progress;
    if (progress) {
        ctx.progress_fn = ask;
        ctx.progress_user = c;
    }
    ctx.threads = threads;
#ifdef SHIM_OPENCL
    if (device) ctx.engine = shs_cl_engine(device);
#else
    (void)device;
#endif
    return ctx;
}
#define CONTEXT                                                                                                                \
    shim_call call;                                                                                                            \
    const shs_context ctx = context(&call, progress, threads, device)

EXPORT const char *shim_text(shs_status status);
EXPORT const char *shim_text(shs_status status) { return shs_status_text(status); }
EXPORT const char *shim_name(shs_status status);
EXPORT const char *shim_name(shs_status status) { return shs_status_name(status); }
EXPORT const char *shim_build_info(void);
EXPORT const char *shim_build_info(void) { return shs_build_info(); }
EXPORT void shim_free(void *block);
EXPORT void shim_free(void *block) { free(block); }

/* Names of options' values, "option=value"; NULL behind the last. */
static const struct {
    const char *name;
    int value;
} values[] = {
#define ROW(name, distances) {"selection=" #name, SHS_SELECT_##name},
    SHS_SELECTION_LIST(ROW)
#undef ROW
#define ROW(name, takes) {"method=" #name, SHS_METHOD_##name},
    SHS_METHOD_LIST(ROW)
#undef ROW
#define ROW(code, name, codes) {"update=" #name, code},
    SHS_UPDATE_LIST(ROW)
#undef ROW
#define ROW(code, name) {"contrast=" #name, code},
    SHS_CONTRAST_LIST(ROW)
#undef ROW
    {"gram_mode=auto", SHS_GRAM_AUTO}, {"gram_mode=always", SHS_GRAM_ALWAYS}, {"gram_mode=never", SHS_GRAM_NEVER},
    {"start=signals", SHS_START_SIGNALS}, {"start=random", SHS_START_RANDOM}, {"start=dct", SHS_START_DCT},
    {"start=given", SHS_START_GIVEN}, {"replace=worst", SHS_REPLACE_WORST}, {"replace=leave", SHS_REPLACE_LEAVE},
    {"replace=random", SHS_REPLACE_RANDOM}, {"keep=best", SHS_KEEP_BEST}, {"keep=last", SHS_KEEP_LAST},
    {"mode=grid", SHS_PATCH_MODE_GRID}, {"mode=distinct", SHS_PATCH_MODE_DISTINCT}, {"mode=random", SHS_PATCH_MODE_RANDOM},
    {"precise=auto", SHS_PRECISION_AUTO}, {"precise=always", SHS_PRECISION_ALWAYS}, {"precise=never", SHS_PRECISION_NEVER},
    {"neighbours=right", SHS_NEIGHBOURS_RIGHT}, {"neighbours=lower", SHS_NEIGHBOURS_LOWER},
    {"neighbours=diagonal", SHS_NEIGHBOURS_DIAGONAL}, {"neighbours=mean", SHS_NEIGHBOURS_MEAN},
    {"divisor=n", SHS_DIVISOR_N}, {"divisor=n-1", SHS_DIVISOR_N_LESS_1},
    {"approach=deflation", SHS_APPROACH_DEFLATION}, {"approach=symmetric", SHS_APPROACH_SYMMETRIC},
    {"route=auto", SHS_ROUTE_AUTO}, {"route=moments", SHS_ROUTE_MOMENTS}, {"route=sweep", SHS_ROUTE_SWEEP},
    {"order=kurtosis", SHS_ORDER_KURTOSIS}, {"order=negentropy", SHS_ORDER_NEGENTROPY},
    {"order=extraction", SHS_ORDER_EXTRACTION},
#define ROW(code, name) {"detector=" #name, code},
    SHS_DETECTOR_LIST(ROW)
#undef ROW
#define ROW(code, name) {"extractor=" #name, code},
    SHS_EXTRACTOR_LIST(ROW)
#undef ROW
#define ROW(code, name) {"counter=" #name, code},
    SHS_COUNTER_LIST(ROW)
#undef ROW
    {"constraint=none", SHS_CONSTRAINT_NONE}, {"constraint=nonnegative", SHS_CONSTRAINT_NONNEGATIVE},
    {"constraint=sum", SHS_CONSTRAINT_SUM}, {"constraint=full", SHS_CONSTRAINT_FULL},
    {"kind=pca", SHS_MODEL_PCA}, {"kind=mnf", SHS_MODEL_MNF}, {"kind=ica", SHS_MODEL_ICA}, {"kind=rx", SHS_MODEL_RX},
    {"type=uint8", SHS_TYPE_U8}, {"type=int16", SHS_TYPE_I16}, {"type=uint16", SHS_TYPE_U16}, {"type=int32", SHS_TYPE_I32},
    {"type=uint32", SHS_TYPE_U32}, {"type=float32", SHS_TYPE_F32}, {"type=float64", SHS_TYPE_F64},
    {"type=float16", SHS_TYPE_F16}, {"type=bfloat16", SHS_TYPE_BF16},
};
EXPORT const char *shim_value(int index, int *value);
EXPORT const char *shim_value(int index, int *value) {
    if ((size_t)index >= sizeof values / sizeof *values) return NULL;
    *value = values[index].value;
    return values[index].name;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* A device whose name or platform has `name` in it, "gpu", or "" for the first. What it cannot do the CPU does. Built programs are
   kept in the folder `cache`, which is the same for all devices; "" = not kept. */
ENTRY(device_open, (const char *name, const char *cache, void **device, char *reason, size_t reason_size)) {
#ifdef SHIM_OPENCL
    static char folder[PROGRAM_CACHE_PATH];
    shs_cl *cl = NULL;
    shs_cl_options options = SHS_ZERO;
    shs_status status;
    if (*cache && strlen(cache) < sizeof folder) {
        strcpy(folder, cache);
        options.load_fn = program_cache_load;
        options.store_fn = program_cache_store;
        options.store_user = folder;
    }
    options.fallback = 1;
    options.reason = reason;
    options.reason_size = reason_size;
    if (!strcmp(name, "gpu")) options.kind = SHS_CL_GPU;
    else if (*name) options.name = name;
    status = shs_cl_create(NULL, &options, &cl);
    if (status == SHS_NO_DEVICE && options.name) {
        options.name = NULL;
        options.platform = name;
        status = shs_cl_create(NULL, &options, &cl);
    }
    *device = cl;
    return status;
#else
    static const char why[] = "OpenCL's headers were not here when sparsehs was compiled";
    (void)name;
    (void)cache;
    *device = NULL;
    if (reason_size >= sizeof why) memcpy(reason, why, sizeof why);
    return SHS_NO_DEVICE;
#endif
}
EXPORT void shim_device_close(void *device);
EXPORT void shim_device_close(void *device) {
#ifdef SHIM_OPENCL
    shs_cl_destroy(device);
#else
    (void)device;
#endif
}
EXPORT const char *shim_device_name(const void *device);
EXPORT const char *shim_device_name(const void *device) {
#ifdef SHIM_OPENCL
    return shs_cl_device_name(device);
#else
    (void)device;
    return "";
#endif
}

/* An option in the library's type. What is above 0 stays so, since 0 is the option's default or none. */
static shs_real real_of(double x) {
    const shs_real y = (shs_real)x;
    if (x > 0 && y == 0) return (shs_real)1e-45; /* the smallest number above 0 */
    return y;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static shs_omp_options coding_of(CODING) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = sparsity;
    o.tolerance = real_of(tolerance);
    o.selection = selection;
    o.nonnegative = nonnegative;
    o.mask = mask;
    o.ldm = ldm;
    o.weights = weights;
    o.ldw = ldw;
    o.skip_nan = skip_nan;
    o.sparsity_each = sparsity_each;
    o.tolerance_each = tolerance_each;
    o.gram_mode = gram_mode;
    o.signals_per_group = signals_per_group;
    o.gram = gram;
    o.ldg = ldg;
    o.groups = groups;
    o.group_count = group_count;
    o.method = method;
    return o;
}
#define CODING_OPTIONS                                                                                                         \
    coding_of(sparsity, tolerance, selection, nonnegative, mask, ldm, weights, ldw, skip_nan, sparsity_each, tolerance_each,   \
              gram_mode, signals_per_group, gram, ldg, groups, group_count, method)

static shs_codes codes_of(size_t m, CODES) {
    shs_codes codes = SHS_ZERO;
    codes.m = m;
    codes.stride = stride;
    codes.used = used;
    codes.atoms = atoms;
    codes.coefs = coefs;
    return codes;
}

static void put_omp_report(const shs_omp_report *r, double *report) {
    report[0] = (double)r->nonzeros;
    report[1] = (double)r->not_reached;
    report[2] = r->sum2;
    report[3] = r->rmse;
}

/* report, of 4: nonzeros, not_reached, sum2, rmse */
ENTRY(omp, (CALL, SIGNALS, int n, const shs_real *D, int ldd, CODING, CODES, shs_real *errors2, double *report)) {
    CONTEXT;
    const shs_omp_options options = CODING_OPTIONS;
    shs_codes codes = codes_of(m, stride, used, atoms, coefs);
    shs_omp_report r, *wanted = NULL;
    shs_status status;
    if (report) wanted = &r;
    status = shs_omp_ex(&ctx, p, n, D, ldd, m, Y, ldy, &options, &codes, errors2, wanted);
    if (report && status == SHS_OK) put_omp_report(&r, report);
    return status;
}

ENTRY(omp_gram, (CALL, size_t m, int n, const shs_real *dty, int ldt, const shs_real *norms2, CODING, CODES, shs_real *errors2,
                 double *report)) {
    CONTEXT;
    const shs_omp_options options = CODING_OPTIONS;
    shs_codes codes = codes_of(m, stride, used, atoms, coefs);
    shs_omp_report r, *wanted = NULL;
    shs_status status;
    if (report) wanted = &r;
    status = shs_omp_gram(&ctx, n, m, dty, ldt, norms2, &options, &codes, errors2, wanted);
    if (report && status == SHS_OK) put_omp_report(&r, report);
    return status;
}

/* Codes and gaps hold m signals for each lambda. report, of 5: nonzeros, not_reached, cut, objective, gap */
ENTRY(lasso, (CALL, SIGNALS, int n, const shs_real *D, int ldd, const shs_real *lambdas, int lambda_count, int relative,
              double lambda2, double gap, int sweeps, int nonnegative, const shs_real *gram, int ldg, CODES, shs_real *gaps,
              double *report)) {
    CONTEXT;
    shs_codes codes = codes_of(m * (size_t)lambda_count, stride, used, atoms, coefs);
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report r = SHS_ZERO;
    shs_status status;
    o.lambdas = lambdas;
    o.lambda_count = lambda_count;
    o.relative = relative;
    o.lambda2 = real_of(lambda2);
    o.gap = real_of(gap);
    o.sweeps = sweeps;
    o.nonnegative = nonnegative;
    o.gram = gram;
    o.ldg = ldg;
    status = shs_lasso(&ctx, p, n, D, ldd, m, Y, ldy, &o, &codes, gaps, &r);
    report[0] = (double)r.nonzeros;
    report[1] = (double)r.not_reached;
    report[2] = (double)r.cut;
    report[3] = r.objective;
    report[4] = r.gap;
    return status;
}

ENTRY(synthesize, (CALL, int p, int n, const shs_real *D, int ldd, size_t m, CODES, shs_real *Z)) {
    CONTEXT;
    const shs_codes codes = codes_of(m, stride, used, atoms, coefs);
    return shs_codes_synthesize(&ctx, p, n, D, ldd, &codes, 0, m, Z, p);
}

/* history: rmse_coding, mean_atoms, atoms_used, replaced, pruned, rmse_test of each iteration. result, of 4: iterations,
   best_iteration, rmse, mean_atoms. nonnegative is of atoms and codes. */
ENTRY(ksvd,
      (CALL, SIGNALS, int n, CODING, int iterations, shs_update update, int parallel_atoms, int rounds,
       shs_start start, int patch_width, int patch_height, int patch_channels, uint64_t seed,
       int first_iteration, shs_replace replace, double prune_coherence, int prune_uses, shs_keep keep,
       double stop_improvement, int stop_patience, double regularisation, double regularisation_decay,
       int regularised_iterations, double incoherence, double coherence, int coherence_rounds,
       int missing_as_zero, const shs_real *test, size_t test_m, int test_ld, shs_real *D, CODES, double *history,
       double *result)) {
    CONTEXT;
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_codes codes = codes_of(m, stride, used, atoms, coefs);
    shs_status status;
    int i;
    o.iterations = iterations;
    o.coding = CODING_OPTIONS;
    o.coding.nonnegative = 0;
    o.nonnegative = nonnegative;
    o.test = test;
    o.test_m = test_m;
    o.test_ld = test_ld;
    o.update = update;
    o.parallel_atoms = parallel_atoms;
    o.rounds = rounds;
    o.start = start;
    o.patch_width = patch_width;
    o.patch_height = patch_height;
    o.patch_channels = patch_channels;
    o.seed = seed;
    o.first_iteration = first_iteration;
    o.replace = replace;
    o.prune_coherence = real_of(prune_coherence);
    o.prune_uses = prune_uses;
    o.keep = keep;
    o.stop_improvement = stop_improvement;
    o.stop_patience = stop_patience;
    o.regularisation = real_of(regularisation);
    o.regularisation_decay = real_of(regularisation_decay);
    o.regularised_iterations = regularised_iterations;
    o.incoherence = real_of(incoherence);
    o.coherence = real_of(coherence);
    o.coherence_rounds = coherence_rounds;
    o.missing_as_zero = missing_as_zero;
    if (iterations > 0) {
        report.history = calloc((size_t)iterations, sizeof *report.history);
        if (!report.history) return SHS_NO_MEMORY;
    }
    status = shs_ksvd_ex(&ctx, p, n, m, Y, ldy, &o, D, p, used ? &codes : NULL, &report);
    for (i = 0; (status == SHS_OK || status == SHS_CANCELLED) && i < report.iterations && i < iterations; i++) {
        const shs_ksvd_record *r = &report.history[i];
        double *row = history + 6 * i;
        row[0] = r->rmse_coding;
        row[1] = r->mean_atoms;
        row[2] = r->atoms_used;
        row[3] = r->replaced;
        row[4] = r->pruned;
        row[5] = r->rmse_test;
    }
    result[0] = report.iterations;
    result[1] = report.best_iteration;
    result[2] = report.rmse;
    result[3] = report.mean_atoms;
    free(report.history);
    return status;
}

/* The signals as they come, for online learning without shuffling; `user` is a shs_signals. */
static int signals_in_order(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    shs_signals *from = user;
    const uint64_t all = (uint64_t)from->m * from->epochs;
    *count = 0;
    while (*count < most && from->delivered < all) {
        const size_t i = (size_t)(from->delivered % from->m);
        memcpy(Y + *count * (size_t)p, from->Y + i * (size_t)from->ldy, (size_t)p * sizeof *Y);
        from->delivered++;
        ++*count;
    }
    return 0;
}

static void put_online_record(const shs_online_record *r, double *row) {
    row[0] = (double)r->signal_count;
    row[1] = r->rmse;
    row[2] = r->mean_atoms;
    row[3] = r->rmse_test;
    row[4] = r->atoms_used;
    row[5] = r->replaced;
    row[6] = r->pruned;
}

/* history: signal_count, rmse, mean_atoms, rmse_test, atoms_used, replaced, pruned of the first history_most batches. result, of
   2: batches and signals of this call. sums_xx (n x n), sums_yx (p x n): in, where first_batch > 0, and out. */
ENTRY(online, (CALL, SIGNALS, int n, int sparsity, double tolerance, shs_selection selection, int nonnegative,
               shs_gram_mode gram_mode, size_t signals_per_group, size_t epochs, int shuffle, size_t batch,
               size_t first_batch, double forgetting, int sweeps, shs_start start, int patch_width,
               int patch_height, int patch_channels, uint64_t seed, double start_weight, shs_replace replace,
               double prune_coherence, size_t replace_every, const shs_real *test, size_t test_m, int test_ld,
               size_t test_every, shs_real *D, double *sums_xx, double *sums_yx, size_t history_most,
               double *history, double *result)) {
    CONTEXT;
    shs_online_options o = SHS_ZERO;
    shs_online_report r = SHS_ZERO;
    shs_signals from = SHS_ZERO;
    shs_status status;
    size_t i;
    from.m = m;
    from.Y = Y;
    from.ldy = ldy;
    from.epochs = epochs;
    from.seed = seed;
    o.coding.sparsity = sparsity;
    o.coding.tolerance = real_of(tolerance);
    o.coding.selection = selection;
    o.nonnegative = nonnegative;
    o.coding.gram_mode = gram_mode;
    o.coding.signals_per_group = signals_per_group;
    o.batch = batch;
    o.first_batch = first_batch;
    o.forgetting = forgetting;
    o.sweeps = sweeps;
    o.start = start;
    o.patch_width = patch_width;
    o.patch_height = patch_height;
    o.patch_channels = patch_channels;
    o.seed = seed;
    o.start_weight = start_weight;
    o.replace = replace;
    o.prune_coherence = real_of(prune_coherence);
    o.replace_every = replace_every;
    o.test = test;
    o.test_m = test_m;
    o.test_ld = test_ld;
    o.test_every = test_every;
    r.sums_xx = sums_xx;
    r.sums_yx = sums_yx;
    r.history_most = history_most;
    r.history = calloc(history_most + 1, sizeof *r.history);
    if (!r.history) return SHS_NO_MEMORY;
    status = shs_online_ex(&ctx, p, n, shuffle ? shs_shuffled_signals : signals_in_order, &from, &o, D, p, &r);
    for (i = 0; i < r.batches && i < history_most; i++) put_online_record(&r.history[i], history + 7 * i);
    result[0] = (double)r.batches;
    result[1] = (double)r.signal_count;
    free(r.history);
    return status;
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

static shs_image image_of(IMAGE) {
    shs_image image = SHS_ZERO;
    image.pixels = pixels;
    image.type = type;
    image.width = width;
    image.height = height;
    image.channels = channels;
    image.row_stride = row_stride;
    return image;
}
#define THE_IMAGE const shs_image image = image_of(pixels, type, width, height, channels, row_stride)

static shs_patches patches_of(PATCHES) {
    shs_patches set = SHS_ZERO;
    set.width = patch_width;
    set.height = patch_height;
    set.mode = mode;
    set.step_x = step_x;
    set.step_y = step_y;
    set.count = count;
    set.seed = seed;
    set.keep_mean = keep_mean;
    set.unit_norm = unit_norm;
    return set;
}
#define THE_PATCHES                                                                                                            \
    const shs_patches set = patches_of(patch_width, patch_height, mode, step_x, step_y, count, seed, keep_mean, unit_norm)

ENTRY(patches_count, (IMAGE, PATCHES, size_t *m, int *p)) {
    THE_IMAGE;
    THE_PATCHES;
    *m = shs_patches_count(&image, &set, p);
    if (*m) return SHS_OK;
    return SHS_BAD_PATCHES;
}

ENTRY(patches_get, (CALL, IMAGE, PATCHES, size_t m, int p, shs_real *Y, shs_real *means)) {
    CONTEXT;
    THE_IMAGE;
    THE_PATCHES;
    return shs_patches_get(&ctx, &image, &set, 0, m, Y, p, means, NULL);
}

ENTRY(approximate, (CALL, IMAGE, PATCHES, int p, int n, const shs_real *D, CODING, double lambda, shs_real *out)) {
    CONTEXT;
    THE_IMAGE;
    THE_PATCHES;
    const shs_omp_options options = CODING_OPTIONS;
    return shs_patches_approximate(&ctx, &image, &set, n, D, p, &options, real_of(lambda), out, NULL);
}

ENTRY(noise_sigma, (CALL, IMAGE, double *sigma, int *guess)) {
    CONTEXT;
    THE_IMAGE;
    shs_noise noise;
    shs_status status = shs_noise_sigma(&ctx, &image, &noise);
    if (status == SHS_OK) {
        *sigma = (double)noise.sigma;
        *guess = noise.guess;
    }
    return status;
}

/* ---- cubes ------------------------------------------------------------------------------------------------------- */

static shs_cube cube_of(CUBE) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = pixels;
    cube.type = type;
    cube.samples = samples;
    cube.lines = lines;
    cube.bands = bands;
    cube.sample_stride = sample_stride;
    cube.line_stride = line_stride;
    cube.band_stride = band_stride;
    cube.swap_bytes = swap_bytes;
    cube.mask = valid;
    cube.has_nodata = has_nodata;
    cube.nodata = nodata;
    return cube;
}
#define THE_CUBE                                                                                                               \
    const shs_cube cube = cube_of(pixels, type, samples, lines, bands, sample_stride, line_stride, band_stride, swap_bytes,    \
                                  valid, has_nodata, nodata)

/* Where an output of pixels goes. Missing pixels get NaN, not the no-data value of the cube. */
static shs_sink sink_of(void *out, shs_type out_type) {
    shs_sink sink = SHS_ZERO;
    sink.has_nodata = 1;
    sink.nodata = (shs_wide)NAN;
    sink.pixels = out;
    sink.type = out_type;
    sink.interleave = SHS_INTERLEAVE_BIP;
    return sink;
}

/* With the sums in double, as hypercube has them. */
static shs_status sum_moments(const shs_context *ctx, const shs_cube *cube, shs_moments *moments) {
    shs_status status = shs_moments_create(ctx, shs_cube_bands(cube), moments);
    if (status == SHS_OK) status = shs_moments_update(ctx, cube, SHS_PRECISION_ALWAYS, moments);
    return status;
}

/* Of n bands, band_list (n): mean (n), covariance (n x n), pixels (1). */
ENTRY(moments, (CALL, CUBE, const int *band_list, int n, double *mean, double *covariance, double *count)) {
    CONTEXT;
    THE_CUBE;
    shs_cube chosen = cube;
    shs_moments moments = SHS_ZERO;
    shs_status status;
    chosen.band_list = band_list;
    chosen.band_count = n;
    status = sum_moments(&ctx, &chosen, &moments);
    if (status == SHS_OK) status = shs_moments_finish(&moments, SHS_DIVISOR_N, mean, covariance, n);
    *count = moments.count;
    shs_moments_free(&ctx, &moments);
    return status;
}

ENTRY(count, (CALL, CUBE, shs_counter counter, double false_alarm, const double *noise, int *count)) {
    CONTEXT;
    THE_CUBE;
    shs_count_options o = SHS_ZERO;
    shs_moments moments = SHS_ZERO;
    shs_status status = sum_moments(&ctx, &cube, &moments);
    o.method = counter;
    o.false_alarm = false_alarm;
    o.noise = noise;
    if (status == SHS_OK) status = shs_count_materials(&ctx, &moments, &o, count);
    shs_moments_free(&ctx, &moments);
    return status;
}

/* The file of a model in memory, for writing and reading: Python keeps a model as these bytes. */
typedef struct shim_bytes {
    unsigned char *bytes;
    size_t size;
} shim_bytes;

typedef struct shim_file {
    const unsigned char *bytes;
    size_t size, at;
} shim_file;

static int append(void *user, const void *bytes, size_t count) {
    shim_bytes *b = user;
    unsigned char *more = realloc(b->bytes, b->size + count + 1);
    if (!more) return 1;
    memcpy(more + b->size, bytes, count);
    b->bytes = more;
    b->size += count;
    return 0;
}

static int fetch(void *user, void *bytes, size_t count) {
    shim_file *f = user;
    if (count > f->size - f->at) return 1;
    memcpy(bytes, f->bytes + f->at, count);
    f->at += count;
    return 0;
}

/* *file is to be given back by shim_free. */
ENTRY(fit, (CALL, CUBE, shs_model_kind kind, int components, double variance, double eigenvalue_at_least,
            int correlation, shs_divisor divisor, shs_precision precise, shs_neighbours neighbours,
            int noise_residual, const double *noise, int skip, double trim, int trim_rounds,
            shs_contrast contrast, shs_ica_approach approach, shs_ica_route route, int iterations,
            double tolerance, int plain_steps, int restarts, int random_start, const double *start,
            uint64_t seed, shs_ica_order order, const double *wavelengths, void **file, size_t *size)) {
    CONTEXT;
    THE_CUBE;
    shs_model model = SHS_ZERO;
    shim_bytes made = SHS_ZERO;
    shs_pca_options o = SHS_ZERO;
    shs_ica_options i = SHS_ZERO;
    shs_status status;
    model.kind = kind;
    o.components = i.components = components;
    o.variance = variance;
    o.eigenvalue_at_least = i.eigenvalue_at_least = eigenvalue_at_least;
    o.correlation = correlation;
    o.divisor = i.divisor = divisor;
    o.precise = i.precise = precise;
    o.neighbours = neighbours;
    o.noise_residual = noise_residual;
    o.noise = noise;
    o.skip = skip;
    o.trim = trim;
    o.trim_rounds = trim_rounds;
    i.contrast = contrast;
    i.approach = approach;
    i.route = route;
    i.iterations = iterations;
    i.tolerance = tolerance;
    i.plain_steps = plain_steps;
    i.restarts = restarts;
    i.random_start = random_start;
    i.start = start;
    i.seed = seed;
    i.order = order;
    switch (kind) {
    case SHS_MODEL_ICA: status = shs_ica_fit(&ctx, &cube, &i, &model.ica); break;
    case SHS_MODEL_MNF: status = shs_mnf_fit(&ctx, &cube, &o, &model.pca); break;
    case SHS_MODEL_RX: status = shs_rx_fit(&ctx, &cube, &o, &model.pca); break;
    default: status = shs_pca_fit(&ctx, &cube, &o, &model.pca);
    }
    if (status == SHS_OK) {
        model.wavelengths = (double *)wavelengths; /* they are read only */
        status = shs_model_save(&model, append, &made);
        if (status == SHS_WRITE_FAILED) status = SHS_NO_MEMORY;
        shs_pca_free(&ctx, &model.pca);
        shs_ica_free(&ctx, &model.ica);
    }
    if (status != SHS_OK) {
        free(made.bytes);
        memset(&made, 0, sizeof made);
    }
    *file = made.bytes;
    *size = made.size;
    return status;
}

static shs_status apply_ica(const shs_context *ctx, const shs_ica *ica, const shs_cube *cube, int way, const shs_sink *sink) {
    if (way == 0) return shs_ica_transform(ctx, ica, cube, sink);
    if (way == 1) return shs_ica_inverse(ctx, ica, cube, sink);
    return SHS_UNSUPPORTED;
}

static shs_status apply_pca(const shs_context *ctx, const shs_pca *pca, const shs_cube *cube, int way, int components,
                            const shs_sink *sink) {
    if (way == 0) return shs_pca_transform(ctx, pca, cube, sink);
    if (way == 1) return shs_pca_inverse(ctx, pca, cube, sink);
    return shs_pca_denoise(ctx, pca, components, cube, sink);
}

/* *model is to be given back by shim_model_free. */
ENTRY(model_load, (const void *file, size_t size, void **model)) {
    shs_model *made = malloc(sizeof *made);
    shim_file from = SHS_ZERO;
    shs_status status;
    if (!made) return SHS_NO_MEMORY;
    from.bytes = file;
    from.size = size;
    status = shs_model_load(NULL, fetch, &from, made);
    if (status != SHS_OK) {
        free(made);
        made = NULL;
    }
    *model = made;
    return status;
}

EXPORT void shim_model_free(void *model);
EXPORT void shim_model_free(void *model) {
    shs_model_free(NULL, model);
    free(model);
}

/* way: 0 = to components or scores, 1 = the way back, 2 = rebuilt from `components` of them. */
ENTRY(apply, (CALL, CUBE, const void *model, int way, int components, void *out, shs_type out_type)) {
    CONTEXT;
    THE_CUBE;
    const shs_model *m = model;
    const shs_sink sink = sink_of(out, out_type);
    if (m->kind == SHS_MODEL_ICA) return apply_ica(&ctx, &m->ica, &cube, way, &sink);
    if (m->kind != SHS_MODEL_RX) return apply_pca(&ctx, &m->pca, &cube, way, components, &sink);
    if (way == 0) return shs_rx_transform(&ctx, &m->pca, &cube, &sink);
    return SHS_UNSUPPORTED;
}

/* labels: lines x samples. ranks: one a class, the components that its scores are of. */
ENTRY(rx_classes, (CALL, CUBE, const int *labels, int classes, int components, int skip, double trim,
                   int trim_rounds, shs_divisor divisor, shs_precision precise, int *ranks, void *out,
                   shs_type out_type)) {
    CONTEXT;
    THE_CUBE;
    const shs_sink sink = sink_of(out, out_type);
    shs_pca_options o = SHS_ZERO;
    o.components = components;
    o.skip = skip;
    o.trim = trim;
    o.trim_rounds = trim_rounds;
    o.divisor = divisor;
    o.precise = precise;
    return shs_rx_classes(&ctx, &cube, labels, classes, &o, &sink, ranks);
}

ENTRY(rx_local, (CALL, CUBE, int inner, int outer, shs_divisor divisor, double ridge, void *out,
                 shs_type out_type)) {
    CONTEXT;
    THE_CUBE;
    const shs_sink sink = sink_of(out, out_type);
    shs_rx_local_options o = SHS_ZERO;
    o.inner = inner;
    o.outer = outer;
    o.divisor = divisor;
    o.ridge = ridge;
    return shs_rx_local(&ctx, &cube, &o, &sink);
}

/* spectra: bands x targets. labels: lines x samples, of `classes`; NULL: none. mean (bands), products (bands x bands,
   background_count times the covariance): of the background; NULL: those of the cube's own pixels. */
ENTRY(detect, (CALL, CUBE, int targets, const double *spectra, shs_detector detector, double ridge,
               const double *mean, const double *products, double background_count, const double *undesired,
               int undesired_count, const int *labels, int classes, int columns, void *out,
               shs_type out_type)) {
    CONTEXT;
    THE_CUBE;
    const shs_sink sink = sink_of(out, out_type);
    shs_detect_options o = SHS_ZERO;
    shs_moments background = SHS_ZERO;
    double *zero = NULL;
    shs_status status;
    o.method = detector;
    o.ridge = ridge;
    o.undesired = undesired;
    o.undesired_count = undesired_count;
    o.labels = labels;
    o.classes = classes;
    o.columns = columns;
    if (mean) {
        zero = calloc((size_t)bands, sizeof *zero);
        if (!zero) return SHS_NO_MEMORY;
        background.bands = bands;
        background.count = background_count;
        background.shift = (double *)mean; /* moments of a background are read only */
        background.sum = zero;
        background.products = (double *)products;
        o.background = &background;
    }
    status = shs_detect(&ctx, &cube, targets, spectra, bands, &o, &sink);
    free(zero);
    return status;
}

/* spectra: bands x count. */
ENTRY(unmix, (CALL, CUBE, int count, const double *spectra, shs_constraint constraint, void *out,
              shs_type out_type)) {
    CONTEXT;
    THE_CUBE;
    const shs_sink sink = sink_of(out, out_type);
    return shs_unmix(&ctx, &cube, count, spectra, bands, constraint, &sink);
}

/* spectra: bands x count. places: which pixels, line after line. */
ENTRY(endmembers, (CALL, CUBE, shs_extractor extractor, int count, uint64_t seed, double *spectra,
                   size_t *places)) {
    CONTEXT;
    THE_CUBE;
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers found = SHS_ZERO;
    shs_status status;
    o.method = extractor;
    o.count = count;
    o.seed = seed;
    status = shs_endmembers_find(&ctx, &cube, &o, &found);
    if (status == SHS_OK) {
        memcpy(spectra, found.spectra, (size_t)bands * (size_t)count * sizeof *spectra);
        memcpy(places, found.pixel, (size_t)count * sizeof *places);
    }
    shs_endmembers_free(&ctx, &found);
    return status;
}

/* skewers: bands x count; NULL: drawn from the seed. counts: one a pixel. */
ENTRY(ppi, (CALL, CUBE, int count, const double *skewers, uint64_t seed, double threshold, int *counts)) {
    CONTEXT;
    THE_CUBE;
    double *drawn = NULL;
    shs_status status;
    if (!skewers) {
        drawn = calloc((size_t)bands * (size_t)count, sizeof *drawn);
        if (!drawn) return SHS_NO_MEMORY;
        shs_ppi_skewers(bands, count, seed, drawn);
        skewers = drawn;
    }
    status = shs_ppi(&ctx, &cube, count, skewers, threshold, counts);
    free(drawn);
    return status;
}
