/* npy.h - signals in a file of numpy's (.npy), as the ranks read them: float32 or float64, one signal after the other, that is
   shape (signals, values), or its transpose in Fortran's order. */
#ifndef RANKS_NPY
#define RANKS_NPY

#include "ranks.h"
#include <inttypes.h>

typedef struct npy_file {
    const char *name;
    MPI_File file;
    uint64_t offset, count; /* of the numbers; signals */
    int p, size, swap;      /* values of a signal, bytes of one, whether they are in the other byte order */
    uint64_t print;         /* of what the header says, and of the file's size */
} npy_file;

static inline int big_endian(void) {
    const uint16_t one = 1;
    return !*(const unsigned char *)&one;
}

/* The value of a key of the header's dictionary. */
static inline const char *npy_value(const npy_file *f, const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at || !(at = strchr(at, ':'))) fail(EXIT_ERROR, "%s: its header does not say %s", f->name, key);
    return at + 1 + strspn(at + 1, " ");
}

/* Every rank looks at the header, and at the size, for itself: it may see another file. */
static inline npy_file npy_open(const char *name) {
    npy_file f = SHS_ZERO;
    unsigned char begin[12] = {0};
    static char text[4096]; /* too large for a small stack */
    char order, *end;
    const char *at;
    uint64_t shape[2];
    MPI_Offset size;
    size_t length, most = sizeof text - 1;
    FILE *file = fopen(name, "rb");
    memset(text, 0, sizeof text);
    if (!file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    if (fread(begin, 1, 10, file) != 10 || memcmp(begin, "\x93NUMPY", 6)) fail(EXIT_ERROR, "%s: not a file of numpy's", name);
    f.name = name;
    length = begin[8] + 256u * begin[9], f.offset = 10 + length;
    if (begin[6] != 1 || length > most || fread(text, 1, length, file) != length)
        fail(EXIT_ERROR, "%s: its header is damaged, or of another version than 1", name);
    fclose(file);
    at = npy_value(&f, text, "'descr'");
    order = *at == '\'' ? at[1] : 0;
    if (!order || !strchr("<>=", order) || at[2] != 'f' || (at[3] != '4' && at[3] != '8') || at[4] != '\'')
        fail(EXIT_ERROR, "%s: its numbers are neither float32 nor float64", name);
    f.size = at[3] - '0', f.swap = order != '=' && (order == '>') != big_endian();
    at = npy_value(&f, text, "'shape'");
    shape[0] = *at == '(' ? strtoull(at + 1, &end, 10) : 0;
    shape[1] = *at == '(' && *end == ',' ? strtoull(end + 1, &end, 10) : 0;
    if (*at != '(' || *end != ')' || shape[1] == 0) fail(EXIT_ERROR, "%s: its shape is not (signals, values)", name);
    order = *npy_value(&f, text, "'fortran_order'");
    f.count = shape[order == 'T'];
    if (shape[order != 'T'] < 1 || shape[order != 'T'] > INT_MAX / 16)
        fail(EXIT_ERROR, "%s: its shape is not (signals, values)", name);
    f.p = (int)shape[order != 'T'];
    f.file = parallel_open(name, MPI_MODE_RDONLY);
    if (MPI_File_get_size(f.file, &size)) fail(EXIT_ERROR, "%s: cannot find its size", name);
    if (f.count > (UINT64_MAX >> 1) / (uint64_t)f.p / 8 ||
        (uint64_t)size < f.offset + f.count * (uint64_t)f.p * (uint64_t)f.size)
        fail(EXIT_ERROR, "%s: it is truncated: %lld bytes are there, and its header says %" PRIu64 " signals of %d values",
             name, (long long)size, f.count, f.p);
    f.print = imprint(imprint(0, text, sizeof text), &size, sizeof size);
    return f;
}

/* Signals first .. first+count-1 as columns of Y (p x count); room holds as many of the file. Non-zero: reading failed. */
static inline int npy_read(const npy_file *f, uint64_t first, size_t count, void *room, shs_real *Y) {
    size_t values = count * (size_t)f->p, size = (size_t)f->size, i, b;
    unsigned char *bytes = (unsigned char *)room, *v, other;
    uint64_t at = f->offset + first * (uint64_t)f->p * (uint64_t)f->size;
    if (parallel_move(f->file, at, values * size, room, NULL) != values * size) return 1;
    for (i = 0; i < values; i++) {
        double wide;
        float narrow;
        v = bytes + i * size;
        for (b = 0; f->swap && b < size / 2; b++) other = v[b], v[b] = v[size - 1 - b], v[size - 1 - b] = other;
        if (size == 8) memcpy(&wide, v, 8), Y[i] = (shs_real)wide;
        else memcpy(&narrow, v, 4), Y[i] = (shs_real)narrow;
    }
    return 0;
}

/* The header for so many rows of so many numbers (0: one number a row); type as numpy has it: f4, f8, i4. Returns its length,
   a multiple of 64. */
enum { NPY_HEADER = 128 };
static inline size_t npy_header(char *header, const char *type, uint64_t rows, int columns) {
    char shape[40], text[NPY_HEADER - 10];
    if (columns) snprintf(shape, sizeof shape, "(%" PRIu64 ", %d)", rows, columns);
    else snprintf(shape, sizeof shape, "(%" PRIu64 ",)", rows);
    snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }", big_endian() ? '>' : '<', type,
             shape);
    memcpy(header, "\x93NUMPY\1\0", 8);
    header[8] = NPY_HEADER - 10, header[9] = 0;
    sprintf(header + 10, "%-117s\n", text);
    return NPY_HEADER;
}

#endif /* RANKS_NPY */
