# SPDX-License-Identifier: MIT
# What programs may ask of headers: few macros, no exceptions, no run-time type information, C++23. What takes
# minutes (every header alone, with both compilers) is `./dev check`.
set(hygiene_dir ${CMAKE_CURRENT_LIST_DIR})

add_test(NAME hygiene.includes COMMAND ${hygiene_dir}/includes.sh ${PROJECT_SOURCE_DIR}/include)
add_test(NAME hygiene.macros
  COMMAND ${hygiene_dir}/macros.sh
    "${PROJECT_SOURCE_DIR}/include;$<TARGET_PROPERTY:sinter_test_main,INCLUDE_DIRECTORIES>" ${CMAKE_CXX_COMPILER})

# One program for four questions: compiling the middle once more takes 20 s. Not optimised, so that it is no more.
add_executable(no_exceptions ${hygiene_dir}/no_exceptions.cpp)
target_link_libraries(no_exceptions PRIVATE sinter_strict)
set_target_properties(no_exceptions PROPERTIES CXX_STANDARD 23 CXX_EXTENSIONS OFF)
# Not optimised, some intrinsics are macros, and GCC warns of what is in them.
target_compile_options(no_exceptions PRIVATE -fno-exceptions -fno-rtti -fno-sanitize=all -O0 -Wno-sign-conversion)
add_test(NAME hygiene.no_exceptions COMMAND no_exceptions)
add_test(NAME hygiene.error_handler
  COMMAND sh ${PROJECT_SOURCE_DIR}/tests/support/fails_with.sh
    "^handled: add\\(f32\\[2, 3\\], f32\\[2, 2\\]\\): extents 3 and 2 disagree$" $<TARGET_FILE:no_exceptions> fail)
