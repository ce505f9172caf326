#!/bin/sh
# Builds the page: one file without anything beside it. From the project's root:
#
#     sh examples/playground/build.sh FOLDER                FOLDER/index.html
#     sh examples/playground/build.sh FOLDER denoise        FOLDER/denoise.js: examples/denoise.c by the same compiler, for node
#
# Needs emscripten (make playground-deps).
set -eu
folder=${1:-build/playground}
here=examples/playground
mkdir -p "$folder"
flags="-std=gnu99 -O3 -msimd128"
# Debian's emscripten needs Debian's modules of node, which another node does not look for there.
export NODE_PATH="${NODE_PATH:+$NODE_PATH:}/usr/share/nodejs"
if [ $# -eq 2 ]; then
    # shellcheck disable=SC2086 # flags are words
    emcc $flags "examples/$2.c" -o "$folder/$2.js" -lm -sENVIRONMENT=node -sSINGLE_FILE=1 -sALLOW_MEMORY_GROWTH=1 -sNODERAWFS=1 \
        -sEXIT_RUNTIME=1
    exit
fi
# engine NAME FLAGS: the module of playground.c, as one script
engine() {
    name=$1
    shift
    # shellcheck disable=SC2086 # flags are words
    emcc $flags "$@" $here/playground.c -o "$folder/$name.js" -lm -sMODULARIZE=1 -sEXPORT_NAME=createEngine \
        -sENVIRONMENT=worker,node -sSINGLE_FILE=1 -sALLOW_MEMORY_GROWTH=1 -sINITIAL_MEMORY=67108864 -sFORCE_FILESYSTEM=1 \
        -sEXIT_RUNTIME=0 -sEXPORTED_RUNTIME_METHODS=FS,ccall,UTF8ToString,HEAPF32
}
# Once with threads, which need shared memory, and once without. The growing of shared memory makes JavaScript slower, of which
# there is little.
engine engine_threads -pthread -Wno-pthreads-mem-growth '-sPTHREAD_POOL_SIZE=Module["threads"]-1' -sPTHREAD_POOL_SIZE_STRICT=2 &
other=$!
engine engine || { wait $other; exit 1; }
wait $other
# The page is its text with the engines and the workers within.
awk -v folder="$folder" -v here=$here '
    function copy(name) { while ((getline line < name) > 0) print line; close(name) }
    /^@ENGINE@$/ { copy(folder "/engine.js"); next }
    /^@ENGINE_THREADS@$/ { copy(folder "/engine_threads.js"); next }
    /^@HELPER@$/ { copy(folder "/engine_threads.worker.js"); next }
    /^@WORKER@$/ { copy(here "/worker.js"); next }
    { print }' $here/page.html >"$folder/index.html.part"
mv "$folder/index.html.part" "$folder/index.html"
bytes=$(wc -c <"$folder/index.html")
echo "$folder/index.html: $bytes bytes"
[ "$bytes" -le 1572864 ] || { echo "$folder/index.html is larger than 1.5 MiB" >&2; exit 1; }
