/* fuzz_compact.c - codes in few bytes. The input is such bytes, of which a plausible head and right check sums are made in some
   cases, or codes that are rounded, saved and loaded. */
#include "fuzz.h"

enum { P = 3, HEAD = 64 };

/* ---- codes ------------------------------------------------------------------------------------------------------- */

static shs_codes new_codes(size_t m, int stride) {
    shs_codes c = SHS_ZERO;
    c.m = m;
    c.stride = stride;
    c.used = NEW(int, m);
    c.atoms = NEW(int, m * stride);
    c.coefs = NEW(shs_real, m * stride);
    return c;
}

static void drop_codes(shs_codes *c) {
    free(c->used);
    free(c->atoms);
    free(c->coefs);
}

/* D X by the definition, from codes; both take the same sums. */
static void same_products(const shs_context *ctx, const shs_compact *c, const shs_codes *codes) {
    shs_real *D = NEW(shs_real, P * c->n), *Z = NEW(shs_real, P * c->m), *W = NEW(shs_real, P * c->m);
    int k;
    for (k = 0; k < P * c->n; k++) D[k] = (shs_real)(k % 7 - 3) / 8;
    if (shs_compact_synthesize(ctx, P, c->n, D, P, c, 0, c->m, Z, P) == SHS_OK) {
        must(shs_codes_synthesize(ctx, P, c->n, D, P, codes, 0, c->m, W, P) == SHS_OK);
        must(memcmp(Z, W, P * c->m * sizeof *Z) == 0);
    }
    free(D);
    free(Z);
    free(W);
}

static void must_be_alike(const shs_codes *a, const shs_codes *b) {
    size_t i;
    int k;
    must(a->m == b->m);
    for (i = 0; i < a->m; i++) {
        const int *atoms_a = a->atoms + i * a->stride, *atoms_b = b->atoms + i * b->stride;
        const shs_real *coefs_a = a->coefs + i * a->stride, *coefs_b = b->coefs + i * b->stride;
        must(a->used[i] == b->used[i]);
        for (k = 0; k < a->used[i]; k++) {
            must(atoms_a[k] == atoms_b[k]);
            must(!(coefs_a[k] < coefs_b[k]));
            must(!(coefs_a[k] > coefs_b[k]));
        }
    }
}

/* Codes that were rounded to the type are saved, and loaded without a change. */
static void there_and_back(world *w, const shs_codes *codes, int n, shs_coef_type type) {
    memory_file f = SHS_ZERO;
    shs_codes got = SHS_ZERO;
    must(shs_compact_save(codes, n, type, write_bytes, &f) == SHS_OK);
    if (shs_compact_load(&w->ctx, n, read_bytes, &f, &got) == SHS_OK) {
        must(f.at == f.size);
        must_be_alike(codes, &got);
        shs_codes_free(&w->ctx, &got);
    }
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Writes a plausible head, and right check sums: always that of the head, on request that of the rest. */
static void head_of(input *in, memory_file *f, int flags) {
    int type = byte(in) % 3, n = byte(in), s = byte(in) % 8, m = 1 + byte(in) % 16, nonzeros = m * s;
    size_t length;
    if (flags & 8) n += 250;
    if (!(flags & 4)) nonzeros = byte(in) % 64;
    if (!(flags & 1)) {
        *f = file_of(in, 0);
        return;
    }
    *f = file_of(in, HEAD);
    memcpy(f->bytes, "SHScodes\1", 9);
    f->bytes[12] = type;
    f->bytes[16] = n & 255;
    f->bytes[17] = n >> 8;
    f->bytes[20] = s;
    f->bytes[24] = m;
    f->bytes[32] = nonzeros;
    length = shs_compact_size(n, type, m, s, nonzeros);
    if ((flags & 2) && length < sizeof f->bytes) {
        f->size = length; /* zeros follow what is there */
        sign(f->bytes + HEAD, length - 68, f->bytes + length - 4);
    }
    sign(f->bytes, 60, f->bytes + 60);
}

static void check_opened(world *w, memory_file *f, const shs_compact *c) {
    int stride = c->s, n = c->n;
    shs_codes codes, got = SHS_ZERO;
    size_t slots, i;
    must(shs_compact_size(n, c->type, c->m, c->s, c->nonzeros) <= f->size);
    if (!stride) stride = 1;
    codes = new_codes(c->m, stride);
    slots = c->m * stride;
    must(shs_compact_unpack(c, 0, c->m, &codes) == SHS_OK);
    must(shs_codes_nonzeros(&codes) == c->nonzeros && all_finite(slots, codes.coefs));
    for (i = 0; i < slots; i++) must(codes.atoms[i] >= 0 && codes.atoms[i] < n);
    same_products(&w->ctx, c, &codes);
    if (shs_compact_load(&w->ctx, n, read_bytes, f, &got) == SHS_OK) must_be_alike(&codes, &got);
    shs_codes_free(&w->ctx, &got);
    if (shs_codes_round(&w->ctx, 0, n, NULL, 0, c->type, &codes) == SHS_OK) there_and_back(w, &codes, n, c->type);
    drop_codes(&codes);
}

static void bytes_of_anything(world *w, input *in) {
    memory_file f;
    shs_compact c = SHS_ZERO;
    uint8_t *bytes;
    int flags = byte(in);
    head_of(in, &f, flags);
    bytes = NEW(uint8_t, f.size); /* so that the sanitizer sees what is read behind it */
    memcpy(bytes, f.bytes, f.size);
    if (shs_compact_open(bytes, f.size, &c) == SHS_OK) check_opened(w, &f, &c);
    else {
        shs_codes got = SHS_ZERO;
        shs_status status = shs_compact_load(&w->ctx, 1000, read_bytes, &f, &got);
        must(status != SHS_OK);
        check_world(w, status, 0);
    }
    free(bytes);
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

/* Rounding leaves numbers, and no coefficient changes its sign. */
static void check_rounded(const shs_codes *codes, const shs_real *before) {
    size_t stride = codes->stride, k;
    for (k = 0; k < codes->m * stride; k++) {
        shs_real now = codes->coefs[k], then = before[k];
        if ((int)(k % stride) >= codes->used[k / stride]) continue;
        must(isfinite(now));
        must(!(now > 0 && then < 0) && !(now < 0 && then > 0));
    }
}

static void codes_of_anything(world *w, input *in) {
    int p = 1 + byte(in) % 8, n = 1 + byte(in) % 12, m = 1 + byte(in) % 6, stride = 1 + byte(in) % 6, type = byte(in) % 3, k;
    int slots = m * stride, with = byte(in) % 4;
    shs_codes codes = new_codes(m, stride);
    shs_real *D, *before = NEW(shs_real, slots);
    const shs_real *given;
    shs_status status;
    extent of_D, of_coefs;
    for (k = 0; k < m; k++) codes.used[k] = byte(in) % (stride + 1);
    for (k = 0; k < slots; k++) codes.atoms[k] = byte(in) % n;
    D = drawn(in, p * n, &of_D);
    of_coefs = fill(in, slots, codes.coefs);
    memcpy(before, codes.coefs, slots * sizeof *before);
    given = D;
    if (!with) given = NULL;
    status = shs_codes_round(&w->ctx, p, n, given, p, type, &codes);
    check_world(w, status, 0);
    must(status != SHS_BAD_COEFS || !of_coefs.finite || of_coefs.most >= 65520);
    must(status != SHS_DICTIONARY_NOT_FINITE || (with && !of_D.finite));
    if (status == SHS_OK) {
        check_rounded(&codes, before);
        there_and_back(w, &codes, n, type);
    } else must(memcmp(before, codes.coefs, slots * sizeof *before) == 0);
    free(D);
    free(before);
    drop_codes(&codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    world w;
    input in = input_of(data, size);
    int which = byte(&in);
    world_of(&w, &in);
    if (which & 1) bytes_of_anything(&w, &in);
    else codes_of_anything(&w, &in);
    must(w.bad || w.outstanding == 0);
    return 0;
}
