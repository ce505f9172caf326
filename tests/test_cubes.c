/* test_cubes.c - cubes in every layout, streams, missing pixels, moments, maps and sinks, and all that can go wrong. */
#include "test_cube_tools.h"
#include <limits.h>

/* Against the largest element. Without `precise` a float build sums products of up to 512 pixels in float: twice the 5e-7
   that such sums are found to err by. A device sums those of 1024. */
#define COVARIANCE_BOUND BY_TYPE(BY_ENGINE(1e-6, 2e-6), 1e-12)
#define MEAN_BOUND BY_TYPE(1e-7, 1e-13)
#define MAP_BOUND BY_TYPE(1e-6, 1e-13)
#define PRECISE_BOUND 1e-12

static const shs_type types[] = {SHS_TYPE_U8,  SHS_TYPE_I16, SHS_TYPE_U16,  SHS_TYPE_I32, SHS_TYPE_U32,
                                 SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL, SHS_TYPE_F16, SHS_TYPE_BF16};
#ifdef TEST_CL
#define TYPES ((int)(sizeof types / sizeof types[0]) - 2) /* 16 bits are the CPU's: test_cl_pixels sees that devices say so */
#else
#define TYPES (int)(sizeof types / sizeof types[0])
#endif

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Mean and covariance of the pixels of the cube that `valid` names (NULL: all), against two naive passes. */
static void check_moments(const shs_context *ctx, const shs_cube *cube, const plain_cube *p, const unsigned char *valid,
                          int precise) {
    size_t B = (size_t)p->bands, count;
    double *mean = NEW(double, B), *covariance = NEW(double, B * B), *m = NEW(double, B), *c = NEW(double, B * B);
    shs_moments moments;
    count = naive_moments(p, valid, mean, covariance);
    assert_ok(shs_moments_create(ctx, p->bands, &moments));
    assert_ok(shs_moments_update(ctx, cube, precision_of(precise), &moments));
    assert_int_equal(moments.bands, p->bands);
    assert_true(moments.count == (shs_wide)count);
    assert_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, m, c, p->bands));
    check_near("mean", B, m, mean, (precise ? 1e-13 : MEAN_BOUND) * largest_of(values_of(p), p->x));
    check_near("covariance", B * B, c, covariance,
               (precise ? PRECISE_BOUND : COVARIANCE_BOUND) * largest_of(B * B, covariance));
    shs_moments_free(ctx, &moments);
    free(mean);
    free(covariance);
    free(m);
    free(c);
}

/* A random map of `bands` to `outputs`, all three parts; map_free frees them. */
static shs_pixel_map random_map(int bands, int outputs, uint64_t seed) {
    shs_pixel_map map = SHS_ZERO;
    size_t n = (size_t)outputs * (size_t)bands, i;
    shs_wide *matrix = NEW(shs_wide, n), *centre = NEW(shs_wide, bands), *offset = NEW(shs_wide, outputs);
    shs_random r;
    shs_random_seed(&r, seed);
    for (i = 0; i < n; i++) matrix[i] = shs_random_normal(&r);
    for (i = 0; i < (size_t)bands; i++) centre[i] = 20 + 5 * shs_random_normal(&r);
    for (i = 0; i < (size_t)outputs; i++) offset[i] = 10 * shs_random_normal(&r);
    map.bands = bands;
    map.outputs = outputs;
    map.matrix = matrix;
    map.centre = centre;
    map.offset = offset;
    return map;
}

static void map_free(shs_pixel_map *map) { free((void *)map->matrix), free((void *)map->centre), free((void *)map->offset); }

/* Three outputs of a map, in every interleave of the sink. */
static void check_map(const shs_context *ctx, const shs_cube *cube, const plain_cube *p, int precise,
                      shs_interleave interleave) {
    shs_pixel_map map = random_map(p->bands, 3, 77);
    shs_sink sink = new_sink(SHS_TYPE_F64, interleave, p->lines, p->samples, 3);
    plain_cube out;
    double *expected = NEW(double, 3 * pixels_of(p)), scale;
    scale = naive_map(p, 3, map.matrix, map.centre, map.offset, expected);
    assert_ok(shs_cube_map(ctx, cube, &map, precision_of(precise), &sink));
    out = sink_values(&sink, p->lines, p->samples, 3);
    check_near("map", values_of(&out), out.x, expected, (precise ? 1e-13 : MAP_BOUND) * scale);
    free(expected);
    free(out.x);
    sink_free(&sink);
    map_free(&map);
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static void check_layout(shs_type type, int lines, int samples, int bands, uint64_t seed) {
    plain_cube p = random_values(type, lines, samples, bands, seed);
    static int turn;
    int interleave, swapped, precise;
    for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++)
        for (swapped = 0; swapped < 2; swapped++)
            for (precise = 0; precise < 2; precise++) {
                if (!usual_on_device(type, interleave, swapped)) continue;
                if (left_out(&turn, every_on_device(11))) continue;
                shs_cube cube = cube_of(&p, type, (shs_interleave)interleave, swapped);
                assert_int_equal(shs_cube_bands(&cube), bands);
                check_moments(NULL, &cube, &p, NULL, precise);
                check_map(NULL, &cube, &p, precise, (shs_interleave)((interleave + swapped + precise) % 3));
                cube_free(&cube);
            }
    free(p.x);
}

static void test_types_interleaves_and_byte_orders(void **state) {
    int t;
    (void)state;
    for (t = 0; t < TYPES; t++) {
        check_layout(types[t], 37, 53, 13, 1 + (uint64_t)t);
        check_layout(types[t], 5, 3, 37, 20 + (uint64_t)t);
        check_layout(types[t], 1, 700, 1, 30 + (uint64_t)t);
        check_layout(types[t], 300, 1, 2, 40 + (uint64_t)t);
    }
}

/* The same values in every type give the same answer, not only one within the bounds of its own. */
static void test_one_answer_for_all_types(void **state) {
    plain_cube p = random_values(SHS_TYPE_U8, 31, 41, 9, 50);
    double *first = NEW(double, 81), *c = NEW(double, 81), mean[9], m[9];
    int t;
    (void)state;
    for (t = 0; t < TYPES; t++) {
        shs_cube cube = cube_of(&p, types[t], (shs_interleave)(t % 3), t & 1);
        shs_moments moments;
        assert_ok(shs_moments_create(NULL, 9, &moments));
        assert_ok(shs_moments_update(NULL, &cube, 1, &moments));
        assert_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, t ? m : mean, t ? c : first, 9));
        if (t) {
            check_near("mean", 9, m, mean, 1e-13 * 256);
            check_near("covariance", 81, c, first, 1e-13 * largest_of(81, first));
        }
        shs_moments_free(NULL, &moments);
        cube_free(&cube);
    }
    free(p.x);
    free(first);
    free(c);
}

/* One band of `count` values through the identity, into a type. */
static void convert(shs_type from, const void *values, int count, shs_type to, int swapped, void *out) {
    static const shs_wide one = 1;
    shs_cube cube = SHS_ZERO;
    shs_pixel_map map = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    cube.pixels = values;
    cube.type = from;
    cube.lines = 1;
    cube.samples = count;
    cube.bands = 1;
    cube.swap_bytes = swapped;
    map.bands = map.outputs = 1;
    map.matrix = &one;
    sink.pixels = out;
    sink.type = to;
    assert_ok(shs_cube_map(NULL, &cube, &map, SHS_PRECISION_ALWAYS, &sink));
}

/* Reads each of the 65,536 patterns in both byte orders, and writes each value. NaN and infinity count as missing. */
static void test_all_numbers_of_sixteen_bits(void **state) {
    static const shs_type shorts[] = {SHS_TYPE_F16, SHS_TYPE_BF16};
    enum { ALL = 65536 };
    uint16_t *bits = NEW(uint16_t, ALL), *swapped = NEW(uint16_t, ALL), *back = NEW(uint16_t, ALL);
    double *x = NEW(double, ALL), *y = NEW(double, ALL);
    int t, i;
    (void)state;
    for (t = 0; t < 2; t++) {
        for (i = 0; i < ALL; i++) {
            bits[i] = (uint16_t)i;
            swapped[i] = (uint16_t)(i << 8 | i >> 8);
        }
        convert(shorts[t], bits, ALL, SHS_TYPE_F64, 0, x);
        convert(shorts[t], swapped, ALL, SHS_TYPE_F64, 1, y);
        convert(SHS_TYPE_F64, x, ALL, shorts[t], 0, back);
        for (i = 0; i < ALL; i++) {
            const double value = short_number(shorts[t], bits[i]);
            if (value - value != 0) {
                assert_true(is_nan(x[i]) && is_nan(y[i]) && is_nan(short_number(shorts[t], back[i])));
                continue;
            }
            assert_true(x[i] == value && y[i] == value && short_number(shorts[t], back[i]) == value);
        }
    }
    free(bits);
    free(swapped);
    free(back);
    free(x);
    free(y);
}

/* The nearest number, the even one of two: at and beside the middle between neighbours, below the least, beyond the largest;
   what a sink calls missing is rounded likewise, and a cube's no-data value is known by what the type makes of it. */
static void test_rounding_to_sixteen_bits(void **state) {
    static const shs_type shorts[] = {SHS_TYPE_F16, SHS_TYPE_BF16};
    enum { STEP = 37, MOST = 3 * 65536 / STEP + 6 };
    double *x = NEW(double, MOST);
    uint16_t *bits = NEW(uint16_t, MOST);
    int t, i, count;
    (void)state;
    for (t = 0; t < 2; t++) {
        const double largest = short_number(shorts[t], t ? 0x7f7f : 0x7bff), least = short_number(shorts[t], 1);
        count = 0;
        for (i = t; i < 65535; i += STEP) {
            const double one = short_number(shorts[t], (unsigned)i), next = short_number(shorts[t], (unsigned)i + 1);
            const double middle = (one + next) / 2;
            if (middle - middle != 0) continue;
            x[count++] = middle;
            x[count++] = middle * (1 + 1e-15);
            x[count++] = middle * (1 - 1e-15);
        }
        x[count++] = least / 2;
        x[count++] = least * 0.51;
        x[count++] = -least * 0.49;
        x[count++] = largest * 1.0019;
        if (t == 0) x[count++] = -largest * 1.5; /* no float holds it of bfloat16 */
        convert(SHS_TYPE_F64, x, count, shorts[t], 0, bits);
        for (i = 0; i < count; i++)
            if (short_number(shorts[t], bits[i]) != short_number(shorts[t], short_bits(shorts[t], x[i])))
                fail_msg("%.17g became %g", x[i], short_number(shorts[t], bits[i]));
    }
    free(x);
    free(bits);
}

static void test_missing_in_sixteen_bits(void **state) {
    static const shs_type shorts[] = {SHS_TYPE_F16, SHS_TYPE_BF16};
    static const double values[] = {1, -9999, 3, -9999};
    int t, i;
    (void)state;
    for (t = 0; t < 2; t++) {
        uint16_t bits[4], out[4];
        shs_wide one = 1;
        shs_cube cube = SHS_ZERO;
        shs_pixel_map map = SHS_ZERO;
        shs_sink sink = SHS_ZERO;
        for (i = 0; i < 4; i++) bits[i] = short_bits(shorts[t], values[i]);
        cube.pixels = bits;
        cube.type = shorts[t];
        cube.lines = 1;
        cube.samples = 4;
        cube.bands = 1;
        cube.has_nodata = 1;
        cube.nodata = -9999;
        map.bands = map.outputs = 1;
        map.matrix = &one;
        sink.pixels = out;
        sink.type = shorts[t];
        sink.has_nodata = 1;
        sink.nodata = (shs_wide)1e-3;
        assert_ok(shs_cube_map(NULL, &cube, &map, SHS_PRECISION_ALWAYS, &sink));
        for (i = 0; i < 4; i++) assert_int_equal(out[i], i % 2 ? short_bits(shorts[t], 1e-3) : bits[i]);
    }
}

static void test_band_lists(void **state) {
    static const int some[] = {7, 0, 12, 3}, reversed[] = {12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, one[] = {5};
    static const struct {
        const int *list;
        int count;
    } lists[] = {{some, 4}, {reversed, 13}, {one, 1}};
    int t, interleave, l;
    (void)state;
    for (t = 0; t < TYPES; t++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++)
            for (l = 0; l < 3; l++) {
                if (!usual_on_device(types[t], interleave, l & 1)) continue;
                plain_cube p = random_values(types[t], 19, 31, 13, 60), used;
                shs_cube cube = cube_of(&p, types[t], (shs_interleave)interleave, l & 1), t2;
                stream s;
                cube.band_list = lists[l].list;
                cube.band_count = lists[l].count;
                assert_int_equal(shs_cube_bands(&cube), lists[l].count);
                used = plain_of(&cube);
                check_moments(NULL, &cube, &used, NULL, 0);
                check_map(NULL, &cube, &used, 0, SHS_INTERLEAVE_BIP);
                t2 = streamed(&cube, 4, &s);
                check_moments(NULL, &t2, &used, NULL, 1);
                assert_false(s.wrong);
                free(p.x);
                free(used.x);
                cube_free(&cube);
            }
}

/* Every order of the axes, gaps between values that hold what nobody may read, strides that run backwards, and pixels
   that start at any byte of a file. */
static void check_strides(shs_type type, const ptrdiff_t *stride, size_t room, size_t origin, int misaligned) {
    plain_cube p = random_values(type, 11, 17, 5, 70), q;
    size_t size = shs_type_size(type), i;
    unsigned char *memory = NEW(unsigned char, room *size + 8), *base = memory + misaligned;
    shs_cube cube = SHS_ZERO;
    memset(memory, 0xff, room * size + 8); /* NaN in floating types */
    cube.pixels = base + origin * size;
    cube.type = type;
    cube.lines = 11;
    cube.samples = 17;
    cube.bands = 5;
    cube.sample_stride = stride[0];
    cube.line_stride = stride[1];
    cube.band_stride = stride[2];
    for (i = 0; i < values_of(&p); i++) {
        ptrdiff_t b = (ptrdiff_t)(i % 5), s = (ptrdiff_t)(i / 5 % 17), l = (ptrdiff_t)(i / 85);
        ptrdiff_t at = (ptrdiff_t)origin + s * stride[0] + l * stride[1] + b * stride[2];
        store_value(base + (size_t)at * size, type, 0, p.x[i]);
    }
    q = plain_of(&cube);
    assert_memory_equal(q.x, p.x, values_of(&p) * sizeof *p.x);
    check_moments(NULL, &cube, &p, NULL, 0);
    check_map(NULL, &cube, &p, 1, SHS_INTERLEAVE_BIL);
    free(memory);
    free(p.x);
    free(q.x);
}

static void test_strides(void **state) {
    static const ptrdiff_t gaps[][3] = {{7, 130, 1}, {1, 100, 20}, {1, 20, 230}, {3, 60, 700}, {60, 1, 11}, {12, 204, 2}};
    static const ptrdiff_t back[][3] = {{5, -85, 1}, {-5, 85, 1}, {5, 85, -1}, {-1, -17, -187}};
    static const size_t origin[] = {850, 80, 4, 934};
    int t, k;
    (void)state;
    for (t = 0; t < TYPES; t += every_on_device(3)) {
        for (k = 0; k < 6; k++) check_strides(types[t], gaps[k], 4000, 0, 0);
        for (k = 0; k < 4; k++) check_strides(types[t], back[k], 935, origin[k], 0);
        for (k = 1; k < 4; k++) check_strides(types[t], gaps[k], 4000, 0, k);
    }
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static void test_block_sizes(void **state) {
    static const int blocks[] = {1, 2, 7, 16, 28, 29, 40, 0};
    int t, interleave, k;
    (void)state;
    for (t = 0; t < TYPES; t++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            if (!usual_on_device(types[t], interleave, t & 1)) continue;
            plain_cube p = random_values(types[t], 29, 61, 7, 80);
            shs_cube cube = cube_of(&p, types[t], (shs_interleave)interleave, t & 1);
            for (k = 0; k < 8; k++) {
                stream s;
                shs_cube blockwise = streamed(&cube, blocks[k], &s);
                check_moments(NULL, &blockwise, &p, NULL, k & 1);
                assert_false(s.wrong);
                assert_int_equal(s.passes, 1);
                assert_int_equal(s.next_line, 29);
                assert_int_equal(s.most_lines, blocks[k] && blocks[k] < 29 ? blocks[k] : 29);
                check_map(NULL, &blockwise, &p, 1, SHS_INTERLEAVE_BSQ);
                assert_int_equal(s.passes, 2);
                assert_false(s.wrong);
            }
            free(p.x);
            cube_free(&cube);
        }
}

/* The blocks that a sink is handed make up what a sink in memory gets. */
static void test_streamed_sinks(void **state) {
    int turn = 0;
    static const shs_type out_types[] = {SHS_TYPE_U8, SHS_TYPE_I32, SHS_TYPE_U32, SHS_TYPE_F32, SHS_TYPE_REAL};
    plain_cube p = random_values(SHS_TYPE_I16, 23, 31, 6, 90);
    shs_pixel_map map = random_map(6, 4, 91);
    int t, interleave, k;
    (void)state;
    for (t = 0; t < 4; t++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++)
            for (k = 0; k < 6; k++) {
                if (left_out(&turn, every_on_device(11))) continue;
                shs_cube cube = cube_of(&p, SHS_TYPE_I16, (shs_interleave)((interleave + k) % 3), 0), blockwise;
                shs_sink whole = new_sink(out_types[t], (shs_interleave)interleave, 23, 31, 4), parts, into;
                size_t bytes = 23 * 31 * 4 * shs_type_size(out_types[t]);
                stream s;
                collector c;
                whole.rescale = k & 1;
                whole.low = 3;
                whole.high = 250;
                parts = new_sink(out_types[t], (shs_interleave)interleave, 23, 31, 4);
                parts.rescale = whole.rescale;
                parts.low = 3;
                parts.high = 250;
                into = collecting(&parts, 23, 31, 4, &c);
                blockwise = streamed(&cube, 1 + 5 * k, &s);
                assert_ok(shs_cube_map(NULL, &cube, &map, 1, &whole));
                assert_ok(shs_cube_map(NULL, &blockwise, &map, 1, &into));
                assert_false(c.wrong || s.wrong);
                assert_int_equal(c.next_line, 23);
                assert_int_equal(s.passes, k & 1 ? 2 : 1);
                if (is_integer_type(out_types[t])) assert_memory_equal(parts.pixels, whole.pixels, bytes);
                else {
                    plain_cube a = sink_values(&whole, 23, 31, 4), b = sink_values(&parts, 23, 31, 4);
                    check_near("sink", values_of(&a), b.x, a.x,
                               BY_TYPE(1e-6, t == 2 ? 1e-6 : 1e-13) * largest_of(values_of(&a), a.x));
                    free(a.x);
                    free(b.x);
                }
                cube_free(&cube);
                sink_free(&whole);
                sink_free(&parts);
            }
    free(p.x);
    map_free(&map);
}

/* ---- missing pixels ---------------------------------------------------------------------------------------------- */

/* Marks about every k-th pixel. */
static unsigned char *random_mask(size_t pixels, int k, uint64_t seed) {
    unsigned char *mask = NEW(unsigned char, pixels);
    shs_random r;
    size_t i;
    shs_random_seed(&r, seed);
    for (i = 0; i < pixels; i++)
        mask[i] = (unsigned char)(shs_random_below(&r, (uint64_t)k) ? 1 + shs_random_below(&r, 255) : 0);
    return mask;
}

/* Statistics leave the pixels out that `valid` does not name, and every output of theirs is `missing`. */
static void check_missing(const shs_cube *cube, const unsigned char *valid) {
    plain_cube p = plain_of(cube);
    shs_pixel_map map = random_map(p.bands, 3, 101);
    double *expected = NEW(double, 3 * pixels_of(&p)), scale = 0;
    size_t i, k;
    int interleave;
    for (i = 0; i < pixels_of(&p); i++)
        for (k = 0; k < (size_t)p.bands && !valid[i]; k++) pixel_of(&p, i)[k] = 0; /* whatever it was, it must not count */
    check_moments(NULL, cube, &p, valid, 0);
    check_moments(NULL, cube, &p, valid, 1);
    scale = naive_map(&p, 3, map.matrix, map.centre, map.offset, expected);
    for (i = 0; i < 3 * pixels_of(&p); i++)
        if (!valid[i / 3]) expected[i] = -77;
    for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
        shs_sink sink = new_sink(SHS_TYPE_F64, (shs_interleave)interleave, p.lines, p.samples, 3);
        plain_cube out;
        sink.has_nodata = 1;
        sink.nodata = -77;
        assert_ok(shs_cube_map(NULL, cube, &map, 0, &sink));
        out = sink_values(&sink, p.lines, p.samples, 3);
        for (i = 0; i < values_of(&out); i++) {
            if (!valid[i / 3] && out.x[i] != -77) fail_msg("missing pixel %d is %g", (int)(i / 3), out.x[i]);
            assert_close(out.x[i], expected[i], MAP_BOUND * scale);
        }
        free(out.x);
        sink_free(&sink);
    }
    free(p.x);
    free(expected);
    map_free(&map);
}

static void test_mask(void **state) {
    int turn = 0;
    int t;
    (void)state;
    for (t = 0; t < TYPES; t++) {
        if (left_out(&turn, every_on_device(3))) continue;
        plain_cube p = random_values(types[t], 27, 33, 6, 110);
        shs_cube cube = cube_of(&p, types[t], (shs_interleave)(t % 3), t & 1), blockwise;
        unsigned char *mask = random_mask(pixels_of(&p), 3, 111);
        stream s;
        cube.mask = mask;
        check_missing(&cube, mask);
        blockwise = streamed(&cube, 5, &s);
        check_moments(NULL, &blockwise, &p, mask, 1);
        free(mask);
        free(p.x);
        cube_free(&cube);
    }
}

/* The no-data value in any one band, in every type and byte order; one in a band that is not in use is no concern. */
static void test_nodata(void **state) {
    static const double nodata[] = {0, -32768, 65535, -999999, 4294967295.0, -9999.5, 1e30, -9999, -9999, -1};
    int t, interleave;
    (void)state;
    for (t = 0; t < TYPES; t += every_on_device(3))
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            if (!usual_on_device(types[t], interleave, t & 1)) continue;
            plain_cube p = random_values(types[t], 21, 35, 7, 120);
            unsigned char *valid = random_mask(pixels_of(&p), 4, 121);
            static const int list[] = {6, 1, 2, 3};
            shs_cube cube;
            size_t i, k;
            for (i = 0; i < values_of(&p); i++)
                if (p.x[i] == nodata[t]) p.x[i] = 100; /* where chance drew it */
            for (i = 0; i < pixels_of(&p); i++)
                if (!valid[i]) pixel_of(&p, i)[i % 7] = nodata[t];
            cube = cube_of(&p, types[t], (shs_interleave)interleave, t & 1);
            cube.has_nodata = 1;
            cube.nodata = nodata[t];
            check_missing(&cube, valid);
            cube.band_list = list;
            cube.band_count = 4;
            for (i = 0; i < pixels_of(&p); i++) {
                valid[i] = 1;
                for (k = 0; k < 4; k++)
                    if (pixel_of(&p, i)[list[k]] == nodata[t]) valid[i] = 0;
            }
            check_missing(&cube, valid);
            free(valid);
            free(p.x);
            cube_free(&cube);
        }
}

/* A no-data value that the type cannot hold is never met: not when it is cut to the type's width either. */
static void test_nodata_outside_the_type(void **state) {
    static const double outside[] = {-9999, 300, 256 + 77, 77.5, 1e30, -1, NOT_A_NUMBER, ENDLESS};
    plain_cube p = random_values(SHS_TYPE_U8, 20, 20, 3, 130);
    shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
    size_t k;
    (void)state;
    cube.has_nodata = 1;
    for (k = 0; k < sizeof outside / sizeof outside[0]; k++) {
        cube.nodata = outside[k];
        check_moments(NULL, &cube, &p, NULL, 0);
    }
    free(p.x);
    cube_free(&cube);
}

/* The no-data value is given as 0.1, and the file holds the float nearest to 0.1. */
static void test_nodata_rounded_to_float(void **state) {
    plain_cube p = random_values(SHS_TYPE_F32, 20, 20, 3, 140);
    unsigned char *valid = random_mask(400, 5, 141);
    shs_cube cube;
    size_t i;
    (void)state;
    for (i = 0; i < 400; i++)
        if (!valid[i]) pixel_of(&p, i)[i % 3] = (double)0.1f;
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    cube.has_nodata = 1;
    cube.nodata = 0.1;
    check_missing(&cube, valid);
    free(p.x);
    free(valid);
    cube_free(&cube);
}

static void test_nan_and_infinity_are_missing(void **state) {
    static const shs_type floating[] = {SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};
    const double odd[] = {NOT_A_NUMBER, ENDLESS, -ENDLESS, 1e300, -1e39};
    int t, interleave;
    (void)state;
    for (t = 0; t < 3; t++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            if (!usual_on_device(floating[t], interleave, (int)floating[t] & 1)) continue;
            size_t kinds = floating[t] == SHS_TYPE_F64 && sizeof(shs_real) == 4 ? 5 : 3; /* what a float cannot hold either */
            plain_cube p = random_values(floating[t], 24, 31, 5, 150);
            unsigned char *valid = random_mask(pixels_of(&p), 4, 151);
            shs_cube cube;
            size_t i;
            for (i = 0; i < pixels_of(&p); i++)
                if (!valid[i]) pixel_of(&p, i)[i % 5] = odd[i % kinds];
            cube = cube_of(&p, floating[t], (shs_interleave)interleave, (int)floating[t] & 1);
            check_missing(&cube, valid);
            free(p.x);
            free(valid);
            cube_free(&cube);
        }
}

/* The first hundreds of pixels, from which a shift may be taken, are all missing. */
static void test_a_missing_beginning(void **state) {
    plain_cube p = random_values(SHS_TYPE_F32, 40, 50, 4, 160);
    unsigned char *valid = NEW(unsigned char, 2000);
    shs_cube cube;
    size_t i;
    (void)state;
    for (i = 0; i < 2000; i++) {
        valid[i] = i >= 1900;
        if (!valid[i]) pixel_of(&p, i)[2] = NOT_A_NUMBER;
        pixel_of(&p, i)[0] += 1048576;
        pixel_of(&p, i)[0] = (double)(float)pixel_of(&p, i)[0];
    }
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    check_missing(&cube, valid);
    free(p.x);
    free(valid);
    cube_free(&cube);
}

/* Bands that hold nothing but NaN leave no pixel, unless the list of bands leaves them out. */
static void test_bad_bands_dropped(void **state) {
    static const int good[] = {0, 2, 3, 5};
    plain_cube p = random_values(SHS_TYPE_F32, 20, 30, 6, 170), used;
    shs_cube cube;
    shs_moments moments;
    double mean[6];
    size_t i;
    (void)state;
    for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[1] = pixel_of(&p, i)[4] = NOT_A_NUMBER;
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 0);
    assert_ok(shs_moments_create(NULL, 6, &moments));
    assert_ok(shs_moments_update(NULL, &cube, 0, &moments));
    assert_true(moments.count == 0);
    assert_status(shs_moments_finish(&moments, SHS_DIVISOR_N, mean, NULL, 0), SHS_NO_PIXELS);
    shs_moments_free(NULL, &moments);
    cube.band_list = good;
    cube.band_count = 4;
    used = plain_of(&cube);
    check_moments(NULL, &cube, &used, NULL, 0);
    free(p.x);
    free(used.x);
    cube_free(&cube);
}

/* What a missing pixel becomes: the sink's value, else the cube's, else NaN, or 0 in integers. */
static void test_nodata_of_outputs(void **state) {
    static const struct {
        int sink, cube;
        double expected;
    } rules[] = {{1, 0, 9}, {1, 1, 9}, {0, 1, 7}, {0, 0, 0}};
    plain_cube p = random_values(SHS_TYPE_U8, 4, 5, 3, 180);
    unsigned char *mask = random_mask(20, 2, 181);
    shs_pixel_map map = random_map(3, 2, 182);
    int t, rule, rescale;
    size_t i;
    (void)state;
    for (t = 0; t < TYPES; t += every_on_device(3))
        for (rule = 0; rule < 4; rule++)
            for (rescale = 0; rescale < 2; rescale++) {
                shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0);
                shs_sink sink = new_sink(types[t], SHS_INTERLEAVE_BIP, 4, 5, 2);
                plain_cube out;
                cube.mask = mask;
                cube.has_nodata = rules[rule].cube;
                cube.nodata = 7;
                sink.has_nodata = rules[rule].sink;
                sink.nodata = 9;
                sink.rescale = rescale;
                sink.low = 20;
                sink.high = 30;
                assert_ok(shs_cube_map(NULL, &cube, &map, 0, &sink));
                out = sink_values(&sink, 4, 5, 2);
                for (i = 0; i < 40; i++)
                    if (!mask[i / 2] && rule == 3 && !is_integer_type(types[t])) assert_true(is_nan(out.x[i]));
                    else if (!mask[i / 2]) assert_close(out.x[i], rules[rule].expected, 0);
                free(out.x);
                cube_free(&cube);
                sink_free(&sink);
            }
    free(p.x);
    free(mask);
    map_free(&map);
}

/* ---- moments ----------------------------------------------------------------------------------------------------- */

static shs_moments moments_of(const shs_context *ctx, const shs_cube *cube, int precise) {
    shs_moments m;
    assert_ok(shs_moments_create(ctx, shs_cube_bands(cube), &m));
    assert_true(m.count == 0);
    assert_ok(shs_moments_update(ctx, cube, precision_of(precise), &m));
    return m;
}

static void check_finish(const shs_moments *m, const double *mean, const double *covariance, double mean_bound, double bound) {
    size_t B = (size_t)m->bands;
    double *mm = NEW(double, B), *cc = NEW(double, B * B);
    assert_ok(shs_moments_finish(m, SHS_DIVISOR_N, mm, cc, m->bands));
    check_near("mean", B, mm, mean, mean_bound);
    check_near("covariance", B * B, cc, covariance, bound * largest_of(B * B, covariance));
    free(mm);
    free(cc);
}

/* Three slices whose levels differ much, in all orders. */
static void test_merge_in_any_order(void **state) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int firsts[] = {0, 7, 30, 41};
    plain_cube p = random_values(SHS_TYPE_F32, 41, 23, 8, 190);
    double mean[8], covariance[64];
    shs_cube cube;
    size_t i;
    int o, k, precise;
    (void)state;
    for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[i % 8] += (double)(1024 * (i / 300));
    for (i = 0; i < values_of(&p); i++) p.x[i] = (double)(float)p.x[i];
    naive_moments(&p, NULL, mean, covariance);
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    for (precise = 0; precise < 2; precise++)
        for (o = 0; o < 6; o++) {
            shs_moments sum;
            assert_ok(shs_moments_create(NULL, 8, &sum));
            for (k = 0; k < 3; k++) {
                int s = orders[o][k];
                shs_cube slice = slice_of(&cube, firsts[s], firsts[s + 1] - firsts[s]);
                shs_moments part = moments_of(NULL, &slice, precise);
                assert_ok(shs_moments_merge(&sum, &part));
                shs_moments_free(NULL, &part);
            }
            assert_true(sum.count == 41 * 23);
            check_finish(&sum, mean, covariance, precise ? 1e-9 : BY_TYPE(1e-3, 1e-9),
                         precise ? PRECISE_BOUND : COVARIANCE_BOUND);
            shs_moments_free(NULL, &sum);
        }
    free(p.x);
    cube_free(&cube);
}

/* Random values, and what their moments are. */
typedef struct known {
    plain_cube p;
    shs_cube cube;
    double mean[6], covariance[36];
} known;

static known known_values(shs_type type, int lines, int samples, int bands, uint64_t seed) {
    known k;
    k.p = random_values(type, lines, samples, bands, seed);
    k.cube = cube_of(&k.p, type, SHS_INTERLEAVE_BIP, 0);
    naive_moments(&k.p, NULL, k.mean, k.covariance);
    return k;
}

static void known_free(known *k) { free(k->p.x), cube_free(&k->cube); }

static void test_split_anywhere(void **state) {
    known k = known_values(SHS_TYPE_I16, 19, 29, 6, 200);
    int at;
    (void)state;
    for (at = 1; at < 19; at++) {
        shs_cube first = slice_of(&k.cube, 0, at), second = slice_of(&k.cube, at, 19 - at);
        shs_moments merged = moments_of(NULL, &first, 1), rest = moments_of(NULL, &second, 1),
                    updated = moments_of(NULL, &first, 1);
        assert_ok(shs_moments_merge(&merged, &rest));
        check_finish(&merged, k.mean, k.covariance, 1e-8, PRECISE_BOUND);
        assert_ok(shs_moments_update(NULL, &second, 1, &updated));
        check_finish(&updated, k.mean, k.covariance, 1e-8, PRECISE_BOUND);
        shs_moments_free(NULL, &merged), shs_moments_free(NULL, &rest), shs_moments_free(NULL, &updated);
    }
    known_free(&k);
}

/* Moments of no pixels are neutral on either side. */
static void test_merge_with_nothing(void **state) {
    known k = known_values(SHS_TYPE_F32, 9, 11, 4, 210);
    shs_moments some = moments_of(NULL, &k.cube, 1), nothing, both;
    (void)state;
    assert_ok(shs_moments_create(NULL, 4, &nothing));
    assert_ok(shs_moments_create(NULL, 4, &both));
    assert_ok(shs_moments_merge(&both, &nothing));
    assert_true(both.count == 0);
    assert_ok(shs_moments_merge(&both, &some));
    check_finish(&both, k.mean, k.covariance, 1e-11, PRECISE_BOUND);
    assert_ok(shs_moments_merge(&some, &nothing));
    check_finish(&some, k.mean, k.covariance, 1e-11, PRECISE_BOUND);
    shs_moments_free(NULL, &some), shs_moments_free(NULL, &nothing), shs_moments_free(NULL, &both);
    known_free(&k);
}

/* Sums of 8-bit pixels are those of 64-bit integers, over block borders, missing pixels, merges and threads. */
static void check_exact(const shs_moments *m, const plain_cube *p, const unsigned char *valid) {
    size_t i;
    int a, b;
    for (b = 0; b < p->bands; b++) {
        int64_t sum = 0;
        assert_close(m->shift[b], 128, 0);
        for (i = 0; i < pixels_of(p); i++)
            if (!valid || valid[i]) sum += (int64_t)pixel_of(p, i)[b] - 128;
        assert_close(m->sum[b], (double)sum, 0);
        for (a = b; a < p->bands; a++) {
            int64_t product = 0;
            for (i = 0; i < pixels_of(p); i++)
                if (!valid || valid[i]) product += ((int64_t)pixel_of(p, i)[a] - 128) * ((int64_t)pixel_of(p, i)[b] - 128);
            assert_close(m->products[(size_t)b * (size_t)p->bands + (size_t)a], (double)product, 0);
        }
    }
}

static void test_8_bit_sums_are_exact(void **state) {
    int interleave, bright;
    (void)state;
    for (bright = 0; bright < 2; bright++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            plain_cube p = random_values(SHS_TYPE_U8, 150, 131, 19, 220);
            unsigned char *mask = random_mask(pixels_of(&p), 9, 221);
            shs_cube cube, blockwise;
            shs_moments m, more;
            stream s;
            size_t i;
            for (i = 0; i < values_of(&p) && bright; i++) p.x[i] = i / 200000 % 2 ? 0 : 255; /* the largest sums there can be */
            cube = cube_of(&p, SHS_TYPE_U8, (shs_interleave)interleave, 0);
            m = moments_of(NULL, &cube, 0);
            check_exact(&m, &p, NULL);
            shs_moments_free(NULL, &m);
            cube.mask = mask;
            m = moments_of(NULL, &cube, 1);
            check_exact(&m, &p, mask);
            shs_moments_free(NULL, &m);
            cube.mask = NULL;
            blockwise = streamed(&cube, 7, &s);
            m = moments_of(NULL, &blockwise, 0);
            check_exact(&m, &p, NULL);
            assert_ok(shs_moments_create(NULL, 19, &more));
            assert_ok(shs_moments_merge(&more, &m));
            check_exact(&more, &p, NULL);
            shs_moments_free(NULL, &m), shs_moments_free(NULL, &more);
            free(p.x);
            free(mask);
            cube_free(&cube);
        }
}

/* Products of 16-bit integers are exact in single precision too: a band that deviates in one pixel of many is not constant. */
static void test_one_pixel_of_many_deviates(void **state) {
    enum { PIXELS = 1000 * 1000 };
    uint16_t *pixels = NEW(uint16_t, 2 * PIXELS);
    shs_cube cube = SHS_ZERO;
    shs_moments m;
    shs_wide mean[2], covariance[4];
    size_t i;
    (void)state;
    for (i = 0; i < PIXELS; i++) {
        pixels[2 * i] = 60000;
        pixels[2 * i + 1] = (uint16_t)(i % 2);
    }
    pixels[2 * 765432] = 60001;
    cube.pixels = pixels;
    cube.type = SHS_TYPE_U16;
    cube.samples = cube.lines = 1000;
    cube.bands = 2;
    cube.interleave = SHS_INTERLEAVE_BIP;
    m = moments_of(NULL, &cube, 0);
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, mean, covariance, 2));
    if (BY_ENGINE(test_multiplies_pairs(), 0)) assert_close(covariance[0], 1e-6 * (1 - 1e-6), 1e-15);
    assert_close(covariance[3], 0.25, BY_TYPE(1e-6, 1e-12));
    shs_moments_free(NULL, &m);
    free(pixels);
}

/* Small variations on a level of a million: what a plain sum of squares would drown in. The remaining digits of a float lie
   on a coarse grid, so all squares round the same way: at worst by 512 x 2^-25 (1024 on a device). A quarter of this error is
   allowed. */
static void test_large_offsets(void **state) {
    static const shs_type some[] = {SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_I32, SHS_TYPE_U32};
    int t, precise;
    (void)state;
    for (t = 0; t < 4; t++)
        for (precise = 0; precise < 2; precise++) {
            plain_cube p = new_plain(60, 50, 5);
            double mean[5], covariance[25];
            shs_cube cube;
            shs_moments m;
            shs_random r;
            size_t i;
            shs_random_seed(&r, 230);
            for (i = 0; i < values_of(&p); i++) {
                double step = t > 1 ? 1 : 0.0625; /* what a float of a million resolves */
                p.x[i] = 1e6 + step * floor(100 * (double)shs_random_normal(&r) + 0.5) + (i % 5 == 4 ? p.x[i - 1] - 1e6 : 0);
            }
            naive_moments(&p, NULL, mean, covariance);
            cube = cube_of(&p, some[t], SHS_INTERLEAVE_BSQ, 0);
            m = moments_of(NULL, &cube, precise);
            check_finish(&m, mean, covariance, precise ? 1e-9 : BY_TYPE(1e-5, 1e-9),
                         precise ? PRECISE_BOUND : BY_TYPE(BY_ENGINE(4e-6, 8e-6), 1e-12));
            /* adds all pixels again, about the level that is known now */
            assert_ok(shs_moments_update(NULL, &cube, precise ? SHS_PRECISION_ALWAYS : SHS_PRECISION_NEVER, &m));
            check_finish(&m, mean, covariance, precise ? 1e-9 : BY_TYPE(1e-5, 1e-9),
                         precise ? PRECISE_BOUND : BY_TYPE(BY_ENGINE(4e-6, 8e-6), 1e-12));
            shs_moments_free(NULL, &m);
            free(p.x);
            cube_free(&cube);
        }
}

/* Squares that overflow do not pass for a constant band. */
static void test_finish_after_overflow(void **state) {
    plain_cube p;
    shs_moments m;
    shs_wide mean, variance;
    shs_cube cube;
    (void)state;
    if (sizeof(shs_real) == 4) skip(); /* a float holds nothing that large */
    p = new_plain(1, 4, 1);
    p.x[0] = 1e300;
    p.x[1] = 1;
    p.x[2] = 2;
    p.x[3] = 3;
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    m = moments_of(NULL, &cube, 0);
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, &mean, &variance, 1));
    assert_true(shs_eigh(NULL, 1, &variance, 1, 1, &mean, NULL, 1) == SHS_NOT_FINITE);
    shs_moments_free(NULL, &m);
    free(p.x);
    cube_free(&cube);
}

static void test_finish(void **state) {
    plain_cube p = random_values(SHS_TYPE_F64, 10, 10, 3, 240);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0), one = slice_of(&cube, 0, 1);
    shs_moments m = moments_of(NULL, &cube, 1);
    double mean[3], c[9], wide[15], sample[9], zero[9] = {0};
    int i, j;
    (void)state;
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, mean, NULL, 0));
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, mean, c, 3));
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N_LESS_1, mean, sample, 3));
    for (i = 0; i < 9; i++) assert_close(sample[i], c[i] * 100 / 99, 1e-12 * largest_of(9, c));
    for (i = 0; i < 15; i++) wide[i] = -5;
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, mean, wide, 5));
    for (j = 0; j < 3; j++)
        for (i = 0; i < 5; i++) assert_close(wide[5 * j + i], i < 3 ? c[3 * j + i] : -5, 0);
    for (j = 0; j < 3; j++)
        for (i = 0; i < 3; i++) assert_close(c[3 * j + i], c[3 * i + j], 0);
    assert_status(shs_moments_finish(&m, SHS_DIVISOR_N, mean, c, 2), SHS_BAD_LDC);
    assert_status(shs_moments_finish(NULL, SHS_DIVISOR_N, mean, c, 3), SHS_BAD_MOMENTS);
    shs_moments_free(NULL, &m);
    one.samples = 1;
    m = moments_of(NULL, &one, 1);
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, mean, c, 3));
    check_near("mean of one pixel", 3, mean, p.x, 1e-13 * 200);
    check_near("covariance of one pixel", 9, c, zero, 0);
    assert_status(shs_moments_finish(&m, SHS_DIVISOR_N_LESS_1, mean, c, 3), SHS_NO_PIXELS);
    shs_moments_free(NULL, &m);
    assert_ok(shs_moments_create(NULL, 3, &m));
    mean[0] = -3;
    assert_status(shs_moments_finish(&m, SHS_DIVISOR_N, mean, c, 3), SHS_NO_PIXELS);
    assert_close(mean[0], -3, 0);
    shs_moments_free(NULL, &m);
    shs_moments_free(NULL, &m);
    shs_moments_free(NULL, NULL);
    free(p.x);
    cube_free(&cube);
}

/* Compares moments bit by bit, to check that a failed update changed nothing. */
static int same_moments(const shs_moments *a, const shs_moments *b) {
    size_t B = (size_t)a->bands, j;
    if (a->count != b->count || memcmp(a->shift, b->shift, B * sizeof *a->shift) || memcmp(a->sum, b->sum, B * sizeof *a->sum))
        return 0;
    for (j = 0; j < B; j++)
        if (memcmp(a->products + j * (B + 1), b->products + j * (B + 1), (B - j) * sizeof *a->products)) return 0;
    return 1;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void check_thread_bits(shs_type type, int precise, int block_lines) {
    plain_cube p = random_values(type, 67, 71, 21, 250);
    shs_cube cube = cube_of(&p, type, SHS_INTERLEAVE_BIL, 0), used = cube;
    shs_pixel_map map = random_map(21, 5, 251);
    shs_sink first = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 67, 71, 5);
    shs_moments one = SHS_ZERO;
    stream s;
    int threads;
    if (block_lines) used = streamed(&cube, block_lines, &s);
    first.rescale = 1;
    first.low = -1;
    first.high = 1;
    for (threads = 1; threads <= 3; threads++) {
        shs_context ctx = SHS_ZERO;
        ctx.threads = threads;
        if (threads == 1) {
            one = moments_of(&ctx, &used, precise);
            assert_ok(shs_cube_map(&ctx, &used, &map, precision_of(precise), &first));
        } else {
            shs_moments more = moments_of(&ctx, &used, precise);
            shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 67, 71, 5);
            int j;
            sink.rescale = 1;
            sink.low = -1;
            sink.high = 1;
            assert_memory_equal(more.shift, one.shift, 21 * sizeof *one.shift);
            assert_memory_equal(more.sum, one.sum, 21 * sizeof *one.sum);
            for (j = 0; j < 21; j++)
                assert_memory_equal(more.products + 22 * j, one.products + 22 * j, (size_t)(21 - j) * sizeof *one.products);
            assert_ok(shs_cube_map(&ctx, &used, &map, precision_of(precise), &sink));
            assert_memory_equal(sink.pixels, first.pixels, 67 * 71 * 5 * sizeof(double));
            sink_free(&sink);
            shs_moments_free(&ctx, &more);
        }
    }
    shs_moments_free(NULL, &one);
    free(p.x);
    cube_free(&cube);
    sink_free(&first);
    map_free(&map);
}

/* Pixels whose sums a double holds exactly give the same bits in blocks of any size from a panel on, however long lines are. */
static void test_blocks_give_the_same_bits(void **state) {
    static const shs_type exact[] = {SHS_TYPE_U8, SHS_TYPE_U16, SHS_TYPE_I16};
    static const int samples[] = {1, 5, 50, 400}, pixels[] = {400, 600, 800};
    int t, k, i;
    (void)state;
    if (sizeof(shs_wide) == sizeof(float)) skip(); /* a float holds no such sums */
    for (t = 0; t < 3; t++)
        for (k = 0; k < 4; k++) {
            plain_cube p = random_values(exact[t], 1600 / samples[k], samples[k], 3, 252);
            shs_cube cube = cube_of(&p, exact[t], SHS_INTERLEAVE_BIL, 0);
            shs_moments one = moments_of(NULL, &cube, 1);
            for (i = 0; i < 3; i++) {
                stream s;
                shs_cube used = streamed(&cube, (pixels[i] - 1) / samples[k] + 1, &s);
                shs_moments more = moments_of(NULL, &used, 1);
                if (!same_moments(&one, &more))
                    fail_msg("type %d, %d samples, blocks of %d pixels: other bits", (int)exact[t], samples[k], pixels[i]);
                shs_moments_free(NULL, &more);
            }
            shs_moments_free(NULL, &one);
            free(p.x);
            cube_free(&cube);
        }
}

static void test_threads_give_the_same_bits(void **state) {
    static const shs_type some[] = {SHS_TYPE_U8, SHS_TYPE_U16, SHS_TYPE_F32, SHS_TYPE_F64};
    int t, precise, blocks, turn = 0;
    (void)state;
    for (t = 0; t < 4; t++)
        for (precise = 0; precise < 2; precise++)
            for (blocks = 0; blocks < 2; blocks++)
                if (!left_out(&turn, every_on_device(5))) check_thread_bits(some[t], precise, 9 * blocks);
}

#ifndef TEST_CL
/* What a loop of the caller's was asked for first. */
typedef struct first_region {
    size_t chunks;
    int threads;
} first_region;

static void note_first(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    first_region *first = (first_region *)user;
    size_t i;
    if (first->chunks == 0) {
        first->chunks = chunks;
        first->threads = threads;
    }
    for (i = 0; i < chunks; i++) body(arg, i, (int)(i % (size_t)threads));
}

/* A region has as many chunks for one thread as for the others, or some would wait. More threads, the same bits. */
static void test_no_thread_is_left_over(void **state) {
    static const int threads[] = {5, 12, 16, 40};
    plain_cube p = random_values(SHS_TYPE_U8, 600, 700, 2, 252);
    shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
    shs_pixel_map map = random_map(2, 2, 253);
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 600, 700, 2);
    shs_moments one = moments_of(NULL, &cube, 0), more;
    size_t k;
    (void)state;
    for (k = 0; k < sizeof threads / sizeof *threads; k++) {
        first_region of_moments = {0, 0}, of_map = {0, 0};
        shs_context ctx = SHS_ZERO;
        ctx.threads = threads[k];
        ctx.parallel_fn = note_first;
        ctx.parallel_user = &of_moments;
        more = moments_of(&ctx, &cube, 0);
        assert_true(same_moments(&one, &more));
        shs_moments_free(NULL, &more);
        ctx.parallel_user = &of_map;
        assert_ok(shs_cube_map(&ctx, &cube, &map, 0, &sink));
        assert_int_equal(of_moments.threads, threads[k]);
        assert_int_equal(of_moments.chunks % (size_t)threads[k], 0);
        assert_int_equal(of_map.chunks, of_moments.chunks);
        assert_true(of_map.chunks >= 16);
    }
    shs_moments_free(NULL, &one);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
    map_free(&map);
}
#endif

/* ---- sinks ------------------------------------------------------------------------------------------------------- */

/* Ties go away from zero, what does not fit is clamped. The numbers before 0.5 become 0, although 0.5 more is 1 after rounding,
   and odd numbers, to which 0.5 more is a tie, stay. */
static void test_rounding_and_clamping(void **state) {
    int turn = 0;
    static const double values[] = {0,       0.5,     1.5,   2.5,       -0.5,       -1.5,     -2.5,
                                    0.25,    -0.75,   254.5, 255.5,     256,        1e10,     -1e10,
                                    32766.5, 32767.5, 40000, 65534.5,   65536,      -32767.5, -32768.5,
                                    -40000,  3e38,    -3e38, 8388607.5, -8388607.5, 100.25,   0.499999970197677612,
                                    8388609, -8388609, 16777215, 0.49999999999999994, -0.49999999999999994, 4294967293.0};
    enum { COUNT = sizeof values / sizeof values[0] };
    static const double lowest[] = {0, 0, -32768, 0, -2147483648.0, 0};
    static const double highest[] = {0, 255, 32767, 65535, 2147483647.0, 4294967295.0};
    plain_cube p = new_plain(1, COUNT, 1);
    shs_pixel_map map = SHS_ZERO;
    shs_wide identity = 1;
    shs_cube cube;
    int t, precise, i;
    (void)state;
    memcpy(p.x, values, sizeof values);
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    map.bands = map.outputs = 1;
    map.matrix = &identity;
    for (t = SHS_TYPE_U8; t <= SHS_TYPE_U32; t++)
        for (precise = 0; precise < 2; precise++) {
            if (left_out(&turn, every_on_device(3))) continue;
            shs_sink sink = new_sink((shs_type)t, SHS_INTERLEAVE_BSQ, 1, COUNT, 1);
            plain_cube out;
            assert_ok(shs_cube_map(NULL, &cube, &map, precision_of(precise), &sink));
            out = sink_values(&sink, 1, COUNT, 1);
            for (i = 0; i < COUNT; i++) {
                double expected = fmin(fmax(round(values[i]), lowest[t]), highest[t]);
                if (!precise && (double)(float)values[i] != values[i]) continue;
                if (out.x[i] != expected)
                    fail_msg("%.17g becomes %.17g in type %d, precise %d", values[i], out.x[i], t, precise);
            }
            free(out.x);
            sink_free(&sink);
        }
    free(p.x);
    cube_free(&cube);
}

static void test_floating_sinks_keep_the_value(void **state) {
    static const shs_type floating[] = {SHS_TYPE_F32, SHS_TYPE_F64, SHS_TYPE_REAL};
    plain_cube p = random_values(SHS_TYPE_F32, 13, 17, 1, 260);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_pixel_map map = SHS_ZERO;
    shs_wide identity = 1;
    int t, precise;
    (void)state;
    map.bands = map.outputs = 1;
    map.matrix = &identity;
    for (t = 0; t < 3; t++)
        for (precise = 0; precise < 2; precise++) {
            shs_sink sink = new_sink(floating[t], SHS_INTERLEAVE_BSQ, 13, 17, 1);
            plain_cube out;
            assert_ok(shs_cube_map(NULL, &cube, &map, precision_of(precise), &sink));
            out = sink_values(&sink, 13, 17, 1);
            assert_memory_equal(out.x, p.x, values_of(&p) * sizeof *p.x);
            free(out.x);
            sink_free(&sink);
        }
    free(p.x);
    cube_free(&cube);
}

/* Stretches each output from its smallest to its largest value. The second output is constant. */
static void check_rescale(shs_type type, double low, double high, int precise) {
    plain_cube p = random_values(SHS_TYPE_F64, 23, 29, 4, 270), out;
    unsigned char *mask = random_mask(pixels_of(&p), 6, 271);
    shs_pixel_map map = random_map(4, 3, 272);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0);
    shs_sink sink = new_sink(type, SHS_INTERLEAVE_BIP, 23, 29, 3);
    double *y = NEW(double, 3 * pixels_of(&p)), unit = is_integer_type(type) ? 0.5 : 0, error = 1e-12;
    size_t i;
    int k;
    if (type == SHS_TYPE_F32) error = 1e-6;
    if (!precise) error = BY_TYPE(2e-6, error);
    for (k = 0; k < 4; k++) ((shs_wide *)(uintptr_t)map.matrix)[3 * k + 1] = 0;
    cube.mask = mask;
    sink.rescale = 1;
    sink.low = low;
    sink.high = high;
    sink.has_nodata = 1;
    sink.nodata = 99;
    assert_ok(shs_cube_map(NULL, &cube, &map, precision_of(precise), &sink));
    out = sink_values(&sink, 23, 29, 3);
    naive_map(&p, 3, map.matrix, map.centre, map.offset, y);
    for (k = 0; k < 3; k++) {
        double least = ENDLESS, most = -ENDLESS, got_least = ENDLESS, got_most = -ENDLESS;
        for (i = 0; i < pixels_of(&p); i++)
            if (mask[i]) {
                least = fmin(least, y[3 * i + (size_t)k]);
                most = fmax(most, y[3 * i + (size_t)k]);
            }
        for (i = 0; i < pixels_of(&p); i++) {
            double got = out.x[3 * i + (size_t)k],
                   expected = k == 1 ? low : low + (high - low) * (y[3 * i + (size_t)k] - least) / (most - least);
            if (!mask[i]) {
                assert_close(got, 99, 0);
                continue;
            }
            assert_close(got, expected, unit + (high - low) * error);
            assert_true(got >= low && got <= high);
            got_least = fmin(got_least, got);
            got_most = fmax(got_most, got);
        }
        assert_close(got_least, low, 0);
        assert_close(got_most, k == 1 ? low : high, 0);
    }
    free(p.x);
    free(out.x);
    free(mask);
    free(y);
    cube_free(&cube);
    sink_free(&sink);
    map_free(&map);
}

static void test_rescale(void **state) {
    static const struct {
        shs_type type;
        double low, high;
    } ranges[] = {{SHS_TYPE_U8, 0, 255},       {SHS_TYPE_U8, 20, 200},      {SHS_TYPE_I16, -32768, 32767},
                  {SHS_TYPE_U16, 0, 65535},    {SHS_TYPE_I32, -1000, 1000}, {SHS_TYPE_U32, 0, 100000},
                  {SHS_TYPE_F32, -1, 1},       {SHS_TYPE_F64, 0, 1}};
    int precise, turn = 0;
    size_t k;
    (void)state;
    for (precise = 0; precise < 2; precise++)
        for (k = 0; k < sizeof ranges / sizeof *ranges; k++)
            if (!left_out(&turn, every_on_device(3))) check_rescale(ranges[k].type, ranges[k].low, ranges[k].high, precise);
}

/* low = high, one pixel, no pixel: no division by nothing. */
static void test_rescale_of_little(void **state) {
    plain_cube p = random_values(SHS_TYPE_F64, 3, 4, 2, 280), out;
    unsigned char *mask = NEW(unsigned char, 12);
    shs_pixel_map map = random_map(2, 2, 281);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0);
    shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 3, 4, 2);
    size_t i;
    int valid;
    (void)state;
    cube.mask = mask;
    sink.rescale = 1;
    sink.has_nodata = 1;
    sink.nodata = 99;
    for (valid = 0; valid < 2; valid++) {
        sink.low = 10;
        sink.high = 20;
        mask[5] = (unsigned char)valid;
        assert_ok(shs_cube_map(NULL, &cube, &map, 0, &sink));
        out = sink_values(&sink, 3, 4, 2);
        for (i = 0; i < 24; i++) assert_close(out.x[i], valid && i / 2 == 5 ? 10 : 99, 0);
        free(out.x);
    }
    cube.mask = NULL;
    sink.low = sink.high = 42;
    assert_ok(shs_cube_map(NULL, &cube, &map, 0, &sink));
    out = sink_values(&sink, 3, 4, 2);
    for (i = 0; i < 24; i++) assert_close(out.x[i], 42, 0);
    free(out.x);
    free(p.x);
    free(mask);
    cube_free(&cube);
    sink_free(&sink);
    map_free(&map);
}

/* A map may have more outputs than bands, one output, many of both; centre and offset may be absent. */
static void test_shapes_of_maps(void **state) {
    int turn = 0;
    static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {3, 70}, {70, 3}, {40, 40}, {131, 130}};
    int k, precise, plainly;
    (void)state;
    for (k = 0; k < 7; k++)
        for (precise = 0; precise < 2; precise++)
            for (plainly = 0; plainly < 2; plainly++) {
                if (left_out(&turn, every_on_device(5))) continue;
                int bands = shapes[k][0], outputs = shapes[k][1];
                plain_cube p = random_values(SHS_TYPE_I16, 9, 71, bands, 290), out;
                shs_cube cube = cube_of(&p, SHS_TYPE_I16, (shs_interleave)(k % 3), 0);
                shs_pixel_map map = random_map(bands, outputs, 291), used = map;
                shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 9, 71, outputs);
                double *expected = NEW(double, pixels_of(&p) * (size_t)outputs), scale;
                if (plainly) used.centre = used.offset = NULL;
                scale = naive_map(&p, outputs, used.matrix, used.centre, used.offset, expected);
                assert_ok(shs_cube_map(NULL, &cube, &used, precision_of(precise), &sink));
                out = sink_values(&sink, 9, 71, outputs);
                check_near("map", values_of(&out), out.x, expected, (precise ? 1e-13 : MAP_BOUND) * scale);
                free(p.x);
                free(out.x);
                free(expected);
                cube_free(&cube);
                sink_free(&sink);
                map_free(&map);
            }
}

/* ---- failures of the callbacks ----------------------------------------------------------------------------------- */

static void test_failing_reads(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 20, 15, 6, 300);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIL, 0);
    shs_moments m = moments_of(NULL, &cube, 0), before = moments_of(NULL, &cube, 0);
    shs_pixel_map map = random_map(6, 2, 301);
    shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 20, 15, 2);
    int k;
    (void)state;
    sink.rescale = 1;
    sink.high = 255;
    for (k = 0; k < 7; k++) { /* blocks of 3 lines: 7 a pass */
        stream s;
        shs_cube blockwise = streamed(&cube, 3, &s);
        s.fail_at = k;
        assert_status(shs_moments_update(NULL, &blockwise, 0, &m), SHS_READ_FAILED);
        assert_int_equal(s.calls, k + 1);
        assert_true(same_moments(&m, &before));
    }
    for (k = 0; k < 14; k++) {
        stream s;
        shs_cube blockwise = streamed(&cube, 3, &s);
        s.fail_at = k;
        assert_status(shs_cube_map(NULL, &blockwise, &map, 0, &sink), SHS_READ_FAILED);
        assert_int_equal(s.calls, k + 1);
    }
    shs_moments_free(NULL, &m), shs_moments_free(NULL, &before);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
    map_free(&map);
}

static void test_failing_writes(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 20, 15, 6, 310);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIL, 0);
    shs_pixel_map map = random_map(6, 2, 311);
    shs_sink memory = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 20, 15, 2);
    int k, rescale;
    (void)state;
    for (rescale = 0; rescale < 2; rescale++)
        for (k = 0; k < 7; k++) {
            shs_context ctx = SHS_ZERO;
            faulty f;
            stream s;
            collector c;
            shs_cube blockwise = streamed(&cube, 3, &s);
            shs_sink sink = collecting(&memory, 20, 15, 2, &c);
            sink.rescale = rescale;
            sink.high = 255;
            c.fail_at = k;
            faulty_attach(&f, -1, &ctx);
            assert_status(shs_cube_map(&ctx, &blockwise, &map, 0, &sink), SHS_WRITE_FAILED);
            assert_int_equal(c.calls, k + 1);
            assert_int_equal(f.outstanding, 0);
        }
    free(p.x);
    cube_free(&cube);
    sink_free(&memory);
    map_free(&map);
}

/* A call on the cube in blocks of four lines that is cancelled at a step; negative: never. */
typedef struct attempt {
    shs_context ctx;
    faulty f;
    watch w;
    stream s;
    shs_cube cube;
} attempt;

static void attempt_begin(attempt *t, const shs_cube *cube, int cancel_at) {
    memset(t, 0, sizeof *t);
    t->cube = streamed(cube, 4, &t->s);
    faulty_attach(&t->f, -1, &t->ctx);
    watch_attach(&t->w, cancel_at, &t->ctx);
}

static void attempt_end(const attempt *t) {
    assert_true(t->w.calls > 0);
    assert_false(t->w.wrong);
    assert_int_equal(t->f.outstanding, 0);
}

static void test_cancelled_at_every_step(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 20, 15, 6, 320);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIL, 0);
    shs_moments m = moments_of(NULL, &cube, 0), before = moments_of(NULL, &cube, 0), other = moments_of(NULL, &cube, 0);
    shs_pixel_map map = random_map(6, 2, 321);
    shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 20, 15, 2);
    attempt t;
    int k, calls;
    (void)state;
    sink.rescale = 1;
    sink.high = 255;
    calls = 1;
    for (k = -1; k < calls; k++) {
        attempt_begin(&t, &cube, k);
        assert_status(shs_moments_update(&t.ctx, &t.cube, 0, k < 0 ? &other : &m), k < 0 ? SHS_OK : SHS_CANCELLED);
        assert_true(same_moments(&m, &before));
        if (k < 0) calls = t.w.calls;
        attempt_end(&t);
    }
    calls = 1;
    for (k = -1; k < calls; k++) {
        attempt_begin(&t, &cube, k);
        assert_status(shs_cube_map(&t.ctx, &t.cube, &map, 0, &sink), k < 0 ? SHS_OK : SHS_CANCELLED);
        if (k < 0) calls = t.w.calls;
        attempt_end(&t);
    }
    shs_moments_free(NULL, &m), shs_moments_free(NULL, &before), shs_moments_free(NULL, &other);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
    map_free(&map);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void test_each_allocation_fails(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 20, 15, 6, 330);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIL, 1), used;
    shs_moments m, before = moments_of(NULL, &cube, 0), made;
    shs_pixel_map map = random_map(6, 2, 331);
    shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 20, 15, 2);
    unsigned char pattern[sizeof made];
    int k, blocks, failures = 0;
    size_t i;
    (void)state;
    memset(pattern, UNTOUCHED, sizeof pattern);
    for (blocks = 0; blocks < 2; blocks++)
        for (k = 0;; k++) {
            shs_context ctx = SHS_ZERO;
            shs_status updated, mapped, created;
            faulty f;
            stream s;
            used = blocks ? streamed(&cube, 4, &s) : cube;
            faulty_attach(&f, k, &ctx);
            memset(&made, UNTOUCHED, sizeof made);
            created = shs_moments_create(&ctx, 6, &made);
            if (created == SHS_OK) shs_moments_free(&ctx, &made);
            else assert_memory_equal(&made, pattern, sizeof made);
            assert_int_equal(f.outstanding, 0);
            f.left = k;
            m = moments_of(NULL, &cube, 0);
            updated = shs_moments_update(&ctx, &used, 0, &m);
            if (updated != SHS_OK) assert_true(same_moments(&m, &before));
            shs_moments_free(NULL, &m);
            assert_int_equal(f.outstanding, 0);
            f.left = k;
            memset(sink.pixels, UNTOUCHED, 600);
            mapped = shs_cube_map(&ctx, &used, &map, 0, &sink);
            assert_int_equal(f.outstanding, 0);
            if (created == SHS_OK && updated == SHS_OK && mapped == SHS_OK) break;
            if (created != SHS_OK) assert_status(created, SHS_NO_MEMORY);
            if (updated != SHS_OK) assert_status(updated, SHS_NO_MEMORY);
            if (mapped != SHS_OK) {
                assert_status(mapped, SHS_NO_MEMORY);
                for (i = 0; i < 600; i++) assert_int_equal(((unsigned char *)sink.pixels)[i], UNTOUCHED);
            }
            failures++;
        }
    assert_true(failures > 0);
    shs_moments_free(NULL, &before);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
    map_free(&map);
}

/* An arena of the size that a workspace query returns is enough for the call. */
static void test_workspaces(void **state) {
    plain_cube p = random_values(SHS_TYPE_U8, 40, 60, 23, 340);
    shs_pixel_map map = random_map(23, 5, 341);
    int t, threads, variant;
    (void)state;
    for (t = 0; t < TYPES; t++)
        for (threads = 1; threads <= 3; threads++)
            for (variant = 0; variant < 8; variant++) {
                int precise = variant & 1;
                shs_cube cube = cube_of(&p, types[t], (shs_interleave)(t % 3), 0), used = cube;
                shs_sink sink = new_sink(SHS_TYPE_U16, SHS_INTERLEAVE_BIL, 40, 60, 5), target = sink;
                shs_context ctx = SHS_ZERO;
                shs_moments m;
                shs_arena arena;
                stream s;
                collector c;
                size_t query;
                void *memory;
                if (variant & 2) {
                    used = streamed(&cube, 7, &s);
                    target = collecting(&sink, 40, 60, 5, &c);
                }
                target.rescale = variant >> 2;
                target.high = 1000;
                ctx.threads = threads;
                assert_ok(shs_moments_create(NULL, 23, &m));
                query = shs_moments_update_workspace(&ctx, &used, precision_of(precise));
                memory = malloc(query);
                shs_arena_init(&arena, memory, query);
                shs_arena_attach(&arena, &ctx);
                assert_ok(shs_moments_update(&ctx, &used, precision_of(precise), &m));
                assert_in_range(arena.peak, query - 64, query);
                assert_int_equal(arena.used, 0);
                free(memory);
                query = shs_cube_map_workspace(&ctx, &used, &map, precision_of(precise), &target);
                memory = malloc(query);
                shs_arena_init(&arena, memory, query);
                assert_ok(shs_cube_map(&ctx, &used, &map, precision_of(precise), &target));
                assert_in_range(arena.peak, query - 64, query);
                assert_int_equal(arena.used, 0);
                free(memory);
                shs_moments_free(NULL, &m);
                cube_free(&cube);
                sink_free(&sink);
            }
    free(p.x);
    map_free(&map);
}

static int read_nothing(void *user, int first_line, int lines, void *block) {
    (void)user;
    (void)first_line;
    (void)lines;
    (void)block;
    return 1;
}

/* A cube of 3.8 GB in blocks of 16 lines takes megabytes. */
static void test_memory_of_streams_is_bounded(void **state) {
    shs_cube cube = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    (void)state;
    cube.type = SHS_TYPE_U8;
    cube.lines = 6955 * 3;
    cube.samples = 781;
    cube.bands = 224;
    cube.interleave = SHS_INTERLEAVE_BIL;
    cube.read_fn = read_nothing;
    ctx.threads = 2;
    cube.block_lines = 16;
    assert_in_range(shs_moments_update_workspace(&ctx, &cube, 0), 16 * 781 * 224, 64000000);
    cube.block_lines = 0;
    assert_in_range(shs_moments_update_workspace(&ctx, &cube, 0), 8000000, 100000000);
    /* A line, as a camera gives them: the sums of one chunk, not of 16. */
    cube.pixels = &cube;
    cube.read_fn = NULL;
    cube.lines = 1;
    assert_in_range(shs_moments_update_workspace(&ctx, &cube, 0), 1, 16 * 224 * 224 * sizeof(shs_wide));
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef struct rank_work {
    shs_cube parts[MOST_RANKS];
    shs_moments moments[MOST_RANKS];
    shs_sink sinks[MOST_RANKS];
    shs_pixel_map map;
    shs_status status[MOST_RANKS];
} rank_work;

static void reduce_moments(const shs_context *ctx, int rank, void *arg) {
    rank_work *w = (rank_work *)arg;
    w->status[rank] = shs_moments_create(ctx, 6, w->moments + rank);
    if (w->status[rank] == SHS_OK) w->status[rank] = shs_moments_update(ctx, w->parts + rank, 1, w->moments + rank);
    if (w->status[rank] == SHS_OK) w->status[rank] = shs_moments_reduce(ctx, w->moments + rank);
}

/* Ranks with different levels, so different shifts. Every rank gets the sums of all ranks with the same bits. */
static void test_ranks_add_up(void **state) {
    static const int firsts[] = {0, 3, 16, 31};
    plain_cube p = random_values(SHS_TYPE_F32, 31, 17, 6, 350);
    rank_work w;
    shs_cube cube;
    double mean[6], covariance[36];
    size_t i;
    int r, ranks;
    (void)state;
    for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[2] = (double)(float)(pixel_of(&p, i)[2] + (double)(i / 100 * 1000));
    naive_moments(&p, NULL, mean, covariance);
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    for (ranks = 1; ranks <= 3; ranks++) {
        memset(&w, 0, sizeof w);
        for (r = 0; r < ranks; r++) w.parts[r] = slice_of(&cube, firsts[r], (r == ranks - 1 ? 31 : firsts[r + 1]) - firsts[r]);
        run_ranks(ranks, reduce_moments, &w);
        for (r = 0; r < ranks; r++) {
            assert_ok(w.status[r]);
            assert_true(w.moments[r].count == 31 * 17);
            check_finish(w.moments + r, mean, covariance, 1e-9, PRECISE_BOUND);
            assert_true(same_moments(w.moments + r, w.moments));
        }
        for (r = 0; r < ranks; r++) shs_moments_free(NULL, w.moments + r);
    }
    free(p.x);
    cube_free(&cube);
}

static void map_part(const shs_context *ctx, int rank, void *arg) {
    rank_work *w = (rank_work *)arg;
    w->status[rank] = shs_cube_map(ctx, w->parts + rank, &w->map, 1, w->sinks + rank);
}

/* Stretched to bytes, the parts of the ranks fit together: least and largest value are those of all. */
static void test_ranks_rescale_alike(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 30, 17, 6, 360);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0);
    shs_sink whole = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 30, 17, 3);
    rank_work w;
    int r;
    (void)state;
    memset(&w, 0, sizeof w);
    w.map = random_map(6, 3, 361);
    whole.rescale = 1;
    whole.high = 255;
    for (r = 0; r < 2; r++) {
        w.parts[r] = slice_of(&cube, 12 * r, r ? 18 : 12);
        w.sinks[r] = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 18, 17, 3);
        w.sinks[r].rescale = 1;
        w.sinks[r].high = 255;
    }
    assert_ok(shs_cube_map(NULL, &cube, &w.map, 1, &whole));
    run_ranks(2, map_part, &w);
    assert_ok(w.status[0]);
    assert_ok(w.status[1]);
    assert_memory_equal(w.sinks[0].pixels, whole.pixels, 12 * 17 * 3);
    assert_memory_equal(w.sinks[1].pixels, (unsigned char *)whole.pixels + 12 * 17 * 3, 18 * 17 * 3);
    for (r = 0; r < 2; r++) sink_free(w.sinks + r);
    free(p.x);
    cube_free(&cube);
    sink_free(&whole);
    map_free(&w.map);
}

static int reduce_fails(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    (void)user;
    (void)values;
    (void)count;
    (void)op;
    return 1;
}

static void test_failing_reduce(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 5, 5, 3, 370);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0);
    shs_context ctx = SHS_ZERO;
    shs_moments m = moments_of(NULL, &cube, 0), before = moments_of(NULL, &cube, 0);
    faulty f;
    (void)state;
    ctx.reduce_fn = reduce_fails;
    ctx.ranks = 2;
    faulty_attach(&f, -1, &ctx);
    assert_status(shs_moments_reduce(&ctx, &m), SHS_REDUCE_FAILED);
    assert_true(same_moments(&m, &before));
    assert_int_equal(f.outstanding, 0);
    ctx.reduce_fn = NULL;
    assert_ok(shs_moments_reduce(&ctx, &m));
    assert_ok(shs_moments_reduce(NULL, &m));
    assert_true(same_moments(&m, &before));
    shs_moments_free(NULL, &m), shs_moments_free(NULL, &before);
    free(p.x);
    cube_free(&cube);
}

/* As if another rank had the same values; the k-th call breaks down. */
static int reduce_breaks(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    size_t i;
    if ((*(int *)user)-- == 0) return 1;
    for (i = 0; i < count && op == SHS_REDUCE_SUM; i++) values[i] *= 2;
    return 0;
}

/* Wherever the reduction breaks down the moments stay as they were, to the last bit; and without pixels there is nothing to
   divide. */
static void test_reduce_breaks_midway(void **state) {
    plain_cube p = random_values(SHS_TYPE_F64, 5, 7, 3, 371);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_context ctx = SHS_ZERO;
    shs_moments m = moments_of(NULL, &cube, 0), before = moments_of(NULL, &cube, 0), empty;
    shs_pixel_map map = random_map(3, 2, 372);
    shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 5, 7, 2);
    shs_status status = SHS_REDUCE_FAILED;
    int k, left;
    (void)state;
    ctx.reduce_fn = reduce_breaks;
    ctx.reduce_user = &left;
    ctx.ranks = 1; /* of two, both would say who they are */
    for (k = 0; status != SHS_OK; k++) {
        left = k;
        status = shs_moments_reduce(&ctx, &m);
        if (status == SHS_OK) break;
        assert_status(status, SHS_REDUCE_FAILED);
        assert_true(same_moments(&m, &before));
    }
    assert_true(k >= 4); /* two agreements, and the sums */
    assert_true(m.count == 2 * before.count);
    for (k = 0; k < 3; k++)
        assert_close(m.count * m.shift[k] + m.sum[k], 2 * (before.count * before.shift[k] + before.sum[k]), 1e-9);
    sink.rescale = 1;
    sink.low = 0;
    sink.high = 255;
    status = SHS_REDUCE_FAILED;
    for (k = 0; status != SHS_OK; k++) {
        left = k;
        status = shs_cube_map(&ctx, &cube, &map, 0, &sink);
        if (status != SHS_OK) assert_status(status, SHS_REDUCE_FAILED);
    }
    assert_true(k >= 4);
    assert_ok(shs_moments_create(NULL, 3, &empty));
    left = -1;
    assert_ok(shs_moments_reduce(&ctx, &empty));
    for (k = 0; k < 3; k++) assert_true(empty.count == 0 && empty.shift[k] == 0 && empty.sum[k] == 0);
    shs_moments_free(NULL, &m), shs_moments_free(NULL, &before), shs_moments_free(NULL, &empty);
    map_free(&map);
    sink_free(&sink);
    free(p.x);
    cube_free(&cube);
}

/* ---- conversions, strides, shifts, sizes --------------------------------------------------------------------------- */

/* Cubes of several panels: spectra with a gap after them, planes of every other value, spectra of every other value, lines with
   a gap; neither their moments nor their maps know. */
static void test_long_strides(void **state) {
    enum { LINES = 30, SAMPLES = 40, BANDS = 4, ROOM = 60000 };
    static const ptrdiff_t strides[][3] = {{6, 6 * SAMPLES, 1},
                                           {2, 2 * SAMPLES, 2 * SAMPLES * LINES},
                                           {8, 8 * SAMPLES, 2},
                                           {4, 4 * SAMPLES + 4, 1},
                                           {1, SAMPLES + 2, (SAMPLES + 2) * LINES}};
    int k, t, precise;
    size_t i;
    (void)state;
    for (k = 0; k < 5; k++)
        for (t = 0; t < TYPES; t += every_on_device(5)) {
            plain_cube q = random_values(types[t], LINES, SAMPLES, BANDS, 374);
            size_t size = shs_type_size(types[t]);
            unsigned char *memory = NEW(unsigned char, ROOM *size);
            shs_cube cube = SHS_ZERO;
            cube.pixels = memory;
            cube.type = types[t];
            cube.lines = LINES;
            cube.samples = SAMPLES;
            cube.bands = BANDS;
            cube.sample_stride = strides[k][0];
            cube.line_stride = strides[k][1];
            cube.band_stride = strides[k][2];
            for (i = 0; i < values_of(&q); i++) {
                size_t b = i % BANDS, s = i / BANDS % SAMPLES, l = i / BANDS / SAMPLES;
                size_t at = l * (size_t)strides[k][1] + s * (size_t)strides[k][0] + b * (size_t)strides[k][2];
                store_value(memory + at * size, types[t], 0, q.x[i]);
            }
            for (precise = 0; precise < 2; precise++) {
                check_moments(NULL, &cube, &q, NULL, precise);
                check_map(NULL, &cube, &q, precise, precise ? SHS_INTERLEAVE_BIP : SHS_INTERLEAVE_BSQ);
            }
            free(memory);
            free(q.x);
        }
}

/* Moments of one type of pixels go on with another's, whatever shift they began with: whole, or not, or beyond the type. */
static void test_shift_of_another_type(void **state) {
    static const double levels[] = {-40000.25, -3.5, 0, 12.5, 127, 128, 300, 70000.75};
    static const shs_type next[] = {SHS_TYPE_U8, SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_I32, SHS_TYPE_U32, SHS_TYPE_F32};
    int k, t;
    size_t i;
    (void)state;
    for (k = 0; k < 8; k++)
        for (t = 0; t < 6; t++) {
            plain_cube p = new_plain(20, 25, 3), more = random_values(next[t], 20, 25, 3, 375), all = new_plain(40, 25, 3);
            double *mean = NEW(double, 3), *covariance = NEW(double, 9), m[3], c[9], largest;
            shs_cube first, second;
            shs_moments moments;
            for (i = 0; i < values_of(&p); i++) p.x[i] = levels[k];
            memcpy(all.x, p.x, values_of(&p) * sizeof *p.x);
            memcpy(all.x + values_of(&p), more.x, values_of(&p) * sizeof *p.x);
            naive_moments(&all, NULL, mean, covariance);
            first = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
            second = cube_of(&more, next[t], SHS_INTERLEAVE_BIP, 0);
            moments = moments_of(NULL, &first, 0);
            assert_ok(shs_moments_update(NULL, &second, 0, &moments));
            assert_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, m, c, 3));
            largest = largest_of(values_of(&all), all.x);
            check_near("mean", 3, m, mean, MEAN_BOUND * largest);
            check_near("covariance", 9, c, covariance, BY_TYPE(2e-6, 1e-12) * largest * largest);
            shs_moments_free(NULL, &moments);
            cube_free(&first);
            cube_free(&second);
            free(p.x);
            free(more.x);
            free(all.x);
            free(mean);
            free(covariance);
        }
}

/* So many pixels that chunks are large, and more than are summed at a time: right, and cancelled in between. */
static void test_large_chunks(void **state) {
    plain_cube p = random_values(SHS_TYPE_U8, 320, 330, 1, 376);
    shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
    shs_context ctx = SHS_ZERO;
    shs_moments m;
    watch w;
    (void)state;
    check_moments(NULL, &cube, &p, NULL, 0);
    assert_ok(shs_moments_create(NULL, 1, &m));
    watch_attach(&w, 0, &ctx);
    assert_status(shs_moments_update(&ctx, &cube, 0, &m), SHS_CANCELLED);
    assert_true(m.count == 0 && m.sum[0] == 0);
    assert_int_equal(w.calls, 1);
    watch_attach(&w, -1, &ctx);
    assert_ok(shs_moments_update(&ctx, &cube, 0, &m));
    assert_true(w.calls >= LEAST_ROUNDS && !w.wrong);
    shs_moments_free(NULL, &m);
    cube_free(&cube);
    free(p.x);
}

/* 16-bit pixels with large differences, so that integer sums must be flushed several times in a panel. */
static void test_sums_flushed_within_a_panel(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 20, 50, 7, 378);
    shs_cube cube;
    size_t i;
    (void)state;
    for (i = 0; i < values_of(&p); i++) p.x[i] = floor(p.x[i] / 6);
    cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0);
    check_moments(NULL, &cube, &p, NULL, 0);
    cube_free(&cube);
    free(p.x);
}

/* Integers give the same bits in every layout, in one piece or in blocks, with missing pixels and large differences. */
static void test_one_answer_for_all_layouts(void **state) {
    static const int list[] = {6, 1, 2, 10};
    int t, wide, interleave, swapped, lines;
    size_t i;
    (void)state;
    for (t = 0; t < 3; t += every_on_device(2))
        for (wide = 0; wide < 2; wide++) {
            plain_cube p = random_values(types[t], 23, 61, 11, 55);
            unsigned char *mask = random_mask(pixels_of(&p), 4, 56);
            shs_moments first = SHS_ZERO;
            for (i = 0; i < values_of(&p) && !wide; i++) p.x[i] = floor(p.x[i] / 8);
            for (i = 0; i < pixels_of(&p); i += 9) pixel_of(&p, i)[i % 11] = 77;
            for (interleave = SHS_INTERLEAVE_COUNT - 1; interleave >= 0; interleave--)
                for (swapped = 0; swapped < 2; swapped += every_on_device(2))
                    for (lines = 0; lines < 8; lines += 7) {
                        shs_cube cube = cube_of(&p, types[t], (shs_interleave)interleave, swapped), blockwise;
                        shs_moments m;
                        stream s;
                        cube.mask = mask;
                        cube.has_nodata = 1;
                        cube.nodata = 77;
                        cube.band_list = list;
                        cube.band_count = 4;
                        blockwise = streamed(&cube, lines ? lines : 1, &s);
                        m = moments_of(NULL, lines ? &blockwise : &cube, 1);
                        if (!first.products) first = m;
                        else {
                            assert_true(m.count == first.count);
                            for (i = 0; i < 4; i++) assert_true(m.shift[i] == first.shift[i] && m.sum[i] == first.sum[i]);
                            for (i = 0; i < 16; i++) assert_true(m.products[i] == first.products[i]);
                            shs_moments_free(NULL, &m);
                        }
                        cube_free(&cube);
                    }
            shs_moments_free(NULL, &first);
            free(p.x);
            free(mask);
        }
}

/* Outputs that have no room in an int are refused before their matrix is looked at. */
static void test_too_many_outputs(void **state) {
    plain_cube p = random_values(SHS_TYPE_U8, 2, 2, 1, 377);
    shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
    shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 2, 2, 1);
    shs_pixel_map map = SHS_ZERO;
    shs_wide one = 1;
    (void)state;
    map.bands = 1;
    map.outputs = INT_MAX;
    map.matrix = &one;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_TOO_LARGE);
    assert_true(shs_cube_map_workspace(NULL, &cube, &map, 0, &sink) == SIZE_MAX);
    cube_free(&cube);
    free(p.x);
    sink_free(&sink);
}

/* ---- bad arguments ----------------------------------------------------------------------------------------------- */

/* What every call must say of this cube. */
static void check_cube_status(const shs_cube *cube, int bands, shs_status expected) {
    shs_pixel_map map = random_map(bands, 2, 380);
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 4, 5, 2);
    shs_moments m;
    size_t i;
    assert_ok(shs_moments_create(NULL, bands, &m));
    assert_status(shs_moments_update(NULL, cube, 0, &m), expected);
    assert_true(m.count == 0);
    assert_status(shs_cube_map(NULL, cube, &map, 0, &sink), expected);
    for (i = 0; i < 4 * 5 * 2 * 4; i++) assert_int_equal(((unsigned char *)sink.pixels)[i], UNTOUCHED);
    assert_int_equal(shs_cube_bands(cube), 0);
    shs_moments_free(NULL, &m);
    sink_free(&sink);
    map_free(&map);
}

/* A cube without lines, in memory or as a stream, has bands and no pixels: it adds nothing, and nothing is written. */
static void test_no_lines(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 4, 5, 3, 391);
    shs_cube good = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0), c;
    shs_pixel_map map = random_map(3, 2, 381);
    shs_sink nowhere = SHS_ZERO;
    size_t i;
    int how;
    (void)state;
    for (how = 0; how < 4; how++) {
        shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 4, 5, 2);
        shs_moments m;
        stream s;
        c = how == 1 ? streamed(&good, 2, &s) : good;
        c.lines = 0;
        if (how > 1) c.pixels = NULL;
        if (how > 2) c.samples = 0;
        assert_int_equal(shs_cube_bands(&c), 3);
        assert_ok(shs_moments_create(NULL, 3, &m));
        assert_ok(shs_moments_update(NULL, &c, how % 2 ? SHS_PRECISION_ALWAYS : SHS_PRECISION_AUTO, &m));
        assert_true(m.count == 0);
        sink.rescale = how % 2;
        sink.high = 1;
        assert_ok(shs_cube_map(NULL, &c, &map, 0, &sink));
        for (i = 0; i < 4 * 5 * 2 * 4; i++) assert_int_equal(((unsigned char *)sink.pixels)[i], UNTOUCHED);
        assert_ok(shs_cube_map(NULL, &c, &map, 0, &nowhere));
        assert_status(shs_cube_map(NULL, &good, &map, 0, &nowhere), SHS_BAD_SINK);
        shs_moments_free(NULL, &m);
        sink_free(&sink);
    }
    cube_free(&good);
    free(p.x);
    map_free(&map);
}

#define REFUSED(member, value)                                                                                                 \
    do {                                                                                                                       \
        c = good;                                                                                                              \
        c.member = value;                                                                                                      \
        check_cube_status(&c, 3, SHS_BAD_CUBE);                                                                                \
    } while (0)

static void test_bad_cubes(void **state) {
    static const int out_of_range[] = {0, 3}, negative[] = {-1, 0};
    plain_cube p = random_values(SHS_TYPE_I16, 4, 5, 3, 390);
    shs_cube good = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0), c;
    stream s;
    (void)state;
    assert_int_equal(shs_cube_bands(&good), 3);
    check_cube_status(NULL, 3, SHS_BAD_CUBE);
    REFUSED(pixels, NULL);
    REFUSED(lines, -4);
    REFUSED(samples, 0);
    REFUSED(samples, INT_MIN);
    REFUSED(bands, 0);
    REFUSED(bands, -3);
    REFUSED(type, SHS_TYPE_COUNT);
    REFUSED(type, (shs_type)-1);
    REFUSED(interleave, SHS_INTERLEAVE_COUNT);
    REFUSED(interleave, (shs_interleave)-1);
    c = streamed(&good, 2, &s);
    c.sample_stride = 3;
    check_cube_status(&c, 3, SHS_BAD_CUBE);
    c = streamed(&good, -2, &s);
    check_cube_status(&c, 3, SHS_BAD_CUBE);
    c = good;
    c.band_list = out_of_range;
    c.band_count = 2;
    check_cube_status(&c, 2, SHS_BAD_BANDS);
    c = good;
    c.band_list = negative;
    c.band_count = 2;
    check_cube_status(&c, 2, SHS_BAD_BANDS);
    c = good;
    c.band_list = out_of_range;
    c.band_count = 0;
    check_cube_status(&c, 2, SHS_BAD_BANDS);
    c = good;
    c.band_list = out_of_range;
    c.band_count = -1;
    check_cube_status(&c, 2, SHS_BAD_BANDS);
    free(p.x);
    cube_free(&good);
}
#undef REFUSED

/* Sizes whose product no size_t holds: an error before the first pixel. */
static void test_impossible_sizes(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 4, 5, 3, 400);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0);
    shs_moments m;
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 4, 5, 2);
    shs_pixel_map map = random_map(3, 2, 401);
    shs_status status;
    stream s;
    void *pixels = (void *)(uintptr_t)cube.pixels;
    (void)state;
    cube.lines = cube.samples = cube.bands = INT_MAX;
    map.bands = INT_MAX; /* never read: the cube's size comes first */
    status = shs_cube_map(NULL, &cube, &map, 0, &sink);
    assert_true(status == SHS_TOO_LARGE || status == SHS_BAD_CUBE);
    assert_true(shs_cube_map_workspace(NULL, &cube, &map, 0, &sink) == SIZE_MAX);
    assert_true(shs_moments_update_workspace(NULL, &cube, 0) == SIZE_MAX);
    assert_int_not_equal(shs_moments_create(NULL, INT_MAX, &m), SHS_OK);
    assert_int_not_equal(shs_moments_create(NULL, 0, &m), SHS_OK);
    assert_int_not_equal(shs_moments_create(NULL, -5, &m), SHS_OK);
    assert_status(shs_moments_create(NULL, 3, NULL), SHS_BAD_MOMENTS);
    assert_ok(shs_moments_create(NULL, 3, &m));
    cube.bands = 3;
    cube = streamed(&cube, INT_MAX, &s);
    cube.samples = INT_MAX;
    cube.lines = INT_MAX;
    s.fail_at = 0;
    status = shs_moments_update(NULL, &cube, 0, &m);
    assert_true(status == SHS_TOO_LARGE || status == SHS_NO_MEMORY || status == SHS_READ_FAILED);
    shs_moments_free(NULL, &m);
    free(p.x);
    free(pixels);
    sink_free(&sink);
    free((void *)map.matrix);
    free((void *)map.centre);
    free((void *)map.offset);
}

static void test_bad_maps_sinks_and_moments(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 4, 5, 3, 410);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0);
    shs_sink good_sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 4, 5, 2), sink = good_sink;
    shs_pixel_map good_map = random_map(3, 2, 411), map = good_map;
    shs_wide odd[6] = {1, 2, 3, NOT_A_NUMBER, 5, 6}, huge[6] = {1, 2, 3, ENDLESS, 5, 6};
    shs_moments m, other;
    shs_context ctx = SHS_ZERO;
    size_t i;
    (void)state;
    assert_status(shs_cube_map(NULL, &cube, NULL, 0, &sink), SHS_BAD_MAP);
    map.matrix = NULL;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map = good_map;
    map.matrix = odd;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map.matrix = huge;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map = good_map;
    map.outputs = 0;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map = good_map;
    map.outputs = -2;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map = good_map;
    map.bands = 0;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_MAP);
    map = good_map;
    map.bands = 2;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_BANDS);
    map = good_map;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, NULL), SHS_BAD_SINK);
    sink.pixels = NULL;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_SINK);
    sink = good_sink;
    sink.type = SHS_TYPE_COUNT;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_SINK);
    sink = good_sink;
    sink.interleave = SHS_INTERLEAVE_COUNT, assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_SINK),
    sink = good_sink;
    sink.rescale = 1;
    sink.low = 2;
    sink.high = 1;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_SINK);
    sink = good_sink;
    sink.rescale = 1;
    sink.low = NOT_A_NUMBER;
    sink.high = 1;
    assert_status(shs_cube_map(NULL, &cube, &map, 0, &sink), SHS_BAD_SINK);
    ctx.alloc_fn = faulty_alloc;
    assert_status(shs_cube_map(&ctx, &cube, &map, 0, &good_sink), SHS_BAD_CONTEXT);
    for (i = 0; i < 4 * 5 * 2 * 4; i++) assert_int_equal(((unsigned char *)good_sink.pixels)[i], UNTOUCHED);
    assert_ok(shs_moments_create(NULL, 4, &m));
    assert_ok(shs_moments_create(NULL, 3, &other));
    assert_status(shs_moments_update(&ctx, &cube, 0, &other), SHS_BAD_CONTEXT);
    assert_status(shs_moments_update(NULL, &cube, 0, NULL), SHS_BAD_MOMENTS);
    assert_status(shs_moments_update(NULL, &cube, 0, &m), SHS_BAD_BANDS);
    assert_status(shs_moments_merge(&m, &other), SHS_BAD_MOMENTS);
    assert_status(shs_moments_merge(NULL, &other), SHS_BAD_MOMENTS);
    assert_status(shs_moments_merge(&m, NULL), SHS_BAD_MOMENTS);
    assert_status(shs_moments_reduce(NULL, NULL), SHS_BAD_MOMENTS);
    shs_moments_free(NULL, &m), shs_moments_free(NULL, &other);
    free(p.x);
    cube_free(&cube);
    sink_free(&good_sink);
    map_free(&good_map);
}

/* ---- real cubes -------------------------------------------------------------------------------------------------- */

/* The means that numpy computed, from memory and in blocks of 16 lines. */
static void check_golden_means(int which) {
    shs_cube cube = load_golden(which), blockwise;
    size_t B = (size_t)cube.bands, b;
    double *expected = read_golden("pca_%s_mean.csv", golden(which)->name, B), *mean = NEW(double, B);
    int streaming, precise;
    stream s;
    blockwise = streamed(&cube, 16, &s);
    for (streaming = 0; streaming < 2; streaming++)
        for (precise = 0; precise < 2; precise++) {
            shs_moments m = moments_of(NULL, streaming ? &blockwise : &cube, precise);
            assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, mean, NULL, 0));
            for (b = 0; b < B; b++)
                assert_close(mean[b], expected[b], (precise ? 1e-12 : BY_TYPE(1e-6, 1e-12)) * fabs(expected[b]));
            shs_moments_free(NULL, &m);
        }
    free(expected);
    free(mean);
    cube_free(&cube);
}

static void test_golden_means_sandiego(void **state) {
    (void)state;
    check_golden_means(SANDIEGO);
}
static void test_golden_means_beach(void **state) {
    (void)state;
    check_golden_means(BEACH);
}
static void test_golden_means_jasper(void **state) {
    (void)state;
    check_golden_means(JASPER);
}
static void test_golden_means_airport(void **state) {
    (void)state;
    check_golden_means(AIRPORT);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_interleaves_and_byte_orders),
        cmocka_unit_test(test_one_answer_for_all_types),
        cmocka_unit_test(test_all_numbers_of_sixteen_bits),
        cmocka_unit_test(test_rounding_to_sixteen_bits),
        cmocka_unit_test(test_missing_in_sixteen_bits),
        cmocka_unit_test(test_band_lists),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_block_sizes),
        cmocka_unit_test(test_streamed_sinks),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_nodata),
        cmocka_unit_test(test_nodata_outside_the_type),
        cmocka_unit_test(test_nodata_rounded_to_float),
        cmocka_unit_test(test_nan_and_infinity_are_missing),
        cmocka_unit_test(test_a_missing_beginning),
        cmocka_unit_test(test_bad_bands_dropped),
        cmocka_unit_test(test_nodata_of_outputs),
        cmocka_unit_test(test_merge_in_any_order),
        cmocka_unit_test(test_split_anywhere),
        cmocka_unit_test(test_merge_with_nothing),
        cmocka_unit_test(test_8_bit_sums_are_exact),
        cmocka_unit_test(test_one_pixel_of_many_deviates),
        cmocka_unit_test(test_large_offsets),
        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_finish_after_overflow),
        cmocka_unit_test(test_blocks_give_the_same_bits),
        cmocka_unit_test(test_threads_give_the_same_bits),
#ifndef TEST_CL
        cmocka_unit_test(test_no_thread_is_left_over),
#endif
        cmocka_unit_test(test_rounding_and_clamping),
        cmocka_unit_test(test_floating_sinks_keep_the_value),
        cmocka_unit_test(test_rescale),
        cmocka_unit_test(test_rescale_of_little),
        cmocka_unit_test(test_shapes_of_maps),
        cmocka_unit_test(test_failing_reads),
        cmocka_unit_test(test_failing_writes),
        cmocka_unit_test(test_cancelled_at_every_step),
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_memory_of_streams_is_bounded),
        cmocka_unit_test(test_ranks_add_up),
        cmocka_unit_test(test_ranks_rescale_alike),
        cmocka_unit_test(test_failing_reduce),
        cmocka_unit_test(test_reduce_breaks_midway),
        cmocka_unit_test(test_long_strides),
        cmocka_unit_test(test_shift_of_another_type),
        cmocka_unit_test(test_large_chunks),
        cmocka_unit_test(test_sums_flushed_within_a_panel),
        cmocka_unit_test(test_one_answer_for_all_layouts),
        cmocka_unit_test(test_too_many_outputs),
        cmocka_unit_test(test_no_lines),
        cmocka_unit_test(test_bad_cubes),
        cmocka_unit_test(test_impossible_sizes),
        cmocka_unit_test(test_bad_maps_sinks_and_moments),
        cmocka_unit_test(test_golden_means_sandiego),
        cmocka_unit_test(test_golden_means_beach),
        cmocka_unit_test(test_golden_means_jasper),
        cmocka_unit_test(test_golden_means_airport),
    };
    return cmocka_run_group_tests_name("cubes", tests, NULL, NULL);
}
