#!/bin/bash
# Programs that the examples build for an OpenCL device and keep in the user's cache folder; tests/test_cl_cache.c has the details.
devices=$PWD/build/devices train=$PWD/build/train
. "$(dirname "$0")/../programs/programs.sh"
cache=$XDG_CACHE_HOME/sparsehs
{ printf 'P5\n96 96\n255\n' && head -c 9216 "$train"; } >picture.pgm # any picture
entries() { find "$cache" -name "$1-*" 2>/dev/null | wc -l; }
usable() { "$devices" --no-cache 2>/dev/null | grep -q 'self-test *coding is right'; }
why() { "$devices" --no-cache 2>&1 | sed -n 's/^ *self-test *//p' | head -n 1; }
usable || { echo "skipped: no OpenCL device is right here: $(why)"; exit 0; }

check "--no-cache: leaves no folder" test ! -e "$cache"
program=$devices
fails "an unknown option" 2 "devices: --cold: unknown option" --cold
run --help
check "--help: 80 columns" awk 'length > 80 { exit 1 }' out.txt
check "no home: no complaint" eval 'env -u HOME -u XDG_CACHE_HOME "$devices" >out.txt 2>err.txt && ! grep -q . err.txt'
unwritable() { XDG_CACHE_HOME=$work/picture.pgm/x good; }
check "a home that is a file: no complaint" unwritable
check "the list: no complaint" good
check "the list: keeps verdicts" test "$(entries verdict)" -gt 0

# The programs of the usual calls are built once. PoCL keeps its programs itself.
warm() { run --warm && sed -n "s/^ *warm *\([0-9]*\) programs in .*, \([0-9]*\) of them from .*$/$1/p" out.txt | head -n 1; }
first=$(warm '\1')
check "--warm: builds programs" test "${first:-0}" -gt 20
if grep -q "platform *Portable Computing Language" out.txt; then
    skip "programs of a second run: PoCL keeps programs itself"
    check "PoCL: verdicts alone are kept" test "$(entries program)" -eq 0
else
    check "--warm: all are kept" test "$(entries program)" -ge "$first"
    check "--warm: a second run builds none" test "$(warm '\1 \2')" = "$first $first"
    kept=$(entries program)
    check "train, after --warm" "$train" picture.pgm --out t --patches 2000 --iterations 1 --device 0
    check "train, after --warm: builds none" test "$(entries program)" -eq "$kept"
fi

# The same dictionary with a cache, with what is in it, and without.
program=$train
dictionary() { # HOW
    good picture.pgm --out t --patches 2000 --iterations 1 --device 0 ${1:-} && cksum <t_dictionary.csv
}
one=$(dictionary)
check "train: learns" test -n "$one"
check "train: keeps verdicts" test "$(entries verdict)" -gt 0
check "train: the same from the cache" test "$(dictionary)" = "$one"
rm -rf "$cache"
check "train --no-cache: the same" test "$(dictionary --no-cache)" = "$one"
check "train --no-cache: leaves no folder" test ! -e "$cache"
the_end
