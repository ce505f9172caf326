/* auto.h - a first look at a scene: the commands of a first hour one after another, as they would be typed, and a page of what
   they wrote. */
#ifndef HYPERCUBE_AUTO
#define HYPERCUBE_AUTO

#include "auto_page.h"

/* Runs a mode on its names; in hypercube.c. */
static void run_mode(const mode_text *mode, char **names);

/* ---- commands ----------------------------------------------------------------------------------------------------- */

enum { MOST_WORDS = 80 };

/* A command as it runs, with files in the room, and as it is shown, with files in the folder. */
typedef struct step_words {
    enum mode mode;
    int count;
    char *words[MOST_WORDS];
    char *shown;
} step_words;

#ifdef EXAMPLE_WINDOWS
#define PLAIN_SIGNS "_-+=:,./@\\"

/* In quotes, as programs read them on Windows: a backslash is doubled where it stands before a quote. */
static void put_in_quotes(char *at, const char *text) {
    size_t backslashes = 0;
    *at++ = '"';
    for (; *text; text++) {
        if (*text == '"')
            for (backslashes++; backslashes > 0; backslashes--) *at++ = '\\';
        *at++ = *text;
        if (*text == '\\') backslashes++;
        else backslashes = 0;
    }
    for (; backslashes > 0; backslashes--) *at++ = '\\';
    *at = '"';
}
#else
#define PLAIN_SIGNS "_-+=:,./@%"

/* In quotes, as a shell of POSIX reads them. */
static void put_in_quotes(char *at, const char *text) {
    *at++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') at += sprintf(at, "'\\''");
        else *at++ = *text;
    }
    *at = '\'';
}
#endif

/* A word as a shell takes it: in quotes where it holds more than letters, digits and some signs. */
static char *shell_word(const char *text) {
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" PLAIN_SIGNS;
    char *word = ALLOCATE(char, 4 * strlen(text) + 3);
    if (*text && strspn(text, plain) == strlen(text)) strcpy(word, text);
    else put_in_quotes(word, text);
    return word;
}

static void add_shown(step_words *w, const char *text) {
    char *word = shell_word(text), *before = w->shown;
    w->shown = in_line(before, word);
    free(before);
    free(word);
}

static void add_word(step_words *w, const char *text) {
    if (w->count == MOST_WORDS - 1) fail(EXIT_USAGE, "auto: too many options");
    w->words[w->count++] = joined(text, "");
    add_shown(w, text);
}

static void add_number(step_words *w, int number) {
    char text[12];
    sprintf(text, "%d", number);
    add_word(w, text);
}

static void add_file(const first_look *a, step_words *w, const char *name) {
    char *shown = look_file(a->folder, name);
    add_shown(w, shown);
    free(shown);
    w->words[w->count++] = look_file(a->room, name);
}

/* What auto itself was given of this option: `given` is another command's by now. */
static const void *value_of_auto(const first_look *a, const option *o) {
    const char *value = (const char *)o->value, *first = (const char *)&given;
    if (value < first || value >= first + sizeof given) return value; /* kept elsewhere, for all commands */
    return (const char *)a->s + (value - first);
}

static int chooses(const option *o) {
    return !strcmp(o->name, "--bands") || !strcmp(o->name, "--bbl") || !strcmp(o->name, "--wavelengths");
}

/* The options of auto about pixels and the run, as far as the mode takes them too. Bands are chosen once. */
static void add_common(const first_look *a, step_words *w) {
    int i;
    for (i = 0; i < OPTIONS; i++) {
        const option *o = &option_table[i].o;
        const void *value = value_of_auto(a, o);
        if (!(option_table[i].modes & (OF_PIXELS | OF_RUN)) || !(option_table[i].modes & AUTO)) continue;
        if (!(option_table[i].modes & (int)w->mode) || (chooses(o) && w->mode != BANDS)) continue;
        if (o->kind == OPTION_TEXT && *(char *const *)value) {
            add_word(w, o->name);
            add_word(w, *(char *const *)value);
        } else if (o->kind == OPTION_SWITCH && *(const int *)value) add_word(w, o->name);
        else if (o->kind == OPTION_COUNT && *(const int *)value >= o->least && (*(const int *)value || o->least < 0)) {
            add_word(w, o->name);
            add_number(w, *(const int *)value);
        }
    }
}

/* MODE SCENE [FILE]: the output is a file of the folder, or there is none (NULL). */
static step_words step_begin(const first_look *a, enum mode mode, const char *output) {
    step_words w = SHS_ZERO;
    int i = 0;
    while (modes[i].mode != mode) i++;
    w.mode = mode;
    add_word(&w, a->program);
    add_word(&w, modes[i].name);
    add_word(&w, a->scene);
    if (output) add_file(a, &w, output);
    if (a->bands) {
        add_word(&w, "--bands");
        add_word(&w, a->bands);
    }
    add_common(a, &w);
    return w;
}

/* The command runs as if it had been typed. */
static void step_run(first_look *a, enum look_step step, step_words *w) {
    const mode_text *mode;
    char **argv = ALLOCATE(char *, w->count + 1);
    memcpy(argv, w->words, (size_t)w->count * sizeof *argv);
    a->commands[step] = w->shown;
    printf("\n$ %s\n", w->shown);
    fflush(stdout);
    forget_files();
    mode = parse(w->count, argv);
    run_mode(mode, argv + 1);
    free(argv);
}

/* ---- the steps ---------------------------------------------------------------------------------------------------- */

static void step_bands(first_look *a) {
    step_words w = step_begin(a, BANDS, "bands.csv");
    char *name;
    if (a->s->bands.least_snr >= 0) {
        char *number = number_text(a->s->bands.least_snr);
        add_word(&w, "--band-snr");
        add_word(&w, number);
        free(number);
    }
    if (a->s->bands.keep_water) add_word(&w, "--keep-water");
    step_run(a, LOOK_BANDS, &w);
    name = look_file(a->room, "bands.csv");
    a->states = read_band_states(name);
    a->bands = list_of_state(&a->states, BAND_USED);
    a->used = count_state(&a->states, BAND_USED);
    if (a->used < 3)
        fail(EXIT_ERROR, "%s: bands: %d of %d can be used (%s), and auto needs 3; --bands LIST takes bands as they are",
             a->scene, a->used, a->states.bands, a->bands);
    free(name);
}

static void step_look(first_look *a, const job *j) {
    step_words w;
    char *all = a->bands, list[40];
    a->true_colours = look_bands(j, a->shown);
    sprintf(list, "%d,%d,%d", a->shown[0] + 1, a->shown[1] + 1, a->shown[2] + 1);
    a->bands = list;
    w = step_begin(a, CONVERT, "look.hdr");
    a->bands = all;
    add_word(&w, "--quicklook");
    add_file(a, &w, "look.png");
    step_run(a, LOOK_PICTURE, &w);
}

enum { MOST_MATERIALS = 10, MOST_COMPONENTS = 10 };

/* The number of endmembers: as given, or counted; of those that are counted without a word from the user a page shows few. */
static void step_count(first_look *a) {
    step_words w;
    char *name;
    a->materials = a->s->extract.count;
    if (!a->s->extract.count_by && a->s->extract.count) return;
    w = step_begin(a, COUNT, NULL);
    add_word(&w, "--report");
    add_file(a, &w, "count.csv");
    step_run(a, LOOK_COUNT, &w);
    name = look_file(a->room, "count.csv");
    read_counts(name, a->counts);
    free(name);
    if (a->s->extract.count_by) a->materials = a->counts[a->s->extract.count_by - 1];
    else a->materials = a->counts[0];
    if (!a->s->extract.count_text && a->materials > MOST_MATERIALS) a->materials = MOST_MATERIALS;
    if (a->materials < 2) a->materials = 2;
    if (a->materials > a->used) a->materials = a->used;
}

static void step_components(first_look *a, enum mode mode, const component_section *of) {
    step_words w = step_begin(a, mode, of->header);
    add_word(&w, "--components");
    if (a->s->fit.components_text) add_word(&w, a->s->fit.components_text);
    else add_number(&w, smaller(a->used, MOST_COMPONENTS));
    add_word(&w, "--save");
    add_file(a, &w, of->model);
    step_run(a, of->step, &w);
}

static void step_endmembers(first_look *a) {
    step_words w = step_begin(a, ENDMEMBERS, "endmembers.csv");
    add_word(&w, "--count");
    add_number(&w, a->materials);
    add_word(&w, "--method");
    add_word(&w, a->s->method ? a->s->method : "nfindr");
    step_run(a, LOOK_ENDMEMBERS, &w);
}

static void step_unmix(first_look *a) {
    step_words w = step_begin(a, UNMIX, "abundances.hdr");
    add_word(&w, "--endmembers");
    add_file(a, &w, "endmembers.csv");
    add_word(&w, "--error");
    add_file(a, &w, "error.hdr");
    step_run(a, LOOK_UNMIX, &w);
}

static void step_rx(first_look *a) {
    step_words w = step_begin(a, RX, "rx.hdr");
    add_word(&w, "--report");
    add_file(a, &w, "rx.csv");
    step_run(a, LOOK_RX, &w);
}

enum { MOST_PAGE = 1 << 28 }; /* bytes of a page that is read */

/* ---- the folder --------------------------------------------------------------------------------------------------- */

/* Nothing in the folder may describe the new data of this header. */
static void check_cube(const char *header_name) {
    cube_file f = SHS_ZERO;
    f.header_name = joined(header_name, "");
    f.data_name = data_of_header(header_name);
    refuse_other_files(&f);
    cube_close(&f);
}

/* No result may replace an input, nor take the header of another file in the folder. */
static void check_folder(const first_look *a, const job *j) {
    int i;
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    if (a->s->pixels.mask) will_read(a->s->pixels.mask);
    if (a->s->pixels.classes) will_read(a->s->pixels.classes);
    for (i = 0; i < LOOK_FILES; i++) {
        char *name = look_file(a->folder, look_files[i]);
        will_write(name);
        if (has_extension(name, ".hdr")) check_cube(name);
        free(name);
    }
    forget_files();
}

/* Without separators at its end; the root of a disk keeps its own. */
static char *without_end(const char *name) {
    char *made = joined(name, "");
    size_t length = strlen(name);
    while (length > 1 && is_separator(name[length - 1]) && name[length - 2] != ':') length--;
    made[length] = 0;
    return made;
}

/* Results are made in a room beside the folder, so that a failure leaves the folder as it was. */
static void open_room(first_look *a, const char *name) {
    file_identity old;
    int i;
    a->folder = without_end(name);
    a->room = joined(a->folder, ".part");
    old = identity_of(a->folder);
    if (old.exists && !old.is_folder) fail(EXIT_USAGE, "%s: it is a file, and auto writes a folder", a->folder);
    a->exists = old.exists;
    if (!make_folder(a->room)) {
        if (errno == EEXIST)
            fail(EXIT_ERROR, "%s: it is there already: another run writes it, or one was killed; then remove it", a->room);
        fail(EXIT_ERROR, "%s: cannot make this folder: %s", a->room, strerror(errno));
    }
    part_folder = a->room;
    for (i = 0; i < LOOK_FILES; i++) {
        a->parts[i] = look_file(a->room, look_files[i]);
        note_part(a->parts[i], NULL);
    }
}

/* The page of an earlier look in this folder; NULL: there is none. */
static char *earlier_page(const first_look *a) {
    char *name = look_file(a->folder, "index.html"), *page = NULL;
    unsigned char *bytes;
    uint64_t there;
    size_t size;
    if (is_regular(name, &there) && there < MOST_PAGE) {
        bytes = read_file(name, MOST_PAGE, &size);
        page = ALLOCATE(char, size + 1);
        memcpy(page, bytes, size);
        free(bytes);
    }
    free(name);
    return page;
}

/* Removes a file that this look did not make, if the page of an earlier look names it. The data file of a cube comes with its
   header. */
static void remove_earlier(const char *page, const char *file, const char *name) {
    char *named = joined(file, "");
    uint64_t size;
    if (has_extension(file, ".img")) {
        free(named);
        named = derived_name(file, "", ".hdr");
    }
    if (page && strstr(page, named)) remove(name);
    else if (is_regular(name, &size)) warn("%s: it stays: neither this look nor an earlier one in this folder wrote it", name);
    free(named);
}

/* What was made, into the folder; the page comes last. What an earlier look wrote and this one did not goes. */
static void close_room(first_look *a) {
    char *page = earlier_page(a);
    int i;
    uint64_t size;
    if (!make_folder(a->folder) && errno != EEXIST)
        fail(EXIT_ERROR, "%s: cannot make this folder: %s", a->folder, strerror(errno));
    for (i = 0; i < LOOK_FILES; i++) {
        char *name = look_file(a->folder, look_files[i]);
        if (is_regular(a->parts[i], &size)) {
            const int replaced = identity_of(name).exists;
            put_in_place(a->parts[i], name);
            if (replaced && has_extension(name, ".img")) remove_side_files(name);
        } else remove_earlier(page, look_files[i], name);
        forget_part(a->parts[i]);
        free(name);
    }
    free(page);
    remove_folder(a->room);
    part_folder = NULL;
}

/* ---- auto --------------------------------------------------------------------------------------------------------- */

/* The scene with the bands that are used, to be looked at. */
static job *look_job(const first_look *a) {
    settings *own = ALLOCATE(settings, 1);
    *own = *a->s;
    own->pixels.bands = a->bands;
    own->pixels.bbl = 0;
    own->pixels.wavelengths = NULL;
    own->run.device = NULL;
    own->fit.components = 0;
    return job_open(own, INFO, a->scene, NULL);
}

static void run_auto(const settings *s, char **names) {
    settings own = *s; /* the commands fill in `given` anew */
    first_look *a = ALLOCATE(first_look, 1);
    double start = wall_clock();
    job *j;
    a->s = &own;
    a->program = own.program;
    a->scene = names[0];
    if (own.method) must_make_endmembers(own.method);
    if (own.pixels.classes && own.pixels.id < 0) fail(EXIT_USAGE, "--class: --id K says which");
    j = job_open(&own, INFO, a->scene, NULL);
    if (j->in.bands < 3) fail(EXIT_ERROR, "%s: bands: %d, and auto needs 3 at least", a->scene, j->in.bands);
    open_room(a, names[1]);
    if (a->exists) check_folder(a, j);
    job_close(j);
    step_bands(a);
    j = look_job(a);
    step_look(a, j);
    step_count(a);
    step_components(a, PCA, &pca_section);
    step_components(a, MNF, &mnf_section);
    step_endmembers(a);
    step_unmix(a);
    step_rx(a);
    write_look(a, j, wall_clock() - start);
    job_close(j);
    close_room(a);
    printf("\nwritten: %s/index.html\nseconds=%.3f bands=%d endmembers=%d\n", a->folder, wall_clock() - start, a->used,
           a->materials);
}

#endif /* HYPERCUBE_AUTO */
