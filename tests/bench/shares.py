#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The shares of recording's CPU time: the program's additional time, and msrec's, on one processor.

  shares.py --build DIR [--runs N] [NAME...]

Processors that share a core slow each other down; so here each run stays on one processor. The kernel's scheduler
counts msrec's own CPU time; all the rest is the program's. Native runs alternate with recorded ones. Prints a Markdown
table of medians and quartiles.
"""

import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../tools'))
import machine                                            # noqa: E402
import workloads                                          # noqa: E402
from bench import spread                                  # noqa: E402
from harness import Scratch, arguments                    # noqa: E402

PROCESSOR = 0


def run(workload, recorder=()):
    """(CPU seconds of the first process, of all others that it waited for)"""
    with open(workload.stdin) as stdin:
        process = subprocess.Popen([*recorder, *workload.argv], stdin=stdin, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=workload.cwd, env=workload.environment(),
                                   preexec_fn=lambda: os.sched_setaffinity(0, {PROCESSOR}))
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        # Until the parent waits for the process, /proc still has its run time.
        with open('/proc/%d/schedstat' % process.pid) as f:
            own = int(f.read().split()[0]) / 1e9
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit('%s ended with %d' % (workload.name, process.returncode))
    return own, usage.ru_utime + usage.ru_stime - own


def count_calls(build, workload, folder):
    trace = os.path.join(folder, 'all.' + workload.name)
    run(workload, [build.msrec, '-q', '-o', trace])
    return build.stat(trace)['events']


def measure(build, workload, runs, folder):
    """A list of (native, program's, msrec's) CPU seconds."""
    recorder = [build.msrec, '-q', '-o', os.path.join(folder, 't.%p')]
    found = []
    run(workload)
    for _ in range(runs):
        native = sum(run(workload))
        own, program = run(workload, recorder)
        found.append((native, program, own))
    return found


def main():
    options = arguments(__doc__, ('--runs', {'default': 9}),
                        ('names', {'nargs': '*', 'metavar': 'NAME', 'help': 'only these programs'}))
    build = options.build
    machine.touch_memory()
    print('| workload | calls | native, s | program | msrec | together | program, ns a call | msrec, ns a call |\n'
          '|---|--:|--:|--:|--:|--:|--:|--:|')
    programs, together = [], []
    with Scratch() as folder:
        for workload in workloads.make(folder, 10, options.names):
            calls = count_calls(build, workload, folder)
            found = measure(build, workload, options.runs, folder)
            program = [p / n for n, p, _ in found]
            own = [m / n for n, _, m in found]
            both = [(p + m) / n for n, p, m in found]
            print('| %s | %s | %.2f | %s | %s | %s | %s | %s |' % (
                workload.name, format(calls, ','), statistics.median(n for n, _, _ in found), spread(program),
                spread(own), spread(both), spread([(p - n) / calls * 1e9 for n, p, _ in found], 0),
                spread([m / calls * 1e9 for _, _, m in found], 0)), flush=True)
            programs.append(statistics.median(program))
            together.append(statistics.median(both))
    print('| geometric mean | | | **%.2f** | | **%.2f** | | |' % (statistics.geometric_mean(programs),
                                                                  statistics.geometric_mean(together)))


if __name__ == '__main__':
    main()
