/* 1_product.c - the matrix product C = AB, from three loops to the header's.

       make course LESSONS=1

   Matrices are stored by columns, as in the header: element (i, q) of an m x k matrix A is A[i + q m]. All are n x n here. */
#include "course.h"

static struct {
    int n;
    shs_real *A, *B, *C, *before; /* before: what the rung before found */
    shs_context context;          /* of the header's rungs */
} p;

/* ---- rungs on matrices as they lie ------------------------------------------------------------------------------- */

/* Rung 1. The definition: each element is a sum of n products. A is read across its columns: the next value is n values away,
   on another cache line. */
static void three_loops(void *unused) {
    const ptrdiff_t n = p.n;
    ptrdiff_t i, j, q;
    (void)unused;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            shs_real sum = 0;
            for (q = 0; q < n; q++) sum += p.A[i + q * n] * p.B[q + j * n];
            p.C[i + j * n] = sum;
        }
}

/* Adds to C(i0 .. i1, :) the product of A(i0 .. i1, q0 .. q1) and B(q0 .. q1, :). The loop over rows is the innermost: it goes
   down a column of A and a column of C, where values are neighbours. */
static void add_columns(ptrdiff_t i0, ptrdiff_t i1, ptrdiff_t q0, ptrdiff_t q1, const shs_real *A, ptrdiff_t lda) {
    const ptrdiff_t n = p.n;
    ptrdiff_t i, j, q;
    for (j = 0; j < n; j++) {
        shs_real *c = p.C + j * n + i0;
        for (q = q0; q < q1; q++) {
            const shs_real b = p.B[q + j * n], *a = A + (q - q0) * lda;
            for (i = 0; i < i1 - i0; i++) c[i] += a[i] * b;
        }
    }
}

static void clear_product(void) { memset(p.C, 0, elements(p.n, p.n) * sizeof *p.C); }

/* Rung 2. The same multiplications in another order. */
static void loop_order(void *unused) {
    (void)unused;
    clear_product();
    add_columns(0, p.n, 0, p.n, p.A, p.n);
}

/* Of A one block is used for all columns of B before the next is touched: 128 x 128 floats, 64 KB, stay in a cache. */
enum { BLOCK_ROWS = 128, BLOCK_DEPTH = 128 };

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) {
    if (a < b) return a;
    return b;
}

/* Rung 3. The same, block by block. */
static void blocked(void *unused) {
    const ptrdiff_t n = p.n;
    ptrdiff_t i, q;
    (void)unused;
    clear_product();
    for (q = 0; q < n; q += BLOCK_DEPTH)
        for (i = 0; i < n; i += BLOCK_ROWS)
            add_columns(i, least(i + BLOCK_ROWS, n), q, least(q + BLOCK_DEPTH, n), p.A + i + q * n, n);
}

/* Rung 4. Copies the block first: the columns of the copy follow each other. */
static void packed(void *unused) {
    static shs_real block[BLOCK_ROWS * BLOCK_DEPTH];
    const ptrdiff_t n = p.n;
    ptrdiff_t i, q, r, s;
    (void)unused;
    clear_product();
    for (q = 0; q < n; q += BLOCK_DEPTH)
        for (i = 0; i < n; i += BLOCK_ROWS) {
            const ptrdiff_t rows = least(BLOCK_ROWS, n - i), depth = least(BLOCK_DEPTH, n - q);
            for (s = 0; s < depth; s++)
                for (r = 0; r < rows; r++) block[r + s * rows] = p.A[i + r + (q + s) * n];
            add_columns(i, i + rows, q, q + depth, block, rows);
        }
}

/* ---- rungs with a tile in registers ------------------------------------------------------------------------------ */

/* A tile of C, some rows x columns, is kept in registers while the whole depth of a block passes: then each value of A that is
   loaded is used `columns` times, and each of B `rows` times. Both are packed in the order in which the tile takes them:
       a: depth x rows, the tile's rows side by side        b: depth x columns, likewise */
typedef struct kernel {
    ptrdiff_t rows, columns;
    void (*tile)(ptrdiff_t depth, const shs_real *a, const shs_real *b, shs_real *tile);
} kernel;

enum { MOST_ROWS = 48, MOST_COLUMNS = 8, ROWS = 192, DEPTH = 256 };

/* `count` vectors of `length` values with gaps of `apart`, put side by side in slivers of `width`; what is missing is zero. */
static void pack(ptrdiff_t width, ptrdiff_t count, ptrdiff_t depth, const shs_real *from, ptrdiff_t next, ptrdiff_t apart,
                 shs_real *to) {
    ptrdiff_t first, i, q;
    for (first = 0; first < count; first += width)
        for (q = 0; q < depth; q++)
            for (i = first; i < first + width; i++) {
                *to = 0;
                if (i < count) *to = from[i * next + q * apart];
                to++;
            }
}

/* The loops around the tile: as in rung 4, but B is packed too, a panel of `DEPTH` rows at a time. */
static void by_tiles(const kernel *k) {
    const ptrdiff_t n = p.n;
    ptrdiff_t q, i, j, r, s, t;
    shs_real *panel = allocate((size_t)(n + MOST_COLUMNS) * DEPTH, sizeof *panel);
    shs_real *block = allocate((ROWS + MOST_ROWS) * DEPTH, sizeof *block);
    shs_real tile[MOST_ROWS * MOST_COLUMNS];
    clear_product();
    for (q = 0; q < n; q += DEPTH) {
        const ptrdiff_t depth = least(DEPTH, n - q);
        pack(k->columns, n, depth, p.B + q, n, 1, panel);
        for (i = 0; i < n; i += ROWS) {
            const ptrdiff_t rows = least(ROWS, n - i);
            pack(k->rows, rows, depth, p.A + i + q * n, 1, n, block);
            for (j = 0; j < n; j += k->columns)
                for (r = 0; r < rows; r += k->rows) {
                    const ptrdiff_t height = least(k->rows, rows - r), width = least(k->columns, n - j);
                    k->tile(depth, block + r * depth, panel + j * depth, tile);
                    for (t = 0; t < width; t++)
                        for (s = 0; s < height; s++) p.C[i + r + s + (j + t) * n] += tile[s + t * k->rows];
                }
        }
    }
    free(panel);
    free(block);
}

/* Rung 5. 4 x 4 sums in variables of their own: eight loads for sixteen multiply-adds. */
static void tile_4x4(ptrdiff_t depth, const shs_real *a, const shs_real *b, shs_real *tile) {
    shs_real c00 = 0, c10 = 0, c20 = 0, c30 = 0, c01 = 0, c11 = 0, c21 = 0, c31 = 0;
    shs_real c02 = 0, c12 = 0, c22 = 0, c32 = 0, c03 = 0, c13 = 0, c23 = 0, c33 = 0;
    for (; depth > 0; depth--) {
        c00 += a[0] * b[0];
        c10 += a[1] * b[0];
        c20 += a[2] * b[0];
        c30 += a[3] * b[0];
        c01 += a[0] * b[1];
        c11 += a[1] * b[1];
        c21 += a[2] * b[1];
        c31 += a[3] * b[1];
        c02 += a[0] * b[2];
        c12 += a[1] * b[2];
        c22 += a[2] * b[2];
        c32 += a[3] * b[2];
        c03 += a[0] * b[3];
        c13 += a[1] * b[3];
        c23 += a[2] * b[3];
        c33 += a[3] * b[3];
        a += 4;
        b += 4;
    }
    tile[0] = c00;
    tile[1] = c10;
    tile[2] = c20;
    tile[3] = c30;
    tile[4] = c01;
    tile[5] = c11;
    tile[6] = c21;
    tile[7] = c31;
    tile[8] = c02;
    tile[9] = c12;
    tile[10] = c22;
    tile[11] = c32;
    tile[12] = c03;
    tile[13] = c13;
    tile[14] = c23;
    tile[15] = c33;
}
static void register_tile(void *unused) {
    static const kernel k = {4, 4, tile_4x4};
    (void)unused;
    by_tiles(&k);
}

#if defined(__GNUC__) || defined(__clang__)
#define VECTORS
/* Rungs 6 to 8. The same with vectors: `count` of them below each other make the rows of the tile, and one value of B at a
   time multiplies all. The text is one; the compiler makes of it what the instructions of `target` allow. A multiply-add whose
   sum is used again has to be waited for, so that many sums have to be under way: the wider set has more registers. */
#define EACH_COLUMN_6(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define EACH_COLUMN_8(X) EACH_COLUMN_6(X) X(6) X(7)
#define ZERO_2(j) vector u##j = zero, v##j = zero;
#define ADD_2(j) u##j += x * b[j], v##j += y * b[j];
#define STORE_2(j) store(tile + (j) * 2 * lanes, u##j), store(tile + ((j) * 2 + 1) * lanes, v##j);
#define ZERO_3(j) ZERO_2(j) vector w##j = zero;
#define ADD_3(j) ADD_2(j) w##j += z * b[j];
#define STORE_3(j)                                                                                                             \
    store(tile + (j) * 3 * lanes, u##j), store(tile + ((j) * 3 + 1) * lanes, v##j), store(tile + ((j) * 3 + 2) * lanes, w##j);
#define load(to, from) memcpy(&(to), from, sizeof(vector))
#define store(to, from) memcpy(to, &(from), sizeof(vector))
#define TILE(name, bytes, count, columns, target)                                                                              \
    target static void name(ptrdiff_t depth, const shs_real *a, const shs_real *b, shs_real *tile) {                           \
        typedef shs_real vector __attribute__((vector_size(bytes)));                                                           \
        enum { lanes = bytes / sizeof(shs_real) };                                                                             \
        vector x, y, z, zero = {0};                                                                                            \
        EACH_COLUMN_##columns(ZERO_##count);                                                                                   \
        for (; depth > 0; depth--) {                                                                                           \
            load(x, a), load(y, a + lanes), load(z, a + (count - 1) * lanes);                                                  \
            EACH_COLUMN_##columns(ADD_##count)                                                                                 \
            a += count * lanes;                                                                                                \
            b += columns;                                                                                                      \
        }                                                                                                                      \
        (void)z;                                                                                                               \
        EACH_COLUMN_##columns(STORE_##count)                                                                                   \
    }
/* clang-format off */
TILE(tile_16_bytes, 16, 2, 6, )
#if defined(__x86_64__)
TILE(tile_avx2, 32, 2, 6, __attribute__((target("avx2,fma"))))
TILE(tile_avx512, 64, 3, 8, __attribute__((target("avx512f"))))
#endif
/* clang-format on */
enum { LANES_16 = 16 / sizeof(shs_real) };
static const kernel by_16_bytes = {2 * LANES_16, 6, tile_16_bytes};
#if defined(__x86_64__)
static const kernel by_avx2 = {4 * LANES_16, 6, tile_avx2};
static const kernel by_avx512 = {12 * LANES_16, 8, tile_avx512};
#endif

static void with_kernel(void *k) { by_tiles((const kernel *)k); }

/* The widest that this processor runs. */
static const kernel *widest(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return &by_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &by_avx2;
#endif
    return &by_16_bytes;
}
#endif

/* ---- the header's ------------------------------------------------------------------------------------------------ */

static void by_the_header(void *unused) {
    (void)unused;
    check(shs_gemm(&p.context, SHS_TRANS_NO, SHS_TRANS_NO, p.n, p.n, p.n, 1, p.A, p.n, p.B, p.n, 0, p.C, p.n), "the product");
}

/* ---- the ladder -------------------------------------------------------------------------------------------------- */

static double operations(void) { return 2.0 * p.n * p.n * p.n; }

/* One rung, and whether it found what the rung before did. */
static void climb(const char *name, work_fn work, void *argument) {
    const size_t count = elements(p.n, p.n);
    size_t i;
    for (i = 0; i < count; i++) p.C[i] = (shs_real)NAN; /* so that what a rung leaves out is seen */
    rung(name, operations(), median_seconds(work, argument));
    if (p.before) agrees(text_of("%s: as the rung before", name), relative_difference(count, p.C, p.before), 1e-5);
    else p.before = allocate(count, sizeof *p.before);
    memcpy(p.before, p.C, count * sizeof *p.C);
}

static void fill(int n) {
    const size_t count = elements(n, n);
    size_t i;
    shs_random random;
    shs_random_seed(&random, 1);
    p.n = n;
    for (i = 0; i < count; i++) {
        p.A[i] = (shs_real)shs_random_normal(&random);
        p.B[i] = (shs_real)shs_random_normal(&random);
    }
}

static void draw_size(int n, const char *line, work_fn work, void *argument) {
    fill(n);
    curve_point(line, n, 1e-9 * operations() / median_seconds(work, argument));
}

/* How the rate changes with the size: small products spend their time on the way to the tile, large ones leave the caches. */
static void draw_sizes(void) {
    static const int sizes[] = {16, 32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 896, 1024};
    int i, count = sizeof sizes / sizeof *sizes;
    if (course.quick) count = 4;
    curve_begin("sizes", "C = AB n x n; one thread", "n", "GFLOP/s", "xy");
    for (i = 0; i < count && sizes[i] <= 512; i++) draw_size(sizes[i], "loop order", loop_order, NULL);
#ifdef VECTORS
    for (i = 0; i < count; i++) draw_size(sizes[i], "the widest tile", with_kernel, (void *)widest());
#endif
    for (i = 0; i < count; i++) draw_size(sizes[i], "shs_gemm", by_the_header, NULL);
    curve_end();
}

int main(int argc, char **argv) {
    size_t most = 1024;
    int size = 768;
    course_begin(argc, argv, "1_product", "the matrix product, from three loops to the header's");
    if (course.quick) {
        most = 101;
        size = 101;
    }
    p.A = allocate(most * most, sizeof *p.A);
    p.B = allocate(most * most, sizeof *p.B);
    p.C = allocate(most * most, sizeof *p.C);
    fill(size);
    ladder_begin("ladder", text_of("C = AB %d x %d; float", p.n, p.n), "GFLOP/s", 1e9, peak_of_core(0));
    climb("three loops", three_loops, NULL);
    climb("loop order", loop_order, NULL);
    climb("blocks", blocked, NULL);
    climb("blocks of A packed", packed, NULL);
    climb("a tile in registers", register_tile, NULL);
#ifdef VECTORS
    climb("vectors of 16 bytes", with_kernel, (void *)&by_16_bytes);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) climb("AVX2", with_kernel, (void *)&by_avx2);
    if (__builtin_cpu_supports("avx512f")) climb("AVX-512", with_kernel, (void *)&by_avx512);
#endif
#endif
    p.context.threads = 1;
    climb("shs_gemm; one thread", by_the_header, NULL);
    p.context.threads = course_threads();
    ladder_threads(course_threads(), peak_of_threads(course_threads()));
    climb(text_of("shs_gemm; %d threads", course_threads()), by_the_header, NULL);
    ladder_end();
    p.context.threads = 1;
    draw_sizes();
    free(p.A);
    free(p.B);
    free(p.C);
    free(p.before);
    return course_end();
}
