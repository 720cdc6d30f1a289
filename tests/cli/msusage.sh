# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2016,SC2088,SC2094,SC2103,SC2154,SC2164 # run.sh sources it; text is for other shells
# What msusage says, leaves behind and returns; its reports are compared in memusage.sh and with memusage itself.
PATH=$PATH:$build/corpus
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"

# Reports shortened to their first line; process ids and frames are not the same everywhere.
short()
{
	"$@" 2>message
	status=$?
	grep -a -E '^(msusage|msrec|Memory|Calls)' message | sed 's/stack peak: [0-9]*/stack peak: N/; s/[0-9][0-9]*\.zst/PID.zst/; s/\.[0-9][0-9]*:/.PID:/'
	return $status
}

# argp of glibc 2.31 has these two in another order.
t sh -c "msusage --help | grep -v -e --title= -e --time-based"
t sh -c "msusage --help | grep -e --title= -e --time-based | sort"
t sh -c 'msusage --help >/dev/full'
t msusage
t msusage --bogus true
t msusage -b
t msusage -x 0x10 true
t msusage --color=blue true

t short msusage realloc_cycle
t short msusage -m maps
t short msusage --mmap=memusage maps
t short msusage -u -b 10 --no-timer realloc_cycle
t short msusage --full realloc_cycle
t sh -c "msusage --color=always null 2>&1 | od -A n -c | sed -n 1,5p"
t short msusage -n realloc_cycle realloc_cycle
t short msusage -n other realloc_cycle
t short msusage -n realloc_cycle sh -c "null; realloc_cycle; one; exit 7"
# In the order of their ends, which is known to hundredths of a second.
t sh -c 'msusage sh -c "null; sleep 0.2; realloc_cycle; sleep 0.2; one" 2>&1 | grep -a -E -o "heap total: (0|1|44440),"'

# The program's output, input and status.
t sh -c "echo in | msusage cat 2>/dev/null; echo \$?"
t sh -c 'msusage sh -c "echo out; exit 9" 2>/dev/null; echo $?'
t short msusage exit sigkill
t short msusage exit segv
t short msusage /nonexistent/program
t short msusage /etc/passwd

# Files.
t short msusage -d data -p picture --svg picture.svg realloc_cycle
t sh -c 'wc -c <data; head -c 4 picture.png | tail -c 3; echo; head -c 4 picture.svg; echo'
t short msusage --keep=kept realloc_cycle
t short msusage --keep=kept realloc_cycle
t sh -c 'msreplay -q --memusage kept | sed -n 2s/,.stack.*//p; cmp kept kept.2 >/dev/null; echo $?'
t sh -c 'msusage --keep true 2>/dev/null; ls | sed "s/[0-9][0-9]*.zst/PID.zst/"'
t short msusage --keep=none/x null
# What is wrong with the name is told before the program runs.
for name in '%q{NOPE}' '%e' '' none/ '~/x' .; do
	t msusage --keep="$name" touch ran
done
t env NOPE= msusage --keep='%q{NOPE}' touch ran
t msusage -d same --svg=./same touch ran
t msusage -d - touch ran
t sh -c 'mkdir made; KEPT=made msusage --keep="%q{KEPT}/x" true 2>/dev/null; ls -A made; ls ran'
t short msusage -d none/x null
t short msusage -d none/x exit exit
t sh -c 'ls -A "$TMPDIR"'
t env TMPDIR=/nonexistent/folder msusage true

# A signal that comes when msrec has ended reaches no process, even if its number is another process's by then. Here the
# trace is none, but a pipe, which keeps msusage reading. Where numbers can't be chosen only its message is of interest.
mkdir aside
cp "$build/analyze/msusage" aside
cat >aside/msrec <<'END'
#!/bin/sh
mkfifo "${2%/*}/1.1"
echo $$ >aside/number
END
chmod +x aside/msrec

late_signal()
{
	aside/msusage true 2>message &
	late=$!
	until [ -s aside/number ] && ! kill -0 "$(cat aside/number)" 2>/dev/null; do
		sleep 0.01
	done
	number=$(cat aside/number)
	for _ in 1 2 3 4 5 6 7 8 9; do
		{ echo $((number - 1)) >/proc/sys/kernel/ns_last_pid; } 2>/dev/null
		sleep 60 &
		stranger=$!
		[ $stranger = "$number" ] && break
		kill -KILL "$stranger"
	done
	kill -TERM $late
	set -- "$TMPDIR"/*/1.1
	echo nothing >broken
	mv broken "$1" >"$1"
	wait $late
	echo "msusage: $?"
	sed 's,/.*/,,' message
	kill -KILL "$stranger"
	wait "$stranger" 2>/dev/null
	echo "the stranger: $?"
}
t late_signal
