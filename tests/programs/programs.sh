# What the tests of the examples share, to be sourced; they go on in an empty folder. $program is the program under test.
set -u
export LC_ALL=C
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
# Programs built for OpenCL devices go here, not to the user's cache.
unset SPARSEHS_CACHE
export XDG_CACHE_HOME=$work/.cache
passed=0
failed=0
skipped=0

# check NAME COMMAND...: the command must succeed.
check() {
    local name=$1
    shift
    if "$@" >/dev/null 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped $1"
}

# Runs the program; what it says is in out.txt and err.txt.
run() { "$program" "$@" >out.txt 2>err.txt; }
# The same without any complaint; what an earlier call left in same.* must not pass for this one's output.
good() { rm -f same.*; run "$@" && ! grep -q . err.txt; }

# fails NAME CODE PATTERN ARGUMENTS...: it must end with this code, say this, and leave no file bad*.
fails() {
    local name=$1 code=$2 pattern=$3 got
    shift 3
    rm -f bad.*
    run "$@"
    got=$?
    check "$name: exit code $code" test $got -eq "$code"
    check "$name: says '$pattern'" grep -q -- "$pattern" err.txt
    check "$name: leaves nothing" test -z "$(ls | grep '^bad\.' || true)$(ls | grep '\.part$' || true)"
}

# find_python MODULE...: $python is the first Python that has these modules, or empty.
find_python() {
    for python in python3 /usr/bin/python3 ""; do
        [ -z "$python" ] || ! command -v "$python" >/dev/null || ! "$python" -c "import $(IFS=,; echo "$*")" 2>/dev/null || break
    done
}

# The columns of a table that have no value of 0 or below.
positive_columns() {
    awk -F, 'NR == FNR { for (i = 1; FNR > 1 && i <= NF; i++) if ($i <= 0) bad[i] = 1; next }
        { line = ""; for (i = 1; i <= NF; i++) if (!bad[i]) line = line (line == "" ? "" : ",") $i; print line }' "$1" "$1"
}

# Help is in one order: usage, what the program does, options by task, examples; within 80 columns.
check_help() { # PROGRAM
    "$1" --help >help.txt
    check "${1##*/} --help: 80 columns" awk 'length > 80 { bad = 1 } END { exit bad || NR < 5 }' help.txt
    check "${1##*/} --help: usage, options by task, examples" awk -v name="${1##*/}" '
        NR == 1 { bad = $1 != "Usage:" || $2 != name }
        /^[A-Z].*:$/ && !/^Examples:$/ { bad = bad || examples; headings++ }
        /^  --/ { bad = bad || examples || !headings; options++ }
        examples { bad = bad || $1 != name }
        /^Examples:$/ { examples = 1 }
        END { exit bad || !examples || options < 3 || $1 == "Examples:" }' help.txt
}

# The last command of a test.
the_end() {
    echo "$passed passed, $failed failed$([ $skipped -gt 0 ] && echo ", $skipped skipped")"
    [ $failed -eq 0 ]
}
