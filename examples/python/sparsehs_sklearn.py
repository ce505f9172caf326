"""sparsehs as scikit-learn's estimators: KSVD, PCA, MNF, ICA and RX of matrices (samples, features), for pipelines and searches.
Parameters have the names and the meaning that they have in sparsehs, but two defaults are those of scikit-learn: PCA divides by
n - 1 (divisor="n-1", in sparsehs "n"), and ICA finds all components at once (approach="symmetric", in sparsehs "deflation"). Give a
cube as cube.reshape(-1, bands)."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

import sparsehs
from sparsehs import cubes

try:  # from 1.6 on a function
    from sklearn.utils.validation import validate_data
except ImportError:
    def validate_data(estimator, X, **options):
        return estimator._validate_data(X, **options)


class _Estimator(TransformerMixin, BaseEstimator):
    def _checked(self, X, fitting):
        if not fitting:
            check_is_fitted(self)
        return validate_data(self, X, reset=fitting, dtype=[np.float64, np.float32], ensure_min_samples=2 if fitting else 1)

    def _work(self):
        return dict(threads=self.threads, progress=self.progress, device=self.device)

    def _more_tags(self):
        return {"preserves_dtype": [np.float64, np.float32]}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        check_is_fitted(self)
        return self.n_components_

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return np.array(["%s%d" % (type(self).__name__.lower(), i) for i in range(self._n_features_out)], object)


class KSVD(_Estimator):
    """A dictionary and sparse codes over it: components_ (n_components, features), one atom a row, of unit length.

    n_components: atoms (None: twice as many as features). sparsity: atoms a sample (None: a tenth of the features, or with a
    tolerance as many as it takes). tolerance: code until |x - code @ components_| is at most this, above 0 and in the unit of X.
    nonnegative: atoms and codes are >= 0. batch_size: samples that partial_fit learns from at a time. transform returns a
    dense matrix (samples, n_components), or with sparse_output one of scipy.sparse.

    fit learns from all samples, again and again; partial_fit learns online, from each sample once (see sparsehs.online).
    score is 1 - |X - codes @ components_|^2 / |X|^2: 1 is a perfect fit."""

    def __init__(self, n_components=None, sparsity=None, tolerance=None, iterations=10, update="aksvd", parallel_atoms=1,
                 start="signals", seed=0, nonnegative=False, batch_size=512, sparse_output=False, threads=0, progress=None,
                 device=None):
        self.n_components, self.sparsity, self.tolerance = n_components, sparsity, tolerance
        self.iterations, self.update, self.parallel_atoms = iterations, update, parallel_atoms
        self.start, self.seed, self.nonnegative = start, seed, nonnegative
        self.batch_size, self.sparse_output = batch_size, sparse_output
        self.threads, self.progress, self.device = threads, progress, device

    def fit(self, X, y=None):
        X = self._checked(X, True)
        self.n_components_ = 2 * X.shape[1] if self.n_components is None else self.n_components
        learnt = sparsehs.ksvd(X, self.n_components_, self.sparsity, self.iterations, tolerance=self.tolerance,
                               update=self.update, parallel_atoms=self.parallel_atoms, start=self.start, seed=self.seed,
                               nonnegative=bool(self.nonnegative), **self._work())
        self.components_, self.error_, self.history_, self.n_iter_ = learnt.D, learnt.rmse, learnt.history, learnt.iterations
        self.state_ = None
        self.forgetting_ = 1.0  # partial_fit has no sums of these samples, so its own, few at first, must not fade
        return self

    def partial_fit(self, X, y=None):
        """Learns from more samples, in their order, batch_size at a time. After fit it goes on from what that has learnt."""
        fitted = hasattr(self, "components_")
        X = validate_data(self, X, reset=not fitted, dtype=[np.float64, np.float32])
        if not fitted:
            self.n_components_ = 2 * X.shape[1] if self.n_components is None else self.n_components
            self.forgetting_ = None
        start = self.components_ if fitted else self.start
        self.state_ = sparsehs.online(X, self.n_components_, self.sparsity, tolerance=self.tolerance, batch=self.batch_size,
                                      shuffle=False, state=getattr(self, "state_", None), start=start, seed=self.seed,
                                      nonnegative=bool(self.nonnegative), forgetting=self.forgetting_, **self._work())
        self.components_, self.n_iter_ = self.state_.D, self.state_.batches
        self.history_ = self.state_.history  # of this call: its errors are of each batch before it was learnt from
        self.error_ = float(self.history_["rmse"][-1])
        return self

    def _codes(self, X, errors=False):
        sparsity = self.sparsity
        if sparsity is None and self.tolerance is None:
            sparsity = max(1, X.shape[1] // 10)
        return sparsehs.omp(self.components_, X, sparsity, self.tolerance, errors=errors, nonnegative=bool(self.nonnegative),
                            **self._work())

    def transform(self, X):
        codes = self._codes(self._checked(X, False))
        return codes.tocsr() if self.sparse_output else codes.toarray()

    def score(self, X, y=None):
        """The part of |X|^2 that the codes explain: at most 1."""
        X = self._checked(X, False)
        total = np.square(X, dtype=np.float64).sum()
        return 1 - self._codes(X, errors=True).report["sum2"] / total if total > 0 else 1.0

    def inverse_transform(self, X):
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return X @ self.components_.astype(X.dtype, copy=False)


class _Components(_Estimator):
    def _fit(self, kind, cube, **options):
        self.model_ = cubes._fit(kind, cube, self.n_components, ConvergenceWarning, **options, **self._work())
        self.n_components_, self.mean_ = self.model_.components, self.model_.mean
        return self

    def transform(self, X):
        X = self._checked(X, False)
        return self.model_.transform(X, **self._work())

    def inverse_transform(self, X):
        check_is_fitted(self)
        return self.model_.inverse_transform(check_array(X, dtype=[np.float64, np.float32]), **self._work())


class PCA(_Components):
    """Principal components: components_ (n_components, features), explained_variance_, explained_variance_ratio_, mean_, and scale_
    (features,), the standard deviations by which correlation divides, else 1: transform is (X - mean_) / scale_ @ components_.T."""

    def __init__(self, n_components=None, correlation=False, divisor="n-1", threads=0, progress=None, device=None):
        self.n_components, self.correlation, self.divisor = n_components, correlation, divisor
        self.threads, self.progress, self.device = threads, progress, device

    def fit(self, X, y=None):
        self._fit("pca", self._checked(X, True), correlation=int(self.correlation), divisor=self.divisor)
        self.components_, self.scale_ = self.model_.vectors, self.model_.scale
        self.explained_variance_ = self.model_.eigenvalues[:self.n_components_]
        total = self.model_.total_variance
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else np.zeros(self.n_components_)
        return self


class MNF(_Components):
    """Minimum noise fractions of the pixels of an image, line after line of `samples` (None: one line): the noise is what neighbours
    in a line differ by, unless `noise`, its covariance, is known. signal_to_noise_: eigenvalue - 1."""

    def __init__(self, n_components=None, samples=None, noise=None, threads=0, progress=None, device=None):
        self.n_components, self.samples, self.noise = n_components, samples, noise
        self.threads, self.progress, self.device = threads, progress, device

    def fit(self, X, y=None):
        X = self._checked(X, True)
        samples = len(X) if self.samples is None else self.samples
        if samples < 1 or len(X) % samples:
            raise ValueError("samples: %r for %d pixels" % (self.samples, len(X)))
        self._fit("mnf", X.reshape(-1, samples, X.shape[1]), noise=self.noise)
        self.signal_to_noise_ = self.model_.eigenvalues[:self.n_components_] - 1
        return self


class ICA(_Components):
    """Independent components by FastICA: components_ (n_components, features), mixing_ (features, n_components), mean_; converged_.
    A ConvergenceWarning says where components have not converged."""

    def __init__(self, n_components=None, contrast="pow3", approach="symmetric", iterations=200, tolerance=None, seed=0, threads=0,
                 progress=None, device=None):
        self.n_components, self.contrast, self.approach = n_components, contrast, approach
        self.iterations, self.tolerance, self.seed = iterations, tolerance, seed
        self.threads, self.progress, self.device = threads, progress, device

    def fit(self, X, y=None):
        self._fit("ica", self._checked(X, True), contrast=self.contrast, approach=self.approach, iterations=self.iterations,
                  tolerance=self.tolerance, seed=self.seed)
        self.components_, self.mixing_ = self.model_.unmixing, self.model_.mixing.T
        self.converged_, self.n_iter_ = self.model_.converged, int(self.model_.reports[:, 0].max())
        return self


class RX(_Components):
    """Anomaly scores: transform returns (samples, 1), score_samples their negative as scikit-learn's outlier detectors do."""

    def __init__(self, n_components=None, skip=0, trim=0.0, trim_rounds=None, threads=0, progress=None, device=None):
        self.n_components, self.skip, self.trim, self.trim_rounds = n_components, skip, trim, trim_rounds
        self.threads, self.progress, self.device = threads, progress, device

    def fit(self, X, y=None):
        return self._fit("rx", self._checked(X, True), skip=self.skip, trim=self.trim, trim_rounds=self.trim_rounds)

    @property
    def _n_features_out(self):
        check_is_fitted(self)
        return 1

    def score_samples(self, X):
        return -self.transform(X)[:, 0]

    inverse_transform = property()  # scores have no way back
