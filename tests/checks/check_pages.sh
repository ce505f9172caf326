#!/bin/bash
# The walk-throughs of examples/*/README.md: runs each command behind "    $ " and compares its output with the lines below it on the
# page. Words must be equal. Numbers may differ by 2 %, and times are not compared.
#
#     bash tests/checks/check_pages.sh FOLDER_OF_PROGRAMS PAGE...
set -u
[ $# -ge 2 ] || { echo "usage: $0 FOLDER_OF_PROGRAMS PAGE..." >&2; exit 2; }
root=$PWD
programs=$(cd "$1" && pwd)
shift
passed=0 failed=0
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# Two texts word by word, numbers by their size.
same() {
    sed -E 's/(seconds|fit|transform)=[0-9.]+/\1=/g; s/[0-9.]+ (s|ms)\b/T \1/g; s/([=,:(])/\1 /g' "$1" >"$room/a.txt"
    sed -E 's/(seconds|fit|transform)=[0-9.]+/\1=/g; s/[0-9.]+ (s|ms)\b/T \1/g; s/([=,:(])/\1 /g' "$2" >"$room/b.txt"
    awk 'function number(x) { return x ~ /^-?[0-9.]+(e[-+]?[0-9]+)?[,;:)]*$/ }
        NR == FNR { line[FNR] = $0; lines = FNR; next }
        {
            count = split(line[FNR], page)
            if (FNR > lines || count != NF) bad = 1
            for (i = 1; i <= NF; i++) {
                if (page[i] == $i) continue
                d = page[i] - $i
                if (!number(page[i]) || !number($i) || d * d > 0.0004 * $i * $i) bad = 1
            }
        }
        END { exit bad || FNR != lines }' "$room/a.txt" "$room/b.txt"
}

check_command() { # of $page, with $room/said.txt
    (cd "$room/work" && bash -c "$command") >"$room/out.txt" 2>&1
    if same "$room/said.txt" "$room/out.txt"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $page: \$ $command"
        diff "$room/said.txt" "$room/out.txt"
    fi
}

for page in "$@"; do
    rm -rf "$room/work"
    mkdir "$room/work"
    ln -s "$programs" "$room/work/build"
    ln -s "$root/examples" "$room/work/examples"
    command=''
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        '    $ '* | '')
            [ -z "$command" ] || check_command
            command=${line#'    $ '}
            : >"$room/said.txt" ;;
        '    '*) [ -z "$command" ] || echo "${line#    }" >>"$room/said.txt" ;;
        esac
    done <"$page"
    [ -z "$command" ] || check_command
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
