#!/bin/sh
# Keeps of all inputs found so far ($FUZZ_TARGET's, below build/fuzz/corpus) those that together reach most, 24 at most.
set -eu
t=$FUZZ_TARGET
rm -rf "build/fuzz/least/$t"
mkdir -p "build/fuzz/least/$t" "tests/fuzz/corpus/$t"
"build/fuzz/fuzz_$t" -merge=1 "build/fuzz/least/$t" "tests/fuzz/corpus/$t" "build/fuzz/corpus/$t" >/dev/null 2>&1
rm -f "tests/fuzz/corpus/$t"/*
# Larger inputs reach more, as a rule; every n-th by size.
count=$(find "build/fuzz/least/$t" -type f | wc -l)
step=$(((count + 23) / 24))
[ "$step" -gt 0 ] || step=1
find "build/fuzz/least/$t" -type f -size -2k -printf '%s %f\n' | sort -n | awk -v step="$step" 'NR % step == 0 { print $2 }' |
    while read -r name; do cp "build/fuzz/least/$t/$name" "tests/fuzz/corpus/$t/$name"; done
