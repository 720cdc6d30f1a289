#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreport of several traces: what it adds up, and what all processes had live together, are those of a naive model
that merges the events of all traces by the clock on the wall. Forks, executed programs, the parts of a rotation.

  family.py --build DIR --source DIR
"""

import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import plain_environment, run_methods    # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

FORKS = """
import os
keep = [bytes(5000 + i) for i in range(50)]
for child in range(3):
    if os.fork() == 0:
        del keep[10:20 + child]
        mine = [bytes(3000 * child + i + 600) for i in range(200)]
        if child == 1 and os.fork() == 0:
            grandchild = [bytes(70000) for i in range(20)]
            os._exit(3)
        os._exit(0)
keep += [bytes(100000) for i in range(10)]
for child in range(3):
    os.wait()
"""
PROGRAMS = "ls -l / >/dev/null & sort --version | sort -r >/dev/null; (ls /; ls /usr) >/dev/null; wait"


class Trace:
    """What one process did itself, event by event."""

    def __init__(self, tests, path):
        head = tests.run("tests/tools/tracedump", path).splitlines()[0]
        info = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", head)}
        self.path, self.pid, self.parent, self.start = path, info["pid"], info["parent"], info["start"]
        self.begin = info.get("begin", 0)
        overview = tests.answer(path)["overview"]
        self.end = self.begin + overview["duration_ns"]
        rows = tests.run("analyze/msconvert", "-q", "--to=ndjson", "-o", "-", path).splitlines()
        self.see([json.loads(row) for row in rows])

    def own_from(self, events):
        """Of a forked child: the event behind its fork."""
        if not self.parent:
            return 0
        first = next((i for i, event in enumerate(events) if event["tid"] == self.pid), len(events))
        forks = [i for i in range(first) if events[i]["operation"] == "fork"]
        return forks[-1] + 1 if forks else 0

    def see(self, events):
        start, blocks, inherited = self.own_from(events), {}, {}
        self.changes, self.calls, self.bytes = [], 0, 0
        for i, event in enumerate(events):
            if i == start:
                blocks, inherited = {}, blocks
            change = 0
            if event["type"] in ("free", "resize") and event["old_block"] in blocks:
                change -= blocks.pop(event["old_block"])
            if event["type"] in ("alloc", "resize"):
                blocks[event["block"]] = event["size"]
                change += event["size"]
                self.calls += i >= start
                self.bytes += event["size"] * (i >= start)
            if i >= start and change:
                self.changes.append((self.start + event["time_ns"], change))
        if start == len(events) and start:
            blocks, inherited = {}, blocks
        self.inherited, self.blocks = sum(inherited.values()), blocks
        self.level, self.peak = 0, 0
        for _, change in self.changes:
            self.level += change
            self.peak = max(self.peak, self.level)


def together(traces):
    """The most that all had live, when events of the same time come trace by trace."""
    events = []
    for number, trace in enumerate(traces):
        events += [(time, number, change) for time, change in trace.changes]
        events.append((trace.start + trace.end, number, -trace.level))
    level = most = 0
    for _, _, change in sorted(events, key=lambda event: event[:2]):
        level += change
        most = max(most, level)
    return most


class Tests:
    """Each method is one test."""

    def __init__(self, options, folder):
        self.build, self.folder, self.source = options.build, folder, options.source
        self.msreport = self.build.file("analyze/msreport")

    def run(self, tool, *words):
        return subprocess.run([self.build.file(tool), *words], capture_output=True, text=True, check=True).stdout

    def ask(self, *words, status=0):
        done = subprocess.run([self.msreport, *words], capture_output=True, text=True)
        assert done.returncode == status, (words, done)
        return done

    def answer(self, *words):
        return json.loads(self.ask("-q", "--format=json", "--top=1000", *words).stdout)["sections"]

    def record(self, name, *command):
        """The files of a run; the command may begin with options of msrec."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        done = subprocess.run([self.build.msrec, "-q", "-o", os.path.join(folder, "t.zst"), *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=plain_environment())
        assert done.returncode == 0, done
        return sorted(glob.glob(folder + "/*"))

    def compare(self, files):
        """With the model; returns the answer."""
        family = self.answer(*files)["family"]
        traces = [Trace(self, file) for file in files]
        traces.sort(key=lambda trace: (trace.start, trace.pid, trace.begin, trace.path))
        got = sorted((row["pid"], row["parent_pid"] or 0, row["peak_bytes"], row["end_bytes"], row["end_blocks"],
                      row["bytes"], row["calls"], row["inherited_bytes"]) for row in family["processes"])
        wanted = sorted((t.pid, t.parent, t.peak, sum(t.blocks.values()), len(t.blocks), t.bytes, t.calls, t.inherited)
                        for t in traces)
        assert got == wanted, (got, wanted)
        assert family["peak_bytes"] == together(traces), (family["peak_bytes"], together(traces))
        assert family["peak_step_ns"] == 0 and family["traces"] == len(files)
        assert sum(row["then_bytes"] for row in family["processes"]) == family["peak_bytes"]
        for total, keys in (("processes", ("end_bytes", "end_blocks", "bytes", "calls")),
                            ("churn_sites", ("bytes", "calls"))):
            for key in keys:
                assert sum(row[key] for row in family[total]) == family[key], (total, key)
        assert sum(row["bytes"] for row in family["end_sites"]) == family["end_bytes"]
        return family

    def test_forks(self):
        """What a child has from its parent counts once, also that of a grandchild."""
        files = self.record("forks", sys.executable, "-c", FORKS)
        family = self.compare(files)
        assert len(files) == 5, files
        children = [row for row in family["processes"] if row["parent_pid"]]
        assert len(children) == 4 and min(row["inherited_bytes"] for row in children) > 250000, children
        assert all(row["peak_bytes"] > 20000 for row in children), children
        self.compare(self.record("fork", self.build.file("corpus/fork")))

    def test_programs(self):
        files = self.record("programs", "--trace-children=yes", "sh", "-c", PROGRAMS)
        family = self.compare(files)
        assert len(files) > 4 and {"ls", "sort"} <= {row["program"] for row in family["processes"]}, family
        site = max(family["churn_sites"], key=lambda row: row["processes"])
        assert 1 < site["processes"] <= len(files), site

    def test_rotation(self):
        """The parts of a process are one; together they are what one file is."""
        program = (self.build.file("corpus/script"), "7", "60000")
        whole, = self.record("whole", *program)
        parts = self.record("parts", "--max-size=64k", "--rotate", *program)
        assert len(parts) > 2, parts
        row, = self.answer(*parts)["family"]["processes"]
        overview = self.answer(whole)["overview"]
        for key in ("peak_bytes", "end_bytes", "end_blocks", "bytes", "calls", "end"):
            assert row[key] == overview[key], (key, row, overview)
        assert row["traces"] == len(parts)

    def test_one_process(self):
        """A row is what the overview of its file says, also in samples; imports have no clock."""
        null, = self.record("null", self.build.file("corpus/null"))
        script = (self.build.file("corpus/script"), "3", "9000")
        plain, = self.record("plain", *script)
        sample, = self.record("sample", "--sample=4k", *script)
        unknown, = self.record("unknown", "--identity=no", *script)
        for file in (plain, sample, unknown):
            family, overview = self.answer(null, file)["family"], self.answer(file)["overview"]
            row = max(family["processes"], key=lambda row: row["bytes"])
            for key in ("peak_bytes", "end_bytes", "end_blocks", "bytes", "calls", "end"):
                assert row[key] == overview[key], (file, key, row, overview)
            assert family["peak_bytes"] == row["peak_bytes"] and row["then_bytes"] == row["peak_bytes"]
            assert ("Estimates" in " ".join(family["notes"])) == (file == sample), family["notes"]
        log = os.path.join(self.folder, "mtrace")
        with open(log, "w", encoding="utf-8") as file:
            file.write("= Start\n@ ./a:[0x1234] + 0x1000 0x20\n@ ./a:[0x1234] - 0x1000\n= End\n")
        family = self.answer(null, log)["family"]
        assert "peak_bytes" not in family and len(family["processes"]) == 2, family
        assert all(row["then_bytes"] is row["start_ns"] is None for row in family["processes"])

    def test_formats(self):
        files = self.record("formats", self.build.file("corpus/fork"))
        text = self.ask(*files)
        assert "2 processes" in text.stdout and "together" in text.stdout and not text.stderr, text
        assert self.ask("overview", *files).stdout == text.stdout
        assert max(map(len, text.stdout.splitlines())) <= 80, text.stdout
        assert self.ask("--format=csv", *files).stdout.startswith("section,table,peak_bytes")
        assert "| own peak" in self.ask("--format=markdown", *files).stdout
        if jsonschema:
            with open(os.path.join(self.source, "docs/msreport.schema.json"), encoding="utf-8") as file:
                schema = json.load(file)
            document = json.loads(self.ask("--format=json", *files).stdout)
            jsonschema.Draft202012Validator(schema).validate(document)
            described = schema["properties"]["sections"]["properties"]["family"]["properties"]
            assert set(document["sections"]["family"]) <= set(described)

    def test_refusals(self):
        files = self.record("refusals", self.build.file("corpus/fork"))
        assert "is about one trace" in self.ask("leaks", *files, status=64).stderr
        assert "given twice" in self.ask(files[0], files[0], status=64).stderr
        assert "standard input" in self.ask(files[0], "-", status=64).stderr
        assert "no section either" in self.ask("leeks", files[0], status=64).stderr
        empty = os.path.join(self.folder, "empty")
        with open(empty, "wb"):
            pass
        left = self.ask("--format=json", *files, empty, status=1)
        assert "empty" in left.stderr and len(left.stderr.splitlines()) == 1, left
        assert json.loads(left.stdout)["sections"]["family"]["traces"] == 2
        assert not self.ask(empty, "/dev/null", status=2).stdout
        with open(files[0], "rb") as file:
            begin = file.read()[:-60]
        cut = os.path.join(self.folder, "cut.zst")
        with open(cut, "wb") as file:
            file.write(begin)
        assert "damaged or cut" in self.ask(cut, files[1], status=1).stdout


def main():
    return run_methods(__doc__, Tests, ("--source", {"required": True, "help": "the source tree"}))


if __name__ == "__main__":
    sys.exit(main())
