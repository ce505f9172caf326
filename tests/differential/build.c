/* build.c - one build of the library: NAME, and the switches of the library, come from the compiler's flags. It solves a
   problem in buffers of exactly the size that the header asks for, each between two pages that nobody may touch: at its end
   or at its start such a page follows at once, and what lies between the buffer and the other holds a pattern. Inputs cannot
   be written to. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "differential.h"

static int instance_in_use = 2;
#define SHS__TEST_INSTANCE instance_in_use
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#include "../../sparsehs.h"

#define GLUED(a, b) a##b
#define NAMED(a, b) GLUED(a, b)
#define QUOTED(a) #a
#define TEXT(a) QUOTED(a)
extern const build NAMED(build_, NAME);

#define EPS (sizeof(shs_real) == 4 ? 1.1920928955078125e-7 : 2.220446049250313e-16)
static const double eps = EPS;
static const double wide_eps = sizeof(shs_wide) == 4 ? 1.1920928955078125e-7 : 2.220446049250313e-16;
/* What errors of codes and of dictionaries may differ by, relative to the signals. */
static const double error_eps = sizeof(shs_real) == 4 ? 2e-3 : 1e-9;
static const double rmse_eps = sizeof(shs_real) == 4 ? 1e-3 : 1e-8;

/* ---- guarded memory ----------------------------------------------------------------------------------------------- */

enum { MOST_BLOCKS = 64, PATTERN = 0x5a };

typedef struct block {
    unsigned char *pages, *at; /* at: NULL for none */
    size_t whole, size;        /* of what lies between the two pages, of the buffer */
} block;

static block blocks[MOST_BLOCKS];
static uint64_t state; /* of the random numbers of the problem */

static uint64_t draw(void) {
    uint64_t x;
    state += UINT64_C(0x9e3779b97f4a7c15);
    x = state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
static int pick(int low, int high) { return low + (int)(draw() % (uint64_t)(high - low + 1)); }
/* One of 1025 values between -1 and 1, exact in every build. */
static double value(void) { return pick(-512, 512) / 512.0; }
/* In one of odds + 1 cases `seldom`. */
static int mostly(int odds, int often, int seldom) {
    if (pick(0, odds)) return often;
    return seldom;
}

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static block *block_at(const void *at) {
    block *b = blocks;
    while (b < blocks + MOST_BLOCKS && b->at != at) b++;
    must(b < blocks + MOST_BLOCKS);
    return b;
}

/* The end is tight, or the start, as if by chance. */
static void *guarded(size_t size, size_t align) {
    static unsigned turn;
    size_t page = page_size(), whole = (size + align + page - 1) / page * page;
    block *b = block_at(NULL);
    b->pages = (unsigned char *)mmap(NULL, whole + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(b->pages != MAP_FAILED);
    must(!mprotect(b->pages, page, PROT_NONE) && !mprotect(b->pages + page + whole, page, PROT_NONE));
    b->whole = whole;
    b->size = size;
    b->at = b->pages + page;
    if (turn % 2 == 0) b->at += (whole - size) / align * align;
    turn++;
    memset(b->pages + page, PATTERN, whole);
    return b->at;
}

static void give_back(void *user, void *at) {
    block *b;
    const unsigned char *start, *c;
    (void)user;
    if (!at) return;
    b = block_at(at);
    start = b->pages + page_size();
    for (c = start; c < start + b->whole; c++) must((c >= b->at && c < b->at + b->size) || *c == PATTERN);
    munmap(b->pages, b->whole + 2 * page_size());
    b->at = NULL;
}

/* Only what is an input may not be written to. */
static void seal(const void *at) {
    block *b = block_at(at);
    must(!mprotect(b->pages + page_size(), b->whole, PROT_READ));
}

static void *scratch(void *user, size_t size) {
    (void)user;
    return guarded(size, 16);
}

/* The last of ld values of the last column are not there. */
static size_t matrix_size(int rows, int columns, int ld) {
    if (rows < 1 || columns < 1) return 0;
    return (size_t)(columns - 1) * ld + rows;
}
/* The index of an entry of a matrix whose columns are `ld` apart. */
static size_t entry(int ld, int row, int column) { return (size_t)column * ld + row; }
#define NEW(type, count) ((type *)guarded((size_t)(count) * sizeof(type), sizeof(type)))
#define DROP(p) give_back(NULL, p)

static shs_real *input(int rows, int columns, int ld) {
    size_t count = matrix_size(rows, columns, ld), i;
    shs_real *A = NEW(shs_real, count);
    for (i = 0; i < count; i++) A[i] = value();
    return A;
}

/* ---- problems ------------------------------------------------------------------------------------------------------ */

/* Around the widths of vectors and tiles, the blocks, and beyond. */
static int length_up_to(int most) {
    static const int edges[] = {1,   2,   3,   4,   7,   8,   15,  16,  17,  31,  32,   33,   47,   48,
                                63,  64,  65,  95,  96,  127, 128, 129, 143, 144, 145,  191,  192,  255,
                                256, 257, 287, 288, 383, 384, 385, 511, 512, 768, 1023, 1024, 1025, 1536};
    int n;
    if (pick(0, 2)) n = edges[pick(0, sizeof edges / sizeof *edges - 1)];
    else n = pick(1, most);
    if (n > most) return pick(1, most);
    return n;
}
static int stride_for(int rows) {
    if (pick(0, 1)) return rows + pick(0, 9);
    return rows;
}

static void put(result *r, double v) {
    if (r->count == r->room) {
        r->room = 2 * r->room + 1024;
        r->values = (double *)realloc(r->values, r->room * sizeof *r->values);
        must(r->values != NULL);
    }
    r->values[r->count] = v;
    r->count++;
}

static void put_matrix(result *r, int rows, int columns, const shs_real *A, int ld) {
    int i, j;
    for (j = 0; j < columns; j++)
        for (i = 0; i < rows; i++) put(r, A[entry(ld, i, j)]);
}

static shs_context ctx;

/* Mostly any depth; where there is little else to do, at times so deep that slabs of the depth are added up. */
static int depth_for(int m, int n) {
    if (m * n <= 400 && pick(0, 2) == 0) return 2 * SHS__SLAB_DEPTH + pick(-2, 2);
    if (m > 100 || n > 100) return length_up_to(300);
    return length_up_to(2000);
}

/* A factor op(A) of rows x columns: its stride, and its values. */
static int factor_stride(shs_trans trans, int rows, int columns) {
    if (trans) return stride_for(columns);
    return stride_for(rows);
}
static shs_real *factor(shs_trans trans, int rows, int columns, int ld) {
    if (trans) return input(columns, rows, ld);
    return input(rows, columns, ld);
}

static void product(int naive, result *r) {
    int most = mostly(9, 100, 300), m = length_up_to(most), n = length_up_to(most), k = depth_for(m, n);
    shs_trans ta = pick(0, 1), tb = pick(0, 1);
    int lda = factor_stride(ta, m, k), ldb = factor_stride(tb, k, n), ldc = stride_for(m), square = pick(0, 2) == 0;
    shs_uplo uplo = pick(0, 1);
    shs_real alpha = pick(1, 3) / 2.0, beta = pick(-1, 1), *A, *B, *C;
    shs_status status;
    if (square) n = m;
    A = factor(ta, m, k, lda);
    B = factor(tb, k, n, ldb);
    C = input(m, n, ldc);
    seal(A);
    seal(B);
    if (square && naive) status = shs_syrk_naive(uplo, ta, n, k, alpha, A, lda, beta, C, ldc);
    else if (square) status = shs_syrk(&ctx, uplo, ta, n, k, alpha, A, lda, beta, C, ldc);
    else if (naive) status = shs_gemm_general_naive(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    else status = shs_gemm(&ctx, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    must(status == SHS_OK);
    put_matrix(r, m, n, C, ldc);
    r->unit = 4 * sqrt(k) + 8;
    DROP(A);
    DROP(B);
    DROP(C);
}

static void system_of(int naive, result *r) {
    int n = length_up_to(mostly(9, 100, 300)), m = length_up_to(100), lda = stride_for(n), rows = n, columns = m, ldb, i;
    shs_side side = pick(0, 1);
    shs_uplo uplo;
    shs_trans trans;
    shs_diag diag = SHS_DIAG_NON_UNIT;
    shs_real *A, *B;
    if (side == SHS_SIDE_RIGHT) {
        rows = m;
        columns = n;
    }
    ldb = stride_for(rows);
    uplo = pick(0, 1);
    trans = pick(0, 1);
    A = input(n, n, lda);
    B = input(rows, columns, ldb);
    for (i = 0; i < n; i++) A[entry(lda, i, i)] = 2 * n;
    if (naive) {
        must(shs_cholesky_naive(uplo, n, A, lda) == SHS_OK);
        must(shs_trsm_naive(side, uplo, trans, diag, rows, columns, 1, A, lda, B, ldb) == SHS_OK);
    } else {
        must(shs_cholesky(&ctx, uplo, n, A, lda) == SHS_OK);
        seal(A);
        must(shs_trsm(&ctx, side, uplo, trans, diag, rows, columns, 1, A, lda, B, ldb) == SHS_OK);
    }
    put_matrix(r, n, n, A, lda);
    put_matrix(r, rows, columns, B, ldb);
    r->unit = 64 * sqrt(n);
    DROP(A);
    DROP(B);
}

/* ---- vectors ------------------------------------------------------------------------------------------------------ */

/* A vector with an increment. `first` is its first element, which for a negative increment lies last. */
typedef struct vector {
    int n, inc;
    shs_real *x, *first;
} vector;

static int increment(void) {
    int size = pick(1, 3);
    if (pick(0, 1)) return size;
    return -size;
}

static vector vector_of(int n, int inc) {
    vector v;
    v.n = n;
    v.inc = inc;
    v.x = input((n - 1) * abs(inc) + 1, 1, 1);
    v.first = v.x;
    if (inc < 0) v.first -= (ptrdiff_t)(n - 1) * inc;
    return v;
}

static double element(const vector *v, int i) { return v->first[i * v->inc]; }

/* y += op(A) x */
static void gemv_naive(shs_trans trans, const shs_real *A, int lda, const vector *x, vector *y) {
    int i, j;
    for (i = 0; i < y->n; i++) {
        double sum = 0;
        for (j = 0; j < x->n; j++) {
            double a;
            if (trans) a = A[entry(lda, j, i)];
            else a = A[entry(lda, i, j)];
            sum += element(x, j) * a;
        }
        y->first[i * y->inc] = sum + element(y, i);
    }
}

/* gemv, nrm2 and dot have no twins: sums in plain loops. */
static void vectors(int naive, result *r) {
    int m = length_up_to(2000), n = length_up_to(300), lda = stride_for(m), nx = n, ny = m, incx, incy, i;
    shs_trans trans = pick(0, 1);
    shs_real *A;
    vector x, y;
    incx = increment();
    incy = increment();
    if (trans) {
        nx = m;
        ny = n;
    }
    A = input(m, n, lda);
    x = vector_of(nx, incx);
    y = vector_of(ny, incy);
    seal(A);
    seal(x.x);
    if (naive) gemv_naive(trans, A, lda, &x, &y);
    else must(shs_gemv(trans, m, n, 1, A, lda, x.x, incx, 1, y.x, incy) == SHS_OK);
    for (i = 0; i < ny; i++) put(r, element(&y, i));
    if (naive) {
        double squares = 0;
        for (i = 0; i < nx; i++) squares += element(&x, i) * element(&x, i);
        put(r, sqrt(squares));
        put(r, squares);
    } else {
        put(r, shs_nrm2(nx, x.x, incx));
        put(r, shs_dot(nx, x.x, incx, x.x, incx));
    }
    r->unit = 8.0 * nx + 16;
    DROP(A);
    DROP(x.x);
    DROP(y.x);
}

/* ---- what results must satisfy ------------------------------------------------------------------------------------ */

/* An entry of a symmetric matrix, whose lower triangle is there. */
static double symmetric_entry(const shs_wide *A, int lda, int i, int j) {
    return A[entry(lda, shs__imax(i, j), shs__imin(i, j))];
}

static double symmetric_norm(int n, const shs_wide *A, int lda) {
    double sum = 0;
    int i, j;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) sum += pow(symmetric_entry(A, lda, i, j), 2);
    return sqrt(sum);
}

static void check_pairs(int n, const shs_wide *A, int lda, int k, const shs_wide *values, const shs_wide *V, int ldv) {
    double norm = symmetric_norm(n, A, lda);
    int i, j, l;
    for (l = 0; l < k; l++) {
        must(l == 0 || values[l - 1] >= values[l]);
        for (i = 0; i < n; i++) {
            double lambda = values[l], sum = -lambda * V[entry(ldv, i, l)];
            for (j = 0; j < n; j++) sum += symmetric_entry(A, lda, i, j) * V[entry(ldv, j, l)];
            must(fabs(sum) <= 50 * n * wide_eps * norm);
        }
    }
}

/* The pairs by what they must satisfy. */
static void eigenvectors(int naive, result *r) {
    int n = length_up_to(mostly(4, 40, 200)), k = n, lda, ldv;
    shs_wide *A, *values, *V;
    size_t i;
    if (!pick(0, 1)) k = pick(1, n);
    lda = stride_for(n);
    ldv = stride_for(n);
    A = NEW(shs_wide, matrix_size(n, n, lda));
    values = NEW(shs_wide, k);
    V = NEW(shs_wide, matrix_size(n, k, ldv));
    for (i = 0; i < matrix_size(n, n, lda); i++) A[i] = value();
    r->unit = 1;
    if (!naive) {
        seal(A);
        must(shs_eigh(&ctx, n, A, lda, k, values, V, ldv) == SHS_OK);
        check_pairs(n, A, lda, k, values, V, ldv);
    }
    DROP(A);
    DROP(values);
    DROP(V);
}

/* Atoms, signals, and codes of at most s atoms a signal. */
typedef struct sparse {
    int p, n, m, s, ldd, ldy;
    shs_real *D, *Y;
    shs_codes codes;
} sparse;

static int most_atoms(const sparse *q) { return shs__imin(q->s, shs__imin(q->p, q->n)); }

static sparse sparse_of(int most_p, int most_n, int most_s, int seldom_m) {
    sparse q;
    memset(&q, 0, sizeof q);
    q.p = length_up_to(most_p);
    q.n = length_up_to(most_n);
    q.ldd = stride_for(q.p);
    q.ldy = stride_for(q.p);
    q.s = pick(1, most_s);
    q.m = length_up_to(mostly(5, 200, seldom_m));
    q.codes.m = q.m;
    q.codes.stride = most_atoms(&q) + pick(0, 3);
    q.D = input(q.p, q.n, q.ldd);
    q.Y = input(q.p, q.m, q.ldy);
    return q;
}

static void new_codes(sparse *q) {
    q->codes.used = NEW(int, q->m);
    q->codes.atoms = NEW(int, q->m * q->codes.stride);
    q->codes.coefs = NEW(shs_real, q->m * q->codes.stride);
}

static void drop_sparse(sparse *q) {
    DROP(q->D);
    DROP(q->Y);
    DROP(q->codes.used);
    DROP(q->codes.atoms);
    DROP(q->codes.coefs);
}

static double dot(int n, const double *x, const shs_real *y) {
    double sum = 0;
    int i;
    for (i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static double square(int n, const double *x) {
    double sum = 0;
    int i;
    for (i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* No other atom correlates more with the signal than the first that was chosen. */
static void check_first(const sparse *q, const double *y, int atom) {
    double first = fabs(dot(q->p, y, q->D + entry(q->ldd, 0, atom))), most = 0;
    int k;
    for (k = 0; k < q->n; k++) most = fmax(most, fabs(dot(q->p, y, q->D + entry(q->ldd, 0, k))));
    must(first >= most * (1 - 100 * eps));
}

/* Returns the error of the code of signal j, whose square was reported. rest: room for p values. *norm2: that of the signal. */
static double check_code(const sparse *q, int j, double reported, double *rest, double *norm2) {
    const shs_real *y = q->Y + entry(q->ldy, 0, j), *coefs = q->codes.coefs + entry(q->codes.stride, 0, j);
    const int *atoms = q->codes.atoms + entry(q->codes.stride, 0, j), used = q->codes.used[j];
    double error2;
    int i, k;
    must(used >= 0 && used <= most_atoms(q));
    for (k = 0; k < used; k++) must(atoms[k] >= 0 && atoms[k] < q->n);
    for (i = 0; i < q->p; i++) rest[i] = y[i];
    *norm2 = square(q->p, rest);
    if (used > 0) check_first(q, rest, atoms[0]);
    for (k = 0; k < used; k++) {
        double coef = coefs[k];
        for (i = 0; i < q->p; i++) rest[i] -= coef * q->D[entry(q->ldd, i, atoms[k])];
    }
    error2 = square(q->p, rest);
    must(error2 <= *norm2 * (1 + 100 * eps));
    must(fabs(reported - error2) <= error_eps * *norm2);
    return error2;
}

static void check_codes(const sparse *q, double tolerance, const shs_real *errors2, const shs_omp_report *report) {
    double *rest = (double *)malloc(q->p * sizeof *rest), sum2 = 0;
    size_t nonzeros = 0, above = 0;
    int j;
    must(rest != NULL);
    for (j = 0; j < q->m; j++) {
        double norm2, error2 = check_code(q, j, errors2[j], rest, &norm2);
        sum2 += error2;
        nonzeros += q->codes.used[j];
        if (tolerance > 0 && sqrt(error2) > tolerance * (1 + 1e-5) && norm2 > 0) above++;
    }
    must(report->nonzeros == nonzeros);
    must(!(tolerance > 0) || above <= report->not_reached);
    must(fabs(report->sum2 - sum2) <= error_eps * (sum2 + 1e-3 * q->m));
    free(rest);
}

/* Codes by what they must satisfy: the first atom is the strongest, the residual is not longer than the signal, and what is
   reported is true. */
static void coding(int naive, result *r) {
    sparse q = sparse_of(100, 300, 10, 2000);
    shs_real *errors2 = NEW(shs_real, q.m);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report = SHS_ZERO;
    o.sparsity = q.s;
    o.gram_mode = pick(0, 2);
    o.signals_per_group = pick(0, 60);
    if (pick(0, 1)) o.tolerance = pick(1, 8) / 4.0;
    r->unit = 1;
    new_codes(&q);
    if (!naive) {
        must(shs_normalize_columns(q.p, q.n, q.D, q.ldd, NULL) == SHS_OK);
        seal(q.D);
        seal(q.Y);
        must(shs_omp_ex(&ctx, q.p, q.n, q.D, q.ldd, q.m, q.Y, q.ldy, &o, &q.codes, errors2, &report) == SHS_OK);
        check_codes(&q, o.tolerance, errors2, &report);
    }
    DROP(errors2);
    drop_sparse(&q);
}

/* Atoms keep unit length, and the reported error is the error of the returned dictionary. */
static void learning(int naive, result *r) {
    sparse q = sparse_of(60, 100, 5, 1000);
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_wide sum2;
    int i, j;
    o.iterations = pick(1, 3);
    o.coding.sparsity = q.s;
    o.parallel_atoms = pick(0, q.n);
    o.rounds = pick(0, 2);
    o.seed = draw();
    new_codes(&q);
    r->unit = 1;
    if (!naive) {
        double values = (double)q.p * q.m;
        seal(q.Y);
        must(shs_ksvd_ex(&ctx, q.p, q.n, q.m, q.Y, q.ldy, &o, q.D, q.ldd, &q.codes, &report) == SHS_OK);
        for (j = 0; j < q.n; j++) {
            double norm2 = 0;
            for (i = 0; i < q.p; i++) norm2 += pow(q.D[entry(q.ldd, i, j)], 2);
            must(fabs(norm2 - 1) < 1e-4);
        }
        must(shs_codes_residual(&ctx, q.p, q.n, q.D, q.ldd, q.m, q.Y, q.ldy, &q.codes, NULL, q.ldy, &sum2) == SHS_OK);
        must(fabs(sqrt(sum2 / values) - report.rmse) <= rmse_eps);
    }
    drop_sparse(&q);
}

/* ---- cubes ------------------------------------------------------------------------------------------------------- */

/* Writes v, which is in -1 .. 1, as a value of the type; returns what is stored. */
static double stored(shs_type type, unsigned char *at, double v) {
    int16_t i16 = (int16_t)(1000 * v);
    uint16_t u16 = (uint16_t)(5000 + 1000 * v);
    float f32 = (float)(100 * v);
    switch (type) {
    case SHS_TYPE_U8: *at = (unsigned char)(128 + 100 * v); return *at;
    case SHS_TYPE_I16: memcpy(at, &i16, sizeof i16); return i16;
    case SHS_TYPE_U16: memcpy(at, &u16, sizeof u16); return u16;
    default: memcpy(at, &f32, sizeof f32); return f32;
    }
}

/* A cube with a list of its bands and a mask, its values once more as double, and a map of its pixels. */
typedef struct scene {
    shs_cube cube;
    size_t count; /* of pixels */
    int use;      /* bands of the list */
    unsigned char *at, *mask;
    int *list;
    double *x;
    shs_pixel_map map;
    shs_wide *matrix, *centre, *means, *covariance;
    float *out;
} scene;

static size_t place_of(const shs_cube *c, size_t pixel, int band) {
    size_t line = pixel / c->samples, sample = pixel % c->samples;
    if (c->interleave == SHS_INTERLEAVE_BSQ) return (size_t)band * c->samples * c->lines + pixel;
    if (c->interleave == SHS_INTERLEAVE_BIL) return (line * c->bands + band) * c->samples + sample;
    return pixel * c->bands + band;
}

static int counts(const scene *s, size_t pixel) { return !s->cube.mask || s->mask[pixel]; }
static double value_of(const scene *s, size_t pixel, int b) { return s->x[pixel * s->cube.bands + s->list[b]]; }

static void sizes_of(scene *s) {
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_F32};
    shs_cube *c = &s->cube;
    int most_samples = 100, most_lines = 30;
    c->type = types[pick(0, 3)];
    c->bands = length_up_to(mostly(5, 60, 300));
    if (c->bands > 60) {
        most_samples = 40;
        most_lines = 20;
    }
    c->samples = length_up_to(most_samples);
    c->lines = pick(1, most_lines);
    c->interleave = pick(0, 2);
    s->count = (size_t)c->samples * c->lines;
}

static void fill_scene(scene *s, int listed) {
    shs_cube *c = &s->cube;
    size_t size = shs_type_size(c->type), i;
    int b, k;
    for (i = 0; i < s->count; i++)
        for (b = 0; b < c->bands; b++) s->x[i * c->bands + b] = stored(c->type, s->at + place_of(c, i, b) * size, value());
    for (i = 0; i < s->count; i++) s->mask[i] = i == 0 || pick(0, 5) > 0;
    for (b = 0; b < s->use; b++) {
        s->list[b] = b;
        if (listed) s->list[b] = pick(0, c->bands - 1);
        s->centre[b] = value();
    }
    for (k = 0; k < s->map.outputs * s->use; k++) s->matrix[k] = value();
    seal(s->at);
    seal(s->mask);
    seal(s->list);
    seal(s->matrix);
    seal(s->centre);
}

static void scene_of(scene *s) {
    shs_cube *c = &s->cube;
    size_t values;
    int masked, listed, outputs;
    memset(s, 0, sizeof *s);
    sizes_of(s);
    masked = pick(0, 1);
    listed = pick(0, 1);
    s->use = c->bands;
    if (listed) s->use = pick(1, c->bands);
    outputs = pick(1, s->use);
    values = s->count * c->bands;
    s->at = NEW(unsigned char, values * shs_type_size(c->type));
    s->mask = NEW(unsigned char, s->count);
    s->list = NEW(int, s->use);
    s->x = (double *)malloc(values * sizeof *s->x);
    must(s->x != NULL);
    s->matrix = NEW(shs_wide, outputs * s->use);
    s->centre = NEW(shs_wide, s->use);
    s->means = NEW(shs_wide, s->use);
    s->covariance = NEW(shs_wide, s->use * s->use);
    s->out = NEW(float, s->count * outputs);
    s->map.bands = s->use;
    s->map.outputs = outputs;
    s->map.matrix = s->matrix;
    s->map.centre = s->centre;
    c->pixels = s->at;
    if (masked) c->mask = s->mask;
    if (listed) {
        c->band_list = s->list;
        c->band_count = s->use;
    }
    fill_scene(s, listed);
}

static void drop_scene(scene *s) {
    DROP(s->at);
    DROP(s->mask);
    DROP(s->list);
    DROP(s->matrix);
    DROP(s->centre);
    DROP(s->means);
    DROP(s->covariance);
    DROP(s->out);
    free(s->x);
}

/* The covariance of bands a and b, times the number of pixels. */
static double comoment(const scene *s, const double *mean, int a, int b) {
    double sum = 0;
    size_t i;
    for (i = 0; i < s->count; i++)
        if (counts(s, i)) sum += (value_of(s, i, a) - mean[a]) * (value_of(s, i, b) - mean[b]);
    return sum;
}

static void moments_naive(const scene *s, result *r) {
    double *mean = (double *)calloc(s->use, sizeof *mean), valid = 0;
    size_t i;
    int a, b;
    must(mean != NULL);
    for (i = 0; i < s->count; i++) {
        if (!counts(s, i)) continue;
        for (b = 0; b < s->use; b++) mean[b] += value_of(s, i, b);
        valid++;
    }
    for (b = 0; b < s->use; b++) {
        mean[b] /= valid;
        put(r, mean[b] / 5000);
    }
    for (b = 0; b < s->use; b++)
        for (a = b; a < s->use; a++) put(r, comoment(s, mean, a, b) / valid / 1e6);
    free(mean);
}

static void moments(const scene *s, result *r) {
    shs_moments sums = SHS_ZERO;
    int a, b;
    must(shs_moments_create(&ctx, s->use, &sums) == SHS_OK);
    must(shs_moments_update(&ctx, &s->cube, pick(0, 1), &sums) == SHS_OK);
    must(shs_moments_finish(&sums, SHS_DIVISOR_N, s->means, s->covariance, s->use) == SHS_OK);
    shs_moments_free(&ctx, &sums);
    for (b = 0; b < s->use; b++) put(r, s->means[b] / 5000.0);
    for (b = 0; b < s->use; b++)
        for (a = b; a < s->use; a++) put(r, s->covariance[b * s->use + a] / 1e6);
}

/* Output k of pixel i, on the scale of the other results; 0 for pixels that are masked. */
static void put_output(result *r, const scene *s, size_t i, double v) {
    if (!counts(s, i)) v = 0;
    put(r, v / 5000 / sqrt(s->use));
}

static void map_naive(const scene *s, result *r) {
    int outputs = s->map.outputs, b, k;
    size_t i;
    for (i = 0; i < s->count; i++)
        for (k = 0; k < outputs; k++) {
            double sum = 0;
            for (b = 0; b < s->use; b++) {
                double weight = s->matrix[b * outputs + k];
                sum += weight * (value_of(s, i, b) - s->centre[b]);
            }
            put_output(r, s, i, sum);
        }
}

static void map_pixels(const scene *s, result *r) {
    shs_sink sink = SHS_ZERO;
    int outputs = s->map.outputs, k;
    size_t i;
    sink.pixels = s->out;
    sink.type = SHS_TYPE_F32;
    sink.interleave = SHS_INTERLEAVE_BIP;
    must(shs_cube_map(&ctx, &s->cube, &s->map, pick(0, 1), &sink) == SHS_OK);
    for (i = 0; i < s->count; i++)
        for (k = 0; k < outputs; k++) {
            double v = s->out[i * outputs + k];
            must(counts(s, i) || v != v);
            put_output(r, s, i, v);
        }
}

/* Mean and covariance of the valid pixels, and a map of all, for a type, an interleave, a list of bands, a mask. */
static void pixels(int naive, result *r) {
    scene s;
    scene_of(&s);
    if (naive) {
        moments_naive(&s, r);
        map_naive(&s, r);
    } else {
        moments(&s, r);
        map_pixels(&s, r);
    }
    r->unit = 64;
    if (eps < 1e-12) r->unit = 1.2e-7 / eps; /* outputs are floats */
    drop_scene(&s);
}

/* ---- patches ------------------------------------------------------------------------------------------------------ */

/* The problem of patches: an image, its patches as columns of Y, and the image that is put together from Y, in `sum` and
   `weight`. */
typedef struct collage {
    shs_image image;
    shs_patches set;
    size_t count, all, area; /* of signals; values and pixels of the image */
    int p, ldy;
    shs_real *pixels, *Y, *means, *sum, *weight;
} collage;

static void collage_of(collage *c) {
    shs_image *image = &c->image;
    size_t row, values, i;
    memset(c, 0, sizeof *c);
    image->width = pick(8, 60);
    image->height = pick(8, 60);
    image->channels = pick(1, 3);
    image->type = SHS_TYPE_REAL;
    c->set.keep_mean = pick(0, 1);
    row = (size_t)image->width * image->channels;
    image->row_stride = row + pick(0, 5);
    values = image->row_stride * (image->height - 1) + row;
    c->pixels = NEW(shs_real, values);
    image->pixels = c->pixels;
    for (i = 0; i < values; i++) c->pixels[i] = value();
    c->set.width = pick(1, 8);
    c->set.height = pick(1, 8);
    c->set.step_x = pick(0, 3);
    c->set.step_y = pick(0, 3);
    seal(c->pixels);
    c->count = shs_patches_count(image, &c->set, &c->p);
    must(c->count > 0);
    c->ldy = stride_for(c->p);
    c->area = (size_t)image->width * image->height;
    c->all = c->area * image->channels;
    c->Y = NEW(shs_real, matrix_size(c->p, c->count, c->ldy));
    c->means = NEW(shs_real, image->channels * c->count);
    c->sum = NEW(shs_real, c->all);
    c->weight = NEW(shs_real, c->area);
    for (i = 0; i < c->all; i++) c->sum[i] = 0;
    for (i = 0; i < c->area; i++) c->weight[i] = 0;
}

/* One channel of the patch at (x, y) becomes a part of a signal, and is added to the sum. */
static void copy_channel(collage *c, int x, int y, int channel, shs_real *part) {
    const int width = c->set.width, height = c->set.height, channels = c->image.channels;
    double mean = 0;
    int i, j, k = 0;
    for (j = 0; j < height; j++)
        for (i = 0; i < width; i++) {
            size_t pixel = (size_t)(y + j) * c->image.width + (x + i);
            part[k] = c->pixels[(y + j) * c->image.row_stride + (x + i) * channels + channel];
            c->sum[pixel * channels + channel] += part[k];
            if (channel == 0) c->weight[pixel] += 1;
            mean += (double)part[k] / (width * height);
            k++;
        }
    for (k = 0; k < width * height && !c->set.keep_mean; k++) part[k] -= (shs_real)mean;
}

static void patches_naive(collage *c) {
    size_t index;
    int channel, x, y;
    for (index = 0; index < c->count; index++) {
        must(shs_patches_position(&c->image, &c->set, index, &x, &y) == SHS_OK);
        for (channel = 0; channel < c->image.channels; channel++) {
            shs_real *part = c->Y + entry(c->ldy, channel * c->set.width * c->set.height, index);
            copy_channel(c, x, y, channel, part);
        }
    }
}

/* Patches out of an image, and back. */
static void patches(int naive, result *r) {
    collage c;
    shs_real *means;
    size_t i;
    collage_of(&c);
    means = c.means;
    if (c.set.keep_mean) means = NULL;
    if (naive) patches_naive(&c);
    else {
        must(shs_patches_get(&ctx, &c.image, &c.set, 0, c.count, c.Y, c.ldy, means, NULL) == SHS_OK);
        must(shs_patches_put(&ctx, &c.image, &c.set, 0, c.count, c.Y, c.ldy, means, NULL, c.sum, c.weight) == SHS_OK);
    }
    put_matrix(r, c.p, c.count, c.Y, c.ldy);
    for (i = 0; i < c.all; i++) put(r, c.sum[i] / 64.0);
    for (i = 0; i < c.area; i++) put(r, c.weight[i]);
    r->unit = 16;
    DROP(c.pixels);
    DROP(c.Y);
    DROP(c.means);
    DROP(c.sum);
    DROP(c.weight);
}

/* ---- the build ---------------------------------------------------------------------------------------------------- */

static void (*const kinds[])(int naive, result *r) = {product, system_of, vectors, eigenvectors,
                                                      coding,  learning,  pixels,  patches};

static void run(const problem *p, int instance, int naive, result *r) {
    int i;
    state = p->seed;
    memset(&ctx, 0, sizeof ctx);
    ctx.alloc_fn = scratch;
    ctx.free_fn = give_back;
    ctx.threads = 1;
    instance_in_use = instance;
    r->count = 0;
    kinds[p->kind](naive, r);
    for (i = 0; i < MOST_BLOCKS; i++) must(!blocks[i].at);
}

const build NAMED(build_, NAME) = {TEXT(NAME), (int)(sizeof kinds / sizeof *kinds), EPS, SHS__INSTANCES,
                                     shs__kernels_available, run};
