/* compare.h - how two cubes of one size differ: pixel by pixel, and band by band. */
#ifndef HYPERCUBE_COMPARE
#define HYPERCUBE_COMPARE

#include "html.h"

/* Of a band, over the pixels that both cubes have. */
typedef struct band_sums {
    double first_base, second_base; /* the values of the first pixel */
    double first, second, first2, second2, product, off2, most;
} band_sums;

typedef struct comparison {
    job *j;
    cube_file other;
    const int *list;     /* which of its bands are those in use */
    double pixels, same; /* compared, and with equal values in all bands */
    band_sums *bands;
} comparison;

/* The bands in use of a pixel; returns 0 where one of them is missing. */
static int take_pixel(const cube_file *f, int bands, const int *list, const void *line, int x, double *values) {
    int i;
    for (i = 0; i < bands; i++) {
        values[i] = get_value(line, value_index(f, 1, 0, x, list[i]), f->type, f->swap);
        if (is_missing(f, values[i])) return 0;
    }
    return 1;
}

/* Sums are of differences from the first pixel: squares of large values would leave no digits to what varies. */
static void add_to_band(band_sums *s, double a, double b, int begun) {
    if (!begun) {
        s->first_base = a;
        s->second_base = b;
    }
    a -= s->first_base;
    b -= s->second_base;
    s->first += a;
    s->second += b;
    s->first2 += a * a;
    s->second2 += b * b;
    s->product += a * b;
}

/* Adds a pixel; outputs are the root mean squared difference and the angle, which spectra of length 0 do not have. */
static void compare_pixel(comparison *c, const double *a, const double *b, double *outputs) {
    int n = c->j->cube.band_count, i, same = 1;
    double off2 = 0, aa = 0, bb = 0, ab = 0, cosine;
    for (i = 0; i < n; i++) {
        band_sums *s = &c->bands[i];
        double off = b[i] - a[i];
        add_to_band(s, a[i], b[i], c->pixels > 0);
        s->off2 += off * off;
        s->most = fmax(s->most, fabs(off));
        if (fabs(off) > 0) same = 0;
        off2 += off * off;
        aa += a[i] * a[i];
        bb += b[i] * b[i];
        ab += a[i] * b[i];
    }
    c->pixels++;
    c->same += same;
    outputs[0] = sqrt(off2 / n);
    cosine = ab / sqrt(aa * bb);
    outputs[1] = NO_NUMBER;
    if (aa > 0 && bb > 0) outputs[1] = acos(limited(cosine, -1, 1));
    if (same && aa > 0) outputs[1] = 0;
}

/* A line at a time; the output has two bands of one line each. */
static void compare_lines(comparison *c) {
    job *j = c->j;
    size_t width = (size_t)j->in.samples;
    char *first = room_for_lines(&j->in, 1);
    char *second = room_for_lines(&c->other, 1);
    char *written = (char *)allocate(2 * width, sizeof(double));
    unsigned char *room = ALLOCATE(unsigned char, width);
    double *a = ALLOCATE(double, j->cube.band_count), *b = ALLOCATE(double, j->cube.band_count), outputs[2];
    int n = j->cube.band_count, x, y, k;
    for (y = 0; y < j->in.lines; y++) {
        const unsigned char *marks = marks_of(j, y, 1, room);
        must_read(&j->in, y, 1, first);
        must_read(&c->other, y, 1, second);
        for (x = 0; x < j->in.samples; x++) {
            int valid = (!marks || marks[x]) && take_pixel(&j->in, n, j->bands, first, x, a) &&
                        take_pixel(&c->other, n, c->list, second, x, b);
            outputs[0] = outputs[1] = NO_NUMBER;
            if (valid) compare_pixel(c, a, b, outputs);
            for (k = 0; k < 2; k++) {
                if (isnan(outputs[k])) outputs[k] = missing_of(&j->sink);
                put_value(written, value_index(&j->out, 1, 0, x, k), j->sink.type, outputs[k]);
            }
        }
        if (j->sink.write_fn(j->sink.write_user, y, 1, written))
            fail(EXIT_ERROR, "%s: writing it failed: %s", j->out.part.name, strerror(j->out.io.error));
    }
    free(first);
    free(second);
    free(written);
    free(room);
    free(a);
    free(b);
}

/* NaN where one of them is constant. */
static double correlation_of(const band_sums *s, double m) {
    double v = s->first2 - s->first * s->first / m, w = s->second2 - s->second * s->second / m;
    if (!(v > 1e-12 * s->first2) || !(w > 1e-12 * s->second2)) return NO_NUMBER;
    return (s->product - s->first * s->second / m) / sqrt(v * w);
}

static void compare_report(const comparison *c) {
    FILE *file = open_for_writing(c->j->s->output.report);
    double m = c->pixels;
    int i;
    fprintf(file, "band,mean of the first,mean of the second,rmse,largest difference,correlation\n");
    for (i = 0; i < c->j->cube.band_count; i++) {
        const band_sums *s = &c->bands[i];
        double correlation = correlation_of(s, m);
        fprintf(file, "%d,%.9g,%.9g,%.9g,%.9g,", c->j->bands[i] + 1, s->first_base + s->first / m, s->second_base + s->second / m,
                sqrt(s->off2 / m), s->most);
        if (isnan(correlation)) fputc('\n', file);
        else fprintf(file, "%.9g\n", correlation);
    }
    close_written(file, c->j->s->output.report);
}

/* The second cube has the bands of the first one, or those in use. Options about values hold for both. */
static void open_other(comparison *c, const char *name) {
    job *j = c->j;
    int n = j->cube.band_count, *list, i;
    c->other = cube_open_with(name, NULL, or_empty(j->s->pixels.nodata));
    if (c->other.bands == n && n < j->in.bands) {
        list = ALLOCATE(int, n);
        for (i = 0; i < n; i++) list[i] = i;
        c->list = list;
        lay_beside(&c->other, name, &j->in, n, "the first cube uses");
    } else {
        c->list = j->bands;
        lay_beside(&c->other, name, &j->in, j->in.bands, "the first cube has");
    }
    warn_of_differences(j, &c->other, c->list);
    select_nodata(&c->other, j->s->pixels.nodata, 0);
    if (j->s->pixels.reflectance) scale_to_reflectance(&c->other);
    if (j->s->pixels.gains) must_scale_by_gains(&c->other);
}

static void run_compare(const settings *s, char **names) {
    static char rmse[] = "RMSE", angle[] = "Angle";
    static char *const band_names[2] = {rmse, angle};
    comparison c = SHS_ZERO;
    double off2 = 0, most = 0;
    int i;
    job *j = job_open(s, COMPARE, names[0], names[2]);
    c.j = j;
    open_other(&c, names[1]);
    c.bands = ALLOCATE(band_sums, j->cube.band_count);
    output_start(j, 2, "Differences from ");
    compare_lines(&c);
    if (!(c.pixels > 0)) fail(EXIT_ERROR, "%s: no pixel has all bands in use, here and in %s", names[0], names[1]);
    for (i = 0; i < j->cube.band_count; i++) {
        off2 += c.bands[i].off2;
        most = fmax(most, c.bands[i].most);
    }
    j->out.names = band_names;
    j->look = LOOK_HIGH;
    output_show(j, "Difference", NULL);
    if (s->output.report) compare_report(&c);
    write_html(j, "Difference", NULL);
    printf("rmse=%.6g largest=%.6g equal=%.0f pixels=%.0f bands=%d\n", sqrt(off2 / c.pixels / j->cube.band_count), most, c.same,
           c.pixels, j->cube.band_count);
    free(c.bands);
    cube_close(&c.other);
    job_close(j);
}

#endif /* HYPERCUBE_COMPARE */
