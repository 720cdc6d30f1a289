#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a script of commands and compares what they said with the golden text beside it.
#
#   run.sh [--bless] SCRIPT BUILD_DIR
#
# SCRIPT (NAME.sh) runs in an empty directory. In it `t COMMAND...` shows a command line, its
# standard output, its standard error ("! " in front, offsets in traces as N, since they depend on
# the compressor, and times, too) and its exit status. The whole is compared
# with NAME.golden; --bless writes that file instead: read the difference before it is committed.
set -u
bless=no
if [ "$1" = --bless ]; then
	bless=yes
	shift
fi
script=$(realpath "$1")
build=$(realpath "$2")
golden=${script%.sh}.golden
PATH=$build/analyze:$build/ms_print:$build/trace-record:$build/tests/tools:$PATH
LC_ALL=C
export PATH LC_ALL
unset LD_LIBRARY_PATH MSREPLAY_OPTS MSREC_OPTS NO_COLOR ARGP_HELP_FMT COLUMNS DEBUGINFOD_URLS

# A folder whose name has no ".ms", which would tell the format of an xtree report.
work=$(mktemp -d "${TMPDIR:-/tmp}/msrec-XXXXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
mkdir "$work/in" && cd "$work/in" || exit 99
umask 022

t()
{
	printf '$'
	printf ' %s' "$@"
	printf '\n'
	status=0
	"$@" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
	tr -d '\r' <"$work/stdout" # what a terminal adds
	sed 's/^/! /; s/at byte [0-9]*/at byte N/; s/ in [0-9]*\.[0-9]* s$/ in N s/' "$work/stderr"
	echo "= $status"
}

# shellcheck source=/dev/null
. "$script" >"$work/result"

if [ $bless = yes ]; then
	cp "$work/result" "$golden"
else
	diff -u "$golden" "$work/result"
fi
