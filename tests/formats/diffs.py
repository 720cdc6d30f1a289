#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msconvert --diff-base against what others make of the same two recordings: difffolded.pl's columns, computed from the
folded stacks of each; go tool pprof -diff_base, from the profiles of each; heaptrack_print -d, from heaptrack's files
of each; speedscope's profiles, from both.

  diffs.py --build DIR [--only NAME]
"""

import os
import re
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from harness import Problem, have, have_heaptrack_print, run_script  # noqa: E402
from heaptrack import EXACT, read_stacks  # noqa: E402
from profile_proto import Profile  # noqa: E402
from profiles import SQL, VALUES, Tools, read_folded, read_speedscope  # noqa: E402

BASE = "pprof::base"
MORE_SQL = SQL.replace("x<4000", "x<7000").replace("hex(x*x)", "hex(x*x*x) || 'more'")
# The old input, the new one, and options of both.
PAIRS = {
    "two runs": ("sqlite3", "more", ()),
    "two moments": ("sqlite3@20ms", "sqlite3", ()),
    "one and itself": ("sqlite3", "sqlite3", ()),
    "two programs": ("threads", "inline_chain", ()),
    "threads": ("threads", "threads@5ms", ("--thread=*",)),
    "sizes": ("sqlite3", "more", ("--size=100-5k",)),
    "functions": ("more", "sqlite3", ("--function=sqlite3*", "--module=*sqlite*")),
    "times": ("sqlite3", "more", ("--from=2", "--until=30")),
    "bytes": ("sqlite3", "more", ("--at=60000", "--time-unit=B")),
    "end": ("more", "sqlite3", ("--at=end", "--show-below-main=yes")),
    "samples": ("sample", "other sample", ()),
    "all and a sample": ("sqlite3", "sample", ()),
}


class Bench(Tools):
    """Recordings, and both ways to the same differences."""

    def __init__(self, build, directory):
        super().__init__(build, directory)
        self.traces = {}

    def input(self, word):
        """A name of an input, whose recording is made when it is wanted first."""
        name, _, moment = word.partition("@")
        if name not in self.traces:
            program = ["sqlite3", ":memory:", MORE_SQL if name in ("more", "other sample") else SQL]
            if name in ("threads", "inline_chain"):
                program = [self.build.file("corpus/" + name)]
            options = ["--sample=4k"] if "sample" in name else []
            self.traces[name] = self.path(name.replace(" ", "-") + ".zst")
            self.run(self.build.msrec, "-q", *options, "-o", self.traces[name], "--", *program)
        return self.traces[name], moment

    def each(self, word, *options):
        """One of the two recordings, converted alone."""
        trace, moment = self.input(word)
        return self.convert(trace, *options, *([f"--until={moment.rstrip('ms')}"] if moment else []))

    def diff(self, old, new, *options):
        old, new = ("@".join(filter(None, self.input(word))) for word in (old, new))
        return self.convert(new, f"--diff-base={old}", *options)


def without_mark(stack):
    """Estimates are below a call that says so, in different words if one recording is a sample of its own."""
    return re.sub(r"^\[estimates: [^];]*\](;|$)", "", stack) or "[no stack]"


def read_columns(data, estimates=False):
    """By stack: the old value and the new one."""
    rows = {}
    for line in data.decode().splitlines():
        if line.startswith("[estimates: ") != estimates:
            raise Problem(f"{line}: estimates or not?")
        stack, before, after = line.rsplit(" ", 2)
        stack = without_mark(stack)
        if stack in rows or before == after == "0":
            raise Problem(f"{line}: twice, or nothing")
        rows[stack] = (int(before), int(after))
    return rows


def fold(data):
    """Stacks with equal names are one, as difffolded.pl has them."""
    stacks = Counter()
    for line in data.decode().splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[without_mark(stack)] += int(value)
    return stacks


def same(what, found, wanted):
    if found != wanted:
        keys = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
        raise Problem(f"{what}: {[(key, found.get(key), wanted.get(key)) for key in keys[:3]]}")


def check_folded(bench, old, new, options):
    """Returns the rows of one value, and the changes of each."""
    lines = 0
    for value in VALUES:
        form = ("--to=folded", f"--value={value}", *options)
        before, after = (fold(bench.each(word, *form)) for word in (old, new))
        rows = read_columns(bench.diff(old, new, *form), "sample" in old + new)
        same(value, rows, {stack: (before[stack], after[stack]) for stack in before | after})
        changes = {stack: after - before for stack, (before, after) in rows.items()}
        check_speedscope(bench, (old, new), (*options, f"--value={value}"), changes)
        lines += len(rows)
    return lines


def check_speedscope(bench, pair, options, changes):
    profiles = read_speedscope(bench.diff(*pair, "--to=speedscope", *options))
    grew, shrank = profiles.values()
    if [name.split(": ")[1].split(" ")[0] for name in profiles] != ["grew", "shrank"]:
        raise Problem(f"profiles {list(profiles)}")
    same("grew", grew, {stack: n for stack, n in changes.items() if n > 0})
    same("shrank", shrank, {stack: -n for stack, n in changes.items() if n < 0})


def samples(profile):
    """By stack, with lines and places in objects, and labels: the values, summed up."""
    found = Counter()
    for sample, (_, values, labels) in zip(profile.raw.sample, profile.samples):
        stack = []
        for number in sample.location_id:
            location = profile.locations[number]
            mapping = profile.mappings.get(location.mapping_id)
            at = location.address - mapping.memory_start if mapping else location.address
            lines = [(profile.functions[line.function_id], line.line) for line in location.line]
            stack.append((profile.text(mapping.build_id) or profile.text(mapping.filename) if mapping else "", at,
                          tuple((profile.text(f.name), profile.text(f.filename), line) for f, line in lines)))
        for kind, value in values.items():
            found[tuple(stack), tuple(sorted(labels.items())), kind] += value
    return Counter({key: value for key, value in found.items() if value})


def facts(profile):
    raw = profile.raw
    return {"types": profile.types, "default": profile.default, "period": raw.period, "time": raw.time_nanos,
            "duration": raw.duration_nanos, "comments": [profile.text(n) for n in raw.comment],
            "program": profile.text(raw.mapping[0].filename)}


def by_hand(before, after):
    wanted = samples(after)
    for (stack, labels, kind), value in samples(before).items():
        wanted[stack, tuple(sorted((*labels, (BASE, "true")))), kind] -= value
    return wanted


def check_pprof(bench, old, new, options):
    paths = [bench.path(name) for name in ("old.pb.gz", "new.pb.gz")]
    parts = []
    for word, path in zip((old, new), paths):
        parts.append(bench.each(word, "--to=pprof", *options))
        with open(path, "wb") as file:
            file.write(parts[-1])
    ours = Profile(bench.diff(old, new, "--to=pprof", *options))
    same("pprof", samples(ours), by_hand(*map(Profile, parts)))
    if not have("go"):
        return "go is not installed: its -diff_base is not asked"
    made = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-proto", "-output", bench.path("diff.pb.gz"),
                           "-diff_base", *paths], capture_output=True, check=False,
                          env={**os.environ, "PPROF_TMPDIR": bench.directory, "HOME": bench.directory})
    if made.returncode:
        raise Problem(made.stderr.decode())
    with open(bench.path("diff.pb.gz"), "rb") as file:
        theirs = Profile(file.read(), merged=True)
    same("go tool pprof -diff_base", samples(ours), samples(theirs))
    same("go tool pprof's head", facts(ours), facts(theirs))
    return f"{len(theirs.samples)} samples of go tool pprof"


def compare(name):
    def run(bench):
        old, new, options = PAIRS[name]
        lines = check_folded(bench, old, new, options)
        if lines == 0 and name == "functions" and b"sqlite3_" not in bench.diff(old, new, "--to=folded"):
            return "skip: this sqlite3 has no names of functions"
        if lines == 0:
            raise Problem("nothing is compared")
        return f"{lines} folded lines, {check_pprof(bench, old, new, options)}"
    return run


def check_heaptrack(bench):
    """The sums of what changed. heaptrack_print takes other stacks of the two files for the same ones than we do."""
    if not have_heaptrack_print():
        return "skip: heaptrack_print is not installed, or has no --disable-builtin-suppressions"
    costs = {"peak": (), "leaked": ("--at=end",), "allocations": ("--value=alloc_objects",)}
    compared = 0
    for old, new in (("sqlite3", "more"), ("more", "sqlite3"), ("threads", "inline_chain")):
        paths = [bench.path(f"{word}.heaptrack") for word in (old, new)]
        for word, path in zip((old, new), paths):
            with open(path, "wb") as file:
                file.write(bench.each(word, "--to=heaptrack"))
        for cost, options in costs.items():
            out = bench.path("heaptrack.folded")
            bench.run("heaptrack_print", "-m0", "-p0", "-a0", "-T0", "-t", "0", "-d", paths[0], "-f", paths[1],
                      "-F", out, "--flamegraph-cost-type", cost, "--disable-builtin-suppressions")
            with open(out, encoding="utf-8", errors="replace") as file:
                theirs = read_stacks(file.read())
            rows = read_columns(bench.diff(old, new, "--to=folded", *EXACT, *options))
            change = sum(after - before for before, after in rows.values())
            same(f"{new}, {cost}", {"sum": sum(theirs.values())}, {"sum": change})
            compared += len(theirs)
    return f"{compared} changes of heaptrack_print"


def check_profiles(bench):
    """Without --value speedscope's file has all three amounts."""
    profiles = read_speedscope(bench.diff("sqlite3", "more", "--to=speedscope"))
    wanted = [f"{name}: {how}" for name in ("in use, peak", "in use, end", "allocated") for how in ("grew", "shrank")]
    if list(profiles) != wanted:
        raise Problem(str(list(profiles)))
    for name, options in (("in use, peak", ()), ("in use, end", ("--at=end",)),
                          ("allocated", ("--value=alloc_bytes",))):
        before, after = (sum(read_folded(bench.each(word, "--to=folded", *options)).values())
                         for word in ("sqlite3", "more"))
        change = sum(profiles[name + ": grew"].values()) - sum(profiles[name + ": shrank"].values())
        if change != after - before:
            raise Problem(f"{name}: {change}, not {after - before}")
    return "3 amounts"


def check_others(bench):
    """heaptrack's recordings and massif.out are inputs, too, also of the same run as a trace."""
    if not have("heaptrack"):
        return "skip: heaptrack is not installed"
    bench.run("heaptrack", "-o", bench.path("old"), "sqlite3", ":memory:", SQL)
    files = {"heaptrack": next(bench.path("old" + s) for s in (".zst", ".gz") if os.path.exists(bench.path("old" + s))),
             "massif": bench.path("massif.out.1")}
    bench.run(bench.msreplay, "-q", "--exact-peak", "--threshold=0", "--massif-out-file=" + files["massif"],
              bench.input("sqlite3")[0])
    after = fold(bench.each("more", "--to=folded"))
    for name, path in files.items():
        before = fold(bench.convert(path, "--to=folded"))
        rows = read_columns(bench.convert(bench.input("more")[0], "--to=folded", "--diff-base=" + path))
        same(name, rows, {stack: (before[stack], after[stack]) for stack in before | after})
        back = read_columns(bench.convert(path, "--to=folded", "--diff-base=" + bench.input("more")[0]))
        same(name, back, {stack: (b, a) for stack, (a, b) in rows.items()})
    return f"{len(rows)} stacks"


def main():
    return run_script(__doc__, [(name, compare(name)) for name in PAIRS] +
                      [("all amounts", check_profiles), ("heaptrack_print", check_heaptrack),
                       ("other recordings", check_others)], Bench)


if __name__ == "__main__":
    sys.exit(main())
