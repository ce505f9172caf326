#!/usr/bin/env bash
# make test-peers, its second part: the steps of a scene's first hour beside numpy and SciPy. From the project's root:
#
#     tests/peers/test_peers_scene.sh build/hypercube            (PYTHON names an interpreter)
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: $0 PROGRAM" >&2; exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
data=${SHS_DATA:-../shared/data}
[ -d "$data" ] && data=$(cd "$data" && pwd)
. "$here/../programs/programs.sh"

python=
for p in ${PYTHON:-} python3 /usr/bin/python3; do
    [ -n "$python" ] || ! command -v "$p" >/dev/null || ! "$p" -c 'import numpy, scipy' 2>/dev/null || python=$p
done
if [ -z "$python" ]; then
    skip "numpy or SciPy is not here: make peers-deps installs them"
    the_end
    exit
fi
# peers CHECK ARGUMENTS...: a function of peers_scene.py
peers() { "$python" "$here/peers_scene.py" "$@"; }

good synthesise scene.hdr --noise 0.01
cubes=scene.hdr
for cube in sandiego_bip beach_bsq jasper_bil airport_bip; do
    [ -f "$data/cubes/$cube.hdr" ] && cubes="$cubes $data/cubes/$cube.hdr" || skip "$cube: not in \$SHS_DATA"
done

for cube in $cubes; do
    name=$(basename "$cube" .hdr)
    bbl=; ! grep -q '^bbl' "$cube" || bbl=--bbl
    if [ "$name" != sandiego_bip ]; then # some of its bands are constant
        # shellcheck disable=SC2086 # no word at all
        check "$name: count" run count "$cube" $bbl
        check "$name: count: as numpy" peers count "$cube" out.txt
    fi
    check "$name: bands" run bands "$cube" bands.csv
    check "$name: bands: as numpy's least squares" peers bands "$cube" bands.csv
    check "$name: a first look" run auto "$cube" look
done
check "scene: continuum" good spectra scene.hdr out.hdr --bbl --continuum divide
check "scene: continuum: as SciPy's convex hull" peers continuum scene.hdr out.hdr
good endmembers scene.hdr em.csv --bbl --count 3 --method nfindr
echo 'wavelength,fwhm' >sensor.csv
for w in 430 555 662.5 801 1203 1678 2204; do echo "$w,25" >>sensor.csv; done
check "scene: resampled" good spectra em.csv out.csv --resample sensor.csv
check "scene: resampled: as SciPy's quadrature" peers resampled em.csv out.csv
check "scene: an index" good index scene.hdr out.hdr --index NDVI
check "scene: an index: as numpy" peers index scene.hdr out.hdr
for method in iarr logres dark; do
    check "scene: correct $method" good correct scene.hdr out.hdr --bbl --method $method
    check "scene: correct $method: as numpy" peers correct scene.hdr out.hdr $method
done
check "scene: scaled abundances" good unmix scene.hdr out.hdr --bbl --endmembers em.csv --constraint scaled --type f64
check "scene: scaled abundances: as SciPy's nnls" peers scaled scene.hdr out.hdr em.csv
for constraint in none full; do
    check "scene: errors, $constraint" good unmix scene.hdr out.hdr --bbl --endmembers em.csv --constraint $constraint --type f64 --error misfit.hdr
    check "scene: errors, $constraint: as numpy" peers error scene.hdr out.hdr misfit.hdr em.csv
done
good endmembers scene.hdr library.csv --bbl --count 20 --method nfindr
for i in "nnomp --sparsity 4" "lasso --lambda 0.01"; do
    if [ "${i%% *}" = lasso ] && ! "$python" -c 'import sklearn' 2>/dev/null; then skip "scikit-learn is not here"; continue; fi
    # shellcheck disable=SC2086 # several words
    check "scene: sparse, $i" good unmix scene.hdr out.hdr --bbl --library library.csv --type f64 --error misfit.hdr --method $i
    # shellcheck disable=SC2086
    check "scene: sparse, $i: as SciPy or scikit-learn" peers sparse scene.hdr out.hdr library.csv ${i/--* /}
    check "scene: sparse, $i: errors: as numpy" peers error scene.hdr out.hdr misfit.hdr library.csv
done
check "scene: purity" good endmembers scene.hdr ppi.csv --bbl --count 3 --method ppi --skewers 300 --counts purity.hdr
check "scene: purity: as numpy" peers purity scene.hdr purity.hdr 300 0 0
check "scene: purity near the extremes" good endmembers scene.hdr ppi.csv --bbl --count 3 --method ppi --skewers 70 --seed 5 --threshold 200 --counts purity.hdr
check "scene: purity near the extremes: as numpy" peers purity scene.hdr purity.hdr 70 5 200
positive_columns em.csv >positive.csv
for method in sam sid sidsam ns3 jmsam; do
    check "scene: $method" good detect scene.hdr out.hdr --bbl --target positive.csv --method $method --type f64
    check "scene: $method: as numpy" peers similarity scene.hdr out.hdr positive.csv $method all
    check "scene: best match by $method" good detect scene.hdr out.hdr --bbl --library positive.csv --method $method --type f64
    check "scene: best match by $method: as numpy" peers similarity scene.hdr out.hdr positive.csv $method best
done
good index scene.hdr parts.hdr --index NDVI --above 0.3
for method in ace sace glrt; do
    check "scene: $method" good detect scene.hdr out.hdr --bbl --target em.csv --method $method --type f64
    check "scene: $method: as numpy" peers detector scene.hdr out.hdr em.csv $method
    check "scene: $method by column" good detect scene.hdr out.hdr --bbl --target em.csv --method $method --type f64 --background column
    check "scene: $method by column: as numpy" peers detector scene.hdr out.hdr em.csv $method column
    check "scene: $method by class" good detect scene.hdr out.hdr --bbl --target em.csv --method $method --type f64 --class parts.hdr
    check "scene: $method by class: as numpy" peers detector scene.hdr out.hdr em.csv $method parts.hdr
done
cut -d, -f1-3 em.csv >wanted.csv; cut -d, -f1,4 em.csv >unwanted.csv
check "scene: amsd" good detect scene.hdr out.hdr --bbl --target wanted.csv --undesired unwanted.csv --method amsd --type f64
check "scene: amsd: as numpy" peers subspaces scene.hdr out.hdr wanted.csv unwanted.csv
good denoise scene.hdr clean.hdr --bbl --components 5
check "scene: two cubes" good compare scene.hdr clean.hdr out.hdr --bbl
check "scene: two cubes: as numpy" peers compare scene.hdr clean.hdr out.hdr
the_end
