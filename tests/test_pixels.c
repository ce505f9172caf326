/* test_pixels.c - products and maps of pixels, every instance of their kernels: against plain loops, over odd sizes. */
#include "test_cube_tools.h"

/* ---- products of pixels ------------------------------------------------------------------------------------------- */

enum { MOST_BANDS = 53, SAMPLES = 29, LINES = 31 };

typedef struct scene {
    shs_cube cube;
    double *values; /* pixel by pixel */
    unsigned char *mask;
} scene;

static double draw(shs_random *r, shs_type type, int wild) {
    double u = (double)shs_random_uniform(r);
    if (type == SHS_TYPE_U8) return (double)(int)(u * 256);
    if (type == SHS_TYPE_I16) return wild ? (double)(int)(u * 65536) - 32768 : (double)(int)(u * 3000) - 500;
    if (type == SHS_TYPE_U16) return wild ? (double)(int)(u * 65536) : 30000 + (double)(int)(u * 4000);
    if (type == SHS_TYPE_I32 || type == SHS_TYPE_U32) return (double)(int)(u * 100000);
    return (double)(float)(u * 10 - 3);
}

/* Where value b of pixel k stands. */
static size_t place_in(shs_interleave interleave, size_t pixels, size_t bands, size_t k, size_t b) {
    if (interleave == SHS_INTERLEAVE_BSQ) return b * pixels + k;
    if (interleave == SHS_INTERLEAVE_BIL) return (k / SAMPLES * bands + b) * SAMPLES + k % SAMPLES;
    return k * bands + b;
}

/* Each value to its place; a third of the pixels masked, and some with a no-data value, if they are to be missing. */
static void make_scene(scene *s, shs_type type, shs_interleave interleave, int bands, int wild, int missing) {
    size_t pixels = (size_t)SAMPLES * LINES, k, b;
    void *to = calloc(pixels * (size_t)bands, shs_type_size(type));
    shs_random r;
    shs_random_seed(&r, (uint64_t)bands + 7 * (uint64_t)type);
    memset(s, 0, sizeof *s);
    s->values = (double *)malloc(pixels * (size_t)bands * sizeof(double));
    s->mask = (unsigned char *)calloc(pixels, 1);
    assert_non_null(to);
    assert_non_null(s->values);
    assert_non_null(s->mask);
    s->cube.type = type;
    s->cube.interleave = interleave;
    s->cube.samples = SAMPLES;
    s->cube.lines = LINES;
    s->cube.bands = bands;
    s->cube.pixels = to;
    for (k = 0; k < pixels; k++) {
        s->mask[k] = !missing || k % 3 != 1;
        for (b = 0; b < (size_t)bands; b++) {
            size_t at = place_in(interleave, pixels, (size_t)bands, k, b);
            double value = draw(&r, type, wild);
            s->values[k * (size_t)bands + b] = value;
            store_value((unsigned char *)to + at * shs_type_size(type), type, 0, value);
        }
    }
    if (missing) s->cube.mask = s->mask;
}

static void free_scene(scene *s) {
    free((void *)(uintptr_t)s->cube.pixels);
    free(s->values);
    free(s->mask);
}

static const shs_precision precisions[] = {SHS_PRECISION_AUTO, SHS_PRECISION_ALWAYS, SHS_PRECISION_NEVER};

/* Sums and products about the shift that was chosen. Those of integers are exact wherever integers are multiplied, and in
   double; those of bytes always. Unless double is never wanted all others are double's, in the float build too. */
static void check_moments(const scene *s, int bands, int exact, shs_precision precise) {
    const int never = precise == SHS_PRECISION_NEVER;
    shs_moments m;
    int i, j;
    size_t k, pixels = (size_t)SAMPLES * LINES;
    double count = 0;
    assert_ok(shs_moments_create(NULL, bands, &m));
    assert_ok(shs_moments_update(NULL, &s->cube, precise, &m));
    for (k = 0; k < pixels; k++) count += s->mask[k];
    assert_close(m.count, count, 0);
    for (j = 0; j < bands; j++) {
        double sum = 0, square = 0;
        for (i = j; i < bands; i++) {
            double p = 0, size = 0;
            sum = square = 0;
            for (k = 0; k < pixels; k++) {
                double x = s->values[k * (size_t)bands + (size_t)i] - (double)m.shift[i];
                double y = s->values[k * (size_t)bands + (size_t)j] - (double)m.shift[j];
                if (!s->mask[k]) continue;
                p += x * y;
                size += fabs(x * y);
                sum += y;
                square += fabs(y);
            }
            assert_close(m.products[(size_t)j * (size_t)bands + (size_t)i], p,
                         exact ? 0 : (never ? BY_TYPE(5e-6, 1e-13) : 1e-13) * size); /* of some 800 roundings */
        }
        assert_close(m.sum[j], sum, exact ? 0 : (never ? BY_TYPE(1e-7, 1e-13) : 1e-13) * square);
    }
    shs_moments_free(NULL, &m);
}

static void test_moments_of_every_type(void **state) {
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 53};
    static const shs_type types[] = {SHS_TYPE_U8,  SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_I32,
                                     SHS_TYPE_U32, SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};
    size_t t, n, p;
    int layout, variant;
    (void)state;
    for (t = 0; t < sizeof types / sizeof *types; t++)
        for (n = (size_t)first_of((int)t + test_instance, 5); n < sizeof sizes / sizeof *sizes; n += (size_t)every(5))
            for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++)
                for (variant = 0; variant < 4; variant++) { /* missing, wild */
                    scene s;
                    int whole =
                        (types[t] == SHS_TYPE_I16 || types[t] == SHS_TYPE_U16) && variant < 2 && test_multiplies_pairs();
                    make_scene(&s, types[t], (shs_interleave)layout, sizes[n], variant / 2, variant % 2);
                    for (p = 0; p < 3; p++) check_moments(&s, sizes[n], types[t] == SHS_TYPE_U8 || whole, precisions[p]);
                    free_scene(&s);
                }
}

/* Bands taken from last to first, and the other byte order, of the same values: the same numbers to the last bit wherever
   integers are multiplied. */
static void test_moments_of_integers_however_they_lie(void **state) {
    static const shs_type types[] = {SHS_TYPE_U8, SHS_TYPE_I16, SHS_TYPE_U16};
    static const int sizes[] = {1, 3, 4, 7, 8, 12, 17, 40, 53};
    int backwards[MOST_BANDS], t, n, layout, missing, swap, b, i, j;
    (void)state;
    for (t = 0; t < 3; t++)
        for (n = first_of(t + test_instance, 3); n < 9; n += every(3))
            for (missing = 0; missing < 2; missing++) {
                int bands = sizes[n];
                scene plain;
                shs_moments expected;
                for (b = 0; b < bands; b++) backwards[b] = bands - 1 - b;
                make_scene(&plain, types[t], SHS_INTERLEAVE_BIP, bands, 0, missing);
                assert_ok(shs_moments_create(NULL, bands, &expected));
                assert_ok(shs_moments_update(NULL, &plain.cube, 0, &expected));
                for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++)
                    for (swap = 0; swap < 2; swap++) {
                        scene s;
                        shs_moments m;
                        unsigned char *bytes;
                        size_t at, size = shs_type_size(types[t]), count = (size_t)SAMPLES * LINES * (size_t)bands * size;
                        make_scene(&s, types[t], (shs_interleave)layout, bands, 0, missing);
                        s.cube.band_list = backwards;
                        s.cube.band_count = bands;
                        s.cube.swap_bytes = swap;
                        bytes = (unsigned char *)(uintptr_t)s.cube.pixels;
                        for (at = 0; swap && size == 2 && at < count; at += 2) {
                            unsigned char first = bytes[at];
                            bytes[at] = bytes[at + 1];
                            bytes[at + 1] = first;
                        }
                        assert_ok(shs_moments_create(NULL, bands, &m));
                        assert_ok(shs_moments_update(NULL, &s.cube, 0, &m));
                        assert_true(m.count == expected.count);
                        for (j = 0; j < bands && (types[t] == SHS_TYPE_U8 || test_multiplies_pairs()); j++) {
                            assert_true(m.sum[bands - 1 - j] == expected.sum[j]);
                            for (i = j; i < bands; i++)
                                assert_true(m.products[(bands - 1 - i) * bands + bands - 1 - j] ==
                                            expected.products[j * bands + i]);
                        }
                        shs_moments_free(NULL, &m);
                        free_scene(&s);
                    }
                shs_moments_free(NULL, &expected);
                free_scene(&plain);
            }
}

/* ---- maps --------------------------------------------------------------------------------------------------------- */

/* Outputs in every order against those of plain sums in double; integers may fall on either side of a half. */
static void check_map(const scene *s, int bands, int outputs, shs_type type, shs_interleave interleave, int rescale,
                      shs_precision precise) {
    size_t pixels = (size_t)SAMPLES * LINES, k;
    shs_wide *M = (shs_wide *)malloc((size_t)bands * (size_t)outputs * sizeof *M);
    shs_wide *centre = (shs_wide *)malloc((size_t)bands * sizeof *centre);
    double *Y = (double *)malloc(pixels * (size_t)outputs * sizeof *Y), largest = 0;
    void *out = calloc(pixels * (size_t)outputs, shs_type_size(type));
    shs_pixel_map map = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_random r;
    int o, b;
    shs_random_seed(&r, 11);
    for (b = 0; b < bands * outputs; b++) M[b] = (shs_wide)shs_random_normal(&r) / bands;
    for (o = 0; o < outputs; o++) /* most outputs do not ask for all bands */
        for (b = 0; b < bands && b < o / 2; b++) M[b * outputs + o] = 0;
    for (b = 0; b < bands; b++) centre[b] = (shs_wide)s->values[b];
    map.bands = bands;
    map.outputs = outputs;
    map.matrix = M;
    map.centre = centre;
    sink.pixels = out;
    sink.type = type;
    sink.interleave = interleave;
    sink.has_nodata = 1;
    sink.nodata = 3;
    if (rescale) {
        sink.rescale = 1;
        sink.low = 5;
        sink.high = 250;
    }
    assert_ok(shs_cube_map(NULL, &s->cube, &map, precise, &sink));
    for (o = 0; o < outputs; o++) {
        double low = 1e300, high = -1e300;
        for (k = 0; k < pixels; k++) {
            double y = 0;
            for (b = 0; b < bands; b++)
                y += (double)M[b * outputs + o] * (s->values[k * (size_t)bands + (size_t)b] - (double)centre[b]);
            Y[(size_t)o * pixels + k] = y;
            if (s->mask[k] && y < low) low = y;
            if (s->mask[k] && y > high) high = y;
            if (s->mask[k] && fabs(y) > largest) largest = fabs(y);
        }
        for (k = 0; k < pixels && rescale; k++) {
            double *y = Y + (size_t)o * pixels + k;
            *y = high > low ? 245 * (*y - low) / (high - low) + 5 : 5;
        }
    }
    if (rescale) largest = 250;
    for (o = 0; o < outputs; o++)
        for (k = 0; k < pixels; k++) {
            size_t at = place_in(interleave, pixels, (size_t)outputs, k, (size_t)o);
            double y = s->mask[k] ? Y[(size_t)o * pixels + k] : 3, got;
            double bound = (precise == SHS_PRECISION_NEVER ? BY_TYPE(4e-6, 1e-12) : 1e-12) * largest;
            if (type == SHS_TYPE_U8) {
                got = ((uint8_t *)out)[at];
                if (y < 0) y = 0;
                else if (y > 255) y = 255;
                bound += 0.5;
            } else if (type == SHS_TYPE_I16) {
                got = ((int16_t *)out)[at];
                if (y < -32768) y = -32768;
                else if (y > 32767) y = 32767;
                bound += 0.5;
            } else if (type == SHS_TYPE_U16) {
                got = ((uint16_t *)out)[at];
                if (y < 0) y = 0;
                else if (y > 65535) y = 65535;
                bound += 0.5;
            } else if (type == SHS_TYPE_I32) {
                got = ((int32_t *)out)[at];
                bound += 0.5;
            } else if (type == SHS_TYPE_U32) {
                got = ((uint32_t *)out)[at];
                y = y < 0 ? 0 : y;
                bound += 0.5;
            } else if (type == SHS_TYPE_F32) {
                got = (double)((float *)out)[at];
                bound += 1e-7 * fabs(y);
            } else if (type == SHS_TYPE_F64) got = ((double *)out)[at];
            else {
                got = (double)((shs_real *)out)[at];
                bound += (double)REAL_EPS * fabs(y);
            }
            assert_close(got, y, bound);
        }
    free(M);
    free(centre);
    free(Y);
    free(out);
}

static void test_maps_of_every_order(void **state) {
    static const int outputs[] = {1, 2, 5, 8, 10, 16, 17, 50};
    static const shs_type types[] = {SHS_TYPE_U8,  SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_I32,
                                     SHS_TYPE_U32, SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};
    int in, out, variant;
    size_t n, t, p;
    (void)state;
    for (in = 0; in < SHS_INTERLEAVE_COUNT; in++)
        for (variant = 0; variant < 2; variant++) {
            scene s;
            make_scene(&s, variant ? SHS_TYPE_F32 : SHS_TYPE_I16, (shs_interleave)in, 23, 0, variant);
            for (n = 0; n < sizeof outputs / sizeof *outputs; n++)
                for (out = 0; out < SHS_INTERLEAVE_COUNT; out++)
                    for (t = (size_t)first_of((int)n + in + out + test_instance, 4); t < sizeof types / sizeof *types;
                         t += (size_t)every(4))
                        for (p = 1; p < 3; p++)
                            check_map(&s, 23, outputs[n], types[t], (shs_interleave)out, (int)(n + t) % 2, precisions[p]);
            free_scene(&s);
        }
}

/* Squared lengths of mapped pixels, of full and of triangular matrices: in double in every build. */
static void test_squares_of_every_size(void **state) {
    static const int sizes[] = {1, 2, 7, 8, 9, 16, 23, 31, 48, 53};
    size_t n, k, pixels = (size_t)SAMPLES * LINES;
    int layout, variant, o, b, short_of;
    (void)state;
    for (n = (size_t)first_of(test_instance, 3); n < sizeof sizes / sizeof *sizes; n += (size_t)every(3))
        for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++)
            for (variant = 0; variant < 4; variant++) /* missing pixels; triangular */
                for (short_of = 0; short_of < 2; short_of++) {
                    int bands = sizes[n], outputs = short_of && bands > 3 ? bands - 3 : bands;
                    shs_wide *M = (shs_wide *)malloc((size_t)(bands * outputs) * sizeof *M);
                    shs_wide *offset = (shs_wide *)malloc((size_t)outputs * sizeof *offset);
                    double *out = (double *)malloc(pixels * sizeof *out);
                    shs_pixel_map map = SHS_ZERO;
                    shs_sink sink = SHS_ZERO;
                    shs_random r;
                    scene s;
                    make_scene(&s, variant % 2 ? SHS_TYPE_F32 : SHS_TYPE_U16, (shs_interleave)layout, bands, 0, variant % 2);
                    shs_random_seed(&r, 3);
                    for (b = 0; b < bands; b++)
                        for (o = 0; o < outputs; o++) M[b * outputs + o] = variant / 2 && b < o ? 0 : shs_random_normal(&r);
                    for (o = 0; o < outputs; o++) offset[o] = shs_random_normal(&r);
                    map.bands = bands;
                    map.outputs = outputs;
                    map.matrix = M;
                    map.offset = offset;
                    sink.pixels = out;
                    sink.type = SHS_TYPE_F64;
                    sink.has_nodata = 1;
                    sink.nodata = -1;
                    assert_ok(test_map_squares(&s.cube, &map, &sink));
                    for (k = 0; k < pixels; k++) {
                        double sum = 0, size = 0;
                        for (o = 0; o < outputs; o++) {
                            double y = (double)offset[o], each = fabs(y);
                            for (b = 0; b < bands; b++) {
                                double p = (double)M[b * outputs + o] * s.values[k * (size_t)bands + (size_t)b];
                                y += p;
                                each += fabs(p);
                            }
                            sum += y * y;
                            size += each * each;
                        }
                        assert_close(out[k], s.mask[k] ? sum : -1, 1e-13 * size);
                    }
                    free(M);
                    free(offset);
                    free(out);
                    free_scene(&s);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_of_every_type),
        cmocka_unit_test(test_moments_of_integers_however_they_lie),
        cmocka_unit_test(test_maps_of_every_order),
        cmocka_unit_test(test_squares_of_every_size),
    };
    return run_with_every_instance("pixels", tests);
}
