#!/bin/sh
# Builds of the library against each other and against naive twins: any compiler, no libFuzzer. From the project's root:
#
#     CC=cc CFLAGS=-O2 sh tests/differential/run.sh SECONDS SEED      another SEED draws other problems
set -eu
out=build/differential
flags="-std=c99 -Wall -Wextra ${CPPFLAGS:-} ${CFLAGS:--O2}"
builds="plain wide plain_nosimd wide_nosimd plain_nodispatch nodouble"

if [ $# = 1 ]; then # one build
    case $1 in wide*) flags="$flags -DSPARSEHS_DOUBLE" ;; nodouble) flags="$flags -DSPARSEHS_NO_DOUBLE" ;; esac
    case $1 in *_nosimd) flags="$flags -DSPARSEHS_NO_SIMD" ;; *_nodispatch) flags="$flags -DSPARSEHS_NO_DISPATCH" ;; esac
    for file in sparsehs.h tests/differential/*; do
        # shellcheck disable=SC2086 # lists of words
        [ "$out/$1.o" -nt "$file" ] || { $CC $flags -DNAME="$1" -DSPARSEHS_NO_OPENMP -c -o "$out/$1.o" tests/differential/build.c; break; }
    done
    exit
fi
mkdir -p $out
for b in $builds; do echo "$b"; done | xargs -P "${JOBS:-$(nproc 2>/dev/null || echo 2)}" -n 1 sh "$0"
# shellcheck disable=SC2046,SC2086
$CC $flags -o $out/differential tests/differential/differential.c $(for b in $builds; do echo "$out/$b.o"; done) ${LDFLAGS:-} -lm
$out/differential "$1" "$2"
