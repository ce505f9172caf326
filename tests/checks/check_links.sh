#!/bin/sh
# What the headers promise the linker. From the project's root: CC=cc sh tests/checks/check_links.sh
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc}
CFLAGS=${CFLAGS:--O2}
[ -n "${SHS_LONG:-}" ] || CFLAGS=-O0
OPENMP=${OPENMP:-}
out=build/links
mkdir -p "$out"

fail() {
    echo "check-links: $*" >&2
    exit 1
}

# shellcheck disable=SC2086 # the flags are lists of words
compile() { # object, source, flags ...
    object=$1 source=$2
    shift 2
    $CC -std=c99 $CFLAGS $OPENMP -I. "$@" -c "$source" -o "$out/$object"
}

# shellcheck disable=SC2086
link() { # program, objects and libraries ...
    program=$1
    shift
    (cd "$out" && $CC $CFLAGS $OPENMP -o "$program" "$@" -lm)
}

of_precision() { # float, double or nodouble: its switch and the ending of its link names
    case $1 in
    float) flag= ending= ;;
    double) flag=-DSPARSEHS_DOUBLE ending=_f64 ;;
    *) flag=-DSPARSEHS_NO_DOUBLE ending=_f32 ;;
    esac
}

# The symbols of one object: kinds as nm writes them; a leading underscore is the platform's.
symbols() { # object, kinds
    nm "$out/$1" | awk -v kinds="$2" 'NF >= 2 && index(kinds, $(NF - 1)) { sub(/^_/, "", $NF); print $NF }' | sort
}

expect_same() { # text, file, file
    diff "$2" "$3" >"$out/diff" || fail "$1: $(cat "$out/diff")"
}

printf '#define SPARSEHS_IMPLEMENTATION\n#include "sparsehs.h"\n' >"$out/library.c"
compile float.o "$out/library.c"
compile double.o "$out/library.c" -DSPARSEHS_DOUBLE
compile nodouble.o "$out/library.c" -DSPARSEHS_NO_DOUBLE

# Every function and every struct that a header declares has its line of link names there.
for header in sparsehs.h sparsehs_cl.h; do
    sed -n 's/^typedef struct \(shs_[a-z0-9][a-z0-9_]*\) .*/\1/p' $header | sort >"$out/structs.$header"
    [ -s "$out/structs.$header" ] || fail "no struct found in $header"
    sed -n 's/^SHS_[CL_]*API [^(]*[ *]\(shs_[a-z0-9_]*\)(.*/\1/p' $header | sort >"$out/declared.$header"
    [ -s "$out/declared.$header" ] || fail "no declaration found in $header"
    sed -n 's/^#define \(shs_[a-z0-9_]*\) SHS__LINK(.*/\1/p' $header | sort >"$out/named.$header"
    sort "$out/declared.$header" "$out/structs.$header" >"$out/both.$header"
    expect_same "$header: declared (<) and given link names (>) differ" "$out/both.$header" "$out/named.$header"
done

# Exactly the declared functions are visible, under the link name of their precision.
expect_visible() { # suffix of the objects, headers ...
    suffix=$1
    shift
    for h in "$@"; do cat "$out/declared.$h"; done | sort >"$out/declared"
    for precision in float double nodouble; do
        of_precision $precision
        sed "s/\$/$ending/" "$out/declared" | sort >"$out/expected"
        symbols $precision$suffix.o TDBCRVW >"$out/$precision"
        expect_same "$*: declared (<) and defined (>) differ in $precision" "$out/expected" "$out/$precision"
    done
}
expect_visible "" sparsehs.h

# No mutable global data. Position-independent code would count constant tables of addresses as data.
compile globals.o "$out/library.c" -fno-pic
globals=$(symbols globals.o bBdDCsS)
[ -z "$globals" ] || fail "mutable globals: $globals"

# Nothing is called that a library must not call, or that was switched off.
forbid() { # object, names ...
    object=$1
    shift
    for name in "$@"; do
        if symbols "$object" U | grep -qx "$name"; then fail "$object calls $name"; fi
    done
}
for o in float double nodouble; do
    forbid $o.o printf fprintf puts exit abort __assert_fail rand srand
done
forbid nodouble.o sqrt cos log

# Without double the very word is absent: system headers first, then it becomes a mistake.
printf '#include <%s>\n' stddef.h stdint.h string.h limits.h stdlib.h math.h >"$out/wordless.c"
printf '#define double double_is_used\n#include "library.c"\n' >>"$out/wordless.c"
compile wordless.o "$out/wordless.c" -fsyntax-only -DSPARSEHS_NO_DOUBLE -DSPARSEHS_NO_OPENMP || fail "SPARSEHS_NO_DOUBLE uses double"

# Users in every precision live in one program.
cat >"$out/user.c" <<'C'
#include "sparsehs.h"
double NAME(void);
double NAME(void) {
    shs_real x[3] = {1, 2, 3};
    return (double)shs_dot(3, x, 1, x, 1) + (double)sizeof(shs_real);
}
C
cat >"$out/main.c" <<'C'
double use_float(void), use_double(void), use_nodouble(void);
int main(void) { return use_float() == 18 && use_double() == 22 && use_nodouble() == 18 ? 0 : 1; }
C
compile main.o "$out/main.c"
compile user_float.o "$out/user.c" -DNAME=use_float
compile user_double.o "$out/user.c" -DNAME=use_double -DSPARSEHS_DOUBLE
compile user_nodouble.o "$out/user.c" -DNAME=use_nodouble -DSPARSEHS_NO_DOUBLE
link together main.o user_float.o user_double.o user_nodouble.o float.o double.o nodouble.o
"$out/together" || fail "three precisions in one program compute something wrong"

# A user and an implementation of different precisions do not link.
cat >"$out/single.c" <<'C'
double use(void);
int main(void) { return use() > 0 ? 0 : 1; }
C
compile single.o "$out/single.c"
for user in float double nodouble; do
    of_precision $user
    compile mismatch.o "$out/user.c" -DNAME=use ${flag:+"$flag"}
    for library in float double nodouble; do
        if link mismatch single.o mismatch.o $library.o 2>"$out/mismatch.txt"; then
            [ $user = $library ] || fail "a user in $user links with a library in $library"
        else
            [ $user != $library ] || fail "a user in $user: $(cat "$out/mismatch.txt")"
        fi
    done
done

if [ -z "${SHS_LONG:-}" ]; then
    echo "check-links: three precisions, all well; private copies, shared libraries, C++ and OpenCL are checked by make test-all"
    exit 0
fi

compile bare.o "$out/library.c" -DSPARSEHS_NO_STDLIB -DSPARSEHS_NO_OPENMP
forbid bare.o malloc calloc realloc free omp_get_max_threads

# An implementation in C++ serves users in C.
if command -v "${CXX:-c++}" >/dev/null; then
    # shellcheck disable=SC2086
    "${CXX:-c++}" -std=c++11 $CFLAGS -I. -DSPARSEHS_NO_OPENMP -x c++ -c "$out/library.c" -o "$out/plusplus.o"
    link mixed main.o user_float.o user_double.o user_nodouble.o plusplus.o double.o nodouble.o
    "$out/mixed" || fail "an implementation in C++ computes something wrong"
    # C++ joins the inline functions of its files by name and arguments: those on our structs stay apart.
    cat >"$out/inline.cpp" <<'C'
#include "sparsehs.h"
inline double sum_of(const shs_codes &codes) {
    double sum = 0;
    for (int i = 0; i < codes.stride; i++) sum += (double)codes.coefs[i];
    return sum;
}
double NAME();
double NAME() {
    shs_codes codes = SHS_ZERO;
    shs_real coefs[3] = {1, 2, 3};
    codes.stride = 3;
    codes.coefs = coefs;
    return sum_of(codes);
}
#ifdef MAIN
double use_float(), use_nodouble();
int main() { return use_float() == 6 && use_nodouble() == 6 && NAME() == 6 ? 0 : 1; }
#endif
C
    for user in float double nodouble; do
        of_precision $user
        "${CXX:-c++}" -std=c++11 -O0 -I. -DNAME=use_$user ${flag:+"$flag"} -c "$out/inline.cpp" -o "$out/inline_$user.o"
    done
    of_precision double
    "${CXX:-c++}" -std=c++11 -O0 -I. -DNAME=use_double -DMAIN "$flag" "$out/inline.cpp" "$out/inline_float.o" "$out/inline_nodouble.o" \
        -o "$out/inline"
    "$out/inline" || fail "inline functions of two precisions are one"
else
    echo "check-links: no C++ compiler here: not checked"
fi

# Private copies: two files with SPARSEHS_STATIC link, and show nothing.
printf '#define SPARSEHS_IMPLEMENTATION\n#include "user.c"\n' >"$out/private.c"
for user in float double nodouble; do
    of_precision $user
    compile private_$user.o "$out/private.c" -DSPARSEHS_STATIC -DNAME=use_$user ${flag:+"$flag"}
    visible=$(symbols private_$user.o TDBCRVW)
    [ "$visible" = use_$user ] || fail "SPARSEHS_STATIC shows: $visible"
done
link private main.o private_float.o private_double.o private_nodouble.o
"$out/private" || fail "private copies compute something wrong"
compile private_again.o "$out/private.c" -DSPARSEHS_STATIC -DNAME=use
link twice single.o private_again.o private_float.o
"$out/twice" || fail "two private copies of one precision compute something wrong"

# A private copy stays private in files and projects that give SHS_API. A file that reads both headers and has a private copy of
# the first alone, or of neither, declares no function without a body.
compile private_again.o "$out/private.c" -O0 -DSPARSEHS_STATIC -DNAME=use '-DSHS_API=extern'
visible=$(symbols private_again.o TDBCRVW)
[ "$visible" = use ] || fail "SPARSEHS_STATIC with SHS_API shows: $visible"
printf '#include "sparsehs_cl.h"\n' >"$out/both.c"
for flag in "" -DSPARSEHS_IMPLEMENTATION; do
    compile both.o "$out/both.c" -O0 -Wall -Wextra -Wpedantic -Werror -DSPARSEHS_STATIC ${flag:+"$flag"}
done

# A shared library whose symbols are hidden shows what SHS_API says: nothing, or the whole API, which a program then finds.
shared() { # name, flags ...
    name=$1
    shift
    # shellcheck disable=SC2086
    $CC -std=c99 $OPENMP -I. -O0 -fPIC -fvisibility=hidden "$@" -shared "$out/library.c" -o "$out/$name.so" -lm
    nm -D "$out/$name.so" | awk 'index("TDBRVW", $(NF - 1)) && $NF ~ /^shs_/ { print $NF }' | sort >"$out/$name.shown"
}
visible='__attribute__((visibility("default")))'
if [ "$(uname -s)" = Linux ] && [ "$($CC -dumpmachine 2>/dev/null | grep -c linux)" = 1 ]; then
    shared hidden
    [ ! -s "$out/hidden.shown" ] || fail "a library with hidden symbols shows $(cat "$out/hidden.shown")"
    shared shown "-DSHS_API=$visible"
    expect_same "a shared library: declared (<) and shown (>) differ" "$out/declared.sparsehs.h" "$out/shown.shown"
    compile user_shared.o "$out/user.c" "-DSHS_API=$visible" -DNAME=use
    link with_shared single.o user_shared.o "-Wl,-rpath,\$ORIGIN" shown.so
    "$out/with_shared" || fail "a program with a shared library computes something wrong"

    # A library with OpenMP can be unloaded while its threads live, if it was linked with -z nodelete (VENDORING).
    if [ -n "$OPENMP" ]; then
        shared unloaded "-DSHS_API=$visible" -DSPARSEHS_NO_DISPATCH -Wl,-z,nodelete
        cat >"$out/unload.c" <<'C'
#include <dlfcn.h>
#include <unistd.h>
#include "sparsehs.h"
static shs_real A[400 * 400], B[400 * 400];
typedef shs_status (*syrk_fn)(const shs_context *, shs_uplo, shs_trans, int, int, shs_real, const shs_real *, int, shs_real,
                              shs_real *, int);
int main(int argc, char **argv) {
    shs_context ctx = SHS_ZERO;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    syrk_fn syrk;
    if (!library) return 1;
    ctx.threads = 4;
    *(void **)&syrk = dlsym(library, "shs_syrk");
    if (!syrk || syrk(&ctx, SHS_UPLO_LOWER, SHS_TRANS_NO, 400, 400, 1, A, 400, 0, B, 400) != SHS_OK) return 1;
    dlclose(library);
    usleep(100000); /* threads that lost their code crash within this time */
    return 0;
}
C
        compile unload.o "$out/unload.c" -D_DEFAULT_SOURCE
        (cd "$out" && $CC -o unload unload.o -ldl)
        OMP_WAIT_POLICY=active "$out/unload" "$out/unloaded.so" || fail "linked with nodelete, a library crashes in dlclose"
    fi
else
    echo "check-links: shared libraries are checked on Linux alone"
fi

# sparsehs_cl.h likewise, and under other names: both files renamed, side by side, as a user includes them.
if echo '#include <CL/cl.h>' | $CC -E -x c - >/dev/null 2>&1; then
    mkdir -p "$out/renamed"
    cp sparsehs.h "$out/renamed/base.h"
    cp sparsehs_cl.h "$out/renamed/devices.h"
    printf '#include "sparsehs_cl.h"\n#define SPARSEHS_IMPLEMENTATION\n#define SPARSEHS_CL_IMPLEMENTATION\n' >"$out/library_cl.c"
    printf '#include "sparsehs_cl.h"\n' >>"$out/library_cl.c"
    for precision in float double nodouble; do
        of_precision $precision
        compile ${precision}_cl.o "$out/library_cl.c" -O0 -DSPARSEHS_CL_DYNAMIC ${flag:+"$flag"}
    done
    expect_visible _cl sparsehs.h sparsehs_cl.h
    cat >"$out/user_cl.c" <<'C'
#include "sparsehs_cl.h"
double NAME(void);
double NAME(void) {
    shs_real x[3] = {1, 2, 3};
    shs_cl_trim(NULL);
    shs_cl_destroy(NULL);
    return (double)shs_dot(3, x, 1, x, 1) + (double)sizeof(shs_real) + (shs_cl_engine(NULL) != NULL);
}
C
    compile user_float_cl.o "$out/user_cl.c" -DNAME=use_float
    compile user_double_cl.o "$out/user_cl.c" -DNAME=use_double -DSPARSEHS_DOUBLE
    compile user_nodouble_cl.o "$out/user_cl.c" -DNAME=use_nodouble -DSPARSEHS_NO_DOUBLE
    link together_cl main.o user_float_cl.o user_double_cl.o user_nodouble_cl.o float_cl.o double_cl.o nodouble_cl.o -ldl
    "$out/together_cl" || fail "three precisions with OpenCL in one program compute something wrong"

    # No -I here: with it the files under their own names would be found.
    sed 's/sparsehs_cl.h/devices.h/' "$out/library_cl.c" >"$out/renamed/by_option.c"
    printf '#define SPARSEHS_IMPLEMENTATION\n#define SPARSEHS_CL_IMPLEMENTATION\n#include "base.h"\n#include "devices.h"\n' \
        >"$out/renamed/in_order.c"
    for object in by_option in_order; do
        [ $object = by_option ] && flag='-DSPARSEHS_FILE="base.h"' || flag=
        # shellcheck disable=SC2086
        $CC -std=c99 $CFLAGS $OPENMP -O0 -DSPARSEHS_CL_DYNAMIC ${flag:+"$flag"} -c "$out/renamed/$object.c" -o "$out/$object.o"
        symbols $object.o TDBCRVW >"$out/$object"
        expect_same "renamed, $object: declared (<) and defined (>) differ" "$out/declared" "$out/$object"
    done
else
    echo "check-links: no OpenCL headers here: sparsehs_cl.h is not compiled"
fi

echo "check-links: $(sort -u "$out"/declared.* | wc -l | tr -d ' ') functions in three precisions, all well"
