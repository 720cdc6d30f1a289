#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""DHAT's figures by stack, of valgrind --tool=dhat and of msconvert --to=dhat.

  dhat.py --build DIR

The command, what each stack allocated, and what of it was live at the peak and at the end are the same. DHAT 3.19 notes
a stack's own peak (mb, mbk) only where that is the program's, too, and its clock counts instructions.
"""

import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

FIELDS = ("tb", "tbk", "gb", "gbk", "eb", "ebk")
PROGRAMS = [("tests/formats/dhat_program", mode) for mode in ("realloc", "peaks", "zero", "places")]
PROGRAMS += [(f"corpus/{name}",) for name in ("basic", "culling", "one", "peak", "realloc", "realloc_cycle",
                                              "recurse", "thresholds", "zero")]
check = harness.Checks()


def places(data):
    """By stack, as the names of its functions: the fields."""
    sums = collections.defaultdict(collections.Counter)
    for point in data["pps"]:
        lines = [data["ftbl"][i].split(": ", 1)[1] for i in point["fs"]]
        names = [line.rsplit(" (", 1)[0] for line in lines if "vgpreload" not in line]
        sums[tuple(names)].update({field: point[field] for field in FIELDS})
    return {stack: {field: fields[field] for field in FIELDS} for stack, fields in sums.items()}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def compare(build, folder, command):
    name = " ".join(os.path.basename(word) for word in command)
    command = [build.file(command[0]), *command[1:]]
    trace, own, real = (os.path.join(folder, n) for n in ("t.zst", "own", "real"))
    run = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
           "env": harness.plain_environment()}
    subprocess.run([build.msrec, "-q", "-o", trace, *command], **run)
    subprocess.run([build.file("analyze/msconvert"), "-q", "--to=dhat", "-o", own, trace], **run)
    subprocess.run(["valgrind", "--tool=dhat", "--num-callers=200", f"--dhat-out-file={real}", *command], **run)
    found, wanted = load(own), load(real)
    check.equal(f"{name}: the command", found["cmd"], wanted["cmd"])
    check(f"{name}: something to compare", wanted["pps"])
    check.equal(f"{name}: the stacks", places(found), places(wanted))


def main():
    build = harness.arguments(__doc__).build
    harness.need_valgrind()
    for command in PROGRAMS:
        with harness.Scratch() as folder:
            compare(build, folder, command)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
