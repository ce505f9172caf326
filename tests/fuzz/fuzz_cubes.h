/* fuzz_cubes.h - a cube from an input: any type, layout, strides, mask, no-data value, in memory or as a stream that may
   fail, end early or change; and a sink. */
#ifndef SHS_FUZZ_CUBES_H
#define SHS_FUZZ_CUBES_H
#include "fuzz.h"

typedef struct scene {
    shs_cube cube;
    unsigned char *pixels, *mask;
    size_t bytes;
    int *bands;
    extent e;
    int reads_left, read_failed, next; /* of the stream */
    int garbage;                       /* it gives other pixels at every pass */
    uint64_t passes;
    /* the sink */
    shs_sink sink;
    output out;
    int writes_left, write_failed, written;
    int line_bytes;
} scene;

/* An integer of any value. */
static inline int32_t whole_of(double value) {
    if (value >= 2e9) return 2000000000;
    if (value <= -2e9) return -2000000000;
    if (value != value) return 7;
    return (int32_t)value;
}

static inline float narrow_of(double value) {
    if (fabs(value) > 3.4e38 && isfinite(value)) return 3e38f;
    return (float)value;
}

static inline void put_value(unsigned char *at, shs_type type, int swap, double value) {
    unsigned char raw[8], other;
    size_t size = shs_type_size(type), i;
    float f = narrow_of(value);
    shs_real r = (shs_real)f;
    int32_t whole = whole_of(value);
    if (sizeof r > sizeof f) r = (shs_real)value;
    memset(raw, 0, sizeof raw);
    if (type == SHS_TYPE_F32) memcpy(raw, &f, sizeof f);
    else if (type == SHS_TYPE_F64) memcpy(raw, &value, sizeof value);
    else if (type == SHS_TYPE_REAL) memcpy(raw, &r, sizeof r);
    else memcpy(raw, &whole, sizeof whole); /* the low bytes, on a little-endian machine */
    for (i = 0; swap && i < size / 2; i++) {
        other = raw[i];
        raw[i] = raw[size - 1 - i];
        raw[size - 1 - i] = other;
    }
    memcpy(at, raw, size);
}

static inline int scene_read(void *user, int first_line, int lines, void *block) {
    scene *s = user;
    unsigned char *to = block;
    size_t bytes = count_of(lines, s->line_bytes), from = count_of(first_line, s->line_bytes), i;
    must(block != NULL && lines > 0 && first_line >= 0 && first_line + lines <= s->cube.lines);
    must(first_line == 0 || first_line == s->next);
    s->next = first_line + lines;
    if (first_line == 0) s->passes++;
    if (s->reads_left == 0) {
        memset(block, 0xff, bytes / 2); /* what there was before the end */
        s->read_failed = 1;
        return 1;
    }
    if (s->reads_left > 0) s->reads_left--;
    for (i = 0; i < bytes; i++) to[i] = s->pixels[(from + i) % s->bytes];
    for (i = 0; i < bytes && s->garbage; i += 3) to[i] = (unsigned char)((i + s->passes) * 151);
    return 0;
}

static inline int scene_marks(void *user, int first_line, int lines, unsigned char *marks) {
    scene *s = user;
    int samples = s->cube.samples;
    must(marks != NULL && lines > 0 && first_line + lines <= s->cube.lines && (s->next == 0 || first_line + lines == s->next));
    if (s->reads_left == 0) {
        s->read_failed = 1;
        return 1;
    }
    memcpy(marks, s->mask + count_of(first_line, samples), count_of(lines, samples));
    return 0;
}

static inline int scene_write(void *user, int first_line, int lines, const void *block) {
    scene *s = user;
    must(block != NULL && lines > 0 && first_line == s->written && first_line + lines <= s->cube.lines);
    s->written = first_line + lines;
    if (s->writes_left == 0) {
        s->write_failed = 1;
        return 1;
    }
    if (s->writes_left > 0) s->writes_left--;
    return 0;
}

/* Strides that keep every value within the buffer: pixels spread out, or lines and samples in some other order. */
static inline size_t strides_of(input *in, shs_cube *c) {
    int kind = byte(in) % 8, gap = within(in, 1, 2);
    ptrdiff_t l = positive(c->lines), s = positive(c->samples), b = positive(c->bands);
    if (kind < 6) {
        gap = 1;
    } else if (kind == 6) {
        c->sample_stride = b * gap;
        c->line_stride = s * b * gap;
        c->band_stride = gap;
    } else {
        c->line_stride = gap;
        c->sample_stride = l * gap;
        c->band_stride = l * s * gap;
    }
    return (size_t)(l * s * b * gap);
}

static inline shs_type type_of(input *in) { return (shs_type)(byte(in) % SHS_TYPE_COUNT); }
static inline shs_interleave interleave_of(input *in) { return (shs_interleave)(byte(in) % 3); }
static inline shs_wide special_wide(input *in) { return (shs_wide)special(byte(in)); }

/* Draws the pixels and writes them as values of the cube's type. */
static inline void pixels_of(input *in, scene *s, size_t values) {
    const shs_cube *c = &s->cube;
    size_t size = shs_type_size(c->type), i;
    shs_real *x = drawn(in, values, &s->e);
    s->bytes = values * size;
    s->pixels = NEW(unsigned char, s->bytes);
    for (i = 0; i < values; i++) put_value(s->pixels + i * size, c->type, c->swap_bytes, x[i]);
    free(x);
    if (c->type >= SHS_TYPE_F16) s->e.finite = 0; /* any 16 bits are put there, Inf and NaN too */
    if (c->type >= SHS_TYPE_U8 && c->type <= SHS_TYPE_U32) {
        s->e.finite = 1;
        s->e.most = 4294967296.0;
        s->e.least = 1;
    }
}

/* A list of bands, at times with one that does not exist. */
static inline void bands_of(input *in, scene *s) {
    shs_cube *c = &s->cube;
    int count = within(in, -1, 8), wild = one_in(in, 16), j;
    s->bands = NEW(int, 8);
    for (j = 0; j < 8; j++) {
        s->bands[j] = 0;
        if (c->bands > 0) s->bands[j] = byte(in) % c->bands;
    }
    if (wild) s->bands[0] = any_int(in);
    c->band_list = s->bands;
    c->band_count = count;
}

static inline void mask_of(input *in, scene *s) {
    size_t pixels = count_of(s->cube.lines, s->cube.samples), i;
    s->mask = NEW(unsigned char, pixels);
    for (i = 0; i < pixels; i++) s->mask[i] = (unsigned char)(byte(in) & 1);
    s->cube.mask = s->mask;
}

/* The pixels, and at times the mask, come from a stream. */
static inline void stream_of(input *in, scene *s, int fault) {
    shs_cube *c = &s->cube;
    c->pixels = NULL;
    c->read_fn = scene_read;
    c->read_user = s;
    c->block_lines = within(in, 0, 3);
    s->garbage = fault >> 6 == 2;
    s->line_bytes = positive(c->samples) * positive(c->bands) * (int)shs_type_size(c->type);
    if (fault >> 6 == 3) s->reads_left = fault & 7;
    if (!s->bytes) s->bytes = 1;
    if (s->mask && (fault & 32)) {
        c->mask = NULL;
        c->mask_fn = scene_marks;
        c->mask_user = s;
    }
}

static inline void scene_of(input *in, scene *s) {
    shs_cube *c = &s->cube;
    int flags, fault;
    memset(s, 0, sizeof *s);
    s->reads_left = -1;
    s->writes_left = -1;
    c->type = type_of(in);
    c->interleave = interleave_of(in);
    c->lines = size_of(in, 6);
    c->samples = size_of(in, 7);
    c->bands = size_of(in, 6);
    flags = byte(in);
    fault = byte(in);
    c->swap_bytes = flags & 1;
    pixels_of(in, s, strides_of(in, c));
    c->pixels = s->pixels;
    if (flags & 2) bands_of(in, s);
    if ((flags & 12) == 12) mask_of(in, s);
    if (flags & 16) {
        c->has_nodata = 1;
        c->nodata = special_wide(in);
    }
    if ((flags & 96) == 96 && !c->sample_stride) stream_of(in, s, fault);
    else if (fault == 255) c->pixels = NULL;
    else if (fault == 254) c->type = (shs_type)99;
    else if (fault == 253) c->interleave = (shs_interleave)-1;
}

static inline void sink_of(input *in, scene *s, int outputs) {
    int flags = byte(in), fault = byte(in);
    shs_sink *k = &s->sink;
    memset(k, 0, sizeof *k);
    k->type = type_of(in);
    k->interleave = interleave_of(in);
    s->out = output_of(count_of(s->cube.lines, s->cube.samples) * (size_t)positive(outputs) * shs_type_size(k->type));
    k->pixels = s->out.bytes;
    if (flags & 1) {
        k->has_nodata = 1;
        k->nodata = special_wide(in);
    }
    if (flags & 2) {
        k->rescale = 1;
        k->low = special_wide(in);
        k->high = special_wide(in);
    }
    if (flags & 4) {
        k->pixels = NULL;
        k->write_fn = scene_write;
        k->write_user = s;
    }
    if ((flags & 4) && fault >> 6 == 3) s->writes_left = fault & 3;
    if (fault == 77) k->type = (shs_type)42;
    s->written = 0;
}

/* Statuses that must have a cause, whatever was called. */
static inline void check_scene(const scene *s, const world *w, shs_status status, int kept) {
    check_world(w, status, kept);
    must(status != SHS_READ_FAILED || s->read_failed);
    must(status != SHS_WRITE_FAILED || s->write_failed);
    must(!s->read_failed || status != SHS_OK);
    must(!s->write_failed || status != SHS_OK);
    must(s->sink.write_fn || status == SHS_OK || status == SHS_CANCELLED || status == SHS_READ_FAILED ||
         status == SHS_REDUCE_FAILED || status == SHS_PEER_FAILED || !s->out.bytes || untouched(&s->out));
}

/* A sink that took a whole result took all lines. */
static inline void check_written(const scene *s, shs_status status) {
    must(!s->sink.write_fn || status != SHS_OK || s->written == s->cube.lines);
}

static inline void scene_free(scene *s) {
    free(s->pixels);
    free(s->mask);
    free(s->bands);
    if (s->out.bytes) output_free(&s->out);
}

#endif
