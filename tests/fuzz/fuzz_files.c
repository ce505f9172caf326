/* fuzz_files.c - files that say they are numpy's. The input is such a file, which begins as one does in every second case.
   A header that is read is written, and the same is read again; so are the numbers. */
#include "fuzz.h"

enum { MOST = 500 };

/* Exactly as large as the numbers, so that the sanitizer sees what is written beside them. */
static void read_numbers(memory_file f, const shs_npy *npy, shs_type type) {
    size_t rows = npy->rows, size = shs_type_size(type), bytes = rows * npy->columns * size;
    uint8_t *A = NEW(uint8_t, bytes), *B = NEW(uint8_t, bytes);
    memory_file again = SHS_ZERO;
    shs_npy own = *npy;
    shs_status status = shs_npy_read_values(npy, type, A, rows, read_bytes, &f);
    must(f.at <= f.size);
    own.kind = 'f';
    if (type == SHS_TYPE_I32) own.kind = 'i';
    own.size = size;
    if (status == SHS_OK) {
        must(shs_npy_write_values(&own, type, A, rows, write_bytes, &again) == SHS_OK);
        must(again.size == bytes);
        must(shs_npy_read_values(&own, type, B, rows, read_bytes, &again) == SHS_OK);
        if (type == SHS_TYPE_I32) must(memcmp(A, B, bytes) == 0);
    }
    free(A);
    free(B);
}

/* The header that is written for a header that was read is the same. */
static void write_again(const shs_npy *npy) {
    memory_file again = SHS_ZERO;
    shs_npy twice = SHS_ZERO;
    must(shs_npy_write_header(npy, write_bytes, &again) == SHS_OK && again.size == 128);
    must(shs_npy_read_header(&twice, read_bytes, &again) == SHS_OK);
    must(npy->kind == twice.kind && npy->size == twice.size && npy->fortran_order == twice.fortran_order);
    must(npy->dimensions == twice.dimensions && npy->rows == twice.rows && npy->columns == twice.columns);
    must(npy->big_endian == twice.big_endian || npy->size == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const shs_type types[] = {SHS_TYPE_REAL, SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_I32};
    memory_file f, parts[3];
    shs_npy npy = SHS_ZERO;
    shs_codes codes;
    world w;
    int i;
    input in = input_of(data, size);
    int flags = byte(&in);
    world_of(&w, &in);
    if (flags & 1) {
        f = file_of(&in, 10);
        memcpy(f.bytes, "\x93NUMPY\1\0\76\0", 10);
    } else f = file_of(&in, 0);
    if (shs_npy_read_header(&npy, read_bytes, &f) == SHS_OK) {
        write_again(&npy);
        for (i = 0; i < 4 && npy.rows <= MOST && npy.columns <= MOST && npy.rows * npy.columns <= MOST; i++)
            read_numbers(f, &npy, types[i]);
    }
    must(f.at <= f.size);
    for (i = 0; i < 3; i++) {
        parts[i] = f;
        parts[i].at = 0;
    }
    if (shs_npy_load_codes(&w.ctx, 1 + flags / 2, read_bytes, parts, parts + 1, parts + 2, &codes) == SHS_OK)
        shs_codes_free(&w.ctx, &codes);
    must(w.outstanding == 0);
    return 0;
}
