"""make test-python: examples/python against scikit-learn, MDP, Spectral Python and plain NumPy, and what goes wrong there."""

import _thread
import ast
import copy
import inspect
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.path.join(ROOT, "examples", "python")
sys.path.insert(0, PYTHON)
import sparsehs  # noqa: E402

REALS = [np.float32, np.float64]
EPS = {np.float32: 2e-4, np.float64: 1e-10}


def planted(m=600, p=24, n=48, s=3, seed=1, real=np.float64):
    """Signals of s atoms each, the dictionary, both in rows."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n, p))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    X = np.zeros((m, n))
    for x in X:
        x[rng.choice(n, s, replace=False)] = rng.standard_normal(s) + np.sign(rng.standard_normal(s))
    return (X @ D).astype(real), D.astype(real), X


def scene(lines=40, samples=50, bands=12, seed=2, real=np.float64):
    """A cube of smooth materials with noise that differs from band to band."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:lines, :samples]
    maps = np.stack([np.sin(x / 7) + 1, np.cos(y / 5) + 1, np.exp(-((x - 20) ** 2 + (y - 15) ** 2) / 90)], -1)
    cube = 100 * maps @ rng.random((3, bands)) + rng.standard_normal((lines, samples, bands)) * np.linspace(0.5, 4, bands)
    return (cube + 50).astype(real)


def picture(height=64, width=80, seed=3, sigma=20):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    clean = 128 + 60 * np.sign(np.sin(x / 5 + y / 9)) + 30 * np.sin(y / 4)
    return clean, clean + rng.normal(0, sigma, clean.shape)


def same_up_to_sign(a, b, tolerance):
    """Columns of a and b are the same but for their signs."""
    for one, other in zip(a.T, b.T):
        size = np.abs(other).max()
        assert min(np.abs(one - other).max(), np.abs(one + other).max()) <= tolerance * size


# ---- signals -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("real", REALS)
def test_omp_is_that_of_sklearn(real):
    from sklearn.linear_model import orthogonal_mp
    Y, D, _ = planted(real=real)
    codes = sparsehs.omp(D, Y, 3, errors=True)
    theirs = orthogonal_mp(D.T.astype(float), Y.T.astype(float), n_nonzero_coefs=3).T
    assert codes.coefs.dtype == real
    differ = np.abs(codes.toarray() - theirs).max(axis=1) > 1e-3
    assert differ.mean() < 0.01  # where two atoms fit equally well either may be chosen
    assert np.allclose(codes.tocsr().toarray(), codes.toarray())
    assert np.allclose(codes.decode(D), codes.toarray() @ D, atol=EPS[real])
    errors2 = ((Y.astype(float) - codes.toarray() @ D.astype(float)) ** 2).sum(axis=1)
    assert np.allclose(codes.errors2, errors2, atol=EPS[real])
    assert codes.report["nonzeros"] == codes.used.sum()


def test_omp_reaches_its_tolerance():
    Y, D, _ = planted()
    codes = sparsehs.omp(D, Y, tolerance=0.3)
    assert np.all(np.linalg.norm(Y - codes.decode(D), axis=1) <= 0.3)
    each = np.linspace(0.1, 1, len(Y))
    codes = sparsehs.omp(D, Y, tolerance_each=each)
    assert np.all(np.linalg.norm(Y - codes.decode(D), axis=1) <= each)
    limits = np.arange(len(Y)) % 5
    assert np.all(sparsehs.omp(D, Y, sparsity_each=limits).used <= limits)
    assert np.array_equal(sparsehs.omp(D, Y, 3, tolerance_each=each).coefs, sparsehs.omp(D, Y, 3, 0.0, tolerance_each=each).coefs)


def test_limits_of_all_signals_and_of_each_are_not_given_together():
    """The library reads those of each signal in place of the one of all."""
    Y, D, _ = planted()
    each, limits = np.full(600, 0.5), np.full(600, 6)
    gram = lambda **given: sparsehs.omp_gram(D @ D.T, Y @ D.T, norms2=np.square(Y).sum(axis=1), **given)  # noqa: E731
    for call in (lambda **given: sparsehs.omp(D, Y, **given), gram, lambda **given: sparsehs.ksvd(Y, 30, iterations=1, **given)):
        refused(lambda: call(sparsity=2, sparsity_each=limits), "sparsity_each: cannot be used together with sparsity")
        refused(lambda: call(tolerance=1, tolerance_each=each), "tolerance_each: cannot be used together with tolerance")
        refused(lambda: call(sparsity=0, sparsity_each=limits), "sparsity: 0, expected at least 1")
        call(sparsity=2, tolerance_each=each)
        call(tolerance=1, sparsity_each=limits)


def test_options_of_coding():
    Y, D, _ = planted()
    assert np.all(sparsehs.omp(D, Y, 3, nonnegative=True).coefs >= 0)
    best = [np.linalg.norm(Y - sparsehs.omp(D, Y, 3, selection=rule).decode(D)) for rule in ("omp", "OLS")]
    assert best[1] <= best[0] * 1.05
    subspace = sparsehs.omp(D, Y, 3, method="subspace", errors=True)
    assert np.all(subspace.used <= 3) and np.linalg.norm(Y - subspace.decode(D)) <= best[0] * 1.1
    assert np.isclose(np.sum(subspace.errors2), np.linalg.norm(Y - subspace.decode(D)) ** 2, rtol=1e-3)
    there = np.random.default_rng(0).random(Y.shape) > 0.2
    holes = np.where(there, Y, np.nan)
    by_mask, by_nan = sparsehs.omp(D, Y, 3, mask=there), sparsehs.omp(D, holes, 3, skip_nan=True)
    assert np.array_equal(by_mask.coefs, by_nan.coefs)
    assert np.array_equal(by_mask.coefs, sparsehs.omp(D, Y, 3, weights=there.astype(float)).coefs)
    sparsehs.omp(D, Y, 3, weights=np.linspace(1, 2, Y.shape[1]))


def test_every_layout_gives_the_same_codes():
    Y, D, _ = planted()
    want = sparsehs.omp(D, Y, 3)
    wide = np.zeros((len(Y) * 2, Y.shape[1] + 5))
    wide[::2, :-5] = Y
    fixed = Y.copy()
    fixed.flags.writeable = False
    odd = np.frombuffer(b"x" + Y.tobytes(), np.uint8)[1:].view(Y.dtype).reshape(Y.shape)
    for other in (np.asfortranarray(Y), wide[::2, :-5], Y[::-1][::-1], fixed, Y.astype(">f8"), odd, Y.tolist()):
        codes = sparsehs.omp(np.asfortranarray(D), other, 3)
        assert np.array_equal(codes.atoms, want.atoms) and np.array_equal(codes.coefs, want.coefs)
    assert np.array_equal(sparsehs.omp(D, Y[::-1], 3).atoms, want.atoms[::-1])
    # Few signals take another way, to rounding.
    assert np.allclose(sparsehs.omp(D, np.broadcast_to(Y[0], (4, Y.shape[1])), 3).coefs, want.coefs[[0] * 4])
    assert np.allclose(sparsehs.omp(D, Y[:1], 3).coefs, want.coefs[:1])
    assert len(sparsehs.omp(D, Y[:0], 3)) == 0
    assert np.array_equal(fixed, Y)


def test_nothing_is_copied_that_can_be_read_in_place():
    wide = np.zeros((100, 40), np.float32)
    for a in (wide, wide[::3], wide[:, :30], wide[5:, 7:20]):
        found, ld = sparsehs._rows(a, "a", np.float32)
        assert np.shares_memory(found, a) and ld == a.strides[0] // 4
    cube = np.zeros((6, 7, 8), np.int16)
    for c in (cube, cube.transpose(1, 2, 0), cube[::2, ::-1, 1:5], cube.astype(">i2")):
        _, found, _ = sparsehs._cube(c)
        assert np.shares_memory(found, c)


def test_threads_change_no_bit():
    Y, D, _ = planted(real=np.float32)
    for threads in 1, 2, 3:
        assert np.array_equal(sparsehs.omp(D, Y, 3, threads=threads).coefs, sparsehs.omp(D, Y, 3).coefs)
    assert np.array_equal(sparsehs.ksvd(Y, 30, 3, 3, threads=1).D, sparsehs.ksvd(Y, 30, 3, 3, threads=2).D)


def test_calls_from_several_threads():
    Y, D, _ = planted()
    want, got = sparsehs.omp(D, Y, 3).coefs, []
    jobs = [threading.Thread(target=lambda: got.append(sparsehs.omp(D, Y, 3).coefs)) for _ in range(4)]
    [job.start() for job in jobs]
    [job.join() for job in jobs]
    assert len(got) == 4 and all(np.array_equal(one, want) for one in got)


@pytest.mark.parametrize("real", REALS)
def test_ksvd_finds_the_planted_atoms(real):
    Y, D, _ = planted(m=4000, p=20, n=30, real=real)
    learnt = sparsehs.ksvd(Y, 30, 3, 40, seed=5, codes=True)
    found = np.abs(learnt.D @ D.T).max(axis=0)
    assert (found > 0.99).mean() > 0.9
    assert learnt.D.dtype == real and np.allclose(np.linalg.norm(learnt.D, axis=1), 1, atol=1e-4)
    assert learnt.iterations == len(learnt.history["rmse_coding"]) == 40
    assert np.isclose(np.sqrt(((Y - learnt.codes.decode(learnt.D)) ** 2).mean()), learnt.rmse, rtol=1e-3)
    assert sparsehs.ksvd(Y, 30, 3, None).iterations == 10
    again = sparsehs.ksvd(Y, 30, 3, 1, start=learnt.D)
    assert again.history["rmse_coding"][0] <= learnt.rmse * 1.2


def test_ksvd_is_no_worse_than_sklearn():
    from sklearn.decomposition import MiniBatchDictionaryLearning
    from sklearn.linear_model import orthogonal_mp
    _, noisy = picture()
    Y, _ = sparsehs.patches(noisy, 6, 1000)
    theirs = MiniBatchDictionaryLearning(40, max_iter=10, batch_size=64, random_state=0).fit(Y).components_
    theirs = theirs / np.maximum(np.linalg.norm(theirs, axis=1, keepdims=True), 1e-12)
    error = np.linalg.norm(Y.T - theirs.T @ orthogonal_mp(theirs.T, Y.T, n_nonzero_coefs=3))
    assert sparsehs.ksvd(Y, 40, 3, 20).rmse * np.sqrt(Y.size) < error


@pytest.mark.parametrize("update", ["aksvd", "sgk", "ksvd", "nsgk", "mod"])
def test_each_update(update):
    Y, _, _ = planted()
    learnt = sparsehs.ksvd(Y, 40, 3, 8, update=update, parallel_atoms=4)
    assert learnt.rmse < learnt.history["rmse_coding"][0]


# ---- what people bring -------------------------------------------------------------------------------------------------------

def test_nothing_is_selected():
    Y, D, _ = planted()
    none = np.zeros(len(Y), bool)
    for empty in (Y[:0], Y[none], np.zeros((0, Y.shape[1])), Y[none].astype(np.float32), Y.T[:, none].T):
        for codes in (sparsehs.omp(D, empty, 3, errors=True), sparsehs.lasso(D, empty, 0.1), sparsehs.omp(D, empty, tolerance=1.0),
                      sparsehs.omp(D, empty, mask=empty > 0, weights=empty, sparsity_each=[]),
                      sparsehs.omp(D, empty, 3, groups=[]), sparsehs.omp_gram(D @ D.T, empty @ D.T, 3)):
            assert len(codes) == 0 and codes.toarray().shape == (0, len(D)) and codes.tocsr().shape == (0, len(D))
            assert codes.decode(D).shape == (0, Y.shape[1])
    cube = scene()
    model = sparsehs.fit("pca", cube, 3)
    for nothing in cube[:0], cube[:, :0], cube[np.zeros(cube.shape[:2], bool)]:
        assert model.transform(nothing).shape == nothing.shape[:-1] + (3,)
        assert sparsehs.unmix(nothing, cube[0, :3]).shape == nothing.shape[:-1] + (3,)
        assert sparsehs.detect(nothing, cube[0, 0], background=(model.mean, np.eye(12))).shape == nothing.shape[:-1]
        for wrong in (lambda: sparsehs.pca(nothing), lambda: sparsehs.endmembers(nothing, 2)):
            with pytest.raises(ValueError, match="pixels"):
                wrong()
    assert sparsehs.online(Y[:0], 5, 2).batches == 0


def test_masked_arrays_are_taken_with_their_mask():
    Y, D, _ = planted()
    missing = np.random.default_rng(0).random(Y.shape) < 0.2
    masked = np.ma.masked_array(np.where(missing, np.nan, Y), missing)
    want = sparsehs.omp(D, Y, 3, mask=~missing)
    assert np.array_equal(sparsehs.omp(D, masked, 3).coefs, want.coefs)
    assert np.array_equal(sparsehs.omp(D, np.ma.masked_array(Y), 3).coefs, sparsehs.omp(D, Y, 3).coefs)
    half = np.arange(Y.shape[1]) % 2 == 0
    both = sparsehs.omp(D, masked, 3, mask=np.broadcast_to(half, Y.shape))
    assert np.array_equal(both.coefs, sparsehs.omp(D, Y, 3, mask=~missing & half).coefs)
    assert np.array_equal(sparsehs.ksvd(masked, 30, 3, 2).D, sparsehs.ksvd(Y, 30, 3, 2, mask=~missing).D)
    cube, hole = scene(), np.zeros((40, 50, 12), bool)
    hole[3, 4, 5] = hole[10:12, 7, 0] = True
    masked, valid = np.ma.masked_array(np.where(hole, -9999, cube), hole), ~hole.any(axis=2)
    for kind in "pca", "mnf", "rx":
        model = sparsehs.fit(kind, masked, 3)
        assert model.count == valid.sum()
        assert np.array_equal(model.transform(masked), sparsehs.fit(kind, cube, 3, valid=valid).transform(cube, valid=valid), True)
    assert np.array_equal(np.isnan(sparsehs.detect(masked, cube[0, 0], "sam")), ~valid)
    assert sparsehs.fit("pca", masked, valid=np.arange(50) >= np.zeros((40, 1)) + 25).count == 25 * 40
    with pytest.raises(TypeError, match="inpaint"):
        sparsehs.denoise(np.ma.masked_greater(picture()[1], 200), 20)


def test_sparse_matrices_and_none():
    from scipy import sparse
    Y, D, X = planted()
    for kind in sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix:
        assert np.array_equal(sparsehs.omp(kind(D), kind(Y), 3).coefs, sparsehs.omp(D, Y, 3).coefs)
    assert np.array_equal(sparsehs.omp(D, Y, 3, tolerance=None).coefs, sparsehs.omp(D, Y, 3).coefs)
    assert np.array_equal(sparsehs.omp(D, Y, None, 0.3).coefs, sparsehs.omp(D, Y, tolerance=0.3).coefs)
    assert np.array_equal(sparsehs.ksvd(Y, 30, 3, None, tolerance=None, seed=None).D, sparsehs.ksvd(Y, 30, 3).D)
    assert np.array_equal(sparsehs.ica(scene(), 3, tolerance=None)[0], sparsehs.ica(scene(), 3)[0])


def test_refusals_say_what_to_do():
    Y, D, _ = planted()
    for call, words in ((lambda: sparsehs.omp(D, Y), "sparsity, tolerance: one of them"),
                        (lambda: sparsehs.omp(D, Y * 1j, 3), "signals: complex"),
                        (lambda: sparsehs.omp(D * 1j, Y, 3), "dictionary: complex"),
                        (lambda: sparsehs.pca(scene() + 0j), "cube: complex"), (lambda: sparsehs.denoise(Y + 0j), "image: complex"),
                        (lambda: sparsehs.fit("pcb", scene()), "pca, mnf, ica"),
                        (lambda: sparsehs.rx_local(scene(bands=30), 3, 5), "ridge"),
                        (lambda: sparsehs.inpaint(np.where(np.eye(5) > 0, np.nan, Y[:5, :5])), "patch: 8")):
        with pytest.raises((TypeError, ValueError), match=words):
            call()


CHILD = """
import os, sys, numpy as np, sparsehs, warnings
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
D = rng.standard_normal((64, 32)); Y = rng.standard_normal((2000, 32)); cube = rng.random((40, 50, 8)); image = rng.random((64, 64))
calls = [lambda: sparsehs.omp(D, Y, 4, threads=2).coefs, lambda: sparsehs.ksvd(Y, 40, 3, 2).D, lambda: sparsehs.online(Y, 40, 3).D,
         lambda: sparsehs.lasso(D, Y, 4.0).coefs, lambda: sparsehs.ica(cube, 3)[0], lambda: sparsehs.rx_local(cube, 3, 7),
         lambda: sparsehs.denoise(image, 0.1, atoms=32, iterations=1, training=500), lambda: sparsehs.endmembers(cube, 3)[0]]
want = [call() for call in calls]
pid = os.fork()
if pid == 0:
    os._exit(0 if all(np.array_equal(call(), one) for call, one in zip(calls, want)) else 7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork() here")
def test_a_child_of_fork_gets_an_answer():
    said = subprocess.run([sys.executable, "-c", CHILD], env=dict(os.environ, PYTHONPATH=PYTHON), timeout=60, capture_output=True)
    assert said.returncode == 0, said.stderr


# ---- more coding and learning ------------------------------------------------------------------------------------------------

def test_groups_share_their_atoms():
    Y, D, _ = planted()
    starts = np.arange(0, len(Y), 3)
    codes = sparsehs.omp(D, Y, 4, groups=starts)
    for first in starts[:20]:
        atoms, left = [], Y[first:first + 3]
        for _ in range(4):  # simultaneous OMP in a few lines
            atoms.append(int(np.square(left @ D.T).sum(axis=0).argmax()))
            x = np.linalg.lstsq(D[atoms].T, Y[first:first + 3].T, rcond=None)[0].T
            left = Y[first:first + 3] - x @ D[atoms]
        assert np.array_equal(codes.atoms[first:first + 3], [atoms] * 3)
        assert np.allclose(codes.coefs[first:first + 3], x)
    assert np.array_equal(sparsehs.omp(D, Y, 4, groups=np.arange(len(Y))).atoms, sparsehs.omp(D, Y, 4).atoms)
    # Real and imaginary parts as groups of two are complex OMP.
    Z = Y[:40] + 1j * Y[40:80]
    parts = np.stack([Z.real, Z.imag], axis=1).reshape(80, -1)
    X = sparsehs.omp(D, parts, 3, groups=range(0, 80, 2)).toarray()
    assert np.abs(Z - (X[::2] + 1j * X[1::2]) @ D).max() < np.abs(Z).max()


@pytest.mark.parametrize("real", REALS)
def test_a_gram_matrix_that_is_known(real):
    Y, D, _ = planted(real=real)
    want = sparsehs.omp(D, Y, 3, gram_mode="always")
    codes = sparsehs.omp(D, Y, 3, gram=D @ D.T)
    assert (codes.atoms == want.atoms).mean() > 0.99 and np.allclose(codes.coefs, want.coefs, atol=0.02)
    by_products = sparsehs.omp_gram(D @ D.T, Y @ D.T, 3, norms2=np.square(Y).sum(axis=1))
    assert (by_products.atoms == want.atoms).mean() > 0.99
    errors2 = np.square(Y - by_products.decode(D)).sum(axis=1)
    assert np.allclose(by_products.errors2, errors2, atol=1e-3 if real is np.float32 else 1e-9)
    assert sparsehs.lasso(D, Y, 0.5, gram=D @ D.T).toarray() == pytest.approx(sparsehs.lasso(D, Y, 0.5).toarray(), abs=1e-2)


@pytest.mark.parametrize("positive", [False, True])
def test_lasso_is_that_of_sklearn(positive):
    from sklearn.linear_model import ElasticNet, Lasso
    Y, D, _ = planted(m=60)
    p = Y.shape[1]
    codes = sparsehs.lasso(D, Y, 0.3, nonnegative=positive)
    theirs = Lasso(0.3 / p, fit_intercept=False, tol=1e-10, max_iter=100000, positive=positive).fit(D.T, Y.T).coef_
    assert np.allclose(codes.toarray(), theirs, atol=1e-4)
    assert codes.gaps.max() <= 1e-10 and codes.report["not_reached"] == 0
    net = sparsehs.lasso(D, Y, 0.3, 0.2, nonnegative=positive).toarray()
    theirs = ElasticNet(0.5 / p, l1_ratio=0.6, fit_intercept=False, tol=1e-10, max_iter=100000, positive=positive).fit(D.T, Y.T).coef_
    assert np.allclose(net, theirs, atol=1e-4)
    path = sparsehs.lasso(D, Y, [1.0, 0.5, 0.1], relative=True, nonnegative=positive)
    assert len(path) == 3 and path[0].used.sum() == 0 and path[1].used.sum() < path[2].used.sum()
    assert np.allclose(sparsehs.lasso(D, Y, 0.1, relative=True, nonnegative=positive).toarray(), path[2].toarray(), atol=1e-4)
    with pytest.warns(RuntimeWarning, match="most"):
        assert sparsehs.lasso(D, Y, 0.01, most=2).used.max() == 2


def test_lasso_says_what_helps_where_rounding_keeps_the_gap():
    random = np.random.default_rng(0)
    D, Y = random.standard_normal(64) + 0.01 * random.standard_normal((30, 64)), random.standard_normal((5, 64))
    D /= np.linalg.norm(D, axis=1)[:, None]
    words = r"5 of 5 codes may be further from .* \(gap 0.00..\); raise sweeps or gap, or give float64$"
    with pytest.warns(RuntimeWarning, match=words):
        codes = sparsehs.lasso(D.astype(np.float32), Y.astype(np.float32), 0.001, relative=True)
    with pytest.warns(RuntimeWarning, match=words):  # more sweeps change nothing
        more = sparsehs.lasso(D.astype(np.float32), Y.astype(np.float32), 0.001, relative=True, sweeps=10**5)
    assert np.array_equal(codes.toarray(), more.toarray())
    assert sparsehs.lasso(D, Y, 0.001, relative=True, gap=1e-5).report["not_reached"] == 0
    with pytest.warns(RuntimeWarning, match=r"raise sweeps or gap$"):
        sparsehs.lasso(D, Y, 0.001, relative=True, sweeps=1)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("given", [{}, dict(lambda2=0.7), dict(relative=True), dict(relative=True, nonnegative=True), dict(nonnegative=True)])
def test_each_lambda_has_its_own_report(real, given):
    Y, D, _ = planted(real=real)
    lambdas = [0.9, 0.3, 0.1, 0.05]
    path = sparsehs.lasso(D, Y, lambdas, **given)
    for lambda1, codes in zip(lambdas, path):
        alone = sparsehs.lasso(D, Y, lambda1, **given)
        for name in "not_reached", "cut":
            assert codes.report[name] == alone.report[name] == 0
        assert codes.report["objective"] == pytest.approx(alone.report["objective"], rel=1e-3 if real is np.float32 else 1e-6, abs=1e-6)
        assert codes.report["nonzeros"] == codes.used.sum() and codes.report["gap"] == codes.gaps.max()
    assert path[0].report["nonzeros"] < path[2].report["nonzeros"]


def test_reports_of_lambdas_count_what_is_cut_or_not_reached():
    Y, D, _ = planted()
    for given, name in (dict(most=3), "cut"), (dict(sweeps=1), "not_reached"):
        with pytest.warns(RuntimeWarning, match="lasso: .* codes may be further from their minimum"):
            path = sparsehs.lasso(D, Y, [2.0, 0.1], **given)
        for lambda1, codes in zip([2.0, 0.1], path):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                alone = sparsehs.lasso(D, Y, lambda1, **given)
            if name == "cut" or lambda1 == 2.0:  # after one sweep from elsewhere others are not reached
                assert codes.report[name] == alone.report[name] and codes.report["not_reached"] == alone.report["not_reached"]
        assert path[1].report[name] > path[0].report[name]
    assert sparsehs.lasso(D, Y[:0], [2.0, 0.1])[1].report == dict.fromkeys(("nonzeros", "not_reached", "cut", "objective", "gap"), 0)


def test_online_learning():
    Y, D, _ = planted(m=6000, p=20, n=30)
    learnt = sparsehs.online(Y, 30, 3, epochs=6, batch=256, seed=3)
    assert (np.abs(learnt.D @ D.T).max(axis=0) > 0.9).mean() >= 0.8
    assert learnt.batches == len(learnt.history["rmse"]) and learnt.signal_count == 6 * len(Y)
    assert learnt.history["rmse"][-1] < 0.6 * learnt.history["rmse"][0]
    # In pieces as at once.
    state = None
    for piece in np.split(Y[:1024], 4):
        state = sparsehs.online(piece, 30, 3, batch=256, shuffle=False, state=state, replace_every=300)
    once = sparsehs.online(Y[:1024], 30, 3, batch=256, shuffle=False, replace_every=300)
    assert state.batches == once.batches == 4 and np.array_equal(state.D, once.D) and np.array_equal(state.sums_xx, once.sums_xx)
    assert np.allclose(once.sums_yx, state.sums_yx) and once.sums_yx.shape == once.D.shape
    last = sparsehs.online(Y[1024:1100], 30, 3, batch=256, shuffle=False, state=state, replace_every=300)
    assert np.array_equal(last.D, sparsehs.online(Y[:1100], 30, 3, batch=256, shuffle=False, replace_every=300).D)
    empty = sparsehs.online(Y[:0], 30, 3)
    assert np.array_equal(sparsehs.online(Y, 30, 3, state=empty).D, sparsehs.online(Y, 30, 3).D)
    # A pause in front is not where learning starts, nor one in between a batch of its count.
    pause = np.zeros((512, Y.shape[1]), Y.dtype)
    for replace in "worst", "random":
        given = dict(batch=256, shuffle=False, replace=replace, replace_every=300)
        state = sparsehs.online(pause, 30, 3, **given)
        for piece in Y[:512], pause, Y[512:1024]:
            state = sparsehs.online(piece, 30, 3, state=state, **given)
        once = sparsehs.online(np.concatenate([pause, Y[:512], pause, Y[512:1024]]), 30, 3, **given)
        assert np.array_equal(state.D, once.D) and state.batches == once.batches == 8
        assert np.array_equal(once.D, sparsehs.online(Y[:1024], 30, 3, **given).D)
    tested = sparsehs.online(Y, 30, 3, test=Y[:50])
    assert np.all(tested.history["rmse_test"] > 0)
    with pytest.raises(sparsehs.Cancelled) as caught:
        sparsehs.online(Y, 30, 3, progress=lambda *what: True)
    assert caught.value.best.D.shape == (30, 20)


def test_learning_with_what_is_missing_and_without_negative_values():
    Y, D, _ = planted(m=2000, p=20, n=30)
    missing = np.random.default_rng(0).random(Y.shape) < 0.1
    by_mask = sparsehs.ksvd(Y, 30, 3, 5, mask=~missing)
    assert np.array_equal(by_mask.D, sparsehs.ksvd(np.where(missing, np.nan, Y), 30, 3, 5, skip_nan=True).D)
    assert by_mask.rmse < by_mask.history["rmse_coding"][0]
    assert not np.array_equal(by_mask.D, sparsehs.ksvd(Y, 30, 3, 5, mask=~missing, missing_as_zero=True).D)
    learnt = sparsehs.ksvd(np.abs(Y), 30, 3, 5, nonnegative=True, codes=True, test=np.abs(Y[:100]))
    assert learnt.D.min() >= 0 and learnt.codes.coefs.min() >= 0 and np.all(learnt.history["rmse_test"] > 0)
    assert sparsehs.online(np.abs(Y), 30, 3, nonnegative=True).D.min() >= 0


# ---- words, numbers and arrays of options ------------------------------------------------------------------------------------

def refused(call, words, kind=ValueError):
    with pytest.raises(kind, match=words):
        call()


def test_words_are_taken_in_any_case():
    cube = scene()
    spectra, waves = cube[0, :3] + 1.0, np.r_[480, 560, 660, 860, np.linspace(1000, 1600, 6), 1650, 2200]
    mean, C = cube.reshape(-1, 12).mean(0), np.cov(cube.reshape(-1, 12).T, bias=True)
    Y, D, _ = planted()
    pairs = [(lambda word, function=function, given=given: function(*given, word), names) for function, given, names in (
        (sparsehs.detect, (cube, spectra), ("mf", "sam", "amsd")), (sparsehs.similarity, (cube, spectra), ("sam", "ns3")),
        (sparsehs.unmix, (cube, spectra), ("none", "scaled")), (sparsehs.correct, (cube,), ("iarr", "dark")),
        (sparsehs.count, (cube,), ("hfc",)), (sparsehs.unmix_sparse, (cube, spectra), ("nnomp",)))]
    pairs += [(lambda word: sparsehs.continuum(cube, word, wavelengths=waves), ("divide", "subtract")),
              (lambda word: sparsehs.index(cube, word, wavelengths=waves), ("NDVI", "clay")),
              (lambda word: sparsehs.fit(word, cube, 3).file, ("pca", "rx")), (lambda word: sparsehs.endmembers(cube, 3, word)[0], ("atgp",)),
              (lambda word: sparsehs.omp(D, Y, 3, selection=word).coefs, ("ols",)),
              (lambda word: sparsehs.ksvd(Y, 30, 3, 1, update=word, mask=Y > -1).D, ("aksvd", "sgk")),
              (lambda word: sparsehs.ksvd(Y, 30, 3, 1, start=word).D, ("random",))]
    for call, names in pairs:
        for name in names:
            for other in name.upper(), name.title():
                got, want = call(other), call(name)
                assert np.shape(got) == np.shape(want) and (got == want if isinstance(got, bytes) else np.array_equal(got, want, True))
    assert sparsehs.detect(cube, spectra, "AMSD").shape == cube.shape[:2]
    refused(lambda: sparsehs.detect(cube, spectra[0], "GLRT", background=(mean, C)), "glrt needs the number of pixels")
    refused(lambda: sparsehs.ksvd(Y, 30, 3, mask=Y > 0, update="MOD"), "mask: given with update 'mod', expected with 'aksvd' or 'sgk'")
    refused(lambda: sparsehs.ksvd(Y, 30, 3, start="Given"), "start: 'Given' is none of signals, random, dct")
    assert np.array_equal(sparsehs.ksvd(Y, 30, 3, 1, mask=Y > -1, update=None).D, sparsehs.ksvd(Y, 30, 3, 1, mask=Y > -1).D)


def test_labels_of_dataarrays_know_words_in_any_case():
    xarray = pytest.importorskip("xarray")
    cube = xarray.DataArray(scene(), dims=("y", "x", "band"), attrs={"units": "1"})
    assert sparsehs.correct(cube, "Dark").attrs == {"units": "1"} and not sparsehs.correct(cube, "IARR").attrs
    assert sparsehs.continuum(cube, "SUBTRACT", wavelengths=np.arange(400, 412)).attrs == {"units": "1"}


def test_0_is_not_the_default():
    Y, _, _ = planted()
    cube, image = scene(), picture()[1]
    learn = lambda **given: sparsehs.ksvd(Y, 30, 3, **given)  # noqa: E731
    online = lambda **given: sparsehs.online(Y, 30, 3, **given)  # noqa: E731
    for call, words in ((lambda: learn(iterations=0), "iterations: must be at least 1, but is 0"),
                        (lambda: sparsehs.ksvd(Y, 30, 0), "sparsity: 0, expected at least 1"),
                        (lambda: learn(parallel_atoms=0), "parallel_atoms: 0, expected at least 1"),
                        (lambda: learn(rounds=0), "rounds: 0"), (lambda: learn(prune_coherence=0), "prune_coherence: 0, expected above 0"),
                        (lambda: learn(prune_uses=0), "prune_uses: 0"), (lambda: learn(regularisation_decay=0.0), "_decay: 0"),
                        (lambda: online(forgetting=0), "forgetting: 0, expected above 0 and at most 1"),
                        (lambda: online(forgetting=np.float32(1.5)), "forgetting: 1.5, expected above 0 and at most 1"),
                        (lambda: online(sweeps=0), "sweeps: 0"), (lambda: online(replace_every=0), "replace_every: 0"),
                        (lambda: online(test_every=0, test=Y), "test_every: 0"),
                        (lambda: sparsehs.denoise(image, 20, iterations=0), "iterations: must be at least 1, but is 0"),
                        (lambda: sparsehs.patches(image, 8, step=0), "step: must be at least 1, but is 0"),
                        (lambda: sparsehs.patches(image, 8, 0), "count: must be at least 1, but is 0"),
                        (lambda: sparsehs.rx(cube, trim=0.1, trim_rounds=0), "trim_rounds: 0, expected at least 1"),
                        (lambda: sparsehs.rx_classes(cube, np.zeros((40, 50), int), trim=0.1, trim_rounds=0), "trim_rounds: 0"),
                        (lambda: sparsehs.ica(cube, 3, iterations=0), "iterations: 0"),
                        (lambda: sparsehs.ica(cube, 3, tolerance=0), "tolerance: 0"),
                        (lambda: sparsehs.pca(cube, 0), "components: must be at least 1, but is 0"),
                        (lambda: sparsehs.pca(cube, variance=0), "variance: 0, expected above 0 and at most 1"),
                        (lambda: sparsehs.lasso(Y[:9], Y, 0.1, gap=0), "gap: 0, expected above 0"),
                        (lambda: sparsehs.lasso(Y[:9], Y, 0.1, sweeps=0), "sweeps: 0, expected at least 1")):
        refused(call, words)
    for call in (lambda **given: sparsehs.omp(Y[:30], Y, **given), lambda **given: sparsehs.ksvd(Y, 30, **given),
                 lambda **given: sparsehs.online(Y, 30, **given)):
        refused(lambda: call(tolerance=0), "sparsity, tolerance: one of them must be given and above 0; sparsity=24, all that fit")
        call(sparsity=3, tolerance=0)
    normal = np.random.default_rng(3).normal(size=(400, 4))  # without independent components of its own, so that none converges
    assert sparsehs.fit("ica", normal, 4, restarts=0, iterations=3).reports[:, 1].max() == 0
    assert sparsehs.fit("ica", normal, 4, iterations=3).reports[:, 1].max() == 3


def test_sklearns_estimators_refuse_0_too():
    import sparsehs_sklearn as estimators
    refused(lambda: estimators.KSVD(10, 2, iterations=0).fit(planted()[0]), "iterations: must be at least 1, but is 0")
    refused(lambda: estimators.RX(trim=0.1, trim_rounds=0).fit(planted()[0]), "trim_rounds: 0")
    for learn in estimators.KSVD(10, tolerance=0).fit, estimators.KSVD(10, tolerance=0).partial_fit:
        refused(lambda: learn(planted()[0]), "sparsity, tolerance: one of them must be given and above 0")
    fitted = estimators.KSVD(10, iterations=1).fit(planted()[0])
    refused(lambda: fitted.set_params(tolerance=0).transform(planted()[0]), "sparsity, tolerance: one of them")


def test_a_state_of_online_learning_is_checked():
    Y, _, _ = planted()
    state = lambda: sparsehs.online(Y, 30, 3, batch=100, shuffle=False)  # noqa: E731
    on = lambda given: sparsehs.online(Y, sparsity=3, batch=100, shuffle=False, state=given)  # noqa: E731
    more, fewer = state(), state()
    more.D, fewer.D = np.vstack([more.D] * 60), fewer.D[:20]
    refused(lambda: on(more), r"state.sums_xx: its shape is \(30, 30\) and its type float64, expected \(1800, 1800\) and float64")
    refused(lambda: on(fewer), r"state.sums_xx: its shape is \(30, 30\)")
    fewer.sums_xx = fewer.sums_xx[:20, :20]
    refused(lambda: on(fewer), r"state.sums_yx: its shape is \(30, 24\) and its type float64, expected \(20, 24\)")
    fewer.sums_yx = fewer.sums_yx[:20]
    whole = on(fewer)
    assert whole.D.shape == (20, 24) and whole.sums_xx.shape == (20, 20)
    single, lost = state(), state()
    single.sums_yx, lost.sums_xx[3, 3] = single.sums_yx.astype(np.float32), np.nan
    refused(lambda: on(single), "state.sums_yx: .* its type float32, expected .*float64")
    refused(lambda: on(lost), "state.sums_xx: a value is NaN or infinite")
    refused(lambda: on(3), "state: 3, expected what online returns, or None", TypeError)
    turned = state()
    turned.sums_xx, turned.sums_yx = np.asfortranarray(turned.sums_xx), np.asfortranarray(turned.sums_yx)
    assert np.array_equal(on(turned).D, on(state()).D)


def test_codes_whose_arrays_were_changed():
    Y, D, _ = planted()
    part, few, turned = (sparsehs.omp(D, Y, 3) for _ in range(3))
    part.used, part.atoms, part.coefs = part.used[::2], part.atoms[::2], part.coefs[::2]
    few.used, few.atoms, few.coefs = np.minimum(few.used, 2), few.atoms[:, :2], few.coefs[:, :2]
    turned.coefs, turned.atoms = np.asfortranarray(turned.coefs), turned.atoms.astype(np.int64)
    for codes in part, few, turned:
        assert np.allclose(codes.decode(D), codes.toarray() @ D) and np.allclose(codes.tocsr().toarray(), codes.toarray())
    twice = sparsehs.omp(D, Y, 3)
    twice.atoms[::2, 2] = twice.atoms[::2, 0]
    assert np.allclose(twice.decode(D), twice.toarray() @ D) and np.allclose(twice.tocsr().toarray(), twice.toarray())
    for name, value, words in (("atoms", lambda a: a[:10], r"atoms: its shape is \(10, 3\), expected \(600, any\)"),
                               ("coefs", lambda a: a[:10], r"coefs: its shape is \(10, 3\), expected \(600, 3\) as atoms"),
                               ("used", lambda a: a + 1, "used: signal 0 has 4 atoms, expected 0 to 3"),
                               ("used", lambda a: a[None], "used: its shape is .* expected 1 dimensions"),
                               ("atoms", lambda a: a - 99, "atoms: signal 0 has atom -.*, expected 0 to 47")):
        codes = sparsehs.omp(D, Y, 3)
        setattr(codes, name, value(getattr(codes, name)))
        for use in (lambda: codes.decode(D)), codes.toarray, codes.tocsr:
            refused(use, words)


def test_what_single_precision_does_not_hold_is_refused():
    Y, D, _ = planted(real=np.float32)
    wide = D.astype(np.float64)
    ahead = np.ones(wide.shape)
    ahead[7] = 1e-60
    cube = np.abs(Y[:5]) + np.float32(1)
    part = " of row 7 is .*e-6.*, expected 1.18e-38 to 3.4e.38"
    for call, words in ((lambda: sparsehs.omp(wide * 1e-60, Y, 3), "dictionary: the largest value of row 0 is .*e-6.*, expected 1.18e-38"),
                        (lambda: sparsehs.omp(wide * 1e-40, Y, 3), "dictionary: the largest value of row 0 is .*e-4.*, expected 1.18e-38"),
                        (lambda: sparsehs.omp(wide * 1e60, Y, 3), r"dictionary: the largest value of row 0 is .*e\+.*, expected 1.18e-38"),
                        (lambda: sparsehs.omp(wide * ahead, Y, 3), "dictionary: the largest value" + part),
                        (lambda: sparsehs.lasso(wide * ahead, Y, 0.1), "dictionary: the largest value" + part),
                        (lambda: sparsehs.lasso(D, Y, 1e60), r"lambda1: 1e\+60, expected 0 or more and at most 3.4e\+38"),
                        (lambda: sparsehs.omp(D, Y, 3, weights=np.full(24, 1e-60)), "weights: the largest value is 1e-60"),
                        (lambda: sparsehs.omp(D, Y, 3, weights=np.full(24, 1e60)), r"weights: the largest value is 1e\+60"),
                        (lambda: sparsehs.omp(D, Y[:48], 3, weights=ahead), "weights: the largest value" + part),
                        (lambda: sparsehs.omp(D, Y, 3, gram=(wide @ wide.T) * 1e-60), "gram: the largest value of row 0"),
                        (lambda: sparsehs.omp(D, Y, tolerance_each=np.full(600, 1e60)), "tolerance_each: the largest value of row 0"),
                        (lambda: sparsehs.omp_gram(D @ D.T, Y @ D.T, 3, norms2=np.full(600, 1e-60)), "norms2: the largest value of row 0"),
                        (lambda: sparsehs.ksvd(Y, 48, 3, 1, start=wide * ahead), "start: the largest value" + part),
                        (lambda: sparsehs.ksvd(Y, 48, 3, 1, test=wide * ahead), "test: the largest value" + part),
                        (lambda: sparsehs.omp(D, Y, 3).decode(wide * ahead), "dictionary: the largest value" + part),
                        (lambda: sparsehs.unmix_sparse(cube, np.abs(wide) * ahead), "library: the largest value" + part),
                        (lambda: sparsehs.unmix_sparse(cube, np.abs(wide) * ahead, "nnomp"), "library: the largest value" + part)):
        refused(call, words)
    want = sparsehs.omp(D, Y, 3)
    assert np.array_equal(sparsehs.omp(wide, Y, 3).coefs, want.coefs)
    assert np.array_equal(sparsehs.omp(wide * 2.0**-100, Y, 3).atoms, want.atoms)
    state = sparsehs.online(Y.astype(np.float64), 30, 3)
    state.D = state.D * 1e-60
    refused(lambda: sparsehs.online(Y, 30, 3, state=state), "state.D: the largest value of row 0")


def test_numbers_that_are_0_in_single_precision_are_not_the_default():
    Y, D, _ = planted(real=np.float32)
    assert np.array_equal(sparsehs.ksvd(Y, 30, tolerance=1e-60, iterations=2).D, sparsehs.ksvd(Y, 30, tolerance=1e-44, iterations=2).D)
    assert sparsehs.omp(D, Y, tolerance=1e-60).used.min() > 3
    with pytest.warns(RuntimeWarning, match="lasso: .* further from their minimum"):
        sparsehs.lasso(D, Y, 0.1, gap=1e-60)


def test_masks_of_what_is_not_a_cube():
    cube = scene()
    labels = (np.arange(2000).reshape(40, 50) % 2)
    hidden = np.random.default_rng(0).random((40, 50)) < 0.2
    for below in 0, np.iinfo(np.int64).max:
        masked = np.ma.masked_array(np.where(hidden, below, labels), hidden)
        assert np.array_equal(sparsehs.rx_classes(cube, masked), sparsehs.rx_classes(cube, np.where(hidden, -1, labels)), True)
    assert np.array_equal(np.isnan(sparsehs.detect(cube, cube[0, 0], labels=masked)), hidden)
    valid = np.ma.masked_array(np.ones((40, 50), bool), hidden)
    assert sparsehs.fit("pca", cube, valid=valid).count == (~hidden).sum()
    assert np.array_equal(np.isnan(sparsehs.smooth(cube, 3, valid=valid)[..., 0]), hidden)
    clean, few = picture(32, 32)[0], dict(atoms=16, iterations=1, training=300)
    hole = np.random.default_rng(1).random((32, 32)) < 0.2
    want = sparsehs.inpaint(clean, hole, **few)
    assert np.array_equal(sparsehs.inpaint(clean, np.ma.masked_array(np.zeros((32, 32), bool), hole), **few), want)
    Y, D, _ = planted()
    for name in "sparsity_each", "tolerance_each":
        refused(lambda: sparsehs.omp(D, Y, **{name: np.ma.masked_less(np.arange(600), 5)}), name + ": values of it are masked", TypeError)
    refused(lambda: sparsehs.detect(cube, np.ma.masked_less(np.arange(12), 5)), "targets: values of it are masked", TypeError)


def test_masks_in_lists_are_not_lost():
    Y, D, _ = planted(m=4)
    missing = np.random.default_rng(0).random(Y.shape) < 0.3
    masked = np.ma.masked_array(Y, missing)
    want = sparsehs.omp(D, masked, 3)
    for given in list(masked), tuple(masked), [masked[0], masked.data[1], masked[2], masked.data[3]]:
        here = [np.ma.getmaskarray(row) for row in given]
        assert np.array_equal(sparsehs.omp(D, given, 3).coefs, sparsehs.omp(D, Y, 3, mask=~np.array(here)).coefs)
    assert not np.array_equal(want.coefs, sparsehs.omp(D, Y, 3).coefs)
    cube, hole = scene(4, 5), np.zeros((4, 5, 12), bool)
    hole[1, 2, 3] = True
    masked = np.ma.masked_array(cube, hole)
    for given in list(masked), [list(line) for line in masked]:
        assert np.isnan(sparsehs.smooth(given, 3)).any() and sparsehs.fit("pca", given).count == 19
        assert np.isnan(sparsehs.index(given, "#4")).sum() == 1
    valid = list(np.ma.masked_array(np.ones((4, 5), bool), hole.any(axis=2)))
    assert sparsehs.fit("pca", cube, valid=valid).count == 19
    refused(lambda: sparsehs.omp(list(np.ma.masked_less(D, 0)), Y, 3), "dictionary: values of it are masked", TypeError)
    refused(lambda: sparsehs.detect(cube, [np.ma.masked_less(np.arange(12.0), 5)]), "targets: values of it are masked", TypeError)


def test_nan_is_neither_a_mask_nor_a_threshold():
    Y, D, _ = planted()
    cube, none = scene(), np.full((40, 50), np.nan)
    one = np.ones(Y.shape)
    one[3, 4] = np.nan
    for call, words in ((lambda: sparsehs.omp(D, Y, 3, mask=one), r"mask: the value at \(3, 4\) is nan, expected 0 or another"),
                        (lambda: sparsehs.omp(D, np.ma.masked_less(Y, 0), 3, mask=one), r"mask: the value at \(3, 4\) is nan"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, mask=one), r"mask: the value at \(3, 4\) is nan"),
                        (lambda: sparsehs.pca(cube, valid=none), r"valid: the value at \(0, 0\) is nan"),
                        (lambda: sparsehs.inpaint(cube[..., 0], none), r"missing: the value at \(0, 0\) is nan"),
                        (lambda: sparsehs.index(cube, "#1", above=np.nan), "above: nan, expected a number or None"),
                        (lambda: sparsehs.index(cube, "#1", below=np.float32(np.nan)), "below: nan, expected a number or None")):
        refused(call, words)
    hidden = np.ma.masked_array(np.where(np.arange(50) > 9, np.ones((40, 50)), np.nan), np.arange(50) + np.zeros((40, 1)) < 10)
    assert sparsehs.fit("pca", cube, valid=hidden).count == 1600
    for two in Fraction(2), Decimal(2), np.array(2), np.array([2.0]), np.array([[2]], np.uint8), np.float32(2):
        assert np.array_equal(sparsehs.omp(D, Y, tolerance=two).coefs, sparsehs.omp(D, Y, tolerance=2.0).coefs)
    for call, words in ((lambda: sparsehs.omp(D, Y, tolerance="1"), "tolerance: must be one number, not '1'"),
                        (lambda: sparsehs.ksvd(Y, 30, tolerance="1"), "tolerance: must be one number, not '1'"),
                        (lambda: sparsehs.omp(D, Y, tolerance=np.array(["1"])), r"tolerance: must be one number, not array"),
                        (lambda: sparsehs.omp(D, Y, tolerance=np.ones(2)), r"tolerance: must be one number, not array"),
                        (lambda: sparsehs.online(Y, 30, tolerance=[1]), r"tolerance: must be one number, not \[1\]"),
                        (lambda: sparsehs.denoise(picture()[1], "20"), "sigma: must be one number, not '20'"),
                        (lambda: sparsehs.unmix_sparse(cube, cube[0, :3], weight="0.1"), "weight: must be one number, not '0.1'"),
                        (lambda: sparsehs.count(cube, "hfc", false_alarm="0.1"), "false_alarm: must be one number, not '0.1'"),
                        (lambda: sparsehs.index(cube, "#1", above="1"), "above: must be one number, not '1'"),
                        (lambda: sparsehs.detect(cube, cube[0, 0], "glrt", background=(cube[0, 0], np.eye(12), "9")),
                         "background: the number of pixels: must be one number, not '9'")):
        refused(call, words, TypeError)


def test_whole_numbers_do_not_wrap_around():
    cube, labels = scene(), np.arange(2000).reshape(40, 50) % 2
    for low in np.iinfo(np.int64).min, -2**32:
        got = sparsehs.rx_classes(cube, np.where(labels == 0, low, 1))
        assert np.array_equal(got, sparsehs.rx_classes(cube, np.where(labels == 0, -1, 1)), True)
    for high in labels + 2**32, labels * 2**31, labels.astype(np.uint64) + np.uint64(2**63), np.where(labels > 0, 9999, 7), labels > 0:
        assert np.array_equal(sparsehs.rx_classes(cube, high), sparsehs.rx_classes(cube, labels))
        found = sparsehs.detect(cube, cube[0, 0], labels=np.ma.masked_array(high, labels == 0))
        assert np.array_equal(found, sparsehs.detect(cube, cube[0, 0], labels=labels - 1), equal_nan=True)
    refused(lambda: sparsehs.rx_classes(cube, labels * 1.0), "labels: must be whole numbers", TypeError)
    Y, D, _ = planted()
    coding = lambda limits: sparsehs.omp(D, Y, sparsity_each=limits)  # noqa: E731
    refused(lambda: coding(np.full(600, 2.9)), "sparsity_each: must be whole numbers, but its type is float64", TypeError)
    refused(lambda: coding(np.full(600, 2**32 + 1)), "sparsity_each: signal 0 has 4294967297, expected 0 to 2147483647")
    refused(lambda: coding(np.full(600, -1)), "sparsity_each: signal 0 has -1, expected 0 to")
    assert coding(np.full(600, 2, np.uint8)).used.max() == 2
    for kind in np.uint8, np.uint64:
        refused(lambda: sparsehs.omp(D, Y, 3, groups=np.array([0, 200, 100], kind)), "groups: .* ascend")


LITTLE_MEMORY = """
import resource, numpy as np, sparsehs
cube = np.ones((3, 4, 12))
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
try:
    sparsehs.ppi(cube, 10**8)
except sparsehs.OutOfMemory as error:
    print(error)
print(np.isfinite(sparsehs.detect(np.random.default_rng(0).random((40, 50, 200)), np.ones(200), ridge=0.1,
                                  labels=np.arange(2000).reshape(40, 50) % 2 * 30000)).all())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not keep to RLIMIT_AS")
def test_memory_that_lacks_is_named_and_labels_take_little():
    said = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], env=dict(os.environ, PYTHONPATH=PYTHON, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"),
                          capture_output=True, text=True, check=True).stdout
    assert re.search(r"\(ppi: lines 3, samples 4, bands 12, count 100000000\)\nTrue", said), said


def test_a_covariance_has_two_triangles():
    cube = scene()
    X = cube.reshape(-1, 12)
    mean, C, target = X.mean(0), np.cov(X.T), X[7] + 1
    for half in np.tril(C), np.triu(C):
        refused(lambda: sparsehs.detect(cube, target, background=(mean, half)), r"background covariance: \(0, 1\) is .* symmetric")
        refused(lambda: sparsehs.fit("mnf", cube, noise=half), r"noise: \(0, 1\) is .* symmetric")
        refused(lambda: sparsehs.count(cube, noise=half), r"noise: \(0, 1\) is .* symmetric")
    single = C.astype(np.float32)
    single[0, 1] *= 1 + 1e-6
    assert np.allclose(sparsehs.detect(cube, target, background=(mean, single)), sparsehs.detect(cube, target, background=(mean, C)), atol=1e-3)
    refused(lambda: sparsehs.detect(cube, target, background=(mean,)), "background: expected .mean, covariance. or")
    below, far, bent = C.copy(), C.copy(), np.eye(12)
    below[3, 3] = -1
    far[0, 1] = far[1, 0] = 1.1 * math.sqrt(C[0, 0] * C[1, 1])
    bent[:3, :3] = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    unit = np.outer(*[np.logspace(-9, 9, 12)] * 2)
    for wrong, words in ((below, r"\(3, 3\) is -1, expected a variance, 0 or more"),
                         (far, r"\(0, 1\) is .*, expected at most .* in magnitude, as the variances of the two bands are"),
                         (bent * unit, "its correlation has an eigenvalue of -0.8, expected none below 0")):
        refused(lambda: sparsehs.detect(cube, target, background=(mean, wrong), ridge=5.0), "background covariance: " + words)
        refused(lambda: sparsehs.mnf(cube, noise=wrong), "noise: " + words)
        refused(lambda: sparsehs.count(cube, noise=wrong), "noise: " + words)
    flat = np.r_[X[:5], X[:5] * 3] @ np.random.default_rng(0).normal(size=(12, 12))
    low = np.cov(flat.T)
    low[5] = low[:, 5] = 0
    noisy = C.copy()
    noisy[5] = noisy[:, 5] = 0
    noisy[5, 7] = noisy[7, 5] = noisy[5, 8] = 1e-22
    for good in low, low.astype(np.float32), low * unit, C * unit, noisy:  # of few dimensions, and rounded
        assert sparsehs.mnf(cube, 2, noise=good)[1].components == 2
    refused(lambda: sparsehs.mnf(cube, noise=np.full((12, 12), np.nan)), "NaN")


def test_a_covariance_is_judged_whatever_the_units_of_its_bands():
    X = scene().reshape(-1, 12)
    C = np.cov(X.T)
    skew, far, below = C.copy(), C.copy(), C.copy()
    skew[7, 5] = -skew[5, 7]
    far[5, 7] = far[7, 5] = 1.1 * math.sqrt(C[5, 5] * C[7, 7])
    below[6, 6] *= -1
    for faint in 0, -24, -300:
        unit = 2.0 ** np.where(np.arange(12) < 5, 0, faint)
        for scale in unit, unit[::-1]:
            both = np.outer(scale, scale)
            assert np.array_equal(sparsehs._arrays._covariance(C * both, "noise", 12), C * both)
            for wrong, words in (skew, "symmetric"), (far, "in magnitude"), (below, "a variance, 0 or more"):
                refused(lambda: sparsehs._arrays._covariance(wrong * both, "noise", 12), r"noise: \(\d, \d\) is .*" + words)
    unit = 2.0 ** np.where(np.arange(12) < 5, 0, -24)
    refused(lambda: sparsehs.mnf(X * unit, 2, noise=skew * np.outer(unit, unit)), r"noise: \(5, 7\) is .* symmetric")


def test_similarity_scales_the_cube_once(monkeypatch):
    cube, seen, unit = scene(), [], sparsehs.cubes._unit
    monkeypatch.setattr(sparsehs.cubes, "_unit", lambda x: seen.append(x.ndim) or unit(x))
    sparsehs.similarity(cube, cube[0, :6])
    assert seen.count(3) == 1


def test_signals_of_float32_may_have_any_unit_and_those_of_float64_most():
    Y, _, _ = planted()
    for unit in 1e100, 1e-100:
        refused(lambda: sparsehs.ksvd(Y * unit, 48, 3, 2), "range")
    Y = Y.astype(np.float32)
    rmse = sparsehs.ksvd(Y, 48, 3, 2).rmse
    for unit in np.float32(1e30), np.float32(1e-24):
        assert sparsehs.ksvd(Y * unit, 48, 3, 2).rmse / unit == pytest.approx(rmse, rel=0.2)


def test_options_of_another_kind_are_refused():
    cube, image = scene(), picture()[1]
    target, learnt = cube[3, 4] + 1, np.eye(64)
    for call, words in ((lambda: sparsehs.pca(cube, trim=0.1), "trim: given with kind 'pca', expected with 'rx' alone"),
                        (lambda: sparsehs.pca(cube, noise=np.eye(12)), "noise: given with kind 'pca', expected with 'mnf' alone"),
                        (lambda: sparsehs.mnf(cube, correlation=1), "correlation: given with kind 'mnf', expected with 'pca' or 'rx'"),
                        (lambda: sparsehs.rx(cube, neighbours="mean"), "neighbours: given with kind 'rx'"),
                        (lambda: sparsehs.ica(cube, 3, variance=0.5), "variance: given with kind 'ica'"),
                        (lambda: sparsehs.detect(cube, target, undesired=target), "undesired: given with method 'mf', expected with 'osp'"),
                        (lambda: sparsehs.detect(cube, target, "sam", ridge=0.1), "ridge: given with method 'sam'"),
                        (lambda: sparsehs.detect(cube, target, "OSP", columns=True), "columns: given with method 'osp'"),
                        (lambda: sparsehs.count(cube, false_alarm=0.1), "false_alarm: given with method 'hysime'"),
                        (lambda: sparsehs.count(cube, "hfc", noise=np.eye(12)), "noise: given with method 'hfc'"),
                        (lambda: sparsehs.unmix_sparse(cube, cube[0, :3], sparsity=2), "sparsity: given with method 'lasso'"),
                        (lambda: sparsehs.unmix_sparse(cube, cube[0, :3], "nnomp", weight=0.1), "weight: given with method 'nnomp'"),
                        (lambda: sparsehs.detect(cube, target, columns=True, background=(target, np.eye(12))), "two of them are given"),
                        (lambda: sparsehs.omp(learnt, image[:, :64], 3, method="Subspace", selection="ols"), "method 'subspace': cannot"),
                        (lambda: sparsehs.omp(learnt, image[:, :64], 3, nonnegative=True, selection="OLS"), "selection 'ols': cannot")):
        refused(call, words)
    for call, words in ((lambda: sparsehs.denoise(image, 20, dictionary=learnt, update="sgk"), "update: given with dictionary"),
                        (lambda: sparsehs.denoise(image, 20, dictionary=learnt, typo=1), "typo: given with dictionary"),
                        (lambda: sparsehs.denoise(image, 20, typo=1, atoms=16, iterations=1, training=200), "typo: there is no such option"),
                        (lambda: sparsehs.fit("pca", cube, unconverged=1), "unconverged: there is no such option"),
                        (lambda: sparsehs.pca(cube, unconverged=1), "unconverged: there is no such option"),
                        (lambda: sparsehs.denoise(image, 20, tolerance=1.0), "tolerance: denoise decides it by itself"),
                        (lambda: sparsehs.omp_gram(learnt, image[:, :64], 3, mask=image > 0), "mask: only omp takes it")):
        refused(call, words, TypeError)


def test_options_that_exclude_each_other_are_refused():
    """The library would read only one of the two."""
    cube, noise = scene(), np.eye(12)
    refused(lambda: sparsehs.mnf(cube, 3, noise=noise, neighbours="lower"), "neighbours: cannot be used together with noise")
    refused(lambda: sparsehs.mnf(cube, 3, noise=noise, noise_residual=True), "noise_residual: cannot be used together with noise")
    refused(lambda: sparsehs.ica(cube, 3, start=np.eye(3), random_start=True), "random_start: cannot be used together with start")
    refused(lambda: sparsehs.patches(picture()[0], 8, 10, step=2), "step: cannot be used together with count")
    assert sparsehs.mnf(cube, 3, noise=noise, noise_residual=False)[1].kind == "mnf"


def test_options_that_nothing_reads_are_refused():
    Y, _, _ = planted()
    cube, labels = scene(), np.zeros((40, 50), int)
    learn = lambda **given: sparsehs.ksvd(Y, 30, 3, **dict(dict(iterations=20), **given))  # noqa: E731
    for call, words in ((lambda: learn(stop_improvement=0.5), "stop_improvement: given without stop_patience, expected with it alone"),
                        (lambda: learn(regularisation_decay=0.5), "regularisation_decay: given without regularisation"),
                        (lambda: learn(regularised_iterations=2), "regularised_iterations: given without regularisation"),
                        (lambda: learn(coherence_rounds=2), "coherence_rounds: given without coherence"),
                        (lambda: learn(patch_width=8), "patch_width: given without start='dct'"),
                        (lambda: learn(patch_channels=3, start="random"), "patch_channels: given without start='dct'"),
                        (lambda: sparsehs.online(Y, 30, 3, patch_height=8), "patch_height: given without start='dct'"),
                        (lambda: sparsehs.online(Y, 30, 3, test_every=2), "test_every: given without test"),
                        (lambda: sparsehs.rx(cube, trim_rounds=2), "trim_rounds: given without trim"),
                        (lambda: sparsehs.rx_classes(cube, labels, trim_rounds=2), "trim_rounds: given without trim")):
        refused(call, words)
    assert learn(stop_improvement=0.5, stop_patience=1).iterations < 20
    learn(stop_improvement=0.5, stop_patience=0, iterations=1)
    learn(start="DCT", patch_width=6, patch_height=4, iterations=1)
    state = sparsehs.online(Y, 30, 3, start="dct", patch_width=6, patch_height=4)
    sparsehs.online(Y, 30, 3, start="dct", patch_width=6, patch_height=4, state=state)
    sparsehs.rx(cube, trim=0.0, trim_rounds=2)
    sparsehs.denoise(picture(32, 32)[1], 20, start="signals", atoms=16, iterations=1, training=300)


def test_messages_name_the_argument_and_the_value():
    Y, D, _ = planted()
    cube = scene()
    library = cube[0, :3].copy()
    library[1, 2] = np.nan
    for call, words in ((lambda: sparsehs.omp(D, Y, 3, threads=-1), "threads: -1, expected 0 or more"),
                        (lambda: sparsehs.fit("ica", cube, 3).denoise(cube), "denoise: the model is of the kind 'ica', expected 'pca' or"),
                        (lambda: sparsehs.fit("rx", cube).inverse_transform(cube), "inverse_transform: the model is of the kind 'rx'"),
                        (lambda: sparsehs.fit("pca", cube, 3).denoise(cube, 4), "components: 4, expected 0 to 3"),
                        (lambda: sparsehs.fit("pca", cube, 13), "components: 13, expected at most 12"),
                        (lambda: sparsehs.lasso(D, Y, 0.1, gap=-1), "gap: -1, expected above 0"),
                        (lambda: sparsehs.lasso(D, Y, 0.1, sweeps=-1), "sweeps: -1, expected at least 1"),
                        (lambda: sparsehs.lasso(D, Y, [0.1, -1]), "lambda1: -1, expected 0 or more"),
                        (lambda: sparsehs.endmembers(cube, 1), "count: must be at least 2, but is 1"),
                        (lambda: sparsehs.endmembers(cube[0, :2], 3), "count: 3 endmembers of a cube of the shape"),
                        (lambda: sparsehs.unmix_sparse(cube, library), "library: spectrum 1 is nan in band 2, expected numbers"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, keep=7), "keep: 7 is none of best, last"),
                        (lambda: sparsehs.rx(cube, trim=0.6), "trim: 0.6, expected 0 to 0.5"),
                        (lambda: sparsehs.rx_local(cube, 3, 9, ridge=-1), "ridge: -1, expected 0 or more"),
                        (lambda: sparsehs.rx(cube, skip=12), "skip: 12, expected below 12, the number of bands"),
                        (lambda: sparsehs.rx_classes(cube, np.zeros((40, 50), int), skip=12), "skip: 12, expected below 12"),
                        (lambda: sparsehs.rx_local(cube, 4, 9), "inner: 4, expected an odd number of pixels"),
                        (lambda: sparsehs.rx_local(cube, 3, 8), "outer: 8, expected an odd number of pixels"),
                        (lambda: sparsehs.rx_local(cube, 9, 9), "inner: 9, expected below outer, which is 9"),
                        (lambda: sparsehs.denoise(picture()[1].astype(np.float32), 1e300), r"sigma: 1e\+300, expected at most [1-9].*e\+3"),
                        (lambda: sparsehs.denoise(picture()[1], 20, patch=1), "patch: must be at least 2, but is 1"),
                        (lambda: sparsehs.resample(cube, 700, 20, wavelengths=np.arange(400, 412)), r"centres: its shape is \(\)"),
                        (lambda: sparsehs.inpaint(picture()[0], tolerance=-1), "tolerance: -1, expected 0 or more"),
                        (lambda: sparsehs.inpaint(picture()[0], tolerance=np.inf), "tolerance: inf, expected 0 or more and finite"),
                        (lambda: sparsehs.omp(D, Y, tolerance=np.inf), "tolerance: inf, expected 0 or more and finite"),
                        (lambda: sparsehs.lasso(D, Y, 0.1, gap=np.inf), "gap: inf, expected above 0 and finite"),
                        (lambda: sparsehs.fit("pca", cube, variance=np.inf), "variance: inf, expected above 0 and at most 1$"),
                        (lambda: sparsehs.similarity(cube, cube[0, :0]), r"spectra: the shape is \(0, 12\), expected at least one"),
                        (lambda: sparsehs.match(cube, cube[0, :0]), r"spectra: the shape is \(0, 12\), expected at least one"),
                        (lambda: sparsehs.unmix_sparse(cube, cube[0, :0]), r"library: the shape is \(0, 12\), expected at least"),
                        (lambda: sparsehs.ppi(cube, library), "skewers: spectrum 1 is nan in band 2, expected numbers"),
                        (lambda: sparsehs.unmix(cube, library), "endmembers: spectrum 1 is nan in band 2, expected numbers"),
                        (lambda: sparsehs.unmix(cube, cube[0, :20]), "endmembers: 20 of 12 bands, expected .* unmix_sparse takes more"),
                        (lambda: sparsehs.unmix(cube, cube[0, :0]), "endmembers: 0 of 12 bands, expected at least 1"),
                        (lambda: sparsehs.noise_sigma(cube[:3, :9, 0]), "image: 3 x 9 pixels, expected at least 7 x 7"),
                        (lambda: sparsehs.denoise(cube[:3, :9, 0], patch=3), "image: 3 x 9 pixels, expected at least 7 x 7"),
                        (lambda: sparsehs.omp(D, Y, 10**12), "sparsity: 1000000000000, expected at least 1 and at most 2147483647"),
                        (lambda: sparsehs.omp(D, Y, 3, weights=-np.arange(24.0)), r"weights: -1 at \(1,\), expected numbers of 0 or more"),
                        (lambda: sparsehs.omp(D, Y, 3, weights=np.where(Y == Y[3, 4], np.nan, 1)), r"weights: nan at \(3, 4\), expected"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, nonnegative=True, update="MOD"), "nonnegative: given with update 'mod', expected with"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, skip_nan=True, update="ksvd"), "skip_nan: given with update 'ksvd', expected with"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, incoherence=1, update="mod"), "incoherence: given with update 'mod'"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, nonnegative=True, coherence=0.5), "nonnegative: cannot be used together with coh"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, mask=Y > 0, regularisation=1), "mask: cannot be used together with regularisation"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, method="subspace"), "method: 'subspace', expected 'omp' or none"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, regularisation=-1), "regularisation: -1, expected 0 or more"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, incoherence=-1), "incoherence: -1, expected 0 or more"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, coherence=1), "coherence: 1, expected 0 or more and below 1"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, stop_patience=-1), "stop_patience: -1, expected 0 or more"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, stop_improvement=np.nan, stop_patience=1), "stop_improvement: nan, expected a num"),
                        (lambda: sparsehs.ksvd(Y, 30, 3, first_iteration=-1), "first_iteration: -1, expected 0 or more"),
                        (lambda: sparsehs.online(Y, 30, 3, start_weight=-1), "start_weight: -1, expected 0 or more"),
                        (lambda: sparsehs.ica(cube, 3, plain_steps=-1), "plain_steps: -1, expected 0 or more"),
                        (lambda: sparsehs.bands(cube, band_snr=np.nan), "band_snr: nan, expected a number")):
        refused(call, words)
    for call, words in ((lambda: sparsehs.ksvd(Y, 30, 3, iterations=2.0), "iterations: must be a whole number, not 2.0"),
                        (lambda: sparsehs.superres_learn([picture()[1]], 2.0), "factor: must be a whole number, not 2.0"),
                        (lambda: sparsehs.omp(D, Y, 3, device=0), "device: 0, expected None, 'gpu', or part of the name"),
                        (lambda: sparsehs.index(cube, 7), "expression: must be text, not 7"),
                        (lambda: sparsehs.omp_gram(None, Y @ D.T, 3), "gram: must be numbers, but its type is object"),
                        (lambda: sparsehs.rx(cube, nodata=(-9, -9)), r"nodata: must be one number, not \(-9, -9\)"),
                        (lambda: sparsehs.correct(cube, "dark", nodata="-9"), "nodata: must be one number, not '-9'")):
        refused(call, words, TypeError)
    assert np.array_equal(sparsehs.omp(D, Y, 3, progress=False).coefs, sparsehs.omp(D, Y, 3).coefs)
    assert sparsehs.endmembers(cube, 1, "ATGP")[0].shape == (1, 12)


def test_hot_pixels_spoil_no_filling():
    clean = 300 + 10 * picture(96, 96)[0]
    hot, far = clean.copy(), np.ones(clean.shape, bool)
    hole = np.random.default_rng(0).random(clean.shape) < 0.5
    for y, x in (10, 20), (50, 80), (88, 40):
        hot[y, x], hole[y, x] = 65535, False
        far[max(0, y - 12):y + 13, max(0, x - 12):x + 13] = False
    filled = [sparsehs.inpaint(a.astype(np.float32), hole) for a in (clean, hot)]
    assert np.array_equal(filled[1][~hole], hot[~hole].astype(np.float32))
    for part in hole & far, hole & ~far:
        plain, off = (np.sqrt(np.square(a - clean)[part].mean()) for a in filled)
        assert off < 1.15 * plain
    moon = np.where(np.hypot(*np.mgrid[-48:48, -48:48]) < 3, 65535, clean)  # it is no hot pixel: its holes are filled with it
    assert sparsehs.inpaint(moon, hole)[46:51, 46:51].min() > 30000


def test_what_docstrings_say_of_patches_bands_and_coding():
    image = np.arange(400.0).reshape(20, 20)
    Y, taken = sparsehs.patches(image, 8, keep_mean=True)
    assert not taken.any() and Y[0].mean() == image[:8, :8].mean()
    places = (sparsehs.patches(image, 8, step=5)[1][:, 0] - image[:8, :8].mean()).round().astype(int)
    assert sorted(set(places // 20)) == [0, 5, 10, 12]  # the last row, too
    assert len(sparsehs.patches(image, 8, step=10**12)[0]) == len(sparsehs.patches(image, 8, step=12)[0]) == 4
    rng = np.random.default_rng(0)
    cube = rng.dirichlet([1] * 3, 4000) @ rng.random((3, 8)) + rng.normal(0, 0.001, (4000, 8))
    for lost, reason in (0.03, ""), (0.049, ""), (0.051, "missing"):
        holes = cube.copy()
        holes[:int(4000 * lost), 3] = np.nan
        assert sparsehs.bands(holes)[2][3] == reason
        both = np.vstack([holes, cube])
        assert sparsehs.bands(both, valid=np.arange(8000) < 4000)[2][3] == "missing"
    long = rng.normal(size=(40, 16)) * rng.uniform(0.1, 10, (40, 1))
    unit, Y = long / np.linalg.norm(long, axis=1, keepdims=True), rng.normal(size=(200, 16))
    chosen = lambda D, **given: sparsehs.omp(D, Y, 4, **given).atoms  # noqa: E731
    assert (chosen(long)[:, 0] == np.abs(Y @ long.T).argmax(axis=1)).all() and (chosen(long) != chosen(unit)).any()
    for given in dict(skip_nan=True), dict(weights=np.ones(16)), dict(mask=np.ones(Y.shape)), dict(selection="ols"):
        assert (chosen(long, **given) == chosen(unit, **given)).all()
    left = sparsehs.omp(unit, Y[:20], tolerance=3.0, groups=[0, 10], errors=True).errors2
    assert (np.sqrt(left.reshape(2, 10).sum(axis=1)) <= 3).all()
    positive = np.maximum(0, Y @ unit.T).max(axis=1)
    assert not sparsehs.lasso(unit, Y, 1.0, relative=True, nonnegative=True).used.any()
    assert sparsehs.lasso(unit, Y[:1], positive[0] * 0.999, nonnegative=True).used.all()


def test_defaults_are_those_of_the_docstrings():
    cube, (Y, D, _) = scene(), planted()
    words = sparsehs._float.values
    for kind, given in (("pca", dict(correlation=False, divisor="n", precise="auto")), ("rx", dict(skip=0, trim=0, divisor="n")),
                        ("mnf", dict(neighbours="right", noise_residual=False, divisor="n")),
                        ("ica", dict(contrast="pow3", approach="deflation", route="auto", iterations=200, tolerance=1e-8, restarts=3,
                                     plain_steps=0, random_start=0, seed=0, order="kurtosis", divisor="n", precise="auto"))):
        assert sparsehs.fit(kind, cube, **given).file == sparsehs.fit(kind, cube).file
    learnt = sparsehs.ksvd(Y, 30, 3, 3, update="aksvd", parallel_atoms=1, start="signals", seed=0, rounds=1, replace="worst", keep="best",
                           prune_coherence=0.99, stop_improvement=0, stop_patience=0)
    assert np.array_equal(learnt.D, sparsehs.ksvd(Y, 30, 3, 3).D)
    codes = sparsehs.omp(D, Y, 3, selection="omp", method="omp", gram_mode="auto")
    assert np.array_equal(codes.coefs, sparsehs.omp(D, Y, 3).coefs)
    for function in sparsehs.fit, sparsehs.omp, sparsehs.ksvd:
        for option, listed in re.findall(r'(\w+)\s+\(?("\w[^()]*?")[:;),]*[\n)]', function.__doc__):
            assert words[option][re.findall('"([^"]+)"', listed)[0]] == 0


def test_masked_floats_keep_their_type():
    """A no-data value is rounded to it: -9999 is none of float16."""
    cube = (np.random.default_rng(0).random((4, 4, 5)) * 10).astype(np.float16)
    cube[0, 0, 0] = -9999
    hidden = np.zeros(cube.shape, bool)
    hidden[2, 2, 1] = True
    for kind in np.float16, ">f2", np.float32, np.float64:
        there = np.isnan(sparsehs.smooth(cube.astype(kind), 3, gaps=True, nodata=float(cube[0, 0, 0])))
        got = sparsehs.smooth(np.ma.masked_array(cube.astype(kind), hidden), 3, gaps=True, nodata=cube[0, 0, 0])
        assert np.isnan(got[0, 0, 0]) and np.array_equal(np.isnan(got), there | hidden)
    masked = np.ma.masked_array(cube, hidden)
    assert np.isnan(sparsehs.smooth(masked, 3, gaps=True, nodata=-9999)[0, 0, 0])
    whole = np.ma.masked_array(np.arange(80, dtype=np.int16).reshape(4, 4, 5), hidden)
    assert sparsehs.smooth(whole, 3, gaps=True).dtype == np.float32 and np.isnan(sparsehs.smooth(whole, 3, gaps=True)).sum() == 1


def test_numpys_own_errors_are_not_raised():
    """np.seterr is of the caller's arithmetic: what underflows in a function is 0."""
    cube, waves = hour(np.float64), np.linspace(450, 2350, 24)
    cube[0, 0] = 1e-300
    with np.errstate(all="raise"):
        for call in (lambda: sparsehs.resample(cube, [600, 1500], [90, 3], wavelengths=waves),
                     lambda: sparsehs.similarity(cube, cube[1, :3]), lambda: sparsehs.compare(cube, cube * 2),
                     lambda: sparsehs.unmix(cube, cube[1, :3], "scaled", errors=True), lambda: sparsehs.continuum(cube, wavelengths=waves),
                     lambda: sparsehs.derivative(cube, wavelengths=waves), lambda: sparsehs.smooth(cube, 5),
                     lambda: sparsehs.bands(cube), lambda: sparsehs.index(cube, "#1/(#2-#2)"), lambda: sparsehs.correct(cube, "logres"),
                     lambda: sparsehs.denoise(picture(32, 32)[1], 20, atoms=16, iterations=1, training=300),
                     lambda: sparsehs.inpaint(picture(32, 32)[0], np.eye(32) > 0, atoms=16, iterations=1, training=300)):
            call()


def test_wavelengths_are_micrometres_where_all_are_small():
    cube, shifts = hour(), np.linspace(50, 3000, 24)
    slopes = sparsehs.derivative(cube, wavelengths=shifts + 50)
    for same in shifts, shifts / 1000:
        assert np.allclose(sparsehs.derivative(cube, wavelengths=same), slopes, atol=1e-6, equal_nan=True)


def test_units_of_a_coordinate_of_wavelengths():
    xarray = pytest.importorskip("xarray")
    cube, order = hour(), np.random.default_rng(2).permutation(24)
    want = sparsehs.smooth(cube[..., order], 5, wavelengths=WAVES[order])

    def labelled(factor, **unit):
        waves = ("band", WAVES[order] * factor, unit)
        return xarray.DataArray(cube[..., order], dims=("y", "x", "band"), coords=dict(wavelength=waves))

    for factor, names in ((1, ("nm", "Nanometers", "")), (1e-3, ("um", "micrometers", "\u00b5m")), (10, ("Angstrom", "angstroms", "\u212b", "AA")),
                          (1e-6, ("mm", "millimetre")), (1e-7, ("cm",)), (1e-9, ("m", "meters"))):
        for name in names:
            assert np.allclose(sparsehs.smooth(labelled(factor, units=name), 5), want, atol=1e-6, equal_nan=True)
    for name in "cm-1", "1/cm", "cm^-1", "cm**-1", "Wavenumber [1 / cm]", "cm\u207b\u00b9", "cm^{-1}":
        numbers = labelled(1).assign_coords(wavelength=("band", 1e7 / WAVES[order], {"units": name}))
        slopes = sparsehs.derivative(cube[..., order], wavelengths=WAVES[order])
        assert np.allclose(sparsehs.derivative(numbers), slopes, atol=1e-6, equal_nan=True)
    with pytest.warns(RuntimeWarning, match="wavelength: its unit 'furlong' is none of nm, um, mm, cm, m, angstrom, 1/cm") as warned:
        plain = sparsehs.smooth(labelled(1, units="furlong"), 5)
    assert warned[0].filename == __file__
    assert np.array_equal(plain, sparsehs.smooth(cube[..., order], 5), equal_nan=True)


def test_units_of_wavelengths_that_a_call_gives():
    xarray = pytest.importorskip("xarray")
    cube, given = hour(), dict(wavelengths=WAVES)
    slopes, centres, fwhm = sparsehs.derivative(cube, **given), np.array([560, 830.0]), np.array([60, 80.0])
    model, colours = sparsehs.fit("pca", cube, 2, **given), sparsehs.resample(cube, centres, fwhm, **given)[0]

    def of(values, unit):
        return xarray.DataArray(values, dims="band", attrs={"units": unit})

    for unit, convert in (("nm", lambda w: w), ("um", lambda w: w / 1e3), ("mm", lambda w: w / 1e6), ("m", lambda w: w / 1e9),
                          ("Angstrom", lambda w: w * 10), ("cm-1", lambda w: 1e7 / w)):
        waves = of(convert(WAVES), unit)
        labelled = xarray.DataArray(cube, dims=("y", "x", "band"), coords=dict(wavelength=("band", waves.values, waves.attrs)))
        widths = fwhm * 1e7 / centres**2 if unit == "cm-1" else convert(fwhm)
        for x in cube, labelled, labelled.drop_vars("wavelength"):
            assert np.allclose(sparsehs.derivative(x, wavelengths=waves), slopes, atol=1e-9, equal_nan=True)
            assert np.allclose(sparsehs.fit("pca", x, 2, wavelengths=waves).wavelengths, WAVES)
            assert sparsehs.index(x, "b830/b700", wavelengths=waves).shape == cube.shape[:2]
            model.transform(x, wavelengths=waves)
            for wide in widths, of(widths, unit), of(fwhm, "nm"):
                got = sparsehs.resample(x, of(convert(centres), unit), wide, wavelengths=waves)[0]
                assert np.allclose(got, colours, atol=1e-6, equal_nan=True)
        bare = sparsehs.resample(cube, of(convert(centres), unit), **given)[0]
        assert np.allclose(bare, sparsehs.resample(cube, centres, **given)[0], atol=1e-6, equal_nan=True)
        assert np.allclose(sparsehs.resample(cube, centres, of(widths, unit), **given)[0], colours, atol=1e-6, equal_nan=True)
    odd = of(WAVES, "furlong")
    for x in cube, labelled:
        refused(lambda: sparsehs.smooth(x, 5, wavelengths=odd), "wavelengths: its unit 'furlong' is none of nm, um")
        refused(lambda: sparsehs.resample(x, odd[:2], **given), "centres: its unit 'furlong' is none of nm, um")
        refused(lambda: sparsehs.resample(x, centres, odd[:2], **given), "fwhm: its unit 'furlong' is none of nm, um")
    refused(lambda: sparsehs.derivative(labelled, wavelengths=labelled.wavelength[::-1]), "wavelengths: its band 1 has the wavelength")


def test_known_units_of_small_wavelengths_are_not_guessed():
    xarray = pytest.importorskip("xarray")
    cube, waves = scene(), np.linspace(50, 70, 12)
    plain = sparsehs.derivative(cube, wavelengths=waves + 1000)
    for factor, unit in ((1, "nm"), (10, "Angstrom"), (1e-3, "um")):
        labelled = xarray.DataArray(cube, dims=("y", "x", "band"), coords=dict(wavelength=("band", waves * factor, {"units": unit})))
        the_same(sparsehs.derivative(labelled).values, plain, 1e-9)
        model = sparsehs.fit("pca", labelled, 2)
        assert np.allclose(model.wavelengths, waves) and model.transform(labelled).shape == (40, 50, 2)
    numbers = labelled.assign_coords(wavelength=("band", 1e7 / waves, {"units": "1/cm"}))
    the_same(sparsehs.derivative(numbers).values, plain, 1e-9)
    bare = labelled.assign_coords(wavelength=("band", waves))
    the_same(1000 * sparsehs.derivative(bare).values, plain, 1e-9)


def test_shifts_are_no_wavenumbers():
    xarray = pytest.importorskip("xarray")
    cube = hour()
    plain = sparsehs.smooth(cube, 5)
    raman = dict(units="Raman shift (cm-1)")
    for first, said in ((50, raman), (-100, raman), (0, dict(units="cm-1")), (-100, dict(units="1/cm")),
                        (50, dict(units="cm-1", long_name="Raman Shift"))):
        waves = ("band", np.linspace(first, 3000, 24), said)
        shifts = xarray.DataArray(cube, dims=("y", "x", "band"), coords=dict(wavelength=waves))
        words = "wavelength: its unit is %s and its least number %d: these are shifts" % (re.escape(repr(said["units"])), first)
        with pytest.warns(RuntimeWarning, match=words) as warned:
            assert np.array_equal(sparsehs.smooth(shifts, 5), plain, equal_nan=True)
        assert warned[0].filename == __file__


def test_labels_that_leave_no_pixel():
    cube = scene()
    for call in (lambda: sparsehs.rx_classes(cube, np.full((40, 50), -1)),
                 lambda: sparsehs.detect(cube, cube[0, 0], labels=np.full((40, 50), -1))):
        refused(call, "pixels")


# ---- what goes wrong ---------------------------------------------------------------------------------------------------------

def test_errors_say_what_the_library_says():
    Y, D, _ = planted()
    Y[3, 4] = np.nan
    with pytest.raises(ValueError, match="signals: a value is NaN or infinite") as caught:
        sparsehs.omp(D, Y, 3)
    assert caught.value.status == "SHS_SIGNALS_NOT_FINITE" and isinstance(caught.value, sparsehs.Error)
    Y[3, 4] = 0
    for wrong, kind in ((lambda: sparsehs.omp(D[:, 1:], Y, 3), ValueError), (lambda: sparsehs.omp(D, Y[0], 3), ValueError),
                        (lambda: sparsehs.omp(D, Y, -1), ValueError), (lambda: sparsehs.omp(D, Y, 2.5), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, tolerance=-1), ValueError),
                        (lambda: sparsehs.omp(D, Y + 1j, 3), TypeError),
                        (lambda: sparsehs.omp(D + 1j, Y, 3), TypeError), (lambda: sparsehs.pca(scene() + 1j), TypeError),
                        (lambda: sparsehs.lasso(D, np.ma.masked_less(Y, 0), 1), TypeError),
                        (lambda: sparsehs.denoise(np.ma.masked_less(picture()[1], 0), 20), TypeError),
                        (lambda: sparsehs.omp(D, Y), ValueError), (lambda: sparsehs.omp(D, Y, 0, 0.0), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, groups=[1, 5]), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, groups=[0, 5, 5]), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, groups=[0, len(Y)]), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, groups=[0.0, 2.0]), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, groups=[0], skip_nan=True), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, nonnegative=True, mask=Y > 0), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, gram=np.eye(3)), ValueError),
                        (lambda: sparsehs.omp_gram(D @ D.T, Y @ D.T, tolerance=1), ValueError),
                        (lambda: sparsehs.omp_gram(D @ D.T, Y @ D.T), ValueError),
                        (lambda: sparsehs.lasso(D, Y, -1), ValueError), (lambda: sparsehs.lasso(D, Y, np.nan), ValueError),
                        (lambda: sparsehs.lasso(D, Y, []), ValueError), (lambda: sparsehs.lasso(D, Y, 1, most=0), ValueError),
                        (lambda: sparsehs.online(Y), TypeError), (lambda: sparsehs.online(Y, 10, batch=0), ValueError),
                        (lambda: sparsehs.online(Y, 10, 3, mask=Y > 0), TypeError),
                        (lambda: sparsehs.online(Y, 10, 3, state=sparsehs.online(Y, 12, 3)), ValueError),
                        (lambda: sparsehs.ksvd(Y, 10, 3, groups=[0]), ValueError),
                        (lambda: sparsehs.ksvd(Y, 10, 3, mask=Y > 0, update="mod"), ValueError),
                        (lambda: sparsehs.ksvd(Y[:0], 10, 3), ValueError),
                        (lambda: sparsehs.detect(scene(), np.ones(11)), ValueError),
                        (lambda: sparsehs.detect(scene(), np.ones(12), "mtmf"), ValueError),
                        (lambda: sparsehs.unmix(scene(), np.ones((3, 12))), ValueError),
                        (lambda: sparsehs.unmix(scene(), np.eye(12)[:3], "half"), ValueError),
                        (lambda: sparsehs.endmembers(scene(), 13), ValueError), (lambda: sparsehs.endmembers(scene(), 2.5), TypeError),
                        (lambda: sparsehs.rx_local(scene(), 3, 4), ValueError), (lambda: sparsehs.rx_local(scene(), 5, 5), ValueError),
                        (lambda: sparsehs.rx_classes(scene(), np.zeros((3, 3), int)), ValueError),
                        (lambda: sparsehs.fit("pca", scene(), wavelengths=[1, 2]), ValueError),
                        (lambda: sparsehs.fit("pca", scene()).transform(scene()[..., :5]), ValueError),
                        (lambda: sparsehs.inpaint(picture()[1], np.zeros((3, 3))), ValueError),
                        (lambda: sparsehs.inpaint(np.full((20, 20), np.nan)), ValueError),
                        (lambda: sparsehs.inpaint(picture()[1] + 1j), TypeError),
                        (lambda: sparsehs.denoise(picture()[1], 20, alpha=True), ValueError),
                        (lambda: sparsehs.omp(D, [["a"]], 3), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, sparsty=2), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, coefs=Y), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, selection="best"), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, method="best"), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, method="subspace", nonnegative=True), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, nonnegative="yes"), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, mask=Y[1:] > 0), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, weights=-np.ones_like(Y)), ValueError),
                        (lambda: sparsehs.ksvd(Y, 0, 3), ValueError), (lambda: sparsehs.ksvd(Y, "all", 3), TypeError),
                        (lambda: sparsehs.ksvd(Y, 10, 3, start=D), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, progress="yes"), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, threads=-1), ValueError),
                        (lambda: sparsehs.omp(D, Y, 3, threads=2**40), ValueError),
                        (lambda: sparsehs.ksvd(Y, 10, 3, seed=-1), ValueError),
                        (lambda: sparsehs.ksvd(Y, 10, 3, seed=0.5), TypeError),
                        (lambda: sparsehs.ksvd(Y, 10, 3, iterations=-1), ValueError),
                        (lambda: sparsehs.ksvd(Y, 10, 3, incoherence="much"), TypeError),
                        (lambda: sparsehs.omp(D, Y, 3, device="no such device"), sparsehs.Error),
                        (lambda: sparsehs.pca(np.zeros((3, 4, 0))), ValueError),
                        (lambda: sparsehs.pca(np.zeros(3)), ValueError), (lambda: sparsehs.pca(scene(), 13), ValueError),
                        (lambda: sparsehs.fit("pcb", scene()), ValueError),
                        (lambda: sparsehs.pca(scene(), valid=np.ones(3)), ValueError),
                        (lambda: sparsehs.denoise(np.zeros((3, 3)), 5), ValueError),
                        (lambda: sparsehs.denoise(np.full((20, 20), np.inf), 5), ValueError),
                        (lambda: sparsehs.denoise(np.zeros((20, 20)), -5), ValueError),
                        (lambda: sparsehs.Model(b"SHSmodel"), ValueError)):
        with pytest.raises(kind):
            wrong()


def test_codes_come_with_the_error_that_one_is_out_of_range():
    Y, D, _ = planted(m=40, real=np.float32)
    want = sparsehs.omp(D, Y, 3)
    Y[7] *= 2.0**90
    with pytest.raises(sparsehs.ArgumentError, match="range") as caught:
        sparsehs.omp(D * np.float32(2.0**-60), Y, 3)
    codes = caught.value.codes
    assert caught.value.status == "SHS_OUT_OF_RANGE"
    assert np.flatnonzero(~np.isfinite(codes.coefs).all(axis=1)).tolist() == [7]
    assert np.array_equal(np.delete(codes.atoms, 7, 0), np.delete(want.atoms, 7, 0))
    with pytest.raises(sparsehs.ArgumentError) as caught:
        sparsehs.omp(D, Y * np.nan, 3)
    assert caught.value.codes is None


def test_what_c_writes_has_the_type_that_it_says():
    library, parameter = sparsehs._float, ("Z", False, "shs_real", "*")
    with pytest.raises(TypeError):
        library.argument(parameter, np.zeros(3))
    fixed = np.zeros(3, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ValueError):
        library.argument(parameter, fixed)


def test_progress_is_told_and_can_stop():
    Y, _, _ = planted(m=4000)
    told = []
    sparsehs.ksvd(Y, 60, 4, 30, progress=lambda *what: told.append(what))
    assert told and all(isinstance(phase, str) and step <= steps for phase, step, steps, error in told)
    with pytest.raises(sparsehs.Cancelled, match="cancelled") as caught:
        sparsehs.ksvd(Y, 60, 4, 30, progress=lambda *what: True)
    assert caught.value.best.D.shape == (60, Y.shape[1])
    with pytest.raises(sparsehs.Cancelled):
        sparsehs.omp(Y[:60], Y, 4, progress=lambda *what: True)
    with pytest.raises(ZeroDivisionError):
        sparsehs.ksvd(Y, 60, 4, 30, progress=lambda *what: 1 / 0)


def test_progress_by_tqdm(capsys):
    Y, _, _ = planted()
    pytest.importorskip("tqdm")
    sparsehs.ksvd(Y, 40, 3, 5, progress=True)
    assert "it" in capsys.readouterr().err


@pytest.fixture
def interrupts():
    """What a shell starts in the background ignores SIGINT, and Python then leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("way", ["signal", "interrupt_main"])
def test_keyboard_interrupt_stops(way, interrupts):
    Y, _, _ = planted(m=20000, p=64, n=128, s=6, real=np.float32)
    stop = (lambda: os.kill(os.getpid(), signal.SIGINT)) if way == "signal" else _thread.interrupt_main
    for delay in 0.3, 0.31, 0.37:
        timer = threading.Timer(delay, stop)
        timer.start()
        start = time.time()
        with pytest.raises(KeyboardInterrupt):
            sparsehs.ksvd(Y, 256, 8, 100000)
        assert time.time() - start < 20
        timer.join()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_online_learns_on_from_pieces_of_any_size():
    Y, D, _ = planted(m=4500, p=20, n=30, s=3, real=np.float32)
    Y += 0.02 * np.random.default_rng(1).standard_normal(Y.shape).astype(np.float32)

    def error(D):
        return float(np.sqrt(np.square(Y[4000:] - sparsehs.omp(D, Y[4000:], 3).decode(D)).mean()))
    learnt = sparsehs.online(Y[:3000], 30, 3, epochs=4, batch=256)
    for piece in 1, 7, 100:
        state = learnt
        for first in range(3000, 3000 + min(1000, 80 * piece), piece):
            state = sparsehs.online(Y[first:first + piece], 30, 3, shuffle=False, state=state)
        assert error(state.D) < 1.05 * error(learnt.D)


@pytest.mark.parametrize("real", REALS)
def test_lasso_in_pieces_is_that_of_all_at_once(real):
    Y, D, _ = planted(m=3000, p=40, n=60, s=5, real=real)
    for given in dict(), dict(most=4), dict(nonnegative=True), dict(relative=True, lambda2=0.1):
        told = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what `most` cuts off
            path = sparsehs.lasso(D, np.tile(Y, (4, 1)), [0.5, 0.1], progress=lambda *what: told.append(what[1:3]), threads=2, **given)
            parts = [sparsehs.lasso(D, Y[first:first + 128], [0.5, 0.1], threads=1, **given) for first in range(0, 2944, 128)]
        assert told and told == sorted(told) and {steps for _, steps in told} == {12000}
        for k, codes in enumerate(path):
            assert len(codes) == 12000 and np.isfinite(codes.gaps).all()
            atoms = np.concatenate([part[k].toarray() for part in parts])
            assert np.array_equal(codes.toarray()[:2944], atoms)
    Y[2000, 3] = np.nan
    refused(lambda: sparsehs.lasso(D, Y, 0.1), "signals: a value is NaN or infinite")
    refused(lambda: sparsehs.lasso(D * np.nan, Y, 0.1), "dictionary: a value is NaN or infinite")
    assert np.allclose(sparsehs.lasso(D * real(2.0**30), Y[:1900], 1e8).toarray() * 2.0**30, sparsehs.lasso(D, Y[:1900], 1e8 * 2.0**-30).toarray(),
                       atol=1e-3)


LASSO_ROOM = """
import resource, sys, numpy as np, sparsehs
rng = np.random.default_rng(0)
D, Y = rng.standard_normal((1000, 32)), rng.standard_normal((20000, 32))
D /= np.linalg.norm(D, axis=1, keepdims=True)
lambdas = [0.97, 0.95][:int(sys.argv[1])]
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**10 if sys.platform == "linux" else 2**20)
sparsehs.lasso(D, Y[:10], lambdas, relative=True)
before = used()
sparsehs.lasso(D, Y, lambdas, relative=True, threads=2)
print(used() - before)
"""


@pytest.mark.parametrize("lambdas", [1, 2])
def test_lasso_takes_little_memory_beside_its_codes(lambdas):
    pytest.importorskip("resource")
    found = subprocess.run([sys.executable, "-c", LASSO_ROOM, str(lambdas)], env=dict(os.environ, PYTHONPATH=PYTHON), stdout=-1,
                           check=True)
    codes = lambdas * 20000 * 1000 * 12 / 2**20  # of int and double
    assert float(found.stdout) < codes + 48


def test_an_interrupt_of_lasso_waits_for_a_second_or_two(interrupts):
    rng = np.random.default_rng(0)
    D, Y = rng.standard_normal((1200, 100)), rng.standard_normal((4000, 100))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    at = []
    timer = threading.Timer(0.5, lambda: (at.append(time.perf_counter()), _thread.interrupt_main()))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sparsehs.lasso(D, Y, 0.01, relative=True)
    assert time.perf_counter() - at[0] < 10  # all signals take minutes; much of it is for machines that are busy


class Alarm(Exception):
    pass


def raise_alarm(number, frame):
    raise Alarm


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer of signals here")
@pytest.mark.parametrize("progress", [None, lambda *what: None])
def test_what_a_handler_raises_reaches_the_caller(progress, interrupts):
    Y, _, _ = planted(m=20000, p=64, n=128, s=6, real=np.float32)
    before = signal.signal(signal.SIGALRM, raise_alarm)
    try:
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Alarm):
                sparsehs.ksvd(Y, 256, 8, 100000, progress=progress)
            assert signal.getsignal(signal.SIGALRM) is raise_alarm and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_handler_that_raises_nothing_stops_nothing(interrupts):
    Y, D, _ = planted(m=20000, p=64, n=128, s=6)
    want, seen = sparsehs.ksvd(Y, 128, 6, 8).D, []
    signal.signal(signal.SIGINT, lambda *what: seen.append(what[0]))
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    assert np.array_equal(sparsehs.ksvd(Y, 128, 6, 8).D, want)
    timer.join()
    sparsehs.omp(D, Y[:10], 3)
    assert seen == [signal.SIGINT]


def test_signals_in_calls_within_calls(interrupts):
    """A call within progress, and one within a handler, share the signals that the call around them notes."""
    Y, D, _ = planted(m=4000)
    done = []

    def code(*what):
        done.append(len(sparsehs.omp(D, Y[:20], 3)))

    def interrupted(*what):
        code()
        os.kill(os.getpid(), signal.SIGINT)
        code()

    with pytest.raises(KeyboardInterrupt):
        sparsehs.ksvd(Y, 60, 4, 1000, progress=interrupted)
    assert done == [20] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, code)
    sparsehs.ksvd(Y, 60, 4, 3, progress=interrupted)
    assert len(done) >= 4 and signal.getsignal(signal.SIGINT) is code


def imported(**environment):
    return subprocess.run([sys.executable, "-c", "import sparsehs; print(sparsehs.build_info())"], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=PYTHON, **environment))


def test_what_the_import_says(tmp_path):
    said = imported(SPARSEHS_CACHE=str(tmp_path), SPARSEHS_CC="no-such-compiler").stderr
    assert "ImportError: sparsehs: no C compiler: SPARSEHS_CC=no-such-compiler is not found" in said
    said = imported(SPARSEHS_CACHE=str(tmp_path), SPARSEHS_CC="", PATH="").stderr
    assert "neither cc nor gcc nor clang is there" in said
    said = imported(SPARSEHS_CACHE=str(tmp_path), SPARSEHS_CFLAGS="-no-such-flag").stderr
    assert "ImportError" in said and "no-such-flag" in said
    assert not os.listdir(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    assert "SPARSEHS_CACHE names another folder" in imported(SPARSEHS_CACHE=str(file / "folder")).stderr
    again = imported()
    assert again.returncode == 0 and "compiling" not in again.stderr and "double" in again.stdout


# ---- pictures ----------------------------------------------------------------------------------------------------------------

def psnr(a, b):
    return 10 * np.log10(255 ** 2 / np.mean((np.asarray(a, float) - b) ** 2))


@pytest.mark.parametrize("real", REALS)
def test_denoising_helps(real):
    clean, noisy = picture()
    out = sparsehs.denoise(noisy.astype(real), 20, atoms=64, iterations=8)
    assert out.dtype == real and out.shape == noisy.shape
    assert psnr(out, clean) > psnr(noisy, clean) + 5
    slope = np.add.outer(np.arange(128.0), np.arange(128.0)) + np.random.default_rng(0).normal(0, 20, (128, 128))
    sigma, guess = sparsehs.noise_sigma(slope.astype(real))
    assert abs(sigma - 20) < 3 and not guess  # within 15 %, as tests/results/README.md says


def test_pictures_of_every_kind():
    _, noisy = picture()
    small = dict(sigma=20, atoms=32, iterations=2)
    levels = np.clip(noisy, 0, 255).astype(np.uint8)
    want = sparsehs.denoise(levels.astype(np.float32), **small)
    assert np.array_equal(sparsehs.denoise(levels, **small), want)
    frame = np.zeros((100, 100), np.uint8)
    frame[10:74, 10:90] = levels
    assert np.array_equal(sparsehs.denoise(frame[10:74, 10:90], **small), want)
    assert np.array_equal(sparsehs.denoise(np.asfortranarray(levels), **small), want)
    assert np.array_equal(sparsehs.denoise(levels.astype(np.int64), **small).dtype, np.float64)
    colour = np.stack([levels, levels[::-1], levels // 2], -1)
    assert sparsehs.denoise(colour, **small).shape == colour.shape
    learnt = sparsehs.ksvd(sparsehs.patches(levels)[0], 32, 3, 2).D
    assert sparsehs.denoise(levels, 20, dictionary=learnt).shape == levels.shape


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("unit", [2.0**-8, 2.0**-60, 2.0**50, 1 / 255, 257.0, 1e-20])
def test_results_do_not_depend_on_the_unit_of_a_picture(real, unit):
    clean, noisy = picture()
    noisy = noisy.astype(real)
    scaled, to = (noisy * unit).astype(real), real(unit)
    hole = np.random.default_rng(1).random(noisy.shape) < 0.3
    assert np.isclose(sparsehs.noise_sigma(scaled)[0] / unit, sparsehs.noise_sigma(noisy)[0], rtol=1e-3)
    small = dict(atoms=32, iterations=1, training=500)
    for function, given in ((sparsehs.denoise, dict(sigma=20)), (sparsehs.denoise, {}), (sparsehs.inpaint, dict(missing=hole))):
        there = {name: value * unit if name == "sigma" else value for name, value in given.items()}
        want, got = function(noisy, **given, **small), function(scaled, **there, **small) / to
        if np.log2(unit) % 1 == 0:  # no digit changes
            assert np.array_equal(got, want)
        assert abs(psnr(got, clean) - psnr(want, clean)) < 0.2


def test_noise_that_is_small_in_the_unit_is_found():
    y, x = np.mgrid[:64, :80]
    clean = 0.5 + 0.2 * np.sin(x / 9) * np.cos(y / 7)
    noisy = clean + np.random.default_rng(0).normal(0, 0.002, clean.shape)
    out = sparsehs.denoise(noisy, atoms=32, iterations=3, training=2000)
    assert np.mean((out - clean) ** 2) < 0.5 * np.mean((noisy - clean) ** 2)
    flat = np.full((40, 40), 0.3)
    assert np.array_equal(sparsehs.denoise(flat), flat)


def test_alpha_is_no_colour():
    _, noisy = picture()
    small = dict(sigma=20, atoms=32, iterations=2)
    levels = np.clip(noisy, 0, 255).astype(np.uint8)
    colour = np.stack([levels, levels[::-1], levels // 2], -1)
    alpha = (np.indices(levels.shape).sum(axis=0) % 256).astype(np.uint8)
    for plain in colour, levels[..., None]:
        both = np.concatenate([plain, alpha[..., None]], axis=2)
        out = sparsehs.denoise(both, **small)
        assert np.array_equal(out[..., -1], alpha)
        assert np.array_equal(out[..., :-1], sparsehs.denoise(plain, **small))
        assert sparsehs.noise_sigma(both) == sparsehs.noise_sigma(plain)
        assert np.array_equal(sparsehs.patches(both)[0], sparsehs.patches(plain)[0])
        assert not np.array_equal(sparsehs.denoise(both, **small, alpha=False)[..., -1], alpha)
        hole = np.zeros(levels.shape, bool)
        hole[10:14, 20:24] = True
        filled = sparsehs.inpaint(both, hole, atoms=16, iterations=1, training=500)
        assert np.array_equal(filled[..., -1], alpha) and np.array_equal(filled[~hole], both[~hole])
    assert np.array_equal(sparsehs.denoise(colour, **small, alpha=True)[..., 2], colour[..., 2])


def test_inpainting():
    clean, _ = picture(64, 80)
    rng = np.random.default_rng(5)
    hole = rng.random(clean.shape) < 0.5
    damaged = np.where(hole, np.nan, clean)
    out = sparsehs.inpaint(damaged, atoms=64, iterations=5, training=2000)
    assert np.array_equal(out[~hole], clean[~hole]) and np.isfinite(out).all()
    assert psnr(out[hole], clean[hole]) > psnr(np.full(hole.sum(), clean[~hole].mean()), clean[hole]) + 8
    few = dict(atoms=16, iterations=1, training=500)
    want = sparsehs.inpaint(damaged, **few)
    assert np.array_equal(sparsehs.inpaint(clean, hole, **few), want)
    assert np.array_equal(sparsehs.inpaint(np.ma.masked_array(clean, hole), **few), want)
    y, x = np.mgrid[:64, :80]
    smooth = 100 + 50 * np.sin(x / 9) * np.cos(y / 11) + x
    for part in 0.5, 0.8, 0.95:  # no worse than without a dictionary
        hole_there = rng.random(smooth.shape) < part
        plain = sparsehs.inpaint(smooth, hole_there, rounds=0)
        assert psnr(sparsehs.inpaint(smooth, hole_there, **few), smooth) > psnr(plain, smooth) - 0.1 and psnr(plain, smooth) > 30
    wide = clean.copy()
    wide[20:45, 20:45] = np.nan  # wider than two patches
    assert np.isfinite(sparsehs.inpaint(wide, patch=8, **few)).all()
    colour = np.stack([clean, clean[::-1], clean / 2], -1)
    out = sparsehs.inpaint(colour, hole, **few)
    assert out.shape == colour.shape and np.array_equal(out[~hole], colour[~hole])
    assert np.array_equal(sparsehs.inpaint(clean, np.zeros(clean.shape)), clean)
    assert np.array_equal(sparsehs.inpaint(np.full((20, 20), 7.0), np.eye(20) > 0), np.full((20, 20), 7.0))
    assert sparsehs.inpaint(clean.astype(np.uint8), hole, **few).dtype == np.float32


@pytest.mark.parametrize("real", REALS)
def test_a_picture_of_any_layout_is_filled_in_the_same(real):
    clean = np.dstack([picture(32, 40)[0] + shift for shift in (0, 5, 9)]).astype(real)
    hole = np.random.default_rng(0).random((32, 40)) < 0.3
    fill = lambda image: sparsehs.inpaint(image, hole, atoms=200, iterations=1, rounds=1, training=300)  # noqa: E731
    want = fill(clean)
    for layout in np.asfortranarray(clean), clean[::-1].copy()[::-1], clean.astype(clean.dtype.newbyteorder(">")):
        got = fill(layout)
        assert got.dtype == real and np.array_equal(got, want)


def test_denoising_is_that_of_the_program(tmp_path, monkeypatch):
    program = os.path.join(ROOT, "build", "denoise")
    if not os.path.exists(program):
        pytest.skip("build/denoise is not here")
    run = lambda *what: subprocess.run([program, *map(str, what)], check=True, cwd=tmp_path, capture_output=True)  # noqa: E731
    run("--draw", "clean.pgm")
    run("clean.pgm", "out.pgm", "--sigma", 20, "--iterations", 3, "--atoms", 64)
    read = lambda name: np.frombuffer((tmp_path / name).read_bytes()[-256 * 256:], np.uint8).reshape(256, 256)  # noqa: E731

    def weight(pixels, sigma):
        """The program's: at most the paper's, and of a contrast without the 0.5 % of values at either end."""
        ordered = np.sort(pixels, axis=None).astype(np.float64)
        few = len(ordered) // 200
        variance = np.clip(ordered, ordered[few], ordered[-1 - few]).var()
        return min(30, 0.45 * np.sqrt(max(variance - sigma**2, sigma**2 / 100))) / sigma

    monkeypatch.setattr(sparsehs.pictures, "_own_weight", weight)
    ours = sparsehs.denoise(read("clean.pgm"), 20, iterations=3, atoms=64)
    assert np.abs(np.clip(np.round(ours), 0, 255) - read("out.pgm")).max() <= 1


def test_patches_are_those_of_numpy():
    _, noisy = picture(20, 24)
    Y, means = sparsehs.patches(noisy, 5, keep_mean=True)
    theirs = np.lib.stride_tricks.sliding_window_view(noisy, (5, 5)).reshape(-1, 25)
    assert np.array_equal(Y, theirs)
    Y, means = sparsehs.patches(noisy, 5)
    assert np.allclose(Y + means, theirs)
    assert sparsehs.patches(noisy, 5, 77, seed=4)[0].shape == (77, 25)


@pytest.mark.parametrize("real", REALS)
def test_patches_of_values_near_the_end_of_the_range(real):
    image = np.random.default_rng(0).random((20, 24)).astype(real)
    for exponent in (-100, 126, 127, 128) if real is np.float32 else (-1000, 1000, 1020, 1023, 1024):
        for given in dict(), dict(keep_mean=True), dict(unit_norm=True), dict(count=5):
            want, got = sparsehs.patches(image, **given), sparsehs.patches(np.ldexp(image, exponent), **given)
            assert np.array_equal(got[1], np.ldexp(want[1], exponent))
            assert np.allclose(got[0], want[0] if "unit_norm" in given else np.ldexp(want[0], exponent), rtol=1e-14, atol=0)
    ends = np.where(image < 0.5, -1, 1).astype(real) * np.finfo(real).max
    refused(lambda: sparsehs.patches(ends), "image: the largest value is .*, from which the mean of a patch is too far")
    assert np.isfinite(sparsehs.patches(ends, unit_norm=True)[0]).all()


def test_superresolution(tmp_path):
    y, x = np.mgrid[:96, :120]
    truth = (120 + 60 * np.sign(np.sin(x / 6 + y / 9)) + 30 * np.sin(y / 5 - x / 11)).astype(np.float32)
    small, shown = sparsehs.enlarging._smaller(truth, 2), truth[::-1, ::-1]
    learnt = sparsehs.superres_learn([shown], 2, atoms=128, iterations=3, patches=4000)
    large = sparsehs.superres(small, learnt)
    bicubic = sparsehs.enlarging._larger(small, 2)
    assert large.shape == truth.shape and psnr(large, truth) > psnr(bicubic, truth) + 2
    # The unit does not matter, nor an alpha channel.
    in_ones = sparsehs.superres_learn([shown / 256], 2, atoms=128, iterations=3, patches=4000)
    assert abs(psnr(sparsehs.superres(small / 256, in_ones) * 256, truth) - psnr(large, truth)) < 0.1
    rgba = np.stack([small, small, small, small], axis=-1)
    assert sparsehs.superres(rgba, learnt).shape == truth.shape + (4,)
    learnt.save(tmp_path / "model")
    assert np.array_equal(sparsehs.superres(small, sparsehs.Enlarger.load(tmp_path / "model")), large)
    data = (tmp_path / "model").read_bytes()

    def flipped(at):
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]

    bracket = data.index(b"}", data.index(b"NUMPY"))  # without it NumPy raises a TokenError, which is no ValueError
    for damaged, said in ((flipped(len(data) - 300), "check sum"), (data[:-100], "damaged"), (data[:-1], "damaged"),
                          (data[:2000], "damaged|truncated"), (flipped(bracket), "check sum"),
                          (flipped(bracket)[:-12], "damaged")):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ValueError, match=said):
            sparsehs.Enlarger.load(tmp_path / "damaged")
    (tmp_path / "earlier").write_bytes(data[:-12])
    assert np.array_equal(sparsehs.Enlarger.load(tmp_path / "earlier").low, learnt.low)
    for wrong, kind in ((lambda: sparsehs.superres_learn([shown], 5), ValueError), (lambda: sparsehs.superres_learn([]), ValueError),
                        (lambda: sparsehs.superres_learn([shown[:4]]), ValueError), (lambda: sparsehs.superres(small, 2), TypeError),
                        (lambda: sparsehs.superres(small * np.nan, learnt), ValueError)):
        with pytest.raises(kind):
            wrong()
    program = os.path.join(ROOT, "build", "superres")
    if os.path.exists(program):
        (tmp_path / "small.pgm").write_bytes(b"P5 60 48 255\n" + np.clip(np.round(small), 0, 255).astype(np.uint8).tobytes())
        subprocess.run([program, "small.pgm", "large.pgm", "--dictionary", "model"], check=True, cwd=tmp_path, capture_output=True)
        theirs = np.frombuffer((tmp_path / "large.pgm").read_bytes()[-truth.size:], np.uint8).reshape(truth.shape)
        assert np.abs(theirs - np.clip(large, 0, 255)).mean() < 1


# ---- cubes -------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("real", REALS)
def test_pca_is_that_of_sklearn_and_spectral_python(real):
    import sklearn.decomposition
    import spectral
    cube = scene(real=real)
    components, model = sparsehs.pca(cube, 4, divisor="n-1")
    flat = cube.reshape(-1, cube.shape[2]).astype(float)
    theirs = sklearn.decomposition.PCA(4).fit(flat)
    assert np.allclose(model.eigenvalues[:4], theirs.explained_variance_, rtol=1e-6)
    same_up_to_sign(components.reshape(-1, 4)[:, :3].astype(float), theirs.transform(flat)[:, :3], 1e-5)
    spy = spectral.principal_components(cube.astype(float))
    assert np.allclose(model.eigenvalues[:4], spy.eigenvalues[:4], rtol=1e-6)
    same_up_to_sign(model.vectors.T[:, :3], spy.eigenvectors[:, :3], 1e-6)
    assert np.allclose(model.inverse_transform(components), model.denoise(cube), rtol=1e-5)


def test_cubes_of_every_type_and_layout():
    cube = np.round(scene() * 10)
    want = sparsehs.fit("pca", cube, 3)
    layouts = [lambda a: a, np.asfortranarray, lambda a: np.ascontiguousarray(a.transpose(2, 0, 1)).transpose(1, 2, 0),
               lambda a: np.ascontiguousarray(a.transpose(0, 2, 1)).transpose(0, 2, 1), lambda a: a[::-1, ::-1].copy()[::-1, ::-1]]
    for kind in "u2", ">u2", "i2", "i4", ">i4", "u4", "f4", ">f4", "f8", ">f8", "i8", "u8":
        for layout in layouts:
            given = layout(cube.astype(kind))
            given.flags.writeable = False
            model = sparsehs.fit("pca", given, 3)
            assert np.allclose(model.eigenvalues, want.eigenvalues, rtol=1e-9) and np.allclose(model.mean, want.mean)
    every = scene()[::2, ::3, ::4]
    assert np.allclose(sparsehs.fit("pca", every).eigenvalues, sparsehs.fit("pca", every.copy()).eigenvalues)
    assert np.allclose(sparsehs.fit("pca", cube.reshape(-1, 12), 3).eigenvalues, want.eigenvalues)
    assert sparsehs.pca(cube.astype(np.uint8), 2)[0].dtype == np.float32


def test_cubes_of_sixteen_bits():
    """They are read as they are: the answer is that of the same values as float32, a no-data value is rounded as they were."""
    kinds = [np.dtype("f2"), np.dtype(">f2")]
    try:
        import ml_dtypes
        kinds.append(np.dtype(ml_dtypes.bfloat16))
    except ImportError:
        pass
    for kind in kinds:
        given = scene().astype(kind)
        given[:7, :9, 3] = -9999
        given.flags.writeable = False
        wide = given.astype(np.float32)
        got, want = sparsehs.fit("pca", given, nodata=-9999), sparsehs.fit("pca", wide, nodata=float(wide[0, 0, 3]))
        assert got.count == want.count == 40 * 50 - 63
        assert np.array_equal(got.eigenvalues, want.eigenvalues) and np.array_equal(got.mean, want.mean)


def test_pixels_that_are_missing():
    cube, valid = scene(), np.random.default_rng(0).random((40, 50)) > 0.3
    want = sparsehs.fit("pca", cube[valid])
    marked, holes = cube.copy(), cube.copy()
    marked[~valid, 3], holes[~valid, 5] = -9999, np.nan
    for model in sparsehs.fit("pca", cube, valid=valid), sparsehs.fit("pca", marked, nodata=-9999), sparsehs.fit("pca", holes):
        assert model.count == valid.sum() and np.allclose(model.eigenvalues, want.eigenvalues)
    assert np.array_equal(np.isnan(sparsehs.rx(cube, valid=valid)), ~valid)


def calls_of_cubes():
    """A call of every function that takes a cube, by its name and a word."""
    material = scene()[::20, 25]
    waves, classes, known = np.linspace(450, 2450, 12), np.arange(40 * 50).reshape(40, 50) % 2, (scene().mean((0, 1)), np.eye(12))
    all_bands = "(#3-#8)/(#3+#8)" + "".join("+0*#%d" % band for band in range(1, 13))  # index ignores bands without a name here
    models = {kind: sparsehs.fit(kind, scene(), 4, **({"approach": "symmetric"} if kind == "ica" else {}))
              for kind in ("pca", "mnf", "ica", "rx")}
    calls = {"compare": lambda cube, **how: sparsehs.compare(cube, scene(), **how),
             "compare other": lambda cube, **how: sparsehs.compare(scene(), cube, **how),
             "rx_classes": lambda cube, **how: sparsehs.rx_classes(cube, classes, **how),
             "rx_local": lambda cube, **how: sparsehs.rx_local(cube, 3, 11, **how),
             "unmix errors": lambda cube, **how: sparsehs.unmix(cube, material, errors=True, **how),
             "match": lambda cube, **how: sparsehs.match(cube, material, **how),
             "ppi": lambda cube, **how: sparsehs.ppi(cube, 50, threshold=0.1, **how),
             "bands": lambda cube, **how: sparsehs.bands(cube, band_snr=0, **how)[1],
             "smooth": lambda cube, **how: sparsehs.smooth(cube, 3, **how),
             "resample": lambda cube, **how: sparsehs.resample(cube, [800, 1500], [300, 300], wavelengths=waves, **how)[0],
             "derivative": lambda cube, **how: sparsehs.derivative(cube, 2, wavelengths=waves, **how),
             "index": lambda cube, **how: sparsehs.index(cube, all_bands, **how),
             "detect background": lambda cube, **how: sparsehs.detect(cube, material, background=known, **how),
             "detect labels": lambda cube, **how: sparsehs.detect(cube, material, labels=classes, **how),
             "detect columns": lambda cube, **how: sparsehs.detect(cube, material, columns=True, **how)}
    for function in sparsehs.pca, sparsehs.mnf, sparsehs.ica:
        calls[function.__name__] = lambda cube, f=function, **how: f(cube, 3, **how)[0]
    for kind, model in models.items():
        calls["fit " + kind] = lambda cube, k=kind, **how: sparsehs.fit(k, cube, 3, **how).eigenvalues
        calls["transform " + kind] = lambda cube, m=model, **how: m.transform(cube, **how)
    for kind in "pca", "mnf":
        calls["denoise " + kind] = lambda cube, m=models[kind], **how: m.denoise(cube, 2, **how)
    calls["inverse_transform"] = lambda cube, m=sparsehs.fit("pca", scene()), **how: m.inverse_transform(cube, **how)
    for trim in 0, 0.1:
        calls["rx %g" % trim] = lambda cube, t=trim, **how: sparsehs.rx(cube, trim=t, **how)
    methods = {"count": "hysime hfc nwhfc", "continuum": "divide subtract", "correct": "iarr logres dark",
               "similarity": "sam sid sidsam ns3 jmsam", "unmix": "full nonnegative sum none scaled", "unmix_sparse": "lasso nnomp",
               "endmembers": "vca nfindr atgp", "detect": "mf cem ace sace glrt sam"}
    for name, words in methods.items():
        more = {"continuum": dict(wavelengths=waves)}.get(name, {})
        beside = {"endmembers": (3,)}.get(name, ())
        if name in ("similarity", "unmix", "unmix_sparse", "detect"):
            beside = (material,)
        for word in words.split():
            calls[name + " " + word] = (lambda cube, f=getattr(sparsehs, name), b=beside, w=word, m=more, **how:
                                        f(cube, *b, w, **m, **how))
    for method in "osp", "amsd":
        calls["detect " + method] = (lambda cube, m=method, **how:
                                     sparsehs.detect(cube, material[0], m, undesired=material[1:], **how))
    calls["correct flat"] = lambda cube, **how: sparsehs.correct(cube, "flat", region=(1, 2, 20, 9), **how)
    calls["correct gains"] = lambda cube, **how: sparsehs.correct(cube, "gains", gain=waves, offset=waves, **how)
    return calls


def results(made):
    return made if isinstance(made, tuple) else (made,)


def test_calls_of_cubes_are_of_all_functions():
    functions = [name for name in sparsehs.__all__ if inspect.isfunction(getattr(sparsehs, name))]
    take_cubes = {name for name in functions if "cube" in inspect.signature(getattr(sparsehs, name)).parameters}
    take_cubes |= {"transform", "inverse_transform", "denoise"}  # of Model
    assert take_cubes == {name.split()[0] for name in calls_of_cubes()}


@pytest.mark.parametrize("real", [np.float32, np.float64, np.int16])
def test_a_pixel_is_missing_in_one_way_in_every_function(real):
    """A band of it is NaN, masked or the no-data value, or valid leaves it out: its other bands, which hold the smallest and the
    largest values here, count for nothing."""
    rng = np.random.default_rng(4)
    cube, gone = scene(real=real), rng.random((40, 50)) < 0.04
    lost = np.zeros(cube.shape, bool)
    lost[gone, rng.integers(0, 12, gone.sum())] = True
    cube[gone & (rng.random(gone.shape) < 0.5)] = -700
    cube[gone & (cube[..., 0] > 0)] = 9000
    marked = np.where(lost, real(-9999), cube)
    ways = {"masked": (np.ma.array(cube, mask=lost), {}), "valid": (cube, dict(valid=~gone)),
            "both": (np.ma.array(marked, mask=lost & (np.arange(50) < 20)[:, None]), dict(nodata=-9999))}
    if real != np.int16:
        ways["NaN"] = np.where(lost, real(np.nan), cube), {}
    for name, call in calls_of_cubes().items():
        want = results(call(marked, nodata=-9999))
        for way, (given, how) in ways.items():
            for one, other in zip(want, results(call(given, **how))):
                rounding = 1e-6 if name == "bands" else 1e-12  # bands reads masked integers as floats
                assert np.allclose(one, other, rtol=rounding, atol=0, equal_nan=True), (name, way)


@pytest.mark.parametrize("real", REALS)
def test_a_cube_of_any_layout_is_the_same_in_every_function(real):
    cube = scene(real=real)
    wide = np.zeros((80, 100, 24), real)
    wide[::2, 1::2, ::2] = cube
    fixed = np.ascontiguousarray(cube[::-1, :, ::-1])
    fixed.flags.writeable = False
    layouts = np.asfortranarray(cube), wide[::2, 1::2, ::2], fixed[::-1, :, ::-1], cube.astype(cube.dtype.newbyteorder(">"))
    for name, call in calls_of_cubes().items():
        # C takes another way through the pixels, with another rounding. NumPy's part is the same to the last bit.
        by_numpy = "similarity", "match", "compare", "smooth", "resample", "continuum", "derivative", "correct", "index"
        same = name.split()[0] in by_numpy
        tolerance = 0 if same else {np.float32: 1e-4, np.float64: 1e-9}[real]
        want = results(call(cube))
        for layout in layouts:
            for one, other in zip(want, results(call(layout))):
                assert np.asarray(one).dtype == np.asarray(other).dtype, name
                size = np.nanmax(np.abs(one), initial=0)
                assert np.allclose(one, other, rtol=0, atol=tolerance * size, equal_nan=True), name
    assert np.array_equal(cube, scene(real=real))


def test_mnf_is_that_of_spectral_python():
    import spectral
    cube = scene()
    noise = spectral.noise_from_diffs(cube, direction="right")
    stats = spectral.calc_stats(cube)
    theirs = spectral.mnf(stats, noise)
    ratio = np.sort(theirs.napc.eigenvalues)[::-1]
    model = sparsehs.fit("mnf", cube, divisor="n-1", noise=noise.cov)
    assert np.allclose(model.eigenvalues[:3], ratio[:3], rtol=1e-3)
    assert np.allclose(model.noise, noise.cov)
    own = sparsehs.fit("mnf", cube)
    assert np.allclose(own.eigenvalues[:3], ratio[:3], rtol=0.05)
    components, model = sparsehs.mnf(cube, 3)
    assert np.abs(model.inverse_transform(components) - cube).std() < 4


def test_rx_trimmed():
    """Beside the same by NumPy, on pixels of which 5 % are odd in a way of their own."""
    pixels = np.random.default_rng(3).normal(size=(20, 30, 5)) * [1, 2, 3, 4, 5]
    odd = np.arange(600).reshape(20, 30) % 20 == 7
    pixels[odd] += [0, 0, 12, -15, 0]
    flat, inside = pixels.reshape(-1, 5), np.ones(600, bool)
    for rounds in range(4):
        apart = flat - flat[inside].mean(0)
        scores = (apart @ np.linalg.inv(np.cov(flat[inside].T, bias=True)) * apart).sum(1)
        inside = scores <= np.sort(scores)[539]
        assert np.allclose(sparsehs.rx(pixels, trim=0.1, trim_rounds=rounds) if rounds else sparsehs.rx(pixels),
                           scores.reshape(20, 30), rtol=1e-4)
    found = sparsehs.rx(pixels, trim=0.1)
    assert np.isin(np.argsort(found.ravel())[-30:], np.flatnonzero(odd)).sum() >= 27
    assert np.allclose(sparsehs.rx_classes(pixels, np.zeros((20, 30), int), trim=0.1), found)
    assert np.array_equal(sparsehs.rx(pixels, trim=0.0), sparsehs.rx(pixels))
    with pytest.raises(ValueError):
        sparsehs.rx(pixels, trim=0.9)


def test_rx_is_that_of_spectral_python():
    import spectral
    cube = scene()
    cube[7, 9] += 60
    scores = sparsehs.rx(cube, divisor="n-1")
    theirs = spectral.rx(cube)
    assert np.allclose(scores, theirs, rtol=1e-6)
    assert np.unravel_index(scores.argmax(), scores.shape) == (7, 9)


def sources(real=np.float64, m=8000):
    rng = np.random.default_rng(7)
    S = np.stack([rng.laplace(size=m), rng.uniform(-1, 1, m), np.sign(rng.standard_normal(m)) + 0.1 * rng.standard_normal(m)], -1)
    S = (S - S.mean(0)) / S.std(0)
    return S, (S @ rng.standard_normal((3, 5)) + 3).astype(real)


def test_components_that_rx_does_not_see_are_warned_of():
    import sparsehs_sklearn as estimators
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    apart = 1e-6 * rng.normal(size=2000)
    apart[7] = 2e-5  # 20 deviations
    dependent, filled = np.c_[X, X[:, 0] + apart], X + 5
    filled[9] = 1e9
    labels = np.arange(2000) % 2 * 3 + 1
    for call, words in ((lambda: sparsehs.rx(dependent), "rx: scores are of 6 of 7 components"),
                        (lambda: sparsehs.rx(dependent, skip=2), "rx: scores are of 6 of 7 components"),
                        (lambda: sparsehs.fit("RX", dependent.reshape(40, 50, 7)), "rx: scores are of 6 of 7 components"),
                        (lambda: estimators.RX().fit(dependent), "rx: scores are of 6 of 7 components"),
                        (lambda: sparsehs.rx(filled), "rx: scores are of 1 of 6 components"),
                        (lambda: sparsehs.rx(X[:5]), "rx: scores are of 4 of 6 components"),
                        (lambda: sparsehs.rx_classes(dependent, labels), "rx_classes: scores of class 1 are of 6 of 7 components"),
                        (lambda: sparsehs.rx_classes(filled, labels, skip=0), "rx_classes: scores of class 4 are of 1 of 6 comp")):
        with pytest.warns(RuntimeWarning, match=words + ".* nodata or valid") as warned:
            call()
        assert [one.filename for one in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in dict(components=3), dict(variance=0.9), dict(eigenvalue_at_least=0.1):
            sparsehs.rx(dependent, **given)
        sparsehs.rx(X, skip=2)
        sparsehs.rx(X * np.logspace(-9, 9, 6))
        sparsehs.rx_classes(X, labels, skip=2)
        sparsehs.rx_classes(dependent, labels, components=2)
    assert sparsehs.mnf(dependent, noise=np.diag([0.0] + [1] * 6))[0].shape == (2000, 6)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("approach", ["deflation", "symmetric"])
def test_ica_finds_the_sources_as_mdp_and_sklearn_do(real, approach):
    import mdp
    import sklearn.decomposition
    S, X = sources(real)
    found, model = sparsehs.ica(X, 3, approach=approach, contrast="tanh")
    assert model.converged.all() and found.dtype == real
    kurtosis = (found.astype(float) ** 4).mean(axis=0) - 3
    assert np.allclose(model.reports[:, 4], kurtosis, atol=0.01) and np.all(model.reports[:, 0] >= 1)
    sk = sklearn.decomposition.FastICA(3, whiten="unit-variance", random_state=0).fit_transform(X)
    their = mdp.nodes.FastICANode(approach="symm", g="tanh", whitened=False, white_comp=3, dtype="float64")
    theirs = their.execute(X.astype(float))
    for other in S, sk, theirs:
        match = np.abs(np.corrcoef(found.T.astype(float), other.T)[:3, 3:])
        assert np.all(match.max(axis=1) > 0.995), match
    assert np.allclose(model.inverse_transform(found), X, atol=1e-3 if real is np.float32 else 1e-9)


def test_components_that_have_not_converged_are_warned_of():
    import sparsehs_sklearn as estimators
    from sklearn.exceptions import ConvergenceWarning
    normal, (_, X) = np.random.default_rng(3).normal(size=(400, 4)), sources()
    few = dict(iterations=3, restarts=0)
    for call in (lambda: sparsehs.fit("ica", normal, 4, **few), lambda: sparsehs.ica(normal, 4, **few),
                 lambda: sparsehs.ica(normal, 4, approach="symmetric", **few)):
        with pytest.warns(RuntimeWarning, match="ica: [1-4] of 4 components have not converged in 3 iterations; raise iter") as warned:
            call()
        assert [one.filename for one in warned] == [__file__]
    with pytest.warns(ConvergenceWarning, match="ica: . of 4 components have not converged") as warned:
        estimators.ICA(4, iterations=3).fit(normal)
    assert [one.filename for one in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparsehs.ica(normal, 4, tolerance=-1, **few)
        sparsehs.ica(X, 3)
        estimators.ICA(3).fit(X)


def test_int8_is_compared_with_nodata_as_other_integers_are():
    cube = np.random.default_rng(0).integers(-9, 9, (20, 30, 4))
    for kind in np.int8, np.int16, np.int32:
        assert not np.isnan(sparsehs.rx(cube.astype(kind), nodata=5.0000001)).any()
        the_same(sparsehs.rx(cube.astype(kind), nodata=5), sparsehs.rx(cube, nodata=5), 1e-4)


def test_nullable_tables_of_pandas_are_numbers():
    pandas = pytest.importorskip("pandas")
    Y, D, _ = planted(m=50)
    table = pandas.DataFrame(Y)
    for nullable, plain in ((table.convert_dtypes(), Y), (table.astype("Float32"), Y.astype(np.float32)),
                            (pandas.DataFrame(Y.round()).convert_dtypes(), Y.round())):
        want, got = sparsehs.omp(D, plain, 3), sparsehs.omp(D, nullable, 3)
        assert np.array_equal(got.coefs, want.coefs) and got.coefs.dtype == want.coefs.dtype
    Y[3, 4] = table.loc[3, 4] = np.nan
    for one in sparsehs.omp(D, table.convert_dtypes(), 3, skip_nan=True), sparsehs.omp(D, table.astype("Float64"), 3, skip_nan=True):
        assert np.array_equal(one.coefs, sparsehs.omp(D, Y, 3, skip_nan=True).coefs)
    assert np.isnan(sparsehs.similarity(table.convert_dtypes(), D[0])[3])
    for wrong in table.astype(str), table.astype(object):
        refused(lambda: sparsehs.omp(D, wrong, 3), "signals: must be numbers, but its type is object", TypeError)


def test_start_of_ica_says_how_many_components():
    cube = np.random.default_rng(5).laplace(size=(2000, 6)) @ np.random.default_rng(6).normal(size=(6, 6))
    few = dict(iterations=3, tolerance=-1.0)
    for count in 2, 6:
        model = sparsehs.fit("ica", cube, start=np.eye(count), **few)
        assert model.file == sparsehs.fit("ica", cube, count, start=np.eye(count), **few).file and model.components == count
    for start, shape in ((np.eye(7), "6, 6"), (np.eye(6)[:2], "2, 2"), (3.0, "6, 6"), (np.zeros((0, 0)), "1, 1")):
        refused(lambda: sparsehs.fit("ica", cube, start=start), r"start: its shape is .*, expected \(" + shape)


def test_options_that_leave_no_component_or_route():
    cube = np.random.default_rng(5).normal(size=(500, 6))
    for contrast in "tanh", "Gauss", "skew":
        refused(lambda: sparsehs.fit("ica", cube, contrast=contrast, route="Moments"),
                "route 'moments': given with contrast '%s', expected with 'pow3' alone" % contrast.lower())
    sparsehs.fit("ica", cube, contrast="POW3", route="moments", tolerance=-1.0, iterations=2)
    with pytest.raises(ValueError, match="skip: 5, expected below the number of components, which rank, variance") as caught:
        sparsehs.fit("rx", cube, variance=0.5, skip=5)
    assert caught.value.status == "SHS_RANK_TOO_LOW"


def test_models_are_kept(tmp_path):
    cube = scene()
    for kind in "pca", "mnf", "ica", "rx":
        model = sparsehs.fit(kind, cube, 3)
        want = model.transform(cube)
        model.save(tmp_path / kind)
        for again in sparsehs.Model.load(tmp_path / kind), pickle.loads(pickle.dumps(model)):
            assert again.kind == kind and np.array_equal(again.transform(cube), want)
    damaged = bytearray((tmp_path / "pca").read_bytes())
    damaged[100] ^= 1
    with pytest.raises(ValueError, match="model"):
        sparsehs.Model(damaged).transform(cube)
    with pytest.raises(ValueError, match="model"):
        sparsehs.Model(damaged[:90])


def test_models_are_loaded_once_and_freed(monkeypatch):
    from sparsehs._library import _double, _float, _Library
    called, freed, real_call = [], [], _Library.call

    def call(library, name, *args, **given):
        called.append(name)
        return real_call(library, name, *args, **given)

    monkeypatch.setattr(_Library, "call", call)
    for library in _float, _double:
        free = getattr(library.c, "shim_model_free", None)
        monkeypatch.setattr(library.c, "shim_model_free", lambda model, free=free: freed.append(free(model)), raising=False)
    cube = scene()
    for kind in "pca", "mnf", "ica", "rx":
        model, again = sparsehs.fit(kind, cube, 3), []
        want = model.transform(cube)
        workers = [threading.Thread(target=lambda: again.append(model.transform(cube))) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        model.transform(cube.astype(np.float32))
        assert called.count("apply") == 6 and called.count("model_load") == 2  # in double and in float
        assert len(again) == 4 and all(np.array_equal(one, want) for one in again)
        copied = copy.deepcopy(model)
        del model
        assert len(freed) == 2
        assert np.array_equal(copied.transform(cube), want)
        del copied
        assert len(freed) == 3
        called.clear()
        freed.clear()


def test_models_are_those_of_hypercube(tmp_path):
    program = os.path.join(ROOT, "build", "hypercube")
    if not os.path.exists(program):
        pytest.skip("build/hypercube is not here")
    import spectral
    cube = scene().astype(np.float32)
    spectral.envi.save_image(str(tmp_path / "cube.hdr"), cube, interleave="bip")
    components, model = sparsehs.pca(cube, 3)
    model.save(tmp_path / "model")
    subprocess.run([program, "apply", "model", "cube.hdr", "out.hdr", "--type", "f32"], check=True, cwd=tmp_path,
                   capture_output=True)
    theirs = spectral.envi.open(str(tmp_path / "out.hdr")).load()
    assert np.allclose(np.asarray(theirs), components, atol=1e-3)


def test_on_a_device():
    Y, D, _ = planted(real=np.float32)
    cache = os.environ.get("SPARSEHS_CACHE", "")
    for name in os.listdir(cache) if cache else ():
        if name.startswith("verdict-"):
            os.remove(os.path.join(cache, name))
    try:
        codes = sparsehs.omp(D, Y, 3, device="")
    except sparsehs.Error as error:
        pytest.skip("no OpenCL device works: %s" % error)
    assert (codes.atoms == sparsehs.omp(D, Y, 3).atoms).mean() > 0.99
    cube = scene(real=np.float32)
    assert np.allclose(sparsehs.fit("pca", cube, 3, device="").eigenvalues, sparsehs.fit("pca", cube, 3).eigenvalues, rtol=1e-5)
    assert not cache or any(name.startswith("verdict-") for name in os.listdir(cache))  # kept for the next process


# ---- spectra -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("real", REALS)
def test_detectors_are_those_of_numpy(real):
    cube = scene(real=real)
    X = cube.reshape(-1, 12).astype(float)
    target, undesired = X[77] * 1.1, X[[500, 900]]
    mean, C, R = X.mean(axis=0), np.cov(X.T, bias=True), X.T @ X / len(X)
    t, Z = target - mean, X - mean
    whitened = np.linalg.solve(C, t)
    away = np.eye(12) - undesired.T @ np.linalg.pinv(undesired.T)
    want = {"mf": Z @ whitened / (t @ whitened), "cem": X @ np.linalg.solve(R, target) / (target @ np.linalg.solve(R, target)),
            "ace": (Z @ whitened) ** 2 / (t @ whitened) / np.einsum("ij,ji->i", Z, np.linalg.solve(C, Z.T)),
            "sam": np.arccos(np.clip(X @ target / np.linalg.norm(X, axis=1) / np.linalg.norm(target), -1, 1)),
            "osp": X @ away @ target / (target @ away @ target)}
    want["sace"] = np.sign(want["mf"]) * want["ace"]
    want["glrt"] = (Z @ whitened) ** 2 / (t @ whitened) / (len(X) + np.einsum("ij,ji->i", Z, np.linalg.solve(C, Z.T)))
    away_from_both = away - np.outer(away @ target, away @ target) / (target @ away @ target)
    outside, rest = np.einsum("ij,ij->i", X @ away, X), np.einsum("ij,ij->i", X @ away_from_both, X)
    want["amsd"] = np.where(outside > 1e-12 * (X * X).sum(1), 1 - rest / outside, 0)  # 500 and 900 have nothing outside
    for method, scores in want.items():
        given = dict(undesired=undesired) if method in ("osp", "amsd") else {}
        got = sparsehs.detect(cube, target, method, **given)
        assert got.shape == cube.shape[:2] and np.allclose(got.ravel(), scores, atol=1e-3 if real is np.float32 else 1e-7), method
    assert sparsehs.detect(cube, [target, X[3]], "amsd").shape == cube.shape[:2]
    both = sparsehs.detect(cube, [target, X[3]])
    assert both.shape == cube.shape[:2] + (2,) and np.array_equal(both[..., 0], sparsehs.detect(cube, target))
    elsewhere = sparsehs.detect(cube[:5], target, background=(mean, C))
    assert np.allclose(elsewhere, both[:5, :, 0], atol=1e-4)
    elsewhere = sparsehs.detect(cube[:5], target, "glrt", background=(mean, C, len(X)))
    assert np.allclose(elsewhere, sparsehs.detect(cube, target, "glrt")[:5], atol=1e-4)
    with pytest.raises(sparsehs.ArgumentError, match="glrt needs the number of pixels"):
        sparsehs.detect(cube, target, "glrt", background=(mean, C))
    assert sparsehs.detect(X, target).shape == (len(X),)


def test_backgrounds_of_classes_and_columns():
    cube = scene(real=np.float64)
    lines, samples = cube.shape[:2]
    target = cube[3, 4] * 1.1
    labels = (np.arange(lines * samples).reshape(lines, samples) * 7 // 5) % 3 - 1
    for method in "mf", "cem", "ace", "sace", "glrt":
        got = sparsehs.detect(cube, target, method, labels=labels)
        assert np.array_equal(np.isnan(got), labels < 0)
        for k in 0, 1:
            alone = sparsehs.detect(cube, target, method, valid=labels == k)
            assert np.allclose(got[labels == k], alone[labels == k], atol=1e-8)
        got = sparsehs.detect(cube, [target, cube[1, 1]], method, columns=True, ridge=0.1)
        for x in 0, samples - 1:
            assert np.allclose(got[:, x], sparsehs.detect(cube[:, x], [target, cube[1, 1]], method, ridge=0.1), atol=1e-8)
    with pytest.raises(sparsehs.ArgumentError, match="labels: "):
        sparsehs.detect(cube, target, labels=labels[1:])


def test_nodata_is_compared_as_the_library_does():
    """A number that an integer type cannot hold is in no pixel. Floating types hold it rounded, whatever type it has itself."""
    cube = np.arange(1, 61).reshape(3, 4, 5) % 7
    cube[0, 0, 0] = 0
    spectra = np.arange(1, 11).reshape(2, 5) ** 2

    def missing(kind, nodata):
        held = cube.astype(kind)
        model = sparsehs.fit("pca", held, nodata=nodata)
        ways = (sparsehs.detect(held, spectra[0], "sam", nodata=nodata), sparsehs.unmix(held, spectra, nodata=nodata)[..., 0],
                model.transform(held, nodata=nodata)[..., 0], sparsehs.rx(held, nodata=nodata),
                sparsehs.similarity(held, spectra[0], nodata=nodata), sparsehs.compare(held, held, nodata=nodata)[0],
                sparsehs.unmix_sparse(held, spectra, nodata=nodata)[..., 0],
                sparsehs.smooth(held, 3, wavelengths=np.arange(400, 405), nodata=nodata)[..., 0])
        for way in ways[1:]:
            assert np.array_equal(np.isnan(way), np.isnan(ways[0])), (kind, nodata)
        return int(np.isnan(ways[0]).sum())

    zeros = (cube == 0).any(2).sum()
    for kind in "u1", "i2", "u2", "f2", "i4", "u4", "f4", "f8", ">i2", ">f4":
        assert missing(kind, 0) == missing(kind, np.float64(0)) == zeros
        assert [missing(kind, nodata) for nodata in (0.5, -9999, 256, 2**32, 1e300, -np.inf, np.nan)] == 7 * [0]
    cube = np.where(cube == 0, 0.1, cube)
    for kind in "f2", "f4", "f8":
        assert missing(kind, 0.1) == missing(kind, np.float64(0.1)) == zeros


def test_similarities_are_those_of_their_definitions():
    rng = np.random.default_rng(8)
    cube, library = rng.random((5, 6, 9)).astype(np.float32) + 0.1, rng.random((3, 9)) + 0.1
    cube[1, 2], cube[3, 3, 4] = 2 * library[1], np.nan

    def by_hand(x, t, method):
        angle = math.acos(min(1, sum(x * t) / math.sqrt(sum(x * x) * sum(t * t))))
        sid = sum((a - b) * math.log(a / b) for a, b in zip(x / sum(x), t / sum(t)))
        if method == "ns3":
            return math.sqrt(sum((x - t) ** 2) / 9 + (1 - math.cos(angle)) ** 2)
        v, w = (sum((y - sum(y) / 9) ** 2) / 8 for y in (x, t))
        B = (sum(x) / 9 - sum(t) / 9) ** 2 / (4 * (v + w)) + math.log((v + w) / (2 * math.sqrt(v * w))) / 2
        return {"sam": angle, "sid": sid, "sidsam": sid * math.tan(angle), "jmsam": 2 * (1 - math.exp(-B)) * math.tan(angle)}[method]

    for method in "sam", "sid", "sidsam", "ns3", "jmsam":
        got = sparsehs.similarity(cube, library, method)
        assert got.shape == (5, 6, 3) and np.isnan(got[3, 3]).all() and np.isnan(got).sum() == 3
        for y, x, k in np.ndindex(5, 6, 3):
            if (y, x) != (3, 3):
                assert abs(got[y, x, k] - by_hand(cube[y, x].astype(float), library[k], method)) < 1e-7, method
        assert np.array_equal(sparsehs.similarity(cube.reshape(-1, 9), library[0], method), got[..., 0].ravel(), equal_nan=True)
        best, score = sparsehs.match(cube, library, method)
        assert best[3, 3] == -1 and np.isnan(score[3, 3]) and np.array_equal(score, got.min(axis=2), equal_nan=True)
        assert (got[0, :, 1] == score[0])[best[0] == 1].all() and (method == "ns3" or best[1, 2] == 1)
    cube[0, 0, 0] = 0
    assert np.isnan(sparsehs.similarity(cube, library[0], "sid")[0, 0])
    assert np.isnan(sparsehs.similarity(cube, library[0], nodata=0)[0, 0])
    assert np.isnan(sparsehs.similarity(cube, library[0], valid=np.eye(5, 6))[0, 1])
    level = np.array([0.5, 0.25, 1])[:, None] * np.ones(9)  # constant spectra have one direction
    scores = sparsehs.similarity(np.vstack([level, library[:1]]), level, "jmsam")
    assert np.array_equal(scores[:3], np.zeros((3, 3))) and (scores[3] > 0.1).all()
    assert np.array_equal(sparsehs.match(level, np.vstack([library, level[:1]]), "jmsam"), ([3, 3, 3], [0, 0, 0]))
    with pytest.raises(ValueError):
        sparsehs.similarity(cube, library, "sum")


def test_similarities_and_differences_in_any_unit():
    """Squares of the values may be beyond the range of numbers."""
    rng = np.random.default_rng(4)
    cube, targets = rng.random((4, 5, 6)) + 0.1, rng.random((3, 6)) + 0.1
    other = cube + rng.normal(0, 0.1, cube.shape)
    off, angle = sparsehs.compare(cube, other)
    methods = "sam", "sid", "sidsam", "jmsam", "ns3"
    want = {method: sparsehs.similarity(cube, targets, method) for method in methods}
    for exponent in -1000, -600, 600, 1020:
        unit = 2.0**exponent
        scaled = sparsehs.compare(cube * unit, other * unit)
        assert np.array_equal(scaled[0], off * unit) and np.array_equal(scaled[1], angle)
        for method in methods[:4]:
            assert np.array_equal(sparsehs.similarity(cube * unit, targets * unit, method), want[method])
        for method in methods[:3]:
            assert np.array_equal(sparsehs.similarity(cube * unit, targets, method), want[method])
    ns3 = sparsehs.similarity(cube * 2.0**-1000, targets * 2.0**-1000, "ns3")
    assert np.allclose(ns3, 1 - np.cos(want["sam"]))
    assert np.isfinite(sparsehs.similarity(cube * 2.0**-1000, targets, "jmsam")).all()
    assert np.array_equal(sparsehs.compare(cube * 1e-300, other)[1] > 0, angle > 0)
    faint = sparsehs.unmix_sparse(cube * 2.0**-1000, targets * 2.0**-1000)
    assert np.allclose(faint, sparsehs.unmix_sparse(cube, targets), atol=1e-9)
    refused(lambda: sparsehs.correct(cube + 1e308, "iarr"), "iarr: the mean of band 1 is inf, expected above 0 and finite")


def test_mixtures_are_taken_apart():
    from scipy.optimize import nnls
    rng = np.random.default_rng(3)
    E = rng.random((4, 20)) + 0.1
    shares = rng.dirichlet(np.ones(4), (30, 30))
    shares[3, 4], shares[7, 9], shares[20, 2], shares[29, 29] = np.eye(4)
    cube = shares @ E
    for constraint in "full", "nonnegative", "sum", "none":
        assert np.allclose(sparsehs.unmix(cube, E, constraint), shares, atol=1e-8)
    noisy = cube + rng.normal(0, 0.2, cube.shape)
    by_nnls = np.array([nnls(E.T, x)[0] for x in noisy.reshape(-1, 20)[:50]])
    assert np.allclose(sparsehs.unmix(noisy, E, "nonnegative").reshape(-1, 4)[:50], by_nnls, atol=1e-8)
    full = sparsehs.unmix(noisy, E)
    assert full.min() >= 0 and np.allclose(full.sum(axis=2), 1)
    pure = {(3, 4), (7, 9), (20, 2), (29, 29)}
    for method in "vca", "nfindr":
        spectra, places = sparsehs.endmembers(cube, 4, method, seed=1)
        assert {tuple(place) for place in places.tolist()} == pure
        assert np.allclose(spectra, cube[places[:, 0], places[:, 1]])
    spectra, places = sparsehs.endmembers(cube.reshape(-1, 20), 3, "atgp")
    assert np.allclose(spectra, cube.reshape(-1, 20)[places]) and places[0] == np.linalg.norm(cube, axis=2).argmax()


def test_sparse_abundances_over_a_library():
    rng = np.random.default_rng(12)
    library = rng.uniform(0.1, 1, (30, 50)) * np.repeat(rng.uniform(0.2, 3, 30), 50).reshape(30, 50)
    shares = np.zeros((6, 7, 30))
    for a in shares.reshape(-1, 30):
        a[rng.choice(30, 3, False)] = rng.dirichlet(np.ones(3)) + 0.2
    cube = shares @ library
    for options in dict(weight=1e-8), dict(method="nnomp", sparsity=15):
        assert np.allclose(sparsehs.unmix_sparse(cube, library, **options), shares, atol=1e-4)
        small = sparsehs.unmix_sparse(cube.astype(np.float32), library, **options)
        assert small.dtype == np.float32 and np.allclose(small, shares, atol=2e-2)
    few = sparsehs.unmix_sparse(cube, library, "nnomp", sparsity=2)
    assert ((few > 0).sum(2) <= 2).all() and (few >= 0).all()
    for y, a in zip(cube[0], sparsehs.unmix_sparse(cube, library, weight=0.02)[0]):  # the conditions of the minimum
        slope, bound = library @ (y - a @ library), 0.02 * (library @ y).max()
        assert (slope <= bound * 1.01).all() and (abs(slope[a > 1e-3] - bound) < 0.01 * bound).all()
    cube[1, 2, 3], cube[2, 2, 5] = np.nan, -9
    holes = sparsehs.unmix_sparse(cube, library, nodata=-9, valid=np.arange(42).reshape(6, 7) > 0)
    assert np.isnan(holes).all(2).sum() == 3 and np.isnan(holes).any(2)[[0, 1, 2], [0, 2, 2]].all()
    for wrong in (dict(method="omp"), dict(weight=0), dict(weight=1), dict(library=library[:, :9]), dict(library=0 * library),
                  dict(method="nnomp", sparsity=0)):
        with pytest.raises(sparsehs.ArgumentError):
            sparsehs.unmix_sparse(cube, **{**dict(library=library), **wrong})


def test_purity_index_counts_extremes():
    rng = np.random.default_rng(8)
    cube = rng.normal(0, 3, (9, 11, 5))
    cube[2, 3], cube[8, 0, 4] = cube[1, 1], np.nan
    directions = rng.normal(0, 1, (60, 5))
    y = np.where(np.isnan(cube).any(axis=2), np.nan, 0)[..., None] + cube @ directions.T
    y = y.reshape(99, 60)
    first = np.bincount(np.r_[np.nanargmax(y, 0), np.nanargmin(y, 0)], minlength=99)
    near = (np.nanmax(y, 0) - y <= 0.7).sum(1) + (y - np.nanmin(y, 0) <= 0.7).sum(1)
    first[88], near[88] = -1, -1
    assert (sparsehs.ppi(cube, directions).ravel() == first).all()
    assert (sparsehs.ppi(cube, directions, threshold=0.7).ravel() == near).all()
    counts = sparsehs.ppi(cube, 200, seed=3)
    turned = sparsehs.ppi(cube[:, ::-1], 200, seed=3)[:, ::-1]
    assert counts.dtype == np.intc and counts.sum() == 399 and (counts == turned).mean() > 0.97
    assert (sparsehs.ppi(cube.reshape(99, 5), 200, seed=3, threads=1) == counts.ravel()).all()
    assert (counts != sparsehs.ppi(cube, 200, seed=4)).any()
    for wrong in (dict(skewers=0), dict(skewers=directions[:, :4]), dict(threshold=-1.0)):
        try:
            sparsehs.ppi(cube, **wrong)
        except sparsehs.ArgumentError:
            continue
        raise AssertionError(wrong)


def test_two_cubes_are_compared_pixel_by_pixel():
    rng = np.random.default_rng(6)
    a = rng.integers(1, 200, (4, 5, 7)).astype(np.uint8)
    b = a + rng.normal(0, 3, a.shape)
    b[0, 0], b[0, 1], b[1, 2], b[3, 3, 2] = a[0, 0], 2.0 * a[0, 1], 0, np.nan
    off, angle = sparsehs.compare(a, b)
    for y, x in np.ndindex(4, 5):
        p, q = a[y, x].astype(float), b[y, x]
        if (y, x) == (3, 3):
            assert np.isnan(off[y, x]) and np.isnan(angle[y, x])
            continue
        assert abs(off[y, x] - math.sqrt(sum((p - q) ** 2) / 7)) < 1e-12 * np.nanmax(off)
        if (y, x) == (1, 2):
            assert np.isnan(angle[y, x])
        else:
            assert abs(math.cos(angle[y, x]) - sum(p * q) / math.sqrt(sum(p * p) * sum(q * q))) < 1e-12
    assert off[0, 0] == 0 and angle[0, 0] == 0 and angle[0, 1] < 1e-7
    assert np.array_equal(sparsehs.compare(a.reshape(-1, 7), b.reshape(-1, 7))[0], off.ravel(), equal_nan=True)
    a[2, 1, 0] = 0
    there = np.ones((4, 5))
    there[0, 4] = 0
    for by_shape in there, there.ravel():
        missing = np.isnan(sparsehs.compare(a, b, nodata=0, valid=by_shape)[0])
        assert set(zip(*(where.tolist() for where in missing.nonzero()))) == {(0, 4), (1, 2), (2, 1), (3, 3)}
    masked = np.ma.masked_equal(a, 0)
    assert np.isnan(sparsehs.compare(b, masked)[0][2, 1])
    with pytest.raises(ValueError, match=r"other: its shape is \(4, 5, 6\), expected \(4, 5, 7\)"):
        sparsehs.compare(a, b[..., :6])


@pytest.mark.parametrize("real", REALS)
def test_scaled_abundances_and_errors_are_those_of_nnls(real):
    from scipy.optimize import nnls
    rng = np.random.default_rng(4)
    E = rng.random((3, 16)) + 0.1
    cube = (rng.random((5, 6, 1)) * (rng.dirichlet(np.ones(3), (5, 6)) @ E) + rng.normal(0, 0.02, (5, 6, 16))).astype(real)
    cube[2, 3], cube[4, 1, 7] = -1, np.nan  # no endmember in one; the other is missing
    tolerance = EPS[real]
    shares, errors = sparsehs.unmix(cube, E, "scaled", errors=True)
    assert shares.dtype == errors.dtype == real and errors.shape == (5, 6)
    assert np.isnan(shares[2, 3]).all() and abs(errors[2, 3] - 1) < tolerance
    assert np.isnan(shares[4, 1]).all() and np.isnan(errors[4, 1])
    for y, x in np.ndindex(5, 6):
        if (y, x) not in ((2, 3), (4, 1)):
            parts, distance = nnls(E.T, cube[y, x].astype(float))
            assert np.allclose(shares[y, x], parts / parts.sum(), atol=tolerance)
            assert abs(errors[y, x] - distance / 4) < tolerance
    for constraint in "full", "nonnegative", "sum", "none":
        shares, errors = sparsehs.unmix(cube, E, constraint, errors=True)
        assert np.array_equal(shares, sparsehs.unmix(cube, E, constraint), equal_nan=True)
        assert np.allclose(errors, np.sqrt(np.square(cube - shares @ E).mean(2)), atol=tolerance, equal_nan=True)
    flat = sparsehs.unmix(cube.reshape(-1, 16), E, errors=True, valid=np.eye(30)[0])
    assert flat[0].shape == (30, 3) and np.isfinite(flat[1][0]) and np.isnan(flat[1][1:]).all()
    assert sparsehs.unmix(cube[:0], E, "scaled", errors=True)[1].shape == (0, 6)
    with pytest.raises(ValueError, match="'half' is none of full, nonnegative, sum, none, scaled"):
        sparsehs.unmix(cube, E, "half")


def test_local_and_class_scores_are_those_of_numpy():
    cube = scene(20, 24, 4)
    scores = sparsehs.rx_local(cube, 3, 7)
    y, x = 9, 11
    ring = np.ones((7, 7), bool)
    ring[2:5, 2:5] = False
    around = cube[y - 3:y + 4, x - 3:x + 4][ring]
    z = cube[y, x] - around.mean(axis=0)
    assert np.isclose(scores[y, x], z @ np.linalg.solve(np.cov(around.T, bias=True), z)) and np.isfinite(scores).all()
    assert np.isfinite(sparsehs.rx_local(scene(20, 24, 60), 3, 7, ridge=0.1)).all()
    labels = (np.arange(24) > 11).astype(int) + np.zeros((20, 1), int)
    labels[0, :5] = -1
    scores = sparsehs.rx_classes(cube, labels)
    for label in 0, 1:
        assert np.allclose(scores[labels == label], sparsehs.rx(cube[labels == label]))
    assert np.array_equal(np.isnan(scores), labels < 0)
    assert np.allclose(sparsehs.rx_classes(cube.reshape(-1, 4), labels.ravel()), scores.ravel(), equal_nan=True)


def test_models_keep_wavelengths(tmp_path):
    for kind in "pca", "mnf", "ica", "rx":
        model = sparsehs.fit(kind, scene(), 3, wavelengths=np.linspace(400, 900, 12))
        model.save(tmp_path / "model")
        assert np.array_equal(sparsehs.Model.load(tmp_path / "model").wavelengths, np.linspace(400, 900, 12))
        assert sparsehs.fit(kind, scene(), 3).wavelengths is None


# ---- a scene's first hour ----------------------------------------------------------------------------------------------------

WAVES = np.linspace(450, 2350, 24)


def hour(real=np.float32, lines=30, samples=40):
    """A cube of 24 bands over the wavelength, a pixel of which lacks a band and another all."""
    rng = np.random.default_rng(11)
    maps = rng.dirichlet(np.ones(3), (lines, samples)) * (1 + 0.2 * rng.random((lines, samples, 1)))
    k = np.arange(3)[:, None]
    shapes = 0.3 + 0.2 * np.sin(WAVES / 300 + k) + 0.1 * np.exp(-(((WAVES - 900 - 300 * k) / 80) ** 2))
    cube = maps @ shapes + rng.normal(0, 1, (lines, samples, 24)) * np.linspace(0.002, 0.01, 24)
    cube[2, 3, 4] = cube[5, 6] = np.nan
    return cube.astype(real)


def hypercube(folder, cube, *command, **keys):
    """What the program says of a cube, which it gets as cube.hdr with these keys in its header."""
    import spectral
    program = os.path.join(ROOT, "build", "hypercube")
    if not os.path.exists(program):
        pytest.skip("build/hypercube is not here")
    keys = {name.replace("_", " "): list(value) if np.ndim(value) else value for name, value in keys.items()}
    spectral.envi.save_image(str(folder / "cube.hdr"), cube, interleave="bil", metadata=keys, force=True)
    said = subprocess.run([program, *map(str, command)], cwd=folder, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return said.stdout


def written(folder, name):
    """(lines, samples, bands) of a cube that the program has written."""
    import spectral
    return np.asarray(spectral.envi.open(str(folder / name)).load(dtype=np.float64))


def rows_of(file):
    return [line.rstrip("\n").split(",") for line in open(file)][1:]


def the_same(got, want, tolerance=1e-12):
    assert got.shape == want.shape and np.array_equal(np.isnan(got), np.isnan(want))
    assert np.nanmax(np.abs(got - want)) <= tolerance * np.nanmax(np.abs(want))


def test_bad_bands_are_those_of_the_program(tmp_path):
    cube = np.where(np.isnan(hour()), -1, hour())
    cube[..., 7], cube[:2, :, 9] = 5, -1
    cube[..., 20] = np.random.default_rng(1).normal(2, 1, cube.shape[:2])
    bbl, valid = np.arange(24) != 3, np.arange(40) > np.zeros((30, 1)) + 4
    hypercube(tmp_path, cube, "bands", "cube.hdr", "bands.csv", wavelength=WAVES, bbl=bbl.astype(int), data_ignore_value=-1)
    rows = rows_of(tmp_path / "bands.csv")
    used, snr, reasons = sparsehs.bands(cube, wavelengths=WAVES, bbl=bbl, nodata=-1)
    assert reasons.tolist() == [row[4] for row in rows] and used.tolist() == [row[3] == "1" for row in rows]
    assert {"header", "water", "missing", "constant", "noise", ""} == set(reasons) and np.array_equal(used, reasons == "")
    assert np.allclose(snr, [float(row[2] or "nan") for row in rows], rtol=1e-5, equal_nan=True)
    kept = np.flatnonzero(~np.isnan(snr))  # one least squares problem each
    X = cube[(cube[..., kept] != -1).all(axis=2)][:, kept].astype(float)
    X -= X.mean(axis=0)
    for place, band in enumerate(kept):
        others = np.delete(X, place, axis=1)
        left = np.square(X[:, place] - others @ np.linalg.lstsq(others, X[:, place], rcond=None)[0]).sum() / (len(X) - len(kept))
        assert np.isclose(snr[band], max(0, X[:, place].var() / left - 1), rtol=1e-5)
    holes = np.where(cube == -1, np.nan, cube)
    for other in 4 * holes, np.ma.masked_equal(cube, -1), holes.reshape(-1, 24), np.asfortranarray(holes.astype(">f8")):
        again = sparsehs.bands(other, wavelengths=WAVES / 1000, bbl=bbl)
        assert np.array_equal(again[2], reasons) and np.allclose(again[1], snr, rtol=1e-5, equal_nan=True)
    swapped = np.random.default_rng(2).permutation(24)
    again = sparsehs.bands(cube[..., swapped], wavelengths=WAVES[swapped], bbl=bbl[swapped], nodata=-1)
    assert np.array_equal(again[2], reasons[swapped])
    assert not (sparsehs.bands(cube, nodata=-1)[2] == "water").any()
    assert not (sparsehs.bands(cube, wavelengths=WAVES, keep_water=True, band_snr=0, nodata=-1)[2] == "noise").any()
    masked = sparsehs.bands(cube, valid=valid, nodata=-1)
    assert np.array_equal(masked[2], sparsehs.bands(np.ascontiguousarray(cube[:, 5:]), nodata=-1)[2])


def test_bad_bands_of_little():
    cube = hour()
    ends = np.r_[1339.9, 1340, 1450, 1450.1, 1789.9, 1790, 1970, 1970.1]
    assert (sparsehs.bands(cube[..., :8], wavelengths=ends, band_snr=0)[2] == "water").tolist() == [0, 1, 1, 0, 0, 1, 1, 0]
    assert sparsehs.bands(cube[..., :1])[0].tolist() == [True]
    with pytest.warns(RuntimeWarning, match="20 valid pixels are too few") as warned:
        used, snr, _ = sparsehs.bands(cube[0, :20])
    assert warned[0].filename == __file__ and used.all() and np.isnan(snr).all()
    for call, words in ((lambda: sparsehs.bands(cube[:0]), "there are no pixels"),
                        (lambda: sparsehs.bands(cube * np.nan), "all 24 bands are bad .*24 missing"),
                        (lambda: sparsehs.bands(np.ones((9, 9, 3))), "all 3 bands are bad .*3 constant"),
                        (lambda: sparsehs.bands(cube, valid=np.zeros((30, 40))), "all 24 bands are bad"),
                        (lambda: sparsehs.bands(cube, wavelengths=WAVES[1:]), r"wavelengths: its shape is \(23,\), expected"),
                        (lambda: sparsehs.bands(cube, wavelengths=-WAVES), "wavelengths: number 1 is -450, expected above 0"),
                        (lambda: sparsehs.bands(cube, bbl=[1, 0]), r"bbl: its shape is \(2,\), expected \(24,\)")):
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("real", REALS)
def test_materials_are_counted_as_the_program_does(tmp_path, real):
    from scipy.stats import norm
    cube = hour(real)
    hypercube(tmp_path, cube, "count", "cube.hdr", "--report", "count.csv", "--false-alarm", 0.01)
    want = {name: int(number) for name, number in rows_of(tmp_path / "count.csv")}
    rates = {method: {} if method == "hysime" else dict(false_alarm=0.01) for method in want}
    assert {method: sparsehs.count(cube, method, **rates[method]) for method in want} == want and want["hysime"] == 3
    X = cube[~np.isnan(cube).any(axis=2)].astype(float)
    eigenvalues = [np.linalg.eigvalsh(M)[::-1] for M in (X.T @ X / len(X), np.cov(X.T, bias=True))]
    spread = np.sqrt(2 * (eigenvalues[0] ** 2 + eigenvalues[1] ** 2) / len(X))
    assert sparsehs.count(cube, "hfc") == (eigenvalues[0] - eigenvalues[1] > -norm.ppf(1e-3) * spread).sum()
    noise = np.diag(np.linspace(0.002, 0.01, 24) ** 2)
    np.savetxt(tmp_path / "noise.csv", noise, delimiter=",")
    for method in "hysime", "nwhfc":
        said = hypercube(tmp_path, cube, "count", "cube.hdr", "--method", method, "--noise-covariance", "noise.csv")
        assert sparsehs.count(cube, method, noise=noise) == int(said.split()[1])
    assert sparsehs.count(np.where(np.isnan(cube), -7, cube).reshape(-1, 24), nodata=-7) == want["hysime"]
    assert sparsehs.count(cube, noise=1e6 * noise) == 0
    for method, number in want.items():  # in any unit, of bands in any order, by any number of threads
        assert sparsehs.count(1024 * cube[..., ::-1], method, **rates[method], threads=2) == number
    for call, words in ((lambda: sparsehs.count(cube, "osp"), "method: 'osp' is none of hysime, hfc, nwhfc"),
                        (lambda: sparsehs.count(cube, "hfc", false_alarm=0.7), "false_alarm: 0.7, expected above 0 and at most"),
                        (lambda: sparsehs.count(cube[..., :1]), r"cube: its shape is \(30, 40, 1\), expected pixels of 2 bands"),
                        (lambda: sparsehs.count(cube, noise=noise[1:]), r"noise: its shape is \(23, 24\), expected \(24, 24\)"),
                        (lambda: sparsehs.count(cube[..., [0, 1, 1]]), "singular")):
        with pytest.raises(ValueError, match=words):
            call()


def spectra_of_program(tmp_path, cube, *options):
    hypercube(tmp_path, cube, "spectra", "cube.hdr", "out.hdr", *options, "--type", "f64", wavelength=WAVES)
    return written(tmp_path, "out.hdr")


def test_spectra_are_smoothed_as_the_program_does(tmp_path):
    cube = hour(np.float64)
    got = sparsehs.smooth(cube, 5, wavelengths=WAVES)
    the_same(got, spectra_of_program(tmp_path, cube, "--smooth", 5))
    assert np.isnan(got[2, 3]).all() and np.isnan(got).sum() == 48
    assert np.allclose(got[0, 0, 2:-2], np.convolve(cube[0, 0], np.ones(5) / 5, "valid"))
    assert got[0, 0, 0] == cube[0, 0, 0] and np.isclose(got[0, 0, 1], cube[0, 0, :3].mean())
    the_same(sparsehs.smooth(cube, 5), got)
    swapped = np.random.default_rng(2).permutation(24)
    the_same(sparsehs.smooth(cube[..., swapped], 5, wavelengths=WAVES[swapped]), got[..., swapped])
    assert sparsehs.smooth(hour(), 5).dtype == np.float32
    for call, words in ((lambda: sparsehs.smooth(cube, 4), "width: 4, expected an odd number"),
                        (lambda: sparsehs.smooth(cube[..., :1], 3), r"cube: its shape is \(30, 40, 1\), expected 3 bands")):
        with pytest.raises(ValueError, match=words):
            call()


def test_no_band_is_made_up_in_a_gap():
    waves = np.array([400.0, 425, 450, 600, 625, 650])
    cube = np.arange(24.0).reshape(2, 2, 6)
    got, inside = sparsehs.resample(cube, [425.0, 520, 625], [10.0, 10, 10], wavelengths=waves)
    assert inside.tolist() == [True, False, True] and got.shape == (2, 2, 2)
    cube[0, 0, 1:5] = np.nan  # of one spectrum
    got = sparsehs.resample(cube, [425.0, 625], [10.0, 10], wavelengths=waves, gaps=True)[0]
    assert np.isnan(got[0, 0]).all() and np.isfinite(got[1]).all()


def test_spectra_are_resampled_as_the_program_does(tmp_path):
    from scipy.integrate import quad
    cube, centres = hour(np.float64), np.array([443.0, 560, 865, 1610, 2190, 2600])
    fwhm = np.array([20.0, 36, 120, 90, 180, 50])
    np.savetxt(tmp_path / "sensor.csv", np.c_[centres, fwhm], delimiter=",", header="wavelength,fwhm", comments="")
    got, inside = sparsehs.resample(cube, centres, fwhm, wavelengths=WAVES)
    assert inside.tolist() == [False, True, True, True, True, False]
    the_same(got, spectra_of_program(tmp_path, cube, "--resample", "sensor.csv"))
    for value, centre, width in zip(got[7, 8], centres[inside], fwhm[inside] / math.sqrt(8 * math.log(2))):
        a, b = max(WAVES[0], centre - 9 * width), min(WAVES[-1], centre + 9 * width)
        response = lambda x: math.exp(-(((x - centre) / width) ** 2) / 2)  # noqa: E731
        inner = [x for x in WAVES if a < x < b]
        whole = quad(lambda x: response(x) * np.interp(x, WAVES, cube[7, 8]), a, b, points=inner, limit=200)[0]
        assert np.isclose(value, whole / quad(response, a, b, points=inner, limit=200)[0], rtol=1e-7)
    np.savetxt(tmp_path / "sensor.csv", centres, header="wavelength", comments="")
    got, inside = sparsehs.resample(cube, centres, wavelengths=WAVES)
    the_same(got, spectra_of_program(tmp_path, cube, "--resample", "sensor.csv"))
    the_same(sparsehs.resample(cube[..., ::-1], centres / 1000, wavelengths=WAVES[::-1] / 1000)[0], got)
    turned = sparsehs.resample(cube, centres[::-1], wavelengths=WAVES)
    assert turned[1].tolist() == inside[::-1].tolist()
    the_same(turned[0], got[..., ::-1])
    line = 3 + 0.01 * WAVES  # what is linear is known exactly in its middle
    assert np.isclose(sparsehs.resample(line, [1400.0], [50], wavelengths=WAVES)[0], 17)
    with pytest.raises(ValueError, match="wavelengths: None, expected a number above 0 for each of 24 bands"):
        sparsehs.resample(cube, centres)
    for at, widths, words in ((None, None, "centres: None, expected a number above 0 for each band"),
                              ([3000.0], None, "centres: 3000 to 3000 nm, expected a band within"),
                              ([400.0, 0], None, "centres: number 2 is 0, expected above 0"),
                              (centres, fwhm[1:], r"fwhm: its shape is \(5,\), expected \(6,\)"),
                              (centres, 0 * fwhm, "fwhm: 0, expected above 0")):
        with pytest.raises(ValueError, match=words):
            sparsehs.resample(cube, at, widths, wavelengths=WAVES)


@pytest.mark.parametrize("method", ["divide", "subtract"])
def test_the_continuum_is_that_of_the_program(tmp_path, method):
    from scipy.spatial import ConvexHull
    cube = hour(np.float64)
    cube[9, 9], cube[9, 10], cube[9, 11] = -1 - WAVES / 1e4, 7, np.cumsum(1 / np.arange(1, 25))
    got = sparsehs.continuum(cube, method, wavelengths=WAVES)
    the_same(got, spectra_of_program(tmp_path, cube, "--continuum", method))
    for y, x in np.ndindex(4, 40):
        if (y, x) != (2, 3):
            values = cube[y, x]
            corners = ConvexHull(np.c_[np.r_[WAVES, WAVES[0], WAVES[-1]], np.r_[values, -9, -9]]).vertices
            corners = np.sort(corners[corners < 24])
            hull = np.interp(WAVES, WAVES[corners], values[corners])
            assert np.allclose(got[y, x], values - hull if method == "subtract" else values / hull)
    assert np.isnan(got[9, 9]).all() == (method == "divide")
    assert (got[9, 10] == (method == "divide")).all() and np.allclose(got[9, 11], method == "divide")
    swapped = np.random.default_rng(2).permutation(24)
    the_same(sparsehs.continuum(cube[..., swapped], method, wavelengths=WAVES[swapped] / 1000), got[..., swapped])
    few = sparsehs.continuum(cube[..., :2], method, wavelengths=WAVES[:2])  # what another sensor may have left
    assert np.isnan(few[5, 6]).all() and (few[0] == (method == "divide")).all()
    assert np.array_equal(sparsehs.continuum(4 * cube, method, wavelengths=WAVES), got * (1 if method == "divide" else 4), True)
    for call, words in ((lambda: sparsehs.continuum(cube, "keep", wavelengths=WAVES), "method: 'keep' is none of divide, subtract"),
                        (lambda: sparsehs.continuum(cube), "wavelengths: None, expected a number above 0 for each of 24 bands"),
                        (lambda: sparsehs.continuum(cube, wavelengths=np.r_[WAVES[:-1], 450]), "bands 1 and 24 are both at 450")):
        with pytest.raises(ValueError, match=words):
            call()


def test_derivatives_are_those_of_the_program(tmp_path):
    cube, uneven = hour(np.float64), 450 + 80 * np.arange(24) + 30 * np.sin(np.arange(24))
    for order in 1, 2:
        got = sparsehs.derivative(cube, order, wavelengths=WAVES)
        the_same(got, spectra_of_program(tmp_path, cube, "--derivative", order))
        parabola = 5 - 0.02 * uneven + 3e-5 * uneven**2  # of a parabola they are exact
        want = 6e-5 * uneven - 0.02 if order == 1 else np.full(24, 6e-5)
        assert np.allclose(sparsehs.derivative(parabola, order, wavelengths=uneven), want)
        assert np.allclose(sparsehs.derivative(parabola[::-1], order, wavelengths=uneven[::-1] / 1000), want[::-1])
    both = sparsehs.derivative(sparsehs.continuum(sparsehs.smooth(cube, 3), wavelengths=WAVES), wavelengths=WAVES)
    the_same(both, spectra_of_program(tmp_path, cube, "--smooth", 3, "--continuum", "divide", "--derivative", 1))
    with pytest.raises(ValueError, match="order: 3 is none of 1, 2"):
        sparsehs.derivative(cube, 3, wavelengths=WAVES)


def test_spectra_of_any_shape_and_type(monkeypatch):
    cube, valid = (1000 * np.nan_to_num(hour())).astype(np.uint16), np.random.default_rng(0).random((30, 40)) > 0.3
    for step in (lambda x, **given: sparsehs.smooth(x, 7, **given), sparsehs.continuum, sparsehs.derivative,
                 lambda x, **given: sparsehs.resample(x, [900.0, 1500], [90, 80], **given)[0]):
        want = step(cube, wavelengths=WAVES)
        assert want.dtype == np.float32
        the_same(step(cube[4, 5], wavelengths=WAVES), want[4, 5], 0)
        the_same(step(cube.reshape(-1, 24), wavelengths=WAVES).reshape(want.shape), want, 0)
        the_same(step(np.asfortranarray(cube.astype(">i4"))[::-1], wavelengths=WAVES), want[::-1].astype(float), 1e-6)
        missing = np.isnan(step(cube, wavelengths=WAVES, valid=valid, nodata=cube[0, 0, 0])).all(axis=2)
        assert np.array_equal(missing, ~valid | (cube == cube[0, 0, 0]).any(axis=2) | np.isnan(want).all(axis=2))
        assert np.isnan(step(np.ma.masked_equal(cube, cube[0, 0, 0]), wavelengths=WAVES)[0, 0]).all()
        assert step(cube[:0], wavelengths=WAVES).shape == (0,) + want.shape[1:]
        for block in 1, 24 * 40 * 7:
            monkeypatch.setattr(sparsehs.scene, "BLOCK", block)
            the_same(step(cube, wavelengths=WAVES), want, 0)
            the_same(step(cube.reshape(-1, 24), wavelengths=WAVES).reshape(want.shape), want, 0)


def test_spectra_with_gaps_are_those_of_the_program(tmp_path):
    rng = np.random.default_rng(4)
    spectra = rng.random((6, 24)) + 0.2
    spectra[1, [0, 5, 6]] = spectra[2, [5, 23]] = spectra[3, 2:] = spectra[4, :] = spectra[5, [5, 23]] = np.nan
    table = np.c_[WAVES, spectra.T]
    lines = ["wavelength (nm)," + ",".join("s%d" % k for k in range(6))]
    lines += [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in table]
    (tmp_path / "spectra.csv").write_text("\n".join(lines) + "\n")
    sensor = np.array([[480, 60], [900, 90], [1500, 90], [2330, 60.0]])
    np.savetxt(tmp_path / "sensor.csv", sensor, delimiter=",", header="wavelength,fwhm", comments="")
    for options, step in ((("--smooth", 5), lambda x, **given: sparsehs.smooth(x, 5, **given)),
                          (("--continuum", "divide"), sparsehs.continuum),
                          (("--derivative", 2), lambda x, **given: sparsehs.derivative(x, 2, **given)),
                          (("--resample", "sensor.csv"), lambda x, **given: sparsehs.resample(x, *sensor.T, **given)[0])):
        hypercube(tmp_path, hour(), "spectra", "spectra.csv", "out.csv", *options)
        want = np.full((6, len(rows_of(tmp_path / "out.csv"))), np.nan)
        rows = np.array(rows_of(tmp_path / "out.csv"), float).T[1:]
        want[[0, 1, 2, 3, 5]] = rows[[0, 1, 2, 3, -1]]  # a column without a value is no spectrum
        got = step(spectra, wavelengths=WAVES, gaps=True)
        the_same(got, want)
        assert np.isfinite(got[0]).all() and np.isnan(got[3]).all() and np.isfinite(got[1]).any()
        the_same(step(np.ma.masked_invalid(spectra), wavelengths=WAVES, gaps=True), want)
        the_same(step(np.nan_to_num(spectra, nan=-1), wavelengths=WAVES, gaps=True, nodata=-1), want)
        swapped = rng.permutation(24)
        again = step(spectra[:, swapped], wavelengths=WAVES[swapped], gaps=True)
        the_same(again, want if options[0] == "--resample" else want[:, swapped])
        assert np.isnan(step(spectra, wavelengths=WAVES)[1:]).all()


def test_relative_reflectance_is_that_of_the_program(tmp_path):
    cube = hour(np.float64)
    cube[8, 8, 8] = -0.1
    gain, offset = np.linspace(1, 2, 24), np.linspace(-0.1, 0.1, 24)
    np.savetxt(tmp_path / "gains.csv", np.c_[gain, offset], delimiter=",", header="gain,offset", comments="")
    there = cube[~np.isnan(cube).any(axis=2)]
    positive = np.log(there[(there > 0).all(axis=1)])
    with np.errstate(invalid="ignore"):
        logs = np.log(cube)
    byhand = {"flat": cube / np.nanmean(np.where(np.isnan(cube).any(axis=2, keepdims=True), np.nan, cube)[2:8, 1:11], axis=(0, 1)),
              "iarr": cube / there.mean(axis=0), "dark": cube - there.min(axis=0), "gains": gain * cube + offset,
              "logres": np.exp(logs - logs.mean(axis=2, keepdims=True) - positive.mean(axis=0) + positive.mean())}
    options = {"flat": ("--region", "1,2,10,6"), "gains": ("--table", "gains.csv")}
    given = {"flat": dict(region=(1, 2, 10, 6)), "gains": dict(gain=gain, offset=offset)}
    gone = np.isnan(cube).any(axis=2, keepdims=True)
    for method, want in byhand.items():
        got = sparsehs.correct(cube, method, **given.get(method, {}))
        hypercube(tmp_path, cube, "correct", "cube.hdr", "out.hdr", "--method", method, *options.get(method, ()), "--type", "f64")
        the_same(got, written(tmp_path, "out.hdr"))
        the_same(got, np.where(gone | (method == "logres" and (cube <= 0).any(axis=2, keepdims=True)), np.nan, want), 1e-10)
        if method != "flat":
            the_same(sparsehs.correct(cube.reshape(-1, 24), method, **given.get(method, {})).reshape(cube.shape), got)
        assert sparsehs.correct(cube.astype(np.float32), method, **given.get(method, {})).dtype == np.float32
    valid = np.arange(40) > np.zeros((30, 1)) + 19
    for method in "iarr", "dark", "logres":
        half = sparsehs.correct(cube, method, valid=valid)
        assert np.isnan(half[:, :20]).all()
        the_same(half[:, 20:], sparsehs.correct(cube[:, 20:], method))
        marked = np.where(gone, -9.0, cube)
        the_same(sparsehs.correct(marked, method, nodata=-9), sparsehs.correct(np.where(gone, np.nan, cube), method))
        the_same(sparsehs.correct(np.ma.masked_equal(marked, -9), method), sparsehs.correct(marked, method, nodata=-9))
    assert np.allclose(sparsehs.correct(cube[:1, :1], "iarr"), 1) and (sparsehs.correct(cube[:1, :1], "dark") == 0).all()
    assert np.allclose(sparsehs.correct(cube[..., :1], "iarr"), cube[..., :1] / np.nanmean(cube[..., 0]), equal_nan=True)
    the_same(sparsehs.correct(cube, "gains", offset=offset), np.where(gone, np.nan, cube + offset))
    for call, words in ((lambda: sparsehs.correct(cube, "elm"), "method: 'elm' is none of flat, iarr, logres, dark, gains"),
                        (lambda: sparsehs.correct(cube, "flat"), "region: None, expected"),
                        (lambda: sparsehs.correct(cube, "flat", region=(35, 2, 10, 6)), "region: .* within the 40 x 30 pixels"),
                        (lambda: sparsehs.correct(cube, "flat", region=(6, 5, 1, 1)), "region: no pixel has all bands"),
                        (lambda: sparsehs.correct(cube, "dark", region=(0, 0, 1, 1)), "region: given with method 'dark'"),
                        (lambda: sparsehs.correct(cube, "iarr", gain=gain), "gain: given with method 'iarr'"),
                        (lambda: sparsehs.correct(cube, "gains"), "gain, offset: None"),
                        (lambda: sparsehs.correct(cube, "gains", gain=gain[1:]), r"gain: its shape is \(23,\), expected \(24,\)"),
                        (lambda: sparsehs.correct(-np.abs(cube), "iarr"), "iarr: the mean of band 1 is -.*, expected above 0"),
                        (lambda: sparsehs.correct(cube * np.nan, "dark"), "dark: no pixel has all bands")):
        with pytest.raises(ValueError, match=words):
            call()


def test_indices_are_those_of_the_program(tmp_path):
    cube, waves = hour(np.float64), np.r_[480, 520, 560, 660, 700, 860, np.linspace(900, 2350, 18)]
    cube[4, 4, 5] = 0
    for expression in ("NDVI", "NDWI", "NDMI", "NBR", "NDSI", "iron", "clay", "(b860-b660)/(b860+b660)", "1/(#1/#6)",
                       "b0.86um - b560nm", "log(#6)*2 - -sqrt(abs(#3 - .5))/b1.65micrometers+1e-1", "-#1*-#2/3"):
        hypercube(tmp_path, cube, "index", "cube.hdr", "out.hdr", "--index", expression, "--type", "f64", wavelength=waves)
        got = sparsehs.index(cube, expression, wavelengths=waves)
        the_same(got, written(tmp_path, "out.hdr")[..., 0])
        the_same(sparsehs.index(cube.reshape(-1, 24), expression, wavelengths=waves / 1000).reshape(got.shape), got)
    near, red = cube[..., 5], cube[..., 3]
    the_same(sparsehs.index(cube, "NDVI", wavelengths=waves), (near - red) / (near + red))
    assert np.isnan(sparsehs.index(cube, "1/(#1/#6)")[4, 4])  # and not 0
    for limits in dict(above=-0.1), dict(below=-0.1), dict(above=-0.15, below=-0.05):
        options = [word for name, value in limits.items() for word in ("--" + name, value)]
        hypercube(tmp_path, cube, "index", "cube.hdr", "out.hdr", "--index", "NDVI", *options, wavelength=waves)
        mask = sparsehs.index(cube, "NDVI", wavelengths=waves, **limits)
        assert mask.dtype == bool and np.array_equal(mask, written(tmp_path, "out.hdr")[..., 0] == 1) and 0 < mask.sum() < mask.size
    assert np.array_equal(np.isnan(sparsehs.rx(cube, valid=mask)), ~mask | np.isnan(cube).any(axis=2))
    value = sparsehs.index(cube, "#5")
    assert np.isnan(value).sum() == 2 and sparsehs.index(hour(), "#5").dtype == np.float32  # only the named band must be there
    assert np.isfinite(sparsehs.index(cube, "#4")).sum() == 30 * 40 - 1
    assert np.isnan(sparsehs.index(cube, "#6", nodata=0)[4, 4]) and not sparsehs.index(cube, "#6", nodata=0, above=-1)[4, 4]
    masked = np.ma.masked_equal(cube, 0)
    assert np.isnan(sparsehs.index(masked, "#6")[4, 4]) and sparsehs.index(masked, "#4")[4, 4] > 0
    assert np.isnan(sparsehs.index(cube, "#6", valid=np.eye(30, 40))[0, 1])
    assert np.array_equal(sparsehs.index(cube[..., :1], "#1"), cube[..., 0], equal_nan=True)
    assert sparsehs.index(cube[:0], "#1").shape == (0, 40)


def test_expressions_that_are_none():
    cube = hour()
    for expression, words in (("b860", "wavelengths: None, expected .* as b860"), ("#25", "#25, expected the number of a band"),
                              ("#1.5", "#1.5, expected"), ("#1+", r"expected a band like b860 or #7, a number or \( at the end"),
                              ("#1 #2", r"expected \+, -, \*, / or the end at '#2'"), ("(#1", r"expected \) at the end"),
                              ("", "expected a band"), ("sqrt #1", r"expected \( at '#1'"), ("#1**2", r"at '\*2'"),
                              ("#1 nm", "at 'nm'"), ("SQRT(#1)", "at 'SQRT"), ("# 1", "expected a number at '1'"),
                              ("+#1", r"at '\+#1'"), ("2*3", "names no band"), ("#1+0x10", "at 'x10'"), ("exp(#1)", "at 'exp"),
                              ("#1 if", "at 'if'"), ("(" * 60 + "#1" + ")" * 60, "50 brackets")):
        with pytest.raises(ValueError, match=words):
            sparsehs.index(cube, expression)
    with pytest.raises(ValueError, match="b3000: the nearest band is at 2350 nm, expected one within 150 nm"):
        sparsehs.index(cube, "b3000", wavelengths=WAVES)


def test_an_index_of_two_dates_is_refused():
    cube, waves = np.arange(48.0).reshape(2, 4, 6), [560, 660, 860] * 2
    for expression, words in ("NDVI", "bands 3 and 6 are both at 860 nm"), ("#1/b660", "bands 2 and 5 are both at 660 nm"):
        with pytest.raises(ValueError, match="wavelengths: %s, expected different ones" % words):
            sparsehs.index(cube, expression, wavelengths=waves)
    assert np.array_equal(sparsehs.index(cube, "#6/#5", wavelengths=waves), cube[..., 5] / cube[..., 4])
    assert np.array_equal(sparsehs.index(cube[..., :4], "b860/b660", wavelengths=waves[:4]), cube[..., 2] / cube[..., 1])


@pytest.mark.parametrize("order", [("band", "y", "x"), ("y", "x", "band"), ("x", "band", "y")])
def test_dataarrays_keep_what_holds(order):
    xarray = pytest.importorskip("xarray")
    plain, waves = hour(), np.r_[480, 520, 560, 660, 700, 860, np.linspace(900, 2350, 18)]
    coords = {"band": np.arange(1, 25), "wavelength": ("band", waves / 1000, {"units": "\u00b5m"}), "y": 100.0 - np.arange(30),
              "x": np.arange(40.0), "lon": (("y", "x"), np.random.default_rng(0).random((30, 40))), "spatial_ref": 0}
    attrs = {"units": "1", "unit": "1", "_FillValue": -9999, "site": "here", "fwhm": [10.0] * 24}
    cube = xarray.DataArray(plain, coords, ("y", "x", "band"), "scene", attrs).transpose(*order)
    places, valid = ("y", "x"), xarray.DataArray(np.eye(30, 40) < 1, dims=("y", "x"))

    def holds(got, want, band, unit=False):
        """The values, and the labels: of places always, of bands where they are kept."""
        dims = tuple(one if one in places else band for one in order if one in places or band)
        assert isinstance(got, xarray.DataArray) and got.dims == dims
        the_same(got.transpose("y", "x", ...).values, want, 0)
        assert {"y", "x", "lon", "spatial_ref"} <= set(got.coords) and ("band" in got.coords) == (band == "band")
        assert got.indexes["y"].equals(cube.indexes["y"]) and got.lon.equals(cube.lon.transpose(*got.lon.dims))
        lost = {"_FillValue"} | (set() if unit else {"units", "unit"}) | (set() if band == "band" else {"fwhm"})
        assert got.attrs == {name: value for name, value in attrs.items() if name not in lost}

    given = dict(wavelengths=waves)
    holds(sparsehs.smooth(cube, 5), sparsehs.smooth(plain, 5, **given), "band", True)
    holds(sparsehs.continuum(cube), sparsehs.continuum(plain, **given), "band")
    holds(sparsehs.continuum(cube, method="subtract"), sparsehs.continuum(plain, "subtract", **given), "band", True)
    holds(sparsehs.derivative(cube, valid=valid), sparsehs.derivative(plain, valid=valid.values, **given), "band")
    holds(sparsehs.correct(cube, "dark"), sparsehs.correct(plain, "dark"), "band", True)
    holds(sparsehs.correct(cube=cube, method="iarr"), sparsehs.correct(plain, "iarr"), "band")
    holds(sparsehs.index(cube, "NDVI"), sparsehs.index(plain, "NDVI", **given), None)
    mask = sparsehs.index(cube, "NDVI", above=-0.1)
    assert mask.dtype == bool
    holds(sparsehs.rx(cube, valid=mask.T), sparsehs.rx(plain, valid=mask.transpose("y", "x").values), None)
    got, inside = sparsehs.resample(cube, [0.75, 1.0, 3.0], [0.03, 0.05, 0.05])
    holds(got, sparsehs.resample(plain, [750.0, 1000, 3000], [30, 50, 50], **given)[0], "wavelength", True)
    assert got.wavelength.values.tolist() == [750, 1000] and got.wavelength.attrs["units"] == "nm" and inside.tolist() == [1, 1, 0]
    used, snr, reasons = sparsehs.bands(cube)
    assert used.dims == snr.dims == reasons.dims == ("band",) and used.wavelength.equals(cube.wavelength)
    assert reasons.values.tolist() == sparsehs.bands(plain, **given)[2].tolist() and (reasons == "water").any()
    assert sparsehs.count(cube) == sparsehs.count(plain)
    components, model = sparsehs.pca(cube, 3)
    holds(components, sparsehs.pca(plain, 3)[0], "component")
    assert np.allclose(model.wavelengths, waves)
    holds(model.denoise(cube, 3), model.denoise(plain, 3), "band", True)
    assert model.inverse_transform(components).dims == order
    spectra, where = sparsehs.endmembers(cube, 3, "nfindr")
    assert spectra.dims == ("endmember", "band") and spectra.wavelength.equals(cube.wavelength) and spectra.attrs["units"] == "1"
    turned = plain if order != ("x", "band", "y") else plain.swapaxes(0, 1)  # lines are the first dimension
    assert (where == sparsehs.endmembers(turned, 3, "nfindr")[1]).all()
    shares, errors = sparsehs.unmix(cube, spectra.T, errors=True)
    holds(shares, sparsehs.unmix(plain, spectra.values), "endmember")
    holds(errors, sparsehs.unmix(plain, spectra.values, errors=True)[1], None)
    holds(sparsehs.detect(cube, spectra[0]), sparsehs.detect(plain, spectra.values[0]), None)
    holds(sparsehs.detect(cube, spectra, "ace"), sparsehs.detect(plain, spectra.values, "ace"), "target")
    holds(sparsehs.compare(cube, cube.transpose("band", "x", "y") * 2)[0], sparsehs.compare(plain, plain * 2)[0], None)
    one = sparsehs.continuum(cube.isel(y=3, x=4))
    assert one.dims == ("band",) and np.array_equal(one, sparsehs.continuum(plain[3, 4], **given)) and one.y == cube.y[3]
    flat = sparsehs.rx(cube.stack(pixel=("y", "x")))
    assert flat.dims == ("pixel",) and flat.unstack("pixel").dims == ("y", "x")
    assert sparsehs.smooth(cube.drop_vars("wavelength"), 5).dims == order
    odd = cube.assign_coords(wavelength=("band", waves, {"units": "furlong"}))
    with pytest.warns(RuntimeWarning, match="furlong"):
        refused(lambda: sparsehs.continuum(odd), "wavelengths: None, expected a number above 0 for each of 24 bands")
    refused(lambda: sparsehs.continuum(cube.drop_vars("wavelength")), "wavelengths: None, expected a number above 0 for each of 24 bands")
    holds(sparsehs.continuum(odd, wavelengths=waves), sparsehs.continuum(plain, **given), "band")


def test_attributes_of_envi_and_gdal_are_kept_where_they_hold():
    xarray = pytest.importorskip("xarray")
    of_place = {"map_info": "UTM, 1, 1, 600000, 5700000, 20, 20, 31, North,WGS-84", "coordinate_system_string": "PROJCS[...]",
                "transform": (20.0, 0.0, 6e5, 0.0, -20.0, 5.7e6), "crs": "EPSG:32631", "description": "w.img",
                "sensor type": "MSI", "acquisition_time": "2026-06-01", "AREA_OR_POINT": "Area", 7: "any"}
    of_file = {"samples": "50", "lines": "40", "bands": "6", "header_offset": "0", "header offset": "0",
               "file_type": "ENVI Standard", "data_type": "12", "DATA_TYPE": "12", "interleave": "bil", "byte_order": "0",
               "data_ignore_value": "-1", "fill_value": -1, "STATISTICS_MEAN": "3", "STATISTICS_VALID_PERCENT": "100",
               "nodatavals": (-1,) * 6}
    of_values = {"scale_factor": 1e-4, "add_offset": -0.1, "reflectance_scale_factor": "10000",
                 "reflectance scale factor": "10000", "classes": "3", "class_names": "a,b,c", "class_lookup": "0,0,0",
                 "units": "1", "default_stretch": "0 1 linear"}
    of_bands = {"wavelength": 443, "wavelength_units": "Nanometers", "Wavelength Units": "nm",
                "band_names": "B1,B2,B3,B4,B5,B6", "Band_1": "B1 (443 Nanometers)", "Band_12": "B12", "default_bands": "3,2,1",
                "bbl": "1,1,1,1,1,1", "fwhm": "20,20"}
    of_both = {"data_gain_values": "1, 1, 1, 1, 1, 1", "data_offset_values": "0, 0, 0, 0, 0, 0", "long_name": ("B1", "B2") * 3}
    attrs = {**of_place, **of_file, **of_values, **of_bands, **of_both}
    cube = xarray.DataArray(scene(bands=6), dims=("y", "x", "band"), attrs=attrs)
    components, model = sparsehs.pca(cube, 3)
    for made in components, sparsehs.rx(cube), sparsehs.unmix(cube, cube.values[:3, 0]), model.inverse_transform(components):
        assert made.attrs == of_place
    for made in model.denoise(cube, 3), sparsehs.endmembers(cube, 3)[0]:
        assert made.attrs == {**of_place, **of_values, **of_bands, **of_both}
    assert sparsehs.correct(cube, "iarr").attrs == {**of_place, **of_bands}
    waves = np.linspace(400, 900, 6)
    assert sparsehs.resample(cube, [500, 700], wavelengths=waves)[0].attrs == {**of_place, **of_values}


def test_labels_that_differ_are_refused():
    xarray = pytest.importorskip("xarray")
    waves = np.array([480, 560, 660, 860, 1650.0])
    cube = xarray.DataArray(np.random.default_rng(0).random((6, 7, 5)), dims=("y", "x", "band"),
                            coords=dict(y=60.0 - np.arange(6), x=np.arange(7), band=np.arange(1, 6), wavelength=("band", waves)))
    spectra, backwards = cube[0, :3].rename(x="material").drop_vars("material"), slice(None, None, -1)
    mask = cube.isel(band=0, drop=True) > 0.2
    bare = spectra.drop_vars("band")
    assert sparsehs.unmix(cube, spectra.T).equals(sparsehs.unmix(cube, spectra.values))
    assert sparsehs.unmix(cube, bare.assign_coords(wavelength=("band", waves / 1000 + 1e-9, {"units": "um"}))).dims == ("y", "x", "endmember")
    numbers = cube.drop_vars("wavelength")
    for call, words in ((lambda: sparsehs.unmix(numbers, spectra[:, backwards]), "endmembers: along 'band' its label 1 is 5, expected 1 as"),
                        (lambda: sparsehs.detect(numbers, [spectra[0], spectra[1, backwards]]), "targets: along 'band'"),
                        (lambda: sparsehs.unmix(cube, bare[:, backwards]), "endmembers: its band 1 has the wavelength 1650 nm, expected 480 nm"),
                        (lambda: sparsehs.compare(cube, cube.sortby("y")), "other: along 'y' its label 1 is 55.0, expected 60.0"),
                        (lambda: sparsehs.rx(cube, valid=mask.sortby("y")), "valid: along 'y'")):
        refused(call, words)
    assert sparsehs.rx(cube, valid=mask.sortby("y").reindex_like(mask)).equals(sparsehs.rx(cube, valid=mask))
    tenths = cube.assign_coords(y=0.1 * np.arange(6), x=np.linspace(0, 0.6, 7, dtype=np.float32))
    for moved in mask.assign_coords(y=np.linspace(0, 0.5, 6), x=np.linspace(0, 0.6, 7)), mask.assign_coords(y=tenths.y + 1e-5, x=tenths.x):
        assert sparsehs.rx(tenths, valid=moved).equals(sparsehs.rx(tenths, valid=mask.values))
    refused(lambda: sparsehs.rx(tenths, valid=mask.assign_coords(y=tenths.y + 0.01)), "valid: along 'y' its label 1 is 0.01")
    degrees, seconds = -118.123456 + 0.000542 * np.arange(6), 1.7e9 + 0.5 * np.arange(6)
    for y, rounded in (degrees, degrees.astype(np.float32)), (np.array([0, 1, np.nan, 3, np.inf, 5]), np.arange(6) + 1e-7):
        rounded = np.where(np.isfinite(y), rounded, y).astype(rounded.dtype)
        for one, other in (y, rounded), (rounded, y):
            assert sparsehs.rx(cube.assign_coords(y=one), valid=mask.assign_coords(y=other)).shape == (6, 7)
    for y, moved in (degrees, degrees + 1e-5), (degrees, (degrees + 0.0002).astype(np.float32)), (seconds, seconds + 0.5):
        wrong, right = mask.assign_coords(y=moved), cube.assign_coords(y=y)
        refused(lambda: sparsehs.rx(right, valid=wrong), "along 'y' its label 1 is .*reindex_like.method='nearest', tolerance=")
        nearest = wrong.reindex_like(right, method="nearest", tolerance=0.00025) if y is degrees else wrong.assign_coords(y=y)
        assert sparsehs.rx(right, valid=nearest).equals(sparsehs.rx(right, valid=mask.values))
    for y in [3.0, 4.0], [1.0, 2.0]:  # equal labels of another kind
        assert sparsehs.rx(cube[:2].assign_coords(y=y), valid=mask[:2].assign_coords(y=np.array(y, int))).shape == (2, 7)
    by_wave = cube.swap_dims(band="wavelength")
    finer = spectra.swap_dims(band="wavelength").assign_coords(wavelength=("wavelength", waves / 1000 + 1e-5, {"units": "um"}))
    assert sparsehs.unmix(by_wave, finer).equals(sparsehs.unmix(by_wave, spectra.values))
    for lengths in waves.tolist(), np.ma.array(waves), cube.wavelength:
        assert np.array_equal(sparsehs.derivative(cube.values, wavelengths=lengths), sparsehs.derivative(cube.values, wavelengths=waves))
    # Where detectors overlap, bands are nearly at one wavelength, apart in the list or side by side; and one may be unknown.
    for lengths in [400, 500, 600, 500.1, 600.1], [400, 500, 500, 600, 700], [0.4, 0.5, np.nan, 0.6, 0.7]:
        lengths = np.array(lengths)
        told = bare.assign_coords(wavelength=("band", lengths + lengths[0] / 400))
        assert sparsehs.unmix(cube.assign_coords(wavelength=("band", lengths)), told).equals(
            sparsehs.unmix(cube.assign_coords(wavelength=("band", lengths)), spectra.values))
        refused(lambda: sparsehs.unmix(cube, told), "endmembers: its band 1 has the wavelength 401 nm, expected 480 nm")
    refused(lambda: sparsehs.unmix(cube, told.assign_coords(wavelength=("band", np.where(waves == 560, np.nan, waves)))),
            "endmembers: its band 2 has the wavelength nan nm, expected 560 nm")
    assert np.isfinite(sparsehs.compare(cube, cube.sortby("y").values)[0]).all()
    model = sparsehs.fit("pca", cube, 2)
    in_um = sparsehs.fit("pca", cube.values, 2, wavelengths=waves / 1000)
    for one in model, in_um:
        shifted = cube.assign_coords(wavelength=("band", waves / 1000 + 0.003, {"units": "um"}))
        assert np.array_equal(one.transform(shifted), one.transform(cube.values))
        for call in one.transform, one.denoise:
            refused(lambda: call(cube[..., backwards]), "cube: its band 1 has the wavelength 1650 nm, expected 480 nm as the model")
    refused(lambda: model.transform(cube.values, wavelengths=waves[::-1]), "cube: its band 1 has the wavelength 1650 nm")
    furlongs = cube.assign_coords(wavelength=("band", waves, {"units": "furlong"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparsehs.fit("pca", cube.drop_vars("wavelength"), 2).transform(furlongs[..., backwards])
        sparsehs.unmix(furlongs, furlongs[0, :3].rename(x="material"))


@pytest.mark.parametrize("name", ["_FillValue", "missing_value", "nodata"])
def test_missing_values_are_those_of_the_attributes(name):
    xarray = pytest.importorskip("xarray")
    for fill, real in ((-9999, np.float32), (np.float32(1e20), np.float32), (np.array([-9999.0]), np.float64), (-9999, np.int16)):
        plain = scene(bands=4).astype(real)
        plain[:5] = fill
        cube = xarray.DataArray(plain, dims=("y", "x", "band"), attrs={name: fill, "site": "here"})
        given = dict(nodata=float(np.reshape(fill, ())))
        got, model = sparsehs.pca(cube, 2)
        assert model.file == sparsehs.fit("pca", plain, 2, **given).file and got.isnull()[:5].all() and got.attrs == {"site": "here"}
        for call in (lambda x, **given: sparsehs.rx(x, **given), lambda x, **given: sparsehs.smooth(x, 3, **given),
                     lambda x, **given: model.denoise(x, **given), lambda x, **given: sparsehs.compare(x, x, **given)[0]):
            the_same(call(cube).values, call(plain, **given), 0)
        assert not sparsehs.compare(cube, cube, nodata=-1)[0].isnull().any()
        assert np.isnan(sparsehs.compare(abs(plain), cube)[1]).sum() == 0  # only a cube's labels count
        spectra = cube[4:7, 0].rename(y="material")
        refused(lambda: sparsehs.unmix(cube, spectra), "endmembers: values of it are masked", TypeError)
        mask = (cube > 0).all("band").assign_attrs(cube.attrs)
        the_same(sparsehs.rx(cube, valid=mask).values, sparsehs.rx(plain, valid=mask.values, **given), 0)
    plain = scene(bands=4).astype(np.float32)
    plain[:2] = 0
    labels = xarray.DataArray((plain[..., 0] > 0).astype(int), dims=("y", "x"), attrs={name: 0})  # as xarray hands attributes on
    labels[4:] = 0
    cube = xarray.DataArray(plain, dims=("y", "x", "band"), attrs={name: 0})
    assert sparsehs.rx_classes(cube, labels)[4:].notnull().all()
    for fill in 255, -9999:  # files of masks and of labels have missing values of their own
        attrs, own = {name: fill}, xarray.DataArray(np.ones((40, 50), np.int16), dims=("y", "x"))
        own[20:] = fill
        cube = xarray.DataArray(np.where(plain == 0, fill, plain), dims=("y", "x", "band"), attrs=attrs)
        there = np.arange(40)[:, None] < np.full(50, 20)
        for x in cube, cube.assign_attrs({name: -1}):
            there[:2] = x is not cube
            assert np.array_equal(sparsehs.rx(x, valid=own.assign_attrs(attrs)).notnull(), there)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                assert np.array_equal(sparsehs.rx_classes(x, own.assign_attrs(attrs)).notnull(), there)
            assert len(caught) == (x is cube and fill > 0)
    odd = cube.assign_attrs({name: [1, 2]})
    with pytest.warns(RuntimeWarning, match=re.escape(name + ": [1, 2], expected one number")):
        sparsehs.rx(odd)


@pytest.mark.parametrize("name", ["_FillValue", "missing_value", "nodata"])
def test_masks_and_labels_computed_from_a_cube_may_have_its_attributes(name):
    xarray = pytest.importorskip("xarray")
    numbers = np.random.default_rng(0).integers(2, 250, (20, 20, 5)).astype(np.uint8)
    for fill in 1, 255:
        attrs = {name: fill}
        cube = xarray.DataArray(numbers, dims=("y", "x", "band"), attrs=attrs)
        there = cube[..., 0] > 50
        for real in np.uint8, np.int32, np.float32:
            mask = (there * fill).astype(real).assign_attrs(attrs)
            assert np.array_equal(sparsehs.rx(cube, valid=mask).notnull(), there)
        refused(lambda: sparsehs.rx(cube.assign_attrs({name: 0}), valid=mask), "valid")  # it is the mask's own
    cube = cube.assign_attrs({name: 1})
    labels = (cube[..., 0] // 100).astype(np.int32).assign_attrs({name: 1})
    said = "labels: its attribute %s is 1, as the cube's, so that pixels of this label are left out" % name
    with pytest.warns(RuntimeWarning, match=said) as caught:
        scores = sparsehs.rx_classes(cube, labels)
    assert len(caught) == 1 and "del labels.attrs['%s']" % name in str(caught[0].message)
    assert np.array_equal(scores.notnull(), labels != 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del labels.attrs[name]
        assert sparsehs.rx_classes(cube, labels).notnull().all()
        sparsehs.rx_classes(cube, labels.where(labels != 1, 0).assign_attrs({name: 1}))  # no pixel has it


def test_files_of_results_say_that_nan_is_missing(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("scipy")
    coords = {"y": 100.0 - np.arange(40), "x": np.arange(50.0), "utm": 0}
    cube = xarray.DataArray(scene(bands=4).astype(np.float32), coords, ("y", "x", "band"), attrs={"_FillValue": -9999.0})
    cube[:5] = -9999
    cube.encoding = {"grid_mapping": "utm", "dtype": "int16", "scale_factor": 0.1}
    components, model = sparsehs.pca(cube.transpose("band", "y", "x"), 2)
    score, fewer = sparsehs.rx(cube), sparsehs.resample(cube, [500, 600], [50, 50], wavelengths=[400, 500, 600, 700])[0]
    for made in components, score, fewer, model.denoise(cube), model.inverse_transform(components):
        assert set(made.encoding) == {"_FillValue", "grid_mapping"} and "_FillValue" not in made.attrs
        for fill in np.nan, -1.0:
            asked = {} if np.isnan(fill) else {"encoding": {"it": {"_FillValue": fill}}}
            made.rename("it").to_netcdf(tmp_path / "it.nc", engine="scipy", **asked)
            with xarray.open_dataset(tmp_path / "it.nc", engine="scipy") as file:
                assert np.array_equal(file["it"].encoding["_FillValue"], fill, True) and file["it"].values.dtype == made.dtype
                the_same(file["it"].values, made.values, 0)
    assert "_FillValue" not in sparsehs.index(cube, "#1", above=0).encoding
    assert "_FillValue" not in sparsehs.match(cube, cube.values[6:9, 0])[0].encoding
    pytest.importorskip("rioxarray")
    rasterio = pytest.importorskip("rasterio")
    for made in score, components.transpose("component", "y", "x"):
        made.rio.to_raster(tmp_path / "it.tif")
        with rasterio.open(tmp_path / "it.tif") as file:
            assert np.isnan(file.nodata) and file.read_masks(1)[:5].max() == 0 and file.read_masks(1)[5:].min() == 255


def test_compare_warns_of_different_scales():
    xarray = pytest.importorskip("xarray")
    plain = scene(bands=3)

    def cube(encoding=None, **attrs):
        made = xarray.DataArray(plain, dims=("y", "x", "band"), attrs=attrs)
        made.encoding = encoding or {}
        return made

    stored, applied = cube(scale_factor=1e-4, add_offset=-0.1), cube({"scale_factor": 1e-4, "add_offset": -0.1})
    for one, other, words in (
            (stored, cube(scale_factor=1.0, add_offset=0.0),
             "scale_factor and add_offset: its values have 1.0 and 0.0, those of the cube 0.0001 and -0.1"),
            (cube(scale_factor=1e-4), stored, "0.0001 and -0.1, those of the cube 0.0001 and 0.0"),
            (stored, applied, "its values have 1.0 and 0.0"), (applied, stored, "those of the cube 1.0 and 0.0"),
            (stored, cube(scales=(1e-4, 1e-4, 2e-4), add_offset=-0.1), "(0.0001, 0.0001, 0.0002) and -0.1"),
            (cube(reflectance_scale_factor="10000"), cube(**{"reflectance scale factor": 1000}),
             "reflectance_scale_factor: its values have 1000, those of the cube 10000")):
        with pytest.warns(RuntimeWarning, match="^other: .*" + re.escape(words)) as warned:
            off, angle = sparsehs.compare(one, other)
        assert len(warned) == 1 and warned[0].filename == __file__ and (off == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparsehs.compare(applied, cube({"scale_factor": 1e-3}))  # xarray has applied both
        for other in (stored.copy(), cube(), plain, cube(scale_factor=np.float32(1e-4), add_offset=np.array([-0.1])),
                      cube(scales=(1e-4,) * 3, offsets=(-0.1,) * 3), cube(scale_factor="unknown"),
                      cube(reflectance_scale_factor="10000")):
            sparsehs.compare(stored, other)
        sparsehs.match(stored, cube(scale_factor=1.0)[0, :3].rename(x="material"))


def test_nothing_needs_xarray():
    code = "import sys, numpy, sparsehs; sparsehs.smooth(numpy.ones((2, 3, 4)), 3); assert 'xarray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=PYTHON), check=True)


# ---- scikit-learn ------------------------------------------------------------------------------------------------------------

def test_errors_of_ksvd_are_of_its_last_fit():
    import sparsehs_sklearn as estimators
    Y, _, _ = planted()
    model = estimators.KSVD(48, 3, batch_size=100).fit(Y)
    before = model.error_
    model.partial_fit(Y[:250])
    assert len(model.history_["rmse"]) == 3 and model.error_ == model.history_["rmse"][-1] != before
    assert np.isfinite(estimators.KSVD(48, 3).partial_fit(Y).error_)


def test_estimators_pass_the_checks_of_sklearn():
    import sparsehs_sklearn as estimators
    from sklearn.utils.estimator_checks import check_estimator
    for estimator in (estimators.KSVD(), estimators.KSVD(tolerance=0.5), estimators.PCA(), estimators.MNF(), estimators.ICA(),
                      estimators.RX()):
        check_estimator(estimator)


def test_estimators_in_a_pipeline():
    import sparsehs_sklearn as estimators
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC
    S, X = sources()
    kinds = S[:, 2] > 0
    found = GridSearchCV(make_pipeline(estimators.ICA(3), LinearSVC(dual=False)), {"ica__contrast": ["tanh", "gauss"]}, cv=2)
    assert found.fit(X, kinds).score(X, kinds) > 0.98
    ksvd = estimators.KSVD(10, 2, sparse_output=True).fit(X)
    assert ksvd.inverse_transform(ksvd.transform(X)).shape == X.shape
    assert list(ksvd.get_feature_names_out())[:2] == ["ksvd0", "ksvd1"]
    pca = pickle.loads(pickle.dumps(estimators.PCA(2).fit(X)))
    assert np.isclose(pca.explained_variance_ratio_.sum(), pca.explained_variance_[:2].sum() / X.var(0, ddof=1).sum())
    for correlation in False, True:
        pca = estimators.PCA(2, correlation=correlation).fit(X)
        assert np.allclose(pca.transform(X), (X - pca.mean_) / pca.scale_ @ pca.components_.T)
    assert estimators.RX().fit(X).score_samples(X).argmin() == sparsehs.rx(X[None])[0].argmax()
    with pytest.raises(ValueError, match="samples"):
        estimators.MNF(samples=7).fit(X)


def test_estimators_that_are_not_fitted_say_so():
    import sparsehs_sklearn as estimators
    from sklearn.exceptions import NotFittedError
    X = planted(m=30)[0]
    for kind in estimators.KSVD, estimators.PCA, estimators.MNF, estimators.ICA, estimators.RX:
        for method in "transform", "inverse_transform", "score", "score_samples", "get_feature_names_out":
            if hasattr(kind(), method):
                with pytest.raises(NotFittedError):
                    getattr(kind(), method)(X)
        with pytest.raises(NotFittedError):
            kind()._n_features_out


def test_ksvd_scores_and_learns_in_pieces():
    import sparsehs_sklearn as estimators
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    Y, _, _ = planted(m=2000, p=20, n=30)
    fitted = estimators.KSVD(30, 3, tolerance=None, iterations=5).fit(Y)
    left = Y - fitted.inverse_transform(fitted.transform(Y))
    assert np.isclose(fitted.score(Y), 1 - np.square(left).sum() / np.square(Y).sum())
    assert fitted.score(Y[:50] * 1e-3) == pytest.approx(fitted.score(Y[:50]))
    assert GridSearchCV(estimators.KSVD(30, iterations=2), {"sparsity": [1, 3]}, cv=2).fit(Y).best_params_ == {"sparsity": 3}
    pieces = estimators.KSVD(30, 3, batch_size=100)
    for piece in np.split(np.tile(Y, (4, 1)), 8):
        pieces.partial_fit(piece)
    assert pieces.score(Y) > 0.9 and pieces.n_iter_ == 80
    assert np.array_equal(pickle.loads(pickle.dumps(pieces)).partial_fit(Y).components_, pieces.partial_fit(Y).components_)
    assert clone(fitted).fit(Y[:500]).partial_fit(Y).score(Y) > 0.5
    assert estimators.KSVD(30, 3, nonnegative=True, iterations=2).fit(np.abs(Y)).components_.min() >= 0
    assert estimators.KSVD(30, 3, nonnegative=True).partial_fit(np.abs(Y)).components_.min() >= 0


# ---- what comes with it ------------------------------------------------------------------------------------------------------

def test_pip_installs_it(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    before = sorted(os.listdir(PYTHON))
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", PYTHON], check=True)
    assert sorted(set(os.listdir(PYTHON)) - {"__pycache__"}) == sorted(set(before) - {"__pycache__"})
    code = ("import sparsehs, numpy, importlib.metadata as about; print(sparsehs.__file__, sparsehs.pca(numpy.eye(5), 2)[0].shape);"
            "assert sparsehs.__version__ == about.version('sparsehs'); names = [str(name) for name in about.files('sparsehs')];"
            "assert 'sparsehs/py.typed' in names and 'sparsehs/c/sparsehs.h' in names;"
            "assert 'import sparsehs' in about.metadata('sparsehs').get_payload()")
    said = subprocess.run([python, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert str(tmp_path) in said and "(5, 2)" in said


def test_attributes_and_overloads_are_declared():
    """What a type checker sees: py.typed promises it."""
    Y, _, _ = planted(m=80)
    learnt = sparsehs.ksvd(Y, 30, 3, 1, codes=True)
    enlarger = sparsehs.superres_learn([picture()[0]], 2, atoms=20, iterations=1, patches=500)
    models = [sparsehs.fit(kind, scene(), 3, wavelengths=np.arange(12) + 400.0) for kind in ("pca", "mnf", "ica", "rx")]
    for one in [learnt, learnt.codes, sparsehs.online(Y, 30, 3), enlarger, *models]:
        assert set(vars(one)) <= set(type(one).__annotations__), type(one)
    for name in sorted(os.listdir(os.path.join(PYTHON, "sparsehs"))):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(PYTHON, "sparsehs", name)) as file:
            functions = [one for one in ast.parse(file.read()).body if isinstance(one, ast.FunctionDef)]
        last = {one.name: one for one in functions}
        for one in functions:
            names = lambda of: [argument.arg for argument in [*of.args.args, *of.args.kwonlyargs]]  # noqa: E731
            assert names(one) == names(last[one.name]), one.name


TYPED = """
import numpy as np
import sparsehs

D, Y, cube = np.eye(4), np.ones((5, 4)), np.ones((6, 7, 4))
codes = sparsehs.omp(D, Y, 2, errors=True)
print(codes.errors2.sum(), codes.report["rmse"], codes.used.max(), codes.coefs.T, len(codes), codes.n)
print(sparsehs.lasso(D, Y, 0.1).toarray(), sparsehs.lasso(D, Y, 1).gaps.max())
print([path.toarray() for path in sparsehs.lasso(D, Y, [0.3, 0.1])], sparsehs.lasso(D, Y, np.ones(2))[0].toarray())
learnt = sparsehs.ksvd(Y, 8, 2, codes=True)
print(learnt.codes.toarray(), learnt.D.T, learnt.rmse + learnt.mean_atoms, learnt.history["rmse_coding"][-1])
state = sparsehs.online(Y, 8, 2)
print(state.D.T, state.sums_xx.T, state.batches + state.signal_count)
components, model = sparsehs.pca(cube, 3)
print(components.shape, (model.eigenvalues[:3] / model.total_variance).round(2), model.kind.upper(), model.wavelengths[0])
print(sparsehs.fit("mnf", cube).noise.T, sparsehs.fit("ica", cube).reports[:, 0], model.count / 2, model.bands + 1)
print(sparsehs.unmix(cube, D).sum(axis=-1))
shares, misfit = sparsehs.unmix(cube, D, errors=True)
print(misfit.max(), sparsehs.Enlarger.load("name").model.mean, sparsehs.build_info().split())
try:
    sparsehs.ksvd(Y, 8)
except sparsehs.Cancelled as stopped:
    print(stopped.best.D, stopped.status)
"""


def test_types_of_usual_calls(tmp_path):
    """mypy reads the package as one that is installed: only what users call is checked."""
    pytest.importorskip("mypy")
    with open(os.path.join(PYTHON, "README.md")) as file:
        readme = "\n".join(re.findall(r"```python\n(.*?)```", file.read(), re.S))
    with open(os.path.join(PYTHON, "ten_minutes.ipynb")) as file:
        cells = [cell["source"] for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    notebook = "\n".join(line for cell in cells for line in "".join(cell).split("\n") if not line.startswith(("%", "!")))
    untyped = ["--ignore-missing-imports"]
    for name, text, how in ("calls", TYPED, ["--strict"]), ("readme", readme, []), ("notebook", notebook, untyped):
        (tmp_path / (name + ".py")).write_text(text)
        said = subprocess.run([sys.executable, "-m", "mypy", *how, "--follow-imports", "silent", name + ".py"], cwd=tmp_path,
                              env=dict(os.environ, MYPYPATH=PYTHON), capture_output=True, text=True)
        assert said.returncode == 0, said.stdout + said.stderr


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def test_the_readme_prints_what_it_says(capsys):
    with open(os.path.join(PYTHON, "README.md")) as file:
        blocks = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", file.read(), re.S)
    assert len(blocks) == 5
    room = {}
    for code, output in blocks:
        exec(code, room)
        said = capsys.readouterr().out
        assert re.sub(r"[\s\d.-]", "", said) == re.sub(r"[\s\d.-]", "", output)
        assert numbers(said) == pytest.approx(numbers(output), rel=0.02, abs=0.1)


def test_the_notebook_runs(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(os.path.join(PYTHON, "ten_minutes.ipynb"), 4)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": PYTHON}})
    client.execute()
    assert not any(cell.get("outputs") for cell in nbformat.read(os.path.join(PYTHON, "ten_minutes.ipynb"), 4).cells)
