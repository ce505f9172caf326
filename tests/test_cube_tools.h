/* test_cube_tools.h - what the tests of cubes share: random and real cubes in every layout, naive statistics, streams,
   sinks, an allocator that fails at will, ranks that are threads. shs_wide is double here. */
#ifndef SHS_TEST_CUBE_TOOLS_H
#define SHS_TEST_CUBE_TOOLS_H

#include "test.h"
#include <pthread.h>
#include <unistd.h>
#ifdef _WIN32
#define alarm(seconds) ((void)(seconds)) /* there is none: threads that wait for ever are not ended */
#endif

static inline void *new_block(size_t count, size_t size) {
    void *block = calloc(count + !count, size);
    assert_non_null(block);
    return block;
}

/* In double; the macros of math.h are floats. */
#define NOT_A_NUMBER ((double)NAN)
#define ENDLESS ((double)INFINITY)

#define NEW(type, count) ((type *)new_block((size_t)(count), sizeof(type)))

/* The layouts of the usual run on a device: one for each type, the same in all tests, so that each program is compiled once.
   */
static inline int usual_layout(shs_type type, int interleave, int swapped) {
    const int t = (int)type;
    return all_cases() || (interleave == t % 3 && swapped == (t & 1));
}
static inline int usual_on_device(shs_type type, int interleave, int swapped) {
    return every_on_device(2) == 1 || usual_layout(type, interleave, swapped);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static inline double largest_of(size_t n, const double *x) {
    double most = 0;
    size_t i;
    for (i = 0; i < n; i++)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    return most;
}

/* NaN against NaN is no difference; NaN against a number is an infinite one. */
static inline double largest_difference(size_t n, const double *a, const double *b) {
    double most = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);
        if (a[i] != a[i] && b[i] != b[i]) continue;
        if (is_nan(d)) return ENDLESS;
        if (d > most) most = d;
    }
    return most;
}

static inline void check_near(const char *what, size_t n, const double *a, const double *b, double bound) {
    double most = largest_difference(n, a, b);
    if (!(most <= bound)) fail_msg("%s: differ by %g > %g", what, most, bound);
}

/* ---- values of every type ---------------------------------------------------------------------------------------- */

static inline int big_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static inline void copy_value(void *to, const void *from, size_t size, int swapped) {
    const unsigned char *source = (const unsigned char *)from;
    unsigned char *target = (unsigned char *)to;
    size_t i;
    if (!swapped) memcpy(to, from, size);
    for (i = 0; i < size && swapped; i++) target[i] = source[size - 1 - i];
}

/* The types of values as C has them. */
#define EACH_TYPE(X)                                                                                                           \
    X(REAL, shs_real)                                                                                                          \
    X(U8, uint8_t) X(I16, int16_t) X(U16, uint16_t) X(I32, int32_t) X(U32, uint32_t) X(F32, float) X(F64, double)

/* Numbers of sixteen bits: half precision has 5 bits of exponent and 10 of fraction, bfloat16 8 and 7. */
static inline int fraction_bits(shs_type type) {
    if (type == SHS_TYPE_F16) return 10;
    return 7;
}

static inline double short_number(shs_type type, unsigned bits) {
    const int fraction = fraction_bits(type), most = (1 << (15 - fraction)) - 1, bias = most / 2;
    const int exponent = (int)(bits >> fraction) & most, rest = (int)bits & ((1 << fraction) - 1);
    double size = ldexp(rest, 1 - bias - fraction);
    if (exponent) size = ldexp(rest + (1 << fraction), exponent - bias - fraction);
    if (exponent == most) size = ENDLESS;
    if (exponent == most && rest) size = NOT_A_NUMBER;
    if (bits >> 15) return -size;
    return size;
}

/* Finds the nearest value by trying all of them; of two equally near the even one. Infinity counts as the number that would
   follow the last. */
static inline uint16_t short_bits(shs_type type, double x) {
    const int fraction = fraction_bits(type);
    const unsigned endless = (0x7fffu >> fraction) << fraction;
    const double size = fabs(x);
    unsigned low = 0;
    unsigned high = endless;
    double above, below;
    if (is_nan(x)) return (uint16_t)(endless | 1u << (fraction - 1));
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (short_number(type, middle) <= size) low = middle;
        else high = middle;
    }
    below = short_number(type, low);
    above = short_number(type, high);
    if (high == endless) above = 2 * below - short_number(type, low - 1);
    if (size - below > above - size || (size - below >= above - size && (low & 1))) low = high;
    if (x < 0) low |= 0x8000;
    return (uint16_t)low;
}

static inline int is_short(shs_type type) { return type == SHS_TYPE_F16 || type == SHS_TYPE_BF16; }

static inline double load_value(const void *at, shs_type type, int swapped) {
    if (is_short(type)) {
        uint16_t bits;
        copy_value(&bits, at, sizeof bits, swapped);
        return short_number(type, bits);
    }
    switch (type) {
#define LOAD(name, c_type)                                                                                                     \
    case SHS_TYPE_##name: {                                                                                                    \
        c_type v;                                                                                                              \
        copy_value(&v, at, sizeof v, swapped);                                                                                 \
        return (double)v;                                                                                                      \
    }
        EACH_TYPE(LOAD)
#undef LOAD
    default: return NOT_A_NUMBER;
    }
}

/* The value must fit the type. */
static inline void store_value(void *at, shs_type type, int swapped, double value) {
    if (is_short(type)) {
        const uint16_t bits = short_bits(type, value);
        copy_value(at, &bits, sizeof bits, swapped);
        return;
    }
    switch (type) {
#define STORE(name, c_type)                                                                                                    \
    case SHS_TYPE_##name: {                                                                                                    \
        c_type v = (c_type)value;                                                                                              \
        copy_value(at, &v, sizeof v, swapped);                                                                                 \
        return;                                                                                                                \
    }
        EACH_TYPE(STORE)
#undef STORE
    default: return;
    }
}

static inline int is_integer_type(shs_type type) { return type >= SHS_TYPE_U8 && type <= SHS_TYPE_U32; }

/* ---- plain cubes: x[(line * samples + sample) * bands + band] in double ------------------------------------------ */

typedef struct plain_cube {
    int lines, samples, bands;
    double *x;
} plain_cube;

static inline size_t pixels_of(const plain_cube *p) { return (size_t)p->lines * (size_t)p->samples; }
static inline size_t values_of(const plain_cube *p) { return pixels_of(p) * (size_t)p->bands; }
static inline double *pixel_of(const plain_cube *p, size_t i) { return p->x + i * (size_t)p->bands; }

static inline plain_cube new_plain(int lines, int samples, int bands) {
    plain_cube p;
    p.lines = lines;
    p.samples = samples;
    p.bands = bands;
    p.x = NEW(double, values_of(&p));
    return p;
}

/* Random values of the type, uniform over much of its range. */
static inline plain_cube random_values(shs_type type, int lines, int samples, int bands, uint64_t seed) {
    plain_cube p = new_plain(lines, samples, bands);
    shs_random r;
    size_t i;
    shs_random_seed(&r, seed);
    for (i = 0; i < values_of(&p); i++) {
        double u = (double)shs_random_uniform(&r);
        switch (type) {
        case SHS_TYPE_U8: p.x[i] = floor(u * 256); break;
        case SHS_TYPE_I16: p.x[i] = floor(u * 65536) - 32768; break;
        case SHS_TYPE_U16: p.x[i] = floor(u * 65536); break;
        case SHS_TYPE_I32: p.x[i] = floor(u * 2000000) - 1000000; break;
        case SHS_TYPE_U32: p.x[i] = floor(u * 2000000) + 2147000000; break; /* on both sides of 2^31 */
        case SHS_TYPE_F32: p.x[i] = (double)(float)(200 * u - 50); break;
        case SHS_TYPE_F64: p.x[i] = 200 * u - 50; break;
        case SHS_TYPE_F16:
        case SHS_TYPE_BF16: p.x[i] = short_number(type, short_bits(type, 200 * u - 50)); break;
        default: p.x[i] = (double)(shs_real)(200 * u - 50); break;
        }
    }
    return p;
}

/* Pixels mixed from `rank` sources: level + sum of source times spectrum + noise. The sources are not normal (the
   first uniform, the others ever more peaked), their spectra neither orthogonal nor of one length. */
static inline plain_cube mixed_cube(int lines, int samples, int bands, int rank, double noise, uint64_t seed) {
    plain_cube p = new_plain(lines, samples, bands);
    double *spectra = NEW(double, rank * bands), *level = NEW(double, bands);
    shs_random r;
    size_t i;
    int k, b;
    shs_random_seed(&r, seed);
    for (b = 0; b < bands; b++) level[b] = 100 + 10 * (double)shs_random_normal(&r);
    for (k = 0; k < rank * bands; k++) spectra[k] = (double)shs_random_normal(&r) * (10 - 6.0 * (k / bands) / (rank + 1));
    for (i = 0; i < pixels_of(&p); i++) {
        double *x = pixel_of(&p, i);
        for (b = 0; b < bands; b++) x[b] = level[b] + noise * (double)shs_random_normal(&r);
        for (k = 0; k < rank; k++) {
            double s = 2 * (double)shs_random_uniform(&r) - 1;
            if (k) s = s * pow(fabs(s), 0.6 * k + 0.5) * (1 + 0.2 * k);
            for (b = 0; b < bands; b++) x[b] += s * spectra[k * bands + b];
        }
    }
    free(spectra);
    free(level);
    return p;
}

/* Count, mean and covariance (divided by count) of the pixels whose `valid` is not zero (NULL: all), in two passes. */
static inline size_t naive_moments(const plain_cube *p, const unsigned char *valid, double *mean, double *covariance) {
    size_t i, count = 0, B = (size_t)p->bands, a, b;
    volatile double divisor; /* no common reciprocal under -ffast-math: the mean of equal values is that value */
    for (b = 0; b < B; b++) mean[b] = 0;
    for (b = 0; b < B * B; b++) covariance[b] = 0;
    for (i = 0; i < pixels_of(p); i++) {
        if (valid && !valid[i]) continue;
        count++;
        for (b = 0; b < B; b++) mean[b] += pixel_of(p, i)[b];
    }
    divisor = (double)count;
    for (b = 0; b < B && count; b++) mean[b] /= divisor;
    for (i = 0; i < pixels_of(p); i++) {
        const double *x = pixel_of(p, i);
        if (valid && !valid[i]) continue;
        for (a = 0; a < B; a++)
            for (b = 0; b < B; b++) covariance[a * B + b] += (x[a] - mean[a]) * (x[b] - mean[b]);
    }
    for (b = 0; b < B * B && count; b++) covariance[b] /= (double)count;
    return count;
}

/* out (outputs of every pixel) = matrix (x - centre) + offset; the return value is the largest sum of magnitudes on the
   way, against which rounding is measured. */
static inline double naive_map(const plain_cube *p, int outputs, const double *matrix, const double *centre,
                               const double *offset, double *out) {
    double scale = 0;
    size_t i;
    int k, b;
    for (i = 0; i < pixels_of(p); i++)
        for (k = 0; k < outputs; k++) {
            double sum = 0, size;
            if (offset) sum = offset[k];
            size = fabs(sum);
            for (b = 0; b < p->bands; b++) {
                double value = pixel_of(p, i)[b], t;
                if (centre) value -= centre[b];
                t = matrix[k + b * outputs] * value;
                sum += t;
                size += fabs(t);
            }
            out[i * (size_t)outputs + (size_t)k] = sum;
            if (size > scale) scale = size;
        }
    return scale;
}

/* ---- cubes of every layout --------------------------------------------------------------------------------------- */

static inline void strides_of(shs_interleave interleave, int lines, int samples, int bands, ptrdiff_t *sample, ptrdiff_t *line,
                              ptrdiff_t *band) {
    *sample = 1;
    *line = samples;
    if (interleave != SHS_INTERLEAVE_BSQ) *line *= bands;
    if (interleave == SHS_INTERLEAVE_BIP) {
        *sample = bands;
        *band = 1;
    } else {
        *band = samples;
        if (interleave == SHS_INTERLEAVE_BSQ) *band *= lines;
    }
}

/* Makes a cube of the same pixels in this type (of sufficient range), interleave and byte order. cube_free frees the cube. */
static inline shs_cube cube_of(const plain_cube *p, shs_type type, shs_interleave interleave, int swapped) {
    shs_cube cube = SHS_ZERO;
    size_t size = shs_type_size(type);
    unsigned char *pixels = NEW(unsigned char, values_of(p) * size);
    const double *x = p->x;
    ptrdiff_t ss, ls, bs;
    int l, s, b;
    strides_of(interleave, p->lines, p->samples, p->bands, &ss, &ls, &bs);
    for (l = 0; l < p->lines; l++)
        for (s = 0; s < p->samples; s++)
            for (b = 0; b < p->bands; b++) {
                const size_t at = (size_t)(l * ls + s * ss + b * bs);
                store_value(pixels + at * size, type, swapped, *x++);
            }
    cube.pixels = pixels;
    cube.type = type;
    cube.interleave = interleave;
    cube.swap_bytes = swapped;
    cube.lines = p->lines;
    cube.samples = p->samples;
    cube.bands = p->bands;
    return cube;
}

static inline void cube_free(shs_cube *cube) { free((void *)cube->pixels); }

/* The bands in use of a cube in memory, read value by value. */
static inline plain_cube plain_of(const shs_cube *cube) {
    const unsigned char *pixels = (const unsigned char *)cube->pixels;
    const ptrdiff_t size = (ptrdiff_t)shs_type_size(cube->type);
    ptrdiff_t ss = cube->sample_stride, ls = cube->line_stride, bs = cube->band_stride;
    int bands = cube->bands, l, s, b;
    plain_cube p;
    double *x;
    if (cube->band_list) bands = cube->band_count;
    p = new_plain(cube->lines, cube->samples, bands);
    x = p.x;
    if (!ss && !ls && !bs) strides_of(cube->interleave, cube->lines, cube->samples, cube->bands, &ss, &ls, &bs);
    for (l = 0; l < p.lines; l++)
        for (s = 0; s < p.samples; s++)
            for (b = 0; b < bands; b++) {
                int band = b;
                if (cube->band_list) band = cube->band_list[b];
                *x++ = load_value(pixels + (l * ls + s * ss + band * bs) * size, cube->type, cube->swap_bytes);
            }
    return p;
}

/* What the lines of a contiguous cube are made of. */
typedef struct line_layout {
    shs_interleave interleave;
    shs_type type;
    int samples, bands;
} line_layout;

/* Lines first .. first+lines-1 of a contiguous cube into a contiguous cube of that many lines: `to` is that of `lines`
   lines when reading a block, and the whole when writing one. */
static inline void copy_lines(line_layout t, const void *from, int from_lines, int from_first, void *to, int to_lines,
                              int to_first, int lines) {
    const unsigned char *source = (const unsigned char *)from;
    unsigned char *target = (unsigned char *)to;
    const ptrdiff_t size = (ptrdiff_t)shs_type_size(t.type);
    ptrdiff_t fs, fl, fb, ts, tl, tb;
    int l, s, b;
    strides_of(t.interleave, from_lines, t.samples, t.bands, &fs, &fl, &fb);
    strides_of(t.interleave, to_lines, t.samples, t.bands, &ts, &tl, &tb);
    for (l = 0; l < lines; l++)
        for (b = 0; b < t.bands; b++)
            for (s = 0; s < t.samples; s++) {
                const ptrdiff_t there = (to_first + l) * tl + s * ts + b * tb, here = (from_first + l) * fl + s * fs + b * fb;
                memcpy(target + there * size, source + here * size, shs_type_size(t.type));
            }
}

static inline line_layout lines_of_cube(const shs_cube *cube) {
    line_layout t;
    t.interleave = cube->interleave;
    t.type = cube->type;
    t.samples = cube->samples;
    t.bands = cube->bands;
    return t;
}

static inline line_layout lines_of_sink(const shs_sink *sink, int samples, int outputs) {
    line_layout t;
    t.interleave = sink->interleave;
    t.type = sink->type;
    t.samples = samples;
    t.bands = outputs;
    return t;
}

/* A stream over a cube in memory. The stream checks the requests. */
typedef struct stream {
    const shs_cube *cube;
    int fail_at; /* the call that fails, from 0; negative: none */
    int calls, passes, next_line, most_lines, wrong;
    int marks_fail_at, marked, next_marks, marks_alone; /* the same of the mask */
} stream;

static inline int stream_read(void *user, int first_line, int lines, void *block) {
    stream *s = (stream *)user;
    const shs_cube *c = s->cube;
    if (s->calls++ == s->fail_at) return 1;
    if (first_line == 0) {
        if (s->passes && s->next_line != c->lines) s->wrong = 1;
        s->passes++;
    } else if (first_line != s->next_line) s->wrong = 1;
    if (lines < 1 || first_line < 0 || first_line + lines > c->lines) {
        s->wrong = 1;
        return 1;
    }
    s->next_line = first_line + lines;
    if (lines > s->most_lines) s->most_lines = lines;
    copy_lines(lines_of_cube(c), c->pixels, c->lines, first_line, block, lines, 0, lines);
    return 0;
}

/* Its mask (NULL: all pixels): of the lines just read, or in a pass of its own. */
static inline int stream_marks(void *user, int first_line, int lines, unsigned char *marks) {
    stream *s = (stream *)user;
    const shs_cube *c = s->cube;
    const size_t line = (size_t)c->samples, first = (size_t)first_line * line, count = (size_t)lines * line;
    if (s->marked++ == s->marks_fail_at) return 1;
    if (first_line == 0) s->marks_alone = lines != s->next_line;
    if (!s->marks_alone && first_line + lines != s->next_line) s->wrong = 1;
    if (s->marks_alone && first_line && first_line != s->next_marks) s->wrong = 1;
    s->next_marks = first_line + lines;
    if (lines < 1 || first_line < 0 || first_line + lines > c->lines) {
        s->wrong = 1;
        return 1;
    }
    if (c->mask) memcpy(marks, c->mask + first, count);
    else memset(marks, 1, count);
    return 0;
}

/* The cube as a stream; cube must stay where it is and be contiguous. Blocks of an odd number of lines bring the mask along. */
static inline shs_cube streamed(const shs_cube *cube, int block_lines, stream *s) {
    shs_cube t = *cube;
    memset(s, 0, sizeof *s);
    s->cube = cube;
    s->fail_at = s->marks_fail_at = -1;
    t.pixels = NULL;
    t.read_fn = stream_read;
    t.read_user = s;
    t.block_lines = block_lines;
    if (cube->mask && block_lines % 2) {
        t.mask = NULL;
        t.mask_fn = stream_marks;
        t.mask_user = s;
    }
    return t;
}

/* ---- sinks ------------------------------------------------------------------------------------------------------- */

#define UNTOUCHED 0x5a
static inline int holds_untouched(const void *memory, size_t size) {
    const unsigned char *bytes = (const unsigned char *)memory;
    size_t i;
    for (i = 0; i < size; i++)
        if (bytes[i] != UNTOUCHED) return 0;
    return 1;
}

/* A sink in memory, filled with a pattern. sink_free frees it. */
static inline shs_sink new_sink(shs_type type, shs_interleave interleave, int lines, int samples, int outputs) {
    shs_sink sink = SHS_ZERO;
    size_t bytes = (size_t)lines * (size_t)samples * (size_t)outputs * shs_type_size(type);
    sink.pixels = NEW(unsigned char, bytes);
    memset(sink.pixels, UNTOUCHED, bytes);
    sink.type = type;
    sink.interleave = interleave;
    return sink;
}

static inline void sink_free(shs_sink *sink) { free(sink->pixels); }

/* Returns the contents of a sink in memory as a cube. */
static inline shs_cube sink_cube(const shs_sink *sink, int lines, int samples, int outputs) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = sink->pixels;
    cube.type = sink->type;
    cube.interleave = sink->interleave;
    cube.lines = lines;
    cube.samples = samples;
    cube.bands = outputs;
    return cube;
}

static inline plain_cube sink_values(const shs_sink *sink, int lines, int samples, int outputs) {
    shs_cube cube = sink_cube(sink, lines, samples, outputs);
    return plain_of(&cube);
}

/* A stream of blocks put together again in the memory of another sink. */
typedef struct collector {
    const shs_sink *into;
    int lines, samples, outputs;
    int fail_at; /* the call that fails, from 0; negative: none */
    int calls, next_line, wrong;
} collector;

static inline int collect(void *user, int first_line, int lines, const void *block) {
    collector *c = (collector *)user;
    if (c->calls++ == c->fail_at) return 1;
    if (lines < 1 || first_line != c->next_line || first_line + lines > c->lines) {
        c->wrong = 1;
        return 1;
    }
    c->next_line = first_line + lines;
    copy_lines(lines_of_sink(c->into, c->samples, c->outputs), block, lines, 0, c->into->pixels, c->lines, first_line, lines);
    return 0;
}

static inline shs_sink collecting(const shs_sink *into, int lines, int samples, int outputs, collector *c) {
    shs_sink sink = *into;
    memset(c, 0, sizeof *c);
    c->into = into;
    c->lines = lines;
    c->samples = samples;
    c->outputs = outputs;
    c->fail_at = -1;
    sink.pixels = NULL;
    sink.write_fn = collect;
    sink.write_user = c;
    return sink;
}

/* ---- real cubes and golden numbers ------------------------------------------------------------------------------- */

typedef struct golden_cube {
    const char *name, *file;
    int lines, samples, bands;
    shs_type type;
    shs_interleave interleave;
} golden_cube;

enum { SANDIEGO = 0, BEACH, JASPER, AIRPORT, GOLDEN_CUBES };

static inline const golden_cube *golden(int which) {
    static const golden_cube cubes[GOLDEN_CUBES] = {
        {"sandiego", "cubes/sandiego_bip.img", 100, 100, 224, SHS_TYPE_I16, SHS_INTERLEAVE_BIP},
        {"beach", "cubes/beach_bsq.img", 150, 150, 188, SHS_TYPE_I16, SHS_INTERLEAVE_BSQ},
        {"jasper", "cubes/jasper_bil.img", 100, 100, 198, SHS_TYPE_U16, SHS_INTERLEAVE_BIL},
        {"airport", "cubes/airport_bip.img", 100, 100, 205, SHS_TYPE_U16, SHS_INTERLEAVE_BIP},
    };
    return cubes + which;
}

static inline shs_cube load_golden(int which) {
    const golden_cube *g = golden(which);
    shs_cube cube = SHS_ZERO;
    size_t count = (size_t)g->lines * (size_t)g->samples * (size_t)g->bands, size = shs_type_size(g->type);
    FILE *f = open_or_skip(data_path(g->file));
    void *pixels = new_block(count, size);
    assert_int_equal(fread(pixels, size, count, f), count);
    fclose(f);
    cube.pixels = pixels;
    cube.type = g->type;
    cube.interleave = g->interleave;
    cube.swap_bytes = big_endian();
    cube.lines = g->lines;
    cube.samples = g->samples;
    cube.bands = g->bands;
    return cube;
}

static inline unsigned char *read_bytes_or_skip(const char *path, size_t count) {
    FILE *f = open_or_skip(path);
    unsigned char *bytes = NEW(unsigned char, count);
    assert_int_equal(fread(bytes, 1, count, f), count);
    fclose(f);
    return bytes;
}

/* count numbers of a golden CSV named by format and the cube's name, row by row. */
static inline double *read_golden(const char *format, const char *name, size_t count) {
    char file[128];
    double *x = NEW(double, count);
    FILE *f;
    size_t i;
    snprintf(file, sizeof file, format, name);
    f = fopen(golden_path(file), "rb");
    if (!f) {
        free(x);
        f = open_or_skip(golden_path(file));
    }
    for (i = 0; i < count; i++) assert_int_equal(fscanf(f, "%lf%*[, \r\n]", x + i), 1);
    fclose(f);
    return x;
}

/* ---- an allocator that fails at will, and a progress callback that cancels at will ------------------------------- */

typedef struct faulty {
    int left;           /* allocations that still succeed; negative: all */
    int outstanding;    /* blocks not given back */
    int taken, refused; /* allocations */
} faulty;

static inline void *faulty_alloc(void *user, size_t size) {
    faulty *f = (faulty *)user;
    void *block;
    if (f->left == 0) {
        f->refused++;
        return NULL;
    }
    if (f->left > 0) f->left--;
    block = malloc(size);
    if (!block) return NULL;
    memset(block, 0xa5, size); /* nobody may count on zeros */
    f->taken++;
    f->outstanding++;
    return block;
}

static inline void faulty_free(void *user, void *block) {
    faulty *f = (faulty *)user;
    if (block) f->outstanding--;
    free(block);
}

static inline void faulty_attach(faulty *f, int left, shs_context *ctx) {
    memset(f, 0, sizeof *f);
    f->left = left;
    ctx->alloc_fn = faulty_alloc;
    ctx->free_fn = faulty_free;
    ctx->alloc_user = f;
}

typedef struct watch {
    int calls, cancel_at; /* negative: never */
    int wrong;
} watch;

/* No assertion here: a jump out of the library would leak. */
static inline int watch_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    watch *w = (watch *)user;
    if (!phase || step > steps || is_nan((double)error)) w->wrong = 1;
    return w->calls++ == w->cancel_at;
}

static inline void watch_attach(watch *w, int cancel_at, shs_context *ctx) {
    w->calls = w->wrong = 0;
    w->cancel_at = cancel_at;
    ctx->progress_fn = watch_progress;
    ctx->progress_user = w;
}

/* ---- ranks that are threads of this program ---------------------------------------------------------------------- */

#define MOST_RANKS 3

/* Each rank's reductions are compared by number, count and operation; where one differs, or a rank has returned while another
   waits for it, all reductions fail from then on and `mismatch` says why: what hangs under MPI ends here. */
typedef struct rank_team {
    pthread_mutex_t mutex;
    pthread_cond_t turn;
    int ranks, arrived, generation, returned;
    shs_wide *values[MOST_RANKS], *combined;
    size_t counts[MOST_RANKS], calls[MOST_RANKS], room;
    shs_reduce_op ops[MOST_RANKS];
    char mismatch[160];
} rank_team;

typedef struct rank_member {
    rank_team *t;
    shs_context ctx;
    void (*body)(const shs_context *ctx, int rank, void *arg);
    void *arg;
    int rank;
} rank_member;

static inline void wait_for_all(rank_team *t) {
    int mine = t->generation;
    if (++t->arrived == t->ranks) {
        t->arrived = 0;
        t->generation++;
        pthread_cond_broadcast(&t->turn);
    }
    while (mine == t->generation && !t->returned && !*t->mismatch) pthread_cond_wait(&t->turn, &t->mutex);
    if (mine == t->generation && !*t->mismatch)
        snprintf(t->mismatch, sizeof t->mismatch, "a rank waits for one that has returned (calls %zu, %zu, %zu)", t->calls[0],
                 t->calls[1], t->calls[2]);
}

static inline void combine_all(rank_team *t) {
    size_t i;
    int r;
    for (r = 1; r < t->ranks; r++)
        if (t->calls[r] != t->calls[0] || t->counts[r] != t->counts[0] || t->ops[r] != t->ops[0]) {
            snprintf(t->mismatch, sizeof t->mismatch, "rank 0: call %zu, count %zu, op %d; rank %d: call %zu, count %zu, op %d",
                     t->calls[0], t->counts[0], t->ops[0], r, t->calls[r], t->counts[r], t->ops[r]);
            return;
        }
    if (t->room < t->counts[0]) {
        t->room = t->counts[0];
        t->combined = (shs_wide *)realloc(t->combined, t->room * sizeof *t->combined);
    }
    for (i = 0; i < t->counts[0]; i++) {
        shs_wide sum = t->values[0][i];
        for (r = 1; r < t->ranks; r++) {
            shs_wide v = t->values[r][i];
            switch (t->ops[0]) {
            case SHS_REDUCE_SUM: sum += v; break;
            case SHS_REDUCE_MIN:
                if (v < sum) sum = v;
                break;
            default:
                if (v > sum) sum = v;
            }
        }
        t->combined[i] = sum;
    }
}

/* What MPI_Allreduce does. */
static inline int team_reduce(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    rank_member *me = (rank_member *)user;
    rank_team *t = me->t;
    int failed;
    pthread_mutex_lock(&t->mutex);
    t->values[me->rank] = values;
    t->counts[me->rank] = count;
    t->ops[me->rank] = op;
    t->calls[me->rank]++;
    if (!*t->mismatch) wait_for_all(t);
    if (me->rank == 0 && !*t->mismatch) combine_all(t);
    if (!*t->mismatch) wait_for_all(t);
    failed = *t->mismatch != 0;
    if (!failed) memcpy(values, t->combined, count * sizeof *values);
    if (!failed) wait_for_all(t);
    pthread_cond_broadcast(&t->turn);
    pthread_mutex_unlock(&t->mutex);
    return failed;
}

static inline void *run_member(void *arg) {
    rank_member *me = (rank_member *)arg;
    me->body(&me->ctx, me->rank, me->arg);
    pthread_mutex_lock(&me->t->mutex);
    me->t->returned++;
    pthread_cond_broadcast(&me->t->turn);
    pthread_mutex_unlock(&me->t->mutex);
    return NULL;
}

/* Runs body once for each rank, each in a thread. The alarm is for whatever else may wait for ever. No assertion may fail in
   body: cmocka's jump would leave its thread. */
static inline void run_ranks(int ranks, void (*body)(const shs_context *ctx, int rank, void *arg), void *arg) {
    rank_team t;
    rank_member members[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    int r;
    memset(&t, 0, sizeof t);
    memset(members, 0, sizeof members);
    pthread_mutex_init(&t.mutex, NULL);
    pthread_cond_init(&t.turn, NULL);
    t.ranks = ranks;
    alarm(60);
    for (r = 0; r < ranks; r++) {
        rank_member *me = members + r;
        me->t = &t;
        me->body = body;
        me->arg = arg;
        me->rank = r;
        me->ctx.threads = 1;
        me->ctx.reduce_fn = team_reduce;
        me->ctx.reduce_user = me;
        me->ctx.rank = r;
        me->ctx.ranks = ranks;
    }
    for (r = 0; r < ranks; r++) assert_int_equal(pthread_create(threads + r, NULL, run_member, members + r), 0);
    for (r = 0; r < ranks; r++) assert_int_equal(pthread_join(threads[r], NULL), 0);
    alarm(0);
    free(t.combined);
    pthread_mutex_destroy(&t.mutex);
    pthread_cond_destroy(&t.turn);
    assert_string_equal(t.mismatch, "");
}

/* Lines first .. first+lines-1 of a BIP or BIL cube in memory: a rank's share, a slice. */
static inline shs_cube slice_of(const shs_cube *cube, int first, int lines) {
    shs_cube part = *cube;
    size_t line = (size_t)cube->samples * (size_t)cube->bands * shs_type_size(cube->type);
    assert_int_not_equal(cube->interleave, SHS_INTERLEAVE_BSQ);
    part.pixels = (const unsigned char *)cube->pixels + (size_t)first * line;
    part.lines = lines;
    if (cube->mask) part.mask = cube->mask + (size_t)first * (size_t)cube->samples;
    return part;
}

#endif
