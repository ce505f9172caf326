/* missing.h - pixels that are missing: NaN. */
#ifndef EXAMPLE_MISSING
#define EXAMPLE_MISSING

#define PIXEL_LOST ((shs_real)NAN)

static int pixel_missing(shs_real value) { return value != value; }

/* A pixel that was computed. */
static shs_real clipped(double value) { return (shs_real)limited(value, 0, 255); }

static void lose(picture *a, size_t pixel) {
    shs_real *values = picture_pixel(a, pixel);
    int c;
    for (c = 0; c < a->channels; c++) values[c] = PIXEL_LOST;
}

/* Each pixel with this probability. */
static void lose_random(picture *a, double part, uint64_t seed) {
    size_t i, pixels = picture_area(a);
    shs_random random;
    shs_random_seed(&random, seed);
    for (i = 0; i < pixels; i++)
        if (shs_random_uniform(&random) < part) lose(a, i);
}

#endif /* EXAMPLE_MISSING */
