#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare what the commands of two builds answer: one for this machine, one for another processor or libc.

Both read the golden traces, traces of programs with debug information, traces that fuzz recipes describe, among them
damaged ones, and files of the other formats that msconvert and ms_print read. Exit status, both outputs and all
files that a command writes must be equal, byte for byte.

  same_answers.py --build DIR --other DIR [--quick] [--only WORD]

--build has a recorder, whose traces both read. --other may also be a prefix into which commands are installed; then
the questions to the build's test programs are left out. Exit status: 0 all equal, 1 a difference.
"""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Scratch, arguments    # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDED = ["exceptions", "inline_chain", "realloc", "threads"]
FROM = ["heaptrack", "massif", "memusage", "mtrace"]
FORMATS = re.compile(r"^(\S+) +\.", re.MULTILINE)
SECTIONS = ("overview peak leaks growth steps churn savings sizes spans threads libraries functions lines types errors "
            "rss brief").split()
PROGRAMS = {"msreplay": "analyze", "msconvert": "analyze", "msreport": "analyze", "mstop": "analyze",
            "ms_print": "ms_print", "cook": "tests/fuzz", "frame_names": "tests/tools"}
TOOK = re.compile(rb" in \d+\.\d+ s$", re.MULTILINE)
TIMEOUT = 600


# ---- what is asked of a trace T; in quick runs of each the first ones ----

REPLAYS = ["--massif-out-file=m", "--memusage --data=d", "--all-snapshots=end --massif-out-file=m",
           "--time-unit=B --usable=valgrind --compat=3.19 --massif-out-file=m",
           "--exact-peak --depth=3 --at=peak --at=end --massif-out-file=m", "--memusage=full -t --svg=s",
           "--usable=rounded --compat=fixed --threshold=0 --massif-out-file=m", "-v -v --massif-out-file=m",
           "--xtree-memory=full --xtree-memory-file=x", "--time-unit=B --max-snapshots=20 --massif-out-file=-"]
REPORTS = [" ".join(SECTIONS), "overview --format=json", "--html=page.html", "--diff=T",
           "functions lines --format=json --by=thread", "peak --by=size --threshold=0", "leaks --no-suppressions"]


def questions(formats, quick):
    """Command lines, as lists of words."""
    replays, reports = REPLAYS[:2] if quick else REPLAYS, REPORTS[:3] if quick else REPORTS
    formats = [f for f in formats if f in ("pprof", "parquet", "trace")] if quick else formats
    yield from (["msreplay", *options.split(), "T"] for options in replays)
    yield from (["msreport", *options.split(), "T"] for options in reports)
    yield from (["msconvert", f"--to={name}", "-o", "out", "T"] for name in formats)
    yield from [["mstop", "--once", "T"], ["mstop", "--once", "--json", "T"]]
    if not quick:
        yield ["msconvert", "--to=trace", "--anonymize=key", "-o", "out", "T"]
        yield ["msconvert", "--to=trace", "--until=10", "-o", "out", "T"]


# ---- running ----

class Side:
    """A build, and a folder for its files."""

    def __init__(self, build, folder):
        self.build, self.folder = os.path.abspath(build), folder
        self.installed = os.path.exists(os.path.join(self.build, "bin/msreplay"))

    def program(self, name):
        return os.path.join(self.build, "bin" if self.installed else PROGRAMS[name], name)

    def has(self, name):
        return os.path.exists(self.program(name))

    def run(self, number, words, inputs):
        """(status, stdout, stderr, files) of a command in a new folder with links to the inputs."""
        folder = os.path.join(self.folder, str(number))
        os.makedirs(folder)
        for name, path in inputs.items():
            os.symlink(path, os.path.join(folder, name))
        done = subprocess.run([self.program(words[0]), *words[1:]], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=TIMEOUT)
        files = {}
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    files[name] = file.read()
        subprocess.run(["rm", "-rf", folder], check=True)
        return done.returncode, done.stdout, done.stderr, files


def difference(one, other):
    """What differs first, how long something took excepted; None: nothing."""
    one, other = ((side[0], side[1], TOOK.sub(b" in N s", side[2]), side[3]) for side in (one, other))
    for what, a, b in zip(("status", "output", "messages"), one, other):
        if a != b:
            return f"{what}: {shown(a, b)}"
    if sorted(one[3]) != sorted(other[3]):
        return f"files: {sorted(one[3])} and {sorted(other[3])}"
    for name, bytes_ in one[3].items():
        if bytes_ != other[3][name]:
            return f"file {name}: {shown(bytes_, other[3][name])}"
    return None


def shown(a, b):
    if not isinstance(a, bytes):
        return f"{a} and {b}"
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    begin = max(0, at - 60)
    return f"{len(a)} and {len(b)} bytes, from byte {at} on: {a[begin:at + 60]!r} and {b[begin:at + 60]!r}"


# ---- inputs ----

def recorded(build, folder):
    """Traces of programs with debug information: names and lines are read from their files."""
    for name in RECORDED:
        program, trace = os.path.join(build, "corpus", name), os.path.join(folder, name + ".zst")
        subprocess.run([os.path.join(build, "trace-record/msrec"), "-q", "-o", trace, program], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT)
        if not os.path.getsize(trace):
            raise SystemExit(f"{program} was not recorded")
        yield f"recorded {name}", trace


def jobs(options, folder, side):
    """(name, words, inputs) of all comparisons."""
    formats = FORMATS.findall(side.run("formats", ["msconvert", "--to=help"], {})[1].decode())
    some = slice(None, None, 10 if options.quick else 1)
    traces = [(f"golden {os.path.basename(path)}", path)
              for path in sorted(glob.glob(os.path.join(ROOT, "corpus/golden/*/*.zst")))]
    for name, path in [*traces, *recorded(options.build, folder)]:
        for words in questions(formats, options.quick):
            yield f"{name}: {' '.join(words)}", words, {"T": path}
    for recipe in [file for kind in ("reader", "replay", "seek") for file in corpus(kind)][some]:
        name = "recipe " + "/".join(recipe.split("/")[-2:])
        trace = os.path.join(folder, name.replace("/", "-").replace(" ", "-"))
        subprocess.run([os.path.join(options.build, "tests/fuzz/cook"), recipe, trace], check=True)
        yield f"{name}: cook", ["cook", "R", "out"], {"R": recipe}
        for words in (["msreplay", "--massif-out-file=m", "T"], ["msreport", *SECTIONS, "T"],
                      ["msconvert", "--to=csv", "-o", "out", "T"], ["msconvert", "--to=trace", "-o", "out", "T"]):
            yield f"{name}: {' '.join(words)}", words, {"T": trace}
    for path in [*corpus("import"), *corpus("ms_print")][some]:
        name = "file " + "/".join(path.split("/")[-2:])
        yield f"{name}: ms_print", ["ms_print", "F"], {"F": path}
        for kind in FROM:
            words = ["msconvert", f"--from={kind}", "--to=trace", "-o", "out", "F"]
            yield f"{name}: {' '.join(words)}", words, {"F": path}


def corpus(kind):
    return sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/corpus", kind, "*")))


def main():
    options = arguments(__doc__, "--only", ("--other", {"required": True, "metavar": "DIR"}),
                        ("--quick", {"action": "store_true"}))
    os.environ.update(MSREC_CACHE="", LC_ALL="C", TZ="UTC")
    with Scratch() as folder:
        for name in ("one", "other", "traces"):
            os.mkdir(os.path.join(folder, name))
        one, other = Side(options.build, folder + "/one"), Side(options.other, folder + "/other")

        def compare(job):
            number, (name, words, inputs) = job
            return name, difference(one.run(number, words, inputs), other.run(number, words, inputs))

        todo = [job for job in jobs(options, folder + "/traces", one)
                if (not options.only or options.only in job[0]) and (not other.installed or other.has(job[1][0]))]
        differences = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, found in pool.map(compare, enumerate(todo)):
                differences += found is not None
                if found:
                    print(f"DIFFERENT {name}: {found}", flush=True)
        print(f"{len(todo) - differences} of {len(todo)} answers identical")
        return 1 if differences or not todo else 0


if __name__ == "__main__":
    sys.exit(main())
