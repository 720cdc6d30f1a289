#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What many settings in one pass cost: msreplay with one setting against twenty, CPU time in paired runs.

  also.py --build DIR [--runs N] TRACE...

The twenty differ in what users vary: threshold, depth, heap-admin, detailed-freq, peak-inaccuracy and
max-snapshots. Prints a Markdown table: median and range of the ratios, and millions of calls a second.
"""

import argparse
import os
import resource
import statistics
import subprocess


def settings(i):
    """The i-th of the settings, 0 being Massif's defaults with time in bytes."""
    words = ['--time-unit=B', '--massif-out-file=/dev/null']
    if i:
        words += ['--threshold=%.1f' % (0.3 * i), '--depth=%d' % (2 + 5 * (i % 7)), '--heap-admin=%d' % (i % 5 * 4),
                  '--detailed-freq=%d' % (1 + i % 10), '--peak-inaccuracy=%.1f' % (i % 4 / 2),
                  '--max-snapshots=%d' % (60 + 10 * (i % 6))]
    return words


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(msreplay, trace, runs):
    """(ratios, seconds with one)"""
    one = [msreplay, '-q', *settings(0), trace]
    twenty = one[:-1] + ['--also=' + ' '.join(settings(i)) for i in range(1, 20)] + [trace]
    cpu_seconds(one)
    pairs = [(cpu_seconds(one), cpu_seconds(twenty)) for _ in range(runs)]
    return [b / a for a, b in pairs], statistics.median(a for a, _ in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', required=True, help='the Meson build directory')
    parser.add_argument('--runs', type=int, default=9)
    parser.add_argument('traces', nargs='+', metavar='TRACE')
    arguments = parser.parse_args()
    os.environ['MSREC_CACHE'] = ''
    msreplay = os.path.join(arguments.build, 'analyze/msreplay')
    print('| trace | CPU seconds, one setting | twenty : one | range |\n|---|--:|--:|--:|')
    for trace in arguments.traces:
        ratios, seconds = measure(msreplay, trace, arguments.runs)
        print('| %s | %.3f | %.2f | %.2f–%.2f |' % (os.path.basename(trace), seconds, statistics.median(ratios),
                                                    min(ratios), max(ratios)))


if __name__ == '__main__':
    main()
