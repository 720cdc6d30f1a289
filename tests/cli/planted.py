#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreport's verdicts and findings on corpus/planted.cpp: of each fault the right one in the right section, none of the
wrong ones, also not in the overview, and nothing about the ordinary work beside it.

  planted.py --build DIR
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import run_methods    # noqa: E402

FAULTS = ("cache", "leak", "drip", "index", "jump", "shared", "load", "ladder", "hoist", "batch", "table",
          "start_up", "mismatch", "produce")
SECTIONS = ("overview", "leaks", "growth", "steps", "churn", "threads", "errors")
ROUND = 6000            # microseconds; 2.4 s in all
LATE = 150              # ms: the machine was too busy for a judgement by time
SECOND = 10**9


def of(function, rows):
    return [row for row in rows if row["function"] == function + "(int)"]


class Tests:
    """Each method is one test."""

    def __init__(self, options, folder):
        self.build, self.folder = options.build, folder
        self.msreport, self.planted = self.build.file("analyze/msreport"), self.build.file("corpus/planted")
        self.sections, rest = {}, FAULTS
        for _ in range(10):
            rest = self.record(rest)
            if not rest:
                break
        assert not rest, f"{rest}: the machine is too busy"

    def trace(self, fault):
        return os.path.join(self.folder, fault + ".zst")

    def record(self, faults):
        """All at a time, because they sleep. Returns those that ran too late."""
        runs = [subprocess.Popen([self.build.msrec, "-q", "-f", "-o", self.trace(fault), self.planted, fault,
                                  str(ROUND)], stdout=subprocess.PIPE, text=True) for fault in faults]
        late = []
        for fault, run in zip(faults, runs):
            said = run.communicate()[0]
            assert run.returncode == 0, (fault, run.returncode)
            if int(said) > LATE:
                late.append(fault)
            else:
                self.sections[fault] = self.answer(*SECTIONS, self.trace(fault))
        return late

    def answer(self, *words):
        done = subprocess.run([self.msreport, "-q", "--format=json", "--top=1000", *words], capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)["sections"]

    def verdicts(self, fault):
        """The leaks with a verdict of the function of the fault; the work beside it must have none that is wrong."""
        leaks = self.sections[fault]["leaks"]
        work = [row["verdict"] for row in leaks["leaks"] if row["function"] == "work()"]
        assert set(work) <= {"bounded", "not judged"} and work, (fault, work)
        assert not [row for row in leaks.get("until_exit", []) if row["function"] == "work()"], leaks
        return {row["verdict"] for row in of(fault, leaks["leaks"] + leaks.get("until_exit", []))}

    def grows(self, fault, section=None):
        """Also in what the overview says."""
        section = section or self.sections[fault]["overview"]
        said = [note for note in section["notes"] if " grew by " in note]
        rows = section.get("growth", [])
        assert bool(said) == bool(rows), section
        return [row["function"] for row in rows]

    def test_only_leaks_grow(self):
        wanted = {"leak": ["leak(int)"], "drip": ["drip(int)"], "index": ["index(int)"],
                  "shared": ["keep(unsigned long)"]}
        for fault in FAULTS:
            assert self.grows(fault) == wanted.get(fault, []), (fault, self.grows(fault))
            grows = fault in ("leak", "drip", "index")
            assert ("growing" in self.verdicts(fault)) == grows, (fault, self.verdicts(fault))

    def test_leak(self):
        assert self.verdicts("leak") == {"growing"}
        row = of("leak", self.sections["leak"]["leaks"]["leaks"])[0]
        true = 200 * 100 / 2.4 * 60         # bytes a minute
        assert true / 1.5 < row["bytes_per_minute"] < true * 1.5, row
        assert self.sections["leak"]["leaks"]["leaks"][0] == row, "it stands at the top"
        assert row["blocks"] >= 100 and row["since_ns"] < SECOND, row
        assert row["bytes_per_day"] is None, "a day of 2.4 seconds"
        assert 200 * 100 / 1.5 < row["grown_bytes"] < 200 * 100 * 1.5, row
        assert "leak(int) grew by" in "\n".join(self.sections["leak"]["overview"]["notes"])

    def test_leak_below_noise(self):
        """Not the block beside it, which is larger than all that leaks."""
        row, = [row for row in of("drip", self.sections["drip"]["leaks"]["leaks"]) if row["verdict"] == "growing"]
        true = 80 * 100
        assert true / 1.25 < row["grown_bytes"] < true * 1.25, row
        assert true / 2.4 * 60 / 1.4 < row["bytes_per_minute"] < true / 2.4 * 60 * 1.4, row
        assert "drip(int) grew by" in "\n".join(self.sections["drip"]["overview"]["notes"])

    def test_what_grows_late_has_its_own_rate(self):
        """Not that of the run, which is a fifth of it or less."""
        row = of("index", self.sections["index"]["leaks"]["leaks"])[0]
        true = 4 * 400 * 80
        assert true / 1.3 < row["grown_bytes"] < true * 1.3, row
        assert .7 * 2.4 * SECOND < row["since_ns"] < .87 * 2.4 * SECOND, row
        rate = true / (2.4 / 5) * 60
        assert rate / 1.4 < row["bytes_per_minute"] < rate * 1.4, row
        growth, = self.sections["index"]["overview"]["growth"]
        assert all(row[key] == growth[key] for key in ("bytes_per_minute", "since_ns", "grown_bytes")), (row, growth)
        said = "\n".join(self.sections["index"]["overview"]["notes"])
        assert "index(int) grew by" in said and "in the last" in said, said

    def test_leak_beside_a_cache(self):
        """The site does not grow, one of its stacks does: that one is what the overview is about."""
        overview, leaks = self.sections["shared"]["overview"], self.sections["shared"]["leaks"]["leaks"]
        stacks = [row for row in leaks if row["function"] == "keep(unsigned long)"]
        leak, = [row for row in stacks if row["verdict"] == "growing"]
        assert len(stacks) == 2, stacks
        row, = overview["growth"]
        assert (row["verdict"], row["id"]) == ("mixed", leak["id"]), (row, leak)
        assert all(row[key] == leak[key] for key in ("bytes", "bytes_per_minute", "since_ns")), (row, leak)
        assert row["bytes"] == 250 * 100, row
        said = "\n".join(overview["notes"])
        assert "A part of keep(unsigned long), called by forget(), grew by" in said, said
        assert self.sections["leak"]["overview"]["growth"][0]["verdict"] == "growing"

    def test_verdicts(self):
        for fault, verdict in (("cache", "bounded"), ("batch", "sawtooth"), ("table", "until exit"),
                               ("start_up", "once")):
            assert self.verdicts(fault) == {verdict}, (fault, self.verdicts(fault))
        assert self.verdicts("jump") == {"not judged"}, self.verdicts("jump")
        for fault in ("load", "ladder", "hoist", "mismatch", "produce"):
            assert not self.verdicts(fault), (fault, self.verdicts(fault))

    def test_table(self):
        """What is freed at the exit only is in a table of its own, and is no leak."""
        leaks = self.sections["table"]["leaks"]
        row, = of("table", leaks["until_exit"])
        assert row["bytes"] == 50 * 600 and row["bytes_per_minute"] is None, row
        assert not of("table", leaks["leaks"])

    def large_steps(self, fault):
        """Those of a quarter of a megabyte, each with the functions that made it."""
        steps = self.sections[fault]["steps"]
        return [{**step, "made_by": [row["function"] for row in steps["made_by"] if row["step"] == step["step"]]}
                for step in steps["steps"] if abs(step["bytes"]) > 250000]

    def test_steps(self):
        for fault in FAULTS:
            if fault != "shared":
                assert len(self.large_steps(fault)) == {"load": 2}.get(fault, 0), self.large_steps(fault)
        up, down = self.large_steps("load")
        assert up["bytes"] > 1000000 and down["bytes"] < -1000000, (up, down)
        assert .7 * SECOND < up["from_ns"] < 1.3 * SECOND < up["back_ns"] < 2.1 * SECOND, (up, down)
        assert up["made_by"][0] == down["made_by"][0] == "load(int)", (up, down)
        assert not of("load", [row for row in self.sections["load"]["steps"]["made_by"]
                               if row["step"] not in (up["step"], down["step"])])
        # The start, in which the consumer gets no processor for a while on a busy machine.
        starts = self.large_steps("shared")
        assert 1 <= len(starts) <= 3, starts
        assert all(start["from_ns"] < .4 * SECOND and start["made_by"][0] == "keep(unsigned long)"
                   for start in starts), starts

    def test_noise_has_no_steps(self):
        """Behind the start, which takes a while on a busy machine, and before the clean-up."""
        for fault in FAULTS:
            steps = [step for step in self.sections[fault]["steps"]["steps"]
                     if step["from_ns"] > .4 * SECOND and step["until_ns"] < 2.3 * SECOND]
            if fault == "shared":       # on a busy machine the consumer falls behind, and catches up
                steps = [step for step in steps if step["bytes"] > 0 and step["back_ns"] is None]
            if fault in ("leak", "shared", "cache", "hoist", "mismatch", "table", "start_up"):
                assert not steps, (fault, steps)

    def test_ladder(self):
        for fault in FAULTS:
            rows = self.sections[fault]["churn"].get("reallocs", [])
            assert bool(rows) == (fault == "ladder"), (fault, rows)
        row, = of("ladder", self.sections["ladder"]["churn"]["reallocs"])
        assert (row["reallocs"], row["chain"], row["chain_from"], row["chain_to"]) == (8 * 399, 399, 100, 40000), row

    def test_hoist(self):
        row = self.sections["hoist"]["churn"]["busiest"][0]
        assert of("hoist", [row]) and row["calls"] == 40000, row
        assert row["life_calls_max"] == 0 and row["temporary_share"] == 1, row
        for fault in ("cache", "leak", "load", "batch"):
            for row in of(fault, self.sections[fault]["churn"]["busiest"]):
                assert row["temporary_share"] < .2, (fault, row)

    def test_mismatch(self):
        for fault in FAULTS:
            errors = self.sections[fault]["errors"]
            assert errors["mismatches"] == (400 if fault == "mismatch" else 0), (fault, errors)
            assert errors["double_frees"] == errors["unknown_blocks"] == 0, (fault, errors)
        row, = self.sections["mismatch"]["errors"]["errors"]
        assert (row["error"], row["count"], row["size"], row["block"], row["call"]) == (
            "mismatch", 400, 80, "new_array", "free"), row

    def test_producer_and_consumer(self):
        for fault in FAULTS:
            pairs = [row for row in self.sections[fault]["threads"].get("freed_by_others", [])
                     if row["allocated_by"] != row["freed_by"]]
            assert [row["blocks"] for row in pairs] == ([2000] if fault == "produce" else []), (fault, pairs)
        frees = {row["foreign"] for row in self.sections["produce"]["threads"]["threads"]}
        assert frees == {0, 2000}, frees


def main():
    return run_methods(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
