#!/bin/sh
# make fuzz: random inputs for every public function and the readers, sanitizers on. From the project's root:
#
#     sh tests/fuzz/run.sh          builds the targets, runs each for FUZZ_SECONDS (0: for ever) or RUNS executions (-1: any number)
#     sh tests/fuzz/run.sh corpus   writes anew the inputs that are kept
#
# What is new is collected below build/; the kept inputs are run first. A finding stays there, and ends it. FUZZ_REAL=double
# fuzzes the library in double.
set -eu
cc=${FUZZ_CC:-clang}
out=build/fuzz${FUZZ_REAL:+-$FUZZ_REAL}
flags="-std=c99 -Wall -Wextra -gline-tables-only -O2 -fno-omit-frame-pointer -fno-sanitize-recover=all"
flags="$flags ${FUZZ_REAL:+-DSPARSEHS_DOUBLE} -fsanitize=address,undefined"
# Only the reader compares what it reads with words: elsewhere a call at every comparison costs more than it finds.
trace="-fsanitize-coverage=inline-8bit-counters,indirect-calls,pc-table"
targets=$(for file in tests/fuzz/fuzz_*.c; do basename "$file" .c | sed 's/^fuzz_//'; done)

# One target, or the library, if it is older than what it is made of.
if [ "${1:-}" = build ]; then
    t=$2
    made=$out/fuzz_$t.o
    from="tests/fuzz/fuzz_$t.c"
    [ "$t" != library ] || from=tests/fuzz/library.c
    [ "$t" != reader ] || trace=-fsanitize=fuzzer-no-link
    for file in sparsehs.h tests/memory_file.h tests/fuzz/*.[ch] tests/fuzz/run.sh examples/*.h examples/hypercube/*.[ch]; do
        # shellcheck disable=SC2086 # lists of words
        [ "$made" -nt "$file" ] || { $cc $flags $trace -c "$from" -o "$made"; break; }
    done
    exit
fi

mkdir -p "$out"
echo 'int LLVMFuzzerTestOneInput(const char *, unsigned long);
int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return (void)d, (void)n, 0; }' >"$out/probe.c"
$cc -fsanitize=fuzzer,address,undefined "$out/probe.c" -o "$out/probe" 2>/dev/null || {
    echo "skipped: there is no $cc with libFuzzer here"
    exit 0
}
for t in library $targets; do echo "$t"; done | xargs -P "${JOBS:-$(nproc 2>/dev/null || echo 2)}" -n 1 sh "$0" build
for t in $targets; do
    $cc -fsanitize=fuzzer,address,undefined -o "$out/fuzz_$t" "$out/fuzz_$t.o" "$out/fuzz_library.o" -lm
done

if [ "${1:-}" = corpus ]; then
    for t in $targets; do FUZZ_TARGET=$t sh tests/fuzz/keep.sh; done
    exit
fi
# Executions are short: what the fuzzer and the sanitizers do for each of them counts.
ASAN_OPTIONS=quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=0:detect_leaks=${LEAKS:-1}
export ASAN_OPTIONS
for t in $targets; do
    mkdir -p "$out/corpus/$t"
    set -- -max_total_time="${FUZZ_SECONDS:-60}" -runs="${RUNS:--1}" -timeout="${FUZZ_TIMEOUT:-10}" -max_len=400 \
        -rss_limit_mb=4000 -entropic=0 -reload=0 -print_final_stats=1 -artifact_prefix="$out/$t-"
    [ ! -f "tests/fuzz/$t.dict" ] || set -- "$@" -dict="tests/fuzz/$t.dict"
    "$out/fuzz_$t" "$@" "$out/corpus/$t" "tests/fuzz/corpus/$t" >"$out/$t.log" 2>&1 || {
        tail -40 "$out/$t.log"
        grep 'does not hold\|ERROR: AddressSanitizer\|runtime error\|ERROR: libFuzzer' "$out/$t.log" # what it was, at the end
        exit 1
    }
    sed -n "s/stat::number_of_executed_units: */fuzz $t: executions without a finding: /p" "$out/$t.log"
done
