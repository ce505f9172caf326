/* playground.c - what the page of the playground computes, for its worker: a picture is spoilt, learnt from and repaired, a
   patch is coded atom by atom, a cube is analysed. The methods are those of denoise.c, inpaint.c and hypercube, and so are the
   results.

   A call gets its data as arguments and leaves its results in one of a few arrays. The worker asks for the addresses of the
   arrays. Whatever goes wrong ends the call by fail(), whose sentence the page shows. */
#define EXAMPLE_NO_OPENCL
#include "../example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../../sparsehs.h"
#include "../denoising.h"
#include "../inpainting.h"
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic ignored "-Wunused-function" /* of what hypercube's files offer */
#endif
#include "../hypercube/scene.h"
#if defined(EXAMPLE_POSIX) && (defined(__EMSCRIPTEN_PTHREADS__) || !defined(__EMSCRIPTEN__))
#define PLAYGROUND_THREADS /* emcc -pthread */
#include <pthread.h>
#endif
#ifdef __EMSCRIPTEN__
#include <emscripten.h>
/* The worker's function of this name tells the page. */
EM_JS(void, tell, (const char *phase, double step, double steps, double error, const shs_real *atoms, int p, int n), {
    Module.tell(UTF8ToString(phase), step, steps, error, atoms, p, n);
})
#else /* for the compiler's warnings; nothing is linked */
#define EMSCRIPTEN_KEEPALIVE
void tell(const char *phase, double step, double steps, double error, const shs_real *atoms, int p, int n);
#endif

/* ---- what the page reads ----------------------------------------------------------------------------------------- */

enum array { PICTURE, DAMAGED, REPAIRED, ATOMS, STEPS, CUBE, COMPONENTS, VALUES, ARRAYS };

/* The arrays, of shs_real except for the bytes of the cube, and their sizes. */
static struct {
    void *at;
    size_t bytes;
} arrays[ARRAYS];

static struct {
    int width, height;                /* of the picture */
    int p, n;                         /* of the dictionary */
    int samples, lines, bands, count; /* of the cube, and of its components */
    double milliseconds, mean_atoms;
} about;

static void *new_array(int which, size_t bytes) {
    free(arrays[which].at);
    arrays[which].at = allocate(bytes + 1, 1);
    arrays[which].bytes = bytes;
    return arrays[which].at;
}

/* With a new size where `bytes` is not negative. */
EMSCRIPTEN_KEEPALIVE void *array_of(int which, double bytes) {
    if (bytes >= 0) return new_array(which, (size_t)bytes);
    return arrays[which].at;
}
EMSCRIPTEN_KEEPALIVE double array_bytes(int which) { return (double)arrays[which].bytes; }
EMSCRIPTEN_KEEPALIVE int about_width(void) { return about.width; }
EMSCRIPTEN_KEEPALIVE int about_height(void) { return about.height; }
EMSCRIPTEN_KEEPALIVE int about_p(void) { return about.p; }
EMSCRIPTEN_KEEPALIVE int about_n(void) { return about.n; }
EMSCRIPTEN_KEEPALIVE int about_samples(void) { return about.samples; }
EMSCRIPTEN_KEEPALIVE int about_lines(void) { return about.lines; }
EMSCRIPTEN_KEEPALIVE int about_bands(void) { return about.bands; }
EMSCRIPTEN_KEEPALIVE int about_count(void) { return about.count; }
EMSCRIPTEN_KEEPALIVE double about_milliseconds(void) { return about.milliseconds; }
EMSCRIPTEN_KEEPALIVE double about_mean_atoms(void) { return about.mean_atoms; }
EMSCRIPTEN_KEEPALIVE const char *about_build(void) { return shs_build_info(); }

static shs_real *reals_of(enum array which, size_t count) {
    return new_array((int)which, count * sizeof(shs_real));
}

/* What an array holds, if it holds `count` numbers; otherwise NULL. */
static shs_real *held(enum array which, size_t count) {
    if (arrays[which].bytes != count * sizeof(shs_real)) return NULL;
    return arrays[which].at;
}

static picture picture_of(enum array which, int width, int height) {
    picture a = {0};
    a.width = width;
    a.height = height;
    a.channels = 1;
    a.white = 255;
    a.pixels = held(which, elements(width, height));
    if (!a.pixels)
        fail(EXIT_ERROR, "the picture has not %d x %d pixels", width, height);
    if (width < DENOISE_PATCH || height < DENOISE_PATCH)
        fail(EXIT_ERROR, "%d x %d pixels are less than one patch of %d x %d", width, height, DENOISE_PATCH, DENOISE_PATCH);
    return a;
}

static void keep_picture(enum array which, picture *a) {
    memcpy(reals_of(which, picture_size(a)), a->pixels, picture_size(a) * sizeof(shs_real));
    free(a->pixels);
}

static int tell_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    const shs_ksvd_report *report = user;
    int atoms = 0;
    if (report->dictionary) atoms = about.n;
    tell(phase, (double)step, (double)steps, (double)error, report->dictionary, about.p, atoms);
    return 0;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* They are started once, since a browser takes milliseconds to start one, and share the chunks of the library's parallel loops
   with the thread that calls. Which thread does a chunk changes no result. */
#ifdef PLAYGROUND_THREADS
static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened, left;
    unsigned loops;    /* how many were opened */
    int open, helping; /* whether one may still be entered, and how many have entered it and not left */
    int helpers;
    size_t next, chunks;
    shs_chunk_fn body;
    void *arg;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0, 0, 0, NULL, NULL};

static void do_chunks(int worker) {
    size_t chunk;
    while ((chunk = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED)) < pool.chunks) pool.body(pool.arg, chunk, worker);
}

static void *help(void *number) {
    const int worker = (int)(intptr_t)number;
    unsigned seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (!pool.open || pool.loops == seen) pthread_cond_wait(&pool.opened, &pool.lock);
        seen = pool.loops;
        pool.helping++;
        pthread_mutex_unlock(&pool.lock);
        do_chunks(worker);
        pthread_mutex_lock(&pool.lock);
        if (--pool.helping == 0) pthread_cond_signal(&pool.left);
    }
    return NULL; /* never: the threads end with their page's worker */
}

/* For shs_context. Who wakes up after the last chunk was taken is not waited for. */
static void parallel_for(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    (void)user; /* as many as there are workers */
    (void)threads;
    pthread_mutex_lock(&pool.lock);
    pool.body = body;
    pool.arg = arg;
    pool.chunks = chunks;
    pool.next = 0;
    pool.open = 1;
    pool.loops++;
    pthread_cond_broadcast(&pool.opened);
    pthread_mutex_unlock(&pool.lock);
    do_chunks(0);
    pthread_mutex_lock(&pool.lock);
    pool.open = 0;
    while (pool.helping > 0) pthread_cond_wait(&pool.left, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}
#endif

/* Called once, before all else, with how many threads are wanted; returns how many there are. */
EMSCRIPTEN_KEEPALIVE int begin_threads(int wanted) {
    int threads = 1;
#ifdef PLAYGROUND_THREADS
    pthread_t thread;
    while (threads < wanted && !pthread_create(&thread, NULL, help, (void *)(intptr_t)threads)) threads++;
    pool.helpers = threads - 1;
#else
    (void)wanted;
#endif
    return threads;
}

/* Makes a context that reports progress to the page. report: the report of the method. */
static shs_context context_of(shs_ksvd_report *report) {
    shs_context ctx = SHS_ZERO;
    ctx.progress_fn = tell_progress;
    ctx.progress_user = report;
#ifdef PLAYGROUND_THREADS
    if (pool.helpers > 0) {
        ctx.parallel_fn = parallel_for;
        ctx.threads = pool.helpers + 1;
    }
#endif
    return ctx;
}

/* ---- a picture --------------------------------------------------------------------------------------------------- */

/* Draws the picture of denoise, rounded to whole grey values. */
EMSCRIPTEN_KEEPALIVE void draw_picture(void) {
    picture a = drawn_picture();
    size_t i;
    for (i = 0; i < picture_size(&a); i++) a.pixels[i] = (shs_real)floor((double)a.pixels[i] + 0.5);
    about.width = a.width;
    about.height = a.height;
    keep_picture(PICTURE, &a);
}

/* Noise, then holes. */
EMSCRIPTEN_KEEPALIVE void spoil_picture(int width, int height, double sigma, double removed, double seed) {
    const uint64_t number = (uint64_t)seed;
    picture clean = picture_of(PICTURE, width, height);
    picture noisy = add_noise(&clean, sigma, number);
    if (removed > 0) lose_random(&noisy, removed, number);
    keep_picture(DAMAGED, &noisy);
}

/* Learns atoms from the damaged picture and repairs it: by the method of inpaint if pixels are missing, otherwise by the
   method of denoise. */
EMSCRIPTEN_KEEPALIVE void repair_picture(int width, int height, double sigma, int atoms, int iterations, double seed) {
    const uint64_t number = (uint64_t)seed;
    picture damaged = picture_of(DAMAGED, width, height);
    picture out = picture_create(width, height, 1);
    shs_ksvd_report report = SHS_ZERO;
    shs_context ctx = context_of(&report);
    size_t i, missing = 0, count = picture_size(&damaged);
    double start = wall_clock();
    shs_real *D;
    int p;
    about.n = atoms;
    about.mean_atoms = 0;
    for (i = 0; i < count; i++) missing += pixel_missing(damaged.pixels[i]) != 0;
    if (missing == count) fail(EXIT_ERROR, "nothing of the picture is left to learn from");
    if (missing > 0) {
        inpainting how;
        if (sigma > 1) how.tolerance = 1.15 * sigma;
        else how.tolerance = 1;
        how.patch = DENOISE_PATCH;
        how.atoms = atoms;
        how.iterations = iterations;
        how.seed = number;
        about.p = how.patch * how.patch;
        D = inpaint_learn(&ctx, &damaged, &how, &p, &report);
        report.dictionary = NULL;
        memcpy(out.pixels, damaged.pixels, count * sizeof *out.pixels);
        inpaint_with(&ctx, &out, &how, D);
        if (sigma > 1) { /* what is known is noisy, too */
            shs_image image = picture_image(&out);
            denoising smooth = {0, 0, 0, 1, 1, 0, 0};
            smooth.sigma = sigma;
            smooth.atoms = atoms;
            damaged = picture_create(width, height, 1);
            memcpy(damaged.pixels, image.pixels, count * sizeof *damaged.pixels);
            about.mean_atoms = denoise_with(&ctx, &damaged, &smooth, p, D, &out);
            free(damaged.pixels);
        }
    } else {
        denoising how;
        if (sigma > 1) how.sigma = sigma;
        else how.sigma = 1;
        how.atoms = atoms;
        how.iterations = iterations;
        how.parallel_atoms = 1;
        how.seed = number;
        how.gamma = 0;
        how.patches = INPAINT_TRAINING; /* half of what denoise takes: someone waits for it */
        about.p = DENOISE_PATCH * DENOISE_PATCH;
        D = denoise_learn(&ctx, &damaged, &how, &p, &report);
        report.dictionary = NULL;
        about.mean_atoms = denoise_with(&ctx, &damaged, &how, p, D, &out);
    }
    about.milliseconds = 1000 * (wall_clock() - start);
    memcpy(reals_of(ATOMS, elements(p, atoms)), D, elements(p, atoms) * sizeof *D);
    free(D);
    keep_picture(REPAIRED, &out);
}

/* OMP of one patch of DAMAGED over ATOMS, step by step. STEPS has for each number of atoms k, from 0 to most: the error
   |y - Dx|, k atoms and their coefficients (both with room for `most`), and the patch as they say it; and after these the patch
   itself, NaN where it is missing. What is missing is not asked for. Returns the number of steps that were taken. */
EMSCRIPTEN_KEEPALIVE int code_patch(int width, int height, int x, int y, int p, int n, int most) {
    picture a = picture_of(DAMAGED, width, height);
    const int side = DENOISE_PATCH, stride = 1 + 2 * most + p;
    const shs_real *D = held(ATOMS, elements(p, n));
    shs_real *out, *step, mean = 0, signal[DENOISE_PATCH * DENOISE_PATCH], z[DENOISE_PATCH * DENOISE_PATCH], error;
    shs_omp_options o = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    int i, k, known = 0;
    if (p != side * side || !D)
        fail(EXIT_ERROR, "there is no dictionary of patches of %d x %d yet", side, side);
    if (x < 0 || y < 0 || x + side > width || y + side > height) fail(EXIT_ERROR, "that patch is not within the picture");
    step = reals_of(STEPS, elements(stride, most + 1) + (size_t)p);
    out = step + elements(stride, most + 1);
    for (i = 0; i < p; i++) {
        signal[i] = a.pixels[(y + i / side) * width + x + i % side];
        out[i] = signal[i];
        if (!pixel_missing(signal[i])) {
            mean += signal[i];
            known++;
        }
    }
    if (known > 0) mean /= (shs_real)known;
    else mean /= 1;
    for (i = 0; i < p; i++) signal[i] -= mean;
    check(shs_codes_create(NULL, 1, most, &codes), "memory for a code");
    o.skip_nan = 1;
    for (k = 0; k <= most; k++) {
        memset(z, 0, sizeof z);
        memset(step, 0, (size_t)stride * sizeof *step);
        o.sparsity = k;
        if (k > 0) {
            check(shs_omp_ex(NULL, p, n, D, p, 1, signal, p, &o, &codes, NULL, NULL), "coding the patch");
            if (codes.used[0] < k) break;
            check(shs_codes_synthesize(NULL, p, n, D, p, &codes, 0, 1, z, p), "putting atoms together");
        }
        error = 0;
        for (i = 0; i < p; i++)
            if (!pixel_missing(signal[i])) error += (signal[i] - z[i]) * (signal[i] - z[i]);
        step[0] = (shs_real)sqrt((double)error);
        for (i = 0; i < k; i++) {
            step[1 + i] = (shs_real)codes.atoms[i];
            step[1 + most + i] = codes.coefs[i];
        }
        for (i = 0; i < p; i++) step[1 + 2 * most + i] = z[i] + mean;
        step += stride;
    }
    shs_codes_free(NULL, &codes);
    return k - 1;
}

/* ---- a cube ------------------------------------------------------------------------------------------------------ */

/* Room for CUBE, floats, band by band; VALUES gets the wavelengths, or nothing. Returns room for a line of the file. */
static char *begin_cube(const cube_file *f) {
    const size_t bands = (size_t)f->bands;
    size_t known = 0, b;
    shs_real *w;
    if (f->axis.wavelength) known = bands;
    w = reals_of(VALUES, known);
    for (b = 0; b < known; b++) w[b] = (shs_real)f->axis.wavelength[b];
    reals_of(CUBE, elements(f->samples, f->lines) * bands);
    about.samples = f->samples;
    about.lines = f->lines;
    about.bands = f->bands;
    return ALLOCATE(char, elements(f->samples, f->bands) * shs_type_size(f->type));
}

/* NaN where a value is missing, infinity where no float holds it. The methods leave both out. */
static shs_real kept_value(const cube_file *f, double value) {
    if (!is_missing(f, value)) return (shs_real)value;
    if (isnan(value) || is_nodata(f, value)) return (shs_real)NAN;
    return (shs_real)INFINITY;
}

static void keep_line(const cube_file *f, int y, const char *line) {
    shs_real *values = arrays[CUBE].at;
    int x, b;
    values += elements(y, f->samples);
    for (b = 0; b < f->bands; b++) {
        for (x = 0; x < f->samples; x++) {
            double value = get_value(line, value_index(f, 1, 0, x, b), f->type, f->swap);
            values[x] = kept_value(f, value);
        }
        values += elements(f->lines, f->samples);
    }
}

/* The scene that hypercube synthesises, of these sizes. */
EMSCRIPTEN_KEEPALIVE void make_cube(int samples, int lines, int bands, double seed) {
    cube_file f = SHS_ZERO;
    scene *a = ALLOCATE(scene, 1);
    char *line;
    int y;
    given.scene.samples = samples;
    given.scene.lines = lines;
    given.scene.bands = bands;
    given.seed = (uint64_t)seed;
    given.scene.noise = 0.003;
    scene_create(a, &given);
    f.samples = samples;
    f.lines = lines;
    f.bands = bands;
    f.type = SHS_TYPE_U16;
    f.interleave = SHS_INTERLEAVE_BIL;
    f.axis.wavelength = a->wavelength;
    line = begin_cube(&f);
    for (y = 0; y < lines; y++) {
        scene_line(a, &f, y, 10000, line);
        keep_line(&f, y, line);
    }
    free(line);
    scene_free(a);
}

/* A header of ENVI's and its data, which the worker has put into files. */
EMSCRIPTEN_KEEPALIVE void open_cube(const char *header_name, const char *data_name) {
    cube_file f = cube_open(header_name, data_name);
    const double values = (double)f.samples * f.lines * f.bands;
    char *line;
    int y;
    if (values > 64e6)
        fail(EXIT_ERROR, "%s: its %.0f million values are too many for a page: at most 64", data_name, values / 1e6);
    line = begin_cube(&f);
    for (y = 0; y < f.lines; y++) {
        if (read_lines(&f, y, 1, line)) fail(EXIT_ERROR, "%s: reading it failed: %s", data_name, transfer_trouble(&f));
        keep_line(&f, y, line);
    }
    free(line);
    cube_close(&f);
}

/* The first value of a band from value `i` on that is there, or `pixels`. Infinity stands for what no float holds. */
static size_t next_value(const shs_real *band, size_t pixels, size_t i) {
    while (i < pixels && !isfinite(band[i])) i++;
    return i;
}

/* Lists the bands that are not the same everywhere, and returns how many there are. */
static int list_varied_bands(const shs_real *values, size_t pixels, int bands, int *list) {
    int b, count = 0;
    for (b = 0; b < bands; b++) {
        const size_t first = next_value(values, pixels, 0);
        size_t i = first;
        while (i < pixels && values[i] == values[first]) i = next_value(values, pixels, i + 1);
        if (i < pixels) list[count++] = b;
        values += pixels;
    }
    return count;
}

/* Says why no band of the cube varies. */
static void refuse_constant_cube(const shs_real *values, int samples, int lines, int bands) {
    const size_t pixels = elements(samples, lines), count = values_of(pixels, bands);
    size_t i, pixel, infinite = 0, valid = 0;
    for (i = 0; i < count; i++) infinite += isinf(values[i]) != 0;
    for (pixel = 0; pixel < pixels; pixel++) {
        i = pixel;
        while (i < count && !isfinite(values[i])) i += pixels;
        valid += i < count;
    }
    if (valid == 0 && infinite > 0)
        fail(EXIT_ERROR, "no value of the cube is within the range of float: at most 3.4e+38 is expected");
    if (valid == 0) fail(EXIT_ERROR, "no pixel of the cube is valid: all %d x %d x %d values are missing", samples, lines, bands);
    if (valid == 1) fail(EXIT_ERROR, "the cube has one valid pixel; at least two different ones are expected");
    fail(EXIT_ERROR, "every band of the cube is the same everywhere; pixels that differ are expected");
}

/* By a mode of hypercube. COMPONENTS: as many pictures as asked for or as there are; VALUES: the eigenvalues of PCA and MNF.
   Bands that are the same everywhere, as where the air lets nothing through, are left out. */
EMSCRIPTEN_KEEPALIVE void analyse_cube(int method, int samples, int lines, int bands, int count) {
    const size_t pixels = elements(samples, lines);
    const shs_real *values = held(CUBE, values_of(pixels, bands));
    shs_real *kept;
    int *list = ALLOCATE(int, bands), k;
    shs_ksvd_report none = SHS_ZERO;
    shs_pca_options pca_options = SHS_ZERO;
    shs_ica_options ica_options = SHS_ZERO;
    shs_context ctx = context_of(&none);
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_pca pca = SHS_ZERO, all = SHS_ZERO; /* the latter for the eigenvalues, of which few components need few */
    shs_ica ica = SHS_ZERO;
    double start = wall_clock();
    if (!values) fail(EXIT_ERROR, "there is no such cube");
    cube.pixels = values;
    cube.type = SHS_TYPE_F32;
    cube.samples = samples;
    cube.lines = lines;
    cube.bands = bands;
    cube.band_count = list_varied_bands(values, pixels, bands, list);
    if (cube.band_count == 0) refuse_constant_cube(values, samples, lines, bands);
    cube.band_list = list;
    if (method == RX) count = 1;
    else if (count > cube.band_count) count = cube.band_count;
    pca_options.components = ica_options.components = count;
    sink.type = SHS_TYPE_F32;
    sink.pixels = reals_of(COMPONENTS, values_of(pixels, count));
    switch (method) {
    case PCA:
        check(shs_pca_fit(&ctx, &cube, NULL, &all), "PCA");
        check(shs_pca_run(&ctx, &cube, &pca_options, &sink, &pca), "PCA");
        break;
    case MNF:
        check(shs_mnf_fit(&ctx, &cube, NULL, &all), "MNF");
        check(shs_mnf_run(&ctx, &cube, &pca_options, &sink, &pca), "MNF");
        break;
    case ICA: check(shs_ica_run(&ctx, &cube, &ica_options, &sink, &ica), "ICA"); break;
    default: check(shs_rx(&ctx, &cube, NULL, &sink, NULL), "RX");
    }
    kept = reals_of(VALUES, (size_t)all.eigenvalue_count);
    for (k = 0; k < all.eigenvalue_count; k++) kept[k] = (shs_real)all.eigenvalues[k];
    about.count = count;
    about.milliseconds = 1000 * (wall_clock() - start);
    shs_pca_free(&ctx, &all);
    shs_pca_free(&ctx, &pca);
    shs_ica_free(&ctx, &ica);
    free(list);
}

int main(int argc, char **argv) {
    example_begin(argc, argv);
    return 0;
}
