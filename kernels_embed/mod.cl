/* mod.cl: MOD's linear system X A = B with B = E X' (p x n) and the symmetric A = XX' (n x n), by the Cholesky factor L of A.
   mod_factor goes over A from left to right, TILE columns a launch. The rows of B stand below the rows of A and become
   Z = B L'^-1 in the same launches. mod_solve forms X = Z L^-1. L and Z overwrite A and B, then X overwrites Z.

        columns:  0   1   2          Launch k: group g has the tile of row g and column k. It subtracts the products of the
       +---+---+---+                 columns before from its tile and from the tile on the diagonal, and factors the latter:
     A | d |   |   |                 each group by itself, since that takes less time than another launch. Then it solves its
       +---+---+---+                 own tile. The diagonal's factors go to `corners`, since the other groups still read the
       | L | d |   |  <- group 0     tile on the diagonal: L below the diagonal, and 1 / l_jj, or 0, on it.
       +---+---+---+
       | L | a | a |  <- group 1
       +---+---+---+
     B | z | b | b |  <- group 2
       +---+---+---+

   A row that depends on the rows before it has no pivot: its column of L is 0, and its atom does not change. The rule on the host
   is shs__dl_solve_mod, the textbook twin shs_mod_naive. */

#include "device.cl"

#define TILE SHS__CL_MOD_TILE
#define ITEMS SHS__CL_MOD_ITEMS
#define APART (ITEMS / TILE) /* an item has the rows y, y + APART, .. of a column of a tile */
#define EACH (TILE / APART)
#define PITCH (TILE + 1) /* of a tile in local memory: the rows of a column lie in different banks */

/* Element (row, column), where the rows of A go on to a whole tile and those of B stand below; 0 where there is none. */
inline __global wide *cell(int n, int p, __global wide *A, __global wide *B, int row, int column) {
    const int below = row - (n + TILE - 1) / TILE * TILE;
    if (column >= n || below >= p) return 0;
    if (below >= 0) return B + (size_t)column * (size_t)p + (size_t)below;
    return row < n ? A + (size_t)row * (size_t)n + (size_t)column : 0;
}

inline wide value_at(int n, int p, __global wide *A, __global wide *B, int row, int column) {
    __global wide *at = cell(n, p, A, B, row, column);
    return at ? *at : 0;
}

/* `first`: the first column of the launch's tiles. least: of a pivot, as a part of the row's square in A. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void mod_factor(int n, int p, int first, wide least,
                                                                            __global wide *A, __global wide *B,
                                                                            __global wide *restrict corners) {
    __local wide left[TILE][PITCH], right[TILE][PITCH], whole[TILE];
    const int id = (int)get_local_id(0), c = id % TILE, y = id / TILE, row = first + (int)get_group_id(0) * TILE;
    wide own[EACH], corner[EACH], scale;
    int q, t, k;
    for (q = 0; q < EACH; q++) {
        own[q] = value_at(n, p, A, B, row + y + q * APART, first + c);
        corner[q] = value_at(n, p, A, B, first + y + q * APART, first + c);
    }
    if (y == 0) whole[c] = value_at(n, p, A, B, first + c, first + c);
    for (t = 0; t < first; t += TILE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (q = 0; q < EACH; q++) {
            left[y + q * APART][c] = value_at(n, p, A, B, row + y + q * APART, t + c);
            right[y + q * APART][c] = value_at(n, p, A, B, first + y + q * APART, t + c);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (k = 0; k < TILE; k++)
            for (q = 0; q < EACH; q++) {
                own[q] = fma(-left[y + q * APART][k], right[c][k], own[q]);
                corner[q] = fma(-right[y + q * APART][k], right[c][k], corner[q]);
            }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (q = 0; q < EACH; q++) {
        left[y + q * APART][c] = own[q];
        right[y + q * APART][c] = corner[q];
    }
    for (k = 0; k < TILE; k++) { /* column k of both tiles is taken off the later columns; the square roots come after the loop */
        wide inverse;
        barrier(CLK_LOCAL_MEM_FENCE);
        inverse = right[k][k] > least * whole[k] ? 1 / right[k][k] : 0;
        for (q = 0; q < EACH && c > k; q++) {
            const int r = y + q * APART;
            const wide by = right[c][k] * inverse;
            left[r][c] = fma(-left[r][k], by, left[r][c]);
            if (r >= c) right[r][c] = fma(-right[r][k], by, right[r][c]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    scale = right[c][c] > least * whole[c] ? 1 / sqrt(right[c][c]) : 0;
    for (q = 0; q < EACH; q++) {
        const int r = y + q * APART;
        __global wide *at = cell(n, p, A, B, row + r, first + c);
        if (row == first) {
            const wide rest = c == r ? scale : 0;
            corners[(size_t)(first + r) * TILE + (size_t)c] = c < r ? right[r][c] * scale : rest;
        } else if (at) *at = left[r][c] * scale;
    }
}

/* Group r has row r of X. It solves the tiles of columns from the last to the first, and takes each off the earlier ones. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void mod_solve(int n, int p, __global const wide *restrict A,
                                                                           __global wide *Z,
                                                                           __global const wide *restrict corners) {
    __local wide corner[TILE][PITCH], inverse[TILE], rest[TILE], x[TILE];
    const int id = (int)get_local_id(0), c = id % TILE, y = id / TILE;
    __global wide *z = Z + get_group_id(0);
    int first, i, k;
    for (first = (n - 1) / TILE * TILE; first >= 0; first -= TILE) {
        const int have = min(TILE, n - first);
        for (k = y; k < TILE; k += APART) corner[k][c] = corners[(size_t)(first + k) * TILE + (size_t)c];
        if (y == 0) {
            inverse[c] = corners[(size_t)(first + c) * TILE + (size_t)c];
            rest[c] = c < have ? z[(size_t)(first + c) * (size_t)p] : 0;
        }
        for (k = have - 1; k >= 0; k--) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (y == 0 && c < k) rest[c] = fma(-rest[k] * inverse[k], corner[k][c], rest[c]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0 && c < have) z[(size_t)(first + c) * (size_t)p] = x[c] = rest[c] * inverse[c];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (i = id; i < first; i += ITEMS) {
            wide sum = z[(size_t)i * (size_t)p];
#pragma unroll 8
            for (k = 0; k < have; k++) sum = fma(-x[k], A[(size_t)(first + k) * (size_t)n + (size_t)i], sum);
            z[(size_t)i * (size_t)p] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}
