#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trace format by FORMAT.md (decode.py) against the library (tracedump), on recordings made here and on the golden
traces of corpus/golden. zstd must accept each file, too. The same again for traces with all that a later version may
add (future.py). Prints "identical N/M"."""
import difflib
import glob
import hashlib
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Scratch, Tally, arguments    # noqa: E402
from decode import Decoder            # noqa: E402
from decode_checks import Problem     # noqa: E402
from future import later              # noqa: E402

# Programs of the corpus, with arguments; every way a trace can look.
PROGRAMS = ["null", "one", "zero", "basic", "realloc", "usable", "entry malloc-huge", "entry realloc-fail",
            "entry calloc-overflow", "entry memalign", "stdio", "threads", "fork", "signal", "recurse 300",
            "new_basic", "new_aligned", "exceptions", "dl libdl_one.so libdl_two.so", "exit sigkill",
            "custom_alloc", "custom_alloc 1 5000", "script 1 3000", "script 5 20000 aligned", "culling growing"]
MORE = [["--identity=no", "script 2 3000"], ["--depth=3", "recurse 40"], ["--level=19", "script 3 3000 even"],
        ["--usable=yes", "script 5 3000 aligned"], ["--free-stacks=yes", "script 4 3000"],
        ["--free-stacks=yes", "new_basic"],
        ["--free-stacks=yes", "custom_alloc 1 5000"], ["--embed-symbols", "new_basic"], ["--embed-symbols", "fork"],
        ["--sample=4k", "script 3 20000"], ["--sample=4k", "fork"], ["--stacks=yes", "stack_depth thread 3"]]
REWRITTEN = [["--level=19"], ["--from=1"], ["--from=1", "--level=1", "--drop=identity,threads"],
             ["--until=2", "--strip-paths"]]
LONG = "script 5 20000 aligned"     # the program whose trace is rewritten
MODELS = ["script 1 3000", "--free-stacks=yes script 4 3000", LONG + ", msconvert --from=1"]    # of longer traces
FUTURE_MOST = 32768             # bytes of a trace that is read as one of the future, too
EXACT = [["--engine=valgrind", "fork"], ["--engine=valgrind --stacks=yes", "threads"],
         ["--engine=valgrind --stacks=yes", "recurse 300"], ["--engine=valgrind --pages", "basic"]]


def record(build, folder, number, options, program):
    """The traces of one run, those of forked children too."""
    words = program.split()
    path = os.path.join(folder, str(number))
    words[0] = os.path.join(build, "corpus", words[0])
    subprocess.run([os.path.join(build, "trace-record/msrec"), "-q", "-o", path, *" ".join(options).split(), *words],
                   cwd=os.path.join(build, "corpus"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60, check=False)
    return sorted(glob.glob(path + "*"))


def rewrite(build, path):
    """The trace rewritten by msconvert."""
    for i, options in enumerate(REWRITTEN):
        subprocess.run([os.path.join(build, "analyze/msconvert"), "-q", "--to=trace", *options, "-o", f"{path}.r{i}",
                        path],
                       check=True)
        yield f"{path}.r{i}", f"{LONG}, msconvert {' '.join(options)}"


def peak(build, path):
    stat = subprocess.run([os.path.join(build, "tests/tools/tracestat"), path], stdout=subprocess.PIPE, check=True)
    return int(re.search(rb"^peak=(\d+)", stat.stdout, re.M)[1])


def generate(build, path, name):
    """A longer trace with the statistics of this one, and about its peak at most, if `generate` is built."""
    program = os.path.join(build, "tests/tools/generate")
    if os.path.exists(program):
        subprocess.run([program, "-n", "20000", path, path + ".g"], check=True, timeout=60, stdout=subprocess.DEVNULL)
        if peak(build, path + ".g") > peak(build, path) * 1.05:
            sys.exit(f"{name}, generated: a peak of {peak(build, path + '.g')}, not {peak(build, path)}")
        yield path + ".g", name + ", generated"


def long_chunk(build, folder):
    """A chunk of more records than a recording's first ones have."""
    script, path = os.path.join(folder, "script"), os.path.join(folder, "long")
    with open(script, "w", encoding="ascii") as f:
        f.write("records 70000\nstack 0 0x1000\n")
        f.writelines(f"alloc 0 malloc 0 {i % 10}\nfree 0\n" for i in range(33000))
    subprocess.run([os.path.join(build, "tests/tools/script2trace"), script, path], check=True)
    return path, "a long chunk"


def decoded(path):
    with open(path, "rb") as trace:
        try:
            return list(Decoder(trace.read()).lines())
        except Problem as problem:
            return [f"problem {problem}"]


def expected(path):
    """The stored checksum of a golden trace's text; None for other files."""
    sums = os.path.join(os.path.dirname(path), "SHA256SUMS")
    if os.path.exists(sums):
        with open(sums, encoding="ascii") as f:
            return {name: digest for digest, name in map(str.split, f)}.get(os.path.basename(path), "none")
    return None


def compare(build, path, name):
    """True if both readers print the same text, with the stored checksum, and zstd accepts the file."""
    dump = subprocess.run([os.path.join(build, "tests/tools/tracedump"), path], capture_output=True, text=True)
    theirs, ours = dump.stdout.splitlines(), decoded(path)
    if dump.returncode != 0 or theirs != ours:
        print(f"DIFFERENT {name}: {dump.stderr.strip()}")
        for line in list(difflib.unified_diff(theirs, ours, "tracedump", "decode.py", n=0, lineterm=""))[:12]:
            print("  " + line)
        return False
    if expected(path) not in (None, hashlib.sha256(dump.stdout.encode()).hexdigest()):
        print(f"DIFFERENT {name}: not what it was when it was made")
        return False
    tested = subprocess.run(["zstd", "-tq", path], capture_output=True, text=True)
    if tested.returncode != 0:
        print(f"DIFFERENT {name}: zstd -t: {tested.stderr.strip()}")
    return tested.returncode == 0


def dump_of(build, path):
    done = subprocess.run([os.path.join(build, "tests/tools/tracedump"), path], capture_output=True, text=True)
    return done.stdout, done.stderr


def replay_of(build, path):
    done = subprocess.run([os.path.join(build, "analyze/msreplay"), "-q", "--time-unit=B", "--exact-peak=yes",
                           "--massif-out-file=-", path], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def compare_future(build, path, name):
    """True if both readers print the same text with unknown parts in the trace, and refuse critical unknown parts."""
    with open(path, "rb") as file:
        data = file.read()
    future, wrong = path + ".future", []

    def put(**more):
        with open(future, "wb") as file:
            file.write(later(data, **more))

    put()
    dump = dump_of(build, path)[0]
    if dump_of(build, future)[0] != dump or decoded(future) != dump.splitlines():
        wrong.append("what it says")
    if replay_of(build, future) != replay_of(build, path):
        wrong.append("what msreplay makes of it")
    if subprocess.run(["zstd", "-tq", future], capture_output=True).returncode != 0:
        wrong.append("zstd -t")
    for more, message in (({"incompatible": 4}, "a trace version that this program doesn't know"),
                          ({"critical": True}, "a unit of type 77, which a newer msrec has written")):
        put(**more)
        refused = dump_of(build, future)[1]
        if message not in refused or "problem ('version'," not in decoded(future)[-1]:
            wrong.append(f"not refused: {more}: {refused}")
    for bits, named in ((4, "bit 2 is"), (1 << 7 | 1 << 31, "bits 7, 31 are")):
        put(incompatible=bits)
        status, text, error = replay_of(build, future)
        wanted = (f"msreplay: {future}: incompatible feature {named} not known; "
                  "a newer msrec wrote it; update msreplay\n")
        if (status, text, error) != (2, "", wanted):
            wrong.append(f"msreplay says: {error}")
    os.unlink(future)
    if wrong:
        print(f"DIFFERENT {name}, as one of the future: " + ", ".join(wrong))
    return not wrong


def main():
    build, tally = arguments(__doc__).build, Tally()
    with Scratch() as folder:
        more = MORE + (EXACT if build.has("trace-record/valgrind/msrec-amd64-linux") else [])
        runs = [([], p) for p in PROGRAMS] + [([o], p) for o, p in more]
        traces = [(path, f"{' '.join(o)} {p}".strip()) for i, (o, p) in enumerate(runs)
                  for path in record(build, folder, i, o, p)]
        missing = len(runs) - len({name for _, name in traces})
        traces += [piece for path, name in traces if name == LONG for piece in rewrite(build, path)]
        traces += [made for path, name in traces if name in MODELS for made in generate(build, path, name)]
        traces.append(long_chunk(build, folder))
        golden = sorted(glob.glob(os.path.join(HERE, "../../corpus/golden/*/*.zst")))
        for path, name in traces + [(path, os.path.relpath(path, HERE)) for path in golden]:
            tally(compare(build, path, name))
        for path, name in traces:
            if os.path.getsize(path) <= FUTURE_MOST:
                tally(compare_future(build, path, name))
    if missing or not golden:
        print(f"{missing} runs left no trace; {len(golden)} golden traces")
    return tally.status() or int(not golden or missing > 0)


if __name__ == "__main__":
    sys.exit(main())
