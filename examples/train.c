/* train.c - learns a dictionary for the patches of pictures, and shows it.

       cc -O3 -fopenmp train.c -o train -lm
       ./train a.png b.png --atoms 256 --sparsity 6 --out photos

   writes, atoms always in the order of their use, the most used first:
       photos_dictionary.csv   the dictionary: one row for each value of a patch, one column for each atom
       photos_atoms.png        the atoms as pictures, row by row, each stretched to the full range of grey
       photos_error.csv        what each iteration did
       photos_error.png        the error over the iterations, drawn by gnuplot where that is installed
       photos_rounds.csv       the error after each round of updates (--each-round)
       photos_compare.csv      the errors with other numbers of atoms at a time (--compare), which the picture shows too
   With --online it learns batch by batch from patches that are cut out when their turn comes, or from a file of numpy's:
       ./train a.png b.png --online --patches 1000000 --test 2000
       ./train signals.npy --online    (signals, values): read in pieces, so it may be larger than memory
   photos_error.csv then says what each batch did, and atoms are in the order of what they contribute.
   And with --export-c dictionary.h the dictionary and its Gram matrix as C arrays, as embedded.c takes them; with --export-type
   i8 or u8 the atoms in a quarter of the bytes. */
#include "example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"
#ifdef EXAMPLE_OPENCL /* for --device */
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
#endif

enum { STEPS = 32, CURVES = 8 };

/* A schedule for shs_ksvd_options, or a plain list of numbers. */
typedef struct steps {
    shs_step list[STEPS];
    int count;
} steps;

/* Of learning from all patches at once. */
typedef struct ksvd_settings {
    int iterations, parallel_atoms, rounds, each_round;
    const char *update, *replace, *keep;
    const char *groups_text, *rounds_text, *compare_text;
    steps group_steps, round_steps, compare; /* made of those texts */
} ksvd_settings;

/* Of learning batch by batch. */
typedef struct online_settings {
    int wanted, batch, test;
    double forgetting;
} online_settings;

typedef struct settings {
    int atoms, sparsity, patch, patches, unit_norm, unit_scale, threads;
    uint64_t seed;
    const char *out, *export_c, *export_type, *device;
    ksvd_settings ksvd;
    online_settings online;
} settings;

/* The names of the files written. */
typedef struct outputs {
    char *dictionary, *atoms, *errors, *plot, *rounds, *compare; /* the last two: NULL where they are not written */
} outputs;

/* A learnt dictionary and how it came about. */
typedef struct training {
    int p, n, width, channels;
    size_t m;
    shs_real *Y, *D;
    double *uses;             /* number of uses of each atom; online: the sum of its squared coefficients */
    shs_ksvd_record *history; /* report.iterations of them */
    shs_ksvd_report report;
    shs_ksvd_record *others[CURVES]; /* of the runs to compare with */
    shs_online_record *batches;      /* online.batches of them */
    shs_online_report online;
} training;

/* In the order of shs_replace and shs_keep. */
#define REPLACE_WORDS "worst|leave|random"
#define KEEP_WORDS "best|last"

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* From 0..255 to 0..1. */
static void shrink(picture *a) {
    size_t i;
    for (i = 0; i < picture_size(a); i++) a->pixels[i] /= 255;
}

/* Picture i of all, and which of its patches are taken: as many as its share of the rest allows, in random order. */
static picture read_picture(char **names, int i, int count, const settings *s, training *t, shown_patches *shown) {
    picture a = picture_read(names[i]);
    shs_patches set = SHS_ZERO;
    if (a.width < s->patch || a.height < s->patch)
        fail(EXIT_ERROR, "%s: %d x %d pixels are less than one patch of %d x %d", names[i], a.width, a.height, s->patch,
             s->patch);
    if (i > 0 && a.channels != t->channels)
        fail(EXIT_ERROR, "%s: %s, but %s is not; all must be the same", names[i], picture_kind(&a), names[0]);
    t->channels = a.channels;
    t->p = s->patch * s->patch * a.channels;
    set.width = set.height = s->patch;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = ((size_t)s->patches - t->m) / (size_t)(count - i);
    set.seed = s->seed + (uint64_t)i;
    set.unit_norm = s->unit_norm;
    *shown = picture_shown_patches(&a, &set, NULL);
    if (shown->count == 0)
        fail(EXIT_ERROR, "%s: nothing to learn from: a fully transparent pixel is in each patch of %d x %d", names[i], s->patch,
             s->patch);
    if (s->unit_scale) shrink(&a);
    return a;
}

/* The patches of all pictures side by side. */
static void gather_patches(const shs_context *ctx, char **names, int count, const settings *s, training *t) {
    int i;
    for (i = 0; i < count; i++) {
        shown_patches shown;
        picture a = read_picture(names, i, count, s, t, &shown);
        const size_t taken = shown.count;
        t->Y = (shs_real *)realloc(t->Y, values_of(t->m + taken, t->p) * sizeof *t->Y);
        if (!t->Y) fail(EXIT_ERROR, "--patches: no memory for %zu patches", t->m + taken);
        check(picture_take_patches(ctx, &a, &shown, 0, taken, t->p, t->Y + values_of(t->m, t->p)), names[i]);
        t->m += taken;
        free(shown.which);
        picture_free(&a);
    }
}

/* Atoms by descending use; of equals the first comes first. */
static void sort_by_use(training *t, const double *uses) {
    size_t p = (size_t)t->p, n = (size_t)t->n, *place = ALLOCATE(size_t, n), i, j;
    shs_real *sorted = ALLOCATE(shs_real, p * n);
    for (i = 0; i < n; i++)
        for (j = 0; j < i; j++) { /* of any two the lesser moves back by one */
            if (uses[j] >= uses[i]) place[i]++;
            else place[j]++;
        }
    for (i = 0; i < n; i++) {
        memcpy(sorted + place[i] * p, t->D + i * p, p * sizeof *sorted);
        t->uses[place[i]] = uses[i];
    }
    free(place);
    free(t->D);
    t->D = sorted;
}

static shs_update rule_of(const char *name) {
    int u = 0;
    while (u < SHS_UPDATE_COUNT && strcmp(name, shs_update_name((shs_update)u)) != 0) u++;
    if (u == SHS_UPDATE_COUNT) fail(EXIT_USAGE, "--update: %s is unknown", name);
    return (shs_update)u;
}

/* Which of the words, divided by |, the option's value is. */
static int word_of(const char *name, const char *words, const char *word) {
    int which = find_word(words, word);
    if (which < 0) fail(EXIT_USAGE, "%s: %s is none of %s", name, word, words);
    return which;
}

/* The most rounds that an iteration has. */
static int most_rounds(const settings *s) {
    int most = s->ksvd.rounds, i;
    for (i = 0; i < s->ksvd.round_steps.count; i++)
        if (s->ksvd.round_steps.list[i].value > most) most = s->ksvd.round_steps.list[i].value;
    return most;
}

static shs_ksvd_options learning_options(const settings *s) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = s->ksvd.iterations;
    o.coding.sparsity = s->sparsity;
    o.update = rule_of(s->ksvd.update);
    o.parallel_atoms = s->ksvd.parallel_atoms;
    o.rounds = s->ksvd.rounds;
    o.parallel_atoms_schedule = s->ksvd.group_steps.list;
    o.parallel_atoms_steps = s->ksvd.group_steps.count;
    o.rounds_schedule = s->ksvd.round_steps.list;
    o.rounds_steps = s->ksvd.round_steps.count;
    o.replace = (shs_replace)word_of("--replace", REPLACE_WORDS, s->ksvd.replace);
    o.keep = (shs_keep)word_of("--keep", KEEP_WORDS, s->ksvd.keep);
    o.seed = s->seed;
    return o;
}

static signals_work signals_of(const training *t, shs_real *D, const shs_ksvd_options *learning, shs_ksvd_report *report) {
    signals_work w = SHS_ZERO;
    w.p = t->p;
    w.n = t->n;
    w.m = t->m;
    w.Y = t->Y;
    w.D = D;
    w.learning = learning;
    w.report = report;
    return w;
}

/* The runs to compare with: the same but for the number of atoms at a time; of them only the errors stay. */
static void learn_others(const shs_context *ctx, const settings *s, training *t) {
    shs_real *D = ALLOCATE(shs_real, elements(t->n, t->p));
    int c;
    for (c = 0; c < s->ksvd.compare.count; c++) {
        shs_ksvd_options o = learning_options(s);
        shs_ksvd_report report = SHS_ZERO;
        signals_work w = signals_of(t, D, &o, &report);
        t->others[c] = ALLOCATE(shs_ksvd_record, s->ksvd.iterations);
        o.parallel_atoms = s->ksvd.compare.list[c].value;
        o.parallel_atoms_steps = 0;
        report.history = t->others[c];
        check(learn_on_devices(ctx, &w), "learning to compare");
    }
    free(D);
}

static void learn(const shs_context *ctx, const settings *s, training *t) {
    shs_ksvd_options learning = learning_options(s);
    signals_work w = signals_of(t, t->D, &learning, &t->report);
    shs_codes codes = SHS_ZERO;
    double *uses;
    size_t i;
    int k;
    t->history = ALLOCATE(shs_ksvd_record, s->ksvd.iterations);
    t->report.history = t->history;
    if (s->ksvd.each_round) {
        learning.rmse_after_rounds = 1;
        t->report.round_stride = most_rounds(s);
        t->report.round_history = ALLOCATE(shs_wide, elements(s->ksvd.iterations, t->report.round_stride));
    }
    check(shs_codes_create(ctx, t->m, s->sparsity, &codes), "the codes");
    w.codes = &codes;
    check(learn_on_devices(ctx, &w), "learning the dictionary");
    learn_others(ctx, s, t);
    progress_clear();
    uses = ALLOCATE(double, t->n);
    for (i = 0; i < t->m; i++) {
        const int *atoms = codes.atoms + values_of(i, codes.stride);
        for (k = 0; k < codes.used[i]; k++) uses[atoms[k]]++;
    }
    sort_by_use(t, uses);
    free(uses);
    shs_codes_free(ctx, &codes);
}

/* ---- learning batch by batch ------------------------------------------------------------------------------------- */

/* The source of signals: pictures, each with a share in every batch, or the rows of a .npy file. */
typedef struct source {
    shs_context ctx; /* that reports nothing */
    int count;       /* pictures */
    picture *pictures;
    shown_patches *sets;
    size_t *taken; /* patches of each */
    const char *name;
    FILE *file;
    shs_npy npy;
    size_t m, delivered;
    shs_status status;
} source;

static int read_bytes(void *user, void *bytes, size_t count) { return fread(bytes, 1, count, (FILE *)user) != count; }

/* The next patches of one picture. */
static shs_status take_patches(source *from, int i, int p, size_t count, shs_real *Y) {
    size_t first = from->taken[i];
    from->taken[i] += count;
    return picture_take_patches(&from->ctx, from->pictures + i, from->sets + i, first, count, p, Y);
}

/* Patches of all pictures: of each as large a share as of all patches, rounded down. The last picture has what is lacking then, or
   any picture with patches left, where the last has too few. */
static shs_status deliver_patches(source *from, int p, size_t count, shs_real *Y) {
    double share = (double)(from->delivered + count) / (double)from->m;
    size_t done = 0;
    shs_status status = SHS_OK;
    int i;
    for (i = 0; i < from->count && status == SHS_OK; i++) {
        size_t left = from->sets[i].count - from->taken[i], now = (size_t)(share * (double)from->sets[i].count);
        if (now > from->taken[i]) now = now - from->taken[i];
        else now = 0;
        if (now > left || i + 1 == from->count) now = left;
        if (now > count - done) now = count - done;
        status = take_patches(from, i, p, now, Y + values_of(done, p));
        done += now;
    }
    for (i = 0; i < from->count && status == SHS_OK && done < count; i++) {
        size_t now = from->sets[i].count - from->taken[i];
        if (now > count - done) now = count - done;
        status = take_patches(from, i, p, now, Y + values_of(done, p));
        done += now;
    }
    return status;
}

static int deliver(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    source *from = (source *)user;
    shs_npy rows = from->npy;
    if (from->m - from->delivered < most) *count = from->m - from->delivered;
    else *count = most;
    if (*count == 0) return 0;
    rows.dimensions = 2; /* a signal is a column */
    rows.rows = (uint64_t)p;
    rows.columns = *count;
    rows.fortran_order = 1;
    if (from->file) from->status = shs_npy_read_values(&rows, SHS_TYPE_REAL, Y, (size_t)p, read_bytes, from->file);
    else from->status = deliver_patches(from, p, *count, Y);
    from->delivered += *count;
    return from->status != SHS_OK;
}

static source open_pictures(const shs_context *ctx, char **names, int count, const settings *s, training *t) {
    source from = SHS_ZERO;
    int i;
    from.ctx = *ctx;
    from.ctx.progress_fn = NULL;
    from.count = count;
    from.name = names[0];
    from.pictures = ALLOCATE(picture, count);
    from.sets = ALLOCATE(shown_patches, count);
    from.taken = ALLOCATE(size_t, count);
    for (i = 0; i < count; i++) {
        from.pictures[i] = read_picture(names, i, count, s, t, from.sets + i);
        t->m += from.sets[i].count;
    }
    from.m = t->m;
    return from;
}

/* The first patches again. */
static void look_back(source *from, training *t) {
    size_t most = 10000, count;
    memset(from->taken, 0, (size_t)from->count * sizeof *from->taken);
    from->delivered = 0;
    if (from->m < most) t->m = from->m;
    else t->m = most;
    t->Y = ALLOCATE(shs_real, values_of(t->m, t->p));
    if (deliver(from, t->p, t->m, t->Y, &count)) check(from->status, from->name);
}

static source open_npy(const char *name, training *t) {
    source from = SHS_ZERO;
    from.name = name;
    from.file = fopen(name, "rb");
    if (!from.file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    check(shs_npy_read_header(&from.npy, read_bytes, from.file), name);
    if (from.npy.dimensions != 2 || from.npy.fortran_order)
        fail(EXIT_ERROR, "%s: it must have a row for each signal, (signals, values), row by row", name);
    if (from.npy.rows < 1 || from.npy.columns < 1 || from.npy.columns > 1 << 24 || from.npy.rows > SIZE_MAX)
        fail(EXIT_ERROR, "%s: its shape (%.0f, %.0f) is not one of signals", name, (double)from.npy.rows,
             (double)from.npy.columns);
    t->p = (int)from.npy.columns;
    t->channels = 1;
    for (t->width = 1; t->width * t->width < t->p;) t->width++;
    if (t->width * t->width != t->p) t->width = 0; /* no picture of atoms */
    from.m = t->m = (size_t)from.npy.rows;
    return from;
}

static void close_source(source *from) {
    int i;
    if (from->file) fclose(from->file);
    for (i = 0; i < from->count; i++) {
        picture_free(from->pictures + i);
        free(from->sets[i].which);
    }
    free(from->pictures);
    free(from->sets);
    free(from->taken);
}

static void check_source(const source *from) {
    if (from->file && from->status == SHS_READ_FAILED)
        fail(EXIT_ERROR, "%s: it is truncated, or cannot be read: signal %zu of %zu is missing, or one before it", from->name,
             from->delivered, from->m);
    check(from->status, from->name);
}

/* Learning batch by batch on several devices: each gets its part of every batch. */
typedef struct online_work {
    source *from;
    const training *t;
    const shs_online_options *o; /* of one device */
    size_t loaded, count;        /* batches read so far; signals of the last one, */
    shs_real *Y;                 /* and these */
    shs_online_report *report;
} online_work;

typedef struct online_rank {
    online_work *all;
    const shs_context *ctx;
    size_t taken; /* batches */
} online_rank;

/* A rank's part of the next batch, which the first rank that comes reads. The others have taken theirs of the batch before,
   since all ranks have reduced its sums. */
static int deliver_part(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    online_rank *mine = (online_rank *)user;
    online_work *all = mine->all;
    size_t first;
    ranks_lock(mine->ctx);
    if (mine->taken == all->loaded) {
        all->count = 0;
        if (all->from->status == SHS_OK) deliver(all->from, p, all->o->batch, all->Y, &all->count);
        all->loaded++;
    }
    mine->taken++;
    *count = devices_range(mine->ctx, all->count, &first);
    if (*count > most) *count = most;
    memcpy(Y, all->Y + values_of(first, p), values_of(*count, p) * sizeof *Y);
    ranks_unlock(mine->ctx);
    return all->from->status != SHS_OK;
}

static shs_status learn_online_as_rank(const shs_context *ctx, void *arg) {
    online_work *all = (online_work *)arg;
    const training *t = all->t;
    shs_online_options o = *all->o;
    online_rank mine = {all, ctx, 0};
    shs_real *D = t->D;
    shs_status status;
    size_t first, part;
    int r;
    if (ctx->ranks < 2) return shs_online_ex(ctx, t->p, t->n, deliver, all->from, &o, D, t->p, all->report);
    o.batch = 1; /* the largest part: all ranks must name the same */
    for (r = 0; r < ctx->ranks; r++) {
        part = ranks_range_of(r, ctx->ranks, example_ranks.shares, all->o->batch, &first);
        if (part > o.batch) o.batch = part;
    }
    if (ctx->rank == 0) return shs_online_ex(ctx, t->p, t->n, deliver_part, &mine, &o, D, t->p, all->report);
    o.test = NULL; /* errors of the test set add up, too */
    o.test_m = 0;
    D = (shs_real *)malloc(elements(t->n, t->p) * sizeof *D);
    if (!D) return SHS_NO_MEMORY;
    status = shs_online_ex(ctx, t->p, t->n, deliver_part, &mine, &o, D, t->p, NULL);
    free(D);
    return status;
}

/* The first signals are the test set, which is not learnt from. */
static void learn_online(const shs_context *ctx, const settings *s, source *from, training *t) {
    shs_online_options o = SHS_ZERO;
    size_t n = (size_t)t->n, p = (size_t)t->p, test = (size_t)s->online.test, count, j;
    shs_real *held;
    double *energy = ALLOCATE(double, n);
    online_work work = SHS_ZERO;
    shs_status status;
    if (test >= from->m) fail(EXIT_USAGE, "--test: %d of %zu signals leave none to learn from", s->online.test, from->m);
    held = ALLOCATE(shs_real, p * test);
    if (test && deliver(from, t->p, test, held, &count)) check_source(from);
    o.coding.sparsity = s->sparsity;
    o.batch = (size_t)s->online.batch;
    o.forgetting = s->online.forgetting;
    o.seed = s->seed;
    o.replace = (shs_replace)word_of("--replace", REPLACE_WORDS, s->ksvd.replace);
    o.batches = (from->m - test + o.batch - 1) / o.batch;
    if (test) o.test = held;
    else o.test = NULL;
    o.test_m = test;
    o.test_every = 1 + o.batches / 100;
    t->batches = ALLOCATE(shs_online_record, o.batches);
    t->online.history = t->batches;
    t->online.history_most = o.batches;
    t->online.sums_xx = ALLOCATE(shs_wide, n * n);
    t->online.sums_yx = ALLOCATE(shs_wide, p * n);
    work.from = from;
    work.t = t;
    work.o = &o;
    work.Y = ALLOCATE(shs_real, p * o.batch);
    work.report = &t->online;
    status = on_devices(ctx, learn_online_as_rank, &work);
    free(work.Y);
    check_source(from);
    check(status, from->name);
    progress_clear();
    for (j = 0; j < n; j++) energy[j] = t->online.sums_xx[j * n + j];
    sort_by_use(t, energy);
    free(energy);
    free(held);
    free(t->online.sums_xx);
    free(t->online.sums_yx);
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

static outputs name_outputs(const settings *s) {
    outputs o;
    o.dictionary = derived_name(s->out, "_dictionary", ".csv");
    o.atoms = derived_name(s->out, "_atoms", ".png");
    o.errors = derived_name(s->out, "_error", ".csv");
    o.plot = derived_name(s->out, "_error", ".png");
    will_write(o.dictionary);
    picture_will_write(o.atoms, 1);
    will_write(o.errors);
    will_write(o.plot);
    if (s->ksvd.each_round) o.rounds = derived_name(s->out, "_rounds", ".csv");
    else o.rounds = NULL;
    if (s->ksvd.compare.count) o.compare = derived_name(s->out, "_compare", ".csv");
    else o.compare = NULL;
    if (o.rounds) will_write(o.rounds);
    if (o.compare) will_write(o.compare);
    if (s->export_c) will_write(s->export_c);
    return o;
}

static void free_outputs(outputs *o) {
    free(o->dictionary);
    free(o->atoms);
    free(o->errors);
    free(o->plot);
    free(o->rounds);
    free(o->compare);
}

static void write_dictionary(const training *t, const char *name) {
    FILE *file = open_for_writing(name);
    int i, j;
    for (i = 0; i < t->p; i++) {
        for (j = 0; j < t->n; j++) {
            if (j > 0) fputc(',', file);
            fprintf(file, "%.9g", (double)t->D[element_at(j, t->p, i)]);
        }
        fputc('\n', file);
    }
    close_written(file, name);
}

/* One atom into the picture, each value a square of zoom x zoom pixels. */
static void paint_atom(const training *t, const shs_real *atom, picture *a, int left, int top, int zoom) {
    shs_real low = atom[0], high = atom[0];
    const shs_real middle = (shs_real)127.5;
    int i, x, y, c;
    for (i = 1; i < t->p; i++) {
        if (atom[i] < low) low = atom[i];
        if (atom[i] > high) high = atom[i];
    }
    for (y = 0; y < t->width * zoom; y++)
        for (x = 0; x < t->width * zoom; x++)
            for (c = 0; c < t->channels; c++) {
                const shs_real value = atom[(c * t->width + y / zoom) * t->width + x / zoom];
                shs_real *painted = picture_pixel(a, element_at(top + y, a->width, left + x)) + c;
                *painted = middle;
                if (high > low) *painted = 255 * (value - low) / (high - low);
            }
}

static void write_atoms(const training *t, const char *name) {
    int columns = (int)ceil(sqrt(t->n)), rows = (t->n + columns - 1) / columns, j;
    int zoom = larger(24 / t->width, 1), tile = t->width * zoom + 2; /* with a black separator of 2 pixels */
    picture a = picture_create(columns * tile + 2, rows * tile + 2, t->channels);
    for (j = 0; j < t->n; j++)
        paint_atom(t, t->D + elements(j, t->p), &a, j % columns * tile + 2, j / columns * tile + 2, zoom);
    picture_write(name, &a);
    free(a.pixels);
}

static void write_errors(const training *t, const char *name) {
    FILE *file = open_for_writing(name);
    int i;
    fprintf(file, "iteration,rmse,atoms_a_patch,atoms_used,replaced,pruned\n");
    for (i = 0; i < t->report.iterations; i++) {
        const shs_ksvd_record *r = t->history + i;
        fprintf(file, "%d,%.9g,%.9g,%d,%d,%d\n", i + 1, r->rmse_coding, r->mean_atoms, r->atoms_used,
                r->replaced, r->pruned);
    }
    close_written(file, name);
}

static void write_batches(const training *t, const char *name) {
    FILE *file = open_for_writing(name);
    size_t i;
    fprintf(file, "batch,rmse,atoms_a_signal,atoms_used,replaced,pruned,signals,rmse_test\n");
    for (i = 0; i < t->online.batches; i++) {
        const shs_online_record *r = t->batches + i;
        fprintf(file, "%zu,%.9g,%.9g,%d,%d,%d,%zu,", i + 1, r->rmse, r->mean_atoms, r->atoms_used, r->replaced,
                r->pruned, r->signal_count);
        if (r->rmse_test >= 0) fprintf(file, "%.9g", r->rmse_test);
        fputc('\n', file);
    }
    close_written(file, name);
}

static void write_rounds(const training *t, const char *name) {
    FILE *file = open_for_writing(name);
    int i, r;
    fprintf(file, "iteration,round,rmse\n");
    for (i = 0; i < t->report.iterations; i++) {
        fprintf(file, "%d,0,%.9g\n", i + 1, t->history[i].rmse_coding); /* after coding */
        for (r = 0; r < t->report.round_stride; r++) {
            double error = t->report.round_history[i * t->report.round_stride + r];
            if (error >= 0) fprintf(file, "%d,%d,%.9g\n", i + 1, r + 1, error);
        }
    }
    close_written(file, name);
}

static void write_compare(const training *t, const settings *s, const char *name) {
    FILE *file = open_for_writing(name);
    int i, c;
    fprintf(file, "iteration");
    for (c = 0; c < s->ksvd.compare.count; c++) fprintf(file, ",rmse_%d_at_a_time", s->ksvd.compare.list[c].value);
    fputc('\n', file);
    for (i = 0; i < s->ksvd.iterations; i++) {
        fprintf(file, "%d", i + 1);
        for (c = 0; c < s->ksvd.compare.count; c++) fprintf(file, ",%.9g", t->others[c][i].rmse_coding);
        fputc('\n', file);
    }
    close_written(file, name);
}

#ifdef EXAMPLE_POSIX
/* A name between single quotes, as gnuplot reads it: a quote inside is doubled. */
static void put_quoted(FILE *file, const char *name) {
    fputc('\'', file);
    for (; *name; name++) {
        if (*name == '\'') fputc('\'', file);
        fputc(*name, file);
    }
    fputc('\'', file);
}
#endif

/* Returns why there is no picture; NULL: it was drawn. */
static const char *plot_errors(const settings *s, const char *csv, const char *compare, const char *png) {
#ifdef EXAMPLE_POSIX
    FILE *pipe;
    void (*before)(int);
    const char *steps_are = "iteration";
    int result, c;
    if (system("command -v gnuplot >/dev/null 2>&1") != 0) return "no gnuplot";
    pipe = popen("gnuplot 2>/dev/null", "w");
    if (!pipe) return "gnuplot did not start";
    if (s->online.wanted) steps_are = "batch";
    before = signal(SIGPIPE, SIG_IGN); /* a gnuplot that ends early does not end this program */
    fprintf(pipe, "set terminal png size 720,480\nset output ");
    put_quoted(pipe, png);
    fprintf(pipe, "\nset datafile separator ','\nset grid\n");
    fprintf(pipe, "set xlabel '%s'\nset ylabel 'rms error of a value'\nplot ", steps_are);
    put_quoted(pipe, csv);
    fprintf(pipe, " using 1:2 every ::1 with linespoints pointtype 7 linewidth 2 ");
    if (s->online.test) {
        fprintf(pipe, "title 'batch', ");
        put_quoted(pipe, csv);
        fprintf(pipe, " using 1:8 every ::1 with linespoints linewidth 2 title 'test set'");
    } else if (s->ksvd.group_steps.count) fprintf(pipe, "title 'atoms at a time by the schedule'");
    else if (s->ksvd.compare.count) fprintf(pipe, "title '%d at a time'", s->ksvd.parallel_atoms);
    else fprintf(pipe, "notitle");
    for (c = 0; c < s->ksvd.compare.count; c++) {
        fprintf(pipe, ", ");
        put_quoted(pipe, compare);
        fprintf(pipe, " using 1:%d every ::1 with linespoints linewidth 2 title '%d at a time'", c + 2,
                s->ksvd.compare.list[c].value);
    }
    fputc('\n', pipe);
    result = pclose(pipe);
    signal(SIGPIPE, before);
    if (result) return "gnuplot failed";
    return NULL;
#else
    (void)s;
    (void)csv;
    (void)compare;
    (void)png;
    return "no gnuplot on this system";
#endif
}

/* Before number i of a list with so many on a line. */
static void put_space(FILE *file, size_t i, size_t on_line) {
    if (i % on_line) fputc(' ', file);
    else fputs("\n    ", file);
}

static void write_array(FILE *file, const char *name, const char *size, const shs_real *values, size_t count) {
    size_t i;
    fprintf(file, "\nstatic const DICTIONARY_REAL %s[%s] = {", name, size);
    for (i = 0; i < count; i++) {
        put_space(file, i, 6);
        fprintf(file, "%.8ef,", (double)values[i]);
    }
    fprintf(file, "\n};\n");
}

#define EXPORT_TYPES "f32|i8|u8"
enum { EXPORT_F32, EXPORT_I8, EXPORT_U8 };

/* A dictionary in bytes: value i of atom j is low_j + scale_j * bytes[i + j * p]. */
typedef struct byte_dictionary {
    int type, *bytes;
    shs_real *scale, *low; /* as they are written: floats */
    shs_real *D;           /* what that means */
} byte_dictionary;

/* i8: low is 0 and bytes go from -127 to 127; u8: from the atom's least value, 0, to its largest, 255. Rounding changes the
   length of an atom, and a scale for each atom restores it. */
static byte_dictionary round_dictionary(const training *t, int type) {
    const int p = t->p, is_signed = type == EXPORT_I8;
    byte_dictionary b = SHS_ZERO;
    int i, j;
    b.type = type;
    b.bytes = ALLOCATE(int, elements(t->n, p));
    b.D = ALLOCATE(shs_real, elements(t->n, p));
    b.scale = ALLOCATE(shs_real, t->n);
    b.low = ALLOCATE(shs_real, t->n);
    for (j = 0; j < t->n; j++) {
        const shs_real *atom = t->D + elements(j, p), length = shs_nrm2(p, atom, 1);
        shs_real least = atom[0], most = atom[0], low, step, rounded, *D = b.D + elements(j, p);
        int *bytes = b.bytes + elements(j, p), pass;
        for (i = 1; i < p; i++) {
            if (atom[i] < least) least = atom[i];
            if (atom[i] > most) most = atom[i];
        }
        if (is_signed) {
            low = 0;
            step = most;
            if (step < -least) step = -least;
            step /= 127;
        } else {
            low = least;
            step = (most - least) / 255;
        }
        for (i = 0; i < p && step > 0; i++) bytes[i] = (int)lrint((double)((atom[i] - low) / step));
        for (pass = 0; pass < 2; pass++) {
            b.scale[j] = (shs_real)(float)step;
            b.low[j] = (shs_real)(float)low;
            for (i = 0; i < p; i++) D[i] = b.low[j] + b.scale[j] * (shs_real)bytes[i];
            rounded = shs_nrm2(p, D, 1);
            if (rounded > 0) {
                step *= length / rounded;
                low *= length / rounded;
            }
        }
    }
    return b;
}

static void free_bytes(byte_dictionary *b) {
    free(b->bytes);
    free(b->scale);
    free(b->low);
    free(b->D);
}

/* The parts of the exported C code that depend on the type of the bytes. `low` adds an atom's lowest value; in D'y that value
   is multiplied by the sum of y: `sum` computes it, `low_of_all` uses it. */
typedef struct byte_words {
    const char *type, *low, *sum, *low_of_all;
} byte_words;

static byte_words words_of(int type) {
    static const byte_words with_sign = {"signed char", "", "", ""};
    static const byte_words without = {"unsigned char", "dictionary_low[j] + ",
                                       "    DICTIONARY_REAL all = 0;\n"
                                       "    for (i = 0; i < DICTIONARY_LENGTH; i++) all += y[i];\n",
                                       "dictionary_low[j] * all + "};
    if (type == EXPORT_I8) return with_sign;
    return without;
}

/* Writes the bytes, a comment that explains the bytes, and the two functions to use them. */
static void write_bytes(FILE *file, const byte_dictionary *b, size_t count) {
    const byte_words words = words_of(b->type);
    size_t i;
    fprintf(file, "\n/* Value i of atom j is %sdictionary_scale[j] * dictionary_bytes[j * DICTIONARY_LENGTH + i]. */\n", words.low);
    fprintf(file, "#define DICTIONARY_BYTES\n");
    fprintf(file, "static const %s dictionary_bytes[DICTIONARY_LENGTH * DICTIONARY_ATOMS] = {", words.type);
    for (i = 0; i < count; i++) {
        put_space(file, i, 20);
        fprintf(file, "%d,", b->bytes[i]);
    }
    fprintf(file, "\n};\n");
}

static void write_byte_functions(FILE *file, const byte_dictionary *b) {
    const byte_words words = words_of(b->type);
    fprintf(file,
            "\n/* D'y straight from the bytes, with which shs_omp_one begins. */\n"
            "static inline void dictionary_correlate(const DICTIONARY_REAL *y, DICTIONARY_REAL *dty) {\n"
            "    const %s *bytes = dictionary_bytes;\n"
            "    int i, j;\n%s"
            "    for (j = 0; j < DICTIONARY_ATOMS; j++, bytes += DICTIONARY_LENGTH) {\n"
            "        DICTIONARY_REAL sum = 0;\n"
            "        for (i = 0; i < DICTIONARY_LENGTH; i++) sum += (DICTIONARY_REAL)bytes[i] * y[i];\n"
            "        dty[j] = %sdictionary_scale[j] * sum;\n"
            "    }\n"
            "}\n",
            words.type, words.sum, words.low_of_all);
    fprintf(file,
            "\n/* y += x times atom j: a signal is the sum of its atoms. */\n"
            "static inline void dictionary_add(int j, DICTIONARY_REAL x, DICTIONARY_REAL *y) {\n"
            "    const %s *bytes = dictionary_bytes + j * DICTIONARY_LENGTH;\n"
            "    int i;\n"
            "    for (i = 0; i < DICTIONARY_LENGTH; i++)\n"
            "        y[i] += x * (%sdictionary_scale[j] * (DICTIONARY_REAL)bytes[i]);\n"
            "}\n",
            words.type, words.low);
}

/* The signals are coded over both dictionaries. */
static void say_cost_of_bytes(const shs_context *ctx, const training *t, const settings *s, const byte_dictionary *b) {
    const shs_real *dictionaries[2];
    double rmse[2];
    shs_omp_options o = SHS_ZERO;
    shs_codes codes;
    int i;
    dictionaries[0] = t->D;
    dictionaries[1] = b->D;
    o.sparsity = s->sparsity;
    check(shs_codes_create(ctx, t->m, s->sparsity, &codes), "codes");
    for (i = 0; i < 2; i++) {
        shs_omp_report report;
        check(shs_omp_ex(ctx, t->p, t->n, dictionaries[i], t->p, t->m, t->Y, t->p, &o, &codes, NULL, &report), "coding");
        rmse[i] = report.rmse;
    }
    progress_clear();
    printf("rms error of a value, %zu patches coded anew: %.5g with atoms of float, %.5g with those of %s\n", t->m, rmse[0],
           rmse[1], s->export_type);
    shs_codes_free(ctx, &codes);
}

/* The size of the dictionary; stored: what holds its atoms. */
static void write_head(FILE *file, const training *t, const settings *s, const char *stored) {
    fprintf(file,
            "/* A dictionary for patches of %d x %d pixels in %d channel%s, written by train.c.\n"
            "   Column-major: atom j starts at dictionary_%s[j * DICTIONARY_LENGTH]; dictionary_gram is D'D.\n"
            "   Patches have the mean of each channel removed. */\n"
            "#ifndef DICTIONARY_H\n#define DICTIONARY_H\n\n"
            "#define DICTIONARY_PATCH %d    /* pixels across and down */\n"
            "#define DICTIONARY_CHANNELS %d\n"
            "#define DICTIONARY_LENGTH %d   /* p, values of an atom */\n"
            "#define DICTIONARY_ATOMS %d    /* n */\n"
            "#define DICTIONARY_SPARSITY %d /* s, atoms a patch while learning */\n"
            "#ifndef DICTIONARY_REAL\n#define DICTIONARY_REAL float\n#endif\n",
            t->width, t->width, t->channels, plural_s(t->channels), stored, t->width,
            t->channels, t->p, t->n, s->sparsity);
}

/* The Gram matrix comes along, because forming it costs a small device more than reading it. */
static void export_c(const shs_context *ctx, const training *t, const settings *s) {
    const int type = word_of("--export-type", EXPORT_TYPES, s->export_type);
    byte_dictionary b = SHS_ZERO;
    const shs_real *D = t->D;
    const char *stored = "atoms";
    const size_t values = elements(t->n, t->p), n = (size_t)t->n;
    shs_real *gram = ALLOCATE(shs_real, n * n);
    FILE *file = open_for_writing(s->export_c);
    if (type != EXPORT_F32) {
        b = round_dictionary(t, type);
        D = b.D;
        stored = "bytes";
        say_cost_of_bytes(ctx, t, s, &b);
    }
    check(shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, t->n, t->n, t->p, 1, D, t->p, D, t->p, 0, gram, t->n), "the Gram matrix");
    write_head(file, t, s, stored);
    if (type == EXPORT_F32) write_array(file, "dictionary_atoms", "DICTIONARY_LENGTH * DICTIONARY_ATOMS", D, values);
    else {
        write_bytes(file, &b, values);
        write_array(file, "dictionary_scale", "DICTIONARY_ATOMS", b.scale, n);
        if (type == EXPORT_U8) write_array(file, "dictionary_low", "DICTIONARY_ATOMS", b.low, n);
    }
    write_array(file, "dictionary_gram", "DICTIONARY_ATOMS * DICTIONARY_ATOMS", gram, n * n);
    if (type != EXPORT_F32) write_byte_functions(file, &b);
    fprintf(file, "\n#endif\n");
    close_written(file, s->export_c);
    free(gram);
    free_bytes(&b);
}

static void write_results(const training *t, const settings *s, const outputs *o) {
    const char *lack;
    write_dictionary(t, o->dictionary);
    if (t->width) write_atoms(t, o->atoms);
    if (s->online.wanted) write_batches(t, o->errors);
    else write_errors(t, o->errors);
    if (o->rounds) write_rounds(t, o->rounds);
    if (o->compare) write_compare(t, s, o->compare);
    printf("written: %s", o->dictionary);
    if (t->width) printf(" %s", o->atoms);
    printf(" %s", o->errors);
    lack = plot_errors(s, o->errors, o->compare, o->plot);
    if (lack) printf(" (%s, so no picture of the errors)\n", lack);
    else printf(" %s\n", o->plot);
    if (o->rounds) printf("written: %s\n", o->rounds);
    if (o->compare) printf("written: %s\n", o->compare);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* The defaults. */
#define NO_STEPS {{{0, 0}}, 0}
static settings chosen = {256, 6, 8, 20000, 0, 0, 0, 1, "train", NULL, "f32", NULL,
                          {20, 1, 1, 0, "aksvd", "worst", "best", NULL, NULL, NULL, NO_STEPS, NO_STEPS, NO_STEPS},
                          {0, 512, 0, 0}};

static const option options[] = {
    {"The dictionary", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--atoms", "N", OPTION_COUNT, &chosen.atoms, 1, "atoms of the dictionary (256)"},
    {"--sparsity", "S", OPTION_COUNT, &chosen.sparsity, 1, "atoms a patch (6)"},
    {"Learning", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--iterations", "K", OPTION_COUNT, &chosen.ksvd.iterations, 1, "iterations of learning (20)"},
    {"--update", "RULE", OPTION_TEXT, &chosen.ksvd.update, 0,
     "how atoms are updated: aksvd, sgk, ksvd, nsgk or mod (aksvd)"},
    {"--parallel-atoms", "N", OPTION_COUNT, &chosen.ksvd.parallel_atoms, 1, "atoms updated at a time (1)"},
    {"--rounds", "U", OPTION_COUNT, &chosen.ksvd.rounds, 1, "rounds of updates an iteration (1)"},
    {"--parallel-atoms-schedule", "I:N,..", OPTION_TEXT, &chosen.ksvd.groups_text, 0,
     "from iteration I on, counted from 0, N atoms at a time, as in 0:1,20:64"},
    {"--rounds-schedule", "I:U,..", OPTION_TEXT, &chosen.ksvd.rounds_text, 0, "likewise U rounds, as in 0:1,50:2"},
    {"--replace", "WAY", OPTION_TEXT, &chosen.ksvd.replace, 0,
     "an unused atom becomes the worst represented patch, stays, or is drawn: " REPLACE_WORDS " (worst)"},
    {"--keep", "WHICH", OPTION_TEXT, &chosen.ksvd.keep, 0, "the dictionary that is written: " KEEP_WORDS " (best)"},
    {"--each-round", NULL, OPTION_SWITCH, &chosen.ksvd.each_round, 0, "write the error after each round of updates too"},
    {"--compare", "N,..", OPTION_TEXT, &chosen.ksvd.compare_text, 0,
     "learn with N atoms at a time as well, for the picture of errors (8 at most)"},
    {"Learning batch by batch", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--online", NULL, OPTION_SWITCH, &chosen.online.wanted, 0, "learn batch by batch, each patch once; also from a .npy file"},
    {"--batch", "N", OPTION_COUNT, &chosen.online.batch, 1, "patches a batch, with --online (512)"},
    {"--forgetting", "F", OPTION_NUMBER, &chosen.online.forgetting, 0,
     "what a batch leaves of those before, in (0, 1], with --online (little at first, nearly all later)"},
    {"--test", "N", OPTION_COUNT, &chosen.online.test, 1, "patches that are held back, whose error is told, with --online (none)"},
    {"The patches", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--unit-norm", NULL, OPTION_SWITCH, &chosen.unit_norm, 0, "scale each patch to unit norm"},
    {"--unit-scale", NULL, OPTION_SWITCH, &chosen.unit_scale, 0, "scale pixels from 0..255 to 0..1"},
    {"--patch", "W", OPTION_COUNT, &chosen.patch, 2, "patches of W x W pixels (8)"},
    {"--patches", "COUNT", OPTION_COUNT, &chosen.patches, 1, "patches of all pictures together (20000)"},
    {"--seed", "N", OPTION_SEED, &chosen.seed, 0, "seed of the choice of patches and the start (1)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
    {"--device", "NAME", OPTION_TEXT, &chosen.device, 0, DEVICE_HELP},
    {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP},
    {"Output", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--out", "PREFIX", OPTION_TEXT, &chosen.out, 0, "beginning of the names written (train)"},
    {"--export-c", "FILE.h", OPTION_TEXT, &chosen.export_c, 0, "write dictionary and Gram matrix as C arrays"},
    {"--export-type", "T", OPTION_TEXT, &chosen.export_type, 0,
     "of its atoms: " EXPORT_TYPES "; a byte a value and a scale an atom take a quarter (f32)"},
    {"boat.png house.png", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"picture.png --atoms 64 --export-c atoms.h --export-type i8", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"signals.npy --online --batch 1024", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

/* FROM:VALUE,... with FROM ascending, or VALUE,... */
static void read_steps(const char *name, const char *text, int scheduled, int most, steps *to) {
    const char *at = text, *form = "N,N,..";
    char *end;
    if (scheduled) form = "I:N,I:N,..";
    while (at) {
        long from = to->count, value;
        int good = is_digit(*at);
        if (to->count == most) fail(EXIT_USAGE, "%s: %s has more than %d steps", name, text, most);
        if (good && scheduled) {
            from = strtol(at, &end, 10);
            good = *end == ':';
            if (good) at = end + 1;
        }
        good = good && is_digit(*at);
        if (good) value = strtol(at, &end, 10);
        else value = 0;
        if (!good || (*end && *end != ',') || value < 1 || value > INT_MAX || from > INT_MAX)
            fail(EXIT_USAGE, "%s: '%s' is not %s with whole numbers from 1 on", name, text, form);
        if (scheduled && to->count > 0 && from <= to->list[to->count - 1].from)
            fail(EXIT_USAGE, "%s: the iterations of '%s' do not ascend", name, text);
        to->list[to->count].from = (int)from;
        to->list[to->count++].value = (int)value;
        if (*end) at = end + 1;
        else at = NULL;
    }
}

/* Options that mean nothing here are refused. d: the defaults. */
static void check_options(const settings *s, const settings *d, int npy) {
    const struct {
        const char *name;
        int given, of_iterations, of_batches, of_pictures;
    } some[] = {{"--iterations", s->ksvd.iterations != d->ksvd.iterations, 1, 0, 0},
                {"--update", s->ksvd.update != d->ksvd.update, 1, 0, 0},
                {"--parallel-atoms", s->ksvd.parallel_atoms != d->ksvd.parallel_atoms, 1, 0, 0},
                {"--rounds", s->ksvd.rounds != d->ksvd.rounds, 1, 0, 0},
                {"--parallel-atoms-schedule", s->ksvd.groups_text != NULL, 1, 0, 0},
                {"--rounds-schedule", s->ksvd.rounds_text != NULL, 1, 0, 0},
                {"--keep", s->ksvd.keep != d->ksvd.keep, 1, 0, 0},
                {"--each-round", s->ksvd.each_round, 1, 0, 0},
                {"--compare", s->ksvd.compare_text != NULL, 1, 0, 0},
                {"--batch", s->online.batch != d->online.batch, 0, 1, 0},
                {"--forgetting", s->online.forgetting < 0 || s->online.forgetting > 0, 0, 1, 0},
                {"--test", s->online.test, 0, 1, 0},
                {"--patch", s->patch != d->patch, 0, 0, 1},
                {"--patches", s->patches != d->patches, 0, 0, 1},
                {"--unit-norm", s->unit_norm, 0, 0, 1},
                {"--unit-scale", s->unit_scale, 0, 0, 1},
                {"--export-c", s->export_c != NULL, 0, 0, 1}};
    size_t i;
    for (i = 0; i < sizeof some / sizeof *some; i++) {
        if (!some[i].given) continue;
        if (s->online.wanted && some[i].of_iterations) fail(EXIT_USAGE, "%s: not with --online", some[i].name);
        if (!s->online.wanted && some[i].of_batches) fail(EXIT_USAGE, "%s: is of --online", some[i].name);
        if (npy && some[i].of_pictures) fail(EXIT_USAGE, "%s: is of pictures, not of a .npy file", some[i].name);
    }
    if (!(s->online.forgetting >= 0) || s->online.forgetting > 1)
        fail(EXIT_USAGE, "--forgetting: %g is not in (0, 1]", s->online.forgetting);
}

static int parse(int argc, char **argv, settings *s) {
    const settings defaults = *s;
    int names = read_options(argc, argv, "IMAGE... [options]",
                             "Learns a dictionary for the patches of pictures (PNG, JPEG, BMP, PGM, PPM).", options,
                             COUNT_OF(options));
    int npy = names > 0 && has_extension(argv[0], ".npy");
    if (names < 1) fail(EXIT_USAGE, "needs at least one picture");
    if (npy && !s->online.wanted) fail(EXIT_USAGE, "%s: a .npy file is learnt from with --online", argv[0]);
    if (npy && names > 1) fail(EXIT_USAGE, "%s: %d files are given; a .npy file must be the only one", argv[1], names);
    check_options(s, &defaults, npy);
    if (s->patch > 256) fail(EXIT_USAGE, "--patch: %d is too large: at most 256", s->patch);
    read_steps("--parallel-atoms-schedule", s->ksvd.groups_text, 1, STEPS, &s->ksvd.group_steps);
    read_steps("--rounds-schedule", s->ksvd.rounds_text, 1, STEPS, &s->ksvd.round_steps);
    read_steps("--compare", s->ksvd.compare_text, 0, CURVES, &s->ksvd.compare);
    learning_options(s); /* stops where a word is unknown */
    if (word_of("--export-type", EXPORT_TYPES, s->export_type) != EXPORT_F32 && !s->export_c)
        fail(EXIT_USAGE, "--export-type: needs --export-c");
    if (s->patches < names) fail(EXIT_USAGE, "--patches: %d are less than one for each picture", s->patches);
    return names;
}

static void say_iterations(const training *t, const settings *s, double seconds) {
    const double patches = (double)t->m;
    printf("%zu patches of %d values, %d atoms, %d a patch, %d iterations in %.2f s\n", t->m, t->p, t->n, s->sparsity,
           t->report.iterations, seconds);
    printf("rms error of a value: %.4g at the start, %.4g at the end\n", t->history[0].rmse_coding,
           t->report.rmse);
    printf("the most used atom serves %.1f %% of the patches, the least used %.1f %%\n", 100 * t->uses[0] / patches,
           100 * t->uses[t->n - 1] / patches);
}

static void say_batches(const training *t, const settings *s, double seconds) {
    const shs_online_record *last = t->batches + (t->online.batches - 1);
    printf("%zu signals of %d values, %d atoms, %d a signal, %zu batches in %.2f s\n", t->online.signal_count, t->p, t->n,
           s->sparsity, t->online.batches, seconds);
    printf("rms error of a value: %.4g in the first batch, %.4g in the last\n", t->batches->rmse, last->rmse);
    if (s->online.test)
        printf("of the test set of %d: %.4g at the start, %.4g at the end\n", s->online.test, t->batches->rmse_test,
               t->online.rmse_test);
}

int main(int argc, char **argv) {
    settings *s = &chosen;
    training t = SHS_ZERO;
    source from = SHS_ZERO;
    shs_context ctx;
    outputs results;
    double start;
    int names = parse(argc, argv, s), i;
    for (i = 0; i < names; i++) will_read(argv[i]);
    results = name_outputs(s);
    ctx = example_context(s->threads, s->device);
    t.width = s->patch;
    t.n = s->atoms;
    if (has_extension(argv[0], ".npy")) from = open_npy(argv[0], &t);
    else if (s->online.wanted) from = open_pictures(&ctx, argv, names, s, &t);
    else gather_patches(&ctx, argv, names, s, &t);
    if (s->sparsity > s->atoms || s->sparsity > t.p)
        fail(EXIT_USAGE, "--sparsity: %d is more than the atoms (%d) or the values of a patch (%d)", s->sparsity, s->atoms,
             t.p);
    t.D = ALLOCATE(shs_real, elements(t.n, t.p));
    t.uses = ALLOCATE(double, t.n);
    start = wall_clock();
    if (s->online.wanted) learn_online(&ctx, s, &from, &t);
    else learn(&ctx, s, &t);
    if (s->online.wanted) say_batches(&t, s, wall_clock() - start);
    else say_iterations(&t, s, wall_clock() - start);
    write_results(&t, s, &results);
    if (s->export_c) {
        if (s->online.wanted) look_back(&from, &t);
        export_c(&ctx, &t, s);
        printf("written: %s\n", s->export_c);
    }
    example_end();
    free(t.Y);
    free(t.D);
    free(t.uses);
    free(t.history);
    free(t.batches);
    close_source(&from);
    free(t.report.round_history);
    for (i = 0; i < CURVES; i++) free(t.others[i]);
    free_outputs(&results);
    return EXIT_SUCCESS;
}
