/* job.h - a job from start to end: one input cube, one output cube, their files and errors. */
#ifndef HYPERCUBE_JOB
#define HYPERCUBE_JOB

#include "calls.h"
#include "noise.h"

/* ---- a job begins ------------------------------------------------------------------------------------------------- */

/* read_fn for several devices: they read distant lines, so nothing is read ahead. */
static int read_scattered(void *user, int first, int lines, void *block) {
    return read_lines((cube_file *)user, first, lines, block);
}

static void stream(job *j) {
    j->cube.read_fn = read_stream;
    if (example_ranks.count) j->cube.read_fn = read_scattered;
    j->cube.read_user = &j->in;
    if (lines_of_block(j) < j->in.lines) j->cube.block_lines = lines_of_block(j);
    else j->cube.block_lines = j->in.lines;
}

/* Reads all values of the cube into memory. While values are converted, memory holds the stored ones as well.
   NULL: memory does not hold both. */
static void *load_values(cube_file *f) {
    void *values = malloc((size_t)cube_bytes(f));
    if (!values) return NULL;
    if (makes_values(f) && !room_if_any(&f->rooms.raw, values_in_lines(f, f->lines), f->stored.type)) {
        free(values);
        return NULL;
    }
    must_read(f, 0, f->lines, values);
    free_room(&f->rooms.raw);
    return values;
}

/* A cube that memory does not hold is streamed, too. */
static void load_or_stream(job *j) {
    if (!is_streamed(j)) j->cube.pixels = map_values(&j->in);
    if (j->cube.pixels) return;
    if (!is_streamed(j)) j->pixels = load_values(&j->in);
    if (j->pixels) j->cube.pixels = j->pixels;
    else stream(j);
}

/* Results of the size of 1 would be rounded to nothing. */
static void refuse_integers(const settings *s, enum mode mode, const char *results) {
    const value_type *type = type_info(chosen_type(s->output.type, SHS_TYPE_F32));
    if (!is_integer(type->type) || s->output.rescale) return;
    if (mode & PIXELWISE)
        fail(EXIT_USAGE, "--type: %s: f32 or f64 keeps them, and convert --type %s --range auto stretches those", results,
             type->name);
    fail(EXIT_USAGE,
         "--type: %s: %s needs --rescale 0,%.0f, which stretches each band; the header has the gains that lead back", results,
         type->name, type->high);
}

/* What can be wrong with the options themselves, before the cube is touched. */
static void check_options(const job *j) {
    const settings *s = j->s;
    const value_type *type = type_info(chosen_type(s->output.type, SHS_TYPE_F32));
    const int known = s->fit.components || s->fit.components_by; /* how many components, or how to count them */
    const char *kept = NULL;
    if (known && s->fit.variance > 0)
        fail(EXIT_USAGE, "--variance: --components says already how many");
    if (s->fit.variance > 1) fail(EXIT_USAGE, "--variance: %g is more than 1", s->fit.variance);
    if (known && s->threshold > 0)
        fail(EXIT_USAGE, "--threshold: --components says already how many");
    if (j->mode == ICA && !known && !(s->threshold > 0))
        fail(EXIT_USAGE, "--components: is needed, or --threshold above 0");
    if (s->pixels.classes && s->pixels.id < 0 && !by_class(j)) fail(EXIT_USAGE, "--class: --id K says which");
    if (by_class(j) && s->pixels.fit_only) fail(EXIT_USAGE, "--fit-only: each class is fitted by itself; --id K fits one");
    if (by_class(j) && s->pixels.fit_step > 1) fail(EXIT_USAGE, "--fit-step: each class is fitted to all of its pixels");
    if (s->output.stats) kept = "--stats";
    if (s->output.npy) kept = "--npy";
    if (s->output.save) kept = "--save";
    if (by_class(j) && kept) fail(EXIT_USAGE, "%s: each class has a model of its own; --id K fits one", kept);
    if (s->pixels.id >= 0 && !s->pixels.classes) fail(EXIT_USAGE, "--id: needs --class FILE");
    if (known && s->fit.snr > 0)
        fail(EXIT_USAGE, "--snr: --components says already how many");
    if (s->fit.variance > 0 && s->fit.snr > 0) fail(EXIT_USAGE, "--snr: --variance says already how many");
    if (by_class(j) && s->fit.components_by)
        fail(EXIT_USAGE, "--components: %s: each class has a fit of its own", s->fit.components_text);
    if (j->mode == DENOISE && !known && !(s->fit.snr > 0))
        fail(EXIT_USAGE, "--components: is needed");
    if ((j->mode & (FITS | APPLY)) && type->low >= 0 && type->high > 0 && !s->output.rescale)
        fail(EXIT_USAGE, "--type: components are negative too: %s needs --rescale 0,%.0f", type->name, type->high);
    if (j->mode == DETECT) refuse_integers(s, DETECT, "scores are of the size of 1");
    if (j->mode == UNMIX) refuse_integers(s, UNMIX, "abundances are shares of 1");
    if (j->mode == ICA) refuse_integers(s, ICA, "components have a variance of 1");
    chosen_interleave(s->output.interleave);
}

/* Returns non-zero if the outputs have the unit of the pixels. A valid pixel never has the no-data value. */
static int in_unit_of_pixels(const job *j) {
    return (j->mode & (DENOISE | INVERSE)) != 0 || (j->mode == CONVERT && !j->s->output.range);
}

/* Chooses the no-data value of the output: the cube's own value if the output type holds it, otherwise NaN or 0. Values from
   0 to 1 are valid scores and shares in float outputs, so NaN replaces a no-data value in this range. */
static void output_nodata(const job *j, cube_file *out) {
    out->has_nodata = j->in.has_nodata || !is_integer(j->in.type) || (j->masked && !j->s->pixels.fit_only) ||
                      by_class(j) || j->s->detect.local || j->s->detect.background; /* pixels without a background have no score */
    if (j->in.has_nodata && holds_value(out->type, j->in.nodata)) out->nodata = j->in.nodata;
    else if (is_integer(out->type)) out->nodata = 0;
    else out->nodata = NO_NUMBER;
    if (j->mode == CONVERT && j->s->output.range && is_integer(out->type)) out->nodata = 0;
    if (j->mode & PIXELWISE) { /* results may be any number, and some pixels have none */
        out->has_nodata = 1;
        if (!is_integer(out->type)) out->nodata = NO_NUMBER;
    }
    if (!is_integer(out->type) && !in_unit_of_pixels(j) && out->nodata >= 0 && out->nodata <= 1) out->nodata = NO_NUMBER;
}

/* Keeps the no-data value out of the range to which outputs are stretched, as `convert` does. A range that begins or ends
   with the no-data value is shortened; a range around it gets another no-data value. In float outputs the new no-data value
   is NaN. */
static void leave_out_nodata(cube_file *out, double *low, double *high) {
    const value_type *type = type_info(out->type);
    double first = as_integer(type, *low), last = as_integer(type, *high), missing = out->nodata;
    if (!is_integer(out->type) && missing >= *low && missing <= *high) out->nodata = NO_NUMBER;
    if (!out->has_nodata || !is_integer(out->type) || missing < first || missing > last) return;
    if (missing <= first && missing + 1 <= *high) *low = missing + 1;
    else if (missing >= last && missing - 1 >= *low) *high = missing - 1;
    else if (last < type->high && first <= type->low) out->nodata = type->high;
    else {
        out->nodata = type->low;
        if (first <= type->low) *low = type->low + 1;
    }
}

static void output_rescale(job *j, cube_file *out) {
    const value_type *type = type_info(out->type);
    const char *text = j->s->output.rescale;
    char *end, *last;
    double low, high;
    if (!text) return;
    low = strtod(text, &end);
    if (*end == ',' && end > text) high = strtod(end + 1, &last);
    else high = 0;
    if (end == text || *end != ',' || last == end + 1 || *last)
        fail(EXIT_USAGE, "--rescale: '%s' is no range like 0,255", text);
    if (!isfinite(low) || !isfinite(high) || low > high) fail(EXIT_USAGE, "--rescale: %s is no range", text);
    if (!(low < high))
        fail(EXIT_USAGE, "--rescale: %s: a range ends above where it begins; without --rescale values stay as they are", text);
    if (is_integer(out->type) && (low < type->low || high > type->high))
        fail(EXIT_USAGE, "--rescale: %s is outside the range of %s", text, type->name);
    if (out->type == SHS_TYPE_F32 && (low < -(double)FLT_MAX || high > (double)FLT_MAX))
        fail(EXIT_USAGE, "--rescale: %s is outside the range of f32", text);
    leave_out_nodata(out, &low, &high);
    j->sink.rescale = 1;
    j->sink.low = (shs_wide)low;
    j->sink.high = (shs_wide)high;
}

/* Opens the output before the long work, so that an unwritable output fails early. */
static void prepare_output(job *j) {
    cube_file *out = &j->out;
    shs_type usual = SHS_TYPE_F32;
    if (j->mode == CONVERT) usual = j->in.type;
    out->samples = j->in.samples;
    out->lines = j->in.lines;
    out->bands = j->cube.band_count;
    out->type = chosen_type(j->s->output.type, usual);
    out->interleave = chosen_interleave(j->s->output.interleave);
    if (j->in.folded) {
        out->folded = folded_from(out->interleave);
        if (out->interleave == SHS_INTERLEAVE_BIL) out->interleave = SHS_INTERLEAVE_BSQ;
    }
    output_nodata(j, out);
    output_rescale(j, out);
    j->sink.has_nodata = out->has_nodata;
    if (out->has_nodata) j->sink.nodata = (shs_wide)out->nodata;
    cube_create(out);
    j->sink.type = out->type;
    j->sink.interleave = out->interleave;
    j->sink.write_fn = write_lines;
    j->sink.write_user = out;
    if (!is_integer(out->type)) return;
    j->sink.type = SHS_TYPE_F64;
    j->sink.has_nodata = 1;
    j->sink.nodata = (shs_wide)NAN;
    j->sink.write_fn = write_integers;
}

/* Selects the pixels of the cube in an open file, which has `bands` values for each of them, and the size of the window or of
   the whole file. */
static void lay_beside(cube_file *f, const char *name, const cube_file *like, int bands, const char *what) {
    if (like->folded) fold_line(f);
    if (f->bands != bands) fail(EXIT_ERROR, "%s: bands: %d, but %s %d", name, f->bands, what, bands);
    will_read(f->header_name);
    will_read(f->data_name);
    if (f->samples == like->samples && f->lines == like->lines) return;
    if (f->samples != like->stored.samples || f->lines != like->stored.lines)
        fail(EXIT_ERROR, "%s: %d x %d pixels, but %s has %d x %d", name, f->samples, f->lines, like->header_name,
             like->stored.samples, like->stored.lines);
    f->window.left = like->window.left;
    f->window.top = like->window.top;
    f->samples = like->samples;
    f->lines = like->lines;
}

/* Opens a mask, labels or known values of the pixels. */
static cube_file beside_open(const char *name, const cube_file *like, int bands, const char *what) {
    cube_file f = cube_open(name, NULL);
    lay_beside(&f, name, like, bands, what);
    return f;
}

/* Of a truth or of abundances: 0 is a value, even if the header calls 0 missing. */
static void take_zeros(cube_file *f) {
    if (is_nodata(f, 0)) f->has_nodata = 0;
}

/* Names the files of spectra before anything is written: a table, or header and data of a library. X,Y is no file. */
static void will_read_spectra(const char *name) {
    const char *data_name = NULL;
    char *header_name;
    if (names_pixel(name)) return;
    if (!names_envi(name)) {
        will_read(name);
        return;
    }
    header_name = find_header(name, &data_name);
    will_read(header_name);
    free(header_name);
    if (data_name) will_read(data_name);
    else {
        cube_file library = cube_open(name, NULL); /* finds the data by their size */
        will_read(library.data_name);
        cube_close(&library);
    }
}

/* No file of the job may be another one's. */
static void name_files(job *j, const char *out_name) {
    const settings *s = j->s;
    int channels = 3;
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    if (s->detect.truth) {
        j->truth = beside_open(s->detect.truth, &j->in, 1, "a mask has");
        take_zeros(&j->truth);
    }
    if (s->detect.target) will_read_spectra(s->detect.target);
    if (s->detect.undesired) will_read_spectra(s->detect.undesired);
    cube_name(&j->out, out_name);
    if (s->output.quicklook && has_extension(s->output.quicklook, ".pgm")) channels = 1;
    if (s->output.quicklook) picture_will_write(s->output.quicklook, channels);
    if (s->output.report) will_write(s->output.report);
    if (s->output.html) will_write(s->output.html);
    if (s->detect.roc) will_write(s->detect.roc);
}

/* Of the pixels that get a score some must be targets, and some not; that is known before the work is done. */
static void check_truth(job *j) {
    cube_file *f = &j->truth;
    size_t width = (size_t)f->samples, x;
    char *values = (char *)allocate(width, shs_type_size(f->type));
    unsigned char *room = ALLOCATE(unsigned char, width);
    const char *how_many = "no", *part, *of = "";
    int found[2] = {0, 0}, y;
    for (y = 0; y < f->lines && !(found[0] && found[1]); y++) {
        const unsigned char *marks = NULL;
        if (!j->s->pixels.fit_only) marks = marks_of(j, y, 1, room);
        must_read(f, y, 1, values);
        for (x = 0; x < width; x++) {
            double value = get_value(values, x, f->type, f->swap);
            if (is_missing(f, value)) continue;
            if (!marks || marks[x]) found[value > 0 || value < 0] = 1;
        }
    }
    if (!found[0] || !found[1]) {
        part = part_of_file(j);
        if (found[1]) how_many = "every";
        if (*part) of = " of";
        fail(EXIT_ERROR, "%s: --truth: it marks %s pixel%s%s", f->header_name, how_many, of, part);
    }
    free(room);
    free(values);
}

/* ---- whether values are what a header says ------------------------------------------------------------------------- */

/* Spectra of reflectance reach no more; integers do. */
static const double most_reflectance = 2, most_percent = 120;

enum { SAMPLED_LINES = 16 };

/* The mean size of the valid values of a few lines, 0 where there are none. */
static double typical_value(const job *j) {
    cube_file in = reader_beside(&j->in);
    size_t line = (size_t)in.samples * (size_t)in.bands;
    char *block = (char *)allocate(line, shs_type_size(in.type));
    double sum = 0, count = 0;
    int lines = SAMPLED_LINES, k, x, i;
    if (in.folded) lines *= 64;
    if (lines > in.lines) lines = in.lines;
    for (k = 0; k < lines; k++) {
        int y = (int)((double)k * in.lines / lines);
        if (in.folded && in.lines > lines) y = k / 64 * (in.lines / SAMPLED_LINES) + k % 64; /* few places of the file */
        must_read(&in, y, 1, block);
        for (x = 0; x < in.samples; x++)
            for (i = 0; i < j->cube.band_count; i++) {
                double value = get_value(block, value_index(&in, 1, 0, x, j->bands[i]), in.type, in.swap);
                if (is_missing(&in, value)) continue;
                sum += fabs(value);
                count++;
            }
    }
    close_reader(&in);
    free(block);
    if (count > 0) return sum / count;
    return 0;
}

/* The largest factor between what the cube stores and reflectance, of the bands in use. */
static double largest_factor(const job *j, const double *gain) {
    double most = 0;
    int i;
    for (i = 0; i < j->cube.band_count; i++) most = fmax(most, 1 / fabs(gain[j->bands[i]]));
    return most;
}

/* Stops where floats, not scaled yet, are reflectances already and the header says that they are multiples. */
static void refuse_reflectances(const job *j, const double *gain) {
    const cube_file *in = &j->in;
    double typical;
    if (is_integer(in->stored.type) || in->stored.integers64 || largest_factor(j, gain) < 100) return;
    typical = typical_value(j);
    if (typical > 0 && typical <= most_reflectance)
        fail(EXIT_ERROR,
             "%s: reflectance scale factor: %.6g, but its values are about %.4g already: delete the key if they are "
             "reflectances",
             in->header_name, largest_factor(j, gain), typical);
}

/* Before values are scaled by it: by --reflectance, or as a model has them. */
static void check_factor(const job *j, const model_notes *notes) {
    int of_model = notes && j->mode != INVERSE && (notes->values == VALUES_REFLECTANCE || notes->factor > 0);
    double *gain, *bias;
    if ((!j->s->pixels.reflectance && !of_model) || !reflectance_scale(&j->in, &gain, &bias)) return;
    refuse_reflectances(j, gain);
    free(gain);
    free(bias);
}

/* Whether results change where a number is added to all values, as ratios, angles and counts of materials do. */
static int minds_offsets(const settings *s, enum mode mode) {
    const char *method = or_empty(s->method), *constraint = or_empty(s->unmix.constraint);
    const char *endmembers = or_empty(s->unmix.endmembers);
    static const char *const without[] = {"", "mf", "ace", "sace", "glrt"}; /* the mean is subtracted */
    static const char *const by_mean[] = {"flat", "iarr", "logres"};
    static const char *const to_one[] = {"", "sum", "full"};
    static const char *const by_length[] = {"vca", "atgp", "learn"};
    if (mode == INDEX || mode == COMPARE || mode == COUNT) return 1;
    if (s->fit.components_by || s->extract.count_by || is_one_of(endmembers, WITH_COUNT(by_length))) return 1;
    if (mode == ENDMEMBERS) return !s->method || is_one_of(method, WITH_COUNT(by_length));
    if (mode == CORRECT) return is_one_of(method, WITH_COUNT(by_mean));
    if (mode == SPECTRA) return !strcmp(or_empty(s->spectra.continuum), "divide");
    if (mode == DETECT) return s->unmix.library || !is_one_of(method, WITH_COUNT(without));
    if (mode == UNMIX) return s->unmix.library || !is_one_of(constraint, WITH_COUNT(to_one));
    return 0;
}

static int changes_spectra(const settings *s) {
    return s->spectra.smooth || s->spectra.resample || s->spectra.continuum || s->spectra.derivative;
}

/* Whether results change where each band is multiplied by a number of its own. Covariances follow. */
static int minds_unlike_gains(const settings *s, enum mode mode) {
    static const char *const by_covariance[] = {"", "mf", "cem", "ace", "sace", "glrt"};
    if (s->fit.components_by || s->extract.count_by) return 1;
    if (mode == SPECTRA) return changes_spectra(s);
    if (mode == DETECT) return s->unmix.library || !is_one_of(or_empty(s->method), WITH_COUNT(by_covariance));
    return (mode & (INDEX | COMPARE | COUNT | ENDMEMBERS | UNMIX)) != 0;
}

/* What of a header's gains and offsets changes results where it is not applied. */
enum {
    MINDS_GAINS = 1,          /* a factor of all values */
    MINDS_UNLIKE_GAINS = 2,   /* one for each band */
    MINDS_OFFSETS = 4,        /* a number added to all values */
    MINDS_UNLIKE_OFFSETS = 8, /* one for each band */
    MINDS_ALL = 15
};

/* Of pixels alone, without the spectra of a table. */
static int minds_of_mode(const settings *s, enum mode mode) {
    int minds = 0;
    if (minds_unlike_gains(s, mode)) minds |= MINDS_UNLIKE_GAINS;
    if (minds_offsets(s, mode)) minds |= MINDS_OFFSETS;
    if (mode == SPECTRA && changes_spectra(s)) minds |= MINDS_UNLIKE_OFFSETS;
    return minds;
}

/* Warns of a list of the header that differs from `usual`, where it changes nothing, or differs between the bands in use.
   Returns whether it does. */
static int warn_of_list(const job *j, const char *key, double usual, int minds_any, int minds_unlike, const char *why) {
    double *list = NULL, off = 0, apart = 0;
    char *range;
    int i, matters;
    if (minds_any || minds_unlike) list = listed_of_bands(&j->in, key, j->bands, j->cube.band_count);
    if (!list) return 0;
    for (i = 0; i < j->cube.band_count; i++) {
        off = fmax(off, fabs(list[i] - usual));
        apart = fmax(apart, fabs(list[i] - list[0]));
    }
    matters = (minds_any && off > 0) || (minds_unlike && apart > 1e-6 * fabs(list[0]));
    range = range_text(list, j->cube.band_count);
    if (matters) warn("%s: %s: %s: they are not applied, and %s; --gains applies them", j->in.header_name, key, range, why);
    free(range);
    free(list);
    return matters;
}

/* The header's gains and offsets are applied on request only. It is said once, however many steps read the cube. minds: what of
   them results depend on (MINDS_...); why: what may go wrong. */
static void warn_of_scale(const job *j, int minds, const char *why) {
    static int told = 0;
    if (told || j->in.scale.gain) return;
    told |= warn_of_list(j, "data gain values", 1, minds & MINDS_GAINS, minds & MINDS_UNLIKE_GAINS, why);
    told |= warn_of_list(j, "data offset values", 0, minds & MINDS_OFFSETS, minds & MINDS_UNLIKE_OFFSETS, why);
}

static void warn_of_mode(const job *j) { warn_of_scale(j, minds_of_mode(j->s, j->mode), "the results may depend on them"); }

/* A list that is of no use is said to be so once, however many steps read the cube. */
static void warn_of_wavelengths(const cube_file *in) {
    static int told = 0;
    if (told || !in->axis.wavelength || is_band_index(in) || has_wavelengths(in)) return;
    told = 1;
    warn("%s: wavelength: %s", in->header_name, wavelengths_missing(in));
}

/* Without the name of an output the cube is only described. notes: of the model that is applied, or NULL. */
static job *job_open_for(const settings *s, enum mode mode, const char *name, const char *out_name, const model_notes *notes) {
    job *j = ALLOCATE(job, 1);
    j->s = s;
    j->mode = mode;
    j->start = wall_clock();
    check_options(j);
    j->in = cube_open_with(name, s->pixels.data, or_empty(s->pixels.nodata));
    select_window(&j->in, s->pixels.window);
    if (is_streamed(j) && !asks_columns(s)) fold_line(&j->in); /* a folded cube has one column */
    if (s->pixels.mask) j->mask_file = beside_open(s->pixels.mask, &j->in, 1, "a mask has");
    if (s->pixels.classes) j->class_file = beside_open(s->pixels.classes, &j->in, 1, "a mask has");
    if (out_name) name_files(j, out_name);
    select_bands(j);
    select_nodata(&j->in, s->pixels.nodata, 1);
    check_factor(j, notes);
    select_scale(j, notes);
    if (mode != INDEX) warn_of_mode(j); /* an index has few of the bands, which are not known yet */
    j->ctx = example_context(s->run.threads, s->run.device);
    j->cube.type = j->in.type;
    j->cube.samples = j->in.samples;
    j->cube.lines = j->in.lines;
    j->cube.bands = j->in.bands;
    j->cube.interleave = j->in.interleave;
    j->cube.swap_bytes = j->in.swap;
    j->cube.has_nodata = j->in.has_nodata;
    j->cube.nodata = (shs_wide)j->in.nodata;
    select_pixels(j);
    warn_of_wavelengths(&j->in);
    select_noise(j);
    if (s->detect.truth) check_truth(j);
    if (out_name) prepare_output(j);
    if ((out_name && !(j->mode & (CONVERT | PIXELWISE))) || (j->mode & SUMS)) load_or_stream(j);
    if (out_name || (j->mode & SUMS)) select_fit(j);
    j->opened = wall_clock();
    return j;
}

static job *job_open(const settings *s, enum mode mode, const char *name, const char *out_name) {
    return job_open_for(s, mode, name, out_name, NULL);
}

/* The bar of work that goes line by line without the library. */
static void show_lines(const job *j, const char *phase, int done) {
    if (j->ctx.progress_fn) (void)j->ctx.progress_fn(j->ctx.progress_user, phase, (size_t)done, (size_t)j->in.lines, -1);
}

/* ---- what the bands hold ------------------------------------------------------------------------------------------ */

typedef struct band_summary {
    double low, high, sum, count, missing;
} band_summary;

static int threads_of(const job *j) {
#ifdef _OPENMP
    if (j->s->run.threads > 0) return sane_threads(j->s->run.threads);
    return omp_get_max_threads();
#else
    (void)j;
    return 1;
#endif
}

enum { COLUMNS_AT_ONCE = 64, BANDS_AT_ONCE = 16 }; /* whose values stay in the cache, whatever the layout */

/* Where some pixels of a line lie in a block of lines. */
static value_run run_of(const cube_file *f, int lines, int y, int x, int count, int band) {
    value_run run;
    run.first = value_index(f, lines, y, x, band);
    run.count = count;
    run.step = 1;
    if (f->interleave == SHS_INTERLEAVE_BIP) run.step = (size_t)f->bands;
    return run;
}

/* marks: of these pixels; NULL: all count. */
static void summarise_values(const cube_file *in, const unsigned char *marks, int count, const double *values, band_summary *b) {
    int k;
    for (k = 0; k < count; k++) {
        const double value = values[k];
        if (marks && !marks[k]) continue;
        if (is_missing(in, value)) {
            b->missing++;
            continue;
        }
        if (!(b->count > 0 && b->low < value)) b->low = value;
        if (!(b->count > 0 && b->high > value)) b->high = value;
        b->sum += value;
        b->count++;
    }
}

/* The bands in use from `band` on. */
static void summarise_bands(const job *j, const void *block, int lines, const unsigned char *marks, int band,
                            band_summary *summaries) {
    const cube_file *in = &j->in;
    const int end = smaller(band + BANDS_AT_ONCE, j->cube.band_count);
    double values[COLUMNS_AT_ONCE];
    int x, y, i;
    for (y = 0; y < lines; y++)
        for (x = 0; x < in->samples; x += COLUMNS_AT_ONCE) {
            const int count = smaller(in->samples - x, COLUMNS_AT_ONCE);
            const unsigned char *mark = NULL;
            if (marks) mark = marks + element_at(y, in->samples, x);
            for (i = band; i < end; i++) {
                get_run(block, run_of(in, lines, y, x, count, j->bands[i]), in->type, in->swap, values, 1);
                summarise_values(in, mark, count, values, summaries + i);
            }
        }
}

static void summarise_block(const job *j, const void *block, int lines, const unsigned char *marks, band_summary *summaries) {
    int band;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads_of(j)) schedule(dynamic)
#endif
    for (band = 0; band < j->cube.band_count; band += BANDS_AT_ONCE) summarise_bands(j, block, lines, marks, band, summaries);
}

/* Of each band in use, a few lines at a time. */
static band_summary *summarise(job *j) {
    band_summary *summaries = ALLOCATE(band_summary, j->cube.band_count);
    double line_bytes = (double)j->in.samples * j->in.bands * (double)shs_type_size(j->in.type);
    int lines = lines_of_block(j), first;
    char *block;
    unsigned char *marks;
    if (!lines) lines = (int)(16e6 / line_bytes) + 1;
    if (!(lines < j->in.lines)) lines = j->in.lines;
    block = (char *)allocate((size_t)line_bytes, (size_t)lines);
    marks = ALLOCATE(unsigned char, elements(lines, j->in.samples));
    for (first = 0; first < j->in.lines; first += lines) {
        if (lines > j->in.lines - first) lines = j->in.lines - first;
        show_lines(j, "reading", first);
        must_read(&j->in, first, lines, block);
        summarise_block(j, block, lines, marks_of(j, first, lines, marks), summaries);
    }
    progress_clear();
    free(block);
    free(marks);
    return summaries;
}

/* The numbers of the marked ones of `count` bands, as 4,37-39; the caller frees the text. bands: counted from 0. */
static char *list_of_numbers(int count, const int *bands, const unsigned char *marked) {
    char *list = ALLOCATE(char, 24 * (size_t)count + 1), *at = list;
    int i, last;
    for (i = 0; i < count; i = last) {
        last = i + 1;
        if (!marked[i]) continue;
        while (last < count && marked[last] && bands[last] - bands[i] == last - i) last++;
        if (at > list) *at++ = ',';
        if (last > i + 1) at += sprintf(at, "%d-%d", bands[i] + 1, bands[last - 1] + 1);
        else at += sprintf(at, "%d", bands[i] + 1);
    }
    return list;
}

/* The same of the bands in use that are marked. */
static char *list_of_bands(const job *j, const unsigned char *marked) {
    return list_of_numbers(j->cube.band_count, j->bands, marked);
}

static int lists_several(const char *list) { return strpbrk(list, ",-") != NULL; }

static const char *plural_of_list(const char *list) {
    if (lists_several(list)) return "s";
    return "";
}

/* A pixel counts only where no band in use is missing: the bands that have nothing, or else the one that has least. */
static void fail_for_pixels(job *j) {
    band_summary *all = summarise(j);
    const band_summary *worst = all;
    unsigned char *empty = ALLOCATE(unsigned char, j->cube.band_count);
    char *list;
    int i;
    for (i = 0; i < j->cube.band_count; i++) {
        empty[i] = !(all[i].count > 0);
        if (all[i].missing > worst->missing) worst = all + i;
    }
    list = list_of_bands(j, empty);
    if (*list)
        fail(EXIT_ERROR,
             "%s: pixels: too few valid pixels: every value of band%s %s is missing; --bands or --bbl leave bands out",
             j->in.header_name, plural_of_list(list), list);
    if (worst->missing > 0)
        fail(EXIT_ERROR,
             "%s: pixels: too few valid pixels: each misses some band, band %d %.0f of %.0f times; --bands or --bbl leave bands "
             "out",
             j->in.header_name, j->bands[worst - all] + 1, worst->missing, worst->missing + worst->count);
    fail(EXIT_ERROR, "%s: pixels: too few valid pixels", j->in.header_name);
}

/* Fails with the names of all constant bands, if any band is constant. */
static void fail_for_dead_bands(job *j, shs_status status) {
    band_summary *all = summarise(j);
    unsigned char *dead = ALLOCATE(unsigned char, j->cube.band_count);
    const char *holds = "holds", *way_out = "";
    char *list;
    int i;
    for (i = 0; i < j->cube.band_count; i++) dead[i] = all[i].count > 0 && !(all[i].high > all[i].low);
    list = list_of_bands(j, dead);
    if (lists_several(list)) holds = "hold";
    if (status == SHS_SINGULAR_COVARIANCE) way_out = ", --ridge R keeps them";
    if (*list)
        fail(EXIT_ERROR, "%s: %s: band%s %s %s one value only; --bands or --bbl leave bands out%s", j->in.header_name,
             shs_status_text(status), plural_of_list(list), list, holds, way_out);
    free(list);
    free(dead);
    free(all);
}

/* Stops with the name of what is at fault. */
static void check_job(job *j, shs_status status) {
    if ((status == SHS_NO_PIXELS || status == SHS_RANK_TOO_LOW) && asks_neighbours(j)) check_pairs(j, j->s->fit.components);
    if (status == SHS_NO_PIXELS) fail_for_pixels(j);
    if (status == SHS_ZERO_VARIANCE || status == SHS_SINGULAR_COVARIANCE) fail_for_dead_bands(j, status);
    if (status == SHS_READ_FAILED)
        fail(EXIT_ERROR, "%s: reading it failed: %s", j->in.data_name, transfer_trouble(&j->in));
    if (status == SHS_WRITE_FAILED)
        fail(EXIT_ERROR, "%s: writing it failed: %s", j->out.part.name, strerror(j->out.io.error));
    if (j->s->fit.trim > 0 && status == SHS_RANK_TOO_LOW && !j->s->fit.skip && !j->s->fit.components)
        fail(EXIT_ERROR, "%s: --trim %g: the pixels that stay are too few for the bands, or a band is constant among them: "
                         "a smaller share, or --bands of fewer", j->in.header_name, j->s->fit.trim);
    if (j->s->fit.skip && (status == SHS_BAD_COMPONENTS || status == SHS_RANK_TOO_LOW))
        fail(EXIT_ERROR, "%s: --skip %d: %s", j->in.header_name, j->s->fit.skip, shs_status_text(status));
    if (j->s->fit.components && (status == SHS_BAD_COMPONENTS || status == SHS_RANK_TOO_LOW))
        fail(EXIT_ERROR, "%s: --components %d: %s", j->in.header_name, j->s->fit.components, shs_status_text(status));
    check(status, j->in.header_name);
}

/* The output's words, then those of the input. */
static char *described(const char *what, const cube_file *in) {
    char *named = joined(what, in->header_name), *with, *both;
    if (!*in->description) return named;
    with = joined(named, ": ");
    both = joined(with, in->description);
    free(named);
    free(with);
    return both;
}

/* The output has the bands of the input that were in use. */
static void keep_bands(job *j) {
    j->out.origin.kept = j->bands;
    j->out.origin.same_values = !j->s->output.rescale && !j->in.scale.gain;
}

/* The output has the unit of the pixels, though not their values. */
static void keep_unit(job *j) {
    if (j->s->output.rescale || j->out.origin.same_values) return;
    if (j->in.scale.reflectance) j->out.scale.factor = 1;
    else if (!j->in.scale.gain) j->out.scale.factor = stated_factor(&j->in.text);
}

/* Starts the output after the fit: `bands` bands, described by `what`. Rounding takes time to count, and is told only where the
   values are neither stretched nor whole already. */
static void output_start(job *j, int bands, const char *what) {
    const int stretched = j->s->output.rescale || j->s->output.range;
    const int whole = j->mode == CONVERT && is_integer(j->in.type);
    cube_file *out = &j->out;
    j->fitted = wall_clock();
    out->bands = bands;
    out->description = described(what, &j->in);
    if (is_integer(out->type) && !stretched && !whole)
        out->lost.rounded = ALLOCATE(rounded_values, elements(bands, ROUNDED_SIZES));
}

static void tell_beyond(const cube_file *in) {
    if (!in->lost.beyond) return;
    warn("%s: %" PRIu64 " values are beyond %.3g, the largest float: their pixels count as missing; -DSPARSEHS_DOUBLE builds a "
         "program that takes them",
         in->header_name, in->lost.beyond, (double)FLT_MAX);
}

/* Names the bands whose values are too small for whole numbers. */
static void tell_rounding(const cube_file *out, const char *keeps) {
    int *bands = ALLOCATE(int, out->bands), b;
    unsigned char *rough = ALLOCATE(unsigned char, out->bands);
    const char *most = "";
    double worst = 0;
    char *list;
    for (b = 0; b < out->bands; b++) {
        const double share = rounded_share(out, b);
        bands[b] = b;
        rough[b] = share > 0.1;
        worst = fmax(worst, share);
    }
    list = list_of_numbers(out->bands, bands, rough);
    if (lists_several(list)) most = "up to ";
    if (*list)
        warn("%s: band%s %s: values became whole numbers, which changed them by %s%.0f %% of their root mean square; %s keeps "
             "them",
             out->header_name, plural_of_list(list), list, most, 100 * worst, keeps);
    free(list);
    free(rough);
    free(bands);
}

/* The output is complete. Says what became of values that did not fit. */
static void output_finish(job *j, const char *band_name, const int *band_numbers) {
    const cube_file *out = &j->out;
    const value_type *type = type_info(out->type);
    const char *keeps = "--type f32";
    if (j->mode == CONVERT && j->s->output.range) keeps = "a wider --range";
    else if (j->mode == CONVERT) keeps = "--range";
    else if (!(j->mode & PIXELWISE) && !j->s->unmix.library) keeps = "--rescale";
    j->out.origin.from = &j->in;
    cube_finish(&j->out, band_name, band_numbers);
    tell_beyond(&j->in);
    if (out->lost.clamped)
        warn("%s: %" PRIu64 " values do not fit %s and were clamped to %.0f..%.0f; %s or another --type keeps them",
             out->header_name, out->lost.clamped, type->name, type->low, type->high, keeps);
    if (out->lost.met)
        warn("%s: %" PRIu64 " valid values became %.10g, which also marks missing pixels; %s keeps them apart",
             out->header_name, out->lost.met, out->nodata, keeps);
    if (out->lost.rounded) tell_rounding(out, keeps);
}

/* ---- the way back from outputs that are stretched ----------------------------------------------------------------- */

typedef struct output_ends {
    int samples, outputs;
    double *low, *high; /* range of the valid values of each output; low > high: no valid value */
} output_ends;

/* Takes pixels whose outputs lie together. */
static int note_ends(void *user, int first, int lines, const void *block) {
    output_ends *e = (output_ends *)user;
    const double *value = (const double *)block;
    size_t i, count = (size_t)e->samples * (size_t)lines;
    int k;
    (void)first;
    for (i = 0; i < count; i++)
        for (k = 0; k < e->outputs; k++) {
            const double x = *value++;
            if (!isfinite(x)) continue;
            e->low[k] = fmin(e->low[k], x);
            e->high[k] = fmax(e->high[k], x);
        }
    return 0;
}

/* Whether outputs are stretched, and their header is to say how they lead back. */
static int is_stretched(const job *j) { return j->sink.rescale && j->sink.high > j->sink.low; }

/* A sink that takes the outputs as they are, and notes their ends in e. */
static shs_sink sink_for_ends(const job *j, int outputs, output_ends *e) {
    shs_sink sink = SHS_ZERO;
    int k;
    e->samples = j->in.samples;
    e->outputs = outputs;
    e->low = ALLOCATE(double, outputs);
    e->high = ALLOCATE(double, outputs);
    for (k = 0; k < outputs; k++) {
        e->low[k] = (double)INFINITY;
        e->high[k] = -(double)INFINITY;
    }
    sink.type = SHS_TYPE_F64;
    sink.interleave = SHS_INTERLEAVE_BIP;
    sink.has_nodata = 1;
    sink.nodata = (shs_wide)NAN;
    sink.write_fn = note_ends;
    sink.write_user = e;
    return sink;
}

/* Values in the unit of the input's lead farther back, by the gains of its header, unless these were applied. */
static void add_gains_of_input(job *j) {
    cube_file *out = &j->out;
    double *gain, *offset;
    int i;
    if (j->in.scale.gain) return;
    gain = header_list(&j->in.text, "data gain values", j->in.bands);
    offset = header_list(&j->in.text, "data offset values", j->in.bands);
    for (i = 0; gain && i < j->cube.band_count; i++) {
        out->scale.gain[i] *= gain[j->bands[i]];
        out->scale.bias[i] *= gain[j->bands[i]];
    }
    for (i = 0; offset && i < j->cube.band_count; i++) out->scale.bias[i] += offset[j->bands[i]];
    free(gain);
    free(offset);
}

/* Has the header say how stretched outputs lead back: value = gain * stored + offset. */
static void say_stretch(job *j, output_ends *e) {
    cube_file *out = &j->out;
    double low = (double)j->sink.low, high = (double)j->sink.high;
    int k;
    progress_clear();
    out->scale.gain = ALLOCATE(double, e->outputs);
    out->scale.bias = ALLOCATE(double, e->outputs);
    for (k = 0; k < e->outputs; k++) {
        if (!(e->high[k] >= e->low[k])) continue;
        out->scale.gain[k] = (e->high[k] - e->low[k]) / (high - low);
        out->scale.bias[k] = e->low[k] - out->scale.gain[k] * low;
    }
    free(e->low);
    free(e->high);
    if (in_unit_of_pixels(j)) add_gains_of_input(j);
}

/* The library keeps the ends of outputs to itself, so the call that makes them is made once more. */
static void note_stretch(job *j, int outputs, cube_call call) {
    output_ends e;
    shs_sink sink;
    if (!is_stretched(j)) return;
    sink = sink_for_ends(j, outputs, &e);
    call.sink = &sink;
    check_job(j, run_cube(j, call));
    say_stretch(j, &e);
}

static void job_close(job *j) {
    example_end();
    cube_close(&j->in);
    cube_close(&j->out);
    cube_close(&j->truth);
    cube_close(&j->mask_file);
    cube_close(&j->class_file);
    free(j->pixels);
    free(j->mask);
    free(j->fit_mask);
    free(j->bands);
    free(j->noise);
    free(j->counted);
    free(j);
}

#endif /* HYPERCUBE_JOB */
