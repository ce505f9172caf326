/* places.h - spectra of pixels and regions of a cube, as a table and as a picture. */
#ifndef HYPERCUBE_PLACES
#define HYPERCUBE_PLACES

#include "pixelwise.h"
#include "targets.h"

/* How many places the text names: X,Y or X,Y,W,H, divided by semicolons or blanks. */
static int count_places(const char *text) {
    int count = 0;
    for (text += strspn(text, "; "); *text; text += strspn(text, "; ")) {
        text += strcspn(text, "; ");
        count++;
    }
    return count;
}

/* The mean over the pixels of one place that have all bands in use. */
static char *spectrum_of_place(job *j, const char *place, shs_wide *values) {
    const char *size = "", *kind = "mean ", *lack = "no pixel there has all bands in use; --bands or --bbl leave bands out";
    int window[4], n = j->cube.band_count, b;
    double *mean = ALLOCATE(double, n);
    char *region, *name;
    if (names_pixel(place)) {
        size = ",1,1";
        kind = "pixel ";
        lack = "the pixel is left out";
    }
    region = joined(place, size);
    name = joined(kind, place);
    region_of(j, "--at", region, window);
    if (!(figure_of_pixels(j, window, MEAN, mean) > 0)) {
        spectra missing = SHS_ZERO;
        if (names_pixel(place)) missing = spectrum_of_pixel(j, "--at", place); /* fails, and names the band */
        spectra_free(&missing);
        fail(EXIT_ERROR, "%s: --at %s: %s", j->in.header_name, place, lack);
    }
    for (b = 0; b < n; b++) values[b] = (shs_wide)mean[b];
    for (b = 0; name[b]; b++)
        if (name[b] == ',') name[b] = ' ';
    free(region);
    free(mean);
    return name;
}

static spectra spectra_of_places(job *j, const char *text) {
    spectra s = SHS_ZERO;
    int count = count_places(text), k;
    size_t n = (size_t)j->cube.band_count;
    if (!count) fail(EXIT_USAGE, "--at: '%s' names no place, such as 12,30 or 12,30,5,5", text);
    s.count = count;
    s.names = ALLOCATE(char *, count);
    s.values = ALLOCATE(shs_wide, n * (size_t)count);
    for (k = 0; k < count; k++) {
        char *place;
        text += strspn(text, "; ");
        place = copy_text(text, text + strcspn(text, "; "));
        text += strlen(place);
        s.names[k] = spectrum_of_place(j, place, s.values + (size_t)k * n);
        free(place);
    }
    return s;
}

/* A picture that needs nothing else: the curves, their names above them. */
static void write_curves(const job *j, const spectra *s, const char *name) {
    FILE *file = open_for_writing(name);
    int rows = (s->count + 2) / 3, top = 18 * rows + 6, k;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n<style>svg{background:#fff}"
            "text{font:12px sans-serif}polyline{fill:none;stroke-width:1.5}",
            PLOT_WIDTH, PLOT_HEIGHT + top);
    plot_styles(file, plot_colours, "#555", "#ddd");
    fprintf(file, "</style>\n");
    for (k = 0; k < s->count; k++) {
        fprintf(file, "<text class=\"c%d\" x=\"%d\" y=\"%d\">%s ", k % PLOT_COLOURS, PLOT_MARGIN + k % 3 * 190, 18 + k / 3 * 18,
                is_dashed(k) ? "- -" : "&#8212;");
        html_text(file, s->names[k]);
        fprintf(file, "</text>\n");
    }
    fprintf(file, "<g transform=\"translate(0 %d)\">\n", top);
    plot_curves(file, j, j->cube.band_count, s->count, s->values);
    fprintf(file, "</g>\n</svg>\n");
    close_written(file, name);
}

/* The table has a column for each place, such as unmix and detect read. */
static void run_places(const settings *s, char **names) {
    job *j = job_open(s, SPECTRA, names[0], NULL);
    spectra found;
    if (s->spectra.smooth || s->spectra.resample || s->spectra.continuum || s->spectra.derivative)
        fail(EXIT_USAGE, "--at: writes spectra as they are; run spectra once more on the table %s", names[1]);
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    will_write(names[1]);
    if (s->spectra.svg) will_write(s->spectra.svg);
    found = spectra_of_places(j, s->spectra.at);
    write_spectra(j, &found, names[1]);
    if (s->spectra.svg) write_curves(j, &found, s->spectra.svg);
    tell_beyond(&j->in);
    printf("spectra=%d bands=%d\n", found.count, j->cube.band_count);
    spectra_free(&found);
    job_close(j);
}

#endif /* HYPERCUBE_PLACES */
