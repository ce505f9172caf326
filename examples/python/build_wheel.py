"""What `pip install examples/python` asks: a wheel of the modules, shim.c and the two headers, which lie outside this folder. It takes
nothing but Python itself, fetches nothing and leaves nothing behind."""

import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
FILES = {"sparsehs.py": HERE, "sparsehs_sklearn.py": HERE, "shim.c": HERE, "sparsehs.h": ROOT, "sparsehs_cl.h": ROOT, "LICENSE": ROOT}
METADATA = """Metadata-Version: 2.1
Name: sparsehs
Version: %s
Summary: Sparse coding and hyperspectral analysis, over one C99 header
License: MIT OR Unlicense
Requires-Python: >=3.8
Requires-Dist: numpy
Provides-Extra: all
Requires-Dist: scikit-learn; extra == "all"
Requires-Dist: tqdm; extra == "all"
"""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with open(os.path.join(ROOT, "sparsehs.h")) as header:
        version = ".".join(re.findall(r"#define SPARSEHS_VERSION_\w+ (\d+)", header.read())[:3])
    about = "sparsehs-%s.dist-info/" % version
    files = {about + "METADATA": (METADATA % version).encode(),
             about + "WHEEL": b"Wheel-Version: 1.0\nGenerator: sparsehs\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    for name, folder in FILES.items():
        with open(os.path.join(folder, name), "rb") as file:
            files[name if name.endswith(".py") else about + name if name == "LICENSE" else "sparsehs_c/" + name] = file.read()
    record = "".join("%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(),
                                            len(data)) for name, data in files.items())
    files[about + "RECORD"] = (record + about + "RECORD,,\n").encode()
    name = "sparsehs-%s-py3-none-any.whl" % version
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name
