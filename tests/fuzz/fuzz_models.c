/* fuzz_models.c - files that say they are models. The input is such a file. Every second case gets right check sums, so that
   the code after the checks runs. A loaded model is saved and loaded again, and must be equal. */
#include "fuzz.h"

/* Returns the length of the file that the first bytes describe; a length beyond the room if they describe no model. */
static size_t length_of(const uint8_t *bytes) {
    size_t n = bytes[16], k = bytes[20], e = bytes[24], values = 2 * n + e + 2 * n * k;
    if (bytes[12] == 2) values = n + k + 3 * n * k + k * k + 7 * k;
    return 68 + 8 * (values + (bytes[28] & 1) * n);
}

static memory_file model_file(const input *in, int flags) {
    memory_file f;
    if (flags & 2) {
        f = file_of(in, 8);
        memcpy(f.bytes, "SHSmodel", 8);
    } else f = file_of(in, 0);
    if (flags & 1) { /* zeros follow what is there */
        if (f.size < 64) f.size = 64;
        if (length_of(f.bytes) < sizeof f.bytes) f.size = length_of(f.bytes);
        sign(f.bytes, 60, f.bytes + 60);
        if (f.size > 68) sign(f.bytes + 64, f.size - 68, f.bytes + f.size - 4);
    }
    return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memory_file f, again = SHS_ZERO;
    shs_model m, twice;
    world w;
    shs_status status;
    input in = input_of(data, size);
    int flags = byte(&in);
    world_of(&w, &in);
    f = model_file(&in, flags);
    status = shs_model_load(&w.ctx, read_bytes, &f, &m);
    must(f.at <= f.size);
    if (status == SHS_OK) {
        must(shs_model_save(&m, write_bytes, &again) == SHS_OK && again.size == f.at);
        w.allocations_left = -1;
        must(shs_model_load(&w.ctx, read_bytes, &again, &twice) == SHS_OK);
        must(m.kind == twice.kind && (m.wavelengths != NULL) == (twice.wavelengths != NULL));
        shs_model_free(&w.ctx, &twice);
        shs_model_free(&w.ctx, &m);
    }
    must(w.outstanding == 0);
    return 0;
}
