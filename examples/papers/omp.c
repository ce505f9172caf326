/* omp.c - the figure of the report on batch OMP on a GPU (Rathgeber, University of Erlangen): how many patches a second are
   coded, over the number of atoms a patch.

       figure          patches a second over s = 1 .. 32, n 128, fixed atoms, single precision
       s16             the report's one surviving number, 45,016 patches a second at s 16, and speed-ups with their baselines
       agreement       the same atoms as other systems choose (golden/)
       kernels         the figure for each of the device's kernels, one patch an item (the report's future work) among them

   `make papers PAPER=omp` runs it; --help lists the options. */
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#include "papers.h"

enum { P = 64, N = 128, MOST_S = 32 };

/* Signals, a dictionary, and where their codes go. */
typedef struct coding {
    const shs_context *ctx;
    int s;
    size_t m;
    shs_real *D, *Y;
    shs_codes codes;
} coding;

static void code_once(void *argument) {
    coding *c = (coding *)argument;
    check(shs_omp(c->ctx, P, N, c->D, c->m, c->Y, c->s, &c->codes), "coding");
}

/* Signals a second, D'D and D'Y included; on a device from host memory to host memory. */
static double rate(coding *c, const shs_context *ctx, int s) {
    c->ctx = ctx;
    c->s = s;
    return (double)c->m / median_seconds(code_once, c);
}

/* The same by the device's own clock: its kernels and nothing else. */
static double resident_rate(coding *c, int s) {
    c->ctx = &run.on_device;
    c->s = s;
    device_seconds();
    code_once(c);
    return (double)c->m / device_seconds();
}

/* The textbook: plain loops, everything anew for each signal, in double. */
static void textbook_once(void *argument) {
    coding *c = (coding *)argument;
    const shs_naive_rule rule = {c->s, 0, NULL};
    int atoms[MOST_S];
    shs_wide x[MOST_S], r[P], *scratch = ALLOCATE(shs_wide, c->s * (P + c->s));
    size_t i;
    for (i = 0; i < c->m; i++) shs_omp_naive(P, N, c->D, c->Y + i * P, &rule, atoms, x, r, scratch);
    free(scratch);
}

static double textbook_rate(coding *c, int s, size_t m) {
    coding few = *c;
    few.s = s;
    few.m = m;
    return (double)m / median_seconds(textbook_once, &few);
}

static coding open_coding(size_t m) {
    coding c;
    memset(&c, 0, sizeof c);
    c.m = m;
    c.Y = patch_signals(m, 0, 1);
    c.D = ALLOCATE(shs_real, P * N);
    check(shs_dictionary_dct(8, 8, 1, N, c.D, P), "the dictionary");
    check(shs_codes_create(NULL, m, MOST_S, &c.codes), "codes");
    return c;
}

static void close_coding(coding *c) {
    free(c->Y);
    free(c->D);
    shs_codes_free(NULL, &c->codes);
}

/* Multiplications and additions a signal: D'y, and for each atom the columns of those before it. */
static double operations(int s) { return 2.0 * P * N + (double)N * s * (s + 1); }

static size_t signals(void) { return (size_t)sized(4096, 65536, 1 << 20); }
static size_t textbook_signals(void) { return (size_t)sized(128, 1024, 4096); }

/* The values of s in a run of usual scale. */
static const int usual_s[MOST_S] = {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32};

static void figure(void) {
    static const int few[MOST_S] = {1, 2, 4, 8, 16, 32};
    int count = sized(6, 13, MOST_S), k;
    coding c;
    FILE *resident, *textbook;
    if (!item_begin("figure", "figure", "Patches a second over s, n 128, fixed atoms, single precision")) return;
    c = open_coding(signals());
    put_line("x", "s, atoms a patch");
    put_line("y", "patches a second");
    put_line("log", "y");
    rows_begin("textbook");
    textbook = item_rows;
    rows_begin("kernels");
    resident = item_rows;
    rows_begin("rate");
    for (k = 0; k < count; k++) {
        int s = sized(few[k], usual_s[k], k + 1);
        FILE *rows = item_rows;
        const char *paper = "", *note = "paper: the curve is not in our copy";
        double device = NOT_RUN, kernels = NOT_RUN, one, all;
        step_of(k, count, text_of("patches a second, s %d", s));
        one = rate(&c, &run.one, s);
        all = rate(&c, &run.all, s);
        if (run.has_device) {
            device = rate(&c, &run.on_device, s);
            kernels = resident_rate(&c, s);
        }
        if (s == 16) {
            paper = "45016";
            note = NULL;
        }
        row(text_of("%d", s), paper, one, all, device, note);
        item_rows = resident;
        row(text_of("%d", s), "", NOT_RUN, NOT_RUN, kernels, "times of the kernels alone; the CPU is in the other file");
        item_rows = textbook;
        row(text_of("%d", s), "", textbook_rate(&c, s, textbook_signals()), NOT_RUN, NOT_RUN, "shs_omp_naive: one thread only");
        item_rows = rows;
    }
    rows_end();
    close_written(resident, item_name);
    close_written(textbook, item_name);
    curve("rate", 3, "one thread");
    curve("rate", 4, "all threads");
    curve("rate", 5, "device, host to host");
    curve("kernels", 5, "device, kernels alone");
    curve("textbook", 3, "textbook, one thread");
    curve("rate", 2, "paper: 8800 GTX, s 16");
    remark("p 64 and n 128 (the report's G fits in 64 KB of constant memory for that n; it does not state p). %d patches; the "
           "textbook twin "
           "codes %d of them.",
           (int)c.m, (int)textbook_signals());
    item_end();
    close_coding(&c);
}

static void faster_row(const char *over, double baseline, const double *ours, const char *note) {
    row(text_of("times faster than %s", over), "", ratio(ours[0], baseline), ratio(ours[1], baseline), ratio(ours[2], baseline),
        note);
}

static void s16(void) {
    coding c;
    double ours[3] = {NOT_RUN, NOT_RUN, NOT_RUN}, textbook, plain = serial_seconds("O2", "s16"), kernels = NOT_RUN;
    int wide = sizeof(shs_real) == 8;
    if (!item_begin("s16", "table", "s 16: patches a second, and speed-ups over three baselines")) return;
    c = open_coding(signals());
    ours[0] = rate(&c, &run.one, 16);
    ours[1] = rate(&c, &run.all, 16);
    step_of(1, 3, "s 16 on the device");
    if (run.has_device) {
        ours[2] = rate(&c, &run.on_device, 16);
        kernels = resident_rate(&c, 16);
    }
    step_of(2, 3, "s 16 in the textbook twin");
    textbook = textbook_rate(&c, 16, textbook_signals());
    put_line("unit", "patches a second; in the rows of speed-ups: times");
    rows_begin(NULL);
    row("Batch-OMP (shs_omp)", "45016", ours[0], ours[1], ours[2],
        text_of("paper: GeForce 8800 GTX; one thread: %s", share_of_peak(operations(16), 1 / ours[0], wide)));
    row("kernels alone", "", NOT_RUN, NOT_RUN, kernels, "by the device's own clock; not for a CPU");
    row("textbook twin (shs_omp_naive)", "", textbook, NOT_RUN, NOT_RUN,
        text_of("in double; %s of our count of operations", share_of_peak(operations(16), 1 / textbook, 1)));
    row("plain C (SPARSEHS_NO_SIMD) at -O2", "", ratio((double)c.m, plain), NOT_RUN, NOT_RUN,
        unless_run(plain, "not run: no serial build", share_of_peak(operations(16) * (double)c.m, plain, wide)));
    faster_row("the textbook twin", textbook, ours, text_of("baseline: %s", share_of_peak(operations(16), 1 / textbook, 1)));
    if (plain > 0)
        faster_row("plain C", (double)c.m / plain, ours,
                   text_of("baseline: %s", share_of_peak(operations(16) * (double)c.m, plain, wide)));
    faster_row("the report's GPU of 2007", 45016, ours, "baseline: its share of that chip's peak is not in our copy");
    rows_end();
    remark("Operations are counted as 2 p n + n s (s + 1) a patch: what Batch-OMP needs. The textbook twin does several times "
           "as many.");
    item_end();
    close_coding(&c);
}

/* How many of the first 512 signals get the same atoms in the same numbers as in the stored results. */
static void agreement(void) {
    char *name = text_of("%s/golden/omp_codes_s6_first512.csv", run.shared), line[200];
    enum { SIGNALS = 512, S = 6 };
    FILE *file, *raw;
    float *values;
    shs_real *D, *Y;
    shs_codes codes = SHS_ZERO;
    unsigned char *same;
    double largest = 0;
    int i, k, equal = 0;
    if (!item_begin("agreement", "table", "The same atoms as another system chooses")) return;
    file = fopen(name, "r");
    rows_begin(NULL);
    if (!file)
        row("signals with the same atoms", "", NOT_RUN, NOT_RUN, NOT_RUN,
            text_of("not run: golden/ is not below %s", run.shared));
    else {
        D = ALLOCATE(shs_real, P * N);
        Y = ALLOCATE(shs_real, P * SIGNALS);
        values = ALLOCATE(float, P *SIGNALS);
        same = ALLOCATE(unsigned char, SIGNALS);
        raw = fopen(text_of("%s/golden/ksvd_atoms_64x128.f32", run.shared), "rb");
        if (!raw || fread(values, sizeof *values, P * N, raw) != P * N)
            fail(EXIT_ERROR, "golden/ksvd_atoms_64x128.f32: cannot read it");
        fclose(raw);
        for (i = 0; i < P * N; i++) D[i] = (shs_real)values[i];
        raw = fopen(text_of("%s/golden/ksvd_signals_64x4096.f32", run.shared), "rb");
        if (!raw || fread(values, sizeof *values, P * SIGNALS, raw) != P * SIGNALS)
            fail(EXIT_ERROR, "golden/ksvd_signals_64x4096.f32: cannot read it");
        fclose(raw);
        for (i = 0; i < P * SIGNALS; i++) Y[i] = (shs_real)values[i];
        check(shs_normalize_columns(P, N, D, P, NULL), "atoms");
        check(shs_codes_create(NULL, SIGNALS, S, &codes), "codes");
        check(shs_omp(&run.all, P, N, D, SIGNALS, Y, S, &codes), "coding");
        memset(same, 1, SIGNALS);
        if (!fgets(line, sizeof line, file)) fail(EXIT_ERROR, "%s: it is empty", name);
        while (fgets(line, sizeof line, file)) {
            int signal, atom, found = -1;
            double coefficient;
            if (sscanf(line, "%d,%d,%lf", &signal, &atom, &coefficient) != 3 || signal < 0 || signal >= SIGNALS) continue;
            for (k = 0; k < codes.used[signal]; k++)
                if (codes.atoms[signal * S + k] == atom) found = k;
            if (found < 0) same[signal] = 0;
            else if (fabs((double)codes.coefs[signal * S + found] - coefficient) > largest)
                largest = fabs((double)codes.coefs[signal * S + found] - coefficient);
        }
        fclose(file);
        for (i = 0; i < SIGNALS; i++) equal += same[i];
        row("signals of 512 with the same 6 atoms", "", NOT_RUN, equal, NOT_RUN,
            "OMP in Octave (ompbox) in double; one thread: the same bits; device: not run");
        row("largest difference of a coefficient", "", NOT_RUN, largest, NOT_RUN, "signals have unit norm; device: not run");
        shs_codes_free(NULL, &codes);
        free(D);
        free(Y);
        free(values);
        free(same);
    }
    rows_end();
    item_end();
}

#ifdef EXAMPLE_OPENCL
/* The figure once more with each kernel of kernels_embed/omp.h, which give the same codes to the last bit. */
static const struct {
    shs_cl_coder coder;
    const char *name, *label;
} device_kernels[] = {{SHS_CL_CODER_WARP, "warp", "a warp a patch"},
                      {SHS_CL_CODER_ITEM, "item", "an item a patch"},
                      {SHS_CL_CODER_GROUP, "group", "a group a patch, in local memory"},
                      {SHS_CL_CODER_GENERAL, "general", "a group a patch"},
                      {SHS_CL_CODER_AUTO, "auto", "the library's choice"}};
enum { DEVICE_KERNELS = (int)(sizeof device_kernels / sizeof *device_kernels) };

/* Writes the rows of one kernel, the kernel of example_device. Returns non-zero if the kernel fits. */
static int kernel_rows(coding *c, const char *name, int at) {
    static const int few[MOST_S] = {1, 4, 16, 32};
    int count = sized(4, 13, MOST_S), k, fits = 0;
    FILE *alone;
    rows_begin(text_of("%s_alone", name));
    alone = item_rows;
    rows_begin(name);
    for (k = 0; k < count; k++) {
        int s = sized(few[k], usual_s[k], k + 1);
        shs_status status = shs_omp(&run.on_device, P, N, c->D, c->m, c->Y, s, &c->codes);
        const char *note = "not run: the kernel does not fit this device";
        double whole = NOT_RUN, kernel = NOT_RUN;
        FILE *rows = item_rows;
        step_of(at * count + k, DEVICE_KERNELS * count, text_of("patches a second, kernel %s, s %d", name, s));
        if (status != SHS_UNSUPPORTED) {
            check(status, "coding");
            note = NULL;
            whole = rate(c, &run.on_device, s);
            kernel = resident_rate(c, s);
            fits = 1;
        }
        row(text_of("%d", s), "", NOT_RUN, NOT_RUN, whole, note);
        item_rows = alone;
        row(text_of("%d", s), "", NOT_RUN, NOT_RUN, kernel, note);
        item_rows = rows;
    }
    rows_end();
    close_written(alone, item_name);
    return fits;
}

static void kernels(void) {
    shs_cl *usual = example_device;
    coding c;
    int k;
    if (!item_begin("kernels", "figure", "Patches a second over s with each of the device's kernels, n 128")) return;
    if (!run.has_device) {
        remark("Not run: %s.", run.no_device);
        item_end();
        return;
    }
    c = open_coding(signals());
    put_line("x", "s, atoms a patch");
    put_line("y", "patches a second");
    put_line("log", "y");
    for (k = 0; k < DEVICE_KERNELS; k++) {
        example_device = device_with(device_kernels[k].coder);
        run.on_device.engine = shs_cl_engine(example_device);
        if (kernel_rows(&c, device_kernels[k].name, k)) {
            curve(device_kernels[k].name, 5, text_of("%s, host to host", device_kernels[k].label));
            curve(text_of("%s_alone", device_kernels[k].name), 5, text_of("%s, alone", device_kernels[k].label));
        } else remark("No curve for %s: that kernel does not fit this device.", device_kernels[k].label);
        shs_cl_destroy(example_device);
        example_device = NULL; /* what fails next asks no device that is gone */
    }
    example_device = usual;
    run.on_device.engine = shs_cl_engine(usual);
    remark("One patch an item, data coalesced in global memory, is the report's future work. All kernels give the same codes. "
           "Alone: "
           "kernels by the device's own clock, with the data on the device. %d patches.",
           (int)c.m);
    item_end();
    close_coding(&c);
}
#else
static void kernels(void) {
    if (!item_begin("kernels", "text", "Patches a second over s with each of the device's kernels")) return;
    remark("Not run: built without OpenCL.");
    item_end();
}
#endif

int main(int argc, char **argv) {
    papers_begin(argc, argv, "omp", "The figure of the report on batch OMP on a GPU (Rathgeber) with today's numbers.", 4);
    if (run.serial) {
        coding c = open_coding(signals());
        serial_result("s16", (double)c.m / rate(&c, &run.one, 16));
        papers_end();
        return 0;
    }
    substituted("Atoms: an overcomplete DCT of 128 atoms; the report says fixed atoms.");
    if (pictures_are_there())
        substituted("Patches: 8x8 pixels of barbara, boat, peppers and house at random places, mean removed.");
    else substituted("Patches: of a synthetic picture, since the test pictures are not here; mean removed.");
    substituted("GeForce 8800 GTX: this machine and its OpenCL device, named above.");
    figure();
    s16();
    agreement();
    kernels();
    papers_end();
    return 0;
}
