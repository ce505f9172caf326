#!/bin/sh
# make papers: the tables and figures of the four papers, with the numbers of this machine beside theirs. From the project's
# root:
#
#     make papers [PAPER=omp|paksvd|gfastica|grass] [QUICK=1 | FULL=1] [DEVICE=NAME] [OUT=build/papers] [KEEP=FOLDER]
#
# KEEP: where the CSV files and the drawings go as well, with a note of the machine; no picture of the test data is among them.
# One program for each paper, examples/papers/PAPER.c, writes CSV files; gnuplot draws its figures; index.html shows all of it.
# What an earlier run with the same settings has finished is kept. Reads $CC, $OPENMP and $SHS_SHARED, with data/ and golden/
# (../shared).
set -eu
here=examples/papers
out=${OUT:-build/papers}
all="omp paksvd gfastica grass"
papers=${PAPER:-$all}
cc=${CC:-cc}
shared=${SHS_SHARED:-../shared}
scale=usual
[ -z "${QUICK:-}" ] || scale=quick
[ -z "${FULL:-}" ] || scale=full

stop() { echo "papers: $*" >&2; exit 1; }
command -v gnuplot >/dev/null || stop "gnuplot is not here, and it draws the figures: make deps installs it"
for paper in $papers; do
    case " $all " in *" $paper "*) ;; *) stop "PAPER=$paper: it is none of $all" ;; esac
    [ -f "$here/$paper.c" ] || stop "$here/$paper.c is not there"
done
mkdir -p "$out/bin"

# The first device that is there, unless one is named; none where a driver breaks down as soon as it is looked for.
device=${DEVICE:-}
if [ -z "$device" ]; then
    build/devices >"$out/bin/devices" 2>/dev/null && grep -q usable "$out/bin/devices" && device=any || device=none
fi
# OpenBLAS takes kernels of half the speed on processors with AVX-512 whose maker it does not know.
if [ -z "${OPENBLAS_CORETYPE:-}" ] && grep -qs avx512f /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX; fi

# Ranks for the paper on FastICA, 16 where there are as many processors.
ranks=0
if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    ranks=$(getconf _NPROCESSORS_ONLN)
    [ "$ranks" -le 16 ] || ranks=16
fi

# build NAME SOURCE FLAGS: only what is older than its sources. The programs are C99; gcc fuses multiply-adds, which the
# measured peak is made of, in GNU mode only.
build() {
    sources="$here sparsehs.h sparsehs_cl.h examples/example.h"
    # shellcheck disable=SC2086 # lists of words
    [ -z "$(find $sources -name '*.[ch]' -newer "$out/bin/$1" 2>/dev/null || echo new)" ] ||
        { echo "papers: building $1" >&2; $cc -std=gnu99 -Wall -Wextra $3 -o "$out/bin/$1" "$here/$2.c" -lm; }
}
# The serial baselines are plain C without threads; the paper on FastICA has them at every level.
levels_of() { [ "$1" = gfastica ] && echo "O0 O1 O2 O3" || echo O2; }
for paper in $papers; do
    build "$paper" "$paper" "-O3 ${OPENMP:-}" &
    [ "$paper" != gfastica ] || [ "$ranks" = 0 ] ||
        (cc=mpicc && build gfastica-MPI gfastica "-O3 -DPAPERS_MPI -DSPARSEHS_NO_OPENMP -DEXAMPLE_NO_OPENCL") || ranks=0
    for level in $(levels_of "$paper"); do
        build "$paper-$level" "$paper" "-$level -DSPARSEHS_NO_SIMD -DSPARSEHS_NO_DISPATCH -DEXAMPLE_NO_OPENCL"
    done
    wait $! || stop "$paper.c does not build"
done

# Results of other settings, or of another version of the library, are not mixed with these.
there=$([ -d "$shared" ] && echo there || echo none)
for paper in $papers; do
    settings="$scale device=$device shared=$there"
    settings="$settings $(cat sparsehs.h sparsehs_cl.h "$here/papers.h" "$here/$paper.c" | cksum)"
    [ "$(cat "$out/$paper.settings" 2>/dev/null)" = "$settings" ] || rm -f "$out/$paper"[._]*
    echo "$settings" >"$out/$paper.settings"
    for level in $(levels_of "$paper"); do
        [ -f "$out/${paper}_serial_$level.csv" ] ||
            "$out/bin/$paper-$level" --serial "$level" --out "$out" --shared "$shared" $([ $scale = usual ] || echo --$scale)
    done
    if [ "$paper" = gfastica ] && [ "$ranks" != 0 ] && [ ! -f "$out/gfastica_serial_MPI.csv" ]; then
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n "$ranks" "$out/bin/gfastica-MPI" \
            --serial MPI --out "$out" --shared "$shared" $([ $scale = usual ] || echo --$scale) ||
            echo "papers: the program with MPI does not run here" >&2
    fi
    "$out/bin/$paper" --device "$device" --out "$out" --shared "$shared" $([ $scale = usual ] || echo --$scale)
done

# ---- figures ---------------------------------------------------------------------------------------------------------

# Makes a gnuplot script of NAME.txt, whose lines are a key and a value.
script_of() { # name
    awk -v out="$out" -v name="$1" '
        { key = $1; sub(/^[^ ]* /, ""); gsub(/\047/, "\047\047") }
        key == "kind" { bars = $0 == "bars" }
        key == "x" { x = $0 }
        key == "y" { y = $0 }
        key == "log" { scale = $0 }
        key == "curve" { file = $1; column = $2; sub(/^[^ ]* [^ ]* /, ""); n++
            style = sprintf("using 1:%d with linespoints linewidth 1.5 pointsize 0.5", column)
            if (bars) style = sprintf("using %d:xtic(1) linetype %d", column, n)
            plots = plots (n > 1 ? ", " : "") sprintf("\047%s/%s\047 skip 1 %s title \047%s\047", out, file, style, $0) }
        END {
            if (!n) exit
            print "set terminal svg size 760,440 dynamic rounded background rgb \047white\047 font \047sans-serif,13\047"
            printf "set output \047%s/%s.svg\047\n", out, name
            print "set datafile separator \047,\047\nset datafile missing \047\047\nset grid lc rgb \047#dddddd\047"
            print "set termoption noenhanced"
            print "set key outside below maxcols 3 samplen 2 spacing 1.1 height 0.6"
            print "set autoscale xfix\nset border 3\nset tics nomirror"
            printf "set xlabel \047%s\047\nset ylabel \047%s\047\n", x, y
            if (scale ~ /x/) print "set logscale x"
            if (scale ~ /y/) print "set logscale y"
            if (bars) {
                print "set xrange [-0.7:*]\nset style data histograms\nset style histogram clustered gap 1"
                print "set style fill solid 0.8\nset boxwidth 0.9\nset xtics rotate by -20"
                if (scale !~ /y/) print "set yrange [0:*]"
            }
            print "plot " plots
        }' "$out/$1.txt"
}
for paper in $all; do
    [ -f "$out/$paper.items" ] || continue
    while read -r name; do
        [ -f "$out/$name.txt" ] || continue
        script_of "$name" >"$out/$name.gp"
        [ ! -s "$out/$name.gp" ] || gnuplot "$out/$name.gp" || stop "$out/$name.gp: gnuplot could not draw it"
        [ -s "$out/$name.gp" ] || rm "$out/$name.gp"
    done <"$out/$paper.items"
done

# ---- the page --------------------------------------------------------------------------------------------------------

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

paper_title() {
    case $1 in
    omp) echo "A. Batch-OMP on a GPU (Rathgeber, University of Erlangen)" ;;
    paksvd) echo "B. PAK-SVD in OpenCL (Irofti, Dumitrescu 2014)" ;;
    gfastica) echo "C. G-FastICA (Fang, Zhou, Zhang, Shen 2015)" ;;
    grass) echo "D. PCA of GRASS GIS on multi-core and GPU (Du, Parsons, Fuentes, Shaw, Dongarra)" ;;
    esac
}

# A CSV file as a table; numbers stand at the right.
table_of() { # file
    escape <"$1" | awk -F, '
        NR == 1 {
            print "<div class=\"wide\"><table><thead><tr>"
            for (i = 1; i <= NF; i++) { gsub(/_/, " ", $i); print "<th>" $i "</th>" }
            print "</tr></thead><tbody>"
            next
        }
        {
            printf "<tr><td>%s</td>", $1
            for (i = 2; i <= 5; i++) printf "<td class=\"n\">%s</td>", $i
            printf "<td class=\"note\">%s</td></tr>\n", $6
        }
        END { print "</tbody></table></div>" }'
}

item() { # name: its section of the page
    text=$out/$1.txt
    [ -f "$text" ] || { echo "<section id=\"$1\"><h3>$1</h3><p>Not finished: make papers goes on here.</p></section>"; return; }
    value() { sed -n "s/^$1 //p" "$text" | escape; }
    kind=$(value kind)
    echo "<section id=\"$1\" class=\"$kind\"><h3>$(value title)</h3>"
    if [ -f "$out/$1.svg" ]; then
        echo "<figure>"
        # Beside one another in one page, the names inside the drawings must differ.
        sed -e '/<?xml/d' -e '/<!DOCTYPE/,/>/d' -e "s/gnuplot_plot_/$1_plot_/g" -e "s/id='\([^']*\)'/id='$1_\1'/g" \
            -e "s/href='#\([^']*\)'/href='#$1_\1'/g" -e "s/url(#\([^)]*\))/url(#$1_\1)/g" "$out/$1.svg"
        echo "</figure>"
    fi
    for picture in $(value picture); do echo "<figure><img src=\"$picture\" alt=\"\"></figure>"; done
    unit=$(value unit)
    [ -z "$unit" ] || echo "<p class=\"unit\">Unit: $unit.</p>"
    [ ! -f "$out/$1.csv" ] || table_of "$out/$1.csv"
    files=$(sed -n 's/^curve \([^ ]*\) .*/\1/p' "$text" | awk '!seen[$0]++')
    if [ -n "$files" ]; then
        echo "<details><summary>The values</summary>"
        for file in $files; do echo "<h4>$(echo "$file" | escape)</h4>"; table_of "$out/$file"; done
        echo "</details>"
    fi
    value remark | sed 's/.*/<p>&<\/p>/'
    echo "</section>"
}

page() {
    cat <<'HEAD'
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>sparsehs: four papers again</title>
<style>
body { font: 16px/1.5 sans-serif; color: #222; max-width: 60rem; margin: 0 auto; padding: 0 1rem 3rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.3rem; border-bottom: 2px solid #357; margin-top: 2.5rem }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem }
h4 { font-size: .85rem; margin: .8rem 0 .2rem; font-weight: normal; color: #555 }
table { border-collapse: collapse; font-size: .85rem }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
th { background: #eef2f6 }
td.n, th:nth-child(n+2):nth-child(-n+5) { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td:first-child, td.note { min-width: 12rem } td.note { color: #555; font-size: .8rem }
.wide, figure { overflow-x: auto } figure { margin: .5rem 0 } svg, img { max-width: 100%; height: auto }
svg { min-width: 34rem } img { image-rendering: pixelated; min-width: 12rem } p { margin: .4rem 0 }
.unit, dd { color: #444 } .mark { background: #fff3c4; padding: .5rem .8rem; border-left: 4px solid #d90 }
dl { display: grid; grid-template-columns: max-content auto; gap: .2rem 1rem; font-size: .9rem } dd { margin: 0 }
summary { cursor: pointer; color: #357 }
</style></head><body>
<h1>Four papers, their tables and figures again</h1>
<p>The column <b>paper</b> holds what the paper printed, as far as our copies have it; the others are measured here: medians
after a warm-up. An empty cell was not run, and its note says why. A speed-up says
little without its baseline, so the share of the chip's peak that the baseline reaches stands beside it.</p>
HEAD
    case $scale in
    quick) mark="<b>QUICK=1</b>: small sizes and few iterations, to see that all of it runs. Do not quote these numbers." ;;
    usual) mark="Sizes for some minutes on two cores; each table says where the paper had more, and FULL=1 takes that." ;;
    full) mark="FULL=1: the papers' own sizes, where no other is named." ;;
    esac
    echo "<p class=\"mark\">$mark</p>"
    about=$(ls -t "$out"/*.about | head -1)
    processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -1 | escape)
    echo "<dl><dt>processor</dt><dd>$processor, $(getconf _NPROCESSORS_ONLN) processors</dd>"
    echo "<dt>OpenCL device</dt><dd>$(sed -n 's/^device: //p' "$about" | escape)</dd>"
    echo "<dt>threads</dt><dd>$(sed -n 's/^threads: //p' "$about")</dd>"
    echo "<dt>peak</dt><dd>$(sed -n 's/^measured peak of //p' "$about" | escape)</dd>"
    echo "<dt>compiler</dt><dd>$($cc --version | head -1 | escape), -O3</dd>"
    echo "<dt>library</dt><dd>$(head -1 "$about" | escape) (the last program's)</dd>"
    echo "<dt>system</dt><dd>$(uname -sm)</dd>"
    echo "<dt>date</dt><dd>$(date -u '+%Y-%m-%d %H:%M UTC')</dd></dl>"
    for paper in $all; do
        echo "<h2>$(paper_title "$paper")</h2>"
        [ -f "$out/$paper.items" ] || { echo "<p>Not run (make papers PAPER=$paper).</p>"; continue; }
        echo "<p>What stands for what:</p><ul>"
        escape <"$out/$paper.substituted" | sed 's/.*/<li>&<\/li>/'
        echo "</ul>"
        while read -r name; do item "$name"; done <"$out/$paper.items"
    done
    echo "</body></html>"
}
page >"$out/index.html"
echo "papers: $out/index.html"
if [ -n "${KEEP:-}" ]; then
    mkdir -p "$KEEP"
    cp "$out"/*_*.csv "$out"/*.svg "$KEEP"
    sed -n '/^<dl>/,/<\/dl>$/p' "$out/index.html" | sed -e 's/<\/dt><dd>/: /g' -e 's/<[^>]*>//g' >"$KEEP/machine.txt"
fi
