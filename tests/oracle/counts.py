#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs under the recorder and under an independent account of every call: calls by class and
the exact peak of requested bytes must be the same, and the recorder must have lost nothing.

Together: both preloaded in one process, the recorder in front, with the stacks of frees. Both see the same calls; but
frees of NULL end in the recorder and are not compared. Apart: each in a run of its own, with equal environments and no
randomised addresses, and everything is compared. Another library changes addresses; for programs whose allocations
depend on these, differences are only noted.
"""

import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import workloads                                      # noqa: E402
from harness import Scratch, arguments    # noqa: E402

# The order of enum exact in preload_exact.c.
EXACT = ("malloc", "calloc", "realloc", "resize", "realloc_free", "aligned", "new", "new_array", "reallocarray",
         "failed", "failed_resize", "free", "null_free", "live", "peak", "blocks", "unknown", "implied", "full")


def run(workload, command, **env):
    with open(workload.stdin) as stdin:
        done = subprocess.run(["setarch", "-R"] + command, stdin=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=workload.cwd, env=workload.environment(**env), timeout=500)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:3])}: exit {done.returncode}: {done.stderr[-300:]!r}")
    return done.stdout


def read_account(path):
    with open(path, "rb") as f:
        return dict(zip(EXACT, struct.unpack(f"{len(EXACT)}q", f.read(8 * len(EXACT)))))


def read_trace(build, path):
    """The trace's figures under the account's names, and those that must be 0."""
    s = build.stat(path)
    counts = {key: s[key] for key in EXACT if key in s}
    counts["resize"] = s["realloc_moved"] + s["realloc_in_place"]
    counts["aligned"] = sum(s[k] for k in ("memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc"))
    return counts, s


def preloading(command, library, **env):
    """Sets the preload for the command alone, not for its launcher."""
    return ["/usr/bin/env", f"LD_PRELOAD={library}"] + [f"{k}={v}" for k, v in env.items()] + command


class Runs:
    """The runs of one workload and their results."""

    def __init__(self, build, workload, folder):
        self.build, self.workload, self.folder = build, workload, folder
        self.problems, self.notes = [], []

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, name, *more):
        return [self.build.msrec, "-o", self.path(name), "--run-libc-freeres=no", "--run-cxx-freeres=no", *more]

    def compare(self, how, counts, account, skip, problems):
        for key in EXACT:
            if key in counts and key not in skip and counts[key] != account[key]:
                problems.append(f"{how}: {key}: recorded {counts[key]}, independent {account[key]}")
        if account["full"]:
            self.problems.append("the independent table is too small")

    def check_end(self, how, stat):
        for key in ("lost", "unknown", "implied", "unknown_op"):
            if stat[key] != 0:
                self.problems.append(f"{how}: {key} is {stat[key]}")
        if stat["reason"] != "exit" or stat["detail"] != 0:
            self.problems.append(f"{how}: ends with {stat['reason']} {stat['detail']}")

    def together(self):
        run(self.workload, preloading(self.record("both.zst", "--free-stacks=yes") + self.workload.argv,
                                      self.build.exact, EXACT_OUT=self.path("both"), EXACT_SKIP="msrec"))
        counts, stat = read_trace(self.build, self.path("both.zst"))
        self.compare("together", counts, read_account(self.path("both")), {"null_free"}, self.problems)
        self.check_end("together", stat)

    def apart(self):
        out = run(self.workload, self.record("own.zst") + self.workload.argv)
        reference = run(self.workload, preloading(self.workload.argv, self.build.exact, EXACT_OUT=self.path("own")))
        counts, stat = read_trace(self.build, self.path("own.zst"))
        self.compare("apart", counts, read_account(self.path("own")), set(),
                     self.notes if self.workload.by_address else self.problems)
        self.check_end("apart", stat)
        if out != reference:
            self.problems.append("the program's output differs")
        return f"{stat['events']} calls, peak {stat['peak']} bytes, depth {stat['depth']}"


def check(build, workload, folder):
    """Problems, notes, and a line of figures."""
    runs = Runs(build, workload, folder)
    try:
        runs.together()
        figures = runs.apart()
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        return [str(e)], [], ""
    return runs.problems, runs.notes, figures


def main():
    args = arguments(__doc__, ("--long", {"help": "ten times the work"}), ("names", {"nargs": "*"}))
    build = args.build
    failed = 0
    with Scratch() as folder:
        made = workloads.make(folder, 10 if args.long else 1, args.names)
        for workload in made:
            own = os.path.join(folder, "run-" + workload.name)
            os.mkdir(own)
            problems, notes, figures = check(build, workload, own)
            print(f"{'not ok' if problems else 'ok'} {workload.name}: {figures}", flush=True)
            for line in problems + [f"note: {n}" for n in notes]:
                print(f"  {line}")
            failed += bool(problems)
    missing = set(args.names or workloads.MAKERS) - {w.name for w in made}
    for name in sorted(missing):
        print(f"skip {name}: not installed")
    return 1 if failed or not made else 0


if __name__ == "__main__":
    sys.exit(main())
