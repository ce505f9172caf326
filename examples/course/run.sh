#!/bin/sh
# make course: builds the lessons, runs them, draws what they measured, and makes one page of texts, pictures and figures. From
# the project's root:
#
#     make course [LESSONS="1 4"] [QUICK=1] [OUT=build/course] [KEEP=1]
#     make test-course          small sizes, and the solutions of the exercises
#
# A compiler and make are enough. gnuplot draws the pictures where it is installed, pandoc makes pages of the texts; without
# them the page shows the pictures that were measured when the lesson was written, and the texts as they are. KEEP=1 puts the
# pictures beside the texts. Reads $CC, $CFLAGS, $OPENMP and $SHS_DATA.
set -eu
here=examples/course
out=${OUT:-build/course}
cc=${CC:-cc}
test=$([ "${1:-}" = test ] && echo 1 || echo)
quick=$([ -z "$test${QUICK:-}" ] || echo --quick)
stop() { echo "course: $*" >&2; exit 1; }
mkdir -p "$out/bin" "$out/pictures"

for number in ${LESSONS:-1 2 3 4 5 6}; do
    text=$(echo "$here/$number"_*.md)
    [ -f "$text" ] || stop "LESSONS: there is no lesson $number"
    lessons="${lessons:-} $(basename "$text" .md)"
done

# ---- build -----------------------------------------------------------------------------------------------------------

# gcc makes one instruction of a multiply-add in GNU mode only.
compile() { # FLAGS...: what is given, where a source is newer than what is made of it
    # shellcheck disable=SC2086 # lists of words
    $cc -std=gnu99 -Wall -Wextra ${CFLAGS:--O2} ${OPENMP:-} "$@"
}
newer() { # THAN FILE...: a file that is newer, or nothing was made yet
    [ ! -f "$1" ] || [ -n "$(find "$@" -newer "$1")" ]
}
library=$out/bin/library.o
shared="$here/library.c sparsehs.h sparsehs_cl.h examples/example.h"
# shellcheck disable=SC2086 # a list of files
! newer "$library" $shared || { echo "course: building the library"; compile -c -o "$library" "$here/library.c"; }
program() { # NAME: a lesson, or its solutions
    # shellcheck disable=SC2086 # a list of files
    ! newer "$out/bin/$1" "$here/$1.c" "$here/course.h" "$library" || compile -o "$out/bin/$1" "$here/$1.c" "$library" -lm
}

# ---- run -------------------------------------------------------------------------------------------------------------

failed=
run() { # NAME: says what it prints, and keeps it for the page
    program "$1"
    # shellcheck disable=SC2086 # an option or none
    if ! { "$out/bin/$1" --out "$out" --data "${SHS_DATA:-../shared/data}" $quick || touch "$out/bin/$1.failed"; } \
        >"$out/$1.txt" 2>&1; then :; fi
    cat "$out/$1.txt"
    [ ! -f "$out/bin/$1.failed" ] || { rm "$out/bin/$1.failed"; failed="$failed $1"; }
}
for lesson in $lessons; do
    run "$lesson"
    [ -z "$test" ] || run "${lesson%%_*}_solutions"
done

# ---- draw ------------------------------------------------------------------------------------------------------------

# A gnuplot script for one CSV file; its first line says what it is: see course.h.
script_of() { # FILE.csv PICTURE.svg
    awk -F, -v file="$1" -v picture="$2" '
        function head(height) {
            printf "set terminal svg size 760,%d dynamic rounded background rgb \047white\047", height
            print " font \047sans-serif,13\047"
            printf "set output \047%s\047\nset termoption noenhanced\nset datafile separator \047,\047\n", picture
            print "set grid lc rgb \047#dddddd\047\nset border 3\nset tics nomirror"
        }
        NR == 1 { kind = $1; title = $2; a = $3; b = $4; scale = $5; next }
        NR == 2 { next }
        kind == "# ladder" { 
            n++
            names = names (n > 1 ? ", " : "") sprintf("\"%s\" %d", $1, n)
            if ($2 < least || n == 1) least = $2
            if ($2 > most) most = $2
        }
        kind == "# curve" && !seen[$1]++ { line[++n] = $1 }
        END {
            if (kind == "# ladder") {
                head(120 + 34 * n)
                printf "set title \"%s\"\nset xlabel \"%s\"\n", title, a
                printf "set logscale x\nset xrange [%g:%g]\n", least / 2, most * 2
                printf "set yrange [%g:0.4]\nset ytics (%s)\n", n + 0.6, names
                print "set style fill solid 0.8\nunset key\nunset grid\nset grid xtics"
                printf "plot \047%s\047 skip 2 using (%g):($0+1):(%g):2:($0+0.7):($0+1.3)", file, least / 2, least / 2
                printf " with boxxyerror lc 3, "
                print "\047\047 skip 2 using 2:($0+1):(sprintf(\" %.4g\", $2)) with labels left"
            } else {
                head(440)
                printf "set title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\n", title, a, b
                print "set key outside below maxcols 3 samplen 2"
                if (scale ~ /x/) print "set logscale x"
                if (scale ~ /y/) print "set logscale y"
                for (i = 1; i <= n; i++) {
                    printf "%s\047%s\047 skip 2 using 2:(strcol(1) eq \"%s\" ? $3 : NaN)",
                        (i > 1 ? ", " : "plot "), file, line[i]
                    printf " with linespoints pt %d ps 0.4 lw 1.5 title \"%s\"", i, line[i]
                }
                print ""
            }
        }' "$1"
}
for picture in "$here"/pictures/*.svg; do [ ! -f "$picture" ] || cp "$picture" "$out/pictures/"; done
if command -v gnuplot >/dev/null; then
    for lesson in $lessons; do
        for file in "$out/$lesson"_*.csv; do
            [ -f "$file" ] || continue
            picture=$out/pictures/$(basename "$file" .csv).svg
            script_of "$file" "$picture" | gnuplot || stop "$file: gnuplot could not draw it"
            [ -z "${KEEP:-}" ] || { mkdir -p "$here/pictures" && cp "$picture" "$here/pictures/"; }
        done
    done
fi

# ---- the page --------------------------------------------------------------------------------------------------------

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
html_of() { # TEXT.md: with formulas that browsers draw themselves
    if command -v pandoc >/dev/null; then
        pandoc --from gfm+tex_math_dollars --to html5 --mathml "$1"
    else
        echo "<pre class=\"text\">" && escape <"$1" && echo "</pre>"
        # The pictures of the text, which stand between its lines only where it is more than letters.
        sed -n 's/.*!\[\([^]]*\)\](\([^)]*\)).*/<figure><img src="\2" alt="\1"><\/figure>/p' "$1"
    fi
}
page() {
    cat <<'END'
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>sparsehs: a course</title>
<style>
:root { color-scheme: light dark }
body { font: 17px/1.55 serif; max-width: 46rem; margin: 0 auto; padding: 0 1rem 4rem }
nav, h1, h2, h3, table { font-family: sans-serif } h1 { font-size: 1.6rem; margin-top: 3.5rem; border-bottom: 2px solid #579 }
h2 { font-size: 1.2rem } pre { font-size: .82rem; line-height: 1.35; overflow-x: auto; padding: .6rem; border: 1px solid #8886 }
pre.text { white-space: pre-wrap } table { border-collapse: collapse; font-size: .85rem; display: block; overflow-x: auto }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #8886; text-align: left } img { max-width: 100%; background: white }
figure { margin: 1rem 0 } math[display=block] { overflow-x: auto; overflow-y: hidden; padding: .3rem 0 }
</style></head><body><h1>From three loops to the header</h1>
<p>Six lessons. Each is a ladder from the textbook's routine to the library's, and what this machine reached on each rung.</p>
<nav><ol>
END
    for lesson in $lessons; do
        title=$(sed -n '1s/^# *\([0-9]*\. \)*//p' "$here/$lesson.md" | escape)
        echo "<li value=\"${lesson%%_*}\"><a href=\"#$lesson\">$title</a></li>"
    done
    echo "</ol></nav>"
    for lesson in $lessons; do
        echo "<article id=\"$lesson\">"
        html_of "$here/$lesson.md"
        echo "<details><summary>What this machine printed</summary><pre>"
        escape <"$out/$lesson.txt"
        echo "</pre></details></article>"
    done
    echo "</body></html>"
}
page >"$out/index.html.new"
mv "$out/index.html.new" "$out/index.html"
echo "course: $out/index.html"
[ -z "$failed" ] || stop "what failed:$failed"
