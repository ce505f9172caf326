/* hypercube.c - analyses an image cube in ENVI's format, of any size: principal components, minimum noise fraction,
   independent components, noise reduction, anomalies.

       cc -O3 -fopenmp hypercube.c -o hypercube -lm
       ./hypercube synthesise scene.hdr                                    (a small scene, where no cube is at hand)
       ./hypercube info scene.hdr
       ./hypercube pca scene.hdr pc.hdr --bbl --components 10 --quicklook pc.png --report pc.csv
       ./hypercube ica scene.hdr ic.hdr --bbl --components 8 --contrast tanh --symmetric
       ./hypercube rx scene.hdr rx.hdr --bbl --truth scene_truth.hdr --quicklook rx.png
       ./hypercube pca huge.hdr pc.hdr --components 10 --block 16          (16 lines in memory at a time)

   A cube is two files: NAME.hdr says in text what NAME.img (.dat, .raw ... or no extension) holds in bytes. Either may be
   named, and --data FILE names a data file that is called otherwise. */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64 /* a cube outgrows 2 GB, also where a long has 32 bits */
#endif
#include "example.h"
#include <float.h>
#include <inttypes.h>
#ifdef EXAMPLE_POSIX
#include <dirent.h>
#endif
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"
#ifdef EXAMPLE_OPENCL /* for --device */
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
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
enum { VALUE_TYPES = (int)(sizeof value_types / sizeof *value_types) };
static const char *const interleaves[] = {"bsq", "bil", "bip"};

static const value_type *type_info(shs_type type) {
    int i = 0;
    while (i < VALUE_TYPES - 1 && value_types[i].type != type) i++;
    return &value_types[i];
}

static int is_integer(shs_type type) { return type_info(type)->low < type_info(type)->high; }

/* Value number i of a block in this type, whatever its alignment. */
static double get_value(const void *block, size_t i, shs_type type, int swap) {
    unsigned char raw[8], other;
    size_t size = shs_type_size(type), b;
    union {
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        float f32;
        double f64;
    } v;
    memcpy(raw, (const unsigned char *)block + i * size, size);
    for (b = 0; swap && b < size / 2; b++) other = raw[b], raw[b] = raw[size - 1 - b], raw[size - 1 - b] = other;
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

/* Clamped and rounded to nearest, half away from zero, as the library does it. */
static double as_integer(const value_type *info, double value) {
    value = value < info->low ? info->low : value > info->high ? info->high : value;
    return (double)(int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Value number i of a block; an integer type must hold it. */
static void put_value(void *block, size_t i, shs_type type, double value) {
    switch (type) {
    case SHS_TYPE_U8: ((uint8_t *)block)[i] = (uint8_t)value; break;
    case SHS_TYPE_I16: ((int16_t *)block)[i] = (int16_t)value; break;
    case SHS_TYPE_U16: ((uint16_t *)block)[i] = (uint16_t)value; break;
    case SHS_TYPE_I32: ((int32_t *)block)[i] = (int32_t)value; break;
    case SHS_TYPE_U32: ((uint32_t *)block)[i] = (uint32_t)value; break;
    case SHS_TYPE_F32: ((float *)block)[i] = (float)value; break;
    default: ((double *)block)[i] = value; break;
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

typedef struct header {
    const char *name;
    int count, room;
    char **keys, **values; /* keys in lower case, values without their braces */
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
        if (!isspace((unsigned char)*in)) *out++ = lower ? (char)tolower((unsigned char)*in) : *in;
        else if (out > copy && out[-1] != ' ') *out++ = ' ';
    }
    if (out > copy && out[-1] == ' ') out--;
    *out = 0;
    return copy;
}

static void header_add(header *h, char *key, char *value) {
    if (h->count == h->room) {
        h->room = 2 * h->room + 32;
        h->keys = (char **)realloc(h->keys, (size_t)h->room * sizeof *h->keys);
        h->values = (char **)realloc(h->values, (size_t)h->room * sizeof *h->values);
        if (!h->keys || !h->values) fail(EXIT_ERROR, "%s: too large for the memory", h->name);
    }
    h->keys[h->count] = key;
    h->values[h->count++] = value;
}

/* Takes `key = value ; comment` or `key = {value over several lines}` at `at` and returns where the next line begins. */
static const char *header_line(header *h, const char *at) {
    const char *end = at + strcspn(at, "\r\n"), *equals = at + strcspn(at, "=\r\n"), *value, *brace;
    char *key;
    at += strspn(at, " \t");
    if (*at == ';' || equals >= end) return end + strspn(end, "\r\n");
    key = tidy_text(at, equals, 1);
    value = equals + 1 + strspn(equals + 1, " \t");
    if (*value != '{') end = value + strcspn(value, ";\r\n");
    else {
        value++;
        brace = value + strcspn(value, "{}"); /* a second one that opens belongs to another key */
        if (*brace == '}') end = brace;
        else warn("%s: %s: the closing brace is missing: its first line is taken for the whole", h->name, key);
    }
    header_add(h, key, tidy_text(value, end, 0));
    end += strcspn(end, "\r\n");
    return end + strspn(end, "\r\n");
}

static header header_read(const char *name) {
    header h = SHS_ZERO;
    FILE *file = fopen(name, "rb");
    char magic[4], *text;
    size_t size;
    unsigned char *bytes;
    const char *at;
    if (!file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    /* Somebody may name the data file: it is not read into memory only to say so. */
    if (fread(magic, 1, 4, file) != 4 || memcmp(magic, "ENVI", 4))
        fail(EXIT_ERROR, "%s: not an ENVI header: it does not begin with ENVI", name);
    fclose(file);
    bytes = read_file(name, HEADER_BYTES, &size);
    if (memchr(bytes, 0, size)) fail(EXIT_ERROR, "%s: not an ENVI header: it holds a byte of zero, and text has none", name);
    text = copy_text((const char *)bytes, (const char *)bytes + size);
    h.name = name;
    for (at = text + strcspn(text, "\r\n"); *at;) at = header_line(&h, at);
    free(text);
    free(bytes);
    return h;
}

static void header_free(header *h) {
    while (h->count > 0) {
        free(h->keys[--h->count]);
        free(h->values[h->count]);
    }
    free(h->keys);
    free(h->values);
}

/* The value of a key, NULL where it is missing; whether it is there twice and differs. */
static const char *header_find(const header *h, const char *key, int *differs) {
    const char *value = NULL;
    int i;
    *differs = 0;
    for (i = 0; i < h->count; i++) {
        if (strcmp(h->keys[i], key)) continue;
        *differs |= value && strcmp(value, h->values[i]);
        value = h->values[i];
    }
    return value;
}

static const char *header_value(const header *h, const char *key) {
    int differs;
    const char *value = header_find(h, key, &differs);
    if (differs) fail(EXIT_ERROR, "%s: %s: it is there twice and differs", h->name, key);
    return value;
}

static long long header_whole(const header *h, const char *key, long long least, long long most) {
    const char *value = header_value(h, key);
    char *end;
    long long number;
    if (!value) fail(EXIT_ERROR, "%s: %s: the key is missing", h->name, key);
    errno = 0;
    number = strtoll(value, &end, 10);
    if (end == value || *end) fail(EXIT_ERROR, "%s: %s: '%s' is not a whole number", h->name, key, value);
    if (errno == ERANGE || number < least || number > most)
        fail(EXIT_ERROR, "%s: %s: %s is outside %lld..%lld", h->name, key, value, least, most);
    return number;
}

/* A list of exactly `count` numbers; NULL where there is none. The cube can be read without it. */
static double *header_list(const header *h, const char *key, int count) {
    int differs, i;
    const char *at = header_find(h, key, &differs);
    double *list;
    char *end;
    if (!at) return NULL;
    list = ALLOCATE(double, count);
    for (i = 0; *at; i++) {
        double number = strtod(at, &end);
        if (end == at || (*end && *end != ',' && *end != ' ')) break;
        if (i < count) list[i] = number;
        at = end + strspn(end, ", ");
    }
    if (!differs && !*at && i == count) return list;
    if (differs) warn("%s: %s: it is there twice and differs; it is ignored", h->name, key);
    else if (*at) warn("%s: %s: number %d of the list is not one; the list is ignored", h->name, key, i + 1);
    else warn("%s: %s: %d values for %d bands; the list is ignored", h->name, key, i, count);
    free(list);
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
    second = end + strspn(end, ", ");
    after = strtol(second, &end, 10);
    if (end == second || *end || errno || before < 0 || after < 0 || before > INT_MAX || after > INT_MAX)
        fail(EXIT_ERROR, "%s: %s: '%s' are not two numbers of bytes", h->name, key, value);
    pair[0] = (uint64_t)before;
    pair[1] = (uint64_t)after;
}

/* ---- a cube in its two files ------------------------------------------------------------------------------------- */

typedef struct cube_file {
    char *header_name, *data_name, *part_name, *part_header; /* the last two while it is written */
    FILE *file, *header_file;                                /* the latter of a cube that is written */
    uint64_t offset, around[2]; /* bytes before all, and before and after each frame: a band of BSQ, else a line */
    shs_type type;
    shs_interleave interleave;
    int samples, lines, bands, swap;
    int has_nodata;
    double nodata;
    double *wavelength, *good; /* bands values each, or NULL; good is bbl */
    char *units, *description;
    int error; /* errno of a failed transfer; 0 where the file ended early */
    void *integers;        /* room for those that write_integers makes */
    uint64_t clamped, met; /* values that did not fit, and valid ones that became the no-data value */
    uint64_t beyond;       /* values of the last pass that a shs_real cannot hold */
} cube_file;

static int seek_to(FILE *file, uint64_t position) {
#if defined(EXAMPLE_POSIX)
    return fseeko(file, (off_t)position, SEEK_SET);
#elif defined(_WIN32)
    return _fseeki64(file, (long long)position, SEEK_SET);
#else
    return position > LONG_MAX ? -1 : fseek(file, (long)position, SEEK_SET);
#endif
}

static uint64_t file_size(FILE *file, const char *name) {
#if defined(EXAMPLE_POSIX)
    long long size = fseeko(file, 0, SEEK_END) ? -1 : (long long)ftello(file);
#elif defined(_WIN32)
    long long size = _fseeki64(file, 0, SEEK_END) ? -1 : _ftelli64(file);
#else
    long long size = fseek(file, 0, SEEK_END) ? -1 : (long long)ftell(file);
#endif
    if (size < 0) fail(EXIT_ERROR, "%s: cannot find its size: %s", name, strerror(errno));
    return (uint64_t)size;
}

/* Bytes of the values; UINT64_MAX where they do not fit. */
static uint64_t data_bytes(const cube_file *f) {
    uint64_t pixels = (uint64_t)f->samples * (uint64_t)f->lines; /* each below 2^31 */
    uint64_t pixel = (uint64_t)f->bands * shs_type_size(f->type);
    return pixels > UINT64_MAX / pixel ? UINT64_MAX : pixels * pixel;
}

/* The bytes of the file as the header has it; UINT64_MAX where they do not fit. */
static uint64_t file_bytes(const cube_file *f) {
    uint64_t frames = (uint64_t)(f->interleave == SHS_INTERLEAVE_BSQ ? f->bands : f->lines);
    uint64_t values = data_bytes(f), more = f->offset + frames * (f->around[0] + f->around[1]); /* below 2^62 + 2^63 */
    return values > UINT64_MAX - more ? UINT64_MAX : values + more;
}

/* Lines first .. first+lines-1 of all bands, into memory or from it: a piece of each band, or all at once, or each line where
   other bytes stand between them. */
static int transfer(cube_file *f, int first, int lines, void *into, const void *from) {
    int by_band = f->interleave == SHS_INTERLEAVE_BSQ, by_line = !by_band && f->around[0] + f->around[1] > 0;
    size_t pieces = by_band ? (size_t)f->bands : by_line ? (size_t)lines : 1, i;
    size_t line = (size_t)f->samples * (by_band ? 1 : (size_t)f->bands) * shs_type_size(f->type);
    size_t piece = by_line ? line : line * (size_t)lines, done;
    uint64_t frame = (by_band ? (uint64_t)line * (uint64_t)f->lines : line) + f->around[0] + f->around[1];
    uint64_t start = f->offset + f->around[0] + (uint64_t)first * (by_band ? line : frame);
    errno = 0;
    for (i = 0; i < pieces; i++) {
        if (seek_to(f->file, start + i * frame)) break;
        done = into ? fread((char *)into + i * piece, 1, piece, f->file)
                    : fwrite((const char *)from + i * piece, 1, piece, f->file);
        if (done != piece) break;
    }
    f->error = i < pieces ? errno : 0;
    return i < pieces;
}

/* Whether it is finite in the file, but not in the sums: 1e300 where a shs_real is a float. */
static int is_beyond(double value) { return sizeof(shs_real) == 4 && fabs(value) > (double)FLT_MAX && isfinite(value); }

static int is_nodata(const cube_file *f, double value) { return f->has_nodata && value >= f->nodata && value <= f->nodata; }

static int is_missing(const cube_file *f, double value) { return !isfinite(value) || is_beyond(value) || is_nodata(f, value); }

static int read_lines(void *user, int first, int lines, void *block) {
    cube_file *f = (cube_file *)user;
    size_t count = (size_t)f->samples * (size_t)f->bands * (size_t)lines, i;
    int failed = transfer(f, first, lines, block, NULL);
    if (first == 0) f->beyond = 0;
    for (i = 0; i < count && !failed && f->type == SHS_TYPE_F64; i++) {
        double value = f->swap ? get_value(block, i, f->type, 1) : ((const double *)block)[i];
        if (is_beyond(value) && !is_nodata(f, value)) f->beyond++;
    }
    return failed;
}

static int write_lines(void *user, int first, int lines, const void *block) {
    return transfer((cube_file *)user, first, lines, NULL, block);
}

/* The block holds doubles, NaN where a pixel is missing. They become integers here and not in the library, so that what is lost
   can be counted. */
static int write_integers(void *user, int first, int lines, const void *block) {
    cube_file *f = (cube_file *)user;
    const double *values = (const double *)block;
    const value_type *info = type_info(f->type);
    size_t count = (size_t)f->samples * (size_t)f->bands * (size_t)lines, i;
    if (!f->integers) f->integers = allocate(count, shs_type_size(f->type)); /* no later block is larger */
    for (i = 0; i < count; i++) {
        int valid = isfinite(values[i]) != 0;
        double stored = valid ? as_integer(info, values[i]) : f->nodata;
        put_value(f->integers, i, f->type, stored);
        if (valid && fabs(stored - values[i]) > 0.5) f->clamped++;
        if (valid && is_nodata(f, stored)) f->met++;
    }
    return write_lines(f, first, lines, f->integers);
}

static const char *transfer_trouble(const cube_file *f) { return f->error ? strerror(f->error) : "it ends early"; }

static void must_read(cube_file *f, int first, int lines, void *block) {
    if (read_lines(f, first, lines, block))
        fail(EXIT_ERROR, "%s: reading it failed: %s", f->data_name, transfer_trouble(f));
}

/* Where a value stands in a block of so many lines. */
static size_t value_index(const cube_file *f, int lines, int line, int sample, int band) {
    size_t w = (size_t)f->samples, h = (size_t)lines, n = (size_t)f->bands;
    size_t x = (size_t)sample, y = (size_t)line, b = (size_t)band;
    if (f->interleave == SHS_INTERLEAVE_BSQ) return (b * h + y) * w + x;
    if (f->interleave == SHS_INTERLEAVE_BIL) return (y * n + b) * w + x;
    return (y * w + x) * n + b;
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

/* The only file STEM.anything of this size; NULL where there is none. */
static char *find_by_size(const char *header_name, const char *stem, uint64_t bytes) {
    char *found = NULL;
#ifdef EXAMPLE_POSIX
    const char *own = name_in_folder(stem);
    char *folder = copy_text(stem, own), *name;
    DIR *list = opendir(own > stem ? folder : ".");
    struct dirent *entry;
    size_t length = strlen(own);
    uint64_t size;
    while (list && (entry = readdir(list)) != NULL) {
        if (strncmp(entry->d_name, own, length) || entry->d_name[length] != '.') continue;
        name = joined(folder, entry->d_name);
        if (has_extension(name, ".hdr") || !is_regular(name, &size) || size != bytes) {
            free(name);
            continue;
        }
        if (found) fail(EXIT_ERROR, "%s: its data file may be %s or %s: --data FILE says it", header_name, found, name);
        found = name;
    }
    if (list) closedir(list);
    free(folder);
#else
    (void)header_name, (void)stem, (void)bytes;
#endif
    return found;
}

/* The data file that goes with a header, one that has the bytes if possible; the caller frees the name. */
static char *find_data(const char *header_name, uint64_t bytes) {
    static const char *const extensions[] = {".img", ".dat", ".bin", ".raw", "",     ".cub", ".lan", ".bsq", ".bil", ".bip",
                                             ".IMG", ".DAT", ".BIN", ".RAW", ".CUB", ".LAN", ".BSQ", ".BIL", ".BIP"};
    enum { COUNT = (int)(sizeof extensions / sizeof *extensions) };
    char *stem = copy_text(header_name, name_extension(header_name)), *best = NULL, *name;
    int i, fit = -1; /* of the best: 2 = this size, 1 = larger, 0 = smaller */
    uint64_t size;
    for (i = 0; i < COUNT; i++) {
        int its = -1;
        name = joined(stem, extensions[i]);
        if (is_regular(name, &size)) its = size == bytes ? 2 : size > bytes;
        if (its <= fit) {
            free(name);
            continue;
        }
        free(best);
        best = name;
        fit = its;
    }
    name = fit < 1 ? find_by_size(header_name, stem, bytes) : NULL;
    if (name) {
        free(best);
        best = name;
    }
    if (!best)
        fail(EXIT_ERROR,
             "%s: its data file is missing: neither %s nor %s.img, .dat, .bin, .raw, .cub, .lan ..., nor another of "
             "%" PRIu64 " bytes; --data FILE names it",
             header_name, stem, stem, bytes);
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
    char *first, *second;
    uint64_t size;
    if (has_extension(name, ".hdr")) return joined(name, "");
    first = joined(name, ".hdr");
    second = derived_name(name, "", ".hdr");
    if (!is_regular(first, &size) && !is_regular(second, &size)) {
        if (is_foreign(name))
            fail(EXIT_ERROR, "%s: not in ENVI's format: GDAL converts it: gdal_translate -of ENVI %s cube.img", name, name);
        fail(EXIT_ERROR, "%s: its header is missing: neither %s nor %s", name, first, second);
    }
    if (is_regular(name, &size) && !*data_name && !is_foreign(name)) *data_name = name; /* else by its size */
    if (!is_regular(first, &size)) {
        free(first);
        return second;
    }
    free(second);
    return first;
}

static shs_type header_type(const header *h) {
    int i, code = (int)header_whole(h, "data type", 0, INT_MAX);
    for (i = 0; i < VALUE_TYPES; i++)
        if (value_types[i].code == code) return value_types[i].type;
    if (code == 14 || code == 15)
        fail(EXIT_ERROR, "%s: data type: %d, integers of 64 bits, is not read: gdal_translate -of ENVI -ot Float64 converts it",
             h->name, code);
    fail(EXIT_ERROR, "%s: data type: %d is none of 1, 2, 3, 4, 5, 12, 13", h->name, code);
}

static shs_interleave header_interleave(const header *h) {
    const char *value = header_value(h, "interleave");
    int i;
    char *lower;
    if (!value) fail(EXIT_ERROR, "%s: interleave: the key is missing", h->name);
    lower = tidy_text(value, value + strlen(value), 1);
    for (i = 0; i < 3 && strcmp(lower, interleaves[i]); i++) {}
    free(lower);
    if (i == 3) fail(EXIT_ERROR, "%s: interleave: '%s' is none of bsq, bil, bip", h->name, value);
    return (shs_interleave)i;
}

/* 0: little-endian. ENVI's own words are Host (Intel) and Network (IEEE). */
static int header_byte_order(const header *h) {
    const char *value = header_value(h, "byte order");
    char *lower = tidy_text(value ? value : "", value ? value + strlen(value) : "", 1);
    int order = !strncmp(lower, "network", 7) || !strncmp(lower, "ieee", 4);
    if (!value) warn("%s: byte order: the key is missing: 0, little-endian, is assumed", h->name);
    else if (!order && strncmp(lower, "host", 4) && strncmp(lower, "intel", 5))
        order = (int)header_whole(h, "byte order", 0, 1);
    free(lower);
    return order;
}

/* A float file cannot hold the number that the header spells out, only the float beside it. That is FLT_MAX for all that
   rounds to it, and for what printf's %g makes of it in six digits. */
static double nodata_as_stored(shs_type type, double nodata) {
    if (type != SHS_TYPE_F32 || fabs(nodata) >= 3.40283e38) return nodata;
    if (fabs(nodata) > 3.40281e38) return nodata < 0 ? -(double)FLT_MAX : (double)FLT_MAX;
    return (double)(float)nodata;
}

static void header_nodata(const header *h, cube_file *f) {
    const char *value = header_value(h, "data ignore value");
    char *end;
    if (!value) return;
    f->nodata = strtod(value, &end);
    if (end == value || *end) fail(EXIT_ERROR, "%s: data ignore value: '%s' is not a number", h->name, value);
    f->nodata = nodata_as_stored(f->type, f->nodata);
    f->has_nodata = isfinite(f->nodata) != 0; /* NaN and infinity are missing anyway */
}

static void header_describe(const header *h, cube_file *f) {
    const char *units = header_value(h, "wavelength units"), *description = header_value(h, "description");
    uint64_t minor[2];
    f->swap = shs_type_size(f->type) > 1 && header_byte_order(h) != host_byte_order();
    header_pair(h, "major frame offsets", f->around);
    header_pair(h, "minor frame offsets", minor);
    if (minor[0] + minor[1]) fail(EXIT_ERROR, "%s: minor frame offsets: data with bytes between them are not read", h->name);
    if (header_value(h, "header offset")) f->offset = (uint64_t)header_whole(h, "header offset", 0, LLONG_MAX / 2);
    if (header_value(h, "file compression") && header_whole(h, "file compression", 0, 1))
        fail(EXIT_ERROR, "%s: file compression: compressed data are not read", h->name);
    header_nodata(h, f);
    f->wavelength = header_list(h, "wavelength", f->bands);
    f->good = header_list(h, "bbl", f->bands);
    f->units = joined(units ? units : "", "");
    f->description = joined(description ? description : "", "");
}

/* The name is that of the header or of the data; data_name may be NULL. */
static cube_file cube_open(const char *name, const char *data_name) {
    cube_file f = SHS_ZERO;
    header h;
    uint64_t size, needed;
    f.header_name = find_header(name, &data_name);
    h = header_read(f.header_name);
    f.samples = (int)header_whole(&h, "samples", 1, INT_MAX);
    f.lines = (int)header_whole(&h, "lines", 1, INT_MAX);
    f.bands = (int)header_whole(&h, "bands", 1, INT_MAX);
    f.type = header_type(&h);
    f.interleave = header_interleave(&h);
    header_describe(&h, &f);
    header_free(&h);
    needed = file_bytes(&f);
    f.data_name = data_name ? joined(data_name, "") : find_data(f.header_name, needed);
    f.file = fopen(f.data_name, "rb");
    if (!f.file) fail(EXIT_ERROR, "%s: cannot read it: %s", f.data_name, strerror(errno));
    setvbuf(f.file, NULL, _IONBF, 0); /* whole lines are read: a buffer would only copy them once more */
    size = file_size(f.file, f.data_name);
    if (size < needed)
        fail(EXIT_ERROR,
             "%s: it is truncated, or samples, lines, bands, data type or header offset of %s are wrong: "
             "%" PRIu64 " bytes are there, %" PRIu64 "%s are needed",
             f.data_name, f.header_name, size, needed, needed == UINT64_MAX ? " or more" : "");
    if (size > needed)
        warn("%s: %" PRIu64 " bytes follow the cube that %s describes", f.data_name, size - needed, f.header_name);
    return f;
}

static void cube_close(cube_file *f) {
    if (f->file) fclose(f->file);
    free(f->header_name);
    free(f->data_name);
    free(f->part_name);
    free(f->part_header);
    free(f->integers);
    free(f->wavelength);
    free(f->good);
    free(f->units);
    free(f->description);
}

/* ---- writing: under other names, until all of it is there -------------------------------------------------------- */

enum { MAX_PARTS = 4 };
static const char *parts[MAX_PARTS]; /* the unfinished files; NULL where there is none */

static void remove_parts(void) {
    int i;
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i]) remove(parts[i]);
}

#ifdef EXAMPLE_POSIX
static void interrupted(int number) {
    int i;
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i]) unlink(parts[i]);
    _exit(128 + number);
}

/* A signal that is ignored, as under nohup, stays so. */
static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    size_t i;
    signal(SIGXFSZ, SIG_IGN); /* the write fails, and is reported */
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (signal(numbers[i], interrupted) == SIG_IGN) signal(numbers[i], SIG_IGN);
}
#else
static void catch_signals(void) {}
#endif

static void note_part(const char *name) {
    static int ready = 0;
    int i = 0;
    if (!ready) {
        atexit(remove_parts);
        catch_signals();
        ready = 1;
    }
    while (i < MAX_PARTS - 1 && parts[i]) i++;
    parts[i] = name;
}

static void put_in_place(const char *part, const char *name) {
    int i;
#ifndef EXAMPLE_POSIX
    remove(name); /* POSIX alone replaces a file by renaming */
#endif
    if (rename(part, name)) fail(EXIT_ERROR, "%s: cannot rename it to %s: %s", part, name, strerror(errno));
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i] == part) parts[i] = NULL;
}

/* The names of a new cube's files. */
static void cube_name(cube_file *f, const char *header_name) {
    f->header_name = joined(header_name, "");
    f->data_name = derived_name(header_name, "", ".img");
    f->part_name = joined(f->data_name, ".part");
    f->part_header = joined(header_name, ".part");
    will_write(header_name);
    will_write(f->data_name);
    will_write(f->part_name);
    will_write(f->part_header);
}

/* Only a file that was not there: another run may be writing that one, or it is a link to somewhere else. */
static FILE *create_part(const char *name) {
    FILE *file = NULL;
#ifdef EXAMPLE_POSIX
    int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (descriptor >= 0) file = fdopen(descriptor, "wb");
#else
    uint64_t size;
    if (is_regular(name, &size)) errno = EEXIST;
    else file = fopen(name, "wb");
#endif
    if (!file && errno == EEXIST)
        fail(EXIT_ERROR, "%s: it is there already: another run writes it, or one was killed; then remove it", name);
    if (!file) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
    note_part(name);
    return file;
}

/* Opens the files of a new cube, whose names, sizes, type and interleave are set. */
static void cube_create(cube_file *f) {
    if (data_bytes(f) > INT64_MAX) fail(EXIT_ERROR, "%s: too large", f->data_name);
    f->file = create_part(f->part_name);
    f->header_file = create_part(f->part_header);
    setvbuf(f->file, NULL, _IONBF, 0);
}

/* Braces would end the value early. */
static void print_value(FILE *file, const char *key, const char *text) {
    fprintf(file, "%s = {", key);
    for (; *text; text++) fputc(*text == '{' ? '(' : *text == '}' ? ')' : *text, file);
    fprintf(file, "}\n");
}

static void print_list(FILE *file, const char *key, const double *list, int count) {
    int i;
    if (!list) return;
    fprintf(file, "%s = {", key);
    for (i = 0; i < count; i++) fprintf(file, "%s%s%.10g", i ? "," : "", i % 8 ? " " : "\n  ", list[i]);
    fprintf(file, "}\n");
}

/* Bands are named "name 1", "name 2" ..., or by numbers (each one more than in the array) where given. */
static void print_header(FILE *file, const cube_file *f, const char *name, const int *numbers) {
    int i;
    fprintf(file, "ENVI\n");
    print_value(file, "description", f->description);
    fprintf(file, "samples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = ENVI Standard\n", f->samples,
            f->lines, f->bands);
    fprintf(file, "data type = %d\ninterleave = %s\nbyte order = %d\n", type_info(f->type)->code,
            interleaves[f->interleave], host_byte_order());
    if (f->has_nodata) fprintf(file, "data ignore value = %.17g\n", f->nodata);
    fprintf(file, "band names = {");
    for (i = 0; i < f->bands; i++) fprintf(file, "%s\n  %s %d", i ? "," : "", name, (numbers ? numbers[i] : i) + 1);
    fprintf(file, "}\n");
    if (f->wavelength && f->units && *f->units) fprintf(file, "wavelength units = %s\n", f->units);
    print_list(file, "wavelength", f->wavelength, f->bands);
    print_list(file, "bbl", f->good, f->bands);
}

/* An older header of that name goes first: it would describe the new data wrongly. */
static void cube_finish(cube_file *f, const char *band_name, const int *band_numbers) {
    FILE *file = f->file;
    uint64_t written = file_size(file, f->part_name);
    f->file = NULL;
    close_written(file, f->part_name);
    if (written != data_bytes(f)) fail(EXIT_ERROR, "%s: incomplete: %" PRIu64 " bytes", f->part_name, written);
    print_header(f->header_file, f, band_name, band_numbers);
    file = f->header_file;
    f->header_file = NULL;
    close_written(file, f->part_header);
    remove(f->header_name);
    put_in_place(f->part_name, f->data_name);
    put_in_place(f->part_header, f->header_name);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef struct settings {
    int components, correlation, bbl, block, precise, threads, symmetric, iterations, mnf, samples, lines, bands,
        plain_steps, restarts;
    double variance, threshold, tolerance, noise;
    uint64_t seed;
    const char *rescale, *type, *band_text, *nodata, *quicklook, *report, *interleave, *contrast, *route, *truth, *device, *data;
} settings;

enum mode { PCA = 1, MNF = 2, ICA = 4, DENOISE = 8, RX = 16, INFO = 32, SYNTHESISE = 64 };
enum { FITS = PCA | MNF | ICA, MAPS = FITS | DENOISE | RX, READS = MAPS | INFO, WRITES = MAPS | SYNTHESISE };

typedef struct mode_text {
    const char *name;
    enum mode mode;
    int names;
    const char *usage, *purpose;
} mode_text;

static const mode_text modes[] = {
    {"pca", PCA, 2, "pca IN.hdr OUT.hdr [options]", "Principal components of an image cube."},
    {"mnf", MNF, 2, "mnf IN.hdr OUT.hdr [options]",
     "Minimum noise fraction: components in the order of their signal to noise ratio,\n"
     "the noise estimated from neighbouring pixels. An eigenvalue is one more than that ratio."},
    {"ica", ICA, 2, "ica IN.hdr OUT.hdr --components K | --threshold T [options]",
     "Independent components of an image cube (FastICA)."},
    {"denoise", DENOISE, 2, "denoise IN.hdr OUT.hdr --components K [--mnf] [options]",
     "The cube as its first components tell it: what is left is mostly noise."},
    {"rx", RX, 2, "rx IN.hdr OUT.hdr [--truth MASK.hdr] [options]",
     "How unlike the rest each pixel is (Reed-Xiaoli). With the truth at hand the last line begins with auc=,\n"
     "the area under the ROC curve."},
    {"info", INFO, 1, "info IN.hdr [options]", "What a cube holds, band by band."},
    {"synthesise", SYNTHESISE, 1, "synthesise OUT.hdr [options]",
     "A small scene mixed from synthetic spectra, and OUT_truth.hdr that marks the odd targets in it."},
};
enum { MODES = (int)(sizeof modes / sizeof *modes) };

/* Only the function below fills this in; what works gets it as a constant. */
static settings given;

static const struct {
    int modes;
    option o;
} option_table[] = {
    {MAPS, {"--components", "K", OPTION_COUNT, &given.components, 1, "how many components (ica: or --threshold; denoise: needed)"}},
    {PCA | MNF, {"--variance", "F", OPTION_NUMBER, &given.variance, 0, "as many as explain this fraction, 0..1"}},
    {PCA | MNF | RX, {"--correlation", NULL, OPTION_SWITCH, &given.correlation, 0, "bands divided by their deviation"}},
    {ICA, {"--threshold", "T", OPTION_NUMBER, &given.threshold, 0, "components of at least this eigenvalue, not K of them"}},
    {ICA, {"--contrast", "NAME", OPTION_TEXT, (void *)&given.contrast, 0, "pow3, tanh, gauss or skew (pow3)"}},
    {ICA, {"--symmetric", NULL, OPTION_SWITCH, &given.symmetric, 0, "all components at once, not one after another"}},
    {ICA, {"--iterations", "N", OPTION_COUNT, &given.iterations, 1, "at most (200)"}},
    {ICA, {"--tolerance", "E", OPTION_NUMBER, &given.tolerance, -1, "of 1 - |cos| (1e-8); -1 = run all iterations"}},
    {ICA, {"--plain-steps", NULL, OPTION_SWITCH, &given.plain_steps, 0, "as they come, neither shortened nor lengthened"}},
    {ICA, {"--restarts", "N", OPTION_COUNT, &given.restarts, 0, "random ones for what does not converge (3)"}},
    {ICA, {"--route", "R", OPTION_TEXT, (void *)&given.route, 0, "auto, moments or sweep: what pow3 iterates on (auto)"}},
    {ICA, {"--seed", "N", OPTION_SEED, &given.seed, 1, "start from random vectors (default: from the identity)"}},
    {DENOISE, {"--mnf", NULL, OPTION_SWITCH, &given.mnf, 0, "components by signal to noise, not by variance"}},
    {RX, {"--truth", "MASK.hdr", OPTION_TEXT, (void *)&given.truth, 0, "a cube of one band: not 0 = target"}},
    {READS, {"--data", "FILE", OPTION_TEXT, (void *)&given.data, 0, "IN's data file (default: NAME.img and the like)"}},
    {READS, {"--bands", "LIST", OPTION_TEXT, (void *)&given.band_text, 0, "these only, from 1: 1-50,60,70-80"}},
    {READS, {"--bbl", NULL, OPTION_SWITCH, &given.bbl, 0, "without the bands that the header calls bad"}},
    {READS, {"--nodata", "V", OPTION_TEXT, (void *)&given.nodata, 0, "this value is missing (default: the header's)"}},
    {READS, {"--block", "LINES", OPTION_COUNT, &given.block, 1, "lines in memory at a time (all, below 1 GB)"}},
    {MAPS, {"--rescale", "MIN,MAX", OPTION_TEXT, (void *)&given.rescale, 0, "stretch each output to this range"}},
    {MAPS, {"--quicklook", "PNG", OPTION_TEXT, (void *)&given.quicklook, 0, "false colours of the first three"}},
    {FITS, {"--report", "CSV", OPTION_TEXT, (void *)&given.report, 0, "a table of the components"}},
    {MAPS, {"--precise", "auto|always|never", OPTION_WORD, &given.precise, 0, "products in double (auto; no word: always)"}},
    {MAPS, {"--threads", "N", OPTION_COUNT, &given.threads, 0, "0 = all processors (0)"}},
    {MAPS, {"--device", "NAME", OPTION_TEXT, (void *)&given.device, 0, DEVICE_HELP}},
    {SYNTHESISE, {"--samples", "N", OPTION_COUNT, &given.samples, 16, "pixels a line (160)"}},
    {SYNTHESISE, {"--lines", "N", OPTION_COUNT, &given.lines, 16, "lines (120)"}},
    {SYNTHESISE, {"--bands", "N", OPTION_COUNT, &given.bands, 2, "bands from 400 to 2500 nm (100)"}},
    {SYNTHESISE, {"--noise", "S", OPTION_NUMBER, &given.noise, 0, "standard deviation, in reflectance (0.004)"}},
    {SYNTHESISE, {"--seed", "N", OPTION_SEED, &given.seed, 0, "seed of the scene and of the noise (1)"}},
    {WRITES, {"--type", "T", OPTION_TEXT, (void *)&given.type, 0, "u8, i16, u16, i32, u32, f32, f64 (f32; scene: u16)"}},
    {WRITES, {"--interleave", "I", OPTION_TEXT, (void *)&given.interleave, 0, "bsq, bil, bip (bsq)"}},
};
enum { OPTIONS = (int)(sizeof option_table / sizeof *option_table) };

static void print_modes(FILE *file) {
    int i;
    fprintf(file, "Usage:\n");
    for (i = 0; i < MODES; i++) fprintf(file, "  %s %s\n", program_name, modes[i].usage);
    fprintf(file, "Cubes are in ENVI's format. `%s MODE --help` lists the options of a mode,\n"
                  "`%s --version` says what the library was compiled for and what it uses here.\n",
            program_name, program_name);
}

static const mode_text *find_mode(int argc, char **argv) {
    int i = 0;
    example_begin(argc, argv);
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) print_modes(stdout), exit(EXIT_SUCCESS);
    if (argc > 1 && !strcmp(argv[1], "--version")) puts(shs_build_info()), exit(EXIT_SUCCESS);
    if (argc < 2) print_modes(stderr), exit(EXIT_USAGE);
    while (i < MODES && strcmp(argv[1], modes[i].name)) i++;
    if (i == MODES) fail(EXIT_USAGE, "%s: unknown mode", argv[1]);
    return &modes[i];
}

/* Fills in `given`; the names are then argv[1] and after it. */
static const mode_text *parse(int argc, char **argv) {
    const mode_text *mode = find_mode(argc, argv);
    option *options = ALLOCATE(option, OPTIONS);
    int i, count = 0, names;
    for (i = 0; i < OPTIONS; i++)
        if (option_table[i].modes & (int)mode->mode) options[count++] = option_table[i].o;
    if (mode->mode == SYNTHESISE) {
        given.samples = 160;
        given.lines = 120;
        given.bands = 100;
        given.noise = 0.004;
        given.seed = 1;
    } else {
        given.restarts = 3;
    }
    argv[1] = argv[0];
    names = read_options(argc - 1, argv + 1, mode->usage, mode->purpose, options, count);
    free(options);
    if (names != mode->names)
        fail(EXIT_USAGE, "%s: needs %s, but %d names stand there", mode->name,
             mode->names == 1 ? "one name" : "two names, IN.hdr and OUT.hdr", names);
    if ((mode->mode & WRITES) && !has_extension(argv[names], ".hdr"))
        fail(EXIT_USAGE, "%s: the name of a header ends in .hdr", argv[names]);
    return mode;
}

/* Which of the names it is. */
static int choose(const char *option_name, const char *text, const char *const *names, int count) {
    int i;
    for (i = 0; i < count; i++)
        if (!strcmp(text, names[i])) return i;
    fail(EXIT_USAGE, "%s: %s is unknown", option_name, text);
}

static shs_type chosen_type(const char *text, shs_type otherwise) {
    int i;
    for (i = 0; text && i < VALUE_TYPES; i++)
        if (!strcmp(text, value_types[i].name)) return value_types[i].type;
    if (text) fail(EXIT_USAGE, "--type: %s is unknown", text);
    return otherwise;
}

static shs_interleave chosen_interleave(const char *text) {
    return text ? (shs_interleave)choose("--interleave", text, interleaves, 3) : SHS_INTERLEAVE_BSQ;
}

/* ---- a job: one cube in, one out --------------------------------------------------------------------------------- */

typedef struct job {
    const settings *s;
    enum mode mode;
    cube_file in, out, truth;
    shs_context ctx;
    shs_cube cube;
    shs_sink sink;
    void *pixels; /* the whole cube, where it is not streamed */
    int *bands;   /* in use; counted from 0 */
    double start, fitted, written;
} job;

/* One number of a list of bands, and where the text goes on. */
static int listed_band(const char *text, const char **at, int count) {
    char *end;
    long band = strtol(*at, &end, 10);
    if (end == *at || !isdigit((unsigned char)**at)) fail(EXIT_USAGE, "--bands: '%s' is no list like 1-50,60", text);
    if (band < 1 || band > count) fail(EXIT_USAGE, "--bands: %s: the bands are 1 to %d", text, count);
    *at = end;
    return (int)band;
}

/* 1-50,60,70-80 becomes 0..49, 59, 69..79; how many there are. */
static int listed_bands(const char *text, int count, int *bands) {
    unsigned char *seen = ALLOCATE(unsigned char, count);
    const char *at = text;
    int used = 0;
    for (;; at++) {
        int first = listed_band(text, &at, count), last = first;
        if (*at == '-') at++, last = listed_band(text, &at, count);
        if (first > last) fail(EXIT_USAGE, "--bands: %s: %d-%d runs backwards", text, first, last);
        for (; first <= last; first++) {
            if (seen[first - 1]++) fail(EXIT_USAGE, "--bands: %s: band %d is there twice", text, first);
            bands[used++] = first - 1;
        }
        if (!*at) break;
        if (*at != ',') fail(EXIT_USAGE, "--bands: '%s' is no list like 1-50,60", text);
    }
    free(seen);
    return used;
}

static void select_bands(job *j) {
    int i, used = 0;
    j->bands = ALLOCATE(int, j->in.bands);
    if (j->s->band_text && j->s->bbl) fail(EXIT_USAGE, "--bbl: --bands says already which bands to use");
    if (j->s->bbl && !j->in.good)
        fail(EXIT_ERROR, "%s: bbl: the key is missing or damaged, and --bbl needs it", j->in.header_name);
    if (j->s->band_text) used = listed_bands(j->s->band_text, j->in.bands, j->bands);
    else
        for (i = 0; i < j->in.bands; i++)
            if (!j->s->bbl || j->in.good[i] > 0) j->bands[used++] = i;
    if (!used) fail(EXIT_ERROR, "%s: bbl: it calls every band bad", j->in.header_name);
    j->cube.band_list = j->bands;
    j->cube.band_count = used;
    if (j->s->components > used)
        fail(EXIT_USAGE, "--components: %d, but only %d bands of %s are in use", j->s->components, used,
             j->in.header_name);
}

static void select_nodata(cube_file *in, const char *text) {
    char *end;
    if (!text) return;
    in->nodata = strtod(text, &end);
    if (end == text || *end) fail(EXIT_USAGE, "--nodata: '%s' is not a number", text);
    in->nodata = nodata_as_stored(in->type, in->nodata);
    in->has_nodata = isfinite(in->nodata) != 0;
}

/* Whole below 1 GB, unless --block wishes otherwise. */
static void load_or_stream(job *j) {
    uint64_t bytes = data_bytes(&j->in);
    if (j->s->block || bytes >= (uint64_t)1 << 30 || bytes > SIZE_MAX / 2) {
        j->cube.read_fn = read_lines;
        j->cube.read_user = &j->in;
        j->cube.block_lines = j->s->block < j->in.lines ? j->s->block : j->in.lines;
    } else {
        j->pixels = allocate((size_t)bytes, 1);
        must_read(&j->in, 0, j->in.lines, j->pixels);
        j->cube.pixels = j->pixels;
    }
}

/* What can be wrong with the options themselves, before the cube is touched. */
static void check_options(const job *j) {
    const settings *s = j->s;
    const value_type *type = type_info(chosen_type(s->type, SHS_TYPE_F32));
    if (s->components && s->variance > 0) fail(EXIT_USAGE, "--variance: --components says already how many");
    if (s->variance > 1) fail(EXIT_USAGE, "--variance: %g is more than 1", s->variance);
    if (s->components && s->threshold > 0) fail(EXIT_USAGE, "--threshold: --components says already how many");
    if (j->mode == ICA && !s->components && !(s->threshold > 0))
        fail(EXIT_USAGE, "--components: is needed, or --threshold above 0");
    if (j->mode == DENOISE && !s->components) fail(EXIT_USAGE, "--components: is needed");
    if ((j->mode & FITS) && type->low >= 0 && type->high > 0 && !s->rescale)
        fail(EXIT_USAGE, "--type: components are negative too: %s needs --rescale 0,%.0f", type->name, type->high);
    chosen_interleave(s->interleave);
}

/* What missing pixels become: the value of the cube itself where the output can hold it, else NaN or 0. */
static void output_nodata(job *j, cube_file *out) {
    const value_type *type = type_info(out->type);
    double value = j->in.nodata;
    int fits = is_integer(out->type) ? value >= type->low && value <= type->high && floor(value) >= value
                                     : out->type == SHS_TYPE_F64 || fabs(value) <= (double)FLT_MAX;
    out->has_nodata = j->in.has_nodata || !is_integer(j->in.type);
    out->nodata = j->in.has_nodata && fits ? value : is_integer(out->type) ? 0 : (double)NAN;
    j->sink.has_nodata = out->has_nodata && isfinite(out->nodata);
    j->sink.nodata = (shs_wide)(j->sink.has_nodata ? out->nodata : 0);
}

static void output_rescale(job *j, const cube_file *out) {
    const value_type *type = type_info(out->type);
    const char *text = j->s->rescale;
    char *end, *last;
    double low, high;
    if (!text) return;
    low = strtod(text, &end);
    high = *end == ',' && end > text ? strtod(end + 1, &last) : 0;
    if (end == text || *end != ',' || last == end + 1 || *last)
        fail(EXIT_USAGE, "--rescale: '%s' is no range like 0,255", text);
    if (!isfinite(low) || !isfinite(high) || low > high) fail(EXIT_USAGE, "--rescale: %s is no range", text);
    if (is_integer(out->type) && (low < type->low || high > type->high))
        fail(EXIT_USAGE, "--rescale: %s is outside the range of %s", text, type->name);
    if (out->type == SHS_TYPE_F32 && (low < -(double)FLT_MAX || high > (double)FLT_MAX))
        fail(EXIT_USAGE, "--rescale: %s is outside the range of f32", text);
    if (!is_integer(out->type) && j->sink.has_nodata && out->nodata >= low && out->nodata <= high)
        warn("--rescale: %g within %s also marks missing pixels", out->nodata, text);
    j->sink.rescale = 1;
    j->sink.low = (shs_wide)low;
    j->sink.high = (shs_wide)high;
}

/* Opens the output before the long work, so that what cannot be written is found out early. */
static void prepare_output(job *j) {
    cube_file *out = &j->out;
    out->samples = j->in.samples;
    out->lines = j->in.lines;
    out->bands = j->cube.band_count;
    out->type = chosen_type(j->s->type, SHS_TYPE_F32);
    out->interleave = chosen_interleave(j->s->interleave);
    output_nodata(j, out);
    output_rescale(j, out);
    cube_create(out);
    j->sink.type = out->type;
    j->sink.interleave = out->interleave;
    j->sink.write_fn = write_lines;
    j->sink.write_user = out;
    if (!is_integer(out->type)) return;
    j->sink.type = SHS_TYPE_F64;
    j->sink.has_nodata = 1;
    j->sink.nodata = (shs_wide)NAN;
    j->sink.write_fn = write_integers;
}

static cube_file truth_open(const char *name, const cube_file *like) {
    cube_file truth = cube_open(name, NULL);
    if (truth.bands != 1) fail(EXIT_ERROR, "%s: bands: %d, but a mask has 1", name, truth.bands);
    if (truth.samples != like->samples || truth.lines != like->lines)
        fail(EXIT_ERROR, "%s: %d x %d pixels, but %s has %d x %d", name, truth.samples, truth.lines, like->header_name,
             like->samples, like->lines);
    return truth;
}

/* No file of the job may be another one's. */
static void name_files(job *j, const char *out_name) {
    const settings *s = j->s;
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    if (s->truth) {
        j->truth = truth_open(s->truth, &j->in);
        will_read(j->truth.header_name);
        will_read(j->truth.data_name);
    }
    cube_name(&j->out, out_name);
    if (s->quicklook) picture_will_write(s->quicklook, has_extension(s->quicklook, ".pgm") ? 1 : 3);
    if (s->report) will_write(s->report);
}

/* Without the name of an output the cube is only described. */
static job *job_open(const settings *s, enum mode mode, const char *name, const char *out_name) {
    job *j = ALLOCATE(job, 1);
    j->s = s;
    j->mode = mode;
    j->start = wall_clock();
    check_options(j);
    j->in = cube_open(name, s->data);
    if (out_name) name_files(j, out_name);
    select_bands(j);
    select_nodata(&j->in, s->nodata);
    j->ctx = example_context(s->threads, s->device);
    j->cube.type = j->in.type;
    j->cube.samples = j->in.samples;
    j->cube.lines = j->in.lines;
    j->cube.bands = j->in.bands;
    j->cube.interleave = j->in.interleave;
    j->cube.swap_bytes = j->in.swap;
    j->cube.has_nodata = j->in.has_nodata;
    j->cube.nodata = (shs_wide)j->in.nodata;
    if (out_name) {
        prepare_output(j);
        load_or_stream(j);
    }
    return j;
}

/* ---- what the bands hold ------------------------------------------------------------------------------------------ */

typedef struct band_summary {
    double low, high, sum, count, missing;
} band_summary;

static void summarise_line(const job *j, const void *block, int lines, int line, band_summary *summaries) {
    int i, x;
    for (i = 0; i < j->cube.band_count; i++) {
        band_summary *b = &summaries[i];
        for (x = 0; x < j->in.samples; x++) {
            size_t at = value_index(&j->in, lines, line, x, j->bands[i]);
            double value = get_value(block, at, j->in.type, j->in.swap);
            if (is_missing(&j->in, value)) {
                b->missing++;
                continue;
            }
            b->low = b->count > 0 && b->low < value ? b->low : value;
            b->high = b->count > 0 && b->high > value ? b->high : value;
            b->sum += value;
            b->count++;
        }
    }
}

/* Of each band in use, a few lines at a time. */
static band_summary *summarise(job *j) {
    band_summary *summaries = ALLOCATE(band_summary, j->cube.band_count);
    double line_bytes = (double)j->in.samples * j->in.bands * (double)shs_type_size(j->in.type);
    int lines = j->s->block ? j->s->block : (int)(16e6 / line_bytes) + 1, first, i;
    char *block;
    lines = lines < j->in.lines ? lines : j->in.lines;
    block = (char *)allocate((size_t)line_bytes, (size_t)lines);
    for (first = 0; first < j->in.lines; first += lines) {
        if (lines > j->in.lines - first) lines = j->in.lines - first;
        must_read(&j->in, first, lines, block);
        for (i = 0; i < lines; i++) summarise_line(j, block, lines, i, summaries);
    }
    free(block);
    return summaries;
}

/* A pixel counts only where no band in use is missing: the bands that have nothing, or else the one that has least. */
static void fail_for_pixels(job *j) {
    band_summary *all = summarise(j);
    char *list = ALLOCATE(char, 24 * (size_t)j->cube.band_count + 1), *at = list;
    const band_summary *worst = all;
    int i, last;
    for (i = 0; i < j->cube.band_count; i = last + 1) {
        for (last = i; last < j->cube.band_count && !(all[last].count > 0) && j->bands[last] - j->bands[i] == last - i;
             last++) {}
        if (last > i)
            at += sprintf(at, last - i > 1 ? "%s%d-%d" : "%s%d", at > list ? "," : "", j->bands[i] + 1, j->bands[last - 1] + 1);
        last -= last > i;
        if (all[i].missing > worst->missing) worst = all + i;
    }
    if (at > list)
        fail(EXIT_ERROR,
             "%s: pixels: too few valid ones: every value of band%s %s is missing; --bands or --bbl leave bands out",
             j->in.header_name, strpbrk(list, ",-") ? "s" : "", list);
    if (worst->missing > 0)
        fail(EXIT_ERROR,
             "%s: pixels: too few valid ones: each misses some band, band %d %.0f of %.0f times; --bands or --bbl leave bands "
             "out",
             j->in.header_name, j->bands[worst - all] + 1, worst->missing, worst->missing + worst->count);
    fail(EXIT_ERROR, "%s: pixels: too few valid ones", j->in.header_name);
}

/* Stops with the name of what is at fault. */
static void check_job(job *j, shs_status status) {
    if (status == SHS_NO_PIXELS) fail_for_pixels(j);
    if (status == SHS_READ_FAILED)
        fail(EXIT_ERROR, "%s: reading it failed: %s", j->in.data_name, transfer_trouble(&j->in));
    if (status == SHS_WRITE_FAILED)
        fail(EXIT_ERROR, "%s: writing it failed: %s", j->out.part_name, strerror(j->out.error));
    if (j->s->components && (status == SHS_BAD_COMPONENTS || status == SHS_RANK_TOO_LOW))
        fail(EXIT_ERROR, "%s: --components %d: %s", j->in.header_name, j->s->components, shs_status_text(status));
    check(status, j->in.header_name);
}

/* The fit is done: so many bands are to come, described by `what`. */
static void output_start(job *j, int bands, const char *what) {
    j->fitted = wall_clock();
    j->out.bands = bands;
    j->out.description = joined(what, j->in.header_name);
}

static void tell_beyond(const cube_file *in) {
    if (!in->beyond) return;
    warn("%s: %" PRIu64 " values are beyond %.3g, the largest float: their pixels count as missing; -DSPARSEHS_DOUBLE builds a "
         "program that takes them",
         in->header_name, in->beyond, (double)FLT_MAX);
}

/* The output is complete. Says what became of values that did not fit. */
static void output_finish(job *j, const char *band_name, const int *band_numbers) {
    const cube_file *out = &j->out;
    const value_type *type = type_info(out->type);
    cube_finish(&j->out, band_name, band_numbers);
    tell_beyond(&j->in);
    if (out->clamped)
        warn("%s: %" PRIu64 " values do not fit %s and were clamped to %.0f..%.0f; --rescale or another --type keeps them",
             out->header_name, out->clamped, type->name, type->low, type->high);
    if (out->met)
        warn("%s: %" PRIu64 " valid values became %.10g, which also marks missing pixels; --rescale keeps them apart",
             out->header_name, out->met, out->nodata);
}

static void job_close(job *j) {
    example_end();
    cube_close(&j->in);
    cube_close(&j->out);
    cube_close(&j->truth);
    free(j->pixels);
    free(j->bands);
    free(j);
}

/* ---- looking at what was written --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Grey values, stretched between the 2nd and the 98th percentile of the valid ones; missing ones are black. */
static void stretch(const cube_file *f, const double *values, size_t count, shs_real *grey, int channels) {
    double *sorted = ALLOCATE(double, count), darkest = 0, brightest = 0;
    size_t i, valid = 0;
    for (i = 0; i < count; i++)
        if (!is_missing(f, values[i])) sorted[valid++] = values[i];
    qsort(sorted, valid, sizeof *sorted, ascending);
    if (valid) {
        darkest = sorted[(size_t)(0.02 * (double)(valid - 1))];
        brightest = sorted[(size_t)ceil(0.98 * (double)(valid - 1))];
    }
    for (i = 0; i < count; i++) {
        double value = brightest > darkest ? 255 * (values[i] - darkest) / (brightest - darkest) : 128;
        if (is_missing(f, values[i]) || value < 0) value = 0;
        grey[i * (size_t)channels] = (shs_real)(value < 255 ? value : 255);
    }
    free(sorted);
}

/* Every step-th pixel of the first bands, `count` pixels each: band c begins at values + c * count. */
static void sampled_bands(cube_file *f, int bands, int step, size_t count, double *values) {
    char *line = ALLOCATE(char, (size_t)f->samples * (size_t)f->bands * shs_type_size(f->type));
    size_t i = 0;
    int x, y, c;
    for (y = 0; y < f->lines; y += step) {
        must_read(f, y, 1, line);
        for (x = 0; x < f->samples; x += step, i++)
            for (c = 0; c < bands; c++)
                values[(size_t)c * count + i] = get_value(line, value_index(f, 1, 0, x, c), f->type, f->swap);
    }
    free(line);
}

/* The first three bands in red, green and blue, or one in grey; at most about a million pixels. */
static void quicklook(const job *j) {
    const char *name = j->s->quicklook;
    cube_file f = cube_open(j->out.header_name, j->out.data_name);
    int step = 1, channels = f.bands >= 3 || has_extension(name, ".ppm") ? 3 : 1, bands, c;
    picture a;
    double *values;
    size_t count;
    while (((double)f.samples / step + 1) * ((double)f.lines / step + 1) > 1.1e6) step++;
    if (has_extension(name, ".pgm")) channels = 1;
    bands = channels < f.bands ? channels : f.bands;
    a = picture_create((f.samples + step - 1) / step, (f.lines + step - 1) / step, channels);
    count = picture_size(&a) / (size_t)channels;
    values = ALLOCATE(double, count * (size_t)bands);
    sampled_bands(&f, bands, step, count, values);
    for (c = 0; c < channels; c++)
        stretch(&f, values + (size_t)(c < bands ? c : bands - 1) * count, count, a.pixels + c, channels);
    picture_write(name, &a);
    free(values);
    free(a.pixels);
    cube_close(&f);
}

/* The output is complete, and drawn where a picture is wanted. */
static void output_show(job *j, const char *band_name, const int *band_numbers) {
    output_finish(j, band_name, band_numbers);
    j->written = wall_clock();
    if (j->s->quicklook) quicklook(j);
}

/* ---- pca, mnf, denoise ------------------------------------------------------------------------------------------- */

static shs_pca_options pca_options(const settings *s) {
    shs_pca_options options = SHS_ZERO;
    options.components = s->components;
    options.variance = (shs_wide)s->variance;
    options.correlation = s->correlation;
    options.precise = (shs_precision)s->precise;
    return options;
}

static double explained_by(const shs_pca *pca, int components) {
    double sum = 0;
    int k;
    for (k = 0; k < components; k++) sum += (double)pca->eigenvalues[k];
    return pca->total_variance > 0 ? sum / (double)pca->total_variance : 1;
}

static void pca_report(const shs_pca *pca, const char *name) {
    FILE *file = open_for_writing(name);
    int k;
    fprintf(file, "component,eigenvalue,explained,cumulative\n");
    for (k = 0; k < pca->eigenvalue_count; k++)
        fprintf(file, "%d,%.17g,%.10g,%.10g\n", k + 1, (double)pca->eigenvalues[k],
                explained_by(pca, k + 1) - explained_by(pca, k), explained_by(pca, k + 1));
    close_written(file, name);
}

/* The line that ends pca, mnf, ica and denoise; the pictures and tables come before it. */
static void print_end(const job *j, int components, shs_wide pixels) {
    printf("seconds=%.3f fit=%.3f transform=%.3f components=%d pixels=%.0f\n", j->written - j->start, j->fitted - j->start,
           j->written - j->fitted, components, (double)pixels);
}

static void fit_components(job *j, int by_noise, shs_pca *pca) {
    shs_pca_options options = pca_options(j->s);
    check_job(j, by_noise ? shs_mnf_fit(&j->ctx, &j->cube, &options, pca)
                          : shs_pca_fit(&j->ctx, &j->cube, &options, pca));
    progress_clear();
    if (by_noise)
        printf("%d bands, %d components, signal to noise ratio %.4g to %.4g\n", pca->bands, pca->components,
               (double)pca->eigenvalues[0] - 1, (double)pca->eigenvalues[pca->components - 1] - 1);
    else
        printf("%d bands, %d components explain %.6g %% of the variance\n", pca->bands, pca->components,
               100 * explained_by(pca, pca->components));
}

static void run_pca(const settings *s, enum mode mode, char **names) {
    job *j = job_open(s, mode, names[0], names[1]);
    shs_pca pca;
    fit_components(j, mode == MNF, &pca);
    output_start(j, pca.components, mode == MNF ? "Minimum noise fraction of " : "Principal components of ");
    check_job(j, shs_pca_transform(&j->ctx, &pca, &j->cube, &j->sink));
    progress_clear();
    output_show(j, mode == MNF ? "MNF" : "PC", NULL);
    if (s->report) pca_report(&pca, s->report);
    print_end(j, pca.components, pca.count);
    shs_pca_free(&j->ctx, &pca);
    job_close(j);
}

/* The output has the bands of the input that were in use, so it keeps their wavelengths. */
static void keep_wavelengths(job *j) {
    int i;
    if (!j->in.wavelength) return;
    j->out.wavelength = ALLOCATE(double, j->cube.band_count);
    for (i = 0; i < j->cube.band_count; i++) j->out.wavelength[i] = j->in.wavelength[j->bands[i]];
    j->out.units = joined(j->in.units, "");
}

static void run_denoise(const settings *s, char **names) {
    job *j = job_open(s, DENOISE, names[0], names[1]);
    shs_pca pca;
    fit_components(j, s->mnf, &pca);
    output_start(j, pca.bands, "Noise reduction of ");
    keep_wavelengths(j);
    check_job(j, shs_pca_denoise(&j->ctx, &pca, 0, &j->cube, &j->sink));
    progress_clear();
    output_show(j, "Band", j->bands);
    print_end(j, pca.components, pca.count);
    shs_pca_free(&j->ctx, &pca);
    job_close(j);
}

/* ---- ica --------------------------------------------------------------------------------------------------------- */

static shs_ica_options ica_options(const settings *s) {
    static const char *const routes[] = {"auto", "moments", "sweep"};
    const char *contrasts[SHS_CONTRAST_COUNT];
    shs_ica_options options = SHS_ZERO;
    int i;
    for (i = 0; i < SHS_CONTRAST_COUNT; i++) contrasts[i] = shs_contrast_name((shs_contrast)i);
    options.components = s->components;
    options.eigenvalue_at_least = (shs_wide)s->threshold;
    if (s->contrast) options.contrast = (shs_contrast)choose("--contrast", s->contrast, contrasts, SHS_CONTRAST_COUNT);
    options.approach = s->symmetric ? SHS_APPROACH_SYMMETRIC : SHS_APPROACH_DEFLATION;
    options.route = s->route ? (shs_ica_route)choose("--route", s->route, routes, 3) : SHS_ROUTE_AUTO;
    if (options.route == SHS_ROUTE_MOMENTS && options.contrast != SHS_CONTRAST_POW3)
        fail(EXIT_USAGE, "--route: moments: only pow3 has them, not %s", s->contrast);
    options.iterations = s->iterations;
    options.plain_steps = s->plain_steps;
    options.restarts = s->restarts ? s->restarts : -1;
    options.tolerance = (shs_wide)s->tolerance;
    options.random_start = s->seed > 0;
    options.seed = s->seed;
    options.precise = (shs_precision)s->precise;
    return options;
}

static void ica_report(const shs_ica *ica, const char *name) {
    FILE *file = open_for_writing(name);
    int k;
    fprintf(file, "component,extraction,iterations,restarts,converged,change,kurtosis,negentropy\n");
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        fprintf(file, "%d,%d,%d,%d,%d,%.6g,%.10g,%.10g\n", k + 1, c->extraction + 1, c->iterations, c->restarts,
                c->converged, (double)c->change, (double)c->kurtosis, (double)c->negentropy);
    }
    close_written(file, name);
}

/* Converged: one plain step of FastICA turns a component by no more than the tolerance. */
static void print_sources(const shs_ica *ica) {
    int k, failed = 0;
    double most = 0;
    printf("%d bands, %s\n  IC  iterations  restarts  converged    change  kurtosis  negentropy\n", ica->bands,
           ica->used_moments ? "iterated on fourth moments" : "iterated on the pixels");
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        printf("%4d  %10d  %8d  %9s  %8.1e  %8.4g  %10.4g\n", k + 1, c->iterations, c->restarts,
               c->converged ? "yes" : "NO", (double)c->change, (double)c->kurtosis, (double)c->negentropy);
    }
    fflush(stdout);
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        if (c->converged) continue;
        if (!failed++) fprintf(stderr, "%s: IC %d", program_name, k + 1);
        else fprintf(stderr, ", %d", k + 1);
        most = (double)c->change > most ? (double)c->change : most;
    }
    if (failed)
        fprintf(stderr, ": %d of %d components did not converge: one more step turns them by up to 1 - |cos| = %.1e\n",
                failed, ica->components, most);
}

static void run_ica(const settings *s, char **names) {
    shs_ica_options options = ica_options(s);
    job *j = job_open(s, ICA, names[0], names[1]);
    shs_ica ica;
    check_job(j, shs_ica_fit(&j->ctx, &j->cube, &options, &ica));
    progress_clear();
    print_sources(&ica);
    output_start(j, ica.components, "Independent components of ");
    check_job(j, shs_ica_transform(&j->ctx, &ica, &j->cube, &j->sink));
    progress_clear();
    output_show(j, "IC", NULL);
    if (s->report) ica_report(&ica, s->report);
    print_end(j, ica.components, ica.count);
    shs_ica_free(&j->ctx, &ica);
    job_close(j);
}

/* ---- rx ---------------------------------------------------------------------------------------------------------- */

typedef struct scored {
    double score;
    int target;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* The probability that a target scores above another pixel, a tie counted half: the area under the ROC curve. */
static double area_under_roc(scored *pixels, size_t count, const char *truth_name) {
    double others = 0, targets = 0, wins = 0;
    size_t i, next, k;
    qsort(pixels, count, sizeof *pixels, by_score);
    for (i = 0; i < count; i = next) {
        double tied[2] = {0, 0};
        for (next = i; next < count && pixels[next].score <= pixels[i].score; next++) {}
        for (k = i; k < next; k++) tied[pixels[k].target]++;
        wins += tied[1] * (others + tied[0] / 2);
        others += tied[0];
        targets += tied[1];
    }
    if (targets < 1) fail(EXIT_ERROR, "%s: it marks no valid pixel", truth_name);
    if (others < 1) fail(EXIT_ERROR, "%s: it marks every valid pixel", truth_name);
    return wins / (targets * others);
}

/* The number of valid pixels of the map and, where the truth is known, what it says of each. */
static size_t read_scores(const cube_file *written, cube_file *truth, scored *pixels) {
    cube_file map = cube_open(written->header_name, written->data_name);
    size_t width = (size_t)map.samples, count = 0, x;
    char *scores = ALLOCATE(char, width * shs_type_size(map.type)), *marks = NULL;
    int y;
    if (truth) marks = ALLOCATE(char, width * shs_type_size(truth->type));
    for (y = 0; y < map.lines; y++) {
        must_read(&map, y, 1, scores);
        if (truth) must_read(truth, y, 1, marks);
        for (x = 0; x < width; x++) {
            double score = get_value(scores, x, map.type, map.swap), mark = 0;
            if (is_missing(&map, score)) continue;
            if (truth) {
                mark = get_value(marks, x, truth->type, truth->swap);
                pixels[count].score = score;
                pixels[count].target = mark > 0 || mark < 0;
            }
            count++;
        }
    }
    free(scores);
    free(marks);
    cube_close(&map);
    return count;
}

static void run_rx(const settings *s, char **names) {
    job *j = job_open(s, RX, names[0], names[1]);
    shs_pca_options options = pca_options(s);
    scored *pixels = NULL;
    size_t count;
    int rank = 0;
    output_start(j, 1, "Reed-Xiaoli anomaly score of ");
    check_job(j, shs_rx(&j->ctx, &j->cube, &options, &j->sink, &rank));
    progress_clear();
    output_show(j, "RX", NULL);
    if (s->truth) pixels = ALLOCATE(scored, (size_t)j->in.samples * (size_t)j->in.lines);
    count = read_scores(&j->out, s->truth ? &j->truth : NULL, pixels);
    if (s->truth) printf("auc=%.4f ", area_under_roc(pixels, count, s->truth));
    printf("seconds=%.3f components=%d pixels=%zu\n", j->written - j->start, rank, count);
    free(pixels);
    job_close(j);
}

/* ---- info -------------------------------------------------------------------------------------------------------- */

static void print_about(const job *j) {
    const cube_file *f = &j->in;
    const char *comma = "";
    int i;
    printf("data file     %s\n", f->data_name);
    if (*f->description) printf("description   %s\n", f->description);
    printf("size          %d samples x %d lines x %d bands\n", f->samples, f->lines, f->bands);
    printf("type          %s, %s, byte order %d, header offset %" PRIu64 "\n", type_info(f->type)->name,
           interleaves[f->interleave], f->swap ? !host_byte_order() : host_byte_order(), f->offset);
    if (f->has_nodata) printf("missing       %.10g\n", f->nodata);
    if (f->wavelength)
        printf("wavelengths   %.10g to %.10g %s\n", f->wavelength[0], f->wavelength[f->bands - 1], f->units);
    if (!f->good) return;
    printf("bad bands     ");
    for (i = 0; i < f->bands; i++)
        if (!(f->good[i] > 0)) printf("%s%d", comma, i + 1), comma = ",";
    printf("%s\n", *comma ? "" : "none");
}

static void print_summary(const job *j, int i, const band_summary *b) {
    const cube_file *f = &j->in;
    printf("%5d ", j->bands[i] + 1);
    if (f->wavelength) printf("%11.6g ", f->wavelength[j->bands[i]]);
    if (b->count > 0) printf("%12.6g %12.6g %12.6g", b->low, b->sum / b->count, b->high);
    else printf("%12s %12s %12s", "-", "-", "-");
    printf(" %9.0f\n", b->missing);
}

static void run_info(const settings *s, const char *name) {
    job *j = job_open(s, INFO, name, NULL);
    band_summary *summaries = summarise(j);
    int i;
    print_about(j);
    printf(" band %s%12s %12s %12s %9s\n", j->in.wavelength ? " wavelength " : "", "min", "mean", "max", "missing");
    for (i = 0; i < j->cube.band_count; i++) print_summary(j, i, &summaries[i]);
    tell_beyond(&j->in);
    free(summaries);
    job_close(j);
}

/* ---- a synthetic scene ------------------------------------------------------------------------------------------- */

enum { WATER, VEGETATION, SOIL, ROAD, TARGET, MATERIALS, WAVES = 4 };
static const double two_pi = 6.283185307179586;

static double bump(double x, double centre, double width) { return exp(-0.5 * pow((x - centre) / width, 2)); }
static double rise(double x, double centre, double width) { return 1 / (1 + exp(-(x - centre) / width)); }

/* Reflectance at a wavelength in micrometres: the shape of such spectra, not a measurement of any. */
static double reflectance(int material, double w) {
    double moist = 1 - 0.55 * bump(w, 1.45, 0.06) - 0.75 * bump(w, 1.94, 0.08);
    switch (material) {
    case WATER: return 0.01 + 0.09 * exp(-(w - 0.4) / 0.18) + 0.02 * bump(w, 0.56, 0.04);
    case VEGETATION:
        return moist * (0.03 + 0.07 * bump(w, 0.55, 0.035) +
                        0.45 * rise(w, 0.72, 0.018) * (1 - 0.62 * rise(w, 1.6, 0.25)));
    case SOIL: return (0.06 + 0.34 * rise(w, 0.85, 0.28)) * (0.35 + 0.65 * moist) * (1 - 0.12 * bump(w, 2.21, 0.03));
    case ROAD: return 0.13 + 0.035 * (w - 0.4) - 0.03 * bump(w, 2.32, 0.04);
    default: return (0.55 - 0.06 * w) * (1 - 0.45 * bump(w, 0.87, 0.07) - 0.35 * bump(w, 1.72, 0.03));
    }
}

/* Where the air's water vapour lets nothing through. */
static int is_opaque(double w) { return (w > 1.34 && w < 1.44) || (w > 1.79 && w < 1.96); }

typedef struct wave {
    double x, y, phase; /* frequencies, in radians over the scene */
} wave;

typedef struct scene {
    int samples, lines, bands;
    double *wavelength; /* bands, in nanometres */
    double *spectra;    /* bands x MATERIALS */
    wave waves[ROAD][WAVES]; /* the maps of the first materials are sums of these */
    int targets, *target_x, *target_y; /* the first pixel of each; all are 3 x 2 pixels */
    double noise;
    shs_random random;
} scene;

static void scene_spectra(scene *a) {
    int b, m;
    a->wavelength = ALLOCATE(double, a->bands);
    a->spectra = ALLOCATE(double, MATERIALS * a->bands);
    for (b = 0; b < a->bands; b++) {
        double w = 0.4 + 2.1 * b / (a->bands - 1);
        a->wavelength[b] = floor(10000 * w + 0.5) / 10;
        for (m = 0; m < MATERIALS; m++) a->spectra[m * a->bands + b] = is_opaque(w) ? 0 : reflectance(m, w);
    }
}

static void scene_create(scene *a, const settings *s) {
    int m, k;
    a->samples = s->samples;
    a->lines = s->lines;
    a->bands = s->bands;
    a->noise = s->noise;
    scene_spectra(a);
    shs_random_seed(&a->random, s->seed);
    for (m = 0; m < ROAD; m++)
        for (k = 0; k < WAVES; k++) {
            double turn = two_pi * (double)shs_random_uniform(&a->random), rate = two_pi * (0.5 + 0.55 * k);
            a->waves[m][k].x = rate * cos(turn);
            a->waves[m][k].y = rate * sin(turn);
            a->waves[m][k].phase = two_pi * (double)shs_random_uniform(&a->random);
        }
    a->targets = a->samples < 1000 && a->lines < 1000 ? 6 + a->samples * a->lines / 20000 : 60;
    a->target_x = ALLOCATE(int, a->targets);
    a->target_y = ALLOCATE(int, a->targets);
    for (k = 0; k < a->targets; k++) {
        a->target_x[k] = (int)shs_random_below(&a->random, (uint64_t)a->samples - 2);
        a->target_y[k] = (int)shs_random_below(&a->random, (uint64_t)a->lines - 1);
    }
}

static void scene_free(scene *a) {
    free(a->wavelength);
    free(a->spectra);
    free(a->target_x);
    free(a->target_y);
    free(a);
}

static int on_target(const scene *a, int x, int y) {
    int k, inside = 0;
    for (k = 0; k < a->targets && !inside; k++)
        inside = x >= a->target_x[k] && x < a->target_x[k] + 3 && y >= a->target_y[k] && y < a->target_y[k] + 2;
    return inside;
}

/* How much there is of one of the first materials, before all are brought to a sum of 1. */
static double height(const scene *a, int material, double u, double v) {
    double sum = 0;
    int k;
    for (k = 0; k < WAVES; k++) {
        const wave *w = &a->waves[material][k];
        sum += sin(w->x * u + w->y * v + w->phase) / (1 + 0.5 * k);
    }
    return exp(3.5 * sum);
}

/* How much of each material a pixel holds; the shares add up to 1. */
static void abundances(const scene *a, int x, int y, double *share) {
    double u = (double)x / a->samples, v = (double)y / a->lines, sum = 0;
    double road = bump(v, 0.55 + 0.18 * sin(5 * u + a->waves[0][0].phase), 0.012);
    int m;
    for (m = 0; m < ROAD; m++) sum += share[m] = height(a, m, u, v);
    for (m = 0; m < ROAD; m++) share[m] *= (1 - road) / sum;
    share[ROAD] = road;
    share[TARGET] = 0;
    if (!on_target(a, x, y)) return;
    for (m = 0; m < TARGET; m++) share[m] *= 0.4;
    share[TARGET] = 0.6;
}

/* One line of the scene as the file stores it. */
static void scene_line(scene *a, const cube_file *f, int y, double scale, char *line) {
    const value_type *info = type_info(f->type);
    double share[MATERIALS];
    int x, b, m;
    for (x = 0; x < a->samples; x++) {
        double light = 1 + 0.1 * sin(9.0 * x / a->samples + 4.0 * y / a->lines);
        abundances(a, x, y, share);
        for (b = 0; b < a->bands; b++) {
            double value = 0;
            for (m = 0; m < MATERIALS; m++) value += share[m] * a->spectra[m * a->bands + b];
            value = light * value + a->noise * (double)shs_random_normal(&a->random);
            value *= scale;
            put_value(line, value_index(f, 1, 0, x, b), f->type, is_integer(f->type) ? as_integer(info, value) : value);
        }
    }
}

static void write_or_fail(cube_file *f, int y, const void *line) {
    if (write_lines(f, y, 1, line)) fail(EXIT_ERROR, "%s: writing it failed: %s", f->part_name, strerror(f->error));
}

/* A cube of the scene's size, to be written; its header says which bands are of no use. */
static cube_file scene_file(const scene *a, const char *name, int bands, shs_type type, shs_interleave interleave) {
    cube_file f = SHS_ZERO;
    int b;
    f.samples = a->samples;
    f.lines = a->lines;
    f.bands = bands;
    f.type = type;
    f.interleave = interleave;
    f.description = joined(bands > 1 ? "Synthetic scene" : "Synthetic scene: 1 where a target stands", "");
    if (bands > 1) {
        f.units = joined("Nanometers", "");
        f.wavelength = ALLOCATE(double, bands);
        f.good = ALLOCATE(double, bands);
        for (b = 0; b < bands; b++) {
            f.wavelength[b] = a->wavelength[b];
            f.good[b] = !is_opaque(a->wavelength[b] / 1000);
        }
    }
    cube_name(&f, name);
    cube_create(&f);
    return f;
}

static void run_synthesise(const settings *s, const char *name) {
    shs_type type = chosen_type(s->type, SHS_TYPE_U16);
    double scale = type == SHS_TYPE_U8 ? 250 : is_integer(type) ? 10000 : 1; /* what reflectance 1 becomes */
    char *truth_name = derived_name(name, "_truth", ".hdr"), *line, *marks;
    scene *a = ALLOCATE(scene, 1);
    cube_file f, truth;
    int x, y;
    if (s->bands > 65535) fail(EXIT_USAGE, "--bands: %d is more than 65535", s->bands);
    scene_create(a, s);
    f = scene_file(a, name, a->bands, type, chosen_interleave(s->interleave));
    truth = scene_file(a, truth_name, 1, SHS_TYPE_U8, SHS_INTERLEAVE_BSQ);
    line = ALLOCATE(char, (size_t)a->samples * (size_t)a->bands * shs_type_size(type));
    marks = ALLOCATE(char, a->samples);
    for (y = 0; y < a->lines; y++) {
        scene_line(a, &f, y, scale, line);
        for (x = 0; x < a->samples; x++) marks[x] = (char)on_target(a, x, y);
        write_or_fail(&f, y, line);
        write_or_fail(&truth, y, marks);
    }
    cube_finish(&f, "Band", NULL);
    cube_finish(&truth, "Target", NULL);
    printf("%s: %d samples x %d lines x %d bands, %s\n%s: %d targets\n", name, a->samples, a->lines, a->bands,
           type_info(type)->name, truth_name, a->targets);
    free(line);
    free(marks);
    scene_free(a);
    cube_close(&f);
    cube_close(&truth);
    free(truth_name);
}

int main(int argc, char **argv) {
    const mode_text *mode = parse(argc, argv);
    char **names = argv + 1;
    switch (mode->mode) {
    case PCA:
    case MNF: run_pca(&given, mode->mode, names); break;
    case DENOISE: run_denoise(&given, names); break;
    case ICA: run_ica(&given, names); break;
    case RX: run_rx(&given, names); break;
    case INFO: run_info(&given, names[0]); break;
    default: run_synthesise(&given, names[0]); break;
    }
    return EXIT_SUCCESS;
}
