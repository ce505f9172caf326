/* fuzz_context.c - the arena as a stack of blocks, random numbers, the texts. */
#include "fuzz.h"

/* Blocks are taken and given back in any order; none overlaps another, none lies outside. */
static void arena(input *in) {
    unsigned char memory[700], *blocks[12];
    size_t sizes[12], at = (size_t)within(in, 0, 15), room = (size_t)within(in, 0, 255) * 2, j;
    shs_context ctx = SHS_ZERO;
    shs_arena a;
    int count = 0, i, steps;
    shs_arena_init(&a, memory + at, room);
    shs_arena_attach(&a, &ctx);
    for (steps = 0; in->at < in->end && steps < 64; steps++) {
        int what = byte(in);
        if (what < 160 && count < 12) {
            size_t bytes = what == 159 ? SIZE_MAX - (size_t)byte(in) : (size_t)byte(in);
            unsigned char *block = (unsigned char *)ctx.alloc_fn(ctx.alloc_user, bytes);
            if (!block) continue;
            must(block >= memory + at && bytes <= room && block + bytes <= memory + at + room);
            must((uintptr_t)block % sizeof(void *) == 0);
            memset(block, count + 1, bytes);
            blocks[count] = block, sizes[count++] = bytes;
        } else if (count) { /* what was written is still there */
            i = what % count;
            for (j = 1; j < sizes[i]; j++) must(blocks[i][j] == blocks[i][0]);
            ctx.free_fn(ctx.alloc_user, blocks[i]);
            blocks[i] = blocks[--count], sizes[i] = sizes[count];
        }
        must(a.used <= room && a.peak <= room && a.used <= a.peak);
    }
    while (count) ctx.free_fn(ctx.alloc_user, blocks[--count]);
    must(a.used == 0);
}

static void random_numbers(input *in) {
    shs_random r, s;
    uint64_t seed = 0, count, i;
    unsigned char seen[256];
    for (i = 0; i < 8; i++) seed = seed << 8 | (uint64_t)byte(in);
    shs_random_seed(&r, seed), shs_random_seed(&s, seed);
    must(shs_random_bits(&r) == shs_random_bits(&s));
    for (i = 0; i < 8; i++) {
        shs_wide u = shs_random_uniform(&r), z = shs_random_normal(&r);
        must(u >= 0 && u < 1 && isfinite(z));
        must(shs_random_below(&r, seed) < seed || seed == 0);
    }
    must(shs_random_below(&r, 0) == 0 && shs_random_below(&r, 1) == 0);
    count = (uint64_t)byte(in) + 1;
    memset(seen, 0, sizeof seen);
    for (i = 0; i < count; i++) { /* a permutation */
        uint64_t at = shs_random_permuted(i, count, seed);
        must(at < count && !seen[at]++);
    }
    if (seed) must(shs_random_permuted(seed / 2, seed, seed) < seed);
}

static void texts(input *in) {
    int status = any_int(in);
    must(shs_status_text((shs_status)status) != NULL && shs_status_name((shs_status)status) != NULL);
    must((strcmp(shs_status_text((shs_status)status), "unknown status") == 0) == (status < 0 || (int)status >= STATUSES));
    must(shs_type_size((shs_type)status) <= 8);
}

/* Whether numbers are coded as they are: copies in another unit take more than the query names, and coefficients may leave the
   range. */
static int in_room(const extent *e) { return e->most <= 0 || (e->least >= 1e-6 && e->most <= 1e6); }

/* A call in an arena of exactly the size that the query names goes through; in a smaller one it fails and says why. */
static void exact_arena(input *in) {
    int p = within(in, 1, 8), n = within(in, 1, 16), m = within(in, 1, 8), s = within(in, 1, 4), less = byte(in) % 8 == 7;
    shs_context ctx = SHS_ZERO;
    shs_real *D = NEW(shs_real, p *n), *Y = NEW(shs_real, p *m), *coefs = NEW(shs_real, m *s);
    int *used = NEW(int, m), *atoms = NEW(int, m *s);
    shs_omp_options o = SHS_ZERO;
    shs_codes codes;
    shs_arena a;
    shs_status status;
    extent of_D, of_Y;
    size_t bytes;
    unsigned char *memory;
    o.sparsity = s, o.gram_mode = (shs_gram_mode)within(in, 0, 2), ctx.threads = within(in, 1, 3);
    codes.m = (size_t)m, codes.stride = s, codes.used = used, codes.atoms = atoms, codes.coefs = coefs;
    ctx.parallel_fn = backwards;
    of_D = fill(in, (size_t)(p * n), D);
    of_Y = fill(in, (size_t)(p * m), Y);
    if (of_D.finite && of_Y.finite) {
        bytes = shs_omp_workspace(&ctx, p, n, (size_t)m, s, &o);
        must(bytes < 1 << 20);
        if (less) bytes /= 2;
        memory = NEW(unsigned char, bytes);
        shs_arena_init(&a, memory, bytes);
        shs_arena_attach(&a, &ctx);
        status = shs_omp_ex(&ctx, p, n, D, p, (size_t)m, Y, p, &o, &codes, NULL, NULL);
        must(a.used == 0 && (!less || status == SHS_NO_MEMORY));
        if (!less && in_room(&of_D) && in_room(&of_Y)) must(status == SHS_OK);
        must(status == SHS_OK || status == SHS_NO_MEMORY || status == SHS_OUT_OF_RANGE);
        free(memory);
    }
    free(D), free(Y), free(coefs), free(used), free(atoms);
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
