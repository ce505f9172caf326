/* pixelwise.h - output cubes in which each pixel depends on one input pixel: read in blocks, computed on all threads,
   written. */
#ifndef HYPERCUBE_PIXELWISE
#define HYPERCUBE_PIXELWISE

#include "html.h"

/* Computes the outputs of a pixel from its bands in use, in double. An output without a value is NaN. room: scratch, of the
   size given to each_pixel. */
typedef void (*pixel_fn)(const void *user, const double *bands, double *outputs, double *room);

typedef struct pixel_block {
    job *j;
    int lines, outputs, room_values;
    const void *values;         /* of the cube */
    const unsigned char *marks; /* NULL: all pixels count */
    void *written;              /* of the sink's type, laid out as the output */
    double *room;               /* of each thread: bands, outputs, room */
    pixel_fn fn;
    const void *user;
} pixel_block;

/* Where the value of an output stands in a block. */
static size_t output_index(const pixel_block *b, int y, int x, int k) {
    size_t samples = (size_t)b->j->in.samples, row = (size_t)y, column = (size_t)x, output = (size_t)k;
    if (b->j->out.interleave == SHS_INTERLEAVE_BIP) return (row * samples + column) * (size_t)b->outputs + output;
    if (b->j->out.interleave == SHS_INTERLEAVE_BIL) return (row * (size_t)b->outputs + output) * samples + column;
    return (output * (size_t)b->lines + row) * samples + column;
}

/* Returns how many of the outputs are valid. */
static double compute_line(const pixel_block *b, int y, double *room) {
    const job *j = b->j;
    const cube_file *in = &j->in;
    int n = j->cube.band_count, x, i;
    double *bands = room, *outputs = bands + n, missing = j->sink.has_nodata ? (double)j->sink.nodata : (double)NAN, count = 0;
    for (x = 0; x < in->samples; x++) {
        int valid = !b->marks || b->marks[(size_t)y * (size_t)in->samples + (size_t)x];
        for (i = 0; i < n && valid; i++) {
            bands[i] = get_value(b->values, value_index(in, b->lines, y, x, j->bands[i]), in->type, in->swap);
            valid = !is_missing(in, bands[i]);
        }
        if (valid) b->fn(b->user, bands, outputs, outputs + b->outputs);
        for (i = 0; i < b->outputs; i++) {
            int has = valid && isfinite(outputs[i]);
            put_value(b->written, output_index(b, y, x, i), j->sink.type, has ? outputs[i] : missing);
            count += has;
        }
    }
    return count;
}

static double compute_lines(const pixel_block *b, int threads) {
    size_t each = (size_t)(b->j->cube.band_count + b->outputs + b->room_values);
    double count = 0;
    int y;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : count)
    for (y = 0; y < b->lines; y++) count += compute_line(b, y, b->room + (size_t)omp_get_thread_num() * each);
#else
    (void)threads;
    for (y = 0; y < b->lines; y++) count += compute_line(b, y, b->room + 0 * each);
#endif
    return count;
}

static int threads_of(const job *j) {
#ifdef _OPENMP
    return j->s->threads > 0 ? sane_threads(j->s->threads) : omp_get_max_threads();
#else
    (void)j;
    return 1;
#endif
}

/* Every pixel of the cube into the output, which output_start has begun. Returns how many of the values that it wrote are valid. */
static double each_pixel(job *j, int outputs, int room_values, pixel_fn fn, const void *user) {
    int n = j->cube.band_count, threads = threads_of(j), lines = lines_of_block(j), first;
    size_t samples = (size_t)j->in.samples, widest = (size_t)(j->in.bands + outputs) * sizeof(double);
    pixel_block b = SHS_ZERO;
    double count = 0;
    char *values;
    unsigned char *marks;
    if (!lines) lines = (int)(16e6 / (double)(samples * widest)) + 1;
    lines = lines < j->in.lines ? lines : j->in.lines;
    b.j = j;
    b.outputs = outputs;
    b.room_values = room_values;
    b.fn = fn;
    b.user = user;
    values = (char *)allocate(samples * (size_t)j->in.bands * shs_type_size(j->in.type), (size_t)lines);
    b.written = allocate(samples * (size_t)outputs * sizeof(double), (size_t)lines);
    b.room = ALLOCATE(double, (size_t)threads * (size_t)(n + outputs + room_values));
    marks = (unsigned char *)allocate(samples, (size_t)lines);
    b.values = values;
    for (first = 0; first < j->in.lines; first += lines) {
        b.lines = lines < j->in.lines - first ? lines : j->in.lines - first;
        must_read(&j->in, first, b.lines, values);
        b.marks = marks_of(j, first, b.lines, marks);
        count += compute_lines(&b, threads);
        if (j->sink.write_fn(j->sink.write_user, first, b.lines, b.written))
            fail(EXIT_ERROR, "%s: writing it failed: %s", j->out.part_name, strerror(j->out.error));
    }
    free(values);
    free(b.written);
    free(b.room);
    free(marks);
    return count;
}

/* The mean of each band in use over the pixels that count and lie in the window (NULL: all); returns how many there are. With
   logarithms: the mean of the logarithm, over pixels that are positive in all bands. */
static double mean_pixel(job *j, const int *window, int logarithms, double *mean) {
    const cube_file *in = &j->in;
    int n = j->cube.band_count, x, y, i;
    char *line = (char *)allocate((size_t)in->samples * (size_t)in->bands, shs_type_size(in->type));
    unsigned char *room = ALLOCATE(unsigned char, in->samples);
    double *pixel = ALLOCATE(double, n), count = 0;
    for (i = 0; i < n; i++) mean[i] = 0;
    for (y = 0; y < in->lines; y++) {
        const unsigned char *marks = marks_of(j, y, 1, room);
        if (window && (y < window[1] || y >= window[1] + window[3])) continue;
        must_read(&j->in, y, 1, line);
        for (x = 0; x < in->samples; x++) {
            int valid = (!marks || marks[x]) && (!window || (x >= window[0] && x < window[0] + window[2]));
            for (i = 0; i < n && valid; i++) {
                pixel[i] = get_value(line, value_index(in, 1, 0, x, j->bands[i]), in->type, in->swap);
                valid = !is_missing(in, pixel[i]) && (!logarithms || pixel[i] > 0);
            }
            for (i = 0; i < n && valid; i++) mean[i] += logarithms ? log(pixel[i]) : pixel[i];
            count += valid;
        }
    }
    for (i = 0; i < n; i++) mean[i] /= count > 0 ? count : 1;
    free(line);
    free(room);
    free(pixel);
    return count;
}

/* X,Y,W,H of the file, as a window of the cube that was read. */
static void region_of(const job *j, const char *option_name, const char *text, int *window) {
    const cube_file *in = &j->in;
    chosen_window(option_name, text, window);
    if (in->folded) turn_window(window);
    window[0] -= in->left;
    window[1] -= in->top;
    if (window[0] < 0 || window[1] < 0 || window[0] > in->samples - window[2] || window[1] > in->lines - window[3])
        fail(EXIT_USAGE, "%s: %s is not within the pixels of %s", option_name, text, in->header_name);
}

#endif /* HYPERCUBE_PIXELWISE */
