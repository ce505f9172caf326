/* papers.h - what the four programs of this folder share: options, the machine and its peak, medians of times, tables and
   curves as CSV, progress with the time that is left.

   A program goes through the tables and figures of its paper in their order. Each is an item: a file NAME.csv for a table, one
   for each curve of a figure, and NAME.txt, which tells run.sh the title, the axes, the curves and the remarks. An item whose
   NAME.txt is there was finished by an earlier run and is not computed again; of one that was stopped the long steps that were
   done are not. PAPER.items lists the items in order.

   Include it after SPARSEHS_STATIC, SPARSEHS_IMPLEMENTATION and SPARSEHS_CL_IMPLEMENTATION: it includes the library. */
#ifndef PAPERS_H
#define PAPERS_H
#include "../example.h"
#include "../peak.h"
#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define PAPERS_FORMAT(place) __attribute__((format(printf, place, (place) + 1)))
#else
#define PAPERS_FORMAT(place)
#endif

/* ---- options and the machine ------------------------------------------------------------------------------------- */

typedef enum scale { SCALE_QUICK, SCALE_USUAL, SCALE_FULL } scale;

static struct {
    const char *paper; /* the program's name: omp, paksvd, gfastica, grass */
    int quick, full;   /* --quick, --full; neither: sizes for some minutes on two cores */
    const char *device, *out, *shared, *serial;
    scale scale;
    shs_context one, all, on_device; /* one thread, all threads, the OpenCL device */
    int threads, has_device;
    char device_name[200], no_device[300]; /* its name, or why there is none */
    double peak[2];                        /* operations a second of one core at most, in float and in double */
    int items, item;                       /* of the paper, and which one is being made */
    double begun;
    FILE *list;
} run = {NULL, 0, 0,  "none", "build/papers", "../shared", NULL, SCALE_USUAL, SHS_ZERO, SHS_ZERO, SHS_ZERO,
         1,    0, "", "",     {0, 0},         0,           0,    0,           NULL};

/* The value for --quick, for none, for --full. */
static inline int sized(int quick, int usual, int full) {
    if (run.scale == SCALE_QUICK) return quick;
    if (run.scale == SCALE_USUAL) return usual;
    return full;
}

PAPERS_FORMAT(1) static inline char *text_of(const char *format, ...) {
    char line[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return joined(line, ""); /* a few hundred short texts: they live as long as the program */
}

/* A file of the output folder. */
static inline char *out_name(const char *name, const char *extension) { return text_of("%s/%s%s", run.out, name, extension); }

static inline int is_there(const char *name) {
    FILE *file = fopen(name, "r");
    if (file) fclose(file);
    return file != NULL;
}

static inline double sorted_middle(double *values, int count) {
    int i, j;
    for (i = 1; i < count; i++)
        for (j = i; j > 0 && values[j - 1] > values[j]; j--) {
            double other = values[j];
            values[j] = values[j - 1];
            values[j - 1] = other;
        }
    if (count % 2) return values[count / 2];
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}

typedef void (*work_fn)(void *argument);

/* The median of some runs after a run that warms up. A long run is repeated less often, and a very long serial baseline runs
   once. */
static inline double median_seconds(work_fn work, void *argument) {
    double seconds[9], start = wall_clock(), spent;
    int count = 0, most = sized(3, 5, 9);
    work(argument);
    spent = wall_clock() - start;
    if (run.serial && spent > sized(2, 8, 30)) return spent; /* a device builds its programs in the first run */
    if (spent > sized(1, 3, 10)) most = 1;
    while (count < most) {
        start = wall_clock();
        work(argument);
        seconds[count++] = wall_clock() - start;
    }
    return sorted_middle(seconds, count);
}

/* Multiply-adds of one core a second x 2, in float and in double. */
static inline void measure_peak(void) {
    run.peak[0] = peak_of_core(0);
    run.peak[1] = peak_of_core(1);
}

/* "12 GFLOP/s, 5.1 % of one core's peak"; wide: of that in double. */
static inline const char *share_of_peak(double operations, double seconds, int wide) {
    double rate = operations / seconds;
    if (run.peak[wide] <= 0) return text_of("%.3g GFLOP/s; the peak was not measured", rate * 1e-9);
    return text_of("%.3g GFLOP/s: %.3g %% of one core's peak (%.0f GFLOP/s measured)", rate * 1e-9, 100 * rate / run.peak[wide],
                   run.peak[wide] * 1e-9);
}

#ifdef EXAMPLE_OPENCL
static int device_place; /* of the device among the usable ones */

/* The device with a kernel for sparse coding of the caller's choice. */
static inline shs_cl *device_with(shs_cl_coder coder) {
    shs_cl_options options = SHS_ZERO;
    shs_cl *device = NULL;
    options.index = device_place;
    options.profile = 1;
    options.coder = coder;
    check(shs_cl_create(NULL, &options, &device), "the device");
    return device;
}

/* Returns non-zero if --device names this device: any, a GPU, a number in the list that `devices` prints, or a part of the
   name. */
static inline int device_wanted(const char *wanted, int index, const shs_cl_device *d) {
    return !strcmp(wanted, "any") || (strcmp(wanted, "auto") && device_matches(wanted, index, d));
}

static inline void open_device(void) {
    shs_cl_device *devices = ALLOCATE(shs_cl_device, 64);
    shs_cl_options options = SHS_ZERO;
    int count = 0, i, usable = 0;
    options.reason = run.no_device;
    options.reason_size = sizeof run.no_device;
    check(shs_cl_list(NULL, devices, 64, &count), "the list of devices");
    for (i = 0; i < count && i < 64; i++) {
        if (!devices[i].usable) continue;
        if (device_wanted(run.device, i, &devices[i])) break;
        usable++;
    }
    free(devices);
    if (i == count || i == 64) {
        snprintf(run.no_device, sizeof run.no_device, "no OpenCL device here that matches %s", run.device);
        return;
    }
    options.index = device_place = usable;
    options.profile = 1;
    if (shs_cl_create(NULL, &options, &example_device) != SHS_OK) return;
    run.has_device = 1;
    run.on_device.engine = shs_cl_engine(example_device);
    snprintf(run.device_name, sizeof run.device_name, "%s (%s)", shs_cl_device_name(example_device),
             shs_cl_about(example_device)->platform);
}

/* Seconds that the device's own clock counted for kernels since the last call. */
static inline double device_seconds(void) {
    shs_cl_stage *stages = ALLOCATE(shs_cl_stage, 64);
    double sum = 0;
    int count = 0, i;
    check(shs_cl_stage_times(example_device, stages, 64, &count, 1), "the device's times");
    for (i = 0; i < count && i < 64; i++)
        if (!contains(stages[i].name, "load")) sum += (double)stages[i].seconds; /* upload and download are the bus's */
    free(stages);
    return sum;
}
#else
static inline void open_device(void) { snprintf(run.no_device, sizeof run.no_device, "built without OpenCL"); }
static inline double device_seconds(void) { return 0; }
#endif

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static double progress_share; /* of the item that is being made, 0 to 1 */

/* Says on stderr what is being done and about how long the rest takes, at most twice a second. */
static inline void tell(const char *what) {
    static double last = 0;
    double now = wall_clock(), done = run.item - 1 + progress_share, left = 0, pause = 10;
    int watched = 0;
#ifdef EXAMPLE_POSIX
    watched = isatty(STDERR_FILENO);
#endif
    if (watched) pause = 0.5;
    if (now - last < pause) return;
    last = now;
    if (run.items > 0) done /= run.items;
    if (done > 0.02) left = (now - run.begun) * (1 - done) / done;
    if (watched) progress_clear();
    if (run.serial) progress_width = fprintf(stderr, "%s, serial baseline -%s: %s", run.paper, run.serial, what);
    else progress_width = fprintf(stderr, "%s %d of %d: %s", run.paper, run.item, run.items, what);
    if (left > 0 && !run.serial) progress_width += fprintf(stderr, "; about %d:%02d left", (int)left / 60, (int)left % 60);
    if (!watched) {
        fputc('\n', stderr);
        progress_width = 0;
    }
}

/* Step `step` of `steps` of the item is about to begin. */
static inline void step_of(int step, int steps, const char *what) {
    progress_share = (double)step / steps;
    tell(what);
}

/* ---- items: tables and figures ------------------------------------------------------------------------------------ */

static FILE *item_text, *item_rows;
static char *item_name, *rows_name;
static int item_steps; /* that take long, and were asked for so far */

PAPERS_FORMAT(2) static inline void put_line(const char *key, const char *format, ...) {
    va_list arguments;
    fprintf(item_text, "%s ", key);
    va_start(arguments, format);
    vfprintf(item_text, format, arguments);
    va_end(arguments);
    fputc('\n', item_text);
}
/* A sentence beneath the table or figure. */
#define remark(...) put_line("remark", __VA_ARGS__)

/* Begins item `name`; kind: table, figure, bars (a figure of bars), text. 0: it was finished before. */
static inline int item_begin(const char *name, const char *kind, const char *title) {
    run.item++;
    progress_share = 0;
    fprintf(run.list, "%s_%s\n", run.paper, name);
    fflush(run.list);
    tell(title);
    item_name = text_of("%s_%s", run.paper, name);
    item_steps = 0;
    if (is_there(out_name(item_name, ".txt"))) return 0;
    item_text = open_for_writing(out_name(item_name, ".txt.part"));
    put_line("kind", "%s", kind);
    put_line("title", "%s", title);
    return 1;
}

static inline void move_file(const char *from, const char *to) {
    if (rename(from, to)) fail(EXIT_ERROR, "%s: cannot write it: %s", to, strerror(errno));
}

static inline void item_end(void) {
    char *part = out_name(item_name, ".txt.part");
    close_written(item_text, part);
    move_file(part, out_name(item_name, ".txt"));
    remove(out_name(item_name, ".steps"));
}

/* Steps that take long leave their results in NAME.steps, a line for each: a run that was stopped goes on within its item.
   recalled: the results of the item's next step, where an earlier run came so far; 0: compute them, then call recorded. */
static inline int recalled(double *values, int count) {
    FILE *file = fopen(out_name(item_name, ".steps"), "r");
    char word[40];
    int step, wanted = item_steps++, good = 0, k;
    while (file && !good && fscanf(file, "%39s", word) == 1) {
        if (strcmp(word, "step") || fscanf(file, "%d", &step) != 1 || step != wanted) continue;
        for (k = 0; k < count && fscanf(file, "%lf", &values[k]) == 1;) k++;
        good = k == count && fscanf(file, "%39s", word) == 1 && !strcmp(word, "end"); /* it was not stopped while it wrote */
    }
    if (file) fclose(file);
    return good;
}

static inline void recorded(const double *values, int count) {
    char *name = out_name(item_name, ".steps");
    FILE *file = fopen(name, "a");
    int k;
    if (!file) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
    fprintf(file, "\nstep %d", item_steps - 1);
    for (k = 0; k < count; k++) fprintf(file, " %.17g", values[k]);
    fprintf(file, " end\n");
    close_written(file, name);
}

/* Begins the rows of a table, or of one curve of a figure: NAME_CURVE.csv. */
static inline void rows_begin(const char *curve) {
    if (curve) rows_name = text_of("%s_%s", item_name, curve);
    else rows_name = item_name;
    item_rows = open_for_writing(out_name(rows_name, ".csv"));
    fprintf(item_rows, "setting,paper,ours_cpu_1_thread,ours_cpu_all,ours_device,note\n");
}

static inline void rows_end(void) { close_written(item_rows, out_name(rows_name, ".csv")); }

/* Writes a field of text without commas and quotes, so that any program can split the line at commas. */
static inline void put_field(const char *text) {
    for (; text && *text; text++) {
        char letter = *text;
        if (letter == ',') letter = ';';
        if (letter == '"' || letter == '\n') letter = ' ';
        fputc(letter, item_rows);
    }
}

static inline void put_number(double value) {
    if (!(value >= 0)) return;
    if (value > 0 && value < 1e-3) fprintf(item_rows, "%.3e", value);
    else if (value < 1) fprintf(item_rows, "%.5g", value);
    else if (value < 1000) fprintf(item_rows, "%.4g", value);
    else fprintf(item_rows, "%.0f", value);
}

#define NOT_RUN (-1.0) /* an empty cell: the note says why */

/* How many times b fits in a; NOT_RUN where one of them was not run. */
static inline double ratio(double a, double b) {
    if (a > 0 && b > 0) return a / b;
    return NOT_RUN;
}

/* The note of a row whose number was not run, or `otherwise` where it was. */
static inline const char *unless_run(double number, const char *missing, const char *otherwise) {
    if (number > 0) return otherwise;
    return missing;
}

/* A remark for the first row of a curve alone, which speaks for all of them. */
static inline const char *first_note(int row, const char *note) {
    if (row == 0) return note;
    return NULL;
}

/* Writes one row. paper: the figure as printed in the paper; NULL or "" if our copy has lost it. */
static inline void row(const char *setting, const char *paper, double one, double all, double device, const char *note) {
    if (device < 0 && !run.has_device) {
        const char *why = text_of("no device: %s", run.no_device);
        if (note && *note) note = text_of("%s; %s", note, why);
        else note = why;
    }
    put_field(setting);
    fputc(',', item_rows);
    put_field(paper);
    fputc(',', item_rows);
    put_number(one);
    fputc(',', item_rows);
    put_number(all);
    fputc(',', item_rows);
    put_number(device);
    fputc(',', item_rows);
    put_field(note);
    fputc('\n', item_rows);
    fflush(item_rows);
}

/* Tells the page to draw column `column` (2 paper, 3 one thread, 4 all threads, 5 device) of the curve's rows. */
static inline void curve(const char *of, int column, const char *label) {
    if (column == 5 && !run.has_device) return;
    if (of) put_line("curve", "%s_%s.csv %d %s", item_name, of, column, label);
    else put_line("curve", "%s.csv %d %s", item_name, column, label);
}

/* Writes a sentence about the paper as a whole: a substitution of data or hardware. */
PAPERS_FORMAT(1) static inline void substituted(const char *format, ...) {
    static const char *mode = "w";
    FILE *file = fopen(out_name(run.paper, ".substituted"), mode);
    va_list arguments;
    if (!file) fail(EXIT_ERROR, "%s: cannot write there: %s", run.out, strerror(errno));
    mode = "a";
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    close_written(file, run.paper);
}

/* ---- serial baselines --------------------------------------------------------------------------------------------- */

/* The same program compiled as plain C (SPARSEHS_NO_SIMD), without threads, at -O0 to -O3, is run first with --serial FLAGS and
   leaves its times in PAPER_serial_FLAGS.csv. */
static FILE *serial_file;

static inline void serial_result(const char *stage, double seconds) {
    if (!serial_file) serial_file = open_for_writing(out_name(text_of("%s_serial_%s", run.paper, run.serial), ".csv.part"));
    fprintf(serial_file, "%s,%.6g\n", stage, seconds);
    fflush(serial_file);
}

static inline void serial_end(void) {
    char *name = out_name(text_of("%s_serial_%s", run.paper, run.serial), ".csv");
    close_written(serial_file, name);
    move_file(text_of("%s.part", name), name);
}

/* Seconds of a stage in the serial build with these flags; NOT_RUN where it was not run. */
static inline double serial_seconds(const char *flags, const char *stage) {
    FILE *file = fopen(out_name(text_of("%s_serial_%s", run.paper, flags), ".csv"), "r");
    char line[200];
    double found = NOT_RUN;
    while (file && fgets(line, sizeof line, file)) {
        size_t length = strlen(stage);
        if (!strncmp(line, stage, length) && line[length] == ',') found = atof(line + length + 1);
    }
    if (file) fclose(file);
    return found;
}

/* ---- beginning and end -------------------------------------------------------------------------------------------- */

static const option papers_options[] = {
    {"--quick", NULL, OPTION_SWITCH, &run.quick, 0, "small sizes: some seconds for each table"},
    {"--full", NULL, OPTION_SWITCH, &run.full, 0, "the papers' own sizes: hours on two cores"},
    {"--device", "NAME", OPTION_TEXT, (void *)&run.device, 0,
     "none, any, gpu, or part of an OpenCL device's name or its number (none)"},
    {"--out", "DIR", OPTION_TEXT, (void *)&run.out, 0, "where the CSV files go (build/papers)"},
    {"--shared", "DIR", OPTION_TEXT, (void *)&run.shared, 0, "where data/ and golden/ are (../shared)"},
    {"--serial", "FLAGS", OPTION_TEXT, (void *)&run.serial, 0, "measure this build as the serial baseline of that name"},
};

static inline void papers_begin(int argc, char **argv, const char *paper, const char *purpose, int items) {
    const char *device = run.device_name;
    FILE *about;
    if (read_options(argc, argv, "[options]", purpose, papers_options, (int)(sizeof papers_options / sizeof *papers_options)))
        fail(EXIT_USAGE, "takes no names");
    run.paper = paper;
    if (run.quick) run.scale = SCALE_QUICK;
    else if (run.full) run.scale = SCALE_FULL;
    else run.scale = SCALE_USUAL;
    run.items = items;
    run.one.threads = 1;
#ifdef _OPENMP
    run.threads = omp_get_max_threads();
#endif
    run.begun = wall_clock();
    if (run.serial) return;
    measure_peak();
    if (strcmp(run.device, "none")) open_device();
    else snprintf(run.no_device, sizeof run.no_device, "none was asked for, or none works here");
    run.list = open_for_writing(out_name(paper, ".items"));
    about = open_for_writing(out_name(paper, ".about"));
    if (!run.has_device) device = run.no_device;
    fprintf(about, "%s\ndevice: %s\nthreads: %d\n", shs_build_info(), device, run.threads);
    fprintf(about, "measured peak of one core: %.0f GFLOP/s in float, %.0f in double\n", run.peak[0] * 1e-9,
            run.peak[1] * 1e-9);
    close_written(about, "about");
}

static inline void papers_end(void) {
    progress_clear();
    if (run.serial) serial_end();
    else {
        if (run.item != run.items) fail(EXIT_ERROR, "%d items were expected, %d were made", run.items, run.item);
        close_written(run.list, "the list of items");
        fprintf(stderr, "%s: done in %.0f s\n", run.paper, wall_clock() - run.begun);
    }
    example_end();
}

/* ---- pictures and signals ----------------------------------------------------------------------------------------- */

static inline double clamped_to_byte(double value) {
    if (value < 0) return 0;
    if (value > 255) return 255;
    return value;
}

/* The picture for hosts without the folder data/: soft edges and textures. */
static inline picture synthetic_picture(int size) {
    picture a = picture_create(size, size, 1);
    shs_real *pixel = a.pixels;
    shs_random r;
    int x, y, k;
    double place[24][4];
    shs_random_seed(&r, 5);
    for (k = 0; k < 24; k++)
        for (x = 0; x < 4; x++) place[k][x] = (double)shs_random_uniform(&r);
    for (y = 0; y < size; y++)
        for (x = 0; x < size; x++) {
            double value = 128, u = (double)x / size, v = (double)y / size;
            for (k = 0; k < 24; k++) {
                double du = u - place[k][0], dv = v - place[k][1], angle = 6.3 * place[k][2];
                double inside = 1 / (1 + exp((du * du + dv * dv - 0.03 * place[k][3]) * 4000));
                value += inside * (40 * sin(25 * k * (du * cos(angle) + dv * sin(angle))) + 30 * (place[k][2] - 0.5));
            }
            *pixel++ = (shs_real)clamped_to_byte(value);
        }
    return a;
}

/* m random patches of 8 x 8 pixels of the test pictures, mean removed; unit: at unit norm. */
static inline shs_real *patch_signals(size_t m, int unit, uint64_t seed) {
    static const char *const names[] = {"barbara", "boat", "peppers", "house"};
    enum { PICTURES = (int)(sizeof names / sizeof *names) };
    static picture pictures[PICTURES];
    static int count = 0;
    shs_real *Y = ALLOCATE(shs_real, 64 * m);
    size_t had = 0;
    int i;
    for (i = 0; i < PICTURES && count < PICTURES && !(count == 1 && i == 0); i++) {
        char *name = text_of("%s/data/images/%s.pgm", run.shared, names[i]);
        if (is_there(name)) pictures[count++] = picture_read(name);
    }
    if (!count) pictures[count++] = synthetic_picture(512);
    for (i = 0; i < count; i++) {
        shs_image image = picture_image(&pictures[i]);
        shs_patches set = SHS_ZERO;
        size_t taken;
        set.mode = SHS_PATCH_MODE_RANDOM;
        set.count = (m - had) / (size_t)(count - i);
        set.seed = seed + (uint64_t)i;
        set.unit_norm = unit;
        taken = shs_patches_count(&image, &set, NULL);
        check(shs_patches_get(NULL, &image, &set, 0, taken, Y + 64 * had, 64, NULL, NULL), "patches");
        had += taken;
    }
    for (; had < m; had++) memcpy(Y + 64 * had, Y, 64 * sizeof *Y); /* fewer positions than patches: never with these sizes */
    return Y;
}

static inline int pictures_are_there(void) { return is_there(text_of("%s/data/images/barbara.pgm", run.shared)); }

/* ---- scenes --------------------------------------------------------------------------------------------------------- */

enum { SCENE_BANDS = 224, TILE = 100 };

/* The AVIRIS scene of San Diego, 100 x 100 pixels of 224 bands, pixel by pixel; a synthetic one where it is not there. */
static inline const int16_t *scene_tile(int *synthetic) {
    static int16_t *tile = NULL;
    static int made = 0;
    size_t count = (size_t)TILE * TILE * SCENE_BANDS, i;
    FILE *file;
    if (!tile) {
        unsigned char *bytes = ALLOCATE(unsigned char, 2 * count);
        tile = ALLOCATE(int16_t, count);
        file = fopen(text_of("%s/data/cubes/sandiego_bip.img", run.shared), "rb");
        made = !file || fread(bytes, 2, count, file) != count;
        if (file) fclose(file);
        for (i = 0; i < count; i++) {
            size_t pixel = i / SCENE_BANDS, band = i % SCENE_BANDS;
            double x = (double)(pixel % TILE) / TILE, y = (double)(pixel / TILE) / TILE, b = (double)band / SCENE_BANDS;
            double smooth =
                1500 + 900 * sin(6 * b + 4 * x) * cos(3 * y) + 700 * sin(17 * b) * (x > 0.5) + 500 * cos(9 * b + 8 * y * x);
            if (made) tile[i] = (int16_t)smooth;
            else tile[i] = (int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
        }
        free(bytes);
    }
    *synthetic = made;
    return tile;
}

static inline unsigned char rounded_to_byte(double value) { return (unsigned char)clamped_to_byte(value + 0.5); }

/* The scene side by side, each pixel with a gain and noise of its own, band by band. F64: reflectance. U8: (reflectance + 500)
   / 30, rounded and clamped to 0..255. Fit for timing, not for science. */
static inline void scene_fill(void *out, shs_type type, int lines, int samples) {
    int synthetic, b;
    const int16_t *tile = scene_tile(&synthetic);
    const size_t width = (size_t)samples, pixels = (size_t)lines * width;
    double *doubles = (double *)out;
    unsigned char *bytes = (unsigned char *)out;
    size_t i;
    double *gain = ALLOCATE(double, pixels);
    shs_random r;
    shs_random_seed(&r, 11);
    for (i = 0; i < pixels; i++) gain[i] = 0.8 + 0.4 * (double)shs_random_uniform(&r);
    for (b = 0; b < SCENE_BANDS; b++)
        for (i = 0; i < pixels; i++) {
            const int16_t *pixel = tile + (i / width % TILE * TILE + i % width % TILE) * SCENE_BANDS;
            double value = gain[i] * pixel[b] + 60 * ((double)shs_random_uniform(&r) - 0.5);
            if (type == SHS_TYPE_F64) *doubles++ = value;
            else *bytes++ = rounded_to_byte((value + 500) / 30);
        }
    free(gain);
}

static inline const char *scene_words(void) {
    int synthetic;
    (void)scene_tile(&synthetic);
    if (synthetic) return "a synthetic scene of smooth spectra (the test cubes are not here)";
    return "the 100x100 pixels of AVIRIS San Diego";
}

/* For system(): whether a program is installed. */
static inline int program_is_there(const char *name) {
#ifdef EXAMPLE_POSIX
    return system(text_of("command -v %s >/dev/null 2>&1", name)) == 0;
#else
    (void)name;
    return 0;
#endif
}

#endif /* PAPERS_H */
