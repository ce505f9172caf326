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

#include "denoising.h"

typedef struct settings {
    denoising how;
    int threads, add_noise;
    const char *reference, *draw, *device;
} settings;

/* Hidden pixels get the mean of the visible ones: patches that hold 3 x 3 equal values do not count for the noise. */
static void flatten_hidden(picture *a) {
    double shown = 0;
    size_t i;
    int c;
    for (i = 0; i < picture_area(a); i++) shown += !picture_hidden(a, i);
    for (c = 0; c < a->channels && shown > 0; c++) {
        double sum = 0;
        for (i = 0; i < picture_area(a); i++)
            if (!picture_hidden(a, i)) sum += (double)picture_pixel(a, i)[c];
        for (i = 0; i < picture_area(a); i++)
            if (picture_hidden(a, i)) picture_pixel(a, i)[c] = (shs_real)(sum / shown);
    }
}

/* Removing less noise than rounding to the file's values adds is not worth minutes: patches take dozens of atoms each, and the
   file changes by less than a step. Measured gains: 0.1 to 0.3 dB at noise of half a step, 0.5 to 1 dB at one step. */
static double estimate_sigma(const picture *given, const char *name) {
    static const char *const doubts[] = {
        "", "and likely too much: nearly all of the picture is textured",
        "and likely too little: most of the picture is clipped at its darkest or lightest value",
        "too much or too little: the picture is small, or next to nothing of it is smooth"};
    const double rounding = 255.0 / given->white / sqrt(12);
    picture a = picture_again(given);
    const shs_image image = picture_image(&a);
    shs_noise noise = SHS_ZERO;
    flatten_hidden(&a);
    check(shs_noise_sigma(NULL, &image, &noise), "estimating the noise");
    picture_free(&a);
    if (noise.sigma < rounding)
        fail(EXIT_ERROR,
             "%s: next to no noise: the estimated sigma, %.2g where white is 255, is below that of rounding, %.2g; "
             "--sigma S removes noise of S all the same",
             name, (double)noise.sigma, rounding);
    printf("estimated sigma: %.4g, where white is 255\n", (double)noise.sigma);
    if (noise.guess) printf("That is a guess, %s. --sigma says what it is.\n", doubts[noise.guess]);
    return (double)noise.sigma;
}

static void draw(const char *name) {
    picture a = drawn_picture();
    picture_will_write(name, 1);
    picture_write(name, &a);
    printf("%s: %d x %d pixels drawn\n", name, a.width, a.height);
    free(a.pixels);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static settings chosen = {{0, 256, 30, 1, 1, 80000, 0}, 0, 0, NULL, NULL, NULL}; /* the defaults */

static const option options[] = {
    {"The noise", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--sigma", "S", OPTION_NUMBER, &chosen.how.sigma, 1e-5,
     "standard deviation of the noise, where white is 255 at any depth (estimated; 25 to add)"},
    {"--add-noise", NULL, OPTION_SWITCH, &chosen.add_noise, 0,
     "IN is clean: add noise first, neither rounded nor clipped, and measure against IN; writes OUT_noisy too"},
    {"--reference", "CLEAN", OPTION_TEXT, (void *)&chosen.reference, 0, "measure against this picture"},
    {"Learning", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--atoms", "N", OPTION_COUNT, &chosen.how.atoms, 1, "atoms of the dictionary (256)"},
    {"--iterations", "K", OPTION_COUNT, &chosen.how.iterations, 1, "iterations of learning (30)"},
    {"--parallel-atoms", "N", OPTION_COUNT, &chosen.how.parallel_atoms, 1, "atoms updated at a time (1)"},
    {"--patches", "M", OPTION_COUNT, &chosen.how.patches, 1, "patches to learn from (80000)"},
    {"--gamma", "G", OPTION_NUMBER, &chosen.how.gamma, 0,
     "colour: the means of channels weigh 1 + G; 0 removes them from patches (0)"},
    {"--seed", "N", OPTION_SEED, &chosen.how.seed, 0, "seed of the noise and of the choice of patches (1)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
    {"--device", "NAME", OPTION_TEXT, (void *)&chosen.device, 0, DEVICE_HELP},
    {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP},
    {"--draw", "FILE", OPTION_TEXT, (void *)&chosen.draw, 0, "draw a test picture into FILE and do nothing else"},
    {"noisy.png clean.png", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"photo.png denoised.png --sigma 25 --add-noise", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

static void parse(int argc, char **argv, const settings *s) {
    int names = read_options(argc, argv, "IN OUT.png [options]",
                             "Removes white Gaussian noise from a picture (PNG, JPEG, BMP, PGM, PPM).\n"
                             "The last line of the output: psnr_noisy=dB psnr=dB seconds=s, of the values as they are "
                             "computed. The line before it has the PSNR of what the files hold: rounded and clipped.",
                             options, (int)(sizeof options / sizeof *options));
    if (s->draw && names != 0) fail(EXIT_USAGE, "--draw: takes no other names of files (got %d)", names);
    if (!s->draw && names != 2) fail(EXIT_USAGE, "needs two names, IN and OUT (got %d)", names);
    if (s->how.sigma > 255)
        fail(EXIT_USAGE, "--sigma: %g is too large: at most 255, which is white whatever the depth of the file", s->how.sigma);
    if (s->add_noise && s->reference) fail(EXIT_USAGE, "--reference: with --add-noise the reference is IN itself");
}

/* Returns the noisy picture, and the true picture in *clean if the program knows it. Settles s->how.sigma. */
static picture noisy_picture(const char *in, const char *out, settings *s, picture *clean) {
    picture noisy = picture_read(in);
    char *noisy_name = derived_name(out, "_noisy", name_extension(out));
    if (noisy.width < DENOISE_PATCH || noisy.height < DENOISE_PATCH)
        fail(EXIT_ERROR, "%s: %d x %d pixels are less than one patch of %d x %d", in, noisy.width, noisy.height, DENOISE_PATCH,
             DENOISE_PATCH);
    will_read(in);
    if (s->reference) will_read(s->reference);
    picture_will_write(out, noisy.channels);
    if (s->add_noise) {
        picture_will_write(noisy_name, noisy.channels);
        if (s->how.sigma <= 0) s->how.sigma = 25;
        *clean = noisy;
        noisy = add_noise(clean, s->how.sigma, s->how.seed);
        picture_carry(clean, &noisy);
        picture_restore_hidden(&noisy, clean);
        picture_write(noisy_name, &noisy);
    }
    free(noisy_name);
    if (s->reference) {
        *clean = picture_read(s->reference);
        if (clean->width != noisy.width || clean->height != noisy.height || clean->channels != noisy.channels)
            fail(EXIT_ERROR, "%s: its size or number of channels differs from %s", s->reference, in);
    }
    if (s->how.sigma <= 0) s->how.sigma = estimate_sigma(&noisy, in);
    return noisy;
}

int main(int argc, char **argv) {
    settings *s = &chosen;
    picture clean = SHS_ZERO, noisy, filled, out;
    shs_context ctx;
    double start, seconds, mean;
    char before[32], after[32];
    shs_real *D;
    int p;
    parse(argc, argv, s);
    if (s->draw) return draw(s->draw), EXIT_SUCCESS;
    noisy = noisy_picture(argv[0], argv[1], s, &clean);
    ctx = example_context(s->threads, s->device);
    out = picture_create(noisy.width, noisy.height, noisy.channels);
    picture_carry(&noisy, &out);
    start = wall_clock();
    filled = picture_again(&noisy);
    picture_fill_hidden(&filled);
    D = denoise_learn(&ctx, &filled, &s->how, &p, NULL);
    mean = denoise_with(&ctx, &filled, &s->how, p, D, &out);
    free(D);
    picture_restore_hidden(&out, &noisy);
    seconds = wall_clock() - start;
    progress_clear();
    printf("%.2f atoms a patch in the mean\n", mean);
    picture_write(argv[1], &out);
    if (s->add_noise)
        printf("PSNR in the files: %s dB with noise, %s dB denoised\n",
               picture_psnr_words(picture_file_psnr(&clean, &noisy, argv[1]), before),
               picture_psnr_words(picture_file_psnr(&clean, &out, argv[1]), after));
    else if (clean.pixels)
        printf("PSNR in the file: %s dB\n", picture_psnr_words(picture_file_psnr(&clean, &out, argv[1]), after));
    if (clean.pixels)
        printf("psnr_noisy=%s psnr=%s seconds=%.2f\n", picture_psnr_words(picture_psnr(&clean, &noisy), before),
               picture_psnr_words(picture_psnr(&clean, &out), after), seconds);
    else printf("psnr_noisy=n/a psnr=n/a seconds=%.2f\n", seconds);
    example_end();
    picture_free(&clean);
    picture_free(&noisy);
    picture_free(&filled);
    picture_free(&out);
    return EXIT_SUCCESS;
}
