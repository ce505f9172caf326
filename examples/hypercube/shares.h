/* shares.h - abundances on their way to the file: divided by their sum, and compared with the pixels they are of. */
#ifndef HYPERCUBE_SHARES
#define HYPERCUBE_SHARES

#include "pixelwise.h"
#include "targets.h"

/* The state of a sink for abundances. It receives doubles, pixel after pixel. */
typedef struct shares_way {
    job *j;
    const spectra *of;
    int scaled;        /* they are divided by their sum before they are written */
    int kept;          /* they are written; otherwise only compared */
    cube_file *misfit; /* the cube of errors, or NULL */
} shares_way;

/* ---- how far pixels are from their mixtures ----------------------------------------------------------------------- */

/* The root of the mean squared difference between a pixel and its mixture over p bands; NaN where it is missing. mixed (p) is
   scratch. */
static double misfit_of(int p, const spectra *of, const double *pixel, const double *shares, double *mixed) {
    double sum = 0;
    int b, k;
    for (b = 0; b < p; b++) mixed[b] = 0;
    for (k = 0; k < of->count; k++) {
        const shs_wide *spectrum = of->values + elements(k, p);
        for (b = 0; b < p; b++) mixed[b] += shares[k] * (double)spectrum[b];
    }
    for (b = 0; b < p; b++) sum += (pixel[b] - mixed[b]) * (pixel[b] - mixed[b]);
    if (!isfinite(sum)) return NO_NUMBER;
    return sqrt(sum / p);
}

/* A cube of one band beside the output. described_as: what its header says before the name of the input. */
static cube_file side_create(const job *j, const char *name, shs_type type, double nodata, const char *described_as) {
    cube_file f = SHS_ZERO;
    f.samples = j->in.samples;
    f.lines = j->in.lines;
    f.bands = 1;
    f.type = type;
    f.interleave = SHS_INTERLEAVE_BSQ;
    if (j->in.folded) f.folded = folded_from(SHS_INTERLEAVE_BSQ);
    f.has_nodata = 1;
    f.nodata = nodata;
    f.description = described(described_as, &j->in);
    cube_name(&f, name);
    cube_create(&f);
    return f;
}

static void side_write(cube_file *f, int first, int lines, const void *values) {
    if (write_lines(f, first, lines, values))
        fail(EXIT_ERROR, "%s: writing it failed: %s", f->part.name, strerror(f->io.error));
}

static void side_finish(job *j, cube_file *f, const char *band_name) {
    f->origin.from = &j->in;
    cube_finish(f, band_name, NULL);
    cube_close(f);
}

/* The cube of errors: NaN where there is none. */
static cube_file misfit_create(const job *j, const char *name) {
    return side_create(j, name, SHS_TYPE_F32, NO_NUMBER, "RMSE of the mixtures of ");
}

/* The pixels of some lines as they are in memory, or read. */
static const void *lines_of_pixels(job *j, int first, int lines, char **room) {
    *room = NULL;
    if (j->cube.pixels) return j->cube.pixels;
    *room = room_for_lines(&j->in, lines);
    must_read(&j->in, first, lines, *room);
    return *room;
}

/* Of a line of the block that begins with line 0 of `lines` lines in memory. */
static void misfits_of_line(const shares_way *w, const void *pixels, int lines, int y, const double *shares, float *errors) {
    const job *j = w->j;
    const cube_file *in = &j->in;
    int p = j->cube.band_count, x, b;
    double *pixel = ALLOCATE(double, 2 * p);
    for (x = 0; x < in->samples; x++) {
        for (b = 0; b < p; b++) pixel[b] = get_value(pixels, value_index(in, lines, y, x, j->bands[b]), in->type, in->swap);
        errors[x] = (float)misfit_of(p, w->of, pixel, shares, pixel + p);
        shares += w->of->count;
    }
    free(pixel);
}

static int write_misfits(const shares_way *w, int first, int lines, const double *shares) {
    job *j = w->j;
    int samples = j->in.samples, count = w->of->count;
    char *room;
    const void *pixels = lines_of_pixels(j, first, lines, &room);
    float *errors = ALLOCATE(float, elements(lines, samples));
    int held = lines, before = 0, y;
    if (pixels == j->cube.pixels) { /* all lines are in memory */
        held = j->in.lines;
        before = first;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads_of(j)) schedule(static)
#endif
    for (y = 0; y < lines; y++) {
        const size_t pixel = elements(y, samples);
        misfits_of_line(w, pixels, held, before + y, shares + pixel * (size_t)count, errors + pixel);
    }
    side_write(w->misfit, first, lines, errors);
    free(errors);
    free(room);
    return 0;
}

/* ---- the sink ----------------------------------------------------------------------------------------------------- */

/* Writes abundances in the type of the output. Scaling divides the abundances of a pixel by their sum; a pixel with the sum 0
   becomes missing. */
static int write_shares(void *user, int first, int lines, const void *block) {
    const shares_way *w = (const shares_way *)user;
    const job *j = w->j;
    const double *value = (const double *)block, missing = missing_of(&j->sink);
    const int count = w->of->count;
    char *written;
    int x, y, k, status;
    if (w->misfit) write_misfits(w, first, lines, value);
    if (!w->kept) return 0;
    written = (char *)allocate(values_in_lines(&j->out, lines), shs_type_size(j->sink.type));
    for (y = 0; y < lines; y++)
        for (x = 0; x < j->in.samples; x++) {
            double sum = 1;
            if (w->scaled) sum = 0;
            for (k = 0; k < count && w->scaled; k++) sum += value[k];
            for (k = 0; k < count; k++) {
                const size_t at = value_index(&j->out, lines, y, x, k);
                if (sum > 0 && !isnan(value[k])) put_value(written, at, j->sink.type, value[k] / sum);
                else put_value(written, at, j->sink.type, missing);
            }
            value += count;
        }
    status = j->sink.write_fn(j->sink.write_user, first, lines, written);
    free(written);
    return status;
}

/* Where the abundances go first. */
static shs_sink shares_sink(shares_way *w) {
    shs_sink sink = w->j->sink;
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BIP;
    sink.has_nodata = 1;
    sink.nodata = (shs_wide)NAN;
    sink.rescale = 0;
    sink.write_fn = write_shares;
    sink.write_user = w;
    return sink;
}

#endif /* HYPERCUBE_SHARES */
