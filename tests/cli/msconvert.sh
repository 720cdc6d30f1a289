# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2016,SC2088,SC2094,SC2103,SC2154,SC2164 # run.sh sources it; text is for other shells
# What msconvert says: formats, names, bad input.
cli_trace T
head -c -5 T >./cut
echo 'not a trace' >foreign

t msconvert --help
t msconvert --to=help
t sh -c 'msconvert --to=help >/dev/full'
for option in --help --usage --version; do
	t sh -c "msconvert $option >/dev/full"
done
t sh -c 'msconvert --version >&-'
t sh -c 'msconvert --nonsense >/dev/full'
t sh -c 'msconvert --from=help >/dev/full'
t msconvert
t msconvert T
t msconvert --to=nothing T
t msconvert --to=flamegraph T
t msconvert T out
t sh -c 'msconvert --to=massif --only-moments --at=peak T | grep -c ^snapshot='
t msconvert -o x.unknown T
t msconvert --to=massif --depth=0 T
t msconvert --to=massif --massif-out-file=%x T
t msconvert --to=massif --time-unit=i T
t msconvert --to=massif --memusage T
t msconvert --to=massif none
t msconvert --to=massif foreign
t ls
t msconvert -q -o massif.out.1 T
t msconvert -q -o x.massif --time-unit=B T
t msconvert -q --massif-out-file=massif.out.%p T
t sh -c 'msconvert -q --to=massif T | cmp - massif.out.1'
t sh -c 'tail -n +2 massif.out.4711 >out; tail -n +2 massif.out.1 | cmp - out'
t sh -c 'msconvert -q --to=massif --time-unit=B -o - - <T | tail -n +2 >out; tail -n +2 x.massif | cmp - out'
t msconvert -q -o cut.massif cut
t ls
cli_trace F frees
t msconvert -q -o x.kcg F
t sh -c 'msconvert -q --to=callgrind --xtree-memory=allocs F | cmp - x.kcg'
t sh -c 'msconvert -q --to=callgrind --xtree-memory=full F | tail -n 1'
t sh -c 'msconvert -q --to=xtree F | grep -c ^snapshot='
t sh -c 'msconvert -q --xtree-memory=full -o x.ms F && grep -c ^snapshot= x.ms'

# Profiles.
t msconvert --to=folded T
t msconvert --to=folded --value=inuse_objects --at=end T
t msconvert --to=folded --value=alloc_objects --from=100 --until=149 T
t msconvert --to=folded --until=149 cut
t msconvert --to=folded --at=20 --module=prog T
t msconvert --to=folded --thread=1 T
t msconvert --to=folded --thread=4711 --value=alloc_bytes T
t sh -c 'msconvert -o out.folded T && msconvert --to=folded T | cmp - out.folded'
t msconvert --to=speedscope --value=inuse_bytes --at=1 T
t sh -c 'msconvert -o x.pb.gz T && gzip -t x.pb.gz'
t script -qec 'msconvert --to=pprof T' /dev/null
t msconvert --to=folded --value=bytes T
t msconvert --to=folded --at=1 --at=2 T
t msconvert --to=folded --snapshot=1 T
t msconvert --to=folded "--also=--massif-out-file=x --depth=3" T
t msconvert --to=folded --usable=valgrind T
for option in --heap=no --stacks=yes --exact-peak "--only-moments --at=1" --xtree-memory=full --stats=yes --usable=real; do
	# shellcheck disable=SC2086 # one or two words
	t msconvert -q --to=folded $option T
done
t msconvert --to=csv --usable=rounded T
t msconvert --to=massif --value=inuse_bytes T
t msconvert --to=folded --until=x T
t msconvert --to=folded --at=501 T
t msconvert --to=folded --time-unit=B --at=350177 T
t msconvert --to=folded --from=501 T
t msconvert --to=folded --until=18446744073709551617 T
t msconvert --to=folded --thread=-1 T
t msconvert --to=folded --thread=99 --module='none*' --symbols=nowhere T
t msconvert --to=folded --size=1k- --function=nothing T
t msconvert --to=folded --size=64-1k --value=alloc_objects T
t msconvert --to=folded --lifetime=1s T
t msconvert --to=trace --thread=-1 -o x.zst T
t msconvert --to=massif --pages-as-heap --size=1k- T
t msconvert --to=folded -o T T
t msconvert --to=folded -o none/x T
t msconvert --to=folded cut

# Differences.
cli_trace F2 frees
t msconvert --to=folded --diff-base=T@100 T
t msconvert --to=folded --value=alloc_objects --diff-base=F2 T
t msconvert --to=folded --until=149 --diff-base=T@1s T@0.2s
t msconvert --to=speedscope --value=alloc_bytes --diff-base=T@120ms T
t sh -c 'msconvert --to=folded --diff-base=- T@120 <T; msconvert --to=folded --diff-base=T - <F2 | tail -n 1'
t msconvert --to=folded --size=1k- --diff-base=T@120 T
t msconvert --to=folded --diff-base=T cut
t sh -c 'msconvert -q -o d.pb.gz --diff-base=T F2 && gzip -t d.pb.gz'
t sh -c 'msconvert -o d.folded.gz --diff-base=T F2 && gzip -dc d.folded.gz | tail -n 1'
for form in massif heaptrack csv-stacks csv heapprofile dhat trace; do
	t msconvert --to=$form --diff-base=T F2
done
t msconvert -o x.zst --diff-base=T F2
t msconvert --diff-base=T F2
t msconvert --to=folded --diff-base=T --diff-base=T F2
t msconvert --to=folded --diff-base=- -
t msconvert --to=folded --diff-base=none T
t msconvert --to=folded --diff-base=T none
t msconvert --to=folded --diff-base=foreign T
t msconvert --to=folded --diff-base=T@5 --time-unit=B T
t msconvert --to=folded --diff-base=T --pages-as-heap F2
t msconvert --embed-symbols --diff-base=T F2
t msconvert -z 3 --diff-base=T -o x.zst F2
t msconvert --to=folded --diff-base=T -o T F2
t msconvert --to=folded --diff-base=T -o F2 F2

# Tables and others.
t msconvert -q --to=csv-stacks --at=end T
t msconvert -q --to=csv-frames T
t msconvert -q --to=ndjson-frames T
t sh -c 'msconvert -q --to=csv T | sed -n "1,4p;\$p"'
t sh -c 'msconvert -q --to=ndjson T | sed -n "1,4p;\$p"'
t sh -c 'msconvert -q --to=csv-snapshots T | head -n 3'
t script -qec 'msconvert -q --to=parquet T' /dev/null
t msconvert -q -o t.frames.parquet T
t msconvert -q --to=heapprofile --value=alloc_objects T
t msconvert -q --to=dhat T
t sh -c 'msconvert -q -o t.stacks.csv T && msconvert -q -o t.csv.gz T && head -n 1 t.stacks.csv && gzip -dc t.csv.gz | head -n 1'

# heaptrack's files.
t msconvert --to=heaptrack -o x.heaptrack T
t sh -c 'head -n 16 x.heaptrack; tail -n 3 x.heaptrack'
t sh -c 'msconvert -o y.heaptrack.gz T 2>/dev/null && gzip -dc y.heaptrack.gz | cmp - x.heaptrack'
t msconvert --to=heaptrack --value=inuse_bytes T
t msconvert --to=heaptrack --at=peak T
t msconvert --to=folded x.heaptrack
t msconvert -q --from=heaptrack -o x.zst y.heaptrack.gz
t sh -c 'msconvert -q -o x.folded.zst y.heaptrack.gz && zstd -dc x.folded.zst | head -n 1'
t msconvert --from=heaptrack --to=folded T
printf 'v 10400 3\nx 6 ./a\nX a\nI 1000 100\nm 1 -\nt 1234 0\n' >x.raw
t msconvert --to=folded x.raw

# massif.out and mtrace's logs.
t msconvert -q --to=folded --usable=requested --heap-admin=0 massif.out.1
printf '= Start\n@ ./a b:(f+0x5)[0x15] + 0x100 0x20\n@ ./a b:(f+0x5)[0x15] < 0x100\n@ ./a b:(f+0x5)[0x15] > 0x200 0x30\n@ [0x77] + 0x300 0x1\n- 0x300\n' >mtrace.log
t msconvert --to=csv mtrace.log
t msconvert -q --to=folded mtrace.log
t msconvert --from=mtrace --to=folded T

# memusage's data files.
t msconvert --from=help
t msconvert --from=heap T
t msconvert --from=memusage --tick-rate=0 data
t msconvert --from=memusage none
t msconvert --from=memusage -o x.zst foreign
t msconvert -q --to=trace -o again.zst T
t sh -c 'msconvert -q -o named.zst T && cmp named.zst again.zst'
for name in massif.out.zst x.kcg.gz; do t msconvert -o $name T; done
t msconvert --to=massif -o x.gz T
t sh -c 'msconvert -q --to=massif again.zst | cmp - massif.out.1'
t sh -c 'head -c 700 T | msconvert --to=trace - | msreplay -v -o /dev/null - 2>&1 | tail -n 1'
# Traces rewritten. They can be read by their owner alone, as msrec's, and never take the place of what they are made of.
t sh -c 'cp T own && chmod 640 own && msconvert -q --to=trace -o new.zst T && msconvert -q --from=heaptrack -o own x.heaptrack --to=trace && stat -c %a new.zst own'
t msconvert --to=trace -o T T
t msconvert --to=trace --until=0 -o ./T T
t msconvert --embed-symbols -o T T
t sh -c 'msconvert --drop=time -o T - <T'
t sh -c 'cp x.heaptrack in; for to in trace massif; do msconvert --from=heaptrack --to=$to -o in in; done; cmp in x.heaptrack'
t msconvert --to=trace --from=200 --until=300 -o cut.zst T
t sh -c 'msreplay --memusage cut.zst 2>&1 | head -n 9'
t sh -c 'for f in T cut.zst; do msreplay -q --massif-out-file=m.$f --at=250 $f; sed 1d m.$f.at-250 >at.$f; done; cmp at.T at.cut.zst'
t sh -c 'msconvert -q --to=massif --max-snapshots=10 cut.zst | head -n 12'
t sh -c 'msconvert -q --to=csv cut.zst | head -n 3'
t sh -c 'for f in T cut.zst; do msconvert -q --to=callgrind --xtree-memory=full -o - $f | sed "s/ .*//" >order.$f; done; cmp order.T order.cut.zst'
t msconvert -z 19 -o small.zst T
t sh -c 'msconvert -q --to=massif small.zst | cmp - massif.out.1'
t msconvert -q --drop=identity,time --no-args --strip-paths -o bare.zst T
t sh -c 'msconvert -q --to=massif bare.zst | head -n 7'
t msconvert -q --to=dhat bare.zst
t msreplay -q --usable=valgrind bare.zst
t msreplay -q --compat=3.19 bare.zst
t msconvert --to=trace --from=300 --until=299 T
t msconvert --to=folded --from=300 --until=299 T
t msconvert --to=trace --value=alloc_bytes T
t msconvert -z 5 --at=peak -o x.zst T
t msconvert --to=trace --also='--massif-out-file=other' -o x.zst T
t msconvert --to=trace --xtree-memory=full -o x.zst T
t msconvert --to=trace --usable=requested -o x.zst T
t msconvert --to=trace --massif-out-file=new T
t msconvert --to=trace --until=5 -o x.zst x.heaptrack
t msconvert --level=20 T
t msconvert --drop=identity,all T
t msconvert --no-args --to=massif T
t msconvert --strip-paths --from=memusage data
t msconvert --embed-symbols --to=massif T
t msconvert --embed-symbols --from=memusage data
t msconvert -q --embed-symbols -o named.zst T
t sh -c 'cat named.zst | env TMPDIR=/nonexistent/folder msconvert -q --embed-symbols -o x.zst -'
t sh -c 'msconvert -q --to=massif named.zst | cmp - massif.out.1'
t msconvert --embed-symbols nothing
msreplay -q --memusage -d data T >report
t sh -c 'msconvert -q -o t.memusage T && cmp t.memusage data && memusagestat t.memusage t.png'
t msconvert --from=memusage -o imported.zst data
t msconvert -q --to=dhat -o no.json imported.zst
t msconvert -q --to=folded --from=1 imported.zst
t msconvert -q --to=folded --thread=0 imported.zst
t sh -c 'msreplay -q --memusage imported.zst | head -n 3; head -n 3 report'
t sh -c 'msconvert -q --from=memusage --to=trace --tick-rate=1000000 data | msreplay -v --memusage - 2>&1 >/dev/null | tail -n 1'
t sh -c 'msconvert -q --from=memusage --to=massif --time-unit=B --max-snapshots=10 data | head -n 20'
t msconvert --from=memusage --to=trace -o none/x data
t ls

# Where there is no room for temporary files, the input is not to blame.
for command in 'msconvert --to=trace -o /dev/null T' 'msconvert --to=trace -o /dev/null - <T' \
	'cat T | msconvert --to=trace -o /dev/null -' 'msconvert -q --to=folded massif.out.1'; do
	t sh -c "{ trap '' XFSZ; ulimit -f 0; $command; echo \$?; } 2>&1 | cat"
done
