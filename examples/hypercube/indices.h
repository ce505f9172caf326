/* indices.h - band ratios and other expressions of a pixel's bands, by wavelength; masks from thresholds of them. */
#ifndef HYPERCUBE_INDICES
#define HYPERCUBE_INDICES

#include "pixelwise.h"

typedef struct named_index {
    const char *name, *expression;
} named_index;

static const named_index named_indices[] = {
    {"NDVI", "(b860-b660)/(b860+b660)"},  {"NDWI", "(b560-b860)/(b560+b860)"},   {"NDMI", "(b860-b1650)/(b860+b1650)"},
    {"NBR", "(b860-b2200)/(b860+b2200)"}, {"NDSI", "(b560-b1650)/(b560+b1650)"}, {"iron", "b660/b480"},
    {"clay", "b1650/b2200"},
};
enum { NAMED_INDICES = (int)(sizeof named_indices / sizeof *named_indices), MOST_STEPS = 200 };

/* The steps of an expression, in the order of a computation on a stack. */
enum step_kind {
    STEP_NUMBER,
    STEP_BAND,
    STEP_ADD,
    STEP_SUBTRACT,
    STEP_MULTIPLY,
    STEP_DIVIDE,
    STEP_NEGATE,
    STEP_SQRT,
    STEP_LOG,
    STEP_ABS
};

typedef struct index_step {
    enum step_kind kind;
    double number;
    int band; /* place among the bands in use */
} index_step;

typedef struct index_plan {
    index_step steps[MOST_STEPS];
    int count;
    int above, below; /* whether there is a threshold: then 1 within, else 0 */
    double low, high;
    const job *j;
    const char *text, *at; /* while it is read */
    int depth;
} index_plan;

static void index_add(index_plan *p, enum step_kind kind, double number, int band) {
    if (p->count == MOST_STEPS) fail(EXIT_USAGE, "--index: '%s' is too long: at most %d numbers and signs", p->text, MOST_STEPS);
    p->steps[p->count].kind = kind;
    p->steps[p->count].number = number;
    p->steps[p->count++].band = band;
}

/* Returns the band in use nearest to a wavelength in nanometres. Fails if the nearest band is far away. */
static int band_near(const job *j, double nanometres) {
    int n = j->cube.band_count, i, best = 0;
    double *list, distance, reach = 20;
    if (!has_wavelengths(&j->in))
        fail(EXIT_ERROR, "%s: wavelength: %s, and b%.10g needs it; #7 is band 7", j->in.header_name, wavelengths_missing(&j->in),
             nanometres);
    list = bands_in_nanometres(&j->in, j->bands, n);
    for (i = 1; i < n; i++)
        if (fabs(list[i] - nanometres) < fabs(list[best] - nanometres)) best = i;
    distance = fabs(list[best] - nanometres);
    reach = fmax(reach, 0.05 * nanometres); /* as wide as the bands of multispectral sensors */
    if (distance > reach)
        fail(EXIT_ERROR, "%s: --index: b%.10g: the nearest band in use is at %.6g nm, farther than %.4g nm", j->in.header_name,
             nanometres, list[best], reach);
    if (distance > 20)
        printf("b%.10g: band %d, at %.6g nm, is the nearest in use\n", nanometres, j->bands[best] + 1, list[best]);
    refuse_twins(j, j->bands + best, 1);
    free(list);
    return best;
}

static int numbered_band(const job *j, double number) {
    int i;
    for (i = 0; i < j->cube.band_count; i++)
        if (j->bands[i] + 1 >= number && j->bands[i] + 1 <= number) return i;
    fail(EXIT_ERROR, "%s: --index: #%.10g: no band in use has this number", j->in.header_name, number);
}

static void index_sum(index_plan *p);

static void index_skip(index_plan *p) { p->at += strspn(p->at, " \t"); }

static int index_takes(index_plan *p, const char *word) {
    size_t length = strlen(word);
    index_skip(p);
    if (strncmp(p->at, word, length)) return 0;
    p->at += length;
    return 1;
}

static void index_expects(index_plan *p, const char *what) {
    index_skip(p);
    if (!*p->at) fail(EXIT_USAGE, "--index: '%s': expected %s at the end", p->text, what);
    fail(EXIT_USAGE, "--index: '%s': expected %s at '%s'", p->text, what, p->at);
}

static double index_number(index_plan *p) {
    size_t length = strspn(p->at, "0123456789.");
    char *end;
    double number = strtod(p->at, &end);
    if (!length || end == p->at || !isfinite(number)) index_expects(p, "a number");
    if (p->at[0] == '0' && tolower((unsigned char)p->at[1]) == 'x') index_expects(p, "a decimal number");
    p->at = end;
    return number;
}

/* A wavelength in nanometres, or in the unit that stands behind it: 860, 860nm, 0.86um. */
static double index_wavelength(index_plan *p) {
    double number = index_number(p);
    const wave_unit *unit;
    char *plain;
    size_t length = 0;
    while (isalpha((unsigned char)p->at[length]) || (unsigned char)p->at[length] >= 0x80) length++;
    if (!length) return number;
    plain = copy_text(p->at, p->at + length);
    unit = unit_named(plain);
    free(plain);
    if (unit != &wave_units[UNIT_NM] && unit != &wave_units[UNIT_UM]) return number;
    p->at += length;
    return to_nanometres(unit, number);
}

/* A number, a band, something in brackets, with a sign or a function before it. */
static void index_term(index_plan *p) {
    static const struct {
        const char *name;
        enum step_kind kind;
    } functions[] = {{"sqrt", STEP_SQRT}, {"log", STEP_LOG}, {"abs", STEP_ABS}};
    int i;
    if (++p->depth > 50) fail(EXIT_USAGE, "--index: '%s': more than 50 brackets in each other", p->text);
    index_skip(p);
    for (i = 0; i < 3; i++) {
        if (!index_takes(p, functions[i].name)) continue;
        if (!index_takes(p, "(")) index_expects(p, "(");
        index_sum(p);
        if (!index_takes(p, ")")) index_expects(p, ")");
        index_add(p, functions[i].kind, 0, 0);
        p->depth--;
        return;
    }
    if (index_takes(p, "(")) {
        index_sum(p);
        if (!index_takes(p, ")")) index_expects(p, ")");
    } else if (index_takes(p, "-")) {
        index_term(p);
        index_add(p, STEP_NEGATE, 0, 0);
    } else if (index_takes(p, "b")) index_add(p, STEP_BAND, 0, band_near(p->j, index_wavelength(p)));
    else if (index_takes(p, "#")) index_add(p, STEP_BAND, 0, numbered_band(p->j, index_number(p)));
    else if (isdigit((unsigned char)*p->at) || *p->at == '.') index_add(p, STEP_NUMBER, index_number(p), 0);
    else index_expects(p, "a band like b860 or #7, a number or (");
    p->depth--;
}

static void index_product(index_plan *p) {
    index_term(p);
    for (;;) {
        int multiply = index_takes(p, "*");
        if (!multiply && !index_takes(p, "/")) return;
        index_term(p);
        index_add(p, multiply ? STEP_MULTIPLY : STEP_DIVIDE, 0, 0);
    }
}

static void index_sum(index_plan *p) {
    index_product(p);
    for (;;) {
        int add = index_takes(p, "+");
        if (!add && !index_takes(p, "-")) return;
        index_product(p);
        index_add(p, add ? STEP_ADD : STEP_SUBTRACT, 0, 0);
    }
}

static double index_value(const index_plan *p, const double *bands, double *stack) {
    int i, top = -1;
    for (i = 0; i < p->count; i++) {
        const index_step *s = &p->steps[i];
        if (s->kind == STEP_NUMBER) stack[++top] = s->number;
        else if (s->kind == STEP_BAND) stack[++top] = bands[s->band];
        else if (s->kind == STEP_NEGATE) stack[top] = -stack[top];
        else if (s->kind == STEP_SQRT) stack[top] = sqrt(stack[top]);
        else if (s->kind == STEP_LOG) stack[top] = log(stack[top]);
        else if (s->kind == STEP_ABS) stack[top] = fabs(stack[top]);
        else {
            double right = stack[top--];
            if (s->kind == STEP_ADD) stack[top] += right;
            else if (s->kind == STEP_SUBTRACT) stack[top] -= right;
            else if (s->kind == STEP_MULTIPLY) stack[top] *= right;
            else stack[top] = right > 0 || right < 0 ? stack[top] / right : NO_NUMBER;
        }
    }
    return stack[0];
}

static void index_pixel(const void *user, const double *bands, double *outputs, double *room) {
    const index_plan *p = (const index_plan *)user;
    double value = index_value(p, bands, room);
    *outputs = value;
    if (!isfinite(value) || (!p->above && !p->below)) return;
    *outputs = (!p->above || value > p->low) && (!p->below || value < p->high);
}

/* A number that may be negative. */
static int threshold_of(const char *option_name, const char *text, double *value) {
    char *end;
    if (!text) return 0;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value)) fail(EXIT_USAGE, "%s: '%s' is not a number", option_name, text);
    return 1;
}

/* The expression of a named index; another text is an expression itself. */
static const char *index_expression(const char *text) {
    int i;
    for (i = 0; i < NAMED_INDICES; i++)
        if (!strcmp(text, named_indices[i].name)) return named_indices[i].expression;
    return text;
}

static void index_read(const job *j, const char *text, index_plan *p) {
    text = index_expression(text);
    p->j = j;
    p->text = text;
    p->at = text;
    index_sum(p);
    index_skip(p);
    if (*p->at) index_expects(p, "+, -, *, / or the end");
    p->above = threshold_of("--above", j->s->index.above, &p->low);
    p->below = threshold_of("--below", j->s->index.below, &p->high);
}

/* Makes the bands of the expression the bands in use, so that no other band is read. */
static void use_named_bands(job *j, index_plan *p) {
    int *place = ALLOCATE(int, j->cube.band_count), count = 0, b, i;
    for (i = 0; i < p->count; i++)
        if (p->steps[i].kind == STEP_BAND) place[p->steps[i].band] = 1;
    for (b = 0; b < j->cube.band_count; b++) {
        if (!place[b]) continue;
        j->bands[count] = j->bands[b];
        place[b] = count++;
    }
    if (!count) fail(EXIT_USAGE, "--index: '%s' names no band, such as b860 or #7", p->text);
    for (i = 0; i < p->count; i++)
        if (p->steps[i].kind == STEP_BAND) p->steps[i].band = place[p->steps[i].band];
    j->cube.band_count = count;
    free(place);
}

/* How many pixels of a mask are not 0. */
static double marked_pixels(const cube_file *written) {
    cube_file mask = cube_open(written->header_name, written->data_name);
    char *line = (char *)allocate((size_t)mask.samples, shs_type_size(mask.type));
    double count = 0;
    int x, y;
    for (y = 0; y < mask.lines; y++) {
        must_read(&mask, y, 1, line);
        for (x = 0; x < mask.samples; x++) count += get_value(line, (size_t)x, mask.type, mask.swap) > 0;
    }
    free(line);
    cube_close(&mask);
    return count;
}

static void run_index(const settings *s, char **names) {
    settings own = *s;
    index_plan *p = ALLOCATE(index_plan, 1);
    char *title;
    double valid, marked, pixels;
    job *j;
    if (!s->index.expression) fail(EXIT_USAGE, "--index: is needed: an expression like (b860-b650)/(b860+b650), or NDVI, NDWI ...");
    if ((s->index.above || s->index.below) && !s->output.type) own.output.type = "u8";
    else if (!s->index.above && !s->index.below && index_expression(s->index.expression) != s->index.expression)
        refuse_integers(s, INDEX, "named indices are of the size of 1");
    j = job_open(&own, INDEX, names[0], names[1]);
    index_read(j, s->index.expression, p);
    if (p->above || p->below) { /* a mask has no third value: what has no result is outside */
        j->out.has_nodata = 0;
        j->sink.nodata = 0;
        j->sink.has_nodata = 1;
    }
    use_named_bands(j, p);
    warn_of_mode(j);
    pixels = (double)j->in.samples * j->in.lines;
    title = joined(s->index.expression, " of ");
    output_start(j, 1, title);
    valid = each_pixel(j, 1, MOST_STEPS, index_pixel, p);
    if (!(valid > 0))
        fail(EXIT_ERROR, "%s: --index: '%s' has no value in any pixel: they are missing, or it divides by zero everywhere",
             names[0], p->text);
    j->out.names = (char *const *)&s->index.expression;
    output_show(j, "Index", NULL);
    write_html(j, "Index", NULL);
    if (p->above || p->below) {
        marked = marked_pixels(&j->out);
        if (!(marked > 0)) warn("%s: no pixel is within the thresholds", names[1]);
        printf("seconds=%.3f marked=%.0f valid=%.0f pixels=%.0f\n", j->written - j->start, marked, valid, pixels);
    } else printf("seconds=%.3f valid=%.0f pixels=%.0f\n", j->written - j->start, valid, pixels);
    free(title);
    free(p);
    job_close(j);
}

#endif /* HYPERCUBE_INDICES */
