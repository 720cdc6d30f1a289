#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two builds side by side: what recording costs, and how fast the default replay is.

  compare.py --old BUILD --build BUILD [--runs N] [--scale S] [--events N] [--heaptrack] [PROGRAM...]

Each program runs natively, under the old and under the new msrec, in turns; then each msreplay replays its own
recording, names kept from the replay before, and with --heaptrack heaptrack_print does the same for a recording of
heaptrack. With --events both replay a trace of that many calls like cc1plus's, each made by its own build. Prints
Markdown: medians of wall time, with the range of the ratios of paired runs.
"""

import glob
import math
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
import machine                                            # noqa: E402
import workloads                                          # noqa: E402
from harness import Build, Scratch, arguments             # noqa: E402


def wall(command, **more):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    return time.monotonic() - begin


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def mean(rows):
    return math.exp(statistics.mean(math.log(statistics.median(row)) for row in rows))


def record(builds, made, folder, runs):
    """Rows of the table of recording; the traces stay in `folder`."""
    columns = [[], [], []]
    for work in made:
        times = [[], [], []]
        for _ in range(runs):
            with open(work.stdin, "rb") as stdin:
                more = {"stdin": stdin, "env": work.environment(), "cwd": work.cwd}
                times[0].append(wall(work.argv, **more))
                for i, build in enumerate(builds):
                    stdin.seek(0)
                    trace = f"{folder}/{work.name}.{i}.zst"
                    times[i + 1].append(wall([build.msrec, "-q", "-f", "-o", trace, *work.argv], **more))
        old, new = ([b / a for a, b in zip(times[0], times[i])] for i in (1, 2))
        both = [b / a for a, b in zip(times[1], times[2])]
        for column, values in zip(columns, (old, new, both)):
            column.append(values)
        print(f"| {work.name} | {statistics.median(times[0]):.2f} | {spread(old)} | {spread(new)} | {spread(both)} |",
              flush=True)
    print("| geometric mean | | **%.2f** | **%.2f** | **%.2f** |" % tuple(mean(column) for column in columns))


def replay(builds, names, folder, runs, heaptrack):
    columns = [[], []]
    for name in names:
        commands = [[build.file("analyze/msreplay"), "-q", "--massif-out-file=/dev/null", f"{folder}/{name}.{i}.zst"]
                    for i, build in enumerate(builds)]
        if heaptrack:
            commands.append(["heaptrack_print", "-f", *glob.glob(f"{folder}/{name}.heaptrack.*")])
        caches = [f"{folder}/cache.{i}" for i in range(len(commands))]
        for command, cache in zip(commands, caches):
            wall(command, env=dict(os.environ, MSREC_CACHE=cache))
        times = [[wall(command, env=dict(os.environ, MSREC_CACHE=cache)) for command, cache in zip(commands, caches)]
                 for _ in range(3 * runs)]
        speed = [row[0] / row[1] for row in times]
        columns[0].append(speed)
        theirs = ""
        if heaptrack:
            columns[1].append([row[2] / row[1] for row in times])
            theirs = spread(columns[1][-1])
        print(f"| {name} | {statistics.median(row[0] for row in times):.4f} | "
              f"{statistics.median(row[1] for row in times):.4f} | {spread(speed)} | {theirs} |", flush=True)
    theirs = "**%.1f**" % mean(columns[1]) if heaptrack else ""
    print("| geometric mean | | | **%.2f** | %s |" % (mean(columns[0]), theirs))


def many(builds, model, folder, events):
    for i, build in enumerate(builds):
        generate = next(build.file(name) for name in ("tests/tools/generate", "tests/generate") if build.has(name))
        trace = f"{folder}/many.{i}.zst"
        subprocess.run([generate, "-n", str(events), "-x", "1000", f"{folder}/{model}.{i}.zst", trace], check=True,
                       stdout=subprocess.DEVNULL)
        for options in ([], ["--time-unit=B"], ["--memusage"]):
            command = [build.file("analyze/msreplay"), "-q", "--massif-out-file=/dev/null", *options, trace]
            if options == ["--memusage"]:
                command.remove("--massif-out-file=/dev/null")
            spent = statistics.median(wall(command) for _ in range(3))
            print(f"| {('old', 'new')[i]} | {' '.join(options) or 'default'} | {os.path.getsize(trace) / 1e6:.0f} | "
                  f"{spent:.2f} | {events / spent / 1e6:.0f} |", flush=True)
        os.unlink(trace)


def main():
    options = arguments(__doc__, ("--old", {"required": True, "type": Build}), ("--runs", {"type": int, "default": 3}),
                        ("--scale", {"type": int, "default": 10}), ("--events", {"type": int, "default": 0}),
                        ("--heaptrack", {"action": "store_true"}), ("programs", {"nargs": "*"}))
    builds = [options.old, options.build]
    with Scratch() as folder:
        machine.touch_memory()
        made = workloads.make(folder, options.scale, options.programs)
        print("| recorded | native, s | old | new | new : old |\n|---|--:|--:|--:|--:|")
        record(builds, made, folder, options.runs)
        if options.heaptrack:
            for work in made:
                with open(work.stdin, "rb") as stdin:
                    subprocess.run(["heaptrack", "-o", f"{folder}/{work.name}.heaptrack", *work.argv], stdin=stdin,
                                   env=work.environment(), cwd=work.cwd, check=True, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        print("\n| replayed | old, s | new, s | times faster | than heaptrack_print |\n|---|--:|--:|--:|--:|")
        replay(builds, [work.name for work in made], folder, options.runs, options.heaptrack)
        if options.events:
            print(f"\n{options.events:,} calls\n\n| build | question | MB | s | M calls/s |\n|---|---|--:|--:|--:|")
            many(builds, "cc1plus" if any(w.name == "cc1plus" for w in made) else made[0].name, folder, options.events)


if __name__ == "__main__":
    main()
