/* bench.c - how fast the library is here: beside what the machine reaches at most, beside its peers, run in turns with ours,
   and beside the targets. Writes build/bench.csv, build/bench_details.csv (spread, share of the peak) and
   build/bench_stages.csv. Where one thread is compared with several it ends with those rows as a table of Markdown.

   build/bench [--quick] [--one-thread] [--list] [PATTERN...]

   All cases, or those whose name is or holds a pattern (* and ? as in a shell). --quick: one run of each side instead of three.
   --one-thread: ours and the peers on one thread throughout, by processor time: for a machine that has other work too.

   Cases that take several threads take THREADS (2, or as make bench THREADS=16 says). "The bare machine" beside them is what a
   perfect program would gain from as many: the seconds of the least that the case has to calculate, at the rate of bare
   multiply-adds, or of the least that it has to move, at the rate of bare reads, whichever takes longer, on one thread over the
   same on all. Multiply-adds are measured in the same turn, reads once at the start. */
#include "bench.h"
#include <fnmatch.h>
#include <math.h>
#include <signal.h>
#include <time.h>

#define SPARSEHS_IMPLEMENTATION
#include "../../sparsehs.h"

#define RUNS 3         /* of each side, in turns; the median counts */
#define AT_LEAST 0.2   /* seconds a run: shorter work is repeated */
#define PAUSE 80000000 /* nanoseconds in which a peer's waiting threads stop spinning */

/* ---- the cases ---------------------------------------------------------------------------------------------------- */

/* clang-format off */
/* What has to be calculated, at least. */
#define GEMM_FLOPS(n) (2.0 * (n) * (n) * (n))
#define SYRK_FLOPS(n, k) ((double)(n) * ((n) + 1) * (k))
/* A signal: its correlations; at the k-th atom 2nk for b_k; and 5n to scale it, update alpha and search. */
#define OMP_FLOPS(p, n, s) (2.0 * (p) * (n) + (double)(n) * (s) * ((s) - 1) + 5.0 * (n) * (s))
/* A signal: its residual, and for each atom in it E x', E'd and the residual's patch, out and in. */
#define UPDATE_FLOPS(p, s) (10.0 * (p) * (s))
/* Reduction, divide and conquer without deflation, back-transformation. */
#define EIGH_FLOPS(n) (14.0 / 3 * (n) * (n) * (n))
#define MAP_FLOPS(bands, outputs, pixels) (2.0 * (bands) * (outputs) * (pixels))

#define PIXELS_A ((double)LINES * SAMPLES_A)
#define PIXELS_B ((double)LINES * SAMPLES_B)
#define COVARIANCE(kind, size)                                                                                         \
    .open = open_covariance, .bands = BANDS_B, .type = kind, .interleave = SHS_INTERLEAVE_BIP, .n = BANDS_B,                      \
    .m = LINES * SAMPLES_B, .flops = SYRK_FLOPS(BANDS_B, PIXELS_B), .bytes = PIXELS_B * BANDS_B * (size)
#define ON_READY_FLOATS .peer = "OpenBLAS ssyrk, floats", .open_peer = open_openblas_syrk
#define OMP_BY(open_, P, N, S, M)                                                                                      \
    .figure = SIGNALS, .open = open_, .p = P, .n = N, .s = S, .m = M, .flops = OMP_FLOPS(P, N, S) * (M),               \
    .bytes = 4.0 * (M) * ((P) + 2 * (S))
#define OMP(P, N, S, M) OMP_BY(open_omp, P, N, S, M)
#define KSVD(P, N, S, M, G)                                                                                            \
    .open = open_ksvd, .p = P, .n = N, .s = S, .m = M, .group = G,                                                     \
    .flops = (OMP_FLOPS(P, N, S) + UPDATE_FLOPS(P, S)) * (M)
#define GEMM(N) .figure = GFLOPS, .open = open_gemm, .n = N, .flops = GEMM_FLOPS(N)
#define SMALL_GEMM(M, N, K)                                                                                            \
    .figure = GFLOPS, .open = open_gemm, .m = M, .n = N, .p = K, .s = TIMES(M, N, K),                                  \
    .flops = 2.0 * (M) * (N) * (K) * TIMES(M, N, K), OPENBLAS("sgemm", open_openblas_gemm)
#define TIMES(M, N, K) (1 + 4000000 / ((M) * (N) * (K)))
#define SYRK(N, M)                                                                                                     \
    .figure = GFLOPS, .open = open_syrk, .n = N, .m = M, .flops = SYRK_FLOPS(N, M), .bytes = 4.0 * (N) * (M)
#define EIGH(N) .open = open_eigh, .n = N, .flops = EIGH_FLOPS(N), .wide = 1
#define PATCHES(N, SIZE) .open = open_patches, .p = 64, .n = N, .m = SIZE
/* Two passes over int16 pixels, 10 floats out. */
#define PCA_10                                                                                                         \
    .threads = THREADS, .open = open_pca, .bands = BANDS_A, .components = 10,                                          \
    .flops = SYRK_FLOPS(BANDS_A, PIXELS_A) + MAP_FLOPS(BANDS_A, 10, PIXELS_A), .bytes = PIXELS_A * (2 * 2 * BANDS_A + 40)
/* In double: two passes, the second by a triangle; one float out. */
#define RX                                                                                                             \
    .threads = THREADS, .open = open_rx, .bands = BANDS_A, .components = 1, .wide = 1,                                 \
    .flops = 2 * SYRK_FLOPS(BANDS_A, PIXELS_A), .bytes = PIXELS_A * (2 * 2 * BANDS_A + 4)
/* Pixels, and differences of neighbours. */
#define MNF_10                                                                                                         \
    .threads = THREADS, .open = open_mnf, .bands = BANDS_A, .components = 10, .wide = 1,                               \
    .flops = 2 * SYRK_FLOPS(BANDS_A, PIXELS_A) + MAP_FLOPS(BANDS_A, 10, PIXELS_A), .bytes = PIXELS_A * (3 * 2 * BANDS_A + 40)
/* All components are calculated twice, for their range and to be stretched to it. */
#define PCA_BYTES(bands_, pixels, size)                                                                                \
    .threads = THREADS, .open = open_pca, .bands = bands_, .to_bytes = 1,                                              \
    .flops = SYRK_FLOPS(bands_, pixels) + 2 * MAP_FLOPS(bands_, bands_, pixels), .bytes = (pixels)*bands_ * (3 * (size) + 1)
/* Moments, whitening, fourth moments of 55 products (tanh: sweeps), sources. */
#define ICA_10(contrast_, iterating)                                                                                   \
    .threads = THREADS, .open = open_ica, .bands = BANDS_A, .components = 10, .contrast = contrast_,                   \
    .flops = SYRK_FLOPS(BANDS_A, PIXELS_A) + MAP_FLOPS(BANDS_A, 10, PIXELS_A) + PIXELS_A * (200 + (iterating)),        \
    .bytes = PIXELS_A * (2 * 2 * BANDS_A + 40)
#define POW3_FLOPS (55.0 * 56)
#define TANH_FLOPS (ICA_ITERATIONS * 10.0 * (40 + 20)) /* 20 for a rational approximation of tanh */
#define PROJECTION .threads = THREADS, .open = open_projection, .bands = BANDS_A
#define GRASS                                                                                                          \
    PCA_BYTES(BANDS_B, PIXELS_B, 8), .type = SHS_TYPE_F64, .interleave = SHS_INTERLEAVE_BSQ,                           \
    SCRIPT("numpy float64 in blocks", "numpy_grass")

#define OPENBLAS(what, function) .peer = "OpenBLAS " what, .open_peer = function
#define SCRIPT(name, what) .peer = name, .open_peer = open_script, .script = what
#define PLAIN_O2(function) .build = "O2", .peer = "ours, -O3 -march=native", .open_peer = function
#define ONE_THREAD(function) .peer = "ours, one thread", .open_peer = function, .peer_threads = 1
#define SCALING(function) .threads = THREADS, ONE_THREAD(function)
#define NOT_RUN(name, value) .peer = name " (not run here)", .peer_value = value

static const bench_case cases[] = {
    {.name = "sgemm_1440", GEMM(1440), OPENBLAS("sgemm", open_openblas_gemm), .peer_value = 220},
    {.name = "small_sgemm_8", SMALL_GEMM(8, 8, 8)},
    {.name = "small_sgemm_16", SMALL_GEMM(16, 16, 16)},
    {.name = "small_sgemm_33", SMALL_GEMM(33, 33, 33)},
    {.name = "small_sgemm_64", SMALL_GEMM(64, 64, 64)},
    {.name = "small_sgemm_100", SMALL_GEMM(100, 100, 100)},
    {.name = "small_sgemm_160", SMALL_GEMM(160, 160, 160)},
    {.name = "small_sgemm_256x256x8", SMALL_GEMM(256, 256, 8)},
    {.name = "small_sgemm_8x256x256", SMALL_GEMM(8, 256, 256)},
    {.name = "sgemm_512", GEMM(512), OPENBLAS("sgemm", open_openblas_gemm)},
    {.name = "sgemm_1440_O2", GEMM(1440), PLAIN_O2(open_gemm)},
    {.name = "dgemm_1440", GEMM(1440), .wide = 1, .build = "double", OPENBLAS("dgemm", open_openblas_gemm)},
    {.name = "ssyrk_224x262144", SYRK(224, 262144), OPENBLAS("ssyrk", open_openblas_syrk)},
    {.name = "covariance_u8", COVARIANCE(SHS_TYPE_U8, 1), ON_READY_FLOATS},
    {.name = "covariance_u8_O2", COVARIANCE(SHS_TYPE_U8, 1), PLAIN_O2(open_covariance)},
    {.name = "covariance_i16", COVARIANCE(SHS_TYPE_I16, 2), ON_READY_FLOATS},
    {.name = "covariance_f32", COVARIANCE(SHS_TYPE_F32, 4), ON_READY_FLOATS},
    {.name = "omp_64x256_s6", OMP(64, 256, 6, 200000), NOT_RUN("SPAMS f32", 554000)},
    {.name = "omp_64x256_s6_O2", OMP(64, 256, 6, 200000), PLAIN_O2(open_omp)},
    {.name = "omp_256x1024_s32", OMP(256, 1024, 32, 10000), NOT_RUN("SPAMS f32", 20400)},
    {.name = "omp_64x128_s16", OMP(64, 128, 16, 100000), NOT_RUN("seed paper, 8800 GTX", 45016)},
    {.name = "omp_64x512_s8", OMP(64, 512, 8, 100000)},
    {.name = "ols_64x256_s6", OMP_BY(open_ols, 64, 256, 6, 50000), SCRIPT("SPAMS f32", "spams_omp")},
    {.name = "masked_64x256_s6", OMP_BY(open_masked, 64, 256, 6, 20000), SCRIPT("SPAMS f32", "spams_mask")},
    {.name = "lasso_64x256", .figure = SIGNALS, .open = open_lasso, .p = 64, .n = 256, .s = 64, .m = 20000, .peer_value = 16800,
     SCRIPT("SPAMS f32", "spams_lasso")},
    {.name = "aksvd_64x256_s6_8192", KSVD(64, 256, 6, 8192, 1), NOT_RUN("pyksvd f32", 0.022)},
    {.name = "paksvd64_64x256_s6_8192", KSVD(64, 256, 6, 8192, 64), NOT_RUN("pyksvd f32, AK-SVD", 0.022)},
    {.name = "eigh_224", EIGH(224), OPENBLAS("dsyevd", open_openblas_eigh)},
    {.name = "pca10_i16", PCA_10, SCRIPT("numpy float32 in blocks", "numpy_pca"), .peer_value = 0.124},
    {.name = "pca10_i16_O2", PCA_10, PLAIN_O2(open_pca)},
    {.name = "pca10_i16_f64", PCA_10, .wide = 1, SCRIPT("numpy float64 in blocks", "numpy_pca64")},
    {.name = "rx_i16", RX, SCRIPT("numpy float64 in blocks", "numpy_rx")},
    {.name = "rx_i16_O2", RX, PLAIN_O2(open_rx)},
    {.name = "mnf10_i16", MNF_10},
    {.name = "pca205_bytes", PCA_BYTES(BANDS_A, PIXELS_A, 2), NOT_RUN("GRASS i.pca", 34.2)},
    {.name = "grass_pca224_f64", GRASS, .wide = 1, .build = "double"},
    {.name = "grass_pca224_f64_in_float", GRASS},
    {.name = "ica10_pow3", ICA_10(SHS_CONTRAST_POW3, POW3_FLOPS), SCRIPT("MDP", "mdp_pow3"), .peer_value = 0.87},
    {.name = "ica10_tanh", ICA_10(SHS_CONTRAST_TANH, TANH_FLOPS), SCRIPT("scikit-learn", "sklearn_tanh")},
    {.name = "ica10_tanh_O2", ICA_10(SHS_CONTRAST_TANH, TANH_FLOPS), PLAIN_O2(open_ica)},
    /* One thread against THREADS. */
    {.name = "scaling_sgemm_1440", GEMM(1440), SCALING(open_gemm)},
    {.name = "scaling_ssyrk_224x262144", SYRK(224, 262144), SCALING(open_syrk)},
    {.name = "scaling_eigh_224", EIGH(224), SCALING(open_eigh)},
    {.name = "scaling_eigh_512", EIGH(512), SCALING(open_eigh)},
    {.name = "scaling_omp_64x256_s6", OMP(64, 256, 6, 200000), SCALING(open_omp)},
    {.name = "scaling_aksvd_64x256_s6_8192", KSVD(64, 256, 6, 8192, 1), SCALING(open_ksvd)},
    {.name = "scaling_aksvd_64x256_s6_65536", KSVD(64, 256, 6, 65536, 1), SCALING(open_ksvd)},
    {.name = "scaling_paksvd64_64x256_s6_8192", KSVD(64, 256, 6, 8192, 64), SCALING(open_ksvd)},
    {.name = "scaling_paksvd64_64x256_s6_65536", KSVD(64, 256, 6, 65536, 64), SCALING(open_ksvd)},
    {.name = "busy_aksvd_64x256_s6_20000", .threads = THREADS, .open = open_busy_ksvd, .p = 64, .n = 256, .s = 6, .m = 20000,
     .group = 1, ONE_THREAD(open_busy_ksvd)},
    {.name = "scaling_patches_512", PATCHES(256, 512), SCALING(open_patches)},
    {.name = "scaling_covariance_i16", .open = open_covariance, .bands = BANDS_A, .flops = SYRK_FLOPS(BANDS_A, PIXELS_A),
     .bytes = PIXELS_A * 2 * BANDS_A, SCALING(open_covariance)},
    {.name = "scaling_projection_10", PROJECTION, .components = 10, .flops = MAP_FLOPS(BANDS_A, 10, PIXELS_A),
     .bytes = PIXELS_A * (2 * BANDS_A + 40), ONE_THREAD(open_projection)},
    {.name = "scaling_projection_205_bytes", PROJECTION, .to_bytes = 1, .flops = 2 * MAP_FLOPS(BANDS_A, BANDS_A, PIXELS_A),
     .bytes = PIXELS_A * 5 * BANDS_A, ONE_THREAD(open_projection)},
    {.name = "scaling_pca10_i16", PCA_10, ONE_THREAD(open_pca)},
    {.name = "scaling_ica10_pow3", ICA_10(SHS_CONTRAST_POW3, POW3_FLOPS), ONE_THREAD(open_ica)},
    {.name = "scaling_ica10_tanh", ICA_10(SHS_CONTRAST_TANH, TANH_FLOPS), ONE_THREAD(open_ica)},
};

/* What must be reached; 0 = not asked for. The ratio is to the peer, the share that of the measured peak, the value in the
   unit of the case; machine: the ratio's share of what the bare machine scales by. The first whose name fits a case is its. */
typedef struct target {
    const char *name, *what;
    double ratio, share, value, machine;
} target;

static const target targets[] = {
    {"sgemm_1440", "85 % of peak and 1.03 x OpenBLAS", 1.03, 0.85, 0, 0},
    {"sgemm_512", "1.03 x OpenBLAS", 1.03, 0, 0, 0},
    {"small_sgemm_*", "as OpenBLAS", 1, 0, 0, 0},
    {"sgemm_1440_O2", "plain -O2: 95 % of -O3 -march=native", 0.95, 0, 0, 0},
    {"dgemm_1440", "85 % of peak", 0, 0.85, 0, 0},
    {"ssyrk_224x262144", "1.15 x OpenBLAS", 1.15, 0, 0, 0},
    {"covariance_u8", "3 x OpenBLAS ssyrk on ready floats", 3, 0, 0, 0},
    {"omp_64x256_s6", "1.5 M signals/s and 2.5 x SPAMS", 2.5, 0, 1.5e6, 0},
    {"ols_64x256_s6", "1.2 M signals/s and 3 x SPAMS", 3, 0, 1.2e6, 0},
    {"masked_64x256_s6", "3 x SPAMS", 3, 0, 0, 0},
    {"lasso_64x256", "3 x SPAMS", 3, 0, 0, 0},
    {"omp_256x1024_s32", "2 x SPAMS", 2, 0, 0, 0},
    {"omp_64x128_s16", "20 x the seed paper", 20, 0, 0, 0},
    {"aksvd_64x256_s6_8192", "3 x pyksvd", 3, 0, 0, 0},
    {"eigh_224", "at most 1.5 times dsyevd's time", 1 / 1.5, 0, 0, 0},
    {"pca10_i16", "3 x numpy in blocks", 3, 0, 0, 0},
    {"pca205_bytes", "150 x GRASS i.pca", 150, 0, 0, 0},
    {"grass_pca224_f64", "3 x numpy float64", 3, 0, 0, 0},
    {"ica10_pow3", "15 x MDP", 15, 0, 0, 0},
    {"ica10_tanh", "5 x scikit-learn", 5, 0, 0, 0},
#if THREADS == 16
    {"scaling_aksvd_*", "16 threads: 6 x one", 6, 0, 0, 0},
#endif
#if THREADS == 2
    {"scaling_*", "two threads: 1.8 x one", 1.8, 0, 0, 0},
#else
    {"scaling_*", THREADS_TEXT " threads: 0.9 of the bare machine", 0, 0, 0, 0.9},
#endif
    {"busy_*", "beside an endless loop: 1.15 x one's time", 1 / 1.15, 0, 0, 0},
};
/* clang-format on */

enum { CASES = sizeof cases / sizeof cases[0], TARGETS = sizeof targets / sizeof targets[0] };

/* ---- what works are made with ------------------------------------------------------------------------------------- */

double bench_now(const bench_work *w) {
    clockid_t which = CLOCK_PROCESS_CPUTIME_ID;
    struct timespec t;
    if (w->wall) which = CLOCK_MONOTONIC;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_ok(shs_status status) {
    if (status == SHS_OK) return;
    fprintf(stderr, "bench: %s\n", shs_status_text(status));
    exit(1);
}

void *bench_hold(bench_work *w, int slot, size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) bench_ok(SHS_NO_MEMORY);
    return w->held[slot] = memory;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

shs_context bench_context(const bench_work *w) {
    shs_context ctx = SHS_ZERO;
    ctx.threads = w->threads;
    return ctx;
}

static double call_once(bench_work *w) {
    shs_context ctx = bench_context(w);
    double start = bench_now(w);
    w->does(w, &ctx);
    return bench_now(w) - start;
}

int bench_does(bench_work *w, bench_fn does) {
    w->once = call_once;
    w->does = does;
    return 1;
}

static int one_thread; /* --one-thread */

/* How many of the threads that are asked for are used. */
static int allowed_threads(int threads) {
    if (threads > 1 && !one_thread) return threads;
    return 1;
}

static int threads_of(const bench_case *c) { return allowed_threads(c->threads); }

/* 0 where it cannot be done here. */
static int open_work(bench_work *w, const bench_case *c, open_fn open, int threads) {
    memset(w, 0, sizeof *w);
    w->c = c;
    w->threads = allowed_threads(threads);
    w->wall = threads_of(c) > 1;
    return open && open(w);
}

static void close_work(bench_work *w) {
    size_t k;
    bench_close_child(w);
    shs_pca_free(NULL, &w->pca);
    shs_codes_free(NULL, &w->codes);
    for (k = 0; k < sizeof w->held / sizeof w->held[0]; k++) free(w->held[k]);
}

/* One run: the mean of as many repetitions as it takes. What runs beside us repeats by itself. */
static double run_seconds(bench_work *w) {
    struct timespec pause = {0, PAUSE};
    double total = 0;
    int count = 0;
    do total += w->once(w), count++;
    while (total < AT_LEAST && !w->child);
    if (w->wall) nanosleep(&pause, NULL);
    return total / count;
}

/* ---- measuring and telling ---------------------------------------------------------------------------------------- */

typedef struct side {
    double seconds, low, high; /* the median and the spread; 0 = not measured */
} side;

typedef struct result {
    int done;
    side ours, peer;
    double value, peer_value, ratio, share;
    /* For comparisons of one thread with several: the speed-up of multiply-adds measured meanwhile, and the speed-up of the
       least work that the case has to compute or move; 0 = not measured. */
    double cores, machine;
    const char *bound;
} result;

static const char *const units[FIGURES] = {"s", "GFLOP/s", "signals/s"};

static double figure_of(const bench_case *c, double seconds) {
    if (seconds <= 0) return 0;
    if (c->figure == GFLOPS) return c->flops * 1e-9 / seconds;
    if (c->figure == SIGNALS) return c->m / seconds;
    return seconds;
}

static side side_of(double *seconds, int runs) {
    side s;
    s.seconds = bench_median(seconds, runs); /* it sorts */
    s.low = seconds[0];
    s.high = seconds[runs - 1];
    return s;
}

/* Computes our share of the peak: the seconds of the work at peak speed, divided by our seconds. */
static void judge_share(const bench_case *c, const bench_peaks *peaks, result *r) {
    const int many = threads_of(c) > 1;
    double compute = c->flops / peaks->flops[c->wide][many], move = c->bytes / peaks->bytes[many];
    if (compute >= move) r->bound = "flops";
    else r->bound = "bytes";
    r->share = fmax(compute, move) / r->ours.seconds;
}

/* What the bare machine gains from all threads in the case, when multiply-adds gain `cores`. */
static double machine_scaling(const bench_case *c, const bench_peaks *peaks, double cores) {
    const double one = c->flops / peaks->flops[c->wide][0], many = one / cores;
    if (one <= 0) return cores;
    return fmax(one, c->bytes / peaks->bytes[0]) / fmax(many, c->bytes / peaks->bytes[1]);
}

/* A turn: ours and the peer's. Where one thread and several are compared it is repeated, while there are spare ones, until the
   machine let all run all the while. */
static double take_turn(bench_work *ours, bench_work *peer, double enough, double *mine, double *theirs, int *spare) {
    int compared = ours->c->peer_threads && threads_of(ours->c) > 1;
    for (;;) {
        double before = 0, after;
        if (compared) before = bench_all_cores();
        *mine = run_seconds(ours);
        *theirs = 0;
        if (peer) *theirs = run_seconds(peer);
        if (!compared) return 0;
        after = bench_all_cores();
        if (after > before) after = before;
        if (after >= enough || (*spare)-- <= 0) return after;
    }
}

static result measure(const bench_case *c, const bench_peaks *peaks, int runs) {
    const double enough = bench_enough_cores(peaks);
    double seconds[2][RUNS], cores[RUNS];
    bench_work ours, peer, *with = NULL;
    open_fn open = c->open;
    const char *build = "";
    result r = SHS_ZERO;
    int peer_threads = c->threads, run, none = 0, spare = SPARE_TURNS;
    double mine, theirs;
    if (c->build) {
        open = open_build;
        build = c->build;
    }
    if (!open_work(&ours, c, open, c->threads)) {
        fprintf(stderr, "bench: %s needs build/bench-%s: make bench\n", c->name, build);
        return r;
    }
    if (c->peer_threads) peer_threads = c->peer_threads;
    if (open_work(&peer, c, c->open_peer, peer_threads)) with = &peer;
    take_turn(&ours, with, enough, &mine, &theirs, &none); /* to warm up */
    for (run = 0; run < runs; run++) cores[run] = take_turn(&ours, with, enough, &seconds[0][run], &seconds[1][run], &spare);
    close_work(&peer);
    close_work(&ours);
    r.done = 1;
    r.ours = side_of(seconds[0], runs);
    if (with) r.peer = side_of(seconds[1], runs);
    r.cores = bench_median(cores, runs);
    if (r.cores > 0) r.machine = machine_scaling(c, peaks, r.cores);
    r.value = figure_of(c, r.ours.seconds);
    r.peer_value = c->peer_value;
    if (with) r.peer_value = figure_of(c, r.peer.seconds);
    if (r.peer_value > 0) r.ratio = r.value / r.peer_value;
    if (r.peer_value > 0 && c->figure == SECONDS) r.ratio = r.peer_value / r.value;
    judge_share(c, peaks, &r);
    return r;
}

/* A figure with its spread, in few characters. */
static const char *spread(char *text, size_t size, const bench_case *c, double value, const side *s) {
    double a = figure_of(c, s->low), b = figure_of(c, s->high), scale = 1;
    const char *unit = units[c->figure];
    if (c->figure == SIGNALS) {
        scale = 1e-3;
        unit = "k/s";
    } else if (c->figure == SECONDS && value < 0.1) {
        scale = 1e3;
        unit = "ms";
    }
    if (value <= 0) snprintf(text, size, "-");
    else if (s->high <= s->low) snprintf(text, size, "%.4g %s", value * scale, unit);
    else snprintf(text, size, "%.4g (%.4g..%.4g) %s", value * scale, fmin(a, b) * scale, fmax(a, b) * scale, unit);
    return text;
}

/* Names the peer, and marks a known figure of a peer that did not run. */
static void peer_name(char *text, size_t size, const bench_case *c, const result *r) {
    const char *peer = "", *note = "";
    if (c->peer && r->peer_value > 0) peer = c->peer;
    if (c->open_peer && r->peer.seconds <= 0 && r->peer_value > 0) note = " (not run here)";
    snprintf(text, size, "%s%s", peer, note);
}

static void report(const bench_case *c, const result *r, FILE *csv, FILE *details) {
    char ours[64], peer[64], name[64];
    const char *bound = "";
    if (c->flops > 0) bound = r->bound;
    peer_name(name, sizeof name, c, r);
    if (*name)
        fprintf(csv, "%s,%.6g,%s,\"%s\",%.6g,%.3g\n", c->name, r->value, units[c->figure], name, r->peer_value, r->ratio);
    else fprintf(csv, "%s,%.6g,%s,,,\n", c->name, r->value, units[c->figure]);
    fprintf(details, "%s,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%s,%.3g,%.3g,%.3g\n", c->name, threads_of(c),
            r->ours.seconds, r->ours.low, r->ours.high, r->peer.seconds, r->peer.low, r->peer.high, c->flops, c->bytes,
            bound, r->share, r->cores, r->machine);
    printf("%-32s %-34s", c->name, spread(ours, sizeof ours, c, r->value, &r->ours));
    if (c->flops > 0) printf(" %4.0f %% %-6s", 100 * r->share, r->bound);
    else printf(" %13s", "");
    if (*name) printf("   x %-6.3g %s: %s", r->ratio, name, spread(peer, sizeof peer, c, r->peer_value, &r->peer));
    if (r->machine > 0) printf("; the bare machine x %.3g", r->machine);
    printf("\n");
    fflush(stdout);
}

static void report_peaks(const bench_peaks *p, FILE *csv) {
    static const int threads[] = {1, THREADS};
    static const char *const types[] = {"float", "double"}, *const type_names[] = {"f32", "f64"};
    int wide, many;
    printf("Peaks (vectors of %d bytes), on one thread and on " THREADS_TEXT ":\n", p->vector_bytes);
    for (wide = 0; wide < 2; wide++) {
        const double *flops = p->flops[wide];
        printf("    multiply-adds in %-7s %8.1f %8.1f GFLOP/s  x %.3g\n", types[wide], flops[0] * 1e-9, flops[1] * 1e-9,
               flops[1] / flops[0]);
        for (many = 0; many < 2; many++)
            fprintf(csv, "peak_fma_%s_%d,%.6g,GFLOP/s,,,\n", type_names[wide], threads[many], flops[many] * 1e-9);
    }
    printf("    read from memory         %8.1f %8.1f GB/s     x %.3g\n\n", p->bytes[0] * 1e-9, p->bytes[1] * 1e-9,
           p->bytes[1] / p->bytes[0]);
    for (many = 0; many < 2; many++) fprintf(csv, "peak_read_%d,%.6g,GB/s,,,\n", threads[many], p->bytes[many] * 1e-9);
    if (p->flops[0][1] < 0.9 * THREADS * p->flops[0][0] && !one_thread)
        printf(THREADS_TEXT " threads do not reach nearly " THREADS_TEXT " times as much as one: the machine is busy, or some "
               "share a core. What is measured\nwith several threads says little then; see --one-thread, where it is the "
               "processor's time that counts.\n\n");
    fflush(stdout);
}

/* Met where everything that is asked for is. A ratio to a figure that is not known here is not met. */
static void report_target(const target *t, const bench_case *c, const result *r, double enough_cores) {
    int met = r->ratio >= t->ratio && r->share >= t->share;
    char got[96];
    int at = 0;
    if (t->value > 0 && c->figure == SECONDS) met &= r->value <= t->value;
    else if (t->value > 0) met &= r->value >= t->value;
    if (t->machine > 0) met &= r->ratio >= t->machine * r->machine;
    got[0] = 0;
    if (t->ratio > 0 || t->machine > 0) at += snprintf(got, sizeof got, "x %.3g  ", r->ratio);
    if (t->machine > 0 || (r->cores > 0 && r->cores < enough_cores))
        at += snprintf(got + at, sizeof got - (size_t)at, "(machine x %.3g)  ", r->machine);
    if (t->share > 0) at += snprintf(got + at, sizeof got - (size_t)at, "%.0f %% of peak  ", 100 * r->share);
    if (t->value > 0) snprintf(got + at, sizeof got - (size_t)at, "%.4g %s", r->value, units[c->figure]);
    printf("    %-32s %-38s %-28s %s\n", c->name, t->what, got, met ? "met" : "MISSED");
}

static const target *target_of(const bench_case *c) {
    int t;
    for (t = 0; t < TARGETS; t++)
        if (!fnmatch(targets[t].name, c->name, 0)) return targets + t;
    return NULL;
}

static void report_targets(const result *results, double enough_cores) {
    const char *note = "";
    int k, any = 0;
    if (THREADS != 2) note = " (set for two threads in cubes; here they took " THREADS_TEXT ")";
    if (one_thread) note = " (set for two threads in cubes; here all ran on one)";
    for (k = 0; k < CASES; k++) {
        const target *t = target_of(cases + k);
        if (!t || !results[k].done) continue;
        if (!any++) printf("\nTargets%s:\n", note);
        report_target(t, cases + k, results + k, enough_cores);
    }
}

/* Prints the speed-ups over one thread as a short table, without spreads. */
static void report_scaling(const result *results, const bench_peaks *p) {
    static const side alone = SHS_ZERO;
    char one[64], many[64];
    int k, any = 0;
    for (k = 0; k < CASES; k++) {
        const bench_case *c = cases + k;
        const result *r = results + k;
        if (!r->done || r->machine <= 0) continue;
        if (!any++) {
            printf("\n| | 1 thread | " THREADS_TEXT " threads | times | the bare machine | of it |\n");
            printf("|---|---|---|---|---|---|\n");
            printf("| bare multiply-adds | %.4g GFLOP/s | %.4g GFLOP/s | %.3g | | |\n", p->flops[0][0] * 1e-9,
                   p->flops[0][1] * 1e-9, p->flops[0][1] / p->flops[0][0]);
            printf("| bare reads | %.4g GB/s | %.4g GB/s | %.3g | | |\n", p->bytes[0] * 1e-9, p->bytes[1] * 1e-9,
                   p->bytes[1] / p->bytes[0]);
        }
        spread(one, sizeof one, c, r->peer_value, &alone);
        spread(many, sizeof many, c, r->value, &alone);
        printf("| %s | %s | %s | %.3g | %.3g | %.0f %% |\n", c->name, one, many, r->ratio, r->machine,
               100 * r->ratio / r->machine);
    }
}

/* ---- the program -------------------------------------------------------------------------------------------------- */

static char **patterns;
static int pattern_count;

static int find_case(const char *name) {
    int k;
    for (k = 0; k < CASES && strcmp(cases[k].name, name); k++) {}
    return k;
}

static int wanted(const char *name) {
    char glob[128];
    int k;
    for (k = 0; k < pattern_count; k++) {
        const char *around = "*";
        if (find_case(patterns[k]) < CASES) around = ""; /* a whole name stands for that case alone */
        snprintf(glob, sizeof glob, "%s%s%s", around, patterns[k], around);
        if (fnmatch(glob, name, 0) == 0) return 1;
    }
    return pattern_count == 0;
}

/* As open_build of the program beside us asks for it. */
static int serve(const char *name) {
    bench_work w;
    int k = find_case(name);
    if (k == CASES || !open_work(&w, cases + k, cases[k].open, cases[k].threads)) return 1;
    bench_serve(&w, run_seconds);
    close_work(&w);
    return 0;
}

static int list(void) {
    int k;
    for (k = 0; k < CASES; k++) printf("%s\n", cases[k].name);
    return 0;
}

static FILE *open_csv(const char *file, const char *columns) {
    FILE *f = fopen(file, "w");
    if (!f) {
        fprintf(stderr, "bench: cannot write %s\n", file);
        exit(1);
    }
    fprintf(f, "%s\n", columns);
    return f;
}

static int run_all(int runs) {
    static result results[CASES];
    FILE *csv = open_csv("build/bench.csv", "case,value,unit,peer,peer_value,ratio");
    FILE *details = open_csv("build/bench_details.csv", "case,threads,seconds,low,high,peer_seconds,peer_low,peer_high,"
                                                        "flops,bytes,bound,share,machine_cores,machine_scaling");
    bench_peaks peaks = bench_measure_peaks();
    int k;
    report_peaks(&peaks, csv);
    printf("%-32s %-34s %-13s   %s\n", "case", "ours (lowest..highest)", "share of peak", "ratio, peer");
    for (k = 0; k < CASES; k++) {
        if (!wanted(cases[k].name) || (one_thread && cases[k].peer_threads)) continue;
        results[k] = measure(cases + k, &peaks, runs);
        if (results[k].done) report(cases + k, results + k, csv, details);
    }
    bench_stages(wanted, runs, allowed_threads(THREADS), &peaks);
    report_targets(results, bench_enough_cores(&peaks));
    report_scaling(results, &peaks);
    k = fclose(csv) != 0;
    return fclose(details) != 0 || k;
}

int main(int argc, char **argv) {
    const char *served = NULL;
    int runs = RUNS, k;
    signal(SIGPIPE, SIG_IGN);               /* a peer may end early */
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* within this program; the Python peers set their own */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    /* Of processors with AVX-512 whose maker it does not know it takes kernels of half the speed. */
    if (__builtin_cpu_supports("avx512f")) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
    for (k = 1; k < argc && argv[k][0] == '-'; k++) {
        if (!strcmp(argv[k], "--quick")) runs = 1;
        else if (!strcmp(argv[k], "--one-thread")) one_thread = 1;
        else if (!strcmp(argv[k], "--list")) return list();
        else if (!strcmp(argv[k], "--serve") && k + 1 < argc) served = argv[++k];
        else {
            fprintf(stderr, "bench [--quick] [--one-thread] [--list] [PATTERN...]\n");
            return 2;
        }
    }
    if (served) return serve(served);
    patterns = argv + k;
    pattern_count = argc - k;
    return run_all(runs);
}
