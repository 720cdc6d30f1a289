#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare `msreplay --memusage` with the real memusage, byte for byte.

Each program runs under glibc's libmemusage.so and under msrec, in environments of the same shape
(programs copy theirs to the heap): the same variables, with values of the same length. Masked are
the two numbers that an undisturbed run cannot know: `nomove` (memusage's blocks are 16 bytes larger,
so other reallocs stay in place) and the stack peak.

  memusage_oracle.py --build DIR [--keep DIR] [-v] [NAME...]

DIR is a Meson build directory. A program is left out when it prints no report (it left by _exit or
closed standard error) or when two runs of memusage differ. Exit status: 0 all identical, 1 not, 77
memusage is not installed.
"""

import collections
import ctypes
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, Tally, arguments, by_process, skip    # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))

HEADING = b'\n\x1b[01;32mMemory usage summary:'
MASKS = ((rb'nomove:-?\d+', b'nomove:N'), (rb'stack peak: \d+', b'stack peak: N'))
TIMEOUT_S = 120

# Programs of the corpus whose reports must differ, with the reason. One that doesn't is an error.
DIFFERENT = {
    'entry:calloc-overflow': "memusage's calloc grants products that overflow",
    'threads': "memusage's own thread-local variables make each thread's table longer",
    'exit:pthread_exit': "memusage's own thread-local variables make each thread's table longer",
}
DIFFERENT.update(dict.fromkeys(
    ('custom_alloc', 'custom_alloc_fast', 'custom_alloc_both', 'custom_alloc_both_fast', 'custom_alloc:random',
     'custom_alloc_both_fast:random'), 'requests take blocks out of the account of which memusage does not know'))


def real_programs(scratch):
    """Deterministic programs that print a report (GNU's own tools close standard error first)."""
    text = os.path.join(scratch, 'text')
    with open(text, 'w') as f:
        for i in range(3000):
            f.write('line %d of a text that is neither short nor very long: %x\n' % (i, i * i * 7919))
    other = os.path.join(scratch, 'other')
    with open(text) as f, open(other, 'w') as g:
        g.writelines(l for i, l in enumerate(f) if i % 17)
    xml = os.path.join(scratch, 'data.xml')
    with open(xml, 'w') as f:
        f.write('<?xml version="1.0"?>\n<all>\n')
        for i in range(500):
            f.write('<item id="%d"><name>n%d</name><v>%s</v></item>\n' % (i, i % 37, 'x' * (i % 90)))
        f.write('</all>\n')
    json = os.path.join(scratch, 'data.json')
    with open(json, 'w') as f:
        f.write('[' + ','.join('{"a":%d,"b":"%s"}' % (i, 'y' * (i % 50)) for i in range(400)) + ']')
    make = os.path.join(scratch, 'rules.mk')
    with open(make, 'w') as f:
        f.write('all: %s\n' % ' '.join('t%d' % i for i in range(50)))
        for i in range(50):
            f.write('t%d:\n\t@:\nV%d = $(patsubst %%,x%%,$(V%d)) y\n' % (i, i, i - 1))
    sql = ('create table t(a integer primary key, b text);'
           'with recursive c(x) as (select 1 union all select x+1 from c where x<2000)'
           ' insert into t select x, printf("%0*d", x%60, x) from c;'
           'create index i on t(b); select count(*), sum(length(b)) from t where b like "%7%";'
           'select b from t order by b desc limit 20;')
    return (
        ('bash:loop', 'bash', '-c', 'for i in {1..300}; do x="$x$i"; a[i]=$x; done; echo ${#x} ${#a[@]}'),
        ('bash:functions', 'bash', '-c', 'f() { (( $1 )) && f $(( $1 - 1 )) || echo end; }; f 60; unset -f f'),
        ('bash:exit', 'bash', '-c', 'trap "echo bye" EXIT; declare -A m; for i in {1..99}; do m[k$i]=$i; done; exit 3'),
        ('sed:replace', 'sed', 's/line \\([0-9]*\\)/\\1 line/;s/of/OF/g', text),
        ('sed:hold', 'sed', '-n', 'H;${x;s/\\n/,/g;p}', other),
        ('xmllint:format', 'xmllint', '--format', xml),
        ('xmllint:xpath', 'xmllint', '--xpath', 'count(//item[name="n7"])', xml),
        ('sqlite3', 'sqlite3', ':memory:', sql),
        ('gzip', 'gzip', '-n', '-c', text),
        ('perl:hash', 'perl', '-e', '$h{$_ % 997} .= "v$_" for 1..20000; print scalar(keys %h), "\n"'),
        ('perl:file', 'perl', '-ne', 'push @l, $_; END { print sort @l }', other),
        ('diff', 'diff', '-u', text, other),
        ('jq', 'jq', '-c', 'map(select(.a % 3 == 0) | {b, n: (.b | length)}) | group_by(.n) | length', json),
        ('tar', 'tar', '-C', scratch, '-cf', '/dev/null', 'text', 'other', 'data.xml'),
        ('make', 'make', '-f', make, '-s'),
        ('bc', 'bc', '-q', os.path.devnull),
        ('file', 'file', xml),
        ('python3', 'python3', '-S', '-I', '-c', 'd = {i: str(i) * 5 for i in range(5000)}; print(len(d))'),
    )


def find_memusage():
    """The library belongs to libc's own directory; `memusage` itself only puts it into LD_PRELOAD."""
    if not shutil.which('memusage'):
        return None
    out = subprocess.run(['memusage', 'env'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    match = re.search(rb'^LD_PRELOAD=(.*)$', out.stdout, re.M)
    return match.group(1).decode() if match else None


def fix_addresses():
    """No random addresses: some programs' requests depend on where their memory lies (python3's arenas)."""
    ctypes.CDLL(None).personality(0x0040000)


class Oracle:
    def __init__(self, build, scratch, library):
        self.build, self.scratch, self.library = build, scratch, library
        self.msrec = os.path.join(build, 'trace-record', 'msrec')
        self.msreplay = os.path.join(build, 'analyze', 'msreplay')
        self.base = {'PATH': os.environ['PATH'], 'HOME': scratch, 'LC_ALL': 'C', 'TZ': 'UTC',
                     'PYTHONHASHSEED': '0', 'PERL_HASH_SEED': '0', 'TERM': 'dumb'}

    def environment(self, argv, preload):
        """libmemusage reports only for the program of that name, not for those that it executes."""
        return dict(self.base, MEMUSAGE_PROG_NAME=os.path.basename(argv[0]), LD_PRELOAD=preload)

    @property
    def idle_preload(self):
        """A library that changes nothing; msrec keeps the user's LD_PRELOAD and hides its own."""
        libc = os.path.join(os.path.dirname(self.library), 'libc.so.6')
        return '/' * (len(self.library) - len(libc)) + libc

    def run(self, command, env):
        return subprocess.run(command, cwd=self.build, env=env, stdin=subprocess.DEVNULL, preexec_fn=fix_addresses,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S)

    def memusage_reports(self, argv):
        """bash keeps its parent's process id as text. msrec is as new as bash, so memusage's needs a new parent."""
        parent = ['timeout', '--foreground', str(TIMEOUT_S)] if argv[0] == 'bash' else []
        stderr = self.run(parent + argv, self.environment(argv, self.library)).stderr
        return [HEADING + part for part in stderr.split(HEADING)[1:]]

    def our_reports(self, argv):
        trace = os.path.join(self.scratch, 'trace')
        for old in glob.glob(glob.escape(trace) + '*'):
            os.unlink(old)
        self.run([self.msrec, '-q', '-f', '-o', trace, '--'] + argv,
                 self.environment(argv, self.idle_preload))
        reports = []
        for name in by_process(glob.glob(glob.escape(trace) + '*')):
            done = self.run([self.msreplay, '-q', '--memusage', '--color=always', name], self.base)
            if done.returncode != 0:
                sys.stdout.write(done.stderr.decode(errors='replace'))
            reports.append(done.stdout)
        return reports


# libxml2 seeds its hash tables by the clock, and those that XPath needs then fill otherwise.
BY_THE_SECOND = ('xmllint:xpath',)
TRIES_BY_THE_SECOND = 8
# bash keeps its process id as text, and that may have gained a digit since memusage's run.
TRIES = 2


def mask(report):
    for pattern, text in MASKS:
        report = re.sub(pattern, text, report)
    return report


def show_difference(want, got):
    lines = difflib.unified_diff(want.decode(errors='replace').split('\n'),
                                 got.decode(errors='replace').split('\n'), 'memusage', 'msreplay',
                                 lineterm='', n=0)
    for line in lines:
        print('    ' + line.replace('\x1b', '^['))


def ask_again(name, ask, good):
    """ask()'s answer; asks again while it isn't good: the program may have begun otherwise in one of the runs. If
    memusage's own runs may differ by the second, None (nothing to compare) is no good answer, either."""
    by_the_second = name.endswith(BY_THE_SECOND)
    for _ in range(TRIES_BY_THE_SECOND if by_the_second else TRIES):
        answer = ask()
        if good(answer) and not (by_the_second and answer is None):
            break
    return answer


def compare(oracle, name, argv, verbose):
    """True, False, or None when there is nothing to compare."""
    want = [mask(r) for r in oracle.memusage_reports(argv)]
    again = [mask(r) for r in oracle.memusage_reports(argv)]
    if not want:
        print('%-24s -  prints no report' % name)
        return None
    if collections.Counter(want) != collections.Counter(again):
        print('%-24s -  not deterministic' % name)
        return None
    got = [mask(r) for r in oracle.our_reports(argv)]
    # A process that ended without a report has a trace nevertheless.
    missing = collections.Counter(want) - collections.Counter(got)
    if missing and verbose:
        for report in missing:
            for other in got:
                show_difference(report, other)
    return not missing


def corpus_programs():
    sys.path.insert(0, os.path.join(SOURCE, 'corpus'))
    from cases import CASES
    return [(c.name,) + tuple(c.argv) for c in CASES if c.kind in ('plain', 'fork')]


def main():
    options = arguments(__doc__, '--keep', '--verbose', ('names', {'nargs': '*'}))
    library = find_memusage()
    if not library:
        skip('memusage is not installed')
    with Scratch() as scratch:
        if options.keep:
            scratch = str(options.keep)
            os.makedirs(scratch, exist_ok=True)
        return compare_all(options, Oracle(options.build, scratch, library), scratch)


def compare_all(options, oracle, scratch):
    tally, wrong = Tally(), 0
    for name, *argv in corpus_programs() + list(real_programs(scratch)):
        if options.names and name not in options.names and name.split(':')[0] not in options.names:
            continue
        if '/' not in argv[0] and not shutil.which(argv[0]):
            print('%-24s -  not installed' % name)
            continue
        same = ask_again(name, lambda: compare(oracle, name, argv, options.verbose),
                         lambda same: same is not False or name in DIFFERENT)
        if same is None:
            continue
        reason = DIFFERENT.get(name)
        if reason:
            wrong += same
            print('%-24s %s  %s' % (name, 'STALE' if same else '~', reason))
            continue
        tally(same, '%-24s %s' % (name, 'ok' if same else 'DIFFERENT'))
    return tally.status() or int(wrong > 0)


if __name__ == '__main__':
    sys.exit(main())
