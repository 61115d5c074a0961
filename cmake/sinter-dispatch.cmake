# SPDX-License-Identifier: MIT
# One program for several instruction sets: sources compiled once for each, the best one picked when the program starts.
# Installed beside sinter-config.cmake, which includes it.

# sinter_add_dispatched(<target> SOURCES <file>... [ARCHITECTURES <name>...])
# Compiles the sources once per architecture, with what <target> is compiled with and links, and adds the units to it.
# Entries are the functions of the sources that have external linkage and are not inline; they are called by their names,
# as if the sources were part of the target. Everything else in a unit is its own, also what it has of std:: and Eigen.
#   sse2    any x86-64             sse4_2  SSE 4.2
#   avx2    AVX2, FMA, F16C        avx512  AVX-512 F, BW, CD, DQ, VL, and those of avx2
# Default: sse2 avx2 avx512. SINTER_ARCHITECTURE=avx2 in the environment of the program keeps it from a wider one.
# Needs GCC or Clang, ELF and the GNU binutils; elsewhere the sources are compiled once, with the flags of the target.
# Once per target, in the directory that made it.

function(sinter_add_dispatched target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ARCHITECTURES")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sinter_add_dispatched(<target> SOURCES <file>... [ARCHITECTURES <name>...])")
  endif()
  if(NOT arg_ARCHITECTURES)
    set(arg_ARCHITECTURES sse2 avx2 avx512)
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8
      OR NOT CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF" OR NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    message(STATUS "sinter_add_dispatched: ${target} is compiled for one instruction set (not x86-64, ELF, GCC or Clang)")
    target_sources(${target} PRIVATE ${arg_SOURCES})
    return()
  endif()
  get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(several)
    message(FATAL_ERROR "sinter_add_dispatched: generators of several configurations are not supported")
  endif()
  # The linker of GNU by name: CMAKE_LINKER may be another one, which cannot dissolve groups of sections.
  find_program(SINTER_LD NAMES ${CMAKE_LIBRARY_ARCHITECTURE}-ld.bfd ld.bfd ld REQUIRED)
  mark_as_advanced(SINTER_LD)

  set(wide -mavx2 -mfma -mf16c)
  set(flags_sse2)
  set(flags_sse4_2 -msse4.2)
  set(flags_avx2 ${wide})
  set(flags_avx512 ${wide} -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl)

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_dispatched)
  set(combined)
  set(dependencies)
  set(objects)
  # Narrow ones first, whatever the order of the call.
  foreach(architecture sse2 sse4_2 avx2 avx512)
    if(NOT architecture IN_LIST arg_ARCHITECTURES)
      continue()
    endif()
    list(REMOVE_ITEM arg_ARCHITECTURES ${architecture})
    list(APPEND chosen ${architecture})
    sinter_add_dispatch_unit(${target} ${architecture} "${arg_SOURCES}" "${flags_${architecture}}")
    list(APPEND objects "-DOBJECTS_${architecture}=$<TARGET_OBJECTS:${target}_${architecture}>")
    list(APPEND dependencies $<TARGET_OBJECTS:${target}_${architecture}>)
    list(APPEND combined ${folder}/${architecture}.o)
  endforeach()
  if(arg_ARCHITECTURES)
    message(FATAL_ERROR "sinter_add_dispatched: no such architecture: ${arg_ARCHITECTURES} (sse2, sse4_2, avx2, avx512)")
  endif()

  add_custom_command(OUTPUT ${folder}/dispatch.cpp ${combined}
    COMMAND ${CMAKE_COMMAND} "-DARCHITECTURES=${chosen}" ${objects} -DFOLDER=${folder}
      -DLD=${SINTER_LD} -DNM=${CMAKE_NM} -DOBJCOPY=${CMAKE_OBJCOPY}
      -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sinter-dispatch-link.cmake
    DEPENDS ${dependencies} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sinter-dispatch-link.cmake
      ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sinter-dispatch.cpp.in
    COMMENT "Linking the units of ${target} for ${chosen}"
    VERBATIM)
  set_source_files_properties(${combined} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  # Names are given in assembly, which link-time optimisation does not see.
  set_source_files_properties(${folder}/dispatch.cpp PROPERTIES COMPILE_OPTIONS "-w;-fno-lto;-march=x86-64")
  target_sources(${target} PRIVATE ${folder}/dispatch.cpp ${combined})
endfunction()

function(sinter_add_dispatch_unit target architecture sources flags)
  set(unit ${target}_${architecture})
  add_library(${unit} OBJECT ${sources})
  target_link_libraries(${unit} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  target_include_directories(${unit} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${unit} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  # All options of the target stand before those of the architecture: the last -march counts, and of two that are equal
  # CMake keeps the first. Unique symbols of GNU cannot be made local.
  target_compile_options(${unit} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>
    -march=x86-64 ${flags} $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  set_target_properties(${unit} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  foreach(property CXX_STANDARD CXX_STANDARD_REQUIRED CXX_EXTENSIONS POSITION_INDEPENDENT_CODE)
    get_target_property(value ${target} ${property})
    if(NOT value MATCHES "-NOTFOUND$")
      set_target_properties(${unit} PROPERTIES ${property} ${value})
    endif()
  endforeach()
  # Shared libraries are position-independent without saying so.
  get_target_property(type ${target} TYPE)
  if(type MATCHES "^(SHARED|MODULE)_LIBRARY$")
    set_target_properties(${unit} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()
