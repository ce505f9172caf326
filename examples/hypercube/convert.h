/* convert.h - the values of a cube in another type, range or interleave. */
#ifndef HYPERCUBE_CONVERT
#define HYPERCUBE_CONVERT

#include "html.h"

/* How a value becomes another: (value - low) * scale + first; the other end is last. */
typedef struct range {
    double low, high, scale, first, last;
} range;

/* The range of the output type, without the no-data value if the output has one. */
static range range_onto(const cube_file *out, double low, double high) {
    const value_type *type = type_info(out->type);
    range r;
    r.low = low;
    r.high = high;
    if (out->has_nodata && is_integer(out->type)) r.first = 1;
    else r.first = 0;
    if (is_integer(out->type)) r.last = type->high;
    else r.last = 1;
    if (high > low) r.scale = (r.last - r.first) / (high - low);
    else r.scale = 0;
    return r;
}

/* One range for each band in use: as they are (NULL), from LOW to HIGH, or from the least to the largest valid value, of all
   bands or of each. */
static range *choose_ranges(job *j) {
    const char *text = j->s->output.range;
    int each = text && !strcmp(text, "bands"), automatic = each || (text && !strcmp(text, "auto")), i, found = 0;
    range *ranges;
    band_summary *all = NULL;
    double low = 0, high = 0;
    char *end, *last;
    if (!text) return NULL;
    ranges = ALLOCATE(range, j->cube.band_count);
    if (!automatic) {
        low = strtod(text, &end);
        if (*end == ',' && end > text) high = strtod(end + 1, &last);
        else high = 0;
        if (end == text || *end != ',' || last == end + 1 || *last || !(low < high) || !isfinite(low) || !isfinite(high))
            fail(EXIT_USAGE, "--range: '%s' is none of auto, bands, LOW,HIGH", text);
    }
    if (automatic) all = summarise(j);
    for (i = 0; all && i < j->cube.band_count; i++) {
        if (!(all[i].count > 0)) continue;
        if (!(found && low < all[i].low)) low = all[i].low;
        if (!(found && high > all[i].high)) high = all[i].high;
        found = 1;
    }
    for (i = 0; i < j->cube.band_count; i++) {
        if (each) ranges[i] = range_onto(&j->out, all[i].low, all[i].high);
        else ranges[i] = range_onto(&j->out, low, high);
    }
    if (!each) printf("values: %.10g to %.10g became %.10g to %.10g\n", low, high, ranges->first, ranges->last);
    free(all);
    return ranges;
}

/* What leads back goes into the header: value = gain * stored + offset. */
static void note_ranges(job *j, const range *ranges) {
    cube_file *out = &j->out;
    int i;
    out->scale.gain = ALLOCATE(double, j->cube.band_count);
    out->scale.bias = ALLOCATE(double, j->cube.band_count);
    for (i = 0; i < j->cube.band_count; i++) {
        const range *r = ranges + i;
        if (r->scale > 0) out->scale.gain[i] = 1 / r->scale;
        out->scale.bias[i] = r->low - out->scale.gain[i] * r->first;
    }
    add_gains_of_input(j);
}

/* Clamped and rounded where integers are stored; what is lost is counted. */
static double converted(cube_file *out, const range *r, int band, double value) {
    const value_type *type = type_info(out->type);
    double low = type->low, high = type->high;
    if (r) {
        low = r->first;
        high = r->last;
        value = (value - r->low) * r->scale + r->first;
    }
    if (!is_integer(out->type)) return value;
    if (value < low - 0.5 || value > high + 0.5) out->lost.clamped++;
    return stored_integer(out, band, limited(value, low, high));
}

/* marks: of these pixels; NULL: all count. band: of the output. */
static void convert_values(job *j, const range *r, int band, const unsigned char *marks, int count, double *values) {
    int k;
    for (k = 0; k < count; k++) {
        const int missing = is_missing(&j->in, values[k]) || (marks && !marks[k]);
        if (missing) values[k] = j->out.nodata;
        else values[k] = converted(&j->out, r, band, values[k]);
    }
}

static void convert_lines(job *j, const range *ranges, int lines, const unsigned char *marks, const void *block, void *into) {
    const cube_file *in = &j->in;
    const cube_file *out = &j->out;
    const range *r = ranges;
    double values[COLUMNS_AT_ONCE];
    int x, y, i;
    for (y = 0; y < lines; y++)
        for (x = 0; x < in->samples; x += COLUMNS_AT_ONCE) {
            const int count = smaller(in->samples - x, COLUMNS_AT_ONCE);
            const unsigned char *mark = NULL;
            if (marks) mark = marks + element_at(y, in->samples, x);
            for (i = 0; i < j->cube.band_count; i++) {
                if (ranges) r = ranges + i;
                get_run(block, run_of(in, lines, y, x, count, j->bands[i]), in->type, in->swap, values, 1);
                convert_values(j, r, i, mark, count, values);
                put_run(into, run_of(out, lines, y, x, count, i), out->type, values, 1);
            }
        }
}

static void run_convert(const settings *s, char **names) {
    job *j = job_open(s, CONVERT, names[0], names[1]);
    size_t line = elements(j->in.samples, j->in.bands) * sizeof(double); /* of either */
    int lines = lines_of_block(j), first;
    char *block, *into;
    unsigned char *marks;
    range *ranges = choose_ranges(j);
    output_start(j, j->cube.band_count, "Values of ");
    keep_bands(j);
    j->out.origin.same_values = !ranges && !j->in.scale.gain;
    if (j->in.scale.reflectance && !ranges) j->out.scale.factor = 1;
    if (ranges) note_ranges(j, ranges);
    if (!lines) lines = (int)(16e6 / (double)line) + 1;
    lines = smaller(lines, j->in.lines);
    block = (char *)allocate(line, (size_t)lines);
    into = (char *)allocate(line, (size_t)lines);
    marks = ALLOCATE(unsigned char, elements(lines, j->in.samples));
    for (first = 0; first < j->in.lines; first += lines) {
        lines = smaller(lines, j->in.lines - first);
        show_lines(j, "converting", first);
        must_read(&j->in, first, lines, block);
        convert_lines(j, ranges, lines, marks_of(j, first, lines, marks), block, into);
        if (write_lines(&j->out, first, lines, into))
            fail(EXIT_ERROR, "%s: writing it failed: %s", j->out.part.name, strerror(j->out.io.error));
    }
    progress_clear();
    output_show(j, "Band", j->bands);
    write_html(j, "Band", NULL);
    printf("seconds=%.3f pixels=%.0f\n", j->written - j->start, (double)j->in.samples * j->in.lines);
    free(block);
    free(into);
    free(marks);
    free(ranges);
    job_close(j);
}

#endif /* HYPERCUBE_CONVERT */
