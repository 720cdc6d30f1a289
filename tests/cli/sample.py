#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Estimates from sampled traces against the program's own counts.

  sample.py --build DIR

A block of size s is in the sample with probability p = 1 - exp(-(s + 1) / mean) and stands for 1/p blocks; so an
estimate of n of them has a variance of n (1 - p) / p, in blocks, and s^2 times that in bytes. Where few small
blocks stand for many, that is far from a normal distribution: the bound is Bernstein's inequality. What the
programs have themselves from the C library is less than a hundredth of that.
"""

import collections
import glob
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Checks, Scratch, arguments    # noqa: E402

LIKELY = math.log(1e6)      # a sound estimate is out of bounds once in a million
MEANS = {"4k": 4096, "64K": 65536}
MODES = ["plain", "freed", "threads", "fork", "realloc", "custom", "new"]
COLUMNS = ["live bytes", "live blocks", "bytes", "blocks"]
check = Checks()


def run(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, **more)


class Expected:
    """A sum over blocks and its variance in a sample."""

    def __init__(self):
        self.sum = self.variance = self.most = 0

    def add(self, size, n, worth, mean):
        p = -math.expm1(-(size + 1) / mean)
        self.sum += n * worth
        self.variance += n * worth * worth * (1 - p) / p
        self.most = max(self.most, worth / p if n else 0)

    def bound(self):
        """The permitted error of an estimate: Bernstein's bound for sums of terms of at most `most`."""
        third = self.most * LIKELY / 3
        return third + math.sqrt(third * third + 2 * self.variance * LIKELY)

    def check(self, what, found, slack=0.0):
        sigma = math.sqrt(self.variance)
        print(f"{what:40} {found:12d} of {self.sum:12d}  {(found - self.sum) / max(sigma, 1):6.2f} sigma")
        check(what, abs(found - self.sum) <= self.bound() + slack + 1)


def expect(text, mean):
    """By function, by column of the xtree report."""
    sites = collections.defaultdict(lambda: [Expected() for _ in COLUMNS])
    for line in text.splitlines():
        name, size, given, left = line.split()
        size, given, left = int(size), int(given), int(left)
        for expected, n, worth in zip(sites[name], (left, left, given, given), (size, 1, size, 1)):
            expected.add(size, n, worth, mean)
    return sites


def read_callgrind(text):
    """The values by the function that asked, and all that are live."""
    sites, all_live, name, inner = collections.Counter(), 0, None, False
    for line in text.splitlines():
        if line.startswith(("fn=", "cfn=")):
            name = line.split("=", 1)[1]
        elif line.startswith("calls="):
            inner = True
        elif line.startswith("totals:"):
            all_live = int(line.split()[1])
        elif re.match(r"\d+ ", line):
            if not inner:
                for column, value in zip(COLUMNS, map(int, line.split()[1:])):
                    sites[name, column] += value
            inner = False
    return sites, all_live


def rows_of(report):
    return {m[1]: int(m[2]) for m in re.finditer(r"^ *(malloc|realloc|calloc|free)\| +(\d+)", report, re.M)}


def compare(build, folder, mode, text, mean):
    trace = os.path.join(folder, "t")
    done = run([build.msrec, "-q", f"--sample={text}", "-o", trace + "%p" if mode == "fork" else trace,
                build.file("tests/cli/sample_program"), mode])
    check(f"{mode}: msrec", done.returncode == 0 and not done.stderr)
    if mode == "fork":
        # The child's is the one with the larger pid, so that it is the longer one, too.
        trace = max(glob.glob(trace + "*"), key=os.path.getsize)
    stat = build.stat(trace)
    check(f"{mode}: nothing odd", (stat["lost"], stat["unknown"], stat["implied"]) == (0, 0, 0))
    out = os.path.join(folder, "out")
    replay = run([build.file("analyze/msreplay"), "--time-unit=B", "--xtree-memory=full", "--xtree-compress-strings=no",
                  f"--xtree-memory-file={out}.kcg",
                  "--at=end", f"--massif-out-file={out}", trace])
    check(f"{mode}: says that it estimates",
          f"a sample of one block in {mean} bytes; all figures are estimates, peaks rather too high" in replay.stderr)
    with open(out + ".kcg", encoding="utf-8") as f:
        sites, all_live = read_callgrind(f.read())
    with open(out + ".at-end", encoding="utf-8") as f:
        massif = f.read()
    check(f"{mode}: massif.out is marked",
          massif.splitlines()[0].endswith(f"(estimates: a sample of one block in {mean} bytes)"))
    check(f"{mode}: both count alike", f"mem_heap_B={all_live}\n" in massif)
    expected = expect(done.stdout, mean)
    check(f"{mode}: something is expected", expected)
    for name, columns in expected.items():
        for column, e in zip(COLUMNS, columns):
            e.check(f"{mode} {text} {name} {column}", sites[name, column])
    report = run([build.file("analyze/msreplay"), "-q", "--memusage", trace]).stdout
    check(f"{mode}: memusage is marked", f"(estimates: a sample of one block in {mean} bytes)" in report)
    if mode in ("plain", "freed", "threads", "fork", "realloc", "new"):
        compare_rows(expected, rows_of(report), mode, text)
    return trace


def compare_rows(sites, rows, mode, text):
    """memusage's calls: those of functions together."""
    for row, names in (("malloc", ("small", "middle", "large", "built")), ("calloc", ("cleared",)),
                       ("realloc", ("grown",))):
        together = Expected()
        for name in names:
            if name in sites:
                together.sum += sites[name][3].sum
                together.variance += sites[name][3].variance
                together.most = max(together.most, sites[name][3].most)
        if together.sum and row in rows:
            together.check(f"{mode} {text} memusage {row}", rows[row], 0.002 * together.sum)


def compare_refusals(build, trace):
    for option in ("--usable=valgrind", "--compat=3.19"):
        done = run([build.file("analyze/msreplay"), option, "--massif-out-file=-", trace])
        check(f"{option} is refused", done.returncode == 64 and not done.stdout and
              "the trace is a sample" in done.stderr and done.stderr.count("\n") == 1)
    done = run([build.file("analyze/msreplay"), "-q", "--massif-out-file=-", trace])
    check("-q is quiet", done.returncode == 0 and not done.stderr)


def compare_pages(build, folder):
    """Pages are all there, so their figures are those of a recording of everything."""
    sizes = []
    for text in ("off", "64k"):
        trace, out = os.path.join(folder, "pages-" + text), os.path.join(folder, "pages")
        program = build.file("tests/cli/sample_program")
        run([build.msrec, "-q", "--pages", f"--sample={text}", "-o", trace, program, "plain"])
        done = run([build.file("analyze/msreplay"), "--pages-as-heap=yes", "--at=end", "--time-unit=B",
                    f"--massif-out-file={out}", trace])
        with open(out + ".at-end", encoding="utf-8") as f:
            report = f.read()
        sizes.append(re.search(r"^mem_heap_B=(\d+)$", report, re.M)[1])
        check(f"--pages --sample={text}: no estimates",
              done.returncode == 0 and "estimate" not in done.stderr + report)
    check("--pages --sample: the same pages", sizes[0] == sizes[1], sizes)


def compare_options(build, folder):
    for text in ("", "x", "4095", "3k", "2G", "-5", "5kk", "99999999999999999999"):
        done = run([build.msrec, f"--sample={text}", "true"])
        check(f"--sample={text} is refused", done.returncode == 125 and "--sample" in done.stderr)
    path = os.path.join(folder, "off")
    run([build.msrec, "-q", "--sample=512k", "--sample=off", "-o", path, "/bin/true"])
    check("--sample=off", not run([build.file("analyze/msreplay"), "--massif-out-file=/dev/null", path])
          .stderr.count("sample"))


def main():
    build = arguments(__doc__).build
    for mode in MODES:
        for text, mean in MEANS.items():
            with Scratch() as folder:
                trace = compare(build, folder, mode, text, mean)
                if mode == "plain":
                    compare_refusals(build, trace)
    with Scratch() as folder:
        compare_options(build, folder)
        compare_pages(build, folder)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
