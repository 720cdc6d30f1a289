#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the exact engine costs: msrec --engine=valgrind against valgrind --tool=massif, CPU time in paired runs.

  engine.py --build DIR [--runs N] [--scale N] [--only NAME,...]

All processes of a run count, msrec's own work included. Prints a Markdown table: per program, as it is and with
--stacks=yes, the median and the range of the ratios, and what Massif needs.
"""

import os
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import workloads  # noqa: E402
from harness import Scratch, arguments  # noqa: E402
from measure import cpu_seconds, ratios  # noqa: E402


def seconds(command, workload):
    with open(workload.stdin, "rb") as stdin:
        return cpu_seconds(command, stdin=stdin, env=workload.environment(), cwd=workload.cwd, check=False)


def measure(build, workload, trace, option, runs):
    """(ratios, Massif's seconds)"""
    ours = [build.msrec, "-q", "-f", "--engine=valgrind", option, "-o", trace, *workload.argv]
    theirs = ["valgrind", "-q", "--tool=massif", option, "--massif-out-file=/dev/null", *workload.argv]
    pairs = [(seconds(theirs, workload), seconds(ours, workload)) for _ in range(runs)]
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
    options = arguments(
        __doc__, ("--runs", {"default": 5}), ("--scale", {"type": int, "default": 1}),
        ("--only", {"type": lambda text: text.split(","), "help": "these programs alone, without the loops"}))
    build = options.build
    print("| program | Massif, CPU seconds | msrec : Massif (range) | with --stacks=yes |")
    print("|---|--:|--:|--:|")
    with Scratch() as folder:
        trace = os.path.join(folder, "trace")
        chosen = workloads.make(folder, options.scale, options.only)
        for workload in chosen if options.only else [*loops(folder), *chosen]:
            row = []
            for option in ("--stacks=no", "--stacks=yes"):
                row.append(measure(build, workload, trace, option, options.runs))
            print("| %s | %.2f | %s | %s |" % (workload.name, row[0][1], ratios(row[0][0]), ratios(row[1][0])),
                  flush=True)


if __name__ == "__main__":
    main()
