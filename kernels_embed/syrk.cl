/* syrk.cl - the lower triangle of S S', S n x k, for few rows and many columns: shs_syrk, and moments of doubles.

   The result is small and k long, so k is split too: a work-group makes one tile of the result from the columns of
   one slice, and syrk_sum adds the slices in their order: the same bits in every run. Three ways to make a tile:

       syrk_tiles   items of R x R sums in registers (WAY 0)
       syrk_split   an item for each element of a square of 32 x 32, whose two halves share k out: Du et al. (WAY 1)
       syrk_units   double matrix units, in PTX (WAY 2)

   S is A, k columns of n neighbours (TRANS 0), or A', n columns of k neighbours (TRANS 1). Tiles are those of the
   lower triangle, row by row; partial sums lie slice by slice, tile by tile, row by row. The textbook twin is
   shs_syrk_naive. */

#include "device.cl"

#ifndef ELEM
#define ELEM real /* of A and of partial sums */
#endif
#ifndef WAY
#define WAY 0
#endif
#ifndef TRANS
#define TRANS 0
#endif
#ifndef T
#define T 64 /* rows and columns of a tile; WAY 1: 32 */
#endif

#define VALUE(row, q) A[from + (TRANS ? (ulong)(row) * ld + (ulong)(q) : (ulong)(q) * ld + (ulong)(row))]

/* Tile t of the lower triangle is that of rows ti T .. and columns tj T .. */
inline void tile_of(int t, int *ti, int *tj) {
    *ti = 0;
    for (*tj = t; *tj > *ti; *tj -= *ti) (*ti)++;
}

/* ---- adding the slices ------------------------------------------------------------------------------------------ */

/* C (n x n, the lower triangle or where `upper` the upper one) = alpha (the sum of `slices` tiles) + beta C. SUM_PARTS
   items add a stretch of the slices each, in order, and their sums are added in order. */
#define SUM_ITEMS SHS__CL_SUM_VALUES
#define SUM_PARTS SHS__CL_SUM_PARTS
__kernel __attribute__((reqd_work_group_size(SUM_ITEMS, SUM_PARTS, 1)))
void syrk_sum(__global const ELEM *partial, int tiles, int slices, int n, ELEM alpha, ELEM beta, int upper,
              __global ELEM *C, int ldc) {
    __local ELEM sums[SUM_PARTS][SUM_ITEMS];
    const int x = (int)get_local_id(0), y = (int)get_local_id(1);
    const ulong each = (ulong)tiles * T * T;
    const ulong e = get_global_id(0);
    const int stretch = (slices + SUM_PARTS - 1) / SUM_PARTS, last = min((y + 1) * stretch, slices);
    ELEM sum = 0;
    int s, ti, tj;
    if (e < each)
        for (s = y * stretch; s < last; s++) sum += partial[(ulong)s * each + e];
    sums[y][x] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (y || e >= each) return;
    for (s = 1; s < SUM_PARTS; s++) sum += sums[s][x];
    tile_of((int)(e / (T * T)), &ti, &tj);
    ti = ti * T + (int)(e % (T * T)) / T;
    tj = tj * T + (int)(e % T);
    if (ti >= n || tj > ti) return;
    C += upper ? (ulong)ti * (ulong)ldc + (ulong)tj : (ulong)tj * (ulong)ldc + (ulong)ti;
    *C = beta == 0 ? alpha * sum : alpha * sum + beta * *C;
}

/* ---- bringing a tile: item `id` of ITEMS fetches EACH values, neighbours neighbours ------------------------- */

#if TRANS
#define ROW_OF(e) ((id + (e) * ITEMS) / KB)
#define COLUMN_OF(e) ((id + (e) * ITEMS) % KB)
#else
#define ROW_OF(e) ((id + (e) * ITEMS) % T)
#define COLUMN_OF(e) ((id + (e) * ITEMS) / T)
#endif
/* KB columns from `first` on, to next_a and next_b; on the diagonal the tiles of both factors are one. */
#define FETCH(first)                                                                                              \
    _Pragma("unroll") for (e = 0; e < EACH; e++) {                                                                \
        int row_a = ti * T + ROW_OF(e), row_b = tj * T + ROW_OF(e), column = (first) + COLUMN_OF(e);              \
        next_a[e] = row_a < n && column < end ? VALUE(row_a, column) : (ELEM)0;                                   \
        if (ti != tj) next_b[e] = row_b < n && column < end ? VALUE(row_b, column) : (ELEM)0;                     \
    }

#if WAY == 0
/* ---- tiles in registers ----------------------------------------------------------------------------------------- */

/* Group (t, s) of 16 x 16 items; item (x, y) keeps R x R sums in vectors of W, as in moments.cl. */
#ifndef W
#define W 4 /* 2 or 4, a divisor of R */
#endif
#ifndef KB
#define KB 16 /* columns of S in local memory at a time */
#endif
#define R (T / 16)
#define ITEMS 256
#define PITCH (T / W + 1) /* of a column in local memory; one more, for the banks */
#define EACH (T * KB / ITEMS)
typedef VECTOR(ELEM, W) vec;

#define ROW(l, part)                                                                                              \
    _Pragma("unroll") for (int j = 0; j < R / W; j++) sum[i * W + l][j] += (vec)(a[i].part) * b[j];

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void syrk_tiles(__global const ELEM *A, ulong from, ulong ld, int n, int k, int depth, __global ELEM *partial) {
    __local vec tile_a[KB * PITCH], other[KB * PITCH];
    const int id = (int)get_local_id(0), x = id & 15, y = id >> 4;
    const int begin = (int)get_group_id(1) * depth, end = min(begin + depth, k);
    __local vec *tile_b;
    int ti, tj, at, e;
    vec sum[R][R / W];
    ELEM next_a[EACH], next_b[EACH];
    tile_of((int)get_group_id(0), &ti, &tj);
    tile_b = ti == tj ? tile_a : other;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R / W; j++) sum[i][j] = (vec)(0);

    FETCH(begin)
    for (at = begin; at < end; at += KB) {
        barrier(CLK_LOCAL_MEM_FENCE);
        _Pragma("unroll") for (e = 0; e < EACH; e++) {
            ((__local ELEM *)tile_a)[COLUMN_OF(e) * PITCH * W + ROW_OF(e)] = next_a[e];
            if (ti != tj) ((__local ELEM *)tile_b)[COLUMN_OF(e) * PITCH * W + ROW_OF(e)] = next_b[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (at + KB < end) FETCH(at + KB)
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

#elif WAY == 1
/* ---- the square split of Du, Parsons, Fuentes, Shaw, Dongarra ---------------------------------------------------

   The whole square of blocks of 32 x 32 is run although half of the result is the mirror of the other: its diagonal
   splits it in halves that share k out. Item (row, column) on or below the diagonal makes its element from the first
   half of a slice's columns; item (row, column) above it makes element (column, row) from the second half. A block
   on the diagonal does the same with its own items, and its items on the diagonal take both halves.

       +---+---+---+   a block below: 32 rows of each factor from half 0, in two local arrays of 32 x 33, skewed by
       | \ | 1 | 1 |   the odd pitch: neither along a row nor along a column do two items want the same bank
       +---+---+---+   a block above: the same of half 1
       | 0 | \ | 1 |   a block on the diagonal: its own 32 rows from half 0, and from half 1
       +---+---+---+   Halves are added like slices: slice s becomes partial sums 2 s and 2 s + 1. */

#define SIDE SHS__CL_SPLIT_SIDE
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void syrk_split(__global const ELEM *A, ulong from, ulong ld, int n, int k, int depth, __global ELEM *partial) {
    __local ELEM left[SIDE][SIDE + 1], right[SIDE][SIDE + 1];
    const int x = (int)get_local_id(0), y = (int)get_local_id(1), blocks = (n + SIDE - 1) / SIDE;
    const int block = (int)get_group_id(0), bi = block / blocks, bj = block % blocks, above = bj > bi;
    const int ti = max(bi, bj), tj = min(bi, bj), diagonal = bi == bj, half_ = (depth + 1) / 2;
    const int first = (int)get_group_id(1) * depth, last = min(first + depth, k), middle = min(first + half_, last);
    /* left holds columns from at_left on, right holds columns from at_right on */
    const int second = diagonal || above; /* right holds columns of half 1 */
    const int end_left = above ? last : middle;
    const int end_right = second ? last : middle;
    int at_left = above ? middle : first;
    int at_right = second ? middle : first;
    int q;
    const ulong each = (ulong)(blocks * (blocks + 1) / 2) * SIDE * SIDE;
    const ulong cell = (ulong)(ti * (ti + 1) / 2 + tj) * SIDE * SIDE;
    ELEM sum = 0;
    ELEM other = 0;
    for (q = 0; q < half_; q += SIDE) {
        const int along = TRANS ? x : y; /* neighbouring items fetch neighbouring values */
        const int across = TRANS ? y : x;
        int row_l = ti * SIDE + across, row_r = tj * SIDE + across;
        barrier(CLK_LOCAL_MEM_FENCE);
        left[across][along] = row_l < n && at_left + along < end_left ? VALUE(row_l, at_left + along) : (ELEM)0;
        right[across][along] = row_r < n && at_right + along < end_right ? VALUE(row_r, at_right + along) : (ELEM)0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!diagonal) {
            _Pragma("unroll") for (int i = 0; i < SIDE; i++) sum += left[y][i] * right[x][i];
        } else {
            if (y >= x) _Pragma("unroll") for (int i = 0; i < SIDE; i++) sum += left[y][i] * left[x][i];
            if (y <= x) _Pragma("unroll") for (int i = 0; i < SIDE; i++) other += right[y][i] * right[x][i];
        }
        at_left += SIDE;
        at_right += SIDE;
    }
    partial += get_group_id(1) * 2 * each + cell;
    if (!diagonal) partial[(above ? each : 0) + (ulong)(y * SIDE + x)] = sum;
    else if (y >= x) partial[y * SIDE + x] = sum;
    if (diagonal && y <= x) partial[each + (ulong)(x * SIDE + y)] = other;
}

#else
/* ---- double matrix units ----------------------------------------------------------------------------------------

   Warps of 32 items, WARPS x WARPS of them; a warp keeps BLOCKS x BLOCKS blocks of 8 x 8 (units.h). */

#ifndef WARPS
#define WARPS SHS__CL_UNITS_WARPS
#endif
#ifndef KB
#define KB 16
#endif
#define ITEMS (32 * WARPS * WARPS)
#define EDGE (T / WARPS) /* rows and columns of a warp */
#define BLOCKS (EDGE / 8)
#define EACH (T * KB / ITEMS)

/* Four rows of four columns, which half a warp reads at a time, and what it writes, lie in different banks. */
#if TRANS
#define PLACE(row, q) ((row) * (KB + 4) + (q))
#define ROOM (T * (KB + 4))
#else
#define PLACE(row, q) ((q) * (T + 4) + (row))
#define ROOM (KB * (T + 4))
#endif

#include "units.h"

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void syrk_units(__global const ELEM *A, ulong from, ulong ld, int n, int k, int depth, __global ELEM *partial,
                int first_tile) {
    __local ELEM tile_a[2][ROOM], other[2][ROOM];
    const int id = (int)get_local_id(0), lane = id & 31, row_in = lane / 4, column_in = lane % 4;
    const int top = id / 32 / WARPS * EDGE, side = id / 32 % WARPS * EDGE;
    const int begin = (int)get_group_id(1) * depth, end = min(begin + depth, k);
    int ti, tj, at, e, i, j, q, turn = 0;
    ELEM sum[BLOCKS][BLOCKS][2], next_a[EACH], next_b[EACH];
    tile_of(first_tile + (int)get_group_id(0), &ti, &tj);
    const int same = ti == tj, idle = same && side > top; /* above the diagonal */
    for (i = 0; i < BLOCKS; i++)
        for (j = 0; j < BLOCKS; j++) sum[i][j][0] = sum[i][j][1] = 0;

    FETCH(begin)
    for (at = begin; at < end; at += KB) {
        __local ELEM *a_now = tile_a[turn];
        __local ELEM *b_now = same ? tile_a[turn] : other[turn];
        turn ^= 1;
        _Pragma("unroll") for (e = 0; e < EACH; e++) {
            a_now[PLACE(ROW_OF(e), COLUMN_OF(e))] = next_a[e];
            if (!same) b_now[PLACE(ROW_OF(e), COLUMN_OF(e))] = next_b[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* one is enough: two pairs of tiles take turns */
        if (at + KB < end) FETCH(at + KB)
#if MMA
        if (!idle) _Pragma("unroll") for (q = 0; q < KB; q += 4) {
            ELEM a[BLOCKS], b[BLOCKS];
            _Pragma("unroll") for (i = 0; i < BLOCKS; i++) a[i] = a_now[PLACE(top + 8 * i + row_in, q + column_in)];
            _Pragma("unroll") for (j = 0; j < BLOCKS; j++) b[j] = b_now[PLACE(side + 8 * j + row_in, q + column_in)];
            _Pragma("unroll") for (i = 0; i < BLOCKS; i += 2)
                _Pragma("unroll") for (j = 0; j < BLOCKS; j++)
                    add_products(sum[i][j], sum[i + 1][j], a[i], a[i + 1], b[j]);
        }
#else
        for (q = idle ? KB : 0; q < KB; q++)
            for (i = 0; i < BLOCKS; i++)
                for (j = 0; j < BLOCKS; j++) {
                    ELEM a = a_now[PLACE(top + 8 * i + row_in, q)];
                    __local const ELEM *b = b_now + PLACE(side + 8 * j + 2 * column_in, q);
                    sum[i][j][0] += a * b[0];
                    sum[i][j][1] += a * b[PLACE(1, 0)];
                }
#endif
    }
    partial += (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * (size_t)(T * T);
    _Pragma("unroll") for (i = 0; i < BLOCKS; i++)
        _Pragma("unroll") for (j = 0; j < BLOCKS; j++) {
            __global ELEM *to = partial + (top + 8 * i + row_in) * T + side + 8 * j + 2 * column_in;
            to[0] = sum[i][j][0];
            to[1] = sum[i][j][1];
        }
}
#endif
