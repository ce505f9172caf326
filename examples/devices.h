/* devices.h - --device of the examples: a context for one device, or ranks on several. A part of example.h. */
#ifndef EXAMPLE_DEVICES
#define EXAMPLE_DEVICES

#ifdef EXAMPLE_OPENCL
#define DEVICE_HELP                                                                                                            \
    "cpu, gpu, auto (a GPU if there is one), all, part of an OpenCL device's name, or numbers of devices as in 0,1, which share " \
    "the work evenly; 0:3,cpu:1 divides it in this proportion (cpu)"
#else
#define DEVICE_HELP "cpu: this program was built without OpenCL"
#endif

/* --no-cache, beside --device. */
static int example_no_cache = 0;
#define NO_CACHE_HELP "do not keep the device's programs in ~/.cache/sparsehs"

/* Several devices of --device: a rank on each. */
typedef struct device_ranks {
    int count; /* 0: there is one device */
    shs_context each[RANKS_MOST];
    double shares[RANKS_MOST];
} device_ranks;

static device_ranks example_ranks;

/* ---- which device ------------------------------------------------------------------------------------------------ */

#ifdef EXAMPLE_OPENCL
static inline int contains(const char *text, const char *part) {
    for (;; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
        if (!part[i]) return 1;
        if (!*text) return 0;
    }
}

/* Returns non-zero if --device names this device, number `index` in the list that `devices` prints. */
static inline int device_matches(const char *chosen, int index, const shs_cl_device *d) {
    char *end;
    long number = strtol(chosen, &end, 10);
    if (!strcmp(chosen, "gpu") || !strcmp(chosen, "auto")) return d->kind == SHS_CL_GPU;
    if (!*end) return number == index;
    return contains(d->name, chosen) || contains(d->platform, chosen);
}

/* The index of the chosen device in the list of devices that shs_cl_create would take; -1: none. Of several the first. */
static inline int find_device(const char *chosen) {
    shs_cl_device *devices;
    int count = 0, i, place = 0, found = -1;
    check(shs_cl_list(NULL, NULL, 0, &count), "--device");
    devices = ALLOCATE(shs_cl_device, count);
    check(shs_cl_list(NULL, devices, count, &count), "--device");
    for (i = 0; i < count && found < 0; i++) {
        int fit = devices[i].usable && devices[i].has_compiler;
        if (device_matches(chosen, i, &devices[i])) {
            if (fit) found = place;
            else if (strcmp(chosen, "gpu") && strcmp(chosen, "auto"))
                fail(EXIT_ERROR, "--device %s: %s is not fit: it needs OpenCL 1.2, a compiler%s", chosen, devices[i].name,
                     sizeof(shs_real) == 8 ? " and doubles" : "");
        }
        place += fit;
    }
    free(devices);
    if (count == 0 && strcmp(chosen, "auto")) fail(EXIT_ERROR, "--device %s: there is no OpenCL device here", chosen);
    return found;
}

/* Opens usable device number `place`. The CPU takes over stages that the device cannot do. */
static inline shs_status start_device(int place, shs_cl **device, char *reason, size_t reason_size) {
    static char folder[PROGRAM_CACHE_PATH]; /* the same for all devices */
    shs_cl_options options = SHS_ZERO;
    shs_status status;
    if (!example_no_cache && program_cache_folder(folder)) {
        options.load_fn = program_cache_load;
        options.store_fn = program_cache_store;
        options.store_user = folder;
    }
    options.index = place;
    options.fallback = 1;
    options.reason = reason;
    options.reason_size = reason_size;
    status = shs_cl_create(NULL, &options, device);
    if (status != SHS_OK) return status;
    printf("device: %s (%s)\n", shs_cl_device_name(*device), shs_cl_about(*device)->platform);
    return SHS_OK;
}

/* The number, in the list, of the k-th of the devices that `all` and `each` mean: the GPUs that are fit, or, where there is
   none, whatever else is. A processor's driver beside a GPU would be the slowest by far. -1: there are fewer. */
static inline int one_of_all(int k) {
    shs_cl_device *devices;
    int count = 0, i, gpus = 0, found = -1;
    check(shs_cl_list(NULL, NULL, 0, &count), "--device");
    devices = ALLOCATE(shs_cl_device, count);
    check(shs_cl_list(NULL, devices, count, &count), "--device");
    for (i = 0; i < count; i++) gpus += devices[i].usable && devices[i].has_compiler && devices[i].kind == SHS_CL_GPU;
    for (i = 0; i < count && found < 0; i++)
        if (devices[i].usable && devices[i].has_compiler && (!gpus || devices[i].kind == SHS_CL_GPU) && k-- == 0) found = i;
    free(devices);
    return found;
}

/* Describes OpenCL on this host for a message: the platforms, the number of usable devices, and variables that may hide
   devices. */
static inline void tell_platforms(char *text, size_t size) {
    static const char *const names[] = {"OCL_ICD_FILENAMES", "OCL_ICD_VENDORS"};
    const char *before = "platforms and their fit devices: ";
    shs_cl_device *devices;
    size_t used = 0;
    int count = 0, i, k;
    check(shs_cl_list(NULL, NULL, 0, &count), "--device");
    devices = ALLOCATE(shs_cl_device, count);
    check(shs_cl_list(NULL, devices, count, &count), "--device");
    text[0] = 0;
    for (i = 0; i < count; i++) {
        int fit = 0, known = 0;
        for (k = 0; k < count; k++) {
            if (strcmp(devices[k].platform, devices[i].platform) != 0) continue;
            known += k < i;
            fit += devices[k].usable && devices[k].has_compiler;
        }
        if (known || used >= size) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s (%d)", before, devices[i].platform, fit);
        before = ", ";
    }
    free(devices);
    if (!used) used += (size_t)snprintf(text, size, "no platform is seen");
    for (i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        if (used >= size) break;
        if (value) used += (size_t)snprintf(text + used, size - used, "; %s is %s", names[i], value);
        else used += (size_t)snprintf(text + used, size - used, "; %s is not set", names[i]);
    }
}

/* Ends the program where there is no device for --device all. */
static inline void need_any_device(void) {
    char seen[600];
    if (one_of_all(0) >= 0) return;
    tell_platforms(seen, sizeof seen);
    fail(EXIT_ERROR, "--device all: there is no OpenCL device that is fit: %s", seen);
}

/* The engine of the next of several devices, which `item` names; chosen: the whole option. */
static inline const shs_engine *engine_of_item(const char *chosen, const char *item) {
    const int k = example_ranks.count, place = find_device(item);
    char reason[200] = "";
    if (place < 0) fail(EXIT_ERROR, "--device %s: there is no device %s", chosen, item);
    if (start_device(place, &example_devices[k], reason, sizeof reason) != SHS_OK)
        fail(EXIT_ERROR, "--device %s: %s: %s", chosen, item, reason);
    return shs_cl_engine(example_devices[k]);
}

/* Gives the calls that take ctx to the device. */
static inline void use_device(shs_context *ctx, const char *chosen) {
    char reason[200] = "";
    int found, may_do_without = !strcmp(chosen, "auto");
    shs_status status;
    found = find_device(chosen);
    if (found < 0 && may_do_without) {
        printf("device: CPU (there is no OpenCL GPU)\n");
        return;
    }
    if (found < 0 && !strcmp(chosen, "gpu")) fail(EXIT_ERROR, "--device gpu: there is no OpenCL GPU that is fit");
    if (found < 0) fail(EXIT_ERROR, "--device %s: no OpenCL device is called so; the program `devices` lists them", chosen);
    status = start_device(found, &example_device, reason, sizeof reason);
    if (status != SHS_OK && !may_do_without) fail(EXIT_ERROR, "--device %s: %s: %s", chosen, shs_status_text(status), reason);
    if (status != SHS_OK) {
        printf("device: CPU (%s)\n", reason);
        return;
    }
    ctx->engine = shs_cl_engine(example_device);
}
#else
static inline void need_any_device(void) { fail(EXIT_ERROR, "--device all: this program was built without OpenCL"); }
static inline int one_of_all(int k) { return (void)k, -1; }
static inline const shs_engine *engine_of_item(const char *chosen, const char *item) {
    fail(EXIT_ERROR, "--device %s: %s: this program was built without OpenCL", chosen, item);
}
static inline void use_device(shs_context *ctx, const char *chosen) {
    (void)ctx;
    (void)example_no_cache;
    if (strcmp(chosen, "auto")) fail(EXIT_ERROR, "--device %s: this program was built without OpenCL", chosen);
    printf("device: CPU (this program was built without OpenCL)\n");
}
#endif

/* ---- several devices --------------------------------------------------------------------------------------------- */

/* Takes the proportion, a number behind the last colon, off the name of a device; 1: there is none. */
static inline double share_of_item(const char *chosen, char *item) {
    char *colon = strrchr(item, ':'), *end;
    double share;
    if (!colon) return 1;
    share = strtod(colon + 1, &end);
    if (end == colon + 1 || *end) return 1; /* a part of the name */
    if (!(share > 0) || share > 1e6) fail(EXIT_USAGE, "--device %s: the share '%s' is not above 0", chosen, colon + 1);
    *colon = 0;
    return share;
}

static inline void add_rank(const shs_context *ctx, const char *chosen, char *item) {
    device_ranks *all = &example_ranks;
    double share = share_of_item(chosen, item);
    if (all->count == RANKS_MOST) fail(EXIT_USAGE, "--device %s: more than %d", chosen, (int)RANKS_MOST);
    if (!*item) fail(EXIT_USAGE, "--device %s: a name is missing", chosen);
    all->shares[all->count] = share;
    all->each[all->count] = *ctx;
    if (strcmp(item, "cpu")) all->each[all->count].engine = engine_of_item(chosen, item);
    else printf("device: CPU\n");
    if (all->count > 0) all->each[all->count].progress_fn = NULL; /* one bar for all */
    all->count++;
}

/* Processors for each rank. The threads of ctx (or all processors) are shared evenly among the ranks. More threads than
   processors would wait for each other at the end of every loop. */
static inline void share_threads(int threads) {
    int r;
#ifdef _OPENMP
    if (threads == 0) threads = omp_get_max_threads();
#endif
    threads /= example_ranks.count;
    if (threads < 1) threads = 1;
    for (r = 0; r < example_ranks.count; r++) example_ranks.each[r].threads = threads;
}

/* The devices of a list like 0,1 or 0,cpu, or all. What is no work for ranks is done with ctx, by the first. */
static inline void use_devices(shs_context *ctx, const char *chosen) {
    const char *at = chosen;
    char item[200];
    int k;
    if (!strcmp(chosen, "all")) {
        need_any_device();
        for (k = 0; k < RANKS_MOST && one_of_all(k) >= 0; k++) {
            sprintf(item, "%d", one_of_all(k));
            add_rank(ctx, chosen, item);
        }
    } else {
        for (;; at++) {
            size_t length = strcspn(at, ",");
            if (length >= sizeof item) fail(EXIT_USAGE, "--device %s: a name is too long", chosen);
            memcpy(item, at, length);
            item[length] = 0;
            add_rank(ctx, chosen, item);
            at += length;
            if (!*at) break;
        }
    }
    ctx->engine = example_ranks.each[0].engine;
    share_threads(ctx->threads);
    if (example_ranks.count == 1) example_ranks.count = 0;
}

/* When the context's last call is done. */
static inline void example_end(void) {
#ifdef EXAMPLE_OPENCL
    int i;
    for (i = 0; i < RANKS_MOST; i++) {
        shs_cl_destroy(example_devices[i]);
        example_devices[i] = NULL;
    }
#endif
    example_ranks.count = 0;
}

/* Each thread takes memory and starts slowly: four for each processor are plenty, and 64 are always allowed. */
static inline int sane_threads(int threads) {
    long most = 64;
#if defined(EXAMPLE_POSIX) && defined(_SC_NPROCESSORS_ONLN)
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < INT_MAX / 4 && 4 * processors > most) most = 4 * processors;
#endif
    if (threads <= most) return threads;
    warn("--threads: %d are too many here: %ld are used", threads, most);
    return (int)most;
}

/* A context with so many threads, 0 = all, a progress bar when somebody watches, and the device; NULL is the CPU. With several
   devices it is that of the first, and on_devices uses all. */
static inline shs_context example_context(int threads, const char *device) {
    shs_context ctx = SHS_ZERO;
    ctx.threads = sane_threads(threads);
#ifdef EXAMPLE_POSIX
    if (isatty(STDERR_FILENO)) ctx.progress_fn = progress_bar;
#endif
#ifndef _OPENMP
    if (threads > 1) warn("--threads: built without OpenMP, so there is one");
#endif
    if (device && !strcmp(device, "cpu")) printf("device: CPU\n");
    else if (device && (strchr(device, ',') || !strcmp(device, "all"))) use_devices(&ctx, device);
    else if (device) use_device(&ctx, device);
    return ctx;
}

/* ---- work for all devices ---------------------------------------------------------------------------------------- */

/* Runs body as a rank on each of several devices, or once with ctx for a single device. */
static inline shs_status on_devices(const shs_context *ctx, ranks_fn body, void *arg) {
    if (example_ranks.count == 0) return body(ctx, arg);
    return ranks_run(example_ranks.count, example_ranks.each, body, arg);
}

/* Which of `all` items are this rank's: *first and as many as the result. */
static inline size_t devices_range(const shs_context *ctx, size_t all, size_t *first) {
    if (example_ranks.count == 0) return ranks_range(ctx, NULL, all, first);
    return ranks_range(ctx, example_ranks.shares, all, first);
}

/* Signals that are learnt from; columns lie close together. */
typedef struct signals_work {
    int p, n;
    size_t m;
    const shs_real *Y;
    shs_real *D;
    const shs_ksvd_options *learning; /* without arrays for each signal */
    shs_codes *codes;        /* may be NULL */
    shs_ksvd_report *report; /* may be NULL */
} signals_work;

static inline shs_status learn_as_rank(const shs_context *ctx, void *arg) {
    const signals_work *w = (const signals_work *)arg;
    const size_t bytes = (size_t)w->p * (size_t)w->n * sizeof(shs_real);
    const int leads = ctx->ranks < 2 || ctx->rank == 0;
    size_t first, m = devices_range(ctx, w->m, &first);
    shs_codes part, *mine = NULL;
    shs_ksvd_report *report = NULL;
    shs_real *D = w->D;
    shs_status status;
    if (w->codes) {
        part = ranks_codes(w->codes, first, m);
        mine = &part;
    }
    if (leads) report = w->report;
    if (!leads) { /* all ranks learn the same atoms, each in an array of its own */
        D = (shs_real *)malloc(bytes);
        if (!D) return SHS_NO_MEMORY;
        memcpy(D, w->D, bytes);
    }
    status = shs_ksvd_ex(ctx, w->p, w->n, m, w->Y + first * (size_t)w->p, w->p, w->learning, D, w->p, mine, report);
    if (!leads) free(D);
    return status;
}

/* shs_ksvd_ex on the devices. */
static inline shs_status learn_on_devices(const shs_context *ctx, signals_work *w) { return on_devices(ctx, learn_as_rank, w); }

#endif /* EXAMPLE_DEVICES */
