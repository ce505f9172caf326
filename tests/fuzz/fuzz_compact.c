/* fuzz_compact.c - codes in few bytes. The input is such bytes, of which a plausible head and right check sums are made in some
   cases, or codes that are rounded, saved and loaded. */
#include "../memory_file.h"
#include "fuzz.h"

enum { P = 3 };

static void sign(const uint8_t *bytes, size_t count, uint8_t *to) {
    uint32_t crc = 0xffffffffu;
    size_t i;
    int b;
    for (i = 0; i < count; i++)
        for (crc ^= bytes[i], b = 0; b < 8; b++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    for (b = 0; b < 4; b++) to[b] = (uint8_t)(~crc >> 8 * b);
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
    free(D), free(Z), free(W);
}

static void must_be_alike(const shs_codes *a, const shs_codes *b) {
    size_t i, k;
    must(a->m == b->m);
    for (i = 0; i < a->m; i++) {
        must(a->used[i] == b->used[i]);
        for (k = 0; k < (size_t)a->used[i]; k++) {
            must(a->atoms[i * (size_t)a->stride + k] == b->atoms[i * (size_t)b->stride + k]);
            must(!(a->coefs[i * (size_t)a->stride + k] < b->coefs[i * (size_t)b->stride + k]));
            must(!(a->coefs[i * (size_t)a->stride + k] > b->coefs[i * (size_t)b->stride + k]));
        }
    }
}

/* What was rounded to the type is saved, and loaded as it was. */
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

static void bytes_of_anything(world *w, input *in) {
    memory_file f = SHS_ZERO;
    shs_compact c = SHS_ZERO;
    shs_codes got = SHS_ZERO;
    int flags = byte(in), type = byte(in) % 3, n = byte(in) + (flags & 8 ? 250 : 0), s = byte(in) % 8, m = 1 + byte(in) % 16;
    int nonzeros = flags & 4 ? m * s : byte(in) % 64;
    size_t i, left = (size_t)(in->end - in->at), length = 0;
    uint8_t *bytes;
    f.size = left > sizeof f.bytes - 64 ? sizeof f.bytes - 64 : left;
    if (f.size > 0) memcpy(f.bytes + (flags & 1 ? 64 : 0), in->at, f.size);
    if (flags & 1) {
        memcpy(f.bytes, "SHScodes\1", 9);
        f.bytes[12] = (uint8_t)type, f.bytes[16] = (uint8_t)(n & 255), f.bytes[17] = (uint8_t)(n >> 8);
        f.bytes[20] = (uint8_t)s, f.bytes[24] = (uint8_t)m, f.bytes[32] = (uint8_t)nonzeros;
        f.size += 64;
        length = shs_compact_size(n, (shs_coef_type)type, (size_t)m, s, (size_t)nonzeros);
        if (flags & 2 && length < sizeof f.bytes) {
            f.size = length; /* zeros follow what is there */
            sign(f.bytes + 64, length - 68, f.bytes + length - 4);
        }
        sign(f.bytes, 60, f.bytes + 60);
    }
    bytes = NEW(uint8_t, f.size); /* so that the sanitizer sees what is read behind it */
    memcpy(bytes, f.bytes, f.size);
    if (shs_compact_open(bytes, f.size, &c) == SHS_OK) {
        shs_codes codes = SHS_ZERO;
        must(shs_compact_size(c.n, c.type, c.m, c.s, c.nonzeros) <= f.size);
        codes.m = c.m, codes.stride = c.s ? c.s : 1;
        codes.used = NEW(int, c.m), codes.atoms = NEW(int, c.m * (size_t)codes.stride);
        codes.coefs = NEW(shs_real, c.m * (size_t)codes.stride);
        must(shs_compact_unpack(&c, 0, c.m, &codes) == SHS_OK);
        must(shs_codes_nonzeros(&codes) == c.nonzeros && all_finite(c.m * (size_t)codes.stride, codes.coefs));
        for (i = 0; i < c.m * (size_t)codes.stride; i++) must(codes.atoms[i] >= 0 && codes.atoms[i] < c.n);
        same_products(&w->ctx, &c, &codes);
        if (shs_compact_load(&w->ctx, c.n, read_bytes, &f, &got) == SHS_OK) must_be_alike(&codes, &got);
        shs_codes_free(&w->ctx, &got);
        if (shs_codes_round(&w->ctx, 0, c.n, NULL, 0, c.type, &codes) == SHS_OK) there_and_back(w, &codes, c.n, c.type);
        free(codes.used), free(codes.atoms), free(codes.coefs);
    } else {
        shs_status status = shs_compact_load(&w->ctx, 1000, read_bytes, &f, &got);
        must(status != SHS_OK);
        check_world(w, status, 0);
    }
    free(bytes);
}

static void codes_of_anything(world *w, input *in) {
    int p = 1 + byte(in) % 8, n = 1 + byte(in) % 12, m = 1 + byte(in) % 6, stride = 1 + byte(in) % 6, type = byte(in) % 3, k;
    int with = byte(in) % 4;
    shs_real *D = NEW(shs_real, p * n), *before;
    shs_codes codes = SHS_ZERO;
    shs_status status;
    extent of_D, of_coefs;
    codes.m = (size_t)m, codes.stride = stride;
    codes.used = NEW(int, m), codes.atoms = NEW(int, m * stride), codes.coefs = NEW(shs_real, m * stride);
    before = NEW(shs_real, m * stride);
    for (k = 0; k < m; k++) codes.used[k] = byte(in) % (stride + 1);
    for (k = 0; k < m * stride; k++) codes.atoms[k] = byte(in) % n;
    of_D = fill(in, (size_t)(p * n), D), of_coefs = fill(in, (size_t)(m * stride), codes.coefs);
    memcpy(before, codes.coefs, (size_t)(m * stride) * sizeof *before);
    status = shs_codes_round(&w->ctx, p, n, with ? D : NULL, p, (shs_coef_type)type, &codes);
    check_world(w, status, 0);
    must(status != SHS_BAD_COEFS || !of_coefs.finite || of_coefs.most >= 65520);
    must(status != SHS_DICTIONARY_NOT_FINITE || (with && !of_D.finite));
    if (status != SHS_OK) must(memcmp(before, codes.coefs, (size_t)(m * stride) * sizeof *before) == 0);
    else {
        for (k = 0; k < m * stride; k++) {
            if (k % stride >= codes.used[k / stride]) continue;
            must(isfinite(codes.coefs[k]));
            must(!(codes.coefs[k] > 0 && before[k] < 0) && !(codes.coefs[k] < 0 && before[k] > 0));
        }
        there_and_back(w, &codes, n, (shs_coef_type)type);
    }
    free(D), free(before), free(codes.used), free(codes.atoms), free(codes.coefs);
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
