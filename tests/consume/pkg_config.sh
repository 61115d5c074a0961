#!/bin/sh
# SPDX-License-Identifier: MIT
# The flags that pkg-config tells for the installed package: pkg_config.sh FOLDER WHERE, where sinter.pc lies.
# CXX, SINTER_MIDDLE: as in include_path.sh.
set -eu
folder=$1
PKG_CONFIG_PATH=$2
export PKG_CONFIG_PATH
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v pkg-config >/dev/null; then
  echo "skipped: there is no pkg-config"
  exit 77
fi
mkdir -p "$folder"
flags=$(pkg-config --cflags sinter)
echo "flags: $flags"
for flag in $flags; do
  case $flag in
    -I*) ;;
    *) echo "not an include path: $flag"; exit 1 ;;
  esac
done
[ -z "$(pkg-config --libs sinter)" ]
version=$(sed -n 's/#define SINTER_VERSION_[A-Z]* //p' "$here/../../include/sinter/support/version.hpp" | paste -sd.)
[ "$(pkg-config --modversion sinter)" = "$version" ]
"$CXX" -std=c++20 -fopenmp ${SINTER_MIDDLE:+-DSINTER_SEPARATE} $flags "$here/program.cpp" $SINTER_MIDDLE -o "$folder/program"
"$folder/program"
