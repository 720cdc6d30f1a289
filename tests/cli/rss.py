#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples of a program's memory in its trace (msrec --rss), against what the program itself sees, by the decoder that
knows FORMAT.md alone; and what the tools make of them.

  rss.py --build DIR
"""

import csv
import glob
import io
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools"), os.path.join(HERE, "../oracle")]
from decode import Decoder    # noqa: E402
from decode_checks import Problem as Unreadable    # noqa: E402
from harness import Checks, Scratch, arguments, have_heaptrack_print, until    # noqa: E402

MIB = 1 << 20
SLACK = 2 * MIB     # the kernel's counters lag behind by some pages a processor
SHIFT = 10          # of msrec's unit of time
check = Checks()


class Trace:
    """What a trace, finished or not, has of the process's memory."""

    def __init__(self, pattern):
        self.lines, data = [], b""
        for path in glob.glob(pattern):
            with open(path, "rb") as file:
                data = file.read()
        decoder = Decoder(data)
        try:
            for line in decoder.lines():
                self.lines.append(line)
        except Unreadable:
            pass
        self.peak, self.samples = decoder.memory.peak, decoder.memory.samples
        self.resident = [sample[1] << 10 for sample in self.samples]
        self.times = [sample[0] << SHIFT for sample in self.samples]

    def word(self, line, name):
        """The value of NAME=VALUE in the line that begins with a word; 0: there is none."""
        words = [each for each in self.lines if each.startswith(line + " ")][0].split()
        return next((int(word.split("=")[1]) for word in words if word.startswith(name + "=")), 0)


class Program:
    """rss_program under msrec."""

    def __init__(self, build, trace, mode, *options):
        self.trace = trace
        self.process = subprocess.Popen(
            [build.msrec, "-q", "-f", "-o", trace, *options, build.file("tests/cli/rss_program"), mode],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def number(self):
        return int(self.process.stdout.readline()) << 10

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        rest = self.process.communicate()[0].split()
        return int(rest[-1]) << 10 if rest else 0


def is_near(a, b):
    return abs(a - b) < SLACK


def check_steps(build, trace, name, mode="steps", of=None, *options):
    """Each step of the program is seen while it lasts; `of`: the pattern of the process's trace."""
    program = Program(build, trace, mode, *options)
    for step in range(3):
        resident = program.number()
        check(f"{name}: step {step + 1}, {resident} bytes, is sampled",
              until(lambda wanted=resident: any(is_near(seen, wanted)
                                                for seen in Trace(of or trace).resident[-8:])))
        program.go_on()
    most = program.end()
    whole = Trace(of or trace)
    check(f"{name}: {most} bytes at most", is_near(whole.peak, most), whole.peak)
    check(f"{name}: samples are below the peak", max(whole.resident) <= whole.peak, whole.resident)
    check(f"{name}: times ascend, within the trace",
          whole.times == sorted(whole.times) and whole.times[-1] <= whole.word("end", "time"), whole.times)
    details = [sample for sample in whole.samples if len(sample) > 2]
    check(f"{name}: the first sample is detailed, and one a second",
          details and details[0] == whole.samples[0] and 1 <= len(details) < len(whole.samples), whole.samples)
    check(f"{name}: proportional size is known, and not above the resident one",
          all(0 < sample[2] <= sample[1] + (SLACK >> 10) for sample in details), details)
    check(f"{name}: page faults only grow",
          all(a[4] <= b[4] and a[5] <= b[5] for a, b in zip(details, details[1:])) and details[0][4] > 0, details)


def check_once(build, trace):
    most = Program(build, trace, "once").end()
    peak = Trace(trace).peak
    check(f"a program that ends at once: {most} bytes at most", is_near(peak, most), peak)
    subprocess.run([build.msrec, "-q", "-f", "-o", trace, "--trace-children=no", "sh", "-c", '"$0" once; :',
                    build.file("tests/cli/rss_program")], check=True, stdout=subprocess.DEVNULL)
    peak = Trace(trace).peak
    check("what a child of the program had is not the program's", peak < 32 * MIB, peak)
    subprocess.run([build.msrec, "-q", "-f", "-o", trace + ".%n", "--trace-children=yes",
                    build.file("tests/cli/rss_program"), "exec"], check=True, stdout=subprocess.DEVNULL)
    peak = Trace(trace + ".1").peak
    check("nor what the program had that it went on as", peak < 32 * MIB, peak)


def check_options(build, trace):
    for option, wanted in (("--rss=yes", True), ("--rss=no", False), ("--rss=off", False)):
        Program(build, trace, "once", option).end()
        check(option, bool(Trace(trace).peak) == wanted)
    bad = subprocess.run([build.msrec, "--rss=maybe", "true"], capture_output=True, text=True)
    check("--rss=maybe is an error", bad.returncode == 125 and "--rss=maybe: should be yes or no" in bad.stderr,
          bad.stderr)


def rotated(build, trace):
    """The files of a rotation."""
    program = Program(build, trace, "calls", "--max-size=64k", "--rotate")
    check("a rotation has four files", until(lambda: len(glob.glob(trace + "*")) > 3))
    program.go_on()
    program.end()
    return [Trace(path) for path in sorted(glob.glob(trace + "*"), key=lambda path: (len(path), path))]


def check_rotated(build, trace):
    """Each file of a rotation has the samples of its time. On a busy machine the program can end before the first."""
    for attempt in range(10):
        files = rotated(build, f"{trace}.{attempt}.")
        every = sum((file.times for file in files), [])
        if every:
            break
    for number, file in enumerate(files):
        check(f"the samples of file {number + 1} are of its time",
              all(file.word("file", "begin") - (1 << 20) <= time for time in file.times), file.times[:1])
    check("no sample is in two files", every and every == sorted(every), every)


def check_tools(build, trace):
    """What the tools show is what the decoder sees."""
    def tool(name, *options):
        return subprocess.run([build.file(f"analyze/{name}"), *options], check=True, capture_output=True,
                              text=True)

    whole = Trace(trace)
    rows = list(csv.DictReader(io.StringIO(tool("msconvert", "-q", "--to=csv-rss", trace).stdout)))
    check("--to=csv-rss has all samples", [(int(row["time_ns"]), int(row["resident_bytes"])) for row in rows] ==
          list(zip(whole.times, whole.resident)), rows[:3])
    detailed = [(int(row["proportional_bytes"]), int(row["swapped_bytes"]), int(row["minor_faults"]),
                 int(row["major_faults"])) for row in rows if row["minor_faults"]]
    check("and their details", detailed == [((s[2] - 1) << 10, (s[3] - 1) << 10, s[4], s[5])
                                            for s in whole.samples if len(s) > 2], detailed)
    text = tool("msconvert", "-q", "--to=heaptrack", trace).stdout
    pages = [int(line[2:], 16) << 12 for line in text.splitlines() if line.startswith("R ")]
    check("--to=heaptrack has them, and the peak", pages == whole.resident + [whole.peak], pages[-3:])
    check("msreplay -v tells the peak", f"at most {whole.peak >> 10} KiB of memory were resident" in
          tool("msreplay", "-v", "--massif-out-file=/dev/null", trace).stderr)
    if have_heaptrack_print():
        with open(trace + ".heaptrack", "w") as file:
            file.write(text)
        shown = subprocess.run(["heaptrack_print", trace + ".heaptrack"], capture_output=True, text=True).stdout
        peak = float(re.search(r"peak RSS \(including heaptrack overhead\): ([0-9.]+)M", shown).group(1))
        check("heaptrack_print shows the peak", abs(peak - whole.peak / 1e6) < 0.011, (peak, whole.peak))
    cut, half = trace + ".cut.zst", whole.times[len(whole.times) // 2] // 1000000
    tool("msconvert", "-q", "--to=trace", f"--from={half}", "-o", cut, trace)
    check("a cut has the samples from its beginning on",
          Trace(cut).times == [time for time in whole.times if time // 1000000 >= half], Trace(cut).times)
    tool("msconvert", "-q", "--to=trace", f"--until={half}", "-o", cut, trace)
    check("and up to its end",
          Trace(cut).samples == [s for s in whole.samples if (s[0] << SHIFT) // 1000000 <= half], Trace(cut).times)
    tool("msconvert", "-q", "--to=trace", "--embed-symbols", "-o", cut, trace)
    check("a trace that is written again keeps all", (Trace(cut).peak, Trace(cut).samples) ==
          (whole.peak, whole.samples))
    tool("msconvert", "-q", "--to=trace", "--drop=rss", "-o", cut, trace)
    check("--drop=rss", (Trace(cut).peak, Trace(cut).samples) == (0, []))


def main():
    build = arguments(__doc__).build
    with Scratch() as scratch:
        trace = os.path.join(scratch, "trace")
        check_steps(build, trace, "a program")
        check_tools(build, trace)
        check_steps(build, os.path.join(scratch, "forked"), "a forked child", "fork",
                    os.path.join(scratch, "forked.*"))
        check_once(build, os.path.join(scratch, "once"))
        check_options(build, os.path.join(scratch, "options"))
        check_rotated(build, os.path.join(scratch, "rotated"))
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
