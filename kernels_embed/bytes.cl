/* bytes.cl - exact sums of products of 8-bit pixels: Gram matrix, sums of the bands and the number of pixels in one, straight
   from the slice as it was uploaded.

   A further band is 1 in every pixel. Its products with the `used` bands are their sums; its product with itself is the number of
   pixels.
   Work-group (t, s) makes the T x T tile t of the lower triangle from the SLICE pixels s, in whole numbers: 255^2 SLICE fits
   an int, and `accumulate` (totals.cl) adds the slices in double, exactly too.

       B' ->   8 warps of 32 items; warp (x, y) keeps the 32 x 64 products of rows 32 y .. and columns 64 x .., as 2 x 8 blocks
     A +---+   of 16 x 8, four to an item: what a matrix unit (mma) adds to from 32 pixels at a time. KB pixels of both tiles
     | | t |   stand in local memory, four pixels of a band to a word; the next KB are on their way to registers meanwhile.
     v +---+   Without the unit an item keeps 8 x 8 products, 16 rows and 16 columns apart. It adds those of four pixels at a
               time, by an instruction (DOT4) or in plain C, which is slow, for tests and for reading.

   On an H200 the float panel of pixels.cl and its products took as long as the upload of the pixels. byte_products takes a tenth.

   The textbook twin is shs_moments_naive. */

#include "device.cl"

#ifndef MMA
#define MMA 0 /* 1: by the matrix unit, in PTX */
#endif
#ifndef DOT4
#define DOT4 0 /* without MMA: 1 by dp4a, in PTX, 2 by cl_khr_integer_dot_product */
#endif
#ifndef FROM
#define FROM 0 /* the slice's interleave, as a shs_interleave: 0 BSQ, 1 BIL, 2 BIP */
#endif

#define ITEMS SHS__CL_ITEMS
#define SLICE SHS__CL_BYTE_PIXELS
#define T SHS__CL_BYTE_TILE
#define KB 64
#define WORDS (KB / 4)
#define EACH (T * WORDS / ITEMS) /* words of a tile that an item fetches */

/* Word w of band b in local memory. The places are mixed, so that a warp meets no bank twice when it writes 32 bands or
   reads 8 bands of 4 words. */
#define PLACE(b, w) ((b) * WORDS + ((w) ^ (((b) >> 1 & 3) << 2 | ((b) >> 3 & 3))))

/* Neighbouring items fetch neighbouring bytes: of bands in BIP, of pixels otherwise. */
#if FROM == 2
#define BAND_OF(i) ((i) % T)
#define WORD_OF(i) ((i) / T)
#else
#define BAND_OF(i) ((i) / WORDS)
#define WORD_OF(i) ((i) % WORDS)
#endif

/* A byte lies at place(pixel) + row(band). Here are the places of pixels p .. p + 3 of a panel of `count` pixels, which begins with
   pixel `first` of the slice. Pixels behind the last read the last one, without a condition that loads would wait for; count_mask
   takes them away. */
inline void places(uint *at, uint first, int p, int count, int samples, int bands) {
    int i;
#if FROM == 1
    uint q = first + (uint)min(p, count - 1);
    uint line = q / (uint)samples;
    uint sample = q - line * (uint)samples;
    const uint turn = (uint)bands * (uint)samples;
    line *= turn;
    _Pragma("unroll") for (i = 0; i < 4; i++) {
        at[i] = line + sample;
        if (p + i + 1 < count && ++sample == (uint)samples) {
            sample = 0;
            line += turn;
        }
    }
#else
    _Pragma("unroll") for (i = 0; i < 4; i++)
        at[i] = (first + (uint)min(p + i, count - 1)) * (FROM == 0 ? 1u : (uint)bands);
#endif
}

inline uint row_of(__global const int *list, int b, int used, ulong plane, int samples) {
    const uint band = (uint)list[b < used ? b : 0];
#if FROM == 0
    return band * (uint)plane;
#elif FROM == 1
    return band * (uint)samples;
#else
    return band;
#endif
}

/* Takes the bytes of pixels from `count` on away. */
inline uint count_mask(int p, int count) {
    if (p + 4 <= count) return 0xffffffffu;
    if (p >= count) return 0;
    return 0x00ffffffu >> (8 * (3 - (count - p)));
}

/* Four pixels of band b; 1s for the band that counts; 0 behind that band. */
inline uint four_pixels(__global const uchar *raw, const uint *at, uint row, int b, int used) {
    const uint word =
        (uint)raw[at[0] + row] | (uint)raw[at[1] + row] << 8 | (uint)raw[at[2] + row] << 16 | (uint)raw[at[3] + row] << 24;
    const uint ones = b == used ? 0x01010101u : 0;
    return b < used ? word : ones;
}

#if MMA
#define ROW(e) (top + 16 * ((e) / 32) + 8 * ((e) / 2 % 2) + lane / 4)
#define COLUMN(e) (left + 8 * ((e) / 4 % 8) + 2 * (lane % 4) + (e) % 2)

/* c (16 x 8) += a (16 x 32) b (32 x 8). Item l holds rows l / 4 and l / 4 + 8; of a the pixels 4 (l % 4) .. and 16 further on,
   of b the same of column l / 4, of c the columns 2 (l % 4) and the next. */
inline void add_products(int *c, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1) {
    __asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                   : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
#else
#define ROW(e) (id / 16 + 16 * ((e) / 8))
#define COLUMN(e) (id % 16 + 16 * ((e) % 8))

/* sum + the products of the four bytes of a and b. */
#if DOT4 == 1
inline int dot4(uint a, uint b, int sum) {
    int result;
    __asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}
#elif DOT4 == 2
#ifdef cl_khr_integer_dot_product
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif
inline int dot4(uint a, uint b, int sum) { return sum + (int)dot_4x8packed_uu_uint(a, b); }
#else
inline int dot4(uint a, uint b, int sum) {
    return sum + (int)((a & 255) * (b & 255) + (a >> 8 & 255) * (b >> 8 & 255) + (a >> 16 & 255) * (b >> 16 & 255) +
                       (a >> 24) * (b >> 24));
}
#endif
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void byte_products(__global const uchar *raw, ulong origin, __global const int *list, ulong first, int count, ulong plane,
                   int samples, int bands, int used, __global int *partial) {
    __local uint tile_a[T * WORDS], other[T * WORDS];
    __local uint *tile_b;
    const int id = (int)get_local_id(0);
#if MMA
    const int lane = id & 31, top = (id >> 6) * 32, left = (id >> 5 & 1) * 64;
#endif
    const int begin = (int)get_group_id(1) * SLICE, end = min(begin + SLICE, count), t = (int)get_group_id(0);
    int ti = 0, tj, k, e, i, j;
    int sum[64];
    uint next_a[EACH], next_b[EACH];
    raw += origin;
    for (tj = t; tj > ti; tj -= ti) ti++;
    tile_b = ti == tj ? tile_a : other;
    for (e = 0; e < 64; e++) sum[e] = 0;

#if FROM == 2
#define FETCH(from)                                                                                                   \
    _Pragma("unroll") for (e = 0; e < EACH; e++) {                                                                    \
        int p = (from) + 4 * WORD_OF(id + e * ITEMS), b = BAND_OF(id);                                                  \
        uint at[4], mask = count_mask(p, count);                                                                      \
        places(at, (uint)first, p, count, samples, bands);                                                            \
        next_a[e] = four_pixels(raw, at, row_a, ti * T + b, used) & mask;                                             \
        if (ti != tj) next_b[e] = four_pixels(raw, at, row_b, tj * T + b, used) & mask;                               \
    }
    const uint row_a = row_of(list, ti * T + BAND_OF(id), used, plane, samples);
    const uint row_b = row_of(list, tj * T + BAND_OF(id), used, plane, samples);
#else
#define FETCH(from)                                                                                                   \
    {                                                                                                                 \
        int p = (from) + 4 * WORD_OF(id);                                                                             \
        uint at[4], mask = count_mask(p, count);                                                                      \
        places(at, (uint)first, p, count, samples, bands);                                                            \
        _Pragma("unroll") for (e = 0; e < EACH; e++) {                                                                \
            next_a[e] = four_pixels(raw, at, row_a[e], ti * T + BAND_OF(id + e * ITEMS), used) & mask;                  \
            if (ti != tj) next_b[e] = four_pixels(raw, at, row_b[e], tj * T + BAND_OF(id + e * ITEMS), used) & mask;    \
        }                                                                                                             \
    }
    uint row_a[EACH], row_b[EACH];
    for (e = 0; e < EACH; e++) {
        row_a[e] = row_of(list, ti * T + BAND_OF(id + e * ITEMS), used, plane, samples);
        row_b[e] = row_of(list, tj * T + BAND_OF(id + e * ITEMS), used, plane, samples);
    }
#endif

    FETCH(begin)
    for (k = begin; k < end; k += KB) {
        barrier(CLK_LOCAL_MEM_FENCE);
        _Pragma("unroll") for (e = 0; e < EACH; e++) {
            int word = id + e * ITEMS, at = PLACE(BAND_OF(word), WORD_OF(word));
            tile_a[at] = next_a[e];
            if (ti != tj) other[at] = next_b[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + KB < end) FETCH(k + KB)
#if MMA
        _Pragma("unroll") for (int w = lane % 4; w < WORDS; w += 8) {
            uint a[2][4];
            _Pragma("unroll") for (i = 0; i < 2; i++) {
                int row = top + 16 * i + lane / 4;
                a[i][0] = tile_a[PLACE(row, w)];
                a[i][1] = tile_a[PLACE(row + 8, w)];
                a[i][2] = tile_a[PLACE(row, w + 4)];
                a[i][3] = tile_a[PLACE(row + 8, w + 4)];
            }
            _Pragma("unroll") for (j = 0; j < 8; j++) {
                int column = left + 8 * j + lane / 4;
                uint b0 = tile_b[PLACE(column, w)];
                uint b1 = tile_b[PLACE(column, w + 4)];
                _Pragma("unroll") for (i = 0; i < 2; i++)
                    add_products(sum + 32 * i + 4 * j, a[i][0], a[i][1], a[i][2], a[i][3], b0, b1);
            }
        }
#else
        for (int w = 0; w < WORDS; w++) {
            uint a[8], b[8];
            _Pragma("unroll") for (i = 0; i < 8; i++) {
                a[i] = tile_a[PLACE(ROW(8 * i), w)];
                b[i] = tile_b[PLACE(COLUMN(i), w)];
            }
            _Pragma("unroll") for (i = 0; i < 8; i++)
                _Pragma("unroll") for (j = 0; j < 8; j++)
                    sum[8 * i + j] = dot4(a[i], b[j], sum[8 * i + j]);
        }
#endif
    }
    partial += ((size_t)get_group_id(1) * get_num_groups(0) + (size_t)t) * (size_t)(T * T);
    _Pragma("unroll") for (e = 0; e < 64; e++) partial[ROW(e) * T + COLUMN(e)] = sum[e];
}
