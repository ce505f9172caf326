# What tests/peers/test_peers_scene.sh asks of numpy and SciPy: python3 peers_scene.py CHECK ARGUMENTS... An exception is a failure.
import sys

import numpy

TYPES = {1: "u1", 2: "<i2", 3: "<i4", 4: "<f4", 5: "<f8", 12: "<u2", 13: "<u4"}


def keys_of(header):
    keys, lines = {}, iter(open(header))
    for line in lines:
        key, equals, value = line.partition("=")
        while equals and "{" in value and "}" not in value:
            value += next(lines)
        keys[key.strip().lower()] = value.strip()
    return keys


def numbers(text):
    return numpy.array([float(v) for v in text.strip("{} \n").split(",")])


def cube(header):
    """lines x samples x bands, in double, and the header's keys."""
    keys = keys_of(header)
    bands, lines, samples = (int(keys[k]) for k in ("bands", "lines", "samples"))
    values = numpy.fromfile(header[:-4] + ".img", dtype=TYPES[int(keys["data type"])])
    kind = keys["interleave"].lower()
    shape, order = {
        "bsq": ((bands, lines, samples), (1, 2, 0)),
        "bil": ((lines, bands, samples), (0, 2, 1)),
        "bip": ((lines, samples, bands), (0, 1, 2)),
    }[kind]
    return values.reshape(shape).transpose(order).astype("f8"), keys


def good_bands(header):
    values, keys = cube(header)
    return values[:, :, numbers(keys["bbl"]) > 0] if "bbl" in keys else values


def table(name):
    rows = [line.rstrip("\n").split(",") for line in open(name) if not line.startswith("#")]
    return rows[0], numpy.array([[float(v or "nan") for v in row] for row in rows[1:]])


def close(got, want, tolerance):
    error = numpy.nanmax(numpy.abs(got - want)) / max(numpy.nanmax(numpy.abs(want)), 1e-300)
    assert got.shape == want.shape and (numpy.isnan(got) == numpy.isnan(want)).all(), (got.shape, want.shape)
    assert error <= tolerance, error


def unpredicted(x):
    """Of each row what least squares from all others leave."""
    weights, moments = numpy.zeros((len(x), len(x))), x @ x.T
    for b in range(len(x)):
        others = numpy.arange(len(x)) != b
        weights[b, others] = numpy.linalg.solve(moments[numpy.ix_(others, others)], moments[others, b])
    return x - weights @ x


def count(header, said):
    """HySime, HFC and NWHFC (false alarm 0.001), from the pixels."""
    from scipy.stats import norm

    x = good_bands(header)
    x = x.reshape(-1, x.shape[2]).T
    n, m = x.shape
    noise = unpredicted(x)
    signal = x - noise
    _, e = numpy.linalg.eigh(signal @ signal.T / m)
    of_noise = (numpy.square(noise).mean(1)[:, None] * e * e).sum(0)
    want = {"hysime": int((numpy.square(e.T @ x).mean(1) > 2 * of_noise).sum())}
    centred = x - x.mean(1, keepdims=True)
    deviation = numpy.sqrt(numpy.square(unpredicted(centred)).mean(1))
    for name, by in ("hfc", numpy.ones(n)), ("nwhfc", deviation):
        a, b = (numpy.linalg.eigvalsh(y @ y.T / m)[::-1] for y in (x / by[:, None], centred / by[:, None]))
        want[name] = int((a - b > -norm.ppf(1e-3) * numpy.sqrt(2 * (a * a + b * b) / m)).sum())
    got = dict(line.split() for line in open(said) if len(line.split()) == 2)
    assert got == {k: str(v) for k, v in want.items()}, (got, want)


def continuum(before, after):
    """Divided by the upper hull that SciPy finds, of every 97th pixel."""
    from scipy.spatial import ConvexHull

    x, keys = good_bands(before), cube(before)[1]
    w = numbers(keys["wavelength"])[numbers(keys["bbl"]) > 0]
    got = cube(after)[0].reshape(-1, len(w))[::97]
    for y, removed in zip(x.reshape(-1, len(w))[::97], got):
        low = min(y) - 1  # two points below close the polygon
        corners = ConvexHull(numpy.c_[numpy.r_[w, w[0], w[-1]], numpy.r_[y, low, low] / max(y)]).vertices
        corners = numpy.sort(corners[corners < len(w)])
        close(removed, y / numpy.interp(w, w[corners], y[corners]), 1e-6)


def resampled(before, after):
    """The integral of Gaussian response times polygon, by adaptive quadrature."""
    from scipy.integrate import quad

    names, rows = table(before)
    _, got = table(after)
    w, y = rows[:, 0], rows[:, 1]
    for centre, value in got[:, :2]:
        width = 25 / (2 * numpy.sqrt(2 * numpy.log(2)))
        response = lambda x: numpy.exp(-0.5 * ((x - centre) / width) ** 2)
        # far from the centre the response is 0 to all digits
        a, b = max(w[0], centre - 9 * width), min(w[-1], centre + 9 * width)
        inner = [float(v) for v in w if a < v < b]
        whole = quad(lambda x: response(x) * numpy.interp(x, w, y), a, b, points=inner, limit=200)[0]
        want = whole / quad(response, a, b, points=[centre], limit=200)[0]
        assert abs(value - want) < 1e-7 * abs(want), (centre, value, want)


def index(before, after):
    """NDVI of the bands nearest to 860 and 660 nm."""
    x, keys = cube(before)
    w = numbers(keys["wavelength"])
    near, red = (x[:, :, numpy.abs(w - v).argmin()] for v in (860, 660))
    close(cube(after)[0][:, :, 0], (near - red) / (near + red), 1e-6)


def correct(before, after, method):
    x = good_bands(before)
    if method == "iarr":
        want = x / x.mean((0, 1))
    elif method == "dark":
        want = x - x.min((0, 1))
    else:
        x = numpy.where((x > 0).all(2, keepdims=True), x, numpy.nan)
        y = numpy.log(x)
        want = numpy.exp(y - y.mean(2, keepdims=True) - numpy.nanmean(y, (0, 1)) + numpy.nanmean(y))
    close(cube(after)[0], want, 1e-6)


def scaled(before, after, spectra):
    """Nonnegative least squares divided by their sum, of every 97th pixel."""
    from scipy.optimize import nnls

    x, e = good_bands(before), table(spectra)[1][:, 1:]
    got = cube(after)[0].reshape(-1, e.shape[1])[::97]
    want = numpy.array([nnls(e, y)[0] for y in x.reshape(-1, len(e))[::97]])
    close(got, want / want.sum(1, keepdims=True), 1e-6)


def sparse(before, after, spectra, method, amount):
    """Orthogonal matching pursuit by SciPy's nnls, or scikit-learn's lasso, of every 97th pixel."""
    from scipy.optimize import nnls

    x, e = good_bands(before), table(spectra)[1][:, 1:]
    got = cube(after)[0].reshape(-1, e.shape[1])[::97]
    x = x.reshape(-1, len(e))[::97]
    want, lengths = numpy.zeros(got.shape), numpy.linalg.norm(e, axis=0)
    for row, (y, a) in enumerate(zip(x, want)):
        if method == "lasso":
            from sklearn.linear_model import Lasso

            weight = float(amount) * (e.T @ y).max()
            fit = Lasso(weight / len(y), positive=True, fit_intercept=False, tol=1e-12, max_iter=10**6).fit(e, y)
            a[:] = fit.coef_
            ours, theirs = (numpy.square(y - e @ b).sum() / 2 + weight * b.sum() for b in (got[row], a))
            assert ours - theirs <= 1e-8 * (y @ y) / 2, (row, ours, theirs)
            continue
        chosen, left = [], y
        while len(chosen) < int(amount):
            rise = (e / lengths).T @ left
            rise[chosen] = 0
            if rise.max() <= 1e-6 * numpy.linalg.norm(y):
                break
            chosen.append(rise.argmax())
            a[chosen] = nnls(e[:, chosen], y)[0]
            left = y - e @ a
    close(got, want, 1e-4 if method == "nnomp" else 1e-3) # near the lasso's minimum the objective is flat


def error(before, shares, after, spectra):
    """The RMSE of each pixel from the mixture of its abundances."""
    x, e = good_bands(before), table(spectra)[1][:, 1:]
    close(cube(after)[0][:, :, 0], numpy.sqrt(numpy.square(x - cube(shares)[0] @ e.T).mean(2)), 1e-6)


def bands(header, said):
    """The signal to noise ratio of each band, by a least squares problem each."""
    x = cube(header)[0]
    rows = [line.rstrip("\n").split(",") for line in open(said)][1:]
    used = numpy.array([row[2] != "" for row in rows])
    x = x.reshape(-1, x.shape[2])[:, used]
    x = x - x.mean(0)
    noise = numpy.square(unpredicted((x / x.std(0)).T)).mean(1)
    noise = numpy.minimum(noise * len(x) / (len(x) - x.shape[1]), 1)
    close(numpy.array([float(row[2]) for row in rows if row[2]]), (1 - noise) / noise, 1e-3)
    for row in rows:
        assert (row[3] == "1") == (row[4] == "") == (row[2] != "" and float(row[2]) >= 10), row


def normals(seed, count):
    """The library's random numbers: SplitMix64, then Marsaglia's polar method."""
    state, found, whole = seed, [], 2**64 - 1

    def uniform():
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & whole
        x = state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & whole
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & whole
        return 2 * ((x ^ (x >> 31)) >> 11) / 2**53 - 1

    while len(found) < count:
        x, y = uniform(), uniform()
        if 0 < x * x + y * y < 1:
            found.append(x * numpy.sqrt(-2 * numpy.log(x * x + y * y) / (x * x + y * y)))
    return numpy.array(found)


def purity(before, after, skewers, seed, threshold):
    """How often each pixel is extreme along the same random directions."""
    x = good_bands(before)
    lines, samples, n = x.shape
    d = normals(int(seed), int(skewers) * n).reshape(-1, n)
    y = x.reshape(-1, n) @ (d / numpy.linalg.norm(d, axis=1, keepdims=True)).T
    if float(threshold) > 0:
        want = (y.max(0) - y <= float(threshold)).sum(1) + (y - y.min(0) <= float(threshold)).sum(1)
    else:
        want = numpy.bincount(numpy.r_[y.argmax(0), y.argmin(0)], minlength=len(y))
    assert (cube(after)[0].ravel() == want).all()


def similarity(before, after, spectra, method, form):
    """Each pixel with each spectrum; form: all scores, or the best match and its score."""
    x, t = good_bands(before), table(spectra)[1][:, 1:].T
    x = x.reshape(-1, 1, x.shape[2])
    cosine = (x * t).sum(2) / numpy.linalg.norm(x, axis=2) / numpy.linalg.norm(t, axis=1)
    p, q = (numpy.where((y > 0).all(-1, keepdims=True), y, numpy.nan) for y in (x, t))
    p, q = p / p.sum(-1, keepdims=True), q / q.sum(-1, keepdims=True)
    tangent = numpy.tan(numpy.arccos(cosine))
    if method == "sam":
        want = numpy.arccos(cosine)
    elif method in ("sid", "sidsam"):
        want = (p * numpy.log(p / q) + q * numpy.log(q / p)).sum(2)
        want = want * tangent if method == "sidsam" else want
    elif method == "ns3":
        want = numpy.sqrt(numpy.square(x - t).mean(2) + (1 - cosine) ** 2)
    else:
        v, w, off = x.var(2, ddof=1), t.var(1, ddof=1), x.mean(2) - t.mean(1)
        b = off**2 / ((v + w) / 2) / 8 + numpy.log((v + w) / 2 / numpy.sqrt(v * w)) / 2
        want = 2 * (1 - numpy.exp(-b)) * tangent
    got = cube(after)[0].reshape(len(x), -1)
    if form == "best":
        some = ~numpy.isnan(want).all(1)
        assert (numpy.isnan(got).all(1) == ~some).all()
        assert (got[some, 0] == numpy.nanargmin(want[some], 1) + 1).all()
        got, want = got[:, 1], numpy.where(some, numpy.nanmin(numpy.where(some[:, None], want, 0), 1), numpy.nan)
    assert (numpy.isnan(got) == numpy.isnan(want)).all()
    assert numpy.nanmax(numpy.abs(got - want)) < 1e-7 * numpy.nanmax(numpy.abs(want)) + 3e-8 # of arccos near 0


def detector(before, after, spectra, method, by=None):
    """ACE by numpy, with the sign of the matched filter or without, and Kelly's test: of all pixels, or of each column or class."""
    x, t = good_bands(before), table(spectra)[1][:, 1:].T
    got = cube(after)[0]
    if by is None:
        labels = numpy.zeros(x.shape[:2])
    elif by == "column":
        labels = numpy.broadcast_to(numpy.arange(x.shape[1]), x.shape[:2])
    else:
        labels = cube(by)[0][:, :, 0]
    for k in numpy.unique(labels):
        close(got[labels == k], detections(x[labels == k], t, method), 1e-6)


def detections(x, t, method):
    z, d = x - x.mean(0), t - x.mean(0)
    c = z.T @ z / len(z)
    y = z @ numpy.linalg.solve(c, d.T)
    own, lengths = ((v * numpy.linalg.solve(c, v.T).T).sum(1) for v in (d, z))
    return y * (numpy.abs(y) if method == "sace" else y) / own / (lengths[:, None] + (len(x) if method == "glrt" else 0))


def subspaces(before, after, targets, undesired):
    """AMSD, its numerator and denominator by two least-squares fits of each pixel."""
    x = good_bands(before)
    x = x.reshape(-1, x.shape[2]).T
    s, u = (table(name)[1][:, 1:] for name in (targets, undesired))
    left = [numpy.square(x - e @ numpy.linalg.lstsq(e, x, rcond=None)[0]).sum(0) for e in (u, numpy.hstack([u, s]))]
    there = left[0] > 1e-12 * numpy.square(x).sum(0) # an undesired spectrum is a pixel
    close(cube(after)[0].ravel(), numpy.where(there, (left[0] - left[1]) / numpy.where(there, left[0], 1), 0), 1e-7)


def compare(first, second, after):
    x, y = good_bands(first), cube(second)[0]
    angle = numpy.arccos((x * y).sum(2) / numpy.linalg.norm(x, axis=2) / numpy.linalg.norm(y, axis=2))
    close(cube(after)[0], numpy.stack([numpy.sqrt(numpy.square(x - y).mean(2)), angle], axis=2), 1e-6)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
