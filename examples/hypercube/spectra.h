/* spectra.h - spectra as functions of wavelength, of cubes and of tables: smoothed, as another sensor sees them, without their
   continuum, derivatives. */
#ifndef HYPERCUBE_SPECTRA
#define HYPERCUBE_SPECTRA

#include "places.h"

enum { CONTINUUM_KEEP, CONTINUUM_DIVIDE, CONTINUUM_SUBTRACT };

/* What is done to each spectrum, in this order. Entries stand in the order of ascending wavelengths, in nanometres. */
typedef struct spectral_steps {
    int n, outputs;
    int *order;          /* n: which band is the k-th by wavelength */
    double *wavelength;  /* n, ascending */
    int smooth;          /* bands, odd; 0: as they are */
    double *response;    /* n x outputs: weight of each band in a band of the other sensor; NULL: no other sensor */
    double *centre;      /* outputs: wavelengths of what comes out, ascending */
    double *width;       /* outputs: FWHM of the other sensor, or NULL */
    int continuum;       /* CONTINUUM_... */
    int derivative; /* 0, 1 or 2 */
} spectral_steps;

/* ---- the steps of one spectrum ------------------------------------------------------------------------------------ */

/* Replaces each value by the mean of `width` bands around it. At the ends the window shrinks on both sides. */
static void smooth_spectrum(int n, int width, const double *from, double *to) {
    int i, k;
    for (i = 0; i < n; i++) {
        int reach = width / 2;
        double sum = 0;
        if (reach > i) reach = i;
        if (reach > n - 1 - i) reach = n - 1 - i;
        for (k = i - reach; k <= i + reach; k++) sum += from[k];
        to[i] = sum / (2 * reach + 1);
    }
}

/* Drops the points that lie on or below the line between their neighbours: they are no corners of the hull. Without a branch
   for each point, which noise would make the processor guess. Returns how many points are left. */
static int drop_hollows(int count, const double *x, const double *y, int *point) {
    int last = point[count - 1], a = point[0], left = 1, i;
    if (count < 3) return count;
    for (i = 1; i + 1 < count; i++) {
        int b = point[i], c = point[i + 1];
        point[left] = b;
        left += (y[b] - y[a]) * (x[c] - x[a]) > (y[c] - y[a]) * (x[b] - x[a]);
        a = b;
    }
    point[left++] = last;
    return left;
}

/* The upper convex hull over the wavelengths, a polygon through the first and the last point. corner (n) is scratch. */
static void hull_of(int n, const double *x, const double *y, double *hull, int *corner) {
    int points = n, count = 0, before, i, k;
    for (i = 0; i < n; i++) corner[i] = i;
    do {
        before = points;
        points = drop_hollows(before, x, y, corner);
    } while (points < before - before / 4);
    for (i = 0; i < points; i++) {
        int c = corner[i];
        while (count > 1) { /* drop the last corner if it lies on or below the line from its predecessor to this point */
            int a = corner[count - 2], b = corner[count - 1];
            if ((y[b] - y[a]) * (x[c] - x[a]) > (y[c] - y[a]) * (x[b] - x[a])) break;
            count--;
        }
        corner[count++] = c;
    }
    hull[0] = y[0];
    for (k = 0; k + 1 < count; k++) {
        int a = corner[k], b = corner[k + 1];
        double slope = (y[b] - y[a]) / (x[b] - x[a]);
        for (i = a + 1; i < b; i++) hull[i] = y[a] + slope * (x[i] - x[a]);
        hull[b] = y[b];
    }
}

/* Of the parabola through each point and its two neighbours; at the ends of the nearest parabola. */
static void derive_spectrum(int n, const double *x, const double *y, int which, double *to) {
    int i;
    for (i = 0; i < n; i++) {
        int at = smaller(i, n - 2);
        double left, right, bend; /* half of the second derivative */
        if (at < 1) at = 1;
        left = (y[at] - y[at - 1]) / (x[at] - x[at - 1]);
        right = (y[at + 1] - y[at]) / (x[at + 1] - x[at]);
        bend = (right - left) / (x[at + 1] - x[at - 1]);
        if (which == 2) to[i] = 2 * bend;
        else to[i] = left + bend * (2 * x[i] - x[at - 1] - x[at]);
    }
}

/* room: as many values as spectral_room says. */
static void step_spectrum(const void *user, const double *bands, double *outputs, double *room) {
    const spectral_steps *s = (const spectral_steps *)user;
    double *now = room, *then = now + s->n, *at = then + s->n, *hull = at + s->outputs;
    int *corner = (int *)(void *)(hull + s->outputs), i, k;
    for (i = 0; i < s->n; i++) now[i] = bands[s->order[i]];
    if (s->smooth) {
        smooth_spectrum(s->n, s->smooth, now, then);
        memcpy(now, then, (size_t)s->n * sizeof *now);
    }
    if (s->response)
        for (k = 0; k < s->outputs; k++) {
            const double *weights = s->response + elements(k, s->n);
            at[k] = 0;
            for (i = 0; i < s->n; i++) at[k] += weights[i] * now[i];
        }
    else memcpy(at, now, (size_t)s->n * sizeof *now);
    if (s->continuum) {
        hull_of(s->outputs, s->centre, at, hull, corner);
        for (k = 0; k < s->outputs; k++) {
            if (s->continuum == CONTINUUM_SUBTRACT) at[k] -= hull[k];
            else if (hull[k] > 0) at[k] /= hull[k];
            else at[k] = NO_NUMBER;
        }
    }
    if (s->derivative) {
        derive_spectrum(s->outputs, s->centre, at, s->derivative, hull);
        memcpy(at, hull, (size_t)s->outputs * sizeof *at);
    }
    if (s->response) {
        memcpy(outputs, at, (size_t)s->outputs * sizeof *at);
        return;
    }
    for (k = 0; k < s->outputs; k++) outputs[s->order[k]] = at[k];
}

/* Two spectra of bands and two of outputs; the corners of a hull, which are whole numbers, in the place of a third of outputs. */
static int spectral_room(const spectral_steps *s) { return 2 * s->n + 3 * s->outputs; }

/* ---- another sensor ----------------------------------------------------------------------------------------------- */

/* The integral from a to b of a Gaussian around c, and of that times x - c. */
static void gaussian_parts(double a, double b, double c, double sigma, double *zeroth, double *first) {
    double root = sigma * sqrt(2.0);
    *zeroth = 0.5 * (erf((b - c) / root) - erf((a - c) / root));
    *first = sigma / sqrt(8 * atan(1.0)) * (exp(-pow((a - c) / root, 2)) - exp(-pow((b - c) / root, 2)));
}

/* The weights of the bands, whose sum is 1: of the integral of response times spectrum, exactly where the spectrum is linear
   between bands. Returns which share of the response lies within the bands. */
static double response_of(int n, const double *x, double centre, double fwhm, double *weight) {
    double sigma = fwhm / (2 * sqrt(2 * log(2.0))), share = 0;
    int i;
    for (i = 0; i < n; i++) weight[i] = 0;
    for (i = 0; i + 1 < n; i++) {
        double zeroth, first, rise;
        gaussian_parts(x[i], x[i + 1], centre, sigma, &zeroth, &first);
        rise = (first + (centre - x[i]) * zeroth) / (x[i + 1] - x[i]); /* what the far end gets */
        weight[i] += zeroth - rise;
        weight[i + 1] += rise;
        share += zeroth;
    }
    for (i = 0; i < n && share > 0; i++) weight[i] /= share;
    return share;
}

typedef struct sensor {
    int count;
    double *centre, *width; /* in nanometres; ascending */
} sensor;

static const double least_share = 0.95;

/* Without widths a band is as wide as it is far from its neighbours. */
static void sensor_finish(sensor *s, int widths) {
    int i, k;
    for (i = 1; i < s->count; i++)
        for (k = i; k > 0 && s->centre[k] < s->centre[k - 1]; k--) {
            double centre = s->centre[k], width = s->width[k];
            s->centre[k] = s->centre[k - 1];
            s->width[k] = s->width[k - 1];
            s->centre[k - 1] = centre;
            s->width[k - 1] = width;
        }
    for (i = 0; i < s->count && !widths; i++) {
        int low = i, high = smaller(i + 1, s->count - 1);
        if (i > 0) low = i - 1;
        s->width[i] = 10;
        if (high > low) s->width[i] = (s->centre[high] - s->centre[low]) / (high - low);
    }
}

static sensor sensor_of_cube(const char *name) {
    cube_file f = cube_open(name, NULL);
    sensor s;
    int i, stated;
    if (!has_wavelengths(&f)) fail(EXIT_ERROR, "%s: wavelength: %s, and --resample needs it", name, wavelengths_missing(&f));
    s.count = f.bands;
    s.centre = bands_in_nanometres(&f, NULL, f.bands);
    s.width = widths_in_nanometres(&f, s.centre);
    stated = s.width != NULL;
    for (i = 0; stated && i < f.bands; i++)
        if (!(s.width[i] > 0))
            fail(EXIT_ERROR, "%s: fwhm: band %d has %.6g: --resample needs widths above 0", name, i + 1, s.width[i]);
    if (!stated) {
        printf("%s: no fwhm: a band is as wide as it is far from its neighbours\n", name);
        s.width = ALLOCATE(double, f.bands);
    }
    sensor_finish(&s, stated);
    cube_close(&f);
    return s;
}

/* The unit that a heading states in letters or after a word of its own, as fwhm (um); NULL: none. */
static const wave_unit *unit_of_width(const char *heading) {
    char *plain = plain_letters(heading);
    int foreign;
    const wave_unit *unit = unit_in_heading(plain, &foreign);
    free(plain);
    return unit;
}

/* A width at a wavelength, in nanometres. centre: in nanometres, too. */
static double width_in_nanometres(const wave_unit *unit, double width, double centre) {
    if (unit->reciprocal) return centre * width / from_nanometres(unit, centre);
    return width * unit->factor;
}

/* By its numbers, where its heading states none. */
static const wave_unit *unit_of_column(const table *t, int column) {
    double *list = table_column(t, column);
    const wave_unit *unit = unit_by_size(list, t->rows);
    free(list);
    return unit;
}

static sensor sensor_of_table(const char *name) {
    table t = table_read_with(name, 1);
    const wave_unit *unit = NULL;
    const wave_unit *of_width = NULL;
    int at, wide = 0, i;
    sensor s;
    if (!t.rows) fail(EXIT_ERROR, "%s: --resample: it has no rows of numbers, and needs one for each band of the sensor", name);
    at = find_wavelengths(&t, &unit);
    while (wide < t.columns && !is_width(heading_of(&t, wide))) wide++;
    if (at < 0 && t.columns <= 2 && !t.headed) {
        at = 0;
        wide = 1;
    }
    if (at < 0) fail(EXIT_ERROR, "%s: --resample: a column `wavelength` is missing, and perhaps `fwhm`", name);
    if (!unit) unit = unit_of_column(&t, at);
    if (wide < t.columns) of_width = unit_of_width(heading_of(&t, wide));
    if (!of_width) of_width = unit;
    s.count = t.rows;
    s.centre = ALLOCATE(double, t.rows);
    s.width = ALLOCATE(double, t.rows);
    for (i = 0; i < t.rows; i++) {
        double length = table_value(&t, i, at), width = 1;
        if (wide < t.columns) width = table_value(&t, i, wide);
        if (!(length > 0) || !(width > 0)) fail(EXIT_ERROR, "%s: row %d: wavelength and fwhm must be above 0", name, i + 1);
        s.centre[i] = to_nanometres(unit, length);
        s.width[i] = width_in_nanometres(of_width, width, s.centre[i]);
    }
    if (wide >= t.columns) printf("%s: no fwhm: a band is as wide as it is far from its neighbours\n", name);
    sensor_finish(&s, wide < t.columns);
    table_free(&t);
    return s;
}

/* Widths in um beside wavelengths in nm are a thousandth of what they should be: below 0.2 nm, and far below the distance of
   bands. A few lines of lasers are wider, and the bands of a fine spectrometer are nearer. */
static void refuse_narrow(const sensor *s, const char *name) {
    double widths = 0, step;
    int i;
    if (s->count < 2) return;
    step = (s->centre[s->count - 1] - s->centre[0]) / (s->count - 1);
    for (i = 0; i < s->count; i++) widths += s->width[i] / s->count;
    if (widths < fmin(step / 200, 0.2))
        fail(EXIT_ERROR, "%s: fwhm: its bands are about %.6g nm wide, and %.6g nm apart: is the fwhm in another unit?", name,
             widths, step);
}

static sensor sensor_read(const char *name) {
    sensor s;
    if (names_envi(name)) s = sensor_of_cube(name);
    else s = sensor_of_table(name);
    refuse_narrow(&s, name);
    return s;
}

/* Whether a band of the spectra lies within `reach` of a wavelength: bad bands and deleted channels leave gaps, in which nothing
   was measured. */
static int is_measured(int n, const double *x, double wavelength, double reach) {
    int i;
    for (i = 0; i < n; i++)
        if (fabs(x[i] - wavelength) <= reach) return 1;
    return 0;
}

/* Makes the outputs of s those of `count` bands of a sensor that lie within the wavelengths of s, and not in a gap between them.
   place[i]: which one output i is. */
static void take_sensor(spectral_steps *s, int count, const double *centre, const double *width, int *place) {
    int k;
    double step = usual_step(s->n, s->wavelength);
    s->response = ALLOCATE(double, elements(count, s->n));
    s->centre = ALLOCATE(double, count);
    s->width = ALLOCATE(double, count);
    s->outputs = 0;
    for (k = 0; k < count; k++) {
        const int to = s->outputs;
        double *weights = s->response + elements(to, s->n);
        if (!is_measured(s->n, s->wavelength, centre[k], fmax(width[k] / 2, step))) continue;
        if (response_of(s->n, s->wavelength, centre[k], width[k], weights) < least_share) continue;
        s->centre[to] = centre[k];
        s->width[to] = width[k];
        place[to] = k;
        s->outputs++;
    }
}

/* Selects the bands of the other sensor within the range of the spectra. of: the owner of the wavelengths, for messages. */
static void resample_to(spectral_steps *s, const char *name, const char *of) {
    sensor to = sensor_read(name);
    int *place = ALLOCATE(int, to.count);
    const double first = s->wavelength[0], last = s->wavelength[s->n - 1];
    take_sensor(s, to.count, to.centre, to.width, place);
    if (!s->outputs && to.width[0] > fabs(last - first))
        fail(EXIT_ERROR, "%s: fwhm: its first band is %.6g nm wide, but %s reaches from %.6g to %.6g nm: is the fwhm in another unit?",
             name, to.width[0], of, first, last);
    if (!s->outputs)
        fail(EXIT_ERROR,
             "%s: --resample: none of its %d bands (%.6g to %.6g nm) lies within %.6g to %.6g nm of %s, near a band of it", name,
             to.count, to.centre[0], to.centre[to.count - 1], first, last, of);
    if (s->outputs < to.count)
        printf("%s: %d of %d bands: the others lie beyond %.6g to %.6g nm, or far from its bands\n", name, s->outputs, to.count, first,
               last);
    free(to.centre);
    free(to.width);
    free(place);
}

/* ---- what is asked for -------------------------------------------------------------------------------------------- */

/* list: the wavelengths of n bands in nanometres; it is kept. */
static spectral_steps spectral_plan(const settings *s, int n, const double *list, const char *of) {
    static const char *const kinds[] = {"keep", "divide", "subtract"};
    spectral_steps p = SHS_ZERO;
    int i, k;
    if (!s->spectra.smooth && !s->spectra.resample && !s->spectra.continuum && !s->spectra.derivative)
        fail(EXIT_USAGE, "spectra: needs --smooth, --resample, --continuum or --derivative");
    if (s->spectra.smooth && s->spectra.smooth % 2 == 0)
        fail(EXIT_USAGE, "--smooth: %d is even: an odd number of bands", s->spectra.smooth);
    if (s->spectra.derivative > 2) fail(EXIT_USAGE, "--derivative: %d is none of 1, 2", s->spectra.derivative);
    p.n = p.outputs = n;
    p.smooth = s->spectra.smooth;
    p.derivative = s->spectra.derivative;
    if (s->spectra.continuum) p.continuum = choose("--continuum", s->spectra.continuum, kinds, 3);
    p.order = ALLOCATE(int, n);
    p.wavelength = ALLOCATE(double, n);
    for (i = 0; i < n; i++) { /* by insertion */
        for (k = i; k > 0 && p.wavelength[k - 1] > list[i]; k--) {
            p.wavelength[k] = p.wavelength[k - 1];
            p.order[k] = p.order[k - 1];
        }
        p.wavelength[k] = list[i];
        p.order[k] = i;
    }
    if (n < 3) fail(EXIT_ERROR, "%s: spectra: needs 3 bands at least, and %d %s in use", of, n, is_or_are(n));
    for (i = 1; i < n; i++)
        if (!(p.wavelength[i] > p.wavelength[i - 1]))
            fail_for_twins(of, p.order[i - 1], p.order[i], p.wavelength[i]);
    p.centre = p.wavelength;
    if (s->spectra.resample) resample_to(&p, s->spectra.resample, of);
    if (p.derivative && p.outputs < 3) fail(EXIT_ERROR, "%s: --derivative: needs 3 bands at least", s->spectra.resample);
    return p;
}

static void spectral_free(spectral_steps *p) {
    if (p->centre != p->wavelength) free(p->centre);
    free(p->wavelength);
    free(p->order);
    free(p->response);
    free(p->width);
}

/* ---- cubes -------------------------------------------------------------------------------------------------------- */

/* The wavelengths of the other sensor go into the header, in nanometres. */
static void note_sensor(job *j, const spectral_steps *p) {
    int k;
    j->out.axis.wavelength = ALLOCATE(double, p->outputs);
    j->out.axis.width = ALLOCATE(double, p->outputs);
    for (k = 0; k < p->outputs; k++) {
        j->out.axis.wavelength[k] = p->centre[k];
        j->out.axis.width[k] = p->width[k];
    }
    j->out.axis.units = joined("Nanometers", "");
}

/* Where the bands are: their wavelengths, or, where neighbours are all that counts, their numbers. */
static double *places_of_bands(const settings *s, const job *j) {
    double *list;
    int i;
    if (has_wavelengths(&j->in)) return bands_in_nanometres(&j->in, j->bands, j->cube.band_count);
    if (s->spectra.resample || s->spectra.continuum || s->spectra.derivative)
        fail(EXIT_ERROR, "%s: wavelength: %s, and spectra needs it", j->in.header_name, wavelengths_missing(&j->in));
    list = ALLOCATE(double, j->cube.band_count);
    for (i = 0; i < j->cube.band_count; i++) list[i] = j->bands[i] + 1;
    return list;
}

static void spectra_of_cube(const settings *s, char **names) {
    job *j = job_open(s, SPECTRA, names[0], names[1]);
    spectral_steps p;
    const int *numbers = j->bands;
    double *list, valid;
    list = places_of_bands(s, j);
    p = spectral_plan(s, j->cube.band_count, list, j->in.header_name);
    if (p.continuum == CONTINUUM_DIVIDE) refuse_integers(s, SPECTRA, "shares of the continuum are 1 at most");
    output_start(j, p.outputs, "Spectra of ");
    if (p.response) note_sensor(j, &p);
    else keep_bands(j);
    j->out.origin.same_values = 0;
    if (!p.continuum && !p.derivative) keep_unit(j);
    valid = each_pixel(j, p.outputs, spectral_room(&p), step_spectrum, &p);
    if (!(valid > 0))
        fail(EXIT_ERROR, "%s: no pixel has a result: the pixels are missing, or their continuum is not above 0", names[0]);
    if (p.response) numbers = NULL; /* the bands are those of the other sensor */
    output_show(j, "Band", numbers);
    write_html(j, "Band", NULL);
    printf("seconds=%.3f bands=%d pixels=%.0f\n", j->written - j->start, p.outputs, (double)j->in.samples * j->in.lines);
    spectral_free(&p);
    free(list);
    job_close(j);
}

/* ---- tables ------------------------------------------------------------------------------------------------------- */

/* The same steps for the wavelengths alone at which the values are no NaN. present: those values; place: which wavelengths. */
static spectral_steps without_gaps(const spectral_steps *all, const double *values, double *present, int *place) {
    spectral_steps p = *all;
    int k;
    p.order = ALLOCATE(int, all->n);
    p.wavelength = ALLOCATE(double, all->n);
    p.width = NULL;
    p.n = 0;
    for (k = 0; k < all->n; k++) {
        const double value = values[all->order[k]];
        if (isnan(value)) continue;
        present[p.n] = value;
        place[p.n] = all->order[k];
        p.wavelength[p.n] = all->wavelength[k];
        p.order[p.n] = p.n;
        p.n++;
    }
    p.centre = p.wavelength;
    p.outputs = p.n;
    if (all->response) take_sensor(&p, all->outputs, all->centre, all->width, place);
    return p;
}

/* The steps of a spectrum with gaps, such as the deleted channels of a library. A result without values around it is NaN. */
static void step_with_gaps(const spectral_steps *all, const double *values, double *results, double *room) {
    const size_t most = (size_t)all->n + (size_t)all->outputs;
    double *present = ALLOCATE(double, all->n), *found = ALLOCATE(double, most);
    int *place = ALLOCATE(int, most), k;
    spectral_steps p = without_gaps(all, values, present, place);
    const int least = p.derivative ? 3 : 1;
    for (k = 0; k < all->outputs; k++) results[k] = NO_NUMBER;
    if (p.n >= 3 && p.outputs >= least) {
        step_spectrum(&p, present, found, room);
        for (k = 0; k < p.outputs; k++) results[place[k]] = found[k];
    }
    spectral_free(&p);
    free(present);
    free(found);
    free(place);
}

/* Whether a column is a spectrum, and has a value at least. */
static int is_spectrum(const table *t, int column) {
    return column != t->wavelengths && !t->left_out[column] && !is_gap_column(t, column);
}

/* Returns how many results are numbers. */
static double steps_of_columns(const spectral_steps *p, const table *t, double *results) {
    double *one = ALLOCATE(double, t->rows), *room = ALLOCATE(double, spectral_room(p)), valid = 0;
    int c, k, r;
    for (c = 0; c < t->columns; c++) {
        double *to = results + elements(c, p->outputs);
        int gaps = 0;
        if (!is_spectrum(t, c)) continue;
        for (r = 0; r < t->rows; r++) {
            one[r] = table_value(t, r, c);
            gaps |= isnan(one[r]);
        }
        if (gaps) step_with_gaps(p, one, to, room);
        else step_spectrum(p, one, to, room);
        for (k = 0; k < p->outputs; k++) valid += isfinite(to[k]) != 0;
    }
    free(one);
    free(room);
    return valid;
}

/* list: the wavelengths of the rows in nanometres. */
static void write_results(const spectral_steps *p, const table *t, const double *list, const double *results, const char *name) {
    FILE *file = open_for_writing(name);
    int c, k;
    fprintf(file, "wavelength (nm)");
    for (c = 0; c < t->columns; c++) {
        if (!is_spectrum(t, c)) continue;
        fputc(',', file);
        if (*heading_of(t, c)) print_field(file, heading_of(t, c));
        else fprintf(file, "column %d", c + 1);
    }
    if (p->response) list = p->centre;
    for (k = 0; k < p->outputs; k++) {
        fprintf(file, "\n%.10g", list[k]);
        for (c = 0; c < t->columns; c++) {
            double value = results[element_at(c, p->outputs, k)];
            if (!is_spectrum(t, c)) continue;
            if (isfinite(value)) fprintf(file, ",%.17g", value);
            else fprintf(file, ",nan");
        }
    }
    fprintf(file, "\n");
    close_written(file, name);
}

/* Whether a name is that of a spectral library of ENVI, or of its header. */
static int names_library(const char *name) {
    uint64_t size;
    if (!has_extension(name, ".hdr")) return names_envi(name);
    return is_regular(name, &size) && describes_library(name);
}

/* The values of a library become reflectance, as its header states them to be: the written table has no place for a factor. */
static void divide_by_factor(table *t) {
    double most = 0;
    int c;
    if (!(t->factor > 1) && !(t->factor > 0 && t->factor < 1)) return;
    for (c = 0; c < t->columns; c++)
        if (is_spectrum(t, c)) most = fmax(most, most_of_column(t, c));
    refuse_factor(t, most);
    divide_table(t, t->wavelengths, t->factor);
    printf("%s: spectra are divided by %.6g, its reflectance scale factor\n", t->name, t->factor);
}

static void spectra_of_table(const settings *s, char **names) {
    int library = names_library(names[0]), count = 0, c, r;
    table t = library ? library_read(names[0]) : table_read(NULL, names[0]);
    spectral_steps p;
    double *list, *results;
    if (!library) classify_headings(NULL, &t);
    if (t.wavelengths < 0) fail(EXIT_ERROR, "%s: a column `wavelength` is missing, and spectra needs it", names[0]);
    for (c = 0; c < t.columns; c++) count += is_spectrum(&t, c);
    if (!count) fail(EXIT_ERROR, "%s: no spectra stand beside the wavelengths", names[0]);
    if (!t.unit) t.unit = unit_of_column(&t, t.wavelengths);
    list = table_column(&t, t.wavelengths);
    for (r = 0; r < t.rows; r++) {
        if (!(list[r] > 0)) fail(EXIT_ERROR, "%s: wavelength: row %d has none", names[0], r + 1);
        list[r] = to_nanometres(t.unit, list[r]);
    }
    divide_by_factor(&t);
    p = spectral_plan(s, t.rows, list, names[0]);
    results = ALLOCATE(double, elements(t.columns, p.outputs));
    if (!(steps_of_columns(&p, &t, results) > 0))
        fail(EXIT_ERROR, "%s: no spectrum has a result: values are missing, or their continuum is not above 0", names[0]);
    will_read_spectra(names[0]);
    will_write(names[1]);
    write_results(&p, &t, list, results, names[1]);
    printf("spectra=%d bands=%d\n", count, p.outputs);
    free(list);
    free(results);
    spectral_free(&p);
    table_free(&t);
}

static void run_spectra(const settings *s, char **names) {
    static const char *const tables[] = {".csv", ".txt", ".tsv"};
    char *why;
    int from_table = names_library(names[0]), i;
    for (i = 0; i < 3; i++) from_table |= has_extension(names[0], tables[i]);
    if (s->spectra.at && from_table) fail(EXIT_USAGE, "--at: %s is a table, and only a cube has places", names[0]);
    if (s->spectra.svg && !s->spectra.at) fail(EXIT_USAGE, "--svg: needs --at");
    if (s->spectra.resample) will_read_spectra(s->spectra.resample);
    if (from_table) {
        why = in_line(names[0], "is a table, and this option is for cubes");
        refuse_options(SPECTRA, OF_PIXELS | OF_OUTPUT, why);
        free(why);
    }
    if (s->spectra.at) {
        refuse_options(SPECTRA, OF_OUTPUT, "--at writes a table, and this option is for cubes");
        if (has_extension(names[1], ".hdr"))
            fail(EXIT_USAGE, "%s: the spectra of places are a table, which ends in .csv", names[1]);
        run_places(s, names);
        return;
    }
    if (from_table && has_extension(names[1], ".hdr"))
        fail(EXIT_USAGE, "%s: spectra of a table are a table, which ends in .csv", names[1]);
    if (!from_table && !has_extension(names[1], ".hdr")) fail(EXIT_USAGE, "%s: the name of a header ends in .hdr", names[1]);
    if (from_table) spectra_of_table(s, names);
    else spectra_of_cube(s, names);
}

#endif /* HYPERCUBE_SPECTRA */
