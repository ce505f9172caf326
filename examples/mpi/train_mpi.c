/* train_mpi.c - learns a dictionary (K-SVD) from signals in a file of numpy's on the ranks of MPI: each reads its share of them
   into its memory.

       mpicc -O3 -fopenmp mpi/train_mpi.c -o train_mpi -lm
       mpirun -n 4 ./train_mpi signals.npy atoms.npy --atoms 256 --sparsity 8 --iterations 20 --parallel-atoms 64

   signals.npy has the shape (signals, values), atoms.npy (atoms, values). An iteration takes a reduction for each
   --parallel-atoms of the atoms, and two more: with one at a time, AK-SVD, the network's latency counts. */
#include "npy.h"
#ifdef WITH_MPI

static struct {
    int atoms, sparsity, iterations, parallel_atoms, threads;
    uint64_t seed;
    const char *device;
} given = {256, 0, 10, 1, 0, 0, "cpu"};

static const option options[] = {
    {"Learning", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--atoms", "N", OPTION_COUNT, &given.atoms, 1, "of the dictionary (256)"},
    {"--sparsity", "N", OPTION_COUNT, &given.sparsity, 1, "atoms a signal at most (a tenth of its values)"},
    {"--iterations", "N", OPTION_COUNT, &given.iterations, 1, "how many (10)"},
    {"--parallel-atoms", "N", OPTION_COUNT, &given.parallel_atoms, 1, "atoms that are updated at a time (1)"},
    {"--seed", "N", OPTION_SEED, &given.seed, 0, "of the start (0)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--device", "NAME", OPTION_TEXT, &given.device, 0, RANKS_DEVICE_HELP},
    {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP},
    {"--threads", "N", OPTION_COUNT, &given.threads, 1, "of each rank (its share of the host's processors)"},
    {"signals.npy atoms.npy --atoms 256 --sparsity 8", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

/* The first rank writes what all ranks have. Writes under a temporary name first, so that a file of the final name is always
   complete. */
static void write_atoms(const char *name, int p, int n, const shs_real *D) {
    char *part = joined(name, ".part");
    FILE *file = open_for_writing(part);
    npy_header(file, 'f', sizeof *D, (uint64_t)n, p);
    fwrite(D, sizeof *D, elements(n, p), file);
    close_written(file, part);
    if (rank_fault("finish") || rename(part, name)) {
        remove(part);
        fail(EXIT_ERROR, "%s: cannot rename %s to it: %s", name, part, strerror(errno));
    }
    free(part);
}

int main(int argc, char **argv) {
    int names =
        ranks_begin(argc, argv, "SIGNALS.npy ATOMS.npy [options]", "Learns a dictionary from signals on the ranks of MPI.",
                    options, COUNT_OF(options));
    shs_ksvd_options ksvd = SHS_ZERO;
    shs_ksvd_report about = SHS_ZERO;
    shs_context ctx;
    npy_file in;
    uint64_t first, share;
    size_t p, mine;
    shs_real *Y, *D;
    void *room;
    if (names != 2) fail(EXIT_USAGE, "the names of two files");
    ctx = ranks_context(given.threads, given.device);
    will_read(argv[0]);
    will_write(argv[1]);
    in = npy_open(argv[0]);
    share = share_of(in.count, &first);
    p = (size_t)in.p;
    if (share > SIZE_MAX / p / 8) fail(EXIT_ERROR, "%s: too large for the memory of so few ranks", in.name);
    together("the files that they see", in.print);
    mine = (size_t)share;
    Y = ALLOCATE(shs_real, mine * p);
    room = allocate(mine, in.row);
    D = ALLOCATE(shs_real, elements(given.atoms, in.p));
    if (npy_read(&in, first, mine, room, Y)) fail(EXIT_ERROR, "%s: reading it failed", in.name);
    free(room);
    parallel_close(&in.file, in.name, 0);
    together(NULL, 0);

    ksvd.coding.sparsity = given.sparsity;
    ksvd.iterations = given.iterations;
    ksvd.parallel_atoms = given.parallel_atoms;
    ksvd.seed = given.seed;
    check_together(shs_ksvd_ex(&ctx, in.p, given.atoms, mine, Y, in.p, &ksvd, D, in.p, NULL, &about), in.name);
    together(NULL, 0);
    printf("%" PRIu64 " signals of %d values, rmse %.6g with %.3g atoms a signal after %d iterations\n", in.count, in.p,
           (double)about.rmse, (double)about.mean_atoms, about.iterations);
    if (world.rank == 0) write_atoms(argv[1], in.p, given.atoms, D);
    free(Y);
    free(D);
    example_end();
    ranks_end();
    return EXIT_SUCCESS;
}
#endif
