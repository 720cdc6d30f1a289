#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of real programs, taken by the recorder's unwinder and by libgcc's at the same calls: every frame
of every stack must be equal. Where libgcc ends at code without a table (it cannot go on there), its frames
must be the beginning of ours."""

import argparse
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import workloads                                      # noqa: E402
from harness import Scratch                           # noqa: E402

EVERY = 7           # of the quick share, for the long ones: a prime, so that no loop is always missed
NAMES = ("stacks", "equal", "shorter", "other")


def figures(text):
    words = text.split("\n", 1)[0].split()
    return dict(zip(words[::2], map(int, words[1::2])))


def run(witness, workload, folder, every):
    """The sums of the figures of a workload's processes, and the lines about differences."""
    out = os.path.join(folder, "witness")
    env = workload.environment(WITNESS_OUT=out, WITNESS_EVERY=str(every))
    with open(workload.stdin) as stdin:
        done = subprocess.run(["/usr/bin/env", f"LD_PRELOAD={os.path.abspath(witness)}"] + workload.argv, stdin=stdin,
                              env=env,
                              cwd=workload.cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=3000)
    if done.returncode != 0:
        raise RuntimeError(f"{workload.name}: exit {done.returncode}: {done.stderr[-300:]!r}")
    total, details = dict.fromkeys(NAMES, 0), []
    for path in sorted(glob.glob(out + ".*")):
        with open(path) as f:
            text = f.read()
        os.unlink(path)
        for name, n in figures(text).items():
            total[name] += n
        details += text.splitlines()[1:]
    return total, details


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--witness", required=True, help="the library made of unwind_witness.c")
    parser.add_argument("--long", action="store_true", help="larger inputs, every call")
    args = parser.parse_args()
    failed, total = [], dict.fromkeys(NAMES, 0)
    with Scratch() as folder:
        for workload in workloads.make(folder, 4 if args.long else 1):
            heavy = workload.name in ("cc1plus", "clang")
            found, details = run(args.witness, workload, folder, EVERY if heavy and not args.long else 1)
            print(workload.name, " ".join(f"{k} {v:,}" for k, v in found.items()), flush=True)
            for name, n in found.items():
                total[name] += n
            if found["other"] or not found["equal"]:
                failed.append(workload.name)
                print("\n".join(details))
    print("all", " ".join(f"{k} {v:,}" for k, v in total.items()))
    print(f"{len(failed)} failed: {' '.join(failed)}" if failed else "all stacks as libgcc's")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
