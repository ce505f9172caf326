#!/usr/bin/env bash
# The shader of examples/texture beside texture_decode.h, from the project's root: tests/programs/test_texture_gl.sh build/texture. Mesa
# draws on the processor and needs no window. Pictures are drawn; blocks of each size, grey and colour.
root=$PWD
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
. "$(dirname "$0")/programs.sh"
# shellcheck disable=SC2086
${CC:-cc} -std=c99 -Wall -Wextra -O2 "$root/tests/programs/texture_gl.c" -o gl -lEGL -lGLESv2 2>build.txt || {
    if grep -qi 'error: no \|No such file\|cannot find -l' build.txt; then
        echo "skipped: there is no EGL or OpenGL ES here; make texture-deps installs them"
        exit 0
    fi
    cat build.txt
    exit 1
}
awk 'BEGIN { print "P3 93 77 255"; for (y = 0; y < 77; y++) for (x = 0; x < 93; x++)
    print int(x * 250 / 93), int(y * 250 / 77), (x * y) % 7 < 3 ? 0 : 255 }' >colour.ppm
awk 'BEGIN { print "P2 50 61 255"; for (i = 0; i < 3050; i++) print (i * i) % 256 }' >grey.pgm
drawn() { ./gl "$1" "$root/examples/texture/texture.frag" >gl.txt 2>&1; got=$?; cat gl.txt; [ $got -eq 77 ] && skip "$2"; [ $got -eq 77 ] || check "$2" test $got -eq 0; }
for b in 4 5 6 7 8; do
    check "encode blocks of $b" good encode set.tex colour.ppm grey.pgm --block $b --sparsity $b --iterations 3 --mips
    drawn set.tex "colour, blocks of $b: shader and C are equal"
done
check "encode grey" good encode set.tex grey.pgm --atoms 32 --iterations 3
drawn set.tex "grey: shader and C are equal"
the_end
