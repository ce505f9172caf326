#!/usr/bin/env bash
# make test-peers: what hypercube writes, read and computed by other programs: GDAL's geotransform, projection and lists of each
# output are those of its input, Spectral Python opens it, numpy computes the same. From the project's root:
#
#     tests/peers/test_peers.sh build/hypercube build/hypercube-double
[ $# -eq 2 ] && [ -x "$1" ] && [ -x "$2" ] || { echo "usage: $0 PROGRAM PROGRAM_IN_DOUBLE" >&2; exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
double=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
here=$(cd "$(dirname "$0")" && pwd)
data=${SHS_DATA:-../shared/data}
[ -d "$data" ] && data=$(cd "$data" && pwd)
. "$here/../programs/programs.sh"

find_python numpy spectral
if [ -z "$python" ] || ! command -v gdalinfo >/dev/null; then
    skip "GDAL or Spectral Python is not here: make peers-deps installs them"
    the_end
    exit
fi
# peers CHECK ARGUMENTS...: a function of peers.py
peers() { "$python" "$here/peers.py" "$@"; }

# The cubes: a synthetic one with a place on Earth, upright and rotated, and the real ones where they are.
good synthesise scene.hdr --noise 0.01
for turn in 0 30; do
    cp scene.img "place$turn.img"; cp scene.hdr "place$turn.hdr"
    printf '%s\n' "map info = {UTM, 1.5, 2.5, 583485.25, 4507215.5, 15.4, 15.5, 18, North, WGS-84, units=Meters, rotation=$turn}" \
        'coordinate system string = {PROJCS["WGS_1984_UTM_Zone_18N",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",-75.0],PARAMETER["Scale_Factor",0.9996],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]}' \
        'sensor type = AVIRIS' 'acquisition time = 2013-09-16T15:31:00Z' >>"place$turn.hdr"
done
cubes="place0.hdr place30.hdr"
for cube in sandiego_bip beach_bsq jasper_bil airport_bip; do
    [ -f "$data/cubes/$cube.hdr" ] && cubes="$cubes $data/cubes/$cube.hdr" || skip "$cube: not in \$SHS_DATA"
done

for cube in $cubes; do
    name=$(basename "$cube" .hdr)
    for mode in pca mnf rx "ica --components 4" "denoise --components 5"; do
        # shellcheck disable=SC2086 # several words
        check "$name: $mode" run ${mode%% *} "$cube" out.hdr $([ "$mode" = "${mode#* }" ] || echo "${mode#* }")
        check "$name: $mode: the geography is the input's" peers same_place "$cube" out.hdr
        check "$name: $mode: SPy opens it" peers opens out.hdr
    done
    check "$name: pca of a window" run pca "$cube" out.hdr --window 10,20,30,25
    check "$name: pca of a window: its geography is the input's, moved" peers same_place "$cube" out.hdr 10 20
    check "$name: the lists of some bands" run denoise "$cube" out.hdr --components 3 --bands 3,10-20
    check "$name: the lists of some bands are cut" peers same_lists "$cube" out.hdr 3,10-20
done
for cube in $cubes; do
    name=$(basename "$cube" .hdr)
    program=$double
    check "$name: pca in double" run pca "$cube" out.hdr --components 10 --type f64 --save own.model
    check "$name: pca in double: as numpy" peers pca "$cube" out.hdr 10
    check "$name: its model, read by numpy: the same" peers read_model "$cube" own.model out.hdr
    check "$name: a model of numpy's" peers write_model "$cube" numpy.model 10
    check "$name: a model of numpy's is applied" run apply numpy.model "$cube" out.hdr --type f64
    check "$name: a model of numpy's: as numpy" peers pca "$cube" out.hdr 10
    check "$name: rx in double" run rx "$cube" out.hdr --type f64
    check "$name: rx in double: as numpy" peers rx "$cube" out.hdr
    check "$name: a small window" run convert "$cube" small.hdr --window 20,20,24,19 --bands 1-12 --type f64
    check "$name: local rx in double" run rx small.hdr out.hdr --local 3,9 --type f64
    check "$name: local rx in double: as numpy" peers rx_local small.hdr out.hdr 3 9
    size=$(sed -n 's/^\(samples\|lines\) *= *\([0-9]*\).*/\2/p' "$cube" | xargs)
    "$python" -c "import numpy, sys
x, y = map(int, sys.argv[1:])
((numpy.arange(x * y) // x * 2 // y) + 1).astype('u1').tofile('kinds.img')
open('kinds.hdr', 'w').write('ENVI\nsamples = %d\nlines = %d\nbands = 1\ndata type = 1\ninterleave = bsq\nbyte order = 0\n' % (x, y))" $size
    for skip in 0 3; do
        # shellcheck disable=SC2046 # no word at all
        check "$name: rx by class, $skip skipped" run rx "$cube" out.hdr --class kinds.hdr --type f64 $([ $skip = 0 ] || echo --skip $skip)
        check "$name: rx by class, $skip skipped: as numpy" peers rx_of_class "$cube" out.hdr kinds.hdr $skip
    done
    check "$name: targets" peers targets "$cube" three.csv
    cut -d, -f1,2 three.csv >two.csv; cut -d, -f3 three.csv >one.csv
    bands=$(peers some_bands "$cube")
    for m in mf cem ace sace glrt sam "osp --undesired one.csv" "amsd --undesired one.csv"; do
        # shellcheck disable=SC2086 # several words
        check "$name: detect ${m%% *} in double" run detect "$cube" out.hdr --bands "$bands" --target two.csv --type f64 --method $m
        check "$name: detect ${m%% *} in double: as SPy and numpy" peers detect "$cube" out.hdr "${m%% *}" three.csv
    done
    check "$name: detect: the geography is the input's" peers same_place "$cube" out.hdr
    check "$name: endmembers" run endmembers "$cube" em.csv --method nfindr --count 5
    check "$name: nonnegative abundances in double" run unmix "$cube" out.hdr --endmembers em.csv --constraint nonnegative --type f64
    check "$name: nonnegative abundances: the geography is the input's" peers same_place "$cube" out.hdr
    if "$python" -c 'import scipy.optimize' 2>/dev/null; then
        check "$name: nonnegative abundances in double: as SciPy" peers nnls "$cube" out.hdr em.csv
    else
        skip "SciPy is not here: make peers-deps installs it"
    fi
    for how in none sum full; do
        check "$name: abundances, $how" run unmix "$cube" out.hdr --endmembers em.csv --constraint $how --type f64
        check "$name: abundances, $how: as numpy" peers abundances "$cube" out.hdr em.csv $how
    done
    check "$name: a library by Spectral Python" peers library em.csv em
    check "$name: its spectra are the table's" run unmix "$cube" same.hdr --endmembers em.sli --constraint full --type f64
    check "$name: its spectra are the table's: as numpy" peers abundances "$cube" same.hdr em.csv full
    check "$name: endmembers by ATGP" run endmembers "$cube" em.csv --method atgp --count 4
    check "$name: endmembers by ATGP: as numpy" peers atgp "$cube" em.csv 4
    check "$name: denoise in double" run denoise "$cube" out.hdr --components 4 --type f64
    check "$name: denoise in double: as numpy" peers denoised "$cube" out.hdr 4
    check "$name: ica in double" run ica "$cube" out.hdr --components 3 --symmetric --type f64
    check "$name: ica in double: fixed points to numpy" peers fixed_points "$cube" out.hdr 3
    check "$name: mnf in double" run mnf "$cube" out.hdr --components 5 --type f64
    check "$name: mnf in double: as numpy" peers mnf "$cube" out.hdr 5
    check "$name: mnf in double: as Spectral Python" peers mnf_of_spy "$cube" out.hdr 5
    for kind in right lower diagonal mean; do
        check "$name: noise of $kind neighbours" run mnf "$cube" out.hdr --components 2 --noise $kind --npy kept
        check "$name: noise of $kind neighbours: as numpy and Spectral Python" peers noises "$cube" kept_noise.npy $kind
        check "$name: its residual" run mnf "$cube" out.hdr --components 2 --noise $kind --noise-residual --npy kept
        check "$name: its residual: as numpy" peers noises "$cube" kept_noise.npy $kind residual
    done
done
the_end
