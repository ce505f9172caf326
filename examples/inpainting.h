/* inpainting.h - fills in by K-SVD on what is known alone, as the course and the playground show it; inpaint.c, which begins with
   an interpolation, is nearer to the truth and faster (filling.h). */
#ifndef EXAMPLE_INPAINTING
#define EXAMPLE_INPAINTING

#include "missing.h"

enum { INPAINT_TRAINING = 40000, INPAINT_BATCH = 16384, INPAINT_PIXELS_AN_ATOM = 8 };

typedef struct inpainting {
    double tolerance;
    int patch, atoms, iterations;
    uint64_t seed;
} inpainting;

/* ---- the method -------------------------------------------------------------------------------------------------- */

/* Patches with NaN for missing values, less the mean of the known values. limits: the most atoms of each patch; with more
   atoms, some would fit a few known values by chance. weights: the share of known values of each patch. */
typedef struct inpaint_block {
    int p, channels, *limits;
    shs_real *Y, *means, *weights;
} inpaint_block;

static inpaint_block inpaint_block_create(size_t most, int p, int channels) {
    inpaint_block b;
    b.p = p;
    b.channels = channels;
    b.limits = ALLOCATE(int, most);
    b.Y = ALLOCATE(shs_real, values_of(most, p));
    b.means = ALLOCATE(shs_real, values_of(most, channels));
    b.weights = ALLOCATE(shs_real, most);
    return b;
}

static void inpaint_block_free(inpaint_block *b) {
    free(b->limits);
    free(b->Y);
    free(b->means);
    free(b->weights);
}

/* Subtracts the mean of the known values. Returns the number of known values. */
static int inpaint_centre(int count, shs_real *y, shs_real *mean) {
    shs_real sum = 0;
    int i, known = 0;
    for (i = 0; i < count; i++)
        if (!pixel_missing(y[i])) {
            sum += y[i];
            known++;
        }
    if (known) *mean = sum / (shs_real)known;
    else *mean = 0;
    for (i = 0; i < count; i++) y[i] -= *mean;
    return known;
}

static void inpaint_take(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first, size_t count,
                         inpaint_block *b) {
    const int area = b->p / b->channels;
    size_t i;
    check(shs_patches_get(ctx, image, set, first, count, b->Y, b->p, NULL, NULL), "taking the patches");
    for (i = 0; i < count; i++) {
        shs_real *y = b->Y + values_of(i, b->p), *means = b->means + values_of(i, b->channels);
        int known = 0, c;
        for (c = 0; c < b->channels; c++) known += inpaint_centre(area, y + c * area, means + c);
        b->limits[i] = known / (INPAINT_PIXELS_AN_ATOM * b->channels);
        b->weights[i] = (shs_real)known / (shs_real)b->p;
    }
}

static int inpaint_most_atoms(const inpaint_block *b) {
    int most = b->p / (INPAINT_PIXELS_AN_ATOM * b->channels);
    if (most > 1) return most;
    return 1;
}

static shs_omp_options inpaint_coding(const inpainting *how, const inpaint_block *b) {
    shs_omp_options coding = SHS_ZERO;
    coding.tolerance = (shs_real)(how->tolerance * sqrt(b->p));
    coding.sparsity = inpaint_most_atoms(b);
    coding.sparsity_each = b->limits;
    coding.skip_nan = 1;
    return coding;
}

/* Learns how->atoms atoms from `training` random patches: from the atoms that D holds, or from a DCT. report may be NULL. */
static void inpaint_learn_from(const shs_context *ctx, const picture *a, const inpainting *how, size_t training, shs_start start,
                               shs_real *D, shs_ksvd_report *report) {
    const shs_image image = picture_image(a);
    shs_patches set = SHS_ZERO;
    shs_ksvd_options learning = SHS_ZERO;
    inpaint_block b;
    size_t m;
    int p;
    set.width = set.height = how->patch;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = training;
    set.seed = how->seed;
    set.keep_mean = 1;
    m = shs_patches_count(&image, &set, &p);
    b = inpaint_block_create(m, p, image.channels);
    inpaint_take(ctx, &image, &set, 0, m, &b);
    learning.iterations = how->iterations;
    learning.seed = how->seed;
    learning.start = start;
    learning.patch_width = learning.patch_height = how->patch;
    learning.patch_channels = image.channels;
    learning.coding = inpaint_coding(how, &b);
    check(shs_ksvd_ex(ctx, p, how->atoms, m, b.Y, p, &learning, D, p, NULL, report), "learning the dictionary");
    inpaint_block_free(&b);
}

/* Learns how->atoms atoms of *p values; the caller frees them. report may be NULL. */
static shs_real *inpaint_learn(const shs_context *ctx, const picture *a, const inpainting *how, int *p,
                               shs_ksvd_report *report) {
    shs_real *D;
    *p = how->patch * how->patch * a->channels;
    D = ALLOCATE(shs_real, elements(how->atoms, *p));
    inpaint_learn_from(ctx, a, how, INPAINT_TRAINING, SHS_START_DCT, D, report);
    return D;
}

/* sum: what all patches say of each value (each step-th both ways), times their weights; weight: those weights, at each value. */
static void inpaint_approximate(const shs_context *ctx, const shs_image *image, const inpainting *how, const shs_real *D,
                                int step, shs_real *sum, shs_real *weight) {
    const size_t channels = (size_t)image->channels, pixels = elements(image->height, image->width), values = pixels * channels;
    shs_context quiet = *ctx; /* there is one bar for all batches */
    shs_patches all = SHS_ZERO;
    shs_real *ones, *covered = ALLOCATE(shs_real, pixels);
    shs_codes codes = SHS_ZERO;
    inpaint_block b;
    size_t m, i, first, count, batch;
    int p;
    quiet.progress_fn = NULL;
    all.width = all.height = how->patch;
    all.step_x = all.step_y = step;
    all.keep_mean = 1;
    m = shs_patches_count(image, &all, &p);
    b = inpaint_block_create(INPAINT_BATCH, p, image->channels);
    batch = values_of(INPAINT_BATCH, p);
    ones = ALLOCATE(shs_real, batch);
    for (i = 0; i < batch; i++) ones[i] = 1;
    memset(sum, 0, values * sizeof *sum);
    memset(weight, 0, values * sizeof *weight);
    check(shs_codes_create(NULL, INPAINT_BATCH, inpaint_most_atoms(&b), &codes), "memory for the codes");
    for (first = 0; first < m; first += count) {
        shs_omp_options coding = inpaint_coding(how, &b);
        if (m - first < INPAINT_BATCH) count = m - first;
        else count = INPAINT_BATCH;
        codes.m = count;
        inpaint_take(&quiet, image, &all, first, count, &b);
        check(shs_omp_ex(&quiet, p, how->atoms, D, p, count, b.Y, p, &coding, &codes, NULL, NULL), "coding the patches");
        check(shs_codes_synthesize(&quiet, p, how->atoms, D, p, &codes, 0, count, b.Y, p), "putting atoms together");
        for (i = 0; i < count * channels; i++) b.means[i] *= b.weights[i / channels];
        check(shs_patches_put(&quiet, image, &all, first, count, b.Y, p, b.means, b.weights, sum, covered),
              "averaging patches");
        check(shs_patches_put(&quiet, image, &all, first, count, ones, p, NULL, b.weights, weight, covered),
              "averaging patches");
        if (ctx->progress_fn) ctx->progress_fn(ctx->progress_user, "filling in", first + count, m, -1);
    }
    codes.m = INPAINT_BATCH;
    shs_codes_free(NULL, &codes);
    inpaint_block_free(&b);
    free(ones);
    free(covered);
}

/* Replaces NaN by values from codes over these atoms, with every step-th patch in both directions. A hole wider than a patch
   closes from its rim: what a round has filled in is known to the next. */
static void inpaint_by_steps(const shs_context *ctx, picture *a, const inpainting *how, const shs_real *D, int step) {
    const size_t values = picture_size(a);
    const shs_image image = picture_image(a);
    shs_real *sum = ALLOCATE(shs_real, values), *weight = ALLOCATE(shs_real, values);
    size_t i, left;
    do {
        inpaint_approximate(ctx, &image, how, D, step, sum, weight);
        for (i = left = 0; i < values; i++) {
            if (!pixel_missing(a->pixels[i])) continue;
            if (weight[i] > 0) a->pixels[i] = clipped((double)sum[i] / (double)weight[i]);
            else left++;
        }
    } while (left > 0);
    free(sum);
    free(weight);
}

/* By all patches. */
static void inpaint_with(const shs_context *ctx, picture *a, const inpainting *how, const shs_real *D) {
    inpaint_by_steps(ctx, a, how, D, 1);
}

#endif /* EXAMPLE_INPAINTING */
