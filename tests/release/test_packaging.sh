#!/usr/bin/env bash
# make test-packaging: the recipes that `make dist` writes, each through its package manager, with the archive in place of a
# download. Managers that are not here are skipped; make packaging-deps installs meson, Conan and PlatformIO. From the project's root:
#
#     CC=cc tests/release/test_packaging.sh
root=$PWD
PATH=$root/build/packagers/bin:$PATH
# shellcheck source=tests/programs/programs.sh
. tests/programs/programs.sh

dist=$work/dist
has() { command -v "$1" >/dev/null || { skip "$1 is not here: make packaging-deps installs it"; return 1; }; }
check "the recipes are written" eval '(cd "$root" && PARTS=none URL="file://$dist" sh tools/dist.sh "$dist")'
version=$(sed -n 's/.*sparsehs-\(.*\)\.tar\.gz$/\1/p' "$dist/SHA256SUMS")
check "nothing is left to fill in" eval '! grep -rE "@(VERSION|URL|SHA256|SHA512|REPOSITORY|CONTACT|DATE)@" "$dist/packaging/"[a-z]* "$dist/embedded"'
quickstart=$dist/packaging/conan/test_package/quickstart.c
finds() { "$@" | grep -q "hidden atoms found"; }
fast="-O1 -DSPARSEHS_NO_DISPATCH"

if has meson; then
    mkdir -p meson/subprojects/packagecache
    cp "$quickstart" meson
    cp "$dist/packaging/meson/sparsehs.wrap" meson/subprojects
    cat >meson/meson.build <<'PROJECT'
project('user', 'c')
executable('quickstart', 'quickstart.c', dependencies: dependency('sparsehs'))
PROJECT
    check "meson: set up from the archive" meson setup meson/made meson --wrap-mode=forcefallback -Dc_args="$fast"
    check "meson: compiles" meson compile -C meson/made
    check "meson: the quickstart runs" finds meson/made/quickstart

    # meson install puts down what make install does. If the user names other folders, pkg-config and CMake still find the headers.
    installs() { # folder, options of meson
        check "meson: $1: is set up" meson setup "of $1" "$root" --prefix="$work/$1" "${@:2}"
        check "meson: $1: is installed" meson install -C "of $1"
        if command -v pkg-config >/dev/null; then
            # A list of words, quoted where a name has a space.
            check "meson: $1: pkg-config compiles" eval "${CC:-cc} $fast '$quickstart' -o by_meson \
                $(PKG_CONFIG_PATH=$(dirname "$(find "$work/$1" -name sparsehs.pc)") pkg-config --cflags --libs sparsehs)"
            check "meson: $1: the quickstart runs" finds ./by_meson
        fi
        if command -v cmake >/dev/null; then
            check "meson: $1: CMake finds it" cmake -S "$dist/packaging/conan/test_package" -B "seen by $1" \
                -Dsparsehs_DIR="$(dirname "$(find "$work/$1" -name sparsehs-config.cmake)")"
        fi
    }
    installs "usual folders"
    check "make installs the same" make -s -C "$root" install PREFIX="$work/usual folders" DESTDIR="$work/make"
    check "meson: the same files" diff -r "make$work/usual folders" "usual folders"
    installs "headers deeper" --includedir=include/foo
    check "meson: they are there" cmp "$root/sparsehs.h" "headers deeper/include/foo/sparsehs.h"
    installs "headers elsewhere" --includedir="$work/for headers" --datadir=data/of/all
    check "meson: they are elsewhere" cmp "$root/sparsehs.h" "for headers/sparsehs.h"
fi

if has conan; then
    export CONAN_HOME=$work/conan_home
    env -u CC conan profile detect >/dev/null 2>&1 # which knows no compiler called cc
    check "conan: creates the package and runs the quickstart" env -u CC conan create "$dist/packaging/conan" -nr \
        -o "sparsehs/*:no_dispatch=True" -c tools.build:cflags="['-O1']"
    check "conan: an option is a definition" eval \
        'conan create "$dist/packaging/conan" -nr -o "sparsehs/*:double=True" -tf "" &&
         conan install -nr --requires=sparsehs/$version -o "sparsehs/*:double=True" -g CMakeDeps --output-folder conan_deps &&
         grep -rq -- -DSPARSEHS_DOUBLE conan_deps'
fi

# Debian's package, built from the archive; the program is compiled with what is in it.
if command -v dh >/dev/null && command -v dpkg-buildpackage >/dev/null; then
    mkdir debian && tar -xzf "$dist/sparsehs-$version.tar.gz" -C debian && cp -r "$dist/packaging/debian" "debian/sparsehs-$version"
    check "Debian: the package is built" eval '(cd "debian/sparsehs-$version" && env -u MAKEFLAGS -u CC dpkg-buildpackage -us -uc -b)'
    check "Debian: and unpacked" eval 'dpkg-deb -x debian/libsparsehs-dev_*.deb debian/root'
    check "Debian: the program compiles" ${CC:-cc} $fast -Idebian/root/usr/include "$quickstart" -o debian/quickstart -lm
    check "Debian: the quickstart runs" finds debian/quickstart
else
    skip "dpkg-buildpackage and debhelper are absent: no Debian package"
fi

# The fuzz targets as OSS-Fuzz builds them, run over the inputs that are kept.
if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c - -o fuzzer 2>/dev/null; then
    mkdir -p fuzz/src fuzz/out && tar -xzf "$dist/sparsehs-$version.tar.gz" -C fuzz/src
    mv "fuzz/src/sparsehs-$version" fuzz/src/sparsehs
    check "OSS-Fuzz: build.sh builds the targets" env SRC="$work/fuzz/src" OUT="$work/fuzz/out" CC=clang CXX=clang++ CXXFLAGS=-O0 \
        CFLAGS="-O0 -DSPARSEHS_NO_DISPATCH -fsanitize=fuzzer-no-link" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
        "$dist/packaging/oss-fuzz/build.sh"
    for source in "$root"/tests/fuzz/fuzz_*.c; do
        target=$(basename "$source" .c)
        check "OSS-Fuzz: $target has first inputs" test -s "fuzz/out/${target}_seed_corpus.zip"
        check "OSS-Fuzz: $target runs" "fuzz/out/$target" -runs=0 "fuzz/src/sparsehs/tests/fuzz/corpus/${target#fuzz_}"
    done
else
    skip "clang with libFuzzer is absent: no fuzz targets"
fi

# vcpkg itself comes with git only: its functions are stood in for.
if has cmake; then
    cat >vcpkg.cmake <<'PORT'
function(vcpkg_download_distfile out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
    file(DOWNLOAD "${arg_URLS}" "${CMAKE_BINARY_DIR}/${arg_FILENAME}" EXPECTED_HASH SHA512=${arg_SHA512})
    set(${out} "${CMAKE_BINARY_DIR}/${arg_FILENAME}" PARENT_SCOPE)
endfunction()
function(vcpkg_extract_source_archive out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
    execute_process(COMMAND ${CMAKE_COMMAND} -E tar xf "${arg_ARCHIVE}" COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB folder "${CMAKE_BINARY_DIR}/sparsehs-*")
    list(FILTER folder EXCLUDE REGEX "gz$")
    set(${out} "${folder}" PARENT_SCOPE)
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
endfunction()
set(PORT sparsehs)
include("${RECIPE}/portfile.cmake")
PORT
    mkdir vcpkg_build
    check "vcpkg: the portfile installs" eval \
        '(cd vcpkg_build && cmake -DRECIPE="$dist/packaging/vcpkg" -DCURRENT_PACKAGES_DIR="$work/vcpkg_tree" -P ../vcpkg.cmake)'
    check "vcpkg: what vcpkg asks for is there" ls vcpkg_tree/include/sparsehs.h vcpkg_tree/share/sparsehs/copyright \
        vcpkg_tree/share/sparsehs/usage vcpkg_tree/share/sparsehs/sparsehs-config.cmake
    check "vcpkg: the program is configured" cmake -S "$dist/packaging/conan/test_package" -B vcpkg_made \
        -Dsparsehs_DIR="$work/vcpkg_tree/share/sparsehs" -DCMAKE_C_FLAGS="$fast"
    check "vcpkg: compiles" cmake --build vcpkg_made
    check "vcpkg: the quickstart runs" finds vcpkg_made/quickstart
fi
if has python3; then
    check "JSON can be read" eval \
        'for f in "$dist/packaging/vcpkg/vcpkg.json" "$dist/embedded/sparsehs/library.json"; do python3 -m json.tool "$f" || exit 1; done'
fi

# Microcontrollers: the sketch is compiled as Arduino does it, in C++ behind Arduino.h.
library=$dist/embedded/sparsehs
mkdir arduino
cat >arduino/Arduino.h <<'BOARD'
#include <stdio.h>
static struct {
    void begin(long) {}
    void print(const char *text) { printf("%s", text); }
    void print(int number) { printf("%d", number); }
    void println(double number) { printf("%.2f\n", number); }
} Serial;
BOARD
{ echo '#include <Arduino.h>'; cat "$library/examples/coding/coding.ino"; echo 'int main() { setup(); loop(); }'; } >arduino/sketch.cpp
check "Arduino: the sketch compiles" ${CXX:-c++} -std=c++11 -Wall -Wextra -Os -Iarduino -I"$library/src" arduino/sketch.cpp \
    -o arduino/sketch -lm
check "Arduino: the sketch runs" test "$(arduino/sketch | sort | tr '\n' ' ')" = "2: 3.00 4: 4.00 "
for property in name version author maintainer sentence paragraph category url architectures; do
    check "Arduino: library.properties has $property" grep -q "^$property=." "$library/library.properties"
done
check "Arduino: the layout" ls "$library/src/sparsehs.h" "$library/examples/coding/coding.ino"
check "ESP-IDF: the manifest" grep -q "^version: \"$version\"\$" "$library/idf_component.yml"
check "ESP-IDF: the component" grep -q '^idf_component_register(INCLUDE_DIRS "src")' "$library/CMakeLists.txt"
if has pio; then
    export PLATFORMIO_CORE_DIR=$work/pio PLATFORMIO_SETTING_ENABLE_TELEMETRY=No
    # It checks names of licences against a list that it downloads.
    cp -r "$library" for_pio
    sed -i.old '/"license"/d' for_pio/library.json && rm for_pio/library.json.old
    check "PlatformIO: packs it" pio pkg pack for_pio -o packed.tar.gz
    check "PlatformIO: refuses a broken manifest" eval 'sed -i.old /version/d for_pio/library.json && ! pio pkg pack for_pio -o no.tar.gz'
    check "PlatformIO: with header and sketch" eval \
        'tar tzf packed.tar.gz | grep -qx src/sparsehs.h && tar tzf packed.tar.gz | grep -qx examples/coding/coding.ino'
fi
the_end
