#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What many settings in one pass cost: msreplay with one setting against twenty, CPU time in paired runs.

  also.py --build DIR [--runs N] TRACE...

The twenty differ in what users vary: threshold, depth, heap-admin, detailed-freq, peak-inaccuracy and
max-snapshots. Prints a Markdown table: median and range of the ratios, and millions of calls a second.
"""

import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import arguments    # noqa: E402
from measure import in_turns, ratios    # noqa: E402


def settings(i):
    """The i-th of the settings, 0 being Massif's defaults with time in bytes."""
    words = ['--time-unit=B', '--massif-out-file=/dev/null']
    if i:
        words += ['--threshold=%.1f' % (0.3 * i), '--depth=%d' % (2 + 5 * (i % 7)), '--heap-admin=%d' % (i % 5 * 4),
                  '--detailed-freq=%d' % (1 + i % 10), '--peak-inaccuracy=%.1f' % (i % 4 / 2),
                  '--max-snapshots=%d' % (60 + 10 * (i % 6))]
    return words


def measure(msreplay, trace, runs):
    """(ratios, seconds with one)"""
    one = [msreplay, '-q', *settings(0), trace]
    twenty = one[:-1] + ['--also=' + ' '.join(settings(i)) for i in range(1, 20)] + [trace]
    rows = in_turns([one, twenty], runs)
    return [b / a for a, b in rows], statistics.median(a for a, _ in rows)


def main():
    options = arguments(__doc__, ('--runs', {'default': 9}), ('traces', {'nargs': '+', 'metavar': 'TRACE'}))
    os.environ['MSREC_CACHE'] = ''
    print('| trace | CPU seconds, one setting | twenty : one (range) |\n|---|--:|--:|')
    for trace in options.traces:
        found, seconds = measure(options.build.file('analyze/msreplay'), trace, options.runs)
        print('| %s | %.3f | %s |' % (os.path.basename(trace), seconds, ratios(found)))


if __name__ == '__main__':
    main()
