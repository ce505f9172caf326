#!/bin/sh
# make scaling: what scaling_mpi measures and models, and a drawing of it. From the project's root:
#
#     make scaling [RANKS=4] [OUT=build/scaling] [HOSTS='--hostfile FILE'] [ARGS='--device each --signals 1000000']
#
# Each rank has one thread. Hosts of a cluster are named as mpirun wants them; the folder must be theirs in common.
set -eu
out=${OUT:-build/scaling}
ranks=${RANKS:-$(getconf _NPROCESSORS_ONLN)}
command -v gnuplot >/dev/null || { echo "scaling: gnuplot is not here: make mpi-deps installs it" >&2; exit 1; }
mkdir -p "$out"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Ranks that share a processor must not spin while they wait.
[ "$ranks" -le "$(getconf _NPROCESSORS_ONLN)" ] || export OMPI_MCA_mpi_yield_when_idle=1
# Ranks on other hosts look for the same OpenCL drivers. Open MPI passes only what is named.
passed=
case $(mpirun --version 2>/dev/null) in
*"Open MPI"*)
    for name in OCL_ICD_FILENAMES OCL_ICD_VENDORS LD_LIBRARY_PATH; do
        ! printenv $name >/dev/null || passed="$passed -x $name"
    done ;;
esac
# shellcheck disable=SC2086 # lists of words
mpirun -n "$ranks" $passed ${HOSTS:-} build/mpi/scaling_mpi --out "$out" ${ARGS:-} | tee "$out/summary.txt"

# The rows of one case, scaling and network, for a curve.
curve() {
    awk -F, -v network="$1" -v name="$2" -v scaling="$3" \
        '$1 == network && $2 == name && $3 == scaling { print $4, 100 * $5 }' "$out/model.csv"
}
measured() { awk -F, -v name="$1" -v scaling="$2" '$1 == name && $2 == scaling { print $3, 100 * $5 }' "$out/measured.csv"; }
plots='' n=0
for scaling in strong weak; do
    for name in "AK-SVD 64 atoms" "PAK-SVD 256 atoms at once" "PCA 224 bands"; do
        n=$((n + 1))
        measured "$name" $scaling >"$out/points$n.txt"
        curve "25 Gbit/s" "$name" $scaling >"$out/slow$n.txt"
        curve "200 Gbit/s" "$name" $scaling >"$out/fast$n.txt"
        dash=$([ $scaling = strong ] && echo 1 || echo 2)
        color=$(((n - 1) % 3 + 1))
        plots="$plots, '$out/fast$n.txt' with lines lt $color dt $dash title '$name, $scaling: 200 Gbit/s'"
        plots="$plots, '$out/slow$n.txt' with lines lt $color lw 0.5 dt $dash title '25 Gbit/s'"
        plots="$plots, '$out/points$n.txt' with points lt $color pt $((5 + 2 * dash)) title 'measured here'"
    done
done
cat >"$out/scaling.gp" <<END
set terminal svg size 900,560 dynamic rounded background rgb 'white' font 'sans-serif,13'
set output '$out/scaling.svg'
set logscale x 2
set key outside below maxcols 3 samplen 2
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set xlabel 'ranks'
set ylabel 'efficiency, %'
set yrange [0:110]
plot ${plots#, }
END
gnuplot "$out/scaling.gp"
echo "scaling: $out/scaling.svg"
