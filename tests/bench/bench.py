#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs, beside its peers: real programs and bare malloc/free loops, one command.

Every round runs each workload natively and under each recorder, one after the other, so that what the
machine does meanwhile falls on all of them alike; a ratio is the median of the rounds' ratios to the native
run of the same round. Before that memory is touched (see machine.py). CPU time is that of the whole tree of
processes, recorder included. Prints progress to stderr and writes the tables.
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
import machine                                            # noqa: E402
import workloads                                          # noqa: E402
from harness import Build, Scratch, compiler, have                  # noqa: E402

# (name, program, pairs in thousands of each thread, arguments before and after their number, threads)
LOOPS = [("3 frames", "loops", 2000, [3], [1], 1), ("30 frames", "loops", 2000, [30], [1], 1),
         ("30 frames, 5 innermost changing", "loops", 1000, [30], [1, 8], 1), ("8 threads", "loops", 250, [3], [8], 8),
         ("8 threads that fill and exchange blocks", "sharing", 250, [], [8], 8)]
CAPTURES = [("3 frames, the same", ["same", "3"]), ("30 frames, the same", ["same", "30"]),
            ("30 frames, 5 innermost changing", ["changing", "30"])]
TIMEOUT = 300
LOOK_EVERY = 0.01       # seconds between looks at the memory of processes


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
             Recorder("msrec --dormant", lambda folder, argv: [build.msrec, "-q", "--dormant", "-o",
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


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            direct = [int(word) for word in f.read().split()]
    except OSError:
        return []
    return direct + [grandchild for child in direct for grandchild in children(child)]


def peak_of(pid):
    """A process's name and its resident memory at most so far, in KiB."""
    try:
        with open(f"/proc/{pid}/status") as f:
            fields = dict(line.split(":", 1) for line in f)
        return fields["Name"].strip(), int(fields["VmHWM"].split()[0])
    except (OSError, KeyError):
        return None, 0


def measure_memory(recorder, workload, folder):
    """(KiB of the program, KiB of all other processes) at most."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    name = os.path.basename(workload.argv[0])[:15]
    peaks = {}
    with open(workload.stdin) as stdin:
        process = subprocess.Popen(recorder.command(folder, workload.argv), stdin=stdin, cwd=workload.cwd,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=workload.environment())
        while process.poll() is None:
            for pid in [process.pid] + children(process.pid):
                found, kib = peak_of(pid)
                peaks[pid] = (found or peaks.get(pid, (None,))[0], max(kib, peaks.get(pid, (None, 0))[1]))
            time.sleep(LOOK_EVERY)
    program = [kib for found, kib in peaks.values() if found == name]
    return max(program, default=0), sum(kib for found, kib in peaks.values() if found != name)


def count_events(build, workload, folder):
    """Calls that the workload makes, free(NULL) included."""
    recorder = Recorder("", lambda f, argv: [build.msrec, "-q", "-o", f"{f}/t"] + argv)
    own = os.path.join(folder, "count")
    run(recorder, workload, own)
    return build.stat(os.path.join(own, "t"))["events"]


def spread(values, digits=2):
    """Median and quartiles, as text."""
    if not values:
        return "failed"
    if len(values) < 3:
        return f"{statistics.median(values):.{digits}f}"
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


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
        cells = [spread(ratios(samples, name, what)) for name in names]
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
            cells.append(spread(more))
        lines.append(f"| {workload.name} | {statistics.median(native):.1f} | " + " | ".join(cells) + " |")
    return lines


def memory_table(rows, names):
    lines = ["| workload | native, MiB | " + " | ".join(names) + " |", "|---|--:|" + "--:|" * len(names)]
    for workload, peaks in rows:
        native = peaks["native"][0]
        cells = [f"{(peaks[n][0] - native) / 1024:+.0f} / {peaks[n][1] / 1024:.0f}" for n in names]
        lines.append(f"| {workload.name} | {native / 1024:.0f} | " + " | ".join(cells) + " |")
    return lines


def startup_table(samples, names):
    native = statistics.median(s.wall for s in samples["native"] if s) * 1000
    cells = [spread([(a.wall - b.wall) * 1000 for a, b in zip(samples[n], samples["native"]) if a and b])
             for n in names]
    return ["| native, ms | " + " | ".join(names) + " |", "|--:|" + "--:|" * len(names),
            f"| {native:.1f} | " + " | ".join(cells) + " |"]


def instructions(command):
    """That a command executes, as callgrind counts them."""
    with Scratch() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"] + command,
                              capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def capture_table(build, runs):
    """The unwinder alone, by time and by instructions."""
    program = build.file("tests/bench/capture")
    lines = ["| stack | ns | instructions |", "|---|--:|--:|"]
    for name, arguments in CAPTURES:
        times = [float(subprocess.run([program] + arguments + ["1000000"], capture_output=True, text=True,
                                      check=True).stdout.split("=")[1]) for _ in range(runs)]
        few, many = (instructions([program] + arguments + [str(n)]) for n in (10000, 20000))
        lines.append(f"| {name} | {spread(times)} | {(many - few) / 10000:.0f} |")
    return lines


def loop_time(sample):
    """What the loop printed; some recorders print, too."""
    return float(re.search(rb"pair=([\d.]+)", sample.out).group(1))


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return ((done.stdout + done.stderr).strip().splitlines() or ["?"])[0]


def describe(build, args):
    versions = [first_line([build.msrec, "--version"])]
    versions += [first_line([tool, "--version"]) for tool in ("heaptrack", "memusage") if have(tool)]
    return [f"- {datetime.date.today().isoformat()}, {os.cpu_count()} cores, {machine.model()}, "
            f"Linux {platform.release()}, {' '.join(platform.libc_ver())}",
            f"- {'; '.join(versions)}",
            f"- load when it began: {os.getloadavg()[0]:.1f}; rounds: {args.runs}",
            f"- command: `tests/bench/bench.py {shlex.join(args.shown)}`"]


def document(build, args, found, programs, loops, memory, startup):
    others = [r.name for r in found if r.name != "native"]
    writers = [r for r in found if r.files]
    text = ["# Benchmarks", "", "Medians, quartiles in brackets; made by one command, see below.", ""]
    text += describe(build, args)
    text += ["", "## Wall time, as a multiple of native", ""] + ratio_table(programs, others, "wall")
    text += ["", "## CPU time of all processes, as a multiple of native", ""] + ratio_table(programs, others, "cpu")
    text += ["", "## Bytes written for a call", ""] + size_table(programs, writers)
    text += ["", "## Bare malloc and free: nanoseconds more for a call", ""] + loop_table(loops, others)
    text += ["", "As a multiple of native, in wall time:", ""] + ratio_table(loops, others, "wall")[:-1]
    text += ["", "## The unwinder alone", "", "Of one capture, without the call that it is for.", ""]
    text += capture_table(build, args.runs)
    text += ["", "## Start and end: `true --version`, milliseconds more", ""] + startup_table(startup, others)
    text += ["", "## Memory at most", "", "MiB that the program has more / MiB of the recorder's own processes.", ""]
    text += memory_table(memory, others)
    text += ["", "*count only* is a preload that counts and keeps a table of live blocks behind one lock, without any",
             "stack; *heaptrack* interprets while it records, *heaptrack -r* later; *memusage* takes no stacks.", ""]
    return "\n".join(text)


def compile_loop(name, folder):
    program = os.path.join(folder, name)
    subprocess.run([*compiler(), "-O1", "-g", "-D_GNU_SOURCE", "-pthread", "-fno-builtin",
                    os.path.join(HERE, name + ".c"), "-o", program], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=9, metavar="N", help="rounds (9)")
    parser.add_argument("--quick", action="store_true", help="one round of small work: does it run at all")
    parser.add_argument("--only", action="append", metavar="RECORDER", help="only native and this one")
    parser.add_argument("--output", default="/dev/stdout", metavar="FILE")
    parser.add_argument("names", nargs="*", help="only these programs")
    args = parser.parse_args()
    args.runs = 1 if args.quick else args.runs
    args.shown = ["--quick"] if args.quick else ["--runs", str(args.runs)]
    args.shown += [f"--only={name}" for name in args.only or []] + ["--build", "BUILD"] + args.names
    build = Build(args.build)
    if not args.quick:
        machine.touch_memory()
    found = [r for r in recorders(build) if not args.only or r.name in args.only + ["native"]]
    programs, loops = [], []
    with Scratch() as folder:
        for workload in workloads.make(folder, 1 if args.quick else 10, args.names):
            events = count_events(build, workload, folder)
            programs.append((workload, events, measure(found, workload, args.runs, folder)))
        for name, source, thousands, before, after, threads in LOOPS:
            pairs = thousands * (100 if args.quick else 1000)
            workload = workloads.Workload(name,
                                          [compile_loop(source, folder)] + [str(n) for n in before + [pairs] + after])
            loops.append((workload, 2 * pairs * threads, measure(found, workload, args.runs, folder)))
        true = workloads.Workload("true", [shutil.which("true"), "--version"])    # heaptrack wants a path
        startup = measure(found, true, 1 if args.quick else 5 * args.runs, folder)
        memory = [(workload, {r.name: measure_memory(r, workload, os.path.join(folder, "work")) for r in found})
                  for workload, _, _ in programs]
    with open(args.output, "w", encoding="utf-8") as f:
        f.write(document(build, args, found, programs, loops, memory, startup))
    print(args.output, file=sys.stderr)


if __name__ == "__main__":
    main()
