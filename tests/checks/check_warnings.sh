#!/bin/sh
# Warnings are errors, with gcc and clang, in C and C++: of the header, the examples and the tests. From the project's root:
#
#     sh tests/checks/check_warnings.sh [cl | main]
#
# cl: of sparsehs_cl.h, its tests and programs instead; main: the header alone, in the rows that say most.
#
# $COMPILERS are those that are here, $INSIDE the suites that come with the library's object, $JOBS run side by side.
set -eu
out=build/warnings
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
strict="-Werror -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Wcast-align"
strict="$strict -Wframe-larger-than=4096"

switches_of() { # variant
    case $1 in
    float) ;;
    double) echo -DSPARSEHS_DOUBLE ;;
    nodouble) echo -DSPARSEHS_NO_DOUBLE ;;
    static) echo -DSPARSEHS_STATIC ;;
    nosimd) echo -DSPARSEHS_NO_SIMD ;;
    nodispatch) echo -DSPARSEHS_NO_DISPATCH ;;
    nostdlib) echo -DSPARSEHS_NO_STDLIB ;;
    dynamic) echo -DSPARSEHS_CL_DYNAMIC ;;
    openmp) echo -fopenmp ;;
    native) echo -march=native ;;
    server) echo -march=skylake-avx512 ;;
    onlycoding) echo -DSPARSEHS_ONLY_CODING -Wframe-larger-than=1024 ;; # what a microcontroller links has small frames
    *) echo "check-warnings: what is $1?" >&2; exit 1 ;;
    esac
}

# One compilation: compiler, standard, variant, level (syntax: without code), file, more flags.
if [ "${1:-}" = one ]; then
    shift
    compiler=$1 standard=$2 level=-$4 file=$5 switches=$(switches_of "$3")
    shift 5
    [ "$level" != -syntax ] || level=-fsyntax-only
    case $standard in c++*) language="-x c++" ;; *) language="-x c -Wstrict-prototypes" ;; esac
    # shellcheck disable=SC2086 # lists of words
    "$compiler" -std="$standard" $level $strict $switches $language "$@" -c "$file" -o "$out/$$.o" || {
        echo "check-warnings: $compiler -std=$standard $level $switches $* $file" >&2
        exit 1
    }
    rm -f "$out/$$.o"
    exit 0
fi

# The flags of a file: suites of the API, and the library's object with the others. Tests may have larger frames, since cmocka's
# macros fill them.
flags_of() { # file
    case $1 in
    tests/library.c) echo -Wno-frame-larger-than -DTEST_INSIDE ;;
    tests/test_cl_*.c | tests/bench/*.c) echo -Wno-frame-larger-than ;;
    tests/*) echo -Wno-frame-larger-than -DTEST_LINKED ;;
    examples/mpi/*) mpicc --showme:compile 2>/dev/null | sed 's/-I/-isystem /g' ;; # without MPI next to nothing is left
    esac
}

both="-DSPARSEHS_IMPLEMENTATION"
file=sparsehs.h programs=tests/library.c coded='' read=''
# Frames, and what an optimiser warns of, need code: of both precisions, and of each switch that makes other code. All else is
# said by the compiler's first pass, which sees every language and switch.
if [ "${1:-}" = cl ]; then
    file=sparsehs_cl.h both="$both -DSPARSEHS_CL_IMPLEMENTATION" programs=tools/embed_kernels.c
    coded="c99-float-O0 c99-float-O3 c++11-float-O1 c99-double-O1 c99-nodouble-O1"
    for v in double nodouble static dynamic; do read="$read c99-$v-syntax c++11-$v-syntax"; done
    programs="$programs $(ls tests/test_cl_*.c tests/bench/bench_cl*.c) examples/devices.c examples/python/shim.c"
else
    coded="c99-float-O0 c99-float-O3 c++11-float-O1 c99-double-O3"
    coded="$coded c99-nodouble-O1 c99-onlycoding-O1 c99-nosimd-O1 c99-native-O1 c99-openmp-O1"
    [ "$(uname -m)" != x86_64 ] || coded="$coded c99-server-O1"
    for v in double nodouble static nosimd nodispatch nostdlib onlycoding; do read="$read c99-$v-syntax c++11-$v-syntax"; done
    read="$read c11-float-syntax c++17-float-syntax c++20-float-syntax c++11-native-syntax"
    for f in tests/test_*.c tests/bench/*.c examples/*.c examples/hypercube/*.c examples/papers/*.c examples/mpi/*.c \
        examples/playground/*.c examples/texture/*.c; do
        case " $INSIDE " in *" $(basename "$f" .c) "*) continue ;; esac
        case $f in *_cl_*.c | tests/bench/bench_cl.c | examples/devices.c) ;; *) programs="$programs $f" ;; esac
    done
fi

if [ "${1:-}" = main ]; then
    programs='' coded="c99-float-O1 c++11-float-O1" read="c99-double-syntax c++11-double-syntax c99-nodouble-syntax c99-static-syntax"
    read="$read c99-nosimd-syntax c99-onlycoding-syntax"
fi

rows() {
    for compiler in $COMPILERS; do
        for row in $coded $read; do echo "$compiler $(echo "$row" | tr - ' ') $file $both"; done
        for f in $programs; do
            for v in float double; do
                # clang's optimiser speaks of frames alone: those of tests do not count, and double has the larger ones.
                case $compiler:$v:$f in clang:*:tests/* | clang:float:*) level=syntax ;; *) level=O3 ;; esac
                # A program's own code is optimised without the library's, which has rows of its own, and read with it; but for
                # those that make it static or look inside.
                whole=
                case $f in */mpi/* | *_cl*.c) whole=1 ;; *) ! grep -q 'define SPARSEHS_STATIC' "$f" || whole=1 ;; esac
                case $v:$level:$whole$f in
                float:O3:1*) echo "$compiler c99 $v syntax $f $(flags_of "$f")" ;;
                double:O3:1*) echo "$compiler c99 $v O1 $f $(flags_of "$f")" ;;
                *:O3:examples/*)
                    [ "$v" = double ] || echo "$compiler c99 $v syntax $f $(flags_of "$f")"
                    echo "$compiler c99 $v $level $f $(flags_of "$f") -DSPARSEHS_IMPLEMENTATION_ONCE -DSPARSEHS_CL_IMPLEMENTATION_ONCE"
                    ;;
                *) echo "$compiler c99 $v $level $f $(flags_of "$f")" ;;
                esac
            done
        done
    done
}
mkdir -p $out
list=$out/rows${1:+-$1} # both kinds may run side by side
rows | sed "s/ *$//" >"$list" # a blank at the end would join lines
xargs -P "$jobs" -L 1 sh "$0" one <"$list"
echo "No warning in $(wc -l <"$list" | tr -d ' ') compilations of $file and what uses it with: $COMPILERS."
for c in gcc clang; do
    case " $COMPILERS " in *" $c "*) ;; *) echo "$c is not here: not checked." ;; esac
done

# The programs for Windows.
[ -n "${1:-}" ] || bash tests/checks/check_windows.sh
