/* make_model.c - runs on the host: learns what sensor.c and stream.c carry in flash, and writes it as C to standard output.

       make_model >model.h            for sensor.c
       make_model stream >beats.h     for stream.c
       make_model codes >codes.txt    what stream.c says, computed here from all windows at once

   The windows of sensor.c are those of a vibration sensor, 32 samples each: two or three damped oscillations out of a dozen and
   some noise, as a 16-bit converter delivers them. Those of stream.c are any 32 samples in a row of a heart's beats. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#include "../../sparsehs.h"

enum { LENGTH = 32, ATOMS = 64, SPARSITY = 4, COMPONENTS = 6, TRAINING = 3000, WINDOWS = 16 };

static float signals[LENGTH * TRAINING], dictionary[LENGTH * ATOMS], gram[ATOMS * ATOMS];
static int16_t windows[LENGTH * (TRAINING + WINDOWS)];

/* stream.c: 100 samples a second, of which an electrocardiogram's beat takes about 80. */
enum { HOP = 8, SAMPLES = 800, ODD_BEAT = 5, LONG = 40000 };
static int16_t beats[LONG], samples[SAMPLES];

/* A whole number below `end`. */
static double draw_below(shs_random *r, uint64_t end) { return (double)shs_random_below(r, end); }

static void draw_window(int16_t *window, shs_random *r) {
    double sum[LENGTH] = {0};
    int parts = 2 + (int)shs_random_below(r, 2), k, i;
    for (k = 0; k < parts; k++) {
        double frequency = 0.15 * (1 + draw_below(r, 12)), damping = 0.02 * draw_below(r, 4);
        double phase = 0.8 * draw_below(r, 8), height = 300 + 900 * shs_random_uniform(r);
        for (i = 0; i < LENGTH; i++) sum[i] += height * exp(-damping * i) * sin(frequency * i + phase);
    }
    for (i = 0; i < LENGTH; i++) window[i] = (int16_t)lrint(2048 + sum[i] + 10 * shs_random_normal(r));
}

static void check(shs_status status) {
    if (status == SHS_OK) return;
    fprintf(stderr, "make_model: %s\n", shs_status_text(status));
    exit(1);
}

static void write_integers(const char *name, int count, const int16_t *x) {
    int i;
    printf("static const int16_t %s[%d] = {", name, count);
    for (i = 0; i < count; i++) {
        if (i % 16 == 0) printf("\n   ");
        printf(" %d,", x[i]);
    }
    printf("\n};\n");
}

static void write_floats(const char *name, size_t count, const float *x) {
    size_t i;
    printf("static const float %s[%u] = {", name, (unsigned)count);
    for (i = 0; i < count; i++) {
        if (i % 6 == 0) printf("\n   ");
        printf(" %af,", (double)x[i]);
    }
    printf("\n};\n");
}

/* Signal number i: a window without its mean. */
static void take_signal(int i, const int16_t *window) {
    float mean = 0;
    int k;
    for (k = 0; k < LENGTH; k++) mean += (float)window[k] / LENGTH;
    for (k = 0; k < LENGTH; k++) signals[LENGTH * i + k] = (float)window[k] - mean;
}

/* The dictionary of the signals, and its Gram matrix. */
static void learn_dictionary(void) {
    shs_ksvd_options options = SHS_ZERO;
    options.iterations = 20;
    options.coding.sparsity = SPARSITY;
    options.seed = 1;
    check(shs_ksvd_ex(NULL, LENGTH, ATOMS, TRAINING, signals, LENGTH, &options, dictionary, LENGTH, NULL, NULL));
    check(shs_gemm(NULL, SHS_TRANS_YES, SHS_TRANS_NO, ATOMS, ATOMS, LENGTH, 1, dictionary, LENGTH, dictionary, LENGTH, 0, gram,
                   ATOMS));
}

static void write_dictionary(void) {
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
    cube.pixels = windows;
    cube.type = SHS_TYPE_I16;
    cube.samples = TRAINING;
    cube.lines = 1;
    cube.bands = LENGTH;
    cube.interleave = SHS_INTERLEAVE_BIP;
    options.components = COMPONENTS;
    check(shs_pca_fit(NULL, &cube, &options, &pca));
    for (i = 0; i < LENGTH; i++) values[i] = (float)pca.mean[i];
    write_floats("model_mean", LENGTH, values);
    for (i = 0; i < LENGTH * COMPONENTS; i++) values[i] = (float)pca.vectors[i];
    write_floats("model_components", LENGTH * COMPONENTS, values);
    shs_pca_free(NULL, &pca);
}

/* ---- a stream of beats --------------------------------------------------------------------------------------------- */

static double hill(double t, double height, double at, double width) {
    return height * exp(-(t - at) * (t - at) / (width * width));
}

/* One beat t samples after its peak: the waves P, Q, R, S and T, or one that began in the wrong place. */
static double beat(double t, int odd) {
    if (odd) return hill(t, 0.9, 0, 6) - hill(t, 0.6, 15, 7);
    return hill(t, 0.12, -16, 3.5) - hill(t, 0.14, -3, 1.2) + hill(t, 1, 0, 1.5) - hill(t, 0.2, 3, 1.4) + hill(t, 0.3, 24, 6);
}

/* Beat number odd (from 0, or -1) is unlike the others. */
static void draw_beats(int16_t *to, int count, int odd, shs_random *r) {
    double peak = 30, height = 1000, next = peak;
    int i, k = -1;
    for (i = 0; i < count; i++) {
        double sum = 0;
        if (k < 0 || i > (peak + next) / 2) {
            peak = next;
            height = 900 + 200 * shs_random_uniform(r);
            k++;
            next = peak + 72 + 16 * shs_random_uniform(r);
        }
        sum = height * (beat(i - peak, k == odd) + beat(i - next, k + 1 == odd));
        to[i] = (int16_t)lrint(2048 + sum + 8 * shs_random_normal(r));
    }
}

/* Windows of the long stream anywhere; then those of the short one, hop by hop. */
static void learn_beats(void) {
    shs_random r;
    int i;
    shs_random_seed(&r, 1);
    draw_beats(beats, LONG, -1, &r);
    for (i = 0; i < TRAINING; i++) take_signal(i, beats + shs_random_below(&r, LONG - LENGTH));
    learn_dictionary();
    draw_beats(samples, SAMPLES, ODD_BEAT, &r);
}

/* What the worst window of the training leaves, and half as much again. */
static int limit_of_rest(float *errors2, shs_codes *codes) {
    shs_omp_options o = SHS_ZERO;
    float most = 0;
    int i;
    o.sparsity = SPARSITY;
    check(shs_omp_ex(NULL, LENGTH, ATOMS, dictionary, LENGTH, TRAINING, signals, LENGTH, &o, codes, errors2, NULL));
    for (i = 0; i < TRAINING; i++)
        if (errors2[i] > most) most = errors2[i];
    return (int)(1.5f * most / LENGTH);
}

static void write_stream(int codes_alone) {
    static float errors2[TRAINING];
    shs_codes codes;
    shs_omp_options o = SHS_ZERO;
    int i, k, limit, count = (SAMPLES - LENGTH) / HOP + 1;
    learn_beats();
    check(shs_codes_create(NULL, TRAINING, SPARSITY, &codes));
    limit = limit_of_rest(errors2, &codes);
    if (!codes_alone) {
        printf("/* Written by make_model.c. */\n");
        printf("enum { LENGTH = %d, ATOMS = %d, SPARSITY = %d, ", LENGTH, ATOMS, SPARSITY);
        printf("HOP = %d, SAMPLES = %d, LIMIT = %d };\n", HOP, SAMPLES, limit);
        write_dictionary();
        write_integers("model_samples", SAMPLES, samples);
    } else {
        o.sparsity = SPARSITY;
        for (i = 0; i < count; i++) take_signal(i, samples + HOP * i);
        check(shs_omp_ex(NULL, LENGTH, ATOMS, dictionary, LENGTH, (size_t)count, signals, LENGTH, &o, &codes, errors2, NULL));
        for (i = 0; i < count; i++) {
            const char *before = ": ";
            printf("samples from %d", HOP * i);
            for (k = SPARSITY * i; k < SPARSITY * i + codes.used[i]; k++) {
                printf("%s%ld x atom %d", before, lrintf(codes.coefs[k]), codes.atoms[k]);
                before = ", ";
            }
            printf("; mean square left %ld", lrintf(errors2[i] / LENGTH));
            if (errors2[i] > (float)(LENGTH * limit)) printf("; unlike what was learnt");
            printf("\n");
        }
    }
    shs_codes_free(NULL, &codes);
}

int main(int argc, char **argv) {
    shs_random r;
    int i;
    if (argc > 1) {
        write_stream(strcmp(argv[1], "codes") == 0);
        return 0;
    }
    shs_random_seed(&r, 1);
    for (i = 0; i < TRAINING + WINDOWS; i++) draw_window(windows + LENGTH * i, &r);
    printf("/* Written by make_model.c. */\n");
    printf("enum { LENGTH = %d, ATOMS = %d, SPARSITY = %d, COMPONENTS = %d, WINDOWS = %d };\n", LENGTH, ATOMS, SPARSITY,
           COMPONENTS, WINDOWS);
    for (i = 0; i < TRAINING; i++) take_signal(i, windows + LENGTH * i);
    learn_dictionary();
    write_dictionary();
    write_components();
    write_integers("model_windows", LENGTH * WINDOWS, windows + LENGTH * TRAINING);
    return 0;
}
