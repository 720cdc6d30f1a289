#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What msreport's answers cost: over recordings of real programs, next to heaptrack_print over heaptrack's recordings
of the same programs; and over a billion calls.

  report.py --build DIR [--scale N] [--runs N] [--events N] [--folder DIR] [--output FILE] [PROGRAM...]

Seconds are wall time of whole commands, medians of paired runs with the spread, names from the cache of an earlier run.
M calls/s are of `msreport churn`, which looks at each record, with one thread that decodes, by CPU time. The long trace
is made as in days.py. Prints Markdown.
"""

import datetime
import os
import platform
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../tools")]
import machine                                            # noqa: E402
import workloads                                          # noqa: E402
from days import MILLION, Run, generate, options_of, record    # noqa: E402
from harness import Build, Scratch                        # noqa: E402

SECTIONS = ("overview", "peak", "leaks", "growth", "steps", "churn", "savings", "sizes", "spans", "threads",
            "functions", "errors")
# All blocks pass, few do; names of all functions; threads; lifetimes, for which each record is read twice.
FILTERS = ("--size=1-", "--size=64k-", "--function=*", "--thread=*", "--lifetime=-100calls", "--lifetime=10s-")


def shown(seconds):
    middle = statistics.median(seconds)
    return f"{middle:.3f} ({min(seconds):.3f}–{max(seconds):.3f})"


def heaptrack(workload, folder):
    """heaptrack's recording of the program."""
    path = os.path.join(folder, "heaptrack-" + workload.name)
    with open(workload.stdin) as stdin:
        subprocess.run(["heaptrack", "-o", path, *workload.argv], stdin=stdin, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=workload.cwd, env=workload.environment(), check=True)
    return next(path + suffix for suffix in (".zst", ".gz") if os.path.exists(path + suffix))


def programs_table(build, folder, options):
    lines = ["| program | M calls | `msreport`, s | heaptrack_print, s | times | `churn`, M calls/s | MiB |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    msreport, ratios = [build.file("analyze/msreport"), "-q"], []
    for workload in workloads.make(folder, options.scale, options.names):
        trace = os.path.join(folder, workload.name + ".zst")
        record(build, workload, trace)
        theirs_file = heaptrack(workload, folder)
        Run(msreport + [trace])     # names come from the cache from now on
        ours, theirs = [], []
        for _ in range(options.runs):
            ours.append(Run(msreport + [trace]).wall)
            theirs.append(Run(["heaptrack_print", "-f", theirs_file]).wall)
        churn = min((Run(msreport + ["-j1", "churn", trace]) for _ in range(options.runs)), key=lambda run: run.cpu)
        events, ratio = build.stat(trace)["events"], statistics.median(t / o for t, o in zip(theirs, ours))
        ratios.append(ratio)
        lines.append(f"| {workload.name} | {events / MILLION:.2f} | {shown(ours)} | {shown(theirs)} | {ratio:.1f} | "
                     f"{events / churn.cpu / MILLION:.0f} | {churn.mib:.0f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines + [f"| geometric mean | | | | {statistics.geometric_mean(ratios):.1f} | | |"]


def long_table(build, folder, events):
    trace, model = os.path.join(folder, "long.zst"), os.path.join(folder, "model.zst")
    own = os.path.join(folder, "model")
    os.mkdir(own)
    record(build, next(iter(workloads.make(own, 10, ["cc1plus"]))), model)
    generate(build, model, trace, events)
    lines = [f"{events:,} calls with the statistics of cc1plus, in {os.path.getsize(trace) / MILLION:.0f} MB.", "",
             "| section | CPU, s | wall, s | M calls/s | MiB |", "|---|--:|--:|--:|--:|"]
    for words in [[section] for section in SECTIONS] + [["peak", option] for option in FILTERS]:
        run = Run([build.file("analyze/msreport"), "-q", *words, trace])
        lines.append(f"| {' '.join(words)} | {run.cpu:.1f} | {run.wall:.1f} | {events / run.wall / MILLION:.0f} | "
                     f"{run.mib:.0f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    os.unlink(trace)
    return lines


def main():
    options = options_of(__doc__, runs=5)
    build = Build(options.build)
    machine.touch_memory()
    text = [f"- {datetime.date.today().isoformat()}, {os.cpu_count()} cores, {machine.model()}, "
            f"Linux {platform.release()}, load when it began: {os.getloadavg()[0]:.1f}", ""]
    with Scratch() as folder:
        text += programs_table(build, folder, options) + [""]
        if options.events:
            text += long_table(build, folder, int(options.events)) + [""]
    with open(options.output, "w", encoding="utf-8") as f:
        f.write("\n".join(text))


if __name__ == "__main__":
    main()
