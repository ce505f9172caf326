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

number() { sed -n "s/^#define SPARSEHS_VERSION_$1 \([0-9]*\)$/\1/p" sparsehs.h; }
major=$(number MAJOR) minor=$(number MINOR) version=$(number MAJOR).$(number MINOR).$(number PATCH)

mkdir -p "$include" "$pkgconfig" "$cmake"
for header in sparsehs.h sparsehs_cl.h; do
    cp $header "$include/$header"
    chmod 644 "$include/$header"
done

cat >"$pkgconfig/sparsehs.pc" <<END
prefix=$prefix
includedir=\${prefix}/include

Name: sparsehs
Description: Sparse coding and hyperspectral analysis in one C99 header
Version: $version
Cflags: -I\${includedir}
Libs: -lm
END

cat >"$cmake/sparsehs-config.cmake" <<'END'
# find_package(sparsehs) and target_link_libraries(program PRIVATE sparsehs::sparsehs): where the headers are, and the C library's
# mathematics. SPARSEHS_IMPLEMENTATION stays the business of one file of the program.
if(NOT TARGET sparsehs::sparsehs)
    get_filename_component(sparsehs_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
    add_library(sparsehs::sparsehs INTERFACE IMPORTED)
    set_target_properties(sparsehs::sparsehs PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${sparsehs_root}/include")
    if(NOT MSVC)
        set_target_properties(sparsehs::sparsehs PROPERTIES INTERFACE_LINK_LIBRARIES m)
    endif()
    unset(sparsehs_root)
endif()
END

# Before 1.0 a minor version may change the API, so that another one does not do.
cat >"$cmake/sparsehs-config-version.cmake" <<END
set(PACKAGE_VERSION $version)
set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
if("\${PACKAGE_FIND_VERSION_MAJOR}.\${PACKAGE_FIND_VERSION_MINOR}" STREQUAL "$major.$minor" OR
   "\${PACKAGE_FIND_VERSION}" STREQUAL "$major" OR "\${PACKAGE_FIND_VERSION}" STREQUAL "")
    if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
        set(PACKAGE_VERSION_COMPATIBLE TRUE)
    endif()
    if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
        set(PACKAGE_VERSION_EXACT TRUE)
    endif()
endif()
END
chmod 644 "$pkgconfig/sparsehs.pc" "$cmake"/*.cmake
