#!/bin/sh
# The header as people vendor it: renamed, in other folders, preprocessed, precompiled, pasted into other files. It must find itself
# and compile its kernels for AVX2 and AVX-512, or say that it did not. From the project's root:
#
#     sh tests/checks/check_vendoring.sh [COMPILER ...]      none: gcc and clang, those that are here
#
# Without $SHS_LONG the ways that most people take; with it all.
set -eu
LC_ALL=C
export LC_ALL
root=$(pwd)
out=$root/build/vendoring
log=$out/log
checked=0
lost="others are missing: see SPARSEHS_FILE"

fail() {
    echo "check-vendoring: $compiler: $*" >&2
    exit 1
}

# A private copy of what is called alone compiles fast. The first words are flags and the source.
# shellcheck disable=SC2086 # lists of words
build() {
    $compiler -std=c99 -O1 -Wall -Wextra -Werror -DSPARSEHS_STATIC "$@" -o program -lm >"$log" 2>&1
}

says() { # case, what shs_build_info must hold
    said=$(./program) || fail "$1: it does not run"
    case $said in *"$2"*) checked=$((checked + 1)) ;; *) fail "$1: it says '$said' and not '$2'" ;; esac
    rm -f program
}

# Builds and runs; it must say the same as the file under its own name.
same() { # case, arguments of the compiler ...
    name=$1
    shift
    build "$@" || fail "$name: $(head -5 "$log")"
    says "$name" "$plain"
}

# Builds and runs with the kernels of the flags alone, and says so.
without() { # case, arguments ...
    name=$1
    shift
    build "$@" || fail "$name: $(head -5 "$log")"
    says "$name" "$lost"
}

refused() { # case, what the compiler must say, arguments ...
    name=$1 text=$2
    shift 2
    if build "$@"; then fail "$name: compiles"; fi
    grep -q "error.*$text" "$log" || fail "$name: not '$text' but $(head -5 "$log")"
    checked=$((checked + 1))
}

# The types are those of the first #include; a switch that comes later would change the rest alone.
late_switches() {
    for late in '#define SPARSEHS_DOUBLE' '#define SPARSEHS_NO_DOUBLE'; do
        program '#include "third_party/shs.h"' "$late" "$implementation" '#include "third_party/shs.h"' >late.c
        refused "$late after the API" "define SPARSEHS_DOUBLE or SPARSEHS_NO_DOUBLE before" -USPARSEHS_STATIC late.c
    done
    program '#include "third_party/shs.h"' '#undef SPARSEHS_DOUBLE' "$implementation" '#include "third_party/shs.h"' >late.c
    refused "#undef SPARSEHS_DOUBLE after the API" "define SPARSEHS_DOUBLE or SPARSEHS_NO_DOUBLE before" -USPARSEHS_STATIC -DSPARSEHS_DOUBLE late.c
}

program() { # lines that stand before main ...
    echo '#include <stdio.h>'
    printf '%s\n' "$@"
    echo 'int main(void) { return puts(shs_build_info()) < 0; }'
}
implementation='#define SPARSEHS_IMPLEMENTATION'

quiet() { # case, arguments ...
    name=$1
    shift
    $compiler -Wall -Wextra -Wpedantic -Werror -O1 "$@" -c -o object.o >"$log" 2>&1 || fail "$name: $(head -5 "$log")"
    checked=$((checked + 1))
}

read_only() { # case, arguments ...
    name=$1
    shift
    $compiler -fsyntax-only "$@" >"$log" 2>&1 || fail "$name: $(head -5 "$log")"
    checked=$((checked + 1))
}

[ $# -gt 0 ] || set -- gcc clang
for compiler in "$@"; do
    command -v "$compiler" >/dev/null || {
        echo "check-vendoring: no $compiler here: not checked"
        continue
    }
    rm -rf "$out"
    mkdir -p "$out/third_party" "$out/links" "$out/older" "$out/sub/build"
    cd "$out"
    cp "$root/sparsehs.h" third_party/shs.h
    ln -s ../third_party/shs.h links/linked.h
    sed 's/\(SPARSEHS_VERSION_MINOR\) \(!= \)\{0,1\}[0-9][0-9]*/\1 \2999/' "$root/sparsehs.h" >older/sparsehs.h
    program "$implementation" '#include "sparsehs.h"' >plain.c
    program "$implementation" '#include "third_party/shs.h"' >quoted.c
    program "$implementation" '#include <shs.h>' >angled.c
    program "$implementation" '#include "linked.h"' >linked.c
    program "$implementation" '#include "../third_party/shs.h"' >sub/above.c
    program "$implementation" '#line 7 "elsewhere.c"' '#include "third_party/shs.h"' >line.c
    program '#include "third_party/shs.h"' "$implementation" '#include "third_party/shs.h"' >twice.c
    program >bare.c

    build "-I$root" plain.c || fail "$(head -5 "$log")"
    plain=$(./program)
    case $(uname -m):$plain in
    x86_64:*", AVX-512;"*) ;;
    x86_64:*) fail "under its own name it says '$plain'" ;;
    esac

    same "by an absolute path" "$out/quoted.c"

    # A compiler that knows no __FILE_NAME__ does not find a renamed file by another path without help.
    printf '#ifndef __FILE_NAME__\n#error\n#endif\n' >named.c
    if $compiler -fsyntax-only named.c 2>"$log"; then
        same "in a folder" quoted.c
        if [ -n "${SHS_LONG:-}" ]; then
        same "among the include paths, with another version on them" -Iolder -Ithird_party angled.c
        same "in a system folder" -isystem third_party angled.c
        same "behind a symbolic link" -Ilinks linked.c
        same "above the source" sub/above.c
        (cd sub/build && ln -sf ../../program program && same "built out of the tree" ../above.c)
        same "in a folder of another name for the debugger" -ffile-prefix-map="$out=/elsewhere" "$out/quoted.c"
        same "after #line" line.c
        same "included by the command line" -DSPARSEHS_IMPLEMENTATION -include third_party/shs.h bare.c
        $compiler -O1 -DSPARSEHS_STATIC -E quoted.c >two_steps.i
        same "preprocessed first" -w two_steps.i
        $compiler -O1 -DSPARSEHS_STATIC -E -P quoted.c >two_steps.i
        same "preprocessed first, without line markers" -w two_steps.i
        if $compiler -O1 -DSPARSEHS_STATIC -E -fdirectives-only quoted.c >directives.i 2>"$log"; then
            same "preprocessed first, directives only" -w -fpreprocessed -fdirectives-only directives.i
        elif $compiler -O1 -DSPARSEHS_STATIC -E -frewrite-includes quoted.c >includes.i 2>"$log"; then
            same "preprocessed first, includes only" -w includes.i
        fi
        fi
        printf '%s\n#include "third_party/shs.h"\n' "$implementation" >all.h
        $compiler -std=c99 -O1 -DSPARSEHS_STATIC -x c-header all.h -o all.h.gch
        same "precompiled" -include all.h bare.c
        rm all.h.gch
    else
        echo "check-vendoring: $compiler does not know __FILE_NAME__: a renamed file is not checked"
    fi

    # VENDORING: no upper-case name of two letters or more, but SHS_ and SPARSEHS_, stands in the declarations, where a macro
    # could replace it. The system's headers are left out.
    echo '#include "sparsehs.h"' | $compiler -E "-I$root" -x c - |
        awk '/^# [0-9]/ { own = $3 ~ /sparsehs\.h"$/; next } own' >api.i
    grep -q shs_build_info api.i || fail "the preprocessed API is empty"
    tr -cs 'A-Za-z0-9_' '\n' <api.i | grep -E '^[A-Z][A-Z0-9_]+$' | grep -v -e '^SHS_' >collide || true
    [ ! -s collide ] || fail "names in the declarations that macros of a project replace: $(sort -u collide | tr '\n' ' ')"
    checked=$((checked + 1))

    # Among the macros of Qt, windows.h, X11 and Arduino, all of them defined before the header.
    { printf '#include <%s>\n' stddef.h stdint.h string.h limits.h float.h stdlib.h math.h
      cat "$root/tests/checks/vendoring_macros.h"; echo "$implementation"; echo '#include "sparsehs.h"'; } >macros.c
    read_only "among the macros of Qt, windows.h, X11 and Arduino" -x c -std=c99 "-I$root" macros.c
    if echo 'int x;' | $compiler -x c++ -fsyntax-only - 2>"$log"; then
        read_only "among those macros, in C++" -x c++ -std=c++11 "-I$root" macros.c
    fi
    if [ -z "${SHS_LONG:-}" ]; then
        { yes '/* more of it */' | head -300; echo "$implementation"; cat "$root/sparsehs.h"; program; } >pasted.c
        without "pasted into a program" pasted.c
        refused "SPARSEHS_FILE that is not there" "SPARSEHS_FILE is no file" '-DSPARSEHS_FILE="absent.h"' quoted.c
        late_switches
        cd "$root"
        continue
    fi

    # As a source of its own: that takes a whole compilation, so that only the text is looked at.
    case $plain in
    *AVX-512*)
        $compiler -O1 -DSPARSEHS_IMPLEMENTATION -E -x c "$root/sparsehs.h" | grep -q 'shs__kernels_gemm_avx2 = ' ||
            fail "compiled by itself it has no kernels for AVX2"
        ;;
    esac

    # Named.
    same "SPARSEHS_FILE, its bare name" '-DSPARSEHS_FILE="shs.h"' quoted.c
    same "SPARSEHS_FILE, an include path" '-DSPARSEHS_FILE=<shs.h>' -Ithird_party quoted.c
    refused "SPARSEHS_FILE as the user includes it" "SPARSEHS_FILE is no file" '-DSPARSEHS_FILE="third_party/shs.h"' quoted.c
    refused "SPARSEHS_FILE that is not there" "SPARSEHS_FILE is no file" '-DSPARSEHS_FILE="absent.h"' quoted.c
    refused "SPARSEHS_FILE of another version" "two versions" '-DSPARSEHS_FILE="../older/sparsehs.h"' quoted.c
    echo 'enum { SOMETHING_ELSE };' >else.h
    refused "SPARSEHS_FILE that is something else" "does not hold sparsehs.h" '-DSPARSEHS_FILE="else.h"' -I. quoted.c
    program '#include "older/sparsehs.h"' "$implementation" '#include "third_party/shs.h"' >versions.c
    refused "two versions in one file" "two versions" -USPARSEHS_STATIC versions.c
    refused "a private copy after the API" "before the first #include" twice.c
    late_switches

    # Pasted into a file with code before and behind it.
    yes 'enum { SOME_CODE }; ' | head -1 >before.h
    yes '/* more of it */' | head -300 >>before.h
    { cat before.h; echo "$implementation"; cat "$root/sparsehs.h"; program; } >pasted.c
    without "pasted into a program" pasted.c
    without "pasted into a program, beside another version" -Iolder pasted.c
    echo '#include "pasted.c"' >unity.c
    without "pasted into a program that another includes" unity.c
    { echo "#ifndef ALL_H"; echo "#define ALL_H"; echo "$implementation"; cat "$root/sparsehs.h" before.h; echo "#endif"; } >pasted.h
    program '#include "pasted.h"' >guarded.c
    without "pasted into a header with a guard" guarded.c
    { echo "#pragma once"; echo "$implementation"; cat "$root/sparsehs.h" before.h; } >pasted.h
    without "pasted into a header with a pragma" guarded.c
    { echo "#ifndef SPARSEHS_AGAIN"; cat before.h; echo "#endif"; echo "$implementation"; cat "$root/sparsehs.h"
      echo "#ifndef SPARSEHS_AGAIN"; program; echo "#endif"; } >pasted.c
    same "pasted, with SPARSEHS_FILE and SPARSEHS_AGAIN" '-DSPARSEHS_FILE="pasted.c"' pasted.c

    # SPARSEHS_STATIC for a whole project: files without the implementation see the API as ever. Inside namespaces, named or not,
    # where the system's headers came first.
    echo '#include "third_party/shs.h"' >api.c
    quiet "a file without the private copy" -std=c99 -DSPARSEHS_STATIC api.c
    if echo 'int x;' | $compiler -x c++ -fsyntax-only - 2>"$log"; then
        quiet "a file without the private copy, in C++" -x c++ -std=c++11 -DSPARSEHS_STATIC api.c
        for space in "" vendored; do
            { printf '#include <%s>\n' stddef.h stdint.h string.h limits.h stdlib.h math.h
              echo "namespace $space {"; cat api.c; echo "}"; echo "#ifdef SPARSEHS_IMPLEMENTATION"
              echo "int main(void) { return !$space::shs_build_info(); }"; echo "#endif"; } >namespace.cc
            for flags in -DSPARSEHS_IMPLEMENTATION -DSPARSEHS_STATIC "-DSPARSEHS_STATIC -DSPARSEHS_IMPLEMENTATION"; do
                # shellcheck disable=SC2086
                quiet "in namespace '$space', $flags" -x c++ -std=c++11 -DSPARSEHS_NO_DISPATCH -O0 $flags namespace.cc
            done
        done
    else
        echo "check-vendoring: $compiler has no C++: not checked"
    fi
    cd "$root"
done
echo "check-vendoring: $checked ways to include the header, all well"
