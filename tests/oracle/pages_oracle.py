#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreplay --pages-as-heap=yes --compat=3.19 against valgrind --tool=massif --pages-as-heap=yes.

  pages_oracle.py --build DIR

Mappings before the program's main() differ under Valgrind: its own loader maps other files at other places, and
libraries come by mmap events, where the recorder finds them mapped. So the test compares from main() on, as
differences: time and bytes of each snapshot, and of each tree the part with main in it, by functions, files and
lines. Peaks are left out, because their choice depends on totals.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Scratch, arguments, need, plain_environment    # noqa: E402

OPTIONS = ["--pages-as-heap=yes", "--time-unit=B", "--threshold=0", "--detailed-freq=1", "--max-snapshots=1000",
           "--peak-inaccuracy=1000000000"]
LINE = re.compile(r"^( +)n\d+: (\d+) 0x[0-9A-F]+: (.*)$")


def places(tree):
    """Bytes by path, of those that lead to main: innermost function first, without addresses."""
    found, path = {}, []
    for line in tree:
        match = LINE.match(line)
        if not match:
            continue
        level, text = len(match.group(1)) - 1, re.sub(r" \(in .*\)", "", match.group(3))
        path[level:] = [text]
        if text.startswith("main ("):
            found[tuple(path)] = int(match.group(2))
    return found


def snapshots(path):
    """(time, bytes, places) of those from main() on, as differences to the first of them; states that repeat once."""
    with open(path) as f:
        parts = f.read().split("#-----------\nsnapshot=")[1:]
    all_of_them = []
    for part in parts:
        time, heap = (int(re.search(f"^{key}=(\\d+)", part, re.M).group(1)) for key in ("time", "mem_heap_B"))
        all_of_them.append((time, heap, places(part.split("\n"))))
    first = next(i for i, (_, _, found) in enumerate(all_of_them) if found)
    start = all_of_them[first]
    own = [(time - start[0], heap - start[1], found) for time, heap, found in all_of_them[first:]]
    return [s for i, s in enumerate(own) if i == 0 or s != own[i - 1]]


def main():
    build = arguments(__doc__).build
    need("valgrind")
    with Scratch() as path:
        program = [build.file("tests/cli/pages_program"), "placed"]
        env = plain_environment()
        for argv in (["valgrind", "-q", "--tool=massif", *OPTIONS, f"--massif-out-file={path}/theirs", *program],
                     [build.msrec, "-q", "-o", f"{path}/t", "--pages", *program],
                     [build.file("analyze/msreplay"), "-q", *OPTIONS, "--compat=3.19",
                      f"--massif-out-file={path}/ours", f"{path}/t"]):
            subprocess.run(argv, check=True, env=env, timeout=100)
        theirs, ours = snapshots(f"{path}/theirs"), snapshots(f"{path}/ours")
    for i, (a, b) in enumerate(zip(theirs, ours)):
        if a != b:
            print(f"snapshot {i} from main() on: time {b[0]} bytes {b[1]}, Massif's {a[0]} and {a[1]}")
            for place in sorted(set(a[2].items()) ^ set(b[2].items())):
                print("  ", place)
            return 1
    if len(theirs) != len(ours) or len(theirs) < 50:
        print(f"{len(ours)} snapshots, Massif's are {len(theirs)}")
        return 1
    print(f"equal: {len(ours)} snapshots, {len(ours[-1][2])} places")
    return 0


if __name__ == "__main__":
    sys.exit(main())
