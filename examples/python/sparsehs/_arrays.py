"""Arrays of NumPy as the compiled library reads them: in place where that is possible, copied otherwise."""

from decimal import Decimal
from fractions import Fraction

import numpy as np

from ._library import ArgumentError, _double, _float

NO_MASK = "fill in what is masked first: array.filled(value)"


def _gathered(x):
    """A list as a masked array if one of its parts is one: NumPy's own conversion drops the masks."""
    if not isinstance(x, (list, tuple)) or not any(isinstance(part, (list, tuple, np.ma.MaskedArray)) for part in x):
        return x
    parts = [_gathered(part) for part in x]
    if not any(isinstance(part, np.ma.MaskedArray) for part in parts) or len({np.shape(part) for part in parts}) > 1:
        return x
    return np.ma.stack([np.ma.asarray(part) for part in parts])


def _missing(x):
    """Where a masked array is masked, or None where nothing is."""
    x = _gathered(x)
    if isinstance(x, np.ma.MaskedArray) and np.ma.getmaskarray(x).any():
        return np.ma.getmaskarray(x)
    return None


def _of_table(x):
    """A table of pandas whose types are nullable as floats, with NaN where nothing is: NumPy makes objects of it."""
    own = np.ravel(getattr(x, "dtypes", ()))
    types = [getattr(one, "numpy_dtype", one) for one in own]
    if not any(hasattr(one, "numpy_dtype") for one in own) or any(one.kind not in "buif" for one in types):
        return x
    return x.to_numpy(np.result_type(np.float32, *types), na_value=np.nan)


def _array(x, name, advice=NO_MASK):
    """Real numbers. Sparse matrices become dense; masked arrays must have nothing masked, and `advice` says what to do else."""
    if _missing(x) is not None:
        raise TypeError("%s: values of it are masked, which is not understood here; %s" % (name, advice))
    if hasattr(x, "toarray") and hasattr(x, "nnz"):  # scipy.sparse
        x = x.toarray()
    x = np.asarray(_of_table(x))
    if x.dtype.kind == "c":
        raise TypeError("%s: complex numbers are not supported; give real and imaginary parts as two real arrays (over a real "
                        "dictionary, omp(groups=...) lets the two parts of a signal share their atoms)" % name)
    if x.dtype.kind not in "buif" and x.dtype.name != "bfloat16":
        raise TypeError("%s: must be numbers, but its type is %s" % (name, x.dtype))
    return x


def _data(x):
    """What lies below the mask of a masked array."""
    x = _gathered(x)
    return x.data if isinstance(x, np.ma.MaskedArray) else x


def _cast(x, name, real):
    """An array in this type, in the machine's byte order. A smaller type must not make a row infinite or take all its digits."""
    with np.errstate(over="ignore", under="ignore"):
        made = np.asarray(x, real)
    if x.dtype.kind != "f" or x.dtype.itemsize <= made.dtype.itemsize or not x.size:
        return made
    limits = np.finfo(made.dtype)
    largest = np.abs(x).max(axis=-1)
    with np.errstate(invalid="ignore"):  # infinity and NaN are left to the library
        wrong = (largest > limits.max) & np.isfinite(largest) | (largest < limits.tiny) & (largest > 0)
    if wrong.any():
        row = np.argwhere(wrong)[0].tolist()
        raise ArgumentError("%s: the largest value%s is %.3g, expected %.3g to %.3g as of %s; scale it, or give signals in a wider type"
                            % (name, " of row %d" % row[0] if row else "", largest[tuple(row)], limits.tiny, limits.max, made.dtype))
    return made


def _rows(x, name, real):
    """A matrix whose rows C finds `ld` values apart, in this type; copied only where it is not so already."""
    x = _array(x, name)
    if x.ndim != 2:
        raise ArgumentError("%s: must be a matrix with one row each, but it has %d dimensions" % (name, x.ndim))
    x = _cast(x, name, real)
    step, value = x.strides
    few = x.shape[0] < 2  # strides of none and of one row mean nothing
    ahead = few or (step >= x.shape[1] * x.itemsize and step % x.itemsize == 0 and step // x.itemsize < 2**31)
    if not (ahead and (value == x.itemsize or x.shape[1] == 1) and x.flags.aligned):
        x = np.ascontiguousarray(x)
    return x, (x.shape[1] if few else x.strides[0] // x.itemsize)


def _signals(Y, name="signals", advice=NO_MASK):
    """The library for them, the matrix, and its leading dimension."""
    Y = _array(Y, name, advice)
    library = _float if Y.dtype.itemsize == 4 and Y.dtype.kind == "f" else _double
    Y, ldy = _rows(Y, name, library.real)
    if Y.shape[1] == 0:
        raise ArgumentError("%s: (%d, 0) has signals without values; expected (signals, values)" % (name, Y.shape[0]))
    return library, Y, ldy


def _wide(x, name, shape):
    """Doubles of this shape, close together. -1 in shape: any number."""
    x = _array(x, name)
    if x.ndim != len(shape) or any(want not in (-1, got) for want, got in zip(shape, x.shape)):
        raise ArgumentError("%s: its shape is %s, expected %s" % (name, x.shape, str(shape).replace("-1", "any")))
    return np.ascontiguousarray(x, np.float64)


def _covariance(x, name, bands):
    """A covariance (bands, bands), of which the library reads one triangle. So both must agree, and no combination of bands may
    have a variance below 0, but for rounding in single precision, whatever the units of the bands. A band of variance 0 has no
    unit to go by: beside it up to 1e-12 of the largest variance is rounding."""
    C = _wide(x, name, (bands, bands))
    deviation = np.sqrt(np.abs(np.diag(C)))
    with np.errstate(all="ignore"):  # what is not finite is left to the library
        most = np.outer(deviation, deviation)
        rounding = np.where(most > 0, 1e-5 * most, 1e-12 * most.max(initial=0))
        apart = np.abs(C - C.T) > rounding
    if apart.any():
        row, column = np.argwhere(apart)[0]
        raise ArgumentError("%s: (%d, %d) is %g, but (%d, %d) is %g; expected both triangles of a symmetric matrix"
                            % (name, row, column, C[row, column], column, row, C[column, row]))
    if np.isfinite(C).all():
        _check_variances(C, name, most, rounding)
    return C


def _check_variances(C, name, most, rounding):
    """Refuses a symmetric matrix with eigenvalues below 0, whatever the units of the bands."""
    below = np.flatnonzero(np.diag(C) < 0)
    if below.size:
        raise ArgumentError("%s: (%d, %d) is %g, expected a variance, 0 or more" % (name, below[0], below[0], C[below[0], below[0]]))
    far = np.argwhere(np.abs(C) > most + rounding)
    if far.size:
        row, column = far[0]
        raise ArgumentError("%s: (%d, %d) is %g, expected at most %g in magnitude, as the variances of the two bands are %g and %g"
                            % (name, row, column, C[row, column], most[row, column], C[row, row], C[column, column]))
    correlation = np.clip(C, -most, most) / np.where(most > 0, most, 1)
    least = np.linalg.eigvalsh(correlation)[0] if len(C) else 0
    if least < -1e-5 * len(C):
        raise ArgumentError("%s: its correlation has an eigenvalue of %.3g, expected none below 0, as of a covariance" % (name, least))


def _whole(x, name, shape):
    """Whole numbers of this shape, as they came. An empty list has no type of its own."""
    x = _array(x, name)
    if x.shape != shape:
        raise ArgumentError("%s: its shape is %s, expected %s" % (name, x.shape, shape))
    if x.dtype.kind not in "bui" and x.size:
        raise TypeError("%s: must be whole numbers, but its type is %s" % (name, x.dtype))
    return x


def _not_0(x, name, hidden=None):
    """Where x is not 0. hidden: where it does not matter what it is."""
    x = np.asarray(x)
    if x.dtype.kind in "fc":
        wrong = np.argwhere(np.isnan(x) if hidden is None else np.isnan(x) & ~hidden)
        if wrong.size:
            raise ArgumentError("%s: the value at %s is nan, expected 0 or another number" % (name, tuple(wrong[0].tolist())))
    return x != 0


def _marked(x, name, shapes, masked):
    """Where x, of one of these shapes, is not 0. masked: what a value counts as that is masked."""
    hidden = _missing(x)
    there = _not_0(_data(x), name, hidden)
    if there.shape not in shapes:
        raise ArgumentError("%s: its shape is %s, expected %s" % (name, there.shape, " or ".join(map(str, dict.fromkeys(shapes)))))
    return there if hidden is None else np.where(hidden, masked, there)


def _count(x, name, least=1):
    """A whole number of at least `least`."""
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, np.integer)):
        raise TypeError("%s: must be a whole number, not %r" % (name, x))
    if x < least:
        raise ArgumentError("%s: must be at least %d, but is %d" % (name, least, x))
    return int(x)


def _number(x, name):
    """One number, of Python or NumPy, or an array of one."""
    number = np.asarray(x)
    if number.ndim and isinstance(x, np.ndarray) and number.size == 1:
        number = number.reshape(())
    exact = isinstance(x, (Decimal, Fraction))
    if number.ndim or not (exact or number.dtype.kind in "buif"):
        raise TypeError("%s: must be one number, not %r" % (name, x))
    return float(number)


def _alpha_split(image, alpha):
    """The colours, and the alpha channel or None. alpha None: the last of two or four channels is one."""
    if alpha not in (None, True, False):
        raise TypeError("alpha: True, False or None, not %r" % (alpha,))
    channels = image.shape[2] if image.ndim == 3 else 1
    if alpha and channels < 2:
        raise ArgumentError("alpha: True, but the image of shape %s has no channel beside its colours" % (image.shape,))
    if alpha is False or (alpha is None and channels not in (2, 4)):
        return image, None
    return image[..., :-1], image[..., -1]


def _image(image, alpha=None, advice="inpaint() fills in what is missing"):
    """The library for its colours, their values in place, how C finds them, and the alpha channel or None."""
    a = _array(image, "image", advice)
    if a.ndim not in (2, 3) or 0 in a.shape:
        raise ArgumentError("image: its shape is %s, expected (height, width) or (height, width, channels)" % (a.shape,))
    a, opacity = _alpha_split(a, alpha)
    library = _double if a.dtype.kind == "f" and a.dtype.itemsize > 4 or a.dtype.itemsize > 2 and a.dtype.kind != "f" else _float
    if a.dtype not in (np.uint8, np.float32, np.float64):
        a = a.astype(library.real)
    a = a if a.dtype.isnative else a.astype(a.dtype.newbyteorder("="))
    channels = a.shape[2] if a.ndim == 3 else 1
    row = a.shape[1] * channels * a.itemsize
    inner = a[0].flags.c_contiguous and a.flags.aligned
    if not inner or a.shape[0] > 1 and (a.strides[0] < row or a.strides[0] % a.itemsize):
        a = np.ascontiguousarray(a)
    stride = a.strides[0] // a.itemsize if a.shape[0] > 1 else 0
    given = dict(pixels=a, type=a.dtype.name, width=a.shape[1], height=a.shape[0], channels=channels, row_stride=stride)
    return library, a, given, opacity


# Types of pixels that C reads as they are, by the library that reads them. NumPy has bfloat16 from the package ml_dtypes.
_IN_FLOAT = ("uint8", "int16", "uint16", "float16", "bfloat16", "float32")
_IN_DOUBLE = ("int32", "uint32", "float64")


def _is_nodata(values, nodata):
    """Where values of a cube are its no-data value, as the library compares them: in floating types rounded to the type. An
    integer is never 0.5."""
    if values.dtype.kind in "iu":
        return values == float(nodata)
    with np.errstate(over="ignore"):
        return values == values.dtype.type(nodata)


def _cube(cube, valid=None, nodata=None):
    """The library for it, its values in place, and how C finds them. A matrix is one line of pixels. A pixel of which a band is
    masked is left out."""
    masked, a = _missing(cube), _array(_data(cube), "cube")
    if a.ndim == 2:
        a = a[None]
        masked = None if masked is None else masked[None]
    if a.ndim != 3 or a.shape[2] < 1:
        raise ArgumentError("cube: its shape is %s, expected (lines, samples, bands) or (pixels, bands)" % (np.shape(cube),))
    if a.dtype.name not in _IN_FLOAT + _IN_DOUBLE:
        a = a.astype(np.uint8 if a.dtype.kind == "b" else np.int16 if a.dtype == np.int8 else np.float64)
    library = _float if a.dtype.name in _IN_FLOAT else _double
    broken = [step % a.itemsize or step == 0 for step, count in zip(a.strides, a.shape) if count > 1]
    if any(broken) or not a.flags.aligned:
        a = np.ascontiguousarray(a)
    line, sample, band = (step // a.itemsize if count > 1 else 1 for step, count in zip(a.strides, a.shape))
    found = dict(pixels=a, type=a.dtype.name, lines=a.shape[0], samples=a.shape[1], bands=a.shape[2],
                 sample_stride=sample, line_stride=line, band_stride=band, swap_bytes=int(not a.dtype.isnative))
    if valid is not None:
        there = _marked(valid, "valid", (a.shape[:2], (a.shape[0] * a.shape[1],)), False)
        valid = np.ascontiguousarray(there, np.uint8).reshape(a.shape[:2])
    if masked is not None:
        there = ~masked.any(axis=2)
        valid = np.ascontiguousarray(there if valid is None else there & (valid != 0), np.uint8)
    if valid is not None:
        found["valid"] = valid
    if nodata is not None:
        found.update(has_nodata=1, nodata=_number(nodata, "nodata"))
    return library, a, found
