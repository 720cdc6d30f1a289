#!/bin/sh
# SPDX-License-Identifier: MIT
# one-object.sh OUT.a ARCHIVE...: a static library of one object, in which hidden symbols are local. All of the first
# archive is in it, and of the others what that needs.
set -eu
out=$1 all=$2
shift 2
object=${out%.a}.o
rm -f "$out"
"${LD:-ld}" -r -o "$object" --whole-archive "$all" --no-whole-archive "$@"
"${OBJCOPY:-objcopy}" --localize-hidden "$object"
"${AR:-ar}" rcsD "$out" "$object"
rm "$object"
