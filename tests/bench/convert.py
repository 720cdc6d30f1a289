#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast recordings become profiles: msconvert to folded stacks and to pprof against heaptrack_print,
which reads the same recording in heaptrack's format; CPU time in runs that take turns.

  convert.py --build DIR [--runs N] TRACE...

Prints a Markdown table: millions of calls a second, and by how much msconvert is faster (median and
range). heaptrack_print is asked for its totals alone, which is its fastest answer.
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile

FORMS = ('folded', 'pprof')


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def calls(build, trace):
    done = subprocess.run([os.path.join(build, 'tests/tools/tracestat'), trace], check=True, text=True,
                          capture_output=True)
    return int(dict(line.split('=', 1) for line in done.stdout.split())['events'])


def measure(build, trace, runs, folder):
    msconvert = os.path.join(build, 'analyze/msconvert')
    other = os.path.join(folder, 'recording.heaptrack.zst')
    subprocess.run([msconvert, '-q', '-o', other, trace], check=True)
    commands = [['heaptrack_print', '-m0', '-p0', '-a0', '-T0', other]]
    commands += [[msconvert, '-q', '--to=' + form, '-o', os.path.join(folder, 'result'), trace] for form in FORMS]
    for command in commands:
        cpu_seconds(command)
    return [[cpu_seconds(command) for command in commands] for _ in range(runs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', required=True, help='the Meson build directory')
    parser.add_argument('--runs', type=int, default=9)
    parser.add_argument('traces', nargs='+', metavar='TRACE')
    arguments = parser.parse_args()
    print('| trace | calls | heaptrack_print, M/s | ' + ' | '.join(f'{form}, M/s | faster' for form in FORMS) + ' |')
    print('|---|--:|--:|' + '--:|--:|' * len(FORMS))
    with tempfile.TemporaryDirectory() as folder:
        for trace in arguments.traces:
            n = calls(arguments.build, trace)
            rounds = measure(arguments.build, trace, arguments.runs, folder)
            cells = [os.path.basename(trace), f'{n:,}', f'{n / statistics.median(r[0] for r in rounds) / 1e6:.0f}']
            for i in range(1, len(FORMS) + 1):
                ratios = [r[0] / r[i] for r in rounds]
                cells += [f'{n / statistics.median(r[i] for r in rounds) / 1e6:.0f}',
                          f'{statistics.median(ratios):.1f} ({min(ratios):.1f}–{max(ratios):.1f})']
            print('| ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    main()
