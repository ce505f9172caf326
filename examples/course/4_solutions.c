/* 4_solutions.c - the exercises of lesson 4, solved. make test-course LESSONS=4 runs the checks. skeleton.sh 4 prints this file
   without the parts between YOUR TURN and END OF YOUR TURN. */
#include "course.h"

enum { BANDS = 24, LINES = 48, SAMPLES = 32, PIXELS = LINES * SAMPLES };

/* The allowed error of a result in shs_wide: a library without double needs a much larger one. */
static double allowed_in_wide(double of_double) { return sizeof(shs_wide) == sizeof(double) ? of_double : 1e-3; }

static float pixels[BANDS * PIXELS]; /* bands x pixels */

/* The bands differ in size, depend on each other, and have a mean. */
static void draw_pixels(void) {
    shs_random random;
    int i, k;
    shs_random_seed(&random, 4);
    for (k = 0; k < PIXELS; k++) {
        double a = shs_random_normal(&random), b = shs_random_normal(&random);
        for (i = 0; i < BANDS; i++)
            pixels[i + k * BANDS] =
                (float)((1 + i) * (a * cos(0.3 * i) + 0.4 * b * sin(0.2 * i) + 0.1 * shs_random_normal(&random)) + 100 +
                        5 * i);
    }
}

static shs_cube lines_of(int first, int lines) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = pixels + (size_t)first * SAMPLES * BANDS;
    cube.type = SHS_TYPE_F32;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.lines = lines;
    cube.samples = SAMPLES;
    cube.bands = BANDS;
    return cube;
}

static void covariance_of(int first, int lines, shs_wide *mean, shs_wide *C) {
    shs_cube cube = lines_of(first, lines);
    shs_moments moments;
    check(shs_moments_create(NULL, BANDS, &moments), "moments");
    check(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &moments), "moments");
    check(shs_moments_finish(&moments, SHS_DIVISOR_N, mean, C, BANDS), "moments");
    shs_moments_free(NULL, &moments);
}

static double wide_difference(int count, const shs_wide *a, const shs_wide *b) {
    double most = 0, size = 0;
    int i;
    for (i = 0; i < count; i++) {
        most = larger_of(most, fabs(a[i] - b[i]));
        size = larger_of(size, fabs(b[i]));
    }
    return most / size;
}

/* 1. The correlation matrix and its eigenvalues, beside those of the library's option `correlation`. */
static void exercise_1(void) {
    static shs_wide mean[BANDS], C[BANDS * BANDS], spread[BANDS], values[BANDS];
    shs_cube cube = lines_of(0, LINES);
    shs_pca_options options = SHS_ZERO;
    shs_pca pca;
    shs_wide sum = 0;
    int i, j;
    covariance_of(0, LINES, mean, C);
    /* YOUR TURN: make the correlation matrix of the covariance C in place. `spread` may hold the standard deviations. */
    for (i = 0; i < BANDS; i++) spread[i] = (shs_wide)sqrt((double)C[i + i * BANDS]);
    for (j = 0; j < BANDS; j++)
        for (i = 0; i < BANDS; i++) C[i + j * BANDS] /= spread[i] * spread[j];
    /* END OF YOUR TURN */
    check(shs_eigh(NULL, BANDS, C, BANDS, BANDS, values, NULL, BANDS), "eigenvalues");
    options.correlation = 1;
    check(shs_pca_fit(NULL, &cube, &options, &pca), "components");
    for (i = 0; i < BANDS; i++) sum += values[i];
    agrees("1: eigenvalues of the correlation", wide_difference(BANDS, values, pca.eigenvalues), allowed_in_wide(1e-12));
    agrees("1: they add up to the number of bands", fabs((double)sum / BANDS - 1), allowed_in_wide(1e-12));
    shs_pca_free(NULL, &pca);
}

/* 2. The covariance of the last 16 lines, kept up to date line by line. */
enum { WINDOW = 16 };
static shs_wide S[BANDS], P[BANDS * BANDS]; /* of the lines in the window: sums of x - shift, and sums of products */

static void next_line(int line, const shs_wide *shift) {
    /* YOUR TURN: add the pixels of `line` to S and P, and subtract those of the line that leaves the window of WINDOW lines. */
    /* S and P are sums about one origin, the shift: a line is subtracted with the same shift with which it was added. With
       another shift sums about two origins are mixed, and P/m - SS'/m^2 is no covariance.
       The rounding errors of additions stay after the line has left. A window that slides for days is summed anew now and
       then. */
    shs_wide added[BANDS], gone[BANDS];
    int i, j, k;
    for (k = 0; k < SAMPLES; k++) {
        const float *comes = pixels + (line * SAMPLES + k) * BANDS, *leaves = comes - WINDOW * SAMPLES * BANDS;
        for (i = 0; i < BANDS; i++) {
            added[i] = (shs_wide)comes[i] - shift[i];
            gone[i] = 0;
            if (line >= WINDOW) gone[i] = (shs_wide)leaves[i] - shift[i];
        }
        for (j = 0; j < BANDS; j++) {
            S[j] += added[j] - gone[j];
            for (i = 0; i < BANDS; i++) {
                P[i + j * BANDS] += added[i] * added[j];
                P[i + j * BANDS] -= gone[i] * gone[j];
            }
        }
    }
    /* END OF YOUR TURN */
}

static void exercise_2(void) {
    static shs_wide C[BANDS * BANDS], fresh[BANDS * BANDS], mean[BANDS];
    shs_wide shift[BANDS], m = WINDOW * SAMPLES;
    double worst = 0;
    int i, j, line;
    for (i = 0; i < BANDS; i++) shift[i] = (shs_wide)pixels[i];
    for (line = 0; line < LINES; line++) {
        next_line(line, shift);
        if (line < WINDOW - 1) continue;
        for (j = 0; j < BANDS; j++)
            for (i = 0; i < BANDS; i++) C[i + j * BANDS] = P[i + j * BANDS] / m - S[i] / m * (S[j] / m);
        covariance_of(line - WINDOW + 1, WINDOW, mean, fresh);
        worst = larger_of(worst, wide_difference(BANDS * BANDS, C, fresh));
    }
    agrees("2: the windows of all lines", worst, allowed_in_wide(1e-12));
}

/* 3. Eight parts, each with the count and the mean of its pixels and M, the sums of (x - mean)(x - mean)'. They are merged in a
   tree: parts 1 and 2, parts 3 and 4, then these two, and so on. */
typedef struct part {
    shs_wide count, mean[BANDS], M[BANDS * BANDS];
} part;

static void merge(part *into, const part *from) {
    /* YOUR TURN: make `into` the part of the pixels of both. */
    shs_wide all = into->count + from->count, d[BANDS];
    int i, j;
    for (i = 0; i < BANDS; i++) d[i] = from->mean[i] - into->mean[i];
    for (j = 0; j < BANDS; j++)
        for (i = 0; i < BANDS; i++)
            into->M[i + j * BANDS] += from->M[i + j * BANDS] + into->count / all * from->count * d[i] * d[j];
    for (i = 0; i < BANDS; i++) into->mean[i] += from->count / all * d[i];
    into->count = all;
    /* END OF YOUR TURN */
}

static void exercise_3(void) {
    enum { PARTS = 8 };
    static part parts[PARTS];
    static shs_wide mean[BANDS], C[BANDS * BANDS];
    static const int first[PARTS + 1] = {0, 1, 3, 10, 11, 20, 33, 40, LINES}; /* they need not be of one size */
    shs_moments all, own;
    int k, i, step;
    check(shs_moments_create(NULL, BANDS, &all), "moments");
    for (k = 0; k < PARTS; k++) {
        shs_cube cube = lines_of(first[k], first[k + 1] - first[k]);
        parts[k].count = (shs_wide)((first[k + 1] - first[k]) * SAMPLES);
        covariance_of(first[k], first[k + 1] - first[k], parts[k].mean, parts[k].M);
        for (i = 0; i < BANDS * BANDS; i++) parts[k].M[i] *= parts[k].count;
        check(shs_moments_create(NULL, BANDS, &own), "moments");
        check(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &own), "moments");
        check(shs_moments_merge(&all, &own), "moments");
        shs_moments_free(NULL, &own);
    }
    for (step = 1; step < PARTS; step *= 2)
        for (k = 0; k < PARTS; k += 2 * step) merge(&parts[k], &parts[k + step]);
    for (i = 0; i < BANDS * BANDS; i++) parts[0].M[i] /= parts[0].count;
    check(shs_moments_finish(&all, SHS_DIVISOR_N, mean, C, BANDS), "moments");
    agrees("3: the mean, merged", wide_difference(BANDS, parts[0].mean, mean), allowed_in_wide(1e-13));
    agrees("3: the covariance, merged", wide_difference(BANDS * BANDS, parts[0].M, C), allowed_in_wide(1e-12));
    shs_moments_free(NULL, &all);
}

/* 4. The first eigenvectors by orthogonal iteration, V <- orth(C V), with two more vectors than are asked for. */
static void orthonormalise(int n, int c, shs_wide *V) { /* Gram and Schmidt, twice is enough */
    int a, b, i, again;
    for (b = 0; b < c; b++) {
        shs_wide length = 0;
        for (again = 0; again < 2; again++)
            for (a = 0; a < b; a++) {
                shs_wide dot = 0;
                for (i = 0; i < n; i++) dot += V[i + a * n] * V[i + b * n];
                for (i = 0; i < n; i++) V[i + b * n] -= dot * V[i + a * n];
            }
        for (i = 0; i < n; i++) length += V[i + b * n] * V[i + b * n];
        length = (shs_wide)sqrt((double)length);
        for (i = 0; i < n; i++) V[i + b * n] /= length;
    }
}

static void exercise_4(void) {
    enum { C_ = 2, GUARD = 2, ALL = C_ + GUARD, STEPS = 60 };
    static shs_wide mean[BANDS], C[BANDS * BANDS], V[BANDS * ALL], W[BANDS * ALL], values[BANDS], vectors[BANDS * C_];
    shs_random random;
    int i, j, k, step;
    covariance_of(0, LINES, mean, C);
    shs_random_seed(&random, 1);
    for (i = 0; i < BANDS * ALL; i++) V[i] = shs_random_normal(&random);
    orthonormalise(BANDS, ALL, V);
    /* YOUR TURN: STEPS steps of V (BANDS x ALL) <- orth(C V). W is as large as V. */
    /* The error of vector k shrinks by lambda_(ALL+1) / lambda_k in a step, so the additional vectors help. */
    for (step = 0; step < STEPS; step++) {
        memset(W, 0, sizeof W);
        for (k = 0; k < ALL; k++)
            for (j = 0; j < BANDS; j++)
                for (i = 0; i < BANDS; i++) W[i + k * BANDS] += C[i + j * BANDS] * V[j + k * BANDS];
        orthonormalise(BANDS, ALL, W);
        memcpy(V, W, sizeof V);
    }
    /* END OF YOUR TURN */
    check(shs_eigh(NULL, BANDS, C, BANDS, C_, values, vectors, BANDS), "eigenvectors");
    for (k = 0; k < C_; k++) {
        shs_wide dot = 0, value = 0;
        for (i = 0; i < BANDS; i++) dot += V[i + k * BANDS] * vectors[i + k * BANDS];
        for (j = 0; j < BANDS; j++)
            for (i = 0; i < BANDS; i++) value += V[i + k * BANDS] * C[i + j * BANDS] * V[j + k * BANDS];
        agrees(text_of("4: vector %d: |1 - |v'w||", k + 1), fabs(1 - fabs(dot)), allowed_in_wide(1e-10));
        agrees(text_of("4: vector %d: the eigenvalue", k + 1), fabs((double)(value / values[k]) - 1), allowed_in_wide(1e-10));
    }
}

/* 5. Fewer pixels than bands: components from a matrix K of order M. */
static void exercise_5(void) {
    enum { M = 9, KEPT = M - 1 }; /* centred pixels add up to 0, so that one dimension is lost */
    static shs_wide X[BANDS * M], K[M * M], values[M], U[M * M], v[BANDS];
    shs_cube cube = lines_of(0, 1);
    shs_pca_options options = SHS_ZERO;
    shs_pca pca;
    double worst = 0;
    int i, j, k;
    cube.samples = M;
    for (i = 0; i < BANDS; i++) {
        shs_wide mean = 0;
        for (k = 0; k < M; k++) mean += (shs_wide)pixels[i + k * BANDS] / M;
        for (k = 0; k < M; k++) X[i + k * BANDS] = (shs_wide)pixels[i + k * BANDS] - mean;
    }
    /* YOUR TURN: K (M x M) from the centred pixels X (BANDS x M), with the eigenvalues of their covariance. */
    /* C = XX'/M and K = X'X/M have the same eigenvalues but for zeros: K u = lambda u gives C (X u) = lambda (X u). */
    for (j = 0; j < M; j++)
        for (i = 0; i < M; i++)
            for (k = 0; k < BANDS; k++) K[i + j * M] += X[k + i * BANDS] * X[k + j * BANDS] / M;
    /* END OF YOUR TURN */
    check(shs_eigh(NULL, M, K, M, M, values, U, M), "eigenvectors");
    options.components = KEPT;
    check(shs_pca_fit(NULL, &cube, &options, &pca), "components");
    for (k = 0; k < KEPT; k++) {
        double dot = 0, length2 = 0;
        for (i = 0; i < BANDS; i++) {
            v[i] = 0;
            /* YOUR TURN: value i of the k-th eigenvector of the covariance from column k of U (M x M); its squared length is
               M lambda_k. */
            for (j = 0; j < M; j++) v[i] += X[i + j * BANDS] * U[j + k * M];
            /* END OF YOUR TURN */
            dot += (double)(v[i] * pca.vectors[i + k * BANDS]) / sqrt(M * (double)values[k]);
            length2 += (double)(v[i] * v[i]) / (M * (double)values[k]);
        }
        worst = larger_of(worst, fabs(1 - fabs(dot)));
        worst = larger_of(worst, fabs(1 - length2));
    }
    agrees("5: eigenvalues by the small matrix", wide_difference(KEPT, values, pca.eigenvalues), allowed_in_wide(1e-12));
    agrees("5: eigenvectors by the small matrix", worst, allowed_in_wide(1e-8));
    shs_pca_free(NULL, &pca);
}

int main(int argc, char **argv) {
    course_begin(argc, argv, "4_solutions", "the exercises of lesson 4");
    draw_pixels();
    exercise_1();
    exercise_2();
    exercise_3();
    exercise_4();
    exercise_5();
    return course_end();
}
