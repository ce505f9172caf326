"""The build backend for `pip install examples/python`. It makes a wheel of the Python files, shim.c and the headers, which are
outside this folder. It needs nothing but Python itself, fetches nothing and leaves nothing behind."""

import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PACKAGE = os.path.join(HERE, "sparsehs")
HEADERS = {"shim.c": HERE, "program_cache.h": os.path.join(ROOT, "examples"),
           "sparsehs.h": ROOT, "sparsehs_cl.h": ROOT}  # into sparsehs/c
METADATA = """Metadata-Version: 2.1
Name: sparsehs
Version: %s
Summary: Sparse coding and hyperspectral analysis, over one C99 header
License: MIT OR Unlicense
Requires-Python: >=3.8
Requires-Dist: numpy>=1.20
Provides-Extra: all
Requires-Dist: scikit-learn; extra == "all"
Requires-Dist: tqdm; extra == "all"
Description-Content-Type: text/markdown
"""


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def metadata(version):
    """METADATA. The home page is the url of CITATION.cff, where that file has one; the description is README.md."""
    urls = re.findall(r"^(?:url|repository-code): *[\"']?([^\s\"']+)", read(ROOT, "CITATION.cff").decode(), re.M)
    lines = METADATA % version + "".join("Home-page: %s\nProject-URL: Homepage, %s\n" % (url, url) for url in urls[:1])
    return lines.encode() + b"\n" + read(HERE, "README.md")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None, libraries=None, tag="py3-none-any"):
    """libraries: a folder with float.so and double.so, which go into the wheel (tools/wheel.sh); tag: what they are for."""
    version = ".".join(re.findall(r"#define SPARSEHS_VERSION_\w+ (\d+)", read(ROOT, "sparsehs.h").decode())[:3])
    about = "sparsehs-%s.dist-info/" % version
    files = {about + "METADATA": metadata(version),
             about + "WHEEL": ("Wheel-Version: 1.0\nGenerator: sparsehs\nRoot-Is-Purelib: %s\nTag: %s\n"
                               % ("false" if libraries else "true", tag)).encode(),
             about + "LICENSE": read(ROOT, "LICENSE"),
             "sparsehs_sklearn.py": read(HERE, "sparsehs_sklearn.py")}
    for name in sorted(os.listdir(PACKAGE)):
        if name.endswith((".py", ".typed")):
            files["sparsehs/" + name] = read(PACKAGE, name)
    for name, folder in HEADERS.items():
        files["sparsehs/c/" + name] = read(folder, name)
    for name in ("float.so", "double.so") if libraries else ():
        files["sparsehs/lib/" + name] = read(libraries, name)
    record = "".join("%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(),
                                            len(data)) for name, data in files.items())
    files[about + "RECORD"] = (record + about + "RECORD,,\n").encode()
    name = "sparsehs-%s-%s.whl" % (version, tag)
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for path, data in files.items():
            # Without the time of building: the same sources give the same wheel.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    return name
