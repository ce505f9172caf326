#!/usr/bin/env bash
# Writes the sizes into README.md: the header's lines and KB and today's date into the sentence, and, between two lines of markers,
# for each switch the user time of gcc -O2 (the median of three compilations) and the KB of code and constants. It takes six
# minutes. From the project's root:
#
#     bash tools/sizes.sh            measure, and write the table
#     bash tools/sizes.sh check      the stated lines and KB that are quick to count are within 10 % of what is here
#     bash tools/sizes.sh check all  each column of the table is, too
case "$*" in
"" | check | "check all") ;;
*)
    echo "usage: tools/sizes.sh [check [all]]" >&2
    exit 2
    ;;
esac
set -euo pipefail
CC=${CC:-gcc}
LC_ALL=C
export LC_ALL
TIMEFORMAT=%U
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
begin='<!-- tools/sizes.sh writes this table -->'
end='<!-- end of the table -->'

columns="all NO_DISPATCH NO_CUBES NO_SPARSE NO_SPECTRA NO_LASSO NO_FILES NO_MODELS NO_NAIVE ONLY_CODING"

# Column, odd number of compilations: prints the median of the seconds to compile an object with the implementation, and its KB.
measure() {
    local flag=-DSPARSEHS_$1 run seconds
    [ "$1" != all ] || flag=
    for ((run = 0; run < $2; run++)); do
        # shellcheck disable=SC2086 # none for all
        { time $CC -std=c99 -O2 $flag -DSPARSEHS_IMPLEMENTATION -c -x c sparsehs.h -o "$scratch/object.o" 2>"$scratch/log"; } 2>&1 ||
            { cat "$scratch/log" >&2; exit 1; }
    done >"$scratch/seconds"
    seconds=$(sort -n "$scratch/seconds" | sed -n "$(($2 / 2 + 1))p")
    size "$scratch/object.o" | awk -v seconds="$seconds" 'NR == 2 { printf "%.1f %.0f\n", seconds, $1 / 1024 }'
}

# Column: its KB in README.md.
stated() {
    awk -F ' *[|] *' -v name="$1" '
        $3 == "all" { for (k = 3; k <= NF; k++) if ($k == name) column = k }
        $2 == "KB" && column { print $column; exit }' README.md
}

near() { # what, the number in README.md, the number here
    awk -v a="${2:-0}" -v b="$3" 'BEGIN { exit !(a > 0.9 * b && a < 1.1 * b) }' && return
    echo "sizes: $1: README.md says '${2:-nothing}', here it is $3: bash tools/sizes.sh" >&2
    exit 1
}

if [ "${1:-}" = check ]; then
    near "lines of sparsehs.h" "$(sed -n 's/.*sparsehs\.h. has \([0-9,]*\) lines.*/\1/p' README.md | tr -d ,)" "$(wc -l <sparsehs.h)"
    near "KB of sparsehs.h" "$(sed -n 's/.*lines and \([0-9,]*\) KB of text.*/\1/p' README.md | tr -d ,)" "$(($(wc -c <sparsehs.h) / 1024))"
    # Another compiler makes other code.
    compiler=$(sed -n 's/.*`bash tools\/sizes.sh`, gcc \([0-9]*\) .*/\1/p' README.md)
    if [ "$(uname -m)" != x86_64 ] || ! echo __GNUC__ __clang_major__ | $CC -E -P - | grep -qx "$compiler __clang_major__"; then
        echo "sizes: KB not checked: README.md has those of gcc ${compiler:-?} on x86-64"
        exit
    fi
    [ "${2:-}" = all ] || columns=ONLY_CODING
    for column in $columns; do
        measured=$(measure "$column" 1)
        near "KB of $column" "$(stated "$column")" "${measured#* }"
    done
    exit
fi

first="| |" line="|---|" seconds_row="| seconds |" kb_row="| KB |"
for column in $columns; do
    measured=$(measure "$column" 3)
    first="$first $column |" line="$line---|" seconds_row="$seconds_row ${measured% *} |" kb_row="$kb_row ${measured#* } |"
done
printf '%s\n' "$first" "$line" "$seconds_row" "$kb_row" >"$scratch/table"
awk -v begin="$begin" -v end="$end" -v table="$scratch/table" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { inside = 1; while ((getline line <table) > 0) print line }' README.md >"$scratch/README.md"
thousands() { sed -E 's/([0-9])([0-9]{3})$/\1,\2/'; }
lines=$(wc -l <sparsehs.h | thousands)
kilobytes=$(echo $(($(wc -c <sparsehs.h) / 1024)) | thousands)
sed -E -e "s/(sparsehs\.h. has )[0-9,]+ lines and [0-9,]+ KB/\1$lines lines and $kilobytes KB/" \
    -e "/tools\/sizes\.sh/s/[0-9]{4}-[0-9]{2}-[0-9]{2}/$(date +%F)/" "$scratch/README.md" >README.md
cat "$scratch/table"
