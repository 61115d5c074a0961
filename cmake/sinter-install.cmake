# SPDX-License-Identifier: MIT
# Headers, CMake package and pkg-config file. A header-only package holds nothing of one machine, so all of it goes to
# paths that machines share.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/sinter)

install(TARGETS sinter EXPORT sinter-targets FILE_SET HEADERS FILE_SET separate)
install(TARGETS sinter_native EXPORT sinter-targets)
install(TARGETS sinter_components FILE_SET HEADERS)
install(EXPORT sinter-targets NAMESPACE sinter:: DESTINATION ${package_dir})

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/sinter-config.cmake.in ${PROJECT_BINARY_DIR}/sinter-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/sinter-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  ${PROJECT_BINARY_DIR}/sinter-config.cmake
  ${PROJECT_BINARY_DIR}/sinter-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/sinter-dependencies.cmake
  ${PROJECT_SOURCE_DIR}/cmake/sinter-dispatch.cmake
  ${PROJECT_SOURCE_DIR}/cmake/sinter-dispatch-link.cmake
  ${PROJECT_SOURCE_DIR}/cmake/sinter-dispatch.cpp.in
  DESTINATION ${package_dir})

configure_file(${PROJECT_SOURCE_DIR}/cmake/sinter.pc.in ${PROJECT_BINARY_DIR}/sinter.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sinter.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
