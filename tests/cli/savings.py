#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`msreport savings` gives the right advice about a program of planted habits, and none about what only looks so.

  savings.py --build DIR
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import run_methods    # noqa: E402


class Tests:
    """Each method is one test."""

    def __init__(self, options, folder):
        self.build, self.folder = options.build, folder
        self.program = self.build.file("tests/cli/savings_program")
        self.msreport = self.build.file("analyze/msreport")

    def record(self, name, *words):
        """`words`: options of msrec, --, arguments of the program."""
        options, arguments_ = words[:words.index("--")], words[words.index("--") + 1:]
        trace = os.path.join(self.folder, name)
        subprocess.run([self.build.msrec, "-q", "-f", "-o", trace, *options, self.program, *arguments_], check=True)
        return trace

    def ask(self, trace, *words, **more):
        done = subprocess.run([self.msreport, "-q", "savings", "--format=json", "--top=100", *words, trace],
                              capture_output=True, text=True, **more)
        assert done.returncode == 0, done
        return json.loads(done.stdout)["sections"]["savings"]

    def advice(self, section):
        return {(row["function"].split("(")[0], row["what"]): row for row in section.get("suggestions", [])}

    def test_habits(self):
        section = self.ask(self.record("habits", "--free-stacks=yes", "--", "habits"))
        advice = self.advice(section)
        wanted = {("resized_ladder", "reserve"), ("vector_ladder", "reserve"), ("local_buffer", "stack"),
                  ("made_elsewhere", "hoist"), ("varying", "reuse"), ("pooled", "pool"),
                  ("scratch_table", "free earlier")}
        assert set(advice) == wanted, (set(advice) ^ wanted, advice)
        figures = {what: advice[what] for what in advice}
        assert figures["resized_ladder", "reserve"]["saved_calls"] == 300 * 12
        ladder = figures["vector_ladder", "reserve"]
        assert (ladder["saved_calls"], ladder["ladders"], ladder["longest"]) == (300 * 13, 300, 13), ladder
        assert ladder["saved_copied_bytes"] == 300 * (32768 - 4), ladder
        assert figures["local_buffer", "stack"]["saved_calls"] == 5000
        assert figures["made_elsewhere", "hoist"]["saved_calls"] == 4999
        assert figures["pooled", "pool"]["saved_calls"] == 20000 - 5
        earlier = figures["scratch_table", "free earlier"]
        assert earlier["before"].startswith("tree_node") and earlier["early_bytes"] == 8 << 20, earlier
        # Without the table the peak is that of the nodes, or where the table alone is.
        assert earlier["saved_peak_bytes"] == min(100000 * 40, 8 << 20), earlier
        assert section["sites_for_half"] == 1 and section["lower_peak"][0]["function"].startswith("scratch_table")
        assert not any("--free-stacks" in note for note in section["notes"]), section["notes"]

    def test_without_stacks_of_frees(self):
        section = self.ask(self.record("bare", "--", "habits"))
        advice = self.advice(section)
        assert ("local_buffer", "hoist") in advice and ("local_buffer", "stack") not in advice, advice
        assert any("--free-stacks=yes" in note for note in section["notes"]), section["notes"]

    def test_what_only_looks_so(self):
        section = self.ask(self.record("looks", "--", "looks"))
        names = ("recursive", "handed_over", "cached", "rehashed", "hand_over", "main")
        ours = {what for what in self.advice(section) if what[0] in names}
        assert not ours, ours
        section = self.ask(self.record("looks-twice", "--free-stacks=yes", "--", "looks"))
        ours = {what for what in self.advice(section) if what[0] in names}
        assert ours == {("recursive", "stack")}, ours      # a local variable is one for each call

    def test_traces_that_lack_something(self):
        sample = self.ask(self.record("sample", "--sample=4k", "--", "habits"))
        assert list(sample) == ["notes"] and any("without --sample" in note for note in sample["notes"]), sample
        blind = self.ask(self.record("blind", "--identity=no", "--", "habits"))
        assert "suggestions" not in blind and blind["lower_peak"], blind
        assert any("--identity=yes" in note for note in blind["notes"]), blind

    def test_a_pipe(self):
        """Standard input is read twice, if need be by way of a copy."""
        trace = self.record("piped", "--", "habits")
        with open(trace, "rb") as file:
            assert self.ask("-", stdin=file) == self.ask(trace)
        with subprocess.Popen(["cat", trace], stdout=subprocess.PIPE) as cat:
            assert self.ask("-", stdin=cat.stdout) == self.ask(trace)


def main():
    return run_methods(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
