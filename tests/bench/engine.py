#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the exact engine costs: msrec --engine=valgrind against valgrind --tool=massif, CPU time in paired runs.

  engine.py --build DIR [--runs N] [--scale N] [--only NAME,...]

All processes of a run count, msrec's own work included. Prints a Markdown table: per program, as it is and with
--stacks=yes, the median and the range of the ratios, and what Massif needs.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import workloads  # noqa: E402
from harness import Build, Scratch  # noqa: E402


def cpu_seconds(command, workload):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(workload.stdin, "rb") as stdin:
        subprocess.run(command, stdin=stdin, env=workload.environment(), cwd=workload.cwd,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(build, workload, trace, option, runs):
    """(ratios, Massif's seconds)"""
    ours = [build.msrec, "-q", "-f", "--engine=valgrind", option, "-o", trace, *workload.argv]
    theirs = ["valgrind", "-q", "--tool=massif", option, "--massif-out-file=/dev/null", *workload.argv]
    pairs = [(cpu_seconds(theirs, workload), cpu_seconds(ours, workload)) for _ in range(runs)]
    return [b / a for a, b in pairs], statistics.median(a for a, _ in pairs)


def loops(folder):
    """Nothing but malloc and free, on a flat and on a deep stack."""
    program = os.path.join(folder, "loops")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loops.c")
    subprocess.run(["cc", "-O1", "-g", "-D_GNU_SOURCE", "-pthread", "-fno-builtin", source, "-o", program], check=True)
    for depth in (3, 60, 150):
        yield workloads.Workload("malloc and free, %d frames" % depth,
                                 [program, str(depth), "100000", "1"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True, help="the Meson build directory")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), help="these programs alone, without the loops")
    arguments = parser.parse_args()
    build = Build(arguments.build)
    print("| program | Massif, CPU seconds | msrec : Massif | range | with --stacks=yes | range |")
    print("|---|--:|--:|--:|--:|--:|")
    with Scratch() as folder:
        trace = os.path.join(folder, "trace")
        chosen = workloads.make(folder, arguments.scale, arguments.only)
        for workload in chosen if arguments.only else [*loops(folder), *chosen]:
            row = []
            for option in ("--stacks=no", "--stacks=yes"):
                ratios, seconds = measure(build, workload, trace, option, arguments.runs)
                row.append((statistics.median(ratios), min(ratios), max(ratios), seconds))
            print("| %s | %.2f | %.2f | %.2f–%.2f | %.2f | %.2f–%.2f |"
                  % (workload.name, row[0][3], *row[0][:3], *row[1][:3]), flush=True)


if __name__ == "__main__":
    main()
