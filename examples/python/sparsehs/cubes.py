"""Image cubes: components and their models, anomalies, targets, mixtures."""

from __future__ import annotations

import ctypes
import weakref
import zlib
from typing import TYPE_CHECKING, overload

import numpy as np

from ._arrays import _cast, _count, _covariance, _cube, _data, _is_nodata, _missing, _number, _whole, _wide
from ._labels import _check_wavelengths, labelled
from ._library import ArgumentError, _float, _only_with, _warn, _word
from .signals import lasso, omp

if TYPE_CHECKING:
    import os
    from typing import Any, Literal

    from numpy.typing import ArrayLike

    from ._library import Progress


def _has_wavelengths(given):
    """Whether a method's model does."""
    return given["self"].wavelengths is not None


# ---- models ----------------------------------------------------------------------------------------------------------------

class Model:
    """What fit has found: kind ("pca", "mnf", "ica", "rx"), bands n, components k, count (pixels), wavelengths (n,) or None, and

    all but ica   mean, scale (n,), eigenvalues, vectors (k, n), backward (k, n), total_variance; of mnf noise (n, n), a covariance
    ica           mean (n,), eigenvalues (k,), whitening, unmixing, mixing (k, n), rotation (k, k), converged (k,), reports (k, 7):
                  iterations, restarts, converged, change, kurtosis, negentropy, extraction

    A model is kept as the file that the program `hypercube --save` writes and its `apply` reads. Models can be pickled."""
    file: bytes
    kind: str
    bands: int
    components: int
    count: float
    wavelengths: np.ndarray | Any = None  # "| Any": who has given them knows that they are there

    # Of these a model has those of its kind.
    mean: np.ndarray
    scale: np.ndarray
    eigenvalues: np.ndarray
    vectors: np.ndarray
    backward: np.ndarray
    total_variance: float
    noise: np.ndarray
    whitening: np.ndarray
    unmixing: np.ndarray
    mixing: np.ndarray
    rotation: np.ndarray
    converged: np.ndarray
    reports: np.ndarray

    _loaded: dict[Any, ctypes.c_void_p]  # by each library, which frees it with the model

    def __init__(self, file: bytes | bytearray | memoryview) -> None:
        self.file, self._loaded = bytes(file), {}
        head = self.file[:64]
        if len(self.file) < 68 or head[:8] != b"SHSmodel" or zlib.crc32(head[:60]) != int.from_bytes(head[60:], "little"):
            raise ArgumentError("model: the file is not one of sparsehs, or damaged")
        version, kind, n, k, e, flags = np.frombuffer(head[8:32], "<u4").tolist()
        if version > 2 or kind > 3:
            raise ArgumentError("model: the file is of a later version (%d) or kind (%d) than are known here" % (version, kind))
        self.kind, self.bands, self.components = ("pca", "mnf", "ica", "rx")[kind], n, k
        self.count, self.total_variance = np.frombuffer(head[32:48], "<f8").tolist()
        shapes = [("mean", (n,)), ("scale", (n,)), ("eigenvalues", (e,)), ("vectors", (k, n)), ("backward", (k, n))]
        if self.kind == "mnf" and version > 1:
            shapes.append(("noise", (n, n)))
        if self.kind == "ica":
            shapes = [("mean", (n,)), ("eigenvalues", (k,)), ("whitening", (n, k)), ("rotation", (k, k)), ("unmixing", (n, k)),
                      ("mixing", (k, n))]
        if flags & 1:
            shapes.append(("wavelengths", (n,)))
        if self.kind == "ica":
            shapes.append(("reports", (k, 7)))
        end = 64 + 8 * sum(int(np.prod(shape)) for _, shape in shapes)  # hypercube writes behind it what it was fitted to
        body, checksum = self.file[64:end], self.file[end:end + 4]
        if len(checksum) < 4 or zlib.crc32(body) != int.from_bytes(checksum, "little"):
            raise ArgumentError("model: the file is not one of sparsehs, or damaged")
        body = np.frombuffer(body, "<f8")
        at = 0
        for name, shape in shapes:
            size = int(np.prod(shape))
            setattr(self, name, body[at:at + size].reshape(shape))
            at += size
        if self.kind == "ica":  # one row each: (k, n)
            self.whitening, self.unmixing, self.converged = self.whitening.T, self.unmixing.T, self.reports[:, 2] != 0

    def __reduce__(self):
        return Model, (self.file,)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """The model in a file."""
        with open(path, "rb") as file:
            return cls(file.read())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model into a file."""
        with open(path, "wb") as file:
            file.write(self.file)

    def _apply(self, cube, way, outputs, components=0, valid=None, nodata=None, wavelengths=None, **work):
        wanted = self.components if way == 1 else self.bands
        if np.shape(cube)[-1:] != (wanted,):
            raise ArgumentError("cube: its shape is %s, but the model is of %d %s" %
                                (np.shape(cube), wanted, "components" if way == 1 else "bands"))
        if wavelengths is not None and self.wavelengths is not None:
            _check_wavelengths("cube", _wide(wavelengths, "wavelengths", (self.bands,)), self.wavelengths, "the model")
        return _map("apply", cube, outputs, valid, nodata, work, model=self._load, way=way, components=components)

    def _load(self, library):
        """What this library has made of the file. Of two threads that come first both load it."""
        if library not in self._loaded:
            model = ctypes.c_void_p()
            library.call("model_load", file=np.frombuffer(self.file, np.uint8), size=len(self.file), model=ctypes.byref(model))
            weakref.finalize(self, library.c.shim_model_free, model).atexit = False  # a thread may still be at work
            self._loaded[library] = model
        return self._loaded[library]

    @labelled("component", wavelengths=_has_wavelengths)
    def transform(self, cube: ArrayLike, **options: Any) -> np.ndarray:
        """The components of every pixel, (lines, samples, k), or its score, (lines, samples, 1). Pixels that are missing become NaN.
        Options: valid, nodata as of fit; wavelengths (bands,), of a DataArray its own: they must be the model's where it has some;
        threads, progress, device."""
        return self._apply(cube, 0, 1 if self.kind == "rx" else self.components, **options)

    def _only_of(self, what, *kinds):
        if self.kind not in kinds:
            raise ArgumentError("%s: the model is of the kind %r, expected %s" % (what, self.kind, " or ".join(map(repr, kinds))))

    @labelled("band", of="components")
    def inverse_transform(self, components: ArrayLike, **options: Any) -> np.ndarray:
        """The pixels (lines, samples, n) from their components (lines, samples, k). Not of rx, whose scores have no way back."""
        self._only_of("inverse_transform", "pca", "mnf", "ica")
        return self._apply(components, 1, self.bands, **options)

    @labelled("cube", wavelengths=_has_wavelengths)
    def denoise(self, cube: ArrayLike, components: int = 0, **options: Any) -> np.ndarray:
        """The pixels, rebuilt from their first `components` components (0: all that are kept). Of pca and mnf."""
        self._only_of("denoise", "pca", "mnf")
        components = 0 if components is None else _count(components, "components", 0)
        if components > self.components:
            raise ArgumentError("components: %d, expected 0 to %d, which the model has" % (components, self.components))
        return self._apply(cube, 2, self.bands, components, **options)


OF_MNF = "noise", "neighbours", "noise_residual"
OF_RX = "skip", "trim", "trim_rounds"
OF_ICA = ("contrast", "approach", "route", "iterations", "tolerance", "plain_steps", "restarts", "random_start", "start", "seed",
          "order")
KINDS = dict(dict.fromkeys(OF_MNF, ("mnf",)), **dict.fromkeys(OF_RX, ("rx",)), **dict.fromkeys(OF_ICA, ("ica",)),
             variance=("pca", "mnf", "rx"), correlation=("pca", "rx"))  # of the options of fit that not all kinds take


def _map(name, cube, outputs, valid, nodata, work, real=None, model=None, **given):
    """Calls a function that gives each pixel `outputs` values of the type real (None: the library's); missing pixels get NaN.
    model: what loads one into a library."""
    library, a, pixels = _cube(cube, valid, nodata)
    out = np.empty(a.shape[:2] + (outputs,), real or library.real)
    if model:
        given["model"] = model(library)
    if out.size:
        library.call(name, **work, **pixels, **given, out=out, out_type=out.dtype.name)
    return out[0] if np.ndim(cube) == 2 else out


@labelled(None, wavelengths=True)
def fit(kind: str, cube: ArrayLike, components: int | None = None, *, valid: ArrayLike | None = None,
        nodata: float | None = None, noise: ArrayLike | None = None, start: ArrayLike | None = None,
        wavelengths: ArrayLike | None = None, threads: int = 0, progress: Progress = None, device: str | None = None,
        **options: Any) -> Model:
    """Fits a Model of one kind, "pca", "mnf", "ica" or "rx", to a cube.

    cube: (lines, samples, bands), or (pixels, bands). components: how many to keep; None: all, or by variance or
    eigenvalue_at_least. Left out are pixels where `valid` (lines, samples) is 0, and those of which a band is NaN, masked or
    `nodata`. wavelengths (bands,): kept in the model, in whatever unit; of a DataArray in nanometres. Options of the
    library; of words the first is the default, and other defaults are in brackets:
    pca    variance (above 0 and at most 1: as many components as explain this part), eigenvalue_at_least, correlation (False),
           divisor ("n", "n-1"), precise ("auto", "always", "never": sums in double precision)
    mnf    the same but correlation; neighbours ("right", "lower", "diagonal", "mean"), noise_residual (False): how noise is
           estimated; or noise (bands, bands), its covariance
    rx     those of pca; skip (0): so many first components are left out; trim (0, at most 0.5): the share of the pixels, those of the
           highest scores, that the statistics leave out in each of trim_rounds (3) rounds; trim_rounds is refused without trim
    ica    contrast ("pow3", "tanh", "gauss", "skew"), approach ("deflation", "symmetric"), route ("auto", "moments", which takes
           pow3 alone, "sweep"),
           iterations (200), tolerance (1e-8: of 1 - |cos| of the angle that a step turns by; below 0: all iterations are run),
           restarts (3; 0: none) of a component that does not converge, plain_steps (0), random_start (0), seed (0), start
           (components, components), order ("kurtosis", "negentropy", "extraction"), eigenvalue_at_least, divisor, precise"""
    return _fit(kind, cube, components, RuntimeWarning, valid=valid, nodata=nodata, noise=noise, start=start,
                wavelengths=wavelengths, threads=threads, progress=progress, device=device, **options)


def _fit(kind, cube, components, unconverged, /, *, valid=None, nodata=None, noise=None, start=None, wavelengths=None,
         threads=0, progress=None, device=None, **options):
    """unconverged: the kind of warning where FastICA has not converged."""
    kind = _float.word("kind", kind)
    for name, value in dict(options, noise=noise, start=start).items():
        _only_with(name, value is not None, "kind", kind, KINDS.get(name))
    for name, other in ("noise", "neighbours"), ("noise", "noise_residual"), ("start", "random_start"):
        if dict(noise=noise, start=start)[name] is not None and options.get(other):
            raise ArgumentError("%s: cannot be used together with %s; leave one of the two out" % (other, name))
    words = {name: _float.word(name, options[name]) for name in ("route", "contrast") if options.get(name) is not None}
    _only_with("route 'moments'", words.get("route") == "moments", "contrast", words.get("contrast", "pow3"), ("pow3",))
    library, a, given = _cube(cube, valid, nodata)
    n = given["bands"]
    if a.size == 0:
        raise ArgumentError("cube: its shape is %s: there are no pixels to learn from" % (np.shape(cube),))
    if components is not None and _count(components, "components") > n:
        raise ArgumentError("components: %d, expected at most %d, the number of bands" % (components, n))
    _check_skip(options.get("skip"), n)
    if noise is not None:
        options["noise"] = _covariance(noise, "noise", n)
    if start is not None:
        components = components or max(1, min((n, *np.shape(start))))
        options["start"] = _wide(start, "start", (components, components))
    if wavelengths is not None:
        options["wavelengths"] = _wide(wavelengths, "wavelengths", (n,))
    if options.get("restarts") == 0:
        options["restarts"] = -1  # the library takes 0 for its default, and a number below 0 for none
    file, size = ctypes.c_void_p(), np.zeros(1, np.uintp)
    try:
        library.call("fit", options, threads, progress, device, kind=kind, components=components, file=ctypes.byref(file), size=size,
                     **given)
    except ArgumentError as error:
        if error.status == "SHS_RANK_TOO_LOW" and components is None and options.get("skip"):
            error.args = ("skip: %d, expected below the number of components, which rank, variance or eigenvalue_at_least leaves"
                          % options["skip"],)
        raise
    try:
        model = Model(ctypes.string_at(file, int(size[0])))
    finally:
        library.c.shim_free(file)
    if kind == "rx" and components is None and not options.get("variance") and not options.get("eigenvalue_at_least"):
        _warn_of_rank("rx", model.components + (options.get("skip") or 0), n)
    if kind == "ica":
        _warn_of_iterations(model, options.get("tolerance"), unconverged)
    return model


def _check_skip(skip, bands):
    if isinstance(skip, (int, np.integer)) and skip >= bands:
        raise ArgumentError("skip: %d, expected below %d, the number of bands" % (skip, bands))


def _warn_of_iterations(model, tolerance, category):
    """Of FastICA, unless all iterations were asked for."""
    if model.converged.all() or (tolerance is not None and tolerance < 0):
        return
    _warn("ica: %d of %d components have not converged in %d iterations; raise iterations or tolerance, take another contrast, or "
          "fewer components (the model's converged says which)"
          % ((~model.converged).sum(), model.components, model.reports[:, 0].max()), category)


def _warn_of_rank(name, rank, bands, of=""):
    """Anomalies outside the components that scores are of are not seen, however large. of: the class of these scores."""
    if rank < bands:
        _warn("%s: scores%s are of %d of %d components; the others have less than 1e-12 of the variance of the first, which is "
              "taken for rounding, and anomalies in them are not seen. Look for bands that are constant or a combination of "
              "others, for fewer pixels than bands, and for fill values such as 1e9, which nodata or valid leaves out"
              % (name, of, rank, bands))


def _run(kind, cube, components, valid=None, nodata=None, threads=0, progress=None, device=None, **options):
    work = dict(valid=valid, nodata=nodata, threads=threads, progress=progress, device=device)
    model = fit(kind, cube, components, **work, **options)
    return model.transform(cube, **work), model


# ---- components and anomalies ----------------------------------------------------------------------------------------------

@labelled("component", None, wavelengths=True)
def pca(cube: ArrayLike, components: int | None = None, **options: Any) -> tuple[np.ndarray, Model]:
    """Principal components of every pixel, (lines, samples, components), and the Model. Options: see fit."""
    return _run("pca", cube, components, **options)


@labelled("component", None, wavelengths=True)
def mnf(cube: ArrayLike, components: int | None = None, **options: Any) -> tuple[np.ndarray, Model]:
    """Minimum noise fractions of every pixel, best signal to noise first, and the Model. Options: see fit.

    Directions without noise, those with less than 1e-12 of the noise of the noisiest, are in no component, however strong their
    signal is: there are then fewer components than bands, and inverse_transform lacks what lies in these directions. Examples are
    a band that is a combination of others, and a band without noise in a given `noise`."""
    return _run("mnf", cube, components, **options)


@labelled("component", None, wavelengths=True)
def ica(cube: ArrayLike, components: int | None = None, **options: Any) -> tuple[np.ndarray, Model]:
    """Independent components of every pixel by FastICA, and the Model. Options: see fit. Where components have not converged a
    RuntimeWarning says so, and converged of the Model says which."""
    return _run("ica", cube, components, **options)


@labelled("pixels")
def rx(cube: ArrayLike, components: int | None = None, **options: Any) -> np.ndarray:
    """Reed-Xiaoli anomaly scores of every pixel, (lines, samples): squared distances from the mean in whitened coordinates. Options:
    see fit.

    Scores are of the components above rounding: those with less than 1e-12 of the variance of the first are left out, and an
    anomaly in them is not seen. Causes are bands that nearly are a combination of others, and single fill values such as 1e9
    among the pixels; units of bands do not matter. A RuntimeWarning says how many components are left, unless the options ask
    for fewer than all."""
    return _run("rx", cube, components, **options)[0][..., 0]


def _labels(labels, cube):
    """The class of each pixel, numbered from 0 on without gaps, since the library makes room for every number; -1 where it has
    none. And the label of each class. A pixel whose label is masked has none."""
    hidden = _missing(labels)
    labels = _whole(_data(labels), "labels", np.shape(cube)[:-1])
    there = labels >= 0 if hidden is None else ~hidden & (labels >= 0)
    names, numbers = np.unique(labels[there], return_inverse=True)
    classes = np.full(labels.shape, -1, np.intc)
    classes[there] = numbers.ravel()
    return classes, names


@labelled("pixels")
def rx_classes(cube: ArrayLike, labels: ArrayLike, *, components: int | None = None, valid: ArrayLike | None = None,
               nodata: float | None = None, threads: int = 0, progress: Progress = None, device: str | None = None,
               **options: Any) -> np.ndarray:
    """Reed-Xiaoli scores (lines, samples) of every pixel within its own class. labels (lines, samples): whole numbers from 0 on; below
    0 or masked: the pixel is missing, and its score NaN. So are scores of classes without pixels or variance; where all are, an
    ArgumentError says so. Scores are of the components above rounding, as of rx. A RuntimeWarning names the class that has fewest,
    if these are fewer than bands and components is None. Options: skip, trim, trim_rounds, divisor, precise, as of fit."""
    labels, names = _labels(labels, cube)
    _check_skip(options.get("skip"), np.shape(cube)[-1])
    ranks, skip = np.zeros(max(1, len(names)), np.intc), options.get("skip") or 0
    options = dict(options, labels=labels, classes=len(ranks), components=components, ranks=ranks)
    scores = _map("rx_classes", cube, 1, valid, nodata, dict(threads=threads, progress=progress, device=device, options=options))[..., 0]
    if components is None and ranks.any():
        fewest = np.where(ranks > 0, ranks, np.shape(cube)[-1] + 1).argmin()
        _warn_of_rank("rx_classes", ranks[fewest] + skip, np.shape(cube)[-1], " of class %d" % names[fewest])
    return scores


@labelled("pixels")
def rx_local(cube: ArrayLike, inner: int = 5, outer: int = 25, *, ridge: float = 0.0, valid: ArrayLike | None = None,
             nodata: float | None = None, threads: int = 0, progress: Progress = None, device: str | None = None,
             **options: Any) -> np.ndarray:
    """Local Reed-Xiaoli scores (lines, samples): each pixel against those around it, of a window of outer x outer pixels less one of
    inner x inner; both are odd. There must be more of them than bands, or a ridge: this share of the mean variance is added to the
    diagonal of the covariance. Scores without a covariance of full rank are NaN. Option: divisor, as of fit."""
    *pixels, bands = ((1,) + np.shape(cube))[-3:]
    inner, outer = _count(inner, "inner"), _count(outer, "outer")
    for name, size in ("inner", inner), ("outer", outer):
        if size % 2 == 0:
            raise ArgumentError("%s: %d, expected an odd number of pixels" % (name, size))
    if inner >= outer:
        raise ArgumentError("inner: %d, expected below outer, which is %d" % (inner, outer))
    around = np.prod(np.minimum(outer, pixels)) - np.prod(np.minimum(inner, pixels))
    if np.prod(pixels) and not ridge and around <= bands:
        raise ArgumentError("outer: only %d pixels lie around one, which are too few for a covariance of %d bands; take a larger "
                            "window, fewer bands, or a ridge (such as 0.01)" % (around, bands))
    return _map("rx_local", cube, 1, valid, nodata, dict(threads=threads, progress=progress, device=device, options=options),
                inner=inner, outer=outer, ridge=ridge)[..., 0]


# ---- spectra ---------------------------------------------------------------------------------------------------------------

def _spectra(spectra, name, cube):
    """Spectra (count, bands) in doubles, of as many bands as the cube."""
    spectra = np.asanyarray(spectra)[None] if np.ndim(spectra) == 1 else spectra  # a list around a masked array loses its mask
    return _wide(spectra, name, (-1,) + np.shape(cube)[-1:])


BY_STATISTICS = "mf", "cem", "ace", "sace", "glrt"  # methods of detect that go by mean and covariance


def _background(background, method, bands):
    """What C is told of mean and covariance from elsewhere."""
    if not isinstance(background, (tuple, list)) or len(background) not in (2, 3):
        raise ArgumentError("background: expected (mean, covariance) or (mean, covariance, number of pixels), not %r" % (background,))
    if method == "glrt" and len(background) < 3:
        raise ArgumentError("background: glrt needs the number of pixels, (mean, covariance, count)")
    count = _number(background[2], "background: the number of pixels") if len(background) > 2 else 1.0
    if not 0 < count < np.inf:
        raise ArgumentError("background: the number of pixels is %g, expected above 0" % count)
    return dict(mean=_wide(background[0], "background mean", (bands,)), background_count=count,
                products=count * _covariance(background[1], "background covariance", bands))


@labelled("target")
def detect(cube: ArrayLike, targets: ArrayLike, method: str = "mf", *, ridge: float = 0.0,
           background: tuple[ArrayLike, ...] | None = None, undesired: ArrayLike | None = None,
           labels: ArrayLike | None = None, columns: bool = False,
           valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0, progress: Progress = None,
           device: str | None = None) -> np.ndarray:
    """How much of a known spectrum is in each pixel: scores (lines, samples) for one target (bands,), (lines, samples, targets) for
    targets (targets, bands), which are in the unit of the pixels. The target itself scores 1, with "sam" 0, with "glrt" less
    than 1.

    method: "mf" (matched filter), "cem" (constrained energy minimisation), "ace" (adaptive cosine estimator, 0 to 1), "sace"
    (ace with the sign of mf, -1 to 1), "glrt" (Kelly's generalised likelihood ratio test, 0 to 1), "sam" (spectral angle in
    radians; small is alike), "osp" (orthogonal subspace projection of `undesired` (count, bands)), "amsd" (adaptive matched
    subspace detector, 0 to 1: one score (lines, samples) for all targets together, the share that they explain of what
    `undesired` leaves of the pixel).

    ridge: this share of the mean variance is added to the diagonal of the covariance, for few pixels or dependent bands: without
    it a band of which the others leave less than 1e-12 is an ArgumentError.
    background: (mean, covariance), (bands,) and (bands, bands), in place of those of the cube; "glrt" needs (mean, covariance,
    number of pixels). valid, nodata: as of fit; missing pixels score NaN.

    labels, columns: "mf", "cem", "ace", "sace" and "glrt" take mean and covariance of each class by itself. labels (lines, samples)
    are whole numbers from 0 on; below 0 or masked: no class, NaN. columns: each column is a class, as push-broom sensors need.
    Classes whose covariance is singular, as with fewer pixels than bands + 1 and no ridge, score NaN; where all are, an
    ArgumentError says so."""
    method = _float.word("detector", method, "method")
    for name, is_given in (("ridge", bool(ridge)), ("background", background is not None), ("labels", labels is not None),
                           ("columns", bool(columns))):
        _only_with(name, is_given, "method", method, BY_STATISTICS)
    _only_with("undesired", undesired is not None, "method", method, ("osp", "amsd"))
    if (labels is not None) + bool(columns) + (background is not None) > 1:
        raise ArgumentError("labels, columns, background: two of them are given, expected one at most")
    spectra = _spectra(targets, "targets", cube)
    given = dict(targets=len(spectra), spectra=spectra, detector=_float.value("detector", method), ridge=ridge)
    if background is not None:
        given.update(_background(background, method, spectra.shape[1]))
    if undesired is not None:
        given.update(undesired=_spectra(undesired, "undesired", cube))
        given.update(undesired_count=len(given["undesired"]))
    if labels is not None:
        given["labels"], names = _labels(labels, cube)
        given["classes"] = max(1, len(names))
    given["columns"] = int(columns)
    count = 1 if method == "amsd" else len(spectra)
    out = _map("detect", cube, count, valid, nodata, dict(threads=threads, progress=progress, device=device), **given)
    return out[..., 0] if np.ndim(targets) == 1 or method == "amsd" else out


@labelled("spectrum")
def similarity(cube: ArrayLike, spectra: ArrayLike, method: str = "sam", *, valid: ArrayLike | None = None,
               nodata: float | None = None) -> np.ndarray:
    """How alike pixels and spectra are, small is alike: (lines, samples) for one spectrum (bands,), (lines, samples, spectra) for
    spectra (spectra, bands). With the angle a, and p and q the spectra divided by their sums:

    sam     a, in radians
    sid     sum of (p - q) (log p - log q), spectral information divergence; pixels with a value not above 0 have none
    sidsam  sid tan(a)
    ns3     sqrt(d^2 + (1 - cos a)^2), d: the root mean squared difference
    jmsam   2 (1 - exp(-B)) tan(a), B: Bhattacharyya distance of normal distributions with the means and variances over the bands

    valid, nodata: as of fit; missing pixels are NaN."""
    method = _word("method", method, ("sam", "sid", "sidsam", "ns3", "jmsam"))
    t = _spectra(spectra, "spectra", cube)
    if not len(t):
        raise ArgumentError("spectra: the shape is %s, expected at least one spectrum" % (t.shape,))
    _, a, given = _cube(cube, valid, nodata)
    x = a.astype(np.float64, order="C")  # sums over the bands of another order differ in their last digits
    missing = ~np.isfinite(x).all(2) | (given["valid"] == 0 if "valid" in given else False)
    if nodata is not None:
        missing |= _is_nodata(a, nodata).any(2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        u, of_x = _unit(x)
        lengths = np.linalg.norm(u, axis=2)
        scores = np.stack([_similarity(x, u, of_x, lengths, one, method) for one in t], axis=-1)
    scores[missing] = np.nan
    scores = scores[..., 0] if np.ndim(spectra) == 1 else scores
    return scores[0] if np.ndim(cube) == 2 else scores


def _unit(x):
    """Spectra along the last axis in units in which their squares can be summed: each times a power of two, by which no digit
    changes. And the exponents that lead back."""
    largest = np.abs(x).max(axis=-1, initial=0)
    exponents = np.where(np.isfinite(largest), np.frexp(largest)[1], 0)
    exponents = np.where(np.abs(exponents) > 250, exponents, 0)  # squares of squares are in range
    return (np.ldexp(x, -exponents[..., None]) if exponents.any() else x), exponents


def _root_mean_square(x):
    """Of each spectrum along the last axis."""
    x, exponents = _unit(x)
    return np.ldexp(np.sqrt(np.square(x).mean(axis=-1)), exponents)


def _similarity(x, u, of_x, lengths, t, method):
    """Of pixels x (lines, samples, bands) with one spectrum t. u, of_x: what _unit makes of x. lengths: of u."""
    v, of_t = _unit(t)
    product = (u * v).sum(axis=2)  # not u @ v, whose last digits depend on the shape of u
    cosine = np.clip(product / (lengths * np.linalg.norm(v)), -1, 1)
    if method == "sam":
        return np.arccos(cosine)
    if method == "ns3":
        return np.hypot(_root_mean_square(x - t), 1 - cosine)
    if method in ("sid", "sidsam"):
        p = np.where((u > 0).all(2, keepdims=True), u, np.nan)
        p, q = p / p.sum(2, keepdims=True), np.where(v > 0, v, np.nan) / v.sum()
        score = ((p - q) * (np.log(p) - np.log(q))).sum(2)
    else:
        of_x, of_t = of_x - np.maximum(of_x, of_t), of_t - np.maximum(of_x, of_t)  # in one unit
        v_x, v_t = np.ldexp(u.var(2, ddof=1), 2 * of_x), np.ldexp(v.var(ddof=1), 2 * of_t)
        means = np.ldexp(u.mean(2), of_x) - np.ldexp(v.mean(), of_t)
        distance = np.square(means) / ((v_x + v_t) / 2) / 8 + np.log((v_x + v_t) / 2 / np.sqrt(v_x * v_t)) / 2
        distance = np.where(v_x + v_t == 0, np.where(means == 0, 0, np.inf), distance)  # both are constant
        score = 2 * (1 - np.exp(-distance))
    return score if method == "sid" else score * np.where(cosine > 0, np.sqrt(1 - cosine * cosine) / cosine, np.nan)


@labelled("pixels", "pixels")
def match(cube: ArrayLike, library: ArrayLike, method: str = "sam", *, valid: ArrayLike | None = None,
          nodata: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The most alike of the spectra of a library (spectra, bands): its number for each pixel, from 0, and its score, by a method of
    similarity. Pixels without a score have -1 and NaN."""
    scores = similarity(cube, np.atleast_2d(library), method, valid=valid, nodata=nodata)
    none = np.isnan(scores).all(axis=-1)
    best = np.where(np.isnan(scores), np.inf, scores).argmin(axis=-1)
    score = np.take_along_axis(scores, best[..., None], axis=-1)[..., 0]
    return np.where(none, -1, best), score


def _difference(p, q):
    """Of pixels (count, bands) and others: root mean squared difference, and angle."""
    off, p, q = _root_mean_square(p - q), _unit(p)[0], _unit(q)[0]
    lengths = np.linalg.norm(p, axis=1) * np.linalg.norm(q, axis=1)
    cosine = (p * q).sum(axis=1) / np.where(lengths > 0, lengths, np.nan)
    return off, np.where((off == 0) & (lengths > 0), 0, np.arccos(np.clip(cosine, -1, 1)))


@labelled("pixels", "pixels")
def compare(cube: ArrayLike, other: ArrayLike, *, valid: ArrayLike | None = None,
            nodata: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """How two cubes of one shape differ, two arrays (lines, samples): the root of the mean squared difference over the bands, and
    the angle between the two spectra in radians; a spectrum of zeros has no angle. The cubes may differ in type. A warning
    tells of two DataArrays that state different units: scale_factor, add_offset, reflectance_scale_factor. valid, nodata: as of
    fit, for both cubes; pixels that are missing in one of them are NaN."""
    if np.shape(cube) != np.shape(other):
        raise ArgumentError("other: its shape is %s, expected %s as the cube" % (np.shape(other), np.shape(cube)))
    (_, a, of_first), (_, b, of_second) = _cube(cube, valid, nodata), _cube(other, valid, nodata)
    off, angle = np.empty(a.shape[:2]), np.empty(a.shape[:2])
    for y in range(len(a)):  # a cube may be large
        p, q = a[y].astype(np.float64, order="C"), b[y].astype(np.float64, order="C")
        for values, raw, given in (p, a[y], of_first), (q, b[y], of_second):
            if "valid" in given:
                values[given["valid"][y] == 0] = np.nan
            if nodata is not None:
                values[_is_nodata(raw, nodata).any(axis=1)] = np.nan
            values[~np.isfinite(values).all(axis=1)] = np.nan
        with np.errstate(over="ignore", under="ignore"):
            off[y], angle[y] = _difference(p, q)
    return (off[0], angle[0]) if np.ndim(cube) == 2 else (off, angle)


@overload
def unmix(cube: ArrayLike, endmembers: ArrayLike, constraint: str = "full", *, errors: Literal[False] = False,
          valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> np.ndarray: ...


@overload
def unmix(cube: ArrayLike, endmembers: ArrayLike, constraint: str = "full", *, errors: Literal[True],
          valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def unmix(cube: ArrayLike, endmembers: ArrayLike, constraint: str = "full", *, errors: bool,
          valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...


@labelled("endmember", "pixels")
def unmix(cube: ArrayLike, endmembers: ArrayLike, constraint: str = "full", *, errors: bool = False,
          valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Abundances (lines, samples, count) of endmembers (count, bands), spectra of pure materials in the unit of the pixels, by
    least squares. constraint: "full" (none below 0, sum 1), "nonnegative", "sum" (sum 1), "none", "scaled" (nonnegative ones,
    divided by their sum; pixels with the sum 0 become NaN). errors: returns a second array, too, (lines, samples): the root of
    the mean squared difference over the bands between a pixel and its mixture, with "scaled" by the abundances before the
    division. valid, nodata: as of fit; missing pixels become NaN."""
    spectra = _spectra(endmembers, "endmembers", cube)
    constraint = _word("constraint", constraint, ("full", "nonnegative", "sum", "none", "scaled"))
    _check_endmembers(spectra)
    scaled = constraint == "scaled"
    code = _float.value("constraint", "nonnegative" if scaled else constraint)
    library, a, _ = _cube(cube)
    shares = _map("unmix", cube, len(spectra), valid, nodata, dict(threads=threads, progress=progress, device=device),
                  real=np.float64 if scaled or errors else None, count=len(spectra), spectra=spectra, constraint=code)
    misfit = _misfit(a, spectra, shares).astype(library.real) if errors else None
    if scaled:
        total = shares.sum(axis=-1, keepdims=True)
        shares = shares / np.where(total > 0, total, np.nan)
    shares = shares.astype(library.real, copy=False)
    return (shares, misfit) if errors else shares


def _check_endmembers(spectra):
    count, bands = spectra.shape
    if not 1 <= count <= bands:
        raise ArgumentError("endmembers: %d of %d bands, expected at least 1 and at most as many as bands; unmix_sparse takes more"
                            % (count, bands))
    _check_finite(spectra, "endmembers")


def _check_finite(spectra, name):
    wrong = np.argwhere(~np.isfinite(spectra))
    if wrong.size:
        spectrum, band = wrong[0]
        raise ArgumentError("%s: spectrum %d is %g in band %d, expected numbers" % (name, spectrum, spectra[spectrum, band], band))


def _misfit(a, spectra, shares):
    """Root mean squared difference of pixels (lines, samples, bands) from their mixtures, line by line: a cube may be large."""
    out = np.empty(a.shape[:2])
    for of_line, pixels, parts in zip(out, a, shares.reshape(a.shape[:2] + (len(spectra),))):
        with np.errstate(under="ignore"):
            of_line[:] = _root_mean_square(pixels.astype(np.float64, order="C") - parts @ spectra)
    return out.reshape(shares.shape[:-1])


@labelled("spectra", None)
def endmembers(cube: ArrayLike, count: int, method: str = "vca", *, seed: int = 0, valid: ArrayLike | None = None,
               nodata: float | None = None, threads: int = 0, progress: Progress = None,
               device: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Finds endmembers among the pixels. method: "vca" (vertex component analysis), "nfindr" (simplex of the largest volume), "atgp"
    (automatic target generation). count: at least 2, with "atgp" at least 1; at most as many as bands or pixels. Returns their
    spectra (count, bands), and where they are: (count, 2), line and sample, or of a matrix of pixels (count,). valid, nodata:
    as of fit."""
    library, a, given = _cube(cube, valid, nodata)
    method = _float.word("extractor", method, "method")
    _count(count, "count", 1 if method == "atgp" else 2)
    if count > min(a.shape[2], a.shape[0] * a.shape[1]):
        raise ArgumentError("count: %d endmembers of a cube of the shape %s; there can be as many as bands, of at least as many "
                            "pixels" % (count, np.shape(cube)))
    spectra, places = np.zeros((count, a.shape[2])), np.zeros(count, np.uintp)
    library.call("endmembers", None, threads, progress, device, **given, extractor=_float.value("extractor", method), count=count,
                 seed=seed, spectra=spectra, places=places)
    places = places.astype(np.intp)
    return spectra, places if np.ndim(cube) == 2 else np.stack(np.divmod(places, a.shape[1]), axis=-1)


@labelled("pixels")
def ppi(cube: ArrayLike, skewers: int | ArrayLike = 1000, *, threshold: float = 0.0, seed: int = 0, valid: ArrayLike | None = None,
        nodata: float | None = None, threads: int = 0, progress: Progress = None) -> np.ndarray:
    """Pixel purity index, usually of MNF components: how often each pixel is extreme among all pixels along random directions, the
    skewers (a number, or directions (count, bands) as rows). threshold: pixels this near to an extreme count too, in the unit of
    the pixels times the length of the skewer, which is 1 for random ones. Returns whole numbers (lines, samples); missing pixels
    have -1. valid, nodata: as of fit."""
    library, a, given = _cube(cube, valid, nodata)
    number = np.ndim(skewers) == 0
    given["skewers"] = None if number else _spectra(skewers, "skewers", cube)
    if not number:
        _check_finite(given["skewers"], "skewers")
    count = _count(skewers, "skewers") if number else len(given["skewers"])
    counts = np.zeros(a.shape[:2], np.intc)
    library.call("ppi", None, threads, progress, None, **given, count=count, seed=seed, threshold=threshold, counts=counts)
    return counts[0] if np.ndim(cube) == 2 else counts


@labelled("spectrum")
def unmix_sparse(cube: ArrayLike, library: ArrayLike, method: str = "lasso", *, weight: float | None = None,
                 sparsity: int | None = None, valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0,
                 progress: Progress = None) -> np.ndarray:
    """Abundances (lines, samples, count) over a library of many spectra (count, bands), of which each pixel holds few; none is
    negative. method:

    lasso   min |x - a @ library|^2 / 2 + weight max(library @ x) sum(a). weight (1e-3) has no unit: from 1 on no spectrum is used
    nnomp   nonnegative orthogonal matching pursuit: at most `sparsity` (10) spectra, chosen by their angle to what is left

    valid, nodata: as of fit; missing pixels become NaN."""
    method = _word("method", method, ("lasso", "nnomp"))
    _only_with("weight", weight is not None, "method", method, ("lasso",))
    _only_with("sparsity", sparsity is not None, "method", method, ("nnomp",))
    weight = 1e-3 if weight is None else _number(weight, "weight")
    sparsity = 10 if sparsity is None else _count(sparsity, "sparsity")
    if not 0 < weight < 1:
        raise ArgumentError("weight: must be above 0 and below 1, but is %s" % (weight,))
    spectra = _spectra(library, "library", cube)
    if not len(spectra):
        raise ArgumentError("library: the shape is %s, expected at least one spectrum" % (spectra.shape,))
    of, a, given = _cube(cube, valid, nodata)
    _check_finite(spectra, "library")
    units, exponents = _unit(spectra)
    lengths = np.ldexp(np.linalg.norm(units, axis=1), exponents)
    if not (lengths > 0).all():
        raise ArgumentError("library: spectrum %d is 0 in all bands" % int(lengths.argmin()))
    there = np.isfinite(a).all(2) & (given["valid"] != 0 if "valid" in given else True)
    if nodata is not None:
        there &= ~_is_nodata(a, nodata).any(2)
    _cast(spectra, "library", of.real)  # an abundance beyond the range of the cube's type is none
    shares = np.full(a.shape[:2] + (len(spectra),), np.nan, of.real)
    pixels = np.ascontiguousarray(a[there], of.real)
    if len(pixels) and method == "lasso":
        gap = 1e-6 if of.real == np.float32 else None
        shares[there] = lasso(spectra.astype(of.real), pixels, weight, relative=True, nonnegative=True, gap=gap, threads=threads,
                              progress=progress).toarray()
    elif len(pixels):
        most = min(sparsity, *spectra.shape)
        units = (spectra / lengths[:, None]).astype(of.real)
        shares[there] = omp(units, pixels, most, nonnegative=True, threads=threads, progress=progress).toarray() / lengths
    return shares[0] if np.ndim(cube) == 2 else shares
