/* bench_cl_ranks.c - a rank on each of several OpenCL devices (examples/thread_ranks.h), beside the first device alone, from the
   host's memory to the host's memory: sparse coding, PCA, FastICA, learning.

       build/bench_cl_ranks --devices 0,1 [--memory each|shared|first|ordinary] [--shares 1,1] [--runs 7] [--only pca] [--small]

   Devices are numbers in the list that build/devices prints, counting usable ones; one may be there twice. A memory is

       each       each rank's part lies in memory of its own, pinned by its device, as with ranks of MPI
       shared     pinned for all devices, which have one context
       first      pinned by the first device; the others, in contexts of their own, copy it through pinned buffers
       ordinary   malloc's: each device copies it through pinned buffers

   A row is: case, seconds of one device, of all, the ratio (medians of runs in turn), the ratio asked for of two. `copy` moves a
   cube's pixels up and its outputs down, side by side, and computes nothing: what the host's memory and the buses divide by. On a
   CPU, or with --small, sizes are small and only show that it runs. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>

#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#include "../../sparsehs_cl.h"
#include "../../examples/thread_ranks.h"
#include "bench_cl.h"

enum { MOST_RUNS = 99, BLOCK = 32 << 20 };

/* The signals, codes and pixels of a rank. */
typedef struct part {
    shs_real *Y;
    shs_codes codes;
    shs_cube cube;
    shs_sink sink;
} part;

/* What learning begins with, for how long it goes on, and how many atoms it updates at a time. */
typedef struct lesson {
    shs_real *start;
    int iterations, group;
} lesson;

typedef struct bench {
    int count, index[RANKS_MOST], small, runs;
    const char *memory, *only;
    part own[RANKS_MOST]; /* with --memory each */
    double shares[RANKS_MOST];
    int shares_given;
    cl_context shared;
    shs_cl *cl[RANKS_MOST];
    cl_mem block[RANKS_MOST]; /* of BLOCK bytes, on the device */
    shs_context one, each[RANKS_MOST];
    /* the case at hand */
    shs_cube cube;
    shs_sink sink;
    shs_codes codes;
    shs_real *D[RANKS_MOST], *Y; /* every rank learns the atoms, in a place of its own */
    size_t m;
    int p, n, s;
    lesson lesson;
} bench;

/* A size of a GPU, or one of a CPU or of --small. */
static int sized(const bench *b, int large, int small) {
    if (b->small) return small;
    return large;
}

static void must(const bench *b, shs_status status) {
    int i;
    if (status == SHS_OK) return;
    fprintf(stderr, "bench_cl_ranks: %s\n", shs_status_text(status));
    for (i = 0; i < b->count; i++)
        if (b->cl[i]) fprintf(stderr, "device %d: %s\n", b->index[i], shs_cl_error_text(b->cl[i]));
    exit(1);
}

static void usage(void) {
    fprintf(stderr,
            "usage: bench_cl_ranks --devices 0,1 [--memory each|shared|first|ordinary] [--shares 1,1] [--runs 7] "
            "[--only pca] [--small]\n");
    exit(2);
}

static int memory_is(const bench *b, const char *name) { return strcmp(b->memory, name) == 0; }

/* Memory of a rank. */
static void *memory_of(bench *b, int rank, size_t bytes) {
    void *memory;
    if (memory_is(b, "ordinary")) memory = malloc(bytes);
    else memory = shs_cl_host_alloc(b->cl[rank], bytes);
    if (!memory) must(b, SHS_NO_MEMORY);
    memset(memory, 0, bytes);
    return memory;
}

static void free_of(bench *b, int rank, void *memory) {
    if (memory_is(b, "ordinary")) free(memory);
    else shs_cl_host_free(b->cl[rank], memory);
}

static void *host_memory(bench *b, size_t bytes) { return memory_of(b, 0, bytes); }

static void host_free(bench *b, void *memory) { free_of(b, 0, memory); }

static void codes_memory(bench *b, int rank, size_t m, int s, shs_codes *codes) {
    codes->m = m;
    codes->stride = s;
    codes->used = memory_of(b, rank, m * sizeof(int));
    codes->atoms = memory_of(b, rank, m * (size_t)s * sizeof(int));
    codes->coefs = memory_of(b, rank, m * (size_t)s * sizeof(shs_real));
}

static void codes_free(bench *b, int rank, shs_codes *codes) {
    free_of(b, rank, codes->used);
    free_of(b, rank, codes->atoms);
    free_of(b, rank, codes->coefs);
}

static double time_of(bench *b, ranks_fn work, int ranks) {
    const shs_context *contexts = &b->one;
    double begin = seconds_now();
    if (ranks > 1) contexts = b->each;
    must(b, ranks_run(ranks, contexts, work, b));
    return seconds_now() - begin;
}

static void say(const char *name, double one, double all, double asked) {
    printf("%-32s %12.6f %12.6f %8.3f %8.2f\n", name, one, all, one / all, asked);
    fflush(stdout);
}

/* Times one device and all devices in turn, after a first run of each that builds the programs. */
static void medians(bench *b, ranks_fn work, double *one, double *all) {
    double ones[MOST_RUNS], alls[MOST_RUNS];
    int run;
    for (run = -1; run < b->runs; run++) {
        double first = time_of(b, work, 1), second = time_of(b, work, b->count);
        if (run < 0) continue;
        ones[run] = first;
        alls[run] = second;
    }
    *one = median(b->runs, ones);
    *all = median(b->runs, alls);
}

static void measure(bench *b, const char *name, ranks_fn work, double asked) {
    double one, all;
    if (b->only && !strstr(name, b->only)) return;
    medians(b, work, &one, &all);
    say(name, one, all, asked);
}

/* ---- the cases ----------------------------------------------------------------------------------------------------- */

/* NULL: equal ones. */
static const double *shares_of(const bench *b) {
    if (b->shares_given) return b->shares;
    return NULL;
}

/* What this rank has of `all`. */
static size_t range(const bench *b, const shs_context *ctx, size_t all, size_t *first) {
    return ranks_range(ctx, shares_of(b), all, first);
}

/* What the rank of ctx has in memory of its own, or NULL. One device alone works on the whole. */
static const part *own_part(const bench *b, const shs_context *ctx) {
    if (!memory_is(b, "each") || ctx->ranks < 2) return NULL;
    return &b->own[ctx->rank];
}

static const shs_real *signals_of(const bench *b, const shs_context *ctx, size_t first) {
    const part *own = own_part(b, ctx);
    if (own) return own->Y;
    return b->Y + first * (size_t)b->p;
}

static shs_status code(const shs_context *ctx, void *arg) {
    bench *b = (bench *)arg;
    const part *own = own_part(b, ctx);
    size_t first, m = range(b, ctx, b->m, &first);
    shs_codes mine = ranks_codes(&b->codes, first, m);
    if (own) mine = own->codes;
    return shs_omp(ctx, b->p, b->n, b->D[0], m, signals_of(b, ctx, first), b->s, &mine);
}

/* The lines that the rank of ctx reads, and where it writes: memory of its own, or its share of the whole. */
static void lines_of(bench *b, const shs_context *ctx, ranks_lines *mine) {
    const part *own = own_part(b, ctx);
    if (own) {
        mine->cube = own->cube;
        mine->sink = own->sink;
    } else ranks_lines_begin(ctx, shares_of(b), &b->cube, &b->sink, 10, mine);
}

static shs_status pca(const shs_context *ctx, void *arg) {
    shs_pca_options o = SHS_ZERO;
    ranks_lines mine;
    lines_of((bench *)arg, ctx, &mine);
    o.components = 10;
    return shs_pca_run(ctx, &mine.cube, &o, &mine.sink, NULL);
}

static shs_status ica(const shs_context *ctx, void *arg) {
    shs_ica_options o = SHS_ZERO;
    ranks_lines mine;
    lines_of((bench *)arg, ctx, &mine);
    o.components = 10;
    return shs_ica_run(ctx, &mine.cube, &o, &mine.sink, NULL);
}

/* Copies between the host and a device's block, one behind the other. Returns OpenCL's error. */
static cl_int copies(const shs_cl *cl, cl_mem block, int up, void *memory, size_t bytes) {
    cl_command_queue queue = cl->queue[up];
    cl_int error = CL_SUCCESS;
    size_t done, now;
    for (done = 0; done < bytes && error == CL_SUCCESS; done += now) {
        char *from = (char *)memory + done;
        now = bytes - done;
        if (now > BLOCK / 2) now = BLOCK / 2;
        if (up) error = SHS__CL(clEnqueueWriteBuffer)(queue, block, CL_FALSE, 0, now, from, 0, NULL, NULL);
        else error = SHS__CL(clEnqueueReadBuffer)(queue, block, CL_FALSE, BLOCK / 2, now, from, 0, NULL, NULL);
    }
    if (error == CL_SUCCESS) error = SHS__CL(clFlush)(queue);
    return error;
}

/* What PCA and FastICA move, and nothing else. */
static shs_status copy(const shs_context *ctx, void *arg) {
    bench *b = (bench *)arg;
    const int rank = ctx->ranks > 1 ? ctx->rank : 0;
    const shs_cl *cl = b->cl[rank];
    ranks_lines mine;
    size_t pixels;
    lines_of(b, ctx, &mine);
    pixels = (size_t)mine.cube.lines * (size_t)mine.cube.samples;
    if (copies(cl, b->block[rank], 1, (void *)mine.cube.pixels, pixels * (size_t)mine.cube.bands)) return SHS_ENGINE_FAILED;
    if (copies(cl, b->block[rank], 0, mine.sink.pixels, pixels * 10 * sizeof(float))) return SHS_ENGINE_FAILED;
    if (SHS__CL(clFinish)(cl->queue[0])) return SHS_ENGINE_FAILED;
    if (SHS__CL(clFinish)(cl->queue[1])) return SHS_ENGINE_FAILED;
    return SHS_OK;
}

static shs_status learn(const shs_context *ctx, void *arg) {
    bench *b = (bench *)arg;
    shs_ksvd_options o = SHS_ZERO;
    shs_real *D = b->D[ctx->rank];
    size_t first, m = range(b, ctx, b->m, &first);
    memcpy(D, b->lesson.start, (size_t)(b->p * b->n) * sizeof *D);
    o.iterations = b->lesson.iterations;
    o.coding.sparsity = b->s;
    o.parallel_atoms = b->lesson.group;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    return shs_ksvd_ex(ctx, b->p, b->n, m, signals_of(b, ctx, first), b->p, &o, D, b->p, NULL, NULL);
}

/* Seconds of one iteration, from the difference between many and few iterations, so that start and final coding do not count.
   */
static void measure_learning(bench *b, const char *name, size_t m, int n, int group) {
    double one[2], all[2];
    b->n = n;
    b->m = m;
    b->lesson.group = group;
    if (b->small && b->m > 4000) b->m = 4000;
    if (b->only && !strstr(name, b->only)) return;
    b->lesson.iterations = 2;
    medians(b, learn, &one[0], &all[0]);
    b->lesson.iterations = 12;
    medians(b, learn, &one[1], &all[1]);
    say(name, (one[1] - one[0]) / 10, (all[1] - all[0]) / 10, 1.85);
}

/* Copies of each rank's signals in memory of its own. */
static void own_signals(bench *b) {
    int k;
    for (k = 0; k < b->count; k++) {
        size_t first, m = range(b, &b->each[k], b->m, &first), values = m * (size_t)b->p;
        b->own[k].Y = memory_of(b, k, values * sizeof *b->Y);
        memcpy(b->own[k].Y, b->Y + first * (size_t)b->p, values * sizeof *b->Y);
        codes_memory(b, k, m, b->s, &b->own[k].codes);
    }
}

static void signal_cases(bench *b) {
    shs_random r;
    size_t i;
    int k;
    shs_random_seed(&r, 1);
    b->p = 64;
    b->n = 256;
    b->s = 8;
    b->m = (size_t)sized(b, 4000000, 4000);
    b->Y = host_memory(b, b->m * 64 * sizeof *b->Y);
    for (i = 0; i < b->m * 64; i++) b->Y[i] = (shs_real)((shs_wide)(shs_random_bits(&r) >> 40) / 8388608 - 1);
    b->lesson.start = malloc(64 * 512 * sizeof(shs_real));
    if (!b->lesson.start) must(b, SHS_NO_MEMORY);
    for (k = 0; k < b->count; k++) b->D[k] = malloc(64 * 512 * sizeof(shs_real));
    for (k = 0; k < b->count; k++)
        if (!b->D[k]) must(b, SHS_NO_MEMORY);
    must(b, shs_dictionary_random(64, 512, b->lesson.start, 64, 2));
    memcpy(b->D[0], b->lesson.start, 64 * 512 * sizeof(shs_real));
    codes_memory(b, 0, b->m, b->s, &b->codes);
    if (memory_is(b, "each")) own_signals(b);
    measure(b, "omp_64x256_s8_host_to_host", code, 1.85);
    measure_learning(b, "paksvd512_64x512_s8_65536", 65536, 512, 512);
    measure_learning(b, "paksvd256_64x256_s8_2000000", 2000000, 256, 256);
    measure_learning(b, "aksvd_64x64_s8_2000000", 2000000, 64, 1);
    host_free(b, b->Y);
    codes_free(b, 0, &b->codes);
    free(b->lesson.start);
    for (k = 0; k < b->count; k++) {
        free(b->D[k]);
        if (!memory_is(b, "each")) continue;
        free_of(b, k, b->own[k].Y);
        codes_free(b, k, &b->own[k].codes);
    }
}

/* Copies of each rank's lines in memory of its own. */
static void own_lines(bench *b) {
    size_t line = (size_t)b->cube.samples * (size_t)b->cube.bands;
    int k;
    for (k = 0; k < b->count; k++) {
        part *own = &b->own[k];
        size_t first, lines = range(b, &b->each[k], (size_t)b->cube.lines, &first);
        void *pixels = memory_of(b, k, lines * line);
        memcpy(pixels, (const char *)b->cube.pixels + first * line, lines * line);
        own->cube = b->cube;
        own->cube.lines = (int)lines;
        own->cube.pixels = pixels;
        own->sink = b->sink;
        own->sink.pixels = memory_of(b, k, lines * (size_t)b->cube.samples * 10 * sizeof(float));
    }
}

static void cube_cases(bench *b) {
    static const char *const names[] = {"bip", "bsq"};
    static const shs_interleave interleaves[] = {SHS_INTERLEAVE_BIP, SHS_INTERLEAVE_BSQ};
    int lines = sized(b, 6955, 100), samples = sized(b, 781, 80), bands = sized(b, 224, 60), k;
    size_t count = (size_t)lines * (size_t)samples;
    void *pixels = host_memory(b, count * (size_t)bands);
    char name[64];
    draw_scene(pixels, count, bands);
    b->cube.pixels = pixels;
    b->cube.type = SHS_TYPE_U8;
    b->cube.lines = lines;
    b->cube.samples = samples;
    b->cube.bands = bands;
    b->sink.type = SHS_TYPE_F32;
    b->sink.interleave = SHS_INTERLEAVE_BIP;
    b->sink.pixels = host_memory(b, count * 10 * sizeof(float));
    if (memory_is(b, "each")) own_lines(b);
    b->cube.interleave = SHS_INTERLEAVE_BIP;
    for (k = 0; k < b->count; k++) b->own[k].cube.interleave = SHS_INTERLEAVE_BIP;
    measure(b, "copy_cube_and_outputs", copy, 1.85);
    for (k = 0; k < 2; k++) {
        int rank;
        b->cube.interleave = interleaves[k];
        for (rank = 0; rank < b->count; rank++) b->own[rank].cube.interleave = interleaves[k];
        snprintf(name, sizeof name, "pca10_cube_%s", names[k]);
        measure(b, name, pca, 1.85);
        snprintf(name, sizeof name, "ica10_cube_pow3_%s", names[k]);
        measure(b, name, ica, 1.85);
    }
    host_free(b, pixels);
    host_free(b, b->sink.pixels);
    for (k = 0; k < b->count && memory_is(b, "each"); k++) {
        free_of(b, k, (void *)b->own[k].cube.pixels);
        free_of(b, k, b->own[k].sink.pixels);
    }
}

/* ---- devices --------------------------------------------------------------------------------------------------------- */

/* Creates one context of the devices, each device once. */
static void share_context(bench *b, const shs_cl *cl) {
    cl_device_id devices[RANKS_MOST];
    cl_uint count = 0, k;
    cl_int error = CL_SUCCESS;
    int i;
    for (i = 0; i < b->count; i++) {
        for (k = 0; k < count && devices[k] != b->cl[i]->device; k++) continue;
        if (k == count) devices[count++] = b->cl[i]->device;
    }
    b->shared = SHS__CL(clCreateContext)(NULL, count, devices, NULL, NULL, &error);
    if (error) {
        fprintf(stderr, "bench_cl_ranks: these devices have no context together: --memory first\n");
        exit(1);
    }
}

static void open_device(bench *b, int i, void *context, void *device) {
    char why[256] = "";
    shs_cl_options o = SHS_ZERO;
    o.index = b->index[i];
    o.reason = why;
    o.reason_size = sizeof why;
    if (context) {
        o.index = 0;
        o.context = context;
        o.device_id = device;
        o.staging = 1; /* nothing need be copied */
    }
    if (shs_cl_create(NULL, &o, &b->cl[i]) == SHS_OK) return;
    fprintf(stderr, "bench_cl_ranks: device %d: %s\n", b->index[i], why);
    exit(1);
}

static cl_mem block_on(const bench *b, const shs_cl *cl) {
    cl_int error;
    cl_mem block = SHS__CL(clCreateBuffer)(cl->context, CL_MEM_READ_WRITE, BLOCK, NULL, &error);
    if (error) must(b, SHS_NO_MEMORY);
    return block;
}

static void open_devices(bench *b) {
    int i, threads = 1;
    for (i = 0; i < b->count; i++) open_device(b, i, NULL, NULL);
    if (memory_is(b, "shared")) {
        share_context(b, b->cl[0]);
        for (i = 0; i < b->count; i++) {
            shs_cl *before = b->cl[i];
            open_device(b, i, b->shared, before->device);
            shs_cl_destroy(before);
        }
    }
    for (i = 0; i < b->count; i++) {
        b->each[i].engine = shs_cl_engine(b->cl[i]);
        printf("device %d: %s, driver %s\n", b->index[i], shs_cl_device_name(b->cl[i]), shs_cl_about(b->cl[i])->driver);
    }
#ifdef _OPENMP
    threads = omp_get_max_threads() / b->count;
    if (threads < 1) threads = 1;
#endif
    for (i = 0; i < b->count; i++) {
        b->each[i].threads = threads;
        b->each[i].rank = i;
        b->each[i].ranks = b->count;
    }
    b->one.engine = b->each[0].engine;
    if (shs_cl_about(b->cl[0])->kind != SHS_CL_GPU) b->small = 1;
    for (i = 0; i < b->count; i++) b->block[i] = block_on(b, b->cl[i]);
}

static void close_devices(bench *b) {
    const shs_cl *cl = b->cl[0];
    int i;
    for (i = 0; i < b->count; i++) SHS__CL(clReleaseMemObject)(b->block[i]);
    if (b->shared) SHS__CL(clReleaseContext)(b->shared);
    for (i = 0; i < b->count; i++) shs_cl_destroy(b->cl[i]);
}

static int numbers_of(const char *text, double *numbers) {
    int count = 0;
    while (count < RANKS_MOST) {
        char *end;
        numbers[count++] = strtod(text, &end);
        if (end == text || (*end && *end != ',')) usage();
        if (!*end) return count;
        text = end + 1;
    }
    usage();
    return 0;
}

static const char *const memories[] = {"each", "shared", "first", "ordinary"};
enum { MEMORIES = (int)(sizeof memories / sizeof *memories) };

static void read_options(bench *b, int argc, char **argv) {
    double numbers[RANKS_MOST];
    int i, k;
    b->memory = "each";
    b->runs = 7;
    for (i = 1; i < argc; i++) {
        const char *value = "";
        if (i + 1 < argc) value = argv[i + 1];
        if (!strcmp(argv[i], "--small")) {
            b->small = 1;
            continue;
        }
        if (!strcmp(argv[i], "--devices")) {
            b->count = numbers_of(value, numbers);
            for (k = 0; k < b->count; k++) b->index[k] = (int)numbers[k];
        } else if (!strcmp(argv[i], "--shares")) {
            b->shares_given = numbers_of(value, numbers);
            for (k = 0; k < b->shares_given; k++) b->shares[k] = numbers[k];
        } else if (!strcmp(argv[i], "--memory")) b->memory = value;
        else if (!strcmp(argv[i], "--only")) b->only = value;
        else if (!strcmp(argv[i], "--runs")) b->runs = atoi(value);
        else usage();
        i++;
    }
    if (b->count == 0 || b->runs < 1 || b->runs > MOST_RUNS || (b->shares_given && b->shares_given != b->count)) usage();
    for (i = 0; i < MEMORIES && !memory_is(b, memories[i]); i++) continue;
    if (i == MEMORIES) usage();
}

int main(int argc, char **argv) {
    static bench b;
    read_options(&b, argc, argv);
    open_devices(&b);
    printf("memory: %s, %d runs\n", b.memory, b.runs);
    printf("%-32s %12s %12s %8s %8s\n", "case", "one: s", "all: s", "ratio", "asked");
    signal_cases(&b);
    cube_cases(&b);
    close_devices(&b);
    return 0;
}
