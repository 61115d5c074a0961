# SPDX-License-Identifier: MIT
# What sinter links. Used by the build and, installed beside it, by sinter-config.cmake, so that both agree.

# sinter_find_dependencies(<openmp> [GLOBAL])
# GLOBAL makes the imported targets visible to a project that adds sinter with add_subdirectory or FetchContent.
macro(sinter_find_dependencies use_openmp)
  # No version in the call: Eigen 3.4 and 5 are both fine, and neither's version file accepts a range over majors.
  find_package(Eigen3 REQUIRED CONFIG ${ARGN})
  if(Eigen3_VERSION VERSION_LESS 3.4)
    message(FATAL_ERROR "sinter needs Eigen 3.4 or newer, found ${Eigen3_VERSION}")
  endif()
  find_package(xsimd REQUIRED CONFIG ${ARGN})
  # Debian's xsimd 8.1 links a target `xtl` that it neither finds nor depends on; without a target of that name the
  # linker is asked for -lxtl. sinter uses nothing of xtl, so an empty target does where the package is not installed.
  if(NOT TARGET xtl)
    find_package(xtl QUIET CONFIG ${ARGN})
  endif()
  if(NOT TARGET xtl)
    add_library(xtl INTERFACE IMPORTED ${ARGN})
  endif()
  if(${use_openmp})
    find_package(OpenMP REQUIRED COMPONENTS CXX ${ARGN})
  endif()
endmacro()
