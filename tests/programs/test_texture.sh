#!/usr/bin/env bash
# Tests of examples/texture, from the project's root: tests/programs/test_texture.sh build/texture
[ $# -eq 1 ] && [ -x "$1" ] || {
    echo "usage: $0 TEXTURE" >&2
    exit 2
}
root=$PWD
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
. "$(dirname "$0")/programs.sh"
check_help "$program"

# colour NAME WIDTH HEIGHT: a ramp with stripes; grey NAME WIDTH HEIGHT.
colour() { awk -v w="$2" -v h="$3" 'BEGIN { print "P3", w, h, 255; for (y = 0; y < h; y++) for (x = 0; x < w; x++)
    print int(x * 200 / w), int(y * 200 / h), (x * y) % 29 * 4 }' >"$1"; }
grey() { awk -v w="$2" -v h="$3" 'BEGIN { print "P2", w, h, 255; for (y = 0; y < h; y++) for (x = 0; x < w; x++)
    print (x * 7 + y * 3) % 256 }' >"$1"; }
base64 -d >alpha.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAkAAAAHCAYAAADam2dgAAAAxElEQVR42g3KEYJDMRQF0MBAoVAofCh8eFD8GLhQfFjIAj4MBoLFWUDgLWEwC8gCBrKIYHZy
58GxE0IIeLjokishsLrmhlsuBPEkX4hyQZIritxY5c4mG4c8uGT3pJ70gqg3JN1QdGfVJ5seHBq59OUpe8pXxLwhZUHJB2sGW1aOnLjy6ck82Q3RdiQ7UOzF
am82OzmscNmPp+6p3xH7E6kDpb9Z+zdb/3D0ytV/PU1Pc0OcB9JUlHmyzg/bNI7ZuOYf/wEGFmtiX9SmLwAAAABJRU5ErkJggg==
END
# Grey with alpha: transparent in the first four of nine columns; opaque everywhere.
base64 -d >grey_alpha.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAkAAAAHCAQAAABwkq/rAAAAaElEQVR42jXMkQLCABRA0SuTJJlMkiRJJskkmUySySRJkkmSJJNJkiRJMplMJkm/dkfvfMABUnYUnLx4
9+lXEjL2HKm9+vDlICs25JQ0tna+HWXNlgMVZ2/2fpyMiZhmYyKmnzER098F8g06P93uXooAAAAASUVORK5CYII=
END
base64 -d >grey_opaque.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAkAAAAHCAQAAABwkq/rAAAAYklEQVR42l3MkQLCYBgAwE8mSTJJkkmSJMkkmUwmSTKZJEmSJJMkSZIkmUySJOnVbv7fA1yE3Eqp0bm4
e4vMwtrO3tHVwyBmljYqBye9p1HMFbZqrbObl49Ip69Ip59Ip78JrsFWI4tvH0YAAAAASUVORK5CYII=
END
colour a.ppm 93 77
grey g.pgm 33 40
few="--iterations 3 --atoms 48 --threads 1"
bytes_of() { wc -c <"$1" | tr -d ' '; }
number() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" out.txt | tail -n 1; }

check "encode" good encode same.tex a.ppm $few
check "encode: the file is as long as it says" test "$(number bytes)" = "$(bytes_of same.tex)"
check "encode: and as the format says: header, table, 48 atoms, 12 x 10 blocks of 15" test "$(bytes_of same.tex)" = $((24 + 12 + 48 * 192 + 120 * 15))
check "encode: near the picture" test "$(number psnr)" -ge 27
cp same.tex a.tex
check "encode: the same again" good encode same.tex a.ppm $few
check "encode: the same bytes" cmp -s a.tex same.tex
check "encode: with other threads" run encode same.tex a.ppm $few --threads 3
check "encode: the same bytes" cmp -s a.tex same.tex
check "decode" good decode a.tex out.ppm
check "decode: its size" grep -q 'width=93 height=77 channels=3' out.txt
for b in 4 5 6 7 8; do
    check "blocks of $b x $b, mips, several pictures" good encode mips.tex a.ppm g.pgm --block $b --sparsity 4 --mips $few
    for level in 0 1 2 3 4 5; do
        check "  level $level of the second" good decode mips.tex out.ppm --texture 1 --level $level
    done
    check "  levels end at 1 x 1" grep -q 'width=1 height=1 channels=3' out.txt
    fails "  and no further" 1 'there are 6' decode mips.tex bad.ppm --texture 1 --level 6
done
check "view" good view mips.tex out.ppm --reference a.ppm
check "view: all levels" test "$(grep -c "^level=" out.txt)" -eq 7
grey one.pgm 1 1
check "one pixel" good encode one.tex one.pgm $few
check "one pixel: decoded" good decode one.tex out.pgm
check "one pixel: the same" test "$(tail -c 1 out.pgm | od -An -tu1 | tr -d ' ')" = 0
awk 'BEGIN { print "P2 16 9 255"; for (i = 0; i < 144; i++) print 77 }' >flat.pgm
check "a picture of one grey" good encode flat.tex flat.pgm $few
check "a picture of one grey: decoded" good decode flat.tex out.pgm
check "a picture of one grey: the same" test "$(tail -c 144 out.pgm | od -An -v -tu1 | tr -s ' \n' '\n' | sort -u | tr -d '\n')" = 77
if good encode alpha.tex alpha.png $few; then
    check "transparency" good decode alpha.tex out.png
    check "transparency: 4 channels" grep -q 'width=9 height=7 channels=4' out.txt
    fails "transparency: PNG alone" 2 'PNG alone\|\.png alone' decode alpha.tex bad.ppm
    check "transparency: view" good view alpha.tex out.png --reference alpha.png
    byte_at() { tail -c +$(($2 + 1)) "$1" | head -c 1 | od -An -tu1 | tr -d ' '; }
    # The first block's means are behind the header, the table, and as many atoms as there are blocks; the fourth is that of alpha.
    check "transparency in grey" good encode one.tex grey_alpha.png $few
    check "transparency in grey: half of the first block" test "$(byte_at one.tex $((24 + 12 + 2 * 256 + 3)))" = 128
    check "transparency in grey: decoded" good decode one.tex out.png
    check "transparency in grey: 4 channels" grep -q 'width=9 height=7 channels=4' out.txt
    check "transparency in grey: view" good view one.tex out.png --reference grey_alpha.png
    check "transparency in grey beside colour" good encode two.tex grey_alpha.png alpha.png $few
    check "transparency in grey beside colour: half of the first block" test "$(byte_at two.tex $((24 + 24 + 4 * 256 + 3)))" = 128
    check "grey that is opaque" good encode one.tex grey_opaque.png $few
    check "grey that is opaque: decoded" good decode one.tex out.png
    check "grey that is opaque: stays grey" grep -q 'width=9 height=7 channels=1' out.txt
else
    skip "transparency: built without stb_image"
fi

echo "== what is refused"
fails "no command" 2 'needs a command'
fails "another command" 2 'needs a command' bake a.tex a.ppm
fails "encode without pictures" 2 'at least one picture' encode bad.tex
fails "blocks too large" 2 'at most 8' encode bad.tex a.ppm --block 9
fails "blocks too small" 2 'at least 4' encode bad.tex a.ppm --block 3
fails "too many atoms a block" 2 'at most 16' encode bad.tex a.ppm --sparsity 17
fails "too many atoms" 2 'at most 256' encode bad.tex a.ppm --atoms 257
fails "no such texture" 1 'it holds 1' decode a.tex bad.ppm --texture 1
fails "a foreign file" 1 'no set of textures' decode a.ppm bad.ppm
fails "not there" 1 'none.tex' decode none.tex bad.ppm
head -c 900 a.tex >short.tex
fails "truncated" 1 'truncated' decode short.tex bad.ppm
{ cat a.tex; echo; } >long.tex
fails "too long" 1 'behind its end' decode long.tex bad.ppm
{ head -c 8 a.tex; printf '\002'; tail -c +10 a.tex; } >newer.tex
fails "another version" 1 'another version' decode newer.tex bad.ppm
{ head -c 300 a.tex; printf 'xyz'; tail -c +304 a.tex; } >changed.tex
fails "bytes changed" 1 'check sum' decode changed.tex bad.ppm
fails "view without what it was" 2 'needs --reference' view a.tex bad.ppm
fails "view beside another picture" 1 'differs' view a.tex bad.ppm --reference g.pgm
fails "onto its input" 2 'a.tex' decode a.tex a.tex

echo "== damaged in every byte"
colour small.ppm 9 7
check "a small set" good encode small.tex small.ppm --block 4 --sparsity 2 --atoms 5 --iterations 1 --mips --threads 1
sanitize=
echo 'int main(void) { return 0; }' >probe.c
${CC:-cc} -fsanitize=address,undefined probe.c -o probe 2>/dev/null && ./probe && sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
[ -n "$sanitize" ] || skip "the compiler has no sanitizers"
# shellcheck disable=SC2086
check "builds" ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 $sanitize "$root/tests/programs/texture_damage.c" -o damage
check "each byte, each beginning" env ASAN_OPTIONS=detect_leaks=0 ./damage small.tex
the_end
