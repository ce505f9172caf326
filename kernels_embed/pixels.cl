/* pixels.cl - from the cube's own type to panels of numbers, and which pixels are missing.

   A slice of whole lines lies on the device as the file has it, from value `origin` of the buffer on: values of VALUE, byte
   order and interleave untouched, so that the bus carries nothing twice. `load` turns a stretch of the slice into a panel for all
   other stages:

       panel[b * ld + p] = x - shift of band b and pixel p, 0 where the pixel is missing and behind the last one

   Zeros add nothing to a sum of products, so later stages need not know which pixels are missing. In float a panel costs
   four times the traffic of 8-bit pixels, a millisecond for a gigabyte; in return every stage reads contiguous planes.

   The sums of the textbook are shs_moments_naive. */

#include "device.cl"

#ifndef ELEM
#define ELEM real /* of the panel */
#endif
#ifndef ELEM_BYTES
#define ELEM_BYTES (REAL_BITS / 8) /* its size */
#endif
#include "cube.h"
#ifndef FLOATING
#define FLOATING 0 /* 1: values are floating-point numbers: NaN and infinity are missing */
#endif
#ifndef NODATA
#define NODATA 1 /* 1: a value says that a pixel is missing */
#endif
#ifndef CHECKED
#define CHECKED 1 /* 1: pixels may be missing */
#endif
#ifndef DIFFERENCE
#define DIFFERENCE 0 /* 1: pixel less right neighbour, for the noise: as the CPU, whose sums are added to these */
#endif

#define ITEMS SHS__CL_ITEMS
#define CHUNK SHS__CL_CHUNK_PIXELS
#define TURN SHS__CL_BIP_BANDS

/* What values are compared in with the one that says missing. */
#if SPLIT
#define EXACT VALUE
#else
#define EXACT wide
#endif

/* The bits decide: compilers may fold a comparison away. */
inline int finite_elem(ELEM x) {
#if ELEM_BYTES == 8
    return (as_ulong(x) & 0x7ff0000000000000UL) != 0x7ff0000000000000UL;
#else
    return (as_uint(x) & 0x7f800000u) != 0x7f800000u;
#endif
}

/* One work-item a pixel of the slice: valid[p] holds the mask and becomes 0 or 1. A value counts if a `real` can hold it, in
   panels of doubles too. */
__kernel void validity(__global const VALUE *raw, ulong origin, __global const int *list, __global const real *shift,
                       __global uchar *valid, ulong pixels, ulong plane, int samples, int bands, int used, EXACT nodata) {
    size_t p = get_global_id(0);
    int good;
    if (p >= pixels) return;
    raw += origin;
    good = valid[p] != 0;
#if NODATA || FLOATING
    for (int b = 0; b < used; b++) {
        VALUE v = value_at(raw, p, list[b], plane, samples, bands);
#if NODATA
        good &= (EXACT)v != nodata;
#endif
#if FLOATING
        good &= finite_elem((ELEM)(real)less(v, (WORK)shift[b]));
#endif
    }
#endif
    valid[p] = (uchar)(good != 0);
}

/* x - shift of band b (the used-th is the constant 1 that counts pixels); 0 where it is missing. q: pixel of the slice. */
inline ELEM element(__global const VALUE *raw, __global const int *list, __global const real *shift, __global const uchar *valid,
                    size_t q, int b, size_t plane, int samples, int bands, int used) {
#if DIFFERENCE
    if (q % (size_t)samples == (size_t)samples - 1) return 0;
#if CHECKED
    if (!valid[q] || !valid[q + 1]) return 0;
#endif
    if (b == used) return 1;
    return (ELEM)value_at(raw, q, list[b], plane, samples, bands) - (ELEM)value_at(raw, q + 1, list[b], plane, samples, bands);
#else
#if CHECKED
    if (!valid[q]) return 0;
#endif
    if (b == used) return 1;
    return less(value_at(raw, q, list[b], plane, samples, bands), (WORK)shift[b]);
#endif
}

/* Work-group (c, g) loads pixels c CHUNK .. of the panel. Planes: of band first_band + g, item i the pixels i, i + ITEMS, ...
   BIP: of bands first_band + TURN g and the next; a tile of TURN pixels x TURN bands is read along the bands and written along the
   pixels by way of local memory. Both write the chunk's sum of every band, and its number of pixels, to
   sums[c * (used + 1) + b]. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void load(__global const VALUE *raw, ulong origin, __global const int *list, __global const real *shift,
          __global const uchar *valid, __global ELEM *panel, __global wide *sums, ulong first, int count, ulong plane, int samples,
          int bands, int used, int first_band, int ld) {
    __local wide add[ITEMS];
    const int i = (int)get_local_id(0), chunk = (int)get_group_id(0);
    int step, span;
    wide sum = 0;
    raw += origin;
#if FROM != 2
    const int b = first_band + (int)get_group_id(1);
    for (step = i; step < CHUNK; step += ITEMS) {
        int p = chunk * CHUNK + step;
        ELEM x = p < count ? element(raw, list, shift, valid, first + (ulong)p, b, plane, samples, bands, used) : (ELEM)0;
        if (b < used) panel[(size_t)b * (size_t)ld + (size_t)p] = x;
        sum += (wide)x;
    }
    add[i] = sum;
    for (span = ITEMS / 2; span > 0; span >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < span) add[i] += add[i + span];
    }
    if (i == 0) sums[(size_t)chunk * (size_t)(used + 1) + (size_t)b] = add[0];
#else
    __local ELEM tile[TURN][TURN + 1];
    const int row = i / TURN, column = i % TURN, base = first_band + (int)get_group_id(1) * TURN;
    for (step = 0; step < CHUNK; step += TURN) {
        int p = chunk * CHUNK + step + row, b = base + column;
        ELEM x = 0;
        if (p < count && b <= used) x = element(raw, list, shift, valid, first + (ulong)p, b, plane, samples, bands, used);
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[row][column] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
        x = tile[column][row]; /* now band base + row, pixel column */
        if (base + row < used) panel[(size_t)(base + row) * (size_t)ld + (size_t)(chunk * CHUNK + step + column)] = x;
        sum += (wide)x;
    }
    add[i] = sum;
    for (span = TURN / 2; span > 0; span >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (column < span) add[i] += add[i + span];
    }
    if (column == 0 && base + row <= used) sums[(size_t)chunk * (size_t)(used + 1) + (size_t)(base + row)] = add[i];
#endif
}
