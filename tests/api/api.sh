#!/bin/sh
# What the two headers offer, as a list, and whether it still holds what an earlier list promised. From the project's root:
#
#     CC=cc sh tests/api/api.sh list      print it: functions, macros, types, numbers of enumerations, layouts of structs
#     CC=cc sh tests/api/api.sh check     compare it with tests/api/recorded.txt (make check-api)
#     CC=cc sh tests/api/api.sh record    write tests/api/recorded.txt: with each release (make record-api)
#
# HEADERS names another folder to read the headers from. Layouts are those of 64-bit systems in float.
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc}
headers=${HEADERS:-.}
recorded=tests/api/recorded.txt
out=build/api
mkdir -p "$out"

# $1: option of the preprocessor. Only the lines of our own files, without those of the system's.
preprocessed() {
    echo '#include "sparsehs_cl.h"' | $CC -std=c99 -I"$headers" -DSHS_API=SHS__DECLARED -E $1 -x c - |
        awk '/^# [0-9]/ { own = $3 ~ /sparsehs(_cl)?\.h"$/; next } own'
}

# Functions and types as they stand; for enumerations and structs the lines of a C program that prints them.
declarations() {
    preprocessed "" | tr -s ' \t\n' ' ' | awk '{ gsub(/[{};]/, "\n&\n"); print }' | sed 's/^ *//; s/ *$//; /^$/d' | awk '
        function name_of(declarator) {
            if (match(declarator, /\(\*[a-z0-9_]+\)/)) return substr(declarator, RSTART + 2, RLENGTH - 3)
            sub(/ *\[.*/, "", declarator)
            match(declarator, /[A-Za-z0-9_]+$/)
            return substr(declarator, RSTART)
        }
        function member(text,   i, n, declarators, type, name) {
            if (text ~ /\(/) n = 1
            else n = split(text, declarators, / *, */)
            if (n == 1) declarators[1] = text
            type = declarators[1]
            if (n > 1) sub(/ *\**[A-Za-z0-9_]+( *\[.*)?$/, "", type)
            for (i = 1; i <= n; i++) {
                name = name_of(declarators[i])
                print "MEMBER(" tag ", " name ", \"" (i == 1 ? declarators[i] : type " " declarators[i]) "\")"
            }
        }
        /^typedef (enum|struct) [a-z0-9_]+$/ { kind = $2; tag = $3; next }
        /^enum$/ { kind = "enum"; tag = ""; next }
        $0 == "{" { depth++; next }
        $0 == "}" { depth--; if (kind == "struct") print "STRUCT(" tag ")"; closed = 1; next }
        $0 == ";" { closed = 0; next }
        closed { next }
        depth && kind == "enum" {
            n = split($0, names, / *, */)
            for (i = 1; i <= n; i++) { sub(/ *=.*/, "", names[i]); if (names[i] != "") print "VALUE(" names[i] ")" }
            next
        }
        depth { member($0); next }
        /^SHS__DECLARED / {
            sub(/^SHS__DECLARED /, "")
            match($0, /shs_[a-z0-9_]+\(/)
            print "TEXT(\"function " substr($0, RSTART, RLENGTH - 1) ": " $0 "\")"
            next
        }
        /^typedef / { print "TEXT(\"type " name_of(/\(\*/ ? $0 : $NF) ": " $0 "\")" }'
}

list() {
    echo "version $(sed -n 's/^#define SPARSEHS_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' "$headers/sparsehs.h" | paste -sd . -)"
    preprocessed -dD | sed -n -E 's/^#define ((SHS|SPARSEHS)_[A-Z][A-Z0-9_]*(\([^)]*\))?).*/macro \1/p' |
        grep -Evx 'macro (SHS_API|SHS_CL_API|SPARSEHS_H|SPARSEHS_CL_H)' | sed 's/\(macro [A-Z0-9_]*\)(/\1 (/' | sort -u
    {
        cat <<'PROGRAM'
#include <stdio.h>
#include "sparsehs_cl.h"
#define TEXT(text) puts(text);
#define VALUE(name) printf("value %s %d\n", #name, (int)(name));
#define STRUCT(tag) printf("struct %s %u\n", #tag, (unsigned)sizeof(tag));
#define MEMBER(tag, name, text) \
    printf("member %s.%s %u %u: %s\n", #tag, #name, (unsigned)offsetof(tag, name), (unsigned)sizeof(((tag *)NULL)->name), text);
int main(void) {
PROGRAM
        declarations
        echo 'return sizeof(void *) != 8; }'
    } >"$out/list.c"
    $CC -std=c99 -I"$headers" "$out/list.c" -o "$out/list" || { echo "check-api: the list does not compile" >&2; exit 1; }
    "$out/list" || { echo "skipped: layouts are recorded for 64-bit systems, which this one is not" >&2; exit 0; }
}

case ${1:-} in
list) list ;;
record)
    list >"$out/now.txt"
    cp "$out/now.txt" $recorded
    ;;
check)
    list >"$out/now.txt"
    # Structs may grow at their end, where the private end_canary stands, and enumerations too, where the number of their members
    # (_COUNT) stands. All else that was recorded stays.
    awk -v known=$recorded '
        # Whether `later` is a patch of `version`: MAJOR.MINOR are the same.
        function is_patch(version, later) {
            split(version, a, ".")
            split(later, b, ".")
            return a[1] == b[1] && a[2] == b[2] && a[3] != b[3]
        }
        function fails(text) { print "check-api: " text; broken++ }
        $1 == "version" { versions[FILENAME] = $2; next }
        { key = $1 " " $2 }
        FILENAME != known { now[key] = $0; order[++count] = key; next }
        { old[key] = 1; recorded++ }
        !(key in now) { fails("removed: " $0); next }
        now[key] == $0 { next }
        { split(now[key], new) }
        $1 == "struct" { if (new[3] + 0 < $3 + 0) fails("smaller: " $0 " bytes, now " new[3]); next }
        $1 == "value" && $2 ~ /_COUNT$/ && new[3] + 0 > $3 + 0 { next }
        $1 == "value" { fails("renumbered: " $2 " was " $3 ", is " new[3]); next }
        $1 == "member" && $2 ~ /\.end_canary$/ && new[3] + 0 > $3 + 0 { next }
        $1 == "member" && $3 != new[3] { fails("moved: " $2 " was at byte " $3 ", is at byte " new[3]); next }
        { fails("changed: " $0 "\n             now: " now[key]) }
        END {
            if (recorded < 100 || count < 100) fails("only " recorded + 0 " names are recorded, " count + 0 " found")
            for (i = 1; i <= count; i++) if (!(order[i] in old)) added++
            if (added && is_patch(versions[known], versions[ARGV[1]])) {
                print "check-api: " added " names are new since " versions[known] ": a patch adds nothing, raise the minor version"
                exit 1
            }
            if (!broken) { print "check-api: " recorded " names hold, " added + 0 " are new"; exit }
            print "check-api: a program that compiles today would not, or would mean something else. 1.x keeps these"
            print "(API PROMISE in sparsehs.h). Until v1.0.0 is tagged, name the change in CHANGELOG.md and run: make record-api"
            exit 1
        }' "$out/now.txt" $recorded
    ;;
*) echo "usage: $0 list|check|record" >&2; exit 2 ;;
esac
