# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2016,SC2088,SC2094,SC2103,SC2154,SC2164 # run.sh sources it; text is for other shells
# memusage's report of real programs, from msrec to the text. How many reallocs stay in place is the
# allocator's affair.
corpus=$build/corpus

# report PROGRAM [ARG...]: records it, then prints all that doesn't depend on libraries.
report()
{
	program=$corpus/$1
	shift
	msrec -q -f -o trace.zst "$program" "$@" >/dev/null
	msreplay -q --memusage=full trace.zst | sed 's/nomove:[0-9]*/nomove:N/
		/^Threads/,$s/^ *[0-9]*|/   TID|/
		/^Largest/,$ { /(.*\.c/!d; s/  ? (in.*//; }'
}

# The example of memusage's manual page: 1 malloc of 400, 40 reallocs by 44040 of which 19 make the block
# smaller, 1 free of 440; heap total 44440, peak 6440.
t report realloc_cycle

# Every other way into the allocator.
t report realloc
for mode in malloc-zero free-null calloc calloc-overflow malloc-huge realloc-null realloc-fail realloc-in-place \
	memalign memalign-small posix-memalign aligned-alloc valloc pvalloc reallocarray; do
	t report entry $mode
done

# Mappings: as they are, and as memusage has them, below nothing and failing never.
msrec -q -f -o trace.zst --mmap=yes "$corpus/maps"
t sh -c 'msreplay -q --memusage --mmap trace.zst | sed "/Histogram/,\$d; s/nomove: [0-9]*/nomove: N/"'
t sh -c 'msreplay -q --memusage -mmemusage trace.zst | sed "/Histogram/,\$d; s/nomove: [0-9]*/nomove: N/"'
t sh -c 'msreplay -q --memusage trace.zst | sed "/Histogram/,\$d; s/nomove: [0-9]*/nomove: N/"'
t sh -c 'msreplay -q --memusage -m -d data trace.zst >/dev/null; od -A n -t d8 -w24 data | tr -s " " | cut -d " " -f 2'
t msreplay -q --memusage --mmap=some trace.zst
t sh -c 'msreplay --mmap=no --massif-out-file=none trace.zst'
t sh -c 'msreplay --mmap --massif-out-file=none trace.zst'
msrec -q -f -o unmapped.zst "$corpus/maps"
t sh -c 'msreplay --memusage -m unmapped.zst >/dev/null; msreplay --memusage unmapped.zst >/dev/null'
