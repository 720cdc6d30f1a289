#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tools under Valgrind's memcheck: no invalid access, and no use of uninitialised memory.

  memcheck.py --build DIR [--only PART]
"""

import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
from harness import Problem, need, plain_environment, run_script    # noqa: E402

MEMCHECK = ["valgrind", "-q", "--error-exitcode=99", "--trace-children=no", "--child-silent-after-fork=yes"]
FORMATS = ("folded speedscope pprof heapprofile dhat heaptrack csv csv-stacks csv-frames csv-snapshots csv-threads "
           "csv-rss ndjson parquet callgrind xtree massif trace").split()
REPLAYS = ("", "--usable=valgrind --compat=3.19", "--usable=real", "--exact-peak --at=end", "--stacks=yes --heap=no",
           "-j3 --also=--depth=3", "--xtree-memory=full --xtree-memory-file=x", "-v -v", "--stats=yes")


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        subprocess.run([build.file("tests/tools/cli_trace"), "t"], cwd=folder, check=True)
        for name, program in {"p": ["python3", "-c", "import json; print(len(json.dumps(list(range(9999)))))"],
                              "threads": [build.file("corpus/threads")]}.items():
            subprocess.run([build.msrec, "-q", "-o", name, *program], cwd=folder, check=True,
                           env=plain_environment(), stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "p"), "rb") as whole, open(os.path.join(folder, "cut"), "wb") as cut:
            cut.write(whole.read()[:-1000])

    def check(self, *words, allowed=(0,)):
        done = subprocess.run([*MEMCHECK, *words], cwd=self.folder, env=plain_environment(), timeout=900,
                              capture_output=True, text=True, errors="replace")
        if done.returncode not in allowed:
            raise Problem(f"{words}: exit {done.returncode}: {done.stderr[-2000:]}")


def replays(bench):
    for options in REPLAYS:
        for trace in ("t", "p"):
            # 64: the trace doesn't hold what the option needs.
            bench.check(bench.build.file("analyze/msreplay"), *options.split(), "--massif-out-file=m", trace,
                        allowed=(0, 64))
    return f"{len(REPLAYS)} sets of options"


def damaged(bench):
    for tool, words in (("msreplay", ["--massif-out-file=m"]), ("msreplay", ["--memusage"]),
                        ("msconvert", ["--to=folded", "-o", "f"])):
        bench.check(bench.build.file("analyze/" + tool), *words, "cut", allowed=(1,))
    return "three answers"


def memusage(bench):
    bench.check(bench.build.file("analyze/msreplay"), "--memusage=full", "--svg=s.svg", "-d", "data", "p")
    return "report, data and picture"


def conversions(bench):
    for form in FORMATS:
        bench.check(bench.build.file("analyze/msconvert"), "-q", "--to", form, "-o", "c." + form, "threads")
    for form in ("heaptrack", "massif"):
        bench.check(bench.build.file("analyze/msconvert"), "-q", "--from", form, "--to=folded", "-o", "i", "c." + form)
    bench.check(bench.build.file("analyze/msconvert"), "-q", "--to=trace", "--from=1", "--embed-symbols", "-o", "e",
                "p")
    return f"{len(FORMATS)} formats"


def golden(bench):
    traces = sorted(glob.glob(os.path.join(HERE, "../../corpus/golden/*/*.zst")))
    for trace in traces:
        bench.check(bench.build.file("analyze/msreplay"), "-q", "--time-unit=B", "--massif-out-file=m", trace,
                    allowed=(0, 1))
    return f"{len(traces)} traces"


def ms_print(bench):
    subprocess.run([bench.build.file("analyze/msreplay"), "-q", "--time-unit=B", "--massif-out-file=m", "p"],
                   cwd=bench.folder, check=True)
    bench.check(bench.build.file("ms_print/ms_print"), "m")
    return "a graph and its trees"


def recording(bench):
    """msrec's own process; the recorded program runs as it is."""
    for options in ([], ["--stacks=yes"], ["--embed-symbols"], ["--max-size=64k", "--rotate"], ["--sample=4k"]):
        bench.check(bench.build.msrec, "-q", "-f", *options, "-o", "r", "sh", "-c", "ls / >/dev/null; true")
    return "five recordings"


CASES = [("replays", replays), ("damaged", damaged), ("memusage", memusage), ("conversions", conversions),
         ("golden traces", golden), ("ms_print", ms_print), ("recording", recording)]


def main():
    need("valgrind")
    return run_script(__doc__, CASES, Bench)


if __name__ == "__main__":
    sys.exit(main())
