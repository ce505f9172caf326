/* envi.h - a cube in ENVI's format, read: the types of values, the header's text, the two files and how they are found. */
#ifndef HYPERCUBE_ENVI
#define HYPERCUBE_ENVI

#include "../example.h"
#include <float.h>
#include <inttypes.h>
#ifdef EXAMPLE_POSIX
#include <sys/mman.h>
#endif
/* Where threads need no other library than the program has anyway. */
#if defined(EXAMPLE_POSIX) && (defined(_OPENMP) || defined(__APPLE__))
#define HYPERCUBE_THREADS
#elif defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
#define HYPERCUBE_THREADS
#endif
#ifdef HYPERCUBE_THREADS
#include <pthread.h>
#endif

/* ---- value types ------------------------------------------------------------------------------------------------- */

typedef struct value_type {
    const char *name;
    int code; /* ENVI's */
    shs_type type;
    double low, high; /* of an integer type; equal for floating ones */
} value_type;

static const value_type value_types[] = {
    {"u8", 1, SHS_TYPE_U8, 0, 255},
    {"i16", 2, SHS_TYPE_I16, -32768, 32767},
    {"i32", 3, SHS_TYPE_I32, -2147483648.0, 2147483647.0},
    {"f32", 4, SHS_TYPE_F32, 0, 0},
    {"f64", 5, SHS_TYPE_F64, 0, 0},
    {"u16", 12, SHS_TYPE_U16, 0, 65535},
    {"u32", 13, SHS_TYPE_U32, 0, 4294967295.0},
};
enum { VALUE_TYPES = COUNT_OF(value_types) };
enum { CODE_COMPLEX_F32 = 6, CODE_COMPLEX_F64 = 9, CODE_I64 = 14, CODE_U64 = 15 }; /* ENVI's, of types that shs_type has not */
static const char *const interleaves[] = {"bsq", "bil", "bip"};

static const value_type *type_info(shs_type type) {
    int i = 0;
    while (i < VALUE_TYPES - 1 && value_types[i].type != type) i++;
    return &value_types[i];
}

static int is_integer(shs_type type) { return type_info(type)->low < type_info(type)->high; }

/* Copies a value of `size` bytes, in the other order of bytes where `swap` says so. */
static void copy_value(const void *block, size_t i, size_t size, int swap, unsigned char *raw) {
    const unsigned char *from = (const unsigned char *)block + i * size;
    size_t b;
    for (b = 0; b < size; b++) raw[b] = from[swap ? size - 1 - b : b];
}

/* Returns value number i of a block of values of this type. The block may have any alignment. */
static double get_value(const void *block, size_t i, shs_type type, int swap) {
    unsigned char raw[8];
    size_t size = shs_type_size(type);
    union {
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        float f32;
        double f64;
    } v;
    copy_value(block, i, size, swap, raw);
    memcpy(&v, raw, size);
    switch (type) {
    case SHS_TYPE_U8: return v.u8;
    case SHS_TYPE_I16: return v.i16;
    case SHS_TYPE_U16: return v.u16;
    case SHS_TYPE_I32: return v.i32;
    case SHS_TYPE_U32: return v.u32;
    case SHS_TYPE_F32: return (double)v.f32;
    default: return v.f64;
    }
}

/* Values of one row or column of a block: number `first` and on, `step` apart. */
typedef struct value_run {
    size_t first, step;
    int count;
} value_run;

#define GET_RUN(type) \
    for (k = 0; k < run.count; k++) { \
        type value; \
        memcpy(&value, from + (size_t)k * run.step * sizeof value, sizeof value); \
        to[(size_t)k * apart] = (double)value; \
    }

/* The values of a run into `to`, so many doubles apart. The block may have any alignment. */
static void get_run(const void *block, value_run run, shs_type type, int swap, double *to, size_t apart) {
    const unsigned char *from = (const unsigned char *)block + run.first * shs_type_size(type);
    int k;
    if (swap) {
        for (k = 0; k < run.count; k++) to[(size_t)k * apart] = get_value(block, run.first + (size_t)k * run.step, type, swap);
        return;
    }
    switch (type) {
    case SHS_TYPE_U8: GET_RUN(uint8_t); break;
    case SHS_TYPE_I16: GET_RUN(int16_t); break;
    case SHS_TYPE_U16: GET_RUN(uint16_t); break;
    case SHS_TYPE_I32: GET_RUN(int32_t); break;
    case SHS_TYPE_U32: GET_RUN(uint32_t); break;
    case SHS_TYPE_F32: GET_RUN(float); break;
    default: GET_RUN(double); break;
    }
}

/* Clamped and rounded to nearest, half away from zero, as the library does it. */
static double as_integer(const value_type *info, double value) {
    if (value < info->low) value = info->low;
    else if (value > info->high) value = info->high;
    if (value < 0) value -= 0.5;
    else value += 0.5;
    return (double)(int64_t)value;
}

#define PUT_VALUE(type) ((type *)block)[i] = (type)value

/* Value number i of a block; an integer type must hold it. */
static void put_value(void *block, size_t i, shs_type type, double value) {
    switch (type) {
    case SHS_TYPE_U8: PUT_VALUE(uint8_t); break;
    case SHS_TYPE_I16: PUT_VALUE(int16_t); break;
    case SHS_TYPE_U16: PUT_VALUE(uint16_t); break;
    case SHS_TYPE_I32: PUT_VALUE(int32_t); break;
    case SHS_TYPE_U32: PUT_VALUE(uint32_t); break;
    case SHS_TYPE_F32: PUT_VALUE(float); break;
    default: PUT_VALUE(double); break;
    }
}

#define PUT_RUN(type) \
    for (k = 0; k < run.count; k++) ((type *)block)[run.first + (size_t)k * run.step] = (type)from[(size_t)k * apart]

/* The values of a run, which lie so many doubles apart. An integer type must hold them. */
static void put_run(void *block, value_run run, shs_type type, const double *from, size_t apart) {
    int k;
    switch (type) {
    case SHS_TYPE_U8: PUT_RUN(uint8_t); break;
    case SHS_TYPE_I16: PUT_RUN(int16_t); break;
    case SHS_TYPE_U16: PUT_RUN(uint16_t); break;
    case SHS_TYPE_I32: PUT_RUN(int32_t); break;
    case SHS_TYPE_U32: PUT_RUN(uint32_t); break;
    case SHS_TYPE_F32: PUT_RUN(float); break;
    default: PUT_RUN(double); break;
    }
}

static int host_byte_order(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return !first;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

enum { HEADER_BYTES = 1 << 26 }; /* no header is larger */

typedef struct header_entry {
    char *key, *value; /* the key in lower case, the value without its braces */
    int braced;
} header_entry;

typedef struct header {
    const char *name;
    int count, room;
    header_entry *entries;
} header;

static char *copy_text(const char *from, const char *to) {
    char *copy = ALLOCATE(char, to - from + 1);
    memcpy(copy, from, (size_t)(to - from));
    return copy;
}

/* Without blanks at the ends, one blank for several within. */
static char *tidy_text(const char *from, const char *to, int lower) {
    char *copy = copy_text(from, to), *out = copy, *in;
    for (in = copy; *in; in++) {
        if (!is_blank(*in) && lower) *out++ = lower_letter(*in);
        else if (!is_blank(*in)) *out++ = *in;
        else if (out > copy && out[-1] != ' ') *out++ = ' ';
    }
    if (out > copy && out[-1] == ' ') out--;
    *out = 0;
    return copy;
}

/* A whole text in small letters. */
static char *lower_words(const char *text) { return tidy_text(text, text + strlen(text), 1); }

static void header_add(header *h, char *key, char *value, int braced) {
    header_entry *e;
    if (h->count == h->room) {
        h->room = 2 * h->room + 32;
        h->entries = (header_entry *)realloc(h->entries, (size_t)h->room * sizeof *h->entries);
        if (!h->entries) fail(EXIT_ERROR, "%s: too large for the memory", h->name);
    }
    e = &h->entries[h->count++];
    e->key = key;
    e->value = value;
    e->braced = braced;
}

/* Returns the closing brace of a list that opened before `at`, past nested pairs. NULL: none before the end, or before the list of
   another key, which opens on a later line behind its equals sign. */
static const char *closing_brace(const char *at) {
    const char *line_end = at + strcspn(at, "\r\n");
    char before = 0; /* the last character that is no blank */
    int depth = 1;
    for (; *at; at++) {
        if (*at == '{' && before == '=' && at > line_end) return NULL;
        depth += (*at == '{') - (*at == '}');
        if (!depth) return at;
        if (!is_blank(*at)) before = *at;
    }
    return NULL;
}

/* Takes `key = value ; comment` or `key = {value over several lines}` at `at` and returns where the next line begins. */
static const char *header_line(header *h, const char *at) {
    const char *end = at + strcspn(at, "\r\n"), *equals = at + strcspn(at, "=\r\n"), *value, *brace;
    char *key;
    int braced;
    at += strspn(at, " \t");
    if (equals >= end) return end + strspn(end, "\r\n");
    key = tidy_text(at, equals, 1);
    value = equals + 1 + strspn(equals + 1, " \t");
    braced = *value == '{';
    if (!braced) end = value + strcspn(value, ";\r\n");
    else {
        value++;
        brace = closing_brace(value);
        if (brace) end = brace;
        else warn("%s: %s: the closing brace is missing: its first line is taken for the whole", h->name, key);
    }
    header_add(h, key, tidy_text(value, end, 0), braced);
    end += strcspn(end, "\r\n");
    return end + strspn(end, "\r\n");
}

/* Whether the text begins with this word, in capitals or not. */
static int begins_with_word(const char *text, const char *word) {
    size_t length = strlen(word), i;
    for (i = 0; i < length; i++)
        if (toupper((unsigned char)text[i]) != word[i]) return 0;
    return !is_letter_or_digit(text[length]) && text[length] != '_';
}

/* Headers of ESRI's BIL, BIP and BSQ files have the same extension; their keys come in any order. */
static int is_esri_header(const char *text) {
    static const char *const words[] = {"BYTEORDER", "LAYOUT", "NROWS",       "NCOLS",         "NBANDS",   "NBITS",
                                        "ULXMAP",    "ULYMAP", "BANDROWBYTES", "TOTALROWBYTES", "PIXELTYPE", "NODATA",
                                        "SKIPBYTES", "XDIM",   "YDIM"};
    size_t i;
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (begins_with_word(text, words[i])) return 1;
    return 0;
}

/* Where text begins that a byte order mark may stand before. */
static const char *after_byte_order_mark(const char *text) {
    if (!strncmp(text, "\xef\xbb\xbf", 3)) return text + 3;
    return text;
}

/* Text of two bytes a character has a byte order mark, or a zero beside the first letter. */
static int is_utf16(const char *text, size_t size) {
    const unsigned char *first = (const unsigned char *)text;
    if (size < 2) return 0;
    if ((first[0] == 0xff && first[1] == 0xfe) || (first[0] == 0xfe && first[1] == 0xff)) return 1;
    return (first[0] == 0) != (first[1] == 0);
}

/* Comments take whole lines, also within braces. */
static void drop_comments(char *text) {
    char *to = text;
    while (*text) {
        size_t length = strcspn(text, "\r\n");
        int comment = text[strspn(text, " \t")] == ';';
        length += strspn(text + length, "\r\n");
        if (!comment) {
            memmove(to, text, length);
            to += length;
        }
        text += length;
    }
    *to = 0;
}

/* Control characters become question marks: text of a file is shown, and a terminal would obey them. */
static void hide_controls(char *text) {
    for (; *text; text++)
        if (iscntrl((unsigned char)*text) && !is_blank(*text)) *text = '?';
}

enum { HEADER_START = 4096 }; /* bytes within which the word ENVI must stand */

/* Stops unless the file begins as ENVI's headers do. Somebody may name the data file: it is not read into memory only to say
   so. */
static void check_header_start(FILE *file, const char *name) {
    char *start = ALLOCATE(char, HEADER_START + 1), *at;
    size_t size = fread(start, 1, HEADER_START, file);
    if (is_utf16(start, size)) fail(EXIT_ERROR, "%s: it is UTF-16 text, or no text: save a header as UTF-8", name);
    at = start + (after_byte_order_mark(start) - start);
    drop_comments(at);
    at += strspn(at, " \t\r\n");
    if (is_esri_header(at))
        fail(EXIT_ERROR, "%s: an ESRI header, not an ENVI header: GDAL converts it: gdal_translate -of ENVI DATA cube.img, "
             "where DATA is the .bil, .bip or .bsq file beside it", name);
    if (!begins_with_word(at, "ENVI")) fail(EXIT_ERROR, "%s: not an ENVI header: it does not begin with ENVI", name);
    free(start);
}

static header header_read(const char *name) {
    header h = SHS_ZERO;
    FILE *file = open_for_reading(name);
    char *text;
    size_t size;
    unsigned char *bytes;
    const char *at;
    check_header_start(file, name);
    fclose(file);
    bytes = read_file(name, HEADER_BYTES, &size);
    if (memchr(bytes, 0, size)) fail(EXIT_ERROR, "%s: not an ENVI header: it holds a byte of zero, and text has none", name);
    text = copy_text((const char *)bytes, (const char *)bytes + size);
    drop_comments(text);
    hide_controls(text);
    h.name = name;
    at = after_byte_order_mark(text);
    at += strspn(at, " \t\r\n");
    for (at += strcspn(at, "\r\n"); *at;) at = header_line(&h, at);
    free(text);
    free(bytes);
    return h;
}

static void header_free(header *h) {
    while (h->count > 0) {
        free(h->entries[--h->count].key);
        free(h->entries[h->count].value);
    }
    free(h->entries);
}

/* Returns the value of a key, or NULL if the key is missing. *differs: the key occurs twice with different values. */
static const char *header_find(const header *h, const char *key, int *differs) {
    const char *value = NULL;
    int i;
    *differs = 0;
    for (i = 0; i < h->count; i++) {
        if (strcmp(h->entries[i].key, key)) continue;
        *differs |= value && strcmp(value, h->entries[i].value);
        value = h->entries[i].value;
    }
    return value;
}

static const char *header_value(const header *h, const char *key) {
    int differs;
    const char *value = header_find(h, key, &differs);
    if (differs) fail(EXIT_ERROR, "%s: %s: it is there twice and differs", h->name, key);
    return value;
}

/* How many characters a fraction of zeros takes: tables write counts as 2.0. */
static size_t zero_fraction(const char *text) {
    if (*text != '.') return 0;
    return 1 + strspn(text + 1, "0");
}

static long long header_whole(const header *h, const char *key, long long least, long long most) {
    const char *value = header_value(h, key);
    char *end;
    long long number;
    if (!value) fail(EXIT_ERROR, "%s: %s: the key is missing", h->name, key);
    errno = 0;
    number = strtoll(value, &end, 10);
    if (end > value) end += zero_fraction(end);
    if (end == value || *end) fail(EXIT_ERROR, "%s: %s: '%.50s' is not a whole number", h->name, key, value);
    if (errno == ERANGE || number < least || number > most)
        fail(EXIT_ERROR, "%s: %s: %s is outside %lld..%lld", h->name, key, value, least, most);
    return number;
}

static int header_int(const header *h, const char *key, int least, int most) {
    return (int)header_whole(h, key, least, most);
}

/* Reads a word in a list of bad bands as 1 (good) or 0 (bad). Returns the length of the word, or 0. */
static size_t word_number(const char *text, double *number) {
    static const char *const yes[] = {"TRUE", "YES", "GOOD", "ON"}, *const no[] = {"FALSE", "NO", "BAD", "OFF"};
    size_t i;
    for (i = 0; i < sizeof yes / sizeof *yes; i++) {
        *number = 1;
        if (begins_with_word(text, yes[i])) return strlen(yes[i]);
        *number = 0;
        if (begins_with_word(text, no[i])) return strlen(no[i]);
    }
    return 0;
}

/* A number as programs write it: Fortran's exponent is a D, and Windows says 1.#QNAN. Returns its characters, 0 where it is
   none. */
static size_t any_number(const char *text, double *number) {
    char *end, digits[64];
    size_t length;
    *number = strtod(text, &end);
    if (end == text) return 0;
    length = (size_t)(end - text);
    if (*end == '#') {
        *number = NO_NUMBER;
        return length + 1 + strspn(end + 1, "QNSAIDFqnsaidf0123456789");
    }
    if ((*end != 'D' && *end != 'd') || length + 8 > sizeof digits) return length;
    memcpy(digits, text, length + 1);
    digits[length] = 'e';
    strncpy(digits + length + 1, end + 1, 5);
    digits[length + 6] = 0;
    *number = strtod(digits, &end);
    return (size_t)(end - digits);
}

/* The same within a list, in quotes or not; where the next one begins, or NULL. */
static const char *listed_number(const char *at, double *number) {
    int quoted = *at == '"' || *at == '\'';
    char quote = *at;
    size_t length;
    if (quoted) at++;
    at += strspn(at, " ");
    length = word_number(at, number);
    if (!length) length = any_number(at, number);
    if (!length || !isfinite(*number)) return NULL;
    at += length;
    if (quoted) {
        at += strspn(at, " ");
        if (*at++ != quote) return NULL;
    }
    if (*at && !strchr(",; ", *at)) return NULL;
    return at + strspn(at, ",; ");
}

/* A list of exactly `count` numbers; NULL where there is none. The cube can be read without it. Memory is taken for a list that is
   there: `count` is what the header says, and the file may be far smaller. */
static double *header_list(const header *h, const char *key, int count) {
    int differs, i;
    const char *at = header_find(h, key, &differs), *first = at, *next;
    double *list, number;
    if (!at) return NULL;
    for (i = 0; *at; i++) {
        next = listed_number(at, &number);
        if (!next) break;
        at = next;
    }
    if (!differs && !*at && i == count) {
        list = ALLOCATE(double, count);
        for (i = 0; i < count; i++) first = listed_number(first, list + i);
        return list;
    }
    if (differs) warn("%s: %s: it is there twice and differs; it is ignored", h->name, key);
    else if (*at) warn("%s: %s: number %d of the list is not one; the list is ignored", h->name, key, i + 1);
    else warn("%s: %s: %d values for %d bands; the list is ignored", h->name, key, i, count);
    return NULL;
}

/* Bytes that stand before and after something. */
static void header_pair(const header *h, const char *key, uint64_t *pair) {
    const char *value = header_value(h, key), *second;
    char *end;
    long before, after;
    pair[0] = pair[1] = 0;
    if (!value) return;
    errno = 0;
    before = strtol(value, &end, 10);
    end += zero_fraction(end);
    second = end + strspn(end, ", ");
    after = strtol(second, &end, 10);
    if (end > second) end += zero_fraction(end);
    if (end == second || *end || errno || before < 0 || after < 0 || before > INT_MAX || after > INT_MAX)
        fail(EXIT_ERROR, "%s: %s: '%.50s' are not two numbers of bytes", h->name, key, value);
    pair[0] = (uint64_t)before;
    pair[1] = (uint64_t)after;
}

/* ---- a cube in its two files ------------------------------------------------------------------------------------- */

/* Lines that are read while those before them are worked on. */
typedef struct lines_ahead {
    int running, first, lines, failed;
    char *room;
    size_t bytes;
#ifdef HYPERCUBE_THREADS
    pthread_t thread;
#endif
} lines_ahead;

/* Room for a block of values. The blocks of several devices differ in size. */
typedef struct block_room {
    void *values;
    size_t bytes;
} block_room;

/* The lines of a folded file around a line that was read by itself. */
typedef struct near_lines {
    char *values;
    int first, count;
} near_lines;

/* What the file holds, as its header says. */
typedef struct stored_values {
    uint64_t offset, around[2]; /* bytes before all, and before and after each frame: a band of BSQ, else a line */
    shs_type type;              /* the values, */
    int integers64;             /* or ENVI's code of 64-bit integers, which are read as doubles; 0: other values */
    int swap, samples, lines;
    int has_nodata; /* with scaled values, whose missing ones are NaN */
    int esri_too;   /* the value for no data is the largest float, and Esri's counts as that one */
} stored_values;

/* The two files of a cube while it is written. */
typedef struct cube_part {
    char *name, *header;
    FILE *header_file;
} cube_part;

/* value * gain + bias of each band is its value; NULL: the value itself. */
typedef struct cube_scale {
    double *gain, *bias;
    int reflectance; /* which is reflectance then */
    double factor;   /* of a cube that is written: reflectance times this; 0: not known */
} cube_scale;

/* Where its bands are: a value for each, or NULL. */
typedef struct band_axis {
    double *wavelength, *good; /* good is bbl */
    double *width;             /* of a cube that is written: fwhm */
    char *units;
    const struct wave_unit **unit; /* of a file: what wavelengths.h found of the units, NULL before; NULL: of no file */
} band_axis;

enum { UNITS_BYTES = 200 }; /* no name of a unit is longer */

/* Whose pixels those of a cube that is written are. */
typedef struct cube_origin {
    const struct cube_file *from; /* NULL: nobody's */
    const int *kept;              /* the bands of that one that these are; NULL: they are of another kind */
    int same_values;              /* and their values are as they were there */
} cube_origin;

typedef struct cube_rooms {
    block_room raw;      /* values before they are scaled */
    block_room integers; /* those that write_integers makes */
    block_room map;      /* the file mapped into memory, if the values need no conversion */
    near_lines nearby;
    lines_ahead ahead;
} cube_rooms;

/* What rounding does to values of one size: below 1/2, below 1, below 2, and so on. */
typedef struct rounded_values {
    double lost, values; /* sums of squares: of what rounding changes, of the values */
    double count;        /* without zeros */
} rounded_values;

enum { ROUNDED_SIZES = 34 }; /* the last one holds 2^32 - 1 */

/* How many values were changed or left out on the way, because their type cannot hold them. */
typedef struct lost_values {
    uint64_t clamped, met;   /* values out of the output's range; valid values equal to no-data */
    rounded_values *rounded; /* of values that fit, ROUNDED_SIZES for each band; NULL: nobody wants to know */
    uint64_t beyond;         /* values that a shs_real cannot hold, */
    unsigned char *looked;   /* marks the looked_lines lines in which `beyond` was counted */
    int looked_lines;
} lost_values;

typedef struct transfers {
    uint64_t moved; /* bytes read or written */
    int error;      /* errno of a failed transfer; 0 where the file ended early */
} transfers;

/* Where in the file the cube begins. */
typedef struct file_window {
    int left, top;
} file_window;

typedef struct cube_file {
    char *header_name, *data_name;
    FILE *file;
    cube_part part;
    header text; /* all that the header says */
    stored_values stored;
    file_window window;
    int folded; /* 0, or 1 + the interleave of the file, whose one line is a column here: a sample a line */
    cube_scale scale;
    cube_rooms rooms;
    shs_type type; /* the values of the cube */
    shs_interleave interleave;
    int samples, lines, bands, swap, has_nodata;
    double nodata;
    band_axis axis;
    cube_origin origin;
    char *description;
    char *const *names; /* names of an output's bands; NULL: the input's */
    transfers io;
    lost_values lost;
} cube_file;

static const char *mapped_name; /* the mapped file, for the message of SIGBUS: the system sends it if the file becomes shorter */

static int seek_to(FILE *file, uint64_t position) {
#if defined(EXAMPLE_POSIX)
    return fseeko(file, (off_t)position, SEEK_SET);
#elif defined(_WIN32)
    return _fseeki64(file, (long long)position, SEEK_SET);
#else
    if (position > LONG_MAX) return -1;
    return fseek(file, (long)position, SEEK_SET);
#endif
}

/* Where the file is at; negative: not known. */
static long long tell_of(FILE *file) {
#if defined(EXAMPLE_POSIX)
    return ftello(file);
#elif defined(_WIN32)
    return _ftelli64(file);
#else
    return ftell(file);
#endif
}

static int seek_end(FILE *file) {
#if defined(EXAMPLE_POSIX)
    return fseeko(file, 0, SEEK_END);
#elif defined(_WIN32)
    return _fseeki64(file, 0, SEEK_END);
#else
    return fseek(file, 0, SEEK_END);
#endif
}

static uint64_t file_size(FILE *file, const char *name) {
    long long size = -1;
    if (!seek_end(file)) size = tell_of(file);
    if (size < 0) fail(EXIT_ERROR, "%s: cannot find its size: %s", name, strerror(errno));
    return (uint64_t)size;
}

/* As elements, for offsets in a file: they may not fit in a size_t. */
static uint64_t in_file(uint64_t rows, int length) { return rows * (uint64_t)length; }

/* Bytes of the values of the file; UINT64_MAX where they do not fit. */
static uint64_t data_bytes(const cube_file *f) {
    uint64_t pixels = in_file(in_file(1, f->stored.samples), f->stored.lines); /* each below 2^31 */
    uint64_t pixel = in_file(shs_type_size(f->stored.type), f->bands);
    if (pixels > UINT64_MAX / pixel) return UINT64_MAX;
    return pixels * pixel;
}

/* The bytes of the file as the header has it; UINT64_MAX where they do not fit. */
static uint64_t file_bytes(const cube_file *f) {
    uint64_t values = data_bytes(f), frames = (uint64_t)f->stored.lines, more;
    if (f->interleave == SHS_INTERLEAVE_BSQ) frames = (uint64_t)f->bands;
    more = f->stored.offset + frames * (f->stored.around[0] + f->stored.around[1]); /* below 2^62 + 2^63 */
    if (values > UINT64_MAX - more) return UINT64_MAX;
    return values + more;
}

/* Reads `bytes` bytes of the file at offset `at`, or writes them. Returns the number of bytes moved. A program with ranks
   that share the file defines its own function. */
#ifdef ENVI_MOVE_BYTES
static size_t move_bytes(const cube_file *f, uint64_t at, size_t bytes, void *into, const void *from);
#else
static size_t move_bytes(const cube_file *f, uint64_t at, size_t bytes, void *into, const void *from) {
    if (seek_to(f->file, at)) return 0;
    if (into) return fread(into, 1, bytes, f->file);
    if (from) return fwrite(from, 1, bytes, f->file);
    return 0;
}
#endif

/* Lines first .. first+lines-1 of all bands, into memory or from it, as they are stored. A piece is what lies together both in
   the file and in memory: a line of a band at least, all lines at most. */
static int transfer(cube_file *f, int first, int lines, void *into, const void *from) {
    int by_band = f->interleave == SHS_INTERLEAVE_BSQ, by_pixel = f->interleave == SHS_INTERLEAVE_BIP;
    int whole_lines = f->samples == f->stored.samples, gaps = f->stored.around[0] + f->stored.around[1] > 0;
    const size_t bands = (size_t)f->bands;
    size_t pixel = shs_type_size(f->stored.type), piece, frames = (size_t)lines, rows = 1, i, j;
    uint64_t row, line, frame, start;
    const char *source;
    char *to;
    if (by_pixel) pixel *= bands;
    else rows = bands;
    if (by_band) {
        rows = frames; /* of a frame */
        frames = bands;
    }
    piece = values_of(pixel, f->samples);
    row = in_file(pixel, f->stored.samples);
    line = row;
    if (by_band) frame = in_file(row, f->stored.lines);
    else frame = row * rows;
    frame += f->stored.around[0] + f->stored.around[1];
    if (!by_band) line = frame;
    if (whole_lines) {
        piece *= rows;
        rows = 1;
    }
    if (whole_lines && !by_band && !gaps) {
        piece *= frames;
        frames = 1;
    }
    start = f->stored.offset + f->stored.around[0] + in_file(line, f->window.top + first) + in_file(pixel, f->window.left);
    to = (char *)into;
    source = (const char *)from;
    errno = 0;
    for (i = 0; i < frames; i++)
        for (j = 0; j < rows; j++) {
            size_t done = move_bytes(f, start + i * frame + j * row, piece, to, source);
            if (to) to += piece;
            if (source) source += piece;
            f->io.moved += done;
            if (done == piece) continue;
            f->io.error = errno;
            return 1;
        }
    f->io.error = 0;
    return 0;
}

/* Whether it is finite in the file, but not in the sums: 1e300 where a shs_real is a float. */
static int is_beyond(double value) { return sizeof(shs_real) == 4 && fabs(value) > (double)FLT_MAX && isfinite(value); }

static int is_nodata(const cube_file *f, double value) { return f->has_nodata && value >= f->nodata && value <= f->nodata; }

static int is_missing(const cube_file *f, double value) { return !isfinite(value) || is_beyond(value) || is_nodata(f, value); }

/* Where a value stands in a block of so many lines. */
static size_t value_index(const cube_file *f, int lines, int line, int sample, int band) {
    const size_t x = (size_t)sample;
    if (f->interleave == SHS_INTERLEAVE_BSQ) return values_of(element_at(band, lines, line), f->samples) + x;
    if (f->interleave == SHS_INTERLEAVE_BIL) return values_of(element_at(line, f->bands, band), f->samples) + x;
    return values_of(element_at(line, f->samples, sample), f->bands) + (size_t)band;
}

/* Lines of all bands in memory. */
static size_t values_in_lines(const cube_file *f, int lines) {
    return values_of(elements(f->samples, f->bands), lines);
}

static size_t bytes_in_lines(const cube_file *f, int lines) { return values_in_lines(f, lines) * shs_type_size(f->type); }

static inline char *room_for_lines(const cube_file *f, int lines) {
    return (char *)allocate((size_t)lines, bytes_in_lines(f, 1));
}

/* Value number i of a block as it is in the file. */
static double get_stored(const cube_file *f, const void *raw, size_t i) {
    unsigned char bytes[8];
    int64_t with_sign;
    uint64_t without;
    if (!f->stored.integers64) return get_value(raw, i, f->stored.type, f->stored.swap);
    copy_value(raw, i, sizeof bytes, f->stored.swap, bytes);
    memcpy(&with_sign, bytes, sizeof bytes);
    memcpy(&without, bytes, sizeof bytes);
    if (f->stored.integers64 == CODE_U64) return (double)without;
    return (double)with_sign;
}

/* Returns non-zero if the stored values need a conversion. */
static int makes_values(const cube_file *f) { return f->scale.gain || f->stored.integers64 || f->stored.esri_too; }

static const float esri_float = 3.40282306073709653e38f; /* whose opposite Esri's and SAGA's programs write where nothing is */

/* Of the sign of the value for no data. */
static int is_esri_float(double value, double nodata) {
    const double wanted = copysign((double)esri_float, nodata);
    return value >= wanted && value <= wanted;
}

/* Converts stored values to value * gain + bias, and missing values to NaN where there is a gain. */
static void scale_lines(const cube_file *f, int lines, const void *raw, void *block) {
    int x, y, b;
    for (b = 0; b < f->bands; b++)
        for (y = 0; y < lines; y++)
            for (x = 0; x < f->samples; x++) {
                size_t at = value_index(f, lines, y, x, b);
                double value = get_stored(f, raw, at);
                if (f->stored.esri_too && is_esri_float(value, f->nodata)) value = f->nodata;
                if (f->stored.has_nodata && value >= f->nodata && value <= f->nodata) value = NO_NUMBER;
                else if (f->scale.gain) value = value * f->scale.gain[b] + f->scale.bias[b];
                put_value(block, at, f->type, value);
            }
}

static void free_room(block_room *room) {
    free(room->values);
    room->values = NULL;
    room->bytes = 0;
}

/* NULL where memory has no such room. */
static void *room_if_any(block_room *room, size_t values, shs_type type) {
    const size_t bytes = values * shs_type_size(type);
    if (room->bytes >= bytes) return room->values;
    free_room(room);
    room->values = malloc(bytes);
    if (room->values) room->bytes = bytes;
    return room->values;
}

static void *room_for(block_room *room, size_t values, shs_type type) {
    void *found = room_if_any(room, values, type);
    if (!found && values) fail(EXIT_ERROR, "out of memory: %zu values of %zu bytes", values, shs_type_size(type));
    return found;
}

/* Waits until the block read ahead is complete. The file may then be used again. */
static void end_ahead(cube_file *f) {
#ifdef HYPERCUBE_THREADS
    if (f->rooms.ahead.running) pthread_join(f->rooms.ahead.thread, NULL);
#endif
    f->rooms.ahead.running = 0;
}

/* Counts values that are too large, in each line once: passes over the cube begin at any line where several devices share
   them. */
static void count_beyond(cube_file *f, int first, int lines, const void *block) {
    const int by_band = f->interleave == SHS_INTERLEAVE_BSQ;
    size_t length = (size_t)f->samples, i; /* values of a row */
    int rows = 1, line, b;                 /* rows of a line */
    if (f->type != SHS_TYPE_F64 || sizeof(shs_real) > 4) return;
    if (by_band) rows = f->bands;
    else length = values_of(length, f->bands);
    if (f->lost.looked_lines != f->lines) {
        free(f->lost.looked);
        f->lost.looked = ALLOCATE(unsigned char, f->lines);
        f->lost.looked_lines = f->lines;
        f->lost.beyond = 0;
    }
    for (line = 0; line < lines; line++) {
        if (f->lost.looked[first + line]) continue;
        f->lost.looked[first + line] = 1;
        for (b = 0; b < rows; b++)
            for (i = 0; i < length; i++) {
                const size_t at = element_at(b, lines, line) * length + i;
                const double value = get_value(block, at, f->type, f->swap);
                if (is_beyond(value) && !is_nodata(f, value)) f->lost.beyond++;
            }
    }
}

static int read_now(cube_file *f, int first, int lines, void *block) {
    size_t count = values_in_lines(f, lines);
    int made = makes_values(f), failed;
    if (made) failed = transfer(f, first, lines, room_for(&f->rooms.raw, count, f->stored.type), NULL);
    else failed = transfer(f, first, lines, block, NULL);
    if (made && !failed) scale_lines(f, lines, f->rooms.raw.values, block);
    if (!failed) count_beyond(f, first, lines, block);
    return failed;
}

enum { NEAR_BYTES = 1 << 20 };

/* Reads a line of a folded file. A line is one pixel, and a system call for each pixel would take minutes. */
static int read_near(cube_file *f, int line, char *block) {
    size_t value = shs_type_size(f->type), pixel = values_of(value, f->bands);
    int most = 1, b;
    if (pixel < NEAR_BYTES) most = (int)(NEAR_BYTES / pixel);
    if (!f->rooms.nearby.values) f->rooms.nearby.values = (char *)allocate((size_t)most, pixel);
    if (line < f->rooms.nearby.first || line >= f->rooms.nearby.first + f->rooms.nearby.count) {
        f->rooms.nearby.first = line;
        f->rooms.nearby.count = smaller(most, f->lines - line);
        if (read_now(f, f->rooms.nearby.first, f->rooms.nearby.count, f->rooms.nearby.values)) {
            f->rooms.nearby.count = 0;
            return 1;
        }
    }
    for (b = 0; b < f->bands; b++) {
        size_t at = value_index(f, f->rooms.nearby.count, line - f->rooms.nearby.first, 0, b);
        memcpy(block + values_of(value, b), f->rooms.nearby.values + at * value, value);
    }
    return 0;
}

static int read_lines(cube_file *f, int first, int lines, void *block) {
    end_ahead(f);
    if (f->folded && lines == 1) return read_near(f, first, (char *)block);
    return read_now(f, first, lines, block);
}

#ifdef HYPERCUBE_THREADS
static void *read_ahead(void *user) {
    cube_file *f = (cube_file *)user;
    f->rooms.ahead.failed = read_now(f, f->rooms.ahead.first, f->rooms.ahead.lines, f->rooms.ahead.room);
    return NULL;
}
#endif

/* Starts a thread that reads the next block, of as many lines or the rest. Reading a small block takes less time than
   starting a thread. */
static void begin_ahead(cube_file *f, int first, int lines) {
#ifdef HYPERCUBE_THREADS
    lines_ahead *a = &f->rooms.ahead;
    size_t bytes = bytes_in_lines(f, lines);
    if (bytes < 1 << 18 || first >= f->lines) return;
    if (a->bytes < bytes) {
        free(a->room);
        a->room = ALLOCATE(char, bytes);
        a->bytes = bytes;
    }
    a->first = first;
    a->lines = smaller(lines, f->lines - first);
    a->running = !pthread_create(&a->thread, NULL, read_ahead, f);
#else
    (void)f;
    (void)first;
    (void)lines;
#endif
}

/* read_fn of the library: returns the block that was read ahead while the library worked on the previous block. */
static int read_stream(void *user, int first, int lines, void *block) {
    cube_file *f = (cube_file *)user;
    const lines_ahead *a = &f->rooms.ahead;
    int ready = a->running && a->first == first && a->lines == lines, failed;
    end_ahead(f);
    if (ready) failed = a->failed;
    else failed = read_now(f, first, lines, block);
    if (failed) return failed;
    if (ready) memcpy(block, a->room, bytes_in_lines(f, lines));
    begin_ahead(f, first + lines, lines);
    return 0;
}

/* The values of the cube where the file has them, NULL where they lie apart in it or have to be made from those stored: the
   system keeps files in memory anyway, and a copy of them would take longer than a statistic of them. */
static const void *map_values(cube_file *f) {
#ifdef EXAMPLE_POSIX
    int whole_lines = f->samples == f->stored.samples, all_lines = f->lines == f->stored.lines;
    int gaps = f->stored.around[0] + f->stored.around[1] > 0;
    int together = whole_lines && (all_lines || f->interleave != SHS_INTERLEAVE_BSQ) && !gaps;
    int counted = f->type == SHS_TYPE_F64 && sizeof(shs_real) == 4; /* those beyond, as they are read */
    uint64_t size = file_bytes(f), line = data_bytes(f) / (uint64_t)f->stored.lines;
    uint64_t start = f->stored.offset + in_file(line, f->window.top);
    size_t bytes = (size_t)size;
    void *map;
    if (!together || counted || makes_values(f) || start % shs_type_size(f->stored.type) || size > SIZE_MAX / 2) return NULL;
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(f->file), 0); /* devices may ask to write */
    if (map == MAP_FAILED) return NULL;
    posix_madvise(map, bytes, POSIX_MADV_WILLNEED); /* from disk, in order, while computing begins */
    f->rooms.map.values = map;
    f->rooms.map.bytes = bytes;
    f->io.moved += in_file(line, f->lines);
    mapped_name = f->data_name;
    return (const char *)map + start;
#else
    (void)f;
    return NULL;
#endif
}

static int write_lines(void *user, int first, int lines, const void *block) {
    return transfer((cube_file *)user, first, lines, NULL, block);
}

/* The bits of a double say its size as frexp does, which takes as long as the rest of a conversion. */
static void note_rounding(cube_file *f, int band, double value, double lost) {
    rounded_values *r;
    uint64_t bits;
    int size;
    if (!f->lost.rounded) return;
    memcpy(&bits, &value, sizeof bits);
    size = (int)(bits >> 52 & 2047) - 1022;
    r = f->lost.rounded + element_at(band, ROUNDED_SIZES, larger(size + 1, 0));
    r->lost += lost * lost;
    r->values += value * value;
    r->count += fabs(value) > 0;
}

/* The whole number that is stored for a valid value of a band. What is lost is counted. */
static double stored_integer(cube_file *f, int band, double value) {
    const double stored = as_integer(type_info(f->type), value), lost = fabs(stored - value);
    if (lost > 0.5) f->lost.clamped++;
    else note_rounding(f, band, value, lost);
    if (is_nodata(f, stored)) f->lost.met++;
    return stored;
}

/* What rounding changes in a band, as a share of the root mean square of its values. The largest hundredth of the values that
   are not 0 is left out: one pixel of 30000 would hide what becomes of reflectances. More of them are what the band shows,
   on a background that may well be rounded to 0. */
static double rounded_share(const cube_file *f, int band) {
    const rounded_values *r = f->lost.rounded + element_at(band, ROUNDED_SIZES, 0);
    double all = 0, left_out = 0, lost = 0, values = 0;
    int i, sizes = ROUNDED_SIZES;
    for (i = 0; i < ROUNDED_SIZES; i++) all += r[i].count;
    while (sizes > 0 && left_out + r[sizes - 1].count <= all / 100) {
        sizes--;
        left_out += r[sizes].count;
    }
    for (i = 0; i < sizes; i++) {
        lost += r[i].lost;
        values += r[i].values;
    }
    if (values > 0) return sqrt(lost / values);
    return 0;
}

/* The block holds doubles, NaN where a pixel is missing. The conversion to integers happens here and not in the library, so
   that lost values can be counted. */
static int write_integers(void *user, int first, int lines, const void *block) {
    cube_file *f = (cube_file *)user;
    const double *values = (const double *)block;
    void *integers = room_for(&f->rooms.integers, values_in_lines(f, lines), f->type);
    int x, y, b;
    for (y = 0; y < lines; y++)
        for (b = 0; b < f->bands; b++)
            for (x = 0; x < f->samples; x++) {
                const size_t at = value_index(f, lines, y, x, b);
                double stored = f->nodata;
                if (isfinite(values[at])) stored = stored_integer(f, b, values[at]);
                put_value(integers, at, f->type, stored);
            }
    return write_lines(f, first, lines, integers);
}

/* What the values take in memory; UINT64_MAX for more than can be said. */
static uint64_t cube_bytes(const cube_file *f) {
    uint64_t line = in_file(in_file(shs_type_size(f->type), f->samples), f->bands); /* below 2^65 / 2 */
    if (line > UINT64_MAX / in_file(1, f->lines)) return UINT64_MAX;
    return in_file(line, f->lines);
}

static const char *transfer_trouble(const cube_file *f) {
    if (f->io.error) return strerror(f->io.error);
    return "it ends early";
}

static void must_read(cube_file *f, int first, int lines, void *block) {
    if (read_lines(f, first, lines, block))
        fail(EXIT_ERROR, "%s: reading it failed: %s", f->data_name, transfer_trouble(f));
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Whether there is such a file, and its size. */
static int is_regular(const char *name, uint64_t *size) {
#ifdef EXAMPLE_POSIX
    struct stat about;
    if (stat(name, &about) || !S_ISREG(about.st_mode)) return 0;
    *size = (uint64_t)about.st_size;
    return 1;
#else
    FILE *file = fopen(name, "rb");
    if (!file) return 0;
    *size = file_size(file, name);
    fclose(file);
    return 1;
#endif
}

/* Whether the name is STEM.anything. */
static int is_of_stem(const char *name, const char *stem) {
    const size_t length = strlen(stem);
    char *start;
    int same;
    if (strlen(name) <= length || name[length] != '.') return 0;
    start = copy_text(name, name + length);
    same = same_name(start, stem);
    free(start);
    return same;
}

/* The only file STEM.anything of this size; NULL where there is none. */
static char *find_by_size(const char *header_name, const char *stem, uint64_t bytes) {
    char *found = NULL;
    const char *own = name_in_folder(stem), *entry;
    char *folder = copy_text(stem, own), *name;
    folder_names list;
    uint64_t size;
    if (own > stem) list = open_folder(folder);
    else list = open_folder(".");
    while ((entry = next_name(&list)) != NULL) {
        if (!is_of_stem(entry, own)) continue;
        name = joined(folder, entry);
        if (has_extension(name, ".hdr") || !is_regular(name, &size) || size != bytes) {
            free(name);
            continue;
        }
        if (found) fail(EXIT_ERROR, "%s: its data file may be %s or %s: --data FILE says it", header_name, found, name);
        found = name;
    }
    close_folder(&list);
    free(folder);
    return found;
}

/* Finds the data file of a header, preferably a file of at least `bytes` bytes. The caller frees the name. */
static char *find_data(const char *header_name, uint64_t bytes) {
    static const char *const extensions[] = {".img", ".dat", ".bin", ".raw", "",     ".cub", ".lan", ".bsq", ".bil", ".bip",
                                             ".IMG", ".DAT", ".BIN", ".RAW", ".CUB", ".LAN", ".BSQ", ".BIL", ".BIP", ".sli",
                                             ".SLI"};
    enum { COUNT = COUNT_OF(extensions) };
    char *stem = copy_text(header_name, name_extension(header_name)), *best = NULL, *name;
    int i, fit = -1; /* of the best: 2 = this size, 1 = larger, 0 = smaller */
    uint64_t size;
    const char *rival = NULL; /* the extension of another file of this size */
    for (i = 0; i < COUNT; i++) {
        int its = -1;
        name = joined(stem, extensions[i]);
        if (is_regular(name, &size)) its = (size >= bytes) + (size == bytes);
        if (its == 2 && fit == 2 && !rival && !lead_to_one_file(best, name)) rival = extensions[i];
        if (its <= fit) {
            free(name);
            continue;
        }
        free(best);
        best = name;
        fit = its;
    }
    if (fit < 1) name = find_by_size(header_name, stem, bytes);
    else name = NULL;
    if (name) {
        free(best);
        best = name;
    }
    if (!best)
        fail(EXIT_ERROR,
             "%s: its data file is missing: neither %s nor %s.img, .dat, .bin, .raw, .cub, .lan ..., nor another of "
             "%" PRIu64 " bytes; --data FILE names it",
             header_name, stem, stem, bytes);
    if (rival)
        warn("%s: %s is read, but %s%s has the same size: --data FILE says which one it describes", header_name, best, stem, rival);
    free(stem);
    return best;
}

/* Whether the name is that of another format. */
static int is_foreign(const char *name) {
    static const char *const extensions[] = {".tif", ".tiff", ".jp2", ".h5",  ".he5", ".hdf", ".nc",  ".nc4",
                                             ".ntf", ".nitf", ".pix", ".vrt", ".png", ".jpg", ".jpeg"};
    size_t i;
    for (i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (has_extension(name, extensions[i])) return 1;
    return 0;
}

/* The header that is named, or that goes with the data file that is named: x.img.hdr or x.hdr; the caller frees the name. */
static char *find_header(const char *name, const char **data_name) {
    char *first, *second, *capital;
    uint64_t size;
    if (has_extension(name, ".hdr")) return joined(name, "");
    first = joined(name, ".hdr");
    second = derived_name(name, "", ".hdr");
    capital = derived_name(name, "", ".HDR");
    if (!is_regular(second, &size) && is_regular(capital, &size)) strcpy(second, capital);
    free(capital);
    if (!is_regular(first, &size) && !is_regular(second, &size)) {
        if (is_foreign(name))
            fail(EXIT_ERROR, "%s: not in ENVI's format: GDAL converts it: gdal_translate -of ENVI %s cube.img", name, name);
        if (!strcmp(first, second)) fail(EXIT_ERROR, "%s: its header is missing: there is no %s", name, first);
        fail(EXIT_ERROR, "%s: its header is missing: neither %s nor %s", name, first, second);
    }
    if (!*data_name && !is_regular(name, &size) && !is_regular(first, &size) && strcmp(first, second) != 0)
        fail(EXIT_ERROR, "%s: it is no file; there is a header %s, which may be named instead", name, second);
    if (is_regular(name, &size) && !*data_name && !is_foreign(name)) *data_name = name; /* else by its size */
    if (!is_regular(first, &size)) {
        free(first);
        return second;
    }
    if (is_regular(second, &size) && !lead_to_one_file(first, second))
        warn("%s: it is read by %s, and there is %s, too: name the header that describes it", name, first, second);
    free(second);
    return first;
}

/* The type of the values; those of 64 bits are read as doubles. */
static void header_type(const header *h, cube_file *f) {
    int i, code = header_int(h, "data type", 0, INT_MAX);
    if (code == CODE_I64 || code == CODE_U64) {
        f->stored.integers64 = code;
        f->type = f->stored.type = SHS_TYPE_F64;
        return;
    }
    for (i = 0; i < VALUE_TYPES; i++)
        if (value_types[i].code == code) {
            f->type = f->stored.type = value_types[i].type;
            return;
        }
    if (code == CODE_COMPLEX_F32 || code == CODE_COMPLEX_F64)
        fail(EXIT_ERROR,
             "%s: data type: %d, complex numbers, is not read: write their amplitudes, or real and imaginary parts as bands of "
             "their own, as data type 4 or 5",
             h->name, code);
    fail(EXIT_ERROR, "%s: data type: %d is none of 1, 2, 3, 4, 5, 12, 13, 14, 15", h->name, code);
}

/* The name of the type of the values as they are worked on, or in the file where those have 64 bits. */
static const char *type_name(const cube_file *f) {
    if (f->stored.integers64 == CODE_I64) return "i64";
    if (f->stored.integers64 == CODE_U64) return "u64";
    return type_info(f->type)->name;
}

static shs_interleave header_interleave(const header *h) {
    const char *value = header_value(h, "interleave");
    int i;
    char *lower;
    if (!value) fail(EXIT_ERROR, "%s: interleave: the key is missing", h->name);
    lower = lower_words(value);
    for (i = 0; i < 3 && strcmp(lower, interleaves[i]); i++) {}
    free(lower);
    if (i == 3) fail(EXIT_ERROR, "%s: interleave: '%.50s' is none of bsq, bil, bip", h->name, value);
    return (shs_interleave)i;
}

/* 0: little-endian. ENVI's own words are Host (Intel) and Network (IEEE). */
static int header_byte_order(const header *h) {
    const char *value = header_value(h, "byte order");
    char *lower = lower_words(or_empty(value));
    int order = !strncmp(lower, "network", 7) || !strncmp(lower, "ieee", 4);
    if (!value) warn("%s: byte order: the key is missing: 0, little-endian, is assumed", h->name);
    else if (!order && strncmp(lower, "host", 4) && strncmp(lower, "intel", 5))
        order = header_int(h, "byte order", 0, 1);
    free(lower);
    return order;
}

/* What digits are left of the largest float and of Esri's value for no data are those of both. */
static int means_both(shs_type type, double nodata) {
    const double six = 3.40282e38, seven = 3.402823e38, size = fabs(nodata);
    return type == SHS_TYPE_F32 && ((size >= six && size <= six) || (size >= seven && size <= seven));
}

/* A float file cannot hold the number that the header spells out, only the float beside it. A float that the header spells out
   to its last digit is meant itself; else FLT_MAX stands for every number that rounds to FLT_MAX, and what lies between is the
   nearer of FLT_MAX and Esri's value. */
static double nodata_as_stored(shs_type type, double nodata) {
    const double most = (double)FLT_MAX, size = fabs(nodata);
    double stored;
    if (type != SHS_TYPE_F32 || size >= 3.40283e38) return nodata;
    if (size > most || means_both(type, nodata)) return copysign(most, nodata);
    stored = (double)(float)nodata;
    if (size < 3.40282e38 || fabs(nodata - stored) <= 1e-15 * size) return stored;
    if (size - (double)esri_float < most - size) return copysign((double)esri_float, nodata);
    return copysign(most, nodata);
}

/* Values are missing that are this number. NaN and infinity are missing anyway. */
static void take_nodata(cube_file *f, double nodata) {
    f->nodata = nodata_as_stored(f->type, nodata);
    f->has_nodata = isfinite(f->nodata) != 0;
    if (!means_both(f->type, nodata)) return;
    f->stored.esri_too = 1;
    f->swap = 0; /* scale_lines makes the values */
}

/* Reads a number, or a list with the same number for each band. Returns 0 for any other text. */
static int nodata_number(const char *text, double *number) {
    double other;
    size_t length = any_number(text, number);
    if (!length) return 0;
    for (text += length; *text; text += length) {
        if (*text == ',' && text[1] != ' ') return 0; /* 5,0 may be a list or a decimal comma */
        text += strspn(text, ", ");
        length = any_number(text, &other);
        if (!length || other < *number || other > *number) return 0;
    }
    return 1;
}

/* option_text: the value of the option that overrides the header, "" if the option was not given, NULL if no such option
   exists. */
static void header_nodata(const header *h, cube_file *f, const char *option_text) {
    const char *value, *advice = "";
    if (option_text && *option_text) return;
    if (option_text) advice = "; --nodata V says what is missing, --nodata nan that nothing else is";
    value = header_value(h, "data ignore value");
    if (!value || !*value) return;
    if (!nodata_number(value, &f->nodata))
        fail(EXIT_ERROR, "%s: data ignore value: '%.50s' is not a number%s", h->name, value, advice);
    take_nodata(f, f->nodata);
}

/* The header's "file type" in small letters; the caller frees it. */
static char *file_type(const header *h) {
    return lower_words(or_empty(header_value(h, "file type")));
}

/* Without an offset the first values would be the other format's own header. */
static void refuse_formats(const header *h, uint64_t offset) {
    static const char *const formats[] = {"tiff", "geotiff", "jpeg", "jpeg2000", "jp2",  "png",    "gif",
                                          "bmp",  "nitf",    "hdf",  "hdf4",     "hdf5", "netcdf", "erdas imagine"};
    char *type = file_type(h);
    size_t i;
    for (i = 0; i < sizeof formats / sizeof *formats && offset == 0; i++)
        if (!strcmp(type, formats[i]))
            fail(EXIT_ERROR,
                 "%s: file type: %s has a header of its own, and header offset is 0: GDAL converts it: gdal_translate -of ENVI",
                 h->name, type);
    free(type);
}

static void header_describe(const header *h, cube_file *f, const char *nodata) {
    const char *units = header_value(h, "wavelength units"), *description = header_value(h, "description");
    uint64_t minor[2];
    f->swap = f->stored.swap = shs_type_size(f->type) > 1 && header_byte_order(h) != host_byte_order();
    if (f->stored.integers64) f->swap = 0;
    header_pair(h, "major frame offsets", f->stored.around);
    header_pair(h, "minor frame offsets", minor);
    if (minor[0] + minor[1]) fail(EXIT_ERROR, "%s: minor frame offsets: data with bytes between them are not read", h->name);
    if (header_value(h, "header offset")) f->stored.offset = (uint64_t)header_whole(h, "header offset", 0, LLONG_MAX / 2);
    refuse_formats(h, f->stored.offset);
    if (header_value(h, "file compression") && header_whole(h, "file compression", 0, 1))
        fail(EXIT_ERROR, "%s: file compression: compressed data are not read", h->name);
    header_nodata(h, f, nodata);
    f->axis.wavelength = header_list(h, "wavelength", f->bands);
    f->axis.good = header_list(h, "bbl", f->bands);
    f->axis.units = joined(or_empty(units), "");
    if (strlen(f->axis.units) > UNITS_BYTES) f->axis.units[UNITS_BYTES] = 0;
    f->axis.unit = ALLOCATE(const struct wave_unit *, 1);
    f->description = joined(or_empty(description), "");
}

static int is_library(const header *h) {
    char *type = file_type(h);
    int library = !strcmp(type, "envi spectral library");
    free(type);
    return library;
}

/* ENVI keeps a library of spectra as an image of one band: each spectrum is a line, its values are the samples. The same bytes
   are a cube of one sample a line, whose values lie pixel after pixel. */
static void library_as_cube(cube_file *f) {
    if (f->bands != 1) fail(EXIT_ERROR, "%s: bands: %d, but a spectral library has 1", f->header_name, f->bands);
    f->bands = f->samples;
    f->samples = f->stored.samples = 1;
    f->interleave = SHS_INTERLEAVE_BIP;
}

/* What `folded` is for a file of this interleave. */
static int folded_from(shs_interleave interleave) { return 1 + (int)interleave; }

/* A cube of one line, such as a cloud of points, may have lines that do not fit in memory. The samples are read as lines. The
   bytes stay in place, because one line of BIL has the layout of BSQ. */
static void fold_line(cube_file *f) {
    if (f->stored.lines != 1 || f->folded || f->stored.around[0] + f->stored.around[1] > 0) return;
    f->folded = folded_from(f->interleave);
    if (f->interleave == SHS_INTERLEAVE_BIL) f->interleave = SHS_INTERLEAVE_BSQ;
    f->stored.lines = f->stored.samples;
    f->stored.samples = 1;
    f->lines = f->samples;
    f->samples = 1;
    f->window.top = f->window.left;
    f->window.left = 0;
}

/* What the file has, folded or not. */
static int file_samples(const cube_file *f) { return f->folded ? f->lines : f->samples; }
static int file_lines(const cube_file *f) { return f->folded ? f->samples : f->lines; }
static int file_left(const cube_file *f) { return f->folded ? f->window.top : f->window.left; }
static int file_top(const cube_file *f) { return f->folded ? f->window.left : f->window.top; }
static shs_interleave file_interleave(const cube_file *f) {
    if (f->folded) return (shs_interleave)(f->folded - 1);
    return f->interleave;
}

/* The place of a pixel in the file, from its number in the cube. */
static int pixel_sample(const cube_file *f, size_t pixel) {
    return file_left(f) + column_of(pixel, file_samples(f));
}
static int pixel_line(const cube_file *f, size_t pixel) {
    return file_top(f) + row_of(pixel, file_samples(f));
}

/* A line of values of any type, and what goes with it, must have a size that a size_t can hold: one of 32 bits may not. */
static void refuse_long_lines(const cube_file *f) {
    const size_t most = SIZE_MAX / 2 / sizeof(double);
    if (in_file(in_file(1, f->samples), f->bands) > most)
        fail(EXIT_ERROR, "%s: samples %d x bands %d: a line is too large for this machine: at most %zu values", f->header_name,
             f->samples, f->bands, most);
}

/* The name is that of the header or of the data; data_name may be NULL; nodata as for header_nodata. */
static cube_file cube_open_with(const char *name, const char *data_name, const char *nodata) {
    cube_file f = SHS_ZERO;
    const char *at_least = "";
    uint64_t size, needed;
    f.header_name = find_header(name, &data_name);
    f.text = header_read(f.header_name);
    f.samples = f.stored.samples = header_int(&f.text, "samples", 1, INT_MAX);
    f.lines = f.stored.lines = header_int(&f.text, "lines", 1, INT_MAX);
    f.bands = header_int(&f.text, "bands", 1, INT_MAX);
    header_type(&f.text, &f);
    f.interleave = header_interleave(&f.text);
    if (is_library(&f.text)) library_as_cube(&f);
    header_describe(&f.text, &f, nodata);
    needed = file_bytes(&f);
    if (data_name) f.data_name = joined(data_name, "");
    else f.data_name = find_data(f.header_name, needed);
    f.file = open_for_reading(f.data_name);
    setvbuf(f.file, NULL, _IONBF, 0); /* whole lines are read: a buffer would only copy them once more */
    size = file_size(f.file, f.data_name);
    if (needed == UINT64_MAX) at_least = " or more";
    if (size < needed)
        fail(EXIT_ERROR,
             "%s: it is truncated, or samples, lines, bands, data type or header offset of %s are wrong: "
             "%" PRIu64 " bytes are there, %" PRIu64 "%s are needed",
             f.data_name, f.header_name, size, needed, at_least);
    if (size > needed)
        warn("%s: %" PRIu64 " bytes follow the cube that %s describes", f.data_name, size - needed, f.header_name);
    refuse_long_lines(&f);
    return f;
}

static cube_file cube_open(const char *name, const char *data_name) { return cube_open_with(name, data_name, NULL); }

static void cube_close(cube_file *f) {
    end_ahead(f);
    free(f->rooms.ahead.room);
#ifdef EXAMPLE_POSIX
    if (f->rooms.map.values) munmap(f->rooms.map.values, f->rooms.map.bytes);
#endif
    if (f->file) fclose(f->file);
    header_free(&f->text);
    free(f->scale.gain);
    free(f->scale.bias);
    free(f->rooms.raw.values);
    free(f->rooms.nearby.values);
    free(f->header_name);
    free(f->data_name);
    free(f->part.name);
    free(f->part.header);
    free(f->rooms.integers.values);
    free(f->lost.rounded);
    free(f->lost.looked);
    free(f->axis.wavelength);
    free(f->axis.good);
    free(f->axis.width);
    free(f->axis.units);
    free(f->axis.unit);
    free(f->description);
}

#endif /* HYPERCUBE_ENVI */
