#!/bin/sh
# Builds sensor.c and stream.c for a Cortex-M4F and an M7 (with the argument riscv: a 32-bit RISC-V), runs them under QEMU, compares
# their numbers with those of the host's build and says how much code and memory they take. With the argument host it runs the
# host's build alone; with the argument size it says how much code the library takes on a Cortex-M4F, which needs no QEMU and two
# seconds. From the project's root: sh examples/cortex_m/run.sh
set -eu
LC_ALL=C
export LC_ALL
here=examples/cortex_m
out=build/cortex_m/${1:-arm} # kinds are built side by side
most_code=6144 # of the library; RISC-V takes more for the same
kind=${1:-arm}
tool=arm-none-eabi
qemu=qemu-system-arm
deps=portability-deps
[ "$kind" != riscv ] || { most_code=6656 tool=riscv64-unknown-elf qemu=qemu-system-riscv32 deps=people-deps; }
[ "$kind" != size ] || qemu=$tool-nm # nothing is run
for needed in $tool-gcc $tool-nm $qemu; do
    [ "$kind" = host ] || command -v $needed >/dev/null || { echo "skipped: no $needed here; make $deps installs it"; exit 0; }
done

fail() {
    echo "cortex-m: $*" >&2
    exit 1
}

# The same flags wherever the library is included.
switches="-DSPARSEHS_ONLY_CODING -DSPARSEHS_NO_DOUBLE"
strict="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Werror"
small="-Os -ffunction-sections -fdata-sections -fno-math-errno -Wstack-usage=1024"

# Atoms are the same; of all else the last digit may differ.
compare() { # what is expected, the program's output
    paste -d '|' "$1" "$2" | awk -F '|' '
        {
            count = split($1, a, /[ ,:;]+/)
            if (split($2, b, /[ ,:;]+/) != count) bad = 1
            for (i = 1; i <= count; i++) {
                off = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]
                if (a[i] !~ /^-?[0-9]+$/ || a[i - 1] == "atom" ? a[i] != b[i] : off > 1) bad = 1
            }
        }
        END { exit bad || NR == 0 }'
}

# For the host's numbers alone make_model, whose library is whole, need not be optimised.
level=-O2
[ "$kind" != host ] || [ -n "${SHS_LONG:-}" ] || level=-O0
mkdir -p $out
# shellcheck disable=SC2086 # lists of words, here and below
{
    ${CC:-cc} $strict $level $here/make_model.c -o $out/make_model -lm
    $out/make_model >$out/model.h
    $out/make_model stream >$out/beats.h
    $out/make_model codes >$out/codes.txt
}

on_host() {
    # shellcheck disable=SC2086
    ${CC:-cc} $strict -O2 $switches -DSPARSEHS_IMPLEMENTATION -x c -c sparsehs.h -o $out/host_library.o
    for program in sensor stream; do
        # shellcheck disable=SC2086
        ${CC:-cc} $strict -O2 $switches -I$out $here/$program.c $here/board_host.c $out/host_library.o -o $out/$program -lm
        $out/$program >$out/$program.txt
    done
    # Sample by sample as all windows at once; the odd beat, and no other, is unlike what was learnt.
    compare $out/codes.txt $out/stream.txt ||
        fail "stream: other codes than those of all windows at once: $out/codes.txt, $out/stream.txt"
    odd=$(awk '/unlike/ { n = $3 + 0; if (!first) first = n; last = n; k++ } END { print k + 0, (last - first) / 8 + 1 }' $out/stream.txt)
    [ "${odd% *}" -gt 1 ] && [ "${odd#* }" -lt 12 ] ||
        fail "stream: windows unlike what was learnt: ${odd% *}, over ${odd#* } hops"
    echo "host: $(grep -c . $out/stream.txt) codes of a stream as of all windows at once, ${odd% *} of them of an odd beat"
}
if [ "$kind" != size ]; then on_host; fi
[ "$kind" != host ] || exit 0

bytes() { # program, pattern: the sizes of its symbols that match, added up
    $tool-nm -S --radix=d "$1" | awk -v pattern="$2" 'NF == 4 && $4 ~ pattern { sum += $2 } END { print sum + 0 }'
}

board() { # name, its file and linker script, QEMU's options, flags
    dir=$out/$1
    target=$4
    mkdir -p "$dir"
    $tool-gcc $target $strict $small $switches -DSPARSEHS_IMPLEMENTATION -x c -c sparsehs.h -o "$dir/library.o"
    $tool-gcc $target -std=gnu99 -Os -Wall -Wextra -Werror -c $here/board_$2.c -o "$dir/board.o"
    for program in sensor stream; do
        elf=$dir/$program.elf
        $tool-gcc $target $strict $small $switches -I$out -c $here/$program.c -o "$dir/$program.o"
        $tool-gcc $target -nostartfiles $specs -Wl,--gc-sections -T $here/$2.ld "$dir/$program.o" "$dir/library.o" "$dir/board.o" \
            -o "$elf"
        forbidden=$($tool-nm "$elf" |
            awk '$NF ~ /^(_?malloc|_?calloc|_sbrk|_?printf|_?fwrite|__aeabi_d.*|__[a-z]*df[a-z0-9]*|sqrt|exp|log)$/')
        [ -z "$forbidden" ] || fail "$1 links $forbidden"
        code=$(bytes "$elf" '^shs_')
        [ "$code" -lt $most_code ] || fail "$1: the library takes $code bytes, $most_code or more"
        if [ "$kind" = size ]; then
            echo "$1, $program: the library takes $code bytes of $most_code"
            continue
        fi
        timeout 120 $qemu $3 -display none -monitor none -icount shift=0 -kernel "$elf" >"$dir/output" 2>&1 ||
            fail "$1: $(tail -1 "$dir/output")"
        grep -v '^#' "$dir/output" >"$dir/results"
        compare $out/$program.txt "$dir/results" || fail "$1: other numbers than on the host: $out/$program.txt, $dir/results"
        echo "$1, $program: $(grep -c . "$dir/results") lines of results as on the host"
        sed -n 's/^# /    /p' "$dir/output"
        $tool-size -A "$elf" | awk -v code="$code" -v model="$(bytes "$elf" '^model_')" '
            $1 == ".text" { text = $2 } $1 == ".bss" { bss = $2 } $1 == ".stack" { stack = $2 }
            END { printf "    bytes of flash: %d, of which library %d, model %d; of RAM: %d and %d of stack\n", text, code, model, bss, stack }'
    done
}

if [ "$kind" = riscv ]; then
    specs= # picolibc's headers come by them, too
    board riscv32 virt "-machine virt -bios none -serial stdio" "--specs=picolibc.specs -march=rv32imafc -mabi=ilp32f -mcmodel=medany"
else
    specs=--specs=nano.specs
    semihosting="-serial none -semihosting-config enable=on,target=native"
    board cortex-m4f mps2 "-machine mps2-an386 $semihosting" "-mthumb -mfloat-abi=hard -mcpu=cortex-m4 -mfpu=fpv4-sp-d16"
    [ "$kind" != size ] || exit 0
    board cortex-m7 mps2 "-machine mps2-an500 $semihosting" "-mthumb -mfloat-abi=hard -mcpu=cortex-m7 -mfpu=fpv5-sp-d16"
fi
echo "QEMU counts instructions, not cycles."
