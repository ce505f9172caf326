#!/usr/bin/env bash
# Tests of denoise, train, superres and inpaint of examples/, from the project's root:
# tests/programs/test_pictures.sh build/denoise build/train build/superres build/inpaint
[ $# -eq 4 ] && [ -x "$1" ] && [ -x "$2" ] && [ -x "$3" ] && [ -x "$4" ] || {
    echo "usage: $0 DENOISE TRAIN SUPERRES INPAINT" >&2
    exit 2
}
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }
root=$PWD
denoise=$(absolute "$1") train=$(absolute "$2") superres=$(absolute "$3") inpaint=$(absolute "$4")
. "$(dirname "$0")/programs.sh"

# pgm NAME LARGEST BYTES-A-VALUE: 24 x 24 pixels, a sawtooth from 0 to the largest.
pgm() {
    { printf 'P5\n# a comment\n24 24\n%d\n' "$2"
      awk -v m="$2" -v two="$3" 'BEGIN { for (i = 0; i < 576; i++) { v = int(i % 16 / 15 * m + 0.5)
          printf two ? "%03o %03o\n" : "%03o\n", two ? int(v / 256) : v, v % 256 } }' |
          while read -r a b; do printf "\\$a${b:+\\$b}"; done; } >"$1"
}
text() { awk -v m="$2" 'BEGIN { printf "P2\n24 24\n%d\n", m
    for (i = 0; i < 576; i++) printf "%d%s", int(i % 16 / 15 * m + 0.5), i % 24 == 23 ? "\n" : " " }' >"$1"; }

for program in "$denoise" "$train" "$superres" "$inpaint"; do check_help "$program"; done

echo "== denoise"
program=$denoise
few="--iterations 1 --atoms 64"
check "--draw" good --draw drawn.pgm
pgm small.pgm 255 0
cp small.pgm clean.pgm
run_small() { good "$1" out.pgm --sigma 20 $few; }
check "a small picture" run_small small.pgm
cp out.pgm first.pgm
for o in small.pgm ./small.pgm "$PWD/small.pgm"; do
    fails "the output over the input: $o" 2 "would replace the input" small.pgm "$o" --sigma 20 $few
done
ln small.pgm hard.pgm; ln -s small.pgm soft.pgm; mkdir deep; ln -s .. deep/up
for o in hard.pgm soft.pgm deep/up/small.pgm deep/../small.pgm; do
    fails "the output over the input by a link: $o" 2 "would replace the input" small.pgm "$o" --sigma 20 $few
done
fails "the output over the reference" 2 "would replace the input" small.pgm clean.pgm --reference clean.pgm --sigma 20 $few
cp small.pgm bad_noisy.pgm
check "the noisy picture over the input: exit code" bash -c "'$program' bad_noisy.pgm bad.pgm --add-noise $few 2>err.txt; [ \$? -eq 2 ]"
check "the noisy picture over the input: says so" grep -q "bad_noisy.pgm: the output would replace the input" err.txt
check "the inputs are as they were" bash -c "cmp small.pgm bad_noisy.pgm && cmp small.pgm clean.pgm"
fails "no folder" 1 "nofolder/bad.pgm: cannot write it: its folder" small.pgm nofolder/bad.pgm --sigma 20 $few
fails "--draw into no folder" 1 "nofolder/bad.pgm: cannot write it: its folder" --draw nofolder/bad.pgm
mkdir folder.pgm
fails "a folder" 1 "folder.pgm: cannot write it: it is a folder" small.pgm folder.pgm --sigma 20 $few
if [ -c /dev/full ]; then
    check "> /dev/full: fails" bash -c "! '$program' small.pgm out.pgm --sigma 20 $few >/dev/full 2>err.txt"
    check "> /dev/full: says so" grep -q 'standard output: writing to it failed' err.txt
    check "--draw > /dev/full: fails" bash -c "! '$program' --draw drawn.pgm >/dev/full 2>err.txt"
    check "a picture into /dev/full: fails" bash -c "ln -s /dev/full full.pgm; ! '$program' --draw full.pgm 2>err.txt"
    check "a picture into /dev/full: says so" grep -q 'full.pgm: writing it failed' err.txt
else
    skip "there is no /dev/full"
fi
# psnr_of A B FROM: of two PGM of 24 x 24 pixels of a byte, over the columns from FROM on, as the files hold them.
psnr_of() { paste <(tail -c 576 "$1" | od -An -v -tu1 -w1) <(tail -c 576 "$2" | od -An -v -tu1 -w1) |
    awk -v from="$3" '(NR - 1) % 24 >= from { sum += ($1 - $2) ^ 2; n++ } END { printf "%.2f", 10 * log(255 ^ 2 * n / sum) / log(10) }'; }
check "--add-noise" good small.pgm out.pgm --add-noise --sigma 40 $few
psnr_files="$(psnr_of small.pgm out_noisy.pgm 0) dB with noise, $(psnr_of small.pgm out.pgm 0) dB denoised"
check "--add-noise: the PSNR of what the files hold" grep -qx "PSNR in the files: $psnr_files" out.txt
check "--add-noise: noise that was not clipped has another" bash -c "! grep -q \"psnr_noisy=$(psnr_of small.pgm out_noisy.pgm 0) \" out.txt"
check "--reference" good out_noisy.pgm again.pgm --reference small.pgm --sigma 40 $few
check "--reference: the PSNR of what the file holds" grep -qx "PSNR in the file: $(psnr_of small.pgm again.pgm 0) dB" out.txt
check "--reference: that of the noisy file" grep -q "psnr_noisy=$(psnr_of small.pgm out_noisy.pgm 0) " out.txt
"$program" --help >help.txt
check "--help: says what the PSNR is of, and the unit of --sigma" bash -c "tr -s ' \n' ' ' <help.txt | grep 'what the files hold' | grep -q 'white is 255'"
check "--help: says what --add-noise writes" grep -q OUT_noisy help.txt
fails "--sigma in units of 16 bits" 2 "--sigma: 5140 is too large: at most 255, which is white" small.pgm bad.pgm --sigma 5140
# Several devices, as which the processor passes here: the same error, in grey and in colour.
colour() { printf 'P6\n48 40\n255\n'; awk 'BEGIN { for (i = 0; i < 48 * 40 * 3; i++) printf "%c", 40 + (i * i / 7 + i % 96) % 87 }'; }
LC_ALL=C colour >colour.ppm
psnrs() { run "$1" "out.${1##*.}" --sigma 20 $few --reference "$1" --device "$2" && grep -o ' psnr=[0-9.]*' out.txt; }
for name in small.pgm colour.ppm; do
    one=$(psnrs $name cpu)
    check "$name: an error" test -n "$one"
    for d in cpu,cpu cpu:1,cpu:3,cpu:2; do check "$name, --device $d: as one" test "$(psnrs $name $d)" = "$one"; done
done
check "--threads 100000: runs" run small.pgm out.pgm --sigma 20 $few --threads 100000
check "--threads 100000: says so" grep -q -- '--threads: 100000 are too many' err.txt
check "--threads 100000: the same picture" cmp out.pgm first.pgm

echo "== colour, and how much is learnt from"
{ echo P3 24 24 255; awk 'BEGIN { for (i = 0; i < 576; i++) print i % 24 * 10, int(i / 24) * 10, 255 - i % 24 * 10 }'; } >colour.ppm
colour() { good colour.ppm "$1.ppm" --add-noise --sigma 20 $few "${@:2}"; }
better() { awk '/^psnr_noisy/ { split($0, v, /[= ]/); if (v[4] > v[2] + 6) found = 1 } END { exit !found }' out.txt; }
check "colour" colour plain
check "colour: better" better
check "--gamma 0" colour zero --gamma 0
check "--gamma 0: the means left out" cmp zero.ppm plain.ppm
check "--gamma 5.25" colour gamma --gamma 5.25
check "--gamma 5.25: better" better
check "--gamma 5.25: another picture" bash -c "! cmp -s gamma.ppm plain.ppm"
run colour.ppm same.ppm --add-noise --sigma 20 $few --gamma 5.25 --threads 3
check "--gamma 5.25, 3 threads: the same picture" cmp same.ppm gamma.ppm
check "--gamma of a grey picture" bash -c "'$program' small.pgm plain.pgm --sigma 20 $few && '$program' small.pgm same.pgm --sigma 20 $few --gamma 5"
check "--gamma of a grey picture changes nothing" cmp same.pgm plain.pgm
fails "--gamma -1" 2 "--gamma: " colour.ppm bad.ppm --sigma 20 --gamma -1
check "--patches of all" bash -c "'$program' small.pgm same.pgm --sigma 20 $few --patches 289 && cmp same.pgm plain.pgm"
check "--patches of fewer" good small.pgm few.pgm --sigma 20 $few --patches 80
fails "--patches 0" 2 "--patches: 0 is too small" small.pgm bad.pgm --sigma 20 --patches 0

echo "== grey values of any depth"
# The same sawtooth with other largest values, and next to no noise to remove.
plain="--sigma 1 $few"
run_plain() { good "$1" out.pgm $plain; }
run_plain small.pgm && cp out.pgm first.pgm
# values FILE: the 576 values of a PGM, white 255, whatever its depth.
values() { local white; white=$(sed -n 3p "$1")
    if [ "$white" -gt 255 ]; then tail -c 1152 "$1" | od -An -v -tu1 -w2 | awk -v w="$white" '{ print (256 * $1 + $2) * 255 / w }'
    else tail -c 576 "$1" | od -An -v -tu1 -w1; fi; }
near_first() { paste <(values out.pgm) <(values first.pgm) | awk '{ d = $1 - $2; if (d > 3 || -d > 3) bad = 1 } END { exit bad || NR != 576 }'; }
for m in 15 256 1023 4095 65535; do
    pgm deep.pgm $m $((m > 255))
    check "a largest value of $m" run_plain deep.pgm
    check "a largest value of $m: the same picture" near_first
    check "a largest value of $m: the same depth" test "$(sed -n 3p out.pgm)" = $((m > 255 ? m : 255))
    text deep.pgm $m
    check "a largest value of $m in text" run_plain deep.pgm
    check "a largest value of $m in text: the same picture" near_first
done
pgm deep.pgm 65535 1
{ cat deep.pgm; printf '\000\001'; } >longer.pgm
check "65535: the bytes after it do not matter" run_plain longer.pgm
cp out.pgm bytes.pgm
text deep.pgm 65535
check "65535: text and bytes" bash -c "'$program' deep.pgm out.pgm $plain && cmp out.pgm bytes.pgm"
pgm deep.pgm 1023 1
head -c -1 deep.pgm >cut.pgm
fails "a byte too few" 1 "cut.pgm: it is truncated" cut.pgm bad.pgm --sigma 20 $few
{ printf 'P5\n24 24\n1023\n'; head -c 1152 /dev/zero | tr '\000' '\004'; } >above.pgm
fails "a value above the largest" 1 "above.pgm: value 1 is above its largest, 1023" above.pgm bad.pgm --sigma 20 $few
{ printf 'P5\n24 24\n255# by me\n'; tail -c 576 small.pgm; } >comment.pgm
fails "a comment where white space must be" 1 "comment.pgm: .* white space must stand behind 255, not the byte 35" \
    comment.pgm bad.pgm --sigma 20 $few
pgm deep.pgm 65535 1; sed 's/^65535$/65536/' deep.pgm >above.pgm
fails "a largest value of 65536" 1 "65536 is outside 1..65535" above.pgm bad.pgm --sigma 20 $few
if [ -c /dev/zero ]; then
    fails "/dev/zero has no end" 1 "/dev/zero: too large: more than the 512 MB" /dev/zero bad.pgm --sigma 20 $few
else
    skip "there is no /dev/zero"
fi

# Noise of 2 of 65535 steps is as much noise as any.
noisy16() { { printf 'P2\n48 48\n65535\n'; awk 'BEGIN { srand(3); for (i = 0; i < 2304; i++) { v = 0
    for (k = 0; k < 12; k++) v += rand(); printf "%d\n", 20000 + 40 * (i % 48) + 2 * (v - 6) + 0.5 } }'; } >noisy16.pgm; }
noisy16
check "noise of 2 in 65535" good noisy16.pgm out.pgm $few
check "noise of 2 in 65535: found" awk '/^estimated/ { d = $3 * 65535 / 255; if (d > 1.5 && d < 2.5) found = 1 } END { exit !found }' out.txt
check "noise of 2 in 65535: its unit is told" grep -q '^estimated sigma: .*, where white is 255$' out.txt
# Little noise in much texture: the result is no farther from the truth.
awk 'BEGIN { srand(5); print "P2\n48 48\n65535"; for (i = 0; i < 2304; i++) print int(65536 * rand()) }' >rich16.pgm
for sigma in 0.03 0.3 0.5 1.5; do
    check "noise of $sigma in texture" good rich16.pgm out.pgm $few --sigma $sigma --add-noise
    check "noise of $sigma in texture: nothing gets worse" awk '/^psnr_noisy/ { split($0, v, /[= ]/); good = v[4] >= v[2] - 0.02 } END { exit !good }' out.txt
done
# A byte in 25 is one too large: noise of 0.2, where rounding alone has 0.29.
awk 'BEGIN { srand(4); print "P2\n64 64\n255"; for (i = 0; i < 4096; i++) print 20 + 3 * (i % 64) + (rand() < 0.04) }' >calm.pgm
fails "next to no noise" 1 "calm.pgm: next to no noise: the estimated sigma, 0.[12]" calm.pgm bad.pgm $few
check "next to no noise: may be given" good calm.pgm out.pgm $few --sigma 0.2
{ echo P2 64 64 255; yes 7 | head -n 4096; } >calm.pgm
fails "no noise" 1 "calm.pgm: next to no noise: the estimated sigma, 0 " calm.pgm bad.pgm $few
check "noise of 2 in 65535: may be given" good noisy16.pgm out.pgm $few --sigma 0.0078

# 12 bits in a file of 16 (dim) are denoised and filled in as well as in one of 12 (wide), also with hot pixels that stand
# alone, here right of the first 80 columns.
awk 'BEGIN { srand(6); for (i = 0; i < 9216; i++) { x = i % 96; y = int(i / 96); g = 0; for (k = 0; k < 12; k++) g += rand()
    v = int(900 + 8 * x + 500 * sin(x / 7 + y / 9) * sin(y / 6) + (sin(x / 6 + y / 11) > 0 ? 500 : 0)); w = int(v + 80 * (g - 6) + 0.5)
    hot = (x > 79 && i % 291 == 0)
    print v, w, (hot ? 65535 : w), (hot ? 65535 : v) } }' >columns.txt
column() { { printf 'P2\n96 96\n%d\n' "$2"; cut -d' ' -f"$1" columns.txt; } >"$3"; }
column 1 4095 wide_clean.pgm; column 2 4095 wide.pgm
column 1 65535 dim_clean.pgm; column 2 65535 dim.pgm; column 3 65535 hot.pgm; column 4 65535 hot_clean.pgm
# far_off FILE: how far a result is from the first column, root mean square, left of the hot pixels.
far_off() { paste -d' ' <(tail -c 18432 "$1" | od -An -v -tu1 -w2) <(cut -d' ' -f1 columns.txt) |
    awk '(NR - 1) % 96 < 70 { sum += (256 * $1 + $2 - $3) ^ 2; n++ } END { printf "%.2f", sqrt(sum / n) }'; }
near_far_off() { awk -v off="$(far_off "$1")" -v full="$2" -v part="$3" 'BEGIN { exit !(off > 0 && off < part * full) }'; }
check "12 bits" good wide.pgm out.pgm $few --sigma 4.98
full=$(far_off out.pgm)
for name in dim hot; do
    check "12 bits in 16, $name" good $name.pgm out.pgm $few --sigma 0.311
    check "12 bits in 16, $name: denoised as well" near_far_off out.pgm "$full" 1.2
done
program=$inpaint
check "12 bits are filled in" good wide_clean.pgm out.pgm --remove 0.5 --iterations 6 --atoms 64
full=$(far_off out.pgm)
for name in dim_clean hot_clean; do
    check "12 bits in 16, $name: are filled in" good $name.pgm out.pgm --remove 0.5 --iterations 6 --atoms 64
    check "12 bits in 16, $name: as well" near_far_off out.pgm "$full" 1.15
done
program=$denoise

echo "== formats"
# A program that copies a picture, with the values of a grey one as its alpha (+ALPHA) or with its alpha alone (-).
cat >copy.c <<'EOF'
#include EXAMPLE
int main(int argc, char **argv) {
    picture a, b = SHS_ZERO;
    example_begin(argc, argv);
    a = picture_read(argv[1]);
    if (argc > 3 && argv[3][0] == '+') {
        b = picture_read(argv[3] + 1);
        a.alpha = b.pixels;
    } else if (argc > 3) {
        free(a.pixels);
        a.pixels = a.alpha;
        a.alpha = NULL;
        a.channels = 1;
    }
    picture_write(argv[2], &a);
    return EXIT_SUCCESS;
}
EOF
compile() { ${CC:-cc} -std=c99 -O0 -DEXAMPLE_NO_OPENCL -DEXAMPLE="\"$root/examples/example.h\"" "$@" copy.c -lm; }
check "a program without stb" compile -DEXAMPLE_NO_STB -o plain_copy
check "a program with stb, where it is" compile -o copy
check "without stb: PNG in grey" ./plain_copy drawn.pgm drawn.png
check "without stb: PNG in colour" ./plain_copy colour.ppm colour.png
check "without stb: PNG of 16 bits" ./plain_copy deep.pgm deep.png
{ echo P2 300 300 255; yes 7 | head -n 90000; } >flat.pgm
check "without stb: PNG of one grey" ./plain_copy flat.pgm flat.png
check "without stb: PNG of one grey is small" test "$(wc -c <flat.png)" -lt 9000
check "without stb: PNG with alpha" ./plain_copy small.pgm clear.png +clean.pgm
check "without stb: PNG with alpha in colour" ./plain_copy colour.ppm clear_colour.png +clean.pgm
stb=$(./copy drawn.png again.pgm 2>/dev/null && echo yes)
if [ "$stb" ]; then
    check "PNG in grey: as it was" cmp again.pgm drawn.pgm
    check "PNG in colour: as it was" bash -c "./copy colour.png a.ppm && ./plain_copy colour.ppm b.ppm && cmp a.ppm b.ppm"
    check "PNG of 16 bits: as it was" bash -c "./copy deep.png a.pgm && ./plain_copy deep.pgm b.pgm && cmp a.pgm b.pgm"
    check "PNG of one grey: as it was" bash -c "./copy flat.png a.pgm && ./plain_copy flat.pgm b.pgm && cmp a.pgm b.pgm"
    check "alpha: as it was" bash -c "./copy clear.png a.pgm - && ./plain_copy clean.pgm b.pgm && cmp a.pgm b.pgm"
    check "alpha goes through denoise" bash -c "./plain_copy clean.pgm b.pgm && '$denoise' clear_colour.png clear_out.png --sigma 20 $few && ./copy clear_out.png c.pgm - && cmp c.pgm b.pgm"
    check "alpha goes through superres" bash -c "'$superres' --reduce clear.png less.png && ./copy less.png c.pgm - && [ \"\$(sed -n 2p c.pgm)\" = '12 12' ]"
    check "alpha into PGM: says so" bash -c "'$denoise' clear.png c.pgm --sigma 20 $few 2>&1 | grep -q 'c.pgm: only .png holds transparency'"
    check "16 bits go through denoise" bash -c "'$denoise' deep.png deep_out.png --sigma 20 $few && ./copy deep_out.png c.pgm && [ \"\$(sed -n 3p c.pgm)\" = 65535 ]"
    # Each bit of a chunk is told by a check sum.
    size=$(wc -c <drawn.png)
    flipped() { head -c "$2" "$1"
        printf "\\$(printf %o $(($(tail -c +$(($2 + 1)) "$1" | head -c 1 | od -An -tu1) ^ $3)))"
        tail -c +$(($2 + 2)) "$1"; }
    for at in 17 60 300 $((size / 2)) $((size / 3)) $((size - 30)) $((size - 18)); do
        for bit in 1 16; do
            flipped drawn.png $at $bit >flipped.png
            check "a bit of byte $at is flipped" bash -c "./copy flipped.png flipped.pgm 2>err.txt; [ \$? -eq 1 ]"
            check "a bit of byte $at is flipped: says so" grep -q 'flipped.png: it is damaged: its chunk I' err.txt
        done
    done
    # with_chunk: six.png with the chunk from standard input, its name and its body, behind the header of 33 bytes.
    printf 'P2\n3 2\n255\n1 2 3\n4 5 6\n' >six.pgm
    ./plain_copy six.pgm six.png
    byte() { printf "\\$(printf %03o $1)"; }
    crc() { gzip -c | tail -c 8 | od -An -v -tu1 -N4 | { read -r a b c d; byte $d; byte $c; byte $b; byte $a; }; }
    with_chunk() { cat >chunk; bytes=$(($(wc -c <chunk) - 4)); head -c 33 six.png; printf '\0\0'; byte $((bytes / 256)); byte $((bytes % 256)); cat chunk; crc <chunk; tail -c +34 six.png; }
    # What is beside the pixels counts as much: a grey that is transparent, the orientation.
    for chunk in 'tRNS\0\002' 'eXIfMM\0*\0\0\0\010\0\001\001\022\0\003\0\0\0\001\0\006\0\0\0\0\0\0'; do
        kind=${chunk%%[M\\]*}
        printf "$chunk" | with_chunk >beside.png
        check "$kind: is read" ./copy beside.png same.png
        for at in 37 42; do
            flipped beside.png $at 1 >flipped.png
            check "$kind: a bit of byte $at is flipped" bash -c "./copy flipped.png flipped.pgm 2>err.txt; [ \$? -eq 1 ]"
            check "$kind: a bit of byte $at is flipped: says so" grep -q 'flipped.png: it is damaged: its chunk .*, number 2,' err.txt
        done
    done
    for kind in tEXt zTXt iTXt tIME; do
        printf "${kind}Title\0a" | with_chunk >beside.png
        flipped beside.png 42 1 >flipped.png
        check "$kind: a bit is flipped, and the picture is read" bash -c "./copy flipped.png same.pgm && ./copy six.png six_again.pgm && cmp same.pgm six_again.pgm"
    done
    for at in 37 38 39 40; do
        printf 'eXIfMM' | with_chunk >beside.png
        flipped beside.png $at 128 >flipped.png
        ./copy flipped.png flipped.pgm 2>err.txt
        check "a chunk's name with a bit of byte $at flipped: '?' for what is no letter" bash -c \
            "grep -q 'its chunk [A-Za-z]*[?][A-Za-z]*, number 2,' err.txt && ! LC_ALL=C grep -q '[^ -~]' err.txt"
    done
    # sized WIDTH HEIGHT: a PNG in grey that has only its header, each side four bytes as printf has them.
    sized() { printf "IHDR$1$2\\010\\0\\0\\0\\0" >chunk
        { head -c 12 six.png; cat chunk; crc <chunk; printf '\0\0\0\0IEND\256B`\202'; } >sized.png; }
    refused() { sized "$1" "$2"; ./copy sized.png sized.pgm 2>err.txt; [ $? -eq 1 ] && grep -q "sized.png: $3" err.txt; }
    check "PNG: 40000 x 40000 pixels are too large" refused '\0\0\234\100' '\0\0\234\100' "the picture is too large: 40000 x 40000 pixels"
    check "PNG: 4294967295 x 1 pixels are too large" refused '\377\377\377\377' '\0\0\0\001' "the picture is too large: 4294967295 x 1"
    check "PNG: 20000 x 16000 pixels are too many" refused '\0\0\116\040' '\0\0\076\200' "the picture is too large: 20000 x 16000 pixels of 1 values; at most 268435456"
    check "PNG: 16384 x 16384 pixels may be" refused '\0\0\100\0' '\0\0\100\0' "it is truncated or damaged: no IDAT"
    check "PNG: a width of zero" refused '\0\0\0\0' '\0\0\0\005' "0 x 5 pixels: its width or height is zero"
    check "PNG: a height of zero" refused '\0\0\0\005' '\0\0\0\0' "5 x 0 pixels: its width or height is zero"
    for size in 8 30 33 40 60 $(($(wc -c <six.png) - 1)); do
        head -c $size six.png >cut.png
        check "PNG: the first $size bytes: says so" bash -c "! ./copy cut.png cut.pgm 2>err.txt && grep -q 'cut.png: it is truncated or damaged: its $size bytes end within chunk' err.txt"
    done
    # EXIF's orientation, in a PNG and in a JPEG of 16 x 8 pixels (behind its first two bytes).
    tiff() { set -- "$(printf %03o $1)" $2; if [ $2 = II ]; then printf "II*\\0\\010\\0\\0\\0\\001\\0\\022\\001\\003\\0\\001\\0\\0\\0\\$1\\0\\0\\0\\0\\0\\0\\0"
        else printf "MM\\0*\\0\\0\\0\\010\\0\\001\\001\\022\\0\\003\\0\\0\\0\\001\\0\\$1\\0\\0\\0\\0\\0\\0"; fi; }
    shown() { ./copy turned.png turned.pgm && tail -n +4 turned.pgm | od -An -v -tu1 | tr -s ' '; }
    set -- "1 2 3 4 5 6" "3 2 1 6 5 4" "6 5 4 3 2 1" "4 5 6 1 2 3" "1 4 2 5 3 6" "4 1 5 2 6 3" "6 3 5 2 4 1" "3 6 2 5 1 4"
    for o in 1 2 3 4 5 6 7 8; do
        for order in II MM; do
            { printf eXIf; tiff $o $order; } | with_chunk >turned.png
            check "orientation $o, $order" test "$(shown)" = " $1"
        done
        shift
    done
    # What a picture says of its colours: a gamma, a profile (of which only the name is looked at, packed by zlib in a PNG).
    left_out() { ./copy colours.png a.pgm 2>err.txt && cmp a.pgm six_again.pgm && grep -q "$1" err.txt; }
    ./copy six.png six_again.pgm
    printf 'gAMA\0\001\206\240' | with_chunk >colours.png
    check "a gamma of 1: says that it is left out" left_out "colours.png: its gamma, which is not sRGB's, is left out: values"
    printf 'gAMA\0\0\261\217' | with_chunk >colours.png
    check "a gamma of 1 / 2.2 is sRGB's" bash -c "./copy colours.png a.pgm 2>&1 | cmp - /dev/null"
    printf 'iCCPp\0\0\170\001\001\007\0\370\377Display\012\327\002\327' | with_chunk >colours.png
    check "a profile: says that it is left out" left_out "colours.png: its colour profile, which is not sRGB's, is left out"
    printf 'iCCPp\0\0\170\001\001\007\0\370\377my sRGB\012\012\002\125' | with_chunk >colours.png
    check "a profile that is called sRGB" bash -c "./copy colours.png a.pgm 2>&1 | cmp - /dev/null"
    printf 'iCCPp\0\0\170' | with_chunk >colours.png
    check "a damaged profile" left_out "colours.png: its colour profile"
    # unpacked MB: the name of sRGB and then zeros, packed. Of a profile above 4 MB nothing is looked at: 2 MB unpack to 2 GB.
    unpacked() { printf 'iCCPp\0\0\170\001'; { echo sRGB; head -c $1000000 /dev/zero; } | gzip -nc | tail -c +11 | head -c -8; printf '\0\0\0\0'; }
    unpacked 3 | with_chunk >colours.png
    check "a profile of 3 MB that is called sRGB" bash -c "./copy colours.png a.pgm 2>&1 | cmp - /dev/null"
    unpacked 5 | with_chunk >colours.png
    check "a profile of 5 MB is not unpacked" left_out "colours.png: its colour profile"
    base64 -d >flat.jpg <<'EOF'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/
wAALCAAIABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAABAX/xAAbEAABBAMAAAAAAAAAAAAAAAADAAQREiEiof/aAAgBAQAAPwAAB2jKogaWjfi//9k=
EOF
    { head -c 2 flat.jpg; printf '\377\341\0\042Exif\0\0'; tiff 6 MM; tail -c +3 flat.jpg; } >turned.jpg
    check "a JPEG held upright" bash -c "./copy turned.jpg a.pgm && [ \"\$(sed -n 2p a.pgm)\" = '8 16' ]"
    check "the orientation is not in the result" bash -c "./copy turned.jpg a.png && ! grep -q Exif a.png"
    { head -c 2 flat.jpg; printf '\377\342\0\027ICC_PROFILE\0\001\001Display'; tail -c +3 flat.jpg; } >colours.jpg
    check "a JPEG with a profile" bash -c "./copy colours.jpg a.pgm 2>&1 | grep -q 'colours.jpg: its colour profile'"
    { head -c 2 flat.jpg; printf '\377\342\0\027ICC_PROFILE\0\001\001is sRGB'; tail -c +3 flat.jpg; } >colours.jpg
    check "a JPEG with a profile that is called sRGB" bash -c "./copy colours.jpg a.pgm 2>&1 | cmp - /dev/null"
    # Four colours: the program looks at the frame before stb_image does.
    at=$(grep -abo "$(printf '\377\300')" flat.jpg | head -n 1 | cut -d: -f1)
    { head -c $((at + 9)) flat.jpg; printf '\004'; tail -c +$((at + 11)) flat.jpg; } >four.jpg
    check "a JPEG of four colours" bash -c "./copy four.jpg a.pgm 2>err.txt; [ \$? -eq 1 ] && grep -q 'four.jpg: four colours a pixel, and no mark' err.txt"
    { head -c 2 four.jpg; printf '\377\356\0\016Adobe\0\144\0\0\0\0\0'; tail -c +3 four.jpg; } >marked.jpg
    check "a JPEG of four colours that are marked: not that" bash -c "! ./copy marked.jpg a.pgm 2>err.txt && ! grep -q 'no mark' err.txt"
    for size in 4 14 30 36 40; do
        head -c $size turned.jpg >cut.jpg
        check "the first $size bytes of it" bash -c "./copy cut.jpg a.pgm; [ \$? -eq 1 ]"
    done
else
    skip "PNG and JPEG: built without stb_image"
fi

echo "== a disk that is full"
# A limit of the size of a file stands for it.
little() { (trap '' XFSZ; ulimit -f 1; "$@" 2>err.txt); }
cp small.pgm kept.png
fails_in_little() { ! little "$@"; }
check "a picture: fails" fails_in_little "$denoise" --draw kept.png
check "a picture: what was there stays" cmp small.pgm kept.png
check "a picture: says so" grep -q 'kept.png: writing it failed' err.txt
check "nothing is left of it" test ! -e kept.png.part
ln -s kept.png link.png
check "a link: the picture behind it" bash -c "'$denoise' --draw link.png && [ -L link.png ] && ! cmp -s kept.png small.pgm"
chmod 640 kept.png
check "a picture keeps its permissions" bash -c "'$denoise' --draw kept.png && [ \"\$(ls -l kept.png | cut -c1-10)\" = -rw-r----- ]"

echo "== superres"
program=$superres
few="--atoms 32 --iterations 2 --patches 1600"
# plain WIDTH HEIGHT VALUE: a grey picture in text, its values an expression of x and y in awk.
plain() { awk -v w="$1" -v h="$2" "BEGIN { print \"P2\", w, h, 255; for (y = 0; y < h; y++) for (x = 0; x < w; x++) print $3 }"; }
size_of() { head -n 2 "$1" | tail -n 1; }
# One bright column shows the kernel, which is that of MATLAB's imresize: (-3 -9 29 111 111 29 -9 -3) / 256.
plain 24 24 'x == 11 ? 200 : 100' >column.pgm
check "--reduce" good --reduce column.pgm out.pgm
check "--reduce: by the kernel of imresize" test "$(tail -c 12 out.pgm | od -An -tu1 | tr -s ' ')" = " 100 100 100 100 96 143 111 99 100 100 100 100"
plain 25 26 '60 + x + y' >ramp.pgm
check "--reduce: odd sizes" good --reduce ramp.pgm third.pgm --factor 3
check "--reduce: what is left over is not used" test "$(size_of third.pgm)" = "8 8"
good --reduce drawn.pgm half.pgm
check "learning from the small picture itself" good half.pgm out.pgm half.pgm $few --compare drawn.pgm --threads 1
check "better than bicubic interpolation" awk '/^psnr/ { split($1, a, "="); split($2, b, "="); if (b[2] >= a[2] + 0.5) found = 1 }
    END { exit !found }' out.txt
check "--compare: the bicubic picture" test "$(size_of out_bicubic.pgm)" = "256 256"
cp out.pgm first.pgm
enlarged() { run half.pgm other.pgm half.pgm $few --compare drawn.pgm --device "$1" && grep -o ' psnr=[0-9.]*' out.txt; }
one=$(enlarged cpu)
check "several devices: an error" test -n "$one"
for d in cpu,cpu cpu:1,cpu:3,cpu:2; do check "--device $d: as one" test "$(enlarged $d)" = "$one"; done
check "--train" good --train half.pgm --save two.model $few --threads 3
check "--dictionary: the same picture, by any threads" bash -c "'$program' half.pgm out.pgm --dictionary two.model --threads 2 && cmp out.pgm first.pgm"
check "--save beside" good half.pgm out.pgm half.pgm $few --save again.model
check "--save beside: the same model" cmp again.model two.model
check "--train for 3 times" good --train drawn.pgm half.pgm --save three.model $few --factor 3
check "--train for 4 times" good --train drawn.pgm --save four.model $few --factor 4
for size in 1x1 1x7 7x1 2x2 5x13; do
    w=${size%x*} h=${size#*x}
    plain $w $h 77 >tiny.pgm
    for model in two three four; do
        check "$size pixels, $model times" good tiny.pgm out.pgm --dictionary $model.model
        check "$size pixels of one grey stay so" test "$(tail -n +4 out.pgm | tr -d M | wc -c)" = 0
    done
    check "$size pixels: the new size" test "$(size_of out.pgm)" = "$((4 * w)) $((4 * h))"
done
check "--reduce in colour" good --reduce colour.ppm less.ppm
check "colour" good less.ppm out.ppm --dictionary two.model --compare colour.ppm
check "colour: near what was there" awk '/^psnr/ { sub(/.* psnr=/, ""); if ($1 + 0 > 35) found = 1 } END { exit !found }' out.txt
if [ "$stb" ]; then
    # Two truths that differ in fully transparent pixels alone.
    plain 24 24 'x < 6 ? 0 : 255' >curtain.pgm
    plain 24 24 'x < 6 ? 250 : 60 + x * y % 50' >behind.pgm
    plain 24 24 'x < 6 ? 10 : 60 + x * y % 50' >other.pgm
    for name in behind other; do ./plain_copy $name.pgm $name.png +curtain.pgm; done
    good --reduce behind.png less.png
    for name in behind other; do
        check "--compare with hidden pixels, $name" good less.png out.png --dictionary two.model --compare $name.png
        grep '^psnr' out.txt | cut -d' ' -f1,2 >$name.txt
    done
    check "--compare: hidden pixels do not count" cmp behind.txt other.txt
    plain 24 24 0 >nothing.pgm; ./plain_copy behind.pgm hidden.png +nothing.pgm
    check "--compare: all pixels are hidden" good less.png out.png --dictionary two.model --compare hidden.png
    check "--compare: no pixel counts" grep -q '^psnr_bicubic=n/a psnr=n/a seconds=' out.txt
    check "denoise where all pixels are hidden" bash -c "'$denoise' hidden.png out.png --add-noise --sigma 20 $few >out.txt"
    check "denoise: no pixel counts" grep -q '^psnr_noisy=n/a psnr=n/a seconds=' out.txt
fi
check "learning from colour and grey" good --train colour.ppm half.pgm --save mixed.model $few
plain 24 24 9 >flat.pgm
check "learning from nothing but one grey" good flat.pgm out.pgm flat.pgm $few
fails "a model of another factor" 2 "--factor: 2, but three.model was learnt for 3 times" half.pgm bad.pgm --dictionary three.model --factor 2
fails "a truth of another size" 1 "drawn.pgm: 256 x 256 pixels are not 3 times the 128 x 128 of half.pgm" half.pgm bad.pgm --dictionary three.model --compare drawn.pgm
fails "a grey truth of colours" 1 "flat.pgm: grey, but less.ppm is not" less.ppm bad.ppm --dictionary two.model --compare flat.pgm
plain 3 40 5 >thin.pgm; plain 1 20 5 >tiny.pgm
fails "a truth that is all border" 1 "thin.pgm: without its border of 2 pixels nothing" tiny.pgm bad.pgm --dictionary two.model --compare thin.pgm
fails "a model that is none" 1 "half.pgm: .*no" half.pgm bad.pgm --dictionary half.pgm
for size in 10 2000 $(($(wc -c <two.model) - 1)); do
    head -c $size two.model >cut.model
    fails "the first $size bytes of a model" 1 "cut.model: it is no model, or truncated" half.pgm bad.pgm --dictionary cut.model
done
size=$(wc -c <two.model)
arrays=$(grep -abo NUMPY two.model | head -n 1 | cut -d: -f1)
for at in $((arrays + 50)) $((arrays + 110)) $((arrays + 1001)) $(((arrays + size) / 2)) $((size - 40)) $((size - 10)) $((size - 2)); do
    { head -c "$at" two.model; printf "\\$(printf %o $(($(tail -c +$((at + 1)) two.model | head -c 1 | od -An -tu1) ^ 1)))"
        tail -c +$((at + 2)) two.model; } >cut.model
    fails "a bit of byte $at of a model is flipped" 1 "cut.model: " half.pgm bad.pgm --dictionary cut.model
done
# Its first number becomes 2^140, which a float cannot hold.
at=$(grep -abo "$(printf '\223NUMPY')" two.model | head -n 1 | cut -d: -f1)
{ head -c 70 two.model; printf '\260\110'; head -c $((at - 4)) two.model | tail -c +73; } >wild.model
{ cat wild.model; tail -c +65 wild.model | gzip -c | tail -c 8 | head -c 4; tail -c +$((at + 1)) two.model; } >cut.model
fails "a number of a model is too large" 1 "cut.model: signals: a value is NaN or infinite" half.pgm bad.pgm --dictionary cut.model
head -c -12 two.model >earlier.model
check "a model of an earlier version" good half.pgm out.pgm --dictionary earlier.model
check "a model of an earlier version: the same picture" cmp out.pgm first.pgm
{ cat two.model; echo; } >cut.model
fails "a byte behind a model" 1 "cut.model: 1 bytes stand behind its end" half.pgm bad.pgm --dictionary cut.model
fails "no model" 2 "needs --dictionary MODEL, or the names of pictures" half.pgm bad.pgm
fails "a model and pictures" 2 "--dictionary: drawn.pgm: learns from no other picture" half.pgm bad.pgm drawn.pgm --dictionary two.model
fails "--train without a name" 2 "--train: needs --save" --train half.pgm
fails "--train of nothing" 2 "--train: needs at least one picture" --train --save bad.model
fails "--save of what is not learnt" 2 "--save: nothing is learnt here" half.pgm bad.pgm --dictionary two.model --save bad.model
fails "--factor 1" 2 "--factor: 1 is too small" half.pgm bad.pgm drawn.pgm --factor 1
fails "--factor 5" 2 "--factor: 5 is too large" half.pgm bad.pgm drawn.pgm --factor 5
fails "too few patches" 2 "--patches: 15 are less than 8 for each picture" half.pgm bad.pgm half.pgm drawn.pgm --patches 15
plain 5 40 5 >thin.pgm
fails "a picture smaller than a patch" 1 "thin.pgm: 5 x 40 pixels are less than one patch of 6 x 6" half.pgm bad.pgm thin.pgm $few
fails "--reduce of nearly nothing" 1 "thin.pgm: 1 x 9 pixels are less than" --reduce "$(plain 1 9 5 >thin.pgm; echo thin.pgm)" bad.pgm
fails "the output over what is learnt from" 2 "would replace the input" half.pgm drawn.pgm drawn.pgm $few
cp two.model two.pgm
fails "the output over the model" 2 "would replace the input" half.pgm two.pgm --dictionary two.pgm
fails "the model over the picture" 2 "two outputs would go into this one file" half.pgm bad.pgm half.pgm --save bad.pgm $few
cp two.model old.model
check "a model on a full disk: fails" fails_in_little "$superres" --train half.pgm --save old.model $few
check "a model on a full disk: the old one stays" cmp old.model two.model
check "a model on a full disk: nothing is left of it" test ! -e old.model.part
fails "a model into no folder" 1 "nofolder/bad.model: cannot write it: its folder" --train half.pgm --save nofolder/bad.model $few

echo "== inpaint"
program=$inpaint
few="--iterations 2 --atoms 32 --patch 8"
grey() { { printf 'P5\n24 24\n255\n'; awk "BEGIN { for (y = 0; y < 24; y++) for (x = 0; x < 24; x++) printf \"%03o\n\", $1 }" |
    while read -r a; do printf "\\$a"; done; } >"$2"; }
grey '100 + 4 * x + 2 * y' slope.pgm
grey '255' present.pgm
grey '0' absent.pgm
grey '(x > 6 && x < 18 && y > 6 && y < 18) || y == 3 ? 0 : 255' hole.pgm
check "a hole wider than a patch" good slope.pgm hole.pgm out.pgm $few --reference slope.pgm
check "a hole wider than a patch: near what was there" awk '/^missing/ { sub(/.*psnr=/, ""); found = $1 + 0 >= 25 } END { exit !found }' out.txt
cmp -l slope.pgm out.pgm >changed.txt
check "known pixels stay as they are" awk '{ i = $1 - 14; x = i % 24; y = int(i / 24)
    if (i < 0 || !((x > 6 && x < 18 && y > 6 && y < 18) || y == 3)) exit 1 }' changed.txt
good slope.pgm hole.pgm first.pgm $few
# Black of a mask is its darker half: as a JPEG, a colour picture or another program has it; 0 and 1 for all of them.
hole='(x > 6 && x < 18 && y > 6 && y < 18) || y == 3'
grey "$hole ? (x * 7 + y * 3) % 60 : 250 - (x * 5 + y) % 60" hole_jpeg.pgm
grey "$hole ? 1 : 255" hole1.pgm
grey "$hole ? 0 : 1" hole01.pgm
for mask in hole_jpeg hole1 hole01; do
    check "a mask of another black, $mask" good slope.pgm $mask.pgm out.pgm $few
    check "a mask of another black, $mask: the same picture" cmp out.pgm first.pgm
done
check "a mask of 0 and 1: says so" grep -q "hole01.pgm: both its values, 0 and 1 of 255, are dark" out.txt
grey "$hole ? 160 : 255" pale.pgm
check "a pale mask" good slope.pgm pale.pgm out.pgm $few
check "a pale mask: says that nothing is missing" grep -q "pale.pgm: no value is below half of white" out.txt
if [ "$stb" ]; then
    # Alpha of the picture itself, a mask whose holes are transparent, one of black strokes on a transparent sheet.
    grey "$hole ? 255 : 0" strokes.pgm
    ./plain_copy slope.pgm clear.png +hole.pgm
    ./plain_copy present.pgm holes.png +hole.pgm
    ./plain_copy absent.pgm strokes.png +strokes.pgm
    for pair in "clear.png clear.png" "slope.pgm holes.png" "clear.png strokes.png" "clear.png hole.pgm"; do
        check "alpha as the mask: $pair" good $pair out.png $few
        check "alpha as the mask: $pair: the same picture" bash -c "./copy out.png a.pgm && cmp a.pgm first.pgm"
    done
    check "alpha: what was filled in is opaque" bash -c "./copy out.png out.pgm - && cmp out.pgm present.pgm"
    # What is half transparent stays so; where the mask is the picture's own alpha it becomes opaque.
    grey "$hole ? 100 : 200" half.pgm
    ./plain_copy slope.pgm glass.png +half.pgm
    check "half transparent" good glass.png hole.pgm out.png $few
    check "half transparent: stays so" bash -c "./copy out.png a.pgm - && cmp a.pgm half.pgm"
    check "half transparent: the same picture" bash -c "./copy out.png a.pgm && cmp a.pgm first.pgm"
    check "half transparent, its own mask" good glass.png glass.png out.png $few
    grey "$hole ? 255 : 200" half.pgm
    check "half transparent, its own mask: opaque" bash -c "./copy out.png a.pgm - && cmp a.pgm half.pgm"
    # Fully transparent pixels that the mask does not name: nobody sees them, so they neither count nor change.
    grey 'x < 6 ? 0 : 255' curtain.pgm
    grey 'x < 6 ? 200 - 7 * y : 100 + 4 * x + 2 * y + (x * y) % 5' behind.pgm
    grey '(x > 9 && x < 16 && y > 9 && y < 16) ? 0 : 255' square.pgm
    ./plain_copy behind.pgm behind.png +curtain.pgm
    check "hidden pixels" good behind.png square.pgm out.png $few --reference behind.png
    ./copy out.png out.pgm
    cmp -l behind.pgm out.pgm >changed.txt
    check "hidden pixels stay as they are" awk '{ i = $1 - 14; x = i % 24; y = int(i / 24)
        if (i < 0 || !(x > 9 && x < 16 && y > 9 && y < 16)) bad = 1 } END { exit bad || NR == 0 }' changed.txt
    check "hidden pixels stay hidden" bash -c "./copy out.png a.pgm - && ./plain_copy curtain.pgm b.pgm && cmp a.pgm b.pgm"
    check "hidden pixels are not missing" grep -q '^missing=0.062 ' out.txt
    check "hidden pixels do not count" grep -qx "PSNR in the file: $(psnr_of behind.pgm out.pgm 6) dB" out.txt
    check "hidden pixels: other colours" good behind.png square.pgm out.png $few --reference slope.pgm
    check "hidden pixels: other colours do not count" grep -qx "PSNR in the file: $(psnr_of slope.pgm out.pgm 6) dB" out.txt
    grey 'x < 6 ? y : 100 + 4 * x + 2 * y + (x * y) % 5' behind.pgm
    ./plain_copy behind.pgm behind.png +curtain.pgm
    check "hidden pixels: with other colours" good behind.png square.pgm again.png $few
    check "hidden pixels: nothing is learnt from them" bash -c "./copy again.png a.pgm && [ \$(cmp -l a.pgm out.pgm | awk '(\$1 - 14) % 24 >= 6' | wc -l) -eq 0 ]"
    check "hidden pixels with --remove" good behind.png out.png --remove 0.3 $few
    check "hidden pixels with --remove stay as they are" bash -c "./copy out.png a.pgm && [ \$(cmp -l a.pgm behind.pgm | awk '(\$1 - 14) % 24 < 6' | wc -l) -eq 0 ]"
    ./copy out.png out.pgm
    check "hidden pixels with --remove do not count" grep -qx "PSNR in the file: $(psnr_of behind.pgm out.pgm 6) dB" out.txt
    ./plain_copy behind.pgm behind.png +absent.pgm
    fails "nothing but hidden pixels" 1 "square.pgm: nothing of the picture is left" behind.png square.pgm bad.png $few
fi
check "nothing is missing" good slope.pgm present.pgm out.pgm $few
check "nothing is missing: the same picture" cmp slope.pgm out.pgm
# A smooth picture is as smooth between the pixels that are left; waves are nearer than neighbours are to each other.
psnr_over() { awk -v least="$1" '/^missing/ { sub(/.*psnr=/, ""); if ($1 == "inf" || $1 + 0 > least) found = 1 } END { exit !found }' out.txt; }
for part in 0.5 0.8 0.9; do
    check "a slope without $part of its pixels" good slope.pgm out.pgm --remove $part $few
    check "a slope without $part of its pixels: is a slope" psnr_over 50
done
grey '128 + 60 * sin(x * 0.9) + 50 * cos(y * 0.8 + x * 0.2)' waves.pgm
check "waves without half of their pixels" good waves.pgm out.pgm --remove 0.5 --atoms 64 --iterations 6
check "waves without half of their pixels: are waves" psnr_over 35
# A texture that is finer than the distance of the pixels that are left: codes of these alone follow it, no interpolation does.
awk 'BEGIN { print "P2\n128 128\n255"; for (y = 0; y < 128; y++) for (x = 0; x < 128; x++)
    print int(128.5 + 60 * sin(1.9 * x + (x < 64 ? 0.7 : -0.7) * y)) }' >stripes.pgm
check "stripes without 0.8 of their pixels" good stripes.pgm out.pgm --remove 0.8
check "stripes without 0.8 of their pixels: are stripes" psnr_over 31
check "--remove" good slope.pgm out.pgm --remove 0.5 --seed 2 $few
cp out.pgm first.pgm
check "--remove: the same for any threads" bash -c "'$program' slope.pgm out.pgm --remove 0.5 --seed 2 $few --threads 3 && cmp out.pgm first.pgm"
check "--remove: what is left" test -s out_removed.pgm
{ printf 'P6\n24 24\n255\n'; tail -c 576 slope.pgm | od -An -v -tu1 -w1 |
    while read -r a; do printf "\\$(printf %03o "$a")\\100\\$(printf %03o $((255 - a)))"; done; } >slope.ppm
check "colour" good slope.ppm hole.pgm out.ppm $few --reference slope.ppm
fails "nothing is left" 1 "absent.pgm: nothing of the picture is left" slope.pgm absent.pgm bad.pgm $few
fails "a mask of another size" 1 "tiny.pgm: its 2 x 2 pixels are not the 24 x 24" slope.pgm "$(printf 'P2\n2 2\n1\n1 1 1 1\n' >tiny.pgm; echo tiny.pgm)" bad.pgm $few
fails "the output over the mask" 2 "would replace the input" slope.pgm hole.pgm hole.pgm $few
"$program" --help >help.txt
check "--help: says what --remove writes" grep -q OUT_removed help.txt
fails "--remove 1" 2 "--remove: 1 leaves nothing" slope.pgm bad.pgm --remove 1
fails "--remove with a mask" 2 "needs two names with --remove" slope.pgm hole.pgm bad.pgm --remove 0.5
fails "no mask" 2 "needs three names" slope.pgm bad.pgm
fails "--tolerance in units of 16 bits" 2 "--tolerance: 514 is too large: at most 255, which is white" slope.pgm bad.pgm --remove 0.5 --tolerance 514
fails "--patch 65" 2 "--patch: 65 is too large" slope.pgm bad.pgm --remove 0.5 --patch 65
fails "a patch larger than the picture" 1 "less than one patch of 30 x 30" slope.pgm bad.pgm --remove 0.5 --patch 30
fails "an option that is none" 2 "--odd: unknown option" slope.pgm bad.pgm --odd

echo "== train"
program=$train
few="--iterations 1 --atoms 32 --patches 100 --sparsity 2"
check "a dictionary" good small.pgm $few --out trained --export-c trained.h
# Atoms in bytes: near those of float, of unit length, with the Gram matrix of what they are, and embedded.c codes with them.
cat >bytes.c <<'EOF'
#include FLOATS
#undef DICTIONARY_H
#undef DICTIONARY_PATCH
#undef DICTIONARY_CHANNELS
#undef DICTIONARY_LENGTH
#undef DICTIONARY_ATOMS
#undef DICTIONARY_SPARSITY
#include BYTES
#include <math.h>
#include <stdio.h>
enum { P = DICTIONARY_LENGTH, N = DICTIONARY_ATOMS };
static float D[N * P], y[P], dty[N];
int main(void) {
    double off = 0, gram = 0, product = 0;
    int i, j, k;
    for (i = 0; i < P; i++) y[i] = (float)(i * 37 % 64) - 31.5f;
    dictionary_correlate(y, dty);
    for (j = 0; j < N; j++) dictionary_add(j, 1, D + j * P);
    for (j = 0; j < N; j++) {
        double sum = 0;
        for (k = 0; k < N; k++) {
            double dot = 0;
            for (i = 0; i < P; i++) dot += (double)D[j * P + i] * (double)D[k * P + i];
            dot = fabs(dot - (double)dictionary_gram[j * N + k]);
            gram = dot > gram ? dot : gram;
        }
        for (i = 0; i < P; i++) {
            double d = fabs((double)D[j * P + i] - (double)dictionary_atoms[j * P + i]) / (double)dictionary_scale[j];
            sum += (double)D[j * P + i] * (double)y[i];
            if (dictionary_scale[j] > 0) off = d > off ? d : off;
        }
        sum = fabs(sum - (double)dty[j]);
        product = sum > product ? sum : product;
    }
    printf("off by %g steps, Gram by %g, products by %g\n", off, gram, product);
    return !(off > 0.1 && off < 0.8 && gram < 1e-5 && product < 1e-3);
}
EOF
drawn="drawn.pgm --iterations 2 --atoms 32 --patches 500 --sparsity 2"
check "a dictionary of floats" good $drawn --out trained --export-c floats.h
sed 's/dictionary_gram/other_gram/' floats.h >trained.h
strict="-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Werror"
for t in i8 u8; do
    check "a dictionary of $t" good $drawn --out trained --export-c $t.h --export-type $t
    check "a dictionary of $t costs little" awk '/coded anew/ { for (i = 1; i < NF; i++) if ($i == "with") e[++k] = $(i - 1)
        exit !(k == 2 && e[2] > 0 && e[2] < 1.02 * e[1] && e[1] < 1.02 * e[2]) }' out.txt
    check "a dictionary of $t: compiles" ${CC:-cc} $strict -Wno-unused-function -DFLOATS='"trained.h"' -DBYTES="\"$t.h\"" bytes.c -o bytes -lm
    check "a dictionary of $t: what it means" ./bytes
    check "a dictionary of $t: embedded" ${CC:-cc} -std=c99 -O0 -I. -DDICTIONARY_HEADER="\"$t.h\"" "$root/examples/embedded.c" -o embedded -lm
    check "a dictionary of $t: codes" bash -c "./embedded | grep -q '64 values became 2 of 32 atoms'"
done
check "a dictionary of bytes, batch by batch" good drawn.pgm --atoms 32 --patches 300 --sparsity 2 --online --out online \
    --export-c i8.h --export-type i8
check "a dictionary of bytes, batch by batch: its cost" grep -q '300 patches coded anew: ' out.txt
fails "--export-type foo" 2 "--export-type: foo is none of f32|i8|u8" small.pgm $few --out bad --export-c bad.h --export-type foo
fails "--export-type alone" 2 "--export-type: needs --export-c" small.pgm $few --out bad --export-type i8
check "a dictionary by SGK" good small.pgm $few --out trained --update sgk
check "a dictionary by K-SVD" good small.pgm $few --out trained --update ksvd
check "a dictionary by MOD" good small.pgm $few --out trained --update mod
fails "an update that is none" 2 "--update: odd is unknown" small.pgm $few --out bad --update odd
more="--iterations 3 --parallel-atoms-schedule 0:1,2:32 --rounds-schedule 0:1,1:2 --each-round --compare 1,32 --unit-norm --unit-scale"
check "a dictionary by schedules" good small.pgm $few $more --out scheduled --replace leave --keep last
check "the error after each round" test "$(cut -d, -f1,2 scheduled_rounds.csv | tr '\n' ' ')" = \
    "iteration,round 1,0 1,1 2,0 2,1 2,2 3,0 3,1 3,2 "
check "several curves" test "$(head -1 scheduled_compare.csv) $(wc -l <scheduled_compare.csv)" = \
    "iteration,rmse_1_at_a_time,rmse_32_at_a_time 4"
for o in "--rounds-schedule 0:1,x" "--rounds-schedule 5:1,5:2" "--parallel-atoms-schedule 0:0" "--compare 1,,2" "--compare 0"; do
    fails "$o" 2 "${o%% *}: " small.pgm $few --out bad $o
done
fails "--replace foo" 2 "--replace: foo is none of worst|leave|random" small.pgm $few --out bad --replace foo
fails "--keep foo" 2 "--keep: foo is none of best|last" small.pgm $few --out bad --keep foo
check "a dictionary batch by batch" good small.pgm --atoms 32 --patches 300 --sparsity 2 --online --batch 50 --test 40 --out online
check "every batch is told of" test "$(head -1 online_error.csv) $(wc -l <online_error.csv)" = \
    "batch,rmse,atoms_a_signal,atoms_used,replaced,pruned,signals,rmse_test 6"
check "the test set is told of" grep -q "^of the test set of 40: " out.txt
for o in "--update sgk" "--iterations 3" "--keep last" "--compare 2"; do
    fails "$o --online" 2 "${o%% *}: not with --online" small.pgm --online --out bad $o
done
for o in "--batch 9" "--test 9" "--forgetting 0.5"; do
    fails "$o alone" 2 "${o%% *}: is of --online" small.pgm $few --out bad $o
done
# Ten ramps of one slope: every patch is the same, also where the last picture has none left for a batch that is not full.
for i in 0 1 2 3 4 5 6 7 8 9; do
    awk -v i=$i 'BEGIN { print "P2 16 16 255"; for (k = 0; k < 256; k++) print 10 * (k % 16) + i }' >ramp$i.pgm
done
check "ten pictures batch by batch" good ramp?.pgm --online --patches 100 --atoms 4 --sparsity 1 --batch 49 --out ramps
check "ten pictures batch by batch: every signal is a patch" test "$(sed 1d ramps_error.csv | cut -d, -f3,7 | xargs)" = "1,49 1,49 1,2"
fails "--forgetting 2" 2 "forgetting: 2 is not in (0, 1]" small.pgm --online --forgetting 2 --out bad
fails "nothing but a test set" 2 "leave none to learn from" small.pgm --patches 100 --online --test 100 --out bad
# 60 signals of 16 values, row by row: bytes from 1 on.
npy() { printf "\\223NUMPY\\001\\000v\\000%-117s\\n" "{'descr': '|u1', 'fortran_order': $1, 'shape': $2, }"; }
{ npy False "(60, 16)"; for i in $(seq 60); do printf "\\$(printf %o $((i * 37 % 100 + 1)))abcdeFghijkl\\$(printf %o $i)zZ"; done; } >s.npy
npyfew="--online --atoms 8 --sparsity 2 --batch 20"
check "signals of numpy's" good s.npy $npyfew --test 10 --out signals
check "signals of numpy's: their atoms" test "$(head -1 signals_dictionary.csv | tr -cd , | wc -c) $(wc -l <signals_dictionary.csv)" = "7 16"
head -c -1 s.npy >cut.npy
fails "a truncated file" 1 "cut.npy: it is truncated" cut.npy $npyfew --out bad
head -c 100 s.npy >cut.npy
fails "half a header" 1 "cut.npy: " cut.npy $npyfew --out bad
npy True "(60, 16)" >columns.npy
fails "signals that are rows of columns" 1 "columns.npy: it must have a row for each signal" columns.npy $npyfew --out bad
npy False "(60,)" >one.npy
fails "no matrix" 1 "one.npy: it must have a row for each signal" one.npy $npyfew --out bad
npy False "(0, 16)" >none.npy
fails "no signals" 1 "is not one of signals" none.npy $npyfew --out bad
fails "a picture called .npy" 1 "not.npy: " "$(cp small.pgm not.npy; echo not.npy)" $npyfew --out bad
fails "numpy's without --online" 2 "s.npy: a .npy file is learnt from with --online" s.npy --out bad
fails "two of numpy's" 2 "2 files are given; a .npy file must be the only one" s.npy one.npy --online --out bad
fails "--patch of numpy's" 2 "patch: is of pictures" s.npy --online --patch 4 --out bad
fails "--export-c of numpy's" 2 "export-c: is of pictures" s.npy --online --export-c bad.h --out bad
fails "--export-c over the curves" 2 "two outputs would go into this one file" small.pgm $few --out new --compare 2 --export-c new_compare.csv
check "a dictionary: its files" test -s trained_dictionary.csv -a -s trained_error.csv -a -s trained.h
for o in small.pgm ./small.pgm hard.pgm soft.pgm deep/up/small.pgm; do
    fails "--export-c $o" 2 "would replace the input" small.pgm $few --out bad --export-c "$o"
done
cp small.pgm bad_dictionary.csv; ln bad_dictionary.csv tmp_atoms.png
check "--out over the input: exit code" bash -c "'$program' bad_dictionary.csv $few --out bad 2>err.txt; [ \$? -eq 2 ]"
check "--out over the input: says so" grep -q "bad_dictionary.csv: the output would replace the input" err.txt
check "--out over the second input" bash -c "'$program' small.pgm bad_dictionary.csv $few --out tmp 2>err.txt; [ \$? -eq 2 ]"
check "the input is as it was" cmp small.pgm bad_dictionary.csv
rm -f tmp_atoms.png
for o in trained_error.csv ./trained_dictionary.csv deep/up/trained_error.png; do
    fails "--export-c $o is written already" 2 "two outputs would go into this one file" small.pgm $few --out trained --export-c "$o"
done
fails "no folder" 1 "nofolder/bad_dictionary.csv: cannot write it: its folder" small.pgm $few --out nofolder/bad
fails "--export-c into no folder" 1 "nofolder/bad.h: cannot write it: its folder" small.pgm $few --out bad --export-c nofolder/bad.h
mkdir bad_error.csv
fails "a folder named like an output" 1 "bad_error.csv: cannot write it: it is a folder" small.pgm $few --out bad
check "the folder is still there" test -d bad_error.csv
if [ -c /dev/full ]; then
    check "> /dev/full: fails" bash -c "! '$program' small.pgm $few --out trained >/dev/full 2>err.txt"
    check "> /dev/full: says so" grep -q 'standard output: writing to it failed' err.txt
fi
# A gnuplot that ends at once takes the program's pipe away.
mkdir bin; printf '#!/bin/sh\nexec <&-\nexit 1\n' >bin/gnuplot; chmod +x bin/gnuplot
check "a gnuplot that ends at once" env PATH="$PWD/bin:$PATH" "$program" small.pgm $few --out trained --export-c trained.h
check "a gnuplot that ends at once: it is said" bash -c "PATH='$PWD/bin:$PATH' '$program' small.pgm $few --out trained | grep -q '(gnuplot failed, so no picture'"

# Several devices, of which PoCL on the processor may be one twice, and the processor beside it: the error is that of one.
echo "== devices"
many="drawn.pgm --atoms 32 --patches 500 --sparsity 2"
rms() { good $many --out dev --device "$@" >/dev/null && sed -n 's/^rms error.* \([0-9.e-]*\) in the last.*/\1/p
    s/^rms error.* \([0-9.e-]*\) at the end.*/\1/p
    s/^of the test set.* \([0-9.e-]*\) at the end.*/\1/p' out.txt; }
as_one() { # DEVICES of which the first is alone; $how are options
    local one
    # shellcheck disable=SC2086 # words
    one=$(rms $1 $how)
    check "--device $1 $how: an error" test -n "$one"
    shift
    # shellcheck disable=SC2086 # words
    for d in "$@"; do check "--device $d $how: as one" test "$(rms $d $how)" = "$one"; done
}
for how in "--iterations 2" "--iterations 2 --compare 3" "--online --batch 50 --test 20"; do
    as_one cpu cpu,cpu cpu:3,cpu:1,cpu
done
if run $many --iterations 1 --out dev --device 0; then
    for how in "--iterations 2" "--online --batch 50 --test 20"; do as_one 0 0,0 0,cpu 0:1,cpu:3 all; done
    fails "a device that is not there" 1 "there is no device 99" $many --out lost --device 0,99
else
    skip "no OpenCL device works here: $(tail -n 1 err.txt)"
fi
fails "a list that ends early" 2 "a name is missing" $many --out lost --device cpu,
fails "too many devices" 2 "more than 16" $many --out lost --device "$(printf 'cpu,%.0s' $(seq 17))"

if [ "$stb" ]; then
    # Two pictures that differ in fully transparent pixels alone are one to whoever sees them. The hidden pixels stay as they were.
    echo "== hidden pixels"
    plain 48 48 '((x - 24) ^ 2 + (y - 20) ^ 2 < 250 || x >= 45 ? 255 : (x < 3 ? 128 : 0))' >curtain.pgm
    noise='128 + 60 * sin(x * 0.7 + y * 0.3) + (x * x * 31 + y * y * 17 + x * y * 7) % 23'
    for i in 1 2; do
        plain 48 48 "((x - 24) ^ 2 + (y - 20) ^ 2 < 250 || x >= 45 || x < 3 ? int($noise) : ($i == 1 ? 250 : (x * 41 + y * 91) % 200))" >veiled$i.pgm
        ./plain_copy veiled$i.pgm veiled$i.png +curtain.pgm
    done
    numbers() { tail -n +4 "$1" | od -An -v -tu1 -w1; }
    split() { ./copy "$1" colours.pgm 2>/dev/null && ./copy "$1" alpha.pgm - && paste <(numbers colours.pgm) <(numbers alpha.pgm); }
    seen() { split "$1" | awk '{ print $2 ? $1 : -1, $2 }'; }
    unseen() { split "$1" | awk '!$2 { print $1 }'; }
    same_seen() { seen "$1" >seen1.txt; seen "$2" >seen2.txt; test -s seen1.txt && cmp seen1.txt seen2.txt; }
    same_unseen() { unseen "$1" >seen1.txt; unseen "$2" >seen2.txt; test -s seen1.txt && cmp seen1.txt seen2.txt; }
    few="--atoms 64 --iterations 2"
    for i in 1 2; do
        program=$denoise
        check "denoise, $i" good veiled$i.png denoised$i.png $few --sigma 10
        check "denoise, $i: hidden pixels stay" same_unseen veiled$i.png denoised$i.png
        check "denoise of noise that is estimated, $i" run veiled$i.png estimated$i.png $few
        check "denoise --add-noise, $i" good veiled$i.png added$i.png $few --sigma 10 --add-noise
        check "denoise --add-noise, $i: hidden pixels stay" same_unseen veiled$i.png added${i}_noisy.png
        program=$train
        for how in "--iterations 2" --online; do
            check "train $how, $i" good veiled$i.png --atoms 32 --patches 500 --sparsity 2 $how --out veiled$i${how%% *}
        done
        program=$superres
        check "superres --train, $i" good --train veiled$i.png --save veiled$i.model --atoms 32 --iterations 2 --patches 1600
        check "superres, $i" good veiled$i.png larger$i.png --dictionary two.model
        check "superres --reduce, $i" good --reduce veiled$i.png less$i.png
        program=$inpaint
        check "inpaint, $i" good veiled$i.png filled$i.png --remove 0.2 $few
    done
    for name in denoised estimated added larger less filled; do
        check "$name: as seen" same_seen ${name}1.png ${name}2.png
    done
    check "added_noisy: as seen" same_seen added1_noisy.png added2_noisy.png
    for how in --iterations --online; do
        check "train $how: the same dictionary" cmp veiled1${how}_dictionary.csv veiled2${how}_dictionary.csv
    done
    check "superres --train: the same model" cmp veiled1.model veiled2.model
    # A hole leaves few patches without hidden pixels; what is seen gets as good as without the hole.
    plain 48 48 'int(128 + 80 * sin(x / 7) + 40 * cos(y / 5))' >waves.pgm
    plain 48 48 '(x > 11 && x < 30 && y > 9 && y < 30 ? 0 : 255)' >hole.pgm
    ./plain_copy waves.pgm waves.png +hole.pgm
    decibels() { good $1 "rim.${1##*.}" --add-noise --sigma 15 --iterations 5 >/dev/null && sed -n 's/.* psnr=\([0-9.]*\) .*/\1/p' out.txt; }
    program=$denoise
    check "denoise beside a hole" awk "BEGIN { exit !($(decibels waves.png) > $(decibels waves.pgm) - 0.3) }"
    # The rim of what is enlarged or reduced is as it is without transparency, and half of a colour is not half as much of it.
    plain 48 48 'x < 20 ? 0 : (x < 30 ? 255 : 60)' >steps.pgm
    plain 48 48 'x < 20 ? 0 : 200' >dark.pgm
    ./plain_copy dark.pgm dark.png +steps.pgm
    for how in "--reduce dark.png rim.png" "dark.png rim.png --dictionary two.model"; do
        program=$superres
        check "one colour: $how" good $how
        check "one colour stays so: $how" test "$(seen rim.png | awk '$2 { print $1 }' | sort -u)" = 200
    done
    plain 48 48 'x < 24 ? 50 : 250' >pair.pgm
    plain 48 48 'x < 24 ? 255 : 5' >faint.pgm
    ./plain_copy pair.pgm pair.png +faint.pgm
    check "next to nothing is seen of a colour" good --reduce pair.png rim.png --factor 3
    check "next to nothing is seen of a colour: it counts as little" bash -c "./copy rim.png a.pgm && tail -c 16 a.pgm | od -An -v -tu1 -w1 | awk 'NR < 9 && (\$1 < 46 || \$1 > 54) { bad = 1 } END { exit bad }'"
    plain 48 48 0 >nothing.pgm
    ./plain_copy veiled1.pgm hidden.png +nothing.pgm
    program=$train
    fails "train on hidden pixels alone" 1 "hidden.png: nothing to learn from" hidden.png --out hidden
    program=$superres
    fails "superres --train on hidden pixels alone" 1 "hidden.png: nothing to learn from" --train hidden.png --save bad.model
fi

the_end
