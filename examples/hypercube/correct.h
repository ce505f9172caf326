/* correct.h - relative reflectance from radiance, by what the scene itself holds; dark objects; gains of a table. */
#ifndef HYPERCUBE_CORRECT
#define HYPERCUBE_CORRECT

#include "pixelwise.h"
#include "tables.h"

enum correction { FLAT_FIELD, INTERNAL_AVERAGE, LOG_RESIDUALS, DARK_OBJECT, GAINS_OF_TABLE };

typedef struct correction_plan {
    int n, logarithms;
    double *gain, *offset; /* n: out = gain x + offset; with logarithms out = gain x / (geometric mean of the pixel) */
} correction_plan;

static void correct_pixel(const void *user, const double *bands, double *outputs, double *room) {
    const correction_plan *p = (const correction_plan *)user;
    double sum = 0, own = 1;
    int i;
    (void)room;
    for (i = 0; i < p->n && p->logarithms; i++) {
        if (bands[i] > 0) sum += log(bands[i]);
        else sum = NO_NUMBER;
    }
    if (p->logarithms) own = exp(sum / p->n);
    for (i = 0; i < p->n; i++) outputs[i] = p->gain[i] * bands[i] / own + p->offset[i];
}

/* One over the mean spectrum of a region or of the scene; with logarithms the geometric means of the log residuals (Green, Craig
   1985): x_b times the scene's mean over (the pixel's mean times the band's mean). */
static void plan_by_mean(job *j, correction_plan *p, const int *window, const char *where) {
    double all = 0;
    int i;
    enum band_figure figure = MEAN;
    if (p->logarithms) figure = MEAN_OF_LOGARITHMS;
    if (!(figure_of_pixels(j, window, figure, p->gain) > 0))
        fail(EXIT_ERROR, "%s: %s: no pixel has all bands in use%s", j->in.header_name, where, p->logarithms ? " above 0" : "");
    for (i = 0; i < p->n; i++) all += p->gain[i] / p->n;
    for (i = 0; i < p->n; i++) {
        if (p->logarithms) p->gain[i] = exp(all - p->gain[i]);
        else if (p->gain[i] > 0) p->gain[i] = 1 / p->gain[i];
        else fail(EXIT_ERROR, "%s: %s: the mean of band %d is %g, and it must be above 0: --bands or --bbl leave bands out",
                  j->in.header_name, where, j->bands[i] + 1, p->gain[i]);
    }
}

static void plan_by_dark(job *j, correction_plan *p) {
    double *least = ALLOCATE(double, p->n);
    int i;
    if (!(figure_of_pixels(j, NULL, LEAST, least) > 0)) fail_for_pixels(j);
    for (i = 0; i < p->n; i++) {
        p->gain[i] = 1;
        p->offset[i] = -least[i];
    }
    free(least);
}

/* Returns the column whose heading begins with one of two words; -1: none. Deviations (gain_std) do not count. Stops at a second
   such column. */
static int column_beginning(const table *t, const char *word, const char *other) {
    int found = -1, c;
    for (c = 0; c < t->columns; c++) {
        char *plain = plain_letters(heading_of(t, c)), before[80];
        const int is = (begins_with(plain, word) || begins_with(plain, other)) && !is_deviation(t, c);
        free(plain);
        if (!is) continue;
        if (found >= 0) {
            strcpy(before, column_name(t, found));
            fail(EXIT_ERROR, "%s: --table: %s and %s: a table has one column of each kind", t->name, before, column_name(t, c));
        }
        found = c;
    }
    return found;
}

/* Rows cannot be taken by a column `band` that does not count: tells of the first row that another one is like, or that has no
   whole number. */
static void fail_for_numbers(const table *t, int column) {
    int r, other;
    for (r = 0; r < t->rows; r++) {
        const double number = table_value(t, r, column);
        if (isnan(number))
            fail(EXIT_ERROR, "%s: --table: %s: row %d has no number, and rows are taken by these numbers", t->name,
                 column_name(t, column), r + 1);
        if (!is_whole(number))
            fail(EXIT_ERROR, "%s: --table: %s: row %d has %g, and rows are taken by these numbers: whole ones from 0 or 1",
                 t->name, column_name(t, column), r + 1, number);
        for (other = 0; other < r; other++)
            if (!(fabs(table_value(t, other, column) - number) > 0))
                fail(EXIT_ERROR, "%s: --table: %s: rows %d and %d both have %g, and rows are taken by these numbers", t->name,
                     column_name(t, column), other + 1, r + 1, number);
    }
}

/* A column that is neither gain, offset nor wavelength: it numbers the rows, says something of the bands, or is not used. */
static void read_other_column(const job *j, table *t, int column) {
    const char *heading = heading_of(t, column);
    if (numbers_rows(t, column)) {
        take_numbers(t, column);
        return;
    }
    if (names_bands(heading) && (t->wavelengths < 0 || !has_wavelengths(&j->in))) fail_for_numbers(t, column);
    if (is_gap_column(t, column) || names_property(heading) || is_deviation(t, column)) return;
    warn("%s: --table: %s is not used: a column `gain` multiplies, a column `offset` adds", t->name, column_name(t, column));
}

/* A row belongs to the band of its wavelength, where table and cube state wavelengths, or of its number in a column `band`, or
   in another one that numbers rows in another order; otherwise rows are in the order of bands. */
static void plan_by_table(const job *j, correction_plan *p, const char *name) {
    table t = table_read(j, name);
    row_place *places = ALLOCATE(row_place, p->n);
    int gain, offset, c, i;
    if (!t.rows) fail(EXIT_ERROR, "%s: --table: it has no rows of numbers, and needs one for each band", name);
    gain = column_beginning(&t, "gain", "gain");
    offset = column_beginning(&t, "offset", "bias");
    if (gain < 0 && offset < 0) fail(EXIT_ERROR, "%s: --table: needs a column `gain` or `offset`", name);
    t.wavelengths = find_wavelengths(&t, &t.unit);
    for (c = 0; c < t.columns; c++)
        if (c != gain && c != offset && c != t.wavelengths) read_other_column(j, &t, c);
    place_rows(j, &t, places);
    for (i = 0; i < p->n; i++) {
        p->gain[i] = 1;
        p->offset[i] = 0;
        if (gain >= 0) p->gain[i] = placed_value(&t, places[i], gain);
        if (offset >= 0) p->offset[i] = placed_value(&t, places[i], offset);
        if (!isfinite(p->gain[i]) || !isfinite(p->offset[i]))
            fail(EXIT_ERROR, "%s: row %d: a gain or an offset is missing", name, places[i].low + 1);
    }
    free(places);
    table_free(&t);
}

static void run_correct(const settings *s, char **names) {
    static const char *const methods[] = {"flat", "iarr", "logres", "dark", "gains"};
    enum correction method;
    correction_plan p = SHS_ZERO;
    int window[4];
    double valid;
    job *j;
    if (!s->method) fail(EXIT_USAGE, "--method: is needed: flat, iarr, logres, dark or gains");
    method = (enum correction)choose("--method", s->method, methods, 5);
    if (method == FLAT_FIELD && !s->correct.region) fail(EXIT_USAGE, "--region: is needed: X,Y,W,H of the flat field");
    if (method != FLAT_FIELD && s->correct.region) fail(EXIT_USAGE, "--region: only --method flat takes it");
    if (method == GAINS_OF_TABLE && !s->correct.table) fail(EXIT_USAGE, "--table: is needed: a table of gains and offsets");
    if (method != GAINS_OF_TABLE && s->correct.table) fail(EXIT_USAGE, "--table: only --method gains takes it");
    if (method == FLAT_FIELD || method == INTERNAL_AVERAGE || method == LOG_RESIDUALS)
        refuse_integers(s, CORRECT, "relative reflectances are of the size of 1");
    if (s->correct.table) will_read(s->correct.table);
    j = job_open(s, CORRECT, names[0], names[1]);
    p.n = j->cube.band_count;
    p.gain = ALLOCATE(double, p.n);
    p.offset = equal_values(p.n, 0);
    p.logarithms = method == LOG_RESIDUALS;
    if (method == FLAT_FIELD) {
        region_of(j, "--region", s->correct.region, window);
        plan_by_mean(j, &p, window, "--region");
    }
    else if (method == DARK_OBJECT) plan_by_dark(j, &p);
    else if (method == GAINS_OF_TABLE) plan_by_table(j, &p, s->correct.table);
    else plan_by_mean(j, &p, NULL, s->method);
    output_start(j, p.n, "Corrected values of ");
    keep_bands(j);
    j->out.origin.same_values = 0;
    if (method == DARK_OBJECT) keep_unit(j);
    valid = each_pixel(j, p.n, 0, correct_pixel, &p);
    if (!(valid > 0)) fail_for_pixels(j);
    output_show(j, "Band", j->bands);
    write_html(j, "Band", NULL);
    printf("seconds=%.3f bands=%d pixels=%.0f\n", j->written - j->start, p.n, (double)j->in.samples * j->in.lines);
    free(p.gain);
    free(p.offset);
    job_close(j);
}

#endif /* HYPERCUBE_CORRECT */
