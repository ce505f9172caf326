"""sparsehs on NumPy arrays: sparse coding, dictionary learning, patches of pictures, components of image cubes.

    import sparsehs
    learnt = sparsehs.ksvd(signals, atoms=256, sparsity=6)      # signals: (m, p), one a row
    codes = sparsehs.omp(learnt.D, signals, sparsity=6)
    clean = sparsehs.denoise(picture)                           # (height, width) or (height, width, channels)
    components, model = sparsehs.pca(cube, 10)                  # (lines, samples, bands) of any type and strides

At the first import the system's compiler makes two shared libraries of sparsehs.h and shim.c, one in float and one in double, and
keeps them in the user's cache. Signals of float32 go to the first, all others to the second; cubes of float64, int32 and uint32 go
to the second, all others to the first. Arrays are read where they lie: an (m, p) array in C order is the library's p x m, and
rows, lines, samples and bands may be any strides apart. What the library cannot read in place is copied; inputs are not changed.

Options have the names that they have in sparsehs.h, and its defaults. All functions take besides

    threads     how many; 0: all processors
    progress    True: a bar by tqdm, where it is installed; or progress(phase, step, steps, error), which is called some thirty times
                a second of processor time and stops the work by returning something true (Cancelled)
    device      "gpu", or part of the name of an OpenCL device or platform, where the libraries were compiled beside OpenCL's headers

and are stopped by KeyboardInterrupt. Environment: SPARSEHS_CC and SPARSEHS_CFLAGS (the compiler, and flags in place of -O2),
SPARSEHS_CACHE (the folder of the libraries). sparsehs_sklearn.py has the same as scikit-learn's estimators.
"""

import ctypes
import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zlib

import numpy as np

__all__ = ["omp", "ksvd", "patches", "denoise", "noise_sigma", "fit", "pca", "mnf", "ica", "rx", "Model", "Codes", "Learnt",
           "Error", "ArgumentError", "OutOfMemory", "Cancelled", "build_info"]


# ---- errors ----------------------------------------------------------------------------------------------------------------

class Error(RuntimeError):
    """What the library says about a failure. status is its name in sparsehs.h."""
    status = None


class ArgumentError(Error, ValueError):
    """An argument is wrong."""


class OutOfMemory(Error, MemoryError):
    """There is too little memory."""


class Cancelled(Error):
    """progress returned something true. best: the best dictionary so far, of ksvd."""
    best = None


# ---- the libraries ---------------------------------------------------------------------------------------------------------

def _files():
    """shim.c and the two headers, beside this file as they are installed, or in the folders that they come in."""
    here = os.path.dirname(os.path.abspath(__file__))
    for shim, headers in ((os.path.join(here, "sparsehs_c"),) * 2, (here, os.path.join(here, "..", ".."))):
        files = [os.path.join(shim, "shim.c")] + [os.path.join(headers, name) for name in ("sparsehs.h", "sparsehs_cl.h")]
        if all(map(os.path.exists, files)):
            return files
    raise ImportError("sparsehs: shim.c and sparsehs.h stand neither beside sparsehs.py nor two folders above it")


def _cache():
    if "SPARSEHS_CACHE" in os.environ:
        return os.environ["SPARSEHS_CACHE"]
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/sparsehs")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sparsehs")


def _compiler():
    for name in [os.environ["SPARSEHS_CC"]] if os.environ.get("SPARSEHS_CC") else ["cc", "gcc", "clang"]:
        words = shlex.split(name)
        found = shutil.which(words[0]) if words else None
        if found:
            return [found] + words[1:]
    raise ImportError("sparsehs: no C compiler: %s; install one (Debian: apt install gcc libc6-dev), or name it in SPARSEHS_CC"
                      % ("SPARSEHS_CC=%s is not found" % os.environ["SPARSEHS_CC"] if os.environ.get("SPARSEHS_CC")
                         else "neither cc nor gcc nor clang is there"))


def _libraries():
    """The paths of the libraries in float and in double, compiled where the cache has none of these sources and this compiler."""
    files, compiler, folder = _files(), _compiler(), _cache()
    flags = shlex.split(os.environ.get("SPARSEHS_CFLAGS", "-O2")) + ["-fPIC", "-shared", "-fvisibility=hidden"]
    about = os.stat(compiler[0])
    key = hashlib.sha256(repr((compiler, flags, about.st_size, about.st_mtime_ns, platform.machine())).encode())
    for name in files:
        with open(name, "rb") as file:
            key.update(file.read())
    made = [os.path.join(folder, "%s-%s.so" % (real, key.hexdigest()[:20])) for real in ("float", "double")]
    if all(map(os.path.exists, made)):
        return made
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        room = tempfile.TemporaryDirectory(dir=folder)
    except OSError as error:
        raise ImportError("sparsehs: its libraries cannot be kept in %s (%s); SPARSEHS_CACHE names another folder"
                          % (folder, error.strerror)) from error
    with room:
        print("sparsehs: compiling, once, for %s ..." % folder, file=sys.stderr)
        command = compiler + flags + [files[0]]
        command += ["-DSHIM_HEADER=\"%s\"" % files[1], "-DSHIM_HEADER_CL=\"%s\"" % files[2]]
        outputs = [os.path.join(room.name, os.path.basename(name)) for name in made]
        for openmp in (["-fopenmp"], []):  # a compiler may have none
            jobs = [subprocess.Popen(command + openmp + real + ["-o", output, "-lm"] + ([] if sys.platform == "darwin" else ["-ldl"]),
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                    for real, output in zip(([], ["-DSPARSEHS_DOUBLE"]), outputs)]
            said = [job.communicate()[0] for job in jobs]
            if not any(job.returncode for job in jobs):
                break
        else:
            raise ImportError("sparsehs: %s failed:\n%s" % (shlex.join(command), "".join(said)[-2000:]))
        for output, name in zip(outputs, made):
            os.replace(output, name)  # at once, for others that compile at the same time
    return made


_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_double)
_NUMBERS = {"int": ctypes.c_int, "size_t": ctypes.c_size_t, "ptrdiff_t": ctypes.c_ssize_t, "uint64_t": ctypes.c_uint64,
            "double": ctypes.c_double}


class _Library:
    """One of the two. What a function takes is read from the library itself, so that it is what was compiled."""

    def __init__(self, path, real):
        self.c, self.real = ctypes.CDLL(path), np.dtype(real)
        self.arrays = {"shs_real": self.real, "double": np.dtype(np.float64), "int": np.dtype(np.intc),
                       "size_t": np.dtype(np.uintp), "unsigned char": np.dtype(np.uint8)}
        for name in "text", "name", "build_info", "device_name", "value":
            getattr(self.c, "shim_" + name).restype = ctypes.c_char_p
        self.c.shim_free.argtypes = self.c.shim_device_close.argtypes = self.c.shim_device_name.argtypes = [ctypes.c_void_p]
        self.values, self.entries, self.devices, self.lock = {}, {}, {}, threading.Lock()
        value = ctypes.c_int()
        for index in range(1000):
            text = self.c.shim_value(index, ctypes.byref(value))
            if text is None:
                break
            option, _, name = text.decode().partition("=")
            self.values.setdefault(option, {})[name.lower()] = value.value
        self.values["out_type"] = self.values["type"]

    def entry(self, name):
        """The function, and (name, const, type, is a pointer) of each of its parameters."""
        if name not in self.entries:
            text = getattr(self.c, "shim_%s_parameters" % name)
            text.restype = ctypes.c_char_p
            parameters = []
            for one in text().decode().strip("() ").split(","):
                const, kind, stars, its = re.fullmatch(r"\s*(const )?\s*([\w ]+?)\s*(\**)(\w+)\s*", one).groups()
                parameters.append((its, bool(const), kind, stars))
            function = getattr(self.c, "shim_" + name)
            function.argtypes = [_Progress if kind == "shim_progress" else ctypes.c_void_p if stars else _NUMBERS[kind]
                                 for _, _, kind, stars in parameters]
            self.entries[name] = function, parameters
        return self.entries[name]

    def device(self, name):
        """The OpenCL device of this name, opened once."""
        if name is None:
            return None
        with self.lock:
            if name not in self.devices:
                handle, reason = ctypes.c_void_p(), ctypes.create_string_buffer(400)
                function, _ = self.entry("device_open")
                status = function(ctypes.c_char_p(name.encode()), ctypes.byref(handle), reason, len(reason))
                if status:
                    self.fail(status, "device %r: " % name, " (%s)" % reason.value.decode(errors="replace"))
                self.devices[name] = handle
            return self.devices[name]

    def fail(self, status, before="", behind=""):
        name = self.c.shim_name(status).decode()
        kinds = {"SHS_NO_MEMORY": OutOfMemory, "SHS_CANCELLED": Cancelled}
        others = "UNSUPPORTED ENGINE_FAILED NO_DEVICE BUILD_FAILED DEVICE_LOST NO_CONVERGENCE".split()
        error = kinds.get(name, Error if name[4:] in others else ArgumentError)(
            before + self.c.shim_text(status).decode() + behind)
        error.status = name
        raise error

    def argument(self, parameter, given):
        """What C gets for it. Arrays have the type that the library says, and are written to only where they may be."""
        its, const, kind, stars = parameter
        if isinstance(given, np.ndarray):
            if not stars or (kind != "void" and given.dtype != self.arrays.get(kind)):
                raise TypeError("%s: an array of %s for %s %s" % (its, given.dtype, kind, stars))
            if not const and not given.flags.writeable:
                raise ValueError("%s: it is read-only" % its)
            return given.ctypes.data
        if given is None:
            return None if stars or kind == "shim_progress" else 0
        if isinstance(given, (str, bytes)) and not stars:
            return self.value(its, given)
        if stars:
            if not isinstance(given, (ctypes.c_void_p, type(ctypes.byref(ctypes.c_int())))):
                raise TypeError("%s: an array, not %r" % (its, given))
            return given
        if kind == "double" or kind == "shim_progress":
            return given if kind != "double" else float(given)
        given = int(given) if isinstance(given, np.bool_) else given
        if not isinstance(given, (int, np.integer)):
            raise TypeError("%s: a whole number, not %r" % (its, given))
        low, high = {"int": (-2**31, 2**31), "ptrdiff_t": (-2**63, 2**63)}.get(kind, (0, 2**64))
        if not low <= given < high:
            raise ArgumentError("%s: %d is out of range" % (its, given))
        return int(given)

    def value(self, option, name):
        names = self.values.get(option)
        if names is None:
            raise TypeError("%s: a number, not %r" % (option, name))
        if name.lower() not in names:
            raise ValueError("%s: %r is none of %s" % (option, name, ", ".join(names)))
        return names[name.lower()]

    def call(self, name, options=None, threads=0, progress=None, device=None, **given):
        """Calls it, and raises what it says. `options` are the user's: only those that the function has, and is not given."""
        function, parameters = self.entry(name)
        names = [parameter[0] for parameter in parameters]
        for option in options or ():
            if option not in names or option in given:
                raise TypeError("%s: there is no such option here" % option)
        given.update(options or {})
        handle = self.device(device)
        if "progress" not in names:
            status = function(*[self.argument(parameter, given.get(parameter[0])) for parameter in parameters])
        else:
            with _Watch(progress) as watch:
                given.update(threads=threads, progress=watch.callback, device=handle)
                arguments = [self.argument(parameter, given.get(parameter[0])) for parameter in parameters]
                if handle is None:
                    status = function(*arguments)
                else:
                    with self.lock:  # a device is for one thread at a time
                        status = function(*arguments)
        if status:
            self.fail(status)


class _Watch:
    """KeyboardInterrupt and progress while C works. An exception must not leave a callback, and Python raises KeyboardInterrupt
    wherever it likes, so that while C works the signal only sets a flag, which the next step finds."""

    def __init__(self, progress):
        self.shown, self.bar, self.raised, self.interrupted, self.before = progress, None, None, None, None
        if progress is True:
            try:
                from tqdm.auto import tqdm
                self.bar = tqdm(total=1, leave=False)
                self.shown = self.draw
            except ImportError:
                self.shown = None
        elif progress is not None and not callable(progress):
            raise TypeError("progress: True, None, or a function")
        self.callback = _Progress(self.step)

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self.before = handler
                signal.signal(signal.SIGINT, self.interrupt)
        return self

    def interrupt(self, number, frame):
        self.interrupted = number, frame

    def step(self, phase, step, steps, error):
        try:
            return 1 if self.interrupted else int(bool(self.shown and self.shown(phase.decode(), step, steps, error)))
        except BaseException as raised:
            self.raised = raised
            return 1

    def draw(self, phase, step, steps, error):
        self.bar.total, self.bar.n = steps, step
        self.bar.set_description(phase, refresh=False)
        if error >= 0:
            self.bar.set_postfix(error="%.4g" % error, refresh=False)
        self.bar.refresh()

    def __exit__(self, *raised):
        if self.before:
            signal.signal(signal.SIGINT, self.before)
        if self.bar is not None:
            self.bar.close()
        if self.interrupted and self.before:
            self.before(*self.interrupted)
        if self.raised:
            raise self.raised


_float, _double = (_Library(path, real) for path, real in zip(_libraries(), (np.float32, np.float64)))


def build_info():
    """How the two libraries were compiled and what they use here."""
    return "\n".join(library.c.shim_build_info().decode() for library in (_float, _double))


# ---- arrays ----------------------------------------------------------------------------------------------------------------

def _array(x, name):
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("%s: masked arrays are not understood; give what is missing as mask" % name)
    x = np.asarray(x)
    if x.dtype.kind not in "buif":
        raise TypeError("%s: numbers, not %s" % (name, x.dtype))
    return x


def _rows(x, name, real):
    """A matrix whose rows C finds `ld` values apart, in this type; copied only where it is not so already."""
    x = _array(x, name)
    if x.ndim != 2:
        raise ArgumentError("%s: a matrix with one row each, not %d dimensions" % (name, x.ndim))
    x = np.asarray(x, real)  # in the machine's byte order
    step, value = x.strides
    ahead = x.shape[0] == 1 or (step >= x.shape[1] * x.itemsize and step % x.itemsize == 0 and step // x.itemsize < 2**31)
    if not (ahead and (value == x.itemsize or x.shape[1] == 1) and x.flags.aligned):
        x = np.ascontiguousarray(x)
    return x, (x.shape[1] if x.shape[0] == 1 else x.strides[0] // x.itemsize)


def _signals(Y, name="signals"):
    """The library for them, the matrix, and its leading dimension."""
    Y = _array(Y, name)
    library = _float if Y.dtype.itemsize == 4 and Y.dtype.kind == "f" else _double
    return (library,) + _rows(Y, name, library.real)


def _coding(library, shape, options):
    """Of the options of coding those that are arrays, as C takes them."""
    m, p = shape
    for name, kind in ("sparsity_each", np.intc), ("tolerance_each", library.real):
        if options.get(name) is not None:
            options[name] = np.ascontiguousarray(options[name], kind)
            if options[name].shape != (m,):
                raise ArgumentError("%s: one a signal" % name)
    for name, ld, kind in ("mask", "ldm", np.uint8), ("weights", "ldw", library.real):
        if options.get(name) is not None:
            given = _array(options[name], name)
            if name == "weights" and given.shape == (p,):
                options[name], options[ld] = np.ascontiguousarray(given, kind), 0
                continue
            if given.shape != (m, p):
                raise ArgumentError("%s: as many values as the signals" % name)
            options[name], options[ld] = _rows(given != 0 if name == "mask" else given, name, kind)
    return options


# ---- signals ---------------------------------------------------------------------------------------------------------------

class Codes:
    """Sparse codes of m signals: atoms[i, k] with the coefficient coefs[i, k], k < used[i], in the order in which they were chosen;
    n atoms in all. What lies behind used[i] is 0. errors2, report: where omp was asked for them."""

    def __init__(self, m, n, stride, real):
        self.n, self.errors2, self.report = n, None, None
        self.used, self.atoms = np.empty(m, np.intc), np.empty((m, stride), np.intc)
        self.coefs = np.empty((m, stride), real)

    def __len__(self):
        return len(self.used)

    def _there(self):
        return np.arange(self.atoms.shape[1]) < self.used[:, None]

    def toarray(self):
        """(m, n)"""
        X = np.zeros((len(self), self.n), self.coefs.dtype)
        rows, places = np.nonzero(self._there())
        X[rows, self.atoms[rows, places]] = self.coefs[rows, places]
        return X

    def tocsr(self):
        """The same as a sparse matrix of scipy."""
        from scipy.sparse import csr_matrix
        there = self._there()
        return csr_matrix((self.coefs[there], self.atoms[there], np.concatenate(([0], np.cumsum(self.used)))),
                          (len(self), self.n))

    def decode(self, D):
        """The signals that these codes stand for: (m, p)."""
        library = _float if self.coefs.dtype == np.float32 else _double
        D, ldd = _rows(D, "dictionary", library.real)
        if D.shape[0] != self.n:
            raise ArgumentError("dictionary: %d atoms, but the codes are of %d" % (D.shape[0], self.n))
        Z = np.empty((len(self), D.shape[1]), library.real)
        library.call("synthesize", p=D.shape[1], n=self.n, D=D, ldd=ldd, m=len(self), stride=self.atoms.shape[1],
                     used=self.used, atoms=self.atoms, coefs=self.coefs, Z=Z)
        return Z


def _stride(sparsity, p, n, options):
    """As many atoms as a signal may have."""
    if options.get("sparsity_each") is not None:
        sparsity = int(np.max(options["sparsity_each"], initial=0)) or 1
    if sparsity is not None and not isinstance(sparsity, (int, np.integer)):
        raise TypeError("sparsity: a whole number, not %r" % (sparsity,))
    return max(1, min(p, n, sparsity or p))


def omp(D, Y, sparsity=None, tolerance=0.0, *, errors=False, threads=0, progress=None, device=None, **options):
    """Codes the signals Y (m, p) over the atoms D (n, p): at most `sparsity` a signal, or until |y - Dx| <= tolerance. The library's
    options: selection ("omp", "ols"), nonnegative, mask, weights, skip_nan, sparsity_each, tolerance_each, gram_mode ..."""
    library, Y, ldy = _signals(Y)
    D, ldd = _rows(D, "dictionary", library.real)
    (m, p), n = Y.shape, D.shape[0]
    if D.shape[1] != p:
        raise ArgumentError("dictionary: atoms of %d values for signals of %d" % (D.shape[1], p))
    options = _coding(library, Y.shape, options)
    codes = Codes(m, n, _stride(sparsity, p, n, options), library.real)
    report = np.zeros(4) if errors else None
    if errors:
        codes.errors2 = np.empty(m, library.real)
    library.call("omp", options, threads, progress, device, p=p, m=m, Y=Y, ldy=ldy, n=n, D=D, ldd=ldd, sparsity=sparsity,
                 tolerance=float(tolerance), stride=codes.atoms.shape[1], used=codes.used, atoms=codes.atoms, coefs=codes.coefs,
                 errors2=codes.errors2, report=report)
    if errors:
        codes.report = dict(zip(("nonzeros", "not_reached", "sum2", "rmse"), report.tolist()))
    return codes


class Learnt:
    """What ksvd returns: D (n, p); rmse and mean_atoms of it; the history of the iterations (rmse_coding, mean_atoms, atoms_used,
    replaced, pruned); codes, where they were asked for."""
    HISTORY = "rmse_coding", "mean_atoms", "atoms_used", "replaced", "pruned"

    def __init__(self, D, history, result, codes):
        self.D, self.codes = D, codes
        self.iterations, self.best_iteration, self.rmse, self.mean_atoms = int(result[0]), int(result[1]), result[2], result[3]
        self.history = {name: history[:self.iterations, i].copy() for i, name in enumerate(self.HISTORY)}


def ksvd(Y, atoms, sparsity=None, iterations=10, *, tolerance=0.0, start=None, codes=False, threads=0, progress=None,
         device=None, **options):
    """Learns `atoms` atoms from the signals Y (m, p). start: "signals", "random", "dct", or a dictionary (n, p). The library's options:
    update ("aksvd", "sgk", "ksvd", "nsgk", "mod"), parallel_atoms, rounds, seed, replace, keep, regularisation, incoherence,
    coherence ..."""
    library, Y, ldy = _signals(Y)
    (m, p), n = Y.shape, atoms
    if not isinstance(n, (int, np.integer)):
        raise TypeError("atoms: a whole number, not %r" % (atoms,))
    if n < 1:
        raise ArgumentError("atoms: none")
    options = _coding(library, Y.shape, options)
    if start is None or isinstance(start, str):
        D = np.zeros((n, p), library.real)
    else:
        D, start = np.array(start, library.real, order="C"), "given"
        if D.shape != (n, p):
            raise ArgumentError("start: a dictionary of %d atoms of %d values" % (n, p))
    limit = _stride(sparsity or (None if tolerance else max(1, p // 10)), p, n, options)
    codes = Codes(m, n, limit, library.real) if codes else None
    iterations = iterations or 10
    given = dict(stride=limit, used=codes.used, atoms=codes.atoms, coefs=codes.coefs) if codes else {}
    history, result = np.zeros((max(1, iterations), 5)), np.zeros(4)
    try:
        library.call("ksvd", options, threads, progress, device, p=p, m=m, Y=Y, ldy=ldy, n=n, sparsity=sparsity,
                     tolerance=float(tolerance), iterations=iterations, start=start, D=D, history=history, result=result,
                     **given)
    except Cancelled as cancelled:
        cancelled.best = Learnt(D, history, result, None)
        raise
    return Learnt(D, history, result, codes)


# ---- pictures --------------------------------------------------------------------------------------------------------------

def _image(image):
    """The library for it, its values in place, and how C finds them."""
    a = _array(image, "image")
    if a.ndim not in (2, 3) or 0 in a.shape:
        raise ArgumentError("image: (height, width) or (height, width, channels), not %s" % (a.shape,))
    library = _double if a.dtype.kind == "f" and a.dtype.itemsize > 4 or a.dtype.itemsize > 2 and a.dtype.kind != "f" else _float
    if a.dtype not in (np.uint8, np.float32, np.float64):
        a = a.astype(library.real)
    a = a if a.dtype.isnative else a.astype(a.dtype.newbyteorder("="))
    channels = a.shape[2] if a.ndim == 3 else 1
    row = a.shape[1] * channels * a.itemsize
    inner = a[0].flags.c_contiguous and a.flags.aligned
    if not inner or a.shape[0] > 1 and (a.strides[0] < row or a.strides[0] % a.itemsize):
        a = np.ascontiguousarray(a)
    stride = a.strides[0] // a.itemsize if a.shape[0] > 1 else 0
    return library, a, dict(pixels=a, type=a.dtype.name, width=a.shape[1], height=a.shape[0], channels=channels, row_stride=stride)


def patches(image, size=8, count=None, *, step=1, seed=0, keep_mean=False, unit_norm=False, threads=0):
    """Patches of size x size pixels as signals (m, p), and their means (m, channels), which are taken out unless keep_mean: every
    step-th both ways, or `count` at random places."""
    library, _, image = _image(image)
    there = dict(patch_width=size, patch_height=size, mode="grid" if count is None else "random", count=count, step_x=step,
                 step_y=step, seed=seed, keep_mean=int(keep_mean), unit_norm=int(unit_norm))
    m, p = np.zeros(1, np.uintp), np.zeros(1, np.intc)
    library.call("patches_count", **image, **there, m=m, p=p)
    Y, means = np.empty((m[0], p[0]), library.real), np.empty((m[0], image["channels"]), library.real)
    library.call("patches_get", threads=threads, **image, **there, m=int(m[0]), p=int(p[0]), Y=Y, means=means)
    return Y, means


def noise_sigma(image, *, threads=0):
    """The standard deviation of the white noise of an image, estimated from it alone, and whether that is a guess."""
    library, _, image = _image(image)
    sigma, guess = np.zeros(1), np.zeros(1, np.intc)
    library.call("noise_sigma", threads=threads, **image, sigma=sigma, guess=guess)
    return float(sigma[0]), bool(guess[0])


def denoise(image, sigma=None, *, atoms=256, iterations=30, patch=8, training=80000, seed=1, threads=0, progress=None,
            device=None, dictionary=None, **options):
    """Removes white Gaussian noise of standard deviation sigma (None: estimated) by a dictionary learnt from the picture itself (Elad,
    Aharon 2006), or by one that is given, as examples/denoise.c does. `options` are those of ksvd. Returns floats."""
    library, pixels, given = _image(image)
    work = dict(threads=threads, progress=progress, device=device)
    if sigma is None:
        sigma = max(noise_sigma(image, threads=threads)[0], 0.01)
    if not sigma > 0:
        raise ArgumentError("sigma: must be above 0")
    p = patch * patch * given["channels"]
    # A patch of noise mostly stays below this and gets no atom; more than half as many atoms as values would be noise as well.
    coding = dict(tolerance=float(library.real.type((1 + 0.15 * 8 / p ** 0.5) * sigma * p ** 0.5)), sparsity=max(1, p // 2))
    if dictionary is None:
        Y, _ = patches(image, patch, training, seed=seed, threads=threads)
        dictionary = ksvd(Y, atoms, iterations=iterations, seed=seed, **dict(dict(start="dct"), **options), **coding, **work,
                          patch_width=patch, patch_height=patch, patch_channels=given["channels"]).D
    D = np.ascontiguousarray(_rows(dictionary, "dictionary", library.real)[0])
    if D.shape[1] != p:
        raise ArgumentError("dictionary: atoms of %d values for patches of %d" % (D.shape[1], p))
    out = np.empty(pixels.shape, library.real)
    library.call("approximate", **work, **given, patch_width=patch, patch_height=patch, p=p, n=len(D), D=D, out=out,
                 **{"lambda": 30 / sigma}, **coding)
    return out


# ---- cubes -----------------------------------------------------------------------------------------------------------------

def _cube(cube, valid=None, nodata=None):
    """The library for it, its values in place, and how C finds them. A matrix is one line of pixels."""
    a = _array(cube, "cube")
    if a.ndim == 2:
        a = a[None]
    if a.ndim != 3 or a.shape[2] < 1:
        raise ArgumentError("cube: (lines, samples, bands) or (pixels, bands), not %s" % (a.shape,))
    if a.dtype.newbyteorder("=") not in (np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float32, np.float64):
        a = a.astype(np.uint8 if a.dtype.kind == "b" else np.float32 if a.dtype in (np.int8, np.float16) else np.float64)
    library = _float if a.dtype.newbyteorder("=") in (np.uint8, np.int16, np.uint16, np.float32) else _double
    broken = [step % a.itemsize or step == 0 for step, count in zip(a.strides, a.shape) if count > 1]
    if any(broken) or not a.flags.aligned:
        a = np.ascontiguousarray(a)
    line, sample, band = (step // a.itemsize if count > 1 else 1 for step, count in zip(a.strides, a.shape))
    found = dict(pixels=a, type=a.dtype.newbyteorder("=").name, lines=a.shape[0], samples=a.shape[1], bands=a.shape[2],
                 sample_stride=sample, line_stride=line, band_stride=band, swap_bytes=int(not a.dtype.isnative))
    if valid is not None:
        valid = np.ascontiguousarray(np.asarray(valid) != 0, np.uint8)
        if valid.size != a.shape[0] * a.shape[1]:
            raise ArgumentError("valid: %s for %d pixels" % (valid.shape, a.shape[0] * a.shape[1]))
        found["valid"] = valid
    if nodata is not None:
        found.update(has_nodata=1, nodata=float(nodata))
    return library, a, found


class Model:
    """What was fitted: kind ("pca", "mnf", "ica", "rx"), bands, components, count (pixels), and the arrays of sparsehs.h, section 12,
    in which (n, k) of the header is (k, n) here. It is kept as the file that `hypercube --save` writes and its `apply` reads."""

    def __init__(self, file):
        self.file = bytes(file)
        head, body, sums = self.file[:64], self.file[64:-4], [int.from_bytes(self.file[at:][:4], "little") for at in (60, -4)]
        if len(self.file) < 68 or head[:8] != b"SHSmodel" or [zlib.crc32(head[:60]), zlib.crc32(body)] != sums:
            raise ArgumentError("model: the file is none, or damaged")
        version, kind, n, k, e, flags = np.frombuffer(head[8:32], "<u4").tolist()
        if version > 2 or kind > 3:
            raise ArgumentError("model: the file is of a later version")
        body = np.frombuffer(body, "<f8")
        self.kind, self.bands, self.components = ("pca", "mnf", "ica", "rx")[kind], n, k
        self.count, self.total_variance = np.frombuffer(head[32:48], "<f8").tolist()
        shapes = [("mean", (n,)), ("scale", (n,)), ("eigenvalues", (e,)), ("vectors", (k, n)), ("backward", (k, n))]
        if self.kind == "mnf" and version > 1:
            shapes.append(("noise", (n, n)))
        if self.kind == "ica":
            shapes = [("mean", (n,)), ("eigenvalues", (k,)), ("whitening", (n, k)), ("rotation", (k, k)), ("unmixing", (n, k)),
                      ("mixing", (k, n))]
        if flags & 1:
            shapes.append(("wavelengths", (n,)))
        if self.kind == "ica":
            shapes.append(("reports", (k, 7)))
        at = 0
        for name, shape in shapes:
            size = int(np.prod(shape))
            setattr(self, name, body[at:at + size].reshape(shape))
            at += size
        if self.kind == "ica":  # one row each: (k, n)
            self.whitening, self.unmixing, self.converged = self.whitening.T, self.unmixing.T, self.reports[:, 2] != 0

    def __reduce__(self):
        return Model, (self.file,)

    @classmethod
    def load(cls, path):
        with open(path, "rb") as file:
            return cls(file.read())

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.file)

    def _apply(self, cube, way, outputs, components=0, valid=None, nodata=None, **work):
        library, a, given = _cube(cube, valid, nodata)
        out = np.empty(a.shape[:2] + (outputs,), library.real)
        library.call("apply", **work, **given, file=np.frombuffer(self.file, np.uint8), size=len(self.file), way=way,
                     components=components, out=out, out_type=out.dtype.name)
        return out[0] if np.ndim(cube) == 2 else out

    def transform(self, cube, **options):
        """The components of every pixel, or its score. Options: valid, nodata (missing pixels become NaN), threads ..."""
        return self._apply(cube, 0, 1 if self.kind == "rx" else self.components, **options)

    def inverse_transform(self, components, **options):
        """Pixels from components."""
        return self._apply(components, 1, self.bands, **options)

    def denoise(self, cube, components=0, **options):
        """The pixels, rebuilt from their first components (0: all that are kept)."""
        return self._apply(cube, 2, self.bands, components, **options)


def fit(kind, cube, components=None, *, valid=None, nodata=None, noise=None, start=None, threads=0, progress=None, device=None,
        **options):
    """Fits "pca", "mnf", "ica" or "rx" to a cube (lines, samples, bands). valid: (lines, samples), 0 = leave the pixel out; nodata: a
    value that means missing, as NaN does. The library's options: variance, eigenvalue_at_least, correlation, divisor ("n", "n-1"),
    precise; of MNF neighbours, noise_residual, noise (bands, bands); of RX skip; of ICA contrast, approach, route, iterations,
    tolerance, restarts, random_start, start, seed, order."""
    library, _, given = _cube(cube, valid, nodata)
    n = given["bands"]
    for name, array in ("noise", noise), ("start", start):
        if array is not None:
            options[name] = np.ascontiguousarray(array, np.float64)
            if options[name].shape != ((n, n) if name == "noise" else (components or n,) * 2):
                raise ArgumentError("%s: its shape is %s" % (name, options[name].shape))
    file, size = ctypes.c_void_p(), np.zeros(1, np.uintp)
    library.call("fit", options, threads, progress, device, kind=kind, components=components, file=ctypes.byref(file), size=size,
                 **given)
    try:
        return Model(ctypes.string_at(file, int(size[0])))
    finally:
        library.c.shim_free(file)


def _run(kind, cube, components, valid=None, nodata=None, threads=0, progress=None, device=None, **options):
    work = dict(valid=valid, nodata=nodata, threads=threads, progress=progress, device=device)
    model = fit(kind, cube, components, **work, **options)
    return model.transform(cube, **work), model


def pca(cube, components=None, **options):
    """Principal components of every pixel, and the Model. Options: see fit."""
    return _run("pca", cube, components, **options)


def mnf(cube, components=None, **options):
    """Minimum noise fractions of every pixel, best signal to noise first, and the Model. Options: see fit."""
    return _run("mnf", cube, components, **options)


def ica(cube, components=None, **options):
    """Independent components of every pixel by FastICA, and the Model. Options: see fit."""
    return _run("ica", cube, components, **options)


def rx(cube, components=None, **options):
    """Reed-Xiaoli anomaly scores of every pixel, (lines, samples). Options: see fit."""
    return _run("rx", cube, components, **options)[0][..., 0]
