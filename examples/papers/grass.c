/* grass.c - the tables and figures of Du, Parsons, Fuentes, Shaw, Dongarra on the principal components of GRASS GIS on
   multi-core processors and GPUs: i.pca on a cube of 512 x 512 x 224 doubles, band by band.

       table1          Table 1: ones stored in three orders of loops
       tables34        Tables 3 and 4: occupancy of two SYRK kernels
       figure13        Fig. 13: double SYRK over n
       table5          Table 5 (the first of two of that number): seconds of each stage
       figure14        Fig. 14: the first component, equal in all versions
       figure15        Fig. 15: where the time goes, on the CPU; figure15_device: on the device
       figure16        Fig. 16: the whole program

   `make papers PAPER=grass` runs it; --help lists the options. */
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#ifndef SPARSEHS_DOUBLE
#define SPARSEHS_DOUBLE /* as in the paper */
#endif
#include "vendors.h"

enum { BANDS = SCENE_BANDS };

/* 512, as in the paper, unless the run is quick. */
static int side(void) { return sized(128, 512, 512); }
static size_t pixels_of(void) { return (size_t)side() * (size_t)side(); }

/* ---- Table 1 ------------------------------------------------------------------------------------------------------- */

/* Three loops, each with its count and its stride; the compiler does not know which is the shortest. */
typedef struct order {
    volatile size_t count[3], stride[3]; /* outermost first */
    double *values;
} order;

static void store_once(void *argument) {
    order *o = (order *)argument;
    size_t c0 = o->count[0], c1 = o->count[1], c2 = o->count[2], s0 = o->stride[0], s1 = o->stride[1], s2 = o->stride[2], i, j,
           k;
    for (i = 0; i < c0; i++)
        for (j = 0; j < c1; j++)
            for (k = 0; k < c2; k++) o->values[i * s0 + j * s1 + k * s2] = 1;
}

static void table1(void) {
    static const char *const names[] = {"band; line; sample (as in memory)", "line; band; sample", "line; sample; band"};
    static const char *const paper[] = {".452", "1.109554", "6.179042"};
    static const int loops[3][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
    size_t n = (size_t)side(), count[3], stride[3];
    order o;
    int k, i;
    if (!item_begin("table1", "table", "Table 1: ones stored into a cube in three orders of loops")) return;
    count[0] = BANDS;
    count[1] = count[2] = n;
    stride[0] = n * n;
    stride[1] = n;
    stride[2] = 1;
    o.values = ALLOCATE(double, BANDS *n *n);
    put_line("unit", "seconds");
    rows_begin(NULL);
    for (k = 0; k < 3; k++) {
        step_of(k, 3, names[k]);
        for (i = 0; i < 3; i++) {
            o.count[i] = count[loops[k][i]];
            o.stride[i] = stride[loops[k][i]];
        }
        row(names[k], paper[k], median_seconds(store_once, &o), NOT_RUN, NOT_RUN,
            "serial by nature: all threads and device not run");
    }
    rows_end();
    remark("Outermost loop first; our copy does not say which loops the paper's second and third orders are, so these are two "
           "that fit. "
           "%d x %d x %d doubles (paper: 224 x 512 x 512); strides are known at run time only, so that no compiler swaps the "
           "loops.",
           BANDS, (int)n, (int)n);
    item_end();
    free(o.values);
}

static void tables34(void) {
    if (!item_begin("tables34", "table", "Tables 3 and 4: occupancy of two SYRK kernels on a GTX 470, n 128, k 10240")) return;
    put_line("unit", "active threads of 1536");
    rows_begin(NULL);
    row("Volkov's tile: grid 2x8; block 16x4; 8 blocks", ".333", NOT_RUN, NOT_RUN, NOT_RUN,
        "registers 32768 of 32768; local memory 20480 of 49152; not run: see below");
    row("square split: grid 4x4; block 32x32; 1 block", ".667", NOT_RUN, NOT_RUN, NOT_RUN,
        "registers 24576; local memory 17408 (32 x 33 skewed arrays); not run: see below");
    rows_end();
    remark("Occupancy is the paper's: OpenCL tells neither registers nor active groups. The square split and tiles in "
           "registers run in "
           "Fig. 13 on this machine's device. The paper cites its Figure 14 where it explains skewed arrays; that figure shows "
           "something "
           "else.");
    item_end();
}

/* ---- Fig. 13 ------------------------------------------------------------------------------------------------------- */

static void textbook_once(void *argument) {
    product *w = (product *)argument;
    check(shs_syrk_naive(SHS_UPLO_LOWER, SHS_TRANS_NO, w->rows, w->k, 1, w->A, w->rows, 0, w->C, w->rows), "SYRK");
}

/* The device kernels for covariances; each way gets an engine with other options. */
enum { WAYS = 3 };
static const char *const way_names[WAYS] = {"tiles", "split", "units"};
static const char *const way_words[WAYS] = {"tiles in registers", "square split", "double matrix units"};

/* The vendors' products on the device. */
enum { VENDORS = 2 };
static const char *const vendor_files[VENDORS] = {"clblast", "cublas"};
static const char *const vendor_names[VENDORS] = {"CLBlast", "cuBLAS"};
static const char *const vendor_words[VENDORS] = {"CLBlast's SYRK, resident, with the launch",
                                                  "cuBLAS's full product, resident, with the launch; counted as SYRK"};

#ifdef EXAMPLE_OPENCL
static shs_cl *way_devices[WAYS];

static void open_ways(void) {
    static const shs_cl_syrk ways[WAYS] = {SHS_CL_SYRK_TILES, SHS_CL_SYRK_SPLIT, SHS_CL_SYRK_UNITS};
    int way;
    for (way = 0; way < WAYS && run.has_device; way++) {
        shs_cl_options o = SHS_ZERO;
        o.index = device_place;
        o.profile = 1;
        o.syrk = ways[way];
        if (shs_cl_create(NULL, &o, &way_devices[way]) != SHS_OK) way_devices[way] = NULL;
    }
}

static void close_ways(void) {
    int way;
    for (way = 0; way < WAYS; way++) shs_cl_destroy(way_devices[way]);
}

/* Seconds of the kernels of one product by the device's own clock; NOT_RUN where it cannot do it so. */
static double way_seconds(int way, product w) {
    static shs_cl_stage stages[64]; /* too large for a small stack */
    shs_context ctx = SHS_ZERO;
    double sum = 0;
    int count = 0, i, k, runs = 5;
    ctx.engine = shs_cl_engine(way_devices[way]);
    for (i = 0; i <= runs && ctx.engine; i++) {
        if (shs_syrk(&ctx, SHS_UPLO_LOWER, SHS_TRANS_NO, w.rows, w.k, 1, w.A, w.rows, 0, w.C, w.rows) != SHS_OK) return NOT_RUN;
        check(shs_cl_stage_times(way_devices[way], stages, 64, &count, 1), "the device's times");
        for (k = 0; k < count && k < 64 && i > 0; k++)
            if (!strcmp(stages[k].name, "syrk")) sum += (double)stages[k].seconds; /* the first run builds the program */
    }
    if (sum > 0) return sum / runs;
    return NOT_RUN;
}
#else
static void open_ways(void) {}
static void close_ways(void) {}
static double way_seconds(int way, product w) {
    (void)way;
    (void)w;
    return NOT_RUN;
}
#endif

static void figure13(void) {
    static const int sizes[] = {32, 64, 96, 128, 192, 224, 256, 384, 512}, few[9] = {32, 128, 224, 512};
    static const char missing[] = "not here, or not for this device", no_openblas[] = "OpenBLAS: not installed";
    int count = sized(4, 9, 9), i, have_openblas, k = sized(2560, 10240, 10240);
    FILE *ours, *whole, *blas, *textbook, *by_way[WAYS], *by_vendor[VENDORS];
    shs_random r;
    product w;
    size_t j;
    double peak_share = 0;
    int way, made[WAYS] = {0, 0, 0}, vendor, had[VENDORS] = {0, 0};
    shs_real *A;
    if (!item_begin("figure13", "figure", "Fig. 13: symmetric rank-k update (SYRK) in double over n")) return;
    open_ways();
    memset(&w, 0, sizeof w);
    w.k = k;
    w.B = w.A = A = ALLOCATE(shs_real, 512 * (size_t)k);
    w.C = ALLOCATE(shs_real, 512 * 512);
    shs_random_seed(&r, 3);
    for (j = 0; j < 512 * (size_t)k; j++) A[j] = (shs_real)shs_random_uniform(&r) - (shs_real)0.5;
    have_openblas = find_openblas();
    put_line("x", "n");
    put_line("y", "GFLOP/s, counted as n (n + 1) k");
    put_line("log", "y");
    rows_begin("openblas");
    blas = item_rows;
    for (way = 0; way < WAYS; way++) {
        rows_begin(way_names[way]);
        by_way[way] = item_rows;
    }
    for (vendor = 0; vendor < VENDORS; vendor++) {
        rows_begin(vendor_files[vendor]);
        by_vendor[vendor] = item_rows;
    }
    rows_begin("shs_gemm");
    whole = item_rows;
    rows_begin("textbook");
    textbook = item_rows;
    rows_begin("shs_syrk");
    ours = item_rows;
    for (i = 0; i < count; i++) {
        const int n = sized(few[i], sizes[i], sizes[i]);
        double work = 1e-9 * n * (n + 1.0) * k, one, all, there;
        char *setting = text_of("%d", n);
        w.rows = w.columns = n;
        step_of(i, count, text_of("SYRK, n %d", n));
        item_rows = ours;
        w.ctx = &run.one;
        one = work / median_seconds(syrk_once, &w);
        w.ctx = &run.all;
        all = work / median_seconds(syrk_once, &w);
        w.ctx = &run.on_device;
        if (run.has_device) there = work / median_seconds(syrk_once, &w);
        else there = NOT_RUN;
        row(setting, NULL, one, all, there,
            first_note(i, "paper: the curves are not in our copy; device: with the transfer of A, and of the result"));
        item_rows = whole;
        w.ctx = &run.all;
        all = work / median_seconds(gemm_once, &w);
        w.ctx = &run.on_device;
        if (run.has_device) there = work / median_seconds(gemm_once, &w);
        else there = NOT_RUN;
        row(setting, NULL, NOT_RUN, all, there, "shs_gemm: the full product; counted as SYRK; one thread not run");
        for (way = 0; way < WAYS; way++) {
            item_rows = by_way[way];
            there = way_seconds(way, w);
            made[way] |= there > 0;
            row(setting, NULL, NOT_RUN, NOT_RUN, ratio(work, there),
                unless_run(there, text_of("%s: this device does not do it so", way_words[way]),
                           text_of("%s; kernels alone by the device's own clock", way_words[way])));
        }
        for (vendor = 0; vendor < VENDORS; vendor++) {
            item_rows = by_vendor[vendor];
            w.symmetric = vendor == 0; /* cuBLAS makes the full product faster than half of it */
            if (vendor) there = cublas_seconds(&w);
            else there = clblast_seconds(&w);
            w.symmetric = 0;
            had[vendor] |= there > 0;
            row(setting, NULL, NOT_RUN, NOT_RUN, ratio(work, there),
                unless_run(there, text_of("%s: not here, or not for this device", vendor_names[vendor]), vendor_words[vendor]));
        }
        if (run.peak[1] > 0) peak_share = 100e9 * one / run.peak[1];
        else peak_share = 0;
        item_rows = blas;
        w.symmetric = 1;
        if (have_openblas) {
            openblas.threads(1);
            one = work / median_seconds(openblas_once, &w);
            openblas.threads(run.threads);
            all = work / median_seconds(openblas_once, &w);
            row(setting, NULL, one, all, NOT_RUN, "not for a device");
        } else row(setting, NULL, NOT_RUN, NOT_RUN, NOT_RUN, no_openblas);
        w.symmetric = 0;
        item_rows = textbook;
        w.k = sized(512, 1024, k);
        row(setting, NULL, work * w.k / k / median_seconds(textbook_once, &w), NOT_RUN, NOT_RUN,
            text_of("shs_syrk_naive, k %d; one thread only", w.k));
        w.k = k;
    }
    close_written(ours, item_name);
    close_written(whole, item_name);
    close_written(blas, item_name);
    close_written(textbook, item_name);
    for (way = 0; way < WAYS; way++) close_written(by_way[way], item_name);
    for (vendor = 0; vendor < VENDORS; vendor++) close_written(by_vendor[vendor], item_name);
    close_ways();
    curve("shs_syrk", 3, "shs_syrk, one thread");
    curve("shs_syrk", 4, "shs_syrk, all threads");
    curve("shs_syrk", 5, "shs_syrk, device, with transfers");
    for (way = 0; way < WAYS; way++)
        if (made[way]) curve(way_names[way], 5, text_of("%s, device, kernels alone", way_words[way]));
    for (vendor = 0; vendor < VENDORS; vendor++)
        if (had[vendor]) curve(vendor_files[vendor], 5, text_of("%s, device, resident", vendor_names[vendor]));
    if (have_openblas) {
        curve("openblas", 3, "OpenBLAS, one thread");
        curve("openblas", 4, "OpenBLAS, all threads");
    }
    curve("textbook", 3, "textbook, one thread");
    remark("Paper: CUBLAS, Volkov's kernel and its own square split on a GTX 470 (149 GFLOP/s at most), k 10240; the curves "
           "are not in our "
           "copy. By its text Volkov's is 20 GFLOP/s below CUBLAS at small n and best at large n, and square split about twice "
           "Volkov's "
           "at small n and some 20 %% over CUBLAS.");
    remark("Here k %d; shs_syrk at n 512 on one thread reaches %.0f %% of the core's measured peak in double. cuBLAS: %s; "
           "CLBlast: %s. %s.",
           k, peak_share, unless_run(had[1], missing, "the full product, resident"),
           unless_run(had[0], missing, "SYRK, resident"), unless_run(have_openblas, no_openblas, openblas_kernels()));
    item_end();
    free(A);
    free(w.C);
}

/* ---- the stages ---------------------------------------------------------------------------------------------------- */

/* A scene, and what each stage hands to the next. */
typedef struct analysis {
    const shs_context *ctx;
    double *pixels;
    unsigned char *bytes; /* all components from 0 to 255 */
    double *unscaled;     /* all components as they are; made when they are asked for */
    shs_cube cube;
    shs_sink sink;
    shs_pca pca;
    shs_wide *mean, *covariance, *values, *vectors;
    shs_real *ones; /* one for each pixel, of which the mean is a product */
} analysis;

static analysis open_analysis(int lines, int samples) {
    analysis a;
    size_t pixels = (size_t)lines * (size_t)samples, count = pixels * BANDS, i;
    memset(&a, 0, sizeof a);
    a.pixels = ALLOCATE(double, count);
    a.bytes = ALLOCATE(unsigned char, count);
    scene_fill(a.pixels, SHS_TYPE_F64, lines, samples);
    a.cube.pixels = a.pixels;
    a.cube.type = SHS_TYPE_F64;
    a.cube.interleave = SHS_INTERLEAVE_BSQ;
    a.cube.lines = lines;
    a.cube.samples = samples;
    a.cube.bands = BANDS;
    a.sink.pixels = a.bytes;
    a.sink.type = SHS_TYPE_U8;
    a.sink.interleave = SHS_INTERLEAVE_BSQ;
    a.sink.rescale = 1;
    a.sink.high = 255;
    a.mean = ALLOCATE(shs_wide, BANDS);
    a.covariance = ALLOCATE(shs_wide, BANDS * BANDS);
    a.values = ALLOCATE(shs_wide, BANDS);
    a.vectors = ALLOCATE(shs_wide, BANDS * BANDS);
    a.ones = ALLOCATE(shs_real, pixels);
    for (i = 0; i < pixels; i++) a.ones[i] = 1;
    check(shs_pca_fit(NULL, &a.cube, NULL, &a.pca), "components");
    return a;
}

static void close_analysis(analysis *a) {
    free(a->pixels);
    free(a->bytes);
    free(a->unscaled);
    free(a->ones);
    free(a->mean);
    free(a->covariance);
    free(a->values);
    free(a->vectors);
    shs_pca_free(NULL, &a->pca);
}

/* Computes the mean by itself, as i.pca does: a product with ones, divided by n. */
static void mean_once(void *argument) {
    analysis *a = (analysis *)argument;
    int m = (int)(a->cube.lines * a->cube.samples);
    check(shs_gemv(SHS_TRANS_YES, m, BANDS, (shs_real)1 / m, a->pixels, m, a->ones, 1, 0, a->mean, 1), "means");
}

static void covariance_once(void *argument) {
    analysis *a = (analysis *)argument;
    shs_moments moments;
    check(shs_moments_create(a->ctx, BANDS, &moments), "moments");
    check(shs_moments_update(a->ctx, &a->cube, SHS_PRECISION_AUTO, &moments), "moments");
    check(shs_moments_finish(&moments, SHS_DIVISOR_N_LESS_1, a->mean, a->covariance, BANDS), "covariance");
    shs_moments_free(a->ctx, &moments);
}

static void eigen_once(void *argument) {
    analysis *a = (analysis *)argument;
    check(shs_eigh(a->ctx, BANDS, a->covariance, BANDS, BANDS, a->values, a->vectors, BANDS), "eigenvectors");
}

static void projection_once(void *argument) {
    analysis *a = (analysis *)argument;
    shs_sink sink = SHS_ZERO;
    if (!a->unscaled) a->unscaled = ALLOCATE(double, (size_t)(a->cube.lines * a->cube.samples) * BANDS);
    sink.pixels = a->unscaled;
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BSQ;
    check(shs_pca_transform(a->ctx, &a->pca, &a->cube, &sink), "projection");
}

static void scaled_once(void *argument) {
    analysis *a = (analysis *)argument;
    check(shs_pca_transform(a->ctx, &a->pca, &a->cube, &a->sink), "projection and scaling");
}

static void whole_once(void *argument) {
    analysis *a = (analysis *)argument;
    check(shs_pca_run(a->ctx, &a->cube, NULL, &a->sink, NULL), "components");
}

typedef enum stage { MEAN, COVARIANCE, EIGENPROBLEM, PROJECTION, SCALED, WHOLE, STAGES } stage;
static const char *const stage_names[STAGES] = {"mean", "covariance", "eigenproblem", "projection", "projection and scaling",
                                                "whole"};
static const work_fn stage_work[STAGES] = {mean_once, covariance_once, eigen_once, projection_once, scaled_once, whole_once};
/* Multiplications and additions, projection twice where it rescales. */
static double stage_operations(stage k) {
    double m = (double)pixels_of();
    switch (k) {
    case MEAN: return 2 * m * BANDS;
    case COVARIANCE: return m * BANDS * (BANDS + 1.0);
    case PROJECTION: return 2.0 * m * BANDS * BANDS;
    case SCALED: return 4.0 * m * BANDS * BANDS;
    default: return 0;
    }
}

/* Seconds of all stages on one thread, all threads and the device: measured once, kept for three items. */
static double stage_seconds[STAGES][3];
static double transfer_seconds[STAGES] = {NOT_RUN, NOT_RUN, NOT_RUN, NOT_RUN, NOT_RUN, NOT_RUN}; /* of the device's */

/* Returns the time of the transfers in one run of a stage, by the clock of the device. */
static double transfers(work_fn work, analysis *a) {
    double sum = NOT_RUN;
#ifdef EXAMPLE_OPENCL
    static shs_cl_stage stages[64]; /* too large for a small stack */
    int count = 0, k;
    check(shs_cl_stage_times(example_device, stages, 64, &count, 1), "the device's times");
    work(a);
    check(shs_cl_stage_times(example_device, stages, 64, &count, 1), "the device's times");
    sum = 0;
    for (k = 0; k < count && k < 64; k++)
        if (!strcmp(stages[k].name, "upload") || !strcmp(stages[k].name, "download")) sum += (double)stages[k].seconds;
#else
    (void)work;
    (void)a;
#endif
    return sum;
}

static void measure_stages(void) {
    static int done = 0;
    analysis a;
    const shs_context *where[3];
    int k, w;
    if (done) return;
    done = 1;
    where[0] = &run.one;
    where[1] = &run.all;
    where[2] = &run.on_device;
    a = open_analysis(side(), side());
    for (k = 0; k < STAGES; k++)
        for (w = 0; w < 3; w++) {
            step_of(3 * k + w, 3 * STAGES, text_of("i.pca's stages: %s", stage_names[k]));
            stage_seconds[k][w] = NOT_RUN;
            a.ctx = where[w];
            if (k == MEAN && w > 0) continue; /* shs_gemv takes no context */
            if (w == 2 && (!run.has_device || k == EIGENPROBLEM)) continue;
            stage_seconds[k][w] = median_seconds(stage_work[k], &a);
            if (w == 2) transfer_seconds[k] = transfers(stage_work[k], &a);
        }
    close_analysis(&a);
}

static void stage_row(const char *setting, const char *paper, stage k, int device, const char *note) {
    const double *t = stage_seconds[k];
    double work = stage_operations(k);
    if (device) {
        row(setting, paper, NOT_RUN, NOT_RUN, t[2], note);
        return;
    }
    if (work > 0) note = text_of("%s; one thread: %s", note, share_of_peak(work, t[0], 1));
    row(setting, paper, t[0], t[1], NOT_RUN, note);
}

/* The serial baseline of a stage. */
static void plain_row(const char *what, stage k) {
    double plain = serial_seconds("O2", stage_names[k]);
    row(text_of("%s; plain C at -O2", what), "", plain, NOT_RUN, NOT_RUN,
        unless_run(plain, "not run: no serial build",
                   text_of("SPARSEHS_NO_SIMD; %s", share_of_peak(stage_operations(k), plain, 1))));
}

/* Seconds of GRASS's own i.pca on the same scene, from its maps to its maps: measured once, kept for two items. */
static double ipca_seconds(void) {
    static double seconds = 0;
    char *scene = out_name("grass_scene", ".f64"), *answer = out_name("grass_ipca", ".txt");
    FILE *file;
    analysis a;
    if (seconds != 0) return seconds;
    seconds = NOT_RUN;
    if (!program_is_there("grass")) return seconds;
    if (!is_there(answer)) {
        step_of(0, 1, "GRASS i.pca on the same scene");
        a = open_analysis(side(), side());
        file = open_for_writing(scene);
        if (fwrite(a.pixels, sizeof(double), pixels_of() * BANDS, file) != pixels_of() * BANDS)
            fail(EXIT_ERROR, "%s: cannot write it: %s", scene, strerror(errno));
        close_written(file, scene);
        close_analysis(&a);
        if (system(text_of("sh examples/papers/ipca.sh '%s' %d %d '%s'", scene, BANDS, side(), answer)) != 0) remove(answer);
        remove(scene);
    }
    file = fopen(answer, "r");
    if (file && fscanf(file, "%lf", &seconds) != 1) seconds = NOT_RUN;
    if (file) fclose(file);
    return seconds;
}

static void ipca_row(const char *setting) {
    const char *note = "GRASS, rescale=0,255; one thread; reads its maps and writes its maps, ours does not";
    double seconds = ipca_seconds();
    if (seconds <= 0 && program_is_there("grass")) note = "GRASS is here, but its i.pca did not run";
    else if (seconds <= 0) note = "GRASS i.pca: not installed; make papers-deps installs it";
    row(setting, "", seconds, NOT_RUN, NOT_RUN, note);
}

/* The textbook twins on fewer pixels, and ours on the same. */
typedef struct twin {
    ptrdiff_t m;
    double *X;
    analysis a;
} twin;

static void twin_once(void *argument) {
    twin *t = (twin *)argument;
    shs_moments_naive(BANDS, t->m, t->X, t->a.mean, t->a.covariance);
}

static void table5(void) {
    twin t;
    double textbook, one, m;
    int few = sized(32, 64, 128), b;
    ptrdiff_t i;
    const char *grass = "i.pca tells no times of its stages; the whole of it is below";
    if (!item_begin("table5", "table", "Table 5 (the paper has two of that number): seconds of each stage")) return;
    measure_stages();
    put_line("unit", "seconds; in the row of a speed-up: times");
    rows_begin(NULL);
    row("mean; original i.pca", "1.719453", NOT_RUN, NOT_RUN, NOT_RUN, grass);
    stage_row("mean; CPU version", "1.675", MEAN, 0,
              "shs_gemv with ones, one thread; our components take it in the covariance's pass");
    row("mean; hybrid", ".120235", NOT_RUN, NOT_RUN, NOT_RUN, "not by itself: ours takes means in the covariance's pass");
    plain_row("mean", MEAN);
    row("centring and covariance; original i.pca", "277.9111", NOT_RUN, NOT_RUN, NOT_RUN, grass);
    stage_row("centring and covariance; CPU version", "2.562", COVARIANCE, 0, "ours with the means");
    stage_row("centring and covariance; hybrid", ".173531", COVARIANCE, 1, "ours with the means and the transfer");
    plain_row("centring and covariance", COVARIANCE);
    stage_row("eigenproblem; CPU version", "", EIGENPROBLEM, 0,
              "not in the paper's table; one thread whatever is asked for; on the CPU in every version");
    row("projection and scaling; original i.pca", "842.036", NOT_RUN, NOT_RUN, NOT_RUN, grass);
    stage_row("projection and scaling; CPU version", "6.940708", SCALED, 0, "all 224 components to bytes; projected twice");
    stage_row("projection and scaling; hybrid", ".429601", SCALED, 1, "likewise; with the transfers");
    stage_row("projection alone; CPU version", "", PROJECTION, 0, "to doubles; not in the paper's table");
    stage_row("projection alone; hybrid", "", PROJECTION, 1, "likewise; doubles come back, eight times the bytes");
    plain_row("projection and scaling", SCALED);
    row("transfer; within centring and covariance", "", NOT_RUN, NOT_RUN, transfer_seconds[COVARIANCE],
        "by the device's own clock");
    row("transfer; within projection and scaling", "", NOT_RUN, NOT_RUN, transfer_seconds[SCALED], "likewise");
    row("the whole", "", stage_seconds[WHOLE][0], stage_seconds[WHOLE][1], stage_seconds[WHOLE][2],
        "shs_pca_run, from memory to memory");
    ipca_row("the whole; original i.pca of today");
    t.a = open_analysis(few, few);
    t.m = (ptrdiff_t)few * few;
    t.X = ALLOCATE(double, (size_t)t.m *BANDS);
    for (b = 0; b < BANDS; b++)
        for (i = 0; i < t.m; i++) t.X[i * BANDS + b] = t.a.pixels[b * t.m + i];
    textbook = median_seconds(twin_once, &t);
    t.a.ctx = &run.one;
    one = median_seconds(covariance_once, &t.a);
    m = (double)t.m * BANDS * (BANDS + 1);
    row(text_of("covariance of %d pixels; textbook twin", (int)t.m), "", textbook, NOT_RUN, NOT_RUN,
        text_of("shs_moments_naive; %s", share_of_peak(m, textbook, 1)));
    row(text_of("covariance of %d pixels; ours", (int)t.m), "", one, NOT_RUN, NOT_RUN,
        "one thread beside one thread; the rest above");
    row("speed-up over the textbook twin", "", textbook / one, NOT_RUN, NOT_RUN,
        text_of("baseline: %s", share_of_peak(m, textbook, 1)));
    rows_end();
    remark("%d x %d x %d doubles, band by band (paper: 512 x 512 x 224); fit for timing, not for science: tiles of a small "
           "scene. Paper: Q6600, "
           "51.2 GFLOP/s, and GTX 470, 149 GFLOP/s in double.",
           side(), side(), BANDS);
    item_end();
    free(t.X);
    close_analysis(&t.a);
}

/* ---- Fig. 14 ------------------------------------------------------------------------------------------------------- */

enum { AIRPORT = 100, AIRPORT_BANDS = 205, COMPONENTS = 4 };

/* Pixels of a component that are i.pca's, as they are or from 255 downwards, since GRASS fixes no sign. */
static int equal_pixels(const unsigned char *ours, const unsigned char *theirs) {
    int same = 0, turned = 0, i;
    for (i = 0; i < AIRPORT * AIRPORT; i++) {
        same += ours[i] == theirs[i];
        turned += 255 - ours[i] == theirs[i];
    }
    if (same > turned) return same;
    return turned;
}

static void figure14(void) {
    static const char *const words[] = {"first", "second", "third", "fourth"};
    size_t pixels = AIRPORT * AIRPORT, count = pixels * AIRPORT_BANDS, i;
    unsigned char *raw, *out[3], *theirs;
    const shs_context *where[3];
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pca_options o = SHS_ZERO;
    picture a;
    FILE *file;
    int k, w;
    if (!item_begin("figure14", "table", "Fig. 14: the components, equal in all versions")) return;
    put_line("unit", "pixels of 10000 whose byte is that of GRASS i.pca 8.2.1 (rescale=0,255)");
    rows_begin(NULL);
    file = fopen(text_of("%s/data/cubes/airport_bip.img", run.shared), "rb");
    if (!file) {
        row("first component", "equal", NOT_RUN, NOT_RUN, NOT_RUN, text_of("not run: data/cubes is not below %s", run.shared));
        rows_end();
        item_end();
        return;
    }
    raw = ALLOCATE(unsigned char, 2 * count);
    theirs = ALLOCATE(unsigned char, pixels);
    if (fread(raw, 2, count, file) != count) fail(EXIT_ERROR, "airport_bip.img: it is too short");
    fclose(file);
    cube.pixels = raw;
    cube.type = SHS_TYPE_U16;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.samples = cube.lines = AIRPORT;
    cube.bands = AIRPORT_BANDS;
    { /* the file is little-endian */
        const uint16_t one = 1;
        cube.swap_bytes = *(const unsigned char *)&one == 0;
    }
    sink.type = SHS_TYPE_U8;
    sink.interleave = SHS_INTERLEAVE_BSQ;
    sink.rescale = 1;
    sink.high = 255;
    o.components = COMPONENTS;
    where[0] = &run.one;
    where[1] = &run.all;
    where[2] = &run.on_device;
    for (w = 0; w < 3; w++) {
        sink.pixels = out[w] = ALLOCATE(unsigned char, pixels *COMPONENTS);
        if (w == 2 && !run.has_device) continue;
        check(shs_pca_run(where[w], &cube, &o, &sink, NULL), "components");
    }
    for (k = 0; k < COMPONENTS; k++) {
        const char *paper = "", *setting = text_of("%s component", words[k]);
        double there = NOT_RUN;
        size_t at = (size_t)k * pixels;
        file = fopen(text_of("%s/golden/grass_airport_pc%d_100x100.u8", run.shared, k + 1), "rb");
        if (!file || fread(theirs, 1, pixels, file) != pixels) {
            row(setting, "", NOT_RUN, NOT_RUN, NOT_RUN, "not compared: golden/ is not there");
            if (file) fclose(file);
            continue;
        }
        fclose(file);
        if (k == 0) paper = "equal";
        if (run.has_device) there = equal_pixels(out[2] + at, theirs);
        row(setting, paper, equal_pixels(out[0] + at, theirs), equal_pixels(out[1] + at, theirs), there,
            "AVIRIS airport; 100 x 100 x 205");
    }
    rows_end();
    a = picture_create(AIRPORT, AIRPORT, 1);
    for (i = 0; i < pixels; i++) a.pixels[i] = out[1][i];
    picture_write(out_name(item_name, ".png"), &a);
    free(a.pixels);
    if (is_there(out_name(item_name, ".png"))) put_line("picture", "%s.png", item_name);
    else
        remark("The picture is %s.pgm: this program was built without stb_image_write, and browsers do not show that.",
               item_name);
    remark("The paper's pictures are of another scene; this is the real one that GRASS's own result is stored for.");
    item_end();
    free(raw);
    free(theirs);
    for (w = 0; w < 3; w++) free(out[w]);
}

/* ---- Figs. 15 and 16 ----------------------------------------------------------------------------------------------- */

static void figure15(void) {
    static const char *const names[] = {"mean and covariance", "eigenproblem", "projection and scaling"};
    static const stage which[] = {COVARIANCE, EIGENPROBLEM, SCALED};
    int k;
    double sum[2] = {0, 0};
    if (!item_begin("figure15", "bars", "Fig. 15: shares of the time, on the CPU")) return;
    measure_stages();
    for (k = 0; k < 3; k++) {
        sum[0] += stage_seconds[which[k]][0];
        sum[1] += stage_seconds[which[k]][1];
    }
    put_line("x", "stage");
    put_line("y", "%% of the time");
    rows_begin("cpu");
    for (k = 0; k < 3; k++)
        row(names[k], "", 100 * stage_seconds[which[k]][0] / sum[0], 100 * stage_seconds[which[k]][1] / sum[1], NOT_RUN,
            "device: by its kernels below");
    rows_end();
    curve("cpu", 3, "one thread");
    curve("cpu", 4, "all threads");
    remark("Ours takes the means in the covariance's pass and assembles no Z (no centred copy of the cube): pixels are "
           "converted and "
           "centred on their way into the product.");
    item_end();
}

/* By the device's own clock: its kernels and its transfers. */
static void figure15_device(void) {
    if (!item_begin("figure15_device", "bars", "Fig. 15 on the device: shares of its time")) return;
#ifdef EXAMPLE_OPENCL
    if (run.has_device) {
        analysis a = open_analysis(side(), side());
        shs_cl_stage *stages = ALLOCATE(shs_cl_stage, 64);
        double all = 0;
        int count = 0, k;
        a.ctx = &run.on_device;
        whole_once(&a);
        device_seconds();
        whole_once(&a);
        check(shs_cl_stage_times(example_device, stages, 64, &count, 1), "the device's times");
        put_line("x", "the device's kernels and transfers");
        put_line("y", "%% of the time");
        rows_begin("kernels");
        for (k = 0; k < count && k < 64; k++) all += (double)stages[k].seconds;
        for (k = 0; k < count && k < 64; k++)
            if (stages[k].seconds > 0)
                row(stages[k].name, "", NOT_RUN, NOT_RUN, 100 * (double)stages[k].seconds / all,
                    "by the device's own clock; the CPU is above");
        rows_end();
        curve("kernels", 5, "device");
        free(stages);
        close_analysis(&a);
    }
#endif
    if (!run.has_device) remark("Not run: %s.", run.no_device);
    remark("Paper: mean, covariance, projection, scaling, assembling Z, transfer and eigenproblem; assembling Z is largest; "
           "the shares are not in "
           "our copy. Here the eigenproblem is the CPU's and no Z is assembled.");
    item_end();
}

static void figure16(void) {
    double plain = serial_seconds("O2", "whole");
    if (!item_begin("figure16", "bars", "Fig. 16: the whole program, from pixels in memory to all 224 components as bytes"))
        return;
    measure_stages();
    put_line("x", "version");
    put_line("y", "seconds");
    put_line("log", "y");
    rows_begin("whole");
    row("plain C at -O2", "", plain, NOT_RUN, NOT_RUN,
        unless_run(plain, "not run: no serial build",
                   "SPARSEHS_NO_SIMD; for one thread; see Table 5 for its share of the peak"));
    row("this library", "", stage_seconds[WHOLE][0], stage_seconds[WHOLE][1], stage_seconds[WHOLE][2], NULL);
    ipca_row("GRASS i.pca");
    rows_end();
    curve("whole", 3, "one thread");
    curve("whole", 4, "all threads");
    curve("whole", 5, "device");
    remark("Paper: its CPU version takes 99 %% off the original's time, its GPU version a further 50 %%; the bars are not in "
           "our copy.");
    if (plain > 0)
        remark("Ours on one thread takes %.3g %% off the time of plain C at -O2.", 100 * (1 - stage_seconds[WHOLE][0] / plain));
    if (run.has_device)
        remark("The device takes %.3g times as long as all threads.", stage_seconds[WHOLE][2] / stage_seconds[WHOLE][1]);
    item_end();
}

int main(int argc, char **argv) {
    const char *grass = "GRASS is not installed here";
    papers_begin(argc, argv, "grass",
                 "The tables and figures of the paper on GRASS GIS's principal components with today's numbers.", 8);
    if (run.serial) {
        analysis a = open_analysis(side(), side());
        int k;
        a.ctx = &run.one;
        for (k = 0; k < STAGES; k++) serial_result(stage_names[k], median_seconds(stage_work[k], &a));
        close_analysis(&a);
        papers_end();
        return 0;
    }
    substituted(
        "Scene: %s, side by side with a gain and noise that change from pixel to pixel: fit for timing, not for science.",
        scene_words());
    substituted(
        "Q6600 and GTX 470: this machine and its OpenCL device, named above. CUBLAS, MAGMA and the authors' code: not here.");
    if (program_is_there("grass")) grass = "that of today's GRASS";
    substituted("The original i.pca: %s; its stored result on a real cube is compared in Fig. 14.", grass);
    table1();
    tables34();
    figure13();
    table5();
    figure14();
    figure15();
    figure15_device();
    figure16();
    papers_end();
    return 0;
}
