# SPDX-License-Identifier: MIT
# The helper for several instruction sets works from the projects beside this folder, too; with sources that cost nothing
# to compile.
add_executable(dispatched ../dispatched/main.cpp)
sinter_add_dispatched(dispatched SOURCES ../dispatched/one.cpp ../dispatched/two.cpp ARCHITECTURES avx2 sse2)
if(TARGET dispatched_sse2)
  add_custom_command(TARGET dispatched POST_BUILD COMMAND dispatched)
endif()
