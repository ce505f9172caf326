/* targets.h - known spectra from a table or a pixel, and how well their scores meet the truth. */
#ifndef HYPERCUBE_TARGETS
#define HYPERCUBE_TARGETS

#include "tables.h"

/* ---- spectra from a table or a pixel ------------------------------------------------------------------------------ */

/* The pixel X,Y; both count from the first pixel of the file, as those of --window do. */
static spectra spectrum_of_pixel(job *j, const char *option_name, const char *text) {
    cube_file *in = &j->in;
    spectra s = SHS_ZERO;
    char *end, *line = room_for_lines(in, 1);
    long x = strtol(text, &end, 10), y = strtol(end + 1, NULL, 10), along = x;
    int i;
    if (in->folded) {
        x = y;
        y = along;
    }
    x -= in->window.left;
    y -= in->window.top;
    if (x < 0 || y < 0 || x >= in->samples || y >= in->lines)
        fail(EXIT_USAGE, "%s: %s is not within the pixels of %s", option_name, text, in->header_name);
    must_read(in, (int)y, 1, line);
    s.count = 1;
    s.names = ALLOCATE(char *, 1);
    s.values = ALLOCATE(shs_wide, j->cube.band_count);
    for (i = 0; i < j->cube.band_count; i++) {
        double value = get_value(line, value_index(in, 1, 0, (int)x, j->bands[i]), in->type, in->swap);
        if (is_missing(in, value))
            fail(EXIT_ERROR, "%s: %s %s: band %d of this pixel is missing; --bands or --bbl leave bands out", in->header_name,
                 option_name, text, j->bands[i] + 1);
        s.values[i] = (shs_wide)value;
    }
    free(line);
    return s;
}

static spectra spectra_of(job *j, const char *option_name, const char *text) {
    if (names_pixel(text)) return spectrum_of_pixel(j, option_name, text);
    return spectra_from_table(j, text);
}

static void spectra_free(spectra *s) {
    int k;
    for (k = 0; k < s->count; k++) free(s->names[k]);
    free(s->names);
    free(s->number);
    free(s->values);
}

/* Where band b of those in use is: its wavelength, or its number where it has none of use; the caller frees the text. */
static char *place_of_band(const job *j, int b) {
    if (has_wavelengths(&j->in)) return number_text(j->in.axis.wavelength[j->bands[b]]);
    return number_text(j->bands[b] + 1);
}

/* Writes a column for each spectrum and a row for each band in use. spectra_from_table reads this table. */
static void write_spectra(const job *j, const spectra *s, const char *name) {
    FILE *file = open_for_writing(name);
    int b, k, n = j->cube.band_count;
    char *heading = wavelength_heading(&j->in), *place;
    if (has_wavelengths(&j->in)) fprintf(file, "%s,", heading);
    else fprintf(file, "band,");
    for (k = 0; k < s->count; k++) {
        if (k > 0) fputc(',', file);
        fputs(s->names[k], file);
    }
    fputc('\n', file);
    for (b = 0; b < n; b++) {
        place = place_of_band(j, b);
        fprintf(file, "%s,", place);
        free(place);
        for (k = 0; k < s->count; k++) {
            if (k > 0) fputc(',', file);
            fprintf(file, "%.17g", (double)s->values[element_at(k, n, b)]);
        }
        fputc('\n', file);
    }
    free(heading);
    close_written(file, name);
}

enum { MOST_CURVES = 12 };

/* The spectra over the bands, on the page. */
static void html_spectra(FILE *page, const job *j, const spectra *s, const char *title) {
    int shown = smaller(s->count, MOST_CURVES);
    if (!page) return;
    html_heading(page, title);
    if (shown < s->count) fprintf(page, "<p>The first %d of %d.</p>\n", shown, s->count);
    html_curves(page, j, j->cube.band_count, shown, s->values, s->names);
}

/* ---- how well they are found -------------------------------------------------------------------------------------- */

enum { ROC_POINTS = 400 };

/* How many of the targets (y) score at least as much as how many of the others (x), both as shares; pixels ascend. */
static int roc_curve(const scored *pixels, size_t count, double *x, double *y) {
    double targets = 0, found = 0, others = 0;
    size_t i, k;
    int points = 1;
    for (i = 0; i < count; i++) targets += pixels[i].target;
    x[0] = y[0] = 0;
    for (i = count; i > 0; i = k) {
        for (k = i; k > 0 && pixels[k - 1].score >= pixels[i - 1].score; k--) {
            found += pixels[k - 1].target;
            others += !pixels[k - 1].target;
        }
        x[points] = others / ((double)count - targets);
        y[points] = found / targets;
        points += fabs(x[points] - x[points - 1]) + fabs(y[points] - y[points - 1]) >= 2.0 / ROC_POINTS || k == 0;
    }
    return points;
}

/* The number of spectrum k in its table, from 1. */
static int number_of(const spectra *s, int k) {
    if (s->number) return s->number[k];
    return k + 1;
}

static const char *target_name(const spectra *s, int k, char *number) {
    sprintf(number, "%d", number_of(s, k));
    if (s->names[k] && *s->names[k]) return s->names[k];
    return number;
}

/* Area and curve of each target, in a picture and on the page; the first area comes back. Of angles the small ones are
   finds. */
static double judge_targets(job *j, const spectra *s, const char *method, scored *pixels, FILE *page) {
    static const double ends[2] = {0, 1};
    double *x = ALLOCATE(double, ROC_POINTS + 3), *y = ALLOCATE(double, ROC_POINTS + 3), area, first = 0;
    char number[12];
    FILE *file = j->s->detect.roc ? open_for_writing(j->s->detect.roc) : NULL;
    FILE *files[2];
    plot p[2];
    int k, points, f;
    size_t count, i;
    files[0] = file;
    files[1] = page;
    if (file) fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n", PLOT_WIDTH, PLOT_HEIGHT);
    if (page) fprintf(page, "<h2>ROC curves</h2>\n");
    for (f = 0; f < 2; f++)
        if (files[f]) p[f] = plot_begin(files[f], 0, 1, 0, 1, 0, "other pixels that score as high; upwards: targets found");
    if (file) {
        fprintf(file, "<style>svg{background:#fff}text{font:12px sans-serif}polyline{fill:none;stroke-width:1.5}");
        plot_styles(file, plot_colours, "#555", "#ddd");
        fprintf(file, "</style>\n");
    }
    for (f = 0; f < 2; f++)
        if (files[f]) plot_line(&p[f], 2, ends, ends, PLOT_COLOURS - 1);
    for (k = 0; k < s->count; k++) {
        count = read_scores(&j->out, k, &j->truth, pixels);
        for (i = 0; i < count && j->look == LOOK_LOW; i++) pixels[i].score = -pixels[i].score;
        area = area_under_roc(pixels, count, j->s->detect.truth);
        if (k == 0) first = area;
        printf("%s %s: area under the ROC curve %.4f\n", method, target_name(s, k, number), area);
        if (file || page) points = roc_curve(pixels, count, x, y);
        else points = 0;
        for (f = 0; f < 2; f++) {
            if (!files[f]) continue;
            plot_line(&p[f], points, x, y, k);
            if (k >= 10) continue;
            fprintf(files[f], "<text class=\"c%d\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", k % PLOT_COLOURS,
                    PLOT_WIDTH - PLOT_RIGHT - 8, PLOT_HEIGHT - 50 - 16 * k);
            html_text(files[f], method);
            fputc(' ', files[f]);
            html_text(files[f], target_name(s, k, number));
            fprintf(files[f], ": %.4f</text>\n", area);
        }
    }
    for (f = 0; f < 2; f++)
        if (files[f]) plot_end(&p[f]);
    if (file) {
        fprintf(file, "</svg>\n");
        close_written(file, j->s->detect.roc);
    }
    free(x);
    free(y);
    return first;
}

#endif /* HYPERCUBE_TARGETS */
