/* moments.cl - sums of products over pixels, A B' for planes A and B: covariance (B = A), noise, fourth moments, sweeps.

   The products are few and the pixels many, so the pixels are split too: work-group (t, s) makes the T x T tile t from the
   SLICE pixels s, in ELEM; `accumulate` then adds the slices in their order, in double (or as a sum and its rounding
   errors). The same bits in every run. In float a slice of 1024 8-bit pixels less 128 sums integers below 2^24: exact.

       B' ->   16 x 16 work-items; item (x, y) keeps R x R products in registers, in vectors of W: rows
     A +---+   y W .. y W + W - 1, and the same 16 W further down; columns likewise with x
     | | t |   KB pixels of both tiles stand in local memory, pixel by pixel, so that an item reads vectors of W bands;
     v +---+   the next KB are on their way to registers meanwhile

   The build says: ELEM, ELEM2 or ELEM4 as vec, R (2, 4, 8), W (2 or 4), KB (a multiple of 16 / R), SLICE, SAME (B is A: the
   lower triangle of tiles). */

#define T (16 * R)
#define PITCH (T / W + 1)     /* of a pixel in local memory; one more, or all items would write to one bank */
#define EACH (T * KB / 256)   /* elements of a tile that an item fetches */

#define ROW(l, part)                                                                                                  \
    _Pragma("unroll") for (int j = 0; j < R / W; j++) sum[i * W + l][j] += (vec)(a[i].part) * b[j];

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void products(__global const ELEM *A, ulong from_a, ulong lda, int rows_a, __global const ELEM *B, ulong from_b, ulong ldb,
              int rows_b, __global ELEM *partial) {
    __local vec tile_a[KB * PITCH];
#if SAME
    __local vec *tile_b;
#else
    __local vec tile_b[KB * PITCH];
#endif
    __local vec other[SAME ? KB * PITCH : 1];
    const int id = (int)get_local_id(0), x = id & 15, y = id >> 4;
    int t = (int)get_group_id(0), ti = 0, tj, k, e;
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
    partial += ((size_t)get_group_id(1) * get_num_groups(0) + (size_t)t) * (size_t)(T * T);
    _Pragma("unroll") for (int i = 0; i < R; i++) {
        int row = (i / W * 16 + y) * W + i % W;
        _Pragma("unroll") for (int j = 0; j < R / W; j++)
            ((__global vec *)partial)[row * (T / W) + j * 16 + x] = sum[i][j];
    }
}

/* One work-item an element: total += its `count` partial sums, in order. Without doubles lost holds what rounding took away
   (Knuth's two-sum), and total + lost is the sum. */
__kernel void accumulate(__global const ELEM *partial, ulong size, int count, __global wide *total, __global wide *lost) {
    const size_t i = get_global_id(0);
    int c;
    wide sum;
#if !HAS_DOUBLE
    wide rest;
#endif
    if (i >= size) return;
    sum = total[i];
#if HAS_DOUBLE
    for (c = 0; c < count; c++) sum += (wide)partial[(size_t)c * size + i];
#else
    rest = lost[i];
    for (c = 0; c < count; c++) {
        wide x = (wide)partial[(size_t)c * size + i], s = sum + x, was = s - x;
        rest += (sum - was) + (x - (s - was));
        sum = s;
    }
    lost[i] = rest;
#endif
    total[i] = sum;
}
