#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreport of several traces: what it adds up, and what all processes had live together, are those of a naive model
that merges the events of all traces by the clock on the wall. Forks, executed programs, the parts of a rotation.

  family.py --build DIR --source DIR
"""

import glob
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import plain_environment, run_methods    # noqa: E402

try:
    from jsonschema import Draft202012Validator
except ImportError:     # its version 3 lacks it
    Draft202012Validator = None

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


class Chosen:
    """Random filters, or only --until; times are those since the first process began."""

    def __init__(self, rng, traces, until=None):
        self.words, self.sizes, self.tids, self.lifetimes, self.times = [], [], [], [], [0, None]
        self.origin = min(trace.start + trace.begin for trace in traces)
        self.span = max(trace.start + trace.end for trace in traces) - self.origin
        if until is not None:
            self.words, self.times = [f"--until={until}"], [0, until]
            return
        for choose in rng.sample([self.choose_size, self.choose_thread, self.choose_lifetime, self.choose_times],
                                 rng.choice([1, 1, 2, 3])):
            choose(rng, traces)

    def choose_size(self, rng, _):
        least, most = sorted(rng.sample([0, 1, 24, 100, 600, 3000, 5050, 100000], 2))
        self.words.append(f"--size={least}-{most}")
        self.sizes.append((least, most))

    def choose_thread(self, rng, traces):
        tids = sorted({event["tid"] for trace in traces for event in trace.events})
        self.tids = rng.sample(tids, min(rng.choice([1, 2]), len(tids)))
        self.words += [f"--thread={tid}" for tid in self.tids]

    def choose_lifetime(self, rng, traces):
        if len({(trace.start, trace.pid) for trace in traces}) < len(traces):
            return      # parts of a recording: blocks live on
        unit, scale, most = rng.choice([("calls", 1, 300), ("us", 1000, self.span // 1000)])
        least, most = sorted(rng.randint(0, most) for _ in range(2))
        self.words.append(f"--lifetime={least}{unit}-{most}{unit}")
        self.lifetimes.append((unit, least * scale, most * scale))

    def choose_times(self, rng, _):
        start, until = sorted(rng.randint(0, self.span // 1000000) for _ in range(2))
        self.times = [start, rng.choice([until, None])]
        self.words.append(f"--from={start}ms")
        if self.times[1] is not None:
            self.words.append(f"--until={until}")

    def ms(self, trace, time_ns):
        return (trace.start + time_ns - self.origin) // 1000000

    def is_over(self, trace, time_ns):
        return self.times[1] is not None and max(self.ms(trace, time_ns), self.ms(trace, trace.first)) > self.times[1]

    def cut(self, trace):
        """When the trace ends for the answer."""
        # The whole of the last millisecond is chosen.
        return self.last(trace, 999999)

    def last(self, trace, past=0):
        """The same, or so many ns past the last millisecond's begin."""
        if not self.is_over(trace, trace.end):
            return trace.end
        return max(self.origin + self.times[1] * 1000000 + past - trace.start, 0)

    def passes(self, trace, event, life):
        return (all(least <= event["size"] <= most for least, most in self.sizes) and
                (not self.tids or event["tid"] in self.tids) and
                all(least <= life[unit != "calls"] <= most for unit, least, most in self.lifetimes) and
                (not self.times[0] or self.ms(trace, event["time_ns"]) >= self.times[0]))

    def has(self, trace):
        """Whether some of the process's time is chosen."""
        return (self.times[1] is None or self.ms(trace, trace.begin) <= self.times[1]) and \
            trace.start + self.cut(trace) >= self.origin + self.times[0] * 1000000


class Trace:
    """What one process did itself, event by event."""

    def __init__(self, tests, path):
        head = tests.run("tests/tools/tracedump", path).splitlines()[0]
        info = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", head)}
        self.path, self.pid, self.parent, self.start = path, info["pid"], info["parent"], info["start"]
        self.first = self.begin = info.get("begin", 0)
        overview = tests.answer(path)["overview"]
        self.end = self.begin + overview["duration_ns"]
        rows = tests.run("analyze/msconvert", "-q", "--to=ndjson", "-o", "-", path).splitlines()
        self.events = [json.loads(row) for row in rows]
        self.own = self.own_from()
        if self.own:
            self.begin = self.events[self.own - 1]["time_ns"]
        self.see(None)

    def own_from(self):
        """Of a forked child: the event behind its fork."""
        if not self.parent:
            return 0
        first = next((i for i, event in enumerate(self.events) if event["tid"] == self.pid), len(self.events))
        forks = [i for i in range(first) if self.events[i]["operation"] == "fork"]
        return forks[-1] + 1 if forks else 0

    def lives(self, chosen):
        """By block: the lifetime of its chain of reallocs, in calls and in ns."""
        calls, chains, first_of, lives = 0, {}, {}, {}
        for event in self.events:
            if chosen.is_over(self, event["time_ns"]):
                break
            calls += event["type"] in ("alloc", "resize")
            first = first_of.get(event.get("old_block"))
            if event["type"] == "alloc":
                first = event["block"]
                chains[first] = calls, event["time_ns"]
            if event["type"] in ("alloc", "resize"):
                first_of[event["block"]] = first
            elif event["type"] == "free" and first in chains:
                lives[first] = calls - chains[first][0], event["time_ns"] - chains[first][1]
        for first, (born, time_ns) in chains.items():
            lives.setdefault(first, (calls - born, max(chosen.last(self) - time_ns, 0)))
        return {block: lives[first] for block, first in first_of.items() if first in lives}

    def see(self, chosen):
        """Without a choice, all blocks."""
        blocks, inherited = {}, {}
        lives = self.lives(chosen) if chosen else {}
        self.changes, self.calls, self.bytes = [], 0, 0
        for i, event in enumerate(self.events):
            if i == self.own:
                blocks, inherited = {}, blocks
            if chosen and chosen.is_over(self, event["time_ns"]):
                continue
            change = 0
            if event["type"] in ("free", "resize") and event["old_block"] in blocks:
                change -= blocks.pop(event["old_block"])
            if event["type"] in ("alloc", "resize") and (not chosen or chosen.passes(self, event,
                                                                                     lives[event["block"]])):
                blocks[event["block"]] = event["size"]
                change += event["size"]
                self.calls += i >= self.own
                self.bytes += event["size"] * (i >= self.own)
            if i >= self.own and change:
                self.changes.append((self.start + event["time_ns"], change))
        if self.own == len(self.events) and self.own:
            blocks, inherited = {}, blocks
        self.inherited, self.blocks = sum(inherited.values()), blocks
        self.level, self.peak = 0, 0
        for _, change in self.changes:
            self.level += change
            self.peak = max(self.peak, self.level)


def together(traces, ends):
    """The most that all had live, when events of the same time come trace by trace."""
    events = []
    for number, trace in enumerate(traces):
        events += [(time, number, change) for time, change in trace.changes]
        events.append((trace.start + ends[number], number, -trace.level))
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

    def read(self, files):
        return sorted((Trace(self, file) for file in files),
                      key=lambda trace: (trace.start, trace.pid, trace.first, trace.path))

    def compare(self, files, traces, chosen=None):
        """With the model, which has seen what is chosen; returns the answer."""
        words = chosen.words if chosen else []
        family = self.answer(*words, *files)["family"]
        got = sorted((row["pid"], row["parent_pid"] or 0, row["peak_bytes"], row["end_bytes"], row["end_blocks"],
                      row["bytes"], row["calls"], row["inherited_bytes"]) for row in family["processes"])
        wanted = sorted((t.pid, t.parent, t.peak, sum(t.blocks.values()), len(t.blocks), t.bytes, t.calls, t.inherited)
                        for t in traces if not chosen or chosen.has(t))
        assert got == wanted, (words, got, wanted)
        most = together(traces, [chosen.cut(trace) if chosen else trace.end for trace in traces])
        assert family["peak_bytes"] == most, (words, family["peak_bytes"], most)
        assert family["peak_step_ns"] == 0 and family["traces"] == len(files)
        assert sum(row["then_bytes"] for row in family["processes"]) == family["peak_bytes"]
        for total, keys in (("processes", ("end_bytes", "end_blocks", "bytes", "calls")),
                            ("churn_sites", ("bytes", "calls"))):
            for key in keys:
                assert sum(row[key] for row in family.get(total, ())) == family[key], (words, total, key)
        assert sum(row["bytes"] for row in family.get("end_sites", ())) == family["end_bytes"]
        return family

    def log(self):
        """Of mtrace, whose clock is not known."""
        log = os.path.join(self.folder, "mtrace")
        with open(log, "w", encoding="utf-8") as file:
            file.write("= Start\n@ ./a:[0x1234] + 0x1000 0x20\n@ ./a:[0x1234] - 0x1000\n= End\n")
        return log

    def test_forks(self):
        """What a child has from its parent counts once, also that of a grandchild."""
        files = self.record("forks", sys.executable, "-c", FORKS)
        family = self.compare(files, self.read(files))
        assert len(files) == 5, files
        children = [row for row in family["processes"] if row["parent_pid"]]
        assert len(children) == 4 and min(row["inherited_bytes"] for row in children) > 250000, children
        assert all(row["peak_bytes"] > 20000 for row in children), children
        fork = self.record("fork", self.build.file("corpus/fork"))
        self.compare(fork, self.read(fork))

    def test_programs(self):
        files = self.record("programs", "--trace-children=yes", "sh", "-c", PROGRAMS)
        family = self.compare(files, self.read(files))
        assert len(files) > 4 and {"ls", "sort"} <= {row["program"] for row in family["processes"]}, family
        site = max(family["churn_sites"], key=lambda row: row["processes"])
        assert 1 < site["processes"] <= len(files), site

    def test_filters(self):
        """Of each trace the blocks that pass, with times that all have in common."""
        rng = random.Random(5)
        for number, command in enumerate(((sys.executable, "-c", FORKS),
                                          ("--trace-children=yes", "sh", "-c", PROGRAMS))):
            files = self.record(f"filters{number}", *command)
            # Without the first process: then times count from the first one that is left.
            for some in (files, files, files[1:]):
                traces = self.read(some)
                calls, size = sum(trace.calls for trace in traces), sum(trace.bytes for trace in traces)
                for _ in range(12):
                    chosen = Chosen(rng, traces)
                    for trace in traces:
                        trace.see(chosen)
                    self.compare(some, traces, chosen)
                    said = json.loads(self.ask("-q", "--format=json", *chosen.words, *some).stdout)["filter"]
                    assert said == {"options": said["options"], "calls": sum(trace.calls for trace in traces),
                                    "all_calls": calls, "bytes": sum(trace.bytes for trace in traces),
                                    "all_bytes": size}, (chosen.words, said, calls, size)
                    assert sorted(said["options"]) == sorted(chosen.words), said

    def write(self, name, scripts):
        """A family of processes that begin 370 us apart; a script is a list of (time in us, what happens)."""
        files = []
        for number, script in enumerate(scripts):
            path = os.path.join(self.folder, f"{name}{number}")
            lines = [f"process {number + 1} {10**18 + 370000 * number}", "stack 0 0x1000"]
            for time, what in script:
                lines += [f"time {time * 1000}", what]
            with open(path + ".script", "w", encoding="ascii") as file:
                file.write("\n".join(lines + ["end 9000000", ""]))
            self.run("tests/tools/script2trace", path + ".script", path + ".zst")
            files.append(path + ".zst")
        return files

    def test_last_millisecond(self):
        """--until=N goes on to the next millisecond's begin: what is live within it counts, of all processes."""
        one = [(100, "alloc 0 malloc 0 1000"), (5100, "alloc 1 malloc 0 700"), (5950, "free 1")]
        other = [(5300, "alloc 0 malloc 0 5000"), (5500, "free 0"), (6000, "alloc 1 malloc 0 90000")]
        files = self.write("last", [one, other])
        peaks = [self.answer(f"--until={ms}", *files)["family"]["peak_bytes"] for ms in range(8)]
        assert peaks == [1000] * 5 + [6700] + [91000] * 2, peaks

    def test_every_millisecond(self):
        """Most is live now at the begin, now at the end of the last millisecond."""
        rng = random.Random(11)
        for number in range(6):
            scripts = []
            for _ in range(rng.choice((2, 3))):
                script, live, time = [], [], 0
                for block in range(60):
                    time += rng.choice((30, 120, 400))
                    if live and rng.random() < .5:
                        script.append((time, f"free {live.pop(rng.randrange(len(live)))}"))
                    else:
                        script.append((time, f"alloc {block} malloc 0 {rng.randrange(1, 9000)}"))
                        live.append(block)
                scripts.append([event for event in script if event[0] < 9000])
            files = self.write(f"every{number}_", scripts)
            traces, within = self.read(files), 0
            for until in range(10):
                chosen = Chosen(None, traces, until)
                for trace in traces:
                    trace.see(chosen)
                begun = together(traces, [min(chosen.cut(trace), trace.end) // 10**6 * 10**6 for trace in traces])
                within += self.compare(files, traces, chosen)["peak_bytes"] != begun
            assert within, "no peak depends on the last millisecond"

    def test_filtered_rotation(self):
        """The parts of a process are filtered as one file is; the times go on from part to part."""
        program = (self.build.file("corpus/script"), "7", "60000")
        whole, = self.record("filtered", *program)
        parts = self.record("filtered_parts", "--max-size=64k", "--rotate", *program)
        for words in (["--size=100-5k"], ["--size=100-5k", "--function=main"], ["--module=*script"], ["--thread=*"],
                      ["--function=main", "--function=nothing"]):
            row, = self.answer(*words, *parts)["family"]["processes"]
            overview = self.answer(*words, whole)["overview"]
            for key in ("peak_bytes", "end_bytes", "end_blocks", "bytes", "calls"):
                assert row[key] == overview[key], (words, key, row, overview)
        row, = self.answer(*parts)["family"]["processes"]
        tried = 0
        for part in parts:
            trace, = self.read([part])
            ms = trace.end // 1000000 - 1
            if ms <= trace.begin // 1000000 + 1:
                continue
            tried += 1
            early, late = (self.answer(f"--{side}={time}", *parts)["family"] for side, time in
                           (("until", ms), ("from", ms + 1)))
            for key in ("bytes", "calls"):
                assert early[key] + late[key] == row[key], (part, key, early, late, row)
            live = self.answer("peak", f"--at={ms}", part)["peak"]
            assert (early["end_bytes"], early["end_blocks"]) == (live["bytes"], live["blocks"]), (part, early, live)
        assert tried, parts
        assert "next part" in self.ask("--lifetime=1s-", *parts, status=64).stderr

    def test_pipes(self):
        """What comes through FIFOs, pipes and standard input is read once, whatever is asked."""
        files = self.record("pipes", self.build.file("corpus/fork"))
        massif = os.path.join(self.folder, "massif.out")
        self.run("analyze/msreplay", "-q", "-o", massif, files[0])
        for words, inputs in (([], files), (["--until=5ms"], files), (["--size=1-"], [*files, massif]),
                              (["--diff"], files), (["--check=calls>=0", "--check=live(at=0)>=0"], files),
                              (["overview", "leaks", "savings", "--lifetime=0calls-"], files[:1]),
                              (["peak"], [massif])):
            plain = self.ask("-q", "--format=csv", *words, *inputs)
            for standard in (False, True):
                names = [os.path.join(self.folder, f"fifo{i}") for i in range(len(inputs))]
                feeders = []
                for name, path in zip(names, inputs):
                    os.mkfifo(name)
                    feeders.append(subprocess.Popen(["sh", "-c", 'cat "$1" >"$2"', "sh", path, name]))
                if standard:
                    with open(names[0], "rb") as file:
                        got = subprocess.run([self.msreport, "-q", "--format=csv", *words, "-", *names[1:]],
                                             stdin=file, capture_output=True, text=True, timeout=60)
                else:
                    got = subprocess.run([self.msreport, "-q", "--format=csv", *words, *names], text=True,
                                         capture_output=True, timeout=60)
                assert [feeder.wait() for feeder in feeders] == [0] * len(feeders), (words, got)
                fed, text = ["-" if standard and i == 0 else name for i, name in enumerate(names)], got.stdout
                for name, path in zip(fed, inputs):
                    text = text.replace(name, path) if name != "-" else \
                        text.replace("standard input", path).replace(",-\n", f",{path}\n")
                assert (got.returncode, sorted(text.splitlines())) == (0, sorted(plain.stdout.splitlines())), \
                    (words, text, plain.stdout, got.stderr)
                for name in names:
                    os.remove(name)

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
        family = self.answer(null, self.log())["family"]
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
        if Draft202012Validator:
            with open(os.path.join(self.source, "docs/msreport.schema.json"), encoding="utf-8") as file:
                schema = json.load(file)
            document = json.loads(self.ask("--format=json", *files).stdout)
            Draft202012Validator(schema).validate(document)
            described = schema["properties"]["sections"]["properties"]["family"]["properties"]
            assert set(document["sections"]["family"]) <= set(described)

    def test_refusals(self):
        files = self.record("refusals", self.build.file("corpus/fork"))
        assert "is about one trace" in self.ask("leaks", *files, status=64).stderr
        assert "given twice" in self.ask(files[0], files[0], status=64).stderr
        assert "about one trace" in self.ask("--by=function", *files, status=64).stderr
        assert "about one trace" in self.ask("--at=end", *files, status=64).stderr
        assert "not known" in self.ask("--from=1s", files[0], self.log(), status=64).stderr
        late = self.ask("--from=1h", *files)
        assert "after the last end" in late.stderr and "0 processes" in late.stdout, late
        for word in ("--thread=99999", "--module=none", "--function=none"):
            assert self.ask(word, *files).stderr.count(word) == 1
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
