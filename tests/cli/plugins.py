#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with changing code: plug-ins keep their names, or msrec reports that some don't, and stacks go through
generated code.

  plugins.py --build DIR [--only PART]
"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Problem, plain_environment, run_script    # noqa: E402

ROUNDS = 6000       # more than the table of modules has entries
SWAPS = 20
NAMES = ("plugin_one", "plugin_two")
SIZE = 16


class Bench:
    def __init__(self, build, path):
        self.build, self.path = build, path
        for name in NAMES:
            shutil.copy(build.file(f"tests/cli/{name}.so"), path)

    def run(self, argv):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=200, cwd=self.path,
                              env=plain_environment())
        if done.returncode:
            raise Problem(f"{argv}: exit {done.returncode}: {done.stderr}")
        return done

    def record(self, *words, host="plugin_host"):
        """The messages of msrec, and the tree at the end."""
        said = self.run([self.build.msrec, "-f", "-o", "t", self.build.file(f"tests/cli/{host}"), *words]).stderr
        self.run([self.build.file("analyze/msreplay"), "-q", "--time-unit=B", "--threshold=0", "--at=end",
                  "--massif-out-file=result", "t"])
        with open(os.path.join(self.path, "result.at-end")) as f:
            return said, f.read()


def bytes_of(tree, name):
    return sum(int(n) for n in re.findall(rf"n\d+: (\d+) 0x[0-9A-F]+: {name} ", tree))


def named(bench):
    said, tree = bench.record(str(ROUNDS))
    if "names" in said or "???" in tree:
        raise Problem(f"frames without names: {said}")
    for name in NAMES:
        if bytes_of(tree, name) != ROUNDS // 2 * SIZE:
            raise Problem(f"{name}: {bytes_of(tree, name)} bytes:\n{tree}")
    return f"{ROUNDS} rounds"


def swapped(bench):
    """A plug-in at the address of a closed one, before the recorder has noticed the closing."""
    said, tree = bench.record(str(SWAPS), host="plugin_host_swapped")
    for name in NAMES:
        if bytes_of(tree, name) != SWAPS // 2 * SIZE:
            raise Problem(f"{name}: {bytes_of(tree, name)} bytes:\n{said}{tree}")
    return f"{SWAPS} rounds"


def reported(bench):
    """While msrec is stopped, no entry becomes free."""
    said, tree = bench.record(str(ROUNDS), "stop")
    if "more libraries than there is room for" not in said or "???" not in tree:
        raise Problem(f"no message: {said}")
    if not 0 < bytes_of(tree, NAMES[0]) < ROUNDS // 2 * SIZE:
        raise Problem(f"{bytes_of(tree, NAMES[0])} bytes have a name")
    return "some without names"


def made(bench):
    """Code with a table that was registered for it."""
    said, tree = bench.record(host="made_host")
    chain = [rf" *n\d: 21000 0x[0-9A-F]+: {name}.*\n" for name in (r"\?\?\?", "pass_on ", r"\?\?\?", "main ")]
    if not re.search("".join(chain), tree):
        raise Problem(f"no whole stack: {said}{tree}")
    return "a whole stack"


CASES = [("named", named), ("swapped", swapped), ("reported", reported), ("made", made)]


def main():
    return run_script(__doc__, CASES, Bench)


if __name__ == "__main__":
    sys.exit(main())
