/* superres.c - makes a grey or colour picture 2, 3 or 4 times as large with a pair of dictionaries (Zeyde, Elad, Protter, "On
   single image scale-up using sparse-representations", 2010):

       1. learn from pictures that are reduced and enlarged again by bicubic interpolation. A patch of the enlarged picture is
          told by its first and second differences, of which the leading principal components are kept: Y. K-SVD learns a
          dictionary D_l and codes X of Y. D_h makes of the same codes what such a patch lacks, H: it is the least-squares
          solution of D_h X = H;
       2. enlarge a picture by bicubic interpolation, code its patches over D_l, add D_h x, and average what overlaps. The
          result, reduced, ought to be the picture that was given: add what it differs by, enlarged, some times.

   Colours are enlarged by bicubic interpolation alone; what is added to them is added to the brightness.

       cc -O3 -fopenmp superres.c -o superres -lm
       ./superres --train a.png b.png --factor 3 --save photos.model
       ./superres small.png large.png --dictionary photos.model
       ./superres small.png large.png a.png b.png --factor 3      (learns and enlarges; a picture may also learn from itself)
       ./superres --reduce whole.png small.png --factor 3         (a trial: with --compare whole.png the error is known)

   A model is a PCA model as shs_model_save writes it, behind it D_l and D_h as arrays of NumPy (.npy), and behind these
   "SUPERRES" and the check sum of the arrays (CRC-32 as in PNG, the highest byte first), which earlier files lack. */
#include "example.h"
#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"
#ifdef EXAMPLE_OPENCL /* for --device */
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"
#endif

enum {
    PATCH = 3,  /* a patch is what PATCH x PATCH pixels of the small picture become */
    MARGIN = 2, /* extends the small picture by this many pixels on each side, so that all pixels lie in equally many patches */
    FEATURES = 4,
    SPARSITY = 3,
    CORRECTIONS = 4,
    POSITIONS = 8, /* each picture is learnt from turned and mirrored */
    BATCH = 8192,  /* patches coded at a time */
    LEAST_FACTOR = 2,
    MOST_FACTOR = 4,
    MOST_PIXELS = 1 << 28
};

typedef struct settings {
    int train, reduce, factor, atoms, iterations, patches, threads;
    uint64_t seed;
    const char *save, *dictionary, *compare, *device;
} settings;

/* ---- larger and smaller pictures --------------------------------------------------------------------------------- */

/* Maps an index outside a line of `count` pixels into the line, by mirroring: 1 0 | 0 1 2 | 2 1. */
static size_t mirrored(int i, int count) {
    i %= 2 * count;
    if (i < 0) i += 2 * count;
    if (i >= count) i = 2 * count - 1 - i;
    return (size_t)i;
}

/* The kernel of bicubic interpolation (Keys 1981, a = -1/2). */
static double cubic(double x) {
    x = fabs(x);
    if (x <= 1) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return 0;
}

/* Makes lines of `made` pixels from lines of `count`. Pixels of both are `step` values apart; lines begin `line` and
   `made_line` values apart. For shorter lines the kernel is stretched by the same factor, which removes too fine details, as
   MATLAB's imresize does. */
static void resize_lines(int lines, const shs_real *in, int count, size_t line, shs_real *out, int made, size_t made_line,
                         size_t step) {
    const double ratio = (double)count / made, stretch = fmax(ratio, 1);
    double weights[4 * MOST_FACTOR + 2], total, sum;
    int i, j, l;
    for (i = 0; i < made; i++) {
        const double centre = (i + 0.5) * ratio - 0.5;
        const int first = (int)ceil(centre - 2 * stretch), taps = (int)floor(centre + 2 * stretch) - first + 1;
        total = 0;
        for (j = 0; j < taps; j++) {
            weights[j] = cubic((centre - (first + j)) / stretch);
            total += weights[j];
        }
        for (l = 0; l < lines; l++) {
            const shs_real *from = in + values_of(line, l);
            sum = 0;
            for (j = 0; j < taps; j++) sum += weights[j] * (double)from[mirrored(first + j, count) * step];
            out[values_of(made_line, l) + values_of(step, i)] = (shs_real)(sum / total);
        }
    }
}

static picture resized(const picture *a, int width, int height) {
    picture wide = picture_create(width, a->height, a->channels);
    picture b = picture_create(width, height, a->channels);
    const int values = width * a->channels; /* of a row of both */
    const size_t channels = (size_t)a->channels, row = (size_t)values, given_row = elements(a->width, a->channels);
    int c;
    for (c = 0; c < a->channels; c++)
        resize_lines(a->height, a->pixels + c, a->width, given_row, wide.pixels + c, width, row, channels);
    resize_lines(values, wide.pixels, a->height, 1, b.pixels, height, 1, row);
    free(wide.pixels);
    return b;
}

static picture enlarged(const picture *a, int factor) { return resized(a, a->width * factor, a->height * factor); }
static picture reduced(const picture *a, int factor) { return resized(a, a->width / factor, a->height / factor); }

/* What begins at (left, top), mirrored where that is outside. */
static picture cut(const picture *a, int left, int top, int width, int height) {
    picture b = picture_create(width, height, a->channels);
    const size_t channels = (size_t)a->channels;
    shs_real *to = b.pixels;
    int x, y;
    for (y = 0; y < height; y++) {
        const shs_real *row = picture_pixel(a, values_of(mirrored(top + y, a->height), a->width));
        for (x = 0; x < width; x++) {
            memcpy(to, row + mirrored(left + x, a->width) * channels, channels * sizeof *to);
            to += channels;
        }
    }
    return b;
}

static picture opacity_of(const picture *a) {
    picture b = SHS_ZERO;
    b.width = a->width;
    b.height = a->height;
    b.channels = 1;
    b.pixels = a->alpha;
    return b;
}

/* As much of it, from the left and the top, as some pixels of a smaller picture are. */
static picture whole_pixels(const picture *a, int factor) {
    const picture opacity = opacity_of(a);
    picture b = cut(a, 0, 0, a->width / factor * factor, a->height / factor * factor);
    b.white = a->white;
    if (a->alpha) b.alpha = cut(&opacity, 0, 0, b.width, b.height).pixels;
    return b;
}

/* One of eight positions, without alpha: mirrored both ways, transposed. */
static picture turned(const picture *a, int position) {
    const int transposed = position & 1, across = position & 2, along = position & 4;
    picture b;
    shs_real *to;
    int x, y;
    if (transposed) b = picture_create(a->height, a->width, 1);
    else b = picture_create(a->width, a->height, 1);
    to = b.pixels;
    for (y = 0; y < b.height; y++)
        for (x = 0; x < b.width; x++) {
            int column = x, row = y;
            if (transposed) {
                column = y;
                row = x;
            }
            if (across) column = a->width - 1 - column;
            if (along) row = a->height - 1 - row;
            *to++ = a->pixels[element_at(row, a->width, column)];
        }
    return b;
}

/* In another size, with alpha: a colour counts as much as its pixel is seen. Of a the hidden pixels are filled, for places
   where next to nothing is seen; they and opaque places need no weights. */
static picture resized_as_seen(const picture *a, int width, int height) {
    const picture opacity = opacity_of(a);
    const size_t channels = (size_t)a->channels;
    picture b = resized(a, width, height), weighed, sums;
    size_t i;
    b.white = a->white;
    if (!a->alpha) return b;
    b.alpha = resized(&opacity, width, height).pixels;
    weighed = cut(a, 0, 0, a->width, a->height);
    for (i = 0; i < picture_size(a); i++) weighed.pixels[i] *= a->alpha[i / channels];
    sums = resized(&weighed, width, height);
    for (i = 0; i < picture_size(&b); i++) {
        const double seen = (double)b.alpha[i / channels];
        if (seen < 0.5 || fabs(seen - 255) < 1e-3) continue;
        b.pixels[i] = (shs_real)limited((double)sums.pixels[i] / seen, 0, 255);
    }
    free(weighed.pixels);
    free(sums.pixels);
    return b;
}

/* Without alpha. */
static picture brightness(const picture *a) {
    picture b = picture_create(a->width, a->height, 1);
    size_t i;
    for (i = 0; i < picture_size(&b); i++) {
        const shs_real *v = picture_pixel(a, i);
        if (a->channels == 1) b.pixels[i] = v[0];
        else b.pixels[i] = (shs_real)(0.299 * (double)v[0] + 0.587 * (double)v[1] + 0.114 * (double)v[2]);
    }
    return b;
}

/* Adds scale times the grey picture b to every channel of a. */
static void add(picture *a, shs_real scale, const picture *b) {
    const size_t channels = (size_t)a->channels;
    size_t i;
    for (i = 0; i < picture_size(a); i++) a->pixels[i] += scale * b->pixels[i / channels];
}

/* The PSNR of the brightness. `border` pixels at each edge do not count. */
static double psnr(const picture *truth, const picture *other, int border) {
    picture a = brightness(truth);
    picture b = brightness(other);
    double found;
    picture_carry(truth, &a);
    picture_carry(other, &b);
    found = picture_psnr_within(&a, &b, border);
    picture_free(&a);
    picture_free(&b);
    return found;
}

/* ---- patches ----------------------------------------------------------------------------------------------------- */

typedef struct dictionaries {
    const char *name;     /* of their file; NULL: learnt here */
    int factor, n, p;     /* n atoms; p values of a patch: (PATCH factor)^2 */
    shs_model model;      /* its PCA: of the FEATURES p features of a patch */
    shs_real *low, *high; /* D_l, components x n, and D_h, p x n */
} dictionaries;

/* First and second differences, across and down, of pixels as far apart as those of the small picture. */
static picture features(const picture *a, int factor) {
    picture made = picture_create(a->width, a->height, FEATURES);
    shs_real *to = made.pixels;
    int x, y;
    for (y = 0; y < a->height; y++)
        for (x = 0; x < a->width; x++) {
            const shs_real *row = a->pixels + elements(y, a->width), *column = a->pixels + x;
            const shs_real left = row[mirrored(x - factor, a->width)], right = row[mirrored(x + factor, a->width)];
            const shs_real above = column[values_of(mirrored(y - factor, a->height), a->width)];
            const shs_real below = column[values_of(mirrored(y + factor, a->height), a->width)];
            to[0] = right - left;
            to[1] = below - above;
            to[2] = (left + right) / 2 - row[x];
            to[3] = (above + below) / 2 - row[x];
            to += FEATURES;
        }
    return made;
}

/* A patch for each PATCH x PATCH pixels of the small picture: what interpolation does to patches elsewhere differs. */
static shs_patches patches_of(int factor) {
    shs_patches set = SHS_ZERO;
    set.width = set.height = PATCH * factor;
    set.step_x = set.step_y = factor;
    set.keep_mean = 1;
    return set;
}

/* The columns of a matrix as pixels. */
static shs_cube columns(shs_real *A, int rows, size_t count) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = A;
    cube.type = SHS_TYPE_REAL;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.samples = 1;
    cube.lines = (int)count;
    cube.bands = rows;
    return cube;
}

/* Y: the components of the features F of m patches. */
static shs_status components(const shs_context *ctx, const shs_pca *pca, shs_real *F, size_t m, shs_real *Y) {
    shs_cube cube = columns(F, pca->bands, m);
    shs_sink sink = SHS_ZERO;
    sink.pixels = Y;
    sink.type = SHS_TYPE_REAL;
    sink.interleave = SHS_INTERLEAVE_BIP;
    return shs_pca_transform(ctx, pca, &cube, &sink);
}

static shs_omp_options coding_options(void) {
    shs_omp_options coding = SHS_ZERO;
    coding.sparsity = SPARSITY;
    return coding;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* Patches for learning, one a column: features, and the details that bicubic interpolation lacks. */
typedef struct samples {
    size_t m;
    shs_real *F, *H;
} samples;

/* Adds so many patches of a picture, at random, of those without hidden pixels. */
static void add_samples(const picture *whole, int factor, size_t most, uint64_t seed, samples *t) {
    picture small = reduced(whole, factor);
    picture lacking = cut(whole, 0, 0, whole->width, whole->height);
    picture rich, large;
    shs_patches set = patches_of(factor);
    shs_image image, residue;
    size_t m, i, taken = 0;
    int p;
    picture_round(&small, small.white);
    large = enlarged(&small, factor);
    rich = features(&large, factor);
    add(&lacking, -1, &large);
    image = picture_image(&rich);
    residue = picture_image(&lacking);
    m = shs_patches_count(&residue, &set, &p);
    for (i = 0; i < m && taken < most; i++) {
        const size_t which = (size_t)shs_random_permuted(i, m, seed);
        if (picture_patch_hidden(whole, &set, which)) continue;
        shs_real *f = t->F + values_of(t->m, p * FEATURES), *h = t->H + values_of(t->m, p);
        check(shs_patches_get(NULL, &image, &set, which, 1, f, p * FEATURES, NULL, NULL), "taking the patches");
        check(shs_patches_get(NULL, &residue, &set, which, 1, h, p, NULL, NULL), "taking the patches");
        t->m++;
        taken++;
    }
    free(small.pixels);
    free(rich.pixels);
    free(large.pixels);
    free(lacking.pixels);
}

/* Takes equally many patches from each picture and position. A small picture leaves the rest of its share to the next
   pictures. */
static void gather(char **names, int count, const settings *s, const dictionaries *d, samples *t) {
    const int side = PATCH * d->factor;
    int i, position;
    t->F = (shs_real *)allocate((size_t)s->patches, values_of(sizeof *t->F, d->p * FEATURES));
    t->H = (shs_real *)allocate((size_t)s->patches, values_of(sizeof *t->H, d->p));
    for (i = 0; i < count; i++) {
        const size_t share = ((size_t)s->patches - t->m) / (size_t)(count - i);
        picture a = picture_read(names[i]), grey, whole, opacity;
        if (a.width < side || a.height < side)
            fail(EXIT_ERROR, "%s: %d x %d pixels are less than one patch of %d x %d", names[i], a.width, a.height, side, side);
        picture_fill_hidden(&a);
        grey = brightness(&a);
        picture_carry(&a, &grey);
        whole = whole_pixels(&grey, d->factor);
        opacity = opacity_of(&whole);
        for (position = 0; position < POSITIONS; position++) {
            picture b = turned(&whole, position);
            if (whole.alpha) b.alpha = turned(&opacity, position).pixels;
            add_samples(&b, d->factor, share / POSITIONS, s->seed + (uint64_t)(i * POSITIONS + position), t);
            picture_free(&b);
        }
        picture_free(&a);
        picture_free(&grey);
        picture_free(&whole);
    }
    if (t->m == 0)
        fail(EXIT_ERROR, "%s: nothing to learn from: a fully transparent pixel is in each patch of %d x %d", names[0], side,
             side);
}

/* D_h = D_h L^-T, or D_h L^-1, where L is a Cholesky factor. */
static void divide_by_factor(const shs_context *ctx, const shs_real *L, shs_trans trans, const dictionaries *d) {
    check(shs_trsm(ctx, SHS_SIDE_RIGHT, SHS_UPLO_LOWER, trans, SHS_DIAG_NON_UNIT, d->p, d->n, 1, L, d->n, d->high, d->p),
          "learning D_h");
}

/* D_h = H X' (X X')^-1. What is added to the diagonal makes X X' regular where an atom is not used. */
static void solve_high(const shs_context *ctx, const samples *t, const shs_codes *codes, dictionaries *d) {
    const size_t n = (size_t)d->n;
    shs_real *A = ALLOCATE(shs_real, n * n);
    double trace = 0;
    size_t i;
    int a, b;
    for (i = 0; i < t->m; i++) {
        const int *atoms = codes->atoms + values_of(i, codes->stride);
        const shs_real *x = codes->coefs + values_of(i, codes->stride);
        for (a = 0; a < codes->used[i]; a++) {
            for (b = 0; b < codes->used[i]; b++) A[element_at(atoms[b], d->n, atoms[a])] += x[a] * x[b];
            shs_axpy(d->p, x[a], t->H + values_of(i, d->p), 1, d->high + elements(atoms[a], d->p), 1);
        }
    }
    for (i = 0; i < n; i++) trace += (double)A[i * (n + 1)];
    for (i = 0; i < n; i++) A[i * (n + 1)] += (shs_real)(1e-3 * trace / d->n + 1e-6);
    check(shs_cholesky(ctx, SHS_UPLO_LOWER, d->n, A, d->n), "learning D_h");
    divide_by_factor(ctx, A, SHS_TRANS_YES, d);
    divide_by_factor(ctx, A, SHS_TRANS_NO, d);
    free(A);
}

static void learn(const shs_context *ctx, char **names, int count, const settings *s, dictionaries *d) {
    shs_ksvd_options learning = SHS_ZERO;
    shs_pca_options most = SHS_ZERO;
    samples t = SHS_ZERO;
    signals_work work = SHS_ZERO;
    shs_codes codes;
    shs_cube cube;
    shs_real *Y;
    int k;
    d->factor = number_or(s->factor, LEAST_FACTOR);
    d->n = s->atoms;
    d->p = PATCH * d->factor * PATCH * d->factor;
    gather(names, count, s, d, &t);
    cube = columns(t.F, d->p * FEATURES, t.m);
    most.variance = 0.995;
    d->model.kind = SHS_MODEL_PCA;
    check(shs_pca_fit(ctx, &cube, &most, &d->model.pca), "the components of the patches");
    k = d->model.pca.components;
    Y = ALLOCATE(shs_real, values_of(t.m, k));
    check(components(ctx, &d->model.pca, t.F, t.m, Y), "the components of the patches");
    free(t.F);
    d->low = ALLOCATE(shs_real, elements(d->n, k));
    d->high = ALLOCATE(shs_real, elements(d->n, d->p));
    check(shs_codes_create(NULL, t.m, SPARSITY, &codes), "--patches: memory for their codes");
    learning.iterations = s->iterations;
    learning.seed = s->seed;
    learning.coding = coding_options();
    work.p = k;
    work.n = d->n;
    work.m = t.m;
    work.Y = Y;
    work.D = d->low;
    work.learning = &learning;
    work.codes = &codes;
    check(learn_on_devices(ctx, &work), "learning D_l");
    solve_high(ctx, &t, &codes, d);
    progress_clear();
    printf("learnt from %zu patches: %d atoms of %d components\n", t.m, d->n, k);
    shs_codes_free(NULL, &codes);
    free(Y);
    free(t.H);
}

/* ---- enlarging --------------------------------------------------------------------------------------------------- */

/* Some patches of a picture, from number `first` on. */
typedef struct batch {
    size_t first, count;
    shs_real *F, *Y, *Z;
    shs_codes codes;
} batch;

/* What patches of a batch lack: Z of F. */
typedef struct batch_work {
    const dictionaries *d;
    const batch *b;
} batch_work;

/* The part of a rank, in the batch's own arrays. */
static shs_status code_as_rank(const shs_context *ctx, void *arg) {
    const batch_work *w = (const batch_work *)arg;
    const dictionaries *d = w->d;
    const batch *b = w->b;
    const shs_pca *pca = &d->model.pca;
    const shs_omp_options coding = coding_options();
    const int k = pca->components;
    size_t first, count = devices_range(ctx, b->count, &first);
    shs_real *F = b->F + values_of(first, pca->bands), *Y = b->Y + values_of(first, k), *Z = b->Z + values_of(first, d->p);
    shs_codes mine = ranks_codes(&b->codes, first, count);
    shs_context alone = *ctx; /* each rank's patches are its own affair */
    shs_status status;
    alone.reduce_fn = NULL;
    alone.progress_fn = NULL; /* there is one bar for all batches */
    if (count == 0) return SHS_OK;
    status = components(&alone, pca, F, count, Y);
    if (status == SHS_OK) status = shs_omp_ex(&alone, k, d->n, d->low, k, count, Y, k, &coding, &mine, NULL, NULL);
    if (status == SHS_OK) status = shs_codes_synthesize(&alone, d->p, d->n, d->high, d->p, &mine, 0, count, Z, d->p);
    return status;
}

/* Adds to sum and weight what the patches of the batch lack; rich are the features of the picture grey. */
static void enlarge_batch(const shs_context *ctx, const shs_image *rich, const shs_image *grey, const dictionaries *d, batch *b,
                          shs_real *sum, shs_real *weight) {
    const shs_patches set = patches_of(d->factor);
    const char *subject = "coding the patches";
    batch_work w;
    if (d->name) subject = d->name; /* whose numbers may be too large */
    w.d = d;
    w.b = b;
    b->codes.m = b->count;
    check(shs_patches_get(ctx, rich, &set, b->first, b->count, b->F, d->model.pca.bands, NULL, NULL), "taking the patches");
    check(on_devices(ctx, code_as_rank, &w), subject);
    check(shs_patches_put(ctx, grey, &set, b->first, b->count, b->Z, d->p, NULL, NULL, sum, weight), "putting the patches back");
}

/* What the enlarged brightness lacks. */
static picture detail(const shs_context *ctx, const picture *small, const dictionaries *d) {
    const int factor = d->factor, margin = MARGIN * factor;
    picture framed = cut(small, -MARGIN, -MARGIN, small->width + 2 * MARGIN, small->height + 2 * MARGIN);
    picture large = enlarged(&framed, factor);
    picture rich = features(&large, factor), made;
    const shs_patches set = patches_of(factor);
    shs_image image = picture_image(&rich), grey = picture_image(&large);
    shs_real *sum = ALLOCATE(shs_real, picture_size(&large)), *weight = ALLOCATE(shs_real, picture_size(&large));
    const size_t m = shs_patches_count(&image, &set, NULL);
    shs_context quiet = *ctx; /* there is one bar for all batches */
    batch b;
    quiet.progress_fn = NULL;
    b.F = ALLOCATE(shs_real, elements(BATCH, d->model.pca.bands));
    b.Y = ALLOCATE(shs_real, elements(BATCH, d->model.pca.components));
    b.Z = ALLOCATE(shs_real, elements(BATCH, d->p));
    check(shs_codes_create(NULL, BATCH, SPARSITY, &b.codes), "memory for the codes");
    for (b.first = 0; b.first < m; b.first += b.count) {
        b.count = BATCH;
        if (b.count > m - b.first) b.count = m - b.first;
        if (ctx->progress_fn) ctx->progress_fn(ctx->progress_user, "coding the patches", b.first, m, -1);
        enlarge_batch(&quiet, &image, &grey, d, &b, sum, weight);
    }
    progress_clear();
    memset(large.pixels, 0, picture_size(&large) * sizeof *large.pixels);
    check(shs_patches_average(ctx, &grey, 0, sum, weight, large.pixels), "averaging the patches");
    made = cut(&large, margin, margin, small->width * factor, small->height * factor);
    shs_codes_free(NULL, &b.codes);
    free(b.F);
    free(b.Y);
    free(b.Z);
    free(framed.pixels);
    free(large.pixels);
    free(rich.pixels);
    free(sum);
    free(weight);
    return made;
}

/* Reduces the large picture, enlarges its difference from the small picture, and adds the difference. */
static void correct(picture *large, const picture *small, int factor) {
    picture again = reduced(large, factor);
    picture difference = cut(small, 0, 0, small->width, small->height), more;
    add(&difference, -1, &again);
    more = enlarged(&difference, factor);
    add(large, 1, &more);
    free(again.pixels);
    free(difference.pixels);
    free(more.pixels);
}

/* bicubic: the picture enlarged by interpolation. Of both the hidden pixels are filled. */
static picture superres(const shs_context *ctx, const picture *small, const picture *bicubic, const dictionaries *d) {
    picture grey = brightness(small);
    picture before = enlarged(&grey, d->factor);
    picture more = detail(ctx, &grey, d);
    picture out = cut(bicubic, 0, 0, bicubic->width, bicubic->height);
    int i;
    add(&more, 1, &before);
    for (i = 0; i < CORRECTIONS; i++) correct(&more, &grey, d->factor);
    add(&more, -1, &before);
    add(&out, 1, &more);
    free(grey.pixels);
    free(before.pixels);
    free(more.pixels);
    return out;
}

/* ---- model files ------------------------------------------------------------------------------------------------- */

typedef struct bytes_left {
    const unsigned char *at;
    size_t left;
} bytes_left;

static int take_bytes(void *user, void *bytes, size_t count) {
    bytes_left *b = (bytes_left *)user;
    if (count > b->left) return 1;
    memcpy(bytes, b->at, count);
    b->at += count;
    b->left -= count;
    return 0;
}

static int put_bytes(void *user, const void *bytes, size_t count) { return fwrite(bytes, 1, count, (FILE *)user) != count; }

#define SUM_MARK "SUPERRES"
enum { SUM_BYTES = 8 + 4 };

/* What is written is summed up. */
typedef struct summed_file {
    FILE *file;
    uint32_t crc;
} summed_file;

static int put_summed(void *user, const void *bytes, size_t count) {
    summed_file *s = (summed_file *)user;
    s->crc = png_crc(s->crc, bytes, count);
    return put_bytes(s->file, bytes, count);
}

static void save(const char *name, const dictionaries *d) {
    const int k = d->model.pca.components;
    const size_t n = (size_t)d->n;
    unsigned char end[SUM_BYTES];
    summed_file s;
    s.file = open_for_writing(name);
    s.crc = 0xFFFFFFFFu;
    check(shs_model_save(&d->model, put_bytes, s.file), name);
    check(shs_npy_save(k, n, d->low, k, put_summed, &s), name);
    check(shs_npy_save(d->p, n, d->high, d->p, put_summed, &s), name);
    memcpy(end, SUM_MARK, 8);
    png_store(end + 8, ~s.crc);
    fwrite(end, 1, sizeof end, s.file);
    close_written(s.file, name);
    printf("written: %s\n", name);
}

static void check_loaded(shs_status status, const char *name) {
    if (status == SHS_READ_FAILED) fail(EXIT_ERROR, "%s: it is no model, or truncated", name);
    check(status, name);
}

/* A matrix of so many rows; *n, where it is 0, becomes the number of its columns. */
static shs_real *load_matrix(const char *name, int rows, int *n, bytes_left *b) {
    shs_npy npy = SHS_ZERO;
    shs_real *A;
    size_t i, count;
    int columns;
    check_loaded(shs_npy_read_header(&npy, take_bytes, b), name);
    columns = (int)npy.columns;
    if (npy.rows != (uint64_t)rows || npy.columns < 1 || npy.columns > INT_MAX || (*n && *n != columns))
        fail(EXIT_ERROR, "%s: its dictionaries do not fit each other", name);
    *n = columns;
    count = elements(rows, columns);
    if (b->left / (size_t)npy.size < count) check_loaded(SHS_READ_FAILED, name); /* before memory is taken */
    A = ALLOCATE(shs_real, count);
    check_loaded(shs_npy_read_values(&npy, SHS_TYPE_REAL, A, (size_t)rows, take_bytes, b), name);
    for (i = 0; i < count; i++)
        if (!(fabs((double)A[i]) < 1e18)) fail(EXIT_ERROR, "%s: its dictionaries are not finite", name);
    return A;
}

/* What stands behind the arrays, which begin at `from`: nothing in files of earlier versions, else the mark and the sum. */
static void load_sum(const char *name, const unsigned char *from, bytes_left *b) {
    uint32_t crc;
    unsigned char sum[4];
    if (b->left == 0) return;
    if (b->left < SUM_BYTES) check_loaded(SHS_READ_FAILED, name);
    crc = ~png_crc(0xFFFFFFFFu, from, (size_t)(b->at - from));
    png_store(sum, crc);
    if (memcmp(b->at, SUM_MARK, 8) != 0 || memcmp(b->at + 8, sum, 4) != 0)
        fail(EXIT_ERROR, "%s: it is damaged: behind its dictionaries their check sum, 0x%08X, is not", name, (unsigned)crc);
    b->at += SUM_BYTES;
    b->left -= SUM_BYTES;
}

static void load(const char *name, const settings *s, dictionaries *d) {
    const unsigned char *arrays;
    bytes_left b;
    unsigned char *data = read_file(name, PICTURE_BYTES, &b.left);
    b.at = data;
    d->name = name;
    check_loaded(shs_model_load(NULL, take_bytes, &b, &d->model), name);
    for (d->factor = LEAST_FACTOR; d->factor <= MOST_FACTOR; d->factor++) {
        d->p = PATCH * d->factor * PATCH * d->factor;
        if (d->model.kind == SHS_MODEL_PCA && d->model.pca.bands == FEATURES * d->p) break;
    }
    if (d->factor > MOST_FACTOR) fail(EXIT_ERROR, "%s: a model of something else: superres --train makes them", name);
    if (s->factor && s->factor != d->factor)
        fail(EXIT_USAGE, "--factor: %d, but %s was learnt for %d times", s->factor, name, d->factor);
    arrays = b.at;
    d->low = load_matrix(name, d->model.pca.components, &d->n, &b);
    d->high = load_matrix(name, d->p, &d->n, &b);
    load_sum(name, arrays, &b);
    if (b.left) fail(EXIT_ERROR, "%s: %zu bytes stand behind its end", name, b.left);
    free(data);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static settings chosen = {0, 0, 0, 1024, 20, 100000, 0, 1, NULL, NULL, NULL, NULL}; /* the defaults */

static const option options[] = {
    {"Enlarging", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--factor", "F", OPTION_COUNT, &chosen.factor, LEAST_FACTOR, "how many times as large, 2 to 4 (the model's; 2)"},
    {"--dictionary", "MODEL", OPTION_TEXT, &chosen.dictionary, 0, "enlarge with this model"},
    {"Learning once, for later", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--train", NULL, OPTION_SWITCH, &chosen.train, 0, "learn from the pictures named, and do nothing else"},
    {"--save", "MODEL", OPTION_TEXT, &chosen.save, 0, "keep what was learnt in this file"},
    {"Trials", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--compare", "TRUE", OPTION_TEXT, &chosen.compare, 0,
     "measure against this picture, and write OUT_bicubic too"},
    {"--reduce", NULL, OPTION_SWITCH, &chosen.reduce, 0, "make IN smaller, and do nothing else"},
    {"The dictionaries", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--atoms", "N", OPTION_COUNT, &chosen.atoms, 1, "atoms of the dictionaries (1024)"},
    {"--iterations", "K", OPTION_COUNT, &chosen.iterations, 1, "iterations of learning (20)"},
    {"--patches", "COUNT", OPTION_COUNT, &chosen.patches, 1, "patches of all pictures together to learn from (100000)"},
    {"--seed", "N", OPTION_SEED, &chosen.seed, 0, "seed of the choice of patches and the start (1)"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
    {"--device", "NAME", OPTION_TEXT, &chosen.device, 0, DEVICE_HELP},
    {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP},
    {"small.png large.png photo1.png photo2.png", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"--train photo1.png photo2.png --save pair.model", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"small.png large.png --dictionary pair.model", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

/* How many names there are; those of pictures to learn from begin at *from. */
static int parse(int argc, char **argv, const settings *s, int *from) {
    const int names = read_options(argc, argv,
                                   "LOW OUT.png PICTURE... [options]\n"
                                   "LOW OUT.png --dictionary MODEL [options]\n"
                                   "--train PICTURE... --save MODEL [options]\n"
                                   "--reduce IN OUT.png [--factor F]",
                                   "Makes a picture (PNG, JPEG, BMP, PGM, PPM) larger with what it learnt from others.\n"
                                   "The last line of the output: psnr_bicubic=dB psnr=dB seconds=s, of the brightness in "
                                   "the files, without the border.",
                                   options, COUNT_OF(options));
    const char *alone = "--reduce", *in = "LOW";
    if (s->train) alone = "--train";
    if (s->reduce) in = "IN";
    if (s->train) *from = 0;
    else *from = 2;
    if (s->factor > MOST_FACTOR) fail(EXIT_USAGE, "--factor: %d is too large: at most %d", s->factor, (int)MOST_FACTOR);
    if (s->train && s->reduce) fail(EXIT_USAGE, "--reduce: not with --train");
    if (s->train || s->reduce) {
        if (s->dictionary) fail(EXIT_USAGE, "--dictionary: not with %s", alone);
        if (s->compare) fail(EXIT_USAGE, "--compare: not with %s", alone);
    }
    if (s->save && (s->reduce || s->dictionary)) fail(EXIT_USAGE, "--save: nothing is learnt here");
    if (s->train && !s->save) fail(EXIT_USAGE, "--train: needs --save MODEL");
    if (s->train && names < 1) fail(EXIT_USAGE, "--train: needs at least one picture");
    if (!s->train && names < 2)
        fail(EXIT_USAGE, "needs two names, %s and OUT (got %d)", in, names);
    if (s->reduce && names > 2) fail(EXIT_USAGE, "--reduce: takes two names, IN and OUT (got %d)", names);
    if (s->dictionary && names > 2) fail(EXIT_USAGE, "--dictionary: %s: learns from no other picture", argv[2]);
    if (!s->train && !s->reduce && !s->dictionary && names == 2)
        fail(EXIT_USAGE, "needs --dictionary MODEL, or the names of pictures to learn from behind OUT");
    if (s->patches / POSITIONS < names - *from)
        fail(EXIT_USAGE, "--patches: %d are less than %d for each picture", s->patches, (int)POSITIONS);
    return names;
}

static void make_smaller(const char *in, const char *out, int factor) {
    picture a = picture_read(in), whole, small;
    if (a.width < factor || a.height < factor)
        fail(EXIT_ERROR, "%s: %d x %d pixels are less than one of the small picture's", in, a.width, a.height);
    picture_will_write(out, a.channels);
    picture_fill_hidden(&a);
    whole = whole_pixels(&a, factor);
    small = resized_as_seen(&whole, whole.width / factor, whole.height / factor);
    picture_write(out, &small);
    printf("%s: %d x %d pixels\n", out, small.width, small.height);
    picture_free(&a);
    picture_free(&whole);
    picture_free(&small);
}

/* The part of the true picture that the small one shows. */
static picture read_truth(const char *name, const picture *small, const char *low, int factor) {
    picture a = picture_read(name), whole;
    if (a.width / factor != small->width || a.height / factor != small->height)
        fail(EXIT_ERROR, "%s: %d x %d pixels are not %d times the %d x %d of %s", name, a.width, a.height, factor, small->width,
             small->height, low);
    if (a.channels != small->channels)
        fail(EXIT_ERROR, "%s: %s, but %s is not", name, picture_kind(&a), low);
    if (a.width / factor < 3 || a.height / factor < 3)
        fail(EXIT_ERROR, "%s: without its border of %d pixels nothing of it is left to measure", name, factor);
    whole = whole_pixels(&a, factor);
    picture_free(&a);
    return whole;
}

/* That of the dictionaries, else of the option. */
static int chosen_factor(const settings *s, const dictionaries *d) {
    return number_or(d->factor, number_or(s->factor, LEAST_FACTOR));
}

/* Everything is known to fit before anything is learnt. */
static void make_larger(const shs_context *ctx, char **names, int count, const settings *s, dictionaries *d) {
    const int factor = chosen_factor(s, d);
    char *bicubic_name = derived_name(names[1], "_bicubic", name_extension(names[1]));
    picture small = picture_read(names[0]);
    picture truth = SHS_ZERO;
    picture bicubic, out;
    double start, seconds;
    char before[32], after[32];
    if ((small.width + 2.0 * MARGIN) * (small.height + 2.0 * MARGIN) * factor * factor > MOST_PIXELS)
        fail(EXIT_ERROR, "%s: %d x %d pixels, %d times as large, are too many", names[0], small.width, small.height, factor);
    picture_will_write(names[1], small.channels);
    if (s->compare) picture_will_write(bicubic_name, small.channels);
    if (s->compare) truth = read_truth(s->compare, &small, names[0], factor);
    if (!s->dictionary) learn(ctx, names + 2, count - 2, s, d);
    if (s->save) save(s->save, d);
    start = wall_clock();
    picture_fill_hidden(&small);
    bicubic = resized_as_seen(&small, small.width * factor, small.height * factor);
    out = superres(ctx, &small, &bicubic, d);
    picture_carry(&bicubic, &out);
    seconds = wall_clock() - start;
    picture_write(names[1], &out);
    printf("%s: %d x %d pixels\n", names[1], out.width, out.height);
    if (s->compare) {
        picture_round(&bicubic, picture_file_white(bicubic_name, &bicubic));
        picture_round(&out, picture_file_white(names[1], &out));
        picture_write(bicubic_name, &bicubic);
        printf("psnr_bicubic=%s psnr=%s seconds=%.2f\n", picture_psnr_words(psnr(&truth, &bicubic, factor), before),
               picture_psnr_words(psnr(&truth, &out, factor), after), seconds);
    } else {
        printf("psnr_bicubic=n/a psnr=n/a seconds=%.2f\n", seconds);
    }
    free(bicubic_name);
    picture_free(&small);
    picture_free(&truth);
    picture_free(&bicubic);
    picture_free(&out);
}

int main(int argc, char **argv) {
    settings *s = &chosen;
    dictionaries d = SHS_ZERO;
    shs_context ctx;
    int from, names = parse(argc, argv, s, &from), i;
    for (i = 0; i < names; i++)
        if (s->train || i != 1) will_read(argv[i]);
    if (s->dictionary) will_read(s->dictionary);
    if (s->compare) will_read(s->compare);
    if (s->save) will_write(s->save);
    if (s->reduce) {
        make_smaller(argv[0], argv[1], number_or(s->factor, LEAST_FACTOR));
        return EXIT_SUCCESS;
    }
    if (s->dictionary) load(s->dictionary, s, &d);
    ctx = example_context(s->threads, s->device);
    if (s->train) {
        learn(&ctx, argv, names, s, &d);
        save(s->save, &d);
    } else {
        make_larger(&ctx, argv, names, s, &d);
    }
    example_end();
    if (d.model.block) shs_model_free(NULL, &d.model);
    else shs_pca_free(NULL, &d.model.pca);
    free(d.low);
    free(d.high);
    return EXIT_SUCCESS;
}
