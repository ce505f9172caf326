"""Signals: coding by OMP and the lasso, learning dictionaries at once and online."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, overload

import numpy as np

from ._arrays import NO_MASK, _array, _cast, _count, _data, _missing, _not_0, _number, _rows, _signals, _whole
from ._library import ArgumentError, Cancelled, _double, _float, _only_with, _warn, _word

if TYPE_CHECKING:
    import scipy.sparse
    from typing import Any, Sequence

    from numpy.typing import ArrayLike, DTypeLike

    from ._library import Progress


# ---- codes -----------------------------------------------------------------------------------------------------------------

class Codes:
    """Sparse codes of m signals over n atoms.

    used (m,): how many atoms signal i has. atoms (m, stride), coefs (m, stride): atom atoms[i, k] has the coefficient coefs[i, k]
    for k < used[i], in the order in which they were chosen; what lies behind is 0. errors2 (m,): |y - Dx|^2, where omp was asked
    for it; gaps (m,): duality gaps of lasso, as parts of |y|^2 / 2; report: sums over all signals."""

    # "| Any": who has asked for errors knows that they are there. With "| None" a type checker would refuse codes.errors2.sum().
    n: int
    used: np.ndarray
    atoms: np.ndarray
    coefs: np.ndarray
    errors2: np.ndarray | Any
    gaps: np.ndarray | Any
    report: dict[str, float] | Any

    def __init__(self, m: int, n: int, stride: int, real: DTypeLike) -> None:
        self.n, self.errors2, self.gaps, self.report = n, None, None, None
        self.used, self.atoms = np.zeros(m, np.intc), np.zeros((m, stride), np.intc)
        self.coefs = np.zeros((m, stride), real)

    def __len__(self) -> int:
        return len(self.used)

    def _given(self):
        """What C is told of them."""
        return dict(stride=self.atoms.shape[1], used=self.used, atoms=self.atoms, coefs=self.coefs)

    def _there(self):
        """Which places of atoms and coefs hold an atom. The arrays are the user's to change, so they are checked."""
        used, atoms, coefs = self.used, self.atoms, self.coefs
        for name, array, dimensions in ("used", used, 1), ("atoms", atoms, 2), ("coefs", coefs, 2):
            if array.ndim != dimensions:
                raise ArgumentError("%s: its shape is %s, expected %d dimensions" % (name, array.shape, dimensions))
        if len(atoms) != len(used):
            raise ArgumentError("atoms: its shape is %s, expected (%d, any), as used has %d signals"
                                % (atoms.shape, len(used), len(used)))
        if coefs.shape != atoms.shape:
            raise ArgumentError("coefs: its shape is %s, expected %s as atoms" % (coefs.shape, atoms.shape))
        wrong = np.flatnonzero((used < 0) | (used > atoms.shape[1]))
        if wrong.size:
            raise ArgumentError("used: signal %d has %d atoms, expected 0 to %d" % (wrong[0], used[wrong[0]], atoms.shape[1]))
        there = np.arange(atoms.shape[1]) < used[:, None]
        wrong = np.argwhere(there & ((atoms < 0) | (atoms >= self.n)))
        if wrong.size:
            signal, place = wrong[0]
            raise ArgumentError("atoms: signal %d has atom %d, expected 0 to %d" % (signal, atoms[signal, place], self.n - 1))
        return there

    def toarray(self) -> np.ndarray:
        """The codes as a dense matrix (m, n). Coefficients of an atom that a signal has twice add up, as in tocsr and decode."""
        there = self._there()
        X = np.zeros(len(self) * self.n, self.coefs.dtype)
        places = self.n * np.arange(len(self))[:, None] + self.atoms
        np.add.at(X, places[there], self.coefs[there])
        return X.reshape(len(self), self.n)

    def tocsr(self) -> scipy.sparse.csr_matrix:
        """The codes as a sparse matrix (m, n) of scipy."""
        from scipy.sparse import csr_matrix
        there = self._there()
        return csr_matrix((self.coefs[there], self.atoms[there], np.concatenate(([0], np.cumsum(self.used)))),
                          (len(self), self.n))

    def decode(self, D: ArrayLike, *, threads: int = 0) -> np.ndarray:
        """The signals (m, p) that these codes stand for, over the dictionary D (n, p)."""
        library = _float if self.coefs.dtype == np.float32 else _double
        D, ldd = _rows(D, "dictionary", library.real)
        if D.shape[0] != self.n:
            raise ArgumentError("dictionary: it has %d atoms, but the codes are of %d" % (D.shape[0], self.n))
        self._there()
        read = Codes(0, self.n, 1, library.real)
        read.used, read.atoms = (np.ascontiguousarray(numbers, np.intc) for numbers in (self.used, self.atoms))
        read.coefs = np.ascontiguousarray(self.coefs, library.real)
        Z = np.empty((len(self), D.shape[1]), library.real)
        library.call("synthesize", threads=threads, p=D.shape[1], n=self.n, D=D, ldd=ldd, m=len(self), Z=Z, **read._given())
        return Z


# ---- arguments -------------------------------------------------------------------------------------------------------------

def _dictionary(D, p, real):
    D, ldd = _rows(D, "dictionary", real)
    if D.shape[1] != p:
        raise ArgumentError("dictionary: its atoms have %d values, but the signals have %d" % (D.shape[1], p))
    return D, ldd


def _gram(gram, n, library):
    """A Gram matrix (n, n) as C takes it."""
    gram, ldg = _rows(gram, "gram", library.real)
    if gram.shape != (n, n):
        raise ArgumentError("gram: its shape is %s, expected (%d, %d) for %d atoms" % (gram.shape, n, n, n))
    return dict(gram=gram, ldg=ldg)


def _known_gram(gram, n, library):
    """Where it is known already."""
    return {} if gram is None else _gram(gram, n, library)


def _masked_signals(Y, options):
    """What lies below the mask of Y. What is masked is missing, as is what `mask` says."""
    missing = _missing(Y)
    if missing is not None:
        there = ~missing
        if options.get("mask") is not None:
            mask = _array(options["mask"], "mask")
            if mask.shape != there.shape:
                raise ArgumentError("mask: its shape is %s, expected %s as the signals" % (mask.shape, there.shape))
            there &= _not_0(mask, "mask")
        options["mask"] = there
    return _data(Y)


def _coding(library, shape, options, sparsity, tolerance):
    """Of the options of coding those that are arrays, as C takes them."""
    m, p = shape
    if options.get("sparsity_each") is not None:
        options["sparsity_each"] = _sparsity_each(options["sparsity_each"], m)
    if options.get("tolerance_each") is not None:
        options["tolerance_each"] = _one_a_signal(options["tolerance_each"], "tolerance_each", m, library.real)
    for name, ld, kind in ("mask", "ldm", np.uint8), ("weights", "ldw", library.real):
        if options.get(name) is not None:
            given = _array(options[name], name)
            if name == "weights":
                _check_weights(given)
            if name == "weights" and given.shape == (p,):
                options[name], options[ld] = np.ascontiguousarray(_cast(given, name, kind)), 0
                continue
            if given.shape != (m, p):
                raise ArgumentError("%s: its shape is %s, expected %s as the signals" % (name, given.shape, (m, p)))
            options[name], options[ld] = _rows(_not_0(given, name) if name == "mask" else given, name, kind)
    if options.get("groups") is not None:
        options["groups"], options["group_count"] = _groups(options["groups"], m)
    _together(dict(options, sparsity=sparsity, tolerance=tolerance))
    return options


def _check_weights(weights):
    wrong = np.argwhere(~((weights >= 0) & (weights < np.inf)))
    if wrong.size:
        place = tuple(wrong[0].tolist())
        raise ArgumentError("weights: %g at %s, expected numbers of 0 or more" % (weights[place], place))


def _one_a_signal(x, name, m, real):
    """A number for each signal."""
    x = _array(x, name)
    if x.shape != (m,):
        raise ArgumentError("%s: its shape is %s, expected one value a signal, (%d,)" % (name, x.shape, m))
    return np.ascontiguousarray(_cast(x[:, None], name, real)[:, 0])


def _sparsity_each(limits, m):
    """How many atoms each signal may have."""
    limits = _whole(limits, "sparsity_each", (m,))
    wrong = np.flatnonzero((limits < 0) | (limits >= 2**31))
    if wrong.size:
        raise ArgumentError("sparsity_each: signal %d has %d, expected 0 to %d" % (wrong[0], limits[wrong[0]], 2**31 - 1))
    return np.ascontiguousarray(limits, np.intc)


def _groups(groups, m):
    """The first signal of each group."""
    starts = _array(groups, "groups")
    if starts.ndim != 1 or (starts.size and starts.dtype.kind not in "iu"):
        raise TypeError("groups: must be a list of whole numbers, the first signal of each group, not %r" % (groups,))
    starts = starts.astype(np.int64)  # a difference of unsigned numbers is never below 0
    if (m > 0 and starts.size == 0) or (starts.size and (starts[0] != 0 or np.any(np.diff(starts) <= 0) or starts[-1] >= m)):
        raise ArgumentError("groups: the first signals of the groups must begin at 0, ascend and stay below the number of "
                            "signals, %d, but are %s" % (m, starts[:8].tolist()))
    return np.ascontiguousarray(starts, np.uintp), starts.size


NOT_TOGETHER = {"nonnegative": ("mask", "weights", "skip_nan", "groups"), "groups": ("mask", "weights", "skip_nan"),
                "selection 'ols'": ("nonnegative",), "sparsity_each": ("sparsity",), "tolerance_each": ("tolerance",),
                "method 'subspace'": ("nonnegative", "mask", "weights", "skip_nan", "groups", "selection 'ols'")}


def _is_set(options, name):
    value = options.get(name)
    return value is not None and (isinstance(value, np.ndarray) or bool(value))


def _together(options):
    """Names what the library does not do together, or of which it reads only one."""
    given = {name for name in options if _is_set(options, name)}
    for option in "selection", "method":
        if isinstance(options.get(option), str):
            given.add("%s %r" % (option, _float.word(option, options[option])))
    for name, others in NOT_TOGETHER.items():
        for other in others:
            if name in given and other in given:
                raise ArgumentError("%s: cannot be used together with %s; leave one of the two out" % (name, other))


def _tolerance(tolerance):
    return 0.0 if tolerance is None else _number(tolerance, "tolerance")


def _ends(sparsity, tolerance, options, most):
    """Coding needs to know where to end. The library takes a tolerance of 0 for none."""
    if not sparsity and not tolerance and options.get("sparsity_each") is None and options.get("tolerance_each") is None:
        raise ArgumentError("sparsity, tolerance: one of them must be given and above 0; sparsity=%d, all that fit, codes as "
                            "exactly as possible" % most)


def _stride(sparsity, p, n, options):
    """As many atoms as a signal may have."""
    if options.get("sparsity_each") is not None:
        return max(1, min(p, n, int(np.max(options["sparsity_each"], initial=0))))
    if sparsity is not None and not isinstance(sparsity, (int, np.integer)):
        raise TypeError("sparsity: must be a whole number, not %r" % (sparsity,))
    return max(1, min(p, n, sparsity or p))


# ---- coding ----------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def _codes_of_errors(codes):
    """Codes come with the error that a coefficient is out of range. Where it is about something else there are none."""
    try:
        yield
    except ArgumentError as error:
        if error.status == "SHS_OUT_OF_RANGE" and codes.used.any():
            error.codes = codes
        raise


OMP_REPORT = "nonzeros", "not_reached", "sum2", "rmse"


def omp(D: ArrayLike, Y: ArrayLike, sparsity: int | None = None, tolerance: float | None = None, *, errors: bool = False,
        gram: ArrayLike | None = None, threads: int = 0, progress: Progress = None, device: str | None = None,
        **options: Any) -> Codes:
    """Codes signals by orthogonal matching pursuit.

    D (n, p): the dictionary, one atom a row. Y (m, p): the signals. Coding of a signal ends when it has `sparsity` atoms or when
    |y - Dx| <= tolerance, in the unit of the signals; one of the two must be given. Returns Codes. A signal may end above its
    tolerance: where sparsity ends it, where its atoms are used up, or for a tolerance below about 1e-6 |y| in single and 1e-15 |y|
    in double precision. With errors=True report["not_reached"] counts such signals, and errors2 says which; nothing else does.

    Atoms of unit length are expected. Of others, "omp" takes the one of the largest |D @ r|, with nonnegative of the largest D @ r,
    where r is what is left of y: a longer atom is chosen sooner. "ols", mask, weights and skip_nan choose as if all atoms were of
    unit length.

    Coefficients of float32 signals may be beyond float32, where the units of D and Y are far apart: an ArgumentError with the codes
    as its attribute codes. In double precision they are in range.

    errors: fill errors2 and report of the codes. gram (n, n): D @ D.T, where it is known already. Options of the library; of words
    the first is the default:
    selection        "omp", or "ols" for orthogonal least squares
    method           "omp", or "subspace" for subspace pursuit: it may drop atoms again; with sparsity and tolerance alone
    nonnegative      no coefficient is below 0
    mask (m, p)      0 = the value is missing; a masked array of NumPy says the same, and skip_nan=True takes NaN as missing
    weights          (m, p) or (p,): how much each value counts; errors and tolerance are then of the weighted sum
    groups           the first signal of each group, ascending from 0: signals of a group share their atoms (simultaneous OMP).
                     The tolerance is then of the norm of all that is left of the group
    sparsity_each    (m,): how many atoms each signal may have, in place of sparsity; 0: none
    tolerance_each   (m,): the tolerance of each signal, in place of tolerance. Of a group the limits of its first signal count
    gram_mode        "auto", "always", "never": whether D @ D.T is formed; the codes are the same but for rounding"""
    Y = _masked_signals(Y, options)
    library, Y, ldy = _signals(Y)
    (m, p) = Y.shape
    D, ldd = _dictionary(D, p, library.real)
    n, tolerance = D.shape[0], _tolerance(tolerance)
    _ends(sparsity, tolerance, options, min(n, p))
    options = _coding(library, Y.shape, options, sparsity, tolerance)
    codes = Codes(m, n, _stride(sparsity, p, n, options), library.real)
    report = np.zeros(4) if errors else None
    if errors:
        codes.errors2 = np.empty(m, library.real)
    with _codes_of_errors(codes):
        library.call("omp", options, threads, progress, device, p=p, m=m, Y=Y, ldy=ldy, n=n, D=D, ldd=ldd, sparsity=sparsity,
                     tolerance=tolerance, errors2=codes.errors2, report=report, **_known_gram(gram, n, library), **codes._given())
    if errors:
        codes.report = dict(zip(OMP_REPORT, report.tolist()))
    return codes


def omp_gram(gram: ArrayLike, correlations: ArrayLike, sparsity: int | None = None, tolerance: float | None = None, *,
             norms2: ArrayLike | None = None, threads: int = 0, progress: Progress = None, device: str | None = None,
             **options: Any) -> Codes:
    """Codes signals of which only products are known, by orthogonal matching pursuit.

    gram (n, n): D @ D.T. correlations (m, n): Y @ D.T. norms2 (m,): |y|^2 of each signal, which a tolerance needs. Returns Codes;
    with norms2 errors2 and report are filled. Options: selection, nonnegative, groups, sparsity_each, tolerance_each, as of omp.
    A tolerance below 1e-2 |y| in single and 1e-6 |y| in double precision cannot be decided without the signals (ArgumentError)."""
    for name in "mask", "weights", "skip_nan", "method":
        if options.get(name) is not None:
            raise TypeError("%s: only omp takes it, which knows the signals themselves" % name)
    library, dty, ldt = _signals(correlations, "correlations")
    m, n = dty.shape
    tolerance = _tolerance(tolerance)
    _ends(sparsity, tolerance, options, n)
    options = _coding(library, (m, n), options, sparsity, tolerance)
    codes = Codes(m, n, _stride(sparsity, n, n, options), library.real)
    report = None
    if norms2 is not None:
        norms2 = _one_a_signal(norms2, "norms2", m, library.real)
        codes.errors2, report = np.empty(m, library.real), np.zeros(4)
    elif tolerance or options.get("tolerance_each") is not None:
        raise ArgumentError("norms2: a tolerance needs |y|^2 of each signal; give norms2, or sparsity alone")
    with _codes_of_errors(codes):
        library.call("omp_gram", options, threads, progress, device, m=m, n=n, dty=dty, ldt=ldt, norms2=norms2, sparsity=sparsity,
                     tolerance=tolerance, errors2=codes.errors2, report=report, **_gram(gram, n, library), **codes._given())
    if report is not None:
        codes.report = dict(zip(OMP_REPORT[:3], report.tolist()))
    return codes


LASSO_REPORT = "nonzeros", "not_reached", "cut", "objective", "gap"


@overload
def lasso(D: ArrayLike, Y: ArrayLike, lambda1: float, lambda2: float = 0.0, *, relative: bool = False,
          nonnegative: bool = False, gap: float | None = None, sweeps: int | None = None, most: int | None = None,
          gram: ArrayLike | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> Codes: ...


@overload
def lasso(D: ArrayLike, Y: ArrayLike, lambda1: Sequence[float] | np.ndarray, lambda2: float = 0.0, *, relative: bool = False,
          nonnegative: bool = False, gap: float | None = None, sweeps: int | None = None, most: int | None = None,
          gram: ArrayLike | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> list[Codes]: ...


def lasso(D: ArrayLike, Y: ArrayLike, lambda1: ArrayLike, lambda2: float = 0.0, *, relative: bool = False,
          nonnegative: bool = False, gap: float | None = None, sweeps: int | None = None, most: int | None = None,
          gram: ArrayLike | None = None, threads: int = 0, progress: Progress = None,
          device: str | None = None) -> Codes | list[Codes]:
    """Codes signals by the lasso, or with lambda2 > 0 by the elastic net: for each signal y the x that minimises

        |y - Dx|^2 / 2 + lambda1 |x|_1 + lambda2 |x|^2 / 2.

    D (n, p): the dictionary, one atom a row. Y (m, p): the signals. lambda1 is in the unit of D @ y; scikit-learn's alpha is
    lambda1 / p. Returns Codes with gaps and report; for several lambda1, which best descend, a list of Codes, one for each. report:
    nonzeros, not_reached (signals whose gap is above what was asked for), cut, objective (the sum of all signals), and gap, the
    largest.

    relative: lambda1 counts times the largest |D @ y| of each signal, with nonnegative times the largest D @ y, so that from 1 on
    no atom is used. nonnegative: x >= 0. gap: end when the objective is at most gap |y|^2 / 2 above its minimum (default 1e-5, in
    double precision 1e-10). sweeps: at most for each lambda1 (default 1000). most: coefficients a signal at most (default n,
    which takes m n values of memory); where there are more, the largest are kept, and report["cut"] counts these signals.
    gram (n, n): D @ D.T, where it is known.

    Ctrl-C and progress wait for some tenths of a second, and for 32 signals of each thread at least, which with hundreds of
    coefficients a signal take seconds. On a device they wait for all signals."""
    library, Y, ldy = _signals(Y, advice="lasso knows no missing values: fill them in, or use omp")
    (m, p) = Y.shape
    D, ldd = _dictionary(D, p, library.real)
    n = D.shape[0]
    lambdas = _lambdas(lambda1, library.real)
    count, stride = lambdas.size, n if most is None else min(n, _count(most, "most"))
    codes = Codes(m * count, n, max(1, stride), library.real)
    codes.gaps, report = np.zeros(m * count, library.real), np.zeros(5)
    library.call("lasso", None, threads, progress, device, p=p, m=m, Y=Y, ldy=ldy, n=n, D=D, ldd=ldd, lambdas=lambdas,
                 lambda_count=count, lambda2=lambda2, relative=bool(relative), nonnegative=bool(nonnegative), gap=gap,
                 sweeps=sweeps, gaps=codes.gaps, report=report, **_known_gram(gram, n, library), **codes._given())
    report = dict(zip(LASSO_REPORT, report.tolist()))
    if report["not_reached"]:
        # The gap bounds how far: where atoms are much alike, rounding in single precision alone keeps it large.
        _warn("lasso: %d of %d codes may be further from their minimum than asked for (gap %.2g); raise sweeps%s or gap%s"
              % (report["not_reached"], m * count, report["gap"], ", most" if report["cut"] else "",
                 ", or give float64" if library is _float else ""))
    paths = [_part(codes, i * m, m, report) for i in range(count)]
    if count > 1:
        _report_each(paths, D, Y, lambdas, dict(lambda2=lambda2, relative=relative, nonnegative=nonnegative), gap, stride)
    return paths if np.ndim(lambda1) else paths[0]


AT_ONCE = 2**22  # values of objectives that are formed at a time


def _report_each(paths, D, Y, lambdas, options, gap, stride):
    """The library's report is of all lambda1 together. This makes one for each. A signal counts as cut that has as many
    coefficients as there is room for and does not reach its gap."""
    real = Y.dtype.type
    wanted = real((1e-5 if real is np.float32 else 1e-10) if gap is None else gap)
    for part, objective in zip(paths, _objectives(paths, D, Y, lambdas, **options)):
        above = ~(part.gaps <= wanted)
        cut = above & (part.used == stride) if stride < part.n else above & False
        part.report = dict(zip(LASSO_REPORT, (float(part.used.sum()), float(above.sum()), float(cut.sum()), objective,
                                              float(part.gaps.max(initial=0)))))


def _objectives(paths, D, Y, lambdas, lambda2, relative, nonnegative):
    """|y - Dx|^2 / 2 + lambda1 |x|_1 + lambda2 |x|^2 / 2 of all signals, for each lambda1."""
    D, sums = D.astype(np.float64), np.zeros(len(lambdas))
    step = max(1, AT_ONCE // sum(D.shape))
    for first in range(0, len(Y), step):
        y = Y[first:first + step].astype(np.float64)
        largest = 1.0
        if relative:
            products = y @ D.T
            largest = (products if nonnegative else np.abs(products)).max(axis=1, initial=0)
        for k, part in enumerate(paths):
            x = Codes(0, part.n, 1, np.float64)
            x.used, x.atoms = part.used[first:first + step], part.atoms[first:first + step]
            x.coefs = part.coefs[first:first + step].astype(np.float64)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                left = np.square(y - x.decode(D)).sum() / 2
                sums[k] += left + (lambdas[k] * largest * np.abs(x.coefs).sum(axis=1)).sum() + lambda2 / 2 * np.square(x.coefs).sum()
    return sums.tolist()


def _lambdas(lambda1, real):
    """The lambda1 of a path, or the only one."""
    lambdas = np.atleast_1d(_array(lambda1, "lambda1"))
    if lambdas.ndim > 1 or lambdas.size < 1:
        raise ArgumentError("lambda1: its shape is %s, expected one number or a list of numbers" % (lambdas.shape,))
    most = float(np.finfo(real).max)
    wrong = lambdas[~((lambdas >= 0) & (lambdas <= most))]
    if wrong.size:
        raise ArgumentError("lambda1: %g, expected 0 or more and at most %.3g" % (wrong[0], most))
    with np.errstate(under="ignore"):
        return np.ascontiguousarray(lambdas, real)


def _part(codes, first, count, report):
    """Some of the codes, with no more room than their atoms take."""
    rows = slice(first, first + count)
    stride = max(1, int(codes.used[rows].max(initial=0)))
    part = Codes(0, codes.n, 1, codes.coefs.dtype)
    part.used, part.gaps, part.report = codes.used[rows], codes.gaps[rows], report
    part.atoms, part.coefs = codes.atoms[rows, :stride].copy(), codes.coefs[rows, :stride].copy()
    return part


# ---- learning --------------------------------------------------------------------------------------------------------------

STARTS = tuple(word for word in _float.values["start"] if word != "given")  # a dictionary is given in place of a word


class Learnt:
    """What ksvd returns: D (n, p), one atom a row, of unit length; rmse and mean_atoms (coefficients a signal) of coding with it;
    iterations, and the history of each (rmse_coding, mean_atoms, atoms_used, replaced, pruned; rmse_test, of the signals in
    `test`, -1 without any); codes, where they were asked for."""
    HISTORY = "rmse_coding", "mean_atoms", "atoms_used", "replaced", "pruned", "rmse_test"
    D: np.ndarray
    rmse: float
    mean_atoms: float
    iterations: int
    best_iteration: int
    history: dict[str, np.ndarray]
    codes: Codes | Any  # None where they were not asked for; see errors2 of Codes

    def __init__(self, D: np.ndarray, history: np.ndarray, result: np.ndarray, codes: Codes | None) -> None:
        self.D, self.codes = D, codes
        self.iterations, self.best_iteration, self.rmse, self.mean_atoms = int(result[0]), int(result[1]), result[2], result[3]
        self.history = {name: history[:self.iterations, i].copy() for i, name in enumerate(self.HISTORY)}


def _start(start, n, p, real):
    """The dictionary to begin with, and what C is told of it."""
    if start is None:
        return np.zeros((n, p), real), None
    if isinstance(start, str):
        return np.zeros((n, p), real), _word("start", start, STARTS)
    D = np.array(_cast(_array(start, "start"), "start", real), order="C")
    if D.shape != (n, p):
        raise ArgumentError("start: its shape is %s, expected (%d, %d): atoms, values" % (D.shape, n, p))
    return D, "given"


def _only_with_dct(options, start):
    """Refuses sizes of patches that no DCT of them asks for."""
    for name in "patch_width", "patch_height", "patch_channels":
        if options.get(name) is not None and not (isinstance(start, str) and start.lower() == "dct"):
            raise ArgumentError("%s: given without start='dct', expected with it alone" % name)


def _test(test, p, library):
    """Signals that are not learnt from."""
    if test is None:
        return {}
    test, ld = _rows(test, "test", library.real)
    if test.shape[1] != p:
        raise ArgumentError("test: its signals have %d values, but those to learn from have %d" % (test.shape[1], p))
    return dict(test=test, test_m=test.shape[0], test_ld=ld)


def ksvd(Y: ArrayLike, atoms: int, sparsity: int | None = None, iterations: int = 10, *, tolerance: float | None = None,
         start: ArrayLike | str | None = None, codes: bool = False, test: ArrayLike | None = None, threads: int = 0,
         progress: Progress = None, device: str | None = None, **options: Any) -> Learnt:
    """Learns a dictionary of `atoms` atoms from signals Y (m, p), each coded with `sparsity` atoms (default: a tenth of its
    values), or until |y - Dx| <= tolerance, above 0 and in the unit of the signals. Returns Learnt. Signals of float64 beyond about
    1e76, or all below 1e-76, are learnt from worse or refused; those of float32 may have any unit.

    start: "signals", "random", "dct" (with patch_width, patch_height, patch_channels), or a dictionary (atoms, p). codes: return
    the codes, too. test (any, p): signals that are not learnt from, whose error the history has. Options of the library; of words
    the first is the default, and other defaults are in brackets:
    update           "aksvd", "sgk", "ksvd", "nsgk", "mod": how atoms are updated
    nonnegative      atoms and codes are >= 0 (aksvd, sgk, ksvd)
    mask, skip_nan   what is missing, as of omp; masked arrays say the same (aksvd, sgk)
    missing_as_zero  atoms count what is missing as zeros, as DL-Box has it; they are wrong where many signals lack the same values
    parallel_atoms   atoms updated at a time (1)
    stop_patience, stop_improvement   stop when the best error improved by less than the part stop_improvement (0) in
                     stop_patience iterations (all iterations are run)
    seed (0), rounds (1), replace ("worst", "leave", "random"), keep ("best", "last"), prune_coherence (0.99), prune_uses (4, less
    for few signals), regularisation, incoherence, coherence ..., as in sparsehs.h, section 7. One that is read only beside
    another, such as stop_improvement beside stop_patience, is refused without it"""
    Y = _masked_signals(Y, options)
    library, Y, ldy = _signals(Y)
    (m, p), n = Y.shape, _count(atoms, "atoms")
    iterations = 10 if iterations is None else _count(iterations, "iterations")
    if tolerance is not None:
        _ends(sparsity, tolerance, options, min(n, p))
    tolerance = _tolerance(tolerance)
    options = _coding(library, Y.shape, options, sparsity, tolerance)
    _learnable(m, options)
    _only_with_dct(options, start)
    D, start = _start(start, n, p, library.real)
    ends = tolerance or options.get("tolerance_each") is not None
    limit = _stride(sparsity or (None if ends else max(1, p // 10)), p, n, options)
    codes = Codes(m, n, limit, library.real) if codes else None
    history, result = np.zeros((iterations, 6)), np.zeros(4)
    try:
        library.call("ksvd", options, threads, progress, device, p=p, m=m, Y=Y, ldy=ldy, n=n, sparsity=sparsity,
                     tolerance=tolerance, iterations=iterations, start=start, D=D, history=history, result=result,
                     **_test(test, p, library), **(codes._given() if codes else {}))
    except Cancelled as cancelled:
        cancelled.best = Learnt(D, history, result, None)
        raise
    return Learnt(D, history, result, codes)


# What not all rules of update take.
OF_UPDATE = {"mask": ("aksvd", "sgk"), "skip_nan": ("aksvd", "sgk"), "nonnegative": ("aksvd", "sgk", "ksvd"),
             "incoherence": ("aksvd", "sgk", "ksvd", "nsgk")}
PENALTIES = "regularisation", "incoherence", "coherence"  # not of missing values, nor of nonnegative ones


def _learnable(m, options):
    """What ksvd does not learn from, in words that name it."""
    if m < 1:
        raise ArgumentError("signals: the array is empty; expected at least one signal to learn from")
    for name in "weights", "groups":
        if options.get(name) is not None:
            raise ArgumentError("%s: only omp takes them; ksvd takes mask" % name)
    if isinstance(options.get("method"), str) and _float.word("method", options["method"]) != "omp":
        raise ArgumentError("method: %r, expected 'omp' or none; only function omp codes by others" % options["method"])
    for name in "mask", "skip_nan", "nonnegative":
        for other in PENALTIES:
            if _is_set(options, name) and _is_set(options, other):
                raise ArgumentError("%s: cannot be used together with %s; leave one of the two out" % (name, other))
    update = options.get("update")
    if isinstance(update, str):
        update = _float.word("update", update)
        for name, rules in OF_UPDATE.items():
            _only_with(name, _is_set(options, name), "update", update, rules)


class Online:
    """What online returns, and what it goes on from: D (n, p), one atom a row; batches and signal_count, of all calls so far; sums_xx
    (n, n) and sums_yx (n, p), by which past signals count; the history of the last call, one entry a batch (signal_count, rmse,
    mean_atoms, rmse_test, atoms_used, replaced, pruned), whose errors are of the dictionary before it has seen the batch."""
    HISTORY = "signal_count", "rmse", "mean_atoms", "rmse_test", "atoms_used", "replaced", "pruned"
    D: np.ndarray
    batches: int
    signal_count: int
    sums_xx: np.ndarray
    sums_yx: np.ndarray
    history: dict[str, np.ndarray]
    _learnt: int  # signals of batches that had coefficients

    def __init__(self, D: np.ndarray, before: Online | None = None) -> None:
        self.D, self.history = D, {}
        self.batches, self.signal_count = (before.batches, before.signal_count) if before else (0, 0)
        self._learnt = getattr(before, "_learnt", self.signal_count)  # a pickle of an older version has none
        self.sums_xx = before.sums_xx.copy() if before else np.zeros((len(D), len(D)))
        self.sums_yx = before.sums_yx.copy() if before else np.zeros(D.shape)

    def _add(self, history, result):
        """What a call did: its batches and signals, and their history."""
        self.batches += int(result[0])
        self.signal_count += int(result[1])
        done = history[:int(result[0])]
        self._learnt += int(done[done[:, 2] > 0, 0].sum())
        self.history = {name: history[:int(result[0]), i].copy() for i, name in enumerate(self.HISTORY)}
        return self

    def _check(self, n, p):
        """Its arrays are the user's to change, and C goes on from them."""
        if np.shape(self.D) != (n, p):
            raise ArgumentError("state: its dictionary is %s, but (%d, %d) is asked for: atoms, values" % (np.shape(self.D), n, p))
        _count(self.batches, "state.batches", 0)
        for name, shape in ("sums_xx", (n, n)), ("sums_yx", (n, p)):
            sums = getattr(self, name)
            kind = getattr(sums, "dtype", type(sums).__name__)
            if np.shape(sums) != shape or kind != np.float64:
                raise ArgumentError("state.%s: its shape is %s and its type %s, expected %s and float64, as D is of %d atoms of %d "
                                    "values; to add or remove atoms change all three" % (name, np.shape(sums), kind, shape, n, p))
            if not np.isfinite(sums).all():
                raise ArgumentError("state.%s: a value is NaN or infinite, expected numbers" % name)


def online(Y: ArrayLike, atoms: int | None = None, sparsity: int | None = None, *, tolerance: float | None = None,
           epochs: int = 1, batch: int = 512, shuffle: bool = True, state: Online | None = None,
           start: ArrayLike | str | None = None, test: ArrayLike | None = None, threads: int = 0, progress: Progress = None,
           device: str | None = None, **options: Any) -> Online:
    """Learns a dictionary online: from one batch of the signals Y (m, p) after another, each of which is coded once an epoch.
    sparsity and tolerance are as of ksvd. Returns Online.

    To learn from signals that come piece by piece, give each call what the last one returned:

        state = None
        for piece in pieces:
            state = sparsehs.online(piece, 100, sparsity=5, shuffle=False, state=state)

    epochs: how often all of Y is seen. batch: signals a batch. shuffle: take the signals in random order, by `seed`. start: as of
    ksvd, for the first piece; a state that has seen a batch goes on from its own dictionary. test: as of ksvd. Options of the
    library: nonnegative (atoms and codes are >= 0), selection, forgetting, sweeps, seed, start_weight, replace,
    prune_coherence, replace_every, test_every ..., as in sparsehs.h, section 7. forgetting, above 0 and at most 1: each batch
    multiplies the weight of all before it by this; 1 forgets nothing. By default a batch of b signals multiplies by
    (t / (t + b))^8, where t are the signals until then, these included, and 8 more for each atom: the first ones soon count little,
    later ones last. A batch without coefficients changes nothing.

    Learning in pieces gives what learning at once does with shuffle=False, one epoch, the same options, and whole batches in
    each piece but the last.

    The arrays of a state may be changed between two calls; D, sums_xx and sums_yx together where atoms are added or removed."""
    library, Y, ldy = _signals(Y, advice="online learning knows no missing values: fill them in, or use ksvd")
    m, p = Y.shape
    if atoms is None and state is None:
        raise TypeError("atoms: how many atoms to learn must be given")
    if state is not None and not isinstance(state, Online):
        raise TypeError("state: %r, expected what online returns, or None" % (state,))
    n = _count(len(state.D) if atoms is None else atoms, "atoms")
    if tolerance is not None:
        _ends(sparsity, tolerance, options, min(n, p))
    batch, epochs = _count(batch, "batch"), _count(epochs, "epochs")
    _only_with_dct(options, start)
    if state is not None:
        state._check(n, p)
    if state is None or not getattr(state, "_learnt", state.signal_count):
        D, start = _start(start, n, p, library.real)
        made = Online(D, state)
    else:
        D, start = np.array(_cast(np.asarray(state.D), "state.D", library.real), order="C"), "given"
        made = Online(D, state)
    if m == 0:
        return made
    if made._learnt % batch:
        batch = min(batch, m)
    before = max(made._learnt > 0, round(made._learnt / batch))  # in batches such as this call has
    history, result = np.zeros((-(-m * epochs // batch) + 1, 7)), np.zeros(2)
    try:
        library.call("online", options, threads, progress, device, p=p, m=m, Y=Y, ldy=ldy, n=n, sparsity=sparsity,
                     tolerance=_tolerance(tolerance), epochs=epochs, shuffle=bool(shuffle), batch=batch, start=start, D=D,
                     first_batch=before, sums_xx=made.sums_xx, sums_yx=made.sums_yx, history=history,
                     history_most=len(history), result=result, **_test(test, p, library))
    except Cancelled as cancelled:
        cancelled.best = made._add(history, result)
        raise
    return made._add(history, result)
