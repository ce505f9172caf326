/* html.h - a page to look at: the result as pictures, plots and tables in one file, which needs nothing from elsewhere. */
#ifndef HYPERCUBE_HTML
#define HYPERCUBE_HTML

#include "report.h"

/* ---- text and pictures -------------------------------------------------------------------------------------------- */

static int html_level = 2; /* of headings: 3 within the sections of a longer page */

/* Text of a header in Latin-1 becomes UTF-8, which pages are in. */
static void html_text(FILE *file, const char *text) {
    int length, k;
    for (; *text; text += length) {
        length = utf8_length(text);
        if (*text == '&') fputs("&amp;", file);
        else if (*text == '<') fputs("&lt;", file);
        else if (*text == '>') fputs("&gt;", file);
        else if (*text == '"') fputs("&quot;", file);
        else if (length == 0) fprintf(file, "&#%d;", character_of_byte(*text));
        else
            for (k = 0; k < length; k++) fputc(text[k], file);
        if (length == 0) length = 1;
    }
}

static void html_heading(FILE *file, const char *text) {
    fprintf(file, "<h%d>", html_level);
    html_text(file, text);
    fprintf(file, "</h%d>\n", html_level);
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
    for (; bytes > 0; bytes--) {
        base64_byte(b, (int)(number & 255));
        number >>= 8;
    }
}

/* A picture as an uncompressed BMP, which every browser shows: lines from the bottom, blue first. Zeros at the end fill up the
   last three bytes. */
static void html_picture(FILE *file, const picture *a, const char *words) {
    base64 b = SHS_ZERO;
    int row = (3 * a->width + 3) / 4 * 4, x, y, c, shown = 1;
    if (a->width <= 240 && 480 / a->width * a->height <= 960) shown = 480 / a->width; /* small ones larger */
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
                const shs_real *pixel = a->pixels + ((size_t)y * (size_t)a->width + (size_t)x) * (size_t)a->channels;
                if (a->channels == 3) pixel += c;
                base64_byte(&b, (int)(*pixel + (shs_real)0.5));
            }
        base64_number(&b, 0, row - 3 * a->width);
    }
    while (b.count % 3) base64_byte(&b, 0);
    fprintf(file, "\">");
}

/* The picture, with rings around places in it: pairs of samples and lines, in pixels of the picture. */
static void html_ringed(FILE *file, const picture *a, const char *words, int rings, const int *places) {
    double radius = fmax(5, a->width / 40.0);
    int k;
    fprintf(file, "<div class=\"ringed\">");
    html_picture(file, a, words);
    fprintf(file, "<svg viewBox=\"0 0 %d %d\">", a->width, a->height);
    for (k = 0; k < rings; k++)
        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", places[2 * k] + 0.5, places[2 * k + 1] + 0.5, radius);
    fprintf(file, "</svg></div>\n");
}

/* ---- plots -------------------------------------------------------------------------------------------------------- */

enum { PLOT_WIDTH = 640, PLOT_HEIGHT = 260, PLOT_MARGIN = 56, PLOT_RIGHT = 28 };
static const char *const plot_colours[] = {"#1b6ca8", "#d1495b", "#2e8b57", "#b07d00", "#7b4fa3", "#555555"};
static const char *const dark_colours[] = {"#6cb4ea", "#f08391", "#62c78f", "#e9b949", "#b993dd", "#b0b0b0"}; /* on a dark page */
enum { PLOT_COLOURS = (int)(sizeof plot_colours / sizeof *plot_colours) };

typedef struct plot {
    FILE *file;
    double left, right, bottom, top; /* what the axes show; a logarithmic one shows powers of ten */
} plot;

static double plot_x(const plot *p, double x) {
    return PLOT_MARGIN + (x - p->left) / (p->right - p->left) * (PLOT_WIDTH - PLOT_MARGIN - PLOT_RIGHT);
}

static double plot_y(const plot *p, double y) { return 12 + (p->top - y) / (p->top - p->bottom) * (PLOT_HEIGHT - 12 - 40); }

/* The distance of the ticks of an axis: 1, 2 or 5 times a power of ten, for about four to eight ticks. */
static double plot_step(double span) {
    double step = pow(10, floor(log10(span / 4)));
    if (span / step > 20) return 5 * step;
    if (span / step > 8) return 2 * step;
    return step;
}

static void plot_text(const plot *p, double x, double y, const char *anchor, const char *format, double value) {
    fprintf(p->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    fprintf(p->file, format, value);
    fprintf(p->file, "</text>\n");
}

static plot plot_begin(FILE *file, double left, double right, double bottom, double top, int powers, const char *name) {
    const char *ticks = "%.4g";
    plot p;
    double step, at;
    if (!(right > left)) right = left + 1;
    if (!(top > bottom)) top = bottom + 1;
    p.file = file;
    p.left = left;
    p.right = right;
    p.bottom = bottom;
    p.top = top;
    fprintf(file, "<svg class=\"plot\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT);
    step = plot_step(p.right - p.left);
    for (at = ceil(p.left / step) * step; at <= p.right + step / 1e6; at += step) {
        fprintf(file, "<path class=\"grid\" d=\"M%.1f 12V%d\"/>\n", plot_x(&p, at), PLOT_HEIGHT - 40);
        plot_text(&p, plot_x(&p, at), PLOT_HEIGHT - 24, "middle", "%g", at);
    }
    step = plot_step(p.top - p.bottom);
    if (powers && step < 1) step = 1;
    if (powers) ticks = "1e%g";
    for (at = ceil(p.bottom / step) * step; at <= p.top + step / 1e6; at += step) {
        double value = at;
        if (fabs(value) < step / 1e6) value = 0;
        fprintf(file, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", PLOT_MARGIN, plot_y(&p, at), PLOT_WIDTH - PLOT_RIGHT);
        plot_text(&p, PLOT_MARGIN - 6, plot_y(&p, at) + 4, "end", ticks, value);
    }
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", PLOT_WIDTH / 2, PLOT_HEIGHT - 6);
    html_text(file, name);
    fprintf(file, "</text>\n");
    return p;
}

/* Where colours are used up the next lines are dashed, and so on in turn. */
static int is_dashed(int colour) { return colour / PLOT_COLOURS % 2; }

static void plot_line(const plot *p, int count, const double *x, const double *y, int colour) {
    const char *dashes = "";
    int i;
    if (is_dashed(colour)) dashes = " stroke-dasharray=\"6 3\"";
    fprintf(p->file, "<polyline class=\"c%d\"%s points=\"", colour % PLOT_COLOURS, dashes);
    for (i = 0; i < count; i++) fprintf(p->file, "%.1f,%.1f ", plot_x(p, x[i]), plot_y(p, y[i]));
    fprintf(p->file, "\"/>\n");
}

/* How the classes of plots look. */
static void plot_styles(FILE *file, const char *const *colours, const char *text, const char *grid) {
    int c;
    fprintf(file, "text{fill:%s}.grid{stroke:%s}", text, grid);
    for (c = 0; c < PLOT_COLOURS; c++)
        fprintf(file, "polyline.c%d{stroke:%s}text.c%d{fill:%s}span.c%d{color:%s}", c, colours[c], c, colours[c], c, colours[c]);
}

static void plot_end(const plot *p) { fprintf(p->file, "</svg>\n"); }

/* ---- the parts of the page ---------------------------------------------------------------------------------------- */

enum { MOST_SHOWN = 24, THUMBNAIL = 150, BINS = 40, MOST_POINTS = 250000 };

/* What fitted models of all kinds have. */
typedef struct model_view {
    int bands, components;
    double pixels;              /* of the fit */
    const shs_wide *mean;       /* bands */
    const shs_wide *forward;    /* components x bands, column by column: from a pixel to its components */
    const shs_wide *directions; /* bands x components: the spectrum of each */
    const shs_wide *eigenvalues;
    int eigenvalue_count;
} model_view;

static model_view view_of_model(const shs_model *m) {
    model_view view;
    if (m->kind == SHS_MODEL_ICA) {
        view.bands = m->ica.bands;
        view.components = m->ica.components;
        view.pixels = (double)m->ica.count;
        view.mean = m->ica.mean;
        view.forward = m->ica.unmixing;
        view.directions = m->ica.mixing;
        view.eigenvalues = m->ica.eigenvalues;
        view.eigenvalue_count = m->ica.components;
        return view;
    }
    view.bands = m->pca.bands;
    view.components = m->pca.components;
    view.pixels = (double)m->pca.count;
    view.mean = m->pca.mean;
    view.forward = m->pca.forward;
    view.directions = m->pca.vectors;
    view.eigenvalues = m->pca.eigenvalues;
    view.eigenvalue_count = m->pca.eigenvalue_count;
    return view;
}

/* Draws eigenvalues below the range of the plot at the bottom. Behind the edge of Marchenko and Pastur white noise of the
   median's strength reaches no eigenvalue, as far as pixels are independent. */
static void html_eigenvalues(FILE *file, const shs_model *m) {
    model_view view = view_of_model(m);
    int ica = m->kind == SHS_MODEL_ICA, count = view.eigenvalue_count, i;
    const shs_wide *values = view.eigenvalues;
    double *x = ALLOCATE(double, count), *y = ALLOCATE(double, count);
    double least = (double)values[0] * 1e-9, edge = 1, sum = 0, ends[2], edges[2];
    int with_edge = count == view.bands && count > 4 && view.pixels > 1;
    plot p;
    if (!(least > 0)) least = 1e-30;
    for (i = 0; i < count; i++) {
        x[i] = i + 1;
        y[i] = log10(fmax((double)values[i], least));
    }
    html_heading(file, "Eigenvalues");
    p = plot_begin(file, 1, count, floor(y[count - 1]), ceil(y[0] + 0.01), 1, "component");
    plot_line(&p, count, x, y, 0);
    if (with_edge) {
        if (m->kind != SHS_MODEL_MNF) edge = (double)values[count / 2];
        edge *= pow(1 + sqrt(view.bands / view.pixels), 2);
        ends[0] = 1;
        ends[1] = count;
        edges[0] = edges[1] = log10(fmax(edge, least));
        plot_line(&p, 2, ends, edges, 1);
    }
    plot_end(&p);
    if (with_edge) fprintf(file, "<p>Red: the edge of Marchenko and Pastur, %.6g.</p>\n", edge);
    fprintf(file, "<table><tr><th>component<th>eigenvalue<th>");
    if (!ica) fprintf(file, "explained, together");
    fputc('\n', file);
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
    fprintf(file, "<span class=\"c%d\">&#%d; ", colour % PLOT_COLOURS, is_dashed(colour) ? 9633 : 9632); /* hollow, full */
    html_text(file, name);
    fprintf(file, "</span> ");
}

/* The end of a run of bands from this one on: a gap much wider than the mean step between bands ends it. */
static int run_of_bands(const int *list, int bands, int first) {
    double step = 1;
    int b = first + 1;
    if (bands > 1) step = abs(list[bands - 1] - list[0]) / (bands - 1.0);
    while (b < bands && abs(list[b] - list[b - 1]) <= 2 * fmax(step, 1)) b++;
    return b;
}

/* The words of an axis of bands, at most 60 characters. */
static void name_band_axis(const cube_file *f, char *words) {
    if (!f->axis.wavelength) strcpy(words, "band");
    else if (!*f->axis.units) strcpy(words, "wavelength");
    else sprintf(words, "wavelength (%.40s)", f->axis.units);
}

/* Where a band lies on this axis. */
static double band_position(const cube_file *f, int band) {
    if (f->axis.wavelength) return f->axis.wavelength[band];
    return band + 1;
}

/* Curves over the bands in use: over the wavelength, or the number of the band. Curve k begins at values + k * bands. */
static void plot_curves(FILE *file, const job *j, int bands, int count, const shs_wide *values) {
    double *x = ALLOCATE(double, bands), *y = ALLOCATE(double, bands), low = 0, high = 0, first, last;
    char axis[60];
    int k, b, end;
    plot p;
    name_band_axis(&j->in, axis);
    for (b = 0; b < bands; b++) x[b] = band_position(&j->in, j->bands[b]);
    first = last = x[0];
    for (b = 0; b < bands; b++) {
        first = fmin(first, x[b]);
        last = fmax(last, x[b]);
    }
    for (b = 0; b < bands * count; b++) {
        low = fmin(low, (double)values[b]);
        high = fmax(high, (double)values[b]);
    }
    p = plot_begin(file, first, last, low, high, 0, axis);
    for (k = 0; k < count; k++) {
        for (b = 0; b < bands; b++) y[b] = (double)values[(size_t)k * (size_t)bands + (size_t)b];
        fprintf(file, "<g class=\"curve\">");
        for (b = 0; b < bands; b = end) {
            end = run_of_bands(j->bands, bands, b);
            plot_line(&p, end - b, x + b, y + b, k);
        }
        fprintf(file, "</g>\n");
    }
    plot_end(&p);
    free(x);
    free(y);
}

/* With their names below. */
static void html_curves(FILE *file, const job *j, int bands, int count, const shs_wide *values, char *const *names) {
    int k;
    plot_curves(file, j, bands, count, values);
    fprintf(file, "<p>");
    for (k = 0; k < count; k++) {
        char number[12];
        sprintf(number, "%d", k + 1);
        if (names && names[k] && *names[k]) html_legend(file, k, names[k]);
        else html_legend(file, k, number);
    }
    fprintf(file, "</p>\n");
}

/* The first components over the bands. */
static void html_loadings(FILE *file, const job *j, const shs_model *m) {
    model_view view = view_of_model(m);
    if (m->kind == SHS_MODEL_ICA) html_heading(file, "Spectra of the sources over the bands");
    else html_heading(file, "Loadings over the bands");
    html_curves(file, j, view.bands, smaller(view.components, PLOT_COLOURS), view.directions, NULL);
}

/* Draws the histogram of the valid values between the 1st and 99th percentile; equal percentiles give one bar. For scores it
   draws all values, and the logarithm of the counts as height, because the few scores of interest lie at one end. */
static void html_histogram(FILE *file, const double *sorted, size_t count, enum look look) {
    int bins[BINS] = {0}, scores = shows_finds(look), i;
    double low, high, most = 1;
    double heights[BINS];
    size_t cut = 0, p;
    if (!scores) cut = count / 100;
    low = sorted[cut];
    high = sorted[count - 1 - cut];
    for (p = 0; p < count; p++)
        if (sorted[p] >= low && sorted[p] <= high) {
            i = BINS / 2;
            if (high > low) i = (int)((sorted[p] - low) / (high - low) * BINS);
            bins[smaller(i, BINS - 1)]++;
        }
    for (i = 0; i < BINS; i++) {
        heights[i] = bins[i];
        if (scores) heights[i] = log(1.0 + bins[i]);
        most = fmax(most, heights[i]);
    }
    fprintf(file, "<svg viewBox=\"0 0 %d 50\" width=\"%d\" height=\"50\"><path class=\"bars\" d=\"", THUMBNAIL, THUMBNAIL);
    for (i = 0; i < BINS; i++)
        fprintf(file, "M%.1f 50V%.1fH%.1fV50", i * (double)THUMBNAIL / BINS, 50 - 48 * heights[i] / most,
                (i + 0.8) * THUMBNAIL / BINS);
    fprintf(file, "\"/></svg>\n<div class=\"ends\"><span>%.3g</span><span>%.3g</span></div>", low, high);
}

static double mean_of(const double *values, size_t count) {
    double mean = 0;
    size_t i;
    for (i = 0; i < count; i++) mean += values[i] / (double)count;
    return mean;
}

static double kurtosis_of(const double *values, size_t count) {
    double mean = mean_of(values, count), second = 0, fourth = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        double d2 = (values[i] - mean) * (values[i] - mean);
        second += d2 / (double)count;
        fourth += d2 * d2 / (double)count;
    }
    if (!(second > 0)) return 0;
    return fourth / (second * second) - 3;
}

/* Returns the step between the samples and lines of a small picture. */
static int thumbnail_step(const cube_file *f) {
    int step = 1;
    while (f->samples / step > THUMBNAIL || f->lines / step > 2 * THUMBNAIL) step++;
    return step;
}

/* Writes the values as a small picture with a histogram below. The caller writes the caption. Sorts the valid values into
   `sorted` and returns their number. */
static size_t html_thumbnail(FILE *file, const cube_file *f, picture *a, enum look look, const double *values, double *sorted,
                             const char *words) {
    size_t count = picture_size(a), valid = 0, i;
    for (i = 0; i < count; i++)
        if (!is_missing(f, values[i])) sorted[valid++] = values[i];
    qsort(sorted, valid, sizeof *sorted, ascending);
    stretch(f, values, count, look, a->pixels, 1);
    fprintf(file, "<figure>");
    html_picture(file, a, words);
    if (valid) html_histogram(file, sorted, valid, look);
    fprintf(file, "<figcaption>");
    return valid;
}

/* How a picture of scores is to be read. */
static void html_about_scores(FILE *file, enum look look, int step) {
    const char *best = "smallest";
    if (look == LOOK_HIGH) best = "highest";
    fprintf(file, "Black: the median. White: the %s one of %d. In between brightness follows the square root.", best,
            (int)WHITE_SCORES);
    if (step > 1) fprintf(file, " A point shows the %s one of %d x %d pixels.", best, step, step);
}

/* Every band as a small picture; names (may be NULL) are those of bands that have some. */
static void html_thumbnails(FILE *file, cube_file *f, enum look look, const char *name, char *const *names, const shs_model *m) {
    int bands = smaller(f->bands, MOST_SHOWN), step = thumbnail_step(f), list[MOST_SHOWN], b;
    size_t count, valid;
    picture a;
    double *values, *sorted, black, white;
    a = picture_create((f->samples + step - 1) / step, (f->lines + step - 1) / step, 1);
    count = picture_size(&a);
    values = ALLOCATE(double, count *(size_t)bands);
    sorted = ALLOCATE(double, count);
    for (b = 0; b < bands; b++) list[b] = b;
    sampled_bands(f, list, bands, step, look, count, values);
    if (bands < f->bands) html_heading(file, "The first bands");
    else html_heading(file, "Bands");
    if (step > 1 && !shows_finds(look)) fprintf(file, "<p>One of %d samples, one of %d lines.</p>\n", step, step);
    if (shows_finds(look)) {
        fprintf(file, "<p>");
        html_about_scores(file, look, step);
        fprintf(file, " Bars of the histogram are as high as the logarithm of their count.</p>\n");
    }
    fprintf(file, "<div class=\"row\">\n");
    for (b = 0; b < bands; b++) {
        valid = html_thumbnail(file, f, &a, look, values + (size_t)b * count, sorted, "a band of the output");
        fprintf(file, "%s %d", name, b + 1);
        if (names && names[b] && *names[b]) {
            fprintf(file, ": ");
            html_text(file, names[b]);
        }
        if (shows_finds(look)) {
            stretch_ends(sorted, valid, look, &black, &white);
            if (valid) fprintf(file, "<br>black %.4g, white %.4g", black, white);
        } else if (look == LOOK_SHARES) fprintf(file, "<br>mean %.1f %%", 100 * mean_of(sorted, valid));
        else if (valid && !(m && m->kind == SHS_MODEL_ICA)) fprintf(file, "<br>kurtosis %.3g", kurtosis_of(sorted, valid));
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

/* Light or dark as the reader's system is; on a narrow screen pictures and plots shrink, and tables scroll. */
static void html_styles(FILE *file) {
    fprintf(file,
            ":root{color-scheme:light dark}body{font:15px/1.4 sans-serif;margin:2em auto;padding:0 1em;max-width:60em;color:#222;"
            "background:#fff}h1{font-size:1.4em;overflow-wrap:anywhere}h2{font-size:1.1em;margin-top:2em}"
            "svg{max-width:100%%;height:auto}svg text{font-size:12px}svg polyline{fill:none;stroke-width:1.5}"
            ".bars{fill:#1b6ca8}.row{display:flex;flex-wrap:wrap;gap:1em 2em}figure{margin:0;width:%dpx}"
            "figcaption,.ends{font-size:12px;overflow-wrap:anywhere}figure img{width:100%%}"
            ".ends{display:flex;justify-content:space-between}.soft{color:#555}"
            "img{image-rendering:pixelated;display:block;max-width:100%%;height:auto}"
            ".ringed{position:relative;width:fit-content}.ringed svg{position:absolute;inset:0;width:100%%;height:100%%}"
            ".ringed svg{filter:drop-shadow(0 0 1px #000)}"
            "circle{fill:none;stroke:#ff9040;stroke-width:1.5;vector-effect:non-scaling-stroke}"
            "pre{white-space:pre-wrap;overflow-wrap:anywhere}.wide{overflow-x:auto}"
            "caption{text-align:left;font-weight:bold;padding-bottom:0.3em}td,th{text-align:right;padding:0 1em 0 0}td{white-space:nowrap}",
            THUMBNAIL);
    plot_styles(file, plot_colours, "#555", "#ddd");
    fprintf(file, "\n@media(max-width:40em){svg.plot text{font-size:18px}}\n"
                  "@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}.bars{fill:#6cb4ea}.soft{color:#aaa}");
    plot_styles(file, dark_colours, "#b0b0b0", "#3a3e46");
    fprintf(file, "}\n");
}

/* The page's head, down to its title. */
static void html_head(FILE *file, const char *title) {
    fprintf(file, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>");
    html_text(file, title);
    fprintf(file,
            "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>");
    html_styles(file);
    fprintf(file, "</style>\n<h1>");
    html_text(file, title);
    fprintf(file, "</h1>\n");
}

/* With the command and how long it took; NULL: no page is wanted. */
static FILE *html_open(const job *j, const char *title) {
    FILE *file;
    if (!j->s->output.html) return NULL;
    file = open_for_writing(j->s->output.html);
    html_head(file, title);
    fprintf(file, "<pre>");
    html_text(file, j->s->command);
    fprintf(file, "\n%s</pre>\n<p>%d samples, %d lines, %d of %d bands; ", shs_build_info(), file_samples(&j->in), file_lines(&j->in),
            j->cube.band_count, j->in.bands);
    if (j->written > 0) fprintf(file, "fit %.3f s, transform %.3f s.</p>\n", j->fitted - j->start, j->written - j->fitted);
    else fprintf(file, "%.3f s.</p>\n", wall_clock() - j->start);
    return file;
}

static int channels_to_show(const cube_file *f) {
    if (f->bands >= 3) return 3;
    return 1;
}

/* Three bands in colours, as bands_to_show chooses them, or one in grey. */
static void html_colours(FILE *file, cube_file *f, enum look look, const char *words) {
    picture a = false_colours(f, channels_to_show(f), look, MOST_POINTS);
    html_picture(file, &a, words);
    fputc('\n', file);
    free(a.pixels);
}

static void html_quicklook(FILE *file, cube_file *f, const char *words) {
    html_heading(file, "Quick look");
    html_colours(file, f, LOOK_ALL, words);
}

/* Says which bands html_colours shows. */
static void html_output_look(FILE *file, cube_file *f) {
    char words[120] = "the first band of the output";
    int list[3];
    bands_to_show(f, channels_to_show(f), list);
    if (list[0] == list[1] && list[0] == list[2]) {
        if (list[0] > 0) sprintf(words, "band %d of the output", list[0] + 1);
    } else {
        sprintf(words, "bands %d, %d and %d of the output in red, green and blue", list[0] + 1, list[1] + 1, list[2] + 1);
    }
    html_quicklook(file, f, words);
}

/* What the values of an output are: of the similarities only sam is an angle. */
static const char *score_word(const job *j) {
    const char *method = j->s->method;
    if (j->mode == COMPARE) return "difference";
    if (j->look == LOOK_LOW && (!method || !strcmp(method, "sam"))) return "angle";
    return "score";
}

/* What the truth says of a find; nothing where its value is missing. */
static const char *truth_word(const find *f) {
    if (!f->told) return "";
    if (f->target) return "yes";
    return "no";
}

/* The best scores of a band, with their places in the input's file. */
static void html_find_table(FILE *file, const job *j, const char *name, const find *finds, int count) {
    int k;
    fprintf(file, "<table><caption>");
    html_text(file, name);
    fprintf(file, "</caption>\n<tr><th>rank<th>sample<th>line<th>%s", score_word(j));
    if (j->s->detect.truth) fprintf(file, "<th>target");
    fputc('\n', file);
    for (k = 0; k < count; k++) {
        fprintf(file, "<tr><td>%d<td>%d<td>%d<td>%.5g", k + 1, file_left(&j->in) + finds[k].sample,
                file_top(&j->in) + finds[k].line, finds[k].score);
        if (j->s->detect.truth) fprintf(file, "<td>%s", truth_word(&finds[k]));
        fputc('\n', file);
    }
    fprintf(file, "</table>\n");
}

/* Adds places to those of rings, unless a ring is there. Returns how many there are. */
static int add_rings(const find *finds, int count, int step, int apart, int *places, int rings) {
    int k, r;
    for (k = 0; k < count; k++) {
        int x = finds[k].sample / step, y = finds[k].line / step;
        for (r = 0; r < rings && (abs(places[2 * r] - x) > apart || abs(places[2 * r + 1] - y) > apart); r++) {}
        if (r < rings) continue;
        places[2 * rings] = x;
        places[2 * rings + 1] = y;
        rings++;
    }
    return rings;
}

enum { MOST_TABLES = 12 };

/* Scores as a picture with rings around the best, and tables of these. */
static void html_finds(FILE *file, job *j, cube_file *f, const char *method) {
    const char *best = "smallest", *shown = "scores", *of = "";
    int channels = channels_to_show(f), tables = smaller(f->bands, MOST_TABLES), rings = 0, band;
    int counts[MOST_TABLES], places[2 * 3 * FINDS], step = step_for(f, MOST_POINTS);
    find *finds = ALLOCATE(find, MOST_TABLES * FINDS);
    picture a = false_colours(f, channels, j->look, MOST_POINTS);
    for (band = 0; band < tables; band++) {
        counts[band] = best_scores(j, band, finds + band * FINDS);
        if (band < channels) rings = add_rings(finds + band * FINDS, counts[band], step, 2 + a.width / 80, places, rings);
    }
    if (j->look == LOOK_HIGH) best = "highest";
    if (f->bands > 1) of = " of the first target";
    if (j->mode == COMPARE) {
        shown = "root mean squared differences";
        of = " by the root mean square";
    }
    if (channels == 3) {
        shown = "scores of the first three targets in red, green and blue";
        of = " of each of the first three targets";
    }
    html_heading(file, "Quick look");
    html_ringed(file, &a, shown, rings, places);
    fprintf(file, "<p>Rings are around the %d %s %ss%s. ", FINDS, best, score_word(j), of);
    html_about_scores(file, j->look, step);
    fprintf(file, "</p>\n");
    fprintf(file, "<h%d>The %d %s %ss</h%d>\n<p>Samples and lines count from 0, as those of <code>--window</code> do.", html_level,
            FINDS, best, score_word(j), html_level);
    if (tables < f->bands) fprintf(file, " The first %d of %d targets; <code>--report CSV</code> writes all.", tables, f->bands);
    fprintf(file, "</p>\n<div class=\"row wide\">\n");
    for (band = 0; band < tables; band++)
        html_find_table(file, j, score_name(j, band, method), finds + band * FINDS, counts[band]);
    fprintf(file, "</div>\n");
    free(finds);
    free(a.pixels);
}

/* The page, which stays open; without a model the output alone. NULL: none is wanted. */
static FILE *html_begin(job *j, const char *band_name, const shs_model *m) {
    FILE *file = html_open(j, j->out.description);
    cube_file f;
    if (!file) return NULL;
    f = cube_open(j->out.header_name, j->out.data_name);
    if (j->look == LOOK_ALL) html_output_look(file, &f);
    else html_finds(file, j, &f, band_name);
    if (m) html_eigenvalues(file, m);
    if (m) html_loadings(file, j, m);
    html_thumbnails(file, &f, j->look, band_name, j->out.names, m);
    cube_close(&f);
    return file;
}

static void html_finish(const job *j, FILE *file) {
    if (!file) return;
    fprintf(file, "</html>\n");
    close_written(file, j->s->output.html);
}

static void write_html(job *j, const char *band_name, const shs_model *m) { html_finish(j, html_begin(j, band_name, m)); }

#endif /* HYPERCUBE_HTML */
