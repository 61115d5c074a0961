#!/bin/sh
# SPDX-License-Identifier: MIT
# train_fashion_cnn.sh PROGRAM: what the example learns in 110 steps, and that it goes on from its checkpoint.
# Exit code 77, which ctest takes for skipped, where the images are not installed.
set -eu
folder=/usr/share/datasets/fashion-mnist
if [ ! -f "$folder/train-images-idx3-ubyte.gz" ]; then
  echo "skipped: $folder is not there (Debian: dataset-fashion-mnist)"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$folder" 110 "$work/checkpoint.safetensors"
"$1" "$folder" 112 "$work/checkpoint.safetensors" | tee "$work/second"
if grep -q "^step 0 " "$work/second"; then
  echo "it began anew, although there is a checkpoint"
  exit 1
fi
