# SPDX-License-Identifier: MIT
"""The formats that show profiles (folded, speedscope, pprof), read back by readers of their own: sums
are those of msreplay, and the same stacks have the same values in all of them.

  profiles.py --build DIR [--long]

--long also asks the real clients: go tool pprof.
"""

import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from profile_proto import Profile  # noqa: E402

VALUES = ("inuse_bytes", "inuse_objects", "alloc_bytes", "alloc_objects")
PPROF_NAMES = {"inuse_bytes": "inuse_space", "inuse_objects": "inuse_objects",
               "alloc_bytes": "alloc_space", "alloc_objects": "alloc_objects"}
SQL = ("create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<4000) "
       "insert into t select x, hex(x*x) from c; select count(*), max(b) from t order by a;")
ALLOCATIONS = ("malloc", "calloc", "realloc", "realloc_moved", "realloc_in_place", "memalign",
               "posix_memalign", "aligned_alloc", "valloc", "pvalloc", "new", "new_array")

check = harness.Checks()
expect = check.equal


class Tools:
    def __init__(self, build, directory):
        self.build = build
        self.directory = directory
        self.msconvert = build.file("analyze/msconvert")
        self.msreplay = build.file("analyze/msreplay")

    def path(self, name):
        return os.path.join(self.directory, name)

    def run(self, *command, data=None):
        done = subprocess.run(command, capture_output=True, input=data, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def record(self, name, *command):
        trace = self.path(name + ".zst")
        subprocess.run([self.build.msrec, "-q", "-o", trace, "--", *command], check=True,
                       stdout=subprocess.DEVNULL, env=harness.plain_environment())
        return trace

    def convert(self, trace, *options):
        return self.run(self.msconvert, "-q", *options, trace)

    def massif_bytes(self, trace, at, *options):
        """The bytes of msreplay's requested snapshot."""
        out = self.path("massif.out")
        self.run(self.msreplay, "-q", f"--massif-out-file={out}", f"--at={at}", *options, trace)
        with open(f"{out}.at-{at}", encoding="utf-8") as file:
            return int(re.search(r"^mem_heap_B=(\d+)$", file.read(), re.M)[1])


def read_folded(data):
    stacks = {}
    for line in data.decode().splitlines():
        stack, value = line.rsplit(" ", 1)
        if stack in stacks:
            check(f"folded: {stack} twice", False)
        stacks[stack] = int(value)
    return stacks


def read_speedscope(data):
    """By profile: stacks as in the folded form, with values."""
    file = json.loads(data)
    frames = file["shared"]["frames"]
    assert len({json.dumps(f, sort_keys=True) for f in frames}) == len(frames)
    profiles = {}
    for profile in file["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] in ("bytes", "none")
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
        stacks = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            assert weight > 0
            stacks[";".join(frames[i]["name"] for i in sample) or "[no stack]"] += weight
        profiles[profile["name"]] = dict(stacks)
    return profiles


def check_values(tools, name, trace):
    """All values at the peak, in all formats, against each other and against msreplay's and tracestat's."""
    stat = tools.build.stat(trace)
    pprof = Profile(tools.convert(trace, "--to=pprof"))
    for value in VALUES:
        folded = read_folded(tools.convert(trace, "--to=folded", f"--value={value}"))
        speedscope = read_speedscope(tools.convert(trace, "--to=speedscope", f"--value={value}"))
        expect(f"{name}: speedscope's {value}", speedscope, {f"{value}, peak": folded})
        total = sum(values[PPROF_NAMES[value]] for _, values, _ in pprof.samples)
        expect(f"{name}: pprof's {value}", total, sum(folded.values()))
        if value == "inuse_bytes":
            expect(f"{name}: bytes at the peak", total, tools.massif_bytes(trace, "peak"))
        if value == "alloc_objects":
            expect(f"{name}: blocks allocated", total, sum(stat[key] for key in ALLOCATIONS))
    return pprof


def check_times(tools, name, trace):
    three = read_speedscope(tools.convert(trace, "--to=speedscope"))
    expect(f"{name}: speedscope's profiles", list(three), ["in use, peak", "in use, end", "allocated"])
    end = read_folded(tools.convert(trace, "--to=folded", "--at=end"))
    expect(f"{name}: speedscope's end", three["in use, end"], end)
    expect(f"{name}: bytes at the end", sum(end.values()), tools.massif_bytes(trace, "end"))
    expect(f"{name}: speedscope's total", three["allocated"],
           read_folded(tools.convert(trace, "--to=folded", "--value=alloc_bytes")))
    for unit in ("ms", "B"):
        for time in (1, 20, 5000, 300000, 10 ** 15):
            wanted = tools.massif_bytes(trace, time, f"--time-unit={unit}")
            found = read_folded(tools.convert(trace, "--to=folded", f"--at={time}", f"--time-unit={unit}"))
            expect(f"{name}: bytes at {time} {unit}", sum(found.values()), wanted)


def check_stacks(name, folded, pprof):
    """pprof's stacks are those of the folded form, where all names are known."""
    stacks = collections.Counter()
    for stack, values, _ in pprof.samples:
        if values["inuse_space"] and not any(frame.startswith("0x") for frame in stack):
            stacks[";".join(reversed(stack))] += values["inuse_space"]
    named = {stack: value for stack, value in folded.items() if "+0x" not in stack}
    assert len(named) > 3
    expect(f"{name}: pprof's stacks", dict(stacks), named)


def check_window(tools, trace):
    """The allocations in two parts of a run add up to those of the whole."""
    whole = read_folded(tools.convert(trace, "--to=folded", "--value=alloc_bytes"))
    cut = 40000
    parts = [read_folded(tools.convert(trace, "--to=folded", "--value=alloc_bytes", "--time-unit=B", option))
             for option in (f"--until={cut - 1}", f"--from={cut}")]
    sums = collections.Counter(parts[0])
    sums.update(parts[1])
    assert all(parts), "the cut is at an end of the run"
    expect("the window's parts", dict(sums), whole)
    late = read_folded(tools.convert(trace, "--to=folded", "--at=end", "--time-unit=B", f"--from={cut}"))
    end = read_folded(tools.convert(trace, "--to=folded", "--at=end"))
    early = read_folded(tools.convert(trace, "--to=folded", "--at=end", "--time-unit=B",
                                      f"--until={10 ** 15}"))
    expect("a window of all", early, end)
    assert all(late[stack] <= end[stack] for stack in late)


def check_filters(tools, trace, pprof):
    by_thread = collections.Counter()
    for _, values, labels in pprof.samples:
        by_thread[labels["thread"]] += values["alloc_space"]
    assert len(by_thread) > 2, f"threads: {by_thread}"
    for thread, total in by_thread.items():
        found = read_folded(tools.convert(trace, "--to=folded", "--value=alloc_bytes", f"--thread={thread}"))
        expect(f"thread {thread}", sum(found.values()), total)
    whole = read_folded(tools.convert(trace, "--to=folded", "--value=alloc_bytes"))
    expect("modules", read_folded(tools.convert(trace, "--to=folded", "--value=alloc_bytes", "--module=*")),
           {stack: value for stack, value in whole.items() if stack != "[no stack]"})
    expect("no module", tools.convert(trace, "--to=folded", "--module=/none"), b"")


def sums_of(profile):
    """By stack and size, of each type."""
    sums = collections.defaultdict(collections.Counter)
    for stack, values, labels in profile.samples:
        for kind, value in values.items():
            if value:
                sums[kind][tuple(stack), labels.get("bytes")] += value
    return dict(sums)


def check_deltas(tools, name, trace):
    """What is allocated up to a time and from then on is all; what is in use is whole in both."""
    whole = sums_of(Profile(tools.convert(trace, "--to=pprof", "--at=end")))
    for unit, cut in (("B", 40000), ("B", 1), ("B", 10 ** 15), ("ms", 3)):
        words = ("--to=pprof", "--at=end", f"--time-unit={unit}")
        early = sums_of(Profile(tools.convert(trace, *words, f"--until={cut - 1}")))
        late_profile = Profile(tools.convert(trace, *words, f"--alloc-from={cut}"))
        late = sums_of(late_profile)
        for kind in ("alloc_space", "alloc_objects"):
            both = early.get(kind, collections.Counter()) + late.get(kind, collections.Counter())
            expect(f"{name}: {kind} before {cut} {unit} and after", both, whole[kind])
        for kind in ("inuse_space", "inuse_objects"):
            expect(f"{name}: {kind} from {cut} {unit}", late.get(kind), whole.get(kind))
        raw = late_profile.raw
        check(f"{name}: times from {cut} {unit}", raw.duration_nanos >= 0 and raw.time_nanos > 10 ** 18, raw.time_nanos)
        merged = Profile(tools.convert(trace, *words, f"--alloc-from={cut}", "--merge-threads"))
        expect(f"{name}: threads merged", sums_of(merged), late)
        check(f"{name}: no labels of threads", not any("thread" in labels for _, _, labels in merged.samples))


def check_labels(tools, trace):
    plain = Profile(tools.convert(trace, "--to=pprof"))
    named = Profile(tools.convert(trace, "--to=pprof", "--label=service=api,host=%h", "--label=version=1.4"))
    given = {"service": "api", "version": "1.4", "host": os.uname().nodename[:64]}
    expect("labels", [({**labels, **given}, values) for _, values, labels in plain.samples],
           [(labels, values) for _, values, labels in named.samples])
    for words in (("--to=folded", "--label=a=b"), ("--to=pprof", "--label=a"), ("--to=pprof", "--alloc-from=x"),
                  ("--to=pprof", "--alloc-from=fork"), ("--to=pprof", "--alloc-from=mark:none"),
                  ("--to=trace", "--alloc-from=5"), ("--to=csv", "--merge-threads"),
                  ("--to=pprof", f"--diff-base={trace}", "--label=a=b")):
        done = subprocess.run([tools.msconvert, "-q", *words, trace], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        expect(f"{words}: status", done.returncode, 64)


def check_packing(tools, trace):
    plain = tools.convert(trace, "--to=folded")
    for suffix, program in (("gz", "gzip"), ("zst", "zstd")):
        path = tools.path("x.folded." + suffix)
        tools.convert(trace, "-o", path)
        expect(suffix, tools.run(program, "-dc", path), plain)


def check_go(tools, name, trace, pprof):
    """go tool pprof's own sums."""
    path = tools.path("x.pb.gz")
    tools.convert(trace, "-o", path)
    done = subprocess.run(["go", "tool", "pprof", "-raw", path], capture_output=True, text=True, check=True,
                          env={**os.environ, "PPROF_TMPDIR": tools.directory})
    rows = [[int(n) for n in m[1].split()] for m in re.finditer(r"^ +(\d+(?: +\d+){3}): ", done.stdout, re.M)]
    for i, (kind, _) in enumerate(pprof.types):
        expect(f"{name}: go tool pprof's {kind}", sum(row[i] for row in rows),
               sum(values[kind] for _, values, _ in pprof.samples))


def main():
    args = harness.arguments(__doc__, "--long")
    build = args.build
    with harness.Scratch() as directory:
        tools = Tools(build, directory)
        traces = {
            "sqlite3": tools.record("sqlite3", "sqlite3", ":memory:", SQL),
            "threads": tools.record("threads", build.file("corpus/threads")),
            "inline_chain": tools.record("inline_chain", build.file("corpus/inline_chain")),
        }
        for name, trace in traces.items():
            pprof = check_values(tools, name, trace)
            check_times(tools, name, trace)
            check_deltas(tools, name, trace)
            if name == "inline_chain":
                check_stacks(name, read_folded(tools.convert(trace, "--to=folded")), pprof)
            if name == "threads":
                check_filters(tools, trace, pprof)
            if args.long:
                check_go(tools, name, trace, pprof)
        check_window(tools, traces["sqlite3"])
        check_packing(tools, traces["sqlite3"])
        check_labels(tools, traces["threads"])
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
