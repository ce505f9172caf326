/* fuzz_coding.c - sparse coding in all forms: limits, sizes, edge values. Reports must match the stored codes. */
#include "fuzz.h"

typedef struct problem {
    int p, n, m, ldd, ldy;
    shs_real *D, *Y;
    extent of_D, of_Y;
} problem;

static problem problem_of(input *in) {
    problem q;
    q.p = size_of(in, 10), q.n = size_of(in, 24), q.m = size_of(in, 6);
    q.ldd = leading_of(in, q.p), q.ldy = leading_of(in, q.p);
    q.D = NEW(shs_real, count_of(q.ldd + 1, q.n)), q.Y = NEW(shs_real, count_of(q.ldy + 1, q.m));
    q.of_D = fill(in, count_of(q.ldd + 1, q.n), q.D);
    q.of_Y = fill(in, count_of(q.ldy + 1, q.m), q.Y);
    if (byte(in) & 1) {
        int i;
        (void)shs_normalize_columns(q.p, q.n, q.D, q.ldd, NULL);
        for (i = 0, q.of_D.most = 0, q.of_D.least = 0; i < (int)count_of(q.ldd, q.n); i++) extend(&q.of_D, (double)q.D[i]);
    }
    return q;
}

static void problem_free(problem *q) { free(q->D), free(q->Y); }

static shs_real tolerance_of(input *in) {
    static const double tolerances[] = {0, 0, 0, 0.5, 1e-3, 1e-30, 1e30, -1, 3e38, 1e-44};
    int b = byte(in);
    return b == 255 ? (shs_real)NAN : b == 254 ? (shs_real)INFINITY : (shs_real)tolerances[b % 10];
}

/* Coefficients have the unit of signals divided by atoms. Between these bounds they are finite; outside they may leave the
   range. */
static int within_reach(const problem *q) {
    return tame(&q->of_D) && q->of_Y.finite && q->of_Y.most <= (q->of_D.least > 1e-3 ? 1e30 : 1e18);
}

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

/* Weighted where weights are given: what errors are then reported of. */
static double residual2(const problem *q, const shs_omp_options *o, int signal, int used, const int *atoms,
                        const shs_real *coefs) {
    double sum = 0;
    int i, k;
    for (i = 0; i < q->p; i++) {
        double r = (double)q->Y[(size_t)signal * (size_t)q->ldy + (size_t)i];
        for (k = 0; k < used; k++) r -= (double)coefs[k] * (double)q->D[(size_t)atoms[k] * (size_t)q->ldd + (size_t)i];
        if (o->mask && !o->mask[(size_t)signal * (size_t)o->ldm + (size_t)i]) continue;
        sum += r * r * (o->weights ? (double)o->weights[(size_t)signal * (size_t)o->ldw + (size_t)i] : 1);
    }
    return sum;
}

/* Nothing was written. A call that was cancelled, or found a coefficient out of range, has written codes. */
static int refused(shs_status status) { return status != SHS_OK && status != SHS_CANCELLED && status != SHS_OUT_OF_RANGE; }

static void check_codes(const problem *q, const shs_omp_options *o, const shs_codes *codes, const shs_real *errors2) {
    int i, most = codes->stride;
    size_t group = 0;
    double group_before = 0, group_after = 0;
    for (i = 0; i < q->m; i++) {
        const int *atoms = codes->atoms + (size_t)i * (size_t)codes->stride;
        const shs_real *coefs = codes->coefs + (size_t)i * (size_t)codes->stride;
        check_signal(q->n, codes->used[i], most, within_reach(q), atoms, coefs);
        if (tame(&q->of_D) && tame(&q->of_Y) && q->of_D.most > 0 && q->of_Y.most > 0) {
            double before = residual2(q, o, i, 0, NULL, NULL), after = residual2(q, o, i, codes->used[i], atoms, coefs);
            for (; o->groups && group < o->group_count && o->groups[group] == (size_t)i; group++)
                group_before = group_after = 0;
            group_before += before, group_after += after;
            /* no atom makes it worse: the signal, or where signals share their atoms all of them together */
            if (!o->groups) must(after <= before * 1.01);
            else if (group == o->group_count ? i == q->m - 1 : o->groups[group] == (size_t)i + 1)
                must(group_after <= group_before * 1.01);
            /* the recurrence is used where d^2 is at least 1e-2 (1e-4 in double) */
            if (errors2) must(fabs((double)errors2[i] - after) <= 0.01 * before);
        }
    }
}

static void options_of(input *in, const problem *q, shs_omp_options *o, int *limits, shs_real *tolerances, size_t *starts,
                       unsigned char *mask) {
    int flags = byte(in), i;
    memset(o, 0, sizeof *o);
    o->sparsity = within(in, -1, 10);
    o->tolerance = tolerance_of(in);
    o->gram_mode = (shs_gram_mode)(byte(in) % 16 == 15 ? 9 : flags & 3 ? (flags & 3) - 1 : 0);
    o->signals_per_group = (size_t)(flags >> 2 & 3);
    for (i = 0; i < q->m; i++) limits[i] = within(in, 0, 6) - (flags == 255), tolerances[i] = tolerance_of(in);
    o->nonnegative = (flags & 44) == 40; /* given to few signals, so that recorded inputs keep their meaning */
    if ((flags & 44) == 44 || (flags & 46) == 38) o->selection = SHS_SELECT_OLS;
    if ((flags & 44) == 36) o->skip_nan = 1, o->weights = q->Y, o->ldw = q->ldy; /* negative ones are refused */
    if ((flags & 236) == 164) { /* a mask in place of the weights, a byte of the input for eight of its own */
        const int bits = byte(in);
        for (i = 0; i < (int)count_of(q->p, q->m); i++) mask[i] = (unsigned char)(bits >> i % 8 & 1);
        o->skip_nan = 0, o->weights = NULL, o->mask = mask, o->ldm = positive(q->p);
    }
    if ((flags & 44) == 32) {                                                    /* starts of groups, of which some are none */
        starts[0] = 0;
        for (i = 1; i < q->m; i++) starts[i] = starts[i - 1] + (size_t)(1 + limits[i] % 3) - (size_t)(limits[i] == 6);
        for (o->group_count = 0; o->group_count < (size_t)positive(q->m) && starts[o->group_count] < (size_t)q->m;)
            o->group_count++;
        o->groups = starts, o->group_count += (size_t)(flags & 1) * (size_t)(limits[0] == 5);
        o->selection = (shs_selection)(flags >> 1 & 1);
    }
    if ((flags & 237) == 1) o->method = SHS_METHOD_SUBSPACE;
    if ((flags & 48) == 48) o->sparsity_each = limits;
    if ((flags & 192) == 192) o->tolerance_each = tolerances;
}

static void code_many(input *in, world *w) {
    problem q = problem_of(in);
    int limits[8], stride = within(in, 0, 10), flags = byte(in);
    size_t starts[9] = {0};
    shs_real tolerances[8];
    unsigned char *mask = NEW(unsigned char, count_of(q.p, q.m));
    size_t m = (size_t)positive(q.m), slots = m * (size_t)stride;
    output used = output_of(m * sizeof(int)), atoms = output_of(slots * sizeof(int));
    output coefs = output_of(slots * sizeof(shs_real)), errors2 = output_of(m * sizeof(shs_real));
    output report = output_of(sizeof(shs_omp_report));
    shs_omp_options o;
    shs_codes codes;
    shs_status status;
    size_t bytes;
    options_of(in, &q, &o, limits, tolerances, starts, mask);
    codes.m = m - (flags == 77 && m), codes.stride = stride;
    codes.used = AS(int, used), codes.atoms = AS(int, atoms), codes.coefs = AS(shs_real, coefs);
    bytes = shs_omp_workspace(&w->ctx, q.p, q.n, m, stride, &o);
    must(bytes > 0);
    if (flags == 60) memset(&o, 0, sizeof o); /* none are given */
    status = shs_omp_ex(&w->ctx, q.p, q.n, (flags & 63) == 62 ? NULL : q.D, q.ldd, m, q.Y, q.ldy, flags == 60 ? NULL : &o,
                        &codes, (flags & 1) ? AS(shs_real, errors2) : NULL, (flags & 2) ? AS(shs_omp_report, report) : NULL);
    check_world(w, status, 0);
    if (status == SHS_OK) {
        check_codes(&q, &o, &codes, (flags & 1) ? AS(shs_real, errors2) : NULL);
        must(shs_codes_nonzeros(&codes) <= slots);
        if (flags & 2) must(AS(shs_omp_report, report)->nonzeros == shs_codes_nonzeros(&codes));
        if (flags & 2) must(AS(shs_omp_report, report)->not_reached <= m);
        if ((flags & 4) && stride > 0) {
            shs_real *Z = NEW(shs_real, count_of(q.p, q.m));
            must(shs_codes_synthesize(NULL, q.p, q.n, q.D, q.ldd, &codes, 0, m, Z, q.p) == SHS_OK);
            free(Z);
        }
    } else if (refused(status)) must(untouched(&used) && untouched(&atoms) && untouched(&coefs) && untouched(&errors2));
    if (refused(status)) must(untouched(&report));
    output_free(&used), output_free(&atoms), output_free(&coefs), output_free(&errors2), output_free(&report);
    problem_free(&q), free(mask);
}

/* The lasso of the same signals, or by the same products: codes are numbers, and what is said of the gap is the gap. */
static void code_lasso(input *in, world *w, const problem *q, const shs_real *gram, int ldg, const shs_real *dty, int ldt,
                       const shs_real *norms2, int stride) {
    size_t m = (size_t)positive(q->m), slots = 2 * m * (size_t)positive(stride);
    output used = output_of(2 * m * sizeof(int)), atoms = output_of(slots * sizeof(int));
    output coefs = output_of(slots * sizeof(shs_real)), gaps = output_of(2 * m * sizeof(shs_real));
    const shs_real lambdas[2] = {tolerance_of(in), tolerance_of(in)};
    int flags = byte(in), by_gram = flags & 1;
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report report = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    shs_status status;
    size_t i;
    o.lambdas = lambdas, o.lambda_count = 1 + (flags >> 1 & 1), o.relative = flags >> 2 & 1, o.nonnegative = flags >> 3 & 1;
    o.lambda2 = flags & 16 ? tolerance_of(in) : 0, o.sweeps = within(in, -1, 40), o.gap = tolerance_of(in);
    if (by_gram || flags & 32) o.gram = gram, o.ldg = ldg;
    codes.m = 2 * m, codes.stride = stride;
    codes.used = AS(int, used), codes.atoms = AS(int, atoms), codes.coefs = AS(shs_real, coefs);
    must(shs_lasso_workspace(&w->ctx, by_gram ? 0 : positive(q->p), q->n, m, &o) > 0);
    status = by_gram ? shs_lasso_gram(&w->ctx, q->n, m, dty, ldt, norms2, &o, &codes, AS(shs_real, gaps), &report)
                     : shs_lasso(&w->ctx, q->p, q->n, q->D, q->ldd, m, q->Y, q->ldy, &o, &codes, AS(shs_real, gaps), &report);
    check_world(w, status, 0);
    if (status == SHS_OK) {
        must(report.not_reached <= m * (size_t)o.lambda_count && report.cut <= report.not_reached);
        for (i = 0; i < m * (size_t)o.lambda_count; i++) {
            const size_t at = i * (size_t)stride;
            const int bounded = !by_gram && !o.gram && within_reach(q) && q->of_Y.most <= 1e12;
            check_signal(q->n, codes.used[i], stride, bounded, codes.atoms + at, codes.coefs + at);
            must(!bounded || AS(shs_real, gaps)[i] >= 0);
        }
    } else if (refused(status)) must(untouched(&used) && untouched(&atoms) && untouched(&coefs) && untouched(&gaps));
    output_free(&used), output_free(&atoms), output_free(&coefs), output_free(&gaps);
}

static int all_normal(int count, const shs_real *x) {
    int i;
    for (i = 0; i < count; i++)
        if (!isnormal(x[i]) && x[i] != 0) return 0;
    return 1;
}

/* Both forms for one signal. */
static void code_one(input *in, world *w) {
    problem q = problem_of(in);
    int s = within(in, -1, 10), form = byte(in) % 2, shift = within(in, 0, 7), shorter = one_in(in, 16);
    int rows = positive(s && s < q.n ? s : q.n), ok_size = q.n > 0 && q.p > 0 && q.m > 0 && q.ldd >= q.p;
    shs_real tolerance = tolerance_of(in);
    output atoms = output_of((size_t)rows * sizeof(int)), coefs = output_of((size_t)rows * sizeof(shs_real));
    shs_real *gram = NEW(shs_real, count_of(q.n, q.n)), *dty = NEW(shs_real, positive(q.n)), norm2 = 0;
    shs_real error2 = -1;
    int used = -7;
    shs_omp_options o = SHS_ZERO;
    size_t bytes;
    unsigned char *memory;
    shs_status status;
    (void)w;
    o.sparsity = s, o.tolerance = tolerance, o.selection = (shs_selection)(byte(in) % SHS_SELECTION_COUNT);
    o.nonnegative = shift == 5 && o.selection == SHS_SELECT_OMP;
    bytes = form == 0 ? shs_omp_one_workspace(q.n, &o) : shs_omp_one_direct_workspace(q.p, q.n, &o);
    must(bytes < 1 << 20 || !ok_size || s < 0 || !(tolerance >= 0 && tolerance <= (shs_real)3e38)); /* what cannot be has no size */
    if (bytes >= 1 << 20) bytes = 0;
    if (shorter && bytes) bytes--;
    memory = NEW(unsigned char, bytes + 8);
    if (form == 0) {
        if (ok_size) {
            shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, q.n, q.n, q.p, 1, q.D, q.ldd, q.D, q.ldd, 0, gram, q.n);
            (void)shs_gemv(SHS_TRANS_YES, q.p, q.n, 1, q.D, q.ldd, q.Y, 1, 0, dty, 1);
            norm2 = shs_dot(q.p, q.Y, 1, q.Y, 1);
        }
        status = ok_size || q.n < 1 ? shs_omp_one(q.n, gram, q.n, dty, norm2, &o, memory + shift, bytes, AS(int, atoms),
                                                  AS(shs_real, coefs), &used, &error2)
                                    : SHS_BAD_P;
    } else
        status = q.m < 1 ? SHS_BAD_M
                         : shs_omp_one_direct(q.p, q.n, q.D, q.ldd, q.Y, &o, memory + shift, bytes, AS(int, atoms),
                                              AS(shs_real, coefs), &used, &error2);
    must(status >= SHS_OK && (int)status < STATUSES);
    if (shorter && ok_size && s > 0) must(status != SHS_OK);
    if (status == SHS_OK) {
        check_signal(q.n, used, rows, within_reach(&q), AS(int, atoms), AS(shs_real, coefs));
        if (tame(&q.of_D) && tame(&q.of_Y)) must(isfinite(error2) && error2 >= 0);
        if (tame(&q.of_D) && tame(&q.of_Y) && q.of_D.most > 0 && q.of_Y.most > 0)
            must(residual2(&q, &o, 0, used, AS(int, atoms), AS(shs_real, coefs)) <= residual2(&q, &o, 0, 0, NULL, NULL) * 1.01);
    } else if (status == SHS_OUT_OF_RANGE && used != -7) {
        check_signal(q.n, used, rows, 0, AS(int, atoms), AS(shs_real, coefs));
        must(!all_normal(used, AS(shs_real, coefs)));
    } else must(used == -7 && untouched(&atoms) && untouched(&coefs));
    free(memory), free(gram), free(dty);
    output_free(&atoms), output_free(&coefs), problem_free(&q);
}
static void code_by_correlations(input *in, world *w) {
    problem q = problem_of(in);
    int limits[8], stride = within(in, 1, 10), ldt = leading_of(in, q.n), ldg = leading_of(in, q.n), i;
    size_t starts[9] = {0};
    shs_real tolerances[8], *gram = NEW(shs_real, count_of(ldg + 1, q.n)), *dty = NEW(shs_real, count_of(ldt + 1, q.m));
    shs_real *norms2 = NEW(shs_real, positive(q.m));
    unsigned char *mask = NEW(unsigned char, count_of(q.p, q.m));
    size_t m = (size_t)positive(q.m), slots = m * (size_t)stride;
    output used = output_of(m * sizeof(int)), atoms = output_of(slots * sizeof(int)),
           coefs = output_of(slots * sizeof(shs_real));
    shs_omp_options o;
    shs_codes codes;
    shs_status status;
    options_of(in, &q, &o, limits, tolerances, starts, mask);
    o.gram = gram, o.ldg = ldg;
    fill(in, count_of(ldg + 1, q.n), gram), fill(in, count_of(ldt + 1, q.m), dty);
    fill(in, m, norms2);
    if (q.p > 0 && q.n > 0 && q.m > 0 && ldg >= q.n && ldt >= q.n && q.ldd >= q.p && q.ldy >= q.p && (byte(in) & 3)) {
        shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, q.n, q.n, q.p, 1, q.D, q.ldd, q.D, q.ldd, 0, gram, ldg);
        shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, q.n, q.m, q.p, 1, q.D, q.ldd, q.Y, q.ldy, 0, dty, ldt);
        for (i = 0; i < q.m; i++) {
            const shs_real *y = q.Y + (size_t)i * (size_t)q.ldy;
            norms2[i] = shs_dot(q.p, y, 1, y, 1);
        }
    }
    codes.m = m, codes.stride = stride;
    codes.used = AS(int, used), codes.atoms = AS(int, atoms), codes.coefs = AS(shs_real, coefs);
    must(shs_omp_workspace(&w->ctx, 0, q.n, m, stride, &o) > 0);
    status = shs_omp_gram(&w->ctx, q.n, m, dty, ldt, norms2, &o, &codes, NULL, NULL);
    check_world(w, status, 0);
    if (status == SHS_OK)
        for (i = 0; i < q.m; i++)
            check_signal(q.n, codes.used[i], stride, 0, codes.atoms + i * stride, codes.coefs + i * stride);
    else if (refused(status)) must(untouched(&used) && untouched(&atoms) && untouched(&coefs));
    code_lasso(in, w, &q, gram, ldg, dty, ldt, norms2, stride);
    output_free(&used), output_free(&atoms), output_free(&coefs);
    free(gram), free(dty), free(norms2), free(mask), problem_free(&q);
}

/* Codes as a caller may hand them in, with numbers of atoms that do not exist. */
static void use_codes(input *in, world *w) {
    problem q = problem_of(in);
    int stride = within(in, 0, 4), lde = leading_of(in, q.p), i, bad = one_in(in, 8);
    size_t m = (size_t)positive(q.m), slots = m * (size_t)stride;
    int *used = NEW(int, m), *atoms = NEW(int, slots), *row = NEW(int, slots);
    size_t *start = NEW(size_t, m + 1);
    shs_real *coefs = NEW(shs_real, slots), *value = NEW(shs_real, slots);
    output E = output_of(count_of(lde + 1, q.m) * sizeof(shs_real)), sum2 = output_of(sizeof(shs_wide));
    shs_codes codes;
    shs_status status;
    for (i = 0; i < q.m; i++) used[i] = stride ? byte(in) % (stride + 1) : 0;
    for (i = 0; i < (int)slots; i++) atoms[i] = q.n > 0 ? byte(in) % q.n : 0;
    if (bad && m) used[0] = within(in, -2, 2) < 0 ? -1 : stride + 1;
    fill(in, slots, coefs);
    codes.m = m, codes.stride = stride, codes.used = used, codes.atoms = atoms, codes.coefs = coefs;
    if (!bad) {
        must(shs_codes_nonzeros(&codes) <= slots);
        status = shs_codes_to_csc(&codes, start, row, value);
        must(status >= SHS_OK && (int)status < STATUSES);
        if (status == SHS_OK) {
            must(start[0] == 0 && start[m] == shs_codes_nonzeros(&codes));
            for (i = 0; i < q.m; i++) must(start[i] <= start[i + 1]);
        }
        status =
            shs_codes_residual(&w->ctx, q.p, q.n, q.D, q.ldd, m, q.Y, q.ldy, &codes, AS(shs_real, E), lde, AS(shs_wide, sum2));
        check_world(w, status, 0);
        if (status != SHS_OK && status != SHS_CANCELLED) must(untouched(&E) && untouched(&sum2));
    }
    free(used), free(atoms), free(row), free(start), free(coefs), free(value);
    output_free(&E), output_free(&sum2), problem_free(&q);
}

static void queries(input *in, world *w) {
    int a = any_int(in), b = any_int(in), c = any_int(in), huge = byte(in) & 1;
    size_t m = huge ? SIZE_MAX / (size_t)(1 + byte(in)) : (size_t)byte(in);
    shs_omp_options o = shs_omp_defaults(a, b);
    shs_codes codes;
    world counted = *w;
    o.sparsity = any_int(in), o.signals_per_group = huge ? SIZE_MAX : 3, o.gram_mode = (shs_gram_mode)(byte(in) % 4);
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
