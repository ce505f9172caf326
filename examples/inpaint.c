/* inpaint.c - fills in the pixels that a grey or colour picture has lost (text, scratches, or most of them) with a dictionary
   learnt from what is left of that picture:

       1. interpolate with a thin plate under tension. How much tension is best, and how large the error is, is tried on pixels
          that are known;
       2. learn a dictionary, starting from an overcomplete DCT, and code the patches that touch a hole only so far as the
          interpolation is right; their mean replaces what is missing. Again, each time a little nearer, so that what the
          dictionary has learnt of the picture replaces what the interpolation guessed. Known pixels stay as they are;
       3. where much is missing, blend in codes of the known pixels alone, as far as they are nearer to pixels that are known.

       cc -O3 -fopenmp inpaint.c -o inpaint -lm
       ./inpaint scratched.png mask.png whole.png               (black in mask.png: missing)
       ./inpaint clean.png whole.png --remove 0.8               (a trial: the error is known) */
#ifndef EXAMPLE_NO_OPENCL
#define EXAMPLE_NO_OPENCL /* devices know no missing values */
#endif
#include "example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"

#include "filling.h"

typedef struct settings {
    filling how;
    double remove;
    int threads;
    const char *reference;
} settings;

static picture picture_copy(const picture *a, int black) {
    picture b = picture_create(a->width, a->height, a->channels);
    size_t i, count = picture_size(a);
    picture_carry(a, &b);
    for (i = 0; i < count; i++) {
        b.pixels[i] = a->pixels[i];
        if (black && pixel_missing(a->pixels[i])) b.pixels[i] = 0;
    }
    return b;
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

#define MASK_HALF ((shs_real)127.5)

/* The largest of a pixel's channels: it is black only where all of them are. */
static shs_real mask_value(const picture *mask, size_t pixel) {
    const shs_real *values = mask->pixels + pixel * (size_t)mask->channels;
    shs_real largest = values[0];
    int c;
    for (c = 1; c < mask->channels; c++)
        if (values[c] > largest) largest = values[c];
    return largest;
}

/* What the mask's opaque pixels hold, and how many there are. */
typedef struct mask_range {
    size_t opaque;
    shs_real least, most;
    int two; /* there is no third value */
} mask_range;

static mask_range mask_look(const picture *mask) {
    mask_range r = {0, 255, 0, 1};
    size_t i;
    for (i = 0; i < picture_area(mask); i++) {
        const shs_real value = mask_value(mask, i);
        if (mask->alpha && mask->alpha[i] < MASK_HALF) continue;
        if (value < r.least) r.least = value;
        if (value > r.most) r.most = value;
        r.opaque++;
    }
    for (i = 0; i < picture_area(mask) && r.two; i++) {
        if (mask->alpha && mask->alpha[i] < MASK_HALF) continue;
        r.two = mask_value(mask, i) <= r.least || mask_value(mask, i) >= r.most;
    }
    return r;
}

/* Says how a mask is read that is not plain black and white. *limit: values below it are missing. *clear: so are transparent
   pixels; else those are there. */
static void mask_read(const picture *mask, const char *name, shs_real *limit, int *clear) {
    const mask_range r = mask_look(mask);
    const int holes = r.opaque < picture_area(mask);
    *limit = MASK_HALF;
    *clear = 0;
    if (holes && (r.opaque == 0 || r.most >= MASK_HALF)) {
        *clear = 1;
        *limit = -1;
        printf("%s: its transparent pixels are missing\n", name);
        return;
    }
    if (holes) {
        printf("%s: its dark pixels are missing, those that are transparent are there\n", name);
        return;
    }
    if (r.most >= MASK_HALF) {
        if (r.least >= MASK_HALF && r.least < r.most)
            printf("%s: no value is below half of white, so nothing is missing (the darkest is %g of 255)\n", name,
                   (double)r.least);
        return;
    }
    if (!r.two || !(r.least < r.most)) return;
    *limit = r.most;
    printf("%s: both its values, %g and %g of 255, are dark: the darker one is missing\n", name, (double)r.least,
           (double)r.most);
}

/* Loses the pixels that the mask names. Those that were hidden become opaque as they are filled in, and so do all where the
   mask is the picture's own alpha; others stay as transparent as they are. */
static void lose_masked(picture *a, const char *name, const char *in) {
    picture mask = picture_read(name);
    shs_real limit;
    size_t i;
    int clear, own;
    if (mask.width != a->width || mask.height != a->height)
        fail(EXIT_ERROR, "%s: its %d x %d pixels are not the %d x %d of %s", name, mask.width, mask.height, a->width, a->height,
             in);
    mask_read(&mask, name, &limit, &clear);
    own = clear && a->alpha && !memcmp(a->alpha, mask.alpha, picture_area(a) * sizeof *a->alpha);
    for (i = 0; i < picture_area(a); i++) {
        const int transparent = mask.alpha && mask.alpha[i] < MASK_HALF;
        int missing = mask_value(&mask, i) < limit;
        if (transparent) missing = clear;
        if (!missing) continue;
        if (own || picture_hidden(a, i)) a->alpha[i] = 255;
        lose(a, i);
    }
    picture_free(&mask);
}

static size_t count_missing(const picture *a) {
    size_t i, count = 0;
    for (i = 0; i < picture_size(a); i++) count += pixel_missing(a->pixels[i]) != 0;
    return count;
}

/* Nobody knows what a fully transparent pixel would show, so nothing is to be learnt from its colours. */
static void lose_hidden(picture *a) {
    size_t i;
    for (i = 0; i < picture_area(a); i++)
        if (picture_hidden(a, i)) lose(a, i);
}

/* 2 of 255 for most pictures; where the known values span less than 128 of 255, as with 12 bits in a file of 16, 4/255 of that.
   What the file's values are rounded by is not coded. */
static double default_tolerance(const picture *a) {
    const double rounding = 255.0 / a->white / sqrt(12);
    return fmin(2, fmax(picture_span(a) * 4 / 255, rounding));
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static settings chosen = {{-1, 8, 256, 30, 1}, 0, 0, NULL}; /* the defaults; of the tolerance: see default_tolerance */

static const option options[] = {
    {"The hole", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--remove", "PART", OPTION_NUMBER, &chosen.remove, 0.01,
     "IN is whole: lose this part of its pixels, and measure against IN; writes OUT_removed too"},
    {"--reference", "WHOLE", OPTION_TEXT, (void *)&chosen.reference, 0, "measure against this picture"},
    {"Learning", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--patch", "W", OPTION_COUNT, &chosen.how.patch, 3, "width and height of a patch (8)"},
    {"--atoms", "N", OPTION_COUNT, &chosen.how.atoms, 1, "atoms of the dictionary (256)"},
    {"--iterations", "K", OPTION_COUNT, &chosen.how.iterations, 1, "passes over the patches that touch a hole (30)"},
    {"--tolerance", "T", OPTION_NUMBER, &chosen.how.tolerance, 0,
     "how near patches are coded in the last pass, root mean square, where white is 255 at any depth (2, or 4/255 of the range of "
     "what is known if that is less)"},
    {"--seed", "N", OPTION_SEED, &chosen.how.seed, 0, "seed of what is lost and of the choice of patches (1)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
    {"scratched.png scratches.png whole.png", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"photo.png filled.png --remove 0.8", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

static void parse(int argc, char **argv, const settings *s) {
    int names = read_options(argc, argv, "IN MASK OUT.png [options]\nIN OUT.png --remove PART [options]",
                             "Fills in the pixels of a picture (PNG, JPEG, BMP, PGM, PPM) that are black in MASK.\n"
                             "The last line of the output: missing=part psnr=dB seconds=s, of the values as they are "
                             "computed. The line before it has the PSNR of what the file holds: rounded. "
                             "Fully transparent pixels do not count, and stay as they are unless MASK names them.",
                             options, (int)(sizeof options / sizeof *options));
    if (s->remove > 0 && names != 2) fail(EXIT_USAGE, "needs two names with --remove, IN and OUT (got %d)", names);
    if (!(s->remove > 0) && names != 3) fail(EXIT_USAGE, "needs three names, IN, MASK and OUT (got %d)", names);
    if (s->remove >= 1) fail(EXIT_USAGE, "--remove: %g leaves nothing: it must be below 1", s->remove);
    if (s->remove > 0 && s->reference) fail(EXIT_USAGE, "--reference: with --remove the reference is IN itself");
    if (s->how.tolerance > 255)
        fail(EXIT_USAGE, "--tolerance: %g is too large: at most 255, which is white whatever the depth of the file",
             s->how.tolerance);
    if (s->how.patch > 64) fail(EXIT_USAGE, "--patch: %d is too large: at most 64", s->how.patch);
}

/* The picture with NaN where it is to be filled in. *given: as it was read. *whole: the true one, where it is another that is
   known. */
static picture read_damaged(const char *in, const char *mask, const char *out, const settings *s, picture *given,
                            picture *whole) {
    picture a = picture_read(in);
    if (a.width < s->how.patch || a.height < s->how.patch)
        fail(EXIT_ERROR, "%s: %d x %d pixels are less than one patch of %d x %d", in, a.width, a.height, s->how.patch,
             s->how.patch);
    will_read(in);
    if (mask) will_read(mask);
    if (s->reference) will_read(s->reference);
    picture_will_write(out, a.channels);
    *given = picture_copy(&a, 0);
    if (s->remove > 0) {
        char *name = derived_name(out, "_removed", name_extension(out));
        picture removed;
        picture_will_write(name, a.channels);
        lose_random(&a, s->remove, s->how.seed);
        removed = picture_copy(&a, 1);
        picture_write(name, &removed);
        picture_free(&removed);
        free(name);
    } else {
        lose_masked(&a, mask, in);
    }
    if (s->reference) {
        *whole = picture_read(s->reference);
        if (whole->width != a.width || whole->height != a.height || whole->channels != a.channels)
            fail(EXIT_ERROR, "%s: its size or number of channels differs from %s", s->reference, in);
    }
    return a;
}

int main(int argc, char **argv) {
    settings *s = &chosen;
    picture given, whole = SHS_ZERO, a;
    const picture *truth = NULL;
    const char *in, *out, *mask = NULL, *holes;
    shs_context ctx;
    size_t lost, values;
    double start, seconds, part;
    char text[32];
    parse(argc, argv, s);
    in = argv[0];
    out = argv[1];
    holes = in;
    if (!(s->remove > 0)) {
        mask = argv[1];
        out = argv[2];
        holes = mask;
    }
    a = read_damaged(in, mask, out, s, &given, &whole);
    if (s->remove > 0) truth = &given;
    else if (s->reference) truth = &whole;
    values = picture_size(&a);
    lost = count_missing(&a);
    part = (double)lost / (double)values;
    lose_hidden(&a);
    if (count_missing(&a) == values) fail(EXIT_ERROR, "%s: nothing of the picture is left to learn from", holes);
    ctx = example_context(s->threads, NULL);
    start = wall_clock();
    if (s->how.tolerance < 0) s->how.tolerance = default_tolerance(&a);
    if (lost > 0) fill_in(&ctx, &a, &s->how);
    seconds = wall_clock() - start;
    picture_restore_hidden(&a, &given);
    progress_clear();
    picture_write(out, &a);
    if (truth) {
        printf("PSNR in the file: %s dB\n", picture_psnr_words(picture_file_psnr(truth, &a, out), text));
        printf("missing=%.3f psnr=%s seconds=%.2f\n", part, picture_psnr_words(picture_psnr(truth, &a), text), seconds);
    } else {
        printf("missing=%.3f psnr=n/a seconds=%.2f\n", part, seconds);
    }
    example_end();
    picture_free(&given);
    picture_free(&whole);
    picture_free(&a);
    return EXIT_SUCCESS;
}
