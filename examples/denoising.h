/* denoising.h - the method of denoise.c, for programs that show it another way, and the picture that it draws. */
#ifndef EXAMPLE_DENOISING
#define EXAMPLE_DENOISING

enum { DENOISE_PATCH = 8, DENOISE_TRAINING = 40000 };

typedef struct denoising {
    double sigma;
    int atoms, iterations, parallel_atoms;
    uint64_t seed;
} denoising;

/* ---- the method -------------------------------------------------------------------------------------------------- */

/* A patch of pure noise mostly stays below the tolerance and gets no atom. How far its length strays from sigma sqrt(p)
   does not depend on p, so C nears 1 as patches get longer: 1.15 for 64 values, 1.09 for the 192 of a coloured patch.
   More than p/2 atoms would be noise as well. */
static shs_omp_options denoise_coding(const denoising *how, int p) {
    shs_omp_options coding = SHS_ZERO;
    const double root = sqrt((double)p), gain = 1 + 0.15 * 8 / root;
    coding.tolerance = (shs_real)(gain * how->sigma * root);
    coding.sparsity = p / 2;
    return coding;
}

/* Learns how->atoms atoms of *p values from random patches; the caller frees them. report may be NULL. */
static shs_real *denoise_learn(const shs_context *ctx, const picture *noisy, const denoising *how, int *p,
                               shs_ksvd_report *report) {
    const shs_image image = picture_image(noisy);
    shs_patches set = SHS_ZERO;
    shs_ksvd_options learning = SHS_ZERO;
    shs_real *D, *Y;
    size_t m;
    set.width = set.height = DENOISE_PATCH;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = DENOISE_TRAINING;
    set.seed = how->seed;
    m = shs_patches_count(&image, &set, p);
    Y = ALLOCATE(shs_real, m * (size_t)*p);
    D = ALLOCATE(shs_real, (size_t)*p * (size_t)how->atoms);
    check(shs_patches_get(ctx, &image, &set, 0, m, Y, *p, NULL, NULL), "taking the patches");
    learning.iterations = how->iterations;
    learning.parallel_atoms = how->parallel_atoms;
    learning.seed = how->seed;
    learning.start = SHS_START_DCT;
    learning.patch_width = learning.patch_height = DENOISE_PATCH;
    learning.patch_channels = image.channels;
    learning.coding = denoise_coding(how, *p);
    check(shs_ksvd_ex(ctx, *p, how->atoms, m, Y, *p, &learning, D, *p, NULL, report), "learning the dictionary");
    free(Y);
    return D;
}

/* Over these atoms. Returns how many of them a patch took in the mean. */
static double denoise_with(const shs_context *ctx, const picture *noisy, const denoising *how, int p, const shs_real *D,
                           picture *out) {
    const shs_image image = picture_image(noisy);
    shs_patches all = SHS_ZERO;
    shs_omp_options coding;
    shs_omp_report report;
    all.width = all.height = DENOISE_PATCH;
    coding = denoise_coding(how, p);
    check(shs_patches_approximate(ctx, &image, &all, how->atoms, D, p, &coding, (shs_real)(30 / how->sigma), out->pixels,
                                  &report),
          "coding the patches");
    return (double)report.nonzeros / (double)shs_patches_count(&image, &all, NULL);
}

/* ---- the noise --------------------------------------------------------------------------------------------------- */

static picture add_noise(const picture *clean, double sigma, uint64_t seed) {
    picture noisy = picture_create(clean->width, clean->height, clean->channels);
    size_t i, count = picture_size(clean);
    shs_random random;
    shs_random_seed(&random, seed);
    for (i = 0; i < count; i++)
        noisy.pixels[i] = clean->pixels[i] + (shs_real)(sigma * (double)shs_random_normal(&random));
    return noisy;
}

/* ---- a test picture ---------------------------------------------------------------------------------------------- */

#define DRAWN_TURN 6.283185307179586

/* Brightness at a point of the unit square: a shaded wall with a ball, a resolution chart, and below them two folded
   cloths, one striped and one chequered. */
static double drawn_scene(double x, double y) {
    double dx = x - 0.27, dy = y - 0.27, r2 = dx * dx + dy * dy, radius2 = 0.19 * 0.19;
    double hem = 0.58 + 0.04 * sin(7 * x), fold = 0.035 * sin(9 * x + 4 * y);
    if (y > hem && x + 0.25 * (y - hem) < 0.55)
        return 125 + 20 * sin(9 * x + 4 * y) + 55 * sin(DRAWN_TURN * 34 * (0.8 * x + 0.6 * y + fold));
    if (y > hem) {
        double a = sin(DRAWN_TURN * 17 * (x - 0.3 * y + fold)), b = sin(DRAWN_TURN * 17 * (0.3 * x + y - fold));
        return 120 + 15 * sin(6 * x - 3 * y) + (a * b > 0 ? 45 : -45);
    }
    if (r2 < radius2) {
        double dz = sqrt(radius2 - r2), light = (-0.5 * dx - 0.5 * dy + 0.7 * dz) / 0.19;
        return 35 + 205 * (light > 0 ? light : 0);
    }
    if (x > 0.56 && x < 0.93) {
        double bars = (x - 0.56) / (0.08 - 0.16 * (x - 0.56));
        if (y > 0.08 && y < 0.26) return bars - floor(bars) < 0.5 ? 25 : 230;
        if (y > 0.32 && y < 0.48) return y > 0.32 + 0.16 * (x - 0.56) / 0.37 ? 60 : 200;
    }
    return 165 + 50 * x - 110 * y;
}

static picture drawn_picture(void) {
    enum { SIZE = 256, FINE = 4 }; /* each pixel is the mean of FINE x FINE points */
    const double point = 1 / (double)(SIZE * FINE);
    picture a = picture_create(SIZE, SIZE, 1);
    int x, y, i;
    for (y = 0; y < SIZE; y++)
        for (x = 0; x < SIZE; x++) {
            double sum = 0;
            for (i = 0; i < FINE * FINE; i++)
                sum += drawn_scene((x * FINE + i % FINE + 0.5) * point, (y * FINE + i / FINE + 0.5) * point);
            a.pixels[y * SIZE + x] = (shs_real)(sum / (double)(FINE * FINE));
        }
    return a;
}

#endif /* EXAMPLE_DENOISING */
