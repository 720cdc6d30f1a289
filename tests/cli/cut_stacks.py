#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks deeper than --depth: their outermost frame says so in every format but Massif's own, and a notice counts them.

  cut_stacks.py --build DIR

The whole stacks of a program, cut to their innermost frames here, are those that a recording with that depth has.
"""

import collections
import csv
import glob
import io
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

MOST = 2048
FORMATS = ("callgrind", "xtree", "folded", "speedscope", "heapprofile", "heaptrack", "dhat", "csv-frames",
           "ndjson-frames")
SQL = ("create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<300) "
       "insert into t select x, hex(x*x) from c; select count(*), max(b) from t order by a;")
check = harness.Checks()


class Recorder:
    def __init__(self, build, folder):
        self.build, self.folder, self.n = build, folder, 0
        self.msconvert, self.msreplay = build.file("analyze/msconvert"), build.file("analyze/msreplay")

    def record(self, *command, depth, options=()):
        self.n += 1
        trace = os.path.join(self.folder, f"{self.n}.zst")
        subprocess.run([self.build.msrec, "-q", f"--depth={depth}", "-o", trace, *options, "--", *command], check=True,
                       stdout=subprocess.DEVNULL, env=harness.plain_environment())
        return trace

    def run(self, tool, *options):
        done = subprocess.run([tool, *options], capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    def table(self, trace, name):
        return list(csv.DictReader(io.StringIO(self.run(self.msconvert, "-q", f"--to=csv-{name}", trace)[0])))

    def stacks(self, trace):
        """By stack, innermost frame first: blocks and bytes allocated there. A frame is a module and an address."""
        frames = {row["frame"]: (row["module"] or row["function"], row["module"] and row["address"])
                  for row in self.table(trace, "frames") if row["call"] == "0"}
        paths, sums = {"0": ()}, collections.Counter()
        for row in self.table(trace, "stacks"):
            if row["stack"] != "0":
                paths[row["stack"]] = (frames[row["frame"]],) + paths[row["parent"]]
            sums[paths[row["stack"]], "blocks"] += int(row["alloc_objects"])
            sums[paths[row["stack"]], "bytes"] += int(row["alloc_bytes"])
        return {key: n for key, n in sums.items() if n}


def cut(stacks, depth):
    """What a recording with that depth has of the whole stacks."""
    sums = collections.Counter()
    for (path, value), n in stacks.items():
        mark = ((f"[stack cut at {depth} frame{'s' * (depth > 1)}]", ""),) * (len(path) > depth)
        sums[path[:depth] + mark, value] += n
    return dict(sums)


def check_model(recorder, name, *command):
    whole = recorder.stacks(recorder.record(*command, depth=MOST))
    deepest = max(len(path) for path, _ in whole)
    check(f"{name}: none is cut at {MOST} frames", not any("cut at" in f for path, _ in whole for f, _ in path))
    for depth in sorted({1, 2, 5, 12, 30, deepest - 1, deepest, deepest + 1} - {0}):
        found = recorder.stacks(recorder.record(*command, depth=depth))
        check.equal(f"{name}: --depth={depth}", found, cut(whole, depth))


def check_formats(recorder):
    """A recursion deeper than 256 frames, at the default depth."""
    trace = recorder.record(recorder.build.file("corpus/recurse"), "1000", depth=256)
    mark = "[stack cut at 256 frames]"
    for form in FORMATS:
        out, err = recorder.run(recorder.msconvert, f"--to={form}", trace)
        check(f"{form} has the root", mark in out)
        counted = re.search(r": (\d+) stacks were cut at 256 frames, so what called them is not known", err)
        check(f"{form} counts the stacks", counted and int(counted[1]) > 1, err)
    folded, _ = recorder.run(recorder.msconvert, "-q", "--to=folded", trace)
    roots = {line.split(";")[0] for line in folded.splitlines()}
    check.equal("no other roots", roots, {"main", mark})
    # Massif shows 30 frames of what it takes for a stack, and knows nothing of this.
    for options in (["--compat=3.19"], ["--compat=3.19", "--depth=200"], []):
        out, _ = recorder.run(recorder.msreplay, "-q", "--massif-out-file=-", *options, trace)
        check(f"massif.out {' '.join(options)}", "cut at" not in out and "down" in out)
    out, _ = recorder.run(recorder.msreplay, "-q", "--massif-out-file=-", "--depth=200",
                          recorder.record(recorder.build.file("corpus/recurse"), "1000", depth=40))
    check("massif.out as it should be", re.search(r"^ +n0: \d+ 0x[0-9A-F]+: \[stack cut at 40 frames\]", out, re.M))


def check_files(recorder):
    """Files that rotate, and traces of traces."""
    path = os.path.join(recorder.folder, "part.zst")
    subprocess.run([recorder.build.msrec, "-q", "--depth=9", "--max-size=64k", "--rotate=50", "-o", path,
                    "sqlite3", ":memory:", SQL.replace("300", "300000")], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    parts = glob.glob(path + "*")
    check("files rotate", len(parts) > 1, parts)
    cut = 0
    for part in parts:
        depths = [(len(p), p[9:]) for p, _ in recorder.stacks(part)]
        check("a file's stacks are cut", all(n < 9 or rest in ((), (("[stack cut at 9 frames]", ""),))
                                             for n, rest in depths), part)
        cut += any(n == 10 for n, _ in depths)
    check("each file has such stacks, but for a last one of few calls", cut >= len(parts) - 1, parts)
    trace = recorder.record("sqlite3", ":memory:", SQL, depth=9)
    again = os.path.join(recorder.folder, "again.zst")
    recorder.run(recorder.msconvert, "-q", "--to=trace", "--from=0", "-o", again, trace)
    check.equal("a trace of a trace", recorder.stacks(again), recorder.stacks(trace))


def main():
    build = harness.arguments(__doc__).build
    with harness.Scratch() as folder:
        recorder = Recorder(build, folder)
        check_formats(recorder)
        for name, *words in (("recurse", "5"), ("recurse", "290"), ("threads",), ("signal",), ("deep",)):
            check_model(recorder, " ".join((name, *words)), build.file("corpus/" + name), *words)
        check_model(recorder, "sqlite3", "sqlite3", ":memory:", SQL)
        check_files(recorder)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
