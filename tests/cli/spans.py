#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreport spans on recordings of programs with known requests: marked by msrec.h, and told from the stacks.

  spans.py --build DIR [--only WORD]
"""

import csv
import io
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools")]
from harness import plain_environment, run_in_folders    # noqa: E402

TEMPORARY, SESSION, RESPONSE, LEAK = 1000, 200, 300, 40
WORKERS, REQUESTS = 3, 200
LEAKS = REQUESTS // 10
FUNCTION = "--span=*handle_request*"
MOST_MEMORY = 400 << 10     # KiB


class Tests:
    folder, said = None, ""

    def __init__(self, build):
        self.build = build
        self.program = build.file("tests/cli/spans_program")

    def run(self, tool, *words, status=0, **more):
        done = subprocess.run([tool, *words], cwd=self.folder, capture_output=True, timeout=120,
                              env=plain_environment(), **more)
        self.said = done.stderr.decode()
        assert done.returncode == status, f"{tool} {words}: status {done.returncode}: {self.said}"
        return done.stdout.decode()

    def record(self, *words, options=()):
        trace = os.path.join(self.folder, "t.zst")
        self.run(self.build.msrec, "-q", "-f", "-o", trace, *options, self.program, *words)
        return trace

    def report(self, *words, **more):
        return self.run(self.build.file("analyze/msreport"), "-q", *words, **more)

    def spans(self, *words):
        return json.loads(self.report("--format=json", "--top=100", "spans", *words))["sections"]["spans"]

    def script(self, text):
        with open(os.path.join(self.folder, "script"), "w", encoding="ascii") as file:
            file.write(text)
        self.run(self.build.file("tests/tools/script2trace"), "script", "scripted")
        return os.path.join(self.folder, "scripted")

    # ---- a server ----

    def check_server(self, section, last_within=0):
        """Each request has what the program gives it. `last_within`: workers that seem to end within their last one."""
        assert section["spans"] == REQUESTS, section["spans"]
        size = TEMPORARY + SESSION + RESPONSE
        assert section["bytes"] == REQUESTS * size + LEAKS * LEAK, section["bytes"]
        assert section["calls"] == 3 * REQUESTS + LEAKS, section["calls"]
        fates = [(row["bytes"], row["blocks"], row["spans"]) for row in section["fates"]]
        later = REQUESTS - WORKERS
        last_after = WORKERS - last_within
        assert fates == [(TEMPORARY * REQUESTS + SESSION * last_within, REQUESTS + last_within, REQUESTS),
                         (SESSION * later, later, later),
                         (RESPONSE * REQUESTS + SESSION * last_after, REQUESTS + last_after, REQUESTS),
                         (LEAK * LEAKS, LEAKS, LEAKS)], fates
        rows = {row["quantile"]: row for row in section["distribution"]}
        middle, most = rows["p50"], rows["most"]
        assert (middle["bytes"], middle["left_bytes"], middle["later_bytes"]) == (size, 0, SESSION), middle
        assert (most["bytes"], most["left_bytes"], most["calls"]) == (size + LEAK, LEAK, 4), most
        assert (middle["peak_bytes"], most["peak_bytes"]) == (size, size + LEAK), rows
        assert len(section["leaving"]) == LEAKS, section["leaving"]
        assert all("take" in row["function"] and row["left_bytes"] == LEAK for row in section["leaving"])
        assert all(row["begin_ns"] > 0 and row["tid"] for row in section["largest"])
        left = [(row["function"], row["left_bytes"]) for row in section["sites"] if row["left_bytes"]]
        assert len(left) == 1 and "take" in left[0][0] and left[0][1] == LEAK * LEAKS, left
        replaced = [(row["function"], row["later_bytes"]) for row in section["sites"] if row["later_bytes"]]
        assert len(replaced) == 1 and "handle_request" in replaced[0][0], replaced
        assert replaced[0][1] == SESSION * later, replaced

    def test_server_marked(self):
        for how in "gap", "tight":
            trace = self.record("serve", how, str(WORKERS), str(REQUESTS))
            section = self.spans(trace)
            self.check_server(section)
            assert (section["no_begin"], section["no_end"]) == (0, 0), section

    def test_server_calls(self):
        """Told from the stacks, where a worker allocates between two requests."""
        trace = self.record("serve", "gap", str(WORKERS), str(REQUESTS))
        section = self.spans(FUNCTION, trace)
        self.check_server(section)
        assert section["repeats"] == 0, section["repeats"]
        marked = self.spans(trace)
        for key in "distribution", "fates", "sites", "largest", "highest", "leaving":
            assert self.without_begins(section[key]) == self.without_begins(marked[key]), key

    @staticmethod
    def without_begins(rows):
        """A mark comes before the first call; so workers may come in another order, which spans are numbered by."""
        begins = {"begin_ns": 0, "time_ns": 0, "name": None, "number": 0, "tid": 0}
        return sorted(json.dumps({**row, **begins}, sort_keys=True) for row in rows)

    def test_server_in_a_row(self):
        """Calls with nothing between them cannot be told apart, which is said; `each:` does by the first call."""
        trace = self.record("serve", "tight", str(WORKERS), str(REQUESTS))
        section = self.spans(FUNCTION, trace)
        assert section["spans"] == WORKERS and section["repeated"] == WORKERS, section["spans"]
        assert section["spans"] + section["repeats"] == REQUESTS, section["repeats"]
        assert any("several calls" in note for note in section["notes"]), section["notes"]
        section = self.spans("--span=each:*handle_request*", trace)
        self.check_server(section, WORKERS)
        assert not any("several calls" in note for note in section.get("notes", [])), section

    def test_stacks_of_frees(self):
        """A free with its stack shows where a thread is."""
        trace = self.record("serve", "gap", str(WORKERS), str(REQUESTS), options=("--free-stacks=yes",))
        self.check_server(self.spans(FUNCTION, trace))

    def test_sampled(self):
        trace = self.record("serve", "gap", str(WORKERS), str(REQUESTS), options=("--sample=4k",))
        notes = self.spans(FUNCTION, trace)["notes"]
        assert notes[0].startswith("Estimates:") and any("rough" in note for note in notes), notes

    def test_anonymous(self):
        """Without identity, what is allocated is known, and nothing else."""
        trace = self.record("serve", "gap", str(WORKERS), str(REQUESTS), options=("--identity=no",))
        section = self.spans(FUNCTION, trace)
        assert section["spans"] == REQUESTS and "fates" not in section and "leaving" not in section, section
        assert all(row["peak_bytes"] is None and row["bytes"] for row in section["distribution"]), section

    # ---- marks ----

    def test_nested(self):
        trace = self.record("nested")
        section = self.spans(trace)
        names = {row["name"]: (row["spans"], row["bytes"]) for row in section["names"]}
        assert section["spans"] == 3 and names == {"a": (1, 60), "b": (1, 40), "": (1, 0)}, names
        section = self.spans("--span=mark:b", trace)
        assert [row["bytes"] for row in section["largest"]] == [40, 20] and "names" not in section, section
        overview = json.loads(self.report("--format=json", trace))["sections"]["overview"]
        assert overview["marked_spans"] == 4 and [m["name"] for m in overview["marks"]] == ["span"], overview

    def test_unbalanced(self):
        section = self.spans(self.record("unbalanced"))
        assert (section["spans"], section["no_begin"], section["no_end"]) == (3, 2, 3), section
        left = {row["name"]: row["left_bytes"] for row in section["leaving"]}
        assert left == {"ends with its thread": 2, "begun in another thread": 4, "never ends": 32}, left
        assert any(note.startswith("2 ends of spans") for note in section["notes"]), section["notes"]
        assert any(note.startswith("3 of them have no end") for note in section["notes"]), section["notes"]

    def test_cut(self):
        """A part of the run may have the end of a span alone."""
        trace = self.record("nested")
        section = self.spans("--from=mark:span:b", trace)
        assert section["spans"] == 3 and section["no_begin"] == 1, section["notes"]

    def test_many(self):
        """Of many spans quantiles are rounded down, by less than a quarter."""
        n = 150000
        section = self.spans(self.record("many", str(n)))
        rows = {row["quantile"]: row for row in section["distribution"]}
        assert section["spans"] == n and any("rounded down" in note for note in section["notes"]), section
        for name, exact in (("p50", 500), ("p90", 900), ("p99", 990)):
            assert exact * .8 <= rows[name]["bytes"] <= exact, rows[name]
        assert (rows["most"]["bytes"], rows["mean"]["bytes"]) == (1000, 500), rows

    def test_nested_million(self):
        """Half a million beginnings and as many ends, in one thread, take little memory."""
        half = 1 << 19
        trace = self.script("stack 0 0x1000\nalloc 0 malloc 0 1\n" + "mark span:x\n" * half +
                            "alloc 1 malloc 0 7\n" + "mark /span\n" * (half - 1) + "alloc 2 malloc 0 8\nend 5\n")
        msreport = self.build.file("analyze/msreport")
        with open(msreport, "rb") as file:
            limit = "unlimited" if b"__asan_init" in file.read() else MOST_MEMORY   # it maps its shadow
        out = self.run("/usr/bin/env", "bash", "-c", f"ulimit -v {limit}; exec \"$@\"", "-", msreport, "-q", "-j1",
                       "--format=json", "spans", trace)
        section = json.loads(out)["sections"]["spans"]
        assert (section["spans"], section["bytes"], section["no_end"]) == (1, 15, 1), section

    def test_rewritten(self):
        """Borders of spans stay what they are in a shorter trace, and in one without names."""
        trace = self.record("serve", "gap", str(WORKERS), str(REQUESTS))
        for words in ["--level=19"], ["--anonymize"]:
            self.run(self.build.file("analyze/msconvert"), "-q", "--to=trace", *words, "-o", "new", trace)
            section = self.spans(os.path.join(self.folder, "new"))
            assert section["spans"] == REQUESTS and section["no_begin"] == 0, section
            assert (section["largest"][0]["name"] == "request") == (words != ["--anonymize"]), section["largest"][0]

    # ---- others ----

    def test_recursion(self):
        section = self.spans("--span=*walk*", self.record("recurse"))
        assert [row["bytes"] for row in section["largest"]] == [410, 203], section["largest"]

    def test_threads(self):
        section = self.spans("--span=thread", self.record("serve", "gap", str(WORKERS), str(REQUESTS)))
        assert section["spans"] == WORKERS + 1 and section["outside_calls"] == 0, section

    def test_windows(self):
        trace = self.record("serve", "gap", str(WORKERS), str(REQUESTS))
        section = self.spans("--span=every:1ms", trace)
        overview = json.loads(self.report("--format=json", trace))["sections"]["overview"]
        assert (section["bytes"], section["calls"]) == (overview["bytes"], overview["calls"]), section
        assert section["spans"] + section["empty"] == overview["duration_ns"] // 1000000 + 1, section

    def test_forms(self):
        """Text, Markdown and CSV; --span asks for the section, beside others as well."""
        trace = self.record("serve", "gap", str(WORKERS), str(REQUESTS))
        text = self.report(FUNCTION, trace)
        assert text.startswith("Spans\n") and "left at the end" in text and "p99" in text, text
        assert "| p99 |" in self.report("--format=markdown", FUNCTION, trace)
        rows = list(csv.reader(io.StringIO(self.report("--format=csv", FUNCTION, trace))))
        assert any("left_bytes" in row for row in rows), rows
        both = json.loads(self.report("--format=json", "peak", FUNCTION, trace))["sections"]
        assert list(both) == ["peak", "spans"], list(both)
        with open(trace, "rb") as file:
            assert self.report(FUNCTION, "-", input=file.read()) == text

    def test_nothing(self):
        trace = self.record("recurse")
        assert "No span is marked" in self.report("spans", trace)
        assert "No stack has a function that matches no_such.\n" in self.report("--span=no_such", trace)
        assert "matches ecurs. Names that have it: run_recursion.\n" in self.report("--span=ecurs", trace)

    def test_refused(self):
        trace = self.record("recurse")
        for words in (["--span="], ["--span=every:0"], ["--span=every:1us"], ["--span=every:x"], ["--span=mark:"],
                      ["--span=walk", "--size=1-"], ["--span=walk", "--thread=1"], ["--span=walk", "--diff", trace]):
            self.report(*words, trace, status=64)
        assert self.report("--span=walk", "--until=1h", trace)
        assert self.report("--span=thread", "--size=1-", trace)


if __name__ == "__main__":
    sys.exit(run_in_folders(__doc__, Tests))
