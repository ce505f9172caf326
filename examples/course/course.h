/* course.h - what the lessons share: options, medians of times, a ladder's rungs as a printed line and a CSV row, checks.

   A lesson is a ladder: the first rung is the textbook's routine, each next one is the rung before with a few lines changed,
   the last one is the header's. After each rung, `agrees` compares the result with the previous rung, and `rung` prints the
   rate beside the rate of the previous rung and the peak of one core; `ladder_threads` begins rungs that are held against the
   peak of several cores. Curves are drawn too (curve_begin, curve_point).
   run.sh builds the lessons, runs them, draws what they wrote and makes a page of it.

       int main(int argc, char **argv) {
           course_begin(argc, argv, "1_product", "the matrix product, from three loops to the header's");
           ladder_begin("ladder", "C = AB, 512 x 512, one thread", "GFLOP/s", 1e9, peak_of_core(0));
           rung("three loops", 2.0 * m * n * k, median_seconds(three_loops, &a));
           ...
           agrees("blocked: as three loops", difference, 1e-5);
           ladder_end();
           return course_end();
       }

   The library itself is compiled once, by library.c, and linked with each lesson. Names of rungs have no commas. */
#ifndef COURSE_H
#define COURSE_H
#include "../example.h"
#include "../peak.h"
#ifdef _OPENMP
#include <omp.h>
#endif

static struct {
    const char *lesson, *out, *data; /* its name, the folder of CSV files, the folder of pictures and cubes */
    int quick, threads;
    int checks, failures;
} course = {"", "build/course", "../shared/data", 0, 0, 0, 0};

static struct {
    const char *name, *unit;
    double scale, ceiling; /* units a second; the most of the cores in use, counted as in rung(), 0 if nothing is known */
    double first, last;    /* rates of the first rung and of the one before */
    FILE *file;
} ladder;

#if defined(__GNUC__) || defined(__clang__)
#define COURSE_FORMAT __attribute__((format(EXAMPLE_PRINTF, 1, 2)))
#else
#define COURSE_FORMAT
#endif
/* A text that lives until the fourth call after this one. */
COURSE_FORMAT static inline const char *text_of(const char *format, ...) {
    static char texts[4][1000];
    static int next = 0;
    va_list arguments;
    char *text = texts[next++ & 3];
    va_start(arguments, format);
    vsnprintf(text, sizeof texts[0], format, arguments);
    va_end(arguments);
    return text;
}

static inline FILE *course_file(const char *name) {
    const char *path = text_of("%s/%s_%s.csv", course.out, course.lesson, name);
    FILE *file = fopen(path, "w");
    if (!file) fail(EXIT_ERROR, "%s: %s", path, strerror(errno));
    return file;
}

static inline void course_begin(int argc, char **argv, const char *lesson, const char *purpose) {
    static const option options[] = {
        {"--out", "FOLDER", OPTION_TEXT, (void *)&course.out, 0, "where the figures go as CSV files (build/course)"},
        {"--data", "FOLDER", OPTION_TEXT, (void *)&course.data, 0, "pictures and cubes, where there are any (../shared/data)"},
        {"--threads", "N", OPTION_COUNT, &course.threads, 0, "threads of the rungs that use them, 0 = all processors (0)"},
        {"--quick", NULL, OPTION_SWITCH, &course.quick, 0, "small sizes: a test of the lesson, not of the machine"},
    };
    course.lesson = lesson;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* also in a pipe: a program that crashes or hangs has shown its checks so far */
    if (read_options(argc, argv, "[options]", purpose, options, (int)(sizeof options / sizeof *options)))
        fail(EXIT_USAGE, "%s: a lesson takes options only", argv[0]);
    printf("%s: %s\n", lesson, purpose);
}

/* 1 if a check failed, to be returned by main. */
static inline int course_end(void) {
    printf("%s: %d checks, %d failed\n", course.lesson, course.checks, course.failures);
    example_end();
    if (course.failures) return EXIT_ERROR;
    return EXIT_SUCCESS;
}

/* Threads that the rungs on all processors may use. */
static inline int course_threads(void) {
#ifdef _OPENMP
    return course.threads > 0 ? course.threads : omp_get_num_procs();
#else
    return 1;
#endif
}

/* The difference of two results is at most what is allowed. */
static inline void agrees(const char *what, double difference, double allowed) {
    int well = difference <= allowed; /* not a number is not well */
    course.checks++;
    course.failures += !well;
    if (well) printf("    %s: %.2g, allowed %.2g\n", what, difference, allowed);
    else if (difference != difference)
        printf("    FAILED %s: nan: a value is not set, or 0 was divided by 0; allowed %.3g\n", what, allowed);
    else printf("    FAILED %s: %.3g, allowed %.3g\n", what, difference, allowed);
}

/* The larger of two differences. NaN stays NaN, whereas fmax and comparisons would drop NaN. */
static inline double larger_of(double most, double difference) {
    if (difference > most || difference != difference) return difference;
    return most;
}

/* max |a_i - b_i| / max |b_i|. */
static inline double relative_difference(size_t count, const shs_real *a, const shs_real *b) {
    double most = 0, size = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        double v = fabs((double)b[i]);
        most = larger_of(most, fabs((double)a[i] - (double)b[i]));
        if (v > size) size = v;
    }
    if (size > 0) return most / size;
    return most;
}

typedef void (*work_fn)(void *argument);

/* The median of some runs after a run that warms up. A long first run is not repeated. */
static inline double median_seconds(work_fn work, void *argument) {
    double seconds[9], start = wall_clock(), spent;
    int count = 0, most, i;
    work(argument);
    spent = wall_clock() - start;
    if (spent > 1 || (course.quick && spent > 0.05)) most = 0;
    else if (spent > 0.1 || course.quick) most = 3;
    else most = 9;
    if (!most) return spent;
    for (; count < most; count++) {
        double time;
        start = wall_clock();
        work(argument);
        time = wall_clock() - start;
        for (i = count; i > 0 && seconds[i - 1] > time; i--) seconds[i] = seconds[i - 1];
        seconds[i] = time;
    }
    return seconds[most / 2];
}

/* Operations in float a second that this many threads reach at the same time. */
static inline double peak_of_threads(int threads) {
    double sum = 0;
    (void)threads;
#ifdef _OPENMP
#pragma omp parallel num_threads(threads) reduction(+ : sum)
#endif
    sum += peak_of_core(0);
    return sum;
}

/* From here on a ladder's rungs use so many threads. They reach `ceiling` at most, counted as in rung() (0: not known). */
static inline void ladder_threads(int threads, double ceiling) {
    ladder.ceiling = ceiling;
    if (ceiling <= 0) return;
    printf("  %-44s %10.4g %s\n", text_of("the most that was measured of %d thread%s", threads, &"s"[threads == 1]),
           ceiling / ladder.scale, ladder.unit);
}

/* A ladder: rates are printed in `unit`, which is `scale` of what rung() counts, and beside `ceiling`, the same count a second
   at most on one thread (0: nothing is known). */
static inline void ladder_begin(const char *name, const char *title, const char *unit, double scale, double ceiling) {
    ladder.name = name;
    ladder.unit = unit;
    ladder.scale = scale;
    ladder.first = ladder.last = 0;
    ladder.file = course_file(name);
    fprintf(ladder.file, "# ladder,%s,%s\nrung,rate,share\n", title, unit);
    printf("\n%s\n", title);
    ladder_threads(1, ceiling);
}

/* One rung: how much work was done, counted as in ladder_begin, and in how many seconds. */
static inline void rung(const char *name, double work, double seconds) {
    double rate = work / seconds;
    printf("  %-44s %10.4g %s", name, rate / ladder.scale, ladder.unit);
    if (ladder.last > 0) printf(", %.3g x the rung before, %.3g x the first", rate / ladder.last, rate / ladder.first);
    else ladder.first = rate;
    if (ladder.ceiling > 0) printf(", %.3g %% of the most", 100 * rate / ladder.ceiling);
    printf("\n");
    fprintf(ladder.file, "%s,%.6g,", name, rate / ladder.scale);
    if (ladder.ceiling > 0) fprintf(ladder.file, "%.4g", 100 * rate / ladder.ceiling);
    fprintf(ladder.file, "\n");
    ladder.last = rate;
    fflush(stdout);
}

static inline void ladder_end(void) { close_written(ladder.file, ladder.name); }

/* A curve: points of one or several lines over x; `log`: "", "x", "y" or "xy". Lines are told apart by their names. */
static FILE *curve_file;

static inline void curve_begin(const char *name, const char *title, const char *x, const char *y, const char *log) {
    curve_file = course_file(name);
    fprintf(curve_file, "# curve,%s,%s,%s,%s\nline,x,y\n", title, x, y, log);
}
static inline void curve_point(const char *line, double x, double y) {
    fprintf(curve_file, "%s,%.9g,%.9g\n", line, x, y);
}
static inline void curve_end(void) { close_written(curve_file, "a curve"); }

#endif
