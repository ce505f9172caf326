/* 3_learning.c - dictionary learning, from K-SVD by the book to atoms updated in parallel, and a picture that is repaired with
   what was learnt.

       make course LESSONS=3

   On every rung one iteration is done from the same start: the signals are coded, then all atoms and their coefficients are
   updated. The coding is lesson 2's; what changes is the update. */
#include "course.h"
#include "../denoising.h"
#include "../inpainting.h"

enum { P = 64, N = 128, S = 6, TEXTBOOK_SIGNALS = 256 };

static struct {
    size_t m;        /* signals */
    ptrdiff_t slots; /* m x S: places of coefficients */
    shs_real *Y, *start, *D, *before; /* signals P x m; dictionaries P x N: the start, a rung's, the one before's */
    shs_real *E, *F, *x, *changed, *wanted; /* what a rung needs for itself */
    ptrdiff_t *users; /* the signals that use an atom, and where their coefficient is */
    shs_codes codes;
    shs_context context;
} l;

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

static void begin_iteration(void) {
    memcpy(l.D, l.start, P * N * sizeof *l.D);
    check(shs_omp(&l.context, P, N, l.D, l.m, l.Y, S, &l.codes), "coding");
    check(shs_codes_residual(&l.context, P, N, l.D, P, l.m, l.Y, P, &l.codes, l.E, P, NULL), "the residual");
}

/* The signals that use atom j: users[i] = place of their coefficient among all; signal = place / S. Returns how many. */
static ptrdiff_t users_of(int j) {
    ptrdiff_t i, count = 0;
    for (i = 0; i < l.slots; i++)
        if (i % S < l.codes.used[i / S] && l.codes.atoms[i] == j) l.users[count++] = i;
    return count;
}

static void normalise(shs_real *d) {
    double sum = 0;
    int i;
    for (i = 0; i < P; i++) sum += (double)d[i] * (double)d[i];
    for (i = 0; sum > 0 && i < P; i++) d[i] = (shs_real)((double)d[i] / sqrt(sum));
}

/* F = E_I + d x, column by column: the residual without this atom, for the signals that use the atom. */
static void form_F(ptrdiff_t count, const shs_real *d) {
    ptrdiff_t i;
    int k;
    for (i = 0; i < count; i++)
        for (k = 0; k < P; k++) l.F[i * P + k] = l.E[l.users[i] / S * P + k] + d[k] * l.codes.coefs[l.users[i]];
}

/* One power step towards the leading singular vectors of F: d = F x' at unit length, then x = d'F, a row. */
static void power_step(ptrdiff_t count, shs_real *d) {
    ptrdiff_t i;
    int k;
    memset(d, 0, P * sizeof *d);
    for (i = 0; i < count; i++)
        for (k = 0; k < P; k++) d[k] += l.F[i * P + k] * l.x[i];
    normalise(d);
    for (i = 0; i < count; i++) {
        l.x[i] = 0;
        for (k = 0; k < P; k++) l.x[i] += l.F[i * P + k] * d[k];
    }
}

/* The atom's new coefficients, and E without what changed: E = F - d x. */
static void keep(ptrdiff_t count, const shs_real *d) {
    ptrdiff_t i;
    int k;
    for (i = 0; i < count; i++) {
        l.codes.coefs[l.users[i]] = l.x[i];
        for (k = 0; k < P; k++) l.E[l.users[i] / S * P + k] = l.F[i * P + k] - d[k] * l.x[i];
    }
}

/* Rungs 2 and 3: F is formed, and `steps` power steps are done on it. */
static void update_by_F(int steps) {
    int j, step;
    begin_iteration();
    for (j = 0; j < N; j++) {
        shs_real *d = l.D + j * P;
        ptrdiff_t i, count = users_of(j);
        if (!count) continue;
        form_F(count, d);
        for (i = 0; i < count; i++) l.x[i] = l.codes.coefs[l.users[i]];
        for (step = 0; step < steps; step++) power_step(count, d);
        keep(count, d);
    }
}

/* Rung 2. K-SVD: the best rank-one approximation of F. 30 steps bring d near enough for a ladder. */
static void exact(void *unused) { (void)unused, update_by_F(30); }

/* Rung 3. AK-SVD: one step. The next iteration begins where this one ends, so that the steps add up all the same. */
static void one_step(void *unused) { (void)unused, update_by_F(1); }

/* d_new = normalise(E_I x' + d |x|^2), which is F x' at unit length. */
static void new_atom(ptrdiff_t count, const shs_real *d, shs_real *d_new) {
    shs_real length2 = 0;
    ptrdiff_t i;
    int k;
    memset(d_new, 0, P * sizeof *d_new);
    for (i = 0; i < count; i++) {
        const shs_real x = l.codes.coefs[l.users[i]], *e = l.E + l.users[i] / S * P;
        length2 += x * x;
        for (k = 0; k < P; k++) d_new[k] += e[k] * x;
    }
    for (k = 0; k < P; k++) d_new[k] += d[k] * length2;
    normalise(d_new);
}

/* x_new = d_new'E_I + (d_new'd) x, which is d_new'F, for one coefficient: e is its column of E_I. */
static shs_real new_coefficient(const shs_real *e, shs_real x, const shs_real *d_new, shs_real overlap) {
    shs_real sum = x * overlap;
    int k;
    for (k = 0; k < P; k++) sum += e[k] * d_new[k];
    return sum;
}

static shs_real overlap_of(const shs_real *a, const shs_real *b) {
    shs_real sum = 0;
    int k;
    for (k = 0; k < P; k++) sum += a[k] * b[k];
    return sum;
}

/* Rung 4. The same step, and F is never formed. One pass over the codes lists the users of all atoms. */
static void list_users(ptrdiff_t *first) {
    ptrdiff_t i, places[N];
    int j;
    memset(first, 0, (N + 1) * sizeof *first);
    for (i = 0; i < l.slots; i++)
        if (i % S < l.codes.used[i / S]) first[l.codes.atoms[i] + 1]++;
    for (j = 0; j < N; j++) {
        first[j + 1] += first[j];
        places[j] = first[j];
    }
    for (i = 0; i < l.slots; i++) {
        ptrdiff_t *place = places + l.codes.atoms[i];
        if (i % S >= l.codes.used[i / S]) continue;
        l.wanted[*place] = 0;
        l.users[*place] = i;
        ++*place;
    }
}

static void without_F(void *unused) {
    ptrdiff_t first[N + 1], *all = l.users;
    int j, k;
    (void)unused;
    begin_iteration();
    list_users(first);
    for (j = 0; j < N; j++) {
        const ptrdiff_t count = first[j + 1] - first[j];
        shs_real d_new[P], overlap, *d = l.D + j * P;
        ptrdiff_t i;
        if (!count) continue;
        l.users = all + first[j];
        new_atom(count, d, d_new);
        overlap = overlap_of(d, d_new);
        for (i = 0; i < count; i++) {
            shs_real *e = l.E + l.users[i] / S * P, *x = l.codes.coefs + l.users[i];
            const shs_real x_new = new_coefficient(e, *x, d_new, overlap);
            for (k = 0; k < P; k++) e[k] += d[k] * *x - d_new[k] * x_new;
            *x = x_new;
        }
        memcpy(d, d_new, sizeof d_new);
    }
    l.users = all;
}

/* Rung 5. All atoms from the same E, which is computed anew once. No atom waits for the one before: this is what a device
   can do at the same time (PAK-SVD with N~ = n). */
static void all_at_once(void *unused) {
    ptrdiff_t first[N + 1], *all = l.users;
    int j;
    (void)unused;
    begin_iteration();
    list_users(first);
    for (j = 0; j < N; j++) {
        const ptrdiff_t count = first[j + 1] - first[j];
        shs_real *d = l.D + j * P, *d_new = l.changed + j * P, overlap;
        ptrdiff_t i;
        memcpy(d_new, d, P * sizeof *d);
        if (!count) continue;
        l.users = all + first[j];
        new_atom(count, d, d_new);
        overlap = overlap_of(d, d_new);
        for (i = 0; i < count; i++)
            l.wanted[first[j] + i] = new_coefficient(l.E + l.users[i] / S * P, l.codes.coefs[l.users[i]], d_new, overlap);
    }
    l.users = all;
    for (j = 0; j < first[N]; j++) l.codes.coefs[l.users[j]] = l.wanted[j];
    memcpy(l.D, l.changed, P * N * sizeof *l.D);
    check(shs_codes_residual(&l.context, P, N, l.D, P, l.m, l.Y, P, &l.codes, l.E, P, NULL), "the residual");
}

/* ---- the textbook's and the header's ----------------------------------------------------------------------------- */

/* Rung 1. All in double, loop by loop, with F formed for each atom; of few signals. */
static void by_the_book(void *unused) {
    const size_t m = TEXTBOOK_SIGNALS;
    const shs_naive_learning how = {shs_aksvd_naive, S, 1, 1, 0};
    shs_wide *X = ALLOCATE(shs_wide, N * m), *scratch = ALLOCATE(shs_wide, 2 * P * m + 2 * P + S + S * (P + S));
    int atoms[S];
    (void)unused;
    memcpy(l.D, l.start, P * N * sizeof *l.D);
    shs_ksvd_naive(&how, P, N, l.D, (ptrdiff_t)m, l.Y, X, atoms, scratch);
    free(X);
    free(scratch);
}

static void header_iterations(int iterations, shs_update update, int group, size_t m) {
    shs_ksvd_options o = SHS_ZERO;
    o.coding.sparsity = S;
    o.iterations = iterations;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.update = update;
    o.parallel_atoms = group;
    memcpy(l.D, l.start, P * N * sizeof *l.D);
    check(shs_ksvd_ex(&l.context, P, N, m, l.Y, P, &o, l.D, P, NULL, NULL), "learning");
}

/* Several iterations, since after the last one the header codes once more, to say the error of what it returns. */
enum { ITERATIONS = 10 };
static void header_aksvd(void *unused) { (void)unused, header_iterations(ITERATIONS, SHS_UPDATE_AKSVD, 1, l.m); }
static void header_paksvd(void *unused) { (void)unused, header_iterations(ITERATIONS, SHS_UPDATE_AKSVD, N, l.m); }

/* ---- the ladder -------------------------------------------------------------------------------------------------- */

static double difference_to(const shs_real *other) { return relative_difference(P * N, l.D, other); }

/* The dictionary of a rung beside the header's after the same iteration. */
static void as_header(const char *name, shs_update update, int group, size_t m, double allowed) {
    memcpy(l.before, l.D, P * N * sizeof *l.D);
    header_iterations(1, update, group, m);
    agrees(text_of("%s: atoms as shs_ksvd_ex has them", name), difference_to(l.before), allowed);
}

/* Draws the error over iterations; returns the last. */
static double draw_error(const char *line, const shs_real *start, shs_update update, int group, shs_replace replace) {
    enum { MOST = 25 };
    const int iterations = course.quick ? 3 : MOST;
    shs_ksvd_record history[MOST];
    shs_ksvd_report report = SHS_ZERO;
    shs_ksvd_options o = SHS_ZERO;
    int k;
    o.coding.sparsity = S;
    o.iterations = iterations;
    o.start = SHS_START_GIVEN;
    o.update = update;
    o.parallel_atoms = group;
    o.replace = replace;
    report.history = history;
    memcpy(l.D, start, P * N * sizeof *l.D);
    check(shs_ksvd_ex(&l.context, P, N, l.m, l.Y, P, &o, l.D, P, NULL, &report), "learning");
    for (k = 0; k < iterations; k++) curve_point(line, k, (double)history[k].rmse_coding);
    printf("  %-44s %10.4g\n", line, (double)history[iterations - 1].rmse_coding);
    return (double)history[iterations - 1].rmse_coding;
}

/* More power steps; groups; and what becomes of atoms that nothing uses: of the second
   start a half is constant, and signals without a mean have no use for that. */
static void draw_errors(void) {
    double exact_error, error, together, left, replaced;
    int i;
    printf("\nerror at the last iteration\n");
    curve_begin("errors", "error of learning from the same random start", "iteration", "root mean square error", "");
    exact_error = draw_error("K-SVD", l.start, SHS_UPDATE_KSVD, 1, SHS_REPLACE_LEAVE);
    error = draw_error("AK-SVD", l.start, SHS_UPDATE_AKSVD, 1, SHS_REPLACE_LEAVE);
    together = draw_error("all atoms at once", l.start, SHS_UPDATE_AKSVD, N, SHS_REPLACE_LEAVE);
    curve_end();
    if (!course.quick) { /* after three iterations of a few signals they still differ */
        agrees("AK-SVD: error / K-SVD's", error / exact_error, 1.06);
        agrees("all at once: error / K-SVD's", together / exact_error, 1.06);
    }
    memcpy(l.changed, l.start, P * N * sizeof *l.start);
    for (i = 0; i < P * N / 2; i++) l.changed[i] = (shs_real)(1 / sqrt((double)P));
    curve_begin("replacement", "AK-SVD from a start of which half fits nothing", "iteration", "root mean square error", "");
    left = draw_error("unused atoms stay", l.changed, SHS_UPDATE_AKSVD, 1, SHS_REPLACE_LEAVE);
    replaced = draw_error("replaced by the worst signals", l.changed, SHS_UPDATE_AKSVD, 1, SHS_REPLACE_WORST);
    curve_end();
    agrees("replacement: error / without", replaced / left, 0.98);
}

/* ---- a picture --------------------------------------------------------------------------------------------------- */

static picture clean_picture(void) {
    picture whole = drawn_picture(), part;
    int size = course.quick ? 64 : whole.width, y;
    part = picture_create(size, size, 1);
    for (y = 0; y < size; y++)
        memcpy(part.pixels + elements(y, size), whole.pixels + elements(y, whole.width), (size_t)size * sizeof *part.pixels);
    free(whole.pixels);
    return part;
}

/* A picture with noise, and one that has lost half of its pixels, repaired with atoms learnt from nothing but themselves. */
static void repair(void) {
    picture clean = clean_picture();
    picture noisy = add_noise(&clean, 25, 1), gaps;
    picture out = picture_create(clean.width, clean.height, 1);
    denoising how = {25, 256, 10, 1, 1, 40000, 0};
    inpainting filling = {1, 8, 256, 5, 1};
    double before, after, filled;
    shs_real *D;
    int p;
    if (course.quick) {
        how.atoms = filling.atoms = 64;
        how.iterations = filling.iterations = 2;
    }
    before = picture_psnr(&clean, &noisy);
    D = denoise_learn(&l.context, &noisy, &how, &p, NULL);
    denoise_with(&l.context, &noisy, &how, p, D, &out);
    after = picture_psnr(&clean, &out);
    free(D);
    gaps = picture_create(clean.width, clean.height, 1);
    memcpy(gaps.pixels, clean.pixels, picture_size(&clean) * sizeof *clean.pixels);
    lose_random(&gaps, 0.5, 1);
    D = inpaint_learn(&l.context, &gaps, &filling, &p, NULL);
    inpaint_with(&l.context, &gaps, &filling, D);
    filled = picture_psnr(&clean, &gaps);
    free(D);
    progress_clear();
    printf("\nA drawn picture of %d x %d: with noise of sigma 25 %.2f dB, denoised %.2f dB; half of its pixels lost, filled in "
           "%.2f dB\n",
           clean.width, clean.height, before, after, filled);
    agrees("denoised: noise that is left", pow(10, (before - after) / 20), 0.6);
    agrees("filled in: error over a range of 255", pow(10, -filled / 20), 0.06);
    free(clean.pixels);
    free(noisy.pixels);
    free(out.pixels);
    free(gaps.pixels);
}

/* ---- */

static void open_signals(void) {
    picture drawn = drawn_picture();
    shs_image image = picture_image(&drawn);
    shs_patches set = SHS_ZERO;
    size_t m;
    set.mode = SHS_PATCH_MODE_RANDOM;
    if (course.quick) set.count = 600;
    else set.count = 8192;
    set.seed = 3;
    m = set.count;
    l.m = m;
    l.slots = (ptrdiff_t)(m * S);
    l.Y = ALLOCATE(shs_real, P * m);
    l.E = ALLOCATE(shs_real, P * m);
    l.F = ALLOCATE(shs_real, P * m);
    l.start = ALLOCATE(shs_real, P * N);
    l.D = ALLOCATE(shs_real, P * N);
    l.before = ALLOCATE(shs_real, P * N);
    l.changed = ALLOCATE(shs_real, P * N);
    l.x = ALLOCATE(shs_real, l.slots);
    l.wanted = ALLOCATE(shs_real, l.slots);
    l.users = ALLOCATE(ptrdiff_t, l.slots);
    check(shs_patches_get(NULL, &image, &set, 0, m, l.Y, P, NULL, NULL), "patches");
    check(shs_dictionary_random(P, N, l.start, P, 3), "the start");
    check(shs_codes_create(NULL, m, S, &l.codes), "codes");
    free(drawn.pixels);
}

int main(int argc, char **argv) {
    double m;
    course_begin(argc, argv, "3_learning", "dictionary learning, from K-SVD by the book to atoms updated in parallel");
    open_signals();
    m = (double)l.m;
    l.context.threads = 1;
    ladder_begin("ladder", text_of("an iteration: %zu signals; %d atoms; %d of them each", l.m, N, S),
                 "thousand signals/s", 1e3, 0);
    rung("by the book", TEXTBOOK_SIGNALS, median_seconds(by_the_book, NULL));
    as_header("by the book", SHS_UPDATE_AKSVD, 1, TEXTBOOK_SIGNALS, 1e-4);
    rung("K-SVD: 30 power steps on F", m, median_seconds(exact, NULL));
    rung("AK-SVD: one step on F", m, median_seconds(one_step, NULL));
    as_header("one step on F", SHS_UPDATE_AKSVD, 1, l.m, 1e-4);
    rung("F never formed", m, median_seconds(without_F, NULL));
    as_header("F never formed", SHS_UPDATE_AKSVD, 1, l.m, 1e-4);
    rung("all atoms from the same E", m, median_seconds(all_at_once, NULL));
    as_header("all atoms from the same E", SHS_UPDATE_AKSVD, N, l.m, 1e-4);
    rung("shs_ksvd_ex: AK-SVD; one thread", ITERATIONS * m, median_seconds(header_aksvd, NULL));
    rung("shs_ksvd_ex: all at once; one thread", ITERATIONS * m, median_seconds(header_paksvd, NULL));
    l.context.threads = course_threads();
    rung(text_of("shs_ksvd_ex: all at once; %d threads", course_threads()), ITERATIONS * m,
         median_seconds(header_paksvd, NULL));
    ladder_end();
    draw_errors();
    repair();
    free(l.Y);
    free(l.E);
    free(l.F);
    free(l.start);
    free(l.D);
    free(l.before);
    free(l.changed);
    free(l.x);
    free(l.wanted);
    free(l.users);
    shs_codes_free(NULL, &l.codes);
    return course_end();
}
