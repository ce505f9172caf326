/* map_items.h - the product of map.cl, where an item takes PIXELS pixels and OUTPUTS outputs.

                 outputs ->             A value, once read, is used OUTPUTS times from a register, and an element of the matrix
              b  +--------+             PIXELS times. The matrix goes through local memory, DEEP bands at a time, where all items
      pixels  a  | matrix |             read the same element. With one pixel an item local memory is the limit: its 128 bytes a
     +------+ n  +--------+             cycle are 16 doubles, and a multiprocessor of an H200 multiplies 64. With four the two are
     | item | d  | y of   |             in balance.
     +------+ s  | item   | */

#ifndef IN_LOCAL
#define IN_LOCAL 1 /* 0: every value from global memory, to see what local memory is worth */
#endif
#define BLOCKS (OUTPUTS / 4)
#define HELD PIXELS
#define OWN OUTPUTS
#define SUMS(name) VEC4 name[PIXELS * BLOCKS]
#define OUTPUT(o) (o)
#define FINAL PIXELS
#define PIXEL(j) ((size_t)((j)*ITEMS) + get_local_id(0))
#define ACROSS 1
#define UNROLLED (PIXELS == 4 ? 4 : 8) /* bands whose loads are on their way together, */
#define FETCHED 8                      /* and words of BIP */

/* BIP is read along the bands and used along the pixels: DEEP bands of the group's pixels go through local memory, where a pixel's
   stand in words of TOGETHER bands, an odd number of words from the next pixel's, so that neighbours find different banks. */
#if DIRECT && FROM == 2 && IN_LOCAL
#define TRANSPOSED 1
#define DEEP SHS__CL_MAP_DEEP
#define TOGETHER SHS__CL_MAP_TOGETHER(BYTES)
#define PITCH SHS__CL_MAP_PITCH(BYTES)
#define PLACES (ALL * PITCH)
#else
#define TRANSPOSED 0
#define DEEP 32
#define TOGETHER 1
#define PITCH 1
#define PLACES 1
#endif
#if TOGETHER == 4
typedef VECTOR(VALUE, 4) WORD;
#elif TOGETHER == 2
typedef VECTOR(VALUE, 2) WORD;
#else
typedef VALUE WORD;
#endif

#define LOCAL                                                                                                         \
    __local VEC4 deep[DEEP * BLOCKS];                                                                                 \
    __local WORK centre[DEEP];                                                                                        \
    __local ulong rows[DEEP];                                                                                         \
    __local WORD tile[PLACES]
#define LOCAL_ARGUMENTS __local VEC4 *deep, __local WORK *centre, __local ulong *rows, __local WORD *tile

/* y[j * BLOCKS + o] = matrix (x - centre) of this item's pixel j for the block's outputs 4 o .. 4 o + 3; matrix: bands x `padded`
   outputs. All items of a group must come here. Behind the last band stands the last again, which is multiplied by 0. */
inline void project(SOURCE, int used, __global const ELEM *matrix, int padded, int first, LOCAL_ARGUMENTS, VEC4 *y) {
    const int i = (int)get_local_id(0);
    const size_t group = get_group_id(0) * (size_t)ALL;
    size_t place[PIXELS];
    int b0, b, o, e, j, k;
    for (j = 0; j < PIXELS; j++) place[j] = TRANSPOSED ? (size_t)((j * ITEMS + i) * PITCH) : PLACE(group + (size_t)(j * ITEMS + i));
    for (o = 0; o < PIXELS * BLOCKS; o++) y[o] = (VEC4)(0);
#if !IN_LOCAL
    for (b = 0; b < used; b++)
        for (j = 0; j < PIXELS; j++) {
            const ELEM x = LESS_CENTRE(FROM_HERE[ROW(b) + place[j]], CENTRE(b));
            __global const VEC4 *m = (__global const VEC4 *)(matrix + (size_t)b * (size_t)padded + (size_t)first);
            for (o = 0; o < BLOCKS; o++) y[j * BLOCKS + o] += m[o] * x;
        }
    return;
#endif
    for (b0 = 0; b0 < used; b0 += DEEP) {
        const int depth = min(DEEP, used - b0), rounded = (depth + TOGETHER - 1) / TOGETHER * TOGETHER;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (e = i; e < rounded * OUTPUTS; e += ITEMS)
            ((__local ELEM *)deep)[e] =
                e < depth * OUTPUTS ? matrix[(size_t)(b0 + e / OUTPUTS) * (size_t)padded + (size_t)(first + e % OUTPUTS)] : (ELEM)0;
        if (i < rounded) {
            centre[i] = CENTRE(b0 + min(i, depth - 1));
            rows[i] = ROW(b0 + min(i, depth - 1));
        }
#if TRANSPOSED
        {
            const int word = i % (DEEP / TOGETHER); /* of a pixel, the same for all pixels of this item */
            size_t row[TOGETHER];
            for (k = 0; k < TOGETHER; k++) row[k] = ROW(b0 + min(word * TOGETHER + k, depth - 1));
#if !IS_CPU
#pragma unroll FETCHED
#endif
            for (e = i / (DEEP / TOGETHER); e < ALL; e += ITEMS / (DEEP / TOGETHER)) {
                __global const VALUE *from = FROM_HERE + PLACE(group + (size_t)e);
                WORD w;
#pragma unroll
                for (k = 0; k < TOGETHER; k++) ((VALUE *)&w)[k] = from[row[k]];
                tile[e * PITCH + word] = w;
            }
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#if !IS_CPU /* which says at length that it could not */
#pragma unroll (UNROLLED / TOGETHER)
#endif
        for (b = 0; b < rounded; b += TOGETHER) {
            WORD word[PIXELS];
#pragma unroll
            for (j = 0; j < PIXELS; j++) {
#if TRANSPOSED
                word[j] = tile[place[j] + (size_t)(b / TOGETHER)];
#else
                word[j] = FROM_HERE[rows[b] + place[j]];
#endif
            }
#pragma unroll
            for (k = 0; k < TOGETHER; k++) {
                ELEM x[PIXELS];
#pragma unroll
                for (j = 0; j < PIXELS; j++) x[j] = LESS_CENTRE(((const VALUE *)(word + j))[k], centre[b + k]);
#pragma unroll
                for (o = 0; o < BLOCKS; o++) {
                    const VEC4 m = deep[(b + k) * BLOCKS + o];
#pragma unroll
                    for (j = 0; j < PIXELS; j++) y[j * BLOCKS + o] += m * x[j];
                }
            }
        }
    }
}

#if SQUARES
/* An item has its pixels' lengths already. */
inline void whole_lengths(const wide *length, __local WORD *tile, wide *value) {
    int j;
    for (j = 0; j < HELD; j++) value[j] = length[j];
}
#endif
