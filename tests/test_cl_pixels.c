/* test_cl_pixels.c - the pixels session on an OpenCL device against the CPU: the same calls, with and without ctx.engine. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "test_cube_tools.h"
#include "device/cl_shim.h"
#ifndef _WIN32
#include <sys/mman.h>
#endif

/* ---- devices ------------------------------------------------------------------------------------------------------ */

/* Non-zero: devices behave as if their memory were not the host's, so that pixels go up and outputs come down; 2: through 4
   parts of 1000 bytes. */
static int apart;

static shs_cl *open_device(size_t memory_limit, shs_context *ctx) {
    shs_cl_options o = SHS_ZERO;
    shs_cl *cl = NULL;
    memset(ctx, 0, sizeof *ctx);
    o.memory_limit = memory_limit;
    o.staging = apart == 2 ? 4000 : 1;
    o.platform = getenv("SHS_CL_PLATFORM");
    o.trust = shim_trust();
    if (shs_cl_create(NULL, &o, &cl) != SHS_OK) {
        print_message("skipped: there is no OpenCL device\n");
        skip();
    }
    if (apart) cl->about.unified = 0;
    ctx->engine = shs_cl_engine(cl);
    return cl;
}

static shs_cl *device;
static shs_context on_device;

static int open_shared(void **state) {
    (void)state;
    shim_begin();
    device = open_device(0, &on_device);
    return 0;
}

static int close_shared(void **state) {
    (void)state;
    shs_cl_destroy(device);
    device = NULL;
    return 0;
}

/* Whether the device can do what is asked; a device without doubles says SHS_UNSUPPORTED. */
static int can_double(void) { return shs_cl_about(device)->has_double || sizeof(shs_wide) == 4; }

/* ---- cubes in every dress ----------------------------------------------------------------------------------------- */

typedef struct dressed {
    shs_cube memory, cube; /* the pixels, and how they are given */
    unsigned char *mask;
    stream source;
} dressed;

enum { MASKED = 1, NODATA = 2, LISTED = 4, STREAMED = 8, SWAPPED = 16, SPOILT = 32 };

static const int odd_bands[] = {4, 0, 2, 7, 5};

static void dress(dressed *d, const plain_cube *p, shs_type type, shs_interleave interleave, int how) {
    size_t i, pixels = pixels_of(p);
    plain_cube q = *p;
    q.x = NEW(double, values_of(p));
    memcpy(q.x, p->x, values_of(p) * sizeof *q.x);
    memset(d, 0, sizeof *d);
    if (how & NODATA)
        for (i = 0; i < pixels; i += 11) pixel_of(&q, i)[i % (size_t)p->bands] = 7;
    if ((how & SPOILT) && !is_integer_type(type))
        for (i = 3; i < pixels; i += 17) pixel_of(&q, i)[i % (size_t)p->bands] = i & 1 ? NOT_A_NUMBER : -ENDLESS;
    d->memory = cube_of(&q, type, interleave, how & SWAPPED ? 1 : 0);
    if (how & NODATA) {
        d->memory.has_nodata = 1;
        d->memory.nodata = 7;
    }
    if (how & LISTED) {
        d->memory.band_list = odd_bands;
        d->memory.band_count = 5;
    }
    if (how & MASKED) {
        d->mask = NEW(unsigned char, pixels);
        for (i = 0; i < pixels; i++) d->mask[i] = (unsigned char)(i % 5 ? 255 : 0);
        d->memory.mask = d->mask;
    }
    d->cube = d->memory;
    if (how & STREAMED) d->cube = streamed(&d->memory, 3, &d->source);
    free(q.x);
}

static void undress(dressed *d) {
    if (d->cube.read_fn) assert_int_equal(d->source.wrong, 0);
    free(d->mask);
    cube_free(&d->memory);
}

/* ---- moments ------------------------------------------------------------------------------------------------------ */

static void check_moments(const shs_context *ctx, const shs_cube *cube, int precise, double bound) {
    int n = shs_cube_bands(cube);
    size_t cells = (size_t)n * (size_t)n;
    shs_moments a, b;
    double *mean = NEW(double, n), *c = NEW(double, cells), *mean_cl = NEW(double, n), *c_cl = NEW(double, cells);
    assert_ok(shs_moments_create(NULL, n, &a));
    assert_ok(shs_moments_create(NULL, n, &b));
    assert_ok(shs_moments_update(NULL, cube, precision_of(precise), &a));
    assert_ok_cl(shs_moments_update(ctx, cube, precision_of(precise), &b));
    assert_close(a.count, b.count, 0);
    assert_ok(shs_moments_finish(&a, SHS_DIVISOR_N, mean, c, n));
    assert_ok(shs_moments_finish(&b, SHS_DIVISOR_N, mean_cl, c_cl, n));
    check_near("means", (size_t)n, mean, mean_cl, bound * largest_of((size_t)n, mean));
    check_near("covariance", cells, c, c_cl, bound * largest_of(cells, c));
    shs_moments_free(NULL, &a), shs_moments_free(NULL, &b);
    free(mean);
    free(c);
    free(mean_cl);
    free(c_cl);
}

/* Values of 16 bits are the CPU's, doubles not every device's. */
static int on_devices(shs_type type) {
    if (is_short(type)) return 0;
    return type != SHS_TYPE_F64 || can_double();
}

static void test_moments(void **state) {
    int turn = 0;
    static const int ways[] = {0, SWAPPED, MASKED, NODATA, LISTED, STREAMED, SPOILT, LISTED | STREAMED | SWAPPED | NODATA,
                               MASKED | SPOILT | NODATA | LISTED, STREAMED | MASKED};
    int type, interleave;
    size_t way;
    (void)state;
    for (type = 0; type < SHS_TYPE_COUNT; type++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            plain_cube p = random_values((shs_type)type, 37, 41, 9, (uint64_t)(100 + type));
            for (way = 0; way < sizeof ways / sizeof ways[0]; way++) {
                if (!usual_layout((shs_type)type, interleave, type & 1) || left_out(&turn, every(7))) continue;
                dressed d;
                if (!on_devices((shs_type)type)) continue;
                dress(&d, &p, (shs_type)type, (shs_interleave)interleave, ways[way]);
                check_moments(&on_device, &d.cube, 0, BY_TYPE(2e-6, 1e-12));
                if (can_double()) check_moments(&on_device, &d.cube, 1, 1e-11);
                undress(&d);
            }
            free(p.x);
        }
}

/* 8-bit sums are exact: bit by bit those of the CPU. */
static void check_same_moments(const shs_cube *cube) {
    int n = shs_cube_bands(cube), i, j;
    shs_moments a, b;
    assert_ok(shs_moments_create(NULL, n, &a));
    assert_ok(shs_moments_create(NULL, n, &b));
    assert_ok(shs_moments_update(NULL, cube, 0, &a));
    assert_ok_cl(shs_moments_update(&on_device, cube, 0, &b));
    assert_close(a.count, b.count, 0);
    for (i = 0; i < n; i++) assert_close(a.sum[i], b.sum[i], 0);
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) assert_close(a.products[j * n + i], b.products[j * n + i], 0);
    shs_moments_free(NULL, &a), shs_moments_free(NULL, &b);
}

/* In float, and in whole numbers word by word and, where the device has them, by dot products and matrix units. */
static void test_moments_of_bytes_are_exact(void **state) {
    int turn = 0;
    static const int bands[] = {1, 9, 70, 127, 128, 224};
    static const int ways[] = {SHS__CL_BYTES_NOT, SHS__CL_BYTES_PLAIN, SHS__CL_BYTES_DOT, SHS__CL_BYTES_DP4A, SHS__CL_BYTES_MMA};
    const int was = device->bytes, had = device->ways.dot_products, is_cpu = device->ways.is_cpu;
    int interleave;
    size_t i, way;
    (void)state;
    device->test.plain_bytes = 1;
    for (i = 0; i < sizeof bands / sizeof bands[0]; i++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++)
            for (way = 0; way < sizeof ways / sizeof ways[0]; way++) {
                if (left_out(&turn, every(11))) continue;
                plain_cube p = random_values(SHS_TYPE_U8, 53, bands[i] < 10 ? 83 : 7, bands[i], 7 + i);
                shs_cube cube = cube_of(&p, SHS_TYPE_U8, (shs_interleave)interleave, 0);
                device->bytes = ways[way];
                device->ways.dot_products = ways[way] == SHS__CL_BYTES_DOT; /* a compiler without them takes plain products */
                device->ways.is_cpu = is_cpu && !device->ways.dot_products;      /* a processor is slower by them */
                check_same_moments(&cube);
                if (device->ways.ptx && ways[way] != SHS__CL_BYTES_DOT) assert_int_equal(device->bytes, ways[way]);
                if (bands[i] >= 9) {
                    cube.band_list = odd_bands;
                    cube.band_count = 5;
                    check_same_moments(&cube);
                }
                cube_free(&cube);
                free(p.x);
            }
    device->test.plain_bytes = 0;
    device->bytes = was;
    device->ways.dot_products = had;
    device->ways.is_cpu = is_cpu;
}

/* A processor makes moments of few bands of bytes from panels, which is faster than plain products of whole numbers, and exact too. */
static void test_bytes_of_a_processor(void **state) {
    static const int bands[] = {2, 30, 96};
    int i;
    (void)state;
    if (shs_cl_about(device)->kind != SHS_CL_CPU) skip();
    if (!shs_cl_about(device)->unified) skip(); /* elsewhere plain products run while the pixels come up */
    for (i = 0; i < 3; i++) {
        plain_cube p = random_values(SHS_TYPE_U8, 53, 7, bands[i], 5);
        shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
        shim.wrong = "byte_products"; /* which is counted */
        check_same_moments(&cube);
        assert_int_equal(shim.wrong_runs, 0);
        cube_free(&cube);
        free(p.x);
    }
    shim.wrong = NULL;
}

/* The planes of a cube that is read in place may be so far apart that 32 bits do not count to the last. Of the address space
   between the planes nothing is touched. */
static void test_moments_of_far_planes(void **state) {
#ifdef MAP_NORESERVE
    enum { FAR_BANDS = 3, FAR_LINES = 11, FAR_SAMPLES = 53, FAR_PIXELS = FAR_LINES * FAR_SAMPLES };
    const size_t apart_by = (size_t)((uint64_t)0x88000000u & SIZE_MAX), bytes = apart_by * (FAR_BANDS - 1) + FAR_PIXELS;
    shs_cube cube = SHS_ZERO;
    unsigned char *pixels;
    int b, i;
    if (sizeof(size_t) < 8 || bytes > shs_cl_about(device)->max_alloc) skip();
    pixels = (unsigned char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pixels == MAP_FAILED) skip();
    for (b = 0; b < FAR_BANDS; b++)
        for (i = 0; i < FAR_PIXELS; i++) pixels[(size_t)b * apart_by + (size_t)i] = (unsigned char)(100 + (i * (b + 3)) % 90);
    cube.pixels = pixels;
    cube.type = SHS_TYPE_U8;
    cube.lines = FAR_LINES;
    cube.samples = FAR_SAMPLES;
    cube.bands = FAR_BANDS;
    cube.sample_stride = 1;
    cube.line_stride = FAR_SAMPLES;
    cube.band_stride = (ptrdiff_t)apart_by;
    check_same_moments(&cube);
    munmap(pixels, bytes);
#else
    skip();
#endif
    (void)state;
}

/* Every tile size, and numbers of bands that fill none. */
static void test_moments_of_many_bands(void **state) {
    static const int bands[] = {1, 2, 31, 33, 64, 65, 100, 129, 224};
    size_t i;
    (void)state;
    for (i = 0; i < sizeof bands / sizeof bands[0]; i += (size_t)every(3)) {
        plain_cube p = mixed_cube(29, 43, bands[i], 3, 0.5, i);
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, i & 1 ? SHS_INTERLEAVE_BIP : SHS_INTERLEAVE_BSQ, 0);
        check_moments(&on_device, &cube, 0, BY_TYPE(2e-6, 1e-12));
        if (can_double()) check_moments(&on_device, &cube, 1, 1e-11);
        cube_free(&cube);
        free(p.x);
    }
}

/* The bands of integers in BSQ come up in groups, and rows of tiles are made as soon as their bands are there. */
static void test_moments_by_groups_of_bands(void **state) {
    static const int bands[] = {1, 32, 33, 65, 100, 129, 200, 300};
    int i, list[100];
    (void)state;
    for (i = 0; i < 100; i++) list[i] = (i * 37 + 11) % 100;
    for (i = 0; i < (int)(sizeof bands / sizeof bands[0]); i++) {
        plain_cube p = random_values(SHS_TYPE_I16, 31, 47, bands[i], (uint64_t)i);
        shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BSQ, i & 1);
        if (bands[i] == 100) {
            cube.band_list = list;
            cube.band_count = 100;
        }
        check_moments(&on_device, &cube, 0, BY_TYPE(2e-6, 1e-12));
        if (can_double()) check_moments(&on_device, &cube, 1, 1e-11);
        cube_free(&cube);
        free(p.x);
    }
}

/* The products of `rows` planes, made as the tiling says. */
static void products_by(shs__cl_pixels *px, const shs__cl_tiling *t, const shs_real *X, size_t pixels, shs_wide *P) {
    size_t bytes = pixels * (size_t)t->rows * sizeof *X;
    shs__cl_totals totals;
    shs__cl_planes a;
    a.from = 0;
    a.ld = pixels;
    a.rows = t->rows;
    assert_ok_cl(shs__cl_room(px, SHS__CL_ROOM_PANEL, bytes, &a.buffer));
    assert_ok_cl(shs__cl_write(device, 0, a.buffer, 0, bytes, X));
    assert_ok_cl(shs__cl_totals_begin(px, SHS__CL_ROOM_PRODUCTS, shs__cl_tiling_values(t), &totals));
    assert_ok_cl(shs__cl_products(px, t, &a, pixels, 0, t->tiles, &totals));
    assert_ok_cl(shs__cl_products_end(px, t, &totals, P));
}

/* The diagonals of few rows hold what the tiles hold; numbers of rows that end in the middle of a block, of a diagonal. */
static void test_products_in_diagonals(void **state) {
    static const int rows[] = {1, 2, 7, 8, 9, 16, 17, 30, 33, 55, 63, 64};
    const size_t pixels = 3 * SHS__CL_CHUNK_PIXELS;
    plain_cube p = random_values(SHS_TYPE_U8, 3, 5, 2, 1);
    shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
    shs_real *X = new_normal(64 * pixels, 17);
    shs_wide *in_diagonals = NEW(shs_wide, 64 * 64), *tiled = NEW(shs_wide, 64 * 64);
    const int units = device->ways.units64, is_cpu = device->ways.is_cpu; /* units would make tiles */
    void *session;
    size_t i, k;
    (void)state;
    device->ways.units64 = 0;
    assert_ok_cl(shs__cl_pixels_open(device, &on_device, &cube, &session));
    for (k = 0; k < sizeof rows / sizeof *rows; k += (size_t)every(4)) {
        int n = rows[k];
        shs__cl_tiling t;
        device->ways.is_cpu = 0; /* which would make tiles of some sizes */
        t = shs__cl_tiling_of(device, 0, n);
        device->ways.is_cpu = is_cpu;
        assert_int_equal(t.r, 0);
        products_by((shs__cl_pixels *)session, &t, X, pixels, in_diagonals);
        t.r = 2;
        t.tiles = shs__cl_count_tiles(n, 32);
        products_by((shs__cl_pixels *)session, &t, X, pixels, tiled);
        for (i = 0; i < (size_t)(n * n); i++) assert_close(in_diagonals[i], tiled[i], BY_TYPE(3e-3, 1e-10)); /* of 3072 */
    }
    shs__cl_pixels_close(session);
    device->ways.units64 = units;
    free(X);
    free(in_diagonals);
    free(tiled);
    cube_free(&cube);
    free(p.x);
}

/* On a processor diagonals of a number of rows that nearly fills a tile are slower than the tile. */
static void test_tiling_of_a_processor(void **state) {
    const shs__cl_ways was = device->ways;
    int rows, is_cpu;
    (void)state;
    device->ways.units64 = 0;
    for (rows = 1; rows <= SHS__CL_DIAGONALS_ROWS; rows++)
        for (is_cpu = 0; is_cpu < 2; is_cpu++) {
            device->ways.is_cpu = is_cpu;
            if (is_cpu && rows > 24 && rows <= 32) assert_int_equal(shs__cl_tiling_of(device, 0, rows).r, 2);
            else assert_int_equal(shs__cl_tiling_of(device, 0, rows).r, 0);
        }
    device->ways = was;
}

/* Double matrix units make what tiles of the same size hold, all tiles or some of them. */
static void test_products_by_units(void **state) {
    static const int rows[] = {1, 31, 33, 64, 65, 100};
    const size_t pixels = 2 * SHS__CL_CHUNK_PIXELS;
    plain_cube p = random_values(SHS_TYPE_U8, 3, 5, 2, 1);
    shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
    double *X = NEW(double, 100 * pixels);
    shs_wide *by_units = NEW(shs_wide, 100 * 100), *tiled = NEW(shs_wide, 100 * 100);
    int was = device->ways.units64;
    shs__cl_pixels *px;
    void *session;
    size_t i, k;
    (void)state;
    if (!shs_cl_about(device)->has_double) skip();
    for (i = 0; i < 100 * pixels; i++) X[i] = (double)(i * 7919 % 1009) / 500 - 1;
    assert_ok_cl(shs__cl_pixels_open(device, &on_device, &cube, &session));
    px = (shs__cl_pixels *)session;
    for (k = 0; k < sizeof rows / sizeof *rows; k++) {
        int n = rows[k], way;
        for (way = 0; way < 2; way++) {
            shs__cl_tiling t;
            shs__cl_totals totals;
            shs__cl_planes a;
            device->ways.units64 = 2;
            t = shs__cl_tiling_of(device, 1, n);
            assert_true(t.r > 0);
            device->ways.units64 = way ? 2 : 0;
            a.from = 0;
            a.ld = pixels;
            a.rows = n;
            assert_ok_cl(shs__cl_room(px, SHS__CL_ROOM_PANEL, (size_t)n * pixels * sizeof *X, &a.buffer));
            assert_ok_cl(shs__cl_write(device, 0, a.buffer, 0, (size_t)n * pixels * sizeof *X, X));
            assert_ok_cl(shs__cl_totals_begin(px, SHS__CL_ROOM_PRODUCTS, shs__cl_tiling_values(&t), &totals));
            for (i = 0; i < t.tiles; i += t.tiles == 1 ? 1 : 2)
                assert_ok_cl(shs__cl_products(px, &t, &a, pixels, i, i + 2 > t.tiles ? t.tiles - i : 2, &totals));
            assert_ok_cl(shs__cl_products_end(px, &t, &totals, way ? by_units : tiled));
        }
        for (i = 0; i < (size_t)(n * n); i++) assert_close(by_units[i], tiled[i], 1e-10);
    }
    device->ways.units64 = was;
    shs__cl_pixels_close(session);
    free(X);
    free(by_units);
    free(tiled);
    cube_free(&cube);
    free(p.x);
}

/* Differences of neighbours have the CPU's sign: sums of ranks on devices and CPUs add up. */
static void test_noise_sums(void **state) {
    plain_cube p = mixed_cube(23, 31, 9, 4, 0.5, 12);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    const shs_context *on[2] = {NULL, &on_device};
    shs_moments noise[2] = {SHS_ZERO, SHS_ZERO};
    int i, k;
    (void)state;
    if (!can_double()) skip();
    for (k = 0; k < 2; k++) {
        shs__pixels px;
        assert_ok(shs_moments_create(NULL, 9, &noise[k]));
        assert_ok(shs__px_open(on[k], &cube, &px));
        assert_ok_cl(shs__px_add_moments(&px, SHS_PRECISION_ALWAYS, SHS__NEIGHBOUR_RIGHT, NULL, &noise[k]));
        shs__px_close(&px);
    }
    assert_close(noise[0].count, noise[1].count, 0);
    for (i = 0; i < 9; i++) assert_true(fabs((double)noise[0].sum[i]) > 1e-2);
    check_near("sums", 9, noise[0].sum, noise[1].sum, 1e-9);
    check_near("products", 81, noise[0].products, noise[1].products, 1e-6);
    for (k = 0; k < 2; k++) shs_moments_free(NULL, &noise[k]);
    cube_free(&cube);
    free(p.x);
}

/* Strides that are no interleave's: every second sample, lines from below. */
static void test_odd_strides(void **state) {
    plain_cube p = random_values(SHS_TYPE_I16, 20, 30, 6, 5);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BSQ, 0), odd;
    (void)state;
    odd = cube;
    odd.samples = 15;
    odd.pixels = (const int16_t *)cube.pixels + 19 * 30;
    odd.sample_stride = 2;
    odd.line_stride = -30;
    odd.band_stride = 600;
    check_moments(&on_device, &odd, 0, BY_TYPE(2e-6, 1e-12));
    cube_free(&cube);
    free(p.x);
}

/* ---- maps --------------------------------------------------------------------------------------------------------- */

/* Both sinks, value by value. Integers may differ by one where the value is within rounding of a half, which is rare. */
static void compare_sinks(const shs_sink *a, const shs_sink *b, int lines, int samples, int outputs, double bound) {
    plain_cube x = sink_values(a, lines, samples, outputs), y = sink_values(b, lines, samples, outputs);
    size_t i, off = 0, n = values_of(&x);
    for (i = 0; i < n; i++) {
        double d = fabs(x.x[i] - y.x[i]);
        if (x.x[i] != x.x[i] && y.x[i] != y.x[i]) continue;
        if (is_integer_type(a->type)) {
            if (!(d <= 1)) fail_msg("value %zu: %g and %g", i, x.x[i], y.x[i]);
            off += d > 0;
        } else assert_close(x.x[i], y.x[i], bound);
    }
    if (off > n / 100) fail_msg("%zu of %zu integers differ", off, n);
    free(x.x);
    free(y.x);
}

static void test_maps(void **state) {
    int turn = 0;
    const int lines = 23, samples = 31, outputs = 6;
    plain_cube p = mixed_cube(lines, samples, 9, 3, 0.2, 3);
    double matrix[6 * 9], centre[9], offset[6];
    shs_pixel_map map = SHS_ZERO;
    shs_random r;
    int type, interleave, rescale, precise, i;
    (void)state;
    shs_random_seed(&r, 8);
    for (i = 0; i < 54; i++) matrix[i] = (double)shs_random_normal(&r);
    for (i = 0; i < 9; i++) centre[i] = 100 + (double)shs_random_normal(&r);
    for (i = 0; i < 6; i++) offset[i] = 20.0 * i;
    map.bands = 9;
    map.outputs = outputs;
    map.matrix = matrix;
    map.centre = centre;
    map.offset = offset;
    for (type = 0; type < SHS_TYPE_COUNT; type++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++)
            for (rescale = 0; rescale < 2; rescale++)
                for (precise = 0; precise < 2; precise++) {
                    if (left_out(&turn, every(17))) continue;
                    dressed d;
                    shs_sink a = new_sink((shs_type)type, (shs_interleave)interleave, lines, samples, outputs), b;
                    shs_sink s;
                    collector c;
                    b = new_sink((shs_type)type, (shs_interleave)interleave, lines, samples, outputs);
                    a.rescale = b.rescale = rescale;
                    a.low = b.low = 3;
                    a.high = b.high = 250;
                    a.has_nodata = b.has_nodata = interleave == 1;
                    a.nodata = b.nodata = 9;
                    dress(&d, &p, SHS_TYPE_F32, (shs_interleave)((interleave + 1) % 3), (rescale ? STREAMED : MASKED) | SPOILT);
                    s = rescale ? collecting(&b, lines, samples, outputs, &c) : b;
                    if (on_devices((shs_type)type) && (can_double() || !precise)) {
                        assert_ok(shs_cube_map(NULL, &d.cube, &map, precision_of(precise), &a));
                        assert_ok_cl(shs_cube_map(&on_device, &d.cube, &map, precision_of(precise), &s));
                        compare_sinks(&a, &b, lines, samples, outputs, precise && type == SHS_TYPE_F64 ? 1e-10 : 2e-4);
                    }
                    undress(&d);
                    sink_free(&a);
                    sink_free(&b);
                }
    free(p.x);
}

/* Items that take several pixels: groups that end behind the image, blocks of outputs that end behind the last; the cube's values
   have all sizes, and come in all interleaves. Extremes and values, in shs_real and in shs_wide. */
static void test_pixels_of_an_item(void **state) {
    static const struct {
        shs_type type;
        shs_interleave interleave;
        int pixels, precise, outputs;
    } ways[] = {{SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 4, 1, 6},  {SHS_TYPE_I16, SHS_INTERLEAVE_BSQ, 4, 1, 13},
                {SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 4, 1, 6}, {SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 4, 0, 17},
                {SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 2, 0, 6}, {SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 4, 1, 3}};
    plain_cube p = mixed_cube(61, 37, 19, 3, 0.2, 3);
    double matrix[17 * 19], centre[19];
    shs_pixel_map map = SHS_ZERO;
    shs_random r;
    size_t way;
    int i;
    (void)state;
    shs_random_seed(&r, 8);
    for (i = 0; i < 17 * 19; i++) matrix[i] = (double)shs_random_normal(&r);
    for (i = 0; i < 19; i++) centre[i] = 100 + (double)shs_random_normal(&r);
    map.bands = 19;
    map.matrix = matrix;
    map.centre = centre;
    for (way = 0; way < sizeof ways / sizeof *ways; way += (size_t)every(5)) {
        const int precise = can_double() && ways[way].precise, n = map.outputs = ways[way].outputs;
        shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 61, 37, n),
                 b = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 61, 37, n);
        dressed d;
        if (ways[way].type != SHS_TYPE_F64 || can_double()) {
            dress(&d, &p, ways[way].type, ways[way].interleave, MASKED);
            a.rescale = b.rescale = 1;
            a.high = b.high = 100;
            device->test.map_pixels = ways[way].pixels;
            assert_ok(shs_cube_map(NULL, &d.cube, &map, precision_of(precise), &a));
            assert_ok_cl(shs_cube_map(&on_device, &d.cube, &map, precision_of(precise), &b));
            compare_sinks(&a, &b, 61, 37, n, precise ? 1e-5 : 1e-4); /* of 100, in float */
            undress(&d);
        }
        sink_free(&a);
        sink_free(&b);
    }
    device->test.map_pixels = 0;
    free(p.x);
}

/* Maps of many outputs by double matrix units, and without: sinks, extremes and lengths are the same to rounding, for groups
   that end behind the image, and blocks of outputs that end behind the last. */
static void test_maps_by_units(void **state) {
    static const struct {
        shs_type type;
        shs_interleave interleave, out;
        int outputs;
    } ways[] = {{SHS_TYPE_U8, SHS_INTERLEAVE_BIP, SHS_INTERLEAVE_BSQ, 25},
                {SHS_TYPE_I16, SHS_INTERLEAVE_BSQ, SHS_INTERLEAVE_BIP, 57},
                {SHS_TYPE_F32, SHS_INTERLEAVE_BIL, SHS_INTERLEAVE_BIL, 56},
                {SHS_TYPE_F64, SHS_INTERLEAVE_BIP, SHS_INTERLEAVE_BSQ, 113}};
    enum { LINES = 23, SAMPLES = 31, BANDS = 29 };
    plain_cube p = mixed_cube(LINES, SAMPLES, BANDS, 3, 0.2, 3);
    double *matrix = NEW(double, 113 * BANDS), centre[BANDS];
    const int was = device->ways.units64;
    shs_pixel_map map = SHS_ZERO;
    shs_random r;
    size_t way;
    int i, by;
    (void)state;
    if (!can_double()) skip();
    shs_random_seed(&r, 8);
    for (i = 0; i < 113 * BANDS; i++) matrix[i] = (double)shs_random_normal(&r);
    for (i = 0; i < BANDS; i++) centre[i] = 100 + (double)shs_random_normal(&r);
    map.bands = BANDS;
    map.matrix = matrix;
    map.centre = centre;
    for (way = 0; way < sizeof ways / sizeof *ways; way += (size_t)every(4)) {
        const int n = map.outputs = ways[way].outputs;
        shs_sink sinks[3], lengths[2];
        dressed d;
        dress(&d, &p, ways[way].type, ways[way].interleave, MASKED);
        for (i = 0; i < 3; i++) {
            sinks[i] = new_sink(SHS_TYPE_F64, ways[way].out, LINES, SAMPLES, n);
            sinks[i].rescale = 1;
            sinks[i].high = 100;
        }
        for (by = 0; by < 2; by++) {
            device->ways.units64 = by ? 2 : 0;
            lengths[by] = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, LINES, SAMPLES, 1);
            assert_ok_cl(shs_cube_map(&on_device, &d.cube, &map, SHS_PRECISION_ALWAYS, sinks + by));
            assert_ok_cl(shs_rx(&on_device, &d.cube, NULL, lengths + by, NULL));
        }
        assert_ok(shs_cube_map(NULL, &d.cube, &map, SHS_PRECISION_ALWAYS, sinks + 2));
        compare_sinks(sinks + 2, sinks, LINES, SAMPLES, n, 1e-10);
        compare_sinks(sinks + 2, sinks + 1, LINES, SAMPLES, n, 1e-10);
        compare_sinks(lengths, lengths + 1, LINES, SAMPLES, 1, 1e-6);
        undress(&d);
        for (i = 0; i < 3; i++) sink_free(sinks + i);
        for (i = 0; i < 2; i++) sink_free(lengths + i);
    }
    device->ways.units64 = was;
    free(matrix);
    free(p.x);
}

/* ---- principal components ----------------------------------------------------------------------------------------- */

static double cosine(int n, const double *a, const double *b) {
    double ab = 0, aa = 0, bb = 0;
    int i;
    for (i = 0; i < n; i++) {
        ab += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    return fabs(ab) / sqrt(aa * bb);
}

typedef shs_status (*fit_fn)(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *o, shs_pca *pca);

static void check_fit(const shs_context *ctx, const shs_cube *cube, fit_fn fit, const shs_pca_options *o) {
    shs_pca a, b;
    int i;
    assert_ok(fit(NULL, cube, o, &a));
    assert_ok_cl(fit(ctx, cube, o, &b));
    assert_int_equal(a.components, b.components);
    assert_close(a.count, b.count, 0);
    for (i = 0; i < a.components; i++) {
        assert_close(a.eigenvalues[i], b.eigenvalues[i], 1e-5 * a.eigenvalues[i]);
        assert_true(cosine(a.bands, a.vectors + i * a.bands, b.vectors + i * a.bands) > 0.9999);
    }
    shs_pca_free(NULL, &a), shs_pca_free(NULL, &b);
}

static void check_pca(const shs_context *ctx, const shs_cube *cube, int k, int mnf) {
    shs_pca_options o = SHS_ZERO;
    o.components = k;
    check_fit(ctx, cube, mnf ? shs_mnf_fit : shs_pca_fit, &o);
}

/* Every option of the components alone, and the anomaly scores with this option. */
static void test_options_of_components(void **state) {
    plain_cube p = mixed_cube(40, 33, 12, 4, 0.5, 9);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 0);
    shs_pca_options o[7];
    int i;
    (void)state;
    memset(o, 0, sizeof o);
    o[0].components = 3;
    o[1].variance = 0.97;
    o[2].eigenvalue_at_least = 1;
    o[3].correlation = 1;
    o[4].divisor = SHS_DIVISOR_N_LESS_1;
    o[3].components = o[4].components = 4; /* the other components are noise, which float products resolve worse than 1e-5 */
    o[5].precise = o[6].precise = SHS_PRECISION_ALWAYS;
    o[6].correlation = 1;
    o[6].divisor = SHS_DIVISOR_N_LESS_1;
    o[6].components = 4;
    for (i = 0; i < 7; i++) {
        shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 40, 33, 1),
                 b = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 40, 33, 1);
        int rank_a = 0, rank_b = 0;
        if (can_double() || o[i].precise != SHS_PRECISION_ALWAYS) check_fit(&on_device, &cube, shs_pca_fit, o + i);
        if (can_double()) {
            check_fit(&on_device, &cube, shs_mnf_fit, o + i);
            assert_ok(shs_rx(NULL, &cube, o + i, &a, &rank_a));
            assert_ok_cl(shs_rx(&on_device, &cube, o + i, &b, &rank_b));
            assert_int_equal(rank_a, rank_b);
            compare_sinks(&a, &b, 40, 33, 1, 2e-3);
        }
        sink_free(&a);
        sink_free(&b);
    }
    cube_free(&cube);
    free(p.x);
}

/* Transform and inverse: components or sources, the pixels from them, and for components also the denoised pixels. */
static void check_ways(plain_cube p, shs_type type, shs_interleave interleave, int outputs, int by_sources, double bound) {
    shs_cube whole = cube_of(&p, type, interleave, 0), *cube = &whole;
    shs_pca_options po = SHS_ZERO;
    shs_ica_options io = SHS_ZERO;
    shs_pca pca = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    int ways = by_sources ? 2 : 3, i, j;
    shs_context *const ctx[2] = {NULL, &on_device};
    shs_sink sinks[2][3];
    po.components = io.components = outputs;
    assert_ok(by_sources ? shs_ica_fit(NULL, cube, &io, &ica) : shs_pca_fit(NULL, cube, &po, &pca));
    for (i = 0; i < 2; i++) {
        shs_cube few;
        for (j = 0; j < ways; j++)
            sinks[i][j] = new_sink(SHS_TYPE_F32, (shs_interleave)j, cube->lines, cube->samples, j ? cube->bands : outputs);
        few = sink_cube(&sinks[i][0], cube->lines, cube->samples, outputs);
        if (!by_sources) {
            assert_ok_cl(shs_pca_transform(ctx[i], &pca, cube, &sinks[i][0]));
            assert_ok_cl(shs_pca_inverse(ctx[i], &pca, &few, &sinks[i][1]));
            assert_ok_cl(shs_pca_denoise(ctx[i], &pca, 3, cube, &sinks[i][2]));
        } else {
            assert_ok_cl(shs_ica_transform(ctx[i], &ica, cube, &sinks[i][0]));
            assert_ok_cl(shs_ica_inverse(ctx[i], &ica, &few, &sinks[i][1]));
        }
    }
    for (j = 0; j < ways; j++) {
        compare_sinks(&sinks[0][j], &sinks[1][j], cube->lines, cube->samples, j ? cube->bands : outputs, bound);
        sink_free(&sinks[0][j]);
        sink_free(&sinks[1][j]);
    }
    shs_pca_free(NULL, &pca), shs_ica_free(NULL, &ica);
    cube_free(cube);
    free(p.x);
}

static void test_ways_of_components(void **state) {
    (void)state;
    check_ways(mixed_cube(40, 33, 9, 4, 0.5, 9), SHS_TYPE_U16, SHS_INTERLEAVE_BIP, 5, 0, 2e-4);
}

static void test_golden_cubes(void **state) {
    int which;
    (void)state;
    for (which = 0; which < GOLDEN_CUBES; which++) {
        shs_cube cube = load_golden(which);
        check_pca(&on_device, &cube, 5, 0);
        cube_free(&cube);
    }
}

static void test_mnf_and_rx(void **state) {
    plain_cube p = mixed_cube(40, 33, 12, 4, 0.5, 9);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 40, 33, 1),
             b = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 40, 33, 1);
    (void)state;
    device->test.map_pixels = 4; /* lengths */
    if (can_double()) {
        check_pca(&on_device, &cube, 4, 1);
        assert_ok(shs_rx(NULL, &cube, NULL, &a, NULL));
        assert_ok_cl(shs_rx(&on_device, &cube, NULL, &b, NULL));
        compare_sinks(&a, &b, 40, 33, 1, 1e-3);
    } else assert_status(shs_rx(&on_device, &cube, NULL, &b, NULL), SHS_UNSUPPORTED);
    device->test.map_pixels = 0;
    sink_free(&a);
    sink_free(&b);
    cube_free(&cube);
    free(p.x);
}

/* Fit and transform in one call, the components of a real cube. */
static void test_pca_run(void **state) {
    shs_cube cube = load_golden(JASPER);
    shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIL, cube.lines, cube.samples, 4),
             b = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIL, cube.lines, cube.samples, 4);
    shs_pca_options o = SHS_ZERO;
    plain_cube x, y;
    (void)state;
    o.components = 4;
    assert_ok(shs_pca_run(NULL, &cube, &o, &a, NULL));
    assert_ok_cl(shs_pca_run(&on_device, &cube, &o, &b, NULL));
    x = sink_values(&a, cube.lines, cube.samples, 4);
    y = sink_values(&b, cube.lines, cube.samples, 4);
    check_near("components", values_of(&x), x.x, y.x, 1e-4 * largest_of(values_of(&x), x.x));
    free(x.x);
    free(y.x);
    sink_free(&a);
    sink_free(&b);
    cube_free(&cube);
}

/* ---- independent components --------------------------------------------------------------------------------------- */

static void check_ica(const shs_context *ctx, const shs_cube *cube, const shs_ica_options *o) {
    shs_ica a, b;
    int m, n, i, j, k, l;
    double *covariance, *ca, *cb;
    shs_moments mo;
    assert_ok(shs_ica_fit(NULL, cube, o, &a));
    assert_ok_cl(shs_ica_fit(ctx, cube, o, &b));
    m = a.components;
    n = a.bands;
    assert_int_equal(b.components, m);
    covariance = NEW(double, n * n);
    ca = NEW(double, n);
    cb = NEW(double, n);
    assert_ok(shs_moments_create(NULL, n, &mo));
    assert_ok(shs_moments_update(NULL, cube, 1, &mo));
    assert_ok(shs_moments_finish(&mo, SHS_DIVISOR_N, ca, covariance, n));
    for (i = 0; i < m; i++) { /* correlation of source i with the best of the others: u'Cv of unit sources */
        double best = 0;
        for (j = 0; j < m; j++) {
            double uv = 0, uu = 0, vv = 0;
            for (k = 0; k < n; k++)
                for (l = 0; l < n; l++) {
                    double c = covariance[k * n + l];
                    uv += a.unmixing[k * m + i] * c * b.unmixing[l * m + j];
                    uu += a.unmixing[k * m + i] * c * a.unmixing[l * m + i];
                    vv += b.unmixing[k * m + j] * c * b.unmixing[l * m + j];
                }
            if (fabs(uv) / sqrt(uu * vv) > best) best = fabs(uv) / sqrt(uu * vv);
        }
        if (!(best > 0.999)) fail_msg("source %d: correlation %g", i, best);
        assert_close(a.component[i].kurtosis, b.component[i].kurtosis, 1e-3 * (1 + fabs(a.component[i].kurtosis)));
    }
    shs_moments_free(NULL, &mo);
    free(covariance);
    free(ca);
    free(cb);
    shs_ica_free(NULL, &a), shs_ica_free(NULL, &b);
}

static void test_ica(void **state) {
    plain_cube p = mixed_cube(53, 61, 10, 4, 0.01, 21);
    int contrast, approach, route;
    (void)state;
    for (contrast = 0; contrast < 3; contrast++)
        for (approach = 0; approach < 2; approach++)
            for (route = 0; route < (contrast ? 1 : 3); route++) {
                shs_ica_options o = SHS_ZERO;
                dressed d;
                dress(&d, &p, SHS_TYPE_F32, (shs_interleave)(contrast % 3), approach ? MASKED : STREAMED | SPOILT);
                o.components = 4;
                o.contrast = (shs_contrast)contrast;
                o.approach = (shs_ica_approach)approach;
                o.route = (shs_ica_route)route;
                check_ica(&on_device, &d.cube, &o);
                undress(&d);
            }
    free(p.x);
}

/* Every option of the sources that the others do not set. */
static void test_options_of_sources(void **state) {
    plain_cube p = mixed_cube(53, 61, 10, 4, 0.01, 21);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    const shs_wide start[16] = {1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1};
    shs_ica_options o[10];
    int i;
    (void)state;
    memset(o, 0, sizeof o);
    o[0].order = SHS_ORDER_NEGENTROPY;
    o[1].order = SHS_ORDER_EXTRACTION;
    o[2].iterations = 30;
    o[2].tolerance = -1;
    o[3].plain_steps = 1;
    o[3].restarts = -1;
    o[3].contrast = SHS_CONTRAST_TANH;
    o[4].random_start = 1;
    o[4].seed = 5;
    o[4].restarts = 2;
    o[5].start = start;
    o[6].divisor = SHS_DIVISOR_N_LESS_1;
    o[6].contrast = SHS_CONTRAST_GAUSS;
    o[7].precise = SHS_PRECISION_ALWAYS;
    o[8].eigenvalue_at_least = 1e-2;
    o[9].tolerance = 1e-5;
    o[9].approach = SHS_APPROACH_SYMMETRIC;
    for (i = 0; i < 10; i++) {
        device->test.map_pixels = 1 << i % 3; /* whitening */
        if (i != 8) o[i].components = 4;
        if (can_double() || o[i].precise != SHS_PRECISION_ALWAYS) check_ica(&on_device, &cube, o + i);
    }
    device->test.map_pixels = 0;
    cube_free(&cube);
    free(p.x);
}

static void test_ways_of_sources(void **state) {
    (void)state;
    check_ways(mixed_cube(53, 61, 10, 4, 0.01, 21), SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 4, 1, 1e-3);
}

static void test_ica_of_golden_cube(void **state) {
    shs_cube cube = load_golden(JASPER);
    shs_ica_options o = SHS_ZERO;
    (void)state;
    o.components = 4;
    check_ica(&on_device, &cube, &o);
    cube_free(&cube);
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------- */

/* g(y), or, of no contrast, y^4; and g'(y), or log cosh y. */
static double sweep_value(int contrast, double y, double *slope) {
    double e = exp(-y * y / 2), a = fabs(y);
    if (contrast == SHS_CONTRAST_COUNT) return *slope = a + log1p(exp(-2 * a)) - log(2), y * y * y * y;
    if (contrast == SHS_CONTRAST_POW3) return *slope = 3 * y * y, y * y * y;
    if (contrast == SHS_CONTRAST_TANH) return *slope = 1 - tanh(y) * tanh(y), tanh(y);
    if (contrast == SHS_CONTRAST_GAUSS) return *slope = (1 - y * y) * e, y * e;
    return *slope = 2 * y, y * y;
}

/* The sums of a sweep, or of a rating, of m components for c directions, added up in double one after another. Returns whether
   the whitened pixels stayed on the device. */
static int check_sweep(shs_cl *cl, const shs_context *ctx, int lines, int samples, int m, int c, int contrast, int how) {
    plain_cube p = random_values(SHS_TYPE_F32, lines, samples, m, (uint64_t)(m + c));
    int rating = contrast == SHS_CONTRAST_COUNT, d, a, i, present, kept;
    size_t pixels = pixels_of(&p), q, count = 1 + (size_t)c * (size_t)(rating ? 2 : m + 1);
    shs_wide *identity = NEW(shs_wide, m * m), *W = NEW(shs_wide, m * c), *sums = NEW(shs_wide, count),
             *again = NEW(shs_wide, count);
    double *right = NEW(double, count), *size = NEW(double, count);
    shs_pixel_map map = SHS_ZERO;
    dressed it;
    void *session;
    shs_real *w = new_normal((size_t)(m * c), 5);
    for (q = 0; q < values_of(&p); q++) p.x[q] = (double)(float)(p.x[q] / 100); /* of about 1 */
    for (i = 0; i < m * c; i++) {
        w[i] = (shs_real)((double)w[i] / sqrt(m));
        W[i] = (shs_wide)w[i];
    }
    for (a = 0; a < m; a++) identity[a * m + a] = 1;
    dress(&it, &p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, how);
    map.bands = map.outputs = m;
    map.matrix = identity;
    for (q = 0; q < pixels; q++) {
        const float *z = (const float *)it.memory.pixels + q * (size_t)m;
        present = !it.mask || it.mask[q];
        for (a = 0; a < m; a++)
            if (!isfinite(z[a]) || (it.memory.has_nodata && z[a] == 7)) present = 0;
        right[0] += present;
        size[0] = 0;
        for (d = 0; d < c && present; d++) {
            double y = 0, g, slope;
            for (a = 0; a < m; a++) y += (double)W[d * m + a] * (double)z[a];
            g = sweep_value(contrast, y, &slope);
            right[1 + d] += slope;
            size[1 + d] += fabs(slope);
            if (rating) {
                right[1 + c + d] += slope;
                right[1 + d] += g - slope;
                size[1 + c + d] += slope;
                size[1 + d] += g;
            }
            for (a = 0; a < m && !rating; a++) {
                right[1 + c + d * m + a] += g * (double)z[a];
                size[1 + c + d * m + a] += fabs(g * (double)z[a]);
            }
        }
    }
    assert_ok_cl(shs__cl_pixels_open(cl, ctx, &it.cube, &session));
    assert_ok_cl(shs__cl_pixels_whiten(session, &map, 0, sums));
    for (i = 0; i < 2; i++) {
        shs_wide *to = i ? again : sums;
        assert_ok_cl(rating ? shs__cl_pixels_rate(session, W, to)
                            : shs__cl_pixels_sweep(session, (shs_contrast)contrast, c, W, to));
    }
    for (q = 0; q < count; q++)
        if (!(fabs((double)sums[q] - right[q]) <= BY_TYPE(2e-6, 1e-13) * size[q] + BY_TYPE(1e-6, 1e-13)))
            fail_msg("%d x %d pixels, m %d, c %d, contrast %d: sum %d is %.9g, not %.9g", lines, samples, m, c, contrast,
                     (int)q, (double)sums[q], right[q]);
    assert_memory_equal(sums, again, count * sizeof *sums);
    kept = ((const shs__cl_pixels *)session)->z_kept;
    shs__cl_pixels_close(session);
    undress(&it);
    free(identity);
    free(W);
    free(sums);
    free(again);
    free(right);
    free(size);
    free(w);
    free(p.x);
    return kept;
}

/* One component, incomplete blocks of directions and of components, missing pixels, one pixel, and many groups. */
static void test_sweeps(void **state) {
    static const struct {
        int m, c;
    } shapes[] = {{1, 1}, {2, 2}, {3, 1}, {10, 10}, {10, 1}, {13, 13}, {31, 5}, {34, 3}, {47, 47}, {71, 1}};
    static const int sizes[][2] = {{1, 1}, {3, 5}, {23, 31}, {97, 131}};
    size_t i;
    (void)state;
    for (i = 0; i < sizeof shapes / sizeof *shapes; i += (size_t)every(5)) {
        int k = (int)i, few = shapes[i].m * shapes[i].c < 500;
        const int *size = sizes[few ? k % 4 : 2], m = shapes[i].m, c = shapes[i].c;
        check_sweep(device, &on_device, size[0], size[1], m, c, k % SHS_CONTRAST_COUNT, k & 1 ? MASKED | SPOILT : 0);
        if (few) check_sweep(device, &on_device, 97, 131, m, c, (k + 1) % SHS_CONTRAST_COUNT, k & 1 ? 0 : NODATA | STREAMED);
        if (c == m) check_sweep(device, &on_device, size[0], size[1], m, c, SHS_CONTRAST_COUNT, MASKED);
    }
}

/* Whitened pixels of all slices in one buffer, of two slices a buffer, of one slice a buffer, and not kept. */
static void test_sweeps_in_parts(void **state) {
    static const size_t limits[][3] = {{3000000, 3000000, 1}, {3000000, 200000, 1}, {3000000, 100000, 1}, {700000, 700000, 0}};
    size_t i;
    (void)state;
    for (i = 0; i < sizeof limits / sizeof *limits; i++) {
        shs_context ctx;
        shs_cl *cl = open_device(limits[i][0], &ctx);
        cl->about.max_alloc = limits[i][1] * sizeof(shs_real) / 4;
        assert_int_equal(check_sweep(cl, &ctx, 300, 61, 6, 6, SHS_CONTRAST_TANH, MASKED | SPOILT), (int)limits[i][2]);
        shs_cl_destroy(cl);
    }
}

/* Without local memory, registers, overlap, and in groups of any size: slower, and the same. */
static void test_without_and_groups(void **state) {
    static const int groups[] = {0, 128, 256, 512, 1024};
    plain_cube p = mixed_cube(53, 61, 10, 4, 0.01, 21), wide = random_values(SHS_TYPE_U8, 37, 83, 140, 3);
    unsigned i;
    (void)state;
    for (i = 0; i < 12; i += (unsigned)every(7)) {
        dressed d;
        shs_cube bytes = cube_of(&wide, SHS_TYPE_U8, (shs_interleave)(i % 3), 0);
        shs_cl_options o = SHS_ZERO;
        shs_context ctx = SHS_ZERO;
        shs_ica_options ica = SHS_ZERO;
        shs_cl *cl;
        o.platform = getenv("SHS_CL_PLATFORM");
        o.trust = shim_trust();
        o.without = i % 8;
        o.group_items = groups[i < 8 ? i % 3 : i - 7];
        o.memory_limit = i & 1 ? 3000000 : 0; /* slices that take turns */
        assert_ok(shs_cl_create(NULL, &o, &cl));
        cl->about.unified = 0;
        ctx.engine = shs_cl_engine(cl);
        dress(&d, &p, SHS_TYPE_F32, (shs_interleave)(i % 3), i & 2 ? MASKED : 0);
        ica.components = 4;
        ica.contrast = (shs_contrast)(i % 3);
        ica.approach = (shs_ica_approach)(i / 2 % 2);
        ica.route = SHS_ROUTE_SWEEP;
        check_moments(&ctx, &d.cube, 0, BY_TYPE(2e-6, 1e-12));
        if (can_double()) check_moments(&ctx, &d.cube, 1, 1e-11);
        check_ica(&ctx, &d.cube, &ica);
        check_moments(&ctx, &bytes, 0, BY_TYPE(2e-6, 1e-12));
        check_sweep(cl, &ctx, 97, 131, 7, 7, SHS_CONTRAST_GAUSS, MASKED);
        if (i > 7) check_sweep(cl, &ctx, 23, 31, 35, 4, SHS_CONTRAST_TANH, SPOILT);
        undress(&d);
        cube_free(&bytes);
        shs_cl_destroy(cl);
    }
    free(p.x);
    free(wide.x);
}

/* ---- short runs --------------------------------------------------------------------------------------------------- */

enum { SHORT_LINES = 21, SHORT_SAMPLES = 17, SHORT_OUTPUTS = 3 };

static shs_status run_pca(const shs_context *ctx, const shs_cube *cube, const shs_sink *sink) {
    shs_pca_options o = SHS_ZERO;
    o.components = SHORT_OUTPUTS;
    return shs_pca_run(ctx, cube, &o, sink, NULL);
}

static shs_status run_ica(const shs_context *ctx, const shs_cube *cube, const shs_sink *sink) {
    shs_ica_options o = SHS_ZERO;
    o.components = SHORT_OUTPUTS;
    o.route = SHS_ROUTE_MOMENTS;
    return shs_ica_run(ctx, cube, &o, sink, NULL);
}

static shs_status run_sweeps(const shs_context *ctx, const shs_cube *cube, const shs_sink *sink) {
    shs_ica_options o = SHS_ZERO;
    o.components = SHORT_OUTPUTS;
    o.contrast = SHS_CONTRAST_TANH;
    o.approach = SHS_APPROACH_SYMMETRIC;
    o.iterations = 4;
    o.restarts = -1;
    o.tolerance = -1;
    return shs_ica_run(ctx, cube, &o, sink, NULL);
}

static shs_status run_rx(const shs_context *ctx, const shs_cube *cube, const shs_sink *sink) {
    return shs_rx(ctx, cube, NULL, sink, NULL);
}

static shs_status run_mnf(const shs_context *ctx, const shs_cube *cube, const shs_sink *sink) {
    shs_pca_options o = SHS_ZERO;
    o.components = SHORT_OUTPUTS;
    return shs_mnf_run(ctx, cube, &o, sink, NULL);
}

/* Every contrast, by sweeps and by moments. */
static void check_sources_alone(const shs_context *ctx, const shs_cube *cube) {
    int contrast, route;
    for (contrast = 0; contrast < 3; contrast++)
        for (route = contrast ? 0 : 1; route < (contrast ? 1 : 3); route++) {
            shs_ica_options o = SHS_ZERO;
            o.components = SHORT_OUTPUTS;
            o.contrast = (shs_contrast)contrast;
            o.route = (shs_ica_route)route;
            check_ica(ctx, cube, &o);
        }
}

/* ---- memory, repetition, failures --------------------------------------------------------------------------------- */

static void test_little_memory(void **state) {
    plain_cube p = mixed_cube(400, 61, 10, 4, 0.01, 2);
    shs_ica_options o = SHS_ZERO;
    int interleave;
    (void)state;
    o.components = 4;
    o.contrast = SHS_CONTRAST_TANH;
    for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, (shs_interleave)interleave, 0);
        shs_context ctx;
        shs_cl *cl = open_device((size_t)1000000, &ctx); /* the cube takes as much */
        check_moments(&ctx, &cube, 0, BY_TYPE(2e-6, 1e-12));
        check_pca(&ctx, &cube, 4, 0);
        check_ica(&ctx, &cube, &o);
        assert_true(cl->in_use == 0);
        shs_cl_destroy(cl);
        cl = open_device(20000, &ctx); /* not even a panel */
        {
            shs_pca pca;
            assert_status(shs_pca_fit(&ctx, &cube, NULL, &pca), SHS_NO_MEMORY);
            assert_true(cl->in_use == 0);
        }
        shs_cl_destroy(cl);
        cube_free(&cube);
    }
    free(p.x);
}

/* The same statistics from slices that take turns, of every type and interleave. */
static void test_little_memory_of_every_type(void **state) {
    int type, interleave;
    (void)state;
    for (type = 0; type < SHS_TYPE_COUNT; type++) {
        plain_cube p;
        if (is_short((shs_type)type)) continue;
        p = random_values((shs_type)type, 400, 61, 10, (uint64_t)type);
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            if (!usual_layout((shs_type)type, interleave, interleave & 1)) continue;
            shs_cube cube = cube_of(&p, (shs_type)type, (shs_interleave)interleave, interleave & 1);
            shs_context ctx;
            shs_cl *cl = open_device(380000, &ctx);
            if (can_double() || type != SHS_TYPE_F64) check_moments(&ctx, &cube, 0, BY_TYPE(2e-6, 1e-12));
            if (can_double()) check_moments(&ctx, &cube, 1, 1e-11);
            assert_true(cl->in_use == 0 && cl->held.peak <= 380000);
            shs_cl_destroy(cl);
            cube_free(&cube);
        }
        free(p.x);
    }
}

/* 16-bit float pixels as input and output: the call returns SHS_UNSUPPORTED, or the CPU computes it. */
static void check_short_type(const shs_context *ctx, shs_type type, shs_status expected) {
    plain_cube p = mixed_cube(SHORT_LINES, SHORT_SAMPLES, 8, SHORT_OUTPUTS, 0.1, 32);
    shs_cube cube = cube_of(&p, type, SHS_INTERLEAVE_BIL, 0), floats = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS),
             b = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS),
             c = new_sink(type, SHS_INTERLEAVE_BIP, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS),
             d = new_sink(type, SHS_INTERLEAVE_BIP, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS);
    assert_ok(run_pca(NULL, &cube, &a));
    assert_status(run_pca(ctx, &cube, &b), expected);
    if (expected == SHS_OK) compare_sinks(&a, &b, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS, 1e-2);
    assert_ok(run_pca(NULL, &floats, &c));
    assert_status(run_pca(ctx, &floats, &d), expected);
    if (expected == SHS_OK) compare_sinks(&c, &d, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS, 0.5);
    sink_free(&a);
    sink_free(&b);
    sink_free(&c);
    sink_free(&d);
    cube_free(&cube);
    cube_free(&floats);
    free(p.x);
}

static void test_values_of_16_bits(void **state) {
    int fallback;
    (void)state;
    for (fallback = 0; fallback < 2; fallback++) {
        shs_cl_options options = SHS_ZERO;
        shs_context ctx = SHS_ZERO;
        shs_cl *cl;
        options.platform = getenv("SHS_CL_PLATFORM");
        options.fallback = fallback;
        options.trust = shim_trust();
        assert_ok(shs_cl_create(NULL, &options, &cl));
        ctx.engine = shs_cl_engine(cl);
        check_short_type(&ctx, SHS_TYPE_F16, fallback ? SHS_OK : SHS_UNSUPPORTED);
        check_short_type(&ctx, SHS_TYPE_BF16, fallback ? SHS_OK : SHS_UNSUPPORTED);
        assert_true(cl->in_use == 0);
        shs_cl_destroy(cl);
    }
}

/* A device without doubles gives right results for supported calls. For other calls it returns SHS_UNSUPPORTED, or the CPU
   computes them. */
static void test_without_doubles(void **state) {
    int turn = 0;
    plain_cube p = mixed_cube(SHORT_LINES, SHORT_SAMPLES, 8, SHORT_OUTPUTS, 0.1, 31);
    shs_pca_options precise = SHS_ZERO;
    int fallback, type;
    (void)state;
    precise.components = SHORT_OUTPUTS;
    precise.precise = SHS_PRECISION_ALWAYS;
    if (sizeof(shs_real) == 8) skip();
    for (fallback = 0; fallback < 2; fallback++) {
        shs_cl_options options = SHS_ZERO;
        shs_status refused = fallback ? SHS_OK : SHS_UNSUPPORTED;
        shs_context ctx = SHS_ZERO;
        shs_cl *cl;
        options.platform = getenv("SHS_CL_PLATFORM");
        options.fallback = fallback;
        options.single_only = 1;
        options.trust = shim_trust();
        assert_ok(shs_cl_create(NULL, &options, &cl));
        if (apart) cl->about.unified = 0;
        ctx.engine = shs_cl_engine(cl);
        for (type = 0; type < SHS_TYPE_COUNT; type++) {
            if (left_out(&turn, every(11))) continue;
            const int fits = type != SHS_TYPE_F64 && !is_short((shs_type)type);
            shs_cube cube = cube_of(&p, (shs_type)type, (shs_interleave)(type % 3), 0);
            shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS), b = a, c = a;
            shs_pca pca;
            b = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS);
            c = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS);
            assert_ok(run_pca(NULL, &cube, &a));
            assert_status(run_pca(&ctx, &cube, &b), fits ? SHS_OK : refused);
            if (fits || fallback) compare_sinks(&a, &b, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS, 1e-2);
            assert_status(run_pca(&ctx, &cube, &c), refused);
            if (fallback) compare_sinks(&a, &c, SHORT_LINES, SHORT_SAMPLES, SHORT_OUTPUTS, 1e-2);
            assert_status(shs_pca_fit(&ctx, &cube, &precise, &pca), refused);
            if (fallback) shs_pca_free(&ctx, &pca);
            assert_status(run_rx(&ctx, &cube, &b), refused);
            assert_status(run_mnf(&ctx, &cube, &b), refused);
            if (fits || fallback) check_sources_alone(&ctx, &cube);
            sink_free(&a);
            sink_free(&b);
            sink_free(&c);
            cube_free(&cube);
        }
        assert_true(cl->in_use == 0);
        shs_cl_destroy(cl);
    }
    free(p.x);
}

/* A device without doubles takes 32-bit integers whose low bits float does not hold, and tells the no-data value from its
   neighbours: errors are of the values' spread, not of the values. */
static void test_integers_without_doubles(void **state) {
    enum { WHOLE_LINES = 30, WHOLE_SAMPLES = 37, WHOLE_BANDS = 4, WHOLE = WHOLE_LINES * WHOLE_SAMPLES * WHOLE_BANDS };
    static const double bases[] = {1073741824, -1073741824, 3000000000.0, 16777216};
    static const shs_type types[] = {SHS_TYPE_I32, SHS_TYPE_I32, SHS_TYPE_U32, SHS_TYPE_I32};
    uint32_t *values = NEW(uint32_t, WHOLE);
    shs_cl_options options = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    static const shs_wide matrix[2 * WHOLE_BANDS] = {1, 0.5, -1, 0.25, 0.5, -2, 1, 1};
    shs_wide mean[2][WHOLE_BANDS], C[2][WHOLE_BANDS * WHOLE_BANDS], centre[WHOLE_BANDS];
    shs_pixel_map map = SHS_ZERO;
    shs_cl *cl;
    size_t t;
    int i, on, layout;
    (void)state;
    if (sizeof(shs_real) == 8) skip();
    options.platform = getenv("SHS_CL_PLATFORM");
    options.single_only = 1;
    assert_ok(shs_cl_create(NULL, &options, &cl));
    ctx.engine = shs_cl_engine(cl);
    map.bands = WHOLE_BANDS;
    map.outputs = 2;
    map.matrix = matrix;
    map.centre = centre;
    for (t = 0; t < sizeof bases / sizeof *bases; t++)
        for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++) {
            shs_cube cube = SHS_ZERO;
            shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, WHOLE_LINES, WHOLE_SAMPLES, 2), right = sink;
            right = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, WHOLE_LINES, WHOLE_SAMPLES, 2);
            for (i = 0; i < WHOLE; i++) values[i] = (uint32_t)(int64_t)(bases[t] + (double)(i * 7919 % 1009));
            for (i = 0; i < WHOLE_BANDS; i++) centre[i] = bases[t] + 500.25;
            cube.pixels = values;
            cube.type = types[t];
            cube.interleave = (shs_interleave)layout;
            cube.lines = WHOLE_LINES;
            cube.samples = WHOLE_SAMPLES;
            cube.bands = WHOLE_BANDS;
            cube.has_nodata = layout != 1;
            cube.nodata = bases[t] + (layout == 0 ? 1 : 0.5); /* no whole number: nothing is missing */
            for (on = 0; on < 2; on++) {
                shs_moments moments;
                assert_ok(shs_moments_create(NULL, WHOLE_BANDS, &moments));
                assert_ok(shs_moments_update(on ? &ctx : NULL, &cube, SHS_PRECISION_AUTO, &moments));
                assert_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, mean[on], C[on], WHOLE_BANDS));
                shs_moments_free(NULL, &moments);
            }
            for (i = 0; i < WHOLE_BANDS; i++) assert_close(mean[0][i], mean[1][i], 1e-2);
            for (i = 0; i < WHOLE_BANDS * WHOLE_BANDS; i++) assert_close(C[0][i], C[1][i], 20); /* of 85000 */
            assert_ok(shs_cube_map(NULL, &cube, &map, SHS_PRECISION_AUTO, &right));
            assert_ok(shs_cube_map(&ctx, &cube, &map, SHS_PRECISION_AUTO, &sink));
            compare_sinks(&right, &sink, WHOLE_LINES, WHOLE_SAMPLES, 2, 1e-2);
            sink_free(&sink);
            sink_free(&right);
        }
    shs_cl_destroy(cl);
    free(values);
}

/* Where device and host share the memory, neither pixels nor outputs are copied. */
static void test_nothing_is_copied(void **state) {
    plain_cube p = mixed_cube(60, 50, 12, 4, 0.1, 12);
    int interleave;
    (void)state;
    for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, (shs_interleave)interleave, 0);
        shs_sink sink = new_sink(SHS_TYPE_F32, (shs_interleave)((interleave + 1) % 3), 60, 50, 10);
        shs_pca_options o = SHS_ZERO;
        const size_t in = values_of(&p) * sizeof(float), out = 60 * 50 * 10 * sizeof(float);
        o.components = 10;
        shim.uploaded = shim.downloaded = 0;
        assert_ok_cl(shs_pca_run(&on_device, &cube, &o, &sink, NULL));
        if (device->about.unified) assert_true(shim.uploaded < in / 8 && shim.downloaded < out / 8);
        else assert_true(shim.uploaded >= in && shim.downloaded >= out);
        sink_free(&sink);
        cube_free(&cube);
    }
    free(p.x);
}

/* Values at odd addresses, and outputs over the pixels, are copied. */
static void test_what_cannot_be_shared(void **state) {
    plain_cube p = mixed_cube(20, 21, 6, 2, 0.1, 4);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0), odd = cube;
    shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 20, 21, 6), b = a;
    const size_t bytes = values_of(&p) * sizeof(float);
    unsigned char *moved = NEW(unsigned char, bytes + 1);
    shs_pca_options o = SHS_ZERO;
    (void)state;
    memcpy(moved + 1, cube.pixels, bytes);
    odd.pixels = moved + 1;
    check_moments(&on_device, &odd, 0, BY_TYPE(2e-6, 1e-12));
    assert_ok(shs_pca_run(NULL, &cube, &o, &a, NULL));
    b.pixels = (void *)(uintptr_t)cube.pixels;
    assert_ok_cl(shs_pca_run(&on_device, &cube, &o, &b, NULL));
    compare_sinks(&a, &b, 20, 21, 6, 5e-3);
    free(moved);
    sink_free(&a);
    cube_free(&cube);
    free(p.x);
}

static shs_moments moments_there(const shs_cube *cube) {
    shs_moments m;
    assert_ok(shs_moments_create(NULL, cube->bands, &m));
    assert_ok_cl(shs_moments_update(&on_device, cube, 0, &m));
    return m;
}

static void test_same_bits_again(void **state) {
    plain_cube p = mixed_cube(70, 61, 20, 4, 0.1, 12);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    shs_moments once = moments_there(&cube), again = moments_there(&cube);
    (void)state;
    assert_memory_equal(once.sum, again.sum, 20 * sizeof(double));
    assert_memory_equal(once.products, again.products, 400 * sizeof(double));
    shs_moments_free(NULL, &once), shs_moments_free(NULL, &again);
    cube_free(&cube);
    free(p.x);
}

static int stop_at_once(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    (void)user;
    (void)phase;
    (void)step;
    (void)steps;
    (void)error;
    return 1;
}

static void test_failures_of_streams(void **state) {
    plain_cube p = mixed_cube(20, 21, 6, 2, 0.1, 12);
    shs_cube memory = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0), cube;
    shs_sink into = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 20, 21, 2), sink;
    shs_pca_options o = SHS_ZERO;
    shs_context ctx = on_device;
    stream s;
    collector c;
    shs_pca pca;
    (void)state;
    o.components = 2;
    cube = streamed(&memory, 3, &s);
    s.fail_at = 2;
    assert_status(shs_pca_fit(&on_device, &cube, &o, &pca), SHS_READ_FAILED);
    cube = streamed(&memory, 3, &s);
    sink = collecting(&into, 20, 21, 2, &c);
    c.fail_at = 1;
    assert_status(shs_pca_run(&on_device, &cube, &o, &sink, NULL), SHS_WRITE_FAILED);
    ctx.progress_fn = stop_at_once;
    assert_status(shs_pca_fit(&ctx, &memory, &o, &pca), SHS_CANCELLED);
    assert_true(device->in_use == 0);
    sink_free(&into);
    cube_free(&memory);
    free(p.x);
}

/* ---- every call fails once ---------------------------------------------------------------------------------------- */

/* What is done with a device whose calls fail. */
typedef struct errand {
    const char *name;
    shs_status (*run)(const shs_context *ctx, const shs_cube *cube, const shs_sink *sink);
    shs_interleave interleave;
    int how, rescale, outputs;
} errand;

static const errand errands[] = {
    {"components of a cube in memory", run_pca, SHS_INTERLEAVE_BSQ, 0, 0, SHORT_OUTPUTS},
    {"components of a stream", run_pca, SHS_INTERLEAVE_BIP, STREAMED | SPOILT, 1, SHORT_OUTPUTS},
    {"sources by moments", run_ica, SHS_INTERLEAVE_BIL, MASKED, 0, SHORT_OUTPUTS},
    {"sources by sweeps", run_sweeps, SHS_INTERLEAVE_BIP, 0, 0, SHORT_OUTPUTS},
    {"anomalies", run_rx, SHS_INTERLEAVE_BSQ, LISTED, 1, 1},
    {"minimum noise fraction", run_mnf, SHS_INTERLEAVE_BIL, NODATA, 0, SHORT_OUTPUTS},
};
enum { ERRANDS = sizeof errands / sizeof *errands };

/* An errand with its cube, the sink of a working device, and the sink of the tested device. */
typedef struct outing {
    const errand *what;
    dressed d;
    unsigned char *before; /* the cube's bytes */
    shs_sink whole, into;
    collector c;
    faulty memory;
    shs_context ctx;
} outing;

static size_t outing_bytes(const outing *o) {
    const shs_cube *c = &o->d.memory;
    return (size_t)c->lines * (size_t)c->samples * (size_t)c->bands * shs_type_size(c->type);
}

static void outing_begin(outing *o, const errand *what) {
    plain_cube p = mixed_cube(SHORT_LINES, SHORT_SAMPLES, 8, SHORT_OUTPUTS, 0.1, 31);
    memset(o, 0, sizeof *o);
    o->what = what;
    dress(&o->d, &p, SHS_TYPE_F32, what->interleave, what->how);
    o->before = NEW(unsigned char, outing_bytes(o));
    memcpy(o->before, o->d.memory.pixels, outing_bytes(o));
    o->whole = new_sink(SHS_TYPE_F32, what->interleave, SHORT_LINES, SHORT_SAMPLES, what->outputs);
    o->into = new_sink(SHS_TYPE_F32, what->interleave, SHORT_LINES, SHORT_SAMPLES, what->outputs);
    o->whole.rescale = o->into.rescale = what->rescale;
    o->whole.high = o->into.high = 100;
    assert_ok(what->run(NULL, &o->d.cube, &o->whole));
    faulty_attach(&o->memory, -1, &o->ctx);
    free(p.x);
}

static shs_cl *outing_device(outing *o, int fallback, int single) {
    shs_cl_options options = SHS_ZERO;
    shs_cl *cl = NULL;
    options.platform = getenv("SHS_CL_PLATFORM");
    options.fallback = fallback;
    options.single_only = single;
    options.trust = shim_trust();
    options.staging = apart == 2 ? 4000 : 1;
    o->ctx.engine = NULL;
    assert_ok(shs_cl_create(&o->ctx, &options, &cl));
    if (apart) cl->about.unified = 0;
    o->ctx.engine = shs_cl_engine(cl);
    return cl;
}

static shs_status outing_run(outing *o) {
    shs_sink sink = o->into;
    if (o->what->how & STREAMED) {
        sink = collecting(&o->into, SHORT_LINES, SHORT_SAMPLES, o->what->outputs, &o->c);
        o->d.source.passes = o->d.source.next_line = 0;
    }
    return o->what->run(&o->ctx, &o->d.cube, &sink);
}

/* The outputs are those of the CPU. */
static void outing_check(const outing *o) {
    plain_cube x = sink_values(&o->whole, SHORT_LINES, SHORT_SAMPLES, o->what->outputs),
               y = sink_values(&o->into, SHORT_LINES, SHORT_SAMPLES, o->what->outputs);
    double most = 0;
    size_t i;
    for (i = 0; i < values_of(&x); i++)
        if (x.x[i] == x.x[i] && fabs(x.x[i]) > most) most = fabs(x.x[i]);
    check_near(o->what->name, values_of(&x), x.x, y.x, 2e-3 * most);
    free(x.x);
    free(y.x);
}

static void outing_end(outing *o) {
    assert_memory_equal(o->before, o->d.memory.pixels, outing_bytes(o));
    undress(&o->d);
    sink_free(&o->whole);
    sink_free(&o->into);
    free(o->before);
    assert_int_equal(o->memory.outstanding, 0);
}

/* Runs every kernel once on few pixels, for slow checkers of memory accesses; the other tests would take hours there. */
static void test_short_runs(void **state) {
    static const int bands[] = {5, 70};
    int i, was = device->bytes;
    (void)state;
    for (i = 0; i < ERRANDS; i++) {
        outing o;
        outing_begin(&o, errands + i);
        o.ctx = on_device;
        if (can_double() || errands[i].run == run_pca) {
            assert_ok_cl(outing_run(&o));
            outing_check(&o);
        }
        outing_end(&o);
    }
    device->bytes = SHS__CL_BYTES_PLAIN;
    device->test.plain_bytes = 1;
    for (i = 0; i < 2; i++) { /* the array of diagonals and tiles; whole numbers */
        plain_cube p = random_values(SHS_TYPE_I16, 7, 9, bands[i], 3), q = random_values(SHS_TYPE_U8, 7, 9, bands[i], 3);
        shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BSQ, 1),
                 bytes = cube_of(&q, SHS_TYPE_U8, (shs_interleave)(i + 1), 0);
        check_moments(&on_device, &cube, 0, BY_TYPE(2e-6, 1e-12));
        check_same_moments(&bytes);
        cube_free(&cube);
        cube_free(&bytes);
        free(p.x);
        free(q.x);
    }
    device->test.plain_bytes = 0;
    device->bytes = was;
}

/* All calls of a run whose programs are built: alone, or with all that follow. */
static void check_calls(const errand *what, int lost, int fallback, int single) {
    outing o;
    shs_cl *cl;
    long live, calls, k, tried = 0, refused = 0;
    int blocks;
    outing_begin(&o, what);
    shim_begin();
    cl = outing_device(&o, fallback, single);
    assert_ok(outing_run(&o));
    shs_cl_trim(cl);
    live = shim.live;
    blocks = o.memory.outstanding;
    shim.calls = 0;
    assert_ok(outing_run(&o));
    outing_check(&o);
    calls = shim.calls;
    for (k = (what - errands) % every(11); k < calls; k += every(11)) {
        shs_status status;
        shim.calls = 0;
        shim.failed = 0;
        shim.fail_at = k;
        shim.lost = lost;
        status = outing_run(&o);
        shim.fail_at = -1;
        shim.lost = 0;
        clFinish(cl->queue[0]); /* the driver is well, and writes to the sink */
        clFinish(cl->queue[1]);
        shs_cl_trim(cl);
        if (shim.live != live || o.memory.outstanding != blocks)
            fail_msg("%s: failure %ld (%s) of %ld: %ld objects and %d blocks are left", what->name, k, shim.first, calls,
                     shim.live - live, o.memory.outstanding - blocks);
        if (status == SHS_OK) outing_check(&o);
        else if (status != SHS_ENGINE_FAILED && status != SHS_NO_MEMORY)
            fail_msg("%s: failure %ld (%s): %s", what->name, k, shim.first, shs_status_name(status));
        refused += status != SHS_OK;
        assert_int_equal(cl->in_use, 0);
        tried++;
    }
    assert_true(refused > (single ? 0 : tried / 2));
    assert_ok(outing_run(&o));
    outing_check(&o);
    assert_true(cl->in_use == 0);
    shs_cl_destroy(cl);
    assert_int_equal(shim.live, 0);
    outing_end(&o);
}

/* However little memory the device has: the CPU does what does not fit, where it may, or the call says so. */
static void check_memory(const errand *what, int fallback) {
    size_t limit;
    int refused = 0;
    outing o;
    shs_cl *cl;
    outing_begin(&o, what);
    cl = outing_device(&o, fallback, 0);
    for (limit = 1000; limit < 4000000; limit *= 4) {
        shs_status status;
        cl->limit = limit;
        status = outing_run(&o);
        if (status == SHS_OK) outing_check(&o);
        else if (status != SHS_NO_MEMORY)
            fail_msg("%s: %lu bytes: %s (%s)", what->name, (unsigned long)limit, shs_status_name(status),
                     shs_cl_error_text(cl));
        refused += status != SHS_OK;
        assert_true(cl->in_use == 0);
        shs_cl_trim(cl);
        o.d.source.wrong = 0; /* a pass that the device has given up is begun again */
    }
    assert_true(fallback ? refused == 0 : refused > 0);
    shs_cl_destroy(cl);
    outing_end(&o);
}

static void test_too_little_memory(void **state) {
    int i, fallback;
    (void)state;
    for (i = 0; i < ERRANDS; i++)
        for (fallback = 0; fallback < 2; fallback++)
            if (can_double() || errands[i].run == run_pca) check_memory(errands + i, fallback);
}

static void with_the_shim(void (*check)(const errand *what, int lost, int fallback, int single), int lost) {
    cl_shim was = shim;
    int i;
    for (i = 0; i < ERRANDS; i++)
        if (can_double() || errands[i].run == run_pca) check(errands + i, lost, i & 1, 0);
    shim = was;
}

static void test_calls_fail(void **state) {
    (void)state;
    with_the_shim(check_calls, 0);
}

static void test_device_lost(void **state) {
    (void)state;
    with_the_shim(check_calls, 1);
}

/* With fallback, the CPU takes over the calls that a device without doubles refuses. Failures of OpenCL calls are tested
   there too. */
static void test_calls_fail_beside_the_cpu(void **state) {
    cl_shim was = shim;
    (void)state;
    if (sizeof(shs_real) == 4) check_calls(errands + 4, 0, 1, 1);
    shim = was;
}

/* A device object builds a program once, so each program gets an object of its own. */
static void check_builds(const errand *what, const char *name) {
    outing o;
    long calls, k;
    outing_begin(&o, what);
    shim_begin();
    shim.only = name;
    shs_cl_destroy(outing_device(&o, 0, 0));
    shim.calls = 0;
    {
        shs_cl *cl = outing_device(&o, 0, 0);
        assert_ok(outing_run(&o));
        shs_cl_destroy(cl);
    }
    calls = shim.calls;
    assert_true(calls > 2);
    for (k = (what - errands) % every(7); k < calls; k += every(7)) {
        shs_cl *cl = outing_device(&o, 0, 0);
        shs_status status;
        shim.calls = 0;
        shim.fail_at = k;
        status = outing_run(&o);
        shim.fail_at = -1;
        if (status == SHS_OK && cl->ways.ptx) outing_check(&o); /* a program without such instructions stood in */
        else assert_status(status, strcmp(name, "clBuildProgram") ? SHS_ENGINE_FAILED : SHS_BUILD_FAILED);
        assert_true(cl->in_use == 0);
        assert_ok(outing_run(&o));
        outing_check(&o);
        shs_cl_destroy(cl);
        assert_int_equal(shim.live, 0);
    }
    outing_end(&o);
}

static void test_builds_fail(void **state) {
    static const char *const names[] = {"clCreateProgramWithSource", "clBuildProgram", "clCreateKernel"};
    cl_shim was = shim;
    int i;
    (void)state;
    for (i = 0; i < 3; i++) check_builds(errands + i, names[i]);
    shim = was;
}

#define UNIT(test) cmocka_unit_test(test)

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT(test_moments),
        UNIT(test_moments_of_bytes_are_exact),
        UNIT(test_bytes_of_a_processor),
        UNIT(test_moments_of_far_planes),
        UNIT(test_moments_of_many_bands),
        UNIT(test_products_in_diagonals),
        UNIT(test_tiling_of_a_processor),
        UNIT(test_products_by_units),
        UNIT(test_noise_sums),
        UNIT(test_odd_strides),
        UNIT(test_values_of_16_bits),
        UNIT(test_maps),
        UNIT(test_pixels_of_an_item),
        UNIT(test_maps_by_units),
        UNIT(test_options_of_components),
        UNIT(test_ways_of_components),
        UNIT(test_options_of_sources),
        UNIT(test_ways_of_sources),
        UNIT(test_sweeps),
        UNIT(test_sweeps_in_parts),
        UNIT(test_without_and_groups),
        UNIT(test_without_doubles),
        UNIT(test_integers_without_doubles),
        UNIT(test_golden_cubes),
        UNIT(test_mnf_and_rx),
        UNIT(test_pca_run),
        UNIT(test_ica),
        UNIT(test_ica_of_golden_cube),
        UNIT(test_little_memory),
        UNIT(test_little_memory_of_every_type),
        UNIT(test_nothing_is_copied),
        UNIT(test_what_cannot_be_shared),
        UNIT(test_same_bits_again),
        UNIT(test_failures_of_streams),
        UNIT(test_short_runs),
        UNIT(test_too_little_memory),
        UNIT(test_calls_fail),
        UNIT(test_device_lost),
        UNIT(test_calls_fail_beside_the_cpu),
        UNIT(test_builds_fail),
    };
    const struct CMUnitTest tests_apart[] = {
        UNIT(test_moments),
        UNIT(test_moments_by_groups_of_bands),
        UNIT(test_moments_of_bytes_are_exact),
        UNIT(test_bytes_of_a_processor),
        UNIT(test_maps),
        UNIT(test_pixels_of_an_item),
        UNIT(test_mnf_and_rx),
        UNIT(test_pca_run),
        UNIT(test_ica),
        UNIT(test_short_runs),
        UNIT(test_without_doubles),
        UNIT(test_little_memory),
        UNIT(test_little_memory_of_every_type),
        UNIT(test_nothing_is_copied),
        UNIT(test_too_little_memory),
        UNIT(test_calls_fail),
        UNIT(test_device_lost),
    };
    const struct CMUnitTest tests_staged[] = {
        UNIT(test_moments_by_groups_of_bands),
        UNIT(test_maps),
        UNIT(test_pca_run),
        UNIT(test_little_memory),
        UNIT(test_calls_fail),
        UNIT(test_device_lost),
    };
    int failed;
    if (getenv("SHS_TEST")) cmocka_set_test_filter(getenv("SHS_TEST"));
    failed = cmocka_run_group_tests_name("as the device is", tests, open_shared, close_shared);
    apart = 1;
    failed += cmocka_run_group_tests_name("memory of its own", tests_apart, open_shared, close_shared);
    apart = 2;
    return failed +
           cmocka_run_group_tests_name("memory of its own, by way of staging", tests_staged, open_shared, close_shared);
}
