#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near `msreport churn` is to the floor: a program that does only what any lifetime needs (lifetimes_floor.c).

  lifetimes.py --build DIR [--scale N] [--runs N] [PROGRAM...]

Both read each trace in turns with one thread that decodes; figures are medians of CPU time with their spread. Both must
count the same frees. churn also names its rows, which counts where --scale is small. Prints a Markdown table.
"""

import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
import workloads                                          # noqa: E402
from harness import Scratch, arguments                    # noqa: E402
from measure import in_turns, ratios                      # noqa: E402

MILLION = 1000000


def frees_of(churn, floor, trace):
    """Of both; a trace that only one of them understands is no measure of the other."""
    done = subprocess.run([*churn, "--format=json", "--by=stack", "--all-frames", "--top=100000000", trace], check=True,
                          capture_output=True, text=True)
    freed = sum(row["freed"] for row in json.loads(done.stdout)["sections"]["churn"]["busiest"])
    said = subprocess.run([floor, trace], check=True, capture_output=True, text=True).stdout
    if freed != int(said.split()[0]):
        sys.exit(f"{trace}: churn has {freed} frees, the floor {said}")


def main():
    options = arguments(__doc__, ("--scale", {"type": float, "default": 10}), ("--runs", {"type": int, "default": 7}),
                        ("programs", {"nargs": "*", "metavar": "PROGRAM"}))
    build, floor = options.build, options.build.file("tests/bench/lifetimes_floor")
    churn = [build.file("analyze/msreport"), "-q", "-j1", "churn"]
    print("| program | calls | churn, M calls/s | floor, M calls/s | churn / floor, CPU time |\n|---|--:|--:|--:|--:|")
    with Scratch() as folder:
        for workload in workloads.make(folder, options.scale, options.programs or None):
            trace = os.path.join(folder, workload.name + ".zst")
            with open(workload.stdin, encoding="utf-8") as stdin:
                subprocess.run([build.msrec, "-q", "-o", trace, *workload.argv], stdin=stdin, check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=workload.cwd,
                               env=workload.environment())
            frees_of(churn, floor, trace)
            rows, calls = in_turns([[*churn, trace], [floor, trace]], options.runs), build.stat(trace)["events"]
            speeds = [ratios([calls / seconds / MILLION for seconds in column], 0) for column in zip(*rows)]
            print(f"| {workload.name} | {calls:,} | {speeds[0]} | {speeds[1]} | "
                  f"{ratios([ours / least for ours, least in rows])} |", flush=True)


if __name__ == "__main__":
    main()
