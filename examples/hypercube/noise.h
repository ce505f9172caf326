/* noise.h - a noise covariance that is known: from a dark cube, or a matrix in a file; and why neighbours tell none. */
#ifndef HYPERCUBE_NOISE
#define HYPERCUBE_NOISE

#include "cells.h"
#include "select.h"

/* ---- another cube ------------------------------------------------------------------------------------------------- */

static void warn_of_gains(const job *j, const cube_file *other, const int *list) {
    cube_scale here = stated_scale(&j->in, j->bands, j->cube.band_count);
    cube_scale there = stated_scale(other, list, j->cube.band_count);
    const gain_difference d = find_difference(&here, &there, j->cube.band_count);
    if (d.key)
        warn("%s: %s: %.6g in band %d, but %.6g in %s: --gains brings both to one unit", other->header_name, d.key, d.there,
             list[d.at] + 1, d.here, j->in.header_name);
    free_scale(&here);
    free_scale(&there);
}

/* Warns where the headers of the cube and of another one state different wavelengths, gains, or scale factors of reflectance.
   list: the bands of the other one that stand beside the bands in use. */
static void warn_of_differences(const job *j, const cube_file *other, const int *list) {
    const double first = stated_factor(&j->in.text), second = stated_factor(&other->text);
    int i, n = j->cube.band_count, both = has_wavelengths(&j->in) && has_wavelengths(other);
    if (!j->s->pixels.reflectance && !j->s->pixels.gains) warn_of_gains(j, other, list);
    if (!j->s->pixels.reflectance && first > 0 && second > 0 && fabs(first - second) > 1e-9 * first)
        warn("%s: reflectance scale factor: %.6g, but %.6g in %s: --reflectance brings both to one unit", other->header_name,
             second, first, j->in.header_name);
    for (i = 0; i < n && both; i++) {
        double here = band_nanometres(&j->in, j->bands[i]), there = band_nanometres(other, list[i]);
        if (fabs(here - there) <= 0.5 + 1e-3 * here) continue;
        warn("%s: wavelength: band %d is at %.6g nm, but that of %s at %.6g nm", other->header_name, list[i] + 1, there,
             j->in.header_name, here);
        return;
    }
}

/* ---- the covariance of a dark cube -------------------------------------------------------------------------------- */

/* Measures the noise as the covariance of a dark cube with the same bands and any size. The dark cube is read in blocks. Its
   values are in the unit of the pixels: --nodata, --gains and --reflectance hold for it, too. */
static void noise_of_dark(job *j, const char *name) {
    cube_file dark = cube_open_with(name, NULL, or_empty(j->s->pixels.nodata));
    shs_cube cube = SHS_ZERO;
    shs_moments m = SHS_ZERO;
    int n = j->cube.band_count;
    shs_wide *mean = ALLOCATE(shs_wide, n);
    shs_status status;
    will_read(dark.header_name);
    will_read(dark.data_name);
    fold_line(&dark);
    if (dark.bands != j->in.bands)
        fail(EXIT_ERROR, "%s: bands: %d, but %s has %d", name, dark.bands, j->in.header_name, j->in.bands);
    warn_of_differences(j, &dark, j->bands);
    select_nodata(&dark, j->s->pixels.nodata, 0);
    if (j->s->pixels.gains) must_scale_by_gains(&dark);
    if (j->s->pixels.reflectance && (is_integer(dark.type) || stated_factor(&dark.text) > 0)) scale_to_reflectance(&dark);
    cube.type = dark.type;
    cube.interleave = dark.interleave;
    cube.swap_bytes = dark.swap;
    cube.samples = dark.samples;
    cube.lines = dark.lines;
    cube.bands = dark.bands;
    cube.band_list = j->bands;
    cube.band_count = n;
    cube.has_nodata = dark.has_nodata;
    cube.nodata = (shs_wide)dark.nodata;
    cube.read_fn = read_stream;
    cube.read_user = &dark;
    status = shs_moments_create(NULL, n, &m);
    if (status == SHS_OK) status = shs_moments_update(NULL, &cube, SHS_PRECISION_ALWAYS, &m);
    if (status == SHS_READ_FAILED) fail(EXIT_ERROR, "%s: reading it failed: %s", dark.data_name, strerror(dark.io.error));
    if (status == SHS_OK) status = shs_moments_finish(&m, SHS_DIVISOR_N, mean, j->noise, n); /* as the cube's */
    if (status != SHS_OK) fail(EXIT_ERROR, "%s: --noise-from: %s", name, shs_status_text(status));
    shs_moments_free(NULL, &m);
    free(mean);
    cube_close(&dark);
}

/* ---- a matrix in a file ------------------------------------------------------------------------------------------- */

/* A file in memory: a pipe can be read only once. */
typedef struct memory_file {
    const unsigned char *at;
    size_t left;
} memory_file;

static int take_bytes(void *user, void *bytes, size_t count) {
    memory_file *file = (memory_file *)user;
    if (count > file->left) return 1;
    memcpy(bytes, file->at, count);
    file->at += count;
    file->left -= count;
    return 0;
}

/* Of floats in either order of bytes; returns n of n x n. */
static int read_npy(memory_file file, const char *name, double **values) {
    shs_npy npy = SHS_ZERO;
    shs_status status = shs_npy_read_header(&npy, take_bytes, &file);
    if (status == SHS_OK && (npy.kind != 'f' || npy.size < 4))
        fail(EXIT_ERROR, "%s: descr: not of floats of 4 or 8 bytes", name);
    if (status == SHS_OK && (npy.rows < 1 || npy.rows != npy.columns || npy.rows > 65535))
        fail(EXIT_ERROR, "%s: shape: not n x n", name);
    if (status == SHS_OK) {
        size_t n = (size_t)npy.rows;
        *values = ALLOCATE(double, n *n);
        status = shs_npy_read_values(&npy, SHS_TYPE_F64, *values, n, take_bytes, &file);
    }
    if (status == SHS_READ_FAILED) fail(EXIT_ERROR, "%s: --noise-covariance: it is truncated", name);
    if (status != SHS_OK) fail(EXIT_ERROR, "%s: --noise-covariance: %s", name, shs_status_text(status));
    return (int)npy.rows;
}

/* Appends the numbers of a line; *at moves to the next one. A separator at the end begins no cell. */
static void read_csv_line(const char **at, const char *name, double *values, size_t *count) {
    const char separator = separator_of(*at);
    int width, c;
    char **cells = table_cells(at, separator, &width);
    for (c = 0; c < width; c++) {
        if (c > 0 && c + 1 == width && !*cells[c]) continue;
        if (!plain_number(cells[c], separator, values + *count))
            fail(EXIT_ERROR, "%s: --noise-covariance: number %zu: '%.20s' is none", name, *count + 1, cells[c]);
        ++*count;
    }
    free_cells(cells, width);
}

/* Reads a square matrix, n lines of n numbers, written as in tables; returns n. */
static int read_csv(memory_file file, const char *name, double **values) {
    char *text = text_of_bytes(name, file.at, file.left);
    const char *at = after_byte_order_mark(text);
    size_t count = 0, n = 0;
    (void)end_behind_cells(text);
    *values = ALLOCATE(double, strlen(text) / 2 + 1);
    while (*at) {
        if (is_empty_line(at) || is_comment(at)) at = next_line(at);
        else read_csv_line(&at, name, *values, &count);
    }
    while ((n + 1) * (n + 1) <= count) n++;
    if (n < 1 || n * n != count)
        fail(EXIT_ERROR, "%s: --noise-covariance: %zu numbers are no matrix n x n", name, count);
    free(text);
    return (int)n;
}

/* Of the bands in use, or of all, which are then cut to those. */
static void noise_of_file(job *j, const char *name) {
    double *all, most = 0;
    int n, used = j->cube.band_count, a, b;
    size_t size;
    memory_file file;
    unsigned char *bytes = read_file(name, TABLE_BYTES, &file.left);
    file.at = bytes;
    will_read(name);
    if (file.left >= 6 && !memcmp(bytes, "\x93NUMPY", 6)) n = read_npy(file, name, &all);
    else n = read_csv(file, name, &all);
    free(bytes);
    if (n != used && n != j->in.bands)
        fail(EXIT_ERROR, "%s: --noise-covariance: %d x %d, but %d bands of %s are in use", name, n, n, used, j->in.header_name);
    size = (size_t)n;
    for (a = 0; a < n; a++) most = fmax(most, all[elements(a, n + 1)]);
    for (a = 0; a < used; a++)
        for (b = 0; b < used; b++) {
            size_t i = (size_t)a, k = (size_t)b;
            double here, there;
            if (n != used) {
                i = (size_t)j->bands[a];
                k = (size_t)j->bands[b];
            }
            here = all[k * size + i];
            there = all[i * size + k];
            if (!isfinite(here) || !isfinite(there) || !(fabs(here - there) <= 1e-6 * most) || (a == b && here < 0))
                fail(EXIT_ERROR, "%s: --noise-covariance: row %zu, column %zu: a covariance is finite and symmetric", name, i + 1,
                     k + 1);
            j->noise[elements(b, used) + (size_t)a] = (shs_wide)((here + there) / 2);
        }
    free(all);
}

/* The option that says what noise is; NULL: none does. */
static const char *noise_option(const settings *s) {
    if (s->noise.dark) return "--noise-from";
    if (s->noise.covariance) return "--noise-covariance";
    if (s->noise.neighbours) return "--noise";
    if (s->noise.residual) return "--noise-residual";
    if (s->fit.snr > 0) return "--snr";
    return NULL;
}

/* What is known of the noise, and what contradicts it. */
static void select_noise(job *j) {
    const settings *s = j->s;
    int known = s->noise.dark || s->noise.covariance, n = j->cube.band_count;
    const char *first = noise_option(s);
    if (first && j->mode == DENOISE && !s->fit.mnf) fail(EXIT_USAGE, "%s: needs --mnf", first);
    if (s->noise.dark && s->noise.covariance) fail(EXIT_USAGE, "--noise-covariance: --noise-from says already what is noise");
    if (known && s->noise.neighbours) fail(EXIT_USAGE, "--noise: %s says already what is noise", first);
    if (known && s->noise.residual) fail(EXIT_USAGE, "--noise-residual: %s says already what is noise", first);
    if (s->noise.dark && s->pixels.reflectance) fail(EXIT_USAGE, "--noise-from: a dark cube has no --reflectance");
    if (!known) return;
    j->noise = ALLOCATE(shs_wide, elements(n, n));
    if (s->noise.dark) noise_of_dark(j, s->noise.dark);
    else noise_of_file(j, s->noise.covariance);
}

/* ---- neighbours that tell no noise -------------------------------------------------------------------------------- */

static const char *const neighbour_kinds[] = {"right", "lower", "diagonal", "mean"}; /* as shs_neighbours counts them */
enum { PAIR_KINDS = 3 };                                                             /* the mean is that of the others */

/* Whether noise is estimated from the differences of neighbours. */
static int asks_neighbours(const job *j) { return (j->mode == MNF || (j->mode == DENOISE && j->s->fit.mnf)) && !j->noise; }

/* As the library sees them: where samples are lines, the right neighbour is the lower one. */
static shs_neighbours chosen_neighbours(const job *j) {
    const char *text = j->s->noise.neighbours;
    shs_neighbours kind = SHS_NEIGHBOURS_RIGHT;
    if (text) kind = (shs_neighbours)choose("--noise", text, neighbour_kinds, PAIR_KINDS + 1);
    if (!j->in.folded) return kind;
    if (kind == SHS_NEIGHBOURS_RIGHT) return SHS_NEIGHBOURS_LOWER;
    if (kind == SHS_NEIGHBOURS_LOWER) return SHS_NEIGHBOURS_RIGHT;
    return kind;
}

/* Marks the pixels of a line that the fit uses: selected pixels without a missing band. */
static void mark_valid(job *j, int y, char *line, unsigned char *marks) {
    const cube_file *in = &j->in;
    int x, b;
    if (j->s->pixels.fit_step > 1) mark_fit(j, y, 1, marks);
    else if (j->masked) mark_lines(j, y, 1, marks);
    else memset(marks, 1, (size_t)in->samples);
    must_read(&j->in, y, 1, line);
    for (x = 0; x < in->samples; x++)
        for (b = 0; b < j->cube.band_count && marks[x]; b++)
            marks[x] = !is_missing(in, get_value(line, value_index(in, 1, 0, x, j->bands[b]), in->type, in->swap));
}

/* How many pixels have a right, a lower and a diagonal neighbour, both of them valid. Returns the number of valid pixels. */
static double count_pairs(job *j, double *pairs) {
    int width = j->in.samples, x, y;
    char *line = room_for_lines(&j->in, 1);
    unsigned char *room = ALLOCATE(unsigned char, 2 * (size_t)width), *above = room, *here = room + width, *other;
    double valid = 0;
    pairs[0] = pairs[1] = pairs[2] = 0;
    for (y = 0; y < j->in.lines; y++) {
        mark_valid(j, y, line, here);
        for (x = 0; x < width; x++) {
            if (!here[x]) continue;
            valid++;
            pairs[0] += x > 0 && here[x - 1];
            pairs[1] += y > 0 && above[x];
            pairs[2] += x > 0 && y > 0 && above[x - 1];
        }
        other = above;
        above = here;
        here = other;
    }
    if (j->in.folded) {
        pairs[0] = pairs[1];
        pairs[1] = 0;
    }
    free(room);
    free(line);
    return valid;
}

/* Stops with the name of the option and what would help, where neighbours are too few for so many components. n pairs span
   n - 1 dimensions at most, as the mean of their differences is subtracted. */
static void check_pairs(job *j, int components) {
    const char *name = neighbour_kinds[0], *how = " (the default)", *comma = "";
    int kind, mean, k, empty = -1;
    double pairs[PAIR_KINDS], valid = count_pairs(j, pairs), dimensions = 0, needed = fmax(components, 1);
    char others[200] = "", *part, *at = others;
    const char *within = "";
    if (!(valid > 0)) return;
    if (j->s->noise.neighbours) {
        name = j->s->noise.neighbours;
        how = "";
    }
    kind = choose("--noise", name, neighbour_kinds, PAIR_KINDS + 1);
    mean = kind == PAIR_KINDS;
    for (k = PAIR_KINDS - 1; k >= 0; k--) {
        if ((mean || k == kind) && !(pairs[k] > 0)) empty = k;
        if ((mean || k == kind) && pairs[k] > 0) dimensions += pairs[k] - 1;
    }
    if (empty < 0 && dimensions >= needed) return;
    for (k = 0; k < PAIR_KINDS; k++) {
        if (!(pairs[k] - 1 >= needed) || k == kind) continue;
        at += sprintf(at, "%s--noise %s has %.0f", comma, neighbour_kinds[k], pairs[k]);
        comma = ", ";
    }
    if (at == others) sprintf(others, "--noise-from or --noise-covariance says what noise is");
    part = part_of_file(j);
    if (*part) within = " within";
    if (empty >= 0)
        fail(EXIT_ERROR, "%s: --noise %s%s: of %.0f valid pixels%s%s none has a valid %s neighbour; %s", j->in.header_name,
             name, how, valid, within, part, neighbour_kinds[empty], others);
    fail(EXIT_ERROR,
         "%s: --noise %s%s: the pairs of neighbours%s%s tell noise in %.0f dimensions, and %.0f components ask for more; %s",
         j->in.header_name, name, how, within, part, dimensions, needed, others);
}

#endif /* HYPERCUBE_NOISE */
