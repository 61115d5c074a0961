#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs ONNX's backend tests: run.sh PROGRAM FOLDER PYTHON. The cases are made once, into FOLDER, by the PyPI package onnx
# in an environment of its own. Exit 77, which ctest reports as skipped, where there is no such package to be had.
set -eu
program=$1 folder=$2 python=${3:-python3}
here=$(dirname "$0")
version=1.23.2
cases=$folder/cases-$version

if [ ! -d "$cases" ]; then
  mkdir -p "$folder"
  if ! { "$python" -m venv "$folder/python" && "$folder/python/bin/pip" install --quiet "onnx==$version"; }; then
    echo "skipped: pip cannot install onnx==$version"
    exit 77
  fi
  "$folder/python/bin/python" -W ignore "$here/write_cases.py" "$cases"
fi
exec "$program" "$cases"
