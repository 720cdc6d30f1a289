#!/bin/sh
# SPDX-License-Identifier: MIT
# Every option that --help lists is in the manual page and in all completions, no page or
# completion knows an option that isn't listed, and --help keeps to 80 columns.
#
#   documented.sh TOOL BUILD_DIR/ROOM SOURCE_DIR
#
# Options that only the manual page knows (accepted for Massif's sake) stand behind the heading
# MASSIF'S OTHER OPTIONS there.
set -u
tool=$1 room=$2 source=$3
LC_ALL=C
export LC_ALL
unset ARGP_HELP_FMT COLUMNS
failed=0

complain()
{
	echo "$tool: $*"
	failed=1
}

# The long options in standard input, one a line.
long_options()
{
	grep -oE -e '(^|[^-a-zA-Z])--[a-z][-a-z]+' | grep -oE -e '--[-a-z]+' | sort -u
}

help=$("$room/$tool" --help) || complain "--help fails"
echo "$help" | awk 'length > 80 { exit 1 }' || complain "--help is wider than 80 columns"
listed=$(echo "$help" | grep -oE -e '^  (-., |    )--[a-z][-a-z]+([[]?=[^ ]+)?(, --[a-z][-a-z]+)?' | long_options)
[ -n "$listed" ] || complain "--help lists nothing"

page=$source/docs/man/$tool.1.scd
pages=$page
shared=$tool
if [ "$tool" = msconvert ]; then
	# Its page refers to msreplay's for what they share, and one completion serves both.
	pages="$page $source/docs/man/msreplay.1.scd"
	shared=msreplay
fi
bash=$source/data/completions/bash/$shared
fish=$source/data/completions/fish/$shared.fish
zsh=$source/data/completions/zsh/_$shared

for option in $listed; do
	case $option in
	--help | --usage | --version) ;;
	*)
		# shellcheck disable=SC2086 # two names
		grep -qe "\*$option\*" $pages || complain "$option is not in the manual page"
		;;
	esac
	grep -qe "$option\\b" "$bash" || complain "$option is not in $bash"
	grep -qe "$option\\b" "$zsh" || complain "$option is not in $zsh"
	grep -qe " -l ${option#--} " "$fish" || complain "$option is not in $fish"
done

for option in $(sed "/MASSIF'S OTHER OPTIONS/,\$d" "$page" | grep -oE -e '\*--[a-z][-a-z]*\*' | tr -d '*' | sort -u); do
	echo "$listed" | grep -qxe "$option" || complain "$page knows $option, --help does not"
done

case $tool in
msreplay | msconvert) exit $failed ;; # each knows the other's options, too
esac
for option in $(sed -n 's/^ *complete .* -l \([a-z][-a-z]*\) .*/ --\1/p' "$fish" | cat - "$bash" "$zsh" | long_options); do
	echo "$listed" | grep -qxe "$option" || complain "a completion knows $option, --help does not"
done
exit $failed
