#!/bin/sh
# Builds sensor.c for a Cortex-M4F and an M7, runs it under QEMU, compares its numbers with those of the host's build and says
# how much code and memory it takes. From the project's root: sh examples/cortex_m/run.sh
set -eu
LC_ALL=C
export LC_ALL
here=examples/cortex_m
out=build/cortex_m
most_code=6144
arm=arm-none-eabi
for tool in $arm-gcc $arm-nm qemu-system-arm; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here; make portability-deps installs it"; exit 0; }
done

fail() {
    echo "cortex-m: $*" >&2
    exit 1
}

# The same flags wherever the library is included.
switches="-DSPARSEHS_ONLY_CODING -DSPARSEHS_NO_DOUBLE"
strict="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Werror"
small="-Os -ffunction-sections -fdata-sections -fno-math-errno -Wstack-usage=1024"

mkdir -p $out
# shellcheck disable=SC2086 # lists of words, here and below
{
    ${CC:-cc} $strict -O2 $here/make_model.c -o $out/make_model -lm
    $out/make_model >$out/model.h
    ${CC:-cc} $strict -O2 $switches -DSPARSEHS_IMPLEMENTATION -x c -c sparsehs.h -o $out/host_library.o
    ${CC:-cc} $strict -O2 $switches -I$out $here/sensor.c $here/board_host.c $out/host_library.o -o $out/host -lm
}
$out/host >$out/host.txt

# Atoms are the same; of all else the last digit may differ.
compare() { # the host's output, the board's
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

bytes() { # program, pattern: the sizes of its symbols that match, added up
    $arm-nm -S --radix=d "$1" | awk -v pattern="$2" 'NF == 4 && $4 ~ pattern { sum += $2 } END { print sum + 0 }'
}

board() { # name, QEMU's machine, flags
    dir=$out/$1
    machine=$2
    target="-mthumb -mfloat-abi=hard $3"
    mkdir -p "$dir"
    $arm-gcc $target $strict $small $switches -DSPARSEHS_IMPLEMENTATION -x c -c sparsehs.h -o "$dir/library.o"
    $arm-gcc $target $strict $small $switches -I$out -c $here/sensor.c -o "$dir/sensor.o"
    $arm-gcc $target -std=gnu99 -Os -Wall -Wextra -Werror -c $here/board_mps2.c -o "$dir/board.o"
    $arm-gcc $target -nostartfiles --specs=nano.specs -Wl,--gc-sections -T $here/mps2.ld "$dir/sensor.o" "$dir/library.o" \
        "$dir/board.o" -o "$dir/sensor.elf"
    forbidden=$($arm-nm "$dir/sensor.elf" | awk '$NF ~ /^(_?malloc|_?calloc|_sbrk|_?printf|_?fwrite|__aeabi_d.*|sqrt|exp|log)$/')
    [ -z "$forbidden" ] || fail "$1 links $forbidden"
    code=$(bytes "$dir/sensor.elf" '^shs_')
    [ "$code" -lt $most_code ] || fail "$1: the library takes $code bytes, $most_code or more"
    timeout 120 qemu-system-arm -machine "$machine" -display none -monitor none -serial none -icount shift=0 \
        -semihosting-config enable=on,target=native -kernel "$dir/sensor.elf" >"$dir/output" 2>&1 ||
        fail "$1: $(tail -1 "$dir/output")"
    grep -v '^#' "$dir/output" >"$dir/results"
    compare $out/host.txt "$dir/results" || fail "$1: other numbers than on the host: $out/host.txt, $dir/results"
    echo "$1: $(grep -c . "$dir/results") lines of results as on the host"
    sed -n 's/^# /    /p' "$dir/output"
    $arm-size -A "$dir/sensor.elf" | awk -v code="$code" -v model="$(bytes "$dir/sensor.elf" '^model_')" '
        $1 == ".text" { text = $2 } $1 == ".bss" { bss = $2 } $1 == ".stack" { stack = $2 }
        END { printf "    bytes of flash: %d, of which library %d, model %d; of RAM: %d and %d of stack\n", text, code, model, bss, stack }'
}

board cortex-m4f mps2-an386 "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16"
board cortex-m7 mps2-an500 "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16"
echo "QEMU counts instructions, not cycles."
