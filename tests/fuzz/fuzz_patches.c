/* fuzz_patches.c - images taken apart into patches and put together again. */
#include "fuzz.h"

/* Bytes of any kind, in a buffer that ends with the last pixel. */
static void *pixels_of(input *in, shs_type type, size_t count, extent *e) {
    size_t size = shs_type_size(type) ? shs_type_size(type) : 1, i;
    unsigned char *pixels = NEW(unsigned char, count *size);
    shs_real *values = NEW(shs_real, count);
    *e = fill(in, count, values);
    for (i = 0; i < count; i++) {
        float f = (float)values[i];
        double d = (double)values[i];
        if (type == SHS_TYPE_F32) memcpy(pixels + i * size, &f, sizeof f);
        else if (type == SHS_TYPE_F64) memcpy(pixels + i * size, &d, sizeof d);
        else if (type == SHS_TYPE_REAL) memcpy(pixels + i * size, values + i, sizeof *values);
        else memset(pixels + i * size, (int)(i * 37 % 251), size);
    }
    if (type != SHS_TYPE_F32 && type != SHS_TYPE_F64 && type != SHS_TYPE_REAL) e->finite = 1, e->most = 255, e->least = 1;
    free(values);
    return pixels;
}

static void set_of(input *in, shs_patches *set) {
    int flags = byte(in);
    memset(set, 0, sizeof *set);
    set->width = within(in, 0, 5) - (flags == 255), set->height = within(in, 0, 5);
    set->mode = (shs_patch_mode)(flags >> 6 == 3 && (flags & 15) == 15 ? 5 : (flags & 3) % 3);
    set->step_x = within(in, 0, 4) - (flags == 254), set->step_y = within(in, 0, 4);
    set->count = (size_t)byte(in), set->seed = (uint64_t)byte(in);
    set->keep_mean = flags >> 2 & 1, set->unit_norm = flags >> 3 & 1;
}

static void there_and_back(input *in, world *w, const shs_image *image, const shs_patches *set, const extent *e, int p,
                           size_t count) {
    int channels = image->channels ? image->channels : 1, ldy = leading_of(in, p);
    size_t first = (size_t)within(in, 0, 8), some = count > first ? count - first : 1, i;
    size_t area = (size_t)image->width * (size_t)image->height, all = area * (size_t)channels;
    output Y, means, norms, sum = output_of(all * sizeof(shs_real)), weight = output_of(area * sizeof(shs_real));
    shs_status status;
    if (some > 40) some = 40;
    if (one_in(in, 16)) some = count + 1;
    Y = output_of(some * (size_t)positive(ldy + 1) * sizeof(shs_real));
    means = output_of(some * (size_t)channels * sizeof(shs_real)), norms = output_of(some * sizeof(shs_real));
    status = shs_patches_get(&w->ctx, image, set, first, some, AS(shs_real, Y), ldy, AS(shs_real, means), AS(shs_real, norms));
    check_world(w, status, 0);
    if (status != SHS_OK && status != SHS_CANCELLED) must(untouched(&Y) && untouched(&means) && untouched(&norms));
    if (status == SHS_OK) {
        int x, y;
        must(shs_patches_position(image, set, first + some - 1, &x, &y) == SHS_OK);
        must(x >= 0 && y >= 0 && x < image->width && y < image->height);
        memset(sum.bytes, 0, sum.size), memset(weight.bytes, 0, weight.size);
        status =
            shs_patches_put(&w->ctx, image, set, first, some, AS(shs_real, Y), ldy, set->keep_mean ? NULL : AS(shs_real, means),
                            set->unit_norm ? AS(shs_real, norms) : NULL, AS(shs_real, sum), AS(shs_real, weight));
        check_world(w, status, 0);
        if (status == SHS_OK) {
            status = shs_patches_average(&w->ctx, image, 0, AS(shs_real, sum), AS(shs_real, weight), AS(shs_real, sum));
            check_world(w, status, 0);
        }
        if (status == SHS_OK && tame(e)) /* what was taken apart and not changed is there again */
            for (i = 0; i < all; i++) {
                size_t row = i / ((size_t)image->width * (size_t)channels),
                       column = i % ((size_t)image->width * (size_t)channels);
                size_t stride = image->row_stride ? image->row_stride : (size_t)image->width * (size_t)channels;
                const unsigned char *at = (const unsigned char *)image->pixels +
                                          (row * stride + column) * shs_type_size(image->type);
                float f;
                double d, was;
                memcpy(&f, at, image->type == SHS_TYPE_F32 ? sizeof f : 1),
                    memcpy(&d, at, image->type == SHS_TYPE_F64 ? sizeof d : 1);
                was = image->type == SHS_TYPE_U8 ? (double)*at : image->type == SHS_TYPE_F64 ? d : (double)f;
                if (image->type != SHS_TYPE_REAL) must(fabs((double)AS(shs_real, sum)[i] - was) <= 1e-4 * e->most);
            }
    }
    output_free(&Y), output_free(&means), output_free(&norms), output_free(&sum), output_free(&weight);
}

static void approximate(input *in, world *w, const shs_image *image, const shs_patches *set, const extent *e, int p) {
    int n = size_of(in, 12), ldd = leading_of(in, p), channels = image->channels ? image->channels : 1;
    size_t all = (size_t)image->width * (size_t)image->height * (size_t)channels;
    shs_real *D = NEW(shs_real, count_of(ldd + 1, n));
    extent of_D = fill(in, count_of(ldd + 1, n), D);
    output out = output_of(all * sizeof(shs_real)), report = output_of(sizeof(shs_omp_report));
    shs_omp_options o = SHS_ZERO;
    shs_real lambda = (shs_real)within(in, -1, 2);
    shs_status status;
    o.sparsity = within(in, -1, 5), o.tolerance = (shs_real)within(in, -1, 3);
    must(shs_patches_approximate_workspace(&w->ctx, image, set, n, &o) > 0);
    status = shs_patches_approximate(&w->ctx, image, set, n, D, ldd, &o, lambda, AS(shs_real, out), AS(shs_omp_report, report));
    check_world(w, status, 0);
    if (status != SHS_OK && status != SHS_CANCELLED) must(untouched(&out) && untouched(&report));
    if (status == SHS_OK && tame(e) && tame(&of_D) && lambda >= 0) must(all_finite(all, AS(shs_real, out)));
    free(D), output_free(&out), output_free(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = input_of(data, size);
    world w;
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};
    shs_image image = SHS_ZERO;
    shs_patches set;
    extent e;
    int flags, p = -3, channels, wild;
    size_t count, stride, again;
    world_of(&w, &in);
    flags = byte(&in), wild = (flags & 63) == 63;
    image.width = size_of(&in, 9), image.height = size_of(&in, 9), image.channels = within(&in, 0, 3);
    image.type = byte(&in) % 16 == 15 ? (shs_type)17 : types[flags >> 6];
    channels = image.channels ? image.channels : 1;
    image.row_stride = (flags & 1) ? (size_t)positive(positive(image.width) * channels + within(&in, -1, 3)) : 0;
    stride = image.row_stride ? image.row_stride : (size_t)(positive(image.width) * channels);
    image.pixels = pixels_of(&in, image.type, stride * (size_t)positive(image.height), &e);
    set_of(&in, &set);
    count = shs_patches_count(&image, &set, &p);
    again = shs_patches_count(&image, &set, NULL);
    must(count == again && (count == 0 || p > 0));
    if (wild) { /* sizes that are only counted */
        image.width = any_int(&in), image.height = any_int(&in), image.channels = any_int(&in), image.row_stride = 0;
        set.width = any_int(&in), set.height = any_int(&in), set.step_x = any_int(&in), set.count = SIZE_MAX;
        (void)shs_patches_count(&image, &set, &p);
        (void)shs_patches_approximate_workspace(&w.ctx, &image, &set, any_int(&in), NULL);
    } else if (count && (flags & 2)) there_and_back(&in, &w, &image, &set, &e, p, count);
    else if (image.width > 0 && image.height > 0) approximate(&in, &w, &image, &set, &e, count ? p : 1);
    free((void *)image.pixels);
    return 0;
}
