#!/usr/bin/env bash
# make test-install: what `make install` puts down is found by pkg-config and by CMake from an empty folder, a program is compiled
# with it and runs, and `make uninstall` takes all of it away. The sources as a part of a CMake project. From the project's root:
#
#     CC=cc tests/release/test_install.sh
root=$PWD
# shellcheck source=tests/programs/programs.sh
. tests/programs/programs.sh

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
    # Characters that a shell, sed or pkg-config could take for their own.
    for odd in "my libs" 'R&D' 'a|b' 'a\b'; do
        check "install below '$odd'" make_it install PREFIX="$work/$odd"
        check "below '$odd': the file names it" grep -Fqx "prefix=$work/$odd" "$odd/share/pkgconfig/sparsehs.pc"
        check "below '$odd': uninstall" make_it uninstall PREFIX="$work/$odd"
        check "below '$odd': nothing is left" test -z "$(find "$odd" -type f)"
    done
    odd="$work/my libs, R&D"
    check "install for pkg-config, below a name with a space" make_it install PREFIX="$odd"
    check "which compiles" eval "${CC:-cc} -O1 -DSPARSEHS_NO_DISPATCH program.c -o odd_program \
        $(PKG_CONFIG_PATH="$odd/share/pkgconfig" pkg-config --cflags --libs sparsehs)"
    check "and the program runs" says ./odd_program
else
    skip "pkg-config is not here: make install-deps installs it"
fi

# The source folder stays as it is, and may be another user's: nothing is written into it, and no compiler is run.
mkdir -p sources/tests && cp "$root/tests/checks.mk" sources/tests
cp -r "$root"/{Makefile,meson.build,CITATION.cff,tools} "$root"/*.{h,md} sources
printf '#!/bin/sh\ntouch "%s/compiler_ran"\n' "$work" >compiler && chmod 755 compiler
chmod -R a-w sources
silent() { [ -z "$(env -u MAKEFLAGS -u MFLAGS make -s -C sources "$@" CC="$work/compiler" PREFIX="$work/other" 2>&1)" ]; }
check "install from a folder that is only read says nothing" silent install
check "uninstall, too" silent uninstall
check "check-version passes there" make -s -C sources check-version CC="$work/compiler"
check "nothing was written there" test ! -e sources/build
check "no compiler ran" test ! -e compiler_ran
chmod -R u+w sources

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
    # What a later major version promises: an older minor version does, the next major version does not.
    cp -r "$prefix" newer
    sed -i.old 's/^\(#define SPARSEHS_VERSION_M[A-Z]*\) .*/\1 2/' newer/include/sparsehs.h
    check "2.2 is found by who asks for 2.1" configure later-older -DCMAKE_PREFIX_PATH="$work/newer" -DWANTED=2.1
    check "not by who asks for 2.3" refused later-minor -DCMAKE_PREFIX_PATH="$work/newer" -DWANTED=2.3
    check "not by who asks for 1.2" refused later-major -DCMAKE_PREFIX_PATH="$work/newer" -DWANTED=1.2
    # Ranges of versions: CMake before 3.19 has none.
    if echo 'cmake_minimum_required(VERSION 3.19)' >range.cmake && cmake -P range.cmake 2>/dev/null; then
        sed 's/VERSION 3.5/VERSION 3.19/' empty/CMakeLists.txt >ranged && cat ranged >empty/CMakeLists.txt
        check "2.2.0 is in 2.1...3.0" configure range-in -DCMAKE_PREFIX_PATH="$work/newer" -DWANTED=2.1...3.0
        check "and in 2.1...2.2.0" configure range-end -DCMAKE_PREFIX_PATH="$work/newer" -DWANTED=2.1...2.2.0
        check "not in 2.1...2.1.9" refused range-below -DCMAKE_PREFIX_PATH="$work/newer" -DWANTED=2.1...2.1.9
        check "nor in 2.1...<2.2" refused range-open -DCMAKE_PREFIX_PATH="$work/newer" "-DWANTED=2.1...<2.2"
        check "nor in 2.3...2.9" refused range-above -DCMAKE_PREFIX_PATH="$work/newer" -DWANTED=2.3...2.9
        check "nor in 1.0...2.9, which begins in another major version" refused range-major -DCMAKE_PREFIX_PATH="$work/newer" \
            -DWANTED=1.0...2.9
    fi
    mv "$prefix" moved
    check "it is found where it was moved" configure elsewhere -DCMAKE_PREFIX_PATH="$work/moved"
    mv moved "$prefix"

    # The sources instead of an installed copy. The quickstart of README is the program.
    same_words() { [ "$("$1" | cut -d. -f1)" = "$(./quickstart | cut -d. -f1)" ]; }
    sed 's|"../sparsehs.h"|<sparsehs.h>|' "$root/examples/quickstart.c" >quickstart.c
    check "the quickstart compiles" ${CC:-cc} -O1 -DSPARSEHS_NO_DISPATCH -I"$root" quickstart.c -o quickstart -lm
    for way in subdirectory fetched; do
        mkdir $way && cp quickstart.c program.c $way
        { echo 'cmake_minimum_required(VERSION 3.14)'; echo 'project(user C)'; } >$way/CMakeLists.txt
    done
    cat >>subdirectory/CMakeLists.txt <<'END'
set(SPARSEHS_NO_DISPATCH ON)
set(SPARSEHS_DOUBLE ON)
add_subdirectory(${SPARSEHS} sparsehs)
END
    cat >>fetched/CMakeLists.txt <<'END'
include(FetchContent)
FetchContent_Declare(sparsehs GIT_REPOSITORY https://nowhere.invalid/sparsehs.git GIT_TAG v${WANTED})
set(SPARSEHS_NO_DISPATCH ON)
FetchContent_MakeAvailable(sparsehs)
END
    for way in subdirectory fetched; do
        cat >>$way/CMakeLists.txt <<'END'
get_directory_property(version DIRECTORY ${sparsehs_SOURCE_DIR} DEFINITION PROJECT_VERSION)
if(NOT version STREQUAL WANTED)
    message(FATAL_ERROR "version ${version}")
endif()
add_executable(program program.c)
add_executable(quickstart quickstart.c)
target_link_libraries(program PRIVATE sparsehs::sparsehs)
target_link_libraries(quickstart PRIVATE sparsehs::sparsehs)
END
        check "$way: configured without network" cmake -S $way -B $way/made -DSPARSEHS="$root" -DWANTED="$version" \
            -DFETCHCONTENT_SOURCE_DIR_SPARSEHS="$root" -DFETCHCONTENT_FULLY_DISCONNECTED=ON -Werror=dev
        check "$way: compiles" cmake --build $way/made
        check "$way: the program runs" says $way/made/program
        check "$way: the quickstart runs" same_words $way/made/quickstart
    done
    check "a switch that is set reaches the compiler" grep -rq -- -DSPARSEHS_DOUBLE subdirectory/made
    check "one that is not does not" eval '! grep -rq -- -DSPARSEHS_DOUBLE fetched/made'

    # Every switch of the header's table that is a word alone; SPARSEHS_STATIC, as CMakeLists.txt says, is not among them.
    switches=$(sed -n '/^   OPTIONS/,/^   DETERMINISM/s/^       SPARSEHS_\([A-Z_]*\)  *\(all\|impl\)  .*/\1/p' "$root/sparsehs.h" |
        grep -vx 'IMPLEMENTATION\|STATIC\|FILE')
    check "the header's table has switches" test "$(echo "$switches" | wc -l)" -gt 10
    # shellcheck disable=SC2046 # a list of words
    check "all of them are set" cmake -S subdirectory -B switched -DSPARSEHS="$root" -DWANTED="$version" \
        $(for switch in $switches; do echo "-DSPARSEHS_$switch=ON"; done)
    for switch in $switches; do
        check "SPARSEHS_$switch reaches the compiler" grep -Eqr -- "-DSPARSEHS_$switch( |\$)" switched --include=flags.make
        check "SPARSEHS_$switch is an option of Conan" grep -qi "\"$switch\"" "$root/tools/packaging/conan/conanfile.py"
    done

    # Two parts of a program, one with an installed copy, one with the sources; or both with the sources.
    mkdir twice && cp program.c twice
    find='find_package(sparsehs REQUIRED)'
    add() { echo "add_subdirectory(\${SPARSEHS} $1)"; }
    for ways in "$find:$(add one)" "$(add one):$find" "$(add one):$(add two)"; do
        { echo 'cmake_minimum_required(VERSION 3.10)'; echo 'project(user C)'; echo "${ways%:*}"; echo "${ways#*:}"
            echo 'add_executable(program program.c)'; echo 'target_link_libraries(program PRIVATE sparsehs::sparsehs)'
        } >twice/CMakeLists.txt
        rm -rf twice/made
        check "${ways%:*}, then ${ways#*:}" cmake -S twice -B twice/made -DSPARSEHS="$root" -DCMAKE_PREFIX_PATH="$prefix" \
            -Werror=dev
    done
    check "two copies: the program compiles" cmake --build twice/made
    check "two copies: the program runs" says twice/made/program

    # cmake --install puts down the same files as make install.
    for place in "$prefix" "$work/my libs, R&D"; do
        check "install for CMake to compare" make_it install PREFIX="$place"
        rm -rf own
        check "CMake installs" eval \
            'cmake -S "$root" -B own -DCMAKE_INSTALL_PREFIX="$place" && DESTDIR="$work/by_cmake" cmake --install own'
        check "the same files" diff -r "$place" "by_cmake$place"
    done
else
    skip "CMake is not here: make install-deps installs it"
fi

check "uninstall" make_it uninstall PREFIX="$prefix"
check "leaves no file and no folder of its own" test -z "$(find "$prefix" -type f -o -name sparsehs)"
the_end
