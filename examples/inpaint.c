/* inpaint.c - fills in the pixels that a grey or colour picture has lost (text, scratches, or most of them) with a dictionary
   learnt from what is left of that picture:

       1. learn a dictionary from random patches, starting from an overcomplete DCT; a value that is missing counts neither in
          the codes nor in the updates of the atoms;
       2. code all patches by what is there of each; an atom goes on where values are missing, so D x fills them in. Patches
          overlap: a pixel is the mean of what they say, those weighing more that know more. Known pixels stay as they are.

       cc -O3 -fopenmp inpaint.c -o inpaint -lm
       ./inpaint scratched.png mask.png whole.png               (black in mask.png: missing)
       ./inpaint clean.png whole.png --remove 0.8               (a trial: the error is known) */
#ifndef EXAMPLE_NO_OPENCL
#define EXAMPLE_NO_OPENCL /* devices know no missing values */
#endif
#include "example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"

enum { TRAINING_PATCHES = 40000, PATCHES_A_BATCH = 16384, PIXELS_AN_ATOM = 8 };

typedef struct settings {
    double remove, tolerance;
    int patch, atoms, iterations, threads;
    uint64_t seed;
    const char *reference;
} settings;

/* ---- the method -------------------------------------------------------------------------------------------------- */

/* Patches with NaN where a value is missing, less their means of what is there. limits: how many atoms each may take, as of
   many some fit by chance what little is known. weights: the part of its values that is there. */
typedef struct block {
    int p, channels, *limits;
    shs_real *Y, *means, *weights;
} block;

static block block_create(size_t most, int p, int channels) {
    block b;
    b.p = p;
    b.channels = channels;
    b.limits = ALLOCATE(int, most);
    b.Y = ALLOCATE(shs_real, most * (size_t)p);
    b.means = ALLOCATE(shs_real, most * (size_t)channels);
    b.weights = ALLOCATE(shs_real, most);
    return b;
}

static void block_free(block *b) {
    free(b->limits);
    free(b->Y);
    free(b->means);
    free(b->weights);
}

static int is_missing(shs_real value) { return value != value; }

/* The mean of those values that are there comes out of all. Returns how many they are. */
static int centre(int count, shs_real *y, shs_real *mean) {
    shs_real sum = 0;
    int i, known = 0;
    for (i = 0; i < count; i++)
        if (!is_missing(y[i])) sum += y[i], known++;
    *mean = known ? sum / (shs_real)known : 0;
    for (i = 0; i < count; i++) y[i] -= *mean;
    return known;
}

static void take(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first, size_t count, block *b) {
    const int area = b->p / b->channels;
    size_t i;
    check(shs_patches_get(ctx, image, set, first, count, b->Y, b->p, NULL, NULL), "taking the patches");
    for (i = 0; i < count; i++) {
        int known = 0, c;
        for (c = 0; c < b->channels; c++)
            known += centre(area, b->Y + i * (size_t)b->p + c * area, b->means + i * (size_t)b->channels + (size_t)c);
        b->limits[i] = known / (PIXELS_AN_ATOM * b->channels);
        b->weights[i] = (shs_real)known / (shs_real)b->p;
    }
}

static int most_atoms(const block *b) {
    int most = b->p / (PIXELS_AN_ATOM * b->channels);
    return most > 1 ? most : 1;
}

static shs_omp_options coding_options(const settings *s, const block *b) {
    shs_omp_options coding = SHS_ZERO;
    coding.tolerance = (shs_real)(s->tolerance * sqrt((double)b->p));
    coding.sparsity = most_atoms(b);
    coding.sparsity_each = b->limits;
    coding.skip_nan = 1;
    return coding;
}

/* Learns s->atoms atoms from random patches; the caller frees them. */
static shs_real *learn(const shs_context *ctx, const shs_image *image, const settings *s) {
    shs_patches set = SHS_ZERO;
    shs_ksvd_options learning = SHS_ZERO;
    shs_real *D;
    block b;
    size_t m;
    int p;
    set.width = set.height = s->patch;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = TRAINING_PATCHES;
    set.seed = s->seed;
    set.keep_mean = 1;
    m = shs_patches_count(image, &set, &p);
    b = block_create(m, p, image->channels);
    take(ctx, image, &set, 0, m, &b);
    D = ALLOCATE(shs_real, (size_t)p * (size_t)s->atoms);
    learning.iterations = s->iterations;
    learning.seed = s->seed;
    learning.start = SHS_START_DCT;
    learning.patch_width = learning.patch_height = s->patch;
    learning.patch_channels = image->channels;
    learning.coding = coding_options(s, &b);
    check(shs_ksvd_ex(ctx, p, s->atoms, m, b.Y, p, &learning, D, p, NULL, NULL), "learning the dictionary");
    block_free(&b);
    return D;
}

/* sum: what all patches say of each value, times their weights; weight: those weights, at each value. */
static void approximate(const shs_context *ctx, const shs_image *image, const settings *s, const shs_real *D, shs_real *sum,
                        shs_real *weight) {
    const size_t pixels = (size_t)image->width * (size_t)image->height, values = pixels * (size_t)image->channels;
    shs_context quiet = *ctx; /* there is one bar for all batches */
    shs_patches all = SHS_ZERO;
    shs_real *ones, *covered = ALLOCATE(shs_real, pixels);
    shs_codes codes = SHS_ZERO;
    block b;
    size_t m, i, first, count;
    int p;
    quiet.progress_fn = NULL;
    all.width = all.height = s->patch;
    all.keep_mean = 1;
    m = shs_patches_count(image, &all, &p);
    b = block_create(PATCHES_A_BATCH, p, image->channels);
    ones = ALLOCATE(shs_real, PATCHES_A_BATCH * (size_t)p);
    for (i = 0; i < PATCHES_A_BATCH * (size_t)p; i++) ones[i] = 1;
    memset(sum, 0, values * sizeof *sum);
    memset(weight, 0, values * sizeof *weight);
    check(shs_codes_create(NULL, PATCHES_A_BATCH, most_atoms(&b), &codes), "memory for the codes");
    for (first = 0; first < m; first += count) {
        shs_omp_options coding = coding_options(s, &b);
        count = m - first < PATCHES_A_BATCH ? m - first : PATCHES_A_BATCH;
        codes.m = count;
        take(&quiet, image, &all, first, count, &b);
        check(shs_omp_ex(&quiet, p, s->atoms, D, p, count, b.Y, p, &coding, &codes, NULL, NULL), "coding the patches");
        check(shs_codes_synthesize(&quiet, p, s->atoms, D, p, &codes, 0, count, b.Y, p), "putting atoms together");
        for (i = 0; i < count * (size_t)image->channels; i++) b.means[i] *= b.weights[i / (size_t)image->channels];
        check(shs_patches_put(&quiet, image, &all, first, count, b.Y, p, b.means, b.weights, sum, covered),
              "averaging patches");
        check(shs_patches_put(&quiet, image, &all, first, count, ones, p, NULL, b.weights, weight, covered),
              "averaging patches");
        if (ctx->progress_fn) ctx->progress_fn(ctx->progress_user, "filling in", first + count, m, -1);
    }
    codes.m = PATCHES_A_BATCH;
    shs_codes_free(NULL, &codes);
    block_free(&b);
    free(ones);
    free(covered);
}

static shs_real clamp(shs_real value) { return value < 0 ? 0 : value > 255 ? 255 : value; }

/* Fills in what is NaN. A hole wider than a patch closes from its rim: what a round has filled in is known to the next. */
static void inpaint(const shs_context *ctx, picture *a, const settings *s) {
    const size_t values = picture_size(a);
    shs_image image = picture_image(a);
    shs_real *D = learn(ctx, &image, s), *sum = ALLOCATE(shs_real, values), *weight = ALLOCATE(shs_real, values);
    size_t i, left;
    do {
        approximate(ctx, &image, s, D, sum, weight);
        for (i = left = 0; i < values; i++) {
            if (!is_missing(a->pixels[i])) continue;
            if (weight[i] > 0) a->pixels[i] = clamp(sum[i] / weight[i]);
            else left++;
        }
    } while (left > 0);
    progress_clear();
    free(D);
    free(sum);
    free(weight);
}

/* ---- what is missing --------------------------------------------------------------------------------------------- */

static void lose(picture *a, size_t pixel) {
    int c;
    for (c = 0; c < a->channels; c++) a->pixels[pixel * (size_t)a->channels + (size_t)c] = (shs_real)NAN;
}

/* Pixels that are black in the mask. */
static void lose_masked(picture *a, const char *name, const char *in) {
    picture mask = picture_read(name);
    const size_t pixels = (size_t)a->width * (size_t)a->height, channels = (size_t)mask.channels;
    size_t i, c;
    if (mask.width != a->width || mask.height != a->height)
        fail(EXIT_ERROR, "%s: its %d x %d pixels are not the %d x %d of %s", name, mask.width, mask.height, a->width, a->height,
             in);
    for (i = 0; i < pixels; i++) {
        for (c = 0; c < channels; c++)
            if (mask.pixels[i * channels + c] > 0) break;
        if (c == channels) lose(a, i);
    }
    free(mask.pixels);
}

/* Each pixel with this probability. */
static void lose_random(picture *a, double part, uint64_t seed) {
    size_t i, pixels = (size_t)a->width * (size_t)a->height;
    shs_random random;
    shs_random_seed(&random, seed);
    for (i = 0; i < pixels; i++)
        if ((double)shs_random_uniform(&random) < part) lose(a, i);
}

static picture picture_copy(const picture *a, int black) {
    picture b = picture_create(a->width, a->height, a->channels);
    size_t i, count = picture_size(a);
    for (i = 0; i < count; i++) b.pixels[i] = black && is_missing(a->pixels[i]) ? 0 : a->pixels[i];
    return b;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static settings chosen = {0, 1, 10, 256, 10, 0, 1, NULL}; /* the defaults */

static const option options[] = {
    {"--remove", "PART", OPTION_NUMBER, &chosen.remove, 0.01,
     "IN is whole: lose this part of its pixels, and measure against IN"},
    {"--reference", "WHOLE", OPTION_TEXT, (void *)&chosen.reference, 0, "measure against this picture"},
    {"--patch", "W", OPTION_COUNT, &chosen.patch, 3, "width and height of a patch (10)"},
    {"--atoms", "N", OPTION_COUNT, &chosen.atoms, 1, "atoms of the dictionary (256)"},
    {"--iterations", "K", OPTION_COUNT, &chosen.iterations, 1, "iterations of learning (10)"},
    {"--tolerance", "T", OPTION_NUMBER, &chosen.tolerance, 0, "how near a patch's known values are met, root mean square (1)"},
    {"--seed", "N", OPTION_SEED, &chosen.seed, 0, "seed of what is lost and of the choice of patches (1)"},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
};

static void parse(int argc, char **argv, const settings *s) {
    int names = read_options(argc, argv, "IN MASK OUT.png [options], or IN OUT.png --remove PART [options]",
                             "Fills in the pixels of a picture (PNG, JPEG, BMP, PGM, PPM) that are black in MASK.\n"
                             "The last line of the output: missing=part psnr=dB seconds=s",
                             options, (int)(sizeof options / sizeof *options));
    int needed = s->remove > 0 ? 2 : 3;
    if (names != needed)
        fail(EXIT_USAGE, "needs %s, but %d stand there",
             needed == 2 ? "two names with --remove, IN and OUT" : "three names, IN, MASK and OUT", names);
    if (s->remove >= 1) fail(EXIT_USAGE, "--remove: %g leaves nothing: it must be below 1", s->remove);
    if (s->remove > 0 && s->reference) fail(EXIT_USAGE, "--reference: with --remove the reference is IN itself");
    if (s->patch > 64) fail(EXIT_USAGE, "--patch: %d is too large: at most 64", s->patch);
}

/* The picture with NaN where it is to be filled in, and in *whole the true one where it is known. */
static picture read_damaged(const char *in, const char *mask, const char *out, const settings *s, picture *whole) {
    picture a = picture_read(in);
    if (a.width < s->patch || a.height < s->patch)
        fail(EXIT_ERROR, "%s: %d x %d pixels are less than one patch of %d x %d", in, a.width, a.height, s->patch, s->patch);
    will_read(in);
    if (mask) will_read(mask);
    if (s->reference) will_read(s->reference);
    picture_will_write(out, a.channels);
    if (s->remove > 0) {
        char *name = derived_name(out, "_removed", name_extension(out));
        picture removed;
        picture_will_write(name, a.channels);
        *whole = picture_copy(&a, 0);
        lose_random(&a, s->remove, s->seed);
        removed = picture_copy(&a, 1);
        picture_write(name, &removed);
        free(removed.pixels);
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
    picture whole = SHS_ZERO, a;
    const char *out, *mask;
    shs_context ctx;
    size_t i, lost = 0, values;
    double start, seconds, part;
    parse(argc, argv, s);
    mask = s->remove > 0 ? NULL : argv[1];
    out = argv[mask ? 2 : 1];
    a = read_damaged(argv[0], mask, out, s, &whole);
    values = picture_size(&a);
    for (i = 0; i < values; i++) lost += is_missing(a.pixels[i]) != 0;
    part = (double)lost / (double)values;
    if (lost == values) fail(EXIT_ERROR, "%s: nothing of the picture is left to learn from", mask ? mask : argv[0]);
    ctx = example_context(s->threads, NULL);
    start = wall_clock();
    if (lost > 0) inpaint(&ctx, &a, s);
    seconds = wall_clock() - start;
    picture_write(out, &a);
    if (whole.pixels) printf("missing=%.3f psnr=%.2f seconds=%.2f\n", part, picture_psnr(&whole, &a), seconds);
    else printf("missing=%.3f psnr=n/a seconds=%.2f\n", part, seconds);
    example_end();
    free(whole.pixels);
    free(a.pixels);
    return EXIT_SUCCESS;
}
