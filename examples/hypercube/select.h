/* select.h - a job and the bands and pixels that it uses: lists, wavelengths, windows, masks, every k-th pixel. */
#ifndef HYPERCUBE_SELECT
#define HYPERCUBE_SELECT

#include "scales.h"
#include "options.h"

/* ---- a job: one cube in, one out --------------------------------------------------------------------------------- */

/* How pictures of the output are stretched: for all of its values, as shares from 0 to 1, or for its few highest or lowest ones,
   which are finds. */
enum look { LOOK_ALL, LOOK_SHARES, LOOK_HIGH, LOOK_LOW };

static int shows_finds(enum look look) { return look == LOOK_HIGH || look == LOOK_LOW; }

typedef struct job {
    const settings *s;
    settings *counted; /* what s is, where an option was `auto` */
    enum mode mode;
    cube_file in, out, truth, mask_file, class_file;
    shs_context ctx;
    shs_cube cube, fit; /* the pixels to transform, and the pixels to fit to: the same or fewer */
    shs_sink sink;
    void *pixels; /* the whole cube, where it is not streamed */
    int *bands;   /* in use; counted from 0 */
    int one_call; /* of the library fits and transforms */
    enum look look;
    shs_wide *noise;                /* its covariance, bands in use squared; NULL: it is estimated */
    int masked;                     /* some option leaves pixels out */
    unsigned char *mask, *fit_mask; /* a byte a pixel, 0 = leave out; NULL: all are used, or they come block by block */
    double start, opened, fitted, written; /* when; opened: read, too, unless it is streamed */
} job;

/* ---- which of its bands and pixels -------------------------------------------------------------------------------- */

/* One number of a list of bands, and where the text goes on. */
static int listed_band(const char *text, const char **at, int count) {
    char *end;
    long band = strtol(*at, &end, 10);
    if (end == *at || !isdigit((unsigned char)**at)) fail(EXIT_USAGE, "--bands: '%s' is no list like 1-50,60", text);
    if (band < 1 || band > count) fail(EXIT_USAGE, "--bands: %s: the bands are 1 to %d", text, count);
    *at = end;
    return (int)band;
}

/* 1-50,60,70-80 becomes 0..49, 59, 69..79; how many there are. */
static int listed_bands(const char *text, int count, int *bands) {
    unsigned char *seen = ALLOCATE(unsigned char, count);
    const char *at = text;
    int used = 0;
    for (;; at++) {
        int first = listed_band(text, &at, count), last = first;
        if (*at == '-') {
            at++;
            last = listed_band(text, &at, count);
        }
        if (first > last) fail(EXIT_USAGE, "--bands: %s: %d-%d runs backwards", text, first, last);
        for (; first <= last; first++) {
            if (seen[first - 1]++) fail(EXIT_USAGE, "--bands: %s: band %d is there twice", text, first);
            bands[used++] = first - 1;
        }
        if (!*at) break;
        if (*at != ',') fail(EXIT_USAGE, "--bands: '%s' is no list like 1-50,60", text);
    }
    free(seen);
    return used;
}

/* Whether it is within one of the ranges 400:900,1500:1750. */
static int within_ranges(const char *text, double value) {
    const char *at;
    int inside = 0;
    for (at = text;; at++) {
        char *end, *last;
        double low = strtod(at, &end), high = 0;
        if (*end == ':') high = strtod(end + 1, &last);
        if (end == at || *end != ':' || last == end + 1 || (*last && *last != ',') || !(low <= high))
            fail(EXIT_USAGE, "--wavelengths: '%s' is no list like 400:900,1500:1750", text);
        inside |= value >= low && value <= high;
        at = last;
        if (!*at) return inside;
    }
}

static void select_bands(job *j) {
    const settings *s = j->s;
    const char *that_is = "";
    int i, used = 0;
    j->bands = ALLOCATE(int, j->in.bands);
    if (s->pixels.bands && s->pixels.bbl) fail(EXIT_USAGE, "--bbl: --bands says already which bands to use");
    if (s->pixels.bands && s->pixels.wavelengths) fail(EXIT_USAGE, "--wavelengths: --bands says already which bands to use");
    if (s->pixels.bbl && !j->in.axis.good)
        fail(EXIT_ERROR, "%s: bbl: the key is missing or damaged, and --bbl needs it", j->in.header_name);
    if (s->pixels.wavelengths && !j->in.axis.wavelength)
        fail(EXIT_ERROR, "%s: wavelength: the key is missing or damaged, and --wavelengths needs it", j->in.header_name);
    if (s->pixels.bands) used = listed_bands(s->pixels.bands, j->in.bands, j->bands);
    for (i = 0; i < j->in.bands && !s->pixels.bands; i++) {
        if (s->pixels.wavelengths && !within_ranges(s->pixels.wavelengths, j->in.axis.wavelength[i])) continue;
        if (s->pixels.bbl && !(j->in.axis.good[i] > 0)) continue;
        j->bands[used++] = i;
    }
    if (s->pixels.bbl) that_is = "that is good ";
    if (!used && s->pixels.wavelengths)
        fail(EXIT_ERROR, "%s: wavelength: no band %sis within %s: the header has %.6g to %.6g %s", j->in.header_name,
             that_is, s->pixels.wavelengths, j->in.axis.wavelength[0], j->in.axis.wavelength[j->in.bands - 1], j->in.axis.units);
    if (!used) fail(EXIT_ERROR, "%s: bbl: it calls every band bad", j->in.header_name);
    j->cube.band_list = j->bands;
    j->cube.band_count = used;
    if (j->in.axis.wavelength && !is_band_index(&j->in)) place_unused_bands(&j->in, j->bands, used);
    if (j->s->fit.components > used)
        fail(EXIT_USAGE, "--components: %d, but only %d bands of %s are in use", j->s->fit.components, used,
             j->in.header_name);
}

/* Whether a value of this type can be that number. */
static int holds_value(shs_type type, double value) {
    const value_type *info = type_info(type);
    if (is_integer(type)) return value >= info->low && value <= info->high && floor(value) >= value;
    return type == SHS_TYPE_F64 || fabs(value) <= (double)FLT_MAX;
}

/* A no-data value that the type cannot hold. Of 16 bits, -1 and 65535 are the same bits: the one of the type may be meant. */
static void tell_of_nodata(const cube_file *in, const char *option_text, int own) {
    const value_type *info = type_info(in->type);
    const double width = info->high - info->low + 1;
    double same = in->nodata - width;
    const char *key = "data ignore value";
    char range[80] = "", meant[120] = "";
    if (in->nodata < 0) same = in->nodata + width;
    if (is_integer(in->type)) sprintf(range, ", whole numbers from %.0f to %.0f", info->low, info->high);
    if (is_integer(in->type) && holds_value(in->type, same) && in->nodata >= -width / 2)
        sprintf(meant, ". %.0f has its bits in this type: if that is meant, --nodata=%.0f", same, same);
    if (option_text && own)
        fail(EXIT_USAGE, "--nodata: %.20s is none of the values of %s, which are %s%s%s", option_text, in->header_name,
             info->name, range, meant);
    if (option_text) key = "--nodata";
    warn("%s: %s: %.15g is none of its values, which are %s%s: no pixel is missing by it%s", in->header_name, key, in->nodata,
         info->name, range, meant);
}

/* The no-data value that the option names, or else that of the header. A value that the type cannot hold marks no pixel: as the
   option's it is an error, unless the option is for another cube, and this one (own: 0) is used beside it. */
static void select_nodata(cube_file *in, const char *text, int own) {
    char *end;
    double nodata;
    if (text) {
        nodata = strtod(text, &end);
        if (end == text || *end) fail(EXIT_USAGE, "--nodata: '%s' is not a number", text);
        take_nodata(in, nodata);
    }
    if (!in->has_nodata || holds_value(in->type, in->nodata)) return;
    tell_of_nodata(in, text, own);
    in->has_nodata = 0;
}

/* Stops where a band was picked by its wavelength, and another one in use, that was not, has the same. */
static void refuse_twins(const job *j, const int *picked, int count) {
    double *list = bands_in_nanometres(&j->in, NULL, j->in.bands);
    int *is_picked = ALLOCATE(int, j->in.bands), i, k;
    for (k = 0; k < count; k++) is_picked[picked[k]] = 1;
    for (i = 0; i < j->cube.band_count; i++) {
        const int other = j->bands[i];
        for (k = 0; k < count && !is_picked[other]; k++)
            if (!(fabs(list[other] - list[picked[k]]) > 0)) fail_for_twins(j->in.header_name, picked[k], other, list[other]);
    }
    free(is_picked);
    free(list);
}

static void select_window(cube_file *in, const char *text) {
    int window[4];
    if (!text) return;
    chosen_window("--window", text, window);
    if (window[0] > in->samples - window[2] || window[1] > in->lines - window[3])
        fail(EXIT_USAGE, "--window: %s is not within the %d x %d pixels of %s", text, in->samples, in->lines, in->header_name);
    in->window.left = window[0];
    in->window.top = window[1];
    in->samples = window[2];
    in->lines = window[3];
}

/* Scales values as the options say, or as the model needs them. notes may be NULL. */
static void select_scale(job *j, const model_notes *notes) {
    const settings *s = j->s;
    cube_file *in = &j->in;
    if (s->pixels.gains && s->pixels.reflectance) fail(EXIT_USAGE, "--gains: --reflectance says already how values are scaled");
    if (s->pixels.reflectance && notes && j->mode == APPLY) check_unit(in, notes, VALUES_REFLECTANCE, "--reflectance");
    if (s->pixels.gains && notes && j->mode == APPLY) check_unit(in, notes, VALUES_GAINS, "--gains");
    if (s->pixels.reflectance) scale_to_reflectance(in);
    else if (s->pixels.gains) must_scale_by_gains(in);
    else if (j->mode == INVERSE) {
        if (scale_by_gains(in))
            printf("%s: components are scaled back by data gain values and data offset values\n", in->header_name);
    } else if (notes) scale_as_model(in, notes);
}

/* What is in memory at once where the cube is: its pixels, or those of an output with as many bands while they are computed,
   whole numbers as doubles. */
static uint64_t bytes_in_memory(const job *j) {
    const shs_type type = chosen_type(j->s->output.type, SHS_TYPE_F32);
    const uint64_t values = (uint64_t)elements(j->in.samples, j->in.lines) * (uint64_t)j->in.bands;
    uint64_t computed = 0;
    if (j->mode == DENOISE && type == SHS_TYPE_F32) computed = values * sizeof(float);
    else if (j->mode == DENOISE) computed = values * sizeof(double);
    if (computed > cube_bytes(&j->in)) return computed;
    return cube_bytes(&j->in);
}

/* In memory below 1 GB, where it is in the file or read, unless --block wishes otherwise. An inverse has many more bands than
   its components. */
static int is_streamed(const job *j) {
    const uint64_t bytes = bytes_in_memory(j);
    return j->s->pixels.block || j->mode == INVERSE || bytes >= (uint64_t)1 << 30 || bytes > SIZE_MAX / 2;
}

/* Whether each column of the image has a background of its own. */
static int asks_columns(const settings *s) {
    static const char *const backgrounds[] = {"image", "column"};
    return s->detect.background && choose("--background", s->detect.background, backgrounds, 2) == 1;
}

/* Lines in memory at a time; 0: as many as are good. --block counts lines of the file, and a folded file has one line. */
static int lines_of_block(const job *j) {
    if (j->in.folded) return 0;
    return j->s->pixels.block;
}

/* Whether a value marks its pixel: in a mask (id -1) by not being 0, among classes by being `id`. */
static int marks_pixel(double value, int id) {
    if (id < 0) return value > 0 || value < 0;
    return value >= id && value <= id;
}

/* Leaves out pixels of these lines where the file says 0, or is missing; with an id, where it is not that. */
static void mark_by_file(cube_file *f, int id, int first, int lines, unsigned char *marks) {
    size_t count = elements(lines, f->samples), i;
    char *values = (char *)allocate(count, shs_type_size(f->type));
    must_read(f, first, lines, values);
    for (i = 0; i < count; i++) {
        double value = get_value(values, i, f->type, f->swap);
        marks[i] &= !is_missing(f, value) && marks_pixel(value, id);
    }
    free(values);
}

/* As it is where samples are lines. */
static void turn_window(int *window) {
    int i;
    for (i = 0; i < 4; i += 2) {
        int across = window[i];
        window[i] = window[i + 1];
        window[i + 1] = across;
    }
}

/* The window X,Y,W,H of the cube that was read. X and Y of the option count from the first pixel of the file, as those of
   --window do. */
static void region_of(const job *j, const char *option_name, const char *text, int *window) {
    const cube_file *in = &j->in;
    chosen_window(option_name, text, window);
    if (in->folded) turn_window(window);
    window[0] -= in->window.left;
    window[1] -= in->window.top;
    if (window[0] < 0 || window[1] < 0 || window[0] > in->samples - window[2] || window[1] > in->lines - window[3])
        fail(EXIT_USAGE, "%s: %s is not within the pixels of %s", option_name, text, in->header_name);
}

static void mark_by_region(const job *j, int first, int lines, unsigned char *marks) {
    int roi[4], x, y;
    region_of(j, "--roi", j->s->pixels.roi, roi);
    for (y = first; y < first + lines; y++)
        for (x = 0; x < j->in.samples; x++) *marks++ &= x >= roi[0] && x < roi[0] + roi[2] && y >= roi[1] && y < roi[1] + roi[3];
}

/* Another reader of the same open file: what f has read stays. close_reader ends it. */
static cube_file reader_beside(const cube_file *f) {
    const cube_file none = SHS_ZERO;
    cube_file reader = *f;
    reader.rooms = none.rooms;
    reader.lost = none.lost;
    return reader;
}

static void close_reader(cube_file *reader) {
    free(reader->rooms.raw.values);
    free(reader->rooms.nearby.values);
    free(reader->lost.looked);
}

/* Whether the bands in use of a pixel are all 0. */
static int is_zero_pixel(const job *j, const cube_file *in, const char *line, int x) {
    int i;
    for (i = 0; i < j->cube.band_count; i++) {
        double value = get_value(line, value_index(in, 1, 0, x, j->bands[i]), in->type, in->swap);
        if (!(value >= 0 && value <= 0)) return 0;
    }
    return 1;
}

/* Leaves out pixels that are 0 in every band in use. An offset moves the 0 of the file elsewhere, so it is looked for before
   values are scaled. */
static void mask_zeros(job *j) {
    cube_file in = reader_beside(&j->in);
    char *line;
    int x, y;
    in.scale.gain = NULL;
    in.type = in.stored.type;
    if (!makes_values(&in)) in.swap = in.stored.swap;
    line = room_for_lines(&in, 1);
    for (y = 0; y < in.lines; y++) {
        must_read(&in, y, 1, line);
        for (x = 0; x < in.samples; x++)
            if (is_zero_pixel(j, &in, line, x)) j->mask[elements(y, in.samples) + (size_t)x] = 0;
    }
    free(line);
    close_reader(&in);
}

/* Whether each class is worked on by itself. */
static int by_class(const job *j) { return (j->mode & (RX | DETECT)) && j->s->pixels.classes && j->s->pixels.id < 0; }

/* For the library, too: the marks of these lines. */
static int mark_lines(void *user, int first, int lines, unsigned char *marks) {
    job *j = (job *)user;
    const settings *s = j->s;
    size_t count = elements(lines, j->in.samples);
    if (j->mask) memcpy(marks, j->mask + elements(first, j->in.samples), count);
    else {
        memset(marks, 1, count);
        if (s->pixels.mask) mark_by_file(&j->mask_file, -1, first, lines, marks);
        if (s->pixels.classes && !by_class(j)) mark_by_file(&j->class_file, s->pixels.id, first, lines, marks);
        if (s->pixels.roi) mark_by_region(j, first, lines, marks);
    }
    return 0;
}

/* Whether these lines have a pixel that counts. */
static int any_marked(job *j, int first, unsigned char *marks) {
    mark_lines(j, first, 1, marks);
    return memchr(marks, 1, (size_t)j->in.samples) != NULL;
}

/* Returns the options that select a part of the file, as given: " --window 0,0,9,9 --roi ...". */
static char *part_of_file(const job *j) {
    const settings *s = j->s;
    const char *names[] = {" --window ", " --mask ", " --roi ", " --class ", " --id ", " --fit-step "}, *values[6];
    char id[12], step[12], *all = joined("", ""), *longer;
    int i;
    sprintf(id, "%d", s->pixels.id);
    sprintf(step, "%d", s->pixels.fit_step);
    values[0] = s->pixels.window;
    values[1] = s->pixels.mask;
    values[2] = s->pixels.roi;
    values[3] = s->pixels.classes;
    if (s->pixels.classes && s->pixels.id >= 0) values[4] = id;
    else values[4] = NULL;
    if (s->pixels.fit_step > 1) values[5] = step;
    else values[5] = NULL;
    for (i = 0; i < 6; i++) {
        if (!values[i]) continue;
        longer = joined(all, names[i]);
        free(all);
        all = joined(longer, values[i]);
        free(longer);
    }
    return all;
}

/* Selects the pixels that count. A stream makes its mask block by block, unless the mask depends on the pixels themselves. */
static void select_pixels(job *j) {
    const settings *s = j->s;
    const int samples = j->in.samples;
    const size_t width = (size_t)samples;
    int one_class = s->pixels.classes && !by_class(j), line = 0;
    const char *zeros = "";
    unsigned char *marks;
    if (s->pixels.fit_only && !s->pixels.mask && !s->pixels.roi && !one_class && !s->pixels.exclude_zero)
        fail(EXIT_USAGE, "--fit-only: needs --mask, --roi, --class or --exclude-zero");
    if (!s->pixels.mask && !s->pixels.roi && !one_class && !s->pixels.exclude_zero) return;
    j->masked = 1;
    if (!is_streamed(j) || s->pixels.exclude_zero) {
        marks = ALLOCATE(unsigned char, elements(j->in.lines, samples));
        mark_lines(j, 0, j->in.lines, marks);
        j->mask = marks;
        if (s->pixels.exclude_zero) mask_zeros(j);
        while (line < j->in.lines && !memchr(marks + elements(line, samples), 1, width)) line++;
    } else {
        marks = ALLOCATE(unsigned char, width);
        while (line < j->in.lines && !any_marked(j, line, marks)) line++;
        free(marks);
    }
    if (s->pixels.exclude_zero) zeros = " --exclude-zero";
    if (line == j->in.lines) fail(EXIT_ERROR, "%s: pixels: none is left by%s%s", j->in.header_name, part_of_file(j), zeros);
    if (s->pixels.fit_only) return;
    if (j->mask) {
        j->cube.mask = j->mask;
        return;
    }
    j->cube.mask_fn = mark_lines;
    j->cube.mask_user = j;
}

/* The marks of some lines, in memory or in the room for them; NULL: all pixels count. */
static const unsigned char *marks_of(job *j, int first, int lines, unsigned char *room) {
    if (!j->masked) return NULL;
    if (j->mask) return j->mask + elements(first, j->in.samples);
    mark_lines(j, first, lines, room);
    return room;
}

enum { MOST_CLASSES = 1000 };

/* Reads the class of each pixel as an index into `values` (MOST_CLASSES), or -1 if the class is missing. `values` gets the
   file's class numbers in the order of appearance. Returns the number of classes. */
static int read_classes(job *j, int *labels, double *values) {
    cube_file *f = &j->class_file;
    char *line = ALLOCATE(char, (size_t)f->samples *shs_type_size(f->type));
    int x, y, k = 0, count = 0;
    for (y = 0; y < f->lines; y++) {
        must_read(f, y, 1, line);
        for (x = 0; x < f->samples; x++) {
            double value = get_value(line, (size_t)x, f->type, f->swap);
            int *label = labels + element_at(y, f->samples, x);
            *label = -1;
            if (is_missing(f, value)) continue;
            if (k >= count || values[k] < value || values[k] > value) /* most are of the class before */
                for (k = 0; k < count && (values[k] < value || values[k] > value);) k++;
            if (k == MOST_CLASSES) fail(EXIT_ERROR, "%s: --class: more than %d classes", f->header_name, MOST_CLASSES);
            if (k == count) values[count++] = value;
            *label = k;
        }
    }
    free(line);
    return count;
}

/* Every step-th sample of every step-th line, and for MNF the neighbours of each, the differences to which are noise. */
static int mark_fit(void *user, int first, int lines, unsigned char *marks) {
    job *j = (job *)user;
    const char *to = j->s->noise.neighbours;
    int step = j->s->pixels.fit_step, x, y, pairs = (j->mode == MNF || j->s->fit.mnf) && !j->noise;
    int right = pairs && !(to && !strcmp(to, "lower")), below = pairs && to && strcmp(to, "right"), across = right;
    if (j->in.folded) {
        right = below;
        below = across;
    }
    if (j->masked) mark_lines(j, first, lines, marks);
    else memset(marks, 1, elements(lines, j->in.samples));
    for (y = first; y < first + lines; y++)
        for (x = 0; x < j->in.samples; x++) *marks++ &= y % step <= below && x % step <= right;
    return 0;
}

/* The pixels that are fitted to: in a stream they are chosen block by block. */
static void select_fit(job *j) {
    int few = j->s->pixels.fit_step > 1;
    j->fit = j->cube;
    j->fit.mask = j->mask;
    j->fit.mask_fn = NULL;
    if (j->cube.read_fn && (few || (j->masked && !j->mask))) {
        j->fit.mask = NULL;
        if (few) j->fit.mask_fn = mark_fit;
        else j->fit.mask_fn = mark_lines;
        j->fit.mask_user = j;
    } else if (few) {
        j->fit_mask = ALLOCATE(unsigned char, elements(j->in.lines, j->in.samples));
        mark_fit(j, 0, j->in.lines, j->fit_mask);
        j->fit.mask = j->fit_mask;
    }
}

#endif /* HYPERCUBE_SELECT */
