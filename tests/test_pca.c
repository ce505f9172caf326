/* test_pca.c - principal components, minimum noise fraction and anomaly scores, against other systems and naive twins. */
#include "test_components.h"

/* ---- naive twins ------------------------------------------------------------------------------------------------- */

/* Half the covariance of the differences of neighbours in a line, both of them valid. */
static double *naive_noise(const plain_cube *p, const unsigned char *valid) {
    size_t B = (size_t)p->bands, i, b, count = 0;
    plain_cube d = new_plain(p->lines, p->samples, p->bands);
    unsigned char *pairs = NEW(unsigned char, pixels_of(p));
    double *mean = NEW(double, B), *noise = NEW(double, B * B);
    for (i = 0; i + 1 < pixels_of(p); i++) {
        if ((i + 1) % (size_t)p->samples == 0 || (valid && (!valid[i] || !valid[i + 1]))) continue;
        pairs[i] = 1;
        for (b = 0; b < B; b++) pixel_of(&d, i)[b] = pixel_of(p, i + 1)[b] - pixel_of(p, i)[b];
    }
    count = naive_moments(&d, pairs, mean, noise);
    assert_true(count > 0);
    for (b = 0; b < B * B; b++) noise[b] /= 2;
    free(d.x);
    free(pairs);
    free(mean);
    return noise;
}

/* The eigenvalues of N^-1 C, N = L L': those of L^-1 C L^-T. */
static void naive_mnf_values(int n, const double *C, const double *N, double *values) {
    double *L = NEW(double, n * n), *W = NEW(double, n * n), *V = NEW(double, n * n);
    int i, j, k, pass;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) {
            double sum = N[j * n + i];
            for (k = 0; k < j; k++) sum -= L[k * n + i] * L[k * n + j];
            L[j * n + i] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    memcpy(W, C, (size_t)(n * n) * sizeof *W);
    for (pass = 0; pass < 2; pass++) { /* W <- (L^-1 W)' twice */
        for (j = 0; j < n; j++)
            for (i = 0; i < n; i++) {
                for (k = 0; k < i; k++) W[j * n + i] -= L[k * n + i] * W[j * n + k];
                W[j * n + i] /= L[i * n + i];
            }
        for (j = 0; j < n; j++)
            for (i = 0; i < j; i++) {
                double t = W[j * n + i];
                W[j * n + i] = W[i * n + j];
                W[i * n + j] = t;
            }
    }
    shs_eigh_naive(n, W, values, V);
    free(L);
    free(W);
    free(V);
}

/* Smooth sources, so that neighbours are alike, and noise of a different strength in every band. */
static plain_cube smooth_cube(int lines, int samples, int bands, int rank, uint64_t seed) {
    plain_cube p = new_plain(lines, samples, bands);
    double *spectra = NEW(double, rank * bands);
    shs_random r;
    size_t i;
    int k, b;
    shs_random_seed(&r, seed);
    for (k = 0; k < rank * bands; k++) spectra[k] = 10 * (double)shs_random_normal(&r);
    for (i = 0; i < pixels_of(&p); i++) {
        double l = (double)(i / (size_t)samples), s = (double)(i % (size_t)samples), *x = pixel_of(&p, i);
        for (b = 0; b < bands; b++) x[b] = 200 + 7 * b + 0.2 * (1 + b % 5) * (double)shs_random_normal(&r);
        for (k = 0; k < rank; k++)
            for (b = 0; b < bands; b++)
                x[b] += sin(0.05 * (k + 1) * s + 0.3 * k) * cos(0.07 * (k + 2) * l) * spectra[k * bands + b];
    }
    free(spectra);
    return p;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static shs_cube cube_f64(const plain_cube *p) { return cube_of(p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0); }

static void check_signs(int n, int k, const double *vectors) {
    int i, j;
    for (j = 0; j < k; j++) {
        const double *v = vectors + j * n;
        double most = largest_of((size_t)n, v);
        for (i = 0; i < n && fabs(v[i]) < most; i++) {}
        assert_true(i < n && v[i] > 0);
    }
}

/* All that must hold of components of the matrix C (naive covariance or correlation of p). */
static void check_components(const shs_pca *pca, const plain_cube *p, const double *mean, const double *C, double bound) {
    int B = p->bands, K = pca->components, i, j;
    double trace = 0, *CV, *VV;
    assert_int_equal(pca->bands, B);
    assert_true(pca->eigenvalue_count >= K);
    for (i = 0; i < B; i++) trace += C[i * B + i];
    check_near("mean", (size_t)B, pca->mean, mean, bound * largest_of(values_of(p), p->x));
    assert_close(pca->total_variance, trace, bound * trace);
    CV = naive_product(0, B, K, B, C, pca->vectors);
    VV = naive_product(1, K, K, B, pca->vectors, pca->vectors);
    for (j = 0; j < K; j++) {
        for (i = 0; i < B; i++) assert_close(CV[j * B + i], pca->eigenvalues[j] * pca->vectors[j * B + i], bound * trace);
        for (i = 0; i < K; i++) assert_close(VV[j * K + i], i == j, 1e-12);
        if (j) assert_true(pca->eigenvalues[j] <= pca->eigenvalues[j - 1]);
        for (i = 0; i < B; i++) {
            assert_close(pca->forward[i * K + j], pca->vectors[j * B + i] / pca->scale[i], 1e-12 / pca->scale[i]);
            assert_close(pca->backward[j * B + i], pca->vectors[j * B + i] * pca->scale[i], 1e-12 * pca->scale[i]);
        }
    }
    check_signs(B, K, pca->vectors);
    free(CV);
    free(VV);
}

static shs_pca fit(const shs_context *ctx, const shs_cube *cube, const shs_pca_options *o) {
    shs_pca pca;
    assert_ok(shs_pca_fit(ctx, cube, o, &pca));
    return pca;
}

static shs_pca_options options_of(int components, int correlation, int sample, int precise) {
    shs_pca_options o = SHS_ZERO;
    o.components = components;
    o.correlation = correlation;
    o.divisor = (shs_divisor)sample;
    o.precise = precision_of(precise);
    return o;
}

/* ---- numpy's numbers --------------------------------------------------------------------------------------------- */

/* A precise float build has to do as well as a double one. */
static void check_golden(int which) {
    static const struct { int components, precise; } runs[] = {{0, 0}, {10, 0}, {0, 1}};
    const char *name = golden(which)->name;
    shs_cube cube = load_golden(which);
    int B = cube.bands, run, i, k;
    double *mean = read_golden("pca_%s_mean.csv", name, (size_t)B),
           *values = read_golden("pca_%s_eigenvalues.csv", name, (size_t)B);
    double *vectors = read_golden("pca_%s_vectors10.csv", name, (size_t)B * 10);
    for (run = 0; run < 3; run++) {
        shs_pca_options o = options_of(runs[run].components, 0, 0, runs[run].precise);
        shs_pca pca = fit(NULL, &cube, &o);
        double worst_value = 0, worst_each = 0, worst_vector = 0;
        assert_int_equal(pca.components, o.components ? o.components : B);
        assert_true(pca.count == (shs_wide)cube.lines * cube.samples);
        for (i = 0; i < B; i++)
            assert_close(pca.mean[i], mean[i],
                         (o.precise == SHS_PRECISION_ALWAYS ? 1e-12 : BY_TYPE(1e-6, 1e-12)) * fabs(mean[i]));
        for (k = 0; k < pca.eigenvalue_count; k++) {
            double d = fabs(pca.eigenvalues[k] - values[k]);
            worst_value = fmax(worst_value, d / values[0]);
            if (k < 10) worst_each = fmax(worst_each, d / values[k]);
        }
        for (k = 0; k < 10; k++) {
            double plus = 0, minus = 0;
            for (i = 0; i < B; i++) {
                plus = fmax(plus, fabs(pca.vectors[k * B + i] - vectors[i * 10 + k]));
                minus = fmax(minus, fabs(pca.vectors[k * B + i] + vectors[i * 10 + k]));
            }
            worst_vector = fmax(worst_vector, fmin(plus, minus));
        }
        print_message("%s, %d components, precise %d: eigenvalues %.2g of the first, %.2g of itself, vectors %.2g\n", name,
                      pca.components, runs[run].precise, worst_value, worst_each, worst_vector);
        assert_true(worst_value <= (o.precise == SHS_PRECISION_ALWAYS ? 1e-12 : BY_TYPE(1e-7, 1e-12)));
        /* A device sums 1024 products in float, where the tenth eigenvalue is 4e-5 of the first. */
        assert_true(worst_each <= (o.precise == SHS_PRECISION_ALWAYS ? 1e-4 : BY_TYPE(BY_ENGINE(1e-4, 1e-3), 1e-4)));
        assert_true(worst_vector <= (o.precise == SHS_PRECISION_ALWAYS ? 1e-9 : BY_TYPE(1e-3, 1e-9)));
        shs_pca_free(NULL, &pca);
    }
    free(mean);
    free(values);
    free(vectors);
    cube_free(&cube);
}

static void test_golden_sandiego(void **state) {
    (void)state;
    check_golden(SANDIEGO);
}
static void test_golden_beach(void **state) {
    (void)state;
    check_golden(BEACH);
}
static void test_golden_jasper(void **state) {
    (void)state;
    check_golden(JASPER);
}
static void test_golden_airport(void **state) {
    (void)state;
    check_golden(AIRPORT);
}

/* Reflectances and raw counts as they come in other types. */
static plain_cube foreign(const shs_cube *cube, shs_type type) {
    plain_cube p = plain_of(cube);
    size_t i;
    for (i = 0; i < values_of(&p); i++) {
        if (type == SHS_TYPE_F32) p.x[i] = (double)(float)(p.x[i] * 1e-4);
        else if (type == SHS_TYPE_F64) p.x[i] = p.x[i] * 0.1 + 1e4;
        else p.x[i] = p.x[i] * 1000 + 7;
    }
    return p;
}

/* Compares an output with the reference: to 1e-6 standard deviations, and as bytes rescaled by GRASS's rule. */
static void check_component(size_t n, const double *y, const unsigned char *bytes, const double *reference, double deviation) {
    double low = reference[0], high = reference[0], with = 0, worst = 0;
    size_t i, wrong = 0;
    for (i = 0; i < n; i++) {
        with += y[i] * reference[i];
        low = fmin(low, reference[i]);
        high = fmax(high, reference[i]);
    }
    assert_true(with > 0); /* the sign is fixed */
    for (i = 0; i < n; i++) {
        worst = fmax(worst, fabs(y[i] - reference[i]) / deviation);
        wrong += bytes[i] != (unsigned char)(255 * (reference[i] - low) / (high - low) + 0.5);
    }
    if (worst > 1e-6 || wrong) fail_msg("off by %.2g standard deviations, %d bytes are others", worst, (int)wrong);
}

/* What the defaults give in any type and order, against double throughout: of every component that double itself knows to
   1e-7 standard deviations, where rounding of the covariance by 1e-15 of the first eigenvalue turns its vector. */
static void check_defaults(int which, shs_type type, shs_interleave interleave) {
    shs_cube given = load_golden(which), cube;
    plain_cube p = type == given.type ? plain_of(&given) : foreign(&given, type);
    int B = p.bands, k, known = 0;
    size_t n = pixels_of(&p);
    double *mean = NEW(double, B), *C = NEW(double, B * B), *values = NEW(double, B), *V = NEW(double, B * B);
    double *forward = NEW(double, B), *Y = NEW(double, n);
    shs_sink exact = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, p.lines, p.samples, B),
             bytes = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BSQ, p.lines, p.samples, B);
    cube = cube_of(&p, type, interleave, 0);
    naive_moments(&p, NULL, mean, C);
    assert_ok(shs_eigh(NULL, B, C, B, B, values, V, B));
    bytes.rescale = 1;
    bytes.high = 255;
    assert_ok(shs_pca_run(NULL, &cube, NULL, &exact, NULL));
    assert_ok(shs_pca_run(NULL, &cube, NULL, &bytes, NULL));
    for (k = 0; k < B; k++) {
        double gap = fmin(k ? values[k - 1] - values[k] : values[0], k + 1 < B ? values[k] - values[k + 1] : values[0]);
        if (!(values[k] > 0) || 1e-15 * values[0] / gap * sqrt(values[0] / values[k]) > 1e-7) continue;
        memcpy(forward, V + k * B, (size_t)B * sizeof *V);
        naive_map(&p, 1, forward, mean, NULL, Y);
        check_component(n, (const double *)exact.pixels + (size_t)k * n, (const unsigned char *)bytes.pixels + (size_t)k * n, Y,
                        sqrt(values[k]));
        known++;
    }
    print_message("%s as type %d: %d of %d components as in double\n", golden(which)->name, (int)type, known, B);
    assert_true(known >= 12);
    free(mean);
    free(C);
    free(values);
    free(V);
    free(forward);
    free(Y);
    free(p.x);
    sink_free(&exact);
    sink_free(&bytes);
    cube_free(&cube);
    cube_free(&given);
}

static void test_defaults_are_those_of_double(void **state) {
    static const struct {
        int which;
        shs_type type;
        shs_interleave interleave;
    } cases[] = {
        {JASPER, SHS_TYPE_U16, SHS_INTERLEAVE_BIL},   {BEACH, SHS_TYPE_I16, SHS_INTERLEAVE_BSQ},
        {SANDIEGO, SHS_TYPE_I16, SHS_INTERLEAVE_BIP}, {AIRPORT, SHS_TYPE_U16, SHS_INTERLEAVE_BIP},
        {SANDIEGO, SHS_TYPE_F64, SHS_INTERLEAVE_BIP}, {BEACH, SHS_TYPE_F32, SHS_INTERLEAVE_BIL},
        {AIRPORT, SHS_TYPE_F32, SHS_INTERLEAVE_BIP},  {JASPER, SHS_TYPE_I32, SHS_INTERLEAVE_BSQ},
    };
    int k;
    (void)state;
    for (k = 0; k < 8; k += every(6)) check_defaults(cases[k].which, cases[k].type, cases[k].interleave);
}

/* GRASS fixes no sign: a plane or its negative, byte for byte. */
static void check_grass(const shs_cube *cube, shs_interleave interleave) {
    shs_pca_options o = options_of(4, 0, 0, 1);
    shs_pca pca = fit(NULL, cube, &o);
    shs_sink sink = new_sink(SHS_TYPE_U8, interleave, 100, 100, 4);
    plain_cube out;
    int k;
    size_t i;
    sink.rescale = 1;
    sink.low = 0;
    sink.high = 255;
    assert_ok(shs_pca_transform(NULL, &pca, cube, &sink));
    out = sink_values(&sink, 100, 100, 4);
    for (k = 0; k < 4; k++) {
        char file[64];
        unsigned char *plane;
        int straight = 0, negative = 0;
        snprintf(file, sizeof file, "grass_airport_pc%d_100x100.u8", k + 1);
        plane = read_bytes_or_skip(golden_path(file), 10000);
        for (i = 0; i < 10000; i++) {
            double v = pixel_of(&out, i)[k];
            straight += v != (double)plane[i];
            negative += v != 255.0 - (double)plane[i];
        }
        if (straight && negative) fail_msg("plane %d: %d bytes differ, %d from the negative", k + 1, straight, negative);
        free(plane);
    }
    free(out.x);
    sink_free(&sink);
    shs_pca_free(NULL, &pca);
}

static void test_grass_planes(void **state) {
    shs_cube cube = load_golden(AIRPORT), blockwise;
    stream s;
    (void)state;
    check_grass(&cube, SHS_INTERLEAVE_BSQ);
    blockwise = streamed(&cube, 16, &s);
    check_grass(&blockwise, SHS_INTERLEAVE_BIL);
    cube_free(&cube);
}

/* ---- components -------------------------------------------------------------------------------------------------- */

static void test_covariance_and_correlation(void **state) {
    plain_cube p = mixed_cube(41, 53, 9, 4, 1, 1);
    double *mean = NEW(double, 9), *C = NEW(double, 81), *R = NEW(double, 81);
    shs_cube cube = cube_f64(&p);
    int correlation, sample, precise, components, i, j;
    (void)state;
    naive_moments(&p, NULL, mean, C);
    for (correlation = 0; correlation < 2; correlation++)
        for (sample = 0; sample < 2; sample++)
            for (precise = 0; precise < 2; precise++)
                for (components = 0; components < 10; components += 3) {
                    shs_pca_options o = options_of(components, correlation, sample, precise);
                    double n = (double)pixels_of(&p), factor = sample ? n / (n - 1) : 1;
                    shs_pca pca = fit(NULL, &cube, &o);
                    assert_true(pca.count == (shs_wide)pixels_of(&p));
                    assert_int_equal(pca.components, components ? components : 9);
                    for (j = 0; j < 9; j++) {
                        double scale = correlation ? sqrt(factor * C[10 * j]) : 1;
                        assert_close(pca.scale[j], scale, (precise ? 1e-12 : BY_TYPE(1e-6, 1e-12)) * scale);
                        for (i = 0; i < 9; i++)
                            R[9 * j + i] = correlation ? C[9 * j + i] / sqrt(C[10 * i] * C[10 * j]) : factor * C[9 * j + i];
                    }
                    check_components(&pca, &p, mean, R, precise ? 1e-12 : BY_TYPE(1e-6, 1e-12));
                    shs_pca_free(NULL, &pca);
                }
    free(p.x);
    free(mean);
    free(C);
    free(R);
    cube_free(&cube);
}

static void test_options_may_be_absent(void **state) {
    plain_cube p = mixed_cube(11, 13, 5, 3, 1, 2);
    shs_cube cube = cube_f64(&p);
    shs_pca_options zero = SHS_ZERO;
    shs_pca a = fit(NULL, &cube, NULL), b = fit(NULL, &cube, &zero);
    (void)state;
    assert_int_equal(a.components, 5);
    assert_true(same_pca(&a, &b));
    shs_pca_free(NULL, &a), shs_pca_free(NULL, &b), shs_pca_free(NULL, &b), shs_pca_free(NULL, NULL);
    free(p.x);
    cube_free(&cube);
}

static void test_number_of_components(void **state) {
    static const double fractions[] = {0.01, 0.3, 0.5, 0.8, 0.9, 0.99, 0.999};
    plain_cube p = mixed_cube(41, 53, 9, 6, 1, 3);
    shs_cube cube = cube_f64(&p);
    shs_pca all = fit(NULL, &cube, NULL);
    int k, i;
    (void)state;
    for (i = 0; i < 7; i++) {
        shs_pca_options o = SHS_ZERO;
        shs_pca some;
        double sum = 0;
        for (k = 0; k < 9 && sum < fractions[i] * all.total_variance; k++) sum += all.eigenvalues[k];
        o.variance = fractions[i];
        some = fit(NULL, &cube, &o);
        assert_int_equal(some.components, k);
        shs_pca_free(NULL, &some);
    }
    for (k = 0; k < 9; k++) {
        shs_pca_options o = SHS_ZERO;
        shs_pca some;
        if (k == 0) o.eigenvalue_at_least = 2 * all.eigenvalues[0]; /* the first stays */
        else o.eigenvalue_at_least = 0.5 * (all.eigenvalues[k - 1] + all.eigenvalues[k]);
        some = fit(NULL, &cube, &o);
        assert_int_equal(some.components, k == 0 ? 1 : k);
        shs_pca_free(NULL, &some);
    }
    shs_pca_free(NULL, &all);
    free(p.x);
    cube_free(&cube);
}

static void test_from_moments(void **state) {
    plain_cube p = mixed_cube(31, 23, 7, 4, 1, 4);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0), top = slice_of(&cube, 0, 12),
             rest = slice_of(&cube, 12, 19);
    shs_pca_options o = options_of(0, 0, 1, 1);
    shs_pca direct = fit(NULL, &cube, &o), merged;
    shs_moments m;
    (void)state;
    assert_ok(shs_moments_create(NULL, 7, &m));
    assert_ok(shs_moments_update(NULL, &top, 1, &m));
    assert_ok(shs_moments_update(NULL, &rest, 1, &m));
    assert_ok(shs_pca_from_moments(NULL, &m, &o, &merged));
    check_near("eigenvalues", 7, merged.eigenvalues, direct.eigenvalues, 1e-12 * direct.eigenvalues[0]);
    check_near("mean", 7, merged.mean, direct.mean, 1e-11);
    check_near("vectors", 49, merged.vectors, direct.vectors, 1e-9);
    assert_true(merged.count == direct.count);
    shs_pca_free(NULL, &direct), shs_pca_free(NULL, &merged);
    shs_moments_free(NULL, &m);
    free(p.x);
    cube_free(&cube);
}

/* ---- pixels forth and back --------------------------------------------------------------------------------------- */

static void test_transform_and_inverse(void **state) {
    int turn = 0;
    plain_cube p = mixed_cube(23, 31, 8, 4, 1, 5);
    shs_cube cube = cube_f64(&p);
    int correlation, precise, k;
    (void)state;
    for (correlation = 0; correlation < 2; correlation++)
        for (precise = 0; precise < 2; precise++)
            for (k = 1; k <= 8; k += k < 3 ? 2 : 5) {
                if (left_out(&turn, every_on_device(5))) continue;
                shs_pca_options o = options_of(k, correlation, 0, precise);
                shs_pca pca = fit(NULL, &cube, &o);
                shs_sink components = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 23, 31, k),
                         back = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 23, 31, 8);
                shs_sink denoised = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 23, 31, 8);
                shs_cube between = sink_cube(&components, 23, 31, k);
                double *y = NEW(double, pixels_of(&p) * 8), *x = NEW(double, values_of(&p)), scale;
                double bound = precise ? 1e-12 : BY_TYPE(2e-6, 1e-12);
                plain_cube got, plain_y;
                assert_ok(shs_pca_transform(NULL, &pca, &cube, &components));
                got = sink_values(&components, 23, 31, k);
                scale = naive_map(&p, k, pca.forward, pca.mean, NULL, y);
                check_near("components", values_of(&got), got.x, y, bound * scale);
                free(got.x);
                plain_y = new_plain(23, 31, k);
                memcpy(plain_y.x, y, values_of(&plain_y) * sizeof *y);
                scale = naive_map(&plain_y, 8, pca.backward, NULL, pca.mean, x);
                assert_ok(shs_pca_inverse(NULL, &pca, &between, &back));
                got = sink_values(&back, 23, 31, 8);
                check_near("inverse", values_of(&got), got.x, x, 4 * bound * scale);
                if (k == 8) check_near("round trip", values_of(&got), got.x, p.x, 4 * bound * scale);
                free(got.x);
                assert_ok(shs_pca_denoise(NULL, &pca, 0, &cube, &denoised));
                got = sink_values(&denoised, 23, 31, 8);
                check_near("denoised", values_of(&got), got.x, x, 4 * bound * scale);
                free(got.x);
                free(x);
                free(y);
                free(plain_y.x);
                sink_free(&components);
                sink_free(&back);
                sink_free(&denoised);
                shs_pca_free(NULL, &pca);
            }
    free(p.x);
    cube_free(&cube);
}

/* Fit and transform in one call are the two calls, to the bit. */
static void test_run(void **state) {
    plain_cube p = mixed_cube(23, 31, 8, 4, 1, 21);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 1), blockwise;
    int rescale, precise, k;
    (void)state;
    for (rescale = 0; rescale < 2; rescale++)
        for (precise = 0; precise < 2; precise++) {
            shs_pca_options o = options_of(3, 0, 0, precise);
            shs_pca pca = fit(NULL, &cube, &o), made;
            shs_sink to[3]; /* outputs of the transform, of a single call, of a single call on a stream */
            stream s;
            for (k = 0; k < 3; k++) {
                to[k] = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 23, 31, 3);
                to[k].rescale = rescale;
                to[k].low = -1;
                to[k].high = 1;
            }
            assert_ok(shs_pca_transform(NULL, &pca, &cube, to));
            assert_ok(shs_pca_run(NULL, &cube, &o, to + 1, &made));
            assert_true(same_pca(&pca, &made));
            blockwise = streamed(&cube, 23, &s);
            assert_ok(shs_pca_run(NULL, &blockwise, &o, to + 2, NULL));
            assert_int_equal(s.passes, 2 + rescale);
            for (k = 1; k < 3; k++) assert_memory_equal(to[0].pixels, to[k].pixels, 23 * 31 * 3 * sizeof(double));
            for (k = 0; k < 3; k++) sink_free(to + k);
            shs_pca_free(NULL, &pca), shs_pca_free(NULL, &made);
        }
    free(p.x);
    cube_free(&cube);
}

/* The same of noise fractions: the pixels are read for the moments, for the noise and for the components. */
static void test_mnf_run(void **state) {
    plain_cube p = smooth_cube(23, 31, 8, 3, 22);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 1), blockwise;
    shs_pca_options o = options_of(3, 0, 0, 0);
    shs_pca mnf, made;
    shs_sink to[3];
    stream s;
    int k;
    (void)state;
    for (k = 0; k < 3; k++) to[k] = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 23, 31, 3);
    assert_ok(shs_mnf_fit(NULL, &cube, &o, &mnf));
    assert_ok(shs_pca_transform(NULL, &mnf, &cube, to));
    assert_ok(shs_mnf_run(NULL, &cube, &o, to + 1, &made));
    assert_true(same_pca(&mnf, &made));
    blockwise = streamed(&cube, 23, &s);
    assert_ok(shs_mnf_run(NULL, &blockwise, &o, to + 2, NULL));
    assert_int_equal(s.passes, 3);
    for (k = 1; k < 3; k++) assert_memory_equal(to[0].pixels, to[k].pixels, 23 * 31 * 3 * sizeof(double));
    for (k = 0; k < 3; k++) sink_free(to + k);
    shs_pca_free(NULL, &mnf), shs_pca_free(NULL, &made);
    free(p.x);
    cube_free(&cube);
}

/* From all components fitted, the first few only; and whole numbers come back as they were. */
static void test_denoise(void **state) {
    plain_cube p = mixed_cube(23, 31, 8, 3, 0.5, 6);
    shs_pca_options all = options_of(0, 0, 0, 1), three = options_of(3, 0, 0, 1);
    shs_cube cube, whole;
    shs_pca a, b;
    shs_sink first = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 23, 31, 8),
             second = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 23, 31, 8);
    shs_sink integers = new_sink(SHS_TYPE_U16, SHS_INTERLEAVE_BSQ, 23, 31, 8);
    plain_cube x, y;
    size_t i;
    (void)state;
    for (i = 0; i < values_of(&p); i++) p.x[i] = floor(p.x[i] * 100);
    cube = cube_f64(&p);
    whole = cube_of(&p, SHS_TYPE_U16, SHS_INTERLEAVE_BIL, 1);
    a = fit(NULL, &cube, &all);
    b = fit(NULL, &cube, &three);
    assert_ok(shs_pca_denoise(NULL, &a, 3, &cube, &first));
    assert_ok(shs_pca_denoise(NULL, &b, 0, &cube, &second));
    x = sink_values(&first, 23, 31, 8);
    y = sink_values(&second, 23, 31, 8);
    check_near("first three", values_of(&x), x.x, y.x, 1e-11 * largest_of(values_of(&p), p.x));
    assert_ok(shs_pca_denoise(NULL, &a, 0, &whole, &integers));
    free(x.x);
    x = sink_values(&integers, 23, 31, 8);
    assert_memory_equal(x.x, p.x, values_of(&p) * sizeof *p.x);
    assert_status(shs_pca_denoise(NULL, &b, 4, &cube, &second), SHS_BAD_COMPONENTS);
    assert_status(shs_pca_denoise(NULL, &b, -1, &cube, &second), SHS_BAD_COMPONENTS);
    shs_pca_free(NULL, &a), shs_pca_free(NULL, &b);
    free(p.x);
    free(x.x);
    free(y.x);
    cube_free(&cube);
    cube_free(&whole);
    sink_free(&first);
    sink_free(&second);
    sink_free(&integers);
}

/* Missing pixels are missing in the components, in what is rebuilt and in the scores. */
static void test_missing_pixels(void **state) {
    plain_cube p = mixed_cube(19, 29, 6, 3, 1, 7), q = p, out;
    unsigned char *valid = NEW(unsigned char, pixels_of(&p));
    double mean[6], C[36];
    shs_cube cube;
    shs_pca pca;
    shs_pca_options o = options_of(6, 0, 0, 1);
    int call, rank;
    size_t i, k;
    (void)state;
    for (i = 0; i < pixels_of(&p); i++) {
        valid[i] = i % 7 != 3;
        if (!valid[i]) pixel_of(&p, i)[i % 6] = -1;
    }
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 1);
    cube.has_nodata = 1;
    cube.nodata = -1;
    q = plain_of(&cube);
    naive_moments(&q, valid, mean, C);
    pca = fit(NULL, &cube, &o);
    assert_true(pca.count == (shs_wide)(pixels_of(&p) - 79));
    check_components(&pca, &q, mean, C, 1e-12);
    for (call = 0; call < 4; call++) {
        int outputs = call == 3 ? 1 : 6;
        shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 19, 29, outputs);
        sink.rescale = call == 1;
        sink.low = 1;
        sink.high = 2;
        if (call == 3) assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
        else if (call == 2) assert_ok(shs_pca_denoise(NULL, &pca, 0, &cube, &sink));
        else assert_ok(shs_pca_transform(NULL, &pca, &cube, &sink));
        out = sink_values(&sink, 19, 29, outputs);
        for (i = 0; i < pixels_of(&p); i++)
            for (k = 0; k < (size_t)outputs; k++)
                if (!valid[i]) assert_close(out.x[i * (size_t)outputs + k], -1, 0);
                else if (call == 1) assert_in_range((int)(out.x[i * (size_t)outputs + k] * 1000), 1000, 2000);
                else if (call == 2) assert_close(pixel_of(&out, i)[k], pixel_of(&q, i)[k], 1e-4);
        free(out.x);
        sink_free(&sink);
    }
    shs_pca_free(NULL, &pca);
    free(p.x);
    free(q.x);
    free(valid);
    cube_free(&cube);
}

/* ---- few pixels, few bands, no variance -------------------------------------------------------------------------- */

static void check_deficient(int lines, int samples, int bands, int dimensions, double level) {
    plain_cube p = mixed_cube(lines, samples, bands, 3, 1, 8), out;
    double *mean = NEW(double, bands), *C = NEW(double, bands * bands), *y = NEW(double, values_of(&p)), scale;
    shs_pca_options o = options_of(0, 0, 0, 1);
    shs_sink sink;
    shs_cube cube;
    shs_pca pca;
    size_t i;
    int k, few = 2 * lines * samples <= bands, components = bands;
    if (few) components = dimensions ? dimensions : 1;
    for (i = 0; i < values_of(&p) && level != 0; i++) p.x[i] = level;
    cube = cube_f64(&p);
    naive_moments(&p, NULL, mean, C);
    pca = fit(NULL, &cube, &o);
    assert_int_equal(pca.components, components);
    assert_int_equal(pca.eigenvalue_count, bands);
    check_components(&pca, &p, mean, C, 1e-12);
    for (k = dimensions; k < bands; k++) assert_close(pca.eigenvalues[k], 0, 1e-12 * (dimensions ? pca.eigenvalues[0] : 0));
    sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, lines, samples, components);
    assert_ok(shs_pca_transform(NULL, &pca, &cube, &sink));
    out = sink_values(&sink, lines, samples, components);
    scale = naive_map(&p, components, pca.forward, pca.mean, NULL, y);
    check_near("components", pixels_of(&p) * (size_t)components, out.x, y, 1e-12 * scale);
    shs_pca_free(NULL, &pca);
    free(p.x);
    free(out.x);
    free(mean);
    free(C);
    free(y);
    cube_free(&cube);
    sink_free(&sink);
}

static void test_deficient_cubes(void **state) {
    (void)state;
    check_deficient(2, 5, 24, 9, 0); /* fewer pixels than bands */
    check_deficient(1, 1, 24, 0, 0); /* one pixel */
    check_deficient(9, 11, 1, 1, 0); /* one band */
    check_deficient(1, 1, 1, 0, 0);
    check_deficient(1, 2, 2, 1, 0);
    check_deficient(20, 30, 7, 0, 37.5); /* constant */
    check_deficient(20, 30, 7, 0, -1e6);
}

/* sandiego has 22 constant bands: that many eigenvalues are zero to rounding. */
static void test_constant_bands(void **state) {
    shs_cube cube = load_golden(SANDIEGO);
    shs_pca_options o = options_of(0, 0, 0, 1);
    shs_pca pca = fit(NULL, &cube, &o), untouched;
    unsigned char pattern[sizeof untouched];
    int k;
    (void)state;
    for (k = 224 - 22; k < 224; k++) assert_close(pca.eigenvalues[k], 0, 1e-13 * pca.eigenvalues[0]);
    assert_true(pca.eigenvalues[224 - 23] > 1e-10 * pca.eigenvalues[0]);
    shs_pca_free(NULL, &pca);
    memset(pattern, UNTOUCHED, sizeof pattern);
    memcpy(&untouched, pattern, sizeof pattern);
    o.correlation = 1;
    assert_status(shs_pca_fit(NULL, &cube, &o, &untouched), SHS_ZERO_VARIANCE);
    assert_memory_equal(&untouched, pattern, sizeof pattern);
    cube_free(&cube);
}

/* A constant component becomes low. */
static void test_rescaled_constant(void **state) {
    plain_cube p = new_plain(6, 7, 3), out;
    shs_sink sink = new_sink(SHS_TYPE_I16, SHS_INTERLEAVE_BSQ, 6, 7, 3);
    shs_cube cube;
    shs_pca pca;
    size_t i;
    (void)state;
    for (i = 0; i < 126; i++) p.x[i] = i % 3 == 1 ? (double)(i / 3) : 5;
    cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0);
    pca = fit(NULL, &cube, NULL);
    sink.rescale = 1;
    sink.low = -100;
    sink.high = 200;
    assert_ok(shs_pca_transform(NULL, &pca, &cube, &sink));
    out = sink_values(&sink, 6, 7, 3);
    assert_close(out.x[0], -100, 0);
    assert_close(out.x[123], 200, 0);
    for (i = 0; i < 126; i++)
        if (i % 3) assert_close(out.x[i], -100, 0);
    shs_pca_free(NULL, &pca);
    free(p.x);
    free(out.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* ---- anomaly scores ---------------------------------------------------------------------------------------------- */

static double *naive_rx(const plain_cube *p, int sample) {
    int B = p->bands;
    double *score = NEW(double, pixels_of(p)), *scratch = NEW(double, B * (B + 2));
    size_t i;
    shs_rx_naive(B, (ptrdiff_t)pixels_of(p), p->x, score, scratch);
    for (i = 0; sample && i < pixels_of(p); i++) score[i] *= (double)(pixels_of(p) - 1) / (double)pixels_of(p);
    free(scratch);
    return score;
}

static void test_rx(void **state) {
    static const int blocks[] = {0, 1, 7, 40};
    plain_cube p = mixed_cube(33, 41, 8, 4, 1, 9), out;
    shs_cube cube = cube_f64(&p), used;
    int run;
    (void)state;
    for (run = 0; run < 8; run++) {
        shs_pca_options o = options_of(0, 0, run & 1, run & 1);
        double *expected = naive_rx(&p, o.divisor == SHS_DIVISOR_N_LESS_1);
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 33, 41, 1);
        int rank = -1;
        stream s;
        used = blocks[run / 2] ? streamed(&cube, blocks[run / 2], &s) : cube;
        assert_ok(shs_rx(NULL, &used, run == 0 ? NULL : &o, &sink, run == 2 ? NULL : &rank));
        if (run != 2) assert_int_equal(rank, 8);
        out = sink_values(&sink, 33, 41, 1);
        check_near("scores", pixels_of(&p), out.x, expected,
                   (o.precise == SHS_PRECISION_ALWAYS ? 1e-10 : BY_TYPE(2e-4, 1e-10)) * largest_of(pixels_of(&p), expected));
        free(expected);
        free(out.x);
        sink_free(&sink);
    }
    free(p.x);
    cube_free(&cube);
}

/* Three sources in nine bands and no noise: scores in three dimensions, whose sum is three a pixel. */
static void test_rx_of_deficient_cubes(void **state) {
    plain_cube p = mixed_cube(33, 41, 9, 3, 0, 10), out;
    shs_cube cube = cube_f64(&p);
    int precise;
    (void)state;
    for (precise = 0; precise < 2; precise++) {
        shs_pca_options o = options_of(0, 0, 0, precise), three = options_of(3, 0, 0, 1);
        shs_pca pca = fit(NULL, &cube, &three);
        double *y = NEW(double, 3 * pixels_of(&p)), *expected = NEW(double, pixels_of(&p)), sum = 0;
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 33, 41, 1);
        int rank = -1, k;
        size_t i;
        naive_map(&p, 3, pca.forward, pca.mean, NULL, y);
        for (i = 0; i < pixels_of(&p); i++)
            for (k = 0; k < 3; k++) expected[i] += y[3 * i + (size_t)k] * y[3 * i + (size_t)k] / pca.eigenvalues[k];
        assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
        assert_int_equal(rank, 3);
        out = sink_values(&sink, 33, 41, 1);
        check_near("scores", pixels_of(&p), out.x, expected,
                   (precise ? 1e-9 : BY_TYPE(1e-3, 1e-9)) * largest_of(pixels_of(&p), expected));
        for (i = 0; i < pixels_of(&p); i++) sum += out.x[i];
        assert_close(sum, 3.0 * (double)pixels_of(&p), (precise ? 1e-9 : BY_TYPE(1e-4, 1e-9)) * sum);
        o.components = 2;
        assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
        assert_int_equal(rank, 2);
        free(y);
        free(expected);
        free(out.x);
        sink_free(&sink);
        shs_pca_free(NULL, &pca);
    }
    free(p.x);
    cube_free(&cube);
}

/* All pixels alike: there is no space to measure in, and that is said. */
static void test_rx_of_a_constant_cube(void **state) {
    plain_cube p = new_plain(5, 6, 4);
    shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIL, 0);
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 5, 6, 1);
    int rank = -1;
    size_t i;
    (void)state;
    assert_status(shs_rx(NULL, &cube, NULL, &sink, &rank), SHS_ZERO_VARIANCE);
    cube_free(&cube);
    for (i = 0; i < values_of(&p); i++) p.x[i] = 0.1; /* no float holds it */
    cube = cube_f64(&p);
    assert_status(shs_rx(NULL, &cube, NULL, &sink, &rank), SHS_ZERO_VARIANCE);
    assert_int_equal(rank, -1);
    for (i = 0; i < 30 * sizeof(float); i++) assert_int_equal(((unsigned char *)sink.pixels)[i], UNTOUCHED);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* The chance that a target scores higher than another pixel; equal scores count half. */
static double area_under_roc(size_t n, const double *score, const unsigned char *target) {
    double wins = 0, pairs = 0;
    size_t i, j;
    for (i = 0; i < n; i++)
        for (j = 0; j < n && target[i]; j++) {
            if (target[j]) continue;
            pairs += 1;
            if (score[i] > score[j]) wins += 1;
            else if (score[i] >= score[j]) wins += 0.5;
        }
    return wins / pairs;
}

static void test_rx_finds_aircraft(void **state) {
    shs_cube cube = load_golden(SANDIEGO);
    unsigned char *target = read_bytes_or_skip(data_path("cubes/sandiego_targets.img"), 10000);
    int precise;
    (void)state;
    for (precise = 0; precise < 2; precise++) {
        shs_pca_options o = options_of(0, 0, 0, precise);
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 100, 100, 1);
        int rank = 0;
        double area;
        assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
        area = area_under_roc(10000, (const double *)sink.pixels, target);
        print_message("sandiego, precise %d: rank %d, area under the ROC curve %.4f\n", precise, rank, area);
        assert_in_range(rank, 1, 202);
        assert_true(area > 0.8);
        sink_free(&sink);
    }
    free(target);
    cube_free(&cube);
}

/* ---- robust statistics ------------------------------------------------------------------------------------------- */

/* The reference, by plain loops: mean and Cholesky factor of the pixels that are in, the scores of all, and the lowest stay in;
   `rounds` times. */
static void trimmed_twin(const plain_cube *p, double trim, int rounds, double *score) {
    int B = p->bands, b, c, k, round;
    size_t n = pixels_of(p), i, j, kept = n, most = n - (size_t)(trim * (double)n);
    double *mean = NEW(double, B), *C = NEW(double, B * B), *u = NEW(double, B), *sorted = NEW(double, n);
    unsigned char *in = NEW(unsigned char, n);
    memset(in, 1, n);
    for (round = 0; round <= rounds; round++) {
        for (b = 0; b < B; b++) {
            mean[b] = 0;
            for (i = 0; i < n; i++)
                if (in[i]) mean[b] += p->x[i * (size_t)B + (size_t)b];
            mean[b] /= (double)kept;
        }
        for (b = 0; b < B; b++)
            for (c = 0; c < B; c++) {
                C[b + c * B] = 0;
                for (i = 0; i < n; i++)
                    if (in[i])
                        C[b + c * B] += (p->x[i * (size_t)B + (size_t)b] - mean[b]) * (p->x[i * (size_t)B + (size_t)c] - mean[c]);
                C[b + c * B] /= (double)kept;
            }
        for (k = 0; k < B; k++) /* C = L L', as in a textbook */
            for (b = k; b < B; b++) {
                for (c = 0; c < k; c++) C[b + k * B] -= C[b + c * B] * C[k + c * B];
                if (b == k) C[k + k * B] = sqrt(C[k + k * B]);
                else C[b + k * B] /= C[k + k * B];
            }
        for (i = 0; i < n; i++) {
            score[i] = 0;
            for (b = 0; b < B; b++) {
                u[b] = p->x[i * (size_t)B + (size_t)b] - mean[b];
                for (c = 0; c < b; c++) u[b] -= C[b + c * B] * u[c];
                u[b] /= C[b + b * B];
                score[i] += u[b] * u[b];
            }
        }
        for (i = 0; i < n; i++) { /* insertion: few pixels */
            for (j = i; j > 0 && sorted[j - 1] > score[i]; j--) sorted[j] = sorted[j - 1];
            sorted[j] = score[i];
        }
        kept = 0;
        for (i = 0; i < n; i++) {
            in[i] = score[i] <= sorted[most - 1];
            kept += in[i];
        }
    }
    free(mean);
    free(C);
    free(u);
    free(sorted);
    free(in);
}

enum { TRIM_LINES = 20, TRIM_SAMPLES = 30, TRIM_BANDS = 6, TRIM_ODD = TRIM_LINES * TRIM_SAMPLES / 20 };

/* Five of a hundred pixels are alike and far from the rest, in a direction of their own: together they widen the covariance
   until their scores are ordinary. odd: marks these pixels. */
static plain_cube contaminated_cube(unsigned char *odd) {
    plain_cube p = new_plain(TRIM_LINES, TRIM_SAMPLES, TRIM_BANDS);
    shs_random r;
    size_t i, n = pixels_of(&p), b;
    shs_random_seed(&r, 31);
    for (i = 0; i < n; i++) {
        odd[i] = i % 20 == 7;
        for (b = 0; b < TRIM_BANDS; b++) p.x[i * TRIM_BANDS + b] = 100 + shs_random_normal(&r) * (double)(1 + b);
        if (odd[i]) p.x[i * TRIM_BANDS + 2] += 12.6;
        if (odd[i]) p.x[i * TRIM_BANDS + 4] -= 15;
    }
    return p;
}

static int odd_of_the_highest(const double *scores, const unsigned char *odd) {
    int i, j, above, hits = 0;
    for (i = 0; i < TRIM_LINES * TRIM_SAMPLES; i++) {
        above = 0;
        for (j = 0; j < TRIM_LINES * TRIM_SAMPLES; j++) above += scores[j] > scores[i];
        hits += odd[i] && above < TRIM_ODD;
    }
    return hits;
}

static void test_rx_trimmed_finds_what_plain_rx_hides(void **state) {
    enum { N = TRIM_LINES * TRIM_SAMPLES };
    unsigned char odd[N];
    plain_cube p = contaminated_cube(odd);
    shs_cube cube = cube_f64(&p);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, TRIM_LINES, TRIM_SAMPLES, 1);
    const double *scores = (const double *)sink.pixels;
    double *expected = NEW(double, N);
    int plain, robust;
    shs_pca_options o = SHS_ZERO;
    int rounds, rank;
    (void)state;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
    plain = odd_of_the_highest(scores, odd);
    o.trim = 0.1;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
    assert_int_equal(rank, TRIM_BANDS);
    robust = odd_of_the_highest(scores, odd);
    print_message("of %d odd pixels %d are among the %d highest scores, trimmed %d\n", TRIM_ODD, plain, TRIM_ODD, robust);
    assert_true(plain < 24 && robust >= 27);
    for (rounds = 1; rounds <= 4; rounds++) {
        o.trim_rounds = rounds;
        assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
        trimmed_twin(&p, 0.1, rounds, expected);
        check_near("trimmed", N, scores, expected, BY_TYPE(1e-6, 1e-9) * largest_of(N, expected));
    }
    free(p.x);
    free(expected);
    cube_free(&cube);
    sink_free(&sink);
}

static void *ones_alloc(void *user, size_t size) {
    void *block = malloc(size);
    (void)user;
    if (block) memset(block, 0xff, size);
    return block;
}

static void ones_free(void *user, void *block) {
    (void)user;
    free(block);
}

/* Nothing trimmed is plain RX to the bit; every interleave, block, number of threads and content of scratch gives the same. */
static void test_rx_trimmed_in_every_way(void **state) {
    enum { N = TRIM_LINES * TRIM_SAMPLES };
    static const int blocks[] = {1, 3, 20};
    unsigned char odd[N];
    plain_cube p = contaminated_cube(odd);
    shs_cube cube = cube_f64(&p);
    shs_sink first = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, TRIM_LINES, TRIM_SAMPLES, 1);
    shs_sink again = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, TRIM_LINES, TRIM_SAMPLES, 1);
    shs_pca_options o = SHS_ZERO;
    shs_pca rx;
    int way, k;
    (void)state;
    assert_ok(shs_rx(NULL, &cube, &o, &first, NULL));
    o.trim_rounds = 5;
    assert_ok(shs_rx(NULL, &cube, &o, &again, NULL));
    assert_memory_equal(first.pixels, again.pixels, N * sizeof(double));
    o.trim = 0.1;
    assert_ok(shs_rx(NULL, &cube, &o, &first, NULL));
    for (way = 0; way < 3; way++) {
        shs_cube other = cube_of(&p, SHS_TYPE_F64, (shs_interleave)way, 0), used;
        assert_ok(shs_rx(NULL, &other, &o, &again, NULL));
        assert_memory_equal(first.pixels, again.pixels, N * sizeof(double));
        for (k = 0; k < 3; k++) {
            stream s;
            used = streamed(&other, blocks[k], &s);
            assert_ok(shs_rx(NULL, &used, &o, &again, NULL));
            check_near("blocks", N, (const double *)again.pixels, (const double *)first.pixels, 1e-6);
        }
        cube_free(&other);
    }
    for (k = 1; k <= 4; k++) {
        shs_context ctx = SHS_ZERO;
        ctx.threads = k;
        ctx.alloc_fn = ones_alloc;
        ctx.free_fn = ones_free;
        assert_ok(shs_rx(&ctx, &cube, &o, &again, NULL));
        assert_memory_equal(first.pixels, again.pixels, N * sizeof(double));
    }
    assert_ok(shs_rx_fit(NULL, &cube, &o, &rx));
    assert_true(rx.count == 540);
    assert_ok(shs_rx_transform(NULL, &rx, &cube, &again));
    check_near("fit", N, (const double *)again.pixels, (const double *)first.pixels, 0);
    shs_pca_free(NULL, &rx);
    free(p.x);
    cube_free(&cube);
    sink_free(&first);
    sink_free(&again);
}

/* A missing pixel stays missing, by mask or by value, and takes no part. One band works; equal pixels beside one other do not. */
static void test_rx_trimmed_at_its_ends(void **state) {
    enum { N = TRIM_LINES * TRIM_SAMPLES };
    static const double bad[] = {-0.1, 0.51, 0.99, 1, 2, (double)INFINITY, (double)NAN};
    unsigned char odd[N], mask[N];
    plain_cube p = contaminated_cube(odd), one = new_plain(1, 10, 1), single = new_plain(1, 1, 3);
    shs_cube cube = cube_f64(&p), line = SHS_ZERO, pixel = cube_f64(&single);
    shs_sink a = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, TRIM_LINES, TRIM_SAMPLES, 1);
    shs_sink b = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, TRIM_LINES, TRIM_SAMPLES, 1);
    shs_sink ten = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 1, 10, 1);
    const double *x = (const double *)a.pixels, *y = (const double *)b.pixels, *z = (const double *)ten.pixels;
    shs_pca_options o = SHS_ZERO;
    shs_pca rx;
    int i, k;
    (void)state;
    for (k = 0; k < 7; k++) {
        o.trim = (shs_wide)bad[k];
        assert_status(shs_rx(NULL, &cube, &o, &a, NULL), SHS_BAD_OPTIONS);
        assert_true(holds_untouched(a.pixels, N * sizeof(double)));
    }
    o.trim = 0.1;
    o.trim_rounds = -1;
    assert_status(shs_rx(NULL, &cube, &o, &a, NULL), SHS_BAD_OPTIONS);
    o.trim_rounds = 0;
    for (i = 0; i < N; i++) mask[i] = (unsigned char)(i % 4 != 1);
    cube.mask = mask;
    assert_ok(shs_rx(NULL, &cube, &o, &a, NULL));
    cube.mask = NULL;
    cube_free(&cube);
    for (i = 0; i < N; i++)
        if (!mask[i]) p.x[i * TRIM_BANDS] = (double)NAN;
    cube = cube_f64(&p);
    assert_ok(shs_rx(NULL, &cube, &o, &b, NULL));
    for (i = 0; i < N; i++) {
        assert_int_equal(is_nan(x[i]), !mask[i]);
        assert_int_equal(is_nan(y[i]), !mask[i]);
        if (mask[i]) assert_close(x[i], y[i], 1e-9 * x[i]);
    }
    for (i = 0; i < 10; i++) one.x[i] = i < 9 ? i % 3 : 50;
    line = cube_f64(&one);
    o.trim = 0.1;
    assert_ok(shs_rx(NULL, &line, &o, &ten, NULL)); /* mean 1 and variance 2/3 of the nine */
    for (i = 0; i < 10; i++) assert_close(z[i], 1.5 * (one.x[i] - 1) * (one.x[i] - 1), 1e-9 * 3602);
    o.trim = 0.09; /* less than a pixel: none is left out */
    assert_ok(shs_rx_fit(NULL, &line, &o, &rx));
    assert_true(rx.count == 10);
    shs_pca_free(NULL, &rx);
    cube_free(&line);
    for (i = 0; i < 9; i++) one.x[i] = 4;
    line = cube_f64(&one);
    o.trim = 0.1;
    assert_status(shs_rx_fit(NULL, &line, &o, &rx), SHS_RANK_TOO_LOW);
    assert_status(shs_rx_fit(NULL, &pixel, &o, &rx), SHS_ZERO_VARIANCE);
    for (k = 0;; k++) { /* every allocation that fails leaves nothing behind */
        shs_context ctx = SHS_ZERO;
        faulty f;
        shs_status status;
        faulty_attach(&f, k, &ctx);
        status = shs_rx(&ctx, &cube, &o, &b, NULL);
        assert_int_equal(f.outstanding, 0);
        if (f.refused == 0) {
            assert_ok(status);
            break;
        }
        assert_status(status, SHS_NO_MEMORY);
    }
    assert_true(k > 8);
    free(p.x);
    free(one.x);
    free(single.x);
    cube_free(&cube);
    cube_free(&line);
    cube_free(&pixel);
    sink_free(&a);
    sink_free(&b);
    sink_free(&ten);
}

/* One huge pixel hides every other component under rounding, until it is trimmed; and the variance that components explain depends
   on the pixels that stay. */
static void test_rx_trimmed_of_a_huge_pixel(void **state) {
    enum { ROWS = 40, COLUMNS = 50, B = 3, N = ROWS * COLUMNS };
    plain_cube p = new_plain(ROWS, COLUMNS, B);
    shs_cube cube;
    shs_pca_options o = SHS_ZERO;
    shs_pca rx;
    shs_random r;
    size_t i;
    int k;
    (void)state;
    shs_random_seed(&r, 5);
    for (i = 0; i < values_of(&p); i++) p.x[i] = (double)shs_random_normal(&r);
    for (k = 0; k < B; k++) pixel_of(&p, N / 3)[k] = 1e10;
    cube = cube_f64(&p);
    o.trim = (shs_wide)0.01;
    for (k = 0; k < 2; k++) {
        assert_ok(shs_rx_fit(NULL, &cube, &o, &rx));
        assert_int_equal(rx.components, B);
        assert_true(rx.count == N - N / 100);
        assert_true(rx.eigenvalues[0] < 2);
        shs_pca_free(NULL, &rx);
        o.variance = (shs_wide)0.99;
    }
    cube_free(&cube);
    for (i = 0; i < N; i++) { /* two bands of ten times the variance: two components explain 0.9 */
        pixel_of(&p, i)[0] *= 4;
        pixel_of(&p, i)[1] *= 4;
    }
    for (k = 0; k < B; k++) pixel_of(&p, N / 3)[k] = 100; /* and where one pixel counts, one component does */
    cube = cube_f64(&p);
    o.variance = (shs_wide)0.9;
    assert_ok(shs_rx_fit(NULL, &cube, &o, &rx));
    assert_int_equal(rx.components, 2);
    shs_pca_free(NULL, &rx);
    free(p.x);
    cube_free(&cube);
}

/* `components` is the most there may be, and the rules leave fewer. More than the pixels have are refused all the same. */
static void test_rx_of_components_beside_rules(void **state) {
    enum { ROWS = 20, COLUMNS = 30, B = 6 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 2, 0.05, 52);
    shs_cube cube = cube_f64(&p);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    shs_pca_options o = options_of(0, 0, 0, 1);
    size_t i;
    int rank;
    (void)state;
    o.components = 5;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
    assert_int_equal(rank, 5);
    o.variance = (shs_wide)0.99;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
    assert_int_equal(rank, 2);
    o.components = 4;
    o.skip = 1;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
    assert_int_equal(rank, 1);
    o.skip = 2; /* the rule leaves none behind them */
    assert_status(shs_rx(NULL, &cube, &o, &sink, &rank), SHS_RANK_TOO_LOW);
    cube_free(&cube);
    for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[5] = pixel_of(&p, i)[4] = pixel_of(&p, i)[3];
    cube = cube_f64(&p);
    o.components = 5;
    o.skip = 0;
    assert_status(shs_rx(NULL, &cube, &o, &sink, &rank), SHS_RANK_TOO_LOW);
    o.components = 4;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
    assert_int_equal(rank, 2);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* In two steps, to the bit; and on the components behind the first ones, against sums over them. */
static void test_rx_of_a_fit_and_on_subspaces(void **state) {
    enum { ROWS = 23, COLUMNS = 41, B = 7 };
    static const int cases[][2] = {{0, 0}, {3, 0}, {0, 2}, {2, 3}, {1, 6}, {0, 6}};
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 4, 1, 51);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    plain_cube q = plain_of(&cube);
    shs_pca_options all = options_of(0, 0, 0, 1);
    shs_pca pca = fit(NULL, &cube, &all), rx;
    shs_sink a = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1),
             b = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    double *y = NEW(double, B *pixels_of(&p)), *expected = NEW(double, pixels_of(&p));
    int c, rank, k;
    size_t i;
    (void)state;
    naive_map(&q, B, pca.forward, pca.mean, NULL, y);
    for (c = 0; c < 6; c++) {
        shs_pca_options o = options_of(cases[c][0], 0, 0, 0);
        o.skip = cases[c][1];
        assert_ok(shs_rx(NULL, &cube, &o, &a, &rank));
        assert_ok(shs_rx_fit(NULL, &cube, &o, &rx));
        assert_int_equal(rx.components, rank);
        assert_int_equal(rank, o.components ? o.components : B - o.skip);
        assert_ok(shs_rx_transform(NULL, &rx, &cube, &b));
        assert_memory_equal(a.pixels, b.pixels, pixels_of(&p) * sizeof(double));
        for (i = 0; i < pixels_of(&p); i++) {
            expected[i] = 0;
            for (k = o.skip; k < o.skip + rank; k++)
                expected[i] += y[B * i + (size_t)k] * y[B * i + (size_t)k] / pca.eigenvalues[k];
        }
        check_near("scores", pixels_of(&p), (const double *)a.pixels, expected, 1e-9 * largest_of(pixels_of(&p), expected));
        check_near("variances", (size_t)rank, rx.eigenvalues, pca.eigenvalues + o.skip, 1e-12 * pca.eigenvalues[0]);
        shs_pca_free(NULL, &rx);
    }
    all.skip = B;
    assert_status(shs_rx(NULL, &cube, &all, &a, &rank), SHS_RANK_TOO_LOW);
    all.skip = -1;
    assert_status(shs_rx(NULL, &cube, &all, &a, &rank), SHS_BAD_COMPONENTS);
    all.skip = 3;
    all.components = B - 2;
    assert_status(shs_rx_fit(NULL, &cube, &all, &rx), SHS_BAD_COMPONENTS);
    assert_status(shs_rx_fit(NULL, &cube, NULL, NULL), SHS_BAD_OUTPUT);
    assert_status(shs_rx_transform(NULL, NULL, &cube, &a), SHS_BAD_MAP);
    shs_pca_free(NULL, &pca);
    free(p.x);
    free(q.x);
    free(y);
    free(expected);
    cube_free(&cube);
    sink_free(&a);
    sink_free(&b);
}

/* The results of a cube: eigenvalues of PCA and MNF, of the correlation too; scores of RX, of local RX and of a matched filter;
   the pixels less an offset, of all but one component; eigenvalues of FastICA's whitening. */
enum { MOST_RESULTS = 1 << 14 };

static size_t results_of(const shs_cube *cube, double offset, double *to) {
    size_t pixels = (size_t)cube->lines * (size_t)cube->samples, i, at = 0;
    int bands = cube->bands, way;
    shs_wide target[16];
    shs_pca pca = SHS_ZERO;
    shs_pca_options o = SHS_ZERO;
    shs_rx_local_options local = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    sink.type = SHS_TYPE_F64;
    for (way = 0; way < 3; way++) {
        o.correlation = way == 1;
        if (way < 2) assert_ok(shs_pca_fit(NULL, cube, &o, &pca));
        else assert_ok(shs_mnf_fit(NULL, cube, NULL, &pca));
        assert_int_equal(pca.components, bands);
        for (i = 0; i < (size_t)bands; i++) to[at++] = (double)pca.eigenvalues[i];
        if (way == 0) {
            sink.pixels = to + at;
            assert_ok(shs_pca_denoise(NULL, &pca, bands - 1, cube, &sink));
            for (i = 0; i < pixels * (size_t)bands; i++) to[at++] -= offset;
        }
        shs_pca_free(NULL, &pca);
    }
    for (i = 0; i < (size_t)bands; i++) target[i] = (shs_wide)(offset + 5 * (double)i);
    local.inner = 3;
    local.outer = 7;
    for (way = 0; way < 3; way++) {
        sink.pixels = to + at;
        if (way == 0) assert_ok(shs_rx(NULL, cube, NULL, &sink, NULL));
        else if (way == 1) assert_ok(shs_rx_local(NULL, cube, &local, &sink));
        else assert_ok(shs_detect(NULL, cube, 1, target, bands, NULL, &sink));
        at += pixels;
    }
    assert_ok(shs_ica_fit(NULL, cube, NULL, &ica));
    for (i = 0; i < (size_t)ica.components; i++) to[at++] = (double)ica.eigenvalues[i];
    shs_ica_free(NULL, &ica);
    assert_true(at < MOST_RESULTS);
    return at;
}

/* Pixels of types with more digits than a float have results that do not depend on an offset, however large beside the
   deviations; and a constant among them is constant. */
static void test_offsets_of_wide_types(void **state) {
    enum { ROWS = 19, COLUMNS = 23, B = 5 };
    static const struct { shs_type type; double offset, unit; } kinds[] = {
        {SHS_TYPE_F64, 1e9, 1}, {SHS_TYPE_F64, 1e6, 0x1p-12}, {SHS_TYPE_F64, 1.7e9, 0x1p-16}, {SHS_TYPE_I32, 1e8, 1},
        {SHS_TYPE_I32, -2e9, 1}, {SHS_TYPE_U32, 4e9, 1}};
    double *want = NEW(double, MOST_RESULTS), *got = NEW(double, MOST_RESULTS);
    int run;
    (void)state;
    for (run = 0; run < 6 * 3; run += every_on_device(7)) {
        int kind = run % 6;
        plain_cube p = mixed_cube(ROWS, COLUMNS, B, 3, 2, 5), q = mixed_cube(ROWS, COLUMNS, B, 3, 2, 5);
        shs_cube near, far;
        shs_pca_options o = SHS_ZERO;
        shs_pca pca = SHS_ZERO;
        double most;
        size_t i, count;
        for (i = 0; i < values_of(&p); i++) {
            p.x[i] = floor(p.x[i]) * kinds[kind].unit;
            q.x[i] = p.x[i] + kinds[kind].offset;
        }
        near = cube_of(&p, SHS_TYPE_F64, (shs_interleave)(run / 6), 0);
        far = cube_of(&q, kinds[kind].type, (shs_interleave)(run / 6), 0);
        count = results_of(&near, 0, want);
        assert_int_equal(results_of(&far, kinds[kind].offset, got), count);
        most = 1e-10 + 64 * 2.3e-16 * fabs(kinds[kind].offset) / kinds[kind].unit; /* the mean is rounded as the offset is */
        for (i = 0; i < count; i++) {
            double unit = 0;
            if (i >= B && i < B + values_of(&p)) unit = kinds[kind].unit; /* pixels */
            if (i >= 3 * B + values_of(&p) && i < 3 * B + values_of(&p) + 3 * ROWS * COLUMNS) unit = 1; /* scores */
            if (!(fabs(got[i] - want[i]) <= most * (fabs(want[i]) + unit)))
                fail_msg("run %d: result %d is %.15g, not %.15g", run, (int)i, got[i], want[i]);
        }
        cube_free(&far);
        for (i = 0; i < pixels_of(&q); i++) pixel_of(&q, i)[2] = floor(kinds[kind].offset / 3);
        far = cube_of(&q, kinds[kind].type, (shs_interleave)(run / 6), 0);
        o.correlation = 1;
        assert_status(shs_pca_fit(NULL, &far, &o, &pca), SHS_ZERO_VARIANCE);
        free(p.x);
        free(q.x);
        cube_free(&near);
        cube_free(&far);
    }
    free(want);
    free(got);
}

/* Where two entries of a vector are the largest by the symmetry of the bands, neither blocks nor sums decide on the sign. */
static void test_signs_of_ties(void **state) {
    enum { ROWS = 37, COLUMNS = 53, B = 3, RUNS = 3 * 2 * 4 * 5 };
    plain_cube p = new_plain(ROWS, COLUMNS, B);
    shs_random r;
    shs_wide sign[4] = {0, 0, 0, 0};
    int run;
    size_t i;
    (void)state;
    shs_random_seed(&r, 3);
    for (i = 0; i < pixels_of(&p); i++) {
        double *x = pixel_of(&p, i);
        x[0] = (double)shs_random_uniform(&r);
        x[1] = 1 - x[0];
        x[2] = 0.01 * (double)shs_random_normal(&r);
    }
    for (run = 0; run < RUNS; run++) {
        static const int blocks[] = {0, 1, 5, 9, 36};
        int kind = run / 6 % 4;
        shs_cube cube = cube_of(&p, run / 3 % 2 ? SHS_TYPE_F32 : SHS_TYPE_F64, (shs_interleave)(run % 3), 0), used = cube;
        shs_pca_options o = SHS_ZERO;
        shs_pca pca = SHS_ZERO;
        stream s;
        if (blocks[run / 24]) used = streamed(&cube, blocks[run / 24], &s);
        o.correlation = kind == 1;
        if (kind == 2) o.precise = SHS_PRECISION_NEVER;
        if (kind == 3) assert_ok(shs_mnf_fit(NULL, &used, NULL, &pca));
        else assert_ok(shs_pca_fit(NULL, &used, &o, &pca));
        if (run / 24 == 0 && run % 6 == 0) sign[kind] = pca.vectors[0];
        assert_true(sign[kind] * pca.vectors[0] > 0);
        if (kind < 3) assert_true(pca.vectors[0] > 0 && pca.vectors[1] < 0);
        shs_pca_free(NULL, &pca);
        cube_free(&cube);
    }
    free(p.x);
}

/* The cube's covariance and that of its noise are divided alike: by their own moments all eigenvalues are 1, and those of the
   differences of n pixels and n - 1 pairs differ by the divisors alone. */
static void test_one_divisor(void **state) {
    enum { N = 31, B = 4 };
    plain_cube p = mixed_cube(1, N, B, 2, 1, 8);
    shs_cube cube = cube_f64(&p);
    shs_moments m = SHS_ZERO;
    shs_wide mean[B], C[B * B], first[2][B];
    int divisor, i;
    (void)state;
    assert_ok(shs_moments_create(NULL, B, &m));
    assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_ALWAYS, &m));
    for (divisor = 0; divisor < 2; divisor++) {
        shs_pca_options o = SHS_ZERO;
        shs_pca mnf = SHS_ZERO;
        o.divisor = (shs_divisor)divisor;
        assert_ok(shs_mnf_fit(NULL, &cube, &o, &mnf));
        memcpy(first[divisor], mnf.eigenvalues, B * sizeof(shs_wide));
        shs_pca_free(NULL, &mnf);
        assert_ok(shs_moments_finish(&m, o.divisor, mean, C, B));
        assert_ok(shs_mnf_from_noise(NULL, &m, C, B, &o, &mnf));
        for (i = 0; i < B; i++) assert_close(mnf.eigenvalues[i], 1, 1e-10);
        shs_pca_free(NULL, &mnf);
    }
    for (i = 0; i < B; i++) assert_close(first[1][i] / first[0][i], (double)N / (N - 1) * (N - 2) / (N - 1), 1e-10);
    shs_moments_free(NULL, &m);
    free(p.x);
    cube_free(&cube);
}

/* With fewer pixels than half the bands, components come from the Gram matrix of the pixels and equal the components of the
   covariance. */
static void test_few_pixels(void **state) {
    enum { ROWS = 4, COLUMNS = 5, B = 61, MOST = ROWS * COLUMNS };
    static const shs_type types[] = {SHS_TYPE_F64, SHS_TYPE_F32, SHS_TYPE_I16};
    int run;
    (void)state;
    for (run = 0; run < 3 * 3 * 4; run++) {
        plain_cube p = mixed_cube(ROWS, COLUMNS, B, 3, 1, 40 + (uint64_t)run);
        unsigned char mask[MOST];
        shs_pca_options o = SHS_ZERO;
        shs_pca few = SHS_ZERO, dense = SHS_ZERO;
        shs_moments m = SHS_ZERO;
        shs_cube cube, used;
        stream s;
        int k, b, valid = 0;
        size_t i;
        for (i = 0; i < values_of(&p); i++) p.x[i] = floor(p.x[i] * 16);
        for (i = 0; i < MOST; i++) {
            mask[i] = run < 18 || i % 5 != 3;
            valid += mask[i];
            if (run % 4 != 1) pixel_of(&p, i)[7] = 100; /* a constant band, which has no correlation */
        }
        cube = cube_of(&p, types[run % 3], (shs_interleave)(run / 3 % 3), 0);
        if (run >= 18) cube.mask = mask;
        used = run % 2 ? streamed(&cube, 3, &s) : cube;
        o.correlation = run % 4 == 1;
        o.divisor = (shs_divisor)(run % 5 == 2);
        o.precise = SHS_PRECISION_ALWAYS;
        assert_ok(shs_pca_fit(NULL, &used, &o, &few));
        assert_ok(shs_moments_create(NULL, B, &m));
        assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_ALWAYS, &m));
        assert_ok(shs_pca_from_moments(NULL, &m, &o, &dense));
        assert_int_equal(few.components, valid - 1);
        assert_int_equal(few.eigenvalue_count, B);
        assert_close(few.count, valid, 0);
        assert_close(few.total_variance, dense.total_variance, 1e-12 * dense.total_variance);
        check_near("mean", B, few.mean, dense.mean, 1e-11);
        check_near("scale", B, few.scale, dense.scale, 1e-10 * largest_of(B, dense.scale));
        check_near("eigenvalues", B, few.eigenvalues, dense.eigenvalues, 1e-12 * dense.eigenvalues[0]);
        for (k = 0; k < 3; k++)
            for (b = 0; b < B; b++) assert_close(few.vectors[k * B + b], dense.vectors[k * B + b], 1e-9);
        shs_pca_free(NULL, &few);
        o.components = valid + 4; /* more than there is variance in: any directions that are left */
        assert_ok(shs_pca_fit(NULL, &used, &o, &few));
        {
            double *VtV = naive_product(1, valid + 4, valid + 4, B, few.vectors, few.vectors);
            assert_int_equal(few.components, valid + 4);
            assert_true(off_identity(valid + 4, VtV) <= 1e-12);
            free(VtV);
        }
        shs_pca_free(NULL, &few);
        o.components = 0;
        o.variance = 0.9;
        shs_pca_free(NULL, &dense);
        assert_ok(shs_pca_fit(NULL, &used, &o, &few));
        assert_ok(shs_pca_from_moments(NULL, &m, &o, &dense));
        assert_int_equal(few.components, dense.components);
        shs_pca_free(NULL, &few), shs_pca_free(NULL, &dense), shs_moments_free(NULL, &m);
        free(p.x);
        cube_free(&cube);
    }
}

/* The minimum noise fraction of few pixels agrees too, for each kind of neighbours, with the fit to the reported noise
   covariance. */
static void test_noise_of_few_pixels(void **state) {
    enum { ROWS = 4, COLUMNS = 6, B = 60 };
    int run;
    (void)state;
    for (run = 0; run < 3 * 4; run++) {
        plain_cube p = mixed_cube(ROWS, COLUMNS, B, 3, 1, 70 + (uint64_t)run);
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, (shs_interleave)(run % 3), 0);
        shs_pca_options o = SHS_ZERO;
        shs_pca few = SHS_ZERO, dense = SHS_ZERO;
        shs_moments m = SHS_ZERO;
        unsigned char mask[ROWS * COLUMNS];
        plain_cube q = plain_of(&cube);
        double *noise;
        int k, b;
        for (k = 0; k < ROWS * COLUMNS; k++) mask[k] = run < 6 || k != 8;
        cube.mask = mask;
        o.neighbours = (shs_neighbours)(run / 3);
        assert_ok(shs_mnf_fit(NULL, &cube, &o, &few));
        noise = naive_noise(&q, mask);
        if (run < 3) check_near("noise", B * B, few.noise, noise, 1e-10 * largest_of(B * B, noise));
        assert_ok(shs_moments_create(NULL, B, &m));
        assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_ALWAYS, &m));
        o.components = 3;
        assert_ok(shs_mnf_from_noise(NULL, &m, few.noise, B, &o, &dense));
        for (k = 0; k < 3; k++) {
            assert_close(few.eigenvalues[k], dense.eigenvalues[k], 1e-7 * dense.eigenvalues[0]);
            for (b = 0; b < B; b++)
                assert_close(few.vectors[k * B + b], dense.vectors[k * B + b], 1e-6 * largest_of(B, dense.vectors + k * B));
        }
        assert_close(few.total_variance, dense.total_variance, 1e-6 * dense.total_variance);
        shs_pca_free(NULL, &few), shs_pca_free(NULL, &dense);
        o.components = ROWS * COLUMNS;
        assert_status(shs_mnf_fit(NULL, &cube, &o, &few), SHS_RANK_TOO_LOW);
        shs_moments_free(NULL, &m);
        free(noise);
        free(p.x);
        free(q.x);
        cube_free(&cube);
    }
}

/* A mask leaves few pixels of a large image: no fit keeps values of all pixels. */
static void test_few_pixels_of_a_large_image(void **state) {
    enum { ROWS = 200, COLUMNS = 300, B = 50, SIZE = 10 << 20 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 3, 1, 9);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    unsigned char *mask = NEW(unsigned char, ROWS * COLUMNS), *memory = NEW(unsigned char, SIZE);
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    shs_pca made;
    int i;
    (void)state;
    for (i = 0; i < B / 2; i++) mask[7 * COLUMNS + i] = 1;
    cube.mask = mask;
    shs_arena_init(&arena, memory, SIZE);
    shs_arena_attach(&arena, &ctx);
    ctx.threads = 1;
    assert_true(SIZE < (size_t)ROWS * COLUMNS * (B / 2 - 1) * sizeof(shs_wide));
    assert_ok(shs_pca_fit(&ctx, &cube, NULL, &made));
    shs_pca_free(&ctx, &made);
    assert_ok(shs_mnf_fit(&ctx, &cube, NULL, &made));
    assert_true(made.count == B / 2);
    shs_pca_free(&ctx, &made);
    free(mask);
    free(memory);
    free(p.x);
    cube_free(&cube);
}

/* Anomalies and sources of few pixels, in memory far below bands x bands; every pixel of N has the score N - 1 then, as numpy's
   pseudo-inverse says. So do detectors that need no covariance. */
static void test_few_pixels_in_little_memory(void **state) {
    enum { PIXELS = 24, B = 2500, SIZE = 24 << 20 };
    plain_cube p = mixed_cube(1, PIXELS, B, 3, 1, 4);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 1, PIXELS, 1);
    const double *got = (const double *)sink.pixels;
    unsigned char *memory = NEW(unsigned char, SIZE);
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    shs_detect_options o = SHS_ZERO;
    shs_ica_options of_ica = SHS_ZERO;
    shs_ica ica;
    int i, rank;
    (void)state;
    assert_true(SIZE < (size_t)B * B * sizeof(shs_wide));
    shs_arena_init(&arena, memory, SIZE);
    shs_arena_attach(&arena, &ctx);
    ctx.threads = 1;
    assert_ok(shs_rx(&ctx, &cube, NULL, &sink, &rank));
    assert_int_equal(rank, PIXELS - 1);
    for (i = 0; i < PIXELS; i++) assert_close(got[i], PIXELS - 1, 1e-7);
    of_ica.components = 2;
    assert_ok(shs_ica_fit(&ctx, &cube, &of_ica, &ica));
    check_ica(&ica);
    shs_ica_free(&ctx, &ica);
    of_ica.components = PIXELS;
    assert_status(shs_ica_fit(&ctx, &cube, &of_ica, &ica), SHS_RANK_TOO_LOW);
    o.method = SHS_DETECTOR_SAM;
    assert_ok(shs_detect(&ctx, &cube, 1, pixel_of(&p, 3), B, &o, &sink));
    assert_true(got[3] < 1e-6);
    o.method = SHS_DETECTOR_OSP;
    o.undesired = pixel_of(&p, 5);
    o.undesired_count = 1;
    assert_ok(shs_detect(&ctx, &cube, 1, pixel_of(&p, 3), B, &o, &sink));
    assert_close(got[3], 1, 1e-5);
    assert_close(got[5], 0, 1e-5);
    assert_int_equal(arena.used, 0);
    free(memory);
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* Four classes of their own means and spreads, in patches; labels that are none in some places. */
static int *patches(int lines, int samples, plain_cube *p) {
    int *labels = NEW(int, lines *samples), l, x, b;
    for (l = 0; l < lines; l++)
        for (x = 0; x < samples; x++) {
            int k = (l / 5 + 2 * (x / 9)) % 5;
            labels[l * samples + x] = (l * 31 + x) % 97 == 0 ? (l % 2 ? -3 : 77) : k;
            for (b = 0; b < p->bands; b++) {
                double *value = pixel_of(p, (size_t)(l * samples + x)) + b;
                *value = k == 4 ? 3 : *value * (1 + k) + 100 * k; /* pixels of the last class are all alike */
            }
        }
    return labels;
}

static int refuse_lines(void *user, int first_line, int lines, const void *block) {
    (void)user;
    (void)first_line;
    (void)lines;
    (void)block;
    return 1;
}

static void test_rx_by_class(void **state) {
    static const struct { int lines, samples, bands, block; } sizes[] = {{37, 43, 6, 5}, {20, 401, 3, 1}, {61, 33, 9, 100}};
    int run;
    (void)state;
    for (run = 0; run < 3 * 3 * 4; run++) {
        int z = run % 3, lines = sizes[z].lines, samples = sizes[z].samples, B = sizes[z].bands, kind = run / 9, k;
        plain_cube p = mixed_cube(lines, samples, B, 3, 1, 61 + (uint64_t)run), q;
        int *labels = patches(lines, samples, &p), *judged = NEW(int, pixels_of(&p)), ranks[6];
        shs_cube cube = cube_of(&p, run & 1 ? SHS_TYPE_F32 : SHS_TYPE_F64, (shs_interleave)(run / 3 % 3), 0), used;
        unsigned char *mask = NEW(unsigned char, pixels_of(&p));
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, lines, samples, 1);
        double *expected = NEW(double, pixels_of(&p)), most = 0, *got = (double *)sink.pixels;
        double *scratch = NEW(double, (size_t)(B * (B + 2)) + (size_t)(B + 1) * pixels_of(&p));
        stream s;
        size_t i;
        q = plain_of(&cube);
        for (i = 0; i < pixels_of(&p); i++) {
            mask[i] = kind < 2 || i % 7 != 3;
            judged[i] = mask[i] && labels[i] < 4 ? labels[i] : -1;
        }
        if (kind >= 2) cube.mask = mask;
        shs_rx_classes_naive(B, (ptrdiff_t)pixels_of(&q), q.x, judged, 4, expected, scratch);
        used = kind % 2 ? streamed(&cube, sizes[z].block, &s) : cube;
        sink.has_nodata = 1;
        sink.nodata = -5;
        assert_ok(shs_rx_classes(NULL, &used, labels, 6, NULL, &sink, ranks)); /* class 5 has no pixels */
        for (k = 0; k < 6; k++) assert_int_equal(ranks[k], k < 4 ? B : 0);
        for (i = 0; i < pixels_of(&p); i++) most = fmax(most, judged[i] < 0 ? 0 : expected[i]);
        for (i = 0; i < pixels_of(&p); i++) assert_close(got[i], judged[i] < 0 ? -5 : expected[i], 1e-8 * most);
        if (run < 3) {
            plain_cube values;
            shs_sink refused = sink;
            refused.pixels = NULL;
            refused.write_fn = refuse_lines;
            memset(ranks, UNTOUCHED, sizeof ranks);
            assert_status(shs_rx_classes(NULL, &used, labels, 6, NULL, &refused, ranks), SHS_WRITE_FAILED);
            assert_true(holds_untouched(ranks, sizeof ranks));
            sink.rescale = 1;
            sink.low = 1;
            sink.high = 3;
            assert_ok(shs_rx_classes(NULL, &used, labels, 6, NULL, &sink, NULL));
            values = sink_values(&sink, lines, samples, 1);
            most = 0;
            for (i = 0; i < pixels_of(&p); i++) {
                assert_true(judged[i] < 0 ? values.x[i] <= -5 : values.x[i] >= 1 && values.x[i] <= 3);
                most = fmax(most, values.x[i]);
            }
            assert_close(most, 3, 0);
            free(values.x);
        }
        free(p.x);
        free(q.x);
        free(labels);
        free(judged);
        free(mask);
        free(expected);
        free(scratch);
        cube_free(&cube);
        sink_free(&sink);
    }
}

/* Labels of five classes whose fits have different ranks: 0 has all bands, 1 has a constant band, 2 has two equal bands, 3 has
   fewer pixels than bands, 4 has pixels that are all alike. Lines are shared by classes, or (mixed) every pixel has another. */
static int *classes_of_other_ranks(plain_cube *p, int mixed) {
    int *labels = NEW(int, pixels_of(p)), i;
    for (i = 0; i < (int)pixels_of(p); i++) {
        double *x = pixel_of(p, (size_t)i);
        if (mixed) labels[i] = i * 7 % 11 % 3;
        else labels[i] = i / 17 % 3;
        if (i % 211 == 5 && i < 1000) labels[i] = 3;
        if (i % 97 == 11) labels[i] = 4;
        if (labels[i] == 1) x[1] = 0;
        if (labels[i] == 2) x[1] = x[2];
    }
    for (i = 0; i < (int)pixels_of(p); i++)
        if (labels[i] == 4) memcpy(pixel_of(p, (size_t)i), pixel_of(p, 11), (size_t)p->bands * sizeof(double));
    return labels;
}

/* The scores by class are those of each class alone, whatever the ranks of the others are, and in whatever layout. */
static void test_rx_by_classes_of_other_ranks(void **state) {
    enum { ROWS = 31, COLUMNS = 53, PIXELS = ROWS * COLUMNS, CLASSES = 6 };
    static const int all_bands[] = {3, 10, 17};
    int run;
    (void)state;
    for (run = 0; run < 3 * 3 * 2; run += every_on_device(7)) {
        int B = all_bands[run % 3], ranks[CLASSES], alone, k, i;
        plain_cube p = mixed_cube(ROWS, COLUMNS, B, 2, 1, 91 + (uint64_t)run);
        int *labels = classes_of_other_ranks(&p, run / 9);
        shs_cube cube = cube_of(&p, run & 1 ? SHS_TYPE_F32 : SHS_TYPE_F64, (shs_interleave)(run / 3 % 3), 0), part = cube;
        shs_sink all = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1),
                 one = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
        const double *got = (const double *)all.pixels, *want = (const double *)one.pixels;
        unsigned char mask[PIXELS];
        assert_ok(shs_rx_classes(NULL, &cube, labels, CLASSES, NULL, &all, ranks));
        for (k = 0; k < CLASSES; k++) {
            shs_status status;
            for (i = 0; i < PIXELS; i++) mask[i] = labels[i] == k;
            part.mask = mask;
            status = shs_rx(NULL, &part, NULL, &one, &alone);
            if (k >= 4) assert_status(status, k == 4 ? SHS_ZERO_VARIANCE : SHS_NO_PIXELS);
            else assert_ok(status);
            assert_int_equal(ranks[k], k < 4 ? alone : 0);
            for (i = 0; i < PIXELS; i++) {
                if (labels[i] != k) continue;
                if (k >= 4) assert_true(is_nan(got[i]));
                else assert_close(got[i], want[i], 1e-9 * (1 + want[i]));
            }
        }
        free(p.x);
        free(labels);
        cube_free(&cube);
        sink_free(&all);
        sink_free(&one);
    }
}

/* Classes without pixels take no pass over the cube, nor memory of its bands: a stream is read for those that have some. */
static void test_rx_of_empty_classes(void **state) {
    enum { ROWS = 5, COLUMNS = 7, B = 4, CLASSES = 1000 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 2, 1, 17);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0), lines;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    int *labels = NEW(int, ROWS *COLUMNS), i;
    stream s;
    (void)state;
    for (i = 0; i < ROWS * COLUMNS; i++) labels[i] = 500 * (i % 2);
    lines = streamed(&cube, 1, &s);
    assert_ok(shs_rx_classes(NULL, &lines, labels, CLASSES, NULL, &sink, NULL));
    assert_int_equal(s.passes, 3); /* two fits and the scores */
    free(p.x);
    free(labels);
    cube_free(&cube);
    sink_free(&sink);
}

/* One class is the whole: the same bits, of every type, and the same statuses. */
static void test_rx_of_one_class_is_global(void **state) {
    enum { ROWS = 29, COLUMNS = 47, B = 8 };
    static const shs_type types[] = {SHS_TYPE_F64, SHS_TYPE_F32, SHS_TYPE_I16, SHS_TYPE_U8};
    int run, *labels = NEW(int, ROWS *COLUMNS), rank, of_class;
    plain_cube flat = new_plain(ROWS, COLUMNS, B);
    shs_sink a = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1),
             b = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    shs_cube constant = cube_f64(&flat);
    (void)state;
    for (run = 0; run < 4 * 3 * 2; run++) {
        plain_cube p = random_values(types[run % 4], ROWS, COLUMNS, B, 71 + (uint64_t)run);
        shs_cube cube = cube_of(&p, types[run % 4], (shs_interleave)(run / 4 % 3), run & 1);
        shs_pca_options o = options_of(run / 12 ? 3 : 0, run / 12, 0, 0);
        o.skip = run / 12;
        assert_ok(shs_rx(NULL, &cube, &o, &a, &rank));
        assert_ok(shs_rx_classes(NULL, &cube, labels, 1, &o, &b, &of_class));
        assert_int_equal(rank, of_class);
        assert_memory_equal(a.pixels, b.pixels, ROWS * COLUMNS * sizeof(double));
        free(p.x);
        cube_free(&cube);
    }
    assert_status(shs_rx_classes(NULL, &constant, labels, 1, NULL, &b, &of_class), SHS_ZERO_VARIANCE);
    assert_status(shs_rx_classes(NULL, &constant, labels, 0, NULL, &b, &of_class), SHS_BAD_LABELS);
    assert_status(shs_rx_classes(NULL, &constant, NULL, 1, NULL, &b, &of_class), SHS_BAD_LABELS);
    memset(labels, 0xff, ROWS * COLUMNS * sizeof *labels);
    assert_status(shs_rx_classes(NULL, &constant, labels, 1, NULL, &b, &of_class), SHS_NO_PIXELS);
    free(labels);
    free(flat.x);
    cube_free(&constant);
    sink_free(&a);
    sink_free(&b);
}

/* Each pixel's background by the sums of a plain loop over valid pixels; NaN where it has too few. */
static double local_score(const plain_cube *p, const unsigned char *valid, int line, int sample,
                          const shs_rx_local_options *o) {
    int B = p->bands, y, x, a, b, pass, enough;
    double count = 0, score = 0, trace = 0, *mean = NEW(double, B), *C = NEW(double, B *B), *u = NEW(double, B),
           *L = NEW(double, B *B);
    for (pass = 0; pass < 2; pass++)
        for (y = 0; y < p->lines; y++)
            for (x = 0; x < p->samples; x++) {
                size_t i = (size_t)(y * p->samples + x);
                int width[2], top[2], left[2], k, in[2];
                width[0] = o->outer;
                width[1] = o->inner;
                for (k = 0; k < 2; k++) {
                    top[k] = line - width[k] / 2;
                    left[k] = sample - width[k] / 2;
                    if (top[k] + width[k] > p->lines) top[k] = p->lines - width[k];
                    if (left[k] + width[k] > p->samples) left[k] = p->samples - width[k];
                    if (top[k] < 0) top[k] = 0;
                    if (left[k] < 0) left[k] = 0;
                    in[k] = y >= top[k] && y < top[k] + width[k] && x >= left[k] && x < left[k] + width[k];
                }
                if (!valid[i] || !in[0] || in[1]) continue;
                if (pass == 0) count++;
                for (a = 0; a < B; a++) {
                    if (pass == 0) mean[a] += pixel_of(p, i)[a];
                    for (b = 0; b < B && pass; b++)
                        C[b * B + a] += (pixel_of(p, i)[a] - mean[a] / count) * (pixel_of(p, i)[b] - mean[b] / count) / count;
                }
            }
    enough = count > (o->ridge > 0 ? 1 : B) && valid[line * p->samples + sample];
    for (b = 0; b < B; b++) trace += C[b * B + b];
    for (b = 0; b < B; b++) C[b * B + b] += (double)o->ridge * trace / B;
    if (!enough) score = NOT_A_NUMBER;
    for (b = 0; b < B && enough; b++) { /* C = L L', u = L^-1 (x - mean) */
        int i, j;
        for (i = b; i < B; i++) {
            double sum = C[b * B + i];
            for (j = 0; j < b; j++) sum -= L[j * B + i] * L[j * B + b];
            L[b * B + i] = i == b ? sqrt(sum) : sum / L[b * B + b];
        }
        u[b] = pixel_of(p, (size_t)(line * p->samples + sample))[b] - mean[b] / count;
        for (j = 0; j < b; j++) u[b] -= L[j * B + b] * u[j];
        u[b] /= L[b * B + b];
        score += u[b] * u[b];
    }
    free(mean);
    free(C);
    free(u);
    free(L);
    return score;
}

static void test_rx_local(void **state) {
    static const struct {
        int lines, samples, bands, inner, outer, block;
    } sizes[] = {{13, 17, 5, 3, 7, 2}, {9, 71, 3, 1, 5, 1},     {21, 8, 9, 3, 9, 5},
                 {6, 5, 2, 3, 25, 3},  {11, 67, 17, 1, 7, 100}, {1, 40, 2, 1, 9, 1},
                 {18, 12, 33, 3, 9, 4}, {9, 66, 24, 1, 13, 3},  {17, 4, 6, 3, 5, 6}};
    int run, l, x;
    (void)state;
    for (run = 0; run < 9 * 3 * 2; run += every(5)) {
        int z = run % 9, lines = sizes[z].lines, samples = sizes[z].samples, B = sizes[z].bands, kind = run / 9;
        plain_cube p = mixed_cube(lines, samples, B, 2, 2, 81 + (uint64_t)run), q;
        size_t count = pixels_of(&p), i;
        unsigned char *valid = NEW(unsigned char, count);
        shs_cube cube, used;
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIL, lines, samples, 1),
                 again = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIL, lines, samples, 1), between;
        double *expected = NEW(double, count), *scratch = NEW(double, B *(B + 2)), most = 0;
        shs_context ctx = SHS_ZERO;
        shs_rx_local_options o = SHS_ZERO;
        stream s;
        collector c;
        o.inner = sizes[z].inner;
        o.outer = sizes[z].outer;
        o.ridge = kind && run % 4 == 3 ? (shs_wide)0.01 : 0;
        for (i = 0; i < count; i++) valid[i] = kind < 3 || i % 9 != 4;
        cube = cube_of(&p, run & 1 ? SHS_TYPE_F32 : SHS_TYPE_F64, (shs_interleave)(kind % 3), 0);
        if (kind >= 3) cube.mask = valid;
        q = plain_of(&cube);
        used = kind % 2 ? streamed(&cube, sizes[z].block, &s) : cube;
        for (l = 0; l < lines; l++)
            for (x = 0; x < samples; x++) expected[l * samples + x] = local_score(&q, valid, l, x, &o);
        for (i = 0; i < count; i++) most = is_nan(expected[i]) ? most : fmax(most, expected[i]);
        between = kind % 2 ? collecting(&sink, lines, samples, 1, &c) : sink;
        assert_ok(shs_rx_local(NULL, &used, &o, &between));
        check_near("scores", count, (const double *)sink.pixels, expected, 1e-7 * most);
        ctx.threads = 3; /* and the same bits, from memory */
        assert_ok(shs_rx_local(&ctx, &used, &o, &again));
        assert_memory_equal(again.pixels, sink.pixels, count * sizeof(double));
        if (kind == 0) {
            double *twin = NEW(double, count);
            shs_rx_local_naive(B, lines, samples, q.x, sizes[z].inner, sizes[z].outer, twin, scratch);
            for (i = 0; i < count; i++)
                if (!is_nan(expected[i])) assert_close(twin[i], expected[i], 1e-7 * most);
            free(twin);
            again.rescale = 1;
            again.low = -1;
            again.high = 4;
            o.divisor = SHS_DIVISOR_N_LESS_1;
            assert_ok(shs_rx_local(NULL, &used, &o, &again));
            most = -1;
            for (i = 0; i < count; i++) most = fmax(most, ((const double *)again.pixels)[i]);
            assert_close(most, 4, 1e-12);
        }
        free(p.x);
        free(q.x);
        free(valid);
        free(expected);
        free(scratch);
        cube_free(&cube);
        sink_free(&sink);
        sink_free(&again);
    }
}

/* A window as large as the image, and the pixel alone in the inner one: the background is all but that pixel, whose mean and
   covariance follow from the global ones by an update of rank one (Sherman and Morrison). */
static void test_rx_local_of_the_whole_image(void **state) {
    enum { ROWS = 19, COLUMNS = 23, B = 6 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 3, 1, 91);
    shs_cube cube = cube_f64(&p);
    shs_sink a = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1),
             b = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    static const int bad[][2] = {{2, 9}, {3, 3}, {3, 8}, {-1, 9}, {3, -9}, {25, 25}, {25, 0}, {0, 5}};
    const double m = ROWS * COLUMNS;
    shs_rx_local_options o = SHS_ZERO;
    size_t i;
    (void)state;
    o.inner = 1;
    o.outer = 99;
    assert_ok(shs_rx(NULL, &cube, NULL, &a, NULL));
    assert_ok(shs_rx_local(NULL, &cube, &o, &b));
    for (i = 0; i < ROWS * COLUMNS; i++) {
        double q = ((const double *)a.pixels)[i], d = m / (m - 1);   /* x - mean of the others = d (x - mean) */
        double left = d * d * q / (m / (m - 1)) / (1 - q / (m - 1)); /* Sherman and Morrison */
        assert_close(((const double *)b.pixels)[i], left, 1e-9 * left);
    }
    o.inner = 0; /* 0 is 5; and no window is wider than the image */
    o.outer = 99;
    assert_ok(shs_rx_local(NULL, &cube, &o, &a));
    o.outer = 25;
    assert_ok(shs_rx_local(NULL, &cube, &o, &b));
    assert_memory_equal(a.pixels, b.pixels, ROWS * COLUMNS * sizeof(double));
    assert_ok(shs_rx_local(NULL, &cube, NULL, &a));
    assert_memory_equal(a.pixels, b.pixels, ROWS * COLUMNS * sizeof(double));
    assert_status(shs_rx_local(NULL, &cube, NULL, NULL), SHS_BAD_SINK);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.inner = bad[i][0];
        o.outer = bad[i][1];
        assert_status(shs_rx_local(NULL, &cube, &o, &b), SHS_BAD_WINDOW);
    }
    o.inner = 3;
    o.outer = 9;
    o.divisor = (shs_divisor)2;
    assert_status(shs_rx_local(NULL, &cube, &o, &b), SHS_BAD_OPTIONS);
    o.divisor = SHS_DIVISOR_N;
    o.ridge = -1;
    assert_status(shs_rx_local(NULL, &cube, &o, &b), SHS_BAD_OPTIONS);
    o.ridge = (shs_wide)NOT_A_NUMBER;
    assert_status(shs_rx_local(NULL, &cube, &o, &b), SHS_BAD_OPTIONS);
    free(p.x);
    cube_free(&cube);
    sink_free(&a);
    sink_free(&b);
}

/* A constant patch has no covariance: its pixels are missing, and the others are not. Every read and allocation may fail. */
static void test_rx_local_without_a_background(void **state) {
    enum { ROWS = 12, COLUMNS = 30, B = 3 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 2, 1, 92);
    shs_rx_local_options o = SHS_ZERO;
    shs_cube cube, used;
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    const float *got = (const float *)sink.pixels;
    stream s;
    int l, x, b, at;
    (void)state;
    o.inner = 1;
    o.outer = 5;
    for (l = 0; l < ROWS; l++)
        for (x = 15; x < COLUMNS; x++)
            for (b = 0; b < B; b++) pixel_of(&p, (size_t)(l * COLUMNS + x))[b] = 7;
    cube = cube_f64(&p);
    sink.has_nodata = 1;
    sink.nodata = -1;
    assert_ok(shs_rx_local(NULL, &cube, &o, &sink));
    for (l = 0; l < ROWS; l++)
        for (x = 0; x < COLUMNS; x++)
            if (x < 13) assert_true(got[l * COLUMNS + x] >= 0);
            else if (x >= 18) assert_true(got[l * COLUMNS + x] <= -1);
    used = streamed(&cube, 4, &s);
    for (at = 0; at < 3; at++) {
        s.calls = s.passes = 0;
        s.fail_at = at;
        assert_status(shs_rx_local(NULL, &used, &o, &sink), SHS_READ_FAILED);
    }
    {
        shs_context ctx = SHS_ZERO;
        faulty f;
        faulty_attach(&f, 0, &ctx);
        assert_status(shs_rx_local(&ctx, &cube, &o, &sink), SHS_NO_MEMORY);
        assert_int_equal(f.outstanding, 0);
    }
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* A huge pixel in the inner window where the sums of a run begin: it is added and taken off again. A score is right or, near the
   pixel, missing. */
static void test_rx_local_of_a_huge_pixel(void **state) {
    enum { ROWS = 12, COLUMNS = 130, N = ROWS * COLUMNS };
    plain_cube p = new_plain(ROWS, COLUMNS, 1);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    const double *got = (const double *)sink.pixels;
    double *expected = NEW(double, N), room[3];
    static const int places[][2] = {{8, 44}, {9, 45}, {7, 43}, {1, 0}, {10, 88}};
    shs_rx_local_options o = SHS_ZERO;
    shs_random r;
    int k, i;
    (void)state;
    shs_random_seed(&r, 6);
    for (i = 0; i < N; i++) p.x[i] = (double)shs_random_normal(&r);
    o.inner = 5;
    o.outer = 11;
    for (k = 0; k < 5; k++) {
        const int at = places[k][0] * COLUMNS + places[k][1];
        const double kept = p.x[at];
        shs_cube cube;
        p.x[at] = 3e8;
        cube = cube_f64(&p);
        assert_ok(shs_rx_local(NULL, &cube, &o, &sink));
        shs_rx_local_naive(1, ROWS, COLUMNS, p.x, 5, 11, expected, room);
        for (i = 0; i < N; i++) {
            const int far = abs(i % COLUMNS - places[k][1]) > 10;
            assert_false(far && is_nan(got[i]));
            if (!is_nan(got[i])) assert_close(got[i], expected[i], (far ? 1e-9 : 1e-3) * (1 + expected[i]));
        }
        cube_free(&cube);
        p.x[at] = kept;
    }
    free(p.x);
    free(expected);
    sink_free(&sink);
}

/* A score depends on its own window alone: not on a first line without pixels, on a fill value in other lines, or on a huge pixel
   that shares a run. */
static void test_rx_local_depends_on_its_window(void **state) {
    enum { ROWS = 44, COLUMNS = 70, B = 3, N = ROWS * COLUMNS };
    static const struct {
        int rows, columns; /* of the corner that is changed */
        double value;
    } cases[] = {{1, COLUMNS, NOT_A_NUMBER}, {12, COLUMNS, -9999}, {1, COLUMNS, 0}, {1, 1, 3e8}, {10, 40, 1e20}};
    const double *got;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    unsigned char *valid = NEW(unsigned char, N);
    shs_rx_local_options o = SHS_ZERO;
    int k, i, b;
    (void)state;
    got = (const double *)sink.pixels;
    o.inner = 3;
    o.outer = 9;
    for (k = 0; k < 5; k++) {
        plain_cube p = mixed_cube(ROWS, COLUMNS, B, 2, 1, 95);
        shs_cube cube;
        for (i = 0; i < N * B; i++) p.x[i] = 300 + 1e-3 * p.x[i];
        for (i = 0; i < N; i++) {
            const int changed = i / COLUMNS < cases[k].rows && i % COLUMNS < cases[k].columns;
            for (b = 0; b < B && changed; b++) p.x[i * B + b] = cases[k].value * (1 + b % 2);
            valid[i] = !(changed && is_nan(cases[k].value));
        }
        cube = cube_f64(&p);
        assert_ok(shs_rx_local(NULL, &cube, &o, &sink));
        for (i = 0; i < N; i++) {
            const int line = i / COLUMNS, sample = i % COLUMNS;
            if (line < cases[k].rows + 8 && sample < cases[k].columns + 8) continue;
            assert_close(got[i], local_score(&p, valid, line, sample, &o), 1e-6 * (1 + got[i]));
        }
        free(p.x);
        cube_free(&cube);
    }
    free(valid);
    sink_free(&sink);
}

/* Where no pixel has a background of full rank there is a status in place of an output of missing pixels: windows with no more
   pixels than bands, a constant band, a window that is the whole of a small image. One pixel with a score is enough for
   success, and a ridge helps in all cases. The largest window is the whole image. */
static void test_rx_local_windows_too_small(void **state) {
    enum { ROWS = 9, COLUMNS = 11, B = 8 };
    static const struct { int rows, inner, outer, fails; } cases[] = {
        {ROWS, 1, 3, 1}, {ROWS, 3, 5, 0}, {1, 1, 9, 1}, {1, 1, 11, 0}, {1, 3, 11, 1}, {ROWS, 1, INT_MAX, 0}, {1, 3, INT_MAX, 1}};
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    int run, rescaled, i;
    (void)state;
    sink.high = 1;
    for (run = 0; run < 7 * 2; run++) {
        shs_status want = cases[run / 2].fails ? SHS_SINGULAR_COVARIANCE : SHS_OK;
        plain_cube p = mixed_cube(cases[run / 2].rows, COLUMNS, B, 3, 1, 95);
        shs_cube cube = cube_f64(&p), used;
        shs_rx_local_options o = SHS_ZERO;
        stream s;
        used = run % 2 ? streamed(&cube, 2, &s) : cube;
        o.inner = cases[run / 2].inner;
        o.outer = cases[run / 2].outer;
        for (rescaled = 0; rescaled < 2; rescaled++) {
            sink.rescale = rescaled;
            o.ridge = 0;
            assert_status(shs_rx_local(NULL, &used, &o, &sink), want);
            o.ridge = (shs_wide)0.01;
            assert_ok(shs_rx_local(NULL, &used, &o, &sink));
        }
        for (i = 0; i < (int)pixels_of(&p); i++) pixel_of(&p, (size_t)i)[3] = 7;
        cube_free(&cube);
        cube = cube_f64(&p);
        o.ridge = 0;
        for (rescaled = 0; rescaled < 2; rescaled++) {
            sink.rescale = rescaled;
            assert_status(shs_rx_local(NULL, &cube, &o, &sink), SHS_SINGULAR_COVARIANCE);
            for (i = 0; i < cases[run / 2].rows * COLUMNS && want == SHS_OK; i++)
                assert_true(isnan(((const double *)sink.pixels)[i]));
        }
        free(p.x);
        cube_free(&cube);
    }
    sink_free(&sink);
}

/* Without a valid pixel the whole output is missing, of an image of any size, by a mask or by no-data values: the status is OK. One
   valid pixel without a background is a singular covariance. */
static void test_rx_local_without_pixels(void **state) {
    enum { MOST = 30, B = 4 };
    static const unsigned char none[MOST * MOST];
    unsigned char mask[MOST * MOST] = {0};
    static const int sides[] = {2, 3, MOST};
    int k, way, rescaled, i;
    (void)state;
    for (k = 0; k < 3; k++) {
        const int side = sides[k];
        plain_cube p = mixed_cube(side, side, B, 3, 1, 95);
        shs_cube cube = cube_f64(&p), used;
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, side, side, 1);
        const unsigned char *const masks[] = {NULL, none, none, mask};
        stream s;
        sink.high = 1;
        mask[side * side - 1] = 1;
        for (way = 0; way < 4; way++)
            for (rescaled = 0; rescaled < 2; rescaled++) {
                cube.mask = masks[way];
                cube.has_nodata = way == 0;
                for (i = 0; i < (int)values_of(&p) && way == 0; i++) ((double *)cube.pixels)[i] = cube.nodata;
                used = way == 2 ? streamed(&cube, 2, &s) : cube;
                sink.rescale = rescaled;
                memset(sink.pixels, 0, (size_t)(side * side) * sizeof(double));
                assert_status(shs_rx_local(NULL, &used, NULL, &sink), way == 3 ? SHS_SINGULAR_COVARIANCE : SHS_OK);
                for (i = 0; i < side * side; i++) {
                    const double score = ((const double *)sink.pixels)[i];
                    const int zero = score <= 0 && score >= 0; /* as before the call, and the no-data value */
                    if (way == 0) assert_true(zero);
                    else if (way < 3) assert_true(is_nan(score));
                    else assert_true(zero || (is_nan(score) && !rescaled));
                }
            }
        mask[side * side - 1] = 0;
        free(p.x);
        cube_free(&cube);
        sink_free(&sink);
    }
}

/* Pixels that have left the window leave rounding errors in the sums. Rounding errors must not count as covariance. Zeros,
   with which a scene is filled up beside bright pixels, have none, and with a ridge neither. */
static void test_rx_local_beside_zeros(void **state) {
    enum { ROWS = 20, COLUMNS = 60, B = 3 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 2, 1, 93);
    shs_rx_local_options o = SHS_ZERO;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    const double *got = (const double *)sink.pixels;
    shs_cube cube;
    int l, x, b, run;
    (void)state;
    for (l = 0; l < ROWS; l++)
        for (x = 0; x < COLUMNS; x++)
            for (b = 0; b < B; b++) pixel_of(&p, (size_t)(l * COLUMNS + x))[b] *= x < 30 && l > 0 ? 1e4 : 0;
    cube = cube_f64(&p);
    o.inner = 1;
    o.outer = 5;
    for (run = 0; run < 2; run++) {
        o.ridge = run ? (shs_wide)0.01 : 0;
        assert_ok(shs_rx_local(NULL, &cube, &o, &sink));
        for (l = 0; l < ROWS; l++)
            for (x = 0; x < COLUMNS; x++)
                if (x < 28 && l > 1) assert_true(got[l * COLUMNS + x] >= 0);
                else if (x >= 32) assert_true(is_nan(got[l * COLUMNS + x]));
    }
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* ---- minimum noise fraction -------------------------------------------------------------------------------------- */

/* F N F' = 1, F C F' = the eigenvalues, backward undoes forward; eigenvalues are those of N^-1 C. */
static void check_mnf(const shs_pca *mnf, int B, const double *C, const double *N, double bound) {
    double *values = NEW(double, B), *FN, *FC, *NN, *CC, *I, *Ft = NEW(double, B * B);
    int i, j, K = mnf->components;
    assert_int_equal(K, B);
    naive_mnf_values(B, C, N, values);
    for (j = 0; j < B; j++) assert_close(mnf->eigenvalues[j], values[j], bound * values[0]);
    for (j = 0; j < K; j++)
        for (i = 0; i < B; i++) Ft[j * B + i] = mnf->forward[i * K + j];
    FN = naive_product(0, K, B, B, mnf->forward, N);
    FC = naive_product(0, K, B, B, mnf->forward, C);
    NN = naive_product(0, K, K, B, FN, Ft);
    CC = naive_product(0, K, K, B, FC, Ft);
    I = naive_product(0, B, B, K, mnf->backward, mnf->forward);
    for (j = 0; j < B; j++)
        for (i = 0; i < B; i++) {
            assert_close(NN[j * B + i], i == j, bound * values[0]);
            assert_close(CC[j * B + i], i == j ? values[j] : 0, bound * values[0]);
            assert_close(I[j * B + i], i == j, bound * values[0]);
        }
    check_signs(B, K, mnf->vectors);
    free(values);
    free(FN);
    free(FC);
    free(NN);
    free(CC);
    free(I);
    free(Ft);
}

static void test_mnf(void **state) {
    int turn = 0;
    static const shs_type some[] = {SHS_TYPE_F64, SHS_TYPE_F32, SHS_TYPE_I16};
    int t, masked, blocks;
    (void)state;
    for (t = 0; t < 3; t++)
        for (masked = 0; masked < 2; masked++)
            for (blocks = 0; blocks < 3; blocks++) {
                if (left_out(&turn, every_on_device(5))) continue;
                plain_cube p = smooth_cube(37, 43, 7, 3, 11), q;
                unsigned char *mask = NEW(unsigned char, pixels_of(&p));
                double *mean = NEW(double, 7), *C = NEW(double, 49), *N;
                shs_cube cube, used;
                shs_pca mnf;
                stream s;
                size_t i;
                for (i = 0; i < values_of(&p) && t == 2; i++) p.x[i] = floor(20 * p.x[i]);
                for (i = 0; i < pixels_of(&p); i++) mask[i] = !masked || i % 11 != 4;
                cube = cube_of(&p, some[t], (shs_interleave)blocks, t & 1);
                cube.mask = masked ? mask : NULL;
                q = plain_of(&cube);
                naive_moments(&q, mask, mean, C);
                N = naive_noise(&q, mask);
                used = blocks ? streamed(&cube, 5 * blocks, &s) : cube;
                assert_ok(shs_mnf_fit(NULL, &used, NULL, &mnf));
                check_near("mean", 7, mnf.mean, mean, 1e-12 * largest_of(7, mean));
                check_mnf(&mnf, 7, C, N, 1e-10);
                shs_pca_free(NULL, &mnf);
                free(p.x);
                free(q.x);
                free(mask);
                free(mean);
                free(C);
                free(N);
                cube_free(&cube);
            }
}

static void test_mnf_round_trip(void **state) {
    plain_cube p = smooth_cube(31, 29, 6, 2, 12), got;
    shs_cube cube = cube_f64(&p), between;
    shs_sink components = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 31, 29, 6),
             back = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 31, 29, 6);
    shs_pca mnf, two;
    shs_pca_options o = options_of(2, 0, 0, 0);
    double mean[6], C[36];
    int i, j;
    (void)state;
    assert_ok(shs_mnf_fit(NULL, &cube, NULL, &mnf));
    assert_true(mnf.eigenvalues[1] > 5);
    assert_true(mnf.eigenvalues[2] < 2);
    assert_ok(shs_pca_transform(NULL, &mnf, &cube, &components));
    got = sink_values(&components, 31, 29, 6);
    naive_moments(&got, NULL, mean, C); /* uncorrelated, with the eigenvalues as variances */
    for (j = 0; j < 6; j++)
        for (i = 0; i < 6; i++) assert_close(C[6 * j + i], i == j ? mnf.eigenvalues[j] : 0, 1e-9 * mnf.eigenvalues[0]);
    free(got.x);
    between = sink_cube(&components, 31, 29, 6);
    assert_ok(shs_pca_inverse(NULL, &mnf, &between, &back));
    got = sink_values(&back, 31, 29, 6);
    check_near("round trip", values_of(&p), got.x, p.x, 1e-9 * largest_of(values_of(&p), p.x));
    free(got.x);
    assert_ok(shs_mnf_fit(NULL, &cube, &o, &two));
    assert_int_equal(two.components, 2);
    check_near("eigenvalues", 2, two.eigenvalues, mnf.eigenvalues, 1e-10 * mnf.eigenvalues[0]);
    for (i = 0; i < 6; i++)
        for (j = 0; j < 2; j++) assert_close(two.forward[i * 2 + j], mnf.forward[i * 6 + j], 1e-9);
    shs_pca_free(NULL, &mnf), shs_pca_free(NULL, &two);
    free(p.x);
    cube_free(&cube);
    sink_free(&components);
    sink_free(&back);
}

/* Rebuilt from as many components as there are sources, the pixels are closer to those without noise. */
static void test_mnf_denoises(void **state) {
    plain_cube p = smooth_cube(40, 50, 12, 2, 13), clean = p, got;
    shs_cube cube = cube_f64(&p);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 40, 50, 12);
    shs_pca mnf;
    size_t i, b;
    double before = 0, after = 0;
    (void)state;
    assert_ok(shs_mnf_fit(NULL, &cube, NULL, &mnf));
    assert_ok(shs_pca_denoise(NULL, &mnf, 2, &cube, &sink));
    got = sink_values(&sink, 40, 50, 12);
    clean.x = NEW(double, values_of(&p));
    {
        double *spectra = NEW(double, 24);
        shs_random r;
        shs_random_seed(&r, 13);
        for (i = 0; i < 24; i++) spectra[i] = 10 * (double)shs_random_normal(&r);
        for (i = 0; i < 2000; i++)
            for (b = 0; b < 12; b++)
                pixel_of(&clean, i)[b] = 200 + 7 * (double)b +
                                         sin(0.05 * (double)(i % 50)) * cos(0.14 * (double)(i / 50)) * spectra[b] +
                                         sin(0.1 * (double)(i % 50) + 0.3) * cos(0.21 * (double)(i / 50)) * spectra[12 + b];
        free(spectra);
    }
    for (i = 0; i < values_of(&p); i++) {
        before += (p.x[i] - clean.x[i]) * (p.x[i] - clean.x[i]);
        after += (got.x[i] - clean.x[i]) * (got.x[i] - clean.x[i]);
    }
    assert_true(after < 0.3 * before);
    shs_pca_free(NULL, &mnf);
    free(p.x);
    free(clean.x);
    free(got.x);
    cube_free(&cube);
    sink_free(&sink);
}

static void test_mnf_from_noise(void **state) {
    plain_cube p = smooth_cube(21, 33, 6, 3, 14);
    double mean[6], C[36], *N, wide[48];
    shs_cube cube = cube_f64(&p);
    shs_moments m;
    shs_pca mnf, other;
    shs_pca_options o = SHS_ZERO;
    int i, j;
    (void)state;
    naive_moments(&p, NULL, mean, C);
    N = naive_noise(&p, NULL);
    for (i = 0; i < 48; i++) wide[i] = NOT_A_NUMBER;
    for (j = 0; j < 6; j++)
        for (i = 0; i < 6; i++) wide[8 * j + i] = N[6 * j + i];
    assert_ok(shs_moments_create(NULL, 6, &m));
    assert_ok(shs_moments_update(NULL, &cube, 1, &m));
    assert_ok(shs_mnf_from_noise(NULL, &m, wide, 8, NULL, &mnf));
    check_mnf(&mnf, 6, C, N, 1e-10);
    assert_ok(shs_mnf_fit(NULL, &cube, NULL, &other));
    check_near("eigenvalues", 6, mnf.eigenvalues, other.eigenvalues, 1e-10 * mnf.eigenvalues[0]);
    shs_pca_free(NULL, &mnf), shs_pca_free(NULL, &other);
    for (i = 0; i < 6; i++) wide[8 * 2 + i] = wide[8 * i + 2] = 0; /* a band without noise */
    o.components = 6;
    assert_status(shs_mnf_from_noise(NULL, &m, wide, 8, &o, &mnf), SHS_RANK_TOO_LOW);
    o.components = 5;
    assert_ok(shs_mnf_from_noise(NULL, &m, wide, 8, &o, &mnf));
    shs_pca_free(NULL, &mnf);
    assert_int_not_equal(shs_mnf_from_noise(NULL, &m, wide, 5, NULL, &mnf), SHS_OK);
    assert_int_not_equal(shs_mnf_from_noise(NULL, &m, NULL, 8, NULL, &mnf), SHS_OK);
    wide[9] = NOT_A_NUMBER;
    assert_int_not_equal(shs_mnf_from_noise(NULL, &m, wide, 8, NULL, &mnf), SHS_OK);
    shs_moments_free(NULL, &m);
    free(p.x);
    free(N);
    cube_free(&cube);
}

/* One column has no neighbours, a constant cube no noise. */
static void test_mnf_without_noise(void **state) {
    plain_cube p = smooth_cube(30, 1, 3, 2, 15), flat = new_plain(8, 9, 3);
    shs_cube column = cube_f64(&p), constant = cube_f64(&flat);
    shs_pca_options o = options_of(1, 0, 0, 0);
    shs_pca mnf;
    shs_status status;
    (void)state;
    status = shs_mnf_fit(NULL, &column, &o, &mnf);
    assert_true(status == SHS_NO_PIXELS || status == SHS_RANK_TOO_LOW);
    assert_status(shs_mnf_fit(NULL, &constant, &o, &mnf), SHS_RANK_TOO_LOW);
    free(p.x);
    free(flat.x);
    cube_free(&column);
    cube_free(&constant);
}

/* The noise of every neighbour, by the sums of a plain loop over pairs. */
static double *naive_noise_of(const plain_cube *p, const unsigned char *valid, int right, int down) {
    int B = p->bands, l, x, a, b;
    double count = 0, *mean = NEW(double, B), *noise = NEW(double, B *B);
    int pass;
    for (pass = 0; pass < 2; pass++)
        for (l = 0; l + down < p->lines; l++)
            for (x = 0; x + right < p->samples; x++) {
                size_t i = (size_t)l * (size_t)p->samples + (size_t)x;
                size_t j = i + (size_t)down * (size_t)p->samples + (size_t)right;
                const double *u = pixel_of(p, i), *v = pixel_of(p, j);
                if (!valid[i] || !valid[j]) continue;
                for (a = 0; a < B; a++) {
                    if (pass == 0) mean[a] += u[a] - v[a];
                    for (b = 0; b < B && pass; b++)
                        noise[b * B + a] += (u[a] - v[a] - mean[a] / count) * (u[b] - v[b] - mean[b] / count) / (2 * count);
                }
                if (pass == 0) count++;
            }
    free(mean);
    return noise;
}

static const int steps[3][2] = {{1, 0}, {0, 1}, {1, 1}};

/* The expected noise covariance for each choice of neighbours: of one neighbour, or the mean of all three. */
static double *expected_noise(const plain_cube *p, const unsigned char *valid, shs_neighbours neighbours) {
    size_t cells = (size_t)p->bands * (size_t)p->bands, i;
    double *sum = NEW(double, cells);
    int k, mean = neighbours == SHS_NEIGHBOURS_MEAN;
    for (k = 0; k < 3; k++) {
        double *one;
        if (!mean && k != (int)neighbours) continue;
        one = naive_noise_of(p, valid, steps[k][0], steps[k][1]);
        for (i = 0; i < cells; i++) sum[i] += one[i] / (mean ? 3 : 1);
        free(one);
    }
    return sum;
}

/* Odd sizes (lines longer than a panel, too), every layout and order of bytes, masks, no-data, NaN, streams of any block. */
static void test_noise_of_each_neighbour(void **state) {
    static const struct {
        int lines, samples, bands, block;
    } sizes[] = {{37, 43, 7, 5}, {9, 401, 5, 1}, {5, 193, 19, 2}, {61, 17, 3, 61}, {150, 64, 4, 7}};
    static const shs_type types[] = {SHS_TYPE_F64, SHS_TYPE_F32, SHS_TYPE_I16, SHS_TYPE_U8, SHS_TYPE_U32};
    int run;
    (void)state;
    for (run = 0; run < 5 * 4 * 6; run += every_on_device(17)) {
        int z = run % 5, lines = sizes[z].lines, samples = sizes[z].samples, B = sizes[z].bands, misses = run / 20;
        plain_cube p = smooth_cube(lines, samples, B, 2, 31 + (uint64_t)run), q;
        shs_type type = types[(run / 3) % 5];
        unsigned char *valid = NEW(unsigned char, pixels_of(&p));
        shs_pca_options o = SHS_ZERO;
        double *mean = NEW(double, B), *C = NEW(double, B *B), *N;
        shs_cube cube, used;
        shs_pca mnf;
        stream s;
        size_t i;
        for (i = 0; i < values_of(&p) && is_integer_type(type); i++)
            p.x[i] = type == SHS_TYPE_U8 ? fmod(fabs(floor(p.x[i])), 250) : floor(fabs(20 * p.x[i]));
        for (i = 0; i < pixels_of(&p); i++) valid[i] = !(misses % 3) || (i * 7 + i / 13) % 11 > 2;
        for (i = 0; i < pixels_of(&p) && misses % 3 == 2; i++) /* in one band only */
            if (!valid[i]) pixel_of(&p, i)[i % (size_t)B] = is_integer_type(type) || i % 2 ? 251 : NOT_A_NUMBER;
        o.neighbours = (shs_neighbours)(run / 5 % 4);
        cube = cube_of(&p, type, (shs_interleave)(run % 3), run & 1);
        if (misses % 3 == 1) cube.mask = valid;
        if (misses % 3 == 2) {
            cube.has_nodata = 1;
            cube.nodata = 251;
        }
        q = plain_of(&cube);
        for (i = 0; i < values_of(&q) && misses % 3 == 2; i++)
            if (!(fabs(q.x[i] - 251) > 0)) valid[i / (size_t)B] = 0;
        naive_moments(&q, valid, mean, C);
        N = expected_noise(&q, valid, o.neighbours);
        used = misses >= 3 ? streamed(&cube, sizes[z].block, &s) : cube;
        assert_ok(shs_mnf_fit(NULL, &used, &o, &mnf));
        check_near("noise", (size_t)(B * B), mnf.noise, N, 1e-12 * largest_of((size_t)(B * B), N));
        check_mnf(&mnf, B, C, N, 1e-9);
        shs_pca_free(NULL, &mnf);
        free(p.x);
        free(q.x);
        free(valid);
        free(mean);
        free(C);
        free(N);
        cube_free(&cube);
    }
}

/* A cube with lines and samples exchanged: what was below is right. */
static void test_lower_is_right_of_the_transposed(void **state) {
    enum { ROWS = 23, COLUMNS = 57, B = 6 };
    plain_cube p = smooth_cube(ROWS, COLUMNS, B, 2, 41), t = new_plain(COLUMNS, ROWS, B);
    shs_cube cube = cube_f64(&p), turned;
    int l, x, residual, kind;
    (void)state;
    for (l = 0; l < ROWS; l++)
        for (x = 0; x < COLUMNS; x++)
            memcpy(t.x + (size_t)(x * ROWS + l) * B, p.x + (size_t)(l * COLUMNS + x) * B, B * sizeof(double));
    turned = cube_f64(&t);
    for (kind = 0; kind < 4; kind++)
        for (residual = 0; residual < 2; residual++) {
            static const shs_neighbours then[] = {SHS_NEIGHBOURS_LOWER, SHS_NEIGHBOURS_RIGHT, SHS_NEIGHBOURS_DIAGONAL,
                                                  SHS_NEIGHBOURS_MEAN};
            shs_pca_options o = SHS_ZERO;
            shs_pca a, b;
            o.neighbours = (shs_neighbours)kind;
            o.noise_residual = residual;
            assert_ok(shs_mnf_fit(NULL, &cube, &o, &a));
            o.neighbours = then[kind];
            assert_ok(shs_mnf_fit(NULL, &turned, &o, &b));
            check_near("noise", B * B, a.noise, b.noise, 1e-12 * largest_of(B * B, a.noise));
            shs_pca_free(NULL, &a), shs_pca_free(NULL, &b);
        }
    free(p.x);
    free(t.x);
    cube_free(&cube);
    cube_free(&turned);
}

/* The covariance that was estimated, given: the same fit to the bit. */
static void test_noise_may_be_given(void **state) {
    enum { B = 9 };
    plain_cube p = smooth_cube(31, 44, B, 3, 42);
    shs_cube cube = cube_f64(&p);
    double *wide = NEW(double, (B + 2) * B);
    int kind, residual, i;
    (void)state;
    for (kind = 0; kind < 4; kind++)
        for (residual = 0; residual < 2; residual++) {
            shs_pca_options o = SHS_ZERO;
            shs_pca a, b;
            o.neighbours = (shs_neighbours)kind;
            o.noise_residual = residual;
            o.eigenvalue_at_least = (shs_wide)1.5;
            assert_ok(shs_mnf_fit(NULL, &cube, &o, &a));
            assert_true(a.components < B || residual);
            for (i = 0; i < a.components; i++) assert_true(i == 0 || a.eigenvalues[i] >= 1.5);
            assert_true(a.components == B || a.eigenvalues[a.components] < 1.5);
            for (i = 0; i < B; i++) memcpy(wide + i * (B + 2), a.noise + i * B, B * sizeof *wide);
            o.noise = wide;
            o.ldn = B + 2;
            o.neighbours = SHS_NEIGHBOURS_RIGHT;
            assert_ok(shs_mnf_fit(NULL, &cube, &o, &b));
            assert_true(same_pca(&a, &b));
            assert_memory_equal(a.noise, b.noise, B * B * sizeof *wide);
            o.ldn = B - 1;
            shs_pca_free(NULL, &b);
            assert_status(shs_mnf_fit(NULL, &cube, &o, &b), SHS_BAD_LDN);
            shs_pca_free(NULL, &a);
            assert_ok(shs_pca_fit(NULL, &cube, &o, &a)); /* has no use for a noise */
            shs_pca_free(NULL, &a);
        }
    free(wide);
    free(p.x);
    cube_free(&cube);
}

/* Compares the residual noise with the naive twin, and with known noise: in a scene with slopes common to all bands the
   differences overestimate the noise, and the residual comes close to the truth. */
static void test_noise_residual(void **state) {
    static const int bands[] = {1, 2, 3, 12};
    enum { ROWS = 41, COLUMNS = 53 };
    shs_random r;
    int run, b, l, x;
    (void)state;
    shs_random_seed(&r, 43);
    for (run = 0; run < 4 * 3; run++) {
        int B = bands[run % 4], kind = run / 4;
        plain_cube p = new_plain(ROWS, COLUMNS, B);
        double *mean = NEW(double, B), *plain = NEW(double, B *B), *N = NEW(double, B *B), *d = NEW(double, values_of(&p));
        shs_pca_options o = SHS_ZERO;
        shs_pca mnf;
        shs_cube cube;
        ptrdiff_t pairs;
        for (l = 0; l < ROWS; l++)
            for (x = 0; x < COLUMNS; x++)
                for (b = 0; b < B; b++)
                    pixel_of(&p, (size_t)(l * COLUMNS + x))[b] =
                        30 * sin(0.9 * l) * cos(0.8 * x) * (1 + 0.1 * b) + (double)shs_random_normal(&r);
        cube = cube_f64(&p);
        pairs = shs_noise_naive(B, ROWS, COLUMNS, p.x, steps[kind][0], steps[kind][1], mean, plain, d);
        assert_int_equal(pairs, (ROWS - steps[kind][1]) * (COLUMNS - steps[kind][0]));
        shs_noise_residual_naive(B, pairs, d, mean, N);
        o.neighbours = (shs_neighbours)kind;
        o.noise_residual = 1;
        assert_ok(shs_mnf_fit(NULL, &cube, &o, &mnf));
        check_near("residual", (size_t)(B * B), mnf.noise, N, 1e-11 * largest_of((size_t)(B * B), plain));
        for (b = 0; b < B && B > 2; b++) {
            assert_true(plain[b * B + b] > 20);
            assert_in_range((long)(100 * mnf.noise[b * B + b]), 100, b == 0 || b == B - 1 ? 250 : 200);
        }
        shs_pca_free(NULL, &mnf);
        free(p.x);
        free(mean);
        free(plain);
        free(N);
        free(d);
        cube_free(&cube);
    }
}

static long double covariance_of(int B, const double *N, int a, int b) { return (long double)N[b * B + a]; }

/* What bands l and r do not predict of band b, in long double. */
static double residual_of(int B, const double *N, int b, int l, int r) {
    const long double p = covariance_of(B, N, l, l), q = covariance_of(B, N, r, r), c = covariance_of(B, N, l, r);
    const long double u = covariance_of(B, N, b, l), v = covariance_of(B, N, b, r), whole = covariance_of(B, N, b, b);
    if (l == r) return (double)(whole - u * u / p);
    return (double)(whole - (u * u * q - 2 * u * v * c + v * v * p) / (p * q - c * c));
}

/* A scene that varies a thousand times as much as the noise leaves a millionth of each band's variance to it. */
static void test_noise_residual_of_bands_alike(void **state) {
    enum { ROWS = 41, COLUMNS = 53, B = 7 };
    plain_cube p = new_plain(ROWS, COLUMNS, B);
    shs_pca_options o = SHS_ZERO;
    shs_pca plain, rest;
    shs_cube cube;
    shs_random r;
    int b, l, x;
    (void)state;
    shs_random_seed(&r, 44);
    for (l = 0; l < ROWS; l++)
        for (x = 0; x < COLUMNS; x++)
            for (b = 0; b < B; b++)
                pixel_of(&p, (size_t)(l * COLUMNS + x))[b] =
                    1000 * sin(0.9 * l) * cos(0.8 * x) * (1 + 0.1 * b) + (double)shs_random_normal(&r);
    cube = cube_f64(&p);
    assert_ok(shs_mnf_fit(NULL, &cube, &o, &plain));
    o.noise_residual = 1;
    assert_ok(shs_mnf_fit(NULL, &cube, &o, &rest));
    for (b = 0; b < B; b++) {
        double expected = residual_of(B, plain.noise, b, b ? b - 1 : 1, b + 1 < B ? b + 1 : B - 2);
        assert_close(rest.noise[b * B + b], expected, 1e-8 * expected);
    }
    shs_pca_free(NULL, &plain), shs_pca_free(NULL, &rest);
    free(p.x);
    cube_free(&cube);
}

/* Each band in a unit of its own, up to a billion times as small: scores and ratios are the same, and no band is lost. */
static void test_units_of_bands(void **state) {
    enum { ROWS = 33, COLUMNS = 41, B = 6 };
    plain_cube p = smooth_cube(ROWS, COLUMNS, B, 2, 46), q = new_plain(ROWS, COLUMNS, B), scores, same;
    shs_cube cube = cube_f64(&p), scaled;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    int kind, exponent, labels[ROWS * COLUMNS], ranks[2];
    size_t i;
    (void)state;
    assert_ok(shs_rx(NULL, &cube, NULL, &sink, NULL));
    scores = sink_values(&sink, ROWS, COLUMNS, 1);
    for (exponent = -30; exponent <= 30; exponent += 10) {
        int rank = 0;
        for (i = 0; i < values_of(&p); i++) q.x[i] = ldexp(p.x[i], (int)(i % B) % 3 * exponent);
        scaled = cube_f64(&q);
        assert_ok(shs_rx(NULL, &scaled, NULL, &sink, &rank));
        same = sink_values(&sink, ROWS, COLUMNS, 1);
        assert_int_equal(rank, B);
        check_near("scores", pixels_of(&p), same.x, scores.x, BY_TYPE(1e-6, 1e-9) * largest_of(pixels_of(&p), scores.x));
        for (kind = 0; kind < 2; kind++) {
            shs_pca_options o = SHS_ZERO;
            shs_pca a, b;
            o.noise_residual = kind;
            assert_ok(shs_mnf_fit(NULL, &cube, &o, &a));
            assert_ok(shs_mnf_fit(NULL, &scaled, &o, &b));
            assert_int_equal(b.components, B);
            check_near("ratios", B, b.eigenvalues, a.eigenvalues, 1e-9 * a.eigenvalues[0]);
            check_signs(B, B, b.vectors);
            shs_pca_free(NULL, &a), shs_pca_free(NULL, &b);
        }
        free(same.x);
        cube_free(&scaled);
    }
    for (i = 0; i < pixels_of(&p); i++) labels[i] = (int)(i % 2);
    for (exponent = -528; exponent >= -1000; exponent -= 59) { /* variances are subnormal, or 0 */
        shs_pca rx;
        for (i = 0; i < values_of(&p); i++) q.x[i] = ldexp(p.x[i], i % B ? 0 : exponent);
        scaled = cube_f64(&q);
        assert_status(shs_rx(NULL, &scaled, NULL, &sink, NULL), SHS_OUT_OF_RANGE);
        assert_status(shs_rx_fit(NULL, &scaled, NULL, &rx), SHS_OUT_OF_RANGE);
        assert_status(shs_rx_classes(NULL, &scaled, labels, 2, NULL, &sink, ranks), SHS_OUT_OF_RANGE);
        cube_free(&scaled);
    }
    for (kind = 0; kind < BY_ENGINE(2, 1); kind++) { /* a band that is constant may be so small; a device's shift may round to 0 */
        for (i = 0; i < values_of(&p); i++) q.x[i] = i % B ? p.x[i] : 1e-300 * kind;
        scaled = cube_f64(&q);
        assert_ok(shs_rx(NULL, &scaled, NULL, &sink, ranks));
        assert_int_equal(ranks[0], B - 1);
        cube_free(&scaled);
    }
    for (i = 0; i < values_of(&p); i++) q.x[i] = ldexp(p.x[i], i / B % 2 && i % B ? -528 : 0); /* of one class */
    scaled = cube_f64(&q);
    assert_ok(shs_rx_classes(NULL, &scaled, labels, 2, NULL, &sink, ranks));
    assert_true(ranks[0] == B && ranks[1] == 0);
    cube_free(&scaled);
    free(scores.x);
    free(p.x);
    free(q.x);
    sink_free(&sink);
    cube_free(&cube);
}

/* The bands share nearly all of their variance. In a small unit, what the first band has of its own is below the rounding of the
   others. RX finds the anomaly of that band in each unit, also where all components are asked for. */
static void test_units_of_shared_bands(void **state) {
    enum { ROWS = 30, COLUMNS = 40, B = 6, ANOMALY = 617 };
    static const double units[] = {1, 1. / 30, 1. / 100, 1. / 500, 1. / 1000, 1. / 1100, 1e-6};
    plain_cube p = new_plain(ROWS, COLUMNS, B);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    double first = 0;
    shs_random r;
    int u, k, i, rank;
    (void)state;
    for (u = 0; u < (int)(sizeof units / sizeof *units); u++) {
        shs_pca_options o = SHS_ZERO;
        shs_cube cube;
        plain_cube scores;
        shs_pca fit;
        double sum = 0;
        shs_random_seed(&r, 3);
        for (k = 0; k < ROWS * COLUMNS; k++) {
            const double shared = (double)shs_random_normal(&r);
            for (i = 0; i < B; i++) pixel_of(&p, (size_t)k)[i] = shared + 1e-3 * (double)shs_random_normal(&r);
        }
        pixel_of(&p, ANOMALY)[0] += 0.05;
        for (k = 0; k < ROWS * COLUMNS; k++) pixel_of(&p, (size_t)k)[0] *= units[u];
        cube = cube_f64(&p);
        for (o.components = 0; o.components <= B; o.components += B) {
            assert_ok(shs_rx(NULL, &cube, &o, &sink, &rank));
            assert_int_equal(rank, B);
            scores = sink_values(&sink, ROWS, COLUMNS, 1);
            if (u == 0) first = scores.x[ANOMALY];
            assert_close(scores.x[ANOMALY], first, 1e-7 * first);
            free(scores.x);
        }
        assert_ok(shs_rx_fit(NULL, &cube, NULL, &fit));
        for (i = 0; i < fit.components; i++) sum += (double)fit.eigenvalues[i];
        assert_close((double)fit.total_variance, sum, 1e-12 * sum);
        shs_pca_free(NULL, &fit);
        cube_free(&cube);
    }
    free(p.x);
    sink_free(&sink);
}

/* Fewer pixels than half the bands, all bands but two of which are in another unit. The noise, less the mean of each direction's
   differences, has two dimensions less than the pixels, so ratios depend on units; but no band is lost, and the noise of the
   components is white. */
static void test_units_of_few_pixels(void **state) {
    enum { ROWS = 4, COLUMNS = 6, B = 60, MOST = ROWS * COLUMNS - 1, OF_NOISE = MOST - 2 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 3, 1, 48), q = new_plain(ROWS, COLUMNS, B);
    shs_cube cube = cube_f64(&p), scaled;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    shs_pca_options o = SHS_ZERO;
    shs_pca a, b;
    double *half, *white;
    int exponent, rank, i, k;
    (void)state;
    o.neighbours = SHS_NEIGHBOURS_MEAN;
    assert_ok(shs_mnf_fit(NULL, &cube, &o, &a));
    assert_int_equal(a.components, OF_NOISE);
    for (exponent = -40; exponent <= 40; exponent += 10) {
        const double unit = ldexp(1, exponent);
        for (k = 0; k < ROWS * COLUMNS; k++)
            for (i = 0; i < B; i++) pixel_of(&q, (size_t)k)[i] = pixel_of(&p, (size_t)k)[i] * (i < 2 ? 1 : unit);
        scaled = cube_f64(&q);
        assert_ok(shs_mnf_fit(NULL, &scaled, &o, &b));
        assert_int_equal(b.components, OF_NOISE);
        check_signs(B, OF_NOISE, b.vectors);
        half = naive_product(0, B, OF_NOISE, B, b.noise, b.vectors);
        white = naive_product(1, OF_NOISE, OF_NOISE, B, b.vectors, half);
        assert_true(off_identity(OF_NOISE, white) <= 1e-7);
        free(half);
        free(white);
        for (i = 0; i < B; i++)
            for (k = 0; k < B; k++) {
                const double of_both = (i < 2 ? 1 : unit) * (k < 2 ? 1 : unit), most = a.noise[0] + a.noise[B * B - 1];
                assert_close(b.noise[i * B + k] / of_both, a.noise[i * B + k], 1e-9 * most);
            }
        shs_pca_free(NULL, &b);
        assert_ok(shs_rx(NULL, &scaled, NULL, &sink, &rank));
        assert_int_equal(rank, MOST);
        cube_free(&scaled);
    }
    shs_pca_free(NULL, &a);
    free(p.x);
    free(q.x);
    sink_free(&sink);
    cube_free(&cube);
}

/* Of fewer pixels, too, no dimension is lost: here all but two bands are in a small unit, and most of their variance is shared. */
static void test_shared_bands_of_few_pixels(void **state) {
    enum { ROWS = 4, COLUMNS = 6, B = 60 };
    plain_cube p = new_plain(ROWS, COLUMNS, B);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    shs_cube cube;
    shs_random r;
    int k, i, rank;
    (void)state;
    shs_random_seed(&r, 3);
    for (k = 0; k < ROWS * COLUMNS; k++) {
        const double shared = (double)shs_random_normal(&r);
        double *x = pixel_of(&p, (size_t)k);
        x[0] = x[1] = shared;
        for (i = 2; i < B; i++) x[i] = (shared + 3e-5 * (double)shs_random_normal(&r)) / 1000;
    }
    cube = cube_f64(&p);
    assert_ok(shs_rx(NULL, &cube, NULL, &sink, &rank));
    assert_int_equal(rank, ROWS * COLUMNS - 1);
    cube_free(&cube);
    free(p.x);
    sink_free(&sink);
}

/* The unit of all bands, up to where squares leave the range. */
static void test_noise_residual_in_units(void **state) {
    enum { ROWS = 21, COLUMNS = 31, B = 5 };
    plain_cube p = smooth_cube(ROWS, COLUMNS, B, 2, 47), q = new_plain(ROWS, COLUMNS, B);
    shs_cube cube = cube_f64(&p), scaled;
    shs_pca_options o = SHS_ZERO;
    shs_pca a, b;
    const int most = BY_TYPE(100, 480);
    int exponent;
    size_t i;
    (void)state;
    o.noise_residual = 1;
    assert_ok(shs_mnf_fit(NULL, &cube, &o, &a));
    for (exponent = -most; exponent <= most; exponent += most / 4) {
        for (i = 0; i < values_of(&p); i++) q.x[i] = ldexp(p.x[i], exponent);
        scaled = cube_f64(&q);
        assert_ok(shs_mnf_fit(NULL, &scaled, &o, &b));
        assert_int_equal(b.components, B);
        check_near("ratios", B, b.eigenvalues, a.eigenvalues, 1e-12 * a.eigenvalues[0]);
        shs_pca_free(NULL, &b);
        cube_free(&scaled);
    }
    shs_pca_free(NULL, &a);
    free(p.x);
    free(q.x);
    cube_free(&cube);
}

/* ---- threads and ranks ------------------------------------------------------------------------------------------- */

static void test_threads_give_the_same_bits(void **state) {
    plain_cube p = smooth_cube(61, 71, 23, 5, 17);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    int mnf, precise, threads;
    (void)state;
    for (mnf = 0; mnf < 2; mnf++)
        for (precise = 0; precise < 2; precise++) {
            shs_pca first = SHS_ZERO, more;
            shs_sink a = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 61, 71, 23),
                     b = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 61, 71, 23);
            shs_sink ra = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 61, 71, 1),
                     rb = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 61, 71, 1);
            shs_pca_options o = options_of(0, 0, 0, precise);
            for (threads = 1; threads <= 3; threads++) {
                shs_context ctx = SHS_ZERO;
                ctx.threads = threads;
                assert_ok(mnf ? shs_mnf_fit(&ctx, &cube, &o, &more) : shs_pca_fit(&ctx, &cube, &o, &more));
                assert_ok(shs_pca_transform(&ctx, &more, &cube, threads == 1 ? &a : &b));
                assert_ok(shs_rx(&ctx, &cube, &o, threads == 1 ? &ra : &rb, NULL));
                if (threads == 1) {
                    first = more;
                    continue;
                }
                assert_true(same_pca(&first, &more));
                assert_memory_equal(a.pixels, b.pixels, 61 * 71 * 23 * sizeof(double));
                assert_memory_equal(ra.pixels, rb.pixels, 61 * 71 * sizeof(double));
                shs_pca_free(NULL, &more);
            }
            shs_pca_free(NULL, &first);
            sink_free(&a);
            sink_free(&b);
            sink_free(&ra);
            sink_free(&rb);
        }
    free(p.x);
    cube_free(&cube);
}

typedef struct noise_work {
    rank_share shares[MOST_RANKS];
    shs_pca made[MOST_RANKS];
    shs_neighbours neighbours;
} noise_work;

static void noise_body(const shs_context *given, int rank, void *arg) {
    noise_work *w = (noise_work *)arg;
    rank_share *me = w->shares + rank;
    const shs_context *ctx = rank_begins(me, given, 2);
    shs_pca_options o = SHS_ZERO;
    o.neighbours = w->neighbours;
    o.noise_residual = 0;
    me->status = shs_mnf_fit(ctx, &me->used, &o, w->made + rank);
}

/* Over ranks, the noise of each neighbour equals the noise of the whole image, with pairs across the borders of ranks. */
static void test_noise_over_ranks(void **state) {
    enum { B = 5, ROWS = 24, COLUMNS = 33, EACH = 8 };
    plain_cube p = smooth_cube(ROWS, COLUMNS, B, 2, 44);
    shs_cube cube = cube_f64(&p);
    int kind, r;
    (void)state;
    for (kind = 0; kind < 4; kind++) {
        noise_work w = SHS_ZERO;
        shs_pca_options o = SHS_ZERO;
        shs_pca one;
        w.neighbours = o.neighbours = (shs_neighbours)kind;
        assert_ok(shs_mnf_fit(NULL, &cube, &o, &one));
        share_lines(w.shares, 3, &cube, EACH);
        run_ranks(3, noise_body, &w);
        for (r = 0; r < 3; r++) {
            assert_ok(w.shares[r].status);
            check_near("noise", B * B, w.made[r].noise, one.noise, 1e-12 * largest_of(B * B, one.noise));
            check_near("eigenvalues", B, w.made[r].eigenvalues, one.eigenvalues, 1e-11 * one.eigenvalues[0]);
            assert_memory_equal(w.made[r].forward, w.made[0].forward, B * B * sizeof(shs_wide));
        }
        for (r = 0; r < 3; r++) {
            shs_pca_free(&w.shares[r].ctx, w.made + r);
            assert_int_equal(w.shares[r].f.outstanding, 0);
        }
        shs_pca_free(NULL, &one);
    }
    free(p.x);
    cube_free(&cube);
}

typedef struct class_work {
    rank_share shares[MOST_RANKS];
    shs_sink sinks[MOST_RANKS];
    const int *labels[MOST_RANKS];
    int ranks[MOST_RANKS][5];
} class_work;

static void class_body(const shs_context *given, int rank, void *arg) {
    class_work *w = (class_work *)arg;
    rank_share *me = w->shares + rank;
    const shs_context *ctx = rank_begins(me, given, 2);
    me->status = shs_rx_classes(ctx, &me->used, w->labels[rank], 5, NULL, w->sinks + rank, w->ranks[rank]);
}

static void test_rx_by_class_over_ranks(void **state) {
    enum { B = 4, ROWS = 26, COLUMNS = 37, EACH = 8 };
    plain_cube p = mixed_cube(ROWS, COLUMNS, B, 2, 1, 45);
    int *labels = patches(ROWS, COLUMNS, &p), fails, r, k;
    shs_cube cube = cube_f64(&p);
    shs_sink whole = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, ROWS, COLUMNS, 1);
    (void)state;
    whole.has_nodata = 1;
    whole.nodata = -1;
    assert_ok(shs_rx_classes(NULL, &cube, labels, 5, NULL, &whole, NULL));
    for (fails = -1; fails < RANK_FAULTS; fails++) {
        class_work w = SHS_ZERO;
        share_lines(w.shares, 3, &cube, EACH);
        for (r = 0; r < 3; r++) {
            w.labels[r] = labels + r * EACH * COLUMNS;
            w.sinks[r] = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, w.shares[r].lines.lines, COLUMNS, 1);
            w.sinks[r].has_nodata = 1;
            w.sinks[r].nodata = -1;
        }
        if (fails >= 0) w.shares[1].fails_at[fails] = 3;
        run_ranks(3, class_body, &w);
        for (r = 0; r < 3; r++) {
            size_t first = (size_t)(r * EACH * COLUMNS), pixels = (size_t)w.shares[r].lines.lines * COLUMNS;
            assert_int_equal(w.shares[r].f.outstanding, 0);
            if (fails >= 0) assert_status(w.shares[r].status, r == 1 ? rank_fails[fails] : others_say[fails]);
            else {
                assert_ok(w.shares[r].status);
                for (k = 0; k < 5; k++) assert_int_equal(w.ranks[r][k], k < 4 ? B : 0);
                check_near("scores", pixels, (const double *)w.sinks[r].pixels, (const double *)whole.pixels + first, 1e-9);
            }
            sink_free(w.sinks + r);
        }
    }
    free(p.x);
    free(labels);
    cube_free(&cube);
    sink_free(&whole);
}

typedef struct rank_work {
    int which; /* 0 PCA, 1 MNF, 2 RX, 3 PCA with its transform, rescaled: the range is a matter of all ranks */
    rank_share shares[MOST_RANKS];
    shs_pca made[MOST_RANKS];
    shs_sink sinks[MOST_RANKS];
    int rank_of_space[MOST_RANKS];
    shs_wide trim; /* of RX */
} rank_work;

static void rank_body(const shs_context *given, int rank, void *arg) {
    rank_work *w = (rank_work *)arg;
    rank_share *me = w->shares + rank;
    const shs_context *ctx = rank_begins(me, given, 3);
    shs_pca_options o = options_of(0, 0, 0, 1);
    memset(w->made + rank, UNTOUCHED, sizeof w->made[rank]);
    o.trim = w->trim;
    if (w->which == 0) me->status = shs_pca_fit(ctx, &me->used, &o, w->made + rank);
    else if (w->which == 1) me->status = shs_mnf_fit(ctx, &me->used, &o, w->made + rank);
    else if (w->which == 2) me->status = shs_rx(ctx, &me->used, &o, w->sinks + rank, w->rank_of_space + rank);
    else {
        o.components = 1;
        w->sinks[rank].rescale = 1;
        w->sinks[rank].low = 0;
        w->sinks[rank].high = 1;
        me->status = shs_pca_run(ctx, &me->used, &o, w->sinks + rank, NULL);
    }
}

static void rank_setup(rank_work *w, int which, const shs_cube *cube, int ranks) {
    int r;
    memset(w, 0, sizeof *w);
    w->which = which;
    share_lines(w->shares, ranks, cube, cube->lines / ranks);
    for (r = 0; r < ranks; r++)
        w->sinks[r] = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, w->shares[r].lines.lines, cube->samples, 1);
}

static void rank_clean(rank_work *w, int ranks) {
    int r;
    for (r = 0; r < ranks; r++) {
        rank_share *me = w->shares + r;
        if (me->status == SHS_OK && w->which < 2) shs_pca_free(&me->ctx, w->made + r);
        else assert_true(holds_untouched(w->made + r, sizeof w->made[r]));
        assert_int_equal(me->f.outstanding, 0);
        sink_free(w->sinks + r);
    }
}

/* Which pixels stay is decided over all ranks. */
static void test_rx_trimmed_over_ranks(void **state) {
    unsigned char odd[TRIM_LINES * TRIM_SAMPLES];
    plain_cube p = contaminated_cube(odd);
    shs_cube cube = cube_f64(&p);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, TRIM_LINES, TRIM_SAMPLES, 1);
    shs_pca_options o = options_of(0, 0, 0, 1);
    int ranks, r;
    (void)state;
    o.trim = (shs_wide)0.1;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, NULL));
    for (ranks = 1; ranks <= 3; ranks++) {
        rank_work w;
        size_t done = 0;
        rank_setup(&w, 2, &cube, ranks);
        w.trim = o.trim;
        run_ranks(ranks, rank_body, &w);
        for (r = 0; r < ranks; r++) {
            size_t pixels = (size_t)w.shares[r].lines.lines * TRIM_SAMPLES;
            assert_ok(w.shares[r].status);
            check_near("scores", pixels, (const double *)w.sinks[r].pixels, (const double *)sink.pixels + done, 1e-6);
            done += pixels;
        }
        rank_clean(&w, ranks);
    }
    free(p.x);
    cube_free(&cube);
    sink_free(&sink);
}

static void test_ranks_give_one_answer(void **state) {
    plain_cube p = smooth_cube(25, 31, 6, 3, 18);
    shs_cube cube = cube_f64(&p);
    shs_pca_options o = options_of(0, 0, 0, 1);
    int ranks, which, r;
    (void)state;
    for (ranks = 1; ranks <= 3; ranks++)
        for (which = 0; which < 3; which++) {
            rank_work w;
            shs_pca one;
            shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 25, 31, 1);
            size_t done = 0;
            assert_ok(which == 1 ? shs_mnf_fit(NULL, &cube, &o, &one) : shs_pca_fit(NULL, &cube, &o, &one));
            assert_ok(shs_rx(NULL, &cube, &o, &sink, NULL));
            rank_setup(&w, which, &cube, ranks);
            run_ranks(ranks, rank_body, &w);
            for (r = 0; r < ranks; r++) {
                size_t pixels = (size_t)w.shares[r].lines.lines * 31;
                assert_ok(w.shares[r].status);
                if (which < 2) {
                    check_near("eigenvalues", 6, w.made[r].eigenvalues, one.eigenvalues, 1e-11 * one.eigenvalues[0]);
                    check_near("forward", 36, w.made[r].forward, one.forward, 1e-8);
                    check_near("mean", 6, w.made[r].mean, one.mean, 1e-10);
                    assert_true(w.made[r].count == one.count);
                    assert_true(same_pca(w.made + r, w.made));
                } else {
                    check_near("scores", pixels, (const double *)w.sinks[r].pixels, (const double *)sink.pixels + done, 1e-8);
                    assert_int_equal(w.rank_of_space[r], 6);
                }
                done += pixels;
            }
            rank_clean(&w, ranks);
            shs_pca_free(NULL, &one);
            sink_free(&sink);
        }
    free(p.x);
    cube_free(&cube);
}

/* Both ranks return for every failure of the second rank, each with the right status. */
static void test_a_failing_rank_ends_both(void **state) {
    plain_cube p = smooth_cube(24, 13, 4, 2, 19);
    shs_cube cube = cube_f64(&p);
    int which, fault, k;
    (void)state;
    for (which = 0; which < 4; which++)
        for (fault = 0; fault < RANK_FAULTS; fault++)
            for (k = 0; k < 30; k++) {
                rank_work w;
                int through;
                rank_setup(&w, which, &cube, 2);
                w.shares[1].fails_at[fault] = k;
                run_ranks(2, rank_body, &w);
                through = w.shares[1].status == SHS_OK;
                if (w.shares[0].status == SHS_OK && !through && which < 2)
                    fail_msg("call %d, fault %d, k %d: rank 1 says %s, rank 0 success", which, fault, k,
                             shs_status_name(w.shares[1].status));
                if (through) assert_ok(w.shares[0].status);
                else {
                    assert_status(w.shares[1].status, rank_fails[fault]);
                    /* scores may be written before the other fails */
                    if (which < 2) assert_status(w.shares[0].status, others_say[fault]);
                    else assert_true(w.shares[0].status == others_say[fault] || w.shares[0].status == SHS_OK);
                    if (k == 0) assert_status(w.shares[0].status, others_say[fault]);
                }
                if (through) assert_true(k > 0);
                rank_clean(&w, 2);
                if (through) break;
                assert_in_range(k, 0, 28);
            }
    free(p.x);
    cube_free(&cube);
}

/* ---- bad arguments ----------------------------------------------------------------------------------------------- */

static void check_bad(const shs_cube *cube, const shs_pca_options *o, shs_status expected) {
    shs_pca made;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 6, 7, 1);
    int rank = -7;
    memset(&made, UNTOUCHED, sizeof made);
    assert_status(shs_pca_fit(NULL, cube, o, &made), expected);
    assert_status(shs_mnf_fit(NULL, cube, o, &made), expected);
    assert_status(shs_rx(NULL, cube, o, &sink, &rank), expected);
    assert_true(holds_untouched(&made, sizeof made));
    assert_true(holds_untouched(sink.pixels, 6 * 7 * sizeof(double)));
    assert_int_equal(rank, -7);
    sink_free(&sink);
}

/* Options are refused before a line of a stream is read. */
static void test_bad_options_read_nothing(void **state) {
    plain_cube p = smooth_cube(6, 7, 4, 2, 20);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0), lines;
    shs_pca_options o = SHS_ZERO;
    stream s;
    int k;
    (void)state;
    for (k = 0; k < 3; k++) {
        memset(&o, 0, sizeof o);
        if (k == 0) o.components = 5;
        else if (k == 1) o.variance = 2;
        else o.eigenvalue_at_least = -1;
        lines = streamed(&cube, 1, &s);
        check_bad(&lines, &o, SHS_BAD_COMPONENTS);
        assert_int_equal(s.calls, 0);
    }
    cube_free(&cube);
    free(p.x);
}

static void test_bad_arguments(void **state) {
    plain_cube p = smooth_cube(6, 7, 4, 2, 20);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0), c = cube, other = cube;
    unsigned char *nothing = NEW(unsigned char, 42);
    shs_pca pca = fit(NULL, &cube, NULL), empty = SHS_ZERO;
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 6, 7, 4);
    shs_pca_options o = SHS_ZERO;
    shs_moments m;
    (void)state;
    o.components = -1;
    check_bad(&cube, &o, SHS_BAD_COMPONENTS);
    o.components = 5;
    check_bad(&cube, &o, SHS_BAD_COMPONENTS);
    o.components = 0;
    o.variance = -0.1;
    check_bad(&cube, &o, SHS_BAD_COMPONENTS);
    o.variance = 1.1;
    check_bad(&cube, &o, SHS_BAD_COMPONENTS);
    o.variance = NOT_A_NUMBER;
    check_bad(&cube, &o, SHS_BAD_COMPONENTS);
    o.variance = 0;
    o.eigenvalue_at_least = -1;
    check_bad(&cube, &o, SHS_BAD_COMPONENTS);
    o.eigenvalue_at_least = NOT_A_NUMBER;
    check_bad(&cube, &o, SHS_BAD_COMPONENTS);
    check_bad(NULL, NULL, SHS_BAD_CUBE);
    c.lines = 0;
    check_bad(&c, NULL, SHS_NO_PIXELS);
    c.lines = -1;
    check_bad(&c, NULL, SHS_BAD_CUBE);
    c = cube;
    c.mask = nothing; /* no valid pixel */
    check_bad(&c, NULL, SHS_NO_PIXELS);
    nothing[3] = 1;
    memset(&o, 0, sizeof o); /* one, divided by n - 1 */
    o.divisor = SHS_DIVISOR_N_LESS_1;
    check_bad(&c, &o, SHS_NO_PIXELS);
    assert_int_not_equal(shs_pca_fit(NULL, &cube, NULL, NULL), SHS_OK);
    assert_int_not_equal(shs_mnf_fit(NULL, &cube, NULL, NULL), SHS_OK);
    assert_status(shs_rx(NULL, &cube, NULL, NULL, NULL), SHS_BAD_SINK);
    assert_status(shs_pca_transform(NULL, &pca, NULL, &sink), SHS_BAD_CUBE);
    assert_status(shs_pca_transform(NULL, &pca, &cube, NULL), SHS_BAD_SINK);
    assert_int_not_equal(shs_pca_transform(NULL, NULL, &cube, &sink), SHS_OK);
    assert_int_not_equal(shs_pca_transform(NULL, &empty, &cube, &sink), SHS_OK);
    assert_int_not_equal(shs_pca_inverse(NULL, &empty, &cube, &sink), SHS_OK);
    assert_int_not_equal(shs_pca_denoise(NULL, &empty, 0, &cube, &sink), SHS_OK);
    other.bands = 3;
    assert_status(shs_pca_transform(NULL, &pca, &other, &sink), SHS_BAD_BANDS);
    assert_status(shs_pca_inverse(NULL, &pca, &other, &sink), SHS_BAD_BANDS);
    assert_status(shs_pca_denoise(NULL, &pca, 0, &other, &sink), SHS_BAD_BANDS);
    assert_true(holds_untouched(sink.pixels, 6 * 7 * 4 * sizeof(float)));
    assert_status(shs_pca_from_moments(NULL, NULL, NULL, &empty), SHS_BAD_MOMENTS);
    assert_ok(shs_moments_create(NULL, 4, &m));
    assert_status(shs_pca_from_moments(NULL, &m, NULL, &empty), SHS_NO_PIXELS);
    shs_moments_free(NULL, &m);
    shs_pca_free(NULL, &pca);
    free(p.x);
    free(nothing);
    cube_free(&cube);
    sink_free(&sink);
}

/* Scores can be stretched like any output; and more components than the pixels have are refused. */
static void test_rx_rescaled(void **state) {
    plain_cube p = mixed_cube(33, 41, 9, 3, 0, 13), out, plain;
    shs_cube cube = cube_f64(&p);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 33, 41, 1),
             stretched = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 33, 41, 1);
    shs_pca_options o = options_of(4, 0, 0, 0);
    double low = ENDLESS, high = -ENDLESS;
    size_t i;
    (void)state;
    assert_status(shs_rx(NULL, &cube, &o, &sink, NULL), SHS_RANK_TOO_LOW);
    o.components = 3;
    assert_ok(shs_rx(NULL, &cube, &o, &sink, NULL));
    stretched.rescale = 1;
    stretched.low = 10;
    stretched.high = 20;
    assert_ok(shs_rx(NULL, &cube, &o, &stretched, NULL));
    plain = sink_values(&sink, 33, 41, 1);
    out = sink_values(&stretched, 33, 41, 1);
    for (i = 0; i < pixels_of(&p); i++) {
        low = fmin(low, plain.x[i]);
        high = fmax(high, plain.x[i]);
    }
    for (i = 0; i < pixels_of(&p); i++) assert_close(out.x[i], 10 + 10 * (plain.x[i] - low) / (high - low), 1e-9);
    free(p.x);
    free(out.x);
    free(plain.x);
    cube_free(&cube);
    sink_free(&sink);
    sink_free(&stretched);
}

/* A rank that fails tells the other ranks before their common search for the range, so no rank waits. */
typedef struct ranged {
    const shs_cube *cube;
    const shs_pca *pca;
    shs_sink sinks[2];
    shs_status statuses[2];
    faulty f;
} ranged;

static void denoise_one(const shs_context *ctx, int rank, void *arg) {
    ranged *w = (ranged *)arg;
    shs_context mine = *ctx;
    if (rank == 1) faulty_attach(&w->f, 0, &mine);
    w->statuses[rank] = shs_pca_denoise(&mine, w->pca, 2, w->cube, w->sinks + rank);
}

static void transform_one(const shs_context *ctx, int rank, void *arg) {
    ranged *w = (ranged *)arg;
    w->statuses[rank] = shs_pca_transform(ctx, rank ? NULL : w->pca, w->cube, w->sinks + rank);
}

static void check_second_rank_fails(void (*work)(const shs_context *ctx, int rank, void *arg), shs_status expected) {
    plain_cube p = mixed_cube(12, 13, 5, 3, 1, 15);
    shs_cube cube = cube_f64(&p);
    shs_pca pca = fit(NULL, &cube, NULL);
    ranged w;
    int r;
    memset(&w, 0, sizeof w);
    w.cube = &cube;
    w.pca = &pca;
    for (r = 0; r < 2; r++) {
        w.sinks[r] = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 12, 13, 5);
        w.sinks[r].rescale = 1;
        w.sinks[r].high = 255;
    }
    run_ranks(2, work, &w);
    assert_status(w.statuses[0], SHS_PEER_FAILED);
    assert_status(w.statuses[1], expected);
    for (r = 0; r < 2; r++) sink_free(w.sinks + r);
    shs_pca_free(NULL, &pca);
    free(p.x);
    cube_free(&cube);
}

static void test_a_rank_that_cannot_map(void **state) {
    (void)state;
    check_second_rank_fails(denoise_one, SHS_NO_MEMORY);
    check_second_rank_fails(transform_one, SHS_BAD_MAP);
}

/* The textbook's components and noise fractions are the library's: the same values, the same directions. */
static void test_textbook(void **state) {
    enum { ROWS = 31, COLUMNS = 37, B = 6 };
    plain_cube p = smooth_cube(ROWS, COLUMNS, B, 3, 12);
    shs_cube cube = cube_f64(&p);
    double *mean = NEW(double, B), *values = NEW(double, B), *V = NEW(double, B * B);
    double *scratch = NEW(double, 2 * B * B + values_of(&p));
    int mnf, k, b;
    (void)state;
    for (mnf = 0; mnf < 2; mnf++) {
        shs_pca_options o = options_of(0, 0, 0, 1);
        shs_pca pca;
        if (mnf) shs_mnf_naive(B, ROWS, COLUMNS, p.x, mean, values, V, scratch);
        else shs_pca_naive(B, ROWS * COLUMNS, p.x, mean, values, V, scratch);
        if (mnf) assert_ok(shs_mnf_fit(NULL, &cube, &o, &pca));
        else assert_ok(shs_pca_fit(NULL, &cube, &o, &pca));
        for (k = 0; k < B; k++) {
            double sign = 0;
            assert_close(pca.mean[k], mean[k], 1e-10 * fabs(mean[k]));
            assert_close(pca.eigenvalues[k], values[k], 1e-9 * values[0]);
            for (b = 0; b < B; b++) sign += pca.vectors[b + k * B] * V[b + k * B];
            for (b = 0; b < B; b++) assert_close(pca.vectors[b + k * B], (sign < 0 ? -1 : 1) * V[b + k * B], 1e-6);
        }
        shs_pca_free(NULL, &pca);
    }
    free(p.x);
    free(mean);
    free(values);
    free(V);
    free(scratch);
    cube_free(&cube);
}

/* ---- masks that come with the blocks ------------------------------------------------------------------------------ */

/* The outputs of each call one after another: components, noise fractions, scores, scores by class. */
static double *masked_outputs(const shs_cube *cube, const int *labels) {
    enum { EACH = 23 * 29 * 5 };
    shs_pca_options o = options_of(5, 0, 0, 0);
    double *all = NEW(double, 4 * EACH);
    int k;
    for (k = 0; k < 4; k++) {
        shs_sink sink = SHS_ZERO;
        shs_pca mnf;
        sink.pixels = all + k * EACH;
        sink.type = SHS_TYPE_F64;
        if (k == 0) assert_ok(shs_pca_run(NULL, cube, &o, &sink, NULL));
        if (k == 1) assert_ok(shs_mnf_fit(NULL, cube, &o, &mnf));
        if (k == 1) assert_ok(shs_pca_transform(NULL, &mnf, cube, &sink));
        if (k == 1) shs_pca_free(NULL, &mnf);
        if (k == 2) assert_ok(shs_rx(NULL, cube, NULL, &sink, NULL));
        if (k == 3) assert_ok(shs_rx_classes(NULL, cube, labels, 2, NULL, &sink, NULL));
    }
    return all;
}

/* The same bits as by a mask in memory, of a stream and, in one block, of the pixels in memory. */
static void test_masks_of_streams(void **state) {
    plain_cube p = smooth_cube(23, 29, 5, 3, 21);
    unsigned char *mask = NEW(unsigned char, pixels_of(&p));
    int *labels = NEW(int, pixels_of(&p)), block;
    shs_cube cube, lines;
    double *whole, *given, *brought;
    stream s;
    size_t i, bytes = 4 * values_of(&p) * sizeof(double);
    (void)state;
    for (i = 0; i < pixels_of(&p); i++) {
        mask[i] = i >= 2 * 29 && i % 7 != 1;
        labels[i] = i % 3 == 0;
    }
    cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, 0);
    cube.mask = mask;
    whole = masked_outputs(&cube, labels);
    for (block = 1; block <= 23; block += 11) {
        lines = streamed(&cube, block, &s);
        if (!lines.mask_fn) {
            lines.mask = NULL;
            lines.mask_fn = stream_marks;
            lines.mask_user = &s;
        }
        brought = masked_outputs(&lines, labels);
        assert_int_equal(s.wrong, 0);
        lines.mask = mask;
        lines.mask_fn = NULL;
        given = masked_outputs(&lines, labels);
        assert_memory_equal(brought, given, bytes);
        if (block == 23) assert_memory_equal(brought, whole, bytes);
        free(given);
        free(brought);
    }
    for (block = 0; block < 40; block++) { /* each that fails is said */
        shs_sink sink = SHS_ZERO;
        double *scores = NEW(double, pixels_of(&p));
        shs_status status;
        lines = streamed(&cube, 5, &s);
        s.marks_fail_at = block;
        sink.pixels = scores;
        sink.type = SHS_TYPE_F64;
        status = shs_rx_classes(NULL, &lines, labels, 2, NULL, &sink, NULL);
        assert_status(status, block < 5 ? SHS_READ_FAILED : SHS_OK); /* they are asked for once */
        free(scores);
    }
    lines = streamed(&cube, 5, &s);
    lines.mask = mask;
    assert_int_equal(shs_cube_bands(&lines), 0); /* one of them */
    lines = cube;
    lines.mask = NULL;
    lines.mask_fn = stream_marks;
    lines.mask_user = &s;
    assert_int_equal(shs_cube_bands(&lines), 0); /* pixels have their mask beside them */
    free(whole);
    free(mask);
    free(labels);
    free(p.x);
    cube_free(&cube);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_sandiego),
        cmocka_unit_test(test_golden_beach),
        cmocka_unit_test(test_golden_jasper),
        cmocka_unit_test(test_golden_airport),
        cmocka_unit_test(test_grass_planes),
        cmocka_unit_test(test_defaults_are_those_of_double),
        cmocka_unit_test(test_covariance_and_correlation),
        cmocka_unit_test(test_options_may_be_absent),
        cmocka_unit_test(test_number_of_components),
        cmocka_unit_test(test_from_moments),
        cmocka_unit_test(test_transform_and_inverse),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_mnf_run),
        cmocka_unit_test(test_denoise),
        cmocka_unit_test(test_missing_pixels),
        cmocka_unit_test(test_deficient_cubes),
        cmocka_unit_test(test_constant_bands),
        cmocka_unit_test(test_rescaled_constant),
        cmocka_unit_test(test_textbook),
        cmocka_unit_test(test_rx),
        cmocka_unit_test(test_rx_of_deficient_cubes),
        cmocka_unit_test(test_rx_of_a_constant_cube),
        cmocka_unit_test(test_rx_trimmed_finds_what_plain_rx_hides),
        cmocka_unit_test(test_rx_trimmed_in_every_way),
        cmocka_unit_test(test_rx_trimmed_at_its_ends),
        cmocka_unit_test(test_rx_trimmed_of_a_huge_pixel),
        cmocka_unit_test(test_rx_of_components_beside_rules),
        cmocka_unit_test(test_rx_trimmed_over_ranks),
        cmocka_unit_test(test_rx_of_a_fit_and_on_subspaces),
        cmocka_unit_test(test_offsets_of_wide_types),
        cmocka_unit_test(test_signs_of_ties),
        cmocka_unit_test(test_one_divisor),
        cmocka_unit_test(test_few_pixels),
        cmocka_unit_test(test_noise_of_few_pixels),
        cmocka_unit_test(test_few_pixels_in_little_memory),
        cmocka_unit_test(test_few_pixels_of_a_large_image),
        cmocka_unit_test(test_rx_by_class),
        cmocka_unit_test(test_rx_by_classes_of_other_ranks),
        cmocka_unit_test(test_rx_of_empty_classes),
        cmocka_unit_test(test_rx_of_one_class_is_global),
        cmocka_unit_test(test_rx_by_class_over_ranks),
        cmocka_unit_test(test_rx_local),
        cmocka_unit_test(test_rx_local_of_the_whole_image),
        cmocka_unit_test(test_rx_local_without_a_background),
        cmocka_unit_test(test_rx_local_windows_too_small),
        cmocka_unit_test(test_rx_local_without_pixels),
        cmocka_unit_test(test_rx_local_of_a_huge_pixel),
        cmocka_unit_test(test_rx_local_depends_on_its_window),
        cmocka_unit_test(test_rx_local_beside_zeros),
        cmocka_unit_test(test_rx_finds_aircraft),
        cmocka_unit_test(test_mnf),
        cmocka_unit_test(test_mnf_round_trip),
        cmocka_unit_test(test_mnf_denoises),
        cmocka_unit_test(test_mnf_from_noise),
        cmocka_unit_test(test_mnf_without_noise),
        cmocka_unit_test(test_noise_of_each_neighbour),
        cmocka_unit_test(test_lower_is_right_of_the_transposed),
        cmocka_unit_test(test_noise_may_be_given),
        cmocka_unit_test(test_noise_residual),
        cmocka_unit_test(test_noise_residual_of_bands_alike),
        cmocka_unit_test(test_units_of_bands),
        cmocka_unit_test(test_units_of_shared_bands),
        cmocka_unit_test(test_shared_bands_of_few_pixels),
        cmocka_unit_test(test_units_of_few_pixels),
        cmocka_unit_test(test_noise_residual_in_units),
        cmocka_unit_test(test_noise_over_ranks),
        cmocka_unit_test(test_threads_give_the_same_bits),
        cmocka_unit_test(test_ranks_give_one_answer),
        cmocka_unit_test(test_a_failing_rank_ends_both),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_bad_options_read_nothing),
        cmocka_unit_test(test_a_rank_that_cannot_map),
        cmocka_unit_test(test_rx_rescaled),
        cmocka_unit_test(test_masks_of_streams),
    };
    return cmocka_run_group_tests_name("pca", tests, NULL, NULL);
}
