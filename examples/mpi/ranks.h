/* ranks.h - the shared part of the programs for MPI: ranks, reductions, error handling at a common stage, files.

   The library needs five lines of MPI, reduce_over_mpi below. The rest is so that nothing hangs. Every rank goes through the
   same stages; between two of them the ranks meet (together), and where one failed all end, each with a message that has the
   cause. A rank that fails calls fail() as the other examples do. The process ends, and its exit handler takes part in one
   more reduction. Inside of the library's calls the library does the same, and returns a status on every rank. */
#ifndef RANKS_H
#define RANKS_H

#if defined(__has_include)
#if __has_include(<mpi.h>)
#define WITH_MPI
#endif
#endif
#ifndef WITH_MPI
int main(void) { return 2; } /* Without mpicc the program does nothing. */
#else
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#include <stdarg.h>
static void rank_failed(const char *format, va_list arguments);
#define EXAMPLE_ON_FAIL(format, arguments) rank_failed(format, arguments)
#include "../example.h"
#include <mpi.h>

#ifdef EXAMPLE_OPENCL
#define RANKS_DEVICE_HELP DEVICE_HELP "; each = one device a rank"
#else
#define RANKS_DEVICE_HELP DEVICE_HELP
#endif

#ifndef RANKS_VERSION
#define RANKS_TEXT_OF(a, b, c) #a "." #b "." #c
#define RANKS_TEXT(a, b, c) RANKS_TEXT_OF(a, b, c)
#define RANKS_VERSION RANKS_TEXT(SPARSEHS_VERSION_MAJOR, SPARSEHS_VERSION_MINOR, SPARSEHS_VERSION_PATCH)
#endif

/* ---- the library's part ------------------------------------------------------------------------------------------ */

static int reduce_over_mpi(void *comm, shs_wide *values, size_t count, shs_reduce_op op) {
    MPI_Datatype type = sizeof *values == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT;
    MPI_Op sum_min_max[3] = {MPI_SUM, MPI_MIN, MPI_MAX};
    return count > INT_MAX || MPI_Allreduce(MPI_IN_PLACE, values, (int)count, type, sum_min_max[op], *(MPI_Comm *)comm);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static struct {
    MPI_Comm comm;
    int rank, ranks;
    int ended, told;
    int failed_elsewhere; /* the library said so: another rank knows the cause */
    char cause[500];      /* why this rank fails; empty: it does not */
} world;

/* With RANKS_TEST the environment variable RANKS_FAULT=RANK:WHAT:K makes one rank fail when it does something the K-th time,
   from 0. */
#ifdef RANKS_TEST
static inline int rank_fault(const char *what) {
    static const char *const faults[] = {"read", "write", "memory", "cancel", "open", "finish", "version"};
    static int counts[sizeof faults / sizeof *faults];
    const char *wish = getenv("RANKS_FAULT");
    char name[20] = "";
    int rank = -1, k = -1;
    size_t i = 0;
    if (!wish || sscanf(wish, "%d:%19[a-z]:%d", &rank, name, &k) != 3) return 0;
    if (rank != world.rank || strcmp(name, what)) return 0;
    while (strcmp(faults[i], what)) i++;
    return counts[i]++ == k;
}

static inline void *rank_alloc(void *user, size_t size) {
    (void)user;
    if (rank_fault("memory")) return NULL;
    return malloc(size);
}
static inline void rank_free(void *user, void *block) {
    (void)user;
    free(block);
}
static inline int rank_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    (void)user;
    (void)phase;
    (void)step;
    (void)steps;
    (void)error;
    return rank_fault("cancel");
}
#else
static inline int rank_fault(const char *what) { return what == NULL; }
#endif

/* Keeps what fail() says, for the other ranks. */
static void rank_failed(const char *format, va_list arguments) {
    vsnprintf(world.cause, sizeof world.cause, format, arguments);
}

typedef enum meeting { ALL_WELL, SOME_FAILED, SOME_DIFFER } meeting;

/* How the ranks are, and whether `print` is the same on all; where one failed each rank says the cause. Every stage uses one
   reduction of the same size, so a rank that ends early can take part in it. */
static inline meeting meet(uint64_t print) {
    const uint64_t rank = (uint64_t)world.rank, ranks = (uint64_t)world.ranks;
    uint64_t least[3];
    char cause[sizeof world.cause];
    int teller;
    least[0] = UINT64_MAX;
    if (world.failed_elsewhere) least[0] = ranks + rank; /* after those that know their cause */
    else if (*world.cause) least[0] = rank;
    least[1] = print;
    least[2] = ~print;
    MPI_Allreduce(MPI_IN_PLACE, least, 3, MPI_UINT64_T, MPI_MIN, world.comm);
    if (least[0] == UINT64_MAX && least[1] != ~least[2]) return SOME_DIFFER;
    if (least[0] == UINT64_MAX) return ALL_WELL;
    memcpy(cause, world.cause, sizeof cause);
    teller = (int)(least[0] % ranks);
    MPI_Bcast(cause, sizeof cause, MPI_CHAR, teller, world.comm);
    if (!*world.cause)
        fprintf(stderr, "%s: rank %d of %d: rank %d failed: %s\n", program_name, world.rank, world.ranks, teller, cause);
    return SOME_FAILED;
}

/* Runs at every exit. After ranks_end there is nothing left to do. */
static inline void leave_ranks(void) {
    if (world.ended) return;
    world.ended = 1;
    if (!world.told && !*world.cause && !world.failed_elsewhere) strcpy(world.cause, "it ended early");
    if (!world.told) meet(0);
    MPI_Finalize(); /* ends no sooner than all are here: mpirun kills the others when one has ended badly */
}

/* All ranks come here after each stage. `what` names what must be the same on all of them, and print is made from it. */
static inline void together(const char *what, uint64_t print) {
    meeting m = meet(print);
    if (m == ALL_WELL) return;
    if (m == SOME_DIFFER)
        fprintf(stderr, "%s: rank %d of %d: the ranks differ in %s\n", program_name, world.rank, world.ranks, what);
    world.told = 1;
    exit(EXIT_ERROR); /* what is unfinished goes, then leave_ranks */
}

static inline uint64_t imprint(uint64_t print, const void *bytes, size_t count) {
    const unsigned char *b = bytes;
    size_t i;
    for (i = 0; i < count; i++) print = (print ^ b[i]) * UINT64_C(0x100000001b3);
    return print;
}

/* A call of the library that all ranks made. */
static inline void check_together(shs_status status, const char *subject) {
    if (status == SHS_PEER_FAILED) {
        world.failed_elsewhere = 1;
        exit(EXIT_ERROR); /* and says the cause there */
    }
    check(status, subject);
}

/* Reads the options after MPI has begun, so that a rank with wrong options can tell the other ranks. Only the first prints.
   Returns how many other arguments there are; ctx may be filled by ranks_context. */
static inline int ranks_begin(int argc, char **argv, const char *usage, const char *purpose, const option *options, int count) {
    uint64_t print = imprint(0, RANKS_VERSION, sizeof RANKS_VERSION);
    const int sizes[] = {sizeof(shs_real), sizeof(shs_wide)};
    int i, names;
    example_begin(argc, argv);
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* whole lines, among those of the others */
    MPI_Init(&argc, &argv);
    world.comm = MPI_COMM_WORLD;
    MPI_Comm_rank(world.comm, &world.rank);
    MPI_Comm_size(world.comm, &world.ranks);
    atexit(leave_ranks);
    if (world.rank > 0 && !freopen("/dev/null", "w", stdout)) fail(EXIT_ERROR, "/dev/null: %s", strerror(errno));
    if (rank_fault("version")) print = 0;
    together("the version of the library, or its precision", imprint(print, sizes, sizeof sizes));
    print = 0;
    for (i = 1; i < argc; i++) print = imprint(print, argv[i], strlen(argv[i]) + 1);
    for (i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h") || !strcmp(argv[i], "--version")) break;
    if (i < argc) { /* the first rank prints it, then all end */
        together("their options", print);
        world.told = 1;
        if (world.rank > 0) exit(EXIT_SUCCESS);
    }
    names = read_options(argc, argv, usage, purpose, options, count);
    together("their options", print);
    return names;
}

#ifdef EXAMPLE_OPENCL
/* With --device each. Ranks on other hosts have the variables of this one only if mpirun passes them. */
static inline void no_device_for_rank(int number, int ranks) {
    char seen[600];
    int devices = 0;
    while (one_of_all(devices) >= 0) devices++;
    tell_platforms(seen, sizeof seen);
    fail(EXIT_ERROR,
         "--device each: rank %d of this host has no device: ranks: %d, OpenCL devices for them: %d; %s. Start fewer ranks a "
         "host, or pass the variable that names the driver: mpirun -x OCL_ICD_FILENAMES",
         number, ranks, devices, seen);
}
#endif

/* Each rank gets its share of the processors of its host, and with --device one device of its host. */
static inline shs_context ranks_context(int threads, const char *device) {
    shs_context ctx;
    MPI_Comm host;
    int number = 0, neighbours = 1;
#ifdef EXAMPLE_OPENCL
    char text[20];
#endif
    MPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &number);
    MPI_Comm_size(host, &neighbours);
    MPI_Comm_free(&host);
    if (device && (strchr(device, ',') || !strcmp(device, "all")))
        fail(EXIT_USAGE, "--device %s: a rank has one device: --device each, and a rank for each device", device);
#ifdef EXAMPLE_OPENCL
    if (device && !strcmp(device, "each")) {
        const int index = one_of_all(number);
        if (index < 0) no_device_for_rank(number, neighbours);
        sprintf(text, "%d", index);
        device = text;
    }
#endif
#if defined(EXAMPLE_POSIX) && defined(_OPENMP)
    if (threads == 0) threads = (int)(sysconf(_SC_NPROCESSORS_ONLN) / neighbours);
    if (threads == 0) threads = 1;
#endif
    ctx = example_context(threads, device);
    ctx.reduce_fn = reduce_over_mpi;
    ctx.reduce_user = &world.comm;
    ctx.rank = world.rank;
    ctx.ranks = world.ranks;
#ifdef RANKS_TEST
    ctx.alloc_fn = rank_alloc;
    ctx.free_fn = rank_free;
    ctx.progress_fn = rank_progress;
#endif
    return ctx;
}

static inline void ranks_end(void) {
    together(NULL, 0);
    world.ended = 1;
    MPI_Finalize();
}

/* Items first .. first+share-1 of `all` are this rank's: shares differ by one at most, and are 0 where ranks are many. */
static inline uint64_t share_of(uint64_t all, uint64_t *first) {
    uint64_t ranks = (uint64_t)world.ranks, rank = (uint64_t)world.rank, each = all / ranks, over = all % ranks;
    if (rank < over) {
        *first = rank * (each + 1);
        return each + 1;
    }
    *first = rank * each + over;
    return each;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Each rank opens the file for itself, because opening may fail on one rank only. */
static inline MPI_File parallel_open(const char *name, int mode) {
    MPI_File file = MPI_FILE_NULL;
    char text[MPI_MAX_ERROR_STRING] = "asked for by the test";
    int length, error = MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file);
    if (error) MPI_Error_string(error, text, &length);
    if (error || rank_fault("open")) fail(EXIT_ERROR, "%s: opening it failed: %s", name, text);
    return file;
}

/* Reads or writes `bytes` bytes at offset `at` of the file, and returns the number of bytes moved. */
static inline size_t parallel_move(MPI_File file, uint64_t at, size_t bytes, void *into, const void *from) {
    const char *source = from, *what = "write";
    char *target = into;
    size_t done = 0;
    int got = 1, error;
    MPI_Status status;
    if (target) what = "read";
    if (rank_fault(what)) return 0;
    for (; done < bytes && got > 0; done += (size_t)got) {
        const MPI_Offset place = (MPI_Offset)(at + done);
        int now = 1 << 30;
        if (bytes - done < (1 << 30)) now = (int)(bytes - done);
        if (target) error = MPI_File_read_at(file, place, target + done, now, MPI_BYTE, &status);
        else error = MPI_File_write_at(file, place, source + done, now, MPI_BYTE, &status);
        got = 0;
        if (!error) MPI_Get_count(&status, MPI_BYTE, &got);
    }
    return done;
}

/* What was written must have arrived. */
static inline void parallel_close(MPI_File *file, const char *name, int written) {
    int bad = written && MPI_File_sync(*file);
    if (MPI_File_close(file) || bad || (written && rank_fault("finish"))) fail(EXIT_ERROR, "%s: writing it failed", name);
}

#endif /* WITH_MPI */
#endif /* RANKS_H */
