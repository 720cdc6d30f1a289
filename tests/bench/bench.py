#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs, beside its peers: real programs and bare malloc/free loops, one command.

Every round runs each workload natively and under each recorder, one after the other, so that what the
machine does meanwhile falls on all of them alike; a ratio is the median of the rounds' ratios to the native
run of the same round. CPU time is that of the whole tree of processes, recorder included. Prints
progress to stderr and writes the tables.
"""

import argparse
import datetime
import glob
import os
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
import workloads                                          # noqa: E402
from harness import Build, Scratch, have                  # noqa: E402

# (name, depth, pairs in thousands, threads)
LOOPS = [("loop, 3 frames", 3, 2000, 1), ("loop, 30 frames", 30, 2000, 1), ("loop, 8 threads", 3, 250, 8)]
TIMEOUT = 300


class Recorder:
    """A way to run a program; `command` gets the folder for its files and the program."""

    def __init__(self, name, command, files=None):
        self.name, self.command, self.files = name, command, files

    def bytes(self, folder):
        return sum(os.path.getsize(p) for p in glob.glob(os.path.join(folder, self.files))) if self.files else None


def recorders(build):
    def preloaded(folder, argv):
        return ["/usr/bin/env", f"LD_PRELOAD={build.exact}", f"EXACT_OUT={folder}/account"] + argv
    found = [Recorder("native", lambda _, argv: argv),
             Recorder("msrec", lambda folder, argv: [build.msrec, "-q", "-o", f"{folder}/t.%p"] + argv, "t.*"),
             Recorder("msrec --identity=no", lambda folder, argv: [build.msrec, "-q", "--identity=no", "-o",
                                                                   f"{folder}/t.%p"] + argv, "t.*"),
             Recorder("msrec --sample=512k", lambda folder, argv: [build.msrec, "-q", "--sample=512k", "-o",
                                                                   f"{folder}/t.%p"] + argv, "t.*")]
    if have("heaptrack"):
        found += [Recorder("heaptrack -r", lambda f, argv: ["heaptrack", "-r", "-o", f"{f}/h"] + argv, "h*"),
                  Recorder("heaptrack", lambda f, argv: ["heaptrack", "-o", f"{f}/h"] + argv, "h*")]
    if have("memusage"):
        found.append(Recorder("memusage", lambda _, argv: ["memusage"] + argv))
    found.append(Recorder("count only", preloaded))
    return found


class Sample:
    def __init__(self, wall, cpu, out, size):
        self.wall, self.cpu, self.out, self.bytes = wall, cpu, out, size


def run(recorder, workload, folder):
    """One run: wall and CPU seconds, output, and what it wrote; None if it failed."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    out_path = os.path.join(folder, "stdout")
    with open(workload.stdin) as stdin, open(out_path, "wb") as out, open(os.path.join(folder, "stderr"), "wb") as err:
        begin = time.monotonic()
        process = subprocess.Popen(recorder.command(folder, workload.argv), stdin=stdin, stdout=out, stderr=err,
                                   cwd=workload.cwd, env=workload.environment(), start_new_session=True)
        status, usage = wait_with_limit(process)
        wall = time.monotonic() - begin
    if status != 0:
        return None
    with open(out_path, "rb") as f:
        output = f.read()
    return Sample(wall, usage.ru_utime + usage.ru_stime, output, recorder.bytes(folder))


def wait_with_limit(process):
    """Like wait4(), but ends the run's own process group after TIMEOUT."""
    previous = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
    signal.alarm(TIMEOUT)
    try:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return status, usage
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def measure(all_recorders, workload, runs, folder):
    """Samples by recorder name, one a round; None where a run failed."""
    samples = {r.name: [] for r in all_recorders}
    for r in all_recorders[:2]:                     # the caches of the file system
        run(r, workload, os.path.join(folder, "work"))
    for i in range(runs):
        # Another order each round: none is always the one behind the noisiest.
        for k in range(len(all_recorders)):
            r = all_recorders[(i + k) % len(all_recorders)]
            samples[r.name].append(run(r, workload, os.path.join(folder, "work")))
        print(f"{workload.name}: round {i + 1} of {runs}", file=sys.stderr, flush=True)
    return samples


def count_events(build, workload, folder):
    """Calls that the workload makes, free(NULL) included."""
    recorder = Recorder("", lambda f, argv: [build.msrec, "-q", "-o", f"{f}/t"] + argv)
    own = os.path.join(folder, "count")
    run(recorder, workload, own)
    return build.stat(os.path.join(own, "t"))["events"]


def spread(values):
    """Median and quartiles, as text."""
    if len(values) < 3:
        return f"{statistics.median(values):.2f}"
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{statistics.median(values):.2f} ({low:.2f}–{high:.2f})"


def ratios(samples, name, what):
    pairs = zip(samples[name], samples["native"])
    return [getattr(a, what) / getattr(b, what) for a, b in pairs if a and b and getattr(b, what) > 0]


def mean_row(title, columns):
    """The geometric mean of each column's medians; a column that lacks one has none."""
    means = [f"**{statistics.geometric_mean(c):.2f}**" if c and all(c) else "" for c in columns]
    return f"| {title} | " + " | ".join(means) + " |"


def ratio_table(results, names, what):
    lines = ["| workload | calls | native, s | " + " | ".join(names) + " |",
             "|---|--:|--:|" + "--:|" * len(names)]
    for workload, events, samples in results:
        native = [getattr(s, what) for s in samples["native"] if s]
        cells = [spread(r) if (r := ratios(samples, name, what)) else "failed" for name in names]
        lines.append(f"| {workload.name} | {events:,} | {statistics.median(native):.2f} | " + " | ".join(cells) + " |")
    medians = [[statistics.median(r) if (r := ratios(samples, name, what)) else None for _, _, samples in results]
               for name in names]
    return lines + [mean_row("geometric mean | |", medians)]


def size_table(results, writers):
    lines = ["| workload | " + " | ".join(r.name for r in writers) + " |", "|---|" + "--:|" * len(writers)]
    columns = [[] for _ in writers]
    for workload, events, samples in results:
        for r, column in zip(writers, columns):
            sizes = [s.bytes for s in samples[r.name] if s]
            column.append(statistics.median(sizes) / events if sizes else None)
        cells = [f"{c[-1]:.3f}" if c[-1] is not None else "failed" for c in columns]
        lines.append(f"| {workload.name} | " + " | ".join(cells) + " |")
    return lines + [mean_row("geometric mean", columns)]


def loop_table(results, names):
    """Nanoseconds that a call costs more than natively: a pair is two calls."""
    lines = ["| loop | native, ns/call | " + " | ".join(names) + " |", "|---|--:|" + "--:|" * len(names)]
    for workload, _, samples in results:
        native = [loop_time(s) / 2 for s in samples["native"] if s]
        cells = []
        for name in names:
            more = [(loop_time(a) - loop_time(b)) / 2 for a, b in zip(samples[name], samples["native"]) if a and b]
            cells.append(spread(more) if more else "failed")
        lines.append(f"| {workload.name} | {statistics.median(native):.1f} | " + " | ".join(cells) + " |")
    return lines


def loop_time(sample):
    """What the loop printed; some recorders print, too."""
    return float(re.search(rb"pair=([\d.]+)", sample.out).group(1))


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return ((done.stdout + done.stderr).strip().splitlines() or ["?"])[0]


def describe(build, args):
    with open("/proc/cpuinfo") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    versions = [first_line([build.msrec, "--version"])]
    versions += [first_line([tool, "--version"]) for tool in ("heaptrack", "memusage") if have(tool)]
    return [f"- {datetime.date.today().isoformat()}, {os.cpu_count()} cores, {models[0] if models else 'unknown CPU'}, "
            f"Linux {platform.release()}, {' '.join(platform.libc_ver())}",
            f"- {'; '.join(versions)}",
            f"- load when it began: {os.getloadavg()[0]:.1f}; rounds: {args.runs}",
            f"- command: `tests/bench/bench.py {shlex.join(args.shown)}`"]


def document(build, args, found, programs, loops):
    others = [r.name for r in found if r.name != "native"]
    writers = [r for r in found if r.files]
    text = ["# Benchmarks", "", "Medians, quartiles in brackets; made by one command, see below.", ""]
    text += describe(build, args)
    text += ["", "## Wall time, as a multiple of native", ""] + ratio_table(programs, others, "wall")
    text += ["", "## CPU time of all processes, as a multiple of native", ""] + ratio_table(programs, others, "cpu")
    text += ["", "## Bytes written for a call", ""] + size_table(programs, writers)
    text += ["", "## Bare malloc and free: nanoseconds more for a call", ""] + loop_table(loops, others)
    text += ["", "*count only* is a preload that counts and keeps a table of live blocks behind one lock, without any",
             "stack; *heaptrack* interprets while it records, *heaptrack -r* later; *memusage* takes no stacks.", ""]
    return "\n".join(text)


def make_loops(folder):
    program = os.path.join(folder, "loops")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-g", "-D_GNU_SOURCE", "-pthread", "-fno-builtin",
                    os.path.join(HERE, "loops.c"), "-o", program], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=9, metavar="N", help="rounds (9)")
    parser.add_argument("--quick", action="store_true", help="one round of small work: does it run at all")
    parser.add_argument("--only", action="append", metavar="RECORDER", help="only native and this one")
    parser.add_argument("--output", default=os.path.join(HERE, "../../docs/benchmarks.md"), metavar="FILE")
    parser.add_argument("names", nargs="*", help="only these programs")
    args = parser.parse_args()
    args.runs = 1 if args.quick else args.runs
    args.shown = ["--quick"] if args.quick else ["--runs", str(args.runs)]
    args.shown += [f"--only={name}" for name in args.only or []] + ["--build", "BUILD"] + args.names
    build = Build(args.build)
    found = [r for r in recorders(build) if not args.only or r.name in args.only + ["native"]]
    programs, loops = [], []
    with Scratch() as folder:
        for workload in workloads.make(folder, 1 if args.quick else 10, args.names):
            events = count_events(build, workload, folder)
            programs.append((workload, events, measure(found, workload, args.runs, folder)))
        program = make_loops(folder)
        for name, depth, thousands, threads in LOOPS:
            pairs = thousands * (100 if args.quick else 1000)
            workload = workloads.Workload(name, [program, str(depth), str(pairs), str(threads)])
            loops.append((workload, 2 * pairs * threads, measure(found, workload, args.runs, folder)))
    with open(args.output, "w", encoding="utf-8") as f:
        f.write(document(build, args, found, programs, loops))
    print(args.output, file=sys.stderr)


if __name__ == "__main__":
    main()
