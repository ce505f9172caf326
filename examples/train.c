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
   and with --export-c dictionary.h the dictionary and its Gram matrix as C arrays, as embedded.c takes them. */
#include "example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"
#ifdef EXAMPLE_OPENCL /* for --device */
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
#endif

enum { STEPS = 32, CURVES = 8 };

/* A schedule as shs_ksvd_options takes it, or a list of numbers, which are its values. */
typedef struct steps {
    shs_step list[STEPS];
    int count;
} steps;

typedef struct settings {
    int atoms, sparsity, iterations, parallel_atoms, rounds, patch, patches, threads;
    uint64_t seed;
    const char *out, *export_c, *device, *update;
    int unit_norm, unit_scale, each_round;
    const char *replace, *keep, *groups_text, *rounds_text, *compare_text;
    steps group_steps, round_steps, compare; /* made of those texts */
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
    size_t *uses;             /* of each atom */
    shs_ksvd_record *history; /* report.iterations of them */
    shs_ksvd_report report;
    shs_ksvd_record *others[CURVES]; /* of the runs to compare with */
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

/* Random patches of all pictures side by side, as many from each as its share of the rest allows. */
static void gather_patches(const shs_context *ctx, char **names, int count, const settings *s, training *t) {
    int i;
    for (i = 0; i < count; i++) {
        picture a = picture_read(names[i]);
        shs_image image = picture_image(&a);
        shs_patches set = SHS_ZERO;
        size_t taken;
        if (a.width < s->patch || a.height < s->patch)
            fail(EXIT_ERROR, "%s: %d x %d pixels are less than one patch of %d x %d", names[i], a.width, a.height, s->patch,
                 s->patch);
        if (i > 0 && a.channels != t->channels)
            fail(EXIT_ERROR, "%s: %s, but %s is not; all must be the same", names[i], a.channels == 1 ? "grey" : "colour",
                 names[0]);
        t->channels = a.channels;
        t->p = s->patch * s->patch * a.channels;
        set.width = set.height = s->patch;
        set.mode = SHS_PATCH_MODE_RANDOM;
        set.count = ((size_t)s->patches - t->m) / (size_t)(count - i);
        set.seed = s->seed + (uint64_t)i;
        set.unit_norm = s->unit_norm;
        if (s->unit_scale) shrink(&a);
        taken = shs_patches_count(&image, &set, NULL);
        t->Y = (shs_real *)realloc(t->Y, (t->m + taken) * (size_t)t->p * sizeof *t->Y);
        if (!t->Y) fail(EXIT_ERROR, "--patches: no memory for %zu patches", t->m + taken);
        check(shs_patches_get(ctx, &image, &set, 0, taken, t->Y + t->m * (size_t)t->p, t->p, NULL, NULL), names[i]);
        t->m += taken;
        free(a.pixels);
    }
}

/* Atoms by descending use; of equals the first comes first. */
static void sort_by_use(training *t, const size_t *uses) {
    size_t p = (size_t)t->p, n = (size_t)t->n, *place = ALLOCATE(size_t, n), i, j;
    shs_real *sorted = ALLOCATE(shs_real, p * n);
    for (i = 0; i < n; i++)
        for (j = 0; j < i; j++) place[uses[j] >= uses[i] ? i : j]++; /* of any two the lesser moves back by one */
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
    int most = s->rounds, i;
    for (i = 0; i < s->round_steps.count; i++)
        if (s->round_steps.list[i].value > most) most = s->round_steps.list[i].value;
    return most;
}

static shs_ksvd_options learning_options(const settings *s) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = s->iterations;
    o.coding.sparsity = s->sparsity;
    o.update = rule_of(s->update);
    o.parallel_atoms = s->parallel_atoms;
    o.rounds = s->rounds;
    o.parallel_atoms_schedule = s->group_steps.list, o.parallel_atoms_steps = s->group_steps.count;
    o.rounds_schedule = s->round_steps.list, o.rounds_steps = s->round_steps.count;
    o.replace = (shs_replace)word_of("--replace", REPLACE_WORDS, s->replace);
    o.keep = (shs_keep)word_of("--keep", KEEP_WORDS, s->keep);
    o.seed = s->seed;
    return o;
}

/* The runs to compare with: the same but for the number of atoms at a time; of them only the errors stay. */
static void learn_others(const shs_context *ctx, const settings *s, training *t) {
    shs_real *D = ALLOCATE(shs_real, (size_t)t->p * (size_t)t->n);
    int c;
    for (c = 0; c < s->compare.count; c++) {
        shs_ksvd_options o = learning_options(s);
        shs_ksvd_report report = SHS_ZERO;
        t->others[c] = ALLOCATE(shs_ksvd_record, s->iterations);
        o.parallel_atoms = s->compare.list[c].value, o.parallel_atoms_steps = 0;
        report.history = t->others[c];
        check(shs_ksvd_ex(ctx, t->p, t->n, t->m, t->Y, t->p, &o, D, t->p, NULL, &report), "learning to compare");
    }
    free(D);
}

static void learn(const shs_context *ctx, const settings *s, training *t) {
    shs_ksvd_options learning = learning_options(s);
    shs_codes codes = SHS_ZERO;
    size_t *uses, i;
    int k;
    t->n = s->atoms;
    t->D = ALLOCATE(shs_real, (size_t)t->p * (size_t)t->n);
    t->uses = ALLOCATE(size_t, t->n);
    t->history = ALLOCATE(shs_ksvd_record, s->iterations);
    t->report.history = t->history;
    if (s->each_round) {
        learning.rmse_after_rounds = 1;
        t->report.round_stride = most_rounds(s);
        t->report.round_history = ALLOCATE(shs_wide, (size_t)s->iterations * (size_t)t->report.round_stride);
    }
    check(shs_codes_create(ctx, t->m, s->sparsity, &codes), "the codes");
    check(shs_ksvd_ex(ctx, t->p, t->n, t->m, t->Y, t->p, &learning, t->D, t->p, &codes, &t->report), "learning the dictionary");
    learn_others(ctx, s, t);
    progress_clear();
    uses = ALLOCATE(size_t, t->n);
    for (i = 0; i < t->m; i++)
        for (k = 0; k < codes.used[i]; k++) uses[codes.atoms[i * (size_t)codes.stride + (size_t)k]]++;
    sort_by_use(t, uses);
    free(uses);
    shs_codes_free(ctx, &codes);
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
    o.rounds = s->each_round ? derived_name(s->out, "_rounds", ".csv") : NULL;
    o.compare = s->compare.count ? derived_name(s->out, "_compare", ".csv") : NULL;
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
    for (i = 0; i < t->p; i++)
        for (j = 0; j < t->n; j++)
            fprintf(file, "%.9g%c", (double)t->D[(size_t)j * (size_t)t->p + (size_t)i], j + 1 < t->n ? ',' : '\n');
    close_written(file, name);
}

/* One atom into the picture, each value a square of zoom x zoom pixels. */
static void paint_atom(const training *t, const shs_real *atom, picture *a, int left, int top, int zoom) {
    shs_real low = atom[0], high = atom[0];
    int i, x, y, c;
    for (i = 1; i < t->p; i++) {
        low = atom[i] < low ? atom[i] : low;
        high = atom[i] > high ? atom[i] : high;
    }
    for (y = 0; y < t->width * zoom; y++)
        for (x = 0; x < t->width * zoom; x++)
            for (c = 0; c < t->channels; c++) {
                shs_real value = atom[(c * t->width + y / zoom) * t->width + x / zoom];
                size_t pixel = (size_t)(top + y) * (size_t)a->width + (size_t)(left + x);
                a->pixels[pixel * (size_t)t->channels + (size_t)c] =
                    high > low ? 255 * (value - low) / (high - low) : (shs_real)127.5;
            }
}

static void write_atoms(const training *t, const char *name) {
    int columns = (int)ceil(sqrt((double)t->n)), rows = (t->n + columns - 1) / columns, j;
    int zoom = t->width < 24 ? 24 / t->width : 1, tile = t->width * zoom + 2; /* with a black separator of 2 pixels */
    picture a = picture_create(columns * tile + 2, rows * tile + 2, t->channels);
    for (j = 0; j < t->n; j++)
        paint_atom(t, t->D + (size_t)j * (size_t)t->p, &a, j % columns * tile + 2, j / columns * tile + 2, zoom);
    picture_write(name, &a);
    free(a.pixels);
}

static void write_errors(const training *t, const char *name) {
    FILE *file = open_for_writing(name);
    int i;
    fprintf(file, "iteration,rmse,atoms_a_patch,atoms_used,replaced,pruned\n");
    for (i = 0; i < t->report.iterations; i++) {
        const shs_ksvd_record *r = t->history + i;
        fprintf(file, "%d,%.9g,%.9g,%d,%d,%d\n", i + 1, (double)r->rmse_coding, (double)r->mean_atoms, r->atoms_used,
                r->replaced, r->pruned);
    }
    close_written(file, name);
}

static void write_rounds(const training *t, const char *name) {
    FILE *file = open_for_writing(name);
    int i, r;
    fprintf(file, "iteration,round,rmse\n");
    for (i = 0; i < t->report.iterations; i++) {
        fprintf(file, "%d,0,%.9g\n", i + 1, (double)t->history[i].rmse_coding); /* after coding */
        for (r = 0; r < t->report.round_stride; r++) {
            double error = (double)t->report.round_history[i * t->report.round_stride + r];
            if (error >= 0) fprintf(file, "%d,%d,%.9g\n", i + 1, r + 1, error);
        }
    }
    close_written(file, name);
}

static void write_compare(const training *t, const settings *s, const char *name) {
    FILE *file = open_for_writing(name);
    int i, c;
    fprintf(file, "iteration");
    for (c = 0; c < s->compare.count; c++) fprintf(file, ",rmse_%d_at_a_time", s->compare.list[c].value);
    fputc('\n', file);
    for (i = 0; i < s->iterations; i++) {
        fprintf(file, "%d", i + 1);
        for (c = 0; c < s->compare.count; c++) fprintf(file, ",%.9g", (double)t->others[c][i].rmse_coding);
        fputc('\n', file);
    }
    close_written(file, name);
}

#ifdef EXAMPLE_POSIX
/* A name between single quotes, as gnuplot reads it: a quote inside is doubled. */
static void put_quoted(FILE *file, const char *name) {
    fputc('\'', file);
    for (; *name; name++) fprintf(file, *name == '\'' ? "''" : "%c", *name);
    fputc('\'', file);
}
#endif

/* 0 where there is no gnuplot, or it cannot draw. */
static int plot_errors(const settings *s, const char *csv, const char *compare, const char *png) {
#ifdef EXAMPLE_POSIX
    FILE *pipe = system("command -v gnuplot >/dev/null 2>&1") == 0 ? popen("gnuplot 2>/dev/null", "w") : NULL;
    void (*before)(int);
    int drawn, c;
    if (!pipe) return 0;
    before = signal(SIGPIPE, SIG_IGN); /* a gnuplot that ends early does not end this program */
    fprintf(pipe, "set terminal png size 720,480\nset output ");
    put_quoted(pipe, png);
    fprintf(pipe, "\nset datafile separator ','\nset grid\n");
    fprintf(pipe, "set xlabel 'iteration'\nset ylabel 'rms error of a value'\nplot ");
    put_quoted(pipe, csv);
    fprintf(pipe, " using 1:2 every ::1 with linespoints pointtype 7 linewidth 2 ");
    if (s->group_steps.count) fprintf(pipe, "title 'atoms at a time by the schedule'");
    else if (s->compare.count) fprintf(pipe, "title '%d at a time'", s->parallel_atoms);
    else fprintf(pipe, "notitle");
    for (c = 0; c < s->compare.count; c++) {
        fprintf(pipe, ", ");
        put_quoted(pipe, compare);
        fprintf(pipe, " using 1:%d every ::1 with linespoints linewidth 2 title '%d at a time'", c + 2,
                s->compare.list[c].value);
    }
    fputc('\n', pipe);
    drawn = pclose(pipe) == 0;
    signal(SIGPIPE, before);
    return drawn;
#else
    (void)s, (void)csv, (void)compare;
    (void)png;
    return 0;
#endif
}

static void write_array(FILE *file, const char *name, const char *size, const shs_real *values, size_t count) {
    size_t i;
    fprintf(file, "\nstatic const DICTIONARY_REAL %s[%s] = {", name, size);
    for (i = 0; i < count; i++) fprintf(file, "%s%.8ef,", i % 6 ? " " : "\n    ", (double)values[i]);
    fprintf(file, "\n};\n");
}

/* The Gram matrix comes along, because forming it costs a small device more than reading it. */
static void export_c(const shs_context *ctx, const training *t, const settings *s) {
    size_t n = (size_t)t->n;
    shs_real *gram = ALLOCATE(shs_real, n * n);
    FILE *file = open_for_writing(s->export_c);
    check(shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, t->n, t->n, t->p, 1, t->D, t->p, t->D, t->p, 0, gram, t->n),
          "the Gram matrix");
    fprintf(file,
            "/* A dictionary for patches of %d x %d pixels in %d channel%s, written by train.c.\n"
            "   Column-major: atom j starts at dictionary_atoms[j * DICTIONARY_LENGTH]; dictionary_gram is D'D.\n"
            "   Patches have the mean of each channel removed. */\n"
            "#ifndef DICTIONARY_H\n#define DICTIONARY_H\n\n"
            "#define DICTIONARY_PATCH %d    /* pixels across and down */\n"
            "#define DICTIONARY_CHANNELS %d\n"
            "#define DICTIONARY_LENGTH %d   /* p, values of an atom */\n"
            "#define DICTIONARY_ATOMS %d    /* n */\n"
            "#define DICTIONARY_SPARSITY %d /* s, atoms a patch while learning */\n"
            "#ifndef DICTIONARY_REAL\n#define DICTIONARY_REAL float\n#endif\n",
            t->width, t->width, t->channels, t->channels == 1 ? "" : "s", t->width, t->channels, t->p, t->n, s->sparsity);
    write_array(file, "dictionary_atoms", "DICTIONARY_LENGTH * DICTIONARY_ATOMS", t->D, (size_t)t->p * n);
    write_array(file, "dictionary_gram", "DICTIONARY_ATOMS * DICTIONARY_ATOMS", gram, n * n);
    fprintf(file, "\n#endif\n");
    close_written(file, s->export_c);
    free(gram);
}

static void write_results(const training *t, const settings *s, const outputs *o) {
    write_dictionary(t, o->dictionary);
    write_atoms(t, o->atoms);
    write_errors(t, o->errors);
    if (o->rounds) write_rounds(t, o->rounds);
    if (o->compare) write_compare(t, s, o->compare);
    if (plot_errors(s, o->errors, o->compare, o->plot))
        printf("written: %s %s %s %s\n", o->dictionary, o->atoms, o->errors, o->plot);
    else printf("written: %s %s %s (no gnuplot, so no picture of the errors)\n", o->dictionary, o->atoms, o->errors);
    if (o->rounds) printf("written: %s\n", o->rounds);
    if (o->compare) printf("written: %s\n", o->compare);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static settings chosen = {256,
                          6,
                          20,
                          1,
                          1,
                          8,
                          20000,
                          0, /* the defaults */
                          1,
                          "train",
                          NULL,
                          NULL,
                          "aksvd",
                          0,
                          0,
                          0,
                          "worst",
                          "best",
                          NULL,
                          NULL,
                          NULL,
                          {{{0, 0}}, 0},
                          {{{0, 0}}, 0},
                          {{{0, 0}}, 0}};

static const option options[] = {
    {"--atoms", "N", OPTION_COUNT, &chosen.atoms, 1, "atoms of the dictionary (256)"},
    {"--sparsity", "S", OPTION_COUNT, &chosen.sparsity, 1, "atoms a patch (6)"},
    {"--iterations", "K", OPTION_COUNT, &chosen.iterations, 1, "iterations of learning (20)"},
    {"--update", "RULE", OPTION_TEXT, (void *)&chosen.update, 0,
     "how atoms are updated: aksvd, sgk, ksvd, nsgk or mod (aksvd)"},
    {"--parallel-atoms", "N", OPTION_COUNT, &chosen.parallel_atoms, 1, "atoms updated at a time (1)"},
    {"--rounds", "U", OPTION_COUNT, &chosen.rounds, 1, "rounds of updates an iteration (1)"},
    {"--parallel-atoms-schedule", "I:N,..", OPTION_TEXT, (void *)&chosen.groups_text, 0,
     "from iteration I on, counted from 0, N atoms at a time, as in 0:1,20:64"},
    {"--rounds-schedule", "I:U,..", OPTION_TEXT, (void *)&chosen.rounds_text, 0, "likewise U rounds, as in 0:1,50:2"},
    {"--replace", "WAY", OPTION_TEXT, (void *)&chosen.replace, 0,
     "an unused atom becomes the worst represented patch, stays, or is drawn: " REPLACE_WORDS " (worst)"},
    {"--keep", "WHICH", OPTION_TEXT, (void *)&chosen.keep, 0, "the dictionary that is written: " KEEP_WORDS " (best)"},
    {"--each-round", NULL, OPTION_SWITCH, &chosen.each_round, 0, "write the error after each round of updates too"},
    {"--compare", "N,..", OPTION_TEXT, (void *)&chosen.compare_text, 0,
     "learn with N atoms at a time as well, for the picture of errors (8 at most)"},
    {"--unit-norm", NULL, OPTION_SWITCH, &chosen.unit_norm, 0, "scale each patch to unit norm"},
    {"--unit-scale", NULL, OPTION_SWITCH, &chosen.unit_scale, 0, "scale pixels from 0..255 to 0..1"},
    {"--patch", "W", OPTION_COUNT, &chosen.patch, 2, "patches of W x W pixels (8)"},
    {"--patches", "COUNT", OPTION_COUNT, &chosen.patches, 1, "patches of all pictures together (20000)"},
    {"--seed", "N", OPTION_SEED, &chosen.seed, 0, "seed of the choice of patches and the start (1)"},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
    {"--device", "NAME", OPTION_TEXT, (void *)&chosen.device, 0, DEVICE_HELP},
    {"--out", "PREFIX", OPTION_TEXT, (void *)&chosen.out, 0, "beginning of the names written (train)"},
    {"--export-c", "FILE.h", OPTION_TEXT, (void *)&chosen.export_c, 0, "write dictionary and Gram matrix as C arrays"},
};

/* FROM:VALUE,... with FROM ascending, or VALUE,... */
static void read_steps(const char *name, const char *text, int scheduled, int most, steps *to) {
    const char *at = text;
    char *end;
    while (at) {
        long from = to->count, value;
        int good = isdigit((unsigned char)*at) != 0;
        if (to->count == most) fail(EXIT_USAGE, "%s: %s has more than %d steps", name, text, most);
        if (good && scheduled) from = strtol(at, &end, 10), good = *end == ':', at = good ? end + 1 : at;
        good = good && isdigit((unsigned char)*at);
        value = good ? strtol(at, &end, 10) : 0;
        if (!good || (*end && *end != ',') || value < 1 || value > INT_MAX || from > INT_MAX)
            fail(EXIT_USAGE, "%s: '%s' is not %s with whole numbers from 1 on", name, text,
                 scheduled ? "I:N,I:N,.." : "N,N,..");
        if (scheduled && to->count > 0 && from <= to->list[to->count - 1].from)
            fail(EXIT_USAGE, "%s: the iterations of '%s' do not ascend", name, text);
        to->list[to->count].from = (int)from, to->list[to->count++].value = (int)value;
        at = *end ? end + 1 : NULL;
    }
}

static int parse(int argc, char **argv, settings *s) {
    int names = read_options(argc, argv, "IMAGE... [options]",
                             "Learns a dictionary for the patches of pictures (PNG, JPEG, BMP, PGM, PPM).", options,
                             (int)(sizeof options / sizeof *options));
    if (names < 1) fail(EXIT_USAGE, "needs at least one picture");
    if (s->patch > 256) fail(EXIT_USAGE, "--patch: %d is too large: at most 256", s->patch);
    read_steps("--parallel-atoms-schedule", s->groups_text, 1, STEPS, &s->group_steps);
    read_steps("--rounds-schedule", s->rounds_text, 1, STEPS, &s->round_steps);
    read_steps("--compare", s->compare_text, 0, CURVES, &s->compare);
    (void)learning_options(s);
    if (s->patches < names) fail(EXIT_USAGE, "--patches: %d are less than one for each picture", s->patches);
    return names;
}

int main(int argc, char **argv) {
    settings *s = &chosen;
    training t = SHS_ZERO;
    shs_context ctx;
    outputs results;
    double start;
    int names = parse(argc, argv, s), i;
    for (i = 0; i < names; i++) will_read(argv[i]);
    results = name_outputs(s);
    ctx = example_context(s->threads, s->device);
    t.width = s->patch;
    gather_patches(&ctx, argv, names, s, &t);
    if (s->sparsity > s->atoms || s->sparsity > t.p)
        fail(EXIT_USAGE, "--sparsity: %d is more than the atoms (%d) or the values of a patch (%d)", s->sparsity, s->atoms,
             t.p);
    start = wall_clock();
    learn(&ctx, s, &t);
    printf("%zu patches of %d values, %d atoms, %d a patch, %d iterations in %.2f s\n", t.m, t.p, t.n, s->sparsity,
           t.report.iterations, wall_clock() - start);
    printf("rms error of a value: %.4g at the start, %.4g at the end\n", (double)t.history[0].rmse_coding,
           (double)t.report.rmse);
    printf("the most used atom serves %.1f %% of the patches, the least used %.1f %%\n", 100 * (double)t.uses[0] / (double)t.m,
           100 * (double)t.uses[t.n - 1] / (double)t.m);
    write_results(&t, s, &results);
    if (s->export_c) {
        export_c(&ctx, &t, s);
        printf("written: %s\n", s->export_c);
    }
    example_end();
    free(t.Y);
    free(t.D);
    free(t.uses);
    free(t.history);
    free(t.report.round_history);
    for (i = 0; i < CURVES; i++) free(t.others[i]);
    free_outputs(&results);
    return EXIT_SUCCESS;
}
