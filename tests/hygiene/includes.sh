#!/bin/sh
# SPDX-License-Identifier: MIT
#
# includes.sh INCLUDE_DIRECTORY
#
# Passes when every header
#   - that opens the inline namespace SINTER_ABI comes to <sinter/support/abi.hpp> by what it includes before: where the
#     macro is not defined, the namespace is one called SINTER_ABI, and compiles,
#   - includes its own stage and those before it alone,
#   - throws and catches through support/error.hpp, so that it compiles without exceptions (onnx/ needs them: its reader
#     of Protocol Buffers throws).
set -u
cd "$1" || exit 1
LC_ALL=C
export LC_ALL

problems=$(find sinter -name '*.hpp' | sort | xargs awk '
  function stage_of(file, parts) { return split(file, parts, "/") == 3 ? parts[2] : "" }
  BEGIN {
    # Stage by stage what may be included besides itself.
    allowed["support"] = " "
    allowed["tensor"] = " support "
    allowed["graph"] = " support tensor "
    allowed["expr"] = allowed["graph"] "graph "
    allowed["autodiff"] = allowed["expr"] "expr "
    allowed["egraph"] = " support "
    allowed["rules"] = allowed["autodiff"] "autodiff egraph "
    allowed["plan"] = allowed["rules"] "rules "
    allowed["exec"] = allowed["plan"] "plan "
    allowed["function"] = allowed["exec"] "exec "
    allowed["files"] = " support tensor "
    allowed["layers"] = allowed["function"] "function files "
    allowed["training"] = allowed["layers"] "layers "
    allowed["onnx"] = allowed["function"] "function files "
  }
  FNR == 1 { files[++count] = FILENAME; stage = stage_of(FILENAME) }
  /^#include <sinter\// {
    included = $2; gsub(/[<>]/, "", included)
    includes[FILENAME] = includes[FILENAME] " " included
    other = stage_of(included)
    if (stage != "" && other != stage && index(allowed[stage], " " other " ") == 0)
      print FILENAME ": includes " included ", of a later stage"
  }
  /SINTER_ABI/ { uses[FILENAME] = 1 }
  { code = $0; sub(/\/\/.*/, "", code); gsub(/"[^"]*"/, "", code) }
  code ~ /(^|[^a-z_])(throw|try|catch)([^a-z_]|$)/ && stage != "onnx" && FILENAME != "sinter/support/error.hpp" &&
      FILENAME != "sinter/exec/parallel.hpp" {
    print FILENAME ":" FNR ": throws or catches past support/error.hpp"
  }
  END {
    # What a header comes to, until nothing is added.
    reaches["sinter/support/abi.hpp"] = 1
    do {
      changed = 0
      for (i = 1; i <= count; ++i) {
        if (files[i] in reaches) continue
        n = split(includes[files[i]], list, " ")
        for (k = 1; k <= n; ++k)
          if (list[k] in reaches) { reaches[files[i]] = 1; changed = 1; break }
      }
    } while (changed)
    for (i = 1; i <= count; ++i)
      if ((files[i] in uses) && !(files[i] in reaches)) print files[i] ": does not come to <sinter/support/abi.hpp>"
  }')
[ -z "$problems" ] || { printf '%s\n' "$problems"; exit 1; }
