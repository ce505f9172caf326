/* bench_stages.c - where the time of PCA and FastICA goes, in the form of the papers' tables, on one thread and on
   several. Stages that the API has are called by themselves; inside FastICA the progress callback looks at the clock. Writes
   build/bench_stages.csv. */
#include "bench.h"

enum { MOST_RUNS = 3 };
enum { LOAD, MOMENTS, EIGEN, RANGE, WHITENING, ITERATION, RATING, TRANSFORM, WHOLE, STAGES };

static const char *const stage_names[STAGES] = {
    "load",      "mean and covariance",       "eigenvectors", "range", "whitening", "iteration", "kurtosis, negentropy",
    "transform", "in one call (without load)"};

/* ---- a clock that the drivers' phases stop ------------------------------------------------------------------------ */

enum { PHASE_MOMENTS, PHASE_WHITENING, PHASE_SEPARATING, PHASE_RATING, PHASE_RANGE, PHASES };
static const char *const phase_names[PHASES] = {"moments", "whitening", "separating", "rating", "range"};

/* Time goes to the phase whose step just ended. Progress announces each step of the separation at its beginning, and the
   rating too: the last step ends there. */
typedef struct phase_clock {
    const bench_work *w;
    double last, spent[PHASES], remains;
    int separations;
} phase_clock;

static double lap(phase_clock *c) {
    double now = bench_now(c->w), seconds = now - c->last;
    c->last = now;
    return seconds;
}

static int on_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    phase_clock *c = (phase_clock *)user;
    double seconds = lap(c);
    int k;
    (void)step;
    (void)steps;
    (void)error;
    for (k = 0; k < PHASES && strcmp(phase, phase_names[k]); k++) {}
    if (k == PHASES) c->remains += seconds;
    else if (k == PHASE_SEPARATING && c->separations++ == 0) c->spent[PHASE_WHITENING] += seconds;
    else if (k == PHASE_RATING) c->spent[PHASE_SEPARATING] += seconds;
    else c->spent[k] += seconds;
    return 0;
}

static shs_context watched(const bench_work *w, phase_clock *clock) {
    shs_context ctx = bench_context(w);
    memset(clock, 0, sizeof *clock);
    clock->w = w;
    ctx.progress_fn = on_progress;
    ctx.progress_user = clock;
    clock->last = bench_now(w);
    return ctx;
}

/* ---- one run of all stages ---------------------------------------------------------------------------------------- */

static void write_scene(const bench_work *w, const char *file) {
    size_t count = (size_t)w->cube.samples * (size_t)w->cube.lines * (size_t)w->cube.bands;
    FILE *f = fopen(file, "wb");
    if (!f || fwrite(w->cube.pixels, sizeof(int16_t), count, f) != count || fclose(f)) bench_ok(SHS_WRITE_FAILED);
}

/* Reads a file that was just written, so reads the system's cache. Always on one thread. */
static double load_seconds(const bench_work *w) {
    static const char *file = "build/bench_cube.raw";
    size_t bytes = (size_t)w->cube.samples * (size_t)w->cube.lines * (size_t)w->cube.bands * sizeof(int16_t);
    void *pixels = calloc(1, bytes);
    double start;
    FILE *f;
    if (!pixels) bench_ok(SHS_NO_MEMORY);
    memset(pixels, 1, bytes);
    write_scene(w, file);
    start = bench_now(w);
    f = fopen(file, "rb");
    if (!f || fread(pixels, 1, bytes, f) != bytes) bench_ok(SHS_READ_FAILED);
    fclose(f);
    start = bench_now(w) - start;
    remove(file);
    free(pixels);
    return start;
}

/* Computes moments, then principal components from the moments, by separate calls. */
static void fit_stages(const bench_work *w, const shs_context *ctx, double *seconds, shs_pca *pca) {
    shs_pca_options o = SHS_ZERO;
    shs_moments moments;
    double start = bench_now(w);
    bench_ok(shs_moments_create(ctx, w->c->bands, &moments));
    bench_ok(shs_moments_update(ctx, &w->cube, 0, &moments));
    seconds[MOMENTS] = bench_now(w) - start;
    o.components = w->c->components;
    start = bench_now(w);
    bench_ok(shs_pca_from_moments(ctx, &moments, &o, pca));
    seconds[EIGEN] = bench_now(w) - start;
    shs_moments_free(ctx, &moments);
}

static void pca_stages(bench_work *w, double *seconds) {
    phase_clock clock;
    shs_context ctx = bench_context(w);
    shs_pca_options o = SHS_ZERO;
    shs_pca pca = SHS_ZERO;
    double start;
    fit_stages(w, &ctx, seconds, &pca);
    ctx = watched(w, &clock);
    bench_ok(shs_pca_transform(&ctx, &pca, &w->cube, &w->sink));
    seconds[RANGE] = clock.spent[PHASE_RANGE];
    seconds[TRANSFORM] = clock.remains + lap(&clock);
    shs_pca_free(&ctx, &pca);
    o.components = w->c->components;
    ctx = bench_context(w);
    start = bench_now(w);
    bench_ok(shs_pca_run(&ctx, &w->cube, &o, &w->sink, NULL));
    seconds[WHOLE] = bench_now(w) - start;
}

static void ica_stages(bench_work *w, double *seconds) {
    phase_clock clock;
    shs_context ctx = bench_context(w);
    shs_ica_options o = bench_ica_options(w->c);
    shs_pca pca = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    double start, fit, rest;
    fit_stages(w, &ctx, seconds, &pca);
    shs_pca_free(&ctx, &pca);
    ctx = watched(w, &clock);
    start = clock.last;
    bench_ok(shs_ica_fit(&ctx, &w->cube, &o, &ica));
    rest = lap(&clock);
    fit = clock.last - start;
    shs_ica_free(&ctx, &ica);
    seconds[MOMENTS] = clock.spent[PHASE_MOMENTS];
    seconds[WHITENING] = clock.spent[PHASE_WHITENING] - seconds[EIGEN];
    seconds[ITERATION] = clock.spent[PHASE_SEPARATING];
    seconds[RATING] = rest;
    ctx = bench_context(w);
    start = bench_now(w);
    bench_ok(shs_ica_run(&ctx, &w->cube, &o, &w->sink, NULL));
    seconds[WHOLE] = bench_now(w) - start;
    seconds[TRANSFORM] = seconds[WHOLE] - fit;
}

/* ---- the tables --------------------------------------------------------------------------------------------------- */

typedef struct analysis {
    const char *name, *title;
    open_fn open;
    void (*measure)(bench_work *w, double *seconds);
    bench_case c;
} analysis;

static const analysis analyses[] = {
    {"stages_pca10", "PCA to 10 components", open_pca, pca_stages, {.bands = BANDS_A, .components = 10}},
    {"stages_pca205_bytes", "PCA, all 205 components to 0-255", open_pca, pca_stages, {.bands = BANDS_A, .to_bytes = 1}},
    {"stages_ica10_pow3", "FastICA y^3, deflation, 10 components", open_ica, ica_stages, {.bands = BANDS_A, .components = 10}},
    {"stages_ica10_tanh",
     "FastICA tanh, symmetric, 10 components, 20 iterations",
     open_ica,
     ica_stages,
     {.bands = BANDS_A, .components = 10, .contrast = SHS_CONTRAST_TANH}},
};

/* seconds: on one thread [0] and on several [1]; enough: what a stage should scale by. */
static void report(const analysis *a, double seconds[2][STAGES], int threads, double enough, FILE *csv) {
    int k;
    printf("\n%s, 512 x 614 x 205 int16, seconds\n    %-28s %10s", a->title, "stage", "1 thread");
    if (threads > 1) printf(" %10s %8s", THREADS_TEXT " threads", "scaling");
    printf("\n");
    for (k = 0; k < STAGES; k++) {
        double one = seconds[0][k], many = seconds[1][k];
        if (one <= 0) continue;
        printf("    %-28s %10.4f", stage_names[k], one);
        if (csv) fprintf(csv, "%s,\"%s\",%.6g,", a->name, stage_names[k], one);
        if (many > 0) printf(" %10.4f", many);
        if (many > 0 && k != LOAD) printf(" %8.2f", one / many);
        if (many > 0 && k != LOAD && one / many < enough) printf("  (below %.3g)", enough);
        if (csv && many > 0) fprintf(csv, "%.6g,%.3g\n", many, one / many);
        else if (csv) fprintf(csv, ",\n");
        printf("\n");
    }
}

/* A stage should reach 0.9 of what the bare machine does in the same runs; of two threads 1.8. */
static void measure(const analysis *a, int runs, int threads, double enough_cores, FILE *csv) {
    double run[2][MOST_RUNS][STAGES], middle[2][STAGES], column[MOST_RUNS], cores[MOST_RUNS] = {0};
    bench_work w = SHS_ZERO;
    const int counts[2] = {1, threads}, sides = 1 + (threads > 1);
    double gain = 2; /* of the bare machine by all threads */
    int t, k, r, spare = SPARE_TURNS;
    memset(run, 0, sizeof run);
    w.c = &a->c;
    w.wall = threads > 1;
    w.threads = threads;
    (void)a->open(&w);
    (void)w.once(&w);
    for (r = 0; r < runs; r++) {
        double before = 0;
        if (sides > 1) before = bench_all_cores();
        for (t = 0; t < sides; t++) {
            w.threads = counts[t];
            run[t][r][LOAD] = load_seconds(&w);
            a->measure(&w, run[t][r]);
        }
        if (sides == 1) continue;
        cores[r] = bench_all_cores();
        if (cores[r] > before) cores[r] = before;
        if (cores[r] < enough_cores && spare-- > 0) r--;
    }
    for (t = 0; t < 2; t++)
        for (k = 0; k < STAGES; k++) {
            for (r = 0; r < runs; r++) column[r] = run[t][r][k];
            middle[t][k] = bench_median(column, runs);
        }
    if (THREADS != 2) gain = bench_median(cores, runs);
    report(a, middle, threads, 0.9 * gain, csv);
    for (k = 0; k < 6; k++) free(w.held[k]);
}

void bench_stages(int (*wanted)(const char *name), int runs, int threads, const bench_peaks *peaks) {
    FILE *csv = NULL;
    size_t k;
    if (runs > MOST_RUNS) runs = MOST_RUNS;
    for (k = 0; k < sizeof analyses / sizeof analyses[0]; k++) {
        if (!wanted(analyses[k].name)) continue;
        if (!csv) csv = fopen("build/bench_stages.csv", "w");
        if (csv && ftell(csv) == 0) fprintf(csv, "analysis,stage,seconds_1,seconds_" THREADS_TEXT ",scaling\n");
        measure(analyses + k, runs, threads, bench_enough_cores(peaks), csv);
    }
    if (csv) fclose(csv);
}
