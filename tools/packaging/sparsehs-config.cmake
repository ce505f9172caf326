# find_package(sparsehs) and target_link_libraries(program PRIVATE sparsehs::sparsehs): where the headers are, and the C library's
# mathematics. SPARSEHS_IMPLEMENTATION stays the business of one file of the program.
if(NOT TARGET sparsehs::sparsehs)
    get_filename_component(sparsehs_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
    add_library(sparsehs::sparsehs INTERFACE IMPORTED)
    set_target_properties(sparsehs::sparsehs PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${sparsehs_root}/include")
    if(NOT WIN32)
        set_target_properties(sparsehs::sparsehs PROPERTIES INTERFACE_LINK_LIBRARIES m)
    endif()
    unset(sparsehs_root)
endif()
