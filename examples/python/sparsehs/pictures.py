"""Pictures: patches, noise, denoising, filling in what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._arrays import _alpha_split, _array, _count, _data, _image, _missing, _rows
from ._library import ArgumentError
from .signals import ksvd, omp

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from ._library import Progress

ALPHA = """alpha: whether the last channel is alpha (opacity), which is no colour; None: it is if there are 2 or 4 channels."""
UNITS = -20, 20  # powers of two that the largest value of a picture may lie between: squares stay in range in single precision
FLAT = 1e-6      # noise of less than this part of a picture's range is rounding


# ---- patches ---------------------------------------------------------------------------------------------------------------

def patches(image: ArrayLike, size: int = 8, count: int | None = None, *, step: int = 1, seed: int = 0,
            keep_mean: bool = False, unit_norm: bool = False, alpha: bool | None = None,
            threads: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Patches of size x size pixels as signals.

    image: (height, width) or (height, width, channels). Takes every step-th patch both ways, or `count` patches at random places.
    Returns the signals (m, p) and their means (m, channels), which are taken out unless keep_mean. The p = channels x size x size
    values of a patch are channel after channel, in each row after row. An alpha channel is left out; alpha: whether the last
    channel is one (None: it is if there are 2 or 4 channels)."""
    library, _, image, _ = _image(image, alpha)
    return _patches(library, image, size, count, step, seed, keep_mean, unit_norm, threads)


def _patches(library, image, size, count, step, seed, keep_mean, unit_norm, threads):
    there = dict(patch_width=size, patch_height=size, mode="grid" if count is None else "random", count=count, step_x=step,
                 step_y=step, seed=seed, keep_mean=int(keep_mean), unit_norm=int(unit_norm))
    _fits(image, size, "size")
    m, p = np.zeros(1, np.uintp), np.zeros(1, np.intc)
    library.call("patches_count", **image, **there, m=m, p=p)
    Y, means = np.empty((m[0], p[0]), library.real), np.empty((m[0], image["channels"]), library.real)
    library.call("patches_get", threads=threads, **image, **there, m=int(m[0]), p=int(p[0]), Y=Y, means=means)
    return Y, means


def _fits(image, size, name):
    if _count(size, name) > min(image["width"], image["height"]):
        raise ArgumentError("%s: %d pixels, but the image has only %d x %d" % (name, size, image["height"], image["width"]))


# ---- noise -----------------------------------------------------------------------------------------------------------------

def _in_range(pixels, given, library):
    """The picture in a unit in which squares of its values can be summed: times a power of two, by which no digit changes."""
    largest = np.abs(pixels).max() if pixels.dtype.kind == "f" else 1.0
    if not np.isfinite(largest) or largest == 0 or UNITS[0] <= np.log2(largest) <= UNITS[1]:
        return pixels, given, 0
    exponent = int(np.frexp(float(largest))[1]) - 8
    pixels = np.ascontiguousarray(np.ldexp(pixels, -exponent), library.real)
    return pixels, dict(given, pixels=pixels, type=pixels.dtype.name, row_stride=0), exponent


def _sigma(library, given, threads):
    sigma, guess = np.zeros(1), np.zeros(1, np.intc)
    library.call("noise_sigma", threads=threads, **given, sigma=sigma, guess=guess)
    return float(sigma[0]), bool(guess[0])


def noise_sigma(image: ArrayLike, *, alpha: bool | None = None, threads: int = 0) -> tuple[float, bool]:
    """The standard deviation of the white noise of an image, in the unit of its values, estimated from the image alone; and
    whether that is a guess, since too little of the image is free of texture. alpha: as of patches."""
    library, pixels, given, _ = _image(image, alpha)
    pixels, given, exponent = _in_range(pixels, given, library)
    sigma, guess = _sigma(library, given, threads)
    return float(np.ldexp(sigma, exponent)), guess


def _own_weight(pixels, sigma):
    """How much a noisy pixel counts beside the patches that cover it. Elad and Aharon take 30 / sigma for photographs of 0 to 255,
    whose contrast (standard deviation without noise) is about 65; as a share of the contrast that has no unit."""
    contrast = np.sqrt(max(0.0, float(np.var(pixels, axis=(0, 1), dtype=np.float64).mean()) - sigma**2))
    return 0.45 * contrast / sigma


def denoise(image: ArrayLike, sigma: float | None = None, *, atoms: int = 256, iterations: int = 30, patch: int = 8,
            training: int = 80000, seed: int = 1, alpha: bool | None = None, threads: int = 0, progress: Progress = None,
            device: str | None = None, dictionary: ArrayLike | None = None, **options: Any) -> np.ndarray:
    """Removes white Gaussian noise by a dictionary that is learnt from the picture itself (Elad, Aharon 2006).

    image: (height, width) or (height, width, channels), in any unit. sigma: the standard deviation of the noise, in the unit of the
    image; None: it is estimated. Returns floats of the image's shape and unit. An alpha channel comes back as it is; alpha: as of
    patches.

    atoms, iterations, training: size of the dictionary, iterations of learning, patches to learn from. patch: their width and
    height. dictionary (atoms, channels x patch x patch): one that is known already. Other options are those of ksvd."""
    library, original, given, opacity = _image(image, alpha)
    _fits(given, patch, "patch")
    pixels, given, exponent = _in_range(original, given, library)
    work = dict(threads=threads, progress=progress, device=device)
    if sigma is None:
        sigma = _sigma(library, given, threads)[0]
        if sigma <= FLAT * float(np.ptp(pixels)):
            return _with_alpha(original.astype(library.real), opacity)
    else:
        sigma = float(np.ldexp(float(sigma), -exponent))
    if not 0 < sigma < np.inf:
        raise ArgumentError("sigma: the noise's standard deviation must be finite and above 0, but is %g" % np.ldexp(sigma, exponent))
    p = patch * patch * given["channels"]
    # A patch of noise mostly stays below this and gets no atom; more than half as many atoms as values would be noise as well.
    coding = dict(tolerance=float(library.real.type((1 + 0.15 * 8 / p ** 0.5) * sigma * p ** 0.5)), sparsity=max(1, p // 2))
    if dictionary is None:
        Y, _ = _patches(library, given, patch, training, 1, seed, False, False, threads)
        dictionary = ksvd(Y, atoms, iterations=iterations, seed=seed, **dict(dict(start="dct"), **options), **coding, **work,
                          patch_width=patch, patch_height=patch, patch_channels=given["channels"]).D
    D = np.ascontiguousarray(_rows(dictionary, "dictionary", library.real)[0])
    if D.shape[1] != p:
        raise ArgumentError("dictionary: its atoms have %d values, but the patches have %d" % (D.shape[1], p))
    out = np.empty(pixels.shape, library.real)
    library.call("approximate", **work, **given, patch_width=patch, patch_height=patch, p=p, n=len(D), D=D, out=out,
                 **{"lambda": _own_weight(pixels, sigma)}, **coding)
    return _with_alpha(np.ldexp(out, exponent) if exponent else out, opacity)


def _with_alpha(colours, opacity):
    return colours if opacity is None else np.concatenate([colours, opacity[..., None].astype(colours.dtype)], axis=2)


# ---- what is missing -------------------------------------------------------------------------------------------------------

PIXELS_AN_ATOM = 8  # known for each atom that a patch may take: of more atoms some fit by chance what little is known
BATCH = 16384       # patches coded at a time


def inpaint(image: ArrayLike, missing: ArrayLike | None = None, *, tolerance: float | None = None, patch: int = 10,
            atoms: int = 256, iterations: int = 10, training: int = 40000, seed: int = 1, alpha: bool | None = None,
            threads: int = 0, progress: Progress = None) -> np.ndarray:
    """Fills in missing pixels by a dictionary that is learnt from what is left of the picture.

    image: (height, width) or (height, width, channels), in any unit. missing, (height, width) or the image's shape: true where
    a value is to be filled in, as scikit-image has it; values that are NaN or masked are, too. Returns floats of the image's shape
    and unit; known values and an alpha channel come back as they are. alpha: as of patches.

    tolerance: how near known values are met, root mean square, in the unit of the image (default: 1/255 of the range of the known
    values). patch, atoms, iterations, training: as of denoise."""
    a, hole, opacity = _damaged(image, missing, alpha)
    if not hole.any():
        return _with_alpha(a, opacity).reshape(np.shape(image))
    known = a[~hole]
    if known.size == 0:
        raise ArgumentError("missing: nothing of the image is left to learn from")
    low, high = float(known.min()), float(known.max())
    tolerance = (high - low) / 255 if tolerance is None else float(tolerance)
    if high > low:
        # Differences of 0 to 1 whatever the unit is.
        scaled = np.ascontiguousarray((a - a.dtype.type(low)) / a.dtype.type(high - low))
        scaled[hole] = np.nan
        work = dict(threads=threads, progress=progress)
        given = _image(scaled, False)[2]
        _fits(given, patch, "patch")
        D = _learn_damaged(given, patch, atoms, iterations, training, seed, tolerance / (high - low), work)
        _fill(scaled, D, patch, tolerance / (high - low), work)
        a[hole] = scaled[hole] * a.dtype.type(high - low) + a.dtype.type(low)
    else:
        a[hole] = low
    return _with_alpha(a, opacity).reshape(np.shape(image))


def _damaged(image, missing, alpha):
    """The colours as floats (height, width, channels), where they are missing, and the alpha channel or None."""
    masked, a = _missing(image), _array(_data(image), "image")
    if a.ndim not in (2, 3) or 0 in a.shape:
        raise ArgumentError("image: its shape is %s, expected (height, width) or (height, width, channels)" % (a.shape,))
    real = np.float32 if a.dtype in (np.float32, np.float16) or (a.dtype.kind != "f" and a.dtype.itemsize < 3) else np.float64
    hole = np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    if masked is not None:
        hole |= masked
    if missing is not None:
        missing = np.asarray(missing) != 0
        if missing.shape not in (a.shape, a.shape[:2]):
            raise ArgumentError("missing: its shape is %s, expected %s or %s" % (missing.shape, a.shape[:2], a.shape))
        hole |= missing if missing.shape == a.shape else missing[..., None]
    a, opacity = _alpha_split(a, alpha)
    hole = _alpha_split(hole, alpha)[0]
    shape = a.shape[:2] + (-1,)
    a, hole = np.array(a.reshape(shape), real, order="C"), hole.reshape(shape)
    if not np.isfinite(a[~hole]).all():
        raise ArgumentError("image: a known value is infinite")
    return a, hole, opacity


def _centred(Y, channels):
    """Patches less the means of what is known of each channel; the means, and how many values are known of each patch."""
    parts = Y.reshape(len(Y), channels, -1)
    there = ~np.isnan(parts)
    known = there.sum(axis=2, keepdims=True)
    means = np.where(there, parts, 0).sum(axis=2, keepdims=True) / np.maximum(known, 1)
    return (parts - means).astype(Y.dtype).reshape(Y.shape), means, known.sum(axis=(1, 2))


def _coding_damaged(p, channels, known, tolerance):
    most = PIXELS_AN_ATOM * channels
    return dict(sparsity=max(1, p // most), sparsity_each=known // most, tolerance=tolerance * p**0.5, skip_nan=True)


def _learn_damaged(given, patch, atoms, iterations, training, seed, tolerance, work):
    library, channels = _image(given["pixels"], False)[0], given["channels"]
    Y, _ = _patches(library, given, patch, training, 1, seed, True, False, work["threads"])
    Y, _, known = _centred(Y, channels)
    return ksvd(Y, atoms, iterations=iterations, start="dct", seed=seed, patch_width=patch, patch_height=patch,
                patch_channels=channels, **_coding_damaged(Y.shape[1], channels, known, tolerance), **work).D


def _touching(hole, patch):
    """Top rows and left columns of the patches that a hole touches."""
    sums = np.zeros((hole.shape[0] + 1, hole.shape[1] + 1), np.int64)
    sums[1:, 1:] = hole.any(axis=2).cumsum(axis=0).cumsum(axis=1)
    inside = sums[patch:, patch:] - sums[:-patch, patch:] - sums[patch:, :-patch] + sums[:-patch, :-patch]
    return np.nonzero(inside)


def _fill(a, D, patch, tolerance, work):
    """Fills in what is NaN. A hole wider than a patch closes from its rim: what one round has filled in is known to the next."""
    channels, area = a.shape[2], patch * patch
    while True:
        hole = np.isnan(a)
        if not hole.any():
            return
        windows = np.lib.stride_tricks.sliding_window_view(a, (patch, patch), axis=(0, 1))
        sums, weights = np.zeros(a.shape), np.zeros(a.shape)
        top, left = _touching(hole, patch)
        for first in range(0, len(top), BATCH):
            y, x = top[first:first + BATCH], left[first:first + BATCH]
            Y, means, known = _centred(windows[y, x].reshape(len(y), channels * area), channels)
            codes = omp(D, Y, **_coding_damaged(Y.shape[1], channels, known, tolerance), **work)
            Z = codes.decode(D, threads=work["threads"]).reshape(len(y), channels, area) + means
            weight = known / Y.shape[1]
            for i in range(area):  # the patches of a batch differ in place, so no sum takes two of them at once
                sums[y + i // patch, x + i % patch] += Z[:, :, i] * weight[:, None]
                weights[y + i // patch, x + i % patch] += weight[:, None]
        filled = hole & (weights > 0)
        a[filled] = np.clip(sums[filled] / weights[filled], 0, 1)
