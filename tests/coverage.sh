#!/bin/sh
# The lines and branches of sparsehs.h that the tests reach ($TESTS; by gcov, at -O0 with all instances of the kernels), and the
# lines that they do not: build/coverage/uncovered. A line counts as reached where any program and any instance reaches it.
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc}
out=build/coverage
command -v gcov >/dev/null || { echo "skipped: there is no gcov here"; exit 0; }
rm -rf "$out"
mkdir -p "$out"
for t in $TESTS; do
    # Only at -O0 each line keeps its own count; the instances are left out there unless the macro says otherwise.
    "$CC" -std=c99 -O0 -D__OPTIMIZE__=1 --coverage -DSPARSEHS_NO_OPENMP ${CPPFLAGS:-} -o "$out/$t" "tests/$t.c" -lcmocka -lm -lpthread
    "$out/$t" >"$out/$t.log" 2>&1 || { echo "coverage: $t fails"; tail -5 "$out/$t.log"; exit 1; }
    gcov -b -c -t "$out/$t.gcda" 2>/dev/null |
        awk '/^ *-: *0:Source:/ { ours = /sparsehs\.h$/ } ours' >"$out/$t.gcov"
    [ -s "$out/$t.gcov" ] || { echo "coverage: gcov says nothing of $t"; exit 1; }
done
# Function by function gcov repeats lines of inlined or repeated text: the largest count of a line is taken.
awk -F: '
    /^ *[0-9#=-]+\*?:/ {
        line = $2 + 0; count = $1; sub(/\*/, "", count); gsub(/ /, "", count)
        if (count == "-") { current = 0; next }
        current = line; branch = 0
        seen[line] = 1
        if (count !~ /^[#=]/ && count + 0 > 0) hit[line] = 1
        text[line] = substr($0, index($0, $2 ":") + length($2) + 1)
        next
    }
    /^branch/ && current {
        branch++; key = current " " branch; branches[key] = 1
        if ($0 !~ /never executed|taken 0/) taken[key] = 1
        next
    }
    END {
        for (l in seen) { all++; if (l in hit) reached++; else printf "%6d %s\n", l, text[l] | "sort -n > '"$out"'/uncovered" }
        for (b in branches) { all_b++; if (b in taken) reached_b++ }
        close("sort -n > '"$out"'/uncovered")
        printf "sparsehs.h: %d of %d lines (%.2f %%), %d of %d branches (%.2f %%)\n", reached, all, 100 * reached / all,
            reached_b, all_b, 100 * reached_b / all_b
    }' "$out"/*.gcov
touch "$out/uncovered"
cat "$out/uncovered"
