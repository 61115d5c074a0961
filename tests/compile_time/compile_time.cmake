# SPDX-License-Identifier: MIT
# What the reference programs beside this file instantiate, against baseline.json; see gate.py. Needs Clang 16 and Python.
find_program(SINTER_CLANG_16 clang++-16)
find_package(Python3 COMPONENTS Interpreter)
mark_as_advanced(SINTER_CLANG_16)
if(SINTER_CLANG_16 AND Python3_Interpreter_FOUND)
  set(gate ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/compile_time)
  add_test(NAME compile_time.gate
    COMMAND ${gate}/gate.py check ${SINTER_CLANG_16} "$<TARGET_PROPERTY:sinter_test_main,INCLUDE_DIRECTORIES>")
  add_test(NAME compile_time.gate_fails COMMAND ${gate}/gate_test.py ${SINTER_CLANG_16})
  set_tests_properties(compile_time.gate compile_time.gate_fails PROPERTIES LABELS compile-time SKIP_RETURN_CODE 77)
endif()
