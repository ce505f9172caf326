"""DataArrays of xarray: functions of cubes get their values with the bands last, and results get their labels back."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from typing import Any, Callable, TypeVar

import numpy as np

from ._arrays import _is_nodata, _wide
from ._library import ArgumentError, _warn

Function = TypeVar("Function", bound=Callable[..., Any])

BANDS = "band", "bands", "wavelength", "wavelengths", "channel", "component"  # names of dimensions; else bands are the last
OF_MISSING = "_FillValue", "missing_value", "nodata"  # of cubes; missing results are NaN

# Names of attributes as CF, the headers of ENVI, GDAL and rasterio have them, in small letters and with _ for blanks. Those of
# the file hold for no result, those of the values where their unit stays, those of the bands where the bands stay. A list with
# an item for each band is of the bands, too, unless it is of the place. All other attributes hold.
OF_FILE = re.compile("_?fill_?value|missing_value|nodata(vals)?|data_ignore_value|_unsigned|samples|lines|bands|header_offset"
                     "|file_type|data_type|interleave|byte_order|file_compression|(major|minor)_frame_offsets|statistics_.*"
                     "|tifftag_(min|max)samplevalue")
OF_VALUES = re.compile("units?|long_name|standard_name|valid_(min|max|range)|actual_range|scale_factor|add_offset|scales"
                       "|offsets|data_(reflectance_)?(gain|offset)_values|reflectance_scale_factor|data_units|default_stretch"
                       "|z_plot_.*|classes|class_(names|lookup)|flag_.*")
OF_BANDS = re.compile(r"band_\d+|band_?names?|default_bands|bbl|fwhm(_.*)?|(cent(er|re|ral)_)?wavelengths?(_.*)?"
                      "|bandwidths?(_.*)?|solar_irradiance|data_(reflectance_)?(gain|offset)_values")
OF_PLACE = re.compile("transform|geotransform|res|bounds|bbox|map_info|geo_points|projection_info|pixel_size")


def _holds(key, value, bands, same_values, same_bands):
    """Whether an attribute of a cube of so many bands holds for a result that has its values' unit and its bands, or not."""
    name = re.sub(r"\s+", "_", str(key).strip().lower())
    if OF_FILE.fullmatch(name) or (OF_VALUES.fullmatch(name) and not same_values):
        return False
    if same_bands or OF_PLACE.fullmatch(name):
        return True
    listed = isinstance(value, (list, tuple, np.ndarray)) and np.size(value) == bands
    return not listed and not OF_BANDS.fullmatch(name)


def is_labelled(x):
    """Whether x is a DataArray. Nothing is imported for that."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(x, xarray.DataArray)


UNITS = {"nm": 1.0, "um": 1e3, "mm": 1e6, "cm": 1e7, "m": 1e9, "angstrom": 0.1}  # of wavelengths, in nanometres
_SPELT = {"\u00b5m": "um", "\u03bcm": "um", "u": "um", "\u00b5": "um", "\u03bc": "um", "mu": "um", "mum": "um", "\u00e5": "angstrom",
          "aa": "angstrom", "meter": "m", "meters": "m", "metre": "m", "metres": "m"}
_BEGINS = {"nano": "nm", "micro": "um", "milli": "mm", "centi": "cm", "angstrom": "angstrom", "\u00e5ngstr": "angstrom"}


def _to_nanometres(unit):
    """The factor of a unit of length; None where it is not known."""
    word = str(unit).strip().lower()
    for start, name in _BEGINS.items():
        if word.startswith(start):
            return UNITS[name]
    return UNITS.get(_SPELT.get(word, word))


def _is_wavenumber(unit):
    """Whether a text such as "Raman shift (cm-1)" has the unit 1/cm in it."""
    return re.search(r"\bcm\s?(\^|\*\*)?\s?[({]?[-\u2212\u207b][1\u00b9]|\b1\s?/\s?cm\b", unit.lower()) is not None


def _is_shift(coordinate, unit):
    """Whether a coordinate in 1/cm says that its numbers are Raman shifts: differences to a laser's wavenumber."""
    said = [unit, *(coordinate.attrs.get(name, "") for name in ("long_name", "standard_name"))]
    return re.search("raman|shift", " ".join(map(str, said)).lower()) is not None


class _Known(np.ndarray):
    """Wavelengths that are in nanometres, however small, since their unit is known."""


def _unit(x):
    """What the attributes of a DataArray say; "" where they say nothing."""
    return str(x.attrs.get("units", x.attrs.get("unit", ""))).strip()


def _in_nanometres(coordinate, name, warn):
    """The values of a coordinate of wavelengths; None, and a warning, where its unit is not known, or where it is of shifts."""
    unit = _unit(coordinate)
    if _is_wavenumber(unit):
        numbers = coordinate.values.astype(np.float64)
        if _is_shift(coordinate, unit) or (numbers <= 0).any():
            warn("%s: its unit is %r and its least number %g: these are shifts, whose wavelengths depend on the laser's, "
                 "so that its values are not used; give wavelengths" % (name, unit, numbers.min(initial=np.inf)))
            return None
        return (1e7 / numbers).view(_Known)
    if not unit:
        return coordinate.values.astype(np.float64)
    factor = _to_nanometres(unit)
    if factor is None:
        warn("%s: its unit %r is none of %s, so that its values are not used; give wavelengths, or set its attribute units"
             % (name, unit, ", ".join([*UNITS, "1/cm"])))
        return None
    return (factor * coordinate.values.astype(np.float64)).view(_Known)


def _refuse(text):
    raise ArgumentError(text)


def given_wavelengths(x, name):
    """Wavelengths that a call gives: of a DataArray as those of a cube, but what is not understood is refused."""
    return _in_nanometres(x, name, _refuse) if is_labelled(x) else x


def given_widths(x, name, centres, nanometres):
    """Widths of bands in nanometres: in the unit of their centres, which are at these nanometres, or of a DataArray in its own.
    Those in 1/cm are taken for small beside their centres."""
    widths = _wide(x, name, nanometres.shape)
    unit = _unit(x) if is_labelled(x) else ""
    if _is_wavenumber(unit):
        return widths * nanometres**2 / 1e7
    if unit:
        return given_wavelengths(x, name)
    return widths * (nanometres / np.asarray(centres, np.float64))


def _micrometres(lengths):
    """The factor that makes nanometres of wavelengths. Without a unit they are micrometres where all are below 100."""
    known = isinstance(lengths, _Known)
    return 1000.0 if not known and np.fmax.reduce(np.asarray(lengths), initial=0) < 100 else 1.0


def _least_step(x, most):
    """From one number to another next to it, at most this."""
    steps = np.abs(np.diff(x))
    return steps[steps > 0].min(initial=most)


def _check_wavelengths(name, given, wanted, whose):
    """Refuses bands at other wavelengths, or in another order. Each may be off by half of the least step from one wanted to the
    next: where detectors overlap, two bands far apart in the list may be at nearly the same one. NaN is like NaN."""
    given, wanted = given * _micrometres(given), wanted * _micrometres(wanted)
    most = max(_least_step(wanted, 20) / 2, 2e-6 * np.fmax.reduce(np.abs(wanted), initial=0))
    wrong = np.flatnonzero(~((np.abs(given - wanted) <= most) | (np.isnan(given) & np.isnan(wanted))))
    if wrong.size:
        raise ArgumentError("%s: its band %d has the wavelength %g nm, expected %g nm as %s; put its bands in that order "
                            "(.isel), or give .values, which go by places alone"
                            % (name, wrong[0] + 1, given[wrong[0]], wanted[wrong[0]], whose))


def _fill(x):
    """The number that stands for missing values as the attributes say, and the attribute's name; None where there is none.
    Masks of bool keep attributes of numbers."""
    for name in OF_MISSING if x.dtype.kind in "iuf" else ():
        value = x.attrs.get(name)
        try:
            number = float("nan" if value is None else np.reshape(value, ()))
        except (TypeError, ValueError):
            _warn("%s: %r, expected one number; it is not used: give nodata" % (name, value))
            continue
        if not np.isnan(number):
            return number, name
    return None, None


def _nodata(x):
    return _fill(x)[0]


def _is_a_value(name, values, nodata, missing):
    """Whether a number that labels or a mask call missing, as their cube does, is a class or "valid" all the same: xarray hands
    the attributes of a cube on to what is computed from it. A mask that has no other number but 0 would leave no pixel."""
    if name == "labels":
        return nodata == 0
    return name == "valid" and nodata > 0 and bool((missing | (values == 0)).all())


def _differing(its, wanted, single):
    """The places where two indexes of one length differ. Floats may be off by rounding, to single precision if one is of that, up
    to a quarter of the least step; or by a thousandth of it."""
    if its.equals(wanted):
        return []
    if any(one.dtype.kind not in "iuf" for one in (its, wanted)) or all(one.dtype.kind in "iu" for one in (its, wanted)):
        return [i for i, (one, other) in enumerate(zip(its, wanted)) if one != other]
    one, other = its.to_numpy(np.float64), wanted.to_numpy(np.float64)
    step, largest = _least_step(other, np.inf), np.abs(other[np.isfinite(other)]).max(initial=0)
    rounding = largest * (np.finfo(np.float32).eps if single else 1e-9)
    most = max(min(rounding, step / 4), step / 1000 if np.isfinite(step) else 0)
    close = np.isclose(one, other, rtol=0, atol=most, equal_nan=True)
    return np.flatnonzero(~close)


def _scale(x):
    """The factor and the offset that make physical values of x's, numbers or lists of one for each band; None where x does not
    say them. xarray moves those that it has applied from the attributes to the encoding."""
    names = "scale_factor", "scales", "add_offset", "offsets"
    if any(name in x.attrs for name in names):
        return [x.attrs.get("scale_factor", x.attrs.get("scales", 1.0)), x.attrs.get("add_offset", x.attrs.get("offsets", 0.0))]
    return [1.0, 0.0] if any(name in x.encoding for name in names) else None


def _reflectance(x):
    """What ENVI's headers divide values by to make reflectances; None where x does not say it."""
    factor = x.attrs.get("reflectance_scale_factor", x.attrs.get("reflectance scale factor"))
    return None if factor is None else [factor]


def _warn_of_scales(name, its, wanted):
    """Where two DataArrays say that their values have different units, as far as both of them say it in numbers."""
    for what, scale in ("scale_factor and add_offset", _scale), ("reflectance_scale_factor", _reflectance):
        one, other = scale(its), scale(wanted)
        if one is None or other is None:
            continue
        try:
            same = all(np.allclose(np.float64(a), np.float64(b), 1e-6, 0, equal_nan=True) for a, b in zip(one, other))
        except (TypeError, ValueError):
            continue
        if not same:
            _warn("%s: %s: its values have %s, those of the cube %s: bring both to one unit"
                  % (name, what, " and ".join(map(str, one)), " and ".join(map(str, other))))


class _Labels:
    def __init__(self, cube):
        self.cube = cube
        self.band = next((name for name in cube.dims if str(name).lower() in BANDS), cube.dims[-1] if cube.dims else None)
        self.pixels = [name for name in cube.dims if name != self.band]

    def check(self, x, name):
        """Refuses other labels than the cube's, since values go by their places. Sizes are checked with the shapes."""
        other = _Labels(x)
        its, wanted = (one.wavelengths(warn=lambda text: None) for one in (other, self))
        told = its is not None and wanted is not None and len(its) == len(wanted)
        if told:
            _check_wavelengths(name, its, wanted, "the cube")
        for dim in x.dims:
            its, wanted = x.indexes.get(dim), self.cube.indexes.get(dim)
            if its is None or wanted is None or len(its) != len(wanted) or (told and dim == self.band == other.band):
                continue
            single = np.float32 in (x[dim].dtype, self.cube[dim].dtype)  # not of the index, which older pandas makes double
            for i in _differing(its, wanted, single)[:1]:
                raise ArgumentError("%s: along %r its label %d is %s, expected %s as of the cube; .reindex_like() aligns equal "
                                    "labels, .reindex_like(method='nearest', tolerance=...) those that are nearly equal, and "
                                    ".values goes by places alone" % (name, dim, i + 1, its[i], wanted[i]))

    def values(self, x, name):
        """Of a DataArray, with dimensions of the cube in the order (pixels, bands) behind others. What is missing is masked, but for
        the cube, which may be large: functions get its nodata."""
        if isinstance(x, (list, tuple)):
            return [self.values(one, name) for one in x] if any(map(is_labelled, x)) else x
        if not is_labelled(x):
            return x
        order = [*self.pixels, self.band]
        values = x.transpose(*[name for name in x.dims if name not in order], *[name for name in order if name in x.dims]).values
        if x is self.cube:
            return values
        self.check(x, name)
        if name == "wavelengths":
            return given_wavelengths(x, name)
        if name == "other":  # of compare; spectra may be of another unit where only their shapes count
            _warn_of_scales(name, x, self.cube)
        nodata, attribute = _fill(x)
        if nodata is None:
            return values
        missing = _is_nodata(values, nodata)
        inherited = name in ("labels", "valid") and nodata == _nodata(self.cube)
        if inherited and _is_a_value(name, values, nodata, missing):
            return values
        if inherited and name == "labels" and nodata > 0 and missing.any():
            _warn("labels: its attribute %s is %.15g, as the cube's, so that pixels of this label are left out; if it is a "
                  "class, give labels.drop_attrs(), or del labels.attrs[%r] first" % (attribute, nodata, attribute))
        return np.ma.masked_where(missing, values)

    def wavelengths(self, warn=_warn):
        """In nanometres, or without a unit as they are; None where there is no coordinate of them."""
        for name in "wavelength", "wavelengths":
            found = self.cube.coords.get(name)
            if found is not None and found.dims == (self.band,) and found.dtype.kind in "iuf":
                return _in_nanometres(found, name, warn)
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
        attrs = {key: value for key, value in self.cube.attrs.items() if _holds(key, value, count, same, with_bands)}
        made = type(self.cube)(values, coords, dims, self.cube.name if same else name, attrs)
        if kind not in ("bands", "spectra"):
            instead = [one for one in dims if one not in self.pixels]  # stands where the bands stood
            made = made.transpose(*[one for old in self.cube.dims for one in ([old] if old in self.pixels else instead)])
        made.encoding = self.encoding(made)
        return made

    def encoding(self, made):
        """How files say where a result is and what it lacks. An attribute _FillValue clashes with to_netcdf(encoding=...)."""
        encoding = {key: value for key, value in self.cube.encoding.items() if key == "grid_mapping" and value in made.coords}
        if made.dtype.kind == "f":
            encoding["_FillValue"] = made.dtype.type("nan")
        return encoding


def labelled(*kinds, of="cube", wavelengths=False) -> Callable[[Function], Function]:
    """Lets a function take a DataArray as its argument `of` and return DataArrays. kinds: what each result is of.

    "cube"     the same pixels and bands, in the same unit
    "values"   the same pixels and bands, in another unit
    "pixels"   one value a pixel
    "bands"    one value a band
    "spectra"  spectra of the same bands in the same unit
    None       it stays as it is
    a name     several values a pixel, along a dimension of this name in place of the bands; "wavelength": in the same unit

    or a function of the arguments that returns one of these. wavelengths: where they are not given they come from the cube; or a
    function of the arguments that says so. nodata comes from its attributes likewise."""
    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args, **given):
            bound = signature.bind(*args, **given) if any(map(is_labelled, [*args, *given.values()])) else None
            if bound is None:
                return function(*args, **given)
            if not is_labelled(bound.arguments[of]):
                lengths = {name: given_wavelengths(given[name], name) for name in ("wavelengths",) if name in given}
                return function(*args, **dict(given, **lengths))
            labels = _Labels(bound.arguments[of])
            args = [labels.values(value, name) for name, value in zip(bound.arguments, bound.args)]
            given = {name: labels.values(value, name) for name, value in bound.kwargs.items()}
            asked = wavelengths(bound.arguments) if callable(wavelengths) else wavelengths
            if asked and given.get("wavelengths") is None:
                given["wavelengths"] = labels.wavelengths()
            if given.get("nodata") is None:
                given["nodata"] = _nodata(labels.cube)
            made = function(*args, **given)
            bound.apply_defaults()
            which = [kind(bound.arguments) if callable(kind) else kind for kind in kinds]
            if isinstance(made, tuple):
                return tuple(labels.wrap(one, kind, function.__name__) for one, kind in zip(made, which))
            return labels.wrap(made, which[0], function.__name__)

        return call

    return decorate
