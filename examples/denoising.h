/* denoising.h - the method of denoise.c as functions for several programs, and the drawn test picture. */
#ifndef EXAMPLE_DENOISING
#define EXAMPLE_DENOISING

enum { DENOISE_PATCH = 8, DENOISE_BATCH = 16384 };

typedef struct denoising {
    double sigma;
    int atoms, iterations, parallel_atoms;
    uint64_t seed;
    int patches;  /* to learn from */
    double gamma; /* in colour: how much more the channels' means count; 0: they are left out of patches, as in grey pictures */
} denoising;

/* ---- the method -------------------------------------------------------------------------------------------------- */

/* Patches in colour as Mairal, Elad and Sapiro (2008) have them: channels' means stay in, and count 1 + gamma times in each
   inner product, so that colours are met before details. Plain OMP and AK-SVD do that on patches whose means are sqrt(1 + gamma)
   times as large. Where the means are left out gamma changes nothing, since all else has its plain inner product. */
static int denoise_in_colour(const denoising *how, int channels) { return channels > 1 && how->gamma > 0; }

/* Makes each channel's mean `by` times as large, in count patches of p values. */
static void denoise_scale_means(int p, int channels, size_t count, double by, shs_real *Y) {
    const int area = p / channels;
    const size_t all = values_of(count, channels);
    size_t i;
    for (i = 0; i < all; i++) {
        shs_real *y = Y + values_of(i, area), sum = 0;
        int k;
        for (k = 0; k < area; k++) sum += y[k];
        sum *= (shs_real)((by - 1) / area);
        for (k = 0; k < area; k++) y[k] += sum;
    }
}

/* A patch of pure noise mostly stays below the tolerance and gets no atom. How far its length strays from sigma sqrt(p)
   does not depend on p, so C nears 1 as patches get longer: 1.15 for 64 values, 1.09 for the 192 of a coloured patch.
   More than p/2 atoms are noise as well in photographs with a sigma of 1 and more (house, barbara, boat, peppers), and devices
   code 32 atoms fastest. With less noise, and in random texture with any, p/2 atoms may leave more than the noise. So grey
   pictures may take all p below 2, where this costs photographs 0.01 dB at most; in colour it would take many times as long.
   In colour the noise of each mean counts 1 + gamma times. */
static shs_omp_options denoise_coding(const denoising *how, int p, int channels) {
    shs_omp_options coding = SHS_ZERO;
    const double gain = 1 + 0.15 * 8 / sqrt(p);
    double more = 0;
    if (denoise_in_colour(how, channels)) more = channels * how->gamma;
    coding.tolerance = (shs_real)(gain * how->sigma * sqrt(p + more));
    coding.sparsity = p / 2;
    if (channels == 1 && how->sigma < 2) coding.sparsity = p;
    return coding;
}

/* The picture's contrast without its noise: at least a tenth of the noise, of which an even picture's estimate consists. */
static double denoise_contrast(const picture *noisy, double sigma) {
    const double all = picture_contrast(noisy), rest = all * all - sigma * sigma;
    return sqrt(fmax(rest, sigma * sigma / 100));
}

/* The weight of a noisy pixel in the average with the patches over it: 0.45 contrast/sigma, as in Python, which neither trims
   the contrast nor keeps it from 0; but no more than Elad and Aharon's 30/sigma. That decides from a contrast of 67 on; house,
   barbara, boat and peppers have 46 to 55. In a dark picture, or in 12 bits of a file of 16, 30 would leave most noise. */
static shs_real denoise_own_weight(const picture *noisy, double sigma) {
    return (shs_real)(fmin(30, 0.45 * denoise_contrast(noisy, sigma)) / sigma);
}

/* Learns how->atoms atoms of *p values from random patches, with hidden pixels only where there are too few without; so these
   must hold what visible ones might (picture_fill_hidden). The caller frees the atoms. report may be NULL. */
static shs_real *denoise_learn(const shs_context *ctx, const picture *noisy, const denoising *how, int *p,
                               shs_ksvd_report *report) {
    shs_patches set = SHS_ZERO;
    shown_patches shown;
    shs_ksvd_options learning = SHS_ZERO;
    signals_work work = SHS_ZERO;
    shs_real *D, *Y;
    set.width = set.height = DENOISE_PATCH;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = (size_t)how->patches;
    set.seed = how->seed;
    set.keep_mean = denoise_in_colour(how, noisy->channels);
    shown = picture_shown_patches(noisy, &set, p);
    Y = ALLOCATE(shs_real, values_of(shown.all, *p));
    D = ALLOCATE(shs_real, elements(how->atoms, *p));
    check(picture_take_patches(ctx, noisy, &shown, 0, shown.all, *p, Y), "taking the patches");
    free(shown.which);
    if (set.keep_mean) denoise_scale_means(*p, noisy->channels, shown.all, sqrt(1 + how->gamma), Y);
    learning.iterations = how->iterations;
    learning.parallel_atoms = how->parallel_atoms;
    learning.seed = how->seed;
    learning.start = SHS_START_DCT;
    learning.patch_width = learning.patch_height = DENOISE_PATCH;
    learning.patch_channels = noisy->channels;
    learning.coding = denoise_coding(how, *p, noisy->channels);
    work.p = *p;
    work.n = how->atoms;
    work.m = shown.all;
    work.Y = Y;
    work.D = D;
    work.learning = &learning;
    work.report = report;
    check(learn_on_devices(ctx, &work), "learning the dictionary");
    free(Y);
    return D;
}

/* What one rank adds up: its patches, put back. */
typedef struct denoise_part {
    shs_real *Y, *means, *sum, *weight;
    shs_codes codes;
    size_t nonzeros;
} denoise_part;

typedef struct denoise_work {
    const shs_image *image;
    const denoising *how;
    shs_patches set;
    size_t m; /* patches */
    int p;
    const shs_real *D, *back; /* the dictionary for coding, and the dictionary for reconstruction */
    denoise_part parts[RANKS_MOST];
} denoise_work;

/* Patches first .. first+count-1: coded, and added to sum and weight. */
static shs_status denoise_batch(const shs_context *ctx, const denoise_work *w, size_t first, size_t count, denoise_part *part) {
    const double by = sqrt(1 + w->how->gamma);
    const int p = w->p, n = w->how->atoms;
    const shs_omp_options coding = denoise_coding(w->how, p, w->image->channels);
    shs_omp_report report = SHS_ZERO;
    shs_status status;
    part->codes.m = count;
    status = shs_patches_get(ctx, w->image, &w->set, first, count, part->Y, p, part->means, NULL);
    if (w->set.keep_mean) denoise_scale_means(p, w->image->channels, count, by, part->Y);
    if (status == SHS_OK) status = shs_omp_ex(ctx, p, n, w->D, p, count, part->Y, p, &coding, &part->codes, NULL, &report);
    if (status == SHS_OK) status = shs_codes_synthesize(ctx, p, n, w->back, p, &part->codes, 0, count, part->Y, p);
    if (status == SHS_OK)
        status = shs_patches_put(ctx, w->image, &w->set, first, count, part->Y, p, part->means, NULL, part->sum, part->weight);
    part->nonzeros += report.nonzeros;
    return status;
}

/* All patches of a rank. */
static shs_status denoise_as_rank(const shs_context *ctx, void *arg) {
    denoise_work *w = (denoise_work *)arg;
    denoise_part *part = w->parts;
    shs_context quiet = *ctx; /* there is one bar for all batches */
    shs_status status = SHS_OK;
    size_t first, done, count, m = devices_range(ctx, w->m, &first);
    quiet.progress_fn = NULL;
    if (ctx->ranks > 1) part += ctx->rank;
    for (done = 0; done < m && status == SHS_OK; done += count) {
        count = m - done;
        if (count > DENOISE_BATCH) count = DENOISE_BATCH;
        status = denoise_batch(&quiet, w, first + done, count, part);
        if (ctx->progress_fn) ctx->progress_fn(ctx->progress_user, "coding patches", done + count, m, -1);
    }
    return status;
}

/* Batch by batch, by each rank. Returns the number of atoms. */
static size_t denoise_by_batches(const shs_context *ctx, const shs_image *image, const denoising *how, int p, const shs_real *D,
                                 shs_real own_weight, picture *out) {
    const size_t pixels = elements(image->height, image->width), values = values_of(pixels, image->channels);
    const size_t atoms = elements(how->atoms, p), batch = DENOISE_BATCH;
    const int ranks = number_or(example_ranks.count, 1), in_colour = denoise_in_colour(how, image->channels);
    denoise_work *w = ALLOCATE(denoise_work, 1);
    shs_real *back = ALLOCATE(shs_real, atoms);
    size_t nonzeros = 0, i;
    int r;
    w->image = image;
    w->how = how;
    w->set.width = w->set.height = DENOISE_PATCH;
    w->set.keep_mean = in_colour;
    w->m = shs_patches_count(image, &w->set, NULL);
    w->p = p;
    w->D = D;
    w->back = back;
    memcpy(back, D, atoms * sizeof *back);
    if (in_colour) denoise_scale_means(p, image->channels, (size_t)how->atoms, 1 / sqrt(1 + how->gamma), back);
    for (r = 0; r < ranks; r++) {
        denoise_part *part = w->parts + r;
        part->Y = ALLOCATE(shs_real, values_of(batch, p));
        if (!in_colour) part->means = ALLOCATE(shs_real, values_of(batch, image->channels));
        part->sum = ALLOCATE(shs_real, values);
        part->weight = ALLOCATE(shs_real, pixels);
        check(shs_codes_create(NULL, batch, denoise_coding(how, p, image->channels).sparsity, &part->codes),
              "memory for the codes");
    }
    check(on_devices(ctx, denoise_as_rank, w), "coding the patches");
    for (r = 0; r < ranks; r++) {
        nonzeros += w->parts[r].nonzeros;
        for (i = 0; i < values && r > 0; i++) w->parts[0].sum[i] += w->parts[r].sum[i];
        for (i = 0; i < pixels && r > 0; i++) w->parts[0].weight[i] += w->parts[r].weight[i];
    }
    check(shs_patches_average(ctx, image, own_weight, w->parts[0].sum, w->parts[0].weight, out->pixels),
          "averaging patches");
    for (r = 0; r < ranks; r++) {
        w->parts[r].codes.m = batch;
        shs_codes_free(NULL, &w->parts[r].codes);
        free(w->parts[r].Y);
        free(w->parts[r].means);
        free(w->parts[r].sum);
        free(w->parts[r].weight);
    }
    free(back);
    free(w);
    return nonzeros;
}

/* Over these atoms. Returns how many of them a patch took in the mean. */
static double denoise_with(const shs_context *ctx, const picture *noisy, const denoising *how, int p, const shs_real *D,
                           picture *out) {
    const shs_image image = picture_image(noisy);
    const shs_real own_weight = denoise_own_weight(noisy, how->sigma);
    shs_patches all = SHS_ZERO;
    shs_omp_options coding;
    shs_omp_report report = SHS_ZERO;
    double patches;
    all.width = all.height = DENOISE_PATCH;
    patches = (double)shs_patches_count(&image, &all, NULL);
    if (denoise_in_colour(how, image.channels) || example_ranks.count)
        return (double)denoise_by_batches(ctx, &image, how, p, D, own_weight, out) / patches;
    coding = denoise_coding(how, p, image.channels);
    check(shs_patches_approximate(ctx, &image, &all, how->atoms, D, p, &coding, own_weight, out->pixels, &report),
          "coding the patches");
    return (double)report.nonzeros / patches;
}

/* ---- the noise --------------------------------------------------------------------------------------------------- */

static picture add_noise(const picture *clean, double sigma, uint64_t seed) {
    picture noisy = picture_create(clean->width, clean->height, clean->channels);
    size_t i, count = picture_size(clean);
    shs_random random;
    shs_random_seed(&random, seed);
    for (i = 0; i < count; i++)
        noisy.pixels[i] = clean->pixels[i] + (shs_real)(sigma * shs_random_normal(&random));
    return noisy;
}

/* ---- a test picture ---------------------------------------------------------------------------------------------- */

#define DRAWN_TURN 6.283185307179586

static double drawn_tone(int is_dark, double dark, double bright) {
    if (is_dark) return dark;
    return bright;
}

/* Brightness at a point of the unit square: a shaded wall with a ball, a resolution chart, and below them two folded
   cloths, one striped and one chequered. */
static double drawn_scene(double x, double y) {
    double dx = x - 0.27, dy = y - 0.27, r2 = dx * dx + dy * dy, radius2 = 0.19 * 0.19;
    double hem = 0.58 + 0.04 * sin(7 * x), fold = 0.035 * sin(9 * x + 4 * y);
    if (y > hem && x + 0.25 * (y - hem) < 0.55)
        return 125 + 20 * sin(9 * x + 4 * y) + 55 * sin(DRAWN_TURN * 34 * (0.8 * x + 0.6 * y + fold));
    if (y > hem) {
        double a = sin(DRAWN_TURN * 17 * (x - 0.3 * y + fold)), b = sin(DRAWN_TURN * 17 * (0.3 * x + y - fold));
        double check = -45;
        if (a * b > 0) check = 45;
        return 120 + 15 * sin(6 * x - 3 * y) + check;
    }
    if (r2 < radius2) {
        double dz = sqrt(radius2 - r2), light = (-0.5 * dx - 0.5 * dy + 0.7 * dz) / 0.19;
        return 35 + 205 * fmax(light, 0);
    }
    if (x > 0.56 && x < 0.93) {
        double bars = (x - 0.56) / (0.08 - 0.16 * (x - 0.56)), wedge = 0.32 + 0.16 * (x - 0.56) / 0.37;
        if (y > 0.08 && y < 0.26) return drawn_tone(bars - floor(bars) < 0.5, 25, 230);
        if (y > 0.32 && y < 0.48) return drawn_tone(y > wedge, 60, 200);
    }
    return 165 + 50 * x - 110 * y;
}

static picture drawn_picture(void) {
    enum { SIZE = 256, FINE = 4 }; /* each pixel is the mean of FINE x FINE points */
    const double point = 1.0 / (SIZE * FINE);
    picture a = picture_create(SIZE, SIZE, 1);
    int x, y, i;
    for (y = 0; y < SIZE; y++)
        for (x = 0; x < SIZE; x++) {
            double sum = 0;
            for (i = 0; i < FINE * FINE; i++)
                sum += drawn_scene((x * FINE + i % FINE + 0.5) * point, (y * FINE + i / FINE + 0.5) * point);
            a.pixels[y * SIZE + x] = (shs_real)(sum / (FINE * FINE));
        }
    return a;
}

#endif /* EXAMPLE_DENOISING */
