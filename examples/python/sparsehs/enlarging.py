"""Pictures made larger with a pair of dictionaries (Zeyde, Elad, Protter, "On single image scale-up using sparse-representations",
2010), as examples/superres.c does."""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from ._arrays import _alpha_split, _array, _count
from ._library import ArgumentError
from .cubes import Model, fit
from .pictures import _image, _patches, _with_alpha
from .signals import ksvd, omp

if TYPE_CHECKING:
    import os
    from typing import Sequence

    from numpy.typing import ArrayLike

    from ._library import Progress

PATCH = 3         # a patch is what PATCH x PATCH pixels of the small picture become
MARGIN = 2        # by so many pixels the small picture is extended, so that all its pixels are in as many patches
SPARSITY = 3
CORRECTIONS = 4   # how often what the result, reduced, differs by from the small picture is added
BATCH = 8192      # patches coded at a time
FACTORS = 2, 3, 4


def _sum_of(arrays: bytes) -> bytes:
    """What stands behind the dictionaries in a file, but for earlier versions of it."""
    return b"SUPERRES" + struct.pack(">I", zlib.crc32(arrays))


class Enlarger:
    """What superres_learn returns: factor, model (principal components of patches' features), low (n, k) and high (n, p), a pair of
    dictionaries. It is kept as the file that the program `superres --save` writes and its `--dictionary` reads."""
    factor: int
    model: Model
    low: np.ndarray
    high: np.ndarray

    def __init__(self, factor: int, model: Model, low: np.ndarray, high: np.ndarray) -> None:
        self.factor, self.model, self.low, self.high = factor, model, low, high

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file."""
        arrays = io.BytesIO()
        for matrix in self.low, self.high:
            np.save(arrays, np.asfortranarray(matrix.T))
        with open(path, "wb") as file:
            file.write(self.model.file + arrays.getvalue() + _sum_of(arrays.getvalue()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Enlarger:
        """What is kept in a file."""
        with open(path, "rb") as file:
            data = file.read()
        at = data.find(b"\x93NUMPY")
        if at < 0:
            raise ArgumentError("%s: it is not a file of superres" % path)
        arrays, behind = data[at:-12], data[-12:]
        if behind[:8] != b"SUPERRES":  # files of earlier versions have no sum
            arrays, behind = data[at:], b""
        if behind not in (b"", _sum_of(arrays)):
            raise ArgumentError("%s: it is damaged: behind its dictionaries their check sum, 0x%08X, is not" %
                                (path, zlib.crc32(arrays)))
        model, rest = Model(data[:at]), io.BytesIO(arrays)
        try:
            low, high = (np.ascontiguousarray(np.load(rest).T) for _ in range(2))
        except Exception as why:  # NumPy raises many kinds
            raise ArgumentError("%s: its dictionaries are damaged: %s" % (path, why)) from None
        if rest.read():
            raise ArgumentError("%s: it is damaged: there is more behind its dictionaries than their check sum" % path)
        factors = [factor for factor in FACTORS if 4 * (PATCH * factor) ** 2 == model.bands]
        if model.kind != "pca" or not factors or low.shape != (len(high), model.components):
            raise ArgumentError("%s: its model and its dictionaries do not fit each other" % path)
        return cls(factors[0], model, low, high)


# ---- larger and smaller pictures -------------------------------------------------------------------------------------------

def _mirrored(i, count):
    """Places in a line of `count` pixels: lines are mirrored at their ends, 1 0 | 0 1 2 | 2 1."""
    i = i % (2 * count)
    return np.where(i < count, i, 2 * count - 1 - i)


def _cubic(x):
    """The kernel of bicubic interpolation (Keys 1981, a = -1/2)."""
    x = np.abs(x)
    return np.where(x <= 1, (1.5 * x - 2.5) * x * x + 1, np.where(x < 2, ((-0.5 * x + 2.5) * x - 4) * x + 2, 0))


def _resized_lines(a, made):
    """`made` rows of a. Where they get fewer the kernel is stretched, which removes what fewer pixels cannot show."""
    ratio = len(a) / made
    stretch = max(ratio, 1)
    centre = (np.arange(made) + 0.5) * ratio - 0.5
    places = np.ceil(centre - 2 * stretch).astype(int)[:, None] + np.arange(int(4 * stretch) + 1)
    weights = _cubic((centre[:, None] - places) / stretch)
    weights /= weights.sum(axis=1, keepdims=True)
    places = _mirrored(places, len(a))
    shape = (-1,) + (1,) * (a.ndim - 1)
    return sum(weights[:, i].reshape(shape) * a[places[:, i]] for i in range(places.shape[1])).astype(a.dtype)


def _resized(a, height, width):
    return _resized_lines(_resized_lines(a, height).swapaxes(0, 1), width).swapaxes(0, 1)


def _larger(a, factor):
    return _resized(a, a.shape[0] * factor, a.shape[1] * factor)


def _smaller(a, factor):
    return _resized(a, a.shape[0] // factor, a.shape[1] // factor)


def _floats(image, alpha, name="image"):
    """Its colours (height, width, channels) as floats, and the alpha channel or None."""
    a = _array(image, name)
    if a.ndim not in (2, 3) or 0 in a.shape:
        raise ArgumentError("%s: its shape is %s, expected (height, width) or (height, width, channels)" % (name, a.shape))
    colours, opacity = _alpha_split(a, alpha)
    real = np.float64 if a.dtype.itemsize > (4 if a.dtype.kind == "f" else 2) else np.float32
    colours = np.ascontiguousarray(colours.reshape(a.shape[:2] + (-1,)), real)
    if not np.isfinite(colours).all():
        raise ArgumentError("%s: it holds NaN or infinity" % name)
    return colours, opacity


def _brightness(a):
    return a @ np.array([0.299, 0.587, 0.114], a.dtype) if a.shape[2] == 3 else a.mean(axis=2)


# ---- patches ---------------------------------------------------------------------------------------------------------------

def _features(a, factor):
    """First and second differences, across and down, of pixels as far apart as those of the small picture."""
    rows, columns = np.arange(a.shape[0]), np.arange(a.shape[1])
    above, below = (a[_mirrored(rows + step, len(rows))] for step in (-factor, factor))
    left, right = (a[:, _mirrored(columns + step, len(columns))] for step in (-factor, factor))
    return np.stack([right - left, below - above, (left + right) / 2 - a, (above + below) / 2 - a], axis=-1)


def _signals_of(image, factor, threads):
    """A patch for each PATCH x PATCH pixels of the small picture: what interpolation does to patches elsewhere differs."""
    library, _, given, _ = _image(np.ascontiguousarray(image), False)
    return _patches(library, given, PATCH * factor, None, factor, 0, True, False, threads)[0]


def _examples(image, factor, most, seed, threads):
    """Up to `most` patches of a grey picture: features of the enlarged small picture, and what it lacks."""
    large = _larger(_smaller(image, factor), factor)
    F, H = (_signals_of(a, factor, threads) for a in (_features(large, factor), image - large))
    chosen = np.random.default_rng(seed).permutation(len(F))[:most]
    return F[chosen], H[chosen]


def _high(codes, H):
    """D_h = (X'X)^-1 X'H. What is added to the diagonal makes X'X regular where an atom is not used."""
    A, B = np.zeros((codes.n, codes.n)), np.zeros((codes.n, H.shape[1]))
    with np.errstate(under="ignore"):
        for k in range(codes.atoms.shape[1]):  # what lies behind a signal's atoms is 0, and adds nothing
            np.add.at(B, codes.atoms[:, k], codes.coefs[:, k, None] * H)
            for other in range(codes.atoms.shape[1]):
                np.add.at(A, (codes.atoms[:, k], codes.atoms[:, other]), codes.coefs[:, k] * codes.coefs[:, other])
    A[np.diag_indices(codes.n)] += 1e-3 * np.trace(A) / codes.n
    return np.linalg.solve(A, B).astype(H.dtype)


def superres_learn(images: Sequence[ArrayLike], factor: int = 2, *, atoms: int = 1024, iterations: int = 20,
                   patches: int = 100000, seed: int = 1, alpha: bool | None = None, threads: int = 0,
                   progress: Progress = None, device: str | None = None) -> Enlarger:
    """Learns from large pictures how to make small ones `factor` (2 to 4) times as large. Returns an Enlarger.

    images: a list of pictures, (height, width) or (height, width, channels), in one unit. patches: how many of all pictures
    together to learn from. alpha: as of patches."""
    if _count(factor, "factor") not in FACTORS:
        raise ArgumentError("factor: %r is none of 2, 3, 4" % (factor,))
    images = [images] if isinstance(images, np.ndarray) else list(images)
    if not images:
        raise ArgumentError("images: the list is empty; expected at least one picture to learn from")
    share, F, H = _count(patches, "patches", 8 * len(images)) // (8 * len(images)), [], []
    for number, image in enumerate(images):
        grey = _brightness(_floats(image, alpha, "images[%d]" % number)[0])
        grey = grey[:len(grey) // factor * factor, :grey.shape[1] // factor * factor]
        if min(grey.shape) < PATCH * factor:
            raise ArgumentError("images[%d]: it is smaller than a patch of %d x %d pixels" % (number, PATCH * factor, PATCH * factor))
        for position in range(8):  # mirrored both ways, transposed
            turned = np.rot90(grey.T if position & 4 else grey, position & 3)
            for kept, made in zip((F, H), _examples(np.ascontiguousarray(turned), factor, share, (seed, number, position), threads)):
                kept.append(made)
    F, H = np.concatenate(F), np.concatenate(H)
    work = dict(threads=threads, progress=progress, device=device)
    model = fit("pca", F, variance=0.995, **work)
    Y = np.ascontiguousarray(model.transform(F, **work))
    learnt = ksvd(Y, atoms, SPARSITY, iterations, seed=seed, codes=True, **work)
    return Enlarger(factor, model, learnt.D, _high(learnt.codes, H))


def _detail(small, learnt, work):
    """What the enlarged brightness lacks."""
    factor, size = learnt.factor, PATCH * learnt.factor
    rows, columns = (_mirrored(np.arange(-MARGIN, count + MARGIN), count) for count in small.shape)
    rich = _features(_larger(small[rows][:, columns], factor), factor)
    down, across = ((count - size) // factor + 1 for count in rich.shape[:2])
    sums, weights = np.zeros(rich.shape[:2]), np.zeros(rich.shape[:2])
    step = max(1, BATCH // across)
    for first in range(0, down, step):
        count = min(step, down - first)
        F = _signals_of(rich[first * factor:(first + count - 1) * factor + size], factor, work["threads"])
        Y = np.ascontiguousarray(learnt.model.transform(F, **work), learnt.low.dtype)
        Z = omp(learnt.low, Y, SPARSITY, **work).decode(learnt.high, threads=work["threads"])
        Z = Z.reshape(count, across, size, size)
        for y in range(size):
            for x in range(size):
                there = (slice(first * factor + y, (first + count - 1) * factor + y + 1, factor),
                         slice(x, (across - 1) * factor + x + 1, factor))
                sums[there] += Z[:, :, y, x]
                weights[there] += 1
    inner = slice(MARGIN * factor, -MARGIN * factor)
    return (sums / np.maximum(weights, 1))[inner, inner].astype(small.dtype)


def superres(image: ArrayLike, learnt: Enlarger, *, alpha: bool | None = None, threads: int = 0, progress: Progress = None,
             device: str | None = None) -> np.ndarray:
    """Makes a picture 2 to 4 times as large.

    image: (height, width) or (height, width, channels), in the unit of the pictures that were learnt from. learnt: what
    superres_learn returns. Returns floats. Colours and alpha are enlarged by bicubic interpolation; what is added to them is
    added to the brightness."""
    if not isinstance(learnt, Enlarger):
        raise TypeError("learnt: must be what superres_learn returns, not %r" % (learnt,))
    colours, opacity = _floats(image, alpha)
    grey, factor = _brightness(colours), learnt.factor
    before = _larger(grey, factor)
    after = before + _detail(grey, learnt, dict(threads=threads, progress=progress, device=device))
    for _ in range(CORRECTIONS):
        after += _larger(grey - _smaller(after, factor), factor)
    out = _larger(colours, factor) + (after - before)[..., None]
    if opacity is not None:
        opacity = np.clip(_larger(opacity.astype(out.dtype), factor), opacity.min(), opacity.max())
    return _with_alpha(out, opacity).reshape((out.shape[0], out.shape[1]) + np.shape(image)[2:])
