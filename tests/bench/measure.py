# SPDX-License-Identifier: MIT
"""What the benchmarks share: CPU time of a command and all its children, and ratios with their spread."""

import resource
import statistics
import subprocess


def cpu_seconds(command, **more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, **{"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turns(commands, runs, **more):
    """CPU seconds of each command, as rows of runs; one run of each comes before, and is not counted."""
    rows = [[cpu_seconds(command, **more) for command in commands] for _ in range(runs + 1)]
    return rows[1:]


def ratios(values, digits=2):
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"
