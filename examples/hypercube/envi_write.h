/* envi_write.h - writes a cube in ENVI's format, under temporary names until the files are complete. */
#ifndef HYPERCUBE_ENVI_WRITE
#define HYPERCUBE_ENVI_WRITE

#include "wavelengths.h"

/* ---- writing: under other names, until all of it is there -------------------------------------------------------- */

enum { MAX_PARTS = 64 };
static const char *parts[MAX_PARTS]; /* the unfinished files; NULL where there is none */
static FILE *part_files[MAX_PARTS];  /* NULL: closed */
static const char *part_folder;      /* that holds some of them and nothing else */

static void remove_parts(void) {
    int i;
    for (i = 0; i < MAX_PARTS; i++) {
        if (part_files[i]) fclose(part_files[i]); /* Windows removes no file that is open */
        if (parts[i]) remove(parts[i]);
    }
    if (part_folder) remove_folder(part_folder);
}

#ifdef EXAMPLE_POSIX
/* Here only what POSIX allows while a signal is handled. */
static void say(const char *text) {
    if (write(2, text, strlen(text)) < 0) _exit(EXIT_ERROR);
}

/* Other threads may get a signal of their own meanwhile, as all do that read behind the end of a file: they wait. */
static void interrupted(int number) {
    static volatile sig_atomic_t begun;
    int i;
    while (begun) pause();
    begun = 1;
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i]) unlink(parts[i]);
    if (part_folder) rmdir(part_folder);
    if (number != SIGBUS || !mapped_name) _exit(128 + number);
    say(program_name);
    say(": ");
    say(mapped_name);
    say(": reading it failed: it ends early, or its disk fails\n");
    _exit(EXIT_ERROR);
}

/* A signal that is ignored, as under nohup, stays so. */
static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGBUS};
    struct sigaction now, before;
    size_t i;
    signal(SIGXFSZ, SIG_IGN); /* the write fails, and is reported */
    memset(&now, 0, sizeof now); /* signal() may give back the default action after the first signal, which kills */
    sigfillset(&now.sa_mask);
    now.sa_handler = interrupted;
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN) sigaction(numbers[i], &now, NULL);
}
#elif defined(EXAMPLE_WINDOWS)
/* After Ctrl-C, in a thread of its own. What comes next ends the program. */
static BOOL WINAPI interrupted(DWORD event) {
    int i;
    (void)event;
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i]) DeleteFileA(parts[i]);
    if (part_folder) remove_folder(part_folder);
    return FALSE;
}

static void catch_signals(void) { SetConsoleCtrlHandler(interrupted, TRUE); }
#else
static void catch_signals(void) {}
#endif

/* file: NULL where the part is closed, or not made yet. */
static void note_part(const char *name, FILE *file) {
    static int ready = 0;
    int i = 0;
    if (!ready) {
        atexit(remove_parts);
        catch_signals();
        ready = 1;
    }
    while (i < MAX_PARTS - 1 && parts[i]) i++;
    parts[i] = name;
    part_files[i] = file;
}

/* Closes a file that is complete and has its own name to get yet. */
static void close_part(const char *name, FILE *file) {
    int i;
    for (i = 0; i < MAX_PARTS; i++)
        if (part_files[i] == file) part_files[i] = NULL;
    close_written(file, name);
}

/* It is finished, or has another name. */
static void forget_part(const char *name) {
    int i;
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i] == name) parts[i] = NULL;
}

/* The file itself, behind symbolic links. */
static char *place_of(const char *name) {
    char *place = replaceable(name);
    if (!place) fail(EXIT_ERROR, "%s: cannot write it: a device or a pipe, and a cube needs files", name);
    return place;
}

static void put_in_place(const char *part, const char *name) {
    if (replace_file(part, name)) fail(EXIT_ERROR, "%s: cannot rename it to %s: %s", part, name, strerror(errno));
    forget_part(part);
}

/* Some programs look for x.img.hdr before x.hdr, others after it: an old one would describe the new data. The data of x.dat.hdr
   are x.dat here, and were x.dat.img in earlier versions. */
static void refuse_other_files(const cube_file *f) {
    char *other = joined(f->data_name, ".hdr");
    uint64_t size;
    if (same_name(other, f->header_name)) {
        free(other);
        other = derived_name(f->data_name, "", ".hdr");
    }
    if (is_regular(other, &size) && strcmp(other, f->header_name) != 0 && !lead_to_one_file(other, f->header_name))
        fail(EXIT_ERROR,
             "%s: it is there already, and programs would read the new %s by it, not by %s: remove it, or choose another name",
             other, f->data_name, f->header_name);
    free(other);
    other = derived_name(f->header_name, "", ".img");
    if (is_regular(other, &size) && strcmp(other, f->data_name) != 0)
        fail(EXIT_ERROR, "%s: it is there already, and %s would no longer describe it, but %s: remove it, or choose another name",
             other, f->header_name, f->data_name);
    free(other);
}

/* The data file that a header's name means: x.img for x.hdr, and for x.img.hdr. */
static char *data_of_header(const char *header_name) {
    static const char *const extensions[] = {".img", ".dat", ".bsq", ".bil", ".bip"};
    char *stem = derived_name(header_name, "", ""), *name;
    int i;
    for (i = 0; i < COUNT_OF(extensions); i++)
        if (has_extension(stem, extensions[i])) return stem;
    name = joined(stem, ".img");
    free(stem);
    return name;
}

/* The names of a new cube's files. */
static void cube_name(cube_file *f, const char *header_name) {
    char *header_place, *data_place;
    f->header_name = joined(header_name, "");
    f->data_name = data_of_header(header_name);
    will_write(header_name);
    will_write(f->data_name);
    refuse_other_files(f);
    header_place = place_of(header_name);
    data_place = place_of(f->data_name);
    f->part.name = joined(data_place, ".part");
    f->part.header = joined(header_place, ".part");
    free(header_place);
    free(data_place);
    will_write(f->part.name);
    will_write(f->part.header);
}

/* Creates a file that did not exist. An existing file may belong to another run, or link to another place. */
static FILE *create_part(const char *name) {
    FILE *file = NULL;
#ifdef EXAMPLE_POSIX
    sigset_t all, before; /* a signal between the file and the note of it would leave the file */
    int trouble;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    file = create_new(name);
    trouble = errno;
    if (file) note_part(name, file);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = trouble;
#else
    file = create_new(name);
#endif
    if (!file && errno == EEXIST)
        fail(EXIT_ERROR, "%s: it is there already: another run writes it, or one was killed; then remove it", name);
    if (!file) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
#ifndef EXAMPLE_POSIX
    note_part(name, file);
#endif
    return file;
}

/* Opens the files of a new cube, whose names, sizes, type and interleave are set. */
static void cube_create(cube_file *f) {
    f->stored.type = f->type;
    f->stored.samples = f->samples;
    f->stored.lines = f->lines;
    if (data_bytes(f) > INT64_MAX) fail(EXIT_ERROR, "%s: too large", f->data_name);
    f->file = create_part(f->part.name);
    f->part.header_file = create_part(f->part.header);
    keep_mode(f->file, f->data_name);
    keep_mode(f->part.header_file, f->header_name);
    setvbuf(f->file, NULL, _IONBF, 0);
}

/* Braces would end a value early: they become parentheses. */
static char without_brace(char c) {
    if (c == '{') return '(';
    if (c == '}') return ')';
    return c;
}

static void print_value(FILE *file, const char *key, const char *text) {
    fprintf(file, "%s = {", key);
    for (; *text; text++) fputc(without_brace(*text), file);
    fprintf(file, "}\n");
}

static void print_list(FILE *file, const char *key, const double *list, int count, int digits) {
    int i;
    if (!list) return;
    fprintf(file, "%s = {", key);
    for (i = 0; i < count; i++) {
        if (i > 0) fputc(',', file);
        fprintf(file, "%s%.*g", i % 8 ? " " : "\n  ", digits, list[i]);
    }
    fprintf(file, "}\n");
}

/* ---- what the header of another cube says, carried over ---------------------------------------------------------- */

enum key_flags {
    KEY_WRITTEN = 1,   /* of the file: what is written says it anew */
    KEY_PLACE = 2,     /* where the pixels are: moves with the window */
    KEY_OF_BANDS = 4,  /* holds where the bands are still those, */
    KEY_OF_VALUES = 8, /* and where their values are as they were, too */
    KEY_LIST = 16,     /* an item for each band */
    KEY_NUMBERS = 32,  /* of bands */
    KEY_OF_CLASSES = 64, /* holds where pixels are still classes, which whole numbers name */
    KEY_UNKNOWN = 128
};

static int flags_of_key(const char *key) {
    static const struct {
        const char *key;
        int flags;
    } known[] = {
        {"description", KEY_WRITTEN},
        {"samples", KEY_WRITTEN},
        {"lines", KEY_WRITTEN},
        {"bands", KEY_WRITTEN},
        {"header offset", KEY_WRITTEN},
        {"major frame offsets", KEY_WRITTEN},
        {"minor frame offsets", KEY_WRITTEN},
        {"file compression", KEY_WRITTEN},
        {"file type", KEY_WRITTEN},
        {"data type", KEY_WRITTEN},
        {"interleave", KEY_WRITTEN},
        {"byte order", KEY_WRITTEN},
        {"data ignore value", KEY_WRITTEN},
        {"band names", KEY_WRITTEN},
        {"map info", KEY_PLACE},
        {"geo points", KEY_PLACE},
        {"rpc info", KEY_PLACE},
        {"x start", KEY_PLACE},
        {"y start", KEY_PLACE},
        {"coordinate system string", 0}, /* this list never has one item for each band */
        {"projection info", 0},
        {"pixel size", 0},
        {"wavelength", KEY_OF_BANDS | KEY_LIST},
        {"fwhm", KEY_OF_BANDS | KEY_LIST},
        {"bbl", KEY_OF_BANDS | KEY_LIST},
        {"wavelength units", KEY_OF_BANDS},
        {"default bands", KEY_OF_BANDS | KEY_NUMBERS},
        {"data gain values", KEY_OF_VALUES | KEY_LIST},
        {"data offset values", KEY_OF_VALUES | KEY_LIST},
        {"data reflectance gain values", KEY_OF_VALUES | KEY_LIST},
        {"data reflectance offset values", KEY_OF_VALUES | KEY_LIST},
        {"reflectance scale factor", KEY_OF_VALUES},
        {"default stretch", KEY_OF_VALUES},
        {"z plot range", KEY_OF_VALUES},
        {"z plot titles", KEY_OF_VALUES},
        {"z plot average", KEY_OF_VALUES},
        {"classes", KEY_OF_VALUES | KEY_OF_CLASSES},
        {"class names", KEY_OF_VALUES | KEY_OF_CLASSES},
        {"class lookup", KEY_OF_VALUES | KEY_OF_CLASSES},
    };
    size_t i;
    for (i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(key, known[i].key)) return known[i].flags;
    return KEY_UNKNOWN;
}

/* The items of a list, divided by commas, without braces; free_items frees them. */
static char **split_items(const char *value, int *count) {
    char *copy = joined(value, ""), *at = copy, **items;
    size_t length;
    for (*count = 1; *at; at++) {
        *count += *at == ',';
        *at = without_brace(*at);
    }
    items = ALLOCATE(char *, *count);
    *count = 0;
    for (at = copy;; at += length + 1) {
        char *item = at + strspn(at, " ");
        const char *end;
        length = strcspn(at, ",");
        end = at + length;
        if (end < item) end = item;
        items[*count] = tidy_text(item, end, 0);
        ++*count;
        if (!at[length]) break;
    }
    free(copy);
    return items;
}

/* A comma behind the last item of a list of `expected` items begins no other item. */
static void drop_last_comma(char **items, int *count, int expected) {
    if (*count != expected + 1 || *items[expected]) return;
    free(items[expected]);
    *count = expected;
}

/* The items of a list of numbers, which blanks may divide; NULL: one is no number. */
static char **split_numbers(const char *value, int *count) {
    const char *at = value, *next, *end;
    char **items;
    double number;
    *count = 0;
    for (; *at; at = next) {
        next = listed_number(at, &number);
        if (!next) {
            *count = 0;
            return NULL;
        }
        ++*count;
    }
    items = ALLOCATE(char *, *count + 1);
    *count = 0;
    for (at = value; *at; at = next) {
        next = listed_number(at, &number);
        end = next;
        while (strchr(",; ", end[-1])) end--;
        items[*count] = tidy_text(at, end, 0);
        ++*count;
    }
    return items;
}

static void free_items(char **items, int count) {
    while (count > 0) free(items[--count]);
    free(items);
}

/* Number `at` of a list grows; what is no number stays. */
static void move_item(char **items, int count, int at, double by) {
    char *end;
    double number;
    if (at >= count) return;
    number = strtod(items[at], &end);
    if (end == items[at] || *end) return;
    free(items[at]);
    items[at] = number_text(number + by);
}

/* Moves the map coordinates to the window: the reference pixel keeps its number, and gets the coordinates of the window's
   pixel of this number. With a rotation lines and columns run askew, as GDAL reads it; by 180 degrees it means that lines run
   northwards. */
static void move_map(const cube_file *f, char **items, int count) {
    double turn = 0, dx, dy, x = file_left(f), y = file_top(f);
    int i, upside_down = 0;
    if (count < 7) return;
    for (i = 7; i < count; i++)
        if (!strncmp(items[i], "rotation=", 9)) {
            turn = strtod(items[i] + 9, NULL);
            upside_down = fabs(turn) >= 180 && fabs(turn) <= 180;
            turn *= 3.14159265358979323846 / 180;
        }
    dx = strtod(items[5], NULL);
    dy = strtod(items[6], NULL);
    if (upside_down) {
        move_item(items, count, 3, x * dx);
        move_item(items, count, 4, y * dy);
        return;
    }
    move_item(items, count, 3, x * dx * cos(turn) + y * dx * sin(turn));
    move_item(items, count, 4, x * dy * sin(turn) - y * dy * cos(turn));
}

static void move_place(const cube_file *f, const char *key, char **items, int count) {
    int i, left = file_left(f), top = file_top(f);
    if (!strcmp(key, "map info")) move_map(f, items, count);
    if (!strcmp(key, "x start")) move_item(items, count, 0, left);
    if (!strcmp(key, "y start")) move_item(items, count, 0, top);
    if (!strcmp(key, "rpc info")) {
        move_item(items, count, 0, -top);
        move_item(items, count, 1, -left);
    }
    for (i = 0; i + 3 < count && !strcmp(key, "geo points"); i += 4) {
        move_item(items, count, i, -left);
        move_item(items, count, i + 1, -top);
    }
}

static void print_items(FILE *file, const header_entry *e, char *const *items, int count, const int *which) {
    int i, in_lines = count > 16;
    fprintf(file, e->braced ? "%s = {" : "%s = ", e->key);
    for (i = 0; i < count; i++) {
        const char *item = which ? items[which[i]] : items[i];
        if (i > 0) fputc(',', file);
        if (in_lines && i % 8 == 0) fputs("\n  ", file);
        else if (i > 0) fputc(' ', file);
        fputs(item, file);
    }
    fprintf(file, e->braced ? "}\n" : "\n");
}

/* Renumbers the bands of the items, each a number. Returns non-zero if there are some and all of them are kept. */
static int renumber_items(const cube_file *f, char **items, int count) {
    int i, b;
    for (i = 0; i < count; i++) {
        double band;
        (void)listed_number(items[i], &band);
        for (b = 0; b < f->bands && fabs(f->origin.kept[b] + 1 - band) > 0; b++) {}
        if (b == f->bands) return 0;
        free(items[i]);
        items[i] = number_text(b + 1);
    }
    return count > 0;
}

static void print_carried(FILE *file, const cube_file *f, const header_entry *e) {
    const cube_file *from = f->origin.from;
    int flags = flags_of_key(e->key), count, holds = 1;
    char **items = split_items(e->value, &count);
    drop_last_comma(items, &count, from->bands);
    if ((flags & KEY_NUMBERS) || ((flags & KEY_LIST) && count != from->bands)) {
        free_items(items, count);
        items = split_numbers(e->value, &count);
    }
    if (flags == KEY_UNKNOWN && e->braced && count == from->bands && count > 1) flags = KEY_OF_VALUES | KEY_LIST;
    if (flags & KEY_WRITTEN) holds = 0;
    if (flags & (KEY_OF_BANDS | KEY_OF_VALUES)) holds = f->origin.kept && (f->origin.same_values || !(flags & KEY_OF_VALUES));
    if (flags & KEY_OF_CLASSES) holds = holds && is_integer(f->type);
    if (flags & KEY_LIST) holds = holds && count == from->bands;
    if (flags & KEY_NUMBERS) holds = holds && renumber_items(f, items, count);
    if ((flags & KEY_PLACE) && from->window.left + from->window.top > 0) move_place(from, e->key, items, count);
    if (holds && (flags & KEY_LIST)) print_items(file, e, items, f->bands, f->origin.kept);
    else if (holds && (flags & (KEY_NUMBERS | KEY_PLACE))) print_items(file, e, items, count, NULL);
    else if (holds) fprintf(file, e->braced ? "%s = {%s}\n" : "%s = %s\n", e->key, e->value);
    free_items(items, count);
}

/* The last entry of each key. */
static void print_all_carried(FILE *file, const cube_file *f) {
    const header *h = &f->origin.from->text;
    int i, j;
    for (i = 0; i < h->count; i++) {
        for (j = i + 1; j < h->count && strcmp(h->entries[i].key, h->entries[j].key); j++) {}
        if (j == h->count) print_carried(file, f, &h->entries[i]);
    }
}

/* ---- the header that is written ----------------------------------------------------------------------------------- */

/* Prints the names of the input's bands if the output has the same bands. Otherwise prints "name 1", "name 2" and so on, with
   numbers[i] + 1 if numbers are given. */
static void print_band_names(FILE *file, const cube_file *f, const char *name, const int *numbers) {
    int i, count = 0, differs;
    const char *list = NULL;
    char **items = NULL;
    if (f->origin.from && f->origin.kept) list = header_find(&f->origin.from->text, "band names", &differs);
    if (list) items = split_items(list, &count);
    if (list) drop_last_comma(items, &count, f->origin.from->bands);
    fprintf(file, "band names = {");
    for (i = 0; i < f->bands; i++) {
        int number = i;
        if (numbers) number = numbers[i];
        if (i > 0) fputc(',', file);
        fputs("\n  ", file);
        if (items && count == f->origin.from->bands) fprintf(file, "%s", items[f->origin.kept[i]]);
        else if (f->names && f->names[i] && *f->names[i] && !strpbrk(f->names[i], "{}")) fprintf(file, "%s", f->names[i]);
        else fprintf(file, "%s %d", name, number + 1);
    }
    fprintf(file, "}\n");
    free_items(items, count);
}

/* Classes stay classes where their numbers do, as whole numbers. */
static const char *file_type_of(const cube_file *f) {
    const cube_file *from = f->origin.from;
    const char *type = NULL;
    int differs;
    if (from && f->origin.same_values && is_integer(f->type)) type = header_find(&from->text, "file type", &differs);
    if (type && !strcmp(type, "ENVI Classification")) return "ENVI Classification";
    return "ENVI Standard";
}

static void print_header(FILE *file, const cube_file *f, const char *name, const int *numbers) {
    fprintf(file, "ENVI\n");
    print_value(file, "description", f->description);
    fprintf(file, "samples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = %s\n", file_samples(f), file_lines(f),
            f->bands, file_type_of(f));
    fprintf(file, "data type = %d\ninterleave = %s\nbyte order = %d\n", type_info(f->type)->code,
            interleaves[file_interleave(f)], host_byte_order());
    if (f->has_nodata) fprintf(file, "data ignore value = %.17g\n", f->nodata);
    print_band_names(file, f, name, numbers);
    if (f->origin.from) print_all_carried(file, f);
    if (f->axis.wavelength && f->axis.units && *f->axis.units) fprintf(file, "wavelength units = %s\n", f->axis.units);
    print_list(file, "wavelength", f->axis.wavelength, f->bands, 10);
    print_list(file, "fwhm", f->axis.width, f->bands, 10);
    print_list(file, "bbl", f->axis.good, f->bands, 10);
    if (f->scale.factor > 0) fprintf(file, "reflectance scale factor = %.10g\n", f->scale.factor);
    if (!f->origin.from) return;
    print_list(file, "data gain values", f->scale.gain, f->bands, 17);
    print_list(file, "data offset values", f->scale.bias, f->bands, 17);
}

/* Gives the old header another name; NULL: there is none. */
static char *set_aside(const char *name) {
    const file_identity old = identity_of(name);
    char *aside;
    FILE *file;
    if (!old.exists) return NULL;
    file = create_beside(name, &aside);
    if (!file) fail(EXIT_ERROR, "%s: cannot give it another name: %s", name, strerror(errno));
    fclose(file);
    if (!replace_file(name, aside)) return aside;
    remove(aside);
    fail(EXIT_ERROR, "%s: cannot replace it: %s", name, strerror(errno));
}

/* Whether this run reads or writes it, by whatever name. */
static int is_of_this_run(const char *name) {
    size_t i;
    for (i = 0; i < known_count; i++)
        if (lead_to_one_file(known_files[i].name, name)) return 1;
    return 0;
}

/* Removes the files by which GDAL and ENVI describe the old data: statistics, pyramids, masks. Programs believe these files more
   than the header. x.sta may be anything and stays. */
static void remove_side_files(const char *data_name) {
    static const char *const extensions[] = {".aux.xml", ".ovr", ".msk", ".enp"};
    char *removed = NULL, *name, *longer;
    uint64_t size;
    int i;
    for (i = 0; i < COUNT_OF(extensions); i++) {
        name = joined(data_name, extensions[i]);
        if (!is_regular(name, &size) || is_of_this_run(name)) {
            free(name);
            continue;
        }
        if (remove(name)) warn("%s: it describes what %s was before, and cannot be removed: %s", name, data_name, strerror(errno));
        else {
            longer = in_line(removed, name);
            free(removed);
            removed = longer;
        }
        free(name);
    }
    if (removed) warn("%s: what described the file before is removed: %s", data_name, removed);
    free(removed);
}

/* The old header would describe the new data wrongly: it steps aside before them, and comes back if they cannot be put in
   place. */
static void put_cube_in_place(const cube_file *f, const char *header_place, const char *data_place) {
    const cube_part *part = &f->part;
    const int replaced = identity_of(data_place).exists;
    char *aside = set_aside(header_place);
    if (replace_file(part->name, data_place)) {
        const int trouble = errno;
        if (aside && replace_file(aside, header_place)) warn("%s: it is %s now: %s", header_place, aside, strerror(errno));
        fail(EXIT_ERROR, "%s: cannot rename it to %s: %s", part->name, data_place, strerror(trouble));
    }
    forget_part(part->name);
    if (aside) remove(aside);
    free(aside);
    if (replaced) remove_side_files(f->data_name);
    if (replaced) remove_side_files(data_place); /* behind a symbolic link */
    put_in_place(part->header, header_place);
}

static void cube_finish(cube_file *f, const char *band_name, const int *band_numbers) {
    FILE *file = f->file;
    uint64_t written = file_size(file, f->part.name);
    char *header_place = place_of(f->header_name), *data_place = place_of(f->data_name);
    f->file = NULL;
    close_part(f->part.name, file);
    if (written != data_bytes(f)) fail(EXIT_ERROR, "%s: incomplete: %" PRIu64 " bytes", f->part.name, written);
    print_header(f->part.header_file, f, band_name, band_numbers);
    file = f->part.header_file;
    f->part.header_file = NULL;
    close_part(f->part.header, file);
    put_cube_in_place(f, header_place, data_place);
    free(header_place);
    free(data_place);
}

#endif /* HYPERCUBE_ENVI_WRITE */
