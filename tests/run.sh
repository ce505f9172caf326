#!/bin/sh
# Runs tests, says one line for each suite as it ends, and the sums at the end.
#
#     sh tests/run.sh all MAKE TARGETS...     makes the targets, two at a time and more where there are more processors
#     sh tests/run.sh one NAME COMMAND...     one suite: its output goes to build/log/NAME.log
#
# A suite's numbers are read from what it prints: cmocka's closing lines, or `N passed, N failed`. A command that prints neither
# counts as one test. Where a suite fails its output is shown at once and in full. Times for "left" are those of the last run,
# else of tests/seconds.txt.
set -u
LC_ALL=C
export LC_ALL
logs=build/log

now() { date +%s.%N; }

# The numbers of a log: passed, failed, skipped.
numbers() { # log, exit status
    awk -v status="$2" '
        /^\[  PASSED  \] [0-9]+ test\(s\)/ { passed += $4; seen = 1 }
        /^\[  FAILED  \] [0-9]+ test\(s\)/ { failed += $4; seen = 1 }
        /^\[  SKIPPED \] [0-9]+ test\(s\)/ { skipped += $4; seen = 1 }
        /^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; if ($6 == "skipped") skipped += $5; seen = 1 }
        END {
            if (!seen && status == 0) passed = 1
            if (failed == 0 && status != 0) failed = 1
            print passed + 0, failed + 0, skipped + 0
        }' "$1"
}

# Seconds that the suites which have not ended took at the last run, shared by the jobs that run side by side.
left() { # folder of this run
    { sed 's/^/usual /' tests/seconds.txt 2>/dev/null; sed 's/^/last /' build/log/seconds 2>/dev/null; sed 's/^/planned /' "$1/planned"
      cat "$1"/*.done | sed 's/^/ended /'; } | awk -v jobs="${SHS_JOBS:-1}" '
        $1 == "usual" || $1 == "last" { seconds[$2] = $3 }
        $1 == "planned" { wanted[$2] = 1 }
        $1 == "ended" { delete wanted[$2]; expected += seconds[$2]; took += $6 }
        END {
            for (name in wanted) sum += name in seconds ? seconds[name] : 2
            if (expected > 5) sum *= took / expected
            sum = int(sum / jobs + 0.5)
            printf "%d:%02d left", int(sum / 60), sum % 60
        }'
}

one() { # name, command ...
    name=$1
    shift
    log=$logs/$name.log
    mkdir -p "$(dirname "$log")"
    begun=$(now)
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    took=$(awk -v from="$begun" -v to="$(now)" 'BEGIN { printf "%.1f", to - from }')
    # shellcheck disable=SC2046 # three numbers
    set -- $(numbers "$log" $status)
    counter= remaining= skipped=
    [ "$3" = 0 ] || skipped=", $3 skipped"
    if [ -n "${SHS_RUN:-}" ]; then
        echo "$name $1 $2 $3 $took" >"$SHS_RUN/$(echo "$name" | tr / -).done"
        counter="$(ls "$SHS_RUN" | grep -c '\.done$') of $(wc -l <"$SHS_RUN/planned" | tr -d ' ')  "
        remaining="  $(left "$SHS_RUN")"
    fi
    if [ "$2" = 0 ]; then
        printf '%s%-24s %s passed%s  %s s%s\n' "$counter" "$name" "$1" "$skipped" "$took" "$remaining"
        return 0
    fi
    # One write, so that lines of suites beside it stay whole.
    shown=$(printf '%s%-24s %s passed, %s FAILED%s  %s s, exit status %s: %s\n' "$counter" "$name" "$1" "$2" "$skipped" "$took" \
        "$status" "$log"; grep -vE '^\[ (RUN     |      OK) \]' "$log")
    printf '%s\n' "$shown"
    return 1
}

# Why tests were skipped, and what to do.
reasons() {
    while read -r name _; do echo "$logs/$name.log"; done <"$SHS_RUN/ended" | xargs -r cat | awk '
        /^skipped: there is no .*(data|golden)|^without real data|^skipped there is no .*(data|golden)/ { data++; next }
        /^skipped/ { sub(/^skipped:? */, ""); other[$0]++ }
        END {
            if (data) print data " skipped: no real data, set SHS_DATA to the folder that has it"
            for (reason in other) print other[reason] " skipped: " reason
        }'
}

all() { # make, targets ...
    make=$1
    shift
    SHS_RUN=build/run/$$
    export SHS_RUN
    rm -rf "$SHS_RUN"
    mkdir -p "$SHS_RUN" "$logs"
    for target in "$@"; do target=${target#build/}; echo "${target%.run}"; done >"$SHS_RUN/planned"
    SHS_JOBS=${SHS_JOBS:-$(nproc 2>/dev/null || echo 2)}
    export SHS_JOBS
    # Inside another make its own jobs are used.
    jobs=-j$SHS_JOBS
    case " ${MAKEFLAGS:-} " in *jobserver*) jobs= ;; esac
    quiet=-s
    [ -z "${V:-}" ] || quiet=
    echo "$# suites, $SHS_JOBS side by side; each suite's output is in $logs/. The library is compiled first: half a minute."
    # shellcheck disable=SC2086 # flags that may be missing
    $make $quiet $jobs -k "$@"
    status=$?
    cat "$SHS_RUN"/*.done >"$SHS_RUN/ended" 2>/dev/null || : >"$SHS_RUN/ended"
    awk '{ print $1, $5 }' "$SHS_RUN/ended" >"$SHS_RUN/seconds"
    { cat "$SHS_RUN/seconds"; [ ! -f $logs/seconds ] || cat $logs/seconds; } | awk '!seen[$1]++' >"$SHS_RUN/merged"
    mv "$SHS_RUN/merged" $logs/seconds
    reasons
    awk '$3 > 0 { print "FAILED: " $1 ", see '$logs'/" $1 ".log" }' "$SHS_RUN/ended"
    absent=$(awk 'NR == FNR { ended[$1] = 1; next } !($1 in ended) { print $1 }' "$SHS_RUN/ended" "$SHS_RUN/planned")
    [ -z "$absent" ] || echo "NOT RUN, since something before them failed:" $absent
    awk -v absent="$(echo "$absent" | wc -w)" '{ passed += $2; failed += $3; skipped += $4 }
        END { printf "%d passed, %d failed, %d skipped\n", passed, failed + absent, skipped }' "$SHS_RUN/ended"
    rm -rf "$SHS_RUN"
    [ $status -eq 0 ] && [ -z "$absent" ]
}

what=$1
shift
"$what" "$@"
