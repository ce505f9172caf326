"""The compiled library: errors, compilation at the first import, calls with checked arguments, progress, threads."""

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
import warnings
from typing import Any, Callable, Union

import numpy as np


# ---- errors ----------------------------------------------------------------------------------------------------------------

class Error(RuntimeError):
    """What the library says about a failure. status is its name in sparsehs.h."""
    status: Union[str, None] = None


class ArgumentError(Error, ValueError):
    """An argument is wrong. codes: of omp and omp_gram, where status is "SHS_OUT_OF_RANGE" since a coefficient is; that one is
    infinite or has lost digits, and all others are right."""
    codes: Any = None


class OutOfMemory(Error, MemoryError):
    """There is too little memory."""


class Cancelled(Error):
    """progress returned something true. best: what was learnt so far, of ksvd (Learnt) and online (Online)."""
    best: Any = None


_HERE = os.path.dirname(os.path.abspath(__file__))  # sparsehs_sklearn.py beside it begins like it


def _warn(text, kind=RuntimeWarning):
    """Warns of the line that called this package, from however deep in it."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, level)


# ---- words and numbers of options --------------------------------------------------------------------------------------------

def _word(argument, given, known):
    """The one of these words that an option gives, in whatever case. Who compares an option's word asks here first."""
    if isinstance(given, str) and given.lower() in known:
        return given.lower()
    raise ArgumentError("%s: %r is none of %s" % (argument, given, ", ".join(known)))


def _only_with(name, is_given, of, word, owners):
    """Refuses an option that would go unread: only `owners` take it (None: all do), and this word of `of` is none of them."""
    if is_given and owners and word not in owners:
        raise ArgumentError("%s: given with %s %r, expected with %s alone" % (name, of, word, " or ".join(map(repr, owners))))


# What a number must be, and the words for it.
_FROM_0 = (lambda x: 0 <= x < float("inf")), "0 or more"
_ABOVE_0 = (lambda x: 0 < x < float("inf")), "above 0"
_FROM_1 = (lambda x: x >= 1), "at least 1"
_PART = (lambda x: 0 < x <= 1), "above 0 and at most 1"
_HALF = (lambda x: 0 <= x <= 0.5), "0 to 0.5"
_BELOW_1 = (lambda x: 0 <= x < 1), "0 or more and below 1"
_NOT_0 = (lambda x: x != 0), "another number than 0"
_FINITE = (lambda x: -float("inf") < x < float("inf")), "a number"

# Numbers that the functions of the library take. Where 0 is none of these the library would take 0 for its own default, which is
# None here.
_CODING = dict(sparsity=_FROM_1, tolerance=_FROM_0, signals_per_group=_FROM_1)
_LEARNING = dict(_CODING, patch_width=_FROM_1, patch_height=_FROM_1, patch_channels=_FROM_1, prune_coherence=_ABOVE_0)
_NUMBERS_OF = {
    "omp": _CODING,
    "omp_gram": _CODING,
    "lasso": dict(lambda2=_FROM_0, gap=_ABOVE_0, sweeps=_FROM_1),
    "ksvd": dict(_LEARNING, iterations=_FROM_1, parallel_atoms=_FROM_1, rounds=_FROM_1, prune_uses=_NOT_0,
                 regularisation=_FROM_0, regularisation_decay=_PART, regularised_iterations=_FROM_1, incoherence=_FROM_0,
                 coherence=_BELOW_1, coherence_rounds=_FROM_1, stop_improvement=_FINITE, stop_patience=_FROM_0, first_iteration=_FROM_0),
    "online": dict(_LEARNING, forgetting=_PART, sweeps=_FROM_1, replace_every=_FROM_1, test_every=_FROM_1, start_weight=_FROM_0),
    "fit": dict(components=_FROM_1, variance=_PART, eigenvalue_at_least=_FROM_0, skip=_FROM_0, trim=_HALF, trim_rounds=_FROM_1,
                iterations=_FROM_1, tolerance=_NOT_0, plain_steps=_FROM_0),
    "rx_classes": dict(components=_FROM_1, skip=_FROM_0, trim=_HALF, trim_rounds=_FROM_1),
    "rx_local": dict(ridge=_FROM_0),
    "detect": dict(ridge=_FROM_0),
    "ppi": dict(threshold=_FROM_0),
}


# Options that the library reads only beside another one.
_BESIDE = {"stop_improvement": "stop_patience", "regularisation_decay": "regularisation", "regularised_iterations": "regularisation",
           "coherence_rounds": "coherence", "trim_rounds": "trim", "test_every": "test"}


def _check_beside(option, given):
    """Refuses an option that would go unread. One of 0 beside it is enough, so that a search may begin there."""
    other = _BESIDE.get(option)
    if other and given[option] is not None and given.get(other) is None:
        raise ArgumentError("%s: given without %s, expected with it alone" % (option, other))


def _check_number(function, option, given, kind):
    """Refuses a number that the option, of this type in C, does not take. What is no number is left to the check of types."""
    holds, words = _FROM_0 if option == "threads" else _NUMBERS_OF.get(function, {}).get(option, (None, None))
    if holds is None or not isinstance(given, (int, float, np.integer, np.floating)):
        return
    if not holds(given):
        words += " and finite" if given == float("inf") and words in (_FROM_0[1], _ABOVE_0[1]) else ""
        raise ArgumentError("%s: %s, expected %s" % (option, given, words))
    if isinstance(given, (int, np.integer)) and kind in _RANGES and given >= _RANGES[kind][1]:
        raise ArgumentError("%s: %d, expected %s and at most %d" % (option, given, words, _RANGES[kind][1] - 1))


# ---- the libraries ---------------------------------------------------------------------------------------------------------

def _files():
    """The paths of shim.c and the headers: in the folder c beside this file when installed, else in the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(here)
    examples = os.path.join(above, "..")
    for shim, cache, headers in ((os.path.join(here, "c"),) * 3, (above, examples, os.path.join(examples, ".."))):
        files = [os.path.join(shim, "shim.c")] + [os.path.join(headers, name) for name in ("sparsehs.h", "sparsehs_cl.h")]
        files.append(os.path.join(cache, "program_cache.h"))
        if all(map(os.path.exists, files)):
            return files
    raise ImportError("sparsehs: shim.c and sparsehs.h are neither in %s nor in the source tree; install the package again"
                      % os.path.join(here, "c"))


def _cache():
    if "SPARSEHS_CACHE" in os.environ:
        return os.environ["SPARSEHS_CACHE"]
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/sparsehs")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sparsehs")


def _program_cache():
    """The folder of programs built for OpenCL devices; "" where there is none."""
    folder = _cache()
    return "" if not folder or folder.startswith("~") else os.path.abspath(folder)


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
    """The paths of the libraries in float and in double: those of the wheel, or else compiled where the cache has none of these
    sources and this compiler. Who names a compiler or flags gets what they make."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
    made = [os.path.join(folder, real + ".so") for real in ("float", "double")]
    if all(map(os.path.exists, made)) and not os.environ.get("SPARSEHS_CC") and not os.environ.get("SPARSEHS_CFLAGS"):
        return made
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
        command += ["-DSHIM_HEADER=\"%s\"" % files[1], "-DSHIM_HEADER_CL=\"%s\"" % files[2],
                    "-DSHIM_PROGRAM_CACHE=\"%s\"" % files[3]]
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


Progress = Union[bool, None, Callable[[str, int, int, float], object]]
_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_double)
_NUMBERS = {"int": ctypes.c_int, "size_t": ctypes.c_size_t, "ptrdiff_t": ctypes.c_ssize_t, "uint64_t": ctypes.c_uint64,
            "double": ctypes.c_double}
_RANGES = {"int": (-2**31, 2**31), "ptrdiff_t": (-2**63, 2**63), "size_t": (0, 2**64), "uint64_t": (0, 2**64)}  # from, below
_SIZES = ("m", "p", "n", "sparsity", "stride", "lambda_count", "batch", "test_m", "height", "width", "channels", "lines", "samples", "bands",
          "components", "classes", "targets", "count", "outer")


class _Library:
    """One of the two. What a function takes is read from the library itself, so that it is what was compiled."""

    def __init__(self, path, real):
        self.c, self.real = ctypes.CDLL(path), np.dtype(real)
        self.arrays = {"shs_real": self.real, "double": np.dtype(np.float64), "int": np.dtype(np.intc),
                       "size_t": np.dtype(np.uintp), "unsigned char": np.dtype(np.uint8)}
        for name in "text", "name", "build_info", "device_name", "value":
            getattr(self.c, "shim_" + name).restype = ctypes.c_char_p
        for name in "free", "model_free", "device_close", "device_name":
            getattr(self.c, "shim_" + name).argtypes = [ctypes.c_void_p]
        self.values, self.entries, self.devices, self.lock = {}, {}, {}, threading.Lock()
        self.lost_devices = False
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
                if kind.startswith("shs_") and not stars:
                    kind = "int"  # an enumeration
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
        if not isinstance(name, str):
            raise TypeError("device: %r, expected None, 'gpu', or part of the name of a device or a platform" % (name,))
        if name.lower() == "gpu":
            name = "gpu"
        if self.lost_devices:
            raise Error("device %r: the parent process opened a device before fork(), and its child cannot use one; start "
                        "processes by multiprocessing's method 'spawn'" % name)
        with self.lock:
            if name not in self.devices:
                handle, reason = ctypes.c_void_p(), ctypes.create_string_buffer(400)
                function, _ = self.entry("device_open")
                status = function(ctypes.c_char_p(name.encode()), ctypes.c_char_p(os.fsencode(_program_cache())), ctypes.byref(handle),
                                  reason, len(reason))
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

    def sizes(self, name, given):
        """The sizes in a call, for an error about memory."""
        words = ["%s %d" % (size, given[size]) for size in _SIZES if isinstance(given.get(size), (int, np.integer))]
        return " (%s: %s)" % (name, ", ".join(words))

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
        low, high = _RANGES[kind]
        if not low <= given < high:
            raise ArgumentError("%s: %d, expected %d to %d" % (its, given, low, high - 1))
        if its in self.values and given not in self.values[its].values():
            raise ArgumentError("%s: %d is none of %s" % (its, given, ", ".join(self.values[its])))
        return int(given)

    def word(self, option, given, argument=None):
        """The word that an option gives, such as "ols" for the option selection. argument: what Python calls the option."""
        argument, names = argument or option, self.values.get(option)
        if names is None:
            raise TypeError("%s: a number, not %r" % (argument, given))
        return _word(argument, given, names)

    def value(self, option, given, argument=None):
        """The library's number of that word."""
        word = self.word(option, given, argument)
        return self.values[option][word]

    def after_fork(self):
        """Another thread of the parent may have held the lock, and OpenCL's devices are the parent's."""
        self.lock = threading.Lock()
        self.lost_devices = self.lost_devices or bool(self.devices)
        self.devices = {}

    def call(self, name, options=None, threads=0, progress=None, device=None, **given):
        """Calls it, and raises what it says. `options` are the user's: only those that the function has, and is not given."""
        function, parameters = self.entry(name)
        names = [parameter[0] for parameter in parameters]
        for option in options or ():
            if option not in names or option in given:
                raise TypeError("%s: there is no such option here" % option)
        given.update(options or {})
        kinds = {parameter[0]: parameter[2] for parameter in parameters}
        for option, value in dict(given, threads=threads).items():
            _check_number(name, option, value, kinds.get(option))
        for option in options or ():
            _check_beside(option, given)
        handle = self.device(device)
        if "progress" not in names:
            status = function(*[self.argument(parameter, given.get(parameter[0])) for parameter in parameters])
        else:
            with _Watch(progress) as watch:
                given.update(threads=_threads(threads), progress=watch.callback, device=handle)
                arguments = [self.argument(parameter, given.get(parameter[0])) for parameter in parameters]
                if handle is None:
                    status = function(*arguments)
                else:
                    with self.lock:  # a device is for one thread at a time
                        status = function(*arguments)
        if status:
            lacking = self.c.shim_name(status) == b"SHS_NO_MEMORY"
            self.fail(status, behind=self.sizes(name, given) if lacking else "")


_SIGNALS = tuple(signal.valid_signals())  # asked once: it takes as long as a small call


class _Signals:
    """Python's handlers of signals while C works in the main thread. An exception must not leave a callback, and Python calls a
    handler wherever it likes. So a signal is only noted, and the next step, or the end, calls its handler where what that raises
    can be kept."""

    def __init__(self):
        self.before, self.noted, self.working = {}, [], False
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self.before[number] = handler
                signal.signal(number, self.note)
        self.working = True

    def note(self, number, frame):
        """Stands in place of a handler. Before all are replaced, and once they are to be put back, it is that handler: one that
        raises then leaves some of the others replaced."""
        if self.working:
            self.noted.append((number, frame))
        else:
            self.before[number](number, frame)

    def call_handlers(self):
        """Those of all signals that were noted, even where one raises."""
        if not self.noted:
            return
        number, frame = self.noted.pop(0)
        try:
            self.before[number](number, frame)
        finally:
            self.call_handlers()

    def put_back(self):
        """Handlers that progress has set stay."""
        self.working = False
        for number, handler in self.before.items():
            if signal.getsignal(number) == self.note:
                signal.signal(number, handler)


class _Watch:
    """Signals and progress while C works. What a handler or progress raises is kept, stops C, and is raised again at the end."""

    signals = None  # while C works in the main thread; a call within progress shares those of the call around it

    def __init__(self, progress):
        self.shown, self.bar, self.raised, self.signals_here = progress, None, None, None
        self.owns_signals = False
        if progress is False:
            self.shown = None
        elif progress is True:
            try:
                from tqdm.auto import tqdm
                self.bar = tqdm(total=1, leave=False)
                self.shown = self.draw
            except ImportError:
                self.shown = None
        elif progress is not None and not callable(progress):
            raise TypeError("progress: %r, expected True, False, None, or a function of (phase, step, steps, error)" % (progress,))
        self.callback = _Progress(self.step)

    def __enter__(self):
        if threading.current_thread() is not threading.main_thread():
            return self  # signals are the main thread's
        if _Watch.signals is None:
            _Watch.signals, self.owns_signals = _Signals(), True
        self.signals_here = _Watch.signals
        return self

    def step(self, phase, step, steps, error):
        try:
            if self.signals_here:
                self.signals_here.call_handlers()
            if self.shown is None:
                return 0
            return int(bool(self.shown(phase.decode(), step, steps, error)))
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
        if self.bar is not None:
            self.bar.close()
        if self.owns_signals:
            _Watch.signals = None  # first: once handlers are put back one may raise
            self.signals_here.put_back()
        try:
            if self.raised:
                raise self.raised
        finally:
            if self.owns_signals:
                self.signals_here.call_handlers()

    @classmethod
    def after_fork(cls):
        """Another thread forked while the main thread was in C: the child gets the handlers back that were set before."""
        if cls.signals is not None:
            cls.signals.put_back()
            cls.signals = None


_float, _double = (_Library(path, real) for path, real in zip(_libraries(), (np.float32, np.float64)))


_forked = False


def _after_fork():
    """OpenMP's threads stay in the parent of fork(), and a child that asks for them waits for ever. So a child uses one thread."""
    global _forked
    _forked = True
    _Watch.after_fork()
    for library in (_float, _double):
        library.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _threads(threads):
    """As many threads as this process may use. What is no number of threads is left to the check of arguments."""
    if _forked and isinstance(threads, (int, np.integer)) and threads >= 0:
        return 1
    return threads


def build_info() -> str:
    """One line for each of the two compiled libraries: version, type, kernels, OpenMP."""
    return "\n".join(library.c.shim_build_info().decode() for library in (_float, _double))
