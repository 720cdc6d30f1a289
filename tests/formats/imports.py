# SPDX-License-Identifier: MIT
"""Other tools' files, imported as traces: massif.out files of Valgrind's Massif, logs of glibc's mtrace.
The importers refuse damaged files of both or use their sound beginning.

  imports.py --build DIR [--long]
"""

import collections
import csv
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from profiles import Tools, check, expect, read_folded  # noqa: E402

EXACT = ("--usable=requested", "--heap-admin=0")


def name_of(label):
    """As in folded stacks; frames without a name aren't compared."""
    m = re.match(r"0x[0-9A-F]+: (.*)$", label)
    if not m:
        return label
    function = re.sub(r" \((?:in .*|[^()]*:\d+)\)$", "", m[1])
    return "?" if function.startswith("???") else function


def read_trees(text):
    """Of each detailed snapshot its time, kind, bytes, and bytes by stack, outermost function first."""
    snapshots = []
    for part in text.split("#-----------\nsnapshot=")[1:]:
        fields = dict(re.findall(r"^(\w+)=(\w+)$", part, re.M))
        if fields["heap_tree"] == "empty":
            continue
        stacks, path = collections.Counter(), []
        for blanks, size, label in re.findall(r"^( *)n\d+: (\d+) (.*)$", part, re.M):
            del path[len(blanks):]
            for_parent = ";".join(reversed(path[1:])) or "[no stack]"
            if path:
                stacks[for_parent] -= int(size)
            path.append(name_of(label))
            stacks[";".join(reversed(path[1:])) or "[no stack]"] += int(size)
        snapshots.append((int(fields["time"]), fields["heap_tree"], int(fields["mem_heap_B"]),
                          {stack: size for stack, size in stacks.items() if size}))
    return snapshots


def folded_names(data):
    """With code that has no name as "?"."""
    sums = collections.Counter()
    for stack, value in read_folded(data).items():
        sums[re.sub(r"\[[^;]*\+?0x[0-9a-f]+\]", "?", stack)] += value
    return dict(sums)


def check_massif(tools, name, *options):
    out = tools.path(f"massif.out.{name}")
    subprocess.run(["valgrind", "--tool=massif", "-q", f"--massif-out-file={out}", "--detailed-freq=2",
                    "--peak-inaccuracy=0", *options, tools.build.file("corpus/" + name)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=harness.plain_environment())
    with open(out, encoding="utf-8") as file:
        text = file.read()
    snapshots = read_trees(text)
    assert len(snapshots) > 2
    for i, (time, kind, total, stacks) in enumerate(snapshots):
        if i + 1 < len(snapshots) and snapshots[i + 1][0] == time:
            continue
        found = folded_names(tools.convert(out, "--to=folded", "--show-below-main=yes", f"--at={time}"))
        expect(f"{name}: the tree at {time}", found, {re.sub(";+", ";", s): n for s, n in stacks.items()})
        expect(f"{name}: bytes at {time}", sum(found.values()), total)
        if kind == "peak" and total == max(s[2] for s in snapshots):
            peak = folded_names(tools.convert(out, "--to=folded", "--show-below-main=yes", *EXACT))
            expect(f"{name}: the peak", sum(peak.values()), total)
    for form in ("speedscope", "pprof", "heapprofile"):
        assert len(tools.convert(out, f"--to={form}")) > 100
    return text


def check_mtrace(tools):
    log, program = tools.path("mtrace.log"), tools.build.file("tests/formats/mtrace_log")
    done = subprocess.run([program], capture_output=True, text=True, check=True,
                          env=harness.plain_environment(MALLOC_TRACE=log, LD_PRELOAD="libc_malloc_debug.so.0"))
    leaked, blocks = map(int, done.stdout.split())
    with open(log, encoding="utf-8") as file:
        text = file.read()
    assert "!" in text and "<" in text, "the log has all kinds of lines"
    # mtrace's own analysis.
    report = subprocess.run(["mtrace", log], capture_output=True, text=True, check=False).stdout
    sizes = [int(size, 16) for size in re.findall(r"^0x[0-9a-f]+ +(0x[0-9a-f]+)", report, re.M)]
    expect("mtrace's leaks", (sum(sizes), len(sizes)), (leaked, blocks))
    for value, wanted in (("inuse_bytes", leaked), ("inuse_objects", blocks)):
        folded = read_folded(tools.convert(log, "--to=folded", "--at=end", f"--value={value}"))
        expect(f"mtrace's {value}", sum(folded.values()), wanted)
    trace = tools.path("mtrace.zst")
    tools.convert(log, "--to=trace", "-o", trace)
    stat = tools.build.stat(trace)
    lines = collections.Counter(m for m in re.findall(r"\] ([-+<>!]) ", text))
    expect("mtrace's allocations", stat["malloc"], lines["+"])
    expect("mtrace's reallocs", stat["realloc_moved"] + stat["realloc_in_place"], lines[">"] + lines["!"])
    callers = {place for place in re.findall(r"\[(0x[0-9a-f]+)\] [+>]", text)}
    rows = csv.DictReader(tools.convert(log, "--to=csv-stacks").decode().splitlines())
    expect("mtrace's callers", sum(row["alloc_objects"] != "0" for row in rows), len(callers))
    # The log has single blocks, so lifetimes are known.
    assert b'"pps"' in tools.convert(log, "--to=dhat")
    return text


def run_damaged(tools, form, data, what):
    path = tools.path("damaged")
    with open(path, "wb") as file:
        file.write(data)
    done = subprocess.run([tools.msconvert, "-q", f"--from={form}", "--to=folded", path], check=False,
                          capture_output=True, timeout=60)
    if done.returncode not in (0, 1, 2):
        expect(what, done.returncode, "an exit status of its own")
    return done


def check_damage(tools, form, data):
    seed = 7
    for i in range(40):
        seed = seed * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        at = (seed >> 33) % len(data)
        run_damaged(tools, form, data[:at] + bytes([seed >> 24 & 0xFF]) + data[at + 1:], f"{form}: byte {at}")
        run_damaged(tools, form, data[:at], f"{form}: cut at {at}")


def check_refusals(tools):
    head = b"desc: x\ncmd: y\ntime_unit: B\n#-----------\nsnapshot=0\n#-----------\ntime=1\nheap_tree=detailed\n"
    for form, text, status in (
            ("massif", head + b"n1: 10 (root)\n n0: 11 0x1: f (a.c:1)\n", 2),
            ("massif", head + b"n1: 10 (root)\n x\n", 2),
            ("massif", head + b"n1: 10 (root)\n", 2),
            ("massif", head + b"n0: 10 (root)\n", 0),
            ("massif", head + b"n1: 10 (root)\n n99999999999999999999: 1 0x1: f (a.c:1)\n", 2),
            ("massif", head + b"n1: 5 r\n" + b"".join(b" n1: 5 0x%x: f (a.c:1)\n" % i for i in range(5000)), 2),
            ("massif", head + b"n40: 80 r\n" + b" n0: 2 0x1: f%d (a.c:1)\n" * 0
             + b"".join(b" n0: 2 0x1: f%d (a.c:1)\n" % i for i in range(40)), 0),
            ("massif", b"nothing\n", 2),
            ("mtrace", b"= Start\n@ a:[0x1] > 0x10 0x5\n", 2),
            ("mtrace", b"= Start\n@ a:[0x1] < 0x10\n@ a:[0x1] + 0x20 0x5\n", 2),
            ("mtrace", b"= Start\n@ a:[0x1] + 0x10\n", 2),
            ("mtrace", b"= Start\n@ a:[0x1] + 0x10 0xffffffffffffffff\n", 2),
            ("mtrace", b"= Start\n@ a:[0x1] + 0x10 0x1\n@ a:[0x1] + 0x10 0x2\n- 0x10\n- 0x10\n", 0),
            ("mtrace", b"hello\n", 2)):
        done = run_damaged(tools, form, text, text[:80])
        expect(f"{form}: {text[-60:]}", done.returncode, status)


def main():
    args = harness.arguments(__doc__, "--long")
    build = args.build
    with harness.Scratch() as directory:
        tools = Tools(build, directory)
        text = check_massif(tools, "peak", "--time-unit=B")
        check_massif(tools, "inline_chain", "--time-unit=B", "--threshold=0")
        if args.long:
            for name in ("basic", "recurse", "deep", "templates", "thresholds"):
                check_massif(tools, name, "--time-unit=B")
        check_damage(tools, "massif", text.encode())
        check_damage(tools, "mtrace", check_mtrace(tools).encode())
        check_refusals(tools)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
