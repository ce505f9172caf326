/* update.cl: the update of atoms, in these steps:

       count_uses, scan_uses, place_uses   list the uses of every atom
       gather                              sums E_I x' and |x|^2 for a group of atoms; for MOD also gram (XX'), then mod.cl solves
       new_atoms                           makes the new atoms from these sums. The host makes them instead, after gather_sums,
                                           where ranks or slices must add up their sums, and for K-SVD and NSGK.
       update_signals, update_uses         change codes and residuals; update_uses for a single atom

   A use is a cell of the codes, i * STRIDE + k, so that it tells the signal and leads to the coefficient. The uses of an atom
   stand in the order of the signals: sums have a fixed order, and a run can be repeated bit by bit.

   The textbook twin of the update is shs_ksvd_naive. */

#include "device.cl"

#ifndef STRIDE
#define STRIDE 8 /* places that a signal has in the codes */
#endif
#ifndef LANES
#define LANES 32 /* work-items that share a signal; 1 on a processor */
#endif
#ifndef ROWS
#define ROWS 1 /* signals a group; 1 for update_signals without SHUFFLES */
#endif
#ifndef SHUFFLES
#define SHUFFLES 0 /* 1: a warp exchanges registers by PTX */
#endif
#ifndef SUB_GROUPS
#define SUB_GROUPS 0 /* as in omp_warp.cl; then SHUFFLE_XOR names the function by which a sub-group exchanges registers */
#endif
#ifndef POWER
#define POWER 0 /* 1: gather sums for a power step */
#endif
#if SUB_GROUPS > 1
#define OF_SUB_GROUPS __attribute__((intel_reqd_sub_group_size(SUB_GROUPS)))
#else
#define OF_SUB_GROUPS
#endif
#if SUB_GROUPS && defined(cl_khr_subgroups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#if SUB_GROUPS && defined(cl_khr_subgroup_shuffle)
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#endif
/* And UPDATE_name, a name of SHS_UPDATE_LIST, for new_atoms, update_signals and update_uses. */

#pragma OPENCL FP_CONTRACT OFF

#define TEAM SHS__CL_USES_ITEMS
#define ATOM_ITEMS SHS__CL_ATOM_ITEMS
#define TILE SHS__CL_USES_TILE
#define GRAM_TILE SHS__CL_GRAM_TILE
#define STRETCH SHS__CL_USES_STRETCH
#define AHEAD 16
#define SET 32 /* signals that are placed at a time: a bit each */

#include "sum.h"
SUM_OVER(sum_over, real)

/* ---- the lists ---------------------------------------------------------------------------------------------------- */

/* Group (b, c) counts how often the `block` signals from b * block on use each of the atoms from c * TILE on. Only the final
   counts matter, so the order of the atomic additions does not. */
__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void count_uses(uint m, uint block, int n,
                                                                           __global const int *restrict used,
                                                                           __global const int *restrict atoms,
                                                                           __global uint *restrict counts) {
    __local uint tally[TILE];
    const int first = (int)get_group_id(1) * TILE, have = min(TILE, n - first), id = (int)get_local_id(0);
    const uint begin = (uint)get_group_id(0) * block;
    const uint end = min(m, begin + block);
    uint cell;
    int a;
    for (a = id; a < have; a += TEAM) tally[a] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (cell = begin * STRIDE + (uint)id; cell < end * STRIDE; cell += TEAM) {
        if ((int)(cell % STRIDE) >= used[cell / STRIDE]) continue;
        a = atoms[cell] - first;
        if (a >= 0 && a < have) atomic_inc(tally + a);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (a = id; a < have; a += TEAM) counts[get_group_id(0) * (size_t)n + (size_t)(first + a)] = tally[a];
}

/* Item a turns the counts of atom a into how many uses stand before each block's, and their total. It reads AHEAD
   counts before it writes: otherwise every read would wait for the write before it. */
__kernel void scan_uses(int n, uint blocks, __global uint *restrict counts, __global uint *restrict totals) {
    const int a = (int)get_global_id(0);
    uint sum = 0, b, v;
    if (a >= n) return;
    for (b = 0; b < blocks; b += AHEAD) {
        uint here[AHEAD];
#pragma unroll
        for (v = 0; v < AHEAD; v++) here[v] = b + v < blocks ? counts[(size_t)(b + v) * (size_t)n + (size_t)a] : 0;
#pragma unroll
        for (v = 0; v < AHEAD; v++) {
            if (b + v < blocks) counts[(size_t)(b + v) * (size_t)n + (size_t)a] = sum;
            sum += here[v];
        }
    }
    totals[a] = sum;
}

/* Group (b, c) once more, now with the places. Of 32 signals at a time every atom has a word whose bits are the signals that
   use it; the bits below a signal's own are the uses before it, so all can be placed at once, in order. */
__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void place_uses(uint m, uint block, int n,
                                                                           __global const int *restrict used,
                                                                           __global const int *restrict atoms,
                                                                           __global const uint *restrict counts,
                                                                           __global const uint *restrict start,
                                                                           __global uint *restrict uses) {
    __local uint users[TILE], next[TILE];
    const int first = (int)get_group_id(1) * TILE, have = min(TILE, n - first), id = (int)get_local_id(0);
    const uint begin = (uint)get_group_id(0) * block;
    const uint end = min(m, begin + block);
    uint set, cell;
    int a;
    for (a = id; a < have; a += TEAM)
        next[a] = start[first + a] + counts[get_group_id(0) * (size_t)n + (size_t)(first + a)];
    for (set = begin; set < end; set += SET) {
        const uint last = min(end, set + SET) * STRIDE;
        for (a = id; a < have; a += TEAM) users[a] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (cell = set * STRIDE + (uint)id; cell < last; cell += TEAM) {
            if ((int)(cell % STRIDE) >= used[cell / STRIDE]) continue;
            a = atoms[cell] - first;
            if (a >= 0 && a < have) atomic_or(users + a, 1u << (cell / STRIDE - set));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (cell = set * STRIDE + (uint)id; cell < last; cell += TEAM) {
            if ((int)(cell % STRIDE) >= used[cell / STRIDE]) continue;
            a = atoms[cell] - first;
            if (a >= 0 && a < have)
                uses[next[a] + popcount(users[a] & ((1u << (cell / STRIDE - set)) - 1))] = cell;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (a = id; a < have; a += TEAM) next[a] += popcount(users[a]);
    }
}

/* ---- gathering ---------------------------------------------------------------------------------------------------- */

/* A group sums one stretch of at most 256 uses of an atom: which one, the lists stretches[] (how many stretches the atoms
   before have) and start[] tell. Its cells and coefficients come to local memory first, so that the reads of E need not wait
   for them; then row y takes every ROWS-th use, lane l the elements l, l + LANES, .. of the sum; neighbours read neighbours.
   The rows are added in order.

   For a power step x becomes z = E'd + x d_old'd first, by the atoms d in `fresh`, as update_signals has them, and the energy
   x z. Where `skips`, the atoms of the group that done[] names get 0. */
__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void gather(int first, int n, int p,
                                                                           __global const uint *restrict start,
                                                                           __global const uint *restrict stretches,
                                                                           __global const uint *restrict uses,
                                                                           __global const real *restrict coefs,
                                                                           __global const real *restrict E,
                                                                           __global const real *restrict fresh,
                                                                           ulong overlaps, int skips,
                                                                           __global const uchar *restrict done,
                                                                           __global real *restrict partial,
                                                                           __global wide *restrict energies) {
    __local uint signals[STRETCH];
    __local real weights[STRETCH];
#if POWER
    __local real codes[STRETCH];
#else
    __local real *const codes = weights;
#endif
    __local real rows[ROWS * LANES];
    __local wide shares[LANES];
    const int lane = (int)get_local_id(0), y = (int)get_local_id(1), id = y * LANES + lane;
    const uint mine = stretches[first] + (uint)get_group_id(0);
    int low = first, high = n, r, u, count;
    uint begin;
    wide energy = 0;
    while (high - low > 1) { /* the last atom whose stretches begin at or before this one */
        int middle = (low + high) / 2;
        if (stretches[middle] <= mine) low = middle;
        else high = middle;
    }
    begin = start[low] + (mine - stretches[low]) * STRETCH;
    count = skips && done[low - first] ? 0 : (int)min((uint)STRETCH, start[low + 1] - begin);
    for (u = id; u < count; u += ROWS * LANES) {
        uint cell = uses[begin + (uint)u];
        signals[u] = cell / STRIDE;
        codes[u] = coefs[cell];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if POWER
    for (u = y; u - y < count; u += ROWS) {
        real z = 0;
        for (r = lane; u < count && r < p; r += LANES)
            z = fma(E[(size_t)signals[u] * (size_t)p + (size_t)r], fresh[(size_t)low * (size_t)p + (size_t)r], z);
        z = sum_over(z, lane, LANES, rows + y * LANES);
        if (lane == 0 && u < count) weights[u] = fma(codes[u], fresh[overlaps + (size_t)low], z);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (r = lane; r - lane < p; r += LANES) {
        real sum = 0;
        for (u = y; r < p && u < count; u += ROWS) sum = fma(weights[u], E[(size_t)signals[u] * (size_t)p + (size_t)r], sum);
        rows[id] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0 && r < p) {
            for (u = 1; u < ROWS; u++) sum += rows[u * LANES + lane];
            partial[get_group_id(0) * (size_t)p + (size_t)r] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (u = lane; y == 0 && u < count; u += LANES) energy = fma((wide)codes[u], (wide)weights[u], energy);
    if (y == 0) shares[lane] = energy;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id > 0) return;
    for (u = 1; u < LANES; u++) energy += shares[u];
    energies[get_group_id(0)] = energy;
}

/* Item (r, a) adds the stretches of the a-th atom of the group in order; row r = p is |x|^2, kept behind the sums. */
__kernel void gather_sums(int first, int count, int p, __global const uint *restrict stretches,
                          __global const real *restrict partial, __global const wide *restrict energies,
                          __global wide *restrict sums) {
    const int r = (int)get_global_id(0), a = (int)get_global_id(1);
    const uint from = stretches[first];
    uint s;
    wide sum = 0;
    if (r > p || a >= count) return;
    for (s = stretches[first + a] - from; s < stretches[first + a + 1] - from; s++)
        sum += r < p ? (wide)partial[(size_t)s * (size_t)p + (size_t)r] : energies[s];
    sums[r < p ? (size_t)a * (size_t)p + (size_t)r : (size_t)count * (size_t)p + (size_t)a] = sum;
}

/* Row a of XX' for a group: group (a, c) adds up what the uses of atom first + a find of the atoms from c * GRAM_TILE on in
   the same signals. Row y takes every ROWS-th use, its lanes the places of the signal, whose atoms differ; so each place of
   the row's tally has one writer at a time. The rows are added in order. */
__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void gram(int first, int n, __global const uint *restrict start,
                                                                         __global const uint *restrict uses,
                                                                         __global const int *restrict used,
                                                                         __global const int *restrict atoms,
                                                                         __global const real *restrict coefs,
                                                                         __global wide *restrict sums) {
    __local wide tally[ROWS][GRAM_TILE];
    const int lane = (int)get_local_id(0), y = (int)get_local_id(1), id = y * LANES + lane, a = (int)get_group_id(0);
    const int begin = (int)get_group_id(1) * GRAM_TILE, have = min(GRAM_TILE, n - begin);
    const uint end = start[first + a + 1];
    uint u = start[first + a] + (uint)y;
    uint next = u < end ? uses[u] : 0;
    int k, b;
    for (b = lane; b < have; b += LANES) tally[y][b] = 0;
    for (; u - (uint)y < end; u += ROWS) {
        const uint cell = next;
        const uint at = cell - cell % STRIDE;
        const int places = u < end ? used[cell / STRIDE] : 0;
        next = u + ROWS < end ? uses[u + ROWS] : 0; /* comes while this one is worked on */
        barrier(CLK_LOCAL_MEM_FENCE); /* the use before is done with its places */
        for (k = lane; k < places; k += LANES) {
            b = atoms[at + (uint)k] - begin;
            if (b >= 0 && b < have) tally[y][b] = fma((wide)coefs[cell], (wide)coefs[at + (uint)k], tally[y][b]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (b = id; b < have; b += ROWS * LANES) {
        wide sum = 0;
        for (k = 0; k < ROWS; k++) sum += tally[k][b];
        sums[(size_t)a * (size_t)n + (size_t)(begin + b)] = sum;
    }
}

/* ---- the rules: what becomes of an atom and of a coefficient -------------------------------------------- */

/* direction: an element of what the new atom has the direction of; sum: of E_I x', for MOD of E X'A^-1; before: of the atom;
   energy: |x|^2.
   new_code: x: before; along: e'd_new, which is formed only where CODES says that the codes are made anew; overlap:
   d_old'd_new. */
#if defined(UPDATE_aksvd) || defined(UPDATE_sgk) /* the others make their atoms on the host */
#define DIRECTION
inline wide direction(wide sum, real before, wide energy) { return sum + (wide)before * energy; }
#elif defined(UPDATE_mod)
#define DIRECTION
inline wide direction(wide sum, real before, wide energy) { return sum + (wide)before; }
#endif
#if defined(UPDATE_aksvd) || defined(UPDATE_ksvd)
#define CODES 1
inline real new_code(real x, real along, real overlap) { return fma(x, overlap, along); }
#elif defined(UPDATE_sgk) || defined(UPDATE_nsgk) || defined(UPDATE_mod)
#define CODES 0
inline real new_code(real x, real along, real overlap) { return x; }
#endif

#ifdef DIRECTION

/* ---- the new atoms --------------------------------------------------------------------------------------- */

SUM_OVER(sum_of_wides, wide)
#define over_atom(value, room) sum_of_wides(value, id, ATOM_ITEMS, room)

/* Group a adds the stretches of the a-th atom from `first` on in order (for MOD it finds the sums made), and makes the new atom:
   its direction by the rule, at unit norm. An atom stays if no signal uses it, or if its direction vanishes or is no number.
   fresh: p x n, the atoms in their places; then d_old'd_new of each. */
__kernel __attribute__((reqd_work_group_size(ATOM_ITEMS, 1, 1))) void
new_atoms(int first, int n, int p, __global const uint *restrict stretches, __global const real *restrict partial,
          __global const wide *restrict energies, __global const real *restrict D, __global wide *restrict sums,
          __global real *restrict fresh) {
    __local wide room[ATOM_ITEMS];
    const int id = (int)get_local_id(0), atom = first + (int)get_group_id(0);
    const uint begin = stretches[atom] - stretches[first];
    const uint end = stretches[atom + 1] - stretches[first];
    __global const real *before = D + (size_t)atom * (size_t)p;
    __global real *after = fresh + (size_t)atom * (size_t)p;
    __global wide *y = sums + (size_t)atom * (size_t)p;
    wide energy = 0, norm2 = 0, overlap = 0, norm;
    int r;
    uint s;
    for (s = begin; s < end; s++) energy += energies[s];
    for (r = id; r < p; r += ATOM_ITEMS) {
#ifdef UPDATE_mod
        wide sum = y[r];
#else
        wide sum = 0;
        for (s = begin; s < end; s++) sum += (wide)partial[(size_t)s * (size_t)p + (size_t)r];
#endif
        y[r] = direction(sum, before[r], energy);
        norm2 += y[r] * y[r];
    }
    norm2 = over_atom(norm2, room);
    norm = sqrt(norm2);
    for (r = id; r < p; r += ATOM_ITEMS) {
        after[r] = energy > 0 && norm2 > 0 && isfinite(norm2) ? (real)(y[r] / norm) : before[r];
        overlap += (wide)before[r] * (wide)after[r];
    }
    overlap = over_atom(overlap, room);
    if (id == 0) fresh[(size_t)n * (size_t)p + (size_t)atom] = (real)overlap;
}

#endif

#ifdef CODES

/* ---- changing over --------------------------------------------------------------------------------------- */

/* Over the items that share a signal. */
#define over_lanes(value, room) sum_over(value, (int)get_local_id(0), LANES, (room) + (int)get_local_id(1) * LANES)

/* What LANES items do together where they are a warp that can exchange registers (SHUFFLES): a group may then hold several
   signals, for no barrier has to be met by all of it. Otherwise ROWS is 1, and barriers serve. A group that is one sub-group
   exchanges registers, too. All ways add in the same order. */
#if SHUFFLES
#define TOGETHER() __asm volatile("bar.warp.sync 0xffffffff;" : : : "memory")
real over_signal(real value, __local real *room) {
    uint step;
    for (step = LANES / 2; step; step /= 2) {
        uint other;
        __asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(as_uint(value)), "r"(step));
        value += as_float(other);
    }
    return value;
}
#else
#define TOGETHER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#if SUB_GROUPS
real over_signal(real value, __local real *room) {
    uint step;
    if (get_num_sub_groups() > 1) return over_lanes(value, room);
    for (step = LANES / 2; step; step /= 2) value += SHUFFLE_XOR(value, step);
    return value;
}
#else
#define over_signal(value, room) over_lanes(value, room)
#endif
#endif

/* The places of a signal's codes that hold atoms of the group, a bit each: of places 32 set .. 32 set + 31. */
uint places_in(int set, int have, int first, int count, __global const int *atoms) {
    uint bits = 0;
#if SHUFFLES
    const int k = 32 * set + (int)get_local_id(0), a = k < have ? atoms[k] - first : -1;
    const uint mine = a >= 0 && a < count;
    __asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                   : "=r"(bits)
                   : "r"(mine));
#else
    int k;
    for (k = 32 * set; k < have && k < 32 * set + 32; k++) {
        const int a = atoms[k] - first;
        if (a >= 0 && a < count) bits |= 1u << k % 32;
    }
#endif
    return bits;
}

#define SETS ((STRIDE + 31) / 32)
/* For each place k that the bits of a set name. */
#define FOR_EACH(k, set, bits, left) \
    for (left = (bits)[set]; left && ((k) = 32 * (set) + popcount((left & (0u - left)) - 1), 1); left &= left - 1)

/* fresh: the new atoms in their places, and from value `overlaps` on d_old'd_new of each. LANES items a signal, which they
   pass over if it uses none of the atoms: first all x_new from the E they share, then E and the codes. */
__kernel OF_SUB_GROUPS __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void
update_signals(uint m, int p, int first, int count, __global const real *restrict D, __global const real *restrict fresh,
               ulong overlaps, __global const int *restrict used, __global const int *restrict atoms,
               __global real *restrict coefs, __global real *restrict E, int want_residual) {
    __local real room[LANES * ROWS], x_all[ROWS][STRIDE];
    const size_t i = get_global_id(1), at = i * STRIDE;
    const int lane = (int)get_local_id(0), have = i < m ? used[i] : 0;
    __global const real *group = fresh + (size_t)first * (size_t)p;
    __local real *x_new = x_all[get_local_id(1)];
    __global real *e = E + i * (size_t)p;
    uint bits[SETS], left, touched = 0;
    int k, r, set;
#pragma unroll
    for (set = 0; set < SETS; set++) {
        bits[set] = places_in(set, have, first, count, atoms + at);
        touched |= bits[set];
    }
    if (!touched) return;
#pragma unroll
    for (set = 0; set < SETS; set++) FOR_EACH(k, set, bits, left) {
        const int a = atoms[at + (size_t)k] - first;
        real sum = 0;
        for (r = lane; CODES && r < p; r += LANES) sum = fma(e[r], group[(size_t)a * (size_t)p + (size_t)r], sum);
        if (CODES) sum = over_signal(sum, room);
        if (lane == 0) x_new[k] = new_code(coefs[at + (size_t)k], sum, fresh[overlaps + (size_t)(first + a)]);
    }
    TOGETHER();
    for (r = lane; want_residual && r < p; r += LANES) {
        real rest = e[r];
#pragma unroll
        for (set = 0; set < SETS; set++) FOR_EACH(k, set, bits, left) {
            const int a = atoms[at + (size_t)k] - first;
            rest = fma(coefs[at + (size_t)k], D[(size_t)(first + a) * (size_t)p + (size_t)r], rest);
            rest = fma(-x_new[k], group[(size_t)a * (size_t)p + (size_t)r], rest);
        }
        e[r] = rest;
    }
    TOGETHER(); /* nobody needs the old codes any more */
    for (k = lane; k < have; k += LANES)
        if (bits[k / 32] >> k % 32 & 1) coefs[at + (size_t)k] = x_new[k];
}

/* The same for one atom: its uses are all in different signals, so LANES items a use, and no signal is looked at in vain. */
__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void
update_uses(uint begin, uint end, int p, int atom, __global const real *restrict D, __global const real *restrict fresh,
            ulong overlaps, __global const uint *restrict uses, __global real *restrict coefs,
            __global real *restrict E, int want_residual) {
    __local real room[LANES * ROWS];
    const uint u = begin + (uint)get_global_id(1);
    const int lane = (int)get_local_id(0);
    const uint cell = u < end ? uses[u] : 0;
    __global real *e = E + (size_t)(cell / STRIDE) * (size_t)p;
    __global const real *before = D + (size_t)atom * (size_t)p;
    __global const real *after = fresh + (size_t)atom * (size_t)p;
    real sum = 0, x = u < end ? coefs[cell] : 0, x_new;
    int r;
    for (r = lane; CODES && u < end && r < p; r += LANES) sum = fma(e[r], after[r], sum);
    if (CODES) sum = over_lanes(sum, room);
    x_new = new_code(x, sum, fresh[overlaps + (size_t)atom]);
    for (r = lane; want_residual && u < end && r < p; r += LANES)
        e[r] = fma(-x_new, after[r], fma(x, before[r], e[r]));
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (u < end && lane == 0) coefs[cell] = x_new;
}
#endif
