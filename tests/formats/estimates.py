#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every format of a sampled trace: each function's values are within the error that its blocks' sizes permit of the
program's own counts, all formats agree, and each says that it shows estimates.

  estimates.py --build DIR
"""

import collections
import csv
import io
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../tools", "../cli"):
    sys.path.insert(0, os.path.join(HERE, folder))
import parquet  # noqa: E402
from harness import Checks, Scratch, arguments, plain_environment    # noqa: E402
from profile_proto import Profile  # noqa: E402
from sample import COLUMNS, MEANS, expect  # noqa: E402

# The options of a profile that has a column of the program's counts.
QUERIES = {"live bytes": ("inuse_bytes", "end"), "live blocks": ("inuse_objects", "end"),
           "bytes": ("alloc_bytes", "peak"), "blocks": ("alloc_objects", "peak")}
PPROF = {"inuse_bytes": "inuse_space", "alloc_bytes": "alloc_space"}
check = Checks()


class Case:
    """A sampled trace of one mode of the program, its counts, and its conversions."""

    def __init__(self, build, folder, mode, text):
        self.name, self.mean, self.folder = f"{mode} {text}", MEANS[text], folder
        self.msconvert = build.file("analyze/msconvert")
        self.trace = os.path.join(folder, "t.zst")
        done = subprocess.run([build.msrec, "-q", f"--sample={text}", "-o", self.trace,
                               build.file("tests/cli/sample_program"), mode], capture_output=True, text=True,
                              check=True, env=plain_environment())
        self.expected = expect(done.stdout, self.mean)
        self.mark = f"estimates: a sample of one block in {self.mean} bytes"

    def convert(self, form, *options):
        done = subprocess.run([self.msconvert, f"--to={form}", *options, self.trace], capture_output=True, check=True)
        check(f"{self.name}: {form} is announced as estimates", b"all figures are estimates" in done.stderr)
        return done.stdout

    def compare(self, what, found):
        """By function, by column."""
        for function, columns in self.expected.items():
            for column, e in zip(COLUMNS, columns):
                if (function, column) in found:
                    e.check(f"{self.name} {what} {function} {column}", found[function, column])


def read_folded(case, value, at):
    """By function."""
    sums = collections.Counter()
    for line in case.convert("folded", f"--value={value}", f"--at={at}").decode().splitlines():
        stack, n = line.rsplit(" ", 1)
        check(f"{case.name}: folded is marked", stack.startswith(f"[{case.mark}];"))
        sums[stack.rsplit(";", 1)[1]] += int(n)
    return sums


def read_speedscope(case, value, at):
    data = json.loads(case.convert("speedscope", f"--value={value}", f"--at={at}"))
    profile, = data["profiles"]
    check(f"{case.name}: speedscope is marked", profile["name"] == f"{value}, {at} ({case.mark})")
    sums = collections.Counter()
    for sample, weight in zip(profile["samples"], profile["weights"]):
        sums[data["shared"]["frames"][sample[-1]]["name"]] += weight
    return sums


def read_heapprofile(case, value, at):
    data = json.loads(case.convert("heapprofile", f"--value={value}", f"--at={at}"))
    top, = data["head"]["children"]
    check(f"{case.name}: heapprofile is marked", top["callFrame"]["functionName"] == f"[{case.mark}]")
    sums, nodes = collections.Counter(), [top]
    while nodes:
        node = nodes.pop()
        nodes += node["children"]
        if node["selfSize"]:
            sums[node["callFrame"]["functionName"]] += node["selfSize"]
    return sums


def read_pprof(case, at):
    """By value: by function."""
    profile = Profile(case.convert("pprof", f"--at={at}"))
    check(f"{case.name}: pprof is marked", profile.raw.period == case.mean and
          [profile.text(n) for n in profile.raw.comment][1:] == [case.mark])
    sums = collections.defaultdict(collections.Counter)
    for stack, values, _ in profile.samples:
        for value, n in values.items():
            if n:
                sums[value][stack[0]] += n
    return sums


def functions_of_stacks(case):
    """The innermost function of each stack, by the tables."""
    done = subprocess.run([case.msconvert, "-q", "--to=csv-frames", case.trace], capture_output=True, check=True)
    names = {row["frame"]: row["function"] for row in csv.DictReader(io.StringIO(done.stdout.decode()))
             if row["call"] == "0"}
    stacks = csv.DictReader(io.StringIO(case.convert("csv-stacks", "--at=end").decode()))
    return {row["stack"]: (names.get(row["frame"]), row) for row in stacks}


def read_tables(case):
    """By function, by column; and what the table of calls adds up to."""
    found, columns = collections.Counter(), ("end_bytes", "end_objects", "alloc_bytes", "alloc_objects")
    stacks = functions_of_stacks(case)
    for name, row in stacks.values():
        check(f"{case.name}: csv-stacks is marked", row["sample_bytes"] == str(case.mean))
        for column, key in zip(COLUMNS, columns):
            found[name, column] += int(row[key])
    calls = collections.Counter()
    for row in csv.DictReader(io.StringIO(case.convert("csv").decode())):
        if row["estimated_bytes"]:
            calls[stacks[row["stack"]][0], "bytes"] += int(row["estimated_bytes"])
            calls[stacks[row["stack"]][0], "live bytes"] += int(row["estimated_bytes"])
        if row["old_estimated_bytes"]:
            calls[stacks[row["old_stack"]][0], "live bytes"] -= int(row["old_estimated_bytes"])
    return found, calls


def read_dhat(case):
    data = json.loads(case.convert("dhat"))
    check(f"{case.name}: dhat is marked", data["mode"] == f"heap ({case.mark})")
    check(f"{case.name}: dhat's command has arguments", data["cmd"].split()[1:] == case.name.split()[:1])
    found = collections.Counter()
    for point in data["pps"]:
        name = data["ftbl"][point["fs"][0]].split(": ")[1].split(" (")[0]
        for column, key in zip(COLUMNS, ("eb", "ebk", "tb", "tbk")):
            found[name, column] += point[key]
    return found


def read_heaptrack(case):
    """Bytes alone: the format has no room for the number of blocks that one stands for."""
    lines = case.convert("heaptrack").decode().splitlines()
    check(f"{case.name}: heaptrack is marked", lines[1].startswith("X ") and lines[1].endswith(f" ({case.mark})"))
    strings, frames, stacks, kinds, found = [None], [None], [None], [], collections.Counter()
    for line in lines[3:]:
        what, _, rest = line.partition(" ")
        numbers = [int(n, 16) for n in rest.split()] if what in "ita+-" else []
        if what == "s":
            strings.append(rest.split(" ", 1)[1])
        elif what == "i":
            frames.append(strings[numbers[2]] if len(numbers) > 2 else None)
        elif what == "t":
            stacks.append(frames[numbers[0]])
        elif what == "a":
            kinds.append((stacks[numbers[1]], numbers[0]))
        elif what in "+-":
            name, size = kinds[numbers[0]]
            found[name, "bytes"] += size if what == "+" else 0
            found[name, "live bytes"] += size if what == "+" else -size
    return found


def check_peak(case, build):
    """The profile of the peak has the bytes of msreplay's peak."""
    out = os.path.join(case.folder, "massif.out")
    subprocess.run([build.file("analyze/msreplay"), "-q", "--at=peak", f"--massif-out-file={out}", case.trace],
                   check=True)
    with open(out + ".at-peak", encoding="utf-8") as file:
        wanted = int(re.search(r"^mem_heap_B=(\d+)$", file.read(), re.M)[1])
    check.equal(f"{case.name}: bytes at the peak", sum(read_folded(case, "inuse_bytes", "peak").values()), wanted)


def compare_profiles(case):
    by_column = {}
    for column, (value, at) in QUERIES.items():
        folded = read_folded(case, value, at)
        case.compare("folded", {(name, column): n for name, n in folded.items()})
        check.equal(f"{case.name}: speedscope's {value}", read_speedscope(case, value, at), folded)
        check.equal(f"{case.name}: heapprofile's {value}", read_heapprofile(case, value, at), folded)
        pprof = read_pprof(case, at)[PPROF.get(value, value)]
        # Blocks are rounded by stack, and in pprof by size.
        check(f"{case.name}: pprof's {value}",
              all(abs(pprof[name] - folded[name]) <= ("objects" in value) * 8 for name in case.expected))
        by_column[column] = folded
    return {(name, column): n for column, sums in by_column.items() for name, n in sums.items()}


def compare_bytes(case, what, found, wanted):
    """The bytes of the program's functions, which are not rounded beyond single blocks, are the same."""
    for column in ("bytes", "live bytes"):
        check.equal(f"{case.name}: {what}'s {column}",
                    {name: found[name, column] for name in case.expected},
                    {name: wanted.get((name, column), 0) for name in case.expected})


def compare(build, folder, mode, text):
    case = Case(build, folder, mode, text)
    check(f"{case.name}: something is expected", case.expected)
    check_peak(case, build)
    wanted = compare_profiles(case)
    stacks, calls = read_tables(case)
    case.compare("csv-stacks", stacks)
    compare_bytes(case, "csv-stacks", stacks, wanted)
    compare_bytes(case, "csv", calls, wanted)
    compare_bytes(case, "heaptrack", read_heaptrack(case), wanted)
    dhat = read_dhat(case)
    # A block of no bytes has one in DHAT, which is far below the error.
    case.compare("dhat", {key: n for key, n in dhat.items() if "bytes" not in key[1] or key[0] not in ("small",)})
    rows = parquet.read(case.convert("parquet-snapshots"))
    check(f"{case.name}: snapshots are marked", rows and all(row["sample_bytes"] == case.mean for row in rows))


def main():
    build = arguments(__doc__).build
    for mode in ("plain", "freed", "threads", "realloc", "new"):
        for text in MEANS:
            with Scratch() as folder:
                compare(build, folder, mode, text)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
