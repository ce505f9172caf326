/* report.h - what is said and shown of a result: pictures, tables, the lines that are printed. */
#ifndef HYPERCUBE_REPORT
#define HYPERCUBE_REPORT

#include "job.h"

/* ---- looking at what was written --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Grey values, stretched between the 2nd and the 98th percentile of the valid ones; missing ones are black. */
static void stretch(const cube_file *f, const double *values, size_t count, shs_real *grey, int channels) {
    double *sorted = ALLOCATE(double, count), darkest = 0, brightest = 0;
    size_t i, valid = 0;
    for (i = 0; i < count; i++)
        if (!is_missing(f, values[i])) sorted[valid++] = values[i];
    qsort(sorted, valid, sizeof *sorted, ascending);
    if (valid) {
        darkest = sorted[(size_t)(0.02 * (double)(valid - 1))];
        brightest = sorted[(size_t)ceil(0.98 * (double)(valid - 1))];
    }
    for (i = 0; i < count; i++) {
        double value = brightest > darkest ? 255 * (values[i] - darkest) / (brightest - darkest) : 128;
        if (is_missing(f, values[i]) || value < 0) value = 0;
        grey[i * (size_t)channels] = (shs_real)(value < 255 ? value : 255);
    }
    free(sorted);
}

/* Every step-th pixel of these bands, `count` pixels each: band c begins at values + c * count. */
static void sampled_bands(cube_file *f, const int *list, int bands, int step, size_t count, double *values) {
    char *line = ALLOCATE(char, (size_t)f->samples * (size_t)f->bands * shs_type_size(f->type));
    size_t i = 0;
    int x, y, c;
    for (y = 0; y < f->lines; y += step) {
        must_read(f, y, 1, line);
        for (x = 0; x < f->samples; x += step, i++)
            for (c = 0; c < bands; c++)
                values[(size_t)c * count + i] = get_value(line, value_index(f, 1, 0, x, list[c]), f->type, f->swap);
    }
    free(line);
}

/* The bands that are shown in red, green and blue: those nearest to 650, 550 and 450 nm where there are such, else the first
   three. */
static void colour_bands(const cube_file *f, int *list) {
    static const double wanted[] = {650, 550, 450};
    double near[3] = {0, 0, 0};
    int c, b, known = has_wavelengths(f);
    for (c = 0; c < 3; c++) {
        list[c] = c < f->bands ? c : f->bands - 1;
        for (b = 0; b < f->bands && known; b++) {
            double off = fabs(band_nanometres(f, b) - wanted[c]);
            if (b > 0 && off >= near[c]) continue;
            near[c] = off;
            list[c] = b;
        }
    }
    for (c = 0; c < 3 && known && (near[0] > 25 || near[1] > 25 || near[2] > 25); c++)
        list[c] = c < f->bands ? c : f->bands - 1;
}

/* Three bands in red, green and blue, or the first in grey, of at most so many pixels. */
static picture false_colours(cube_file *f, int channels, double most) {
    int step = 1, list[3] = {0, 0, 0}, c;
    picture a;
    double *values;
    size_t count;
    while (((double)f->samples / step + 1) * ((double)f->lines / step + 1) > most) step++;
    if (channels == 3) colour_bands(f, list);
    a = picture_create((f->samples + step - 1) / step, (f->lines + step - 1) / step, channels);
    count = picture_size(&a) / (size_t)channels;
    values = ALLOCATE(double, count * (size_t)channels);
    sampled_bands(f, list, channels, step, count, values);
    for (c = 0; c < channels; c++) stretch(f, values + (size_t)c * count, count, a.pixels + c, channels);
    free(values);
    return a;
}

static void quicklook(const job *j) {
    const char *name = j->s->quicklook;
    cube_file f = cube_open(j->out.header_name, j->out.data_name);
    int channels = (f.bands >= 3 || has_extension(name, ".ppm")) && !has_extension(name, ".pgm") ? 3 : 1;
    picture a = false_colours(&f, channels, 1.1e6);
    picture_write(name, &a);
    free(a.pixels);
    cube_close(&f);
}

static void print_verbose(const job *j) {
    const cube_file *in = &j->in, *out = &j->out;
    int threads = 1;
#ifdef _OPENMP
    threads = j->s->threads ? j->ctx.threads : omp_get_max_threads();
#endif
    printf("input         %s, %s, %s\n", in->integers64 ? type_name(in) : type_info(in->stored)->name, interleaves[file_interleave(in)],
           j->cube.pixels ? "in memory" : "in blocks of lines");
    printf("output        %s, %s\n", type_info(out->type)->name, interleaves[file_interleave(out)]);
    printf("library       %s\nthreads       %d\n", shs_build_info(), threads);
    printf("bytes         %" PRIu64 " read, %" PRIu64 " written\n", in->moved, out->moved);
    printf("seconds       open %.3f, ", j->opened - j->start);
    if (j->one_call) printf("fit and transform %.3f, ", j->written - j->opened);
    else printf("fit %.3f, transform %.3f, ", j->fitted - j->opened, j->written - j->fitted);
    printf("pictures %.3f\n", wall_clock() - j->written);
}

/* The output is complete, and drawn where a picture is wanted. */
static void output_show(job *j, const char *band_name, const int *band_numbers) {
    output_finish(j, band_name, band_numbers);
    j->written = wall_clock();
    if (j->s->quicklook) quicklook(j);
    if (j->s->verbose) print_verbose(j);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static double explained_by(const shs_pca *pca, int components) {
    double sum = 0;
    int k;
    for (k = 0; k < components; k++) sum += (double)pca->eigenvalues[k];
    return pca->total_variance > 0 ? sum / (double)pca->total_variance : 1;
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

static void ica_report(const shs_ica *ica, const char *name) {
    FILE *file = open_for_writing(name);
    int k;
    fprintf(file, "component,extraction,iterations,restarts,converged,change,kurtosis,negentropy\n");
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        fprintf(file, "%d,%d,%d,%d,%d,%.6g,%.10g,%.10g\n", k + 1, c->extraction + 1, c->iterations, c->restarts,
                c->converged, (double)c->change, (double)c->kurtosis, (double)c->negentropy);
    }
    close_written(file, name);
}

/* Converged: one plain step of FastICA turns a component by no more than the tolerance. */
static void print_sources(const shs_ica *ica) {
    int k, failed = 0;
    double most = 0;
    printf("%d bands, %s\n  IC  iterations  restarts  converged    change  kurtosis  negentropy\n", ica->bands,
           ica->used_moments ? "iterated on fourth moments" : "iterated on the pixels");
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        printf("%4d  %10d  %8d  %9s  %8.1e  %8.4g  %10.4g\n", k + 1, c->iterations, c->restarts,
               c->converged ? "yes" : "NO", (double)c->change, (double)c->kurtosis, (double)c->negentropy);
    }
    fflush(stdout);
    for (k = 0; k < ica->components; k++) {
        const shs_ica_component *c = &ica->component[k];
        if (c->converged) continue;
        if (!failed++) fprintf(stderr, "%s: IC %d", program_name, k + 1);
        else fprintf(stderr, ", %d", k + 1);
        most = (double)c->change > most ? (double)c->change : most;
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

/* The number of valid pixels of a band of the map and, where the truth is known, what it says of each. */
static size_t read_scores(const cube_file *written, int band, cube_file *truth, scored *pixels) {
    cube_file map = cube_open(written->header_name, written->data_name);
    size_t width, count = 0, x;
    char *scores, *marks = NULL;
    int y;
    if (written->folded) fold_line(&map);
    width = (size_t)map.samples;
    scores = (char *)allocate(width * (size_t)map.bands, shs_type_size(map.type));
    if (truth) marks = ALLOCATE(char, width * shs_type_size(truth->type));
    for (y = 0; y < map.lines; y++) {
        must_read(&map, y, 1, scores);
        if (truth) must_read(truth, y, 1, marks);
        for (x = 0; x < width; x++) {
            double score = get_value(scores, value_index(&map, 1, 0, (int)x, band), map.type, map.swap), mark = 0;
            if (is_missing(&map, score)) continue;
            if (truth) {
                mark = get_value(marks, x, truth->type, truth->swap);
                pixels[count].score = score;
                pixels[count].target = mark > 0 || mark < 0;
            }
            count++;
        }
    }
    free(scores);
    free(marks);
    cube_close(&map);
    return count;
}

#endif /* HYPERCUBE_REPORT */
