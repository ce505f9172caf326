/* code_mpi.c - sparse codes (Batch-OMP) of signals in a file of numpy's on the ranks of MPI: each streams its own share, and
   writes its part of the codes.

       mpicc -O3 -fopenmp mpi/code_mpi.c -o code_mpi -lm
       mpirun -n 4 ./code_mpi atoms.npy signals.npy codes --sparsity 8

   Writes codes_used.npy (signals), codes_atoms.npy and codes_coefs.npy (signals, sparsity): row i has used[i] atoms, by their
   numbers from 0, and their coefficients; what is behind them is 0. A rank holds a block of signals and their codes. */
#include "npy.h"
#ifdef WITH_MPI

static struct {
    int sparsity, block, threads;
    double tolerance;
    const char *device;
} given = {0, 65536, 0, 0, "cpu"};

static const option options[] = {
    {"Coding", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--sparsity", "N", OPTION_COUNT, &given.sparsity, 1, "atoms a signal at most (a tenth of its values)"},
    {"--tolerance", "T", OPTION_NUMBER, &given.tolerance, 0, "stop where |signal - atoms x coefficients| is no more than this"},
    {"--block", "N", OPTION_COUNT, &given.block, 1, "signals in memory at a time (65536)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--device", "NAME", OPTION_TEXT, &given.device, 0, RANKS_DEVICE_HELP},
    {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP},
    {"--threads", "N", OPTION_COUNT, &given.threads, 1, "of each rank (its share of the host's processors)"},
    {"atoms.npy signals.npy codes --sparsity 8", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

/* ---- the three files of codes ------------------------------------------------------------------------------------ */

enum { USED, ATOMS, COEFS, OUTPUTS };
static struct {
    char *name, *part;
    MPI_File file;
    size_t row; /* bytes of one signal */
} outputs[OUTPUTS];

static void remove_parts(void) {
    int i;
    for (i = 0; i < OUTPUTS; i++)
        if (outputs[i].part) remove(outputs[i].part);
}

/* The first rank creates the files with their headers under temporary names. Then all ranks open the files. */
static void create_outputs(const char *prefix, uint64_t signals, int stride) {
    static const struct {
        const char *end;
        char kind;
        size_t size;
    } numbers[OUTPUTS] = {
        {"_used.npy", 'i', sizeof(int32_t)}, {"_atoms.npy", 'i', sizeof(int32_t)}, {"_coefs.npy", 'f', sizeof(shs_real)}};
    const int columns[OUTPUTS] = {0, stride, stride};
    int i;
    for (i = 0; i < OUTPUTS; i++) {
        outputs[i].name = joined(prefix, numbers[i].end);
        outputs[i].row = numbers[i].size;
        if (i != USED) outputs[i].row *= (size_t)stride;
        will_write(outputs[i].name);
    }
    together(NULL, 0);
    if (world.rank == 0) atexit(remove_parts);
    for (i = 0; i < OUTPUTS; i++) {
        char *part = joined(outputs[i].name, ".part");
        if (world.rank == 0) {
            FILE *file = open_for_writing(part);
            outputs[i].part = part;
            npy_header(file, numbers[i].kind, numbers[i].size, signals, columns[i]);
            close_written(file, part);
        }
        outputs[i].part = part;
    }
    together(NULL, 0);
    for (i = 0; i < OUTPUTS; i++) outputs[i].file = parallel_open(outputs[i].part, MPI_MODE_WRONLY);
    together(NULL, 0);
}

static void write_codes(uint64_t first, const shs_codes *codes, size_t count) {
    const void *rows[OUTPUTS];
    int i;
    rows[USED] = codes->used;
    rows[ATOMS] = codes->atoms;
    rows[COEFS] = codes->coefs;
    for (i = 0; i < OUTPUTS; i++) {
        size_t bytes = count * outputs[i].row;
        if (parallel_move(outputs[i].file, NPY_HEADER + first * outputs[i].row, bytes, NULL, rows[i]) != bytes)
            fail(EXIT_ERROR, "%s: writing it failed", outputs[i].part);
    }
}

/* Names are given when all ranks have written. */
static void finish_outputs(void) {
    int i;
    for (i = 0; i < OUTPUTS; i++) parallel_close(&outputs[i].file, outputs[i].part, 1);
    together(NULL, 0);
    for (i = 0; i < OUTPUTS; i++) {
        if (world.rank == 0 && rename(outputs[i].part, outputs[i].name))
            fail(EXIT_ERROR, "%s: cannot rename it: %s", outputs[i].part, strerror(errno));
        free(outputs[i].part);
        free(outputs[i].name);
        outputs[i].part = NULL;
    }
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* The atoms that a signal may have: as many as asked for, else a tenth of its values, and never more than there are values or
   atoms. */
static int most_atoms(int p, int n) {
    int most = larger(p / 10, 1);
    if (given.sparsity) most = given.sparsity;
    return smaller(most, smaller(p, n));
}

/* Signals in memory at a time. */
static size_t block_of(uint64_t share) {
    if (share < (uint64_t)given.block) return (size_t)share;
    return (size_t)given.block;
}

/* Coding needs no reduction. A rank that fails tells the other ranks at the end. */
static void code_share(const shs_context *ctx, const npy_file *in, int n, const shs_real *D, uint64_t first, uint64_t share,
                       const shs_omp_options *omp, int stride) {
    const size_t p = (size_t)in->p, block = block_of(share);
    void *room = allocate(block, in->row);
    shs_real *Y = ALLOCATE(shs_real, block * p);
    size_t count;
    shs_codes codes = SHS_ZERO;
    uint64_t done;
    if (block > 0) check(shs_codes_create(NULL, block, stride, &codes), in->name);
    for (done = 0; done < share; done += count) {
        if (share - done < block) count = (size_t)(share - done);
        else count = block;
        if (npy_read(in, first + done, count, room, Y)) fail(EXIT_ERROR, "%s: reading it failed", in->name);
        check(shs_omp_ex(ctx, in->p, n, D, in->p, count, Y, in->p, omp, &codes, NULL, NULL), in->name);
        write_codes(first + done, &codes, count);
        if (rank_fault("cancel")) fail(EXIT_ERROR, "%s: %s", in->name, shs_status_text(SHS_CANCELLED));
    }
    shs_codes_free(NULL, &codes);
    free(Y);
    free(room);
}

int main(int argc, char **argv) {
    int names = ranks_begin(argc, argv, "ATOMS.npy SIGNALS.npy PREFIX [options]", "Codes signals on the ranks of MPI.", options,
                            (int)(sizeof options / sizeof *options));
    shs_omp_options omp = SHS_ZERO;
    shs_context ctx;
    npy_file dictionary, in;
    uint64_t first, share;
    size_t atoms, numbers;
    shs_real *D;
    void *room;
    int n, stride;
    if (names != 3) fail(EXIT_USAGE, "the names of two files, and how those of the codes begin");
    ctx = ranks_context(given.threads, given.device);
    will_read(argv[0]);
    will_read(argv[1]);
    dictionary = npy_open(argv[0]);
    in = npy_open(argv[1]);
    if (dictionary.p != in.p)
        fail(EXIT_ERROR, "%s: %d values, but the signals of %s have %d", argv[0], dictionary.p, argv[1], in.p);
    if (dictionary.count < 1 || dictionary.count > (1 << 24)) fail(EXIT_ERROR, "%s: too many atoms, or none", argv[0]);
    n = (int)dictionary.count;
    atoms = (size_t)n;
    numbers = atoms * (size_t)in.p;
    D = ALLOCATE(shs_real, numbers);
    room = allocate(atoms, dictionary.row);
    if (npy_read(&dictionary, 0, atoms, room, D)) fail(EXIT_ERROR, "%s: reading it failed", argv[0]);
    free(room);
    parallel_close(&dictionary.file, argv[0], 0);
    together("the files that they see", imprint(in.print, D, numbers * sizeof *D));

    stride = most_atoms(in.p, n);
    omp.sparsity = stride;
    omp.tolerance = (shs_real)given.tolerance;
    share = share_of(in.count, &first);
    create_outputs(argv[2], in.count, stride);
    code_share(&ctx, &in, n, D, first, share, &omp, stride);
    together(NULL, 0);
    finish_outputs();
    parallel_close(&in.file, in.name, 0);
    printf("%" PRIu64 " signals of %d values coded\n", in.count, in.p);
    free(D);
    example_end();
    ranks_end();
    return EXIT_SUCCESS;
}
#endif
