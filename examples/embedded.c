/* embedded.c - sparse coding where there is neither heap nor files: the dictionary is part of the program.

       ./train photo.pgm --atoms 128 --sparsity 5 --export-c dictionary.h
       cc -O2 embedded.c -o embedded -lm

   With --export-type i8 or u8 its atoms take a byte a value. DICTIONARY_HEADER names another header. Without a dictionary
   header the start-up code computes an overcomplete DCT. */
#ifndef DICTIONARY_HEADER
#define DICTIONARY_HEADER "dictionary.h"
#endif

#define SPARSEHS_STATIC    /* so that what is not called is not linked */
#define SPARSEHS_NO_STDLIB /* no malloc anywhere */
#define SPARSEHS_NO_OPENMP
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"

#if defined(__has_include)
#if __has_include(DICTIONARY_HEADER)
#define DICTIONARY_REAL shs_real
#if defined(__clang__) /* it notes every float that becomes a double under SPARSEHS_DOUBLE */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdouble-promotion"
#endif
#include DICTIONARY_HEADER
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#endif
#endif
#ifndef DICTIONARY_LENGTH
#define DICTIONARY_COMPUTED
#define DICTIONARY_PATCH 8
#define DICTIONARY_CHANNELS 1
#define DICTIONARY_LENGTH (DICTIONARY_PATCH * DICTIONARY_PATCH)
#define DICTIONARY_ATOMS 128
#define DICTIONARY_SPARSITY 5
static shs_real dictionary_atoms[DICTIONARY_LENGTH * DICTIONARY_ATOMS];
static shs_real dictionary_gram[DICTIONARY_ATOMS * DICTIONARY_ATOMS];
#endif

/* One coded window. */
typedef struct window_code {
    shs_real mean[DICTIONARY_CHANNELS];
    int used, atoms[DICTIONARY_SPARSITY];
    shs_real coefs[DICTIONARY_SPARSITY];
    shs_real error2; /* squared length of what is left */
} window_code;

/* Once, before the first encode. */
shs_status dictionary_start(void) {
#ifdef DICTIONARY_COMPUTED
    const int p = DICTIONARY_LENGTH, n = DICTIONARY_ATOMS;
    shs_status status =
        shs_dictionary_dct(DICTIONARY_PATCH, DICTIONARY_PATCH, DICTIONARY_CHANNELS, n, dictionary_atoms, p);
    int j;
    for (j = 0; j < n && status == SHS_OK; j++)
        status = shs_gemv(SHS_TRANS_YES, p, n, 1, dictionary_atoms, p, dictionary_atoms + j * p, 1, 0,
                          dictionary_gram + j * n, 1);
    return status;
#else
    return SHS_OK;
#endif
}

/* D'y, from floats or from bytes. */
static shs_status correlate(const shs_real *signal, shs_real *dty) {
#ifdef DICTIONARY_BYTES
    dictionary_correlate(signal, dty);
    return SHS_OK;
#else
    enum { P = DICTIONARY_LENGTH, N = DICTIONARY_ATOMS };
    return shs_gemv(SHS_TRANS_YES, P, N, 1, dictionary_atoms, P, signal, 1, 0, dty, 1);
#endif
}

/* Codes one window with at most DICTIONARY_SPARSITY atoms, fewer where the rest is shorter than tolerance. Always in
   the same memory. */
shs_status encode(const shs_real *window, shs_real tolerance, window_code *code) {
    enum { P = DICTIONARY_LENGTH, N = DICTIONARY_ATOMS, S = DICTIONARY_SPARSITY, PIXELS = P / DICTIONARY_CHANNELS };
    static shs_real signal[P], dty[N];
    static unsigned char workspace[SHS_OMP_ONE_WORKSPACE(N, S)];
    shs_omp_options options = SHS_ZERO;
    shs_status status;
    int c, i;
    options.sparsity = S;
    options.tolerance = tolerance;
    for (c = 0; c < DICTIONARY_CHANNELS; c++) {
        shs_real sum = 0;
        for (i = 0; i < PIXELS; i++) sum += window[c * PIXELS + i];
        code->mean[c] = sum / (shs_real)PIXELS;
        for (i = 0; i < PIXELS; i++) signal[c * PIXELS + i] = window[c * PIXELS + i] - code->mean[c];
    }
    status = correlate(signal, dty);
    if (status != SHS_OK) return status;
    return shs_omp_one(N, dictionary_gram, N, dty, shs_dot(P, signal, 1, signal, 1), &options, workspace, sizeof workspace,
                       code->atoms, code->coefs, &code->used, &code->error2);
}

#if __STDC_HOSTED__
#include <stdio.h>

int main(void) {
    static shs_real window[DICTIONARY_LENGTH];
    window_code code;
    shs_status status = dictionary_start();
    int i;
    for (i = 0; i < DICTIONARY_LENGTH; i++) /* a slanted edge, darker above it */
        if (i % DICTIONARY_PATCH + 2 * (i / DICTIONARY_PATCH % DICTIONARY_PATCH) < DICTIONARY_PATCH) window[i] = 60;
        else window[i] = 180;
    if (status == SHS_OK) status = encode(window, 0, &code);
    if (status != SHS_OK) {
        printf("%s\n", shs_status_text(status));
        return 1;
    }
    printf("%d values became %d of %d atoms:", DICTIONARY_LENGTH, code.used, DICTIONARY_ATOMS);
    for (i = 0; i < code.used; i++) printf("  %.1f x atom %d", (double)code.coefs[i], code.atoms[i]);
    printf("\nrms error %.2f of 255\n", (double)SPARSEHS_SQRTF((float)code.error2 / DICTIONARY_LENGTH));
    return 0;
}
#endif
