/* filling.h - the method of inpaint.c.

       1. A thin plate under tension interpolates what is missing.
       2. Again and again, a dictionary that is learnt from the picture codes patches that touch a hole, to a tolerance that falls
          from the error of the interpolation (less where little is known) to the one asked for, and their mean replaces what was
          missing (Guleryuz, "Nonlinear approximation based image recovery using adaptive sparse reconstructions and iterated
          denoising", 2006, who thresholds fixed transforms).
       3. Where more than three pixels of ten are missing, a second dictionary is learnt from known pixels alone (inpainting.h). It
          follows textures that no interpolation sees. Its codes are blended into the result, each place by its own weight.

   The tension, how far the interpolation is off, whether step 2 is nearer, and the weights of step 3 are measured: some known
   pixels are filled in as if they were missing. */
#ifndef EXAMPLE_FILLING
#define EXAMPLE_FILLING

#include "inpainting.h"


enum { FILL_BATCH = 16384, FILL_LEARN_EVERY = 6, FILL_TRAINING = 5000, FILL_TENSIONS = 3 };
enum { FILL_ROWS = 8, FILL_LAST_ROWS = 2, FILL_TRIAL_STEP = 2 };

typedef struct filling {
    double tolerance; /* how near patches are coded in the last pass, root mean square */
    int patch, atoms, iterations;
    uint64_t seed;
} filling;

/* ---- interpolation ----------------------------------------------------------------------------------------------- */

/* Minimises the sum over the picture of u_xx^2 + 2 u_xy^2 + u_yy^2 + tension (u_x^2 + u_y^2), all differences of pixels. */
typedef struct plate {
    int width, height;
    double tension;
    unsigned char *hole; /* of each pixel: whether it is to be found */
    size_t *holes, *cells; /* those pixels; the pixels whose differences, to the right and below, touch one near the border */
    size_t hole_count, inner_count, cell_count; /* the inner holes come first */
    int closed; /* u holds a guess at the holes already */
    double *u, *residual, *direction, *product;
} plate;

static const double plate_second[] = {1, -2, 1}, plate_first[] = {-1, 1}, plate_mixed[] = {1, -1, -1, 1};

static int plate_is_inner(const plate *s, int x, int y) { return x > 1 && y > 1 && x < s->width - 2 && y < s->height - 2; }

/* Whether a hole near the border is within two pixels to the right and below. */
static int plate_touches(const plate *s, int x, int y) {
    int i, k;
    for (k = y; k <= y + 2 && k < s->height; k++)
        for (i = x; i <= x + 2 && i < s->width; i++)
            if (s->hole[element_at(k, s->width, i)] && !plate_is_inner(s, i, k)) return 1;
    return 0;
}

static plate plate_create(int width, int height) {
    const size_t count = elements(height, width);
    plate s = SHS_ZERO;
    s.width = width;
    s.height = height;
    s.hole = ALLOCATE(unsigned char, count);
    s.holes = ALLOCATE(size_t, count);
    s.cells = ALLOCATE(size_t, count);
    s.u = ALLOCATE(double, count);
    s.residual = ALLOCATE(double, count);
    s.direction = ALLOCATE(double, count);
    s.product = ALLOCATE(double, count);
    return s;
}

static void plate_free(plate *s) {
    free(s->hole);
    free(s->holes);
    free(s->cells);
    free(s->u);
    free(s->residual);
    free(s->direction);
    free(s->product);
}

/* Once the holes are marked. */
static void plate_find_holes(plate *s) {
    int x, y;
    s->hole_count = 0;
    s->cell_count = 0;
    for (y = 0; y < s->height; y++)
        for (x = 0; x < s->width; x++) {
            const size_t at = element_at(y, s->width, x);
            if (s->hole[at] && plate_is_inner(s, x, y)) s->holes[s->hole_count++] = at;
            if (x > 3 && y > 3 && x < s->width - 4 && y < s->height - 4) continue;
            if (plate_touches(s, x, y)) s->cells[s->cell_count++] = at;
        }
    s->inner_count = s->hole_count;
    for (y = 0; y < s->height; y++)
        for (x = 0; x < s->width; x++) {
            const size_t at = element_at(y, s->width, x);
            if (s->hole[at] && !plate_is_inner(s, x, y)) s->holes[s->hole_count++] = at;
        }
}

/* One squared difference of `count` pixels. */
static void plate_term(const double *u, double *out, const size_t *at, const double *factors, int count, double weight) {
    double sum = 0;
    int i;
    for (i = 0; i < count; i++) sum += factors[i] * u[at[i]];
    sum *= weight;
    for (i = 0; i < count; i++) out[at[i]] += sum * factors[i];
}

/* The same sum of all differences that a pixel is in, where none is cut off at the border. */
static double plate_inner(const double *u, size_t row, double tension) {
    const double beside = u[-1] + u[1] + *(u - row) + u[row], corners = *(u - row - 1) + *(u - row + 1) + u[row - 1] + u[row + 1];
    const double beyond = u[-2] + u[2] + *(u - 2 * row) + u[2 * row];
    return (20 + 4 * tension) * *u - (8 + tension) * beside + 2 * corners + beyond;
}

/* Half the gradient, right where there are holes. */
static void plate_gradient(const plate *s, const double *u, double *out) {
    const size_t row = (size_t)s->width;
    size_t i;
    for (i = 0; i < s->hole_count; i++) out[s->holes[i]] = 0;
    for (i = 0; i < s->cell_count; i++) {
        const size_t at = s->cells[i], across[] = {at, at + 1, at + 2}, down[] = {at, at + row, at + 2 * row};
        const size_t square[] = {at, at + 1, at + row, at + row + 1};
        const int right = s->width - 1 - column_of(at, s->width), below = s->height - 1 - row_of(at, s->width);
        if (right > 1) plate_term(u, out, across, plate_second, 3, 1);
        if (below > 1) plate_term(u, out, down, plate_second, 3, 1);
        if (right > 0 && below > 0) plate_term(u, out, square, plate_mixed, 4, 2);
        if (right > 0) plate_term(u, out, across, plate_first, 2, s->tension);
        if (below > 0) plate_term(u, out, down, plate_first, 2, s->tension);
    }
    for (i = 0; i < s->inner_count; i++) {
        const size_t at = s->holes[i];
        out[at] = plate_inner(u + at, row, s->tension);
    }
}

/* The first guess: fills holes from the rim inwards with the mean of the known neighbours. */
static void plate_close(plate *s) {
    size_t *left = ALLOCATE(size_t, s->hole_count), count = s->hole_count, i, before = count + 1;
    double *values = ALLOCATE(double, s->hole_count);
    unsigned char *open = ALLOCATE(unsigned char, elements(s->height, s->width));
    memcpy(left, s->holes, count * sizeof *left);
    memcpy(open, s->hole, elements(s->height, s->width));
    while (count > 0 && count < before) {
        size_t still = 0, closed = 0, *order = ALLOCATE(size_t, count);
        for (i = 0; i < count; i++) {
            const int x = column_of(left[i], s->width), y = row_of(left[i], s->width);
            double sum = 0;
            int there = 0, j, k;
            for (k = larger(y - 1, 0); k <= y + 1 && k < s->height; k++)
                for (j = larger(x - 1, 0); j <= x + 1 && j < s->width; j++) {
                    const size_t at = element_at(k, s->width, j);
                    if (open[at]) continue;
                    sum += s->u[at];
                    there++;
                }
            if (there) {
                order[closed] = left[i];
                values[closed++] = sum / there;
            } else {
                left[still++] = left[i];
            }
        }
        for (i = 0; i < closed; i++) {
            s->u[order[i]] = values[i];
            open[order[i]] = 0;
        }
        free(order);
        before = count;
        count = still;
    }
    free(left);
    free(values);
    free(open);
}

/* By conjugate gradients from what u holds, until half the gradient is as small as that in the mean. */
static void plate_solve(plate *s, double small) {
    enum { MOST = 1000 };
    const double enough = small * small * (double)s->hole_count;
    double square = 0;
    size_t i;
    int step;
    plate_gradient(s, s->u, s->residual);
    memset(s->direction, 0, elements(s->height, s->width) * sizeof *s->direction);
    for (i = 0; i < s->hole_count; i++) {
        const size_t at = s->holes[i];
        s->residual[at] = -s->residual[at];
        s->direction[at] = s->residual[at];
        square += s->residual[at] * s->residual[at];
    }
    for (step = 0; step < MOST && square > enough; step++) {
        double curvature = 0, length, next = 0;
        plate_gradient(s, s->direction, s->product);
        for (i = 0; i < s->hole_count; i++) curvature += s->product[s->holes[i]] * s->direction[s->holes[i]];
        length = square / curvature;
        for (i = 0; i < s->hole_count; i++) {
            const size_t at = s->holes[i];
            s->u[at] += length * s->direction[at];
            s->residual[at] -= length * s->product[at];
            next += s->residual[at] * s->residual[at];
        }
        for (i = 0; i < s->hole_count; i++) {
            const size_t at = s->holes[i];
            s->direction[at] = s->residual[at] + next / square * s->direction[at];
        }
        square = next;
    }
}

/* What the picture has at its known pixels, in one channel. */
static void plate_take(plate *s, const picture *a, int channel) {
    size_t i;
    for (i = 0; i < picture_area(a); i++)
        if (!s->hole[i]) s->u[i] = (double)picture_pixel(a, i)[channel];
}

/* ---- trial: some known pixels are filled in as if they were not ---------------------------------------------------- */

/* Marks the holes of the picture, and returns how many there are. */
static size_t mark_holes(const picture *a, unsigned char *hole) {
    size_t i, count = 0;
    for (i = 0; i < picture_area(a); i++) {
        hole[i] = pixel_missing(*picture_pixel(a, i)) != 0;
        count += hole[i];
    }
    return count;
}

/* Marks the known pixels with a value farther outside the range of all but 0.5 % at either end than that range is wide. */
static void mark_far(const picture *a, const unsigned char *hole, unsigned char *far_off) {
    int c;
    for (c = 0; c < a->channels; c++) {
        const picture_range r = picture_channel_range(a, c);
        const double span = r.most - r.least;
        size_t i;
        free(r.values);
        for (i = 0; i < picture_area(a) && span > 0; i++) {
            const double value = (double)picture_pixel(a, i)[c];
            if (!hole[i] && (value < r.least - span || value > r.most + span)) far_off[i] = 1;
        }
    }
}

/* Whether less than an eighth of the known pixels around this one are far off, too. */
static int is_alone(const picture *a, const unsigned char *hole, const unsigned char *far_off, size_t pixel) {
    const int x = column_of(pixel, a->width), y = row_of(pixel, a->width);
    int known = -1, off = -1, i, k; /* the others */
    for (k = larger(y - 2, 0); k <= y + 2 && k < a->height; k++)
        for (i = larger(x - 2, 0); i <= x + 2 && i < a->width; i++) {
            known += !hole[element_at(k, a->width, i)];
            off += far_off[element_at(k, a->width, i)];
        }
    return 8 * off < known;
}

/* Loses hot pixels, and dead ones: each would decide what is learnt and measured in the whole picture, and spoil what is filled
   in around it. Small things that are far brighter than the rest stay, as their pixels are not alone. */
static void lose_hot(picture *a) {
    unsigned char *hole = ALLOCATE(unsigned char, picture_area(a)), *far_off = ALLOCATE(unsigned char, picture_area(a));
    size_t i;
    mark_holes(a, hole);
    mark_far(a, hole, far_off);
    for (i = 0; i < picture_area(a); i++)
        if (far_off[i] && is_alone(a, hole, far_off, i)) lose(a, i);
    free(hole);
    free(far_off);
}

/* Marks known pixels to try on: a tenth of them where much is missing, else the holes moved elsewhere, which are of the same
   shapes. Returns how many. */
static size_t mark_trial(const picture *a, const unsigned char *hole, size_t missing, shs_random *random, unsigned char *trial) {
    const size_t pixels = picture_area(a), shift = 17 + elements(13, a->width);
    size_t i, count = 0;
    for (i = 0; i < pixels; i++) {
        if (hole[i]) trial[i] = 0;
        else if (missing > pixels * 3 / 10) trial[i] = shs_random_uniform(random) < 0.1;
        else trial[i] = hole[(i + shift) % pixels];
        count += trial[i];
    }
    return count;
}

/* The sum of squares by which the trial's pixels are missed with this tension. */
static double try_tension(plate *s, const picture *a, const unsigned char *trial, double tension) {
    double sum = 0;
    size_t i;
    int c;
    s->tension = tension;
    for (c = 0; c < a->channels; c++) {
        plate_take(s, a, c);
        if (!s->closed) plate_close(s);
        plate_solve(s, 5e-2);
        for (i = 0; i < s->hole_count; i++) {
            const size_t at = s->holes[i];
            const double off = (double)clipped(s->u[at]) - (double)picture_pixel(a, at)[c];
            if (trial[at]) sum += off * off;
        }
    }
    return sum;
}

/* The best tension, and how far off it leaves a value, root mean square; -1: nothing could be tried. Trials are repeated until
   some hundred pixels are tried. */
static double find_tension(plate *s, const picture *a, size_t missing, uint64_t seed, double *tension) {
    enum { TRIALS = 5, ENOUGH = 300 };
    static const double tensions[FILL_TENSIONS] = {2, 0.3, 0};
    const size_t pixels = picture_area(a);
    unsigned char *hole = ALLOCATE(unsigned char, pixels), *trial = ALLOCATE(unsigned char, pixels);
    double sums[FILL_TENSIONS] = {0};
    size_t i, now, tried = 0;
    int trials, t, best = 0;
    shs_random random;
    memcpy(hole, s->hole, pixels);
    shs_random_seed(&random, seed);
    for (trials = 0; trials < TRIALS && tried < ENOUGH; trials++) {
        now = mark_trial(a, hole, missing, &random, trial);
        for (i = 0; i < pixels; i++) s->hole[i] = hole[i] | trial[i];
        plate_find_holes(s);
        for (t = 0; t < FILL_TENSIONS && now > 0; t++) {
            s->closed = t > 0 && a->channels == 1;
            sums[t] += try_tension(s, a, trial, tensions[t]);
        }
        tried += now;
        if (missing <= pixels * 3 / 10) break; /* the same pixels again */
    }
    memcpy(s->hole, hole, pixels);
    plate_find_holes(s);
    free(hole);
    free(trial);
    for (t = 1; t < FILL_TENSIONS; t++)
        if (sums[t] < sums[best]) best = t;
    *tension = tensions[best];
    if (tried == 0) return -1;
    return sqrt(sums[best] / ((double)tried * a->channels));
}

/* Fills in what is missing, with this tension. */
static void interpolate(picture *a, double tension) {
    plate s = plate_create(a->width, a->height);
    size_t i;
    int c;
    mark_holes(a, s.hole);
    plate_find_holes(&s);
    s.tension = tension;
    for (c = 0; c < a->channels; c++) {
        plate_take(&s, a, c);
        plate_close(&s);
        plate_solve(&s, 1e-2);
        for (i = 0; i < s.hole_count; i++) picture_pixel(a, s.holes[i])[c] = clipped(s.u[s.holes[i]]);
    }
    plate_free(&s);
}

/* ---- coding ------------------------------------------------------------------------------------------------------ */

/* Patches that follow each other and touch a hole. */
typedef struct patch_run {
    size_t first, count;
} patch_run;

typedef struct filling_work {
    const picture *a; /* what is filled in so far */
    const unsigned char *hole;
    shs_patches all;
    patch_run *runs;
    size_t run_count, patches;
    int p, every, row; /* row + every i: the rows of patches that are coded */
    shs_real *Y, *means, *D, *sum, *weight;
    shs_codes codes;
} filling_work;

static void find_runs(filling_work *w) {
    const int columns = w->a->width - w->all.width + 1, rows = w->a->height - w->all.height + 1;
    int *in_column = ALLOCATE(int, w->a->width), x, y, k; /* holes in the rows of a patch */
    w->runs = ALLOCATE(patch_run, elements(rows, columns / 2 + 1));
    for (y = 0; y < rows; y++) {
        int holes = 0, before = 0, first_row = 0;
        if (y > 0) first_row = w->all.height - 1;
        for (x = 0; x < w->a->width; x++)
            for (k = first_row; k < w->all.height; k++) {
                in_column[x] += w->hole[element_at(y + k, w->a->width, x)];
                if (y > 0) in_column[x] -= w->hole[element_at(y - 1, w->a->width, x)];
            }
        for (x = 0; x < w->a->width; x++) {
            holes += in_column[x];
            if (x >= w->all.width) holes -= in_column[x - w->all.width];
            if (x < w->all.width - 1) continue;
            if (holes > 0 && !before) w->runs[w->run_count++].first = element_at(y, columns, x - w->all.width + 1);
            if (holes > 0) w->runs[w->run_count - 1].count++;
            if (holes > 0) w->patches++;
            before = holes > 0;
        }
    }
    free(in_column);
}

/* Returns non-zero if this pass codes the row of the patch. Each pass takes other rows, and the rows of a pass cover every
   pixel. */
static int takes_row(const filling_work *w, size_t patch) {
    const int rows = w->a->height - w->all.height + 1, row = row_of(patch, w->a->width - w->all.width + 1);
    return row == 0 || row == rows - 1 || row % w->every == w->row;
}

/* Takes patches of the runs, from place *run and *done on, or puts them back. Returns how many. */
static size_t move_patches(const shs_context *ctx, filling_work *w, size_t *run, size_t *done, int back) {
    const shs_image image = picture_image(w->a);
    size_t moved = 0;
    while (moved < FILL_BATCH && *run < w->run_count) {
        if (!takes_row(w, w->runs[*run].first)) {
            ++*run;
            continue;
        }
        const size_t first = w->runs[*run].first + *done;
        size_t count = w->runs[*run].count - *done;
        shs_real *Y = w->Y + values_of(moved, w->p), *means = w->means + values_of(moved, w->a->channels);
        shs_status status;
        if (count > FILL_BATCH - moved) count = FILL_BATCH - moved;
        if (back) status = shs_patches_put(ctx, &image, &w->all, first, count, Y, w->p, means, NULL, w->sum, w->weight);
        else status = shs_patches_get(ctx, &image, &w->all, first, count, Y, w->p, means, NULL);
        check(status, "moving patches");
        moved += count;
        *done += count;
        if (*done < w->runs[*run].count) continue;
        *done = 0;
        ++*run;
    }
    return moved;
}

static shs_omp_options fill_coding(const filling_work *w, double off) {
    shs_omp_options coding = SHS_ZERO;
    coding.tolerance = (shs_real)(off * sqrt(w->p));
    coding.sparsity = w->p / 2;
    return coding;
}

/* Goes on with the dictionary, learnt from patches of the whole picture. */
static void fill_learn(const shs_context *ctx, filling_work *w, const filling *how, double off, int pass) {
    const shs_image image = picture_image(w->a);
    shs_patches set = w->all;
    shs_ksvd_options learning = SHS_ZERO;
    shs_real *Y;
    size_t m;
    set.mode = SHS_PATCH_MODE_RANDOM;
    set.count = FILL_TRAINING;
    set.seed = how->seed + (uint64_t)pass;
    m = shs_patches_count(&image, &set, NULL);
    Y = ALLOCATE(shs_real, values_of(m, w->p));
    check(shs_patches_get(ctx, &image, &set, 0, m, Y, w->p, NULL, NULL), "taking the patches");
    if (pass) learning.iterations = 2;
    else learning.iterations = 5;
    learning.seed = how->seed;
    if (pass) learning.start = SHS_START_GIVEN;
    else learning.start = SHS_START_DCT;
    learning.patch_width = learning.patch_height = how->patch;
    learning.patch_channels = image.channels;
    learning.coding = fill_coding(w, off);
    check(shs_ksvd_ex(ctx, w->p, how->atoms, m, Y, w->p, &learning, w->D, w->p, NULL, NULL), "learning the dictionary");
    free(Y);
}

/* Codes the patches that touch a hole to the tolerance `off`, and averages the patches. */
static void fill_pass(const shs_context *ctx, filling_work *w, const filling *how, double off) {
    const shs_omp_options coding = fill_coding(w, off);
    size_t run = 0, done = 0;
    memset(w->sum, 0, picture_size(w->a) * sizeof *w->sum);
    memset(w->weight, 0, picture_area(w->a) * sizeof *w->weight);
    while (run < w->run_count) {
        size_t run_back = run, done_back = done;
        const size_t count = move_patches(ctx, w, &run, &done, 0);
        w->codes.m = count;
        check(shs_omp_ex(ctx, w->p, how->atoms, w->D, w->p, count, w->Y, w->p, &coding, &w->codes, NULL, NULL),
              "coding the patches");
        check(shs_codes_synthesize(ctx, w->p, how->atoms, w->D, w->p, &w->codes, 0, count, w->Y, w->p),
              "putting atoms together");
        move_patches(ctx, w, &run_back, &done_back, 1);
    }
}

/* From 0 in the first pass to 1 in the last. */
static double fill_progress(int pass, int passes) {
    if (passes > 1) return (double)pass / (passes - 1);
    return 1;
}

/* Improves what is filled in where hole is set; off: the tolerance of the first pass. */
static void fill_refine(const shs_context *ctx, picture *a, const unsigned char *hole, const filling *how, double off,
                        int whole) {
    const double last = fmin(how->tolerance, off);
    shs_context quiet = *ctx; /* there is one bar for all passes */
    filling_work w = SHS_ZERO;
    const shs_image image = picture_image(a);
    size_t i;
    int pass, c;
    quiet.progress_fn = NULL;
    w.a = a;
    w.hole = hole;
    w.all.width = w.all.height = how->patch;
    shs_patches_count(&image, &w.all, &w.p);
    find_runs(&w);
    w.Y = ALLOCATE(shs_real, values_of(FILL_BATCH, w.p));
    w.means = ALLOCATE(shs_real, values_of(FILL_BATCH, a->channels));
    w.D = ALLOCATE(shs_real, elements(how->atoms, w.p));
    w.sum = ALLOCATE(shs_real, picture_size(a));
    w.weight = ALLOCATE(shs_real, picture_area(a));
    check(shs_codes_create(NULL, FILL_BATCH, w.p / 2, &w.codes), "memory for the codes");
    for (pass = 0; pass < how->iterations; pass++) {
        const double now = off * pow(last / off, fill_progress(pass, how->iterations));
        if (pass % FILL_LEARN_EVERY == 0) fill_learn(&quiet, &w, how, now, pass);
        if (whole && pass + 1 == how->iterations) w.every = FILL_LAST_ROWS;
        else w.every = smaller(FILL_ROWS, how->patch);
        w.row = pass % w.every;
        fill_pass(&quiet, &w, how, now);
        for (i = 0; i < picture_area(a); i++)
            for (c = 0; c < a->channels && hole[i]; c++) {
                const double sum = (double)w.sum[values_of(i, a->channels) + (size_t)c];
                picture_pixel(a, i)[c] = clipped(sum / (double)w.weight[i]);
            }
        if (ctx->progress_fn) ctx->progress_fn(ctx->progress_user, "filling in", (size_t)pass + 1, (size_t)how->iterations, -1);
    }
    w.codes.m = FILL_BATCH;
    shs_codes_free(NULL, &w.codes);
    free(w.runs);
    free(w.Y);
    free(w.means);
    free(w.D);
    free(w.sum);
    free(w.weight);
}

/* The tolerance of the first pass, where an interpolation of this error knows so large a part of the picture: the less a patch
   knows, the less its code may depart from the interpolation. */
static double fill_start(double off, double known) {
    const double trust = 5 * known;
    if (trust < 1) return off * trust;
    return off;
}

/* The passes, fewer where they begin nearer to their end. */
static int fill_passes(int most, double known) {
    const double trust = 5 * known;
    if (trust < 1) return (int)ceil(most * trust);
    return most;
}

/* ---- codes of the known pixels alone ------------------------------------------------------------------------------- */

/* Compares two fillings at the pixels of a trial: the interpolation (refined or not), and codes of the known pixels alone,
   which follow textures. */
typedef struct comparison {
    int width, height;
    double *gain, *square; /* of each pixel of the trial: dI (dI - dK) and (dI - dK)^2, where dI and dK are the errors */
    size_t count;
} comparison;

/* Sums of the values above and to the left, in place. */
static void sum_up(double *values, int width, int height) {
    int x, y;
    for (y = 0; y < height; y++) {
        double row = 0;
        for (x = 0; x < width; x++) {
            double *v = values + element_at(y, width, x);
            row += *v;
            *v = row;
            if (y > 0) *v += *(v - width);
        }
    }
}

/* The sum within `reach` of a pixel. */
static double sum_near(const double *sums, int width, int height, int x, int y, int reach) {
    const int right = smaller(x + reach, width - 1), below = smaller(y + reach, height - 1);
    const int left = x - reach - 1, above = y - reach - 1;
    const double *last = sums + elements(below, width);
    double sum = last[right];
    if (left >= 0) sum -= last[left];
    if (above < 0) return sum;
    sum -= sums[element_at(above, width, right)];
    if (left >= 0) sum += sums[element_at(above, width, left)];
    return sum;
}

static comparison compare(const picture *a, const picture *interpolated, const picture *coded, const unsigned char *trial) {
    const size_t channels = (size_t)a->channels;
    comparison r = SHS_ZERO;
    size_t i;
    r.width = a->width;
    r.height = a->height;
    r.gain = ALLOCATE(double, picture_area(a));
    r.square = ALLOCATE(double, picture_area(a));
    for (i = 0; i < picture_size(a); i++) {
        const double value = (double)interpolated->pixels[i];
        const double off = value - (double)a->pixels[i], apart = value - (double)coded->pixels[i];
        if (!trial[i / channels]) continue;
        r.gain[i / channels] += off * apart;
        r.square[i / channels] += apart * apart;
    }
    for (i = 0; i < picture_area(a); i++) r.count += trial[i];
    sum_up(r.gain, r.width, r.height);
    sum_up(r.square, r.width, r.height);
    return r;
}

/* Blends the codes into what is missing of the picture, by the weight that was best at the trial's pixels nearby: some thirty of
   them, and what is best in the whole picture counts as much as ten more. */
static void blend(picture *a, const picture *coded, const unsigned char *hole, const comparison *r) {
    enum { NEARBY = 30, WHOLE = 10 };
    const size_t pixels = picture_area(a);
    const double tried = (double)r->count, each = WHOLE / tried;
    const int reach = (int)(sqrt(NEARBY * (double)pixels / tried) / 2);
    size_t i;
    for (i = 0; i < pixels; i++) {
        const int x = column_of(i, r->width), y = row_of(i, r->width);
        const shs_real *code = picture_pixel(coded, i);
        shs_real *pixel = picture_pixel(a, i);
        int c;
        double gain, square, weight = 0;
        if (!hole[i]) continue;
        gain = sum_near(r->gain, r->width, r->height, x, y, reach) + each * r->gain[pixels - 1];
        square = sum_near(r->square, r->width, r->height, x, y, reach) + each * r->square[pixels - 1];
        if (square > 0) weight = gain / square;
        if (weight < 0) weight = 0;
        if (weight > 1) weight = 1;
        for (c = 0; c < a->channels; c++) pixel[c] += (shs_real)weight * (code[c] - pixel[c]);
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------------------- */

/* The sum of squares by which a misses the picture b at the marked pixels. */
static double missed_by(const picture *a, const picture *b, const unsigned char *marked) {
    const size_t channels = (size_t)a->channels;
    double sum = 0;
    size_t i;
    for (i = 0; i < picture_size(a); i++) {
        const double off = (double)a->pixels[i] - (double)b->pixels[i];
        if (marked[i / channels]) sum += off * off;
    }
    return sum;
}

enum { KNOWN_PATCH = 16 };

/* The data for codes of the known pixels, for known pixels all over the picture. */
typedef struct known_codes {
    inpainting how;
    shs_real *D;
    int used;
    comparison against;
} known_codes;

static known_codes known_create(const picture *a, const filling *how, size_t missing) {
    known_codes k = SHS_ZERO;
    int most = KNOWN_PATCH; /* their cost grows with the sixth power of the side: values, atoms for each, and atoms to choose from */
    if (most > a->width) most = a->width;
    if (most > a->height) most = a->height;
    k.how.tolerance = how->tolerance / 2;
    k.how.patch = how->patch * 5 / 4;
    if (k.how.patch > most) k.how.patch = most;
    k.how.atoms = how->atoms;
    k.how.iterations = (how->iterations + 2) / 3;
    k.how.seed = how->seed;
    k.used = missing > picture_area(a) * 3 / 10;
    return k;
}

/* Takes known pixels away and fills them in. Whether a third of the passes are nearer to them than the interpolation; and how near
   codes of the known pixels alone are. */
static int try_filling(const shs_context *ctx, const picture *a, const filling *how, double tension, double start, known_codes *k) {
    const size_t pixels = picture_area(a);
    unsigned char *hole = ALLOCATE(unsigned char, pixels), *trial = ALLOCATE(unsigned char, pixels);
    const size_t missing = mark_holes(a, hole);
    picture b = picture_again(a), interpolated;
    filling some = *how;
    shs_random random;
    size_t i, tried;
    int pays = start > 0;
    some.iterations = (how->iterations + 2) / 3;
    shs_random_seed(&random, how->seed + 1);
    tried = mark_trial(a, hole, missing, &random, trial);
    for (i = 0; i < pixels; i++) {
        if (trial[i]) lose(&b, i);
        hole[i] |= trial[i];
    }
    interpolated = picture_again(&b);
    if (tried > 0) interpolate(&interpolated, tension);
    if (tried > 0 && pays) {
        picture refined = picture_again(&interpolated);
        fill_refine(ctx, &refined, hole, &some, start, 0);
        pays = missed_by(&refined, a, trial) < missed_by(&interpolated, a, trial);
        if (pays) memcpy(interpolated.pixels, refined.pixels, picture_size(a) * sizeof *refined.pixels);
        picture_free(&refined);
    }
    if (tried > 0 && k->used) {
        int p;
        k->D = inpaint_learn(ctx, &b, &k->how, &p, NULL);
        inpaint_by_steps(ctx, &b, &k->how, k->D, FILL_TRIAL_STEP);
        k->against = compare(a, &interpolated, &b, trial);
    }
    free(hole);
    free(trial);
    picture_free(&b);
    picture_free(&interpolated);
    return pays;
}

/* Fills in from codes of the known pixels. Learning also uses the pixels that the trial removed. */
static picture known_fill(const shs_context *ctx, const picture *a, known_codes *k) {
    picture b = picture_again(a);
    k->how.iterations = (k->how.iterations + 2) / 3;
    inpaint_learn_from(ctx, a, &k->how, INPAINT_TRAINING, SHS_START_GIVEN, k->D, NULL);
    inpaint_with(ctx, &b, &k->how, k->D);
    return b;
}

#define FILL_UNKNOWN 10.0 /* how far an interpolation is off that could not be tried */

static void fill_holes(const shs_context *ctx, picture *a, const filling *how) {
    const size_t pixels = picture_area(a);
    plate s = plate_create(a->width, a->height);
    const size_t missing = mark_holes(a, s.hole);
    known_codes k = known_create(a, how, missing);
    double tension, off = find_tension(&s, a, missing, how->seed, &tension), start;
    const double known = (double)(pixels - missing) / (double)pixels;
    filling refining = *how;
    picture coded = SHS_ZERO;
    int pays;
    if (off < 0) off = FILL_UNKNOWN;
    start = fill_start(off, known);
    refining.iterations = fill_passes(how->iterations, known);
    pays = try_filling(ctx, a, &refining, tension, start, &k);
    if (k.against.count > 0) coded = known_fill(ctx, a, &k);
    interpolate(a, tension);
    if (pays) fill_refine(ctx, a, s.hole, &refining, start, 1);
    if (k.against.count > 0) blend(a, &coded, s.hole, &k.against);
    picture_free(&coded);
    free(k.D);
    free(k.against.gain);
    free(k.against.square);
    plate_free(&s);
}

/* Fills in missing values. Known values stay, hot pixels too. */
static void fill_in(const shs_context *ctx, picture *a, const filling *how) {
    picture given = picture_again(a);
    size_t i;
    lose_hot(a);
    fill_holes(ctx, a, how);
    for (i = 0; i < picture_size(a); i++)
        if (!pixel_missing(given.pixels[i])) a->pixels[i] = given.pixels[i];
    picture_free(&given);
}

#endif /* EXAMPLE_FILLING */
