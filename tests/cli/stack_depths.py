#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stack peak that a trace with --stacks=yes gives, against what the program measured itself.

  stack_depths.py --build DIR
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

# Frames between the program's marks and the calls, and what lies above main. Without any depth of its
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
    """A program with a use for SIGPROF, sampled often: what it says of its depth, and what the trace says."""
    trace = os.path.join(scratch, 'timed')
    words = [os.path.join(build, 'tests/cli/own_timer')]
    msrec = [os.path.join(build, 'trace-record', 'msrec'), '-q', '-f', '-o', trace, '--timer=1']
    alone = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    timed = subprocess.run(msrec + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if alone.returncode or timed.returncode or not timed.stdout.startswith('undisturbed '):
        sys.exit('alone: %s, with --timer=1: %s' % (alone.stdout.strip(), timed.stdout.strip()))
    return int(timed.stdout.split()[1]), peak_of(build, trace)


def run(build, scratch, option, mode, levels):
    """What the program says and what the trace says."""
    trace = os.path.join(scratch, 'trace')
    program = subprocess.run(
        [os.path.join(build, 'trace-record', 'msrec'), '-q', '-f', '-o', trace, option,
         os.path.join(build, 'corpus', 'stack_depth'), mode, str(levels)],
        check=True, stdout=subprocess.PIPE, text=True)
    return int(program.stdout), peak_of(build, trace)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', required=True)
    build = os.path.abspath(parser.parse_args().build)
    failed = 0
    with tempfile.TemporaryDirectory(prefix='stack-depths-') as scratch:
        for mode, levels in CASES:
            said, peak = run(build, scratch, '--stacks=yes', mode, levels)
            near = abs(peak - said) < (SLACK if levels else SLACK_OF_NONE)
            # Massif's is the sum over all threads.
            sum_of_all = massif_peak(build, os.path.join(scratch, 'trace'))
            near = near and (sum_of_all == peak if mode != 'thread' else peak <= sum_of_all < peak + SLACK_OF_NONE)
            failed += not near
            print('%-8s %3d  program %8d  trace %8d  %s' % (mode, levels, said, peak, 'ok' if near else 'FAR'))
        _, peak = run(build, scratch, '--stacks=no', 'malloc', 7)
        failed += peak != 0
        print('without --stacks: %d' % peak)
        _, peak = run(build, scratch, '--stacks=yes', 'work', 7)
        failed += peak > SLACK_OF_NONE
        print('deep between calls: %d' % peak)
        said, peak = run(build, scratch, '--timer=4', 'work', 7)
        near = abs(peak - said) < SLACK
        failed += not near
        print('with --timer: program %d  trace %d  %s' % (said, peak, 'ok' if near else 'FAR'))
        said, peak = run_timed(build, scratch)
        near = abs(peak - said) < SLACK_OF_NONE
        failed += not near
        print('own SIGPROF: program %d  trace %d  %s' % (said, peak, 'ok' if near else 'FAR'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
