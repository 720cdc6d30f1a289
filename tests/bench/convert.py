#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast recordings become profiles: msconvert to folded stacks and to pprof against heaptrack_print,
which reads the same recording in heaptrack's format; CPU time in runs that take turns.

  convert.py --build DIR [--runs N] TRACE...

Prints a Markdown table: millions of calls a second, and by how much msconvert is faster (median and
range). heaptrack_print is asked for its totals alone, which is its fastest answer.
"""

import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, arguments    # noqa: E402
from measure import in_turns, ratios    # noqa: E402

FORMS = ('folded', 'pprof')


def measure(build, trace, runs, folder):
    msconvert = build.file('analyze/msconvert')
    other = os.path.join(folder, 'recording.heaptrack.zst')
    subprocess.run([msconvert, '-q', '-o', other, trace], check=True)
    commands = [['heaptrack_print', '-m0', '-p0', '-a0', '-T0', other]]
    commands += [[msconvert, '-q', '--to=' + form, '-o', os.path.join(folder, 'result'), trace] for form in FORMS]
    return in_turns(commands, runs)


def main():
    options = arguments(__doc__, ('--runs', {'default': 9}), ('traces', {'nargs': '+', 'metavar': 'TRACE'}))
    print('| trace | calls | heaptrack_print, M/s | ' + ' | '.join(f'{form}, M/s | faster' for form in FORMS) + ' |')
    print('|---|--:|--:|' + '--:|--:|' * len(FORMS))
    with Scratch() as folder:
        for trace in options.traces:
            n = options.build.stat(trace)['events']
            rows = measure(options.build, trace, options.runs, folder)
            cells = [os.path.basename(trace), f'{n:,}', f'{n / statistics.median(r[0] for r in rows) / 1e6:.0f}']
            for i in range(1, len(FORMS) + 1):
                cells += [f'{n / statistics.median(r[i] for r in rows) / 1e6:.0f}',
                          ratios([r[0] / r[i] for r in rows], 1)]
            print('| ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    main()
