#!/bin/sh
# The version, whose one place is SPARSEHS_VERSION_MAJOR, _MINOR and _PATCH in sparsehs.h. From the project's root:
#
#     sh tools/version.sh                 print it
#     sh tools/version.sh check           whether all other files say the same (make check-version)
#     sh tools/version.sh set 1.2.3       write it everywhere; CHANGELOG.md is written by hand
#
# pkg-config, CMake and the Python package read it from the header.
set -eu
version() { sed -n 's/^#define SPARSEHS_VERSION_[MP][A-Z]* \([0-9][0-9]*\)$/\1/p' sparsehs.h | paste -sd . -; }

# FILE PATTERN: the versions in it, each in place of an @ of the pattern, a basic regular expression.
found() {
    pattern=$(echo "$2" | sed 's/@/\\([0-9][0-9]*\\.[0-9][0-9]*\\.[0-9][0-9]*\\)/')
    sed -n "s/$pattern.*/\\1/p" "$1" | sed 's/.* //'
}

# The places that repeat it: file and pattern.
places() {
    cat <<'END_OF_PLACES'
sparsehs.h ^\/\* sparsehs\.h - v@
sparsehs_cl.h ^\/\* sparsehs_cl\.h - v@
CITATION.cff ^version: @
meson.build ^project('sparsehs', 'c', version: '@
README.md Version @
END_OF_PLACES
}

# What a header that meets another version compares.
comparison() { # version
    echo "$1" | sed 's/\(.*\)\.\(.*\)\.\(.*\)/#if SPARSEHS_VERSION_MAJOR != \1 || SPARSEHS_VERSION_MINOR != \2 || SPARSEHS_VERSION_PATCH != \3/'
}

check() {
    bad=0
    while read -r file pattern; do
        said=$(found "$file" "$pattern")
        [ "$file" != README.md ] || [ -n "$said" ] || continue
        [ "$said" = "$version" ] || { echo "check-version: $file says '$said', sparsehs.h is $version"; bad=1; }
    done <<END_OF_LIST
$(places)
END_OF_LIST
    for header in sparsehs.h sparsehs_cl.h; do
        [ "$(grep '^#if SPARSEHS_VERSION_MAJOR != ' $header)" = "$(comparison "$version")" ] ||
            { echo "check-version: $header compares with another version than $version"; bad=1; }
    done
    said=$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
    [ "$said" = "$version" ] || { echo "check-version: the newest entry of CHANGELOG.md is '$said', sparsehs.h is $version"; bad=1; }
    [ $bad -eq 0 ] || { echo "check-version: sh tools/version.sh set $version" >&2; exit 1; }
    echo "check-version: $version everywhere"
}

# FILE SCRIPT: sed in place, where no sed has the same option for it.
edit() {
    sed "$2" "$1" >"$scratch"
    cat "$scratch" >"$1"
}

set_to() {
    echo "$1" | grep -qx '[0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*' || { echo "version: '$1' is not MAJOR.MINOR.PATCH" >&2; exit 2; }
    new=$1
    scratch=$(mktemp)
    trap 'rm -f "$scratch"' EXIT
    for part in MAJOR:1 MINOR:2 PATCH:3; do
        edit sparsehs.h "s/^\\(#define SPARSEHS_VERSION_${part%:*}\\) .*/\\1 $(echo "$new" | cut -d. -f${part#*:})/"
    done
    for header in sparsehs.h sparsehs_cl.h; do
        edit $header "s/^#if SPARSEHS_VERSION_MAJOR != .*/$(comparison "$new")/"
    done
    places | while read -r file pattern; do
        edit "$file" "s/\\($(echo "$pattern" | sed 's/@.*//')\\)[0-9][0-9]*\\.[0-9][0-9]*\\.[0-9][0-9]*/\\1$new/"
    done
}

version=$(version)
case ${1:-} in
'') echo "$version" ;;
check) check ;;
set) set_to "${2:-}" ;;
*) echo "usage: $0 [check | set MAJOR.MINOR.PATCH]" >&2; exit 2 ;;
esac
