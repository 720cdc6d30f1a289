#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What msrec --pages costs: CPU nanoseconds of the program for one round of some calls, without a recorder, with msrec,
with msrec --pages, and with a seccomp filter that traps page calls and records nothing. Prints a Markdown table.

  pages.py --build DIR [--runs N] [--calls N]

Runs alternate; medians, and the median of the ratios of paired runs.
"""

import argparse
import os
import statistics
import subprocess
import tempfile

CALLS = [('pair', 'mmap and munmap, 64 KiB'), ('deep', 'the same below 30 frames'),
         ('large', 'malloc and free, 64 MiB'),
         ('break', 'sbrk up and down'), ('getppid', 'getppid()'), ('syscall', 'syscall(SYS_getppid)'),
         ('small', 'malloc and free, 64 bytes')]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', required=True, help='the Meson build directory')
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--calls', type=int, default=200000)
    options = parser.parse_args()
    program = os.path.join(options.build, 'tests/bench/pages')
    print('| round | native, ns | msrec | msrec --pages | seccomp | --pages : native |\n|---|--:|--:|--:|--:|--:|')
    with tempfile.TemporaryDirectory(prefix='pages-') as scratch:
        msrec = [os.path.join(options.build, 'trace-record/msrec'), '-q', '-f', '-o', os.path.join(scratch, 't')]
        for call, words in CALLS:
            command = [program, call, str(options.calls)]
            ways = [command, msrec + command, msrec + ['--pages'] + command, command + ['filter']]
            times = [[float(subprocess.run(way, check=True, stdout=subprocess.PIPE).stdout) for way in ways]
                     for _ in range(options.runs)]
            medians = ' | '.join('%.0f' % statistics.median(way) for way in zip(*times))
            print('| %s | %s | %.2f |' % (words, medians, statistics.median(t[2] / t[0] for t in times)), flush=True)


if __name__ == '__main__':
    main()
