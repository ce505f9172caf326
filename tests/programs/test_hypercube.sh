#!/usr/bin/env bash
# Tests of examples/hypercube/, from the project's root: tests/programs/test_hypercube.sh build/hypercube
# The cubes are made here, byte by byte or by the program's own synthesise. GDAL and Spectral Python look at the outputs
# where they are installed; real cubes are taken from $SHS_DATA where that is.
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: $0 PROGRAM" >&2; exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
data=${SHS_DATA:-../shared/data}
[ -d "$data" ] && data=$(cd "$data" && pwd)
envi=$PWD/examples/hypercube/envi.h
. "$(dirname "$0")/programs.sh"

# header NAME SAMPLES LINES BANDS TYPE INTERLEAVE ORDER [MORE LINES...]
header() {
    local name=$1
    printf 'ENVI\nsamples = %s\nlines = %s\nbands = %s\ndata type = %s\ninterleave = %s\nbyte order = %s\n' \
        "$2" "$3" "$4" "$5" "$6" "$7" >"$name.hdr"
    shift 7
    for line in "$@"; do printf '%s\n' "$line" >>"$name.hdr"; done
}

# Fields 2 to 4 of band $2 in `info` (min, mean, max), where there are no wavelengths; field 5 is the number of missing.
band() {
    "$program" info "$1.hdr" "${@:3}" |
        awk -v b="$2" 'seen && $1 == b { print $2, $3, $4, $5 } $1 == "band" { seen = 1 }'
}
is() { [ -n "$1" ] && [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; false; }; }
# near A B TOLERANCE
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a != "" && a - b <= t && b - a <= t) }'; }
# Field $2 of line $1 of a table with commas.
cell() { awk -F, -v r="$1" -v c="$2" 'NR == r { print $c }' "$3"; }
# Files of bytes that differ by at most $3.
bytes_within() {
    [ -s "$1" ] && [ -s "$2" ] && [ "$(wc -c <"$1")" = "$(wc -c <"$2")" ] &&
        cmp -l "$1" "$2" | awk -v t="$3" '
            function value(octal) { return int(octal / 100) * 64 + int(octal / 10) % 10 * 8 + octal % 10 }
            { d = value($2) - value($3); if (d > t || -d > t) bad = 1 } END { exit bad }'
}
value_of() { tail -n 1 out.txt | tr ' ' '\n' | sed -n "s/^$1=//p"; }

echo "== value types and byte orders"
# values NAME SAMPLES TYPE RESULT BYTES [BYTES OF ORDER 1]: a band whose `info` says RESULT
values() {
    local order=0 bytes name
    for bytes in "${@:5}"; do
        name=$1; [ $order = 0 ] || name=$1b
        # shellcheck disable=SC2059 # escapes
        printf "$bytes" >"$name.img"; header "$name" "$2" 1 1 "$3" bsq $order
        check "$1, byte order $order" is "$(band "$name" 1)" "$4"
        order=1
    done
}
values u8 4 1 "1 64 250 0" '\001\002\003\372'
values i16 4 2 "-1 8255.75 32767 0" '\377\377\000\001\001\000\377\177' '\377\377\001\000\000\001\177\377'
values u16 2 12 "256 32895.5 65535 0" '\377\377\000\001' '\377\377\001\000'
values i32 2 3 "-2 32767 65536 0" '\376\377\377\377\000\000\001\000' '\377\377\377\376\000\001\000\000'
values u32 2 13 "65536 2.14752e+09 4.29497e+09 0" '\376\377\377\377\000\000\001\000' '\377\377\377\376\000\001\000\000'
values f32 2 4 "-1.5 -0.25 1 0" '\000\000\200\077\000\000\300\277' '\077\200\000\000\277\300\000\000'
values f64 2 5 "-3 -1 1 0" '\000\000\000\000\000\000\360\077\000\000\000\000\000\000\010\300' \
    '\077\360\000\000\000\000\000\000\300\010\000\000\000\000\000\000'
values i64 2 14 "-2 3.35544e+07 6.71089e+07 0" '\376\377\377\377\377\377\377\377\000\000\000\004\000\000\000\000' \
    '\377\377\377\377\377\377\377\376\000\000\000\000\004\000\000\000'
values u64 2 15 "1 9.22337e+18 1.84467e+19 0" '\377\377\377\377\377\377\377\377\001\000\000\000\000\000\000\000' \
    '\377\377\377\377\377\377\377\377\000\000\000\000\000\000\000\001'
check "i64: its type" bash -c "'$program' info i64b.hdr | grep -q '^type  *i64, bsq, byte order 1'"
sed -i '$a data ignore value = -2' i64.hdr
check "i64: a missing value" is "$(band i64 1 --block 1)" "6.71089e+07 6.71089e+07 6.71089e+07 1"
check "i64 into i32" good convert i64.hdr same.hdr --type i32
check "i64 into i32: the values" is "$(od -An -td4 -v same.img | xargs)" "-2 67108864"
check "u32: runs" good denoise u32.hdr u32_all.hdr --components 1 --precise --type u32
check "u32: one component gives it back" cmp u32.img u32_all.img

echo "== interleaves, header keys, names of the data file"
# Two samples, two lines, three bands: band b of pixel i is 10 b + i.
printf '\012\013\014\015\024\025\026\027\036\037\040\041' >bsq.img; header bsq 2 2 3 1 bsq 0
printf '\012\013\024\025\036\037\014\015\026\027\040\041' >bil.img; header bil 2 2 3 1 BIL 0
printf '\012\024\036\013\025\037\014\026\040\015\027\041' >bip.img; header bip 2 2 3 1 Bip 0
for i in bsq bil bip; do
    check "$i: band 1" is "$(band $i 1)" "10 11.5 13 0"
    check "$i: band 3" is "$(band $i 3)" "30 31.5 33 0"
    check "$i: band 2, one line at a time" is "$(band $i 2 --block 1)" "20 21.5 23 0"
done
for e in img dat raw '' IMG bin cub lan bsq bil bip CUB whatever tar.0; do
    rm -f name*
    cp bsq.img "name${e:+.$e}"
    header name 2 2 3 1 bsq 0
    check "the data file is name${e:+.$e}" is "$(band name 2)" "20 21.5 23 0"
done
mkdir folder; cp bsq.img folder/name.any; cp name.hdr folder/name.hdr
check "the data file is folder/name.any" is "$(band folder/name 2)" "20 21.5 23 0"
printf 'thirteen byte' >name.dat
check "one of the right size goes before a known extension" bash -c "rm name.tar.0; cp bsq.img name.raw; '$program' info name.hdr | grep -q '2  *20  *21.5  *23'"
rm -f name.*; header name 2 2 3 1 bsq 0; cp bsq.img name.one; cp bsq.img name.twin
fails "two of the right size" 1 "name.hdr: its data file may be .* or .*: --data FILE" pca name.hdr bad.hdr
check "--data names one" is "$(band name 2 --data name.twin)" "20 21.5 23 0"
check "--data: a pca" good pca name.hdr same.hdr --data=name.twin
fails "--data: it is not there" 1 "nowhere.img: cannot read it" pca name.hdr bad.hdr --data nowhere.img
printf odd >odd.any
fails "--data: it is too short" 1 "odd.any: it is truncated" pca name.hdr bad.hdr --data odd.any
fails "--data is an input as others are" 2 "would replace the input" pca name.hdr bad.hdr --data name.twin --report name.twin
header lone 2 2 3 1 bsq 0; printf odd >lone.any
fails "no file of the right size" 1 "lone.hdr: its data file is missing.*12 bytes; --data FILE" pca lone.hdr bad.hdr
for e in tif h5 nc; do
    cp bsq.img foreign.$e
    fails "foreign.$e: what converts it" 1 "foreign.$e: not in ENVI's format: .*gdal_translate -of ENVI foreign.$e" pca foreign.$e bad.hdr
done
cp bsq.img foreign.img; head -c 100 /dev/zero >foreign.tif; header foreign 2 2 3 1 bsq 0
check "a header's data go before a TIFF that is named" is "$("$program" info foreign.tif | awk '$1 == 2 && NF == 5 { print $3 }')" 21.5
rm foreign.*
cp bsq.img data.img; header data 2 2 3 1 bsq 0
band_of() { "$program" info "$@" | awk 'seen && $1 == 2 { print $2, $3, $4, $5 } $1 == "band" { seen = 1 }'; }
check "info data.img finds data.hdr" is "$(band_of data.img)" "20 21.5 23 0"
mv data.hdr data.img.hdr
check "info data.img finds data.img.hdr" is "$(band_of data.img)" "20 21.5 23 0"
check "info data.img.hdr finds data.img" is "$(band_of data.img.hdr)" "20 21.5 23 0"
check "pca data.img" good pca data.img same.hdr
fails "data.img over itself" 2 "would replace the input" pca data.img data.hdr
cp data.img.hdr data.hdr
check "two headers of one data file: runs" run info data.img
check "two headers of one data file: it is said once" is "$(grep -c 'data.img: it is read by data.img.hdr, and there is data.hdr, too' err.txt)" 1
check "two headers of one data file: one is named" good info data.hdr
cp bsq.img copy.img; cp bsq.hdr copy.hdr; cp data.img.hdr old.img.hdr
fails "an old header would describe the output" 1 "old.img.hdr: it is there already, and programs would read the new old.img by it, not by old.hdr" convert copy.hdr old.hdr --interleave bip
check "an old header would describe the output: nothing is written" test ! -e old.img
rm data.hdr data.img.hdr old.img.hdr copy.*
# A header x.img.hdr is that of x.img, in outputs as in inputs.
for e in dat BSQ bil bip img; do
    check "an output named added.$e.hdr: runs" good convert bsq.hdr added.$e.hdr --interleave bip
    check "an output named added.$e.hdr: its files" is "$(ls added.* | sort | xargs)" "added.$e added.$e.hdr"
    check "an output named added.$e.hdr: its data" cmp added.$e bip.img
    check "an output named added.$e.hdr: is read" good info added.$e.hdr
    check "an output named added.$e.hdr: again" good convert bsq.hdr added.$e.hdr
    [ $e = img ] || rm added.*
done
fails "the data of such a header are an input" 2 "would replace the input" convert added.img.hdr added.hdr
fails "another header would describe it" 1 "added.img.hdr: it is there already, and programs would read the new added.img by it, not by added.hdr" convert bsq.hdr added.hdr
mv added.img.hdr added.hdr
fails "another header would describe it, the other way" 1 "added.hdr: it is there already, and programs would read the new added.img by it, not by added.img.hdr" convert bsq.hdr added.img.hdr
cp bsq.img early.dat.img; cp bsq.hdr early.dat.hdr
fails "data that the header described in an earlier version" 1 "early.dat.img: it is there already, and early.dat.hdr would no longer describe it, but early.dat" convert bsq.hdr early.dat.hdr
check "data that the header described in an earlier version: the new ones are not there" test ! -e early.dat
rm early.*
rm added.*
check "an output named v1.2.hdr: runs" good convert bsq.hdr v1.2.hdr
check "an output named v1.2.hdr: its data" test -s v1.2.img
rm v1.2.*
fails "a data file without a header" 1 "data.img: its header is missing: neither data.img.hdr nor data.hdr" pca data.img bad.hdr
fails "no data file, no header" 1 "nowhere: its header is missing: there is no nowhere.hdr$" pca nowhere bad.hdr
fails "a data file that is not there, beside a header" 1 "bsq.zzz: it is no file; there is a header bsq.hdr, which may be named instead" pca bsq.zzz bad.hdr
fails "a table over a header" 2 "bad.hdr: the name of a cube's header: a table ends in .csv" \
    endmembers bsq.hdr bad.hdr --count 2
fails "C arrays over a header" 2 "bad.hdr: the name of a cube's header: C arrays end in .h" export some.model bad.hdr
fails "an output that is no header" 2 "bad.img: the name of a header ends in .hdr" pca bsq.hdr bad.img
{ printf 'five!'; cat bsq.img; } >offset.img; header offset 2 2 3 1 bsq 0 'Header Offset = 5'
check "header offset" is "$(band offset 2)" "20 21.5 23 0"
printf '%s\r\n' ENVI '; lines = 7' ' SAMPLES=2' 'Lines  = 2' '' 'Bands = 3' 'Data   Type = 1' 'interleave = bsq' \
    "description = {on
two lines}
Wavelength Units = Nanometers
wavelength = {400,
 500 ,
 600.5}
bbl = { 1, 0,1}" >odd.hdr
cp bsq.img odd.img
check "keys in any case, blanks, comments, carriage returns, braces over lines" run info odd.hdr
check "description over two lines" grep -q '^description   on two lines$' out.txt
check "wavelengths" grep -q '^wavelengths   400 to 600.5 Nanometers$' out.txt
check "bad bands" grep -q '^bad bands     2$' out.txt
# As GDAL reads them: comments after values, ENVI's words for the byte order, or none.
header words 2 1 1 2 bsq 0; printf '\001\000\002\000' >words.img
words() { # words NAME RESULT SED-EXPRESSION...
    header words 2 1 1 2 bsq 0
    sed -i "${@:3}" words.hdr
    check "$1" is "$(band words 1 2>err.txt)" "$2"
}
words "a comment after a value" "1 1.5 2 0" -e 's/^samples.*/samples = 2 ; comment/' -e 's/^data type.*/data type=2;int/' -e 's/bsq/BSQ ; x/'
words "byte order = Host (Intel)" "1 1.5 2 0" -e 's/^byte order.*/byte order = Host (Intel)/'
words "byte order = Network (IEEE)" "256 384 512 0" -e 's/^byte order.*/byte order = Network (IEEE)/'
words "byte order = 1 ; Network" "256 384 512 0" -e 's/^byte order.*/byte order = 1 ; Network/'
words "no byte order: 0" "1 1.5 2 0" -e '/^byte order/d'
check "no byte order: says so" grep -q 'words.hdr: byte order: the key is missing: 0' err.txt
check "--bbl leaves the bad band out" test "$("$program" info odd.hdr --bbl | grep -c '^ *[123] ')" -eq 2

echo "== bytes around frames"
# Two samples, two lines, three bands, as above, with x before and yy after each line, or each band of bsq.
printf 'x\012\013\014\015yyx\024\025\026\027yyx\036\037\040\041yy' >fbsq.img
printf 'x\012\013\024\025\036\037yyx\014\015\026\027\040\041yy' >fbil.img
printf 'x\012\024\036\013\025\037yyx\014\026\040\015\027\041yy' >fbip.img
for i in bsq bil bip; do
    header f$i 2 2 3 1 $i 0 'major frame offsets = {1, 2}' 'minor frame offsets = {0,0}'
    check "$i with bytes around frames: band 1" is "$(band f$i 1)" "10 11.5 13 0"
    check "$i with bytes around frames: band 3, line by line" is "$(band f$i 3 --block 1)" "30 31.5 33 0"
    check "$i with bytes around frames: a pca" good pca f$i.hdr frames.hdr --precise
    good pca $i.hdr plain.hdr --precise
    check "$i with bytes around frames: the same components" cmp frames.img plain.img
    check "$i with bytes around frames: in blocks" good pca f$i.hdr frames.hdr --precise --block 1
    check "$i with bytes around frames: the same components in blocks" cmp frames.img plain.img
    { printf 'five!'; cat f$i.img; } >g$i.img; cp f$i.hdr g$i.hdr; sed -i '$a header offset = 5' g$i.hdr
    check "$i with an offset and bytes around frames" is "$(band g$i 2)" "20 21.5 23 0"
    [ $i = bsq ] || ! command -v gdalinfo >/dev/null ||
        check "$i: GDAL finds the same" bash -c "gdalinfo -stats f$i.img | grep -q 'Minimum=20.000, Maximum=23.000, Mean=21.500'"
done
head -c 17 fbil.img >gbil.img; cp fbil.hdr gbil.hdr
fails "the last bytes are missing" 1 "gbil.img: it is truncated.*17 bytes are there, 18 are needed" pca gbil.hdr bad.hdr
for v in '{1}' '{1, -2}' '{a, b}' '{1, 2, 3}' 1 '{9999999999, 0}'; do
    header gbil 2 2 3 1 bil 0 "major frame offsets = $v"
    fails "major frame offsets = $v" 1 "gbil.hdr: major frame offsets: .* two numbers" pca gbil.hdr bad.hdr
done
header gbil 2 2 3 1 bil 0 'minor frame offsets = {0, 1}'
fails "minor frame offsets" 1 "gbil.hdr: minor frame offsets: .* not read" pca gbil.hdr bad.hdr

echo "== missing values"
header none 2 2 3 1 bsq 0 'data ignore value = 21'; cp bsq.img none.img
check "data ignore value" is "$(band none 2)" "20 21.6667 23 1"
check "--nodata goes before it" is "$(band none 3 --nodata 33)" "30 31 32 1"
printf '\000\000\300\177\000\000\200\077\000\000\200\377\000\000\000\100' >nan.img; header nan 4 1 1 4 bsq 0
check "NaN and infinity" is "$(band nan 1)" "1 1.5 2 2"
printf '\377\377\177\377\000\000\200\077' >lowest.img
header lowest 2 1 1 4 bsq 0 'data ignore value = -3.4028234663852886e+38'
check "the lowest float" is "$(band lowest 1)" "1 1 1 1"
# As numpy, GDAL, printf and IDL write the lowest float and its opposite.
printf '\377\377\177\177\000\000\200\077' >highest.img
for digits in 3.4028235e+38 3.4028234663852886e+38 3.40282346638529e+38 3.40282347e+38 3.402823466e+38 3.4028235E+038 3.402823e+38 3.40282e+38; do
    header lowest 2 1 1 4 bsq 0 "data ignore value = -$digits"
    check "the lowest float is -$digits" is "$(band lowest 1)" "1 1 1 1"
    header highest 2 1 1 4 bsq 0 "data ignore value = $digits"
    check "the highest float is $digits" is "$(band highest 1)" "1 1 1 1"
    check "the lowest float by --nodata=-$digits" is "$(band lowest 1 --nodata=-$digits)" "1 1 1 1"
done
printf '\377\377\177\377\000\000\200\077\000\000\000\100' >lowest.img; header lowest 3 1 1 4 bsq 0 'data ignore value = -3.4028235e+38'
check "the lowest float: a pca" good pca lowest.hdr lowest_pc.hdr
check "the lowest float: stays in a float output" is "$(band lowest_pc 1)" "-0.5 0 0.5 1"
check "the lowest float: its header" grep -q '^data ignore value = -3.4028234663852886e+38$' lowest_pc.hdr
# Another float that is spelt out is meant itself: SAGA's value for no data, and GDAL's spelling of it.
printf '\375\377\177\377\000\000\200\077' >spelt.img
header spelt 2 1 1 4 bsq 0 'data ignore value = -3.40282306073709653e+38'
check "a float beside the lowest" is "$(band spelt 1)" "1 1 1 1"
# Its spellings by fewer digits, down to those that it has in common with the lowest float: then both are meant.
printf '\375\377\177\377\377\377\177\377\000\000\200\077\000\000\000\100' >spelt.img # its own, the lowest, 1, 2
printf '\377\177\377\375\377\177\377\377\077\200\000\000\100\000\000\000' >spelt1.img
spelt() { # spelt DIGITS RESULT
    header spelt 4 1 1 4 bsq 0 "data ignore value = -$1"; header spelt1 4 1 1 4 bsq 1 "data ignore value = -$1"
    check "a float beside the lowest, $1" is "$(band spelt 1)" "$2"
    check "a float beside the lowest, $1, the other order of bytes" is "$(band spelt1 1)" "$2"
    header spelt 4 1 1 4 bsq 0
    check "a float beside the lowest, --nodata=-$1" is "$(band spelt 1 "--nodata=-$1")" "$2"
}
for digits in 3.40282306073709653e+38 3.40282306e+38 3.4028231e+38 3.40282306E+038; do
    spelt $digits "-3.40282e+38 -1.13427e+38 2 1"
done
for digits in 3.4028234663852886e+38 3.4028235e+38 3.40282347e+38 3.4028234e38; do
    spelt $digits "-3.40282e+38 -1.13427e+38 2 1"
done
for digits in 3.40282e+38 3.402823e+38; do spelt $digits "1 1.5 2 2"; done
header spelt 4 1 1 4 bsq 0 'data ignore value = -3.402823e+38' 'data gain values = {2}'
check "both of them, --gains" is "$(band spelt 1 --gains)" "2 3 4 2"
check "both of them, pca: runs" good pca spelt.hdr same.hdr
check "both of them, pca" is "$(band same 1)" "-0.5 0 0.5 2"
check "both of them, convert: runs" good convert spelt.hdr same.hdr
check "both of them, convert: one is left" is "$(od -An -tx4 same.img | xargs)" "ff7fffff ff7fffff 3f800000 40000000"
printf '\315\314\314\075\000\000\200\077' >tenth.img; header tenth 2 1 1 4 bsq 0 'data ignore value = 0.1'
check "a decimal fraction in a float cube" is "$(band tenth 1)" "1 1 1 1"
printf '\000\000\001\000' >minus.img; header minus 2 1 1 12 bsq 0 'data ignore value = -9999'
check "a value that u16 cannot hold: no pixel is missing" is "$(band minus 1)" "0 0.5 1 0"
check "a value that u16 cannot hold: convert runs" run convert minus.hdr same.hdr
check "a value that u16 cannot hold: it is said" grep -q 'minus.hdr: data ignore value: -9999 is none of its values, which are u16, whole numbers from 0 to 65535: no pixel is missing by it' err.txt
check "a value that u16 cannot hold: once" is "$(wc -l <err.txt)" 1
check "a value that u16 cannot hold: zeros stay" is "$(band same 1)" "0 0.5 1 0"
check "a value that u16 cannot hold: nothing is stated" is "$(grep -c 'data ignore value' same.hdr)" 0
check "--nodata goes before such a value" good info minus.hdr --nodata 0
# cannot_hold TYPE VALUE BITS: the warning of the header and the error of the option; BITS: the value with the same bits
cannot_hold() {
    cp minus.img hold.img; header hold 2 1 1 "$1" bsq 0 "data ignore value = $2"
    [ "$1" = 1 ] && header hold 2 2 1 "$1" bsq 0 "data ignore value = $2"
    run info hold.hdr
    check "type $1, data ignore value = $2: it is said" grep -q "hold.hdr: data ignore value: $2 is none of its values" err.txt
    check "type $1, data ignore value = $2: what has its bits" is ".$(grep -o -- '--nodata=.*' err.txt)" ".$3"
    fails "type $1, --nodata=$2" 2 "--nodata: $2 is none of the values of hold.hdr, which are [iu][0-9]*, whole numbers from .* to " \
        pca hold.hdr bad.hdr "--nodata=$2"
}
cannot_hold 12 -1 --nodata=65535
cannot_hold 2 65535 --nodata=-1
cannot_hold 1 -1 --nodata=255
cannot_hold 12 65534.5 ""
cannot_hold 1 -9999 ""
cannot_hold 2 99999 ""

echo "== headers that lie"
lie() { # lie NAME PATTERN [sed expression]
    header wrong 2 2 3 2 bsq 0 'header offset = 0'
    { cat bsq.img bsq.img; } >wrong.img
    sed -i -e "$3" wrong.hdr
    fails "$1" 1 "wrong.hdr.*$2" pca wrong.hdr bad.hdr
}
for key in samples lines bands 'data type' interleave; do lie "no $key" "$key.*missing" "/^$key/d"; done
lie "negative samples" "samples: -2 is outside" 's/^samples.*/samples = -2/'
lie "no lines" "lines: 0 is outside" 's/^lines.*/lines = 0/'
lie "2^31 samples" "samples: 2147483648 is outside" 's/^samples.*/samples = 2147483648/'
lie "2^64 + 2 samples" "samples: 18446744073709551618 is outside" 's/^samples.*/samples = 18446744073709551618/'
lie "letters for a number" "bands: 'three' is not a whole number" 's/^bands.*/bands = three/'
lie "a fraction of a line" "lines: '2.5' is not a whole number" 's/^lines.*/lines = 2.5/'
lie "an unknown type" "data type: 7 is none of" 's/^data type.*/data type = 7/'
for t in 6 9; do lie "complex numbers, type $t" "data type: $t, complex numbers, is not read" "s/^data type.*/data type = $t/"; done
lie "an unknown interleave" "interleave: 'bsx'" 's/^interleave.*/interleave = bsx/'
lie "byte order 2" "byte order: 2 is outside" 's/^byte order.*/byte order = 2/'
lie "a negative offset" "header offset: -1 is outside" 's/^header offset.*/header offset = -1/'
lie "an offset past the end" "24 bytes are there, 1024 are needed" 's/^header offset.*/header offset = 1000/'
lie "one line too many" "24 bytes are there, 36 are needed" 's/^lines.*/lines = 3/'
lie "sizes whose product overflows" "24 bytes are there.*or more are needed" \
    's/^\(samples\|lines\|bands\).*/\1 = 2147483647/'
lie "an odd word for the byte order" "byte order: 'PDP' is not" 's/^byte order.*/byte order = PDP/'
# What the cube can be read without is ignored, and said.
doubtful() { # doubtful NAME PATTERN LINE [MORE LINES...]
    { printf 'ENVI\nsamples = 2\n'; printf '%s\n' "${@:3}"; printf 'lines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\nbyte order = 0\n'; } >doubt.hdr
    cp bsq.img doubt.img
    good pca bsq.hdr plain.hdr
    check "$1: read" run pca doubt.hdr same.hdr
    check "$1: says so" grep -q "doubt.hdr: $2" err.txt
    check "$1: one line" is "$(wc -l <err.txt)" 1
    check "$1: the same components" cmp same.img plain.img
}
doubtful "a brace that stays open" "band names: the closing brace is missing" 'band names = {1, 2, 3'
doubtful "a brace that stays open before another" "band names: the closing brace is missing" 'band names = {1, 2,' ' 3' 'bbl = {1,1,1}'
doubtful "a brace that stays open before another with braces within" "description: the closing brace is missing" 'description = {sand {dry},' ' veg' 'bbl = {1,1,1}'
header doubt 2 2 3 1 bsq 0 'description = {' ' sand {dry} = x' ' samples = 5, {a' ' b} }' 'bbl = {1,1,1}'
check "pairs of braces on later lines: read" good info doubt.hdr
check "pairs of braces on later lines: the text" grep -q '^description   sand {dry} = x samples = 5, {a b}$' out.txt
doubtful "a wavelength too few" "wavelength: 2 values for 3 bands" 'wavelength = {1, 2}'
doubtful "a wavelength that is none" "wavelength: number 2" 'wavelength = {1, x, 3}'
doubtful "a bad band list of the wrong length" "bbl: 4 values for 3 bands" 'bbl = {1, 1, 1, 0}'
doubtful "an empty bad band list" "bbl: 0 values for 3 bands" 'bbl = {}'
doubtful "two lists that differ" "wavelength: it is there twice" 'wavelength = {1,2,3}' 'wavelength = {1,2,4}'
header doubt 2 2 3 1 bsq 0 'bbl = {1, 1, 1, 0}'
fails "a bad band list of the wrong length, and --bbl" 1 "doubt.hdr: bbl: the key is missing or damaged" pca doubt.hdr bad.hdr --bbl
header doubt 2 2 3 1 bsq 0 'fwhm = {1, x}'
check "a bad list that nobody reads" good pca doubt.hdr same.hdr
printf 'ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\n\000data ignore value = 20\n' >doubt.hdr
fails "a byte of zero" 1 "doubt.hdr: not an ENVI header: it holds a byte of zero" pca doubt.hdr bad.hdr
printf 'ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\n\000' >doubt.hdr
fails "a byte of zero at the end" 1 "doubt.hdr: not an ENVI header: it holds a byte of zero" pca doubt.hdr bad.hdr
lie "two keys that differ" "samples: it is there twice" '$a samples = 3'
lie "a missing value that is none" "data ignore value: 'none'" '$a data ignore value = none'
lie "compressed data" "file compression" '$a file compression = 1'
lie "another format" "file type: tiff has a header of its own" '/^file type/d; $a file type = TIFF'
cp bsq.img nohead.hdr
fails "a header that is none" 1 "nohead.hdr: not an ENVI header" pca nohead.hdr bad.hdr
header lonely 2 2 3 1 bsq 0
fails "no data file" 1 "lonely.hdr: its data file is missing" pca lonely.hdr bad.hdr
fails "no such header" 1 "nowhere.hdr: cannot read it" pca nowhere.hdr bad.hdr
head -c 11 bsq.img >short.img; header short 2 2 3 1 bsq 0
fails "a truncated file" 1 "short.img: it is truncated" pca short.hdr bad.hdr
header short 2 2 2147483647 1 bsq 0; printf 'wavelength = {1, 2, 3}\nbbl = {1, 1, 1}\n' >>short.hdr
fails "more bands than memory holds" 1 "short.img: it is truncated, or samples, lines, bands.*8589934588 are needed" pca short.hdr bad.hdr
{ cat bsq.img; printf 'x'; } >long.img; header long 2 2 3 1 bsq 0
check "a file that is too long: still read" run info long.hdr
check "a file that is too long: says so" grep -q '1 bytes follow' err.txt

echo "== small files that took minutes, or too much memory"
# within SECONDS COMMAND...: of the processor's time.
within() { (ulimit -t "$1"; shift; "$@"); }
many() { seq -s, 1 "$1" | sed "s/[0-9][0-9]*/$2/g"; } # many COUNT TEXT: & is the number
header long 2 2 1000 1 bip 0 "wavelength = {$(many 1000 '&.5')}" "wavelength units = $(many 20000 um_x)"
head -c 4000 /dev/urandom >long.img
check "100 kB of units" within 20 run pca long.hdr same.hdr --components 1 --save same.model
check "100 kB of units: none that is known" grep -q "long.hdr: wavelength units: 'um_x,um_x,.*' is no unit that is known" err.txt
header long 2 1 3 1 bip 0 'wavelength = {500, 600, 700}' 'wavelength units = nm'
head -c 6 bsq.img >long.img
{ echo "wavelength,$(many 10000 'a&_std'),$(many 3 'a& mean')"; for w in 500 600 700; do echo "$w,$(many 10003 '&')"; done; } >long.csv
check "10000 deviations" within 20 run spectra long.csv same.csv --derivative 1
check "10000 deviations: those of another column are left out" is "$(grep -c 'holds deviations: it is no spectrum' out.txt)" 3
check "10000 deviations: all others are spectra" is "$(head -n 1 same.csv | tr ',' '\n' | grep -c _std)" 9997
{ echo "\"wavelength\",$(many 30000 '"say ""a&"""')"; for w in 500 600 700; do echo "$w,$(many 30000 '&')"; done; } >long.csv
check "30000 quoted headings" within 5 run spectra long.csv same.csv --smooth 3
check "30000 quoted headings: as they were" is "$(head -n 1 same.csv | cut -d, -f 2,30001)" '"say ""a1""","say ""a30000"""'
header long 2 1 100000 1 bip 0
head -c 200000 /dev/urandom >long.img
{ echo band,a; seq 100000 -1 1 | sed 's/$/,1/'; } >long.csv
check "100000 numbers of bands" within 10 run unmix long.hdr same.hdr --endmembers long.csv
rm -f same.* long.*
# A line of 65536 x 65536 values is beyond 32 bits. Files are of one hole.
hole() { dd if=/dev/zero of="$1" bs=1 seek=$(($2 - 1)) count=1 2>/dev/null; }
cat >small.c <<'EOF_C'
#include ENVI
size_t shs_type_size(shs_type type) { return (size_t)(type == SHS_TYPE_F64 ? 8 : 1); }
int main(int argc, char **argv) {
    cube_file f;
    example_begin(argc, argv);
    f = cube_open(argv[1], NULL);
    free(room_for_lines(&f, 1));
    return EXIT_SUCCESS;
}
EOF_C
if gcc -m32 -std=c99 -w -D_FILE_OFFSET_BITS=64 -DSPARSEHS_IMPLEMENTATION_ONCE -DEXAMPLE_NO_OPENCL -DENVI="\"$envi\"" small.c -o small -lm 2>/dev/null; then
    header hole 65536 2 65536 1 bip 0; hole hole.img 8589934592
    ./small hole.hdr 2>err.txt
    check "a line beyond 32 bits: exit code" is $? 1
    check "a line beyond 32 bits: says so" grep -q 'hole.hdr: samples 65536 x bands 65536: a line is too large for this machine' err.txt
    rm hole.img
else
    skip "no gcc for 32 bits"
fi
header hole 1 2147483647 1 1 bsq 0 'file type = ENVI Spectral Library' 'wavelength = {500}'; hole hole.img 2147483647
fails "2147483647 spectra" 1 "hole.hdr: lines: 2147483647 spectra are too many" spectra hole.hdr bad.csv
rm hole.img
# What is wrong is told, and no more.
mkdir -p folder.hdr
fails "a folder for a header" 1 "folder.hdr: cannot read it: it is a folder" pca folder.hdr bad.hdr
fails "a folder for the data" 1 "folder.hdr: cannot read it: it is a folder" pca bsq.hdr bad.hdr --data folder.hdr
check "a folder for the data: one line" is "$(wc -l <err.txt)" 1
lie "control characters" "samples: '?\[31mX' is not a whole number" "s/^samples.*/samples = $(printf '\033')[31mX/"
printf 'wavelength,a\n500,\0331\n' >wrong.csv
header hole 1 1 1 1 bsq 0 'wavelength = {500}'; head -c 1 bsq.img >hole.img
fails "control characters in a table" 1 "wrong.csv: line 2: '?1' is no number" unmix hole.hdr bad.hdr --endmembers wrong.csv

echo "== headers as people write them"
header head 2 2 3 1 bsq 0 'wavelength = {400, 500, 600}'; cp head.hdr base.hdr; cp bsq.img head.img
{ printf '\357\273\277'; cat base.hdr; } >head.hdr
check "a byte order mark" good info head.hdr
{ printf '\n  \r\n; by hand\n'; cat base.hdr; } >head.hdr
check "empty lines and comments before ENVI" good info head.hdr
sed 's/^samples/; lines = 9 }\nsamples/; s/{400, 500/{\n; centres, in braces {\n400,\n  ; a } here\n 500/' base.hdr >head.hdr
check "comments between keys, and within a list" good info head.hdr
check "comments within a list: its numbers" grep -q '^wavelengths   400 to 600' out.txt
sed -E 's/^(samples|lines|bands|data type|byte order) = (.)$/\1 = \2.0/; $a header offset = 0.00' base.hdr >head.hdr
check "counts as tables write them" good info head.hdr
sed 's/^wavelength.*/wavelength = {"4.0D+02"; 5.d2 6.0E+2}/' base.hdr >head.hdr
check "Fortran's exponents, quotes, other separators" good info head.hdr
check "Fortran's exponents, quotes, other separators: the numbers" grep -q '^wavelengths   400 to 600' out.txt
for v in '{1, 0, 1}' '{1.000, 0.000, 1.000}' '{True, False, True}' '{true,false,true}' '{good bad good}' '1, 0, 1' '{"1", "0", "1"}' '{ yes , no, YES }'; do
    { cat base.hdr; echo "bbl = $v"; } >head.hdr
    check "bbl = $v" good info head.hdr --bbl
    check "bbl = $v: without band 2" is "$(grep -c '^ *[123] ' out.txt)$(grep -c '^ *2 ' out.txt)" 20
done
for v in -9999 '' None N/A 5,0 '5, 6' x; do
    { cat base.hdr; echo "data ignore value = $v"; } >head.hdr
    check "data ignore value = $v, and --nodata 21" good info head.hdr --nodata 21
    check "data ignore value = $v, and --nodata 21: one value is missing" grep -q '^ *2 .* 1$' out.txt
done
for v in 2.1D+01 '{21, 21, 21}' '21, 21' 21.0; do
    { cat base.hdr; echo "data ignore value = $v"; } >head.hdr
    check "data ignore value = $v" good info head.hdr
    check "data ignore value = $v: one value is missing" grep -q '^ *2 .* 1$' out.txt
done
for v in '-1.#IND00' '1.#QNAN' nan '-nan(ind)'; do
    { cat base.hdr; echo "data ignore value = $v"; } >head.hdr
    check "data ignore value = $v: nothing is missing" good info head.hdr
done
{ cat base.hdr; echo "data ignore value = N/A"; } >head.hdr
fails "a word for what is missing" 1 "head.hdr: data ignore value: 'N/A' is not a number; --nodata V" info head.hdr
{ printf '\377\376'; sed 's/./&\x00/g' base.hdr; } >head.hdr
fails "UTF-16" 1 "head.hdr: it is UTF-16 text" info head.hdr
printf 'BYTEORDER I\nLAYOUT BIL\nNROWS 2\nNCOLS 2\nNBANDS 3\nNBITS 8\n' >head.hdr
fails "an ESRI header" 1 "head.hdr: an ESRI header, .*gdal_translate -of ENVI" info head.hdr
printf '\n  nrows   2\nncols 2\n' >head.hdr
fails "an ESRI header in small letters" 1 "head.hdr: an ESRI header" info head.hdr

echo "== options"
fails "no mode" 2 "Usage:"
fails "an unknown mode" 2 "pac: unknown mode" pac bsq.hdr bad.hdr
fails "one name" 2 "needs two names" pca bsq.hdr
fails "three names" 2 "pca: needs two names, .* (got 3): what does 'sometimes' belong to?" pca bsq.hdr bad.hdr --precise sometimes
fails "an option of another mode" 2 "--contrast: unknown option" pca bsq.hdr bad.hdr --contrast tanh
fails "ica without a number" 2 "--components: is needed" ica bsq.hdr bad.hdr
fails "ica with two rules" 2 "--threshold: --components says" ica bsq.hdr bad.hdr --components 1 --threshold 2
fails "a threshold of nothing" 2 "--threshold" ica bsq.hdr bad.hdr --threshold 0
fails "an unknown route" 2 "--route: fourth" ica bsq.hdr bad.hdr --components 1 --route fourth
fails "moments of tanh" 2 "only pow3" ica bsq.hdr bad.hdr --components 1 --route moments --contrast tanh
fails "more components than bands" 2 "--components: 4, but only 3 bands" pca bsq.hdr bad.hdr --components 4
fails "both rules" 2 "--variance" pca bsq.hdr bad.hdr --components 1 --variance 0.9
fails "a variance of 99" 2 "--variance: 99 is more than 1" pca bsq.hdr bad.hdr --variance 99
fails "u8 without a range" 2 "u8 needs --rescale 0,255" pca bsq.hdr bad.hdr --type u8
fails "a range that u8 has not" 2 "--rescale: 0,256 is outside" pca bsq.hdr bad.hdr --type u8 --rescale 0,256
fails "a range backwards" 2 "--rescale" pca bsq.hdr bad.hdr --rescale 5,1
fails "half a range" 2 "--rescale" pca bsq.hdr bad.hdr --rescale 5
fails "a range of one value" 2 "--rescale: 0,0: a range ends above where it begins" pca bsq.hdr bad.hdr --rescale 0,0
fails "an unknown type" 2 "--type: u64" pca bsq.hdr bad.hdr --type u64
fails "an unknown interleave" 2 "--interleave: bsx" pca bsq.hdr bad.hdr --interleave bsx
fails "an unknown contrast" 2 "--contrast: cube" ica bsq.hdr bad.hdr --components 1 --contrast cube
for list in 0 4 1-4 3-1 1,1 1, , 1-2-3 a 1-; do
    fails "--bands $list" 2 "--bands" pca bsq.hdr bad.hdr --bands "$list"
done
fails "--bbl without the key" 1 "bsq.hdr: bbl: the key is missing" pca bsq.hdr bad.hdr --bbl
header allbad 2 2 3 1 bsq 0 'bbl = {0,0,0}'; cp bsq.img allbad.img
fails "--bbl with none left" 1 "allbad.hdr: bbl: it calls every band bad" pca allbad.hdr bad.hdr --bbl
fails "--bands and --bbl" 2 "--bbl" pca odd.hdr bad.hdr --bbl --bands 1
fails "a missing value that is none" 2 "--nodata: 'x'" pca bsq.hdr bad.hdr --nodata x
fails "a picture of unknown kind" 2 "bad.gif" pca bsq.hdr bad.hdr --quicklook bad.gif
fails "a folder that does not exist" 1 "nofolder/bad.hdr: cannot write it: its folder" pca bsq.hdr nofolder/bad.hdr
cp bsq.img keep.img; cp bsq.hdr keep.hdr
fails "the output over the input" 2 "would replace the input" pca keep.hdr keep.hdr
check "the output over the input: it is as it was" cmp bsq.img keep.img
ln keep.img link.img
fails "the output over the input under another name" 2 "would replace the input" pca keep.hdr link.hdr

echo "== outputs that are other files too"
# With its header, its data and a mask, none of which may ever change.
mkdir -p deep/folder; ln -s .. deep/up; ln -s ../keep.img deep/soft.csv; ln keep.hdr hard.csv; ln -s nothing dangling.csv
printf '\000\000\000\001' >mask.img; header mask 2 2 1 1 bsq 0
kept() { cmp -s bsq.img keep.img && cmp -s bsq.hdr keep.hdr && [ -f keep.hdr ]; }
for o in keep.hdr ./keep.img deep/../keep.hdr deep/up/keep.img deep/soft.csv hard.csv "$PWD/keep.hdr" deep/folder/../../keep.img; do
    fails "--report $o" 2 "would replace the input" pca keep.hdr bad.hdr --report "$o"
done
for o in bad.hdr ./bad.img deep/up/bad.hdr bad.img.part bad.hdr.part deep/../bad.hdr; do
    fails "--report $o beside bad.hdr" 2 "two outputs would go into this one file" pca keep.hdr bad.hdr --report "$o"
done
ln keep.img hard.png; ln -s ../../keep.img deep/folder/soft.ppm
fails "--quicklook over the data" 2 "would replace the input" pca keep.hdr bad.hdr --quicklook hard.png
fails "--quicklook over the data, by a link" 2 "would replace the input" pca keep.hdr bad.hdr --quicklook deep/folder/soft.ppm
fails "--quicklook and --report into one" 2 "bad.pgm: two outputs" pca keep.hdr bad.hdr --quicklook bad.pgm --report ./bad.pgm
fails "the map over its truth" 2 "would replace the input" rx keep.hdr mask.hdr --truth mask.hdr
ln mask.img mask.pgm
fails "--quicklook over the truth" 2 "would replace the input" rx keep.hdr bad.hdr --truth mask.hdr --quicklook mask.pgm
fails "the output's data is the input's, in a folder" 2 "would replace the input" pca keep.hdr deep/up/keep.hdr
for o in --report --quicklook; do
    fails "$o: no folder" 1 "nofolder/bad.png: cannot write it: its folder" pca keep.hdr bad.hdr $o nofolder/bad.png
    fails "$o: a file for a folder" 1 "keep.hdr/bad.png: cannot write it" pca keep.hdr bad.hdr $o keep.hdr/bad.png
done
fails "--report is a folder" 1 "deep/: cannot write it: it is a folder" pca keep.hdr bad.hdr --report deep/
fails "--report is a folder, by its name" 1 "deep: cannot write it: it is a folder" pca keep.hdr bad.hdr --report deep
fails "--report is a link to nothing" 1 "dangling.csv: cannot write it: it is a symbolic link" pca keep.hdr bad.hdr --report dangling.csv
check "the inputs are as they were" kept
if [ "$(id -u)" != 0 ]; then
    mkdir locked; chmod a-w locked
    fails "a folder without the right to write" 1 "locked/bad.csv: cannot write it" pca keep.hdr bad.hdr --report locked/bad.csv
else
    skip "root may write into any folder"
fi
mkdir bad2.hdr bad3.img
fails "an empty folder named like the header" 1 "bad2.hdr: cannot write it: it is a folder" pca keep.hdr bad2.hdr
fails "an empty folder named like the data" 1 "bad3.img: cannot write it: it is a folder" pca keep.hdr bad3.hdr
check "the folders are still there" test -d bad2.hdr -a -d bad3.img
cp keep.img victim; ln -s victim linked.img.part
check "a .part that is a link: fails" bash -c "! '$program' pca keep.hdr linked.hdr >out.txt 2>err.txt"
check "a .part that is a link: says so" grep -q 'linked.img.part' err.txt
check "a .part that is a link: what it leads to is as it was" cmp victim keep.img
rm linked.img.part; : >linked.hdr.part
check "a .part of another run: fails" bash -c "! '$program' pca keep.hdr linked.hdr >out.txt 2>err.txt"
check "a .part of another run: says so" grep -q 'linked.hdr.part: it is there already' err.txt
check "a .part of another run: stays" test -f linked.hdr.part -a ! -e linked.img.part
rm linked.hdr.part
check "an output may be there already" good pca keep.hdr linked.hdr
check "an output may be there already: again" good pca keep.hdr linked.hdr --report /dev/null
# Outputs go to what links lead to, and keep the permissions of an older file.
mkdir real; : >real/far.hdr; : >real/far.img; : >real/far.model; chmod 640 real/far.img
for e in hdr img model; do ln -s real/far.$e far.$e; done
check "outputs that are links: runs" run pca keep.hdr far.hdr --save far.model
check "outputs that are links: they stay" test -L far.hdr -a -L far.img -a -L far.model
check "outputs that are links: the components are there" cmp real/far.img linked.img
check "outputs that are links: the header is there" cmp real/far.hdr linked.hdr
check "outputs that are links: the model is there" run apply real/far.model keep.hdr same.hdr
check "outputs that are links: nothing else is there" is "$(ls real | xargs)" "far.hdr far.img far.model"
check "outputs that are links: permissions stay" is "$(ls -l real/far.img | cut -c1-10)" -rw-r-----
mkfifo pipe.model; ln -s /dev/null null.hdr; ln -s "$PWD/pipe.model" pipe.img
cat pipe.model >piped.model & job=$!
check "a model into a pipe: runs" run pca keep.hdr same.hdr --save pipe.model
wait $job
check "a model into a pipe: the same" cmp piped.model real/far.model
check "a model into a pipe: a pipe" test -p pipe.model
fails "a header that is a device" 1 "null.hdr: cannot write it: a device or a pipe" pca keep.hdr null.hdr
fails "data that are a pipe" 1 "pipe.img: cannot write it: a device or a pipe" pca keep.hdr pipe.hdr
check "a header that is a device: it stays" test -L null.hdr -a -p pipe.model
echo own >best.csv.part
check "a file called best.csv.part: runs" run rx keep.hdr same.hdr --report best.csv
check "a file called best.csv.part: it stays" is "$(cat best.csv.part)" own
check "a file called best.csv.part: the table" is "$(head -n 1 best.csv)" "band,name,rank,sample,line,score"
check "a file called best.csv.part: nothing else is left" is "$(ls best.* | xargs)" "best.csv best.csv.part"
rm -r best.* pipe.* null.hdr piped.model far.* real
# What other programs keep beside data that are replaced describes what was there before. Other files are somebody's own.
beside() { for e in aux.xml ovr msk enp sta; do echo old >"$1.img.$e"; done; echo old >"$1.sta"; }
beside side
check "files beside an output that is new: nothing is said" good convert bsq.hdr side.hdr
check "files beside an output that is new stay" is "$(ls side.* | wc -l)" 8
cp bsq.hdr host.hdr; cp bsq.img host.img; beside host; echo other >side.img.txt
check "files beside an output: runs" run convert host.hdr side.hdr
check "files beside an output: it is said" grep -q \
    'side.img: what described the file before is removed: side.img.aux.xml side.img.ovr side.img.msk side.img.enp$' err.txt
check "files beside an output: once" is "$(wc -l <err.txt)" 1
check "files beside an output: no other is gone" is "$(ls side.* | xargs)" "side.hdr side.img side.img.sta side.img.txt side.sta"
check "files beside an input stay" is "$(ls host.* | wc -l)" 8
rm side.*; cp bsq.img side.bil; cp bsq.hdr side.bil.hdr; echo own >side.sta
check "a file beside a cube of another name: runs" good convert side.bil.hdr side.img.hdr
check "a file beside a cube of another name stays" is "$(cat side.sta)" own
rm side.*; good pca bsq.hdr side.hdr --components 1 --stats side.sta
check "the table of an earlier run: runs" good pca bsq.hdr side.hdr --components 2
check "the table of an earlier run stays" test -s side.sta
rm side.sta
echo old >side.img.ovr
check "outputs beside an output: runs" run pca bsq.hdr side.hdr --components 1 --report side.img.msk --save side.sta
check "outputs beside an output stay" test -s side.img.msk -a -s side.sta -a ! -e side.img.ovr
mkdir apart; mv side.img apart/far.img; rm side.*; ln -s apart/far.img side.img; echo old >side.img.ovr; echo old >apart/far.img.ovr
check "files beside an output that is a link: runs" run convert bsq.hdr side.hdr
check "files beside an output that is a link: both are gone" test ! -e side.img.ovr -a ! -e apart/far.img.ovr -a -L side.img
rm -r side.* host.* apart

echo "== signals, standard output"
# Work that lasts for seconds, to be caught at.
"$program" synthesise large.hdr --samples 600 --lines 600 --bands 60 >/dev/null
long="ica large.hdr cut.hdr --contrast tanh --block 1"
at_work() {
    for _ in $(seq 100); do [ -e cut.hdr.part ] && return; sleep 0.05; done
    false
}
for s in HUP PIPE TERM INT; do
    # Whoever started this script may ignore signals (nohup does), and a script's jobs in the background ignore INT.
    before="env --default-signal=$s"
    $before true 2>/dev/null || { skip "$s: env has no --default-signal"; continue; }
    $before "$program" $long --components 30 --tolerance -1 >out.txt 2>err.txt &
    job=$!
    check "$s: at work" at_work
    kill -$s $job
    wait $job
    got=$?
    check "$s: ends it" test $got -eq $((128 + $(kill -l $s)))
    check "$s: leaves nothing" test -z "$(ls | grep '^cut\.')"
done
(trap '' HUP; exec "$program" $long --components 6 >out.txt 2>err.txt) &
job=$!
at_work
kill -HUP $job
wait $job
check "HUP ignored, as under nohup: it goes on to the end" test -s cut.img -a -s cut.hdr
rm -f large.* cut.*
if [ -c /dev/full ]; then
    for m in "info keep.hdr" "pca keep.hdr full.hdr" "synthesise full.hdr" --help "pca --help"; do
        check "$m > /dev/full: fails" bash -c "! '$program' $m >/dev/full 2>err.txt"
        check "$m > /dev/full: says so" grep -q 'standard output: writing to it failed' err.txt
    done
else
    skip "there is no /dev/full"
fi
check "no standard output: fails" bash -c "! '$program' pca keep.hdr closed.hdr >&- 2>err.txt"
check "no standard output: says so" grep -q 'standard output: writing to it failed' err.txt
check "no standard output: the components are as with one" cmp closed.img linked.img
check "--threads 100000: runs" run pca keep.hdr many.hdr --threads 100000
check "--threads 100000: says so" grep -q -- '--threads: 100000 are too many' err.txt
check "--threads 100000: the same components" cmp many.img linked.img

echo "== a scene"
check "synthesise" good synthesise scene.hdr
check "the same seed, the same scene" good synthesise again.hdr --seed 1
check "the same seed, the same bytes" cmp scene.img again.img
check "another seed" good synthesise other.hdr --seed 2
check "another seed, another scene" bash -c '! cmp -s scene.img other.img'
for i in bil bip; do check "synthesise $i" good synthesise scene_$i.hdr --interleave $i; done
for t in u8 i16 f64; do check "synthesise $t" good synthesise scene_$t.hdr --type $t; done
check "the truth marks 3 x 2 pixels a target" awk -v m="$(band scene_truth 1 | cut -d' ' -f2)" \
    'BEGIN { n = m * 160 * 120; exit !(n > 5.5 && n < 36.5) }'
dd if=scene.img of=swapped.img conv=swab 2>/dev/null; sed 's/^byte order.*/byte order = 1/' scene.hdr >swapped.hdr

echo "== principal components"
# Two equal bands, 0 2 4 6: variance 5 each, so the eigenvalues are 10 and 0 and the first component is sqrt(2) (x - 3).
printf '\000\002\004\006\000\002\004\006' >line.img; header line 2 2 2 1 bsq 0
check "a line in the plane" good pca line.hdr line_pc.hdr --precise --report line.csv
check "its first eigenvalue" near "$(cell 2 2 line.csv)" 10 1e-6
check "its second eigenvalue" near "$(cell 3 2 line.csv)" 0 1e-6
check "the first explains all" near "$(cell 2 4 line.csv)" 1 1e-6
check "its first component" is "$(band line_pc 1 | cut -d' ' -f1,3)" "-4.24264 4.24264"
check "--correlation" good pca line.hdr line_pc.hdr --correlation --components 1 --report line.csv
check "--correlation: the eigenvalue is 2" near "$(cell 2 2 line.csv)" 2 1e-6
check "--bands 2: the variance of one" good pca line.hdr line_pc.hdr --bands 2 --report line.csv
check "--bands 2: its value" near "$(cell 2 2 line.csv)" 5 1e-6

base="--components 5 --rescale 0,255 --type u8"
check "pca of the scene" good pca scene.hdr pc.hdr $base --report pc.csv
check "the output has 5 bands" grep -q '^bands = 5$' pc.hdr
check "the last line has seconds, components and pixels" grep -q '^seconds=[0-9.]* .*components=5 pixels=19200$' out.txt
for b in 1 2 3 4 5; do check "rescaled: component $b fills 0..255" is "$(band pc $b | cut -d' ' -f1,3)" "0 255"; done
check "the report: cumulative variance ascends to at most 1" awk -F, '
    NR > 1 { if ($4 < last || $2 > before && NR > 2) bad = 1; last = $4; before = $2 }
    END { exit bad || last > 1.0000001 || NR < 6 }' pc.csv
same() { # same NAME INPUT OPTIONS...: like pc, to one grey value
    check "$1: runs" good pca "$2" same.hdr $base "${@:3}"
    check "$1: the same components" bytes_within pc.img same.img 1
}
same "bil" scene_bil.hdr
same "bip" scene_bip.hdr
same "the other byte order" swapped.hdr
# The scene in the other types: what all components give back.
for t in i16 i32 u32 f32 f64; do
    check "the scene as $t" good denoise scene.hdr as_$t.hdr --components 100 --precise --type $t
    [[ $t = f* ]] || same "$t" as_$t.hdr
done
for t in f32 f64; do
    check "$t: runs" run pca as_$t.hdr same.hdr $base
    check "$t: a range that begins with the missing value leaves it out" is "$(band same 1 | cut -d' ' -f1,3,4)" "1 255 0"
    check "$t: the same components" bytes_within pc.img same.img 1
done
for i in scene scene_bil scene_bip swapped; do
    for l in 1 7 120 1000; do same "$i, --block $l" $i.hdr --block $l; done
done
same "one thread" scene.hdr --threads 1
check "one thread: the same bytes" cmp pc.img same.img
for p in "auto" "always" "never" ""; do same "--precise $p" scene.hdr --precise $p; done
check "--precise: the default here" cmp pc.img same.img
fails "--precise=perhaps" 2 "none of auto.always.never" pca scene.hdr bad.hdr --precise=perhaps
for i in bil bip; do
    check "output $i, --block 7" good pca scene.hdr same.hdr $base --interleave $i --block 7
    check "output $i: band 2" is "$(band same 2 | cut -d' ' -f1,3,4)" "$(band pc 2 | cut -d' ' -f1,3,4)"
done
for t in i16 i32 u32 u16; do
    check "output $t" good pca scene.hdr same.hdr --components 5 --rescale 0,255 --precise --type $t
    check "output $t: band 3" is "$(band same 3)" "$(band pc 3)"
done
check "--variance" good pca scene.hdr same.hdr --variance 0.99
k=$(value_of components)
check "--variance keeps as few as suffice" awk -F, -v k="$k" '
    NR == k { before = $4 } NR == k + 1 { exit !($4 >= 0.99 && (k == 1 || before < 0.99)) }' pc.csv
check "--bbl" good pca scene.hdr bbl.hdr --bbl --components 3
check "--bbl as a list" good pca scene.hdr list.hdr --bands 1-45,51-66,75-100 --components 3
check "--bbl drops what the header says" cmp bbl.img list.img
check "a quick look" good pca scene.hdr same.hdr --components 3 --quicklook look.ppm
check "a quick look: its size" is "$(head -n 2 look.ppm | tail -n 1)" "160 120"
check "a grey quick look of one component" good pca scene.hdr same.hdr --components 1 --quicklook look.pgm
check "mnf" good mnf scene.hdr mnf.hdr --bbl --components 6 --report mnf.csv
check "mnf: signal to noise falls from above 10" awk -F, '
    NR == 2 { first = $2 } NR > 2 && $2 > before { bad = 1 } { before = $2 } END { exit bad || first < 11 }' mnf.csv

echo "== noise"
for n in right lower diagonal mean; do
    check "noise of $n neighbours" good mnf scene.hdr n.hdr --bbl --components 4 --noise $n --type f64 --save n.model --npy n
    check "noise of $n neighbours, in blocks" good mnf scene_bil.hdr same.hdr --bbl --components 4 --noise $n --type f64 --block 7
    check "noise of $n neighbours: the model is applied" good apply n.model scene.hdr back.hdr --type f64
    check "noise of $n neighbours: the same" cmp back.img n.img
    check "its covariance, given: runs" good mnf scene.hdr same.hdr --bbl --components 4 --noise-covariance n_noise.npy --type f64
    check "its covariance, given: the same" cmp same.img n.img
done
find_python numpy
if [ -n "$python" ]; then
    # The last one, as numpy itself writes it in the other orders of bytes and of axes, and in other versions of the format.
    "$python" -c '
import numpy
a = numpy.load("n_noise.npy"); numpy.save("big.npy", a.astype(">f8")); numpy.save("rows.npy", numpy.ascontiguousarray(a))
for v in 2, 3:
    with open("version%d.npy" % v, "wb") as f: numpy.lib.format.write_array(f, a, version=(v, 0))'
    for n in big rows version2 version3; do
        check "numpy's own file, $n: is read" good mnf scene.hdr same.hdr --bbl --components 4 --noise-covariance $n.npy --type f64
        check "numpy's own file, $n: the same" cmp same.img n.img
    done
fi
check "noise of right neighbours is the default" good mnf scene.hdr same.hdr --bbl --components 4 --type f64
check "noise of right neighbours, named" run mnf scene.hdr n.hdr --bbl --components 4 --noise right --type f64
check "noise of right neighbours is the default: the same" cmp same.img n.img
check "the residual's noise" good mnf scene.hdr n.hdr --bbl --components 4 --noise mean --noise-residual
check "the residual's noise of every second pixel" good mnf scene.hdr n.hdr --bbl --components 4 --noise diagonal --noise-residual --fit-step 2
check "denoise with such noise" good denoise scene.hdr n.hdr --bbl --components 4 --mnf --noise lower
check "--snr cuts" good mnf scene.hdr n.hdr --bbl --snr 10
check "--snr cuts: all are above" awk '/components, signal to noise/ { exit !($NF >= 10) }' out.txt
check "denoise by --snr" good denoise scene.hdr same.hdr --bbl --snr 10 --mnf
# A dark cube: noise alone, of the same bands but another size.
good synthesise dark.hdr --noise 0.01 --samples 50 --lines 40 --seed 9
check "noise from a dark cube" good mnf scene.hdr n.hdr --bbl --components 4 --noise-from dark.hdr
printf '2,0\n0,8\n' >two.csv; printf '1,2\n3,4\n' >skewed.csv; printf '1,2,3\n' >three.csv; printf '1,x\n' >word.csv; printf '0 0\n0 0\n' >none.csv
printf '\223NUMPY\001\000' >short.npy; printf '\223NUMPY\001\000\071\000{"descr": "<i4", "fortran_order": False, "shape": (1, 1)}\000\000\000\000' >whole.npy
printf '\223NUMPY\001\000\020\000{"descr": "<f4"}' >half.npy; : >void.csv
check "a covariance in a table" good mnf scene.hdr n.hdr --bands 3,7 --noise-covariance two.csv
cp n.img two.img
{ printf '\357\273\277# by hand\n'; printf '2,0;0\r\n0;8,0;\r\n;;\r\n'; } >excel.csv; printf ' 2  0\n 0  8\n' >blanks.csv; printf '2\t0\t0\t8' >tabs.csv
for i in excel blanks tabs; do
    check "a covariance in a table: $i" good mnf scene.hdr n.hdr --bands 3,7 --noise-covariance $i.csv
    check "a covariance in a table: $i: the same" cmp n.img two.img
done
rm n.img
check "a covariance in a table, through a pipe" good mnf scene.hdr n.hdr --bands 3,7 --noise-covariance <(cat two.csv)
check "a covariance in a table, through a pipe: the same" cmp n.img two.img
check "a covariance in a .npy" good mnf scene.hdr n.hdr --bbl --components 4 --noise-covariance n_noise.npy
cp n.img npy.img; rm n.img
check "a covariance in a .npy, through a pipe" good mnf scene.hdr n.hdr --bbl --components 4 --noise-covariance <(cat n_noise.npy)
check "a covariance in a .npy, through a pipe: the same" cmp n.img npy.img
fails "a neighbour that is none" 2 "--noise: left is unknown" mnf scene.hdr bad.hdr --noise left
check "the cube as its own dark cube" good mnf scene.hdr n.hdr --bands 9,30,60 --noise-from scene.hdr --report n.csv
check "the cube as its own dark cube: as much signal as noise" awk -F, 'NR > 1 && ($2 - 1 > 1e-9 || 1 - $2 > 1e-9) { bad = 1 }
    END { exit bad || NR != 4 }' n.csv
fails "noise twice" 2 "--noise-covariance: --noise-from says already" mnf scene.hdr bad.hdr --noise-from dark.hdr --noise-covariance two.csv
fails "neighbours of a dark cube" 2 "--noise: --noise-from says already" mnf scene.hdr bad.hdr --noise-from dark.hdr --noise lower
fails "residuals of a known covariance" 2 "--noise-residual: --noise-covariance says already" mnf scene.hdr bad.hdr --noise-covariance two.csv --noise-residual
fails "noise without --mnf" 2 "--noise: needs --mnf" denoise scene.hdr bad.hdr --components 2 --noise lower
fails "--snr without --mnf" 2 "--snr: needs --mnf" denoise scene.hdr bad.hdr --snr 2
fails "--snr and --components" 2 "--snr: --components says already" mnf scene.hdr bad.hdr --snr 2 --components 2
good synthesise seven.hdr --bands 7 --samples 20 --lines 20
fails "a dark cube of other bands" 1 "seven.hdr: bands: 7, but scene.hdr has 100" mnf scene.hdr bad.hdr --noise-from seven.hdr
fails "a dark cube that is nowhere" 1 "nowhere" mnf scene.hdr bad.hdr --noise-from nowhere.hdr
# --nodata and --gains hold for the dark cube, too.
{ printf '\377\377'; tail -c +3 dark.img; } >gap_dark.img; cp gap_dark.img told_dark.img
cp dark.hdr gap_dark.hdr; sed '$a data ignore value = 65535' dark.hdr >told_dark.hdr
check "a dark cube that lacks a pixel: runs" run mnf scene.hdr told.hdr --noise-from told_dark.hdr --components 3 --bbl --report told.csv
check "a dark cube that lacks a pixel: --nodata" run mnf scene.hdr n.hdr --noise-from gap_dark.hdr --components 3 --bbl --nodata 65535 --report n.csv
check "a dark cube that lacks a pixel: the same" cmp told.csv n.csv
check "a dark cube that lacks a pixel: not as if it were valid" bash -c "'$program' mnf scene.hdr n.hdr --noise-from gap_dark.hdr --components 3 --bbl --report n.csv && ! cmp told.csv n.csv"
scaled="data gain values = {$(seq 100 | awk '{ print s 2; s = "," }' | tr -d '\n')}"
for i in scene dark; do cp $i.img scaled_$i.img; sed "\$a $scaled" $i.hdr >scaled_$i.hdr; done
check "a dark cube with --gains: runs" run mnf scaled_scene.hdr same.hdr --gains --noise-from scaled_dark.hdr --components 3
check "a dark cube with --gains: without" run mnf scene.hdr n.hdr --noise-from dark.hdr --components 3
check "a dark cube with --gains: components of as much noise" near "$(band same 1 | cut -d' ' -f3)" "$(band n 1 | cut -d' ' -f3)" 1e-3
fails "a dark cube without gains" 1 "dark.hdr: data gain values: the key is missing" mnf scaled_scene.hdr bad.hdr --gains --noise-from dark.hdr
rm told.* gap_dark.* told_dark.* scaled_*
fails "the output over the dark cube" 2 "would replace the input" mnf scene.hdr dark.hdr --noise-from dark.hdr
fails "the output over the covariance" 2 "would replace the input" mnf scene.hdr bad.hdr --bands 3,7 --noise-covariance two.csv --report two.csv
fails "a covariance of other bands" 1 "two.csv: --noise-covariance: 2 x 2, but 100 bands of scene.hdr are in use" mnf scene.hdr bad.hdr --noise-covariance two.csv
fails "no square" 1 "three.csv: --noise-covariance: 3 numbers are no matrix" mnf scene.hdr bad.hdr --noise-covariance three.csv
fails "no numbers" 1 "void.csv: --noise-covariance: 0 numbers" mnf scene.hdr bad.hdr --noise-covariance void.csv
fails "a word in it" 1 "word.csv: --noise-covariance: number 2: 'x" mnf scene.hdr bad.hdr --noise-covariance word.csv
fails "not symmetric" 1 "skewed.csv: --noise-covariance: row 1, column 2" mnf scene.hdr bad.hdr --bands 3,7 --noise-covariance skewed.csv
fails "no noise at all" 1 "components: more than" mnf scene.hdr bad.hdr --bands 3,7 --noise-covariance none.csv
fails "a .npy cut short" 1 "short.npy: --noise-covariance: it is truncated" mnf scene.hdr bad.hdr --noise-covariance short.npy
fails "a .npy of integers" 1 "whole.npy: descr: not of floats" mnf scene.hdr bad.hdr --noise-covariance whole.npy
fails "a .npy without a shape" 1 "half.npy: --noise-covariance: npy: the header is damaged" mnf scene.hdr bad.hdr --noise-covariance half.npy
fails "a covariance that is nowhere" 1 "nowhere.csv: cannot read it" mnf scene.hdr bad.hdr --noise-covariance nowhere.csv
# Too few neighbours: which ones were asked, of which part of the file, and what would help.
few="none has a valid right neighbour; --noise lower has 119$" many="none has a valid lower neighbour; --noise right has 159$"
fails "one sample" 1 "scene.hdr: --noise right (the default): of 120 valid pixels within --window 0,0,1,120 $few" \
    mnf scene.hdr bad.hdr --window 0,0,1,120
fails "one sample, in blocks" 1 "$few" mnf scene.hdr bad.hdr --window 0,0,1,120 --block 7
fails "one sample, mean" 1 "--noise mean: .*$few" mnf scene.hdr bad.hdr --window 0,0,1,120 --noise mean
fails "one line" 1 "--noise lower: of 160 valid pixels within --window 0,3,160,1 $many" \
    mnf scene.hdr bad.hdr --window 0,3,160,1 --noise lower
fails "one line, mean" 1 "--noise mean: .*$many" mnf scene.hdr bad.hdr --window 0,0,160,1 --noise mean
fails "one line, diagonal" 1 "none has a valid diagonal neighbour; --noise right has 159$" \
    mnf scene.hdr bad.hdr --window 0,3,160,1 --noise diagonal
fails "one pixel" 1 "none has a valid right neighbour; --noise-from or --noise-covariance says" \
    mnf scene.hdr bad.hdr --window 4,4,1,1
fails "a region of one sample" 1 "within --roi 3,3,1,100 none has a valid right neighbour; --noise lower has 99$" \
    denoise scene.hdr bad.hdr --mnf --components 3 --roi 3,3,1,100
# A chessboard has diagonal neighbours alone; every other sample has lower ones.
awk 'BEGIN { for (i = 0; i < 160 * 120; i++) printf "%s", (int(i / 160) + i) % 2 ? "\\001" : "\\000" }' >chess.txt
printf "$(cat chess.txt)" >chess.img; header chess 160 120 1 1 bsq 0
fails "a chessboard" 1 "of 9600 valid pixels within --mask chess.hdr none .* right neighbour; --noise diagonal has 9460$" \
    mnf scene.hdr bad.hdr --mask chess.hdr
check "a chessboard: what is advised works" good mnf scene.hdr same.hdr --mask chess.hdr --noise diagonal --components 3
fails "every 1000th pixel" 1 "the pairs of neighbours within --fit-step 1000 tell noise in 0" \
    mnf scene.hdr bad.hdr --fit-step 1000
fails "two pixels" 1 "the pairs of neighbours within --window 0,0,2,1 tell noise in 0 dimensions, and 1 components ask" \
    mnf scene.hdr bad.hdr --window 0,0,2,1
fails "more components than pairs" 1 "tell noise in 18 dimensions, and 20 components ask for more; --noise lower has 36$" \
    mnf scene.hdr bad.hdr --window 0,0,2,19 --components 20

echo "== missing pixels"
sed '$a data ignore value = 5000' scene_i16.hdr >holes.hdr
{ printf '\210\023'; tail -c +3 scene_i16.img; } >holes.img # the first value becomes 5000
check "a hole" good pca holes.hdr holes_pc.hdr --components 2 --block 16
holes=$(band holes_pc 1 | cut -d' ' -f4)
check "a hole: missing in every output" is "$(band holes_pc 2 | cut -d' ' -f4)" "$holes"
check "a hole: one at least" test "$holes" -ge 1
check "a hole: the pixels add up" is "$(value_of pixels)" "$((160 * 120 - holes))"
check "a hole: its value is in the header" grep -q '^data ignore value = 5000$' holes_pc.hdr
check "NaN: runs" good pca nan.hdr nan_pc.hdr
check "NaN: two missing" is "$(band nan_pc 1 | cut -d' ' -f4)" 2
printf '\007\007\007\007' >empty.img; header empty 2 2 1 1 bsq 0 'data ignore value = 7'
for m in pca mnf rx "denoise --components 1" "ica --components 1"; do
    fails "$m: nothing but missing values" 1 "empty.hdr: pixels: too few valid pixels: every value of band 1 is missing; --bands" \
        $m empty.hdr bad.hdr
done
# Six bands of two pixels; the third, fifth and sixth have nothing.
printf '\001\002\001\003\007\007\003\001\007\007\007\007' >gaps.img; header gaps 2 1 6 1 bsq 0 'data ignore value = 7' 'bbl = {1,1,0,1,0,0}'
gaps="too few valid pixels: every value of bands 3,5-6 is missing; --bands or --bbl leave bands out"
fails "some bands missing" 1 "gaps.hdr: pixels: $gaps" pca gaps.hdr bad.hdr
fails "some bands missing, in blocks" 1 "gaps.hdr: pixels: $gaps" mnf gaps.hdr bad.hdr --block 1
fails "some bands missing, of those in use" 1 "every value of bands 6,3 is missing; --bands or" pca gaps.hdr bad.hdr --bands 6,1,3
check "--bbl leaves them out" good pca gaps.hdr gaps_pc.hdr --bbl
printf '\007\002\001\007' >gaps2.img; header gaps2 2 1 2 1 bsq 0 'data ignore value = 7'
fails "every pixel misses some band" 1 "each misses some band, band 1 1 of 2 times; --bands or --bbl" pca gaps2.hdr bad.hdr

echo "== what outputs cannot hold"
# Bytes 0 .. 250 through one component, which is all of it: mean 100, so -100 .. 150.
printf '\000\005\140\227\372' >wide.img; header wide 5 1 1 1 bsq 0
check "clamped: runs" run denoise wide.hdr lost.hdr --components 1 --precise --type i16
check "nothing lost: nothing said" test ! -s err.txt
printf '\000\000\310\102\000\000\226\103\000\000\240\301\000\140\152\106\000\000\200\077' >wide.img # 100 300 -20 15000 1
header wide 5 1 1 4 bsq 0
lost() { # lost NAME PATTERN RESULT ARGUMENTS...
    check "$1: runs" run denoise wide.hdr lost.hdr --components 1 --precise "${@:4}"
    check "$1: says so" grep -q -- "lost.hdr: $2" err.txt
    check "$1: the values" is "$(band lost 1)" "$3"
}
lost "two above, one below u8" "3 values do not fit u8 and were clamped to 0..255; --rescale" "1 152.75 255 1" --type u8
check "what is clamped to the missing value counts there too" grep -q '1 valid values became 0, which also marks missing' err.txt
lost "one below u16" "1 values do not fit u16" "1 3850.25 15000 1" --type u16
lost "streamed" "1 values do not fit u32" "1 3850.25 15000 1" --type u32 --block 1 --interleave bip
sed -i '$a data ignore value = 300' wide.hdr
# stretched RANGE NODATA MIN MAX ARGUMENTS...: valid pixels fill the range but for the value that marks missing ones
stretched() {
    check "stretched to $1: runs" run denoise wide.hdr lost.hdr --components 1 --precise --rescale="$1" "${@:5}"
    check "stretched to $1: what marks missing pixels" grep -q "^data ignore value = $2\$" lost.hdr
    check "stretched to $1: one pixel is missing" is "$(band lost 1 | cut -d' ' -f1,3,4)" "$3 $4 1"
    check "stretched to $1: nothing is said" test ! -s err.txt
}
stretched 0,300 300 0 299 --type i16
stretched 0,200 300 0 200 --type i16
stretched 300,400 300 301 400 --type i16
stretched -1000,1000 -32768 -1000 1000 --type i16
stretched -32768,32767 -32768 -32767 32767 --type i16
header wide 5 1 1 4 bsq 0 "data ignore value = 1"
stretched 0,255 0 1 255 --type u8
stretched 0,255 65535 0 255 --type u16
stretched 0,255 nan 0 255 --type f32
# Shares of exactly 0 and 1 are no missing pixels where these are 0 or 1 in the cube: of 4 pixels one is missing.
printf '\012\000\024\024\024\000\012\036' >few.img
for v in 0 1; do
    [ "$v" = 1 ] && printf '\012\001\024\024\024\001\012\036' >few.img
    header few 4 1 2 1 bsq 0 "data ignore value = $v"
    printf 'a,b\n10,20\n20,10\n' >few.csv
    for o in "unmix --endmembers few.csv" "unmix --endmembers few.csv --constraint scaled" "detect --method osp --target 0,0" \
        "convert --range auto --type f32" "pca --rescale 0,255" "rx --rescale 0,1 --type f64"; do
        # shellcheck disable=SC2086 # words
        check "${o%% *} ${o#* }, $v is missing: runs" run ${o%% *} few.hdr lost.hdr ${o#* }
        check "${o%% *} ${o#* }, $v is missing: one pixel of the output" is "$(band lost 1 | cut -d' ' -f4)" 1
    done
done
# As many dimensions as pixels less one: every pixel is as far from the mean as each other one.
check "rx of few pixels: runs" run rx few.hdr lost.hdr --precise
check "rx of few pixels: it is said" grep -q 'few.hdr: 3 pixels in 2 dimensions: all scores are alike' err.txt
printf '\001\002\001\001' >few_class.img; header few_class 4 1 1 1 bsq 0 "file type = ENVI Classification" "classes = 3"
check "rx of few pixels of a class: runs" run rx few.hdr lost.hdr --precise --class few_class.hdr
check "rx of few pixels of a class: it is said" grep -q 'few_class.hdr: class 1: 3 pixels in . dimensions*: all scores are alike' err.txt
check "classes stay classes: runs" good convert few_class.hdr same.hdr --interleave bip
check "classes stay classes" grep -qx 'file type = ENVI Classification' same.hdr
check "classes as floats: runs" good convert few_class.hdr same.hdr --type f32 --range 0,1
check "classes as floats are none" grep -qx 'file type = ENVI Standard' same.hdr
check "classes as floats, their values as they are: runs" good convert few_class.hdr same.hdr --type f32
check "classes as floats, their values as they are, are none" grep -qx 'file type = ENVI Standard' same.hdr
{ cat few_class.hdr; printf 'classes = 2\nclass names = {none, some}\nclass lookup = {0, 0, 0, 9, 9, 9}\n'; } >named.hdr; cp few_class.img named.img
for t in f32 "f32 --range 0,1" u16; do
    # shellcheck disable=SC2086 # several words
    check "named classes, --type $t: runs" good convert named.hdr same.hdr --type $t
    names=3; [ "$t" = u16 ] || names=0
    check "named classes, --type $t: their names" bash -c "grep -c '^class' same.hdr | grep -qx $names"
done
check "classes as longer whole numbers: runs" good convert few_class.hdr same.hdr --type u16
check "classes as longer whole numbers stay classes" grep -qx 'file type = ENVI Classification' same.hdr
header wide 5 1 1 4 bsq 0
# Values that are too small for whole numbers. 0.25 0.5 -0.25 0.75, 0.25 with 3 5 7, and 30 on a dark background.
printf '\000\000\200\076\000\000\000\077\000\000\200\276\000\000\100\077' >small.img; header small 4 1 1 4 bsq 0 "data ignore value = -9999"
printf '\000\000\200\076\000\000\100\100\000\000\240\100\000\000\340\100' >mixed.img; header mixed 4 1 1 4 bsq 0 "data ignore value = -9999"
printf '\000\000\200\076\000\000\000\077\000\000\200\276\000\000\360\101' >dark.img; header dark 4 1 1 4 bsq 0 "data ignore value = -9999"
# rounded KEEPS MODE ARGUMENTS...: it is said of small values, and not where what is lost is small beside one of four
rounded() {
    check "small values, $2: runs" run "$2" small.hdr lost.hdr "${@:3}" --type i16
    check "small values, $2: it is said" grep -q -- "lost.hdr: band 1: values became whole numbers, which changed them by 68 % of their root mean square; $1 " err.txt
    check "one small value of four, $2" good "$2" mixed.hdr same.hdr "${@:3}" --type i16
    check "three small values of four, $2" good "$2" dark.hdr same.hdr "${@:3}" --type i16
}
rounded --range convert
rounded --rescale denoise --components 1 --precise
rounded "--type f32" index --index "#1"
# Bands of 250 values: 0.25; 0.25 with two of 30000; 0.25 with ten; 3; 0 with two of 0.25.
repeated() { for _ in $(seq "$1"); do printf "%s" "$2"; done; }
quarter='\000\000\200\076' large='\000\140\352\106' three='\000\000\100\100' zero='\000\000\000\000'
many() { # many BAND...: pairs of numbers and values
    while [ $# -gt 0 ]; do
        # shellcheck disable=SC2059 # escapes
        printf "$(repeated "$1" "$2")"
        shift 2
    done
}
{ many 250 "$quarter"; many 248 "$quarter" 2 "$large"; many 240 "$quarter" 10 "$large"; many 250 "$three"; many 248 "$zero" 2 "$quarter"; } >many.img
header many 250 1 5 4 bsq 0 "data ignore value = -9999"
{ head -c 3000 many.img; many 250 "$three" 250 "$large"; } >turned.img; cp many.hdr turned.hdr
printf 'band,gain\n1,1\n2,1\n3,1\n4,1\n5,1\n' >ones.csv
for i in bsq bil bip; do
    check "few large values among small ones, $i: runs" run convert many.hdr lost.hdr --type i16 --interleave $i
    check "few large values among small ones, $i: the bands are named" grep -q "lost.hdr: bands 1-2,5: values became whole numbers, which changed them by up to 100 % of their root mean square; --range" err.txt
    check "few large values among small ones, $i: some bands" run convert many.hdr lost.hdr --type i16 --interleave $i --bands 4,1,3
    check "few large values among small ones, $i: the output's band" grep -q "lost.hdr: band 2: values became" err.txt
    check "many large values among small ones, $i" good convert many.hdr same.hdr --type i16 --interleave $i --bands 3-4
    check "few large values among small ones, correct, $i: runs" run correct many.hdr byones.hdr --method gains --table ones.csv --type i16 --interleave $i
    check "few large values among small ones, correct, $i: the bands are named" grep -q "byones.hdr: bands 1-2,5: .*; --type f32 keeps" err.txt
    check "few large values among small ones, correct, $i: its values" bash -c "'$program' convert many.hdr lost.hdr --type i16 --interleave $i; cmp lost.img byones.img"
done
# Angles between spectra are of the size of 1, their differences are not.
check "angles as integers: runs" run compare many.hdr turned.hdr lost.hdr --type i16 --bands 4-5
check "angles as integers: it is said" grep -q "lost.hdr: band 2: values became whole numbers.*; --type f32 keeps" err.txt
check "no angles as integers: nothing of rounding" bash -c "'$program' compare many.hdr many.hdr lost.hdr --type i16 --bands 4 2>&1 | grep -c whole | grep -qx 0"
# Results of the size of 1; a mask and a multiple of an index are whole numbers.
fails "independent components as integers" 2 "--type: components have a variance of 1: i16 needs --rescale 0,32767" ica scene.hdr bad.hdr --bbl --components 2 --type i16
for m in iarr logres "flat --region 0,0,2,2"; do
    # shellcheck disable=SC2086 # several words
    fails "$m as integers" 2 "--type: relative reflectances are .*: f32 or f64 .* convert --type i16 --range" correct scene.hdr bad.hdr --bbl --method $m --type i16
done
fails "shares of a continuum as integers" 2 "--type: shares of the continuum are 1 at most" spectra scene.hdr bad.hdr --bbl --continuum divide --type u8
fails "a named index as integers" 2 "--type: named indices are of the size of 1" index scene.hdr bad.hdr --index NDVI --type i16
check "a mask of a named index" good index scene.hdr same.hdr --index NDVI --above 0.2 --type i16
check "a multiple of an index" good index scene.hdr same.hdr --index "10000*b860/(b860+b650)" --type i16
check "rx into integers: runs" run rx wide.hdr lost.hdr --precise --type u8
check "rx into integers: zeros are said" grep -q '4 valid values became 0, which also marks' err.txt
find_python numpy
if [ -n "$python" ]; then
    # What 0.4.. and 0.5.. become, against numpy; and values by the thousand.
    "$python" -c '
import numpy
a = numpy.random.default_rng(3).normal(scale=200, size=(7, 50, 40)); a[0, 0, :4] = 0.5, -0.5, 254.5, 255.49
a[2, 3, 4] = numpy.nan; a.tofile("many.img"); numpy.save("many.npy", a)'
    header many 40 50 7 5 bsq 0
    check "thousands: runs" run denoise many.hdr lost.hdr --components 7 --precise --type u8
    check "thousands: the counts and bytes are those of numpy" "$python" -c '
import numpy, re
a = numpy.load("many.npy"); valid = numpy.isfinite(a).all(axis=0); v = a[:, valid]
r = numpy.where(v < 0, numpy.ceil(v - 0.5), numpy.floor(v + 0.5)); c = numpy.clip(r, 0, 255)
said = open("err.txt").read()
near = (numpy.abs(v % 1 - 0.5) < 1e-9).sum()
assert abs(int(re.search(r"(\d+) values do not fit", said)[1]) - (r != c).sum()) <= near, said
assert abs(int(re.search(r"(\d+) valid values became 0", said)[1]) - (c == 0).sum()) <= near, said
got = numpy.fromfile("lost.img", "u1").reshape(a.shape)
assert (got[:, ~valid] == 0).all() and (got[:, valid] != c).sum() <= near'
else
    skip "numpy is not here"
fi
# 1e300: a double build takes it, a float build cannot, whatever the products are in.
printf '\234\165\000\210\074\344\067\176' >huge8
{ cat huge8; for v in '\360\077' '\000\100' '\010\100'; do printf "\\0\\0\\0\\0\\0\\0$v"; done; } >huge.img; rm huge8
header huge 4 1 1 5 bsq 0
for p in "" --precise "--block 1"; do
    run pca huge.hdr huge_pc.hdr $p
    if grep -q 'huge.hdr: 1 values are beyond 3.4e+38, the largest float: their pixels count as missing' err.txt; then
        check "1e300 $p: the others count" is "$(band huge_pc 1)" "-1 0 1 1"
    else
        check "1e300 $p: a double build says what overflows" grep -q 'NaN or infinity' err.txt
    fi
done
run info huge.hdr
check "1e300: info counts it where the rest does" bash -c "! grep -q beyond err.txt || grep -q ' 1 *1 *2 *3 *1$' out.txt"
sed -i '$a data ignore value = 1e300' huge.hdr
check "1e300 is the missing value" good pca huge.hdr huge_pc.hdr
check "1e300 is the missing value: the others count" is "$(band huge_pc 1)" "-1 0 1 1"
fails "--rescale beyond f32" 2 "--rescale: 0,1e300 is outside the range of f32" pca huge.hdr bad.hdr --rescale 0,1e300
check "--rescale beyond f32 into f64" good pca huge.hdr huge_pc.hdr --rescale=-1e30,1e30 --type f64

echo "== noise reduction"
check "all components: runs" good denoise scene.hdr whole.hdr --components 100 --type u16 --precise
check "all components give the cube back" cmp scene.img whole.img
check "few: runs" good denoise scene.hdr few.hdr --bbl --components 6 --block 10
check "few: info" good info few.hdr
check "few: keeps the wavelengths of the bands in use" is \
    "$(awk '$1 == 45 || $1 == 46 { print $2 }' out.txt | xargs)" "1333.3 1460.6"
check "few: 87 bands" grep -q '^bands = 87$' few.hdr
check "with mnf" good denoise scene.hdr few.hdr --bbl --components 6 --mnf

echo "== what a header says goes along"
# Six samples, five lines, four bands: value 40 b + 6 y + x; all that other programs write.
geo=$(awk 'BEGIN { for (b = 0; b < 4; b++) for (y = 0; y < 5; y++) for (x = 0; x < 6; x++) printf "\\%03o", 40 * b + 6 * y + x }')
# shellcheck disable=SC2059 # escapes
printf "$geo" >geo.img
header geo 6 5 4 1 bsq 0 'description = {a scene}' 'map info = {UTM, 1.000, 1.000, 500000.0, 4000000.5, 30.0, 20.0, 11, North, WGS-84, units=Meters}' \
    'coordinate system string = {PROJCS["WGS_1984_UTM_Zone_11N",GEOGCS["GCS_WGS_1984",UNIT["Degree",0.0174]],UNIT["Meter",1.0]]}' \
    'projection info = {3, 6378137.0, 6356752.3, 0.0}' 'x start = 11' 'y start = 21' 'pixel size = {30.0, 20.0, units=Meters}' \
    'sensor type = Some Sensor' 'acquisition time = 2020-01-02T03:04:05Z' 'geo points = {1.0, 1.0, 36.1, -117.2, 6.0, 5.0, 36.0, -117.1}' \
    'wavelength units = Nanometers' 'wavelength = {450.10, 550.20, 650.30, 2100.4}' 'fwhm = {9.1, 9.2, 9.3, 9.40}' 'bbl = {1, 1, 0, 1}' \
    'band names = {blue, green, red, swir}' 'default bands = {4, 2, 1}' 'data gain values = {0.1, 0.2, 0.3, 0.4}' \
    'data offset values = {1, 2, 3, 4}' 'reflectance scale factor = 200.0' 'cloud cover = 7' 'unknown list = {a, b, c, d}' 'history = {one, two}'
# says NAME LINE...: the header NAME has each of these lines; says_not: none that begins so
says() { local name=$1 line; shift; for line in "$@"; do grep -qxF -- "$line" "$name" || { echo "$line"; return 1; }; done; }
says_not() { local name=$1 line; shift; for line in "$@"; do ! grep -q -- "^$line = " "$name" || { echo "$line"; return 1; }; done; }
of_scene=('map info = {UTM, 1.000, 1.000, 500000.0, 4000000.5, 30.0, 20.0, 11, North, WGS-84, units=Meters}'
    'coordinate system string = {PROJCS["WGS_1984_UTM_Zone_11N",GEOGCS["GCS_WGS_1984",UNIT["Degree",0.0174]],UNIT["Meter",1.0]]}'
    'projection info = {3, 6378137.0, 6356752.3, 0.0}' 'x start = 11' 'y start = 21' 'pixel size = {30.0, 20.0, units=Meters}'
    'sensor type = Some Sensor' 'acquisition time = 2020-01-02T03:04:05Z' 'geo points = {1.0, 1.0, 36.1, -117.2, 6.0, 5.0, 36.0, -117.1}'
    'cloud cover = 7' 'history = {one, two}')
of_bands=(wavelength 'wavelength units' fwhm bbl 'default bands' 'data gain values' 'data offset values' 'reflectance scale factor' 'unknown list')
awk 'BEGIN { for (s = i = 1; i <= 120; i++) { s = s * 75 % 65537; printf "%c", 33 + s % 90 } }' >odds.img; cp geo.hdr odds.hdr
for m in pca mnf rx "ica --components 1"; do
    check "$m: runs" run $m odds.hdr same.hdr
    check "$m: what is said of the scene" says same.hdr "${of_scene[@]}"
    check "$m: not what is said of the bands" says_not same.hdr "${of_bands[@]}"
    check "$m: the description" grep -q '^description = {.* of odds.hdr: a scene}$' same.hdr
    check "$m: no key twice" test -z "$(sed -n 's/ = .*//p' same.hdr | sort | uniq -d)"
done
check "denoise: runs" good denoise geo.hdr same.hdr --components 1
check "denoise: what is said of the scene" says same.hdr "${of_scene[@]}"
check "denoise: what is said of the bands" says same.hdr 'wavelength = {450.10, 550.20, 650.30, 2100.4}' 'fwhm = {9.1, 9.2, 9.3, 9.40}' \
    'wavelength units = Nanometers' 'bbl = {1, 1, 0, 1}' 'default bands = {4, 2, 1}' 'reflectance scale factor = 200.0' '  swir}'
check "denoise of some bands: runs" good denoise geo.hdr same.hdr --components 1 --bands 4,1-2
check "denoise of some bands: their lists are cut" says same.hdr 'wavelength = {2100.4, 450.10, 550.20}' 'fwhm = {9.40, 9.1, 9.2}' 'bbl = {1, 1, 1}' \
    'band names = {' '  swir,' '  blue,' '  green}' 'default bands = {1, 3, 2}' 'data gain values = {0.4, 0.1, 0.2}' 'unknown list = {d, a, b}'
check "denoise without a band of the picture: runs" good denoise geo.hdr same.hdr --components 1 --bands 1,2
check "denoise without a band of the picture: nor is it named" says_not same.hdr 'default bands'
check "denoise, stretched: runs" good denoise geo.hdr same.hdr --components 1 --rescale 0,1
check "denoise, stretched: nothing is said of stored values" says_not same.hdr 'data gain values = {0.1' 'data offset values = {1,' 'reflectance scale factor'
check "denoise, stretched: the bands are still those" says same.hdr 'fwhm = {9.1, 9.2, 9.3, 9.40}'
check "info: the map" bash -c "'$program' info geo.hdr | grep -q '^map info  *UTM, 1.000'"
mv same.img once.img; mv same.hdr once.hdr
check "an output's header is read again" good pca once.hdr same.hdr
fails "an output that is no header, but another format" 2 "bad.tif: the name of a header ends in .hdr; gdal_translate" pca geo.hdr bad.tif

echo "== windows"
check "a window: runs" good denoise geo.hdr same.hdr --components 4 --precise --type u8 --window 2,1,3,2
check "a window: its size" says same.hdr 'samples = 3' 'lines = 2'
check "a window: its pixels" is "$(od -An -tu1 -v same.img | xargs)" \
    "8 9 10 14 15 16 48 49 50 54 55 56 88 89 90 94 95 96 128 129 130 134 135 136"
check "a window: its place" says same.hdr 'map info = {UTM, 1.000, 1.000, 500060, 3999980.5, 30.0, 20.0, 11, North, WGS-84, units=Meters}' \
    'x start = 13' 'y start = 22' 'geo points = {-1, 0, 36.1, -117.2, 4, 4, 36.0, -117.1}'
cp same.img window.img; cp same.hdr window.hdr
for i in bsq bil bip; do
    run denoise geo.hdr whole.hdr --components 4 --precise --type u8 --interleave $i
    for block in "" "--block 1" "--block 2"; do
        check "a window of $i $block: runs" good denoise whole.hdr same.hdr --components 4 --precise --type u8 --window 2,1,3,2 $block
        check "a window of $i $block: the same pixels" cmp same.img window.img
    done
    check "a window of whole lines of $i" good denoise whole.hdr lines.hdr --components 4 --precise --type u8 --window 0,3,6,1
    check "a window of whole lines of $i: its pixels" is "$(od -An -tu1 -v lines.img | xargs)" \
        "18 19 20 21 22 23 58 59 60 61 62 63 98 99 100 101 102 103 138 139 140 141 142 143"
done
for i in bsq bil bip; do
    check "a window with bytes around frames of $i" is "$(band f$i 3 --window 1,1,1,1)" "33 33 33 0"
    check "a window of whole lines with bytes around frames of $i" is "$(band f$i 3 --window 0,1,2,1)" "32 32.5 33 0"
done
sed 's/units=Meters}/units=Meters, rotation=30}/' geo.hdr >turned.hdr; cp geo.img turned.img
check "a window of a rotated scene: runs" good pca turned.hdr same.hdr --window 1,2,3,3
place() { sed -n 's/^map info = {\(.*\)}/\1/p' same.hdr | cut -d, -f"$1"; }
check "a window of a rotated scene: its easting" near "$(place 4)" "500055.980762113533" 1e-7
check "a window of a rotated scene: its northing" near "$(place 5)" "3999975.858983848622" 1e-7
for turn in 180 -180; do
    sed "s/units=Meters}/units=Meters, rotation=$turn}/" geo.hdr >turned.hdr
    check "a window of a scene with lines northwards, $turn: runs" good pca turned.hdr same.hdr --window 1,2,3,3
    check "a window of a scene with lines northwards, $turn" is "$(place 4,5)" " 500030, 4000040.5"
    [ -z "$(command -v gdal_translate)" ] && continue
    gdal_translate -q -of ENVI -srcwin 1 2 3 3 turned.img cut.img
    check "a window of a scene with lines northwards, $turn: as GDAL cuts it" is \
        "$(gdalinfo same.img | grep -A1 ^Origin)" "$(gdalinfo cut.img | grep -A1 ^Origin)"
done
# Braces within a value, in pairs on its line; on the next line one belongs to another key.
sed '$a coordinate system string = {PROJCS["zone {11} {N}",UNIT["Meter",1]]}' geo.hdr >braces.hdr; cp geo.img braces.img
check "braces within braces" good pca braces.hdr same.hdr
check "braces within braces: as they were" says same.hdr 'coordinate system string = {PROJCS["zone {11} {N}",UNIT["Meter",1]]}'
sed 's/^band names = .*/band names = {a {1}, b, {c}, d}/' geo.hdr >braces.hdr
check "braces within names" good denoise braces.hdr same.hdr --components 1
check "braces within names: parentheses" says same.hdr '  a (1),' '  b,' '  (c),' '  d}'
for v in 1,2,3 1,2,3,4,5 a,2,3,4 1,2,0,4 -1,2,3,4 1,2,3,4x 1.5,2,3,4; do
    fails "--window=$v" 2 "--window: '$v' is no window" pca geo.hdr bad.hdr --window=$v
done
fails "a window that is too wide" 2 "--window: 4,0,3,5 is not within the 6 x 5 pixels of geo.hdr" pca geo.hdr bad.hdr --window 4,0,3,5
fails "a window that is too far down" 2 "is not within" pca geo.hdr bad.hdr --window 0,5,1,1
fails "a window far away" 2 "is not within" pca geo.hdr bad.hdr --window 2147483647,0,2147483647,1

echo "== wavelengths and reflectance"
bands_of() { "$program" info "$@" 2>err.txt | awk 'seen { printf "%s ", $1 } $1 == "band" { seen = 1 }'; }
check "--wavelengths, two ranges" is "$(bands_of geo.hdr --wavelengths 400:500,2000:2500)" "1 4 "
check "--wavelengths, ends included" is "$(bands_of geo.hdr --wavelengths 550.2:650.3)" "2 3 "
check "--wavelengths and --bbl" is "$(bands_of geo.hdr --wavelengths 500:2500 --bbl)" "2 4 "
check "--wavelengths: a pca" good pca geo.hdr same.hdr --wavelengths 400:700
for v in 400 400:300 400: :400 400:500, a:b; do
    fails "--wavelengths $v" 2 "--wavelengths: '$v' is no list" pca geo.hdr bad.hdr --wavelengths "$v"
done
fails "--wavelengths where nothing is" 1 "geo.hdr: wavelength: no band is within 3000:4000" pca geo.hdr bad.hdr --wavelengths 3000:4000
fails "--wavelengths without any" 1 "bsq.hdr: wavelength: the key is missing" pca bsq.hdr bad.hdr --wavelengths 400:500
fails "--wavelengths and --bands" 2 "--wavelengths: --bands says already" pca geo.hdr bad.hdr --wavelengths 400:500 --bands 1
check "--reflectance" is "$("$program" info geo.hdr --reflectance --bands 3 | tail -n 1 | awk '{ print $3, $5 }')" "0.4 0.545"
check "--reflectance: runs" good denoise geo.hdr same.hdr --components 1 --reflectance --precise --block 2
check "--reflectance: the factor is used up" says same.hdr 'reflectance scale factor = 1'
check "--reflectance: so are gains" says_not same.hdr 'data gain values'
check "--reflectance: the values" is "$("$program" info same.hdr --bands 3 | tail -n 1 | awk '{ print $3, $5 }')" "0.4 0.545"
sed '$a data reflectance gain values = {1, 2, 3, 4}\ndata reflectance offset values = {0, 0, -1, 0}\ndata ignore value = 80' geo.hdr >gains.hdr; cp geo.img gains.img
check "--reflectance by gains and offsets" is "$("$program" info gains.hdr --reflectance --bands 3 | tail -n 1 | awk '{ print $3, $5, $6 }')" "242 326 1"
sed -i 's/^data ignore value.*/data ignore value = 1/' gains.hdr # as a stored value, not as a reflectance
check "--reflectance: what is stored is missing" is "$("$program" info gains.hdr --reflectance --bands 1 | tail -n 1 | awk '{ print $3, $5, $6 }')" "0 29 1"
fails "--reflectance without a factor" 1 "bsq.hdr: reflectance scale factor: the key is missing" pca bsq.hdr bad.hdr --reflectance
for v in 0 -1 abc nan; do
    sed "s/^reflectance scale.*/reflectance scale factor = $v/" geo.hdr >factor.hdr; cp geo.img factor.img
    fails "--reflectance: the factor is $v" 1 "factor.hdr: reflectance scale factor: '$v' is not" pca factor.hdr bad.hdr --reflectance
done

echo "== a fit to some pixels"
# Every second sample of every second line by itself: the same components.
header step 80 60 100 12 bil 0
good denoise scene_bil.hdr odd_lines.hdr --components 100 --type u16 --precise --interleave bip
find_python numpy
if [ -n "$python" ]; then
    $python -c 'import numpy; numpy.fromfile("odd_lines.img", "u2").reshape(120, 160, 100)[::2, ::2].transpose(0, 2, 1).tofile("step.img")'
    check "--fit-step 2: runs" good pca odd_lines.hdr same.hdr --components 5 --precise --fit-step 2 --report step1.csv
    check "--fit-step 2: all pixels are transformed" says same.hdr 'samples = 160'
    check "the pixels by themselves" good pca step.hdr same2.hdr --components 5 --precise --report step2.csv
    check "--fit-step 2: the same eigenvalues" awk -F, 'FNR > 1 { d = $2 - k[FNR]; e = 1e-6 * $2 }
        NR == FNR { k[FNR] = $2; next } FNR > 1 && (d > e || d < -e) { bad = 1 } END { exit bad || NR != 12 }' step1.csv step2.csv
else
    skip "numpy is not here"
fi
for m in "ica --components 3" "mnf --components 3" "denoise --components 3" "denoise --components 3 --mnf"; do
    check "$m --fit-step 3" run $m scene_bil.hdr same.hdr --bbl --fit-step 3 --block 7
    check "$m --fit-step 3: fewer pixels" test "$(value_of pixels)" -lt 19200 -a "$(value_of pixels)" -gt 2000
done

echo "== only these pixels"
# A mask of the scene, of three types: 1 where x + y is below 100, as text for awk and as a cube.
awk 'BEGIN { for (y = 0; y < 120; y++) for (x = 0; x < 160; x++) printf "%c", x + y < 100 ? 65 : 66 }' >half.ab
tr AB '\003\000' <half.ab >half.img; header half 160 120 1 1 bsq 0
tr AB '\001\002' <half.ab >classes.img; header classes 160 120 1 1 bsq 0 'file type = ENVI Classification'
half=$(tr -dc A <half.ab | wc -c)
check "--mask: runs" good pca scene_bil.hdr masked.hdr --bbl --components 4 --precise --mask half.hdr --report masked.csv
check "--mask: its pixels" is "$(value_of pixels)" "$half"
check "--mask: the others are missing" is "$(band masked 2 | cut -d' ' -f4)" $((19200 - half))
for how in "pca --components 2" "mnf --components 2" "ica --components 2" rx "rx --class classes.hdr"; do
    # shellcheck disable=SC2086 # words
    check "bytes of $how with a mask: runs" run ${how%% *} scene_bil.hdr same.hdr --bbl --mask half.hdr --rescale 0,255 --type u8 $(echo "$how " | cut -d' ' -f2-)
    check "bytes of $how with a mask: no valid pixel reads as missing" is "$(band same 1 | cut -d' ' -f1,3,4)" "1 255 $((19200 - half))"
done
for how in "--class classes.hdr --id 1" "--mask half.hdr --block 7" "--class classes.hdr --id 1 --mask half.hdr --exclude-zero"; do
    # shellcheck disable=SC2086 # several words
    check "$how: runs" good pca scene_bil.hdr same.hdr --bbl --components 4 --precise $how
    check "$how: the same pixels and components" cmp same.img masked.img
done
for how in "pca --bbl --components 3 --precise --class classes.hdr --id 1" "rx --bbl --mask half.hdr --roi 9,9,90,80" \
    "mnf --bbl --components 3 --mask half.hdr --fit-only --fit-step 2" "convert --roi 9,9,90,80 --type f32"; do
    # shellcheck disable=SC2086 # several words
    check "$how" run ${how%% *} scene_bil.hdr same.hdr ${how#* }
    # shellcheck disable=SC2086
    check "$how: marks that come block by block" run ${how%% *} scene_bil.hdr same2.hdr ${how#* } --block 7
    check "$how: the same pixels" cmp same.img same2.img
done
check "--class, the others: runs" good pca scene_bil.hdr same.hdr --bbl --components 4 --class classes.hdr --id 2
check "--class, the others: as many as are left" is "$(value_of pixels)" $((19200 - half))
check "--class 0: a class as others are" good pca scene_bil.hdr same.hdr --bbl --components 4 --class half.hdr --id 0
check "--fit-only: runs" good pca scene_bil.hdr same.hdr --bbl --components 4 --precise --mask half.hdr --fit-only --report same.csv
check "--fit-only: fitted to the same" cmp same.csv masked.csv
check "--fit-only: none is missing" is "$(band same 2 | cut -d' ' -f4)" 0
check "--roi: runs" good denoise geo.hdr same.hdr --components 4 --precise --type u8 --roi 2,1,3,2
check "--roi: its pixels, and 0 for the others" is "$(od -An -tu1 -v same.img | xargs | cut -d' ' -f1-30)" \
    "0 0 0 0 0 0 0 0 8 9 10 0 0 0 14 15 16 0 0 0 0 0 0 0 0 0 0 0 0 0"
check "--roi: what is missing is said" says same.hdr 'data ignore value = 0'
check "--roi in a window counts from the file" good denoise geo.hdr same2.hdr --components 4 --precise --type u8 --window 1,1,5,4 --roi 2,1,3,2
check "--roi in a window: its pixels" is "$(od -An -tu1 -v same2.img | xargs | cut -d' ' -f1-12)" "0 8 9 10 0 0 14 15 16 0 0 0"
check "a mask for a window, as large as the file" good pca scene_bil.hdr same.hdr --bbl --components 4 --mask half.hdr --window 0,0,50,40
check "a mask for a window, as large as that" bash -c "head -c 2000 half.img >small.img; sed 's/160/50/; s/lines = 120/lines = 40/' half.hdr >small.hdr
    '$program' pca scene_bil.hdr same2.hdr --bbl --components 4 --mask small.hdr --window 0,0,50,40"
check "info of a region" is "$("$program" info geo.hdr --roi 2,1,3,2 --bands 1 | tail -n 1 | awk '{ print $3, $4, $5 }')" "8 12 16"
check "--exclude-zero: runs" good pca geo.hdr same.hdr --exclude-zero --bands 1
check "--exclude-zero: the first pixel is 0" is "$(value_of pixels)" 29
check "--exclude-zero: in all bands" good pca geo.hdr same.hdr --exclude-zero
check "--exclude-zero: in all bands: none is" is "$(value_of pixels)" 30
printf '\000\000\001\002\003\004' >dn.img; header dn 3 1 2 1 bip 0 "data gain values = {1, 1}" "data offset values = {5, 5}" \
    "data reflectance gain values = {1, 1}" "data reflectance offset values = {5, 5}"
for o in --gains --reflectance; do
    check "--exclude-zero: zeros of the file, $o" is "$(band dn 1 $o --exclude-zero)" "6 7 8 0"
done
for m in "ica --components 3" mnf rx "denoise --components 3"; do
    # shellcheck disable=SC2086 # several words
    check "${m%% *} of masked pixels" run $m scene_bil.hdr same.hdr --bbl --mask half.hdr
    check "${m%% *} of masked pixels: as many" is "$(value_of pixels)" "$half"
done
fails "a mask of another size" 1 "u8.hdr: 4 x 1 pixels, but scene_bil.hdr has 160 x 120" pca scene_bil.hdr bad.hdr --mask u8.hdr
fails "a mask of three bands" 1 "bsq.hdr: bands: 3, but a mask has 1" pca scene_bil.hdr bad.hdr --mask bsq.hdr
fails "a mask that is not there" 1 "nowhere.hdr" pca scene_bil.hdr bad.hdr --mask nowhere.hdr
fails "a mask that is the output" 2 "the output would replace the input" pca scene_bil.hdr half.hdr --mask half.hdr
fails "a class without its number" 2 "--class: --id K says which" pca scene_bil.hdr bad.hdr --class classes.hdr
fails "a number without its class" 2 "--id: needs --class" pca scene_bil.hdr bad.hdr --id 1
fails "a class that is nowhere" 1 "scene_bil.hdr: pixels: none is left by --class classes.hdr --id 3$" \
    pca scene_bil.hdr bad.hdr --class classes.hdr --id 3
fails "nothing left" 1 "pixels: none is left by --mask half.hdr --roi 150,110,5,5$" \
    pca scene_bil.hdr bad.hdr --mask half.hdr --roi 150,110,5,5
fails "a region that is no such" 2 "--roi: '1,2' is no window" pca scene_bil.hdr bad.hdr --roi 1,2
fails "a region outside" 2 "--roi: 150,0,11,5 is not within" pca scene_bil.hdr bad.hdr --roi 150,0,11,5
fails "--fit-only without anything" 2 "--fit-only: needs" pca scene_bil.hdr bad.hdr --fit-only

echo "== models"
for m in "pca --components 5" "pca --components 5 --correlation" "mnf --components 5" "ica --components 4"; do
    # shellcheck disable=SC2086 # several words
    check "$m: saves what it fits" run $m scene.hdr model.hdr --bbl --precise --save "a.model" --npy a --stats a.csv
    check "$m: applied to the same cube" good apply a.model scene.hdr same.hdr
    check "$m: applied to the same cube: the same" cmp same.img model.img
    check "$m: its bands are found by wavelength" grep -q '^bands by wavelength: 87 of 100, off by 0 nm' out.txt
    check "$m: applied in blocks" good apply a.model scene_bil.hdr same.hdr --block 7
    check "$m: applied in blocks: the same" cmp same.img model.img
    check "$m: its bands first" good apply a.model scene.hdr same.hdr --bbl --type f64 --interleave bip
    check "$m: the way back" good inverse a.model model.hdr back.hdr
    check "$m: the way back: bands and wavelengths" bash -c "grep -q '^bands = 87$' back.hdr && grep -q '^wavelength = {' back.hdr"
    check "$m: the table: a line for each band" is "$(wc -l <a.csv)" 88
    check "$m: the model's size" test "$(wc -c <a.model)" -gt 5000
done
echo "== C arrays"
# Pixels of two bytes on standard input, line by line as `step` says, through the exported function; the components to standard
# output, and compared with those in the file named.
cat >map.c <<'EOF'
#define FIT_PIXEL unsigned short
#include "fit.h"
#include <math.h>
#include <stdio.h>
static unsigned short line[SAMPLES * FIT_BANDS];
int main(int argc, char **argv) {
    FILE *file = fopen(argv[argc - 1], "rb");
    double most = 0, off = 0;
    size_t x, k, pixels = 0;
    if (!file) return 2;
    while (fread(line, sizeof line, 1, stdin) == 1)
        for (x = 0; x < SAMPLES; x++, pixels++) {
            float got[FIT_COMPONENTS], expected[FIT_COMPONENTS];
            fit_map(STEP == 1 ? line + x * FIT_BANDS : line + x, STEP, got);
            if (fread(expected, sizeof expected, 1, file) != 1) return 3;
            for (k = 0; k < FIT_COMPONENTS; k++) {
                if (fabs((double)expected[k]) > most) most = fabs((double)expected[k]);
                if (fabs((double)got[k] - (double)expected[k]) > off) off = fabs((double)got[k] - (double)expected[k]);
            }
        }
    fclose(file);
    printf("%d pixels, off by %g of %g\n", (int)pixels, off, most);
    return !(pixels == 19200 && most > 0 && off <= 1e-5 * most);
}
EOF
strict="-std=c99 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Werror"
for i in bip bil; do good convert scene.hdr px_$i.hdr --bbl --interleave $i; done
for m in "pca --components 5" "pca --components 5 --correlation" "mnf --components 5" "ica --components 4"; do
    # shellcheck disable=SC2086 # several words
    check "$m: C arrays" run $m scene.hdr model.hdr --bbl --save e.model --export-c fit.h
    cp fit.h first.h
    check "$m: C arrays of the model" good export e.model fit.h
    check "$m: C arrays of the model: the same" bash -c "sed '/^   Bands/,/^   Wave/{/^   Wave/!d}' first.h | cmp - fit.h"
    good apply e.model scene.hdr same.hdr --type f32 --interleave bip
    # shellcheck disable=SC2086
    for i in "bip 1" "bil 160"; do
        check "$m: C arrays compile, ${i% *}" ${CC:-cc} $strict -DSAMPLES=160 -DSTEP="${i#* }" map.c -o map -lm
        check "$m: C arrays map as apply does, ${i% *}" bash -c "./map same.img <px_${i% *}.img"
    done
done
check "the bands are named" grep -q '^   Bands, from 1: 1 2 3 ' first.h
check "names from odd ones" bash -c "'$program' export e.model ./3-d.h && grep -q ' model_3_d_map(' 3-d.h"
fails "C arrays over the model" 2 "would replace the input" export e.model e.model
fails "C arrays and a cube: one file" 2 "two outputs would go into this one file" pca scene.hdr bad.hdr --export-c bad.img
good rx scene.hdr same.hdr --save e.model
fails "C arrays of anomaly scores" 1 "e.model: model: of anomaly scores" export e.model bad.h
fails "C arrays of half the names" 2 "two names, MODEL and OUT.h" export e.model

# From 87 components nothing is lost.
check "all components: runs" good pca scene.hdr model.hdr --bbl --precise --type f64 --save all.model
check "all components: the way back" run inverse all.model model.hdr back.hdr --type u16
good denoise scene.hdr same.hdr --bbl --components 87 --precise --type u16
check "all components: the way back is the cube" cmp back.img same.img
check "denoise saves what it fits" good denoise scene.hdr same.hdr --components 3 --save b.model
check "inverse of a window keeps its place" good inverse b.model model.hdr same.hdr --bands 1-3 --window 0,0,5,5
# In micrometres, and 3 nm off: matched, and said.
find_python numpy
if [ -n "$python" ]; then
    $python - <<'EOF'
import re
text = open("scene.hdr").read()
numbers = re.search(r"\nwavelength = \{([^}]*)\}", text)
moved = [(float(x) + 3) / 1000 for x in numbers[1].split(",")]
for name, unit in ("micro", "Micrometers"), ("unknown", "Unknown"), ("far", "Nanometers"):
    shown = moved if name != "far" else [1000 * x + 400 for x in moved]
    new = text.replace(numbers[1], ", ".join("%.6g" % x for x in shown))
    open(name + ".hdr", "w").write(new.replace("wavelength units = Nanometers", "wavelength units = " + unit))
EOF
    good pca scene.hdr model.hdr --bbl --precise --components 5 --save c.model
    for unit in micro unknown; do
        cp scene.img $unit.img
        check "wavelengths in $unit: matched" good apply c.model $unit.hdr same.hdr
        check "wavelengths in $unit: says how far off" grep -q '^bands by wavelength: 87 of 100, off by 3 nm' out.txt
        check "wavelengths in $unit: the same components" cmp same.img model.img
    done
    cp scene.img far.img
    fails "wavelengths that are others" 1 "far.hdr: wavelength: band 1 of c.model has 400 nm, and the nearest one here is 403 nm away" apply c.model far.hdr bad.hdr
    check "the arrays are numpy's" $python -c '
import numpy
a = {n: numpy.load("a_%s.npy" % n) for n in "mean eigenvalues whitening rotation unmixing mixing wavelengths".split()}
assert a["unmixing"].shape == (4, 87) and a["mixing"].shape == (87, 4) and a["wavelengths"].shape == (87,)
assert abs(a["unmixing"] @ a["mixing"] - numpy.eye(4)).max() < 1e-3
assert abs(a["rotation"].T @ a["whitening"] - a["unmixing"]).max() < 1e-3 * abs(a["unmixing"]).max()'
fi
head -c 2800 /dev/zero >seven_of.img; header seven_of 20 20 7 1 bsq 0
fails "bands cannot be matched" 1 "seven_of.hdr: bands: 7 are in use, but b.model is of 100" apply b.model seven_of.hdr bad.hdr
fails "the model's wavelengths are not in use" 1 "wavelength: band" apply b.model scene.hdr bad.hdr --wavelengths 400:1000
# The nearest bands, in the order of the model, among those in use.
printf '\012\013\014\015\024\026\030\025\036\041\037\040' >ahead.img; header ahead 2 2 3 1 bsq 0 'wavelength = {400, 500, 600}' 'wavelength units = Nanometers'
{ tail -c 4 ahead.img; printf '\001\002\003\004'; head -c 8 ahead.img | tail -c 4; head -c 4 ahead.img; } >nearest.img
header nearest 2 2 4 1 bsq 0 'wavelength = {600.3, 500.1, 499.7, 400.3}' 'wavelength units = Nanometers' 'bbl = {1, 0, 1, 1}'
good pca ahead.hdr model.hdr --components 2 --save near.model
check "the nearest bands: matched" good apply near.model nearest.hdr same.hdr --bbl
check "the nearest bands: says how far off" grep -q '^bands by wavelength: 3 of 4, off by 0.3 nm' out.txt
check "the nearest bands: the same components" cmp same.img model.img
check "the nearest bands, one of them another: matched" good apply near.model nearest.hdr same.hdr
check "the nearest bands, one of them another: other components" bash -c '! cmp -s same.img model.img'
# --bands lists the model's bands in its order: near its wavelengths, or, where the header has none, with its numbers.
good pca scene.hdr model.hdr --bands 1-20 --components 3 --save listed.model
check "listed bands: the model's own" good apply listed.model scene.hdr same.hdr --bands 1-20
check "listed bands: the same components" cmp same.img model.img
fails "listed bands that are others" 1 "scene.hdr: --bands: band 31 has .* nm, but band 1 of listed.model, for which it stands, has 400 nm" apply listed.model scene.hdr bad.hdr --bands 31-50
sed '/^wavelength/,/}/d' scene.hdr >nameless.hdr; cp scene.img nameless.img
good pca nameless.hdr model.hdr --bands 1-20 --components 3 --save numbered.model
check "listed bands without wavelengths: the model's own" good apply numbered.model nameless.hdr same.hdr --bands 1-20
check "listed bands without wavelengths: others run" run apply numbered.model nameless.hdr same.hdr --bands 31-50
check "listed bands without wavelengths: others are named" grep -q 'nameless.hdr: --bands: band 31 stands for band 1 of the cube that numbered.model was fitted to' err.txt
fails "components that are not the model's" 1 "scene.hdr: bands: 100 are in use, but b.model has 3 components" inverse b.model scene.hdr bad.hdr
fails "no model" 1 "nowhere.model: cannot read it" apply nowhere.model scene.hdr bad.hdr
fails "another file for a model" 1 "scene.hdr: model: not a model of this library" apply scene.hdr scene.hdr bad.hdr
head -c 5000 b.model >short.model
fails "a model cut short" 1 "short.model: model: it is truncated" apply short.model scene.hdr bad.hdr
{ head -c 3000 b.model; printf x; tail -c +3002 b.model; } >damaged.model
fails "a damaged model" 1 "damaged.model: model: the file is damaged" apply damaged.model scene.hdr bad.hdr
{ head -c 8 b.model; printf '\003'; tail -c +10 b.model; } >newer.model
fails "a newer model" 1 "newer.model: model: the format is newer" inverse newer.model scene.hdr bad.hdr
{ cat b.model; printf more; } >longer.model
check "a longer model: runs" run apply longer.model scene.hdr same.hdr
check "a longer model: says so" grep -q 'longer.model: more bytes follow' err.txt
fails "a model over the input" 2 "would replace the input" pca scene.hdr bad.hdr --save scene.img
fails "a model over the output" 2 "two outputs would go into this one file" pca scene.hdr bad.hdr --save bad.img
cp b.model over.img
fails "an output over the model" 2 "would replace the input" apply over.img scene.hdr over.hdr
fails "a model in no folder" 1 "nowhere/a.model: cannot write it" pca scene.hdr bad.hdr --save nowhere/a.model
fails "two names for apply" 2 "apply: needs three names" apply b.model scene.hdr
fails "components into bytes" 2 "--type: components are negative too" apply b.model scene.hdr bad.hdr --type u8

echo "== conversions"
check "convert: runs" good convert geo.hdr same.hdr --interleave bip
check "convert: the pixels" is "$(od -An -tu1 -v same.img | xargs | cut -d' ' -f1-8)" "0 40 80 120 1 41 81 121"
check "convert: the type, and all that is said" says same.hdr 'data type = 1' "${of_scene[@]}" 'reflectance scale factor = 200.0' 'default bands = {4, 2, 1}'
for t in i16 u16 i32 u32 f32 f64; do
    check "convert to $t: runs" good convert scene.hdr typed.hdr --type $t --interleave bil --block 7
    check "convert to $t and back: runs" run convert typed.hdr same.hdr --type u16
    check "convert to $t and back: the same" cmp same.img scene.img
done
check "convert of a window and bands" good convert geo.hdr same.hdr --window 2,1,3,2 --bands 4,1
check "convert of a window and bands: the pixels" is "$(od -An -tu1 -v same.img | xargs)" "128 129 130 134 135 136 8 9 10 14 15 16"
# Values 0 to 149 onto 0 to 255: x 255 / 149, to the nearest; the way back is in the header.
check "--range auto: runs" good convert geo.hdr same.hdr --range auto
check "--range auto: says the rule" grep -q '^values: 0 to 149 became 0 to 255$' out.txt
check "--range auto: the pixels" is "$(od -An -tu1 -v same.img | xargs | cut -d' ' -f1-6)" "0 2 3 5 7 9"
check "--range auto: the last" is "$(od -An -tu1 -v same.img | xargs | cut -d' ' -f120)" 255
check "--range auto: a factor that is wrong now is gone" says_not same.hdr 'reflectance scale factor'
gain=$(sed -n '/^data gain values/,/}/p' same.hdr | tr -d '{}\n' | sed 's/.*= *//' | cut -d, -f2)
check "--range auto: the gains lead back, through those of the input" near "$gain" 0.116862745 1e-8
sed '/^data gain/d; /^data offset/d' geo.hdr >plain_geo.hdr; cp geo.img plain_geo.img
check "--range LOW,HIGH: runs" run convert plain_geo.hdr same.hdr --range 100,110 --bands 3-4
check "--range LOW,HIGH: what is beyond is clamped, and said" grep -q 'same.hdr: 50 values do not fit u8 and were clamped to 0..255; a wider --range' err.txt
check "--range LOW,HIGH: the pixels" is "$(od -An -tu1 -v same.img | xargs | cut -d' ' -f20-24)" "0 0 26 51 77"
check "--range bands: runs" good convert plain_geo.hdr same.hdr --range bands
check "--range bands: each from 0 to 255" is "$(band same 1 --bands 1) $("$program" info same.hdr --bands 3 | tail -n 1 | awk '{ print $3, $5 }')" "$(band same 1 --bands 1) 0 255"
check "--range into floats" good convert plain_geo.hdr same.hdr --range 0,100 --type f32
check "--range into floats: not clamped" is "$("$program" info same.hdr --bands 4 | tail -n 1 | awk '{ print $3, $5 }')" "1.2 1.49"
check "--range with a mask: runs" good convert geo.hdr same.hdr --range auto --roi 0,0,3,2
check "--range with a mask: 0 marks what is missing, and no pixel" is "$(od -An -tu1 -v same.img | xargs | cut -d' ' -f1-12)" "1 3 5 0 0 0 13 15 17 0 0 0"
check "--range with a mask: it is in the header" says same.hdr 'data ignore value = 0'
check "a 16-bit cube into bytes" good convert scene.hdr bytes.hdr --type u8 --range auto
check "a 16-bit cube into bytes: the targets are still found" good rx bytes.hdr rx.hdr --bbl --truth scene_truth.hdr
check "a 16-bit cube into bytes: nearly all of them" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.95 && a <= 1) }'
{ cat scene_truth.hdr; echo 'data ignore value = 0'; } >zeros.hdr; cp scene_truth.img zeros.img
check "a truth whose header calls 0 missing: runs" good rx bytes.hdr rx.hdr --bbl --truth zeros.hdr
check "a truth whose header calls 0 missing: 0 is no target" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.95 && a <= 1) }'
check "values that a type cannot hold: runs" run convert scene.hdr same.hdr --type u8
check "values that a type cannot hold: says so" grep -q 'do not fit u8 and were clamped to 0..255; --range or another --type' err.txt
for v in 1 1,1 2,1 a,b 1,2,3 1, nan,1 most; do
    fails "--range $v" 2 "--range: '$v' is none of auto, bands, LOW,HIGH" convert geo.hdr bad.hdr --range "$v"
done
fails "convert onto itself" 2 "would replace the input" convert geo.hdr geo.hdr

echo "== what is said on request"
check "--verbose: runs" good pca scene.hdr same.hdr --bbl --components 5 --verbose
check "--verbose: types" grep -q '^input  *u16, bsq, in memory$' out.txt
check "--verbose: bytes" grep -q "^bytes  *$(wc -c <scene.img) read, $((160 * 120 * 5 * 4)) written$" out.txt
check "--verbose: stages" grep -Eq '^seconds  *open [0-9.]+, fit [0-9.]+, transform [0-9.]+, pictures [0-9.]+$' out.txt
check "--verbose: in blocks" good pca scene.hdr same.hdr --bbl --components 5 --verbose --block 16 --threads 2
check "--verbose: in blocks: read twice" grep -q "^bytes  *$((2 * $(wc -c <scene.img))) read" out.txt
check "--verbose: two threads, or one without OpenMP" grep -Eq '^threads  *[12]$' out.txt
check "in memory again" good pca scene.hdr whole.hdr --bbl --components 5 --precise
for b in 1 7 16 50 119; do
    check "in blocks of $b lines" good pca scene.hdr blocks.hdr --bbl --components 5 --precise --block $b --verbose
    check "in blocks of $b lines: read twice" grep -q "^bytes  *$((2 * $(wc -c <scene.img))) read" out.txt
    check "in blocks of $b lines: the same components" bytes_within whole.img blocks.img 1
done
# How OpenMP's threads wait between the blocks: libgomp says the turns that they spin.
spins() {
    env OMP_DISPLAY_ENV=verbose "$@" "$program" pca scene.hdr same.hdr --bbl --components 5 --block 16 2>&1 |
        sed -n "s/.*GOMP_SPINCOUNT = '\([0-9]*\)'.*/\1/p" | tail -n 1
}
if [ -n "$(spins GOMP_SPINCOUNT=7)" ]; then
    check "in blocks: threads wait asleep" is "$(spins x=)" 0
    check "in blocks: unless one says how they wait" is "$(spins GOMP_SPINCOUNT=7)" 7
    check "in blocks: unless they shall spin" test "$(spins OMP_WAIT_POLICY=active)" -gt 1000
else
    skip "OpenMP does not say how its threads wait"
fi

echo "== pages"
for m in "pca" "pca --correlation --components 4" "mnf --components 30" "ica --components 4" "denoise --components 3" rx "apply b.model" "convert"; do
    # shellcheck disable=SC2086 # several words
    case $m in apply*) run $m scene.hdr page.hdr --html page.html ;; *) run ${m%% *} scene.hdr page.hdr --bbl --html page.html $([ "$m" = "${m#* }" ] || echo "${m#* }") ;; esac
    check "$m: a page" grep -q '</html>' page.html
    check "$m: it needs nothing from elsewhere" bash -c "! grep -Eq 'https?:|<script|<link' page.html"
    check "$m: no number that is none" bash -c "! grep -Eqi '[\" >,]-?(nan|inf)' page.html"
    check "$m: says the command and the version" bash -c "grep -q -- '--html page.html' page.html && grep -q 'sparsehs [0-9.]*;' page.html"
    bands=$(sed -n 's/^bands = //p' page.hdr)
    check "$m: a quick look and a picture of each band, 24 at most" is "$(grep -o '<img' page.html | wc -l)" $((1 + (bands < 24 ? bands : 24)))
    [ -z "$python" ] || check "$m: the pictures are whole" $python -c '
import base64, re, struct
for text in re.findall("base64,([^\"]*)", open("page.html").read()):
    data = base64.b64decode(text, validate=True)
    size, _, start, _, width, height = struct.unpack("<IIIIii", data[2:26])
    assert data[:2] == b"BM" and start == 54 and size == 54 + (3 * width + 3) // 4 * 4 * height and 0 <= len(data) - size < 3'
done
check "a page of a cube with holes" run pca holes.hdr page.hdr --bbl --components 3 --html page.html
check "a page of a cube with holes: whole" grep -q '</html>' page.html
# A name in Latin-1 becomes characters of the page, which is UTF-8 as names in UTF-8 are.
cp words.hdr $'fl\344che \303\244.hdr'; cp words.img $'fl\344che \303\244.img'
check "a page of a name in Latin-1" run pca $'fl\344che \303\244.hdr' page.hdr --html page.html
check "a page of a name in Latin-1: UTF-8" iconv -f utf-8 -t utf-8 -o page.txt page.html
check "a page of a name in Latin-1: its letters" grep -q 'fl&#228;che ä.hdr' page.html
check "a page of two pixels" run pca words.hdr page.hdr --html page.html
if command -v chromium >/dev/null; then
    good pca scene.hdr page.hdr --bbl --components 5 --html "page.html"
    timeout 60 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$work/page.html" >dom.html 2>/dev/null
    check "Chromium reads the page: as many pictures, plots and rows" is \
        "$(for tag in '<img' '<svg' '<g class="curve"' '<tr'; do grep -o "$tag" dom.html | wc -l; done | xargs)" "6 7 5 6"
else
    skip "Chromium is not here"
fi
# Light and dark, and on a telephone nothing is cut off.
check "a page has a viewport and a dark mode" bash -c "grep -q '<meta name=\"viewport\"' page.html && grep -q 'prefers-color-scheme:dark' page.html"
if [ -n "$python" ] && command -v chromedriver >/dev/null && $python -c 'import selenium' 2>/dev/null; then
    good detect scene.hdr same.hdr --bbl --target 3,3 --method ace --truth scene_truth.hdr --html page.html
    check "a page on a telephone: nothing is cut off, and dark is dark" $python -c '
import sys
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
options = webdriver.ChromeOptions()
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + sys.argv[1] + "/profile"):
    options.add_argument(argument)
page = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
try:
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    light = {}
    for scheme in ("light", "dark"):
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        page.get("file://" + sys.argv[1] + "/page.html")
        assert page.execute_script("return innerWidth === 380 && document.documentElement.scrollWidth <= 380")
        ground = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        light[scheme] = sum(int(v) for v in ground[4:-1].split(", "))
    assert light["light"] > 700 and light["dark"] < 100
finally:
    page.quit()' "$work"
else
    skip "selenium is not here"
fi
fails "a page over the output" 2 "two outputs would go into this one file" pca scene.hdr bad.hdr --html bad.img
check "true colours by wavelength" run convert scene.hdr same.hdr --quicklook same.ppm
check "true colours by wavelength: of the whole cube, whichever bands come first" bash -c "'$program' convert scene.hdr same2.hdr --bands 100,3,8,13 --quicklook same2.ppm && cmp same.ppm same2.ppm"
# The header's default bands are those of a picture: each band of this cube is a grey of its own.
printf '\000\100\200\300\300\200\100\000\000\300\100\200\100\000\300\200' >shown.img
shown() { header shown 4 1 4 1 bsq 0 'wavelength = {450, 550, 650, 860}' "$@"; run convert shown.hdr same.hdr --quicklook same.ppm --html page.html; }
# picture BANDS...: the last picture shows these bands
picture() {
    local b
    for b; do
        header alone 4 1 1 1 bsq 0; tail -c +$((4 * b - 3)) shown.img | head -c 4 >alone.img
        run convert alone.hdr again.hdr --quicklook again.pgm
        tail -c 4 again.pgm | od -An -v -w1 -tu1 >"grey$b.txt"
    done
    is "$(tail -c 12 same.ppm | od -An -v -w3 -tu1 | xargs)" "$(paste "grey$1.txt" "grey$2.txt" "grey$3.txt" | xargs)"
}
shown; check "no default bands: by wavelength" picture 3 2 1
shown 'default bands = {4, 3, 2}'; check "default bands" picture 4 3 2
check "default bands: the page names them" grep -q 'bands 4, 3 and 2 of the output in red, green and blue' page.html
shown 'default bands = {4.0,1,4}'; check "default bands, one of them twice" picture 4 1 4
shown 'default bands = {4}'; check "one default band" picture 4 4 4
check "one default band: the page names it" grep -q 'band 4 of the output' page.html
for n in 1 2; do
    header few 4 1 $n 1 bsq 0 "default bands = {$n}"; head -c $((4 * n)) shown.img >few.img
    check "one default band of $n: runs" good convert few.hdr same.hdr --html page.html
    words="the first band of the output"; [ $n = 1 ] || words="band $n of the output"
    check "one default band of $n: the page names it" grep -q "$words" page.html
    check "one default band of $n: the page names no colours" bash -c '! grep "of the output in red" page.html'
done
for list in '{4, 3, 9}' '{0, 0, 0}' '{4, 3}' '{4, 3, 2, 1}' '{a, b, c}' '{}'; do
    shown "default bands = $list"; check "default bands = $list: by wavelength" picture 3 2 1
done
# What a picture reads is carried, too.
for list in '{4;3;2}' '{4 3 2}' '{4, 3, 2,}' '{"4","3","2"}' '{" 4", 3.0; 2}'; do
    shown "default bands = $list"; check "default bands = $list" picture 4 3 2
    check "default bands = $list: carried" says same.hdr 'default bands = {4, 3, 2}'
    check "default bands = $list, in other places: runs" good convert shown.hdr same.hdr --bands 4,2,3
    check "default bands = $list, in other places" says same.hdr 'default bands = {1, 3, 2}'
done
for list in '{4.5, 3, 2}' '{a, b, c}' '{}' '{9}'; do
    shown "default bands = $list"; check "default bands = $list: not carried" says_not same.hdr 'default bands'
done
shown 'default bands = {4, 3, 2}'
check "default bands, in other places: runs" good convert shown.hdr same.hdr --bands 2-4,1 --quicklook same.ppm
check "default bands, in other places" picture 4 3 2
check "default bands, one of them left out: runs" good convert shown.hdr same.hdr --bands 1-3 --quicklook same.ppm
check "default bands, one of them left out" picture 3 2 1
check "default bands, a grey picture: runs" good convert shown.hdr same.hdr --quicklook same.pgm
# The true colours of `auto` are what its title says, whatever the header names: bands 13, 8 and 3 of this scene.
"$program" synthesise hued.hdr --samples 40 --lines 30 >/dev/null; cp hued.hdr hued.txt
colours() { grep '^<img.*the scene in true colours' look/index.html | sed 's/.*base64,//'; }
good auto hued.hdr look; colours >true.txt
for list in '{8}' '{3, 8, 13}' '{1, 2, 3}'; do
    { cat hued.txt; echo "default bands = $list"; } >hued.hdr
    check "default bands = $list: auto runs" good auto hued.hdr look
    colours >same.txt
    check "default bands = $list: true colours" bash -c '[ -s true.txt ] && cmp true.txt same.txt'
done
rm -r look

echo "== independent components"
ica="--bbl --components 5"
check "ica" good ica scene.hdr ic.hdr $ica --report ic.csv
check "its last line" grep -q '^seconds=[0-9.]* .*components=5 pixels=19200$' out.txt
check "its table" awk -F, 'NR > 1 && ($5 != 1 || $3 < 1 || $6 > 1e-6) { bad = 1 } END { exit bad || NR != 6 }' ic.csv
check "the same again: runs" good ica scene.hdr same.hdr $ica --threads 1
check "the same again: the same bytes" cmp ic.img same.img
for c in pow3 tanh gauss; do
    for a in '' --symmetric; do check "ica $c $a" good ica scene.hdr same.hdr $ica --contrast $c $a; done
done
check "ica --seed, in blocks" good ica scene.hdr same.hdr $ica --seed 7 --block 16
check "iterations that do not suffice: runs" run ica scene.hdr same.hdr $ica --iterations 1 --symmetric
check "iterations that do not suffice: says so" grep -q 'did not converge' err.txt
check "iterations that do not suffice: says which" grep -Eq 'IC [1-5].*: [1-5] of 5 components did not converge' err.txt
check "iterations that do not suffice: names those of the table" is \
    "$(sed -n 's/.*: IC \([0-9, ]*\):.*/\1/p' err.txt | tr -d ,)" "$(awk '$4 == "NO" { print $1 }' out.txt | xargs)"
check "--route moments" good ica scene.hdr same.hdr $ica --route moments
check "--route moments: says so" grep -q 'on fourth moments' out.txt
check "--route sweep" good ica scene.hdr same.hdr $ica --route sweep
check "--route sweep: says so" grep -q 'on the pixels' out.txt
check "pca, for its eigenvalues" good pca scene.hdr same.hdr --bbl --components 6 --report pc6.csv
middle=$(awk -F, 'NR == 5 { a = $2 } NR == 6 { printf "%.17g", (a + $2) / 2 }' pc6.csv)
check "--threshold between the fourth eigenvalue and the fifth" good ica scene.hdr four.hdr --bbl --threshold "$middle" --report four.csv
check "--threshold: four components" is "$(value_of components)" 4
check "--components 4 for it" good ica scene.hdr same.hdr --bbl --components 4 --report same.csv
# Four eigenpairs and all of them come by different ways: the same to rounding.
check "--components 4 for it: the same kurtoses" awk -F, 'NR > 1 { d = $7 - k[FNR]; e = 1e-6 * ($7 < 0 ? -$7 : $7) + 1e-9 }
    NR == FNR { k[FNR] = $7; next } FNR > 1 && (d > e || d < -e) { bad = 1 } END { exit bad || NR != 10 }' four.csv same.csv
# Plain steps do not converge here from the identity, whatever their number: only a fresh start can help, where one is allowed.
hard="other.hdr same.hdr --bbl --components 8 --symmetric --precise"
check "--plain-steps --restarts 0: runs" run ica $hard --plain-steps --restarts 0 --iterations 300 --report hard.csv
check "--plain-steps: says that they did not converge" grep -q 'did not converge' err.txt
check "--restarts 0: none is made" awk -F, 'NR > 1 && $4 != 0 { bad = 1 } END { exit bad || NR != 9 }' hard.csv
check "--restarts 2: runs" run ica $hard --plain-steps --restarts 2 --iterations 5 --report hard.csv
check "--restarts 2: two are made" awk -F, 'NR > 1 && $4 != 2 { bad = 1 } END { exit bad || NR != 9 }' hard.csv
check "without --plain-steps it converges" good ica $hard
check "one strong source is not torn into several" good ica other.hdr same.hdr --bbl --components 6 --symmetric --precise --report one.csv
check "one strong source: its kurtosis is above 400, the next below 100" awk -F, '
    NR == 2 { first = $7 } NR == 3 { second = $7 } END { exit !(first > 400 && second < 100) }' one.csv

echo "== anomalies"
printf '\000\000\000\004' >odd1.img; header odd1 4 1 1 1 bsq 0
printf '\000\000\000\001' >mark.img; header mark 4 1 1 1 bsq 0
check "rx of one band" good rx odd1.hdr rx.hdr --truth mark.hdr
check "rx finds the odd pixel" is "$(value_of auc)" 1.0000
check "rx: its score is (x - mean)^2 / variance" is "$(band rx 1 | cut -d' ' -f1,3)" "0.333333 3"
printf '\000\004\000\004' >tied.img; header tied 4 1 1 1 bsq 0
check "ties: runs" good rx tied.hdr rx.hdr --truth mark.hdr
check "ties count half" is "$(value_of auc)" 0.5000
printf '\000\000\004\004\004\004\004\004' >part.img; header part 8 1 1 1 bsq 0
printf '\001\000\001\000\000\000\000\000' >mark8.img; header mark8 8 1 1 1 bsq 0
# Of 2 targets and 6 others: 5 wins and 1 tie, then 5 ties and 1 loss: (5.5 + 2.5) / 12.
check "some ties: runs" good rx part.hdr rx.hdr --truth mark8.hdr
check "some ties" is "$(value_of auc)" 0.6667
check "rx of the scene" good rx scene.hdr rx.hdr --bbl --truth scene_truth.hdr --quicklook rx.pgm --block 16
check "rx finds the targets" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.95 && a <= 1) }'
check "rx: a model is saved" good rx scene.hdr rx.hdr --bbl --type f64 --save rx.model --npy rx --stats rx.csv
check "rx: as without it" bash -c "$program rx scene.hdr same.hdr --bbl --type f64 >out.txt && cmp same.img rx.img"
check "rx: the model is applied" good apply rx.model scene.hdr same.hdr --type f64
check "rx: the model is applied: the same" cmp same.img rx.img
check "rx: the model is applied to a stream" good apply rx.model scene_bil.hdr same.hdr --type f64 --block 11
check "rx: the model is applied to a stream: the same" cmp same.img rx.img
fails "rx: no way back" 1 "rx.model: model: of anomaly scores" inverse rx.model rx.hdr bad.hdr
check "rx fitted to a region" good rx scene.hdr rx.hdr --bbl --roi 0,0,80,60 --fit-only --truth scene_truth.hdr
check "rx fitted to a region: all pixels have scores" is "$(value_of pixels)" 19200
check "rx fitted to every third pixel" good rx scene.hdr rx.hdr --bbl --fit-step 3
check "rx without the background's components" good rx scene.hdr rx.hdr --bbl --skip 3 --components 10
check "rx without the background's components: ten" is "$(value_of components)" 10
check "rx trimmed" good rx scene.hdr rx.hdr --bbl --trim 0.05 --truth scene_truth.hdr --type f64 --save rx.model
check "rx trimmed: finds the targets" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.95 && a <= 1) }'
check "rx trimmed: in blocks, the other interleave" good rx scene_bil.hdr same.hdr --bbl --trim 0.05 --type f64 --block 11
check "rx trimmed: no share is plain rx" bash -c "$program rx scene.hdr a.hdr --bbl --trim 0 >out.txt && $program rx scene.hdr b.hdr --bbl >out.txt && cmp a.img b.img"
check "rx trimmed: a share changes it" bash -c "$program rx scene.hdr a.hdr --bbl --trim 0.05 >out.txt && ! cmp -s a.img b.img"
check "rx trimmed: the model is applied" good apply rx.model scene.hdr same.hdr --type f64
check "rx trimmed: the model is applied: the same" cmp same.img rx.img
fails "rx trimmed: by more than half" 2 "--trim: 0.9 is not a share of the pixels from 0 to 0.5" rx scene.hdr bad.hdr --trim 0.9
fails "rx trimmed: not in windows" 2 "--local: each pixel has a fit of its own: not --trim" rx scene.hdr bad.hdr --local 3,9 --trim 0.1
fails "rx without any component" 1 "scene.hdr: --skip 4: components: more than" rx scene.hdr bad.hdr --bands 1-4 --skip 4
# Four classes, of 160 x 120 pixels; the last is one pixel.
awk 'BEGIN { for (y = 0; y < 120; y++) for (x = 0; x < 160; x++) printf "\\%03o", y == 7 && x == 9 ? 200 : 1 + (x > 60) + (y > 50) }' >kinds.txt
# shellcheck disable=SC2059 # escapes
printf "$(cat kinds.txt)" >kinds.img; header kinds 160 120 1 1 bsq 0
check "rx by class" run rx scene.hdr rx.hdr --bands 1-20 --class kinds.hdr --type f64
check "rx by class: says their components" is "$(grep -c '^class [123]: 20 components' out.txt)" 3
check "rx by class: says which has none" grep -q 'kinds.hdr: class 200: no pixels, or all alike' err.txt
check "rx by class: all but one have a score" is "$(value_of pixels)" 19199
check "rx by class, in blocks" run rx scene_bil.hdr same.hdr --bands 1-20 --class kinds.hdr --type f64 --block 9
check "rx of one class" good rx scene.hdr one.hdr --bands 1-20 --class kinds.hdr --id 2 --type f64
check "rx by class within a mask" run rx scene.hdr same.hdr --bands 1-20 --class kinds.hdr --roi 0,0,100,100
for m in ace glrt; do
    check "$m by class" run detect scene.hdr ace.hdr --bands 1-20 --target 71,105 --method $m --class kinds.hdr --type f64
    check "$m by class: one of four has no score" grep -q 'scene.hdr: 1 of 4 classes have no score' err.txt
    check "$m by class: says how many pixels" is "$(value_of pixels)" 19199
    check "$m by class, in blocks" run detect scene_bil.hdr same.hdr --bands 1-20 --target 71,105 --method $m --class kinds.hdr --type f64 --block 9
    check "$m by class, in blocks: nearly the same" near "$(band same 1 | cut -d' ' -f2)" "$(band ace 1 | cut -d' ' -f2)" 1e-9
    check "$m of one class" good detect scene.hdr one.hdr --bands 1-20 --target 71,105 --method $m --class kinds.hdr --id 2 --type f64
    check "$m of one class: its part of the others" near "$(band one 1 --window 0,60,60,60 | cut -d' ' -f2)" "$(band ace 1 --window 0,60,60,60 | cut -d' ' -f2)" 1e-9
done
awk 'BEGIN { for (y = 0; y < 120; y++) for (x = 0; x < 160; x++) printf "\\%03o", x }' >columns.txt
# shellcheck disable=SC2059 # escapes
printf "$(cat columns.txt)" >columns.img; header columns 160 120 1 1 bsq 0
check "mf by column" good detect scene.hdr ace.hdr --bbl --target 71,105 --background column
check "mf by column: every pixel has a score" is "$(value_of pixels)" 19200
check "mf by column: columns as classes" good detect scene_bil.hdr same.hdr --bbl --target 71,105 --class columns.hdr
check "mf by column: columns as classes: the same" cmp same.img ace.img
check "mf by column: of the image" good detect scene.hdr same.hdr --bbl --target 71,105 --background image
check "mf by column: of the image: another" bash -c '! cmp -s same.img ace.img'
fails "by column: too few lines" 1 "scene.hdr: each column has a band that is constant or a linear combination of others, or not more valid pixels than the 87 bands: --ridge R" \
    detect scene.hdr bad.hdr --bbl --target 5,5 --background column --window 0,0,9,9
check "by column: too few lines, and a ridge" good detect scene.hdr same.hdr --bbl --target 5,5 --background column --window 0,0,9,9 --ridge 0.1
for block in "" "--block 1"; do
    fails "by column: one line has one pixel a column $block" 1 "each column has a band that is constant or a linear combination of others, or not more valid pixels" \
        detect scene.hdr bad.hdr --bbl --target 5,5 --background column --window 0,5,60,1 $block
done
run convert scene.hdr strip.hdr --window 0,5,60,1
for block in "" "--block 1"; do
    fails "by column: a cube of one line $block" 1 "each column has a band that is constant or a linear combination of others, or not more valid pixels" \
        detect strip.hdr bad.hdr --bands 1-9 --target 5,0 --background column --ridge 0.1 $block
done
fails "by column, and class" 2 "--background: column: --class has a background" detect scene.hdr bad.hdr --target 5,5 --background column --class kinds.hdr
fails "by column: no background" 2 "--background: osp has no background: mf, cem" detect scene.hdr bad.hdr --target 5,5 --background column --method osp
fails "by class: no background" 2 "--class: sam has no background.*--id K" detect scene.hdr bad.hdr --target 5,5 --class kinds.hdr --method sam
fails "by class: similarities" 2 "--class: --id K says which" detect scene.hdr bad.hdr --target 5,5 --class kinds.hdr --method sid
fails "by column: similarities" 2 "--background: mf, cem, ace, sace and glrt have one" detect scene.hdr bad.hdr --target 5,5 --background column --method sid
fails "by column: fitted to some" 2 "--fit-only: each column" detect scene.hdr bad.hdr --target 5,5 --background column --fit-only --roi 0,0,5,5
fails "by row" 2 "--background: row is unknown" detect scene.hdr bad.hdr --target 5,5 --background row
fails "rx by class: no one model" 2 "--save: each class has a model" rx scene.hdr bad.hdr --class kinds.hdr --save bad.model
fails "rx by class: fitted to some" 2 "--fit-only: each class" rx scene.hdr bad.hdr --class kinds.hdr --fit-only --roi 0,0,5,5
# The best pixels: where they are, on the page and in a table. Three of sixteen pixels differ from the rest.
awk 'BEGIN { for (i = 0; i < 16; i++) printf "\\%03o", 100 + (i * 7) % 3 + (i == 6 ? 40 : i == 9 ? 90 : i == 12 ? 60 : 0) }' >octal.txt
# shellcheck disable=SC2059 # escapes
printf "$(cat octal.txt)" >odd16.img; header odd16 4 4 1 1 bsq 0
check "the best pixels: runs" good rx odd16.hdr same.hdr --report best.csv --html page.html
check "the best pixels: all of a small cube" is "$(head -n 1 best.csv) $(($(wc -l <best.csv) - 1))" "band,name,rank,sample,line,score 16"
check "the best pixels: which" is "$(sed -n 2,3p best.csv | cut -d, -f1-5 | xargs)" "1,RX,1,1,2 1,RX,2,0,3"
check "the best pixels: in order" awk -F, 'NR > 2 && $6 > before { bad = 1 } NR > 1 { before = $6 } END { exit bad }' best.csv
check "the best pixels: the scores of the output" near "$(cell 2 6 best.csv)" "$(band same 1 | cut -d' ' -f3)" 1e-5
check "the best pixels: on the page" grep -q "^<tr><td>1<td>1<td>2<td>$(cell 2 6 best.csv | cut -c1-5)" page.html
check "the best pixels: no word of a truth that is not there" bash -c "! grep -q '<th>target' page.html"
check "the best pixels of a window: places in the whole" bash -c "'$program' rx odd16.hdr same.hdr --window 1,1,3,3 --report best.csv && grep -q '^1,RX,1,1,2,' best.csv"
header line16 16 1 1 1 bsq 0; cp odd16.img line16.img
check "the best pixels of one line, in blocks" bash -c "'$program' rx line16.hdr same.hdr --block 1 --report best.csv && grep -q '^1,RX,1,9,0,' best.csv"
check "the best pixels of bytes that are the same: the first ones" bash -c "'$program' rx odd16.hdr same.hdr --type u8 --rescale 7,7.4 --report best.csv && sed -n '2p;17p' best.csv | xargs | grep -qx '1,RX,1,0,0,7 1,RX,16,3,3,7'"
check "a score's page with a truth" good rx scene.hdr same.hdr --bbl --truth scene_truth.hdr --report best.csv --html page.html
check "a score's page with a truth: twenty rows, all targets" is "$(grep -c '^<tr><td>.*<td>yes$' page.html) $(grep -c ',1$' best.csv)" "20 20"
check "a score's page with a truth: the area" grep -q 'Area under the ROC curve: 1.0000' page.html
check "a score's page: rings" test "$(grep -o '<circle' page.html | wc -l)" -ge 3
# Targets are white and the rest is dark: at most a hundredth of the picture is brighter than half.
check "a score's picture: runs" good rx scene.hdr same.hdr --bbl --truth scene_truth.hdr --quicklook same.pgm
bright() { # PGM TRUTH: how many of the targets are brighter than 200, and how many others than 127
    paste <(tail -c 19200 "$1" | od -An -v -tu1 -w1) <(od -An -v -tu1 -w1 "$2") |
        awk '$2 { hits += $1 > 200 } !$2 { others += $1 > 127 } END { print hits + 0, others + 0 }'
}
check "a score's picture: targets are white, the rest is dark" is "$(bright same.pgm scene_truth.img)" "36 0"
fails "rx by class: components that a class has not" 1 "components: more than" rx scene.hdr bad.hdr --bands 1-20 --class kinds.hdr --roi 59,0,3,3 --components 19
check "local rx" run rx scene.hdr rx.hdr --bands 1-20 --window 10,10,40,30 --local 3,11 --type f64
check "local rx: all pixels have a score" is "$(value_of pixels)" 1200
check "local rx, in blocks" run rx scene_bil.hdr same.hdr --bands 1-20 --window 10,10,40,30 --local 3,11 --type f64 --block 7 --threads 1
check "local rx, in blocks: the same" cmp same.img rx.img
fails "local rx with too few pixels" 1 "--local 1,5: no pixel has a background of more valid pixels than the 40 bands" \
    rx scene.hdr few.hdr --bands 1-40 --window 10,10,40,30 --local 1,5
check "local rx with too few pixels and a ridge" run rx scene.hdr few.hdr --bands 1-40 --window 10,10,40,30 --local 1,5 --ridge 0.01
check "local rx with too few pixels and a ridge: all have a score" is "$(value_of pixels)" 1200
for w in 3 3,3 4,9 3,8 9,3 0,5 3,9x x; do
    fails "local rx: bad windows" 2 "--local: '$w' is not INNER,OUTER" rx scene.hdr bad.hdr --local $w
done
fails "local rx: no one model" 2 "--local: each pixel has a fit" rx scene.hdr bad.hdr --local 3,9 --save bad.model
fails "local rx: all bands" 2 "--local: takes all bands" rx scene.hdr bad.hdr --local 3,9 --skip 2
fails "local rx: by class" 2 "--class: --local takes one class" rx scene.hdr bad.hdr --local 3,9 --class kinds.hdr
fails "a ridge without --local" 2 "--ridge: rx takes one" rx scene.hdr bad.hdr --ridge 0.1
fails "a truth of another size" 1 "mark.hdr: 4 x 1 pixels" rx scene.hdr bad.hdr --truth mark.hdr
fails "a truth of three bands" 1 "bsq.hdr: bands: 3" rx scene.hdr bad.hdr --truth bsq.hdr
fails "a truth without a target" 1 "scene_truth.hdr: --truth: it marks no pixel of --window 0,0,9,9$" \
    rx scene.hdr bad.hdr --truth scene_truth.hdr --window 0,0,9,9
fails "a truth of targets alone" 1 "scene_truth.hdr: --truth: it marks every pixel of --mask scene_truth.hdr$" \
    detect scene.hdr bad.hdr --bbl --target 1,1 --truth scene_truth.hdr --mask scene_truth.hdr --roc bad.svg --html bad.html
check "a truth beside a fit to its targets alone" \
    good rx scene.hdr rx.hdr --bands 1-3 --truth scene_truth.hdr --mask scene_truth.hdr --fit-only

echo "== targets"
# The scene's paint in steps of 10 nm, once and half as bright, and the pixels at 1 and 2 of the first line.
awk 'function bump(x, c, w) { return exp(-0.5 * ((x - c) / w) ^ 2) }
    BEGIN { print "wavelength,paint,dark"; for (w = 0.39; w < 2.56; w += 0.01) {
        r = 1e4 * (0.55 - 0.06 * w) * (1 - 0.45 * bump(w, 0.87, 0.07) - 0.35 * bump(w, 1.72, 0.03))
        print 1000 * w "," r "," r / 2 } }' >paint.csv
check "targets: mf is the default" good detect scene.hdr mf.hdr --bbl --target paint.csv
for m in mf cem ace sam osp sace glrt; do
    check "$m: runs" good detect scene.hdr same.hdr --bbl --target paint.csv --method $m --truth scene_truth.hdr --roc roc.svg
    check "$m: finds the targets" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.95 && a <= 1) }'
    check "$m: a band for each" is "$(sed -n 's/^bands = //p' same.hdr)" 2
    check "$m: the curves" is "$(grep -c '<polyline' roc.svg)$(grep -c '</svg>' roc.svg)" 32
    [ $m != mf ] || check "mf: is the default" cmp mf.img same.img
    cp same.img all.img; cp same.hdr all.hdr
    check "$m: in blocks" good detect scene.hdr same.hdr --bbl --target paint.csv --method $m --block 7 --interleave bsq
    check "$m: in blocks: nearly the same" near "$(band same 1 | cut -d' ' -f2)" "$(band all 1 | cut -d' ' -f2)" 1e-5
done
check "ace: runs" good detect scene.hdr ace.hdr --bbl --target 10,20 --method ace --window 5,6,40,30
check "ace: the pixel itself scores 1" near "$(band ace 1 --roi 5,14,1,1 | cut -d' ' -f2)" 1 1e-6
check "osp: runs" good detect bil.hdr osp.hdr --target 1,0 --undesired 0,0 --method osp
check "osp: what is undesired scores 0, the target 1" is "$(band osp 1 --roi 0,0,1,1 | awk '{ print ($2 < 1e-6 && $2 > -1e-6) }')$(band osp 1 --roi 1,0,1,1 | cut -d' ' -f2)" 11
check "amsd: runs" good detect bil.hdr amsd.hdr --target 1,0 --undesired 0,0 --method amsd
check "amsd: what is undesired scores 0, the target 1" is "$(band amsd 1 --roi 0,0,1,1 | cut -d' ' -f2) $(band amsd 1 --roi 1,0,1,1 | cut -d' ' -f2)" "0 1"
awk -F, 'NR == 1 || NR % 7 { print $1 "," $2 "," $3 * (1 + NR / 500) }' paint.csv >apart.csv
check "amsd: two targets" good detect scene.hdr amsd.hdr --bbl --target apart.csv --method amsd --truth scene_truth.hdr --roc roc.svg
check "amsd: one band for both, and one curve" is "$(sed -n 's/^bands = //p' amsd.hdr)$(grep -c '<polyline' roc.svg)" 12
check "amsd: finds the targets" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.95 && a <= 1) }'
fails "amsd: targets that are one" 1 "--target paint.csv: targets: a target is zero.*other targets" detect scene.hdr bad.hdr --bbl --target paint.csv --method amsd
check "fit to some: runs" good detect scene.hdr same.hdr --bbl --target paint.csv --fit-step 3 --roi 0,0,90,90 --fit-only
check "fit to some: every pixel has a score" is "$(band same 1 | cut -d' ' -f4)" 0
check "masked: runs" good detect scene.hdr same.hdr --bbl --target paint.csv --mask scene_truth.hdr --method sam
check "masked: the others have none" awk -v m="$(band same 1 | cut -d' ' -f4)" 'BEGIN { exit !(m > 10000) }'
sed 1d paint.csv | head -100 | cut -d, -f2 >rows.csv
check "rows: runs" good detect scene.hdr same.hdr --bbl --target rows.csv
# The same as ENVI's spectral library: numbers of 16 bits, in micrometres.
awk -F, 'NR == 1 { print; next } { printf "%s,%d,%d\n", $1, $2, $3 }' paint.csv >whole.csv
awk -F, 'function two(v) { printf "\\%03o\\%03o", v % 256, int(v / 256) }
    NR > 1 { a[++n] = $2; b[n] = $3 } END { for (i = 1; i <= n; i++) two(a[i]); for (i = 1; i <= n; i++) two(b[i]) }' whole.csv >bytes.txt
# shellcheck disable=SC2059 # escapes
printf "$(cat bytes.txt)" >library.sli
header library "$(($(wc -l <whole.csv) - 1))" 2 1 12 bsq 0 "file type = ENVI Spectral Library" "wavelength units = Micrometers" \
    "wavelength = {$(awk -F, 'NR > 1 { print s $1 / 1000; s = "," }' whole.csv | tr -d '\n')}" "spectra names = { paint, dark }"
check "whole numbers: runs" good detect scene.hdr table.hdr --bbl --target whole.csv --method ace
check "a library: runs" good detect scene.hdr spectra.hdr --bbl --target library.sli --method ace
check "a library by its header: runs" good detect scene.hdr same.hdr --bbl --target library.hdr --method ace
check "a library: the scores of the table" is "$(band spectra 1) $(band spectra 2)" "$(band table 1) $(band table 2)"
check "a library by its header: the same" cmp same.img spectra.img
check "a library: bands have its names" grep -qx '  dark}' spectra.hdr
sed 's/{ paint, dark }/{ paint, red, dark }/' library.hdr >commas.hdr; cp library.sli commas.sli
check "a library of other names: runs" run detect scene.hdr spectra.hdr --bbl --target commas.sli --method ace
check "a library of other names: it is said" grep -q 'commas.hdr: spectra names: 3 names for 2 spectra: they are not used' err.txt
check "a library of other names: numbers" grep -qx '  ace 2}' spectra.hdr
sed "\$a bbl = {0$(seq 2 "$(($(wc -l <whole.csv) - 1))" | sed 's/.*/,1/' | tr -d '\n')}" library.hdr >badband.hdr; cp library.sli badband.sli
check "a library with a bad band: runs" run detect scene.hdr spectra.hdr --bbl --library badband.sli
check "a library: abundances" good unmix scene.hdr spectra.hdr --bbl --endmembers library.sli --constraint nonnegative
sed 's/{ paint, dark }/{ paint, dark, }/' library.hdr >commas.hdr
check "a library, a comma behind the last name" good detect scene.hdr same.hdr --bbl --target commas.sli --method ace
check "a library, a comma behind the last name: the names" grep -qx '  dark}' same.hdr
for e in '' .lib .dat; do
    cp library.sli lib$e; cp library.hdr lib.hdr
    if [ "$e" = .dat ]; then
        fails "a library's data 'lib$e'" 1 "lib$e: not a table: it holds a byte of zero.* name its header in its place: lib.hdr" detect scene.hdr bad.hdr --bbl --target lib$e
    else
        check "a library's data 'lib$e'" good detect scene.hdr same.hdr --bbl --target lib$e --method ace
        check "a library's data 'lib$e': of spectra" good spectra lib$e same.csv --smooth 3
        fails "a library's data 'lib$e': over its header" 2 "lib.hdr: the output would replace the input" detect scene.hdr lib.hdr --bbl --target lib$e
    fi
    check "a library's data 'lib$e': by the header" good detect scene.hdr same.hdr --bbl --target lib.hdr --method ace
    rm lib$e
done
cp whole.csv words; cp scene.hdr words.hdr
check "a table without an ending beside the header of a cube" good detect scene.hdr same.hdr --bbl --target words --method ace
fails "a cube in place of a library" 1 "scene.hdr: file type: it is no ENVI Spectral Library" detect scene.hdr bad.hdr --target scene.hdr
fails "a library that is not there" 1 "none_such.sli: its header is missing" detect scene.hdr bad.hdr --target none_such.sli
# The header of a library is an input, as the library is; so are the data of one that is named by its header.
cp library.hdr kept.hdr; cp library.sli twin.img; cp library.hdr twin.img.hdr
replaced="library.hdr: the output would replace the input library.hdr"
fails "a library's header: of --target" 2 "$replaced" detect scene.hdr library.hdr --bbl --target library.sli
fails "a library's header: of --undesired" 2 "$replaced" detect scene.hdr library.hdr --bbl --target 1,1 --method osp --undesired library.sli
fails "a library's header: of --library" 2 "$replaced" detect scene.hdr library.hdr --bbl --library library.sli
fails "a library's header: of unmix --library" 2 "$replaced" unmix scene.hdr library.hdr --bbl --library library.sli
fails "a library's header: of --endmembers" 2 "$replaced" unmix scene.hdr library.hdr --bbl --endmembers library.sli
fails "a library's header: of --published" 2 "$replaced" unmix scene.hdr library.hdr --bbl --endmembers vca --count 2 --published library.sli
fails "a library's data" 2 "twin.img: the output would replace the input twin.img" detect scene.hdr twin.hdr --bbl --target twin.img.hdr
check "a library's header: as it was" cmp kept.hdr library.hdr
check "a library's data: as they were" cmp twin.img library.sli
header twice 4 2 3 1 bsq 0 "file type = ENVI Spectral Library"
fails "a library of several bands" 1 "twice.hdr: bands: 3, but a spectral library has 1" detect scene.hdr bad.hdr --target twice.hdr
check "targets: a page" good detect scene.hdr same.hdr --bbl --target paint.csv --html page.html
check "targets: bands have the names of the table" grep -qx '  dark}' same.hdr
check "targets: no curve without a truth" bash -c "! grep -q 'ROC curves' page.html"
check "targets: a page with curves" good detect scene.hdr same.hdr --bbl --target paint.csv --truth scene_truth.hdr --html page.html
check "targets: a curve of each" is "$(grep -c '<h2>ROC curves\|>mf [a-z]*: [01]' page.html)" 3
check "targets: their spectra on the page" is "$(grep -c '<h2>Spectra of the targets\|^<span' page.html)" 1
check "targets: the page has an end" is "$(tail -n 1 page.html)" "</html>"
check "targets: it needs nothing from elsewhere" bash -c "! grep -Eq 'https?:|<script|<link' page.html"
sed '1s/dark/da"rk/' paint.csv >quoted.csv
check "a report of a name with a quote" good detect scene.hdr same.hdr --bbl --target quoted.csv --report best.csv
check "a report of a name with a quote: as tables have it" grep -q '^2,"da""rk",20,' best.csv
for m in ace sam; do
    check "$m: the best pixels" good detect scene.hdr same.hdr --bbl --target paint.csv --method $m --truth scene_truth.hdr --report best.csv --html page.html
    check "$m: the best pixels of each" is "$(head -n 1 best.csv) $(grep -c '^1,paint,' best.csv) $(grep -c '^2,dark,' best.csv)" "band,name,rank,sample,line,score,truth 20 20"
    check "$m: the best pixels are targets, but for one" test "$(grep -c '^1,.*,1$' best.csv)" -ge 19
    check "$m: the best pixels on the page" is "$(grep -c '^<tr><td>[0-9]*<td>[0-9]*<td>[0-9]*<td>.*<td>\(yes\|no\)$' page.html)" 40
done
check "sam: the best are the smallest" awk -F, '$1 == 1 && $3 > 1 && $6 < before { bad = 1 } { before = $6 } END { exit bad }' best.csv
check "sam: its page speaks of angles" grep -q 'The 20 smallest angles' page.html
check "sid: a page" good detect scene.hdr same.hdr --bbl --target paint.csv --method sid --html page.html
check "sid: its page speaks of scores" is "$(grep -c 'The 20 smallest scores' page.html)$(grep -c angle page.html)" 10
check "compare: a page" good compare scene.hdr scene.hdr same.hdr --html page.html
check "compare: its page speaks of differences" is "$(grep -c 'The 20 highest differences' page.html)$(grep -c target page.html)" 10
check "pca: a page" good pca scene.hdr same.hdr --components 4 --html page.html
check "pca: its page names the bands it shows" grep -q 'bands 1, 2 and 3 of the output in red, green and blue' page.html
check "correct: a page" good correct scene.hdr same.hdr --method iarr --html page.html
check "correct: its page names the bands it shows" grep -q 'bands 13, 8 and 3 of the output in red, green and blue' page.html
check "ace: a picture of scores: runs" good detect scene.hdr same.hdr --bbl --target paint.csv --method ace --quicklook same.pgm
check "ace: a picture of scores: targets are white, the rest is dark" is "$(bright same.pgm scene_truth.img)" "36 0"
fails "a report over the output" 2 "two outputs would go into this one file" detect scene.hdr bad.hdr --bbl --target paint.csv --report bad.img
head -50 rows.csv >short.csv; printf '1,2\n3\n' >ragged.csv; printf 'a\n1\nx7\n' >word.csv; : >empty.csv; printf 'wavelength\n1\n' >bare.csv
printf 'wavelength,a\n500,1\n900,2\n' >narrow.csv; printf 'wavelength,a\n500,1\n400,2\n9000,1\n' >back.csv; printf '1\0' >zero.csv
sed 's/.*/0/' rows.csv >none.csv
fails "no target" 2 "--target: is needed" detect scene.hdr bad.hdr
fails "a method that is none" 2 "--method: best is unknown" detect scene.hdr bad.hdr --target 1,1 --method best
fails "a pixel beyond the cube" 2 "--target: 160,1 is not within the pixels of scene.hdr" detect scene.hdr bad.hdr --target 160,1
fails "a pixel before the window" 2 "--target: 1,1 is not" detect scene.hdr bad.hdr --target 1,1 --window 5,5,20,20
fails "a table that is not there" 1 "none_such.csv: cannot read it" detect scene.hdr bad.hdr --target none_such.csv
fails "a table of too few rows" 1 "short.csv: rows: 50, but scene.hdr has 100 bands" detect scene.hdr bad.hdr --bbl --target short.csv
fails "a table of other columns" 1 "ragged.csv: line 2: 1 columns" detect scene.hdr bad.hdr --target ragged.csv
{ echo "wavelength,a"; printf '400,'; head -c 500 /dev/zero | tr '\0' w; echo; } >t.csv
fails "a long word in a table" 1 "t.csv: line 2: 'w\{50\}' is no number" detect scene.hdr bad.hdr --target t.csv
fails "a word in a table" 1 "word.csv: line 3: 'x7' is no number" detect scene.hdr bad.hdr --target word.csv
fails "an empty table" 1 "empty.csv: it holds no spectrum" detect scene.hdr bad.hdr --target empty.csv
fails "a table of wavelengths alone" 1 "bare.csv: it holds no spectrum" detect scene.hdr bad.hdr --target bare.csv
fails "a table of bytes" 1 "zero.csv: not a table" detect scene.hdr bad.hdr --target zero.csv
fails "a table that ends too early" 1 "narrow.csv: wavelength: the table does not reach" detect scene.hdr bad.hdr --target narrow.csv
printf 'wavelength,a\n400,2\n500,1\n9000,1\n' >forth.csv
check "wavelengths in another order: runs" good detect scene.hdr same.hdr --target back.csv --method sam
mv same.img back.img
check "wavelengths in order: runs" good detect scene.hdr same.hdr --target forth.csv --method sam
check "wavelengths in any order: the same" cmp same.img back.img
fails "a table by wavelength, a cube without" 1 "bsq.hdr: wavelength: the key is missing" detect bsq.hdr bad.hdr --target narrow.csv
fails "a target of zeros" 1 "--target none.csv: targets: a target is zero" detect scene.hdr bad.hdr --bbl --target none.csv --method sam
printf '\001\002\003\004\005\005\005\005' >dead.img; header dead 2 2 2 1 bsq 0
fails "dead bands" 1 "dead.hdr: covariance: singular.*--ridge" detect dead.hdr bad.hdr --target 1,0
fails "undesired, but not OSP" 2 "--undesired: only --method osp and amsd" detect scene.hdr bad.hdr --target 1,1 --undesired 2,2
fails "the undesired spectrum is the target" 1 "--target 1,1: targets: a target is zero" detect scene.hdr bad.hdr --target 1,1 --undesired 1,1 --method osp
fails "a picture without a truth" 2 "--roc: needs --truth" detect scene.hdr bad.hdr --target 1,1 --roc bad.svg
# What the truth's no-data value marks is neither target nor other: pixels (1, 2), (2, 4), (2, 1) and (1, 1), by their angle.
printf '\001\002\002\004\002\001\001\001' >four.img; header four 4 1 2 1 bip 0
printf '\001\000\000\377' >told.img; header told 4 1 1 1 bsq 0
check "truth: three pixels of it: all count" good detect four.hdr same.hdr --method sam --target 0,0 --truth told.hdr
check "truth: all pixels: the area" is "$(value_of auc)" 0.6250
header told 4 1 1 1 bsq 0 "data ignore value = 255"
check "truth: a missing pixel" good detect four.hdr same.hdr --method sam --target 0,0 --truth told.hdr --report same.csv
check "truth: a missing pixel: the area" is "$(value_of auc)" 0.7500
check "truth: a missing pixel: the report" is "$(tail -n +2 same.csv | cut -d, -f7 | tr '\n' ' ')" "1 0  0 "
printf '\001\377\377\377' >told.img
fails "truth: no other pixel" 1 "told.hdr: --truth: it marks every pixel" detect four.hdr bad.hdr --method sam --target 0,0 --truth told.hdr
printf 'a,b\n10,0\n0,10\n' >pure.csv; printf '\012\000\000\012\005\005' >blend.img; header blend 3 1 2 1 bip 0
printf '\001\000\000\000\000\000\001\000\361\330\001\000' >shares.img; header shares 3 1 2 2 bip 0 "data ignore value = -9999"
check "abundances: a missing pixel" good unmix blend.hdr same.hdr --endmembers pure.csv --abundances shares.hdr
check "abundances: a missing pixel: the others" is "$(value_of rmse)" 0.0000
# The error is that of what was written: through the gains where it is stretched, and not of shares of a sum.
for how in "--rescale 0,1" "--type u8 --rescale 0,255" "--type i16 --rescale=-1000,1000"; do
    # shellcheck disable=SC2086 # several words
    check "abundances, $how: runs" good unmix blend.hdr same.hdr --endmembers pure.csv --abundances shares.hdr $how
    check "abundances, $how: none" near "$(value_of rmse)" 0 0.003
done
sed -i '$a data ignore value = 0' blend.hdr
good unmix blend.hdr known.hdr --endmembers pure.csv --type u8 --rescale 0,255
sed -i '/ignore/d' blend.hdr
check "known abundances as bytes, two pixels missing: runs" good unmix blend.hdr same.hdr --endmembers pure.csv --abundances known.hdr
check "known abundances as bytes, two pixels missing: the other" is "$(value_of rmse)" 0.0000
printf 'a,b\n20,0\n0,20\n' >bright.csv
check "abundances of half: runs" good unmix blend.hdr same.hdr --endmembers bright.csv --abundances shares.hdr --constraint none
check "abundances of half: their error" is "$(value_of rmse)" 0.3536
for how in "unmix --endmembers pure.csv" "detect --target 0,0 --method sam" "rx --precise" "rx --local 1,3 --ridge 1"; do
    # shellcheck disable=SC2086 # several words
    check "stretched, ${how%% *}: as it is" run ${how%% *} blend.hdr plain.hdr ${how#* } --type f64
    # shellcheck disable=SC2086 # several words
    check "stretched, ${how%% *}: runs" run ${how%% *} blend.hdr stretched.hdr ${how#* } --type f64 --rescale 0,10
    check "stretched, ${how%% *}: back" good convert stretched.hdr back.hdr --gains
    check "stretched, ${how%% *}: the same" near "$(band back 1 | cut -d' ' -f2)" "$(band plain 1 | cut -d' ' -f2)" 1e-6
done
fails "the picture over the table" 2 "would replace the input" detect scene.hdr bad.hdr --bbl --target paint.csv --truth scene_truth.hdr --roc paint.csv

echo "== tables as people write them"
# Three pixels of six bands: one spectrum, another, and three quarters of the first with a quarter of the other.
# shellcheck disable=SC2059 # escapes
printf "$(printf '\\%03o' 40 240 90 80 80 80 120 200 140 160 40 130 200 160 190 240 80 200)" >mix.img
nm=400,500,600,700,800,1000
header mix 3 1 6 1 bsq 0 'wavelength units = Nanometers' "wavelength = {$nm}"
sed '/^wavelength/d' mix.hdr >bare.hdr; cp mix.img bare.img
cat >mix.csv <<'END'
wavelength,a,b
400,40,240
500,80,80
600,120,200
700,160,40
800,200,160
1000,240,80
END
# Least, mean and largest abundance of each, in thousandths.
shares() { "$program" info same.hdr | awk 'seen { printf "%.0f %.0f %.0f ", 1000 * $2, 1000 * $3, 1000 * $4 } $1 == "band" { seen = 1 }'; }
# mixes NAME CUBE TABLE [ARGUMENTS...]: the abundances of two spectra are those that the pixels were mixed by
mixes() { check "$1: runs" good unmix "$2" same.hdr --endmembers "$3" "${@:4}"; check "$1" is "$(shares)" "0 583 1000 0 417 1000 "; }
mixes "a table" mix.hdr mix.csv
# by_rows NAME CUBE WHY: the rows of a table with wavelengths are taken for the bands of the cube in their order, and it is said
by_rows() {
    check "$1: runs" run unmix "$2" same.hdr --endmembers mix.csv
    check "$1" is "$(shares)" "0 583 1000 0 417 1000 "
    check "$1: it is said" grep -q "mix.csv: rows are taken for bands in their order, not by wavelength: $2: wavelength: $3" err.txt
}
by_rows "a table by rows: the cube has no wavelengths" bare.hdr "the key is missing"
# other_order NAME FIRST LAST: such rows of t.csv have another order
other_order() {
    fails "a table by rows: $1" 1 "t.csv: wavelength: rows from $2 to $3 do not ascend, and bare.hdr: wavelength: the key is missing" \
        unmix bare.hdr bad.hdr --endmembers t.csv
}
{ head -1 mix.csv; sed 1d mix.csv | sort -rn; } >t.csv; other_order "wavelengths that descend" 1000 400
{ sed -n '1p; 4,7p' mix.csv; sed -n '2,3p' mix.csv; } >t.csv; other_order "wavelengths in any order" 600 500
awk -F, -v OFS=, '{ $1 = NR == 1 ? "wavelength (cm-1)" : 12000 + $1 } 1' mix.csv >t.csv; other_order "wavenumbers that ascend" 12400 13000
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 1 : "band"), $0 }' mix.csv >t.csv
{ head -1 t.csv; sed 1d t.csv | sort -rn; } >u.csv
check "a table by rows: wavelengths that descend beside numbers of bands: runs" run unmix bare.hdr same.hdr --endmembers u.csv
check "a table by rows: wavelengths that descend beside numbers of bands" is "$(shares)" "0 583 1000 0 417 1000 "
sed 's/^1000,/650,/; s/^800,/610,/; s/^700,/590,/' mix.csv >t.csv; check "a table by rows: of two detectors" run unmix bare.hdr same.hdr --endmembers t.csv
sed 's/Nanometers/Index/' mix.hdr >index.hdr; cp mix.img index.img
by_rows "a table by rows: the cube numbers its bands" index.hdr "it numbers the bands"
sed "s/^wavelength = .*/wavelength = {1,2,3,4,5,6}/; s/Nanometers/Unknown/" mix.hdr >counted.hdr; cp mix.img counted.img
by_rows "a table by rows: the cube counts its bands" counted.hdr "it numbers the bands"
sed 's/{400/{0/' mix.hdr >zeroth.hdr; cp mix.img zeroth.img
by_rows "a table by rows: a band without a wavelength" zeroth.hdr "band 1 has 0"
check "a band without a wavelength: it is said once" is "$(grep -c '^hypercube: zeroth.hdr: wavelength: band 1 has 0, so the list is not used$' err.txt)" 1
sed 's/^wavelength = .*/wavelength = {0,0,0,0,0,0}/' mix.hdr >zeros.hdr; cp mix.img zeros.img
check "no band has a wavelength: runs" run endmembers zeros.hdr t.csv --count 2
check "no band has a wavelength: nothing else is said" is "$(cat err.txt)" "hypercube: zeros.hdr: wavelength: band 1 has 0, so the list is not used"
check "a band without a wavelength: a model" good pca mix.hdr same.hdr --components 1 --save waves.model
check "a band without a wavelength: apply" run apply waves.model zeroth.hdr same.hdr
check "a band without a wavelength: apply says it" grep -q 'zeroth.hdr: bands are taken in their order, not by wavelength as waves.model has them' err.txt
# What marks missing numbers in tables is no reflectance.
for gap in -9999 -9999.0 -32768 -1.23e34; do
    sed "s/^600,120/600,$gap/" mix.csv >gapped.csv
    check "$gap in a table: runs" run unmix mix.hdr same.hdr --endmembers gapped.csv
    check "$gap in a table: is missing" grep -q "gapped.csv: column 2 'a' is missing in band 3" err.txt
done
for h in Wavelength WAVELENGTH '"wavelength"' 'Wavelength (nm)' wavelength_nm wavelengths wl WL_nm lambda nm 'Wavelength [nanometers]' 'wave length' \
    'Center Wavelength' 'band center (nm)' wvl Wellenlaenge 'wavelength,nm' wavelengthnm WavelengthNm λ; do
    sed "1s/wavelength/$h/" mix.csv >t.csv
    [ "$h" = wavelength,nm ] && sed -i '1s/.*/"Wavelength, nm",a,b/' t.csv
    mixes "a column called $h" mix.hdr t.csv
done
awk -F, -v OFS=, 'NR > 1 { $1 /= 1000 } 1' mix.csv >um.csv
for h in 'wavelength (um)' 'Wavelength (µm)' wavelength_um micrometers Microns wavelength; do
    sed "1s/wavelength/$h/" um.csv >t.csv
    mixes "micrometres called $h" mix.hdr t.csv
done
awk -F, -v OFS=, 'NR > 1 { $1 = 1e7 / $1 } 1' mix.csv | sed '1s/wavelength/wavenumber (cm-1)/' >t.csv
mixes "wavenumbers" mix.hdr t.csv
for o in "--continuum divide" "--derivative 1"; do
    # shellcheck disable=SC2086 # several words
    good spectra mix.csv same.csv $o && cp same.csv steps.csv
    # shellcheck disable=SC2086
    check "wavenumbers: $o: runs" good spectra t.csv same.csv $o
    check "wavenumbers: $o: over wavelengths" awk -F, 'NR == FNR { a[FNR] = $2; next } FNR > 1 && (a[FNR] - $2)^2 > 1e-10 { bad = 1 } END { exit bad || FNR != 7 }' steps.csv same.csv
done
check "wavenumbers: the help of spectra says so" bash -c "'$program' spectra --help | grep -q 'Wavenumbers (1/cm) become wavelengths in nm'"
for h in 'Wellenzahl' 'Wellenzahl [cm-1]' "nombre d'onde (cm-1)" 'ν̃ \/ cm-1' 'nu (cm^-1)' 'Abscissa [1\/cm]'; do
    awk -F, -v OFS=, 'NR > 1 { $1 = 1e7 / $1 } 1' mix.csv | sed "1s/wavelength/$h/" >t.csv; mixes "wavenumbers called $h" mix.hdr t.csv
done
for h in 'energy (eV)' 'Photon energy' eV; do
    awk -F, -v OFS=, 'NR > 1 { $1 = 1239.841984332 / $1 } 1' mix.csv | sed "1s/wavelength/$h/" >t.csv; mixes "energies called $h" mix.hdr t.csv
done
{ printf '\357\273\277'; sed 's/$/\r/' mix.csv; } >t.csv
mixes "Excel: a byte order mark, carriage returns" mix.hdr t.csv
{ echo 'sep=;'; sed 's/,/;/g; s/80$/80,0/; 1s/wavelength/Wellenl\xc3\xa4nge (nm)/' mix.csv; } >t.csv
mixes "Excel: semicolons and decimal commas" mix.hdr t.csv
tr , '\t' <mix.csv >t.csv; mixes "tabs" mix.hdr t.csv
sed 's/,/   /g; s/^/  /' mix.csv >t.csv; mixes "blanks" mix.hdr t.csv
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 2 : ""), $0 }' mix.csv >t.csv; mixes "pandas: an index" mix.hdr t.csv
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 2 : ""), $2, $3 }' mix.csv >t.csv; mixes "pandas: an index, no wavelengths" mix.hdr t.csv
sed '1s/wavelength//' mix.csv >t.csv; mixes "pandas: wavelengths as the index" mix.hdr t.csv
awk -F, -v OFS=, '{ print (NR > 1 ? "\"" NR - 1 "\"" : "\"\""), $0 }' mix.csv | sed '1s/wavelength,a,b/"wavelength","a","b"/' >t.csv; mixes "R: write.csv" mix.hdr t.csv
awk -F, '{ print (NR > 1 ? NR - 1 " " $2 " " $3 : "a b") }' mix.csv >t.csv; mixes "R: write.table, one name less" mix.hdr t.csv
sed '1s/^/# /' mix.csv >t.csv; mixes "numpy: a heading behind a #" mix.hdr t.csv
{ printf '# by hand, in 2020\n\n'; cat mix.csv; echo; echo '# end'; } >t.csv; mixes "comments and empty lines" mix.hdr t.csv
sed 1d mix.csv >t.csv; mixes "no heading: wavelengths" mix.hdr t.csv
sed 1d um.csv >t.csv; mixes "no heading: micrometres" mix.hdr t.csv
awk -F, -v OFS=, 'NR > 1 { print NR - 1, $2, $3 }' mix.csv >t.csv; mixes "no heading: numbers of rows" bare.hdr t.csv
awk -F, -v OFS=, 'NR > 1 { print NR - 1, $0 }' mix.csv >t.csv; mixes "no heading: numbers of rows, and wavelengths" mix.hdr t.csv
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 1 : "band"), $0 }' mix.csv | sed '1s/wavelength/x/' >t.csv; mixes "numbers of bands, and the cube's own list under another name" mix.hdr t.csv
sed '1s/wavelength/x/' mix.csv >t.csv; mixes "the cube's own list under another name" mix.hdr t.csv
awk -F, -v OFS=, '{ print (NR > 1 ? NR : "Band"), $0, (NR > 1 ? 10 : "FWHM (nm)") }' mix.csv >t.csv; mixes "numbers of bands, and widths" mix.hdr t.csv
sed 's/$/,/' mix.csv >t.csv; mixes "commas at the ends of lines" mix.hdr t.csv
sed '1!s/$/,/' mix.csv >t.csv; mixes "commas at the ends of lines, but for the heading" mix.hdr t.csv
{ head -1 mix.csv; sed 1d mix.csv | sort -rn; } >t.csv; mixes "a descending table" mix.hdr t.csv
{ head -1 mix.csv; sed 1d mix.csv | sort -t, -k3; } >t.csv; mixes "rows in no order" mix.hdr t.csv
for order in "5 3 2 4 7 6" "2 5 7 3 4 6" "3 4 6 7 2 5" "2 4 6 3 5 7" "2 3 4 6 7 5" "7 2 3 4 5 6"; do
    { head -1 mix.csv; for r in $order; do sed -n "${r}p" mix.csv; done; } >t.csv; mixes "rows in the order $order" mix.hdr t.csv
done
tr '\n' '\r' <mix.csv >t.csv; mixes "carriage returns only" mix.hdr t.csv
for h in 'a_std' 'b (std)' 'a.sd' 'B StDev'; do
    sed "1s/\$/,$h/; 1!s/\$/,7/" mix.csv >t.csv; mixes "deviations beside their spectra: $h" mix.hdr t.csv
done
{ cat mix.csv; echo '1100,missing,nothing'; } >t.csv; mixes "Julia: a row without values" mix.hdr t.csv
{ cat mix.csv; printf '1100,-,\n'; sed -n '4s/^600/390/p' mix.csv | sed 's/120/NaN/; s/200/-1.23e34/'; } >t.csv; mixes "gaps in bands that are not in use" mix.hdr t.csv
awk -F, -v OFS=, 'NR > 1 { $1 += (NR - 4) / 100000 } 1' mix.csv >t.csv; mixes "rounding at the ends" mix.hdr t.csv
awk -F, -v OFS=, '{ $4 = (NR == 1 ? "c" : NR == 3 ? "NA" : 7) } 1' mix.csv >t.csv
check "a gap: the spectrum is left out" run unmix mix.hdr same.hdr --endmembers t.csv
check "a gap: the others are of use" is "$(shares)" "0 583 1000 0 417 1000 "
check "a gap: it is said" grep -q "t.csv: column 4 'c' is missing in band 2" err.txt
sed '1s/a,b/"soil, dry","veg {x}"/' mix.csv >t.csv; mixes "names with commas and braces" mix.hdr t.csv
check "names with commas and braces: in the header" says same.hdr '  soil; dry,' '  veg (x)}'
sed 's/\(.*\),\(.*\)/\1,\2,\2/; 1s/b,b/b,c/' mix.csv >t.csv; fails "the same spectrum twice" 1 "t.csv: endmembers: .*The most alike are b and c" unmix mix.hdr bad.hdr --endmembers t.csv
awk -F, -v OFS=, 'NR > 1 { print NR - 1, $2, $3, 2 * $2 }' mix.csv >t.csv; fails "the same spectrum twice, without names" 1 "The most alike are 1 and 3$" unmix mix.hdr bad.hdr --endmembers t.csv --constraint none
sed '1s/$/,shade/; 2,$s/$/,0/' mix.csv >t.csv; fails "a spectrum of zeros" 1 "t.csv: spectrum shade is 0 in all bands in use" unmix mix.hdr bad.hdr --endmembers t.csv --constraint nonnegative
awk -F, -v OFS=, '{ print $0, (NR == 1 ? "m" : -$2) }' mix.csv >t.csv; fails "a spectrum and its negative" 1 "The most alike are a and m$" unmix mix.hdr bad.hdr --endmembers t.csv --constraint none
awk -F, -v OFS=, '{ print $0, (NR == 1 ? "part" : NR > 4 ? 5 : 0) }' mix.csv >t.csv
for o in "--endmembers t.csv --constraint none" "--library t.csv"; do
    # shellcheck disable=SC2086 # several words
    fails "a spectrum of zeros in bands in use, ${o%% *}" 1 "t.csv: spectrum part is 0 in all bands in use" unmix mix.hdr bad.hdr --bands 1-3 $o
done
sed '1s/.*/wavelength,a,b,shade,c/; 2,$s/\(.*\),\(.*\)/\1,\2,0,\2/' mix.csv >t.csv; fails "a spectrum of zeros, abundances that sum to 1" 1 "The most alike are b and c$" unmix mix.hdr bad.hdr --endmembers t.csv
awk -F, -v OFS=, '{ print $0, (NR == 1 ? "dark" OFS "black" : 0 OFS 0) }' mix.csv >t.csv
for m in sum full; do fails "two spectra of zeros, $m" 1 "The most alike are dark and black$" unmix mix.hdr bad.hdr --endmembers t.csv --constraint $m; done
awk -F, -v OFS=, '{ print $0, (NR == 1 ? "twice" OFS "copy" : 2 * $2 OFS $3) }' mix.csv >t.csv; fails "a spectrum and twice it, abundances that sum to 1" 1 "The most alike are b and copy$" unmix mix.hdr bad.hdr --endmembers t.csv
sed 's/a,b/a,Std/' mix.csv >t.csv; fails "deviations" 1 "t.csv: column 3 'Std' is no spectrum" unmix mix.hdr bad.hdr --endmembers t.csv
sed '1s/wavelength/spectral/; 2s/400/390/' mix.csv >t.csv; fails "a heading that does not tell" 1 "t.csv: column 1 'spectral' looks like wavelengths" unmix mix.hdr bad.hdr --endmembers t.csv
sed '1s/wavelength/id/' mix.csv | awk -F, -v OFS=, 'NR > 1 { $1 = 7.5 - NR } 1' >t.csv; fails "an index that does not count" 1 "t.csv: column 1 'id' is no spectrum" unmix mix.hdr bad.hdr --endmembers t.csv
awk -F, -v OFS=, 'NR > 1 { print $1 * 30, $2, $3 }' mix.csv >t.csv; fails "no heading, and the cube states none" 1 "t.csv: column 1 without a heading looks like wavelengths" unmix bare.hdr bad.hdr --endmembers t.csv
awk -F, -v OFS=, 'NR > 1 { print 1e7 / $1, $2 / 1000, $3 / 1000; next } { print "x", $2, $3 }' mix.csv >t.csv; fails "an x that does not reach" 1 "t.csv: column 1 'x' looks like wavelengths, and does not reach" unmix mix.hdr bad.hdr --endmembers t.csv
awk -F, -v OFS=, '{ $1 = (NR == 1 ? "band" : "B" NR) } 1' mix.csv >t.csv; fails "names of bands" 1 "t.csv: line 2: 'B2' is no number (column 1 'band')" unmix mix.hdr bad.hdr --endmembers t.csv
printf 'name,400,500\nsoil,1,2\nveg,3,4\n' >t.csv; fails "spectra in rows" 1 "t.csv: line 2: 'soil' is no number (column 1 'name'): a table has a row for each band" unmix mix.hdr bad.hdr --endmembers t.csv
sed '1s/wavelength/wavelength (um)/' mix.csv >t.csv; fails "a unit that cannot be" 1 "t.csv: wavelength: the table does not reach 400 nm.* (um)" unmix mix.hdr bad.hdr --endmembers t.csv
sed '1s/.*/wavelength,a,b,c/' mix.csv >t.csv; fails "a heading too long" 1 "t.csv: line 2: 3 columns, but the first line has 4" unmix mix.hdr bad.hdr --endmembers t.csv

echo "== tables whose columns say more"
# Headings that look like units or wavelengths, and name spectra.
for h in microcline,nanolite edge,center edge,wave mica,millet; do
    { echo "wavelength,$h"; sed 1d mix.csv; } >t.csv; mixes "spectra called $h" mix.hdr t.csv
    { echo "$h"; sed 1d mix.csv | cut -d, -f2,3; } >t.csv; mixes "spectra called $h, no wavelengths" mix.hdr t.csv
    { echo "$h,wavelength"; sed 1d mix.csv | awk -F, -v OFS=, '{ print $2, $3, $1 }'; } >t.csv; mixes "spectra called $h before the wavelengths" mix.hdr t.csv
done
for h in center Centre 'Bandpass wavelength (nm)' 'nanomètres' 'longitud de onda (nanómetros)' wave; do
    sed "1s/wavelength/$h/" mix.csv >t.csv; mixes "wavelengths called $h" mix.hdr t.csv
done
{ echo center,edge; sed 1d mix.csv | cut -d, -f2,3; } >t.csv
fails "a spectrum that may be wavelengths" 1 "t.csv: column 1 'center' may hold wavelengths.*or a spectrum" unmix mix.hdr bad.hdr --endmembers t.csv
# A column `band` says which band a row is of.
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 1 : "band"), $2, $3 }' mix.csv >bands.csv
mixes "a column band" mix.hdr bands.csv
mixes "a column band, some bands" mix.hdr bands.csv --bands 1,3-6
awk -F, 'NR != 3' bands.csv >t.csv; mixes "a column band without those that are not in use" mix.hdr t.csv --bands 1,3-6
awk -F, -v OFS=, 'NR > 1 { $1-- } 1' bands.csv >t.csv; mixes "a column band from 0" mix.hdr t.csv --bands 1,3-6
awk -F, -v OFS=, '{ print $2, $3, $1 }' bands.csv | paste -d, <(cut -d, -f1 mix.csv) - >t.csv; mixes "a column band behind the spectra" bare.hdr t.csv --bands 1,3-6
head -n 6 bands.csv >t.csv
fails "a column band that ends too early" 1 "t.csv: column 1 'band': no row is numbered 6, which is band 6 of mix.hdr" unmix mix.hdr bad.hdr --endmembers t.csv --bands 1,3-6
# Commas between thousands.
awk -F, 'NR == 1 { print "wavelength;a;b" } NR > 1 { printf "%d;%d,%03d;%d,%03d\n", $1, $2 / 10, $2 % 10 * 100, $3 / 10, $3 % 10 * 100 }' mix.csv >t.csv
check "commas before three digits: runs" run unmix mix.hdr same.hdr --endmembers t.csv
check "commas before three digits: it is said" grep -q 't.csv: numbers with a comma: 12, all with three digits' err.txt
sed 's/,[0-9]*$/,5/' t.csv >u.csv; check "commas before other digits: nothing is said" good unmix mix.hdr same.hdr --endmembers u.csv
sed 's/[0-9]*,/0,/g' t.csv >u.csv; run unmix mix.hdr same.hdr --endmembers u.csv; check "commas behind 0: nothing is said" bash -c "! grep -q 'with a comma' err.txt"
# Which line it is.
{ echo 'sep=,'; sed '3s/80/x/' mix.csv; } >t.csv; fails "a line behind sep=" 1 "t.csv: line 4: 'x' is no number" unmix mix.hdr bad.hdr --endmembers t.csv
{ echo; sed '1s/.*/wavelength,a,b,c/' mix.csv; } >t.csv; fails "a heading too long in line 2" 1 "t.csv: line 3: 3 columns, but the first line has 4" unmix mix.hdr bad.hdr --endmembers t.csv
# Gains of a table: by wavelength, by number, by row.
printf 'gain,offset\n1,1\n2,0\n3,0\n4,0\n5,0\n6,2\n' >gain.csv
paste -d, <(cut -d, -f1 mix.csv) gain.csv >nmgain.csv
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 1 : "band"), $0 }' gain.csv >bandgain.csv
check "correct gains: by row" good correct mix.hdr gain.hdr --method gains --table gain.csv
gains() { # gains NAME TABLE [ARGUMENTS...]: the same as by row
    check "correct gains: $1: runs" good correct mix.hdr same.hdr --method gains --table "$2" "${@:3}"
    check "correct gains: $1" cmp same.img gain.img
}
gains "by wavelength" nmgain.csv
{ head -1 nmgain.csv; sed 1d nmgain.csv | sort -rn; } >t.csv; gains "wavelengths that descend" t.csv
gains "by number" bandgain.csv
{ head -1 bandgain.csv; sed 1d bandgain.csv | sort -t, -k3r; } >t.csv; gains "by number, in another order" t.csv
for heading in id no nr row index idx '#' 'Unnamed: 0' ''; do
    sed "1s/.*/$heading,gain,offset/" t.csv >t2.csv; gains "by number, in another order, headed '$heading'" t2.csv
done
sed '1s/band/n/; 2s/^[^,]*/9/' t.csv >t2.csv; check "correct gains: numbers of something else: runs" run correct mix.hdr same.hdr --method gains --table t2.csv
check "correct gains: numbers of something else: it is said" grep -q "t2.csv: --table: column 1 'n' is not used" err.txt
sed '1s/band/id/; 2s/^[^,]*/9/' t.csv >t2.csv
fails "correct gains: numbers in another order with a gap" 1 "t2.csv: column 1 'id' numbers rows that stand in another order" \
    correct mix.hdr bad.hdr --method gains --table t2.csv
bad_number() { # bad_number NAME NUMBER PATTERN
    sed "3s/^[^,]*/$2/" t.csv >t2.csv
    fails "correct gains: $1" 1 "t2.csv: --table: column 1 'band': $3, and rows are taken by these numbers" \
        correct mix.hdr bad.hdr --method gains --table t2.csv
}
bad_number "a number twice" "$(cell 2 1 t.csv)" "rows 1 and 2 both have $(cell 2 1 t.csv)"
bad_number "a number that is missing" "" "row 2 has no number"
bad_number "a fraction of a number" 1.5 "row 2 has 1.5"
sed '1s/$/,gain_std/; 1!s/$/,9/' gain.csv >t.csv; gains "a deviation beside them" t.csv
good correct mix.hdr gain.hdr --method gains --table gain.csv --bands 2-5
awk 'NR < 2 || NR > 2 && NR < 7' bandgain.csv >t.csv; gains "by number, some bands" t.csv --bands 2-5
awk 'NR != 2' nmgain.csv >t.csv; gains "by wavelength, some bands" t.csv --bands 2-5
fails "correct gains: wavelengths that do not reach" 1 "t.csv: wavelength: the table does not reach 400 nm, band 1 of mix.hdr" correct mix.hdr bad.hdr --method gains --table t.csv
sed '1s/$/,gain b/; 1!s/$/,9/' gain.csv >t.csv
fails "correct gains: two columns of gains" 1 "t.csv: --table: column 1 'gain' and column 3 'gain b'" correct mix.hdr bad.hdr --method gains --table t.csv
head -1 gain.csv >t.csv; fails "correct gains: a heading alone" 1 "t.csv: --table: it has no rows" correct mix.hdr bad.hdr --method gains --table t.csv
# Widths of another sensor in a unit of their own.
printf 'wavelength (nm),fwhm (nm)\n600,150\n700,200\n' >sensor.csv
check "--resample: widths in nm" good spectra mix.csv resampled.csv --resample sensor.csv
for w in 'fwhm (um):0.15:0.2' 'FWHM [1/cm]:4166.666667:4081.632653' 'fwhm:150:200'; do
    printf 'wavelength (nm),%s\n600,%s\n700,%s\n' $(echo "$w" | tr ' ' _ | tr : ' ') >t.csv
    check "--resample: ${w%%:*}: runs" good spectra mix.csv same.csv --resample t.csv
    check "--resample: ${w%%:*}: the same" awk -F, 'NR == FNR { a[FNR] = $2; next } FNR > 1 && (a[FNR] - $2)^2 > 1e-12 { bad = 1 } END { exit bad || FNR < 3 }' resampled.csv same.csv
done
cp library.hdr kept.hdr
fails "--resample: over the header of its library" 2 "library.hdr: the output would replace the input" spectra scene.hdr library.hdr --resample library.sli --bbl
check "--resample: the library is as it was" cmp library.hdr kept.hdr
# Options of cubes.
cp mix.csv t.csv
for o in "--bands 1-3" --bbl "--mask nothere" "--window 9,9,9,9" "--nodata 3" "--id 0" --exclude-zero "--html bad.html" "--quicklook bad.png" "--type u8" "--interleave bip"; do
    # shellcheck disable=SC2086 # words
    fails "spectra of a table, $o" 2 "${o%% *}: t.csv is a table, and this option is for cubes" spectra t.csv bad.csv --smooth 3 $o
done
for o in "--html bad.html" "--quicklook bad.png" "--type u8"; do
    # shellcheck disable=SC2086 # words
    fails "spectra --at, $o" 2 "${o%% *}: --at writes a table, and this option is for cubes" spectra mix.hdr bad.csv --at 1,0 $o
done
echo 'wavelength (nm),fwhm' >t.csv; fails "--resample: a heading alone" 1 "t.csv: --resample: it has no rows" spectra mix.csv bad.csv --resample t.csv

# Spectra whose names are units, too: they are none unless in brackets.
for h in a.u. A.U. m_a x_m micro u/m; do
    sed "1s,.*,wavelength;$h;b,; s/,/;/g" mix.csv >t.csv; mixes "a spectrum '$h'" mix.hdr t.csv
done
sed '1s/.*/nm,a.u.,m/' mix.csv >t.csv; mixes "a column nm before spectra of other units" mix.hdr t.csv
awk -F, -v OFS=, '{ print (NR > 1 ? $1 * 1e-9 : "x (m)"), $2, $3 }' mix.csv >t.csv; mixes "wavelengths in metres, in brackets" mix.hdr t.csv
printf 'ENVI ASCII Plot File [x]\nColumn 1 Wavelength\nColumn 2: a\n 420 1\n 500 2\n 600 3\n' >t.txt
fails "a plot of ENVI without a colon" 1 "t.txt: a column .wavelength. is missing" spectra t.txt bad.csv --smooth 3

echo "== numbers of rows and bands, in any order and place"
shuffled() { head -1 "$1"; sed 1d "$1" | sort -t, -k2r; }
awk -F, -v OFS=, '{ print (NR > 1 ? 20 - NR : ""), $0 }' mix.csv >t.csv; mixes "pandas: an index that descends" mix.hdr t.csv
for h in index band channel row id; do
    awk -F, -v OFS=, -v h=$h '{ print (NR > 1 ? 20 - NR : h), $0 }' mix.csv >t.csv; mixes "$h, descending, before wavelengths" mix.hdr t.csv
    awk -F, -v OFS=, -v h=$h '{ print $1, (NR > 1 ? NR * 7 % 11 : h), $2, $3 }' mix.csv >t.csv; mixes "$h behind wavelengths" mix.hdr t.csv
done
shuffled bands.csv >t.csv; mixes "a column band in any order" bare.hdr t.csv
awk -F, -v OFS=, '{ print $2, $1, $3 }' t.csv >u.csv; mixes "a column band between spectra, in any order" bare.hdr u.csv
awk -F, -v OFS=, '{ print $2, $3, $1 }' t.csv >u.csv; mixes "a column band at the end, in any order" bare.hdr u.csv
awk -F, -v OFS=, 'NR > 1 { $1 = 5 } 1' bands.csv >u.csv; fails "a column band that does not count" 1 "u.csv: column 1 'band' is no spectrum" unmix bare.hdr bad.hdr --endmembers u.csv
for h in 'lambda\/nm' 'CWL' 'λ\/nm' 'X (nm)'; do
    sed "1s/wavelength/$h/" mix.csv | awk -F, -v OFS=, '{ print $2, $3, $1 }' >u.csv; mixes "$h behind the spectra" mix.hdr u.csv
    { head -1 u.csv; sed 1d u.csv | sort -t, -k3rn; } >t.csv; mixes "$h behind the spectra, descending" mix.hdr t.csv
done
awk -F, -v OFS=, '{ print $2, $3, (NR > 1 ? $1 : "what") }' mix.csv >t.csv; mixes "the cube's own list behind the spectra" mix.hdr t.csv
{ head -1 t.csv; sed 1d t.csv | sort -t, -k3rn; } >u.csv; mixes "the cube's own list behind the spectra, descending" mix.hdr u.csv
sed 1d mix.csv | sed '3s/160/#DIV\/0!/' >t.csv; cp t.csv t3.csv
sed -i '3s/120/x/' t3.csv
fails "no heading: a cell that is no number" 1 "t3.csv: line 3: 'x' is no number (column 2 without a heading)" unmix mix.hdr bad.hdr --endmembers t3.csv
for how in "detect --method sam --target" "detect --method sam --library" "correct --method gains --table"; do
    # shellcheck disable=SC2086 # several words
    fails "no heading: a cell that is no number, ${how##* }" 1 "t3.csv: line 3: 'x' is no number" ${how%% *} mix.hdr bad.hdr ${how#* } t3.csv
done
printf '400,500,600,700,800,1000\n40,80,120,160,200,240\n' >t.csv
fails "no heading: a spectrum in each row" 1 "t.csv: rows: 2, but bare.hdr has 6 bands.*Has it a spectrum in each row" unmix bare.hdr bad.hdr --endmembers t.csv
printf '0,%s\n' 40 80 120 160 200 240 >t.csv
fails "no heading: a decimal comma in one column" 1 "t.csv: column 1 holds nothing but 0 and 1: are its commas decimal points" unmix mix.hdr bad.hdr --endmembers t.csv
sed '1s/$/,add/; 1!s/$/,9/' gain.csv >t.csv; check "correct gains: a column of another name: runs" run correct mix.hdr same.hdr --method gains --table t.csv
check "correct gains: a column of another name: it is said" grep -q "t.csv: --table: column 3 'add' is not used" err.txt
printf 'wavelength (um),fwhm\n0.6,150\n0.7,200\n' >t.csv
fails "--resample: widths in another unit" 1 "t.csv: fwhm: its first band is 150000 nm wide.*another unit" spectra mix.csv bad.csv --resample t.csv
printf 'wavelength (nm),fwhm\n600,0.15\n700,0.2\n' >t.csv
fails "--resample: widths in um" 1 "t.csv: fwhm: its bands are about 0.175 nm wide, and 100 nm apart.*another unit" spectra mix.csv bad.csv --resample t.csv
{ cat mix.hdr; echo 'fwhm = {.1,.1,.1,.1,.1,.1}'; } >narrow.hdr; cp mix.img narrow.img
fails "--resample: widths of a cube in um" 1 "narrow.hdr: fwhm: its bands are about 0.1 nm wide, and 120 nm apart.*another unit" spectra mix.csv bad.csv --resample narrow.hdr
printf 'wavelength (nm),fwhm\n600,1\n900,1\n' >t.csv; check "--resample: two narrow lines" good spectra mix.csv same.csv --resample t.csv
printf 'band,wavelength (nm),fwhm (nm)\nB2,600,150\nB3,700,200\n' >t.csv
check "--resample: bands with names: runs" good spectra mix.csv same.csv --resample t.csv
check "--resample: bands with names: the same" cmp same.csv resampled.csv
if [ -f library.sli ]; then
    check "spectra of a library by its data" good spectra library.sli same.csv --smooth 3
    cp same.csv by_data.csv
    check "spectra of a library by its header" good spectra library.hdr same.csv --smooth 3
    check "spectra of a library by its header: the same" cmp by_data.csv same.csv
fi
# 1 to 6 um would reach all bands of this cube.
header nir 3 1 6 1 bsq 0 'wavelength units = Nanometers' 'wavelength = {1100,1500,2700,3600,4900,5800}'; cp mix.img nir.img
for h in "" id row Nr. index no '#' n x band channel; do
    awk -F, -v OFS=, -v h="$h" '{ print (NR > 1 ? NR - 1 : h), $2, $3 }' mix.csv >t.csv; mixes "numbers of rows that might be um: '$h'" nir.hdr t.csv
    awk -F, -v OFS=, -v h="$h" '{ print $2, (NR > 1 ? NR - 1 : h), $3 }' mix.csv >t.csv
    [ -z "$h" ] || [ "$h" = n ] || [ "$h" = x ] || mixes "numbers of rows that might be um, behind a spectrum: '$h'" nir.hdr t.csv
done
sed 1d t.csv | awk -F, -v OFS=, '{ print NR, $1, $3 }' >u.csv; mixes "numbers of rows that might be um, no heading" nir.hdr u.csv
# Rows that are numbered in another order than they stand in.
for h in "" id row Nr. index no '#'; do
    shuffled bands.csv | sed "1s/band/$h/" >t.csv; mixes "rows in any order, by their numbers: '$h'" bare.hdr t.csv --bands 1,3-6
    awk -F, -v OFS=, 'NR > 1 { $1-- } 1' t.csv >u.csv; mixes "rows in any order, by their numbers from 0: '$h'" bare.hdr u.csv
done
shuffled bands.csv | sed 1d >t.csv; mixes "rows in any order, by their numbers: no headings at all" bare.hdr t.csv --bands 1,3-6
awk -F, -v OFS=, '{ $1-- } 1' t.csv >u.csv; mixes "rows in any order, by their numbers from 0: no headings at all" bare.hdr u.csv
printf '1,0\n0,1\n' >u.csv; check "two rows of 1 and 0" run unmix bare.hdr same.hdr --endmembers u.csv --bands 1,2
check "two rows of 1 and 0: two spectra" grep -q ' endmembers=2 ' out.txt
shuffled bands.csv | awk -F, -v OFS=, 'NR > 1 { $1 += 4 } 1' | sed '1s/band/id/' >t.csv
numbered="t.csv: column 1 'id' numbers rows that stand in another order"
fails "rows in any order, numbers from 5" 1 "$numbered: it has 6 rows, 5 to 10, and bare.hdr has 6 bands" unmix bare.hdr bad.hdr --endmembers t.csv
shuffled bands.csv | sed '1s/band/id/; 3d' >t.csv
fails "rows in any order, some bands" 1 "$numbered: it has 5 rows" unmix bare.hdr bad.hdr --endmembers t.csv --bands 2-6
# Points between thousands: beside decimal commas, or beside numbers of three digits.
{ echo 'wavelength;a;b'; awk -F, 'NR > 1 { printf "%s;%d,5;%d.%03d\n", $1, $2, $3 / 10, $3 % 10 * 100 }' mix.csv; } >t.csv
fails "points before three digits, beside decimal commas" 1 "t.csv: line 2: 24.000 (column 3 'b'): its point may divide thousands, as other numbers have decimal commas: write 24000, or 24.0000" \
    unmix mix.hdr bad.hdr --endmembers t.csv
printf 'wavelength;a;b\n400;2;3\n500;2;4\n600;4;2\n800;4;3\n995;4;3\n1.000;1;2\n' >t.csv
fails "a point before three digits, beside numbers of three digits" 1 "t.csv: line 7: 1.000 (column 1 'wavelength'): its point may divide thousands, as others in its column are whole" \
    unmix mix.hdr bad.hdr --endmembers t.csv
printf 'wavelength;101;102;103\n400;2;3;1\n500;2;4;1\n600;4;2;1\n800;4;3;1\n995;4;3;1\n1.000;1;2;1\n' >t.csv
fails "the same where spectra have numbers for names" 1 "t.csv: line 7: 1.000 (column 1 'wavelength'): its point may divide thousands" \
    unmix mix.hdr bad.hdr --endmembers t.csv
# Commas between thousands: beside decimal points, or beside numbers of three digits.
printf 'wavelength\tsoil\n400.0\t995\n500.0\t1,040\n600.0\t1,112\n' >t.csv
fails "commas before three digits, beside decimal points" 1 "t.csv: line 3: 1,040 (column 2 'soil'): its comma may divide thousands, as other numbers have decimal points: write 1040, or 1.0400" \
    spectra t.csv bad.csv --smooth 3
sed 's/\.0//' t.csv >u.csv
fails "a comma before three digits, beside numbers of three digits" 1 "u.csv: line 3: 1,040 (column 2 'soil'): its comma may divide thousands, as others in its column are whole" \
    spectra u.csv bad.csv --smooth 3
sed 's/995/9,5/; s/\.0//' t.csv >u.csv; check "commas before three digits, beside decimal commas" good spectra u.csv same.csv --smooth 3
sed 's/^\([0-9]*\),\([0-9]*\),/\1,\2.000,/' mix.csv >t.csv; mixes "points before three digits in a whole column" mix.hdr t.csv
awk -F, -v OFS=, 'NR > 1 { $2 = NR == 2 ? "40.5" : $2; $3 = NR == 2 ? "240.125" : NR == 3 ? "80.5" : $3 } 1' mix.csv >t.csv
check "a point before three digits, beside other decimals" good unmix mix.hdr same.hdr --endmembers t.csv
sed "1s/wavelength/wavelength (nm)/" mix.csv >mixnm.csv
# Units of wavelengths: among other words, unknown ones, and none, where the largest number tells nm from um.
for u in 'Raman shift (cm-1)' 'rel. 1/cm' 'Raman shift [cm^-1]'; do
    sed "s/Nanometers/${u//\//\\/}/; s/^wavelength = .*/wavelength = {25000,20000,16666.6666667,14285.7142857,12500,10000}/" mix.hdr >unit.hdr; cp mix.img unit.img
    mixes "a unit among other words: $u" unit.hdr mixnm.csv
    check "a unit among other words: $u: endmembers" good endmembers unit.hdr own.csv --count 2
    check "a unit among other words: $u: is in the heading" grep -q '^wavelength ([^()]*1/cm)\|^wavelength (Raman shift \[cm^-1\])' own.csv
    check "a unit among other words: $u: the endmembers are those of a cube in nanometres" good unmix mix.hdr same.hdr --endmembers own.csv
done
sed 's/Nanometers/Raman Shift/' mix.hdr >unit.hdr; cp mix.img unit.img
check "a unit that is unknown: runs" run unmix unit.hdr same.hdr --endmembers mixnm.csv
check "a unit that is unknown: it is said once" is "$(cat err.txt)" "hypercube: unit.hdr: wavelength units: 'Raman Shift' is no unit that is known: the wavelengths are taken to be in nm, by their size"
sed 's/Raman/Rayleigh/' unit.hdr >other.hdr; cp mix.img other.img
check "two units that are unknown: runs" run compare unit.hdr other.hdr same.hdr
check "two units that are unknown: each is said once" is "$(sed 's/^hypercube: \([a-z]*\).hdr: .* is no unit .*/\1/' err.txt | xargs)" "unit other"
sed 's/Nanometers/Unknown/; s/{400,/{40,/' mix.hdr >unit.hdr
sed '2s/^400/40/' mixnm.csv >t.csv; mixes "a unit that is not stated: the largest number tells" unit.hdr t.csv
sed '2s/^400/40/' mix.csv >t.csv
check "a table that states no unit: the largest number tells" good spectra t.csv same.csv --smooth 3
check "a table that states no unit: its wavelengths" is "$(cell 2 1 same.csv)" 40
printf 'wavelength,fwhm\n80,40\n600,100\n' >u.csv; check "a sensor that states no unit: the largest number tells" good spectra t.csv same.csv --resample u.csv
check "a sensor that states no unit: its wavelengths" is "$(cell 2 1 same.csv)" 80
printf 'name;wavelength;fwhm\n"Blue, coastal";0.500;0.020\nGreen, 2;0.600;0.035\nNIR;1.000;0.030\n' >u.csv
check "a sensor with commas in names: its points are decimal points" good spectra mix.csv same.csv --resample u.csv
check "a sensor with commas in names: its wavelengths" is "$(cut -d, -f1 same.csv | xargs)" "wavelength (nm) 500 600"
tr ';' , <u.csv | sed 's/Green, 2/"Green, 2"/' >t.csv; cp same.csv u.csv
check "a sensor with commas in names, in quotes" good spectra mix.csv same.csv --resample t.csv
check "a sensor with commas in names, in quotes: the same" cmp same.csv u.csv
# A spreadsheet's words at the beginning of a line are cells, and no comments.
for w in '#N/A' '#NV' k.A. n.a.; do
    sed "1s/.*/a,wavelength,b/; s/^\([0-9]*\),\([0-9]*\),/\2,\1,/; 3s|^80|$w|" mix.csv | sed '1s/^a/c/' | paste -d, - <(cut -d, -f2 mix.csv) >t.csv
    check "$w in the first column: runs" run unmix mix.hdr same.hdr --endmembers t.csv
    check "$w in the first column: is missing" grep -q "t.csv: column 1 'c' is missing in band 2" err.txt
    check "$w in the first column: the others are of use" is "$(shares)" "0 417 1000 0 583 1000 "
done
for w in '#WERT!' '#VALUE!' '#NAME?' '#DIV/0!'; do
    sed "3s|^500|$w|" mix.csv >t.csv; fails "$w in the first column" 1 "t.csv: line 3: '$w' is no number" unmix mix.hdr bad.hdr --endmembers t.csv
done
{ sed 's/,/;/g' mix.csv; printf ';;\r\n;;\n"";;\n'; } >t.csv; mixes "rows of separators at the end" mix.hdr t.csv
{ cut -d, -f2,3 mix.csv | tr , '\t'; printf '\t\n\t'; } >t.csv; mixes "rows of separators at the end, no wavelengths" mix.hdr t.csv
{ cat mix.csv; printf '1100,,\n,,\n'; } >t.csv; mixes "a row without values, and one without cells" mix.hdr t.csv
# A row without a cell may be a band without values: rows that are taken in their order would move by one.
bare_rows() { fails "$1" 1 "t.csv: rows: 5 with a cell, $2 without, but bare.hdr has 6 bands: which of them" unmix bare.hdr bad.hdr --endmembers t.csv --bands "$3"; }
cut -d, -f2,3 mix.csv | sed '7s/.*/,/' >t.csv; bare_rows "the last row has no cell" 1 2-6
cut -d, -f2,3 mix.csv | sed '7s/.*/nan,nan/' >t.csv; fails "the last row says nan" 1 "none of 2 spectra has all bands" unmix bare.hdr bad.hdr --endmembers t.csv
cut -d, -f2,3 mix.csv | sed '7s/.*/"",""/' >t.csv; echo , >>t.csv; bare_rows "the last row has empty quotes, and one more follows" 2 2-6
cut -d, -f2,3 mix.csv | sed '1d; 2s/.*/,/' >t.csv; bare_rows "the first row has no cell" 1 1-5
cut -d, -f2,3 mix.csv | tr , '\t' | sed '4s/.*/\t/' >t.csv; bare_rows "a row of tabs alone" 1 2-6
cut -d, -f2 mix.csv | sed '4s/.*//' >t.csv; bare_rows "an empty line in the only column" 1 2-6
{ echo ,; cut -d, -f2,3 mix.csv | sed 2d; } >t.csv; check "a row without a cell above the headings" good unmix bare.hdr same.hdr --endmembers t.csv --bands 2-6
{ echo ,,; sed 2d bands.csv; echo ,,; } >t.csv
check "rows without a cell around numbered bands" good unmix bare.hdr same.hdr --endmembers t.csv --bands 2-6
{ echo ,,; sed 1d mix.csv; } >t.csv; mixes "a row without a cell above wavelengths" mix.hdr t.csv
# Names in CP1252 become UTF-8, and such in UTF-8 stay.
printf '1s/.*/Wellenl\\xe4nge,Gr\\xfcn \\x96 na\\xdf,Gr\xc3\xbcn \x80/\n' >names.sed
LC_ALL=C sed -f names.sed mix.csv >t.csv; mixes "names in CP1252" mix.hdr t.csv
check "names in CP1252: are UTF-8 in headers" says same.hdr '  Grün – naß,' '  Grün €}'
check "names in CP1252: a table" good spectra t.csv same.csv --smooth 3
check "names in CP1252: are UTF-8 in tables" is "$(head -n 1 same.csv)" "wavelength (nm),Grün – naß,Grün €"
# With less and less memory a cube whose values are made from others is streamed: 32 MB of them, 64 MB or more made of them.
head -c 32000000 /dev/urandom >stored.img; header stored 400 800 50 12 bsq 1 'reflectance scale factor = 10000'
in_kb() { # KB ARGUMENTS...: within so much memory
    bash -c "ulimit -v $1 && OMP_NUM_THREADS=1 exec '$program' pca stored.hdr same.hdr --components 1 --reflectance ${*:2}" >out.txt 2>err.txt
}
least=20000; while [ $least -lt 400000 ] && ! in_kb $least --block 8; do least=$((least + 4000)); done
if [ $least -lt 400000 ]; then
    short=; for more in $(seq 44000 8000 124000); do in_kb $((least + more)) || short="$short $more"; done
    check "a cube in less and less memory${short:+: not in$short KB}" test -z "$short"
else
    skip "limits of memory do not work here"
fi
rm stored.*

echo "== spectra in rows"
# turned TABLE: the same spectra with a row for each of them, and without their names
turned() { awk -F, '{ for (c = 1; c <= NF; c++) cell[c, NR] = $c; n = NF } END { for (c = 1; c <= n; c++) for (r = 1; r <= NR; r++) printf "%s%s", cell[c, r], r < NR ? "," : "\n" }' "$1"; }
unnamed() { cut -d, -f2- "$1"; }
for h in name '' Spectrum wavelength 'wavelength (nm)' id 'Sample no'; do
    turned mix.csv | sed "1s/wavelength/$h/" >t.csv; mixes "spectra in rows, named by '$h'" mix.hdr t.csv
done
check "spectra in rows: it is said" grep -q 't.csv: it has wavelengths at its head, and a spectrum in each row' out.txt
turned mix.csv | sed '1s/wavelength/name/' >rows.csv
unnamed rows.csv >t.csv; mixes "spectra in rows, no names" mix.hdr t.csv
sed '1s/name/name,plot/; s/^[ab]/&,1/' rows.csv >t.csv
fails "spectra in rows, two columns before them" 1 "t.csv: line 2: 'a' is no number (column 1 'name')" unmix mix.hdr bad.hdr --endmembers t.csv
awk -F, -v OFS=, '{ print (NR > 1 ? NR - 2 : ""), $2, $3, $4, $5, $6, $7 }' rows.csv >t.csv; mixes "spectra in rows, pandas: an index" mix.hdr t.csv
{ printf '\357\273\277sep=;\r\n'; sed 's/,/;/g; s/$/;\r/' rows.csv; } >t.csv; mixes "spectra in rows, Excel" mix.hdr t.csv
sed 's/$/,/' rows.csv | unnamed - >t.csv; mixes "spectra in rows, commas at the ends of lines" mix.hdr t.csv
turned um.csv | sed '1s/wavelength/name/' >t.csv; mixes "spectra in rows, micrometres" mix.hdr t.csv
sed '1s/,\([0-9]*\)/,\1 nm/g' rows.csv >t.csv; mixes "spectra in rows, a unit behind each wavelength" mix.hdr t.csv
unnamed t.csv >u.csv; mixes "spectra in rows, a unit behind each wavelength, no names" mix.hdr u.csv
unnamed rows.csv | sed '1s/[0-9]*/X&/g' >u.csv; mixes "spectra in rows, R's X before each wavelength" mix.hdr u.csv
awk -F, -v OFS=, 'NR == 1 { for (c = 2; c <= NF; c++) $c = 1e7 / $c; $1 = "wavenumber (cm-1)" } 1' rows.csv >t.csv; mixes "spectra in rows, wavenumbers that fall" mix.hdr t.csv
sed '1s/name/soil/' rows.csv >t.csv; mixes "spectra in rows, the cube's list behind another word" mix.hdr t.csv
awk -F, -v OFS=, '{ print $0, (NR > 1 ? 999 : 1200) }' rows.csv >t.csv; mixes "spectra in rows, more bands than the cube" mix.hdr t.csv
printf 'name,400,600,800,1000\na,40,120,200,240\nb,240,200,160,80\n' >t.csv; check "spectra in rows, fewer bands than the cube: runs" good unmix mix.hdr same.hdr --endmembers t.csv
check "spectra in rows, the cube has no wavelengths: runs" run unmix bare.hdr same.hdr --endmembers rows.csv
check "spectra in rows, the cube has no wavelengths" is "$(shares)" "0 583 1000 0 417 1000 "
check "spectra in rows, the cube has no wavelengths: it is said" grep -q 'rows.csv: rows are taken for bands in their order' err.txt
# As many rows as bands, or one less without names: these were read as bands in rows.
printf 'wavelength,a,b,c,d,e,f\n400,40,240,9,7,60,50\n500,80,80,9,70,6,5\n600,120,200,90,7,60,50\n700,160,40,90,7,6,50\n800,200,160,9,70,6,50\n1000,240,80,9,7,60,5\n' >many.csv
turned many.csv | sed '1s/wavelength/name/' >t.csv
for count in 6 5; do
    cut -d, -f1-$((count + 1)) many.csv >columns.csv
    turned columns.csv >t.csv; unnamed t.csv >u.csv
    awk -F, -v OFS=, '{ $1 = NR - 1 } 1' t.csv | sed '1s/0/id/' >v.csv
    check "$count spectra: angles: in columns" good detect mix.hdr same.hdr --method sam --target columns.csv --type f64
    cp same.img columns.img
    for table in t u v; do
        check "$count spectra: angles: in rows: runs, $table" good detect mix.hdr same.hdr --method sam --target $table.csv --type f64
        check "$count spectra: angles: in rows: the same, $table" cmp same.img columns.img
    done
    check "$count spectra: smoothed, in columns" good spectra columns.csv same.csv --smooth 3
    cp same.csv smooth.csv
    check "$count spectra: smoothed, in rows" good spectra t.csv same.csv --smooth 3
    check "$count spectra: smoothed, in rows: the same" cmp same.csv smooth.csv
done
# Spectra whose names are numbers stay in columns.
for h in 10,20 10,20,30 400,700,1000 1,2,3; do
    sed 's/$/,7/' mix.csv | cut -d, -f1-$((1 + $(echo $h | tr , '\n' | wc -l))) | sed "1s/.*/wavelength,$h/" >t.csv
    check "spectra called $h: they stay in columns" good spectra t.csv same.csv --smooth 3
    check "spectra called $h: a row for each band" is "$(head -n 1 same.csv)" "wavelength (nm),$h"
done
sed 's/$/,7/' bands.csv | sed '1s/.*/band,101,205,303/' >t.csv
check "a column band, spectra called 101,205,303: runs" good detect bare.hdr same.hdr --method sam --target t.csv
check "a column band, spectra called 101,205,303: they are three" grep -q 'bands = 3' same.hdr
sed '1s/band/id/' t.csv >u.csv
unclear="u.csv: its first line holds numbers, 101 to 303, which may be wavelengths of spectra in rows"
fails "numbers that may be wavelengths or names" 1 "$unclear.*put a column .name.*a column .wavelength. or .band." detect mix.hdr bad.hdr --method sam --target u.csv
printf 'soil,0.1,0.2,0.3,0.4,0.5,0.6\nveg,0.2,0.1,0.3,0.4,0.5,0.6\n' >u.csv
fails "a spectrum in the first line" 1 "u.csv: its first line holds numbers, 0.1 to 0.6, which may be wavelengths" unmix bare.hdr bad.hdr --endmembers u.csv
printf 'name,1,2,3,4,5,6\na,40,80,120,160,200,240\n' >t.csv
fails "numbers of bands above spectra in rows" 1 "t.csv: line 2: 'a' is no number (column 1 'name')" unmix bare.hdr bad.hdr --endmembers t.csv
good correct mix.hdr gain.hdr --method gains --table gain.csv
turned nmgain.csv | sed '1s/wavelength/name/' >t.csv; gains "in rows" t.csv

echo "== names of files, dark cubes, models of some bands"
cp mix.hdr capital.HDR; cp mix.img capital.IMG
check "a header in capitals" good info capital.HDR
check "its data" good info capital.IMG
cp mix.hdr twice.hdr; cp mix.img twice.img; cp mix.img twice.dat
check "two data files of the right size: runs" run info twice.hdr
check "two data files of the right size: it is said" grep -q 'twice.hdr: twice.img is read, but twice.dat has the same size' err.txt
check "two data files of the right size: --data chooses" good info twice.hdr --data twice.dat
rm -f twice.*
check "a dark cube of other wavelengths: one for the scene" good synthesise tiny.hdr --samples 30 --lines 30 --bands 6
sed '/^wavelength = /d' tiny.hdr >other.hdr; echo 'wavelength = {2500,2000,1500,1000,700,400}' >>other.hdr; cp tiny.img other.img
check "a dark cube of other wavelengths: runs" run mnf tiny.hdr same.hdr --components 2 --noise-from other.hdr
check "a dark cube of other wavelengths: it is said" grep -q 'other.hdr: wavelength: band 1 is at 2500 nm, but that of tiny.hdr' err.txt
awk 'BEGIN { for (i = 0; i < 6; i++) { for (k = 0; k < 6; k++) printf "%s%s", k == i ? "1e12" : "0", k < 5 ? "," : "\n" } }' >vast.csv
check "noise in another unit: runs" run mnf tiny.hdr same.hdr --components 2 --noise-covariance vast.csv
check "noise in another unit: it is said" grep -q 'tiny.hdr: the noise varies more than the pixels' err.txt
check "--snr that nothing reaches: runs" run mnf scene.hdr same.hdr --bbl --snr 1e9
check "--snr that nothing reaches: it is said" grep -q -- '--snr: no component reaches 1e+09' err.txt
check "--threshold that nothing reaches: runs" run ica scene.hdr same.hdr --bbl --threshold 1e15
check "--threshold that nothing reaches: it is said" grep -q -- '--threshold: no eigenvalue reaches 1e+15' err.txt
check "inverse of some bands: a model" good pca mix.hdr some_pc.hdr --bands 2,4,6 --components 2 --save some.model
check "inverse of some bands: runs" good inverse some.model some_pc.hdr same.hdr
check "inverse of some bands: their numbers" says same.hdr '  Band 2,' '  Band 4,' '  Band 6}'
# The first pixel is the darkest, and misses a band.
header gappy 3 1 2 1 bip 0
printf '\001\377\012\024\013\025' >gappy.img
check "correct dark: without a pixel that misses a band" good correct gappy.hdr same.hdr --method dark --nodata 255 --type u8 --interleave bip
check "correct dark: the values" is "$(od -An -tu1 -v same.img | xargs | cut -d' ' -f3-)" "0 0 1 1"
check "a table that may not grow: fails" bash -c "ulimit -f 1; ! '$program' bands scene.hdr limited.csv 2>err.txt"
check "a table that may not grow: it is said" grep -q 'limited.csv: writing it failed' err.txt
check "a table that may not grow: leaves nothing" test -z "$(ls limited.* 2>/dev/null)"

echo "== wavelengths of two lists"
# in_unit NAME UNIT AWK-EXPRESSION OF nm
in_unit() {
    { sed '/^wavelength/d' mix.hdr; echo "wavelength units = $2"; echo "wavelength = {$(echo $nm | tr , '\n' | awk "{ nm = \$1; printf \"%s%.10g\", s, $3; s = \",\" }")}"; } >unit.hdr
    cp mix.img unit.img
    mixes "$1: a table in nanometres" unit.hdr mixnm.csv
    check "$1: a model" good pca unit.hdr same.hdr --save unit.model
    check "$1: its own endmembers" good endmembers unit.hdr own.csv --count 2
    check "$1: the unit is in the heading" is "$(cell 1 1 own.csv)" "wavelength ($2)"
    check "$1: the endmembers are those of a cube in nanometres" good unmix mix.hdr same.hdr --endmembers own.csv
    check "$1: a model of nanometres" good apply mix.model unit.hdr same.hdr
    check "$1: a model of nanometres, the components" cmp same.img mix_pc.img
    check "$1: its model, of nanometres" good apply unit.model mix.hdr same.hdr
    check "$1: its model, of nanometres: the components" bytes_within same.img mix_pc.img 1
    check "$1: the way back" good inverse unit.model mix_pc.hdr same.hdr
    check "$1: the way back has the unit" says same.hdr "wavelength units = $2"
}
sed '1s/wavelength/wavelength (nm)/' mix.csv >mixnm.csv
good pca mix.hdr mix_pc.hdr --save mix.model
in_unit Angstroms Angstroms '10 * nm'; in_unit micrometres Micrometers 'nm / 1000'; in_unit 'a Greek letter' 'µm' 'nm / 1000'; in_unit millimetres mm 'nm / 1e6'
in_unit centimetres Centimeters 'nm / 1e7'; in_unit metres m 'nm / 1e9'; in_unit wavenumbers Wavenumber '1e7 / nm'; in_unit GHz GHz '299792458 / nm'; in_unit MHz MHz '299792458e3 / nm'; in_unit electronvolts eV '1239.841984332 / nm'
for unit in Micrometers:1:nm Nanometers:.001:um; do
    { sed '/^wavelength/d' mix.hdr; echo "wavelength units = ${unit%%:*}"; echo "wavelength = {$(echo $nm | tr , '\n' | awk -v f="$(echo $unit | cut -d: -f2)" '{ printf "%s%.10g", s, f * $1; s = "," }')}"; } >unit.hdr
    check "wavelengths of another unit than $unit: runs" run endmembers unit.hdr own.csv --count 2
    check "wavelengths of another unit than $unit: it is said" grep -q "unit.hdr: wavelength units: '${unit%%:*}', but by their size the wavelengths are in ${unit##*:}: they are taken as the header says" err.txt
done
# Two detectors that overlap: their bands at 600 and 650 nm are not the same.
steps=400,600,700,550,650,800
header steps 3 1 6 1 bsq 0 'wavelength units = nm' "wavelength = {$steps}"; cp mix.img steps.img
paste -d, <(echo "wavelength,$steps" | tr , '\n') <(cut -d, -f2,3 mix.csv) >steps.csv
mixes "overlapping detectors" steps.hdr steps.csv
for b in 1-4 2-6 3,5; do
    mixes "overlapping detectors, --bands $b" steps.hdr steps.csv --bands $b
    check "overlapping detectors, --bands $b: endmembers" good endmembers steps.hdr own.csv --count 2 --bands $b
    check "overlapping detectors, --bands $b: its own endmembers" good unmix steps.hdr same.hdr --endmembers own.csv --bands $b
    check "overlapping detectors, --bands $b: a model" good pca steps.hdr steps_pc.hdr --bands $b --save steps.model
    check "overlapping detectors, --bands $b: its own model" good apply steps.model steps.hdr same.hdr
    check "overlapping detectors, --bands $b: the same components" cmp same.img steps_pc.img
done
{ head -1 steps.csv; sed 1d steps.csv | awk -F, -v OFS=, '{ print $1 + .04, $2, $3 }'; } >t.csv; mixes "overlapping detectors, other digits" steps.hdr t.csv
sed 's/^400,40,240/399,39.9,240.8/; s/^800,240,80/805,241.3333333333,77.333333333/' steps.csv >t.csv; mixes "overlapping detectors, a list that reaches farther" steps.hdr t.csv
header twin 3 1 6 1 bsq 0 'wavelength units = nm' "wavelength = {400,500,500,600,600,700}"; cp mix.img twin.img
paste -d, <(echo "wavelength,400,500,500,600,600,700" | tr , '\n') <(cut -d, -f2,3 mix.csv) >t.csv
mixes "wavelengths that come twice" twin.hdr t.csv
mixes "wavelengths that come twice, some bands" twin.hdr t.csv --bands 1,3-6
for list in 1000,800,700,600,500,400 400.1,500.123456789012,600.2,700.30000000000001,800.4,1000.7518210000003 402.11182099999996,500,600,700,800,1000; do
    sed "s/^wavelength =.*/wavelength = {$list}/" mix.hdr >list.hdr; cp mix.img list.img
    check "$list: endmembers" good endmembers list.hdr own.csv --count 2
    check "$list: its own endmembers" good unmix list.hdr same.hdr --endmembers own.csv
done

# Lists that are no wavelengths: the table that the program writes has the numbers of bands.
for list in 0,1,2,3,4,5 1,2,3,4,5,6 0,0,500,600,700,800; do
    { sed '/^wavelength/d' mix.hdr; echo "wavelength = {$list}"; } >list.hdr
    check "$list: endmembers of some bands" run endmembers list.hdr own.csv --count 2 --method atgp --bands 1-4
    check "$list: by their numbers" is "$(cut -d, -f1 own.csv | xargs)" "band 1 2 3 4"
    check "$list: bands in another order" run detect list.hdr same.hdr --target own.csv --method sam --bands 4,3,2,1
    check "$list: bands in another order: the endmember's pixel is found" near "$(band same 1 | cut -d' ' -f1)" 0 1e-3
    fails "$list: other bands" 1 "own.csv: column 1 'band': no row is numbered 5" detect list.hdr bad.hdr --target own.csv --method sam --bands 3-6
done
{ sed '/^wavelength/d' mix.hdr; echo "wavelength units = Index"; echo "wavelength = {0,1,2,3,4,5}"; } >list.hdr
check "an index: nothing is said of its unit" good endmembers list.hdr own.csv --count 2
for list in '{0,1,2,3,4,5}' ''; do
    { sed '/^wavelength/d' tiny.hdr; [ -z "$list" ] || echo "wavelength = $list"; } >list.hdr; cp tiny.img list.img
    check "auto, wavelength = $list: runs" run auto list.hdr look --count 3
    check "auto, wavelength = $list: three spectra" is "$(grep -c '<g class="curve">' look/index.html) $(grep -c ': band</span>' look/index.html)" "3 0"
done
echo old >look/rx.img.aux.xml; echo old >look/rx.txt
check "auto over files beside its results: runs" run auto list.hdr look --count 3
check "auto over files beside its results: it is said" grep -q 'look/rx.img: what described the file before is removed: look/rx.img.aux.xml$' err.txt
check "auto over files beside its results: they are gone" test ! -e look/rx.img.aux.xml -a -e look/rx.txt
rm look/rx.img; echo own >look/rx.img.aux.xml
check "auto over files beside a result that is new: runs" run auto list.hdr look --count 3
check "auto over files beside a result that is new: they stay" is "$(cat look/rx.img.aux.xml)" own
sed 's/^bands.*/bands = 1/' list.hdr >look/rx.img.hdr; cp look/index.html page.html
fails "auto over another header of a result" 1 "look/rx.img.hdr: it is there already, and programs would read the new look/rx.img by it, not by look/rx.hdr" \
    auto list.hdr look --count 3
check "auto over another header of a result: the folder stays as it was" cmp page.html look/index.html
check "auto over another header of a result: nothing beside it" test ! -e look.part
rm look/rx.img.hdr
cp mix.img list.img

# Eleven spectra: eight side by side, and three.
check "the best of eleven: a library" good endmembers scene.hdr eleven.csv --bbl --count 11 --method nfindr
for m in sam ns3; do
    check "the best of eleven, $m: scores of all" good detect scene.hdr all.hdr --bbl --target eleven.csv --method $m
    check "the best of eleven, $m: runs" good detect scene.hdr same.hdr --bbl --library eleven.csv --method $m
    check "the best of eleven, $m" awk 'NR == FNR { i = (FNR - 1) % 19200; if (FNR <= 19200 || $1 < least[i]) { least[i] = $1; best[i] = int((FNR - 1) / 19200) + 1 } next }
        FNR <= 19200 { wrong += $1 != best[FNR - 1]; next } { d = $1 - least[FNR - 19201]; bad += d > 1e-4 || d < -1e-4; n++ }
        END { exit wrong > 5 || bad || n != 19200 }' <(od -An -v -w4 -tf4 all.img) <(od -An -v -w4 -tf4 same.img)
done
# Bands in use in a gap of the rows: a line across it would invent them.
lines_of() { { head -1 fine.csv; awk -F, -v a="$1" -v b="$2" 'NR > 1 && ($1 < a || $1 > b)' fine.csv; } >gap.csv; }
good spectra scene.hdr fine.csv --at 71,105
awk -F, -v OFS=, 'NR < 2 { print "wavelength (nm)", "a" } NR > 1 { if (NR > 2) print (x + $1) / 2, (y + $2) / 2; x = $1; y = $2; print x, y }' fine.csv >t.csv
mv t.csv fine.csv
check "a gap: the whole table" good detect scene.hdr same.hdr --target fine.csv --bbl
lines_of 2100 2260
fails "a gap" 1 "gap.csv: wavelength: no rows between 2097 and 2266.7 nm, where 7 bands in use lie (82 to 88 of scene.hdr)" detect scene.hdr bad.hdr --target gap.csv --bbl
check "a gap: without its bands" good detect scene.hdr same.hdr --target gap.csv --bands 1-45,51-66,75-81,89-100
lines_of 2105 2125; check "a gap: one band" good detect scene.hdr same.hdr --target gap.csv --bbl
lines_of 1790 1960; check "a gap: water vapour: runs" run detect scene.hdr same.hdr --target gap.csv
check "a gap: water vapour: it is said" grep -q 'gap.csv: wavelength: no rows between .* bands in use lie (.*they are interpolated' err.txt
awk -F, 'NR < 2 || NR % 14 == 2' fine.csv >t.csv; awk -F, '$1 < 1700 || $1 > 2400 || NR < 2' t.csv >gap.csv
check "a gap: rows that are coarse: runs" run detect scene.hdr same.hdr --target gap.csv --wavelengths 410:2300
check "a gap: rows that are coarse: it is said" grep -q 'gap.csv: wavelength: no rows between .* they are interpolated' err.txt
check "endmembers of some bands" good endmembers scene.hdr own.csv --bands 1-45,51-66,75-80,90-100 --count 3
fails "endmembers of some bands: for all" 1 "own.csv: wavelength: no rows between .* where 9 bands in use lie (81 to 89 of scene.hdr)" unmix scene.hdr bad.hdr --endmembers own.csv --bbl
# Rows that are finer than the bands are wide.
{ cat scene.hdr; echo "fwhm = {$(yes 21.2 | head -100 | paste -sd,)}"; } >wide.hdr; cp scene.img wide.img
sed "s/^fwhm.*/fwhm = {$(yes 22 | head -100 | paste -sd,)}/" wide.hdr >wider.hdr; cp scene.img wider.img
check "bands as wide as two rows are apart" good detect wide.hdr same.hdr --target fine.csv --bbl
check "bands as wide as two rows are apart: nothing is said" bash -c "! grep -q resample out.txt"
check "wider bands: runs" good detect wider.hdr same.hdr --target fine.csv --bbl
check "wider bands: it is said" grep -q "^fine.csv: rows 10.6 nm apart, bands of wider.hdr 22 nm wide: 'spectra fine.csv OUT.csv --resample wider.hdr'" out.txt
check "wider bands: as the sensor sees them" good spectra fine.csv seen.csv --resample wider.hdr
check "wider bands: as the sensor sees them: runs" good detect wider.hdr same.hdr --target seen.csv --bands 2-45,51-66,75-99
check "wider bands: as the sensor sees them: nothing is said" bash -c "! grep -q resample out.txt"
# Two dates in one file: their wavelengths repeat.
header dates 2 1 6 1 bsq 0 'wavelength = {560, 660, 860, 560, 660, 860}' 'wavelength units = Nanometers'
printf '\012\036\024\012\050\074\013\014\015\016\017\020' >dates.img
header date 2 1 3 1 bsq 0 'wavelength = {560, 660, 860}' 'wavelength units = Nanometers'; head -c 6 dates.img >date.img
twins="dates.hdr: wavelength: bands 3 and 6 are both at 860 nm: --bands without one of them"
fails "index of two dates" 1 "$twins" index dates.hdr bad.hdr --index NDVI
check "index of two dates: the bands of one" good index dates.hdr same.hdr --index NDVI --bands 4-6
check "index of two dates: by number" good index dates.hdr same.hdr --index '#6/#5'
check "index of two dates: a wavelength that occurs once" good index dates.hdr same.hdr --index b860/b660 --bands 1-4
fails "spectra of two dates" 1 "bands 1 and 4 are both at 560 nm: --bands without one of them" spectra dates.hdr bad.hdr --continuum divide
good pca date.hdr same.hdr --components 1 --save date.model
fails "a model of one date, two dates" 1 "dates.hdr: wavelength: bands 1 and 4 are both at 560 nm" apply date.model dates.hdr bad.hdr
check "a model of one date, two dates: the bands of one" good apply date.model dates.hdr same.hdr --bands 4-6
good pca dates.hdr same.hdr --components 1 --save dates.model
check "a model of two dates" good apply dates.model dates.hdr same.hdr
good pca dates.hdr same.hdr --components 1 --save dates.model --bands 4-6
check "a model of the second of two dates" good apply dates.model dates.hdr same.hdr

echo "== scales of two sides"
# The cube holds reflectance x 250, and its header says so.
sed '$a reflectance scale factor = 250' mix.hdr >scaled.hdr; cp mix.img scaled.img
awk -F, -v OFS=, 'NR > 1 { $2 /= 250; $3 /= 250 } 1' mix.csv >parts.csv
awk -F, -v OFS=, 'NR > 1 { $2 *= 40; $3 *= 40 } 1' mix.csv >large.csv
# sli NAME TABLE FACTOR: a library of 16-bit integers of the table
sli() {
    # shellcheck disable=SC2059 # escapes
    printf "$(awk -F, 'NR > 1 { a = a sprintf("\\%03o\\%03o", $2 % 256, $2 / 256); b = b sprintf("\\%03o\\%03o", $3 % 256, $3 / 256) } END { print a b }' "$2")" >"$1.sli"
    header "$1" 6 2 1 12 bsq 0 'file type = ENVI Spectral Library' "wavelength = {$nm}" "reflectance scale factor = $3"
}
sli large large.csv 10000; sli same_scale mix.csv 250
awk -F, -v OFS=, 'NR > 1 { $2 = 1; $3 = 2 } 1' mix.csv >t.csv; sli wrong t.csv 10000
mixes "reflectances" scaled.hdr parts.csv
check "reflectances: it is said" grep -q 'parts.csv: spectra reach 0.96: reflectances' out.txt
mixes "values as they are stored" scaled.hdr mix.csv
check "values as they are stored: nothing is said" bash -c "! grep -q 'mix.csv' out.txt"
mixes "a library x 10000, a cube x 250" scaled.hdr large.sli
mixes "a library x 250, a cube x 250" scaled.hdr same_scale.sli
mixes "--reflectance, reflectances" scaled.hdr parts.csv --reflectance
mixes "--reflectance, a library x 10000" scaled.hdr large.sli --reflectance
mixes "--reflectance, values as they are stored" scaled.hdr mix.csv --reflectance
check "reflectances in floats: runs" good convert scaled.hdr refl.hdr --reflectance
mixes "reflectances in floats, reflectances" refl.hdr parts.csv
mixes "reflectances in floats, a library x 10000" refl.hdr large.sli
check "nothing states a scale: runs" run unmix refl.hdr same.hdr --endmembers large.csv
check "nothing states a scale: it is said" grep -q 'large.csv: its spectra are about .* the pixels of refl.hdr about' err.txt
sed -i 's/^reflectance scale factor = 1$/reflectance scale factor = 10000/' refl.hdr
already="refl.hdr: reflectance scale factor: 10000, but its values are about"
fails "a factor of floats that are reflectances" 1 "$already" unmix refl.hdr bad.hdr --endmembers parts.csv
for m in pca rx "index --index #2-#1" convert; do
    # shellcheck disable=SC2086 # words
    fails "${m%% *} --reflectance, a factor of floats that are reflectances" 1 "$already" ${m%% *} refl.hdr bad.hdr --reflectance $(echo "$m " | cut -d' ' -f2-)
done
check "a model of reflectances, for such floats: fitted" good pca scaled.hdr scaled_pc.hdr --reflectance --save refl.model
fails "a model of reflectances, a factor of floats that are reflectances" 1 "$already" apply refl.model refl.hdr bad.hdr
check "a model of stored values, for such floats: fitted" good pca scaled.hdr scaled_pc.hdr --save stored.model
fails "a model of stored values, a factor of floats that are reflectances" 1 "$already" apply stored.model refl.hdr bad.hdr
sed -i 's/^reflectance scale factor = 10000$/reflectance scale factor = 1/' refl.hdr
for m in pca mnf "ica --components 1" rx; do
    # shellcheck disable=SC2086 # words
    check "${m%% *}: nothing states a scale: fitted" run $m mix.hdr same.hdr --save bare.model
    check "${m%% *}: nothing states a scale: the same scale" run apply bare.model scaled.hdr same.hdr
    check "${m%% *}: nothing states a scale: nothing is said" test ! -s err.txt
    check "${m%% *}: nothing states a scale: runs" run apply bare.model refl.hdr same.hdr
    check "${m%% *}: nothing states a scale: it is said" grep -q 'refl.hdr: the pixels are about .*, those that bare.model was fitted to about' err.txt
done
fails "a library that contradicts itself" 1 "wrong.sli: reflectance scale factor: 10000, but its spectra reach" unmix scaled.hdr bad.hdr --endmembers wrong.sli
mixes "a library x 250, a cube that states nothing" mix.hdr same_scale.sli
check "a library x 250, a cube that states nothing: it is said" grep -q 'same_scale.sli: spectra are taken as they are, reflectance x 250: mix.hdr states no factor' out.txt
for key in 'data gain values' 'data offset values' 'data reflectance gain values'; do
    sed "\$a $key = {2}" same_scale.hdr >gained.hdr; cp same_scale.sli gained.sli
    check "a library with $key: runs" run unmix mix.hdr same.hdr --endmembers gained.sli
    check "a library with $key" is "$(shares)" "0 583 1000 0 417 1000 "
    check "a library with $key: it is said" grep -q "gained.hdr: $key: they are not applied to the spectra of a library" err.txt
done
mixes "a library x 250, reflectances" refl.hdr same_scale.sli
check "a library x 250, reflectances: nothing of that is said" bash -c "! grep -q 'as they are' out.txt"
fails "spectra of a library that contradicts itself" 1 "wrong.sli: reflectance scale factor: 10000, but its spectra reach" spectra wrong.sli bad.csv --smooth 1
check "spectra of a library x 10000" good spectra large.sli part_of.csv --smooth 1
check "spectra of a library x 10000: it is said" grep -q 'large.sli: spectra are divided by 10000, its reflectance scale factor' out.txt
mixes "spectra of a library x 10000, a cube x 250" scaled.hdr part_of.csv
sed '$a data reflectance gain values = {.004, .004, .008, .004, .004, .002}\ndata reflectance offset values = {0, 0, -.5, 0, 0.1, 0}' mix.hdr >gains.hdr; cp mix.img gains.img
awk -F, -v OFS=, 'NR > 1 { g = NR == 4 ? .008 : NR == 7 ? .002 : .004; o = NR == 4 ? -.5 : NR == 6 ? .1 : 0; $2 = g * $2 + o; $3 = g * $3 + o } 1' mix.csv >t.csv
mixes "reflectances by gains and offsets" gains.hdr t.csv
check "detect: reflectances" good detect scaled.hdr same.hdr --target parts.csv --method osp
check "detect: reflectances: the pixel that is the target scores 1" near "$(band same 1 --roi 0,0,1,1 | cut -d' ' -f2)" 1 1e-5
check "a model of reflectances" good pca scaled.hdr scaled_pc.hdr --reflectance --save refl.model
check "a model of reflectances, values as stored: they are scaled" good apply refl.model scaled.hdr same.hdr
check "a model of reflectances, values as stored: it is said" grep -q 'scaled.hdr: values are scaled to reflectance, as those of refl.model' out.txt
check "a model of reflectances, values as stored: the components" cmp same.img scaled_pc.img
check "a model of reflectances, reflectances" good apply refl.model refl.hdr same.hdr
check "a model of reflectances, reflectances: the components" bytes_within same.img scaled_pc.img 1
fails "a model of reflectances, integers that state nothing" 1 "mix.hdr: reflectance scale factor: the key is missing, and refl.model" apply refl.model mix.hdr bad.hdr
check "a model of stored values" good pca scaled.hdr scaled_pc.hdr --save stored.model
sed 's/factor = 250/factor = 500/' scaled.hdr >half.hdr; cp mix.img half.img
check "a model x 250, a cube x 500" good apply stored.model half.hdr same.hdr
check "a model x 250, a cube x 500: it is said" grep -q 'half.hdr: values are multiplied by 0.5' out.txt
fails "a model of stored values, --reflectance" 2 "--reflectance: stored.model was fitted without it" apply stored.model scaled.hdr bad.hdr --reflectance
sed '$a data gain values = {2,2,2,2,2,2}' scaled.hdr >both.hdr; cp mix.img both.img
check "a model of gains" good pca both.hdr both_pc.hdr --gains --save gains.model
for m in "stored --gains" "refl --gains" "gains --reflectance"; do
    # shellcheck disable=SC2086 # words
    fails "a model of other values, $m" 2 "${m#* }: ${m% *}.model was fitted without it, to " apply ${m% *}.model both.hdr bad.hdr ${m#* }
done
sed '/^reflectance/d; s/gain values = .*/gain values = {.004,.004,.004,.004,.004,.004}/' both.hdr >gained.hdr; cp mix.img gained.img
check "a model of reflectances, gains that make them" run apply refl.model gained.hdr same.hdr --gains
check "a model of reflectances, gains that make them: it is said" is "$(cat err.txt)" "hypercube: gained.hdr: --gains: the values are taken for reflectances, to which refl.model was fitted"
run apply refl.model scaled.hdr plain.hdr
check "a model of reflectances, gains that make them: the components" bytes_within same.img plain.img 1
check "a model of gains, --gains" good apply gains.model both.hdr same.hdr --gains
check "a model of gains, --gains: the components" cmp same.img both_pc.img
# C arrays say what pixels they map, from a model and from a fit.
for m in "stored:values of reflectance scale factor 250" "refl:reflectances" "gains:values scaled by data gain values"; do
    check "C arrays of other values, ${m%%:*}" good export ${m%%:*}.model unit.h
    check "C arrays of other values, ${m%%:*}: the unit" grep -qx "   Pixels: ${m#*:}\..*" unit.h
done
good pca scaled.hdr same.hdr --export-c unit.h
check "C arrays of a fit to other values: the unit" grep -qx "   Pixels: values of reflectance scale factor 250\..*" unit.h
# Pixels that are stretched lead back, too, and farther by the gains of the cube.
good denoise both.hdr plain.hdr --components 2 --type f64
check "denoise --rescale: runs" good denoise both.hdr stretched.hdr --components 2 --type f64 --rescale 0,10
check "denoise: back" good convert plain.hdr unstretched.hdr --gains
check "denoise --rescale: back" good convert stretched.hdr same.hdr --gains
check "denoise --rescale: the same" is "$("$program" info same.hdr | tail -n 6)" "$("$program" info unstretched.hdr | tail -n 6)"
good inverse stored.model scaled_pc.hdr plain.hdr --type f64
check "inverse --rescale: runs" good inverse stored.model scaled_pc.hdr stretched.hdr --type f64 --rescale 0,10
check "inverse --rescale: back" good convert stretched.hdr same.hdr --gains
check "inverse --rescale: the same" is "$("$program" info same.hdr | tail -n 6)" "$("$program" info plain.hdr | tail -n 6)"
check "the way back states the factor" good inverse stored.model scaled_pc.hdr same.hdr
check "the way back states the factor: the factor" says same.hdr 'reflectance scale factor = 250'
check "--gains: the way back of --range" good convert mix.hdr ranged.hdr --range bands --type u16
check "--gains: runs" good convert ranged.hdr same.hdr --gains --type u8
check "--gains: the values" cmp same.img mix.img
check "--gains: they are used up" says_not same.hdr 'data gain values' 'data offset values'
# Whole numbers of 32 bits stay whole: floats hold 123456792 in the place of 123456789.
printf '\025\315\133\007\026\315\133\007' >wide.img
for type in 3 13; do
    header wide 2 1 1 $type bsq 0 'data gain values = {1}' 'data reflectance gain values = {1}'
    for scaled in --gains --reflectance; do
        check "$scaled: type $type in f64" good convert wide.hdr same.hdr $scaled --type f64
        check "$scaled: type $type in f64: the values" is "$(od -An -tf8 same.img | xargs)" "123456789 123456790"
        check "$scaled: type $type" good convert wide.hdr same.hdr $scaled
        check "$scaled: type $type: the values" is "$(od -An -tf8 same.img | xargs)" "123456789 123456790"
    done
done
fails "--gains without any" 1 "mix.hdr: data gain values: the key is missing" info mix.hdr --gains
fails "--gains and --reflectance" 2 "--gains: --reflectance says already" info scaled.hdr --gains --reflectance
# A list of the wrong length is worth nothing, and another scale in its place would be wrong.
cp dn.img few.img
header few 3 1 2 1 bip 0 "data gain values = {2, 2, 2}" "data offset values = {5, 5}"
fails "--gains: three for two bands" 1 "few.hdr: data gain values: they are damaged: 2 numbers are needed" convert few.hdr bad.hdr --gains
check "--gains: three for two bands: found" grep -q "few.hdr: data gain values: 3 values for 2 bands" err.txt
header few 3 1 2 1 bip 0 "data gain values = {2, 2}" "data offset values = {5}"
fails "--gains: one offset for two bands" 1 "few.hdr: data offset values: they are damaged: 2 numbers are needed" convert few.hdr bad.hdr --gains
good pca dn.hdr same.hdr --save dn.model
fails "inverse: one offset for two bands" 1 "few.hdr: data offset values: they are damaged: 2 numbers are needed" inverse dn.model few.hdr bad.hdr
header few 3 1 2 1 bip 0 "data reflectance gain values = {2, x}" "reflectance scale factor = 100"
fails "--reflectance: a gain that is no number" 1 "few.hdr: data reflectance gain values: .* damaged: 2 numbers" convert few.hdr bad.hdr --reflectance
header few 3 1 2 1 bip 0 "data reflectance offset values = {2}" "reflectance scale factor = 100"
fails "--reflectance: one offset for two bands" 1 "few.hdr: data reflectance offset values: they are damaged: 2" convert few.hdr bad.hdr --reflectance
header few 3 1 2 1 bip 0 "data gain values =" "reflectance scale factor = 100"
check "--reflectance: an empty list is none" good convert few.hdr same.hdr --reflectance
# Gains and offsets that two headers state differently, while neither is applied.
header gnew 2 2 3 1 bsq 0 'data gain values = {1e-4, 1e-4, 1e-4}' 'data offset values = {-0.1, -0.1, -0.2}'; cp bsq.img gnew.img
header gold 2 2 3 1 bsq 0 'data gain values = {0.0001, 0.0001, 0.0001}' 'data offset values = {-0.1, -0.1, 0}'; cp bsq.img gold.img
header ghalf 2 2 3 1 bsq 0 'data gain values = {5e-5, 5e-5, 5e-5}'; cp bsq.img ghalf.img
sed 's/1e-4/0.000100000000001/' gnew.hdr >gsame.hdr; cp bsq.img gsame.img
offset="gold.hdr: data offset values: 0 in band 3, but -0.2 in"
check "compare, other offsets: runs" run compare gnew.hdr gold.hdr same.hdr
check "compare, other offsets: it is said" grep -q "$offset gnew.hdr: --gains brings both to one unit" err.txt
check "compare, other offsets: once" is "$(grep -c 'to one unit' err.txt)" 1
check "compare, other offsets, without that band: runs" run compare gnew.hdr gold.hdr same.hdr --bands 1-2
check "compare, other offsets, without that band" is "$(grep -c 'to one unit' err.txt)" 0
check "compare, other gains: runs" run compare gnew.hdr ghalf.hdr same.hdr --bands 2
check "compare, other gains: it is said" grep -q "ghalf.hdr: data gain values: 5e-05 in band 2, but 0.0001 in gnew.hdr" err.txt
check "compare, other gains, --gains" good compare gnew.hdr ghalf.hdr same.hdr --gains
check "compare, the same gains: runs" run compare gnew.hdr gsame.hdr same.hdr
check "compare, the same gains" is "$(grep -c 'to one unit' err.txt)" 0
check "compare, gains of one side" good compare bsq.hdr gnew.hdr same.hdr
check "mnf, a dark cube of other gains: runs" run mnf gnew.hdr same.hdr --components 1 --noise-from ghalf.hdr
check "mnf, a dark cube of other gains: it is said" grep -q "ghalf.hdr: data gain values: .*--gains brings both" err.txt
good pca gnew.hdr same.hdr --components 1 --bands 3,1 --save gains.model
check "a model: its gains are noted" grep -aqx 'data offset values = -0.2 -0.1' gains.model
check "a model, other offsets: runs" run apply gains.model gold.hdr same.hdr --bands 3,1
check "a model, other offsets: it is said" grep -q "$offset the cube that gains.model was fitted to: a model that is fitted with --gains" err.txt
check "a model, the same gains" good apply gains.model gsame.hdr same.hdr --bands 3,1
check "a model, no gains" good apply gains.model bsq.hdr same.hdr --bands 3,1
fails "a model, --gains" 2 "--gains: gains.model was fitted without it, to values as they are stored, before data gain values" \
    apply gains.model gold.hdr bad.hdr --bands 3,1 --gains
grep -av '^data \(gain\|offset\) values' gains.model >older.model
check "a model that notes no gains" good apply older.model gold.hdr same.hdr --bands 3,1
check "a model with --gains" good pca gnew.hdr same.hdr --components 1 --save gains.model --gains
check "a model with --gains, other offsets" good apply gains.model gold.hdr same.hdr
header gone 2 2 3 1 bsq 0 'data gain values = {1, 1, 1}'; cp bsq.img gone.img
good pca gone.hdr same.hdr --components 1 --save gains.model
check "a model, gains of 1, --gains" good apply gains.model gone.hdr same.hdr --gains
header damaged 2 2 3 1 bsq 0 'data gain values = {1, 1}' 'data offset values = {x}'; cp bsq.img damaged.img
check "damaged gains, pca" good pca damaged.hdr same.hdr --components 1
check "damaged gains, a model: runs" run pca damaged.hdr same.hdr --components 1 --save gains.model --export-c same.h
check "damaged gains, a model: each list is told once" is "$(grep -c 'the list is ignored' err.txt)" 2
check "damaged gains, a model: none are noted" bash -c '! grep -aq "^data [a-z]* values" gains.model'
for list in 'data gain values = {2, 2}' 'data offset values = {5}'; do
    header damaged 2 2 3 1 bsq 0 "$list"
    check "damaged, $list: a model runs" run pca damaged.hdr same.hdr --components 1 --save gains.model
    check "damaged, $list: a model is not said to be of gains of 1" good apply gains.model gnew.hdr same.hdr
    check "damaged, $list: compare runs" run compare damaged.hdr gnew.hdr same.hdr
    check "damaged, $list: compare knows of no difference" is "$(grep -c 'to one unit' err.txt)" 0
done
# Offsets of a header that are not applied change ratios, angles and counts of materials.
header goff 2 2 3 1 bsq 0 'wavelength = {660, 860, 2200}' 'wavelength units = Nanometers' 'data gain values = {0.01, 0.01, 0.01}' \
    'data offset values = {-0.05, -0.05, -0.05}'; cp bsq.img goff.img
sed 's/-0.05/0/g' goff.hdr >gzero.hdr; cp bsq.img gzero.img
printf 'wavelength,a,b\n660,11,30\n860,20,20\n2200,33,9\n' >goff.csv
minds() { # minds NAME COMMAND...: of goff.hdr
    check "an offset, $1: runs" run "${@:2}"
    check "an offset, $1: it is said" grep -q 'goff.hdr: data offset values: -0.05: they are not applied.*--gains applies them' err.txt
    check "an offset, $1: once" is "$(grep -c offset err.txt)" 1
    check "an offset, $1, --gains: runs" run "${@:2}" --gains
    check "an offset, $1, --gains: nothing is said" is "$(grep -c offset err.txt)" 0
    check "an offset of 0, $1: runs" run "${@:2:1}" gzero.hdr "${@:4}"
    check "an offset of 0, $1: nothing is said" is "$(grep -c offset err.txt)" 0
}
cp goff.hdr gother.hdr; cp bsq.img gother.img
minds index index goff.hdr same.hdr --index NDVI
for m in iarr logres "flat --region 0,0,1,1"; do
    # shellcheck disable=SC2086 # several words
    minds "correct $m" correct goff.hdr same.hdr --method $m
done
minds "spectra --continuum" spectra goff.hdr same.hdr --continuum divide
for m in sam sid osp; do minds "detect $m" detect goff.hdr same.hdr --method $m --target goff.csv; done
minds "detect --library" detect goff.hdr same.hdr --library goff.csv
minds "unmix, nonnegative" unmix goff.hdr same.hdr --endmembers goff.csv --constraint nonnegative
check "an offset, compare: runs" run compare goff.hdr gother.hdr same.hdr
check "an offset, compare: it is said" is "$(grep -c 'data offset values: -0.05: they are not applied' err.txt)$(wc -l <err.txt)" 11
check "an offset, compare, --gains" good compare goff.hdr gother.hdr same.hdr --gains
check "an offset, pca" good pca goff.hdr same.hdr --components 1
check "an offset, correct dark" good correct goff.hdr same.hdr --method dark
check "an offset, spectra --derivative" good spectra goff.hdr same.hdr --derivative 1
sed 's/0.01}/0.02}/' goff.hdr >gun.hdr; cp bsq.img gun.img
check "info: gains" bash -c "'$program' info gun.hdr | grep -qx 'gains         0.01 to 0.02'"
check "info: offsets" bash -c "'$program' info goff.hdr | grep -qx 'offsets       -0.05'"
sed 's/,[0-9]*,/,0.01,/; s/,[0-9]*$/,0.01/' goff.csv >gsmall.csv; sed -i 1s/.*/wavelength,a,b/ gsmall.csv
check "spectra of another unit: runs" run detect goff.hdr same.hdr --target gsmall.csv --method osp
check "spectra of another unit: --gains is named" grep -q 'are both in one unit? --gains scales the pixels by their data gain values' err.txt
"$program" synthesise goff.hdr --samples 40 --lines 30 --bands 20 >/dev/null
cp goff.hdr gzero.hdr; cp goff.img gzero.img
{ printf 'data offset values = {-0.05'; for _ in $(seq 19); do printf ',-0.05'; done; echo '}'; } >>goff.hdr
minds count count goff.hdr
for m in hfc nwhfc hysime; do minds "count $m" count goff.hdr --method $m; done
minds "pca, components that are counted" pca goff.hdr same.hdr --components hfc
minds endmembers endmembers goff.hdr found.csv --count 3
for m in vca atgp learn; do minds "endmembers $m" endmembers goff.hdr found.csv --count 3 --method $m; done
minds "unmix, endmembers of the scene" unmix goff.hdr same.hdr --endmembers atgp --count 3
minds auto auto goff.hdr look
check "an offset, endmembers nfindr" good endmembers goff.hdr found.csv --count 3 --method nfindr
check "an offset, bands" good bands goff.hdr found.csv
rm -r look
# Of one scene: gains that differ between bands, and alike ones; the same of offsets; neither changes anything.
list() { for i in $(seq 20); do [ $i -gt 10 ] && echo "$2" || echo "$1"; done | paste -sd,; }
for c in "gunlike gain 0.01 0.02" "galike gain 0.01 0.01" "ounlike offset -5 -9" "oalike offset -5 -5" "gnone gain 1 1" "onone offset 0 0"; do
    # shellcheck disable=SC2086 # several words
    set -- $c
    { cat gzero.hdr; echo "data $2 values = {$(list "$3" "$4")}"; } >"$1.hdr"; cp gzero.img "$1.img"
done
{ cat gzero.hdr; echo "data gain values = {$(list 1 1)}"; } >gtwin.hdr; cp gzero.img gtwin.img
good endmembers gzero.hdr gtable.csv --count 3 --method nfindr
# depends NAME "CUBES" COMMAND...: results depend on what the headers of these cubes state and on no others'; @ is the cube.
depends() {
    local c wanted
    for c in gunlike galike ounlike oalike gnone onone; do
        wanted=0; case " $2 " in *" $c "*) wanted=1;; esac
        check "$1, $c: runs" run "${@:3:1}" $c.hdr "${@:4}"
        check "$1, $c: it is said or not" is "$(grep -c "^[^:]*: $c.hdr: data .* values: .*: they are not applied, and .*; --gains applies them$" err.txt)" $wanted
        check "$1, $c, --gains: runs" run "${@:3:1}" $c.hdr "${@:4}" --gains
        check "$1, $c, --gains: nothing is said" is "$(grep -c 'not applied' err.txt)" 0
    done
}
depends "index of two bands" "gunlike ounlike oalike" index same.hdr --index "#1/#20"
depends "index of two bands of one gain" "ounlike oalike" index same.hdr --index "#1/#5"
depends "compare" "gunlike ounlike oalike" compare gtwin.hdr same.hdr
depends "count" "gunlike ounlike oalike" count
for o in "--derivative 1" "--continuum subtract" "--smooth 3"; do
    # shellcheck disable=SC2086 # several words
    depends "spectra $o" "gunlike ounlike" spectra same.hdr $o
done
depends "spectra --continuum divide" "gunlike ounlike oalike" spectra same.hdr --continuum divide
depends "spectra --at" "" spectra found.csv --at 1,1
for m in mf ace cem osp ns3; do
    depends "detect $m, a table" "gunlike galike ounlike oalike" detect same.hdr --method $m --target gtable.csv
done
for m in sam amsd; do depends "detect $m, a table" "gunlike ounlike oalike" detect same.hdr --method $m --target gtable.csv; done
depends "detect --library" "gunlike ounlike oalike" detect same.hdr --library gtable.csv
depends "detect mf, a pixel" "" detect same.hdr --method mf --target 1,1
depends "detect sam, a pixel" "gunlike ounlike oalike" detect same.hdr --method sam --target 1,1
depends "detect osp, a pixel beside a table" "gunlike galike ounlike oalike" detect same.hdr --method osp --target 1,1 --undesired gtable.csv
depends "unmix, a table" "gunlike galike ounlike oalike" unmix same.hdr --endmembers gtable.csv
depends "unmix --library" "gunlike galike ounlike oalike" unmix same.hdr --library gtable.csv
depends "unmix, endmembers of the scene" "gunlike" unmix same.hdr --endmembers nfindr --count 3
depends "unmix --published" "gunlike ounlike oalike" unmix same.hdr --endmembers nfindr --count 3 --published gtable.csv
depends "endmembers" "gunlike" endmembers found.csv --count 3 --method nfindr
depends "correct iarr" "ounlike oalike" correct same.hdr --method iarr
for m in "mnf --components 3" rx "denoise --mnf --components 3"; do
    # shellcheck disable=SC2086 # several words
    depends "$m" "" ${m%% *} same.hdr ${m#"${m%% *}"}
done
check "a table of another unit: its name is told" bash -c "'$program' unmix galike.hdr same.hdr --endmembers gtable.csv 2>&1 |
    grep -q 'galike.hdr: data gain values: 0.01: they are not applied, and pixels are compared as they are stored with the spectra of gtable.csv; --gains'"
check "auto, gains that are alike: its own table is of stored values" run auto galike.hdr look
check "auto, gains that are alike: nothing is said" is "$(grep -c 'not applied' err.txt)" 0
sed '$a reflectance scale factor = 10000' galike.hdr >gfactor.hdr; cp galike.img gfactor.img
check "a stated factor says which unit a table has: runs" run unmix gfactor.hdr same.hdr --endmembers gtable.csv
check "a stated factor says which unit a table has" is "$(grep -c 'not applied' err.txt)" 0
rm -r look

echo "== the way back from stretched components, dead bands"
"$program" synthesise small.hdr --samples 40 --lines 30 --bands 4 >/dev/null; sed -i "/^wavelength/,/}/d" small.hdr
for m in pca mnf "ica --components 4"; do
    for how in "0,255 --type u8" "1,60000 --type u16" "0,1"; do
        check "${m%% *} --rescale $how: runs" good $m small.hdr comp.hdr --save back.model --rescale $how
        check "${m%% *} --rescale $how: inverse" good inverse back.model comp.hdr back.hdr --type f64
        check "${m%% *} --rescale $how: it says that it scales" grep -q 'components are scaled back by data gain values' out.txt
        check "${m%% *} --rescale $how: the pixels" awk -v a="$(band back 2 | cut -d' ' -f1)" -v b="$(band small 2 | cut -d' ' -f1)" 'BEGIN { exit !(a != "" && a - b < 25 && b - a < 25) }'
    done
done
check "apply --rescale: runs" good apply back.model small.hdr comp.hdr --rescale 0,1
check "apply --rescale: inverse" good inverse back.model comp.hdr back.hdr
check "apply --rescale: the pixels" near "$(band back 2 | cut -d' ' -f2)" "$(band small 2 | cut -d' ' -f2)" 1e-2
check "bytes of components: runs" good pca small.hdr comp.hdr --save back.model --rescale 0,255 --type u8
sed -i '/^data gain/,/}$/d; /^data offset/,/}$/d' comp.hdr
fails "bytes of components without the way back" 1 "comp.hdr: data gain values: the key is missing: .* u8 values were stretched" inverse back.model comp.hdr bad.hdr
printf '\001\004\002\003\005\005\005\005\007\003\011\002\006\006\006\006' >dead.img; header dead 4 1 4 1 bsq 0
for m in pca rx; do fails "$m --correlation, dead bands" 1 "dead.hdr: pixels: .*: bands 2,4 hold one value only; --bands" $m dead.hdr bad.hdr --correlation; done
fails "detect, dead bands" 1 "dead.hdr: covariance: singular.*: bands 2,4 hold one value only; .*--ridge" detect dead.hdr bad.hdr --target 1,0
# Band 3 is twice band 2 and 1: no band is constant.
awk 'BEGIN { for (i = s = 1; i <= 50; i++) { s = s * 75 % 65537; a = s % 90 + 1; s = s * 75 % 65537; b = s % 90 + 1; printf "\\%03o\\%03o\\%03o", a, b, 2 * b + 1 } }' >depend.txt
# shellcheck disable=SC2059 # escapes
printf "$(cat depend.txt)" >depend.img; header depend 10 5 3 1 bip 0
fails "detect, a band that depends on another" 1 "depend.hdr: covariance: singular.*: no band is constant, but some are linear combinations of others: --ridge" detect depend.hdr bad.hdr --target 1,0 --method ace
fails "detect by column, a band that depends on another" 1 "depend.hdr: each column has a band that is constant or a linear combination of others" detect depend.hdr bad.hdr --target 1,0 --background column
fails "rx --local, a band that depends on another" 1 "depend.hdr: --local 1,5: no pixel has .* 3 bands, none of them constant or a linear combination of others" rx depend.hdr bad.hdr --local 1,5
fails "detect, a dead band in use" 1 "dead.hdr: covariance: singular.*: band 4 holds one value only" detect dead.hdr bad.hdr --target 1,0 --bands 1,3-4

echo "== one long line"
# The pixels of a scene as a cloud of points: what is computed in pieces of the line is what is computed of all of it.
"$program" synthesise cloud_bip.hdr --samples 40 --lines 30 --bands 12 --interleave bip >/dev/null
"$program" synthesise cloud_bsq.hdr --samples 40 --lines 30 --bands 12 >/dev/null
cp cloud_bsq.img cloud_bil.img; sed 's/= bsq/= bil/' cloud_bsq.hdr >cloud_bil.hdr
for f in cloud_bip cloud_bsq cloud_bil cloud_bsq_truth; do sed -i 's/^samples.*/samples = 1200/; s/^lines.*/lines = 1/; $a map info = {UTM, 1, 1, 500000, 4000000, 30, 20, 11, North, WGS-84}' $f.hdr; done
awk 'BEGIN { for (i = 0; i < 1200; i++) printf "%c", i % 7 ? 49 : 48 }' | tr 01 '\000\001' >cloud_mask.img; header cloud_mask 1200 1 1 1 bsq 0
# pieces NAME TOLERANCE MODE ARGUMENTS...: the same files and words, but for the seconds, with --block and without
pieces() {
    local i
    for i in bip bsq bil; do
        check "$1, $i: the whole line" run ${3%% *} cloud_$i.hdr whole.hdr ${3#* } "${@:4}"; mv out.txt all.txt
        check "$1, $i: in pieces" good ${3%% *} cloud_$i.hdr piece.hdr ${3#* } "${@:4}" --block 1
        check "$1, $i: the same header" diff whole.hdr piece.hdr
        check "$1, $i: the same words" diff <(sed 's/\(seconds\|fit\|transform\)=[0-9.]*//g' all.txt) <(sed 's/\(seconds\|fit\|transform\)=[0-9.]*//g' out.txt)
        check "$1, $i: the same values" bytes_within whole.img piece.img "$2"
    done
}
pieces "pca" 0 "pca --components 3 --precise --type f64 --interleave bil"
pieces "a window" 0 "pca --components 3 --precise --type f64 --window 100,0,777,1 --interleave bip"
pieces "mnf" 1 "mnf --components 3 --precise --rescale 0,255 --type u8"
pieces "mnf, fitted to some" 1 "mnf --components 3 --precise --rescale 0,255 --type u8 --fit-step 3"
pieces "rx with a mask and a truth" 1 "rx --precise --rescale 0,255 --type u8 --truth cloud_bsq_truth.hdr --mask cloud_mask.hdr --interleave bil"
pieces "a region" 1 "rx --precise --rescale 0,255 --type u8 --roi 10,0,900,1"
pieces "detect a pixel" 1 "detect --target 500,0 --method ace --rescale 0,255 --type u8"
pieces "unmix" 1 "unmix --endmembers atgp --count 3 --rescale 0,255 --type u8 --html page.html"
pieces "convert" 0 "convert --range auto --type u8 --interleave bil --window 7,0,1000,1"
check "info of pieces" run info cloud_bil.hdr --block 1
check "info of pieces: the size" grep -q '^size          1200 samples x 1 lines x 12 bands$' out.txt
check "info of pieces: the interleave" grep -q '^type          u16, bil' out.txt
fails "no lower neighbours in one line" 1 "cloud_bip.hdr: --noise lower: .* none has a valid lower neighbour; --noise right has 1199" mnf cloud_bip.hdr bad.hdr --noise lower --block 1

echo "== help"
# Whether what is said fits a screen of 24 lines of 80 columns, below the line that asked for it.
fits_a_screen() { run "$@" && awk 'length($0) > 80 { bad = 1 } END { exit bad || NR < 4 || NR > 23 }' out.txt; }
check "--help fits a screen" fits_a_screen --help
check "-h is the same" bash -c "'$program' -h | cmp - out.txt"
modes=$(awk '/^  [a-z]/ && $2 != "--help" && $2 != "MODE" && $2 != "--version" { print $1 }' out.txt)
check "--help names every mode" test "$(echo "$modes" | wc -l)" -ge 10
for m in $modes pixels output run; do
    check "--help $m fits a screen" fits_a_screen --help "$m"
done
for m in pixels output run; do "$program" --help $m; done >groups.txt
for m in $modes; do
    "$program" --help "$m" >page.txt
    check "$m --help: ends with an example" bash -c "tail -n 1 page.txt | grep -q '^Example: .* $m '"
    check "$m --help is the page of $m" bash -c "'$program' $m --help | cmp - page.txt"
    check "$m --help: among other words" bash -c "'$program' $m scene.hdr --help | cmp - page.txt"
    # What its lists only name is explained on their pages.
    for o in $(sed -n '/^Pixels:/,/^`/p; /^Output:/,/^`/p' page.txt | grep -o -- '--[a-z-]*' | grep -vx -- --help | sort -u); do
        check "$m: $o is explained" grep -q -- "^  $o .* .*[a-z]" groups.txt
    done
done
fails "--help of no mode" 2 "nothing: unknown mode" --help nothing

echo "== mixtures"
for m in vca nfindr atgp; do
    check "$m: runs" run endmembers scene.hdr em.csv --bbl --count 5 --method $m
    check "$m: says which pixels" is "$(grep -c '^endmember [1-5]: pixel [0-9]*,[0-9]*$' out.txt)" 5
    check "$m: a column each, and the wavelength" is "$(head -n 1 em.csv | tr ',' '\n' | grep -c "^wavelength\|^$m [0-9]* [0-9]*\$")" 6
    check "$m: a row for each band in use" is "$(($(wc -l <em.csv) - 1))" "$(sed -n 's/.*bands=//p' out.txt)"
    check "$m: in blocks" run endmembers scene.hdr same.csv --bbl --count 5 --method $m --block 7
    check "$m: in blocks: the same" cmp em.csv same.csv
    x=$(head -n 1 em.csv | cut -d, -f3 | cut -d' ' -f2) y=$(head -n 1 em.csv | cut -d, -f3 | cut -d' ' -f3)
    check "$m: abundances of a table" good unmix scene.hdr mixed.hdr --bbl --endmembers em.csv --type f64
    check "$m: abundances of a table: a band each" is "$(sed -n 's/^bands = //p' mixed.hdr)" 5
    for b in 1 2 3 4 5; do
        check "$m: from 0 to 1" is "$(band mixed $b | awk '{ print ($1 >= 0) ($3 <= 1 + 1e-12) $4 }')" 110
        check "$m: a pure pixel is its endmember" near "$(band mixed $b --roi "$x,$y,1,1" | cut -d' ' -f2)" $((b == 2)) 1e-6
    done
    check "$m: abundances at once" good unmix scene.hdr same.hdr --bbl --endmembers $m --count 5 --type f64 --block 9
    check "$m: abundances at once: the same" cmp mixed.img same.img
done
for c in none nonnegative sum full; do
    check "$c: runs" good unmix scene.hdr mixed.hdr --bbl --endmembers em.csv --constraint $c --quicklook mixed.png --html page.html
    sum=0 low=0
    for b in 1 2 3 4 5; do
        sum=$(echo "$sum $(band mixed $b | cut -d' ' -f2)" | awk '{ print $1 + $2 }')
        low=$(echo "$low $(band mixed $b | cut -d' ' -f1)" | awk '{ print $2 < $1 ? $2 : $1 }')
    done
    case $c in sum | full) check "$c: the means add up to 1" near "$sum" 1 1e-4 ;; esac
    case $c in none | sum) check "$c: some are negative" awk -v l="$low" 'BEGIN { exit !(l < 0) }' ;; *) check "$c: none is negative" is "$low" 0 ;; esac
done
check "learnt: runs" good endmembers scene.hdr learnt.csv --bbl --count 4 --method learn
check "learnt: says of how many pixels" grep -q "^endmembers learnt from [0-9]* pixels: 4, at most 3 a pixel, rms error " out.txt
check "learnt: a column each, none below 0" awk -F, 'NR > 1 { for (i = NF - 3; i <= NF; i++) if ($i < 0) bad = 1 } END { exit bad || NF != 5 }' learnt.csv
check "learnt: abundances at once" good unmix scene.hdr mixed.hdr --bbl --endmembers learn --count 4 --type f64 --published learnt.csv
check "learnt: the same again" is "$(sed -n 's/^angle=\([0-9.]*\) .*/\1/p' out.txt)" 0.0000
check "learnt: abundances of the table" good unmix scene.hdr same.hdr --bbl --endmembers learnt.csv --type f64 --abundances mixed.hdr
check "learnt: the same of both" is "$(sed -n 's/^rmse=\([0-9.]*\) .*/\1/p' out.txt)" 0.0000
check "learnt: at most two" good unmix scene.hdr same.hdr --bbl --endmembers learn --count 4 --sparsity 2 --roi 20,30,50,40
check "endmembers in another order" bash -c "awk -F, '{ print \$1 \",\" \$5 \",\" \$3 \",\" \$2 \",\" \$4 }' learnt.csv >turned.csv"
check "endmembers in another order: runs" good unmix scene.hdr same.hdr --bbl --endmembers learnt.csv --published turned.csv --constraint nonnegative
check "endmembers in another order: are found" is "$(sed -n 's/^angle=\([0-9.]*\) .*/\1/p' out.txt)" 0.0000
check "endmembers in another order: by name" grep -qx "endmember learnt 4: 0.000 rad from learnt 4" out.txt
# Three directions around an axis, and published ones 70 degrees on: each is 50 degrees from another, and no two exchange with gain.
around() { awk -v turn="$1" 'BEGIN { r = 3.14159265 / 180; print "a,b,c"; for (b = 0; b < 3; b++)
    print 10 + 3 * cos(r * (turn - 120 * b)) "," 10 + 3 * cos(r * (turn + 120 - 120 * b)) "," 10 + 3 * cos(r * (turn + 240 - 120 * b)) }'; }
around 0 >around.csv; around 70 >around70.csv
check "the best pairs of three: runs" good unmix bsq.hdr same.hdr --endmembers around.csv --published around70.csv
check "the best pairs of three" is "$(sed -n 's/^endmember \(.\): .* from \(.\)$/\1\2/p' out.txt | xargs)" "ac ba cb"
printf 'a,b,c\n1,0,2\n2,0,1\n1,0,2\n' >around70.csv
fails "a published spectrum of zeros" 1 "around70.csv: --published: spectrum 2 has no angle to endmember 1" unmix bsq.hdr bad.hdr --endmembers around.csv --published around70.csv
fails "more at a time than there are" 2 "--sparsity: 5 is more than --count 4" unmix scene.hdr bad.hdr --endmembers learn --count 4 --sparsity 5
fails "--sparsity of pixels" 2 "--sparsity: only learn takes it" unmix scene.hdr bad.hdr --endmembers vca --count 4 --sparsity 2
fails "learnt ones of no number" 2 "--count: is needed" unmix scene.hdr bad.hdr --endmembers learn
fails "published ones of another number" 1 "learnt.csv: --published: 4 spectra, but there are 3 endmembers" unmix scene.hdr bad.hdr --bbl --endmembers vca --count 3 --published learnt.csv
fails "abundances of another number" 1 "mixed.hdr: bands: 4, but the number of endmembers is 5" unmix scene.hdr bad.hdr --bbl --endmembers em.csv --abundances mixed.hdr
# Endmembers that are found come in an order that is not the abundances'.
fails "abundances of no known order" 2 "--abundances: --endmembers vca .*: --published CSV" unmix scene.hdr bad.hdr --bbl --endmembers vca --count 4 --abundances mixed.hdr
good unmix scene.hdr bytes.hdr --bbl --endmembers turned.csv --type u8 --rescale 0,255
check "known abundances in another order, as bytes: runs" good unmix scene.hdr same.hdr --bbl --endmembers learn --count 4 --published turned.csv --abundances bytes.hdr
check "known abundances in another order, as bytes" near "$(value_of rmse)" 0 0.003
check "abundances as bytes" good unmix scene.hdr same.hdr --bbl --endmembers em.csv --type u8 --rescale 0,255
# On the page: a picture and a histogram of each abundance and of the misfit, the spectra with their names.
good unmix scene.hdr same.hdr --bbl --endmembers em.csv --html page.html
check "a page of mixtures: pictures" is "$(grep -o '<img' page.html | wc -l) $(grep -o 'class="bars"' page.html | wc -l)" "7 6"
check "a page of mixtures: the endmembers' curves" is "$(grep -c '<g class="curve">' page.html)" 5
check "a page of mixtures: curves break where bands are left out" is "$(grep -c '<polyline' page.html)" 15
check "a page of mixtures: their names" grep -q "; $(head -n 1 em.csv | cut -d, -f3)</span>" page.html
check "a page of mixtures: its axis" grep -q '>wavelength (Nanometers)</text>' page.html
check "a page of mixtures: no number that is none" bash -c "! grep -Eqi '[\" >,]-?(nan|inf)' page.html"
check "bands of abundances have the endmembers' names" grep -q "^  $(head -n 1 em.csv | cut -d, -f3),$" same.hdr
# Three pixels of two bands; the second holds the first endmember alone and is 2 brighter than it in one band of two.
printf '\001\003\000\000\000\001' >three.img; header three 3 1 2 1 bsq 0; printf 'a<b,c\n1,0\n0,1\n' >pair.csv
for c in "" "--type u8 --rescale 0,255"; do
    # shellcheck disable=SC2086 # several words
    check "a misfit that is known: runs $c" good unmix three.hdr same.hdr --endmembers pair.csv --html page.html $c
    check "a misfit that is known $c" grep -q "Median 0, largest 1.414; the pixels' own root mean square is 1.354" page.html
done
check "a misfit that is known: a name with a bracket" grep -q 'Abundance 1: a&lt;b' page.html
printf '\001\000\001' >ends.img; header ends 3 1 1 1 bsq 0
check "a misfit without the pixel: runs" good unmix three.hdr same.hdr --endmembers pair.csv --html page.html --mask ends.hdr
check "a misfit without the pixel" grep -q "largest 0; the pixels' own root mean square is 0.7071" page.html
check "a page of endmembers" good endmembers scene.hdr same.csv --bbl --count 7 --html page.html
check "a page of endmembers: a picture, curves, the seventh dashed" is \
    "$(for tag in '<img' '<g class="curve">' '<g class="curve"><polyline.*dasharray'; do grep -c "$tag" page.html; done | xargs)" "1 7 1"
check "a page of endmembers: its end" is "$(tail -n 1 page.html)" "</html>"
fails "a page over the table" 2 "two outputs would go into this one file" \
    endmembers scene.hdr bad.csv --bbl --count 3 --html bad.csv
check "mixtures of a window: runs" run endmembers scene.hdr same.csv --bbl --count 3 --window 20,30,50,40
check "mixtures of a window: pixels of the file" awk -F'[, ]' '/^endmember/ { bad = bad || $4 < 20 || $4 > 69 || $5 < 30 || $5 > 69 } END { exit bad }' out.txt
check "another seed" run endmembers scene.hdr same.csv --bbl --count 3 --seed 9
awk -F, '{ print $1 "," $2 "," $2 }' em.csv >twice.csv
fails "no endmembers" 2 "--endmembers: is needed" unmix scene.hdr bad.hdr
fails "endmembers of no number" 2 "--count: is needed" unmix scene.hdr bad.hdr --endmembers vca
fails "endmembers of two numbers" 2 "--count: em.csv says already" unmix scene.hdr bad.hdr --endmembers em.csv --count 3
fails "more endmembers than bands" 1 "scene.hdr: --count 300: components: " unmix scene.hdr bad.hdr --endmembers vca --count 300
fails "one endmember" 1 "scene.hdr: --count 1: components: " unmix scene.hdr bad.hdr --endmembers nfindr --count 1
fails "endmembers that are the same" 1 "--endmembers twice.csv: endmembers: one is a linear" unmix scene.hdr bad.hdr --bbl --endmembers twice.csv
fails "more columns than bands" 1 "--endmembers em.csv: endmembers: " unmix scene.hdr bad.hdr --bands 20-23 --endmembers em.csv
fails "a table that is not there" 1 "none_such.csv: cannot read it" unmix scene.hdr bad.hdr --endmembers none_such.csv
fails "a constraint that is none" 2 "--constraint: half is unknown" unmix scene.hdr bad.hdr --endmembers em.csv --constraint half
fails "abundances as integers" 2 "--type: abundances are shares of 1: u8 needs --rescale 0,255" unmix scene.hdr bad.hdr --endmembers em.csv --type u8
fails "a method that is none" 2 "--method: best is unknown" endmembers scene.hdr bad.csv --count 3 --method best
fails "the table over the cube" 2 "would replace the input" endmembers scene.hdr scene.img --count 3
fails "endmembers without a number" 2 "--count: is needed" endmembers scene.hdr bad.csv
check "no table is left" bash -c '! ls bad.csv* 2>/dev/null'

echo "== a file that becomes shorter while it is used"
# The program waits for the first bytes of the mask's header, from a pipe: then the cube's size has been looked at, and nothing of
# the cube has been read. What it opens after that is a file in the pipe's place. Blocks of 16 lines are large enough to be read
# ahead, and the third is not there.
header mark64 256 64 1 1 bsq 0
head -c 16384 /dev/zero | tr '\000' '\001' >mark64.img
for block in "" "--block 1" "--block 16"; do
    head -c 1638400 /dev/zero >cut.img; header cut 256 64 100 1 bip 0
    rm -f late.hdr; mkfifo late.hdr; cp mark64.img late.img
    # shellcheck disable=SC2086 # two words or none
    "$program" pca cut.hdr bad.hdr --mask late.hdr --components 2 $block >out.txt 2>err.txt & pid=$!
    exec 9>late.hdr; head -c 1000000 /dev/zero >cut.img; cp mark64.hdr late.new; mv late.new late.hdr; printf ENVI >&9; exec 9>&-
    wait $pid; got=$?
    check "it fails $block" is $got 1
    check "it says so $block" grep -q '^[^ ]*: cut.img: reading it failed: it ends early' err.txt
    check "it leaves nothing $block" bash -c '! ls bad.* ./*.part'
done
rm late.hdr
# Threads that meet the end at once: the first one says so and removes what is unfinished, the others wait. It takes some tries.
again=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
    cp scene.hdr cut.hdr; cp scene.img cut.img
    (sleep 0.0$((i % 5))5; head -c 100 /dev/zero >cut.img) & pid=$!
    "$program" ica cut.hdr bad.hdr --components 8 --threads 8 >out.txt 2>err.txt
    [ $? -gt 1 ] && again=$((again + 1))
    ls ./*.part >part.txt 2>/dev/null && again=$((again + 1))
    rm -f bad.* ./*.part
    wait $pid
done
check "several threads: no signal ends it, and nothing is left" is $again 0

echo "== a disk that is full"
cp pc.img before.img; cp pc.hdr before.hdr
check "no room: fails" bash -c "ulimit -f 20; ! '$program' pca scene.hdr pc.hdr --components 5 2>err.txt"
check "no room: says so" grep -q 'pc.img.part: writing it failed' err.txt
check "no room: nothing half written" bash -c '! ls ./*.part'
check "no room: the older output is as it was" bash -c 'cmp pc.img before.img && cmp pc.hdr before.hdr'

echo "== other programs"
if command -v gdalinfo >/dev/null; then
    check "GDAL opens the components" bash -c "gdalinfo -checksum pc.img >gdal.txt && grep -q 'Driver: ENVI' gdal.txt"
    check "GDAL finds five bands" is "$(grep -c '^Band ' gdal.txt)" 5
    check "GDAL knows the names" bash -c "gdalinfo pc.img | grep -q 'Description = PC 1'"
    check "GDAL knows the missing value" bash -c "gdalinfo holes_pc.img | grep -Eq 'NoData Value=(5000|5e.03)'"
    check "GDAL takes NaN for missing" bash -c "gdalinfo nan_pc.img | grep -qi 'NoData Value=nan'"
    check "GDAL opens a cube by pixel" bash -c "gdalinfo scene_bip.img | grep -q 'INTERLEAVE=PIXEL'"
else
    skip "GDAL is not here"
fi
find_python spectral
if [ -n "$python" ]; then
    spy() { "$python" -c "import spectral; a = spectral.envi.open('$1'); $2"; }
    check "SPy opens the components" spy pc.hdr 'assert a.shape == (120, 160, 5) and a.load().max() == 255'
    check "SPy opens the scene with its wavelengths" spy scene_bil.hdr 'assert len(a.bands.centers) == 100'
    check "SPy finds the bad bands" spy scene_bil.hdr 'assert [float(b) for b in a.metadata["bbl"]].count(0) == 13'
    check "SPy opens a cube with NaN" spy nan_pc.hdr 'assert a.load().shape == (1, 4, 1)'
else
    skip "Spectral Python is not here"
fi

echo "== devices"
check "cpu" good pca scene_bil.hdr same.hdr --components 3 --rescale 0,255 --type u8 --device cpu
check "cpu: says so" grep -qx "device: CPU" out.txt
cp same.img cpu.img
fails "no name of a device" 2 "its value is empty" pca scene_bil.hdr bad.hdr --components 3 --device ""
# Ranks as threads, of which each has some of the lines: the processor as several devices, in memory and streamed.
floats() {
    check "$1" perl -e 'my @x = map { local (@ARGV, $/) = $_; [unpack "f<*", scalar <>] } @ARGV; exit 1 if @{$x[0]} != @{$x[1]};
        my $most = 0; for (@{$x[0]}) { $most = abs $_ if abs $_ > $most }
        for (0 .. $#{$x[0]}) { exit 1 if abs($x[0][$_] - $x[1][$_]) > 1e-5 * $most }' "$2" "$3"
}
# Three classes, and a mask, of 160 x 120 pixels.
for name in classes half; do
    perl -e 'binmode STDOUT; my $half = $ARGV[0] eq "half"; for my $y (0 .. 119) { for my $x (0 .. 159) {
        print pack "C", $half ? ($x + 3 * $y) % 5 > 2 : 1 + int($x / 60) } }' $name >$name.img
    printf 'ENVI\nsamples = 160\nlines = 120\nbands = 1\ndata type = 1\ninterleave = bsq\nbyte order = 0\n' >$name.hdr
done
for m in "pca --components 3" "mnf --components 3" "mnf --components 3 --noise lower" "ica --components 3" rx \
    "rx --local 3,9 --bands 1-4" "detect --target 3,3" "detect --target 3,3 --fit-step 2" "denoise --components 4" \
    "unmix --endmembers atgp --count 3" "unmix --endmembers vca --count 3" "unmix --endmembers learn --count 3" \
    "rx --class classes.hdr" "pca --components 2 --mask half.hdr"; do
    bands=$(case $m in *--bands*) ;; *) echo --bands 1-20 ;; esac)
    # shellcheck disable=SC2086 # words
    check "one device: $m" run ${m%% *} scene_bil.hdr alone.hdr ${m#"${m%% *}"} $bands
    for how in "--device cpu,cpu" "--device cpu:1,cpu:2,cpu:0.5 --block 7"; do
        # shellcheck disable=SC2086 # words
        check "several, $how: $m" run ${m%% *} scene_bil.hdr ranks.hdr ${m#"${m%% *}"} $bands $how
        floats "several, $how: as one: $m" alone.img ranks.img
    done
    rm -f alone.* ranks.*
done
# Blocks of integers that differ in size, the smaller first.
check "one device: integers" run pca scene_bil.hdr alone.hdr --components 3 --rescale 0,255 --type u8
check "shares of 1 and 20: integers" run pca scene_bil.hdr ranks.hdr --components 3 --rescale 0,255 --type u8 --device cpu,cpu:20
check "shares of 1 and 20: integers as one" bytes_within alone.img ranks.img 1
rm -f alone.* ranks.*
fails "a share that is nothing" 2 "the share '0' is not above 0" pca scene_bil.hdr bad.hdr --components 3 --device cpu:0,cpu
fails "too many devices" 2 "more than 16" pca scene_bil.hdr bad.hdr --components 3 --device "$(printf 'cpu,%.0s' $(seq 17))"
fails "no device behind a comma" 2 "a name is missing" pca scene_bil.hdr bad.hdr --components 3 --device cpu,
OCL_ICD_VENDORS=/nonexistent fails "all devices of none" 1 "without OpenCL\|no platform is seen; .*OCL_ICD_VENDORS is /nonexistent" \
    pca scene_bil.hdr bad.hdr --components 3 --device all
fails "several devices: what has no variance" 1 "all are equal" rx scene_bil.hdr bad.hdr --window 0,0,1,1 --device cpu,cpu
rm -f same.*
run pca scene_bil.hdr same.hdr --components 3 --rescale 0,255 --type u8 --device auto
got=$?
if [ $got -ge 128 ]; then
    skip "the OpenCL driver breaks down here"
else
    check "auto" test $got -eq 0
    check "auto: names a device" grep -q "^device: ." out.txt
    check "auto: the same components" bytes_within cpu.img same.img 1
    fails "an unknown device" 1 "no such device" pca scene_bil.hdr bad.hdr --components 3 --device "no such device"
fi
# Any device does: PoCL on the processor is one. By its number, and by the name that the program then gives.
if run pca scene_bil.hdr same.hdr --components 3 --rescale 0,255 --type u8 --device 0; then
    check "number 0: the same components" bytes_within cpu.img same.img 1
    name=$(sed -n 's/^device: \(.*\) (.*/\1/p' out.txt | tr '[:lower:]' '[:upper:]')
    check "by name in capitals" run pca scene_bil.hdr same.hdr --components 3 --rescale 0,255 --type u8 --device "$name"
    check "by name: the same components" bytes_within cpu.img same.img 1
    for m in pca ica; do
        check "$m: runs" run $m scene_bil.hdr two.hdr --bands 1-40 --roi 0,0,160,120 --fit-only --components 3 --device 0 --verbose
        check "$m: fitted to other pixels than are transformed: two calls" grep -q 'fit [0-9.]*, transform' out.txt
        check "$m: one call, so that the cube is uploaded once" run $m scene_bil.hdr same.hdr --bands 1-40 --components 3 --device 0 --verbose
        check "$m: one call: says so" grep -q 'fit and transform' out.txt
        check "$m: one call: the same bytes as of two" cmp two.img same.img
    done
    # Several share the lines: one device twice, one and a processor, all there are.
    for d in 0,0 0,cpu 0:3,cpu:1 all; do
        check "several devices, $d: runs" run pca scene_bil.hdr same.hdr --components 3 --rescale 0,255 --type u8 --device $d
        check "several devices, $d: the same components" bytes_within cpu.img same.img 1
    done
    for m in "mnf --components 3" "ica --components 3" rx "detect --target 3,3"; do
        check "several devices, streamed: ${m%% *}" run ${m%% *} scene_bil.hdr same.hdr ${m#${m%% *}} --bands 1-40 --block 50 --device 0,0
    done
    fails "a device that is not there among several" 1 "there is no device 99" pca scene_bil.hdr bad.hdr --components 3 --device 0,99
    fails "a negative number of a device" 1 "there is no device -1" pca scene_bil.hdr bad.hdr --components 3 --device -1,0
    fails "no device behind a comma" 2 "a name is missing" pca scene_bil.hdr bad.hdr --components 3 --device 0,
    # G-FastICA's own iteration: components by a threshold, one after another, y^3 over the pixels, all steps as they come.
    own="scene.hdr same.hdr --bbl --threshold $middle --route sweep --plain-steps --iterations 9 --tolerance -1 --restarts 0"
    check "the paper's ica" run ica $own --report own_cpu.csv
    check "the paper's ica on the device" run ica $own --device 0 --report own_device.csv
    check "the paper's ica: on the pixels" grep -q 'on the pixels' out.txt
    for i in 2 3 4 5; do
        check "the paper's ica: nine steps for IC $((i - 1))" is "$(cell $i 3 own_device.csv)" 9
        check "the paper's ica: its kurtosis" near "$(cell $i 7 own_cpu.csv)" "$(cell $i 7 own_device.csv)" 0.01
    done
    check "rx, streamed" run rx scene_bil.hdr same.hdr --block 50 --device 0
else
    skip "no OpenCL device works here: $(tail -n 1 err.txt)"
fi

echo "== real cubes"
for cube in sandiego_bip beach_bsq jasper_bil airport_bip; do
    if [ ! -f "$data/cubes/$cube.hdr" ]; then
        skip "$cube: not in \$SHS_DATA"
        continue
    fi
    check "$cube: pca" good pca "$data/cubes/$cube.hdr" real.hdr --components 10
    check "$cube: ica" run ica "$data/cubes/$cube.hdr" real.hdr --components 5
done
if [ -f "$data/cubes/jasper_abundances.hdr" ]; then
    check "jasper: learnt endmembers" good unmix "$data/cubes/jasper_bil.hdr" real.hdr --endmembers learn --count 4 \
        --published "$data/cubes/jasper_endmembers.csv" --abundances "$data/cubes/jasper_abundances.hdr"
    check "jasper: their angles" near "$(value_of angle)" 0.10 0.02
    check "jasper: their abundances" near "$(value_of rmse)" 0.11 0.03
fi
if [ -f "$data/cubes/sandiego_targets.hdr" ]; then
    check "sandiego: rx" good rx "$data/cubes/sandiego_bip.hdr" rx.hdr --truth "$data/cubes/sandiego_targets.hdr"
    check "sandiego: rx finds the aircraft" awk -v a="$(value_of auc)" 'BEGIN { exit !(a > 0.8 && a <= 1) }'
fi

the_end
