#!/bin/sh
# Installs what the tests need with the system's package manager. The library itself needs nothing.
set -eu

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

if command -v apt-get >/dev/null; then
    packages="gcc g++ clang libomp-dev make binutils libc6-dev libcmocka-dev libstb-dev gnuplot-nox gdal-bin python3-spectral"
    packages="$packages pocl-opencl-icd ocl-icd-opencl-dev opencl-headers oclgrind"
    missing=
    for package in $packages; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    # Nothing missing, nothing fetched: a second run works offline.
    [ -n "$missing" ] || { echo "deps: all there"; exit 0; }
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
elif command -v dnf >/dev/null; then
    as_root dnf install -y gcc gcc-c++ clang libomp-devel libasan libubsan make binutils libcmocka-devel stb-devel \
        gnuplot
elif command -v apk >/dev/null; then
    as_root apk add gcc g++ clang openmp-dev musl-dev make binutils cmocka-dev stb gnuplot
elif command -v pacman >/dev/null; then
    as_root pacman -Syu --needed --noconfirm gcc clang openmp make binutils cmocka stb gnuplot
elif command -v brew >/dev/null; then
    brew install libomp make cmocka gnuplot
else
    echo "deps: no known package manager. The tests need make, a C and C++ compiler, nm and cmocka." >&2
    exit 1
fi
