#!/bin/sh
# What the header promises the linker. From the project's root: CC=cc sh tests/check_links.sh
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc}
CFLAGS=${CFLAGS:--O2}
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
link() { # program, objects ...
    program=$1
    shift
    (cd "$out" && $CC $CFLAGS $OPENMP -o "$program" "$@" -lm)
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
compile bare.o "$out/library.c" -DSPARSEHS_NO_STDLIB -DSPARSEHS_NO_OPENMP

# Exactly the declared functions are visible, under the link name of their precision.
sed -n 's/^SHS_API [^(]*[ *]\(shs_[a-z0-9_]*\)(.*/\1/p' sparsehs.h | sort >"$out/declared"
[ -s "$out/declared" ] || fail "no declaration found in sparsehs.h"
sed 's/$/_f64/' "$out/declared" | sort >"$out/declared_f64"
sed 's/$/_f32/' "$out/declared" | sort >"$out/declared_f32"
symbols float.o TDBCRVW >"$out/float"
symbols double.o TDBCRVW >"$out/double"
symbols nodouble.o TDBCRVW >"$out/nodouble"
expect_same "declared (<) and defined (>) differ in float" "$out/declared" "$out/float"
expect_same "declared (<) and defined (>) differ in double" "$out/declared_f64" "$out/double"
expect_same "declared (<) and defined (>) differ without double" "$out/declared_f32" "$out/nodouble"

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
forbid bare.o malloc calloc realloc free omp_get_max_threads
forbid nodouble.o sqrt cos log

# Without double the very word is absent: system headers first, then it becomes a mistake.
printf '#include <%s>\n' stddef.h stdint.h string.h limits.h stdlib.h math.h >"$out/wordless.c"
printf '#define double double_is_used\n#include "library.c"\n' >>"$out/wordless.c"
compile wordless.o "$out/wordless.c" -DSPARSEHS_NO_DOUBLE -DSPARSEHS_NO_OPENMP || fail "SPARSEHS_NO_DOUBLE uses double"

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

# An implementation in C++ serves users in C.
if command -v "${CXX:-c++}" >/dev/null; then
    # shellcheck disable=SC2086
    "${CXX:-c++}" -std=c++11 $CFLAGS -I. -DSPARSEHS_NO_OPENMP -x c++ -c "$out/library.c" -o "$out/plusplus.o"
    link mixed main.o user_float.o user_double.o user_nodouble.o plusplus.o double.o nodouble.o
    "$out/mixed" || fail "an implementation in C++ computes something wrong"
else
    echo "check-links: no C++ compiler here: not checked"
fi

# A user and an implementation of different precisions do not link.
cat >"$out/single.c" <<'C'
double use(void);
int main(void) { return use() > 0 ? 0 : 1; }
C
compile single.o "$out/single.c"
for user in float double nodouble; do
    case $user in
    float) flag= ;;
    double) flag=-DSPARSEHS_DOUBLE ;;
    *) flag=-DSPARSEHS_NO_DOUBLE ;;
    esac
    compile mismatch.o "$out/user.c" -DNAME=use ${flag:+"$flag"}
    for library in float double nodouble; do
        if link mismatch single.o mismatch.o $library.o 2>"$out/mismatch.txt"; then
            [ $user = $library ] || fail "a user in $user links with a library in $library"
        else
            [ $user != $library ] || fail "a user in $user: $(cat "$out/mismatch.txt")"
        fi
    done
done

# Private copies: two files with SPARSEHS_STATIC link, and show nothing.
printf '#define SPARSEHS_IMPLEMENTATION\n#include "user.c"\n' >"$out/private.c"
for user in float double nodouble; do
    case $user in
    float) flag= ;;
    double) flag=-DSPARSEHS_DOUBLE ;;
    *) flag=-DSPARSEHS_NO_DOUBLE ;;
    esac
    compile private_$user.o "$out/private.c" -DSPARSEHS_STATIC -DNAME=use_$user ${flag:+"$flag"}
    visible=$(symbols private_$user.o TDBCRVW)
    [ "$visible" = use_$user ] || fail "SPARSEHS_STATIC shows: $visible"
done
link private main.o private_float.o private_double.o private_nodouble.o
"$out/private" || fail "private copies compute something wrong"
compile private_again.o "$out/private.c" -DSPARSEHS_STATIC -DNAME=use
link twice single.o private_again.o private_float.o
"$out/twice" || fail "two private copies of one precision compute something wrong"

echo "check-links: $(wc -l <"$out/declared" | tr -d ' ') functions in three precisions, all well"
