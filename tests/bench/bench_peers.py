"""bench_peers.py WHAT CUBE.raw TYPE LINES SAMPLES BANDS THREADS - a peer of bench.c on the cube that it wrote. Says "ready"
when one run is done, then answers every line of its input with the mean seconds of one more. Ends if a package is missing."""
import os
import sys
import time
import warnings

what, path, kind = sys.argv[1:4]
lines, samples, bands, threads = (int(x) for x in sys.argv[4:8])
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[name] = str(threads)
try:
    import numpy as np
    if what == "mdp_pow3":
        import mdp
    if what.startswith("spams"):
        import spams
    if what == "sklearn_tanh":
        from sklearn.decomposition import FastICA
except ImportError:
    sys.exit(0)

COMPONENTS = 10
ITERATIONS = 20  # ICA_ITERATIONS of bench.h
SPARSITY = 6     # of ols_64x256_s6 and masked_64x256_s6
BLOCK = 16384
AT_LEAST = 0.2   # seconds: shorter work is repeated


def moments(cube, real):
    """Mean and covariance block by block, products in `real` and sums in float64."""
    n = len(cube)
    shift = cube[:BLOCK].mean(axis=0).astype(real)
    total, products = np.zeros(bands), np.zeros((bands, bands))
    for at in range(0, n, BLOCK):
        x = cube[at:at + BLOCK].astype(real) - shift
        total += x.sum(axis=0, dtype=np.float64)
        products += x.T @ x
    mean = total / n
    return (shift + mean.astype(real)), products / n - np.outer(mean, mean)


def numpy_pca(cube, real=np.float32):
    """Covariance, eigh, projection: what one writes by hand in numpy."""
    n = len(cube)
    mean, covariance = moments(cube, real)
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, :COMPONENTS].astype(real)
    out = np.empty((n, COMPONENTS), np.float32)
    for at in range(0, n, BLOCK):
        out[at:at + BLOCK] = (cube[at:at + BLOCK].astype(real) - mean) @ vectors
    return out


def numpy_pca64(cube):
    return numpy_pca(cube, np.float64)


def numpy_rx(cube):
    """Squared lengths of whitened pixels, in float64."""
    n = len(cube)
    mean, covariance = moments(cube, np.float64)
    values, vectors = np.linalg.eigh(covariance)
    whitening = vectors / np.sqrt(values)
    out = np.empty(n, np.float32)
    for at in range(0, n, BLOCK):
        y = (cube[at:at + BLOCK].astype(np.float64) - mean) @ whitening
        out[at:at + BLOCK] = np.einsum("ij,ij->i", y, y)
    return out


def numpy_grass(cube):
    """The work of i.pca in float64, band after band: mean, covariance, eigh, all components, each stretched to 0-255. Blocks of
    pixels stay in the cache; the components are kept, so that the stretch need not project again."""
    n = cube.shape[1]
    mean = cube.mean(axis=1, keepdims=True)
    products = np.zeros((bands, bands))
    for at in range(0, n, BLOCK):
        x = cube[:, at:at + BLOCK] - mean
        products += x @ x.T
    vectors = np.linalg.eigh(products / n)[1][:, ::-1].T.copy()
    y = np.empty((bands, n))
    for at in range(0, n, BLOCK):
        np.matmul(vectors, cube[:, at:at + BLOCK] - mean, out=y[:, at:at + BLOCK])
    low, high = y.min(axis=1, keepdims=True), y.max(axis=1, keepdims=True)
    out = np.empty((bands, n), np.uint8)
    for at in range(0, n, BLOCK):
        out[:, at:at + BLOCK] = (y[:, at:at + BLOCK] - low) * (255 / (high - low)) + 0.5
    return out


def mdp_pow3(cube):
    """FastICA with g = y^3 by deflation, whitening included."""
    white = mdp.nodes.WhiteningNode(output_dim=COMPONENTS, dtype="float32")
    node = mdp.nodes.FastICANode(approach="defl", g="pow3", white_comp=COMPONENTS, whitened=True, dtype="float32",
                                 verbose=False)
    x = cube.astype(np.float32)
    white.train(x)
    z = white(x)
    node.train(z)
    return node(z)


def sklearn_tanh(cube):
    """FastICA with g = tanh, all components at once, whitening by eigenvectors, a fixed number of iterations."""
    ica = FastICA(COMPONENTS, algorithm="parallel", whiten="unit-variance", whiten_solver="eigh", fun="logcosh",
                  max_iter=ITERATIONS, tol=0, random_state=0)
    sources = ica.fit_transform(cube.astype(np.float32))
    assert ica.n_iter_ == ITERATIONS and sources.dtype == np.float32
    return sources


def spams_lasso(signals):
    """Signals Y and a dictionary D, one column after another, where the others have pixels: p x n and p x m."""
    D, Y = signals
    return spams.lasso(Y, D, lambda1=1.0, mode=2, numThreads=threads)  # 1/2 |y - Dx|^2 + lambda1 |x|_1


def all_coded(codes):
    assert codes.nnz == SPARSITY * codes.shape[1]
    return codes


def spams_omp(signals):
    """SPAMS' omp chooses as OLS does. Where eps and lambda1 are left out it codes nothing in some runs, and is fast then."""
    D, Y = signals
    return all_coded(spams.omp(Y, D, L=SPARSITY, eps=0.0, lambda1=0.0, numThreads=threads))


def spams_mask(signals):
    """Half of the values are missing, at random."""
    D, Y = signals
    return all_coded(spams.ompMask(Y, D, mask, L=SPARSITY, eps=0.0, lambda1=0.0, numThreads=threads))


def seconds():
    """By the clock, or on one thread by processor time, as bench.c measures our side."""
    now = time.perf_counter if threads > 1 else time.process_time
    total, count = 0, 0
    while total < AT_LEAST:
        start = now()
        work(cube)
        total += now() - start
        count += 1
    return total / count


warnings.simplefilter("ignore")  # that it has not converged is meant
cube = np.fromfile(path, kind)
if what.startswith("spams"):
    columns = np.asfortranarray(cube.reshape(-1, lines).T)
    cube = (columns[:, :samples], columns[:, samples:])
    mask = np.asfortranarray(np.random.default_rng(3).random(cube[1].shape) < 0.5)
else:
    cube = cube.reshape(bands, -1) if what == "numpy_grass" else cube.reshape(-1, bands)
work = globals()[what]
work(cube)
print("ready", flush=True)
for _ in sys.stdin:
    print(seconds(), flush=True)
