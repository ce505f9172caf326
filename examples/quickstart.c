/* Learns a dictionary from signals that are sparse in a hidden one, and finds the hidden atoms again.
       cc -O2 quickstart.c -lm && ./a.out */
#include <stdio.h>
#include <string.h>
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"

enum { P = 20, N = 50, M = 4000, S = 3 }; /* length of a signal, atoms, signals, atoms in each signal */

int main(int argc, char **argv) {
    static shs_real hidden[P * N], learnt[P * N], signals[P * M], products[N];
    shs_codes codes = SHS_ZERO;
    shs_omp_report report = SHS_ZERO;
    shs_omp_options coding = SHS_ZERO;
    shs_random random;
    int i, j, found = 0;
    if (argc > 1 && !strcmp(argv[1], "--version")) return puts(shs_build_info()) < 0;

    /* Every column of `signals` is a sum of three random atoms with random weights. */
    shs_random_seed(&random, 1);
    shs_dictionary_random(P, N, hidden, P, 2);
    for (i = 0; i < M * S; i++) { /* two statements: which argument of a call is drawn first is the compiler's choice */
        const shs_real *atom = hidden + P * shs_random_below(&random, N);
        shs_axpy(P, (shs_real)shs_random_normal(&random), atom, 1, signals + i / S * P, 1);
    }

    /* Learn from the signals alone, then write each as a combination of three learnt atoms. */
    shs_status status = shs_ksvd(NULL, P, N, M, signals, S, 100, learnt);
    if (status == SHS_OK) status = shs_codes_create(NULL, M, S, &codes);
    coding.sparsity = S;
    if (status == SHS_OK) status = shs_omp_ex(NULL, P, N, learnt, P, M, signals, P, &coding, &codes, NULL, &report);
    if (status != SHS_OK) {
        fprintf(stderr, "%s\n", shs_status_text(status));
        return 1;
    }

    for (i = 0; i < N; i++) { /* found: some learnt atom points the same way, up to its sign */
        shs_gemv(SHS_TRANS_YES, P, N, 1, learnt, P, hidden + P * i, 1, 0, products, 1);
        for (j = 0; j < N && 100 * products[j] * products[j] < 98; j++) {}
        found += j < N;
    }
    printf("%d of %d hidden atoms found, rms error %.4f a value\n", found, N, (double)report.rmse);
    shs_codes_free(NULL, &codes);
    return 0;
}
