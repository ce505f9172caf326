/* picture.h - pictures in and out: PGM, PPM and PNG are written by what stands here; PNG, JPEG and BMP are read by stb_image where
   it is installed. example.h includes it. */
#ifndef EXAMPLE_PICTURE_H
#define EXAMPLE_PICTURE_H

/* EXAMPLE_NO_STB: of pictures only PGM and PPM are read. */
#if defined(__has_include) && !defined(EXAMPLE_NO_STB)
#if __has_include(<stb/stb_image.h>)
#define EXAMPLE_STB
#if defined(__clang__) /* looks at the stack frames in system headers too, and stb's are large */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wframe-larger-than"
#endif
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#include <stb/stb_image.h>
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#endif
#endif

enum { PICTURE_BYTES = 1 << 29, PICTURE_WHITE = 65535 }; /* no picture's file may be larger; the largest value in one */
enum { PICTURE_VALUES = 1 << 28 };                       /* no picture may have more: a small file can promise any number */

/* Grey (1 channel) or colour (3, interleaved), rows from the top, black 0 and white 255, whatever its file has. */
typedef struct picture {
    int width, height, channels;
    int white; /* the largest value in the file: 255, or a larger one with two bytes a value */
    shs_real *pixels;
    shs_real *alpha; /* width x height, opaque 255; NULL: the picture has none */
} picture;

static inline size_t picture_area(const picture *a) { return elements(a->height, a->width); }
static inline size_t picture_size(const picture *a) { return values_of(picture_area(a), a->channels); }

/* The values of the pixel of this number. */
static inline shs_real *picture_pixel(const picture *a, size_t pixel) { return a->pixels + values_of(pixel, a->channels); }

static inline picture picture_create(int width, int height, int channels) {
    picture a;
    a.width = width;
    a.height = height;
    a.channels = channels;
    a.white = 255;
    a.alpha = NULL;
    a.pixels = ALLOCATE(shs_real, picture_size(&a));
    return a;
}

static inline void picture_free(picture *a) {
    free(a->pixels);
    free(a->alpha);
    a->pixels = a->alpha = NULL;
}

/* Whether the pixel is fully transparent: nobody sees its colours. */
static inline int picture_hidden(const picture *a, size_t pixel) { return a->alpha && a->alpha[pixel] <= 0; }

/* Gives b, a picture of the same size made from a, what a has beside its colours: the depth of its values and the alpha. */
static inline void picture_carry(const picture *a, picture *b) {
    b->white = a->white;
    if (!a->alpha) return;
    b->alpha = ALLOCATE(shs_real, picture_area(a));
    memcpy(b->alpha, a->alpha, picture_area(a) * sizeof *b->alpha);
}

static inline shs_image picture_image(const picture *a) {
    shs_image image = SHS_ZERO;
    image.pixels = a->pixels;
    image.width = a->width;
    image.height = a->height;
    image.channels = a->channels;
    return image;
}

/* ---- hidden pixels ----------------------------------------------------------------------------------------------- */

static inline picture picture_again(const picture *a) {
    picture b = picture_create(a->width, a->height, a->channels);
    memcpy(b.pixels, a->pixels, picture_size(a) * sizeof *b.pixels);
    picture_carry(a, &b);
    return b;
}

/* Hidden pixels get the colours that they were given with. */
static inline void picture_restore_hidden(picture *a, const picture *given) {
    const size_t bytes = (size_t)a->channels * sizeof *a->pixels;
    size_t i;
    for (i = 0; i < picture_area(a); i++)
        if (picture_hidden(a, i)) memcpy(picture_pixel(a, i), picture_pixel(given, i), bytes);
}

/* For each pixel a visible one that is near, itself where it is visible; any number where nothing is visible. */
static inline size_t *picture_nearest_shown(const picture *a) {
    const size_t area = picture_area(a), unknown = SIZE_MAX;
    size_t *nearest = ALLOCATE(size_t, area), *queue = ALLOCATE(size_t, area), count = 0, next, i;
    for (i = 0; i < area; i++) {
        nearest[i] = unknown;
        if (picture_hidden(a, i)) continue;
        nearest[i] = i;
        queue[count++] = i;
    }
    for (next = 0; next < count; next++) { /* from the rim inwards */
        const size_t at = queue[next], width = (size_t)a->width;
        const int x = column_of(at, a->width), y = row_of(at, a->width);
        const size_t beside[] = {at - 1, at + 1, at - width, at + width};
        const int inside[] = {x > 0, x + 1 < a->width, y > 0, y + 1 < a->height};
        for (i = 0; i < 4; i++) {
            if (!inside[i] || nearest[beside[i]] != unknown) continue;
            nearest[beside[i]] = nearest[at];
            queue[count++] = beside[i];
        }
    }
    free(queue);
    return nearest;
}

/* The mirror image of a hidden pixel at a visible one; the visible one if the mirror image is outside or hidden. */
static inline size_t picture_mirrored_at(const picture *a, size_t hidden, size_t shown) {
    const int x = 2 * column_of(shown, a->width) - column_of(hidden, a->width);
    const int y = 2 * row_of(shown, a->width) - row_of(hidden, a->width);
    if (x < 0 || y < 0 || x >= a->width || y >= a->height) return shown;
    if (picture_hidden(a, element_at(y, a->width, x))) return shown;
    return element_at(y, a->width, x);
}

/* Hidden pixels get colours of visible ones, mirrored at the rim as at a border: what they held must not be seen in what is
   computed near them. */
static inline void picture_fill_hidden(picture *a) {
    const size_t bytes = (size_t)a->channels * sizeof *a->pixels;
    size_t *nearest, i;
    if (!a->alpha) return;
    nearest = picture_nearest_shown(a);
    for (i = 0; i < picture_area(a); i++)
        if (picture_hidden(a, i) && nearest[i] < SIZE_MAX)
            memcpy(picture_pixel(a, i), picture_pixel(a, picture_mirrored_at(a, i, nearest[i])), bytes);
    free(nearest);
}

/* Whether this patch holds a hidden pixel. */
static inline int picture_patch_hidden(const picture *a, const shs_patches *set, size_t patch) {
    const shs_image image = picture_image(a);
    int left, top, x, y;
    if (!a->alpha) return 0;
    if (shs_patches_position(&image, set, patch, &left, &top) != SHS_OK) return 1;
    for (y = top; y < top + set->height; y++)
        for (x = left; x < left + set->width; x++)
            if (picture_hidden(a, element_at(y, a->width, x))) return 1;
    return 0;
}

/* Random patches, first those without hidden pixels. */
typedef struct shown_patches {
    shs_patches set;
    size_t count;  /* without hidden pixels */
    size_t all;    /* with hidden pixels or without: as many as were asked for, or all that the picture has */
    size_t *which; /* their numbers in the set; NULL: nothing is hidden, and they are those of the set */
} shown_patches;

static inline shown_patches picture_shown_patches(const picture *a, const shs_patches *set, int *p) {
    const shs_image image = picture_image(a);
    shown_patches s;
    size_t i, last;
    s.set = *set;
    s.all = s.count = shs_patches_count(&image, set, p);
    s.which = NULL;
    if (!a->alpha) return s;
    s.set.count = picture_area(a); /* of these all */
    last = shs_patches_count(&image, &s.set, NULL);
    s.which = ALLOCATE(size_t, last);
    s.count = 0;
    for (i = 0; s.count < last && s.count < s.all; i++) {
        if (picture_patch_hidden(a, &s.set, i)) s.which[--last] = i;
        else s.which[s.count++] = i;
    }
    return s;
}

/* Patches first .. first+count-1 to Y (p x count). */
static inline shs_status picture_take_patches(const shs_context *ctx, const picture *a, const shown_patches *s, size_t first,
                                              size_t count, int p, shs_real *Y) {
    const shs_image image = picture_image(a);
    shs_status status = SHS_OK;
    size_t i;
    if (!s->which) return shs_patches_get(ctx, &image, &s->set, first, count, Y, p, NULL, NULL);
    for (i = 0; i < count && status == SHS_OK; i++)
        status = shs_patches_get(NULL, &image, &s->set, s->which[first + i], 1, Y + values_of(i, p), p, NULL, NULL);
    return status;
}

/* The word for what it holds. */
static inline const char *picture_kind(const picture *a) {
    if (a->channels == 1) return "grey";
    return "colour";
}

/* ---- the range of values ----------------------------------------------------------------------------------------- */

/* The ends of the range of a channel's values; count 0: none is known and visible. */
typedef struct picture_range {
    double *values; /* in order; the caller frees them */
    size_t count;
    double least, most;
} picture_range;

static inline int picture_order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Without hidden pixels and those that are missing (NaN). One value in 200 may lie below and one above: dead and hot pixels. */
static inline picture_range picture_channel_range(const picture *a, int channel) {
    picture_range r = SHS_ZERO;
    size_t i;
    r.values = ALLOCATE(double, picture_area(a));
    for (i = 0; i < picture_area(a); i++) {
        const double value = (double)picture_pixel(a, i)[channel];
        if (!isnan(value) && !picture_hidden(a, i)) r.values[r.count++] = value;
    }
    if (r.count == 0) return r;
    qsort(r.values, r.count, sizeof *r.values, picture_order);
    r.least = r.values[r.count / 200];
    r.most = r.values[r.count - 1 - r.count / 200];
    return r;
}

/* The difference of the largest value and the least in any channel. */
static inline double picture_span(const picture *a) {
    double least = 255, most = 0;
    int c;
    for (c = 0; c < a->channels; c++) {
        const picture_range r = picture_channel_range(a, c);
        free(r.values);
        if (r.count == 0) continue;
        least = fmin(least, r.least);
        most = fmax(most, r.most);
    }
    return fmax(most - least, 0);
}

/* The standard deviation of the values, in the mean of the channels. */
static inline double picture_contrast(const picture *a) {
    double variance = 0;
    int c;
    for (c = 0; c < a->channels; c++) {
        const picture_range r = picture_channel_range(a, c);
        const double count = (double)r.count;
        double mean = 0;
        size_t i;
        for (i = 0; i < r.count; i++) mean += limited(r.values[i], r.least, r.most) / count;
        for (i = 0; i < r.count; i++) {
            const double off = limited(r.values[i], r.least, r.most) - mean;
            variance += off * off / count / a->channels;
        }
        free(r.values);
    }
    return sqrt(variance);
}

/* Refuses a picture of too many values, before memory is taken for them. */
static inline void picture_check_size(const char *name, double width, double height, int channels) {
    if (width * height * channels > PICTURE_VALUES)
        fail(EXIT_ERROR, "%s: the picture is too large: %.0f x %.0f pixels of %d values; at most %d values are read", name,
             width, height, channels, (int)PICTURE_VALUES);
}

/* ---- PGM and PPM ------------------------------------------------------------------------------------------------- */

/* The next number of a PGM or PPM, past blanks and comments; -1 where there is none. */
static inline long pnm_number(const unsigned char **at, const unsigned char *end) {
    long value = 0;
    for (;;) {
        while (*at < end && isspace(**at)) ++*at;
        if (*at == end || **at != '#') break;
        while (*at < end && **at != '\n' && **at != '\r') ++*at;
    }
    if (*at == end || !isdigit(**at)) return -1;
    while (*at < end && isdigit(**at)) {
        value = value * 10 + (**at - '0');
        if (value > 100000000) return -1;
        ++*at;
    }
    return value;
}

static inline picture pnm_read(const char *name, const unsigned char *data, size_t size) {
    const unsigned char *at = data + 2, *end = data + size;
    const int ascii = data[1] == '2' || data[1] == '3';
    int channels = 1, two;
    long width = pnm_number(&at, end), height = pnm_number(&at, end), white = pnm_number(&at, end);
    picture a;
    size_t i, count, least; /* bytes of so many values */
    if (data[1] == '3' || data[1] == '6') channels = 3;
    if (width < 1 || height < 1 || white < 1) fail(EXIT_ERROR, "%s: its PGM or PPM header is damaged", name);
    if (white > PICTURE_WHITE) fail(EXIT_ERROR, "%s: its largest value %ld is outside 1..65535", name, white);
    two = !ascii && white > 255; /* bytes a value, the high one first */
    picture_check_size(name, (double)width, (double)height, channels);
    a.width = (int)width;
    a.height = (int)height;
    a.channels = channels;
    count = picture_size(&a);
    /* Even in text a value takes two bytes, so a header that promises too much is found before memory is taken. */
    least = count;
    if (two) least = 2 * count;
    if (ascii) least = 2 * count - 1;
    if (!ascii && at < end && !isspace(*at))
        fail(EXIT_ERROR, "%s: its PGM or PPM header is damaged: white space must stand behind %ld, not the byte %d", name,
             white, *at);
    if (!ascii && at < end) at++;
    if ((size_t)(end - at) < least)
        fail(EXIT_ERROR, "%s: it is truncated: %ld x %ld pixels do not fit in it", name, width, height);
    a = picture_create(a.width, a.height, channels);
    if (white > 255) a.white = (int)white;
    for (i = 0; i < count; i++) {
        long value;
        if (ascii) value = pnm_number(&at, end);
        else value = *at++;
        if (two) value = 256 * value + *at++;
        if (value < 0) fail(EXIT_ERROR, "%s: it is truncated or damaged at value %zu of %zu", name, i + 1, count);
        if (value > white) fail(EXIT_ERROR, "%s: value %zu is above its largest, %ld", name, i + 1, white);
        a.pixels[i] = (shs_real)value * 255 / (shs_real)white;
    }
    return a;
}

/* ---- check sums of PNG ------------------------------------------------------------------------------------------- */

/* The CRC-32 of what came before, as ~crc, and of these bytes: half a byte at a time. */
static inline uint32_t png_crc(uint32_t crc, const void *bytes, size_t count) {
    static const uint32_t table[16] = {0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
                                       0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i;
    for (i = 0; i < count; i++) {
        crc ^= at[i];
        crc = table[crc & 15] ^ crc >> 4;
        crc = table[crc & 15] ^ crc >> 4;
    }
    return crc;
}

/* ---- PNG, JPEG and BMP in ---------------------------------------------------------------------------------------- */

#ifdef EXAMPLE_STB
static inline unsigned big_endian(const unsigned char *at, int bytes) {
    unsigned value = 0;
    int i;
    for (i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

static inline unsigned tiff_number(const unsigned char *at, int bytes, int little) {
    unsigned value = 0;
    int i;
    if (!little) return big_endian(at, bytes);
    for (i = bytes; i > 0; i--) value = value << 8 | at[i - 1];
    return value;
}

/* The orientation in EXIF's TIFF directory, 1 to 8; 1 = as it is stored. */
static inline int tiff_orientation(const unsigned char *tiff, size_t size) {
    const int little = size > 0 && tiff[0] == 'I';
    size_t at, i, count;
    if (size < 14) return 1;
    at = tiff_number(tiff + 4, 4, little);
    if (at > size - 2) return 1;
    count = tiff_number(tiff + at, 2, little);
    at += 2;
    for (i = 0; i < count && size - at >= 12; i++) {
        const unsigned tag = tiff_number(tiff + at, 2, little);
        const unsigned type = tiff_number(tiff + at + 2, 2, little);
        const unsigned value = tiff_number(tiff + at + 8, 2, little);
        at += 12;
        if (tag != 0x112 || type != 3) continue;
        if (value >= 1 && value <= 8) return (int)value;
        return 1;
    }
    return 1;
}

/* The next segment of a JPEG from *at on; *body gets where its *length bytes begin. Returns its marker, 0 where the pixels
   begin or none is whole. */
static inline int jpeg_next(const unsigned char *data, size_t size, size_t *at, const unsigned char **body, size_t *length) {
    int marker;
    while (size - *at >= 4 && data[*at] == 0xFF && data[*at + 1] == 0xFF) ++*at; /* bytes that only fill up */
    if (size - *at < 4 || data[*at] != 0xFF || data[*at + 1] == 0xDA) return 0;
    marker = data[*at + 1];
    *length = big_endian(data + *at + 2, 2);
    if (*length < 2 || *length > size - *at - 2) return 0;
    *body = data + *at + 4;
    *at += 2 + *length;
    *length -= 2;
    return marker;
}

/* Of a JPEG: in its segment APP1. */
static inline int jpeg_orientation(const unsigned char *data, size_t size) {
    const unsigned char *body;
    size_t at = 2, length;
    int marker;
    while ((marker = jpeg_next(data, size, &at, &body, &length)) != 0)
        if (marker == 0xE1 && length >= 6 && !memcmp(body, "Exif\0", 6)) return tiff_orientation(body + 6, length - 6);
    return 1;
}

/* The next chunk of a PNG from *at on; *body gets where its *length bytes begin. Returns its name, NULL where none is whole. */
static inline const char *png_next(const unsigned char *data, size_t size, size_t *at, const unsigned char **body,
                                   size_t *length) {
    const unsigned char *chunk = data + *at;
    if (size - *at < 12) return NULL;
    *length = big_endian(chunk, 4);
    if (*length > size - *at - 12) return NULL;
    *body = chunk + 8;
    *at += 12 + *length;
    return (const char *)chunk + 4;
}

/* Of a PNG: in its chunk eXIf. */
static inline int png_orientation(const unsigned char *data, size_t size) {
    const unsigned char *body;
    const char *kind;
    size_t at = 8, length;
    while ((kind = png_next(data, size, &at, &body, &length)) != NULL)
        if (!memcmp(kind, "eXIf", 4)) return tiff_orientation(body, length);
    return 1;
}

/* Whether a chunk of a PNG is of no use here: texts and the time. */
static inline int png_is_note(const char *kind) {
    return !memcmp(kind, "tEXt", 4) || !memcmp(kind, "zTXt", 4) || !memcmp(kind, "iTXt", 4) || !memcmp(kind, "tIME", 4);
}

/* A chunk's name in word, which is returned: '?' where a damaged one has no letter. */
static inline const char *png_word(const char *kind, char word[5]) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    int i;
    for (i = 0; i < 4; i++) {
        word[i] = '?';
        if (memchr(letters, kind[i], sizeof letters - 1)) word[i] = kind[i];
    }
    word[4] = 0;
    return word;
}

/* Refuses a PNG that is not whole, and one with a wrong check sum, which stb_image does not look at. Optional chunks other than
   notes count, too: tRNS and eXIf change what is seen, and a chunk with a damaged name may have been one of them. */
static inline void png_check(const char *name, const unsigned char *data, size_t size) {
    const unsigned char *body;
    const char *kind;
    size_t at = 8, length;
    char word[5];
    int number = 0;
    while ((kind = png_next(data, size, &at, &body, &length)) != NULL) {
        const uint32_t sum = ~png_crc(0xFFFFFFFFu, kind, length + 4);
        number++;
        if (sum != big_endian(body + length, 4) && !png_is_note(kind))
            fail(EXIT_ERROR, "%s: it is damaged: its chunk %s, number %d, has the check sum 0x%08X, but says 0x%08X", name,
                 png_word(kind, word), number, (unsigned)sum, big_endian(body + length, 4));
        if (!memcmp(kind, "IEND", 4)) return;
    }
    fail(EXIT_ERROR, "%s: it is truncated or damaged: its %zu bytes end within chunk %d, before IEND", name, size, number + 1);
}

/* Says why stb_image refuses a PNG's size: of its reasons the last one is left, that of a format that the file is not. */
static inline void png_refuse_size(const char *name, const unsigned char *data, size_t size) {
    static const unsigned char values[] = {1, 0, 3, 4, 2, 0, 4}; /* a pixel of each type of colour takes */
    const double most = 1 << 30;
    double all = 0;
    unsigned width, height, type;
    if (size < 33 || memcmp(data + 12, "IHDR", 4) != 0) return;
    width = big_endian(data + 16, 4);
    height = big_endian(data + 20, 4);
    type = data[25];
    if (type < sizeof values) all = 1.0 * width * height * values[type];
    if (width == 0 || height == 0) fail(EXIT_ERROR, "%s: %u x %u pixels: its width or height is zero", name, width, height);
    if (width > STBI_MAX_DIMENSIONS || height > STBI_MAX_DIMENSIONS || all > most)
        fail(EXIT_ERROR, "%s: the picture is too large: %u x %u pixels", name, width, height);
}

/* Whether an ICC profile is called sRGB, in bytes or in 16 bits a letter. */
static inline int profile_is_srgb(const unsigned char *profile, size_t size) {
    static const char bytes[] = {'s', 'R', 'G', 'B'}, words[] = {'s', 0, 'R', 0, 'G', 0, 'B'};
    size_t i;
    for (i = 0; i + sizeof bytes <= size; i++)
        if (!memcmp(profile + i, bytes, sizeof bytes)) return 1;
    for (i = 0; i + sizeof words <= size; i++)
        if (!memcmp(profile + i, words, sizeof words)) return 1;
    return 0;
}

enum { PROFILE_BYTES = 1 << 22 };

/* Of a PNG, in its chunk iCCP: a name, two bytes of zero, and the profile as zlib packs it. 2 MB may unpack to 2 GB: a
   profile that is larger than PROFILE_BYTES, or damaged, counts as one of another name. */
static inline int packed_profile_is_srgb(const unsigned char *body, size_t length) {
    int (*volatile unpack)(char *, int, const char *, int) = stbi_zlib_decode_buffer; /* 4 KB of stack: it is not inlined */
    size_t begin = 0;
    int size, is_srgb;
    char *profile;
    while (begin < length && body[begin]) begin++;
    if (length - begin < 2) return 0;
    begin += 2;
    profile = ALLOCATE(char, PROFILE_BYTES);
    size = unpack(profile, PROFILE_BYTES, (const char *)body + begin, (int)(length - begin));
    is_srgb = size > 0 && profile_is_srgb((const unsigned char *)profile, (size_t)size);
    free(profile);
    return is_srgb;
}

/* The name of a colour space other than sRGB that a PNG states, else NULL. If the PNG names sRGB or a profile, nothing else counts. */
static inline const char *png_colours(const unsigned char *data, size_t size) {
    static const unsigned srgb[] = {31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000}; /* white, red, green, blue */
    const unsigned char *body;
    const char *kind, *found = NULL;
    size_t at = 8, length, i;
    while ((kind = png_next(data, size, &at, &body, &length)) != NULL) {
        if (!memcmp(kind, "sRGB", 4)) return NULL;
        if (!memcmp(kind, "iCCP", 4)) {
            if (packed_profile_is_srgb(body, length)) return NULL;
            return "colour profile";
        }
        if (!memcmp(kind, "gAMA", 4) && length == 4 && fabs(big_endian(body, 4) - 45455.0) > 500) found = "gamma";
        for (i = 0; !memcmp(kind, "cHRM", 4) && length == 32 && i < 8; i++)
            if (fabs((double)big_endian(body + 4 * i, 4) - srgb[i]) > 500) found = "cHRM (what its colours are)";
        if (!memcmp(kind, "IDAT", 4)) return found;
    }
    return found;
}

/* Likewise of a JPEG. */
static inline const char *jpeg_colours(const unsigned char *data, size_t size) {
    const unsigned char *body;
    size_t at = 2, length;
    int marker, found = 0;
    while ((marker = jpeg_next(data, size, &at, &body, &length)) != 0) {
        if (marker != 0xE2 || length < 14 || memcmp(body, "ICC_PROFILE", 12) != 0) continue;
        if (profile_is_srgb(body + 14, length - 14)) return NULL;
        found = 1;
    }
    if (found) return "colour profile";
    return NULL;
}

/* Whether a JPEG of four colours a pixel says what they are, in Adobe's segment APP14: stb_image takes them for YCbCr else. */
static inline int jpeg_is_told(const unsigned char *data, size_t size) {
    const unsigned char *body;
    size_t at = 2, length;
    int marker, four = 0, told = 0;
    while ((marker = jpeg_next(data, size, &at, &body, &length)) != 0) {
        const int frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
        if (frame && length >= 6) four = body[5] == 4;
        if (marker == 0xEE && length >= 12 && !memcmp(body, "Adobe", 6)) told = body[11] == 0 || body[11] == 2;
    }
    return told || !four;
}

/* Returns the index in the stored picture (width x height) of pixel (x, y) of the displayed picture. */
static inline size_t stored_pixel(int orientation, int x, int y, int width, int height) {
    int column = x, row = y;
    if (orientation > 4) {
        column = y;
        row = x;
    }
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) column = width - 1 - column;
    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) row = height - 1 - row;
    return element_at(row, width, column);
}

/* The picture as it is to be shown. Samples: `all` a pixel, bytes or 16 bits; what is behind the colours is alpha. */
static inline picture shown_picture(const void *samples, int deep, int width, int height, int all, int orientation) {
    const stbi_us *words = (const stbi_us *)samples;
    const stbi_uc *bytes = (const stbi_uc *)samples;
    int channels = 3, x, y, c;
    picture a;
    double unit = 1;
    size_t i = 0;
    if (all < 3) channels = 1;
    if (orientation > 4) a = picture_create(height, width, channels);
    else a = picture_create(width, height, channels);
    if (deep) {
        a.white = PICTURE_WHITE;
        unit = 255.0 / PICTURE_WHITE;
    }
    if (all % 2 == 0) a.alpha = ALLOCATE(shs_real, picture_area(&a));
    for (y = 0; y < a.height; y++)
        for (x = 0; x < a.width; x++) {
            const size_t first = values_of(stored_pixel(orientation, x, y, width, height), all);
            shs_real *pixel = picture_pixel(&a, i);
            for (c = 0; c < all; c++) {
                shs_real value;
                if (deep) value = (shs_real)(words[first + (size_t)c] * unit);
                else value = (shs_real)(bytes[first + (size_t)c] * unit);
                if (c < channels) pixel[c] = value;
                else a.alpha[i] = value;
            }
            i++;
        }
    return a;
}

static inline picture stb_read(const char *name, const unsigned char *data, size_t size) {
    const int bytes = (int)size;
    int width = 0, height = 0, all = 0, deep, orientation = 1;
    const char *colours = NULL;
    void *samples;
    picture a;
    if (size > INT_MAX) fail(EXIT_ERROR, "%s: the file is too large", name);
    if (!memcmp(data, "\x89PNG\r\n\x1a\n", 8)) png_check(name, data, size);
    if (data[0] == 0xFF && !jpeg_is_told(data, size))
        fail(EXIT_ERROR, "%s: four colours a pixel, and no mark (APP14) that says which; expected grey, RGB or marked CMYK",
             name);
    if (!stbi_info_from_memory(data, bytes, &width, &height, &all)) {
        if (data[0] == 0x89) png_refuse_size(name, data, size);
        fail(EXIT_ERROR, "%s: not a picture that this program knows: %s", name, stbi_failure_reason());
    }
    picture_check_size(name, width, height, all);
    deep = stbi_is_16_bit_from_memory(data, bytes);
    if (deep) samples = stbi_load_16_from_memory(data, bytes, &width, &height, &all, 0);
    else samples = stbi_load_from_memory(data, bytes, &width, &height, &all, 0);
    if (!samples) fail(EXIT_ERROR, "%s: it is truncated or damaged: %s", name, stbi_failure_reason());
    if (data[0] == 0xFF) {
        orientation = jpeg_orientation(data, size);
        colours = jpeg_colours(data, size);
    } else if (data[0] == 0x89) {
        orientation = png_orientation(data, size);
        colours = png_colours(data, size);
    }
    if (colours) warn("%s: its %s, which is not sRGB's, is left out: values are written as they are", name, colours);
    a = shown_picture(samples, deep, width, height, all, orientation);
    stbi_image_free(samples);
    return a;
}
#endif

static inline picture picture_read(const char *name) {
    size_t size;
    unsigned char *data = read_file(name, PICTURE_BYTES, &size);
    picture a;
    if (size < 8) fail(EXIT_ERROR, "%s: it is truncated: %zu bytes are no picture", name, size);
    if (data[0] == 'P' && strchr("2356", data[1])) a = pnm_read(name, data, size);
#ifdef EXAMPLE_STB
    else a = stb_read(name, data, size);
#else
    else
        fail(EXIT_ERROR, "%s: neither PGM nor PPM, and this program was built without stb_image, which reads PNG and JPEG", name);
#endif
    free(data);
    return a;
}

/* ---- PNG out ----------------------------------------------------------------------------------------------------- */

enum { PNG_BLOCK = 1 << 16, PNG_HASHES = 1 << 15, PNG_WINDOW = 32768, PNG_LONGEST = 258 };

/* Packs bytes as zlib does with fixed codes (RFC 1950, 1951), and writes them as chunks IDAT. */
typedef struct png_packer {
    FILE *file;
    unsigned char block[PNG_BLOCK];
    size_t used;
    uint32_t bits; /* that do not make a byte yet, the first one lowest */
    unsigned bit_count;
    size_t seen[PNG_HASHES]; /* 1 + where three bytes of this hash were last */
} png_packer;

static inline void png_store(unsigned char *to, uint32_t value) {
    int i;
    for (i = 0; i < 4; i++) to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static inline void png_chunk(const png_packer *w, const char *kind, const void *bytes, size_t count) {
    unsigned char length[4], sum[4];
    png_store(length, (uint32_t)count);
    png_store(sum, ~png_crc(png_crc(0xFFFFFFFFu, kind, 4), bytes, count));
    fwrite(length, 1, 4, w->file);
    fwrite(kind, 1, 4, w->file);
    if (count) fwrite(bytes, 1, count, w->file);
    fwrite(sum, 1, 4, w->file);
}

static inline void png_byte(png_packer *w, unsigned byte) {
    w->block[w->used++] = (unsigned char)byte;
    if (w->used < PNG_BLOCK) return;
    png_chunk(w, "IDAT", w->block, w->used);
    w->used = 0;
}

/* The lowest bit first. */
static inline void png_bits(png_packer *w, uint32_t value, unsigned count) {
    w->bits |= value << w->bit_count;
    w->bit_count += count;
    for (; w->bit_count >= 8; w->bit_count -= 8) {
        png_byte(w, w->bits & 255);
        w->bits >>= 8;
    }
}

/* A Huffman code: the highest bit first. */
static inline void png_code(png_packer *w, unsigned code, unsigned count) {
    uint32_t turned = 0;
    unsigned i;
    for (i = 0; i < count; i++) turned |= (code >> i & 1u) << (count - 1 - i);
    png_bits(w, turned, count);
}

/* One of the 288 symbols: a byte, 256 = the end, or the class of a length. */
static inline void png_symbol(png_packer *w, unsigned symbol) {
    if (symbol < 144) png_code(w, 0x30 + symbol, 8);
    else if (symbol < 256) png_code(w, 0x190 + symbol - 144, 9);
    else if (symbol < 280) png_code(w, symbol - 256, 7);
    else png_code(w, 0xC0 + symbol - 280, 8);
}

/* `length` bytes as `distance` bytes before. Classes of both hold 1, 2, 4 .. values; the number within follows the class. */
static inline void png_match(png_packer *w, unsigned length, unsigned distance) {
    unsigned first = 3, class_, extra;
    for (class_ = 0;; class_++) {
        if (class_ < 8) extra = 0;
        else extra = class_ / 4 - 1;
        if (length < first + (1u << extra)) break;
        first += 1u << extra;
    }
    if (length == PNG_LONGEST) {
        png_symbol(w, 285);
    } else {
        png_symbol(w, 257 + class_);
        png_bits(w, length - first, extra);
    }
    first = 1;
    for (class_ = 0;; class_++) {
        if (class_ < 4) extra = 0;
        else extra = class_ / 2 - 1;
        if (distance < first + (1u << extra)) break;
        first += 1u << extra;
    }
    png_code(w, class_, 5);
    png_bits(w, distance - first, extra);
}

static inline void png_pack(png_packer *w, const unsigned char *bytes, size_t count) {
    uint32_t a = 1, b = 0; /* Adler's sums */
    size_t i = 0, j;
    png_byte(w, 0x78);
    png_byte(w, 0x01);
    png_bits(w, 3, 3); /* the last block, of fixed codes */
    for (j = 0; j < count; j++) {
        a = (a + bytes[j]) % 65521;
        b = (b + a) % 65521;
    }
    while (i < count) {
        size_t length = 0, before = 0;
        if (count - i >= 3) {
            size_t *seen = w->seen + ((bytes[i] * 2654435u ^ bytes[i + 1] * 40503u ^ bytes[i + 2] * 193u) % PNG_HASHES);
            before = *seen;
            *seen = i + 1;
        }
        if (before && i + 1 - before <= PNG_WINDOW)
            while (length < PNG_LONGEST && i + length < count && bytes[before - 1 + length] == bytes[i + length]) length++;
        if (length >= 3) png_match(w, (unsigned)length, (unsigned)(i + 1 - before));
        else png_symbol(w, bytes[i]);
        if (length >= 3) i += length;
        else i += 1;
    }
    png_symbol(w, 256);
    png_bits(w, 0, (8 - w->bit_count) % 8);
    png_byte(w, b >> 8 & 255);
    png_byte(w, b & 255);
    png_byte(w, a >> 8 & 255);
    png_byte(w, a & 255);
    png_chunk(w, "IDAT", w->block, w->used);
}

/* Predicts a byte by PNG's filter of this number from the left byte, the byte above and the byte above left. */
static inline int png_foretold(int filter, int left, int up, int corner) {
    const int sum = left + up - corner, by_left = abs(sum - left), by_up = abs(sum - up), by_corner = abs(sum - corner);
    if (filter == 0) return 0;
    if (filter == 1) return left;
    if (filter == 2) return up;
    if (filter == 3) return (left + up) / 2;
    if (by_left <= by_up && by_left <= by_corner) return left;
    if (by_up <= by_corner) return up;
    return corner;
}

/* Writes the filter's number and the filtered row to `out`. Returns the sum of the magnitudes. */
static inline size_t png_filter(int filter, const unsigned char *row, const unsigned char *above, size_t count, size_t step,
                                unsigned char *out) {
    size_t i, sum = 0;
    out[0] = (unsigned char)filter;
    for (i = 0; i < count; i++) {
        int left = 0, up = 0, corner = 0;
        if (i >= step) left = row[i - step];
        if (above) up = above[i];
        if (above && i >= step) corner = above[i - step];
        out[i + 1] = (unsigned char)(row[i] - png_foretold(filter, left, up, corner));
        if (out[i + 1] < 128) sum += out[i + 1];
        else sum += 256u - out[i + 1];
    }
    return sum;
}

/* Rows of `count` bytes, `step` a pixel, each by the filter that leaves least. */
static inline unsigned char *png_filtered(const unsigned char *bytes, size_t rows, size_t count, size_t step) {
    unsigned char *out = ALLOCATE(unsigned char, rows * (count + 1)), *trial = ALLOCATE(unsigned char, count + 1);
    size_t y;
    for (y = 0; y < rows; y++) {
        const unsigned char *row = bytes + y * count, *above = NULL;
        size_t least = SIZE_MAX;
        int filter;
        if (y > 0) above = row - count;
        for (filter = 0; filter < 5; filter++) {
            const size_t sum = png_filter(filter, row, above, count, step, trial);
            if (sum >= least) continue;
            least = sum;
            memcpy(out + y * (count + 1), trial, count + 1);
        }
    }
    free(trial);
    return out;
}

/* samples: a value of the picture behind the other, of one byte or two. */
static inline void png_write(FILE *file, const picture *a, const unsigned char *samples, int bytes) {
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'}, kinds[] = {0, 4, 2, 6};
    const int all = a->channels + (a->alpha != NULL);
    const size_t step = (size_t)(all * bytes), rows = (size_t)a->height, row = values_of(step, a->width);
    png_packer *w = ALLOCATE(png_packer, 1);
    unsigned char header[13], *filtered = png_filtered(samples, rows, row, step);
    w->file = file;
    memset(header, 0, sizeof header);
    png_store(header, (uint32_t)a->width);
    png_store(header + 4, (uint32_t)a->height);
    header[8] = (unsigned char)(8 * bytes);
    header[9] = kinds[all - 1];
    fwrite(signature, 1, sizeof signature, file);
    png_chunk(w, "IHDR", header, sizeof header);
    png_pack(w, filtered, rows * (row + 1));
    png_chunk(w, "IEND", NULL, 0);
    free(filtered);
    free(w);
}

/* ---- any picture out --------------------------------------------------------------------------------------------- */

/* Refuses a name that picture_write cannot serve. */
static inline void picture_check_name(const char *name, int channels) {
    if (!has_extension(name, ".png") && !has_extension(name, ".pgm") && !has_extension(name, ".ppm"))
        fail(EXIT_USAGE, "%s: a picture's name must end in .png, .pgm or .ppm", name);
    if ((channels == 1 && has_extension(name, ".ppm")) || (channels > 1 && has_extension(name, ".pgm")))
        fail(EXIT_USAGE, "%s: grey pictures go into .pgm and colour into .ppm, or either into .png", name);
}

/* As will_write. */
static inline void picture_will_write(const char *name, int channels) {
    picture_check_name(name, channels);
    will_write(name);
}

/* The largest value in a file of this name: PNG with two bytes a value has no other than 65535. */
static inline int picture_file_white(const char *name, const picture *a) {
    if (a->white > 255 && has_extension(name, ".png")) return PICTURE_WHITE;
    return a->white;
}

/* A value as a file with the largest value `white` stores it: rounded, and clipped where it is outside 0..255. */
static inline unsigned picture_stored(shs_real value, int white) {
    const double scaled = (double)value * white / 255;
    if (scaled >= white) return (unsigned)white;
    if (scaled > 0) return (unsigned)(scaled + 0.5);
    return 0;
}

/* Gives the values that are read again from a file with the largest value `white`. */
static inline void picture_round(picture *a, int white) {
    size_t i;
    for (i = 0; i < picture_size(a); i++) a->pixels[i] = (shs_real)(picture_stored(a->pixels[i], white) * 255.0 / white);
}

/* Writes a value to a file with the largest value `white`. Returns the place of the next value. */
static inline unsigned char *picture_put(unsigned char *to, shs_real value, int white) {
    const unsigned whole = picture_stored(value, white);
    if (white > 255) *to++ = (unsigned char)(whole >> 8);
    *to++ = (unsigned char)(whole & 255);
    return to;
}

/* As a PNG, PGM or PPM, at the depth that it was read with. */
static inline void picture_write(const char *name, const picture *a) {
    const int png = has_extension(name, ".png"), bytes = 1 + (a->white > 255), channels = a->channels;
    const int with_alpha = a->alpha && png;
    const size_t area = picture_area(a), size = values_of(area, (channels + with_alpha) * bytes);
    unsigned char *samples = ALLOCATE(unsigned char, size), *to = samples;
    const int white = picture_file_white(name, a);
    FILE *file;
    size_t i;
    int c;
    picture_check_name(name, a->channels);
    if (a->alpha && !png) warn("%s: only .png holds transparency: it is left out", name);
    for (i = 0; i < area; i++) {
        const shs_real *pixel = picture_pixel(a, i);
        for (c = 0; c < channels; c++) to = picture_put(to, pixel[c], white);
        if (with_alpha) to = picture_put(to, a->alpha[i], white);
    }
    file = open_for_writing(name);
    if (png) {
        png_write(file, a, samples, bytes);
    } else {
        if (channels == 1) fprintf(file, "P5\n");
        else fprintf(file, "P6\n");
        fprintf(file, "%d %d\n%d\n", a->width, a->height, white);
        fwrite(samples, 1, size, file);
    }
    close_written(file, name);
    free(samples);
}

/* The words for a PSNR in a line of results: n/a where no pixel counts. text: 32 characters, which are returned. */
static inline const char *picture_psnr_words(double psnr, char *text) {
    if (isnan(psnr)) return strcpy(text, "n/a");
    sprintf(text, "%.2f", psnr);
    return text;
}

/* The PSNR of `other` against `clean`, in dB, NaN where no pixel counts. Fully transparent pixels of either picture, and
   `border` pixels at each edge do not count. */
static inline double picture_psnr_within(const picture *clean, const picture *other, int border) {
    double sum = 0, count = 0;
    int x, y, c;
    for (y = border; y < clean->height - border; y++)
        for (x = border; x < clean->width - border; x++) {
            const size_t i = element_at(y, clean->width, x);
            const shs_real *a = picture_pixel(clean, i), *b = picture_pixel(other, i);
            if (picture_hidden(clean, i) || picture_hidden(other, i)) continue;
            for (c = 0; c < clean->channels; c++) {
                const double difference = (double)a[c] - (double)b[c];
                sum += difference * difference;
            }
            count += clean->channels;
        }
    return 10 * log10(255.0 * 255.0 * count / sum);
}

static inline double picture_psnr(const picture *clean, const picture *other) { return picture_psnr_within(clean, other, 0); }

/* The PSNR of `other` as a file of this name stores it: rounded and clipped. */
static inline double picture_file_psnr(const picture *clean, const picture *other, const char *name) {
    picture stored = picture_create(other->width, other->height, other->channels);
    double psnr;
    memcpy(stored.pixels, other->pixels, picture_size(other) * sizeof *stored.pixels);
    picture_carry(other, &stored);
    picture_round(&stored, picture_file_white(name, other));
    psnr = picture_psnr(clean, &stored);
    picture_free(&stored);
    return psnr;
}

#endif /* EXAMPLE_PICTURE_H */
