/* sparsehs.h - v0.1.0 - sparse coding and hyperspectral analysis in one portable C99 header.
   MIT or public domain, as you choose: the licence is at the very end.

   Do this:
       #define SPARSEHS_IMPLEMENTATION
       #include "sparsehs.h"
   in exactly ONE C or C++ file; everywhere else include it without the define. Link with -lm. Nothing else is needed:
   no BLAS, no build system, and, with an arena, no heap.

   TABLE OF CONTENTS
       1  configuration            5  symmetric eigenproblem
       2  context                  6  sparse coding            (Batch-OMP)
       3  random numbers           7  dictionary learning      (AK-SVD, PAK-SVD)
       4  dense linear algebra     8  patches                  (images in and out)
   The public API comes first, then the implementation in the same order under the same banners, lowest layer first.

   CONVENTIONS
   - Matrices are column-major with a leading dimension, as in BLAS: a signal, an atom is one contiguous column.
     p = length of a signal, n = number of atoms, m = number of signals, s = atoms a signal (the sparsity).
   - shs_real is float, or double with SPARSEHS_DOUBLE. Sums over many signals are shs_wide (double).
   - Options are plain structs: all zero means sensible defaults; shs_*_defaults() shows what zero becomes. Start from
     `shs_omp_options o = SHS_ZERO;`.
   - Every function that can fail returns shs_status, and shs_status_text() explains it. On failure the outputs are
     untouched unless the function says otherwise, nothing leaks, and your input is never modified.
   - Three levels: one call with defaults; the same call with an options struct (..._ex); your own memory: every call
     takes its scratch memory from the context in ONE block, whose size shs_..._workspace() computes. Hand the library
     an arena over a static buffer of that size and it never touches the heap.
   - A NULL context means: malloc and free, all processors when compiled with OpenMP, no progress, one rank, the CPU.

   OPTIONS (define before including; "all" = the same in every file, "impl" = only beside SPARSEHS_IMPLEMENTATION)
       SPARSEHS_IMPLEMENTATION   impl  compile the implementation here
       SPARSEHS_STATIC           impl  all functions static: a private copy in this file (define it in every such file)
       SPARSEHS_DOUBLE           all   shs_real is double; the link names get the suffix _f64, so that a mismatch between
                                       files does not link and both precisions can live in one program
       SPARSEHS_NO_DOUBLE        all   no double anywhere: shs_wide is float and long sums are compensated; suffix _f32
       SPARSEHS_NO_STDLIB        impl  no <stdlib.h>: no default allocator, so the context must bring one (or an arena)
       SPARSEHS_MALLOC(n), SPARSEHS_FREE(p)   impl  replace the default allocator (define both)
       SPARSEHS_NO_MATH          impl  no <math.h>: then define SPARSEHS_SQRT, _SQRTF, _COS, _COSF, _LOG, _LOGF yourself
       SPARSEHS_NO_OPENMP        impl  do not use OpenMP although the compiler offers it
       SPARSEHS_NO_SIMD          impl  plain C only: no compiler vector extensions

   DETERMINISM
   Work is cut into chunks that depend on the sizes only, and partial sums are added in the order of the chunks: one
   binary gives bit-identical results for every number of threads and every run with the same seed. Across compilers,
   flags and processors results agree to rounding: -mfma, vector width and -ffast-math change the last bits, and where
   two atoms fit a signal equally well to rounding, either may be chosen. Under -ffast-math NaN and infinity in the
   input are still found (they are tested on their bits), but SPARSEHS_NO_DOUBLE loses its compensated sums.
*/
#ifndef SPARSEHS_H
#define SPARSEHS_H

#include <stddef.h>
#include <stdint.h>

/* ================================================================================================================== */
/* 1  CONFIGURATION                                                                                                   */
/* ================================================================================================================== */

#define SPARSEHS_VERSION_MAJOR 0
#define SPARSEHS_VERSION_MINOR 1
#define SPARSEHS_VERSION_PATCH 0

#if defined(SPARSEHS_DOUBLE) && defined(SPARSEHS_NO_DOUBLE)
#error "sparsehs: SPARSEHS_DOUBLE and SPARSEHS_NO_DOUBLE exclude each other"
#endif

#ifdef SPARSEHS_DOUBLE
typedef double shs_real;
#else
typedef float shs_real;
#endif
#ifdef SPARSEHS_NO_DOUBLE
typedef float shs_wide;
#else
typedef double shs_wide;
#endif

/* Whatever mentions shs_real or shs_wide has a link name of its own for each precision. */
#if defined(SPARSEHS_DOUBLE) || defined(SPARSEHS_NO_DOUBLE)
#ifdef SPARSEHS_DOUBLE
#define SHS__LINK(name) shs_##name##_f64
#else
#define SHS__LINK(name) shs_##name##_f32
#endif
/*@LINKNAMES@*/
#endif

#ifdef SPARSEHS_STATIC
#if defined(__GNUC__) || defined(__clang__)
#define SHS_API __attribute__((unused)) static
#else
#define SHS_API static
#endif
#else
#define SHS_API extern
#endif

/* The initialiser that neither C nor C++ warns about. */
#ifdef __cplusplus
#define SHS_ZERO {}
#else
#define SHS_ZERO {0}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================================================================================== */
/* 2  CONTEXT: status, memory, threads, progress, ranks, engine                                                       */
/* ================================================================================================================== */

/* One list gives the enumeration and the texts. A code names the argument at fault. */
#define SHS_STATUS_LIST(X)                                                                                             \
    X(SHS_OK, "success")                                                                                               \
    X(SHS_CANCELLED, "cancelled by the progress callback; the best result so far is valid")                            \
    X(SHS_NO_MEMORY, "memory: the allocator returned NULL, the arena is full, or there is no allocator")               \
    X(SHS_TOO_LARGE, "size: a product of the dimensions does not fit size_t")                                          \
    X(SHS_UNSUPPORTED, "engine: it cannot do this stage")                                                              \
    X(SHS_ENGINE_FAILED, "engine: the device or its driver reported an error")                                         \
    X(SHS_REDUCE_FAILED, "reduce_fn: it returned non-zero")                                                            \
    X(SHS_PEER_FAILED, "another rank failed, so this one stopped too")                                                 \
    X(SHS_BAD_CONTEXT, "context: callbacks that go together are not both set, or rank, ranks or threads is off")       \
    X(SHS_BAD_OPTIONS, "options: NULL, or an enumeration out of its range")                                            \
    X(SHS_BAD_WORKSPACE, "workspace: NULL or smaller than the workspace query says")                                   \
    X(SHS_BAD_M, "m: negative, or zero where something is needed")                                                     \
    X(SHS_BAD_N, "n: negative, or zero where something is needed")                                                     \
    X(SHS_BAD_K, "k: negative, or more than there are")                                                                \
    X(SHS_BAD_P, "p: the length of a signal must be positive")                                                         \
    X(SHS_BAD_A, "A: NULL")                                                                                            \
    X(SHS_BAD_B, "B: NULL")                                                                                            \
    X(SHS_BAD_C, "C: NULL")                                                                                            \
    X(SHS_BAD_X, "x: NULL")                                                                                            \
    X(SHS_BAD_Y, "y: NULL")                                                                                            \
    X(SHS_BAD_LDA, "lda: smaller than the number of rows of A")                                                        \
    X(SHS_BAD_LDB, "ldb: smaller than the number of rows of B")                                                        \
    X(SHS_BAD_LDC, "ldc: smaller than the number of rows of C")                                                        \
    X(SHS_BAD_INCX, "incx: zero")                                                                                      \
    X(SHS_BAD_INCY, "incy: zero")                                                                                      \
    X(SHS_BAD_ENUM, "trans, uplo, side or diag: not a value of its enumeration")                                       \
    X(SHS_NOT_FINITE, "A: it holds NaN or infinity")                                                                   \
    X(SHS_SINGULAR, "A: a diagonal element is zero")                                                                   \
    X(SHS_NOT_POSITIVE_DEFINITE, "A: not positive definite")                                                           \
    X(SHS_NO_CONVERGENCE, "the iteration did not converge")                                                            \
    X(SHS_BAD_DICTIONARY, "dictionary: NULL")                                                                          \
    X(SHS_BAD_LDD, "ldd: smaller than p")                                                                              \
    X(SHS_DICTIONARY_NOT_FINITE, "dictionary: it holds NaN or infinity")                                               \
    X(SHS_BAD_SIGNALS, "signals: NULL")                                                                                \
    X(SHS_BAD_LDY, "ldy: smaller than p")                                                                              \
    X(SHS_SIGNALS_NOT_FINITE, "signals: one holds NaN or infinity")                                                    \
    X(SHS_BAD_GRAM, "gram: NULL where it is needed, its leading dimension is smaller than n, or not finite")           \
    X(SHS_BAD_CORRELATIONS, "dty: NULL, its leading dimension is smaller than n, or not finite")                       \
    X(SHS_BAD_NORMS, "norms2: NULL where a tolerance needs it, negative, or not finite")                               \
    X(SHS_BAD_SPARSITY, "sparsity: negative")                                                                          \
    X(SHS_BAD_TOLERANCE, "tolerance: negative or not finite")                                                          \
    X(SHS_TOLERANCE_TOO_SMALL, "tolerance: below what the Gram matrix alone can decide in this precision")             \
    X(SHS_BAD_CODES, "codes: NULL, an array in it is NULL, or it is too small for the signals or the sparsity")        \
    X(SHS_BAD_OUTPUT, "output: NULL")                                                                                  \
    X(SHS_BAD_ITERATIONS, "iterations: negative")                                                                      \
    X(SHS_BAD_PARALLEL_ATOMS, "parallel_atoms: negative")                                                              \
    X(SHS_BAD_ROUNDS, "rounds: negative")                                                                              \
    X(SHS_BAD_SCHEDULE, "schedule: steps must begin at iteration 0 or later, ascend, and hold positive values")        \
    X(SHS_BAD_START, "start: the signals or the patch shape do not allow this start")                                  \
    X(SHS_BAD_IMAGE, "image: NULL pixels, a size that is not positive, a row stride too small, or an unknown type")    \
    X(SHS_IMAGE_NOT_FINITE, "image: it holds NaN or infinity")                                                         \
    X(SHS_BAD_PATCHES, "patches: larger than the image, a negative size or step, or a range outside the set")

typedef enum shs_status {
#define SHS__ENUM(code, text) code,
    SHS_STATUS_LIST(SHS__ENUM)
#undef SHS__ENUM
    SHS_STATUS_COUNT
} shs_status;

/* The text of a status, "argument: what is wrong with it"; never NULL. */
SHS_API const char *shs_status_text(shs_status status);
/* Its name, "SHS_BAD_LDA"; never NULL. */
SHS_API const char *shs_status_name(shs_status status);

/* One chunk of a parallel loop. worker is in [0, threads) and no two chunks run on one worker at the same time. */
typedef void (*shs_chunk_fn)(void *arg, size_t chunk, int worker);

typedef enum shs_reduce_op { SHS_REDUCE_SUM = 0, SHS_REDUCE_MIN, SHS_REDUCE_MAX } shs_reduce_op;

struct shs_engine;

/* The outside world, as callbacks with a user pointer. NULL or all zero is fine everywhere. The struct is only read;
   several threads may share one as long as its callbacks allow it. */
typedef struct shs_context {
    /* Memory: malloc and free when both are NULL. Set both or neither. Blocks need malloc's alignment only. */
    void *(*alloc_fn)(void *user, size_t size);
    void (*free_fn)(void *user, void *block);
    void *alloc_user;

    /* Threads: runs body(arg, i, worker) for i in [0, chunks), in any order, on at most `threads` workers at a time, and
       returns when all are done. NULL: OpenMP when compiled with it, else one after another. threads: the number of
       workers; 0 = all that OpenMP offers (1 with a callback). Results do not depend on it. */
    void (*parallel_fn)(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg);
    void *parallel_user;
    int threads;

    /* Progress: called between steps from the calling thread; error is the algorithm's current error, or -1 where it has
       none yet. A non-zero return cancels cleanly: SHS_CANCELLED, and the best result so far is valid. */
    int (*progress_fn)(void *user, const char *phase, size_t step, size_t steps, shs_wide error);
    void *progress_user;

    /* Ranks: combines count values of all ranks element by element, in place, so that every rank sees the same result
       (MPI_Allreduce). With it each rank passes its own signals or pixels and every rank gets the same dictionary.
       All ranks make the same calls in the same order; one that fails says so through reduce_fn, so that all return.
       NULL: a single rank. Non-zero return: SHS_REDUCE_FAILED. */
    int (*reduce_fn)(void *user, shs_wide *values, size_t count, shs_reduce_op op);
    void *reduce_user;
    int rank, ranks;

    /* Where the stages run; NULL: here, on the CPU. */
    const struct shs_engine *engine;
} shs_context;

/* A bump allocator over the caller's buffer: no heap at all. Blocks are given back in the reverse order of their
   allocation, which is how this library uses them; `peak` is the most that was ever in use. */
typedef struct shs_arena {
    unsigned char *memory;
    size_t size, used, peak;
} shs_arena;

SHS_API void shs_arena_init(shs_arena *arena, void *memory, size_t size);
/* Makes ctx allocate from the arena (ctx's other members stay as they are). */
SHS_API void shs_arena_attach(shs_arena *arena, shs_context *ctx);

/* The value types that images and cubes come in. */
typedef enum shs_type { SHS_REAL = 0, SHS_U8, SHS_I16, SHS_U16, SHS_I32, SHS_F32, SHS_F64, SHS_TYPE_COUNT } shs_type;
/* Bytes of one value; 0 for an unknown type. */
SHS_API size_t shs_type_size(shs_type type);

/* ================================================================================================================== */
/* 3  RANDOM NUMBERS                                                                                                  */
/* ================================================================================================================== */

/* A small seeded generator (SplitMix64: a Weyl sequence through a mixing function; period 2^64). The same seed gives the
   same integers everywhere. Not for cryptography. */
typedef struct shs_random {
    uint64_t state;
} shs_random;

SHS_API void shs_random_seed(shs_random *r, uint64_t seed);
SHS_API uint64_t shs_random_bits(shs_random *r);
/* Uniform in [0, 1). */
SHS_API shs_wide shs_random_uniform(shs_random *r);
/* Uniform in {0 .. count-1} without bias; 0 for count 0. */
SHS_API uint64_t shs_random_below(shs_random *r, uint64_t count);
/* Standard normal (polar method). */
SHS_API shs_wide shs_random_normal(shs_random *r);
/* The i-th element of a seeded random permutation of {0 .. count-1}, in constant time and memory: sampling without
   replacement. i < count. */
SHS_API uint64_t shs_random_permuted(uint64_t i, uint64_t count, uint64_t seed);

/* ================================================================================================================== */
/* 4  DENSE LINEAR ALGEBRA                                                                                            */
/* ================================================================================================================== */

/* BLAS's meaning of every argument. beta = 0 never reads C or y: they may be uninitialised. Zero sizes are quick returns.
   The naive twin of a routine (shs_*_naive) computes the same in a few lines: the reference in the tests and the text in a
   course. Elements outside the triangle that uplo names are neither read nor written. */
typedef enum shs_trans { SHS_NO_TRANS = 0, SHS_TRANS } shs_trans;
typedef enum shs_uplo { SHS_LOWER = 0, SHS_UPPER } shs_uplo;
typedef enum shs_side { SHS_LEFT = 0, SHS_RIGHT } shs_side;
typedef enum shs_diag { SHS_NON_UNIT = 0, SHS_UNIT } shs_diag;

/* x'y; 0 for n <= 0. Increments are non-zero; a negative one runs backwards from the end, as in BLAS. */
SHS_API shs_real shs_dot(int n, const shs_real *x, int incx, const shs_real *y, int incy);
/* ||x||_2 without overflow or underflow on the way. */
SHS_API shs_real shs_nrm2(int n, const shs_real *x, int incx);
/* y += alpha x */
SHS_API void shs_axpy(int n, shs_real alpha, const shs_real *x, int incx, shs_real *y, int incy);

/* y = alpha op(A) x + beta y, A is m x n. */
SHS_API shs_status shs_gemv(shs_trans trans, int m, int n, shs_real alpha, const shs_real *A, int lda, const shs_real *x,
                            int incx, shs_real beta, shs_real *y, int incy);
/* A += alpha x y', A is m x n. */
SHS_API shs_status shs_ger(int m, int n, shs_real alpha, const shs_real *x, int incx, const shs_real *y, int incy,
                           shs_real *A, int lda);
/* Solves op(A) x = b for triangular A (n x n); x holds b on entry. SHS_SINGULAR: a zero on the diagonal, x untouched. */
SHS_API shs_status shs_trsv(shs_uplo uplo, shs_trans trans, shs_diag diag, int n, const shs_real *A, int lda, shs_real *x,
                            int incx);

/* C = alpha op(A) op(B) + beta C; op(A) is m x k, op(B) k x n, C m x n. Packed panels and a register-blocked micro-kernel;
   takes its scratch from ctx (shs_gemm_workspace bytes). */
SHS_API shs_status shs_gemm(const shs_context *ctx, shs_trans transa, shs_trans transb, int m, int n, int k, shs_real alpha,
                            const shs_real *A, int lda, const shs_real *B, int ldb, shs_real beta, shs_real *C, int ldc);
SHS_API shs_status shs_gemm_naive(shs_trans transa, shs_trans transb, int m, int n, int k, shs_real alpha, const shs_real *A,
                                  int lda, const shs_real *B, int ldb, shs_real beta, shs_real *C, int ldc);
SHS_API size_t shs_gemm_workspace(const shs_context *ctx, int m, int n, int k);

/* The uplo triangle of C = alpha A A' + beta C (SHS_NO_TRANS, A n x k) or alpha A'A + beta C (SHS_TRANS, A k x n). */
SHS_API shs_status shs_syrk(const shs_context *ctx, shs_uplo uplo, shs_trans trans, int n, int k, shs_real alpha,
                            const shs_real *A, int lda, shs_real beta, shs_real *C, int ldc);
SHS_API shs_status shs_syrk_naive(shs_uplo uplo, shs_trans trans, int n, int k, shs_real alpha, const shs_real *A, int lda,
                                  shs_real beta, shs_real *C, int ldc);
SHS_API size_t shs_syrk_workspace(const shs_context *ctx, int n, int k);

/* Solves op(A) X = alpha B (SHS_LEFT) or X op(A) = alpha B (SHS_RIGHT) for triangular A; X overwrites B (m x n). */
SHS_API shs_status shs_trsm(const shs_context *ctx, shs_side side, shs_uplo uplo, shs_trans transa, shs_diag diag, int m,
                            int n, shs_real alpha, const shs_real *A, int lda, shs_real *B, int ldb);
SHS_API shs_status shs_trsm_naive(shs_side side, shs_uplo uplo, shs_trans transa, shs_diag diag, int m, int n,
                                  shs_real alpha, const shs_real *A, int lda, shs_real *B, int ldb);
SHS_API size_t shs_trsm_workspace(const shs_context *ctx, shs_side side, int m, int n);

/* Cholesky factor in place: A = L L' (SHS_LOWER) or U'U (SHS_UPPER). SHS_NOT_POSITIVE_DEFINITE: A is then partly
   overwritten. */
SHS_API shs_status shs_cholesky(const shs_context *ctx, shs_uplo uplo, int n, shs_real *A, int lda);
SHS_API shs_status shs_cholesky_naive(shs_uplo uplo, int n, shs_real *A, int lda);
SHS_API size_t shs_cholesky_workspace(const shs_context *ctx, int n);

/* Scales every column of A (m x n) to unit length; norms (n values, may be NULL) gets the lengths before. A zero column
   stays zero. */
SHS_API shs_status shs_normalize_columns(int m, int n, shs_real *A, int lda, shs_real *norms);

/* ================================================================================================================== */
/* 5  SYMMETRIC EIGENPROBLEM                                                                                          */
/* ================================================================================================================== */

/* The k largest eigenvalues of the symmetric matrix A (n x n, its lower triangle is read) in descending order into values (k),
   and, unless vectors is NULL, the eigenvectors that go with them as the columns of vectors (n x k): orthonormal, the entry of
   largest magnitude positive (the first of equals). Always in shs_wide. A is tridiagonalised by blocked Householder
   reflections; all pairs come from implicit QL, few from bisection and inverse iteration. Accurate to
   ||A v - lambda v|| <= 50 n eps ||A||. SHS_NOT_FINITE: A holds NaN or infinity; SHS_BAD_K: k < 1 or k > n. */
SHS_API shs_status shs_eigh(const shs_context *ctx, int n, const shs_wide *A, int lda, int k, shs_wide *values,
                            shs_wide *vectors, int ldv);
SHS_API size_t shs_eigh_workspace(const shs_context *ctx, int n, int k, int want_vectors);
/* The naive twin: cyclic Jacobi rotations, all n pairs. */
SHS_API shs_status shs_eigh_jacobi(const shs_context *ctx, int n, const shs_wide *A, int lda, shs_wide *values,
                                   shs_wide *vectors, int ldv);

/* ================================================================================================================== */
/* 6  SPARSE CODING                                                                                                   */
/* ================================================================================================================== */

/* Orthogonal matching pursuit: for each signal y choose atoms of the dictionary D (p x n) one after another, always the
   one that correlates most with what is left, and keep the coefficients at their least-squares values:

       x = argmin ||y - D_I x||,  I grown greedily until |I| = sparsity or ||y - D_I x|| <= tolerance.

   Many signals share the Gram matrix G = D'D (Rubinstein, Zibulevsky, Elad 2008: Batch-OMP). Here no triangular system is
   solved on the way. With q_k the k-th orthonormalised atom, b_k = D'q_k and alpha = D'r, choosing atom j gives

       c_i = b_i[j] (i < k),  d^2 = G_jj - sum c_i^2,  b_k = (G_j - sum c_i b_i) / d,  t_k = alpha_j / d,
       alpha -= t_k b_k,  ||r||^2 -= t_k^2,

   where (c_1 .. c_{k-1}, d) is the next row of the Cholesky factor L of G_II; one back substitution L'x = t at the end
   gives the coefficients.

   Atoms are used as they are. Selection compares |d_j'r|, which is the usual rule for atoms of unit norm: see
   shs_normalize_columns. A zero atom is never chosen; of equal atoms the first is. A signal is finished when its sparsity
   or tolerance is reached, when nothing that is left correlates (|alpha| <= 1e-5 max |alpha| of the start; 1e-12 in
   double), or when the best atom depends on those chosen (d^2 <= 1e-5 G_jj; 1e-12). An all-zero signal has no atoms.

   Tolerances. The recurrence of ||r||^2 errs by about 4 eps |y|^2 / min d^2, so it only decides where it can: near the
   tolerance, and below 1e-2 |y| (1e-6 in double), the residual y - Dx is formed explicitly in shs_wide, and pursuit goes on
   from there. What is reported as reached is reached: ||y - Dx|| <= tolerance for the coefficients as stored. */

/* Codes are sparse: signal i has used[i] atoms, atoms[i*stride + k] with coefficient coefs[i*stride + k], k < used[i], in
   the order in which they were chosen. The arrays may be the caller's own, or come from shs_codes_create. */
typedef struct shs_codes {
    size_t m;        /* signals that the arrays hold */
    int stride;      /* atoms a signal at most */
    int *used;       /* m */
    int *atoms;      /* m x stride */
    shs_real *coefs; /* m x stride */
} shs_codes;

/* Allocates the three arrays, zeroed: no signal uses an atom yet. m and stride positive. */
SHS_API shs_status shs_codes_create(const shs_context *ctx, size_t m, int stride, shs_codes *codes);
/* Frees what shs_codes_create made and zeroes the struct. NULL and zeroed structs are fine. */
SHS_API void shs_codes_free(const shs_context *ctx, shs_codes *codes);
/* The number of stored coefficients. */
SHS_API size_t shs_codes_nonzeros(const shs_codes *codes);
/* The same as compressed sparse columns, rows ascending: column_start (m+1), row and value (shs_codes_nonzeros each). */
SHS_API shs_status shs_codes_to_csc(const shs_codes *codes, size_t *column_start, int *row, shs_real *value);
/* Z = D X for signals first .. first+count-1; Z is p x count. */
SHS_API shs_status shs_codes_synthesize(const shs_context *ctx, int p, int n, const shs_real *D, int ldd,
                                        const shs_codes *codes, size_t first, size_t count, shs_real *Z, int ldz);
/* E = Y - D X for all signals (E may be Y itself, or NULL), and in *sum2 (may be NULL) the sum of its squares. */
SHS_API shs_status shs_codes_residual(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m,
                                      const shs_real *Y, int ldy, const shs_codes *codes, shs_real *E, int lde,
                                      shs_wide *sum2);

typedef enum shs_gram_mode {
    SHS_GRAM_AUTO = 0, /* whichever costs fewer operations; none where n x n exceeds 1 GB */
    SHS_GRAM_ALWAYS,   /* form D'D once: n^2 values */
    SHS_GRAM_NEVER     /* correlate with the dictionary at every step: for very large dictionaries or few signals */
} shs_gram_mode;

typedef struct shs_omp_options {
    int sparsity;                   /* atoms a signal at most; 0 = as many as fit: min(p, n, codes->stride). Clamped to min(p, n) */
    shs_real tolerance;             /* stop at ||y - Dx|| <= tolerance (an L2 norm, in the unit of y); 0 = at sparsity only */
    const int *sparsity_each;       /* m limits, one a signal, in place of sparsity (0 = no atom); NULL = the same for all */
    const shs_real *tolerance_each; /* m tolerances in place of tolerance; NULL = the same for all */
    shs_gram_mode gram_mode;
    const shs_real *gram;           /* the caller's own D'D, n x n, full storage; NULL = formed when needed */
    int ldg;
    size_t signals_per_group;       /* m~: signals whose D'y is formed at a time; 0 = 128 (32 above n 1024). Changes memory, not results */
} shs_omp_options;

typedef struct shs_omp_report {
    size_t nonzeros;      /* coefficients in all */
    size_t not_reached;   /* signals that ended above their tolerance (limit reached, or dependent atoms) */
    shs_wide sum2;        /* ||Y - DX||_F^2 */
    shs_wide rmse;        /* ||Y - DX||_F / sqrt(p m) */
} shs_omp_report;

/* What zero becomes for these sizes. */
SHS_API shs_omp_options shs_omp_defaults(int p, int n);

/* Codes m signals (Y: p x m) with at most sparsity atoms each. codes: m or more signals, stride >= min(sparsity, p, n). */
SHS_API shs_status shs_omp(const shs_context *ctx, int p, int n, const shs_real *D, size_t m, const shs_real *Y,
                           int sparsity, shs_codes *codes);
/* The same with options, leading dimensions and a report (may be NULL); errors2 (m, may be NULL) gets ||y - Dx||^2 of each
   signal. Errors: dimensions, NULL, ldd or ldy < p, NaN or infinity in D or Y, negative limits, codes too small; the codes
   are then untouched. SHS_CANCELLED: signals not reached have used = 0. Takes n^2 (none without a Gram matrix) plus
   O(threads x n x s) values of scratch. */
SHS_API shs_status shs_omp_ex(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, size_t m, const shs_real *Y,
                              int ldy, const shs_omp_options *options, shs_codes *codes, shs_real *errors2,
                              shs_omp_report *report);
/* Bytes of scratch that shs_omp_ex takes for these sizes; SIZE_MAX where they overflow. */
SHS_API size_t shs_omp_workspace(const shs_context *ctx, int p, int n, size_t m, int stride, const shs_omp_options *options);

/* Codes m signals of which only D'Y (n x m), the Gram matrix (options->gram) and, for a tolerance, ||y||^2 (norms2, m) are
   known. SHS_TOLERANCE_TOO_SMALL: a tolerance below 1e-2 |y| (1e-6 in double) cannot be decided without the signals. */
SHS_API shs_status shs_omp_gram(const shs_context *ctx, int n, size_t m, const shs_real *dty, int ldt, const shs_real *norms2,
                                const shs_omp_options *options, shs_codes *codes);
SHS_API size_t shs_omp_gram_workspace(const shs_context *ctx, int n, size_t m, int stride, const shs_omp_options *options);

/* One signal, for real-time and embedded use: no context, no heap, no threads. atoms and coefs hold min(sparsity, n) values;
   *used of them are set. tolerance 0 = none; norm2 = ||y||^2 (read only with a tolerance). *error2 (may be NULL) gets
   ||y - Dx||^2. workspace: shs_omp_one_workspace bytes, any alignment. D'y (dty, n) comes from shs_gemv with SHS_TRANS. */
SHS_API shs_status shs_omp_one(int n, const shs_real *gram, int ldg, const shs_real *dty, shs_real norm2, int sparsity,
                               shs_real tolerance, void *workspace, size_t workspace_size, int *atoms, shs_real *coefs,
                               int *used, shs_wide *error2);
SHS_API size_t shs_omp_one_workspace(int n, int sparsity);
/* The same without a Gram matrix (256 KB for 256 atoms in float): from the dictionary and the signal themselves. */
SHS_API shs_status shs_omp_one_direct(int p, int n, const shs_real *D, int ldd, const shs_real *y, int sparsity,
                                      shs_real tolerance, void *workspace, size_t workspace_size, int *atoms,
                                      shs_real *coefs, int *used, shs_wide *error2);
SHS_API size_t shs_omp_one_direct_workspace(int p, int n, int sparsity);

/* The naive twin: textbook OMP on the residual, normal equations solved anew at every step, everything in shs_wide. */
SHS_API shs_status shs_omp_naive(int p, int n, const shs_real *D, int ldd, const shs_real *y, int sparsity,
                                 shs_real tolerance, void *workspace, size_t workspace_size, int *atoms, shs_real *coefs,
                                 int *used, shs_wide *error2);
SHS_API size_t shs_omp_naive_workspace(int p, int n, int sparsity);

/* ================================================================================================================== */
/* 7  DICTIONARY LEARNING                                                                                             */
/* ================================================================================================================== */

/* AK-SVD and PAK-SVD: alternate sparse coding of the signals Y (p x m) with an update of the atoms,

       minimise ||Y - DX||_F  subject to  ||x_i||_0 <= s (or ||y_i - Dx_i|| <= tolerance),  ||d_j|| = 1.

   Atoms are updated in groups of N~ (parallel_atoms). With E = Y - DX at the start of a group and I the signals that use
   atom j, each atom of the group becomes

       d_new = normalise(E_I x' + d_old |x|^2),   x_new = E_I' d_new + x (d_old' d_new),

   which is one power step on F = E_I + d_old x without ever forming F. Then E takes all of the group's changes at once.
   N~ = 1 is AK-SVD (Rubinstein, Zibulevsky, Elad 2008), N~ = n the fully parallel (Jacobi) variant, what lies between is
   PAK-SVD (Irofti, Dumitrescu 2014). A last group of fewer atoms is updated like any other. u `rounds` of updates follow
   each coding. The paper's best results: N~ <= 64, u = 1 for the first 50 iterations and 2 or more after that. Beware of
   u >= 2 from the start with large dictionaries and groups (n 512, N~ >= 128): it raises the error. */

typedef enum shs_start {
    SHS_START_SIGNALS = 0, /* random signals of Y, normalised; all-zero ones and copies are passed over, random atoms fill up */
    SHS_START_RANDOM,      /* normal deviates */
    SHS_START_DCT,         /* overcomplete DCT of the patch shape (patch_width x patch_height x patch_channels = p) */
    SHS_START_GIVEN        /* what D holds on entry, normalised: warm start and resume */
} shs_start;

typedef enum shs_replace {
    SHS_REPLACE_WORST = 0, /* an unused or pruned atom becomes the worst represented signal, each signal used once */
    SHS_REPLACE_LEAVE,     /* it stays as it is, and nothing is pruned */
    SHS_REPLACE_RANDOM     /* it becomes a random direction */
} shs_replace;

typedef enum shs_keep {
    SHS_KEEP_BEST = 0, /* return the dictionary of the lowest error (with a tolerance: of the fewest coefficients) */
    SHS_KEEP_LAST      /* return the one after the last update */
} shs_keep;

/* One step of a schedule: from iteration `from` on (counted from 0) the value is `value`. */
typedef struct shs_step {
    int from, value;
} shs_step;

/* What one iteration did. */
typedef struct shs_ksvd_record {
    shs_wide rmse_coding; /* ||Y - DX||_F / sqrt(p m) after coding, before the update */
    shs_wide rmse_update; /* the same after the update with the updated X; -1 unless rmse_after_update was asked for */
    shs_wide mean_atoms;  /* coefficients a signal */
    int atoms_used;       /* atoms that any signal uses */
    int replaced;         /* unused atoms replaced */
    int pruned;           /* near-duplicates and rarely used atoms replaced */
} shs_ksvd_record;

typedef struct shs_ksvd_options {
    int iterations;                 /* K; 0 = 10 */
    shs_omp_options coding;         /* sparsity (0 = max(1, p/10) without a tolerance), tolerance, limits a signal, m~ */
    int parallel_atoms;             /* N~; 0 = 1: AK-SVD; n or more: fully parallel */
    int rounds;                     /* u; 0 = 1 */
    const shs_step *parallel_atoms_schedule; /* overrides parallel_atoms from its first step on; NULL = constant */
    int parallel_atoms_steps;
    const shs_step *rounds_schedule;         /* overrides rounds likewise, such as { {0, 1}, {50, 2} } */
    int rounds_steps;
    shs_start start;
    int patch_width, patch_height, patch_channels; /* for SHS_START_DCT; 0 = square, one channel */
    uint64_t seed;
    int first_iteration;            /* to resume: the number of iterations done before; with SHS_START_GIVEN, 5 + 5 iterations equal 10 */
    shs_replace replace;
    shs_real prune_coherence;       /* replace one of two atoms with |d_i'd_j| above this; 0 = 0.99; 1 or more = never */
    int prune_uses;                 /* replace atoms with fewer uses than this; 0 = 4 (less where m s / n < 16); negative = only unused ones */
    shs_keep keep;
    int rmse_after_update;          /* non-zero: fill rmse_update, at the price of one residual an iteration */
    shs_wide stop_improvement;      /* stop when the best error improved by less than this fraction ... */
    int stop_patience;              /* ... in this many iterations; 0 = run all */
    shs_ksvd_record *history;       /* output: one record an iteration; NULL = not wanted */
    size_t *usage_history;          /* output: n x iterations, uses of each atom by all signals; NULL = not wanted */
} shs_ksvd_options;

typedef struct shs_ksvd_report {
    int iterations;      /* iterations done */
    int best_iteration;  /* how many updates (of this call) the returned dictionary has seen */
    shs_wide rmse;       /* of the returned dictionary, after coding */
    shs_wide mean_atoms; /* likewise */
} shs_ksvd_report;

SHS_API shs_ksvd_options shs_ksvd_defaults(int p, int n, size_t m);

/* Learns n atoms (D: p x n, output) from m signals with defaults: AK-SVD from random signals. */
SHS_API shs_status shs_ksvd(const shs_context *ctx, int p, int n, shs_real *D, size_t m, const shs_real *Y, int sparsity,
                            int iterations);
/* The same with options. D is p x n (in and out); codes (may be NULL) gets the codes of the returned D; report may be NULL.
   Errors leave D untouched. SHS_CANCELLED leaves the best dictionary so far in D (the start if none was coded yet), the
   report and the history filled as far as it went, and codes without atoms. */
SHS_API shs_status shs_ksvd_ex(const shs_context *ctx, int p, int n, shs_real *D, int ldd, size_t m, const shs_real *Y,
                               int ldy, const shs_ksvd_options *options, shs_codes *codes, shs_ksvd_report *report);
SHS_API size_t shs_ksvd_workspace(const shs_context *ctx, int p, int n, size_t m, const shs_ksvd_options *options);

/* Start dictionaries by themselves: unit-norm atoms, D is p x n. */
SHS_API shs_status shs_dictionary_random(int p, int n, shs_real *D, int ldd, uint64_t seed);
/* Overcomplete DCT: products of ceil(sqrt(n/channels))-point cosines along x and y, the constant part removed from all but
   the first; the n with the lowest frequencies. Patch layout as in section 8. */
SHS_API shs_status shs_dictionary_dct(int width, int height, int channels, int n, shs_real *D, int ldd);
/* The largest |d_i'd_j| / (|d_i||d_j|), i != j, into *mu; 0 for one atom. */
SHS_API shs_status shs_dictionary_coherence(const shs_context *ctx, int p, int n, const shs_real *D, int ldd, shs_wide *mu);

/* ================================================================================================================== */
/* 8  PATCHES                                                                                                         */
/* ================================================================================================================== */

/* An image in the caller's memory: rows from the top, pixels from the left, channels interleaved, as image files come.
   SHS_U8, SHS_F32 (SHS_F64 unless SPARSEHS_NO_DOUBLE) or SHS_REAL. */
typedef struct shs_image {
    const void *pixels;
    shs_type type;
    int width, height, channels; /* channels 0 = 1 */
    size_t row_stride;           /* values from one row to the next; 0 = width x channels */
} shs_image;

typedef enum shs_patch_mode {
    SHS_PATCHES_GRID = 0, /* every step-th position both ways; the last row and column of positions are always among them */
    SHS_PATCHES_DISTINCT, /* side by side without overlap; what is left over at the right and bottom is not covered */
    SHS_PATCHES_RANDOM    /* `count` positions, seeded, none twice (all of them when count is larger) */
} shs_patch_mode;

/* A set of patches, numbered row by row of positions. A patch is a signal of p = width x height x channels values: channel
   after channel, in each row after row. */
typedef struct shs_patches {
    int width, height;   /* of a patch; 0 = 8 */
    shs_patch_mode mode;
    int step_x, step_y;  /* SHS_PATCHES_GRID: 0 = 1, that is all patches */
    size_t count;        /* SHS_PATCHES_RANDOM */
    uint64_t seed;       /* SHS_PATCHES_RANDOM */
    int keep_mean;       /* non-zero: do not remove the mean of each channel */
    int unit_norm;       /* non-zero: scale to unit norm (a zero patch stays zero) */
} shs_patches;

/* The number of patches in the set, 0 where image and set do not fit each other; *p (may be NULL) gets their length. */
SHS_API size_t shs_patches_count(const shs_image *image, const shs_patches *set, int *p);
/* Left column and top row of one patch. */
SHS_API shs_status shs_patches_position(const shs_image *image, const shs_patches *set, size_t index, int *x, int *y);
/* Patches first .. first+count-1 into the columns of Y (p x count). means (channels x count) and norms (count) get what was
   taken out; each may be NULL. */
SHS_API shs_status shs_patches_get(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first,
                                   size_t count, shs_real *Y, int ldy, shs_real *means, shs_real *norms);
/* The way back: adds patches Z (p x count), times norms, plus means (either may be NULL), to sum and one for each covered
   pixel to weight. sum: width x height x channels, weight: width x height, both zeroed by the caller before the first
   call. image gives the geometry only; its pixels are not read. The result does not depend on threads. */
SHS_API shs_status shs_patches_put(const shs_context *ctx, const shs_image *image, const shs_patches *set, size_t first,
                                   size_t count, const shs_real *Z, int ldz, const shs_real *means, const shs_real *norms,
                                   shs_real *sum, shs_real *weight);
/* The weighted average of the patches and the image itself, out = (lambda image + sum) / (lambda + weight); a pixel that
   nothing covers keeps the image's value. out: width x height x channels, may be sum. */
SHS_API shs_status shs_patches_average(const shs_context *ctx, const shs_image *image, shs_real lambda, const shs_real *sum,
                                       const shs_real *weight, shs_real *out);

/* Codes every patch of the set over D and puts the approximations back, block by block, so that no codes of the whole image
   are ever stored: the second half of K-SVD denoising (Elad, Aharon 2006; tolerance = C sigma sqrt(p), lambda = 30/sigma)
   and of compression and super-resolution schemes. coding: as for shs_omp_ex; its limits apply to patches with the mean
   removed, and its arrays `..._each` are indexed by patch. out: width x height x channels, untouched on failure; report may be
   NULL. */
SHS_API shs_status shs_patches_approximate(const shs_context *ctx, const shs_image *image, const shs_patches *set, int n,
                                           const shs_real *D, int ldd, const shs_omp_options *coding, shs_real lambda,
                                           shs_real *out, shs_omp_report *report);
SHS_API size_t shs_patches_workspace(const shs_context *ctx, const shs_image *image, const shs_patches *set, int n,
                                     const shs_omp_options *coding);

/*@ENGINEAPI@*/
#ifdef __cplusplus
}
#endif
#endif /* SPARSEHS_H */

/* ################################################################################################################## */
/* IMPLEMENTATION. Stop now, if you are only interested in the API.                                                   */
/* ################################################################################################################## */

#if defined(SPARSEHS_IMPLEMENTATION) || defined(__INTELLISENSE__) || defined(__CLANGD__)
#ifndef SPARSEHS_IMPLEMENTATION_ONCE
#define SPARSEHS_IMPLEMENTATION_ONCE

/* ================================================================================================================== */
/* 1  CONFIGURATION                                                                                                   */
/* ================================================================================================================== */

#include <string.h>
#include <limits.h>
#if !defined(SPARSEHS_NO_STDLIB) && !defined(SPARSEHS_MALLOC)
#include <stdlib.h>
#define SPARSEHS_MALLOC(size) malloc(size)
#define SPARSEHS_FREE(block) free(block)
#endif
#ifndef SPARSEHS_NO_MATH
#include <math.h>
#endif
#ifndef SPARSEHS_SQRT
#define SPARSEHS_SQRT(x) sqrt(x)
#define SPARSEHS_SQRTF(x) sqrtf(x)
#endif
#ifndef SPARSEHS_COS
#define SPARSEHS_COS(x) cos(x)
#define SPARSEHS_COSF(x) cosf(x)
#endif
#ifndef SPARSEHS_LOG
#define SPARSEHS_LOG(x) log(x)
#define SPARSEHS_LOGF(x) logf(x)
#endif
#if defined(_OPENMP) && !defined(SPARSEHS_NO_OPENMP)
#include <omp.h>
#define SHS__OPENMP
#endif

/* SHS__SQRT works on shs_real, SHS__WSQRT and its like on shs_wide; SHS__EPS is the spacing of shs_real at 1. */
#ifdef SPARSEHS_DOUBLE
#define SHS__SQRT(x) SPARSEHS_SQRT(x)
#define SHS__EPS 2.220446049250313e-16
#define SHS__REAL_MAX 1.7976931348623157e308
#define SHS__REAL_MIN 2.2250738585072014e-308
#else
#define SHS__SQRT(x) SPARSEHS_SQRTF(x)
#define SHS__EPS 1.1920929e-7f
#define SHS__REAL_MAX 3.402823466e38f
#define SHS__REAL_MIN 1.175494351e-38f
#endif
#ifdef SPARSEHS_NO_DOUBLE
#define SHS__WSQRT(x) SPARSEHS_SQRTF(x)
#define SHS__WCOS(x) SPARSEHS_COSF(x)
#define SHS__WLOG(x) SPARSEHS_LOGF(x)
#else
#define SHS__WSQRT(x) SPARSEHS_SQRT(x)
#define SHS__WCOS(x) SPARSEHS_COS(x)
#define SHS__WLOG(x) SPARSEHS_LOG(x)
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SHS__PRIVATE __attribute__((unused)) static
#define SHS__RESTRICT __restrict__
#else
#define SHS__PRIVATE static
#define SHS__RESTRICT
#endif
#ifdef SPARSEHS_STATIC
#define SHS__PUBLIC SHS_API
#else
#define SHS__PUBLIC
#endif

/* Compiler vector extensions: shs__vec holds SHS__LANES values of shs_real. Pointers are read and written through
   shs__vec_any, which claims no more alignment than a shs_real has. Where this is not defined plain C does the work. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__OPTIMIZE__) && !defined(SPARSEHS_NO_SIMD)
#if defined(__AVX512F__)
#define SHS__VECTOR_BYTES 64
#elif defined(__AVX__)
#define SHS__VECTOR_BYTES 32
#elif defined(__SSE2__) || defined(__ARM_NEON) || defined(__ALTIVEC__) || defined(__wasm_simd128__)
#define SHS__VECTOR_BYTES 16
#endif
#endif
#ifdef SHS__VECTOR_BYTES
#define SHS__LANES (SHS__VECTOR_BYTES / (int)sizeof(shs_real))
typedef shs_real shs__vec __attribute__((vector_size(SHS__VECTOR_BYTES)));
typedef shs_real shs__vec_any __attribute__((vector_size(SHS__VECTOR_BYTES), aligned(sizeof(shs_real)), may_alias));
#define SHS__LOAD(p) (*(const shs__vec_any *)(const void *)(p))
#define SHS__STORE(p, v) (*(shs__vec_any *)(void *)(p) = (v))
#endif

#define SHS__ALIGN 64 /* a cache line, and the widest vector */

/* Under AddressSanitizer the gaps between buffers of one block are poisoned, so that an overrun is caught. */
#if defined(__SANITIZE_ADDRESS__)
#define SHS__ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHS__ASAN
#endif
#endif
#ifdef SHS__ASAN
#include <sanitizer/asan_interface.h>
#define SHS__GAP 128
#define SHS__POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define SHS__UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define SHS__GAP 0
#define SHS__POISON(p, n) ((void)0)
#define SHS__UNPOISON(p, n) ((void)0)
#endif

SHS__PRIVATE int shs__imin(int a, int b) { return a < b ? a : b; }
SHS__PRIVATE int shs__imax(int a, int b) { return a > b ? a : b; }
SHS__PRIVATE size_t shs__zmin(size_t a, size_t b) { return a < b ? a : b; }
SHS__PRIVATE size_t shs__zmax(size_t a, size_t b) { return a > b ? a : b; }
SHS__PRIVATE shs_real shs__abs(shs_real x) { return x < 0 ? -x : x; }
SHS__PRIVATE shs_wide shs__wabs(shs_wide x) { return x < 0 ? -x : x; }
/* Address of element (row, column) of a column-major matrix. */
#define SHS__AT(A, ld, row, column) ((A) + (size_t)(column) * (size_t)(ld) + (size_t)(row))

/* A sum in shs_wide; compensated (Neumaier) where that is no wider than shs_real. */
typedef struct shs__sum {
    shs_wide value, lost;
} shs__sum;

SHS__PRIVATE void shs__sum_add(shs__sum *s, shs_wide x) {
#ifdef SPARSEHS_NO_DOUBLE
    shs_wide t = s->value + x;
    s->lost += shs__wabs(s->value) >= shs__wabs(x) ? (s->value - t) + x : (x - t) + s->value;
    s->value = t;
#else
    s->value += x;
#endif
}

SHS__PRIVATE shs_wide shs__sum_value(const shs__sum *s) { return s->value + s->lost; }

/* ================================================================================================================== */
/* 2  CONTEXT                                                                                                         */
/* ================================================================================================================== */

SHS__PUBLIC const char *shs_status_text(shs_status status) {
    switch (status) {
#define SHS__CASE(code, text)                                                                                          \
    case code: return text;
        SHS_STATUS_LIST(SHS__CASE)
#undef SHS__CASE
    case SHS_STATUS_COUNT: break;
    }
    return "unknown status";
}

SHS__PUBLIC const char *shs_status_name(shs_status status) {
    switch (status) {
#define SHS__CASE(code, text)                                                                                          \
    case code: return #code;
        SHS_STATUS_LIST(SHS__CASE)
#undef SHS__CASE
    case SHS_STATUS_COUNT: break;
    }
    return "unknown status";
}

/* ---- sizes and layouts --------------------------------------------------------------------------------------------- */

SHS__PRIVATE int shs__mul_overflows(size_t a, size_t b) { return b != 0 && a > SIZE_MAX / b; }

/* Scratch memory is one block that a layout function cuts into buffers. The same function runs twice: without a base it
   only counts, with one it hands out addresses; so the query and the use cannot differ. */
typedef struct shs__layout {
    unsigned char *base; /* aligned start, NULL while counting */
    void *block;         /* what the allocator returned */
    size_t used, size;
    int overflow;
} shs__layout;

SHS__PRIVATE void *shs__carve(shs__layout *l, size_t count, size_t size) {
    size_t at = l->used, bytes;
    if (shs__mul_overflows(count, size) || count * size > SIZE_MAX / 2 - at - 2 * SHS__ALIGN - SHS__GAP) {
        l->overflow = 1;
        return NULL;
    }
    bytes = count * size;
    l->used = at + (bytes + SHS__ALIGN - 1) / SHS__ALIGN * SHS__ALIGN + SHS__GAP;
    if (!l->base) return NULL;
    SHS__POISON(l->base + at + bytes, l->used - at - bytes);
    return l->base + at;
}

#define SHS__CARVE(l, type, count) ((type *)shs__carve(l, count, sizeof(type)))

/* Product of three counts for a carve, SIZE_MAX (which overflows there) when it does not fit. */
SHS__PRIVATE size_t shs__product(size_t a, size_t b, size_t c) {
    if (shs__mul_overflows(a, b) || shs__mul_overflows(a * b, c)) return SIZE_MAX;
    return a * b * c;
}

SHS__PRIVATE size_t shs__layout_size(const shs__layout *l) { return l->overflow ? SIZE_MAX : l->used + SHS__ALIGN; }

/* Aligns memory for a layout that has been counted; the next pass carves from it. */
SHS__PRIVATE void shs__layout_begin(shs__layout *l, void *memory) {
    l->block = memory;
    l->size = l->used;
    l->base = (unsigned char *)memory + (SHS__ALIGN - (uintptr_t)memory % SHS__ALIGN) % SHS__ALIGN;
    l->used = 0;
}

SHS__PRIVATE void *shs__alloc(const shs_context *ctx, size_t size) {
    if (ctx && ctx->alloc_fn) return ctx->alloc_fn(ctx->alloc_user, size);
#ifdef SPARSEHS_MALLOC
    return SPARSEHS_MALLOC(size);
#else
    return NULL;
#endif
}

SHS__PRIVATE void shs__free(const shs_context *ctx, void *block) {
    if (!block) return;
    if (ctx && ctx->alloc_fn) ctx->free_fn(ctx->alloc_user, block);
#ifdef SPARSEHS_MALLOC
    else SPARSEHS_FREE(block);
#endif
}

/* Between the counting and the carving pass: takes the block. */
SHS__PRIVATE shs_status shs__acquire(const shs_context *ctx, shs__layout *l) {
    void *memory;
    if (l->overflow) return SHS_TOO_LARGE;
    memory = shs__alloc(ctx, shs__layout_size(l));
    if (!memory) return SHS_NO_MEMORY;
    shs__layout_begin(l, memory);
    return SHS_OK;
}

SHS__PRIVATE void shs__release(const shs_context *ctx, shs__layout *l) {
    if (l->block) SHS__UNPOISON(l->base, l->size);
    shs__free(ctx, l->block);
    l->block = NULL;
    l->base = NULL;
}

/* ---- arena ------------------------------------------------------------------------------------------------------------ */

/* Each block is preceded by the arena's fill level before it, so that freeing the last block takes it back. */
SHS__PRIVATE void *shs__arena_alloc(void *user, size_t size) {
    shs_arena *a = (shs_arena *)user;
    size_t before = a->used, header = 2 * sizeof(size_t), at;
    uintptr_t start = (uintptr_t)a->memory + before;
    size_t pad = (16 - (size_t)(start % 16)) % 16;
    if (!a->memory || pad > a->size - before || header > a->size - before - pad) return NULL;
    at = before + pad + header;
    if (size > a->size - at) return NULL;
    memcpy(a->memory + before + pad, &before, sizeof before);
    a->used = at + size;
    a->peak = shs__zmax(a->peak, a->used);
    return a->memory + at;
}

SHS__PRIVATE void shs__arena_free(void *user, void *block) {
    shs_arena *a = (shs_arena *)user;
    memcpy(&a->used, (unsigned char *)block - 2 * sizeof(size_t), sizeof a->used);
}

SHS__PUBLIC void shs_arena_init(shs_arena *arena, void *memory, size_t size) {
    arena->memory = (unsigned char *)memory;
    arena->size = memory ? size : 0;
    arena->used = arena->peak = 0;
}

SHS__PUBLIC void shs_arena_attach(shs_arena *arena, shs_context *ctx) {
    ctx->alloc_fn = shs__arena_alloc;
    ctx->free_fn = shs__arena_free;
    ctx->alloc_user = arena;
}

SHS__PUBLIC size_t shs_type_size(shs_type type) {
    switch (type) {
    case SHS_REAL: return sizeof(shs_real);
    case SHS_U8: return 1;
    case SHS_I16: return 2;
    case SHS_U16: return 2;
    case SHS_I32: return 4;
    case SHS_F32: return 4;
    case SHS_F64: return 8;
    case SHS_TYPE_COUNT: break;
    }
    return 0;
}

/* ---- threads, progress, ranks ------------------------------------------------------------------------------------------ */

SHS__PRIVATE shs_status shs__check_context(const shs_context *ctx) {
    if (!ctx) return SHS_OK;
    if (!ctx->alloc_fn != !ctx->free_fn || ctx->threads < 0) return SHS_BAD_CONTEXT;
    if (ctx->reduce_fn && (ctx->ranks < 1 || ctx->rank < 0 || ctx->rank >= ctx->ranks)) return SHS_BAD_CONTEXT;
    return SHS_OK;
}

/* Workers for which per-worker scratch is laid out. */
SHS__PRIVATE int shs__workers(const shs_context *ctx) {
    int wanted = ctx ? ctx->threads : 0;
    if (ctx && ctx->parallel_fn) return wanted > 0 ? wanted : 1;
#ifdef SHS__OPENMP
    return wanted > 0 ? wanted : omp_get_max_threads();
#else
    return 1;
#endif
}

SHS__PRIVATE void shs__parallel(const shs_context *ctx, size_t chunks, shs_chunk_fn body, void *arg) {
    int workers = shs__workers(ctx);
    if (workers > 1 && chunks > 1) {
        if (ctx && ctx->parallel_fn) {
            ctx->parallel_fn(ctx->parallel_user, chunks, workers, body, arg);
            return;
        }
#ifdef SHS__OPENMP
        {
            long long count = (long long)chunks, i;
#pragma omp parallel for schedule(dynamic) num_threads(workers)
            for (i = 0; i < count; i++) body(arg, (size_t)i, omp_get_thread_num());
            return;
        }
#endif
    }
    {
        size_t i;
        for (i = 0; i < chunks; i++) body(arg, i, 0);
    }
}

SHS__PRIVATE shs_status shs__progress(const shs_context *ctx, const char *phase, size_t step, size_t steps, shs_wide error) {
    if (ctx && ctx->progress_fn && ctx->progress_fn(ctx->progress_user, phase, step, steps, error)) return SHS_CANCELLED;
    return SHS_OK;
}

SHS__PRIVATE int shs__distributed(const shs_context *ctx) { return ctx && ctx->reduce_fn; }

SHS__PRIVATE shs_status shs__reduce(const shs_context *ctx, shs_wide *values, size_t count, shs_reduce_op op) {
    if (shs__distributed(ctx) && ctx->reduce_fn(ctx->reduce_user, values, count, op)) return SHS_REDUCE_FAILED;
    return SHS_OK;
}

/* Before every collective step the ranks agree whether all are well: a rank that failed returns its own status, the others
   SHS_PEER_FAILED, and a cancelled rank cancels all. Nobody is left waiting. */
SHS__PRIVATE shs_status shs__agree(const shs_context *ctx, shs_status mine) {
    shs_wide worst;
    shs_status reduced;
    if (!shs__distributed(ctx)) return mine;
    worst = mine == SHS_OK ? 0 : mine == SHS_CANCELLED ? 1 : 2;
    reduced = shs__reduce(ctx, &worst, 1, SHS_REDUCE_MAX);
    if (reduced != SHS_OK) return reduced;
    if (mine != SHS_OK && mine != SHS_CANCELLED) return mine;
    return worst >= 2 ? SHS_PEER_FAILED : worst >= 1 ? SHS_CANCELLED : SHS_OK;
}

/* Whether n values are all finite, by their exponent bits, so that -ffast-math cannot fold the test away. */
SHS__PRIVATE int shs__finite(size_t n, const shs_real *x) {
    size_t i;
#ifdef SPARSEHS_DOUBLE
    uint64_t bad = 0, bits, mask = (uint64_t)0x7ff << 52;
#else
    uint32_t bad = 0, bits, mask = (uint32_t)0xff << 23;
#endif
    for (i = 0; i < n; i++) {
        memcpy(&bits, x + i, sizeof bits);
        bad |= (bits & mask) == mask;
    }
    return bad == 0;
}

typedef struct shs__finite_job {
    int rows, ld;
    size_t columns, columns_per_chunk;
    const shs_real *A;
    unsigned char *bad; /* one flag a worker */
} shs__finite_job;

SHS__PRIVATE int shs__finite_columns(int rows, size_t columns, const shs_real *A, int ld) {
    size_t j;
    if (rows == ld) return shs__finite((size_t)rows * columns, A);
    for (j = 0; j < columns; j++)
        if (!shs__finite((size_t)rows, SHS__AT(A, ld, 0, j))) return 0;
    return 1;
}

/* ================================================================================================================== */
/* 3  RANDOM NUMBERS                                                                                                  */
/* ================================================================================================================== */

/* The mixing function: every bit of the input reaches every bit of the output. */
SHS__PRIVATE uint64_t shs__mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

SHS__PUBLIC void shs_random_seed(shs_random *r, uint64_t seed) { r->state = seed; }

SHS__PUBLIC uint64_t shs_random_bits(shs_random *r) {
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    return shs__mix(r->state);
}

SHS__PUBLIC shs_wide shs_random_uniform(shs_random *r) {
#ifdef SPARSEHS_NO_DOUBLE
    return (shs_wide)(shs_random_bits(r) >> 40) * (1.0f / 16777216.0f);
#else
    return (shs_wide)(shs_random_bits(r) >> 11) * (1.0 / 9007199254740992.0);
#endif
}

SHS__PUBLIC uint64_t shs_random_below(shs_random *r, uint64_t count) {
    uint64_t bits, limit;
    if (count == 0) return 0;
    limit = UINT64_MAX - UINT64_MAX % count; /* a multiple of count: values from there on are drawn again */
    do bits = shs_random_bits(r);
    while (bits >= limit);
    return bits % count;
}

SHS__PUBLIC shs_wide shs_random_normal(shs_random *r) {
    shs_wide x, y, s;
    do {
        x = 2 * shs_random_uniform(r) - 1;
        y = 2 * shs_random_uniform(r) - 1;
        s = x * x + y * y;
    } while (s >= 1 || s <= 0);
    return x * SHS__WSQRT(-2 * SHS__WLOG(s) / s);
}

/* A four-round Feistel network permutes the smallest even-width power of two that holds count; values outside are sent
   through again until they fall inside (fewer than four times on average). */
SHS__PUBLIC uint64_t shs_random_permuted(uint64_t i, uint64_t count, uint64_t seed) {
    unsigned half = 1;
    uint64_t mask;
    while (half < 32 && count > UINT64_C(1) << 2 * half) half++;
    mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask, next;
        unsigned round;
        for (round = 0; round < 4; round++) {
            next = left ^ (shs__mix(shs__mix(seed + round) ^ right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= count);
    return i;
}

#endif /* SPARSEHS_IMPLEMENTATION_ONCE */
#endif /* SPARSEHS_IMPLEMENTATION */
