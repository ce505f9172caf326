/* fuzz_reader.c - the ENVI reader of examples/hypercube/ and the PGM reader of examples/example.h. The input is the header,
   then after a zero byte the data file. fail() returns here in place of ending the program. The memory is counted and freed.
   A readable file is read, its header is printed, and the printed header must read the same. */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the world that the reader sees ------------------------------------------------------------------------------ */

static jmp_buf stopped;
static void *blocks[4096];
static size_t block_count; /* places that were ever used */
static FILE *files[8], *nothing;
static const uint8_t *contents[2]; /* of the header, of the data */
static size_t lengths[2];

/* longjmp makes 1 of a code of 0. */
__attribute__((noreturn)) static void stop(int code) { longjmp(stopped, code); }

static void *keep(void *block) {
    size_t i = 0;
    while (i < block_count && blocks[i]) i++;
    if (i == sizeof blocks / sizeof *blocks) abort();
    if (i == block_count) block_count++;
    blocks[i] = block;
    return block;
}

static void forget(void *block) {
    size_t i = 0;
    while (i < block_count && blocks[i] != block) i++;
    if (block && i < block_count) blocks[i] = NULL;
}

static void *kept_calloc(size_t count, size_t size) {
    if (size && count > ((size_t)1 << 22) / size) return NULL; /* a computer with little memory */
    return keep(calloc(count, size));
}

static void *kept_realloc(void *block, size_t size) {
    if (size > (size_t)1 << 22) return NULL;
    forget(block);
    return keep(realloc(block, size));
}

static void kept_free(void *block) {
    forget(block);
    free(block);
}

static int is_data(const char *name) { return strstr(name, ".img") != NULL; }

static FILE *opened(const char *name) {
    int which = is_data(name), i = 0;
    FILE *file;
    if (lengths[which]) file = fmemopen((void *)contents[which], lengths[which], "rb");
    else file = fopen("/dev/null", "rb");
    while (files[i]) i++;
    files[i] = file;
    return file;
}

/* Only the two files are there. */
static int looked_at(const char *name, struct stat *about) {
    int which = is_data(name);
    if (!which && !strstr(name, ".hdr")) return -1;
    memset(about, 0, sizeof *about);
    about->st_size = (off_t)lengths[which];
    return 0;
}

static int closed(FILE *file) {
    size_t i;
    for (i = 0; i < 8; i++)
        if (files[i] == file) files[i] = NULL;
    return fclose(file);
}

#define exit(code) stop(code)
#define calloc(count, size) kept_calloc(count, size)
#define realloc(block, size) kept_realloc(block, size)
#define free(block) kept_free(block)
#define fopen(name, mode) opened(name)
#define fclose(file) closed(file)
#define stat(name, about) looked_at(name, about)
#define opendir(name) ((void)(name), (DIR *)NULL)
#undef S_ISREG
#define S_ISREG(mode) 1
#undef stderr
#define stderr nothing
#define EXAMPLE_NO_STB
#define EXAMPLE_NO_OPENCL
#define SPARSEHS_IMPLEMENTATION_ONCE /* it is linked */
#define main hypercube_main
#include "../../examples/hypercube/hypercube.c"
#undef main
#undef exit
#undef calloc
#undef realloc
#undef free
#undef fopen
#undef fclose
#undef stat

/* ---- what is done there ------------------------------------------------------------------------------------------ */

#define must(condition) ((condition) ? (void)0 : abort())

/* The header `name` says what the file is. */
static void must_say(const char *name, const cube_file *f) {
    header h = header_read(name);
    cube_file own = *f;
    own.swap = 0; /* what is written is in the order of the machine */
    must(header_whole(&h, "samples", 1, INT_MAX) == f->samples && header_whole(&h, "lines", 1, INT_MAX) == f->lines);
    header_type(&h, &own);
    must(header_whole(&h, "bands", 1, INT_MAX) == f->bands && own.type == f->type);
    must(header_interleave(&h) == f->interleave);
    header_free(&h);
}

/* The printed header must say the same as the header that was read. The bands are kept in this order or in the reverse order. */
static void read_again(const cube_file *f) {
    char text[1 << 15];
    int kept[200], i;
    FILE *file = fmemopen(text, sizeof text, "wb");
    cube_file again = *f;
    again.swap = 0;
    again.origin.from = f;
    again.origin.kept = NULL;
    again.origin.same_values = 1;
    for (i = 0; i < f->bands; i++) {
        kept[i] = i;
        if (f->samples % 2 == 0) kept[i] = f->bands - 1 - i;
    }
    if (f->lines % 3) again.origin.kept = kept;
    print_header(file, &again, "Band", NULL);
    fclose(file);
    if (strlen(text) + 1 >= sizeof text) return;
    contents[0] = (const uint8_t *)text;
    lengths[0] = strlen(text);
    must_say("printed.hdr", f);
}

static void read_cube(void) {
    cube_file f = cube_open("cube.hdr", NULL);
    unsigned char *lines;
    uint64_t bytes = data_bytes(&f);
    int i, j;
    must(f.samples > 0 && f.lines > 0 && f.bands > 0 && bytes <= lengths[1] && file_bytes(&f) <= lengths[1]);
    lines = ALLOCATE(unsigned char, bytes);
    must_read(&f, 0, f.lines, lines);
    for (i = 0; i < f.bands && i < 8; i++)
        for (j = 0; j < f.samples && j < 8; j++) {
            size_t at = value_index(&f, f.lines, f.lines - 1, j, i);
            (void)is_missing(&f, get_value(lines, at, f.type, f.swap));
        }
    must_read(&f, f.lines / 2, f.lines - f.lines / 2, lines);
    kept_free(lines);
    if (f.bands < 200) read_again(&f);
    cube_close(&f);
}

/* The options that are lists in words. */
static void read_lists(const char *text) {
    int *bands = ALLOCATE(int, 40), count = listed_bands(text, 40, bands), i;
    must(count > 0 && count <= 40);
    for (i = 0; i < count; i++) must(bands[i] >= 0 && bands[i] < 40);
    kept_free(bands);
}

static void read_picture(const uint8_t *data, size_t size) {
    picture a = pnm_read("picture.pgm", data, size);
    size_t i;
    for (i = 0; i < picture_size(&a); i++) must(a.pixels[i] >= 0 && a.pixels[i] <= 255);
    kept_free(a.pixels);
}

/* The header ends at the first zero byte, and the data file begins behind it. */
static void split(const uint8_t *data, size_t size) {
    size_t i = 0;
    while (i < size && data[i]) i++;
    contents[0] = data;
    lengths[0] = i;
    if (i < size) i++;
    contents[1] = data + i;
    lengths[1] = size - i;
}

/* After a stop, blocks and files are left. */
static void clean_up(void) {
    size_t i;
    while (block_count) {
        block_count--;
        free(blocks[block_count]);
        blocks[block_count] = NULL;
    }
    for (i = 0; i < 8; i++) {
        if (files[i]) fclose(files[i]);
        files[i] = NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t i;
    char *text;
    if (!nothing) nothing = fopen("/dev/null", "wb");
    if (size < 2) return 0;
    split(data, size);
    text = (char *)calloc(lengths[0] + 1, 1);
    memcpy(text, data, lengths[0]);
    if (!setjmp(stopped)) {
        if (data[0] == 'P') read_picture(data, size);
        else if (data[0] == 'E') read_cube();
        else read_lists(text);
        for (i = 0; i < block_count; i++) must(!blocks[i]); /* nothing is forgotten where all went well */
    }
    clean_up();
    free(text);
    return 0;
}
