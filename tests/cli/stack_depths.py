#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stack peak that a trace with --stacks=yes gives, against what the program measured itself.

  stack_depths.py --build DIR
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Checks, Scratch, arguments    # noqa: E402

# Frames between the program's points of measurement and the calls, and above main. Without a depth of its
# own the deepest call of the program is printf's.
SLACK, SLACK_OF_NONE = 512, 4096

CASES = [(mode, levels) for mode in ('malloc', 'free', 'thread') for levels in (0, 1, 2, 7)] + [('malloc', 70)]


def peak_of(build, trace):
    report = subprocess.run([os.path.join(build, 'analyze', 'msreplay'), '-q', '--memusage', trace], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return int(re.search(r'stack peak: (\d+)', report).group(1))


def massif_peak(build, trace):
    """The largest sum of stacks in Massif's snapshots, the true peak's included."""
    out = subprocess.run([os.path.join(build, 'analyze', 'msreplay'), '-q', '--stacks=yes', '--heap=no', '--exact-peak',
                          '--massif-out-file=-', trace], check=True, stdout=subprocess.PIPE, text=True).stdout
    return max(int(n) for n in re.findall(r'^mem_stacks_B=(\d+)$', out, re.M))


def run_timed(build, scratch):
    """A program that uses SIGPROF, sampled often: its own depth, and the trace's."""
    trace = os.path.join(scratch, 'timed')
    words = [os.path.join(build, 'tests/cli/own_timer')]
    msrec = [os.path.join(build, 'trace-record', 'msrec'), '-q', '-f', '-o', trace, '--timer=1']
    alone = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    timed = subprocess.run(msrec + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if alone.returncode or timed.returncode or not timed.stdout.startswith('undisturbed '):
        sys.exit('alone: %s, with --timer=1: %s' % (alone.stdout.strip(), timed.stdout.strip()))
    return int(timed.stdout.split()[1]), peak_of(build, trace)


def run(build, scratch, option, mode, levels):
    """The program's depth and the trace's."""
    trace = os.path.join(scratch, 'trace')
    program = subprocess.run(
        [os.path.join(build, 'trace-record', 'msrec'), '-q', '-f', '-o', trace, option,
         os.path.join(build, 'corpus', 'stack_depth'), mode, str(levels)],
        check=True, stdout=subprocess.PIPE, text=True)
    return int(program.stdout), peak_of(build, trace)


def main():
    build, check = arguments(__doc__).build, Checks()
    with Scratch() as scratch:
        for mode, levels in CASES:
            said, peak = run(build, scratch, '--stacks=yes', mode, levels)
            # Massif's is the sum over all threads.
            sum_of_all = massif_peak(build, os.path.join(scratch, 'trace'))
            check('%s %d: program %d, trace %d' % (mode, levels, said, peak),
                  abs(peak - said) < (SLACK if levels else SLACK_OF_NONE))
            check('%s %d: Massif %d' % (mode, levels, sum_of_all),
                  sum_of_all == peak if mode != 'thread' else peak <= sum_of_all < peak + SLACK_OF_NONE)
        _, peak = run(build, scratch, '--stacks=no', 'malloc', 7)
        check('without --stacks: %d' % peak, peak == 0)
        _, peak = run(build, scratch, '--stacks=yes', 'work', 7)
        check('deep between calls: %d' % peak, peak <= SLACK_OF_NONE)
        said, peak = run(build, scratch, '--timer=4', 'work', 7)
        check('with --timer: program %d, trace %d' % (said, peak), abs(peak - said) < SLACK)
        said, peak = run_timed(build, scratch)
        check('own SIGPROF: program %d, trace %d' % (said, peak), abs(peak - said) < SLACK_OF_NONE)
    return check.status()


if __name__ == '__main__':
    sys.exit(main())
