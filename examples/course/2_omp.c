/* 2_omp.c - orthogonal matching pursuit of image patches, from least squares anew at each step to the header's Batch-OMP.

       make course LESSONS=2

   Every rung codes the same patches, with the same number of atoms, in the same dictionary. */
#include "course.h"

enum { P = 64 /* values of a patch */, N = 256 /* atoms */, MOST_S = 16, COUNT = 8192 };

static struct {
    int m;              /* signals */
    int s;              /* atoms a signal */
    shs_real *Y, *D;    /* P x m, P x N */
    shs_real *G, *DtY;  /* D'D (N x N) and D'Y (N x m), where a rung uses them */
    shs_codes codes, before;
    shs_context context; /* of the header's rungs */
} c;

/* A signal's code: its atoms in the order in which they are chosen, and their coefficients. */
typedef void (*pursuit)(const shs_real *y, const shs_real *dty, int *atoms, shs_real *x);

static shs_real dot(ptrdiff_t count, const shs_real *a, const shs_real *b) {
    shs_real sum = 0;
    ptrdiff_t i;
    for (i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static const shs_real *atom(int j) { return c.D + j * P; }

/* alpha = D'r. */
static void correlate(const shs_real *r, shs_real *alpha) {
    int j;
    for (j = 0; j < N; j++) alpha[j] = dot(P, atom(j), r);
}

/* r = y - D_I x. */
static void residual_of(const shs_real *y, int k, const int *atoms, const shs_real *x, shs_real *r) {
    int i, l;
    memcpy(r, y, P * sizeof *r);
    for (i = 0; i < k; i++)
        for (l = 0; l < P; l++) r[l] -= x[i] * atom(atoms[i])[l];
}

static int strongest(const shs_real *alpha) {
    int j, best = 0;
    for (j = 1; j < N; j++)
        if (fabs(alpha[j]) > fabs(alpha[best])) best = j;
    return best;
}

/* Row k of the Cholesky factor L (rows side by side, MOST_S apart) of A = LL'; a: A_k0 .. A_kk. */
static void cholesky_row(int k, const shs_real *a, shs_real *L) {
    int i, l;
    for (i = 0; i <= k; i++) {
        shs_real v = a[i];
        for (l = 0; l < i; l++) v -= L[i * MOST_S + l] * L[k * MOST_S + l];
        if (i < k) L[k * MOST_S + i] = v / L[i * MOST_S + i];
        else L[k * MOST_S + i] = (shs_real)sqrt(v);
    }
}

/* LL'x = b, of order k. */
static void cholesky_solve(int k, const shs_real *L, const shs_real *b, shs_real *x) {
    int i, l;
    for (i = 0; i < k; i++) {
        x[i] = b[i];
        for (l = 0; l < i; l++) x[i] -= L[i * MOST_S + l] * x[l];
        x[i] /= L[i * MOST_S + i];
    }
    for (i = k; i-- > 0;) {
        for (l = i + 1; l < k; l++) x[i] -= L[l * MOST_S + i] * x[l];
        x[i] /= L[i * MOST_S + i];
    }
}

/* ---- the rungs: a signal ----------------------------------------------------------------------------------------- */

/* Rung 1. As it is defined: at each step all atoms are compared with the residual, then least squares over those chosen is
   solved from nothing, by its normal equations D_I'D_I x = D_I'y. */
static void anew(const shs_real *y, const shs_real *dty, int *atoms, shs_real *x) {
    shs_real r[P], alpha[N], L[MOST_S * MOST_S], a[MOST_S], b[MOST_S];
    int k, i, l;
    (void)dty;
    memcpy(r, y, sizeof r);
    for (k = 0; k < c.s; k++) {
        correlate(r, alpha);
        atoms[k] = strongest(alpha);
        for (i = 0; i <= k; i++) {
            for (l = 0; l <= i; l++) a[l] = dot(P, atom(atoms[i]), atom(atoms[l]));
            cholesky_row(i, a, L);
            b[i] = dot(P, atom(atoms[i]), y);
        }
        cholesky_solve(k + 1, L, b, x);
        residual_of(y, k + 1, atoms, x, r);
    }
}

/* Rung 2. The factor L of the atoms chosen so far is kept; a new atom adds a row to it. */
static void progressive(const shs_real *y, const shs_real *dty, int *atoms, shs_real *x) {
    shs_real r[P], alpha[N], L[MOST_S * MOST_S], a[MOST_S], b[MOST_S];
    int k, l;
    (void)dty;
    memcpy(r, y, sizeof r);
    for (k = 0; k < c.s; k++) {
        correlate(r, alpha);
        atoms[k] = strongest(alpha);
        for (l = 0; l <= k; l++) a[l] = dot(P, atom(atoms[k]), atom(atoms[l]));
        cholesky_row(k, a, L);
        b[k] = dot(P, atom(atoms[k]), y);
        cholesky_solve(k + 1, L, b, x);
        residual_of(y, k + 1, atoms, x, r);
    }
}

/* Rung 3. All signals share G = D'D. With it the residual is not needed: D'r = D'y - G_I x, which takes k n operations where
   D'r takes p n. */
static void with_gram(const shs_real *y, const shs_real *dty, int *atoms, shs_real *x) {
    shs_real start[N], alpha[N], L[MOST_S * MOST_S], a[MOST_S], b[MOST_S];
    int k, i, j;
    if (dty) memcpy(start, dty, sizeof start);
    else correlate(y, start);
    memcpy(alpha, start, sizeof alpha);
    for (k = 0; k < c.s; k++) {
        atoms[k] = strongest(alpha);
        for (i = 0; i <= k; i++) a[i] = c.G[atoms[k] * N + atoms[i]];
        cholesky_row(k, a, L);
        b[k] = start[atoms[k]];
        cholesky_solve(k + 1, L, b, x);
        memcpy(alpha, start, sizeof alpha);
        for (i = 0; i <= k; i++) {
            const shs_real *g = c.G + atoms[i] * N;
            for (j = 0; j < N; j++) alpha[j] -= x[i] * g[j];
        }
    }
}

/* Rung 4. No triangular system on the way. With q_k the k-th atom made orthogonal to those before and of unit length, alpha
   loses t_k b_k at each step, where b_k = D'q_k; the coefficients come from one back substitution at the end. A step is one
   pass, 16 values at a time, which the compiler keeps in registers. */
static void with_b(const shs_real *y, const shs_real *dty, int *atoms, shs_real *x) {
    enum { AT_A_TIME = 16 };
    shs_real alpha[N], b[MOST_S][N], L[MOST_S * MOST_S], t[MOST_S];
    int k, i, j, l;
    if (dty) memcpy(alpha, dty, sizeof alpha);
    else correlate(y, alpha);
    for (k = 0; k < c.s; k++) {
        const int chosen = atoms[k] = strongest(alpha);
        const shs_real *g = c.G + chosen * N;
        shs_real d2 = g[chosen], *row = L + k * MOST_S, inverse;
        for (i = 0; i < k; i++) {
            row[i] = b[i][chosen];
            d2 -= row[i] * row[i];
        }
        row[k] = (shs_real)sqrt(d2);
        t[k] = alpha[chosen] / row[k];
        inverse = 1 / row[k];
        for (j = 0; j < N; j += AT_A_TIME) {
            shs_real v[AT_A_TIME];
            for (l = 0; l < AT_A_TIME; l++) v[l] = g[j + l];
            for (i = 0; i < k; i++)
                for (l = 0; l < AT_A_TIME; l++) v[l] -= row[i] * b[i][j + l];
            for (l = 0; l < AT_A_TIME; l++) v[l] *= inverse;
            for (l = 0; l < AT_A_TIME; l++) b[k][j + l] = v[l];
            for (l = 0; l < AT_A_TIME; l++) alpha[j + l] -= t[k] * v[l];
        }
        alpha[chosen] = 0; /* what is left of it is rounding */
    }
    for (k = c.s; k-- > 0;) {
        x[k] = t[k];
        for (i = k + 1; i < c.s; i++) x[k] -= L[i * MOST_S + k] * x[i];
        x[k] /= L[k * MOST_S + k];
    }
}

/* ---- the rungs: all signals -------------------------------------------------------------------------------------- */

static void one_by_one(pursuit code, const shs_real *dty) {
    ptrdiff_t i;
    for (i = 0; i < c.m; i++) {
        const shs_real *products = NULL;
        if (dty) products = dty + i * N;
        code(c.Y + i * P, products, c.codes.atoms + i * MOST_S, c.codes.coefs + i * MOST_S);
        c.codes.used[i] = c.s;
    }
}

static void form_gram(void) {
    check(shs_gemm(&c.context, SHS_TRANS_YES, SHS_TRANS_NO, N, N, P, 1, c.D, P, c.D, P, 0, c.G, N), "D'D");
}

static void rung_anew(void *unused) { (void)unused, one_by_one(anew, NULL); }
static void rung_progressive(void *unused) { (void)unused, one_by_one(progressive, NULL); }
static void rung_gram(void *unused) { (void)unused, form_gram(), one_by_one(with_gram, NULL); }
static void rung_b(void *unused) { (void)unused, form_gram(), one_by_one(with_b, NULL); }

/* Rung 5. D'y of all signals is one matrix product: lesson 1 pays. */
static void rung_product(void *unused) {
    (void)unused;
    form_gram();
    check(shs_gemm(&c.context, SHS_TRANS_YES, SHS_TRANS_NO, N, c.m, P, 1, c.D, P, c.Y, P, 0, c.DtY, N), "D'Y");
    one_by_one(with_b, c.DtY);
}

static void by_the_header(void *unused) {
    (void)unused;
    check(shs_omp(&c.context, P, N, c.D, (size_t)c.m, c.Y, c.s, &c.codes), "coding");
}

/* ---- the ladder -------------------------------------------------------------------------------------------------- */

/* Clears the codes, so that a rung that leaves a signal out cannot pass with the results of the previous rung. */
static void forget_codes(void) {
    ptrdiff_t i;
    for (i = 0; i < c.m * MOST_S; i++) {
        c.codes.atoms[i] = -1;
        c.codes.coefs[i] = (shs_real)NAN;
    }
}

/* The share of signals whose atoms differ, and the largest difference of the others' coefficients, relative to the largest. */
static double other_atoms(double *difference) {
    ptrdiff_t i, others = 0;
    double most = 0, size = 0;
    int k;
    for (i = 0; i < c.m; i++) {
        const int *a = c.codes.atoms + i * MOST_S, *b = c.before.atoms + i * MOST_S;
        const shs_real *x = c.codes.coefs + i * MOST_S, *z = c.before.coefs + i * MOST_S;
        int same = !memcmp(a, b, (size_t)c.s * sizeof *a);
        others += !same;
        for (k = 0; same && k < c.s; k++) {
            most = larger_of(most, fabs(x[k] - z[k]));
            size = fmax(size, fabs(z[k]));
        }
    }
    if (size > 0) *difference = most / size;
    else *difference = most;
    return (double)others / c.m;
}

static void climb(const char *name, work_fn work) {
    static int rungs = 0;
    const size_t places = elements(c.m, MOST_S);
    forget_codes();
    rung(name, c.m, median_seconds(work, NULL));
    if (rungs++) {
        double difference, share = other_atoms(&difference);
        agrees(text_of("%s: share of signals with other atoms (two nearly equal)", name), share, 2e-3);
        agrees(text_of("%s: coefficients of the others", name), difference, 1e-4);
    }
    memcpy(c.before.atoms, c.codes.atoms, places * sizeof *c.codes.atoms);
    memcpy(c.before.coefs, c.codes.coefs, places * sizeof *c.codes.coefs);
}

/* Multiplications and additions of a signal in rungs 4 and later. */
static double operations(int s) { return N * (2.0 * P + s * (s + 1)); }

/* Shades, edges, stripes and noise, so that no two atoms fit a patch equally well. */
static void draw_picture(int size, shs_real *pixels) {
    const double side = size;
    shs_random random;
    int x, y;
    shs_random_seed(&random, 2);
    for (y = 0; y < size; y++)
        for (x = 0; x < size; x++) {
            double u = x / side, v = y / side, value = 120 + 60 * u - 40 * v;
            if (hypot(u - 0.3, v - 0.35) < 0.2) value += 70 - 300 * fabs(u - 0.25);
            if (v > 0.6) value += 50 * sin(200 * (0.8 * u + 0.6 * v + 0.05 * sin(9 * u)));
            if (u > 0.7 && v < 0.5) value += (int)(30 * u) % 2 * 80 - 20;
            pixels[element_at(y, size, x)] = (shs_real)value + 10 * (shs_real)shs_random_normal(&random);
        }
}

static void open_signals(void) {
    enum { SIZE = 256 };
    shs_real *pixels = allocate(SIZE * SIZE, sizeof *pixels);
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    draw_picture(SIZE, pixels);
    image.pixels = pixels;
    image.type = SHS_TYPE_REAL;
    image.width = image.height = SIZE;
    set.mode = SHS_PATCH_MODE_RANDOM;
    if (course.quick) set.count = 300;
    else set.count = COUNT;
    set.seed = 2;
    c.m = (int)set.count;
    c.Y = allocate(P * set.count, sizeof *c.Y);
    c.D = allocate(P * N, sizeof *c.D);
    c.G = allocate(N * N, sizeof *c.G);
    c.DtY = allocate(N * set.count, sizeof *c.DtY);
    check(shs_patches_get(NULL, &image, &set, 0, set.count, c.Y, P, NULL, NULL), "patches");
    check(shs_dictionary_dct(8, 8, 1, N, c.D, P), "the dictionary");
    check(shs_codes_create(NULL, set.count, MOST_S, &c.codes), "codes");
    check(shs_codes_create(NULL, set.count, MOST_S, &c.before), "codes");
    free(pixels);
}

static void draw_rate(const char *line, work_fn work) {
    static const int sparsities[] = {1, 2, 3, 4, 6, 8, 12, MOST_S};
    int k;
    for (k = 0; k < 8; k++) {
        c.s = sparsities[k];
        curve_point(line, c.s, 1e-3 * c.m / median_seconds(work, NULL));
    }
}

int main(int argc, char **argv) {
    course_begin(argc, argv, "2_omp", "orthogonal matching pursuit, from least squares anew at each step to Batch-OMP");
    open_signals();
    c.s = 6;
    c.context.threads = 1;
    ladder_begin("ladder", text_of("%d patches; %d atoms of %d each; float", c.m, c.s, N), "thousand signals/s", 1e3,
                 peak_of_core(0) / operations(c.s));
    climb("least squares anew", rung_anew);
    climb("progressive Cholesky", rung_progressive);
    climb("Gram matrix", rung_gram);
    climb("b_k instead of triangular systems", rung_b);
    climb("D'Y by one product", rung_product);
    climb("shs_omp; one thread", by_the_header);
    c.context.threads = course_threads();
    ladder_threads(course_threads(), peak_of_threads(course_threads()) / operations(c.s));
    climb(text_of("shs_omp; %d threads", course_threads()), by_the_header);
    ladder_end();
    c.context.threads = 1;
    curve_begin("sparsity", "patches coded over the number of atoms; one thread", "s", "thousand signals/s", "y");
    draw_rate("progressive Cholesky", rung_progressive);
    draw_rate("Gram matrix", rung_gram);
    draw_rate("D'Y by one product", rung_product);
    draw_rate("shs_omp", by_the_header);
    curve_end();
    shs_codes_free(NULL, &c.codes);
    shs_codes_free(NULL, &c.before);
    free(c.Y);
    free(c.D);
    free(c.G);
    free(c.DtY);
    return course_end();
}
