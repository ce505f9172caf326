"""Pictures: patches, noise, denoising, filling in what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._arrays import _alpha_split, _array, _count, _data, _image, _marked, _missing, _number, _rows
from ._library import ArgumentError
from .signals import ksvd, omp

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from ._library import Progress

ALPHA = """alpha: whether the last channel is alpha (opacity), which is no colour; None: it is if there are 2 or 4 channels."""
UNITS = -20, 20  # powers of two that the largest value of a picture may lie between: squares stay in range in single precision
SUMMED = 40      # powers of two that sums over a patch, and its length, may be larger than its values
OF_NOISE = 7     # rows and columns of the patches that noise is estimated from
FLAT = 1e-6      # noise of less than this part of a picture's range is rounding


# ---- patches ---------------------------------------------------------------------------------------------------------------

def patches(image: ArrayLike, size: int = 8, count: int | None = None, *, step: int = 1, seed: int = 0,
            keep_mean: bool = False, unit_norm: bool = False, alpha: bool | None = None,
            threads: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Patches of size x size pixels as signals.

    image: (height, width) or (height, width, channels). Takes every step-th patch both ways, and those of the last row and the
    last column besides; or `count` patches at random places. Returns the signals (m, p), and (m, channels) what is taken out of
    them: the mean of each channel, or with keep_mean nothing, which is 0. The p = channels x size x size values of a patch are
    channel after channel, in each row after row. An alpha channel is left out; alpha: whether the last channel is one (None: it
    is if there are 2 or 4 channels)."""
    for name, number in ("step", step), ("count", count):
        if number is not None:
            _count(number, name)
    if count is not None and step != 1:
        raise ArgumentError("step: cannot be used together with count, whose places are random; leave one of the two out")
    library, pixels, image, _ = _image(image, alpha)
    largest = float(np.abs(pixels).max()) if pixels.dtype.kind == "f" else 0.0
    if not float(np.finfo(library.real).max) * 2.0**-SUMMED < largest < np.inf:
        return _patches(library, image, size, count, step, seed, keep_mean, unit_norm, threads)
    pixels = np.ascontiguousarray(np.ldexp(pixels, -SUMMED))
    Y, means = _patches(library, dict(image, pixels=pixels, row_stride=0), size, count, step, seed, keep_mean, unit_norm, threads)
    with np.errstate(over="ignore"):
        Y, means = Y if unit_norm else np.ldexp(Y, SUMMED), np.ldexp(means, SUMMED)
    if not np.isfinite(Y).all():
        raise ArgumentError("image: the largest value is %.3g, from which the mean of a patch is too far for %s; give the image in "
                            "another unit" % (largest, Y.dtype))
    return Y, means


def _patches(library, image, size, count, step, seed, keep_mean, unit_norm, threads):
    step = min(step, max(image["width"], image["height"]))  # from there on no other patches are left
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


def _large_enough(given):
    if min(given["width"], given["height"]) < OF_NOISE:
        raise ArgumentError("image: %d x %d pixels, expected at least %d x %d to estimate the noise from"
                            % (given["height"], given["width"], OF_NOISE, OF_NOISE))


def noise_sigma(image: ArrayLike, *, alpha: bool | None = None, threads: int = 0) -> tuple[float, bool]:
    """The standard deviation of the white noise of an image, in the unit of its values, estimated from the image alone; and
    whether that is a guess, since too little of the image is free of texture. alpha: as of patches."""
    library, pixels, given, _ = _image(image, alpha)
    _large_enough(given)
    pixels, given, exponent = _in_range(pixels, given, library)
    sigma, guess = _sigma(library, given, threads)
    return float(np.ldexp(sigma, exponent)), guess


def _own_weight(pixels, sigma):
    """How much a noisy pixel counts beside the patches that cover it. Elad and Aharon take 30 / sigma for photographs of 0 to 255.
    As a share of the contrast (standard deviation without noise), there 0.45 of 67, that has no unit."""
    contrast = np.sqrt(max(0.0, float(np.var(pixels, axis=(0, 1), dtype=np.float64).mean()) - sigma * sigma))
    return 0.45 * contrast / sigma


NOT_OF_DENOISE = ("sparsity", "tolerance", "sparsity_each", "tolerance_each", "mask", "skip_nan", "patch_width", "patch_height",
                  "patch_channels", "codes")  # options of ksvd that it gives itself, or that are of single patches


def denoise(image: ArrayLike, sigma: float | None = None, *, atoms: int = 256, iterations: int = 30, patch: int = 8,
            training: int = 80000, seed: int = 1, alpha: bool | None = None, threads: int = 0, progress: Progress = None,
            device: str | None = None, dictionary: ArrayLike | None = None, **options: Any) -> np.ndarray:
    """Removes white Gaussian noise by a dictionary that is learnt from the picture itself (Elad, Aharon 2006).

    image: (height, width) or (height, width, channels), in any unit. sigma: the standard deviation of the noise, in the unit of the
    image; None: it is estimated. Returns floats of the image's shape and unit. An alpha channel comes back as it is; alpha: as of
    patches.

    atoms, iterations, training: size of the dictionary, iterations of learning, patches to learn from. patch: their width and
    height. dictionary (atoms, channels x patch x patch): one that is known already. Other options are those of ksvd, for a
    dictionary that is learnt; where it ends and which patches it takes denoise decides by itself."""
    for name in options:
        if name in NOT_OF_DENOISE:
            raise TypeError("%s: denoise decides it by itself, from sigma, patch and training" % name)
        if dictionary is not None:
            raise TypeError("%s: given with dictionary, expected without, as nothing is learnt then" % name)
    library, original, given, opacity = _image(image, alpha)
    _fits(given, patch, "patch")
    _count(patch, "patch", 2)
    _count(training, "training")
    pixels, given, exponent = _in_range(original, given, library)
    work = dict(threads=threads, progress=progress, device=device)
    if sigma is None:
        _large_enough(given)
        sigma = _sigma(library, given, threads)[0]
        if sigma <= FLAT * float(np.ptp(pixels)):
            return _with_alpha(original.astype(library.real), opacity)
    else:
        sigma = float(np.ldexp(_number(sigma, "sigma"), -exponent))
    if not 0 < sigma < np.inf:
        raise ArgumentError("sigma: the noise's standard deviation must be finite and above 0, but is %g" % np.ldexp(sigma, exponent))
    p = patch * patch * given["channels"]
    # A patch of noise mostly stays below this and gets no atom; more than half as many atoms as values would be noise as well.
    tolerance = (1 + 0.15 * 8 / p ** 0.5) * sigma * p ** 0.5
    most = float(np.finfo(library.real).max)
    if tolerance > most:
        raise ArgumentError("sigma: %g, expected at most %.2g for these pixels"
                            % (np.ldexp(sigma, exponent), np.ldexp(most / (tolerance / sigma), exponent)))
    coding = dict(tolerance=float(library.real.type(tolerance)), sparsity=max(1, p // 2))
    if dictionary is None:
        Y, _ = _patches(library, given, patch, training, 1, seed, False, False, threads)
        options = dict(dict(start="dct"), **options)
        if isinstance(options["start"], str) and options["start"].lower() == "dct":
            options.update(patch_width=patch, patch_height=patch, patch_channels=given["channels"])
        dictionary = ksvd(Y, atoms, iterations=iterations, seed=seed, **options, **coding, **work).D
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

BATCH = 16384        # patches coded at a time
GUESSED = 0.2        # how much a value counts that the round before has filled in, beside a known one
TOLERANCE = 5 / 255  # of the range of the known values
TRIED = 0.2          # the part of the known values that is left out to see whether a dictionary helps
STEPS = 300          # of conjugate gradients, at most


def inpaint(image: ArrayLike, missing: ArrayLike | None = None, *, tolerance: float | None = None, patch: int = 8, atoms: int = 128,
            iterations: int = 6, rounds: int = 3, training: int = 10000, seed: int = 1, alpha: bool | None = None,
            threads: int = 0, progress: Progress = None) -> np.ndarray:
    """Fills in missing pixels: smoothly at first (biharmonic), then by a dictionary that is learnt from the picture so far.

    image: (height, width) or (height, width, channels), in any unit. missing, (height, width) or the image's shape: true or masked
    where a value is to be filled in, as scikit-image has it; values that are NaN or masked are, too. Returns floats of the image's
    shape and unit; known values and an alpha channel come back as they are. alpha: as of patches.

    rounds: how often a dictionary is learnt and the missing values are made anew by it (0: the smooth ones stay). The smooth ones
    stay too where known values that are left out on trial are nearer to smooth values than to those of a dictionary. tolerance: how
    near known values are met, root mean square, in the unit of the image (default: 5/255 of the range of the known values, but
    for hot pixels). patch, atoms, iterations, training: as of denoise."""
    _count(rounds, "rounds", 0)
    if tolerance is not None and not 0 <= _number(tolerance, "tolerance") < np.inf:
        raise ArgumentError("tolerance: %s, expected 0 or more and finite" % (tolerance,))
    a, hole, opacity = _damaged(image, missing, alpha)
    if hole.all():
        raise ArgumentError("missing: nothing of the image is left to learn from")
    given, hole = hole, hole | _hot(a, hole)
    known = a[~hole]
    low, span = known.min(), float(np.ptp(known))
    if given.any() and span > 0:
        # Values of 0 to 1 whatever the unit is.
        scaled = np.where(hole, 0, (a - low) / a.dtype.type(span)).astype(a.dtype)
        tolerance = TOLERANCE if tolerance is None else _number(tolerance, "tolerance") / span
        how = dict(patch=patch, atoms=atoms, training=training, tolerance=tolerance)
        how["learning"] = dict(iterations=iterations, seed=seed, threads=threads, progress=progress)
        rounds = rounds if rounds > 0 and _dictionary_helps(scaled, hole, how) else 0
        scaled = _smooth(scaled, hole)
        for _ in range(rounds):
            scaled = _refined(scaled, hole, **how)
        a[given] = scaled[given] * a.dtype.type(span) + low
    elif given.any():
        a[given] = low
    return _with_alpha(a, opacity).reshape(np.shape(image))


def _damaged(image, missing, alpha):
    """The colours as floats (height, width, channels), where they are missing, and the alpha channel or None."""
    masked, a = _missing(image), _array(_data(image), "image")
    if a.ndim not in (2, 3) or 0 in a.shape:
        raise ArgumentError("image: its shape is %s, expected (height, width) or (height, width, channels)" % (a.shape,))
    single = a.dtype.itemsize <= (4 if a.dtype.kind == "f" else 2)  # in either byte order
    real = np.float32 if single else np.float64
    hole = np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    if masked is not None:
        hole |= masked
    if missing is not None:
        missing = _marked(missing, "missing", (a.shape[:2], a.shape), True)
        hole |= missing if missing.shape == a.shape else missing[..., None]
    a, opacity = _alpha_split(a, alpha)
    hole = _alpha_split(hole, alpha)[0]
    shape = a.shape[:2] + (-1,)
    a, hole = np.array(a.reshape(shape), real, order="C"), np.ascontiguousarray(hole.reshape(shape))
    if not np.isfinite(a[~hole]).all():
        raise ArgumentError("image: a known value is infinite")
    return a, hole, opacity


def _hot(a, hole):
    """Known values farther outside the range of all but 0.5 % of their channel at either end than that range is wide, where
    less than an eighth of the known ones around them are: each would decide the unit, and what is learnt and measured."""
    hot = np.zeros(a.shape, bool)
    for c in range(a.shape[2]):
        there = ~hole[..., c]
        known = np.sort(a[..., c][there])
        if known.size == 0:
            continue
        low, high = known[known.size // 200], known[-1 - known.size // 200]
        with np.errstate(over="ignore"):
            span = high - low
            far = there & ((a[..., c] < low - span) | (a[..., c] > high + span)) if span > 0 else there & False
        if far.any():
            others, others_far = (np.lib.stride_tricks.sliding_window_view(np.pad(x, 2), (5, 5)).sum(axis=(2, 3)) - 1
                                  for x in (there, far))
            hot[..., c] = far & (8 * others_far < others)
    return hot


def _pulled(a, known):
    """What is not known of a, from means of ever larger squares."""
    if known.all() or min(a.shape) < 2:
        return np.where(known, a, a[known].mean() if known.any() else 0)
    height, width = (side + side % 2 for side in a.shape)
    room = ((0, height - a.shape[0]), (0, width - a.shape[1]))
    squares = (height // 2, 2, width // 2, 2)
    count = np.pad(known, room).reshape(squares).sum(axis=(1, 3))
    means = np.pad(np.where(known, a, 0), room).reshape(squares).sum(axis=(1, 3)) / np.maximum(count, 1)
    coarse = _pulled(means, count > 0).repeat(2, axis=0).repeat(2, axis=1)
    return np.where(known, a, coarse[:a.shape[0], :a.shape[1]])


def _laplacian(u):
    v = np.pad(u, 1, mode="edge")
    return v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * u


def _smooth(a, hole):
    return np.stack([_smooth_channel(a[..., c], hole[..., c]) for c in range(a.shape[2])], axis=-1).astype(a.dtype)


def _smooth_channel(a, hole):
    """Fills in a channel such that the squares of its Laplacian are least, by conjugate gradients."""
    u = _pulled(a.astype(np.float64), ~hole)
    left = -_laplacian(_laplacian(u)) * hole
    step, before = left, np.square(left).sum()
    enough = 1e-8 * before
    for _ in range(STEPS):
        if before <= enough:
            break
        moved = _laplacian(_laplacian(step)) * hole
        length = before / np.sum(step * moved)
        u += length * step
        left = left - length * moved
        now = np.square(left).sum()
        step, before = left + now / before * step, now
    return np.clip(u, 0, 1)


def _dictionary_helps(a, hole, how):
    """Whether known values that are left out are nearer to those of a dictionary than to smooth ones."""
    tried = ~hole & (np.random.default_rng(how["learning"]["seed"]).random(hole.shape) < TRIED)
    smooth = _smooth(a, hole | tried)
    refined = _refined(smooth, hole | tried, **how)
    errors = [np.abs(x - a)[tried].astype(np.float64) for x in (refined, smooth)]
    # Sums of errors as well as of squares: of few values one that is far off decides the latter.
    return errors[0].sum() <= errors[1].sum() and np.square(errors[0]).sum() <= np.square(errors[1]).sum()


def _touching(hole, patch):
    """Top rows and left columns of the patches that a hole touches."""
    sums = np.zeros((hole.shape[0] + 1, hole.shape[1] + 1), np.int64)
    sums[1:, 1:] = hole.any(axis=2).cumsum(axis=0).cumsum(axis=1)
    inside = sums[patch:, patch:] - sums[:-patch, patch:] - sums[patch:, :-patch] + sums[:-patch, :-patch]
    return np.nonzero(inside)


def _refined(a, hole, patch, atoms, training, tolerance, learning):
    """The picture with its holes filled in anew: by a dictionary of its patches, and codes in which known values count more."""
    library, _, given, _ = _image(a, False)
    _fits(given, patch, "patch")
    channels, area = a.shape[2], patch * patch
    p = channels * area
    Y, _ = _patches(library, given, patch, training, 1, learning["seed"], False, False, learning["threads"])
    D = ksvd(Y, atoms, max(1, p // 8), tolerance=tolerance * p**0.5, start="dct", patch_width=patch, patch_height=patch,
             patch_channels=channels, **learning).D
    windows, holes = (np.lib.stride_tricks.sliding_window_view(x, (patch, patch), axis=(0, 1)) for x in (a, hole))
    sums, weights = np.zeros(a.shape), np.zeros(a.shape)
    top, left = _touching(hole, patch)
    work = dict(threads=learning["threads"], progress=learning["progress"])
    for first in range(0, len(top), BATCH):
        y, x = top[first:first + BATCH], left[first:first + BATCH]
        V = np.where(holes[y, x], GUESSED, 1).reshape(len(y), channels, area).astype(a.dtype)
        Y = windows[y, x].reshape(V.shape)
        means = (Y * V).sum(axis=2, keepdims=True) / V.sum(axis=2, keepdims=True)
        V = V.reshape(len(y), p)
        codes = omp(D, (Y - means).reshape(V.shape), tolerance_each=tolerance * np.sqrt(V.sum(axis=1)), weights=V,
                    sparsity=max(1, p // 8), **work)
        Z, weight = codes.decode(D, threads=work["threads"]).reshape(Y.shape) + means, V.mean(axis=1)[:, None]
        for i in range(area):  # the patches of a batch differ in place, so no sum takes two of them at once
            sums[y + i // patch, x + i % patch] += Z[:, :, i] * weight
            weights[y + i // patch, x + i % patch] += weight
    return np.where(hole, np.clip(sums / np.maximum(weights, 1e-30), 0, 1), a).astype(a.dtype)
