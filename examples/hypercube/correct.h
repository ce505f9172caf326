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
    if (!(mean_pixel(j, window, p->logarithms, p->gain) > 0))
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
    band_summary *all = summarise(j);
    int i;
    for (i = 0; i < p->n; i++) {
        if (!(all[i].count > 0)) fail_for_pixels(j);
        p->gain[i] = 1;
        p->offset[i] = -all[i].low;
    }
    free(all);
}

static void plan_by_table(const job *j, correction_plan *p, const char *name) {
    table t = table_read(name);
    int gain = -1, offset = -1, c, i, every = t.rows == j->in.bands;
    for (c = 0; c < t.columns; c++) {
        char *plain = plain_letters(heading_of(&t, c));
        if (begins_with(plain, "gain")) gain = c;
        if (begins_with(plain, "offset") || begins_with(plain, "bias")) offset = c;
        free(plain);
    }
    if (gain < 0 && offset < 0) fail(EXIT_ERROR, "%s: --table: needs a column `gain` or `offset`", name);
    if (!every && t.rows != p->n)
        fail(EXIT_ERROR, "%s: rows: %d, but %s has %d bands, of which %d are in use", name, t.rows, j->in.header_name, j->in.bands,
             p->n);
    for (i = 0; i < p->n; i++) {
        int row = i;
        if (every) row = j->bands[i];
        p->gain[i] = 1;
        p->offset[i] = 0;
        if (gain >= 0) p->gain[i] = table_value(&t, row, gain);
        if (offset >= 0) p->offset[i] = table_value(&t, row, offset);
        if (!isfinite(p->gain[i]) || !isfinite(p->offset[i]))
            fail(EXIT_ERROR, "%s: row %d: a gain or an offset is missing", name, row + 1);
    }
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
