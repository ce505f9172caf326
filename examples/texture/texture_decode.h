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
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline int texture_signed(unsigned char byte) { return byte < 128 ? byte : byte - 256; }
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
    int i, l, levels, b = t->block;
    for (i = 0;; i++) {
        *width = (int)texture_u32(t->table + 12 * i), *height = (int)texture_u32(t->table + 12 * i + 4);
        if (i < texture) levels = (int)texture_u32(t->table + 12 * i + 8);
        else levels = level;
        for (l = 0; l < levels; l++) {
            first += (size_t)((*width + b - 1) / b) * (size_t)((*height + b - 1) / b);
            *width = *width > 1 ? *width / 2 : 1, *height = *height > 1 ? *height / 2 : 1;
        }
        if (i == texture) return first;
    }
}

/* Checks all bytes. Returns NULL if they are valid; *t may then be used while the bytes stay in place. Otherwise returns the
   error in words. */
static inline const char *texture_open(const unsigned char *bytes, size_t size, texture_set *t) {
    size_t at, i;
    int k, width, height;
    if (size < 24) return size < 8 || memcmp(bytes, "\211SHSTEX\n", 8) ? "it is no set of textures" : "it is truncated";
    if (memcmp(bytes, "\211SHSTEX\n", 8)) return "it is no set of textures";
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
    if (texture_u32(bytes + 16) > 2147450880u / (16384u * (unsigned)t->sparsity))
        return "it is damaged: its scale is too large";
    t->scale = (int32_t)texture_u32(bytes + 16);
    at = 24 + 12 * (size_t)t->textures;
    t->table = bytes + 24;
    t->atoms = bytes + at;
    at += (size_t)t->count * (size_t)t->size;
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
        if (t->total > (size - at) / (size_t)t->stride) return "it is truncated";
    }
    if (at + t->total * (size_t)t->stride != size) return "it is damaged: bytes stand behind its end";
    if (texture_sum(bytes, size) != texture_u32(bytes + 20)) return "it is damaged: its check sum is wrong";
    for (i = 0; i < t->total; i++)
        for (k = 0; k < t->sparsity; k++)
            if (t->blocks[i * (size_t)t->stride + (size_t)(t->channels + 2 * k)] >= t->count)
                return "it is damaged: a block names an atom that is not there";
    return NULL;
}

/* The values of a block, as an atom has them. */
static inline void texture_block(const texture_set *t, size_t number, unsigned char *values) {
    const unsigned char *code = t->blocks + number * (size_t)t->stride;
    const int area = t->block * t->block;
    int32_t sums[4 * 8 * 8] = {0};
    int i, k;
    for (k = t->channels; k < t->stride; k += 2) {
        const unsigned char *atom = t->atoms + (size_t)code[k] * (size_t)t->size;
        const int coef = texture_signed(code[k + 1]);
        for (i = 0; i < t->size; i++) sums[i] += coef * texture_signed(atom[i]);
    }
    for (i = 0; i < t->size; i++) {
        /* Adds 2^32 before the shift and subtracts 2^16 after the shift, because a negative number must not be shifted. */
        const int32_t v = (int32_t)(((int64_t)sums[i] * t->scale + 32768 + ((int64_t)1 << 32)) >> 16) - 65536 + code[i / area];
        values[i] = (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v);
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
            for (j = 0; j < b && y + j < height; j++)
                for (i = 0; i < b && x + i < width; i++)
                    for (c = 0; c < t->channels; c++)
                        pixels[((size_t)(y + j) * (size_t)width + (size_t)(x + i)) * (size_t)t->channels + (size_t)c] =
                            values[(c * b + j) * b + i];
        }
}

#endif /* TEXTURE_DECODE_H */
