/* 5_ica.c - independent components: FastICA from sums over pixels to products of blocks and fourth moments, and what it means
   that it has converged.

       make course LESSONS=5

   A rung is a plain symmetric sweep: for all m vectors w at once, w <- E[z g(w'z)] - E[g'(w'z)] w over all pixels. */
#include "course.h"

enum { M = 8 /* sources and components */, BANDS = 12, BLOCK = 512, PAIRS = M * (M + 1) / 2, ITERATIONS = 20 };

static struct {
    int lines, samples;
    int n; /* pixels */
    shs_real *sources, *cube, *Z; /* M x n; BANDS x n; the whitened pixels, M x n */
    shs_real W[M * M], next[M * M], before[M * M];
    shs_context context;
    shs_contrast contrast; /* of the header's rungs */
    shs_ica_route route;
} c;

/* ---- a scene whose sources are known ----------------------------------------------------------------------------- */

static double exponential(shs_random *random) { return -log(1 - shs_random_uniform(random)); }

/* Independent values of unit variance; the flat ones have a kurtosis below 0, the peaked ones above. */
static double source_value(int k, shs_random *random) {
    double u = shs_random_uniform(random), sign = 1, size = 1;
    if (shs_random_uniform(random) < (shs_real)0.5) sign = -1;
    switch (k) {
    case 0: return sign;                                                        /* two values: -2 */
    case 1: return sqrt(12.0) * (u - 0.5);                                      /* uniform: -1.2 */
    case 2: return sqrt(2.0) * sin(6.283185307179586 * u);                      /* a sine: -1.5 */
    case 3: return sign * exponential(random) / sqrt(2.0);                      /* Laplace: 3 */
    case 4: return exponential(random) - 1;                                     /* exponential: 6, and skewed */
    case 5: /* seldom large: about 21 */
        size = 1 / 3.0;
        if (u < 0.1) size = 3;
        break;
    case 6: return sign * sqrt(3 * u);                                          /* more at the ends than in the middle */
    default: /* nearly normal: 0.8 */
        size = 0.681;
        if (u < 0.3) size = 1.5;
    }
    return size * shs_random_normal(random);
}

static void open_scene(void) {
    double mixing[BANDS][M];
    shs_random random;
    ptrdiff_t i;
    int b, k;
    if (course.quick) {
        c.lines = 16;
        c.samples = 128;
    } else {
        c.lines = 256;
        c.samples = 256;
    }
    c.n = c.lines * c.samples;
    c.sources = ALLOCATE(shs_real, M * c.n);
    c.cube = ALLOCATE(shs_real, BANDS * c.n);
    c.Z = ALLOCATE(shs_real, M * c.n);
    shs_random_seed(&random, 5);
    for (b = 0; b < BANDS; b++)
        for (k = 0; k < M; k++) mixing[b][k] = shs_random_normal(&random);
    for (i = 0; i < c.n; i++)
        for (k = 0; k < M; k++) c.sources[i * M + k] = (shs_real)source_value(k, &random);
    for (i = 0; i < c.n; i++)
        for (b = 0; b < BANDS; b++) {
            double sum = 100;
            for (k = 0; k < M; k++) sum += mixing[b][k] * c.sources[i * M + k];
            c.cube[i * BANDS + b] = (shs_real)sum;
        }
}

static shs_cube scene_cube(int lines) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = c.cube;
    cube.type = SHS_TYPE_REAL;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.lines = lines;
    cube.samples = c.samples;
    cube.bands = BANDS;
    return cube;
}

static void fit(int lines, const shs_ica_options *options, shs_ica *ica) {
    shs_cube cube = scene_cube(lines);
    check(shs_ica_fit(&c.context, &cube, options, ica), "independent components");
}

/* z = V (x - mean): no covariance, unit variance. What is left to find is a rotation. */
static void whiten(void) {
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    ptrdiff_t i;
    int a, b, k;
    double covariance = 0;
    o.components = M;
    fit(c.lines, &o, &ica);
    for (i = 0; i < c.n; i++)
        for (a = 0; a < M; a++) {
            double sum = 0;
            for (b = 0; b < BANDS; b++)
                sum += ica.whitening[a + b * M] * ((double)c.cube[i * BANDS + b] - ica.mean[b]);
            c.Z[i * M + a] = (shs_real)sum;
        }
    for (a = 0; a < M; a++)
        for (k = 0; k <= a; k++) {
            double sum = 0;
            for (i = 0; i < c.n; i++) sum += c.Z[i * M + a] * (double)c.Z[i * M + k];
            covariance = larger_of(covariance, fabs(sum / c.n - (a == k)));
        }
    agrees("whitened pixels: covariance less the identity", covariance, 1e-3);
    shs_ica_free(&c.context, &ica);
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------ */

/* Rung 1. A vector after the other, a pixel after the other. */
static void by_definition(void *unused) {
    ptrdiff_t i;
    int k, a;
    (void)unused;
    for (k = 0; k < M; k++) {
        const shs_real *w = c.W + k * M;
        double sum[M] = {0}, slope = 0;
        for (i = 0; i < c.n; i++) {
            const shs_real *z = c.Z + i * M;
            double y = 0;
            for (a = 0; a < M; a++) y += w[a] * (double)z[a];
            for (a = 0; a < M; a++) sum[a] += z[a] * y * y * y;
            slope += 3 * y * y;
        }
        for (a = 0; a < M; a++) c.next[k * M + a] = (shs_real)((sum[a] - slope * w[a]) / c.n);
    }
}

/* How many pixels the block that begins with pixel `at` has. */
static int block_from(ptrdiff_t at) {
    if (c.n - at < BLOCK) return (int)(c.n - at);
    return BLOCK;
}

/* Rung 2. Blocks of pixels: Y = W'Z and the sums Z g(Y)' are products, and g goes over a block of numbers. */
static void by_products(void *unused) {
    static shs_real Y[M * BLOCK], block[M * M];
    double sum[M * M] = {0}, slope[M] = {0};
    ptrdiff_t i, at;
    int k, a;
    (void)unused;
    for (at = 0; at < c.n; at += BLOCK) {
        const int count = block_from(at);
        const shs_real *Z = c.Z + at * M;
        check(shs_gemm(&c.context, SHS_TRANS_YES, SHS_TRANS_NO, M, count, M, 1, c.W, M, Z, M, 0, Y, M), "W'Z");
        for (k = 0; k < M; k++) {
            shs_real squares = 0;
            for (i = 0; i < count; i++) squares += Y[i * M + k] * Y[i * M + k];
            slope[k] += 3 * (double)squares;
        }
        for (i = 0; i < (ptrdiff_t)M * count; i++) Y[i] = Y[i] * Y[i] * Y[i];
        check(shs_gemm(&c.context, SHS_TRANS_NO, SHS_TRANS_YES, M, M, count, 1, Z, M, Y, M, 0, block, M), "Z g(Y)'");
        for (k = 0; k < M * M; k++) sum[k] += block[k];
    }
    for (k = 0; k < M; k++)
        for (a = 0; a < M; a++)
            c.next[k * M + a] = (shs_real)((sum[k * M + a] - slope[k] * c.W[k * M + a]) / c.n);
}

/* Rung 3. With g = y^3 the pixels are needed once. E[z_a (w'z)^3] is a sum over fourth moments E[z_a z_b z_c z_d], and these
   are the Gram matrix of the products z_a z_b of each pixel. */
static double fourth[PAIRS * PAIRS];
static int pair_of[M][M];

static void form_moments(void) {
    static shs_real Q[PAIRS * BLOCK], block[PAIRS * PAIRS];
    ptrdiff_t i, at;
    int a, b, k = 0;
    for (a = 0; a < M; a++)
        for (b = 0; b <= a; b++) pair_of[a][b] = pair_of[b][a] = k++;
    memset(fourth, 0, sizeof fourth);
    for (at = 0; at < c.n; at += BLOCK) {
        const int count = block_from(at);
        for (i = 0; i < count; i++) {
            const shs_real *z = c.Z + (at + i) * M;
            k = 0;
            for (a = 0; a < M; a++)
                for (b = 0; b <= a; b++) Q[i * PAIRS + k++] = z[a] * z[b];
        }
        check(shs_syrk(&c.context, SHS_UPLO_LOWER, SHS_TRANS_NO, PAIRS, count, 1, Q, PAIRS, 0, block, PAIRS), "QQ'");
        for (b = 0; b < PAIRS; b++)
            for (a = b; a < PAIRS; a++) fourth[a + b * PAIRS] += block[a + b * PAIRS] / (double)c.n;
    }
    for (b = 0; b < PAIRS; b++)
        for (a = 0; a < b; a++) fourth[a + b * PAIRS] = fourth[b + a * PAIRS];
}

/* E[z_a y^3] = sum over b of w_b (T (w w'))_ab, with w w' as a vector of pairs, and E[3 y^2] = 3, since z is white. */
static void by_moments(void) {
    int k, a, b, i, j;
    for (k = 0; k < M; k++) {
        const shs_real *w = c.W + k * M;
        double ww[PAIRS], t[PAIRS];
        for (a = 0; a < M; a++) {
            for (b = 0; b < a; b++) ww[pair_of[a][b]] = 2 * (double)w[a] * w[b]; /* w_a w_b and w_b w_a */
            ww[pair_of[a][a]] = (double)w[a] * w[a];
        }
        for (i = 0; i < PAIRS; i++) {
            t[i] = 0;
            for (j = 0; j < PAIRS; j++) t[i] += fourth[j + i * PAIRS] * ww[j];
        }
        for (a = 0; a < M; a++) {
            double sum = -3 * (double)w[a];
            for (b = 0; b < M; b++) sum += w[b] * t[pair_of[a][b]];
            c.next[k * M + a] = (shs_real)sum;
        }
    }
}

static void twenty_by_moments(void *unused) {
    int k;
    (void)unused;
    form_moments();
    for (k = 0; k < ITERATIONS; k++) by_moments();
}

static void by_the_header(void *unused) {
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    (void)unused;
    o.components = M;
    o.contrast = c.contrast;
    o.route = c.route;
    o.approach = SHS_APPROACH_SYMMETRIC;
    o.iterations = ITERATIONS;
    o.tolerance = -1;
    o.restarts = -1;
    o.plain_steps = 1;
    fit(c.lines, &o, &ica);
    shs_ica_free(&c.context, &ica);
}

static void climb(const char *name, work_fn work, int sweeps, int compare) {
    rung(name, 1.0 * c.n * sweeps, median_seconds(work, NULL));
    if (compare) agrees(text_of("%s: as the rung before", name), relative_difference(M * M, c.next, c.before), 2e-3);
    memcpy(c.before, c.next, sizeof c.before);
}

static void header_rung(const char *name, shs_contrast contrast, shs_ica_route route, int threads) {
    c.contrast = contrast;
    c.route = route;
    c.context.threads = threads;
    climb(name, by_the_header, ITERATIONS, 0);
    c.context.threads = 1;
}

/* ---- what is found ----------------------------------------------------------------------------------------------- */

/* 1 - |correlation| of each source with the component that is nearest to it: the worst of all. */
static double worst_source(const shs_ica *ica) {
    double worst = 0;
    int s, k, b;
    for (s = 0; s < M; s++) {
        double best = 1, error;
        for (k = 0; k < M; k++) {
            double xy = 0, xx = 0, yy = 0;
            ptrdiff_t i;
            for (i = 0; i < c.n; i++) {
                double y = 0, x = c.sources[i * M + s];
                for (b = 0; b < BANDS; b++)
                    y += ica->unmixing[k + b * M] * ((double)c.cube[i * BANDS + b] - ica->mean[b]);
                xy += x * y;
                xx += x * x;
                yy += y * y;
            }
            error = 1 - fabs(xy) / sqrt(xx * yy);
            if (error < best || error != error) best = error;
        }
        worst = larger_of(worst, best);
    }
    return worst;
}

/* A plain step of one w: its 1 - |cos| with w. */
static double plain_step(shs_contrast contrast, const double *w, double *next) {
    double sum[M] = {0}, slope = 0, length = 0, along = 0;
    ptrdiff_t i;
    int a;
    for (i = 0; i < c.n; i++) {
        const shs_real *z = c.Z + i * M;
        double y = 0, g, e;
        for (a = 0; a < M; a++) y += w[a] * z[a];
        switch (contrast) {
        case SHS_CONTRAST_TANH:
            g = tanh(y);
            slope += 1 - g * g;
            break;
        case SHS_CONTRAST_GAUSS:
            e = exp(-y * y / 2);
            g = y * e;
            slope += (1 - y * y) * e;
            break;
        default:
            g = y * y * y;
            slope += 3 * y * y;
        }
        for (a = 0; a < M; a++) sum[a] += z[a] * g;
    }
    for (a = 0; a < M; a++) {
        next[a] = (sum[a] - slope * w[a]) / c.n;
        length += next[a] * next[a];
    }
    for (a = 0; a < M; a++) {
        next[a] /= sqrt(length);
        along += next[a] * w[a];
    }
    return 1 - fabs(along);
}

/* Steps of one vector from the same start. */
static void draw_convergence(void) {
    static const shs_contrast contrasts[] = {SHS_CONTRAST_POW3, SHS_CONTRAST_TANH, SHS_CONTRAST_GAUSS};
    int i, k, a;
    curve_begin("steps", "how far a step goes; one vector from the same start", "step", "1 - |cos(before; after)|", "y");
    for (i = 0; i < 3; i++) {
        double w[M], next[M];
        for (a = 0; a < M; a++) w[a] = 1 / sqrt(M);
        for (k = 1; k <= 15; k++) {
            curve_point(shs_contrast_name(contrasts[i]), k, fmax(plain_step(contrasts[i], w, next), 1e-16));
            memcpy(w, next, sizeof w);
        }
    }
    curve_end();
}

/* The sources beside the true ones, and whether what is called converged is a fixed point of the plain step: in deflation the
   first vector is one by itself. */
static void judge(shs_contrast contrast, shs_ica_approach approach, const char *approach_name) {
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    const char *name = text_of("%s; %s", shs_contrast_name(contrast), approach_name);
    double w[M], next[M], worst;
    int a, k;
    o.components = M;
    o.contrast = contrast;
    o.approach = approach;
    o.iterations = 1000;
    fit(c.lines, &o, &ica);
    worst = worst_source(&ica);
    printf("  %-20s converged %d, worst source: 1 - |correlation| %.2g\n", name, ica.converged, worst);
    if (!course.quick) agrees(text_of("%s: worst source", name), worst, 0.05);
    for (k = 0; approach == SHS_APPROACH_DEFLATION && k < M; k++)
        if (ica.component[k].extraction == 0 && ica.component[k].converged) {
            for (a = 0; a < M; a++) w[a] = ica.rotation[a + k * M];
            agrees(text_of("%s: a plain step from the first found", name), plain_step(contrast, w, next), 1e-6);
        }
    shs_ica_free(&c.context, &ica);
}

/* How many pixels it takes to find the sources. */
static void draw_pixels(void) {
    static const shs_contrast contrasts[] = {SHS_CONTRAST_POW3, SHS_CONTRAST_TANH, SHS_CONTRAST_GAUSS};
    int i, lines;
    curve_begin("pixels", "the worst source over the number of pixels", "pixels", "1 - |correlation|", "xy");
    for (i = 0; i < 3; i++)
        for (lines = 4; lines <= c.lines; lines *= 2) {
            shs_ica_options o = SHS_ZERO;
            shs_ica ica = SHS_ZERO;
            o.components = M;
            o.contrast = contrasts[i];
            o.approach = SHS_APPROACH_SYMMETRIC;
            fit(lines, &o, &ica);
            curve_point(shs_contrast_name(contrasts[i]), (double)lines * c.samples, fmax(worst_source(&ica), 1e-16));
            shs_ica_free(&c.context, &ica);
        }
    curve_end();
}

int main(int argc, char **argv) {
    int k;
    course_begin(argc, argv, "5_ica", "independent components, from sums over pixels to fourth moments");
    c.context.threads = 1;
    open_scene();
    whiten();
    for (k = 0; k < M * M; k++) c.W[k] = (shs_real)(k % (M + 1) == 0);
    ladder_begin("ladder", text_of("a sweep of %d vectors over %d pixels", M, c.n), "million pixels/s", 1e6, 0);
    climb("by definition; y^3", by_definition, 1, 0);
    climb("products of blocks; y^3", by_products, 1, 1);
    climb("fourth moments; 20 sweeps", twenty_by_moments, ITERATIONS, 1);
    header_rung("header: the whole fit; 20 sweeps of tanh", SHS_CONTRAST_TANH, SHS_ROUTE_SWEEP, 1);
    header_rung("header: the whole fit; 20 sweeps of y^3", SHS_CONTRAST_POW3, SHS_ROUTE_SWEEP, 1);
    header_rung("header: the whole fit; fourth moments", SHS_CONTRAST_POW3, SHS_ROUTE_MOMENTS, 1);
    header_rung(text_of("header: fourth moments; %d threads", course_threads()), SHS_CONTRAST_POW3, SHS_ROUTE_MOMENTS,
                course_threads());
    ladder_end();
    draw_convergence();
    printf("\nwhat is found\n");
    judge(SHS_CONTRAST_POW3, SHS_APPROACH_DEFLATION, "deflation");
    judge(SHS_CONTRAST_TANH, SHS_APPROACH_DEFLATION, "deflation");
    judge(SHS_CONTRAST_GAUSS, SHS_APPROACH_DEFLATION, "deflation");
    judge(SHS_CONTRAST_POW3, SHS_APPROACH_SYMMETRIC, "symmetric");
    judge(SHS_CONTRAST_TANH, SHS_APPROACH_SYMMETRIC, "symmetric");
    judge(SHS_CONTRAST_GAUSS, SHS_APPROACH_SYMMETRIC, "symmetric");
    draw_pixels();
    free(c.sources);
    free(c.cube);
    free(c.Z);
    return course_end();
}
