"""sparsehs on NumPy arrays: sparse coding, dictionary learning, patches of pictures, components and spectra of image cubes.

    import sparsehs
    learnt = sparsehs.ksvd(signals, atoms=256, sparsity=6)      # signals: (m, p), one a row
    codes = sparsehs.omp(learnt.D, signals, sparsity=6)
    clean = sparsehs.denoise(picture)                           # (height, width) or (height, width, channels)
    components, model = sparsehs.pca(cube, 10)                  # (lines, samples, bands) of any type and strides

At the first import the system's compiler makes two shared libraries of sparsehs.h and shim.c, one in single and one in double
precision, and keeps them in the user's cache. Signals of float32 go to the first, all others to the second; cubes of float64,
int32 and uint32 go to the second, all others to the first. Arrays are read in place where that is possible: rows, lines, samples
and bands may be any strides apart. What the library cannot read in place is copied; inputs are not changed. Masked arrays, NaN and
sparse matrices of scipy are understood where the functions say so; complex numbers are refused.
A DataArray of xarray may stand for a cube, its dimensions in any order: bands are the one named band, bands, wavelength, wavelengths,
channel or component, else the last; lines are the first other one. Results are DataArrays with the coordinates and attributes that
still hold. A coordinate `wavelength` (its attribute units: nm, um, mm, cm, m, Angstrom, or 1/cm of wavenumbers) is taken where
a function asks for wavelengths; Raman shifts are not. Other DataArrays in a call must have the cube's labels in the cube's order.
nodata, where it is not given, is what the attribute _FillValue, missing_value or nodata says.

Options have the names and the defaults of sparsehs.h, and None is the default of each. Words such as "ols" are taken in any case.
Functions of the compiled library take besides, as their signatures say,

    threads     how many; 0: all processors. In a child of fork() there is one
    progress    True: a bar by tqdm, where it is installed; or progress(phase, step, steps, error), which is called at most thirty
                times a second of processor time and stops the work by returning something true (Cancelled); False or None: neither
    device      "gpu", or part of the name of an OpenCL device or platform, where the libraries were compiled beside OpenCL's headers

and are stopped by KeyboardInterrupt, and by whatever else a handler of a signal raises. Both wait for the library's next step.
Environment: SPARSEHS_CC and SPARSEHS_CFLAGS (the compiler, and flags in place of -O2), SPARSEHS_CACHE (the folder of the libraries
and of programs built for devices).
sparsehs_sklearn has KSVD, PCA, MNF, ICA and RX as scikit-learn's estimators.
"""

from ._arrays import _cube, _rows
from ._library import ArgumentError, Cancelled, Error, OutOfMemory, _double, _float, build_info
from .cubes import (Model, compare, detect, endmembers, fit, ica, match, mnf, pca, ppi, rx, rx_classes, rx_local, similarity, unmix,
                    unmix_sparse)
from .enlarging import Enlarger, superres, superres_learn
from .pictures import denoise, inpaint, noise_sigma, patches
from .scene import bands, continuum, correct, count, derivative, index, resample, smooth
from .signals import Codes, Learnt, Online, ksvd, lasso, omp, omp_gram, online

__version__ = build_info().split(";")[0].split()[1]

__all__ = ["omp", "omp_gram", "lasso", "ksvd", "online", "Codes", "Learnt", "Online", "patches", "denoise", "inpaint", "noise_sigma",
           "superres", "superres_learn", "Enlarger", "fit", "pca", "mnf", "ica", "rx", "rx_classes", "rx_local", "detect",
            "similarity", "match", "compare", "unmix", "unmix_sparse", "endmembers", "ppi", "bands", "count", "smooth", "resample",
            "continuum", "derivative", "correct", "index", "Model", "Error", "ArgumentError", "OutOfMemory", "Cancelled", "build_info"]
