/* missing.h - pixels that are missing: NaN. */
#ifndef EXAMPLE_MISSING
#define EXAMPLE_MISSING

static int pixel_missing(shs_real value) { return value != value; }

/* A pixel that was computed. */
static shs_real clipped(double value) {
    if (value < 0) return 0;
    if (value > 255) return 255;
    return (shs_real)value;
}

static void lose(picture *a, size_t pixel) {
    int c;
    for (c = 0; c < a->channels; c++) a->pixels[pixel * (size_t)a->channels + (size_t)c] = (shs_real)NAN;
}

/* Each pixel with this probability. */
static void lose_random(picture *a, double part, uint64_t seed) {
    size_t i, pixels = (size_t)a->width * (size_t)a->height;
    shs_random random;
    shs_random_seed(&random, seed);
    for (i = 0; i < pixels; i++)
        if ((double)shs_random_uniform(&random) < part) lose(a, i);
}

#endif /* EXAMPLE_MISSING */
