# SPDX-License-Identifier: MIT
# To be sourced: adds $directories, a list separated by semicolons, to the arguments of the compiler in "$@".
old_ifs=$IFS
IFS=';'
for directory in $directories; do
  # Naming /usr/include again would move it before the compiler's own headers and break #include_next.
  [ "$directory" = /usr/include ] || set -- "$@" -isystem "$directory"
done
IFS=$old_ifs
