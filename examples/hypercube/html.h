/* html.h - a page to look at: the result as pictures, plots and tables in one file, which needs nothing from elsewhere. */
#ifndef HYPERCUBE_HTML
#define HYPERCUBE_HTML

#include "report.h"

/* ---- text and pictures -------------------------------------------------------------------------------------------- */

static void html_text(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '&') fputs("&amp;", file);
        else if (*text == '<') fputs("&lt;", file);
        else if (*text == '>') fputs("&gt;", file);
        else if (*text == '"') fputs("&quot;", file);
        else fputc(*text, file);
    }
}

/* Bytes in base64, as they come. */
typedef struct base64 {
    FILE *file;
    uint32_t held;
    int count;
} base64;

static void base64_byte(base64 *b, int byte) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int i;
    b->held = b->held << 8 | (uint32_t)byte;
    if (++b->count % 3) return;
    for (i = 18; i >= 0; i -= 6) fputc(digits[b->held >> i & 63], b->file);
    b->held = 0;
}

static void base64_number(base64 *b, uint32_t number, int bytes) {
    for (; bytes > 0; bytes--, number >>= 8) base64_byte(b, (int)(number & 255));
}

/* A picture as an uncompressed BMP, which every browser shows: lines from the bottom, blue first. Zeros at the end fill up the
   last three bytes. */
static void html_picture(FILE *file, const picture *a, const char *words) {
    base64 b = SHS_ZERO;
    int row = (3 * a->width + 3) / 4 * 4, x, y, c, shown = a->width <= 240 ? 480 / a->width : 1; /* small ones larger */
    if (shown * a->height > 960) shown = 1;
    fprintf(file, "<img width=\"%d\" height=\"%d\" alt=\"%s\" src=\"data:image/bmp;base64,", shown * a->width,
            shown * a->height, words);
    b.file = file;
    base64_byte(&b, 'B');
    base64_byte(&b, 'M');
    base64_number(&b, (uint32_t)(54 + row * a->height), 4);
    base64_number(&b, 0, 4);
    base64_number(&b, 54, 4);
    base64_number(&b, 40, 4);
    base64_number(&b, (uint32_t)a->width, 4);
    base64_number(&b, (uint32_t)a->height, 4);
    base64_number(&b, 1, 2);
    base64_number(&b, 24, 2);
    for (x = 0; x < 6; x++) base64_number(&b, 0, 4);
    for (y = a->height - 1; y >= 0; y--) {
        for (x = 0; x < a->width; x++)
            for (c = 2; c >= 0; c--) {
                size_t at = ((size_t)y * (size_t)a->width + (size_t)x) * (size_t)a->channels;
                base64_byte(&b, (int)(a->pixels[at + (size_t)(a->channels == 3 ? c : 0)] + (shs_real)0.5));
            }
        base64_number(&b, 0, row - 3 * a->width);
    }
    while (b.count % 3) base64_byte(&b, 0);
    fprintf(file, "\">");
}

/* ---- plots -------------------------------------------------------------------------------------------------------- */

enum { PLOT_WIDTH = 640, PLOT_HEIGHT = 260, PLOT_MARGIN = 56, PLOT_RIGHT = 28 };
static const char *const plot_colours[] = {"#1b6ca8", "#d1495b", "#2e8b57", "#e0a100", "#7b4fa3", "#555555"};
enum { PLOT_COLOURS = (int)(sizeof plot_colours / sizeof *plot_colours) };

typedef struct plot {
    FILE *file;
    double left, right, bottom, top; /* what the axes show; a logarithmic one shows powers of ten */
} plot;

static double plot_x(const plot *p, double x) {
    return PLOT_MARGIN + (x - p->left) / (p->right - p->left) * (PLOT_WIDTH - PLOT_MARGIN - PLOT_RIGHT);
}

static double plot_y(const plot *p, double y) { return 12 + (p->top - y) / (p->top - p->bottom) * (PLOT_HEIGHT - 12 - 40); }

/* 1, 2 or 5 times a power of ten, so that there are some four to eight of them. */
static double plot_step(double span) {
    double step = pow(10, floor(log10(span / 4)));
    return span / step > 20 ? 5 * step : span / step > 8 ? 2 * step : step;
}

static void plot_text(const plot *p, double x, double y, const char *anchor, const char *format, double value) {
    fprintf(p->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    fprintf(p->file, format, value);
    fprintf(p->file, "</text>\n");
}

static plot plot_begin(FILE *file, double left, double right, double bottom, double top, int powers, const char *name) {
    plot p;
    double step, at;
    p.file = file;
    p.left = left;
    p.right = right > left ? right : left + 1;
    p.bottom = bottom;
    p.top = top > bottom ? top : bottom + 1;
    fprintf(file, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT);
    step = plot_step(p.right - p.left);
    for (at = ceil(p.left / step) * step; at <= p.right + step / 1e6; at += step) {
        fprintf(file, "<path class=\"grid\" d=\"M%.1f 12V%d\"/>\n", plot_x(&p, at), PLOT_HEIGHT - 40);
        plot_text(&p, plot_x(&p, at), PLOT_HEIGHT - 24, "middle", "%g", at);
    }
    step = plot_step(p.top - p.bottom);
    if (powers && step < 1) step = 1;
    for (at = ceil(p.bottom / step) * step; at <= p.top + step / 1e6; at += step) {
        fprintf(file, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", PLOT_MARGIN, plot_y(&p, at), PLOT_WIDTH - PLOT_RIGHT);
        plot_text(&p, PLOT_MARGIN - 6, plot_y(&p, at) + 4, "end", powers ? "1e%g" : "%.4g", fabs(at) < step / 1e6 ? 0 : at);
    }
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", PLOT_WIDTH / 2, PLOT_HEIGHT - 6);
    html_text(file, name);
    fprintf(file, "</text>\n");
    return p;
}

static void plot_line(const plot *p, int count, const double *x, const double *y, int colour) {
    int i;
    fprintf(p->file, "<polyline stroke=\"%s\"%s points=\"", plot_colours[colour % PLOT_COLOURS],
            colour / PLOT_COLOURS % 2 ? " stroke-dasharray=\"6 3\"" : "");
    for (i = 0; i < count; i++) fprintf(p->file, "%.1f,%.1f ", plot_x(p, x[i]), plot_y(p, y[i]));
    fprintf(p->file, "\"/>\n");
}

static void plot_end(const plot *p) { fprintf(p->file, "</svg>\n"); }

/* ---- the parts of the page ---------------------------------------------------------------------------------------- */

enum { MOST_SHOWN = 24, THUMBNAIL = 150, BINS = 40 };

/* Eigenvalues that are too small for the plot stand at its bottom. Behind the edge of Marchenko and Pastur white noise of the
   median's strength reaches no eigenvalue, as far as pixels are independent. */
static void html_eigenvalues(FILE *file, const shs_model *m) {
    int ica = m->kind == SHS_MODEL_ICA, count = ica ? m->ica.components : m->pca.eigenvalue_count, i;
    const shs_wide *values = ica ? m->ica.eigenvalues : m->pca.eigenvalues;
    double pixels = (double)(ica ? m->ica.count : m->pca.count), *x = ALLOCATE(double, count), *y = ALLOCATE(double, count);
    double floor_of = (double)values[0] * 1e-9, edge, sum = 0, ends[2], edges[2];
    int bands = ica ? m->ica.bands : m->pca.bands, with_edge = count == bands && count > 4 && pixels > 1;
    plot p;
    if (!(floor_of > 0)) floor_of = 1e-30;
    for (i = 0; i < count; i++) {
        x[i] = i + 1;
        y[i] = log10((double)values[i] > floor_of ? (double)values[i] : floor_of);
    }
    fprintf(file, "<h2>Eigenvalues</h2>\n");
    p = plot_begin(file, 1, count, floor(y[count - 1]), ceil(y[0] + 0.01), 1, "component");
    plot_line(&p, count, x, y, 0);
    if (with_edge) {
        edge = (m->kind == SHS_MODEL_MNF ? 1 : (double)values[count / 2]) * pow(1 + sqrt(bands / pixels), 2);
        ends[0] = 1;
        ends[1] = count;
        edges[0] = edges[1] = log10(edge > floor_of ? edge : floor_of);
        plot_line(&p, 2, ends, edges, 1);
    }
    plot_end(&p);
    if (with_edge) fprintf(file, "<p>Red: the edge of Marchenko and Pastur, %.6g.</p>\n", edge);
    fprintf(file, "<table><tr><th>component<th>eigenvalue<th>%s\n", ica ? "" : "explained, together");
    for (i = 0; i < count && i < MOST_SHOWN; i++) {
        sum += (double)values[i];
        fprintf(file, "<tr><td>%d<td>%.6g<td>", i + 1, (double)values[i]);
        if (!ica) fprintf(file, "%.6g %%", 100 * sum / (double)m->pca.total_variance);
        fputc('\n', file);
    }
    fprintf(file, "</table>\n");
    free(x);
    free(y);
}

/* The colour of a line, and what it is. */
static void html_legend(FILE *file, int colour, const char *name) {
    fprintf(file, "<span style=\"color:%s\">&#%d; ", plot_colours[colour % PLOT_COLOURS],
            colour / PLOT_COLOURS % 2 ? 9633 : 9632); /* hollow: dashed */
    html_text(file, name);
    fprintf(file, "</span> ");
}

/* Curves over the bands in use: over the wavelength, or the number of the band. Curve k begins at values + k * bands. */
static void html_curves(FILE *file, const job *j, int bands, int count, const shs_wide *values, char *const *names) {
    double *x = ALLOCATE(double, bands), *y = ALLOCATE(double, bands), low = 0, high = 0, first, last;
    char axis[60];
    int k, b;
    plot p;
    sprintf(axis, !j->in.wavelength ? "band" : *j->in.units ? "wavelength (%.40s)" : "wavelength", j->in.units);
    for (b = 0; b < bands; b++) x[b] = j->in.wavelength ? j->in.wavelength[j->bands[b]] : j->bands[b] + 1;
    for (b = 0, first = last = x[0]; b < bands; b++) {
        first = x[b] < first ? x[b] : first;
        last = x[b] > last ? x[b] : last;
    }
    for (b = 0; b < bands * count; b++) {
        low = (double)values[b] < low ? (double)values[b] : low;
        high = (double)values[b] > high ? (double)values[b] : high;
    }
    p = plot_begin(file, first, last, low, high, 0, axis);
    for (k = 0; k < count; k++) {
        for (b = 0; b < bands; b++) y[b] = (double)values[(size_t)k * (size_t)bands + (size_t)b];
        plot_line(&p, bands, x, y, k);
    }
    plot_end(&p);
    fprintf(file, "<p>");
    for (k = 0; k < count; k++) {
        char number[12];
        sprintf(number, "%d", k + 1);
        html_legend(file, k, names && names[k] && *names[k] ? names[k] : number);
    }
    fprintf(file, "</p>\n");
    free(x);
    free(y);
}

/* The first components over the bands. */
static void html_loadings(FILE *file, const job *j, const shs_model *m) {
    int ica = m->kind == SHS_MODEL_ICA, count = ica ? m->ica.components : m->pca.components;
    count = count < PLOT_COLOURS ? count : PLOT_COLOURS;
    fprintf(file, "<h2>%s over the bands</h2>\n", ica ? "Spectra of the sources" : "Loadings");
    html_curves(file, j, ica ? m->ica.bands : m->pca.bands, count, ica ? m->ica.mixing : m->pca.vectors, NULL);
}

/* Of the valid values, between the 1st and 99th percentile, which it says. Where these are the same there is one bar. */
static void html_histogram(FILE *file, const double *sorted, size_t count) {
    double low = sorted[count / 100], high = sorted[count - 1 - count / 100], most = 1;
    int bins[BINS] = {0}, i;
    size_t p;
    for (p = 0; p < count; p++)
        if (sorted[p] >= low && sorted[p] <= high) {
            i = high > low ? (int)((sorted[p] - low) / (high - low) * BINS) : BINS / 2;
            bins[i < BINS ? i : BINS - 1]++;
        }
    for (i = 0; i < BINS; i++) most = bins[i] > most ? bins[i] : most;
    fprintf(file, "<svg viewBox=\"0 0 %d 50\" width=\"%d\" height=\"50\"><path class=\"bars\" d=\"", THUMBNAIL, THUMBNAIL);
    for (i = 0; i < BINS; i++)
        fprintf(file, "M%.1f 50V%.1fH%.1fV50", i * (double)THUMBNAIL / BINS, 50 - 48 * bins[i] / most,
                (i + 0.8) * THUMBNAIL / BINS);
    fprintf(file, "\"/></svg>\n<div class=\"ends\"><span>%.3g</span><span>%.3g</span></div>", low, high);
}

static double kurtosis_of(const double *values, size_t count) {
    double mean = 0, second = 0, fourth = 0;
    size_t i;
    for (i = 0; i < count; i++) mean += values[i] / (double)count;
    for (i = 0; i < count; i++) {
        double d2 = (values[i] - mean) * (values[i] - mean);
        second += d2 / (double)count;
        fourth += d2 * d2 / (double)count;
    }
    return second > 0 ? fourth / (second * second) - 3 : 0;
}

/* One of so many samples and lines is in a small picture. */
static int thumbnail_step(const cube_file *f) {
    int step = 1;
    while (f->samples / step > THUMBNAIL || f->lines / step > 2 * THUMBNAIL) step++;
    return step;
}

/* The values as a small picture, their histogram below it; the caption is to follow. Returns how many of them are valid, which
   are then in `sorted`. */
static size_t html_thumbnail(FILE *file, const cube_file *f, picture *a, const double *values, double *sorted,
                             const char *words) {
    size_t count = picture_size(a), valid = 0, i;
    for (i = 0; i < count; i++)
        if (!is_missing(f, values[i])) sorted[valid++] = values[i];
    qsort(sorted, valid, sizeof *sorted, ascending);
    stretch(f, values, count, a->pixels, 1);
    fprintf(file, "<figure>");
    html_picture(file, a, words);
    if (valid) html_histogram(file, sorted, valid);
    fprintf(file, "<figcaption>");
    return valid;
}

/* Every band as a small picture; names (may be NULL) are those of bands that have some. */
static void html_thumbnails(FILE *file, cube_file *f, const char *name, char *const *names, const shs_model *m) {
    int bands = f->bands < MOST_SHOWN ? f->bands : MOST_SHOWN, step = thumbnail_step(f), list[MOST_SHOWN], b;
    size_t count, valid;
    picture a;
    double *values, *sorted;
    a = picture_create((f->samples + step - 1) / step, (f->lines + step - 1) / step, 1);
    count = picture_size(&a);
    values = ALLOCATE(double, count *(size_t)bands);
    sorted = ALLOCATE(double, count);
    for (b = 0; b < bands; b++) list[b] = b;
    sampled_bands(f, list, bands, step, count, values);
    fprintf(file, "<h2>%s</h2>\n", bands < f->bands ? "The first bands" : "Bands");
    if (step > 1) fprintf(file, "<p>One of %d samples, one of %d lines.</p>\n", step, step);
    fprintf(file, "<div class=\"row\">\n");
    for (b = 0; b < bands; b++) {
        valid = html_thumbnail(file, f, &a, values + (size_t)b * count, sorted, "a band of the output");
        fprintf(file, "%s %d", name, b + 1);
        if (names && names[b] && *names[b]) {
            fprintf(file, ": ");
            html_text(file, names[b]);
        }
        if (valid && !(m && m->kind == SHS_MODEL_ICA)) fprintf(file, "<br>kurtosis %.3g", kurtosis_of(sorted, valid));
        if (m && m->kind == SHS_MODEL_ICA) {
            const shs_ica_component *c = m->ica.component + b;
            fprintf(file, "<br>kurtosis %.4g<br>%d iterations, %d restarts<br>%s, change %.1e", (double)c->kurtosis,
                    c->iterations, c->restarts, c->converged ? "converged" : "<b>not converged</b>", (double)c->change);
        }
        fprintf(file, "</figcaption></figure>\n");
    }
    fprintf(file, "</div>\n");
    free(values);
    free(sorted);
    free(a.pixels);
}

/* The page's head, with the command and how long it took; NULL: none is wanted. */
static FILE *html_open(const job *j, const char *title) {
    FILE *file = j->s->html ? open_for_writing(j->s->html) : NULL;
    if (!file) return NULL;
    fprintf(file, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>");
    html_text(file, title);
    fprintf(file,
            "</title>\n<style>body{font:15px sans-serif;margin:2em auto;max-width:60em;color:#222}h1{font-size:1.4em}"
            "h2{font-size:1.1em;margin-top:2em}svg text{font-size:12px;fill:#555}svg polyline{fill:none;stroke-width:1.5}"
            ".grid{stroke:#ddd}.bars{fill:#1b6ca8}.row{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0;width:%dpx}"
            "figcaption{font-size:12px}figure img{width:100%%;height:auto}"
            ".ends{display:flex;justify-content:space-between;font-size:11px;color:#555}"
            "img{image-rendering:pixelated;display:block}pre{white-space:pre-wrap}"
            "td,th{text-align:right;padding:0 1em 0 0}</style>\n<h1>",
            THUMBNAIL);
    html_text(file, title);
    fprintf(file, "</h1>\n<pre>");
    html_text(file, j->s->command);
    fprintf(file, "\n%s</pre>\n<p>%d samples, %d lines, %d of %d bands; ", shs_build_info(), file_samples(&j->in), file_lines(&j->in),
            j->cube.band_count, j->in.bands);
    if (j->written > 0) fprintf(file, "fit %.3f s, transform %.3f s.</p>\n", j->fitted - j->start, j->written - j->fitted);
    else fprintf(file, "%.3f s.</p>\n", wall_clock() - j->start);
    return file;
}

static void html_quicklook(FILE *file, cube_file *f, const char *words) {
    picture a = false_colours(f, f->bands >= 3 ? 3 : 1, 2.5e5);
    fprintf(file, "<h2>Quick look</h2>\n");
    html_picture(file, &a, words);
    fputc('\n', file);
    free(a.pixels);
}

/* The page, which stays open; without a model the output alone. NULL: none is wanted. */
static FILE *html_begin(const job *j, const char *band_name, const shs_model *m) {
    FILE *file = html_open(j, j->out.description);
    cube_file f;
    if (!file) return NULL;
    f = cube_open(j->out.header_name, j->out.data_name);
    html_quicklook(file, &f, "the first three bands of the output in red, green and blue");
    if (m) html_eigenvalues(file, m);
    if (m) html_loadings(file, j, m);
    html_thumbnails(file, &f, band_name, j->out.names, m);
    cube_close(&f);
    return file;
}

static void html_finish(const job *j, FILE *file) {
    if (!file) return;
    fprintf(file, "</html>\n");
    close_written(file, j->s->html);
}

static void write_html(const job *j, const char *band_name, const shs_model *m) { html_finish(j, html_begin(j, band_name, m)); }

#endif /* HYPERCUBE_HTML */
