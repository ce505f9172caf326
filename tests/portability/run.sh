#!/bin/sh
# Builds and tests the library in many ways and prints a table. From the project's root:
#
#     sh tests/portability/run.sh [ROW ...]      rows by name or pattern, such as 'gcc*'; none = all
#     sh tests/portability/run.sh --list
#
# TESTS="dense pca" builds only these of the test programs.
#
# A row whose tools are not installed is skipped, and says so. Fails where a row fails or a compiler warns. The table holds
# each row as it ran last, and stays in build/portability/table.
set -u
LC_ALL=C
export LC_ALL
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 2)}
out=build/portability
here=tests/portability
table=$out/table
wanted=${*:-*}
failed=0

# What a user of the header may compile with. Frames count in the library alone: the tests' own are large.
strict="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Wcast-align"
frames=-Wframe-larger-than=4096
tests=${TESTS:-context dense eigen coding learning patches inside kernels pixels cubes pca ica extremes faults threads}

have() { command -v "$1" >/dev/null 2>&1; }

is_wanted() { # row
    for pattern in $wanted; do
        # shellcheck disable=SC2254 # patterns on purpose
        case $1 in $pattern) return 0 ;; esac
    done
    return 1
}

# Starts a row: false where it is not wanted or a tool is missing. dir and started are set.
begin() { # row, tools ...
    row=$1
    shift
    if [ "$wanted" = --list ]; then
        echo "$row"
        return 1
    fi
    is_wanted "$row" || return 1
    started=$(date +%s)
    for tool in "$@"; do
        have "$tool" || {
            line - - "skipped: no $tool here"
            return 1
        }
    done
    dir=$out/$row
    rm -rf "$dir"
    mkdir -p "$dir"
    return 0
}

line() { # built, warnings, tests
    printf '%-24s %-9s %-9s %-44s %5s s\n' "$row" "$1" "$2" "$3" $(($(date +%s) - started)) | tee "$out/lines/$row"
}

# Compiles one program or object; its output goes to a log of its own.
compile() { # log, command ...
    log=$1
    shift
    "$@" >"$log" 2>&1 || echo "BUILD FAILED" >>"$log"
}

# The rest of a row: what was built, what compilers said, what the tests printed, from the logs in $dir.
finish() { # what the tests are where they are not counted
    [ -f "$dir/none.build" ] || : >"$dir/none.build"
    warned=$(cat "$dir"/*.build | grep -c 'warning:')
    broken=$(cat "$dir"/*.build | grep -c 'BUILD FAILED')
    built=yes
    if [ "$broken" -gt 0 ]; then
        built="no ($broken)"
        failed=1
    fi
    [ "$warned" -eq 0 ] || failed=1
    said=${1:-}
    if [ -z "$said" ]; then
        said=$(cat "$dir"/*.run 2>/dev/null | awk '
            { sub(/\r$/, "") }
            /^\[  PASSED  \] [0-9]+ test/ { passed += $4; programs++ }
            /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4 }
            /^\[  FAILED  \] [0-9]+ test/ { failed += $4 }
            /^RUN FAILED/ { broken++ }
            END {
                printf "%d passed", passed
                if (skipped) printf ", %d skipped", skipped
                if (failed) printf ", %d FAILED", failed
                if (broken) printf ", %d programs FAILED", broken
                if (!programs) printf ", nothing ran: FAILED"
            }')
        said="$said in $(find "$dir" -name '*.run' | wc -l | tr -d ' ') programs"
    fi
    case $said in *FAILED*) failed=1 ;; esac
    line "$built" "$warned" "$said"
}

# All tests with one compiler. The library alone is compiled too, for its frames.
suite() { # what runs the programs, suffix of a program, compiler and flags ...
    runner=$1 suffix=$2
    shift 2
    # shellcheck disable=SC2086 # lists of words, here and below
    compile "$dir/library.build" "$@" $strict $frames -DSPARSEHS_IMPLEMENTATION -x c -c sparsehs.h -o "$dir/library.o"
    for t in $tests; do
        echo "$t"
    done | xargs -P "$JOBS" -I {} sh -c 'log=$1; shift; "$@" >"$log" 2>&1 || echo "BUILD FAILED" >>"$log"' sh \
        "$dir/{}.build" "$@" $strict -I$here "tests/test_{}.c" -o "$dir/{}$suffix" $libraries
    for t in $tests; do
        [ -f "$dir/$t$suffix" ] && echo "$t"
    done | xargs -P "$JOBS" -I {} sh -c 'log=$1; shift; "$@" >"$log" 2>&1 || echo "RUN FAILED" >>"$log"' sh \
        "$dir/{}.run" $runner "$dir/{}$suffix"
    finish
}

# The program that touches every part, built once for each set of flags, which commas separate.
every_part() { # what runs the program, suffix, sets of flags, compiler and flags ...
    runner=$1 suffix=$2 sets=$3
    shift 3
    k=0
    rest=$sets
    while [ -n "$rest" ]; do
        flags=${rest%%,*}
        rest=${rest#"$flags"}
        rest=${rest#,}
        k=$((k + 1))
        compile "$dir/$k.build" "$@" $flags $strict $here/every_part.c -o "$dir/every_part$k$suffix" $libraries
        $runner "$dir/every_part$k$suffix" >"$dir/$k.run" 2>&1 || echo "RUN FAILED" >>"$dir/$k.run"
    done
    finish
}

mkdir -p "$out/lines"
# Rows run one after another, programs side by side: threads in each would only wait for each other.
OMP_NUM_THREADS=1
export OMP_NUM_THREADS

# ---- compilers and levels --------------------------------------------------------------------------------------------

libraries="-lpthread -lm"
for o in O0 O1 O2 O3; do
    begin gcc-$o gcc && suite "" "" gcc -std=c99 -$o
done
begin gcc-gnu17 gcc && suite "" "" gcc -std=gnu17 -O3 -march=native -fopenmp
begin gcc-fast-math gcc && suite "" "" gcc -std=c99 -O2 -ffast-math
begin gcc-double gcc && suite "" "" gcc -std=c99 -O2 -DSPARSEHS_DOUBLE
begin gcc-double-fast-math gcc && suite "" "" gcc -std=c99 -O2 -ffast-math -DSPARSEHS_DOUBLE
begin gcc-plain-c gcc && suite "" "" gcc -std=c99 -O2 -DSPARSEHS_NO_SIMD
begin gcc-intrinsics gcc && suite "" "" gcc -std=c99 -O2 -DSPARSEHS_INTRINSICS
begin clang-intrinsics clang && suite "" "" clang -std=c99 -O2 -DSPARSEHS_INTRINSICS
for o in O0 O2 O3; do
    begin clang-$o clang && suite "" "" clang -std=c99 -$o
done
begin clang-fast-math clang && suite "" "" clang -std=c99 -O2 -ffast-math
begin tcc tcc && suite "" "" tcc -std=c99
if echo 'int main(void) { return 0; }' | gcc -m32 -x c - -lm -o /dev/null 2>/dev/null; then m32=gcc
else m32=gcc-12-multilib; fi
begin gcc-m32 $m32 && suite "" "" gcc -std=c99 -m32 -O2
begin gcc-m32-sse gcc $m32 && suite "" "" gcc -std=c99 -m32 -O2 -msse2 -mfpmath=sse

# ---- languages and switches ------------------------------------------------------------------------------------------

standards="-std=c++11,-O0 -std=c++14,-O0 -std=c++17,-std=c++20" # the others are compiled, hardly optimised
begin g++ g++ && libraries="-x none -lm" every_part "" "" "$standards" g++ -O2 -x c++
begin clang++ clang++ && libraries="-x none -lm" every_part "" "" "$standards" clang++ -O2 -x c++
begin c-standards gcc && every_part "" "" \
    "-std=c99 -pedantic,-std=c11 -pedantic,-std=c17 -pedantic,-std=gnu99,-std=gnu17" gcc -O2
# Every switch of sparsehs.h, alone and, as far as they go together, at once. Optimised, though little: without that the header
# compiles no kernels for other processors. What a pair may break, a name that is missing, the first pass says. The last one of all
# names a copy of the file.
if begin switches gcc; then
    cp sparsehs.h "$dir/renamed.h"
    sets="-DSPARSEHS_STATIC,-DSPARSEHS_DOUBLE,-DSPARSEHS_NO_DOUBLE,-DSPARSEHS_NO_SIMD,-DSPARSEHS_INTRINSICS,-DSPARSEHS_NO_DISPATCH"
    sets="$sets,-DSPARSEHS_NO_STDLIB,-DCOUNTING_ALLOCATOR,-DSPARSEHS_NO_MATH,-fopenmp,-DSPARSEHS_NO_SPARSE,-DSPARSEHS_ONLY_CODING"
    sets="$sets,-DSPARSEHS_ONLY_CODING -DSPARSEHS_NONNEGATIVE,-DSPARSEHS_ONLY_CODING -DSPARSEHS_NO_DOUBLE -DSPARSEHS_NO_STDLIB"
    sets="$sets,-DSPARSEHS_NO_DOUBLE -DSPARSEHS_NO_STDLIB -DSPARSEHS_NO_SIMD -DSPARSEHS_STATIC"
    # Each part left out alone, with each other part, and with all others: what two parts share must not go with one of them.
    parts=
    for part in CUBES MODELS LASSO SPECTRA FILES NAIVE; do
        sets="$sets,-DSPARSEHS_NO_$part,-O0 -DSPARSEHS_NO_$part -DSPARSEHS_STATIC"
        for other in $parts; do sets="$sets,-O0 $other -DSPARSEHS_NO_$part"; done
        parts="$parts -DSPARSEHS_NO_$part"
    done
    sets="$sets,$parts,-O0 -DSPARSEHS_NO_MATH -DSPARSEHS_DOUBLE,-O0 -fopenmp -DSPARSEHS_NO_OPENMP"
    every_part "" "" "$sets,-I$dir -DSPARSEHS_FILE=\"renamed.h\"" gcc -std=c99 -O1
fi
if begin links gcc nm; then
    compile "$dir/links.build" sh tests/checks/check_links.sh
    finish "two copies, float and double in one program"
fi

# ---- what tools say of the header ------------------------------------------------------------------------------------

# Everything that clang can warn of, but: the padding of structs; joint assignments by commas; comparisons with zero and with
# oneself, which are exact; functions marked unused, since nobody calls all; switches that leave the rest to a text at the end;
# the API's own macros; int functions whose value is converted; masks of comparisons, in another integer type of the same width.
# In C++ also what is C: casts, NULL, and __ inside names; and what C++98 did not have.
everything="-Weverything -Wno-padded -Wno-comma -Wno-float-equal -Wno-used-but-marked-unused -Wno-switch-enum"
everything="$everything -Wno-unused-macros -Wno-bad-function-cast -Wno-vector-conversion"
everything_plus="-Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-old-style-cast -Wno-zero-as-null-pointer-constant"
everything_plus="$everything_plus -Wno-reserved-identifier -Wno-reserved-macro-identifier"
implementation=-DSPARSEHS_IMPLEMENTATION
if begin clang-everything clang clang++; then
    for s in "" -DSPARSEHS_DOUBLE -DSPARSEHS_NO_DOUBLE -DSPARSEHS_NO_SIMD; do
        # shellcheck disable=SC2086
        compile "$dir/c$s.build" clang -std=c99 -O2 -fsyntax-only $everything $s $implementation -x c sparsehs.h
        # shellcheck disable=SC2086
        compile "$dir/c++$s.build" clang++ -std=c++11 -O2 -fsyntax-only $everything $everything_plus $s $implementation \
            -x c++ sparsehs.h
    done
    finish "compiled only"
fi
# As Microsoft's compiler would see it: with clang's extensions and, plainer, without; stand-ins for Microsoft's headers. There the
# kernels are intrinsics, with MSVC_OPAQUE on types that have no operators. __forceinline is an extension of that compiler's own.
plainer="-U__clang__ -U__GNUC__ -Wno-language-extension-token"
clang_cl=clang-cl
have clang-cl || clang_cl=clang-cl-14
if begin clang-cl $clang_cl; then
    for language in TC TP; do
        for s in "-DAS_CLANG" "-DSPARSEHS_INTRINSICS" "$plainer" "$plainer -DSPARSEHS_DOUBLE" "$plainer -DSPARSEHS_NO_DOUBLE" \
            "$plainer -DSPARSEHS_NO_SIMD" "$plainer -DMSVC_OPAQUE" "$plainer -DMSVC_OPAQUE -DSPARSEHS_DOUBLE"; do
            # shellcheck disable=SC2086
            compile "$dir/$language$(echo "$s" | tr -d ' ').build" $clang_cl --target=x86_64-pc-windows-msvc /$language \
                /W4 -Wpedantic -Wgnu -Wvla -I$here/msvc $s $implementation /O2 /Zs sparsehs.h
        done
        # shellcheck disable=SC2086
        compile "$dir/${language}arm64.build" $clang_cl --target=aarch64-pc-windows-msvc /$language \
            /W4 -Wpedantic -Wgnu -Wvla -I$here/msvc $plainer $implementation /O2 /Zs sparsehs.h
    done
    finish "compiled only"
fi
# Layouts run twice, first without memory, to count: the analyser takes the NULL of the first pass for a buffer of the second.
# Three checkers of null pointers can therefore not be used; sanitizers and tests with failing allocators stand in.
if begin clang-analyze clang; then
    # shellcheck disable=SC2086
    compile "$dir/analyze.build" clang --analyze -Xclang -analyzer-disable-checker -Xclang core.NullDereference \
        -Xclang -analyzer-disable-checker -Xclang core.NonNullParamChecker \
        -Xclang -analyzer-disable-checker -Xclang unix.cstring.NullArg -std=c99 $implementation -x c sparsehs.h -o /dev/null
    finish "analysed only"
fi
# cppcheck takes the address of a variable for a use of its value (uninitvar); compilers and the analyser know better.
if begin cppcheck cppcheck; then
    compile "$dir/cppcheck.build" cppcheck --std=c99 --language=c $implementation -D__GNUC__=12 -D__OPTIMIZE__ --quiet \
        --enable=warning,performance,portability --suppress=uninitvar --error-exitcode=1 \
        '--template={file}:{line}: warning: {message}' sparsehs.h
    finish "analysed only"
fi
if begin clang-tidy clang-tidy; then
    compile "$dir/tidy.build" clang-tidy --quiet sparsehs.h -- -std=c99 $implementation -x c
    finish "analysed only"
fi

# ---- other processors, under QEMU ------------------------------------------------------------------------------------

# A third of the time, left out where each instruction costs twenty: smaller tests of the same kind remain.
TESTS_LEFT_OUT="test_stops_like_double_learned test_stops_like_double_dct test_golden_deflation_beach"
TESTS_LEFT_OUT="$TESTS_LEFT_OUT test_moments_and_sweep_beach"
export TESTS_LEFT_OUT
libraries="-static -lpthread -lm"
begin aarch64 aarch64-linux-gnu-gcc qemu-aarch64 && suite qemu-aarch64 "" aarch64-linux-gnu-gcc -std=c99 -O2
# With sdot, the dot product of bytes. The emulator's processor has it.
begin aarch64-dotprod aarch64-linux-gnu-gcc qemu-aarch64 && suite qemu-aarch64 "" aarch64-linux-gnu-gcc -std=c99 -O2 \
    -march=armv8.2-a+dotprod
begin aarch64-intrinsics aarch64-linux-gnu-gcc qemu-aarch64 && suite qemu-aarch64 "" aarch64-linux-gnu-gcc -std=c99 -O2 \
    -march=armv8.2-a+dotprod -DSPARSEHS_INTRINSICS
begin armhf arm-linux-gnueabihf-gcc qemu-arm && suite qemu-arm "" arm-linux-gnueabihf-gcc -std=c99 -O2
begin armhf-neon arm-linux-gnueabihf-gcc qemu-arm && suite qemu-arm "" arm-linux-gnueabihf-gcc -std=c99 -O2 -mfpu=neon
begin riscv64 riscv64-linux-gnu-gcc qemu-riscv64 && suite qemu-riscv64 "" riscv64-linux-gnu-gcc -std=c99 -O2
# By the rules of C99 gcc evaluates float in double there (FLT_EVAL_METHOD is 1): each comparison would be warned of.
begin s390x s390x-linux-gnu-gcc qemu-s390x && strict="$strict -Wno-double-promotion" suite qemu-s390x "" \
    s390x-linux-gnu-gcc -std=c99 -O2

unset TESTS_LEFT_OUT

if begin cortex-m arm-none-eabi-gcc qemu-system-arm; then
    compile "$dir/cortex-m.build" sh examples/cortex_m/run.sh
    finish "results as on the host"
fi

# ---- Windows, under wine; WebAssembly, under node --------------------------------------------------------------------

WINEPREFIX=$PWD/$out/wine WINEDEBUG=-all
export WINEPREFIX WINEDEBUG
libraries="-static -lpthread -lm"
# The prefix is made first, by one program: those that run side by side would each begin to make it.
if begin mingw-w64 x86_64-w64-mingw32-gcc wine; then
    wine wineboot --init >"$dir/prefix.log" 2>&1 </dev/null
    everywhere=$tests
    tests="$tests thread_ranks" # on Windows' own threads
    suite wine .exe x86_64-w64-mingw32-gcc -std=c99 -O2 -D__USE_MINGW_ANSI_STDIO=1
    tests=$everywhere
fi
if begin mingw-w64-intrinsics x86_64-w64-mingw32-gcc wine; then
    suite wine .exe x86_64-w64-mingw32-gcc -std=c99 -O2 -D__USE_MINGW_ANSI_STDIO=1 -DSPARSEHS_INTRINSICS -DSPARSEHS_DISPATCH
fi

# Debian keeps emscripten's own modules apart from other nodes'.
NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
export NODE_PATH
libraries="-pthread -sPROXY_TO_PTHREAD=1 -sNODERAWFS=1 -sINITIAL_MEMORY=512MB -sEXIT_RUNTIME=1 --pre-js $here/node.js"
begin wasm emcc node && suite node .js emcc -std=gnu99 -O2
begin wasm-simd emcc node && suite node .js emcc -std=gnu99 -O2 -msimd128

[ "$wanted" = --list ] && exit 0
for row in $(sh "$0" --list); do
    [ ! -f "$out/lines/$row" ] || cat "$out/lines/$row"
done >"$table"
echo
cat "$table"
exit $failed
