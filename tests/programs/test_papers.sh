#!/usr/bin/env bash
# The page of `make papers QUICK=1`, opened in headless Chromium: every figure is drawn and every table has rows. From the project's
# root, after make papers:
#
#     bash tests/programs/test_papers.sh [FOLDER]      FOLDER: build/papers
set -euo pipefail
folder=${1:-build/papers}
page=$(cd "$folder" && pwd)/index.html
fail() { echo "test-papers: $*" >&2; exit 1; }
[ -s "$page" ] || fail "$page is not there: make papers QUICK=1"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || { echo "test-papers: skipped: there is no Chromium here; make papers-deps installs it"; exit 0; }
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
open() { # arguments
    HOME=$profile timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$profile/chromium" "$@" "file://$page" 2>"$profile/log" || { cat "$profile/log" >&2; fail "$browser fails"; }
}

open --dump-dom >"$profile/dom.html"
papers=0 figures=0 tables=0
for items in "$folder"/*.items; do
    papers=$((papers + 1))
    while read -r name; do
        section=$(sed -n "/<section id=\"$name\"/,/<\/section>/p" "$profile/dom.html")
        [ -n "$section" ] || fail "$name is not on the page"
        kind=$(sed -n 's/^kind //p' "$folder/$name.txt")
        # What could not be run says so in a sentence; all else must be seen.
        if [ "$kind" = text ] || ! grep -q '^curve ' "$folder/$name.txt" && [ "$kind" != table ]; then
            grep -q '<p>' <<<"$section" || fail "$name: no sentence says why it is not there"
            continue
        fi
        grep -q '<td class="n">[0-9.]' <<<"$section" || fail "$name: its table has no number"
        if [ "$kind" = table ]; then
            tables=$((tables + 1))
        else
            figures=$((figures + 1))
            # gnuplot draws a curve as a path within a group of its own.
            curves=$(grep -c '^curve ' "$folder/$name.txt")
            drawn=$(grep -o "<g id=\"${name}_plot_[0-9]*\|<g id=\"${name}_${name}_plot_[0-9]*" <<<"$section" | sort -u | wc -l)
            [ "$drawn" -ge "$curves" ] || fail "$name: $drawn curves are drawn, not $curves"
        fi
    done <"$items"
done
[ "$figures" -gt 0 ] && [ "$tables" -gt 0 ] || fail "there are $figures figures and $tables tables on the page"

# The page as it is seen, on a desk and on a telephone: an empty one packs to almost nothing.
for width in 1000 400; do
    open --window-size=$width,6000 --screenshot="$profile/page.png" >/dev/null
    size=$(wc -c <"$profile/page.png")
    [ "$size" -gt 40000 ] || fail "the picture of the page, $width pixels wide, has $size bytes: it is blank"
    cp "$profile/page.png" "$folder/page_$width.png"
done
# A run that is stopped within a table goes on there, and ends with the same figures.
program=$folder/bin/paksvd
if [ -x "$program" ] && grep -q '^quick ' "$folder/paksvd.settings"; then
    shared=${SHS_SHARED:-../shared}
    device=$(sed 's/.*device=\([^ ]*\).*/\1/' "$folder/paksvd.settings")
    mkdir "$profile/again"
    again=("$program" --quick --device "$device" --out "$profile/again" --shared "$shared")
    "${again[@]}" 2>"$profile/log" &
    steps=$profile/again/paksvd_table1.steps
    for ((k = 0; k < 1200; k++)); do
        done=$(grep -cs end "$steps" || true)
        [ "${done:-0}" -lt 5 ] || break
        sleep 0.05
    done
    kill -9 $! 2>/dev/null && wait $! 2>/dev/null || true
    [ -s "$steps" ] || fail "paksvd was not stopped within its first table"
    sed -i '$s/ end$//' "$steps" # stopped while it wrote the last step
    # The first step is recognised where it is taken and not computed again.
    sed -i 's/^\(step 0 .* \)[^ ]* end$/\10.5 end/' "$steps"
    "${again[@]}" 2>"$profile/log" || fail "paksvd does not go on: $(cat "$profile/log")"
    cmp -s "$profile/again/paksvd_figure1_N1.csv" "$folder/paksvd_figure1_N1.csv" || fail "paksvd gives another Fig. 1 when it goes on"
    differing=$(diff "$profile/again/paksvd_table1.csv" "$folder/paksvd_table1.csv" | grep -c '^<' || true)
    [ "$differing" = 1 ] || fail "paksvd: $differing rows of Table 1 differ after it went on, not the one that was changed"
    [ ! -e "$steps" ] || fail "$steps is left"
fi
echo "test-papers: $figures figures and $tables tables of $papers papers are on the page"
