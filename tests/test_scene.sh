#!/usr/bin/env bash
# Tests of the steps of a scene's first hour (examples/hypercube/), from the project's root: tests/test_scene.sh build/hypercube
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
printf 'wavelength,a,b\n400,3,4\n450,2.625,1\n600,3,2\n700,4.5,1\n900,10.5,6\n' >five.csv
check "a table" run spectra five.csv same.csv --continuum divide
check "a table: the second spectrum" is "$(cut -d, -f3 same.csv | tail -n 5 | awk '{ printf "%s%.6g", (NR > 1 ? " " : ""), $1 }')" "1 0.238095 0.416667 0.192308 1"
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
fails "nothing to do" 2 "needs --smooth, --resample, --continuum or --derivative" spectra five.hdr bad.hdr
fails "an even width" 2 "--smooth: 4 is even" spectra five.hdr bad.hdr --smooth 4
the_end
