/* fuzz_context.c - the arena as a stack of blocks, random numbers, the texts. */
#include "fuzz.h"

/* ---- the arena --------------------------------------------------------------------------------------------------- */

enum { MOST = 12 };

/* An arena in the middle of some memory, and the blocks that were taken from it. */
typedef struct stack {
    unsigned char memory[700], *start, *blocks[MOST];
    size_t sizes[MOST], room;
    int count;
    shs_context ctx;
} stack;

static void take(input *in, stack *s, int huge) {
    size_t bytes = byte(in);
    unsigned char *block;
    if (huge) bytes = SIZE_MAX - bytes;
    block = s->ctx.alloc_fn(s->ctx.alloc_user, bytes);
    if (!block) return;
    must(block >= s->start && bytes <= s->room && block + bytes <= s->start + s->room);
    must((uintptr_t)block % sizeof(void *) == 0);
    memset(block, s->count + 1, bytes);
    s->blocks[s->count] = block;
    s->sizes[s->count] = bytes;
    s->count++;
}

/* What was written to the block is still there. */
static void put_back(stack *s, int i) {
    size_t j;
    for (j = 1; j < s->sizes[i]; j++) must(s->blocks[i][j] == s->blocks[i][0]);
    s->ctx.free_fn(s->ctx.alloc_user, s->blocks[i]);
    s->count--;
    s->blocks[i] = s->blocks[s->count];
    s->sizes[i] = s->sizes[s->count];
}

/* Blocks are taken and given back in any order; none overlaps another, none lies outside. */
static void arena(input *in) {
    stack s = SHS_ZERO;
    shs_arena a;
    int steps;
    s.start = s.memory + within(in, 0, 15);
    s.room = within(in, 0, 255) * 2;
    shs_arena_init(&a, s.start, s.room);
    shs_arena_attach(&a, &s.ctx);
    for (steps = 0; in->at < in->end && steps < 64; steps++) {
        int what = byte(in);
        if (what < 160 && s.count < MOST) take(in, &s, what == 159);
        else if (s.count) put_back(&s, what % s.count);
        must(a.used <= s.room && a.peak <= s.room + 15 && a.used <= a.peak);
    }
    while (s.count) s.ctx.free_fn(s.ctx.alloc_user, s.blocks[--s.count]);
    must(a.used == 0);
}

/* ---- random numbers and texts ------------------------------------------------------------------------------------ */

static void permutation(uint64_t count, uint64_t seed) {
    unsigned char seen[256] = {0};
    uint64_t i;
    for (i = 0; i < count; i++) {
        uint64_t at = shs_random_permuted(i, count, seed);
        must(at < count && !seen[at]);
        seen[at] = 1;
    }
}

static void random_numbers(input *in) {
    shs_random r, s;
    uint64_t seed = 0;
    int i;
    for (i = 0; i < 8; i++) seed = seed << 8 | (uint64_t)byte(in);
    shs_random_seed(&r, seed);
    shs_random_seed(&s, seed);
    must(shs_random_bits(&r) == shs_random_bits(&s));
    for (i = 0; i < 8; i++) {
        shs_wide u = shs_random_uniform(&r), z = shs_random_normal(&r);
        must(u >= 0 && u < 1 && isfinite(z));
        must(shs_random_below(&r, seed) < seed || seed == 0);
    }
    must(shs_random_below(&r, 0) == 0 && shs_random_below(&r, 1) == 0);
    permutation(byte(in) + 1, seed);
    if (seed) must(shs_random_permuted(seed / 2, seed, seed) < seed);
}

static void texts(input *in) {
    int number = any_int(in), known = number >= 0 && number < STATUSES;
    shs_status status = (shs_status)number;
    must(shs_status_text(status) != NULL && shs_status_name(status) != NULL);
    must((strcmp(shs_status_text(status), "unknown status") == 0) == !known);
    must(shs_type_size((shs_type)number) <= 8);
}

/* ---- an arena of the size of a query ----------------------------------------------------------------------------- */

/* Whether numbers are coded as they are: copies in another unit take more than the query names, and coefficients may leave the
   range. */
static int in_room(const extent *e) { return e->most <= 0 || (e->least >= 1e-6 && e->most <= 1e6); }

typedef struct problem {
    int p, n, m;
    shs_real *D, *Y;
    extent of_D, of_Y;
} problem;

/* A call in an arena of exactly the size that the query names goes through; in a smaller one it fails and says why. */
static void code_in_arena(shs_context *ctx, const problem *q, const shs_omp_options *o, shs_codes *codes, int less) {
    size_t bytes = shs_omp_workspace(ctx, q->p, q->n, q->m, codes->stride, o);
    unsigned char *memory;
    shs_arena a;
    shs_status status;
    must(bytes < 1 << 20);
    if (less) bytes /= 2;
    memory = NEW(unsigned char, bytes);
    shs_arena_init(&a, memory, bytes);
    shs_arena_attach(&a, ctx);
    status = shs_omp_ex(ctx, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, codes, NULL, NULL);
    must(a.used == 0 && (!less || status == SHS_NO_MEMORY));
    if (!less && in_room(&q->of_D) && in_room(&q->of_Y)) must(status == SHS_OK);
    must(status == SHS_OK || status == SHS_NO_MEMORY || status == SHS_OUT_OF_RANGE);
    free(memory);
}

static void exact_arena(input *in) {
    shs_context ctx = SHS_ZERO;
    shs_omp_options o = SHS_ZERO;
    problem q;
    coded c;
    int s, less;
    q.p = within(in, 1, 8);
    q.n = within(in, 1, 16);
    q.m = within(in, 1, 8);
    s = within(in, 1, 4);
    less = byte(in) % 8 == 7;
    o.sparsity = s;
    o.gram_mode = within(in, 0, 2);
    ctx.threads = within(in, 1, 3);
    ctx.parallel_fn = backwards;
    q.D = drawn(in, q.p * q.n, &q.of_D);
    q.Y = drawn(in, q.p * q.m, &q.of_Y);
    c = coded_of(q.m, s);
    if (q.of_D.finite && q.of_Y.finite) code_in_arena(&ctx, &q, &o, &c.codes, less);
    free(q.D);
    free(q.Y);
    coded_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = input_of(data, size);
    switch (byte(&in) % 8) {
    case 0: exact_arena(&in); break; /* takes longer than the others */
    case 1: texts(&in); break;
    case 2: random_numbers(&in); break;
    default: arena(&in); break;
    }
    return 0;
}
