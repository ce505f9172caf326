/* models.h - what was fitted: in a file, as tables and arrays for other programs, and used on another cube. */
#ifndef HYPERCUBE_MODELS
#define HYPERCUBE_MODELS

#include "html.h"

/* Matrices of a model by name, column by column, for numpy; its files are PREFIX_NAME.npy. */
typedef struct named_matrix {
    const char *name;
    const shs_wide *values;
    int rows, columns;
} named_matrix;

/* Those of a PCA, MNF or ICA; returns how many. */
static int named_matrices(const shs_model *m, named_matrix *list) {
    const shs_pca *p = &m->pca;
    const shs_ica *i = &m->ica;
    const named_matrix of_pca[] = {
        {"mean", p->mean, p->bands, 1},
        {"scale", p->scale, p->bands, 1},
        {"eigenvalues", p->eigenvalues, p->eigenvalue_count, 1},
        {"vectors", p->vectors, p->bands, p->components},
        {"forward", p->forward, p->components, p->bands},
        {"backward", p->backward, p->bands, p->components},
        {"wavelengths", m->wavelengths, p->bands, 1},
        {"noise", p->noise, p->bands, p->bands},
    };
    const named_matrix of_ica[] = {
        {"mean", i->mean, i->bands, 1},
        {"eigenvalues", i->eigenvalues, i->components, 1},
        {"whitening", i->whitening, i->components, i->bands},
        {"rotation", i->rotation, i->components, i->components},
        {"unmixing", i->unmixing, i->components, i->bands},
        {"mixing", i->mixing, i->bands, i->components},
        {"wavelengths", m->wavelengths, i->bands, 1},
    };
    const int count_of_pca = (int)(sizeof of_pca / sizeof *of_pca), count_of_ica = (int)(sizeof of_ica / sizeof *of_ica);
    if (m->kind == SHS_MODEL_ICA) {
        memcpy(list, of_ica, sizeof of_ica);
        return count_of_ica;
    }
    memcpy(list, of_pca, sizeof of_pca);
    if (m->kind == SHS_MODEL_MNF) return count_of_pca;
    return count_of_pca - 1; /* no noise */
}

enum { MOST_MATRICES = 8 };

static char *matrix_file(const char *prefix, const char *name) {
    char *stem = joined(prefix, "_"), *whole = joined(stem, name), *file = joined(whole, ".npy");
    free(stem);
    free(whole);
    return file;
}

static int write_piece(void *user, const void *bytes, size_t count) { return fwrite(bytes, 1, count, (FILE *)user) != count; }

static void write_matrix(const char *prefix, const named_matrix *m) {
    char *name = matrix_file(prefix, m->name);
    FILE *file = open_for_writing(name);
    shs_npy npy = SHS_ZERO;
    npy.kind = 'f';
    npy.size = (int)sizeof(shs_wide);
    npy.fortran_order = 1;
    if (m->columns == 1) npy.dimensions = 1;
    else npy.dimensions = 2;
    npy.rows = (uint64_t)m->rows;
    npy.columns = (uint64_t)m->columns;
    if (shs_npy_write_header(&npy, write_piece, file) == SHS_OK) /* close_written asks whether all was written */
        (void)shs_npy_write_values(&npy, sizeof(shs_wide) == 8 ? SHS_TYPE_F64 : SHS_TYPE_F32, m->values, (size_t)m->rows,
                                   write_piece, file);
    close_written(file, name);
    free(name);
}

static shs_model_kind kind_to_fit(const job *j) {
    if (j->mode == ICA) return SHS_MODEL_ICA;
    if (j->mode == RX) return SHS_MODEL_RX;
    if (j->mode == MNF || j->s->fit.mnf) return SHS_MODEL_MNF;
    return SHS_MODEL_PCA;
}

/* The names are known before the fit: no file may be another one's. */
static void will_keep_model(const job *j) {
    const settings *s = j->s;
    shs_model m = SHS_ZERO;
    named_matrix list[MOST_MATRICES];
    int i, count = 0;
    m.kind = kind_to_fit(j);
    if (s->output.npy) count = named_matrices(&m, list);
    for (i = 0; i < count; i++) {
        char *name = matrix_file(s->output.npy, list[i].name);
        will_write(name);
        free(name);
    }
    if (s->output.save) will_write(s->output.save);
    if (s->output.export_c) will_write(s->output.export_c);
    if (s->output.stats) will_write(s->output.stats);
}

/* What components are called, and the beginning of what an output is called, for each kind of model. */
static const char *const component_words[] = {"PC", "MNF", "IC", "RX"};
static const char *const output_titles[] = {"Principal components of ", "Minimum noise fraction of ", "Independent components of ",
                                            "Reed-Xiaoli anomaly score of "};

/* Writes a line for each band: mean, divisor, and the weight of the band in each component. */
static void write_statistics(const job *j, const shs_model *m, const char *name) {
    model_view view = view_of_model(m);
    const char *word = component_words[m->kind];
    int n = view.bands, count = view.components, b, k;
    FILE *file = open_for_writing(name);
    char *heading = wavelength_heading(&j->in), *number;
    if (m->kind == SHS_MODEL_RX) word = component_words[SHS_MODEL_PCA]; /* of the background */
    fprintf(file, "band,%s,mean,scale", heading);
    free(heading);
    for (k = 0; k < count; k++) fprintf(file, ",%s %d", word, k + 1);
    fprintf(file, "\n");
    for (b = 0; b < n; b++) {
        double divisor = 1;
        fprintf(file, "%d,", j->bands[b] + 1);
        if (j->in.axis.wavelength) {
            number = number_text(j->in.axis.wavelength[j->bands[b]]);
            fputs(number, file);
            free(number);
        }
        if (m->kind != SHS_MODEL_ICA) divisor = (double)m->pca.scale[b];
        fprintf(file, ",%.17g,%.17g", (double)view.mean[b], divisor);
        for (k = 0; k < count; k++) fprintf(file, ",%.17g", (double)view.directions[elements(k, n) + (size_t)b]);
        fprintf(file, "\n");
    }
    close_written(file, name);
}

/* ---- C arrays ----------------------------------------------------------------------------------------------------- */

/* Makes the prefix of the C names from the name of the file, without characters that C does not allow. */
static char *c_prefix(const char *file_name) {
    const char *stem = name_in_folder(file_name);
    char *prefix = joined(isalpha((unsigned char)*stem) ? "" : "model_", stem);
    size_t i;
    prefix[strcspn(prefix, ".")] = 0;
    for (i = 0; prefix[i]; i++)
        if (!isalnum((unsigned char)prefix[i])) prefix[i] = '_';
    return prefix;
}

/* Values that lie `step` apart. */
static void write_c_values(FILE *file, const shs_wide *values, int count, size_t step) {
    int i;
    for (i = 0; i < count; i++) fprintf(file, "%s%.8ef,", i % 6 ? " " : "\n    ", (double)values[(size_t)i * step]);
}

/* What stands before item i of a list in a comment: a line holds so many of them. */
static const char *comment_space(int i, int line) { return i % line ? " " : "\n     "; }

/* The mean, the matrix, and a function of them that maps a pixel without the library. bands: numbers from 0, or NULL. */
static void export_c(const char *name, const shs_model *m, const model_notes *notes, const int *bands) {
    static const char *const kinds[] = {"Principal components", "Minimum noise fraction", "Independent components"};
    const model_view view = view_of_model(m);
    const int n = view.bands, count = view.components;
    char *lower = c_prefix(name), *upper = joined(lower, "");
    FILE *file = open_for_writing(name);
    int i;
    for (i = 0; upper[i]; i++) upper[i] = (char)toupper((unsigned char)upper[i]);
    fprintf(file, "/* %s of %d bands, fitted to %.0f pixels; written by hypercube.\n", kinds[m->kind], n, view.pixels);
    fprintf(file, "   Component k of a pixel is the sum over its bands of matrix[k][b] * (pixel[b] - mean[b]).");
    if (unit_of_model(notes)) fprintf(file, "\n   Pixels: %s.", unit_of_model(notes));
    if (bands) fprintf(file, "\n   Bands, from 1: %d", bands[0] + 1);
    for (i = 1; bands && i < n; i++) fprintf(file, "%s%d", comment_space(i, 20), bands[i] + 1);
    if (m->wavelengths) fprintf(file, "\n   Wavelengths in nm: %.6g", (double)m->wavelengths[0]);
    for (i = 1; m->wavelengths && i < n; i++) fprintf(file, "%s%.6g", comment_space(i, 12), (double)m->wavelengths[i]);
    fprintf(file, " */\n#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n\n", upper, upper);
    fprintf(file, "#define %s_BANDS %d\n#define %s_COMPONENTS %d\n", upper, n, upper, count);
    fprintf(file, "#ifndef %s_PIXEL /* the type of the pixels: define another before */\n", upper);
    fprintf(file, "#define %s_PIXEL float\n#endif\n", upper);
    fprintf(file, "\nstatic const float %s_mean[%s_BANDS] = {", lower, upper);
    write_c_values(file, view.mean, n, 1);
    fprintf(file, "\n};\n\nstatic const float %s_matrix[%s_COMPONENTS][%s_BANDS] = {", lower, upper, upper);
    for (i = 0; i < count; i++) {
        fprintf(file, "\n    {");
        write_c_values(file, view.forward + i, n, (size_t)count);
        fprintf(file, "\n    },");
    }
    fprintf(file,
            "\n};\n\n"
            "/* The components of one pixel, whose bands lie `step` values apart: 1 where they lie together (BIP), the number\n"
            "   of samples where a line lies band by band (BIL). */\n"
            "static inline void %s_map(const %s_PIXEL *pixel, size_t step, float *components) {\n"
            "    size_t k, b;\n"
            "    for (k = 0; k < %s_COMPONENTS; k++) {\n"
            "        float sum = 0;\n"
            "        for (b = 0; b < %s_BANDS; b++) sum += %s_matrix[k][b] * ((float)pixel[b * step] - %s_mean[b]);\n"
            "        components[k] = sum;\n"
            "    }\n"
            "}\n\n#endif\n",
            lower, upper, upper, upper, lower, lower);
    close_written(file, name);
    free(lower);
    free(upper);
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

static void write_noted_list(FILE *file, const char *key, const double *list, int count) {
    int i;
    if (!list) return;
    fprintf(file, "%s =", key);
    for (i = 0; i < count; i++) fprintf(file, " %.9g", list[i]);
    fprintf(file, "\n");
}

/* Appends notes on the fitted cube to the model as lines of text, for properties in which a later cube may differ. */
static void write_notes(FILE *file, const job *j, const model_notes *notes) {
    const cube_file *in = &j->in;
    double *list;
    int i, plain = j->cube.band_count == in->bands;
    if (plain && has_wavelengths(in)) {
        list = bands_in_nanometres(in, j->bands, j->cube.band_count);
        plain = is_monotone(list, j->cube.band_count) && unit_of(in) == &wave_units[UNIT_NM];
        free(list);
    }
    if (plain && !unit_of_model(notes) && !notes->scale.gain) return;
    fputs(notes_magic, file);
    if (notes->values == VALUES_REFLECTANCE) fprintf(file, "values = reflectance\n");
    else if (notes->values == VALUES_GAINS) fprintf(file, "values = gains\n");
    else fprintf(file, "values = stored\n");
    if (notes->factor > 0) fprintf(file, "reflectance scale factor = %.17g\n", notes->factor);
    write_noted_list(file, "data gain values", notes->scale.gain, j->cube.band_count);
    write_noted_list(file, "data offset values", notes->scale.bias, j->cube.band_count);
    if (*in->axis.units && strlen(in->axis.units) < 40) fprintf(file, "wavelength units = %s\n", in->axis.units);
    fprintf(file, "bands = %d", in->bands);
    for (i = 0; i < j->cube.band_count; i++) fprintf(file, " %d", j->bands[i] + 1);
    fprintf(file, "\nend\n");
}

static void save_model(const job *j, const shs_model *m, const model_notes *notes) {
    const char *name = j->s->output.save;
    FILE *file = open_for_writing(name);
    shs_status status = shs_model_save(m, write_piece, file);
    if (status == SHS_WRITE_FAILED) fail(EXIT_ERROR, "%s: writing it failed: %s", name, strerror(errno));
    if (status != SHS_OK) fail(EXIT_ERROR, "%s: %s", name, shs_status_text(status));
    write_notes(file, j, notes);
    close_written(file, name);
}

/* Writes the requested outputs of a fit: model, arrays, table, page. */
static void keep_model(job *j, const char *band_name, shs_model_kind kind, const shs_pca *pca, const shs_ica *ica) {
    const settings *s = j->s;
    model_notes notes = SHS_ZERO;
    shs_model m = SHS_ZERO;
    named_matrix list[MOST_MATRICES];
    int i, count = 0;
    m.kind = kind;
    if (pca) m.pca = *pca;
    if (ica) m.ica = *ica;
    if (has_wavelengths(&j->in)) {
        m.wavelengths = ALLOCATE(shs_wide, j->cube.band_count);
        for (i = 0; i < j->cube.band_count; i++) m.wavelengths[i] = (shs_wide)band_nanometres(&j->in, j->bands[i]);
    }
    if (s->output.save || s->output.export_c) notes = noted_values(&j->in, j->bands, j->cube.band_count);
    if (s->output.save) save_model(j, &m, &notes);
    if (s->output.npy) count = named_matrices(&m, list);
    for (i = 0; i < count; i++)
        if (list[i].values) write_matrix(s->output.npy, &list[i]);
    if (s->output.export_c) export_c(s->output.export_c, &m, &notes, j->bands);
    if (s->output.stats) write_statistics(j, &m, s->output.stats);
    if (kind != SHS_MODEL_RX) write_html(j, band_name, &m);
    free_notes(&notes);
    free(m.wavelengths);
}

static int read_piece(void *user, void *bytes, size_t count) { return fread(bytes, 1, count, (FILE *)user) != count; }

/* notes: what it says of its cube; may be NULL. */
static shs_model load_model(const char *name, model_notes *notes) {
    shs_model m = SHS_ZERO;
    FILE *file = fopen(name, "rb");
    shs_status status;
    model_notes read;
    if (!file) fail(EXIT_ERROR, "%s: cannot read it: %s", name, strerror(errno));
    will_read(name);
    status = shs_model_load(NULL, read_piece, file, &m);
    if (status == SHS_READ_FAILED && ferror(file)) fail(EXIT_ERROR, "%s: model: %s", name, strerror(errno));
    if (status == SHS_READ_FAILED) fail(EXIT_ERROR, "%s: model: it is truncated", name);
    if (status != SHS_OK) fail(EXIT_ERROR, "%s: %s", name, shs_status_text(status));
    read = read_notes(file, name, view_of_model(&m).bands);
    fclose(file);
    if (notes) *notes = read;
    else free_notes(&read);
    return m;
}

/* Says what was opened. */
static shs_model open_model(const char *name, model_notes *notes) {
    static const char *const kinds[] = {"PCA", "MNF", "ICA", "RX"};
    shs_model m = load_model(name, notes);
    model_view view = view_of_model(&m);
    printf("%s: %s, %d bands, %d components, fitted to %.0f pixels\n", name, kinds[m.kind], view.bands, view.components,
           view.pixels);
    return m;
}

static void run_export(char **names) {
    model_notes notes;
    shs_model m = open_model(names[0], &notes);
    will_write(names[1]);
    if (m.kind == SHS_MODEL_RX) fail(EXIT_ERROR, "%s: model: of anomaly scores, which are no components", names[0]);
    export_c(names[1], &m, &notes, NULL);
    printf("written: %s\n", names[1]);
    free_notes(&notes);
    shs_model_free(NULL, &m);
}

/* ---- the bands of another cube ----------------------------------------------------------------------------------- */

enum { FARTHEST_BAND = 10 }; /* nanometres */

/* The bands of the same numbers, where this cube has as many as the model's, at the same wavelengths, and all are in use. */
static int match_noted(const job *j, const model_notes *notes, const double *wanted, int bands, int *chosen) {
    double step = mean_step(wanted, bands);
    int i, b;
    if (!notes->list || notes->bands != j->in.bands) return 0;
    for (i = 0; i < bands; i++) {
        chosen[i] = notes->list[i];
        if (!same_wavelength(wanted[i], band_nanometres(&j->in, chosen[i]), step)) return 0;
        for (b = 0; b < j->cube.band_count && j->bands[b] != chosen[i]; b++) {}
        if (b == j->cube.band_count) return 0;
    }
    return 1;
}

/* Finds the bands with the model's wavelengths, in the order of the model, among the bands in use. Returns 0 if one is
   missing. */
static int match_same(const job *j, const double *wanted, int bands, int *chosen) {
    int used = j->cube.band_count, i, same;
    double *list = bands_in_nanometres(&j->in, j->bands, used);
    same = find_in_order(wanted, bands, list, used, chosen);
    for (i = 0; same && i < bands; i++) chosen[i] = j->bands[chosen[i]];
    free(list);
    return same;
}

/* Finds the nearest band in use of this detector, or of any detector (-1), in a list of all bands' wavelengths. Returns the
   distance, or -1. */
static double nearest_band(const job *j, const double *list, const wave_runs *detectors, int detector, double wanted,
                           int *band) {
    double nearest = -1;
    int b;
    for (b = 0; b < j->cube.band_count; b++) {
        double off = fabs(list[j->bands[b]] - wanted);
        if (detector >= 0 && detectors->of[j->bands[b]] != detector) continue;
        if (nearest >= 0 && off >= nearest) continue;
        nearest = off;
        *band = j->bands[b];
    }
    return nearest;
}

/* Takes for each band of the model the nearest one of the cube, of the same detector where both have as many. */
static double match_nearest(const job *j, const char *model_name, const double *wanted, int bands, int *chosen) {
    double *all = bands_in_nanometres(&j->in, NULL, j->in.bands), most = 0, off;
    wave_runs here = find_runs(all, j->in.bands);
    wave_runs there = find_runs(wanted, bands);
    const char *units = j->in.axis.units;
    int i, b, alike = here.count == there.count && here.count > 1;
    if (!*units) units = unit_of(&j->in)->name;
    for (i = 0; i < bands; i++) {
        off = -1;
        if (alike) off = nearest_band(j, all, &here, there.of[i], wanted[i], chosen + i);
        if (!(off >= 0 && off <= FARTHEST_BAND)) off = nearest_band(j, all, &here, -1, wanted[i], chosen + i);
        if (!(off <= FARTHEST_BAND))
            fail(EXIT_ERROR, "%s: wavelength: band %d of %s has %.6g nm, and the nearest one here is %.6g nm away (in %s)",
                 j->in.header_name, i + 1, model_name, wanted[i], off, units);
        for (b = 0; b < i; b++)
            if (chosen[b] == chosen[i])
                fail(EXIT_ERROR, "%s: wavelength: band %d is the nearest to bands %d and %d of %s", j->in.header_name,
                     chosen[i] + 1, b + 1, i + 1, model_name);
        most = fmax(most, off);
    }
    free(all);
    free(here.of);
    free(there.of);
    return most;
}

static void match_wavelengths(job *j, const model_notes *notes, const shs_wide *wavelengths, int bands) {
    int *chosen = ALLOCATE(int, bands), i, noted;
    double *wanted = ALLOCATE(double, bands), most = 0;
    for (i = 0; i < bands; i++) wanted[i] = (double)wavelengths[i];
    noted = match_noted(j, notes, wanted, bands, chosen);
    if (noted || match_same(j, wanted, bands, chosen))
        for (i = 0; i < bands; i++) most = fmax(most, fabs(band_nanometres(&j->in, chosen[i]) - wanted[i]));
    else most = match_nearest(j, notes->name, wanted, bands, chosen);
    if (!noted) refuse_twins(j, chosen, bands);
    free(wanted);
    free(j->bands);
    j->bands = chosen;
    j->cube.band_list = chosen;
    j->cube.band_count = bands;
    printf("bands by wavelength: %d of %d, off by %.4g nm at most\n", bands, j->in.bands, most);
}

/* Band i of --bands stands for band i of the model. Fails where their wavelengths are further apart than FARTHEST_BAND. */
static void check_listed_wavelengths(const job *j, const char *model_name, const shs_wide *wavelengths, int bands) {
    int i;
    for (i = 0; i < bands; i++) {
        const double here = band_nanometres(&j->in, j->bands[i]), wanted = (double)wavelengths[i];
        if (!(fabs(here - wanted) <= FARTHEST_BAND))
            fail(EXIT_ERROR,
                 "%s: --bands: band %d has %.6g nm, but band %d of %s, for which it stands, has %.6g nm; without --bands they are "
                 "found by wavelength",
                 j->in.header_name, j->bands[i] + 1, here, i + 1, model_name, wanted);
    }
}

/* Without wavelengths nothing says more than the numbers of bands, which another cut of the cube may change. */
static void warn_of_other_numbers(const job *j, const char *model_name, const model_notes *notes) {
    int i;
    for (i = 0; i < notes->list_count; i++) {
        if (notes->list[i] == j->bands[i]) continue;
        warn("%s: --bands: band %d stands for band %d of the cube that %s was fitted to", j->in.header_name, j->bands[i] + 1,
             notes->list[i] + 1, model_name);
        return;
    }
}

static void check_listed(const job *j, const char *model_name, const shs_model *m, const model_notes *notes) {
    if (m->wavelengths && has_wavelengths(&j->in)) {
        check_listed_wavelengths(j, model_name, m->wavelengths, j->cube.band_count);
        return;
    }
    if (notes->list && notes->bands == j->in.bands) warn_of_other_numbers(j, model_name, notes);
}

static void match_bands(job *j, const char *model_name, const shs_model *m, const model_notes *notes) {
    int bands = view_of_model(m).bands;
    if (j->s->pixels.bands) {
        if (j->cube.band_count == bands) check_listed(j, model_name, m, notes);
    } else if (m->wavelengths && has_wavelengths(&j->in)) match_wavelengths(j, notes, m->wavelengths, bands);
    else if (m->wavelengths && j->cube.band_count == bands)
        warn("%s: bands are taken in their order, not by wavelength as %s has them: wavelength: %s", j->in.header_name, model_name,
             wavelengths_missing(&j->in));
    if (j->cube.band_count != bands)
        fail(EXIT_ERROR, "%s: bands: %d are in use, but %s is of %d, and wavelengths to match them by are missing",
             j->in.header_name, j->cube.band_count, model_name, bands);
}

/* Adds to the mean squares of the bands the variance of components, each a column of `backward`; NULL: each 1. */
static double mean_square(const shs_wide *mean, const shs_wide *backward, const shs_wide *variances, int bands, int count) {
    double sum = 0;
    int b, k;
    for (b = 0; b < bands; b++) sum += (double)(mean[b] * mean[b]);
    for (k = 0; k < count; k++)
        for (b = 0; b < bands; b++) {
            double part = (double)backward[elements(k, bands) + (size_t)b];
            sum += part * part * (variances ? (double)variances[k] : 1);
        }
    return sum / bands;
}

/* Warns if the pixels are much brighter or darker than the pixels of the fit. */
static void compare_with_model(const job *j, const shs_model *m, const char *name) {
    double fitted, typical = typical_value(j);
    if (m->kind == SHS_MODEL_ICA) fitted = mean_square(m->ica.mean, m->ica.mixing, NULL, m->ica.bands, m->ica.components);
    else fitted = mean_square(m->pca.mean, m->pca.backward, m->pca.eigenvalues, m->pca.bands, m->pca.components);
    fitted = sqrt(fitted);
    if (!(fitted > 0) || !(typical > 0) || (fitted < 60 * typical && fitted > typical / 60)) return;
    warn("%s: the pixels are about %.4g, those that %s was fitted to about %.4g: are both in one unit? %s", j->in.header_name,
         typical, name, fitted, way_to_unit(&j->in));
}

/* ---- apply, inverse ------------------------------------------------------------------------------------------------ */

static void run_apply(const settings *s, char **names) {
    model_notes notes;
    shs_model m = open_model(names[0], &notes);
    job *j = job_open_for(s, APPLY, names[1], names[2], &notes);
    int ica = m.kind == SHS_MODEL_ICA, rx = m.kind == SHS_MODEL_RX, count = view_of_model(&m).components;
    cube_call call;
    if (rx) count = 1;
    match_bands(j, names[0], &m, &notes);
    compare_with_model(j, &m, names[0]);
    compare_gains(&j->in, j->bands, j->cube.band_count, &notes);
    output_start(j, count, output_titles[m.kind]);
    if (rx) call = call_on(make_rx_transform, &j->cube, &j->sink, &m.pca, NULL);
    else if (ica) call = call_on(make_ica_transform, &j->cube, &j->sink, &m.ica, NULL);
    else call = call_on(make_pca_transform, &j->cube, &j->sink, &m.pca, NULL);
    note_stretch(j, count, call);
    check_job(j, run_cube(j, call));
    progress_clear();
    if (rx) j->look = LOOK_HIGH;
    output_show(j, component_words[m.kind], NULL);
    write_html(j, component_words[m.kind], NULL);
    print_end(j, count, (shs_wide)j->in.samples * (shs_wide)j->in.lines);
    shs_model_free(NULL, &m);
    free_notes(&notes);
    job_close(j);
}

/* Turns a cube of components back into pixels. */
static void run_inverse(const settings *s, char **names) {
    model_notes notes;
    shs_model m = open_model(names[0], &notes);
    job *j = job_open_for(s, INVERSE, names[1], names[2], &notes);
    model_view view = view_of_model(&m);
    int count = view.components, i;
    cube_call call;
    if (m.kind == SHS_MODEL_RX) fail(EXIT_ERROR, "%s: model: of anomaly scores, from which no way leads back", names[0]);
    if (j->cube.band_count != count)
        fail(EXIT_ERROR, "%s: bands: %d are in use, but %s has %d components", j->in.header_name, j->cube.band_count, names[0],
             count);
    check_components(&j->in);
    output_start(j, view.bands, "Pixels from the components of ");
    if (notes.values == VALUES_STORED && !s->output.rescale) j->out.scale.factor = notes.factor;
    if (notes.values == VALUES_REFLECTANCE && !s->output.rescale) j->out.scale.factor = 1;
    if (m.wavelengths) {
        const wave_unit *unit = unit_named(notes.units);
        if (!unit) unit = &wave_units[UNIT_NM];
        if (unit == &wave_units[UNIT_NM]) j->out.axis.units = joined("Nanometers", "");
        else j->out.axis.units = joined(notes.units, "");
        j->out.axis.wavelength = ALLOCATE(double, j->out.bands);
        for (i = 0; i < j->out.bands; i++) j->out.axis.wavelength[i] = from_nanometres(unit, (double)m.wavelengths[i]);
    }
    if (m.kind == SHS_MODEL_ICA) call = call_on(make_ica_inverse, &j->cube, &j->sink, &m.ica, NULL);
    else call = call_on(make_pca_inverse, &j->cube, &j->sink, &m.pca, NULL);
    note_stretch(j, view.bands, call);
    check_job(j, run_cube(j, call));
    progress_clear();
    output_show(j, "Band", notes.list);
    write_html(j, "Band", NULL);
    print_end(j, count, (shs_wide)j->in.samples * (shs_wide)j->in.lines);
    shs_model_free(NULL, &m);
    free_notes(&notes);
    job_close(j);
}

#endif /* HYPERCUBE_MODELS */
