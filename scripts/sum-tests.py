#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the results of meson's test runs in several build folders; exits 1 if any failed, or none ran in a folder."""
import argparse
import json
import os
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}
TAIL = 15    # lines shown of a failed test's output; all of it is in the folder's testlog.txt


def results(folder):
    """The (name, result, output) of each test of the last run."""
    path = os.path.join(folder, "meson-logs", "testlog.json")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            yield test["name"], test["result"], test.get("stdout", "") + test.get("stderr", "")


def reason(output):
    """A skipped test says why in a line that begins with SKIP."""
    for line in output.splitlines():
        if line.upper().startswith("SKIP"):
            return line
    return "no reason given"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    args = parser.parse_args()
    passed = failed = skipped = 0
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
                print("\n".join("    " + line for line in output.splitlines()[-TAIL:]))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
