/* Opens a set of textures with each of its bytes changed, and each of its beginnings, and decodes what is not refused. With the
   check sum made right again the checks behind it are tried too. Built with sanitizers by tests/programs/test_texture.sh. */
#include <stdio.h>
#include <stdlib.h>

#include "../../examples/texture/texture_decode.h"

/* Bytes of a block of their own, so that a sanitizer sees what is read beyond them. 1: they were refused. */
static int try_bytes(const unsigned char *bytes, size_t size, int right_sum) {
    unsigned char *copy = (unsigned char *)malloc(size ? size : 1), *pixels;
    const char *wrong;
    texture_set t;
    int i, level, width, height;
    memcpy(copy, bytes, size);
    if (right_sum && size >= 24) {
        const uint32_t sum = texture_sum(copy, size);
        for (i = 0; i < 4; i++) copy[20 + i] = (unsigned char)(sum >> 8 * i & 255);
    }
    wrong = texture_open(copy, size, &t);
    for (i = 0; !wrong && i < t.textures; i++)
        for (level = 0; level < (int)texture_u32(t.table + 12 * i + 8); level++) {
            texture_level(&t, i, level, &width, &height);
            pixels = (unsigned char *)malloc((size_t)width * (size_t)height * (size_t)t.channels);
            texture_decode(&t, i, level, pixels);
            free(pixels);
        }
    free(copy);
    return wrong != NULL;
}

int main(int argc, char **argv) {
    static unsigned char bytes[1 << 20];
    static const unsigned char changes[] = {1, 2, 128, 255};
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0, i, c;
    int ok = size > 24 && !try_bytes(bytes, size, 0);
    if (file) fclose(file);
    for (i = 0; i < size; i++)
        for (c = 0; c < sizeof changes; c++) {
            bytes[i] ^= changes[c];
            ok &= try_bytes(bytes, size, 0); /* each change of a byte changes FNV-1a */
            (void)try_bytes(bytes, size, 1);
            bytes[i] ^= changes[c];
        }
    for (i = 0; i < size; i++) ok &= try_bytes(bytes, i, 0) & try_bytes(bytes, i, 1);
    puts(ok ? "all refused" : "a damaged set was taken");
    return !ok;
}
