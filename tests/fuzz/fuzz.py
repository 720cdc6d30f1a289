#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a libFuzzer program from a corpus, which stays unchanged, to find inputs that break its promise; prints the
number of runs and the code coverage. Findings are kept below --findings, for the corpus."""

import argparse
import os
import re
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fuzzer")
    parser.add_argument("corpus")
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("FUZZ_SECONDS", "60")))
    parser.add_argument("--findings", default=".", help="folder for inputs that break the promise")
    parser.add_argument("--keep", help="folder for inputs that reach something new")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="msrec-fuzz-") as folder:
        done = subprocess.run([args.fuzzer, f"-max_total_time={args.seconds}", "-timeout=120", "-report_slow_units=120",
                               "-rss_limit_mb=3000", "-max_len=65536", "-close_fd_mask=3", "-print_final_stats=1",
                               f"-artifact_prefix={args.findings}/", args.keep or folder, args.corpus],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    reached = re.findall(r"cov: (\d+) ft: (\d+)", done.stderr)
    if done.returncode != 0 or not runs or not reached:
        print(done.stderr[-4000:])
        return 1
    print(f"{runs[-1]} runs, {reached[0][0]} edges at first, {reached[-1][0]} at the end, {reached[-1][1]} features")
    return 0


if __name__ == "__main__":
    sys.exit(main())
