#!/bin/sh
# SPDX-License-Identifier: MIT
#
# macros.sh INCLUDE_DIRECTORIES COMPILER...
#
# Passes when <sinter/sinter.hpp> defines no macros beside those of the headers that it includes but SINTER_*, at most 12
# of them, and when no header of sinter uses a name that a usual header of a Unix defines as a macro.
# INCLUDE_DIRECTORIES is a list separated by semicolons, the first of which is sinter's.
set -u
directories=$1
shift
include=${directories%%;*}

LC_ALL=C
export LC_ALL
. "$(dirname "$0")/../support/include_directories.sh"
set -- "$@" -std=c++20 -x c++

fail() {
  printf '%s\n' "$@"
  exit 1
}

all=$(echo '#include <sinter/sinter.hpp>' | "$@" -dM -E -) || fail "sinter.hpp cannot be preprocessed"

# What sinter.hpp includes of others: the lines of the headers of sinter that it comes to.
headers=$(echo '#include <sinter/sinter.hpp>' | "$@" -M - | tr -s ' \\' '\n' | grep "^$include/sinter/")
others=$(grep -hoE '^#include <[^>]*>' $headers | grep -v '<sinter/' | sort -u)
rest=$(printf '%s\n' "$others" | "$@" -dM -E -) || fail "what sinter includes cannot be preprocessed"

own=$(printf '%s\n@\n%s\n' "$rest" "$all" | awk '
  { name = $2; sub(/\(.*/, "", name) }
  /^@/ { second = 1; next }
  !second { known[name] = 1; next }
  !(name in known) { print name }' | sort)
foreign=$(printf '%s\n' "$own" | grep -v '^SINTER_')
[ -z "$foreign" ] || fail "macros that are not called SINTER_*:" "$foreign"
count=$(printf '%s\n' "$own" | grep -c .)
[ "$count" -gt 0 ] || fail "no macro at all: is this sinter?"
[ "$count" -le 12 ] || fail "$count macros, expected at most 12:" "$own"

# linux, unix: -std=gnu++20; major, minor, makedev: sys/sysmacros.h; B0: termios.h; DOMAIN to TLOSS: math.h; the others:
# windows.h (its min and max are functions of ours; NOMINMAX takes them away). A dot begins the lines of style sheets.
used=$(find "$include/sinter" -name '*.hpp' -exec sed 's|//.*||; s|"[^"]*"||g; /^#include/d; /^\./d' {} + |
  grep -owE 'linux|unix|i386|major|minor|makedev|B0|DOMAIN|SING|OVERFLOW|UNDERFLOW|PLOSS|TLOSS|small|near|far|'\
'hyper|interface|pascal|cdecl|CALLBACK|CONST|VOID|BOOL|TRUE|FALSE|IN|OUT|OPTIONAL|ERROR|NO_ERROR|DELETE|STRICT|THIS|'\
'ABSOLUTE|RELATIVE|TRANSPARENT|OPAQUE|DIFFERENCE' | sort -u)
[ -z "$used" ] || fail "names that are macros of other headers:" "$used"
exit 0
