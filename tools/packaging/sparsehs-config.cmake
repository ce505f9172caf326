# find_package(sparsehs) and target_link_libraries(program PRIVATE sparsehs::sparsehs): where the headers are, and the C library's
# mathematics. SPARSEHS_IMPLEMENTATION stays the business of one file of the program.
if(NOT TARGET sparsehs::sparsehs)
    # From share/cmake/sparsehs, or from share/sparsehs as vcpkg has it.
    set(sparsehs_places "${CMAKE_CURRENT_LIST_DIR}/../../../include" "${CMAKE_CURRENT_LIST_DIR}/../../include")
    include("${CMAKE_CURRENT_LIST_DIR}/sparsehs-includedir.cmake" OPTIONAL)
    find_path(sparsehs_include sparsehs.h PATHS ${sparsehs_places} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    add_library(sparsehs::sparsehs INTERFACE IMPORTED)
    set_target_properties(sparsehs::sparsehs PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${sparsehs_include}")
    if(NOT WIN32)
        set_target_properties(sparsehs::sparsehs PROPERTIES INTERFACE_LINK_LIBRARIES m)
    endif()
    unset(sparsehs_include CACHE)
    unset(sparsehs_places)
endif()
