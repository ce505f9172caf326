/* test_cl_single.c - components and sources on a device where nothing is double, on the host neither (SPARSEHS_NO_DOUBLE). */
#ifndef SPARSEHS_DOUBLE
#ifndef SPARSEHS_NO_DOUBLE
#define SPARSEHS_NO_DOUBLE
#endif
#endif
#include "test.h"
#include "device/cl_shim.h"

enum { LINES = 60, SAMPLES = 50, BANDS = 9, COMPONENTS = 3, PIXELS = LINES * SAMPLES };

static shs_cl *device;
static shs_context on_device;
static float pixels[PIXELS * BANDS];

/* Three sources, the first uniform, the others peaked, and a little noise. */
static shs_cube draw_cube(void) {
    shs_cube cube = SHS_ZERO;
    shs_real spectra[COMPONENTS * BANDS];
    shs_random r;
    int i, b, k;
    shs_random_seed(&r, 3);
    for (i = 0; i < COMPONENTS * BANDS; i++) spectra[i] = (shs_real)shs_random_normal(&r);
    for (i = 0; i < PIXELS; i++) {
        float *x = pixels + i * BANDS;
        for (b = 0; b < BANDS; b++) x[b] = 20 + 0.01f * (float)shs_random_normal(&r);
        for (k = 0; k < COMPONENTS; k++) {
            const float y = 2 * (float)shs_random_uniform(&r) - 1;
            const float sources[] = {y, 3 * y * y * y, 6 * y * y * y * y * y}, s = sources[k];
            for (b = 0; b < BANDS; b++) x[b] += s * (float)spectra[k * BANDS + b];
        }
    }
    cube.pixels = pixels;
    cube.type = SHS_TYPE_F32;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.lines = LINES;
    cube.samples = SAMPLES;
    cube.bands = BANDS;
    return cube;
}

static int open_device(void **state) {
    shs_cl_options o = SHS_ZERO;
    (void)state;
    shim_begin();
    o.platform = getenv("SHS_CL_PLATFORM");
    o.single_only = 1;
    o.trust = shim_trust();
    if (shs_cl_create(NULL, &o, &device) != SHS_OK) {
        print_message("skipped: there is no OpenCL device\n");
        skip();
    }
    on_device.engine = shs_cl_engine(device);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    shs_cl_destroy(device);
    assert_int_equal(shim.live, 0);
    return 0;
}

static void test_components(void **state) {
    shs_cube cube = draw_cube();
    shs_pca_options o = SHS_ZERO;
    int i, precise;
    (void)state;
    for (precise = 0; precise < (sizeof(shs_wide) == 4 ? 2 : 1); precise++) {
        shs_pca a, b;
        o.components = COMPONENTS;
        o.precise = precision_of(precise);
        assert_ok(shs_pca_fit(NULL, &cube, &o, &a));
        assert_ok(shs_pca_fit(&on_device, &cube, &o, &b));
        for (i = 0; i < COMPONENTS; i++) assert_close(a.eigenvalues[i], b.eigenvalues[i], 1e-5 * (double)a.eigenvalues[i]);
        shs_pca_free(NULL, &a), shs_pca_free(NULL, &b);
    }
}

/* Signs and order are those of the CPU: the sources themselves agree. */
static void test_sources(void **state) {
    static float a[PIXELS * COMPONENTS], b[PIXELS * COMPONENTS];
    shs_cube cube = draw_cube();
    shs_ica_options o = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    int contrast, i, k;
    (void)state;
    o.components = COMPONENTS;
    sink.type = SHS_TYPE_F32;
    sink.interleave = SHS_INTERLEAVE_BIP;
    for (contrast = 0; contrast < 3; contrast++) {
        o.contrast = (shs_contrast)contrast;
        sink.pixels = a;
        assert_ok(shs_ica_run(NULL, &cube, &o, &sink, NULL));
        sink.pixels = b;
        assert_ok(shs_ica_run(&on_device, &cube, &o, &sink, NULL));
        for (k = 0; k < COMPONENTS; k++) {
            double ab = 0, aa = 0, bb = 0;
            for (i = k; i < PIXELS * COMPONENTS; i += COMPONENTS) {
                ab += (double)a[i] * (double)b[i];
                aa += (double)a[i] * (double)a[i];
                bb += (double)b[i] * (double)b[i];
            }
            assert_true(ab / sqrt(aa * bb) > 0.999);
        }
    }
}

/* Noise and anomalies want shs_wide: here that is what the device has, unless shs_wide is double. */
static void test_anomalies(void **state) {
    static float a[PIXELS], b[PIXELS];
    shs_cube cube = draw_cube();
    shs_pca_options o = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    int i;
    (void)state;
    o.components = COMPONENTS;
    sink.type = SHS_TYPE_F32;
    sink.pixels = a;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, NULL));
    sink.pixels = b;
    if (sizeof(shs_wide) == 8 && !device->has_double)
        assert_status(shs_rx(&on_device, &cube, &o, &sink, NULL), SHS_UNSUPPORTED);
    else {
        assert_ok(shs_rx(&on_device, &cube, &o, &sink, NULL));
        for (i = 0; i < PIXELS; i++) assert_close(a[i], b[i], 1e-3 * (1 + fabs((double)a[i])));
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_components), cmocka_unit_test(test_sources), cmocka_unit_test(test_anomalies),
    };
    return cmocka_run_group_tests_name("without double", tests, open_device, close_device);
}
