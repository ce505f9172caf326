/* 4_components.c - the principal components of an image cube: from two passes over doubles to integer products of bytes.

       make course LESSONS=4

   The first ladder forms the covariance of the same bytes on every rung. Then come the eigenvectors, the scores of the pixels,
   and two curves: what a large mean costs a sum in float, and how much of the variance the first components hold. */
#include "course.h"
#if defined(__GNUC__) && defined(__x86_64__)
#define BYTES_BY_HAND
#include <immintrin.h>
#endif

enum { PANEL = 256 /* pixels that are converted and multiplied together */, MOST_BANDS = 256 };

static struct {
    int bands, lines, samples, pixels;
    unsigned char *bytes;                 /* bands x pixels: the spectrum of a pixel is a column */
    shs_wide *wide;                       /* the same numbers, for the textbook's routine */
    float *floats;                        /* and for the header */
    shs_wide *mean, *covariance, *before; /* what a rung finds, and what the rung before found */
} scene;

/* By the type of shs_wide. */
static double in_wide(double of_double, double of_float) {
    if (sizeof(shs_wide) == sizeof(double)) return of_double;
    return of_float;
}

static unsigned char byte_of(double value) {
    if (value < 0) return 0;
    if (value > 255) return 255;
    return (unsigned char)(value + 0.5);
}

/* The bands of a pixel. */
static const unsigned char *pixel_of(int pixel) { return scene.bytes + (ptrdiff_t)pixel * scene.bands; }

/* Five materials with smooth spectra, mixed smoothly over the image, and noise. */
static void draw_scene(void) {
    enum { MATERIALS = 5 };
    int n = scene.bands, b, k, line, sample;
    double spectra[MATERIALS][MOST_BANDS];
    shs_random random;
    shs_random_seed(&random, 4);
    for (k = 0; k < MATERIALS; k++) {
        double centre = shs_random_uniform(&random), width = 0.1 + 0.3 * shs_random_uniform(&random);
        for (b = 0; b < n; b++) spectra[k][b] = 40 + 170 * exp(-pow(((double)b / n - centre) / width, 2));
    }
    for (line = 0; line < scene.lines; line++)
        for (sample = 0; sample < scene.samples; sample++) {
            size_t pixel = element_at(line, scene.samples, sample);
            double share[MATERIALS], all = 0;
            for (k = 0; k < MATERIALS; k++) {
                share[k] = exp(3 * sin(0.02 * (k + 1) * line + k) * cos(0.03 * (MATERIALS - k) * sample + 2 * k));
                all += share[k];
            }
            for (b = 0; b < n; b++) {
                double value = 3 * shs_random_normal(&random);
                size_t at = values_of(pixel, n) + (size_t)b;
                for (k = 0; k < MATERIALS; k++) value += share[k] / all * spectra[k][b];
                scene.bytes[at] = byte_of(value);
                scene.wide[at] = scene.bytes[at];
                scene.floats[at] = scene.bytes[at];
            }
        }
}

static void keep_worst(double *most, double d) { *most = larger_of(*most, d); }

static shs_cube scene_cube(const void *pixels, shs_type type) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = pixels;
    cube.type = type;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.lines = scene.lines;
    cube.samples = scene.samples;
    cube.bands = scene.bands;
    return cube;
}

/* ---- the covariance, rung by rung -------------------------------------------------------------------------------- */

/* Rung 1. The textbook: first the mean, then one sum over all pixels for each pair of bands. Neighbouring terms of the sum
   are a whole spectrum apart in memory, so each product fetches one or two cache lines. */
static void by_the_book(void *unused) {
    (void)unused;
    shs_moments_naive(scene.bands, scene.pixels, scene.wide, scene.mean, scene.covariance);
}

static shs_wide *sums_of_products(void) {
    static shs_wide P[MOST_BANDS * MOST_BANDS];
    memset(P, 0, sizeof P);
    return P;
}

/* Rung 2. The loops change places: a pixel is taken once, and adds its products to all sums. Its spectrum lies together, the
   sums stay in the cache, and the bytes are widened on the way, so that no copy of eight times their size is needed. */
static void pixel_by_pixel(void *unused) {
    int n = scene.bands, m = scene.pixels, i, j, k;
    shs_wide *P = sums_of_products(), d[MOST_BANDS], mean[MOST_BANDS] = {0};
    (void)unused;
    for (k = 0; k < m; k++)
        for (i = 0; i < n; i++) mean[i] += pixel_of(k)[i];
    for (i = 0; i < n; i++) {
        mean[i] /= (shs_wide)m;
        scene.mean[i] = mean[i];
    }
    for (k = 0; k < m; k++) {
        for (i = 0; i < n; i++) d[i] = pixel_of(k)[i] - mean[i];
        for (j = 0; j < n; j++)
            for (i = 0; i < n; i++) P[i + j * n] += d[i] * d[j];
    }
    for (i = 0; i < n * n; i++) scene.covariance[i] = P[i] / (shs_wide)m;
}

/* What all later rungs end with: mean = shift + S/m, C = P/m - (S/m)(S/m)', and the upper triangle from the lower. */
static void finish(const shs_wide *shift, const shs_wide *S, const shs_wide *P) {
    int n = scene.bands, i, j;
    shs_wide m = (shs_wide)scene.pixels;
    for (i = 0; i < n; i++) scene.mean[i] = shift[i] + S[i] / m;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++)
            scene.covariance[i + j * n] = scene.covariance[j + i * n] = P[i + j * n] / m - S[i] / m * (S[j] / m);
}

/* The first pixel, or the middle of the bytes: any fixed number near the mean will do. */
static void first_pixel(shs_wide *shift) {
    int i;
    for (i = 0; i < scene.bands; i++) shift[i] = scene.bytes[i];
}

/* Rung 3. One pass: a fixed shift takes the mean's place, and the difference is put right at the end. The pixels are needed
   once, so that they may come from a file or a sensor. */
static void one_pass(void *unused) {
    int n = scene.bands, i, j, k;
    shs_wide shift[MOST_BANDS], S[MOST_BANDS] = {0}, *P = sums_of_products(), d[MOST_BANDS];
    (void)unused;
    first_pixel(shift);
    for (k = 0; k < scene.pixels; k++) {
        for (i = 0; i < n; i++) {
            d[i] = pixel_of(k)[i] - shift[i];
            S[i] += d[i];
        }
        for (j = 0; j < n; j++)
            for (i = 0; i < n; i++) P[i + j * n] += d[i] * d[j];
    }
    finish(shift, S, P);
}

/* Rung 4. The covariance is symmetric: of n^2 products n(n+1)/2 are enough. One loop begins elsewhere. */
static void one_triangle(void *unused) {
    int n = scene.bands, i, j, k;
    shs_wide shift[MOST_BANDS], S[MOST_BANDS] = {0}, *P = sums_of_products(), d[MOST_BANDS];
    (void)unused;
    first_pixel(shift);
    for (k = 0; k < scene.pixels; k++) {
        for (i = 0; i < n; i++) {
            d[i] = pixel_of(k)[i] - shift[i];
            S[i] += d[i];
        }
        for (j = 0; j < n; j++)
            for (i = j; i < n; i++) P[i + j * n] += d[i] * d[j];
    }
    finish(shift, S, P);
}

/* A panel of shifted pixels as floats, n x count, and their sums. */
static void read_panel(int first, int count, const shs_wide *shift, shs_real *X, shs_wide *S) {
    int n = scene.bands, i, k;
    const unsigned char *x = pixel_of(first);
    shs_real origin[MOST_BANDS], sum[MOST_BANDS] = {0}; /* of whole numbers, and few of them: exact */
    for (i = 0; i < n; i++) origin[i] = (shs_real)shift[i];
    for (k = 0; k < count; k++) {
        for (i = 0; i < n; i++) {
            X[i] = x[i] - origin[i];
            sum[i] += X[i];
        }
        x += n;
        X += n;
    }
    for (i = 0; i < n; i++) S[i] += sum[i];
}

#if defined(__GNUC__)
/* Rung 5. In float a vector holds twice as many numbers. Its sums lose digits as they grow, so a panel of 256 pixels is summed
   in float, and the panels' sums in double. Four pixels are taken at a time: a sum is then loaded and stored once for four
   products. n is a multiple of 8, as the number of bands is here. */
typedef shs_real lanes __attribute__((vector_size(8 * sizeof(shs_real)), aligned(sizeof(shs_real)), may_alias));
static inline __attribute__((always_inline)) void multiply_panel(int n, int count, const shs_real *X, shs_real *P) {
    int i, j, k;
    for (k = 0; k < count; k += 4) {
        for (j = 0; j < n; j++) {
            shs_real a = X[j], b = X[j + n], c = X[j + 2 * n], d = X[j + 3 * n];
            for (i = j & ~7; i < n; i += 8) {
                const shs_real *x = X + i;
                *(lanes *)(P + i + j * n) += a * *(const lanes *)x + b * *(const lanes *)(x + n) +
                                             c * *(const lanes *)(x + 2 * n) + d * *(const lanes *)(x + 3 * n);
            }
        }
        X += 4 * n;
    }
}
typedef void (*panel_fn)(int n, int count, const shs_real *X, shs_real *P);
static void panel_plain(int n, int count, const shs_real *X, shs_real *P) { multiply_panel(n, count, X, P); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void panel_avx2(int n, int count, const shs_real *X, shs_real *P) {
    multiply_panel(n, count, X, P);
}
#endif

static void float_panels(void *unused) {
    static shs_real X[MOST_BANDS * PANEL], small[MOST_BANDS * MOST_BANDS];
    int n = scene.bands, first, i;
    shs_wide shift[MOST_BANDS], S[MOST_BANDS] = {0}, *P = sums_of_products();
    panel_fn multiply = panel_plain;
    (void)unused;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) multiply = panel_avx2;
#endif
    first_pixel(shift);
    for (first = 0; first < scene.pixels; first += PANEL) {
        read_panel(first, PANEL, shift, X, S);
        memset(small, 0, sizeof small);
        multiply(n, PANEL, X, small);
        for (i = 0; i < n * n; i++) P[i] += small[i];
    }
    finish(shift, S, P);
}
#endif

/* Rung 6. The product of a panel with itself by shs_syrk, which is lesson 1's product for one triangle: its sums stay in
   registers until the panel ends. */
static void syrk_of_panels(void *context) {
    static shs_real X[MOST_BANDS * PANEL], small[MOST_BANDS * MOST_BANDS];
    int n = scene.bands, first, i, j;
    shs_wide shift[MOST_BANDS], S[MOST_BANDS] = {0}, *P = sums_of_products();
    first_pixel(shift);
    for (first = 0; first < scene.pixels; first += PANEL) {
        read_panel(first, PANEL, shift, X, S);
        check(shs_syrk(context, SHS_UPLO_LOWER, SHS_TRANS_NO, n, PANEL, 1, X, n, 0, small, n), "syrk");
        for (j = 0; j < n; j++)
            for (i = j; i < n; i++) P[i + j * n] += small[i + j * n];
    }
    finish(shift, S, P);
}

#ifdef BYTES_BY_HAND
/* Rung 7. Bytes stay bytes: one instruction takes 64 of them with 64 others, and adds products by fours to 16 sums of 32 bits.
   It wants one side signed and the other not, so the columns are shifted by 128 and the rows are not:

       sum (x - 128)(y - 128) = sum x (y - 128) - 128 sum (y - 128)

   Four pixels of a band lie together. 16 x 12 sums stay in registers: an instruction takes 16 bands with one band's four
   pixels. Whole numbers have no rounding. */
enum { COLUMNS = 12 };
__attribute__((target("avx512f,avx512bw,avx512vnni"))) static void dots_of_bytes(int fours, int n, const unsigned char *rows,
                                                                                 const signed char *columns, int32_t *sums) {
    __m512i c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11;
    int k;
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CLEAR(j) c##j = _mm512_setzero_si512();
#define DOT(j)                                                                                                                 \
    memcpy(&four, columns + 4 * j, 4);                                                                                         \
    c##j = _mm512_dpbusd_epi32(c##j, x, _mm512_set1_epi32(four));
#define STORE(j) _mm512_storeu_si512(sums + 16 * j, c##j);
    EACH(CLEAR)
    for (k = 0; k < fours; k++) {
        __m512i x = _mm512_loadu_si512(rows);
        int32_t four;
        EACH(DOT)
        rows += 4 * n;
        columns += 4 * n;
    }
    EACH(STORE)
}

static void bytes_by_hand(void *unused) {
    static unsigned char rows[(MOST_BANDS + 16) * PANEL];
    static signed char columns[(MOST_BANDS + 16) * PANEL];
    int n = scene.bands, room = n + 16, first, i, j, k; /* room: the last columns of a tile may lie beyond n */
    shs_wide shift[MOST_BANDS], S[MOST_BANDS] = {0}, *P = sums_of_products();
    (void)unused;
    for (i = 0; i < n; i++) shift[i] = 128;
    for (first = 0; first < scene.pixels; first += PANEL) {
        const unsigned char *x = pixel_of(first);
        int32_t s[MOST_BANDS] = {0}, tile[16 * COLUMNS];
        for (k = 0; k < PANEL; k++) {
            for (i = 0; i < n; i++) {
                int at = k / 4 * 4 * room + 4 * i + k % 4;
                rows[at] = x[i];
                columns[at] = (signed char)(x[i] - 128);
                s[i] += columns[at];
            }
            x += n;
        }
        for (i = 0; i < n; i++) S[i] += s[i];
        for (j = 0; j < n; j += COLUMNS)
            for (i = j / 16 * 16; i < n; i += 16) { /* tiles above the diagonal are left out */
                int a, b;
                dots_of_bytes(PANEL / 4, room, rows + 4 * i, columns + 4 * j, tile);
                for (b = 0; b < COLUMNS && j + b < n; b++)
                    for (a = 0; a < 16 && i + a < n; a++)
                        P[i + a + (j + b) * n] += (shs_wide)(tile[a + 16 * b] - 128 * s[j + b]);
            }
    }
    finish(shift, S, P);
}
#endif

/* The header's rungs: the same sums, by one call. */
typedef struct moments_job {
    shs_context ctx;
    shs_cube cube;
    shs_precision precise;
} moments_job;

static void by_header(void *argument) {
    moments_job *job = (moments_job *)argument;
    shs_moments moments;
    check(shs_moments_create(&job->ctx, scene.bands, &moments), "moments");
    check(shs_moments_update(&job->ctx, &job->cube, job->precise, &moments), "moments");
    check(shs_moments_finish(&moments, SHS_DIVISOR_N, scene.mean, scene.covariance, scene.bands), "moments");
    shs_moments_free(&job->ctx, &moments);
}

/* Parts of the cube on threads, each with sums of its own, merged in their order: the same bits for any number of threads. */
static void parts_merged(void *argument) {
    enum { PARTS = 8 };
    const moments_job *job = (const moments_job *)argument;
    shs_context one = SHS_ZERO;
    shs_moments part[PARTS];
    int k;
    one.threads = 1;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(job->ctx.threads)
#endif
    for (k = 0; k < PARTS; k++) {
        shs_cube cube = job->cube;
        int line = scene.lines / PARTS * k;
        size_t before = values_of(elements(line, scene.samples), scene.bands);
        if (k < PARTS - 1) cube.lines = scene.lines / PARTS;
        else cube.lines = scene.lines - line;
        cube.pixels = (const unsigned char *)job->cube.pixels + before;
        check(shs_moments_create(&one, scene.bands, &part[k]), "a part");
        check(shs_moments_update(&one, &cube, job->precise, &part[k]), "a part");
    }
    for (k = 1; k < PARTS; k++) check(shs_moments_merge(&part[0], &part[k]), "merging");
    check(shs_moments_finish(&part[0], SHS_DIVISOR_N, scene.mean, scene.covariance, scene.bands), "moments");
    for (k = 0; k < PARTS; k++) shs_moments_free(&one, &part[k]);
}

/* A stream: the library asks for some lines at a time, here from memory, elsewhere from a file or a sensor. */
static int read_lines(void *user, int first, int lines, void *block) {
    size_t line = elements(scene.samples, scene.bands);
    memcpy(block, (const unsigned char *)user + (size_t)first * line, (size_t)lines * line);
    return 0;
}

/* Times one rung, and compares the covariance with the result of the previous rung. */
static void covariance_rung(const char *name, work_fn work, void *argument, double allowed) {
    size_t count = elements(scene.bands, scene.bands), i;
    double seconds = median_seconds(work, argument), most = 0, size = 0;
    rung(name, scene.pixels, seconds);
    for (i = 0; i < count; i++) {
        keep_worst(&most, fabs(scene.covariance[i] - scene.before[i]));
        size = fmax(size, fabs(scene.before[i]));
    }
    if (allowed >= 0) agrees("as the rung before", most / size, allowed);
    memcpy(scene.before, scene.covariance, count * sizeof *scene.before);
}

static void climb_covariance(void) {
    int n = scene.bands;
    /* A sum of m numbers is off by at most m roundings; the header adds 768 pixels in float, before it goes on in double. */
    double roundings = in_wide(scene.pixels * ldexp(1, -53), scene.pixels * ldexp(1, -24)), panels = ldexp(768, -24);
    double of_bytes = panels;
    moments_job job;
    int by_hand = 0;
    memset(&job, 0, sizeof job);
    job.ctx.threads = 1;
    ladder_begin("covariance", text_of("covariance of %d x %d pixels of %d bytes", scene.samples, scene.lines, n),
                 "million pixels a second", 1e6, peak_of_core(0) / (n * (n + 1.0)));
    covariance_rung("two passes by the book", by_the_book, NULL, -1);
    covariance_rung("two passes pixel by pixel", pixel_by_pixel, NULL, roundings);
    covariance_rung("one pass with a shift", one_pass, NULL, roundings);
    covariance_rung("one triangle", one_triangle, NULL, roundings);
#if defined(__GNUC__)
    covariance_rung("panels in float; four pixels at a time", float_panels, NULL, panels);
#endif
    covariance_rung("panels by shs_syrk", syrk_of_panels, &job.ctx, panels);
    job.cube = scene_cube(scene.floats, SHS_TYPE_F32);
    covariance_rung("header: pixels as float; in double", by_header, &job, panels);
    job.precise = SHS_PRECISION_NEVER;
    covariance_rung("header: pixels as float; in float", by_header, &job, panels);
    job.precise = SHS_PRECISION_AUTO;
    job.cube = scene_cube(scene.bytes, SHS_TYPE_U8);
#ifdef BYTES_BY_HAND
    by_hand = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
    if (by_hand) covariance_rung("bytes by hand", bytes_by_hand, NULL, panels);
    if (!by_hand) printf("  (bytes by hand: this processor lacks the instruction)\n");
#endif
    if (by_hand) of_bytes = roundings;
    covariance_rung("header: bytes", by_header, &job, of_bytes);
    job.ctx.threads = course_threads();
    ladder_threads(job.ctx.threads, peak_of_threads(job.ctx.threads) / (n * (n + 1.0)));
    covariance_rung(text_of("eight parts on %d threads; merged", job.ctx.threads), parts_merged, &job, roundings);
    covariance_rung(text_of("header: bytes; %d threads", job.ctx.threads), by_header, &job, roundings);
    job.cube.pixels = NULL;
    job.cube.read_fn = read_lines;
    job.cube.read_user = scene.bytes;
    job.cube.block_lines = 32;
    covariance_rung(text_of("header: a stream; %d threads", job.ctx.threads), by_header, &job, 0);
    ladder_end();
    job.ctx.threads = 1;
    printf("    the cube has %.1f MB, its stream needed %.1f MB on one thread\n", 1e-6 * scene.pixels * n,
           1e-6 * (double)shs_moments_update_workspace(&job.ctx, &job.cube, SHS_PRECISION_AUTO));
}

/* ---- what a large mean costs ------------------------------------------------------------------------------------- */

enum { WAY_PLAIN, WAY_SHIFTED, WAY_TWO_PASSES, WAY_MERGED, WAY_HEADER, WAYS };
static const char *const way_names[WAYS + 1] = {"one pass in float; no shift",
                                                "one pass in float; shifted by the first pixel",
                                                "two passes in float",
                                                "blocks of 64 in float; merged",
                                                "the header",
                                                "2^-24 (1 + (mean/spread)^2)"};

/* The variance of m numbers, all in float. volatile: each step is rounded, whatever the compiler would rather do. */
static double float_variance(int way, int m, const float *x) {
    const float count = (float)m;
    volatile float S = 0, P = 0, shift = 0;
    int i, k;
    if (way == WAY_SHIFTED) shift = x[0];
    if (way == WAY_TWO_PASSES) {
        for (i = 0; i < m; i++) S = S + x[i];
        shift = S / count;
        S = 0;
    }
    if (way != WAY_MERGED) {
        for (i = 0; i < m; i++) {
            volatile float d = x[i] - shift;
            S = S + d;
            P = P + d * d;
        }
        return P / count - S / count * (S / count);
    }
    for (k = 0; k < m; k += 64) { /* S becomes the mean, P the sum of squared deviations of what was seen */
        const float seen = (float)k, all = (float)(k + 64);
        volatile float mean = 0, squares = 0, apart;
        for (i = k; i < k + 64; i++) mean = mean + (x[i] - x[k]);
        mean = x[k] + mean / 64;
        for (i = k; i < k + 64; i++) squares = squares + (x[i] - mean) * (x[i] - mean);
        apart = mean - S;
        if (k) {
            P = P + squares + apart * apart * (seen * 64 / all);
            S = S + apart * (64 / all);
        } else {
            P = squares;
            S = mean;
        }
    }
    return P / count;
}

static void draw_error_of_sums(void) {
    enum { M = 4096, BANDS = 16, STEPS = 13 };
    float *X = ALLOCATE(float, M *BANDS), band[M];
    double errors[STEPS][WAYS + 1], ratios[STEPS];
    int step, way, b, k;
    shs_random random;
    shs_random_seed(&random, 44);
    curve_begin("error", text_of("relative error of the variance of %d pixels (root mean square of %d bands)", M, BANDS),
                "mean over spread", "relative error", "xy");
    for (step = 0; step < STEPS; step++) {
        double ratio = ratios[step] = pow(10, 0.5 * step), *sum = errors[step];
        shs_cube cube = SHS_ZERO;
        shs_moments moments;
        shs_wide mean[BANDS], C[BANDS * BANDS];
        for (k = 0; k < M * BANDS; k++) X[k] = (float)(ratio + shs_random_normal(&random));
        cube.pixels = X;
        cube.type = SHS_TYPE_F32;
        cube.interleave = SHS_INTERLEAVE_BIP;
        cube.lines = 1;
        cube.samples = M;
        cube.bands = BANDS;
        check(shs_moments_create(NULL, BANDS, &moments), "moments");
        check(shs_moments_update(NULL, &cube, SHS_PRECISION_NEVER, &moments), "moments");
        check(shs_moments_finish(&moments, SHS_DIVISOR_N, mean, C, BANDS), "moments");
        shs_moments_free(NULL, &moments);
        memset(sum, 0, sizeof errors[step]);
        for (b = 0; b < BANDS; b++) {
            double true_mean = 0, variance = 0;
            for (k = 0; k < M; k++) true_mean += (double)(band[k] = X[k * BANDS + b]) / M;
            for (k = 0; k < M; k++) variance += (band[k] - true_mean) * (band[k] - true_mean) / M;
            for (way = 0; way < WAYS; way++) {
                double found = way == WAY_HEADER ? (double)C[b + b * BANDS] : float_variance(way, M, band);
                sum[way] += pow(found / variance - 1, 2) / BANDS;
            }
        }
        for (way = 0; way < WAYS; way++) sum[way] = sqrt(sum[way]);
        sum[WAYS] = ldexp(1 + ratio * ratio, -24);
        if (step == 6 || step == STEPS - 1) {
            printf("\nmean / spread %g:\n", ratio);
            for (way = 0; way < WAYS; way++) printf("  %-46s relative error %.1e\n", way_names[way], sum[way]);
            agrees("the header's does not grow with the mean", sum[WAY_HEADER], 1e-5);
        }
        if (step == 6) agrees("a shift takes away most of the error", sum[WAY_SHIFTED] / sum[WAY_PLAIN], 0.01);
    }
    for (way = 0; way <= WAYS; way++) /* no error at all is drawn at 1e-9 */
        for (step = 0; step < STEPS; step++) curve_point(way_names[way], ratios[step], fmax(errors[step][way], 1e-9));
    curve_end();
    free(X);
}

/* ---- eigenvectors ------------------------------------------------------------------------------------------------ */

typedef struct eigen_job {
    int k; /* 0: by Jacobi rotations */
    shs_wide *values, *vectors, *copy;
} eigen_job;

static void eigenvectors(void *argument) {
    eigen_job *job = (eigen_job *)argument;
    int n = scene.bands;
    if (job->k) check(shs_eigh(NULL, n, scene.covariance, n, job->k, job->values, job->vectors, n), "eigenvectors");
    else {
        memcpy(job->copy, scene.covariance, elements(n, n) * sizeof *job->copy);
        shs_eigh_naive(n, job->copy, job->values, job->vectors);
    }
}

static void climb_eigenvectors(int components) {
    int n = scene.bands, i;
    eigen_job job;
    shs_wide *first = ALLOCATE(shs_wide, n);
    double seconds, most = 0;
    job.values = ALLOCATE(shs_wide, n);
    job.vectors = ALLOCATE(shs_wide, n * n);
    job.copy = ALLOCATE(shs_wide, n * n);
    ladder_begin("eigenvectors", text_of("eigenvectors of a covariance of %d bands", n), "matrices a second", 1, 0);
    job.k = 0;
    seconds = median_seconds(eigenvectors, &job);
    rung("Jacobi rotations: shs_eigh_naive", 1, seconds);
    memcpy(first, job.values, (size_t)n * sizeof *first);
    job.k = n;
    seconds = median_seconds(eigenvectors, &job);
    rung("all by shs_eigh", 1, seconds);
    for (i = 0; i < n; i++) keep_worst(&most, fabs(job.values[i] - first[i]));
    agrees("eigenvalues as by Jacobi's", most / first[0], in_wide(1e-12, 1e-4));
    job.k = components;
    seconds = median_seconds(eigenvectors, &job);
    rung(text_of("the first %d by shs_eigh", components), 1, seconds);
    most = 0;
    for (i = 0; i < components; i++) keep_worst(&most, fabs(job.values[i] - first[i]));
    agrees("their eigenvalues too", most / first[0], in_wide(1e-12, 1e-4));
    ladder_end();
    free(first);
    free(job.values);
    free(job.vectors);
    free(job.copy);
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef struct score_job {
    shs_context ctx;
    shs_pca pca;
    shs_cube cube;
    float *scores; /* components x pixels */
} score_job;

/* z_k = v_k'(x - mean) as it stands there. */
static void scores_by_the_book(void *argument) {
    score_job *job = (score_job *)argument;
    int n = scene.bands, c = job->pca.components, i, k, pixel;
    for (pixel = 0; pixel < scene.pixels; pixel++)
        for (k = 0; k < c; k++) {
            const unsigned char *x = pixel_of(pixel);
            shs_wide z = 0;
            for (i = 0; i < n; i++) z += job->pca.vectors[i + k * n] * (x[i] - job->pca.mean[i]);
            job->scores[element_at(pixel, c, k)] = (float)z;
        }
}

/* V'x - V'mean: a product of matrices for a panel, and one subtraction for each score in place of one for each value. */
static void scores_by_panels(void *argument) {
    static shs_real X[MOST_BANDS * PANEL], V[MOST_BANDS * 16], Z[16 * PANEL];
    score_job *job = (score_job *)argument;
    int n = scene.bands, c = job->pca.components, first, i, k;
    shs_wide offset[16] = {0};
    for (k = 0; k < c; k++)
        for (i = 0; i < n; i++) {
            V[i + k * n] = (shs_real)job->pca.vectors[i + k * n];
            offset[k] += job->pca.vectors[i + k * n] * job->pca.mean[i];
        }
    for (first = 0; first < scene.pixels; first += PANEL) {
        const unsigned char *x = pixel_of(first);
        float *z = job->scores + elements(first, c);
        for (i = 0; i < n * PANEL; i++) X[i] = x[i];
        check(shs_gemm(&job->ctx, SHS_TRANS_YES, SHS_TRANS_NO, c, PANEL, n, 1, V, n, X, n, 0, Z, c), "gemm");
        for (i = 0; i < PANEL; i++)
            for (k = 0; k < c; k++) z[k + i * c] = (float)(Z[k + i * c] - offset[k]);
    }
}

static void scores_by_header(void *argument) {
    score_job *job = (score_job *)argument;
    shs_sink sink = SHS_ZERO;
    sink.pixels = job->scores;
    sink.type = SHS_TYPE_F32;
    sink.interleave = SHS_INTERLEAVE_BIP;
    check(shs_pca_transform(&job->ctx, &job->pca, &job->cube, &sink), "scores");
}

static void score_rung(const char *name, work_fn work, score_job *job, float *before, double allowed) {
    size_t count = elements(scene.pixels, job->pca.components), i;
    double seconds = median_seconds(work, job), most = 0, size = 0;
    rung(name, scene.pixels, seconds);
    for (i = 0; i < count; i++) {
        keep_worst(&most, fabs(job->scores[i] - (double)before[i]));
        size = fmax(size, fabs(before[i]));
        before[i] = job->scores[i];
    }
    if (allowed >= 0) agrees("as the rung before", most / size, allowed);
}

static void climb_scores(int components) {
    score_job job;
    shs_pca_options options = SHS_ZERO;
    shs_moments moments;
    shs_cube cube;
    size_t count = elements(scene.pixels, components);
    float *before = ALLOCATE(float, count);
    shs_wide mean[16], C[16 * 16];
    double apart = 0;
    int i, k;
    memset(&job, 0, sizeof job);
    job.ctx.threads = 1;
    job.cube = scene_cube(scene.bytes, SHS_TYPE_U8);
    job.scores = ALLOCATE(float, count);
    options.components = components;
    check(shs_pca_fit(&job.ctx, &job.cube, &options, &job.pca), "components");
    ladder_begin("scores", text_of("%d scores of each pixel of %d bytes", components, scene.bands), "million pixels a second",
                 1e6, peak_of_core(0) / (2.0 * components * scene.bands));
    score_rung("by the book", scores_by_the_book, &job, before, -1);
    score_rung("panels by shs_gemm", scores_by_panels, &job, before, 1e-5);
    score_rung("header: in double", scores_by_header, &job, before, 1e-5);
    job.pca.precise = SHS_PRECISION_NEVER;
    score_rung("header: in float", scores_by_header, &job, before, 1e-5);
    job.ctx.threads = course_threads();
    ladder_threads(job.ctx.threads, peak_of_threads(job.ctx.threads) / (2.0 * components * scene.bands));
    score_rung(text_of("header: in float; %d threads", job.ctx.threads), scores_by_header, &job, before, 0);
    ladder_end();

    /* Checks the components of all pixels: mean 0, the eigenvalues as variances, and no covariance. */
    cube = scene_cube(job.scores, SHS_TYPE_F32);
    cube.bands = components;
    check(shs_moments_create(NULL, components, &moments), "scores");
    check(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &moments), "scores");
    check(shs_moments_finish(&moments, SHS_DIVISOR_N, mean, C, components), "scores");
    shs_moments_free(NULL, &moments);
    for (i = 0; i < components; i++)
        for (k = 0; k < components; k++) {
            if (i != k) keep_worst(&apart, fabs(C[i + k * components]));
            else keep_worst(&apart, fabs(C[i + k * components] - job.pca.eigenvalues[i]));
        }
    agrees("covariance of the scores: the eigenvalues on the diagonal", apart / job.pca.eigenvalues[0], 1e-5);
    shs_pca_free(NULL, &job.pca);
    free(job.scores);
    free(before);
}

/* ---- how many components hold the scene -------------------------------------------------------------------------- */

/* One number of an ENVI header; 0 where there is none. */
static int header_number(const char *text, const char *key) {
    const char *at = strstr(text, key);
    int value = 0;
    if (!at || !(at = strchr(at, '=')) || sscanf(at + 1, "%d", &value) != 1) return 0;
    return value;
}

/* A real cube of 16-bit pixels where the data are there; 0 where they are not. */
static int read_cube(const char *name, shs_cube *cube) {
    const char *path = text_of("%s/cubes/%s.hdr", course.data, name);
    FILE *file = fopen(path, "rb");
    char text[4000] = "";
    size_t size, want;
    const uint16_t one = 1;
    if (!file) return 0;
    size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    memset(cube, 0, sizeof *cube);
    cube->samples = header_number(text, "samples");
    cube->lines = header_number(text, "lines ");
    cube->bands = header_number(text, "bands ");
    if (header_number(text, "data type") == 12) cube->type = SHS_TYPE_U16;
    else cube->type = SHS_TYPE_I16;
    cube->interleave = SHS_INTERLEAVE_BSQ;
    if (strstr(text, "= bil")) cube->interleave = SHS_INTERLEAVE_BIL;
    if (strstr(text, "= bip")) cube->interleave = SHS_INTERLEAVE_BIP;
    cube->swap_bytes = *(const unsigned char *)&one != 1; /* the files have the low byte first */
    want = values_of(elements(cube->samples, cube->lines), cube->bands) * sizeof(uint16_t);
    path = text_of("%s/cubes/%s.img", course.data, name);
    cube->pixels = read_file(path, (size_t)1 << 28, &size);
    if (!want || size != want) fail(EXIT_ERROR, "%s: %zu bytes, not %zu", path, size, want);
    return 1;
}

static void draw_shares_of(const char *name, const shs_cube *cube) {
    shs_pca pca;
    double left;
    int k;
    check(shs_pca_fit(NULL, cube, NULL, &pca), name);
    left = pca.total_variance;
    for (k = 0; k < pca.bands && k < 40; k++) {
        left -= pca.eigenvalues[k];
        curve_point(name, k + 1, fmax(left / pca.total_variance, 1e-9));
        if (k == 0 || k == 3 || k == 9)
            printf("  %-16s %2d of %d components leave %.3g %% of the variance\n", name, k + 1, pca.bands,
                   100 * left / pca.total_variance);
    }
    shs_pca_free(NULL, &pca);
}

static void draw_shares(void) {
    shs_cube cube = scene_cube(scene.bytes, SHS_TYPE_U8);
    const char *names[] = {"jasper_bil", "sandiego_bip"};
    size_t i;
    printf("\n");
    curve_begin("shares", "variance that the first components leave", "components", "share of the variance", "y");
    draw_shares_of("synthetic", &cube);
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (read_cube(names[i], &cube)) {
            draw_shares_of(names[i], &cube);
            free((void *)(uintptr_t)cube.pixels);
        }
    curve_end();
}

int main(int argc, char **argv) {
    const int components = 10;
    size_t n, m;
    course_begin(argc, argv, "4_components", "principal components, from two passes to integer products");
    if (course.quick) scene.bands = 48;
    else scene.bands = 112;
    scene.samples = 256;
    if (course.quick) scene.lines = 16;
    else scene.lines = 128;
    scene.pixels = scene.samples * scene.lines;
    n = (size_t)scene.bands;
    m = (size_t)scene.pixels;
    scene.bytes = ALLOCATE(unsigned char, n *m);
    scene.wide = ALLOCATE(shs_wide, n * m);
    scene.floats = ALLOCATE(float, n *m);
    scene.mean = ALLOCATE(shs_wide, n);
    scene.covariance = ALLOCATE(shs_wide, n * n);
    scene.before = ALLOCATE(shs_wide, n * n);
    draw_scene();
    climb_covariance();
    draw_error_of_sums();
    climb_eigenvectors(components);
    climb_scores(components);
    draw_shares();
    free(scene.bytes);
    free(scene.wide);
    free(scene.floats);
    free(scene.mean);
    free(scene.covariance);
    free(scene.before);
    return course_end();
}
