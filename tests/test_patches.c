/* test_patches.c - patches out of images and back, and their approximation over a dictionary. */
#include "test.h"

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* A random image of any type and stride; the gaps at the ends of the rows hold NaN (or 255), which nobody may read. */
static shs_image new_image(shs_type type, int width, int height, int channels, size_t gap, uint64_t seed) {
    shs_image image = SHS_ZERO;
    size_t values = (size_t)width * (size_t)(channels ? channels : 1), stride = values + gap, count = stride * (size_t)height,
           i;
    void *pixels = malloc(count * sizeof(double));
    shs_random r;
    shs_random_seed(&r, seed);
    for (i = 0; i < count; i++) {
        double value = i % stride < values ? (double)shs_random_below(&r, 256) : (double)NAN;
        if (type != SHS_TYPE_U8) value += (double)shs_random_uniform(&r);
        switch (type) {
        case SHS_TYPE_U8: ((unsigned char *)pixels)[i] = (unsigned char)(i % stride < values ? value : 255); break;
        case SHS_TYPE_F32: ((float *)pixels)[i] = (float)value; break;
        case SHS_TYPE_F64: ((double *)pixels)[i] = value; break;
        default: ((shs_real *)pixels)[i] = (shs_real)value; break;
        }
    }
    image.pixels = pixels;
    image.type = type;
    image.width = width;
    image.height = height;
    image.channels = channels;
    image.row_stride = gap ? stride : 0;
    return image;
}

static void image_free(shs_image *image) { free((void *)image->pixels); }

static int channels_of(const shs_image *image) { return image->channels ? image->channels : 1; }

static size_t pixels_of(const shs_image *image) { return (size_t)image->width * (size_t)image->height; }

static double pixel(const shs_image *image, int x, int y, int c) {
    size_t stride = image->row_stride ? image->row_stride : (size_t)image->width * (size_t)channels_of(image);
    size_t at = (size_t)y * stride + (size_t)x * (size_t)channels_of(image) + (size_t)c;
    switch (image->type) {
    case SHS_TYPE_U8: return ((const unsigned char *)image->pixels)[at];
    case SHS_TYPE_F32: return (double)((const float *)image->pixels)[at];
    case SHS_TYPE_F64: return ((const double *)image->pixels)[at];
    default: return (double)((const shs_real *)image->pixels)[at];
    }
}

static int patch_width(const shs_patches *set) { return set->width ? set->width : 8; }
static int patch_height(const shs_patches *set) { return set->height ? set->height : 8; }

/* Relative to values of up to 256. */
#define EXACT BY_TYPE(1e-3, 1e-11)

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* The naive list of positions along one axis: every step-th, and the last. */
static int grid_axis(int length, int patch, int step, int *positions) {
    int count = 0, at;
    for (at = 0; at <= length - patch; at += step) positions[count++] = at;
    if (positions[count - 1] != length - patch) positions[count++] = length - patch;
    return count;
}

static void check_grid(int width, int height, int pw, int ph, int sx, int sy) {
    shs_image image = new_image(SHS_TYPE_U8, width, height, 1, 0, 1);
    shs_patches set = SHS_ZERO;
    int *xs = (int *)malloc((size_t)width * sizeof *xs), *ys = (int *)malloc((size_t)height * sizeof *ys), nx, ny, i,
        p = 0;
    set.width = pw;
    set.height = ph;
    set.step_x = sx;
    set.step_y = sy;
    nx = grid_axis(width, patch_width(&set), sx ? sx : 1, xs);
    ny = grid_axis(height, patch_height(&set), sy ? sy : 1, ys);
    assert_int_equal(shs_patches_count(&image, &set, &p), nx * ny);
    assert_int_equal(p, patch_width(&set) * patch_height(&set));
    for (i = 0; i < nx * ny; i++) {
        int x = -1, y = -1;
        assert_ok(shs_patches_position(&image, &set, (size_t)i, &x, &y));
        assert_int_equal(x, xs[i % nx]);
        assert_int_equal(y, ys[i / nx]);
    }
    free(xs);
    free(ys);
    image_free(&image);
}

static void test_grid_positions(void **state) {
    (void)state;
    check_grid(31, 23, 8, 8, 1, 1);
    check_grid(31, 23, 0, 0, 0, 0);
    check_grid(31, 23, 8, 8, 3, 5);
    check_grid(32, 24, 8, 8, 4, 4);
    check_grid(33, 25, 7, 3, 100, 1000);
    check_grid(8, 8, 8, 8, 1, 1);
    check_grid(5, 1, 1, 1, 2, 2);
    check_grid(17, 9, 17, 2, 3, 3);
    check_grid(17, 9, 2, 9, INT_MAX, INT_MAX);
}

static void test_distinct_positions(void **state) {
    shs_image image = new_image(SHS_TYPE_U8, 37, 21, 3, 0, 2);
    shs_patches set = SHS_ZERO;
    int p = 0, i, x = 0, y = 0;
    (void)state;
    set.mode = SHS_PATCH_MODE_DISTINCT;
    set.width = 5;
    set.height = 4;
    set.step_x = set.step_y = 2; /* not for this mode */
    assert_int_equal(shs_patches_count(&image, &set, &p), 7 * 5);
    assert_int_equal(p, 60);
    for (i = 0; i < 35; i++) {
        assert_ok(shs_patches_position(&image, &set, (size_t)i, &x, &y));
        assert_int_equal(x, 5 * (i % 7));
        assert_int_equal(y, 4 * (i / 7));
    }
    image_free(&image);
}

static void test_random_positions(void **state) {
    shs_image image = new_image(SHS_TYPE_U8, 30, 20, 1, 0, 3);
    unsigned char *taken = (unsigned char *)malloc(23 * 13);
    shs_patches set = SHS_ZERO;
    int moved = 0, round;
    size_t i;
    (void)state;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.seed = 9;
    for (round = 0; round < 3; round++) {
        size_t expected = round == 0 ? 40 : 23 * 13; /* all of them when there are fewer than asked for */
        if (round == 0) set.count = 40;
        else if (round == 1) set.count = 23 * 13;
        else set.count = 100000;
        memset(taken, 0, 23 * 13);
        assert_int_equal(shs_patches_count(&image, &set, NULL), expected);
        for (i = 0; i < expected; i++) {
            int x = -1, y = -1, again_x = -2, again_y = -2, other_x = -1, other_y = -1;
            shs_patches other = set;
            other.seed = 10;
            assert_ok(shs_patches_position(&image, &set, i, &x, &y));
            assert_ok(shs_patches_position(&image, &set, i, &again_x, &again_y));
            assert_ok(shs_patches_position(&image, &other, i, &other_x, &other_y));
            assert_true(x >= 0 && x <= 22 && y >= 0 && y <= 12);
            assert_false(taken[23 * y + x]++);
            assert_true(x == again_x && y == again_y);
            moved += x != other_x || y != other_y;
        }
    }
    assert_true(moved > 500); /* another seed, other positions */
    free(taken);
    image_free(&image);
}

/* ---- out of the image -------------------------------------------------------------------------------------------- */

/* All patches of a set, with their means and norms. */
typedef struct signals {
    int p, channels;
    size_t count;
    shs_real *Y, *means, *norms;
} signals;

static signals get_all(const shs_context *ctx, const shs_image *image, const shs_patches *set) {
    signals s;
    s.channels = channels_of(image);
    s.count = shs_patches_count(image, set, &s.p);
    assert_true(s.count > 0);
    s.Y = (shs_real *)malloc((size_t)s.p * s.count * sizeof *s.Y);
    s.means = (shs_real *)malloc((size_t)s.channels * s.count * sizeof *s.means);
    s.norms = (shs_real *)malloc(s.count * sizeof *s.norms);
    assert_ok(shs_patches_get(ctx, image, set, 0, s.count, s.Y, s.p, s.means, s.norms));
    return s;
}

static void signals_free(signals *s) { free(s->Y), free(s->means), free(s->norms); }

/* Compares one patch with the pixels it came from. */
static void check_patch(const shs_image *image, const shs_patches *set, const signals *s, size_t i) {
    int pw = patch_width(set), ph = patch_height(set), x = 0, y = 0, row, column, c;
    const shs_real *patch = s->Y + i * (size_t)s->p;
    double norm = 0;
    assert_ok(shs_patches_position(image, set, i, &x, &y));
    for (c = 0; c < s->channels; c++) {
        double mean = 0;
        for (row = 0; row < ph; row++)
            for (column = 0; column < pw; column++) mean += pixel(image, x + column, y + row, c) / (pw * ph);
        if (set->keep_mean) mean = 0;
        assert_close(s->means[i * (size_t)s->channels + (size_t)c], mean, EXACT);
        for (row = 0; row < ph; row++)
            for (column = 0; column < pw; column++) {
                double value = pixel(image, x + column, y + row, c) - mean;
                double stored = (double)patch[(c * ph + row) * pw + column];
                if (set->unit_norm) stored *= (double)s->norms[i];
                assert_close(stored, value, EXACT);
                norm += value * value;
            }
    }
    if (set->unit_norm) assert_close(s->norms[i], sqrt(norm), EXACT);
    else assert_close(s->norms[i], 1, 0);
}

static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};

static shs_patches set_of(int mode, int k) {
    shs_patches set = SHS_ZERO;
    set.mode = (shs_patch_mode)mode;
    set.width = 5;
    set.height = 3;
    set.step_x = 2;
    set.step_y = 4;
    set.count = 50;
    set.seed = 4;
    set.keep_mean = k & 1;
    set.unit_norm = k & 2;
    return set;
}

static void test_get(void **state) {
    int type, mode, k, channels, gap;
    size_t i;
    (void)state;
    for (type = 0; type < 4; type++)
        for (channels = 0; channels <= 3; channels += 3)
            for (gap = 0; gap <= 7; gap += 7) {
                shs_image image = new_image(types[type], 29, 17, channels, (size_t)gap, 5);
                for (mode = SHS_PATCH_MODE_GRID; mode <= SHS_PATCH_MODE_RANDOM; mode++)
                    for (k = 0; k < 4; k++) {
                        shs_patches set = set_of(mode, k);
                        signals s = get_all(NULL, &image, &set);
                        assert_int_equal(s.p, 15 * s.channels);
                        for (i = 0; i < s.count; i++) check_patch(&image, &set, &s, i);
                        signals_free(&s);
                    }
                image_free(&image);
            }
}

/* A range of the set, into columns with a gap, without means and norms. */
static void test_get_range(void **state) {
    shs_image image = new_image(SHS_TYPE_F32, 40, 30, 3, 2, 6);
    shs_patches set = set_of(SHS_PATCH_MODE_GRID, 2);
    signals s = get_all(NULL, &image, &set);
    size_t count = s.count - 20, i, l, ld = (size_t)s.p + 4;
    shs_real *Y = (shs_real *)malloc(ld * count * sizeof *Y);
    (void)state;
    for (i = 0; i < ld * count; i++) Y[i] = 99;
    assert_ok(shs_patches_get(NULL, &image, &set, 13, count, Y, s.p + 4, NULL, NULL));
    for (i = 0; i < count; i++)
        for (l = 0; l < ld; l++) assert_close(Y[ld * i + l], l < (size_t)s.p ? s.Y[(13 + i) * (size_t)s.p + l] : 99, 0);
    assert_ok(shs_patches_get(NULL, &image, &set, s.count, 0, Y, s.p + 4, NULL, NULL)); /* nothing, from the end */
    free(Y);
    signals_free(&s);
    image_free(&image);
}

/* A constant patch has no direction: it stays zero, and comes back all the same. */
static void test_constant_image(void **state) {
    unsigned char *pixels = (unsigned char *)malloc(12 * 9);
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_real *sum = (shs_real *)calloc(12 * 9, sizeof *sum), *weight = (shs_real *)calloc(12 * 9, sizeof *weight);
    signals s;
    size_t i;
    (void)state;
    memset(pixels, 77, 12 * 9);
    image.pixels = pixels;
    image.type = SHS_TYPE_U8;
    image.width = 12;
    image.height = 9;
    set.unit_norm = 1;
    s = get_all(NULL, &image, &set);
    for (i = 0; i < s.count; i++) assert_close(s.means[i], 77, 1e-4);
    for (i = 0; i < s.count * 64; i++) assert_close(s.Y[i], 0, 0);
    assert_ok(shs_patches_put(NULL, &image, &set, 0, s.count, s.Y, s.p, s.means, s.norms, sum, weight));
    for (i = 0; i < 12 * 9; i++) assert_close(sum[i], 77 * weight[i], EXACT);
    signals_free(&s);
    free(pixels);
    free(sum);
    free(weight);
}

/* Pixels in the largest and smallest units, whose squares leave the range of shs_real. */
static void test_unit_norm_in_units(void **state) {
    const int most = BY_TYPE(120, 1000);
    shs_real *x = new_normal(12 * 9, 21), *scaled = (shs_real *)calloc(12 * 9, sizeof *scaled);
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    signals plain, s;
    int exponent;
    size_t i;
    (void)state;
    image.pixels = x;
    image.type = SHS_TYPE_REAL;
    image.width = 12;
    image.height = 9;
    set.unit_norm = 1;
    plain = get_all(NULL, &image, &set);
    image.pixels = scaled;
    for (exponent = -most; exponent <= most; exponent += most / 5) {
        for (i = 0; i < 12 * 9; i++) scaled[i] = (shs_real)ldexp((double)x[i], exponent);
        s = get_all(NULL, &image, &set);
        for (i = 0; i < s.count * 64; i++) assert_close(s.Y[i], plain.Y[i], EXACT);
        for (i = 0; i < s.count; i++) assert_close(s.norms[i], ldexp((double)plain.norms[i], exponent), EXACT * (double)s.norms[i]);
        signals_free(&s);
    }
    signals_free(&plain);
    free(x);
    free(scaled);
}

/* ---- and back ---------------------------------------------------------------------------------------------------- */

/* Patches put back sum to each pixel times the number of patches over it. */
static void check_round_trip(const shs_image *image, const shs_patches *set) {
    signals s = get_all(NULL, image, set);
    int channels = channels_of(image), x, y, c;
    size_t pixels = pixels_of(image), i;
    shs_real *sum = (shs_real *)calloc(pixels * (size_t)channels, sizeof *sum),
             *weight = (shs_real *)calloc(pixels, sizeof *weight);
    double *covered = (double *)calloc(pixels, sizeof *covered);
    size_t half = s.count / 2;
    for (i = 0; i < s.count; i++) {
        int left, top, row, column;
        assert_ok(shs_patches_position(image, set, i, &left, &top));
        for (row = 0; row < patch_height(set); row++)
            for (column = 0; column < patch_width(set); column++) covered[(top + row) * image->width + left + column]++;
    }
    /* In two halves: sums go on. */
    assert_ok(shs_patches_put(NULL, image, set, 0, half, s.Y, s.p, s.means, s.norms, sum, weight));
    assert_ok(shs_patches_put(NULL, image, set, half, s.count - half, s.Y + half * (size_t)s.p, s.p,
                              s.means + half * (size_t)channels, s.norms + half, sum, weight));
    for (y = 0; y < image->height; y++)
        for (x = 0; x < image->width; x++) {
            size_t at = (size_t)y * (size_t)image->width + (size_t)x;
            assert_close(weight[at], covered[at], 0);
            for (c = 0; c < channels; c++)
                assert_close(sum[at * (size_t)channels + (size_t)c], covered[at] * pixel(image, x, y, c),
                             (covered[at] + 1) * EXACT);
        }
    free(sum);
    free(weight);
    free(covered);
    signals_free(&s);
}

static void test_round_trips(void **state) {
    static const int sizes[][2] = {{29, 17}, {5, 3}, {16, 16}, {33, 4}, {6, 41}};
    int type, mode, k, channels, size;
    (void)state;
    for (size = 0; size < 5; size++)
        for (type = 0; type < 4; type++)
            for (channels = 1; channels <= 3; channels += 2) {
                shs_image image = new_image(types[type], sizes[size][0], sizes[size][1], channels, (size_t)(type * 3), 7);
                for (mode = SHS_PATCH_MODE_GRID; mode <= SHS_PATCH_MODE_RANDOM; mode++)
                    for (k = 0; k < 4; k++) {
                        shs_patches set = set_of(mode, k);
                        check_round_trip(&image, &set);
                        set.step_x = set.step_y = 0;
                        check_round_trip(&image, &set);
                    }
                image_free(&image);
            }
}

/* Without means and norms the patches are put as they are; the pixels of the image are not read. */
static void test_put_plain(void **state) {
    shs_image image = new_image(SHS_TYPE_U8, 11, 7, 1, 0, 8);
    shs_patches set = set_of(SHS_PATCH_MODE_DISTINCT, 3);
    shs_real *Z = (shs_real *)malloc(20 * 4 * sizeof *Z), *sum = (shs_real *)malloc(77 * sizeof *sum);
    shs_real *weight = (shs_real *)malloc(77 * sizeof *weight);
    int i, x, y;
    (void)state;
    for (i = 0; i < 80; i++) Z[i] = (shs_real)i;
    for (i = 0; i < 77; i++) {
        sum[i] = 1000;
        weight[i] = 5;
    }
    assert_int_equal(shs_patches_count(&image, &set, NULL), 4);
    assert_ok(shs_patches_put(NULL, &image, &set, 0, 4, Z, 20, NULL, NULL, sum, weight));
    for (y = 0; y < 7; y++)
        for (x = 0; x < 11; x++) {
            int inside = x < 10 && y < 6, patch = x / 5 + 2 * (y / 3);
            assert_close(sum[11 * y + x], inside ? 1000 + 20 * patch + 5 * (y % 3) + x % 5 : 1000, 0);
            assert_close(weight[11 * y + x], inside ? 6 : 5, 0);
        }
    free(Z);
    free(sum);
    free(weight);
    image_free(&image);
}

static void test_average(void **state) {
    static const double lambdas[] = {0, 0.5, 3};
    int type, channels, k, in_place;
    size_t i;
    (void)state;
    for (type = 0; type < 4; type++)
        for (channels = 1; channels <= 3; channels += 2)
            for (k = 0; k < 3; k++)
                for (in_place = 0; in_place < 2; in_place++) {
                    shs_image image = new_image(types[type], 19, 13, channels, (size_t)k, 9);
                    size_t values = 19 * 13 * (size_t)channels;
                    shs_real *sum = new_normal(values, 10), *weight = (shs_real *)malloc(19 * 13 * sizeof *weight);
                    shs_real *kept = new_normal(values, 10), *out = in_place ? sum : (shs_real *)malloc(values * sizeof *out);
                    for (i = 0; i < 19 * 13; i++) weight[i] = (shs_real)(i % 5); /* every fifth pixel is not covered */
                    for (i = 0; i < values; i++)
                        if (i / (size_t)channels % 5 == 0) sum[i] = kept[i] = 0;
                    assert_ok(shs_patches_average(NULL, &image, (shs_real)lambdas[k], sum, weight, out));
                    for (i = 0; i < values; i++) {
                        size_t at = i / (size_t)channels;
                        double w = (double)weight[at],
                               original = pixel(&image, (int)(at % 19), (int)(at / 19), (int)(i % (size_t)channels));
                        double expected =
                            w + lambdas[k] > 0 ? (lambdas[k] * original + (double)kept[i]) / (lambdas[k] + w) : original;
                        assert_close(out[i], expected, EXACT);
                    }
                    if (!in_place) free(out);
                    free(sum);
                    free(weight);
                    free(kept);
                    image_free(&image);
                }
}

/* ---- approximation ----------------------------------------------------------------------------------------------- */

static shs_real *new_dictionary(int p, int n, uint64_t seed) {
    shs_real *D = new_normal((size_t)p * (size_t)n, seed);
    assert_ok(shs_normalize_columns(p, n, D, p, NULL));
    return D;
}

/* The composition of the public parts that the call stands for. */
static shs_real *naive_approximation(const shs_image *image, const shs_patches *set, int n, const shs_real *D,
                                     const shs_omp_options *coding, shs_real lambda, shs_omp_report *report) {
    signals s = get_all(NULL, image, set);
    size_t values = pixels_of(image) * (size_t)s.channels;
    shs_real *sum = (shs_real *)calloc(values, sizeof *sum),
             *weight = (shs_real *)calloc(pixels_of(image), sizeof *weight);
    shs_codes codes;
    assert_ok(shs_codes_create(NULL, s.count, s.p < n ? s.p : n, &codes));
    assert_ok(shs_omp_ex(NULL, s.p, n, D, s.p, s.count, s.Y, s.p, coding, &codes, NULL, report));
    assert_ok(shs_codes_synthesize(NULL, s.p, n, D, s.p, &codes, 0, s.count, s.Y, s.p));
    assert_ok(shs_patches_put(NULL, image, set, 0, s.count, s.Y, s.p, set->keep_mean ? NULL : s.means,
                              set->unit_norm ? s.norms : NULL, sum, weight));
    assert_ok(shs_patches_average(NULL, image, lambda, sum, weight, sum));
    free(weight);
    shs_codes_free(NULL, &codes);
    signals_free(&s);
    return sum;
}

static void check_approximation(const shs_image *image, const shs_patches *set, int n, const shs_omp_options *coding,
                                shs_real lambda) {
    int p = 0;
    size_t values = pixels_of(image) * (size_t)channels_of(image), i;
    shs_real *D, *expected, *out = (shs_real *)malloc(values * sizeof *out);
    shs_omp_report report, naive;
    shs_patches_count(image, set, &p);
    D = new_dictionary(p, n, 12);
    expected = naive_approximation(image, set, n, D, coding, lambda, &naive);
    assert_ok(shs_patches_approximate(NULL, image, set, n, D, p, coding, lambda, out, &report));
    for (i = 0; i < values; i++) assert_close(out[i], expected[i], EXACT);
    assert_int_equal(report.nonzeros, naive.nonzeros);
    assert_int_equal(report.not_reached, naive.not_reached);
    assert_close(report.sum2, naive.sum2, BY_TYPE(1e-5, 1e-11) * (double)naive.sum2);
    assert_close(report.rmse, naive.rmse, BY_TYPE(1e-5, 1e-11) * (double)naive.rmse);
    free(D);
    free(expected);
    free(out);
}

static void test_approximate(void **state) {
    int type, mode, k, channels;
    (void)state;
    for (type = 0; type < 4; type++)
        for (channels = 1; channels <= 3; channels += 2) {
            shs_image image = new_image(types[type], 61, 43, channels, (size_t)(2 * type), 13);
            for (mode = SHS_PATCH_MODE_GRID; mode <= SHS_PATCH_MODE_RANDOM; mode++)
                for (k = 0; k < 4; k++) {
                    shs_patches set = set_of(mode, k);
                    shs_omp_options coding = SHS_ZERO;
                    if (type == 0) set.step_x = set.step_y = 1; /* more patches than one block holds */
                    coding.sparsity = 3;
                    check_approximation(&image, &set, 40, &coding, 0);
                    coding.tolerance = (shs_real)(set.unit_norm ? 0.4 : 120);
                    check_approximation(&image, &set, 40, &coding, (shs_real)0.7);
                }
            image_free(&image);
        }
}

/* Separate limits for every patch, indexed by the patch's number in the set. */
static void test_approximate_limits_each(void **state) {
    shs_image image = new_image(SHS_TYPE_U8, 50, 40, 1, 0, 14);
    shs_patches set = set_of(SHS_PATCH_MODE_GRID, 0);
    shs_omp_options coding = SHS_ZERO;
    size_t count, i;
    int *sparsity;
    shs_real *tolerance;
    (void)state;
    set.step_x = set.step_y = 1;
    count = shs_patches_count(&image, &set, NULL);
    sparsity = (int *)malloc(count * sizeof *sparsity);
    tolerance = (shs_real *)malloc(count * sizeof *tolerance);
    for (i = 0; i < count; i++) {
        sparsity[i] = (int)(i % 5);
        tolerance[i] = (shs_real)(60 + 20 * (i % 7));
    }
    coding.sparsity_each = sparsity;
    check_approximation(&image, &set, 40, &coding, 0);
    coding.tolerance_each = tolerance;
    check_approximation(&image, &set, 40, &coding, 0);
    coding.sparsity_each = NULL;
    check_approximation(&image, &set, 40, &coding, 0);
    free(sparsity);
    free(tolerance);
    image_free(&image);
}

/* The unit of the atoms does not matter, or the call says that it leaves the range. */
static void test_approximate_in_other_units(void **state) {
    static const double units[] = {1e-30, 1e-9, 1e9, 1e30};
    shs_image image = new_image(SHS_TYPE_U8, 30, 20, 1, 0, 15);
    shs_patches set = set_of(SHS_PATCH_MODE_GRID, 0);
    shs_omp_options coding = SHS_ZERO;
    shs_real *D, *scaled, out[600], expected[600];
    int p = 0, k, i;
    (void)state;
    shs_patches_count(&image, &set, &p);
    D = new_dictionary(p, 40, 12);
    scaled = new_dictionary(p, 40, 12);
    coding.sparsity = 3;
    assert_ok(shs_patches_approximate(NULL, &image, &set, 40, D, p, &coding, 0, expected, NULL));
    for (k = 0; k < 4; k++) {
        shs_status status;
        for (i = 0; i < p * 40; i++) scaled[i] = (shs_real)(units[k] * (double)D[i]);
        status = shs_patches_approximate(NULL, &image, &set, 40, scaled, p, &coding, 0, out, NULL);
        if (k == 1 || k == 2 || BY_TYPE(0, 1)) assert_ok(status);
        else assert_status(status, SHS_OUT_OF_RANGE);
        for (i = 0; i < 600 && status == SHS_OK; i++) assert_close(out[i], expected[i], BY_TYPE(1e-2, 1e-9));
    }
    free(D);
    free(scaled);
    image_free(&image);
}

/* Noise goes: the approximation is closer to the clean image than the noisy one is. */
static void test_denoises(void **state) {
    shs_image noisy = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_omp_options coding = SHS_ZERO;
    shs_real *clean = (shs_real *)malloc(64 * 64 * sizeof *clean), *pixels = new_normal(64 * 64, 15);
    shs_real *out = (shs_real *)malloc(64 * 64 * sizeof *out), *D = (shs_real *)malloc(64 * 256 * sizeof *D);
    double before = 0, after = 0, sigma = 20;
    int i;
    (void)state;
    for (i = 0; i < 64 * 64; i++) {
        clean[i] = (shs_real)(128 + 60 * sin(0.2 * (i % 64)) + (i / 64 + i % 64 > 70 ? 40 : 0));
        pixels[i] = (shs_real)((double)clean[i] + sigma * (double)pixels[i]);
    }
    noisy.pixels = pixels;
    noisy.width = noisy.height = 64;
    coding.tolerance = (shs_real)(1.15 * sigma * 8);
    assert_ok(shs_dictionary_dct(8, 8, 1, 256, D, 64));
    assert_ok(shs_patches_approximate(NULL, &noisy, &set, 256, D, 64, &coding, (shs_real)(30 / sigma), out, NULL));
    for (i = 0; i < 64 * 64; i++) {
        before += pow((double)pixels[i] - (double)clean[i], 2);
        after += pow((double)out[i] - (double)clean[i], 2);
    }
    assert_true(after < before / 6); /* 7.8 dB */
    free(clean);
    free(pixels);
    free(out);
    free(D);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void run_reversed(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    size_t i;
    (void)user;
    for (i = chunks; i-- > 0;) body(arg, i, (int)(i % (size_t)threads));
}

static void check_threads(const shs_image *image, const shs_patches *set) {
    size_t values = pixels_of(image) * (size_t)channels_of(image), bytes = values * sizeof(shs_real);
    shs_real *results[7][3], *D; /* the approximation, the sums of the patches put back, their average */
    shs_omp_options coding = SHS_ZERO;
    int run, p = 0, k;
    coding.sparsity = 4;
    shs_patches_count(image, set, &p);
    D = new_dictionary(p, 50, 16);
    for (run = 0; run < 7; run++) { /* one thread; 1, 2, 3 by OpenMP; 1, 2, 3 by callback */
        shs_context ctx = SHS_ZERO;
        shs_real *weight = (shs_real *)calloc(pixels_of(image), sizeof *weight);
        signals s;
        ctx.threads = run == 0 ? 1 : 1 + (run - 1) % 3;
        if (run > 3) ctx.parallel_fn = run_reversed;
        for (k = 0; k < 3; k++) results[run][k] = (shs_real *)calloc(values, sizeof(shs_real));
        assert_ok(shs_patches_approximate(&ctx, image, set, 50, D, p, &coding, 1, results[run][0], NULL));
        s = get_all(&ctx, image, set);
        assert_ok(shs_patches_put(&ctx, image, set, 0, s.count, s.Y, s.p, s.means, s.norms, results[run][1], weight));
        assert_ok(shs_patches_average(&ctx, image, 1, results[run][1], weight, results[run][2]));
        for (k = 0; k < 3; k++) assert_memory_equal(results[run][k], results[0][k], bytes);
        free(weight);
        signals_free(&s);
    }
    for (run = 0; run < 7; run++)
        for (k = 0; k < 3; k++) free(results[run][k]);
    free(D);
}

static void test_threads(void **state) {
    shs_image image = new_image(SHS_TYPE_F32, 71, 53, 3, 0, 17);
    int mode, k;
    (void)state;
    for (mode = SHS_PATCH_MODE_GRID; mode <= SHS_PATCH_MODE_RANDOM; mode++)
        for (k = 0; k < 4; k += 3) {
            shs_patches set = set_of(mode, k);
            set.count = 900;
            set.step_x = set.step_y = 1;
            check_threads(&image, &set);
        }
    image_free(&image);
}

/* ---- cancelling and memory --------------------------------------------------------------------------------------- */

static int cancel_later(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    (void)phase;
    (void)step;
    (void)steps;
    (void)error;
    return --*(int *)user < 0;
}

static void test_cancel(void **state) {
    shs_image image = new_image(SHS_TYPE_U8, 90, 80, 1, 0, 18);
    shs_patches set = set_of(SHS_PATCH_MODE_GRID, 0);
    shs_omp_options coding = SHS_ZERO;
    shs_real *D = new_dictionary(15, 40, 19), *out = (shs_real *)malloc(7200 * sizeof *out);
    shs_context ctx = SHS_ZERO;
    int k, left, i;
    (void)state;
    set.step_x = set.step_y = 1;
    coding.sparsity = 2;
    ctx.progress_fn = cancel_later;
    ctx.progress_user = &left;
    for (k = 0;; k++) {
        shs_status status;
        for (i = 0; i < 7200; i++) out[i] = -5;
        left = k;
        status = shs_patches_approximate(&ctx, &image, &set, 40, D, 15, &coding, 0, out, NULL);
        if (status == SHS_OK) break;
        assert_status(status, SHS_CANCELLED);
        for (i = 0; i < 7200; i++) assert_close(out[i], -5, 0);
    }
    assert_true(k > 0);
    free(D);
    free(out);
    image_free(&image);
}

static void test_workspace(void **state) {
    shs_image image = new_image(SHS_TYPE_U8, 90, 80, 3, 0, 20);
    shs_patches set = set_of(SHS_PATCH_MODE_GRID, 0);
    shs_omp_options coding = SHS_ZERO;
    shs_real *D = new_dictionary(45, 60, 21), *out = (shs_real *)malloc(21600 * sizeof *out);
    shs_real *expected = (shs_real *)malloc(21600 * sizeof *out);
    int threads, limited;
    (void)state;
    for (limited = 0; limited < 2; limited++)
        for (threads = 1; threads <= 3; threads++) {
            shs_context ctx = SHS_ZERO;
            shs_arena arena;
            size_t query;
            void *memory;
            coding.sparsity = limited ? 0 : 4;
            coding.tolerance = limited ? 200 : 0;
            ctx.threads = threads;
            query = shs_patches_approximate_workspace(&ctx, &image, &set, 60, &coding);
            memory = malloc(query);
            assert_ok(shs_patches_approximate(&ctx, &image, &set, 60, D, 45, &coding, 0, expected, NULL));
            shs_arena_init(&arena, memory, query);
            shs_arena_attach(&arena, &ctx);
            assert_ok(shs_patches_approximate(&ctx, &image, &set, 60, D, 45, &coding, 0, out, NULL));
            assert_in_range(arena.peak, query - 64, query);
            assert_int_equal(arena.used, 0);
            assert_memory_equal(out, expected, 21600 * sizeof *out);
            free(memory);
        }
    free(D);
    free(out);
    free(expected);
    image_free(&image);
}

/* Scratch is for the image and a block of patches, not for all patches: 9 million patches of 192 values are 7 GB. */
static void test_memory_promise(void **state) {
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    shs_omp_options coding = SHS_ZERO;
    unsigned char one = 0;
    (void)state;
    image.pixels = &one;
    image.type = SHS_TYPE_U8;
    image.width = image.height = 3000;
    image.channels = 3;
    coding.sparsity = 10;
    ctx.threads = 2;
    assert_in_range(shs_patches_approximate_workspace(&ctx, &image, &set, 256, &coding), 1,
                    9000000 * 4 * sizeof(shs_real) + 64000000);
}

/* ---- bad input --------------------------------------------------------------------------------------------------- */

/* Outputs that failing calls must not change: patches, an image and its weights. */
typedef struct untouched {
    shs_real *now[3], *before[3];
    size_t sizes[3];
    int x, y;
} untouched;
enum { OF_PATCHES = 0, OF_IMAGE, OF_WEIGHT };

static untouched untouched_outputs(size_t patches, size_t image, size_t weight, uint64_t seed) {
    untouched k = {{NULL}, {NULL}, {0}, -7, -7};
    int i;
    k.sizes[OF_PATCHES] = patches;
    k.sizes[OF_IMAGE] = image;
    k.sizes[OF_WEIGHT] = weight;
    for (i = 0; i < 3; i++) {
        k.now[i] = new_normal(k.sizes[i], seed);
        k.before[i] = new_normal(k.sizes[i], seed);
        seed++;
    }
    return k;
}

static void untouched_end(untouched *k) {
    int i;
    for (i = 0; i < 3; i++) {
        assert_memory_equal(k->now[i], k->before[i], k->sizes[i] * sizeof **k->now);
        free(k->now[i]);
        free(k->before[i]);
    }
    assert_true(k->x == -7 && k->y == -7);
}

static void test_bad_images(void **state) {
    shs_image good = new_image(SHS_TYPE_F32, 20, 15, 3, 0, 22), bad[9];
    shs_patches set = set_of(SHS_PATCH_MODE_GRID, 0);
    shs_omp_options coding = SHS_ZERO;
    untouched w = untouched_outputs(45 * 10, 900, 300, 23);
    shs_real *D = new_dictionary(45, 10, 26), *Y = w.now[OF_PATCHES], *out = w.now[OF_IMAGE], *weight = w.now[OF_WEIGHT];
    int k, p = -7;
    (void)state;
    for (k = 0; k < 9; k++) bad[k] = good;
    bad[0].pixels = NULL;
    bad[1].width = 0;
    bad[2].height = -3;
    bad[3].channels = -1;
    bad[4].row_stride = 59;
    bad[5].type = SHS_TYPE_I16;
    bad[6].type = SHS_TYPE_COUNT;
    bad[7].type = (shs_type)-1;
    bad[8].width = -20;
    for (k = 0; k < 9; k++) {
        assert_int_equal(shs_patches_count(bad + k, &set, &p), k == 0 ? shs_patches_count(&good, &set, NULL) : 0);
        assert_status(shs_patches_get(NULL, bad + k, &set, 0, 10, Y, 45, NULL, NULL), SHS_BAD_IMAGE);
        assert_status(shs_patches_average(NULL, bad + k, 1, out, weight, out), SHS_BAD_IMAGE);
        assert_status(shs_patches_approximate(NULL, bad + k, &set, 10, D, 45, &coding, 0, out, NULL), SHS_BAD_IMAGE);
        if (k == 0) continue; /* only the geometry matters for these two */
        assert_status(shs_patches_position(bad + k, &set, 0, &w.x, &w.y), SHS_BAD_IMAGE);
        assert_status(shs_patches_put(NULL, bad + k, &set, 0, 10, Y, 45, NULL, NULL, out, weight), SHS_BAD_IMAGE);
    }
    assert_int_equal(shs_patches_count(NULL, &set, NULL), 0);
    assert_status(shs_patches_position(NULL, &set, 0, &w.x, &w.y), SHS_BAD_IMAGE);
    assert_status(shs_patches_get(NULL, NULL, &set, 0, 10, Y, 45, NULL, NULL), SHS_BAD_IMAGE);
    assert_status(shs_patches_put(NULL, NULL, &set, 0, 10, Y, 45, NULL, NULL, out, weight), SHS_BAD_IMAGE);
    assert_status(shs_patches_average(NULL, NULL, 1, out, weight, out), SHS_BAD_IMAGE);
    assert_status(shs_patches_approximate(NULL, NULL, &set, 10, D, 45, &coding, 0, out, NULL), SHS_BAD_IMAGE);
    untouched_end(&w);
    free(D);
    image_free(&good);
}

static void test_bad_sets(void **state) {
    shs_image image = new_image(SHS_TYPE_F32, 20, 15, 1, 0, 27);
    shs_patches good = set_of(SHS_PATCH_MODE_GRID, 0), bad[8];
    shs_omp_options coding = SHS_ZERO;
    untouched w = untouched_outputs(15 * 10, 300, 300, 28);
    shs_real *D = new_dictionary(15, 10, 31), *Y = w.now[OF_PATCHES], *out = w.now[OF_IMAGE], *weight = w.now[OF_WEIGHT];
    size_t count = shs_patches_count(&image, &good, NULL);
    int k;
    (void)state;
    for (k = 0; k < 8; k++) bad[k] = good;
    bad[0].width = 21;
    bad[1].height = 16;
    bad[2].width = -1;
    bad[3].height = -5;
    bad[4].step_x = -1;
    bad[5].step_y = -2;
    bad[6].mode = (shs_patch_mode)3;
    bad[7].mode = (shs_patch_mode)-1;
    for (k = 0; k < 8; k++) {
        int p = -7;
        assert_int_equal(shs_patches_count(&image, bad + k, &p), 0);
        assert_int_equal(p, 0);
        assert_status(shs_patches_position(&image, bad + k, 0, &w.x, &w.y), SHS_BAD_PATCHES);
        assert_status(shs_patches_get(NULL, &image, bad + k, 0, 1, Y, 15, NULL, NULL), SHS_BAD_PATCHES);
        assert_status(shs_patches_put(NULL, &image, bad + k, 0, 1, Y, 15, NULL, NULL, out, weight), SHS_BAD_PATCHES);
        assert_status(shs_patches_approximate(NULL, &image, bad + k, 10, D, 15, &coding, 0, out, NULL), SHS_BAD_PATCHES);
    }
    assert_status(shs_patches_position(&image, &good, count, &w.x, &w.y), SHS_BAD_PATCHES);
    assert_status(shs_patches_get(NULL, &image, &good, count - 3, 4, Y, 15, NULL, NULL), SHS_BAD_PATCHES);
    assert_status(shs_patches_get(NULL, &image, &good, SIZE_MAX, 2, Y, 15, NULL, NULL), SHS_BAD_PATCHES);
    assert_status(shs_patches_get(NULL, &image, &good, count + 1, 0, Y, 15, NULL, NULL), SHS_BAD_PATCHES);
    assert_status(shs_patches_put(NULL, &image, &good, SIZE_MAX, 2, Y, 15, NULL, NULL, out, weight), SHS_BAD_PATCHES);
    assert_status(shs_patches_get(NULL, &image, NULL, 0, 1, Y, 15, NULL, NULL), SHS_BAD_PATCHES);
    assert_int_equal(shs_patches_count(&image, NULL, NULL), 0);
    untouched_end(&w);
    free(D);
    image_free(&image);
}

static void test_bad_arguments(void **state) {
    shs_image image = new_image(SHS_TYPE_F32, 20, 15, 1, 0, 32);
    shs_patches set = set_of(SHS_PATCH_MODE_GRID, 0);
    shs_omp_options coding = SHS_ZERO, bad = SHS_ZERO;
    shs_real *Y = new_normal(15 * 10, 33), *D = new_dictionary(15, 10, 34), *out = new_normal(300, 35),
             *kept = new_normal(300, 35);
    shs_real *weight = new_normal(300, 36);
    shs_context ctx = SHS_ZERO;
    (void)state;
    assert_status(shs_patches_get(NULL, &image, &set, 0, 10, NULL, 15, NULL, NULL), SHS_BAD_OUTPUT);
    assert_status(shs_patches_get(NULL, &image, &set, 0, 10, Y, 14, NULL, NULL), SHS_BAD_LDY);
    assert_status(shs_patches_put(NULL, &image, &set, 0, 10, NULL, 15, NULL, NULL, out, weight), SHS_BAD_SIGNALS);
    assert_status(shs_patches_put(NULL, &image, &set, 0, 10, Y, 14, NULL, NULL, out, weight), SHS_BAD_LDZ);
    assert_status(shs_patches_put(NULL, &image, &set, 0, 10, Y, 15, NULL, NULL, NULL, weight), SHS_BAD_OUTPUT);
    assert_status(shs_patches_put(NULL, &image, &set, 0, 10, Y, 15, NULL, NULL, out, NULL), SHS_BAD_OUTPUT);
    assert_status(shs_patches_average(NULL, &image, 1, NULL, weight, out), SHS_BAD_OUTPUT);
    assert_status(shs_patches_average(NULL, &image, 1, out, NULL, out), SHS_BAD_OUTPUT);
    assert_status(shs_patches_average(NULL, &image, 1, out, weight, NULL), SHS_BAD_OUTPUT);
    assert_status(shs_patches_approximate(NULL, &image, &set, 0, D, 15, &coding, 0, out, NULL), SHS_BAD_N);
    assert_status(shs_patches_approximate(NULL, &image, &set, 10, NULL, 15, &coding, 0, out, NULL), SHS_BAD_DICTIONARY);
    assert_status(shs_patches_approximate(NULL, &image, &set, 10, D, 14, &coding, 0, out, NULL), SHS_BAD_LDD);
    assert_status(shs_patches_approximate(NULL, &image, &set, 10, D, 15, &coding, 0, NULL, NULL), SHS_BAD_OUTPUT);
    bad.sparsity = -1;
    assert_status(shs_patches_approximate(NULL, &image, &set, 10, D, 15, &bad, 0, out, NULL), SHS_BAD_SPARSITY);
    bad.sparsity = 0;
    bad.tolerance = -1;
    assert_status(shs_patches_approximate(NULL, &image, &set, 10, D, 15, &bad, 0, out, NULL), SHS_BAD_TOLERANCE);
    ctx.threads = -1;
    assert_status(shs_patches_approximate(&ctx, &image, &set, 10, D, 15, &coding, 0, out, NULL), SHS_BAD_CONTEXT);
    D[149] = (shs_real)NAN;
    assert_status(shs_patches_approximate(NULL, &image, &set, 10, D, 15, &coding, 0, out, NULL), SHS_DICTIONARY_NOT_FINITE);
    assert_memory_equal(out, kept, 300 * sizeof *out);
    free(Y);
    free(D);
    free(out);
    free(kept);
    free(weight);
    image_free(&image);
}

/* NaN in the very last pixel, infinity in the first. */
static void test_not_finite(void **state) {
    float *pixels = (float *)malloc(600 * sizeof *pixels);
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    shs_omp_options coding = SHS_ZERO;
    shs_real *D = new_dictionary(64, 10, 37), *out = new_normal(600, 38), *kept = new_normal(600, 38);
    int i, k;
    (void)state;
    image.pixels = pixels;
    image.type = SHS_TYPE_F32;
    image.width = 30;
    image.height = 20;
    for (i = 0; i < 600; i++) pixels[i] = (float)(i % 13);
    coding.sparsity = 2;
    for (k = 0; k < 2; k++) {
        pixels[k ? 599 : 0] = k ? (float)NAN : (float)INFINITY;
        assert_status(shs_patches_approximate(NULL, &image, &set, 10, D, 64, &coding, 0, out, NULL), SHS_IMAGE_NOT_FINITE);
        pixels[0] = 0;
    }
    assert_memory_equal(out, kept, 600 * sizeof *out);
    free(pixels);
    free(D);
    free(out);
    free(kept);
}

/* Cancelled after the first of two blocks of patches: nothing is written. */
static void test_cancelled_between_blocks(void **state) {
    shs_image image = new_image(SHS_TYPE_U8, 150, 120, 1, 0, 40);
    shs_patches set = SHS_ZERO;
    shs_omp_options coding = SHS_ZERO;
    shs_real *D = new_dictionary(4, 6, 41), *out = new_normal(18000, 42), *kept = new_normal(18000, 42);
    shs_context ctx = SHS_ZERO;
    int left = 0;
    (void)state;
    set.width = set.height = 2;
    coding.sparsity = 1;
    assert_true(shs_patches_count(&image, &set, NULL) > PATCHES_A_BLOCK);
    ctx.progress_fn = cancel_later;
    ctx.progress_user = &left;
    assert_status(shs_patches_approximate(&ctx, &image, &set, 6, D, 4, &coding, 1, out, NULL), SHS_CANCELLED);
    assert_memory_equal(out, kept, 18000 * sizeof *out);
    free(D);
    free(out);
    free(kept);
    image_free(&image);
}

/* ---- the noise --------------------------------------------------------------------------------------------------- */

/* A grey picture plus normal noise of sigma, and what is estimated of it. */
static shs_noise noise_of(const float *clean, int width, int height, double sigma) {
    shs_image image = SHS_ZERO;
    shs_noise noise = SHS_ZERO;
    size_t i, count = (size_t)width * (size_t)height;
    float *noisy = (float *)malloc(count * sizeof *noisy);
    shs_random r;
    assert_non_null(noisy);
    shs_random_seed(&r, 91);
    for (i = 0; i < count; i++) noisy[i] = clean[i] + (float)(sigma * (double)shs_random_normal(&r));
    image.pixels = noisy;
    image.type = SHS_TYPE_F32;
    image.width = width;
    image.height = height;
    assert_ok(shs_noise_sigma(NULL, &image, &noise));
    free(noisy);
    return noise;
}

/* Bilinear noise of lattices of 4 to 64 pixels: bushes; in the middle, of a sixth of the area, nothing finer than 32. */
static float *textured_picture(int side, float strength, int weak_part) {
    float *a = (float *)calloc((size_t)(side * side), sizeof *a);
    int step, x, y;
    assert_non_null(a);
    for (step = 4; step <= 64; step *= 2) {
        int cells = side / step + 2;
        shs_real *lattice = new_normal((size_t)(cells * cells), (uint64_t)(90 + step));
        for (y = 0; y < side; y++)
            for (x = 0; x < side; x++) {
                const shs_real *at = lattice + y / step * cells + x / step;
                float u = (float)(x % step) / (float)step, v = (float)(y % step) / (float)step;
                int weak = weak_part && abs(2 * x - side) < side * 2 / 5 && abs(2 * y - side) < side * 2 / 5;
                if (weak && step < 32) continue;
                a[y * side + x] += strength * ((1 - v) * ((1 - u) * (float)at[0] + u * (float)at[1]) +
                                               v * ((1 - u) * (float)at[cells] + u * (float)at[cells + 1]));
            }
        free(lattice);
    }
    return a;
}

static const double sigmas[] = {5, 10, 25, 50};

static void test_noise_of_texture(void **state) {
    enum { SIDE = 320 };
    float *a = textured_picture(SIDE, 30, 1);
    int k;
    (void)state;
    for (k = 0; k < 4; k++) {
        shs_noise noise = noise_of(a, SIDE, SIDE, sigmas[k]);
        assert_close(noise.sigma, sigmas[k], 0.15 * sigmas[k]);
        assert_false(noise.guess);
    }
    free(a);
}

/* Where every patch has as much of fine detail as noise would, that is said. */
static void test_noise_is_a_guess(void **state) {
    enum { SIDE = 200 };
    float *a = textured_picture(SIDE, 30, 0);
    shs_real *fine = new_normal(SIDE * SIDE, 95);
    shs_noise noise;
    int x, y;
    (void)state;
    for (y = 0; y < SIDE; y++)
        for (x = 0; x < SIDE; x++) a[y * SIDE + x] += 60 * (float)(fine[y * SIDE + x] + fine[y * SIDE + (x + 1) % SIDE]);
    noise = noise_of(a, SIDE, SIDE, 1);
    assert_true(noise.guess);
    for (x = 0; x < SIDE * SIDE; x++) a[x] = 7;
    noise = noise_of(a, SIDE, SIDE, 0);
    assert_true(noise.guess && noise.patches == 0);
    assert_close(noise.sigma, 0, 0);
    free(a);
    free(fine);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The noise that a picture has itself: what a difference that is 0 on surfaces of first degree, and of second along an axis,
   finds in the smoothest twentieth of its blocks. Of noise of variance 1 its variance is 36. */
static double own_noise(const float *a, int width, int height) {
    enum { SIDE = 8, INSIDE = SIDE - 2 };
    static const int weights[] = {1, -2, 1};
    const int across = width / SIDE, blocks = across * (height / SIDE);
    double *found = (double *)malloc((size_t)blocks * sizeof *found), own;
    int b, i, k;
    assert_non_null(found);
    for (b = 0; b < blocks; b++) {
        const float *block = a + b / across * SIDE * width + b % across * SIDE;
        double squares = 0;
        for (i = 0; i < INSIDE * INSIDE; i++) {
            const float *corner = block + i / INSIDE * width + i % INSIDE;
            double difference = 0;
            for (k = 0; k < 9; k++) difference += weights[k / 3] * weights[k % 3] * (double)corner[k / 3 * width + k % 3];
            squares += difference * difference;
        }
        found[b] = sqrt(squares / (36 * INSIDE * INSIDE));
    }
    qsort(found, (size_t)blocks, sizeof *found, by_size);
    own = found[blocks / 20];
    free(found);
    return own;
}

static void test_noise_of_real_pictures(void **state) {
    static const char *const names[] = {"images/barbara.pgm", "images/boat.pgm", "images/peppers.pgm", "images/house.pgm"};
    double own, sigma;
    int n, k, c, width, height;
    (void)state;
    for (n = 0; n < 4; n += every(4)) {
        FILE *f = open_or_skip(data_path(names[n]));
        float *a;
        assert_int_equal(fscanf(f, "P5 %d %d 255", &width, &height), 2);
        (void)fgetc(f);
        a = (float *)malloc((size_t)width * (size_t)height * sizeof *a);
        assert_non_null(a);
        for (k = 0; k < width * height && (c = fgetc(f)) != EOF; k++) a[k] = (float)c;
        assert_int_equal(k, width * height);
        fclose(f);
        own = own_noise(a, width, height);
        for (k = first_of(1, 1); k < 4; k += every(1)) {
            sigma = sqrt(sigmas[k] * sigmas[k] + own * own);
            assert_close(noise_of(a, width, height, sigmas[k]).sigma, sigma, 0.1 * sigma);
        }
        free(a);
    }
}

/* Noise alone, in three channels of different strength; bytes that were clipped do not count; bad arguments. */
static void test_noise_of_channels(void **state) {
    enum { SIDE = 96 };
    shs_real *x = new_normal(3 * SIDE * SIDE, 96);
    shs_image image = SHS_ZERO;
    shs_noise noise = SHS_ZERO;
    unsigned char *bytes = (unsigned char *)malloc(SIDE * SIDE);
    int i;
    (void)state;
    assert_non_null(bytes);
    for (i = 0; i < 3 * SIDE * SIDE; i++) x[i] = 50 + (shs_real)(4 + i % 3) * x[i];
    image.pixels = x;
    image.type = SHS_TYPE_REAL;
    image.width = image.height = SIDE;
    image.channels = 3;
    assert_ok(shs_noise_sigma(NULL, &image, &noise));
    assert_close(noise.sigma, sqrt((16 + 25 + 36) / 3.0), 0.5);
    assert_true(noise.patches > 8000 && !noise.guess);
    for (i = 0; i < SIDE * SIDE; i++) bytes[i] = i % SIDE < SIDE / 2 ? 255 : (unsigned char)(2 * (double)x[3 * i]);
    image.pixels = bytes;
    image.type = SHS_TYPE_U8;
    image.channels = 1;
    assert_ok(shs_noise_sigma(NULL, &image, &noise));
    assert_close(noise.sigma, 8, 0.15 * 8);
    assert_status(shs_noise_sigma(NULL, &image, NULL), SHS_BAD_OUTPUT);
    image.height = 6;
    assert_status(shs_noise_sigma(NULL, &image, &noise), SHS_BAD_PATCHES);
    image.height = SIDE;
    image.pixels = NULL;
    assert_status(shs_noise_sigma(NULL, &image, &noise), SHS_BAD_IMAGE);
    x[77] = (shs_real)NAN;
    image.pixels = x;
    image.type = SHS_TYPE_REAL;
    assert_status(shs_noise_sigma(NULL, &image, &noise), SHS_IMAGE_NOT_FINITE);
    free(x);
    free(bytes);
}

/* Of values that stand in a picture the estimate is within a quarter, or what it says of itself points the right way. */
static shs_noise right_or_flagged(const float *a, int width, int height, double sigma) {
    shs_image image = SHS_ZERO;
    shs_noise noise = SHS_ZERO;
    image.pixels = a;
    image.type = SHS_TYPE_F32;
    image.width = width;
    image.height = height;
    assert_ok(shs_noise_sigma(NULL, &image, &noise));
    if (noise.guess == SHS_NOISE_FEW) return noise;
    if (noise.guess != SHS_NOISE_CLIPPED) assert_true((double)noise.sigma > 0.75 * sigma);
    if (noise.guess != SHS_NOISE_TEXTURED) assert_true((double)noise.sigma < 1.25 * sigma);
    return noise;
}

static float *white_picture(int width, int height, double mean, double sigma, uint64_t seed) {
    float *a = (float *)malloc((size_t)width * (size_t)height * sizeof *a);
    shs_random r;
    int i;
    assert_non_null(a);
    shs_random_seed(&r, seed);
    for (i = 0; i < width * height; i++) a[i] = (float)(mean + sigma * (double)shs_random_normal(&r));
    return a;
}

/* The smallest eigenvalue of few patches is far below the others even of noise alone. */
static void test_noise_of_small_pictures(void **state) {
    static const int sizes[][2] = {{8, 8}, {12, 12}, {16, 16}, {32, 32}, {7, 100}, {64, 64}};
    int k, trial;
    (void)state;
    for (k = 0; k < 6; k++) {
        double sum = 0;
        for (trial = 0; trial < 8; trial++) {
            float *a = white_picture(sizes[k][0], sizes[k][1], 100, 10, (uint64_t)(trial + 8 * k));
            sum += (double)right_or_flagged(a, sizes[k][0], sizes[k][1], 10).sigma;
            free(a);
        }
        assert_close(sum / 8, 10, 1.5);
    }
}

/* A background of one value, at the end of the range or within it, is not noise, nor is its border. */
static void test_noise_beside_a_background(void **state) {
    enum { SIDE = 128 };
    static const int rows[] = {8, 12, 40};
    int k, i, at;
    (void)state;
    for (k = 0; k < 3; k++)
        for (at = 0; at <= 100; at += 50) {
            float *a = white_picture(SIDE, SIDE, 100, 15, (uint64_t)k);
            for (i = 0; i < SIDE * (SIDE - rows[k]); i++) a[i] = (float)at;
            assert_close(right_or_flagged(a, SIDE, SIDE, 15).sigma, 15, 0.15 * 15);
            free(a);
        }
}

static void test_noise_is_clipped(void **state) {
    enum { SIDE = 96 };
    static const double means[] = {-7, 0, 5, 20, 128, 240, 255, 262};
    int k, i;
    (void)state;
    for (k = 0; k < 8; k++) {
        float *a = white_picture(SIDE, SIDE, means[k], 20, (uint64_t)k);
        shs_noise noise;
        for (i = 0; i < SIDE * SIDE; i++) {
            const double whole = floor((double)a[i] + 0.5);
            a[i] = (float)fmin(fmax(whole, 0), 255);
        }
        noise = right_or_flagged(a, SIDE, SIDE, 20);
        assert_int_equal(noise.guess, means[k] == 128 ? 0 : SHS_NOISE_CLIPPED);
        free(a);
    }
}

/* Halves of very different light and little noise, as of cameras of 16 bits. */
static void test_noise_of_high_range(void **state) {
    enum { SIDE = 128 };
    float *a;
    int i;
    (void)state;
    if (sizeof(shs_wide) == sizeof(float)) skip(); /* its digits do not hold both */
    a = white_picture(SIDE, SIDE, 8000, 5, 4);
    for (i = 0; i < SIDE * SIDE; i++)
        if (i % SIDE >= SIDE / 2) a[i] += 20000;
    assert_close(right_or_flagged(a, SIDE, SIDE, 5).sigma, 5, 0.5);
    assert_int_equal(right_or_flagged(a, SIDE, SIDE, 5).guess, 0);
    free(a);
}

/* In another unit, a power of 2, sigma has the same bits. */
static void test_noise_in_other_units(void **state) {
    enum { SIDE = 48 };
    static const int units[] = {-115, -80, -30, 40, 80, 110};
    float *a = white_picture(SIDE, SIDE, 100, 10, 5), *scaled = white_picture(SIDE, SIDE, 0, 1, 5);
    const double sigma = (double)right_or_flagged(a, SIDE, SIDE, 10).sigma;
    int k, i;
    (void)state;
    assert_close(sigma, 10, 1);
    for (k = 0; k < 6; k++) {
        const double unit = ldexp(1, units[k]);
        for (i = 0; i < SIDE * SIDE; i++) scaled[i] = (float)(unit * (double)a[i]);
        assert_close((double)right_or_flagged(scaled, SIDE, SIDE, 10 * unit).sigma / unit, sigma, 0);
    }
    for (i = 0; i < SIDE * SIDE; i++) scaled[i] = i % SIDE < SIDE / 2 ? FLT_MAX : -FLT_MAX;
    assert_close(noise_of(scaled, SIDE, SIDE, 0).sigma, 0, 0);
    free(a);
    free(scaled);
}

/* Noise that is lost beside a ramp, and a ramp without any: 0 is never said to be sure. */
static void test_noise_beyond_the_sums(void **state) {
    enum { SIDE = 200 };
    static const double ranges[] = {255, 4095, 65535}, levels[] = {10, 1, 0.3, 0.1, 0.03, 0.01, 0};
    float *a = (float *)malloc(SIDE * SIDE * sizeof *a);
    int r, k, i, zeros = 0;
    (void)state;
    assert_non_null(a);
    for (r = 0; r < 3; r++)
        for (k = 0; k < 7; k++) {
            shs_noise noise;
            for (i = 0; i < SIDE * SIDE; i++) a[i] = (float)floor(i % SIDE * ranges[r] / (SIDE - 1));
            noise = noise_of(a, SIDE, SIDE, levels[k]);
            if (!noise.guess) assert_close(noise.sigma, levels[k], 0.25 * levels[k]);
            if (noise.sigma > 0) continue;
            assert_int_equal(noise.guess, SHS_NOISE_FEW);
            assert_int_equal(noise.patches, 0);
            zeros++;
        }
    assert_true(zeros > 0);
    free(a);
}

/* Fewer patches than values of one: their number is told, not that of the round before. */
static void test_noise_of_very_few(void **state) {
    enum { SIDE = 200 };
    float *a = textured_picture(SIDE, 3000, 0);
    shs_noise noise = noise_of(a, SIDE, SIDE, 0.1);
    (void)state;
    assert_int_equal(noise.guess, SHS_NOISE_FEW);
    assert_true(noise.patches <= 49);
    free(a);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit_norm_in_units),
        cmocka_unit_test(test_grid_positions),
        cmocka_unit_test(test_distinct_positions),
        cmocka_unit_test(test_random_positions),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_get_range),
        cmocka_unit_test(test_constant_image),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_put_plain),
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_approximate),
        cmocka_unit_test(test_approximate_limits_each),
        cmocka_unit_test(test_approximate_in_other_units),
        cmocka_unit_test(test_denoises),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_memory_promise),
        cmocka_unit_test(test_noise_of_texture),
        cmocka_unit_test(test_noise_is_a_guess),
        cmocka_unit_test(test_noise_of_real_pictures),
        cmocka_unit_test(test_noise_of_channels),
        cmocka_unit_test(test_noise_of_small_pictures),
        cmocka_unit_test(test_noise_beside_a_background),
        cmocka_unit_test(test_noise_is_clipped),
        cmocka_unit_test(test_noise_of_high_range),
        cmocka_unit_test(test_noise_in_other_units),
        cmocka_unit_test(test_noise_beyond_the_sums),
        cmocka_unit_test(test_noise_of_very_few),
        cmocka_unit_test(test_bad_images),
        cmocka_unit_test(test_bad_sets),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_cancelled_between_blocks),
    };
    return cmocka_run_group_tests_name("patches", tests, NULL, NULL);
}
