# SPDX-License-Identifier: MIT
# Flags of sinter's own tests, benchmarks and examples. Never part of the library's interface.

add_library(sinter_development INTERFACE)
target_link_libraries(sinter_development INTERFACE sinter)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(sinter_development INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wcast-align -Wimplicit-fallthrough
    $<$<BOOL:${SINTER_WERROR}>:-Werror>)
  # Conversions of sign and null pointers are Clang's to find: to GCC 12 the constants in `n += found ? 0 : 1` are some,
  # and the elements of std::vector may lie at null. No -Wuseless-cast: to it a cast between two names of one type is
  # useless (std::size_t and std::uint64_t), which elsewhere are two types, and so is one in a template that is
  # instantiated for the type itself.
  target_compile_options(sinter_development INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond;-Wduplicated-branches;-Wlogical-op>
    $<$<CXX_COMPILER_ID:Clang>:-Wsign-conversion;-Wnull-dereference>)
  # Optimised, GCC 12 warns falsely inside its own AVX-512 intrinsics (GCC bug 105593) and of `"text" + std::string`
  # (105651); the debug builds keep both warnings.
  target_compile_options(sinter_development INTERFACE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<CONFIG:Release>>:-Wno-restrict;-Wno-uninitialized;-Wno-maybe-uninitialized>)
  if(SINTER_NATIVE)
    target_compile_options(sinter_development INTERFACE -march=native)
  endif()
endif()

# What is compiled to look at the headers. Tests compare floats with references in double all the time.
add_library(sinter_strict INTERFACE)
target_link_libraries(sinter_strict INTERFACE sinter_development)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(sinter_strict INTERFACE -Wdouble-promotion)
endif()

find_program(SINTER_CCACHE ccache)
mark_as_advanced(SINTER_CCACHE)
if(SINTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SINTER_CCACHE})
endif()

# `cmake --build ... --target all_verify_interface_header_sets` compiles every header on its own, with these warnings: as
# options of the directory, which the targets that CMake makes for it read when all others are made.
set_target_properties(sinter PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
cmake_language(DEFER CALL set_property DIRECTORY PROPERTY
  COMPILE_OPTIONS "$<TARGET_PROPERTY:sinter_strict,INTERFACE_COMPILE_OPTIONS>")
if(sinter_safetensors_FOUND AND sinter_npz_FOUND AND sinter_onnx_FOUND)
  target_link_libraries(sinter_components INTERFACE sinter::safetensors sinter::npz sinter::onnx)
  set_target_properties(sinter_components PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endif()

# What lies behind the narrow waist (support/separate.hpp) takes a minute or two to compile: once for all tests, benchmarks
# and examples. In two units, which compile side by side.
add_library(sinter_test_middle OBJECT EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/tests/middle/program.cpp ${PROJECT_SOURCE_DIR}/tests/middle/code.cpp)
target_link_libraries(sinter_test_middle PUBLIC sinter_development PRIVATE sinter_strict)
target_compile_definitions(sinter_test_middle PUBLIC SINTER_SEPARATE)
