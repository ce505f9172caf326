/* texture - textures and their levels of detail (mips) in atoms that are learnt for a set of them.

       texture encode SET.tex IN.png ... [--block 8 --sparsity 6 --atoms 256 --mips]
       texture decode SET.tex OUT.png [--texture 0 --level 0]
       texture view SET.tex OUT.png --reference IN.png

   A block of b x b pixels, all its channels together, is a signal. A GPU asks for any pixel at any time, so every block takes
   the same number of bytes: a mean a channel, and s pairs of an atom's number and a coefficient, a byte each. Atoms are learnt
   by AK-SVD, rounded to signed bytes, and blocks are coded by OMP in the rounded atoms; the coefficients are then improved as
   the integers that they are stored as. texture_decode.h says what the file is, and reads it. */
#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#include "../example.h"

#include "texture_decode.h"

enum { TRAINING_BLOCKS = 20000, MOST_LEVELS = 15, MOST_SIDE = 16384 };

typedef struct settings {
    int block, sparsity, atoms, iterations, mips, texture, level, threads;
    uint64_t seed;
    const char *reference;
} settings;

static settings chosen = {8, 6, 256, 15, 0, 0, 0, 0, 1, NULL};

static const option options[] = {
    {"Encoding", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--block", "B", OPTION_COUNT, &chosen.block, 4, "width and height of a block, 4 to 8 (8)"},
    {"--sparsity", "S", OPTION_COUNT, &chosen.sparsity, 1, "atoms a block, 1 to 16 (6)"},
    {"--atoms", "N", OPTION_COUNT, &chosen.atoms, 1, "atoms of the dictionary, 1 to 256 (256)"},
    {"--iterations", "K", OPTION_COUNT, &chosen.iterations, 1, "iterations of learning (15)"},
    {"--mips", NULL, OPTION_SWITCH, &chosen.mips, 0, "encode the levels of detail too, down to 1 x 1"},
    {"Decoding and viewing", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--texture", "I", OPTION_COUNT, &chosen.texture, 0, "which texture of the set, from 0 (0)"},
    {"--level", "L", OPTION_COUNT, &chosen.level, 0, "decode: which level of detail, from 0, the largest (0)"},
    {"--reference", "IN.png", OPTION_TEXT, &chosen.reference, 0, "view: what the texture was"},
    {"Running", NULL, OPTION_HEADING, NULL, 0, NULL},
    {"--seed", "N", OPTION_SEED, &chosen.seed, 0, "seed of the choice of blocks to learn from (1)"},
    {"--threads", "N", OPTION_COUNT, &chosen.threads, 0, "threads, 0 = all processors (0)"},
    {"encode set.tex grass.png rock.png --mips", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"decode set.tex rock.png --texture 1", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
    {"view set.tex view.png --reference grass.png", NULL, OPTION_EXAMPLE, NULL, 0, NULL},
};

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Whether all pixels are opaque. */
static int is_opaque(const picture *a) {
    size_t i;
    for (i = 0; a->alpha && i < picture_area(a); i++)
        if (a->alpha[i] < 255) return 0;
    return 1;
}

/* As picture_read, in bytes, with the alpha as the fourth channel. A set has no grey with alpha, so a grey picture with
   transparency becomes one of colour. A grey picture whose alpha is opaque stays grey, which takes a quarter of the values. */
static picture texture_read(const char *name) {
    picture a = picture_read(name), b;
    size_t i;
    int c;
    if (is_opaque(&a) && (!a.alpha || a.channels == 1)) {
        free(a.alpha);
        a.alpha = NULL;
        a.white = 255;
        return a;
    }
    b = picture_create(a.width, a.height, 4);
    for (i = 0; i < picture_area(&a); i++) {
        const shs_real *from = picture_pixel(&a, i);
        shs_real *to = picture_pixel(&b, i);
        for (c = 0; c < 3; c++) to[c] = from[c % a.channels];
        to[3] = a.alpha[i];
    }
    picture_free(&a);
    return b;
}

/* The channels of a pixel. */
static shs_real *pixel_of(const picture *a, int x, int y) {
    return a->pixels + values_of(element_at(y, a->width, x), a->channels);
}

/* The same with more channels: grey becomes colour, what had no transparency is opaque. */
static void widen(picture *a, int channels) {
    picture b = picture_create(a->width, a->height, channels);
    const shs_real *from = a->pixels;
    shs_real *to = b.pixels;
    size_t i;
    int c;
    for (i = 0; i < picture_area(a); i++) {
        for (c = 0; c < channels; c++) {
            if (c < a->channels) to[c] = from[c];
            else if (c == 3) to[c] = 255;
            else to[c] = from[0];
        }
        from += a->channels;
        to += channels;
    }
    free(a->pixels);
    *a = b;
}

/* Half the size: means of 2 x 2 pixels, rounded to bytes. */
static picture halve(const picture *a) {
    picture b = picture_create(texture_half(a->width), texture_half(a->height), a->channels);
    shs_real *to = b.pixels;
    int x, y, c;
    for (y = 0; y < b.height; y++)
        for (x = 0; x < b.width; x++) {
            const int right = 2 * x + (2 * x + 1 < a->width), below = 2 * y + (2 * y + 1 < a->height);
            const shs_real *p = pixel_of(a, 2 * x, 2 * y), *p_right = pixel_of(a, right, 2 * y);
            const shs_real *q = pixel_of(a, 2 * x, below), *q_right = pixel_of(a, right, below);
            for (c = 0; c < b.channels; c++) {
                const double sum = (double)(p[c] + p_right[c] + q[c] + q_right[c]);
                *to++ = (shs_real)floor(sum / 4 + 0.5);
            }
        }
    return b;
}

/* ---- encode ------------------------------------------------------------------------------------------------------ */

/* A number of so many bytes, the lowest first. */
static void put_unsigned(unsigned char *to, int bytes, uint32_t value) {
    int i;
    for (i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * i & 255);
}
static void put_number(unsigned char *to, int bytes, int value) { put_unsigned(to, bytes, (uint32_t)value); }

static int lesser(int a, int b) {
    if (a < b) return a;
    return b;
}

/* How many blocks cover a level. */
static size_t blocks_of(const picture *a, int b) {
    return elements((a->width + b - 1) / b, (a->height + b - 1) / b);
}

/* The blocks of a level as columns of Y without their means, which are stored at the beginning of their codes. Beyond the
   edges the nearest pixel stands. */
static void take_blocks(const picture *a, int b, shs_real *Y, unsigned char *codes, size_t stride) {
    const int area = b * b;
    int x, y, c, i;
    for (y = 0; y < a->height; y += b)
        for (x = 0; x < a->width; x += b) {
            for (c = 0; c < a->channels; c++) {
                double sum = 0;
                for (i = 0; i < area; i++) {
                    const int u = lesser(x + i % b, a->width - 1), v = lesser(y + i / b, a->height - 1);
                    Y[i] = pixel_of(a, u, v)[c];
                    sum += (double)Y[i];
                }
                codes[c] = (unsigned char)(sum / area + 0.5);
                for (i = 0; i < area; i++) Y[i] -= codes[c];
                Y += area;
            }
            codes += stride;
        }
}

/* n atoms of p values: as signed bytes, of unit norm, and the lengths of the bytes. */
typedef struct atoms {
    int p, n;
    unsigned char *bytes;
    shs_real *D;
    double *norms;
} atoms;

static unsigned char signed_byte(int value) {
    if (value < 0) value += 256;
    return (unsigned char)value;
}

/* Some of the m blocks, p values each; every set of `count` blocks is equally likely. */
static shs_real *training_blocks(uint64_t seed, size_t p, size_t m, const shs_real *Y, size_t count) {
    shs_real *some = ALLOCATE(shs_real, count * p);
    shs_random random;
    size_t i, taken = 0;
    shs_random_seed(&random, seed);
    for (i = 0; i < m && taken < count; i++) {
        const double left = (double)(m - i), missing = (double)(count - taken);
        if (shs_random_uniform(&random) * left < missing) memcpy(some + taken++ * p, Y + i * p, p * sizeof *Y);
    }
    return some;
}

/* Learns the atoms from some of the m blocks, and rounds them to bytes. */
static void learn(const shs_context *ctx, const settings *s, const atoms *a, size_t m, const shs_real *Y) {
    const int p = a->p, n = a->n;
    size_t count = TRAINING_BLOCKS;
    unsigned char *bytes = a->bytes;
    shs_real *atom = a->D, *some;
    int i, j;
    double largest = 0;
    shs_ksvd_options learning = SHS_ZERO;
    if (m < count) count = m;
    some = training_blocks(s->seed, (size_t)p, m, Y, count);
    learning.iterations = s->iterations;
    learning.seed = s->seed;
    learning.coding.sparsity = s->sparsity;
    check(shs_ksvd_ex(ctx, p, n, count, some, p, &learning, a->D, p, NULL, NULL), "learning the atoms");
    free(some);
    for (i = 0; i < p * n; i++) largest = fmax(largest, fabs((double)atom[i]));
    for (j = 0; j < n; j++) {
        double sum = 0;
        for (i = 0; i < p; i++) {
            const double value = floor((double)atom[i] * 127 / largest + 0.5);
            *bytes++ = signed_byte((int)value);
            atom[i] = (shs_real)value;
            sum += value * value;
        }
        a->norms[j] = sqrt(sum);
        for (i = 0; i < p; i++) atom[i] = (shs_real)((double)atom[i] / a->norms[j]);
        atom += p;
    }
}

/* Pairs of a block: the coefficients x, in units of `step`, become integers. Then each integer is chosen again for the given
   others, until none changes. Rounding each coefficient to the nearest integer is worse for similar atoms. */
static void round_block(const atoms *a, int used, const int *chosen_atoms, const shs_real *x, const shs_real *y, double step,
                        unsigned char *pairs) {
    const int p = a->p;
    double rest[4 * 8 * 8];
    int q[16] = {0}, i, k, round, changed = 1;
    for (i = 0; i < p; i++) rest[i] = (double)y[i];
    for (round = 0; round < 8 && changed; round++) {
        changed = 0;
        for (k = 0; k < used; k++) {
            const unsigned char *atom = a->bytes + chosen_atoms[k] * p;
            const double norm = a->norms[chosen_atoms[k]];
            double product = 0, best;
            int value, move;
            if (round == 0) {
                best = (double)x[k] / norm / step;
            } else {
                for (i = 0; i < p; i++) product += rest[i] * texture_signed(atom[i]);
                best = q[k] + product / (norm * norm * step);
            }
            value = (int)floor(fmin(fmax(best, -127), 127) + 0.5);
            move = value - q[k];
            q[k] = value;
            changed |= move != 0 || round == 0;
            for (i = 0; move && i < p; i++) rest[i] -= step * move * texture_signed(atom[i]);
        }
    }
    for (k = 0; k < used; k++) {
        put_number(pairs + 2 * k, 1, chosen_atoms[k]);
        pairs[2 * k + 1] = signed_byte(q[k]);
    }
}

/* F: the largest coefficient becomes 127, if sums stay within 32 bits. */
static uint32_t choose_scale(const settings *s, const shs_codes *codes, const double *norms) {
    const uint32_t most = 2147450880u / (16384u * (unsigned)s->sparsity);
    const shs_real *coefs = codes->coefs;
    const int *chosen_atoms = codes->atoms;
    double largest = 0;
    size_t i;
    int k;
    for (i = 0; i < codes->m; i++) {
        for (k = 0; k < codes->used[i]; k++) {
            const double here = fabs((double)coefs[k]) / norms[chosen_atoms[k]];
            if (here > largest) largest = here;
        }
        coefs += codes->stride;
        chosen_atoms += codes->stride;
    }
    largest = ceil(largest / 127 * 65536);
    if (largest < 1) return 1;
    if (largest > most) return most;
    return (uint32_t)largest;
}

/* In dB, of level 0 of a texture; alpha counts as the colours do. */
static double decoded_psnr(const texture_set *t, int texture, int level, const picture *a) {
    unsigned char *pixels = ALLOCATE(unsigned char, picture_size(a));
    picture b = picture_create(a->width, a->height, a->channels);
    double psnr;
    size_t i;
    texture_decode(t, texture, level, pixels);
    for (i = 0; i < picture_size(a); i++) b.pixels[i] = pixels[i];
    psnr = picture_psnr(a, &b);
    free(pixels);
    free(b.pixels);
    return psnr;
}

static void encode(const settings *s, const char *out, int count, char **names) {
    picture *levels = ALLOCATE(picture, elements(count, MOST_LEVELS));
    int *level_counts = ALLOCATE(int, count), channels = 1, i, l, b = s->block;
    size_t m = 0, head, table, size, stride, p, n, values = 0, k;
    atoms learnt;
    shs_context ctx = example_context(s->threads, NULL);
    shs_omp_options coding = SHS_ZERO;
    shs_codes codes = SHS_ZERO;
    texture_set set;
    unsigned char *bytes, *blocks;
    const char *wrong;
    shs_real *Y, *signal;
    uint32_t scale;
    double pixels;
    FILE *file;
    for (i = 0; i < count; i++) will_read(names[i]);
    will_write(out);
    for (i = 0; i < count; i++) {
        picture *a = levels + i * MOST_LEVELS;
        *a = texture_read(names[i]);
        if (a->width > MOST_SIDE || a->height > MOST_SIDE)
            fail(EXIT_ERROR, "%s: %d x %d pixels are too large: at most %d a side", names[i], a->width, a->height, MOST_SIDE);
        for (k = 0; k < picture_size(a); k++) a->pixels[k] = (shs_real)floor((double)a->pixels[k] + 0.5);
        if (a->channels > channels) channels = a->channels;
    }
    for (i = 0; i < count; i++) {
        picture *a = levels + i * MOST_LEVELS;
        if (a->channels < channels) widen(a, channels);
        for (l = 0;; l++) {
            m += blocks_of(a + l, b);
            values += picture_area(a + l);
            if (!s->mips || (a[l].width == 1 && a[l].height == 1)) break;
            a[l + 1] = halve(a + l);
        }
        level_counts[i] = l + 1;
    }
    learnt.p = channels * b * b;
    learnt.n = s->atoms;
    if (m < (size_t)s->atoms) learnt.n = (int)m;
    p = (size_t)learnt.p;
    n = (size_t)learnt.n;
    stride = (size_t)(channels + 2 * s->sparsity);
    table = 24 + elements(count, 12);
    head = table + n * p;
    size = head + m * stride;
    bytes = ALLOCATE(unsigned char, size);
    memcpy(bytes, "\211SHSTEX\n\1", 9);
    put_number(bytes + 9, 1, channels);
    put_number(bytes + 10, 1, b);
    put_number(bytes + 11, 1, s->sparsity);
    put_number(bytes + 12, 2, learnt.n);
    put_number(bytes + 14, 2, count);
    for (i = 0; i < count; i++) {
        put_number(bytes + 24 + 12 * i, 4, levels[i * MOST_LEVELS].width);
        put_number(bytes + 28 + 12 * i, 4, levels[i * MOST_LEVELS].height);
        put_number(bytes + 32 + 12 * i, 4, level_counts[i]);
    }
    Y = ALLOCATE(shs_real, m * p);
    learnt.bytes = bytes + table;
    learnt.D = ALLOCATE(shs_real, p * n);
    learnt.norms = ALLOCATE(double, n);
    blocks = bytes + head;
    signal = Y;
    for (i = 0; i < count; i++)
        for (l = 0; l < level_counts[i]; l++) {
            const picture *a = levels + i * MOST_LEVELS + l;
            take_blocks(a, b, signal, blocks, stride);
            signal += blocks_of(a, b) * p;
            blocks += blocks_of(a, b) * stride;
        }
    learn(&ctx, s, &learnt, m, Y);
    check(shs_codes_create(NULL, m, s->sparsity, &codes), "memory for the codes");
    coding.sparsity = s->sparsity;
    check(shs_omp_ex(&ctx, learnt.p, learnt.n, learnt.D, learnt.p, m, Y, learnt.p, &coding, &codes, NULL, NULL),
          "coding the blocks");
    scale = choose_scale(s, &codes, learnt.norms);
    blocks = bytes + head + channels;
    for (k = 0; k < m; k++) {
        const size_t first = values_of(k, codes.stride);
        round_block(&learnt, codes.used[k], codes.atoms + first, codes.coefs + first, Y + k * p, scale / 65536.0,
                    blocks + k * stride);
    }
    put_unsigned(bytes + 16, 4, scale);
    put_unsigned(bytes + 20, 4, texture_sum(bytes, size));
    wrong = texture_open(bytes, size, &set);
    if (wrong) fail(EXIT_ERROR, "%s: %s", out, wrong);
    file = open_for_writing(out);
    fwrite(bytes, 1, size, file);
    close_written(file, out);
    progress_clear();
    for (i = 0; i < count; i++)
        for (l = 0; l < level_counts[i]; l++) {
            const picture *a = levels + i * MOST_LEVELS + l;
            if (l == 0) printf("%s: %d x %d psnr=%.2f\n", names[i], a->width, a->height, decoded_psnr(&set, i, l, a));
            free(a->pixels);
        }
    pixels = (double)values;
    printf("bytes=%zu bits_a_pixel=%.3f without_atoms=%.3f\n", size, 8.0 * (double)size / pixels,
           8.0 * (double)(m * stride) / pixels);
    shs_codes_free(NULL, &codes);
    free(bytes);
    free(Y);
    free(learnt.D);
    free(learnt.norms);
    free(levels);
    free(level_counts);
}

/* ---- decode and view --------------------------------------------------------------------------------------------- */

/* The caller frees what is returned once the set is done with. */
static unsigned char *open_set(const char *name, texture_set *t, const settings *s) {
    size_t size;
    unsigned char *bytes = read_file(name, PICTURE_BYTES, &size);
    const char *wrong = texture_open(bytes, size, t);
    if (wrong) fail(EXIT_ERROR, "%s: %s", name, wrong);
    if (s->texture >= t->textures)
        fail(EXIT_ERROR, "%s: --texture %d: it holds %d, and the first is 0", name, s->texture, t->textures);
    return bytes;
}

static picture decoded(const texture_set *t, int texture, int level) {
    int width, height;
    picture a;
    unsigned char *pixels;
    size_t i;
    texture_level(t, texture, level, &width, &height);
    a = picture_create(width, height, t->channels);
    pixels = ALLOCATE(unsigned char, picture_size(&a));
    texture_decode(t, texture, level, pixels);
    for (i = 0; i < picture_size(&a); i++) a.pixels[i] = pixels[i];
    free(pixels);
    return a;
}

static void decode(const settings *s, const char *in, const char *out) {
    texture_set t;
    unsigned char *bytes = open_set(in, &t, s);
    const int levels = texture_number(&t, s->texture, 2);
    picture a;
    if (s->level >= levels) fail(EXIT_ERROR, "%s: --level %d: there are %d, and the first is 0", in, s->level, levels);
    will_read(in);
    picture_will_write(out, t.channels);
    if (t.channels == 4 && !has_extension(out, ".png")) fail(EXIT_USAGE, "%s: transparency goes into .png alone", out);
    a = decoded(&t, s->texture, s->level);
    picture_write(out, &a);
    printf("width=%d height=%d channels=%d\n", a.width, a.height, a.channels);
    free(a.pixels);
    free(bytes);
}

/* Copies a to the place (x, y) of b, as colour or grey; transparency is left behind. */
static void paste(picture *b, int x, int y, const picture *a) {
    const size_t size = (size_t)b->channels * sizeof *b->pixels;
    int i, j;
    for (j = 0; j < a->height; j++)
        for (i = 0; i < a->width; i++) memcpy(pixel_of(b, x + i, y + j), pixel_of(a, i, j), size);
}

/* Original, decoded and 128 + 4 times the error side by side, a level of detail below the other. */
static void view(const settings *s, const char *in, const char *out) {
    texture_set t;
    unsigned char *bytes = open_set(in, &t, s);
    const int levels = texture_number(&t, s->texture, 2);
    int l, y = 0, width, height, total = 0, channels = 3;
    picture whole, page;
    size_t i;
    if (!s->reference) fail(EXIT_USAGE, "view needs --reference, the picture that the texture was");
    will_read(in);
    will_read(s->reference);
    if (t.channels == 1) channels = 1;
    picture_will_write(out, channels);
    whole = texture_read(s->reference);
    if (whole.channels < t.channels) widen(&whole, t.channels);
    for (l = 0; l < levels; l++) {
        texture_level(&t, s->texture, l, &width, &height);
        total += height;
    }
    texture_level(&t, s->texture, 0, &width, &height);
    if (whole.width != width || whole.height != height || whole.channels != t.channels)
        fail(EXIT_ERROR, "%s: its size or number of channels differs from texture %d of %s", s->reference, s->texture, in);
    page = picture_create(3 * width, total, channels);
    for (l = 0; l < levels; l++) {
        picture a = decoded(&t, s->texture, l);
        picture half = halve(&whole);
        paste(&page, 0, y, &whole);
        paste(&page, width, y, &a);
        printf("level=%d width=%d height=%d psnr=%.2f\n", l, a.width, a.height, picture_psnr(&whole, &a));
        for (i = 0; i < picture_size(&a); i++) a.pixels[i] = 128 + 4 * (a.pixels[i] - whole.pixels[i]);
        paste(&page, 2 * width, y, &a);
        y += a.height;
        free(a.pixels);
        free(whole.pixels);
        whole = half;
    }
    picture_write(out, &page);
    free(whole.pixels);
    free(page.pixels);
    free(bytes);
}

int main(int argc, char **argv) {
    settings *s = &chosen;
    int names = read_options(argc, argv, "encode SET.tex IN... [options]\ndecode SET.tex OUT.png [options]\n"
                             "view SET.tex OUT.png --reference IN [options]",
                             "Codes textures in atoms that are learnt for a set of them, and decodes them.\n"
                             "The last line of encode: bytes=n bits_a_pixel=b without_atoms=b",
                             options, COUNT_OF(options));
    int which = -1;
    if (names) which = find_word("encode|decode|view", argv[0]);
    if (which < 0) fail(EXIT_USAGE, "needs a command: encode, decode or view");
    if (which == 0 && names < 3) fail(EXIT_USAGE, "%s needs SET.tex and at least one picture", argv[0]);
    if (which > 0 && names != 3) fail(EXIT_USAGE, "%s needs two names, SET.tex and OUT.png", argv[0]);
    if (s->block > 8) fail(EXIT_USAGE, "--block: %d is too large: at most 8", s->block);
    if (s->sparsity > 16) fail(EXIT_USAGE, "--sparsity: %d is too large: at most 16", s->sparsity);
    if (s->atoms > 256) fail(EXIT_USAGE, "--atoms: %d is too large: at most 256", s->atoms);
    if (names - 2 > 65535) fail(EXIT_USAGE, "%d pictures are too many: at most 65535", names - 2);
    if (which == 0) encode(s, argv[1], names - 2, argv + 2);
    else if (which == 1) decode(s, argv[1], argv[2]);
    else view(s, argv[1], argv[2]);
    example_end();
    return EXIT_SUCCESS;
}
