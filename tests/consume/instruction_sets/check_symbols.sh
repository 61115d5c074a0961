#!/bin/sh
# SPDX-License-Identifier: MIT
# check_symbols.sh NM PLAIN_SSE2 PLAIN_AVX2 PLAIN_AVX512 SSE2 AVX2 AVX512: no symbol of sinter is defined in two of the
# plain units, and the others, made by sinter_add_dispatched, show nothing but their entries.
set -eu
nm=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for unit in sse2 avx2 avx512; do
  "$nm" --defined-only "$1" | awk '{print $NF}' | grep 6sinter | sort -u >"$folder/$unit"
  [ "$(wc -l <"$folder/$unit")" -gt 1000 ] || { echo "$1 has no symbols of sinter"; exit 1; }
  shift
done
for pair in "sse2 avx2" "sse2 avx512" "avx2 avx512"; do
  common=$(comm -12 "$folder/${pair% *}" "$folder/${pair#* }")
  [ -z "$common" ] || { echo "in both of $pair:"; echo "$common" | head -n 20; exit 1; }
done
for unit in sse2 avx2 avx512; do
  shown=$("$nm" --defined-only --extern-only --format=posix "$1" | cut -d' ' -f1,2 | sort | paste -sd,)
  [ "$shown" = "explanation.$unit T,layer.$unit T" ] || { echo "$1 shows: $shown"; exit 1; }
  shift
done
