#!/usr/bin/env bash
# make test-install: what `make install` puts down is found by pkg-config and by CMake from an empty folder, a program is compiled
# with it and runs, and `make uninstall` takes all of it away. From the project's root:
#
#     CC=cc tests/test_install.sh
root=$PWD
# shellcheck source=tests/programs.sh
. tests/programs.sh

prefix=$work/installed
make_it() { make -s -C "$root" "$@"; }
version=$(sed -n 's/^#define SPARSEHS_VERSION_[A-Z]* //p' "$root/sparsehs.h" | paste -sd .)

cat >program.c <<'END'
#include <stdio.h>
#define SPARSEHS_STATIC
#define SPARSEHS_IMPLEMENTATION
#include <sparsehs.h>
int main(void) {
    const shs_real D[] = {1, 0, 0, 1}, y[] = {0, 3};
    shs_codes codes;
    if (shs_codes_create(NULL, 1, 1, &codes) || shs_omp(NULL, 2, 2, D, 1, y, 1, &codes)) return 1;
    printf("atom %d: %g\n", codes.atoms[0], (double)codes.coefs[0]);
    shs_codes_free(NULL, &codes);
    return 0;
}
END
says() { [ "$("$@")" = "atom 1: 3" ]; }

check "install" make_it install PREFIX="$prefix"
check "both headers are the same" eval \
    'cmp "$root/sparsehs.h" "$prefix/include/sparsehs.h" && cmp "$root/sparsehs_cl.h" "$prefix/include/sparsehs_cl.h"'

if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$prefix/share/pkgconfig
    check "pkg-config knows the version" test "$(pkg-config --modversion sparsehs)" = "$version"
    # shellcheck disable=SC2046 # a list of words
    check "pkg-config compiles" ${CC:-cc} -O1 -DSPARSEHS_NO_DISPATCH $(pkg-config --cflags sparsehs) program.c -o program \
        $(pkg-config --libs sparsehs)
    check "and the program runs" says ./program
    # A package that is built for a place where it will be.
    check "install below DESTDIR" make_it install PREFIX=/opt/here DESTDIR="$work/stage"
    check "whose files name their place, not DESTDIR" grep -qx 'prefix=/opt/here' stage/opt/here/share/pkgconfig/sparsehs.pc
    check "uninstall below DESTDIR" make_it uninstall PREFIX=/opt/here DESTDIR="$work/stage"
    check "leaves nothing" test -z "$(find stage -type f)"
else
    skip "pkg-config is not here: make install-deps installs it"
fi

if command -v cmake >/dev/null; then
    mkdir empty && cp program.c empty && cat >empty/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.5)
project(empty C)
find_package(sparsehs ${WANTED} REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE sparsehs::sparsehs)
END
    configure() { cmake -S empty -B "$1" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug "${@:2}"; }
    refused() { ! configure "$@"; }
    check "CMake finds it" configure made -DCMAKE_C_FLAGS=-DSPARSEHS_NO_DISPATCH
    check "and compiles" cmake --build made
    check "and the program runs" says made/program
    check "this version is found" configure exact -DWANTED="$version;EXACT"
    check "this minor version is found" configure minor -DWANTED="${version%.*}"
    check "another minor version is not" refused other -DWANTED=0.0.1
    check "a later one is not" refused later -DWANTED="${version%.*}.999"
    mv "$prefix" moved
    check "it is found where it was moved" configure elsewhere -DCMAKE_PREFIX_PATH="$work/moved"
    mv moved "$prefix"
else
    skip "CMake is not here: make install-deps installs it"
fi

check "uninstall" make_it uninstall PREFIX="$prefix"
check "leaves no file and no folder of its own" test -z "$(find "$prefix" -type f -o -name sparsehs)"
the_end
