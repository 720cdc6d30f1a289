#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the golden traces of the present format version from programs of the corpus:
#
#   corpus/golden/make.sh BUILD VERSION
#
# They are made once a version and then only read: today's reader must read every version's, and say of
# each what it said then: SHA256SUMS is of the text that tracedump prints. What is in them depends on the
# machine (addresses, times, process ids).
set -eu
build=$(realpath "$1")
folder=$(realpath "$(dirname "$0")")/$2
work=/tmp/msrec-golden
rm -rf "$work"
mkdir -p "$work" "$folder"
trap 'rm -rf "$work"' EXIT

# one NAME PROGRAM [ARG...]: records a copy, so that the paths in the trace are neutral.
one() {
	name=$1 program=$2
	shift 2
	cp "$build/corpus/$program" "$work/"
	(cd "$work" && "$build/trace-record/msrec" -q -f -o "$folder/$name.zst" $options -- "./$program" "$@") >/dev/null || true
}

options=
one realloc realloc
one threads threads
one killed exit sigkill
one random script 1 2000
options=--identity=no
one no-identity script 2 500

cd "$folder"
for trace in *.zst; do
	printf '%s  %s\n' "$("$build/tests/tools/tracedump" "$trace" | sha256sum | cut -d ' ' -f 1)" "$trace"
done >SHA256SUMS
