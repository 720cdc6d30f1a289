#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where threads end in traces: behind their calls, and before all that was made when they had been joined; threads that
the end of the process ends have none. What the tools make of it.

  thread_ends.py --build DIR [--only WORD]
"""

import csv
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import by_process, plain_environment, run_in_folders    # noqa: E402


class Tests:
    def __init__(self, build):
        self.build, self.folder = build, None
        self.program = build.file("tests/cli/thread_ends_program")

    def record(self, *options, how="return"):
        """The traces, the program's first."""
        done = subprocess.run([self.build.msrec, "-q", *options, "-o", "t.%p", self.program, how], cwd=self.folder,
                              env=plain_environment(), capture_output=True, text=True)
        assert done.returncode in (0, -9), done
        return by_process(glob.glob(os.path.join(self.folder, "t.*")))

    def tool(self, *words):
        return subprocess.run([self.build.file("analyze/" + words[0]), *words[1:]], check=True, capture_output=True,
                              text=True, env=plain_environment()).stdout

    def table(self, trace):
        return csv.DictReader(self.tool("msconvert", "-q", "--to=csv", "-o", "-", trace).splitlines())

    def places(self, trace):
        """Rows of all calls by size, and of the ends by tid: (number, tid)."""
        calls, ends = {}, {}
        for i, row in enumerate(self.table(trace)):
            if row["operation"] == "thread_end":
                assert row["type"] == "mark" and row["tid"] not in ends, row
                ends[row["tid"]] = i
            elif row["type"] == "alloc":
                calls[int(row["size"])] = (i, row["tid"])
        return calls, ends

    def check(self, trace, last=True):
        """Each end lies where it must; `last`: that of the thread that ends just before the process is there."""
        calls, ends = self.places(trace)
        for size, before, behind in [(1000, 1000, 1001), (2000, 2001, 2002), (4000, 4000, 4001)][:2 + last]:
            tid = calls[size][1]
            assert tid in ends, (size, calls, ends)
            assert calls[before][0] < ends[tid] < calls[behind][0], (size, calls, ends)
        assert len(ends) == 2 + last, ends
        return calls, ends

    def test_return(self):
        for _ in range(5):
            self.check(self.record("-f")[0])
            for name in glob.glob(os.path.join(self.folder, "t.*")):
                os.remove(name)

    def test_other_ends_of_the_process(self):
        self.check(self.record(how="_exit")[0])

    def test_exec(self):
        self.check(self.record(how="exec")[0])

    def test_kill(self):
        self.check(self.record(how="kill")[0], last=False)

    def test_fork(self):
        """The child's trace has the ends that its parent saw."""
        traces = self.record(how="fork")
        assert len(traces) == 2, traces
        for trace in traces:
            self.check(trace)

    def test_rewritten(self):
        """A copy has the same ends; a cut those of its threads in its range; without threads there are none."""
        trace = self.record()[0]
        copy = os.path.join(self.folder, "copy")

        def rewrite(*options):
            self.tool("msconvert", "-q", "--to=trace", *options, "-o", copy, trace)
            found = self.places(copy)
            os.remove(copy)
            return found
        calls, ends = self.check(trace)
        for options in ([], ["--anonymize"], ["-z", "19"]):
            assert rewrite(*options) == (calls, ends), (options, calls, ends)
        assert rewrite("--drop=threads")[1] == {}
        only = calls[2000][1]
        assert set(rewrite(f"--thread={only}")[1]) == {only}
        # The thread that sleeps is in the middle of the run, 0.2 s long. It makes no calls there, so a cut lacks it.
        times = {int(row["size"]): int(row["time_ns"]) // 1000000 for row in self.table(trace)
                 if row["type"] == "alloc"}
        middle = times[2001] + 20
        assert set(rewrite(f"--until={middle}")[1]) == {calls[1000][1]}
        assert set(rewrite(f"--from={middle}")[1]) == {calls[4000][1]}

    def test_report(self):
        trace = self.record()[0]
        calls, ends = self.check(trace)
        answer = json.loads(self.tool("msreport", "-q", "--format=json", "threads", trace))
        rows = {row["tid"]: row for row in answer["sections"]["threads"]["lived"]}
        for size, ended in ((1000, True), (2000, True), (3000, False), (4000, True)):
            row = rows[calls[size][1]]
            assert (row["ended_ns"] is not None) == ended, row
            assert not ended or row["began_ns"] <= row["ended_ns"], row
        slept = rows[calls[2000][1]]
        assert slept["ended_ns"] - slept["began_ns"] > 100000000, slept
        shown = self.tool("msreport", "-q", "threads", trace)
        assert len(re.findall(r"^Lived\n\s*thread  name  +from  +until$", shown, re.M)) == 1, shown


if __name__ == "__main__":
    sys.exit(run_in_folders(__doc__, Tests))
