#!/usr/bin/env bash
# Tests of the steps of a scene's first hour (examples/hypercube/), from the project's root: tests/programs/test_scene.sh build/hypercube
# Results are compared with values that are known exactly, or computed by awk.
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: $0 PROGRAM" >&2; exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
. "$(dirname "$0")/programs.sh"

is() { [ -n "$1" ] && [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; false; }; }
# near A B TOLERANCE
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a != "" && a - b <= t && b - a <= t) }'; }
value_of() { tail -n 1 out.txt | tr ' ' '\n' | sed -n "s/^$1=//p"; }
header() { # NAME SAMPLES LINES BANDS TYPE INTERLEAVE [MORE LINES...]
    printf 'ENVI\nsamples = %s\nlines = %s\nbands = %s\ndata type = %s\ninterleave = %s\nbyte order = 0\n' \
        "$2" "$3" "$4" "$5" "$6" >"$1.hdr"
    printf '%s\n' "${@:7}" >>"$1.hdr"
}
# floats NAME VALUES...: NAME.img, little endian, by the shell's own means
floats() {
    local name=$1
    shift
    # shellcheck disable=SC2059 # escapes
    printf "$(printf '%s\n' "$@" | awk '
        function byte(b) { printf "\\%03o", b }
        {
            x = $1; s = 0
            if ($1 == "nan") { byte(0); byte(0); byte(192); byte(127); next }
            if (x < 0) { s = 128; x = -x }
            if (x == 0) { byte(0); byte(0); byte(0); byte(s); next }
            e = 127
            while (x >= 2) { x /= 2; e++ }
            while (x < 1) { x *= 2; e-- }
            m = int((x - 1) * 8388608 + 0.5)
            byte(m % 256); byte(int(m / 256) % 256); byte(e % 2 * 128 + int(m / 65536)); byte(s + int(e / 2))
        }')" >"$name.img"
}
# The values of a cube of floats, in the order of the file.
values() { od -An -v -w4 -tf4 "$1.img" | awk '{ printf "%s%.6g", (NR > 1 ? " " : ""), $1 }'; }

"$program" synthesise scene.hdr --samples 80 --lines 60 >/dev/null
# same_whatever NAME OUTPUT COMMAND...: the command writes OUTPUT (.hdr or a table) from scene.hdr; the same bytes come from each
# interleave, block and number of threads.
for i in bil bip; do "$program" convert scene.hdr "scene_$i.hdr" --interleave $i >/dev/null; done
same_whatever() {
    local name=$1 out=$2 i
    shift 2
    check "$name: runs" good "$1" scene.hdr "$out" "${@:2}" --threads 1
    mv "${out%.hdr}${out:+$([ "$out" = "${out%.hdr}" ] || echo .img)}" first.out
    for i in "scene.hdr --block 7" "scene_bil.hdr --threads 2" "scene_bip.hdr --block 1 --threads 3"; do
        # shellcheck disable=SC2086 # several words
        check "$name: $i" good "$1" ${i%% *} "$out" "${@:2}" ${i#* }
        check "$name: $i: the same" cmp first.out "${out%.hdr}$([ "$out" = "${out%.hdr}" ] || echo .img)"
    done
}

echo "== how many materials"
right=0
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$program" synthesise many.hdr --samples 64 --lines 48 --bands 60 --noise 0.003 --seed $seed >/dev/null
    run count many.hdr --bbl --method hysime
    [ "$(value_of count)" != 5 ] || right=$((right + 1))
done
check "the five materials of 19 of 20 scenes ($right)" test $right -ge 19
check "count: all methods" good count scene.hdr --bbl
check "count: one line each" is "$(awk 'NF == 2 { print $1 }' out.txt | xargs)" "nwhfc hfc hysime"
for i in "scene.hdr --block 7" "scene_bil.hdr --threads 2" "scene_bip.hdr --block 1"; do
    # shellcheck disable=SC2086 # several words
    check "count: $i: the same" bash -c "'$program' count $i --bbl | head -n 3 | cmp - <(head -n 3 out.txt)"
done
check "a false alarm of a half counts more" bash -c "
    [ \$('$program' count scene.hdr --bbl --method hfc --false-alarm 0.5 | head -n 1 | cut -c8-) -gt \$('$program' count scene.hdr --bbl --method hfc | head -n 1 | cut -c8-) ]"
check "--count auto" good endmembers scene.hdr e.csv --bbl --count auto
check "--count auto: five" is "$(value_of endmembers)" 5
check "--components auto" good pca scene.hdr same.hdr --bbl --components auto
check "--components auto: five" is "$(value_of components)" 5
check "--components nwhfc, of ica" good ica scene.hdr same.hdr --bbl --components nwhfc
check "--components nwhfc: four" is "$(value_of components)" 4
check "unmix --count auto" good unmix scene.hdr same.hdr --bbl --endmembers nfindr --count auto
check "unmix --count auto: five" is "$(value_of endmembers)" 5
fails "one band" 1 "needs 2 bands at least, and 1 is in use" count scene.hdr --bands 3
"$program" synthesise still.hdr --samples 20 --lines 16 --bands 60 --noise 0 >/dev/null
fails "constant bands" 1 "still.hdr: .*: bands 28-30,41-44 hold one value only" count still.hdr --method nwhfc
fails "few pixels" 1 "pixels: 20 valid ones, but hysime needs more than there are bands" count scene.hdr --bbl --window 0,0,5,4 --method hysime
fails "no such method" 2 "--method: mnf is unknown" count scene.hdr --method mnf
fails "a false alarm of hysime" 2 "--false-alarm: hfc and nwhfc take it, hysime does not" count scene.hdr --bbl --method hysime --false-alarm 0.1
fails "a seed of atgp" 2 "--seed: vca, nfindr and ppi have random directions, atgp has none" endmembers scene.hdr bad.csv --bbl --count 3 --method atgp --seed 1
fails "a ridge of osp" 2 "--ridge: osp has no background" detect scene.hdr bad.hdr --bbl --target 5,5 --method osp --ridge 0.1
fails "the correlation of mnf" 2 "--correlation" mnf scene.hdr bad.hdr --bbl --correlation
fails "--count of nothing" 2 "--count: 'some' is not a number" endmembers scene.hdr bad.csv --count some
fails "--components and --variance" 2 "--variance: --components says already" pca scene.hdr bad.hdr --components auto --variance 0.9

echo "== spectra"
# Five bands at uneven wavelengths; one pixel is a parabola, 3 - x + 0.5 x^2 of x = (w - 400) / 100, the other a valley.
wave='wavelength = {400, 450, 600, 700, 900}'
floats five 3 2.625 3 4.5 10.5  4 1 2 1 6
header five 1 2 5 4 bip "$wave" 'wavelength units = Nanometers'
check "derivative: bip" good spectra five.hdr same.hdr --derivative 1 --interleave bip
check "derivative: of a parabola exactly" is "$(values same | cut -d' ' -f1-5)" "-0.01 -0.005 0.01 0.02 0.04"
check "second derivative" good spectra five.hdr same.hdr --derivative 2 --interleave bip
check "second derivative: of a parabola exactly" is "$(values same | cut -d' ' -f1-5)" "0.0001 0.0001 0.0001 0.0001 0.0001"
check "continuum, divided" good spectra five.hdr same.hdr --continuum divide --interleave bip
check "continuum, divided: by the line from end to end" is "$(values same | cut -d' ' -f6-10)" "1 0.238095 0.416667 0.192308 1"
check "continuum, subtracted" good spectra five.hdr same.hdr --continuum subtract --interleave bip
check "continuum, subtracted: the line from end to end" is "$(values same | cut -d' ' -f6-10)" "0 -3.2 -2.8 -4.2 0"
check "smoothing" good spectra five.hdr same.hdr --smooth 3 --interleave bip
check "smoothing: means of three, the ends as they are" is "$(values same | cut -d' ' -f6-10)" "4 2.33333 1.33333 3 6"
printf 'wavelength,fwhm\n550,60\n650,40\n2000,10\n' >sensor.csv
# Where the spectrum is linear the answer is its value there: a Gaussian is symmetric.
floats line 1 2 5 7 11
header line 1 1 5 4 bip "$wave" 'wavelength units = Nanometers'
check "resampling" run spectra line.hdr same.hdr --resample sensor.csv
check "resampling: of a line exactly" is "$(values same)" "4 6"
check "resampling: says which are left out" grep -q "sensor.csv: 2 of 3 bands" out.txt
check "resampling: the new wavelengths" grep -q '^wavelength = {550, 650}' <(tr -d '\n' <same.hdr | sed 's/wavelength = {/\nwavelength = {/; s/ *550/550/; s/, */, /g')
check "resampling: the new widths" grep -q 'fwhm' same.hdr
# Bands between 450 and 600 nm are bad: no value is made up for 520 nm, which lies among them.
floats deleted 1 1.5 2 3 4 6
header deleted 1 1 6 4 bip 'wavelength = {400, 425, 450, 600, 625, 650}' 'wavelength units = Nanometers'
printf 'wavelength,fwhm\n425,10\n520,10\n625,10\n' >across.csv
check "resampling: a gap: runs" run spectra deleted.hdr gap.hdr --resample across.csv
check "resampling: a gap: no band in it" is "$(values gap | wc -w)" 2
check "resampling: a gap: it is said" grep -q 'across.csv: 2 of 3 bands: the others lie beyond 400 to 650 nm, or far from its bands' out.txt
header narrow 1 1 5 4 bip "$wave" 'fwhm = {10, 10, 0, 10, 10}' 'wavelength units = Nanometers'; cp line.img narrow.img
fails "resampling: a width of 0" 1 "narrow.hdr: fwhm: band 3 has 0: --resample needs widths above 0" spectra line.hdr bad.hdr --resample narrow.hdr
printf 'wavelength,a,b\n400,3,4\n450,2.625,1\n600,3,2\n700,4.5,1\n900,10.5,6\n' >five.csv
check "a table" run spectra five.csv same.csv --continuum divide
check "a table: the second spectrum" is "$(cut -d, -f3 same.csv | tail -n 5 | awk '{ printf "%s%.6g", (NR > 1 ? " " : ""), $1 }')" "1 0.238095 0.416667 0.192308 1"
check "a table: the names of its spectra" is "$(head -n 1 same.csv)" "wavelength (nm),a,b"
# Columns that are no spectra, names with commas, no names: the same second spectrum, and a line has as many cells as the heading.
second() { run spectra "$1" same.csv --continuum divide; awk -F'\t' -v c="$2" 'NR > 1 { printf "%s%.6g", (NR > 2 ? " " : ""), $c }' <(tr , '\t' <same.csv); }
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 2 : ""), $1, $2, (NR > 1 ? 10 : "fwhm"), $3, (NR > 1 ? 1 : "b_std") }' five.csv >pandas.csv
check "a table: an index, widths and deviations are no spectra" is "$(second pandas.csv 3)" "1 0.238095 0.416667 0.192308 1"
check "a table: an index, widths and deviations: the heading" is "$(head -n 1 same.csv)" "wavelength (nm),a,b"
sed '1s/.*/wavelength,"a, old",/' five.csv >comma.csv
check "a table: names with commas, and none" is "$(second comma.csv 3)" "1 0.238095 0.416667 0.192308 1"
check "a table: names with commas, and none: the heading" is "$(head -n 1 same.csv)" 'wavelength (nm),"a, old",column 3'
tr , '\t' <five.csv >five.tsv
check "a table: tabs" is "$(second five.tsv 3)" "1 0.238095 0.416667 0.192308 1"
# Deleted channels: the others as if the row were not there.
sed 's/^600,3,2/600,3,-1.23e34/' five.csv >gaps.csv; sed '/^600/d' five.csv >rows.csv
check "a table with a gap: the others" is "$(second gaps.csv 3)" "$(second rows.csv 3 | sed 's/^\(\S* \S*\)/\1 nan/')"
second five.csv 2 >whole.txt
check "a table with a gap: the spectrum without" is "$(second gaps.csv 2)" "$(cat whole.txt)"
printf 'wavelength,a\n400,1\n450,2\n600,nan\n700,7\n900,11\n' >gapped.csv
check "a table with a gap: resampled" run spectra gapped.csv same.csv --resample sensor.csv
check "a table with a gap: resampled, of a line exactly" is "$(tail -n 2 same.csv | awk -F, '{ printf "%.6g ", $2 }')" "4 6 "
printf 'wavelength,a\n400,0\n500,0\n600,0\n' >zero.csv
fails "a table without a result" 1 "zero.csv: no spectrum has a result" spectra zero.csv bad.csv --continuum divide
floats order 10.5 3 4.5 2.625 3
header order 1 1 5 4 bip 'wavelength = {0.9, 0.4, 0.7, 0.45, 0.6}' 'wavelength units = Micrometers'
check "bands in another order, in another unit" good spectra order.hdr same.hdr --derivative 1
check "bands in another order: each has its own" is "$(values same)" "0.04 -0.01 0.02 -0.005 0.01"
floats gap 1 2 -1 4 5  4 1 2 1 6
header gap 1 2 5 4 bip "$wave" 'data ignore value = -1'
check "a missing band" good spectra gap.hdr same.hdr --continuum divide --interleave bip
check "a missing band: the pixel has no result" is "$(values same)" "nan nan nan nan nan 1 0.238095 0.416667 0.192308 1"
same_whatever "continuum" same.hdr spectra --bbl --continuum divide
same_whatever "derivative, resampled, smoothed" same.hdr spectra --bbl --smooth 5 --resample five.hdr --derivative 1
header nowhere 1 2 5 4 bip; cp five.img nowhere.img
fails "no wavelengths" 1 "nowhere.hdr: wavelength: the key is missing" spectra nowhere.hdr bad.hdr --continuum divide
fails "two bands" 1 "needs 3 bands at least, and 2 are in use" spectra five.hdr bad.hdr --continuum divide --bands 1,2
fails "one band" 1 "needs 3 bands at least, and 1 is in use" spectra five.hdr bad.hdr --continuum divide --bands 1
printf 'wavelength,fwhm\n3000,60\n3100,40\n' >far.csv
fails "no overlap" 1 "far.csv: --resample: none of its 2 bands .3000 to 3100 nm. lies within 400 to 900 nm" spectra five.hdr bad.hdr --resample far.csv
floats below -1 -2 -3 -2 -1
header below 1 1 5 4 bip "$wave"
fails "no continuum above 0" 1 "no pixel has a result" spectra below.hdr bad.hdr --continuum divide
cp sensor.csv sensor2.csv
fails "the sensor's own table as output" 2 "sensor.csv: the output would replace the input" spectra five.csv sensor.csv --resample sensor.csv
check "the sensor's own table as output: it is as it was" cmp sensor.csv sensor2.csv
fails "nothing to do" 2 "needs --smooth, --resample, --continuum or --derivative" spectra five.hdr bad.hdr
fails "an even width" 2 "--smooth: 4 is even" spectra five.hdr bad.hdr --smooth 4
# Neighbours need no wavelengths.
floats nameless 3 2.625 3 4.5 10.5  4 1 2 1 6
header nameless 1 2 5 4 bip
check "smoothing without wavelengths" good spectra nameless.hdr same.hdr --smooth 3 --interleave bip
check "smoothing without wavelengths: the same" is "$(values same | cut -d' ' -f6-10)" "4 2.33333 1.33333 3 6"
fails "a continuum without wavelengths" 1 "nameless.hdr: wavelength: the key is missing or damaged, and spectra needs it" spectra nameless.hdr bad.hdr --smooth 3 --continuum divide
# What stays in the unit of the pixels keeps its scale, and nothing else does.
floats scaled 3000 2625 3000 4500 10500  4000 1000 2000 1000 6000
header scaled 1 2 5 4 bip "$wave" 'wavelength units = Nanometers' 'reflectance scale factor = 10000'
for how in "spectra --smooth 3" "spectra --resample five.hdr" "correct --method dark" "denoise --components 1" "convert --bands 1-5"; do
    # shellcheck disable=SC2086 # words
    check "the scale of $how" bash -c "'$program' ${how%% *} scaled.hdr same.hdr ${how#* } >/dev/null && [ \$(grep -cx 'reflectance scale factor = 10000' same.hdr) = 1 ]"
done
for how in "spectra --continuum divide" "spectra --smooth 3 --derivative 1" "correct --method iarr"; do
    check "no scale of $how" bash -c "'$program' ${how%% *} scaled.hdr same.hdr ${how#* } >/dev/null && ! grep 'reflectance scale factor' same.hdr"
done
check "the scale of reflectances is 1" bash -c "'$program' denoise scaled.hdr same.hdr --components 1 --reflectance >/dev/null && grep -qx 'reflectance scale factor = 1' same.hdr"

echo "== lists as people write them"
# A comma behind the last item, or blanks in place of commas: what is read is written.
for list in '400, 450, 600, 700, 900,' '400 450 600 700 900' '400; 450; 600; 700; 900'; do
    header listed 1 2 5 4 bip "wavelength = {$list}" 'bbl = {1, 1, 1, 0, 1, }' 'band names = {a, b, c, d, e, }'; cp five.img listed.img
    check "'$list'" good convert listed.hdr same.hdr --bands 1,3,5
    check "'$list': written" is "$(grep '^wavelength\|^bbl' same.hdr | xargs)" "wavelength = {400, 600, 900} bbl = {1, 1, 1}"
    check "'$list': names" is "$(sed -n '/^band names/,/}/p' same.hdr | xargs)" "band names = { a, c, e}"
done

echo "== bands without a wavelength"
# PRISMA's headers have 0 for bands without data. It matters only where such a band is in use.
floats zeros 0 3 2.625 0 3 4.5 10.5  0 4 1 0 2 1 6
header zeros 1 2 7 4 bip 'wavelength = {0, 400, 450, 0, 600, 700, 900}' 'wavelength units = Nanometers' 'bbl = {0, 1, 1, 0, 1, 1, 1}'
check "zeros left out by --bbl" good spectra zeros.hdr same.hdr --derivative 1 --interleave bip --bbl
check "zeros left out by --bbl: as without them" is "$(values same | cut -d' ' -f1-5)" "-0.01 -0.005 0.01 0.02 0.04"
check "zeros left out by --bands" good spectra zeros.hdr same.hdr --derivative 1 --interleave bip --bands 2,3,5-7
check "zeros left out by --bands: as without them" is "$(values same | cut -d' ' -f1-5)" "-0.01 -0.005 0.01 0.02 0.04"
check "zeros left out by --wavelengths" good spectra zeros.hdr same.hdr --derivative 1 --interleave bip --wavelengths 400:900
check "zeros left out: the list of those in use" grep -qx 'wavelength = {400, 450, 600, 700, 900}' same.hdr
fails "zeros in use" 1 "wavelength: band 1 has 0, so the list is not used" spectra zeros.hdr bad.hdr --derivative 1

echo "== indices and masks"
# Pixels (2, 6), (0, 0), (-1 is missing in band 1), (5, 5) at 650 and 860 nm; a band at 1000 nm is missing everywhere.
floats pair 2 6 -1  0 0 -1  -1 3 -1  5 5 -1
header pair 4 1 3 4 bip 'wavelength = {0.65, 0.86, 1.0}' 'wavelength units = Micrometers' 'data ignore value = -1'
check "an index" run index pair.hdr same.hdr --index '(b860-b650)/(b860+b650)'
check "an index: 0/0 and missing bands have none, other bands do not matter" is "$(values same)" "0.5 nan nan 0"
check "an index: says how many have one" is "$(value_of valid)" 2
check "wavelengths with units" good index pair.hdr own.hdr --index '(b0.86um - b650nm)/(b860nm+b0.65µm)'
check "wavelengths with units: the same" is "$(values own)" "0.5 nan nan 0"
check "a name" good index pair.hdr same.hdr --index NDVI
check "a name: the nearest bands" is "$(values same)" "0.5 nan nan 0"
check "precedence, brackets, signs, functions" good index pair.hdr same.hdr --index '-2 + #2 * 2 / 4 - -(#1 - 1) + abs(-3) - sqrt( 4 ) + log(1)'
check "precedence: by hand" is "$(values same)" "3 -2 nan 5.5"
check "a mask" run index pair.hdr mask.hdr --index '#2-#1' --above -1 --below 4
check "a mask: what has no value is outside" is "$(od -An -v -tu1 mask.img | xargs)" "0 1 0 1"
check "a mask: edges are outside" good index pair.hdr mask.hdr --index '#2-#1' --above 0
check "a mask: only what is above" is "$(od -An -v -tu1 mask.img | xargs)" "1 0 0 0"
check "a mask of the scene" run index scene.hdr green.hdr --index NDVI --above 0.3
check "a mask of the scene: how many" is "$(value_of marked)" "$(od -An -v -w1 -tu1 green.img | grep -c 1)"
marked=$(value_of marked)
check "rx takes it" run rx scene.hdr same.hdr --bbl --mask green.hdr
check "rx takes it: those pixels" is "$(value_of pixels)" "$marked"
check "spectra takes it" good spectra scene.hdr same.hdr --bands 1-5 --mask green.hdr --derivative 1 --interleave bip
check "spectra takes it: those pixels" is "$(values same | tr ' ' '\n' | grep -vc nan)" $((5 * marked))
same_whatever "an index" same.hdr index --bbl --index '(b860-b660)/(b860+b660)+sqrt(b2200)'
same_whatever "a mask" same.hdr index --index NDWI --below -0.1
fails "no wavelengths for a band" 1 "nowhere.hdr: wavelength: the key is missing or damaged, and b860 needs it; #7 is band 7" index nowhere.hdr bad.hdr --index NDVI
fails "no such wavelength" 1 "b3000: the nearest band in use is at 1000 nm, farther than 150 nm" index pair.hdr bad.hdr --index b3000
fails "no such band" 1 "#9: no band in use has this number" index pair.hdr bad.hdr --index '#9/#1'
fails "zero everywhere" 1 "'1/(#1-#1)' has no value in any pixel: .*divides by zero everywhere" index pair.hdr bad.hdr --index '1/(#1-#1)'
fails "zero everywhere: no mask of it" 1 "divides by zero everywhere" index pair.hdr bad.hdr --index '1/(#1-#1)' --above 3
fails "no end" 2 "expected . at the end" index pair.hdr bad.hdr --index '(#1-#2'
fails "two in a row" 2 "expected +, -, ., / or the end at 'b8'" index pair.hdr bad.hdr --index '#1 b8'
fails "no band" 2 "'3+4' names no band" index pair.hdr bad.hdr --index 3+4
fails "a hexadecimal number" 2 "expected a decimal number" index pair.hdr bad.hdr --index 'b0x352/#1'
fails "deep brackets" 2 "more than 50 brackets" index pair.hdr bad.hdr --index "$(printf '(%.0s' $(seq 60))#1$(printf ')%.0s' $(seq 60))"
fails "a long expression" 2 "is too long" index pair.hdr bad.hdr --index "#1$(printf '+#2%.0s' $(seq 150))"
fails "no expression" 2 "--index: is needed" index pair.hdr bad.hdr
fails "no threshold" 2 "--above: 'much' is not a number" index pair.hdr bad.hdr --index '#1' --above much

echo "== corrections"
floats raw 2 4 8  4 4 4  -1 4 4  8 2 1
header raw 4 1 3 4 bip 'data ignore value = -1'
check "flat field" good correct raw.hdr same.hdr --method flat --region 0,0,2,1 --interleave bip
check "flat field: by the mean of two pixels" is "$(values same)" "0.666667 1 1.33333 1.33333 1 0.666667 nan nan nan 2.66667 0.5 0.166667"
check "iarr" good correct raw.hdr same.hdr --method iarr --interleave bip
check "iarr: by the mean of the scene" is "$(values same)" "0.428571 1.2 1.84615 0.857143 1.2 0.923077 nan nan nan 1.71429 0.6 0.230769"
check "dark object" good correct raw.hdr same.hdr --method dark --interleave bip
check "dark object: less the least" is "$(values same)" "0 2 7 2 2 3 nan nan nan 6 0 0"
check "log residuals" good correct raw.hdr same.hdr --method logres --interleave bip
check "log residuals: as awk" awk -v got="$(values same)" 'BEGIN {
    n = split("2 4 8 4 4 4 8 2 1", x, " ")
    for (i = 1; i <= n; i++) { l = log(x[i]) / 3; p[int((i - 1) / 3)] += l; b[(i - 1) % 3] += l; all += l / 3 }
    split(got, g, " ")
    for (i = 1; i <= n; i++) { k = i > 6 ? i + 3 : i; w = exp(log(x[i]) - p[int((i - 1) / 3)] - b[(i - 1) % 3] + all); if ((g[k] - w) ^ 2 > 1e-10) exit 1 }
}'
printf 'band,gain,offset\n1,2,1\n2,0.5,0\n3,1,-1\n' >gains.csv
check "gains and offsets" good correct raw.hdr same.hdr --method gains --table gains.csv --interleave bip
check "gains and offsets: each band its own" is "$(values same)" "5 2 7 9 2 3 nan nan nan 17 1 0"
check "gains of the bands in use" good correct raw.hdr same.hdr --method gains --table gains.csv --bands 3,1 --interleave bip
check "gains of the bands in use: by number" is "$(values same | cut -d' ' -f1-4)" "7 5 3 9"
for method in iarr logres dark "flat --region 10,20,9,9"; do
    # shellcheck disable=SC2086 # several words
    same_whatever "correct $method" same.hdr correct --bbl --method $method
done
check "a region of a window" good correct scene.hdr part.hdr --bbl --window 10,20,9,9 --method flat --region 10,20,9,9
check "a region of the file" good correct scene.hdr same.hdr --bbl --method flat --region 10,20,9,9
check "a region: the same pixels" run convert same.hdr same2.hdr --window 10,20,9,9
check "a region: the same values" cmp part.img same2.img
floats zero 0 1 0 2
header zero 2 1 2 4 bip
fails "a mean of 0" 1 "iarr: the mean of band 1 is 0" correct zero.hdr bad.hdr --method iarr
fails "no pixel above 0" 1 "logres: no pixel has all bands in use above 0" correct scene.hdr bad.hdr --method logres
fails "a region beyond" 2 "--region: 70,50,20,20 is not within the pixels" correct scene.hdr bad.hdr --method flat --region 70,50,20,20
fails "no region" 2 "--region: is needed" correct scene.hdr bad.hdr --method flat
fails "a region for nothing" 2 "only --method flat takes it" correct scene.hdr bad.hdr --method dark --region 1,1,2,2
fails "no table" 2 "--table: is needed" correct scene.hdr bad.hdr --method gains
fails "a table of another size" 1 "gains.csv: rows: 3, but scene.hdr has 100 bands, of which 100 are in use" correct scene.hdr bad.hdr --method gains --table gains.csv
fails "a table of something else" 1 "needs a column .gain. or .offset." correct five.hdr bad.hdr --method gains --table five.csv
fails "no method" 2 "--method: is needed" correct scene.hdr bad.hdr

echo "== scaled abundances"
# Endmembers (1, 0, 0) and (0, 1, 0): abundances are the first two bands where these are not negative.
printf 'a,b\n1,0\n0,1\n0,0\n' >unit.csv
floats mix 1 3 5  2 2 0  -1 4 0  0 0 7
header mix 4 1 3 4 bip
check "scaled: runs" good unmix mix.hdr same.hdr --endmembers unit.csv --constraint scaled --interleave bip
check "scaled: shares of the sum; none of nothing" is "$(values same)" "0.25 0.75 0.5 0.5 0 1 nan nan"
check "scaled: the header knows what is missing" grep -q '^data ignore value = nan' same.hdr
check "scaled: f64" good unmix mix.hdr same.hdr --endmembers unit.csv --constraint scaled --interleave bil --type f64
check "scaled: f64: the same" is "$(od -An -v -w64 -tf8 same.img | xargs)" "0.25 0.5 0 nan 0.75 0.5 1 nan"
header holes 4 1 3 4 bip 'data ignore value = 4'; cp mix.img holes.img
check "scaled: a missing pixel" good unmix holes.hdr same.hdr --endmembers unit.csv --constraint scaled --interleave bip
check "scaled: a missing pixel has the cube's value" is "$(values same)" "0.25 0.75 0.5 0.5 4 4 4 4"
good endmembers scene.hdr em.csv --bbl --count 4 --method nfindr
same_whatever "scaled" same.hdr unmix --bbl --endmembers em.csv --constraint scaled
fails "scaled, as bytes" 2 "scaled abundances are written as f32 or f64" unmix mix.hdr bad.hdr --endmembers unit.csv --constraint scaled --type u8 --rescale 0,200

echo "== the error of mixtures"
# With the endmembers above: (1, 3, 5) is 5 off in one band of three, (2, 2, 0) is 1.5 off in two where shares add up to 1.
good unmix mix.hdr plain.hdr --endmembers unit.csv --constraint none
check "error: runs" good unmix mix.hdr same.hdr --endmembers unit.csv --constraint none --error error.hdr
check "error: none" is "$(values error)" "2.88675 0 0 4.04145"
check "error: the abundances are those without it" cmp same.img plain.img
check "error: full" good unmix mix.hdr same.hdr --endmembers unit.csv --error error.hdr --window 1,0,1,1
check "error: full: of the constrained mixture" is "$(values error)" "1.22474"
check "error: a missing pixel" good unmix holes.hdr same.hdr --endmembers unit.csv --constraint none --error error.hdr
check "error: a missing pixel has none" is "$(values error)" "2.88675 0 nan 4.04145"
check "error: of scaled abundances, before they are scaled" good unmix mix.hdr same.hdr --endmembers unit.csv --constraint scaled --error error.hdr
check "error: of scaled abundances: nonnegative ones" is "$(values error)" "2.88675 0 0.57735 4.04145"
# errors_whatever CUBE OPTIONS...: the same errors of the scene
good unmix scene.hdr same.hdr --bbl --endmembers em.csv --error first.hdr
errors_whatever() {
    check "error: ${*#scene}: runs" good unmix "$1" same.hdr --bbl --endmembers em.csv --error error.hdr "${@:2}"
    check "error: ${*#scene}: the same" cmp first.img error.img
}
errors_whatever scene.hdr --block 7
errors_whatever scene_bil.hdr --threads 2 --interleave bip
errors_whatever scene_bip.hdr --block 1 --threads 3
errors_whatever scene.hdr --type u8 --rescale 0,200
fails "error: not a header" 2 "--error: bad.img: the name of a header ends in .hdr" unmix mix.hdr bad.hdr --endmembers unit.csv --error bad.img
fails "error: in the output's place" 2 "two outputs would go into this one file" unmix mix.hdr bad.hdr --endmembers unit.csv --error bad.hdr

echo "== bad bands"
check "bands: runs" run bands scene.hdr bands.csv
check "bands: a line each" is "$(awk -F, 'NR > 1 && NF == 5' bands.csv | wc -l)" 100
check "bands: bad by the header" grep -qx 'header    46-50,67-74' out.txt
check "bands: in a water window that the header does not name" grep -qx 'water     75' out.txt
check "bands: a list of the others" grep -qx -- '--bands 1-45,51-66,76-100' out.txt
check "bands: water is kept" run bands scene.hdr bands.csv --keep-water
check "bands: water is kept: 87" is "$(value_of used)" 87
sed '/^bbl/,/}/d' scene.hdr >unmarked.hdr; cp scene.img unmarked.img
check "bands: no bbl" run bands unmarked.hdr bands.csv --keep-water
check "bands: no bbl: noise alone" grep -qx 'noise     46-50,67-74' out.txt
check "bands: a lower limit" run bands unmarked.hdr bands.csv --keep-water --band-snr 0
check "bands: a lower limit: all" is "$(value_of used)" 100
check "bands: those that are named" run bands unmarked.hdr bands.csv --bands 40-50
check "bands: those that are named stay" is "$(value_of used)" 11
# Bands 1 and 2 are noise to each other, band 3 is constant, band 4 misses half of the pixels, 5 is the sum of 1 and 2.
floats odd $(awk 'BEGIN { srand(3); for (i = 0; i < 400; i++) { a = rand(); b = rand(); print a, b, 7, (i % 2 ? b : -1), a + b + rand() / 1000 } }')
header odd 20 20 5 4 bip 'data ignore value = -1'
check "bands: missing and constant" run bands odd.hdr bands.csv
check "bands: missing" grep -qx 'missing   4' out.txt
check "bands: constant" grep -qx 'constant  3' out.txt
check "bands: one that the others make up, and those" grep -qx -- '--bands 1-2,5' out.txt
for i in "scene.hdr --block 7" "scene_bil.hdr --threads 2" "scene_bip.hdr --block 1 --threads 3"; do
    # shellcheck disable=SC2086 # several words
    check "bands: $i" bash -c "'$program' bands ${i%% *} first.csv ${i#* } >/dev/null && '$program' bands scene.hdr bands.csv >/dev/null && cmp first.csv bands.csv"
done
fails "bands: all are bad" 1 "bands: all 100 are bad: 13 by bbl, 1 by water, 0 missing, 0 constant, 86 by noise; --bands LIST takes" bands scene.hdr bad.csv --band-snr 1e9
fails "bands: a header" 2 "the name of a cube.s header: a table ends in .csv" bands scene.hdr bad.hdr

echo "== pixel purity"
# Corners (9, 0), (0, 9) and (0, 0) of a triangle, one of them twice, a pixel inside, and a missing one.
floats corners 3 3  0 0  9 0  -1 9  0 9  9 0
header corners 3 2 2 4 bip 'data ignore value = -1'
check "ppi: runs" good endmembers corners.hdr ppi.csv --count 3 --method ppi --skewers 50 --counts same.hdr
check "ppi: of equal pixels the first, none inside, none missing" awk -v v="$(od -An -v -td4 same.img | xargs)" 'BEGIN { split(v, n, " "); exit !(n[1] == 0 && n[2] > 0 && n[3] > 0 && n[4] == -1 && n[5] > 0 && n[6] == 0 && n[2] + n[3] + n[5] == 100) }'
check "ppi: the corners" is "$(head -n 1 ppi.csv | tr ',' '\n' | sort | xargs)" "band ppi 1 0 ppi 1 1 ppi 2 0"
check "ppi: the map says so" grep -q 'Times extreme' same.hdr
check "ppi: near the extremes" good endmembers corners.hdr ppi.csv --count 2 --method ppi --skewers 50 --threshold 0.5 --angle 0.1 --counts same.hdr
check "ppi: near the extremes: equal pixels count" awk -v v="$(od -An -v -td4 same.img | xargs)" 'BEGIN { split(v, n, " "); exit !(n[3] > 0 && n[3] == n[6]) }'
check "ppi: no two spectra alike" is "$(tail -n +2 ppi.csv | tr ',' '\n' | grep -cx 9)" 2
for i in "scene.hdr --block 7" "scene_bil.hdr --threads 2" "scene_bip.hdr --block 1 --threads 3"; do
    # shellcheck disable=SC2086 # several words
    check "ppi: $i" bash -c "'$program' endmembers ${i%% *} first.csv ${i#* } --bbl --count 4 --method ppi --counts first.hdr >/dev/null && '$program' endmembers scene.hdr ppi.csv --bbl --count 4 --method ppi --counts same.hdr >/dev/null && cmp first.csv ppi.csv && cmp first.img same.img"
done
check "ppi: unmix takes it" good unmix scene.hdr same.hdr --bbl --endmembers ppi --count 3
fails "ppi: few are extreme" 1 "corners.hdr: --count 5: 3 found among 3 extreme pixels: more --skewers" endmembers corners.hdr bad.csv --count 5 --method ppi
fails "ppi: all are alike" 1 "more --skewers, or a smaller --angle" endmembers corners.hdr bad.csv --count 3 --method ppi --angle 2
fails "ppi: another method" 2 "--skewers: --method ppi takes it, vca does not" endmembers scene.hdr bad.csv --count 3 --skewers 5
fails "ppi: no skewer" 2 "--skewers" endmembers scene.hdr bad.csv --count 3 --method ppi --skewers 0
fails "ppi: below 0" 2 "--threshold" endmembers scene.hdr bad.csv --count 3 --method ppi --threshold -1
fails "ppi: a header" 2 "--counts: same.csv: the name of a header ends in .hdr" endmembers scene.hdr bad.csv --count 3 --method ppi --counts same.csv
fails "ppi: in the place of the scene" 2 "the output would replace the input" endmembers scene.hdr bad.csv --count 3 --method ppi --counts scene.hdr

echo "== a first look"
# commands FOLDER: those of the page, as they would be copied from it
commands() {
    sed -n '/<pre class="commands">/,/<\/pre>/p' "$1/index.html" |
        sed 's/<[^>]*>//g; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' | grep .
}
# repeats NAME FOLDER STEPS: each of so many commands of the page writes what is there, byte by byte
repeats() {
    local name=$1 folder=$2 file
    check "$name: a page" test -s "$folder/index.html"
    check "$name: no room is left" test ! -e "$folder.part"
    check "$name: the commands" is "$(commands "$folder" | wc -l)" "$3"
    commands "$folder" >commands.sh
    rm -rf kept
    mv "$folder" kept
    mkdir "$folder"
    check "$name: the commands run" bash -e commands.sh
    check "$name: all files but the page" is "$(ls "$folder")" "$(ls kept | grep -v index.html)"
    for file in "$folder"/*; do check "$name: ${file##*/}: the same bytes" cmp "$file" "kept/${file##*/}"; done
    rm -rf "$folder"
    mv kept "$folder"
}
check "auto: runs" good auto scene.hdr look
repeats auto look 8
check "auto: says so" grep -qx 'written: look/index.html' out.txt
check "auto: the files" is "$(ls look | xargs)" "abundances.hdr abundances.img bands.csv count.csv endmembers.csv error.hdr error.img index.html look.hdr look.img look.png mnf.hdr mnf.img mnf.model pca.hdr pca.img pca.model rx.csv rx.hdr rx.img"
for i in '<meta name="viewport"' 'prefers-color-scheme:dark' '>True colours<' 'at 654.5, 548.5, 442.4 nm' '5 endmembers' '<td>75<td>in water vapour' 'Where the mixtures fit badly' '20 highest scores'; do
    check "auto: the page has $i" grep -q -- "$i" look/index.html
done
check "auto: the page needs nothing else" bash -c "! grep -o '\(src\|href\)=\"[^#d][^\"]*' look/index.html"
check "auto: anomalies are the targets" bash -c "'$program' rx scene.hdr same.hdr --bands 1-45,51-66,76-100 --truth scene_truth.hdr | grep -q 'auc=1.0000' && cmp same.img look/rx.img"
check "auto: again, over what is there" good auto scene.hdr look/ --count 3 --method atgp --components 4 --band-snr 50 --keep-water --window 5,6,60,50 --threads 2
repeats "auto: options" look 7
check "auto: options: three endmembers" is "$(value_of endmembers)" 3
check "auto: options: the window" grep -qx 'samples = 60' look/rx.hdr
mkdir "a room's"
cp scene.hdr "a room's/my scene.hdr"
cp scene.img "a room's/my scene.img"
check "auto: a mask, blocks, names with blanks and quotes" good auto "a room's/my scene.hdr" "a room's/a look" --mask green.hdr --block 9 --bbl
repeats "auto: names" "a room's/a look" 8
check "auto: names: the mask" bash -c "'$program' info look.hdr --data 'a room'\''s/a look/rx.img' >/dev/null; od -An -v -w4 -tf4 'a room'\''s/a look/rx.img' | grep -c nan | grep -qx $((4800 - marked))"
check "auto: no wavelengths" good auto odd.hdr look_odd --bands 1,2,5
check "auto: no wavelengths: says so" grep -q 'The header has no wavelengths, so true colours are not known' look_odd/index.html
repeats "auto: no wavelengths" look_odd 8
for seed in 1 2 3 4 5 6 7 8 9 10; do
    "$program" synthesise many.hdr --samples 64 --lines 48 --bands 60 --seed $seed >/dev/null
    check "auto: scene $seed" good auto many.hdr look_many
    check "auto: scene $seed: the page ends" bash -c "tail -n 1 look_many/index.html | grep -q '</html>'"
done
# no_look NAME CODE PATTERN ARGUMENTS...: it ends so and leaves no folder bad
no_look() {
    fails "$@"
    check "$1: leaves no folder" test ! -e bad -a ! -e bad.part
}
header one 4 5 1 4 bip; head -c 80 odd.img >one.img
no_look "auto: one band" 1 "one.hdr: bands: 1, and auto needs 3 at least" auto one.hdr bad
no_look "auto: two bands are left" 1 "odd.hdr: bands: 2 of 5 can be used (1-2), and auto needs 3; --bands LIST" auto odd.hdr bad --bands 1-2
no_look "auto: all bands are bad" 1 "bands: all 100 are bad" auto scene.hdr bad --band-snr 1e9
no_look "auto: few pixels" 1 "pixels: 20 valid ones, but nwhfc needs more than there are bands in use" auto scene.hdr bad --window 0,0,5,4
no_look "auto: a later step fails" 1 "--count 99: " auto scene.hdr bad --count 99
no_look "auto: no such scene" 1 "nowhere_at_all.hdr: cannot read it" auto nowhere_at_all.hdr bad
no_look "auto: no such method" 2 "--method: mnf is unknown" auto scene.hdr bad --method mnf
no_look "auto: one name" 2 "auto: needs two names, IN.hdr and FOLDER" auto scene.hdr
md5sum look/* >before.txt
fails "auto: a failure over what is there" 1 "bands: all 100 are bad" auto scene.hdr look --band-snr 1e9
check "auto: a failure leaves the folder as it was" md5sum -c before.txt
fails "auto: a file is there" 2 "scene.img: it is a file, and auto writes a folder" auto scene.hdr scene.img
mkdir busy.part
run auto scene.hdr busy
check "auto: another run" grep -q "busy.part: it is there already" err.txt
rmdir busy.part
# Of the results that this look does not make it removes those of an earlier one, and no file of another's.
mkdir shared; echo own >shared/count.csv
check "auto: a file that is not of auto: runs" run auto scene.hdr shared --count 3
check "auto: a file that is not of auto: stays" is "$(cat shared/count.csv)" own
check "auto: a file that is not of auto: says so" grep -q "shared/count.csv: it stays" err.txt
rm -r shared
mkdir own; cp scene.hdr own/rx.hdr; cp scene.img own/rx.img
fails "auto: the scene in the place of a result" 2 "own/rx.hdr: the output would replace the input" auto own/rx.hdr own
check "auto: the scene is still there" cmp scene.img own/rx.img

echo "== similarities and libraries"
# Pixels (1, 2, 3), twice it, (3, 2, 1), one with a 0, and a missing one; spectra by name.
floats like 1 2 3  2 4 6  3 2 1  0 2 1  -1 2 3
header like 5 1 3 4 bip 'data ignore value = -1' 'wavelength = {500, 600, 700}' 'wavelength units = Nanometers'
printf 'wavelength,down,up\n500,6,1\n600,4,2\n700,2,3\n' >pairs.csv
fails "scores as integers" 2 "--type: scores are of the size of 1: i16 needs --rescale" detect like.hdr bad.hdr --target pairs.csv --type i16
check "scores as stretched integers" good detect like.hdr same.hdr --target pairs.csv --type i16 --rescale 0,1000
check "library: runs" good detect like.hdr same.hdr --library pairs.csv --method sid --interleave bip --report counts.csv --html page.html
check "library: the best match and its score; none with a 0, or missing" is "$(values same)" "2 0 2 0 1 0 nan nan nan nan"
check "library: says how many" grep -qx '2 up: 2 pixels, mean sid 0' out.txt
check "library: a table of it" is "$(tail -n 2 counts.csv | xargs)" "1,down,1,0 2,up,2,0"
fails "library: integers" 2 "--type: i16: scores of a library are written as f32 or f64" detect like.hdr bad.hdr --library pairs.csv --type i16
awk -F, 'NR == 1 { print "gone," $0; next } { print (NR == 3 ? "-1.23e34," : "1,") $0 }' pairs.csv >gone.csv
check "library: a spectrum with a gap: runs" run detect like.hdr gone.hdr --library gone.csv --method sid --interleave bip
check "library: a spectrum with a gap: the numbers of the others" is "$(values gone)" "3 0 3 0 2 0 nan nan nan nan"
check "library: a spectrum with a gap: how many" grep -qx '3 up: 2 pixels, mean sid 0' out.txt
check "library: a page" grep -q '<tr><td>2<td>up<td>2<td>0$' page.html
check "library: band names" grep -q '^  Best match,$' same.hdr
check "library: pixels" is "$(value_of pixels)" 3
floats lib 6 4 2  1 2 3
printf 'ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 4\ninterleave = bsq\nbyte order = 0\nfile type = ENVI Spectral Library\nwavelength units = Micrometers\nwavelength = {0.5, 0.6, 0.7}\nspectra names = {down, up}\n' >lib.hdr
mv lib.img lib.sli
check "library: of ENVI" good detect like.hdr same.hdr --library lib.sli --interleave bip
fails "library: its header as output of --resample" 2 "lib.hdr: the output would replace the input lib.hdr" spectra scene.hdr lib.hdr --resample lib.sli
check "library: of ENVI: angles, also with a 0" bash -c "[ \"$(values same | cut -d' ' -f1,3,5,7,9)\" = '2 2 1 2 nan' ]"
positive_columns em.csv >positive.csv
for m in sam sid sidsam ns3 jmsam; do
    check "$m: a score for each target" good detect like.hdr same.hdr --target pairs.csv --method $m --type f64
    check "$m: bands" is "$(sed -n 's/^bands = //p' same.hdr)" 2
    same_whatever "library by $m" same.hdr detect --bbl --library positive.csv --method $m
    same_whatever "targets by $m" same.hdr detect --bbl --target positive.csv --method $m --interleave bil
    check "$m: finds the targets" run detect scene.hdr same.hdr --bbl --target "$(awk -F, 'NR == 2 { print $4 "," $5 }' look/rx.csv)" --method $m --truth scene_truth.hdr
    check "$m: finds the targets: small is alike" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.9) }'
done
check "ns3: by hand" good detect like.hdr same.hdr --target pairs.csv --method ns3 --window 2,0,1,1
check "ns3: by hand: half of down, so the root mean square of (3, 2, 1)" near "$(values same | cut -d' ' -f1)" 2.160247 1e-5
check "library: a mask" good detect scene.hdr same.hdr --bbl --library em.csv --mask green.hdr
check "library: a mask: those pixels" is "$(value_of pixels)" "$marked"
fails "library: no overlap" 1 "wavelength: the table does not reach 500 nm" detect like.hdr bad.hdr --library <(printf 'wavelength,a\n1000,1\n1100,2\n1200,2\n')
fails "library: and targets" 2 "--library: --target says already which spectra" detect like.hdr bad.hdr --library pairs.csv --target pairs.csv
fails "library: a detector" 2 "--method: ace: --library takes sam, sid, sidsam, ns3 and jmsam" detect like.hdr bad.hdr --library pairs.csv --method ace
fails "sid: a spectrum with a 0" 1 "spectrum 2 has a value that is not above 0" detect like.hdr bad.hdr --target <(printf '5,0\n2,1\n4,1\n') --method sid
fails "sid: pixels with a 0" 1 "no pixel has a score: they are missing, or each has a band that is not above 0" detect like.hdr bad.hdr --target pairs.csv --method sid --window 3,0,1,1
fails "sid: a ridge" 2 "--ridge: mf, cem, ace, sace and glrt have a background" detect like.hdr bad.hdr --target pairs.csv --method sid --ridge 1
fails "library: one band" 1 "needs 2 bands at least" detect like.hdr bad.hdr --library <(printf '6,4\n') --bands 1
fails "library: no truth" 2 "--truth: needs --target" detect scene.hdr bad.hdr --bbl --library em.csv --truth scene_truth.hdr

echo "== sparse unmixing"
# By hand: up, twice up, half of down, a mixture, and a missing pixel; to 5 digits.
rounded() { od -An -v -w4 -tf4 "$1.img" | awk '{ x = sprintf("%.5f", $1) + 0; print $1 ~ /nan/ ? "nan" : x }' | xargs; }
check "sparse: runs" good unmix like.hdr same.hdr --library pairs.csv --method nnomp --sparsity 1 --interleave bip --error misfit.hdr --html page.html
check "sparse: one spectrum a pixel" is "$(rounded same)" "0 1 0 2 0.5 0 0 0.5 -1 -1"
check "sparse: the errors" is "$(rounded misfit)" "0 0 0 0.70711 nan"
check "sparse: band names" is "$(sed -n '/band names/,/}/p' same.hdr | tr -d '\n,}' | xargs)" "band names = { down up"
check "sparse: says how" is "$(value_of spectra) $(value_of method)" "2 nnomp"
check "sparse: lasso" good unmix like.hdr same.hdr --library pairs.csv --lambda 0.25 --interleave bip
# of one spectrum, which is the brightest: 1 - lambda of its least squares
check "sparse: lasso: half of down" is "$(values same | cut -d' ' -f5,6)" "0.375 0"
check "sparse: lasso is the default" is "$(value_of method)" lasso
check "sparse: of ENVI" good unmix like.hdr same.hdr --library lib.sli --method nnomp --sparsity 1 --interleave bip
check "sparse: of ENVI: the same" is "$(rounded same)" "0 1 0 2 0.5 0 0 0.5 -1 -1"
for m in nnomp lasso; do
    same_whatever "sparse: $m" same.hdr unmix --bbl --library em.csv --method $m
    check "sparse: $m: errors" good unmix scene.hdr same.hdr --bbl --library em.csv --method $m --error misfit.hdr
    check "sparse: $m: errors of blocks" good unmix scene_bil.hdr same.hdr --bbl --library em.csv --method $m --error same_misfit.hdr --block 7
    check "sparse: $m: errors of blocks: the same" cmp misfit.img same_misfit.img
    check "sparse: $m: a mask" good unmix scene.hdr same.hdr --bbl --library em.csv --mask green.hdr --method $m
    check "sparse: $m: a mask: those pixels" bash -c "od -An -v -w4 -tf4 same.img | grep -vc nan | grep -qx $((marked * $(head -n 1 em.csv | tr ',' '\n' | tail -n +2 | wc -l)))"
done
# A library of 40 spectra, 3 of them in each pixel; without noise, and at 40 dB (0.51: their root mean square).
for noise in 0 0.01; do
    perl -e 'my ($noise, @lib) = ($ARGV[0]); my $seed = 7;
        sub uniform { $seed = ($seed * 16807) % 2147483647; $seed / 2147483647 }
        for my $k (0 .. 39) { my @c = map { [80 * uniform(), 0.2 + uniform(), 1 + 3 * uniform()] } 1 .. 6;
            for my $b (0 .. 79) { $lib[$b][$k] = 0.1; $lib[$b][$k] += $_->[1] * exp(-(($b - $_->[0]) / $_->[2]) ** 2 / 2) for @c } }
        open my $csv, ">", "forty.csv"; print $csv join(",", "wavelength", map { "s$_" } 1 .. 40), "\n";
        print $csv join(",", 400 + 20 * $_, @{$lib[$_]}), "\n" for 0 .. 79;
        open my $mix, ">", "mixed.img"; open my $true, ">", "truth40.img"; binmode $_ for $mix, $true;
        for (1 .. 200) { my (@a, $sum) = (0) x 40; my %in; $in{int 40 * uniform()} = 0.2 + uniform() while keys %in < 3;
            $sum += $_ for values %in; $a[$_] = $in{$_} / $sum for keys %in; print $true pack "f<*", @a;
            print $mix pack "f<*", map { my $b = $_; my $y = 0; $y += $lib[$b][$_] * $a[$_] for keys %in;
                my $n = -6; $n += uniform() for 1 .. 12; $y + $noise * 0.51 * $n } 0 .. 79 }' $noise
    header mixed 20 10 80 4 bip 'wavelength units = Nanometers' "wavelength = {$(seq -s, 400 20 1980)}"
    header truth40 20 10 40 4 bip
    for i in "200 lasso --lambda 1e-5" "200 nnomp --sparsity 20" "190 nnomp --sparsity 10" "100 nnomp --sparsity 3"; do
        m=${i#* }
        # shellcheck disable=SC2086 # several words
        check "sparse: 3 of 40, noise $noise, $m" good unmix mixed.hdr same.hdr --library forty.csv --method $m --abundances truth40.hdr --interleave bip
        [ "${i%% *}" -lt 200 ] || check "sparse: 3 of 40, noise $noise, $m: abundances off by $(value_of rmse)" near "$(value_of rmse)" 0 $([ $noise = 0 ] && echo 0.0001 || echo 0.01)
        found=$(perl -e 'my @x = map { local (@ARGV, $/) = $_; [unpack "f<*", scalar <>] } @ARGV; my $found = 0;
            for my $i (0 .. 199) { my @top = sort { $x[0][40 * $i + $b] <=> $x[0][40 * $i + $a] } 0 .. 39;
                $found += 3 == grep { $x[1][40 * $i + $_] > 0 } @top[0 .. 2] } print $found' same.img truth40.img)
        check "sparse: 3 of 40, noise $noise, $m: found in $found of 200 pixels" test "$found" -ge "${i%% *}"
    done
done
fails "sparse: no overlap" 1 "wavelength: the table does not reach 500 nm" unmix like.hdr bad.hdr --library <(printf 'wavelength,a\n1000,1\n1100,2\n1200,2\n')
fails "sparse: more than the library" 1 "pairs.csv: --sparsity: 3 is more than its 2 spectra" unmix like.hdr bad.hdr --library pairs.csv --method nnomp --sparsity 3
fails "sparse: more than bands" 1 "mixed.hdr: --sparsity: 5 is more than the 4 bands in use" unmix mixed.hdr bad.hdr --library forty.csv --method nnomp --sparsity 5 --bands 1-4
for l in -1 0 1 nan two; do
    fails "sparse: lambda $l" 2 "--lambda: '$l' is no number above 0 and below 1" unmix like.hdr bad.hdr --library pairs.csv --lambda $l
done
fails "sparse: a spectrum of zeros" 1 "spectrum none is 0 in all bands" unmix like.hdr bad.hdr --library <(printf 'up,none\n1,0\n2,0\n3,0\n')
fails "sparse: a constraint" 2 "--constraint: with --library abundances are nonnegative, and no other constraint fits" unmix like.hdr bad.hdr --library pairs.csv --constraint full
fails "sparse: endmembers" 2 "--library: --endmembers says already which spectra" unmix like.hdr bad.hdr --library pairs.csv --endmembers vca
fails "sparse: a count" 2 "--count: --endmembers takes it, --library does not" unmix like.hdr bad.hdr --library pairs.csv --count 2
fails "sparse: stretched" 2 "--rescale: --endmembers takes it, --library does not" unmix like.hdr bad.hdr --library pairs.csv --rescale 0,1
fails "sparse: integers" 2 "--type: u8: abundances over a library are written as f32 or f64" unmix like.hdr bad.hdr --library pairs.csv --type u8
fails "sparse: an unknown method" 2 "--method: sunsal" unmix like.hdr bad.hdr --library pairs.csv --method sunsal
fails "sparse: lasso's weight" 2 "--lambda: --method lasso takes it, nnomp does not" unmix like.hdr bad.hdr --library pairs.csv --method nnomp --lambda 0.1
fails "sparse: nnomp's number" 2 "--sparsity: --method nnomp takes it, lasso does not" unmix like.hdr bad.hdr --library pairs.csv --sparsity 1
fails "sparse: no library" 2 "--method: only --library takes it" unmix like.hdr bad.hdr --endmembers vca --count 2 --method lasso

echo "== spectra of places"
check "at: runs" good spectra five.hdr at.csv --at "0,1; 0,0,1,2" --svg at.svg
check "at: a pixel, and the mean of a region" is "$(xargs <at.csv | sed 's/ /|/g')" "wavelength,pixel|0|1,mean|0|0|1|2|400,4,3.5|450,1,1.8125|600,2,2.5|700,1,2.75|900,6,8.25"
check "at: a picture" is "$(grep -c '<g class="curve"' at.svg) $(grep -o '>pixel 0 1<\|&#8212; [a-z0-9 ]*' at.svg | wc -l) $(tail -n 1 at.svg)" "2 2 </svg>"
check "at: the scene's" good spectra scene.hdr at.csv --bbl --at 30,20
check "at: the scene's: as endmembers" bash -c "'$program' spectra scene.hdr em2.csv --bbl --at \"\$(head -n 1 em.csv | cut -d, -f2 | cut -d' ' -f2-3 | tr ' ' ',')\" >/dev/null && cmp <(cut -d, -f1-2 em.csv | tail -n +2) <(tail -n +2 em2.csv)"
check "at: a window has the file's numbers" good spectra scene.hdr same.csv --bbl --at 30,20 --window 25,15,20,20
check "at: a window has the file's numbers: the same" cmp at.csv same.csv
check "at: interleaves" bash -c "'$program' spectra scene_bil.hdr same.csv --bbl --at 30,20 >/dev/null && cmp at.csv same.csv"
check "at: unmix takes it" good unmix scene.hdr same.hdr --bbl --endmembers at.csv
# Without wavelengths rows have the numbers of bands, so that other bands do not take them in silence.
check "at: no wavelengths" good spectra nameless.hdr numbered.csv --at 0,1 --bands 2-4
check "at: no wavelengths: numbers" is "$(xargs <numbered.csv)" "band,pixel 0 1 2,1 3,2 4,1"
check "at: no wavelengths: the same bands" good detect nameless.hdr same.hdr --target numbered.csv --method sam --bands 2-4
fails "at: no wavelengths: other bands" 1 "numbered.csv" detect nameless.hdr bad.hdr --target numbered.csv --method sam --bands 3-5
fails "at: beyond" 2 "--at: 5,5,1,1 is not within the pixels" spectra five.hdr bad.csv --at 5,5
fails "at: a missing pixel" 1 "gap.hdr: --at 0,0: band [0-9]* of this pixel is missing; --bands or --bbl" spectra gap.hdr bad.csv --at 0,0
fails "at: no place" 2 "names no place" spectra five.hdr bad.csv --at " ; "
fails "at: half a place" 2 "--at: '3' is no window" spectra five.hdr bad.csv --at 3
fails "at: a cube" 2 "are a table, which ends in .csv" spectra five.hdr bad.hdr --at 0,0
fails "at: of a table" 2 "is a table, and only a cube has places" spectra five.csv bad.csv --at 0,0
fails "at: steps" 2 "run spectra once more on the table" spectra five.hdr bad.csv --at 0,0 --smooth 3

echo "== spectra as other programs write them"
# The lines of keys of ENVI's plots, and of the libraries ECOSTRESS and ASTER.
printf 'wavelength,one,two\n400,0.3,0.4\n450,0.2,0.1\n600,0.3,0.2\n700,0.4,0.1\n900,0.9,0.6\n' >known.csv
"$program" spectra known.csv known_same.csv --smooth 1 >/dev/null
for end in '' '\r'; do
    { printf "ENVI ASCII Plot File [Tue Nov 24 10:11:12 2026]$end\nColumn 1: Wavelength$end\nColumn 2: one~~2##255,0,0$end\n"
      printf "Column 3: two~~3##0,128,0$end\n"
      tail -n +2 known.csv | tr ',' ' ' | while read -r a b c; do printf " %s.000000   %s  %s$end\n" "$a" "$b" "$c"; done; } >plot.txt
    check "a plot of ENVI" good spectra plot.txt same.csv --smooth 1
    check "a plot of ENVI: as a table of it" cmp same.csv known_same.csv
done
sed 's/ 400.000000/ 4o0.000000/' plot.txt >torn.txt
fails "a plot of ENVI: a torn number in its first line" 1 "torn.txt: line 5: '4o0.000000' is no number" spectra torn.txt bad.csv --smooth 1
sed 's/ 600.000000/ 6o0.000000/' plot.txt >torn.txt
fails "a plot of ENVI: a torn number" 1 "torn.txt: line 7: '6o0.000000' is no number" spectra torn.txt bad.csv --smooth 1
{ printf 'Name: one\nType: mineral\nClass: silicate\nParticle Size: Fine\nX Units: Wavelength (micrometers)\n'
  printf 'Y Units: Reflectance (percent)\nFirst X Value: 0.9000\nAdditional Information: none\n\n'
  tail -n +2 known.csv | cut -d, -f1,2 | sort -rn | while IFS=, read -r a b; do printf '%s\t%s\n' "$(awk "BEGIN { print $a / 1000 }")" "$(awk "BEGIN { print 100 * $b }")"; done; } >eco.txt
check "a text of ECOSTRESS" good spectra eco.txt same.csv --smooth 1
check "a text of ECOSTRESS: says that it divides by 100" grep -q 'eco.txt: its values are divided by 100, as its Y Units are percent' out.txt
check "a text of ECOSTRESS: as a table of it" is "$(sort -n same.csv | xargs)" "wavelength (nm),one $(cut -d, -f1,2 known_same.csv | tail -n +2 | xargs)"
sed 's/^Class:.*/&\n12.5 % quartz\n7/; s/(percent)/(%)/' eco.txt >t.txt
mv same.csv eco.csv
check "a text of ECOSTRESS: a value that goes on behind a digit" good spectra t.txt same.csv --smooth 1
check "a text of ECOSTRESS: a value that goes on behind a digit, and %" cmp same.csv eco.csv
{ printf '     USGS Digital Spectral Library splib06a\n  Clark and others 2007\n\n line 15 title\nKaolinite CM9   W1R1Ba   AREF\n'
  tail -n +2 known.csv | awk -F, '{ print "  " $1 / 1000, $2, "0.000000" }'; } >usgs.txt
fails "a text of splib06" 1 "usgs.txt: a text of USGS splib06: delete the lines above its numbers" spectra usgs.txt bad.csv --smooth 1
{ echo wavelength_um kaolinite kaolinite_std; sed 1,5d usgs.txt; } >t.txt
check "a text of splib06: as its message says" good spectra t.txt same.csv --smooth 1
{ echo ' splib07a Record=5732: Kaolinite CM9 BECKb AREF'; seq 0.1 0.1 0.9; } >usgs.txt
{ echo ' splib07a Record=1: Wavelengths BECK 0.2-3.0 microns'; seq 0.4 0.1 1.2; } >waves.txt
header four 1 1 4 1 bsq 'wavelength units = nm' 'wavelength = {400,500,600,700}'; printf '\001\001\002\002' >four.img
fails "a text of splib07" 1 "usgs.txt: rows: 9, but four.hdr has 4 bands.* USGS splib07 .*: paste -d, WAVELENGTHS.txt SPECTRUM.txt" unmix four.hdr bad.hdr --endmembers usgs.txt
paste -d, waves.txt usgs.txt >t.txt
check "a text of splib07: as its message says" good unmix four.hdr same.hdr --endmembers t.txt --constraint nonnegative

echo "== two cubes"
# Differences (3, 4) and none; angles of 90 degrees, and none; a missing pixel.
floats one 1 0  2 5  -1 3
floats two 4 4  2 5  1 1
floats turned 0 2  2 5  1 1
header one 3 1 2 4 bip 'data ignore value = -1'; header two 3 1 2 4 bip; header turned 3 1 2 4 bip
check "compare: runs" good compare one.hdr two.hdr same.hdr --report off.csv --interleave bip --html page.html
check "compare: root mean squares, angles" is "$(values same)" "3.53553 0.785398 0 0 nan nan"
check "compare: all pixels" is "$(tail -n 1 out.txt)" "rmse=2.5 largest=4 equal=1 pixels=2 bands=2"
check "compare: bands" is "$(tail -n 2 off.csv | xargs)" "1,1.5,3,2.12132034,3,-1 2,2.5,4.5,2.82842712,4,1"
# Correlation of values whose mean is large beside what varies: 16777216 and the next floats.
floats high 16777216 16777218 16777220 16777222
floats higher 16777220 16777224 16777228 16777232
header high 4 1 1 4 bip; header higher 4 1 1 4 bip
check "compare: large means" good compare high.hdr higher.hdr same.hdr --report high.csv
check "compare: large means: a correlation of 1" is "$(tail -n 1 high.csv)" "1,16777219,16777226,7.34846923,10,1"
header scaled 3 1 2 4 bip 'reflectance scale factor = 10'; cp one.img scaled.img
check "compare: reflectance" run convert scaled.hdr reflectance.hdr --reflectance
check "compare: reflectance has the factor 1" grep -qx 'reflectance scale factor = 1' reflectance.hdr
check "compare: reflectance with stored values" good compare scaled.hdr reflectance.hdr same.hdr --reflectance
check "compare: reflectance with stored values: equal" is "$(value_of equal)" "$(value_of pixels)"
check "compare: a right angle" good compare one.hdr turned.hdr same.hdr --interleave bip
check "compare: a right angle: half of pi" is "$(values same | cut -d' ' -f2)" 1.5708
check "compare: interleaves are equal" good compare scene.hdr scene_bil.hdr same.hdr
check "compare: interleaves are equal: all" is "$(value_of equal) $(value_of largest)" "4800 0"
good denoise scene.hdr clean.hdr --bbl --components 5
check "compare: with the bands in use" good compare scene.hdr clean.hdr same.hdr --bbl
check "compare: with the bands in use: noise" awk -v r="$(value_of rmse)" 'BEGIN { exit !(r > 30 && r < 50) }'
sed 's/^wavelength units.*/reflectance scale factor = 10000/; s/900}/950}/' five.hdr >off.hdr; cp five.img off.img
sed 's/^wavelength units.*/reflectance scale factor = 1/' five.hdr >unit.hdr; cp five.img unit.img
check "compare: other wavelengths, another scale" run compare unit.hdr off.hdr same.hdr
check "compare: other wavelengths: it is said" grep -q "off.hdr: wavelength: band 5 is at 950 nm, but that of unit.hdr at 900 nm" err.txt
check "compare: another scale: it is said" grep -q "off.hdr: reflectance scale factor: 10000, but 1 in unit.hdr" err.txt
check "compare: a mask" good compare scene.hdr clean.hdr same.hdr --bbl --mask green.hdr --block 7
check "compare: a mask: those pixels" is "$(value_of pixels)" "$marked"
printf '\001\000\002\000' >whole.img; header whole 2 1 1 2 bsq 0
printf '\001\000\361\330' >gap.img; header gap 2 1 1 2 bsq 0
check "compare: --nodata" good compare whole.hdr gap.hdr same.hdr --nodata=-9999
check "compare: --nodata: of both cubes" is "$(value_of rmse) $(value_of pixels)" "0 1"
header gap 2 1 1 2 bsq 0 "data ignore value = -9999"
check "compare: --nodata nan" good compare whole.hdr gap.hdr same.hdr --nodata nan
check "compare: --nodata nan: of both cubes" is "$(value_of pixels)" 2
fails "compare: another size" 1 "two.hdr: 3 x 1 pixels, but scene.hdr has 80 x 60" compare scene.hdr two.hdr bad.hdr --bands 1,2
fails "compare: other bands" 1 "two.hdr: bands: 2, but the first cube has 5" compare five.hdr two.hdr bad.hdr
fails "compare: no pixel" 1 "no pixel has all bands in use, here and in two.hdr" compare one.hdr two.hdr bad.hdr --window 2,0,1,1
fails "compare: two names" 2 "compare: needs three names, A.hdr, B.hdr and OUT.hdr" compare one.hdr bad.hdr
the_end
