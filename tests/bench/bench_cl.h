/* bench_cl.h - what the two measurements of OpenCL share: the clock, medians and the scene. */
#ifndef BENCH_CL_H
#define BENCH_CL_H
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; the values are sorted on the way. */
static double median(int count, double *values) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* Eight smooth spectra in random mixtures with noise. */
static void draw_scene(uint8_t *pixels, size_t count, int bands) {
    uint32_t state = 12345;
    size_t i;
    int k;
    for (i = 0; i < count; i++) {
        uint32_t mix = state = state * 1664525u + 1013904223u;
        for (k = 0; k < bands; k++) {
            const uint32_t band = (uint32_t)k;
            uint32_t curve = (mix >> 24) * (band + 20) + (mix >> 16 & 255) * (band * 37 % 251);
            curve += (mix >> 8 & 255) * (band * 91 % 241);
            *pixels++ = (uint8_t)(10 + (curve >> 9 & 127) + (mix >> (k & 15) & 7));
        }
    }
}

#endif /* BENCH_CL_H */
