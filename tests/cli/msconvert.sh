# SPDX-License-Identifier: MIT
# What msconvert says: formats, names, bad input.
cli_trace T
head -c -5 T >cut
echo 'not a trace' >foreign

t msconvert --help
t msconvert --to=help
t msconvert
t msconvert T
t msconvert --to=nothing T
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

# memusage's data files.
t msconvert --from=help
t msconvert --from=heap T
t msconvert --from=memusage --tick-rate=0 data
t msconvert --from=memusage none
t msconvert --from=memusage -o x.zst foreign
t msconvert --to=trace T
t msconvert --embed-symbols --to=massif T
t msconvert --embed-symbols --from=memusage data
t msconvert -q --embed-symbols -o named.zst T
t sh -c 'msconvert -q --to=massif named.zst | cmp - massif.out.1'
t msconvert --embed-symbols nothing
msreplay -q --memusage -d data T >report
t msconvert --from=memusage -o imported.zst data
t sh -c 'msreplay -q --memusage imported.zst | head -n 3; head -n 3 report'
t sh -c 'msconvert -q --from=memusage --to=trace --tick-rate=1000000 data | msreplay -v --memusage - 2>&1 >/dev/null | tail -n 1'
t sh -c 'msconvert -q --from=memusage --to=massif --time-unit=B --max-snapshots=10 data | head -n 20'
t msconvert --from=memusage --to=trace -o none/x data
t ls
