# What tests/test_peers.sh asks of GDAL, Spectral Python and numpy: python3 peers.py CHECK ARGUMENTS... An exception is a failure.
import json
import struct
import subprocess
import sys
import zlib

import numpy
import spectral


def data_file(header):
    return spectral.envi.open(header).filename


def about(header):
    said = subprocess.run(["gdalinfo", "-json", data_file(header)], capture_output=True, check=True, text=True)
    return json.loads(said.stdout)


def same_place(before, after, left=0, top=0):
    """The geotransform is that of the input, at the window's corner, and the projection the same."""
    a, b = about(before), about(after)
    g = a.get("geoTransform", [0, 1, 0, 0, 0, 1])
    left, top = int(left), int(top)
    if left + top and "geoTransform" not in a:
        return
    want = [g[0] + left * g[1] + top * g[2], g[1], g[2], g[3] + left * g[4] + top * g[5], g[4], g[5]]
    got = b.get("geoTransform", [0, 1, 0, 0, 0, 1])
    assert numpy.allclose(got, want, rtol=1e-14, atol=1e-9), (got, want)
    assert a.get("coordinateSystem", {}).get("wkt") == b.get("coordinateSystem", {}).get("wkt")
    x, y = spectral.envi.open(before).metadata, spectral.envi.open(after).metadata
    for key in "coordinate system string", "projection info", "sensor type", "acquisition time":
        assert x.get(key) == y.get(key), key
    if "map info" in x:
        assert x["map info"][5:] == y["map info"][5:]


def opens(header):
    image = spectral.envi.open(header)
    assert len(image.metadata["band names"]) == image.shape[2] == image.load().shape[2]


def same_lists(before, after, text):
    x, y = spectral.envi.open(before).metadata, spectral.envi.open(after).metadata
    bands = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        bands += range(int(first) - 1, int(last or first))
    for key in "wavelength", "fwhm", "bbl", "band names":
        assert (key in x) == (key in y) or key == "band names", key
        if key in x:
            assert [x[key][b] for b in bands] == y[key], key
    assert x.get("wavelength units") == y.get("wavelength units")


def pixels(header):
    image = spectral.envi.open(header)
    ignored = image.metadata.get("data ignore value")
    cube = numpy.asarray(image.open_memmap(interleave="bip"), dtype="f8")
    good = numpy.isfinite(cube).all(axis=2)
    if ignored is not None:
        good &= (cube != float(ignored)).all(axis=2)
    return cube, good


def compare(header, want, good):
    """Each band to 1e-9 of its largest value, whatever the signs of components."""
    got = numpy.asarray(spectral.envi.open(header).open_memmap(interleave="bip"))[good]
    for k in range(want.shape[1]):
        sign = numpy.sign(got[:, k] @ want[:, k])
        error = numpy.abs(sign * got[:, k] - want[:, k]).max() / numpy.abs(want[:, k]).max()
        assert error < 1e-9, (k, error)


def pca(before, after, k):
    cube, good = pixels(before)
    x = cube[good] - cube[good].mean(axis=0)
    values, vectors = numpy.linalg.eigh(x.T @ x / len(x))
    compare(after, x @ vectors[:, ::-1][:, : int(k)], good)


def rx(before, after):
    cube, good = pixels(before)
    x = cube[good] - cube[good].mean(axis=0)
    values, vectors = numpy.linalg.eigh(x.T @ x / len(x))
    kept = values > 1e-12 * values[-1]
    z = x @ (vectors[:, kept] / numpy.sqrt(values[kept]))
    compare(after, (z**2).sum(axis=1)[:, None], good)


def mnf(before, after, k):
    cube, good = pixels(before)
    both = good[:, 1:] & good[:, :-1]
    d = (cube[:, 1:] - cube[:, :-1])[both]
    d -= d.mean(axis=0)
    x = cube[good] - cube[good].mean(axis=0)
    values, vectors = numpy.linalg.eigh(d.T @ d / len(d) / 2)
    kept = values > 1e-12 * values[-1]
    f = vectors[:, kept] / numpy.sqrt(values[kept])
    ratio, turn = numpy.linalg.eigh(f.T @ (x.T @ x / len(x)) @ f)
    compare(after, x @ (f @ turn[:, ::-1][:, : int(k)]), good)


def write_model(cube_name, model, k):
    """The principal components by numpy, as the manual of section 12 says."""
    cube, good = pixels(cube_name)
    mean = cube[good].mean(axis=0)
    x = cube[good] - mean
    values, vectors = numpy.linalg.eigh(x.T @ x / len(x))
    values, vectors = values[::-1], vectors[:, ::-1][:, : int(k)]
    n = len(mean)
    head = b"SHSmodel" + struct.pack("<6I2d12x", 1, 0, n, int(k), n, 0, len(x), values.sum())
    arrays = [mean, numpy.ones(n), values, vectors.T.ravel(), vectors.T.ravel()]
    body = numpy.concatenate(arrays).astype("<f8").tobytes()
    with open(model, "wb") as file:
        file.write(head + struct.pack("<I", zlib.crc32(head)) + body + struct.pack("<I", zlib.crc32(body)))


def read_model(cube_name, model, after):
    """What was saved, read by numpy: the same components as the program's own."""
    data = open(model, "rb").read()
    assert data[:8] == b"SHSmodel" and struct.unpack("<I", data[60:64])[0] == zlib.crc32(data[:60])
    assert struct.unpack("<I", data[-4:])[0] == zlib.crc32(data[64:-4])
    version, kind, n, k, e, flags = struct.unpack("<6I", data[8:32])
    assert version == 1 and kind == 0
    arrays = numpy.frombuffer(data[64:-4], "<f8")
    sizes = [n, n, e, n * k, n * k] + ([n] if flags & 1 else [])
    mean, scale, values, vectors, backward = numpy.split(arrays, numpy.cumsum(sizes))[:5]
    cube, good = pixels(cube_name)
    compare(after, (cube[good] - mean) / scale @ vectors.reshape(k, n).T, good)


globals()[sys.argv[1]](*sys.argv[2:])
