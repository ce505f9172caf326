/* sparse.h - sparse unmixing: each pixel is a mixture of few spectra of a large library. */
#ifndef HYPERCUBE_SPARSE
#define HYPERCUBE_SPARSE

#include "shares.h"

/* The abundances a of a pixel x over the library A, whose columns are spectra. None is negative.
       nnomp   nonnegative orthogonal matching pursuit (Bruckstein, Elad, Zibulevsky 2008) on spectra of unit length: at most
               --sparsity of them, and the least squares over those
       lasso   min |x - A a|^2 / 2 + lambda max(A'x) sum(a): sparse unmixing (Iordache, Bioucas-Dias, Plaza 2011), as by
               SUnSAL (Bioucas-Dias, Figueiredo 2010). lambda has no unit: from 1 on no spectrum is used, and near 0 it is
               nonnegative least squares */
enum sparse_method { SPARSE_NNOMP, SPARSE_LASSO, SPARSE_METHODS };
static const char *const sparse_names[SPARSE_METHODS] = {"nnomp", "lasso"};
/* Spectra a pixel for nnomp: more than materials, as a greedy choice takes mixtures for what lies between their parts. Pixels
   are coded so many at a time, in whole lines. */
enum { SPARSE_SPECTRA = 10, SPARSE_PIXELS = 8192 };
static const double sparse_lambda = 1e-3;

typedef struct sparse_plan {
    enum sparse_method method;
    int p, n, sparsity;
    double lambda;
    shs_real *D, *gram; /* p x n: spectra, of unit length for nnomp; n x n: D'D */
    double *length;     /* n: of the spectra, 1 for lasso: coefficients divided by these are abundances */
} sparse_plan;

static double chosen_lambda(const char *text) {
    char *end;
    double lambda;
    if (!text) return sparse_lambda;
    lambda = strtod(text, &end);
    if (end == text || *end || !(lambda > 0) || !(lambda < 1))
        fail(EXIT_USAGE, "--lambda: '%s' is no number above 0 and below 1", text);
    return lambda;
}

/* Options that mean nothing to a library, or to others than a library. */
static void check_sparse(const settings *s) {
    const char *name = NULL;
    int method = SPARSE_LASSO;
    if (!s->unmix.library && s->method) fail(EXIT_USAGE, "--method: only --library takes it");
    if (!s->unmix.library && s->unmix.lambda_text) fail(EXIT_USAGE, "--lambda: only --library with --method lasso takes it");
    if (!s->unmix.library) return;
    if (s->method) method = choose("--method", s->method, sparse_names, SPARSE_METHODS);
    if (s->unmix.endmembers) fail(EXIT_USAGE, "--library: --endmembers says already which spectra");
    if (s->unmix.constraint)
        fail(EXIT_USAGE, "--constraint: with --library abundances are nonnegative, and no other constraint fits");
    if (s->extract.count_text) name = "--count";
    if (s->unmix.published) name = "--published";
    if (s->output.rescale) name = "--rescale";
    if (s->run.device) name = "--device";
    if (name) fail(EXIT_USAGE, "%s: --endmembers takes it, --library does not", name);
    if (is_integer(chosen_type(s->output.type, SHS_TYPE_F32)))
        fail(EXIT_USAGE, "--type: %s: abundances over a library are written as f32 or f64", s->output.type);
    if (s->unmix.sparsity && method != SPARSE_NNOMP) fail(EXIT_USAGE, "--sparsity: --method nnomp takes it, lasso does not");
    if (s->unmix.lambda_text && method != SPARSE_LASSO) fail(EXIT_USAGE, "--lambda: --method lasso takes it, nnomp does not");
    chosen_lambda(s->unmix.lambda_text); /* stops where it is none */
}

/* Summed in double, and rounded once. */
static shs_real inner_product(int p, const shs_real *a, const shs_real *b) {
    double sum = 0;
    int i;
    for (i = 0; i < p; i++) sum += (double)a[i] * (double)b[i];
    return (shs_real)sum;
}

static sparse_plan sparse_plan_of(const job *j, const spectra *of) {
    const settings *s = j->s;
    const int p = j->cube.band_count, n = of->count;
    int i, k, b;
    sparse_plan plan = SHS_ZERO;
    char number[12];
    plan.method = SPARSE_LASSO;
    if (s->method) plan.method = (enum sparse_method)choose("--method", s->method, sparse_names, SPARSE_METHODS);
    plan.p = p;
    plan.n = n;
    plan.lambda = chosen_lambda(s->unmix.lambda_text);
    plan.sparsity = s->unmix.sparsity;
    if (!plan.sparsity) plan.sparsity = smaller(SPARSE_SPECTRA, smaller(n, p));
    if (plan.sparsity > n)
        fail(EXIT_ERROR, "%s: --sparsity: %d is more than its %d spectra", s->unmix.library, plan.sparsity, n);
    if (plan.sparsity > p)
        fail(EXIT_ERROR, "%s: --sparsity: %d is more than the %d bands in use", j->in.header_name, plan.sparsity, p);
    plan.D = ALLOCATE(shs_real, elements(n, p));
    plan.gram = ALLOCATE(shs_real, elements(n, n));
    plan.length = ALLOCATE(double, n);
    for (k = 0; k < n; k++) {
        const shs_wide *spectrum = of->values + elements(k, p);
        shs_real *column = plan.D + elements(k, p);
        double squares = 0;
        for (b = 0; b < p; b++) {
            const double value = (double)spectrum[b];
            squares += value * value;
        }
        if (!(squares > 0))
            fail(EXIT_ERROR, "%s: spectrum %s is 0 in all bands in use", s->unmix.library, target_name(of, k, number));
        plan.length[k] = 1;
        if (plan.method == SPARSE_NNOMP) plan.length[k] = sqrt(squares);
        for (b = 0; b < p; b++) column[b] = (shs_real)((double)spectrum[b] / plan.length[k]);
    }
    for (k = 0; k < n; k++)
        for (i = 0; i <= k; i++) {
            const shs_real product = inner_product(p, plan.D + elements(k, p), plan.D + elements(i, p));
            plan.gram[element_at(k, n, i)] = product;
            plan.gram[element_at(i, n, k)] = product;
        }
    return plan;
}

static void sparse_free(sparse_plan *plan) {
    free(plan->D);
    free(plan->gram);
    free(plan->length);
}

/* Codes m pixels, the columns of Y. */
static shs_status sparse_code(const job *j, const sparse_plan *plan, size_t m, const shs_real *Y, shs_codes *codes) {
    shs_context ctx = j->ctx;
    ctx.progress_fn = NULL; /* it would begin anew with each block */
    if (plan->method == SPARSE_LASSO) {
        shs_lasso_options o = SHS_ZERO;
        o.lambda = (shs_real)plan->lambda;
        o.relative = 1;
        o.nonnegative = 1;
        o.gap = (shs_real)1e-6;
        o.gram = plan->gram;
        o.ldg = plan->n;
        return shs_lasso(&ctx, plan->p, plan->n, plan->D, plan->p, m, Y, plan->p, &o, codes, NULL, NULL);
    } else {
        shs_omp_options o = SHS_ZERO;
        o.sparsity = plan->sparsity;
        o.nonnegative = 1;
        o.gram = plan->gram;
        o.ldg = plan->n;
        return shs_omp_ex(&ctx, plan->p, plan->n, plan->D, plan->p, m, Y, plan->p, &o, codes, NULL, NULL);
    }
}

/* The pixels of a block of lines that are valid: their values become columns of Y, and their numbers go to `pixel`. */
static size_t sparse_take(const job *j, const void *values, int lines, const unsigned char *marks, shs_real *Y, size_t *pixel) {
    const cube_file *in = &j->in;
    size_t count = 0, i, pixels = elements(lines, in->samples);
    int p = j->cube.band_count, b;
    for (i = 0; i < pixels; i++) {
        int x = column_of(i, in->samples), y = row_of(i, in->samples);
        if (marks && !marks[i]) continue;
        for (b = 0; b < p; b++) {
            double value = get_value(values, value_index(in, lines, y, x, j->bands[b]), in->type, in->swap);
            if (is_missing(in, value)) break;
            Y[b] = (shs_real)value;
        }
        if (b < p) continue;
        pixel[count++] = i;
        Y += p;
    }
    return count;
}

/* Abundances of all spectra of the library into the output, and errors into their cube, block by block. */
static void sparse_pixels(job *j, const sparse_plan *plan, shares_way *way) {
    const size_t p = (size_t)plan->p, n = (size_t)plan->n;
    size_t kept, m, i;
    int lines = lines_of_block(j), first, stride = plan->sparsity;
    shs_codes codes = SHS_ZERO;
    shs_real *Y;
    size_t *pixel;
    double *shares;
    char *values;
    unsigned char *marks;
    if (plan->method == SPARSE_LASSO) stride = plan->n;
    if (!lines) lines = SPARSE_PIXELS / j->in.samples + 1;
    lines = smaller(lines, j->in.lines);
    kept = (size_t)stride;
    m = elements(lines, j->in.samples);
    Y = ALLOCATE(shs_real, m * p);
    pixel = ALLOCATE(size_t, m);
    shares = ALLOCATE(double, m * n);
    values = room_for_lines(&j->in, lines);
    marks = ALLOCATE(unsigned char, m);
    check_job(j, shs_codes_create(&j->ctx, m, stride, &codes));
    for (first = 0; first < j->in.lines; first += lines) {
        int here = smaller(lines, j->in.lines - first);
        size_t valid;
        must_read(&j->in, first, here, values);
        valid = sparse_take(j, values, here, marks_of(j, first, here, marks), Y, pixel);
        for (i = 0; i < elements(here, j->in.samples) * n; i++) shares[i] = NO_NUMBER;
        if (valid) check_job(j, sparse_code(j, plan, valid, Y, &codes));
        for (i = 0; i < valid; i++) {
            const int *atoms = codes.atoms + i * kept;
            const shs_real *coefs = codes.coefs + i * kept;
            double *a = shares + pixel[i] * n;
            int k;
            for (k = 0; k < plan->n; k++) a[k] = 0;
            for (k = 0; k < codes.used[i]; k++) a[atoms[k]] = (double)coefs[k] / plan->length[atoms[k]];
        }
        if (write_shares(way, first, here, shares))
            fail(EXIT_ERROR, "%s: writing it failed: %s", j->out.part.name, strerror(j->out.io.error));
    }
    shs_codes_free(&j->ctx, &codes);
    free(Y);
    free(pixel);
    free(shares);
    free(values);
    free(marks);
}

#endif /* HYPERCUBE_SPARSE */
