/* moments.cl - sums of products over pixels, A A' for planes A: covariance, noise, fourth moments.

   The products are few and the pixels many, so the pixels are split too: a work-group makes its part of the result from the
   SLICE pixels s, in ELEM. totals.cl then adds the slices in their order, so every run gives the same bits. In float a slice of
   1024 8-bit pixels less 128 is exact: its sums are integers below 2^24.

   There are two kernels: `products` for many rows, `diagonals` for a symmetric result of few rows. On devices with double matrix
   units syrk.cl makes the products of doubles. The textbook twin is shs_moments_naive. */

#include "device.cl"

#ifndef ELEM
#define ELEM real /* of planes and partial sums */
#endif
#ifndef DIAGONALS
#define DIAGONALS 0 /* 1: the program holds `diagonals`, not `products` */
#endif

#ifndef ITEMS
#define ITEMS SHS__CL_ITEMS
#endif
#define SLICE SHS__CL_CHUNK_PIXELS

#if !DIAGONALS
/* Work-group (t, s) makes the T x T tile first_tile + t of those of the lower triangle, row by row.

       A' ->   16 x 16 work-items; item (x, y) keeps R x R products in registers, in vectors of W: rows
     A +---+   y W .. y W + W - 1, and the same 16 W further down; columns likewise with x
     | | t |   KB pixels of both tiles stand in local memory, pixel by pixel, so that an item reads vectors of W bands;
     v +---+   the next KB are on their way to registers meanwhile

   Where the caller wants another number of items there are HIGH down a tile, of RA rows each.
 */

#ifndef R
#define R 8 /* 2, 4 or 8 */
#endif
#ifndef W
#define W 4 /* 2 or 4, a divisor of R */
#endif
#ifndef KB
#define KB 16 /* a multiple of 16 / R */
#endif
#ifndef IN_LOCAL
#define IN_LOCAL 1 /* 0: every value from global memory, to see what local memory is worth */
#endif

#define T SHS__CL_TILE_EDGE(R)
#define PITCH (T / W + 1)     /* of a pixel in local memory; one more, or all items would write to one bank */
#define EACH (T * KB / ITEMS) /* elements of a tile that an item fetches */
#define HIGH (ITEMS / 16)     /* items down a tile, */
#define RA (R * 16 / HIGH)    /* and the rows of each */
typedef VECTOR(ELEM, W) vec;

#if !IN_LOCAL
inline vec from_global(__global const ELEM *X, ulong ld, int rows, int row) {
    vec v;
    for (int l = 0; l < W; l++) ((ELEM *)&v)[l] = row + l < rows ? X[(ulong)(row + l) * ld] : (ELEM)0;
    return v;
}
#endif

#define ROW(l, part)                                                                                                  \
    _Pragma("unroll") for (int j = 0; j < R / W; j++) sum[i * W + l][j] += (vec)(a[i].part) * b[j];

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void products(__global const ELEM *A, ulong from, ulong lda, int rows, int first_tile, __global ELEM *partial) {
    __local vec tile_a[KB * PITCH], other[KB * PITCH];
    __local vec *tile_b;
    const int id = (int)get_local_id(0), x = id & 15, y = id >> 4;
    int t = first_tile + (int)get_group_id(0), ti = 0, tj, k, e;
    const size_t pixel = get_group_id(1) * (size_t)SLICE;
    vec sum[RA][R / W];
    ELEM next_a[EACH], next_b[EACH];
    for (tj = t; tj > ti; tj -= ti) ti++;
    tile_b = ti == tj ? tile_a : other;
    for (int i = 0; i < RA; i++)
        for (int j = 0; j < R / W; j++) sum[i][j] = (vec)(0);

#define FETCH(at)                                                                                                              \
    _Pragma("unroll") for (e = 0; e < EACH; e++) {                                                                             \
        int kk = (id + e * ITEMS) % KB, row = (id + e * ITEMS) / KB;                                                           \
        int ra = ti * T + row, rb = tj * T + row;                                                                              \
        next_a[e] = ra < rows ? A[from + (ulong)ra * lda + pixel + (ulong)((at) + kk)] : (ELEM)0;                              \
        if (ti != tj) next_b[e] = rb < rows ? A[from + (ulong)rb * lda + pixel + (ulong)((at) + kk)] : (ELEM)0;                \
    }

#if IN_LOCAL
    FETCH(0)
#endif
    for (k = 0; k < SLICE; k += KB) {
#if IN_LOCAL
        barrier(CLK_LOCAL_MEM_FENCE);
        _Pragma("unroll") for (e = 0; e < EACH; e++) {
            int kk = (id + e * ITEMS) % KB, row = (id + e * ITEMS) / KB;
            ((__local ELEM *)tile_a)[kk * PITCH * W + row] = next_a[e];
            if (ti != tj) ((__local ELEM *)tile_b)[kk * PITCH * W + row] = next_b[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + KB < SLICE) FETCH(k + KB)
#define ROWS_AT(q, i) tile_a[(q)*PITCH + (i)*HIGH + y]
#define COLUMNS_AT(q, j) tile_b[(q)*PITCH + (j)*16 + x]
#else
#define ROWS_AT(q, i) from_global(A + from + pixel + (ulong)(k + (q)), lda, rows, ti * T + ((i)*HIGH + y) * W)
#define COLUMNS_AT(q, j) from_global(A + from + pixel + (ulong)(k + (q)), lda, rows, tj * T + ((j)*16 + x) * W)
#endif
        _Pragma("unroll") for (int q = 0; q < KB; q++) {
            vec a[RA / W], b[R / W];
            _Pragma("unroll") for (int i = 0; i < RA / W; i++) a[i] = ROWS_AT(q, i);
            _Pragma("unroll") for (int j = 0; j < R / W; j++) b[j] = COLUMNS_AT(q, j);
            _Pragma("unroll") for (int i = 0; i < RA / W; i++) {
                ROW(0, s0)
                ROW(1, s1)
#if W == 4
                ROW(2, s2)
                ROW(3, s3)
#endif
            }
        }
    }
    partial += (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * (size_t)(T * T);
    _Pragma("unroll") for (int i = 0; i < RA; i++) {
        int row = (i / W * HIGH + y) * W + i % W;
        _Pragma("unroll") for (int j = 0; j < R / W; j++)
            ((__global vec *)partial)[row * (T / W) + j * 16 + x] = sum[i][j];
    }
}

#else
/* The symmetric result of N rows, N small: a square tile would compute both triangles. Row d of an array is diagonal
   d of the result: its element (c, d) is the product of rows c and c + d. Diagonal d has N - d elements. Diagonal N - d has d
   elements and stands behind it, where c + d goes on at row 0. So N / 2 + 1 rows of N hold every product once; the last row of
   an even N holds its products twice.

        d ->  0   1   2              A group brings KB pixels to local memory with the first rows repeated behind the last,
     c  0    00  01  02              so that nothing wraps there. An item keeps 8 x 8 elements in registers: columns c .. c + 7,
     |  1    11  12  13              diagonals d .. d + 7, for which it reads 8 and 15 neighbouring values a pixel.
     v  2    22  23  24              BLOCKS items make one copy of the array; PARTS copies take turns with the pixels, and the
        3    33  34  30 (30 = 03)    group adds them up at the end.
        4    44  40  41
 */

#ifndef N
#define N 55 /* rows */
#endif
#ifndef KB
#define KB 32 /* pixels */
#endif
#ifndef PARTS
#define PARTS 8 /* a divisor of KB */
#endif

#define ACROSS SHS__CL_DIAGONALS_ACROSS(N)
#define DOWN SHS__CL_DIAGONALS_DOWN(N)
#define BLOCKS (ACROSS * DOWN)
#define ALL (BLOCKS * PARTS)        /* items of a group */
#define WIDTH (8 * (ACROSS + DOWN))   /* of a pixel in local memory */
#define PITCH (WIDTH / 4 + 1)         /* in vectors; odd, for the banks */
#define EACH ((N * KB + ALL - 1) / ALL)
typedef VECTOR(ELEM, 4) vec;

__kernel __attribute__((reqd_work_group_size(ALL, 1, 1)))
void diagonals(__global const ELEM *A, ulong from, ulong ld, __global ELEM *partial) {
    __local vec tile[KB * PITCH];
    __local vec row[2 * ALL];
    __local ELEM *put = (__local ELEM *)tile;
    const int id = (int)get_local_id(0), block = id % BLOCKS, part = id / BLOCKS, c = block % ACROSS, d = block / ACROSS;
    int k, q, e, l;
    ELEM next[EACH];
    vec sum[8][2];
    A += from + get_group_id(0) * (size_t)SLICE;
    partial += get_group_id(0) * (size_t)(BLOCKS * 64);
    for (l = 0; l < 8; l++) sum[l][0] = sum[l][1] = (vec)(0);

#define FETCH(at)                                                                                                     \
    _Pragma("unroll") for (e = 0; e < EACH; e++) if (id + e * ALL < N * KB)                                         \
        next[e] = A[(ulong)((id + e * ALL) / KB) * ld + (ulong)((at) + (id + e * ALL) % KB)];

    FETCH(0)
    for (k = 0; k < SLICE; k += KB) {
        barrier(CLK_LOCAL_MEM_FENCE);
        _Pragma("unroll") for (e = 0; e < EACH; e++) if (id + e * ALL < N * KB)
            for (l = (id + e * ALL) / KB; l < WIDTH; l += N) put[(id + e * ALL) % KB * PITCH * 4 + l] = next[e];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + KB < SLICE) FETCH(k + KB)
        for (q = part; q < KB; q += PARTS) {
            __local const vec *a = tile + q * PITCH + 2 * c;
            __local const vec *b = a + 2 * d;
            const vec low = a[0];
            const vec high = a[1];
            const vec b0 = b[0];
            const vec b1 = b[1];
            const vec b2 = b[2];
            const vec b3 = b[3];
            sum[0][0] += low.s0 * b0;
            sum[0][1] += low.s0 * b1;
            sum[1][0] += low.s1 * (vec)(b0.s123, b1.s0);
            sum[1][1] += low.s1 * (vec)(b1.s123, b2.s0);
            sum[2][0] += low.s2 * (vec)(b0.s23, b1.s01);
            sum[2][1] += low.s2 * (vec)(b1.s23, b2.s01);
            sum[3][0] += low.s3 * (vec)(b0.s3, b1.s012);
            sum[3][1] += low.s3 * (vec)(b1.s3, b2.s012);
            sum[4][0] += high.s0 * b1;
            sum[4][1] += high.s0 * b2;
            sum[5][0] += high.s1 * (vec)(b1.s123, b2.s0);
            sum[5][1] += high.s1 * (vec)(b2.s123, b3.s0);
            sum[6][0] += high.s2 * (vec)(b1.s23, b2.s01);
            sum[6][1] += high.s2 * (vec)(b2.s23, b3.s01);
            sum[7][0] += high.s3 * (vec)(b1.s3, b2.s012);
            sum[7][1] += high.s3 * (vec)(b2.s3, b3.s012);
        }
    }
    _Pragma("unroll") for (l = 0; l < 8; l++) { /* one column of every block after another */
        barrier(CLK_LOCAL_MEM_FENCE);
        row[2 * id] = sum[l][0];
        row[2 * id + 1] = sum[l][1];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (e = id; e < BLOCKS * 8; e += ALL) {
            ELEM x = 0;
            for (q = 0; q < PARTS; q++) x += ((__local const ELEM *)row)[q * BLOCKS * 8 + e];
            partial[e / 8 * 64 + l * 8 + e % 8] = x;
        }
    }
}
#endif
