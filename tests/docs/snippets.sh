#!/bin/sh
# SPDX-License-Identifier: MIT
#
# snippets.sh OUTPUT.cpp PAGES INCLUDE_DIRECTORIES PYTHON COMPILER...
#
# Passes when the C++ in the pages compiles (extract.py says which). Lists are separated by semicolons.
set -eu
output=$1 pages=$2 directories=$3 python=$4
shift 4

old_ifs=$IFS
IFS=';'
# shellcheck disable=SC2086
"$python" "$(dirname "$0")/extract.py" "$output" $pages
IFS=$old_ifs
. "$(dirname "$0")/../support/include_directories.sh"
exec "$@" -std=c++20 -DSINTER_SEPARATE -fsyntax-only -w "$output"
