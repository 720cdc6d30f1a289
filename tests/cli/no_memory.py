#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each allocation of a run fails once: the tool reports it and has no result, or the result is as always.

  no_memory.py --build DIR [--only PART]
"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Problem, plain_environment, run_script    # noqa: E402

FORMATS = "folded speedscope pprof heapprofile dhat heaptrack csv csv-stacks csv-frames parquet callgrind xtree"
COMMANDS = ["msreplay --massif-out-file=-", "msreplay --usable=valgrind --compat=3.19 --massif-out-file=-",
            "msreplay --memusage=full", "msconvert -z 19 --from=1 -o -", "msconvert --to=massif -o -",
            "msconvert --to=folded --at=20 -o -", "msconvert --to=pprof --from=3 --until=300 -o -",
            "mstop --once", "mstop --json"]
COMMANDS += [f"msconvert --to={name}" for name in FORMATS.split()]

# Without memory libdw ends the process itself, and in dwarf_getsrclines() doesn't look at what tsearch() says: three
# times in all with 0.188.
LIBDW_ENDS = (1, -signal.SIGSEGV)
LIBDW_ENDS_MOST = 5


def same(build, command, report, output, result):
    if output == result:
        return True
    # A trace may be packed otherwise.
    dumps = [subprocess.run([build.file("tests/tools/tracedump"), f"{report}.{name}"], capture_output=True).stdout
             for name in (output, result)]
    return "-z" in command and dumps[0] == dumps[1]


def check(build, preload, command, path, trace="trace", ends=(), **more):
    tool, *words = command.split()
    report = os.path.join(path, "report")
    environment = plain_environment(LD_PRELOAD=f"{preload} {build.file('tests/tools/later.so')}",
                                    NO_MEMORY_REPORT=report, **more)
    words += [] if tool == "mstop" else ["-j1"]     # which has no threads
    subprocess.run([build.file("analyze/" + tool), *words, trace], cwd=path, env=environment, timeout=60,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    with open(report, encoding="ascii") as f:
        *children, (_, _, result, usual_messages) = [line.split() for line in f]
    ended = 0
    if len(children) < 20:
        raise Problem(f"only {len(children)} allocations failed")
    for call, status, output, messages in children:
        if int(status) in ends:
            ended += 1
            continue
        if int(status) < 0:
            raise Problem(f"allocation {call}: {signal.Signals(-int(status)).name}")
        if int(status) not in (0, 2):
            raise Problem(f"allocation {call}: exit {status}")
        if status == "2" and os.path.getsize(f"{report}.{messages}") == 0:
            raise Problem(f"allocation {call}: fails without a word")
        if status == "0" and messages == usual_messages and not same(build, command, report, output, result):
            raise Problem(f"allocation {call}: another result without a word")
    if ended > LIBDW_ENDS_MOST:
        raise Problem(f"{ended} times the process ended as by libdw")
    return f"{len(children)} failures"


PROGRAM = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) void *twice(size_t n) { return malloc(2 * n); }
static __attribute__((noinline)) void *far(size_t n) { return n ? far(n - 1) : twice(n + 10); }
int main(int argc, char **argv) { (void)argv; free(far(argc)); free(twice(argc)); }
"""


def record(build, path):
    with open(os.path.join(path, "program.c"), "w", encoding="ascii") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-g", "-O1", "-Wl,--build-id", "-o", "program", "program.c"], cwd=path, check=True)
    subprocess.run([build.msrec, "-f", "-q", "-o", "trace", "./program"], cwd=path, env=plain_environment(), check=True)
    return os.path.join(path, "trace")


def check_full_break(build, path):
    """Where the break cannot grow, malloc() leaves ENOMEM and succeeds: names are whole, and nothing says otherwise."""
    trace = record(build, path)

    def replay(**more):
        return subprocess.run([build.file("analyze/msreplay"), "--massif-out-file=-", trace], check=True,
                              env=plain_environment(MSREC_CACHE="", **more), capture_output=True)
    usual, full = replay(), replay(LD_PRELOAD=build.file("tests/tools/full_break.so"))
    if (full.stdout, full.stderr) != (usual.stdout, usual.stderr) or b"twice (program.c:3)" not in full.stdout:
        raise Problem(f"another answer where the break cannot grow: {full.stderr.decode()}")
    return "the same names"


def check_kept(build, preload, path):
    """Cached names of a replay without memory are those of a replay with memory."""
    folders, trace = os.path.join(path, "folders"), record(build, path)
    os.mkdir(folders)
    outcome = check(build, preload, "msreplay --massif-out-file=-", path, trace, LIBDW_ENDS, MSREC_CACHE="kept",
                    NO_MEMORY_FOLDERS=folders)

    def replay(cwd, cache):
        return subprocess.run([build.file("analyze/msreplay"), "--massif-out-file=-", trace], cwd=cwd, check=True,
                              env=plain_environment(MSREC_CACHE=cache, **build.later()), capture_output=True).stdout
    found = replay(path, "")
    if b"twice (program.c:3)" not in found:
        raise Problem("no names are found")
    kept = [call for call in os.listdir(folders) if os.path.exists(os.path.join(folders, call, "kept"))]
    if len(kept) < 20:
        raise Problem(f"only {len(kept)} times anything is kept")
    for call in kept:
        if replay(os.path.join(folders, call), "kept") != found:
            raise Problem(f"allocation {call}: what is kept is something else")
    return f"{outcome}, {len(kept)} times names are kept"


class Bench:
    def __init__(self, build, path):
        self.build, self.path, self.preload = build, path, build.file("tests/tools/no_memory.so")
        subprocess.run([build.file("tests/tools/cli_trace"), "trace"], cwd=path, check=True)


def command_case(command):
    return command, lambda bench: check(bench.build, bench.preload, command, bench.path)


def main():
    cases = [command_case(command) for command in COMMANDS]
    cases.append(("a full break", lambda bench: check_full_break(bench.build, bench.path)))
    cases.append(("names that are kept", lambda bench: check_kept(bench.build, bench.preload, bench.path)))
    return run_script(__doc__, cases, Bench)


if __name__ == "__main__":
    sys.exit(main())
