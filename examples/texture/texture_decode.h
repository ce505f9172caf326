/* texture_decode.h - decodes a set of textures that `texture encode` wrote: plain C99, integers alone, no heap. The bytes are
   used where they lie. A file of version 1, numbers little endian:

       0  8  0x89 S H S T E X 0x0a       16  4  F: scale of the sums, in 1 / 65536
       8  1  version                     20  4  check sum: FNV-1a of all bytes but these four
       9  1  channels: 1, 3 or 4         24     a texture each 12: width, height, levels of detail (mips), 4 bytes each
      10  1  b: blocks are b x b, 4..8    -     n atoms of p = channels b b signed bytes; value c b b + y b + x
      11  1  s: atoms a block, 1..16      -     the blocks of all textures, all levels, row by row; each channels + 2 s bytes:
      12  2  n: atoms, 1..256                   a mean a channel, then s pairs of an atom and a signed coefficient
      14  2  textures, at least 1

   A level has half the width and height of that before it, rounded down, at least 1; blocks at right and lower edges reach over
   them. A value is mean + floor((F sum_k coef_k atom_k + 32768) / 65536), clipped to 0..255: integers, so that a shader has
   the same. |F sum| stays below 2^31 - 2^15. */
#ifndef TEXTURE_DECODE_H
#define TEXTURE_DECODE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct texture_set {
    const unsigned char *table, *atoms, *blocks;
    int channels, block, sparsity, count, textures, size, stride; /* size: values a block (p); stride: bytes a block */
    int32_t scale;
    size_t total; /* blocks */
} texture_set;

static inline uint32_t texture_u32(const unsigned char *b) {
    uint32_t value = 0;
    int i;
    for (i = 3; i >= 0; i--) value = value << 8 | b[i];
    return value;
}
static inline int texture_signed(unsigned char byte) {
    if (byte < 128) return byte;
    return byte - 256;
}
/* What is stored in a texture's row of the table: 0 the width, 1 the height, 2 the number of levels. */
static inline int texture_number(const texture_set *t, int texture, int which) {
    return (int)texture_u32(t->table + 12 * texture + 4 * which);
}
static inline size_t texture_blocks(const texture_set *t, int width, int height) {
    const int b = t->block;
    return (size_t)((width + b - 1) / b) * (size_t)((height + b - 1) / b);
}
static inline int texture_half(int side) {
    if (side > 1) return side / 2;
    return 1;
}
static inline uint32_t texture_sum(const unsigned char *bytes, size_t size) {
    uint32_t sum = 2166136261u;
    size_t i;
    for (i = 0; i < size; i++)
        if (i < 20 || i >= 24) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

/* Width, height, and the number of the first block of a level; level = levels of the texture: where the next texture begins. */
static inline size_t texture_level(const texture_set *t, int texture, int level, int *width, int *height) {
    size_t first = 0;
    int i, l, levels;
    for (i = 0;; i++) {
        *width = texture_number(t, i, 0);
        *height = texture_number(t, i, 1);
        if (i < texture) levels = texture_number(t, i, 2);
        else levels = level;
        for (l = 0; l < levels; l++) {
            first += texture_blocks(t, *width, *height);
            *width = texture_half(*width);
            *height = texture_half(*height);
        }
        if (i == texture) return first;
    }
}

/* Checks all bytes. Returns NULL if they are valid; *t may then be used while the bytes stay in place. Otherwise returns the
   error in words. */
static inline const char *texture_open(const unsigned char *bytes, size_t size, texture_set *t) {
    const unsigned char *block;
    size_t at, i, stride;
    uint32_t scale;
    int k, width, height;
    if (size < 8 || memcmp(bytes, "\211SHSTEX\n", 8)) return "it is no set of textures";
    if (size < 24) return "it is truncated";
    if (bytes[8] != 1) return "it is of another version than this program reads";
    t->channels = bytes[9];
    t->block = bytes[10];
    t->sparsity = bytes[11];
    t->count = bytes[12] + 256 * bytes[13];
    t->textures = bytes[14] + 256 * bytes[15];
    t->size = t->channels * t->block * t->block;
    t->stride = t->channels + 2 * t->sparsity;
    if ((t->channels != 1 && t->channels != 3 && t->channels != 4) || t->block < 4 || t->block > 8 || t->sparsity < 1 ||
        t->sparsity > 16 || t->count < 1 || t->count > 256 || t->textures < 1)
        return "it is damaged: a number in its header is none that can be";
    scale = texture_u32(bytes + 16);
    if (scale > 2147450880u / (16384u * bytes[11])) return "it is damaged: its scale is too large";
    t->scale = (int32_t)scale;
    stride = (size_t)t->stride;
    at = (size_t)(24 + 12 * t->textures + t->count * t->size);
    t->table = bytes + 24;
    t->atoms = t->table + 12 * t->textures;
    if (at > size) return "it is truncated";
    t->blocks = bytes + at;
    t->total = 0;
    for (k = 0; k < t->textures; k++) {
        texture_set one = *t;
        uint32_t w, h, l;
        one.table += 12 * k;
        w = texture_u32(one.table);
        h = texture_u32(one.table + 4);
        l = texture_u32(one.table + 8);
        if (w < 1 || w > 16384 || h < 1 || h > 16384 || l < 1 || l > 15)
            return "it is damaged: a texture's size is none that can be";
        t->total += texture_level(&one, 0, (int)l, &width, &height);
        if (t->total > (size - at) / stride) return "it is truncated";
    }
    if (at + t->total * stride != size) return "it is damaged: bytes stand behind its end";
    if (texture_sum(bytes, size) != texture_u32(bytes + 20)) return "it is damaged: its check sum is wrong";
    block = t->blocks;
    for (i = 0; i < t->total; i++) {
        for (k = t->channels; k < t->stride; k += 2)
            if (block[k] >= t->count) return "it is damaged: a block names an atom that is not there";
        block += stride;
    }
    return NULL;
}

static inline unsigned char texture_clipped(int32_t value) {
    if (value < 0) return 0;
    if (value > 255) return 255;
    return (unsigned char)value;
}

/* The values of a block, as an atom has them. */
static inline void texture_block(const texture_set *t, size_t number, unsigned char *values) {
    const unsigned char *code = t->blocks + number * (size_t)t->stride;
    const int area = t->block * t->block;
    int32_t sums[4 * 8 * 8] = {0};
    int i, k;
    for (k = t->channels; k < t->stride; k += 2) {
        const unsigned char *atom = t->atoms + code[k] * t->size;
        const int coef = texture_signed(code[k + 1]);
        for (i = 0; i < t->size; i++) sums[i] += coef * texture_signed(atom[i]);
    }
    for (i = 0; i < t->size; i++) {
        /* Adds 2^32 before the shift and subtracts 2^16 after the shift, because a negative number must not be shifted. */
        const int64_t scaled = INT64_C(1) * sums[i] * t->scale + 32768 + (INT64_C(1) << 32);
        values[i] = texture_clipped((int32_t)(scaled >> 16) - 65536 + code[i / area]);
    }
}

/* A level as width x height pixels of `channels` bytes. */
static inline void texture_decode(const texture_set *t, int texture, int level, unsigned char *pixels) {
    const int b = t->block;
    unsigned char values[4 * 8 * 8];
    int width, height, x, y, i, j, c;
    size_t number = texture_level(t, texture, level, &width, &height);
    for (y = 0; y < height; y += b)
        for (x = 0; x < width; x += b) {
            texture_block(t, number++, values);
            for (j = 0; j < b && y + j < height; j++) {
                unsigned char *to = pixels + ((y + j) * width + x) * t->channels;
                for (i = 0; i < b && x + i < width; i++)
                    for (c = 0; c < t->channels; c++) *to++ = values[(c * b + j) * b + i];
            }
        }
}

#endif /* TEXTURE_DECODE_H */
