/* envi_write.h - a cube in ENVI's format, written: under other names until all of it is there. */
#ifndef HYPERCUBE_ENVI_WRITE
#define HYPERCUBE_ENVI_WRITE

#include "envi.h"

/* ---- writing: under other names, until all of it is there -------------------------------------------------------- */

enum { MAX_PARTS = 4 };
static const char *parts[MAX_PARTS]; /* the unfinished files; NULL where there is none */

static void remove_parts(void) {
    int i;
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i]) remove(parts[i]);
}

#ifdef EXAMPLE_POSIX
static void interrupted(int number) {
    int i;
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i]) unlink(parts[i]);
    _exit(128 + number);
}

/* A signal that is ignored, as under nohup, stays so. */
static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    size_t i;
    signal(SIGXFSZ, SIG_IGN); /* the write fails, and is reported */
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (signal(numbers[i], interrupted) == SIG_IGN) signal(numbers[i], SIG_IGN);
}
#else
static void catch_signals(void) {}
#endif

static void note_part(const char *name) {
    static int ready = 0;
    int i = 0;
    if (!ready) {
        atexit(remove_parts);
        catch_signals();
        ready = 1;
    }
    while (i < MAX_PARTS - 1 && parts[i]) i++;
    parts[i] = name;
}

static void put_in_place(const char *part, const char *name) {
    int i;
#ifndef EXAMPLE_POSIX
    remove(name); /* POSIX alone replaces a file by renaming */
#endif
    if (rename(part, name)) fail(EXIT_ERROR, "%s: cannot rename it to %s: %s", part, name, strerror(errno));
    for (i = 0; i < MAX_PARTS; i++)
        if (parts[i] == part) parts[i] = NULL;
}

/* The names of a new cube's files. */
static void cube_name(cube_file *f, const char *header_name) {
    f->header_name = joined(header_name, "");
    f->data_name = derived_name(header_name, "", ".img");
    f->part_name = joined(f->data_name, ".part");
    f->part_header = joined(header_name, ".part");
    will_write(header_name);
    will_write(f->data_name);
    will_write(f->part_name);
    will_write(f->part_header);
}

/* Only a file that was not there: another run may be writing that one, or it is a link to somewhere else. */
static FILE *create_part(const char *name) {
    FILE *file = NULL;
#ifdef EXAMPLE_POSIX
    int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (descriptor >= 0) file = fdopen(descriptor, "wb");
#else
    uint64_t size;
    if (is_regular(name, &size)) errno = EEXIST;
    else file = fopen(name, "wb");
#endif
    if (!file && errno == EEXIST)
        fail(EXIT_ERROR, "%s: it is there already: another run writes it, or one was killed; then remove it", name);
    if (!file) fail(EXIT_ERROR, "%s: cannot write it: %s", name, strerror(errno));
    note_part(name);
    return file;
}

/* Opens the files of a new cube, whose names, sizes, type and interleave are set. */
static void cube_create(cube_file *f) {
    if (data_bytes(f) > INT64_MAX) fail(EXIT_ERROR, "%s: too large", f->data_name);
    f->file = create_part(f->part_name);
    f->header_file = create_part(f->part_header);
    setvbuf(f->file, NULL, _IONBF, 0);
}

/* Braces would end the value early. */
static void print_value(FILE *file, const char *key, const char *text) {
    fprintf(file, "%s = {", key);
    for (; *text; text++) fputc(*text == '{' ? '(' : *text == '}' ? ')' : *text, file);
    fprintf(file, "}\n");
}

static void print_list(FILE *file, const char *key, const double *list, int count) {
    int i;
    if (!list) return;
    fprintf(file, "%s = {", key);
    for (i = 0; i < count; i++) fprintf(file, "%s%s%.10g", i ? "," : "", i % 8 ? " " : "\n  ", list[i]);
    fprintf(file, "}\n");
}

/* Bands are named "name 1", "name 2" ..., or by numbers (each one more than in the array) where given. */
static void print_header(FILE *file, const cube_file *f, const char *name, const int *numbers) {
    int i;
    fprintf(file, "ENVI\n");
    print_value(file, "description", f->description);
    fprintf(file, "samples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = ENVI Standard\n", f->samples,
            f->lines, f->bands);
    fprintf(file, "data type = %d\ninterleave = %s\nbyte order = %d\n", type_info(f->type)->code,
            interleaves[f->interleave], host_byte_order());
    if (f->has_nodata) fprintf(file, "data ignore value = %.17g\n", f->nodata);
    fprintf(file, "band names = {");
    for (i = 0; i < f->bands; i++) fprintf(file, "%s\n  %s %d", i ? "," : "", name, (numbers ? numbers[i] : i) + 1);
    fprintf(file, "}\n");
    if (f->wavelength && f->units && *f->units) fprintf(file, "wavelength units = %s\n", f->units);
    print_list(file, "wavelength", f->wavelength, f->bands);
    print_list(file, "bbl", f->good, f->bands);
}

/* An older header of that name goes first: it would describe the new data wrongly. */
static void cube_finish(cube_file *f, const char *band_name, const int *band_numbers) {
    FILE *file = f->file;
    uint64_t written = file_size(file, f->part_name);
    f->file = NULL;
    close_written(file, f->part_name);
    if (written != data_bytes(f)) fail(EXIT_ERROR, "%s: incomplete: %" PRIu64 " bytes", f->part_name, written);
    print_header(f->header_file, f, band_name, band_numbers);
    file = f->header_file;
    f->header_file = NULL;
    close_written(file, f->part_header);
    remove(f->header_name);
    put_in_place(f->part_name, f->data_name);
    put_in_place(f->part_header, f->header_name);
}

#endif /* HYPERCUBE_ENVI_WRITE */
