/* badbands.h - which bands are of no use: those that the header calls bad, in water vapour's windows, constant, missing, noisy. */
#ifndef HYPERCUBE_BADBANDS
#define HYPERCUBE_BADBANDS

#include "count.h"
#include "html.h"

enum band_state { BAND_USED, BAND_NOT_CHOSEN, BAND_HEADER, BAND_WATER, BAND_MISSING, BAND_CONSTANT, BAND_NOISE, BAND_STATES };
static const char *const band_words[BAND_STATES] = {"", "not chosen", "header", "water", "missing", "constant", "noise"};
static const double usual_band_snr = 10;

static double least_band_snr(const settings *s) {
    if (s->bands.least_snr >= 0) return s->bands.least_snr;
    return usual_band_snr;
}

typedef struct band_states {
    int bands;
    enum band_state *state; /* of each band of the file */
    double *snr;            /* NaN: not known */
} band_states;

static int count_state(const band_states *b, enum band_state state) {
    int i, count = 0;
    for (i = 0; i < b->bands; i++) count += b->state[i] == state;
    return count;
}

/* The numbers of the bands of this state, as 4,37-39; the caller frees the text. */
static char *list_of_state(const band_states *b, enum band_state state) {
    unsigned char *marked = ALLOCATE(unsigned char, b->bands);
    int *all = ALLOCATE(int, b->bands), i;
    char *list;
    for (i = 0; i < b->bands; i++) {
        all[i] = i;
        marked[i] = b->state[i] == state;
    }
    list = list_of_numbers(b->bands, all, marked);
    free(all);
    free(marked);
    return list;
}

/* ---- by the header and by wavelength ------------------------------------------------------------------------------ */

/* Where water vapour absorbs nearly all light on its way through the atmosphere and back. */
static int in_water_window(double nanometres) {
    return (nanometres >= 1340 && nanometres <= 1450) || (nanometres >= 1790 && nanometres <= 1970);
}

/* Bands that an option names are taken as they are. */
static int chooses_bands(const settings *s) { return s->pixels.bands || s->pixels.bbl || s->pixels.wavelengths; }

static band_states states_by_header(const job *j) {
    const cube_file *in = &j->in;
    band_states b = SHS_ZERO;
    int chosen = chooses_bands(j->s), water = !j->s->bands.keep_water && has_wavelengths(in), i;
    b.bands = in->bands;
    b.state = ALLOCATE(enum band_state, in->bands);
    b.snr = ALLOCATE(double, in->bands);
    for (i = 0; i < in->bands; i++) {
        b.snr[i] = NO_NUMBER;
        if (chosen) b.state[i] = BAND_NOT_CHOSEN;
        else if (in->axis.good && !(in->axis.good[i] > 0)) b.state[i] = BAND_HEADER;
        else if (water && in_water_window(band_nanometres(in, i))) b.state[i] = BAND_WATER;
    }
    for (i = 0; i < j->cube.band_count && chosen; i++) b.state[j->bands[i]] = BAND_USED;
    return b;
}

/* The job goes on with the bands that are used. Stops where none is. */
static void use_good_bands(job *j, const band_states *b) {
    int i, used = 0;
    for (i = 0; i < b->bands; i++)
        if (b->state[i] == BAND_USED) j->bands[used++] = i;
    if (!used)
        fail(EXIT_ERROR,
             "%s: bands: all %d are bad: %d by bbl, %d by water, %d missing, %d constant, %d by noise; --bands LIST takes "
             "bands as they are",
             j->in.header_name, b->bands, count_state(b, BAND_HEADER), count_state(b, BAND_WATER), count_state(b, BAND_MISSING),
             count_state(b, BAND_CONSTANT), count_state(b, BAND_NOISE));
    j->cube.band_count = j->fit.band_count = used;
}

/* ---- by the pixels ------------------------------------------------------------------------------------------------ */

/* A band that lacks far more pixels than others would take these pixels from all bands. */
static int leave_out_missing(job *j, band_states *b) {
    band_summary *all = summarise(j);
    double least = all->missing, pixels = all->missing + all->count;
    int i, found = 0;
    for (i = 1; i < j->cube.band_count; i++) least = fmin(least, all[i].missing);
    for (i = 0; i < j->cube.band_count; i++) {
        if (!(all[i].missing > least + 0.02 * pixels) && all[i].count > 0) continue;
        b->state[j->bands[i]] = BAND_MISSING;
        found = 1;
    }
    free(all);
    if (found) use_good_bands(j, b);
    return found;
}

/* Which share of each band's variance the others do not predict, by least squares: 1 / (inverse of the correlation)_bb.
   C (n x n): the correlation, replaced by its factor and the factor's inverse. A band that others determine has share 0. */
static void unpredicted_shares(int n, double *C, double *share) {
    int i, k, c;
    for (c = 0; c < n; c++) { /* column c of L, where C = L L' */
        double *column = C + elements(c, n), pivot;
        for (k = 0; k < c; k++) {
            const double *before = C + elements(k, n);
            for (i = c; i < n; i++) column[i] -= before[c] * before[i];
        }
        pivot = sqrt(fmax(column[c], 1e-13));
        for (i = c + 1; i < n; i++) column[i] /= pivot;
        column[c] = pivot;
    }
    for (c = 0; c < n; c++) { /* column c of the inverse of L; its squares add up to the diagonal of C's inverse */
        double *x = share, sum = 0;
        for (i = c; i < n; i++) x[i] = i == c;
        for (i = c; i < n; i++) {
            const double *column = C + elements(i, n);
            x[i] /= column[i];
            sum += x[i] * x[i];
            for (k = i + 1; k < n; k++) x[k] -= column[k] * x[i];
        }
        share[c] = 1 / sum; /* entries before c are no longer needed */
    }
}

/* Marks constant bands; returns how many there are. C becomes the correlation of the bands. */
static int leave_out_constant(job *j, band_states *b, double *C) {
    int n = j->cube.band_count, i, k, found = 0;
    double *deviation = ALLOCATE(double, n);
    for (i = 0; i < n; i++) {
        double variance = C[element_at(i, n, i)];
        if (variance > 0) deviation[i] = sqrt(variance);
        else {
            b->state[j->bands[i]] = BAND_CONSTANT;
            found++;
        }
    }
    for (k = 0; k < n && !found; k++)
        for (i = 0; i < n; i++) C[element_at(k, n, i)] /= deviation[k] * deviation[i];
    free(deviation);
    return found;
}

/* The ratio of the variance that the other bands predict to that which they do not, unbiased for the number of pixels. */
static void note_snr(job *j, band_states *b, double *C, double pixels) {
    int n = j->cube.band_count, i;
    double *share = ALLOCATE(double, n);
    unpredicted_shares(n, C, share);
    for (i = 0; i < n; i++) {
        double noise = fmin(1, share[i] * pixels / (pixels - n));
        b->snr[j->bands[i]] = (1 - noise) / noise;
    }
    free(share);
}

/* The moments of the bands in use, which lose those that are missing and constant until none is. */
static double correlation_of_bands(job *j, band_states *b, double **C) {
    for (;;) {
        const int n = j->cube.band_count;
        const size_t entries = elements(n, n);
        int constant, looked = 0;
        shs_moments m = SHS_ZERO;
        shs_status status = run_cube(j, call_on(make_moments, &j->fit, NULL, NULL, &m));
        shs_wide *mean = ALLOCATE(shs_wide, n), *covariance = ALLOCATE(shs_wide, entries);
        double pixels = (double)m.count, all = (double)j->in.samples * j->in.lines;
        size_t i;
        progress_clear();
        if (status == SHS_OK) status = shs_moments_finish(&m, SHS_DIVISOR_N, mean, covariance, n);
        shs_moments_free(&j->ctx, &m);
        if (status == SHS_NO_PIXELS || pixels < 0.95 * all) looked = !chooses_bands(j->s) && leave_out_missing(j, b);
        *C = ALLOCATE(double, entries);
        for (i = 0; i < entries; i++) (*C)[i] = (double)covariance[i];
        free(mean);
        free(covariance);
        if (looked) {
            free(*C);
            continue;
        }
        check_job(j, status);
        constant = leave_out_constant(j, b, *C);
        if (!constant) return pixels;
        use_good_bands(j, b);
        free(*C);
    }
}

/* Bands that an option names stay in use, whatever they hold. */
static band_states judge_bands(job *j, double least_snr) {
    band_states b = states_by_header(j);
    int chosen = chooses_bands(j->s), i;
    double *C, pixels;
    use_good_bands(j, &b);
    pixels = correlation_of_bands(j, &b, &C);
    if (j->cube.band_count > 1 && pixels > j->cube.band_count + 1) note_snr(j, &b, C, pixels);
    else if (j->cube.band_count > 1)
        warn("%s: %.0f valid pixels are too few to tell noise in %d bands", j->in.header_name, pixels, j->cube.band_count);
    free(C);
    for (i = 0; i < b.bands; i++) {
        if (chosen && b.state[i] == BAND_CONSTANT) b.state[i] = BAND_USED;
        if (!chosen && b.snr[i] < least_snr) b.state[i] = BAND_NOISE;
    }
    use_good_bands(j, &b);
    return b;
}

/* ---- bands -------------------------------------------------------------------------------------------------------- */

static void write_band_states(const job *j, const band_states *b, const char *name) {
    FILE *file = open_for_writing(name);
    char *heading = wavelength_heading(&j->in), *number;
    int i;
    fprintf(file, "band,%s,snr,used,reason\n", heading);
    free(heading);
    for (i = 0; i < b->bands; i++) {
        fprintf(file, "%d,", i + 1);
        if (j->in.axis.wavelength) {
            number = number_text(j->in.axis.wavelength[i]);
            fputs(number, file);
            free(number);
        }
        fputc(',', file);
        if (isfinite(b->snr[i])) fprintf(file, "%.6g", b->snr[i]);
        fprintf(file, ",%d,%s\n", b->state[i] == BAND_USED, band_words[b->state[i]]);
    }
    close_written(file, name);
}

static void free_band_states(band_states *b) {
    free(b->state);
    free(b->snr);
}

static void run_bands(const settings *s, char **names) {
    job *j = job_open(s, BANDS, names[0], NULL);
    band_states b;
    char *list;
    int state;
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    will_write(names[1]);
    b = judge_bands(j, least_band_snr(s));
    write_band_states(j, &b, names[1]);
    for (state = BAND_HEADER; state < BAND_STATES; state++) {
        list = list_of_state(&b, (enum band_state)state);
        if (*list) printf("%-8s  %s\n", band_words[state], list);
        free(list);
    }
    list = list_of_state(&b, BAND_USED);
    printf("--bands %s\n", list);
    printf("seconds=%.3f used=%d bands=%d\n", wall_clock() - j->start, count_state(&b, BAND_USED), b.bands);
    free(list);
    free_band_states(&b);
    job_close(j);
}

#endif /* HYPERCUBE_BADBANDS */
