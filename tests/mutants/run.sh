#!/bin/sh
# make mutants: N random changes to sparsehs.h (SEED), one at a time, each against the tests. Changes that no test notices are
# listed, and also in the run's folder: build/mutants/run.*/survivors. JOBS of them run side by side. Fails where fewer than
# nine of ten are caught.
#
# A change is made in code that one of these ways of compiling the header (views) sees, and is tested in the first that sees
# it; tests/mutants/mutate.c says which changes. Another change is drawn where the compiler makes the same object code, or none.
#
# First the unchanged library is measured: each suite must pass, and gcov says which lines it reaches in how much time. This is
# kept in build/mutants/base.* until the header, the tests or the compiler change. A change is tested by the suites that reach
# its line, the quickest first, until one fails. What all of them pass in float is tested in double, and then with
# AddressSanitizer and UndefinedBehaviorSanitizer, by the suites of at most 2 seconds.
#
# Limits are of processor time, which a busy machine does not use up; what waits for ever is seen by using none. Several runs
# may go on at once.
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc} N=${N:-20} SEED=${SEED:-1} OPENMP=${OPENMP:-} SANITIZE=${SANITIZE:-}
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 1)}
# Suites that look inside have a private copy of the library; the others are linked with one object of it.
INSIDE=${INSIDE:-}
all=build/mutants out=${MUTANTS_OUT:-} base=${MUTANTS_BASE:-}
export CC N SEED OPENMP SANITIZE INSIDE
# The real data take time and reach nothing more; a test that is skipped without them may leak.
export SHS_DATA=none OMP_NUM_THREADS=3 OMP_WAIT_POLICY=passive ASAN_OPTIONS=detect_leaks=0

tests=
for file in tests/test_*.c; do
    name=${file#tests/test_} name=${name%.c}
    case $name in cl_*) ;; *) tests="$tests $name" ;; esac
done

# No view chooses kernels at run time. OpenMP and double see lines of their own; the sanitizers see those of the first.
own="-DSPARSEHS_NO_DISPATCH -DSPARSEHS_NO_OPENMP"
flags_of() { # view
    case $1 in
    0) echo "$own" ;;
    1) echo "-DSPARSEHS_NO_DISPATCH ${OPENMP:--DSPARSEHS_NO_OPENMP}" ;;
    2) echo "$own -DSPARSEHS_DOUBLE" ;;
    3) echo "$own -g1 $SANITIZE -fno-sanitize-recover=all" ;;
    cover) echo "$own --coverage" ;;
    esac
}
compile() { # view, arguments
    view=$1
    shift
    # shellcheck disable=SC2046,SC2086 # lists of words
    "$CC" -std=c99 -w -O1 $(flags_of "$view") ${stand_in:-} "$@"
}
# What stands in for cmocka where there is none.
links="-lm -lpthread" stand_in=
[ ! -f "${base:-.}/stand_in" ] || stand_in=-Itests/portability
[ -n "$stand_in" ] || links="-lcmocka $links"

copy_tests() { # folder
    mkdir -p "$1/tests"
    for file in tests/*.[ch]; do ln -s "$PWD/$file" "$1/$file"; done
}

# The library of a folder's copy in a view, for the suites that are linked with it.
library() { # folder, view
    [ -f "$1/library$2.o" ] || {
        compile "$2" -c "$1/tests/library.c" -o "$1/library$2.$$.o" 2>>"$1/errors" && mv "$1/library$2.$$.o" "$1/library$2.o"
    }
}

# A suite beside the library: the same object for all changes, made where it is first asked for.
suite() { # view, test
    [ -f "$base/test_$2.$1.o" ] || {
        compile "$1" -DTEST_LINKED -c "tests/test_$2.c" -o "$base/test_$2.$1.$$.o" && mv "$base/test_$2.$1.$$.o" "$base/test_$2.$1.o"
    }
}

# shellcheck disable=SC2086 # lists of words
build() { # folder, view, test, program
    case " $INSIDE " in
    *" test_$3 "*) compile "$2" -DSPARSEHS_STATIC -o "$4" "$1/tests/test_$3.c" $links 2>>"$1/errors" ;;
    *) library "$1" "$2" && suite "$2" "$3" &&
        compile "$2" -o "$4" "$base/test_$3.$2.o" "$1/library$2.o" $links 2>>"$1/errors" ;;
    esac
}

# Ends a program that has used no processor time for a minute: its threads wait for ever.
watch() { # process
    before=
    while sleep 60; do
        now=$(cut -d ' ' -f 14,15 "/proc/$1/stat" 2>/dev/null)
        [ -n "$now" ] || return 0
        [ "$now" != "$before" ] || kill -9 "$1"
        before=$now
    done
}

# Whether a test passes in a folder's copy. A loop without an end is ended by its processor time.
passes() { # folder, view, test
    program=$1/test_$3.$2.$$
    seconds=$(awk -v t="$3" '$2 == t { printf "%d", 20 + 5 * $1 }' "$base/times")
    [ "$2" -lt 3 ] || seconds=$((10 * seconds))
    build "$@" "$program" || return 1
    (ulimit -c 0; ulimit -t "$seconds"; exec "$program") >"$program.log" 2>&1 </dev/null &
    runs=$!
    watch "$runs" >/dev/null 2>&1 &
    watches=$!
    wait "$runs" && ended=0 || ended=1
    kill "$watches" 2>/dev/null || :
    [ "$ended" = 0 ] || return 1
    rm -f "$program" "$program.log"
}

# The suites that reach a line, or the statement that it is part of, the quickest first; all of them where gcov does not say.
reaching() { # view, line
    by=all
    [ "$1" -gt 0 ] || by=$(awk -v line="$2" '$2 <= line && $2 > line - 12 { by[$2] = by[$2] " " $1; if ($2 > at) at = $2 }
        END { print at ? by[at] " " : "all" }' "$base/reached")
    sort -n "$base/times" | while read -r _ t; do
        case $by in all | *" $t "*) echo "$t" ;; esac
    done
}

caught() { # number, by
    echo "caught by test_$2: $(cat "$out/$1/what")" | tee "$out/$1/caught"
    rm -rf "$out/$1/tests" "$out/$1"/*.[ho] "$out/$1"/test_*
}

case ${1:-all} in
measure) # test: it passes, takes so long and reaches these lines
    at=$base/$2
    mkdir "$at"
    case " $INSIDE " in
    *" test_$2 "*) compile cover -DSPARSEHS_STATIC -c -o "$at/library.o" "tests/test_$2.c" ;;
    *) suite 0 "$2" && cp "$base/test_$2.0.o" "$at/test.o" && cp "$base"/cover/library.o "$at" ;;
    esac
    # shellcheck disable=SC2086 # lists of words
    compile cover -o "$at/test" "$at"/*.o $links
    export GCOV_PREFIX_STRIP=99 GCOV_PREFIX="$PWD/$at"
    sh -c '"$1/test" >"$1/log" 2>&1 </dev/null || exit 1; times >"$1/took"' - "$at" ||
        { tail -5 "$at/log"; echo "mutants: test_$2 fails without a change" >&2; exit 255; }
    awk 'NR == 2 { split($1 "m" $2, t, /[ms]/); printf "%.2f %s\n", 60 * t[1] + t[2] + 60 * t[4] + t[5], test }' test="$2" \
        "$at/took" >"$at/time"
    [ -f "$at"/library.gcno ] || cp "$base/cover/library.gcno" "$at"
    (cd "$at" && gcov -t library.gcda 2>/dev/null) | awk -F: -v test="$2" '
        /^ *-: *0:Source:/ { ours = /sparsehs\.h$/ }
        ours && $2 + 0 > 0 { count = $1; gsub(/[ *]/, "", count)
            if (count ~ /^[0-9]/ && count + 0 > 0) print test, $2 + 0; else if (count ~ /^#/) print "-", $2 + 0 }' >"$at/lines"
    rm -f "$at"/*.o "$at/test"
    exit
    ;;
draw) # number
    at=$out/$2 try=0
    copy_tests "$at"
    while :; do
        "$base/mutate" sparsehs.h "$SEED" "$2" $try "$base"/view0 "$base"/view1 "$base"/view2 >"$at/sparsehs.h" 2>"$at/drawn"
        read -r view line what <"$at/drawn"
        try=$((try + 1))
        rm -f "$at"/library*
        library "$at" "$view" || continue
        cmp -s "$at/library$view.o" "$base/library$view.o" || break
    done
    echo "sparsehs.h:$line: $what" >"$at/what"
    for t in $(reaching "$view" "$line"); do passes "$at" "$view" "$t" || { caught "$2" "$t"; exit 0; }; done
    # In the views that follow, by what is quick there and passes without the change.
    for v in 2 ${SANITIZE:+3}; do
        [ "$v" != "$view" ] || continue
        for t in $(reaching "$view" "$line"); do
            awk -v t="$t" '$2 == t && $1 <= 2 { quick = 1 } END { exit !quick }' "$base/times" || continue
            if ! passes "$at" "$v" "$t" && passes "$base" "$v" "$t"; then caught "$2" "$t"; exit 0; fi
        done
    done
    exit 0
    ;;
esac

# What is known of the unchanged library, by its content; another run may be about to make the same.
mkdir -p $all
find $all -mindepth 1 -maxdepth 1 -mtime +1 -exec rm -rf {} +
key=$({ cat sparsehs.h tests/*.[ch] tests/mutants/*; "$CC" --version; echo "$CC $OPENMP $INSIDE"; } | cksum | tr ' ' -)
base=$all/base.$key
measured() {
    mkdir "$base/cover"
    : >"$base/times"
    printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\n' >"$base/probe.c"
    echo 'int main(void) { return 0; }' >>"$base/probe.c"
    if ! "$CC" -o "$base/probe" "$base/probe.c" -lcmocka 2>/dev/null; then
        touch "$base/stand_in"
        stand_in=-Itests/portability links="-lm -lpthread"
    fi
    "$CC" -std=c99 -O1 -o "$base/mutate" tests/mutants/mutate.c
    for v in 0 1 2; do
        compile $v -DSPARSEHS_IMPLEMENTATION -x c -E sparsehs.h |
            awk '/^# [0-9]+ "/ { line = $2 - 1; ours = $3 ~ /sparsehs\.h"$/; next } { line++ } ours && NF { print line }' |
            sort -nu >"$base/view$v"
    done
    copy_tests "$base"
    ln -s "$PWD/sparsehs.h" "$base/sparsehs.h"
    for v in 0 1 2; do library "$base" $v; done &
    (cd "$base/cover" && "$CC" -std=c99 -w -O1 $(flags_of cover) ${stand_in:+-I../../../../tests/portability} \
        -c ../../../../tests/library.c -o library.o) || return 1
    wait
    # shellcheck disable=SC2086 # a list of words
    printf '%s\n' $tests | MUTANTS_BASE=$base xargs -P "$JOBS" -n 1 sh tests/mutants/run.sh measure || return 1
    cat "$base"/*/lines >"$base/reached"
    cat "$base"/*/time >"$base/times"
}
if [ ! -d "$base" ]; then
    kept=$base base=$(mktemp -d $all/making.XXXXXX)
    measured || { rm -rf "$base"; exit 1; }
    mv "$base" "$kept" 2>/dev/null || rm -rf "$base"
    base=$kept
fi

out=$(mktemp -d $all/run.XXXXXX)
export MUTANTS_OUT="$out" MUTANTS_BASE="$base"
numbers=$(awk -v n="$N" 'BEGIN { for (i = 1; i <= n; i++) print i }')
echo "$numbers" | xargs -r -P "$JOBS" -n 1 sh tests/mutants/run.sh draw
survivors() { for i in $numbers; do [ -f "$out/$i/caught" ] || echo "$i"; done; }
for i in $(survivors); do
    echo "SURVIVED: $(cat "$out/$i/what")"
    diff -U 2 sparsehs.h "$out/$i/sparsehs.h" | sed 1,2d
done | tee "$out/survivors"
left=$(survivors | wc -l)
rm -rf "$out"/*/tests "$out"/*/*.o "$out"/*/test_*
echo "mutants: $((N - left)) of $N changes caught (SEED=$SEED; $out)"
[ $((10 * left)) -le "$N" ]
