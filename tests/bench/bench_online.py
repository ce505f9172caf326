"""bench_online.py FOLDER [PATCHES] - an online pass over patches of the pictures in FOLDER by build/train --online, by SPAMS
and by scikit-learn, one thread each, batches of 512, 256 atoms, 6 a patch: seconds, and the error of 20,000 other patches,
each coded by OMP in the dictionary that was learnt. From the project's root, after make build/train; a peer that is not here
is left out. scikit-learn learns with the lasso, since its OMP is slower by far."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
import numpy as np

sys.path.insert(0, "examples/python")
import sparsehs

ATOMS, SPARSITY, BATCH, SIDE, TEST = 256, 6, 512, 8, 20000


def patches(folder, count):
    """Patches of all pictures without their means, in random order: (count, 64)."""
    random, found = np.random.default_rng(1), []
    names = sorted(glob.glob(os.path.join(folder, "*.pgm")))
    if not names:
        sys.exit("bench_online.py: %s: there is no picture *.pgm" % folder)
    for name in names:
        with open(name, "rb") as f:
            magic, width, height, most = f.read(200).split()[:4]
        width, height = int(width), int(height)
        pixels = np.fromfile(name, np.uint8)[-width * height:].reshape(height, width).astype(np.float32)
        view = np.lib.stride_tricks.sliding_window_view(pixels, (SIDE, SIDE)).reshape(-1, SIDE * SIDE)
        found.append(view[random.permutation(len(view))[:1 + count // len(names)]])
    Y = np.concatenate(found)
    Y = Y[random.permutation(len(Y))[:count]]
    return np.ascontiguousarray(Y - Y.mean(axis=1, keepdims=True))


def ours(Y):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "patches.npy")
        np.save(name, Y)
        said = subprocess.run(["build/train", name, "--online", "--atoms", str(ATOMS), "--sparsity", str(SPARSITY), "--batch",
                               str(BATCH), "--threads", "1", "--out", os.path.join(folder, "learnt")],
                              check=True, capture_output=True, text=True).stdout
        D = np.loadtxt(os.path.join(folder, "learnt_dictionary.csv"), delimiter=",")
        return float(re.search(r"batches in ([0-9.]+) s", said).group(1)), D if len(D) == ATOMS else D.T


def spams_learns(Y):
    import spams
    X = np.asfortranarray(Y.T)
    start = time.process_time()
    D = spams.trainDL(X, K=ATOMS, mode=3, lambda1=SPARSITY, batchsize=BATCH, iter=-(-len(Y) // BATCH), numThreads=1,
                      verbose=False)
    return time.process_time() - start, np.ascontiguousarray(D.T)


def sklearn_learns(Y):
    from sklearn.decomposition import MiniBatchDictionaryLearning
    learner = MiniBatchDictionaryLearning(ATOMS, alpha=30, batch_size=BATCH, max_iter=1, fit_algorithm="cd", random_state=0,
                                          tol=0, max_no_improvement=None)
    start = time.process_time()
    learner.fit(Y)
    return time.process_time() - start, learner.components_


def error(D, test):
    D = np.ascontiguousarray(D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-12), dtype=np.float32)
    return float(np.sqrt(np.mean((test - sparsehs.omp(D, test, sparsity=SPARSITY).decode(D)) ** 2)))


Y = patches(sys.argv[1], int(sys.argv[2]) + TEST if len(sys.argv) > 2 else 220000)
test, Y = Y[:TEST], np.ascontiguousarray(Y[TEST:])
print("%d patches" % len(Y), flush=True)
warnings.simplefilter("ignore")
for name, learn in (("train --online", ours), ("SPAMS trainDL", spams_learns),
                    ("scikit-learn MiniBatchDictionaryLearning", sklearn_learns)):
    try:
        seconds, D = learn(Y)
    except ImportError:
        print("%-44s not here" % name)
        continue
    print("%-44s %8.2f s, error %.3f" % (name, seconds, error(D, test)), flush=True)
