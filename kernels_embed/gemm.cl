/* gemm.cl: C = alpha op(A) op(B) + beta C, column-major, op(A) M x K, op(B) K x N; beta = 0 never reads C.

   Its textbook twin is shs_gemm_naive.

   A group of 16 x 16 work-items computes a tile of 128 x 128 of C, each item 8 x 8 of it in registers:

               16 items x 4 columns    16 items x 4 columns (the same items again)
              +----------------------+----------------------+
     16 items |  4 x 4 of item (x,y) |  4 x 4 of item (x,y) |     Quarters, because four neighbours come in one read
     x 4 rows |                      |                      |     of 16 bytes and 16 items then read 256 bytes in a
              +----------------------+----------------------+     row: no two of them want the same bank of the
     16 items |  4 x 4 of item (x,y) |  4 x 4 of item (x,y) |     local memory.
     x 4 rows |                      |                      |
              +----------------------+----------------------+

   The long dimension is walked in steps of 16, in double of 8: the group brings 16 x 128 values of each factor to local
   memory, ordered by k, where every value is used 128 times. The next pair of tiles is read into registers while
   one is multiplied. Two pairs of tiles need one barrier a step. For each k an item does 64 multiply-adds for 4 reads of four
   values.

   Every element of C is one chain of fma in the order of k, whatever the shape, the edges and the transpositions. So a product
   has the same bits wherever it is computed, in gemm_plain too. Only if k is long and C is small, k is cut into slices of
   `depth`. Each slice has a C of its own; the Cs lie one behind the other, and gemm_sum adds them. */

#include "device.cl"

#ifndef SLICED
#define SLICED 0 /* 1: k is cut into slices; 0: groups need no division, for which products of few k would wait */
#endif
#ifndef TRANS_A
#define TRANS_A 0 /* 1: op(A) is the transpose of A */
#endif
#ifndef TRANS_B
#define TRANS_B 0 /* 1: op(B) is the transpose of B */
#endif
#ifndef VECTOR_A
#define VECTOR_A 0 /* 1: the leading dimension is a multiple of four: four neighbours may be read at once */
#endif
#ifndef VECTOR_B
#define VECTOR_B 0 /* likewise */
#endif

#pragma OPENCL FP_CONTRACT OFF

typedef VECTOR(real, 4) quad;

#define TILE SHS__CL_GEMM_TILE
#define STEP SHS__CL_GEMM_STEP
#define EDGE SHS__CL_GEMM_PITCH

/* Whether k runs along the memory of a factor. */
#define ALONG_A TRANS_A
#define ALONG_B (!TRANS_B)

/* ---- bringing a tile: four neighbours at a time, QUADS such quads an item ----------------------------------------- */

#define ITEMS 256
#define ALONG (STEP / 4) /* quads of a column, where k runs along memory */
#define QUADS (STEP * TILE / 4 / ITEMS)

/* Values k .. k+3 of one column, 0 beyond K: such products add nothing. */
quad along_k(__global const real *column, int k, int K, int vector) {
    quad q = (quad)(0);
    if (vector && k + 4 <= K) return *(__global const quad *)(column + k);
    if (k < K) q.x = column[k];
    if (k + 1 < K) q.y = column[k + 1];
    if (k + 2 < K) q.z = column[k + 2];
    if (k + 3 < K) q.w = column[k + 3];
    return q;
}

/* Rows r .. r+3 at one k. Rows beyond the last are never stored: the last row stands in for them. */
quad across_k(__global const real *F, size_t ld, int r, int rows, int k, int K, int vector) {
    __global const real *column = F + (size_t)k * ld;
    if (k >= K) return (quad)(0);
    if (vector && r + 4 <= rows) return *(__global const quad *)(column + r);
    return (quad)(column[min(r, rows - 1)], column[min(r + 1, rows - 1)], column[min(r + 2, rows - 1)],
                  column[min(r + 3, rows - 1)]);
}

/* Item `id` brings quads id, id + ITEMS .. of a tile, here the q-th of its own. k along memory: ALONG items share a column's
   stretch. Otherwise: 32 items share the values of a row, 8 values of k at a time. */
quad bring(__global const real *F, size_t ld, int along, int vector, int first, int rows, int k0, int K, int id, int q) {
    if (along) {
        int column = min(first + id / ALONG + ITEMS / ALONG * q, rows - 1);
        return along_k(F + (size_t)column * ld, k0 + id % ALONG * 4, K, vector);
    }
    return across_k(F, ld, first + id % 32 * 4, rows, k0 + id / 32 + 8 * q, K, vector);
}

void put(__local real *tile, int along, int id, int q, quad values) {
    if (along) {
        __local real *to = tile + id % ALONG * 4 * EDGE + id / ALONG + ITEMS / ALONG * q;
        to[0] = values.x;
        to[EDGE] = values.y;
        to[2 * EDGE] = values.z;
        to[3 * EDGE] = values.w;
    } else {
        *(__local quad *)(tile + (id / 32 + 8 * q) * EDGE + id % 32 * 4) = values;
    }
}

/* Both tiles of the step at k. */
#define BRING(k)                                                                                                               \
    _Pragma("unroll") for (c = 0; c < QUADS; c++) {                                                                            \
        a[c] = bring(A, (size_t)lda, ALONG_A, VECTOR_A, row, M, k, K, id, c);                                                  \
        b[c] = bring(B, (size_t)ldb, ALONG_B, VECTOR_B, column, N, k, K, id, c);                                               \
    }

/* ---- the product -------------------------------------------------------------------------------------------------- */

#define ROW_TIMES(column, b)                                                                                           \
    low[column] = fma(a_low, (quad)(b), low[column]);                                                                  \
    high[column] = fma(a_high, (quad)(b), high[column]);

/* One column of four rows into C. */
void keep(__global real *C, int row, int M, real alpha, real beta, int aligned, quad sum) {
    real value[4];
    int i;
    sum *= alpha;
    if (beta == 0 && aligned && row + 4 <= M) {
        *(__global quad *)(C + row) = sum;
        return;
    }
    value[0] = sum.x;
    value[1] = sum.y;
    value[2] = sum.z;
    value[3] = sum.w;
    for (i = 0; i < 4; i++)
        if (row + i < M) C[row + i] = beta == 0 ? value[i] : fma(beta, C[row + i], value[i]);
}

/* first_b, first_c: where B and C begin in their buffers, so that a call can multiply some of the columns. */
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void gemm(int M, int N, int K, real alpha,
                                                                    __global const real *restrict A, ulong first_a, int lda,
                                                                    __global const real *restrict B, ulong first_b, int ldb,
                                                                    real beta, __global real *restrict C, ulong first_c,
                                                                    int ldc, int depth) {
    __local real tile_a[2][STEP * EDGE] __attribute__((aligned(32)));
    __local real tile_b[2][STEP * EDGE] __attribute__((aligned(32)));
    int x = (int)get_local_id(0), y = (int)get_local_id(1), id = y * 16 + x;
    const int group = (int)get_group_id(1), columns = (N + TILE - 1) / TILE, slice = SLICED ? group / columns : 0;
    const int skip = slice * depth;
    int row = (int)get_group_id(0) * TILE, column = (group - slice * columns) * TILE, k0, k, c, turn = 0;
    quad low[8], high[8], a[QUADS], b[QUADS];
    A += first_a + (size_t)skip * (TRANS_A ? 1 : (size_t)lda);
    B += first_b + (size_t)skip * (TRANS_B ? (size_t)ldb : 1);
    C += first_c + (size_t)slice * (size_t)ldc * (size_t)N;
    if (SLICED) K = min(K - skip, depth);
    for (c = 0; c < 8; c++) low[c] = high[c] = (quad)(0);
    BRING(0)
    for (k0 = 0; k0 < K; k0 += STEP) {
        __local const real *ta = tile_a[turn];
        __local const real *tb = tile_b[turn];
#pragma unroll
        for (c = 0; c < QUADS; c++) {
            put(tile_a[turn], ALONG_A, id, c, a[c]);
            put(tile_b[turn], ALONG_B, id, c, b[c]);
        }
        turn ^= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k0 + STEP < K) {
            BRING(k0 + STEP)
        }
#pragma unroll
        for (k = 0; k < STEP; k++) {
            quad a_low = *(__local const quad *)(ta + k * EDGE + 4 * x);
            quad a_high = *(__local const quad *)(ta + k * EDGE + 64 + 4 * x);
            quad b_low = *(__local const quad *)(tb + k * EDGE + 4 * y);
            quad b_high = *(__local const quad *)(tb + k * EDGE + 64 + 4 * y);
            ROW_TIMES(0, b_low.x) ROW_TIMES(1, b_low.y) ROW_TIMES(2, b_low.z) ROW_TIMES(3, b_low.w)
            ROW_TIMES(4, b_high.x) ROW_TIMES(5, b_high.y) ROW_TIMES(6, b_high.z) ROW_TIMES(7, b_high.w)
        }
    }
#pragma unroll
    for (c = 0; c < 8; c++) {
        int at = column + 4 * y + (c < 4 ? c : 60 + c);
        int aligned = ldc % 4 == 0 && first_c % 4 == 0;
        if (at >= N) continue;
        keep(C + (size_t)at * (size_t)ldc, row + 4 * x, M, alpha, beta, aligned, low[c]);
        keep(C + (size_t)at * (size_t)ldc, row + 64 + 4 * x, M, alpha, beta, aligned, high[c]);
    }
}

/* For processors and small devices: an item computes 4 x 4 values from what its caches hold, without local memory. */
__kernel void gemm_plain(int M, int N, int K, real alpha, __global const real *restrict A, ulong first_a, int lda,
                         __global const real *restrict B, ulong first_b, int ldb, real beta, __global real *restrict C,
                         ulong first_c, int ldc) {
    int row = (int)get_global_id(0) * 4, column = (int)get_global_id(1) * 4, k, c;
    const size_t step_a = TRANS_A ? 1 : (size_t)lda;
    const size_t row_a = TRANS_A ? (size_t)lda : 1;
    const size_t step_b = TRANS_B ? (size_t)ldb : 1;
    const size_t column_b = TRANS_B ? 1 : (size_t)ldb;
    __global const real *a[4], *b[4];
    quad sum[4];
    if (row >= M || column >= N) return;
    A += first_a;
    B += first_b;
    C += first_c;
    for (c = 0; c < 4; c++) {
        a[c] = A + (size_t)min(row + c, M - 1) * row_a;
        b[c] = B + (size_t)min(column + c, N - 1) * column_b;
        sum[c] = (quad)(0);
    }
    for (k = 0; k < K; k++) {
        size_t ka = (size_t)k * step_a, kb = (size_t)k * step_b;
        quad left = (quad)(a[0][ka], a[1][ka], a[2][ka], a[3][ka]);
        for (c = 0; c < 4; c++) sum[c] = fma(left, (quad)(b[c][kb]), sum[c]);
    }
    for (c = 0; c < 4 && column + c < N; c++)
        keep(C + (size_t)(column + c) * (size_t)ldc, row, M, alpha, beta, 0, sum[c]);
}

/* C = alpha (the sum of the slices' own C, M x N) + beta C. PARTS items add a stretch of the slices each, in order,
   and their sums are added in order. */
#define PARTS SHS__CL_SUM_PARTS
#define VALUES SHS__CL_SUM_VALUES
__kernel __attribute__((reqd_work_group_size(VALUES, PARTS, 1)))
void gemm_sum(__global const real *partial, int slices, int M, int N, real alpha, real beta, __global real *C,
              ulong first_c, int ldc) {
    __local real sums[PARTS][VALUES];
    const int x = (int)get_local_id(0), y = (int)get_local_id(1);
    const size_t each = (size_t)M * (size_t)N, e = get_global_id(0);
    const int stretch = (slices + PARTS - 1) / PARTS, last = min((y + 1) * stretch, slices);
    real sum = 0;
    int s;
    if (e < each)
        for (s = y * stretch; s < last; s++) sum += partial[(size_t)s * each + e];
    sums[y][x] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (y || e >= each) return;
    for (s = 1; s < PARTS; s++) sum += sums[s][x];
    C += first_c + e / (size_t)M * (size_t)ldc + e % (size_t)M;
    *C = beta == 0 ? alpha * sum : fma(beta, *C, alpha * sum);
}
