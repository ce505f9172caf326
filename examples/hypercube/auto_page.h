/* auto_page.h - the page of a first look: what each step wrote, with the command that writes it again. */
#ifndef HYPERCUBE_AUTO_PAGE
#define HYPERCUBE_AUTO_PAGE

#include "badbands.h"
#include "models.h"
#include "unmix.h"

enum look_step { LOOK_BANDS, LOOK_PICTURE, LOOK_COUNT, LOOK_PCA, LOOK_MNF, LOOK_ENDMEMBERS, LOOK_UNMIX, LOOK_RX, LOOK_STEPS };

/* All that a first look may write; the page is the last. */
static const char *const look_files[] = {
    "bands.csv", "look.hdr",  "look.img", "look.png",  "count.csv",      "pca.hdr",        "pca.img",
    "pca.model", "mnf.hdr",   "mnf.img",  "mnf.model", "endmembers.csv", "abundances.hdr", "abundances.img",
    "error.hdr", "error.img", "rx.hdr",   "rx.img",    "rx.csv",         "index.html",
};
enum { LOOK_FILES = (int)(sizeof look_files / sizeof *look_files) };

typedef struct first_look {
    settings *s; /* of auto */
    const char *program, *scene;
    char *folder, *room; /* where results are at last, and where they are made */
    int exists;          /* the folder does */
    char *parts[LOOK_FILES];
    band_states states;
    char *bands; /* those in use, as a list; NULL: not known yet */
    int used, shown[3], true_colours, materials, counts[SHS_COUNTER_COUNT];
    char *commands[LOOK_STEPS]; /* NULL: not run */
} first_look;

static char *look_file(const char *folder, const char *name) {
    char *begun = joined(folder, "/"), *whole = joined(begun, name);
    free(begun);
    return whole;
}

/* ---- what the steps wrote ----------------------------------------------------------------------------------------- */

/* As write_band_states wrote it. */
static band_states read_band_states(const char *name) {
    size_t size;
    unsigned char *bytes = read_file(name, TABLE_BYTES, &size);
    char *text = copy_text((const char *)bytes, (const char *)bytes + size);
    const char *at = next_line(text), *line;
    band_states b = SHS_ZERO;
    int i, k, count;
    for (line = at; *line; line = next_line(line)) b.bands++;
    b.state = ALLOCATE(enum band_state, b.bands);
    b.snr = ALLOCATE(double, b.bands);
    for (i = 0; i < b.bands; i++) {
        char **cells = table_cells(&at, ',', &count);
        (void)cell_number(cells[2], ',', &b.snr[i]);
        for (k = 0; k < BAND_STATES; k++)
            if (!strcmp(cells[4], band_words[k])) b.state[i] = (enum band_state)k;
        free_cells(cells, count);
    }
    free(text);
    free(bytes);
    return b;
}

/* As run_count wrote them, by the number of the method. */
static void read_counts(const char *name, int *counts) {
    FILE *file = fopen(name, "r");
    char word[32];
    int count, i;
    if (!file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    if (fscanf(file, "%*[^\n]") == EOF) fail(EXIT_ERROR, "%s: it is empty", name);
    while (fscanf(file, " %31[^,],%d", word, &count) == 2)
        for (i = 0; i < SHS_COUNTER_COUNT; i++)
            if (!strcmp(word, shs_counter_name((shs_counter)i))) counts[i] = count;
    fclose(file);
}

/* The bands in red, green and blue; whether they are near to these colours. Without such bands three are taken evenly. */
static int look_bands(const job *j, int *list) {
    static const double wanted[] = {650, 550, 450};
    const double reach = 50;
    int n = j->cube.band_count, true_colours = has_wavelengths(&j->in), c, i;
    for (c = 0; c < 3 && true_colours; c++) {
        double nearest = -1;
        for (i = 0; i < n; i++) {
            double off = fabs(band_nanometres(&j->in, j->bands[i]) - wanted[c]);
            if (nearest >= 0 && off >= nearest) continue;
            nearest = off;
            list[c] = j->bands[i];
        }
        true_colours = nearest <= reach;
    }
    for (c = 0; c < 3 && !true_colours; c++) list[c] = j->bands[(3 - c) * n / 4];
    return true_colours;
}

static cube_file look_cube(const first_look *a, const char *name) {
    char *whole = look_file(a->room, name);
    cube_file f = cube_open(whole, NULL);
    free(whole);
    return f;
}

/* The three bands that look_bands chose, whichever the scene's header names for pictures. */
static picture look_colours(cube_file *look) {
    static const int list[] = {0, 1, 2};
    return bands_in_colours(look, list, 3, LOOK_ALL, MOST_POINTS);
}

/* Spectra in the bands in use, as write_spectra wrote them. */
static spectra look_spectra(const first_look *a, const job *j) {
    char *name = look_file(a->room, "endmembers.csv");
    table t = table_read(j, name);
    const int first = 1; /* behind the place of the band */
    int k, r;
    spectra s = SHS_ZERO;
    s.count = t.columns - first;
    s.names = ALLOCATE(char *, s.count);
    s.values = ALLOCATE(shs_wide, (size_t)t.rows * (size_t)s.count);
    for (k = 0; k < s.count; k++) {
        s.names[k] = joined(heading_of(&t, first + k), "");
        for (r = 0; r < t.rows; r++) s.values[(size_t)k * (size_t)t.rows + (size_t)r] = (shs_wide)table_value(&t, r, first + k);
    }
    table_free(&t);
    free(name);
    return s;
}

/* ---- parts of the page -------------------------------------------------------------------------------------------- */

/* A command whose lines do not end behind the hyphens of an option. */
static void look_command(FILE *page, const char *command) {
    const char *at;
    while ((at = strstr(command, " --")) != NULL) {
        char *before = copy_text(command, at + 1), *name = copy_text(at + 1, at + 1 + strcspn(at + 1, " "));
        html_text(page, before);
        fprintf(page, "<span>%s</span>", name);
        command = at + 1 + strlen(name);
        free(before);
        free(name);
    }
    html_text(page, command);
}

static void look_section(FILE *page, const first_look *a, const char *id, const char *title, enum look_step step) {
    fprintf(page, "<h2 id=\"%s\">%s</h2>\n", id, title);
    if (!a->commands[step]) return;
    fprintf(page, "<pre class=\"command\">");
    look_command(page, a->commands[step]);
    fprintf(page, "</pre>\n");
}

/* The bands' ratios over the axis, one line for each run of bands in use, and strokes for those that are left out. */
static void look_snr(FILE *page, const first_look *a, const job *j) {
    const band_states *b = &a->states;
    double *x = ALLOCATE(double, b->bands), *y = ALLOCATE(double, b->bands), low = 0, high = 1, first, last;
    char axis[60];
    int i, k;
    plot p;
    name_band_axis(&j->in, axis);
    for (i = 0; i < b->bands; i++) {
        x[i] = band_position(&j->in, i);
        y[i] = 0;
        if (isfinite(b->snr[i]) && b->snr[i] > 0) y[i] = log10(b->snr[i]);
        high = fmax(high, y[i]);
        low = fmin(low, y[i]);
    }
    first = last = x[0];
    for (i = 0; i < b->bands; i++) {
        first = fmin(first, x[i]);
        last = fmax(last, x[i]);
    }
    p = plot_begin(page, first, last, floor(low), ceil(high), 1, axis);
    for (i = 0; i < b->bands; i++)
        if (b->state[i] != BAND_USED)
            fprintf(page, "<path class=\"out\" d=\"M%.1f 12V%d\"/>\n", plot_x(&p, x[i]), PLOT_HEIGHT - 40);
    for (i = 0; i < b->bands; i = k) {
        for (k = i; k < b->bands && b->state[k] == BAND_USED && isfinite(b->snr[k]); k++) {}
        if (k > i) plot_line(&p, k - i, x + i, y + i, 0);
        else k++;
    }
    plot_end(&p);
    free(x);
    free(y);
}

static const char *const state_sentences[BAND_STATES] = {
    "",
    "not chosen by an option",
    "bad by the header (bbl)",
    "in water vapour's windows",
    "missing in many pixels",
    "one value only",
    "noisy",
};

/* A list of bands with room to break lines. */
static void look_list(FILE *page, const char *list) {
    for (; *list; list++) {
        fputc(*list, page);
        if (*list == ',') fputc(' ', page);
    }
}

static void look_bad_bands(FILE *page, const first_look *a, const job *j) {
    int state;
    double least = least_band_snr(a->s);
    look_section(page, a, "bands", "Bad bands", LOOK_BANDS);
    fprintf(
        page,
        "<p>%d of %d bands are used. Signal to noise ratio of a band: the variance that the other bands predict, divided by "
        "the variance that they do not predict. Bands left out are marked.</p>\n",
        a->used, a->states.bands);
    look_snr(page, a, j);
    fprintf(page, "<table class=\"words\"><tr><th>bands<th>why they are left out\n");
    for (state = BAND_NOT_CHOSEN; state < BAND_STATES; state++) {
        char *list = list_of_state(&a->states, (enum band_state)state);
        if (*list) {
            fprintf(page, "<tr><td>");
            look_list(page, list);
            fprintf(page, "<td>%s\n", state_sentences[state]);
        }
        free(list);
    }
    if (a->used == a->states.bands) fprintf(page, "<tr><td>none<td>\n");
    fprintf(page,
            "</table>\n<p>To choose other bands, run <code>auto</code> with <code>--bands LIST</code>, with <code>--band-snr "
            "R</code> (now %g) or with <code>--keep-water</code>.</p>\n",
            least);
}

static void look_picture(FILE *page, const first_look *a, const job *j) {
    cube_file f = look_cube(a, "look.hdr");
    picture p = look_colours(&f);
    const char *title = "Quick look", *words = "three bands of the scene in red, green and blue";
    const int *shown = a->shown;
    double at[3];
    int c, step = step_for(&f, MOST_POINTS);
    if (a->true_colours) {
        title = "True colours";
        words = "the scene in true colours";
    }
    look_section(page, a, "look", title, LOOK_PICTURE);
    html_picture(page, &p, words);
    fprintf(page, "<p>Red, green and blue: bands %d, %d, %d", shown[0] + 1, shown[1] + 1, shown[2] + 1);
    for (c = 0; c < 3 && a->true_colours; c++) at[c] = band_nanometres(&j->in, shown[c]);
    if (a->true_colours) fprintf(page, " at %.4g, %.4g, %.4g nm", at[0], at[1], at[2]);
    fprintf(page, ". Each is stretched from its 2nd to its 98th percentile; missing pixels are black.");
    if (!has_wavelengths(&j->in)) fprintf(page, " The header has no wavelengths, so true colours are not known.");
    else if (!a->true_colours) fprintf(page, " No bands near 650, 550 and 450 nm are used, so there are no true colours.");
    if (step > 1) fprintf(page, " One of %d x %d pixels is shown.", step, step);
    fprintf(page, "</p>\n");
    free(p.pixels);
    cube_close(&f);
}

static void look_counts(FILE *page, const first_look *a) {
    static const char *const about[SHS_COUNTER_COUNT] = {"signal power above noise power",
                                                         "eigenvalues of correlation and covariance differ",
                                                         "the same after whitening the noise"};
    int i;
    look_section(page, a, "count", "How many materials", LOOK_COUNT);
    if (a->commands[LOOK_COUNT]) {
        fprintf(page, "<table class=\"words\"><tr><th>method<th>count<th>counts where\n");
        for (i = 0; i < SHS_COUNTER_COUNT; i++)
            fprintf(page, "<tr><td>%s<td>%d<td>%s\n", shs_counter_name((shs_counter)i), a->counts[i], about[i]);
        fprintf(page,
                "</table>\n<p>Real scenes have more directions than materials: light, shadow and nonlinear mixing add some. ");
    } else fprintf(page, "<p>The number was given. ");
    fprintf(page, "This page goes on with %d endmembers; <code>--count N</code> sets another number.</p>\n", a->materials);
}

/* The files of a step that finds components, and the words of its section. */
typedef struct component_section {
    const char *header, *model;
    enum look_step step;
    const char *mark, *title, *band_name, *colours, *order;
} component_section;

static const component_section pca_section = {
    "pca.hdr", "pca.model", LOOK_PCA, "pca", "Principal components", "PC",
    "the first three principal components in red, green and blue",
    "Components in the order of their variance.",
};
static const component_section mnf_section = {
    "mnf.hdr", "mnf.model", LOOK_MNF, "mnf", "Minimum noise fraction", "MNF",
    "the first three MNF components in red, green and blue",
    "Components in the order of their signal to noise ratio; an eigenvalue is that ratio plus 1.",
};

/* Components: the first three in colours, eigenvalues, all as small pictures. */
static void look_components(FILE *page, const first_look *a, const component_section *of) {
    cube_file f = look_cube(a, of->header);
    char *name = look_file(a->room, of->model);
    shs_model m = load_model(name, NULL);
    look_section(page, a, of->mark, of->title, of->step);
    html_colours(page, &f, LOOK_ALL, of->colours);
    fprintf(page, "<p>%s ", of->order);
    fprintf(page, "The first three are shown in red, green and blue.</p>\n<details><summary>Eigenvalues</summary>\n");
    html_eigenvalues(page, &m);
    fprintf(page, "</details>\n");
    html_thumbnails(page, &f, LOOK_ALL, of->band_name, NULL, NULL);
    shs_model_free(NULL, &m);
    free(name);
    cube_close(&f);
}

/* The scene with numbered rings where endmembers are. */
static void look_places(FILE *page, const first_look *a, const job *j, const spectra *s) {
    cube_file f = look_cube(a, "look.hdr");
    picture p = look_colours(&f);
    int step = step_for(&f, MOST_POINTS), k, x, y;
    double size = fmax(p.width, p.height) / 30.0;
    fprintf(page, "<div class=\"ringed\">");
    html_picture(page, &p, "the scene with rings around the endmembers");
    fprintf(page, "<svg viewBox=\"0 0 %d %d\">", p.width, p.height);
    for (k = 0; k < s->count; k++) {
        const char *anchor = "start";
        double right = 0.7, down = 0.35; /* where the number stands beside the ring */
        if (sscanf(s->names[k], "%*s %d %d", &x, &y) != 2) continue;
        x = (x - file_left(&j->in)) / step;
        y = (y - file_top(&j->in)) / step;
        if (x > p.width * 0.9) {
            anchor = "end";
            right = -0.7;
        }
        if (y < size) down = 0.8;
        fprintf(page,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/><text class=\"place\" style=\"font-size:%.1fpx\" x=\"%.1f\" "
                "y=\"%.1f\" text-anchor=\"%s\">%d</text>",
                x + 0.5, y + 0.5, size / 2, size, x + 0.5 + right * size, y + 0.5 + down * size, anchor, k + 1);
    }
    fprintf(page, "</svg></div>\n");
    free(p.pixels);
    cube_close(&f);
}

static void look_endmembers(FILE *page, const first_look *a, const job *j, const spectra *s) {
    int learnt = a->s->method && !strcmp(a->s->method, "learn"), k;
    spectra numbered;
    look_section(page, a, "endmembers", "Endmembers", LOOK_ENDMEMBERS);
    if (!learnt) {
        look_places(page, a, j, s);
        fprintf(page, "<p>Each endmember is a pixel of the scene: the name says its sample and line, counted from 0.</p>\n");
    }
    numbered = *s;
    numbered.names = ALLOCATE(char *, s->count);
    for (k = 0; k < s->count; k++) {
        char number[16];
        sprintf(number, "%d: ", k + 1);
        numbered.names[k] = joined(number, s->names[k]);
    }
    html_spectra(page, j, &numbered, "Spectra of the endmembers");
    for (k = 0; k < s->count; k++) free(numbered.names[k]);
    free(numbered.names);
}

static void look_abundances(FILE *page, const first_look *a, const spectra *s) {
    cube_file f = look_cube(a, "abundances.hdr");
    cube_file error = look_cube(a, "error.hdr");
    look_section(page, a, "abundances", "Abundances", LOOK_UNMIX);
    html_colours(page, &f, LOOK_SHARES, "the first three abundances in red, green and blue");
    fprintf(page, "<p>How much of each endmember a pixel holds: none is negative, and they add up to 1. Black is 0, white is "
                  "1. The first "
                  "three are shown in red, green and blue.</p>\n");
    html_thumbnails(page, &f, LOOK_SHARES, "Abundance", s->names, NULL);
    html_heading(page, "Where the mixtures fit badly");
    html_colours(page, &error, LOOK_ALL, "how far each pixel is from its mixture");
    fprintf(page, "<p>The root of the mean squared difference between a pixel and its mixture, in the units of the pixels. "
                  "Bright is bad. "
                  "<code>info</code> tells the least, mean and largest value.</p>\n");
    cube_close(&f);
    cube_close(&error);
}

static void look_anomalies(FILE *page, const first_look *a, job *j) {
    cube_file f = look_cube(a, "rx.hdr");
    look_section(page, a, "anomalies", "Anomalies", LOOK_RX);
    fprintf(page, "<p>How unlike the scene each pixel is (Reed-Xiaoli): the squared Mahalanobis distance from the mean.</p>\n");
    j->out.header_name = f.header_name;
    j->out.data_name = f.data_name;
    j->out.folded = j->in.folded;
    j->out.bands = 1;
    j->look = LOOK_HIGH;
    html_finds(page, j, &f, "RX");
    j->out.header_name = j->out.data_name = NULL;
    cube_close(&f);
}

static void look_styles(FILE *page) {
    fprintf(page,
            "<style>h2{border-top:1px solid #8884;padding-top:0.8em}h3{font-size:1em}nav{display:flex;flex-wrap:wrap;gap:0.2em "
            "1.2em}nav a,summary{color:#1b6ca8}.command{background:#8882;padding:0.5em 0.8em;border-radius:4px;font-size:13px}"
            "pre span{white-space:nowrap}.out{stroke:#d1495b;stroke-opacity:0.35;stroke-width:2}.words td,.words "
            "th{text-align:left;"
            "white-space:normal;vertical-align:top}.ringed text.place{fill:#ff9040;font-weight:bold}"
            "@media(prefers-color-scheme:dark){nav a,summary{color:#6cb4ea}}</style>\n");
}

static void look_top(FILE *page, const first_look *a, const job *j, double seconds) {
    static const char *const links[][2] = {
        {"look", "Quick look"},
        {"bands", "Bad bands"},
        {"count", "How many materials"},
        {"pca", "PCA"},
        {"mnf", "MNF"},
        {"endmembers", "Endmembers"},
        {"abundances", "Abundances"},
        {"anomalies", "Anomalies"},
        {"again", "All commands"},
    };
    size_t i;
    if (*j->in.description) {
        fprintf(page, "<p>");
        html_text(page, j->in.description);
        fprintf(page, "</p>\n");
    }
    fprintf(page, "<p>%d samples, %d lines, %d bands of %s, of which %d are used. Made in %.1f s.</p>\n<nav>",
            file_samples(&j->in), file_lines(&j->in), j->in.bands, type_name(&j->in), a->used, seconds);
    for (i = 0; i < sizeof links / sizeof *links; i++) fprintf(page, "<a href=\"#%s\">%s</a>\n", links[i][0], links[i][1]);
    fprintf(page, "</nav>\n");
}

/* All commands together. */
static void look_again(FILE *page, const first_look *a) {
    int i;
    fprintf(
        page,
        "<h2 id=\"again\">All commands</h2>\n<p>Each command writes the same files again. Run them where <code>auto</code> was "
        "run.</p>\n<pre class=\"commands\">");
    for (i = 0; i < LOOK_STEPS; i++) {
        if (!a->commands[i]) continue;
        look_command(page, a->commands[i]);
        fputc('\n', page);
    }
    fprintf(page, "</pre>\n");
}

static void write_look(const first_look *a, job *j, double seconds) {
    char *name = look_file(a->room, "index.html"), *title = joined("First look at ", a->scene);
    FILE *page = open_for_writing(name);
    spectra s = look_spectra(a, j);
    html_head(page, title);
    look_styles(page);
    html_level = 3;
    look_top(page, a, j, seconds);
    look_picture(page, a, j);
    look_bad_bands(page, a, j);
    look_counts(page, a);
    look_components(page, a, &pca_section);
    look_components(page, a, &mnf_section);
    look_endmembers(page, a, j, &s);
    look_abundances(page, a, &s);
    look_anomalies(page, a, j);
    look_again(page, a);
    fprintf(page, "</html>\n");
    close_written(page, name);
    spectra_free(&s);
    free(name);
    free(title);
}

#endif /* HYPERCUBE_AUTO_PAGE */
