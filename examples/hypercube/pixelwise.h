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
    int lines;
    size_t bands, outputs, room_values;
    const void *values;         /* of the cube */
    const unsigned char *marks; /* NULL: all pixels count */
    void *written;              /* of the sink's type, laid out as the output */
    double *room;               /* of each thread: bands, outputs, room */
    pixel_fn fn;
    const void *user;
} pixel_block;

enum { PIXELS_AT_ONCE = 16 }; /* their values stay in the first level of cache while a layout by bands becomes one by pixels */

/* Reads `count` pixels of line y, from column x on: the bands in use of one pixel stand side by side. valid[k]: pixel k has a
   value in each of them. */
static void read_pixels(const pixel_block *b, int y, int x, int count, double *bands, unsigned char *valid) {
    const job *j = b->j;
    const cube_file *in = &j->in;
    const unsigned char *marks = b->marks;
    size_t i;
    value_run run;
    int k;
    run.count = count;
    run.step = 1;
    if (in->interleave == SHS_INTERLEAVE_BIP) run.step = (size_t)in->bands;
    for (i = 0; i < b->bands; i++) {
        run.first = value_index(in, b->lines, y, x, j->bands[i]);
        get_run(b->values, run, in->type, in->swap, bands + i, b->bands);
    }
    if (marks) marks += element_at(y, in->samples, x);
    for (k = 0; k < count; k++) {
        valid[k] = !marks || marks[k];
        for (i = 0; i < b->bands && valid[k]; i++) valid[k] = !is_missing(in, bands[i]);
        bands += b->bands;
    }
}

/* Writes the outputs of some pixels, with the value for no data in place of NaN; returns how many are valid. */
static double write_pixels(const pixel_block *b, int y, int x, int count, double *outputs) {
    const job *j = b->j;
    double missing = missing_of(&j->sink), valid = 0;
    size_t values = (size_t)count * b->outputs, i;
    value_run run;
    int k;
    for (i = 0; i < values; i++) {
        if (isfinite(outputs[i])) valid++;
        else outputs[i] = missing;
    }
    run.count = count;
    run.step = 1;
    if (j->out.interleave == SHS_INTERLEAVE_BIP) run.step = b->outputs;
    for (k = 0; k < j->out.bands; k++) {
        run.first = value_index(&j->out, b->lines, y, x, k);
        put_run(b->written, run, j->sink.type, outputs + k, b->outputs);
    }
    return valid;
}

/* Returns how many of the outputs are valid. */
static double compute_line(const pixel_block *b, int y, double *room) {
    double *bands = room, *outputs = bands + b->bands * PIXELS_AT_ONCE, *rest = outputs + b->outputs * PIXELS_AT_ONCE, count = 0;
    unsigned char valid[PIXELS_AT_ONCE];
    int samples = b->j->in.samples, x, k;
    for (x = 0; x < samples; x += PIXELS_AT_ONCE) {
        int pixels = smaller(samples - x, PIXELS_AT_ONCE);
        const double *from = bands;
        double *to = outputs;
        read_pixels(b, y, x, pixels, bands, valid);
        for (k = 0; k < pixels; k++) {
            size_t i;
            if (valid[k]) b->fn(b->user, from, to, rest);
            for (i = 0; i < b->outputs && !valid[k]; i++) to[i] = NO_NUMBER;
            from += b->bands;
            to += b->outputs;
        }
        count += write_pixels(b, y, x, pixels, outputs);
    }
    return count;
}

static size_t room_of_thread(const pixel_block *b) {
    return PIXELS_AT_ONCE * (b->bands + b->outputs) + b->room_values;
}

static double compute_lines(const pixel_block *b, int threads) {
    size_t each = room_of_thread(b);
    double count = 0;
    int y;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(+ : count)
    for (y = 0; y < b->lines; y++) count += compute_line(b, y, b->room + (size_t)omp_get_thread_num() * each);
#else
    (void)threads;
    for (y = 0; y < b->lines; y++) count += compute_line(b, y, b->room + 0 * each);
#endif
    return count;
}

/* Every pixel of the cube into the output, which output_start has begun. Returns how many of the values that it wrote are valid. */
static double each_pixel(job *j, int outputs, int room_values, pixel_fn fn, const void *user) {
    int threads = threads_of(j), lines = lines_of_block(j), first;
    size_t values_of_line;
    pixel_block b = SHS_ZERO;
    double count = 0;
    char *values;
    unsigned char *marks;
    b.j = j;
    b.bands = (size_t)j->cube.band_count;
    b.outputs = (size_t)outputs;
    b.room_values = (size_t)room_values;
    values_of_line = values_in_lines(&j->in, 1) + elements(j->in.samples, outputs);
    if (!lines) lines = ((int)(8000000 / values_of_line) / threads + 1) * threads;
    lines = smaller(lines, j->in.lines);
    b.fn = fn;
    b.user = user;
    values = room_for_lines(&j->in, lines);
    b.written = allocate(elements(j->in.samples, outputs) * sizeof(double), (size_t)lines);
    b.room = ALLOCATE(double, (size_t)threads * room_of_thread(&b));
    marks = ALLOCATE(unsigned char, elements(lines, j->in.samples));
    b.values = values;
    for (first = 0; first < j->in.lines; first += lines) {
        b.lines = smaller(lines, j->in.lines - first);
        show_lines(j, "pixel by pixel", first);
        must_read(&j->in, first, b.lines, values);
        b.marks = marks_of(j, first, b.lines, marks);
        count += compute_lines(&b, threads);
        if (j->sink.write_fn(j->sink.write_user, first, b.lines, b.written))
            fail(EXIT_ERROR, "%s: writing it failed: %s", j->out.part.name, strerror(j->out.io.error));
    }
    progress_clear();
    free(values);
    free(b.written);
    free(b.room);
    free(marks);
    return count;
}

/* What is told of a band over pixels; logarithms are those of pixels that are positive in all bands. */
enum band_figure { MEAN, MEAN_OF_LOGARITHMS, LEAST };

/* The figure of each band in use, over the pixels that have all bands and lie in the window (NULL: all). Returns how many there
   are. */
static double figure_of_pixels(job *j, const int *window, enum band_figure which, double *figure) {
    const cube_file *in = &j->in;
    const int logarithms = which == MEAN_OF_LOGARITHMS;
    int n = j->cube.band_count, x, y, i;
    char *line = room_for_lines(in, 1);
    unsigned char *room = ALLOCATE(unsigned char, in->samples);
    double *pixel = ALLOCATE(double, n), count = 0;
    for (i = 0; i < n; i++) figure[i] = 0;
    for (y = 0; y < in->lines; y++) {
        const unsigned char *marks = marks_of(j, y, 1, room);
        if (window && (y < window[1] || y >= window[1] + window[3])) continue;
        must_read(&j->in, y, 1, line);
        for (x = 0; x < in->samples; x++) {
            int valid = (!marks || marks[x]) && (!window || (x >= window[0] && x < window[0] + window[2]));
            for (i = 0; i < n && valid; i++) {
                pixel[i] = get_value(line, value_index(in, 1, 0, x, j->bands[i]), in->type, in->swap);
                valid = !is_missing(in, pixel[i]) && (!logarithms || pixel[i] > 0);
                if (logarithms && valid) pixel[i] = log(pixel[i]);
            }
            for (i = 0; i < n && valid; i++) {
                if (which != LEAST) figure[i] += pixel[i];
                else if (!(count > 0) || pixel[i] < figure[i]) figure[i] = pixel[i];
            }
            count += valid;
        }
    }
    for (i = 0; i < n && count > 0 && which != LEAST; i++) figure[i] /= count;
    free(line);
    free(room);
    free(pixel);
    return count;
}

#endif /* HYPERCUBE_PIXELWISE */
