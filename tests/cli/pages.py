#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec --pages: the sums are those of /proc/self/maps, and no program is harmed.

  pages.py --build DIR [--only PART]

The program (pages_program.c) runs a number of its steps, prints the sums of its mappings and ends. The replay must come
to the sums of a run without the recorder.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Problem, plain_environment, run_script    # noqa: E402

PAGE = 4096
LIBRARIES = 600
# Without libc's release of its memory at the end, which the program's sums don't have.
RECORD = ["--pages", "--run-libc-freeres=no", "--run-cxx-freeres=no"]


class Bench:
    def __init__(self, build, path):
        self.build, self.path = build, path
        self.program = build.file("tests/cli/pages_program")
        self.fixed = build.file("tests/cli/pages_fixed")
        self.msreplay = build.file("analyze/msreplay")
        self.tracedump = build.file("tests/tools/tracedump")
        self.loader = None

    def run(self, argv, **variables):
        return subprocess.run(argv, capture_output=True, text=True, timeout=100, env=plain_environment(**variables),
                              cwd=self.path)

    def record(self, *argv, options=(), **variables):
        """The program's result; its trace is `t`."""
        return self.run([self.build.msrec, "-f", "-o", "t", *RECORD, *options, *argv], **variables)

    def alone(self, *argv):
        """Bytes of all mappings, and of the stack, as the program prints them without the recorder.

        Behind preloaded libraries, the loader of glibc 2.41 maps a page less for itself.
        """
        if self.loader is None:
            self.record(self.program, "0")
            self.loader = self.total() - int(self.run([self.program, "0"]).stdout.split()[0])
            must(self.loader in (-PAGE, 0), f"at the start {self.loader} bytes more are mapped")
        there, stack = (int(word) for word in self.run(argv).stdout.split())
        return there + self.loader, stack

    def total(self, trace="t", *options):
        """Bytes at the end of a trace."""
        done = self.run([self.msreplay, "--pages-as-heap=yes", "--time-unit=B", "--snapshot=end",
                         "--massif-out-file=result", *options, trace])
        must(done.returncode == 0, f"msreplay: {done.stderr}")
        with open(os.path.join(self.path, "result.snapshot-end")) as f:
            return int(re.search(r"mem_heap_B=(\d+)", f.read()).group(1))


def must(condition, what):
    if not condition:
        raise Problem(what)


def untouched(bench, *argv, options=()):
    """The program does the same with and without the recorder: what it is."""
    alone, recorded = bench.run(argv), bench.record(*argv, options=options)
    must((alone.returncode, alone.stdout) == (recorded.returncode, recorded.stdout),
         f"{argv}: exit {recorded.returncode}, not {alone.returncode}: {recorded.stdout!r} {recorded.stderr!r}")
    return recorded


def sums(bench):
    n = int(bench.run([bench.program, "list"]).stdout)
    stack = bench.alone(bench.program, "0")[1]
    for step in range(n + 1):
        there = bench.alone(bench.program, str(step))
        recorded = bench.record(bench.program, str(step))
        must(recorded.returncode == 0, f"step {step}: exit {recorded.returncode}: {recorded.stderr}")
        must("watched" not in recorded.stderr, f"step {step}: {recorded.stderr}")
        # The trace doesn't have the kernel's part of the stack.
        expected, got = there[0] - (there[1] - stack), bench.total()
        must(got == expected, f"after {step} steps {got} bytes are mapped, not {expected}")
    must(there[1] > stack, "the stack didn't grow")
    return f"{n + 1} points equal"


def complete(bench, *argv, **variables):
    recorded = bench.record(*argv, **variables)
    must(recorded.returncode == 0 and "watched" not in recorded.stderr, f"{argv}: {recorded.stderr}")
    return bench.total()


def by_address(bench):
    there, got = bench.alone(bench.fixed, "24")[0], complete(bench, bench.fixed, "24")
    must(got == there, f"{got} bytes are mapped, not {there}")
    return "equal"


def behind_much_code(bench):
    """The dynamic linker's calls, which are behind all libraries."""
    libraries = [f"{i}.so" for i in range(LIBRARIES)]
    for library in libraries:
        shutil.copy(bench.build.file("tests/cli/plugin_one.so"), os.path.join(bench.path, library))
    many = {"LD_PRELOAD": " ".join(libraries), "LD_LIBRARY_PATH": bench.path,
            "ASAN_OPTIONS": "verify_asan_link_order=0"}     # msrec has these libraries, too
    alone, behind = (complete(bench, bench.program, "20", **variables) -
                     complete(bench, bench.program, "19", **variables)
                     for variables in ({}, many))
    must(alone == behind > 0, f"a library has {behind} bytes, not {alone}")
    return "equal"


def too_far(bench):
    recorded = bench.record(bench.program, "far")
    must(recorded.returncode == 0 and "watched" in recorded.stderr, f"no message: {recorded.stderr}")
    return "reported"


def forks(bench):
    n = int(bench.run([bench.program, "list"]).stdout)
    bench.run([bench.build.msrec, "-f", "-o", "f.%p", *RECORD, bench.program, str(n)])
    totals = {bench.total(os.path.basename(trace)) for trace in glob.glob(os.path.join(bench.path, "f.*"))}
    bench.record(bench.program, "24")
    before = bench.total()
    must(before + 49 * PAGE in totals, f"a child that maps 50 pages and unmaps one is missing: {totals}, {before}")
    return f"{len(totals)} processes"


def confined(bench):
    recorded = untouched(bench, bench.program, "confined")
    must(recorded.stdout == "alive\n", f"not alive: {recorded.stderr}")
    must("watched" in recorded.stderr, "nothing is said of what couldn't be recorded")
    return "alive"


def asking(bench):
    must("watched" not in untouched(bench, bench.program, "asking").stderr, "taken for confined")
    return "not confined"


def trapped(bench):
    must(untouched(bench, bench.program, "trapped").stdout == "10 traps\n", "not 10 traps")
    return "10 traps"


def executed(bench):
    for argv in (["sh", "-c", "exec sh -c 'echo $0; exec cat /proc/self/comm'"],
                 ["sh", "-c", "grep NoNewPrivs /proc/self/status; grep Seccomp: /proc/self/status; exit 7"],
                 ["env", "-i", "/bin/sh", "-c", "exec /bin/true"]):
        for options in ([], ["--trace-children=yes"]):
            untouched(bench, *argv, options=options)
    return "as without"


def children(bench):
    bench.run([bench.build.msrec, "-f", "-o", "c.%e.%p", "--trace-children=yes", *RECORD, "sh", "-c",
               f"{bench.program} 15; true"])
    alone = bench.alone(bench.program, "15")[0]
    [trace] = glob.glob(os.path.join(bench.path, "c.pages_program.*"))
    must(bench.total(os.path.basename(trace)) == alone, "another sum for the executed program")
    return "its own sum"


def memusage(bench):
    reports = []
    for options in (["--mmap=yes"], ["--mmap=yes", "--pages"]):
        bench.run([bench.build.msrec, "-f", "-o", "t", *options, bench.program, "15"])
        done = bench.run([bench.msreplay, "--memusage", "--mmap", "t"])
        must(done.returncode == 0 and "mmap" in done.stdout, f"no report: {done.stderr}")
        reports.append(done.stdout)
    must(reports[0] == reports[1], "--pages changes memusage's report")
    return "the same report"


def blocks(bench):
    """The heap's events are the same."""
    reports = []
    for options in ([], ["--pages"]):
        bench.run([bench.build.msrec, "-f", "-o", "t", *options, bench.program, "15"])
        done = bench.run([bench.msreplay, "--time-unit=B", "--massif-out-file=-", "t"])
        reports.append(re.sub("(0x[0-9A-F]*)", "", done.stdout))
    must(reports[0] == reports[1] and "mem_heap_B" in reports[0], "--pages changes the heap")
    return "the same heap"


def stacks(bench):
    """Of calls that libc makes, with none of the recorder's frames."""
    bench.record(bench.program, "14")
    bench.run([bench.msreplay, "--pages-as-heap=yes", "--time-unit=B", "--threshold=0", "--detailed-freq=1",
               "--massif-out-file=result", "t"])
    with open(os.path.join(bench.path, "result")) as f:
        text = f.read()
    must("msrec" not in text.split("snapshot=0")[1], "frames of the recorder")
    must(re.search(r"mremap .*\n +n\d+: \d+ 0x[0-9A-F]+: (mremap_chunk|.*in .*libc)", text), "no mremap by realloc")
    must("large_blocks (pages_program.c" in text and "main (pages_program.c" in text, "no frames of the program")
    must("0x0: ???\n" in text and "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc." in text, "no start")
    return "as they are"


def compat(bench):
    """As Massif counts, what is mapped over something else counts once more."""
    bench.record(bench.program, "3")
    before = bench.total("t", "--compat=3.19")
    bench.record(bench.program, "5")
    must(bench.total("t", "--compat=3.19") == before - 6 * PAGE + 13 * PAGE, "W6")
    return "twice"


def rotated(bench):
    """Each file begins with what was mapped when the one before ended."""
    churn = [bench.program, "churn", "25000"]
    there, stack = (bench.alone(*argv) for argv in (churn, [bench.program, "0"]))
    done = bench.run([bench.build.msrec, "-o", "r.%p", "--max-size=64k", "--rotate", *RECORD, *churn])
    must(done.returncode == 0 and "watched" not in done.stderr, f"exit {done.returncode}: {done.stderr}")
    chains, totals = {}, set()
    for path in glob.glob(os.path.join(bench.path, "r.*")):
        pid, n = (os.path.basename(path) + ".1").split(".")[1:3]
        chains.setdefault(pid, {})[int(n)] = os.path.basename(path)
    for chain in chains.values():
        files = [chain[n] for n in sorted(chain)]
        must(len(files) > 2, f"only {files}")
        for before, after in zip(files, files[1:]):
            for options in ([], ["--compat=3.19"]):
                ended, begun = first_and_last(bench, before, options)[1], first_and_last(bench, after, options)[0]
                must(ended == begun, f"{after}, {options}")
        totals.add(bench.total(files[-1]))
    # The child does the same as its parent.
    must(len(chains) == 2 and totals == {there[0] - (there[1] - stack[1])}, f"{totals} bytes in the end, not {there}")
    return f"{sum(map(len, chains.values()))} files of {len(chains)} processes"


def first_and_last(bench, trace, options):
    """The trees of a trace's first snapshot and of its end."""
    done = bench.run([bench.msreplay, "-q", "--pages-as-heap=yes", "--time-unit=B", "--threshold=0",
                      "--detailed-freq=1", "--at=end", "--massif-out-file=m", *options, trace])
    must(done.returncode == 0, f"msreplay: {done.stderr}")
    trees = []
    for name in ("m", "m.at-end"):
        with open(os.path.join(bench.path, name)) as f:
            trees.append(re.search(r"^heap_tree=\w+\n((?: *n\d+: .*\n)+)", f.read(), re.M).group(1))
    return trees


def refused(bench):
    bench.run([bench.build.msrec, "-f", "-o", "t", bench.program, "3"])
    for options, status in ((["--pages-as-heap=yes"], 64), (["--pages-as-heap=yes", "--heap=no"], 0)):
        done = bench.run([bench.msreplay, *options, "--massif-out-file=-", "t"])
        must(done.returncode == status, f"{options}: {done.returncode}: {done.stderr}")
    bench.record(bench.program, "3")
    done = bench.run([bench.msreplay, "--pages-as-heap=yes", "--xtree-memory=full", "t"])
    must(done.returncode == 64 and "xtree" in done.stderr, done.stderr)
    for form in ("pprof", "callgrind"):
        done = bench.run([bench.build.file("analyze/msconvert"), "--to", form, "-o", "x", "--pages-as-heap=yes", "t"])
        must(done.returncode == 64, f"{form}: {done.returncode} {done.stderr}")
    return "with a message"


CASES = [("sums", sums), ("by address", by_address), ("behind much code", behind_much_code),
         ("too far", too_far), ("forks", forks), ("stacks", stacks), ("mistakes of Massif's", compat),
         ("confined", confined), ("asking", asking),
         ("trapped", trapped), ("executed", executed), ("children", children), ("rotated", rotated),
         ("memusage", memusage), ("heap", blocks), ("refused", refused)]


def main():
    return run_script(__doc__, CASES, Bench)


if __name__ == "__main__":
    sys.exit(main())
