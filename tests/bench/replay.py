#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The speed of replay: medians of runs, in millions of calls a second of wall time as -v reports it (without the names
that are printed in the end).

  replay.py --build DIR [--runs N] [--heaptrack TRACE=RECORDING]... [TRACE]...

Prints a Markdown table: Massif's file by default settings with one thread, and how much faster with two; with the
exact peak; memusage's report; Valgrind's heap model (of traces with at most 100 million calls); how many chunks'
records were looked at; then the whole time of --only-moments in the middle, and the largest memory of all these. A
recording of heaptrack that belongs to a trace is timed with heaptrack_print, by wall time of whole runs against
msreplay's: the first time, when names are looked up in files unless the trace has them, and again, when msreplay has
kept them.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import arguments    # noqa: E402

VALGRIND_MOST = 100000000


class Replay:
    def __init__(self, msreplay, trace, runs):
        self.msreplay, self.trace, self.runs = msreplay, trace, runs
        self.calls, self.looked, self.kilobytes = 0, '', 0

    def run(self, *words):
        """Seconds of the replay itself."""
        done = subprocess.run(['/usr/bin/time', '-f', 'kB %M', self.msreplay, '-v', *words, self.trace],
                              capture_output=True, text=True, check=True, env=dict(os.environ, LC_ALL='C'))
        self.calls = int(re.search(r'(\d+) events', done.stderr).group(1))
        self.looked = re.search(r'the records of (\d+ of \d+) chunks', done.stderr).group(1)
        self.kilobytes = max(self.kilobytes, int(re.search(r'kB (\d+)', done.stderr).group(1)))
        return float(re.search(r'replayed in ([0-9.]+) s', done.stderr).group(1))

    def median(self, *words):
        return statistics.median(self.run(*words) for _ in range(self.runs))

    def rate(self, *words):
        seconds = max(self.median(*words), 0.005)
        return self.calls / seconds / 1e6

    def snapshot(self):
        """Milliseconds of the whole run for one in the middle."""
        out = '/tmp/replay-bench.%d' % os.getpid()
        subprocess.run([self.msreplay, '-q', '--massif-out-file=' + out, self.trace], check=True)
        with open(out, encoding='utf-8') as file:
            end = max(int(line[5:]) for line in file if line.startswith('time='))
        spent = []
        for _ in range(self.runs):
            start = time.monotonic()
            subprocess.run([self.msreplay, '-q', '--only-moments', '--at=%d' % (end // 2), '--massif-out-file=' + out,
                            self.trace], check=True)
            spent.append(1000 * (time.monotonic() - start))
        for name in (out, '%s.at-%d' % (out, end // 2)):
            os.unlink(name)
        return statistics.median(spent)


def seconds(command, kept=''):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, MSREC_CACHE=kept))
    return time.monotonic() - begin


def row(replay):
    null = '--massif-out-file=/dev/null'
    one = replay.rate('-j1', null)
    looked = replay.looked
    two = replay.rate('-j2', null)
    peak = replay.rate('-j1', '--exact-peak', null)
    peak_looked = replay.looked
    usage = replay.rate('-j1', '--memusage')
    usable = '%.1f' % replay.rate('-j1', '--usable=valgrind', null) if replay.calls <= VALGRIND_MOST else ''
    return '| %s | %.0f | %.0f | %.2f | %s | %.0f | %s | %.0f | %s | %.0f | %.0f |' % (
        os.path.basename(replay.trace), replay.calls / 1e6, one, two / one, looked, peak, peak_looked, usage, usable,
        replay.snapshot(), replay.kilobytes / 1024)


def against_heaptrack(msreplay, trace, recording, runs):
    """Both with all that they print by default, taking turns."""
    replay = Replay(msreplay, trace, runs)
    replay.run('-j1', '--massif-out-file=/dev/null')
    command = [msreplay, '-q', '--massif-out-file=/dev/null', trace]
    first, again, theirs = [], [], []
    with tempfile.TemporaryDirectory() as kept:
        seconds(command, kept)
        for _ in range(runs):
            first.append(seconds(command))
            again.append(seconds(command, kept))
            theirs.append(seconds(['heaptrack_print', '-f', recording]))
    a, b, c = (statistics.median(times) for times in (theirs, first, again))
    return '| %s | %.1f | %.2f | %.3f | %.1f | %.3f | %.1f |' % (os.path.basename(trace), replay.calls / 1e6, a, b,
                                                                 a / b, c, a / c)


def main():
    options = arguments(__doc__, ('--runs', {'default': 5}),
                        ('--heaptrack', {'action': 'append', 'default': [], 'metavar': 'TRACE=RECORDING'}),
                        ('traces', {'nargs': '*', 'metavar': 'TRACE'}))
    msreplay = options.build.file('analyze/msreplay')
    if options.traces:
        print('| trace | M calls | M/s | two threads | chunks looked at | exact peak, M/s | looked at | memusage, M/s '
              '| Valgrind\'s heap, M/s | one snapshot, ms | MiB |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|')
    for trace in options.traces:
        print(row(Replay(msreplay, trace, options.runs)), flush=True)
    if options.heaptrack:
        print('\n| trace | M calls | heaptrack_print, s | msreplay, s | times | again | times |\n'
              '|---|--:|--:|--:|--:|--:|--:|')
    for pair in options.heaptrack:
        print(against_heaptrack(msreplay, *pair.split('=', 1), options.runs), flush=True)


if __name__ == '__main__':
    main()
