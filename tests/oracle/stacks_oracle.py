#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare msreplay --stacks=yes with Massif on changes of the stack pointer.

A program that only uses its stack runs under Massif, which prints each SP change with -v -v, as long as there are
fewer than 1000 snapshots. A trace of these changes is replayed with many option sets, and must give Massif's file
for each of them, and the same lines with -v -v and --stats=yes.

Exit status: 0 all equal, 1 a difference, 77 no valgrind.
"""

import difflib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, Tally, arguments, need    # noqa: E402

OPTIONS = [f'{unit} {more}'.strip() for unit in ('', '--time-unit=B') for more in (
    '', '--max-snapshots=10', '--max-snapshots=11 --detailed-freq=3', '--max-snapshots=30 --peak-inaccuracy=0',
    '--max-snapshots=57 --peak-inaccuracy=25.5 --detailed-freq=1', '--heap=no', '--heap=no --max-snapshots=20',
    '--threshold=0 --detailed-freq=2 --max-snapshots=200', '--max-snapshots=1000')]
STEP = re.compile(r'Massif: stk-(?:new|die) S.\s*\d+ \(t:(\d+), hp:0, ex:0, st:(\d+)\)')


def massif(scratch, program, options):
    """Its file, and its messages."""
    out = os.path.join(scratch, 'theirs')
    done = subprocess.run(['valgrind', '--tool=massif', '-v', '-v', '--stats=yes', '--stacks=yes',
                           '--massif-out-file=' + out, *options, program], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=True)
    with open(out, encoding='ascii') as file:
        return file.read(), done.stderr


def ours(build, scratch, options):
    out = os.path.join(scratch, 'ours')
    done = subprocess.run([os.path.join(build, 'analyze/msreplay'), '-v', '-v', '--stats=yes', '--stacks=yes',
                           '--massif-out-file=' + out, *options, os.path.join(scratch, 'trace')],
                          stderr=subprocess.PIPE, text=True, check=True)
    with open(out, encoding='ascii') as file:
        return file.read(), done.stderr


def comparable(text, said):
    """The file without its first two lines, and the messages about snapshots and figures."""
    said = re.findall(r'^--\d+-- Massif: (.*)$', said, re.M)
    return text.split('\n')[2:] + said[said.index('ignore-fns:'):]


def make_trace(build, scratch, said):
    steps = STEP.findall(said)
    lines = ['counted', 'stacks']
    for instructions, depth in steps:
        lines += ['instructions ' + instructions, 'call stack 0 ' + depth]
    script = os.path.join(scratch, 'script')
    with open(script, 'w', encoding='ascii') as file:
        file.write('\n'.join(lines) + '\n')
    subprocess.run([os.path.join(build, 'tests/tools/script2trace'), script, os.path.join(scratch, 'trace')],
                   check=True)
    return len(steps)


def main():
    build, tally = arguments(__doc__).build, Tally()
    program = os.path.join(build, 'tests/tools/stack_walk')
    need('valgrind')
    with Scratch() as scratch:
        _, said = massif(scratch, program, ['--max-snapshots=1000'])
        steps = make_trace(build, scratch, said)
        if 'Culling' in said or steps < 300:
            print('Massif does not tell each step: %d' % steps)
            return 1
        for text in OPTIONS:
            options = text.split()
            theirs, mine = comparable(*massif(scratch, program, options)), comparable(*ours(build, scratch, options))
            if not tally(theirs == mine):
                print('DIFFERENT ' + text)
                print('\n'.join(list(difflib.unified_diff(theirs, mine, 'Massif', 'msreplay', n=0, lineterm=''))[:20]))
    return tally.status(' (%d steps)' % steps)


if __name__ == '__main__':
    sys.exit(main())
