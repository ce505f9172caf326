#!/bin/sh
# make course: builds the lessons, runs them, draws what they measured, and makes one page of texts, pictures and figures. From
# the project's root:
#
#     make course [LESSONS="1 4"] [QUICK=1] [OUT=build/course] [KEEP=1]
#     make test-course          small sizes, the solutions of the exercises, and their skeletons
#
# A compiler and make are enough. gnuplot draws the plots and pandoc formats the texts. Without gnuplot the page shows the plots
# of the author's machine, without pandoc the texts as they are. The page always has all six lessons: a lesson that LESSONS leaves
# out keeps the results of its last run. A line below each plot says whose machine it is from. KEEP=1 puts the plots beside the
# texts. Reads $CC, $CFLAGS, $OPENMP and $SHS_DATA.
set -eu
here=examples/course
out=${OUT:-build/course}
cc=${CC:-cc}
test=$([ "${1:-}" = test ] && echo 1 || echo)
quick=$([ -z "$test${QUICK:-}" ] || echo --quick)
stop() { echo "course: $*" >&2; exit 1; }
mkdir -p "$out/bin" "$out/pictures"

lesson_of() { # NUMBER
    text=$(echo "$here/$1"_*.md)
    [ -f "$text" ] || stop "LESSONS: there is no lesson $1; 1 to 6 are expected"
    basename "$text" .md
}
for number in 1 2 3 4 5 6; do all="${all:-} $(lesson_of "$number")"; done
for number in ${LESSONS:-1 2 3 4 5 6}; do
    lesson=$(lesson_of "$number")
    lessons="${lessons:-} $lesson"
done

# What the page says about this machine and this run.
processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)
machine="${processor:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN 2>/dev/null || echo some) processors, $(date +%Y-%m-%d)"
[ -z "$quick" ] || machine="$machine, small sizes (QUICK)"

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
    # The share of a rung on several threads is that of as many cores.
    other=$(awk '/the most that was measured of/ { most = $7 }
        / [0-9]+ threads.*% of the most/ {
            match($0, / [0-9]+ threads/)
            if (substr($0, RSTART + 1) + 0 != most) print
        }' "$out/$1.txt")
    [ -z "$other" ] || stop "$1: held against the peak of other than its threads: $other"
    [ ! -f "$out/bin/$1.failed" ] || { rm "$out/bin/$1.failed"; failed="$failed $1"; }
}
# The lines that a lesson's text gives for its exercises print a skeleton and compile it. Unfilled, every check fails.
exercises() { # LESSON
    number=${1%%_*}
    line=$(sed -n 's/^    \(sh examples.*skeleton.sh .*\) >mine.c.*/\1/p' "$here/$1.md")
    [ -n "$line" ] ||
        stop "$here/$1.md: no line prints a skeleton of the exercises; expected: sh $here/skeleton.sh $number >mine.c"
    flags=$(sed -n 's/^    cc \(.*\) mine\.c .*library\.c -lm -o mine && \.\/mine$/\1/p' "$here/$1.md")
    [ -n "$flags" ] || stop "$here/$1.md: no line compiles mine.c with library.c"
    $line >"$out/mine.c"
    # Without warnings a sum that begins nowhere is a riddle.
    case " $flags " in *" -Wall "*) ;; *) stop "$here/$1.md: mine.c is compiled with $flags; expected: also -Wall" ;; esac
    # shellcheck disable=SC2086 # a list of words
    $cc -Wextra $flags ${OPENMP:-} -Werror -o "$out/bin/mine" "$out/mine.c" "$library" -lm ||
        stop "the skeleton of lesson $number does not compile, or has warnings before an exercise is begun"
    if "$out/bin/mine" --out "$out" >"$out/mine.txt"; then
        stop "the skeleton of lesson $number passes all checks; none is solved there"
    fi
    for exercise in 1 2 3 4 5; do
        grep -q "^    FAILED $exercise: " "$out/mine.txt" || stop "lesson $number: exercise $exercise has no check that fails"
    done
    # The line of a check begins with four spaces.
    passed=$(grep '^    [^ ]' "$out/mine.txt" | grep -v '^    FAILED ' || :)
    [ -z "$passed" ] || stop "lesson $number: passes before it is solved:
$passed"
    echo "  the skeletons of lesson $number compile, and every check of the 5 exercises fails until it is solved"
}
# Solutions with one mistake each: LESSON EXERCISE, and what sed changes. A check of this exercise fails. The first ends at once
# after exercise 1, as a crash would: its check is shown all the same.
mistakes() { # LESSON
    while read -r lesson exercise change; do
        [ "$lesson" = "${1%%_*}" ] || continue
        sed "$change" "$here/${lesson}_solutions.c" >"$out/wrong.c"
        ! cmp -s "$out/wrong.c" "$here/${lesson}_solutions.c" || stop "${lesson}_solutions.c: nothing for sed '$change' to change"
        compile -w -I. -I"$here" -o "$out/bin/wrong" "$out/wrong.c" "$library" -lm
        "$out/bin/wrong" --out "$out" >"$out/wrong.txt" || :
        grep -q "^    FAILED $exercise: " "$out/wrong.txt" || stop "lesson $lesson: exercise $exercise passes with sed '$change'"
        wrong=$((${wrong:-0} + 1))
    done <<'END'
1 1 s/shs_real sum = 0;/shs_real sum = 1;/; s/    agrees("2: the product .*/    _Exit(1);/
1 3 s/for (i = j; i < n; i += t) {/for (i = 0; i < n; i += t) {/; s/ tiles++;/ tiles += i >= j;/
1 4 s/} else if (m >= n .. m >= k) {/} else if (m > 8) {/
1 4 s/if (m <= 8 .. n <= 8 .. k <= 8) {/if (m > 0) {/
2 1 s/z.k < S .. z.residual2 > limit2/z.k < S \&\& z.residual2 > 0.9 * limit2/
2 1 s/while (z.k < S .. z.residual2 > limit2)/while (z.k == 0 || (z.k < S \&\& z.residual2 > limit2))/
2 1 s/take(.z, best_of(.z));$/take(\&z, z.k);/
2 2 s/r.l. -= most \*/r[l] -= 0.5 * most */
2 2 s/if (fabs(product) <= fabs(most)) continue;/if (product <= most) continue;/
2 3 s/slant = larger_of(slant, fabs(dot(D + atoms.k. \* P, r)));/slant = 0;/
2 3 s/for (k = 0; k < S; k++) slant =/for (k = 0; k < S - 1; k++) slant =/
2 3 s/for (k = 0; k < S; k++) slant =.*/slant = fabs(dot(D + atoms[0] * P, r));/
3 3 s/E.i \* P + l. = F.l. - d_new.l. \* x_new;/(void)F;/
3 3 s/x_new += F.l. \* d_new.l.;/x_new = X[i * N + j];/
3 3 s/z.x_new.j. = sqrt(1.5 \* 1.5 + 1);/z.x_new[j] = 9;/
3 3 s/z.y.0. = 2.5;/z.y[0] = 1.5;/; s/z.x.j. = 0.5;/z.x[j] = 0;/
3 4 s/        d.0. .= length;/        (void)length;/
4 2 s/if (line >= WINDOW) gone/if (line >= 2 * WINDOW) gone/
4 5 s/v.i. += X.i + j \* BANDS. \* U.j + k \* M.;/v[i] += 2 * X[i + j * BANDS] * U[j + k * M];/
5 1 s/mean_power(.p, a, 4) - 3)/mean_power(\&p, a, 4) - 2)/
5 2 s/e.k. = fabs(w.1. . w.0.);/e[k] = fabs(w[1]);/
5 3 s/while (fabs(w.1.) >= 1e-6)/while (fabs(w[1]) >= 1e-9)/
5 4 s/    step(.p, 2, w, next);.*/    memcpy(next, w, sizeof next); step(\&p, 3, w, next);/
5 5 s/slope += (1 - g . g) . count;/slope += 1.0 \/ count;/
5 5 s/for (j = 0; j < k; j++) {$/for (j = 0; j < 0; j++) {/
5 5 s/for (j = 0; j < k; j++) {$/for (j = 0; j < M; j++) { if (j == k) continue;/
6 1 s/for (i = 1; i <= n; i++) sum +=/for (i = n; i >= 1; i--) sum +=/
6 2 s/else lost += (x.i. - t) + sum;/else lost += 1;/
6 2 s/if (fabsf(sum) >= fabsf(x.i.)) lost += .*/if (fabsf(sum) >= fabsf(x[i])) lost += 0;/
6 2 s/if (fabsf(sum) >= fabsf(x.i.)) lost/if (sum >= x[i]) lost/
6 3 s/else where.item. = -1;/else where[item] = item;/
6 3 s/for (item = 0; item < items; item++) {/for (item = 0; item < 1; item++) {/
6 4 s/(int64_t)(ldexp(x.at., 38) + 0.5)/ldexp(x[at], 38)/
6 4 s/ldexp(x.at., 38)/ldexp(x[at], 10)/
END
    echo "  the checks of lesson ${1%%_*} refuse ${wrong:-0} wrong solutions"
    wrong=0
}
for lesson in $lessons; do
    run "$lesson"
    echo "$machine" >"$out/$lesson.machine"
    if [ -n "$test" ]; then
        run "${lesson%%_*}_solutions"
        exercises "$lesson"
        mistakes "$lesson"
    fi
done

# ---- draw ------------------------------------------------------------------------------------------------------------

# A gnuplot script for one CSV file; its first line says what it is: see course.h. Plots are narrow and their letters large, so that
# they can be read on a telephone.
script_of() { # FILE.csv PICTURE.svg
    awk -F, -v file="$1" -v picture="$2" '
        function head(height) {
            printf "set terminal svg size 520,%d dynamic rounded font \047sans-serif,15\047\n", height
            printf "set output \047%s\047\nset termoption noenhanced\nset datafile separator \047,\047\n", picture
            print "set grid lc rgb \047#cccccc\047\nset border 3\nset tics nomirror"
            colours = split("#2f7fd1 #d9622b #2a9d5c #a05cc8 #c23b5e #8a7a1f #1a9aa0 #7f7f7f", colour, " ")
            for (i = 1; i <= colours; i++) printf "set linetype %d lc rgb \047%s\047\n", i, colour[i]
        }
        # A title of at most 52 letters a line, about as many as fit.
        function lines(text,    end) {
            if (length(text) <= 52) return text
            end = 53
            while (end > 1 && substr(text, end, 1) != " ") end--
            if (end == 1) end = index(text, " ")
            if (!end) return text
            return substr(text, 1, end - 1) "\\n" lines(substr(text, end + 1))
        }
        # Two columns of names below a curve where the longest name leaves room for another, otherwise one.
        function key_columns(    longest, i) {
            for (i = 1; i <= n; i++) if (length(line[i]) > longest) longest = length(line[i])
            return longest <= 24 ? 2 : 1
        }
        # A logarithmic axis with five labels at most, which do not run into each other.
        function logarithmic(axis, from, to,    low, step) {
            low = log(from) / log(10)
            step = 1
            while ((log(to) / log(10) - low) / step > 5) step++
            low = int(low / step + 1000) - 1000 # the next multiple below
            printf "set logscale %s\nset %stics 1e%d, 1e%d\n", axis, axis, low * step, step
        }
        NR == 1 { kind = $1; title = $2; a = $3; b = $4; scale = $5; next }
        NR == 2 { next }
        kind == "# ladder" {
            n++
            if ($2 < least || n == 1) least = $2
            if ($2 > most) most = $2
        }
        kind == "# curve" {
            if (!seen[$1]++) line[++n] = $1
            if ($2 < least || NR == 3) least = $2
            if ($2 > most || NR == 3) most = $2
            if ($3 < lowest || NR == 3) lowest = $3
            if ($3 > highest || NR == 3) highest = $3
        }
        END {
            if (kind == "# ladder") { # the name of a rung stands above its bar
                head(110 + 46 * n)
                printf "set title \"%s\"\nset xlabel \"%s (logarithmic)\"\n", lines(title), a
                printf "set logscale x\nset xrange [%g:%g]\n", least / 2, most * 2.5
                printf "set yrange [%g:0.3]\nunset ytics\n", n + 0.6
                print "set border 1\nset style fill solid 1\nunset key\nunset grid\nset grid xtics"
                printf "plot \047%s\047 skip 2 using (%g):($0+1):(%g):2:($0+1.08):($0+1.42)", file, least / 2, least / 2
                printf " with boxxyerror lc 1, "
                printf "\047\047 skip 2 using 2:($0+1.25):(sprintf(\" %%.4g\", $2)) with labels left, "
                printf "\047\047 skip 2 using (%g):($0+0.85):1 with labels left\n", least / 2
            } else {
                columns = key_columns()
                rows = int((n + columns - 1) / columns)
                head(390 + 22 * rows)
                printf "set title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\n", lines(title), a, b
                # The names have their place reserved: where gnuplot reserves it, a long list is left out.
                printf "set bmargin %g\nset key at screen 0.5, screen 0.01 center bottom maxrows %d samplen 2\n", 3.5 + rows, rows
                if (scale ~ /x/) logarithmic("x", least, most)
                if (scale ~ /y/) logarithmic("y", lowest, highest)
                for (i = 1; i <= n; i++) {
                    printf "%s\047%s\047 skip 2 using 2:(strcol(1) eq \"%s\" ? $3 : NaN)",
                        (i > 1 ? ", " : "plot "), file, line[i]
                    printf " with linespoints lt %d pt %d ps 0.5 lw 2 title \"%s\"", (i - 1) % colours + 1, i, line[i]
                }
                print ""
            }
        }' "$1"
}
# Letters, axes and background follow the light or dark mode of whoever looks, also where the plot is an image of another page.
follow_mode() { # PICTURE.svg
    awk '
        { print }
        /^<desc>/ {
            print "<style>svg { background: #fff; color: #222 }"
            print "[fill=\"black\"], [fill=\"rgb(0,0,0)\"] { fill: #222 } [stroke=\"black\"], [stroke=\"rgb(  0,   0,   0)\"] { stroke: #222 }"
            print "@media (prefers-color-scheme: dark) { svg { background: #181b1f; color: #ddd }"
            print "[fill=\"black\"], [fill=\"rgb(0,0,0)\"] { fill: #ddd } [stroke=\"black\"], [stroke=\"rgb(  0,   0,   0)\"] { stroke: #ddd }"
            print "[stroke=\"rgb(204, 204, 204)\"] { stroke: #444 } }</style>"
        }' "$1" >"$1.new" && mv "$1.new" "$1"
}
for picture in "$here"/pictures/*.svg; do
    [ ! -f "$picture" ] || [ -f "$out/pictures/$(basename "$picture" .svg).mine" ] || cp "$picture" "$out/pictures/"
done
if command -v gnuplot >/dev/null; then
    for lesson in $lessons; do
        for file in "$out/$lesson"_*.csv; do
            [ -f "$file" ] || continue
            name=$(basename "$file" .csv)
            picture=$out/pictures/$name.svg
            said=$(script_of "$file" "$picture" | gnuplot 2>&1) || stop "$file: gnuplot could not draw it: $said"
            [ -z "$said" ] || echo "course: $file: gnuplot says: $said" >&2
            # Such as names that do not fit and are left out.
            [ -z "$test" ] || [ -z "$said" ] || stop "$file: a plot without a warning is expected"
            follow_mode "$picture"
            cp "$out/$lesson.machine" "$out/pictures/$name.mine"
            [ -z "${KEEP:-}" ] || { mkdir -p "$here/pictures" && cp "$picture" "$here/pictures/"; }
        done
    done
fi

# ---- the page --------------------------------------------------------------------------------------------------------

# A line below each plot: whose machine it is from.
name_machines() {
    awk -v folder="$out/pictures" '
        { print }
        match($0, /src="pictures\/[^"]*\.svg"/) {
            file = folder "/" substr($0, RSTART + 14, RLENGTH - 19) ".mine"
            whose = "The author\047s machine: 2 cores with AVX-512, gcc 12, full sizes."
            if ((getline line <file) > 0) whose = "This machine: " line "."
            close(file)
            print "<p class=\"whose\">" whose "</p>"
        }'
}

# Links of the lessons are relative to their folder, those of the page to its own.
folder_of_lessons() { # FOLDER: the way from there to the lessons
    awk -v from="$(cd "$1" && pwd -P)" -v to="$(cd "$here" && pwd -P)" 'BEGIN {
        n = split(from, a, "/")
        m = split(to, b, "/")
        same = 1
        while (same <= n && same <= m && a[same] == b[same]) same++
        for (k = same; k <= n; k++) way = way "../"
        for (k = same; k <= m; k++) way = way b[k] "/"
        print way
    }'
}
follow_links() {
    awk -v way="$(folder_of_lessons "$out")" '{
        n = split($0, part, /href="\.\.\//)
        line = part[1]
        for (k = 2; k <= n; k++) line = line "href=\"" way "../" part[k]
        print line
    }'
}

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
html_of() { # TEXT.md: with formulas that browsers draw themselves
    if command -v pandoc >/dev/null; then
        # A tag keeps to one line, as name_machines expects; wrapped, the text of a picture begins another line.
        pandoc --from gfm+tex_math_dollars --to html5 --mathml --wrap=none "$1"
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
nav, h1, h2, h3, table, .whose { font-family: sans-serif } h1 { font-size: 1.6rem; margin-top: 3.5rem; border-bottom: 2px solid #579 }
h2 { font-size: 1.2rem } pre { font-size: .82rem; line-height: 1.35; overflow-x: auto; padding: .6rem; border: 1px solid #8886 }
pre.text { white-space: pre-wrap } table { border-collapse: collapse; font-size: .85rem; display: block; overflow-x: auto }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #8886; text-align: left } img { width: 100%; max-width: 35rem }
figure { margin: 1rem 0 } .whose { font-size: .8rem; opacity: .8; margin: 0 0 1.5rem } math[display=block] { overflow-x: auto; overflow-y: hidden; padding: .3rem 0 }
</style></head><body><h1>From three loops to the header</h1>
<p>Six lessons. Each is a ladder from the textbook's routine to the library's.</p>
<p>The figures in the texts are from the author's machine: 2 cores with AVX-512, gcc 12. The line below each plot says whose machine
it is from. The end of each lesson shows what this machine printed.</p>
<nav><ol>
END
    for lesson in $all; do
        title=$(sed -n '1s/^# *\([0-9]*\. \)*//p' "$here/$lesson.md" | escape)
        echo "<li value=\"${lesson%%_*}\"><a href=\"#$lesson\">$title</a></li>"
    done
    echo "</ol></nav>"
    for lesson in $all; do
        echo "<article id=\"$lesson\">"
        html_of "$here/$lesson.md" | follow_links | name_machines
        if [ -f "$out/$lesson.txt" ] && [ -f "$out/$lesson.machine" ]; then
            echo "<details><summary>What this machine printed</summary><p>$(escape <"$out/$lesson.machine")</p><pre>"
            escape <"$out/$lesson.txt"
            echo "</pre></details>"
        else
            echo "<p class=\"whose\">Not run on this machine yet: <code>make course LESSONS=${lesson%%_*}</code></p>"
        fi
        echo "</article>"
    done
    echo "</body></html>"
}
page >"$out/index.html.new"
mv "$out/index.html.new" "$out/index.html"

check_page() {
    [ "$(grep -c '^<article' "$out/index.html")" -eq 6 ] || stop "$out/index.html: not all six lessons are there"
    ! grep -q '^ *alt=' "$out/index.html" ||
        stop "$out/index.html: a line begins with alt=; each <img ...> is expected on one line"
    named=$(cat "$here"/[1-6]_*.md | grep -c '!\[')
    whole=$(grep -c '<img src="pictures/[^"]*\.svg" alt="[^"]*" */*>' "$out/index.html" || :)
    [ "$whole" -eq "$named" ] || stop "$out/index.html: $whole pictures with their text; expected: $named, as the lessons name"
    awk '{
        n = split($0, part, /(href|src)="/)
        for (k = 2; k <= n; k++) print substr(part[k], 1, index(part[k], "\"") - 1)
    }' "$out/index.html" | while read -r link; do
        case $link in
        \#* | http*) ;;
        *) [ -e "$out/$link" ] || stop "$out/index.html: the link $link leads nowhere" ;;
        esac
    done
}
[ -z "$test" ] || check_page
echo "course: $out/index.html"
[ -z "$failed" ] || stop "what failed:$failed"
