/* fuzz_learning.c - dictionary learning, of all signals or batch by batch: every option, small sizes, edge values; the atoms
   returned have unit norm. */
#include "fuzz.h"

static void schedule_of(input *in, shs_step *steps, const shs_step **schedule, int *count) {
    int i, from = within(in, -1, 2);
    *count = within(in, -1, 2);
    *schedule = one_in(in, 4) ? steps : NULL;
    for (i = 0; i < 3; i++) steps[i].from = from, steps[i].value = within(in, 0, 4), from += within(in, 0, 2);
}

static void options_of(input *in, shs_ksvd_options *o, shs_step *steps) {
    static const double thresholds[] = {0, 0, 0.5, 0.9, 1, 2, -1, 1e-30};
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->iterations = within(in, -1, 3);
    o->coding.sparsity = within(in, -1, 4);
    o->coding.tolerance = (shs_real)thresholds[byte(in) % 8];
    o->coding.gram_mode = (shs_gram_mode)(flags % 3);
    o->parallel_atoms = within(in, -1, 8);
    o->rounds = within(in, -1, 3);
    schedule_of(in, steps, &o->parallel_atoms_schedule, &o->parallel_atoms_steps);
    schedule_of(in, steps + 3, &o->rounds_schedule, &o->rounds_steps);
    o->start = (shs_start)within(in, 0, 4);
    o->patch_width = within(in, 0, 3), o->patch_height = within(in, 0, 3), o->patch_channels = within(in, 0, 2);
    o->seed = (uint64_t)byte(in);
    o->first_iteration = within(in, -1, 3);
    o->replace = (shs_replace)within(in, 0, 3);
    o->prune_coherence = (shs_real)thresholds[byte(in) % 8];
    o->prune_uses = within(in, -1, 4);
    o->keep = (shs_keep)(flags >> 2 & 3) == 3 ? (shs_keep)0 : (shs_keep)(flags >> 2 & 3);
    o->rmse_after_update = o->rmse_after_rounds = flags >> 4 & 1;
    o->stop_improvement = (flags & 32) ? (shs_wide)thresholds[byte(in) % 8] : 0;
    o->stop_patience = within(in, -1, 2);
    o->update = (shs_update)within(in, 0, SHS_UPDATE_COUNT);
    if (one_in(in, 4)) {
        o->regularisation = (shs_real)thresholds[byte(in) % 8], o->regularisation_decay = (shs_real)thresholds[byte(in) % 8];
        o->regularised_iterations = within(in, -1, 2);
    }
    if (one_in(in, 4)) o->incoherence = (shs_real)thresholds[byte(in) % 8];
    if (one_in(in, 4)) o->coherence = (shs_real)thresholds[byte(in) % 8], o->coherence_rounds = within(in, -1, 2);
    o->nonnegative = (flags & 140) == 140; /* given to few, so that inputs that were found go on to mean what they did */
    if (flags & 64) o->coding.sparsity = 2, o->iterations = 2, o->first_iteration = 0;
}

/* Atoms have unit norm, or are zero where nothing but zeros was given, and are not below 0 where they are not to be. */
static void check_atoms(int p, int n, const shs_real *D, int ldd, int zero_too, int nonnegative) {
    int i, j;
    for (j = 0; j < n; j++) {
        double sum = 0;
        for (i = 0; i < p; i++) {
            double v = (double)D[(size_t)j * (size_t)ldd + (size_t)i];
            must(isfinite(v) && !(nonnegative && v < 0));
            sum += v * v;
        }
        must(fabs(sum - 1) < 1e-4 || (zero_too && sum <= 0));
    }
}

static void learn(input *in, world *w) {
    int p = size_of(in, 8), n = size_of(in, 10), m = size_of(in, 14), ldd = leading_of(in, p), ldy = leading_of(in, p);
    int stride = within(in, 0, 6), flags = byte(in), rows = positive(m), iterations;
    size_t slots = (size_t)rows * (size_t)stride, room = count_of(ldd + 1, n), bytes;
    output D = output_of(room * sizeof(shs_real)), used = output_of((size_t)rows * sizeof(int));
    output atoms = output_of(slots * sizeof(int)), coefs = output_of(slots * sizeof(shs_real));
    output history = output_of(12 * sizeof(shs_ksvd_record)), usage = output_of(count_of(12, n) * sizeof(size_t));
    output report = output_of(sizeof(shs_ksvd_report));
    shs_real *Y = NEW(shs_real, count_of(ldy + 1, m));
    extent of_Y = fill(in, count_of(ldy + 1, m), Y), of_D = fill(in, room, AS(shs_real, D));
    shs_ksvd_options o;
    shs_ksvd_report *r = AS(shs_ksvd_report, report);
    shs_step steps[6];
    shs_codes codes;
    shs_status status;
    unsigned char *mask = NEW(unsigned char, count_of(p, rows));
    output_keep(&D);
    options_of(in, &o, steps);
    if (flags & 16) { /* values that are missing */
        size_t i, seen = (size_t)byte(in);
        for (i = 0; i < count_of(p, rows); i++) mask[i] = (unsigned char)(seen >> i % 8 & 1);
        if (flags & 32) o.coding.skip_nan = 1;
        o.coding.mask = mask, o.coding.ldm = positive(p), o.update = (shs_update)((unsigned)o.update % 3);
    }
    if (m > 0 && one_in(in, 4)) o.test = Y, o.test_m = (size_t)m, o.test_ld = ldy; /* the signals that are learnt from */
    memset(r, 0, sizeof *r);
    r->history = (flags & 1) ? AS(shs_ksvd_record, history) : NULL;
    r->usage_history = (flags & 2) ? AS(size_t, usage) : NULL;
    output_keep(&report);
    codes.m = (size_t)rows, codes.stride = stride;
    codes.used = AS(int, used), codes.atoms = AS(int, atoms), codes.coefs = AS(shs_real, coefs);
    iterations = o.iterations;
    if (!iterations) o.iterations = iterations = 1;
    w->ordinary = tame(&of_Y) && (o.start != SHS_START_GIVEN || tame(&of_D));
    bytes = shs_ksvd_workspace(&w->ctx, p, n, (size_t)rows, &o);
    must(bytes > 0);
    status = shs_ksvd_ex(&w->ctx, p, n, (size_t)rows, Y, ldy, &o, AS(shs_real, D), ldd, (flags & 4) ? &codes : NULL,
                         (flags & 8) ? r : NULL);
    check_world(w, status, 0);
    if (status == SHS_OK || status == SHS_CANCELLED) {
        int given = o.start == SHS_START_GIVEN; /* and taken as it is when resumed */
        if (of_Y.finite && of_Y.most < 1.1e30 && (of_Y.least > 0.9e-30 || of_Y.most <= 0) && 
            !(o.start == SHS_START_GIVEN && o.first_iteration > 0) && (!given || of_D.most < 1e15))
            check_atoms(p, n, AS(shs_real, D), ldd, given, o.nonnegative);
        if (flags & 8) {
            must(r->iterations >= 0 && r->iterations <= iterations && r->best_iteration <= iterations);
            must(status != SHS_OK || !tame(&of_Y) || (isfinite(r->rmse) && isfinite(r->mean_atoms)));
        }
    } else {
        int i;
        must(untouched(&D) && untouched(&report));
        if (status != SHS_REDUCE_FAILED) must(untouched(&used) && untouched(&atoms) && untouched(&coefs));
        else if (!untouched(&used))
            for (i = 0; i < rows; i++) must(codes.used[i] == 0);
    }
    output_free(&D), output_free(&used), output_free(&atoms), output_free(&coefs);
    output_free(&history), output_free(&usage), output_free(&report), free(Y), free(mask);
}

/* Signals that are delivered in pieces of `most` or fewer. */
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
    now = d->m - d->at < d->each ? d->m - d->at : d->each;
    if ((size_t)now > most) now = (int)most;
    for (i = 0; i < now; i++)
        memcpy(Y + (size_t)i * (size_t)p, d->Y + (size_t)(d->at + i) * (size_t)d->ldy, (size_t)p * sizeof *Y);
    *count = d->calls == d->lies ? most + 1 : (size_t)now;
    d->ended = now == 0;
    d->at += now, d->calls++;
    return 0;
}

static void online_options_of(input *in, shs_online_options *o) {
    static const double weights[] = {0, 0, 1, 0.5, 0.9, 2, -1, 1e-30, 1e30};
    int flags = byte(in);
    memset(o, 0, sizeof *o);
    o->coding.sparsity = within(in, -1, 4);
    o->coding.tolerance = (shs_real)weights[byte(in) % 9];
    o->coding.selection = (shs_selection)(flags % 3 == 1);
    o->coding.nonnegative = flags % 3 == 2;
    o->batch = (size_t)within(in, 0, 6), o->batches = (size_t)within(in, 0, 4);
    o->forgetting = (shs_wide)weights[byte(in) % 9];
    o->sweeps = within(in, -1, 3);
    o->start = (shs_start)within(in, 0, 4);
    o->patch_width = within(in, 0, 3), o->patch_height = within(in, 0, 3), o->patch_channels = within(in, 0, 2);
    o->seed = (uint64_t)byte(in);
    o->start_weight = (shs_wide)weights[byte(in) % 9];
    o->first_batch = one_in(in, 4) ? (size_t)within(in, 1, 5) : 0;
    o->replace = (shs_replace)within(in, 0, 3);
    o->prune_coherence = (shs_real)weights[byte(in) % 9];
    o->replace_every = (size_t)within(in, 0, 9), o->test_every = (size_t)within(in, 0, 3);
}

static void learn_online(input *in, world *w) {
    int p = size_of(in, 8), n = size_of(in, 10), m = size_of(in, 14), ldd = leading_of(in, p), flags = byte(in);
    size_t room = count_of(ldd + 1, n), square = count_of(n, n), i;
    output D = output_of(room * sizeof(shs_real)), report = output_of(sizeof(shs_online_report));
    output xx = output_of(square * sizeof(shs_wide)), yx = output_of(count_of(p, n) * sizeof(shs_wide));
    shs_online_record history[3];
    shs_real *Y = NEW(shs_real, count_of(p, m));
    extent of_Y = fill(in, count_of(p, m), Y), of_D = fill(in, room, AS(shs_real, D));
    extent of_xx = fill_wide(in, square, AS(shs_wide, xx)), of_yx = fill_wide(in, count_of(p, n), AS(shs_wide, yx));
    delivery from = {Y, positive(p), positive(m), 0, 0, 0, -1, -1, 0};
    shs_online_report *r = AS(shs_online_report, report);
    shs_online_options o;
    shs_status status;
    int given;
    online_options_of(in, &o);
    from.each = within(in, 1, 7);
    if (one_in(in, 16)) from.fails = within(in, 0, 3);
    if (one_in(in, 16)) from.lies = within(in, 0, 3);
    if (one_in(in, 4) && m > 0) o.test = Y, o.test_m = (size_t)m, o.test_ld = within(in, 0, 1) ? p : 0;
    memset(r, 0, sizeof *r);
    if (flags & 1) r->history = history, r->history_most = 3;
    if (flags & 2) r->sums_xx = AS(shs_wide, xx);
    if (flags & 4) r->sums_yx = AS(shs_wide, yx);
    output_keep(&D), output_keep(&report), output_keep(&xx), output_keep(&yx);
    given = o.start == SHS_START_GIVEN;
    w->ordinary = tame(&of_Y) && (!given || tame(&of_D)) && (!o.first_batch || (tame(&of_xx) && tame(&of_yx)));
    must(shs_online_workspace(&w->ctx, p, n, &o) > 0);
    status = shs_online_ex(&w->ctx, p, n, deliver, &from, &o, AS(shs_real, D), ldd, (flags & 8) ? r : NULL);
    check_world(w, status, 0);
    if (status == SHS_OK || status == SHS_CANCELLED) {
        if (w->ordinary && !(given && o.first_batch > 0)) check_atoms(p, n, AS(shs_real, D), ldd, given, 0);
        must(from.lies < 0 || from.calls <= from.lies);
        if (flags & 8) {
            must(!o.batches || r->batches <= o.batches);
            must(r->signal_count <= (size_t)from.at && !r->dictionary);
            for (i = 0; i < 3 && i < r->batches && (flags & 1); i++) must(history[i].signal_count > 0 && history[i].atoms_used <= n);
        }
    } else must(untouched(&D) && untouched(&report) && untouched(&xx) && untouched(&yx));
    output_free(&D), output_free(&report), output_free(&xx), output_free(&yx), free(Y);
}

static void starts(input *in, world *w) {
    int p = size_of(in, 12), n = size_of(in, 20), ldd = leading_of(in, p), flags = byte(in);
    int width = size_of(in, 4), height = size_of(in, 4), channels = size_of(in, 3);
    output mu = output_of(sizeof(shs_wide));
    shs_status status;
    extent e;
    if (flags & 1) p = positive(width) * positive(height) * positive(channels), ldd = leading_of(in, p);
    {
        output D = output_of(count_of(ldd + 1, n) * sizeof(shs_real));
        if (flags & 1) status = shs_dictionary_dct(width, height, channels, n, AS(shs_real, D), ldd);
        else status = shs_dictionary_random(p, n, AS(shs_real, D), ldd, (uint64_t)byte(in));
        must(status >= SHS_OK && (int)status < STATUSES);
        if (status == SHS_OK) check_atoms(p, n, AS(shs_real, D), ldd, (flags & 1), 0);
        else must(untouched(&D));
        e = fill(in, count_of(ldd + 1, n), AS(shs_real, D));
        status = shs_dictionary_coherence(&w->ctx, p, n, AS(shs_real, D), ldd, AS(shs_wide, mu));
        check_world(w, status, 0);
        if (status != SHS_OK) must(untouched(&mu));
        else if (e.finite && e.most < 1e15 && e.least > 1e-15) must(*AS(shs_wide, mu) >= 0 && *AS(shs_wide, mu) < 1.001);
        output_free(&D);
    }
    output_free(&mu);
}

static void queries(input *in, world *w) {
    shs_ksvd_options o;
    shs_step steps[6];
    int a = any_int(in), b = any_int(in);
    size_t m = (byte(in) & 1) ? SIZE_MAX / (size_t)(1 + byte(in)) : (size_t)byte(in);
    options_of(in, &o, steps);
    o.coding.sparsity = any_int(in), o.parallel_atoms = any_int(in);
    (void)shs_ksvd_workspace(&w->ctx, a, b, m, &o);
    o = shs_ksvd_defaults(a, b, m);
    (void)shs_online_workspace(&w->ctx, a, b, NULL);
    must(shs_online_defaults(a, b).batch > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {learn, learn, learn, learn, learn, learn_online, starts, queries};
    return run_errand(errands, data, size);
}
