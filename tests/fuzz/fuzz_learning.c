/* fuzz_learning.c - dictionary learning, of all signals or batch by batch: every option, small sizes, edge values; the atoms
   returned have unit norm. */
#include "fuzz.h"

static const double thresholds[] = {0, 0, 0.5, 0.9, 1, 2, -1, 1e-30};
static double threshold_of(input *in) { return among(in, thresholds, 8); }

static const double weights[] = {0, 0, 1, 0.5, 0.9, 2, -1, 1e-30, 1e30};
static double weight_of(input *in) { return among(in, weights, 9); }

/* Atoms have unit norm, or are zero where nothing but zeros was given, and are not below 0 where they are not to be. */
static void check_atoms(int p, int n, const shs_real *D, int ldd, int zero_too, int nonnegative) {
    int i, j;
    for (j = 0; j < n; j++) {
        double sum = 0;
        for (i = 0; i < p; i++) {
            double v = D[entry(ldd, i, j)];
            must(isfinite(v) && !(nonnegative && v < 0));
            sum += v * v;
        }
        must(fabs(sum - 1) < 1e-4 || (zero_too && sum <= 0));
    }
}

/* ---- all signals ------------------------------------------------------------------------------------------------- */

static void schedule_of(input *in, shs_step *steps, const shs_step **schedule, int *count) {
    int i, from = within(in, -1, 2);
    *count = within(in, -1, 2);
    *schedule = NULL;
    if (one_in(in, 4)) *schedule = steps;
    for (i = 0; i < 3; i++) {
        steps[i].from = from;
        steps[i].value = within(in, 0, 4);
        from += within(in, 0, 2);
    }
}

/* Which atoms are replaced and kept, and when it ends. */
static void ending_of(input *in, shs_ksvd_options *o, int flags) {
    int keep = flags >> 2 & 3;
    o->replace = within(in, 0, 3);
    o->prune_coherence = threshold_of(in);
    o->prune_uses = within(in, -1, 4);
    if (keep == 3) keep = 0;
    o->keep = keep;
    o->rmse_after_update = flags >> 4 & 1;
    o->rmse_after_rounds = flags >> 4 & 1;
    if (flags & 32) o->stop_improvement = threshold_of(in);
    o->stop_patience = within(in, -1, 2);
}

static void update_of(input *in, shs_ksvd_options *o) {
    o->update = within(in, 0, SHS_UPDATE_COUNT);
    if (one_in(in, 4)) {
        o->regularisation = threshold_of(in);
        o->regularisation_decay = threshold_of(in);
        o->regularised_iterations = within(in, -1, 2);
    }
    if (one_in(in, 4)) o->incoherence = threshold_of(in);
    if (one_in(in, 4)) {
        o->coherence = threshold_of(in);
        o->coherence_rounds = within(in, -1, 2);
    }
    o->missing_as_zero = one_in(in, 4);
}

static void options_of(input *in, shs_ksvd_options *o, shs_step *steps) {
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->iterations = within(in, -1, 3);
    o->coding.sparsity = within(in, -1, 4);
    o->coding.tolerance = threshold_of(in);
    o->coding.gram_mode = flags % 3;
    o->parallel_atoms = within(in, -1, 8);
    o->rounds = within(in, -1, 3);
    schedule_of(in, steps, &o->parallel_atoms_schedule, &o->parallel_atoms_steps);
    schedule_of(in, steps + 3, &o->rounds_schedule, &o->rounds_steps);
    o->start = within(in, 0, 4);
    o->patch_width = within(in, 0, 3);
    o->patch_height = within(in, 0, 3);
    o->patch_channels = within(in, 0, 2);
    o->seed = byte(in);
    o->first_iteration = within(in, -1, 3);
    ending_of(in, o, flags);
    update_of(in, o);
    o->nonnegative = (flags & 140) == 140; /* given to few inputs, so that recorded inputs keep their meaning */
    if (flags & 64) {
        o->coding.sparsity = 2;
        o->iterations = 2;
        o->first_iteration = 0;
    }
}

/* A dictionary, signals to learn it from, and all outputs. */
typedef struct lesson {
    int p, n, m, ldd, ldy, flags;
    shs_real *Y, *D;
    extent of_Y, of_D;
    output out, history, usage, of_report;
    coded c;
    shs_ksvd_report *report;
    shs_ksvd_options o;
    shs_step steps[6];
    unsigned char *mask;
} lesson;

/* Values that are missing. */
static void leave_out(input *in, lesson *l) {
    mask_from(in, count_of(l->p, l->m), l->mask);
    if (l->flags & 32) l->o.coding.skip_nan = 1;
    l->o.coding.mask = l->mask;
    l->o.coding.ldm = positive(l->p);
    l->o.update = (unsigned)l->o.update % 3;
}

static void lesson_of(input *in, lesson *l) {
    int stride;
    size_t room;
    l->p = size_of(in, 8);
    l->n = size_of(in, 10);
    l->m = size_of(in, 14);
    l->ldd = leading_of(in, l->p);
    l->ldy = leading_of(in, l->p);
    stride = within(in, 0, 6);
    l->flags = byte(in);
    room = count_of(l->ldd + 1, l->n);
    l->out = OUTPUT(shs_real, room);
    l->D = AS(shs_real, l->out);
    l->c = coded_of(positive(l->m), stride);
    l->history = OUTPUT(shs_ksvd_record, 12);
    l->usage = OUTPUT(size_t, count_of(12, l->n));
    l->of_report = OUTPUT(shs_ksvd_report, 1);
    l->report = AS(shs_ksvd_report, l->of_report);
    l->mask = NEW(unsigned char, count_of(l->p, l->m));
    l->Y = drawn(in, count_of(l->ldy + 1, l->m), &l->of_Y);
    l->of_D = fill(in, room, l->D);
    output_keep(&l->out);
    options_of(in, &l->o, l->steps);
    if (l->flags & 16) leave_out(in, l);
    if (l->m > 0 && one_in(in, 4)) { /* the test set: the signals that are learnt from */
        l->o.test = l->Y;
        l->o.test_m = l->m;
        l->o.test_ld = l->ldy;
    }
    if (!l->o.iterations) l->o.iterations = 1;
    memset(l->report, 0, sizeof *l->report);
    if (l->flags & 1) l->report->history = AS(shs_ksvd_record, l->history);
    if (l->flags & 2) l->report->usage_history = AS(size_t, l->usage);
    output_keep(&l->of_report);
}

static void lesson_free(lesson *l) {
    output_free(&l->out);
    coded_free(&l->c);
    output_free(&l->history);
    output_free(&l->usage);
    output_free(&l->of_report);
    free(l->Y);
    free(l->mask);
}

/* The squares of the signals stay in range, and so does a dictionary that was given. */
static int learnable(const lesson *l, int given) {
    const extent *e = &l->of_Y;
    if (given && (l->o.first_iteration > 0 || !(l->of_D.most < 1e15))) return 0;
    return e->finite && e->most < 1.1e30 && (e->least > 0.9e-30 || e->most <= 0);
}

static void check_learnt(const lesson *l, shs_status status) {
    const shs_ksvd_report *r = l->report;
    int given = l->o.start == SHS_START_GIVEN;
    if (learnable(l, given)) check_atoms(l->p, l->n, l->D, l->ldd, given, l->o.nonnegative);
    if (!(l->flags & 8)) return;
    must(r->iterations >= 0 && r->iterations <= l->o.iterations && r->best_iteration <= l->o.iterations);
    must(status != SHS_OK || !tame(&l->of_Y) || (isfinite(r->rmse) && isfinite(r->mean_atoms)));
}

/* A call that failed wrote nothing, except that a failed reduction may leave codes without atoms. */
static void check_failed(const lesson *l, shs_status status) {
    int i;
    must(untouched(&l->out) && untouched(&l->of_report));
    if (status != SHS_REDUCE_FAILED) must(coded_untouched(&l->c));
    else if (!untouched(&l->c.used))
        for (i = 0; i < l->m; i++) must(l->c.codes.used[i] == 0);
}

static void learn(input *in, world *w) {
    lesson l;
    shs_codes *codes = NULL;
    shs_ksvd_report *report = NULL;
    shs_status status;
    size_t m;
    lesson_of(in, &l);
    m = positive(l.m);
    w->ordinary = tame(&l.of_Y) && (l.o.start != SHS_START_GIVEN || tame(&l.of_D));
    must(shs_ksvd_workspace(&w->ctx, l.p, l.n, m, &l.o) > 0);
    if (l.flags & 4) codes = &l.c.codes;
    if (l.flags & 8) report = l.report;
    status = shs_ksvd_ex(&w->ctx, l.p, l.n, m, l.Y, l.ldy, &l.o, l.D, l.ldd, codes, report);
    check_world(w, status, 0);
    if (status == SHS_OK || status == SHS_CANCELLED) check_learnt(&l, status);
    else check_failed(&l, status);
    lesson_free(&l);
}

/* ---- batch by batch ---------------------------------------------------------------------------------------------- */

/* Signals that are delivered in pieces of `each` or fewer. */
typedef struct delivery {
    const shs_real *Y;
    int ldy, m, at, each, calls;
    int fails, lies, ended; /* the call that does, negative: none; whether all was delivered */
} delivery;

static int deliver(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    delivery *d = (delivery *)user;
    int i, now;
    must(p > 0 && most > 0 && !d->ended);
    if (d->calls == d->fails) return 1;
    now = d->m - d->at;
    if (now > d->each) now = d->each;
    if ((size_t)now > most) now = most;
    for (i = 0; i < now; i++) memcpy(Y + entry(p, 0, i), d->Y + entry(d->ldy, 0, d->at + i), p * sizeof *Y);
    *count = now;
    if (d->calls == d->lies) *count = most + 1;
    d->ended = now == 0;
    d->at += now;
    d->calls++;
    return 0;
}

static void online_options_of(input *in, shs_online_options *o) {
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->coding.sparsity = within(in, -1, 4);
    o->coding.tolerance = weight_of(in);
    o->coding.selection = flags % 3 == 1;
    o->coding.nonnegative = flags % 3 == 2;
    o->batch = within(in, 0, 6);
    o->batches = within(in, 0, 4);
    o->forgetting = weight_of(in);
    o->sweeps = within(in, -1, 3);
    o->start = within(in, 0, 4);
    o->patch_width = within(in, 0, 3);
    o->patch_height = within(in, 0, 3);
    o->patch_channels = within(in, 0, 2);
    o->seed = byte(in);
    o->start_weight = weight_of(in);
    if (one_in(in, 4)) o->first_batch = within(in, 1, 5);
    o->replace = within(in, 0, 3);
    o->prune_coherence = weight_of(in);
    o->replace_every = within(in, 0, 9);
    o->test_every = within(in, 0, 3);
}

/* A dictionary, its sums, the signals that are delivered, and all outputs. */
typedef struct course {
    int p, n, m, ldd, flags;
    shs_real *Y, *D;
    extent of_Y, of_D, of_xx, of_yx;
    output out, of_report, xx, yx;
    shs_online_report *report;
    shs_online_record history[3];
    shs_online_options o;
    delivery from;
} course;

static void delivery_of(input *in, course *c) {
    delivery *d = &c->from;
    memset(d, 0, sizeof *d);
    d->Y = c->Y;
    d->ldy = positive(c->p);
    d->m = positive(c->m);
    d->fails = -1;
    d->lies = -1;
    d->each = within(in, 1, 7);
    if (one_in(in, 16)) d->fails = within(in, 0, 3);
    if (one_in(in, 16)) d->lies = within(in, 0, 3);
    if (one_in(in, 4) && c->m > 0) {
        c->o.test = c->Y;
        c->o.test_m = c->m;
        if (within(in, 0, 1)) c->o.test_ld = c->p;
    }
}

static void course_of(input *in, course *c) {
    size_t room, square, oblong;
    c->p = size_of(in, 8);
    c->n = size_of(in, 10);
    c->m = size_of(in, 14);
    c->ldd = leading_of(in, c->p);
    c->flags = byte(in);
    room = count_of(c->ldd + 1, c->n);
    square = count_of(c->n, c->n);
    oblong = count_of(c->p, c->n);
    c->out = OUTPUT(shs_real, room);
    c->D = AS(shs_real, c->out);
    c->of_report = OUTPUT(shs_online_report, 1);
    c->report = AS(shs_online_report, c->of_report);
    c->xx = OUTPUT(shs_wide, square);
    c->yx = OUTPUT(shs_wide, oblong);
    c->Y = drawn(in, count_of(c->p, c->m), &c->of_Y);
    c->of_D = fill(in, room, c->D);
    c->of_xx = fill_wide(in, square, AS(shs_wide, c->xx));
    c->of_yx = fill_wide(in, oblong, AS(shs_wide, c->yx));
    online_options_of(in, &c->o);
    delivery_of(in, c);
    memset(c->report, 0, sizeof *c->report);
    if (c->flags & 1) {
        c->report->history = c->history;
        c->report->history_most = 3;
    }
    if (c->flags & 2) c->report->sums_xx = AS(shs_wide, c->xx);
    if (c->flags & 4) c->report->sums_yx = AS(shs_wide, c->yx);
    output_keep(&c->out);
    output_keep(&c->of_report);
    output_keep(&c->xx);
    output_keep(&c->yx);
}

static void course_free(course *c) {
    output_free(&c->out);
    output_free(&c->of_report);
    output_free(&c->xx);
    output_free(&c->yx);
    free(c->Y);
}

static void check_course(const world *w, const course *c, int given) {
    const shs_online_report *r = c->report;
    const delivery *d = &c->from;
    size_t i;
    if (w->ordinary && !(given && c->o.first_batch > 0)) check_atoms(c->p, c->n, c->D, c->ldd, given, 0);
    must(d->lies < 0 || d->calls <= d->lies);
    if (!(c->flags & 8)) return;
    must(!c->o.batches || r->batches <= c->o.batches);
    must(r->signal_count <= (size_t)d->at && !r->dictionary);
    for (i = 0; i < 3 && i < r->batches && (c->flags & 1); i++)
        must(c->history[i].signal_count > 0 && c->history[i].atoms_used <= c->n);
}

static void learn_online(input *in, world *w) {
    course c;
    shs_online_report *report = NULL;
    shs_status status;
    int given;
    course_of(in, &c);
    given = c.o.start == SHS_START_GIVEN;
    w->ordinary = tame(&c.of_Y) && (!given || tame(&c.of_D)) && (!c.o.first_batch || (tame(&c.of_xx) && tame(&c.of_yx)));
    must(shs_online_workspace(&w->ctx, c.p, c.n, &c.o) > 0);
    if (c.flags & 8) report = c.report;
    status = shs_online_ex(&w->ctx, c.p, c.n, deliver, &c.from, &c.o, c.D, c.ldd, report);
    check_world(w, status, 0);
    if (status == SHS_OK || status == SHS_CANCELLED) check_course(w, &c, given);
    else must(untouched(&c.out) && untouched(&c.of_report) && untouched(&c.xx) && untouched(&c.yx));
    course_free(&c);
}

/* ---- starts and queries ------------------------------------------------------------------------------------------ */

static void coherence(input *in, world *w, int p, int n, output *D, int ldd) {
    extent e = fill(in, count_of(ldd + 1, n), AS(shs_real, *D));
    output of_mu = OUTPUT(shs_wide, 1);
    const shs_wide *mu = AS(shs_wide, of_mu);
    shs_status status = shs_dictionary_coherence(&w->ctx, p, n, AS(shs_real, *D), ldd, AS(shs_wide, of_mu));
    check_world(w, status, 0);
    if (status != SHS_OK) must(untouched(&of_mu));
    else if (e.finite && e.most < 1e15 && e.least > 1e-15) must(*mu >= 0 && *mu < 1.001);
    output_free(&of_mu);
}

static void starts(input *in, world *w) {
    int p = size_of(in, 12), n = size_of(in, 20), ldd = leading_of(in, p), dct = byte(in) & 1;
    int width = size_of(in, 4), height = size_of(in, 4), channels = size_of(in, 3);
    output D;
    shs_status status;
    if (dct) {
        p = positive(width) * positive(height) * positive(channels);
        ldd = leading_of(in, p);
    }
    D = OUTPUT(shs_real, count_of(ldd + 1, n));
    if (dct) status = shs_dictionary_dct(width, height, channels, n, AS(shs_real, D), ldd);
    else status = shs_dictionary_random(p, n, AS(shs_real, D), ldd, byte(in));
    check_status(status);
    if (status == SHS_OK) check_atoms(p, n, AS(shs_real, D), ldd, dct, 0);
    else must(untouched(&D));
    coherence(in, w, p, n, &D, ldd);
    output_free(&D);
}

static void queries(input *in, world *w) {
    shs_ksvd_options o;
    shs_step steps[6];
    int a = any_int(in), b = any_int(in), huge = byte(in) & 1;
    size_t m = any_count(in, huge);
    options_of(in, &o, steps);
    o.coding.sparsity = any_int(in);
    o.parallel_atoms = any_int(in);
    (void)shs_ksvd_workspace(&w->ctx, a, b, m, &o);
    (void)shs_ksvd_defaults(a, b, m);
    (void)shs_online_workspace(&w->ctx, a, b, NULL);
    must(shs_online_defaults(a, b).batch > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {learn, learn, learn, learn, learn, learn_online, starts, queries};
    return run_errand(errands, data, size);
}
