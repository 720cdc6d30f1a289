#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What msrec --pages costs: CPU nanoseconds of the program for one round of some calls, without a recorder, with msrec,
with msrec --pages, and with a seccomp filter that traps page calls and records nothing. Prints a Markdown table.

  pages.py --build DIR [--runs N] [--calls N]

Runs alternate; medians, and the median of the ratios of paired runs.
"""

import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, arguments    # noqa: E402

CALLS = [('pair', 'mmap and munmap, 64 KiB'), ('deep', 'the same below 30 frames'),
         ('large', 'malloc and free, 64 MiB'),
         ('break', 'sbrk up and down'), ('getppid', 'getppid()'), ('syscall', 'syscall(SYS_getppid)'),
         ('small', 'malloc and free, 64 bytes')]


def main():
    options = arguments(__doc__, ('--runs', {'default': 7}), ('--calls', {'type': int, 'default': 200000}))
    program = options.build.file('tests/bench/pages')
    print('| round | native, ns | msrec | msrec --pages | seccomp | --pages : native |\n|---|--:|--:|--:|--:|--:|')
    with Scratch() as scratch:
        msrec = [options.build.msrec, '-q', '-f', '-o', os.path.join(scratch, 't')]
        for call, words in CALLS:
            command = [program, call, str(options.calls)]
            ways = [command, msrec + command, msrec + ['--pages'] + command, command + ['filter']]
            times = [[float(subprocess.run(way, check=True, stdout=subprocess.PIPE).stdout) for way in ways]
                     for _ in range(options.runs)]
            medians = ' | '.join('%.0f' % statistics.median(way) for way in zip(*times))
            print('| %s | %s | %.2f |' % (words, medians, statistics.median(t[2] / t[0] for t in times)), flush=True)


if __name__ == '__main__':
    main()
