#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names of threads in traces: each call is made by a thread that has the right name at that time, by the decoder that
knows FORMAT.md alone; and what the tools show of them.

  thread_names.py --build DIR
"""

import collections
import csv
import io
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools"), os.path.join(HERE, "../oracle")]
from decode import Decoder    # noqa: E402
from harness import Checks, Scratch, arguments, until    # noqa: E402

PROGRAM = "thread_names_pr"     # thread_names_program, as the kernel cuts it
NAMES = [PROGRAM, "by itself", "by prctl, and l", "by its parent", "renamed", "by a file"]
check = Checks()


def numbers(line):
    return {key: value for key, _, value in (word.partition("=") for word in line.split())}


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.decoder = Decoder(file.read())
        self.lines = list(self.decoder.lines())
        self.names = collections.defaultdict(list)      # by thread: (time, name), as they stand in the file
        for thread, time, name in self.decoder.thread_names:
            self.names[thread].append((time, name.replace("\\x20", " ")))

    def name(self, thread, time):
        return ([""] + [name for since, name in self.names[thread] if since <= time])[-1]

    def calls(self):
        """(size, name) of each call of the program's own."""
        for line in self.lines:
            if line.startswith("alloc "):
                call = numbers(line)
                size = self.decoder.kinds[int(call["kind"])][2]
                if 1000 <= size < 1000 + len(NAMES):
                    yield size, self.name(int(call["thread"]), int(call["time"]))


def check_calls(what, trace, calls):
    found = list(trace.calls())
    check(f"{what}: calls of all threads", len(found) == calls, len(found))
    wrong = [(size, name, NAMES[size - 1000]) for size, name in found if name != NAMES[size - 1000]]
    # The times of a call and of a name are up to 64 units too low: of the very moment of a thread's first own name,
    # either may seem to be first.
    last = {thread: names[-1][1] for thread, names in trace.names.items()}
    check(f"{what}: each by a thread of the right name", all(
        PROGRAM in (name, right) and {name, right} <= {PROGRAM, *last.values()} for _, name, right in wrong), wrong)
    for name in NAMES[1:5]:
        check(f"{what}: five threads are last called '{name}'", list(last.values()).count(name) == 5, last)
    check(f"{what}: names of a thread stand in the order of time",
          all(names == sorted(names, key=lambda each: each[0]) for names in trace.names.values()), trace.names)


def check_tools(build, trace):
    def convert(*options):
        return subprocess.run([build.file("analyze/msconvert"), "-q", *options, trace], capture_output=True, text=True)

    whole = Trace(trace)
    rows = list(csv.DictReader(io.StringIO(convert("--to=csv-threads").stdout)))
    tids = whole.decoder.threads
    check("--to=csv-threads", [(int(row["tid"]), int(row["time_ns"]), row["name"]) for row in rows] ==
          [(tids[thread], time << 10, name.replace("\\x20", " "))
           for thread, time, name in whole.decoder.thread_names], rows[:3])
    for pattern, blocks in (("renamed", 5), ("by*", 20), ("[bf]*r[as]*", 5), ("nothing", 0)):
        sizes = [line for line in convert("--to=folded", "--value=alloc_objects", f"--thread={pattern}").stdout
                 .splitlines() if ";call" in line]
        found = sum(int(line.rsplit(" ", 1)[1]) for line in sizes)
        check(f"--thread={pattern}", found == blocks, (found, sizes))
    none = subprocess.run([build.file("analyze/msconvert"), "--to=folded", "--thread=nothing", trace],
                          capture_output=True, text=True)
    check("a name that no thread has", "--thread=nothing: no such thread is in it" in none.stderr, none.stderr)
    cut = trace + ".again.zst"
    subprocess.run([build.file("analyze/msconvert"), "-q", "--to=trace", "-o", cut, trace], check=True)
    again = Trace(cut)
    check("a trace that is written again keeps all names",
          sorted(map(sorted, again.names.values())) == sorted(map(sorted, whole.names.values())), again.names)
    check("and their threads", list(again.calls()) == list(whole.calls()))
    table = subprocess.run([build.file("analyze/msreplay"), "-q", "--memusage=full", trace], check=True, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    check("--memusage=full has them", table.count("   by its parent\n") == 5, table)


def main():
    build = arguments(__doc__).build
    program = build.file("tests/cli/thread_names_program")
    with Scratch() as scratch:
        trace = os.path.join(scratch, "trace")
        subprocess.run([build.msrec, "-q", "-o", trace, program], check=True)
        check_calls("short threads", Trace(trace), 30)
        check_tools(build, trace)
        subprocess.run([build.msrec, "-q", "-f", "-o", trace, "--max-size=64k", "--rotate", program], check=True)
        check_calls("a rotation", Trace(trace), 30)
        long = subprocess.Popen([build.msrec, "-q", "-f", "-o", trace, program, "stay"], stdin=subprocess.PIPE)
        comms = f"/proc/{long.pid}/task/{long.pid}/children"
        check("a thread writes its name to a file", until(lambda: any(
            open(f"/proc/{pid}/task/{task}/comm").read() == "by a file\n"
            for pid in open(comms).read().split() for task in os.listdir(f"/proc/{pid}/task"))))
        size = os.path.getsize(trace)
        # The names of threads are looked at before the file is flushed, once a second.
        until(lambda: os.path.getsize(trace) > size, 3)
        until(lambda: False, 2)
        long.communicate()
        check("a name that was no call's", "by a file" in
              [name for names in Trace(trace).names.values() for _, name in names])
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
