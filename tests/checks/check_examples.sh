#!/bin/sh
# What the README says: its line builds each example, its own programs print what stands below them, its sizes are those of here.
# --version is answered, and quickstart finds every hidden atom whatever compiles it, and says the same. From the project's root:
#
#     sh tests/checks/check_examples.sh [COMPILER ...]      of quickstart; none: gcc, clang and tcc, those that are here
set -eu
out=build/examples_by
expected=
mkdir -p "$out"

fail() {
    echo "check-examples: $*" >&2
    exit 1
}

# Unoptimised, since that compiles fast, but for the one whose test computes most; without OpenMP where the compiler has none.
# Without $SHS_LONG two of them: the tests of the others link theirs with the tests' library.
all="examples/quickstart.c examples/embedded.c"
[ -z "${SHS_LONG:-}" ] || all="$(ls examples/*.c) examples/hypercube/hypercube.c examples/texture/texture.c $(ls examples/papers/*.c)"
line=$(sed -n 's/.*`cc \(-[^`]*examples\/NAME.c[^`]*\)`.*/\1/p' README.md)
[ -n "$line" ] || fail "README.md has no line that builds an example"
echo 'int main(void) { return 0; }' >"$out/probe.c"
${CC:-cc} -fopenmp "$out/probe.c" -o "$out/probe" 2>/dev/null || line=$(echo "$line" | sed 's/-fopenmp//')
for source in $all; do
    name=${source#examples/} name=${name%.c}
    program=$out/${name##*/}
    if [ "$name" = devices ] && ! ${CC:-cc} -include CL/cl.h -fsyntax-only "$out/probe.c" 2>/dev/null; then
        echo "check-examples: devices: no OpenCL headers here: not checked"
        continue
    fi
    [ "$name" = hypercube/hypercube ] && level=-Og || level=-O0
    # shellcheck disable=SC2046
    ${CC:-cc} $(echo "$line" | sed "s|NAME|$name|") $level -o "$program" || fail "$name: the README's line does not build it"
    [ "$name" = embedded ] || "$program" --version | grep -qx 'sparsehs [0-9.]*; .*' || fail "$name --version"
done

# Whole programs in README.md: the line below each compiles it, and it prints what stands there.
awk -v out="$out/readme" '
    /^```c$/ { code = 1; text = ""; next }
    /^```/ { code = 0; if (text !~ /int main/) { text = ""; next }; n++; printf "%s", text >(out n ".c"); next }
    code { text = text $0 "\n"; next }
    text && /^    / { file = out n (/^    cc / ? ".line" : ".txt"); print substr($0, 5) >file; next }
    !/^$/ { text = "" }' README.md
[ -f "$out/readme2.txt" ] || fail "README.md has not two programs with their outputs"
for source in "$out"/readme[0-9].c; do
    program=${source%.c}
    flags=$(sed -n 's/^cc \(.*\) [a-z]*\.c -lm && .*/\1/p' "$program.line")
    case $line in *-fopenmp*) ;; *) flags=$(echo "$flags" | sed 's/-fopenmp//') ;; esac
    # shellcheck disable=SC2086
    ${CC:-cc} $flags -O0 -I. "$source" -o "$program" -lm || fail "README.md's line does not compile $source"
    "$program" | diff "$program.txt" - || fail "README.md says (<), $source prints (>)"
done
# Its lines of ranks compile as they stand; without those of OpenCL they run, and both ranks are the processor.
awk '/^```c$/ { block = ""; next } /^```/ { if (block ~ /ranks_run/) printf "%s", block; next } { block = block $0 "\n" }' README.md >"$out/both.c"
if ${CC:-cc} -include CL/cl.h -fsyntax-only "$out/probe.c" 2>/dev/null; then
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror -O0 -I. -c "$out/both.c" -o "$out/both.o" || fail "README.md's lines of ranks do not compile"
    link=$(sed -n 's/.*`cc [^`]*both.c \([^`]*\)`.*/\1/p' README.md)
    [ -n "$link" ] || fail "README.md does not say how its lines of ranks are linked"
    # shellcheck disable=SC2086
    if ${CC:-cc} "$out/probe.c" -lOpenCL -o "$out/probe" 2>/dev/null; then
        ${CC:-cc} "$out/both.o" "$out/probe.c" -o "$out/both" $link -pthread || fail "README.md's lines of ranks do not link"
    else
        echo "check-examples: no OpenCL library to link with here: README.md's lines of ranks are not linked"
    fi
fi
env -u MAKEFLAGS -u MFLAGS make -nW examples/devices.c examples | grep -q 'build/devices' || fail "make examples does not build devices"
{
    sed 's/sparsehs_cl.h/sparsehs.h/' "$out/both.c" | grep -v 'shs_cl\|SPARSEHS_CL'
    printf 'int main(void) {\nenum { M = 500 };\nstatic shs_real Y[P * M], D[2][P * N];\nstatic struct work work;\nint i;\n'
    printf 'work.m = M;\nwork.Y = Y;\nwork.D[0] = D[0];\nwork.D[1] = D[1];\n'
    printf 'for (i = 0; i < P * M; i++) Y[i] = (shs_real)(i %% 17 * (i %% 29));\n'
    printf 'work.options.coding.sparsity = 2;\nif (shs_codes_create(NULL, M, 2, &work.codes) != SHS_OK) return 2;\n'
    printf 'if (learn_on_both(&work) != SHS_OK) return 3;\n'
    printf 'return memcmp(D[0], D[1], sizeof D[0]) != 0 || work.codes.used[M - 1] < 1;\n}\n'
} >"$out/ranks.c"
${CC:-cc} -std=c99 -Wall -Wextra -Werror -O0 -I. "$out/ranks.c" -o "$out/ranks" -pthread -lm && "$out/ranks" || fail "README.md's lines of ranks"
bash tools/sizes.sh check ${SHS_LONG:+all} || fail "README.md's sizes"

"$out/quickstart" || fail "quickstart fails"
"$out/embedded" || fail "embedded fails"

[ $# -gt 0 ] || set -- gcc clang tcc
level=-O0
[ -z "${SHS_LONG:-}" ] || level=-O2
for compiler in "$@"; do
    command -v "$compiler" >/dev/null || {
        echo "check-examples: no $compiler here: not checked"
        continue
    }
    for flags in "" -DSPARSEHS_DOUBLE; do
        # shellcheck disable=SC2086
        $compiler $level -DSPARSEHS_STATIC $flags examples/quickstart.c -o "$out/program" -lm
        said=$("$out/program") || fail "$compiler $flags: quickstart fails"
        case $said in "50 of 50 "*) ;; *) fail "$compiler $flags: $said" ;; esac
        [ "$said" = "${expected:=$said}" ] || fail "$compiler $flags: $said; by the first: $expected"
    done
done
echo "check-examples: all build and answer; quickstart: ${expected:-nothing compiled it}"
