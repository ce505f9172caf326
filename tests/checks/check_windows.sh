#!/usr/bin/env bash
# The programs of examples/ for Windows: mingw-w64 compiles them without a warning, and under wine they spare the files that they
# read. From the project's root:
#
#     bash tests/checks/check_windows.sh
#
# Without mingw-w64 nothing is checked, without wine nothing runs.
set -u
cc=x86_64-w64-mingw32-gcc
out=$PWD/build/windows
command -v $cc >/dev/null || {
    echo "check-windows: no $cc here: not checked"
    exit 0
}
mkdir -p "$out"

# isfinite of mingw's math.h converts in the branch that is not taken: -Wfloat-conversion would count it.
strict="-Werror -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wno-float-conversion -Wshadow -Wcast-align"
compiled=0
for source in examples/*.c examples/course/*.c examples/hypercube/hypercube.c examples/texture/texture.c; do
    case $source in */devices.c) continue ;; esac # needs OpenCL's headers
    # shellcheck disable=SC2086 # a list of words
    $cc -std=c99 $strict -fsyntax-only "$source" || {
        echo "check-windows: $source does not compile" >&2
        exit 1
    }
    compiled=$((compiled + 1))
done
echo "check-windows: $compiled programs compile without a warning"

command -v wine >/dev/null || {
    echo "check-windows: no wine here: nothing ran"
    exit 0
}
# A script of this name starts the program.
for name in hypercube denoise train; do
    source=examples/$name.c
    [ $name != hypercube ] || source=examples/hypercube/hypercube.c
    $cc -std=c99 -O0 $source -o "$out/$name.exe" -static -lm || exit 1
    printf '#!/bin/sh\nexec wine "%s" "$@"\n' "$out/$name.exe" >"$out/$name"
    chmod +x "$out/$name"
done
# What hypercube's README says of names with other letters.
cat >"$out/utf8.manifest" <<'END'
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<assembly manifestVersion="1.0" xmlns="urn:schemas-microsoft-com:asm.v1">
  <assemblyIdentity type="win32" name="hypercube" version="1.0.0.0"/>
  <application><windowsSettings>
    <activeCodePage xmlns="http://schemas.microsoft.com/SMI/2019/WindowsSettings">UTF-8</activeCodePage>
  </windowsSettings></application>
</assembly>
END
echo '1 24 "utf8.manifest"' >"$out/utf8.rc"
(cd "$out" && ${cc%gcc}windres utf8.rc utf8.o) || exit 1
$cc -std=c99 -O0 examples/hypercube/hypercube.c "$out/utf8.o" -o "$out/utf8.exe" -static -lm || exit 1
cat >"$out/hold.c" <<'END'
#include <stdio.h>
#include <windows.h>
/* Holds the first file open until there is a second one. */
int main(int argc, char **argv) {
    FILE *held = fopen(argv[1], "rb"), *end = NULL;
    int i;
    if (argc < 3 || !held) return 1;
    fclose(fopen("held", "wb"));
    for (i = 0; i < 600 && !end; i++) {
        Sleep(50);
        end = fopen(argv[2], "rb");
    }
    return !end;
}
END
$cc -std=c99 "$out/hold.c" -o "$out/hold.exe" || exit 1
export WINEPREFIX=$out/prefix WINEDEBUG=-all
[ -d "$WINEPREFIX" ] || wine wineboot --init >/dev/null 2>&1 </dev/null

. tests/programs/programs.sh
hypercube=$out/hypercube denoise=$out/denoise train=$out/train

# refuses NAME PATTERN FILES ARGUMENTS...: it must end with 2, say this, and leave these files and no others.
refuses() {
    local name=$1 pattern=$2 files=$3 before
    shift 3
    # shellcheck disable=SC2086 # a list of words
    before=$(cat $files | cksum; ls)
    run "$@"
    check "$name: exit code 2" test $? -eq 2
    check "$name: says '$pattern'" grep -q -- "$pattern" err.txt
    # shellcheck disable=SC2086
    check "$name: leaves the files as they were" test "$(cat $files | cksum; ls)" = "$before"
}
touch out.txt err.txt

says() { # name, pattern, arguments ...
    local name=$1 pattern=$2
    shift 2
    run "$@"
    check "$name: says '$pattern'" grep -q -- "$pattern" err.txt
}

echo "== denoise"
program=$denoise
few="--iterations 1 --atoms 64"
check "--draw" good --draw drawn.pgm
for o in drawn.pgm ./drawn.pgm '.\drawn.pgm' DRAWN.PGM "Z:${work//\//\\}\\Drawn.pgm"; do
    # shellcheck disable=SC2086
    refuses "the output over the input: $o" "would replace the input" drawn.pgm drawn.pgm "$o" --sigma 25 $few
done
printf 'P2\n24 24\n255\n' >small.pgm
for ((i = 0; i < 576; i++)); do echo $((i % 16 * 17)); done >>small.pgm
echo old >out.pgm
# shellcheck disable=SC2086
check "an output that is there: exit code 0" run small.pgm out.pgm --sigma 20 $few
check "an output that is there is replaced" test "$(head -c 2 out.pgm)" = P5
check "no .part stays" test ! -e out.pgm.part
chmod a-w out.pgm
run small.pgm out.pgm --sigma 20
check "a file that may not be written: exit code 1" test $? -eq 1
check "a file that may not be written: stays" test -s out.pgm -a ! -e out.pgm.part
rm -f out.pgm

echo "== train"
program=$train
mkdir runs.v2
# shellcheck disable=SC2086
check "a folder with a dot, behind a backslash" good small.pgm --out 'runs.v2\a' $few
check "a folder with a dot: the files are in it" test -s runs.v2/a_dictionary.csv -a -z "$(ls | grep runs_ || true)"
says "errors begin with the program's name" "^train" absent.pgm --out b

echo "== hypercube"
program=$hypercube
scene() { run synthesise "$1" --samples 20 --lines 20 --bands 12; }
check "synthesise" scene scene.hdr
check "synthesise: no warning of scene.IMG" good info scene.hdr
cp scene.img scene.dat
says "two files of one size" "has the same size" info scene.hdr
rm -f scene.dat
mkdir found
cp scene.hdr found
cp scene.img found/Scene.xyz
check "a data file is found by its size" good info 'found\scene.hdr'
cp scene.img found/scene.abc
says "two of this size" "its data file may be" info found/scene.hdr
rm -f found/*.abc found/*.xyz
says "no data file" "its data file is missing" info found/scene.hdr
for o in '.\scene.hdr' Scene.hdr "Z:${work//\//\\}\\SCENE.HDR"; do
    refuses "the output over the input: $o" "would replace the input" "scene.hdr scene.img" pca scene.hdr "$o" --components 3
done
refuses "two outputs into one file" "two outputs" scene.hdr pca scene.hdr o2.hdr --components 3 --save '.\O2.img'
refuses "two tables into one file" "two outputs" scene.hdr rx scene.hdr o2.hdr --report best.csv --stats Best.csv
refuses "a header with a point behind it" "would replace the input" scene.hdr bands scene.hdr SCENE.hdr.
check "NUL" run bands scene.hdr NUL
check "NUL: no file" test -z "$(ls | grep -i '^nul' || true)"

check "pca" run pca scene.hdr o.hdr --components 3
check "pca again: the cube is replaced" run pca scene.hdr o.hdr --components 2
check "pca again: of 2 bands" grep -q '^bands = 2' o.hdr
cp o.hdr before.hdr
cp o.img before.img
wine "$out/hold.exe" o.img end >/dev/null 2>&1 &
for ((i = 0; i < 100; i++)); do
    [ -e held ] && break
    sleep 0.1
done
run pca scene.hdr o.hdr --components 3
check "a data file that another program has open: exit code 1" test $? -eq 1
check "a data file that another program has open: the cube stays" bash -c "cmp before.hdr o.hdr && cmp before.img o.img"
check "a data file that another program has open: no .part stays" test -z "$(ls | grep '\.part' || true)"
touch end
wait
check "then it is replaced" run pca scene.hdr o.hdr --components 3

# Only when the cube has been read it is known to hold nothing but NaN: the outputs are open by then.
sed 's/^data type.*/data type = 4/' scene.hdr >nan.hdr
# shellcheck disable=SC2059 # a format on purpose
printf "$(awk 'BEGIN { for (i = 0; i < 4800; i++) printf "\\0\\0\\300\\177" }')" >nan.img
run pca nan.hdr failed.hdr --components 3
check "no valid pixel: fails" test $? -ne 0
check "no valid pixel: no file stays" test -z "$(ls | grep '^failed' || true)"
check "no valid pixel: said" grep -q 'nan.hdr: pixels: too few valid' err.txt

# Ctrl-C, typed on a terminal when the outputs are begun.
interrupt() {
    for ((i = 0; i < 200; i++)); do
        [ -e stopped.img.part ] && break
        sleep 0.05
    done
    printf '\003'
    sleep 2
}
if command -v script >/dev/null; then
    check "a large scene" run synthesise large.hdr --samples 400 --lines 400 --bands 100
    interrupt | script -qc "$program pca large.hdr stopped.hdr --components 20" /dev/null >/dev/null 2>&1
    check "Ctrl-C: no file stays" test -z "$(ls | grep '^stopped' || true)"
    rm -f large*
else
    skip "Ctrl-C: there is no script here"
fi

if locale -a 2>/dev/null | grep -qi '^C.utf-*8$'; then
    cp scene.hdr Ωé.hdr
    cp scene.img Ωé.img
    check "with a manifest: names of any letters" env LC_ALL=C.UTF-8 wine "$out/utf8.exe" rx Ωé.hdr ΩΩ.hdr --html page.html
    check "with a manifest: the outputs" test -s ΩΩ.hdr -a -s ΩΩ.img
    check "with a manifest: the page" grep -q 'Ωé' page.html
else
    skip "names of any letters: there is no C.UTF-8 here"
fi

mkdir c
check "auto's names: synthesise" scene look.hdr
mv look.* c
refuses "auto into the folder of its scene" "would replace the input" "c/look.hdr c/look.img" auto c/look.hdr c
refuses "auto: a file in place of the folder" "it is a file" scene.hdr auto scene.hdr scene.img
mkdir "of two"
scene "of two/scene.hdr"
check "auto, a backslash at the end" run auto 'of two\scene.hdr' 'new\'
check "auto: the page" test -s new/index.html -a ! -e new.part
check "auto: commands in quotes that cmd.exe knows" grep -q '^\$ .*"of two\\scene.hdr" ' out.txt
check "auto again: the page is replaced" run auto 'of two\scene.hdr' new
check "auto: seconds are no whole number" bash -c "grep '^seconds=' out.txt | grep -vq 'seconds=[0-9]*\.000 '"

the_end
