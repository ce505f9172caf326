/* scaling_mpi.c - how learning and components scale with ranks: measured here with 1, 2, 4 ... of them, and by a model of the
   network, fitted to reductions that are measured here, for ranks and networks that are not here.

       mpirun -n 4 build/mpi/scaling_mpi --out build/scaling          (make scaling does, and draws)

   Writes measured.csv, reductions.csv and model.csv into the folder, and says up to how many ranks an efficiency of 95 % and of
   50 % is reached. The model: the ranks share one rank's work, but for what takes as long with 64 signals or
   pixels, and each of the k reductions of b bytes takes
       log2(ranks) latency + 2 b (1 - 1/ranks) / bandwidth. */
#include "ranks.h"
#ifdef WITH_MPI

static struct {
    int signals, pixels, repeats, threads;
    double latency_25, latency_200;
    const char *out, *device;
} given = {65536, 131072, 5, 1, 10, 2, "build/scaling", "cpu"};

static const option options[] = {
    {"The measurement", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--signals", "N", OPTION_COUNT, &given.signals, 64, "to learn from: in all, or of each rank (65536)"},
    {"--pixels", "N", OPTION_COUNT, &given.pixels, 64, "of 224 bands, likewise (131072)"},
    {"--repeats", "N", OPTION_COUNT, &given.repeats, 1, "the median of so many (5)"},
    {"The model", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--latency-25", "US", OPTION_NUMBER, &given.latency_25, 0, "microseconds, of a network of 25 Gbit/s (10, assumed)"},
    {"--latency-200", "US", OPTION_NUMBER, &given.latency_200, 0, "of one of 200 Gbit/s (2, assumed)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--out", "FOLDER", OPTION_TEXT, &given.out, 0, "where the files go (build/scaling)"},
    {"--device", "NAME", OPTION_TEXT, &given.device, 0, RANKS_DEVICE_HELP},
    {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP},
    {"--threads", "N", OPTION_COUNT, &given.threads, 1, "of each rank (1)"},
    {"--out build/scaling", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

/* ---- what is measured -------------------------------------------------------------------------------------------- */

enum { P = 64, BANDS = 224, MOST_STEPS = 32, MOST_RANKS = 1000000 };

/* The same reduction, counted. */
static struct {
    MPI_Comm comm;
    double calls, bytes;
} counted;

static int reduce_counted(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    (void)user;
    counted.calls++;
    counted.bytes += (double)(count * sizeof *values);
    return reduce_over_mpi(&counted.comm, values, count, op);
}

static shs_real *values; /* signals or pixels, as many as any case takes */

static void learn(const shs_context *ctx, size_t m, int n, int group) {
    shs_real *D = ALLOCATE(shs_real, P * (size_t)n);
    shs_ksvd_options o = SHS_ZERO;
    o.coding.sparsity = 6;
    o.iterations = 1;
    o.parallel_atoms = group;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    check(shs_dictionary_random(P, n, D, P, 1), "start");
    check(shs_ksvd_ex(ctx, P, n, m, values, P, &o, D, P, NULL, NULL), "learning");
    free(D);
}
static void learn_one_by_one(const shs_context *ctx, size_t m) { learn(ctx, m, 64, 1); }
static void learn_at_once(const shs_context *ctx, size_t m) { learn(ctx, m, 256, 256); }

static void components(const shs_context *ctx, size_t m) {
    shs_cube cube = SHS_ZERO;
    shs_pca_options o = SHS_ZERO;
    shs_pca pca = SHS_ZERO;
    cube.pixels = values;
    cube.samples = 64;
    cube.lines = (int)(m / 64);
    cube.bands = BANDS;
    cube.interleave = SHS_INTERLEAVE_BIP;
    o.components = 10;
    check(shs_pca_fit(ctx, &cube, &o, &pca), "components");
    shs_pca_free(ctx, &pca);
}

static const struct work {
    const char *name;
    void (*run)(const shs_context *ctx, size_t m);
} works[] = {
    {"AK-SVD 64 atoms", learn_one_by_one}, {"PAK-SVD 256 atoms at once", learn_at_once}, {"PCA 224 bands", components}};
enum { WORKS = (int)(sizeof works / sizeof *works) };

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The median, over tries, of the slowest rank's seconds; m is this rank's share. */
static double seconds_of(const shs_context *ctx, const struct work *w, size_t m) {
    double tries[100], begin;
    int i, count = given.repeats;
    if (count > 100) count = 100;
    for (i = -1; i < count; i++) { /* the first is not counted */
        MPI_Barrier(counted.comm);
        counted.calls = counted.bytes = 0;
        begin = wall_clock();
        w->run(ctx, m);
        begin = wall_clock() - begin;
        MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, counted.comm);
        if (i >= 0) tries[i] = begin;
    }
    qsort(tries, (size_t)count, sizeof *tries, by_size);
    return tries[count / 2];
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct network {
    const char *name;
    double latency, byte; /* seconds */
} network;

static double reduction(const network *net, double ranks, double bytes) {
    return log2(ranks) * net->latency + 2 * bytes * (1 - 1 / ranks) * net->byte;
}

typedef struct measured {
    double seconds, calls, bytes; /* of one rank with all */
    double fixed;                 /* seconds that ranks do not share: eigenvectors, new atoms ... */
} measured;

/* strong: the work of one rank is divided; weak: each rank has as much. */
static double efficiency(const network *net, const measured *m, double ranks, int weak) {
    double waiting = 0;
    if (m->calls > 0) waiting = m->calls * reduction(net, ranks, m->bytes / m->calls);
    if (weak) return m->seconds / (m->seconds + waiting);
    return m->seconds / (m->seconds + (ranks - 1) * m->fixed + ranks * waiting);
}

static double most_ranks(const network *net, const measured *m, double least, int weak) {
    double low = 1, high = MOST_RANKS;
    if (efficiency(net, m, high, weak) >= least) return high;
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        if (efficiency(net, m, middle, weak) >= least) low = middle;
        else high = middle;
    }
    return low;
}

/* Least squares of relative errors over the measured reductions: t / t = latency a / t + byte b / t. What comes out negative is
   taken for 0. */
static network fit(const double (*rows)[3], int count) {
    network net = {"here", 0, 0};
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0, det;
    int i;
    for (i = 0; i < count; i++) { /* ranks, bytes, seconds */
        double a = log2(rows[i][0]) / rows[i][2], b = 2 * rows[i][1] * (1 - 1 / rows[i][0]) / rows[i][2];
        aa += a * a;
        ab += a * b;
        bb += b * b;
        a1 += a;
        b1 += b;
    }
    det = aa * bb - ab * ab;
    if (det > 0) {
        net.latency = (a1 * bb - b1 * ab) / det;
        net.byte = (b1 * aa - a1 * ab) / det;
    }
    if (net.latency < 0) {
        net.latency = 0;
        if (bb > 0) net.byte = b1 / bb;
        else net.byte = 0;
    }
    if (net.byte < 0) {
        net.byte = 0;
        if (aa > 0) net.latency = a1 / aa;
        else net.latency = 0;
    }
    return net;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static FILE *open_table(const char *name, const char *head) {
    char *folder = joined(given.out, "/"), *path = joined(folder, name);
    FILE *file = NULL;
    if (world.rank == 0) file = open_for_writing(path);
    if (file) fprintf(file, "%s\n", head);
    free(folder);
    free(path);
    return file;
}

static int measure_reductions(int ranks, double (*rows)[3], FILE *table) {
    static const int sizes[] = {1, 64, 1024, 16384, 131072};
    int s, i, count = 0;
    for (s = 0; s < 5 && ranks > 1; s++) {
        const double bytes = (double)sizeof(shs_wide) * sizes[s];
        double tries[21], begin;
        shs_wide *room = ALLOCATE(shs_wide, sizes[s]);
        for (i = 0; i < 21; i++) {
            MPI_Barrier(counted.comm);
            begin = wall_clock();
            reduce_over_mpi(&counted.comm, room, (size_t)sizes[s], SHS_REDUCE_SUM);
            tries[i] = wall_clock() - begin;
        }
        qsort(tries, 21, sizeof *tries, by_size);
        rows[count][0] = ranks;
        rows[count][1] = bytes;
        rows[count++][2] = tries[10];
        if (table) fprintf(table, "%d,%.0f,%.4g\n", ranks, bytes, tries[10]);
        free(room);
    }
    return count;
}

static const char *const scalings[2] = {"strong", "weak"};

static void model(const network *nets, int count, const measured *m) {
    FILE *table = open_table("model.csv", "network,case,scaling,ranks,efficiency");
    int i, k, weak;
    double ranks;
    for (i = 0; i < count; i++)
        for (k = 0; k < WORKS; k++)
            for (weak = 0; weak < 2; weak++) {
                for (ranks = 1; ranks <= 4096; ranks *= 2)
                    fprintf(table, "%s,%s,%s,%.0f,%.4f\n", nets[i].name, works[k].name, scalings[weak], ranks,
                            efficiency(&nets[i], &m[k], ranks, weak));
                printf("%-11s %-26s %-6s  95 %% up to %.10g ranks, 50 %% up to %.10g; with 1,000: %.1f %%\n", nets[i].name,
                       works[k].name, scalings[weak], most_ranks(&nets[i], &m[k], 0.95, weak),
                       most_ranks(&nets[i], &m[k], 0.5, weak), 100 * efficiency(&nets[i], &m[k], 1000, weak));
            }
    close_written(table, "model.csv");
}

/* How many ranks are measured after r: twice as many, and at last all of them; 0: none. */
static int more_ranks(int r) {
    if (r == world.ranks) return 0;
    if (2 * r > world.ranks) return world.ranks;
    return 2 * r;
}

int main(int argc, char **argv) {
    int names = ranks_begin(argc, argv, "[options]", "Measures and models how the library scales with ranks.", options,
                            (int)(sizeof options / sizeof *options));
    static double rows[5 * MOST_STEPS][3]; /* too large for a small stack, both of them */
    static measured alone[WORKS];
    network nets[3] = {{"here", 0, 0}, {"25 Gbit/s", 0, 8 / 25e9}, {"200 Gbit/s", 0, 8 / 200e9}};
    double rate = 0;
    shs_context ctx;
    shs_random random;
    FILE *table, *reductions;
    size_t count, i;
    int k, r, weak, found = 0;
    if (names) fail(EXIT_USAGE, "no names of files are wanted");
    ctx = ranks_context(given.threads, given.device);
    ctx.reduce_fn = reduce_counted;
    count = P * (size_t)given.signals;
    if (count < BANDS * (size_t)given.pixels) count = BANDS * (size_t)given.pixels;
    values = ALLOCATE(shs_real, count);
    shs_random_seed(&random, (uint64_t)world.rank);
    for (i = 0; i < count; i++) values[i] = (shs_real)(shs_random_uniform(&random) + shs_random_uniform(&random) - 1);
    table = open_table("measured.csv", "case,scaling,ranks,seconds,efficiency,reductions,bytes");
    reductions = open_table("reductions.csv", "ranks,bytes,seconds");
    together(NULL, 0);
    for (r = 1; r > 0; r = more_ranks(r)) {
        int colour = MPI_UNDEFINED;
        if (world.rank < r) colour = 0;
        MPI_Comm_split(world.comm, colour, world.rank, &counted.comm);
        ctx.ranks = r;
        if (world.rank < r) {
            found += measure_reductions(r, rows + found, reductions);
            for (k = 0; k < WORKS; k++)
                for (weak = 0; weak < 2; weak++) {
                    const int shares[2] = {r, 1};
                    int all = given.signals;
                    double seconds;
                    if (works[k].run == components) all = given.pixels;
                    seconds = seconds_of(&ctx, &works[k], (size_t)(all / shares[weak]));
                    if (r == 1) {
                        alone[k].seconds = seconds;
                        alone[k].calls = counted.calls;
                        alone[k].bytes = counted.bytes;
                        alone[k].fixed = seconds_of(&ctx, &works[k], 64);
                    }
                    if (table)
                        fprintf(table, "%s,%s,%d,%.5g,%.3f,%.0f,%.0f\n", works[k].name, scalings[weak], r, seconds,
                                alone[k].seconds / seconds / shares[weak], counted.calls, counted.bytes);
                }
            MPI_Comm_free(&counted.comm);
        }
        MPI_Barrier(world.comm);
    }
    if (world.rank == 0) {
        close_written(table, "measured.csv");
        close_written(reductions, "reductions.csv");
        nets[0] = fit((const double(*)[3])rows, found);
        nets[1].latency = 1e-6 * given.latency_25;
        nets[2].latency = 1e-6 * given.latency_200;
        if (nets[0].byte > 0) rate = 1e-9 / nets[0].byte;
        if (found) printf("fitted here: latency %.3g us, %.3g GB/s\n", 1e6 * nets[0].latency, rate);
        model(nets + (found == 0), 3 - (found == 0), alone);
    }
    free(values);
    example_end();
    ranks_end();
    return EXIT_SUCCESS;
}
#endif
