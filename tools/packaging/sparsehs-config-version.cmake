# The version is that of the installed header. It serves a program that asks for the same major version and not for a later one;
# before 1.0 the minor version must be the same too.
set(header "${CMAKE_CURRENT_LIST_DIR}/../../../include/sparsehs.h")
if(NOT EXISTS "${header}") # in share/sparsehs, as vcpkg has it
    set(header "${CMAKE_CURRENT_LIST_DIR}/../../include/sparsehs.h")
endif()
file(STRINGS "${header}" lines REGEX "^#define SPARSEHS_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX MATCH "MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+)" lines "${lines}")
set(major ${CMAKE_MATCH_1})
set(minor ${CMAKE_MATCH_2})
set(PACKAGE_VERSION ${major}.${minor}.${CMAKE_MATCH_3})

set(PACKAGE_VERSION_COMPATIBLE FALSE)
if("${PACKAGE_FIND_VERSION}" STREQUAL "")
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
elseif(PACKAGE_FIND_VERSION_MAJOR EQUAL major AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    if(major GREATER 0 OR PACKAGE_FIND_VERSION_COUNT LESS 2 OR PACKAGE_FIND_VERSION_MINOR EQUAL minor)
        set(PACKAGE_VERSION_COMPATIBLE TRUE)
    endif()
endif()
set(PACKAGE_VERSION_EXACT FALSE)
if("${PACKAGE_FIND_VERSION}" VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
