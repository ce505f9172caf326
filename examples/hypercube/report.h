/* report.h - what is said and shown of a result: pictures, tables, the lines that are printed. */
#ifndef HYPERCUBE_REPORT
#define HYPERCUBE_REPORT

#include "job.h"

/* ---- looking at what was written --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One score in WHITE_SCORES is shown as white. */
enum { WHITE_SCORES = 2000 };

/* The score of this rank; the best one has rank 0. */
static double sorted_score(const double *sorted, size_t count, enum look look, size_t rank) {
    if (look == LOOK_HIGH) return sorted[count - 1 - rank];
    return sorted[rank];
}

/* Finds the values shown as black and white among `count` sorted values; equal values give black = white. A target is a few
   pixels of thousands. Between percentiles that fit a picture its score is as white as the noise of the background, so scores
   range from the median to the best of WHITE_SCORES. */
static void stretch_ends(const double *sorted, size_t count, enum look look, double *black, double *white) {
    *black = *white = 0;
    if (!count) return;
    if (look == LOOK_SHARES) {
        *white = 1;
        return;
    }
    if (look == LOOK_ALL) {
        *black = sorted[(size_t)(0.02 * (double)(count - 1))];
        *white = sorted[(size_t)ceil(0.98 * (double)(count - 1))];
        return;
    }
    *black = sorted[count / 2];
    *white = sorted_score(sorted, count, look, count / WHITE_SCORES);
    if (fabs(*white - *black) > 0) return;
    *white = sorted_score(sorted, count, look, 0); /* most scores are the same */
}

/* Converts values to grey values from 0 to 255; missing values become black. A square root brightens scores, so that weak
   targets show beside a strong target. */
static void stretch(const cube_file *f, const double *values, size_t count, enum look look, shs_real *grey, int channels) {
    double *sorted = ALLOCATE(double, count), black, white;
    size_t i, valid = 0;
    for (i = 0; i < count; i++)
        if (!is_missing(f, values[i])) sorted[valid++] = values[i];
    qsort(sorted, valid, sizeof *sorted, ascending);
    stretch_ends(sorted, valid, look, &black, &white);
    for (i = 0; i < count; i++) {
        double share = 128.0 / 255;
        if (fabs(white - black) > 0) share = (values[i] - black) / (white - black);
        if (is_missing(f, values[i]) || share < 0) share = 0;
        if (share > 1) share = 1;
        if (shows_finds(look)) share = sqrt(share);
        grey[i * (size_t)channels] = (shs_real)(255 * share);
    }
    free(sorted);
}

static int is_better(const cube_file *f, enum look look, double score, double other) {
    if (is_missing(f, score)) return 0;
    if (look == LOOK_HIGH) return score > other;
    return score < other;
}

/* Every step-th pixel of these bands, `count` pixels each: band c begins at values + c * count. Of scores it is the best one of
   step x step pixels, since a target may be smaller than a step. */
static void sampled_bands(cube_file *f, const int *list, int bands, int step, enum look look, size_t count, double *values) {
    char *line = room_for_lines(f, 1);
    const int width = (f->samples - 1) / step + 1;
    int every = step, x, y, c;
    if (shows_finds(look)) every = 1;
    for (y = 0; y < f->lines; y += every) {
        must_read(f, y, 1, line);
        for (x = 0; x < f->samples; x += every)
            for (c = 0; c < bands; c++) {
                double *to = values + (size_t)c * count + element_at(y / step, width, x / step);
                double value = get_value(line, value_index(f, 1, 0, x, list[c]), f->type, f->swap);
                if ((x % step == 0 && y % step == 0) || is_missing(f, *to) || is_better(f, look, value, *to)) *to = value;
            }
    }
    free(line);
}

/* Chooses the bands for red, green and blue: the bands nearest to 650, 550 and 450 nm, or the first three. */
static void colour_bands(const cube_file *f, int *list) {
    static const double wanted[] = {650, 550, 450};
    double nearest[3] = {0, 0, 0};
    int c, b, known = has_wavelengths(f);
    for (c = 0; c < 3; c++) {
        list[c] = smaller(c, f->bands - 1);
        for (b = 0; b < f->bands && known; b++) {
            double off = fabs(band_nanometres(f, b) - wanted[c]);
            if (b > 0 && off >= nearest[c]) continue;
            nearest[c] = off;
            list[c] = b;
        }
    }
    for (c = 0; c < 3 && known && (nearest[0] > 25 || nearest[1] > 25 || nearest[2] > 25); c++)
        list[c] = smaller(c, f->bands - 1);
}

/* The bands of a picture that the header names, three or one, as numbers from 0; returns how many, 0 for any other list. */
static int default_bands(const cube_file *f, int *list) {
    int differs, count = 0;
    const char *text = or_empty(header_find(&f->text, "default bands", &differs));
    double number;
    while (*text) {
        text = listed_number(text, &number);
        if (!text || count == 3 || !(number >= 1) || number > f->bands || number > floor(number)) return 0;
        list[count++] = (int)number - 1;
    }
    if (differs || count == 2) return 0;
    return count;
}

/* The bands of a picture: the header's default bands, or those that colour_bands chooses, or the first in grey, three times. */
static void bands_to_show(const cube_file *f, int channels, int *list) {
    const int count = default_bands(f, list);
    if (count == 3 && channels == 3) return;
    if (count != 1) list[0] = 0;
    list[1] = list[2] = list[0];
    if (count != 1 && channels == 3) colour_bands(f, list);
}

/* Returns the step between samples and lines for a picture of at most `most` pixels. */
static int step_for(const cube_file *f, double most) {
    int step = 1;
    while (((double)f->samples / step + 1) * ((double)f->lines / step + 1) > most) step++;
    return step;
}

/* These bands in red, green and blue, or one in grey, of at most so many pixels. */
static picture bands_in_colours(cube_file *f, const int *list, int channels, enum look look, double most) {
    int step = step_for(f, most), c;
    picture a = picture_create((f->samples + step - 1) / step, (f->lines + step - 1) / step, channels);
    double *values = ALLOCATE(double, picture_size(&a));
    size_t count = picture_area(&a);
    sampled_bands(f, list, channels, step, look, count, values);
    for (c = 0; c < channels; c++) stretch(f, values + (size_t)c * count, count, look, a.pixels + c, channels);
    free(values);
    return a;
}

/* The same of the bands that bands_to_show chooses. */
static picture false_colours(cube_file *f, int channels, enum look look, double most) {
    int list[3];
    bands_to_show(f, channels, list);
    return bands_in_colours(f, list, channels, look, most);
}

static void quicklook(const job *j) {
    const char *name = j->s->output.quicklook;
    cube_file f = cube_open(j->out.header_name, j->out.data_name);
    int channels = 1;
    picture a;
    if (f.bands >= 3 || has_extension(name, ".ppm")) channels = 3;
    if (has_extension(name, ".pgm")) channels = 1;
    a = false_colours(&f, channels, j->look, 1.1e6);
    picture_write(name, &a);
    free(a.pixels);
    cube_close(&f);
}

static void print_verbose(const job *j) {
    const cube_file *in = &j->in;
    const cube_file *out = &j->out;
    const char *type = type_info(in->stored.type)->name, *way = "in blocks of lines";
    int threads = 1;
#ifdef _OPENMP
    threads = omp_get_max_threads();
    if (j->s->run.threads) threads = j->ctx.threads;
#endif
    if (in->stored.integers64) type = type_name(in);
    if (j->cube.pixels) way = "in memory";
    printf("input         %s, %s, %s\n", type, interleaves[file_interleave(in)], way);
    printf("output        %s, %s\n", type_info(out->type)->name, interleaves[file_interleave(out)]);
    printf("library       %s\nthreads       %d\n", shs_build_info(), threads);
    printf("bytes         %" PRIu64 " read, %" PRIu64 " written\n", in->io.moved, out->io.moved);
    printf("seconds       open %.3f, ", j->opened - j->start);
    if (j->one_call) printf("fit and transform %.3f, ", j->written - j->opened);
    else printf("fit %.3f, transform %.3f, ", j->fitted - j->opened, j->written - j->fitted);
    printf("pictures %.3f\n", wall_clock() - j->written);
}

/* The output is complete, and drawn where a picture is wanted. */
static void output_show(job *j, const char *band_name, const int *band_numbers) {
    output_finish(j, band_name, band_numbers);
    j->written = wall_clock();
    if (j->s->output.quicklook) quicklook(j);
    if (j->s->run.verbose) print_verbose(j);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static double explained_by(const shs_pca *pca, int components) {
    double sum = 0;
    int k;
    for (k = 0; k < components; k++) sum += (double)pca->eigenvalues[k];
    if (pca->total_variance > 0) return sum / (double)pca->total_variance;
    return 1;
}

static void pca_report(const shs_pca *pca, const char *name) {
    FILE *file = open_for_writing(name);
    int k;
    fprintf(file, "component,eigenvalue,explained,cumulative\n");
    for (k = 0; k < pca->eigenvalue_count; k++)
        fprintf(file, "%d,%.17g,%.10g,%.10g\n", k + 1, (double)pca->eigenvalues[k],
                explained_by(pca, k + 1) - explained_by(pca, k), explained_by(pca, k + 1));
    close_written(file, name);
}

/* The line that ends pca, mnf, ica and denoise; the pictures and tables come before it. */
static void print_end(const job *j, int components, shs_wide pixels) {
    printf("seconds=%.3f ", j->written - j->start);
    if (!j->one_call) printf("fit=%.3f transform=%.3f ", j->fitted - j->start, j->written - j->fitted);
    printf("components=%d pixels=%.0f\n", components, (double)pixels);
}

/* The figures that tables show of one source. */
typedef struct source_figures {
    double change, kurtosis, negentropy;
} source_figures;

static source_figures figures_of(const shs_ica_component *c) {
    source_figures f;
    f.change = (double)c->change;
    f.kurtosis = (double)c->kurtosis;
    f.negentropy = (double)c->negentropy;
    return f;
}

static void ica_report(const shs_ica *ica, const char *name) {
    FILE *file = open_for_writing(name);
    int k;
    fprintf(file, "component,extraction,iterations,restarts,converged,change,kurtosis,negentropy\n");
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        const source_figures f = figures_of(c);
        fprintf(file, "%d,%d,%d,%d,%d,%.6g,%.10g,%.10g\n", k + 1, c->extraction + 1, c->iterations, c->restarts,
                c->converged, f.change, f.kurtosis, f.negentropy);
    }
    close_written(file, name);
}

/* Converged: one plain step of FastICA turns a component by no more than the tolerance. */
static void print_sources(const shs_ica *ica) {
    const char *iterated_on = "the pixels";
    int k, failed = 0;
    double most = 0;
    if (ica->used_moments) iterated_on = "fourth moments";
    printf("%d bands, iterated on %s\n", ica->bands, iterated_on);
    printf("  IC  iterations  restarts  converged    change  kurtosis  negentropy\n");
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        const source_figures f = figures_of(c);
        printf("%4d  %10d  %8d  %9s  %8.1e  %8.4g  %10.4g\n", k + 1, c->iterations, c->restarts,
               c->converged ? "yes" : "NO", f.change, f.kurtosis, f.negentropy);
    }
    fflush(stdout);
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        if (c->converged) continue;
        if (!failed++) fprintf(stderr, "%s: IC %d", program_name, k + 1);
        else fprintf(stderr, ", %d", k + 1);
        most = fmax(most, (double)c->change);
    }
    if (failed)
        fprintf(stderr, ": %d of %d components did not converge: one more step turns them by up to 1 - |cos| = %.1e\n",
                failed, ica->components, most);
}

/* ---- how well anomalies meet the truth -------------------------------------------------------------------------- */

typedef struct scored {
    double score;
    int target;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* The probability that a target scores above another pixel, a tie counted half: the area under the ROC curve. */
static double area_under_roc(scored *pixels, size_t count, const char *truth_name) {
    double others = 0, targets = 0, wins = 0;
    size_t i, next, k;
    qsort(pixels, count, sizeof *pixels, by_score);
    for (i = 0; i < count; i = next) {
        double tied[2] = {0, 0};
        for (next = i; next < count && pixels[next].score <= pixels[i].score; next++) {}
        for (k = i; k < next; k++) tied[pixels[k].target]++;
        wins += tied[1] * (others + tied[0] / 2);
        others += tied[0];
        targets += tied[1];
    }
    if (targets < 1) fail(EXIT_ERROR, "%s: it marks no valid pixel", truth_name);
    if (others < 1) fail(EXIT_ERROR, "%s: it marks every valid pixel", truth_name);
    return wins / (targets * others);
}

/* NULL: it is not known. */
static cube_file *truth_of(job *j) {
    if (j->s->detect.truth) return &j->truth;
    return NULL;
}

enum verdict { NO_TARGET, IS_TARGET, NOT_TOLD };

/* What a line of the truth says of this sample. A missing value says nothing. */
static enum verdict verdict_of(const cube_file *truth, const char *line, int sample) {
    double mark = get_value(line, value_index(truth, 1, 0, sample, 0), truth->type, truth->swap);
    if (is_missing(truth, mark)) return NOT_TOLD;
    if (mark > 0 || mark < 0) return IS_TARGET;
    return NO_TARGET;
}

/* The number of valid pixels of a band of the map or, with a truth, of those that the truth has a value for; pixels: their scores,
   and whether they are targets. */
static size_t read_scores(const cube_file *written, int band, cube_file *truth, scored *pixels) {
    cube_file map = cube_open(written->header_name, written->data_name);
    size_t count = 0;
    char *scores, *marks = NULL;
    int x, y;
    if (written->folded) fold_line(&map);
    scores = room_for_lines(&map, 1);
    if (truth) marks = room_for_lines(truth, 1);
    for (y = 0; y < map.lines; y++) {
        must_read(&map, y, 1, scores);
        if (truth) must_read(truth, y, 1, marks);
        for (x = 0; x < map.samples; x++) {
            double score = get_value(scores, value_index(&map, 1, 0, x, band), map.type, map.swap);
            if (is_missing(&map, score)) continue;
            if (truth) {
                enum verdict verdict = verdict_of(truth, marks, x);
                if (verdict == NOT_TOLD) continue;
                pixels[count].score = score;
                pixels[count].target = verdict == IS_TARGET;
            }
            count++;
        }
    }
    free(scores);
    free(marks);
    cube_close(&map);
    return count;
}

/* ---- the best scores, and where they are ------------------------------------------------------------------------------ */

enum { FINDS = 20 };

typedef struct find {
    double score;
    int sample, line; /* of the output's file, from 0 */
    int target, told; /* told: the truth map has a value here; target: the value is a target */
} find;

/* Inserts a find into the list of finds, best first; among equal scores the earlier find stays in front. Returns the new
   number of finds. */
static int keep_find(const cube_file *map, enum look look, const find *one, find *finds, int count) {
    int at = smaller(count, FINDS - 1);
    if (count == FINDS && !is_better(map, look, one->score, finds[FINDS - 1].score)) return count;
    for (; at > 0 && is_better(map, look, one->score, finds[at - 1].score); at--) finds[at] = finds[at - 1];
    finds[at] = *one;
    return smaller(count + 1, FINDS);
}

/* The best scores of a band of the output, FINDS at most. Returns how many there are. */
static int best_scores(job *j, int band, find *finds) {
    cube_file map = cube_open(j->out.header_name, j->out.data_name);
    cube_file *truth = truth_of(j);
    char *scores, *marks = NULL;
    int count = 0, x, y;
    if (j->out.folded) fold_line(&map);
    scores = room_for_lines(&map, 1);
    if (truth) marks = room_for_lines(truth, 1);
    for (y = 0; y < map.lines; y++) {
        must_read(&map, y, 1, scores);
        if (truth) must_read(truth, y, 1, marks);
        for (x = 0; x < map.samples; x++) {
            enum verdict verdict = NOT_TOLD;
            find one;
            one.score = get_value(scores, value_index(&map, 1, 0, x, band), map.type, map.swap);
            if (is_missing(&map, one.score)) continue;
            one.sample = x;
            one.line = y;
            if (map.folded) {
                one.sample = y;
                one.line = x;
            }
            if (truth) verdict = verdict_of(truth, marks, x);
            one.target = verdict == IS_TARGET;
            one.told = verdict != NOT_TOLD;
            count = keep_find(&map, j->look, &one, finds, count);
        }
    }
    free(scores);
    free(marks);
    cube_close(&map);
    return count;
}

/* A field of a table with commas: in quotes where it holds a comma or a quote. */
static void print_field(FILE *file, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* The name of an output band: the name of its target, or the method. */
static const char *score_name(const job *j, int band, const char *method) {
    const char *name = NULL;
    if (j->out.names) name = j->out.names[band];
    if (name && *name) return name;
    return method;
}

/* The best scores of each band. Samples and lines count from 0 in the input's file, as those of --window and --target do. */
static void score_report(job *j, const char *method) {
    FILE *file = open_for_writing(j->s->output.report);
    find finds[FINDS];
    int band, k;
    fprintf(file, "band,name,rank,sample,line,score");
    if (j->s->detect.truth) fprintf(file, ",truth");
    fputc('\n', file);
    for (band = 0; band < j->out.bands; band++) {
        int count = best_scores(j, band, finds);
        for (k = 0; k < count; k++) {
            fprintf(file, "%d,", band + 1);
            print_field(file, score_name(j, band, method));
            fprintf(file, ",%d,%d,%d,%.9g", k + 1, file_left(&j->in) + finds[k].sample, file_top(&j->in) + finds[k].line,
                    finds[k].score);
            if (j->s->detect.truth) fputc(',', file);
            if (finds[k].told) fprintf(file, "%d", finds[k].target);
            fputc('\n', file);
        }
    }
    close_written(file, j->s->output.report);
}

#endif /* HYPERCUBE_REPORT */
