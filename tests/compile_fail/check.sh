#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh SOURCE INCLUDE_DIRECTORIES COMPILER...
#
# Passes when SOURCE does not compile and the compiler's message is what the comments in SOURCE ask for:
#   // expect: REGEX     the first line with "error:" matches (grep -E)
#   // mention: REGEX    some line of the message matches; may be given several times
#   // lines <= N        the whole message has at most N lines
# INCLUDE_DIRECTORIES is a list separated by semicolons.
set -u
source=$1 directories=$2
shift 2

# One message format on every machine: no translation, no colours.
LC_ALL=C
export LC_ALL
# Without the middle (support/separate.hpp), which no message is about, it comes after 4 s, not 16.
set -- "$@" -std=c++20 -fsyntax-only -fdiagnostics-color=never -DSINTER_SEPARATE

. "$(dirname "$0")/../support/include_directories.sh"

fail() {
  printf '%s: %s\n' "${source##*/}" "$1"
  printf '%s\n' "--- the compiler said:" "$message"
  exit 1
}

message=$("$@" "$source" 2>&1) && fail "compiles, but must not"
# Without the inline namespace of the instruction set (support/abi.hpp), which GCC writes out.
message=$(printf '%s\n' "$message" | sed 's/::abi_[a-z0-9_]*::/::/g')

expected=$(sed -n 's|^// expect: *||p' "$source")
[ -n "$expected" ] || fail "has no '// expect: REGEX' line"
first_error=$(printf '%s\n' "$message" | grep -m 1 'error:')
printf '%s\n' "$first_error" | grep -Eq -e "$expected" || fail "the first error line does not match: $expected"

missing=$(sed -n 's|^// mention: *||p' "$source" | while IFS= read -r regex; do
  printf '%s\n' "$message" | grep -Eq -e "$regex" || printf '%s\n' "$regex"
done)
[ -z "$missing" ] || fail "no line matches: $missing"

limit=$(sed -n 's|^// lines <= *||p' "$source")
# Clang's closing tally ("1 error generated.") is no part of the message.
count=$(printf '%s\n' "$message" | grep -cv '^[0-9]* errors\{0,1\} generated')
[ -z "$limit" ] || [ "$count" -le "$limit" ] || fail "the message has $count lines, at most $limit were expected"
exit 0
