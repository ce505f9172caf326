/* test_models.c - models in files: every bit comes back, and what is damaged, cut short, newer or none is refused. */
#include "test_components.h"

#include "memory_file.h"

enum { BANDS = 7, KEPT = 3 };

/* The polynomial's own definition, a bit at a time. */
static uint32_t naive_crc(const unsigned char *bytes, size_t count) {
    uint32_t crc = 0xffffffffu;
    size_t i;
    int b;
    for (i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (b = 0; b < 8; b++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

static void put_u32(memory_file *f, size_t at, uint32_t value) {
    int b;
    for (b = 0; b < 4; b++) f->bytes[at + (size_t)b] = (unsigned char)(value >> 8 * b);
}

/* The check sums of what is there now. */
static void sign(memory_file *f) {
    put_u32(f, 60, naive_crc(f->bytes, 60));
    put_u32(f, f->size - 4, naive_crc(f->bytes + 64, f->size - 68));
}

static shs_cube scene(plain_cube *p) {
    size_t i;
    int b;
    shs_random r;
    shs_random_seed(&r, 5);
    *p = new_plain(20, 30, BANDS);
    for (i = 0; i < pixels_of(p); i++)
        for (b = 0; b < BANDS; b++)
            pixel_of(p, i)[b] = 50 + 10 * sin(0.1 * (double)i * (b + 1)) + 5 * pow((double)shs_random_normal(&r), 3);
    return cube_of(p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
}

/* A model of a scene; free_fit frees it. */
static shs_model fit(shs_model_kind kind, int wavelengths) {
    static shs_wide of_bands[BANDS] = {400, 450.5, 500, 600, 700, 800, 2500.25};
    plain_cube p;
    shs_cube cube = scene(&p);
    shs_model m = SHS_ZERO;
    shs_pca_options pca = SHS_ZERO;
    shs_ica_options ica = SHS_ZERO;
    pca.components = ica.components = KEPT;
    pca.correlation = wavelengths;
    ica.contrast = wavelengths ? SHS_CONTRAST_TANH : SHS_CONTRAST_POW3;
    m.kind = kind;
    if (kind == SHS_MODEL_PCA) assert_ok(shs_pca_fit(NULL, &cube, &pca, &m.pca));
    if (kind == SHS_MODEL_MNF) assert_ok(shs_mnf_fit(NULL, &cube, &pca, &m.pca));
    if (kind == SHS_MODEL_ICA) assert_ok(shs_ica_fit(NULL, &cube, &ica, &m.ica));
    if (kind == SHS_MODEL_RX) assert_ok(shs_rx_fit(NULL, &cube, &pca, &m.pca));
    if (wavelengths) m.wavelengths = of_bands;
    free(p.x);
    cube_free(&cube);
    return m;
}

static void free_fit(shs_model *m) {
    shs_pca_free(NULL, &m->pca);
    shs_ica_free(NULL, &m->ica);
}

static memory_file *saved(const shs_model *m) {
    memory_file *f = NEW(memory_file, 1);
    assert_ok(shs_model_save(m, write_bytes, f));
    rewind_file(f, 0);
    return f;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_every_bit_comes_back(void **state) {
    int kind, wavelengths;
    (void)state;
    for (kind = 0; kind < 4; kind++)
        for (wavelengths = 0; wavelengths < 2; wavelengths++) {
            shs_model m = fit((shs_model_kind)kind, wavelengths), got;
            memory_file *f = saved(&m), *again;
            size_t n = BANDS, k = KEPT, e = kind == SHS_MODEL_ICA ? k : (size_t)m.pca.eigenvalue_count;
            size_t pca = 2 * n + e + 2 * n * k, ica = n + k + 3 * n * k + k * k + 7 * k;
            size_t values = (kind == SHS_MODEL_ICA ? ica : pca) + (kind == SHS_MODEL_MNF ? n * n : 0) + (wavelengths ? n : 0);
            assert_int_equal(f->size, 68 + 8 * values);
            assert_ok(shs_model_load(NULL, read_bytes, f, &got));
            assert_int_equal(f->at, f->size);
            assert_int_equal(got.kind, kind);
            assert_true(kind == SHS_MODEL_ICA ? same_ica(&m.ica, &got.ica) : same_pca(&m.pca, &got.pca));
            assert_true(kind == SHS_MODEL_ICA ? m.ica.precise == got.ica.precise && m.ica.count == got.ica.count
                                              : m.pca.precise == got.pca.precise);
            assert_int_equal(got.wavelengths != NULL, wavelengths);
            assert_int_equal(f->bytes[8], kind == SHS_MODEL_MNF || kind == SHS_MODEL_RX ? 2 : 1);
            assert_int_equal(got.pca.noise != NULL, kind == SHS_MODEL_MNF);
            if (got.pca.noise) assert_memory_equal(got.pca.noise, m.pca.noise, n * n * sizeof(shs_wide));
            if (wavelengths) assert_memory_equal(got.wavelengths, m.wavelengths, n * sizeof(shs_wide));
            again = saved(&got);
            assert_int_equal(again->size, f->size);
            assert_memory_equal(again->bytes, f->bytes, f->size);
            shs_model_free(NULL, &got);
            shs_model_free(NULL, &got);
            free_fit(&m);
            free(f);
            free(again);
        }
}

static shs_status transform_by(const shs_model *m, int kind, const shs_cube *cube, const shs_sink *sink) {
    if (kind == SHS_MODEL_ICA) return shs_ica_transform(NULL, &m->ica, cube, sink);
    if (kind == SHS_MODEL_RX) return shs_rx_transform(NULL, &m->pca, cube, sink);
    return shs_pca_transform(NULL, &m->pca, cube, sink);
}

/* What a loaded model makes of a cube is what the fitted one makes of it. */
static void test_a_loaded_model_transforms(void **state) {
    int kind;
    (void)state;
    for (kind = 0; kind < 4; kind++) {
        shs_model m = fit((shs_model_kind)kind, 0), got;
        memory_file *f = saved(&m);
        plain_cube p;
        shs_cube cube = scene(&p);
        size_t count = pixels_of(&p);
        float *a = NEW(float, count *KEPT), *b = NEW(float, count *KEPT);
        shs_sink sink = SHS_ZERO;
        assert_ok(shs_model_load(NULL, read_bytes, f, &got));
        sink.type = SHS_TYPE_F32;
        sink.pixels = a;
        assert_ok(transform_by(&m, kind, &cube, &sink));
        sink.pixels = b;
        assert_ok(transform_by(&got, kind, &cube, &sink));
        assert_memory_equal(a, b, count * KEPT * sizeof *a);
        shs_model_free(NULL, &got);
        free_fit(&m);
        free(f);
        free(p.x);
        cube_free(&cube);
        free(a);
        free(b);
    }
}

/* Written by Python's struct and zlib: one band of wavelength 550, mean 2.5, variance 4, 30 pixels. */
static const unsigned char by_hand[] = {
    0x53, 0x48, 0x53, 0x6d, 0x6f, 0x64, 0x65, 0x6c, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3e, 0x40,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x71, 0x4a, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xf0, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x81, 0x40, 0xe2, 0x1e, 0x78, 0xe0};

static void test_the_bytes_are_those_of_the_manual(void **state) {
    memory_file *f = NEW(memory_file, 1), *again;
    shs_model m;
    (void)state;
    memcpy(f->bytes, by_hand, sizeof by_hand);
    f->size = sizeof by_hand;
    rewind_file(f, 0);
    assert_ok(shs_model_load(NULL, read_bytes, f, &m));
    assert_int_equal(m.kind, SHS_MODEL_PCA);
    assert_int_equal(m.pca.bands, 1);
    assert_int_equal(m.pca.precise, SHS_PRECISION_ALWAYS);
    assert_true(m.pca.count == 30 && m.pca.total_variance == 4 && m.pca.mean[0] == (shs_wide)2.5 && m.pca.eigenvalues[0] == 4);
    assert_true(m.pca.scale[0] == 1 && m.pca.forward[0] == 1 && m.pca.backward[0] == 1 && m.wavelengths[0] == 550);
    again = saved(&m);
    assert_int_equal(again->size, sizeof by_hand);
    assert_memory_equal(again->bytes, by_hand, sizeof by_hand);
    shs_model_free(NULL, &m);
    free(f);
    free(again);
}

static void test_damage_is_noticed(void **state) {
    int kind;
    (void)state;
    for (kind = 0; kind < 4; kind++) {
        shs_model m = fit((shs_model_kind)kind, 1), got, untouched;
        memory_file *f = saved(&m);
        size_t i, size = f->size;
        memset(&got, 0x5a, sizeof got);
        memcpy(&untouched, &got, sizeof got);
        for (i = 0; i < size; i++) {
            shs_status expected = i < 8 ? SHS_FOREIGN_MODEL : SHS_DAMAGED_MODEL;
            f->bytes[i] ^= (unsigned char)(1 << i % 8);
            if (i >= 8 && i < 12)
                expected = f->bytes[8] || f->bytes[9] || f->bytes[10] || f->bytes[11] ? SHS_NEWER_MODEL : expected;
            rewind_file(f, 0);
            assert_status(shs_model_load(NULL, read_bytes, f, &got), expected);
            f->bytes[i] ^= (unsigned char)(1 << i % 8);
        }
        for (i = 0; i < size; i++) { /* cut short */
            f->size = i;
            rewind_file(f, 0);
            assert_status(shs_model_load(NULL, read_bytes, f, &got), SHS_READ_FAILED);
        }
        assert_memory_equal(&got, &untouched, sizeof got);
        free_fit(&m);
        free(f);
    }
}

/* Numbers that no model has, under right check sums. */
static void test_impossible_models(void **state) {
    static const struct {
        shs_model_kind kind;
        size_t at;
        uint32_t value;
        shs_status status;
    } cases[] = {
        {SHS_MODEL_PCA, 8, 3, SHS_NEWER_MODEL},
        {SHS_MODEL_PCA, 8, 2, SHS_DAMAGED_MODEL}, /* only noise makes a second version */
        {SHS_MODEL_MNF, 8, 1, SHS_DAMAGED_MODEL},
        {SHS_MODEL_RX, 8, 1, SHS_DAMAGED_MODEL},
        {SHS_MODEL_RX, 12, 4, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 8, 0, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 12, 3, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 16, 0, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 16, KEPT - 1, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 16, 0x80000007u, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 20, 0, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 20, 0xffffffffu, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 24, KEPT - 1, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 24, BANDS + 1, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 28, 2, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 28, 8, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 28, 0x300, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 28, 0x10000, SHS_DAMAGED_MODEL},
        {SHS_MODEL_PCA, 36, 0x7ff00000u, SHS_DAMAGED_MODEL},             /* infinitely many pixels */
        {SHS_MODEL_PCA, 44, 0x7ff80000u, SHS_DAMAGED_MODEL},             /* NaN for the total variance */
        {SHS_MODEL_PCA, 68, 0x7ff80000u, SHS_DAMAGED_MODEL},             /* and for a mean */
        {SHS_MODEL_PCA, 68 + 8 * BANDS, 0xbff00000u, SHS_DAMAGED_MODEL}, /* a scale below 0 */
        {SHS_MODEL_ICA, 24, KEPT + 1, SHS_DAMAGED_MODEL},
        {SHS_MODEL_ICA, 64 + 8 * (BANDS + KEPT + 3 * BANDS * KEPT + KEPT * KEPT) + 4, 0xbff00000u, SHS_DAMAGED_MODEL},
        {SHS_MODEL_ICA, 64 + 8 * (BANDS + KEPT + 3 * BANDS * KEPT + KEPT * KEPT) + 4, 0x43f00000u, SHS_DAMAGED_MODEL},
    };
    size_t i;
    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        shs_model m = fit(cases[i].kind, 0), got;
        memory_file *f = saved(&m);
        put_u32(f, cases[i].at, cases[i].value);
        sign(f);
        assert_status(shs_model_load(NULL, read_bytes, f, &got), cases[i].status);
        free_fit(&m);
        free(f);
    }
}

static void test_failing_callbacks_and_memory(void **state) {
    int kind, at, reads, writes;
    (void)state;
    for (kind = 0; kind < 4; kind++) {
        shs_model m = fit((shs_model_kind)kind, 1), got;
        memory_file *f = saved(&m);
        shs_context ctx = SHS_ZERO;
        faulty allocations;
        assert_ok(shs_model_load(NULL, read_bytes, f, &got));
        reads = f->calls;
        shs_model_free(NULL, &got);
        for (at = 1; at <= reads; at++) {
            rewind_file(f, at);
            assert_status(shs_model_load(NULL, read_bytes, f, &got), SHS_READ_FAILED);
        }
        f->size = 0;
        rewind_file(f, 0);
        assert_ok(shs_model_save(&m, write_bytes, f));
        writes = f->calls;
        assert_true(reads > 2 && writes > 2);
        for (at = 1; at <= writes; at++) {
            f->size = 0;
            rewind_file(f, at);
            assert_status(shs_model_save(&m, write_bytes, f), SHS_WRITE_FAILED);
            f->size = 0;
            rewind_file(f, 0);
            assert_ok(shs_model_save(&m, write_bytes, f));
        }
        rewind_file(f, 0);
        faulty_attach(&allocations, 0, &ctx);
        assert_status(shs_model_load(&ctx, read_bytes, f, &got), SHS_NO_MEMORY);
        free_fit(&m);
        free(f);
    }
}

/* In an arena the model alone takes room: vectors, forward, backward, and a matrix's size to spare. */
static void check_arena(large_file *f, const shs_wide *values, size_t cells) {
    const size_t size = 4 * cells * sizeof *values + ((size_t)1 << 16);
    void *memory = malloc(size);
    shs_arena arena;
    shs_context ctx = SHS_ZERO;
    shs_model got = SHS_ZERO;
    shs_arena_init(&arena, memory, size);
    shs_arena_attach(&arena, &ctx);
    f->at = 0;
    assert_ok(shs_model_load(&ctx, read_large, f, &got));
    assert_memory_equal(got.pca.vectors, values, sizeof *values * cells);
    shs_model_free(&ctx, &got);
    assert_int_equal(arena.used, 0);
    free(memory);
}

/* A head that says a model is large takes no memory for what is not there; a large model comes back as it was. */
static void test_large_models(void **state) {
    enum { N = 260 };
    int kind;
    (void)state;
    for (kind = 0; kind < 4; kind++) {
        shs_model m = fit((shs_model_kind)kind, 1), got;
        memory_file *f = saved(&m);
        shs_context ctx = SHS_ZERO;
        size_t most = 0;
        ctx.alloc_fn = alloc_watched;
        ctx.free_fn = free_watched;
        ctx.alloc_user = &most;
        put_u32(f, 16, 50000);
        put_u32(f, 20, 50000);
        put_u32(f, 24, 50000);
        sign(f);
        assert_status(shs_model_load(&ctx, read_bytes, f, &got), SHS_READ_FAILED);
        assert_true(most <= (size_t)1 << 21);
        free_fit(&m);
        free(f);
    }
    for (kind = 0; kind < 2; kind++) {
        shs_wide *values = (shs_wide *)malloc(sizeof *values * N * N);
        large_file f = {NULL, 0, 0};
        shs_model m = SHS_ZERO, got = SHS_ZERO;
        int i;
        for (i = 0; i < N * N; i++) values[i] = (shs_wide)(i % 1000 + 1);
        m.kind = SHS_MODEL_PCA;
        m.pca.bands = m.pca.components = m.pca.eigenvalue_count = N;
        m.pca.mean = m.pca.scale = m.pca.eigenvalues = m.pca.vectors = m.pca.backward = m.pca.forward = values;
        assert_ok(shs_model_save(&m, write_large, &f));
        if (kind) f.bytes[f.size / 2] ^= 1; /* damaged */
        assert_status(shs_model_load(NULL, read_large, &f, &got), kind ? SHS_DAMAGED_MODEL : SHS_OK);
        if (!kind) {
            assert_memory_equal(got.pca.vectors, values, sizeof *values * N * N);
            assert_memory_equal(got.pca.backward, values, sizeof *values * N * N);
            assert_int_equal(f.at, f.size);
            shs_model_free(NULL, &got);
            check_arena(&f, values, (size_t)N * N);
            f.size--;
            f.at = 0;
            assert_status(shs_model_load(NULL, read_large, &f, &got), SHS_READ_FAILED);
        }
        free(values);
        free(f.bytes);
    }
}

static void test_models_that_are_not_saved(void **state) {
    shs_model m = SHS_ZERO, got = SHS_ZERO;
    memory_file *f = NEW(memory_file, 1);
    shs_wide kept;
    (void)state;
    assert_status(shs_model_save(NULL, write_bytes, f), SHS_BAD_MODEL);
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    m = fit(SHS_MODEL_PCA, 0);
    assert_status(shs_model_save(&m, NULL, f), SHS_BAD_MODEL);
    assert_status(shs_model_load(NULL, NULL, f, &got), SHS_BAD_MODEL);
    assert_status(shs_model_load(NULL, read_bytes, f, NULL), SHS_BAD_MODEL);
    m.kind = SHS_MODEL_ICA;
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    m.kind = (shs_model_kind)4;
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    m.kind = SHS_MODEL_PCA;
    kept = m.pca.vectors[4];
    m.pca.vectors[4] = (shs_wide)NAN;
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    m.pca.vectors[4] = kept;
    m.pca.eigenvalue_count = KEPT - 1;
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    m.pca.eigenvalue_count = KEPT;
    kept = m.pca.scale[1];
    m.pca.scale[1] = 0; /* what loading would refuse */
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    m.pca.scale[1] = kept;
    kept = m.pca.total_variance;
    m.pca.total_variance = (shs_wide)NAN;
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    m.pca.total_variance = kept;
    m.pca.precise = (shs_precision)3;
    assert_status(shs_model_save(&m, write_bytes, f), SHS_BAD_MODEL);
    assert_int_equal(f->size, 0);
    assert_int_equal(f->calls, 0);
    shs_model_free(NULL, NULL);
    free_fit(&m);
    free(f);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bit_comes_back),
        cmocka_unit_test(test_a_loaded_model_transforms),
        cmocka_unit_test(test_the_bytes_are_those_of_the_manual),
        cmocka_unit_test(test_damage_is_noticed),
        cmocka_unit_test(test_impossible_models),
        cmocka_unit_test(test_failing_callbacks_and_memory),
        cmocka_unit_test(test_large_models),
        cmocka_unit_test(test_models_that_are_not_saved),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
