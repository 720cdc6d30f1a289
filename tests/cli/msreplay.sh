# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2016,SC2088,SC2094,SC2103,SC2154,SC2164 # run.sh sources it; text is for other shells
# What msreplay says: options, bad input, notices, names of results.
cli_trace T
cli_trace K signal
cli_trace F frees
head -c -5 T >./cut # where chunks end depends on the compressor, but all lie before this
cp T damaged
printf '###' | dd of=damaged bs=1 seek=3000 conv=notrunc status=none
: >empty
echo 'neither a trace nor empty' >foreign
mkdir dir

# Usage.
# argp of glibc 2.31 has these two in another order.
t sh -c "msreplay --help | grep -v -e --title= -e --time-based"
t sh -c "msreplay --help | grep -e --title= -e --time-based | sort"
t msreplay
t msreplay T K
t msreplay --bogus T
t msreplay --exact-peak=maybe T
t msreplay --at=5x T
t msreplay --at= T
t msreplay --at=-1 T
t msreplay --at=99999999999999999999 T
t msreplay --at=start T
t msreplay --at=peak --massif-out-file=- T
t msreplay --only-moments --at=peak --at=end -o - T
t msreplay --memusage --at=peak T
t msreplay --memusage --also=--massif-out-file=x T
t msreplay --also=--depth=3 T
t msreplay --also= T
t msreplay '--also=--massif-out-file=x --bogus' T
t msreplay '--also=--massif-out-file=x --symbols=dir' T
t msreplay '--also=--massif-out-file=x --depth' T
t msreplay '--also=--massif-out-file=x T' T
t msreplay "--also=--massif-out-file=x --alloc-fn='a b" T
t msreplay --also=--massif-out-file=x '--also=--depth=0 --massif-out-file=y' T
t msreplay --depth
t msreplay --alloc-fn= --also='-o /dev/null --ignore-fn=' -o /dev/null T
t msreplay --color=red T
t msreplay --memusage=half T
t msreplay --color=always T
t msreplay -d x T
t msreplay -t T
t msreplay --memusage -x wide T
t msreplay --memusage -y 16385 T
t msreplay --memusage -y -1 T
t sh -c 'msreplay --memusage --threshold=3 T | head -n 2'

# Values that Massif refuses, in its words.
t msreplay --depth=0 T
t msreplay --depth=x T
t msreplay --heap-admin=1025 T
t msreplay --max-snapshots=9 T
t msreplay --detailed-freq=0 T
t msreplay --threshold=101 T
t msreplay --threshold=1e1 T
t msreplay --peak-inaccuracy=much T
t msreplay --alignment=24 T
t msreplay --heap=maybe T
t msreplay --time-unit=s T
t msreplay --time-unit=s --compat=3.19 T
t msreplay --xtree-memory=some T
t msreplay --xtree-compress-strings=maybe T
t msreplay --xtree-memory=full --xtree-memory-file=%x T
t msreplay --xtree-memory=allocs --xtree-memory-file= T
t msreplay --massif-out-file= T
t msreplay --massif-out-file=~x T
t msreplay --massif-out-file=%x T
t msreplay '--massif-out-file=%q{MSREC_NO_SUCH_VARIABLE}' T

# What traces don't hold.
t msreplay --time-unit=i T
t msreplay --stacks=yes T
t msreplay --pages-as-heap=yes T
t msreplay --usable=guessed T
t msreplay --compat=3.18 T
t msreplay --all-snapshots=peak T
t msreplay --usable=real T
t msreplay '--also=--time-unit=i --massif-out-file=x' T
t msreplay --realloc-zero-bytes-frees=no T

# Bad input.
t msreplay none
t msreplay dir
t msreplay empty
t msreplay foreign
t msreplay /proc/self/mem
t msreplay -
t msreplay --memusage cut
t sh -c 'msreplay --memusage damaged >report 2>message; echo $?; cut -d: -f1-2 message; grep -c heap.total report'
t ls

# Results.
t msreplay T
t ls
t grep -c ^snapshot= massif.out.4711
t msreplay -q --massif-out-file=%n.%p.%% T
t msreplay -q --massif-out-file=dir T
t msreplay -q --massif-out-file=none/x T
t msreplay -q --massif-out-file=T T
t ls -A
t msreplay --also=--massif-out-file=massif.out.%p T
t msreplay --also=--massif-out-file=x --also=--massif-out-file=./x T
t msreplay --massif-out-file=dir/../x --also=--massif-out-file=x T
t msreplay --massif-out-file=- --also=--massif-out-file=- T
t msreplay --also=--massif-out-file=./T T
t msreplay --also=--massif-out-file=%x T
t ls -A
mkdir apart together
t sh -c 'cd apart && msreplay -q --massif-out-file=%n --alloc-fn="a  b" --time-unit=B ../T'
t sh -c 'cd apart && mv 1 x && msreplay -q --massif-out-file=%n --ignore-fn="c d" --depth=1 ../T && mv 1 2 && mv x 1'
cd together
t msreplay -q --depth=3 --massif-out-file=/dev/null '--also=--massif-out-file=%n --alloc-fn="a  b" --time-unit=B' \
	--also="  '--massif-out-file=%n' --ignore-fn='c d'	--de'pth'=1" ../T
t ls
cd ..
t diff apart together
t msreplay --at=5 --at=end --at=05 T
t msreplay --at=end --also=--massif-out-file=massif.out.4711.at-end T
t sh -c 'msreplay -q -o out.%p "--also=-o also.%p --depth=3" T && ls out.* also.* && msreplay -q --massif-out-file=- T | diff - out.4711'
t msreplay -o %x T
t sh -c 'msreplay -q --heap --stats=no -o - T | head -n 1'
# Times behind the end, of the trace and of the last call.
t msreplay -o late --time-unit=B --at=350176 --at=350177 --snapshot=999999 --all-snapshots=999999 T
t msreplay -o late --only-moments --at=500 --at=501 T
t cmp late.at-500 late.at-501
t sh -c 'msreplay -q --only-moments --at=peak -o peak T && msreplay -q --only-moments --at=peak -o - T | cmp - peak.at-peak'
t sh -c 'msreplay -q --only-moments --at=peak -o - T | ms_print /dev/stdin | grep -c "^->"'
# What was written, and what shows it.
t msreplay -o "a file's" T
t sh -c 'msreplay -o - --also="-o second" --also="-o -third" T | tail -n 1'
t msreplay --xtree-memory=allocs -o /dev/null T
t msreplay --at=1 --at=2 --at=3 --at=4 --at=5 T
t msreplay -v -o /dev/null T
t ms_print T
mkdir moments
t msreplay -q --massif-out-file=moments/%p --time-unit=B --at=999 --at=peak --at=0 --also='--at=end --massif-out-file=moments/ms' --also='--heap=no --massif-out-file=moments/no --at=peak --at=3' T
t sh -c 'msreplay -q --massif-out-file=moments/y --time-unit=B T && cd moments && tail -n +2 y >z && tail -n +2 4711 | cmp - z && rm y z'
t ls moments
t sh -c 'cd moments && head -n 12 *.at-*'
t msreplay -q --massif-out-file=none/x --also=--massif-out-file=x --also=--massif-out-file=/dev/null --also=--massif-out-file=/dev/null T
t ls x
t msreplay -q --massif-out-file=- --time-unit=B --max-snapshots=10 T
t sh -c 'msreplay -q --massif-out-file=- --time-unit=B --max-snapshots=10 - <T | md5sum'
t sh -c 'msreplay -q --massif-out-file=- --time-unit=B --max-snapshots=10 T | md5sum'
t sh -c 'msreplay -q --massif-out-file=- --time-unit=B --peak-inaccuracy=100 T | grep -B 5 -A 2 =peak'
t sh -c 'msreplay -q --massif-out-file=- --time-unit=B --peak-inaccuracy=100 --exact-peak T | grep -B 5 -A 2 =peak'
t sh -c 'msreplay -q -o - --exact-peak=no --exact-peak T | tail -n +2 >x; msreplay -q -o - --exact-peak=yes T | tail -n +2 | cmp - x'
t sh -c 'msreplay -q --massif-out-file=- --time-unit=B --exact-peak - <T | head -n 1'
t sh -c 'MSREPLAY_OPTS="--depth=5  --show-below-main=yes" msreplay -q --massif-out-file=- --depth=6 T | head -n 1'
t sh -c 'msreplay -q --massif-out-file=- T >/dev/full'
t sh -c 'msreplay -q --massif-out-file=/dev/full T'
t msreplay --massif-out-file=/dev/null K
t msreplay -q --massif-out-file=/dev/null K
t msreplay --massif-out-file=/dev/null cut
t msreplay --memusage K
t msreplay -q --memusage --color=always cut
t sh -c 'msreplay --memusage T >/dev/full'
t msreplay --memusage -o /dev/full T
t msreplay --memusage -o same -d same T
t msreplay --memusage -o T T
msreplay -q --memusage T >plain-report

t sh -c 'msreplay -q --memusage=full T | diff plain-report -'
t sh -c 'msreplay -q --memusage -o report.%p T && cmp report.4711 plain-report'
t sh -c 'msreplay -q --memusage -o - T | cmp - plain-report'

# memusage's data file and pictures.
t sh -c 'msreplay -q --memusage -d data -p picture --svg=picture.svg -x 200 -y 150 T | cmp - plain-report'
t sh -c 'od -A n -t u8 -w24 data | sed -n "1,12p;\$p"; wc -c <data'
t sh -c 'head -c 4 picture.png | tail -c 3; echo'
# What paints it is a module; without it the rest works.
mkdir lone && cp "$(command -v msreplay)" lone
t lone/msreplay -q --memusage -p lone/picture T
t sh -c 'lone/msreplay -q --memusage T | cmp - plain-report; ls lone'
t cat picture.svg
t sh -c 'msreplay -q --memusage --svg=small.svg -t -T -x 1 -y 1 --title="<&> \"$(printf "caf\303\251 \377\001")\"" T >/dev/null; grep -v "^ *<path" small.svg'
t sh -c 'msreplay -q --memusage -d data2 - <T >/dev/null; cmp data data2'
# Closed streams: what is told goes nowhere, and never into a result.
t sh -c 'msreplay --memusage -d data2 T >&- 2>&-; echo $?; cmp data data2'
t sh -c 'msreplay --massif-out-file=data2 T <&- >&- 2>&-; echo $?; head -n 1 data2'
t sh -c 'msreplay -q --massif-out-file=- T >&-'
t msreplay -q --memusage -d data --svg=./data T
t msreplay -q --memusage --svg=- T
t msreplay -q --memusage --svg=T T
t sh -c 'msreplay -q --memusage --svg=/dev/full -d /dev/full T >/dev/null'
t sh -c 'msreplay -q --memusage --svg=none/x T >/dev/null'
t sh -c 'msreplay -q --memusage -d /dev/null -p x.png/ --svg=/dev/null T >/dev/null'
t env TMPDIR=/nonexistent/folder msreplay -q --memusage -d x T
t sh -c '{ trap "" XFSZ; ulimit -f 0; msreplay -q --memusage -d /dev/null --svg=/dev/null T >/dev/null; echo $?; } 2>&1 | cat'

# Reports of live blocks and of frees by stack.
mkdir xtree
t sh -c 'msreplay --xtree-memory=none --xtree-memory-file=%x --massif-out-file=/dev/null T && ls xtree'
t msreplay -q --massif-out-file=xtree/massif.%n --xtree-memory=allocs --xtree-memory-file=xtree/%n.%p T
t msreplay -q --xtree-memory=full --xtree-memory-file=xtree/1.4711 --massif-out-file=xtree/./1.4711 T
t msreplay -q --xtree-memory=full --xtree-memory-file=T --massif-out-file=/dev/null T
t msreplay -q --xtree-memory=full --xtree-memory-file=none/x --massif-out-file=xtree/kept T
t ls xtree
t cat xtree/1.4711
t msreplay -q --massif-out-file=/dev/null --xtree-memory=full --xtree-memory-file=- F
t msreplay --massif-out-file=/dev/null --xtree-memory=full --xtree-memory-file=xtree/full T
t msreplay -q --massif-out-file=/dev/null --xtree-memory=full --xtree-memory-file=xtree/full.F F
t sh -c 'cd xtree && diff full full.F | grep totals'
t msreplay -q --massif-out-file=/dev/null --xtree-memory=allocs --xtree-compress-strings=no --depth=1 --heap=no --xtree-memory-file=- F
t sh -c 'msreplay -q --massif-out-file=/dev/null --xtree-memory=full --xtree-compress-strings=no --xtree-memory-file=- F | head -n 22'
t msreplay -q --massif-out-file=/dev/null --xtree-memory=full --xtree-memory-file=xtree/full.ms F
t head -n 30 xtree/full.ms
mkdir x.ms
t sh -c 'cd x.ms && msreplay -q --massif-out-file=/dev/null --xtree-memory=full --xtree-memory-file=y ../F && cmp y ../xtree/full.ms'
t sh -c 'msreplay -q --massif-out-file=xtree/a --time-unit=B T; msreplay -q --massif-out-file=xtree/b --time-unit=B F; tail -n +2 xtree/a >a; tail -n +2 xtree/b | cmp - a'
t sh -c 'msreplay -q --memusage T >a; msreplay -q --memusage F | cmp - a'
t msreplay --massif-out-file=/dev/null --xtree-memory=full '--also=--massif-out-file=x --xtree-memory=allocs' T
t msreplay --massif-out-file=/dev/null --xtree-memory=full --xtree-memory-file=/dev/null cut
