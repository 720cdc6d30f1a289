#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Marks that a program sets (msrec_mark): each lies exactly between the events of its thread, and stays there through
forks, kills, rotation and rewriting.

  marks.py --build DIR [--only WORD]
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools")]
from harness import by_process, plain_environment, run_in_folders    # noqa: E402

TOOLS = {"msrec": "trace-record/msrec", "convert": "analyze/msconvert", "dump": "tests/tools/tracedump"}
THREADS, ROUNDS = 4, 300
LONGEST = 255
HOSTILE = [b"", b"x" * LONGEST, b"\xff\xfe/../\"<script>&\n\033[31m\\", "\u202ebidi".encode(), b"", b"end", b"peak",
           b"a#2", b"a", b"a"]


def unescape(text):
    """A text of tracedump."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), text.encode())


class Tests:
    folder = None

    def __init__(self, build):
        self.build = build
        self.program = build.file("tests/cli/marks")

    def run(self, tool, *words, status=0):
        done = subprocess.run([self.build.file(TOOLS[tool]), *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, env=plain_environment(), errors="backslashreplace")
        assert done.returncode == status, f"{tool} {words}: status {done.returncode}: {done.stderr}"
        return done.stdout

    def record(self, *words, options=(), status=0):
        """The traces, the first process's first."""
        for old in glob.glob(os.path.join(self.folder, "t.*")):
            os.unlink(old)
        self.said = self.run("msrec", "-q", "-o", "t.%p", *options, self.program, *words, status=status)
        return by_process(glob.glob(os.path.join(self.folder, "t.*")))

    def events(self, trace):
        return [json.loads(line) for line in self.run("convert", "-q", "--to=ndjson", "-o", "-", trace).splitlines()]

    def marks(self, trace):
        """The names of a trace's marks."""
        return [unescape(name) for name in re.findall(r"^mark record=\d+ time=\d+ thread=\S+ ?(.*)",
                                                      self.run("dump", trace), re.M)]

    def check_threads(self, trace, least=THREADS * ROUNDS):
        """Each mark tells what its thread has live: so do the events of that thread before it."""
        live, of_block, marks = collections.Counter(), {}, 0
        for e in self.events(trace):
            if e["operation"].startswith("mark:t "):
                marks += 1
                told = int(e["operation"].split()[-1])
                assert live[e["tid"]] == told, f"{e['operation']}: {live[e['tid']]} bytes by the events before it"
            elif e["type"] in ("alloc", "live"):
                # What pthread_create() takes is of the first thread, which sets no marks.
                live[e["tid"]] += e["size"]
                of_block[e["block"]] = e["tid"]
            elif e["type"] == "free":
                live[of_block[e["old_block"]]] -= e["old_size"]
        assert marks >= least, f"{marks} marks"

    # ---- the cases ----

    def test_threads(self):
        self.check_threads(self.record("threads")[0])

    def test_full_rings(self):
        """More marks than a ring has room for: none is lost."""
        trace = self.record("many", "20000")[0]
        kinds = collections.Counter(e["operation"] for e in self.events(trace))
        assert kinds["mark:one of many"] == 20000, kinds
        assert self.build.stat(trace)["lost"] == 0

    def test_order(self):
        """Between its neighbours of the one thread there is: malloc, mark, free."""
        events = self.events(self.record("many", "1000")[0])
        at = [i for i, e in enumerate(events) if e["operation"] == "mark:one of many"]
        assert len(at) == 1000
        for i in at:
            assert (events[i - 1]["type"], events[i + 1]["type"]) == ("alloc", "free"), events[i - 1:i + 2]
            assert events[i - 1]["time_ns"] <= events[i]["time_ns"] <= events[i + 1]["time_ns"]

    def test_killed(self):
        self.check_threads(self.record("threads", "KILL", status=-9)[0])

    def test_forks(self):
        marks = [self.marks(trace) for trace in self.record("fork")]
        assert marks == [[b"before", b"parent"], [b"before", b"child"]], marks

    def test_forks_without_history(self):
        parent, child = self.record("fork")
        self.run("convert", "-q", "--to=trace", "--from=fork", "-o", "own", child)
        assert self.marks("own") == [b"child"], self.marks("own")
        assert self.marks(parent) == [b"before", b"parent"]

    def test_signals(self):
        trace = self.record("signal")[0]
        assert self.marks(trace) == [b"handler"] * 50
        assert self.build.stat(trace)["lost"] == 0

    def test_hostile(self):
        trace = self.record("hostile")[0]
        assert self.marks(trace) == HOSTILE, self.marks(trace)
        rows = [e["operation"] for e in self.events(trace) if e["operation"].startswith("mark:")]
        assert len(rows) == len(HOSTILE) and rows[5:] == ["mark:end", "mark:peak", "mark:a#2", "mark:a", "mark:a"], rows

    def test_rotated(self):
        """The files of a rotation together have each mark once."""
        traces = self.record("many", "60000", options=("--max-size=64k", "--rotate=100"))
        names = [name for trace in traces for name in self.marks(trace)]
        assert len(traces) > 1 and len(names) == 60000, (len(traces), len(names))

    def test_rewritten(self):
        """Recompressed, stripped of what they don't need, filtered, and cut, marks stay where they are."""
        trace = self.record("threads")[0]
        for words in (["--drop=names"], ["--strip-paths"], ["--level=19"]):
            self.run("convert", "-q", "--to=trace", *words, "-o", "new", trace)
            self.check_threads("new")
        self.run("convert", "-q", "--to=trace", "--drop=marks", "-o", "new", trace)
        assert self.marks("new") == []
        self.run("convert", "-q", "--to=trace", "--size=1-100", "-o", "new", trace)
        assert self.marks("new") == self.marks(trace)

    def test_cut(self):
        trace = self.record("threads")[0]
        times = [e["time_ns"] // 1000000 for e in self.events(trace) if e["operation"].startswith("mark:")]
        middle = times[len(times) // 2]
        self.run("convert", "-q", "--to=trace", f"--until={middle - 1}", "-o", "left", trace)
        self.run("convert", "-q", "--to=trace", f"--from={middle}", "-o", "right", trace)
        assert self.marks("left") + self.marks("right") == self.marks(trace)
        self.check_threads("left", len(self.marks("left")))
        self.check_threads("right", max(1, len(self.marks("right"))))

    def test_sampled(self):
        trace = self.record("threads", options=("--sample=4k",))[0]
        assert len(self.marks(trace)) == THREADS * ROUNDS

    def test_unrecorded(self):
        for words in (["threads"], ["hostile"], ["signal"]):
            assert subprocess.run([self.program, *words], timeout=60).returncode == 0, words


if __name__ == "__main__":
    sys.exit(run_in_folders(__doc__, Tests))
