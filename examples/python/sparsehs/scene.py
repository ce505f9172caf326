"""A scene's first hour: bad bands, the number of materials, spectra over the wavelength, relative reflectance, indices."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from ._arrays import _array, _count, _covariance, _cube, _data, _gathered, _is_nodata, _missing, _number, _wide
from ._labels import _micrometres, _to_nanometres, given_wavelengths, given_widths, is_labelled, labelled
from ._library import ArgumentError, _float, _only_with, _warn, _word

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._library import Progress

BLOCK = 2**19  # values in double at a time: a cube may be large, the cache is small


# ---- pixels ----------------------------------------------------------------------------------------------------------------

def _blocks(a, given, nodata):
    """(lines, pixels) of a few lines at a time: which, and their values (lines, samples, bands) in double. What is missing is
    NaN."""
    step = max(1, BLOCK // max(1, a.shape[1] * a.shape[2]))
    for first in range(0, len(a), step):
        lines = slice(first, first + step)
        x = a[lines].astype(np.float64, order="C")
        missing = ~np.isfinite(x)
        if nodata is not None:
            missing |= _is_nodata(a[lines], nodata)
        if "valid" in given:
            missing |= (given["valid"][lines] == 0)[..., None]
        x[missing] = np.nan
        yield lines, x


def _columns(a, given):
    """One line of pixels as lines of one pixel, so that it can be taken in pieces."""
    if len(a) != 1:
        return a, given
    return a.swapaxes(0, 1), {name: given[name].swapaxes(0, 1) for name in ("valid",) if name in given}


def _each_pixel(cube, outputs, function, valid, nodata, gaps=False):
    """The values (lines, samples, outputs) that function makes of pixels (count, bands) that have all bands, or some (gaps). Those
    that are not finite, and all of other pixels, are NaN."""
    library, a, given = _cube(cube, valid, nodata)
    out = np.full(a.shape[:2] + (outputs,), np.nan, library.real)
    a, given = _columns(a, given)
    for lines, x in _blocks(a, given, nodata):
        there = np.isfinite(x).any(axis=2) if gaps else np.isfinite(x).all(axis=2)
        with np.errstate(all="ignore"):
            made = function(x[there])
        to = (out if len(a) == len(out) else out.swapaxes(0, 1))[lines]
        to[there] = np.where(np.isfinite(made), made, np.nan)
    return out[0] if np.ndim(cube) == 2 else out


# ---- wavelengths -----------------------------------------------------------------------------------------------------------

def _nanometres(wavelengths, name, count, why):
    """In nanometres. Numbers without a unit are micrometres where all are below 100. count: so many are expected, -1: any number."""
    if wavelengths is None:
        raise ArgumentError("%s: None, expected a number above 0 for each%s, in nanometres or micrometres, as %s needs them"
                            % (name, " of %d bands" % count if count >= 0 else " band", why))
    lengths = _wide(wavelengths, name, (count,))
    wrong = np.flatnonzero(~((lengths > 0) & np.isfinite(lengths)))
    if wrong.size:
        raise ArgumentError("%s: number %d is %g, expected above 0" % (name, wrong[0] + 1, lengths[wrong[0]]))
    return lengths * _micrometres(wavelengths)


# ---- bad bands -------------------------------------------------------------------------------------------------------------

def _unmasked(cube):
    """With NaN for what is masked. Floats keep their type: a no-data value is rounded to it."""
    masked = _missing(cube)
    if masked is None:
        return cube
    values = _array(_data(cube), "cube")
    if values.dtype.kind in "bui":
        values = values.astype(np.result_type(values.dtype, np.float32))
    return np.where(masked, values.dtype.type(np.nan), values)


def _moments(library, a, given, used, work):
    """Covariance of these bands, and the number of the pixels that have all of them."""
    n = len(used)
    mean, covariance, pixels = np.zeros(n), np.zeros((n, n)), np.zeros(1)
    try:
        library.call("moments", **work, **given, band_list=used.astype(np.intc), n=n, mean=mean, covariance=covariance,
                     count=pixels)
    except ArgumentError as error:
        if error.status != "SHS_NO_PIXELS":
            raise
    return covariance, pixels[0]


def _lacking(a, given, nodata, used):
    """Which of these bands lack more pixels than another by 2 % of those that valid does not leave out, or have none."""
    missing = np.zeros(len(used))
    for _, x in _blocks(*_columns(a, given), nodata):
        missing += np.isnan(x[..., used]).sum(axis=(0, 1))
    left_out = np.sum(given["valid"] == 0) if "valid" in given else 0
    missing, pixels = missing - left_out, a.shape[0] * a.shape[1] - left_out
    return (missing > missing.min() + 0.02 * pixels) | (missing == pixels)


def _unpredicted(C):
    """Which share of each band's variance the others do not predict, by least squares: 1 / (inverse of the correlation C)_bb. A
    band that others determine has about 0."""
    n = len(C)
    L, inverse = np.zeros((n, n)), np.eye(n)
    for c in range(n):
        column = C[c:, c] - L[c:, :c] @ L[c, :c]
        L[c:, c] = column / math.sqrt(max(column[0], 1e-13))
        L[c, c] = math.sqrt(max(column[0], 1e-13))
    for i in range(n):
        inverse[i] = (inverse[i] - L[i, :i] @ inverse[:i]) / L[i, i]
    return 1 / np.square(inverse).sum(axis=0)


def _used(reasons):
    """The bands without a reason against them."""
    used = np.flatnonzero(reasons == "")
    if not used.size:
        words = "header", "water", "missing", "constant", "noise"
        counts = ", ".join("%d %s" % ((reasons == word).sum(), word) for word in words)
        raise ArgumentError("cube: all %d bands are bad (%s), expected one good one at least" % (len(reasons), counts))
    return used


@labelled("bands", "bands", "bands", wavelengths=True)
def bands(cube: ArrayLike, *, wavelengths: ArrayLike | None = None, bbl: ArrayLike | None = None, band_snr: float = 10.0,
          keep_water: bool = False, valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0,
          progress: Progress = None, device: str | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which bands are of use: used (bands,), true or false; snr (bands,), NaN where it is not known; and reasons (bands,):

    header    `bbl` (bands,), ENVI's list of bad bands, is not above 0
    water     it lies where water vapour absorbs, 1340 to 1450 and 1790 to 1970 nm, unless keep_water
    missing   it lacks more pixels than another band, by 2 % of those that `valid` does not leave out. This is
              looked for only where less than 95 % of all pixels of the cube are left, valid and with all bands that are used
    constant  all its pixels are equal
    noise     snr is below band_snr: the ratio of the variance that the other bands predict to that which they do not
    ""        none: the band is used

    wavelengths (bands,): in nanometres, or micrometres if all are below 100. Without them no band is water. Take the good
    bands by cube[..., used]. valid, nodata: as of fit."""
    cube = _unmasked(cube)
    library, a, given = _cube(cube, valid, nodata)
    n, pixels = a.shape[2], 0
    if math.isnan(_number(band_snr, "band_snr")):
        raise ArgumentError("band_snr: nan, expected a number")
    if a.size == 0:
        raise ArgumentError("cube: its shape is %s: there are no pixels to learn from" % (np.shape(cube),))
    reasons, snr = np.full(n, "", "U8"), np.full(n, np.nan)
    if bbl is not None:
        reasons[~(_wide(bbl, "bbl", (n,)) > 0)] = "header"
    if wavelengths is not None and not keep_water:
        w = _nanometres(wavelengths, "wavelengths", n, "bands")
        reasons[(reasons == "") & (((w >= 1340) & (w <= 1450)) | ((w >= 1790) & (w <= 1970)))] = "water"
    while True:
        used = _used(reasons)
        covariance, pixels = _moments(library, a, given, used, dict(threads=threads, progress=progress, device=device))
        bad = _lacking(a, given, nodata, used) if pixels < 0.95 * a.shape[0] * a.shape[1] else np.zeros(len(used), bool)
        reasons[used[bad]] = "missing"
        if bad.any():
            continue
        if not pixels:
            raise ArgumentError("cube: no pixel of %d has all %d bands, expected one at least"
                                % (a.shape[0] * a.shape[1], len(used)))
        variance = np.diag(covariance)
        reasons[used[~(variance > 0)]] = "constant"
        if (variance > 0).all():
            break
    if len(used) > 1 and pixels > len(used) + 1:
        share = _unpredicted(covariance / np.sqrt(np.outer(variance, variance)))
        noise = np.minimum(1, share * pixels / (pixels - len(used)))
        snr[used] = (1 - noise) / noise
    elif len(used) > 1:
        _warn("bands: %d valid pixels are too few to tell noise in %d bands" % (pixels, len(used)))
    reasons[snr < band_snr] = "noise"
    _used(reasons)
    return reasons == "", snr, reasons


# ---- how many materials ----------------------------------------------------------------------------------------------------

@labelled(None)
def count(cube: ArrayLike, method: str = "hysime", *, false_alarm: float | None = None, noise: ArrayLike | None = None,
          valid: ArrayLike | None = None, nodata: float | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> int:
    """How many materials a cube holds. method:

    hysime  directions in which the signal has more power than the noise (Bioucas-Dias, Nascimento 2008)
    hfc     eigenvalues of the correlation and the covariance that differ by more than chance (Harsanyi, Farrand, Chang 1993)
    nwhfc   hfc after the noise is made white (Chang, Du 2004)

    false_alarm: of hfc and nwhfc, the probability that chance counts one, above 0 and at most 0.5 (0.001). noise (bands, bands):
    its covariance for hysime and nwhfc, in place of what the other bands do not predict. valid, nodata: as of fit. hfc and
    nwhfc do not see materials that fill few pixels. In real scenes light, shadow and nonlinear mixing add to all three."""
    method = _float.word("counter", method, "method")
    _only_with("false_alarm", false_alarm is not None, "method", method, ("hfc", "nwhfc"))
    _only_with("noise", noise is not None, "method", method, ("hysime", "nwhfc"))
    library, a, given = _cube(cube, valid, nodata)
    if a.size == 0 or a.shape[2] < 2:
        raise ArgumentError("cube: its shape is %s, expected pixels of 2 bands at least" % (np.shape(cube),))
    if false_alarm is not None and not 0 < _number(false_alarm, "false_alarm") <= 0.5:
        raise ArgumentError("false_alarm: %s, expected above 0 and at most 0.5" % (false_alarm,))
    noise = None if noise is None else _covariance(noise, "noise", a.shape[2])
    found = np.zeros(1, np.intc)
    library.call("count", None, threads, progress, device, **given, counter=_float.value("counter", method),
                 false_alarm=false_alarm, noise=noise, count=found)
    return int(found[0])


# ---- spectra ---------------------------------------------------------------------------------------------------------------

def _fail_for_twins(band, other, nanometres):
    """Nothing says which of two bands is meant; numbers from 0."""
    raise ArgumentError("wavelengths: bands %d and %d are both at %g nm, expected different ones" % (band + 1, other + 1, nanometres))


def _ascending(wavelengths, n, why):
    """Wavelengths of n bands in nanometres, ascending, and the order of the bands."""
    w = _nanometres(wavelengths, "wavelengths", n, why)
    order = np.argsort(w, kind="stable")
    same = np.flatnonzero(np.diff(w[order]) <= 0)
    if same.size:
        _fail_for_twins(*order[same[0]:same[0] + 2], w[order[same[0]]])
    return w[order], order


def _bands_of(cube, why, least=3):
    """How many bands spectra have."""
    n = np.shape(cube)[-1] if np.ndim(cube) else 0
    if n < least:
        raise ArgumentError("cube: its shape is %s, expected %d bands at least, as %s needs them" % (np.shape(cube), least, why))
    return n


def _each_spectrum(cube, w, order, step, outputs=None, gaps=False, valid=None, nodata=None):
    """What step(values, wavelengths) makes of spectra (..., bands) by ascending wavelengths: values of `outputs` bands of another
    sensor, or of their own (None). gaps: of those that lack bands, too."""
    def in_order(x):
        made = step(np.take(x, order, axis=1), w)
        return made if outputs else made[:, np.argsort(order)]

    def around_gaps(x):
        made = np.full((len(x), outputs or len(w)), np.nan)
        patterns, which = np.unique(np.isnan(x), axis=0, return_inverse=True)
        for k, gap in enumerate(patterns):
            present, rows = order[~gap[order]], np.flatnonzero(which.ravel() == k)
            if len(present) >= 3:
                made[rows if outputs else np.ix_(rows, present)] = step(x[np.ix_(rows, present)], w[~gap[order]])
        return made

    spectra = _unmasked(cube) if gaps else cube
    spectra = np.asanyarray(spectra)[None] if np.ndim(cube) == 1 else spectra
    made = _each_pixel(spectra, outputs or len(w), around_gaps if gaps else in_order, valid, nodata, gaps)
    return made[0] if np.ndim(cube) == 1 else made


def _weighted(x, weights):
    """Sums of the bands of x (count, bands) by weights (outputs, bands). The last digits of x @ weights.T depend on the count."""
    made = np.zeros((len(x), len(weights)))
    for k, row in enumerate(weights):
        near = np.flatnonzero(row)
        if near.size:
            part = slice(near[0], near[-1] + 1)
            made[:, k] = (x[:, part] * row[part]).sum(axis=1)
    return made


@labelled("cube", wavelengths=True)
def smooth(cube: ArrayLike, width: int, *, wavelengths: ArrayLike | None = None, gaps: bool = False,
           valid: ArrayLike | None = None, nodata: float | None = None) -> np.ndarray:
    """Spectra (bands,), (count, bands) or (lines, samples, bands), of which each value becomes the mean of `width` neighbouring
    bands, an odd number; of fewer at the ends. wavelengths: bands are neighbours by these; None: as they come.

    Of this function, resample, continuum and derivative:
    wavelengths (bands,): in nanometres, or micrometres if all are below 100, in any order.
    gaps: spectra that lack bands, such as the deleted channels of a library, get values from their other bands, of which there
    must be three. Without it pixels with a missing band become NaN, as in fit. valid, nodata: as of fit."""
    n = _bands_of(cube, "smooth")
    if _count(width, "width") % 2 == 0:
        raise ArgumentError("width: %d, expected an odd number of bands" % width)
    w, order = (np.arange(1.0, n + 1), np.arange(n)) if wavelengths is None else _ascending(wavelengths, n, "smooth")

    def step(x, w):
        places = np.arange(len(w))
        reach = np.minimum(width // 2, np.minimum(places, len(w) - 1 - places))
        near = np.abs(places - places[:, None]) <= reach
        return _weighted(x, near.T / (2 * reach + 1)[:, None])

    return _each_spectrum(cube, w, order, step, None, gaps, valid, nodata)


def _measured(w, centres, fwhm):
    """Which bands have one of w within half their width, or within the usual step of w: gaps of w hold nothing that was measured."""
    step = np.sort(np.diff(w))[(len(w) - 1) // 2] if len(w) > 1 else 0
    return np.abs(centres[:, None] - w).min(axis=1) <= np.maximum(fwhm / 2, step)


def _responses(w, centres, fwhm):
    """Weights (sensor bands, bands) of the integral of Gaussian response times spectrum, exact where a spectrum is linear between
    its bands; and which share of each response lies within them, 0 in a gap."""
    sigma, x = fwhm / (2 * math.sqrt(2 * math.log(2))), centres[:, None]
    z = (w - x) / (sigma * math.sqrt(2))[:, None]
    zeroth = np.diff(np.vectorize(math.erf, otypes=[float])(z)) / 2
    with np.errstate(under="ignore"):  # far from a band its response is 0
        first = -np.diff(np.exp(-z * z)) * (sigma / math.sqrt(2 * math.pi))[:, None]
    rise = (first + (x - w[:-1]) * zeroth) / np.diff(w)  # what the far end gets
    weights, share = np.zeros(z.shape), zeroth.sum(axis=1)
    weights[:, :-1] += zeroth - rise
    weights[:, 1:] += rise
    share[~_measured(w, centres, fwhm)] = 0
    return weights / np.where(share > 0, share, 1)[:, None], share


def _distances(centres):
    """How far each band is from its neighbours; 10 nm where there are none."""
    order, width = np.argsort(centres, kind="stable"), np.full(len(centres), 10.0)
    if len(centres) > 1:
        width[order] = np.gradient(centres[order])
    return width


def resample(cube: ArrayLike, centres: ArrayLike, fwhm: ArrayLike | None = None, *, wavelengths: ArrayLike | None = None,
             gaps: bool = False, valid: ArrayLike | None = None, nodata: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Spectra as another sensor sees them, whose bands are at `centres` with Gaussian responses of these widths `fwhm`, in the
    unit of centres (None: as wide as a band is far from its neighbours). The integral is exact for a spectrum that is linear
    between its bands. Returns the spectra (..., K), and inside (centres,): which bands these are. Those with less than 95 % of
    their response within the wavelengths of the spectra are left out, and those in a gap of them. Options: see smooth."""
    at = _nanometres(given_wavelengths(centres, "centres"), "centres", -1, "resample")
    widths = _distances(at) if fwhm is None else given_widths(fwhm, "fwhm", centres, at)
    if not (widths > 0).all():
        raise ArgumentError("fwhm: %g, expected above 0" % widths[~(widths > 0)][0])
    made, inside = _resampled(cube, at, widths, wavelengths=wavelengths, gaps=gaps, valid=valid, nodata=nodata)
    if is_labelled(made):
        made = made.assign_coords(wavelength=("wavelength", at[inside], {"units": "nm"}))
    return made, inside


@labelled("wavelength", None, wavelengths=True)
def _resampled(cube, at, widths, *, wavelengths, gaps, valid, nodata):
    w, order = _ascending(wavelengths, _bands_of(cube, "resample"), "resample")
    inside = _responses(w, at, widths)[1] >= 0.95
    if not inside.any():
        raise ArgumentError("centres: %g to %g nm, expected a band within the %g to %g nm of the spectra"
                            % (at.min(), at.max(), w[0], w[-1]))

    def step(x, w):
        weights, share = _responses(w, at[inside], widths[inside])
        return np.where(share >= 0.95, _weighted(x, weights), np.nan)

    return _each_spectrum(cube, w, order, step, int(inside.sum()), gaps, valid, nodata), inside


def _hull(x, y):
    """The upper convex hull of each row of y over x, a polygon through the first and the last point."""
    m, n = y.shape
    corner, count, rows = np.zeros((m, n), np.intp), np.zeros(m, np.intp), np.arange(m)
    for i in range(n):
        left = np.flatnonzero(count > 1)
        while left.size:  # drop the last corner if it lies on or below the line from its predecessor to this point
            a, b = corner[left, count[left] - 2], corner[left, count[left] - 1]
            ya = y[left, a]
            left = left[~((y[left, b] - ya) * (x[i] - x[a]) > (y[left, i] - ya) * (x[b] - x[a]))]
            count[left] -= 1
            left = left[count[left] > 1]
        corner[rows, count] = i
        count += 1
    is_corner = np.zeros((m, n), bool)
    is_corner[np.repeat(rows, count), corner[np.arange(n) < count[:, None]]] = True
    places = np.arange(n)
    a = np.maximum.accumulate(np.where(is_corner, places, 0), axis=1)
    b = np.minimum.accumulate(np.where(is_corner, places, n - 1)[:, ::-1], axis=1)[:, ::-1]
    ya, yb = np.take_along_axis(y, a, axis=1), np.take_along_axis(y, b, axis=1)
    return np.where(is_corner, y, ya + (yb - ya) * (x - x[a]) / np.where(is_corner, 1, x[b] - x[a]))


CONTINUA = "divide", "subtract"


@labelled(lambda given: "cube" if _word("method", given["method"], CONTINUA) == "subtract" else "values", wavelengths=True)
def continuum(cube: ArrayLike, method: str = "divide", *, wavelengths: ArrayLike | None = None, gaps: bool = False,
              valid: ArrayLike | None = None, nodata: float | None = None) -> np.ndarray:
    """Spectra without their upper convex hull over the wavelength. method: "divide" (values where the hull is not above 0 are NaN)
    or "subtract". Options: see smooth."""
    method = _word("method", method, CONTINUA)
    w, order = _ascending(wavelengths, _bands_of(cube, "continuum", 1), "continuum")

    def step(x, w):
        hull = _hull(w, x)
        return x - hull if method == "subtract" else x / np.where(hull > 0, hull, np.nan)

    return _each_spectrum(cube, w, order, step, None, gaps, valid, nodata)


@labelled("values", wavelengths=True)
def derivative(cube: ArrayLike, order: int = 1, *, wavelengths: ArrayLike | None = None, gaps: bool = False,
               valid: ArrayLike | None = None, nodata: float | None = None) -> np.ndarray:
    """The first or the second derivative (order) of spectra by nanometre: of the parabola through each band and its neighbours, at
    the ends of the nearest parabola. Options: see smooth."""
    if order not in (1, 2):
        raise ArgumentError("order: %r is none of 1, 2" % (order,))
    w, places = _ascending(wavelengths, _bands_of(cube, "derivative"), "derivative")

    def step(x, w):
        at = np.clip(np.arange(len(w)), 1, len(w) - 2)
        slopes = np.diff(x) / np.diff(w)
        bend = (slopes[:, at] - slopes[:, at - 1]) / (w[at + 1] - w[at - 1])  # half of the second derivative
        return 2 * bend if order == 2 else slopes[:, at - 1] + bend * (2 * w - w[at - 1] - w[at])

    return _each_spectrum(cube, w, places, step, None, gaps, valid, nodata)


# ---- relative reflectance --------------------------------------------------------------------------------------------------

def _whole_pixels(a, given, nodata):
    """The pixels (count, bands) that have all bands, a few lines at a time. Fit uses the same pixels."""
    for _, x in _blocks(*_columns(a, given), nodata):
        yield x[np.isfinite(x).all(axis=2)]


def _mean_pixel(a, given, nodata, logarithms, name):
    """The mean of each band over the pixels that have all bands; with logarithms, that of the logarithm, of pixels above 0."""
    total, pixels = np.zeros(a.shape[2]), 0
    for x in _whole_pixels(a, given, nodata):
        x = x[(x > 0).all(axis=1)] if logarithms else x
        with np.errstate(over="ignore"):  # the mean is then infinite
            total += np.log(x).sum(axis=0) if logarithms else x.sum(axis=0)
        pixels += len(x)
    if not pixels:
        raise ArgumentError("%s: no pixel has all bands%s, expected one at least" % (name, " above 0" if logarithms else ""))
    return total / pixels


def _lowest(a, given, nodata):
    """The smallest value of each band over the pixels that have all bands. A missing pixel counts the same whether it is NaN,
    no data, masked or not valid."""
    low = np.full(a.shape[2], np.inf)
    for x in _whole_pixels(a, given, nodata):
        low = np.minimum(low, x.min(axis=0, initial=np.inf))
    if np.isinf(low).any():
        raise ArgumentError("dark: no pixel has all bands, expected one at least")
    return low


def _region(region, a, given):
    """The pixels of x, y, width, height."""
    if np.shape(region) != (4,):
        raise ArgumentError("region: %r, expected x, y, width and height" % (region,))
    x, y, width, height = (_count(value, "region", least) for value, least in zip(region, (0, 0, 1, 1)))
    if x + width > a.shape[1] or y + height > a.shape[0]:
        raise ArgumentError("region: %r, expected within the %d x %d pixels" % (tuple(region), a.shape[1], a.shape[0]))
    window = slice(y, y + height), slice(x, x + width)
    return a[window], {name: given[name][window] for name in ("valid",) if name in given}


CORRECTIONS = "flat", "iarr", "logres", "dark", "gains"


@labelled(lambda given: "cube" if _word("method", given["method"], CORRECTIONS) == "dark" else "values")
def correct(cube: ArrayLike, method: str, *, region: tuple[int, int, int, int] | None = None, gain: ArrayLike | None = None,
            offset: ArrayLike | None = None, valid: ArrayLike | None = None, nodata: float | None = None) -> np.ndarray:
    """Relative reflectance by what the scene itself holds, of the shape of the cube. method:

    flat    each band divided by its mean over `region`, (x, y, width, height): sample, line and size of a flat field
    iarr    each band divided by its mean over the scene
    logres  log residuals (Green, Craig 1985): value times the scene's geometric mean, divided by those of the pixel and of the
            band; pixels with a value that is not above 0 become NaN
    dark    each band less its smallest value over the scene
    gains   gain * value + offset, `gain` and `offset` (bands,): one of them must be given

    valid, nodata: as of fit; pixels with a missing band become NaN, and do not count for means and smallest values."""
    method = _word("method", method, CORRECTIONS)
    for name, value, owner in (("region", region, "flat"), ("gain", gain, "gains"), ("offset", offset, "gains")):
        _only_with(name, value is not None, "method", method, (owner,))
    if method == "flat" and region is None:
        raise ArgumentError("region: None, expected (x, y, width, height) of the flat field")
    if method == "gains" and gain is None and offset is None:
        raise ArgumentError("gain, offset: None, expected a number for each band in one of them")
    _, a, given = _cube(cube, valid, nodata)
    n = a.shape[2]
    factor, added = np.ones(n), np.zeros(n)
    if method == "gains":
        factor = factor if gain is None else _wide(gain, "gain", (n,))
        added = added if offset is None else _wide(offset, "offset", (n,))
        if not np.isfinite(factor + added).all():
            raise ArgumentError("gain, offset: of band %d not finite, expected numbers"
                                % (np.flatnonzero(~np.isfinite(factor + added))[0] + 1))
    elif method == "dark":
        added = -_lowest(a, given, nodata)
    else:
        name = "region" if method == "flat" else method
        part, of_part = _region(region, a, given) if method == "flat" else (a, given)
        mean = _mean_pixel(part, of_part, nodata, method == "logres", name)
        wrong = np.flatnonzero(~((mean > 0) & (mean < np.inf)))
        if method != "logres" and wrong.size:
            raise ArgumentError("%s: the mean of band %d is %g, expected above 0 and finite; leave such bands out"
                                % (name, wrong[0] + 1, mean[wrong[0]]))
        factor = np.exp(mean.mean() - mean) if method == "logres" else 1 / mean

    def function(x):
        if method == "logres":
            x = x / np.exp(np.log(np.where(x > 0, x, np.nan)).mean(axis=1, keepdims=True))
        return factor * x + added

    return _each_pixel(cube, n, function, valid, nodata)


# ---- indices ---------------------------------------------------------------------------------------------------------------

NAMED_INDICES = {"NDVI": "(b860-b660)/(b860+b660)", "NDWI": "(b560-b860)/(b560+b860)", "NDMI": "(b860-b1650)/(b860+b1650)",
                 "NBR": "(b860-b2200)/(b860+b2200)", "NDSI": "(b560-b1650)/(b560+b1650)", "iron": "b660/b480",
                 "clay": "b1650/b2200"}
_BY_NAME = {name.lower(): text for name, text in NAMED_INDICES.items()}  # names are taken in any case, as those of options are


class _Expression:
    """Reads an expression of bands; bands: which it names. value(x): of pixels, whose band b is x[b]."""

    def __init__(self, text, wavelengths, n):
        self.text, self.at, self.wavelengths, self.n, self.depth, self.bands = text, 0, wavelengths, n, 0, set()
        self.value = self.sum()
        if self.at < len(text.rstrip()):
            self.fail("+, -, *, / or the end")
        if not self.bands:
            raise ArgumentError("expression: %r names no band, expected one such as b860 or #7" % text)

    def fail(self, expected):
        rest = self.text[self.at:].strip()
        raise ArgumentError("expression: %r: expected %s %s" % (self.text, expected, "at %r" % rest if rest else "at the end"))

    def takes(self, pattern, blanks=r"[ \t]*"):
        """What comes next, or None."""
        found = re.compile(blanks + "(%s)" % pattern).match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group(1)

    def number(self):
        text = self.takes(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", "")
        if text is None or math.isinf(float(text)):
            self.fail("a number")
        return float(text)

    def near(self, nanometres):
        """The band nearest to a wavelength."""
        w = _nanometres(self.wavelengths, "wavelengths", self.n, "b%g (#7 is band 7)" % nanometres)
        best = int(np.abs(w - nanometres).argmin())
        reach = max(20, 0.05 * nanometres)  # as wide as the bands of multispectral sensors
        if abs(w[best] - nanometres) > reach:
            raise ArgumentError("expression: b%g: the nearest band is at %g nm, expected one within %g nm"
                                % (nanometres, w[best], reach))
        same = np.flatnonzero(w == w[best])
        if same.size > 1:
            _fail_for_twins(*same[:2], w[best])
        return best

    def band(self, sign):
        number = self.number()
        if sign == "b":
            behind = self.at
            factor = _to_nanometres(self.takes(r"[^\W\d_]*", ""))
            if factor not in (1.0, 1e3):
                self.at, factor = behind, 1.0
            place = self.near(factor * number)
        elif number in range(1, self.n + 1):
            place = int(number) - 1
        else:
            raise ArgumentError("expression: #%g, expected the number of a band, 1 to %d" % (number, self.n))
        self.bands.add(place)
        return lambda x: x[place]

    def bracket(self):
        if self.takes(r"\(") is None:
            self.fail("(")
        inner = self.sum()
        if self.takes(r"\)") is None:
            self.fail(")")
        return inner

    def term(self):
        """A number, a band, something in brackets, with a sign or a function before it."""
        self.depth += 1
        if self.depth > 50:
            raise ArgumentError("expression: %r: expected 50 brackets in each other at most" % self.text)
        name = self.takes("sqrt|log|abs")
        sign = None if name else self.takes("[-b#]")
        if name or self.takes(r"(?=\()") is not None:
            inner, of = self.bracket(), {"sqrt": np.sqrt, "log": np.log, "abs": np.abs}.get(name)
            value = (lambda x: of(inner(x))) if of else inner
        elif sign == "-":
            inner = self.term()
            value = lambda x: -inner(x)  # noqa: E731
        elif sign:
            value = self.band(sign)
        elif self.takes(r"(?=[0-9.])") is not None:
            number = self.number()
            value = lambda x: number  # noqa: E731
        else:
            self.fail("a band like b860 or #7, a number or (")
        self.depth -= 1
        return value

    def product(self):
        return self.chain(self.term, r"[*/]")

    def sum(self):
        return self.chain(self.product, r"[-+]")

    def chain(self, part, signs):
        """Parts with these signs between them, from the left."""
        value = part()
        for sign in iter(lambda: self.takes(signs), None):
            value = _OPERATIONS[sign](value, part())
        return value


_OPERATIONS = {"+": lambda a, b: lambda x: a(x) + b(x), "-": lambda a, b: lambda x: a(x) - b(x),
               "*": lambda a, b: lambda x: a(x) * b(x), "/": lambda a, b: lambda x: a(x) / np.where(b(x) == 0, np.nan, b(x))}


def _threshold(number, name):
    if number is None:
        return None
    if math.isnan(_number(number, name)):
        raise ArgumentError("%s: nan, expected a number or None" % name)
    return float(number)


@labelled("pixels", wavelengths=True)
def index(cube: ArrayLike, expression: str, *, wavelengths: ArrayLike | None = None, above: float | None = None,
          below: float | None = None, valid: ArrayLike | None = None, nodata: float | None = None) -> np.ndarray:
    """An index of every pixel, (lines, samples); with `above`, `below` or both a mask: whether the index lies above the one and
    below the other. Masks serve as `valid` elsewhere.

    expression: of bands, such as "(b860-b660)/(b860+b660)". b860 or b0.86um is the band nearest to 860 nm, #7 is band 7, counted
    from 1. Signs: + - * / ( ); functions: sqrt, log, abs. Or a name: NDVI, NDWI, NDMI, NBR, NDSI, iron, clay. wavelengths
    (bands,): in nanometres, or micrometres if all are below 100. valid, nodata: as of fit, but only the bands that the
    expression names must be present. Pixels without a value are NaN, and not in the mask."""
    cube = _gathered(cube)
    cube = cube if isinstance(cube, np.ma.MaskedArray) else _array(cube, "cube")
    if cube.ndim not in (2, 3) or cube.shape[-1] < 1:
        raise ArgumentError("cube: its shape is %s, expected (lines, samples, bands) or (pixels, bands)" % (cube.shape,))
    if not isinstance(expression, str):
        raise TypeError("expression: must be text, not %r" % (expression,))
    above, below = (_threshold(number, name) for number, name in ((above, "above"), (below, "below")))
    plan = _Expression(_BY_NAME.get(expression.lower(), expression), wavelengths, cube.shape[-1])
    named = sorted(plan.bands)

    def function(x):
        value = np.broadcast_to(plan.value(dict(zip(named, x.T))), len(x))
        if above is not None or below is not None:
            inside = (value > (-np.inf if above is None else above)) & (value < (np.inf if below is None else below))
            value = np.where(np.isfinite(value), inside, np.nan)
        return value[:, None]

    out = _each_pixel(cube[..., named], 1, function, valid, nodata)[..., 0]
    return out if above is None and below is None else out == 1
