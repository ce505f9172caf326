#!/usr/bin/env bash
# make test-release: that check-api and check-version find what they are there to find, that the table of sizes and the Makefile's
# variables do what they say, and that two people who make the archive of one commit get the same bytes, from which a program
# compiles. From the project's root:
#
#     CC=cc tests/release/test_release.sh
root=$PWD
# shellcheck source=tests/programs/programs.sh
. tests/programs/programs.sh

# A copy of what the scripts read, for each test to change.
fresh() {
    rm -rf copy && mkdir -p copy/build copy/tests/api copy/tools && cd copy || exit 2
    cp "$root"/sparsehs*.h "$root"/*.md "$root/CITATION.cff" "$root/meson.build" .
    cp "$root/tests/api/api.sh" tests/api && cp "$root/tools/version.sh" tools
    sh tests/api/api.sh record
    cd ..
}
change() { sed "$2" "copy/$1" >changed && ! cmp -s changed "copy/$1" && cat changed >"copy/$1"; }
api() { (cd copy && sh tests/api/api.sh check) >out.txt 2>&1; }
breaks() { ! api && grep -q -- "check-api: $1" out.txt; }
holds() { api && grep -q -- "$1 are new" out.txt; }

fresh
check "the list holds against itself" holds 0
check "the list that the project recorded holds the same kinds" eval \
    '[ "$(cut -d" " -f1 copy/tests/api/recorded.txt | sort -u)" = "$(cut -d" " -f1 "$root/tests/api/recorded.txt" | sort -u)" ]'
check "every declared function is in the list" test "$(grep -c '^function' copy/tests/api/recorded.txt)" -eq \
    "$(cat copy/sparsehs.h copy/sparsehs_cl.h | grep -c '^SHS_[CL_]*API ')"

# What breaks a program.
broken() { # FILE SCRIPT SAID
    fresh
    check "changed: $3" change "$1" "$2"
    check "found: $3" breaks "$3"
}
broken sparsehs.h '/^SHS_API shs_real shs_dot(/d' 'removed: function shs_dot'
broken sparsehs_cl.h '/^SHS_CL_API .*shs_cl_engine(/d' 'removed: function shs_cl_engine'
broken sparsehs.h 's/^\(SHS_API shs_real shs_nrm2(\)int n/\1size_t n/' 'changed: function shs_nrm2'
broken sparsehs.h 's/X(SHS_NO_MEMORY, 2,/X(SHS_NO_MEMORY, 999,/' 'renumbered: SHS_NO_MEMORY was 2, is 999'
broken sparsehs.h 's/SHS_UPLO_LOWER = 0, SHS_UPLO_UPPER/SHS_UPLO_UPPER = 0, SHS_UPLO_LOWER/' \
    'renumbered: SHS_UPLO_'
broken sparsehs.h 's/^\( *size_t \)size, used, peak, last;/\1used, size, peak, last;/' 'moved: shs_arena.size'
broken sparsehs.h 's/^\( *size_t size, used, peak, last\);/    int first;&/' 'moved: shs_arena.size'
broken sparsehs.h 's/^\( *size_t size, used, peak\), last;/\1;/' 'removed: member shs_arena.last'
broken sparsehs.h 's/^typedef void (\*shs_chunk_fn)(void \*arg, size_t chunk/typedef void (*shs_chunk_fn)(void *arg, int chunk/' \
    'changed: type shs_chunk_fn'
broken sparsehs.h 's/SHS_OMP_ONE_WORKSPACE(n, s)/SHS_OMP_ONE_ROOM(n, s)/' 'removed: macro SHS_OMP_ONE_WORKSPACE'

# What does not.
kept() { # NAME SCRIPT
    fresh
    check "changed: $1" change sparsehs.h "$2"
    check "no break: $1" holds 1
}
kept "a new function" 's/^SHS_API shs_real shs_dot(/SHS_API int shs_new_function(void);\n&/'
kept "a member at the end" 's/^\( *size_t size, used, peak, last\);/\1, next;/'
count=$(sed -n 's/^ *SHS_TYPE_COUNT = \([0-9]*\)$/\1/p' copy/sparsehs.h)
kept "a value at the end" "s/^\( *\)SHS_TYPE_COUNT = $count\$/\1SHS_TYPE_NEW = $count,\n\1SHS_TYPE_COUNT = $((count + 1))/"

# A patch adds nothing.
next() { (cd copy && sh tools/version.sh set "$(sh tools/version.sh | awk -F . -v part="$1" '{ $part += 1; print $1 "." $2 "." $3 }')"); }
new_function='s/^SHS_API shs_real shs_dot(/SHS_API int shs_new_function(void);\n&/'
fresh
check "a patch with nothing new" eval 'next 3 && holds 0'
check "a patch with a new function" eval 'change sparsehs.h "$new_function" && breaks "1 names are new since"'
check "a minor version with a new function" eval 'next 2 && holds 1'

# Files that say another version than the header.
versions() { (cd copy && sh tools/version.sh check) >out.txt 2>&1; }
fresh
check "one version everywhere" versions
for place in 'sparsehs.h:s/^\(#define SPARSEHS_VERSION_MINOR\) .*/\1 77/' 'sparsehs.h:1s/v[0-9.]*/v7.7.7/' \
    'sparsehs_cl.h:1s/v[0-9.]*/v7.7.7/' 'sparsehs_cl.h:s/^\(#if SPARSEHS_VERSION_MAJOR\) != [0-9]*/\1 != 7/' \
    'CITATION.cff:s/^version: .*/version: 7.7.7/' "meson.build:s/version: '[0-9.]*'/version: '7.7.7'/" \
    'CHANGELOG.md:s/^## [0-9.]*/## 7.7.7/'; do
    fresh
    check "changed: $place" change "${place%%:*}" "${place#*:}"
    check "found: $place" eval '! versions'
done
fresh
set_to() { (cd copy && sh tools/version.sh set "$1" && sh tools/version.sh); }
check "set writes it" test "$(set_to 12.34.56)" = 12.34.56
check "set: CHANGELOG.md is left to write" eval '! versions && [ "$(grep -c "^check-version: .* says\|is " out.txt)" -eq 1 ]'
check "set: then all agree" eval 'change CHANGELOG.md "s/^## [0-9.]*/## 12.34.56/" && versions'
check "set: a word is refused" eval '! set_to next'
check "set: the headers still compile together" eval 'echo "#include \"sparsehs_cl.h\"" | ${CC:-cc} -Icopy -fsyntax-only -x c -'

# The table of sizes: README.md gets what three compilations of each column say, and stays as it is if one fails.
fresh
cp "$root/tools/sizes.sh" copy/tools
echo 'const char bytes[4096] = {1};' >copy/sparsehs.h
printf '#!/bin/sh\necho >>"%s/runs"\nexec %s "$@"\n' "$work" "${CC:-cc}" >counting && chmod 755 counting
sizes() { (cd copy && CC=$1 bash tools/sizes.sh); }
check "sizes: the table is written" eval 'sizes "$work/counting" && ! cmp -s "$root/README.md" copy/README.md'
check "sizes: three compilations for each of ten columns" test "$(wc -l <runs)" -eq 30
cp copy/README.md sizes_before
check "sizes: a compiler that fails is an error" eval '! sizes false'
check "sizes: README.md keeps its table" cmp sizes_before copy/README.md

# What the Makefile makes of variables on its command line, beside sources that compile at once.
mkdir -p made/tests made/examples/hypercube && cp "$root/Makefile" made && cp "$root/tests/checks.mk" made/tests
echo 'int main(void) { return 0; }' | tee made/examples/quickstart.c >made/examples/hypercube/hypercube.c
echo 'int library;' >made/tests/library.c
make_made() { env -u MAKEFLAGS -u MFLAGS make -C made "$@" 2>&1; }
would() { make_made -n "$@"; }
check "hypercube-double is double" eval 'would build/hypercube-double | grep -q -- -DSPARSEHS_DOUBLE'
check "also with CPPFLAGS" eval 'would build/hypercube-double CPPFLAGS=-DX=1 | grep -q -- "-DX=1 .*-DSPARSEHS_DOUBLE"'
check "hypercube is not" eval '! would build/hypercube | grep -q -- -DSPARSEHS_DOUBLE'
for variant in msan tsan-openmp; do
    check "$variant needs clang" eval 'would build/$variant/library.o | grep -q "^clang .*-o build/$variant/library.o"'
    check "$variant: also with CC" eval 'would build/$variant/library.o CC=gcc | grep -q "^clang .*-o build/$variant/library.o"'
done
check "msan: MSAN_CC names another" eval 'would build/msan/library.o CC=gcc MSAN_CC=clang-99 | grep -q "^clang-99 .*library.o"'
check "valgrind has no OpenMP, whatever is asked for" eval '! would build/valgrind/library.o OPENMP=-fopenmp | grep -q fopenmp'
compiled() {
    make_made CC="${CC:-cc}" CFLAGS=-O0 CPPFLAGS= build/float/library.o "$@" >out.txt || return 1
    grep -q "library.o -DTEST_INSIDE -c" out.txt
}
check "the library is compiled" compiled
check "once" eval '! compiled'
for other in "CFLAGS=-O0 -DIT='1'" CPPFLAGS=-DX CC="env ${CC:-cc}"; do
    check "again with $other" compiled "$other"
    check "once with $other" eval '! compiled "$other"'
done
check "again without" compiled

# The archive, by two people with other habits in other folders.
if git -C "$root" rev-parse HEAD >/dev/null 2>&1; then
    git clone -q "$root" one && git clone -q "$root" "another place" || exit 2
    git -C "another place" config tar.umask 0077
    archive_1() { (umask 077 && cd one && TZ=UTC LC_ALL=C PARTS=none sh "$root/tools/dist.sh"); }
    archive_2() { (cd "another place" && touch sparsehs.h && TZ=Asia/Tokyo LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 PARTS=none sh "$root/tools/dist.sh" "$work/by another"); }
    check "the archive is made" archive_1
    check "and elsewhere" archive_2
    check "the same bytes" diff -r one/build/dist "by another"
    check "the checksums hold" eval '(cd one/build/dist && sha256sum -c SHA256SUMS)'
    check "every file has one" test "$(find one/build/dist -type f | wc -l)" -eq "$(($(wc -l <one/build/dist/SHA256SUMS) + 1))"
    check "the headers alone" eval 'cmp one/sparsehs.h one/build/dist/headers/sparsehs.h'
    version=$(cd one && sh tools/version.sh)
    check "the version is in the names" ls "one/build/dist/sparsehs-$version.tar.gz" "one/build/dist/sparsehs-$version-py3-none-any.whl"
    tar -xzf "one/build/dist/sparsehs-$version.tar.gz"
    check "the archive holds what the commit does" eval 'rm -rf one/build && diff -r -x .git one "sparsehs-$version"'
    check "make install works from it" make -s -C "sparsehs-$version" install PREFIX="$work/prefix"

    # The pages lead to each other and to the repository, not into the tree that they were made from. One lesson with small sizes
    # makes a page of all texts.
    pages() {
        (cd one && LESSONS=2 QUICK=1 CFLAGS="-O1 -DSPARSEHS_NO_DISPATCH" REPOSITORY=https://host/it.git PARTS="$1" \
            sh "$root/tools/dist.sh" "$work/published") >out.txt 2>&1
    }
    lead_nowhere() {
        for page in published/pages/*/*.html; do
            grep -oE '(href|src)="[^"]+' "$page" | sed 's/^[^"]*"//; s/#.*//' | sort -u | while read -r link; do
                case $link in "" | http*) continue ;; esac
                [ -e "${page%/*}/$link" ] || echo "$page: $link"
            done
        done
    }
    repository='"https://host/it/tree/HEAD'
    lessons() { cat published/pages/book/*.html | grep -oE "\"$1[0-9]_[a-z]+" | sort -u; }
    find_python pygments
    if [ -z "$python" ] || ! command -v gnuplot >/dev/null || ! command -v pandoc >/dev/null; then
        skip "no pygments, gnuplot or pandoc here: no pages"
    else
        check "the pages are made" pages "book course"
        check "their links lead somewhere" eval 'lead_nowhere >nowhere; ! grep . nowhere'
        check "the book's lessons are on the course's page" test "$(lessons '../course/index.html#' | wc -l)" -eq 6
        for lesson in $(lessons '../course/index.html#' | sed 's/.*#//'); do
            check "lesson $lesson" grep -q "id=\"$lesson\"" published/pages/course/index.html
        done
        for file in tests/results/README.md examples/hypercube examples/cortex_m; do
            check "the course's link to $file" grep -q "$repository/$file\"" published/pages/course/index.html
        done
        check "the book without the course" pages book
        check "its links lead somewhere" eval 'lead_nowhere >nowhere; ! grep . nowhere'
        check "its lessons are the repository's" test "$(lessons "${repository#?}/examples/course/" | wc -l)" -eq 6
    fi

    # The pair: no macro in the program; sparsehs.c includes itself.
    cp -r "by another/pair" pair
    sed '/define SPARSEHS_IMPLEMENTATION/d; s|"../sparsehs.h"|"sparsehs.h"|' "$root/examples/quickstart.c" >pair/quickstart.c
    check "the pair compiles" ${CC:-cc} -std=c99 -Wall -Wextra -O1 -DSPARSEHS_NO_CUBES -c pair/sparsehs.c -o pair.o
    check "the program compiles" ${CC:-cc} -std=c99 -O1 -Ipair pair/quickstart.c pair.o -o quickstart -lm
    check "and runs" eval './quickstart | grep -q "hidden atoms found"'
    [ "$(uname -m)" != x86_64 ] || check "it has all kernels" eval './quickstart --version | grep -q "kernels: .*AVX-512;"'
    if echo '#include <CL/cl.h>' | ${CC:-cc} -fsyntax-only -x c - 2>/dev/null; then
        check "with OpenCL" ${CC:-cc} -std=c99 -Wall -Wextra -Werror -fsyntax-only -DSPARSEHS_NO_DISPATCH \
            -DSPARSEHS_CL_IMPLEMENTATION pair/sparsehs.c
    fi

    # Both headers as one file, which includes itself for the kernels and knows OpenCL.
    mkdir amalgamated && cp "by another/amalgamated/sparsehs.h" amalgamated
    sed 's|"../sparsehs.h"|"sparsehs.h"|' "$root/examples/quickstart.c" >amalgamated/quickstart.c
    strict="-Wall -Wextra -Werror"
    check "amalgamated: the program compiles" ${CC:-cc} -std=c99 $strict -O1 -DSPARSEHS_NO_CUBES amalgamated/quickstart.c -o amalgamated/run -lm
    check "amalgamated: and runs" eval 'amalgamated/run | grep -q "hidden atoms found"'
    [ "$(uname -m)" != x86_64 ] || check "amalgamated: it has all kernels" eval 'amalgamated/run --version | grep -q "kernels: .*AVX-512;"'
    check "amalgamated: declares what both headers do" eval \
        'for folder in one by\ another/amalgamated; do
             { echo "#include \"$([ "$folder" = one ] && echo sparsehs_cl.h || echo sparsehs.h)\"" | ${CC:-cc} -I"$folder" -E -P -x c - |
                 grep -o "shs_[a-z0-9_]*(" | sort -u >"declared_by_$(basename "$folder")"; } || exit 1
         done; grep -q shs_cl_create declared_by_one && cmp declared_by_one declared_by_amalgamated'
    if echo '#include <CL/cl.h>' | ${CC:-cc} -fsyntax-only -x c - 2>/dev/null; then
        { for define in IMPLEMENTATION CL_IMPLEMENTATION CL_DYNAMIC; do echo "#define SPARSEHS_$define"; done
            printf '#include "sparsehs.h"\n#include "sparsehs.h"\n'; } >amalgamated/cl.c
        check "amalgamated: with OpenCL" ${CC:-cc} -std=c99 $strict -fsyntax-only -O1 amalgamated/cl.c
        check "amalgamated: with OpenCL in C++" ${CXX:-c++} -std=c++11 $strict -fsyntax-only -O1 -x c++ amalgamated/cl.c
    fi
else
    skip "this is no git repository: no archive"
fi
the_end
