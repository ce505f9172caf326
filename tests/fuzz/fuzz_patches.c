/* fuzz_patches.c - images taken apart into patches and put together again. */
#include "fuzz.h"

/* ---- images ------------------------------------------------------------------------------------------------------ */

static int is_real(shs_type type) { return type == SHS_TYPE_F32 || type == SHS_TYPE_F64 || type == SHS_TYPE_REAL; }

/* Writes the value as a number of the type. Other types get bytes that depend on i. */
static void put_pixel(unsigned char *to, shs_type type, size_t size, shs_real value, size_t i) {
    float f = value;
    double d = value;
    if (type == SHS_TYPE_F32) memcpy(to, &f, sizeof f);
    else if (type == SHS_TYPE_F64) memcpy(to, &d, sizeof d);
    else if (type == SHS_TYPE_REAL) memcpy(to, &value, sizeof value);
    else memset(to, (int)(i * 37 % 251), size);
}

static double pixel_at(const unsigned char *at, shs_type type) {
    float f;
    double d;
    if (type == SHS_TYPE_U8) return *at;
    if (type == SHS_TYPE_F64) {
        memcpy(&d, at, sizeof d);
        return d;
    }
    memcpy(&f, at, sizeof f);
    return f;
}

/* Bytes of any kind, in a buffer that ends with the last pixel. */
static void *pixels_of(input *in, shs_type type, size_t count, extent *e) {
    size_t size = shs_type_size(type), i;
    unsigned char *pixels;
    shs_real *values;
    if (!size) size = 1;
    pixels = NEW(unsigned char, count * size);
    values = drawn(in, count, e);
    for (i = 0; i < count; i++) put_pixel(pixels + i * size, type, size, values[i], i);
    if (!is_real(type)) {
        e->finite = 1;
        e->most = 255;
        e->least = 1;
    }
    free(values);
    return pixels;
}

static int channels_of(const shs_image *image) {
    if (image->channels) return image->channels;
    return 1;
}

/* How many values a row has, and how far rows are apart. */
static size_t row_of(const shs_image *image) { return count_of(image->width, channels_of(image)); }
static size_t stride_of(const shs_image *image) {
    if (image->row_stride) return image->row_stride;
    return row_of(image);
}

/* The two highest bits of `flags` choose the type. */
static void image_of(input *in, shs_image *image, int flags, extent *e) {
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};
    memset(image, 0, sizeof *image);
    image->width = size_of(in, 9);
    image->height = size_of(in, 9);
    image->channels = within(in, 0, 3);
    image->type = types[flags >> 6];
    if (byte(in) % 16 == 15) image->type = (shs_type)17;
    if (flags & 1) image->row_stride = positive((int)row_of(image) + within(in, -1, 3));
    image->pixels = pixels_of(in, image->type, stride_of(image) * positive(image->height), e);
}

static shs_patch_mode mode_of(int flags) {
    if ((flags & 207) == 207) return (shs_patch_mode)5;
    return (flags & 3) % 3;
}

static void set_of(input *in, shs_patches *set) {
    int flags = byte(in);
    memset(set, 0, sizeof *set);
    set->width = within(in, 0, 5) - (flags == 255);
    set->height = within(in, 0, 5);
    set->mode = mode_of(flags);
    set->step_x = within(in, 0, 4) - (flags == 254);
    set->step_y = within(in, 0, 4);
    set->count = byte(in);
    set->seed = byte(in);
    set->keep_mean = flags >> 2 & 1;
    set->unit_norm = flags >> 3 & 1;
}

/* ---- there and back ---------------------------------------------------------------------------------------------- */

/* Patches `first` to `first + count - 1` of an image. */
typedef struct portion {
    const shs_image *image;
    const shs_patches *set;
    size_t first, count;
    int ldy;
    output Y, means, norms;
} portion;

static portion portion_of(input *in, const shs_image *image, const shs_patches *set, int p, size_t count) {
    portion t;
    t.image = image;
    t.set = set;
    t.ldy = leading_of(in, p);
    t.first = within(in, 0, 8);
    t.count = 1;
    if (count > t.first) t.count = count - t.first;
    if (t.count > 40) t.count = 40;
    if (one_in(in, 16)) t.count = count + 1;
    t.Y = OUTPUT(shs_real, t.count * positive(t.ldy + 1));
    t.means = OUTPUT(shs_real, t.count * channels_of(image));
    t.norms = OUTPUT(shs_real, t.count);
    return t;
}

static shs_status get(world *w, portion *t) {
    shs_status status = shs_patches_get(&w->ctx, t->image, t->set, t->first, t->count, AS(shs_real, t->Y), t->ldy,
                                        AS(shs_real, t->means), AS(shs_real, t->norms));
    int x, y;
    check_world(w, status, 0);
    if (status != SHS_OK && status != SHS_CANCELLED) must(untouched(&t->Y) && untouched(&t->means) && untouched(&t->norms));
    if (status != SHS_OK) return status;
    must(shs_patches_position(t->image, t->set, t->first + t->count - 1, &x, &y) == SHS_OK);
    must(x >= 0 && y >= 0 && x < t->image->width && y < t->image->height);
    return SHS_OK;
}

static shs_status put(world *w, portion *t, shs_real *sum, shs_real *weight) {
    const shs_real *means = NULL, *norms = NULL;
    shs_status status;
    if (!t->set->keep_mean) means = AS(shs_real, t->means);
    if (t->set->unit_norm) norms = AS(shs_real, t->norms);
    status = shs_patches_put(&w->ctx, t->image, t->set, t->first, t->count, AS(shs_real, t->Y), t->ldy, means, norms, sum, weight);
    check_world(w, status, 0);
    if (status != SHS_OK) return status;
    status = shs_patches_average(&w->ctx, t->image, 0, sum, weight, sum);
    check_world(w, status, 0);
    return status;
}

/* What was taken apart and not changed is there again. */
static void check_image(const shs_image *image, const shs_real *sum, double most) {
    const unsigned char *pixels = (const unsigned char *)image->pixels;
    size_t row = row_of(image), stride = stride_of(image), size = shs_type_size(image->type), i;
    if (image->type == SHS_TYPE_REAL) return;
    for (i = 0; i < row * image->height; i++) {
        double was = pixel_at(pixels + (i / row * stride + i % row) * size, image->type);
        must(fabs(sum[i] - was) <= 1e-4 * most);
    }
}

static void there_and_back(input *in, world *w, const shs_image *image, const shs_patches *set, const extent *e, int p,
                           size_t count) {
    portion t = portion_of(in, image, set, p, count);
    size_t area = count_of(image->width, image->height), all = area * channels_of(image), i;
    shs_real *sum = NEW(shs_real, all), *weight = NEW(shs_real, area);
    shs_status status = get(w, &t);
    for (i = 0; i < all; i++) sum[i] = 0;
    for (i = 0; i < area; i++) weight[i] = 0;
    if (status == SHS_OK) status = put(w, &t, sum, weight);
    if (status == SHS_OK && tame(e)) check_image(image, sum, e->most);
    output_free(&t.Y);
    output_free(&t.means);
    output_free(&t.norms);
    free(sum);
    free(weight);
}

/* ---- approximation ----------------------------------------------------------------------------------------------- */

static void approximate(input *in, world *w, const shs_image *image, const shs_patches *set, const extent *e, int p) {
    int n = size_of(in, 12), ldd = leading_of(in, p);
    size_t all = count_of(image->width, image->height) * channels_of(image);
    extent of_D;
    shs_real *D = drawn(in, count_of(ldd + 1, n), &of_D), lambda = within(in, -1, 2);
    output out = OUTPUT(shs_real, all), report = OUTPUT(shs_omp_report, 1);
    shs_omp_options o = SHS_ZERO;
    shs_status status;
    o.sparsity = within(in, -1, 5);
    o.tolerance = within(in, -1, 3);
    must(shs_patches_approximate_workspace(&w->ctx, image, set, n, &o) > 0);
    status = shs_patches_approximate(&w->ctx, image, set, n, D, ldd, &o, lambda, AS(shs_real, out), AS(shs_omp_report, report));
    check_world(w, status, 0);
    if (status != SHS_OK && status != SHS_CANCELLED) must(untouched(&out) && untouched(&report));
    if (status == SHS_OK && tame(e) && tame(&of_D) && lambda >= 0) must(all_finite(all, AS(shs_real, out)));
    free(D);
    output_free(&out);
    output_free(&report);
}

/* Sizes that are only counted. */
static void queries(input *in, const world *w, shs_image image, shs_patches set) {
    int p;
    image.width = any_int(in);
    image.height = any_int(in);
    image.channels = any_int(in);
    image.row_stride = 0;
    set.width = any_int(in);
    set.height = any_int(in);
    set.step_x = any_int(in);
    set.count = SIZE_MAX;
    (void)shs_patches_count(&image, &set, &p);
    (void)shs_patches_approximate_workspace(&w->ctx, &image, &set, any_int(in), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = input_of(data, size);
    world w;
    shs_image image;
    shs_patches set;
    extent e;
    int flags, p = -3;
    size_t count, again;
    world_of(&w, &in);
    flags = byte(&in);
    image_of(&in, &image, flags, &e);
    set_of(&in, &set);
    count = shs_patches_count(&image, &set, &p);
    again = shs_patches_count(&image, &set, NULL);
    must(count == again && (count == 0 || p > 0));
    if ((flags & 63) == 63) queries(&in, &w, image, set);
    else if (count && (flags & 2)) there_and_back(&in, &w, &image, &set, &e, p, count);
    else if (image.width > 0 && image.height > 0) {
        if (!count) p = 1;
        approximate(&in, &w, &image, &set, &e, p);
    }
    free((void *)image.pixels);
    return 0;
}
