/* embed_kernels.c - writes OpenCL sources into a header, as arrays of line strings.

       embed_kernels HEADER FILE...

   What stands between the lines that begin with "[kernels]" and "[/kernels]" (in comments) is replaced: a file
   kernels_embed/gemm.cl becomes shs__cl_source_gemm, one string a line, NULL at the end. The order is that of the arguments.
   A line #include "other.cl" becomes an empty line. A line #include "other.h" stays: that file of the same folder becomes an array,
   too, once, and the table shs__cl_includes names the array. The host joins the parts of a program into one text. A FILE that ends
   in .h becomes C as it stands: for host and kernels.
   A header that is up to date is left alone, so that its date does not change. Lines, because a C compiler need take no
   literal beyond 4095 bytes, and because changes then show line by line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN "/* [kernels]"
#define END "/* [/kernels]"
#define INCLUDE "#include \""
enum { LITERAL = 4095, INCLUDED = 32 };

/* ---- text that grows --------------------------------------------------------------------------------------------- */

typedef struct text {
    char *at; /* zero-terminated */
    size_t used, room;
} text;

static void fail(const char *what, const char *name) {
    fprintf(stderr, "embed_kernels: %s: %s\n", name, what);
    exit(1);
}

static void append(text *t, const char *data, size_t size) {
    if (t->used + size + 1 > t->room) {
        t->room = 2 * (t->used + size + 1);
        t->at = (char *)realloc(t->at, t->room);
        if (!t->at) fail("no memory", "text");
    }
    memcpy(t->at + t->used, data, size);
    t->used += size;
    t->at[t->used] = 0;
}

static void append_string(text *t, const char *s) { append(t, s, strlen(s)); }

static text read_file(const char *path) {
    text t = {NULL, 0, 0};
    char block[512];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) fail("cannot be opened", path);
    append(&t, "", 0);
    while ((n = fread(block, 1, sizeof block, f)) > 0) append(&t, block, n);
    if (ferror(f)) fail("cannot be read", path);
    fclose(f);
    return t;
}

static void write_file(const char *path, const text *t) {
    FILE *f = fopen(path, "wb");
    if (!f) fail("cannot be written", path);
    if (fwrite(t->at, 1, t->used, f) != t->used) fail("cannot be written", path);
    if (fclose(f)) fail("cannot be written", path);
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* "kernels_embed/gemm.cl" is named gemm. */
static void append_name(text *out, const char *path) {
    const char *name = path, *p;
    size_t length, i;
    for (p = path; *p; p++)
        if (*p == '/' || *p == '\\') name = p + 1;
    length = strcspn(name, ".");
    if (length == 0) fail("has no name", path);
    for (i = 0; i < length; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", name[i])) fail("is no C name", path);
    append(out, name, length);
}

/* One byte of a literal. Beside the usual two, ?? would begin a trigraph; what is not plain ASCII becomes three octal
   digits, which no digit after them can lengthen. */
static void append_escaped(text *out, const char *line, size_t i) {
    unsigned char c = (unsigned char)line[i];
    char octal[5];
    if (c == '"' || c == '\\' || (c == '?' && i > 0 && line[i - 1] == '?')) {
        append_string(out, "\\");
        append(out, line + i, 1);
    } else if (c == '\t') append_string(out, "\\t");
    else if (c >= 32 && c < 127) append(out, line + i, 1);
    else {
        octal[0] = '\\';
        octal[1] = (char)('0' + (c >> 6));
        octal[2] = (char)('0' + (c >> 3 & 7));
        octal[3] = (char)('0' + (c & 7));
        append(out, octal, 4);
    }
}

static void append_line(text *out, const char *path, const char *line, size_t length) {
    size_t start, i;
    if (length > 0 && line[length - 1] == '\r') length--;
    append_string(out, "    \"");
    start = out->used;
    for (i = 0; i < length; i++) append_escaped(out, line, i);
    append_string(out, "\\n");
    if (out->used - start > LITERAL) fail("a line is too long for a literal", path);
    append_string(out, "\",\n");
}

static int ends_in(const char *name, size_t length, const char *end) {
    return length >= strlen(end) && !strncmp(name + length - strlen(end), end, strlen(end));
}

/* The length of the name in #include "name", 0 for any other line. */
static size_t included(const char *line, size_t length) {
    const size_t before = strlen(INCLUDE);
    const char *end = length > before && !strncmp(line, INCLUDE, before) ? memchr(line + before, '"', length - before) : NULL;
    return end ? (size_t)(end - line) - before : 0;
}

/* The files that others include, each once. */
typedef struct included_files {
    text path[INCLUDED];
    int count;
} included_files;

/* Notes a file of the folder of the file that includes it. */
static void note_included(included_files *files, const char *from, const char *name, size_t length) {
    text path = {NULL, 0, 0};
    const char *folder = strrchr(from, '/');
    int i;
    if (folder) append(&path, from, (size_t)(folder + 1 - from));
    append(&path, name, length);
    for (i = 0; i < files->count; i++) {
        if (strcmp(files->path[i].at, path.at) != 0) continue;
        free(path.at);
        return;
    }
    if (files->count == INCLUDED) fail("too many files are included", path.at);
    files->path[files->count++] = path;
}

static void append_lines(text *out, const char *path, included_files *files) {
    text source = read_file(path);
    const char *at = source.at, *stop = source.at + source.used, *end;
    if (strlen(source.at) != source.used) fail("holds a zero byte", path);
    for (; at < stop; at = end + 1) {
        size_t name;
        end = strchr(at, '\n');
        if (!end) end = stop;
        name = included(at, (size_t)(end - at));
        if (name && ends_in(at + strlen(INCLUDE), name, ".cl")) {
            append_line(out, path, "", 0);
            continue;
        }
        if (name) note_included(files, path, at + strlen(INCLUDE), name);
        append_line(out, path, at, (size_t)(end - at));
    }
    free(source.at);
}

static void append_array(text *out, const char *path, included_files *files) {
    append_string(out, "SHS__PRIVATE const char *const shs__cl_source_");
    append_name(out, path);
    append_string(out, "[] = {\n");
    append_lines(out, path, files);
    append_string(out, "    NULL};\n\n");
}

/* Writes an array for each included file, files of included files too, and the table of their names. */
static void append_included(text *out, included_files *files) {
    int i;
    for (i = 0; i < files->count; i++) append_array(out, files->path[i].at, files);
    append_string(out, "/* Which array stands for a line that includes a file. */\n");
    append_string(out, "SHS__PRIVATE const shs__cl_included shs__cl_includes[] = {\n");
    for (i = 0; i < files->count; i++) {
        const char *folder = strrchr(files->path[i].at, '/');
        append_string(out, "    {\"#include \\\"");
        append_string(out, folder ? folder + 1 : files->path[i].at);
        append_string(out, "\\\"\\n\", shs__cl_source_");
        append_name(out, files->path[i].at);
        append_string(out, "},\n");
    }
    append_string(out, "    {NULL, NULL}};\n\n");
}

static void append_source(text *out, const char *path, included_files *files) {
    if (ends_in(path, strlen(path), ".h")) {
        text header = read_file(path);
        append(out, header.at, header.used);
        append_string(out, "\n");
        free(header.at);
        return;
    }
    append_array(out, path, files);
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* Where the only line that begins with the mark starts. */
static const char *find_line(const text *header, const char *mark, const char *path) {
    const char *found = NULL, *p = header->at;
    for (; (p = strstr(p, mark)) != NULL; p++) {
        if (p > header->at && p[-1] != '\n') continue;
        if (found) fail("a marker line occurs twice", path);
        found = p;
    }
    if (!found) fail("a marker line is missing", path);
    return found;
}

int main(int argc, char **argv) {
    text header, out = {NULL, 0, 0};
    included_files files;
    const char *begin, *end;
    int i;
    files.count = 0;
    if (argc < 2) fail("HEADER FILE...", "usage");
    header = read_file(argv[1]);
    begin = find_line(&header, BEGIN, argv[1]);
    end = find_line(&header, END, argv[1]);
    begin = strchr(begin, '\n');
    if (!begin || begin > end) fail("the marker lines are in the wrong order", argv[1]);
    append(&out, header.at, (size_t)(begin + 1 - header.at));
    for (i = 2; i < argc; i++) append_source(&out, argv[i], &files);
    append_included(&out, &files);
    append_string(&out, end);
    if (out.used != header.used || memcmp(out.at, header.at, out.used) != 0) write_file(argv[1], &out);
    for (i = 0; i < files.count; i++) free(files.path[i].at);
    free(out.at);
    free(header.at);
    return 0;
}
