/* npy.h - signals in a file of numpy's (.npy), as the ranks read them: float32 or float64, shape (signals, values), row by
   row. */
#ifndef RANKS_NPY
#define RANKS_NPY

#include "ranks.h"
#ifdef WITH_MPI
#include <inttypes.h>

typedef struct npy_file {
    const char *name;
    MPI_File file;
    shs_npy about;
    uint64_t offset, count; /* of the numbers; signals */
    int p, size;            /* values of a signal, bytes of one */
    size_t row;             /* bytes of a signal */
    uint64_t print;         /* of what the header says, and of the file's size */
} npy_file;

static inline int npy_piece(void *user, void *bytes, size_t count) { return fread(bytes, 1, count, user) != count; }

/* Every rank looks at the header, and at the size, for itself: it may see another file. */
static inline npy_file npy_open(const char *name) {
    npy_file f = SHS_ZERO;
    uint64_t said[3], values;
    int form[2];
    MPI_Offset size;
    shs_status status;
    long offset;
    FILE *file = fopen(name, "rb");
    if (!file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    f.name = name;
    status = shs_npy_read_header(&f.about, npy_piece, file);
    offset = ftell(file);
    fclose(file);
    if (status == SHS_READ_FAILED) fail(EXIT_ERROR, "%s: it is truncated", name);
    if (status != SHS_OK) fail(EXIT_ERROR, "%s: %s", name, shs_status_text(status));
    if (f.about.kind != 'f' || f.about.size < 4) fail(EXIT_ERROR, "%s: its numbers are neither float32 nor float64", name);
    f.count = f.about.rows;
    values = f.about.columns;
    if (f.about.dimensions != 2)
        fail(EXIT_ERROR, "%s: its shape must be (signals, values); it has %d dimensions", name, f.about.dimensions);
    /* np.save writes x.T like this. Read as it lies there, the array would be its transpose. */
    if (f.about.fortran_order)
        fail(EXIT_ERROR,
             "%s: its shape is (%" PRIu64 ", %" PRIu64 ") in Fortran order; it must be (signals, values) in C order: "
             "save numpy.ascontiguousarray(x)",
             name, f.count, values);
    if (values < 1 || values > INT_MAX / 16)
        fail(EXIT_ERROR, "%s: its shape is (%" PRIu64 ", %" PRIu64 "); it must be (signals, values) with 1 to %d values", name,
             f.count, values, INT_MAX / 16);
    f.p = (int)values;
    f.size = f.about.size;
    f.row = elements(f.p, f.size);
    f.offset = (uint64_t)offset;
    f.file = parallel_open(name, MPI_MODE_RDONLY);
    if (MPI_File_get_size(f.file, &size)) fail(EXIT_ERROR, "%s: cannot find its size", name);
    if ((uint64_t)size < f.offset + f.count * f.row)
        fail(EXIT_ERROR, "%s: it is truncated: %lld bytes are there, and its header says %" PRIu64 " signals of %d values",
             name, (long long)size, f.count, f.p);
    said[0] = f.offset;
    said[1] = f.count;
    said[2] = values;
    form[0] = f.size;
    form[1] = f.about.big_endian;
    f.print = imprint(imprint(0, said, sizeof said), form, sizeof form);
    f.print = imprint(f.print, &size, sizeof size);
    return f;
}

/* Takes the next bytes of a block in memory. */
static inline int npy_take(void *user, void *bytes, size_t count) {
    const unsigned char **at = user;
    memcpy(bytes, *at, count);
    *at += count;
    return 0;
}

/* Signals first .. first+count-1 as columns of Y (p x count); room holds as many of the file. Non-zero: reading failed. */
static inline int npy_read(const npy_file *f, uint64_t first, size_t count, void *room, shs_real *Y) {
    const size_t p = (size_t)f->p, bytes = count * f->row;
    const uint64_t at = f->offset + first * f->row;
    const unsigned char *next = room;
    shs_npy block = f->about;
    if (parallel_move(f->file, at, bytes, room, NULL) != bytes) return 1;
    block.fortran_order = 1;
    block.rows = p;
    block.columns = count;
    return shs_npy_read_values(&block, SHS_TYPE_REAL, Y, p, npy_take, &next) != SHS_OK;
}

static inline int npy_put(void *user, const void *bytes, size_t count) { return fwrite(bytes, 1, count, user) != count; }

/* Writes the 128-byte header of an array of `rows` rows in the byte order of the machine (columns 0: one number a row). */
enum { NPY_HEADER = 128 };
static inline void npy_header(FILE *file, char kind, size_t size, uint64_t rows, int columns) {
    const uint16_t one = 1;
    unsigned char first_byte;
    shs_npy npy = SHS_ZERO;
    memcpy(&first_byte, &one, 1);
    npy.kind = kind;
    npy.size = (int)size;
    npy.big_endian = first_byte == 0;
    npy.rows = rows;
    if (columns) {
        npy.columns = (uint64_t)columns;
        npy.dimensions = 2;
    } else {
        npy.columns = 1;
        npy.dimensions = 1;
    }
    (void)shs_npy_write_header(&npy, npy_put, file); /* whoever closes the file asks whether all was written */
}

#endif /* WITH_MPI */
#endif /* RANKS_NPY */
