/* test_ica.c - FastICA against other systems, naive twins and its own promises, and all that can go wrong. */
#include "test_components.h"

/* ---- the naive twin ----------------------------------------------------------------------------------------------- */

/* z = whitening (x - mean): m values a pixel. */
static double *whitened(const shs_ica *ica, const plain_cube *p) {
    double *z = NEW(double, pixels_of(p) * (size_t)ica->components);
    naive_map(p, ica->components, ica->whitening, ica->mean, NULL, z);
    return z;
}

/* The contrasts, as shs_ica_naive takes them. */
static void g_pow3(shs_wide y, shs_wide *g, shs_wide *slope) { *g = y * y * y, *slope = 3 * y * y; }
static void g_tanh(shs_wide y, shs_wide *g, shs_wide *slope) { *g = (shs_wide)tanh((double)y), *slope = 1 - *g * *g; }
static void g_gauss(shs_wide y, shs_wide *g, shs_wide *slope) {
    *slope = (shs_wide)exp(-(double)(y * y) / 2);
    *g = y * *slope;
    *slope *= 1 - y * y;
}
static void g_skew(shs_wide y, shs_wide *g, shs_wide *slope) { *g = y * y, *slope = 2 * y; }

/* Plain steps of the naive twin on W, all columns at once or one after another. */
static void plain_steps(shs_contrast contrast, shs_ica_approach approach, int m, size_t n, const double *z, int steps,
                        double *W) {
    static const shs_contrast_fn contrasts[] = {g_pow3, g_tanh, g_gauss, g_skew};
    double *scratch = NEW(double, 2 * m * m);
    shs_ica_naive(contrasts[contrast], approach == SHS_APPROACH_SYMMETRIC, m, (ptrdiff_t)n, z, steps, W, scratch);
    free(scratch);
}

static double inner(int m, const double *a, const double *b) {
    double sum = 0;
    int k;
    for (k = 0; k < m; k++) sum += a[k] * b[k];
    return sum;
}

static shs_ica_options options_of(int components, shs_contrast contrast, shs_ica_approach approach, shs_ica_route route) {
    shs_ica_options o = SHS_ZERO;
    o.components = components;
    o.contrast = contrast;
    o.approach = approach;
    o.route = route;
    return o;
}

static shs_ica fit(const shs_context *ctx, const shs_cube *cube, const shs_ica_options *o) {
    shs_ica ica;
    assert_ok(shs_ica_fit(ctx, cube, o, &ica));
    return ica;
}

static double *transposed(int m, int n, const double *A) {
    double *T = NEW(double, m *n);
    int i, j;
    for (j = 0; j < n; j++)
        for (i = 0; i < m; i++) T[i * n + j] = A[j * m + i];
    return T;
}

/* The largest difference of the columns of two rotations, each up to sign. */
static double rotation_difference(int m, const double *a, const double *b) {
    double most = 0;
    int j, k;
    for (j = 0; j < m; j++) {
        double plus = 0, minus = 0;
        for (k = 0; k < m; k++) {
            plus = fmax(plus, fabs(a[j * m + k] - b[j * m + k]));
            minus = fmax(minus, fabs(a[j * m + k] + b[j * m + k]));
        }
        most = fmax(most, fmin(plus, minus));
    }
    return most;
}

/* 1 - |cos| of two unit vectors. */
static double turn_of(int m, const double *a, const double *b) {
    double plus = 0, minus = 0;
    int k;
    for (k = 0; k < m; k++) {
        plus += (a[k] - b[k]) * (a[k] - b[k]);
        minus += (a[k] + b[k]) * (a[k] + b[k]);
    }
    return fmin(plus, minus) / 2;
}

/* The turn of each column of W by one plain step, in the order of extraction, as in the definition of `converged`. One after
   another, column j is at right angles to those before it: in the coordinates of those from j on it is the first unit vector.
   Returns the most. */
static double plain_turns(shs_ica_approach approach, shs_contrast contrast, int m, size_t n, const double *z, const double *W,
                          double *turns) {
    double *y = NEW(double, n *(size_t)m), *I = NEW(double, m *m), *next = NEW(double, m *m), most = 0;
    int j, k, c = approach == SHS_APPROACH_SYMMETRIC ? m : 1;
    size_t i;
    for (j = 0; j < m; j += c) {
        int left = m - j;
        for (i = 0; i < n; i++)
            for (k = 0; k < left; k++) y[i * (size_t)left + (size_t)k] = inner(m, W + (j + k) * m, z + i * (size_t)m);
        for (k = 0; k < left * left; k++) next[k] = I[k] = k % (left + 1) == 0;
        plain_steps(contrast, approach, left, n, y, 1, next);
        for (k = 0; k < c; k++) most = fmax(most, turns[j + k] = turn_of(left, next + k * left, I + k * left));
    }
    free(y);
    free(I);
    free(next);
    return most;
}

/* How far any w, in order of extraction, moves when the step is done once more and projected off the earlier ones. */
static double fixed_point_error(const shs_ica *ica, shs_contrast contrast, size_t n, const double *z) {
    int m = ica->components, k;
    double *W = NEW(double, m *m), *turns = NEW(double, m), most;
    for (k = 0; k < m; k++) memcpy(W + ica->component[k].extraction * m, ica->rotation + k * m, (size_t)m * sizeof *W);
    most = plain_turns(SHS_APPROACH_DEFLATION, contrast, m, n, z, W, turns);
    free(W);
    free(turns);
    return sqrt(2 * most);
}

/* ---- MDP's numbers ----------------------------------------------------------------------------------------------- */

static double *covariance_of(const shs_cube *cube) {
    size_t B = (size_t)shs_cube_bands(cube);
    double *mean = NEW(double, B), *C = NEW(double, B *B);
    shs_moments m;
    assert_ok(shs_moments_create(NULL, (int)B, &m));
    assert_ok(shs_moments_update(NULL, cube, 1, &m));
    assert_ok(shs_moments_finish(&m, SHS_DIVISOR_N, mean, C, (int)B));
    shs_moments_free(NULL, &m);
    free(mean);
    return C;
}

/* The least, over MDP's sources, of the best |correlation| with one of ours; each of ours is matched once. */
static double worst_match(const shs_ica *ica, const double *C, const double *unmixing) {
    int m = ica->components, B = ica->bands, j, k, b;
    double *ours = transposed(m, B, ica->unmixing), *theirs = NEW(double, m *B), *Co, *Ct, worst = 1;
    int *taken = NEW(int, m);
    for (b = 0; b < B; b++)
        for (j = 0; j < m; j++) theirs[j * B + b] = unmixing[b * m + j];
    Co = naive_product(0, B, m, B, C, ours);
    Ct = naive_product(0, B, m, B, C, theirs);
    for (j = 0; j < m; j++) {
        double best = -1;
        int which = 0;
        for (k = 0; k < m; k++) {
            double r = fabs(inner(B, theirs + j * B, Co + k * B)) /
                       sqrt(inner(B, ours + k * B, Co + k * B) * inner(B, theirs + j * B, Ct + j * B));
            if (r > best) {
                best = r;
                which = k;
            }
        }
        if (taken[which]++) best = 0;
        worst = fmin(worst, best);
    }
    free(ours);
    free(theirs);
    free(Co);
    free(Ct);
    free(taken);
    return worst;
}

static void check_golden_symmetric(int which, int m) {
    shs_cube cube = load_golden(which);
    double *unmixing = read_golden("ica_%s_symm_unmixing.csv", golden(which)->name, (size_t)(cube.bands * m));
    double *kurtosis = read_golden("ica_%s_symm_kurtosis.csv", golden(which)->name, (size_t)m), *C = covariance_of(&cube);
    int route, k;
    for (route = SHS_ROUTE_AUTO; route <= SHS_ROUTE_SWEEP; route++) {
        shs_ica_options o = options_of(m, SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, (shs_ica_route)route);
        shs_ica ica;
        double match;
        o.tolerance = 1e-8;
        ica = fit(NULL, &cube, &o);
        check_ica(&ica);
        assert_true(ica.converged);
        if (route) assert_int_equal(ica.used_moments, route == SHS_ROUTE_MOMENTS);
        match = worst_match(&ica, C, unmixing);
        print_message("%s, symmetric, route %d: %d iterations, worst |correlation| %.7f\n", golden(which)->name, route,
                      ica.component[0].iterations, match);
        assert_true(match > 0.999);
        for (k = 0; k < m; k++) assert_close(ica.component[k].kurtosis, kurtosis[k], 0.005 * fabs(kurtosis[k]) + 0.01);
        shs_ica_free(NULL, &ica);
    }
    free(unmixing);
    free(kurtosis);
    free(C);
    cube_free(&cube);
}

static void test_golden_symmetric_beach(void **state) {
    (void)state;
    check_golden_symmetric(BEACH, 8);
}
static void test_golden_symmetric_jasper(void **state) {
    (void)state;
    check_golden_symmetric(JASPER, 4);
}

/* Deflation ends in one of many solutions, and a step must not change the solution. MDP's solution from the same file passes
   the same test. */
static void check_golden_deflation(int which, int m) {
    shs_cube cube = load_golden(which);
    plain_cube p = plain_of(&cube);
    double *unmixing = read_golden("ica_%s_defl_unmixing.csv", golden(which)->name, (size_t)(cube.bands * m)),
           *C = covariance_of(&cube), *z = NULL; /* whitened alike whatever the route and the start */
    int route, start;
    for (route = SHS_ROUTE_MOMENTS; route <= SHS_ROUTE_SWEEP; route++)
        for (start = 0; start < 2; start++) {
            shs_ica_options o = options_of(m, SHS_CONTRAST_POW3, SHS_APPROACH_DEFLATION, (shs_ica_route)route);
            shs_ica ica;
            double error;
            o.random_start = start;
            o.seed = 5;
            ica = fit(NULL, &cube, &o); /* by default they turn by less than 1e-8: |w - w before| < sqrt(2e-8) */
            check_ica(&ica);
            assert_true(ica.converged);
            if (!z) z = whitened(&ica, &p);
            error = fixed_point_error(&ica, SHS_CONTRAST_POW3, pixels_of(&p), z);
            assert_true(error * error / 2 <= 1e-6);
            shs_ica_free(NULL, &ica);
            o.tolerance = 1e-13;
            ica = fit(NULL, &cube, &o);
            assert_true(ica.converged);
            print_message("%s, deflation, route %d, %s start: fixed points to %.2g by default", golden(which)->name, route,
                          start ? "random" : "identity", error);
            error = fixed_point_error(&ica, SHS_CONTRAST_POW3, pixels_of(&p), z);
            print_message(", %.2g at tolerance 1e-13; worst |correlation| with MDP's %.5f\n", error,
                          worst_match(&ica, C, unmixing));
            assert_true(error <= BY_TYPE(BY_ENGINE(1e-5, 1e-4), 1e-6)); /* the sums of a float build are of single precision */
            shs_ica_free(NULL, &ica);
        }
    free(unmixing);
    free(C);
    free(p.x);
    free(z);
    cube_free(&cube);
}

static void test_golden_deflation_beach(void **state) {
    (void)state;
    check_golden_deflation(BEACH, 8);
}
static void test_golden_deflation_jasper(void **state) {
    (void)state;
    check_golden_deflation(JASPER, 4);
}

/* The fourth moments and the sweep over the pixels are one iteration. */
static void check_routes(int which, int m) {
    shs_cube cube = load_golden(which);
    int approach, precise;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
        for (precise = 0; precise < 2; precise++) {
            shs_ica_options o = options_of(m, SHS_CONTRAST_POW3, (shs_ica_approach)approach, SHS_ROUTE_MOMENTS);
            shs_ica moments, sweep;
            double difference;
            o.order = SHS_ORDER_EXTRACTION;
            o.precise = precision_of(precise);
            moments = fit(NULL, &cube, &o);
            o.route = SHS_ROUTE_SWEEP;
            sweep = fit(NULL, &cube, &o);
            assert_true(moments.used_moments && !sweep.used_moments);
            difference = rotation_difference(m, moments.rotation, sweep.rotation);
            print_message("%s, approach %d, precise %d: rotations differ by %.2g\n", golden(which)->name, approach, precise,
                          difference);
            assert_true(difference <= BY_TYPE(1e-4, 1e-9));
            shs_ica_free(NULL, &moments), shs_ica_free(NULL, &sweep);
        }
    cube_free(&cube);
}

static void test_moments_and_sweep_beach(void **state) {
    (void)state;
    check_routes(BEACH, 8);
}
static void test_moments_and_sweep_jasper(void **state) {
    (void)state;
    check_routes(JASPER, 4);
}

/* ---- what converged means ---------------------------------------------------------------------------------------- */

static double kurtosis_of(int m, size_t n, const double *z, const double *w) {
    double square = 0, fourth = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        double y = inner(m, w, z + i * (size_t)m);
        square += y * y / (double)n;
        fourth += y * y * y * y / (double)n;
    }
    return fourth / (square * square) - 3;
}

/* Plain symmetric steps from the identity, at most `most`: the sum of squared kurtoses where they converge, 0 where not. */
static double plain_power(shs_contrast contrast, int m, size_t n, const double *z, int most) {
    double *W = NEW(double, m *m), *before = NEW(double, m *m), power = 0, turn = 1;
    int j, t;
    for (j = 0; j < m; j++) W[j * m + j] = 1;
    for (t = 0; t < most && turn > 1e-8; t++) {
        memcpy(before, W, (size_t)(m * m) * sizeof *W);
        plain_steps(contrast, SHS_APPROACH_SYMMETRIC, m, n, z, 1, W);
        turn = 0;
        for (j = 0; j < m; j++) turn = fmax(turn, turn_of(m, W + j * m, before + j * m));
    }
    for (j = 0; j < m && turn <= 1e-8; j++) power += pow(kurtosis_of(m, n, z, W + j * m), 2);
    free(W);
    free(before);
    return power;
}

/* Of one cube, by all contrasts, approaches and routes: all converge; what is said of each component is true of one plain
   step in double, which shares no code with the library; and where plain steps converge, ours find sources as strong. */
static void check_fixed_points(const char *name, const shs_cube *cube, int m, int most_plain) {
    plain_cube p = plain_of(cube);
    size_t n = pixels_of(&p);
    double *W = NEW(double, m *m), *turns = NEW(double, m), *z;
    int contrast, approach, route, k;
    for (contrast = SHS_CONTRAST_POW3; contrast < SHS_CONTRAST_COUNT; contrast++)
        for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
            for (route = contrast == SHS_CONTRAST_POW3 ? SHS_ROUTE_MOMENTS : SHS_ROUTE_SWEEP; route <= SHS_ROUTE_SWEEP;
                 route++) {
                shs_ica_options o = options_of(m, (shs_contrast)contrast, (shs_ica_approach)approach, (shs_ica_route)route);
                shs_ica ica = fit(NULL, cube, &o);
                double worst = 0, power = 0, plain = 0;
                z = whitened(&ica, &p);
                for (k = 0; k < m; k++)
                    memcpy(W + ica.component[k].extraction * m, ica.rotation + k * m, (size_t)m * sizeof *W);
                plain_turns((shs_ica_approach)approach, (shs_contrast)contrast, m, n, z, W, turns);
                for (k = 0; k < m; k++) {
                    const shs_ica_component *c = ica.component + k;
                    power += (double)c->kurtosis * (double)c->kurtosis;
                    worst = fmax(worst, turns[c->extraction]);
                    if (!c->converged || c->change > 1e-8 || turns[c->extraction] > 1e-8)
                        fail_msg(
                            "%s, contrast %d, approach %d, route %d, component %d: converged %d, change %g, one plain step "
                            "turns it by %g",
                            name, contrast, approach, route, k, c->converged, (double)c->change, turns[c->extraction]);
                }
                if (approach == SHS_APPROACH_SYMMETRIC && most_plain)
                    plain = plain_power((shs_contrast)contrast, m, n, z, most_plain);
                print_message("%s, %d components, contrast %d, approach %d, route %d: %d iterations, turn %.1e, squared "
                              "kurtoses %.6g (plain: %.6g)\n",
                              name, m, contrast, approach, route, ica.component[0].iterations, worst, power, plain);
                assert_true(power >= 0.98 * plain);
                free(z);
                shs_ica_free(NULL, &ica);
            }
    free(W);
    free(turns);
    free(p.x);
}

/* The first components of a cube, in memory: all that the tests of the iteration need of it. */
static shs_cube components_of(int which, int count) {
    shs_cube cube = load_golden(which), components;
    shs_pca_options o = SHS_ZERO;
    shs_pca pca;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, cube.lines, cube.samples, count);
    o.components = count;
    o.precise = SHS_PRECISION_ALWAYS;
    assert_ok(shs_pca_fit(NULL, &cube, &o, &pca));
    assert_ok(shs_pca_transform(NULL, &pca, &cube, &sink));
    shs_pca_free(NULL, &pca);
    components = sink_cube(&sink, cube.lines, cube.samples, count);
    cube_free(&cube);
    return components;
}

/* Of two cubes, 8 components. SHS_SWEEP=1 takes 4, 8 and 12 of all four, and up to 300 plain steps beside each, which takes
   minutes. */
static void test_converged_is_a_fixed_point(void **state) {
    int all = getenv("SHS_SWEEP") != NULL, which, m;
    (void)state;
    for (which = 0; which < GOLDEN_CUBES; which++) {
        shs_cube cube;
        if (!all && which != SANDIEGO && which != JASPER) continue;
        cube = components_of(which, 12);
        for (m = all ? 4 : 8; m <= (all ? 12 : 8); m += 4) check_fixed_points(golden(which)->name, &cube, m, all ? 300 : 0);
        cube_free(&cube);
    }
}

/* A few pixels far from all others, as a target in a scene, and more components than there are sources: one source is of large
   kurtosis, most are nearly normal. Halved steps tore it into several and called them converged. */
static void test_rare_targets(void **state) {
    uint64_t seed;
    (void)state;
    for (seed = 1; seed <= 3; seed += (uint64_t)every(3)) {
        plain_cube p = mixed_cube(40, 50, 12, 3, 1, seed);
        shs_cube cube;
        shs_random r;
        int i, b;
        shs_random_seed(&r, seed);
        for (i = 0; i < 12; i++) {
            double *x = pixel_of(&p, (size_t)shs_random_below(&r, pixels_of(&p)));
            for (b = 0; b < 12; b++) x[b] += b % 2 ? 40 : -25;
        }
        cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        check_fixed_points("rare targets", &cube, 8, every(3) == 1 ? 300 : 60);
        free(p.x);
        cube_free(&cube);
    }
}

/* ---- the stabilised step ----------------------------------------------------------------------------------------- */

static void test_stabilised_step(void **state) {
    enum { RUNS = 40 };
    shs_cube cube = components_of(BEACH, 8);
    int plain, seed, failed[2] = {0, 0}, stuck = -1, k;
    (void)state;
    for (plain = 0; plain < 2; plain++)
        for (seed = 0; seed < RUNS; seed += every(1)) {
            shs_ica_options o = options_of(8, SHS_CONTRAST_POW3, SHS_APPROACH_DEFLATION, SHS_ROUTE_MOMENTS);
            shs_ica ica;
            o.random_start = 1;
            o.seed = (uint64_t)seed;
            o.restarts = -1;
            o.plain_steps = plain;
            ica = fit(NULL, &cube, &o);
            if (!ica.converged) {
                failed[plain]++;
                stuck = plain ? seed : stuck;
            }
            for (k = 0; k < 8; k++) {
                assert_int_equal(ica.component[k].restarts, 0);
                assert_in_range(ica.component[k].iterations, 1, 200);
                if (ica.component[k].converged) assert_true(ica.component[k].change <= 1e-8);
                else assert_true(ica.component[k].change > 1e-8);
            }
            shs_ica_free(NULL, &ica);
        }
    print_message("beach, deflation from %d random starts: not converged %d with plain steps, %d with ours\n",
                  (int)RUNS / every(1), failed[1], failed[0]);
    assert_int_equal(failed[0], 0);
    if (stuck >= 0) { /* where plain steps get stuck, a fresh start helps, and is reported */
        shs_ica_options o = options_of(8, SHS_CONTRAST_POW3, SHS_APPROACH_DEFLATION, SHS_ROUTE_MOMENTS);
        shs_ica ica;
        int restarts = 0;
        o.random_start = 1;
        o.seed = (uint64_t)stuck;
        o.plain_steps = 1;
        ica = fit(NULL, &cube, &o);
        for (k = 0; k < 8; k++) {
            restarts += ica.component[k].restarts;
            assert_in_range(ica.component[k].restarts, 0, 3);
            if (!ica.component[k].converged) assert_int_equal(ica.component[k].restarts, 3);
        }
        assert_true(restarts > 0);
        shs_ica_free(NULL, &ica);
    }
    cube_free(&cube);
}

/* A mixture of sources of one kind is a fixed point, which plain steps leave. None may come out as a component: of each row of
   unmixing x mixing, one entry stands for nearly all. */
static void test_components_are_sources_not_mixtures(void **state) {
    enum { SOURCES = 40, PIXELS = 10000, MIXINGS = 4 };
    static const shs_contrast contrasts[] = {SHS_CONTRAST_POW3, SHS_CONTRAST_TANH, SHS_CONTRAST_GAUSS};
    int seed, c, i, j, q;
    (void)state;
    for (seed = 0; seed < MIXINGS; seed++) {
        plain_cube p = new_plain(PIXELS / 100, 100, SOURCES);
        double *A = NEW(double, SOURCES *SOURCES);
        shs_cube cube;
        shs_random r;
        size_t at;
        shs_random_seed(&r, (uint64_t)seed);
        for (i = 0; i < SOURCES * SOURCES; i++) A[i] = shs_random_normal(&r);
        for (at = 0; at < PIXELS; at++) {
            double *x = pixel_of(&p, at);
            for (j = 0; j < SOURCES; j++) {
                double s = 2 * shs_random_uniform(&r) - 1;
                for (i = 0; i < SOURCES; i++) x[i] += A[i * SOURCES + j] * s;
            }
        }
        cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        for (c = 0; c < 3; c++) {
            shs_ica_options o = options_of(SOURCES, contrasts[c], SHS_APPROACH_DEFLATION, SHS_ROUTE_AUTO);
            shs_ica ica = fit(NULL, &cube, &o);
            for (i = 0; i < SOURCES; i++) {
                double largest = 0, all = 0;
                for (j = 0; j < SOURCES; j++) {
                    double entry = 0;
                    for (q = 0; q < SOURCES; q++) entry += (double)ica.unmixing[q * SOURCES + i] * A[q * SOURCES + j];
                    all += entry * entry;
                    if (entry * entry > largest) largest = entry * entry;
                }
                if (!(largest > 0.8 * all))
                    fail_msg("mixing %d, contrast %d: component %d is %.2f of a source", seed, c, i, largest / all);
            }
            shs_ica_free(NULL, &ica);
        }
        free(A);
        free(p.x);
        cube_free(&cube);
    }
}

/* ---- against the naive iteration --------------------------------------------------------------------------------- */

static plain_cube test_scene(void) { return mixed_cube(41, 43, 7, 4, 0.02, 1); }

static void check_naive(shs_contrast contrast, shs_ica_approach approach, shs_ica_route route, int iterations, int precise) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0);
    shs_ica_options o = options_of(4, contrast, approach, route);
    shs_ica ica;
    double *z, *W = NEW(double, 16), difference;
    int k;
    o.iterations = iterations;
    o.tolerance = -1;
    o.plain_steps = 1;
    o.restarts = -1;
    o.order = SHS_ORDER_EXTRACTION;
    o.precise = precision_of(precise);
    ica = fit(NULL, &cube, &o);
    check_ica(&ica);
    z = whitened(&ica, &p);
    for (k = 0; k < 4; k++) W[5 * k] = 1;
    plain_steps(contrast, approach, 4, pixels_of(&p), z, iterations, W);
    difference = rotation_difference(4, ica.rotation, W);
    if (!(difference <= BY_TYPE(1e-4, 1e-9)))
        fail_msg("contrast %d, approach %d, route %d, %d iterations, precise %d: rotations differ by %g", (int)contrast,
                 (int)approach, (int)route, iterations, precise, difference);
    for (k = 0; k < 4; k++) {
        assert_int_equal(ica.component[k].iterations, iterations);
        assert_int_equal(ica.component[k].restarts, 0);
    }
    free(z);
    free(W);
    free(p.x);
    shs_ica_free(NULL, &ica);
    cube_free(&cube);
}

static void test_against_the_naive_iteration(void **state) {
    int turn = 0;
    static const int iterations[] = {1, 4, 30};
    int contrast, approach, i, precise;
    (void)state;
    for (contrast = SHS_CONTRAST_POW3; contrast < SHS_CONTRAST_COUNT; contrast++)
        for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
            for (i = 0; i < 3; i++)
                for (precise = 0; precise < 2; precise++) {
                    if (left_out(&turn, every_on_device(7))) continue;
                    /* The scene is symmetric: where there is no skew to find, the steps follow rounding in the end. */
                    if (contrast == SHS_CONTRAST_SKEW && iterations[i] > 4) continue;
                    check_naive((shs_contrast)contrast, (shs_ica_approach)approach, SHS_ROUTE_SWEEP, iterations[i], precise);
                    if (contrast == SHS_CONTRAST_POW3)
                        check_naive(SHS_CONTRAST_POW3, (shs_ica_approach)approach, SHS_ROUTE_MOMENTS, iterations[i], precise);
                }
}

/* Every contrast has its own name, and no other number has a name. */
static void test_contrast_names(void **state) {
    int i, j;
    (void)state;
    assert_string_equal(shs_contrast_name(SHS_CONTRAST_POW3), "pow3");
    assert_string_equal(shs_contrast_name(SHS_CONTRAST_TANH), "tanh");
    for (i = 0; i < SHS_CONTRAST_COUNT; i++)
        for (j = 0; j < i; j++)
            assert_string_not_equal(shs_contrast_name((shs_contrast)i), shs_contrast_name((shs_contrast)j));
    assert_null(shs_contrast_name(SHS_CONTRAST_COUNT));
}

/* Skewed sources are found by the contrast for them: what it finds is the most skewed direction first, at a fixed point. */
static void test_skew(void **state) {
    plain_cube p = new_plain(40, 50, 5);
    shs_cube cube;
    shs_ica_options o = options_of(3, SHS_CONTRAST_SKEW, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
    shs_ica ica;
    double *z;
    shs_random r;
    size_t i;
    int k, b;
    (void)state;
    shs_random_seed(&r, 5);
    for (i = 0; i < pixels_of(&p); i++)
        for (k = 0; k < 3; k++) {
            double s = -log(1 - (double)shs_random_uniform(&r)); /* exponential: skewness 2 */
            for (b = 0; b < 5; b++) pixel_of(&p, i)[b] += s * cos(1.0 + b * (k + 1) + k * k) * (3 - k);
        }
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    ica = fit(NULL, &cube, &o);
    assert_true(ica.converged);
    z = NEW(double, pixels_of(&p) * 3);
    naive_map(&p, 3, ica.unmixing, ica.mean, NULL, z);
    for (k = 0; k < 3; k++) {
        double third = 0;
        for (i = 0; i < pixels_of(&p); i++) third += pow(z[3 * i + (size_t)k], 3);
        assert_true(fabs(third / (double)pixels_of(&p)) > 1.6);
    }
    free(z);
    free(p.x);
    shs_ica_free(NULL, &ica), cube_free(&cube);
}

/* With all defaults every contrast ends at a fixed point of its own step. */
static void test_every_contrast_converges(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 1);
    int contrast;
    (void)state;
    for (contrast = SHS_CONTRAST_POW3; contrast < SHS_CONTRAST_COUNT; contrast++) {
        shs_ica_options o = options_of(4, (shs_contrast)contrast, SHS_APPROACH_DEFLATION, SHS_ROUTE_AUTO);
        shs_ica ica = fit(NULL, &cube, &o);
        double *z = whitened(&ica, &p);
        check_ica(&ica);
        assert_true(ica.converged);
        assert_true(fixed_point_error(&ica, (shs_contrast)contrast, pixels_of(&p), z) <=
                    2e-4); /* the root of twice the tolerance */
        free(z);
        shs_ica_free(NULL, &ica);
    }
    free(p.x);
    cube_free(&cube);
}

/* ---- what the result says ---------------------------------------------------------------------------------------- */

/* E log cosh of a normal variable, by the trapezium rule. */
static double normal_log_cosh(void) {
    double sum = 0, x;
    for (x = -12; x <= 12; x += 1.0 / 1024) sum += exp(-x * x / 2) * (fabs(x) + log1p(exp(-2 * fabs(x))) - log(2.0));
    return sum / 1024 / sqrt(8 * atan(1.0));
}

static void test_kurtosis_and_negentropy(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    double normal = normal_log_cosh(), *y = NEW(double, 4 * pixels_of(&p));
    int approach, precise, k;
    size_t i, n = pixels_of(&p);
    (void)state;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
        for (precise = 0; precise < 2; precise++) {
            shs_ica_options o = options_of(4, SHS_CONTRAST_POW3, (shs_ica_approach)approach, SHS_ROUTE_AUTO);
            shs_ica ica;
            double bound = BY_TYPE(1e-5, 1e-9);
            o.precise = precision_of(precise);
            ica = fit(NULL, &cube, &o);
            assert_true(ica.count == (shs_wide)n);
            naive_map(&p, 4, ica.unmixing, ica.mean, NULL, y);
            for (k = 0; k < 4; k++) {
                double mean = 0, square = 0, fourth = 0, log_cosh = 0;
                for (i = 0; i < n; i++) {
                    double v = y[4 * i + (size_t)k];
                    mean += v / (double)n;
                    square += v * v / (double)n;
                    fourth += v * v * v * v / (double)n;
                    log_cosh += (fabs(v) + log1p(exp(-2 * fabs(v))) - log(2.0)) / (double)n;
                }
                assert_close(mean, 0, bound);
                assert_close(square, 1, bound);
                assert_close(ica.component[k].kurtosis, fourth - 3, bound * fourth);
                assert_close(ica.component[k].negentropy, (log_cosh - normal) * (log_cosh - normal),
                             bound * fabs(log_cosh - normal));
            }
            shs_ica_free(NULL, &ica);
        }
    free(p.x);
    free(y);
    cube_free(&cube);
}

static void test_orders(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_ica results[3];
    int order, k, l;
    (void)state;
    for (order = SHS_ORDER_KURTOSIS; order <= SHS_ORDER_EXTRACTION; order++) {
        shs_ica_options o = options_of(4, SHS_CONTRAST_TANH, SHS_APPROACH_DEFLATION, SHS_ROUTE_AUTO);
        o.order = (shs_ica_order)order;
        results[order] = fit(NULL, &cube, &o);
        check_ica(results + order);
        for (k = 1; k < 4; k++) {
            const shs_ica_component *a = results[order].component + k - 1, *b = a + 1;
            if (order == SHS_ORDER_KURTOSIS) assert_true(fabs((double)a->kurtosis) >= fabs((double)b->kurtosis));
            if (order == SHS_ORDER_NEGENTROPY) assert_true(a->negentropy >= b->negentropy);
            if (order == SHS_ORDER_EXTRACTION) assert_int_equal(b->extraction, k);
        }
    }
    for (order = 0; order < 2; order++) /* the same components, put in another order */
        for (k = 0; k < 4; k++) {
            l = results[order].component[k].extraction;
            assert_memory_equal(results[order].rotation + 4 * k, results[2].rotation + 4 * l, 4 * sizeof(shs_wide));
            assert_close(results[order].component[k].kurtosis, results[2].component[l].kurtosis, 0);
        }
    for (order = 0; order < 3; order++) shs_ica_free(NULL, results + order);
    shs_ica_free(NULL, results);
    shs_ica_free(NULL, NULL);
    free(p.x);
    cube_free(&cube);
}

static void test_whitening(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    double mean[7], C[49];
    int sample, m, k;
    (void)state;
    naive_moments(&p, NULL, mean, C);
    for (sample = 0; sample < 2; sample++)
        for (m = 1; m <= 7; m += 3) {
            shs_ica_options o = options_of(m, SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
            shs_pca_options q = SHS_ZERO;
            shs_ica ica;
            shs_pca pca;
            double *VC, *VCV, *Vt, factor = sample ? 1 - 1 / (double)pixels_of(&p) : 1;
            o.divisor = q.divisor = (shs_divisor)sample;
            o.precise = q.precise = SHS_PRECISION_ALWAYS;
            ica = fit(NULL, &cube, &o);
            check_ica(&ica);
            assert_int_equal(ica.components, m);
            assert_ok(shs_pca_fit(NULL, &cube, &q, &pca));
            check_near("eigenvalues", (size_t)m, ica.eigenvalues, pca.eigenvalues, 1e-12 * pca.eigenvalues[0]);
            check_near("mean", 7, ica.mean, mean, 1e-11);
            Vt = transposed(m, 7, ica.whitening);
            VC = naive_product(0, m, 7, 7, ica.whitening, C);
            VCV = naive_product(0, m, m, 7, VC, Vt);
            for (k = 0; k < m * m; k++) VCV[k] /= factor;
            assert_true(off_identity(m, VCV) <= 1e-8);
            free(Vt);
            free(VC);
            free(VCV);
            shs_ica_free(NULL, &ica), shs_pca_free(NULL, &pca);
        }
    free(p.x);
    cube_free(&cube);
}

static void test_number_of_components(void **state) {
    plain_cube p = mixed_cube(41, 43, 9, 4, 0.1, 2), low = mixed_cube(41, 43, 9, 3, 0, 3);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0),
             deficient = cube_of(&low, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_pca pca;
    int k, precise;
    (void)state;
    assert_ok(shs_pca_fit(NULL, &cube, NULL, &pca));
    for (k = 1; k <= 4; k++) {
        shs_ica_options o = SHS_ZERO;
        shs_ica ica;
        o.eigenvalue_at_least = k < 4 ? 0.5 * (pca.eigenvalues[k - 1] + pca.eigenvalues[k]) : 1;
        ica = fit(NULL, &cube, &o);
        assert_int_equal(ica.components, k);
        shs_ica_free(NULL, &ica);
    }
    for (precise = 0; precise < 2; precise++) {
        shs_ica_options o = SHS_ZERO;
        shs_ica ica;
        o.precise = precision_of(precise);
        ica = fit(NULL, &deficient, &o); /* all above rounding */
        assert_int_equal(ica.components, 3);
        check_ica(&ica);
        shs_ica_free(NULL, &ica);
        o.components = 4;
        assert_status(shs_ica_fit(NULL, &deficient, &o, &ica), SHS_RANK_TOO_LOW);
        o.eigenvalue_at_least = (shs_wide)1e30f; /* none reaches it */
        for (o.components = 1; o.components < 4; o.components++)
            assert_status(shs_ica_fit(NULL, &deficient, &o, &ica), SHS_RANK_TOO_LOW);
    }
    shs_pca_free(NULL, &pca);
    free(p.x);
    free(low.x);
    cube_free(&cube);
    cube_free(&deficient);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* A nearly normal component does not count as converged in float, because float sums cannot resolve its turn. It converges in
   the double build, and with a larger tolerance. */
static void test_nearly_normal_components(void **state) {
    enum { SIDE = 200, M = 3, RUNS = 8 };
    plain_cube p = new_plain(SIDE, SIDE, M);
    shs_random r;
    int run, k, normal = 0;
    size_t i;
    (void)state;
    shs_random_seed(&r, 3);
    for (run = 0; run < RUNS; run++) {
        shs_ica_options o = options_of(M, SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, run % 2 ? SHS_ROUTE_SWEEP : SHS_ROUTE_MOMENTS);
        shs_ica ica, wide;
        shs_cube cube;
        for (i = 0; i < values_of(&p); i++) p.x[i] = (double)shs_random_normal(&r);
        cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        ica = fit(NULL, &cube, &o);
        check_ica(&ica);
        o.tolerance = 1e-4;
        wide = fit(NULL, &cube, &o);
        for (k = 0; k < M; k++) {
            double kurtosis = fabs(ica.component[k].kurtosis);
            int known = sizeof(shs_real) == 8 || kurtosis > 0.0071;
            if (kurtosis > 0.0065 && kurtosis < 0.0075) continue;
            normal += !known;
            assert_int_equal(ica.component[k].converged, known);
            if (!known) assert_true(ica.component[k].change > 1e-8);
            if (fabs(wide.component[k].kurtosis) > 0.001) assert_true(wide.component[k].converged);
        }
        shs_ica_free(NULL, &ica);
        shs_ica_free(NULL, &wide);
        cube_free(&cube);
    }
    if (sizeof(shs_real) == 4) assert_true(normal > 0);
    free(p.x);
}

/* One component alone cannot turn: it has converged, one after another or all at once, however near it is to normal. */
static void test_one_normal_component(void **state) {
    enum { SIDE = 300 };
    plain_cube p = new_plain(SIDE, SIDE, 1);
    shs_cube cube;
    shs_random r;
    int contrast, approach;
    size_t i;
    (void)state;
    shs_random_seed(&r, 7);
    for (i = 0; i < values_of(&p); i++) p.x[i] = (double)shs_random_normal(&r);
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    for (contrast = SHS_CONTRAST_POW3; contrast < SHS_CONTRAST_COUNT; contrast++)
        for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++) {
            shs_ica_options o = options_of(1, (shs_contrast)contrast, (shs_ica_approach)approach, SHS_ROUTE_SWEEP);
            shs_ica ica;
            if (contrast != SHS_CONTRAST_POW3) o.route = SHS_ROUTE_AUTO;
            ica = fit(NULL, &cube, &o);
            assert_true(ica.converged && ica.component[0].change <= 0);
            shs_ica_free(NULL, &ica);
        }
    free(p.x);
    cube_free(&cube);
}

static void test_not_converging_is_said(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int approach, k;
    (void)state;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++) {
        shs_ica_options o = options_of(4, SHS_CONTRAST_POW3, (shs_ica_approach)approach, SHS_ROUTE_AUTO);
        shs_ica ica;
        int stuck = 0;
        o.iterations = 1;
        o.restarts = -1;
        o.tolerance = 1e-12;
        ica = fit(NULL, &cube, &o);
        check_ica(&ica);
        assert_false(ica.converged);
        for (k = 0; k < 4; k++) {
            assert_int_equal(ica.component[k].iterations, 1);
            stuck += !ica.component[k].converged;
            if (!ica.component[k].converged) assert_true(ica.component[k].change > 1e-12);
        }
        assert_true(stuck >= 1);
        shs_ica_free(NULL, &ica);
    }
    free(p.x);
    cube_free(&cube);
}

/* Cancels when a component is asked about for the third time. */
static int cancel_third(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    int *times = (int *)user;
    (void)error;
    if (strcmp(phase, "separating") != 0 || step != 0) return 0;
    assert_int_equal(steps, 1);
    return ++*times == 3;
}

/* A component that takes many steps can be cancelled between two of them. */
static void test_cancelled_within_a_component(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_ica_options o = options_of(1, SHS_CONTRAST_POW3, SHS_APPROACH_DEFLATION, SHS_ROUTE_AUTO);
    shs_context ctx = SHS_ZERO;
    shs_ica ica;
    int times = 0;
    (void)state;
    o.tolerance = -1; /* all iterations are made */
    o.iterations = 25;
    ctx.progress_fn = cancel_third;
    ctx.progress_user = &times;
    assert_status(shs_ica_fit(&ctx, &cube, &o, &ica), SHS_CANCELLED);
    assert_int_equal(times, 3);
    free(p.x);
    cube_free(&cube);
}

/* From its own solution nothing is left to do. */
static void test_given_start(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int approach, contrast, k;
    (void)state;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
        for (contrast = SHS_CONTRAST_POW3; contrast < SHS_CONTRAST_COUNT; contrast++) {
            shs_ica_options o = options_of(4, (shs_contrast)contrast, (shs_ica_approach)approach, SHS_ROUTE_AUTO);
            shs_ica first, again;
            o.order = SHS_ORDER_EXTRACTION;
            first = fit(NULL, &cube, &o);
            assert_true(first.converged);
            o.start = first.rotation;
            again = fit(NULL, &cube, &o);
            assert_true(again.converged);
            assert_true(rotation_difference(4, first.rotation, again.rotation) <= 2e-4);
            for (k = 0; k < 4; k++) assert_in_range(again.component[k].iterations, 1, 2);
            shs_ica_free(NULL, &first), shs_ica_free(NULL, &again);
        }
    free(p.x);
    cube_free(&cube);
}

/* A start with dependent columns is repaired or refused. The result is never NaN. */
static void test_odd_starts(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    double zeros[16] = {0}, same[16], odd[16] = {0}, pattern[16];
    int approach, which, i;
    (void)state;
    for (i = 0; i < 16; i++) {
        same[i] = 1;
        pattern[i] = i % 5 == 0;
    }
    odd[3] = NOT_A_NUMBER;
    odd[5] = odd[10] = odd[15] = odd[0] = 1;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
        for (which = 0; which < 4; which++) {
            shs_ica_options o = options_of(4, SHS_CONTRAST_POW3, (shs_ica_approach)approach, SHS_ROUTE_AUTO);
            shs_ica ica;
            shs_status status;
            if (which == 0) o.start = zeros;
            else if (which == 1) o.start = same;
            else if (which == 2) o.start = odd;
            else o.start = pattern;
            status = shs_ica_fit(NULL, &cube, &o, &ica);
            if (which == 2 && status == SHS_OK) fail_msg("approach %d: a start of NaN was taken", approach);
            if (which == 3) assert_ok(status);
            if (status == SHS_OK) {
                check_ica(&ica);
                shs_ica_free(NULL, &ica);
            }
        }
    free(p.x);
    cube_free(&cube);
}

/* The restarts of a fit without restarts from `start`, one digit for each component in the order of extraction. */
static int restarts_from(const shs_cube *cube, shs_ica_approach approach, const shs_wide *start) {
    shs_ica_options o = options_of(4, SHS_CONTRAST_POW3, approach, SHS_ROUTE_AUTO);
    shs_ica ica;
    int k, digits = 0;
    o.order = SHS_ORDER_EXTRACTION;
    o.restarts = -1;
    o.seed = 5;
    o.start = start;
    ica = fit(NULL, cube, &o);
    check_ica(&ica);
    for (k = 0; k < 4; k++) digits = 10 * digits + ica.component[k].restarts;
    shs_ica_free(NULL, &ica);
    return digits;
}

/* A column of the start that is in the span of earlier directions, but for rounding, is replaced, which counts as a restart. */
static void test_dependent_starts(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_ica_options o = options_of(4, SHS_CONTRAST_POW3, SHS_APPROACH_DEFLATION, SHS_ROUTE_AUTO);
    shs_wide start[16];
    shs_ica found;
    int i, k, times;
    (void)state;
    o.order = SHS_ORDER_EXTRACTION;
    found = fit(NULL, &cube, &o);
    for (times = 0; times < 5; times++) {
        for (i = 0; i < 16; i++) start[i] = found.rotation[i];
        assert_int_equal(restarts_from(&cube, SHS_APPROACH_DEFLATION, start), 0);
        assert_int_equal(restarts_from(&cube, SHS_APPROACH_SYMMETRIC, start), 0);
        for (i = 0; i < 4; i++) {
            start[8 + i] = (shs_wide)(0.3 + 0.1 * times) * start[i] + (shs_wide)0.7 * start[4 + i];
            start[12 + i] -= (shs_wide)(0.5 + times) * start[4 + i];
        }
        assert_int_equal(restarts_from(&cube, SHS_APPROACH_DEFLATION, start), 10);
        assert_int_equal(restarts_from(&cube, SHS_APPROACH_SYMMETRIC, start), 1111);
        for (k = 0; k < 4; k++)
            for (i = 0; i < 4; i++) start[4 * k + i] = (shs_wide)(0.3 + 0.7 * i) * (shs_wide)(1 + 0.1 * k * times); /* rank 1 */
        assert_int_equal(restarts_from(&cube, SHS_APPROACH_SYMMETRIC, start), 1111);
    }
    shs_ica_free(NULL, &found);
    free(p.x);
    cube_free(&cube);
}

/* The same result and the same sources on one thread, two and three. */
static void check_threads(const shs_cube *fitted, const shs_cube *cube, const shs_ica_options *o) {
    shs_ica first = SHS_ZERO, more;
    shs_sink a = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 71, 67, 4),
             b = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 71, 67, 4);
    int threads;
    for (threads = 1; threads <= 3; threads++) {
        shs_context ctx = SHS_ZERO;
        ctx.threads = threads;
        more = fit(&ctx, fitted, o);
        assert_ok(shs_ica_transform(&ctx, &more, cube, threads == 1 ? &a : &b));
        if (threads == 1) {
            first = more;
            continue;
        }
        assert_true(same_ica(&first, &more));
        assert_memory_equal(a.pixels, b.pixels, 71 * 67 * 4 * sizeof(float));
        shs_ica_free(&ctx, &more);
    }
    shs_ica_free(NULL, &first);
    sink_free(&a);
    sink_free(&b);
}

static void test_seeds_and_threads(void **state) {
    plain_cube p = mixed_cube(71, 67, 9, 4, 0.02, 4);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0), blockwise;
    int contrast, approach, route, precise;
    stream s;
    (void)state;
    blockwise = streamed(&cube, 9, &s);
    for (contrast = SHS_CONTRAST_POW3; contrast < SHS_CONTRAST_COUNT; contrast++)
        for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
            for (route = contrast == SHS_CONTRAST_POW3 ? SHS_ROUTE_MOMENTS : SHS_ROUTE_SWEEP; route <= SHS_ROUTE_SWEEP; route++)
                for (precise = 0; precise < 2; precise++) {
                    shs_ica_options o = options_of(4, (shs_contrast)contrast, (shs_ica_approach)approach, (shs_ica_route)route);
                    o.random_start = 1;
                    o.seed = 12345;
                    o.precise = precision_of(precise);
                    check_threads(precise ? &blockwise : &cube, &cube, &o);
                }
    assert_false(s.wrong);
    free(p.x);
    cube_free(&cube);
}

/* ---- layouts, offsets, missing pixels ---------------------------------------------------------------------------- */

static void test_layouts_give_one_answer(void **state) {
    static const shs_type types[] = {SHS_TYPE_F64, SHS_TYPE_I16, SHS_TYPE_U16, SHS_TYPE_I32, SHS_TYPE_U32, SHS_TYPE_F32};
    plain_cube p = test_scene();
    int approach, route, t, blocks, turn = 0;
    size_t i;
    (void)state;
    for (i = 0; i < values_of(&p); i++) p.x[i] = floor(64 * p.x[i]);
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
        for (route = SHS_ROUTE_MOMENTS; route <= SHS_ROUTE_SWEEP; route++) {
            shs_ica first = SHS_ZERO;
            for (t = 0; t < 6; t++)
                for (blocks = 0; blocks < 2; blocks++) {
                    if ((t || blocks) && left_out(&turn, every_on_device(5))) continue;
                    shs_cube cube = cube_of(&p, types[t], (shs_interleave)(t % 3), (t + blocks) & 1), used = cube;
                    shs_ica_options o = options_of(4, SHS_CONTRAST_POW3, (shs_ica_approach)approach, (shs_ica_route)route);
                    shs_ica ica;
                    stream s;
                    if (blocks) used = streamed(&cube, 6 + t, &s);
                    ica = fit(NULL, &used, &o);
                    check_ica(&ica);
                    if (t == 0 && !blocks) first = ica;
                    else {
                        assert_true(rotation_difference(4, first.rotation, ica.rotation) <= BY_TYPE(1e-4, 1e-9));
                        shs_ica_free(NULL, &ica);
                    }
                    cube_free(&cube);
                }
            shs_ica_free(NULL, &first);
        }
    free(p.x);
}

static void test_large_offsets(void **state) {
    plain_cube p = test_scene();
    shs_ica results[2];
    int shifted;
    size_t i;
    (void)state;
    for (shifted = 0; shifted < 2; shifted++) {
        shs_ica_options o = options_of(4, SHS_CONTRAST_TANH, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
        shs_cube cube;
        for (i = 0; i < values_of(&p); i++) p.x[i] = shifted ? p.x[i] + 1e6 : floor(16 * p.x[i]) / 16;
        cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
        results[shifted] = fit(NULL, &cube, &o);
        cube_free(&cube);
    }
    assert_true(rotation_difference(4, results[0].rotation, results[1].rotation) <= BY_TYPE(1e-4, 1e-8));
    shs_ica_free(NULL, results), shs_ica_free(NULL, results + 1);
    free(p.x);
}

/* FastICA finds the sources of quiet channels beside a loud one, in any unit of the loud one. */
static void test_loud_channel(void **state) {
    enum { BANDS = 5, LOUD = 4 };
    plain_cube p = mixed_cube(41, 43, BANDS, 4, 0.1, 7);
    shs_random r;
    double *C = NULL, *plain = NULL;
    size_t i;
    int bits, components, k;
    (void)state;
    shs_random_seed(&r, 8);
    for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[LOUD] = 2.0 * ((double)shs_random_uniform(&r) < 0.4);
    for (bits = 0; bits <= 30; bits += 5)
        for (components = 0; components <= BANDS; components += BANDS) {
            shs_ica_options o = options_of(components, SHS_CONTRAST_TANH, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
            shs_cube cube;
            shs_ica ica;
            for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[LOUD] = ldexp(pixel_of(&p, i)[LOUD], bits);
            cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
            for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[LOUD] = ldexp(pixel_of(&p, i)[LOUD], -bits);
            ica = fit(NULL, &cube, &o);
            assert_int_equal(ica.components, BANDS);
            check_ica(&ica);
            for (k = 0; k < BANDS; k++) ica.unmixing[LOUD * BANDS + k] = ldexp(ica.unmixing[LOUD * BANDS + k], bits);
            if (!C) {
                C = covariance_of(&cube);
                plain = NEW(double, BANDS *BANDS);
                memcpy(plain, ica.unmixing, sizeof *plain * BANDS * BANDS);
            }
            assert_true(worst_match(&ica, C, plain) > 1 - BY_TYPE(1e-5, 1e-7)); /* turns converge to 1e-8 */
            shs_ica_free(NULL, &ica);
            cube_free(&cube);
        }
    for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[LOUD] = ldexp(pixel_of(&p, i)[LOUD], 30);
    for (components = 1; components <= BANDS; components++) { /* fewer than all, too, where they would be refused */
        shs_ica_options o = options_of(components, SHS_CONTRAST_POW3, SHS_APPROACH_DEFLATION, SHS_ROUTE_AUTO);
        shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        shs_ica ica = fit(NULL, &cube, &o);
        assert_int_equal(ica.components, components);
        check_ica(&ica);
        shs_ica_free(NULL, &ica);
        cube_free(&cube);
    }
    free(p.x);
    free(C);
    free(plain);
}

/* Bands that vary a thousand times less than the others are no channels: what 32 bits round of them is no component. */
static void test_rounding_of_dark_bands(void **state) {
    enum { BANDS = 8, BRIGHT = 6, SOURCES = 4 };
    plain_cube p = mixed_cube(50, 60, BANDS, SOURCES, 0, 5);
    int bright, precise;
    size_t i;
    (void)state;
    for (i = 0; i < values_of(&p); i++)
        if (i % BANDS >= BRIGHT) p.x[i] *= 1e-3;
    for (bright = 0; bright < 2; bright++) {
        shs_cube cube;
        for (i = 0; i < values_of(&p); i++) p.x[i] += bright ? 99 : 1;
        cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
        for (precise = 0; precise < 2; precise++) {
            shs_ica_options o = options_of(0, SHS_CONTRAST_TANH, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
            shs_ica ica;
            o.precise = precision_of(precise);
            ica = fit(NULL, &cube, &o);
            assert_int_equal(ica.components, SOURCES);
            check_ica(&ica);
            shs_ica_free(NULL, &ica);
        }
        cube_free(&cube);
    }
    free(p.x);
}

/* A band counts as constant where shs_real does not hold the number that whitens the band, or where squares lose its digits. A
   somewhat louder band does not. */
static void test_bands_too_faint_to_whiten(void **state) {
    enum { BANDS = 5, FAINT = 4 };
    static const double faint[] = {BY_TYPE(1e-43, 1e-158), BY_TYPE(1e-37, 1e-160), BY_TYPE(1e-28, 1e-150)};
    plain_cube p = mixed_cube(41, 43, BANDS, 4, 0.1, 7);
    shs_random r;
    int k;
    size_t i;
    (void)state;
    shs_random_seed(&r, 8);
    for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[FAINT] = (double)shs_random_below(&r, 100);
    for (k = 0; k < 3; k++) {
        shs_ica_options o = options_of(0, SHS_CONTRAST_TANH, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
        shs_cube cube;
        shs_ica ica;
        for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[FAINT] *= faint[k];
        cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        for (i = 0; i < pixels_of(&p); i++) pixel_of(&p, i)[FAINT] /= faint[k];
        ica = fit(NULL, &cube, &o);
        assert_int_equal(ica.components, k < 2 ? BANDS - 1 : BANDS);
        check_ica(&ica);
        shs_ica_free(NULL, &ica);
        o.components = BANDS;
        if (k < 2) assert_status(shs_ica_fit(NULL, &cube, &o, &ica), SHS_RANK_TOO_LOW);
        cube_free(&cube);
    }
    free(p.x);
}

/* A loud band beside few pixels with many bands. */
static void test_loud_band_of_few_pixels(void **state) {
    enum { PIXELS = 20, BANDS = 64 };
    plain_cube p = new_plain(1, PIXELS, BANDS);
    shs_random r;
    shs_cube cube;
    int components;
    size_t i;
    (void)state;
    shs_random_seed(&r, 9);
    for (i = 0; i < values_of(&p); i++) p.x[i] = (double)shs_random_normal(&r) * (i % BANDS ? 1 : 1e8);
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    for (components = 0; components < PIXELS; components += 5) { /* 0: all */
        shs_ica_options o = options_of(components, SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
        shs_ica ica;
        o.iterations = 3;
        ica = fit(NULL, &cube, &o);
        assert_int_equal(ica.components, components > 0 ? components : PIXELS - 1);
        shs_ica_free(NULL, &ica);
    }
    free(p.x);
    cube_free(&cube);
}

static void test_missing_pixels(void **state) {
    plain_cube p = test_scene(), kept, out;
    unsigned char *mask = NEW(unsigned char, pixels_of(&p));
    shs_cube cube, clean;
    int contrast;
    size_t i, k, count = 0;
    (void)state;
    kept = new_plain(1, (int)pixels_of(&p), 7);
    for (i = 0; i < pixels_of(&p); i++) {
        mask[i] = i % 5 != 2;
        if (i % 7 == 3) pixel_of(&p, i)[i % 7] = NOT_A_NUMBER;
        if (i % 11 == 7) pixel_of(&p, i)[i % 7] = -5;
        if (mask[i] && i % 7 != 3 && i % 11 != 7) memcpy(pixel_of(&kept, count++), pixel_of(&p, i), 7 * sizeof(double));
    }
    kept.samples = (int)count;
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0);
    clean = cube_of(&kept, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    cube.mask = mask;
    cube.has_nodata = 1;
    cube.nodata = -5;
    for (contrast = SHS_CONTRAST_POW3; contrast <= SHS_CONTRAST_TANH; contrast++) {
        shs_ica_options o = options_of(4, (shs_contrast)contrast, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
        shs_ica a = fit(NULL, &cube, &o), b = fit(NULL, &clean, &o);
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 41, 43, 4);
        double *y = NEW(double, 4 * count);
        assert_true(a.count == (shs_wide)count && b.count == (shs_wide)count);
        assert_true(rotation_difference(4, a.rotation, b.rotation) <= BY_TYPE(1e-4, 1e-9));
        assert_ok(shs_ica_transform(NULL, &a, &cube, &sink));
        out = sink_values(&sink, 41, 43, 4);
        naive_map(&kept, 4, a.unmixing, a.mean, NULL, y);
        for (i = count = 0; i < pixels_of(&p); i++) {
            int valid = mask[i] && i % 7 != 3 && i % 11 != 7;
            for (k = 0; k < 4; k++)
                assert_close(pixel_of(&out, i)[k], valid ? y[4 * count + k] : -5, valid ? BY_TYPE(1e-4, 1e-10) : 0);
            count += (size_t)valid;
        }
        free(out.x);
        free(y);
        shs_ica_free(NULL, &a), shs_ica_free(NULL, &b);
        sink_free(&sink);
    }
    free(p.x);
    free(kept.x);
    free(mask);
    cube_free(&cube);
    cube_free(&clean);
}

/* ---- sources and back -------------------------------------------------------------------------------------------- */

static void test_transform_and_inverse(void **state) {
    int turn = 0;
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int m, precise;
    (void)state;
    for (m = 1; m <= 7; m += 3)
        for (precise = 0; precise < 2; precise++) {
            if (left_out(&turn, every_on_device(5))) continue;
            shs_ica_options o = options_of(m, SHS_CONTRAST_TANH, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
            shs_pca_options q = SHS_ZERO;
            shs_sink sources = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 41, 43, m),
                     back = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 41, 43, 7);
            shs_sink denoised = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 41, 43, 7);
            shs_cube between = sink_cube(&sources, 41, 43, m);
            shs_ica ica;
            shs_pca pca;
            plain_cube got, expected;
            double *y = NEW(double, pixels_of(&p) * (size_t)m), scale, bound = precise ? 1e-11 : BY_TYPE(1e-5, 1e-11);
            o.precise = q.precise = precision_of(precise);
            q.components = m;
            ica = fit(NULL, &cube, &o);
            assert_ok(shs_ica_transform(NULL, &ica, &cube, &sources));
            got = sink_values(&sources, 41, 43, m);
            scale = naive_map(&p, m, ica.unmixing, ica.mean, NULL, y);
            check_near("sources", values_of(&got), got.x, y, bound * scale);
            free(got.x);
            assert_ok(shs_ica_inverse(NULL, &ica, &between, &back));
            assert_ok(shs_pca_fit(NULL, &cube, &q, &pca));
            assert_ok(shs_pca_denoise(NULL, &pca, 0, &cube, &denoised));
            got = sink_values(&back, 41, 43, 7);
            expected = sink_values(&denoised, 41, 43, 7);
            check_near("back", values_of(&got), got.x, m == 7 ? p.x : expected.x, 10 * bound * largest_of(values_of(&p), p.x));
            free(got.x);
            free(expected.x);
            free(y);
            sink_free(&sources);
            sink_free(&back);
            sink_free(&denoised);
            shs_ica_free(NULL, &ica), shs_pca_free(NULL, &pca);
        }
    free(p.x);
    cube_free(&cube);
}

/* Fit and transform in one call: the same result, and the same sources to rounding, since they may come from pixels that
   are already whitened. */
static void test_run(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    int contrast, again;
    (void)state;
    for (contrast = SHS_CONTRAST_POW3; contrast <= SHS_CONTRAST_TANH; contrast++)
        for (again = 0; again < 2; again++) {
            shs_ica_options o = options_of(4, (shs_contrast)contrast, SHS_APPROACH_DEFLATION, SHS_ROUTE_AUTO);
            shs_ica ica = fit(NULL, &cube, &o), made;
            shs_sink a = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 41, 43, 4),
                     b = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 41, 43, 4);
            assert_ok(shs_ica_transform(NULL, &ica, &cube, &a));
            assert_ok(shs_ica_run(NULL, &cube, &o, &b, again ? NULL : &made));
            if (!again) {
                assert_true(same_ica(&ica, &made));
                shs_ica_free(NULL, &made);
            }
            check_near("sources", 41 * 43 * 4, (const double *)b.pixels, (const double *)a.pixels, BY_TYPE(1e-4, 1e-11));
            shs_ica_free(NULL, &ica);
            sink_free(&a);
            sink_free(&b);
        }
    free(p.x);
    cube_free(&cube);
}

/* ---- too little to work on --------------------------------------------------------------------------------------- */

static void check_status(const plain_cube *p, int components, shs_status expected) {
    shs_cube cube = cube_of(p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int approach;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++) {
        shs_ica_options o = options_of(components, SHS_CONTRAST_POW3, (shs_ica_approach)approach, SHS_ROUTE_AUTO);
        shs_ica ica;
        unsigned char pattern[sizeof ica];
        memset(pattern, UNTOUCHED, sizeof pattern);
        memcpy(&ica, pattern, sizeof pattern);
        assert_status(shs_ica_fit(NULL, &cube, &o, &ica), expected);
        if (expected == SHS_OK) {
            check_ica(&ica);
            shs_ica_free(NULL, &ica);
        } else assert_memory_equal(&ica, pattern, sizeof pattern);
    }
    cube_free(&cube);
}

static void test_too_little(void **state) {
    plain_cube flat = new_plain(5, 6, 4), tenth = new_plain(40, 50, 3), one = mixed_cube(1, 1, 5, 2, 1, 5),
               few = mixed_cube(2, 4, 20, 4, 1, 6), single = mixed_cube(20, 30, 1, 1, 0, 7);
    size_t i;
    (void)state;
    for (i = 0; i < values_of(&tenth); i++) tenth.x[i] = 0.1; /* constant too, though no float holds it */
    check_status(&tenth, 0, SHS_ZERO_VARIANCE);
    check_status(&flat, 0, SHS_ZERO_VARIANCE);
    check_status(&flat, 1, SHS_ZERO_VARIANCE);
    check_status(&one, 0, SHS_ZERO_VARIANCE);
    check_status(&few, 8, SHS_RANK_TOO_LOW);
    check_status(&few, 3, SHS_OK);
    check_status(&few, 0, SHS_OK);
    check_status(&single, 0, SHS_OK);
    check_status(&single, 1, SHS_OK);
    check_status(&single, 2, SHS_BAD_COMPONENTS);
    free(flat.x);
    free(tenth.x);
    free(one.x);
    free(few.x);
    free(single.x);
}

#define REFUSED(member, value, status)                                                                                         \
    do {                                                                                                                       \
        o = good;                                                                                                              \
        o.member = value;                                                                                                      \
        assert_status(shs_ica_fit(NULL, &cube, &o, &made), status);                                                            \
    } while (0)

static void test_bad_arguments(void **state) {
    plain_cube p = mixed_cube(6, 7, 4, 2, 1, 8);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0), c = cube, other = cube;
    unsigned char *nothing = NEW(unsigned char, 42), pattern[sizeof(shs_ica)];
    shs_ica ica = fit(NULL, &cube, NULL), made, empty = SHS_ZERO;
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 6, 7, 4);
    shs_ica_options good = SHS_ZERO, o = good;
    shs_context ctx = SHS_ZERO;
    size_t i;
    (void)state;
    memset(pattern, UNTOUCHED, sizeof pattern);
    memcpy(&made, pattern, sizeof pattern);
    REFUSED(components, -1, SHS_BAD_COMPONENTS);
    REFUSED(components, 5, SHS_BAD_COMPONENTS);
    REFUSED(eigenvalue_at_least, -1, SHS_BAD_COMPONENTS);
    REFUSED(contrast, SHS_CONTRAST_COUNT, SHS_BAD_OPTIONS);
    REFUSED(approach, (shs_ica_approach)2, SHS_BAD_OPTIONS);
    REFUSED(route, (shs_ica_route)-1, SHS_BAD_OPTIONS);
    REFUSED(order, (shs_ica_order)3, SHS_BAD_OPTIONS);
    REFUSED(iterations, -1, SHS_BAD_ITERATIONS);
    REFUSED(tolerance, NOT_A_NUMBER, SHS_BAD_TOLERANCE);
    REFUSED(start, ica.rotation, SHS_BAD_OPTIONS);
    o = good; /* m x m of what m? */
    assert_status(shs_ica_fit(NULL, NULL, &o, &made), SHS_BAD_CUBE);
    c.type = SHS_TYPE_COUNT;
    assert_status(shs_ica_fit(NULL, &c, &o, &made), SHS_BAD_CUBE);
    c = cube;
    c.mask = nothing;
    assert_status(shs_ica_fit(NULL, &c, &o, &made), SHS_NO_PIXELS);
    c = cube;
    ctx.threads = -1;
    assert_status(shs_ica_fit(&ctx, &cube, &o, &made), SHS_BAD_CONTEXT);
    assert_memory_equal(&made, pattern, sizeof pattern);
    assert_int_not_equal(shs_ica_fit(NULL, &cube, &o, NULL), SHS_OK);
    other.bands = 3;
    assert_status(shs_ica_transform(NULL, &ica, &other, &sink), SHS_BAD_BANDS);
    assert_status(shs_ica_inverse(NULL, &ica, &other, &sink), SHS_BAD_BANDS);
    assert_status(shs_ica_transform(NULL, &ica, NULL, &sink), SHS_BAD_CUBE);
    assert_status(shs_ica_transform(NULL, &ica, &cube, NULL), SHS_BAD_SINK);
    assert_int_not_equal(shs_ica_transform(NULL, NULL, &cube, &sink), SHS_OK);
    assert_int_not_equal(shs_ica_transform(NULL, &empty, &cube, &sink), SHS_OK);
    assert_int_not_equal(shs_ica_inverse(NULL, &empty, &cube, &sink), SHS_OK);
    for (i = 0; i < 6 * 7 * 4 * sizeof(float); i++) assert_int_equal(((unsigned char *)sink.pixels)[i], UNTOUCHED);
    shs_ica_free(NULL, &ica);
    free(p.x);
    free(nothing);
    cube_free(&cube);
    sink_free(&sink);
}
#undef REFUSED

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef struct rank_work {
    shs_ica_options o;
    rank_share shares[MOST_RANKS];
    shs_ica made[MOST_RANKS];
} rank_work;

static void rank_body(const shs_context *given, int rank, void *arg) {
    rank_work *w = (rank_work *)arg;
    rank_share *me = w->shares + rank;
    memset(w->made + rank, UNTOUCHED, sizeof w->made[rank]);
    me->status = shs_ica_fit(rank_begins(me, given, 5), &me->used, &w->o, w->made + rank);
}

static void rank_setup(rank_work *w, const shs_cube *cube, int ranks) {
    memset(w, 0, sizeof *w);
    share_lines(w->shares, ranks, cube, cube->lines / (ranks + 1));
}

static void rank_clean(rank_work *w, int ranks) {
    rank_share *me;
    for (me = w->shares; me < w->shares + ranks; me++) {
        shs_ica *made = w->made + (me - w->shares);
        if (!holds_untouched(made, sizeof *made)) {
            assert_true(me->status == SHS_OK || me->status == SHS_CANCELLED);
            shs_ica_free(&me->ctx, made);
        }
        assert_int_equal(me->f.outstanding, 0);
    }
}

static void test_ranks_give_one_answer(void **state) {
    plain_cube p = test_scene();
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int ranks, contrast, approach, route, r;
    (void)state;
    for (ranks = 1; ranks <= 3; ranks++)
        for (contrast = SHS_CONTRAST_POW3; contrast <= SHS_CONTRAST_TANH; contrast++)
            for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
                for (route = contrast == SHS_CONTRAST_POW3 ? SHS_ROUTE_MOMENTS : SHS_ROUTE_SWEEP; route <= SHS_ROUTE_SWEEP;
                     route++) {
                    rank_work w;
                    shs_ica one;
                    rank_setup(&w, &cube, ranks);
                    w.o = options_of(4, (shs_contrast)contrast, (shs_ica_approach)approach, (shs_ica_route)route);
                    w.o.precise = SHS_PRECISION_ALWAYS;
                    w.o.random_start = 1;
                    w.o.seed = 3;
                    one = fit(NULL, &cube, &w.o);
                    run_ranks(ranks, rank_body, &w);
                    for (r = 0; r < ranks; r++) {
                        assert_ok(w.shares[r].status);
                        assert_true(w.made[r].count == one.count);
                        assert_true(rotation_difference(4, w.made[r].rotation, one.rotation) <= BY_TYPE(1e-5, 1e-8));
                        assert_true(same_ica(w.made + r, w.made));
                        check_ica(w.made + r);
                    }
                    rank_clean(&w, ranks);
                    shs_ica_free(NULL, &one);
                }
    free(p.x);
    cube_free(&cube);
}

static void test_a_failing_rank_ends_both(void **state) {
    plain_cube p = mixed_cube(20, 23, 4, 3, 0.1, 10);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int sweep, fault, k;
    (void)state;
    for (sweep = 0; sweep < 2; sweep++)
        for (fault = 0; fault < RANK_FAULTS; fault++)
            for (k = 0;; k++) {
                rank_work w;
                int through;
                rank_setup(&w, &cube, 2);
                w.o = options_of(3, SHS_CONTRAST_POW3, sweep ? SHS_APPROACH_SYMMETRIC : SHS_APPROACH_DEFLATION,
                                 sweep ? SHS_ROUTE_SWEEP : SHS_ROUTE_MOMENTS);
                w.o.iterations = 8;
                w.shares[1].fails_at[fault] = k;
                run_ranks(2, rank_body, &w);
                through = w.shares[1].status == SHS_OK;
                assert_status(w.shares[1].status, through ? SHS_OK : rank_fails[fault]);
                assert_status(w.shares[0].status, through ? SHS_OK : others_say[fault]);
                rank_clean(&w, 2);
                if (through) break;
            }
    free(p.x);
    cube_free(&cube);
}

/* ---- sources from pixels that were kept, or not --------------------------------------------------------------------- */

/* Fit and transform in one call against one after the other, into memory and streams, stretched or not: of whole numbers, none
   of which is missing, of pixels whose first panels are, and of a stream, whose pixels are not kept. */
static void test_run_everywhere(void **state) {
    plain_cube p = test_scene();
    unsigned char *mask = NEW(unsigned char, pixels_of(&p));
    int kind, to;
    size_t i;
    (void)state;
    for (i = 0; i < values_of(&p); i++) p.x[i] = floor(20 * p.x[i]);
    for (i = 0; i < pixels_of(&p); i++) mask[i] = i >= 2 * PANEL_PIXELS + 5;
    for (kind = 0; kind < 3; kind++)
        for (to = 0; to < 3; to++) {
            shs_cube whole = cube_of(&p, SHS_TYPE_I32, SHS_INTERLEAVE_BIP, 0), cube = whole;
            shs_ica_options o = options_of(3, SHS_CONTRAST_TANH, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
            shs_sink a = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 41, 43, 3),
                     b = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 41, 43, 3), into;
            shs_ica ica;
            stream s;
            collector c;
            if (kind == 1) {
                whole.mask = mask;
                cube = whole;
            }
            if (kind == 2) cube = streamed(&whole, 10, &s);
            a.rescale = b.rescale = to == 2;
            a.high = b.high = 1;
            into = to == 1 ? collecting(&b, 41, 43, 3, &c) : b;
            assert_ok(shs_ica_run(NULL, &cube, &o, &into, &ica));
            assert_ok(shs_ica_transform(NULL, &ica, &whole, &a));
            check_near("sources", 41 * 43 * 3, (const double *)b.pixels, (const double *)a.pixels, BY_TYPE(1e-4, 1e-10));
            if (kind == 1) assert_true(is_nan(((const double *)b.pixels)[0]) && ica.count < (shs_wide)pixels_of(&p));
            shs_ica_free(NULL, &ica);
            cube_free(&whole);
            sink_free(&a);
            sink_free(&b);
        }
    free(p.x);
    free(mask);
}

/* y^3 goes by fourth moments where they cost less than the sweeps of a typical run: up to 20 components at once, 11 one after
   another, of pixels that are kept. */
static void test_route_by_cost(void **state) {
    plain_cube p = mixed_cube(20, 30, 24, 5, 1, 8);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    int approach, more;
    (void)state;
    for (approach = SHS_APPROACH_DEFLATION; approach <= SHS_APPROACH_SYMMETRIC; approach++)
        for (more = 0; more < 2; more++) {
            int most = approach == SHS_APPROACH_SYMMETRIC ? 20 : 11;
            shs_ica_options o = options_of(most + more, SHS_CONTRAST_POW3, (shs_ica_approach)approach, SHS_ROUTE_AUTO);
            shs_ica ica;
            o.iterations = 1;
            o.restarts = -1;
            ica = fit(NULL, &cube, &o);
            assert_int_equal(ica.used_moments, !more);
            shs_ica_free(NULL, &ica);
        }
    free(p.x);
    cube_free(&cube);
}

/* By default: all components. Many of them are not worth their fourth moments. */
static void test_defaults_and_many_components(void **state) {
    plain_cube p = test_scene(), wide = mixed_cube(20, 30, 34, 5, 1, 8);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0),
             many = cube_of(&wide, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_ica_options o = options_of(0, SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, SHS_ROUTE_AUTO);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 41, 43, 7);
    shs_ica a, b;
    (void)state;
    assert_ok(shs_ica_run(NULL, &cube, NULL, &sink, &a));
    assert_true(a.components == 7 && a.used_moments);
    o.iterations = 1;
    o.tolerance = -1;
    b = fit(NULL, &many, &o);
    assert_true(b.components == 34 && !b.used_moments && b.component[0].iterations == 1);
    free(p.x);
    free(wide.x);
    shs_ica_free(NULL, &a), shs_ica_free(NULL, &b);
    cube_free(&cube);
    cube_free(&many);
    sink_free(&sink);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_symmetric_beach),
        cmocka_unit_test(test_golden_symmetric_jasper),
        cmocka_unit_test(test_golden_deflation_beach),
        cmocka_unit_test(test_golden_deflation_jasper),
        cmocka_unit_test(test_moments_and_sweep_beach),
        cmocka_unit_test(test_moments_and_sweep_jasper),
        cmocka_unit_test(test_converged_is_a_fixed_point),
        cmocka_unit_test(test_rare_targets),
        cmocka_unit_test(test_stabilised_step),
        cmocka_unit_test(test_components_are_sources_not_mixtures),
        cmocka_unit_test(test_against_the_naive_iteration),
        cmocka_unit_test(test_contrast_names),
        cmocka_unit_test(test_skew),
        cmocka_unit_test(test_every_contrast_converges),
        cmocka_unit_test(test_kurtosis_and_negentropy),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_whitening),
        cmocka_unit_test(test_number_of_components),
        cmocka_unit_test(test_nearly_normal_components),
        cmocka_unit_test(test_one_normal_component),
        cmocka_unit_test(test_not_converging_is_said),
        cmocka_unit_test(test_cancelled_within_a_component),
        cmocka_unit_test(test_given_start),
        cmocka_unit_test(test_odd_starts),
        cmocka_unit_test(test_dependent_starts),
        cmocka_unit_test(test_seeds_and_threads),
        cmocka_unit_test(test_layouts_give_one_answer),
        cmocka_unit_test(test_large_offsets),
        cmocka_unit_test(test_loud_channel),
        cmocka_unit_test(test_rounding_of_dark_bands),
        cmocka_unit_test(test_bands_too_faint_to_whiten),
        cmocka_unit_test(test_loud_band_of_few_pixels),
        cmocka_unit_test(test_missing_pixels),
        cmocka_unit_test(test_transform_and_inverse),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_ranks_give_one_answer),
        cmocka_unit_test(test_a_failing_rank_ends_both),
        cmocka_unit_test(test_run_everywhere),
        cmocka_unit_test(test_defaults_and_many_components),
        cmocka_unit_test(test_route_by_cost),
    };
    return cmocka_run_group_tests_name("ica", tests, NULL, NULL);
}
