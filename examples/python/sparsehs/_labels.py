"""DataArrays of xarray: functions of cubes get their values with the bands last, and results get their labels back."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

BANDS = "band", "bands", "wavelength", "wavelengths", "channel", "component"  # names of dimensions; else bands are the last
OF_VALUES = ("units", "long_name", "standard_name", "valid_min", "valid_max", "valid_range", "actual_range", "scale_factor",
             "add_offset")
OF_MISSING = "_FillValue", "missing_value", "nodata"  # missing results are NaN


def is_labelled(x):
    """Whether x is a DataArray. Nothing is imported for that."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(x, xarray.DataArray)


def _to_nanometres(unit):
    """The factor of a unit of length; None where it is not known."""
    word = str(unit).strip().lower()
    if word == "nm" or word.startswith("nano"):
        return 1.0
    if word in ("um", "\u00b5m", "\u03bcm", "u", "\u00b5", "\u03bc", "mu", "mum") or word.startswith("micro"):
        return 1e3
    return 1e9 if word in ("m", "meter", "meters", "metre", "metres") else None


class _Labels:
    def __init__(self, cube):
        self.cube = cube
        self.band = next((name for name in cube.dims if str(name).lower() in BANDS), cube.dims[-1] if cube.dims else None)
        self.pixels = [name for name in cube.dims if name != self.band]

    def values(self, x):
        """Of a DataArray, with dimensions of the cube in the order (pixels, bands) behind others."""
        if not is_labelled(x):
            return x
        order = [*self.pixels, self.band]
        return x.transpose(*[name for name in x.dims if name not in order], *[name for name in order if name in x.dims]).values

    def wavelengths(self):
        """In nanometres, or without a unit as they are; None where there is no coordinate of them."""
        for name in "wavelength", "wavelengths":
            found = self.cube.coords.get(name)
            if found is not None and found.dims == (self.band,) and found.dtype.kind in "iuf":
                unit = found.attrs.get("units", found.attrs.get("unit"))
                factor = 1.0 if unit is None else _to_nanometres(unit)
                return None if factor is None else factor * found.values.astype(np.float64)
        return None

    def wrap(self, values, kind, name):
        """A result with what holds of the cube's labels. kind: what it is of, see labelled."""
        if kind is None:
            return values
        same, with_bands = kind in ("cube", "spectra", "wavelength"), kind in ("cube", "values", "bands", "spectra")
        dims = {"pixels": self.pixels, "bands": [self.band], "spectra": ["endmember", self.band]}.get(
            kind, [*self.pixels, self.band if with_bands else kind])
        dims = dims if np.ndim(values) == len(dims) else self.pixels  # one target has one score
        hold = set(dims) if with_bands else set(dims) - {self.band}
        coords = self.cube.drop_vars([one for one, given in self.cube.coords.items() if not set(given.dims) <= hold]).coords
        count = self.cube.sizes[self.band]
        attrs = {key: value for key, value in self.cube.attrs.items()
                 if key not in OF_MISSING and (same or key not in OF_VALUES)
                 and (with_bands or not (isinstance(value, (list, tuple, np.ndarray)) and np.size(value) == count))}
        made = type(self.cube)(values, coords, dims, self.cube.name if same else name, attrs)
        if kind in ("bands", "spectra"):
            return made
        instead = [one for one in dims if one not in self.pixels]  # stands where the bands stood
        return made.transpose(*[one for old in self.cube.dims for one in ([old] if old in self.pixels else instead)])


def labelled(*kinds, of="cube", wavelengths=False) -> Callable[[Function], Function]:
    """Lets a function take a DataArray as its argument `of` and return DataArrays. kinds: what each result is of.

    "cube"     the same pixels and bands, in the same unit
    "values"   the same pixels and bands, in another unit
    "pixels"   one value a pixel
    "bands"    one value a band
    "spectra"  spectra of the same bands in the same unit
    None       it stays as it is
    a name     several values a pixel, along a dimension of this name in place of the bands; "wavelength": in the same unit

    or a function of the arguments that returns one of these. wavelengths: where they are not given they come from the cube."""
    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args, **given):
            bound = signature.bind(*args, **given) if any(map(is_labelled, [*args, *given.values()])) else None
            if bound is None or not is_labelled(bound.arguments[of]):
                return function(*args, **given)
            labels = _Labels(bound.arguments[of])
            args, given = map(labels.values, bound.args), {name: labels.values(value) for name, value in bound.kwargs.items()}
            if wavelengths and given.get("wavelengths") is None:
                given["wavelengths"] = labels.wavelengths()
            made = function(*args, **given)
            bound.apply_defaults()
            which = [kind(bound.arguments) if callable(kind) else kind for kind in kinds]
            if isinstance(made, tuple):
                return tuple(labels.wrap(one, kind, function.__name__) for one, kind in zip(made, which))
            return labels.wrap(made, which[0], function.__name__)

        return call

    return decorate
