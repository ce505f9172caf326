#!/bin/sh
# Puts the two headers, a pkg-config file and a CMake package below $DESTDIR$PREFIX, or takes them away again:
#
#     PREFIX=/usr/local DESTDIR= sh tools/install.sh install|uninstall
#
# Nothing in them knows a machine, so that they belong into share/, not lib/; the CMake package finds its header from where it stands.
set -eu
case ${1:-} in install | uninstall) ;; *) echo "usage: $0 install|uninstall" >&2; exit 2 ;; esac
prefix=${PREFIX:-/usr/local}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
[ "$prefix" = / ] || prefix=${prefix%/}
root=${DESTDIR:-}$prefix
include=$root/include pkgconfig=$root/share/pkgconfig cmake=$root/share/cmake/sparsehs

if [ "$1" = uninstall ]; then
    rm -f "$include/sparsehs.h" "$include/sparsehs_cl.h" "$pkgconfig/sparsehs.pc"
    rm -f "$cmake/sparsehs-config.cmake" "$cmake/sparsehs-config-version.cmake"
    [ ! -d "$cmake" ] || rmdir "$cmake"
    exit
fi

# In the replacement text of sed these characters stand for something else.
escaped=$(printf '%s\n' "$prefix" | sed 's/[&|\\]/\\&/g')
version=$(sed -n 's/^#define SPARSEHS_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' sparsehs.h | paste -sd . -)

mkdir -p "$include" "$pkgconfig" "$cmake"
for header in sparsehs.h sparsehs_cl.h; do
    cp $header "$include/$header"
    chmod 644 "$include/$header"
done

sed "s|@CMAKE_INSTALL_PREFIX@|$escaped|; s|@INCLUDEDIR@|\${prefix}/include|; s|@PROJECT_VERSION@|$version|" \
    tools/packaging/sparsehs.pc.in >"$pkgconfig/sparsehs.pc"
cp tools/packaging/sparsehs-config.cmake tools/packaging/sparsehs-config-version.cmake "$cmake"
chmod 644 "$pkgconfig/sparsehs.pc" "$cmake"/*.cmake
