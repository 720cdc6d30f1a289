#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the results of meson's test runs in several build folders, and of steps that are no tests of meson's; exits 1
if any failed, or none ran in a folder."""
import argparse
import glob
import json
import os
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}
TAIL = 15    # lines shown of a failed test's output, besides those that tell a failure; testlog.txt has all of them
TOLD = ("not ok", "FAIL")    # how such a line begins


def results(folder):
    """The (name, result, output) of each test of the last runs: testlog.json, testlog-SETUP.json ..."""
    for path in sorted(glob.glob(os.path.join(folder, "meson-logs", "testlog*.json"))):
        setup = os.path.basename(path)[len("testlog"):-len(".json")]
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                test = json.loads(line)
                yield test["name"] + setup, test["result"], test.get("stdout", "") + test.get("stderr", "")


def reason(output):
    """A skipped test says why in a line that begins with SKIP."""
    for line in output.splitlines():
        if line.upper().startswith("SKIP"):
            return line
    return "no reason given"


def cause(output):
    """What to show of a failed test's output: what it says has failed, wherever that is, and the end."""
    lines = output.splitlines()
    begin = max(0, len(lines) - TAIL)
    told = [at for at in range(begin) if lines[at].lstrip().startswith(TOLD)][:TAIL]
    return [lines[at] for at in told] + lines[begin:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", action="append", default=[], metavar="NAME=RESULT",
                        help="ok; SKIP and the reason; or it has failed")
    parser.add_argument("folders", nargs="+")
    args = parser.parse_args()
    passed = failed = skipped = 0
    for name, result in (step.split("=", 1) for step in args.step):
        if result == "ok":
            passed += 1
        elif result.startswith("SKIP"):
            skipped += 1
            print(f"skipped: {name}: {result}")
        else:
            failed += 1
            print(f"FAILED: {name}")
    for folder in args.folders:
        tests = list(results(folder))
        if not tests:
            failed += 1
            print(f"FAILED: {folder}: no test ran")
        for name, result, output in tests:
            if result in PASSED:
                passed += 1
            elif result in SKIPPED:
                skipped += 1
                print(f"skipped: {folder}: {name}: {reason(output)}")
            else:
                failed += 1
                print(f"FAILED: {folder}: {name}: {result}")
                print("\n".join("    " + line for line in cause(output)))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
