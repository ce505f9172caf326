/* unmix.h - what pixels are mixed of: endmembers from the cube itself or a table, and how much of each a pixel holds. */
#ifndef HYPERCUBE_UNMIX
#define HYPERCUBE_UNMIX

#include "targets.h"

/* The method of that name, or SHS_EXTRACTOR_COUNT. */
static shs_extractor extractor_named(const char *text) {
    int i = 0;
    while (i < SHS_EXTRACTOR_COUNT && strcmp(text, shs_extractor_name((shs_extractor)i))) i++;
    return (shs_extractor)i;
}

/* As check_job, with the words of the options that endmembers came by. */
static void check_unmixing(job *j, shs_status status) {
    const settings *s = j->s;
    if (s->count && (status == SHS_BAD_COMPONENTS || status == SHS_RANK_TOO_LOW))
        fail(EXIT_ERROR, "%s: --count %d: %s", j->in.header_name, s->count, shs_status_text(status));
    if (s->endmembers && (status == SHS_BAD_ENDMEMBERS || status == SHS_DEPENDENT_ENDMEMBERS))
        fail(EXIT_ERROR, "%s: --endmembers %s: %s", j->in.header_name, s->endmembers, shs_status_text(status));
    check_job(j, status);
}

/* Pixels of the cube, named by the method and their place in the file. */
static spectra spectra_from_cube(job *j, shs_extractor method) {
    shs_endmember_options options = SHS_ZERO;
    shs_endmembers found = SHS_ZERO;
    spectra s = SHS_ZERO;
    size_t bytes, width = (size_t)j->in.samples;
    int k;
    if (!j->s->count) fail(EXIT_USAGE, "--count: is needed: how many endmembers");
    options.method = method;
    options.count = j->s->count;
    options.seed = j->s->seed;
    check_unmixing(j, shs_endmembers_find(&j->ctx, &j->fit, &options, &found));
    progress_clear();
    bytes = (size_t)found.bands * (size_t)found.count * sizeof(shs_wide);
    s.count = found.count;
    s.names = ALLOCATE(char *, found.count);
    s.values = (shs_wide *)allocate(bytes, 1);
    memcpy(s.values, found.spectra, bytes);
    for (k = 0; k < found.count; k++) {
        char name[80];
        sprintf(name, "%s %.0f %.0f", shs_extractor_name(method), (double)(found.pixel[k] % width) + (double)j->in.left,
                (double)(found.pixel[k] / width) + (double)j->in.top);
        s.names[k] = joined(name, "");
        printf("endmember %d: pixel %.0f,%.0f\n", k + 1, (double)(found.pixel[k] % width) + (double)j->in.left,
               (double)(found.pixel[k] / width) + (double)j->in.top);
    }
    shs_endmembers_free(&j->ctx, &found);
    return s;
}

/* A column for each spectrum and a row for each band in use, such as spectra_from_table reads. */
static void write_spectra(const job *j, const spectra *s, const char *name) {
    FILE *file = open_for_writing(name);
    int b, k, n = j->cube.band_count;
    if (j->in.wavelength) fprintf(file, "wavelength,");
    for (k = 0; k < s->count; k++) fprintf(file, "%s%s", s->names[k], k + 1 < s->count ? "," : "\n");
    for (b = 0; b < n; b++) {
        if (j->in.wavelength) fprintf(file, "%.10g,", j->in.wavelength[j->bands[b]]);
        for (k = 0; k < s->count; k++)
            fprintf(file, "%.17g%s", (double)s->values[(size_t)k * (size_t)n + (size_t)b], k + 1 < s->count ? "," : "\n");
    }
    close_written(file, name);
}

static void run_endmembers(const settings *s, char **names) {
    shs_extractor method = extractor_named(s->method ? s->method : "vca");
    spectra found;
    job *j;
    if (method == SHS_EXTRACTOR_COUNT) fail(EXIT_USAGE, "--method: %s is unknown", s->method);
    j = job_open(s, ENDMEMBERS, names[0], NULL);
    will_read(j->in.header_name);
    will_read(j->in.data_name);
    will_write(names[1]);
    found = spectra_from_cube(j, method);
    write_spectra(j, &found, names[1]);
    printf("seconds=%.3f endmembers=%d bands=%d\n", wall_clock() - j->start, found.count, j->cube.band_count);
    spectra_free(&found);
    job_close(j);
}

static void run_unmix(const settings *s, char **names) {
    static const char *const constraints[] = {"none", "nonnegative", "sum", "full"}; /* as shs_constraint counts them */
    shs_constraint constraint = (shs_constraint)(s->constraint ? choose("--constraint", s->constraint, constraints, 4) : 3);
    shs_extractor method;
    spectra of;
    job *j;
    if (!s->endmembers) fail(EXIT_USAGE, "--endmembers: is needed: a table or vca, nfindr, atgp");
    method = extractor_named(s->endmembers);
    if (method == SHS_EXTRACTOR_COUNT && s->count) fail(EXIT_USAGE, "--count: %s says already how many", s->endmembers);
    if (method == SHS_EXTRACTOR_COUNT) will_read(s->endmembers);
    j = job_open(s, UNMIX, names[0], names[1]);
    of = method == SHS_EXTRACTOR_COUNT ? spectra_from_table(j, s->endmembers) : spectra_from_cube(j, method);
    output_start(j, of.count, "Abundances in ");
    check_unmixing(j, shs_unmix(&j->ctx, &j->cube, of.count, of.values, j->cube.band_count, constraint, &j->sink));
    progress_clear();
    output_show(j, "Abundance", NULL);
    write_html(j, "Abundance", NULL);
    printf("seconds=%.3f endmembers=%d constraint=%s\n", j->written - j->start, of.count, constraints[constraint]);
    spectra_free(&of);
    job_close(j);
}

#endif /* HYPERCUBE_UNMIX */
