/* scene.h - a small scene mixed from synthetic spectra, where no cube is at hand. */
#ifndef HYPERCUBE_SCENE
#define HYPERCUBE_SCENE

#include "envi_write.h"
#include "options.h"

/* ---- a synthetic scene ------------------------------------------------------------------------------------------- */

enum { WATER, VEGETATION, SOIL, ROAD, TARGET, MATERIALS, WAVES = 4 };
static const double two_pi = 6.283185307179586;

static double bump(double x, double centre, double width) { return exp(-0.5 * pow((x - centre) / width, 2)); }
static double rise(double x, double centre, double width) { return 1 / (1 + exp(-(x - centre) / width)); }

/* Reflectance at a wavelength in micrometres: the shape of such spectra, not a measurement of any. */
static double reflectance(int material, double w) {
    double moist = 1 - 0.55 * bump(w, 1.45, 0.06) - 0.75 * bump(w, 1.94, 0.08);
    switch (material) {
    case WATER: return 0.01 + 0.09 * exp(-(w - 0.4) / 0.18) + 0.02 * bump(w, 0.56, 0.04);
    case VEGETATION:
        return moist * (0.03 + 0.07 * bump(w, 0.55, 0.035) +
                        0.45 * rise(w, 0.72, 0.018) * (1 - 0.62 * rise(w, 1.6, 0.25)));
    case SOIL: return (0.06 + 0.34 * rise(w, 0.85, 0.28)) * (0.35 + 0.65 * moist) * (1 - 0.12 * bump(w, 2.21, 0.03));
    case ROAD: return 0.13 + 0.035 * (w - 0.4) - 0.03 * bump(w, 2.32, 0.04);
    default: return (0.55 - 0.06 * w) * (1 - 0.45 * bump(w, 0.87, 0.07) - 0.35 * bump(w, 1.72, 0.03));
    }
}

/* Where the air's water vapour lets nothing through. */
static int is_opaque(double w) { return (w > 1.34 && w < 1.44) || (w > 1.79 && w < 1.96); }

typedef struct wave {
    double x, y, phase; /* frequencies, in radians over the scene */
} wave;

typedef struct scene {
    int samples, lines, bands;
    double *wavelength; /* bands, in nanometres */
    double *spectra;    /* bands x MATERIALS */
    wave waves[ROAD][WAVES]; /* the maps of the first materials are sums of these */
    int targets, *target_x, *target_y; /* the first pixel of each; all are 3 x 2 pixels */
    double noise;
    shs_random random;
} scene;

static void scene_spectra(scene *a) {
    int b, m;
    a->wavelength = ALLOCATE(double, a->bands);
    a->spectra = ALLOCATE(double, MATERIALS * a->bands);
    for (b = 0; b < a->bands; b++) {
        double w = 0.4 + 2.1 * b / (a->bands - 1);
        a->wavelength[b] = floor(10000 * w + 0.5) / 10;
        for (m = 0; m < MATERIALS && !is_opaque(w); m++) a->spectra[m * a->bands + b] = reflectance(m, w);
    }
}

static void scene_create(scene *a, const settings *s) {
    int m, k;
    a->samples = s->scene.samples;
    a->lines = s->scene.lines;
    a->bands = s->scene.bands;
    a->noise = s->scene.noise;
    scene_spectra(a);
    shs_random_seed(&a->random, s->seed);
    for (m = 0; m < ROAD; m++)
        for (k = 0; k < WAVES; k++) {
            double turn = two_pi * (double)shs_random_uniform(&a->random), rate = two_pi * (0.5 + 0.55 * k);
            a->waves[m][k].x = rate * cos(turn);
            a->waves[m][k].y = rate * sin(turn);
            a->waves[m][k].phase = two_pi * (double)shs_random_uniform(&a->random);
        }
    if (a->samples < 1000 && a->lines < 1000) a->targets = 6 + a->samples * a->lines / 20000;
    else a->targets = 60;
    a->target_x = ALLOCATE(int, a->targets);
    a->target_y = ALLOCATE(int, a->targets);
    for (k = 0; k < a->targets; k++) {
        a->target_x[k] = (int)shs_random_below(&a->random, (uint64_t)a->samples - 2);
        a->target_y[k] = (int)shs_random_below(&a->random, (uint64_t)a->lines - 1);
    }
}

static void scene_free(scene *a) {
    free(a->wavelength);
    free(a->spectra);
    free(a->target_x);
    free(a->target_y);
    free(a);
}

static int on_target(const scene *a, int x, int y) {
    int k, inside = 0;
    for (k = 0; k < a->targets && !inside; k++)
        inside = x >= a->target_x[k] && x < a->target_x[k] + 3 && y >= a->target_y[k] && y < a->target_y[k] + 2;
    return inside;
}

/* How much there is of one of the first materials, before all are brought to a sum of 1. */
static double height(const scene *a, int material, double u, double v) {
    double sum = 0;
    int k;
    for (k = 0; k < WAVES; k++) {
        const wave *w = &a->waves[material][k];
        sum += sin(w->x * u + w->y * v + w->phase) / (1 + 0.5 * k);
    }
    return exp(3.5 * sum);
}

/* How much of each material a pixel holds; the shares add up to 1. */
static void abundances(const scene *a, int x, int y, double *share) {
    double u = (double)x / a->samples, v = (double)y / a->lines, sum = 0;
    double road = bump(v, 0.55 + 0.18 * sin(5 * u + a->waves[0][0].phase), 0.012);
    int m;
    for (m = 0; m < ROAD; m++) {
        share[m] = height(a, m, u, v);
        sum += share[m];
    }
    for (m = 0; m < ROAD; m++) share[m] *= (1 - road) / sum;
    share[ROAD] = road;
    share[TARGET] = 0;
    if (!on_target(a, x, y)) return;
    for (m = 0; m < TARGET; m++) share[m] *= 0.4;
    share[TARGET] = 0.6;
}

/* One line of the scene as the file stores it. */
static void scene_line(scene *a, const cube_file *f, int y, double scale, char *line) {
    const value_type *info = type_info(f->type);
    double share[MATERIALS];
    int x, b, m;
    for (x = 0; x < a->samples; x++) {
        double light = 1 + 0.1 * sin(9.0 * x / a->samples + 4.0 * y / a->lines);
        abundances(a, x, y, share);
        for (b = 0; b < a->bands; b++) {
            double value = 0;
            for (m = 0; m < MATERIALS; m++) value += share[m] * a->spectra[m * a->bands + b];
            value = light * value + a->noise * (double)shs_random_normal(&a->random);
            value *= scale;
            if (is_integer(f->type)) value = as_integer(info, value);
            put_value(line, value_index(f, 1, 0, x, b), f->type, value);
        }
    }
}

static void write_or_fail(cube_file *f, int y, const void *line) {
    if (write_lines(f, y, 1, line)) fail(EXIT_ERROR, "%s: writing it failed: %s", f->part.name, strerror(f->io.error));
}

/* A cube of the scene's size, to be written; its header says which bands are of no use. */
static cube_file scene_file(const scene *a, const char *name, int bands, shs_type type, shs_interleave interleave) {
    cube_file f = SHS_ZERO;
    int b;
    f.samples = a->samples;
    f.lines = a->lines;
    f.bands = bands;
    f.type = type;
    f.interleave = interleave;
    f.description = joined(bands > 1 ? "Synthetic scene" : "Synthetic scene: 1 where a target stands", "");
    if (bands > 1) {
        f.axis.units = joined("Nanometers", "");
        f.axis.wavelength = ALLOCATE(double, bands);
        f.axis.good = ALLOCATE(double, bands);
        for (b = 0; b < bands; b++) {
            f.axis.wavelength[b] = a->wavelength[b];
            f.axis.good[b] = !is_opaque(a->wavelength[b] / 1000);
        }
    }
    cube_name(&f, name);
    cube_create(&f);
    return f;
}

/* What reflectance 1 is stored as. */
static double stored_reflectance(shs_type type) {
    if (type == SHS_TYPE_U8) return 250;
    if (is_integer(type)) return 10000;
    return 1;
}

static void run_synthesise(const settings *s, const char *name) {
    shs_type type = chosen_type(s->output.type, SHS_TYPE_U16);
    double scale = stored_reflectance(type);
    char *truth_name = derived_name(name, "_truth", ".hdr"), *line, *marks;
    scene *a = ALLOCATE(scene, 1);
    cube_file f, truth;
    int x, y;
    if (s->scene.bands > 65535) fail(EXIT_USAGE, "--bands: %d is more than 65535", s->scene.bands);
    scene_create(a, s);
    f = scene_file(a, name, a->bands, type, chosen_interleave(s->output.interleave));
    truth = scene_file(a, truth_name, 1, SHS_TYPE_U8, SHS_INTERLEAVE_BSQ);
    line = room_for_lines(&f, 1);
    marks = ALLOCATE(char, a->samples);
    for (y = 0; y < a->lines; y++) {
        scene_line(a, &f, y, scale, line);
        for (x = 0; x < a->samples; x++) marks[x] = (char)on_target(a, x, y);
        write_or_fail(&f, y, line);
        write_or_fail(&truth, y, marks);
    }
    cube_finish(&f, "Band", NULL);
    cube_finish(&truth, "Target", NULL);
    printf("%s: %d samples x %d lines x %d bands, %s\n%s: %d targets\n", name, a->samples, a->lines, a->bands,
           type_info(type)->name, truth_name, a->targets);
    free(line);
    free(marks);
    scene_free(a);
    cube_close(&f);
    cube_close(&truth);
    free(truth_name);
}

#endif /* HYPERCUBE_SCENE */
