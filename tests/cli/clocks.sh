# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2016,SC2088,SC2094,SC2103,SC2154,SC2164 # run.sh sources it; text is for other shells
# What msreplay and msconvert make of traces with instruction counts and with stack depths. Two threads: depths
# are summed up, and what is between two calls is not known.
cat >script <<'END'
counted
stacks
module /nowhere/program
stack 1 m0x1110 m0x1120
stack 2 m0x1210 m0x1120
time 1000000
instructions 1000
call start 0 0
instructions 5000
call stack 0 48
alloc 1 malloc 1 100
time 3000000
instructions 7000
thread 1
call stack 0 2000
alloc 2 malloc 2 1000
instructions 7500
call stack 0 500
free 2
time 4000000
instructions 12345678901
thread 0
call stack 0 0
alloc 3 malloc 2 24
instructions 12345678901
resize 3 1 10
END
script2trace script T
grep -v '^counted' script >plain && script2trace plain P
grep -v '^stacks\|call stack' script >flat && script2trace flat F
# As written before traces said that there are depths.
grep -v '^stacks' script >old && script2trace old O
grep -v 'call stack' script >level && script2trace level L

show()
{
	t msreplay -q --massif-out-file=- "$@"
}

# Instructions are the default where they are counted.
show F
show --time-unit=i --max-snapshots=10 F
t sh -c "msreplay -q --massif-out-file=- F >a; msreplay -q --massif-out-file=- --time-unit=i F | tail -n +2 >b; tail -n +2 a | diff - b"
t msreplay --massif-out-file=/dev/null F
t msreplay --massif-out-file=/dev/null P
t msreplay --time-unit=i P
t msreplay '--also=--time-unit=i --massif-out-file=x' P
t msreplay -q --massif-out-file=f '--also=--time-unit=B --massif-out-file=f.B' '--also=--time-unit=ms --massif-out-file=f.ms' F
t grep -H -e ^time f f.B f.ms

# Moments by instructions.
t msreplay -q --massif-out-file=m --snapshot=6999 --snapshot=7000 --at=peak --at=end F
t grep -H -e ^time= -e ^mem_heap_B= m.snapshot-6999 m.snapshot-7000 m.at-peak m.at-end
t msreplay -v -v --stats=yes --massif-out-file=/dev/null T
t sh -c 'msreplay -v --massif-out-file=/dev/null F 2>&1 | grep instructions'

# Stacks.
show --stacks=yes --time-unit=B --threshold=10 T
show --stacks=yes --heap=no T
t msreplay --massif-out-file=/dev/null --stacks=yes --time-unit=ms T
t msreplay -v -v --stats=yes --massif-out-file=/dev/null --stacks=yes --time-unit=ms T
t msreplay -q --massif-out-file=s --stacks=yes --heap=no --exact-peak --at=peak --at=7000 T
t grep -H -e ^time= -e ^mem -e tree s.at-peak s.at-7000
t sh -c 'msreplay -q --massif-out-file=- --stacks=yes O >a; msreplay -q --massif-out-file=- --stacks=yes T | diff a -'
t msreplay --massif-out-file=/dev/null --stacks=yes L
t msreplay --stacks=yes F
t msreplay '--also=--stacks=yes --massif-out-file=y' --massif-out-file=x F
t ls x y
t sh -c 'msreplay -q --massif-out-file=- --stacks=no T | grep -c mem_stacks_B=0'

# Other formats.
t msconvert -q --to=csv T
t sh -c 'msconvert -q --to=csv P | head -n 1'
t msconvert -q --to=ndjson F
t msconvert -q --to=csv-snapshots --stacks=yes T
t msconvert --to=folded --at=6999 F
t msconvert --to=folded --at=7000 --value=inuse_objects F
t msconvert -q --to=folded --from=5001 --at=end F
t msconvert -q --to=folded --until=7000 --value=alloc_bytes F
t sh -c 'msconvert -q --to=parquet -o e.parquet T && tail -c 4 e.parquet'

# The first snapshot of a cut shows what was mapped at its beginning; another one for the program's start doesn't come.
cat >mapped <<'EOF'
pages
stack 0 0x0
stack 1 0x1000
page page_start 0 4096 4096
time 5000000
page page_mmap 1 8192 65536
time 20000000
page page_mmap 1 4096 131072
EOF
script2trace mapped M
msconvert -q --to=trace --from=10 -o C M
t sh -c 'msreplay -q --pages-as-heap=yes --time-unit=ms --massif-out-file=- C | grep -E "^(time|mem_heap_B)="'
