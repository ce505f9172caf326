/* 5_solutions.c - the exercises of lesson 5, solved. make test-course LESSONS=5 runs the checks. skeleton.sh 5 prints this file
   without the parts between YOUR TURN and END OF YOUR TURN. */
#include "course.h"

/* The pixels are all combinations of a few values of two sources, so the sources are exactly independent. */
enum { MOST = 64 };

typedef struct pixels {
    int n;
    double z[MOST][2];
} pixels;

static pixels combinations(int count, const double *a, int others, const double *b) {
    pixels p;
    int i, j;
    p.n = 0;
    for (i = 0; i < count; i++)
        for (j = 0; j < others; j++) {
            p.z[p.n][0] = a[i];
            p.z[p.n++][1] = b[j];
        }
    return p;
}

static double mean_power(const pixels *p, int which, int power) {
    double sum = 0;
    int i;
    for (i = 0; i < p->n; i++) sum += pow(p->z[i][which], power);
    return sum / p->n;
}

/* One plain step with g = y^power (3 or 2), not scaled. */
static void step(const pixels *p, int power, const double *w, double *next) {
    double slope = 0;
    int i, a;
    next[0] = next[1] = 0;
    for (i = 0; i < p->n; i++) {
        const double y = w[0] * p->z[i][0] + w[1] * p->z[i][1];
        for (a = 0; a < 2; a++) next[a] += p->z[i][a] * pow(y, power) / p->n;
        slope += power * pow(y, power - 1) / p->n;
    }
    for (a = 0; a < 2; a++) next[a] -= slope * w[a];
}

static void scale_to_one(double *w) {
    const double length = sqrt(w[0] * w[0] + w[1] * w[1]);
    w[0] /= length;
    w[1] /= length;
}

/* Two values: kurtosis -2. Three values: unit variance, kurtosis -3/2. Both symmetric. */
static const double two[] = {-1, 1}, three[] = {-1.2247448713915890, 0, 1.2247448713915890};

/* 1. A step with y^3, in the coordinates of independent sources. */
static void exercise_1(void) {
    const pixels p = combinations(2, two, 3, three);
    const double w[2] = {0.8, 0.6};
    double next[2], predicted[2] = {NAN, NAN}, worst = 0;
    int a;
    step(&p, 3, w, next);
    /* YOUR TURN: kappa_i w_i^3 as `predicted`, with the kurtosis from mean_power. */
    for (a = 0; a < 2; a++) predicted[a] = (mean_power(&p, a, 4) - 3) * w[a] * w[a] * w[a];
    /* END OF YOUR TURN */
    for (a = 0; a < 2; a++) worst = larger_of(worst, fabs(next[a] - predicted[a]));
    agrees("1: a step less kappa_i w_i^3", worst, 1e-12);
}

/* 2. The order of convergence. */
static void exercise_2(void) {
    const pixels p = combinations(2, two, 3, three);
    double w[2] = {0.95, 0}, next[2], e[3] = {NAN, NAN, NAN}, order, predicted;
    int k;
    w[1] = sqrt(1 - w[0] * w[0]);
    predicted = fabs(w[1] / w[0]);
    /* YOUR TURN: e = |w_1 / w_0| before a step, after one and after two, as e[0], e[1] and e[2]. */
    /* w_i becomes kappa_i w_i^3, so e becomes (1.5 / 2) e^3. A third step would leave less than rounding. */
    for (k = 0; k < 3; k++) {
        e[k] = fabs(w[1] / w[0]);
        step(&p, 3, w, next);
        memcpy(w, next, sizeof w);
        scale_to_one(w);
    }
    /* END OF YOUR TURN */
    for (k = 0; k < 2; k++) predicted = 1.5 / 2 * pow(predicted, 3);
    order = log(e[2] / e[1]) / log(e[1] / e[0]); /* from e after a step being c e^q */
    agrees("2: order of convergence less 3", fabs(order - 3), 1e-3);
    agrees("2: e after two steps / by exercise 1, less 1", fabs(e[2] / predicted - 1), 1e-6);
}

/* 3. Two sources of equal kurtosis, and a start between them. */
static void exercise_3(void) {
    const pixels p = combinations(2, two, 2, two);
    double w[2] = {1, 1}, next[2], stays, ratio;
    int steps = 0, expected = 0;
    scale_to_one(w);
    step(&p, 3, w, next);
    scale_to_one(next);
    stays = 1 - fabs(w[0] * next[0] + w[1] * next[1]);
    printf("  a step from between the sources: 1 - |cos| is %.2g\n", stays);
    /* YOUR TURN: push w by 1e-6 towards the first source. Do plain steps until |w_1| is below 1e-6, where w has unit length.
       Count them in `steps`. */
    /* The start is a saddle: a fixed point that is no source. A small push leaves it, after many steps. */
    w[0] += 1e-6;
    scale_to_one(w);
    while (fabs(w[1]) >= 1e-6) {
        step(&p, 3, w, next);
        memcpy(w, next, sizeof w);
        scale_to_one(w);
        steps++;
    }
    /* END OF YOUR TURN */
    /* By exercise 1 a step cubes the ratio of the two sources. */
    for (ratio = sqrt(0.5) / (sqrt(0.5) + 1e-6); ratio >= 1e-6; ratio = pow(ratio, 3)) expected++;
    scale_to_one(w);
    agrees("3: share of the second source after the push", fabs(w[1]), 1e-6);
    agrees("3: steps less those by exercise 1", fabs((double)(steps - expected)), 0);
}

/* 4. g = y^2 with one skewed and one symmetric source. */
static void exercise_4(void) {
    static const double skewed[] = {2, -0.5, -0.5, -0.5, -0.5}; /* mean 0, variance 1, skewness 3/2 */
    const pixels p = combinations(5, skewed, 2, two);
    double w[2] = {0.6, 0.8}, next[2] = {0.6, 0.8};
    int steps = 0;
    /* YOUR TURN: steps from w with g = y^2 until `next`, at unit length, is the skewed source. Count the steps in `steps`, but not a
       last step that only shows that w stands still. */
    step(&p, 2, w, next); /* one: y^2 sees skewness only */
    steps++;
    /* END OF YOUR TURN */
    scale_to_one(next);
    agrees("4: share of the symmetric source", fabs(next[1]), 1e-12);
    agrees("4: steps that move w less 1", fabs(steps - 1.0), 0);
}

/* 5. shs_ica_fit separates three sources. A plain step over the pixels, made orthogonal to the components found before, must not
   move a component. */
enum { COUNT = 6000, M = 3 };

/* One plain tanh step from w over white pixels of M values each. */
static void tanh_step(int count, const double *white, const double *w, double *next) {
    /* YOUR TURN: `next`, not scaled. */
    double slope = 0;
    int i, a;
    for (a = 0; a < M; a++) next[a] = 0;
    for (i = 0; i < count; i++) {
        const double *z = white + i * M;
        double y = 0, g;
        for (a = 0; a < M; a++) y += w[a] * z[a];
        g = tanh(y);
        slope += (1 - g * g) / count;
        for (a = 0; a < M; a++) next[a] += z[a] * g / count;
    }
    for (a = 0; a < M; a++) next[a] -= slope * w[a];
    /* END OF YOUR TURN */
}

/* Pixels that are all signs of three values, and a w without the third: the means are short sums. Returns the difference. */
static double step_over_signs(void) {
    const double w[M] = {0.8, 0.6, 0}, both = tanh(0.8 + 0.6), one = tanh(0.8 - 0.6), slope = 1 - (both * both + one * one) / 2;
    const double expected[M] = {(both + one) / 2 - slope * 0.8, (both - one) / 2 - slope * 0.6, 0};
    double white[8 * M], next[M] = {NAN, NAN, NAN}, worst = 0;
    int i, a;
    for (i = 0; i < 8; i++)
        for (a = 0; a < M; a++) {
            if (i >> a & 1) white[i * M + a] = 1;
            else white[i * M + a] = -1;
        }
    tanh_step(8, white, w, next);
    for (a = 0; a < M; a++) worst = larger_of(worst, fabs(next[a] - expected[a]));
    return worst;
}

/* The largest element of the covariance of the white pixels less the identity. */
static double difference_to_white(const double *white) {
    double worst = 0;
    int i, a, b;
    for (a = 0; a < M; a++)
        for (b = 0; b < M; b++) {
            double sum = 0;
            for (i = 0; i < COUNT; i++) sum += white[i * M + a] * white[i * M + b] / COUNT;
            worst = larger_of(worst, fabs(sum - (a == b)));
        }
    return worst;
}

/* Takes what lies along the components before component k off `next`. */
static void orthogonalise(const shs_wide *rotation, int k, double *next) {
    /* YOUR TURN: make `next` orthogonal to the columns of `rotation` before column k. Value a of column j is
       rotation[a + j * M]. */
    int j, a;
    for (j = 0; j < k; j++) {
        double part = 0;
        for (a = 0; a < M; a++) part += next[a] * (double)rotation[a + j * M];
        for (a = 0; a < M; a++) next[a] -= part * (double)rotation[a + j * M];
    }
    /* END OF YOUR TURN */
}

/* (1, 2, 3) with the axes as components: before component 1 there is one, so (0, 2, 3) is left, at any length. Returns the
   difference at unit length. Against all other components only the component itself would be left, whatever the step was. */
static double orthogonal_to_first_axis(void) {
    const shs_wide axes[M * M] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double left[M] = {0, 2, 3};
    double next[M] = {1, 2, 3}, length2 = 0, worst = 0;
    int a;
    orthogonalise(axes, 1, next);
    for (a = 0; a < M; a++) length2 += next[a] * next[a];
    for (a = 0; a < M; a++) worst = larger_of(worst, fabs(next[a] / sqrt(length2) - left[a] / sqrt(13)));
    return worst;
}

static void mix_sources(shs_real *cube) {
    shs_random random;
    int i, b;
    shs_random_seed(&random, 55);
    for (i = 0; i < COUNT; i++) {
        const shs_real u = (shs_real)shs_random_uniform(&random), v = (shs_real)shs_random_uniform(&random);
        const shs_real n = (shs_real)shs_random_normal(&random);
        shs_real mixed[M];
        mixed[0] = u;
        mixed[1] = v * v * v;
        mixed[2] = n * n * n;
        for (b = 0; b < M; b++) cube[i * M + b] = mixed[b] + (shs_real)0.4 * mixed[(b + 1) % M];
    }
}

static void separate(const shs_real *cube, shs_ica *ica) {
    shs_ica_options o = SHS_ZERO;
    shs_cube image = SHS_ZERO;
    image.pixels = cube;
    image.type = SHS_TYPE_REAL;
    image.interleave = SHS_INTERLEAVE_BIP;
    image.lines = 60;
    image.samples = COUNT / 60;
    image.bands = M;
    o.contrast = SHS_CONTRAST_TANH;
    o.order = SHS_ORDER_EXTRACTION;
    check(shs_ica_fit(NULL, &image, &o, ica), "independent components");
    if (!ica->converged) fail(EXIT_ERROR, "shs_ica_fit: not all of %d components converged", M);
}

static void exercise_5(void) {
    static shs_real cube[COUNT * M];
    static double white[COUNT * M];
    shs_ica ica = SHS_ZERO;
    double worst = 0, slant = 0;
    int i, j, k, a, b;
    mix_sources(cube);
    separate(cube, &ica);
    /* YOUR TURN: the white pixels, ica.whitening (x - ica.mean) for each pixel x of the cube. Element (a, b) of ica.whitening is
       ica.whitening[a + b * M]. */
    for (i = 0; i < COUNT; i++)
        for (a = 0; a < M; a++)
            for (b = 0; b < M; b++)
                white[i * M + a] += (double)ica.whitening[a + b * M] * ((double)cube[i * M + b] - (double)ica.mean[b]);
    /* END OF YOUR TURN */
    for (k = 0; k < M; k++) {
        double w[M], next[M] = {NAN, NAN, NAN}, length = 0, along = 0;
        for (a = 0; a < M; a++) w[a] = (double)ica.rotation[a + k * M];
        tanh_step(COUNT, white, w, next);
        orthogonalise(ica.rotation, k, next);
        for (a = 0; a < M; a++) length += next[a] * next[a];
        for (a = 0; a < M; a++) along += next[a] / sqrt(length) * w[a];
        worst = larger_of(worst, 1 - fabs(along));
        for (j = 0; j < k; j++) {
            double part = 0;
            for (a = 0; a < M; a++) part += next[a] / sqrt(length) * (double)ica.rotation[a + j * M];
            slant = larger_of(slant, fabs(part));
        }
    }
    agrees("5: a tanh step over all signs of three values", step_over_signs(), 1e-12);
    agrees("5: covariance of the white pixels less the identity", difference_to_white(white), 1e-4);
    agrees("5: (1, 2, 3) less its part along the first axis, at unit length", orthogonal_to_first_axis(), 1e-12);
    agrees("5: |cos| between a step and the components before it", slant, 1e-5);
    agrees("5: 1 - |cos| of a plain step from each", worst, 1e-6);
    shs_ica_free(NULL, &ica);
}

int main(int argc, char **argv) {
    course_begin(argc, argv, "5_solutions", "the exercises of lesson 5");
    exercise_1();
    exercise_2();
    exercise_3();
    exercise_4();
    exercise_5();
    return course_end();
}
