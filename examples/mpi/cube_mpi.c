/* cube_mpi.c - components and anomalies of an image cube in ENVI's format, on the ranks of MPI: each streams its own lines of
   the one file and writes its part of the output.

       mpicc -O3 -fopenmp mpi/cube_mpi.c -o cube_mpi -lm
       mpirun -n 4 ./cube_mpi pca scene.hdr pc.hdr --components 10 --save scene.model
       mpirun -n 4 ./cube_mpi ica scene.hdr ic.hdr --components 8 --contrast tanh
       mpirun -n 4 ./cube_mpi mnf scene.hdr mnf.hdr --components 10
       mpirun -n 4 ./cube_mpi rx scene.hdr rx.hdr
       mpirun -n 4 ./cube_mpi apply scene.model other.hdr pc2.hdr

   A rank holds a block of lines at a time and what the method sums up, whatever the file's size. The calls of the library are
   the same as without MPI. hypercube has more options and reads the files that cube_mpi writes. */
#define _FILE_OFFSET_BITS 64
#include "ranks.h"
#ifdef WITH_MPI
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic ignored "-Wunused-function" /* of what hypercube's reader offers */
#endif
#define ENVI_MOVE_BYTES
#include "../hypercube/scales.h"

typedef struct settings {
    int components, block, threads, bbl, symmetric, iterations;
    const char *contrast, *device, *save;
} settings;

static settings given = {0, 0, 0, 0, 0, 0, NULL, "cpu", NULL};

#define CONTRASTS "pow3|tanh|gauss|skew"

static const option options[] = {
    {"The components", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--components", "N", OPTION_COUNT, &given.components, 1, "how many (10, or as many as there are bands; rx: all)"},
    {"--bbl", NULL, OPTION_SWITCH, &given.bbl, 0, "leave out the bands that the header marks as bad"},
    {"--contrast", CONTRASTS, OPTION_TEXT, &given.contrast, 0, "the contrast function of ica (pow3)"},
    {"--symmetric", NULL, OPTION_SWITCH, &given.symmetric, 0, "ica: all components at once"},
    {"--iterations", "N", OPTION_COUNT, &given.iterations, 1, "ica: at most so many (the library's default)"},
    {"Files", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--save", "MODEL", OPTION_TEXT, &given.save, 0, "keep what was fitted, for apply and for hypercube"},
    {"--block", "LINES", OPTION_COUNT, &given.block, 1, "lines in memory at a time (about 16 MB)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--device", "NAME", OPTION_TEXT, &given.device, 0, RANKS_DEVICE_HELP},
    {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP},
    {"--threads", "N", OPTION_COUNT, &given.threads, 1, "of each rank (its share of the host's processors)"},
    {"pca scene.hdr pc.hdr --components 10 --save scene.model", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"apply scene.model other.hdr pc2.hdr", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

/* ---- the two cubes ----------------------------------------------------------------------------------------------- */

static cube_file in, out;
static MPI_File in_data, out_data;

static size_t move_bytes(const cube_file *f, uint64_t at, size_t bytes, void *into, const void *from) {
    (void)f;
    if (into) return parallel_move(in_data, at, bytes, into, NULL);
    return parallel_move(out_data, at, bytes, NULL, from);
}

/* Checks that all ranks see the same header, size, first bytes and last bytes of the file. */
static uint64_t imprint_of(cube_file *f) {
    static unsigned char ends[2][4096]; /* too large for a small stack */
    uint64_t size = file_size(f->file, f->data_name), print = imprint(0, &size, sizeof size);
    size_t count = sizeof ends[0];
    uint64_t at[2] = {0, 0};
    int i;
    memset(ends, 0, sizeof ends);
    if (size < count) count = (size_t)size;
    at[1] = size - count;
    for (i = 0; i < 2; i++)
        if (seek_to(f->file, at[i]) || fread(ends[i], 1, count, f->file) != count)
            fail(EXIT_ERROR, "%s: reading it failed: %s", f->data_name, strerror(errno));
    for (i = 0; i < f->text.count; i++) {
        print = imprint(print, f->text.entries[i].key, strlen(f->text.entries[i].key) + 1);
        print = imprint(print, f->text.entries[i].value, strlen(f->text.entries[i].value) + 1);
    }
    return imprint(print, ends, sizeof ends);
}

static int read_share(void *user, int first, int lines, void *block) {
    return read_lines((cube_file *)user, first, lines, block);
}

/* This rank's lines of the input as a cube, and their place in the files. */
static shs_cube open_share(void) {
    shs_cube cube = SHS_ZERO;
    uint64_t first, share = share_of((uint64_t)in.lines, &first);
    in.window.top = out.window.top = (int)first;
    cube.type = in.type;
    cube.interleave = in.interleave;
    cube.swap_bytes = in.swap;
    cube.samples = in.samples;
    cube.lines = (int)share;
    cube.bands = in.bands;
    cube.has_nodata = in.has_nodata;
    cube.nodata = (shs_wide)in.nodata;
    cube.read_fn = read_share;
    cube.read_user = &in;
    cube.block_lines = given.block;
    if (given.bbl && in.axis.good) {
        int *list = ALLOCATE(int, in.bands), i;
        for (i = 0; i < in.bands; i++)
            if (in.axis.good[i] > 0) list[cube.band_count++] = i;
        if (cube.band_count == 0) fail(EXIT_ERROR, "%s: bbl: no band is good", in.header_name);
        cube.band_list = list;
    }
    return cube;
}

/* The output is one file, which the first rank makes, when all have looked at its name, and all write to. It gets its name when
   all are done. */
static shs_sink create_output(const char *name, int bands) {
    shs_sink sink = SHS_ZERO;
    cube_name(&out, name);
    out.samples = in.samples;
    out.lines = in.lines;
    out.bands = bands;
    out.type = out.stored.type = SHS_TYPE_F32;
    out.interleave = in.interleave;
    out.stored.samples = in.samples;
    out.stored.lines = in.lines;
    out.has_nodata = in.has_nodata || !is_integer(in.type);
    if (in.has_nodata) out.nodata = in.nodata;
    else out.nodata = (double)NAN;
    out.origin.from = &in;
    out.description = joined(program_name, "");
    out.axis.units = joined("", "");
    sink.type = SHS_TYPE_F32;
    sink.interleave = in.interleave;
    sink.write_fn = write_lines;
    sink.write_user = &out;
    together(NULL, 0);
    if (world.rank == 0) cube_create(&out);
    together(NULL, 0);
    out_data = parallel_open(out.part.name, MPI_MODE_WRONLY);
    together(NULL, 0);
    return sink;
}

static void finish_output(const char *band_name) {
    parallel_close(&out_data, out.part.name, 1);
    together(NULL, 0);
    if (world.rank == 0) cube_finish(&out, band_name, NULL);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static int write_piece(void *user, const void *bytes, size_t count) { return fwrite(bytes, 1, count, (FILE *)user) != count; }
static int read_piece(void *user, void *bytes, size_t count) { return fread(bytes, 1, count, (FILE *)user) != count; }

/* All ranks have the same model, and the first keeps it. */
static void save_model(const shs_model *model) {
    FILE *file;
    if (!given.save || world.rank > 0) return;
    file = open_for_writing(given.save);
    check(shs_model_save(model, write_piece, file), given.save);
    close_written(file, given.save);
}

/* The mean of a model, its bands, and how many values it makes of a pixel: ranks compare them. */
typedef struct shape {
    const shs_wide *mean;
    int bands, outputs;
} shape;

static shape shape_of(const shs_model *model) {
    shape s = {model->pca.mean, model->pca.bands, model->pca.components};
    if (model->kind == SHS_MODEL_RX) s.outputs = 1;
    if (model->kind != SHS_MODEL_ICA) return s;
    s.mean = model->ica.mean;
    s.bands = model->ica.bands;
    s.outputs = model->ica.components;
    return s;
}

/* notes: what hypercube says there of the cube; cube_mpi itself says nothing. */
static shs_model load_model(const char *name, model_notes *notes) {
    shs_model model = SHS_ZERO;
    FILE *file = fopen(name, "rb");
    if (!file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    check(shs_model_load(NULL, read_piece, file, &model), name);
    *notes = read_notes(file, name, shape_of(&model).bands);
    fclose(file);
    return model;
}

/* Band b of those in use. */
static int used_band(const shs_cube *cube, int b) {
    if (cube->band_list) return cube->band_list[b];
    return b;
}

/* In nanometres, of the bands in use; NULL: the header has none. */
static shs_wide *used_wavelengths(const shs_cube *cube) {
    shs_wide *list;
    int count = shs_cube_bands(cube), b;
    if (!has_wavelengths(&in)) return NULL;
    list = ALLOCATE(shs_wide, count);
    for (b = 0; b < count; b++) list[b] = (shs_wide)band_nanometres(&in, used_band(cube, b));
    return list;
}

/* The bands are taken in their order: a model of other wavelengths is refused. */
static void check_wavelengths(const char *model_name, const shs_model *model, int model_bands, const shs_cube *cube) {
    const int bands = shs_cube_bands(cube);
    shs_wide *here;
    double *wanted, step;
    int b;
    if (bands != model_bands)
        fail(EXIT_ERROR, "%s: bands: %d are in use, but %s is of %d", in.header_name, bands, model_name, model_bands);
    here = used_wavelengths(cube);
    if (!here || !model->wavelengths) {
        free(here);
        return;
    }
    wanted = ALLOCATE(double, bands);
    for (b = 0; b < bands; b++) wanted[b] = (double)model->wavelengths[b];
    step = mean_step(wanted, bands);
    for (b = 0; b < bands; b++)
        if (!same_wavelength(wanted[b], (double)here[b], step))
            fail(EXIT_ERROR, "%s: wavelength: band %d has %.6g nm, but band %d of %s has %.6g nm; hypercube apply looks for its bands",
                 in.header_name, used_band(cube, b) + 1, (double)here[b], b + 1, model_name, wanted[b]);
    free(wanted);
    free(here);
}

/* The first rank warns of gains that two headers state differently. */
static void check_gains(const model_notes *notes, const shs_cube *cube) {
    const int count = shs_cube_bands(cube);
    int *bands = ALLOCATE(int, count), b;
    for (b = 0; b < count; b++) bands[b] = used_band(cube, b);
    if (world.rank == 0) compare_gains(&in, bands, count, notes);
    free(bands);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

enum mode { PCA, ICA, MNF, RX, APPLY };

#define MODE_NAMES "pca|ica|mnf|rx|apply"

/* Refuses an option that the mode would ignore. owners: names of the modes that read the option. */
static void refuse(int is_given, const char *option_name, const char *mode_name, const char *owners) {
    if (is_given) fail(EXIT_USAGE, "%s: not with %s, only with %s", option_name, mode_name, owners);
}

static void check_options(enum mode mode, const char *mode_name) {
    const char *fits = "pca, ica, mnf and rx";
    if (mode != ICA) {
        refuse(given.contrast != NULL, "--contrast", mode_name, "ica");
        refuse(given.symmetric, "--symmetric", mode_name, "ica");
        refuse(given.iterations > 0, "--iterations", mode_name, "ica");
    }
    if (mode == APPLY) {
        refuse(given.components > 0, "--components", mode_name, fits);
        refuse(given.save != NULL, "--save", mode_name, fits);
    }
    if (given.contrast && find_word(CONTRASTS, given.contrast) < 0)
        fail(EXIT_USAGE, "--contrast: '%s' is none of " CONTRASTS, given.contrast);
}

/* Every call below is made by all ranks, and returns the same on all of them but where one fails. */
static shs_status analyse(enum mode mode, const shs_context *ctx, const shs_cube *cube, const shs_sink *sink,
                          shs_model *model) {
    shs_pca_options pca = SHS_ZERO;
    shs_ica_options ica = SHS_ZERO;
    shs_status status;
    pca.components = ica.components = given.components;
    if (given.contrast) ica.contrast = (shs_contrast)find_word(CONTRASTS, given.contrast);
    ica.iterations = given.iterations;
    if (given.symmetric) ica.approach = SHS_APPROACH_SYMMETRIC;
    else ica.approach = SHS_APPROACH_DEFLATION;
    switch (mode) {
    case PCA: model->kind = SHS_MODEL_PCA; return shs_pca_run(ctx, cube, &pca, sink, &model->pca);
    case ICA: model->kind = SHS_MODEL_ICA; return shs_ica_run(ctx, cube, &ica, sink, &model->ica);
    case RX:
        model->kind = SHS_MODEL_RX;
        if (!given.save) return shs_rx(ctx, cube, &pca, sink, NULL);
        status = shs_rx_fit(ctx, cube, &pca, &model->pca);
        if (status == SHS_OK) return shs_rx_transform(ctx, &model->pca, cube, sink);
        return status;
    case MNF:
        model->kind = SHS_MODEL_MNF;
        status = shs_mnf_fit(ctx, cube, &pca, &model->pca);
        if (status == SHS_OK) return shs_pca_transform(ctx, &model->pca, cube, sink);
        return status;
    default:
        if (model->kind == SHS_MODEL_ICA) return shs_ica_transform(ctx, &model->ica, cube, sink);
        if (model->kind == SHS_MODEL_RX) return shs_rx_transform(ctx, &model->pca, cube, sink);
        return shs_pca_transform(ctx, &model->pca, cube, sink);
    }
}

/* The first rank says what came of it. */
static void report(enum mode mode, const shs_model *model) {
    const shs_pca *pca = &model->pca;
    int k;
    if (mode == PCA || mode == MNF) {
        printf("%.0f pixels\n", (double)pca->count);
        for (k = 0; k < pca->components; k++) printf("eigenvalue %d: %.10g\n", k + 1, (double)pca->eigenvalues[k]);
    }
    if (mode == ICA) {
        const char *end = "not converged";
        if (model->ica.converged) end = "converged";
        printf("%.0f pixels, %s\n", (double)model->ica.count, end);
    }
}

/* How many components a fit makes, where the command line does not say. */
static int usual_components(enum mode mode, int bands) {
    if (mode == RX) return 0; /* all that are above rounding */
    return smaller(bands, 10);
}

int main(int argc, char **argv) {
    static const char *const band_names[] = {"PC", "MNF", "IC", "RX"}; /* for each kind of model */
    int names = ranks_begin(argc, argv, "pca|ica|mnf|rx IN.hdr OUT.hdr [options]\napply MODEL IN.hdr OUT.hdr [options]",
                            "Analyses an image cube in ENVI's format on the ranks of MPI.", options,
                            (int)(sizeof options / sizeof *options));
    int mode = -1, wanted = 3, outputs;
    uint64_t print;
    shs_model model = SHS_ZERO;
    model_notes notes = SHS_ZERO;
    shs_context ctx;
    shs_cube cube;
    shs_sink sink;
    if (names > 0) mode = find_word(MODE_NAMES, argv[0]);
    if (mode == APPLY) wanted = 4;
    if (mode < 0 || names != wanted)
        fail(EXIT_USAGE, "pca, ica, mnf, rx or apply, and the names of the files");
    check_options((enum mode)mode, argv[0]);
    argv += mode == APPLY;
    ctx = ranks_context(given.threads, given.device);
    if (mode == APPLY) model = load_model(argv[0], &notes);
    in = cube_open(argv[1], NULL);
    will_read(in.header_name);
    will_read(in.data_name);
    if (given.save) will_write(given.save);
    if (mode == APPLY) scale_as_model(&in, &notes);
    cube = open_share();
    print = imprint_of(&in);
    if (mode == APPLY) { /* its numbers, which another model of the same size has not */
        const shape given_model = shape_of(&model);
        print = imprint(print, given_model.mean, (size_t)given_model.bands * sizeof(shs_wide));
        check_wavelengths(argv[0], &model, given_model.bands, &cube);
        check_gains(&notes, &cube);
    } else model.wavelengths = used_wavelengths(&cube);
    in_data = parallel_open(in.data_name, MPI_MODE_RDONLY);
    together("the files that they see", print);

    if (given.components == 0) given.components = usual_components((enum mode)mode, shs_cube_bands(&cube));
    if (mode == RX) outputs = 1;
    else if (mode == APPLY) outputs = shape_of(&model).outputs;
    else outputs = given.components;
    sink = create_output(argv[2], outputs);
    check_together(analyse((enum mode)mode, &ctx, &cube, &sink, &model), in.data_name);
    together(NULL, 0);
    finish_output(band_names[model.kind]);
    save_model(&model);
    if (world.rank == 0) report((enum mode)mode, &model);
    together(NULL, 0);
    parallel_close(&in_data, in.data_name, 0);
    if (mode == APPLY) shs_model_free(NULL, &model);
    else {
        shs_pca_free(&ctx, &model.pca);
        shs_ica_free(&ctx, &model.ica);
        free(model.wavelengths);
    }
    free_notes(&notes);
    free((void *)(uintptr_t)cube.band_list);
    cube_close(&in);
    cube_close(&out);
    example_end();
    ranks_end();
    return EXIT_SUCCESS;
}
#endif
