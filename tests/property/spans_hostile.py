#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spans of hostile traces: the fuzzers' corpus, and mutations of it and of a sound trace with marks. msreport --span
ends soon, with one of its exit codes, and what it prints is JSON.

  spans_hostile.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all are fine, 1 not (the trace is left in the --keep directory).
"""

import json
import os
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools")]
import page_hostile                                     # noqa: E402
from harness import run_tries                           # noqa: E402
from page_hostile import OTHERS, SECONDS, Hostile       # noqa: E402

WITH_ANSWER = (0, 1)
KINDS = ("mark:*", "*", "each:*0*", "thread", "every:1ms")
MARKS = """mark span:a
alloc 3 malloc 0 70
mark span:b
mark /span
free 3
mark /span
mark /span
time 91000000
mark span:c
alloc 4 malloc 1 80
"""


class Kitchen(page_hostile.Kitchen):
    """Makes traces and asks about their spans."""

    script = page_hostile.SCRIPT.replace("free_by", MARKS + "free_by")

    def check(self):
        for kind in KINDS:
            words = [self.tool("analyze/msreport"), "-q", "-j1", "--format=json", f"--span={kind}", self.path("t.zst")]
            try:
                done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
            except subprocess.TimeoutExpired as error:
                raise Hostile(f"no end after {SECONDS} s") from error
            if done.returncode not in WITH_ANSWER + OTHERS:
                raise Hostile(f"--span={kind}: exit {done.returncode}: {done.stderr[:1000]}")
            if done.returncode in WITH_ANSWER:
                try:
                    json.loads(done.stdout)
                except ValueError as error:
                    raise Hostile(f"--span={kind}: {error}: {done.stdout[:300]}") from error


if __name__ == "__main__":
    sys.exit(run_tries(__doc__, Kitchen, Kitchen.try_once))
