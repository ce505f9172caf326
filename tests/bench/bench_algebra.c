/* bench_algebra.c - matrix products and eigenvectors, ours and OpenBLAS's on one thread. */
#include "bench.h"
#include <dlfcn.h>

/* Uniform deviates: shs_real, or what the peer takes. */
static void fill(void *x, size_t count, int wide, uint64_t seed) {
    double *doubles = x;
    float *floats = x;
    shs_random r;
    size_t i;
    shs_random_seed(&r, seed);
    for (i = 0; i < count; i++) {
        double value = (double)shs_random_uniform(&r) - 0.5;
        if (wide) doubles[i] = value;
        else floats[i] = (float)value;
    }
}

static void *hold_filled(bench_work *w, int slot, size_t count, int wide) {
    size_t size = sizeof(float);
    void *x;
    if (wide) size = sizeof(double);
    x = bench_hold(w, slot, count * size);
    fill(x, count, wide, (uint64_t)slot + 1);
    return x;
}

static int real_is_wide(void) { return sizeof(shs_real) == sizeof(double); }

/* ---- ours -------------------------------------------------------------------------------------------------------- */

/* C is m x n, the depth k: n where a case does not say. Small ones are repeated before the clock is read. */
static int said_or(int said, int otherwise) {
    if (said) return said;
    return otherwise;
}
static int rows_of(const bench_case *c) { return said_or(c->m, c->n); }
static int depth_of(const bench_case *c) { return said_or(c->p, c->n); }
static int times_of(const bench_case *c) { return said_or(c->s, 1); }

static double gemm_once(bench_work *w) {
    shs_context ctx = bench_context(w);
    shs_real *A = bench_reals(w, 0), *B = bench_reals(w, 1), *C = bench_reals(w, 2);
    int m = rows_of(w->c), n = w->c->n, k = depth_of(w->c), times = times_of(w->c);
    double start = bench_now(w);
    while (times-- > 0) bench_ok(shs_gemm(&ctx, SHS_TRANS_NO, SHS_TRANS_NO, m, n, k, 1, A, m, B, k, 0, C, m));
    return bench_now(w) - start;
}

static void hold_gemm(bench_work *w, int wide) {
    const size_t m = (size_t)rows_of(w->c), n = (size_t)w->c->n, k = (size_t)depth_of(w->c);
    hold_filled(w, 0, m * k, wide);
    hold_filled(w, 1, k * n, wide);
    hold_filled(w, 2, m * n, wide);
}

int open_gemm(bench_work *w) {
    hold_gemm(w, real_is_wide());
    w->once = gemm_once;
    return 1;
}

static double syrk_once(bench_work *w) {
    shs_context ctx = bench_context(w);
    shs_real *A = bench_reals(w, 0), *C = bench_reals(w, 1);
    int n = w->c->n, m = w->c->m;
    double start = bench_now(w);
    bench_ok(shs_syrk(&ctx, SHS_UPLO_LOWER, SHS_TRANS_NO, n, m, 1, A, n, 0, C, n));
    return bench_now(w) - start;
}

static void hold_syrk(bench_work *w, int wide) {
    const size_t n = (size_t)w->c->n, m = (size_t)w->c->m;
    hold_filled(w, 0, n * m, wide);
    hold_filled(w, 1, n * n, wide);
}

int open_syrk(bench_work *w) {
    hold_syrk(w, real_is_wide());
    w->once = syrk_once;
    return 1;
}

static double eigh_once(bench_work *w) {
    shs_context ctx = bench_context(w);
    const shs_wide *A = w->held[0];
    shs_wide *values = w->held[1], *vectors = w->held[2];
    int n = w->c->n;
    double start = bench_now(w);
    bench_ok(shs_eigh(&ctx, n, A, n, n, values, vectors, n));
    return bench_now(w) - start;
}

/* The covariance of a scene, its values, its vectors. */
static void hold_eigh(bench_work *w) {
    size_t n = (size_t)w->c->n;
    bench_covariance(w->c->n, bench_hold(w, 0, n * n * sizeof(shs_wide)));
    bench_hold(w, 1, n * sizeof(shs_wide));
    bench_hold(w, 2, n * n * sizeof(shs_wide));
}

int open_eigh(bench_work *w) {
    hold_eigh(w);
    w->once = eigh_once;
    return 1;
}

/* ---- OpenBLAS ---------------------------------------------------------------------------------------------------- */

enum { COLUMN_MAJOR = 102, NO_TRANS = 111, LOWER = 122 }; /* of cblas.h, which need not be here */

typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *A, int lda, const float *B,
                         int ldb, float beta, float *C, int ldc);
typedef void (*dgemm_fn)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *A, int lda,
                         const double *B, int ldb, double beta, double *C, int ldc);
typedef void (*ssyrk_fn)(int order, int uplo, int trans, int n, int k, float alpha, const float *A, int lda, float beta,
                         float *C, int ldc);
typedef void (*dsyevd_fn)(const char *jobz, const char *uplo, const int *n, double *A, const int *lda, double *values,
                          double *room, const int *room_values, int *integers, const int *integer_count, int *info,
                          size_t jobz_length, size_t uplo_length);

static struct {
    sgemm_fn sgemm;
    dgemm_fn dgemm;
    ssyrk_fn ssyrk;
    dsyevd_fn dsyevd;
} openblas;

/* ISO C has no conversion from dlsym's object pointer to a function pointer. */
static int find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int find_openblas(void) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"};
    static int known, here;
    void *library = NULL;
    size_t k;
    if (known) return here;
    known = 1;
    for (k = 0; k < sizeof names / sizeof names[0] && !library; k++) library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    here = library && find(library, "cblas_sgemm", &openblas.sgemm) && find(library, "cblas_dgemm", &openblas.dgemm) &&
           find(library, "cblas_ssyrk", &openblas.ssyrk) && find(library, "dsyevd_", &openblas.dsyevd);
    return here;
}

static double openblas_gemm_once(bench_work *w) {
    int m = rows_of(w->c), n = w->c->n, k = depth_of(w->c), times = times_of(w->c);
    void *A = w->held[0], *B = w->held[1], *C = w->held[2];
    double start = bench_now(w);
    while (times-- > 0) {
        if (w->c->wide) openblas.dgemm(COLUMN_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, A, m, B, k, 0, C, m);
        else openblas.sgemm(COLUMN_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, A, m, B, k, 0, C, m);
    }
    return bench_now(w) - start;
}

int open_openblas_gemm(bench_work *w) {
    if (!find_openblas()) return 0;
    hold_gemm(w, w->c->wide);
    w->once = openblas_gemm_once;
    return 1;
}

static double openblas_syrk_once(bench_work *w) {
    int n = w->c->n;
    double start = bench_now(w);
    openblas.ssyrk(COLUMN_MAJOR, LOWER, NO_TRANS, n, w->c->m, 1, w->held[0], n, 0, w->held[1], n);
    return bench_now(w) - start;
}

int open_openblas_syrk(bench_work *w) {
    if (!find_openblas()) return 0;
    hold_syrk(w, 0);
    w->once = openblas_syrk_once;
    return 1;
}

/* dsyevd overwrites its matrix: it is put back outside of the time. */
static double openblas_eigh_once(bench_work *w) {
    const size_t size = (size_t)w->c->n;
    int n = w->c->n, info = 0, room_values = 1 + 6 * n + 2 * n * n, integers = 3 + 5 * n;
    void *values = w->held[1], *A = w->held[2], *room = w->held[3];
    double start;
    memcpy(A, w->held[0], size * size * sizeof(double));
    start = bench_now(w);
    openblas.dsyevd("V", "L", &n, A, &n, values, room, &room_values, w->held[4], &integers, &info, 1, 1);
    start = bench_now(w) - start;
    if (info != 0) bench_ok(SHS_NO_CONVERGENCE);
    return start;
}

int open_openblas_eigh(bench_work *w) {
    size_t n = (size_t)w->c->n;
    if (!find_openblas()) return 0;
    hold_eigh(w);
    bench_hold(w, 3, (1 + 6 * n + 2 * n * n) * sizeof(double));
    bench_hold(w, 4, (3 + 5 * n) * sizeof(int));
    w->once = openblas_eigh_once;
    return 1;
}
