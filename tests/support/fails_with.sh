#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fails_with.sh REGEX COMMAND...
#
# Passes when COMMAND exits with code 1 and says one line, which matches REGEX (grep -E).
set -u
expected=$1
shift
said=$("$@" 2>&1)
code=$?

fail() {
  printf '%s\n' "$1" "--- it said:" "$said"
  exit 1
}

[ "$code" -eq 1 ] || fail "exit code $code, expected 1"
[ "$(printf '%s\n' "$said" | wc -l)" -eq 1 ] || fail "expected one line"
printf '%s\n' "$said" | grep -Eq -e "$expected" || fail "does not match: $expected"
