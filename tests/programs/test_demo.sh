#!/usr/bin/env bash
# Tests of examples/demo.sh, from the project's root: tests/programs/test_demo.sh FOLDER_OF_PROGRAMS
[ $# -eq 1 ] && [ -x "$1/denoise" ] || { echo "usage: $0 FOLDER_OF_PROGRAMS" >&2; exit 2; }
root=$PWD
programs=$(cd "$1" && pwd)
# shellcheck source=tests/programs/programs.sh
. "$(dirname "$0")/programs.sh"
is() { [ -n "$1" ] && [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; false; }; }
demo() { (cd "$root" && env SHS_DATA=none PROGRAMS="$programs" OUT="$work/demo" "$@" sh examples/demo.sh $plan) >out.txt 2>err.txt; }

echo "== what it will do"
plan=plan
check "the plan" demo
check "the plan: how long it takes" grep -q 'takes about 140 s of CPU time' out.txt
check "the plan: six steps" is "$(grep -c '^  [1-6]\. ' out.txt)" 6
check "the plan: what it takes" bash -c "grep -q '^picture: drawn by' out.txt && grep -q '^cube:    synthesised by' out.txt"
check "the plan: nothing is written" test ! -e demo
check "the plan comes before the compiler" awk '/demo.sh plan/ { plan = NR } /-s build\/denoise/ { compiler = NR } / sh examples\/demo.sh$|^sh examples\/demo.sh$/ { last = NR }
    END { exit !(plan && plan < compiler && compiler < last) }' <(cd "$root" && env -u MAKEFLAGS -u MFLAGS make -n demo)
for given in IMAGE CUBE; do
    demo $given=none_such
    check "$given that is not there: fails" test $? -eq 1
    check "$given that is not there: says so" grep -qx "demo: $given=none_such: there is no such file" err.txt
done

echo "== what it does"
"$programs/denoise" --draw whole.pgm >/dev/null
"$programs/superres" --reduce whole.pgm small.pgm --factor 4 >/dev/null
"$programs/hypercube" synthesise little.hdr --samples 40 --lines 30 --bands 20 >/dev/null
plan=
check "it runs" demo IMAGE="$work/small.pgm" CUBE="$work/little.hdr"
check "no complaint" test ! -s err.txt
check "nothing that reads like a failure" bash -c "! grep -Eqi 'skipped|n/a|nan|fail|error:' out.txt"
check "six steps" is "$(grep -c '^== [1-6]\. ' out.txt)" 6
sed -n '/worth opening/,$p' out.txt | grep '\.png ' >list.txt
check "it ends with the pictures worth opening" is "$(wc -l <list.txt)" 9
check "the last lines say where the rest is" bash -c "tail -n 2 out.txt | grep -q '/demo/more: '"
check "beside the pictures there is only the rest" is "$(ls demo | wc -l) $(ls demo | grep -v '\.png$')" "10 more"
while read -r name _; do
    check "$name: a PNG" test "$(head -c 8 "demo/$name" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a
done <list.txt
decibels() { sed -n "s/^ *small_$1\.png .*: \([0-9.]*\) dB$/\1/p" list.txt; }
# more A B: as numbers
more() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a + 0 > b + 0) }'; }
check "the list says how well it went: denoised" more "$(decibels denoised)" "$(decibels noisy)"
check "the list says how well it went: filled in" more "$(decibels filled)" 5
check "the list says how well it went: enlarged" more "$(decibels enlarged)" "$(decibels bicubic)"
check "the numbers are those of the files" grep -qx "PSNR in the files: $(decibels noisy) dB with noise, $(decibels denoised) dB denoised" \
    out.txt
check "the components drawn are not the first, which may be a few pixels" grep -q 'hypercube convert .*_ica.hdr .* --bands 2-4 ' out.txt
for page in pca ica rx; do check "the page of $page" grep -q '</html>' demo/more/little_$page.html; done
check "nothing is left over" test -z "$(ls demo/more | grep 'log\|part')"
demo IMAGE="$work/list.txt"
check "what fails ends it" test $? -eq 1
check "what fails is said" grep -q 'list.txt: ' err.txt

the_end
