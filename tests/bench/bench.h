/* bench.h - what the parts of the benchmark share: a case of the table, and work that can be done again and again and timed.
   A case has our work and the work of a peer, in this process or in another process. bench.c runs them in turns. Needs POSIX
   and gcc or clang. */
#ifndef BENCH_H
#define BENCH_H
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../sparsehs.h"

#ifndef THREADS
#define THREADS 2 /* of the cases that use more than one: make bench THREADS=16 */
#endif
#if THREADS < 2
#error "THREADS has to be a number from 2 on"
#endif
#define THREADS_TEXT BENCH_TEXT(THREADS)
#define BENCH_TEXT(number) BENCH_QUOTED(number)
#define BENCH_QUOTED(number) #number

struct bench_work;
/* Makes work ready; 0 = it cannot be done here. */
typedef int (*open_fn)(struct bench_work *w);

typedef enum figure { SECONDS = 0, GFLOPS, SIGNALS, FIGURES } figure;

/* A line of the table. */
typedef struct bench_case {
    const char *name;
    const char *build; /* our side is done by build/bench-BUILD; NULL: by this program */
    figure figure;
    int threads; /* 0 = 1 */
    open_fn open;
    const char *peer;  /* NULL: none */
    open_fn open_peer; /* run in turns with ours; NULL or not here: peer_value, in the unit of the figure, stands */
    double peer_value;
    int peer_threads;      /* 0 = as many as ours */
    const char *script;    /* what tests/bench/bench_peers.py is asked for */
    double flops, bytes;   /* the least that has to be calculated and moved: what the share of the peak is taken of */
    int wide;              /* flops in double */
    int p, n, s, m, group; /* signals */
    int bands, components; /* cubes */
    shs_type type;         /* of the pixels; zero (SHS_TYPE_REAL) = SHS_TYPE_I16 */
    shs_interleave interleave;
    int to_bytes; /* components rescaled to 0-255 */
    shs_contrast contrast;
} bench_case;

/* What is timed as a whole. */
typedef void (*bench_fn)(struct bench_work *w, const shs_context *ctx);

/* Something to be timed: one run of `once` says how many seconds it took. */
typedef struct bench_work {
    const bench_case *c;
    int threads, wall; /* wall: timed by the clock; otherwise by the processor time, which a busy machine disturbs less */
    double (*once)(struct bench_work *w);
    bench_fn does; /* what bench_does was told */
    void *held[6]; /* memory, freed at the end */
    shs_cube cube;
    shs_sink sink;
    shs_codes codes;
    shs_pca pca;
    long child; /* a process beside this one does it; 0 = none */
    FILE *to, *from;
} bench_work;

/* bench.c */
double bench_now(const bench_work *w);
void *bench_hold(bench_work *w, int slot, size_t bytes);
/* What a slot holds, of shs_real. */
static inline shs_real *bench_reals(const bench_work *w, int slot) { return (shs_real *)w->held[slot]; }
void bench_ok(shs_status status);
double bench_median(double *values, int count);
shs_context bench_context(const bench_work *w);
/* One run of the work is one call of does; the return value is 1, as that of an open_fn. */
int bench_does(bench_work *w, bench_fn does);

/* bench_algebra.c, bench_signals.c, bench_cubes.c */
int open_gemm(bench_work *w);
int open_syrk(bench_work *w);
int open_eigh(bench_work *w);
int open_openblas_gemm(bench_work *w);
int open_openblas_syrk(bench_work *w);
int open_openblas_eigh(bench_work *w);
int open_omp(bench_work *w);
int open_lasso(bench_work *w);
int open_ols(bench_work *w);
int open_masked(bench_work *w);
int open_ksvd(bench_work *w);
int open_busy_ksvd(bench_work *w);
int open_patches(bench_work *w);
int open_covariance(bench_work *w);
int open_projection(bench_work *w);
int open_pca(bench_work *w);
int open_rx(bench_work *w);
int open_mnf(bench_work *w);
int open_ica(bench_work *w);

/* The scenes: 512 x 614 pixels of 205 bands, and 512 x 512 of 224. */
enum { LINES = 512, BANDS_A = 205, SAMPLES_A = 614, BANDS_B = 224, SAMPLES_B = 512 };
enum { ICA_ITERATIONS = 20 }; /* fixed for contrasts by sweeps, so that all do equal work */
void bench_open_cube(bench_work *w);
void bench_open_signals(bench_work *w);
void bench_covariance(int bands, shs_wide *covariance);
shs_ica_options bench_ica_options(const bench_case *c);

/* bench_beside.c: work in another process. */
int open_build(bench_work *w);
int open_script(bench_work *w);
void bench_close_child(bench_work *w);
void bench_serve(bench_work *w, double (*seconds)(bench_work *w));

/* bench_peaks.c: the measured peaks of the machine, on one thread [0] and on THREADS threads [1]. */
typedef struct bench_peaks {
    double flops[2][2]; /* a second, in float and in double */
    double bytes[2];    /* read from memory */
    int vector_bytes;   /* of the widest instructions */
} bench_peaks;
bench_peaks bench_measure_peaks(void);
/* How much faster THREADS threads do multiply-adds than one, right now: less than nearly THREADS where another's work, or
   another system on the same machine, has a part of the cores, and where two of them are one core's. */
double bench_all_cores(void);
/* As much of it as is enough to measure with: 1.85 of two threads; of others nearly what the machine reached at the start. */
double bench_enough_cores(const bench_peaks *peaks);
/* Turns that are repeated, for a case, since the machine had other work meanwhile. With many threads the machine is seldom
   idle, so the number of repeated turns is small. */
#define SPARE_TURNS (THREADS == 2 ? 9 : 2)

/* bench_stages.c: where the time of PCA and FastICA goes, on one thread and, if threads is not 1, on as many; prints those that
   wanted() approves of. */
void bench_stages(int (*wanted)(const char *name), int runs, int threads, const bench_peaks *peaks);

#endif
