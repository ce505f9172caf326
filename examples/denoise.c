/* denoise.c - removes white Gaussian noise from a grey or colour picture with a dictionary learnt from that picture
   (Elad and Aharon, "Image denoising via sparse and redundant representations over learned dictionaries", 2006):

       1. learn a dictionary from random patches of the noisy picture, starting from an overcomplete DCT; each patch is
          coded only as far as the noise allows: ||y - Dx|| <= C sigma sqrt(p), C = 1.15 for 8 x 8 grey pixels;
       2. code all patches that way and average what overlaps, a little of the noisy picture among it.

       cc -O3 -fopenmp denoise.c -o denoise -lm
       ./denoise noisy.png clean.png --sigma 20
       ./denoise clean.png out.png --add-noise --sigma 25        (a trial: the error is known) */
#include "example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"
#ifdef EXAMPLE_OPENCL /* for --device */
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
#endif

enum { PATCH = 8, TRAINING_PATCHES = 40000 };

typedef struct settings {
    double sigma;
    int atoms, iterations, parallel_atoms, threads, add_noise;
    uint64_t seed;
    const char *reference, *draw, *device;
} settings;

/* ---- the method -------------------------------------------------------------------------------------------------- */

/* A patch of pure noise mostly stays below the tolerance and gets no atom. How far its length strays from sigma sqrt(p)
   does not depend on p, so C nears 1 as patches get longer: 1.15 for 64 values, 1.09 for the 192 of a coloured patch.
   More than p/2 atoms would be noise as well. */
static shs_omp_options coding_options(const settings *s, int p) {
    shs_omp_options coding = SHS_ZERO;
    const double root = sqrt((double)p), gain = 1 + 0.15 * 8 / root;
    coding.tolerance = (shs_real)(gain * s->sigma * root);
    coding.sparsity = p / 2;
    return coding;
}

/* Learns s->atoms atoms from random patches; the caller frees them. */
static shs_real *learn(const shs_context *ctx, const shs_image *image, const settings *s, int *p) {
    shs_patches set = SHS_ZERO;
    shs_ksvd_options learning = SHS_ZERO;
    shs_real *D, *Y;
    size_t m;
    set.width = set.height = PATCH;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = TRAINING_PATCHES;
    set.seed = s->seed;
    m = shs_patches_count(image, &set, p);
    Y = ALLOCATE(shs_real, m * (size_t)*p);
    D = ALLOCATE(shs_real, (size_t)*p * (size_t)s->atoms);
    check(shs_patches_get(ctx, image, &set, 0, m, Y, *p, NULL, NULL), "taking the patches");
    learning.iterations = s->iterations;
    learning.parallel_atoms = s->parallel_atoms;
    learning.seed = s->seed;
    learning.start = SHS_START_DCT;
    learning.patch_width = learning.patch_height = PATCH;
    learning.patch_channels = image->channels;
    learning.coding = coding_options(s, *p);
    check(shs_ksvd_ex(ctx, *p, s->atoms, m, Y, *p, &learning, D, *p, NULL, NULL), "learning the dictionary");
    free(Y);
    return D;
}

static void denoise(const shs_context *ctx, const picture *noisy, const settings *s, picture *out) {
    shs_image image = picture_image(noisy);
    shs_patches all = SHS_ZERO;
    shs_omp_options coding;
    shs_omp_report report;
    int p;
    shs_real *D = learn(ctx, &image, s, &p);
    all.width = all.height = PATCH;
    coding = coding_options(s, p);
    check(shs_patches_approximate(ctx, &image, &all, s->atoms, D, p, &coding, (shs_real)(30 / s->sigma), out->pixels,
                                  &report),
          "coding the patches");
    progress_clear();
    printf("%.2f atoms a patch in the mean\n", (double)report.nonzeros / (double)shs_patches_count(&image, &all, NULL));
    free(D);
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

static double estimate_sigma(const picture *a, const char *name) {
    shs_image image = picture_image(a);
    shs_noise noise;
    check(shs_noise_sigma(NULL, &image, &noise), "estimating the noise");
    if (noise.sigma < 0.01) fail(EXIT_ERROR, "%s: no noise found in it; --sigma says how much there is", name);
    printf("estimated sigma: %.2f\n", (double)noise.sigma);
    if (noise.guess)
        printf("That is a guess, and likely too much: nearly all of the picture is textured. --sigma says what it is.\n");
    return (double)noise.sigma;
}

/* ---- a test picture ---------------------------------------------------------------------------------------------- */

static const double two_pi = 6.283185307179586;

/* Brightness at a point of the unit square: a shaded wall with a ball, a resolution chart, and below them two folded
   cloths, one striped and one chequered. */
static double scene(double x, double y) {
    double dx = x - 0.27, dy = y - 0.27, r2 = dx * dx + dy * dy, radius2 = 0.19 * 0.19;
    double hem = 0.58 + 0.04 * sin(7 * x), fold = 0.035 * sin(9 * x + 4 * y);
    if (y > hem && x + 0.25 * (y - hem) < 0.55)
        return 125 + 20 * sin(9 * x + 4 * y) + 55 * sin(two_pi * 34 * (0.8 * x + 0.6 * y + fold));
    if (y > hem) {
        double a = sin(two_pi * 17 * (x - 0.3 * y + fold)), b = sin(two_pi * 17 * (0.3 * x + y - fold));
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

static void draw(const char *name) {
    enum { SIZE = 256, FINE = 4 }; /* each pixel is the mean of FINE x FINE points */
    const double point = 1 / (double)(SIZE * FINE);
    picture a = picture_create(SIZE, SIZE, 1);
    int x, y, i;
    picture_will_write(name, 1);
    for (y = 0; y < SIZE; y++)
        for (x = 0; x < SIZE; x++) {
            double sum = 0;
            for (i = 0; i < FINE * FINE; i++)
                sum += scene((x * FINE + i % FINE + 0.5) * point, (y * FINE + i / FINE + 0.5) * point);
            a.pixels[y * SIZE + x] = (shs_real)(sum / (double)(FINE * FINE));
        }
    picture_write(name, &a);
    printf("%s: %d x %d pixels drawn\n", name, SIZE, SIZE);
    free(a.pixels);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static settings chosen = {0, 256, 30, 1, 0, 0, 1, NULL, NULL, NULL}; /* the defaults */

static const option options[] = {
    {"--sigma", "S", OPTION_NUMBER, &chosen.sigma, 0.01, "standard deviation of the noise (estimated; 25 to add)"},
    {"--add-noise", NULL, OPTION_SWITCH, &chosen.add_noise, 0, "IN is clean: add noise first, and measure against IN"},
    {"--reference", "CLEAN", OPTION_TEXT, (void *)&chosen.reference, 0, "measure against this picture"},
    {"--atoms", "N", OPTION_COUNT, &chosen.atoms, 1, "atoms of the dictionary (256)"},
    {"--iterations", "K", OPTION_COUNT, &chosen.iterations, 1, "iterations of learning (30)"},
    {"--parallel-atoms", "N", OPTION_COUNT, &chosen.parallel_atoms, 1, "atoms updated at a time (1)"},
    {"--seed", "N", OPTION_SEED, &chosen.seed, 0, "seed of the noise and of the choice of patches (1)"},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
    {"--device", "NAME", OPTION_TEXT, (void *)&chosen.device, 0, DEVICE_HELP},
    {"--draw", "FILE", OPTION_TEXT, (void *)&chosen.draw, 0, "draw a test picture into FILE and do nothing else"},
};

static void parse(int argc, char **argv, const settings *s) {
    int names = read_options(argc, argv, "IN OUT.png [options]",
                             "Removes white Gaussian noise from a picture (PNG, JPEG, BMP, PGM, PPM).\n"
                             "The last line of the output: psnr_noisy=dB psnr=dB seconds=s",
                             options, (int)(sizeof options / sizeof *options));
    if (s->draw && names != 0) fail(EXIT_USAGE, "--draw: takes no other file, but %d stand there", names);
    if (!s->draw && names != 2) fail(EXIT_USAGE, "needs two names, IN and OUT, but %d stand there", names);
    if (s->add_noise && s->reference) fail(EXIT_USAGE, "--reference: with --add-noise the reference is IN itself");
}

/* The noisy picture, and in *clean the true one where it is known. Settles s->sigma. */
static picture noisy_picture(const char *in, const char *out, settings *s, picture *clean) {
    picture noisy = picture_read(in);
    char *noisy_name = derived_name(out, "_noisy", name_extension(out));
    if (noisy.width < PATCH || noisy.height < PATCH)
        fail(EXIT_ERROR, "%s: %d x %d pixels are less than one patch of %d x %d", in, noisy.width, noisy.height, PATCH,
             PATCH);
    will_read(in);
    if (s->reference) will_read(s->reference);
    picture_will_write(out, noisy.channels);
    if (s->add_noise) {
        picture_will_write(noisy_name, noisy.channels);
        if (s->sigma <= 0) s->sigma = 25;
        *clean = noisy;
        noisy = add_noise(clean, s->sigma, s->seed);
        picture_write(noisy_name, &noisy);
    }
    free(noisy_name);
    if (s->reference) {
        *clean = picture_read(s->reference);
        if (clean->width != noisy.width || clean->height != noisy.height || clean->channels != noisy.channels)
            fail(EXIT_ERROR, "%s: its size or number of channels differs from %s", s->reference, in);
    }
    if (s->sigma <= 0) s->sigma = estimate_sigma(&noisy, in);
    return noisy;
}

int main(int argc, char **argv) {
    settings *s = &chosen;
    picture clean = SHS_ZERO, noisy, out;
    shs_context ctx;
    double start, seconds;
    parse(argc, argv, s);
    if (s->draw) return draw(s->draw), EXIT_SUCCESS;
    noisy = noisy_picture(argv[0], argv[1], s, &clean);
    ctx = example_context(s->threads, s->device);
    out = picture_create(noisy.width, noisy.height, noisy.channels);
    start = wall_clock();
    denoise(&ctx, &noisy, s, &out);
    seconds = wall_clock() - start;
    picture_write(argv[1], &out);
    if (clean.pixels)
        printf("psnr_noisy=%.2f psnr=%.2f seconds=%.2f\n", picture_psnr(&clean, &noisy), picture_psnr(&clean, &out), seconds);
    else printf("psnr_noisy=n/a psnr=n/a seconds=%.2f\n", seconds);
    example_end();
    free(clean.pixels);
    free(noisy.pixels);
    free(out.pixels);
    return EXIT_SUCCESS;
}
