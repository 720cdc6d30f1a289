#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of days: a billion calls with the statistics of a real program, and what asking them costs; and how much
smaller traces of real programs get when they are compressed again.

  days.py --build DIR [--events N] [--folder DIR] [--output FILE] [PROGRAM...]

The long trace is made by tests/tools/generate from a recording of cc1plus, its time stretched to two days. Each
question is one run: CPU and wall seconds, millions of calls a second of wall time, MiB of resident memory at most.
Recompression is msconvert --level=19 of what msrec writes by default, and by its level 1; its time to read is the ratio
of CPU times of msreplay, paired. Prints Markdown.
"""

import argparse
import datetime
import os
import platform
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
import machine                                            # noqa: E402
import workloads                                          # noqa: E402
from harness import Build, Scratch                        # noqa: E402

MODEL = "cc1plus"
DAYS_S = 2 * 86400
MILLION = 1000000
PROBE = 10 * MILLION


class Run:
    """One process: what it took."""

    def __init__(self, command, **more):
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
        err = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {process.returncode}: {err}")
        self.wall = time.monotonic() - begin
        self.cpu, self.mib = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def record(build, workload, trace, *options):
    with open(workload.stdin) as stdin:
        Run([build.msrec, "-q", "-f", *options, "-o", trace] + workload.argv, stdin=stdin, cwd=workload.cwd,
            env=workload.environment())


def generate(build, model, trace, events):
    """The long trace, whose calls are `events` in two days."""
    probe = trace + ".probe"
    command = [build.file("tests/tools/generate"), "-n", str(min(events, PROBE))]
    done = subprocess.run(command + [model, probe], check=True, capture_output=True, text=True)
    os.unlink(probe)
    seconds = max(float(done.stdout.split()[-2]), 0.1) * events / min(events, PROBE)
    return Run([build.file("tests/tools/generate"), "-n", str(events), "-x", f"{DAYS_S / seconds:.4f}", model, trace])


def questions(build, trace, folder):
    """(what is asked, command)"""
    msreplay, out = [build.file("analyze/msreplay"), "-q"], f"--massif-out-file={folder}/out"
    msconvert = [build.file("analyze/msconvert"), "-q"]
    ms = DAYS_S * 1000
    yield "massif.out, default settings", msreplay + [out, trace]
    yield "massif.out, `--time-unit=B`", msreplay + ["--time-unit=B", out, trace]
    yield "`--exact-peak`", msreplay + ["--exact-peak", out, trace]
    yield "`--memusage`", msreplay + ["--memusage", trace]
    for part in (1, 50, 99):
        at = f"--at={ms * part // 100}"
        yield f"`--at=TIME`, after {part} % of the time", msreplay + [at, out, trace]
        yield f"`--only-moments --at=TIME`, after {part} %", msreplay + ["--only-moments", at, out, trace]
        yield (f"`msconvert --to=folded --at=TIME`, after {part} %",
               msconvert + ["--to=folded", at, "-o", f"{folder}/{part}.folded", trace])
    for name in ("pprof", "callgrind"):
        yield f"`msconvert --to={name}`", msconvert + [f"--to={name}", "-o", f"{folder}/{name}", trace]
    yield ("`msconvert --to=trace --from --until`, a minute after one day",
           msconvert + ["--to=trace", f"--from={ms // 2}", f"--until={ms // 2 + 60000}", "-o", f"{folder}/cut", trace])


def long_table(build, folder, events):
    trace, model = os.path.join(folder, "long.zst"), os.path.join(folder, "model.zst")
    record(build, next(iter(workloads.make(folder, 10, [MODEL]))), model)
    made = generate(build, model, trace, events)
    size = os.path.getsize(trace)
    lines = [f"{events:,} calls in {size / 1e6:.0f} MB ({size / events:.3f} bytes a call), made in {made.wall:.0f} s.",
             "", "| question | CPU, s | wall, s | M calls/s | MiB |", "|---|--:|--:|--:|--:|"]
    for what, command in questions(build, trace, folder):
        run = Run(command)
        print(f"{what}: {run.wall:.1f} s", file=sys.stderr, flush=True)
        lines.append(f"| {what} | {run.cpu:.2f} | {run.wall:.2f} | {events / run.wall / MILLION:.0f} | {run.mib:.0f} |")
    os.unlink(trace)
    return lines


def reading_ratio(build, trace, small, runs=5):
    command = [build.file("analyze/msreplay"), "-q", "--time-unit=B", "--massif-out-file=/dev/null"]
    return statistics.median(Run(command + [small]).cpu / Run(command + [trace]).cpu for _ in range(runs))


def small_table(build, folder, names):
    lines = ["| program | calls | bytes a call | at level 1 | recompressed | without identity | time to read |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    own = os.path.join(folder, "programs")
    os.mkdir(own)
    for workload in workloads.make(own, 10, names):
        trace, small = os.path.join(folder, "t.zst"), os.path.join(folder, "small.zst")
        record(build, workload, trace, "--level=1")
        fast = os.path.getsize(trace) / build.stat(trace)["events"]
        record(build, workload, trace)
        events = build.stat(trace)["events"]
        sizes = [os.path.getsize(trace) / events]
        for more in (["--drop=identity"], []):
            Run([build.file("analyze/msconvert"), "-q", "--to=trace", "--level=19", *more, "-o", small, trace])
            sizes.append(os.path.getsize(small) / events)
        print(f"{workload.name}: {sizes}", file=sys.stderr, flush=True)
        lines.append(f"| {workload.name} | {events:,} | {sizes[0]:.3f} | {fast:.3f} | {sizes[2]:.3f} "
                     f"({sizes[2] / sizes[0]:.2f}, {sizes[2] / fast:.2f}) | {sizes[1]:.3f} | "
                     f"{reading_ratio(build, trace, small):.2f} |")
    return lines


def options_of(doc, runs=None):
    """Those of a script that records programs, `runs` times, and makes a long trace, in --folder."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--build", required=True)
    if runs:
        parser.add_argument("--scale", type=int, default=10, help="of the programs' inputs (10)")
        parser.add_argument("--runs", type=int, default=runs, help=f"of each command ({runs})")
    parser.add_argument("--events", type=float, default=1e9, help="of the long trace; 0: none is made (1e9)")
    parser.add_argument("--folder", help="where the long trace is made: it takes a GB")
    parser.add_argument("--output", default="/dev/stdout")
    parser.add_argument("names", nargs="*", help="only these programs")
    options = parser.parse_args()
    if options.folder:
        os.environ["TMPDIR"] = options.folder
    return options


def main():
    args = options_of(__doc__)
    build = Build(args.build)
    machine.touch_memory()
    text = ["# Traces of days", "", f"- {datetime.date.today().isoformat()}, {os.cpu_count()} cores, "
            f"{machine.model()}, Linux {platform.release()}",
            f"- load when it began: {os.getloadavg()[0]:.1f}", ""]
    with Scratch() as folder:
        if args.events:
            text += ["## A billion calls", ""] + long_table(build, folder, int(args.events)) + [""]
        text += ["## Compressed again", ""] + small_table(build, folder, args.names) + [""]
    with open(args.output, "w", encoding="utf-8") as f:
        f.write("\n".join(text))


if __name__ == "__main__":
    main()
