/* scales.h - the scale of values as a header states it, and the conversion of values. */
#ifndef HYPERCUBE_SCALES
#define HYPERCUBE_SCALES

#include "envi_write.h"

/* ---- reflectance and gains ---------------------------------------------------------------------------------------- */

/* The factor that a header states, 0 where it states none. */
static double stated_factor(const header *h) {
    int differs;
    double factor;
    const char *text = header_find(h, "reflectance scale factor", &differs);
    size_t length = text ? any_number(text, &factor) : 0;
    if (!length || differs || text[length] || !(factor > 0) || !isfinite(factor)) return 0;
    return factor;
}

static double *equal_values(int count, double value) {
    double *list = ALLOCATE(double, count);
    int i;
    for (i = 0; i < count; i++) list[i] = value;
    return list;
}

static int states_reflectance(const cube_file *in) {
    int differs;
    return stated_factor(&in->text) > 0 || header_find(&in->text, "data reflectance gain values", &differs) != NULL;
}

static const char reflectance_gains[] = "data reflectance gain values";
static const char reflectance_offsets[] = "data reflectance offset values";

/* Whether the header has this list, of which header_list made `list`, and it is of no use; header_list has said why. */
static int is_damaged(const cube_file *in, const char *key, const double *list) {
    int differs;
    const char *text = header_find(&in->text, key, &differs);
    return !list && text && *text;
}

static void fail_for_list(const cube_file *in, const char *key) {
    fail(EXIT_ERROR, "%s: %s: they are damaged: %d numbers are needed, one for each band", in->header_name, key, in->bands);
}

/* Sets gain and bias of reflectance = stored * gain + bias, from the header's gains and offsets for reflectance or from its
   scale factor. Returns 0 where the header states neither, or where one of its lists is damaged: another scale would be wrong. */
static int reflectance_scale(const cube_file *in, double **gain, double **bias) {
    double factor = stated_factor(&in->text);
    int damaged;
    *gain = header_list(&in->text, reflectance_gains, in->bands);
    *bias = header_list(&in->text, reflectance_offsets, in->bands);
    damaged = is_damaged(in, reflectance_gains, *gain) || is_damaged(in, reflectance_offsets, *bias);
    if (damaged || (!*gain && !(factor > 0))) {
        free(*gain);
        free(*bias);
        *gain = NULL;
        *bias = NULL;
        return 0;
    }
    if (!*gain) *gain = equal_values(in->bands, 1 / factor);
    if (!*bias) *bias = equal_values(in->bands, 0);
    return 1;
}

/* The type that holds all values of another one: floats hold whole numbers of 16 bits, but not all of 32. */
static shs_type floating_type(shs_type type) {
    if (type == SHS_TYPE_F64 || type == SHS_TYPE_I32 || type == SHS_TYPE_U32) return SHS_TYPE_F64;
    return SHS_TYPE_F32;
}

/* What is read is value * gain + bias from now on; frees the lists with the cube. */
static void scale_values(cube_file *in, double *gain, double *bias) {
    in->scale.gain = gain;
    in->scale.bias = bias;
    in->type = floating_type(in->stored.type);
    in->swap = 0;
    in->stored.has_nodata = in->has_nodata;
    in->has_nodata = 0;
}

static void scale_to_reflectance(cube_file *in) {
    const char *factor = header_value(&in->text, "reflectance scale factor");
    double *gain, *bias;
    if (!reflectance_scale(in, &gain, &bias)) {
        if (is_damaged(in, reflectance_gains, NULL))
            fail(EXIT_ERROR, "%s: %s: they or the offset values are damaged: %d numbers are needed, one for each band",
                 in->header_name, reflectance_gains, in->bands);
        if (stated_factor(&in->text) > 0) fail_for_list(in, reflectance_offsets);
        if (factor) fail(EXIT_ERROR, "%s: reflectance scale factor: '%s' is not a number above 0", in->header_name, factor);
        fail(EXIT_ERROR,
             "%s: reflectance scale factor: the key is missing (data reflectance gain values, too), and --reflectance "
             "needs it",
             in->header_name);
    }
    scale_values(in, gain, bias);
    in->scale.reflectance = 1;
}

/* The list of the header; NULL: the key is missing. Stops where the list is damaged: a scale without it would be wrong. */
static double *whole_list(const cube_file *in, const char *key) {
    double *list = header_list(&in->text, key, in->bands);
    if (is_damaged(in, key, list)) fail_for_list(in, key);
    return list;
}

/* Applies `data gain values` and `data offset values` of the header. Returns 0 if the header has neither. */
static int scale_by_gains(cube_file *in) {
    double *gain = whole_list(in, "data gain values");
    double *bias = whole_list(in, "data offset values");
    if (!gain && !bias) return 0;
    if (!gain) gain = equal_values(in->bands, 1);
    if (!bias) bias = equal_values(in->bands, 0);
    scale_values(in, gain, bias);
    return 1;
}

/* For --gains. */
static void must_scale_by_gains(cube_file *in) {
    if (!scale_by_gains(in))
        fail(EXIT_ERROR, "%s: data gain values: the key is missing (data offset values, too), and --gains needs it",
             in->header_name);
}

/* ---- gains and offsets that are not applied ------------------------------------------------------------------------ */

static int states_gains(const cube_file *in) {
    int differs;
    return header_find(&in->text, "data gain values", &differs) || header_find(&in->text, "data offset values", &differs);
}

/* The numbers of these bands from a list of the header; NULL: it has none, or none of use. */
static double *listed_of_bands(const cube_file *in, const char *key, const int *bands, int count) {
    double *all = header_list(&in->text, key, in->bands), *list;
    int i;
    if (!all) return NULL;
    list = ALLOCATE(double, count);
    for (i = 0; i < count; i++) list[i] = all[bands[i]];
    free(all);
    return list;
}

/* The one number of a list, or its ends; the caller frees the text. */
static char *range_text(const double *list, int count) {
    char text[60];
    double low = list[0], high = list[0];
    int i;
    for (i = 1; i < count; i++) {
        low = fmin(low, list[i]);
        high = fmax(high, list[i]);
    }
    if (high > low) sprintf(text, "%.6g to %.6g", low, high);
    else sprintf(text, "%.6g", low);
    return joined(text, "");
}

/* What brings pixels and spectra to one unit, for a message. */
static const char *way_to_unit(const cube_file *in) {
    if (!in->scale.gain && states_gains(in)) return "--gains scales the pixels by their data gain values";
    return "A reflectance scale factor in a header says what is";
}

static void free_scale(cube_scale *scale) {
    free(scale->gain);
    free(scale->bias);
    scale->gain = NULL;
    scale->bias = NULL;
}

/* Gains and offsets of these bands as the header states them; NULL where the header states neither, or where a list is damaged. */
static cube_scale stated_scale(const cube_file *in, const int *bands, int count) {
    cube_scale scale = SHS_ZERO;
    if (!states_gains(in)) return scale;
    scale.gain = listed_of_bands(in, "data gain values", bands, count);
    scale.bias = listed_of_bands(in, "data offset values", bands, count);
    if (is_damaged(in, "data gain values", scale.gain) || is_damaged(in, "data offset values", scale.bias)) {
        free_scale(&scale);
        return scale;
    }
    if (!scale.gain) scale.gain = equal_values(count, 1);
    if (!scale.bias) scale.bias = equal_values(count, 0);
    return scale;
}

/* A gain or an offset that differs between two headers; key: NULL where none does. */
typedef struct gain_difference {
    const char *key;
    int at;
    double here, there;
} gain_difference;

/* The first gain or offset that two headers state differently. */
static gain_difference find_difference(const cube_scale *here, const cube_scale *there, int count) {
    gain_difference found = SHS_ZERO;
    int i;
    if (!here->gain || !there->gain) return found;
    for (i = 0; i < 2 * count; i++) {
        const double *a = here->gain, *b = there->gain;
        found.key = "data gain values";
        found.at = i % count;
        if (i >= count) {
            found.key = "data offset values";
            a = here->bias;
            b = there->bias;
        }
        found.here = a[found.at];
        found.there = b[found.at];
        if (fabs(found.here - found.there) > 1e-6 * fmax(fabs(found.here), fabs(found.there))) return found;
    }
    found.key = NULL;
    return found;
}

/* ---- what a model remembers of its cube --------------------------------------------------------------------------- */

enum value_kind { VALUES_UNKNOWN, VALUES_STORED, VALUES_REFLECTANCE, VALUES_GAINS };

typedef struct model_notes {
    enum value_kind values;
    double factor;    /* stated in the header of values as they were stored; 0: none */
    cube_scale scale; /* the gains and offsets of the model's bands, likewise; NULL: none */
    char units[48];   /* of the wavelengths */
    int bands, *list; /* the cube had so many, of which the model has those; NULL: not known */
    int list_count;   /* of its bands */
    const char *name; /* of the model's file */
} model_notes;

/* The values of a model as its cube was read and its header says; these are the bands in use. */
static model_notes noted_values(const cube_file *in, const int *bands, int count) {
    model_notes notes = SHS_ZERO;
    notes.values = VALUES_STORED;
    if (in->scale.reflectance) notes.values = VALUES_REFLECTANCE;
    else if (in->scale.gain) notes.values = VALUES_GAINS;
    else {
        notes.factor = stated_factor(&in->text);
        notes.scale = stated_scale(in, bands, count);
        notes.list_count = count;
    }
    return notes;
}

static void free_notes(model_notes *notes) {
    free_scale(&notes->scale);
    free(notes->list);
    notes->list = NULL;
}

enum { NOTES_BYTES = 1 << 22 };

static const char notes_magic[] = "\nhypercube's notes\n";

/* The first number counts the bands of the cube. The following numbers are the bands of the model, from 1. */
static void read_noted_bands(model_notes *notes, const char *text, int count) {
    char *end;
    int i;
    notes->bands = (int)strtol(text, &end, 10);
    notes->list = ALLOCATE(int, count);
    notes->list_count = count;
    for (i = 0; i < count; i++) {
        long number = strtol(end, &end, 10);
        if (number < 1 || number > notes->bands) break;
        notes->list[i] = (int)number - 1;
    }
    if (i == count) return;
    free(notes->list);
    notes->list = NULL;
}

/* NULL where they are not so many numbers. */
static double *read_noted_list(const char *text, int count) {
    double *list = ALLOCATE(double, count);
    char *end;
    int i;
    for (i = 0; i < count; i++) {
        list[i] = strtod(text, &end);
        if (end == text) {
            free(list);
            return NULL;
        }
        text = end;
    }
    return list;
}

/* The rest of a model's file; bands: of the model. */
static model_notes read_notes(FILE *file, const char *name, int bands) {
    model_notes notes = SHS_ZERO;
    char *text = ALLOCATE(char, NOTES_BYTES + 1), *line;
    size_t size = fread(text, 1, NOTES_BYTES, file), start = sizeof notes_magic - 1, compared = start, end;
    notes.name = name;
    text[size] = 0;
    if (size < start) compared = size;
    if (size > 0 && strncmp(text, notes_magic, compared)) warn("%s: more bytes follow the model", name);
    if (size > 0 && !strncmp(text, notes_magic, compared)) {
        line = strstr(text, "\nend\n");
        if (!line) fail(EXIT_ERROR, "%s: model: it is truncated", name);
        end = (size_t)(line - text) + 5;
        if (end < size) warn("%s: more bytes follow the model", name);
        for (line = text + start; strncmp(line, "end\n", 4); line = strchr(line, '\n') + 1) {
            if (begins_with(line, "values = reflectance\n")) notes.values = VALUES_REFLECTANCE;
            if (begins_with(line, "values = gains\n")) notes.values = VALUES_GAINS;
            if (begins_with(line, "values = stored\n")) notes.values = VALUES_STORED;
            if (begins_with(line, "reflectance scale factor = ")) notes.factor = strtod(strchr(line, '=') + 1, NULL);
            if (begins_with(line, "data gain values = ")) notes.scale.gain = read_noted_list(strchr(line, '=') + 1, bands);
            if (begins_with(line, "data offset values = ")) notes.scale.bias = read_noted_list(strchr(line, '=') + 1, bands);
            if (begins_with(line, "bands = ")) read_noted_bands(&notes, strchr(line, '=') + 1, bands);
            if (begins_with(line, "wavelength units = ")) (void)sscanf(line, "wavelength units = %47[^\n]", notes.units);
        }
    }
    if (!notes.scale.gain || !notes.scale.bias) free_scale(&notes.scale);
    free(text);
    return notes;
}

/* Whether the header of a model's cube stated gains or offsets that change stored values. */
static int has_other_gains(const model_notes *notes) {
    int i;
    for (i = 0; notes->scale.gain && i < notes->list_count; i++)
        if (fabs(notes->scale.gain[i] - 1) > 0 || fabs(notes->scale.bias[i]) > 0) return 1;
    return 0;
}

/* What a model's pixels are, for a message; NULL: it is not known. */
static const char *unit_of_model(const model_notes *notes) {
    static char text[80];
    if (notes->values == VALUES_REFLECTANCE) return "reflectances";
    if (notes->values == VALUES_GAINS) return "values scaled by data gain values";
    if (notes->values != VALUES_STORED) return NULL;
    if (!(notes->factor > 0) && has_other_gains(notes)) return "values as they are stored, before data gain values";
    if (!(notes->factor > 0)) return NULL;
    sprintf(text, "values of reflectance scale factor %.6g", notes->factor);
    return text;
}

/* Stops where an option makes other values than those that the model was fitted to. Gains may make reflectances, too, where the
   header has no other way there. */
static void check_unit(const cube_file *in, const model_notes *notes, enum value_kind asked, const char *option_name) {
    const char *unit = unit_of_model(notes);
    if (!unit || notes->values == asked) return;
    if (notes->values != VALUES_REFLECTANCE || states_reflectance(in))
        fail(EXIT_USAGE, "%s: %s was fitted without it, to %s", option_name, notes->name, unit);
    warn("%s: %s: the values are taken for reflectances, to which %s was fitted", in->header_name, option_name, notes->name);
}

/* Values that are reflectance times another factor than the model's. */
static void scale_to_factor(cube_file *in, const model_notes *notes, double factor) {
    printf("%s: values are multiplied by %.6g: reflectance scale factor %.6g here, %.6g in %s\n", in->header_name,
           notes->factor / factor, factor, notes->factor, notes->name);
    scale_values(in, equal_values(in->bands, notes->factor / factor), equal_values(in->bands, 0));
}

/* Converts values to the unit of the model, if header and model state their units. */
static void scale_as_model(cube_file *in, const model_notes *notes) {
    double factor = stated_factor(&in->text);
    if (notes->values == VALUES_REFLECTANCE) {
        if (states_reflectance(in)) {
            scale_to_reflectance(in);
            printf("%s: values are scaled to reflectance, as those of %s were\n", in->header_name, notes->name);
        } else if (is_integer(in->type))
            fail(EXIT_ERROR,
                 "%s: reflectance scale factor: the key is missing, and %s was fitted to reflectances: these are %s values "
                 "(--gains: where data gain values make reflectances)",
                 in->header_name, notes->name, type_name(in));
    } else if (notes->values == VALUES_GAINS) {
        if (scale_by_gains(in))
            printf("%s: values are scaled by data gain values, as those of %s were\n", in->header_name, notes->name);
        else if (is_integer(in->type))
            fail(EXIT_ERROR,
                 "%s: data gain values: the key is missing, and %s was fitted to scaled values: these are %s values",
                 in->header_name, notes->name, type_name(in));
    } else if (notes->factor > 0 && factor > 0 && fabs(notes->factor - factor) > 1e-9 * factor)
        scale_to_factor(in, notes, factor);
}

/* Warns if both headers say how stored values lead to others, in different ways, and neither was asked to. */
static void compare_gains(const cube_file *in, const int *bands, int count, const model_notes *notes) {
    cube_scale here;
    gain_difference d;
    if (in->scale.gain) return;
    here = stated_scale(in, bands, count);
    d = find_difference(&here, &notes->scale, count);
    if (d.key)
        warn("%s: %s: %.6g in band %d, but %.6g in the cube that %s was fitted to: a model that is fitted with --gains brings "
             "both to one unit",
             in->header_name, d.key, d.here, bands[d.at] + 1, d.there, notes->name);
    free_scale(&here);
}

/* Stops where components were stretched, and the header has no way back. */
static void check_components(const cube_file *in) {
    const value_type *type = type_info(in->type);
    if (!in->scale.gain && is_integer(in->type) && type->low >= 0)
        fail(EXIT_ERROR,
             "%s: data gain values: the key is missing: components are negative, too, so %s values were stretched, and nothing "
             "says how",
             in->header_name, type->name);
}

#endif /* HYPERCUBE_SCALES */
