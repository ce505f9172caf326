#!/bin/sh
# What the headers and the README promise, and the tests that hold it (make check-claims): each sentence of sparsehs.h,
# sparsehs_cl.h (up to their implementation) and README.md with a word below must be a row of tests/checks/claims.md, and each test
# named there must exist. `sh tests/checks/claims.sh list` prints the sentences.
set -eu
LC_ALL=C
export LC_ALL
words='never|always|is reached|are reached|same bits|bit-identical|untouched|leaks|(do|does) not depend|not modified|neither read nor|no two|none twice|not hidden|nobody is left'

# FILE: the comments of a header, or the paragraphs and items of a text, one line each.
paragraphs() {
    case $1 in
    *.h) awk '
        /IMPLEMENTATION. Stop now/ { exit }
        {
            line = $0
            while (line != "") {
                if (!inside) {
                    if (!(at = index(line, "/*"))) break
                    line = substr(line, at + 2); inside = 1; text = ""
                }
                if ((at = index(line, "*/"))) { print text " " substr(line, 1, at - 1); line = substr(line, at + 2); inside = 0 }
                else { if (line ~ /^ *-? *$/ || line ~ /^   - /) { print text; text = "" }; text = text " " line; line = "" }
            }
            if (inside && $0 == "") { print text; text = "" }
        }' "$1" ;;
    *) awk '
        /^```/ { code = !code; next }
        code { next }
        /^ *$|^[-#|]/ { if (text != "") print text; text = "" }
        { text = text " " $0 }
        END { print text }' "$1" ;;
    esac
}

# The sentences with one of the words, as they stand in the table: no marks of emphasis, single spaces.
sentences() {
    for file in sparsehs.h sparsehs_cl.h README.md; do
        paragraphs "$file" | tr -d '|`*' | sed 's/[[:space:]][[:space:]]*/ /g; s/^ *//; s/^- //' |
            awk '{ while (match($0, /[.!?] +[A-Z(]/)) { print substr($0, 1, RSTART); $0 = substr($0, RSTART + 2); sub(/^ +/, "") } print }' |
            grep -E "(^|[^a-z])($words)([^a-z]|\$)" | sed "s/ *\$//; s/^/$file: /"
    done | awk '!seen[$0]++'
}

if [ "${1:-}" = list ]; then sentences; exit; fi
mkdir -p build
sentences >build/claims
# The rows: | file: sentence | file: test, test; file: test |
awk -F '|' '/^\| *[a-zA-Z_]*\.(h|md): / { gsub(/^ +| +$/, "", $2); gsub(/^ +| +$/, "", $3); print $2 "|" $3 }' tests/checks/claims.md >build/claims_rows
# A row may end in " ...": it stands for the sentence that begins so.
awk -F '|' '
    NR == FNR { row[++rows] = $1; next }
    {
        for (r = 1; r <= rows; r++) {
            cut = length(row[r]) - 4
            if ($0 == row[r] || (substr(row[r], cut + 1) == " ..." && substr($0, 1, cut + 1) == substr(row[r], 1, cut + 1))) break
        }
        if (r > rows) { print "check-claims: no test is named for: " $0; bad = 1 }
        said[r] = 1
    }
    END { for (r = 1; r <= rows; r++) if (!(r in said)) { print "check-claims: this is said no more: " row[r]; bad = 1 }; exit bad }' \
    build/claims_rows build/claims >&2 || failed=yes
while IFS='|' read -r claim tests; do
    [ -n "$tests" ] || { echo "check-claims: no test is named for: $claim" >&2; failed=yes; }
    echo "$tests" | tr ';' '\n' | while IFS=: read -r file names; do
        file=$(echo "$file" | tr -d ' ')
        [ -f "tests/$file" ] || { echo "check-claims: there is no tests/$file" >&2; exit 1; }
        for name in $(echo "$names" | tr ',' ' '); do
            grep -Eqw -- "$name|X\(${name#test_}" "tests/$file" || { echo "check-claims: tests/$file has no $name" >&2; exit 1; }
        done
    done || failed=yes
done <build/claims_rows
# Each >>tag of a head stands in the table of contents.
awk '/^   TABLE OF CONTENTS$/ { inside = 1 } /^   CONVENTIONS$/ { inside = 0 } inside { sub(/.*>>/, ""); for (i = 1; i <= NF; i++) listed[$i] }
    !inside && />>[a-z_0-9]+ \*\/$/ { sub(/.*>>/, ""); if (!($1 in listed)) { print "check-claims: the contents of sparsehs.h lack >>" $1; bad = 1 } }
    END { exit bad }' sparsehs.h >&2 || failed=yes
[ -z "${failed:-}" ] || exit 1
echo "check-claims: $(wc -l <build/claims | tr -d ' ') sentences, each with its test"
