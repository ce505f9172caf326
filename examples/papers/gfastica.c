/* gfastica.c - the tables and figures of Fang, Zhou, Zhang, Shen on FastICA of hyperspectral images on a GPU, G-FastICA (2015,
   doi 10.11887/j.cn.201504011): AVIRIS cubes of 8-bit pixels, y^3, deflation, a fixed number of plain steps.

       table1          Table 1: the share of each stage in the serial program
       table2, table3  Tables 2 and 3, Fig. 3: local memory, registers, overlap off and on; sizes of a work-group
       table4, table5  Tables 4 and 5: sizes of the cube, numbers of iterations
       table6          Table 6: the serial program at -O0 to -O3
       table7          Table 7: threads against ranks of MPI
       figure4 .. 6    Figs. 4 to 6: the device over the serial program and over MPI, by stages and as a whole

   `make papers PAPER=gfastica` runs it; --help lists the options. With PAPERS_MPI and mpicc it is the program for Table 7. */
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#ifdef PAPERS_MPI
#include <mpi.h>
#endif
#include "papers.h"

enum { BANDS = SCENE_BANDS, COMPONENTS = 10 };

typedef enum stage { INPUT, COVARIANCE, EIGENPROBLEM, WHITENING, ITERATION, TRANSFORM, OUTPUT, WHOLE, STAGES } stage;
static const char *const stage_names[STAGES] = {"input",     "covariance", "eigenproblem", "whitening",
                                                "iteration", "transform",  "output",       "whole"};

/* A scene, and what each stage hands to the next. */
typedef struct analysis {
    const shs_context *ctx;
    unsigned char *bytes;
    float *white, *sources;
    size_t pixels;
    char *cube_file, *source_file;
    int iterations;
    shs_cube cube, white_cube;
    shs_sink white_sink, source_sink;
    shs_wide *mean, *covariance, *values, *vectors, *whitening;
    shs_ica ica;
} analysis;

static void write_all(const char *name, const void *data, size_t bytes) {
    FILE *file = open_for_writing(name);
    if (fwrite(data, 1, bytes, file) != bytes) fail(EXIT_ERROR, "%s: writing it failed", name);
    close_written(file, name);
}

static void input_once(void *argument) {
    analysis *a = (analysis *)argument;
    FILE *file = fopen(a->cube_file, "rb");
    if (!file || fread(a->bytes, 1, a->pixels * BANDS, file) != a->pixels * BANDS)
        fail(EXIT_ERROR, "%s: cannot read it", a->cube_file);
    fclose(file);
}

static void covariance_once(void *argument) {
    analysis *a = (analysis *)argument;
    shs_moments moments;
    check(shs_moments_create(a->ctx, BANDS, &moments), "moments");
    check(shs_moments_update(a->ctx, &a->cube, SHS_PRECISION_AUTO, &moments), "moments");
    check(shs_moments_reduce(a->ctx, &moments), "moments");
    check(shs_moments_finish(&moments, SHS_DIVISOR_N, a->mean, a->covariance, BANDS), "covariance");
    shs_moments_free(a->ctx, &moments);
}

static void eigen_once(void *argument) {
    analysis *a = (analysis *)argument;
    int k, b;
    check(shs_eigh(a->ctx, BANDS, a->covariance, BANDS, COMPONENTS, a->values, a->vectors, BANDS), "eigenvectors");
    for (k = 0; k < COMPONENTS; k++)
        for (b = 0; b < BANDS; b++) a->whitening[b * COMPONENTS + k] = a->vectors[k * BANDS + b] / sqrt(a->values[k]);
}

static void whitening_once(void *argument) {
    analysis *a = (analysis *)argument;
    shs_pixel_map map = SHS_ZERO;
    map.bands = BANDS;
    map.outputs = COMPONENTS;
    map.matrix = a->whitening;
    map.centre = a->mean;
    check(shs_cube_map(a->ctx, &a->cube, &map, SHS_PRECISION_AUTO, &a->white_sink), "whitening");
}

/* The options of the paper: y^3, deflation, plain steps, all iterations. */
static shs_ica_options paper_options(int iterations) {
    shs_ica_options o = SHS_ZERO;
    o.components = COMPONENTS;
    o.contrast = SHS_CONTRAST_POW3;
    o.approach = SHS_APPROACH_DEFLATION;
    o.route = SHS_ROUTE_SWEEP;
    o.iterations = iterations;
    o.tolerance = -1;
    o.plain_steps = 1;
    o.restarts = -1;
    return o;
}

static void iteration_once(void *argument) {
    analysis *a = (analysis *)argument;
    shs_ica_options o = paper_options(a->iterations);
    shs_ica_free(NULL, &a->ica);
    check(shs_ica_fit(a->ctx, &a->white_cube, &o, &a->ica), "the iteration");
}

static void transform_once(void *argument) {
    analysis *a = (analysis *)argument;
    check(shs_ica_transform(a->ctx, &a->ica, &a->white_cube, &a->source_sink), "the transform");
}

static void output_once(void *argument) {
    analysis *a = (analysis *)argument;
    write_all(a->source_file, a->sources, a->pixels * COMPONENTS * sizeof *a->sources);
}

/* From pixels in memory to sources in memory, by one call. */
static void whole_once(void *argument) {
    analysis *a = (analysis *)argument;
    shs_ica_options o = paper_options(a->iterations);
    check(shs_ica_run(a->ctx, &a->cube, &o, &a->source_sink, NULL), "FastICA");
}

/* The same by fourth moments: what the library does by itself. */
static void moments_once(void *argument) {
    analysis *a = (analysis *)argument;
    shs_ica_options o = paper_options(a->iterations);
    o.route = SHS_ROUTE_MOMENTS;
    check(shs_ica_run(a->ctx, &a->cube, &o, &a->source_sink, NULL), "FastICA");
}

static const work_fn stage_work[STAGES] = {input_once,     covariance_once, eigen_once,  whitening_once,
                                           iteration_once, transform_once,  output_once, whole_once};

static analysis open_analysis(int lines, int samples, int iterations) {
    analysis a;
    memset(&a, 0, sizeof a);
    a.pixels = (size_t)lines * (size_t)samples;
    a.iterations = iterations;
    a.bytes = ALLOCATE(unsigned char, a.pixels *BANDS);
    a.white = ALLOCATE(float, a.pixels *COMPONENTS);
    a.sources = ALLOCATE(float, a.pixels *COMPONENTS);
    scene_fill(a.bytes, SHS_TYPE_U8, lines, samples);
    a.cube.pixels = a.bytes;
    a.cube.type = SHS_TYPE_U8;
    a.cube.bands = BANDS;
    a.cube.lines = lines;
    a.cube.samples = samples;
    a.white_cube = a.cube;
    a.white_cube.pixels = a.white;
    a.white_cube.type = SHS_TYPE_F32;
    a.white_cube.bands = COMPONENTS;
    a.white_sink.pixels = a.white;
    a.white_sink.type = SHS_TYPE_F32;
    a.source_sink.pixels = a.sources;
    a.source_sink.type = SHS_TYPE_F32;
    a.mean = ALLOCATE(shs_wide, BANDS);
    a.values = ALLOCATE(shs_wide, BANDS);
    a.covariance = ALLOCATE(shs_wide, BANDS * BANDS);
    a.vectors = ALLOCATE(shs_wide, BANDS * BANDS);
    a.whitening = ALLOCATE(shs_wide, BANDS * COMPONENTS);
    return a;
}

static void close_analysis(analysis *a) {
    free(a->bytes);
    free(a->white);
    free(a->sources);
    free(a->mean);
    free(a->values);
    free(a->covariance);
    free(a->vectors);
    free(a->whitening);
    shs_ica_free(NULL, &a->ica);
}

static int lines_of(void) { return sized(128, 781, 781); }
static int samples_of(void) { return sized(128, 128, 6955); }
static int iterations_of(void) { return sized(5, 20, 20); }

/* Seconds of all stages where the context works. */
static void measure(analysis *a, const shs_context *ctx, double *seconds) {
    const char *build = "";
    int k;
    a->ctx = ctx;
    if (run.serial) build = run.serial;
    a->cube_file = text_of("%s/bin/gfastica%s.cube", run.out, build);
    a->source_file = text_of("%s/bin/gfastica%s.sources", run.out, build);
    write_all(a->cube_file, a->bytes, a->pixels * BANDS);
    for (k = 0; k < STAGES; k++) {
        tell(stage_names[k]);
        seconds[k] = median_seconds(stage_work[k], a);
    }
    remove(a->cube_file);
    remove(a->source_file);
}

/* One thread, all threads, the device: measured once for all items. */
static double stage_seconds[3][STAGES];

static void measure_stages(void) {
    static int done = 0;
    analysis a;
    int k;
    if (done) return;
    done = 1;
    a = open_analysis(lines_of(), samples_of(), iterations_of());
    measure(&a, &run.one, stage_seconds[0]);
    measure(&a, &run.all, stage_seconds[1]);
    if (run.has_device) measure(&a, &run.on_device, stage_seconds[2]);
    for (k = 0; k < STAGES; k++)
        if (!run.has_device || k == INPUT || k == EIGENPROBLEM || k == OUTPUT) stage_seconds[2][k] = NOT_RUN;
    close_analysis(&a);
}

/* Multiplications and additions as the paper's program needs them. */
static double stage_operations(int k) {
    double m = (double)lines_of() * samples_of(), c = COMPONENTS;
    if (k == COVARIANCE) return m * BANDS * (BANDS + 1);
    if (k == WHITENING) return 2 * m * BANDS * c;
    if (k == ITERATION) return m * c * iterations_of() * (4 * c + 3);
    if (k == TRANSFORM) return 2 * m * c * c;
    return 0;
}

static const char *baseline_share(int k, double seconds) {
    if (stage_operations(k) > 0 && seconds > 0) return share_of_peak(stage_operations(k), seconds, 0);
    return "no count of operations";
}

static double serial(const char *level, int k) { return serial_seconds(level, stage_names[k]); }
static double percent(double part, double whole) {
    if (part < 0) return NOT_RUN;
    return 100 * part / whole;
}
#define NO_SERIAL "not run: no serial build"
#define NO_MPI "not run: MPI is not installed"

static void scene_remark(void) {
    const char *larger = " (the paper's first cube: 781 x 6955 x 224)";
    if (run.scale == SCALE_FULL) larger = "";
    remark("%d x %d x %d pixels of 8 bits, %d components, %d iterations a component%s; fit for timing, not for science: tiles "
           "of a small scene.",
           lines_of(), samples_of(), BANDS, COMPONENTS, iterations_of(), larger);
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

static void table1(void) {
    double sum[3] = {0, 0, 0}, plain = 0;
    int k;
    if (!item_begin("table1", "table", "Table 1: the share of each stage in the serial program")) return;
    measure_stages();
    for (k = 0; k < WHOLE; k++) {
        sum[0] += stage_seconds[0][k];
        sum[1] += stage_seconds[1][k];
        plain += serial("O2", k);
    }
    put_line("unit", "%% of the sum of the stages");
    rows_begin(NULL);
    for (k = 0; k < WHOLE; k++) {
        const double share = percent(serial("O2", k), plain);
        row(text_of("plain C at -O2: %s", stage_names[k]), "", share, NOT_RUN, NOT_RUN,
            unless_run(share, NO_SERIAL, "SPARSEHS_NO_SIMD; one thread only"));
    }
    row("plain C at -O2: covariance + whitening + iteration", "99",
        percent(serial("O2", COVARIANCE) + serial("O2", WHITENING) + serial("O2", ITERATION), plain), NOT_RUN, NOT_RUN,
        "paper: its text; the cells are not in our copy");
    for (k = 0; k < WHOLE; k++)
        row(text_of("this library: %s", stage_names[k]), "", 100 * stage_seconds[0][k] / sum[0],
            100 * stage_seconds[1][k] / sum[1], NOT_RUN, "device: input; eigenproblem and output stay on the CPU; see Fig. 4");
    rows_end();
    scene_remark();
    remark("Input and output are files in the system's cache.");
    item_end();
}

#ifdef EXAMPLE_OPENCL
/* Milliseconds of a stage with an engine that does without something or has groups of so many items, and what its main kernel
   takes of the device. */
typedef struct trial {
    const char *name;
    unsigned without;
    int items;
    double seconds[STAGES];
    char *note[STAGES];
} trial;

static const int tried[] = {COVARIANCE, WHITENING, ITERATION, TRANSFORM};
enum { TRIED = (int)(sizeof tried / sizeof *tried) };

/* Kernels by the device's own clock; local memory is the one limit on groups at a time that OpenCL tells (where there is none
   NVIDIA tells of a byte). */
static char *trial_note(const char *kernel) {
    shs_cl_stage *stages = ALLOCATE(shs_cl_stage, 64);
    const unsigned long limit = (unsigned long)shs_cl_about(example_device)->local_bytes;
    double seconds = 0;
    char *note = NULL;
    int count = 0, i;
    check(shs_cl_stage_times(example_device, stages, 64, &count, 1), "the device's times");
    for (i = 0; i < count && i < 64; i++)
        if (strcmp(stages[i].name, "upload") && strcmp(stages[i].name, "download")) seconds += (double)stages[i].seconds;
    for (i = 0; i < count && i < 64; i++) {
        const shs_cl_stage *k = &stages[i];
        const unsigned long bytes = (unsigned long)k->local_bytes;
        const char *local = "no local memory";
        if (strcmp(k->name, kernel) || !k->runs) continue;
        if (bytes > 4) local = text_of("%lu at a time by local memory (%lu bytes each of %lu)", limit / bytes, bytes, limit);
        note = text_of("kernels %.4g ms, of which %s %.4g; groups of %lu items, %s; %lu bytes an item are not in registers",
                       1e3 * seconds, kernel, 1e3 * (double)k->seconds, (unsigned long)k->group_items, local,
                       (unsigned long)k->private_bytes);
    }
    free(stages);
    if (note) return note;
    return text_of("kernels %.4g ms", 1e3 * seconds);
}

static void try_all(trial *t, int count, analysis *a) {
    static const char *const kernels[STAGES] = {"", "products", "", "map", "sweep", "map", "", ""};
    shs_cl *usual = example_device;
    int i, k;
    a->ctx = &run.on_device;
    covariance_once(a);
    eigen_once(a);
    whitening_once(a);
    iteration_once(a);
    for (i = 0; i < count; i++) {
        shs_cl_options options = SHS_ZERO;
        options.index = device_place;
        options.profile = 1;
        options.without = t[i].without;
        options.group_items = t[i].items;
        step_of(i, count, t[i].name);
        check(shs_cl_create(NULL, &options, &example_device), "the device");
        run.on_device.engine = shs_cl_engine(example_device);
        for (k = 0; k < TRIED; k++) {
            t[i].seconds[tried[k]] = median_seconds(stage_work[tried[k]], a);
            free(trial_note("")); /* times begin anew */
            stage_work[tried[k]](a);
            t[i].note[tried[k]] = trial_note(kernels[tried[k]]);
        }
        shs_cl_destroy(example_device);
    }
    example_device = usual;
    run.on_device.engine = shs_cl_engine(usual);
}

static void trial_rows(trial *t, int count) {
    analysis a = open_analysis(lines_of(), samples_of(), iterations_of());
    int i, k;
    put_line("unit", "milliseconds from pixels in memory to the result in memory");
    try_all(t, count, &a);
    rows_begin(NULL);
    for (k = 0; k < TRIED; k++)
        for (i = 0; i < count; i++)
            row(text_of("%s: %s", stage_names[tried[k]], t[i].name), "", NOT_RUN, NOT_RUN, 1e3 * t[i].seconds[tried[k]],
                t[i].note[tried[k]]);
    rows_end();
    close_analysis(&a);
    scene_remark();
}
#endif

/* What becomes of an item that needs a device. */
static const char *kind_on_device(void) {
    if (run.has_device) return "table";
    return "text";
}

static void table2(void) {
    if (!item_begin("table2", kind_on_device(), "Table 2: local memory, registers and overlapped transfers, each off and on"))
        return;
#ifdef EXAMPLE_OPENCL
    if (run.has_device) {
        const unsigned local = SHS_CL_WITHOUT_LOCAL;
        const unsigned registers = SHS_CL_WITHOUT_REGISTERS;
        const unsigned overlap = SHS_CL_WITHOUT_OVERLAP;
        const unsigned units = SHS_CL_WITHOUT_UNITS;
        trial t[7];
        memset(t, 0, sizeof t);
        t[0].name = "plain";
        t[0].without = local | registers | overlap | units;
        t[1].name = "+ local memory";
        t[1].without = registers | overlap | units;
        t[2].name = "+ registers";
        t[2].without = overlap | units;
        t[3].name = "+ overlapped transfers";
        t[3].without = units;
        t[4].name = "+ matrix units, the library's own";
        t[5].name = "all but local memory";
        t[5].without = local;
        t[6].name = "all but registers";
        t[6].without = registers;
        trial_rows(t, 7);
    }
#endif
    if (!run.has_device) remark("Not run: %s.", run.no_device);
    remark(
        "The paper's cells are not in our copy. Without registers an item keeps the smallest block of results that the kernel "
        "has; without overlap the host waits for each transfer and for the kernels of each slice.");
    item_end();
}

static void table3(void) {
    if (!item_begin("table3", kind_on_device(), "Table 3 and Fig. 3: 128, 256, 512 and 1024 threads a group")) return;
#ifdef EXAMPLE_OPENCL
    if (run.has_device) {
        static const char *const names[] = {"128", "256", "512", "1024"};
        trial t[4];
        int i;
        memset(t, 0, sizeof t);
        for (i = 0; i < 4; i++) {
            t[i].name = names[i];
            t[i].items = 128 << i;
        }
        trial_rows(t, 4);
    }
#endif
    if (!run.has_device) remark("Not run: %s.", run.no_device);
    remark("The paper's milliseconds are not in our copy. By its text whitening is best at 1024 threads and the others at 512; "
           "its "
           "covariance takes 18 registers and 3072 bytes of local memory, with 64 warps at a time: 100 %% occupancy. Ours keep "
           "blocks of results in registers, of which OpenCL tells no number, and have fewer items where local memory or blocks "
           "do not allow so many.");
    item_end();
}

static void whole_row(const char *setting, analysis *a, work_fn work, const char *note) {
    double t[3] = {NOT_RUN, NOT_RUN, NOT_RUN};
    a->ctx = &run.one;
    t[0] = median_seconds(work, a);
    a->ctx = &run.all;
    t[1] = median_seconds(work, a);
    if (run.has_device) {
        a->ctx = &run.on_device;
        t[2] = median_seconds(work, a);
    }
    row(setting, "", t[0], t[1], t[2], note);
}

static void table4(void) {
    int k;
    if (!item_begin("table4", "table", "Table 4: sizes of the cube")) return;
    put_line("unit", "seconds from pixels in memory to sources in memory");
    rows_begin(NULL);
    for (k = 0; k < 4; k++) {
        int samples = samples_of() * (k + 1) / 4;
        analysis a = open_analysis(lines_of(), samples, iterations_of());
        step_of(k, 4, text_of("%d samples", samples));
        whole_row(text_of("%d x %d x %d", lines_of(), samples, BANDS), &a, whole_once,
                  first_note(k, "paper: cells and most sizes are not in our copy"));
        close_analysis(&a);
    }
    rows_end();
    scene_remark();
    item_end();
}

static void table5(void) {
    static const int counts[] = {5, 10, 20, 40};
    analysis a;
    int k;
    if (!item_begin("table5", "table", "Table 5: numbers of iterations")) return;
    a = open_analysis(lines_of(), samples_of(), 1);
    put_line("unit", "seconds from pixels in memory to sources in memory");
    rows_begin(NULL);
    for (k = 0; k < 4; k++) {
        step_of(k, 5, text_of("%d iterations", counts[k]));
        a.iterations = counts[k];
        whole_row(text_of("%d iterations a component", counts[k]), &a, whole_once,
                  first_note(k, "paper: the cells are not in our copy"));
    }
    step_of(4, 5, "fourth moments");
    whole_row("40 iterations by fourth moments", &a, moments_once,
              "the library's own way: the same steps; the pixels are read once for all of them");
    rows_end();
    scene_remark();
    item_end();
    close_analysis(&a);
}

static void table6(void) {
    static const char *const levels[] = {"O0", "O1", "O2", "O3"};
    double best = 0;
    int k, l, fastest = -1;
    if (!item_begin("table6", "table", "Table 6: the serial program compiled at -O0 to -O3")) return;
    put_line("unit", "seconds");
    rows_begin(NULL);
    for (l = 0; l < 4; l++) {
        double sum = 0;
        for (k = 0; k < WHOLE; k++) {
            double t = serial(levels[l], k);
            sum += t;
            if (k == COVARIANCE || k == WHITENING || k == ITERATION || k == TRANSFORM)
                row(text_of("-%s: %s", levels[l], stage_names[k]), "", t, NOT_RUN, NOT_RUN,
                    unless_run(t, NO_SERIAL, baseline_share(k, t)));
        }
        if (sum <= 0) continue;
        row(text_of("-%s: all stages", levels[l]), "", sum, NOT_RUN, NOT_RUN,
            "with input; eigenproblem and output; one thread only");
        if (fastest < 0 || sum < best) {
            best = sum;
            fastest = l;
        }
    }
    rows_end();
    if (fastest >= 0)
        remark("Fastest: -%s (paper: -O2; its seconds are not in our copy). The program is plain C, SPARSEHS_NO_SIMD, without "
               "threads.",
               levels[fastest]);
    scene_remark();
    item_end();
}

static void table7(void) {
    const double ranks = serial_seconds("MPI", "ranks");
    const char *what = "MPI", *note = "not run: MPI (mpicc and mpirun) is not installed";
    int k;
    if (ranks > 0) {
        what = text_of("MPI, %.0f ranks", ranks);
        note = "one thread a rank; paper: 16 ranks; the cells are not in our copy";
    }
    if (!item_begin("table7", "table", "Table 7: threads against ranks of MPI")) return;
    measure_stages();
    put_line("unit", "seconds");
    rows_begin(NULL);
    for (k = COVARIANCE; k <= TRANSFORM; k++) {
        if (k == EIGENPROBLEM) continue;
        row(text_of("OpenMP, %d threads: %s", run.threads, stage_names[k]), "", stage_seconds[0][k], stage_seconds[1][k],
            NOT_RUN, "paper: 16 threads; the cells are not in our copy; device: not for this table");
    }
    for (k = COVARIANCE; k <= TRANSFORM; k++) {
        if (k == EIGENPROBLEM) continue;
        row(text_of("%s: %s", what, stage_names[k]), "", NOT_RUN, serial("MPI", k), NOT_RUN, note);
    }
    rows_end();
    remark("Paper (text): MPI with 16 ranks is faster than OpenMP with 16 threads. Ranks are the library's reduce_fn over "
           "MPI_Allreduce.");
    scene_remark();
    item_end();
}

/* ---- figures ------------------------------------------------------------------------------------------------------- */

/* How many times as fast as a baseline each stage is. */
static void speedup_rows(const char *level, const char *const *paper, const char *missing) {
    int k;
    for (k = COVARIANCE; k <= TRANSFORM; k++) {
        double base = serial(level, k);
        if (k == EIGENPROBLEM) continue;
        row(stage_names[k], paper[k], ratio(base, stage_seconds[0][k]), ratio(base, stage_seconds[1][k]),
            ratio(base, stage_seconds[2][k]), unless_run(base, missing, text_of("baseline: %s", baseline_share(k, base))));
    }
}

static void figure4(void) {
    static const char *const paper[STAGES] = {"", "50", "", "300", "42 to 109", "19 to 41", "", ""};
    if (!item_begin("figure4", "bars", "Fig. 4: each stage, times faster than the serial program")) return;
    measure_stages();
    put_line("x", "stage");
    put_line("y", "times faster than plain C at -O2");
    put_line("log", "y");
    rows_begin("stages");
    speedup_rows("O2", paper, NO_SERIAL);
    rows_end();
    if (serial("O2", COVARIANCE) > 0) {
        curve("stages", 3, "one thread");
        curve("stages", 4, "all threads");
        curve("stages", 5, "device");
    }
    remark("Paper, GPU over serial: covariance about 50, whitening about 300, iteration 42 to 109, transform 19 to 41 (K20 and "
           "E5-2650).");
    remark("On the device each stage has its own transfer of the pixels and the result here; Fig. 6 has the whole, which "
           "transfers them once.");
    scene_remark();
    item_end();
}

static void figure5(void) {
    static const char *const paper[STAGES] = {"", "4 to 6", "", "6 to 8", "8 to 11", "about 1", "", ""};
    const double ranks = serial_seconds("MPI", "ranks");
    if (!item_begin("figure5", "bars", "Fig. 5: each stage, times faster than MPI")) return;
    measure_stages();
    put_line("x", "stage");
    put_line("y", "times faster than MPI");
    put_line("log", "y");
    rows_begin("stages");
    speedup_rows("MPI", paper, NO_MPI);
    rows_end();
    if (ranks > 0) {
        curve("stages", 4, "all threads");
        curve("stages", 5, "device");
    }
    remark(
        "Paper, GPU over MPI with 16 ranks: covariance 4 to 6, whitening 6 to 8, iteration 8 to 11, transform about the same.");
    if (ranks > 0) remark("Here MPI has %.0f ranks.", ranks);
    else remark("Not run: MPI (mpicc and mpirun) is not installed.");
    item_end();
}

static void figure6(void) {
    const char *covariance = baseline_share(COVARIANCE, serial("O2", COVARIANCE)), *device = "";
    double plain = serial("O2", WHOLE), mpi = serial("MPI", WHOLE), *t = stage_seconds[0];
    if (!item_begin("figure6", "bars", "Fig. 6: the whole program, times faster than the serial program and than MPI")) return;
    measure_stages();
    put_line("x", "baseline");
    put_line("y", "times faster");
    put_line("log", "y");
    rows_begin("whole");
    row("serial, plain C at -O2", "36 to 72", ratio(plain, t[WHOLE]), ratio(plain, stage_seconds[1][WHOLE]),
        ratio(plain, stage_seconds[2][WHOLE]),
        unless_run(plain, NO_SERIAL, text_of("baseline: %.4g s, its covariance at %s", plain, covariance)));
    row("MPI", "4.1 to 6.5", ratio(mpi, t[WHOLE]), ratio(mpi, stage_seconds[1][WHOLE]), ratio(mpi, stage_seconds[2][WHOLE]),
        unless_run(mpi, NO_MPI, "paper: 16 ranks"));
    rows_end();
    if (plain > 0) {
        curve("whole", 3, "one thread");
        curve("whole", 4, "all threads");
        curve("whole", 5, "device");
    }
    if (run.has_device) device = text_of(", device %.4g", stage_seconds[2][WHOLE]);
    remark("Seconds of the whole: one thread %.4g, all threads %.4g%s.", t[WHOLE], stage_seconds[1][WHOLE], device);
    scene_remark();
    item_end();
}

/* ---- the program --------------------------------------------------------------------------------------------------- */

#ifdef PAPERS_MPI
static int reduce(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    MPI_Datatype type = MPI_DOUBLE;
    MPI_Op how = MPI_MAX;
    (void)user;
    if (sizeof(shs_wide) == sizeof(float)) type = MPI_FLOAT;
    if (op == SHS_REDUCE_SUM) how = MPI_SUM;
    if (op == SHS_REDUCE_MIN) how = MPI_MIN;
    return MPI_Allreduce(MPI_IN_PLACE, values, (int)count, type, how, MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* Each rank has its share of the lines; the slowest counts. */
static int measure_ranks(shs_context *ctx) {
    double seconds[STAGES];
    analysis a;
    int k, lines = lines_of();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &ctx->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ctx->ranks);
    ctx->reduce_fn = reduce;
    a = open_analysis(lines * (ctx->rank + 1) / ctx->ranks - lines * ctx->rank / ctx->ranks, samples_of(), iterations_of());
    a.ctx = ctx;
    for (k = COVARIANCE; k < STAGES; k++) {
        double tries[3];
        int i;
        if (k == OUTPUT) continue;
        stage_work[k](&a);
        for (i = 0; i < 3; i++) {
            double start;
            MPI_Barrier(MPI_COMM_WORLD);
            start = wall_clock();
            stage_work[k](&a);
            MPI_Barrier(MPI_COMM_WORLD);
            tries[i] = wall_clock() - start;
        }
        seconds[k] = sorted_middle(tries, 3);
        if (!ctx->rank) serial_result(stage_names[k], seconds[k]);
    }
    if (!ctx->rank) {
        serial_result("ranks", ctx->ranks);
        serial_end();
    }
    MPI_Finalize();
    return 0;
}
#endif

int main(int argc, char **argv) {
    papers_begin(argc, argv, "gfastica", "The tables and figures of the paper on G-FastICA with today's numbers.", 10);
#ifdef PAPERS_MPI
    return measure_ranks(&run.one);
#endif
    if (run.serial) {
        double seconds[STAGES];
        analysis a = open_analysis(lines_of(), samples_of(), iterations_of());
        int k;
        measure(&a, &run.one, seconds);
        for (k = 0; k < STAGES; k++) serial_result(stage_names[k], seconds[k]);
        close_analysis(&a);
        papers_end();
        return 0;
    }
    substituted("Scenes: %s, side by side with a gain and noise that change from pixel to pixel, to 8 bits by (reflectance + "
                "500) / 30: fit for "
                "timing, not for science. The paper's five AVIRIS cubes are not public in full.",
                scene_words());
    substituted("The number of iterations and the threshold T are not in our copy: %d iterations, and %d components by number.",
                iterations_of(), COMPONENTS);
    substituted(
        "2 x E5-2650 and K20: this machine and its OpenCL device, named above. The serial program is this library as plain C "
        "(SPARSEHS_NO_SIMD), not the authors'.");
    table1();
    table2();
    table3();
    table4();
    table5();
    table6();
    table7();
    figure4();
    figure5();
    figure6();
    papers_end();
    return 0;
}
