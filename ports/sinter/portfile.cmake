# SPDX-License-Identifier: MIT
# An overlay port: sinter from the source tree that the port lies in.
#   vcpkg install sinter --overlay-ports=<sinter>/ports
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

set(VCPKG_BUILD_TYPE release) # headers: the same in every build type

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES openmp SINTER_OPENMP)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DSINTER_BUILD_TESTS=OFF
    -DSINTER_BUILD_BENCH=OFF
    -DSINTER_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/sinter)
vcpkg_fixup_pkgconfig()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
