#!/bin/sh
# SPDX-License-Identifier: MIT
# Nothing but a compiler and two include paths: include_path.sh FOLDER EIGEN. CXX: the compiler, SINTER_MIDDLE: an object
# with what SINTER_SEPARATE leaves out; without one, all is compiled here.
set -eu
folder=$1 eigen=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
"$CXX" -std=c++20 -fopenmp ${SINTER_MIDDLE:+-DSINTER_SEPARATE} -I "$here/../../include" -isystem "$eigen" \
  "$here/program.cpp" $SINTER_MIDDLE -o "$folder/program"
"$folder/program"

# What explain tells of threads, without OpenMP; what needs neither Eigen nor xsimd needs no second path.
cat >"$folder/threads.cpp" <<'END'
#include <sinter/exec/parallel.hpp>
int main() { return sinter::exec::threads_text() == "no OpenMP, one thread" ? 0 : 1; }
END
"$CXX" -std=c++20 -I "$here/../../include" "$folder/threads.cpp" -o "$folder/threads"
"$folder/threads"
