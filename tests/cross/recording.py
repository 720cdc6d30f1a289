#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record on another processor, whose programs this kernel executes by an emulator (binfmt_misc), or with musl.

Small programs of known behaviour, and the build's own commands, run twice. With the witness of the unwinder: every
stack must be the one that libgcc finds. And under msrec together with an independent account of every call: the same
calls, the same peak, nothing lost.

  recording.py --build DIR [--musl] [--real] [--calls N] [--only WORD]

--calls: of the trace that the commands read. --real: programs of the distribution, too, which make most of the calls.

Exit status: 0 all equal, 1 a difference, 77 no program of the build can be executed here.
"""

import glob
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import SKIPPED, Scratch, arguments    # noqa: E402

# The order of enum exact in preload_exact.c.
EXACT = ("malloc", "calloc", "realloc", "resize", "realloc_free", "aligned", "new", "new_array", "reallocarray",
         "failed", "failed_resize", "free", "null_free", "live", "peak", "blocks", "unknown", "implied", "full")
COMPARED = ("malloc", "calloc", "realloc", "new", "new_array", "reallocarray", "failed", "free", "live", "peak")
CORPUS = ("basic coroutine ctor deep exceptions exit fork frames_fast inline_fast insig longjmp main_again new_aligned "
          "new_basic realloc recurse signal templates threads zero").split()
# Of the distribution, where it has them for that processor: they make most of the calls.
REAL = {
    "jq": ["-n", '[range(80000)|{id:., name:"item \\(.)"}]|group_by(.id%7)|map(length)'],
    "lua5.4": ["-e", "local t = {} for i = 1, 40000 do t[i] = {i, tostring(i) .. 'x'} end table.sort(t, "
                     "function(a, b) return a[2] < b[2] end) print(pcall(error, {}))"],
    "sqlite3": [":memory:", "create table t(a, b); with recursive c(i) as (select 1 union all select i + 1 from c "
                            "where i < 6000) insert into t select i, hex(i * 7919 % 6007) from c; create index x on "
                            "t(b); select count(*), sum(length(g)) from (select group_concat(a) g from t group by "
                            "substr(b, 1, 2));"],
    "xmllint": ["--format", "FOLDER/document.xml"],
}
FORKING = {"fork"}           # the account is of the parent alone
TIMEOUT = 1800


def machine_of(program):
    with open(program, "rb") as f:
        return f.read(20)[18:]


def real_programs(build, folder):
    """Those that are installed for the processor of the build. Name → argv."""
    with open(os.path.join(folder, "document.xml"), "w", encoding="ascii") as f:
        f.write("<list>" + "".join(f"<item id='{i}'><name>{i * 7919}</name></item>" for i in range(4000)) + "</list>")
    for name, words in REAL.items():
        path = shutil.which(name)
        if path and machine_of(path) == machine_of(build.file("corpus/basic")):
            yield name, [path, *(word.replace("FOLDER", folder) for word in words)]
        else:
            print(f"not installed for this processor: {name}")


def commands(build, folder, calls):
    """Name → argv. The commands read a trace like that of a small program, but long."""
    there = [name for name in CORPUS if build.has(f"corpus/{name}")]
    if len(there) < len(CORPUS):
        print("not built, for want of a compiler or a function:", *sorted(set(CORPUS) - set(there)))
    made = {name: [build.file(f"corpus/{name}")] for name in there}
    small, trace = os.path.join(folder, "small.zst"), os.path.join(folder, "generated.zst")
    subprocess.run([build.msrec, "-q", "-o", small, build.file("corpus/threads")], stdout=subprocess.DEVNULL,
                   check=True)
    made["generate"] = [build.file("tests/tools/generate"), "-n", str(calls), small, trace]
    made["msreport"] = [build.file("analyze/msreport"), trace]
    made["msreplay"] = [build.file("analyze/msreplay"), "--massif-out-file=" + os.path.join(folder, "massif"), trace]
    made["msconvert"] = [build.file("analyze/msconvert"), "--to=pprof", "-o", os.path.join(folder, "pprof"), trace]
    return made


def status_of(argv):
    return subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT).returncode


def run(argv, preload, status, **env):
    """Preloads into the program alone, not into this machine's `env`. Its status must be that without."""
    given = ["/usr/bin/env", f"LD_PRELOAD={preload}"] + [f"{k}={v}" for k, v in env.items()]
    done = subprocess.run(given + argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT)
    if done.returncode != status:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr[-300:]!r}")


def witness(build, argv, status, folder, untabled):
    """How many stacks were compared, and problems. `untabled`: libgcc may end in the C library, which has no tables."""
    out = os.path.join(folder, "witness")
    run(argv, build.file("tests/tools/libunwind_witness.so"), status, WITNESS_OUT=out)
    stacks, problems = 0, []
    for path in glob.glob(out + ".*"):
        with open(path) as f:
            lines = f.read().splitlines()
        os.unlink(path)
        words = lines[0].split()
        figures = dict(zip(words[::2], map(int, words[1::2])))
        stacks += figures["stacks"]
        if figures["other"] or (figures["shorter"] and not untabled):
            problems += lines
    return stacks, problems if stacks else ["no stack was compared"]


def counts(build, name, argv, status, folder):
    """Problems."""
    trace, account = os.path.join(folder, "trace"), os.path.join(folder, "account")
    record = [build.msrec, "-o", trace, "--run-libc-freeres=no", "--run-cxx-freeres=no"]
    run(record + argv, build.exact, status, EXACT_OUT=account, EXACT_SKIP="msrec")
    with open(account, "rb") as f:
        exact = dict(zip(EXACT, struct.unpack(f"{len(EXACT)}q", f.read(8 * len(EXACT)))))
    found = build.stat(trace)
    for path in glob.glob(trace + "*"):
        os.unlink(path)
    os.unlink(account)
    problems = [f"{key}: recorded {found[key]}, independent {exact[key]}" for key in COMPARED
                if found[key] != exact[key]]
    problems += [f"{key}: {found[key]}" for key in ("lost", "unknown", "implied", "unknown_op") if found[key]]
    if found["reason"] != "exit" and name not in FORKING:
        problems.append(f"ends with {found['reason']}")
    return problems


def main():
    args = arguments(__doc__, ("--only", {"help": "programs with this in their name", "default": ""}),
                     ("--calls", {"type": int, "default": 20000, "help": "of the trace that the commands read"}),
                     ("--real", {"action": "store_true", "help": "programs of the distribution, too"}),
                     ("--musl", {"action": "store_true", "help": "the build is for musl"}))
    build, total, failed = args.build, 0, 0
    try:
        subprocess.run([build.file("corpus/basic")], stdout=subprocess.DEVNULL, check=True)
    except OSError as e:
        print(f"skip: no program of this build can be executed: {e.strerror}")
        return SKIPPED
    with Scratch() as folder:
        programs = commands(build, folder, args.calls)
        if args.real:
            programs.update(real_programs(build, folder))
        for name, argv in programs.items():
            if args.only not in name:
                continue
            try:
                status = status_of(argv)
                stacks, problems = witness(build, argv, status, folder, args.musl)
                problems += counts(build, name, argv, status, folder)
            except (RuntimeError, subprocess.TimeoutExpired) as e:
                stacks, problems = 0, [str(e)]
            print(f"{'not ok' if problems else 'ok'} {name}: {stacks:,} stacks", flush=True)
            for line in problems:
                print(f"  {line}")
            total += stacks
            failed += bool(problems)
    print(f"{total:,} stacks as libgcc's" if not failed else f"{failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
