#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--at means the same in all formats of msconvert: the state at the peak, at the end, or at a time.

  points.py --build DIR

A table: each format at each point, for several traces and units of time. Wanted are bytes and blocks that the calls
up to there left, the bytes of msreplay's snapshot, and no file beside the result. Formats of all calls refuse --at.
"""

import collections
import csv
import io
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import parquet  # noqa: E402
from profile_proto import Profile  # noqa: E402
from profiles import SQL, Tools, check  # noqa: E402

EVENTS = ("heaptrack", "dhat", "memusage", "csv", "ndjson", "parquet", "trace")
EXACT = ("--usable=requested", "--heap-admin=0")


def massif_sum(data):
    snapshots = re.findall(r"^mem_heap_B=(\d+)$", data.decode(), re.M)
    return int(snapshots[0]) if len(snapshots) == 1 else snapshots


def xtree_sum(data):
    return int(re.findall(r"^mem_heap_B=(\d+)$", data.decode(), re.M)[0])


def callgrind_sum(data):
    return int(re.search(r"^totals: (\d+)", data.decode(), re.M)[1])


def folded_sum(data):
    return sum(int(line.rsplit(" ", 1)[1]) for line in data.decode().splitlines())


def speedscope_sum(data):
    return [profile["endValue"] for profile in json.loads(data)["profiles"]][0]


def heapprofile_sum(data):
    return sum(int(n) for n in re.findall(r'"selfSize":(\d+)', data.decode()))


def pprof_sum(data):
    return sum(values["inuse_space"] for _, values, _ in Profile(data).samples)


def rows_sum(rows):
    if rows and "heap_bytes" in rows[0]:
        return int(rows[0]["heap_bytes"]) if len(rows) == 1 else rows
    return sum(int(row["inuse_bytes"]) for row in rows)


def csv_sum(data):
    return rows_sum(list(csv.DictReader(io.StringIO(data.decode()))))


def ndjson_sum(data):
    return rows_sum([json.loads(line) for line in data.decode().splitlines()])


def parquet_sum(data):
    return rows_sum(parquet.read(data))


FORMATS = {"massif": massif_sum, "xtree": xtree_sum, "callgrind": callgrind_sum, "folded": folded_sum,
           "speedscope": speedscope_sum, "heapprofile": heapprofile_sum, "pprof": pprof_sum, "csv-stacks": csv_sum,
           "csv-snapshots": csv_sum, "ndjson-stacks": ndjson_sum, "ndjson-snapshots": ndjson_sum,
           "parquet-stacks": parquet_sum, "parquet-snapshots": parquet_sum}


class Model:
    """Live bytes, and for a full report bytes and blocks by column, after the calls up to a point."""

    def __init__(self, events, unit):
        self.points = [(0, 0, (0, 0, 0, 0))]    # clock, live bytes, (live blocks, allocated bytes, blocks, freed bytes)
        clock = live = blocks = total = given = freed = 0
        for event in events:
            new = event["type"] in ("alloc", "resize", "live")
            old = event["type"] in ("free", "resize") and event["old_size"] != ""
            came, went = (int(event["size"]) if new else 0), (int(event["old_size"]) if old else 0)
            clock = clock + abs(came - went) if unit == "B" else int(event["time_ns"]) // 1000000
            live, blocks = live + came - went, blocks + new - old
            total, given = total + came, given + new
            freed += went if event["type"] == "resize" else 0
            self.points.append((clock, live, (blocks, total, given, freed)))

    def at(self, point):
        if point == "end":
            return self.points[-1]
        if point == "peak":
            return max(self.points, key=lambda p: p[1])
        return [p for p in self.points if p[0] <= point][-1]


def convert(tools, trace, form, *options):
    """The result, and that no other file came."""
    folder = tools.path("out")
    os.makedirs(folder, exist_ok=True)
    tools.run(tools.msconvert, "-q", f"--to={form}", "-o", os.path.join(folder, "x"), *options, trace)
    check.equal(f"{form}: files", os.listdir(folder), ["x"])
    with open(os.path.join(folder, "x"), "rb") as file:
        data = file.read()
    check.equal(f"{form}: standard output", tools.convert(trace, f"--to={form}", *options) == data, True)
    os.remove(os.path.join(folder, "x"))
    return data


def check_table(tools, name, trace):
    events = list(csv.DictReader(io.StringIO(tools.convert(trace, "--to=csv").decode())))
    for unit in ("B", "ms"):
        model = Model(events, unit)
        last = model.points[-1][0]
        for point in ("peak", "end", 0, last // 7, last // 2, last - last // 9, last + 10 ** 9):
            options = (f"--at={point}", f"--time-unit={unit}", *EXACT)
            clock, live, values = model.at(point)
            check.equal(f"{name}: msreplay at {point} {unit}", tools.massif_bytes(trace, point, *options[1:]), live)
            for form, read in FORMATS.items():
                check.equal(f"{name}: {form} at {point} {unit}", read(convert(tools, trace, form, *options)), live)
            full = convert(tools, trace, "callgrind", "--xtree-memory=full", *options)
            found = [int(n) for n in re.search(r"^totals: (.*)$", full.decode(), re.M)[1].split()]
            check.equal(f"{name}: full report at {point} {unit}", found[:5], [live, *values])
            time = re.search(r"^time=(\d+)$", convert(tools, trace, "xtree", *options).decode(), re.M)[1]
            if unit == "ms" and isinstance(point, int) and point < last:
                check.equal(f"{name}: the xtree's time at {point}", int(time), clock)


def by_function(data):
    """Own bytes by function, of an uncompressed callgrind file."""
    sums, name, inner = collections.Counter(), None, False
    for line in data.decode().splitlines():
        if line.startswith(("fn=", "cfn=")):
            name = line.split("=", 1)[1]
        elif line.startswith("calls="):
            inner = True
        elif re.match(r"\d+ ", line):
            if not inner:
                sums[name] += int(line.split()[1])
            inner = False
    return {name: n for name, n in sums.items() if n}


def check_stacks(tools, trace):
    """The stacks of a report are those of the profile."""
    for point in ("peak", "end", 30000):
        options = (f"--at={point}", "--time-unit=B", *EXACT)
        folded = collections.Counter()
        for line in tools.convert(trace, "--to=folded", *options).decode().splitlines():
            stack, n = line.rsplit(" ", 1)
            folded[stack.rsplit(";", 1)[-1]] += int(n)
        report = tools.convert(trace, "--to=callgrind", "--xtree-compress-strings=no", *options)
        check.equal(f"functions at {point}", by_function(report), dict(folded))


def check_models(tools, trace):
    """The peak is that of the settings: other models of sizes have other peaks."""
    for options in (["--usable=valgrind"], ["--heap-admin=1000"], ["--alignment=4096"], ["--compat=3.19"]):
        wanted = tools.massif_bytes(trace, "peak", *options)
        for form in ("massif", "callgrind", "xtree", "csv-snapshots"):
            found = FORMATS[form](tools.convert(trace, f"--to={form}", "--at=peak", *options))
            check.equal(f"{form} at the peak, {options[0]}", found, wanted)


def check_refusals(tools, trace):
    cases = [(form, ["--at=peak"], "--at: not with the format") for form in EVENTS]
    cases += [(form, ["--at=1", "--at=2"], "--at, more than one: not with the format")
              for form in ("massif", "callgrind", "xtree", "folded", "csv-snapshots")]
    cases += [(form, ["--snapshot=1"], "--snapshot, --all-snapshots: not with the format")
              for form in ("callgrind", "xtree", "folded")]
    for form, options, message in cases:
        done = subprocess.run([tools.msconvert, f"--to={form}", *options, "-o", tools.path("no"), trace],
                              capture_output=True, text=True)
        check(f"{form} {' '.join(options)} is refused", done.returncode == 64 and message in done.stderr and
              done.stderr.count("\n") == 1 and not os.path.exists(tools.path("no")), done.stderr)
    plain = tools.convert(trace, "--to=massif", "--snapshot=30000", "--time-unit=B").decode()
    check("--snapshot has no tree", plain.count("snapshot=") == 1 and "heap_tree=empty" in plain)
    def times(*options):
        snapshots = tools.convert(trace, "--to=massif", "--time-unit=B", *options).decode()
        return [int(time) for time in re.findall(r"^time=(\d+)$", snapshots, re.M)]
    half = times()[-1] // 2
    early = times(f"--all-snapshots={half}")
    check("--all-snapshots has those by then", len(early) > 10 and half // 2 < max(early) <= half, (half, early))


def main():
    build = harness.arguments(__doc__).build
    with harness.Scratch() as directory:
        tools = Tools(build, directory)
        traces = {"sqlite3": tools.record("sqlite3", "sqlite3", ":memory:", SQL),
                  "threads": tools.record("threads", build.file("corpus/threads")),
                  "peak": tools.record("peak", build.file("corpus/peak"))}
        for name, trace in traces.items():
            check_table(tools, name, trace)
        part = tools.path("part.zst")
        tools.run(tools.msconvert, "-q", "--to=trace", "--from=1", "-o", part, traces["sqlite3"])
        check_stacks(tools, traces["peak"])
        check_models(tools, traces["sqlite3"])
        check_models(tools, part)
        check_refusals(tools, traces["sqlite3"])
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
