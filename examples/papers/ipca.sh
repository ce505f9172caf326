#!/bin/sh
# Times GRASS's i.pca on a file of doubles, band by band: the seconds go to ANSWER.
#
#     sh examples/papers/ipca.sh SCENE BANDS SIDE ANSWER
#
# In a location of its own, which goes when it is done. Reading the scene into GRASS's maps is not timed.
set -eu
if [ "${5:-}" != inside ]; then
    exec grass --tmp-location XY --exec sh "$0" "$@" inside </dev/null >&2
fi
r.in.bin -d --quiet "input=$1" output=band "bands=$2" "rows=$3" "cols=$3" "north=$3" south=0 "east=$3" west=0
maps=$(g.list type=raster pattern='band*' separator=comma)
g.region "raster=${maps%%,*}"
begin=$(date +%s.%N)
i.pca --quiet "input=$maps" output=component rescale=0,255 >/dev/null
end=$(date +%s.%N)
echo "$begin $end" | awk '{ printf "%.3f\n", $2 - $1 }' >"$4"
