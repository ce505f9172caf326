/* paksvd.c - the tables and figures of P. Irofti, B. Dumitrescu, "GPU parallel implementation of the approximate K-SVD
   algorithm using OpenCL" (2014): AK-SVD against PAK-SVD, whose atoms are updated N~ at a time.

       figure1         Fig. 1: error over iterations for several N~
       toolbox         the same beside the results of the authors' own toolbox (golden/)
       table1          Table 1: error after all iterations, AK-SVD and N~ = n
       figure2         Fig. 2: time of an iteration over N~
       figure3         Fig. 3: time of an iteration over the number of signals
       speedups        the paper's 11.98 times, over several baselines
       rounds          the remark on u rounds of updates
       stages          the remark on coding and update
       blas            the remark on the vendor's BLAS

   `make papers PAPER=paksvd` runs it; --help lists the options. */
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#include "vendors.h"

enum { P = 64, MOST_SEEDS = 5 };
#define SAME_BITS "1 thread: same bits; not run"

/* One dictionary learnt, and what became of it. */
typedef struct training {
    int n, s, group, iterations, rounds;
    size_t m;
    const shs_real *Y;
    const shs_step *rounds_schedule;
    int rounds_steps;
    shs_replace replace;
    const shs_real *start; /* NULL: random signals by the seed */
    uint64_t seed;
    int want_errors;
    shs_ksvd_record *history; /* a record an iteration */
    double *moment;           /* when each coding was done */
    int moments;
    shs_context ctx;
} training;

static training small_training(int n, int s, int group, int iterations, size_t m, const shs_real *Y) {
    training t;
    memset(&t, 0, sizeof t);
    t.n = n;
    t.s = s;
    t.group = group;
    t.iterations = iterations;
    t.m = m;
    t.Y = Y;
    t.replace = SHS_REPLACE_LEAVE;
    t.history = ALLOCATE(shs_ksvd_record, iterations);
    t.moment = ALLOCATE(double, iterations + 2);
    return t;
}

static void training_free(training *t) {
    free(t->history);
    free(t->moment);
}

/* The library reports its progress once an iteration, after coding. */
static int note_moment(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    training *t = (training *)user;
    (void)step;
    (void)steps;
    (void)error;
    if (!strcmp(phase, "learning") && t->moments < t->iterations + 2) t->moment[t->moments++] = wall_clock();
    tell("learning");
    return 0;
}

static void learn_now(training *t, const shs_context *where) {
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_real *D = ALLOCATE(shs_real, P * t->n);
    t->ctx = *where;
    t->ctx.progress_fn = note_moment;
    t->ctx.progress_user = t;
    t->moments = 0;
    o.iterations = t->iterations;
    o.coding.sparsity = t->s;
    o.parallel_atoms = t->group;
    o.rounds = t->rounds;
    o.rounds_schedule = t->rounds_schedule;
    o.rounds_steps = t->rounds_steps;
    o.replace = t->replace;
    o.seed = t->seed;
    o.keep = SHS_KEEP_LAST;
    o.rmse_after_update = t->want_errors;
    if (t->start) {
        memcpy(D, t->start, (size_t)P * (size_t)t->n * sizeof *D);
        o.start = SHS_START_GIVEN;
    }
    report.history = t->history;
    check(shs_ksvd_ex(&t->ctx, P, t->n, t->m, t->Y, P, &o, D, P, NULL, &report), "learning");
    free(D);
}

/* As learn_now, but where errors are wanted: those of an earlier run that was stopped after this training are as good. */
static void learn(training *t, const shs_context *where) {
    int count = t->iterations, k;
    double *errors;
    if (!t->want_errors) {
        learn_now(t, where);
        return;
    }
    errors = ALLOCATE(double, 2 * count);
    if (recalled(errors, 2 * count))
        for (k = 0; k < count; k++) {
            t->history[k].rmse_coding = (shs_wide)errors[2 * k];
            t->history[k].rmse_update = (shs_wide)errors[2 * k + 1];
        }
    else {
        learn_now(t, where);
        for (k = 0; k < count; k++) {
            errors[2 * k] = (double)t->history[k].rmse_coding;
            errors[2 * k + 1] = (double)t->history[k].rmse_update;
        }
        recorded(errors, 2 * count);
    }
    free(errors);
}

static double last_error(const training *t) { return (double)t->history[t->iterations - 1].rmse_update; }

/* The median time of an iteration, in milliseconds; the first one warms up. */
static double iteration_ms(int n, int s, int group, size_t m, const shs_real *Y, const shs_context *where) {
    training t = small_training(n, s, group, sized(4, 5, 8), m, Y);
    double ms[8];
    int i, count = 0;
    learn(&t, where);
    for (i = 2; i < t.moments && i < t.iterations; i++) ms[count++] = 1e3 * (t.moment[i] - t.moment[i - 1]);
    training_free(&t);
    return sorted_middle(ms, count);
}

static double device_iteration_ms(int n, int s, int group, size_t m, const shs_real *Y) {
    if (run.has_device) return iteration_ms(n, s, group, m, Y, &run.on_device);
    return NOT_RUN;
}

/* Multiplications and additions of an iteration: D'Y, the pursuits, and four products of length p for each coefficient. */
static double iteration_operations(int n, int s, size_t m) {
    return (double)m * (2.0 * P * n + (double)n * s * (s + 1) + 8.0 * P * s);
}

/* ---- Fig. 1 ------------------------------------------------------------------------------------------------------- */

static void error_rows(const char *name, const training *t, const training *device) {
    const char *note = SAME_BITS;
    int k;
    if (!device && run.has_device) note = SAME_BITS "; device: run for the last curve only";
    rows_begin(name);
    for (k = 0; k < t->iterations; k++) {
        double there = NOT_RUN;
        if (device) there = (double)device->history[k].rmse_update;
        row(text_of("%d", k + 1), NULL, NOT_RUN, (double)t->history[k].rmse_update, there, first_note(k, note));
    }
    rows_end();
}

/* One atom at a time is AK-SVD, which has no N~. */
static const char *group_label(int group, const char *before) {
    if (group == 1) return "AK-SVD";
    return text_of("%sN~ = %d", before, group);
}

static void figure1(void) {
    int n = sized(128, 512, 512), iterations = sized(15, 100, 200), groups[] = {1, 16, 64, 128, 512}, i,
        count = (int)(sizeof groups / sizeof *groups);
    size_t m = (size_t)sized(1024, 8192, 16384);
    shs_real *Y;
    if (!item_begin("figure1", "figure", "Fig. 1: error over iterations, AK-SVD and PAK-SVD")) return;
    Y = patch_signals(m, 1, 1);
    put_line("x", "iteration");
    put_line("y", "RMSE = ||Y - DX|| / sqrt(p m)");
    for (i = 0; i < count; i++) {
        const int last = groups[i] >= n, group = last ? n : groups[i];
        const char *name = text_of("N%d", group), *label = group_label(group, "PAK-SVD, ");
        training t = small_training(n, 12, group, iterations, m, Y);
        training device = small_training(n, 12, group, iterations, m, Y);
        const training *there = NULL;
        step_of(i, count, label);
        t.want_errors = device.want_errors = 1;
        learn(&t, &run.all);
        if (run.has_device && last) {
            learn(&device, &run.on_device);
            there = &device;
        }
        error_rows(name, &t, there);
        curve(name, 4, label);
        if (last) curve(name, 5, text_of("%s, device", label));
        training_free(&t);
        training_free(&device);
        if (last) break;
    }
    remark(
        "Paper: n 512, m 16384, s 12, K 200; its curves are not in our copy. Here n %d, m %d, K %d, unused atoms left alone.",
        n, (int)m, iterations);
    remark("Multiply by sqrt(p/n) for the paper's ||Y - DX|| / sqrt(m n).");
    item_end();
    free(Y);
}

/* ---- the authors' toolbox ------------------------------------------------------------------------------------------ */

static shs_real *read_f32(const char *name, size_t count) {
    char *path = text_of("%s/golden/%s", run.shared, name);
    FILE *file = fopen(path, "rb");
    float *values = ALLOCATE(float, count);
    shs_real *made = ALLOCATE(shs_real, count);
    size_t i;
    if (!file || fread(values, sizeof *values, count, file) != count)
        fail(EXIT_ERROR, "%s: it is not there or too short", path);
    fclose(file);
    for (i = 0; i < count; i++) made[i] = (shs_real)values[i];
    free(values);
    return made;
}

/* Columns of the toolbox's file: iteration, aksvd, paksvd_128, _64, _16, _1. */
static void toolbox(void) {
    static const int groups[] = {1, 128, 64, 16};
    const char *types = "";
    char line[300];
    shs_real *Y, *D;
    FILE *file;
    int i, k;
    if (!item_begin("toolbox", "figure", "Beside Fig. 1: the same runs in the paper's authors' own toolbox")) return;
    file = fopen(text_of("%s/golden/ksvd_rmse_n128_s6.csv", run.shared), "r");
    if (!file) {
        remark("Not run: the toolbox's results are not here (golden/ below %s).", run.shared);
        item_end();
        return;
    }
    fclose(file);
    Y = read_f32("ksvd_signals_64x4096.f32", (size_t)P * 4096);
    D = read_f32("ksvd_atoms_64x128.f32", (size_t)P * 128);
    put_line("x", "iteration");
    put_line("y", "RMSE = ||Y - DX|| / sqrt(p m)");
    if (sizeof(shs_real) == sizeof(float)) types = " (ours in float, the toolbox in double)";
    for (i = 0; i < 4; i++) {
        training t = small_training(128, 6, groups[i], 30, 4096, Y);
        const char *name = text_of("N%d", groups[i]), *label = group_label(groups[i], "");
        double largest = 0;
        step_of(i, 4, label);
        t.start = D;
        t.want_errors = 1;
        learn(&t, &run.all);
        file = fopen(text_of("%s/golden/ksvd_rmse_n128_s6.csv", run.shared), "r");
        if (!file || !fgets(line, sizeof line, file)) fail(EXIT_ERROR, "golden/ksvd_rmse_n128_s6.csv: it is empty");
        rows_begin(name);
        for (k = 0; k < 30 && fgets(line, sizeof line, file); k++) {
            char *field = strtok(line, ",");
            double theirs, ours = (double)t.history[k].rmse_update;
            int c;
            for (c = 0; c <= i && field; c++) field = strtok(NULL, ",\n");
            if (field) theirs = atof(field);
            else theirs = 0;
            if (fabs(ours - theirs) > largest * theirs) largest = fabs(ours - theirs) / theirs;
            row(text_of("%d", k + 1), text_of("%.6f", theirs), NOT_RUN, ours, NOT_RUN,
                first_note(k, "column paper: the toolbox; one thread: the same bits; device: not run"));
        }
        rows_end();
        fclose(file);
        training_free(&t);
        curve(name, 4, text_of("%s, ours", label));
        curve(name, 2, text_of("%s, toolbox", label));
        remark("%s: ours and the toolbox differ by at most %.2g of the error over 30 iterations%s.", label, largest,
               types);
    }
    remark("4096 patches, n 128, s 6, one start for all. The column paper holds the toolbox here (dl-box in Octave), not the "
           "paper.");
    item_end();
    free(Y);
    free(D);
}

/* ---- Table 1 ------------------------------------------------------------------------------------------------------- */

typedef struct cell {
    int n, s;
    const char *aksvd, *paksvd; /* the paper's */
} cell;

static const cell cells[] = {
    {128, 4, ".0425", ".0407"},  {128, 6, ".0374", ".0349"},  {128, 8, ".0345", ".0306"},  {128, 10, ".0322", ".0276"},
    {128, 12, ".0319", ".0249"}, {256, 4, ".0385", ".0387"},  {256, 6, ".0334", ".0316"},  {256, 8, ".0294", ".0272"},
    {256, 10, ".0276", ".0239"}, {256, 12, ".0254", ".0205"}, {512, 4, ".0376", ".0372"},  {512, 6, ".0311", ".0297"},
    {512, 8, ".0259", ".0245"},  {512, 10, ".0233", ".0206"}, {512, 12, ".0221", ".0176"},
};
enum { CELLS = (int)(sizeof cells / sizeof *cells) };

typedef struct spread {
    double mean, deviation;
} spread;

static spread spread_of(const double *values, int count) {
    spread s = {0, 0};
    int i, others = 1;
    if (count > 2) others = count - 1;
    for (i = 0; i < count; i++) s.mean += values[i] / count;
    for (i = 0; i < count; i++) s.deviation += (values[i] - s.mean) * (values[i] - s.mean) / others;
    s.deviation = sqrt(s.deviation);
    return s;
}

/* Errors of all seeds with one group and rule into a row. */
static spread table1_row(const cell *c, int group, shs_replace replace, size_t m, shs_real *const *Y, int seeds) {
    double errors[MOST_SEEDS], on_device = NOT_RUN, scaling = sqrt((double)P / c->n);
    const char *what = "PAK-SVD", *rule = "left", *paper = c->paksvd, *not_done = "", *device = "";
    spread s;
    int k;
    if (group == 1) {
        what = "AK-SVD";
        paper = c->aksvd;
    }
    if (replace != SHS_REPLACE_LEAVE) {
        rule = "replaced";
        paper = "";
        not_done = "; paper: not done there";
    }
    for (k = 0; k < seeds; k++) {
        training t = small_training(c->n, c->s, group, sized(8, 40, 200), m, Y[k]);
        t.replace = replace;
        t.seed = (uint64_t)k + 1;
        t.want_errors = 1;
        learn(&t, &run.all);
        errors[k] = last_error(&t);
        if (!k && run.has_device && group > 1 && replace == SHS_REPLACE_LEAVE && run.scale != SCALE_USUAL) {
            learn(&t, &run.on_device);
            on_device = last_error(&t);
        }
        training_free(&t);
    }
    s = spread_of(errors, seeds);
    if (run.has_device) device = "; device: not run";
    if (on_device >= 0) device = "; device: the first seed";
    row(text_of("n %d; s %d; %s; %s", c->n, c->s, what, rule), paper, NOT_RUN, s.mean, on_device,
        text_of("spread %.2g; / sqrt(m n): %.4f; %s%s%s", s.deviation, s.mean * scaling, SAME_BITS, not_done, device));
    return s;
}

static void table1(void) {
    static const shs_replace rules[2] = {SHS_REPLACE_LEAVE, SHS_REPLACE_WORST};
    static const char *const rule_names[2] = {"left", "replaced"};
    size_t m = (size_t)sized(1024, 4096, 16384);
    int seeds = sized(2, 5, 5), i, k, r;
    int paper_lower = 0, lower[2] = {0, 0}, beyond[2] = {0, 0}, helped[2] = {0, 0};
    double best[2] = {0, 0}, worst[2] = {0, 0};
    shs_real *Y[MOST_SEEDS];
    if (!item_begin("table1", "table", "Table 1: error after all iterations, AK-SVD and PAK-SVD with N~ = n")) return;
    for (k = 0; k < seeds; k++) Y[k] = patch_signals(m, 1, 100 * (uint64_t)k + 1);
    put_line("unit",
             "RMSE = ||Y - DX|| / sqrt(p m), mean of %d seeds; the paper's figures are ||Y - DX|| / sqrt(m n) by its text",
             seeds);
    rows_begin(NULL);
    for (i = 0; i < CELLS; i++) {
        spread s[2][2];
        step_of(i, CELLS, text_of("Table 1, n %d, s %d", cells[i].n, cells[i].s));
        for (r = 0; r < 2; r++) {
            double gain;
            s[r][0] = table1_row(&cells[i], 1, rules[r], m, Y, seeds);
            s[r][1] = table1_row(&cells[i], cells[i].n, rules[r], m, Y, seeds);
            gain = 100 * (1 - s[r][1].mean / s[r][0].mean);
            lower[r] += gain > 0;
            beyond[r] += fabs(s[r][1].mean - s[r][0].mean) > s[r][0].deviation + s[r][1].deviation;
            if (gain > best[r]) best[r] = gain;
            if (gain < worst[r]) worst[r] = gain;
        }
        for (k = 0; k < 2; k++) helped[k] += s[1][k].mean < s[0][k].mean;
        paper_lower += atof(cells[i].paksvd) < atof(cells[i].aksvd);
    }
    rows_end();
    remark("Left: unused atoms stay as they are, as in the paper. Replaced: unused, rare and duplicate atoms become the worst "
           "represented signals.");
    remark("The paper's order: PAK-SVD is below AK-SVD in %d of %d cells, by up to 22 %%.", paper_lower, CELLS);
    for (r = 0; r < 2; r++) {
        const char *order = "does not come out";
        if (lower[r] >= paper_lower) order = "comes out";
        remark("Ours, unused atoms %s: PAK-SVD is below AK-SVD in %d of %d cells, from %.1f %% below to %.1f %% above; the "
               "difference of the means exceeds the sum of the spreads in %d cells. The paper's order %s.",
               rule_names[r], lower[r], CELLS, best[r], -worst[r], beyond[r], order);
    }
    remark("Replacing lowers the error of AK-SVD in %d cells and of PAK-SVD in %d of %d.", helped[0], helped[1], CELLS);
    remark("Paper: K 200, m not stated. Here m %d, K %d, each seed with its own patches and start, the same for all four runs "
           "of it.",
           (int)m, sized(8, 40, 200));
    item_end();
    for (k = 0; k < seeds; k++) free(Y[k]);
}

/* ---- Figs. 2 and 3 ------------------------------------------------------------------------------------------------- */

static void time_row(const char *setting, int n, int s, int group, size_t m, const shs_real *Y) {
    double one = iteration_ms(n, s, group, m, Y, &run.one), all = iteration_ms(n, s, group, m, Y, &run.all);
    row(setting, NULL, one, all, device_iteration_ms(n, s, group, m, Y), NULL);
}

/* The number of atoms at a time after `group`: four times as many, and at last all n. */
static int next_group(int group, int n) {
    if (group == 1 || 4 * group <= n) return 4 * group;
    if (2 * group <= n) return n / group * group;
    return n + 1;
}

static void figure2(void) {
    static const int atoms[] = {64, 128, 256, 512};
    size_t m = (size_t)sized(2048, 16384, 16384);
    const char *where = "on the device";
    int i, group, s = 10;
    shs_real *Y;
    if (!run.has_device) where = "on all threads (no device)";
    if (!item_begin("figure2", "figure", "Fig. 2: time of an iteration over N~")) return;
    Y = patch_signals(m, 1, 1);
    put_line("x", "N~, atoms updated at a time");
    put_line("y", "milliseconds an iteration");
    put_line("log", "xy");
    for (i = 0; i < 4; i++) {
        char *name = text_of("n%d", atoms[i]);
        double first = NOT_RUN, last = NOT_RUN;
        rows_begin(name);
        for (group = 1; group <= atoms[i]; group = next_group(group, atoms[i])) {
            double one, all, device;
            step_of(i, 4, text_of("Fig. 2, n %d, N~ %d", atoms[i], group));
            one = iteration_ms(atoms[i], s, group, m, Y, &run.one);
            all = iteration_ms(atoms[i], s, group, m, Y, &run.all);
            device = device_iteration_ms(atoms[i], s, group, m, Y);
            row(text_of("%d", group), NULL, one, all, device, first_note(group - 1, "N~ = 1 is AK-SVD"));
            if (device >= 0) last = device;
            else last = all;
            if (group == 1) first = last;
        }
        rows_end();
        curve(name, 4, text_of("n %d, all threads", atoms[i]));
        curve(name, 5, text_of("n %d, device", atoms[i]));
        remark("n %d: from N~ = 1 to N~ = n the time falls by %.3g times %s.", atoms[i], first / last, where);
    }
    remark("Paper: m 16384, s 10, time of K 200 iterations; N~ = n is at least 10 times as fast as N~ = 1 on its device, and "
           "about 10 times "
           "as fast as AK-SVD on its CPU; its curves are not in our copy. Here m %d, median time of one iteration.",
           (int)m);
    item_end();
    free(Y);
}

static void figure3(void) {
    int groups[] = {1, 64, 512}, i, n = 512, s = 8;
    size_t most = (size_t)sized(4096, 65536, 131072), m;
    shs_real *Y;
    if (!item_begin("figure3", "figure", "Fig. 3: time of an iteration over the number of signals")) return;
    Y = patch_signals(most, 1, 1);
    put_line("x", "m, signals");
    put_line("y", "milliseconds an iteration");
    put_line("log", "xy");
    for (i = 0; i < 3; i++) {
        const char *name = text_of("N%d", groups[i]), *label = group_label(groups[i], "");
        rows_begin(name);
        for (m = 1024; m <= most; m *= (size_t)sized(2, 4, 2)) {
            step_of(3 * i + (m > 4096) + (m > 16384), 9, text_of("Fig. 3, %s, m %d", label, (int)m));
            time_row(text_of("%d", (int)m), n, s, groups[i], m, Y);
        }
        rows_end();
        curve(name, 3, text_of("%s, one thread", label));
        curve(name, 4, text_of("%s, all threads", label));
        curve(name, 5, text_of("%s, device", label));
    }
    remark("Paper: n 512, s 8, K 100, m 1024 to 131072; its curves are not in our copy. Here m to %d, median time of one "
           "iteration.",
           (int)most);
    item_end();
    free(Y);
}

/* ---- speed-ups ----------------------------------------------------------------------------------------------------- */

/* The textbook twin: one AK-SVD iteration in plain loops, in double. */
typedef struct twin {
    int n, s;
    ptrdiff_t m;
    const shs_real *Y;
    shs_real *D;
    shs_wide *X, *scratch;
    int *atoms;
} twin;

static void twin_once(void *argument) {
    twin *t = (twin *)argument;
    const shs_naive_learning how = {shs_aksvd_naive, t->s, 1, 1, 0};
    memcpy(t->D, t->Y, (size_t)P * (size_t)t->n * sizeof *t->D); /* the first n signals, of unit norm */
    shs_ksvd_naive(&how, P, t->n, t->D, t->m, t->Y, t->X, t->atoms, t->scratch);
}

static double twin_ms(int n, int s, size_t m, const shs_real *Y) {
    twin t;
    double ms;
    t.n = n;
    t.s = s;
    t.m = (ptrdiff_t)m;
    t.Y = Y;
    t.D = ALLOCATE(shs_real, P * n);
    t.X = ALLOCATE(shs_wide, (size_t)n * m);
    t.scratch = ALLOCATE(shs_wide, 2 * P * m + (size_t)(2 * P + s + s * (P + s)));
    t.atoms = ALLOCATE(int, n);
    ms = 1e3 * median_seconds(twin_once, &t);
    free(t.D);
    free(t.X);
    free(t.scratch);
    free(t.atoms);
    return ms;
}

static size_t speedup_signals(void) { return (size_t)sized(4096, 65536, 65536); }
static size_t twin_signals(void) { return (size_t)sized(512, 1024, 8192); }
enum { TWIN_N = 128 }; /* the twin computes the residual again for each atom: n^2 p m operations */

static void speedup_row(const char *setting, const char *paper, double baseline, const double *ours, const char *note) {
    row(setting, paper, ratio(baseline, ours[0]), ratio(baseline, ours[1]), ratio(baseline, ours[2]), note);
}

static void speedups(void) {
    size_t m = speedup_signals(), few = twin_signals();
    int n = 512, s = 8;
    double pak[3], ak[3], small[3], plain = serial_seconds("O2", "aksvd"), plain_ms = NOT_RUN, textbook;
    const char *base, *plain_share;
    shs_real *Y;
    if (!item_begin("speedups", "table", "PAK-SVD with N~ = n: how many times as fast as AK-SVD on a CPU")) return;
    Y = patch_signals(m, 1, 1);
    step_of(0, 3, "speed-ups, AK-SVD");
    ak[0] = iteration_ms(n, s, 1, m, Y, &run.one);
    ak[1] = iteration_ms(n, s, 1, m, Y, &run.all);
    ak[2] = device_iteration_ms(n, s, 1, m, Y);
    step_of(1, 3, "speed-ups, PAK-SVD");
    pak[0] = iteration_ms(n, s, n, m, Y, &run.one);
    pak[1] = iteration_ms(n, s, n, m, Y, &run.all);
    pak[2] = device_iteration_ms(n, s, n, m, Y);
    small[0] = iteration_ms(TWIN_N, s, TWIN_N, few, Y, &run.one);
    small[1] = iteration_ms(TWIN_N, s, TWIN_N, few, Y, &run.all);
    small[2] = device_iteration_ms(TWIN_N, s, TWIN_N, few, Y);
    step_of(2, 3, "speed-ups, the textbook twin");
    textbook = twin_ms(TWIN_N, s, few, Y);
    put_line("unit", "milliseconds an iteration; in the rows of speed-ups: times");
    rows_begin(NULL);
    row(text_of("AK-SVD; m %d", (int)m), NULL, ak[0], ak[1], ak[2],
        share_of_peak(iteration_operations(n, s, m), ak[0] / 1e3, 0));
    row(text_of("PAK-SVD N~ = n; m %d", (int)m), NULL, pak[0], pak[1], pak[2],
        share_of_peak(iteration_operations(n, s, m), pak[0] / 1e3, 0));
    if (plain > 0) plain_ms = 1e3 * plain;
    plain_share = share_of_peak(iteration_operations(n, s, m), plain, 0);
    row(text_of("AK-SVD as plain C (SPARSEHS_NO_SIMD) at -O2; m %d", (int)m), NULL, plain_ms, NOT_RUN, NOT_RUN,
        unless_run(plain, "not run: no serial build", plain_share));
    row(text_of("AK-SVD in the textbook twin (shs_ksvd_naive); n %d; m %d", TWIN_N, (int)few), NULL, textbook, NOT_RUN, NOT_RUN,
        text_of("in double; %s", share_of_peak(iteration_operations(TWIN_N, s, few), textbook / 1e3, 1)));
    base = text_of("baseline %s", share_of_peak(iteration_operations(n, s, m), ak[0] / 1e3, 0));
    speedup_row("speed-up over our AK-SVD on one thread", "11.98", ak[0], pak,
                text_of("%s; the paper's baseline is its own AK-SVD on an i7-3930K and its device a FirePro V8800", base));
    if (plain > 0)
        speedup_row("speed-up over our AK-SVD as plain C at -O2", "", plain_ms, pak, text_of("baseline %s", plain_share));
    speedup_row("speed-up over the textbook twin", "", textbook, small,
                text_of("n %d; m %d; baseline %s", TWIN_N, (int)few,
                        share_of_peak(iteration_operations(TWIN_N, s, few), textbook / 1e3, 1)));
    rows_end();
    remark("n 512, s 8 where nothing else is said. Operations are counted as m (2 p n + n s (s + 1) + 8 p s). A large speed-up "
           "over a baseline that uses little of the "
           "chip says little of the device.");
    item_end();
    free(Y);
}

/* ---- the remarks --------------------------------------------------------------------------------------------------- */

static void rounds(void) {
    int iterations = sized(16, 100, 200), late = sized(8, 50, 50), i;
    size_t m = (size_t)sized(1024, 4096, 16384);
    shs_step schedule[2] = {{0, 1}, {0, 2}};
    static const struct {
        int n, group, rounds; /* 0: one round, then two */
    } runs[] = {{256, 64, 1}, {256, 64, 0}, {256, 64, 2}, {512, 256, 1}, {512, 256, 2}};
    shs_real *Y;
    schedule[1].from = late;
    if (!item_begin("rounds", "figure", "The remark on u: rounds of updates after each coding")) return;
    Y = patch_signals(m, 1, 1);
    put_line("x", "iteration");
    put_line("y", "RMSE = ||Y - DX|| / sqrt(p m)");
    for (i = 0; i < 5; i++) {
        training t = small_training(runs[i].n, 8, runs[i].group, iterations, m, Y);
        const char *name = text_of("n%d_u%d", runs[i].n, runs[i].rounds), *rises = "", *label;
        const char *u = text_of("%d", runs[i].rounds), *verdict = "no update raised the error";
        int k;
        if (!runs[i].rounds) u = text_of("1, then 2 from iteration %d on", late + 1);
        label = text_of("n %d, N~ %d, u %s", runs[i].n, runs[i].group, u);
        step_of(i, 5, label);
        t.rounds = runs[i].rounds;
        if (!runs[i].rounds) {
            t.rounds_schedule = schedule;
            t.rounds_steps = 2;
        }
        t.want_errors = 1;
        learn(&t, &run.all);
        error_rows(name, &t, NULL);
        curve(name, 4, label);
        for (k = 0; k < iterations; k++)
            if (t.history[k].rmse_update > t.history[k].rmse_coding) rises = text_of("%s %d", rises, k + 1);
        if (*rises) verdict = text_of("the update raised the error of the coding in iteration%.120s", rises);
        remark("%s: error in the end %.5f; %s.", label, last_error(&t), verdict);
        training_free(&t);
    }
    remark("Paper (text only): with N~ up to 64, u = 1 for 50 iterations and then u >= 2 is best; with n 512, N~ >= 128, u >= "
           "2 from the start "
           "raises the error at the 2nd or 3rd update. Here s 8, m %d.",
           (int)m);
    item_end();
    free(Y);
}

typedef struct coding {
    const shs_context *ctx;
    int n, s;
    size_t m;
    const shs_real *Y, *D;
    shs_codes *codes;
} coding;

static void code_once(void *argument) {
    coding *c = (coding *)argument;
    check(shs_omp(c->ctx, P, c->n, c->D, c->m, c->Y, c->s, c->codes), "coding");
}

static void stages(void) {
    size_t m = (size_t)sized(2048, 16384, 16384);
    const shs_context *where[3];
    double ms[3][3]; /* coding, iteration, update; one thread, all, device */
    const char *note = NULL;
    shs_codes codes = SHS_ZERO;
    int n = 512, s = 8, w;
    coding c;
    shs_real *Y;
    where[0] = &run.one;
    where[1] = &run.all;
    where[2] = &run.on_device;
    if (!item_begin("stages", "table", "The remark on coding and update: an update takes less than a coding")) return;
    Y = patch_signals(m, 1, 1);
    check(shs_codes_create(NULL, m, s, &codes), "codes");
    c.n = n;
    c.s = s;
    c.m = m;
    c.Y = Y;
    c.D = Y;
    c.codes = &codes;
    for (w = 0; w < 3; w++) {
        ms[0][w] = ms[1][w] = ms[2][w] = NOT_RUN;
        step_of(w, 3, "coding and update");
        if (w == 2 && !run.has_device) continue;
        c.ctx = where[w];
        ms[0][w] = 1e3 * median_seconds(code_once, &c);
        ms[1][w] = iteration_ms(n, s, n, m, Y, where[w]);
        if (ms[1][w] > ms[0][w]) ms[2][w] = ms[1][w] - ms[0][w];
        else ms[2][w] = NOT_RUN;
    }
    put_line("unit", "milliseconds");
    rows_begin(NULL);
    row("coding", "", ms[0][0], ms[0][1], ms[0][2], "shs_omp by itself; on a device with the upload of the signals");
    row("iteration (N~ = n)", "", ms[1][0], ms[1][1], ms[1][2], NULL);
    if (ms[2][0] < 0 || ms[2][1] < 0 || (run.has_device && ms[2][2] < 0))
        note = "empty: an iteration took no longer than a coding by itself";
    row("update = iteration less coding", "", ms[2][0], ms[2][1], ms[2][2], note);
    row("coding / update", "2 to 3", ratio(ms[0][0], ms[2][0]), ratio(ms[0][1], ms[2][1]), ratio(ms[0][2], ms[2][2]),
        "text of the paper");
    rows_end();
    remark("n 512, s 8, m %d.", (int)m);
    item_end();
    shs_codes_free(NULL, &codes);
    free(Y);
}

/* D'Y by our product and by those of others. */
static void blas(void) {
    static const char missing[] = "not here, or not for this device";
    product w;
    double one, all, there, operations;
    shs_real *Y;
    if (!item_begin("blas", "table", "The remark on BLAS: the product D'Y, ours and a vendor's")) return;
    memset(&w, 0, sizeof w);
    w.transposed = 1;
    w.rows = 512;
    w.columns = sized(2048, 16384, 16384);
    w.k = P;
    w.A = w.B = Y = patch_signals((size_t)w.columns, 1, 1);
    w.C = ALLOCATE(shs_real, (size_t)w.rows * (size_t)w.columns);
    operations = 2e-9 * P * w.rows * w.columns;
    put_line("unit", "GFLOP/s");
    rows_begin(NULL);
    w.ctx = &run.one;
    one = median_seconds(gemm_once, &w);
    w.ctx = &run.all;
    all = median_seconds(gemm_once, &w);
    w.ctx = &run.on_device;
    if (run.has_device) there = median_seconds(gemm_once, &w);
    else there = NOT_RUN;
    row("shs_gemm", "", operations / one, operations / all, ratio(operations, there),
        text_of("%s; device: with the transfers of D and Y, and of the product",
                share_of_peak(1e9 * operations, one, VENDOR_WIDE)));
    if (run.has_device) {
        int k;
        device_seconds();
        for (k = 0; k < 5; k++) gemm_once(&w);
        row("shs_gemm: its kernels alone", "", NOT_RUN, NOT_RUN, ratio(5 * operations, device_seconds()),
            "by the device's own clock");
    }
    if (find_openblas()) {
        openblas.threads(1);
        one = median_seconds(openblas_once, &w);
        openblas.threads(run.threads);
        all = median_seconds(openblas_once, &w);
        row(openblas_kernels(), "", operations / one, operations / all, NOT_RUN, "on the CPU only");
    } else row("OpenBLAS", "", NOT_RUN, NOT_RUN, NOT_RUN, "not installed");
    there = clblast_seconds(&w);
    row("CLBlast", "", NOT_RUN, NOT_RUN, ratio(operations, there), unless_run(there, missing, "resident, with the launch"));
    there = cublas_seconds(&w);
    row("cuBLAS", "", NOT_RUN, NOT_RUN, ratio(operations, there), unless_run(there, missing, "resident, with the launch"));
    rows_end();
    remark("Paper (text only): the vendor's BLAS did not make up for its transfers. p 64, n %d, m %d.", w.rows, w.columns);
    item_end();
    free(Y);
    free(w.C);
}

int main(int argc, char **argv) {
    papers_begin(argc, argv, "paksvd",
                 "The tables and figures of the PAK-SVD paper (Irofti, Dumitrescu 2014) with today's numbers.", 9);
    if (run.serial) {
        shs_real *Y = patch_signals(speedup_signals(), 1, 1);
        serial_result("aksvd", iteration_ms(512, 8, 1, speedup_signals(), Y, &run.one) / 1e3);
        papers_end();
        return 0;
    }
    if (pictures_are_there())
        substituted("Pictures: barbara, boat, peppers and house, random patches of 8x8 pixels, mean removed, at unit norm; the "
                    "paper's list (barb, lena, boat and others) is not complete in our copy.");
    else
        substituted("Pictures: the test pictures are not here, so patches of a synthetic picture stand in: soft edges and "
                    "textures, mean removed, at unit norm.");
    substituted("KSVD-Box: not shipped here. Our AK-SVD with one thread stands for it, and the authors' toolbox by its stored "
                "results.");
    substituted("FirePro V8800 and i7-3930K: this machine and its OpenCL device, named above.");
    figure1();
    toolbox();
    table1();
    figure2();
    figure3();
    speedups();
    rounds();
    stages();
    blas();
    papers_end();
    return 0;
}
