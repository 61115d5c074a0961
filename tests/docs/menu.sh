#!/bin/sh
# SPDX-License-Identifier: MIT
# menu.sh REPOSITORY: passes when mkdocs.yml names every page of docs/, and no other but those of the reference.
set -eu
cd "$1"
wrong=0
for page in docs/*.md; do
  grep -q ": ${page#docs/}\$" mkdocs.yml || { echo "mkdocs.yml does not name $page"; wrong=1; }
done
for page in $(sed -n 's/^ *- .*: \([a-z/-]*\.md\)$/\1/p' mkdocs.yml); do
  case $page in
    reference/index.md) ;;
    reference/*) grep -q "(\"$(basename "$page" .md)\"," tools/reference.py || { echo "tools/reference.py has no $page"; wrong=1; } ;;
    *) [ -f "docs/$page" ] || { echo "there is no docs/$page"; wrong=1; } ;;
  esac
done
exit $wrong
