#!/bin/sh
# SPDX-License-Identifier: MIT
# conan create: run.sh FOLDER PYTHON EIGEN EIGEN_VERSION XSIMD_VERSION. Conan comes from PyPI into FOLDER, which is its home,
# too. Eigen and xsimd are those of the system, so that no remote is needed. Exit 77, which ctest reports as skipped, where
# there is no Conan to be had. CXX, SINTER_MIDDLE: as in include_path.sh.
set -eu
folder=$1 python=$2 eigen=$3 eigen_version=$4 xsimd_version=$5
root=$(cd "$(dirname "$0")/../../.." && pwd)
version=2.34.0
conan=$folder/python-$version/bin/conan
if [ ! -x "$conan" ]; then
  mkdir -p "$folder"
  if ! { "$python" -m venv "$folder/python-$version" &&
    "$folder/python-$version/bin/pip" install --quiet "conan==$version"; }; then
    rm -rf "$folder/python-$version"
    echo "skipped: pip cannot install conan==$version"
    exit 77
  fi
fi
CONAN_HOME=$folder/home
export CONAN_HOME CXX

case $("$CXX" --version) in
  *clang*) compiler=clang ;;
  *) compiler=gcc ;;
esac
separate='' middle=''
if [ -n "$SINTER_MIDDLE" ]; then
  separate=', "-DSINTER_SEPARATE"' middle=", \"$SINTER_MIDDLE\""
fi
cat >"$folder/profile" <<END
[settings]
os=Linux
arch=$(uname -m | sed 's/aarch64/armv8/')
compiler=$compiler
compiler.version=$("$CXX" -dumpversion | cut -d. -f1)
compiler.libcxx=libstdc++11
compiler.cppstd=20
build_type=Release
[platform_requires]
eigen/$eigen_version
xsimd/$xsimd_version
[conf]
tools.build:compiler_executables={"cpp": "$CXX"}
tools.build:cxxflags=["-O0", "-isystem$eigen"$separate]
tools.build:exelinkflags=["-fopenmp"$middle]
tools.cmake.cmake_layout:test_folder=$folder/test_package
tools.cmake.cmaketoolchain:user_presets=
END
cd "$root"
"$conan" create . --no-remote --profile:all "$folder/profile" >"$folder/release.log" 2>&1 || { cat "$folder/release.log"; exit 1; }
# The other build type is the same package: no second one to compile the test package with.
"$conan" create . --no-remote --profile:all "$folder/profile" -s build_type=Debug --test-folder= >"$folder/debug.log" 2>&1 ||
  { cat "$folder/debug.log"; exit 1; }
package_id() { sed -n "s/.*Package '\([0-9a-f]*\)' created.*/\1/p" "$1"; }
release=$(package_id "$folder/release.log") debug=$(package_id "$folder/debug.log")
echo "package id of Release $release, of Debug $debug"
[ -n "$release" ] && [ "$release" = "$debug" ]
grep -q 'sinter-dispatch.cmake' "$folder/release.log"
