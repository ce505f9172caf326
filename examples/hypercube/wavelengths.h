/* wavelengths.h - wavelengths in any unit, and which entries of one list another list means. */
#ifndef HYPERCUBE_WAVELENGTHS
#define HYPERCUBE_WAVELENGTHS

#include "envi.h"

/* ---- units -------------------------------------------------------------------------------------------------------- */

/* A length is `factor` times its number in nanometres; a wavenumber, frequency or energy is `factor` divided by its number. */
typedef struct wave_unit {
    const char *name;
    double factor;
    int reciprocal;
} wave_unit;

enum {
    UNIT_NM,
    UNIT_UM,
    UNIT_ANGSTROM,
    UNIT_MM,
    UNIT_CM,
    UNIT_M,
    UNIT_WAVENUMBER,
    UNIT_HZ,
    UNIT_KHZ,
    UNIT_MHZ,
    UNIT_GHZ,
    UNIT_THZ,
    UNIT_EV
};

static const wave_unit wave_units[] = {
    {"nm", 1, 0},          {"um", 1e3, 0},         {"Angstroms", 0.1, 0},  {"mm", 1e6, 0},          {"cm", 1e7, 0},
    {"m", 1e9, 0},         {"1/cm", 1e7, 1},       {"Hz", 299792458e9, 1}, {"kHz", 299792458e6, 1}, {"MHz", 299792458e3, 1},
    {"GHz", 299792458, 1}, {"THz", 299792.458, 1},
    {"eV", 1239.841984332, 1},
};

static double to_nanometres(const wave_unit *unit, double number) {
    if (unit->reciprocal) return unit->factor / number;
    return unit->factor * number;
}

static double from_nanometres(const wave_unit *unit, double length) {
    if (unit->reciprocal) return unit->factor / length;
    return length / unit->factor;
}

/* In small letters, with plain ones for the Greek, Nordic, French and Spanish letters of units and for a raised -1, in UTF-8 or
   Latin-1. The caller frees it. */
static char *plain_letters(const char *text) {
    static const char *const other[][2] = {
        {"\xc2\xb5", "u"},        {"\xce\xbc", "u"},     {"\xce\xbb", "lambda"}, {"\xe2\x84\xab", "angstrom"},
        {"\xc3\x85", "angstrom"}, {"\xe2\x81\xbb", "-"}, {"\xe2\x88\x92", "-"},  {"\xc2\xb9", "1"},
        {"\xc3\xa4", "a"},        {"\xc3\xa8", "e"},     {"\xc3\xb3", "o"},      {"\xe4", "a"},
        {"\xe8", "e"},            {"\xf3", "o"},         {"\xb5", "u"},          {"\xc5", "angstrom"},
    };
    char *lower = ALLOCATE(char, 9 * strlen(text) + 1), *to = lower;
    while (*text) {
        size_t i = 0, count = sizeof other / sizeof *other;
        while (i < count && strncmp(text, other[i][0], strlen(other[i][0]))) i++;
        if (i < count) {
            strcpy(to, other[i][1]);
            to += strlen(to);
            text += strlen(other[i][0]);
        } else *to++ = (char)tolower((unsigned char)*text++);
    }
    *to = 0;
    return lower;
}

static int begins_with(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

/* The unit of this name in plain letters; NULL where it is none. */
static const wave_unit *unit_of_word(const char *word) {
    static const struct {
        const char *name;
        int whole, unit; /* whole: this word only, otherwise all that begin so */
    } names[] = {
        {"nm", 1, UNIT_NM},
        {"nano", 1, UNIT_NM},
        {"nanomet", 0, UNIT_NM}, /* nanolite is a spectrum */
        {"nano met", 0, UNIT_NM},
        {"nano-met", 0, UNIT_NM},
        {"um", 1, UNIT_UM},
        {"u", 1, UNIT_UM},
        {"mu", 1, UNIT_UM},
        {"mum", 1, UNIT_UM},
        {"micro", 1, UNIT_UM},
        {"micron", 1, UNIT_UM},
        {"microns", 1, UNIT_UM},
        {"micromet", 0, UNIT_UM}, /* microcline is a spectrum */
        {"micro met", 0, UNIT_UM},
        {"micro-met", 0, UNIT_UM},
        {"angstrom", 0, UNIT_ANGSTROM},
        {"a", 1, UNIT_ANGSTROM},
        {"mm", 1, UNIT_MM},
        {"millimet", 0, UNIT_MM},
        {"cm", 1, UNIT_CM},
        {"centimet", 0, UNIT_CM},
        {"m", 1, UNIT_M},
        {"meter", 0, UNIT_M},
        {"metre", 0, UNIT_M},
        {"wavenumber", 0, UNIT_WAVENUMBER},
        {"wave number", 0, UNIT_WAVENUMBER},
        {"cm-1", 1, UNIT_WAVENUMBER},
        {"cm^-1", 1, UNIT_WAVENUMBER},
        {"cm^(-1)", 1, UNIT_WAVENUMBER},
        {"cm**-1", 1, UNIT_WAVENUMBER},
        {"1/cm", 1, UNIT_WAVENUMBER},
        {"inverse c", 0, UNIT_WAVENUMBER},
        {"reciprocal c", 0, UNIT_WAVENUMBER},
        {"kayser", 0, UNIT_WAVENUMBER},
        {"hz", 1, UNIT_HZ},
        {"hertz", 1, UNIT_HZ},
        {"khz", 1, UNIT_KHZ},
        {"kilohertz", 1, UNIT_KHZ},
        {"mhz", 1, UNIT_MHZ},
        {"megahertz", 1, UNIT_MHZ},
        {"ghz", 1, UNIT_GHZ},
        {"gigahertz", 1, UNIT_GHZ},
        {"thz", 1, UNIT_THZ},
        {"terahertz", 1, UNIT_THZ},
        {"ev", 1, UNIT_EV},
        {"electronvolt", 0, UNIT_EV},
        {"electron volt", 0, UNIT_EV},
    };
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(word, names[i].name)) return &wave_units[names[i].unit];
        if (!names[i].whole && begins_with(word, names[i].name)) return &wave_units[names[i].unit];
    }
    return NULL;
}

/* The unit that a header states, perhaps behind other words, as Raman shift (cm-1); NULL for none, or an unknown one. */
static const wave_unit *unit_named(const char *text) {
    char *plain = plain_letters(text), *word = plain + strspn(plain, " ([\"'");
    const wave_unit *unit;
    if (word > plain) word[strcspn(word, ")]\"'")] = 0;
    unit = unit_of_word(word);
    if (!unit && (strstr(plain, "cm-1") || strstr(plain, "cm^-1") || strstr(plain, "1/cm"))) unit = &wave_units[UNIT_WAVENUMBER];
    free(plain);
    return unit;
}

/* The unit that wavelengths are in, where nothing says it: micrometres where all numbers are small. */
static const wave_unit *unit_by_size(const double *list, int count) {
    double most = 0;
    int i;
    for (i = 0; i < count; i++) most = fmax(most, list[i]);
    if (most < 100) return &wave_units[UNIT_UM];
    return &wave_units[UNIT_NM];
}

/* Whether a line is new to a list of lines, to which it is then added; each stands between two ends of lines. */
static int is_new_line(char **list, const char *text) {
    char *line = joined(text, "\n"), *whole = joined("\n", line), *before = *list;
    const int is_new = !before || !strstr(before, whole);
    if (!before) *list = joined(whole, "");
    else if (is_new) *list = joined(before, line);
    if (is_new) free(before);
    free(whole);
    free(line);
    return is_new;
}

/* Says once that a unit is none that is known here, and how the wavelengths are read. */
static void warn_of_unit(const cube_file *f, const wave_unit *taken) {
    static char *said;
    char *plain = plain_letters(f->axis.units);
    const int stated = *plain && !begins_with(plain, "unknown");
    free(plain);
    if (!stated || !is_new_line(&said, f->axis.units)) return;
    warn("%s: wavelength units: '%.50s' is no unit that is known: the wavelengths are taken to be in %s, by their size",
         f->header_name, f->axis.units, taken->name);
}

/* Warns once where wavelengths do not fit their unit, such as 450 micrometres. */
static void warn_of_size(const cube_file *f, const wave_unit *by_size) {
    static char *said;
    if (!is_new_line(&said, f->header_name)) return;
    warn("%s: wavelength units: '%.50s', but by their size the wavelengths are in %s: they are taken as the header says",
         f->header_name, f->axis.units, by_size->name);
}

/* The first band whose wavelength is not above 0, as lists of sensors have it for bands without data; -1: all are. */
static int band_without_wavelength(const cube_file *f) {
    int i;
    for (i = 0; i < f->bands; i++)
        if (!(f->axis.wavelength[i] > 0)) return i;
    return -1;
}

/* Headers of some sensors state the wavelength 0 for bands without data. If no band in use has 0, each 0 becomes the wavelength
   of a neighbouring band, so that the other wavelengths can be used. */
static void place_unused_bands(cube_file *f, const int *used, int count) {
    double *list = f->axis.wavelength;
    int *is_used, i, from = -1;
    if (!list || band_without_wavelength(f) < 0) return;
    is_used = ALLOCATE(int, f->bands);
    for (i = 0; i < count; i++) is_used[used[i]] = 1;
    for (i = 0; i < f->bands; i++)
        if (is_used[i] && !(list[i] > 0)) from = f->bands;
    for (i = f->bands - 1; i >= 0 && from < f->bands; i--)
        if (list[i] > 0) from = i; /* the first that has one */
    free(is_used);
    if (from < 0 || from == f->bands) return;
    for (i = 0; i < f->bands; i++) {
        if (list[i] > 0) from = i;
        list[i] = list[from];
    }
}

/* Whether the list numbers the bands: by its unit, or, without a known one, as it counts from 0 or 1. */
static int is_band_index(const cube_file *f) {
    char *plain = plain_letters(f->axis.units);
    const double *list = f->axis.wavelength;
    int i, index = begins_with(plain, "index") || begins_with(plain, "band");
    free(plain);
    if (index || unit_named(f->axis.units) || f->bands < 2) return index;
    if (!(list[0] >= 0 && list[0] <= 1) || list[0] > floor(list[0])) return 0;
    for (i = 1; i < f->bands; i++)
        if (fabs(list[i] - list[0] - i) > 0) return 0;
    return 1;
}

/* Why the wavelengths of a cube cannot be used, in words for a message; NULL: they can. */
static const char *wavelengths_missing(const cube_file *f) {
    static char text[80];
    int band;
    if (!f->axis.wavelength) return "the key is missing or damaged";
    if (is_band_index(f)) return "it numbers the bands";
    band = band_without_wavelength(f);
    if (band < 0) return NULL;
    sprintf(text, "band %d has %.6g, so the list is not used", band + 1, f->axis.wavelength[band]);
    return text;
}

static int has_wavelengths(const cube_file *f) { return !wavelengths_missing(f); }

/* As unit_of; `used` says whether the list is used. */
static const wave_unit *find_unit(const cube_file *f, int used) {
    const wave_unit *unit = unit_named(f->axis.units);
    const wave_unit *by_size = unit_by_size(f->axis.wavelength, f->bands);
    const int metric = unit == &wave_units[UNIT_NM] || unit == &wave_units[UNIT_UM];
    if (used && !unit) warn_of_unit(f, by_size);
    if (used && metric && unit != by_size) warn_of_size(f, by_size);
    if (unit) return unit;
    return by_size;
}

/* The unit of the cube's wavelengths. Of a list that is not used nothing is said. Of a file the unit is found once: it is asked
   for with every band, and takes as long as all bands. */
static const wave_unit *unit_of(const cube_file *f) {
    const wave_unit *unit;
    int used;
    if (f->axis.unit && *f->axis.unit) return *f->axis.unit;
    used = has_wavelengths(f);
    unit = find_unit(f, used);
    if (f->axis.unit && used) *f->axis.unit = unit;
    return unit;
}

static double band_nanometres(const cube_file *f, int band) { return to_nanometres(unit_of(f), f->axis.wavelength[band]); }

/* Of these bands, or of all (NULL). */
static double *bands_in_nanometres(const cube_file *f, const int *bands, int count) {
    double *list = ALLOCATE(double, count);
    const wave_unit *unit = unit_of(f);
    int i;
    for (i = 0; i < count; i++) {
        int band = i;
        if (bands) band = bands[i];
        list[i] = to_nanometres(unit, f->axis.wavelength[band]);
    }
    return list;
}

/* The widths of all bands in nanometres; NULL: the header has none. centre: their wavelengths in nanometres. */
static double *widths_in_nanometres(const cube_file *f, const double *centre) {
    double *list = header_list(&f->text, "fwhm", f->bands);
    const wave_unit *unit = unit_of(f);
    int i;
    for (i = 0; list && i < f->bands; i++) {
        if (unit->reciprocal) list[i] *= centre[i] / f->axis.wavelength[i];
        else list[i] *= unit->factor;
    }
    return list;
}

/* Returns the heading of a column of wavelengths. Nanometres need no unit, because readers try nanometres first. */
static char *wavelength_heading(const cube_file *f) {
    const char *units = f->axis.units;
    char *begun, *heading;
    if (!f->axis.wavelength || is_band_index(f) || !*units) return joined("wavelength", "");
    if (unit_of(f) == &wave_units[UNIT_NM]) return joined("wavelength", "");
    if (strpbrk(units, ",;\"()")) units = unit_of(f)->name;
    begun = joined("wavelength (", units);
    heading = joined(begun, ")");
    free(begun);
    return heading;
}

/* Nothing says which of two bands is meant; numbers from 0. */
static void fail_for_twins(const char *of, int band, int other, double nanometres) {
    fail(EXIT_ERROR, "%s: wavelength: bands %d and %d are both at %.6g nm: --bands without one of them", of, band + 1, other + 1,
         nanometres);
}

/* In no more digits than say the same number. */
static char *number_text(double number) {
    char text[40];
    sprintf(text, "%.15g", number);
    if (strtod(text, NULL) < number || strtod(text, NULL) > number) sprintf(text, "%.17g", number);
    return joined(text, "");
}

/* ---- lists that are the same ------------------------------------------------------------------------------------- */

static double mean_step(const double *list, int count) {
    double sum = 0;
    int i;
    for (i = 1; i < count; i++) sum += fabs(list[i] - list[i - 1]);
    if (count > 1) return sum / (count - 1);
    return 0;
}

/* Returns non-zero if two wavelengths are equal up to the digits in a text file. step: the distance of neighbours. */
static int same_wavelength(double a, double b, double step) { return fabs(a - b) <= 2e-6 * fabs(a) + 0.01 * step; }

/* Finds each wanted wavelength in a list with the same order. The list may hold other wavelengths in between. Lists of the
   same length are compared entry by entry, so that detectors whose wavelengths overlap stay apart. Returns 0 where one is not
   there. */
static int find_in_order(const double *wanted, int count, const double *list, int length, int *place) {
    double step = mean_step(list, length);
    int i, at = 0;
    for (i = 0; i < count; i++) {
        while (at < length && !same_wavelength(wanted[i], list[at], step)) at++;
        if (at >= length) return 0;
        place[i] = at;
        at++;
    }
    return 1;
}

/* Whether the list ascends or descends all the way. */
static int is_monotone(const double *list, int count) {
    int i, sign = list[count - 1] < list[0] ? -1 : 1;
    for (i = 1; i < count; i++)
        if (!(sign * (list[i] - list[i - 1]) > 0)) return 0;
    return count > 1;
}

/* ---- runs: lists that step back where another detector begins ------------------------------------------------------ */

typedef struct wave_runs {
    int count;
    int *of; /* the run of each entry */
} wave_runs;

/* Whether most steps of the list lead downwards. */
static int descends(const double *list, int count) {
    int i, balance = 0;
    for (i = 1; i < count; i++) balance += (list[i] < list[i - 1]) - (list[i] > list[i - 1]);
    return balance > 0;
}

static wave_runs find_runs(const double *list, int count) {
    wave_runs r;
    double sign = descends(list, count) ? -1 : 1;
    int i;
    r.count = 1;
    r.of = ALLOCATE(int, count);
    for (i = 1; i < count; i++) {
        if (sign * (list[i] - list[i - 1]) < 0) r.count++;
        r.of[i] = r.count - 1;
    }
    return r;
}

/* The least and the largest wavelength of a run. */
static void run_ends(const wave_runs *r, const double *list, int count, int run, double *ends) {
    int i, found = 0;
    ends[0] = ends[1] = 0;
    for (i = 0; i < count; i++) {
        if (r->of[i] != run) continue;
        if (!found || list[i] < ends[0]) ends[0] = list[i];
        if (!found || list[i] > ends[1]) ends[1] = list[i];
        found = 1;
    }
}

/* How much of two ranges is common to both, 0 to 1. */
static double common_share(const double *a, const double *b) {
    double inner = fmin(a[1], b[1]) - fmax(a[0], b[0]), outer = fmax(a[1], b[1]) - fmin(a[0], b[0]);
    if (inner < 0) return 0;
    if (outer > 0) return inner / outer;
    return 1;
}

/* Whether the list is in no order: it has more runs than sensors have detectors, or one run lies in the range of another. From
   one detector to the next both ends of the range move the same way, and most of a range is its own. */
static int is_shuffled(const wave_runs *r, const double *list, int count) {
    double ends[2], next[2], sign = 0;
    int run, shuffled = r->count > 8 || 3 * r->count > count + 2;
    run_ends(r, list, count, 0, ends);
    for (run = 1; run < r->count && !shuffled; run++) {
        double common, shorter;
        run_ends(r, list, count, run, next);
        if (run == 1) sign = next[0] - ends[0];
        common = fmin(ends[1], next[1]) - fmax(ends[0], next[0]);
        shorter = fmin(ends[1] - ends[0], next[1] - next[0]);
        shuffled = !(sign * (next[0] - ends[0]) > 0) || !(sign * (next[1] - ends[1]) > 0) || common > 0.75 * shorter;
        memcpy(ends, next, sizeof ends);
    }
    return shuffled;
}

#endif /* HYPERCUBE_WAVELENGTHS */
