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

/* ---- guarded memory ----------------------------------------------------------------------------------------------- */

enum { MOST_BLOCKS = 64, PATTERN = 0x5a };

typedef struct block {
    unsigned char *pages, *at; /* at: NULL for none */
    size_t whole, size;        /* of what lies between the two pages, of the buffer */
} block;

static block blocks[MOST_BLOCKS];
static uint64_t state; /* of the random numbers of the problem */

static uint64_t draw(void) {
    uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
static int pick(int low, int high) { return low + (int)(draw() % (uint64_t)(high - low + 1)); }
/* Of 1024 values between -1 and 1, exact in every build. */
static double value(void) { return (double)pick(-512, 512) / 512; }

/* The end is tight, or the start, as if by chance. */
static void *guarded(size_t size, size_t align) {
    static unsigned turn;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + align + page - 1) / page * page;
    block *b = blocks;
    while (b < blocks + MOST_BLOCKS && b->at) b++;
    must(b < blocks + MOST_BLOCKS);
    b->pages = (unsigned char *)mmap(NULL, whole + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(b->pages != MAP_FAILED);
    must(!mprotect(b->pages, page, PROT_NONE) && !mprotect(b->pages + page + whole, page, PROT_NONE));
    b->whole = whole, b->size = size;
    b->at = b->pages + page + (turn++ % 2 ? 0 : (whole - size) / align * align);
    memset(b->pages + page, PATTERN, whole);
    return b->at;
}

static void give_back(void *user, void *at) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), i;
    block *b = blocks;
    (void)user;
    if (!at) return;
    while (b < blocks + MOST_BLOCKS && b->at != at) b++;
    must(b < blocks + MOST_BLOCKS);
    for (i = 0; i < b->whole; i++) {
        const unsigned char *c = b->pages + page + i;
        must((c >= b->at && c < b->at + b->size) || *c == PATTERN);
    }
    munmap(b->pages, b->whole + 2 * page);
    b->at = NULL;
}

/* Only what is an input may not be written to. */
static void seal(void *at, int sealed) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    block *b = blocks;
    while (b < blocks + MOST_BLOCKS && b->at != at) b++;
    must(b < blocks + MOST_BLOCKS);
    must(!mprotect(b->pages + page, b->whole, sealed ? PROT_READ : PROT_READ | PROT_WRITE));
}

static void *scratch(void *user, size_t size) {
    (void)user;
    return guarded(size, 16);
}

/* The last of ld values of the last column are not there. */
static size_t matrix_size(int rows, int columns, int ld) {
    return rows > 0 && columns > 0 ? (size_t)(columns - 1) * (size_t)ld + (size_t)rows : 0;
}
#define NEW(type, count) ((type *)guarded((size_t)(count) * sizeof(type), sizeof(type)))
#define DROP(p) give_back(NULL, p)

static shs_real *input(int rows, int columns, int ld) {
    size_t count = matrix_size(rows, columns, ld), i;
    shs_real *A = NEW(shs_real, count);
    for (i = 0; i < count; i++) A[i] = (shs_real)value();
    return A;
}

/* ---- problems ------------------------------------------------------------------------------------------------------ */

/* Around the widths of vectors and tiles, the blocks, and beyond. */
static int length_up_to(int most) {
    static const int edges[] = {1,   2,   3,   4,   7,   8,   15,  16,  17,  31,  32,   33,   47,   48,
                                63,  64,  65,  95,  96,  127, 128, 129, 143, 144, 145,  191,  192,  255,
                                256, 257, 287, 288, 383, 384, 385, 511, 512, 768, 1023, 1024, 1025, 1536};
    int n = pick(0, 2) ? edges[pick(0, (int)(sizeof edges / sizeof *edges) - 1)] : pick(1, most);
    return n <= most ? n : pick(1, most);
}
static int stride_for(int rows) { return rows + (pick(0, 1) ? pick(0, 9) : 0); }

static void put(result *r, double v) {
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 1024;
        r->values = (double *)realloc(r->values, r->room * sizeof *r->values);
        must(r->values != NULL);
    }
    r->values[r->count++] = v;
}

static void put_matrix(result *r, int rows, int columns, const shs_real *A, int ld) {
    int i, j;
    for (j = 0; j < columns; j++)
        for (i = 0; i < rows; i++) put(r, (double)A[(size_t)j * (size_t)ld + (size_t)i]);
}

static shs_context ctx;

/* So deep that slabs of the depth are added up, where there is little else to do. */
static int depth_for(int m, int n) {
    return m * n <= 400 && pick(0, 2) == 0 ? 2 * SHS__SLAB_DEPTH + pick(-2, 2) : length_up_to(m > 100 || n > 100 ? 300 : 2000);
}

static void product(int naive, result *r) {
    int most = pick(0, 9) ? 100 : 300, m = length_up_to(most), n = length_up_to(most), k = depth_for(m, n);
    shs_trans ta = (shs_trans)pick(0, 1), tb = (shs_trans)pick(0, 1);
    int lda = stride_for(ta ? k : m), ldb = stride_for(tb ? n : k), ldc = stride_for(m), square = pick(0, 2) == 0;
    shs_uplo uplo = (shs_uplo)pick(0, 1);
    shs_real alpha = (shs_real)pick(1, 3) / 2, beta = (shs_real)pick(-1, 1), *A, *B, *C;
    if (square) n = m;
    A = input(ta ? k : m, ta ? m : k, lda), B = input(tb ? n : k, tb ? k : n, ldb), C = input(m, n, ldc);
    seal(A, 1), seal(B, 1);
    if (square) {
        if (naive) must(shs_syrk_naive(uplo, ta, n, k, alpha, A, lda, beta, C, ldc) == SHS_OK);
        else must(shs_syrk(&ctx, uplo, ta, n, k, alpha, A, lda, beta, C, ldc) == SHS_OK);
    } else if (naive) must(shs_gemm_general_naive(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc) == SHS_OK);
    else must(shs_gemm(&ctx, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc) == SHS_OK);
    put_matrix(r, m, n, C, ldc);
    r->unit = 4 * sqrt((double)k) + 8;
    DROP(A), DROP(B), DROP(C);
}

static void system_of(int naive, result *r) {
    int n = length_up_to(pick(0, 9) ? 100 : 300), m = length_up_to(100), lda = stride_for(n), right = pick(0, 1), i;
    int rows = right ? m : n, columns = right ? n : m, ldb = stride_for(rows);
    shs_uplo uplo = (shs_uplo)pick(0, 1);
    shs_trans trans = (shs_trans)pick(0, 1);
    shs_diag diag = SHS_DIAG_NON_UNIT;
    shs_real *A = input(n, n, lda), *B = input(rows, columns, ldb);
    for (i = 0; i < n; i++) A[(size_t)i * (size_t)lda + (size_t)i] = (shs_real)(2 * n);
    if (naive) {
        must(shs_cholesky_naive(uplo, n, A, lda) == SHS_OK);
        must(shs_trsm_naive((shs_side)right, uplo, trans, diag, rows, columns, 1, A, lda, B, ldb) == SHS_OK);
    } else {
        must(shs_cholesky(&ctx, uplo, n, A, lda) == SHS_OK);
        seal(A, 1);
        must(shs_trsm(&ctx, (shs_side)right, uplo, trans, diag, rows, columns, 1, A, lda, B, ldb) == SHS_OK);
    }
    put_matrix(r, n, n, A, lda), put_matrix(r, rows, columns, B, ldb);
    r->unit = 64 * sqrt((double)n);
    DROP(A), DROP(B);
}

/* gemv, ger and trsv have no twins: sums in plain loops. */
static void vectors(int naive, result *r) {
    int m = length_up_to(2000), n = length_up_to(300), lda = stride_for(m), trans = pick(0, 1), i, j;
    int incx = pick(1, 3) * (pick(0, 1) ? 1 : -1), incy = pick(1, 3) * (pick(0, 1) ? 1 : -1);
    int nx = trans ? m : n, ny = trans ? n : m;
    shs_real *A = input(m, n, lda), *x = input((nx - 1) * abs(incx) + 1, 1, 1), *y = input((ny - 1) * abs(incy) + 1, 1, 1);
    const shs_real *x0 = incx < 0 ? x - (ptrdiff_t)(nx - 1) * incx : x;
    shs_real *y0 = incy < 0 ? y - (ptrdiff_t)(ny - 1) * incy : y;
    seal(A, 1), seal(x, 1);
    if (naive)
        for (i = 0; i < ny; i++) {
            double sum = 0;
            for (j = 0; j < nx; j++)
                sum += (double)x0[j * incx] *
                       (double)(trans ? A[(size_t)i * (size_t)lda + (size_t)j] : A[(size_t)j * (size_t)lda + (size_t)i]);
            y0[i * incy] = (shs_real)(sum + (double)y0[i * incy]);
        }
    else must(shs_gemv((shs_trans)trans, m, n, 1, A, lda, x, incx, 1, y, incy) == SHS_OK);
    for (i = 0; i < ny; i++) put(r, (double)y0[i * incy]);
    if (naive) {
        double squares = 0;
        for (i = 0; i < nx; i++) squares += (double)x0[i * incx] * (double)x0[i * incx];
        put(r, sqrt(squares)), put(r, squares);
    } else put(r, (double)shs_nrm2(nx, x, incx)), put(r, (double)shs_dot(nx, x, incx, x, incx));
    r->unit = 8 * (double)nx + 16;
    DROP(A), DROP(x), DROP(y);
}

/* The pairs by what they must satisfy. */
static void eigenvectors(int naive, result *r) {
    int n = length_up_to(pick(0, 4) ? 40 : 200), k = pick(0, 1) ? n : pick(1, n), lda = stride_for(n), ldv = stride_for(n), i,
        j, l;
    shs_wide *A = NEW(shs_wide, matrix_size(n, n, lda)), *values = NEW(shs_wide, k), *V = NEW(shs_wide, matrix_size(n, k, ldv));
    double norm = 0;
    for (i = 0; (size_t)i < matrix_size(n, n, lda); i++) A[i] = (shs_wide)value();
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) norm += (i == j ? 1 : 2) * pow((double)A[(size_t)j * (size_t)lda + (size_t)i], 2);
    norm = sqrt(norm);
    r->unit = 1;
    if (!naive) {
        seal(A, 1);
        must(shs_eigh(&ctx, n, A, lda, k, values, V, ldv) == SHS_OK);
        for (l = 0; l < k; l++) {
            must(l == 0 || values[l - 1] >= values[l]);
            for (i = 0; i < n; i++) {
                double sum = -(double)values[l] * (double)V[(size_t)l * (size_t)ldv + (size_t)i];
                for (j = 0; j < n; j++)
                    sum += (double)A[(size_t)shs__imin(i, j) * (size_t)lda + (size_t)shs__imax(i, j)] *
                           (double)V[(size_t)l * (size_t)ldv + (size_t)j];
                must(fabs(sum) <= 50 * n * wide_eps * norm);
            }
        }
    }
    DROP(A), DROP(values), DROP(V);
}

/* Codes by what they must satisfy: the first atom is the strongest, the residual is orthogonal to the atoms, and what is
   reported is true. */
static void coding(int naive, result *r) {
    int p = length_up_to(100), n = length_up_to(300), ldd = stride_for(p), ldy = stride_for(p), s = pick(1, 10), i, j, k;
    int m = length_up_to(pick(0, 5) ? 200 : 2000), stride = shs__imin(s, shs__imin(p, n)) + pick(0, 3);
    shs_real *D = input(p, n, ldd), *Y = input(p, m, ldy), *errors2 = NEW(shs_real, m);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report = SHS_ZERO;
    shs_codes codes;
    double *rest, sum2 = 0;
    o.sparsity = s, o.gram_mode = (shs_gram_mode)pick(0, 2), o.signals_per_group = (size_t)pick(0, 60);
    if (pick(0, 1)) o.tolerance = (shs_real)pick(1, 8) / 4;
    r->unit = 1;
    codes.m = (size_t)m, codes.stride = stride;
    codes.used = NEW(int, m), codes.atoms = NEW(int, m *stride), codes.coefs = NEW(shs_real, m * stride);
    if (!naive) {
        size_t nonzeros = 0, above = 0;
        must(shs_normalize_columns(p, n, D, ldd, NULL) == SHS_OK);
        seal(D, 1), seal(Y, 1);
        must(shs_omp_ex(&ctx, p, n, D, ldd, (size_t)m, Y, ldy, &o, &codes, errors2, &report) == SHS_OK);
        rest = (double *)malloc((size_t)p * sizeof *rest);
        must(rest != NULL);
        for (j = 0; j < m; j++) {
            const shs_real *y = Y + (size_t)j * (size_t)ldy;
            double norm2 = 0, error2 = 0, most = 0, first = 0;
            int used = codes.used[j];
            must(used >= 0 && used <= shs__imin(s, shs__imin(p, n)));
            for (i = 0; i < p; i++) rest[i] = (double)y[i], norm2 += rest[i] * rest[i];
            for (k = 0; k < n; k++) {
                double c = 0;
                for (i = 0; i < p; i++) c += (double)D[(size_t)k * (size_t)ldd + (size_t)i] * (double)y[i];
                most = fmax(most, fabs(c));
                if (used > 0 && k == codes.atoms[(size_t)j * (size_t)stride]) first = fabs(c);
            }
            must(used == 0 || first >= most * (1 - 100 * eps));
            for (k = 0; k < used; k++) {
                int atom = codes.atoms[(size_t)j * (size_t)stride + (size_t)k];
                must(atom >= 0 && atom < n);
                for (i = 0; i < p; i++)
                    rest[i] -= (double)codes.coefs[(size_t)j * (size_t)stride + (size_t)k] *
                               (double)D[(size_t)atom * (size_t)ldd + (size_t)i];
            }
            for (i = 0; i < p; i++) error2 += rest[i] * rest[i];
            must(error2 <= norm2 * (1 + 100 * eps));
            must(fabs((double)errors2[j] - error2) <= (sizeof(shs_real) == 4 ? 2e-3 : 1e-9) * norm2);
            sum2 += error2, nonzeros += (size_t)used;
            above += o.tolerance > 0 && sqrt(error2) > (double)o.tolerance * (1 + 1e-5) && norm2 > 0;
        }
        must(report.nonzeros == nonzeros);
        must(!(o.tolerance > 0) || above <= report.not_reached);
        must(fabs((double)report.sum2 - sum2) <= (sizeof(shs_real) == 4 ? 2e-3 : 1e-9) * (sum2 + 1e-3 * m));
        free(rest);
    }
    DROP(D), DROP(Y), DROP(errors2), DROP(codes.used), DROP(codes.atoms), DROP(codes.coefs);
}

/* Atoms keep unit length, and the reported error is the error of the returned dictionary. */
static void learning(int naive, result *r) {
    int p = length_up_to(60), n = length_up_to(100), ldd = stride_for(p), ldy = stride_for(p), s = pick(1, 5), i, j;
    int m = length_up_to(pick(0, 5) ? 200 : 1000), stride = shs__imin(s, shs__imin(p, n)) + pick(0, 3);
    shs_real *D = input(p, n, ldd), *Y = input(p, m, ldy);
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_codes codes;
    shs_wide sum2;
    o.iterations = pick(1, 3), o.coding.sparsity = s, o.parallel_atoms = pick(0, n), o.rounds = pick(0, 2), o.seed = draw();
    codes.m = (size_t)m, codes.stride = stride;
    codes.used = NEW(int, m), codes.atoms = NEW(int, m *stride), codes.coefs = NEW(shs_real, m * stride);
    r->unit = 1;
    if (!naive) {
        seal(Y, 1);
        must(shs_ksvd_ex(&ctx, p, n, (size_t)m, Y, ldy, &o, D, ldd, &codes, &report) == SHS_OK);
        for (j = 0; j < n; j++) {
            double norm2 = 0;
            for (i = 0; i < p; i++) norm2 += pow((double)D[(size_t)j * (size_t)ldd + (size_t)i], 2);
            must(fabs(norm2 - 1) < 1e-4);
        }
        must(shs_codes_residual(&ctx, p, n, D, ldd, (size_t)m, Y, ldy, &codes, NULL, ldy, &sum2) == SHS_OK);
        must(fabs(sqrt((double)sum2 / ((double)p * m)) - (double)report.rmse) <= (sizeof(shs_real) == 4 ? 1e-3 : 1e-8));
    }
    DROP(D), DROP(Y), DROP(codes.used), DROP(codes.atoms), DROP(codes.coefs);
}

/* ---- cubes ------------------------------------------------------------------------------------------------------- */

static double stored(shs_type type, void *at, double v) { /* what is stored for v, in -1 .. 1 */
    switch (type) {
    case SHS_TYPE_U8: return (double)(*(uint8_t *)at = (uint8_t)(128 + 100 * v));
    case SHS_TYPE_I16: {
        int16_t x = (int16_t)(1000 * v);
        memcpy(at, &x, sizeof x);
        return x;
    }
    case SHS_TYPE_U16: {
        uint16_t x = (uint16_t)(5000 + 1000 * v);
        memcpy(at, &x, sizeof x);
        return x;
    }
    default: {
        float x = (float)(100 * v);
        memcpy(at, &x, sizeof x);
        return (double)x;
    }
    }
}

/* Mean and covariance of the valid pixels, and a map of all, for a type, an interleave, a list of bands, a mask. */
static void pixels(int naive, result *r) {
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_F32};
    shs_type type = types[pick(0, 3)];
    int bands = length_up_to(pick(0, 5) ? 60 : 300), samples = length_up_to(bands > 60 ? 40 : 100),
        lines = pick(1, bands > 60 ? 20 : 30);
    int interleave = pick(0, 2), masked = pick(0, 1), listed = pick(0, 1), use = listed ? pick(1, bands) : bands,
        outputs = pick(1, use);
    size_t count = (size_t)samples * (size_t)lines, size = shs_type_size(type), i;
    unsigned char *at = NEW(unsigned char, count *(size_t)bands *size), *mask = NEW(unsigned char, count);
    int *list = NEW(int, use), a, b, k;
    double *x = (double *)malloc(count * (size_t)bands * sizeof *x), *mean, *C, valid = 0;
    shs_cube cube = SHS_ZERO;
    shs_wide *matrix = NEW(shs_wide, outputs * use), *centre = NEW(shs_wide, use);
    shs_wide *means = NEW(shs_wide, use), *covariance = NEW(shs_wide, use * use);
    float *out = NEW(float, count *(size_t)outputs);
    must(x != NULL);
    mean = (double *)calloc((size_t)use, sizeof *mean), C = (double *)calloc((size_t)use * (size_t)use, sizeof *C);
    must(mean && C);
    for (i = 0; i < count; i++)
        for (b = 0; b < bands; b++) {
            size_t line = i / (size_t)samples, sample = i % (size_t)samples;
            size_t place = interleave == SHS_INTERLEAVE_BSQ   ? (size_t)b * count + i
                           : interleave == SHS_INTERLEAVE_BIL ? (line * (size_t)bands + (size_t)b) * (size_t)samples + sample
                                                   : i * (size_t)bands + (size_t)b;
            union {
                float f;
                uint16_t w;
                uint8_t c[8];
            } cell;
            x[i * (size_t)bands + (size_t)b] = stored(type, cell.c, value());
            memcpy(at + place * size, cell.c, size);
        }
    for (i = 0; i < count; i++) mask[i] = (unsigned char)(i == 0 || pick(0, 5) > 0);
    for (b = 0; b < use; b++) list[b] = listed ? pick(0, bands - 1) : b, centre[b] = (shs_wide)value();
    for (k = 0; k < outputs * use; k++) matrix[k] = (shs_wide)value();
    cube.pixels = at, cube.type = type, cube.samples = samples, cube.lines = lines, cube.bands = bands;
    cube.interleave = (shs_interleave)interleave;
    if (masked) cube.mask = mask;
    if (listed) cube.band_list = list, cube.band_count = use;
    seal(at, 1), seal(mask, 1), seal(list, 1), seal(matrix, 1), seal(centre, 1);
    if (naive) {
        for (i = 0; i < count; i++) {
            if (masked && !mask[i]) continue;
            for (b = 0; b < use; b++) mean[b] += x[i * (size_t)bands + (size_t)list[b]];
            valid++;
        }
        for (b = 0; b < use; b++) mean[b] /= valid, put(r, mean[b] / 5000);
        for (i = 0; i < count; i++) {
            if (masked && !mask[i]) continue;
            for (b = 0; b < use; b++)
                for (a = b; a < use; a++)
                    C[b * use + a] +=
                        (x[i * (size_t)bands + (size_t)list[a]] - mean[a]) * (x[i * (size_t)bands + (size_t)list[b]] - mean[b]);
        }
        for (b = 0; b < use; b++)
            for (a = b; a < use; a++) put(r, C[b * use + a] / valid / 1e6);
        for (i = 0; i < count; i++)
            for (k = 0; k < outputs; k++) {
                double sum = 0;
                for (b = 0; b < use; b++)
                    sum += (double)matrix[b * outputs + k] * (x[i * (size_t)bands + (size_t)list[b]] - (double)centre[b]);
                put(r, masked && !mask[i] ? 0 : sum / 5000 / sqrt(use));
            }
    } else {
        shs_moments sums = SHS_ZERO;
        shs_pixel_map map = SHS_ZERO;
        shs_sink sink = SHS_ZERO;
        must(shs_moments_create(&ctx, use, &sums) == SHS_OK);
        must(shs_moments_update(&ctx, &cube, pick(0, 1), &sums) == SHS_OK);
        must(shs_moments_finish(&sums, SHS_DIVISOR_N, means, covariance, use) == SHS_OK);
        shs_moments_free(&ctx, &sums);
        for (b = 0; b < use; b++) put(r, (double)means[b] / 5000);
        for (b = 0; b < use; b++)
            for (a = b; a < use; a++) put(r, (double)covariance[b * use + a] / 1e6);
        map.bands = use, map.outputs = outputs, map.matrix = matrix, map.centre = centre;
        sink.pixels = out, sink.type = SHS_TYPE_F32, sink.interleave = SHS_INTERLEAVE_BIP;
        must(shs_cube_map(&ctx, &cube, &map, pick(0, 1), &sink) == SHS_OK);
        for (i = 0; i < count; i++)
            for (k = 0; k < outputs; k++) {
                double v = (double)out[i * (size_t)outputs + (size_t)k];
                must(!masked || mask[i] || v != v);
                put(r, masked && !mask[i] ? 0 : v / 5000 / sqrt(use));
            }
    }
    r->unit = eps < 1e-12 ? 1.2e-7 / eps : 64; /* outputs are floats */
    DROP(at), DROP(mask), DROP(list), DROP(matrix), DROP(centre), DROP(means), DROP(covariance), DROP(out);
    free(x), free(mean), free(C);
}

/* Patches out of an image, and back. */
static void patches(int naive, result *r) {
    int width = pick(8, 60), height = pick(8, 60), channels = pick(1, 3), p, ldy, c, i, j, k, x, y, whole = pick(0, 1);
    size_t row = (size_t)width * (size_t)channels + (size_t)pick(0, 5), count, index,
           pixel_count = (size_t)width * (size_t)height;
    shs_real *image_pixels = NEW(shs_real, row * (size_t)(height - 1) + (size_t)width * (size_t)channels), *Y, *means, *sum,
             *weight;
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    for (i = 0; (size_t)i < row * (size_t)(height - 1) + (size_t)width * (size_t)channels; i++)
        image_pixels[i] = (shs_real)value();
    image.pixels = image_pixels, image.type = SHS_TYPE_REAL, image.width = width, image.height = height,
    image.channels = channels;
    image.row_stride = row;
    set.width = pick(1, 8), set.height = pick(1, 8), set.step_x = pick(0, 3), set.step_y = pick(0, 3), set.keep_mean = whole;
    seal(image_pixels, 1);
    count = shs_patches_count(&image, &set, &p);
    must(count > 0);
    ldy = stride_for(p);
    Y = NEW(shs_real, matrix_size(p, (int)count, ldy)), means = NEW(shs_real, (size_t)channels * count);
    sum = NEW(shs_real, pixel_count * (size_t)channels), weight = NEW(shs_real, pixel_count);
    for (index = 0; index < pixel_count * (size_t)channels; index++) sum[index] = 0;
    for (index = 0; index < pixel_count; index++) weight[index] = 0;
    if (naive)
        for (index = 0; index < count; index++) {
            shs_real *signal = Y + index * (size_t)ldy;
            must(shs_patches_position(&image, &set, index, &x, &y) == SHS_OK);
            for (c = 0; c < channels; c++) {
                double mean = 0;
                for (j = 0; j < set.height; j++)
                    for (i = 0; i < set.width; i++) {
                        k = (c * set.height + j) * set.width + i;
                        signal[k] = image_pixels[(size_t)(y + j) * row + (size_t)(x + i) * (size_t)channels + (size_t)c];
                        sum[((size_t)(y + j) * (size_t)width + (size_t)(x + i)) * (size_t)channels + (size_t)c] += signal[k];
                        if (c == 0) weight[(size_t)(y + j) * (size_t)width + (size_t)(x + i)] += 1;
                        mean += (double)signal[k] / (set.width * set.height);
                    }
                for (k = 0; !whole && k < set.width * set.height; k++) signal[c * set.width * set.height + k] -= (shs_real)mean;
            }
        }
    else {
        must(shs_patches_get(&ctx, &image, &set, 0, count, Y, ldy, whole ? NULL : means, NULL) == SHS_OK);
        must(shs_patches_put(&ctx, &image, &set, 0, count, Y, ldy, whole ? NULL : means, NULL, sum, weight) == SHS_OK);
    }
    put_matrix(r, p, (int)count, Y, ldy);
    for (index = 0; index < pixel_count * (size_t)channels; index++) put(r, (double)sum[index] / 64);
    for (index = 0; index < pixel_count; index++) put(r, (double)weight[index]);
    r->unit = 16;
    DROP(image_pixels), DROP(Y), DROP(means), DROP(sum), DROP(weight);
}

/* ---- the build ---------------------------------------------------------------------------------------------------- */

static void (*const kinds[])(int naive, result *r) = {product, system_of, vectors, eigenvectors,
                                                      coding,  learning,  pixels,  patches};

static void run(const problem *p, int instance, int naive, result *r) {
    int i;
    state = p->seed;
    memset(&ctx, 0, sizeof ctx);
    ctx.alloc_fn = scratch, ctx.free_fn = give_back, ctx.threads = 1;
    instance_in_use = instance;
    r->count = 0;
    kinds[p->kind](naive, r);
    for (i = 0; i < MOST_BLOCKS; i++) must(!blocks[i].at);
}

const build NAMED(build_, NAME) = {TEXT(NAME), (int)(sizeof kinds / sizeof *kinds), EPS, SHS__INSTANCES,
                                     shs__kernels_available, run};
