/* fuzz.h - the shared part of the fuzz targets: parsing of inputs, data with edge values, counted memory, outputs that must
   not change. The library is linked, not included. */
#ifndef SHS_FUZZ_H
#define SHS_FUZZ_H

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../sparsehs.h"
#include "../memory_file.h"

/* How many statuses there are: numbered from 0 without a gap. */
#define FUZZ__ONE(code, number, text) +1
enum { STATUSES = SHS_STATUS_LIST(FUZZ__ONE) };

#define must(condition) ((condition) ? (void)0 : broken(__FILE__, __LINE__, #condition))
static inline void broken(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

static inline void check_status(shs_status status) { must(status >= SHS_OK && (int)status < STATUSES); }

/* ---- the input --------------------------------------------------------------------------------------------------- */

typedef struct input {
    const uint8_t *at, *end;
} input;

static inline input input_of(const uint8_t *data, size_t size) {
    input in;
    in.at = data;
    in.end = data + size;
    return in;
}

static inline int byte(input *in) {
    if (in->at < in->end) return *in->at++;
    return 0;
}
static inline int within(input *in, int low, int high) { return low + byte(in) % (high - low + 1); }
static inline int one_in(input *in, int count) { return byte(in) % count == count - 1; }

/* One of `count` values. */
static inline double among(input *in, const double *values, int count) { return values[byte(in) % count]; }

/* Mostly 1 .. most, at times 0 or -1. */
static inline int size_of(input *in, int most) {
    int b = byte(in);
    if (b >= 252) return -1;
    if (b >= 244) return 0;
    return 1 + b % most;
}

/* Mostly enough rows, at times one too few. */
static inline int leading_of(input *in, int rows) {
    int b = byte(in);
    if (b >= 250) return rows - 1;
    if (b >= 128) return rows + b % 4;
    return rows;
}

static inline int positive(int x) {
    if (x > 0) return x;
    return 0;
}
static inline size_t count_of(int a, int b) { return (size_t)positive(a) * (size_t)positive(b); }

/* The index of an entry of a matrix whose columns are `ld` apart. */
static inline size_t entry(int ld, int row, int column) { return (size_t)column * (size_t)ld + (size_t)row; }

/* Any int at all, for queries that only count. */
static inline int any_int(input *in) {
    static const int edges[] = {0, 1, -1, 2, 46341, 65536, INT_MAX, INT_MIN, INT_MAX - 1, 1000000};
    int b = byte(in);
    if (b < 128) return b;
    return edges[b % 10];
}

/* A small count, or one of the largest. */
static inline size_t any_count(input *in, int huge) {
    size_t b = byte(in);
    if (huge) return SIZE_MAX / (1 + b);
    return b;
}

static inline double special(int which) {
    static const double values[] = {0,      -0.0,   1,     -1,    1e-30, 1e30,     1e-45, 3e38,
                                    1e-300, 1e300,  1e19,  1e-19, 1e-38, 4.9e-324, 1e15,  255};
    int k = which % 19;
    if (k < 16) return values[k];
    if (k == 16) return NAN;
    if (k == 17) return INFINITY;
    return -INFINITY;
}

/* Properties of an array: all values are finite, and the range of the magnitudes of nonzero values. */
typedef struct extent {
    int finite;
    double least, most;
} extent;

static inline void extend(extent *e, double x) {
    double size = fabs(x);
    if (!isfinite(x)) e->finite = 0;
    else if (size > 0) {
        if (size > e->most) e->most = size;
        if (size < e->least || e->least <= 0) e->least = size;
    }
}

/* Neither squares nor their sums leave the range of shs_real. */
static inline int tame(const extent *e) {
    return e->finite && (e->most <= 0 || (e->least >= 1e-12 && e->most <= 1e12));
}

/* Returns the next value of an array described by a few bytes: noise, small integers (for ties), repetitions, one value. */
static inline double draw(shs_random *r, int kind, size_t i) {
    switch (kind) {
    case 0: return (double)shs_random_uniform(r) * 2 - 1;
    case 1: return (double)(shs_random_bits(r) % 5) - 2;
    case 2: return (double)((i * 7 + i / 5) % 3) - 1;
    case 3: return (double)(shs_random_bits(r) % 4 == 0);
    case 4: return (double)((i % 3 + 1) * (i / 3 + 1)); /* of rank one where there are three rows */
    case 5: return 1 / (double)(i + 1);
    default: return 1;
    }
}

static inline double scale_of(input *in) {
    static const double scales[] = {1, 1, 1, 1, 1e-3, 100, 1e-20, 1e15, 1e-30, 1e30, 1e-38, 1e38, 0, 1e-44};
    return scales[byte(in) % 14];
}

#define DEFINE_FILL(name, type, most)                                                                                  \
    static inline extent name(input *in, size_t count, type *x) {                                                      \
        extent e = {1, 0, 0};                                                                                          \
        shs_random r;                                                                                                  \
        double scale;                                                                                                  \
        int kind, pokes;                                                                                               \
        size_t i;                                                                                                      \
        shs_random_seed(&r, (uint64_t)byte(in));                                                                       \
        kind = byte(in) % 7;                                                                                           \
        scale = scale_of(in);                                                                                          \
        pokes = byte(in);                                                                                              \
        for (i = 0; i < count; i++) x[i] = (type)(scale * draw(&r, kind, i));                                          \
        if (pokes < 192) pokes = 0;                                                                                    \
        for (pokes %= 4; pokes && count; pokes--) {                                                                    \
            size_t where = (size_t)byte(in) % count;                                                                   \
            double value = special(byte(in));                                                                          \
            if (fabs(value) > (most) && isfinite(value)) value = 1e38;                                                 \
            x[where] = (type)value;                                                                                    \
        }                                                                                                              \
        for (i = 0; i < count; i++) extend(&e, (double)x[i]);                                                          \
        return e;                                                                                                      \
    }
DEFINE_FILL(fill, shs_real, sizeof(shs_real) == 4 ? 3.4e38 : 1.7e308)
DEFINE_FILL(fill_wide, shs_wide, 1.7e308)

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static inline void *block_of(size_t bytes) {
    void *block = malloc(bytes + (bytes == 0));
    must(block != NULL);
    return block;
}
#define NEW(type, count) ((type *)block_of((size_t)(count) * sizeof(type)))

/* A new array of values from the input. */
static inline shs_real *drawn(input *in, size_t count, extent *e) {
    shs_real *x = NEW(shs_real, count);
    *e = fill(in, count, x);
    return x;
}

/* An output of an exact size, with a copy of its contents before the call. */
typedef struct output {
    unsigned char *bytes, *before;
    size_t size;
} output;

static inline output output_of(size_t size) {
    output o;
    o.size = size;
    o.bytes = NEW(unsigned char, size);
    o.before = NEW(unsigned char, size);
    memset(o.bytes, 0x5a, size);
    memset(o.before, 0x5a, size);
    return o;
}
#define OUTPUT(type, count) output_of((size_t)(count) * sizeof(type))
static inline void output_keep(output *o) { memcpy(o->before, o->bytes, o->size); }
static inline int untouched(const output *o) { return memcmp(o->bytes, o->before, o->size) == 0; }
static inline void output_free(output *o) {
    free(o->bytes);
    free(o->before);
}
#define AS(type, output) ((type *)(void *)(output).bytes)

/* Codes as the output of a call. */
typedef struct coded {
    shs_codes codes;
    output used, atoms, coefs;
} coded;

static inline coded coded_of(size_t m, int stride) {
    size_t slots = m * (size_t)positive(stride);
    coded c;
    memset(&c.codes, 0, sizeof c.codes);
    c.used = OUTPUT(int, m);
    c.atoms = OUTPUT(int, slots);
    c.coefs = OUTPUT(shs_real, slots);
    c.codes.m = m;
    c.codes.stride = stride;
    c.codes.used = AS(int, c.used);
    c.codes.atoms = AS(int, c.atoms);
    c.codes.coefs = AS(shs_real, c.coefs);
    return c;
}
static inline int coded_untouched(const coded *c) {
    return untouched(&c->used) && untouched(&c->atoms) && untouched(&c->coefs);
}
static inline void coded_free(coded *c) {
    output_free(&c->used);
    output_free(&c->atoms);
    output_free(&c->coefs);
}

static inline int all_finite(size_t count, const shs_real *x) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}
static inline int all_finite_wide(size_t count, const shs_wide *x) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* The bits of one byte are repeated over the mask. */
static inline void mask_from(input *in, size_t count, unsigned char *mask) {
    const int bits = byte(in);
    size_t i;
    for (i = 0; i < count; i++) mask[i] = bits >> i % 8 & 1;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Writes the check sum of model files and of code files. */
static inline void sign(const uint8_t *bytes, size_t count, uint8_t *to) {
    uint32_t crc = 0xffffffffu;
    size_t i;
    int b;
    for (i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (b = 0; b < 8; b++) {
            uint32_t low = crc & 1;
            crc >>= 1;
            if (low) crc ^= 0xedb88320u;
        }
    }
    for (b = 0; b < 4; b++) to[b] = (uint8_t)(~crc >> 8 * b);
}

/* The rest of the input as a file. `before` zeros leave room for a head. */
static inline memory_file file_of(const input *in, size_t before) {
    memory_file f = SHS_ZERO;
    size_t size = (size_t)(in->end - in->at);
    if (size > sizeof f.bytes - 64) size = sizeof f.bytes - 64;
    if (size > 0) memcpy(f.bytes + before, in->at, size);
    f.size = size + before;
    return f;
}

/* ---- the outside world ------------------------------------------------------------------------------------------- */

/* Records the callbacks, with a countdown to a failure; negative: no failure. */
typedef struct world {
    shs_context ctx;
    int outstanding, allocations_left, refused;
    int steps_left, cancelled, late; /* late: at the last call, when all is done */
    int reductions_left, reduction_failed;
    int bad;      /* the context does not hold together */
    int ordinary; /* all values are moderate, so errors stay within the range of shs_real */
} world;

static inline void *counted_alloc(void *user, size_t size) {
    world *w = (world *)user;
    void *block;
    if (w->allocations_left == 0 || size > (size_t)1 << 22) {
        w->refused = 1;
        return NULL;
    }
    if (w->allocations_left > 0) w->allocations_left--;
    block = block_of(size);
    if (size > 4096) size = 4096;
    memset(block, 0xa5, size); /* nobody may count on zeros */
    w->outstanding++;
    return block;
}

static inline void counted_free(void *user, void *block) {
    if (block) ((world *)user)->outstanding--;
    free(block);
}

static inline int counted_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    world *w = (world *)user;
    must(phase != NULL && (steps == 0 || step <= steps));
    must(!w->ordinary || isfinite(error));
    if (w->steps_left == 0) {
        if (step == steps) w->late = 1;
        else w->cancelled = 1;
        return 1;
    }
    if (w->steps_left > 0) w->steps_left--;
    return 0;
}

static inline int counted_reduce(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    world *w = (world *)user;
    must(count == 0 || values != NULL);
    must(op == SHS_REDUCE_SUM || op == SHS_REDUCE_MIN || op == SHS_REDUCE_MAX);
    if (w->reductions_left == 0) {
        w->reduction_failed = 1;
        return 1;
    }
    if (w->reductions_left > 0) w->reductions_left--;
    return 0;
}

/* The last chunk first, and every worker gets some. */
static inline void backwards(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    (void)user;
    must(threads >= 1);
    while (chunks-- > 0) body(arg, chunks, (int)(chunks % (size_t)threads));
}

/* The context and what will go wrong in it. */
static inline void world_of(world *w, input *in) {
    int flags = byte(in), fault = byte(in);
    memset(w, 0, sizeof *w);
    w->allocations_left = w->steps_left = w->reductions_left = -1;
    w->ctx.alloc_fn = counted_alloc;
    w->ctx.free_fn = counted_free;
    w->ctx.alloc_user = w;
    if (flags & 1) w->ctx.parallel_fn = backwards;
    w->ctx.threads = flags >> 1 & 3;
    if (flags & 8) {
        w->ctx.progress_fn = counted_progress;
        w->ctx.progress_user = w;
    }
    if (flags & 16) {
        w->ctx.reduce_fn = counted_reduce;
        w->ctx.reduce_user = w;
        w->ctx.ranks = 1;
    }
    switch (fault >> 3) {
    case 27: w->allocations_left = fault & 7; break;
    case 28: w->steps_left = fault & 7; break;
    case 29: w->reductions_left = fault & 7; break;
    case 30: w->ctx.free_fn = NULL; break;
    case 31: w->ctx.threads = -1; break;
    default: break;
    }
    w->bad = fault >> 3 >= 30;
}

/* What holds whatever was called; `kept` blocks belong to results. */
static inline void check_world(const world *w, shs_status status, int kept) {
    if (status != SHS_OK && status != SHS_CANCELLED) kept = 0;
    check_status(status);
    must(strcmp(shs_status_name(status), "unknown status") != 0);
    must(w->bad || w->outstanding == kept);
    must(status != SHS_NO_MEMORY || w->refused);
    must(status != SHS_CANCELLED || w->cancelled || w->late);
    must(status != SHS_REDUCE_FAILED || w->reduction_failed);
    must(!w->refused || status != SHS_OK);
    must(!w->cancelled || status == SHS_CANCELLED || status == SHS_REDUCE_FAILED || status == SHS_PEER_FAILED);
}

/* ---- a target ----------------------------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The errands of a target. The first byte of the input chooses an errand; important errands occur several times. */
#define FUZZ_ERRANDS 8
typedef void (*errand_fn)(input *in, world *w);

static inline int run_errand(const errand_fn errands[FUZZ_ERRANDS], const uint8_t *data, size_t size) {
    input in = input_of(data, size);
    world w;
    int which = byte(&in) % FUZZ_ERRANDS;
    world_of(&w, &in);
    errands[which](&in, &w);
    return 0;
}

#endif
