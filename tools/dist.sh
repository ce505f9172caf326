#!/bin/sh
# What a release consists of, from the last commit: the same bytes from the same commit, whoever makes it and in whatever folder.
# From the project's root:
#
#     sh tools/dist.sh [FOLDER]           (make dist; FOLDER is build/dist)
#
#     sparsehs-VERSION.tar.gz             everything
#     headers/                            the two headers and the licence
#     pair/                               the same as sparsehs.c and a short sparsehs.h, for whom a macro is not wanted
#     amalgamated/                        both headers as one sparsehs.h
#     sparsehs-VERSION-py3-none-any.whl   the Python package, which compiles the library at its first import
#     packaging/                          recipes for package managers and OSS-Fuzz (tools/packaging/README.md). URL=... is the
#                                         folder that the archive will be downloaded from, REPOSITORY=... what git clones,
#                                         CONTACT=... an address for mail. Pages lead to files of the repository
#     sparsehs-VERSION-...manylinux...whl the same with the compiled library (tools/wheel.sh)
#     pages/course, book, playground      static pages
#     embedded/sparsehs/                  a library of Arduino and PlatformIO, a component of ESP-IDF
#     SHA256SUMS                          of all these
#
# The compiled wheel and the pages depend on tools, and the course on what this machine measures. PARTS names which of them to make:
# PARTS="wheel course book playground" is the default, PARTS=none leaves all of them out. A tool that is missing is named.
set -eu
umask 022
LC_ALL=C
export LC_ALL
out=${1:-build/dist}
[ -n "$(git ls-files sparsehs.h 2>/dev/null)" ] || { echo "dist: this is no git repository: a release is made from a commit" >&2; exit 1; }
git diff --quiet HEAD || echo "dist: some files differ from the last commit, which is what the archive holds" >&2

here=$PWD
rm -rf "$out"
mkdir -p "$out/headers" "$out/pair"
out=$(cd "$out" && pwd)
trap 'rm -rf "$out/tree" "$out/tar"' EXIT
git archive --format=tar HEAD sparsehs.h | (mkdir "$out/tree" && cd "$out/tree" && tar -xf -)
version=$(sed -n 's/^#define SPARSEHS_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' "$out/tree/sparsehs.h" | paste -sd . -)
name=sparsehs-$version
git -c tar.umask=022 archive --format=tar --prefix="$name/" HEAD >"$out/tar"
gzip -n9 <"$out/tar" >"$out/$name.tar.gz"
rm -rf "$out/tree" && mkdir "$out/tree"
tar -xf "$out/tar" -C "$out/tree"
cd "$out/tree/$name"
cp sparsehs.h sparsehs_cl.h LICENSE "$out/headers"

# The pair: the header ends before what checks the versions of two of them; the licence stands in both.
cut_at='^/\* The implementation must have the same version as'
licence='^/\* LICENCE: '
for part in "$cut_at" "$licence" '^   Do this:$' '^   TABLE OF CONTENTS$'; do
    [ "$(grep -c "$part" sparsehs.h)" -eq 1 ] || { echo "dist: '$part' stands not once in sparsehs.h" >&2; exit 1; }
done
{
    sed "/$(echo "$cut_at" | sed 's|/|\\/|')/,\$d" sparsehs.h | awk '
        /^   Do this:$/ {
            print "   This is the header of a pair: compile sparsehs.c and link it with your program and -lm. Switches (OPTIONS below)"
            print "   are options of the compiler: -DSPARSEHS_DOUBLE in all files. OpenCL: -DSPARSEHS_CL_IMPLEMENTATION for sparsehs.c,"
            print "   and #include \"sparsehs_cl.h\" where you use it."
            print ""
            skipped = 1
        }
        /^   TABLE OF CONTENTS$/ { skipped = 0 }
        !skipped'
    sed -n "/$(echo "$licence" | sed 's|/|\\/|')/,\$p" sparsehs.h
} >"$out/pair/sparsehs.h"
{
    cat <<'PART'
/* sparsehs.c: the implementation of sparsehs.h, for compilers of C and C++. Made by tools/dist.sh. */
#ifndef SPARSEHS_IMPLEMENTATION
#define SPARSEHS_IMPLEMENTATION
#endif
/* This file includes itself for the kernels of other instruction sets. */
#ifndef SPARSEHS_FILE
#define SPARSEHS_FILE "sparsehs.c"
#endif
#include "sparsehs.h"

PART
    sed -n "/$(echo "$cut_at" | sed 's|/|\\/|')/,/$(echo "$licence" | sed 's|/|\\/|')/p" sparsehs.h | sed '$d'
    cat <<'PART'
#if defined(SPARSEHS_CL_IMPLEMENTATION) && !defined(SPARSEHS_AGAIN)
#include "sparsehs_cl.h"
#endif

PART
    sed -n "/$(echo "$licence" | sed 's|/|\\/|')/,\$p" sparsehs.h
} >"$out/pair/sparsehs.c"
cp sparsehs_cl.h LICENSE "$out/pair"

# Both headers as one. sparsehs.h includes itself for the kernels of other instruction sets, where OpenCL has no part.
cl_include='^/\* Outside the guard: the file with the implementation'
[ "$(grep -c "$cl_include" sparsehs_cl.h)" -eq 1 ] || { echo "dist: '$cl_include' stands not once in sparsehs_cl.h" >&2; exit 1; }
mkdir "$out/amalgamated"
{
    sed "/$(echo "$licence" | sed 's|/|\\/|')/,\$d" sparsehs.h | awk '
        /^   TABLE OF CONTENTS$/ {
            print "   This copy holds sparsehs_cl.h too. For OpenCL also define SPARSEHS_CL_IMPLEMENTATION in that file, and link with -lOpenCL."
            print ""
        }
        { print }'
    echo '#ifndef SPARSEHS_AGAIN'
    # Without the lines that include sparsehs.h.
    sed "/$(echo "$cl_include" | sed 's|/|\\/|')/,/^\$/d; s|#include \"sparsehs_cl.h\"|#include \"sparsehs.h\"|" sparsehs_cl.h |
        sed "/$(echo "$licence" | sed 's|/|\\/|')/,\$d"
    echo '#endif /* SPARSEHS_AGAIN */'
    echo
    sed -n "/$(echo "$licence" | sed 's|/|\\/|')/,\$p" sparsehs.h
} >"$out/amalgamated/sparsehs.h"
cp LICENSE "$out/amalgamated"

# Recipes, with the archive's sums; the library for microcontrollers, with the header inside.
url=${URL:-https://example.org/sparsehs}
[ -n "${URL:-}" ] || echo "dist: without URL, REPOSITORY and CONTACT the recipes name those of $url" >&2
sha256=$(sha256sum <"$out/$name.tar.gz" | cut -d' ' -f1) sha512=$(sha512sum <"$out/$name.tar.gz" | cut -d' ' -f1)
repository=${REPOSITORY:-$url.git} contact=${CONTACT:-sparsehs@example.org}
date=$(TZ=UTC git -C "$here" log -1 --format=%cd --date=format-local:'%a, %d %b %Y %H:%M:%S +0000')
(cd tools/packaging && find README.md conan meson vcpkg xmake debian oss-fuzz embedded -type f) | while read -r file; do
    to=packaging/$file
    case $file in embedded/*) to=embedded/sparsehs/${file#embedded/} ;; esac
    mkdir -p "$out/$(dirname "$to")"
    sed "s|@VERSION@|$version|g; s|@URL@|$url|g; s|@SHA256@|$sha256|g; s|@SHA512@|$sha512|g; s|@REPOSITORY@|$repository|g
        s|@CONTACT@|$contact|g; s|@DATE@|$date|g" "tools/packaging/$file" >"$out/$to"
    [ ! -x "tools/packaging/$file" ] || chmod 755 "$out/$to"
done
mkdir "$out/embedded/sparsehs/src"
cp sparsehs.h "$out/embedded/sparsehs/src"
cp LICENSE "$out/embedded/sparsehs"
sed 's|"../sparsehs.h"|<sparsehs.h>|' examples/quickstart.c >"$out/packaging/conan/test_package/quickstart.c"

if command -v python3 >/dev/null; then
    (cd examples/python && python3 -B -c 'import sys, build_wheel; build_wheel.build_wheel(sys.argv[1])' "$out")
else
    echo "dist: no wheel: there is no python3 here" >&2
fi

# What takes longer, from the same commit.
parts=${PARTS:-wheel course book playground}
PATH=$here/build/packagers/bin:$PATH
[ ! -d "$here/../shared/data" ] || SHS_DATA=${SHS_DATA:-$here/../shared/data}
export SHS_DATA="${SHS_DATA:-../shared/data}"
wanted() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }
lacks() { # PART COMMAND TARGET
    ! command -v "$2" >/dev/null || return 1
    echo "dist: no $1: $2 is not here: make $3 installs it" >&2
}
if wanted wheel; then
    SOURCE_DATE_EPOCH=$(git -C "$here" log -1 --format=%ct) sh tools/wheel.sh "$out" >&2
fi
if wanted book; then
    for python in python3 /usr/bin/python3 none; do ! "$python" -c 'import pygments' 2>/dev/null || break; done
    if [ "$python" = none ]; then
        echo "dist: no book: pygments is not here: make book-deps installs it" >&2
    else
        "$python" -B tools/book.py "$out/pages/book" >&2
    fi
fi
if wanted course && ! lacks course gnuplot course-deps && ! lacks course pandoc course-deps; then
    OUT=build/course sh examples/course/run.sh >&2
    mkdir -p "$out/pages/course"
    cp -r build/course/index.html build/course/pictures "$out/pages/course"
fi
if wanted playground && ! lacks playground emcc playground-deps; then
    sh examples/playground/build.sh build/playground >&2
    mkdir -p "$out/pages/playground"
    cp build/playground/index.html "$out/pages/playground"
fi

# Pages lead into the tree that they were made from, which is deleted: to a lesson on the course's page where that is made, and
# else to the repository's files, as GitHub and GitLab name them.
files=${repository%.git}/tree/HEAD
lessons=
[ ! -d "$out/pages/course" ] || lessons='s|"[^"]*/examples/course/\([1-6]_[a-z]*\)\.md"|"../course/index.html#\1"|g'
for page in "$out"/pages/book/*.html "$out"/pages/course/index.html; do
    [ -f "$page" ] || continue
    sed "$lessons
        s|href=\"\.\./\.\./tree/$name/|href=\"$files/|g
        s|href=\"\.\./\.\./examples/course/\.\./\.\./|href=\"$files/|g
        s|href=\"\.\./\.\./examples/course/\.\./|href=\"$files/examples/|g" "$page" >"$out/tar"
    cat "$out/tar" >"$page"
done

cd "$out"
rm -rf tree tar
find . -type f ! -name SHA256SUMS | sed 's|^\./||' | sort | xargs sha256sum >SHA256SUMS
echo "dist: $out"
cat SHA256SUMS
