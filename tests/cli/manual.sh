#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual pages as man shows them: each has a name that whatis finds, and no C++ has lost its pluses, which scdoc
# takes for a line break at the end of a line.
#
#   manual.sh DIR_OF_PAGES
set -u
failed=0
LC_ALL=C
MANROFFOPT=-ww # all warnings
MANWIDTH=100
export LC_ALL MANROFFOPT MANWIDTH
command -v lexgrog >/dev/null && command -v man >/dev/null || exit 77
[ -e "$1/msrec.1" ] || exit 77 # built without scdoc

work=$(mktemp -d "${TMPDIR:-/tmp}/msrec-XXXXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

complain()
{
	echo "$*"
	failed=1
}

for page in "$1"/*.[13]; do
	name=$(basename "$page")
	lexgrog "$page" | grep -q ': "[a-z_.-]* - [a-z].*"$' || complain "$name: whatis finds no name in it"
	man -l "$page" >"$work/text" 2>"$work/errors" || complain "$name: man fails"
	[ ! -s "$work/errors" ] || complain "$name: $(cat "$work/errors")"
	# The language C is that of libraries and programs here; all else is of C++.
	! tr -s '\n ' ' ' <"$work/text" | grep -oE '[^A-Za-z-]C [A-Za-z]+' | grep -vE ' C (li|program|from)' ||
		complain "$name: C without its pluses"
done
exit $failed
