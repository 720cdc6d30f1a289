#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What short processes cost, each recorded into its own file, and the memory that msrec has for them; paired runs.

  processes.py --build DIR [--old DIR] [--runs N] [--number N] [--quick] [NAME...]

Each round runs a shape natively, under the msrec of DIR, and under that of --old. Prints a Markdown table: milliseconds
of wall and of CPU time a process natively, then those more of each msrec, medians with the quartiles of CPU; and in
runs of their own MiB of msrec at most, and in its last tenth of a second, its part of shared memory included. A file
system on disk may take longer for the traces than all else; TMPDIR=/dev/shm has them in memory.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../tools'))
import machine                                            # noqa: E402
from bench import Recorder, run, spread                   # noqa: E402
from harness import Build, Scratch, arguments, have       # noqa: E402
from workloads import Workload                            # noqa: E402

LOOK_EVERY = 0.01       # seconds between looks at msrec's memory
LOOP = 'i=0; while [ $i -lt {} ]; do {}; i=$((i + 1)); done'

# Name: what it is, the shell, the script for a number of processes, that number (0: --number), and the quick one.
SHAPES = {'sh': ('sh runs /bin/true', 'sh', lambda n: LOOP.format(n, '/bin/true'), 0, 100),
          'bash': ('bash runs /bin/true', 'bash', lambda n: LOOP.format(n, '/bin/true'), 0, 100),
          'forks': ('bash forks', 'bash', lambda n: LOOP.format(n, '(:)'), 0, 100),
          'crowd': ('so many at a time, then one', 'bash',
                    lambda n: f'for i in $(seq {n}); do sleep 1 & done; wait; sleep 1', 200, 20)}


def recorders(builds):
    def command(build):
        return lambda folder, argv: [build.msrec, '-q', '--trace-children=yes', '-o', f'{folder}/t.%p', *argv]
    return [Recorder('native', lambda _, argv: argv)] + [Recorder('msrec', command(b), 't.*') for b in builds]


def resident(pid):
    """MiB of a process; None: it is gone."""
    try:
        with open(f'/proc/{pid}/statm') as f:
            return int(f.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20
    except (OSError, IndexError):
        return None


def memory(recorder, workload, folder):
    """MiB of msrec: (most, at the end)."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    process = subprocess.Popen(recorder.command(folder, workload.argv), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=workload.environment())
    seen = []
    while process.poll() is None:
        mib = resident(process.pid)
        seen += [mib] if mib else []
        time.sleep(LOOK_EVERY)
    if process.returncode != 0:
        sys.exit(f'{workload.name}: msrec ended with {process.returncode}')
    return max(seen), statistics.median(seen[-10:])


def row(found, workload, n, runs, folder):
    rows = [[run(r, workload, folder) for r in found] for _ in range(runs + 1)][1:]
    if any(sample is None for row in rows for sample in row):
        sys.exit(f'{workload.name}: a run failed')
    cells = [workload.name, f'{n:,}', '%.2f' % (1000 * statistics.median(row[0].wall / n for row in rows)),
             '%.2f' % (1000 * statistics.median(row[0].cpu / n for row in rows))]
    for i, recorder in enumerate(found[1:], start=1):
        most, end = memory(recorder, workload, folder)
        cells += ['%.2f' % statistics.median(1000 * (row[i].wall - row[0].wall) / n for row in rows),
                  spread([1000 * (row[i].cpu - row[0].cpu) / n for row in rows]), '%.0f' % most, '%.0f' % end]
    return '| ' + ' | '.join(cells) + ' |'


def main():
    options = arguments(__doc__, ('--runs', {'default': 7}), ('--old', {'default': None, 'metavar': 'DIR'}),
                        ('--number', {'type': int, 'default': 4000, 'help': 'processes one after the other (4000)'}),
                        ('--quick', {'action': 'store_true', 'default': False}),
                        ('names', {'nargs': '*', 'metavar': 'NAME', 'help': 'only these shapes'}))
    builds = ([Build(options.old)] if options.old else []) + [options.build]
    names = (['old'] if options.old else []) + ['msrec']
    found = recorders(builds)
    if not options.quick:
        machine.touch_memory()
    columns = ''.join(f' {n}: wall | CPU | MiB at most | at the end |' for n in names)
    print(f'| shape | processes | native, ms: wall | CPU |{columns}\n|---|--:|--:|--:|' + '--:|' * (4 * len(names)))
    with Scratch() as folder:
        for name, (title, shell, script, usual, quick) in SHAPES.items():
            if (options.names and name not in options.names) or not have(shell):
                continue
            n = quick if options.quick else usual or options.number
            workload = Workload(title, [shutil.which(shell), '-c', script(n)])
            print(row(found, workload, n, 1 if options.quick else options.runs, os.path.join(folder, 'work')),
                  flush=True)


if __name__ == '__main__':
    main()
