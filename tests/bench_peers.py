"""bench_peers.py WHAT CUBE.raw LINES SAMPLES BANDS THREADS - times a peer on the cube that bench.c made (int16, pixel by pixel) and
prints the median of three runs in seconds, or nothing where the peer is not installed."""
import os
import statistics
import sys
import time

what, path, lines, samples, bands, threads = sys.argv[1:2] + sys.argv[2:3] + [int(x) for x in sys.argv[3:7]]
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(threads)
try:
    import numpy as np
    if what == "mdp":
        import mdp
except ImportError:
    sys.exit(0)


def pca(cube, components=10, block=16384):
    """Covariance block by block in float32 with float64 sums, eigh, projection: what one writes by hand in numpy."""
    n = len(cube)
    shift = cube[:block].mean(axis=0).astype(np.float32)
    total, products = np.zeros(bands), np.zeros((bands, bands))
    for at in range(0, n, block):
        x = cube[at:at + block].astype(np.float32) - shift
        total += x.sum(axis=0, dtype=np.float64)
        products += x.T @ x
    mean = total / n
    vectors = np.linalg.eigh(products / n - np.outer(mean, mean))[1][:, ::-1][:, :components].astype(np.float32)
    out = np.empty((n, components), np.float32)
    for at in range(0, n, block):
        out[at:at + block] = (cube[at:at + block].astype(np.float32) - (shift + mean.astype(np.float32))) @ vectors
    return out


def ica(cube, components=10):
    """FastICA with g = y^3 by deflation, whitening included."""
    white = mdp.nodes.WhiteningNode(output_dim=components, dtype="float32")
    node = mdp.nodes.FastICANode(approach="defl", g="pow3", white_comp=components, whitened=True, dtype="float32", verbose=False)
    x = cube.astype(np.float32)
    white.train(x)
    z = white(x)
    node.train(z)
    return node(z)


cube = np.fromfile(path, np.int16).reshape(lines * samples, bands)
times = []
for run in range(4):
    start = time.perf_counter()
    {"numpy": pca, "mdp": ica}[what](cube)
    times.append(time.perf_counter() - start)
print(statistics.median(times[1:]))
