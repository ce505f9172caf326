# Header-only: there is nothing to build, and one copy serves debug and release.
set(VCPKG_BUILD_TYPE release)
vcpkg_download_distfile(ARCHIVE
    URLS "@URL@/sparsehs-@VERSION@.tar.gz"
    FILENAME "sparsehs-@VERSION@.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

file(INSTALL "${SOURCE_PATH}/sparsehs.h" "${SOURCE_PATH}/sparsehs_cl.h" DESTINATION "${CURRENT_PACKAGES_DIR}/include")
file(INSTALL
    "${SOURCE_PATH}/tools/packaging/sparsehs-config.cmake"
    "${SOURCE_PATH}/tools/packaging/sparsehs-config-version.cmake"
    DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}"
)
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
