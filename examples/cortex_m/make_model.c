/* make_model.c - runs on the host: learns what sensor.c carries in flash, and writes it as a C header to standard output.

   The windows are those of a vibration sensor, 32 samples each: two or three damped oscillations out of a dozen and some
   noise, as a 16-bit converter delivers them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SPARSEHS_IMPLEMENTATION
#include "../../sparsehs.h"

enum { LENGTH = 32, ATOMS = 64, SPARSITY = 4, COMPONENTS = 6, TRAINING = 3000, WINDOWS = 16 };

static float signals[LENGTH * TRAINING], dictionary[LENGTH * ATOMS], gram[ATOMS * ATOMS];
static int16_t windows[LENGTH * (TRAINING + WINDOWS)];

static void draw_window(int16_t *window, shs_random *r) {
    double sum[LENGTH] = {0};
    int parts = 2 + (int)shs_random_below(r, 2), k, i;
    for (k = 0; k < parts; k++) {
        double frequency = 0.15 * (1 + (double)shs_random_below(r, 12)), damping = 0.02 * (double)shs_random_below(r, 4);
        double phase = 0.8 * (double)shs_random_below(r, 8), height = 300 + 900 * shs_random_uniform(r);
        for (i = 0; i < LENGTH; i++) sum[i] += height * exp(-damping * i) * sin(frequency * i + phase);
    }
    for (i = 0; i < LENGTH; i++) window[i] = (int16_t)lrint(2048 + sum[i] + 10 * shs_random_normal(r));
}

static void check(shs_status status) {
    if (status == SHS_OK) return;
    fprintf(stderr, "make_model: %s\n", shs_status_text(status));
    exit(1);
}

static void write_floats(const char *name, size_t count, const float *x) {
    size_t i;
    printf("static const float %s[%u] = {", name, (unsigned)count);
    for (i = 0; i < count; i++) printf("%s%af,", i % 6 ? " " : "\n    ", (double)x[i]);
    printf("\n};\n");
}

/* The dictionary of windows without their mean, and its Gram matrix. */
static void write_dictionary(void) {
    shs_ksvd_options options = SHS_ZERO;
    int i, k;
    for (i = 0; i < TRAINING; i++) {
        float mean = 0;
        for (k = 0; k < LENGTH; k++) mean += (float)windows[LENGTH * i + k] / LENGTH;
        for (k = 0; k < LENGTH; k++) signals[LENGTH * i + k] = (float)windows[LENGTH * i + k] - mean;
    }
    options.iterations = 20, options.coding.sparsity = SPARSITY, options.seed = 1;
    check(shs_ksvd_ex(NULL, LENGTH, ATOMS, TRAINING, signals, LENGTH, &options, dictionary, LENGTH, NULL, NULL));
    check(shs_gemm(NULL, SHS_TRANS_YES, SHS_TRANS_NO, ATOMS, ATOMS, LENGTH, 1, dictionary, LENGTH, dictionary, LENGTH, 0, gram,
                   ATOMS));
    write_floats("model_dictionary", LENGTH * ATOMS, dictionary);
    write_floats("model_gram", ATOMS * ATOMS, gram);
}

/* The mean window and the leading principal components, one after another. */
static void write_components(void) {
    float values[LENGTH * COMPONENTS];
    shs_pca_options options = SHS_ZERO;
    shs_cube cube = SHS_ZERO;
    shs_pca pca;
    int i;
    cube.pixels = windows, cube.type = SHS_TYPE_I16, cube.samples = TRAINING, cube.lines = 1, cube.bands = LENGTH;
    cube.interleave = SHS_INTERLEAVE_BIP;
    options.components = COMPONENTS;
    check(shs_pca_fit(NULL, &cube, &options, &pca));
    for (i = 0; i < LENGTH; i++) values[i] = (float)pca.mean[i];
    write_floats("model_mean", LENGTH, values);
    for (i = 0; i < LENGTH * COMPONENTS; i++) values[i] = (float)pca.vectors[i];
    write_floats("model_components", LENGTH * COMPONENTS, values);
    shs_pca_free(NULL, &pca);
}

int main(void) {
    shs_random r;
    int i;
    shs_random_seed(&r, 1);
    for (i = 0; i < TRAINING + WINDOWS; i++) draw_window(windows + LENGTH * i, &r);
    printf("/* Written by make_model.c. */\n");
    printf("enum { LENGTH = %d, ATOMS = %d, SPARSITY = %d, COMPONENTS = %d, WINDOWS = %d };\n", LENGTH, ATOMS, SPARSITY,
           COMPONENTS, WINDOWS);
    write_dictionary();
    write_components();
    printf("static const int16_t model_windows[%d] = {", LENGTH * WINDOWS);
    for (i = 0; i < LENGTH * WINDOWS; i++) printf("%s%d,", i % 16 ? " " : "\n    ", windows[LENGTH * TRAINING + i]);
    printf("\n};\n");
    return 0;
}
