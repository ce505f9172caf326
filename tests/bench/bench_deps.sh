#!/bin/sh
# Installs the peers that `make bench` runs beside the library, where the system packages them. Each is left out of the
# measurement if it is not here. No system packages SPAMS: `pip install spams-bin`, and PYTHON names the interpreter that has it.
set -eu

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

if command -v apt-get >/dev/null; then
    missing=
    for package in libopenblas-dev python3-numpy python3-sklearn python3-mdp; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    # Nothing missing, nothing fetched: a second run works offline.
    [ -n "$missing" ] || { echo "bench-deps: all there"; exit 0; }
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
elif command -v dnf >/dev/null; then
    as_root dnf install -y openblas python3-numpy python3-scikit-learn
elif command -v pacman >/dev/null; then
    as_root pacman -Syu --needed --noconfirm openblas python-numpy python-scikit-learn
elif command -v brew >/dev/null; then
    brew install openblas numpy scikit-learn
else
    echo "bench-deps: no known package manager; OpenBLAS, numpy, scikit-learn and MDP are the peers." >&2
    exit 1
fi
