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
    double next[2], worst = HUGE_VAL;
    int a;
    step(&p, 3, w, next);
    /* YOUR TURN: the largest |next_i - kappa_i w_i^3| as `worst`, with the kurtosis from mean_power. */
    worst = 0;
    for (a = 0; a < 2; a++) worst = fmax(worst, fabs(next[a] - (mean_power(&p, a, 4) - 3) * w[a] * w[a] * w[a]));
    /* END OF YOUR TURN */
    agrees("1: a step less kappa_i w_i^3", worst, 1e-12);
}

/* 2. The order of convergence. */
static void exercise_2(void) {
    const pixels p = combinations(2, two, 3, three);
    double w[2] = {0.95, 0}, next[2], before, order = 0;
    int k;
    w[1] = sqrt(1 - w[0] * w[0]);
    /* YOUR TURN: two steps. With e = |w_1 / w_0| and e after a step near c e^q, set `order` to q. */
    /* w_i becomes kappa_i w_i^3, so e becomes (1.5 / 2) e^3. */
    for (k = 0; k < 2; k++) { /* a third step would leave less than rounding */
        before = fabs(w[1] / w[0]);
        step(&p, 3, w, next);
        memcpy(w, next, sizeof w);
        scale_to_one(w);
        order = log(fabs(w[1] / w[0]) / (1.5 / 2)) / log(before);
    }
    /* END OF YOUR TURN */
    agrees("2: order of convergence less 3", fabs(order - 3), 1e-3);
}

/* 3. Two sources of equal kurtosis, and a start between them. */
static void exercise_3(void) {
    const pixels p = combinations(2, two, 2, two);
    double w[2] = {1, 1}, next[2], stays;
    int k;
    scale_to_one(w);
    step(&p, 3, w, next);
    scale_to_one(next);
    stays = 1 - fabs(w[0] * next[0] + w[1] * next[1]);
    agrees("3: 1 - |cos| of a step from between the sources", fabs(stays), 1e-12);
    /* YOUR TURN: push w by 1e-6 towards the first source, and do plain steps until w has left. */
    /* The start is a saddle: a fixed point that is no source. A small push leaves it, after many steps. */
    w[0] += 1e-6;
    for (k = 0; k < 30; k++) {
        scale_to_one(w);
        step(&p, 3, w, next);
        memcpy(w, next, sizeof w);
    }
    /* END OF YOUR TURN */
    scale_to_one(w);
    agrees("3: share of the second source after the push", fabs(w[1]), 1e-6);
}

/* 4. g = y^2 with one skewed and one symmetric source. */
static void exercise_4(void) {
    static const double skewed[] = {2, -0.5, -0.5, -0.5, -0.5}; /* mean 0, variance 1, skewness 3/2 */
    const pixels p = combinations(5, skewed, 2, two);
    const double w[2] = {0.6, 0.8};
    double next[2] = {0.6, 0.8};
    /* YOUR TURN: steps from w with g = y^2 until `next`, at unit length, is the skewed source. How many does it take? */
    step(&p, 2, w, next); /* one: y^2 sees skewness only */
    /* END OF YOUR TURN */
    scale_to_one(next);
    agrees("4: share of the symmetric source", fabs(next[1]), 1e-12);
}

/* 5. shs_ica_fit separates three sources. A plain step over the pixels, made orthogonal to the components found before, must not
   move a component. */
static void exercise_5(void) {
    enum { N = 6000, M = 3 };
    static shs_real cube[N * M], mixed[M];
    shs_ica_options o = SHS_ZERO;
    shs_ica ica = SHS_ZERO;
    shs_cube image = SHS_ZERO;
    shs_random random;
    double worst = 0;
    int i, k, a, b, j;
    shs_random_seed(&random, 55);
    for (i = 0; i < N; i++) {
        const shs_real u = (shs_real)shs_random_uniform(&random), v = (shs_real)shs_random_uniform(&random);
        const shs_real n = (shs_real)shs_random_normal(&random);
        mixed[0] = u;
        mixed[1] = v * v * v;
        mixed[2] = n * n * n;
        for (b = 0; b < M; b++) cube[i * M + b] = mixed[b] + (shs_real)0.4 * mixed[(b + 1) % M];
    }
    image.pixels = cube;
    image.type = SHS_TYPE_REAL;
    image.interleave = SHS_INTERLEAVE_BIP;
    image.lines = 60;
    image.samples = N / 60;
    image.bands = M;
    o.contrast = SHS_CONTRAST_TANH;
    o.order = SHS_ORDER_EXTRACTION;
    check(shs_ica_fit(NULL, &image, &o, &ica), "independent components");
    for (k = 0; k < M; k++) {
        double w[M], next[M] = {0}, slope = 0, length = 0, along = 0;
        for (a = 0; a < M; a++) w[a] = (double)ica.rotation[a + k * M];
        /* YOUR TURN: `next` is one plain tanh step from w, column k of ica.rotation, over all pixels, then made orthogonal to the
           columns before k. A pixel is white after ica.whitening (x - ica.mean). */
        for (i = 0; i < N; i++) {
            double z[M], y = 0, g;
            for (a = 0; a < M; a++) {
                z[a] = 0;
                for (b = 0; b < M; b++) z[a] += (double)ica.whitening[a + b * M] * ((double)cube[i * M + b] - (double)ica.mean[b]);
            }
            for (a = 0; a < M; a++) y += w[a] * z[a];
            g = tanh(y);
            slope += (1 - g * g) / N;
            for (a = 0; a < M; a++) next[a] += z[a] * g / N;
        }
        for (a = 0; a < M; a++) next[a] -= slope * w[a];
        for (j = 0; j < k; j++) {
            double part = 0;
            for (a = 0; a < M; a++) part += next[a] * (double)ica.rotation[a + j * M];
            for (a = 0; a < M; a++) next[a] -= part * (double)ica.rotation[a + j * M];
        }
        /* END OF YOUR TURN */
        for (a = 0; a < M; a++) length += next[a] * next[a];
        for (a = 0; a < M; a++) along += next[a] / sqrt(length) * w[a];
        worst = larger_of(worst, 1 - fabs(along));
    }
    agrees("5: all converged", 1 - ica.converged, 0);
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
