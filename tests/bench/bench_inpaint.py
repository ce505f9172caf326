"""bench_inpaint.py FOLDER [PART...] [--seeds N] - build/inpaint beside other ways to fill in the pictures *.pgm in FOLDER, of which
each PART of the pixels (0.5 0.8) is missing: PSNR in dB and user seconds of one thread, means of seeds 1 to N (3). From the project's
root, after make build/inpaint, in an environment with numpy, scipy and spams-bin; what needs a package that is not here is left out.

All have 10 x 10 patches less the mean of what is known, 256 atoms, 40,000 patches to learn from, at most an atom for 8 known pixels,
a tolerance of 1, and average patches with the same weights.

    inpaint    build/inpaint IN MASK OUT --threads 1
    AK-SVD     masked AK-SVD and masked OMP as dl-box has them, in plain numpy: 10 iterations from an overcomplete DCT, no atom is
               replaced. Where the golden numbers of dl-box are here they must agree. Its seconds are numpy's, not dl-box's.
    SPAMS      what it offers: linear interpolation (scipy), trainDL on patches of that (10 passes), ompMask of all patches. Its ompMask
               takes atoms for unit vectors although values are missing, so it is no least squares.
    the other  ompMask's seconds for the codes alone of what inpaint does: 10 times the patches it learns from, then all patches; and
    columns    the PSNR of all patches by ompMask over AK-SVD's atoms
"""
import argparse
import glob
import os
import re
import resource
import subprocess
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
import numpy as np

SIDE, ATOMS, TRAINING, ITERATIONS, PIXELS_AN_ATOM, TOLERANCE = 10, 256, 40000, 10, 8, 1.0
P = SIDE * SIDE


# Signals, atoms and masks are rows here.


def masked_omp(Y, M, D, limits, tolerance2):
    """Codes (m, n) of signals Y (m, p; 0 where M is 0): OMP over the known values alone, with atoms of unit length in them."""
    X = np.zeros((len(Y), len(D)), Y.dtype)
    for first in range(0, len(Y), 2048):
        part = slice(first, first + 2048)
        X[part] = masked_omp_block(Y[part], M[part], D, limits[part], tolerance2)
    return X


def masked_omp_block(Y, M, D, limits, tolerance2):
    most = int(limits.max(initial=0))
    lengths = np.sqrt(M @ (D * D).T)
    usable = lengths > 1e-6
    lengths[~usable] = 1
    X, R = np.zeros((len(Y), len(D)), Y.dtype), Y.copy()
    atoms = np.zeros((len(Y), most), int)
    taken = np.zeros(len(Y), int)
    Q, T, c = np.zeros((len(Y), most, Y.shape[1]), Y.dtype), np.zeros((len(Y), most, most), Y.dtype), np.zeros((len(Y), most), Y.dtype)
    for k in range(most):
        go = np.nonzero((taken == k) & (limits > k) & ((R * R).sum(1) > tolerance2))[0]
        if len(go) == 0:
            break
        scores = np.where(usable[go], np.abs(R[go] @ D.T) / lengths[go], 0)
        for i in range(k):
            scores[np.arange(len(go)), atoms[go, i]] = 0
        j = scores.argmax(1)
        a = D[j] * M[go] / lengths[go, j][:, None]
        q = a.copy()
        for _ in range(2):  # Gram-Schmidt, twice, against those taken before
            t = (Q[go, :k] @ q[:, :, None])[:, :, 0]
            q -= (t[:, None] @ Q[go, :k])[:, 0]
            T[go, :k, k] += t
        size = np.linalg.norm(q, axis=1)
        fine = (size > 1e-4) & (scores.max(1) > 0)
        go, j, q, size = go[fine], j[fine], q[fine], size[fine]
        q /= size[:, None]
        T[go, k, k] = size
        Q[go, k], atoms[go, k], taken[go] = q, j, k + 1
        c[go, k] = (q * R[go]).sum(1)
        R[go] -= c[go, k][:, None] * q
    for k in reversed(range(most)):  # T x = c, T upper triangular
        on = np.nonzero(taken > k)[0]
        c[on, k] /= T[on, k, k]
        c[on, :k] -= T[on, :k, k] * c[on, k][:, None]
        X[on, atoms[on, k]] = c[on, k] / lengths[on, atoms[on, k]]
    return X


def masked_aksvd(Y, M, D, X):
    """One sweep of the update over D (n, p) and X (m, n), in place."""
    rows = np.ascontiguousarray(X.T)
    R = M * (Y - X @ D)
    for j in range(len(D)):
        on = np.nonzero(rows[j])[0]
        if len(on) == 0:
            continue
        F = R[on] + M[on] * np.outer(rows[j, on], D[j])
        d = rows[j, on] @ F
        D[j] = d / np.linalg.norm(d)
        rows[j, on] = F @ D[j] / (M[on] @ (D[j] * D[j]))
        R[on] = F - M[on] * np.outer(rows[j, on], D[j])
    X[:] = rows.T
    return R


def agree_with_dl_box():
    folder = os.path.join(os.path.abspath(os.environ.get("SHS_DATA", "../shared/data")), "../golden/variants")
    if not os.path.isdir(folder):
        print("dl-box's golden numbers are not here")
        return
    Y, D, M = (np.fromfile(os.path.join(folder, n), t).reshape(m, 64).astype(float) for n, t, m in (
        ("Y_64x1024.f64", float, 1024), ("D0_64x128.f64", float, 128), ("mask_64x1024.u8", np.uint8, 1024)))
    worst = 0
    for known, everything in np.loadtxt(os.path.join(folder, "aksvd_mask_rmse.csv"), delimiter=",", skiprows=1)[:, 1:]:
        X = masked_omp(Y * M, M, D, np.full(1024, 4), 0)
        R = masked_aksvd(Y * M, M, D, X)
        here = np.sqrt((R**2).sum() / M.sum()), np.sqrt(np.mean((Y - X @ D)**2))
        worst = max(worst, abs(here[0] / known - 1), abs(here[1] / everything - 1))
    assert worst < 1e-9, worst
    print("the numpy form agrees with dl-box's ten iterations to %.0e" % worst)


def dct():
    """Cosines of 16 frequencies along x times those along y, less their means but for the constant one."""
    side = int(np.ceil(np.sqrt(ATOMS)))
    one = np.cos(np.pi * np.outer(np.arange(side), np.arange(SIDE)) / side)
    one[1:] -= one[1:].mean(1, keepdims=True)
    D = np.kron(one, one)[:ATOMS]
    return (D / np.linalg.norm(D, axis=1, keepdims=True)).astype(np.float32)


def patches(picture):
    """Of all positions: (m, p)."""
    return np.lib.stride_tricks.sliding_window_view(picture, (SIDE, SIDE)).reshape(-1, P)


class Damaged:
    def __init__(self, picture, part, seed):
        self.picture = picture.astype(np.float32)
        self.random = np.random.default_rng(seed)
        self.known = self.random.random(picture.shape) >= part
        self.chosen = self.random.permutation(len(patches(self.known)))[:TRAINING]
        self.M = patches(self.known).astype(np.float32)
        Y = patches(np.where(self.known, self.picture, 0)) * self.M
        count = self.M.sum(1)
        self.means = Y.sum(1) / np.maximum(count, 1)
        self.Y = (Y - self.means[:, None]) * self.M
        self.limits = (count // PIXELS_AN_ATOM).astype(int)
        self.weights = count / P

    def average(self, Z):
        """The picture that patches Z (m, p) without their means make, as those weigh more that know more; its PSNR."""
        height, width = self.picture.shape
        down, right = height - SIDE + 1, width - SIDE + 1
        total, weight = np.zeros((height, width)), np.zeros((height, width))
        Z, w = ((Z + self.means[:, None]) * self.weights[:, None]).reshape(down, right, P), self.weights.reshape(down, right)
        for i in range(P):
            place = slice(i // SIDE, i // SIDE + down), slice(i % SIDE, i % SIDE + right)
            total[place] += Z[:, :, i]
            weight[place] += w
        return self.psnr(np.where(self.known, self.picture, np.clip(total / np.maximum(weight, 1e-12), 0, 255)))

    def psnr(self, filled):
        return 10 * np.log10(255**2 / np.mean((filled - self.picture)**2))


def ours(damaged, seed):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, n) for n in ("whole.pgm", "mask.pgm", "filled.pgm")]
        height, width = damaged.picture.shape
        for name, values in zip(names, (damaged.picture, 255 * damaged.known)):
            with open(name, "wb") as f:
                f.write(b"P5\n%d %d\n255\n" % (width, height) + values.astype(np.uint8).tobytes())
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        said = subprocess.run(["build/inpaint", *names, "--reference", names[0], "--seed", str(seed), "--threads", "1"], check=True,
                              capture_output=True, text=True).stdout
        return float(re.search(r"psnr=([0-9.]+)", said).group(1)), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def aksvd(damaged):
    start = time.process_time()
    Y, M, limits = (a[damaged.chosen] for a in (damaged.Y, damaged.M, damaged.limits))
    D, tolerance2 = dct(), TOLERANCE**2 * P
    for _ in range(ITERATIONS):
        masked_aksvd(Y, M, D, masked_omp(Y, M, D, limits, tolerance2))
    Z = np.concatenate([masked_omp(damaged.Y[i:i + 8192], damaged.M[i:i + 8192], D, damaged.limits[i:i + 8192], tolerance2) @ D
                        for i in range(0, len(damaged.Y), 8192)])
    return damaged.average(Z), time.process_time() - start, D


def omp_mask(spams, D, Y, M, limits):
    """D x of each signal, and the seconds of ompMask, which takes one limit for all: a call for each limit."""
    Z, seconds = np.zeros_like(Y), 0
    Dt = np.asfortranarray(D.T)
    for limit in np.unique(limits[limits > 0]):
        on = np.nonzero(limits == limit)[0]
        X, B = np.asfortranarray(Y[on].T), np.asfortranarray(M[on].T > 0)
        start = time.process_time()
        codes = spams.ompMask(X, Dt, B, L=int(limit), eps=TOLERANCE**2 * P, lambda1=0.0, numThreads=1)
        seconds += time.process_time() - start
        Z[on] = codes.T @ D
    return Z, seconds


def interpolated(damaged):
    from scipy.interpolate import griddata
    known = np.argwhere(damaged.known)
    every = np.argwhere(np.ones_like(damaged.known))
    values = damaged.picture[damaged.known]
    filled = griddata(known, values, every, "linear")
    outside = np.isnan(filled)
    filled[outside] = griddata(known, values, every[outside], "nearest")
    return filled.reshape(damaged.picture.shape).astype(np.float32)


def spams_way(damaged):
    import spams
    start = time.process_time()
    filled = interpolated(damaged)
    Y = patches(filled)[damaged.chosen]
    X = np.asfortranarray((Y - Y.mean(1, keepdims=True)).T)
    D = spams.trainDL(X, K=ATOMS, mode=3, lambda1=float(np.median(damaged.limits)), batchsize=512, verbose=False, numThreads=1,
                      iter=ITERATIONS * -(-X.shape[1] // 512))
    seconds = time.process_time() - start
    Z, coding = omp_mask(spams, np.ascontiguousarray(D.T), damaged.Y, damaged.M, damaged.limits)
    return damaged.average(Z), seconds + coding, damaged.psnr(np.where(damaged.known, damaged.picture, filled))


def spams_codes(damaged, D):
    import spams
    chosen = damaged.chosen
    learning = omp_mask(spams, D, damaged.Y[chosen], damaged.M[chosen], damaged.limits[chosen])[1]
    Z, seconds = omp_mask(spams, D, damaged.Y, damaged.M, damaged.limits)
    return damaged.average(Z), ITERATIONS * learning + seconds


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("part", nargs="*", type=float, default=[0.5, 0.8])
    options.add_argument("--seeds", type=int, default=3)
    chosen = options.parse_args()
    agree_with_dl_box()
    print("%-10s %7s   inpaint dB     s   AK-SVD dB     s    SPAMS dB     s   interpolated dB   ompMask dB     s"
          % ("picture", "missing"))
    for name in sorted(glob.glob(os.path.join(chosen.folder, "*.pgm"))):
        with open(name, "rb") as f:
            width, height = (int(v) for v in f.read(200).split()[1:3])
        picture = np.fromfile(name, np.uint8)[-width * height:].reshape(height, width)
        for part in chosen.part:
            rows = []
            for seed in range(1, chosen.seeds + 1):
                damaged = Damaged(picture, part, seed)
                quality, seconds, D = aksvd(damaged)
                row = [*ours(damaged, seed), quality, seconds]
                try:
                    row += [*spams_way(damaged), *spams_codes(damaged, D)]
                except ImportError:
                    row += 5 * [np.nan]
                rows.append(row)
            print("%-10s %7g   %10.2f %5.1f   %9.2f %5.1f   %9.2f %5.1f   %15.2f   %10.2f %5.1f"
                  % (os.path.basename(name)[:-4], part, *np.mean(rows, 0)), flush=True)


main()
