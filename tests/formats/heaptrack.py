# SPDX-License-Identifier: MIT
"""heaptrack's files both ways, compared by heaptrack_print: msconvert's files have msreplay's totals, and traces made
from heaptrack's recordings have heaptrack's totals and tree.

  heaptrack.py --build DIR [--long]

--long takes more programs.
"""

import collections
import gzip
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import workloads  # noqa: E402
from profiles import ALLOCATIONS, Tools, check, expect, read_folded  # noqa: E402

OPERATOR_NEW = ("operator new(unsigned long)", "operator new[](unsigned long)")
EXACT = ("--usable=requested", "--heap-admin=0")    # heaptrack's peak is one of bytes asked for


def read_stacks(text):
    """heaptrack_print's stacks: the names in each without order (it turns inlined calls round) and values."""
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, value = line.rsplit(";", 1) if line.rsplit(" ", 1)[0].endswith(";") else line.rsplit(" ", 1)
        names = [re.sub(r" \([^()]*\)$", "", name) for name in stack.split(";") if name]
        if int(value):
            stacks[tuple(sorted(names))] += int(value)
    return stacks


def own_stacks(folded):
    """The same of folded stacks; heaptrack takes what operator new allocates for its caller's."""
    stacks = collections.Counter()
    for stack, value in folded.items():
        names = [re.sub(r"^\[.*?(0x[0-9a-f]+)\]$", r"\1", name) for name in stack.split(";")]
        if names[-1] in OPERATOR_NEW:
            names.pop()
        stacks[tuple(sorted(names))] += value
    return stacks


class Print:
    """heaptrack_print's answers about a file."""

    def __init__(self, tools, path):
        self.tools, self.path = tools, path
        text = tools.run("heaptrack_print", "-m0", "-p0", "-a0", "-T0", "--disable-builtin-suppressions",
                         "--disable-embedded-suppressions", path).decode()
        self.calls = int(re.search(r"^calls to allocation functions: (\d+)", text, re.M)[1])
        self.leaked = re.search(r"^total memory leaked: (\S+)", text, re.M)[1]
        self.peak = re.search(r"^peak heap memory consumption: (\S+)", text, re.M)[1]

    def stacks(self, cost):
        out = self.tools.path("stacks")
        self.tools.run("heaptrack_print", "-m0", "-p0", "-a0", "-T0", "-t", "0", "-F", out, "--flamegraph-cost-type",
                       cost, "--disable-builtin-suppressions", self.path)
        with open(out, encoding="utf-8", errors="replace") as file:
            return read_stacks(file.read())


def shown(n):
    """A number of bytes as heaptrack_print writes it."""
    for unit in ("B", "K", "M", "G", "T"):
        if abs(n) < 1000:
            return f"{n:.0f}B" if unit == "B" else f"{n:.2f}{unit}"
        n /= 1000
    raise AssertionError


def compare_stacks(what, found, wanted):
    expect(f"{what}: sum", sum(found.values()), sum(wanted.values()))
    differing = [s for s in set(found) | set(wanted) if found[s] != wanted[s]]
    for stack in differing[:3]:
        expect(f"{what}: {stack}", found[stack], wanted[stack])
    expect(f"{what}: stacks that differ", len(differing), 0)


def compare(tools, what, trace, print_):
    """heaptrack_print's figures and stacks against msconvert's of `trace`."""
    values = {
        "peak": ("--value=inuse_bytes", *EXACT),
        "leaked": ("--value=inuse_bytes", "--at=end"),
        "allocations": ("--value=alloc_objects",),
    }
    for cost, options in values.items():
        folded = read_folded(tools.convert(trace, "--to=folded", "--show-below-main=no", *options))
        compare_stacks(f"{what}, {cost}", own_stacks(folded), print_.stacks(cost))
        if cost == "allocations":
            expect(f"{what}: calls", sum(folded.values()), print_.calls)
        if cost == "leaked":
            expect(f"{what}: leaked", shown(sum(folded.values())), print_.leaked)
        if cost == "peak":
            expect(f"{what}: peak", shown(sum(folded.values())), print_.peak)
            massif = tools.convert(trace, "--to=massif", "--exact-peak", *EXACT).decode()
            peak = max(int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", massif, re.M))
            expect(f"{what}: massif.out's peak", peak, sum(folded.values()))
            root = re.search(r"heap_tree=peak\nn\d+: (\d+) ", massif)
            expect(f"{what}: the tree of massif.out's peak", int(root[1]), peak)


def check_writing(tools, name, trace):
    stat = tools.build.stat(trace)
    calls = sum(stat[key] for key in ALLOCATIONS)
    path = tools.path("x.heaptrack")
    for suffix in ("", ".gz", ".zst"):
        tools.convert(trace, "-o", path + suffix)
        print_ = Print(tools, path + suffix)
        expect(f"{name}{suffix}: calls", print_.calls, calls)
    peak = read_folded(tools.convert(trace, "--to=folded", *EXACT))
    end = read_folded(tools.convert(trace, "--to=folded", "--at=end"))
    expect(f"{name}: peak", sum(print_.stacks("peak").values()), sum(peak.values()))
    expect(f"{name}: peak, as shown", print_.peak, shown(sum(peak.values())))
    expect(f"{name}: leaked", sum(print_.stacks("leaked").values()), sum(end.values()))
    expect(f"{name}: leaked, as shown", print_.leaked, shown(sum(end.values())))
    return path


def check_round_trip(tools, name, trace, path):
    """trace -> heaptrack -> trace keeps all profiles, and so all trees."""
    for suffix in ("", ".gz", ".zst"):
        back = tools.path("back.zst")
        tools.convert(path + suffix, "--to=trace", "-o", back)
        for options in (("--value=alloc_bytes",), ("--value=alloc_objects",), ("--at=end",), EXACT,
                        ("--value=inuse_objects", *EXACT), ("--at=1", "--show-below-main=yes")):
            if suffix and options != EXACT:
                continue
            # Addresses stand for missing names: heaptrack's are those of the file, msreplay's those of the run.
            found, wanted = ([(re.sub(r"\[[^;]*\]", "?", stack), value) for stack, value in
                              read_folded(tools.convert(t, "--to=folded", *options)).items()]
                             for t in (back, trace))
            expect(f"{name}{suffix}: there and back, {options}", sorted(found), sorted(wanted))
        snapshots = [re.findall(r"^(?:time|mem_heap_B)=\d+$|heap_tree=\w+$",
                                tools.convert(t, "--to=massif", *EXACT, "--exact-peak", "--time-unit=B").decode(),
                                re.M) for t in (back, trace)]
        if not suffix:
            expect(f"{name}: the peak, there and back", max(int(s[11:]) for s in snapshots[0] if s[0] == "m"),
                   max(int(s[11:]) for s in snapshots[1] if s[0] == "m"))


def record(tools, workload):
    path = tools.path("heaptrack." + workload.name)
    with open(workload.stdin, "rb") as stdin:
        subprocess.run(["heaptrack", "-o", path, *workload.argv], stdin=stdin, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=workload.cwd or tools.directory,
                       env=workload.environment())
    return path + ".zst"


def clang(folder, _scale):
    source = workloads.write(os.path.join(folder, "y.c"), "#include <stdio.h>\nint main(void) { return puts(\"\"); }\n")
    program = next(p for p in ("clang", "clang-14") if harness.have(p))
    return workloads.Workload("clang", [program, "-O2", "-c", source, "-o", "/dev/null"])


def check_recordings(tools, long):
    makers = [workloads.sqlite, workloads.python, workloads.perl]
    if long:
        makers += [workloads.git, workloads.xmllint, workloads.jq, workloads.cc1plus, clang]
    for make in makers:
        workload = make(tools.directory, 1)
        path = record(tools, workload)
        compare(tools, f"heaptrack's {workload.name}", path, Print(tools, path))


def old_form(data, version):
    """A file of version 3 as version 1 or 2 would have been: strings without their lengths."""
    lines = [re.sub(rb"^s [0-9a-f]+ ", b"s ", line) for line in data.split(b"\n")]
    lines[0] = b"v 10200" if version == 1 else b"v 10300 2"
    return b"\n".join(lines)


def check_versions(tools, trace, path):
    with open(path, "rb") as file:
        data = file.read()
    wanted = tools.convert(path, "--to=folded")
    for version in (1, 2):
        old = tools.path(f"old{version}")
        with open(old, "wb") as file:
            file.write(old_form(data, version))
        expect(f"version {version}", tools.convert(old, "--to=folded"), wanted)
        expect(f"version {version} for heaptrack_print", Print(tools, old).calls, Print(tools, path).calls)
    expect("content, not name, tells", tools.convert(old, "--from=heaptrack", "--to=folded"), wanted)
    assert read_folded(wanted) and trace


def run_damaged(tools, data, what):
    path = tools.path("damaged")
    with open(path, "wb") as file:
        file.write(data)
    done = subprocess.run([tools.msconvert, "-q", "--from=heaptrack", "--to=folded", path], check=False,
                          capture_output=True, timeout=60)
    if done.returncode not in (0, 1, 2):
        expect(what, done.returncode, "an exit status of its own")
    return done


def check_damage(tools, path):
    with open(path, "rb") as file:
        data = file.read()
    half = data[:data.rindex(b"\n", 0, len(data) // 2) + 1]
    for cut, name in ((half + b"+", "a cut line"), (gzip.compress(data)[:-30], "a cut .gz")):
        done = run_damaged(tools, cut, name)
        expect(name, (done.returncode, b"cut or damaged" in done.stderr), (1, True))
    head = b"v 10400 3\nX x\n"
    for text, problem in ((b"t 1 0\n", b"unknown"), (b"i 1 9\n", b"unknown"), (b"+ 0\n", b"unknown"),
                          (b"s ff x\n", b"shorter"), (b"a 1 1\n", b"unknown"), (b"v 1 1\n", b"second"),
                          (b"a -1 0\n", b"without a size"), (b"i zz 0\n", b"without an address"),
                          (b"a ffffffffffffffff 0\n", b"impossible"), (b"c fffffffffffffffff\n", b"malformed")):
        done = run_damaged(tools, head + b"s 1 a\n" + text, text)
        expect(text, (done.returncode, problem in done.stderr), (2, True))
    expect("a later version", run_damaged(tools, b"v 10400 9\n", "later").returncode, 2)
    expect("a long line", run_damaged(tools, head + b"s 1 " + b"x" * (3 << 20) + b"\n", "long").returncode, 2)
    # Any byte may be wrong.
    seed = 1
    for i in range(10):
        seed = seed * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        at = (seed >> 33) % len(data)
        run_damaged(tools, data[:at] + bytes([seed >> 24 & 0xFF]) + data[at + 1:], f"byte {at}, {i}")


def main():
    args = harness.arguments(__doc__, "--long")
    harness.need_heaptrack_print()
    build = args.build
    with harness.Scratch() as directory:
        tools = Tools(build, directory)
        for name, command in {"threads": [build.file("corpus/threads")],
                              "inline_chain": [build.file("corpus/inline_chain")],
                              "realloc": [build.file("corpus/realloc")]}.items():
            trace = tools.record(name, *command)
            path = check_writing(tools, name, trace)
            check_round_trip(tools, name, trace, path)
        check_versions(tools, trace, path)
        check_damage(tools, path)
        check_recordings(tools, args.long)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
