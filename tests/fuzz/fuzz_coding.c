/* fuzz_coding.c - sparse coding in all forms: limits, sizes, edge values. Reports must match the stored codes. */
#include "fuzz.h"

/* ---- problems and what holds for their codes --------------------------------------------------------------------- */

typedef struct problem {
    int p, n, m, ldd, ldy;
    shs_real *D, *Y;
    extent of_D, of_Y;
} problem;

static problem problem_of(input *in) {
    problem q;
    size_t i;
    q.p = size_of(in, 10);
    q.n = size_of(in, 24);
    q.m = size_of(in, 6);
    q.ldd = leading_of(in, q.p);
    q.ldy = leading_of(in, q.p);
    q.D = drawn(in, count_of(q.ldd + 1, q.n), &q.of_D);
    q.Y = drawn(in, count_of(q.ldy + 1, q.m), &q.of_Y);
    if (byte(in) & 1) {
        (void)shs_normalize_columns(q.p, q.n, q.D, q.ldd, NULL);
        q.of_D.most = 0;
        q.of_D.least = 0;
        for (i = 0; i < count_of(q.ldd, q.n); i++) extend(&q.of_D, q.D[i]);
    }
    return q;
}

static void problem_free(problem *q) {
    free(q->D);
    free(q->Y);
}

static shs_real tolerance_of(input *in) {
    static const double tolerances[] = {0, 0, 0, 0.5, 1e-3, 1e-30, 1e30, -1, 3e38, 1e-44};
    int b = byte(in);
    if (b == 255) return NAN;
    if (b == 254) return INFINITY;
    return tolerances[b % 10];
}

/* Coefficients have the unit of signals divided by atoms. Between these bounds they are finite; outside they may leave the
   range. */
static int within_reach(const problem *q) {
    double most = 1e18;
    if (q->of_D.least > 1e-3) most = 1e30;
    return tame(&q->of_D) && q->of_Y.finite && q->of_Y.most <= most;
}

/* The residual can be computed here and compared with the signal. */
static int measurable(const problem *q) { return tame(&q->of_D) && tame(&q->of_Y) && q->of_D.most > 0 && q->of_Y.most > 0; }

/* Every signal: atoms exist, none is there twice, coefficients are finite where they can be. */
static void check_signal(int n, int used, int most, int bounded, const int *atoms, const shs_real *coefs) {
    int i, j;
    must(used >= 0 && used <= most);
    for (i = 0; i < used; i++) {
        must(atoms[i] >= 0 && atoms[i] < n);
        must(!bounded || isfinite(coefs[i]));
        for (j = 0; j < i; j++) must(atoms[i] != atoms[j]);
    }
}

/* Errors are reported with the weights and the mask, if there are any. */
static double residual2(const problem *q, const shs_omp_options *o, int signal, int used, const int *atoms,
                        const shs_real *coefs) {
    double sum = 0;
    int i, k;
    for (i = 0; i < q->p; i++) {
        double r = q->Y[entry(q->ldy, i, signal)], weight = 1;
        for (k = 0; k < used; k++) r -= (double)coefs[k] * q->D[entry(q->ldd, i, atoms[k])];
        if (o->mask && !o->mask[entry(o->ldm, i, signal)]) continue;
        if (o->weights) weight = o->weights[entry(o->ldw, i, signal)];
        sum += r * r * weight;
    }
    return sum;
}

/* Nothing was written. A call that was cancelled, or found a coefficient out of range, has written codes. */
static int refused(shs_status status) { return status != SHS_OK && status != SHS_CANCELLED && status != SHS_OUT_OF_RANGE; }

/* Whether a group of signals that share atoms starts at signal i. `group` counts the groups that have started. */
static int starts_group(const shs_omp_options *o, size_t *group, size_t i) {
    int starts = 0;
    if (!o->groups) return 1;
    for (; *group < o->group_count && o->groups[*group] == i; ++*group) starts = 1;
    return starts;
}

static int ends_group(const shs_omp_options *o, size_t group, size_t i, size_t m) {
    if (!o->groups) return 1;
    if (group == o->group_count) return i + 1 == m;
    return o->groups[group] == i + 1;
}

static void check_codes(const problem *q, const shs_omp_options *o, const shs_codes *codes, const shs_real *errors2) {
    size_t group = 0;
    double group_before = 0, group_after = 0;
    int i;
    for (i = 0; i < q->m; i++) {
        const int *atoms = codes->atoms + entry(codes->stride, 0, i);
        const shs_real *coefs = codes->coefs + entry(codes->stride, 0, i);
        double before, after;
        check_signal(q->n, codes->used[i], codes->stride, within_reach(q), atoms, coefs);
        if (!measurable(q)) continue;
        before = residual2(q, o, i, 0, NULL, NULL);
        after = residual2(q, o, i, codes->used[i], atoms, coefs);
        if (starts_group(o, &group, i)) {
            group_before = 0;
            group_after = 0;
        }
        group_before += before;
        group_after += after;
        /* Atoms never increase the error of their signals. */
        if (ends_group(o, group, i, q->m)) must(group_after <= group_before * 1.01);
        /* the recurrence is used where d^2 is at least 1e-2 (1e-4 in double) */
        if (errors2) must(fabs(errors2[i] - after) <= 0.01 * before);
    }
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Options of pursuit, with the arrays that they point to. */
typedef struct choice {
    shs_omp_options o;
    int limits[8];
    shs_real tolerances[8];
    size_t starts[9];
    unsigned char *mask;
} choice;

static shs_gram_mode gram_mode_of(input *in, int flags) {
    if (byte(in) % 16 == 15) return 9;
    return positive((flags & 3) - 1);
}

/* Starts of groups; some starts are refused. */
static void groups_of(choice *c, int m, int flags) {
    const size_t count = positive(m);
    size_t i;
    c->starts[0] = 0;
    for (i = 1; i < count; i++) {
        c->starts[i] = c->starts[i - 1] + 1 + c->limits[i] % 3;
        if (c->limits[i] == 6) c->starts[i]--;
    }
    i = 0;
    while (i < count && c->starts[i] < count) i++;
    if ((flags & 1) && count > 0 && c->limits[0] == 5) i++;
    c->o.group_count = i;
    c->o.groups = c->starts;
    c->o.selection = flags >> 1 & 1;
}

/* Makes the options from the bits of one byte, `flags`, and from the bytes after it. An option that was added later is set by
   few values of `flags`, so that most of the inputs recorded earlier still set the same options. */
static void options_of(input *in, const problem *q, choice *c) {
    shs_omp_options *o = &c->o;
    int flags = byte(in), i;
    memset(c, 0, sizeof *c);
    c->mask = NEW(unsigned char, count_of(q->p, q->m));
    o->sparsity = within(in, -1, 10);
    o->tolerance = tolerance_of(in);
    o->gram_mode = gram_mode_of(in, flags);
    o->signals_per_group = flags >> 2 & 3;
    for (i = 0; i < q->m; i++) {
        c->limits[i] = within(in, 0, 6) - (flags == 255);
        c->tolerances[i] = tolerance_of(in);
    }
    o->nonnegative = (flags & 44) == 40;
    if ((flags & 44) == 44 || (flags & 46) == 38) o->selection = SHS_SELECT_OLS;
    if ((flags & 44) == 36) {
        o->skip_nan = 1;
        o->weights = q->Y; /* negative weights are refused */
        o->ldw = q->ldy;
    }
    if ((flags & 236) == 164) { /* a mask in place of the weights */
        mask_from(in, count_of(q->p, q->m), c->mask);
        o->skip_nan = 0;
        o->weights = NULL;
        o->mask = c->mask;
        o->ldm = positive(q->p);
    }
    if ((flags & 44) == 32) groups_of(c, q->m, flags);
    if ((flags & 237) == 1) o->method = SHS_METHOD_SUBSPACE;
    if ((flags & 48) == 48) o->sparsity_each = c->limits;
    if ((flags & 192) == 192) o->tolerance_each = c->tolerances;
}

/* ---- many signals ------------------------------------------------------------------------------------------------ */

static void check_report(const shs_omp_report *report, const shs_codes *codes, size_t m) {
    must(report->nonzeros == shs_codes_nonzeros(codes));
    must(report->not_reached <= m);
}

static void synthesize(const problem *q, const shs_codes *codes) {
    shs_real *Z = NEW(shs_real, count_of(q->p, q->m));
    must(shs_codes_synthesize(NULL, q->p, q->n, q->D, q->ldd, codes, 0, positive(q->m), Z, q->p) == SHS_OK);
    free(Z);
}

static void code_many(input *in, world *w) {
    problem q = problem_of(in);
    int stride = within(in, 0, 10), flags = byte(in);
    size_t m = positive(q.m);
    coded c = coded_of(m, stride);
    output of_errors2 = OUTPUT(shs_real, m), of_report = OUTPUT(shs_omp_report, 1);
    shs_omp_report *report = NULL;
    shs_real *errors2 = NULL;
    const shs_real *D = q.D;
    choice picked;
    const shs_omp_options *o = &picked.o;
    shs_status status;
    options_of(in, &q, &picked);
    if (flags == 77 && m) c.codes.m--;
    must(shs_omp_workspace(&w->ctx, q.p, q.n, m, stride, o) > 0);
    if (flags == 60) {
        memset(&picked.o, 0, sizeof picked.o);
        o = NULL;
    }
    if ((flags & 63) == 62) D = NULL;
    if (flags & 1) errors2 = AS(shs_real, of_errors2);
    if (flags & 2) report = AS(shs_omp_report, of_report);
    status = shs_omp_ex(&w->ctx, q.p, q.n, D, q.ldd, m, q.Y, q.ldy, o, &c.codes, errors2, report);
    check_world(w, status, 0);
    if (status == SHS_OK) {
        check_codes(&q, &picked.o, &c.codes, errors2);
        must(shs_codes_nonzeros(&c.codes) <= m * stride);
        if (report) check_report(report, &c.codes, m);
        if ((flags & 4) && stride > 0) synthesize(&q, &c.codes);
    }
    if (refused(status)) must(coded_untouched(&c) && untouched(&of_errors2) && untouched(&of_report));
    coded_free(&c);
    output_free(&of_errors2);
    output_free(&of_report);
    free(picked.mask);
    problem_free(&q);
}

/* ---- by products ------------------------------------------------------------------------------------------------- */

/* The products of atoms with each other and with the signals, true or not. */
typedef struct products {
    shs_real *gram, *dty, *norms2;
    int ldg, ldt;
} products;

static void true_products(const problem *q, products *a) {
    int i;
    shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, q->n, q->n, q->p, 1, q->D, q->ldd, q->D, q->ldd, 0, a->gram, a->ldg);
    shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, q->n, q->m, q->p, 1, q->D, q->ldd, q->Y, q->ldy, 0, a->dty, a->ldt);
    for (i = 0; i < q->m; i++) {
        const shs_real *y = q->Y + entry(q->ldy, 0, i);
        a->norms2[i] = shs_dot(q->p, y, 1, y, 1);
    }
}

static void lasso_options_of(input *in, const products *a, int flags, shs_lasso_options *o) {
    o->lambda_count = 1 + (flags >> 1 & 1);
    o->relative = flags >> 2 & 1;
    o->nonnegative = flags >> 3 & 1;
    if (flags & 16) o->lambda2 = tolerance_of(in);
    o->sweeps = within(in, -1, 40);
    o->gap = tolerance_of(in);
    if (flags & 33) {
        o->gram = a->gram;
        o->ldg = a->ldg;
    }
}

/* The lasso of the same signals, or by the same products: codes are numbers, and what is said of the gap is the gap. */
static void code_lasso(input *in, world *w, const problem *q, const products *a, int stride) {
    size_t m = positive(q->m), i;
    coded c = coded_of(2 * m, stride);
    output of_gaps = OUTPUT(shs_real, 2 * m);
    shs_real lambdas[2], *gaps = AS(shs_real, of_gaps);
    int flags, by_gram, p = positive(q->p);
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report report = SHS_ZERO;
    shs_status status;
    for (i = 0; i < 2; i++) lambdas[i] = tolerance_of(in);
    flags = byte(in);
    by_gram = flags & 1;
    o.lambdas = lambdas;
    lasso_options_of(in, a, flags, &o);
    if (by_gram) p = 0;
    must(shs_lasso_workspace(&w->ctx, p, q->n, m, &o) > 0);
    if (by_gram) status = shs_lasso_gram(&w->ctx, q->n, m, a->dty, a->ldt, a->norms2, &o, &c.codes, gaps, &report);
    else status = shs_lasso(&w->ctx, q->p, q->n, q->D, q->ldd, m, q->Y, q->ldy, &o, &c.codes, gaps, &report);
    check_world(w, status, 0);
    if (status == SHS_OK) {
        const size_t columns = m * o.lambda_count;
        const int bounded = !o.gram && within_reach(q) && q->of_Y.most <= 1e12;
        must(report.not_reached <= columns && report.cut <= report.not_reached);
        for (i = 0; i < columns; i++) {
            const size_t at = entry(stride, 0, i);
            check_signal(q->n, c.codes.used[i], stride, bounded, c.codes.atoms + at, c.codes.coefs + at);
            must(!bounded || gaps[i] >= 0);
        }
    }
    if (refused(status)) must(coded_untouched(&c) && untouched(&of_gaps));
    coded_free(&c);
    output_free(&of_gaps);
}

static void code_by_correlations(input *in, world *w) {
    problem q = problem_of(in);
    int stride = within(in, 1, 10), i;
    size_t m = positive(q.m);
    coded c = coded_of(m, stride);
    products a;
    choice picked;
    extent any;
    shs_status status;
    a.ldt = leading_of(in, q.n);
    a.ldg = leading_of(in, q.n);
    options_of(in, &q, &picked);
    a.gram = drawn(in, count_of(a.ldg + 1, q.n), &any);
    a.dty = drawn(in, count_of(a.ldt + 1, q.m), &any);
    a.norms2 = drawn(in, m, &any);
    picked.o.gram = a.gram;
    picked.o.ldg = a.ldg;
    if (q.p > 0 && q.n > 0 && q.m > 0 && a.ldg >= q.n && a.ldt >= q.n && q.ldd >= q.p && q.ldy >= q.p && (byte(in) & 3))
        true_products(&q, &a);
    must(shs_omp_workspace(&w->ctx, 0, q.n, m, stride, &picked.o) > 0);
    status = shs_omp_gram(&w->ctx, q.n, m, a.dty, a.ldt, a.norms2, &picked.o, &c.codes, NULL, NULL);
    check_world(w, status, 0);
    for (i = 0; i < q.m && status == SHS_OK; i++)
        check_signal(q.n, c.codes.used[i], stride, 0, c.codes.atoms + i * stride, c.codes.coefs + i * stride);
    if (refused(status)) must(coded_untouched(&c));
    code_lasso(in, w, &q, &a, stride);
    coded_free(&c);
    free(a.gram);
    free(a.dty);
    free(a.norms2);
    free(picked.mask);
    problem_free(&q);
}

/* ---- one signal -------------------------------------------------------------------------------------------------- */

static int all_normal(int count, const shs_real *x) {
    int i;
    for (i = 0; i < count; i++)
        if (!isnormal(x[i]) && x[i] != 0) return 0;
    return 1;
}

/* A call for one signal: by products or directly, in memory that may be too short. */
typedef struct one {
    shs_omp_options o;
    int direct, shorter, ok_size, rows;
    size_t bytes;
    unsigned char *memory;
    output of_atoms, of_coefs;
    int *atoms, used;
    shs_real *coefs, error2;
} one;

static int nonnegative_number(shs_real x) { return x >= 0 && x <= (shs_real)3e38; }

/* The size of the scratch buffer. No size is promised for what the call refuses. */
static size_t bytes_of(const problem *q, const one *c) {
    size_t bytes;
    if (c->direct) bytes = shs_omp_one_direct_workspace(q->p, q->n, &c->o);
    else bytes = shs_omp_one_workspace(q->n, &c->o);
    must(bytes < 1 << 20 || !c->ok_size || c->o.sparsity < 0 || !nonnegative_number(c->o.tolerance));
    if (bytes >= 1 << 20) return 0;
    if (c->shorter && bytes) return bytes - 1;
    return bytes;
}

static shs_status call_by_products(const problem *q, one *c, unsigned char *memory) {
    shs_real *gram = NEW(shs_real, count_of(q->n, q->n)), *dty = NEW(shs_real, positive(q->n)), norm2 = 0;
    shs_status status = SHS_BAD_P;
    if (c->ok_size) {
        shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, q->n, q->n, q->p, 1, q->D, q->ldd, q->D, q->ldd, 0, gram, q->n);
        (void)shs_gemv(SHS_TRANS_YES, q->p, q->n, 1, q->D, q->ldd, q->Y, 1, 0, dty, 1);
        norm2 = shs_dot(q->p, q->Y, 1, q->Y, 1);
    }
    if (c->ok_size || q->n < 1)
        status = shs_omp_one(q->n, gram, q->n, dty, norm2, &c->o, memory, c->bytes, c->atoms, c->coefs, &c->used, &c->error2);
    free(gram);
    free(dty);
    return status;
}

static shs_status call_directly(const problem *q, one *c, unsigned char *memory) {
    if (q->m < 1) return SHS_BAD_M;
    return shs_omp_one_direct(q->p, q->n, q->D, q->ldd, q->Y, &c->o, memory, c->bytes, c->atoms, c->coefs, &c->used,
                              &c->error2);
}

static void check_one(const problem *q, const one *c, shs_status status) {
    check_status(status);
    if (c->shorter && c->ok_size && c->o.sparsity > 0) must(status != SHS_OK);
    if (status == SHS_OK) {
        check_signal(q->n, c->used, c->rows, within_reach(q), c->atoms, c->coefs);
        if (tame(&q->of_D) && tame(&q->of_Y)) must(isfinite(c->error2) && c->error2 >= 0);
        if (measurable(q))
            must(residual2(q, &c->o, 0, c->used, c->atoms, c->coefs) <= residual2(q, &c->o, 0, 0, NULL, NULL) * 1.01);
    } else if (status == SHS_OUT_OF_RANGE && c->used != -7) {
        check_signal(q->n, c->used, c->rows, 0, c->atoms, c->coefs);
        must(!all_normal(c->used, c->coefs));
    } else must(c->used == -7 && untouched(&c->of_atoms) && untouched(&c->of_coefs));
}

static void code_one(input *in, world *w) {
    problem q = problem_of(in);
    one c = SHS_ZERO;
    unsigned char *block;
    int shift;
    shs_status status;
    (void)w;
    c.o.sparsity = within(in, -1, 10);
    c.direct = byte(in) % 2;
    shift = within(in, 0, 7);
    c.shorter = one_in(in, 16);
    c.o.tolerance = tolerance_of(in);
    c.o.selection = byte(in) % SHS_SELECTION_COUNT;
    c.o.nonnegative = shift == 5 && c.o.selection == SHS_SELECT_OMP;
    c.ok_size = q.n > 0 && q.p > 0 && q.m > 0 && q.ldd >= q.p;
    c.rows = positive(q.n);
    if (c.o.sparsity && c.o.sparsity < q.n) c.rows = positive(c.o.sparsity);
    c.of_atoms = OUTPUT(int, c.rows);
    c.of_coefs = OUTPUT(shs_real, c.rows);
    c.atoms = AS(int, c.of_atoms);
    c.coefs = AS(shs_real, c.of_coefs);
    c.used = -7;
    c.error2 = -1;
    c.bytes = bytes_of(&q, &c);
    block = NEW(unsigned char, c.bytes + 8);
    if (c.direct) status = call_directly(&q, &c, block + shift);
    else status = call_by_products(&q, &c, block + shift);
    check_one(&q, &c, status);
    free(block);
    output_free(&c.of_atoms);
    output_free(&c.of_coefs);
    problem_free(&q);
}

/* ---- codes as an input, and queries ------------------------------------------------------------------------------ */

static void check_csc(const shs_codes *codes) {
    size_t slots = codes->m * codes->stride, i;
    size_t *start = NEW(size_t, codes->m + 1);
    int *row = NEW(int, slots);
    shs_real *value = NEW(shs_real, slots);
    shs_status status = shs_codes_to_csc(codes, start, row, value);
    check_status(status);
    if (status == SHS_OK) {
        must(start[0] == 0 && start[codes->m] == shs_codes_nonzeros(codes));
        for (i = 0; i < codes->m; i++) must(start[i] <= start[i + 1]);
    }
    free(start);
    free(row);
    free(value);
}

static void check_residual(world *w, const problem *q, const shs_codes *codes, int lde) {
    output E = OUTPUT(shs_real, count_of(lde + 1, q->m)), sum2 = OUTPUT(shs_wide, 1);
    shs_status status = shs_codes_residual(&w->ctx, q->p, q->n, q->D, q->ldd, codes->m, q->Y, q->ldy, codes, AS(shs_real, E), lde,
                                           AS(shs_wide, sum2));
    check_world(w, status, 0);
    if (status != SHS_OK && status != SHS_CANCELLED) must(untouched(&E) && untouched(&sum2));
    output_free(&E);
    output_free(&sum2);
}

/* Codes as a caller may hand them in. The library does not check codes, so the fuzzer gives it good ones. The byte that chose bad codes, in
   one input of eight, is still read: without it recorded inputs would mean something else. */
static void use_codes(input *in, world *w) {
    problem q = problem_of(in);
    int stride = within(in, 0, 4), lde = leading_of(in, q.p), bad = one_in(in, 8);
    coded c = coded_of(positive(q.m), stride);
    size_t slots = c.codes.m * stride, i;
    memset(c.used.bytes, 0, c.used.size);
    memset(c.atoms.bytes, 0, c.atoms.size);
    for (i = 0; i < c.codes.m && stride; i++) c.codes.used[i] = byte(in) % (stride + 1);
    for (i = 0; i < slots && q.n > 0; i++) c.codes.atoms[i] = byte(in) % q.n;
    if (bad && c.codes.m) (void)byte(in);
    fill(in, slots, c.codes.coefs);
    if (!bad) {
        must(shs_codes_nonzeros(&c.codes) <= slots);
        check_csc(&c.codes);
        check_residual(w, &q, &c.codes, lde);
    }
    coded_free(&c);
    problem_free(&q);
}

static void queries(input *in, world *w) {
    int a = any_int(in), b = any_int(in), c = any_int(in), huge = byte(in) & 1;
    size_t m = any_count(in, huge);
    shs_omp_options o = shs_omp_defaults(a, b);
    shs_codes codes;
    world counted = *w;
    o.sparsity = any_int(in);
    o.signals_per_group = 3;
    if (huge) o.signals_per_group = SIZE_MAX;
    o.gram_mode = byte(in) % 4;
    (void)shs_omp_workspace(&w->ctx, a, b, m, c, &o);
    (void)shs_omp_workspace(&w->ctx, 0, b, m, c, &o);
    (void)shs_omp_one_workspace(a, &o);
    (void)shs_omp_one_direct_workspace(a, b, &o);
    counted.ctx.alloc_user = &counted;
    if (!counted.bad && shs_codes_create(&counted.ctx, m, c, &codes) == SHS_OK) {
        must(codes.m == m && codes.stride == c && shs_codes_nonzeros(&codes) == 0);
        shs_codes_free(&counted.ctx, &codes);
    }
    must(counted.outstanding == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {code_many, code_many, code_many, code_one, code_one, code_by_correlations,
                                                    use_codes, queries};
    return run_errand(errands, data, size);
}
