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

# sinter_add_components([GLOBAL])
# Parts of sinter whose headers need a library more: for each whose library is there a target sinter::<part>, and
# sinter_<part>_FOUND, which find_package(sinter COMPONENTS <part>) looks at. After the target sinter::sinter.
macro(sinter_add_components)
  find_package(nlohmann_json QUIET CONFIG ${ARGN})
  sinter_add_component(safetensors nlohmann_json::nlohmann_json ${ARGN})
  # Not by libzip's own package: Debian's is an error without the tools of libzip, which are in other packages.
  find_path(SINTER_ZIP_INCLUDE_DIR zip.h)
  find_library(SINTER_ZIP_LIBRARY zip)
  mark_as_advanced(SINTER_ZIP_INCLUDE_DIR SINTER_ZIP_LIBRARY)
  if(SINTER_ZIP_INCLUDE_DIR AND SINTER_ZIP_LIBRARY AND NOT TARGET sinter::libzip)
    add_library(sinter::libzip UNKNOWN IMPORTED ${ARGN})
    set_target_properties(sinter::libzip PROPERTIES
      IMPORTED_LOCATION "${SINTER_ZIP_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SINTER_ZIP_INCLUDE_DIR}")
  endif()
  sinter_add_component(npz sinter::libzip ${ARGN})
  find_path(SINTER_PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp)
  mark_as_advanced(SINTER_PROTOZERO_INCLUDE_DIR)
  if(SINTER_PROTOZERO_INCLUDE_DIR AND NOT TARGET sinter::protozero)
    add_library(sinter::protozero INTERFACE IMPORTED ${ARGN})
    set_target_properties(sinter::protozero PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${SINTER_PROTOZERO_INCLUDE_DIR}")
  endif()
  sinter_add_component(onnx sinter::protozero ${ARGN})
endmacro()

# sinter_add_component(<part> <target of its library> [GLOBAL])
macro(sinter_add_component part library)
  if(TARGET ${library} AND NOT TARGET sinter::${part})
    add_library(sinter::${part} INTERFACE IMPORTED ${ARGN})
    target_link_libraries(sinter::${part} INTERFACE sinter::sinter ${library})
  endif()
  if(TARGET sinter::${part})
    set(sinter_${part}_FOUND TRUE)
  endif()
endmacro()
