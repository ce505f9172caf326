/* bench_cl.c - how fast the OpenCL engine is on the device at hand ($SHS_CL_PLATFORM: part of a platform's name), and how far its
   results are from the CPU engine's. Writes build/bench_cl.csv and prints the same. A scene of the literature's size
   (6955 x 781 x 224 pixels of 8 bits) and 4 M signals on a GPU, small ones on a CPU, where this only shows that it runs.

   build/bench_cl [--without-ptx] [PATTERN...]

   --without-ptx leaves out NVIDIA's own instructions: what other makers' devices run.
   All rows, or those whose name holds a pattern (* and ? as in a shell): make bench-cl BENCH="omp* online*". A row that is held
   against another row that was not asked for stands alone, but for OLS and the rules of learning, which bring theirs. */
#define _POSIX_C_SOURCE 200809L
#include <fnmatch.h>
#include <stdio.h>

#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#include "../../sparsehs_cl.h"
#include "bench_cl.h"

#define RUNS 5 /* the median of this many, after one to warm up */

/* Learning in groups of `group` atoms. */
typedef struct learning {
    int group, iterations;
    shs_update update;
} learning;

typedef struct online_run {
    shs_real *start; /* the dictionary that it begins with */
    shs_online_options options;
    shs_online_record *history;
    size_t read, batches; /* signals that were delivered, records that history holds */
} online_run;

typedef struct bench {
    shs_cl *cl;
    shs_context ctx;
    FILE *csv;
    int large;
    /* the case at hand */
    shs_cube cube;
    shs_sink sink;
    shs_codes codes;
    shs_real *D, *Y;
    void *pinned;
    cl_mem buffer;
    size_t bytes, m;
    void *session;
    shs_wide *sums;
    int p, n, s;
    learning learning;
    online_run online;
    shs_real lambda;
    shs_lasso_report lasso;
    shs_real *unrounded; /* coefficients before they are rounded, */
    shs_coef_type type;  /* and to what */
} bench;

/* A size of a large device, or of another, where this only shows that it runs. */
static int sized(const bench *b, int large, int small) {
    if (b->large) return large;
    return small;
}

static int real_is_double(void) { return sizeof(shs_real) == sizeof(double); }

/* By the type of shs_real. */
static double by_type(double of_float, double of_double) {
    if (real_is_double()) return of_double;
    return of_float;
}

static char **patterns;
static int pattern_count;

static int wanted(const char *name) {
    char glob[128];
    int k;
    for (k = 0; k < pattern_count; k++) {
        snprintf(glob, sizeof glob, "*%s*", patterns[k]);
        if (fnmatch(glob, name, 0) == 0) return 1;
    }
    return pattern_count == 0;
}

static void must(shs_cl *cl, shs_status status) {
    const char *more = "";
    if (status == SHS_OK) return;
    if (cl) more = shs_cl_error_text(cl);
    fprintf(stderr, "bench_cl: %s\n%s\n", shs_status_text(status), more);
    exit(1);
}

static void *pinned(bench *b, size_t bytes) {
    void *memory = shs_cl_host_alloc(b->cl, bytes);
    if (!memory) must(b->cl, SHS_NO_MEMORY);
    return memory;
}

static void *memory_of(bench *b, size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) must(b->cl, SHS_NO_MEMORY);
    return memory;
}

static shs_real *reals_of(bench *b, size_t count) { return (shs_real *)memory_of(b, count * sizeof(shs_real)); }

/* Uniform of [-1, 1). */
static void draw(shs_real *x, size_t count, uint64_t seed) {
    shs_random r;
    size_t i;
    shs_random_seed(&r, seed);
    for (i = 0; i < count; i++) x[i] = (shs_real)((shs_wide)(shs_random_bits(&r) >> 40) / 8388608 - 1);
}

static size_t atom_values(const bench *b) { return (size_t)b->p * (size_t)b->n; }

/* Prints a line, if the case is wanted: a figure, and its ratio to the figure of a peer (NULL: no peer). A ratio above 1 is
   better than the peer. */
static void say(bench *b, const char *name, double value, const char *unit, const char *peer, double peer_value, double ratio) {
    if (!wanted(name)) return;
    if (!b->large) peer = NULL; /* targets are those of a large device */
    printf("%-34s %12.5g %-8s", name, value, unit);
    fprintf(b->csv, "%s,%.6g,%s,", name, value, unit);
    if (peer) {
        printf("  %-28s %10.4g   ratio %.2f", peer, peer_value, ratio);
        fprintf(b->csv, "%s,%.6g,%.3g\n", peer, peer_value, ratio);
    } else fprintf(b->csv, ",,\n");
    printf("\n");
    fflush(stdout);
}

/* Median seconds of the work, after a first run, which builds the programs. */
static double seconds_of(bench *b, void (*work)(bench *b)) {
    double seconds[RUNS];
    int run;
    for (run = -1; run < RUNS; run++) {
        double start = seconds_now();
        work(b);
        if (run >= 0) seconds[run] = seconds_now() - start;
    }
    return median(RUNS, seconds);
}

/* Returns the seconds of the work, compared with the limit `most` (0: no limit); 0 if the case is not wanted. */
static double measure(bench *b, const char *name, void (*work)(bench *b), const char *what, double most) {
    double seconds;
    if (!wanted(name)) return 0;
    seconds = seconds_of(b, work);
    if (most <= 0) what = NULL;
    say(b, name, seconds, "s", what, most, most / seconds);
    return seconds;
}

/* Signals a second and the like, held against at least `least` (0: nothing); 0 where they are not wanted. */
static double measure_rate(bench *b, const char *name, void (*work)(bench *b), double amount, const char *unit, double least) {
    double rate;
    if (!wanted(name)) return 0;
    rate = amount / seconds_of(b, work);
    if (least > 0) say(b, name, rate, unit, "target", least, rate / least);
    else say(b, name, rate, unit, NULL, 0, 0);
    return rate;
}

static void upload(bench *b) { must(b->cl, shs__cl_write(b->cl, 1, b->buffer, 0, b->bytes, b->pinned)); }

static void pca(bench *b) {
    shs_pca_options o = SHS_ZERO;
    o.components = 10;
    must(b->cl, shs_pca_run(&b->ctx, &b->cube, &o, &b->sink, NULL));
}

static void ica(bench *b) {
    shs_ica_options o = SHS_ZERO;
    o.components = 10;
    must(b->cl, shs_ica_run(&b->ctx, &b->cube, &o, &b->sink, NULL));
}

static void code(bench *b) { must(b->cl, shs_omp(&b->ctx, b->p, b->n, b->D, b->m, b->Y, b->s, &b->codes)); }

static void learn(bench *b) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = b->learning.iterations;
    o.coding.sparsity = b->s;
    o.update = b->learning.update;
    o.parallel_atoms = b->learning.group;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    must(b->cl, shs_ksvd_ex(&b->ctx, b->p, b->n, b->m, b->Y, b->p, &o, b->D, b->p, NULL, NULL));
}

static void rx(bench *b) { must(b->cl, shs_rx(&b->ctx, &b->cube, NULL, &b->sink, NULL)); }

/* All components of a cube of doubles to bytes, as GRASS's i.pca gives them. */
static void all_to_bytes(bench *b) {
    shs_pca_options o = SHS_ZERO;
    must(b->cl, shs_pca_run(&b->ctx, &b->cube, &o, &b->sink, NULL));
}

/* The cube's covariance, its pixels on the device already. */
static void covariance(bench *b) {
    shs_real shift[256];
    must(b->cl, b->ctx.engine->pixels_moments(b->session, 0, 0, shift, b->sums));
}

/* Largest relative difference of the leading eigenvalues, PCA on the device against the CPU. */
static void pca_accuracy(bench *b, int components) {
    shs_pca here = SHS_ZERO, there = SHS_ZERO;
    shs_pca_options o = SHS_ZERO;
    double worst = 0;
    int i;
    if (!wanted("pca10_eigenvalues_relative_error")) return;
    o.components = components;
    must(b->cl, shs_pca_fit(NULL, &b->cube, &o, &here));
    must(b->cl, shs_pca_fit(&b->ctx, &b->cube, &o, &there));
    for (i = 0; i < components; i++) {
        double value = (double)here.eigenvalues[i];
        worst = fmax(worst, fabs((double)there.eigenvalues[i] - value) / value);
    }
    say(b, "pca10_eigenvalues_relative_error", worst, "", "bound", 1e-5, 1e-5 / fmax(worst, 1e-18));
    shs_pca_free(NULL, &here);
    shs_pca_free(NULL, &there);
}

/* Makes a copy in memory that is not pinned, and touches every page. */
static void *ordinary(bench *b, const void *pinned, size_t bytes) {
    void *memory = memory_of(b, bytes);
    memcpy(memory, pinned, bytes);
    return memory;
}

/* PCA from ordinary memory to ordinary memory. */
static void ordinary_cube_case(bench *b) {
    void *pixels = ordinary(b, b->pinned, b->bytes), *outputs = b->sink.pixels;
    b->sink.pixels = ordinary(b, outputs, b->bytes / (size_t)b->cube.bands * 10 * sizeof(float));
    b->cube.pixels = pixels;
    measure(b, "pca10_cube_bip_ordinary_memory", pca, "target", 0.045);
    free(pixels);
    free(b->sink.pixels);
    b->cube.pixels = b->pinned;
    b->sink.pixels = outputs;
}

static void cube_cases(bench *b) {
    static const char *const names[] = {"bsq", "bil", "bip"};
    static const shs_interleave interleaves[] = {SHS_INTERLEAVE_BSQ, SHS_INTERLEAVE_BIL, SHS_INTERLEAVE_BIP};
    int lines = sized(b, 6955, 100), samples = sized(b, 781, 80), bands = sized(b, 224, 60), i;
    const size_t count = (size_t)lines * (size_t)samples, sums = (size_t)bands + 1;
    char name[64];
    double bare;
    b->bytes = count * (size_t)bands;
    b->pinned = pinned(b, b->bytes);
    b->sums = memory_of(b, sums * sums * sizeof *b->sums);
    draw_scene(b->pinned, count, bands);
    must(b->cl, shs__cl_buffer(b->cl, b->bytes, &b->buffer));
    bare = measure(b, "upload_cube", upload, NULL, 0);
    shs__cl_release(b->cl, &b->buffer);
    b->cube.pixels = b->pinned;
    b->cube.type = SHS_TYPE_U8;
    b->cube.lines = lines;
    b->cube.samples = samples;
    b->cube.bands = bands;
    b->sink.type = SHS_TYPE_F32;
    b->sink.interleave = SHS_INTERLEAVE_BIP;
    b->sink.pixels = pinned(b, count * 10 * sizeof(float));
    for (i = 0; i < 3; i++) {
        b->cube.interleave = interleaves[i];
        snprintf(name, sizeof name, "pca10_cube_%s", names[i]);
        measure(b, name, pca, "1.5 x bare pinned upload", 1.5 * bare);
        snprintf(name, sizeof name, "ica10_cube_pow3_%s", names[i]);
        measure(b, name, ica, "2 x bare pinned upload", 2 * bare);
        must(b->cl, b->ctx.engine->pixels_open(b->ctx.engine->user, &b->ctx, &b->cube, &b->session));
        snprintf(name, sizeof name, "covariance_on_device_%s", names[i]);
        measure(b, name, covariance, "cuBLAS ssyrk, known", 0.0209);
        b->ctx.engine->pixels_close(b->session);
    }
    measure(b, "rx_cube_bip", rx, "target", 0.045);
    ordinary_cube_case(b);
    b->cube.lines = shs__imin(lines, 500);
    pca_accuracy(b, 10);
    free(b->sums);
    shs_cl_host_free(b->cl, b->sink.pixels);
    shs_cl_host_free(b->cl, b->pinned);
}

/* The setting of the paper on GRASS GIS: 512 x 512 pixels of 224 doubles, all components to bytes from 0 to 255. */
static void grass_case(bench *b) {
    const int side = sized(b, 512, 48), bands = sized(b, 224, 32);
    const size_t values = (size_t)side * (size_t)side * (size_t)bands;
    shs_random r;
    double *pixels, bare, value = 0;
    size_t i;
    b->bytes = values * sizeof *pixels;
    b->pinned = pixels = pinned(b, b->bytes);
    shs_random_seed(&r, 7);
    for (i = 0; i < values; i++) {
        value = (double)(shs_random_bits(&r) >> 40) / 16777216 + value / 2;
        pixels[i] = value;
    }
    must(b->cl, shs__cl_buffer(b->cl, b->bytes, &b->buffer));
    bare = measure(b, "upload_doubles", upload, NULL, 0);
    shs__cl_release(b->cl, &b->buffer);
    memset(&b->cube, 0, sizeof b->cube);
    memset(&b->sink, 0, sizeof b->sink);
    b->cube.pixels = pixels;
    b->cube.type = SHS_TYPE_F64;
    b->cube.interleave = SHS_INTERLEAVE_BSQ;
    b->cube.lines = b->cube.samples = side;
    b->cube.bands = bands;
    b->sink.type = SHS_TYPE_U8;
    b->sink.interleave = SHS_INTERLEAVE_BSQ;
    b->sink.rescale = 1;
    b->sink.high = 255;
    b->sink.pixels = pinned(b, values);
    measure(b, "pca_all_512x512x224_f64_to_bytes", all_to_bytes, "1.5 x bare pinned upload", 1.5 * bare);
    shs_cl_host_free(b->cl, b->sink.pixels);
    shs_cl_host_free(b->cl, b->pinned);
}

static void code_resident(bench *b) {
    shs_omp_report report;
    must(b->cl, b->ctx.engine->signals_code(b->session, NULL, NULL, &report));
}

/* Puts the first m signals and n atoms on the device. */
static void open_signals(bench *b, int n, size_t m, const shs_omp_options *coding) {
    const shs_engine *engine = b->ctx.engine;
    shs_signals_job job = SHS_ZERO;
    job.p = b->p;
    job.n = n;
    job.m = m;
    job.Y = b->Y;
    job.ldy = b->p;
    job.stride = coding->sparsity;
    job.coding = coding;
    must(b->cl, engine->signals_open(engine->user, &b->ctx, &job, &b->session));
    must(b->cl, engine->signals_dictionary(b->session, b->D, b->p));
}

/* Signals a second for signals already on the device: D'Y and the pursuit. */
static double resident_rate(bench *b, int n, int s, shs_selection selection) {
    shs_omp_options coding = SHS_ZERO;
    double rate;
    coding.sparsity = s;
    coding.selection = selection;
    open_signals(b, n, b->m, &coding);
    rate = (double)b->m / seconds_of(b, code_resident);
    b->ctx.engine->signals_close(b->session);
    return rate;
}

/* Batch-OMP, and OLS beside it, which may take 1.5 times as long. */
static void resident_case(bench *b, int n, int s, double target) {
    char omp[64], ols[64];
    double rate, least;
    snprintf(omp, sizeof omp, "omp_%dx%d_s%d_on_device", b->p, n, s);
    snprintf(ols, sizeof ols, "ols_%dx%d_s%d_on_device", b->p, n, s);
    if (!wanted(omp) && !wanted(ols)) return;
    rate = resident_rate(b, n, s, SHS_SELECT_OMP);
    least = rate / 1.5;
    say(b, omp, rate, "1/s", "target", target, rate / target);
    if (!wanted(ols)) return;
    rate = resident_rate(b, n, s, SHS_SELECT_OLS);
    say(b, ols, rate, "1/s", "OMP's rate / 1.5", least, rate / least);
}

/* The same of groups of `size` signals that share their atoms, of a quarter of the signals. */
static void shared_case(bench *b, const char *name, int n, int s, size_t size, shs_selection selection) {
    const size_t m = b->m / 4 / size * size;
    shs_omp_options coding = SHS_ZERO;
    size_t *starts, g;
    if (!wanted(name)) return;
    starts = (size_t *)memory_of(b, m / size * sizeof *starts);
    for (g = 0; g < m / size; g++) starts[g] = g * size;
    coding.sparsity = s;
    coding.selection = selection;
    coding.groups = starts;
    coding.group_count = m / size;
    open_signals(b, n, m, &coding);
    measure_rate(b, name, code_resident, (double)m, "1/s", 0);
    b->ctx.engine->signals_close(b->session);
    free(starts);
}

/* How many of the first 20,000 signals, in groups of 8, have another support than on the CPU, and how far the sum of squares is
   off. */
static void shared_accuracy(bench *b, int n, int s) {
    const size_t m = shs__zmin(b->m, 20000) / 8 * 8, stride = (size_t)s;
    size_t starts[2500], i, others = 0;
    shs_omp_options o = SHS_ZERO;
    shs_omp_report here, there;
    shs_codes codes, codes_cl;
    if (!wanted("somp_other_supports_share") && !wanted("somp_sum2_relative_error")) return;
    for (i = 0; i < m / 8; i++) starts[i] = 8 * i;
    o.sparsity = s;
    o.groups = starts;
    o.group_count = m / 8;
    must(b->cl, shs_codes_create(NULL, m, s, &codes));
    must(b->cl, shs_codes_create(NULL, m, s, &codes_cl));
    must(b->cl, shs_omp_ex(NULL, b->p, n, b->D, b->p, m, b->Y, b->p, &o, &codes, NULL, &here));
    must(b->cl, shs_omp_ex(&b->ctx, b->p, n, b->D, b->p, m, b->Y, b->p, &o, &codes_cl, NULL, &there));
    for (i = 0; i < m; i++)
        others += memcmp(codes.atoms + i * stride, codes_cl.atoms + i * stride, stride * sizeof(int)) != 0;
    say(b, "somp_other_supports_share", (double)others / (double)m, "", NULL, 0, 0);
    say(b, "somp_sum2_relative_error", fabs((double)(there.sum2 / here.sum2) - 1), "", NULL, 0, 0);
    shs_codes_free(NULL, &codes);
    shs_codes_free(NULL, &codes_cl);
}

/* A dictionary too large for omp_warp: m signals of p values with s of n atoms, from ordinary memory to ordinary memory, and
   with the signals on the device. */
static void large_case(bench *b, int p, int n, int s, size_t m, double host_target, double target) {
    const bench before = *b;
    char name[64];
    if (!b->large) {
        p /= 16;
        n /= 16;
        s = 4;
        m = 64;
    }
    b->p = p;
    b->n = n;
    b->s = s;
    b->m = m;
    b->Y = reals_of(b, (size_t)p * m);
    b->D = reals_of(b, atom_values(b));
    must(b->cl, shs_codes_create(NULL, m, s, &b->codes));
    draw(b->Y, (size_t)p * m, 5);
    must(b->cl, shs_dictionary_random(p, n, b->D, p, 6));
    snprintf(name, sizeof name, "omp_%dx%d_s%d_ordinary_memory", p, n, s);
    measure_rate(b, name, code, (double)m, "1/s", host_target);
    resident_case(b, n, s, target);
    shs_codes_free(NULL, &b->codes);
    free(b->Y);
    free(b->D);
    *b = before;
}

/* How many signals of the first 20,000 have another support than on the CPU, and how far the coefficients of the others are off. */
static void coding_accuracy(bench *b, int n, int s) {
    size_t m = shs__zmin(b->m, 20000), i, j, others = 0;
    shs_codes here;
    double worst = 0;
    if (!wanted("omp_other_supports_share") && !wanted("omp_coefficients_relative_error")) return;
    must(b->cl, shs_codes_create(NULL, m, s, &here));
    must(b->cl, shs_omp(NULL, b->p, n, b->D, m, b->Y, s, &here));
    b->codes.stride = s;
    must(b->cl, shs_omp(&b->ctx, b->p, n, b->D, m, b->Y, s, &b->codes));
    for (i = 0; i < m; i++) {
        const size_t first = i * (size_t)s, used = (size_t)here.used[i];
        const int *atoms = here.atoms + first, *atoms_cl = b->codes.atoms + first;
        const shs_real *x = here.coefs + first, *x_cl = b->codes.coefs + first;
        double largest = 0, off = 0;
        if (here.used[i] != b->codes.used[i] || memcmp(atoms, atoms_cl, used * sizeof *atoms) != 0) {
            others++;
            continue;
        }
        for (j = 0; j < used; j++) {
            largest = fmax(largest, fabs((double)x[j]));
            off = fmax(off, fabs((double)(x[j] - x_cl[j])));
        }
        worst = fmax(worst, off / largest);
    }
    say(b, "omp_other_supports_share", (double)others / (double)m, "", NULL, 0, 0);
    say(b, "omp_coefficients_relative_error", worst, "", "bound", 1e-4, 1e-4 / fmax(worst, 1e-18));
    shs_codes_free(NULL, &here);
}

/* Seconds of one iteration, from the difference between many and few iterations, so that start and final coding do not count.
   */
static double iteration_seconds(bench *b, int few, int many) {
    double first;
    b->learning.iterations = few;
    first = seconds_of(b, learn);
    b->learning.iterations = many;
    return (seconds_of(b, learn) - first) / (many - few);
}

/* A rule's iteration with groups of so many atoms, held against `most` seconds (0: nothing). Runs of one program differ by up to 5 ms,
   most of it before the first iteration: ten iterations were too few to tell one of 0.8 ms from one of 1.2. */
static double iteration(bench *b, const char *name, shs_update update, int group, const char *what, double most) {
    double seconds;
    b->learning.update = update;
    b->learning.group = group;
    seconds = iteration_seconds(b, 2, 52);
    if (most <= 0) what = NULL;
    say(b, name, seconds, "s", what, most, most / seconds);
    return seconds;
}

/* The other rules beside PAK-SVD in the same groups; MOD, which has none, beside groups of 64. */
static const struct rule_row {
    const char *name;
    shs_update update;
    int group;
} rule_rows[] = {{"sgk64_64x512_s8_iteration", SHS_UPDATE_SGK, 64},
                 {"sgk512_64x512_s8_iteration", SHS_UPDATE_SGK, 512},
                 {"nsgk64_64x512_s8_iteration", SHS_UPDATE_NSGK, 64},
                 {"nsgk512_64x512_s8_iteration", SHS_UPDATE_NSGK, 512},
                 {"mod_64x512_s8_iteration", SHS_UPDATE_MOD, 64}};
enum { RULE_ROWS = sizeof rule_rows / sizeof rule_rows[0] };

/* Of one run. */
static double learning_seconds(bench *b, int iterations) {
    double start = seconds_now();
    b->learning.iterations = iterations;
    learn(b);
    return seconds_now() - start;
}

/* Exact K-SVD takes power steps until an atom stands still, each of them a product on the device: once through is enough. */
static void exact_case(bench *b, double aksvd) {
    static const char name[] = "ksvd_64x512_s8_iteration";
    const char *peer = NULL;
    const size_t m = b->m;
    double once, twice;
    if (!wanted(name)) return;
    b->learning.update = SHS_UPDATE_KSVD;
    b->learning.group = 1;
    b->m = 512; /* a few signals build the programs */
    learning_seconds(b, 1);
    b->m = m;
    once = learning_seconds(b, 1);
    twice = learning_seconds(b, 2);
    if (aksvd > 0) peer = "AK-SVD";
    say(b, name, twice - once, "s", peer, aksvd, aksvd / (twice - once));
}

static void learning_cases(bench *b) {
    static const char all[] = "paksvd512_64x512_s8_iteration", one_atom[] = "aksvd_64x512_s8_iteration",
                      some[] = "paksvd64_64x512_s8_iteration", core[] = "aksvd_64x512_s8_iteration_one_core",
                      faster[] = "paksvd64_on_device_times_faster";
    shs_context one = SHS_ZERO, device = b->ctx;
    int in_all = wanted(all), in_some = wanted(some) || wanted(faster), k;
    double gpu = 0, gpu_all = 0, aksvd = 0, cpu;
    for (k = 0; k < RULE_ROWS; k++) {
        const int rule = wanted(rule_rows[k].name);
        if (rule_rows[k].group == 512) in_all |= rule;
        else in_some |= rule;
    }
    b->n = 512;
    b->m = (size_t)sized(b, 65536, 2000);
    if (in_all) gpu_all = iteration(b, all, SHS_UPDATE_AKSVD, 512, "target", 0.0006);
    if (wanted(one_atom)) aksvd = iteration(b, one_atom, SHS_UPDATE_AKSVD, 1, "target", 0.012);
    if (in_some) gpu = iteration(b, some, SHS_UPDATE_AKSVD, 64, "target", 0.0008);
    for (k = 0; k < RULE_ROWS; k++) {
        const struct rule_row *row = rule_rows + k;
        double paksvd = gpu;
        if (!wanted(row->name)) continue;
        if (row->group == 512) paksvd = gpu_all;
        iteration(b, row->name, row->update, row->group, "1.5 x PAK-SVD", 1.5 * paksvd);
    }
    exact_case(b, aksvd);
    b->learning.update = SHS_UPDATE_AKSVD;
    b->learning.group = 1;
    if (!wanted(core) && !wanted(faster)) return;
    one.threads = 1;
    b->ctx = one;
    cpu = iteration_seconds(b, 1, 3);
    b->ctx = device;
    say(b, core, cpu, "s", NULL, 0, 0);
    if (gpu > 0) say(b, faster, cpu / gpu, "", "target", 100, cpu / gpu / 100);
}

/* The signals in their order. */
static int next_signals(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    bench *b = (bench *)user;
    const size_t values = (size_t)p;
    *count = shs__zmin(most, b->m - b->online.read);
    memcpy(Y, b->Y + b->online.read * values, *count * values * sizeof *Y);
    b->online.read += *count;
    return 0;
}

static void learn_online(bench *b) {
    shs_online_report report = SHS_ZERO;
    report.history = b->online.history;
    report.history_most = b->online.batches;
    memcpy(b->D, b->online.start, atom_values(b) * sizeof *b->D);
    b->online.read = 0;
    must(b->cl, shs_online_ex(&b->ctx, b->p, b->n, next_signals, b, &b->online.options, b->D, b->p, &report));
}

/* The root of the mean square of what all batches had left. */
static double error_of_batches(const bench *b) {
    double sum2 = 0, signals = 0;
    size_t k;
    for (k = 0; k < b->online.batches; k++) {
        const shs_online_record *record = b->online.history + k;
        const double count = (double)record->signal_count;
        sum2 += (double)(record->rmse * record->rmse) * count;
        signals += count;
    }
    return sqrt(sum2 / signals);
}

/* How far the atoms on the device are off after the first batch: the largest difference. */
static double first_batch_error(bench *b, const shs_context *host, const shs_context *device, shs_real *here) {
    double worst = 0;
    size_t i, count = atom_values(b);
    b->online.options.batches = 1;
    b->ctx = *host;
    learn_online(b);
    memcpy(here, b->D, count * sizeof *here);
    b->ctx = *device;
    learn_online(b);
    for (i = 0; i < count; i++) worst = fmax(worst, fabs((double)(here[i] - b->D[i])));
    b->online.options.batches = 0;
    return worst;
}

/* A pass over signals that are seen once, in batches (b1024), on the device and on all processors of the host. The atoms agree
   after the first batch, and the errors of all batches as a whole: single codes may differ, and what is learnt from them. */
static void online_case(bench *b, size_t batch) {
    const bench before = *b;
    const shs_context host = SHS_ZERO, device = b->ctx;
    const double bound = by_type(1e-4, 1e-9);
    double seconds[2], errors[2], worst, off;
    shs_real *memory;
    char names[5][64];
    int k, any = 0;
    for (k = 0; k < 5; k++) {
        static const char *const of[5] = {"", "_cpu", "_times_faster", "_atoms_error", "_error_difference"};
        snprintf(names[k], sizeof names[k], "online_64x256_s6_b%zu%s", batch, of[k]);
        any |= wanted(names[k]);
    }
    if (!any) return;
    b->n = 256;
    b->s = 6;
    b->m = (size_t)sized(b, 1000000, 4000);
    b->online.batches = (b->m + batch - 1) / batch;
    b->online.options.coding.sparsity = b->s;
    b->online.options.batch = batch;
    b->online.options.start = SHS_START_GIVEN;
    b->online.history = (shs_online_record *)calloc(b->online.batches, sizeof *b->online.history);
    if (!b->online.history) must(b->cl, SHS_NO_MEMORY);
    b->online.start = memory = reals_of(b, 2 * 64 * 256);
    must(b->cl, shs_dictionary_random(b->p, b->n, memory, b->p, 8));
    for (k = 0; k < 2; k++) {
        if (k) b->ctx = host;
        seconds[k] = seconds_of(b, learn_online);
        errors[k] = error_of_batches(b);
        say(b, names[k], seconds[k], "s", NULL, 0, 0);
    }
    say(b, names[2], seconds[1] / seconds[0], "", NULL, 0, 0);
    worst = first_batch_error(b, &host, &device, memory + 64 * 256);
    off = fabs(errors[0] / errors[1] - 1);
    say(b, names[3], worst, "", "bound", bound, bound / fmax(worst, 1e-18));
    say(b, names[4], off, "", "bound", 0.01, 0.01 / fmax(off, 1e-18));
    free(b->online.history);
    free(memory);
    *b = before;
}

/* Coding from ordinary memory to ordinary memory. */
static void ordinary_signal_case(bench *b) {
    const shs_codes codes = b->codes;
    const size_t cells = b->m * (size_t)b->s;
    shs_real *Y = b->Y;
    b->Y = ordinary(b, Y, b->bytes);
    b->codes.used = ordinary(b, codes.used, b->m * sizeof(int));
    b->codes.atoms = ordinary(b, codes.atoms, cells * sizeof(int));
    b->codes.coefs = ordinary(b, codes.coefs, cells * sizeof(shs_real));
    measure(b, "omp_64x256_s8_ordinary_memory", code, "target", 0.040);
    free(b->Y);
    free(b->codes.used);
    free(b->codes.atoms);
    free(b->codes.coefs);
    b->Y = Y;
    b->codes = codes;
}

static void lasso(bench *b) {
    shs_lasso_options o = SHS_ZERO;
    o.relative = 1;
    o.lambda = b->lambda;
    o.gap = (shs_real)1e-6;
    must(b->cl, shs_lasso(&b->ctx, b->p, b->n, b->D, b->p, b->m, b->Y, b->p, &o, &b->codes, NULL, &b->lasso));
}

/* The descents and what the CPU makes of them, from ordinary memory, beside the CPU by itself with all its threads. */
static void lasso_case(bench *b, const char *kind, double lambda) {
    const bench before = *b;
    const shs_context host = SHS_ZERO;
    const double bound = by_type(2e-6, 1e-6);
    double rates[2], objectives[2], off;
    char names[4][64];
    int k, any = 0;
    for (k = 0; k < 4; k++) {
        static const char *const of[4] = {"", "_cpu", "_times_faster", "_objective_difference"};
        snprintf(names[k], sizeof names[k], "lasso_64x256_%s%s", kind, of[k]);
        any |= wanted(names[k]);
    }
    if (!any) return;
    b->n = 256;
    b->m = (size_t)sized(b, 500000, 2000);
    b->lambda = (shs_real)lambda;
    must(b->cl, shs_codes_create(NULL, b->m, 64, &b->codes));
    for (k = 0; k < 2; k++) {
        if (k) b->ctx = host;
        rates[k] = measure_rate(b, names[k], lasso, (double)b->m, "1/s", 0);
        objectives[k] = (double)b->lasso.objective;
        if (b->lasso.not_reached) fprintf(stderr, "%s: %zu gaps not reached\n", names[k], b->lasso.not_reached);
    }
    say(b, names[2], rates[0] / rates[1], "", NULL, 0, 0);
    off = fabs(objectives[0] / objectives[1] - 1);
    say(b, names[3], off, "", "bound", bound, bound / fmax(off, 1e-18));
    shs_codes_free(NULL, &b->codes);
    *b = before;
}

/* Codes are rounded anew: those that were rounded stay. */
static void round_codes(bench *b) {
    memcpy(b->codes.coefs, b->unrounded, b->m * (size_t)b->s * sizeof(shs_real));
    must(b->cl, shs_codes_round(&b->ctx, b->p, b->n, b->D, b->p, b->type, &b->codes));
}

static double rounding_error(const bench *b, const shs_real *coefs) {
    const size_t stride = (size_t)b->s;
    double sum = 0;
    size_t i, k;
    int l;
    for (i = 0; i < b->m; i++) {
        double e[64] = {0};
        for (k = i * stride; k < (i + 1) * stride; k++) {
            const double off = (double)b->unrounded[k] - (double)coefs[k];
            const shs_real *atom = b->D + 64 * b->codes.atoms[k];
            for (l = 0; l < 64; l++) e[l] += off * (double)atom[l];
        }
        for (l = 0; l < 64; l++) sum += e[l] * e[l];
    }
    return sum;
}

/* Codes of 6 of 256 atoms, from ordinary memory and back, beside the CPU by itself with all its threads; a copy of the
   coefficients is in the time of both. */
static void round_case(bench *b, const char *kind, shs_coef_type type) {
    const bench before = *b;
    const shs_context host = SHS_ZERO;
    double rates[2], errors[2], off;
    char names[5][64];
    shs_real *device_coefs;
    shs_random r;
    size_t i, cells, differ = 0;
    int k, any = 0;
    for (k = 0; k < 5; k++) {
        static const char *const of[5] = {"", "_cpu", "_times_faster", "_error_difference", "_signals_that_differ"};
        snprintf(names[k], sizeof names[k], "compact_round_64x256_s6_%s%s", kind, of[k]);
        any |= wanted(names[k]);
    }
    if (!any) return;
    b->n = 256;
    b->s = 6;
    b->m = (size_t)sized(b, 1000000, 20000);
    b->type = type;
    cells = b->m * 6;
    must(b->cl, shs_codes_create(NULL, b->m, 6, &b->codes));
    b->unrounded = reals_of(b, cells);
    device_coefs = reals_of(b, cells);
    shs_random_seed(&r, 5);
    for (i = 0; i < cells; i++) { /* no atom twice in a signal */
        b->codes.used[i / 6] = 6;
        b->codes.atoms[i] = (int)(43 * (i % 6) + shs_random_below(&r, 40));
        b->unrounded[i] = (shs_real)(shs_random_normal(&r) * 100 / (double)(1 + i % 6));
    }
    for (k = 0; k < 2; k++) {
        if (k) b->ctx = host;
        rates[k] = measure_rate(b, names[k], round_codes, (double)b->m, "1/s", 0);
        errors[k] = rounding_error(b, b->codes.coefs);
        if (!k) memcpy(device_coefs, b->codes.coefs, cells * sizeof *device_coefs);
    }
    for (i = 0; i < b->m; i++) differ += memcmp(device_coefs + 6 * i, b->codes.coefs + 6 * i, 6 * sizeof *device_coefs) != 0;
    say(b, names[2], rates[0] / rates[1], "", NULL, 0, 0);
    off = fabs(errors[0] / errors[1] - 1);
    say(b, names[3], off, "", "bound", 1e-4, 1e-4 / fmax(off, 1e-18));
    off = (double)differ / (double)b->m;
    say(b, names[4], off, "", "bound", 1e-3, 1e-3 / fmax(off, 1e-18));
    shs_codes_free(NULL, &b->codes);
    free(b->unrounded);
    free(device_coefs);
    *b = before;
}

static void signal_cases(bench *b) {
    double bare;
    b->p = 64;
    b->n = 256;
    b->s = 8;
    b->m = (size_t)sized(b, 4000000, 4000);
    b->bytes = b->m * 64 * sizeof(shs_real);
    b->pinned = pinned(b, b->bytes);
    b->Y = b->pinned;
    draw(b->Y, b->m * 64, 1);
    b->D = reals_of(b, 64 * 512);
    b->codes.m = b->m;
    b->codes.stride = b->s;
    b->codes.used = pinned(b, b->m * sizeof(int));
    b->codes.atoms = pinned(b, b->m * 8 * sizeof(int));
    b->codes.coefs = pinned(b, b->m * 8 * sizeof(shs_real));
    must(b->cl, shs_dictionary_random(64, 512, b->D, 64, 2));
    must(b->cl, shs__cl_buffer(b->cl, b->bytes, &b->buffer));
    bare = measure(b, "upload_signals", upload, NULL, 0);
    shs__cl_release(b->cl, &b->buffer);
    measure(b, "omp_64x256_s8_host_to_host", code, "1.5 x bare pinned upload", 1.5 * bare);
    ordinary_signal_case(b);
    resident_case(b, 256, 8, 200e6);
    resident_case(b, 128, 16, 120e6);
    coding_accuracy(b, 256, 8);
    shared_case(b, "somp_64x256_s8_by_8_on_device", 256, 8, 8, SHS_SELECT_OMP);
    shared_case(b, "sols_64x256_s8_by_8_on_device", 256, 8, 8, SHS_SELECT_OLS);
    shared_case(b, "somp_64x256_s8_by_64_on_device", 256, 8, 64, SHS_SELECT_OMP);
    shared_accuracy(b, 256, 8);
    large_case(b, 256, 1024, 32, 50000, by_type(635e3, 398e3), by_type(1.8e6, 1.0e6));
    large_case(b, 512, 2048, 64, 5000, by_type(108e3, 67e3), by_type(250e3, 200e3));
    large_case(b, 8064, 1207, 30, 1200, by_type(150e3, 75e3), by_type(300e3, 150e3));
    learning_cases(b);
    lasso_case(b, "few", 0.5);
    lasso_case(b, "many", 0.3);
    round_case(b, "i8", SHS_COEF_I8);
    round_case(b, "i16", SHS_COEF_I16);
    online_case(b, 1024);
    online_case(b, 8192);
    shs_cl_host_free(b->cl, b->codes.used);
    shs_cl_host_free(b->cl, b->codes.atoms);
    shs_cl_host_free(b->cl, b->codes.coefs);
    shs_cl_host_free(b->cl, b->pinned);
    free(b->D);
}

static void multiply(bench *b) {
    const size_t n = (size_t)b->n;
    shs__cl_gemm_job g = shs__cl_gemm_of(SHS_TRANS_NO, SHS_TRANS_NO, b->n, b->n, b->n);
    g.A = shs__cl_matrix_of(b->buffer, 0, b->n);
    g.B = g.A;
    g.C = shs__cl_matrix_of(b->buffer, n * n, b->n);
    must(b->cl, shs__cl_gemm(b->cl, &g));
    must(b->cl, shs__cl_finish(b->cl, 0));
}

static void gemm_case(bench *b) {
    const int n = sized(b, 4096, 512);
    const size_t count = (size_t)n * (size_t)n;
    shs_real *A = reals_of(b, count);
    char name[32];
    b->n = n;
    snprintf(name, sizeof name, "gemm_%d", n);
    draw(A, count, 3);
    must(b->cl, shs__cl_buffer(b->cl, 2 * count * sizeof *A, &b->buffer));
    must(b->cl, shs__cl_write(b->cl, 0, b->buffer, 0, count * sizeof *A, A));
    measure_rate(b, name, multiply, 2e-12 * (double)n * (double)n * (double)n, "TFLOP/s", 25);
    shs__cl_release(b->cl, &b->buffer);
    free(A);
}

/* Prints the time of the first use of each program. A driver with a cache of programs is faster the second time. */
static void build_times(bench *b) {
    shs_cl_stage stages[64];
    int count = 0, i;
    must(b->cl, shs_cl_stage_times(b->cl, stages, 64, &count, 0));
    for (i = 0; i < shs__imin(count, 64); i++) {
        char name[64];
        double each;
        if (!stages[i].builds) continue;
        each = (double)stages[i].build_seconds / (double)stages[i].builds;
        snprintf(name, sizeof name, "build_%s", stages[i].name);
        say(b, name, each, "s", "target", 2, 2 / each);
    }
}

int main(int argc, char **argv) {
    bench b;
    shs_cl_options o = SHS_ZERO;
    char why[256] = "";
    int first = 1, without_ptx = 0;
    if (argc > 1 && strcmp(argv[1], "--without-ptx") == 0) {
        without_ptx = 1;
        first = 2;
    }
    if (argc > first && argv[first][0] == '-') {
        fprintf(stderr, "bench_cl [--without-ptx] [PATTERN...]\n");
        return 2;
    }
    patterns = argv + first;
    pattern_count = argc - first;
    memset(&b, 0, sizeof b);
    o.platform = getenv("SHS_CL_PLATFORM");
    o.reason = why;
    o.reason_size = sizeof why;
    if (shs_cl_create(NULL, &o, &b.cl) != SHS_OK) {
        fprintf(stderr, "bench_cl: %s\n", why);
        return 1;
    }
    b.csv = fopen("build/bench_cl.csv", "w");
    if (!b.csv) {
        fprintf(stderr, "bench_cl: cannot write build/bench_cl.csv\n");
        return 1;
    }
    if (without_ptx) b.cl->ways.ptx = b.cl->ways.units64 = 0;
    b.ctx.engine = shs_cl_engine(b.cl);
    b.large = shs_cl_about(b.cl)->kind == SHS_CL_GPU;
    printf("%s, driver %s\n", shs_cl_device_name(b.cl), shs_cl_about(b.cl)->driver);
    fprintf(b.csv, "case,value,unit,peer,peer_value,ratio\n");
    cube_cases(&b);
    grass_case(&b);
    signal_cases(&b);
    gemm_case(&b);
    build_times(&b);
    shs_cl_destroy(b.cl);
    return fclose(b.csv) != 0;
}
