/* options.h - the modes of hypercube and their options. */
#ifndef HYPERCUBE_OPTIONS
#define HYPERCUBE_OPTIONS

#include "envi.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Which bands and pixels count, and how they are read. */
typedef struct pixel_settings {
    const char *data, *bands, *wavelengths, *window, *nodata, *mask, *roi, *classes;
    int bbl, reflectance, gains, block, id, exclude_zero, fit_only, fit_step;
} pixel_settings;

/* What is written, beside a cube or in it. */
typedef struct output_settings {
    const char *rescale, *range, *quicklook, *html, *report, *save, *export_c, *stats, *npy, *type, *interleave;
} output_settings;

typedef struct run_settings {
    int precise, threads, verbose;
    const char *device;
} run_settings;

/* Components and what is fitted. */
typedef struct fit_settings {
    int components, correlation, skip, mnf;
    int components_by; /* 1 + shs_counter: estimate the number by this method; 0: use the given number or none */
    const char *components_text;
    double variance, snr, trim, ridge;
} fit_settings;

typedef struct ica_settings {
    int symmetric, iterations, plain_steps, restarts;
    double tolerance;
    const char *contrast, *route;
} ica_settings;

typedef struct noise_settings {
    const char *neighbours, *dark, *covariance;
    int residual;
} noise_settings;

typedef struct detect_settings {
    const char *target, *undesired, *background, *roc, *truth, *local;
} detect_settings;

typedef struct unmix_settings {
    const char *endmembers, *library, *constraint, *published, *abundances, *error, *lambda_text;
    int sparsity;
} unmix_settings;

/* How endmembers are made of the cube. */
typedef struct endmember_settings {
    int count, skewers;
    int count_by; /* as components_by */
    const char *count_text, *counts;
    double angle;
} endmember_settings;

typedef struct spectra_settings {
    const char *at, *svg, *resample, *continuum;
    int smooth, derivative;
} spectra_settings;

typedef struct index_settings {
    const char *expression, *above, *below;
} index_settings;

typedef struct correct_settings {
    const char *region, *table;
} correct_settings;

typedef struct band_settings {
    double least_snr;
    int keep_water;
} band_settings;

typedef struct scene_settings {
    int samples, lines, bands;
    double noise;
} scene_settings;

typedef struct settings {
    pixel_settings pixels;
    output_settings output;
    run_settings run;
    fit_settings fit;
    ica_settings ica;
    noise_settings noise;
    detect_settings detect;
    unmix_settings unmix;
    endmember_settings extract;
    spectra_settings spectra;
    index_settings index;
    correct_settings correct;
    band_settings bands;
    scene_settings scene;
    const char *method;  /* of detect, endmembers, unmix, correct or count */
    uint64_t seed;       /* of ica, endmembers, unmix or the scene */
    double threshold;    /* of ica or endmembers */
    double false_alarm;  /* of count */
    const char *program; /* as it was called */
    char *command;       /* the whole line */
} settings;

enum mode {
    PCA = 1,
    MNF = 2,
    ICA = 4,
    DENOISE = 8,
    RX = 16,
    INFO = 32,
    SYNTHESISE = 64,
    APPLY = 128,
    INVERSE = 256,
    CONVERT = 512,
    DETECT = 1024,
    ENDMEMBERS = 2048,
    UNMIX = 4096,
    EXPORT = 8192,
    COUNT = 16384,
    SPECTRA = 1 << 15,
    INDEX = 1 << 16,
    CORRECT = 1 << 17,
    BANDS = 1 << 18,
    AUTO = 1 << 19,
    COMPARE = 1 << 20
};
enum { FITS = PCA | MNF | ICA, MAPS = FITS | DENOISE | RX, USES = APPLY | INVERSE | DETECT | UNMIX };
/* Options of many modes are explained on a page of their own. */
enum { OF_PIXELS = 1 << 28, OF_OUTPUT = 1 << 29, OF_RUN = 1 << 30 };
enum { PIXELWISE = SPECTRA | INDEX | CORRECT | COMPARE }; /* each pixel by itself, by the program */
enum { SUMS = ENDMEMBERS | COUNT | BANDS }; /* fit, and write no cube */
enum { READS = MAPS | USES | CONVERT | INFO | SUMS | PIXELWISE | AUTO, WRITES = MAPS | USES | CONVERT | SYNTHESISE | PIXELWISE };

typedef struct mode_text {
    const char *name;
    enum mode mode;
    int names;
    const char *usage, *purpose, *example;
} mode_text;

static const mode_text modes[] = {
    {"auto", AUTO, 2, "auto IN.hdr FOLDER [options]",
     "A first look at a scene: bad bands, true colours, how many materials, PCA, MNF, endmembers, abundances, anomalies.\n"
     "FOLDER gets a page, index.html, with pictures and the command of each step, and the cubes and tables they write.",
     "auto scene.hdr first_look"},
    {"bands", BANDS, 2, "bands IN.hdr OUT.csv [options]",
     "Bands without use: bad by the header, in water vapour's windows (1340 to 1450, 1790 to 1970 nm), constant, missing,\n"
     "or noisy: the variance that the other bands predict is below --band-snr times the rest. What is left is printed as\n"
     "a list for --bands. With --bands, --bbl or --wavelengths only the ratios are told.",
     "bands scene.hdr bands.csv"},
    {"pca", PCA, 2, "pca IN.hdr OUT.hdr [options]", "Principal components of an image cube.",
     "pca scene.hdr pc.hdr --components 10 --html pc.html"},
    {"mnf", MNF, 2, "mnf IN.hdr OUT.hdr [options]",
     "Minimum noise fraction: components in the order of their signal to noise ratio,\n"
     "the noise estimated from neighbouring pixels, or given. An eigenvalue is one more than that ratio.",
     "mnf scene.hdr mnf.hdr --bbl --snr 5"},
    {"ica", ICA, 2, "ica IN.hdr OUT.hdr --components K | --threshold T [options]",
     "Independent components of an image cube (FastICA).",
     "ica scene.hdr ic.hdr --components 6 --quicklook ic.png"},
    {"denoise", DENOISE, 2, "denoise IN.hdr OUT.hdr --components K [--mnf] [options]",
     "The cube as its first components tell it: what is left is mostly noise.",
     "denoise scene.hdr clean.hdr --mnf --components 10"},
    {"rx", RX, 2, "rx IN.hdr OUT.hdr [--truth MASK.hdr] [options]",
     "How unlike the rest each pixel is (Reed-Xiaoli), the rest of its class (--class FILE) or what is around it\n"
     "(--local). With the truth at hand the last line begins with auc=, the area under the ROC curve.",
     "rx scene.hdr rx.hdr --skip 3"},
    {"detect", DETECT, 2, "detect IN.hdr OUT.hdr --target CSV|SLI|X,Y [options]",
     "Scores of known spectra: an output band for each (amsd: one for all). Spectra are columns of a table with a row\n"
     "for each band or a column `wavelength`, an ENVI spectral library, or the pixel X,Y. A target scores 1\n"
     "(glrt less; sam, sid, sidsam, ns3, jmsam 0). --truth prints auc=, the area under the ROC curve.",
     "detect scene.hdr ace.hdr --target spectra.csv --method ace"},
    {"count", COUNT, 1, "count IN.hdr [options]",
     "How many materials the scene holds: hysime (signal power above noise power), hfc and nwhfc (eigenvalues that noise\n"
     "does not explain; they miss materials in few pixels). Options that take a number of components or of endmembers\n"
     "also take auto or one of these names.",
     "count scene.hdr --bbl"},
    {"endmembers", ENDMEMBERS, 2, "endmembers IN.hdr OUT.csv --count N [options]",
     "The spectra of the purest pixels, or learnt ones: a table with a column for each, such as unmix and detect read.",
     "endmembers scene.hdr spectra.csv --count 4 --method nfindr"},
    {"unmix", UNMIX, 2, "unmix IN.hdr OUT.hdr --endmembers E | --library L [options]",
     "How much of each endmember a pixel holds (least squares). With --constraint full, the default, abundances are\n"
     "not negative and add up to 1 (FCLS). A table has a column for each and a row for each band, as for detect.",
     "unmix scene.hdr shares.hdr --endmembers spectra.csv"},
    {"spectra", SPECTRA, 2, "spectra IN.hdr|CSV|SLI OUT.hdr|CSV [options]",
     "Spectra by wavelength, of a cube or of a table: smoothed, as another sensor has them, without their continuum (the\n"
     "upper convex hull), derivatives by nanometre; in this order.\n"
     "Wavenumbers (1/cm) become wavelengths in nm first.",
     "spectra scene.hdr removed.hdr --bbl --continuum divide"},
    {"index", INDEX, 2, "index IN.hdr OUT.hdr --index EXPRESSION|NAME [options]",
     "An expression of bands, such as (b860-b650)/(b860+b650): b860 is the band nearest to 860 nm (b0.86um), #7 is band 7; with\n"
     "+ - * / ( ) sqrt log abs. Names: NDVI, NDWI, NDMI, NBR, NDSI, iron, clay. With a threshold: a mask of 1 and 0.",
     "index scene.hdr green.hdr --index NDVI --above 0.4"},
    {"correct", CORRECT, 2, "correct IN.hdr OUT.hdr --method M [options]",
     "Relative reflectance: divided by the mean of a flat field (flat) or of the scene (iarr), log residuals (logres),\n"
     "less the darkest value of each band (dark), or gain * value + offset of a table (gains).",
     "correct scene.hdr relative.hdr --bbl --method iarr"},
    {"compare", COMPARE, 3, "compare A.hdr B.hdr OUT.hdr [options]",
     "How two cubes of one size differ: for each pixel the root mean squared difference over the bands, and the angle\n"
     "between the spectra. The last line says the same of all pixels, and how many are equal.",
     "compare scene.hdr clean.hdr off.hdr --bbl --report bands.csv"},
    {"apply", APPLY, 3, "apply MODEL IN.hdr OUT.hdr [options]",
     "The components that were fitted elsewhere (--save MODEL), of this cube. Bands are matched by wavelength.",
     "apply scene.model other.hdr pc.hdr"},
    {"inverse", INVERSE, 3, "inverse MODEL IN.hdr OUT.hdr [options]", "The way back: from components to pixels.",
     "inverse scene.model pc.hdr back.hdr"},
    {"export", EXPORT, 2, "export MODEL OUT.h",
     "A saved model as C arrays: the mean and the matrix of a PCA, MNF or ICA, and a function of a few lines that maps\n"
     "a pixel, or a line pixel by pixel, without the library. pca, mnf and ica write the same with --export-c OUT.h.",
     "export scene.model scene_model.h"},
    {"convert", CONVERT, 2, "convert IN.hdr OUT.hdr [options]",
     "The same values in another type or interleave. With --range they are stretched: LOW becomes 0 and HIGH the\n"
     "largest value of an integer type (1 of f32 and f64), linearly; integers are rounded and clamped, and where\n"
     "pixels may be missing they begin at 1, and 0 is a missing one. The header says the gains that lead back.",
     "convert scene.hdr bytes.hdr --type u8 --range auto"},
    {"info", INFO, 1, "info IN.hdr [options]", "What a cube holds, band by band.",
     "info scene.hdr --bands 1-10"},
    {"synthesise", SYNTHESISE, 1, "synthesise OUT.hdr [options]",
     "A small scene mixed from synthetic spectra, and OUT_truth.hdr that marks the odd targets in it.",
     "synthesise scene.hdr --samples 320"},
};
enum { MODES = (int)(sizeof modes / sizeof *modes) };

static const struct {
    int bit;
    const char *name, *purpose;
} groups[] = {
    {OF_PIXELS, "pixels", "which bands and pixels count, and how they are read"},
    {OF_OUTPUT, "output", "what is written, beside a cube or in it"},
    {OF_RUN, "run", "how it is computed, and where"},
};
enum { GROUPS = (int)(sizeof groups / sizeof *groups) };

/* The function below fills this struct. All other functions get a constant pointer. */
static settings given;

static const struct {
    int modes;
    option o;
} option_table[] = {
    {MAPS | AUTO,
     {"--components", "K|auto", OPTION_TEXT, &given.fit.components_text, 1,
      "how many (auto: as `count` says); ica: or --threshold; denoise: needed"}},
    {PCA | MNF, {"--variance", "F", OPTION_NUMBER, &given.fit.variance, 0, "as many as explain this fraction, 0..1"}},
    {PCA | RX, {"--correlation", NULL, OPTION_SWITCH, &given.fit.correlation, 0, "bands divided by their deviation"}},
    {ICA, {"--threshold", "T", OPTION_NUMBER, &given.threshold, 0, "components of at least this eigenvalue, not K of them"}},
    {ICA, {"--contrast", "NAME", OPTION_TEXT, &given.ica.contrast, 0, "pow3, tanh, gauss or skew (pow3)"}},
    {ICA, {"--symmetric", NULL, OPTION_SWITCH, &given.ica.symmetric, 0, "all components at once, not one after another"}},
    {ICA, {"--iterations", "N", OPTION_COUNT, &given.ica.iterations, 1, "at most (200)"}},
    {ICA, {"--tolerance", "E", OPTION_NUMBER, &given.ica.tolerance, -1, "of 1 - |cos| (1e-8); -1 = run all iterations"}},
    {ICA, {"--plain-steps", NULL, OPTION_SWITCH, &given.ica.plain_steps, 0, "as they come, neither shortened nor lengthened"}},
    {ICA, {"--restarts", "N", OPTION_COUNT, &given.ica.restarts, 0, "random ones for what does not converge (3)"}},
    {ICA, {"--route", "R", OPTION_TEXT, &given.ica.route, 0, "auto, moments or sweep: what pow3 iterates on (auto)"}},
    {ICA, {"--seed", "N", OPTION_SEED, &given.seed, 1, "start from random vectors (default: from the identity)"}},
    {ENDMEMBERS | UNMIX | AUTO,
     {"--count", "N|auto", OPTION_TEXT, &given.extract.count_text, 1, "how many; auto: as `count` says"}},
    {BANDS | AUTO,
     {"--band-snr", "R", OPTION_NUMBER, &given.bands.least_snr, 0, "bands below this signal to noise ratio are bad (10)"}},
    {BANDS | AUTO,
     {"--keep-water", NULL, OPTION_SWITCH, &given.bands.keep_water, 0, "bands in water vapour's windows are not bad"}},
    {INDEX, {"--index", "E", OPTION_TEXT, &given.index.expression, 0, "the expression, or a name"}},
    {INDEX, {"--above", "T", OPTION_TEXT, &given.index.above, 0, "a mask: 1 where the index is above T"}},
    {INDEX, {"--below", "T", OPTION_TEXT, &given.index.below, 0, "a mask: 1 where the index is below T"}},
    {CORRECT, {"--method", "M", OPTION_TEXT, &given.method, 0, "flat, iarr, logres, dark or gains"}},
    {CORRECT, {"--region", "X,Y,W,H", OPTION_TEXT, &given.correct.region, 0, "flat: the samples and lines of the flat field"}},
    {CORRECT,
     {"--table", "CSV", OPTION_TEXT, &given.correct.table, 0, "gains: columns gain and offset; rows by wavelength, band or order"}},
    {SPECTRA, {"--at", "PLACES", OPTION_TEXT, &given.spectra.at, 0, "OUT.csv: spectra of pixels X,Y, means of regions X,Y,W,H"}},
    {SPECTRA, {"--svg", "FILE", OPTION_TEXT, &given.spectra.svg, 0, "at: a picture of these spectra"}},
    {SPECTRA, {"--smooth", "W", OPTION_COUNT, &given.spectra.smooth, 1, "the mean of W neighbouring bands, an odd number"}},
    {SPECTRA,
     {"--resample", "HDR|CSV", OPTION_TEXT, &given.spectra.resample, 0,
      "to the wavelengths and Gaussian responses (fwhm) of this cube or table"}},
    {SPECTRA, {"--continuum", "C", OPTION_TEXT, &given.spectra.continuum, 0, "divide or subtract (keep)"}},
    {SPECTRA, {"--derivative", "N", OPTION_COUNT, &given.spectra.derivative, 1, "1 or 2"}},
    {COUNT, {"--method", "M", OPTION_TEXT, &given.method, 0, "hysime, hfc or nwhfc (all of them)"}},
    {COUNT, {"--false-alarm", "P", OPTION_NUMBER, &given.false_alarm, 0, "hfc, nwhfc: probability, at most 0.5 (0.001)"}},
    {ENDMEMBERS | UNMIX, {"--seed", "N", OPTION_SEED, &given.seed, 0, "of the random directions of vca, nfindr and ppi (0)"}},
    {ENDMEMBERS | AUTO, {"--method", "M", OPTION_TEXT, &given.method, 0,
      "vca, nfindr, atgp, ppi or learn (vca; auto: nfindr)"}},
    {ENDMEMBERS, {"--skewers", "K", OPTION_COUNT, &given.extract.skewers, 1, "ppi: random directions (1000)"}},
    {ENDMEMBERS,
     {"--threshold", "T", OPTION_NUMBER, &given.threshold, 0, "ppi: count pixels this near to the extremes too, in their units"}},
    {ENDMEMBERS, {"--angle", "A", OPTION_NUMBER, &given.extract.angle, 0, "ppi: skip spectra nearer than A rad to one before (0)"}},
    {ENDMEMBERS, {"--counts", "HDR", OPTION_TEXT, &given.extract.counts, 0, "ppi: a cube of how often each pixel is extreme"}},
    {UNMIX,
     {"--endmembers", "E", OPTION_TEXT, &given.unmix.endmembers, 0, "a table, or vca, nfindr, atgp, ppi or learn"}},
    {ENDMEMBERS | UNMIX,
     {"--sparsity", "S", OPTION_COUNT, &given.unmix.sparsity, 1, "learn (3), nnomp (10): spectra of a pixel at most"}},
    {UNMIX, {"--library", "CSV|SLI", OPTION_TEXT, &given.unmix.library, 0, "many spectra, of which each pixel holds few"}},
    {UNMIX,
     {"--method", "M", OPTION_TEXT, &given.method, 0, "library: lasso or nnomp (lasso)"}},
    {UNMIX,
     {"--lambda", "L", OPTION_TEXT, &given.unmix.lambda_text, 0, "lasso: weight of sparsity, between 0 and 1 (0.001)"}},
    {UNMIX, {"--published", "CSV", OPTION_TEXT, &given.unmix.published, 0, "spectra to tell the angles to"}},
    {UNMIX,
     {"--abundances", "HDR", OPTION_TEXT, &given.unmix.abundances, 0, "abundances to compare with, ordered as --published"}},
    {UNMIX, {"--constraint", "C", OPTION_TEXT, &given.unmix.constraint, 0, "none, nonnegative, sum, full, scaled (full)"}},
    {UNMIX, {"--error", "HDR", OPTION_TEXT, &given.unmix.error, 0, "a cube of each pixel's RMSE from its mixture"}},
    {DETECT, {"--target", "CSV|SLI|X,Y", OPTION_TEXT, &given.detect.target, 0, "the spectra, in the units of the pixels"}},
    {DETECT,
     {"--library", "CSV|SLI", OPTION_TEXT, &given.unmix.library, 0, "no targets: the best match of each pixel and its score"}},
    {DETECT,
     {"--method", "M", OPTION_TEXT, &given.method, 0,
      "mf, cem, ace, sace, glrt, osp, amsd; sam, sid, sidsam, ns3, jmsam (mf; library: sam)"}},
    {DETECT,
     {"--undesired", "CSV|SLI|X,Y", OPTION_TEXT, &given.detect.undesired, 0, "osp, amsd: the spectra that are projected out"}},
    {DETECT,
     {"--background", "B", OPTION_TEXT, &given.detect.background, 0, "of the image, or of each column (image)"}},
    {RX,
     {"--local", "INNER,OUTER", OPTION_TEXT, &given.detect.local, 0, "odd widths of windows: the background lies between"}},
    {RX, {"--ridge", "R", OPTION_NUMBER, &given.fit.ridge, 0, "--local: a share of the mean variance, added (0)"}},
    {DETECT, {"--ridge", "R", OPTION_NUMBER, &given.fit.ridge, 0, "of the mean variance, added to every band's (0)"}},
    {DETECT, {"--roc", "SVG", OPTION_TEXT, &given.detect.roc, 0, "a picture of the ROC curves; needs --truth"}},
    {FITS | DENOISE | RX | DETECT | COUNT,
     {"--fit-step", "K", OPTION_COUNT, &given.pixels.fit_step, 1, "fit to every K-th sample of every K-th line (1)"}},
    {DENOISE, {"--mnf", NULL, OPTION_SWITCH, &given.fit.mnf, 0, "components by signal to noise, not by variance"}},
    {MNF | DENOISE,
     {"--noise", "N", OPTION_TEXT, &given.noise.neighbours, 0, "of neighbours: right, lower, diagonal or mean (right)"}},
    {MNF | DENOISE,
     {"--noise-residual", NULL, OPTION_SWITCH, &given.noise.residual, 0, "of that, what neighbouring bands do not tell"}},
    {MNF | DENOISE | COUNT, {"--noise-from", "DARK", OPTION_TEXT, &given.noise.dark, 0, "noise is what this dark cube holds"}},
    {MNF | DENOISE | COUNT,
     {"--noise-covariance", "FILE", OPTION_TEXT, &given.noise.covariance, 0, "of the noise, bands x bands: .npy or CSV"}},
    {MNF | DENOISE, {"--snr", "MIN", OPTION_NUMBER, &given.fit.snr, 0, "components of at least this signal to noise ratio"}},
    {RX, {"--skip", "K", OPTION_COUNT, &given.fit.skip, 1, "without the first K components, which hold the background"}},
    {RX, {"--trim", "SHARE", OPTION_NUMBER, &given.fit.trim, 0, "fitted without this share of the highest scores (0 to 0.5)"}},
    {RX | DETECT, {"--truth", "MASK.hdr", OPTION_TEXT, &given.detect.truth, 0, "a cube of one band: not 0 = target"}},
    {READS | OF_PIXELS,
     {"--data", "FILE", OPTION_TEXT, &given.pixels.data, 0, "IN's data file (default: NAME.img and the like)"}},
    {READS | OF_PIXELS, {"--bands", "LIST", OPTION_TEXT, &given.pixels.bands, 0, "these only, from 1: 1-50,60,70-80"}},
    {READS | OF_PIXELS, {"--bbl", NULL, OPTION_SWITCH, &given.pixels.bbl, 0, "without the bands that the header calls bad"}},
    {READS | OF_PIXELS, {"--wavelengths", "LIST", OPTION_TEXT, &given.pixels.wavelengths, 0, "these only: 400:900,1500:1750, in the unit of the header"}},
    {READS | OF_PIXELS,
     {"--window", "X,Y,W,H", OPTION_TEXT, &given.pixels.window, 0, "these samples and lines only, X and Y from 0"}},
    {READS | OF_PIXELS, {"--reflectance", NULL, OPTION_SWITCH, &given.pixels.reflectance, 0, "values scaled as the header says"}},
    {READS | OF_PIXELS,
     {"--gains", NULL, OPTION_SWITCH, &given.pixels.gains, 0, "values scaled by data gain and data offset values"}},
    {READS | OF_PIXELS,
     {"--nodata", "V", OPTION_TEXT, &given.pixels.nodata, 0, "this value is missing (default: the header's)"}},
    {READS | OF_PIXELS, {"--block", "LINES", OPTION_COUNT, &given.pixels.block, 1, "lines in memory at a time (all, below 1 GB)"}},
    {READS | OF_PIXELS,
     {"--mask", "FILE", OPTION_TEXT, &given.pixels.mask, 0, "a cube of one band: only pixels where it is not 0"}},
    {READS | OF_PIXELS,
     {"--roi", "X,Y,W,H", OPTION_TEXT, &given.pixels.roi, 0, "only these samples and lines; the others are missing"}},
    {READS | OF_PIXELS,
     {"--class", "FILE", OPTION_TEXT, &given.pixels.classes, 0,
      "a cube of one band: only class --id; rx, detect: or each by itself"}},
    {READS | OF_PIXELS, {"--id", "K", OPTION_COUNT, &given.pixels.id, 0, "the class"}},
    {READS | OF_PIXELS,
     {"--exclude-zero", NULL, OPTION_SWITCH, &given.pixels.exclude_zero, 0, "without pixels that are 0 in all bands"}},
    {FITS | DENOISE | RX | DETECT | OF_PIXELS,
     {"--fit-only", NULL, OPTION_SWITCH, &given.pixels.fit_only, 0, "these pixels for the fit alone"}},
    {MAPS | USES | OF_OUTPUT,
     {"--rescale", "MIN,MAX", OPTION_TEXT, &given.output.rescale, 0, "stretch each output to this range"}},
    {CONVERT, {"--range", "R", OPTION_TEXT, &given.output.range, 0, "LOW,HIGH; auto: least to largest; bands: of each band"}},
    {MAPS | USES | CONVERT | PIXELWISE | OF_OUTPUT,
     {"--quicklook", "PNG", OPTION_TEXT, &given.output.quicklook, 0,
      "colours: default bands, 650, 550, 450 nm or the first three"}},
    {MAPS | USES | CONVERT | ENDMEMBERS | PIXELWISE | OF_OUTPUT,
     {"--html", "FILE", OPTION_TEXT, &given.output.html, 0, "a page with pictures, plots and tables"}},
    {FITS | RX | DETECT | COUNT | COMPARE | OF_OUTPUT,
     {"--report", "CSV", OPTION_TEXT, &given.output.report, 0, "components, counts or bands; rx, detect: the 20 best pixels"}},
    {FITS | DENOISE | RX | OF_OUTPUT,
     {"--save", "MODEL", OPTION_TEXT, &given.output.save, 0, "what was fitted, for apply and inverse"}},
    {FITS | OF_OUTPUT,
     {"--export-c", "FILE.h", OPTION_TEXT, &given.output.export_c, 0, "mean and matrix as C arrays, for a microcontroller"}},
    {FITS | DENOISE | RX | OF_OUTPUT,
     {"--stats", "CSV", OPTION_TEXT, &given.output.stats, 0, "mean and components, band by band"}},
    {FITS | DENOISE | RX | OF_OUTPUT,
     {"--npy", "PREFIX", OPTION_TEXT, &given.output.npy, 0, "its matrices for numpy: PREFIX_mean.npy ..."}},
    {MAPS | OF_RUN,
     {"--precise", "auto|always|never", OPTION_WORD, &given.run.precise, 0, "products in double (auto; no word: always)"}},
    {MAPS | USES | SUMS | PIXELWISE | AUTO | OF_RUN,
     {"--threads", "N", OPTION_COUNT, &given.run.threads, 0, "0 = all processors (0)"}},
    {MAPS | USES | SUMS | AUTO | OF_RUN, {"--device", "NAME", OPTION_TEXT, &given.run.device, 0, DEVICE_HELP}},
    {MAPS | USES | SUMS | AUTO | OF_RUN, {"--no-cache", NULL, OPTION_SWITCH, &example_no_cache, 0, NO_CACHE_HELP}},
    {MAPS | USES | CONVERT | OF_RUN,
     {"--verbose", NULL, OPTION_SWITCH, &given.run.verbose, 0, "types, threads, bytes, seconds of each stage"}},
    {SYNTHESISE, {"--samples", "N", OPTION_COUNT, &given.scene.samples, 16, "pixels a line (160)"}},
    {SYNTHESISE, {"--lines", "N", OPTION_COUNT, &given.scene.lines, 16, "lines (120)"}},
    {SYNTHESISE, {"--bands", "N", OPTION_COUNT, &given.scene.bands, 2, "bands from 400 to 2500 nm (100)"}},
    {SYNTHESISE, {"--noise", "S", OPTION_NUMBER, &given.scene.noise, 0, "standard deviation, in reflectance (0.004)"}},
    {SYNTHESISE, {"--seed", "N", OPTION_SEED, &given.seed, 0, "seed of the scene and of the noise (1)"}},
    {WRITES | OF_OUTPUT,
     {"--type", "T", OPTION_TEXT, &given.output.type, 0, "u8, i16, u16, i32, u32, f32, f64 (f32; scene: u16)"}},
    {WRITES | OF_OUTPUT, {"--interleave", "I", OPTION_TEXT, &given.output.interleave, 0, "bsq, bil, bip (bsq)"}},
};
enum { OPTIONS = (int)(sizeof option_table / sizeof *option_table) };

/* ---- pages of help: each fits a screen of 24 lines of 80 columns --------------------------------------------------- */

enum { PAGE_PURPOSE = 31 };

/* The names alone. */
static void print_group(int mode, int group) {
    int i, count = printf("%c%s:", toupper((unsigned char)*groups[group].name), groups[group].name + 1);
    for (i = 0; i < OPTIONS; i++) {
        const option *o = &option_table[i].o;
        int length = (int)strlen(o->name);
        if (o->value_name) length += 1 + (int)strlen(o->value_name);
        if (!(option_table[i].modes & mode) || !(option_table[i].modes & groups[group].bit)) continue;
        if (count + 1 + length > PAGE_WIDTH) count = printf("\n  ") - 1;
        count += printf(" %s", o->name);
        if (o->value_name) count += printf(" %s", o->value_name);
    }
    printf("\n");
}

static void print_mode_page(const mode_text *mode) {
    int i, k, all = OF_PIXELS | OF_OUTPUT | OF_RUN, of_mode = (int)mode->mode, lists = 0;
    printf("Usage: %s %s\n", program_name, mode->usage);
    print_words(stdout, 0, 0, mode->purpose);
    for (i = 0; i < OPTIONS; i++)
        if ((option_table[i].modes & of_mode) && !(option_table[i].modes & all)) print_option(&option_table[i].o);
    for (k = 0; k < GROUPS; k++) {
        for (i = 0; i < OPTIONS && (!(option_table[i].modes & of_mode) || !(option_table[i].modes & groups[k].bit)); i++) {}
        if (i < OPTIONS) {
            print_group(of_mode, k);
            lists = 1;
        }
    }
    if (lists) printf("`%s --help LIST` explains such a list: pixels, output or run.\n", program_name);
    printf("Example: %s %s\n", program_name, mode->example);
}

static void print_group_page(int group) {
    int i;
    printf("Usage: %s MODE NAMES [options]\nOptions that say %s:\n", program_name, groups[group].purpose);
    for (i = 0; i < OPTIONS; i++)
        if (option_table[i].modes & groups[group].bit) print_option(&option_table[i].o);
}

/* Prints each mode with its names and the first words of its purpose. */
static void print_modes(FILE *file) {
    int i, count, length, blanks;
    fprintf(file, "Usage: %s MODE NAMES [options]\n", program_name);
    for (i = 0; i < MODES; i++) {
        const char *usage = modes[i].usage, *purpose = modes[i].purpose, *end = strstr(usage, " --"),
                   *other = strstr(usage, " [");
        if (!end || (other && other < end)) end = other;
        length = (int)strcspn(purpose, ".,:(\n");
        while (purpose[length - 1] == ' ') length--;
        count = fprintf(file, "  %.*s ", (int)(end - usage), usage);
        blanks = 0;
        if (count < PAGE_PURPOSE) blanks = PAGE_PURPOSE - count;
        fprintf(file, "%*s%.*s\n", blanks, "", length, purpose);
    }
    fprintf(file, "`%s MODE --help` explains a mode, `--help pixels`, output, run: options.\n", program_name);
}

/* Ends the program: the page of a mode or of a group of options, or that of all modes. */
static void print_page(const char *name) {
    int i;
    for (i = 0; name && i < MODES; i++) {
        if (strcmp(name, modes[i].name)) continue;
        print_mode_page(&modes[i]);
        exit(EXIT_SUCCESS);
    }
    for (i = 0; name && i < GROUPS; i++) {
        if (strcmp(name, groups[i].name)) continue;
        print_group_page(i);
        exit(EXIT_SUCCESS);
    }
    if (name) fail(EXIT_USAGE, "%s: unknown mode", name);
    print_modes(stdout);
    exit(EXIT_SUCCESS);
}

static const mode_text *find_mode(int argc, char **argv) {
    int i = 0;
    example_begin(argc, argv);
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) print_page(argv[2]); /* NULL: none */
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        puts(shs_build_info());
        exit(EXIT_SUCCESS);
    }
    if (argc < 2) {
        print_modes(stderr);
        exit(EXIT_USAGE);
    }
    while (i < MODES && strcmp(argv[1], modes[i].name)) i++;
    if (i == MODES) fail(EXIT_USAGE, "%s: unknown mode", argv[1]);
    return &modes[i];
}

/* A number, or how it is counted: auto (the first way) or the name of a way. */
static void read_count(const char *option_name, const char *text, int *count, int *by) {
    option number = {NULL, NULL, OPTION_COUNT, NULL, 1, NULL};
    int i;
    if (!text) return;
    for (i = 0; i < SHS_COUNTER_COUNT && !*by; i++)
        if (!strcmp(text, shs_counter_name((shs_counter)i))) *by = 1 + i;
    if (!strcmp(text, "auto")) *by = 1;
    number.name = option_name;
    number.value = count;
    if (!*by) set_option(&number, text);
}

static const char *names_needed(const mode_text *mode) {
    if (mode->names == 1) return "one name";
    switch (mode->mode) {
    case ENDMEMBERS: return "two names, IN.hdr and OUT.csv";
    case BANDS: return "two names, IN.hdr and OUT.csv";
    case AUTO: return "two names, IN.hdr and FOLDER";
    case EXPORT: return "two names, MODEL and OUT.h";
    case COMPARE: return "three names, A.hdr, B.hdr and OUT.hdr";
    default: break;
    }
    if (mode->names == 2) return "two names, IN.hdr and OUT.hdr";
    return "three names, MODEL, IN.hdr and OUT.hdr";
}

static void set_defaults(enum mode mode) {
    memset(&given, 0, sizeof given);
    if (mode == SYNTHESISE) {
        given.scene.samples = 160;
        given.scene.lines = 120;
        given.scene.bands = 100;
        given.scene.noise = 0.004;
        given.seed = 1;
        return;
    }
    given.ica.restarts = 3;
    given.pixels.id = -1;
    given.bands.least_snr = -1;
}

/* Whether the command line has set an option of text, a switch or a count. */
static int is_given(const option *o) {
    const int *number = (const int *)o->value;
    if (o->kind == OPTION_TEXT) return *(const char **)o->value != NULL;
    if (number == &given.pixels.id) return *number >= 0;
    return *number != 0;
}

/* Stops where an option of these groups (OF_...) was given that does nothing here; why: in words. */
static void refuse_options(int mode, int kinds, const char *why) {
    int i;
    for (i = 0; i < OPTIONS; i++)
        if ((option_table[i].modes & mode) && (option_table[i].modes & kinds) && is_given(&option_table[i].o))
            fail(EXIT_USAGE, "%s: %s", option_table[i].o.name, why);
}

/* Fills in `given`; the names are then argv[1] and after it. */
static const mode_text *parse(int argc, char **argv) {
    const mode_text *mode = find_mode(argc, argv);
    option *options = ALLOCATE(option, OPTIONS);
    const char *advice = "", *ending = "a table ends in .csv";
    int i, count = 0, names;
    set_defaults(mode->mode);
    given.program = argv[0];
    for (i = 2; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) print_page(mode->name);
    for (i = 0; i < OPTIONS; i++)
        if (option_table[i].modes & (int)mode->mode) options[count++] = option_table[i].o;
    for (i = 0; i < argc; i++) {
        char *before = given.command;
        given.command = in_line(before, argv[i]);
        free(before);
    }
    argv[1] = argv[0];
    names = read_options(argc - 1, argv + 1, mode->usage, mode->purpose, options, count);
    free(options);
    read_count("--components", given.fit.components_text, &given.fit.components, &given.fit.components_by);
    read_count("--count", given.extract.count_text, &given.extract.count, &given.extract.count_by);
    if (names > mode->names)
        fail(EXIT_USAGE, "%s: needs %s (got %d): what does '%s' belong to?", mode->name, names_needed(mode), names,
             argv[mode->names + 1]);
    if (names != mode->names) fail(EXIT_USAGE, "%s: needs %s (got %d)", mode->name, names_needed(mode), names);
    if (is_foreign(argv[names])) advice = "; gdal_translate converts what is written";
    if ((mode->mode & WRITES) && mode->mode != SPECTRA && !has_extension(argv[names], ".hdr"))
        fail(EXIT_USAGE, "%s: the name of a header ends in .hdr%s", argv[names], advice);
    if (mode->mode == EXPORT) ending = "C arrays end in .h";
    if ((mode->mode & (ENDMEMBERS | EXPORT | BANDS)) && has_extension(argv[names], ".hdr"))
        fail(EXIT_USAGE, "%s: the name of a cube's header: %s", argv[names], ending);
    return mode;
}

/* Which of the names it is. */
static int choose(const char *option_name, const char *text, const char *const *names, int count) {
    char known[256] = "";
    size_t used = 0;
    int i;
    for (i = 0; i < count; i++)
        if (!strcmp(text, names[i])) return i;
    for (i = 0; i < count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    fail(EXIT_USAGE, "%s: %s is unknown; known are %s", option_name, text, known);
}

static shs_type chosen_type(const char *text, shs_type otherwise) {
    const char *names[VALUE_TYPES];
    int i;
    if (!text) return otherwise;
    for (i = 0; i < VALUE_TYPES; i++) names[i] = value_types[i].name;
    return value_types[choose("--type", text, names, VALUE_TYPES)].type;
}

/* X,Y,W,H: whole numbers, the last two above 0. */
static void chosen_window(const char *option_name, const char *text, int *window) {
    const char *at = text;
    int i;
    for (i = 0; i < 4; i++) {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at || !isdigit((unsigned char)*at) || *end != (i < 3 ? ',' : 0) || number > INT_MAX || number < i / 2)
            fail(EXIT_USAGE, "%s: '%s' is no window X,Y,W,H", option_name, text);
        window[i] = (int)number;
        at = end + 1;
    }
}

/* Whether it is X,Y, and no name of a file. */
static int names_pixel(const char *text) {
    size_t x = strspn(text, "0123456789"), y = 0;
    if (text[x] == ',') y = strspn(text + x + 1, "0123456789");
    return x > 0 && y > 0 && x < 9 && y < 9 && !text[x + 1 + y];
}

static shs_interleave chosen_interleave(const char *text) {
    if (text) return (shs_interleave)choose("--interleave", text, interleaves, 3);
    return SHS_INTERLEAVE_BSQ;
}

#endif /* HYPERCUBE_OPTIONS */
