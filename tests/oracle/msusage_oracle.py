#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare `msusage` with the real memusage as commands: reports, standard output, exit status.

The reports of all processes of a run are compared line by line as a set (two that end together may come in either
order), with the stack peak and `nomove` masked, which memusage_oracle.py explains; for some programs the stack peaks
are compared too, within the size of a few frames. Where memusage prints no report, or crashes the program, only ours
can be right; a note marks such lines.

  msusage_oracle.py --build DIR [-v] [NAME...]

Exit status: 0 all identical, 1 not, 77 memusage is not installed.
"""

import collections
import os
import re
import shutil
import sys

import memusage_oracle

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, Tally, arguments, skip    # noqa: E402

# Programs that copy their environment to the heap, of which the two commands make different ones; and
# those that Python's own memory makes different from run to run.
ENVIRONMENT = ('bash', 'perl', 'python3', 'make')

# Where the commands must differ, and why.
DIFFERENT = dict(memusage_oracle.DIFFERENT, usable="memusage's blocks are larger than malloc_usable_size says")

# With -m. msusage gives the same by --mmap=memusage, which repeats memusage's errors; its own -m doesn't.
MAPS = 'mmap:'

# Programs that come back from their deepest call: memusage of glibc 2.35 to 2.39 measures stacks upside
# down, from the deepest call upwards, which is the same for these. Up to so many bytes are frames of
# memusage and of the recorder.
STACKS = {'stack:%s:%d' % (mode, n): ['corpus/stack_depth', mode, str(n)]
          for mode in ('malloc', 'free') for n in (1, 4)}
STACK_SLACK = 512

# Processes that fork and execute, one after the other: memusage's reports would be mixed up otherwise.
SHELL = {
    'shell:lines': 'corpus/one; corpus/realloc_cycle && corpus/null',
    'shell:subshell': '(corpus/fork; corpus/ctor); (exit 3)',
    'shell:status': 'corpus/realloc; exit 7',
    'shell:exec': 'exec corpus/realloc_cycle',
    'shell:killed': 'corpus/one; kill -TERM $$',
    'shell:many': 'for i in 1 2 3 4; do corpus/script $i 300; done',
}


class Oracle(memusage_oracle.Oracle):
    def both(self, argv, maps):
        msusage = os.path.join(self.build, 'analyze', 'msusage')
        return (self.run(['memusage', '--no-timer'] + ['-m'] * maps + argv, self.base),
                self.run([msusage, '--color=always'] + ['--mmap=memusage'] * maps + argv, self.base))


def reports(stderr):
    """Each report as its lines, escape sequences and all."""
    found = []
    for part in stderr.split(memusage_oracle.HEADING)[1:]:
        lines = (memusage_oracle.HEADING + memusage_oracle.mask(part)).split(b'\n')
        end = next(i for i, line in enumerate(lines) if line.startswith(b'\x1b[01;32mHistogram'))
        while end + 1 < len(lines) and b'\x1b[41;37m' in lines[end + 1]:
            end += 1
        found.append(tuple(lines[:end + 1]))
    return collections.Counter(found)


def stack_peaks_differ(theirs, ours):
    a, b = (int(re.search(rb'stack peak: (\d+)', stderr).group(1)) for stderr in (theirs, ours))
    return abs(a - b) > STACK_SLACK


def compare(oracle, name, argv, verbose):
    """True, False, or None when memusage has nothing to compare with."""
    theirs, ours = oracle.both(argv, name.startswith(MAPS))
    want, got = reports(theirs.stderr), reports(ours.stderr)
    missing = want - got
    problems = []
    if theirs.returncode != ours.returncode:
        problems.append('status %d and %d' % (theirs.returncode, ours.returncode))
    if theirs.stdout != ours.stdout:
        problems.append('other output')
    if missing:
        problems.append('%d of %d reports differ' % (sum(missing.values()), sum(want.values())))
    if name in STACKS and stack_peaks_differ(theirs.stderr, ours.stderr):
        problems.append('stack peaks differ')
    if not want and got and not problems:
        print('%-24s ok  (memusage prints no report, msusage %d)' % (name, sum(got.values())))
        return True
    print('%-24s %s' % (name, ', '.join(problems) if problems else 'ok'))
    if missing and verbose:
        for report in missing:
            memusage_oracle.show_difference(b'\n'.join(report), b'\n'.join(next(iter(got), (b'',))))
    return not problems


def map_programs(scratch):
    yield MAPS + 'maps', ['corpus/maps']
    for name, *argv in memusage_oracle.real_programs(scratch):
        if name.split(':')[0] not in ENVIRONMENT and shutil.which(argv[0]):
            yield MAPS + name, argv
    for name in ('realloc', 'exceptions', 'dl', 'stdio', 'fork'):
        yield MAPS + name, ['corpus/' + name]


def programs(scratch):
    for name, *argv in memusage_oracle.corpus_programs() + list(memusage_oracle.real_programs(scratch)):
        if name.split(':')[0] not in ENVIRONMENT and ('/' in argv[0] or shutil.which(argv[0])):
            yield name, argv
    yield from map_programs(scratch)
    yield from STACKS.items()
    for name, script in SHELL.items():
        yield name, ['sh', '-c', script]


def main():
    options = arguments(__doc__, '--verbose', ('names', {'nargs': '*'}))
    library = memusage_oracle.find_memusage()
    if not library:
        skip('memusage is not installed')
    tally, stale = Tally(), 0
    with Scratch() as scratch:
        oracle = Oracle(options.build, scratch, library)
        for name, argv in programs(scratch):
            if options.names and name not in options.names:
                continue
            same = memusage_oracle.ask_again(name, lambda: compare(oracle, name, argv, options.verbose),
                                             lambda same: same is not False or name in DIFFERENT)
            if name in DIFFERENT:
                stale += same
                print('%-24s %s  %s' % ('', 'STALE' if same else 'expected:', DIFFERENT[name]))
                continue
            tally(same)
    return tally.status() or int(stale > 0)


if __name__ == '__main__':
    sys.exit(main())
