#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreport over heaptrack's own recordings says what heaptrack_print says: calls, temporary allocations, the peak and
what is left, in all and stack by stack.

The stacks' figures are those of heaptrack_print's folded stacks. Those that have the same functions are added up, as
their ids are equal; sums are compared as sets, because the two look names up in their own ways.

  report_oracle.py --build DIR [--only NAME]
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Problem, have, need_heaptrack_print, run_script    # noqa: E402

PROGRAMS = {
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1"
                " from c limit 3000) insert into t select x, 'row ' || x from c; select b, count(*) from t group by b"],
    "perl": ["perl", "-e", "my %h; $h{$_ % 700} .= 'x' x ($_ % 50) for 1..20000; print scalar keys %h"],
    "python3": ["/usr/bin/python3", "-c", "import json; print(len(json.dumps([{'a': str(i)} for i in range(3000)])))"],
    "git": ["git", "--version"],
    "jq": ["jq", "-n", "[range(5000) | {id: ., name: tostring}] | group_by(.id % 7) | map(length)"],
    "xmllint": ["xmllint", "--html", "--noout", "/dev/null"],
    "bash": ["bash", "-c", "for i in {1..500}; do a[i]=$i$i; done; echo ${#a[@]}"],
    "cc1": ["gcc", "-x", "c", "-E", "/usr/include/stdio.h"],
}

# heaptrack_print's cost: section, table, and the member of a row.
COSTS = {
    "allocations": ("churn", "busiest", "calls"),
    "temporary": ("churn", "busiest", "temporary_by_heaptrack"),
    "leaked": ("leaks", "leaks", "bytes"),
    "peak": ("peak", "largest", "bytes"),
}


# Two runs of one program, of which heaptrack_print -d and msreport --diff have the same sums.
PAIRS = {
    "perl diff": (PROGRAMS["perl"], ["perl", "-e", "my %h; $h{$_ % 900} .= 'y' x ($_ % 60) for 1..30000"]),
    "jq diff": (PROGRAMS["jq"], ["jq", "-n", "[range(9000) | {id: ., name: tostring}] | map(.id) | add"]),
    "bash diff": (PROGRAMS["bash"], ["bash", "-c", "for i in {1..900}; do a[i]=$i; b[i]=$i; done; unset a"]),
}

# heaptrack_print's cost, and the title of our sum.
DIFF_COSTS = {"allocations": "calls", "leaked": "end", "peak": "peak"}
# The same of msconvert --diff-base.
DIFF_OPTIONS = {"allocations": ["--value=alloc_objects"], "leaked": ["--at=end"],
                "peak": ["--usable=requested", "--heap-admin=0"]}


class Bench:
    """heaptrack's recording of one program, and both answers."""

    def __init__(self, build, folder):
        self.msreport, self.msconvert = build.file("analyze/msreport"), build.file("analyze/msconvert")
        self.msrec, self.folder = build.msrec, folder

    def record(self, name, command):
        path = os.path.join(self.folder, name)
        subprocess.run(["heaptrack", "-o", path, *command], cwd=self.folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for suffix in (".zst", ".gz"):
            if os.path.exists(path + suffix):
                return path + suffix
        raise Problem("heaptrack wrote no file")

    def theirs(self, recording, cost, *more):
        path = os.path.join(self.folder, "folded")
        subprocess.run(["heaptrack_print", "--disable-builtin-suppressions", "--disable-embedded-suppressions",
                        "-f", recording, "-F", path, "--flamegraph-cost-type", cost, *more],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open(path, encoding="utf-8", errors="replace") as lines:
            return [(stack, int(value)) for stack, value in (line.rsplit(" ", 1) for line in lines)]

    def changes(self, old, new):
        """The change of each sum, by its title, and of the lists in it."""
        command = [self.msreport, "-q", "--format=json", "--figure=all", "--diff", old, new]
        diff = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["sections"]["diff"]
        return {row["figure"]: (row["change"], sum(row[name] for name in ("grew", "shrank", "appeared", "gone")))
                for row in diff["bytes"] + diff["counts"] if row["grew"] is not None}

    def trace(self, path, command):
        subprocess.run([self.msrec, "-q", "-o", path, "--", *command], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=True)

    def sorts(self, old, new):
        """Calls of the old recording by what became of their stacks."""
        command = [self.msreport, "-q", "--format=json", "--diff", old, new]
        diff = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["sections"]["diff"]
        return Counter({row["stacks_are"]: row["old_calls"] for row in diff["matching"]})

    def columns(self, old, new, cost):
        """What each stack of msconvert's differences became: by the names in it without order and addresses."""
        command = [self.msconvert, "-q", "--to=folded", "--diff-base", old, *DIFF_OPTIONS[cost], new]
        stacks = Counter()
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
            stack, before, after = line.rsplit(" ", 2)
            names = [re.sub(r"^\[.*0x[0-9a-f]+\]$", "?", name) for name in stack.split(";")]
            stacks[tuple(sorted(names))] += int(after) - int(before)
        return stacks

    def their_columns(self, old, new, cost):
        """heaptrack_print's -d likewise."""
        path = os.path.join(self.folder, "folded")
        self.theirs(new, cost, "-d", old)
        stacks = Counter()
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                stack, value = line.rsplit(" ", 1)
                names = [re.sub(r" \([^()]*\)$|^0x[0-9a-f]+$", lambda m: "" if m[0][0] == " " else "?", name)
                         for name in stack.split(";") if name]
                stacks[tuple(sorted(names))] += int(value)
        return stacks

    def ours(self, recording):
        command = [self.msreport, "-q", "--format=json", "--by=stack", "--top=1000000", "--no-suppressions", "churn",
                   "peak", "leaks", recording]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            raise Problem(f"msreport: {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)["sections"]


def sums(rows):
    """How often which sum of a stack's figures occurs, of pairs of a stack and a figure."""
    stacks = Counter()
    for stack, figure in rows:
        stacks[stack] += figure
    return Counter(figure for figure in stacks.values() if figure)


def compare(name):
    def run(bench):
        if not have(PROGRAMS[name][0]):
            return "skip: not installed"
        recording = bench.record(name, PROGRAMS[name])
        sections = bench.ours(recording)
        counted = 0
        for cost, (section, table, member) in COSTS.items():
            ours = sums((row["id"], row[member]) for row in sections[section][table])
            theirs = sums(bench.theirs(recording, cost))
            if ours != theirs:
                raise Problem(f"{cost}: only msreport has {list((ours - theirs).elements())[:5]}, "
                              f"only heaptrack_print {list((theirs - ours).elements())[:5]}")
            counted += sum(ours.values())
        return f"{sections['churn']['calls']} calls, {counted} figures of stacks"
    return run


def compare_pair(name):
    def run(bench):
        if not have(PAIRS[name][0][0]):
            return "skip: not installed"
        word = name.replace(" ", "-")
        old, new = (bench.record(f"{word}-{i}", command) for i, command in enumerate(PAIRS[name]))
        changes = bench.changes(old, new)
        for cost, figure in DIFF_COSTS.items():
            theirs = sum(value for _, value in bench.theirs(new, cost, "-d", old))
            if changes[figure] != (theirs, theirs):
                raise Problem(f"{cost}: msreport has {changes[figure]}, heaptrack_print {theirs}")
            stacks, others = bench.columns(old, new, cost), bench.their_columns(old, new, cost)
            differing = [stack for stack in stacks | others if stacks[stack] != others[stack]]
            if differing:
                raise Problem(f"{cost}: {stacks[differing[0]]}, heaptrack_print {others[differing[0]]}: {differing[0]}")
        return f"{changes['calls'][0]} calls, {changes['peak'][0]} bytes at the peak"
    return run


def compare_again(bench):
    """Addresses without a name are other ones in the next run; heaptrack doesn't record where modules lie."""
    command, trace = PROGRAMS["jq"], os.path.join(bench.folder, "again.zst")
    if not have(command[0]):
        return "skip: not installed"
    first, second = (bench.record(f"again-{i}", command) for i in range(2))
    bench.trace(trace, command)
    stacks = bench.sorts(first, second)
    if set(stacks) != {"same"}:
        raise Problem(f"two recordings of heaptrack: {stacks}")
    mixed = bench.sorts(first, trace)
    if mixed["same"] < .95 * stacks["same"]:
        raise Problem(f"heaptrack's recording and msrec's: {mixed}")
    return f"{stacks['same']} calls in the same stacks, {mixed['same']} in msrec's"


def main():
    need_heaptrack_print()
    cases = [(name, compare(name)) for name in PROGRAMS] + [(name, compare_pair(name)) for name in PAIRS]
    cases.append(("jq again", compare_again))
    return run_script(__doc__, cases, Bench)


if __name__ == "__main__":
    sys.exit(main())
