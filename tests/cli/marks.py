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

TOOLS = {"msrec": "trace-record/msrec", "convert": "analyze/msconvert", "dump": "tests/tools/tracedump",
         "replay": "analyze/msreplay", "report": "analyze/msreport"}
THREADS, ROUNDS = 4, 300
LONGEST = 255
HOSTILE = [b"", b"x" * LONGEST, b"\xff\xfe/../\"<script>&\n\033[31m\\", "\u202ebidi".encode(), b"", b"end", b"peak",
           b"a#2", b"a", b"a"]


def unescape(text):
    """A text of tracedump."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), text.encode())


class Tests:
    folder, said, printed = None, "", ""

    def __init__(self, build):
        self.build = build
        self.program = build.file("tests/cli/marks")

    def run(self, tool, *words, status=0):
        done = subprocess.run([self.build.file(TOOLS[tool]), *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, env=plain_environment(), errors="backslashreplace")
        assert done.returncode == status, f"{tool} {words}: status {done.returncode}: {done.stderr}"
        self.said = done.stderr
        return done.stdout

    def record(self, *words, options=(), status=0):
        """The traces, the first process's first."""
        for old in glob.glob(os.path.join(self.folder, "t.*")):
            os.unlink(old)
        self.printed = self.run("msrec", "-q", "-o", "t.%p", *options, self.program, *words, status=status)
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

    def test_limit(self):
        """Marks beyond what a trace holds are lost; the recording goes on."""
        more, limit = 1060000, 1 << 20
        figures = self.build.stat(self.record("many", str(more))[0])
        assert figures["lost"] == more - limit and figures["events"] >= 2 * more, figures

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

    # ---- marks of msrec ----

    def test_timed(self):
        """Between the events before and after their time, in order of time, of no thread."""
        trace = self.record("sleep", options=("--mark=120ms:late", "--mark=60:early", "--mark=0.1s", "--mark=1h:never",
                                              "--mark=60ms:a:b"))[0]
        events = self.events(trace)
        at = {e["operation"]: (i, e) for i, e in enumerate(events) if e["operation"].startswith("mark:")}
        assert list(at) == ["mark:early", "mark:a:b", "mark:0.1s", "mark:late"], list(at)
        for name, ms in (("early", 60), ("a:b", 60), ("0.1s", 100), ("late", 120)):
            i, e = at[f"mark:{name}"]
            assert 0 <= e["time_ns"] - (ms * 1000000 & ~1023) < 1024 and e["tid"] == 0, e
            # Times of calls are rounded down by less than 64 units.
            assert all(b["time_ns"] <= ms * 1000000 for b in events[:i]), name
            assert all(b["time_ns"] >= (ms * 1000000 & ~1023) - 65536 for b in events[i + 1:]), name
        assert self.live("peak", "--at=mark:late", trace) > self.live("peak", "--at=mark:early", trace) > 0

    def test_timed_refused(self):
        for value in ("", "x", ":a", "-1", "1x:a"):
            done = subprocess.run([self.build.msrec, f"--mark={value}", "true"], capture_output=True, text=True,
                                  cwd=self.folder, timeout=60)
            assert done.returncode == 125 and "should be a time" in done.stderr, (value, done.stderr)

    def test_timed_forks(self):
        """A child has its parent's mark of before the fork, and its own of later times; of the same clock."""
        parent, child = self.record("naps", options=("--mark=40ms:one", "--mark=160ms:two"))
        assert self.marks(parent) == self.marks(child) == [b"one", b"two"], (self.marks(parent), self.marks(child))

    # ---- moments ----

    def phases(self):
        """The trace of three phases, and what the program says that it had live at its three marks."""
        trace = self.record("phases")[0]
        return trace, [int(n) for n in self.printed.split()]

    def live(self, *words):
        return json.loads(self.run("report", "-q", "--format=json", *words))["sections"]["peak"]["bytes"]

    def folded(self, *words):
        lines = self.run("convert", "-q", "--to=folded", "-o", "-", *words).splitlines()
        return sum(int(line.split()[-1]) for line in lines)

    def test_live(self):
        trace, told = self.phases()
        for mark, bytes_live in zip(("build", "serve", "serve#2"), told):
            assert self.live("peak", f"--at=mark:{mark}", trace) == bytes_live, mark
            assert self.live("peak", "--function=build", f"--at=mark:{mark}", trace) == bytes_live, mark
            assert self.folded("--usable=requested", "--heap-admin=0", f"--at=mark:{mark}", trace) == bytes_live, mark
            for unit in ("ms", "B"):
                out = self.run("replay", "-q", "--usable=requested", "--heap-admin=0", f"--time-unit={unit}",
                               "--only-moments", f"--at=mark:{mark}", "-o", "-", trace)
                found = [int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", out, re.M)]
                rounded = [int(n) for n in re.findall(r"^mem_heap_extra_B=(\d+)$", out, re.M)]
                assert found == [bytes_live] and rounded == [0], (mark, unit, found)
            self.run("report", f"--check=live(at=mark:{mark})=={bytes_live}", trace)
            self.run("report", f"--check=live(at=mark:{mark})<{bytes_live}", trace, status=1)

    def test_listed(self):
        """A line of the overview, in each form; and all of them for scripts."""
        trace, _ = self.phases()
        for form in ("text", "markdown"):
            out = self.run("report", "-q", f"--format={form}", trace)
            assert re.search(r"marks:? +build at .*, serve at .*, serve at ", out) and "ordinal" not in out, out
        assert "ordinal" in self.run("report", "-q", "--format=csv", trace)
        marks = json.loads(self.run("report", "-q", "--format=json", trace))["sections"]["overview"]["marks"]
        assert [(m["name"], m["ordinal"]) for m in marks] == [("build", 1), ("serve", 1), ("serve", 2)], marks

    def test_all_threads(self):
        """Of a program with threads, what is live at 25 marks is what the events before each come to."""
        trace = self.record("threads")[0]
        live, at, names = 0, {}, collections.Counter()
        for e in self.events(trace):
            if e["operation"].startswith("mark:"):
                name = e["operation"][5:]
                names[name] += 1
                at[name if names[name] == 1 else f"{name}#{names[name]}"] = live
            elif e["type"] == "alloc":
                live += e["size"]
            elif e["type"] == "free":
                live -= e["old_size"]
        for name in list(at)[::len(at) // 25]:
            assert self.live("peak", f"--at=mark:{name}", trace) == at[name], name

    def test_files(self):
        """Massif's files at marks and times together, each as when it is asked for alone."""
        trace, _ = self.phases()
        moments = ["mark:serve#2", "mark:build", "mark:serve", "0", "peak", "end"]
        self.run("replay", "-q", "-o", "all", *(f"--at={moment}" for moment in moments), trace)
        for moment in moments:
            self.run("replay", "-q", "-o", "one", f"--at={moment}", trace)
            both = []
            for name in ("all", "one"):
                with open(os.path.join(self.folder, f"{name}.at-{moment}"), encoding="utf-8") as file:
                    both.append(re.sub(r"^(desc|cmd):.*", "", file.read(), flags=re.M))
            assert both[0] == both[1], moment
        with open(os.path.join(self.folder, "all"), encoding="utf-8") as file:
            with_marks = file.read()
        self.run("replay", "-q", "-o", "plain", trace)
        with open(os.path.join(self.folder, "plain"), encoding="utf-8") as file:
            assert file.read() == with_marks

    def test_between(self):
        """2000 blocks come between the two marks, of which 1000 stay; some of those before go."""
        trace, told = self.phases()
        came = sum(100 + i % 7 for i in range(1000, 3000))
        stay = sum(100 + i % 7 for i in range(2500, 3000))
        words = ("--from=mark:build", "--until=mark:serve", trace)
        answer = json.loads(self.run("report", "-q", "--format=json", *words))
        overview = answer["sections"]["overview"]
        assert (overview["bytes"], overview["calls"], overview["end_bytes"]) == (came, 2000, stay), overview
        assert answer["filter"]["all_calls"] > 3000, answer["filter"]
        growth = json.loads(self.run("report", "-q", "--format=json", "growth", *words))["sections"]["growth"]
        assert (growth["bytes"], growth["blocks"]) == (stay, 500), growth
        assert self.folded("--value=alloc_bytes", *words) == came
        self.run("convert", "-q", "--to=trace", "-o", "cut", *words)
        assert self.marks("cut") == [b"build", b"serve"]
        assert self.live("peak", "--at=end", "cut") == told[1]
        assert self.live("peak", "--at=mark:build", "cut") == told[0]

    def test_diff(self):
        trace, told = self.phases()
        name = os.path.basename(trace)

        def ends(old, *new):
            answer = json.loads(self.run("report", "-q", "--format=json", f"--diff={name}@{old}", *new))
            diff = answer["sections"]["diff"]
            rows = {row["figure"]: [row["old"], row["new"]] for row in diff["bytes"] + diff["counts"]}
            return rows["end"], rows["calls"]
        assert ends("mark:build", f"{name}@mark:serve#2") == ([told[0], told[2]], [1000, 3000])
        end, calls = ends("..mark:build", f"{name}@mark:build..")
        assert end[0] == told[0] and calls[0] == 1000 and calls[1] >= 2000, (end, calls)
        assert ends("mark:build..mark:serve", f"{name}@mark:serve..mark:serve#2") == ([told[1], told[2]], [2000, 0])

    def test_unknown(self):
        trace, _ = self.phases()
        tools = (("report", 2, "peak", "--at=mark:no"), ("report", 2, "--from=mark:no"),
                 ("report", 2, "--until=mark:no"), ("report", 2, "--check=live(at=mark:no)<1"),
                 ("report", 2, "growth", "--from=mark:no"),
                 ("replay", 64, "-o", "x", "--at=mark:no"), ("convert", 64, "--to=folded", "--at=mark:no"),
                 ("convert", 64, "--to=folded", "--from=mark:no"),
                 ("convert", 64, "--to=trace", "--until=mark:serve#3"))
        for tool, status, *words in tools:
            self.run(tool, *words, trace, status=status)
            assert "there are: build, serve (2 times)\n" in self.said, self.said
        self.run("report", "--from=mark:serve", "--until=mark:build", trace, status=2)
        assert "nothing lies between" in self.said, self.said

    def test_hostile_moments(self):
        """Names as they are and as they are printed; a name that ends in #2 comes before the second of another."""
        trace = self.record("hostile")[0]
        for name in ("", "#2", "x" * LONGEST, "end", "peak", "a", "a#2", "\u202ebidi", "\\xe2\\x80\\xaebidi",
                     "\udcff\udcfe/../\"<script>&\\x0a\\x1b[31m\\"):
            self.run("report", "-q", "peak", f"--at=mark:{name}", trace)
        self.run("report", "-q", "peak", "--at=mark:a#3", trace, status=2)
        text = self.run("report", "-q", trace)
        assert "\033" not in text and "\u202e" not in text, text
        marks = json.loads(self.run("report", "-q", "--format=json", trace))["sections"]["overview"]["marks"]
        assert [m["ordinal"] for m in marks] == [1, 1, 1, 1, 2, 1, 1, 1, 1, 2], marks

    def test_pipe(self):
        trace, told = self.phases()
        with open(trace, "rb") as file:
            data = file.read()
        for tool, words in (("report", ["peak", "--at=mark:build", "-"]),
                            ("convert", ["--to=folded", "--usable=requested", "--heap-admin=0", "--at=mark:build",
                                         "-"])):
            done = subprocess.run([self.build.file(TOOLS[tool]), "-q", *words], input=data, capture_output=True,
                                  timeout=60, cwd=self.folder, env=plain_environment())
            assert done.returncode == 0, done.stderr
            assert tool == "report" or int(done.stdout.split()[-1]) == told[0], done.stdout

    def test_sampled(self):
        trace = self.record("threads", options=("--sample=4k",))[0]
        assert len(self.marks(trace)) == THREADS * ROUNDS

    def test_unrecorded(self):
        for words in (["threads"], ["hostile"], ["signal"]):
            assert subprocess.run([self.program, *words], timeout=60).returncode == 0, words


if __name__ == "__main__":
    sys.exit(run_in_folders(__doc__, Tests))
