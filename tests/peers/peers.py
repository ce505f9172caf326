# What tests/peers/test_peers.sh asks of GDAL, Spectral Python and numpy: python3 peers.py CHECK ARGUMENTS... An exception is a failure.
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


def rx_local(before, after, inner, outer):
    """Each pixel by the mean and covariance between two windows, moved so that they lie within the image."""
    cube, good = pixels(before)
    lines, samples = good.shape
    want = numpy.zeros(good.shape)
    for y, x in numpy.ndindex(lines, samples):
        around = numpy.zeros(good.shape, dtype=bool)
        for width, inside in ((int(outer), True), (int(inner), False)):
            top, left = (max(min(at - width // 2, n - width), 0) for at, n in ((y, lines), (x, samples)))
            around[top : top + width, left : left + width] = inside
        others = cube[around & good]
        centred = others - others.mean(axis=0)
        d = cube[y, x] - others.mean(axis=0)
        want[y, x] = d @ numpy.linalg.solve(centred.T @ centred / len(others), d)
    compare(after, want[good][:, None], good)


def rx_of_class(before, after, marks, skip=0):
    """Each class by its own mean and covariance, on the components behind the first `skip`."""
    cube, good = pixels(before)
    labels = pixels(marks)[0][:, :, 0]
    want = numpy.zeros(good.shape)
    for k in numpy.unique(labels):
        mine = good & (labels == k)
        x = cube[mine] - cube[mine].mean(axis=0)
        values, vectors = numpy.linalg.eigh(x.T @ x / len(x))
        values, vectors = values[::-1][int(skip) :], vectors[:, ::-1][:, int(skip) :]
        kept = values > 1e-12 * numpy.linalg.eigvalsh(x.T @ x / len(x))[-1]
        want[mine] = ((x @ (vectors[:, kept] / numpy.sqrt(values[kept]))) ** 2).sum(axis=1)
    compare(after, want[good][:, None], good)


def noise(cube, good, down, right):
    """Half the covariance of the differences to the pixel so far below and to the right."""
    lines, samples = good.shape
    both = good[down:, right:] & good[: lines - down, : samples - right]
    d = (cube[down:, right:] - cube[: lines - down, : samples - right])[both]
    d -= d.mean(axis=0)
    return d.T @ d / len(d) / 2


def noise_of_spy(cube, direction):
    """Divided by n as here; as it is, by n - 1."""
    stats = spectral.noise_from_diffs(cube, direction=direction)
    return stats.cov * (stats.nsamples - 1) / stats.nsamples


def residual(noise):
    """Each band's variance that least squares by the bands on both sides leave."""
    left = []
    for b in range(len(noise)):
        near = [i for i in (b - 1, b + 1) if 0 <= i < len(noise)]
        part = noise[numpy.ix_(near, near)]  # singular where a band is constant
        left.append(noise[b, b] - noise[b, near] @ numpy.linalg.lstsq(part, noise[near, b], rcond=None)[0])
    return numpy.diag(left)


def noises(before, saved, kind, *how):
    """The covariance that was saved, against numpy's and, where every pixel is there, Spectral Python's."""
    cube, good = pixels(before)
    steps = {"right": (0, 1), "lower": (1, 0), "diagonal": (1, 1)}
    kinds = list(steps) if kind == "mean" else [kind]
    want = sum(noise(cube, good, *steps[k]) for k in kinds) / len(kinds)
    if good.all():
        names = {"right": "right", "lower": "lower", "diagonal": "lowerright"}
        spy = sum(noise_of_spy(cube, names[k]) for k in kinds) / len(kinds)
        assert numpy.abs(spy - want).max() < 1e-9 * numpy.abs(want).max()
    size = numpy.abs(want).max()  # a residual, a thousand times smaller, is the difference of two numbers of this size
    if how:
        want = residual(want)
    assert numpy.abs(numpy.load(saved) - want).max() < 1e-9 * size


def mnf_of_spy(before, after, k):
    """Spectral Python's mnf, which takes no gaps and no constant bands; its components have lengths of their own, so that each is
    scaled to the other's."""
    cube, good = pixels(before)
    if not good.all() or (cube.std(axis=(0, 1)) == 0).any():
        return
    result = spectral.mnf(spectral.calc_stats(cube), spectral.noise_from_diffs(cube, direction="right"))
    want = result.reduce(cube, num=int(k)).reshape(-1, int(k))
    got = numpy.asarray(spectral.envi.open(after).open_memmap(interleave="bip")).reshape(-1, int(k))
    for i in range(int(k)):
        a, b = got[:, i] - got[:, i].mean(), want[:, i] - want[:, i].mean()
        scale = (a @ b) / (b @ b)
        assert numpy.abs(a - scale * b).max() < 1e-6 * numpy.abs(a).max(), i


def mnf(before, after, k):
    cube, good = pixels(before)
    x = cube[good] - cube[good].mean(axis=0)
    values, vectors = numpy.linalg.eigh(noise(cube, good, 0, 1))
    kept = values > 1e-12 * values[-1]
    f = vectors[:, kept] / numpy.sqrt(values[kept])
    ratio, turn = numpy.linalg.eigh(f.T @ (x.T @ x / len(x)) @ f)
    compare(after, x @ (f @ turn[:, ::-1][:, : int(k)]), good)


def targets(header, table):
    """Those of a table with a column each and a row for each band: the pixels at (7, 5), (30, 41) and (12, 3)."""
    cube, _ = pixels(header)
    spectra = numpy.array([cube[5, 7], cube[41, 30], cube[3, 12]]).T
    numpy.savetxt(table, spectra, delimiter=",", fmt="%.17g")


def some_bands(header):
    """The bands that vary, as --bands takes them."""
    cube, good = pixels(header)
    print(",".join(str(b + 1) for b in numpy.flatnonzero(cube[good].std(axis=0) > 0)))


def covariance(x):
    """In long double: where bands are much alike, what numpy.cov rounds is more than what detectors may differ by."""
    y = x.astype(numpy.longdouble)
    y -= y.mean(axis=0)
    return (y.T @ y / (len(y) - 1)).astype(float)


def detect(before, after, method, table):
    """By Spectral Python, and CEM and OSP by numpy; of the bands that vary."""
    cube, good = pixels(before)
    vary = numpy.flatnonzero(cube[good].std(axis=0) > 0)
    x = cube[good][:, vary]
    spectra = numpy.loadtxt(table, delimiter=",")[vary].T
    t = spectra[:2]
    stats = spectral.GaussianStats(mean=x.mean(axis=0), cov=covariance(x))
    if method == "mf":
        want = [spectral.matched_filter(x[None], k, background=stats).ravel() for k in t]
    elif method == "ace":
        want = [spectral.ace(x[None], k, background=stats)[0] for k in t]
    elif method in ("sace", "glrt"):
        c = stats.cov * ((len(x) - 1) / len(x))
        z, d = x - stats.mean, t - stats.mean
        own, lengths = (numpy.einsum("ij,ji->i", y, numpy.linalg.solve(c, y.T)) for y in (d, z))
        y = numpy.linalg.solve(c, d.T).T @ z.T
        if method == "glrt":
            want = y**2 / own[:, None] / (len(x) + lengths)
        else:
            want = numpy.sign(y) * y**2 / own[:, None] / lengths
    elif method == "sam":
        want = spectral.spectral_angles(x[None], t)[0].T
    elif method == "cem":
        w = numpy.linalg.solve(x.T @ x / len(x), t.T)
        want = [x @ w[:, k] / (t[k] @ w[:, k]) for k in range(2)]
    elif method == "amsd":
        whole, rest = (numpy.linalg.svd(y.T, full_matrices=False)[0] for y in (spectra, spectra[2:]))
        left = [numpy.square(x - x @ q @ q.T).sum(1) for q in (rest, whole)]
        want = [numpy.where(left[0] > 1e-12 * numpy.square(x).sum(1), 1 - left[1] / left[0], 0)]
    else:
        u = spectra[2:].T
        w = t.T - u @ numpy.linalg.lstsq(u, t.T, rcond=None)[0]
        want = [x @ w[:, k] / (t[k] @ w[:, k]) for k in range(2)]
    want = numpy.array(want).T
    if method == "sam":  # an arccosine near 0 has half the digits
        got = numpy.asarray(spectral.envi.open(after).open_memmap(interleave="bip"))[good]
        assert numpy.abs(numpy.cos(got) - numpy.cos(want)).max() < 1e-9
    else:
        compare(after, want, good)


def denoised(before, after, k):
    """The pixels from their first components."""
    cube, good = pixels(before)
    mean = cube[good].mean(axis=0)
    x = cube[good] - mean
    v = numpy.linalg.eigh(x.T @ x / len(x))[1][:, ::-1][:, : int(k)]
    want = x @ v @ v.T + mean
    got = numpy.asarray(spectral.envi.open(after).open_memmap(interleave="bip"))[good]
    assert numpy.abs(got - want).max() < 1e-9 * numpy.abs(want).max(), numpy.abs(got - want).max()


def spectra_of(table):
    """The names and columns of the spectra behind the wavelengths, or the numbers of the bands; the wavelengths, or None."""
    names = [name.strip() for name in open(table).readline().split(",")]
    e = numpy.loadtxt(table, delimiter=",", skiprows=1)
    if names[0].startswith("wavelength"):
        return names[1:], e[:, 1:], e[:, 0]
    if names[0] == "band":
        return names[1:], e[:, 1:], None
    return names, e, None


def abundances(before, after, table, constraint):
    """Least squares by numpy. Of full ones: the conditions of the minimum, which is the only one where they hold."""
    cube, good = pixels(before)
    _, e, _ = spectra_of(table)
    got = numpy.asarray(spectral.envi.open(after).open_memmap(interleave="bip"))[good]
    gram, right = e.T @ e, cube[good] @ e
    if constraint != "full":
        want = numpy.linalg.solve(gram, right.T).T
        if constraint == "sum":
            ones = numpy.linalg.solve(gram, numpy.ones(len(gram)))
            want -= numpy.outer((want.sum(axis=1) - 1) / ones.sum(), ones)
        assert numpy.abs(got - want).max() < 1e-9 * max(1, numpy.abs(want).max()), numpy.abs(got - want).max()
        return
    slope = got @ gram - right  # alike where an abundance is above 0, and nowhere less
    inside = got > 1e-9
    level = (slope * inside).sum(axis=1) / inside.sum(axis=1)
    off = numpy.where(inside, numpy.abs(slope - level[:, None]), level[:, None] - slope)
    assert got.min() >= 0 and numpy.abs(got.sum(axis=1) - 1).max() < 1e-9
    assert off.max() < 1e-9 * numpy.abs(right).max(), off.max()


def atgp(before, table, k):
    """Each spectrum is that of the pixel with the most light outside the space of those before it."""
    cube, good = pixels(before)
    _, e, _ = spectra_of(table)
    rest = cube[good].copy()
    for i in range(int(k)):
        at = numpy.argmax((rest * rest).sum(axis=1))
        want = cube[good][at]
        assert numpy.abs(e[:, i] - want).max() <= 1e-9 * numpy.abs(want).max(), i
        q = rest[at] / numpy.linalg.norm(rest[at])
        rest -= numpy.outer(rest @ q, q)


def fixed_points(before, after, k):
    """Sources are uncorrelated, of variance 1, and fixed points of one plain step of FastICA with g = y^3, all at once."""
    cube, good = pixels(before)
    x = cube[good] - cube[good].mean(axis=0)
    values, vectors = numpy.linalg.eigh(x.T @ x / len(x))
    z = x @ vectors[:, ::-1][:, : int(k)] / numpy.sqrt(values[::-1][: int(k)])
    y = numpy.asarray(spectral.envi.open(after).open_memmap(interleave="bip"))[good]
    w = z.T @ y / len(z)
    assert numpy.abs(w.T @ w - numpy.eye(int(k))).max() < 1e-9 and numpy.abs(z @ w - y).max() < 1e-9 * numpy.abs(y).max()
    u, _, v = numpy.linalg.svd(z.T @ y**3 / len(z) - 3 * w)
    assert numpy.abs(numpy.abs((u @ v * w).sum(axis=0)) - 1).max() < 1e-6


def library(table, name):
    """The spectra of a table as ENVI's library, which Spectral Python writes."""
    names, e, wavelengths = spectra_of(table)
    header = {"spectra names": names}
    if wavelengths is not None:
        header["wavelength"] = list(wavelengths)
    spectral.io.envi.SpectralLibrary(e.T, header).save(name)


def nnls(before, after, table):
    """Nonnegative abundances by SciPy, pixel by pixel."""
    import scipy.optimize

    cube, good = pixels(before)
    _, spectra, _ = spectra_of(table)
    want = numpy.array([scipy.optimize.nnls(spectra, x)[0] for x in cube[good]])
    got = numpy.asarray(spectral.envi.open(after).open_memmap(interleave="bip"))[good]
    assert numpy.abs(got - want).max() < 1e-9 * max(1, want.max()), numpy.abs(got - want).max()


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
