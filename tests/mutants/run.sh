#!/bin/sh
# make mutants: N random changes to sparsehs.h (SEED), one at a time, each against the tests. Those that no test notices are
# listed, and also in build/mutants/survivors. JOBS of them run side by side. Fails where fewer than nine of ten are caught.
#
# A change is made in code that one of these ways of compiling the header (views) sees, and is tested in the first that sees
# it; tests/mutants/mutate.c says which changes. One after which the compiler makes the same object code is none: another is
# drawn, as for one that does not compile. The tests of the section come first, and the first failure ends it. What all tests
# pass in float is tested in double, and then with AddressSanitizer and UndefinedBehaviorSanitizer, as in make test.
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc} N=${N:-50} SEED=${SEED:-1} OPENMP=${OPENMP:-} SANITIZE=${SANITIZE:-}
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 1)}
out=build/mutants
# Suites that look inside have a private copy of the library; the others are linked with one object of it.
INSIDE=${INSIDE:-}
export CC N SEED OPENMP SANITIZE INSIDE
# The real data take time and reach nothing more; a test that is skipped without them may leak.
export SHS_DATA=none OMP_NUM_THREADS=3 OMP_WAIT_POLICY=passive ASAN_OPTIONS=detect_leaks=0

# All tests but those of devices, the quickest first, then those that are not named here.
tests="arguments learning patches pca properties cubes coding extremes engines context inside ica eigen kernels pixels faults threads dense"
for file in tests/test_*.c; do
    name=$(basename "$file" .c)
    case $name in test_cl_*) continue ;; esac
    case " $tests " in *" ${name#test_} "*) ;; *) tests="$tests ${name#test_}" ;; esac
done

# The instruction set of the compiler's flags; the kernels chosen at run time; OpenMP; double; the sanitizers.
own="-DSPARSEHS_NO_DISPATCH -DSPARSEHS_NO_OPENMP"
flags_of() { # view
    case $1 in
    0) echo "$own" ;;
    1) echo "-DSPARSEHS_NO_OPENMP" ;;
    2) echo "-DSPARSEHS_NO_DISPATCH ${OPENMP:--DSPARSEHS_NO_OPENMP}" ;;
    3) echo "$own -DSPARSEHS_DOUBLE" ;;
    4) echo "$own -g $SANITIZE -fno-sanitize-recover=all" ;;
    esac
}

# What compiles, with what stands in for cmocka where there is none.
# shellcheck disable=SC2046,SC2086 # lists of words
compile() { # view, arguments
    view=$1
    shift
    "$CC" -std=c99 -w -O1 $(flags_of "$view") $(cat $out/stand_in) "$@"
}

# The tests of the section that the line is in, by the banners of the implementation.
nearest() { # line
    case $(awk -v line="$1" '/^\/\* ([0-9]+  [A-Z]|KERNELS|ENGINES)/ { banner = $2 } NR == line { print banner; exit }' \
        sparsehs.h) in
    2) echo "context arguments faults" ;;
    3) echo "context learning" ;;
    KERNELS) echo "dense kernels pixels coding" ;;
    4) echo "dense eigen" ;;
    5) echo "eigen pca" ;;
    6) echo "coding inside arguments" ;;
    7) echo "learning" ;;
    8) echo "patches" ;;
    9) echo "cubes kernels pixels" ;;
    10) echo "pca" ;;
    11) echo "ica inside" ;;
    esac
}

copy_tests() { # folder
    mkdir -p "$1/tests"
    for file in tests/*.[ch]; do ln -s "$PWD/$file" "$1/$file"; done
}

# The library of a folder's copy in a view, for the suites that are linked with it.
library() { # folder, view
    [ ! -f "$1/library$2.o" ] || return 0
    compile "$2" -c "$1/tests/library.c" -o "$1/library$2.$$" 2>>"$1/errors" && mv "$1/library$2.$$" "$1/library$2.o"
}

# Whether a test passes in a folder's copy. A loop without an end is ended.
passes() { # folder, view, test
    program=$1/test_$3$2 seconds=30 links="-lm -lpthread"
    [ -f "tests/test_$3.c" ] || return 0
    [ -s $out/stand_in ] || links="-lcmocka $links"
    # shellcheck disable=SC2086 # a list of words
    case " $INSIDE " in
    *" test_$3 "*) compile "$2" -DSPARSEHS_STATIC -o "$program" "$1/tests/test_$3.c" $links 2>>"$1/errors" ;;
    *) library "$1" "$2" &&
        compile "$2" -DTEST_LINKED -o "$program" "$1/tests/test_$3.c" "$1/library$2.o" $links 2>>"$1/errors" ;;
    esac || return 1
    [ "$2" -lt 4 ] || seconds=300
    (ulimit -c 0; ulimit -t $seconds; exec timeout $((10 * seconds)) "$program") >"$program.log" 2>&1 </dev/null || return 1
    rm -f "$program"
}

caught() { # number, by
    echo "caught by test_$2: $(cat "$out/$1/what")" | tee "$out/$1/caught"
    rm -rf "$out/$1/tests" "$out/$1"/*.[ho] "$out/$1"/test_*
}

case ${1:-all} in
unchanged) # view, test
    case $3 in
    library) library $out/0 "$2" ;;
    *) passes $out/0 "$2" "$3" ;;
    esac || { echo "mutants: $3 fails without a change ($(flags_of "$2"))" >&2; exit 1; }
    exit
    ;;
draw) # number
    at=$out/$2 try=0
    copy_tests "$at"
    while :; do
        $out/mutate sparsehs.h "$SEED" "$2" $try $out/view0 $out/view1 $out/view2 $out/view3 >"$at/sparsehs.h" 2>"$at/drawn"
        read -r view line what <"$at/drawn"
        try=$((try + 1))
        rm -f "$at"/library*
        library "$at" "$view" || continue
        cmp -s "$at/library$view.o" "$out/0/library$view.o" || break
    done
    echo "sparsehs.h:$line: $what" >"$at/what"
    order=$(nearest "$line")
    for t in $tests; do case " $order " in *" $t "*) ;; *) order="$order $t" ;; esac; done
    for t in $order; do passes "$at" "$view" "$t" || { caught "$2" "$t"; exit 0; }; done
    exit 0
    ;;
again) # view, number, test
    [ -f "$out/$3/caught" ] || passes "$out/$3" "$2" "$4" || [ -f "$out/$3/caught" ] || caught "$3" "$4"
    exit 0
    ;;
esac

rm -rf $out
mkdir -p $out
printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\n' >$out/probe.c
echo 'int main(void) { return 0; }' >>$out/probe.c
: >$out/stand_in
"$CC" -o $out/probe $out/probe.c -lcmocka 2>/dev/null || echo -Itests/portability >$out/stand_in
"$CC" -std=c99 -O1 -o $out/mutate tests/mutants/mutate.c
for v in 0 1 2 3; do
    compile $v -DSPARSEHS_IMPLEMENTATION -x c -E sparsehs.h |
        awk '/^# [0-9]+ "/ { line = $2 - 1; ours = $3 ~ /sparsehs\.h"$/; next } { line++ } ours && NF { print line }' |
        sort -nu >$out/view$v
done

# Without a change the tests must pass.
copy_tests $out/0
ln -s "$PWD/sparsehs.h" $out/0/sparsehs.h
side_by_side() { xargs -r -P "$JOBS" -n "$1" sh tests/mutants/run.sh "$2"; }
more="3${SANITIZE:+ 4}"
for v in 0 1 2 3 $more; do echo "$v library"; done | sort -u | side_by_side 2 unchanged
for v in 0 $more; do for t in $tests; do echo "$v $t"; done; done | side_by_side 2 unchanged

numbers=$(awk -v n="$N" 'BEGIN { for (i = 1; i <= n; i++) print i }')
survivors() { for i in $numbers; do [ -f "$out/$i/caught" ] || echo "$i"; done; }
echo "$numbers" | side_by_side 1 draw
for v in $more; do
    for i in $(survivors); do for t in $tests; do echo "$v $i $t"; done; done | side_by_side 3 again
done

for i in $(survivors); do
    echo "SURVIVED: $(cat $out/"$i"/what)"
    diff -U 2 sparsehs.h $out/"$i"/sparsehs.h | sed 1,2d
done | tee $out/survivors
left=$(survivors | wc -l)
echo "mutants: $((N - left)) of $N changes caught (SEED=$SEED)"
[ $((10 * left)) -le "$N" ]
