# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2016,SC2154,SC2164 # run.sh sources it; text is for other shells
# What msreport says and returns. Its figures are compared with a model in tests/property/report_model.py.
TZ=UTC
export TZ

# A program of 20 s: tables of the start, a leak of 1000 bytes a second, a cache, a step that comes back, temporary
# blocks, a growing buffer, a second thread that frees the first one's blocks.
awk 'BEGIN {
	print "records 500"
	print "stack 1 0x1100 0x1000"; print "stack 2 0x1200 0x1000"; print "stack 3 0x1300 0x1000"
	print "stack 4 0x1400 0x1000"; print "stack 5 0x1500 0x1400 0x1000"; print "stack 6 0x1600 0x1000"
	for (i = 0; i < 5; i++)
		print "alloc " b++ " malloc 1 4000"
	buffer = b++
	print "alloc " buffer " malloc 6 64"
	for (t = 0; t < 2000; t++) {
		print "time " t "0000000"
		if (t % 10 == 0)
			print "alloc " b++ " malloc 2 100"
		print "alloc " (cache[t % 50] = b++) " calloc 3 300"
		print "alloc " b " new 4 24"; print "free " b++
		if (t >= 50) {
			print "thread 1"; print "free " old[t % 50]; print "thread 0"
		}
		old[t % 50] = cache[t % 50]
		if (t == 1000)
			print "alloc " (step = b++) " malloc 5 200000"
		if (t == 1500)
			print "free " step
		if (t % 200 == 0)
			print "resize " buffer " 6 " 64 * 2 ^ (t / 200)
	}
	print "end 20000000000"
}' >script
script2trace script T
cli_trace K signal

t msreport --help
t msreport
t msreport T T
t msreport leaks
t msreport T leaks
t msreport nothing T
t msreport missing
t msreport /dev/null
t msreport --at=now T
t msreport --by=colour T
t msreport --format=xml T
t msreport --top=0 T
t msreport --jobs=0 T
t msreport --size=4k-1k T
t msreport --size=1.5 T
t msreport --lifetime=5s T
t msreport --lifetime=1s-5calls T
t msreport --thread=-1 T
t msreport leaks --from=2s --until=1s T
t msreport --thread=9 --module=nothing --function=nothing T
t msreport leaks --from=1h T

t msreport T
t env LC_ALL=C.UTF-8 msreport T
t env COLUMNS=160 msreport T
t env MSREPORT_OPTS=--si msreport T
t msreport peak T
t msreport peak --at=15.5s --top=3 T
t msreport peak --at=end --by=type T
t msreport peak --by=thread T
t msreport leaks T
t msreport --stack=d59ca5 T
t msreport --stack=d5 --format=csv T
t msreport --stack=ffffff T
t msreport --stack=xyz T
printf '# known\n\n  leak:^[0x12*]$\nleak:0x16\nleak:nothing\n' >known
t msreport leaks --suppressions=known T
t msreport leaks --suppressions=known --format=csv T
t msreport leaks --suppressions=missing T
echo 'leak 0x16' >wrong
t msreport leaks --suppressions=wrong T
t msreport growth --from=10s --until=00:15 T

# Two threads handle requests, each a span; one keeps 64 bytes, and one is dropped by the next.
awk 'BEGIN {
	print "stack 1 0x1300 0x1200 0x1000"; print "stack 2 0x1400 0x1200 0x1000"; print "stack 3 0x1000"
	for (i = 0; i < 200; i++) {
		print "time " i "000000"; print "thread " i % 2; print "alloc " b++ " malloc 3 10"; print "free " b - 1
		print "mark span:" (i % 3 ? "GET" : "PUT"); print "alloc " b++ " new 1 " 100 + i; print "free " b - 1
		if (kept[i % 2])
			print "free " kept[i % 2] - 1
		print "alloc " b++ " malloc 2 " 300 + i % 7; kept[i % 2] = b
		if (i % 20 == 0)
			print "alloc " b++ " malloc 1 64"
		print "time " i "500000"; print "mark /span"
	}
	print "end 300000000"
}' >spans_script
script2trace spans_script S
t msreport spans S
t msreport S
t msreport --span=mark:GET --top=2 --format=markdown S
t msreport '--span=*0x1200*' --format=csv --top=1 S
t msreport --span=thread S
t msreport --span=every:50ms --from=100ms S
t msreport spans T
t msreport --span='*0x1400*' T
t msreport --span=every:0 T
t msreport --span=main --size=1- T
t msreport --span=main --diff S T
t msreport steps T
t msreport churn T
t msreport savings T
t msreport sizes T
t msreport threads T
t msreport functions --top=3 T
t msreport lines --top=2 libraries T
t msreport types T
t msreport --size=1k- T
t msreport leaks --size=-1k --lifetime=1s- --from=2s --until=00:15 T
t msreport --format=markdown --size=1k- peak T
t msreport --format=json --size=1k- growth T
t msreport --format=json leaks T
t msreport --format=markdown leaks T
t msreport --format=csv leaks threads T
t msreport --hide='*0x14fc*' --top=2 churn T
t sh -c 'msreport T -o out && wc -l <out'
t sh -c 'cat T | msreport - | head -n 3'

t msreport K
head -c $(($(wc -c <T) * 3 / 4)) T >cut.zst
t msreport --top=1 cut.zst
t msreport -q --top=1 cut.zst
printf 'sampled 4096\nstack 1 0x1000\nalloc 0 malloc 1 100\nalloc 1 malloc 1 100000\nend 10\n' >script
script2trace script sample
t msreport peak sample
t msreport peak --format=json sample
printf 'usable 64\nstack 1 0x1000\nalloc 0 malloc 1 100\nalloc 1 malloc 1 0\nfree 1\nalloc 2 malloc 1 5000000\nend 10\n' >script
script2trace script usable
t msreport sizes usable
t msreport leaks cut.zst
script2trace /dev/null empty
t msreport empty
t sh -c 'msreport overview peak leaks growth steps churn savings sizes threads libraries functions lines types errors rss --format=json empty | tr -d "\n" | cut -c 1-400'
printf 'anonymous\nstack 1 0x1000\nalloc 0 malloc 1 10\nfree 0\n' >script
script2trace script anonymous
t msreport anonymous
t msreport churn anonymous
t msreport leaks anonymous
t msreport T -o /dev/full
printf 'module /bin/old\nstack 1 m0x10 m0x20\nstack 2 m0x30 m0x20\nalloc 0 malloc 1 1000\nalloc 1 malloc 2 50\nfree 1\nend 5000000\n' >script
script2trace script old
printf 'stack 1 0x10 0x20\nstack 2 0x30 0x20\nalloc 0 malloc 1 1500\ntime 3000000\nalloc 1 malloc 2 50\nfree 1\nalloc 2 malloc 2 70\nend 5000000\n' >script
script2trace script one
sed 's/ 1500/ 9000/' script >script2
script2trace script2 two
t msreport --diff one two
t msreport --diff one two --figure=end,life --format=markdown
t msreport --diff one two --figure=calls --format=csv
t msreport --diff two@1ms two --figure=peak
t msreport --diff old one --figure=end --at=end
t msreport --diff one one two
t msreport --diff one
t msreport one two
t msreport peak --diff one two
t msreport --diff one two --by=size
t msreport --figure=peak one
t msreport --diff one two --figure=peak,foo
t msreport --diff nosuch two
t msreport --diff cut.zst T --figure=calls

t msreport --check='peak<=2k' --check='calls(fn~0x30)==2' --check='peak<2k' one
t msreport --check='peak<=2k' --check='calls(fn~0x30)==1' one two
t msreport --check=new.check one
t sh -c 'msreport --check=new.check --check="peak<=+1%" --check="calls<=+0" --update one && cat new.check'
t msreport --check=new.check two
t msreport --check=new.check --diff one two --format=markdown
t msreport --check=new.check --format=csv two
t msreport --check='peak<=+1%' two
t sh -c 'printf "limit peak <= +1%%\nrun script\n<<<<<<< HEAD\n\tpeak 5\n" >conflict.check; msreport --check=conflict.check two'
t sh -c 'echo "peak <= 9k" >bare.check; msreport --check=bare.check two'
t sh -c ': >empty.check; msreport --check=empty.check two'
t msreport --check='peak<=5x' two
t msreport --check=one.check --check=two.check two
t msreport --update two
t msreport --update --check='peak<=5' two
t msreport peak --check='peak<=5' two
t msreport --format=junit two
t msreport --check='peak<=5' cut.zst
t msreport --check='peak<=5' sample
