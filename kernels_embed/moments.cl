/* moments.cl - sums of products over pixels, A B' for planes A and B: covariance (B = A), noise, fourth moments, sweeps.

   The products are few and the pixels many, so the pixels are split too: a work-group makes its part of the result from the
   SLICE pixels s, in ELEM; `accumulate` then adds the slices in their order, in double (or as a sum and its rounding
   errors). The same bits in every run. In float a slice of 1024 8-bit pixels less 128 sums integers below 2^24: exact.

   Three kernels, one a program: `products` for many rows, `skewed` for the few of a symmetric result (SKEWED), `accumulate`
   (neither R nor SKEWED). All are told ELEM and SLICE. */

#if defined R
/* Work-group (t, s) makes the T x T tile first_tile + t.

       B' ->   16 x 16 work-items; item (x, y) keeps R x R products in registers, in vectors of W: rows
     A +---+   y W .. y W + W - 1, and the same 16 W further down; columns likewise with x
     | | t |   KB pixels of both tiles stand in local memory, pixel by pixel, so that an item reads vectors of W bands;
     v +---+   the next KB are on their way to registers meanwhile

   The build says: ELEM2 or ELEM4 as vec, R (2, 4, 8), W (2 or 4), KB (a multiple of 16 / R), SAME (B is A: the lower triangle
   of tiles, row by row). */

#define T (16 * R)
#define PITCH (T / W + 1)     /* of a pixel in local memory; one more, or all items would write to one bank */
#define EACH (T * KB / 256)   /* elements of a tile that an item fetches */

#define ROW(l, part)                                                                                                  \
    _Pragma("unroll") for (int j = 0; j < R / W; j++) sum[i * W + l][j] += (vec)(a[i].part) * b[j];

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void products(__global const ELEM *A, ulong from_a, ulong lda, int rows_a, __global const ELEM *B, ulong from_b, ulong ldb,
              int rows_b, int first_tile, __global ELEM *partial) {
    __local vec tile_a[KB * PITCH];
#if SAME
    __local vec *tile_b;
#else
    __local vec tile_b[KB * PITCH];
#endif
    __local vec other[SAME ? KB * PITCH : 1];
    const int id = (int)get_local_id(0), x = id & 15, y = id >> 4;
    int t = first_tile + (int)get_group_id(0), ti = 0, tj, k, e;
    const size_t pixel = get_group_id(1) * (size_t)SLICE;
    vec sum[R][R / W];
    ELEM next_a[EACH], next_b[EACH];
#if SAME
    for (tj = t; tj > ti; tj -= ti) ti++;
    tile_b = ti == tj ? tile_a : other;
#else
    ti = t / ((rows_b + T - 1) / T);
    tj = t % ((rows_b + T - 1) / T);
#endif
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R / W; j++) sum[i][j] = (vec)(0);

#define FETCH(at)                                                                                                     \
    _Pragma("unroll") for (e = 0; e < EACH; e++) {                                                                    \
        int kk = (id + e * 256) % KB, row = (id + e * 256) / KB;                                                      \
        int ra = ti * T + row, rb = tj * T + row;                                                                     \
        next_a[e] = ra < rows_a ? A[from_a + (ulong)ra * lda + pixel + (ulong)((at) + kk)] : (ELEM)0;                 \
        if (!SAME || ti != tj)                                                                                        \
            next_b[e] = rb < rows_b ? B[from_b + (ulong)rb * ldb + pixel + (ulong)((at) + kk)] : (ELEM)0;             \
    }

    FETCH(0)
    for (k = 0; k < SLICE; k += KB) {
        barrier(CLK_LOCAL_MEM_FENCE);
        _Pragma("unroll") for (e = 0; e < EACH; e++) {
            int kk = (id + e * 256) % KB, row = (id + e * 256) / KB;
            ((__local ELEM *)tile_a)[kk * PITCH * W + row] = next_a[e];
            if (!SAME || ti != tj) ((__local ELEM *)tile_b)[kk * PITCH * W + row] = next_b[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + KB < SLICE) FETCH(k + KB)
        _Pragma("unroll") for (int q = 0; q < KB; q++) {
            vec a[R / W], b[R / W];
            _Pragma("unroll") for (int i = 0; i < R / W; i++) a[i] = tile_a[q * PITCH + i * 16 + y];
            _Pragma("unroll") for (int j = 0; j < R / W; j++) b[j] = tile_b[q * PITCH + j * 16 + x];
            _Pragma("unroll") for (int i = 0; i < R / W; i++) {
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
    _Pragma("unroll") for (int i = 0; i < R; i++) {
        int row = (i / W * 16 + y) * W + i % W;
        _Pragma("unroll") for (int j = 0; j < R / W; j++)
            ((__global vec *)partial)[row * (T / W) + j * 16 + x] = sum[i][j];
    }
}

#elif defined SKEWED
/* The symmetric result of N rows, N small: a square tile would compute both triangles. Row d of the skewed array holds diagonal
   d of the result, element (c, d) the product of rows c and c + d; diagonal d is N - d long, and diagonal N - d, which has the
   other d elements, stands behind it: c + d just goes on at row 0. So N / 2 + 1 rows of N hold everything once (but for the
   last one of an even N, which holds its elements twice).

        d ->  0   1   2              A group brings KB pixels to local memory with the first rows repeated behind the last,
     c  0    00  01  02              so that nothing wraps there. An item keeps 8 x 8 elements in registers: columns c .. c + 7,
     |  1    11  12  13              diagonals d .. d + 7, for which it reads 8 and 15 neighbouring values a pixel.
     v  2    22  23  24              BLOCKS items make one copy of the array; PARTS copies take turns with the pixels, and the
        3    33  34  30 (30 = 03)    group adds them up at the end.
        4    44  40  41

   The build says: N, ELEM4 as vec, KB, PARTS (a divisor of KB). */
#define ACROSS ((N + 7) / 8)          /* blocks along c */
#define DOWN ((N / 2 + 8) / 8)        /* and along d */
#define BLOCKS (ACROSS * DOWN)
#define ITEMS (BLOCKS * PARTS)
#define WIDTH (8 * (ACROSS + DOWN))   /* of a pixel in local memory */
#define PITCH (WIDTH / 4 + 1)         /* in vectors; odd, for the banks */
#define EACH ((N * KB + ITEMS - 1) / ITEMS)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void skewed(__global const ELEM *A, ulong from, ulong ld, __global ELEM *partial) {
    __local vec tile[KB * PITCH];
    __local vec row[2 * ITEMS];
    __local ELEM *put = (__local ELEM *)tile;
    const int id = (int)get_local_id(0), block = id % BLOCKS, part = id / BLOCKS, c = block % ACROSS, d = block / ACROSS;
    int k, q, e, l;
    ELEM next[EACH];
    vec sum[8][2];
    A += from + get_group_id(0) * (size_t)SLICE;
    partial += get_group_id(0) * (size_t)(BLOCKS * 64);
    for (l = 0; l < 8; l++) sum[l][0] = sum[l][1] = (vec)(0);

#define FETCH(at)                                                                                                     \
    _Pragma("unroll") for (e = 0; e < EACH; e++) if (id + e * ITEMS < N * KB)                                         \
        next[e] = A[(ulong)((id + e * ITEMS) / KB) * ld + (ulong)((at) + (id + e * ITEMS) % KB)];

    FETCH(0)
    for (k = 0; k < SLICE; k += KB) {
        barrier(CLK_LOCAL_MEM_FENCE);
        _Pragma("unroll") for (e = 0; e < EACH; e++) if (id + e * ITEMS < N * KB)
            for (l = (id + e * ITEMS) / KB; l < WIDTH; l += N) put[(id + e * ITEMS) % KB * PITCH * 4 + l] = next[e];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + KB < SLICE) FETCH(k + KB)
        for (q = part; q < KB; q += PARTS) {
            __local const vec *a = tile + q * PITCH + 2 * c, *b = a + 2 * d;
            const vec low = a[0], high = a[1], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
            sum[0][0] += low.s0 * b0, sum[0][1] += low.s0 * b1;
            sum[1][0] += low.s1 * (vec)(b0.s123, b1.s0), sum[1][1] += low.s1 * (vec)(b1.s123, b2.s0);
            sum[2][0] += low.s2 * (vec)(b0.s23, b1.s01), sum[2][1] += low.s2 * (vec)(b1.s23, b2.s01);
            sum[3][0] += low.s3 * (vec)(b0.s3, b1.s012), sum[3][1] += low.s3 * (vec)(b1.s3, b2.s012);
            sum[4][0] += high.s0 * b1, sum[4][1] += high.s0 * b2;
            sum[5][0] += high.s1 * (vec)(b1.s123, b2.s0), sum[5][1] += high.s1 * (vec)(b2.s123, b3.s0);
            sum[6][0] += high.s2 * (vec)(b1.s23, b2.s01), sum[6][1] += high.s2 * (vec)(b2.s23, b3.s01);
            sum[7][0] += high.s3 * (vec)(b1.s3, b2.s012), sum[7][1] += high.s3 * (vec)(b2.s3, b3.s012);
        }
    }
    _Pragma("unroll") for (l = 0; l < 8; l++) { /* one column of every block after another */
        barrier(CLK_LOCAL_MEM_FENCE);
        row[2 * id] = sum[l][0], row[2 * id + 1] = sum[l][1];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (e = id; e < BLOCKS * 8; e += ITEMS) {
            ELEM x = 0;
            for (q = 0; q < PARTS; q++) x += ((__local const ELEM *)row)[q * BLOCKS * 8 + e];
            partial[e / 8 * 64 + l * 8 + e % 8] = x;
        }
    }
}

#else
/* One work-item an element: total[first + i] += its `count` partial sums, in order, eight on their way at a time. Without
   doubles lost holds what rounding took away (Knuth's two-sum), and total + lost is the sum. */
inline void add(wide *sum, wide *rest, wide x) {
#if HAS_DOUBLE
    *sum += x;
#else
    wide s = *sum + x, was = s - x;
    *rest += (*sum - was) + (x - (s - was));
    *sum = s;
#endif
}

__kernel void accumulate(__global const ELEM *partial, ulong size, int count, ulong first, __global wide *total,
                         __global wide *lost) {
    const size_t i = get_global_id(0);
    ELEM x[8];
    int c, j;
    wide sum, rest;
    if (i >= size) return;
    partial += i;
    sum = total[first + i], rest = lost[first + i];
    for (c = 0; c + 8 <= count; c += 8) {
        _Pragma("unroll") for (j = 0; j < 8; j++) x[j] = partial[(size_t)(c + j) * size];
        _Pragma("unroll") for (j = 0; j < 8; j++) add(&sum, &rest, (wide)x[j]);
    }
    for (; c < count; c++) add(&sum, &rest, (wide)partial[(size_t)c * size]);
    total[first + i] = sum, lost[first + i] = rest;
}
#endif
