#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings that end before their program, or go on in another file: --max-size, --rotate, --duration.

The program (victim.c) counts its calls in a page: the files together must have all of them. Each file is read by
itself: it begins with the blocks that were live when the one before ended. msrec is killed while it rotates, and
disks are full meanwhile.
"""

import glob
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
sys.path.insert(0, os.path.join(HERE, "../oracle"))
from decode import Decoder                                # noqa: E402
from harness import Scratch, arguments, plain_environment, run_cases, until    # noqa: E402
from kill import COUNTS, STATUS, Bench, check_calls, child_of, expect, finish    # noqa: E402
from loss import ROOT, SmallDisk                          # noqa: E402

FORKING = ("my @a = map { 'x' x 50 . $_ } 1 .. 20000; if (my $p = fork) { waitpid $p, 0; exit $? >> 8 } "
           "my @b = map { 'y' x 50 . $_ } 1 .. 20000; exit 5")
STRINGS = "my @a = map { 'x' x 50 . $_ } 1 .. 9000; my %h; $h{$_ % 999} .= $_ x ($_ % 7) for 1 .. 20000"


def files_of(trace):
    """In their order."""
    return sorted(glob.glob(trace + "*"), key=lambda path: int((re.findall(r"\.(\d+)$", path) or ["1"])[0]))


def record(bench, trace, options, command):
    return subprocess.Popen([bench.build.msrec, *options, "-o", trace, *command], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=plain_environment())


def run_victim(bench, trace, page, options, calls):
    process = record(bench, trace, options, [bench.victim, page.path, "exit", str(calls)])
    err = finish(process)
    expect(process.returncode == STATUS["exit"], f"status {process.returncode}: {err}")
    return err


def check_chain(bench, paths, complete=True):
    """Each file whole, sound, and begun where the one before ended. Their figures."""
    stats = [bench.build.stat(path) for path in paths]
    for i, (path, stat) in enumerate(zip(paths, stats)):
        expect(stat["complete"] or (not complete and i == len(paths) - 1), f"{path}: has no end")
        expect(i or stat["initial_blocks"] == 0, f"{path}: an initial state of {stat['initial_blocks']} blocks")
        if i:       # which begins with no blocks if that was at the program's very end
            before = stats[i - 1]
            expect((stat["initial"], stat["initial_blocks"]) == (before["live"], before["blocks"]),
                   f"{path}: begins with {stat['initial_blocks']} blocks, {before['blocks']} were live")
        if stat["complete"] and i < len(paths) - 1:
            expect(stat["reason"] == "detached", f"{path}: ends with {stat['reason']}")
        done = subprocess.run([bench.msreplay, "-q", "--massif-out-file=/dev/null", "--time-unit=B", path],
                              capture_output=True, text=True)
        expect(done.returncode == (0 if stat["complete"] else 1), f"msreplay: {done.returncode}: {done.stderr}")
    return stats


def null_frees(bench, path):
    text = subprocess.run([bench.msreplay, "-q", "--memusage=full", path], capture_output=True, text=True).stdout
    return int(re.search(r"(\d+) were of NULL", text)[1])


def check_null_frees(bench, path, stat):
    """An exit mark counts the calls of free(NULL) of its own file."""
    found = null_frees(bench, path)
    expect(found <= stat["null_free"], f"{path}: {stat['null_free']} frees of NULL, said to be {found}")


def decode(path):
    """By the independent decoder."""
    with open(path, "rb") as f:
        for _ in Decoder(f.read()).lines():
            pass


def sums(stats):
    return {key: sum(stat[key] for stat in stats) for key, value in stats[0].items() if isinstance(value, int)}


def rotated(bench):
    """All calls are in the files, each in one."""
    trace, page = bench.new_run()
    err = run_victim(bench, trace, page, ["--max-size=100k", "--rotate", "--stacks=yes", "--mmap=yes"], 250000)
    paths = files_of(trace)
    expect(len(paths) > 3, f"only {len(paths)} files")
    expect(err.count("goes on in") == len(paths) - 1, f"says {err}")
    stats = check_chain(bench, paths)
    expect(stats[-1]["reason"] == "exit" and stats[-1]["detail"] == STATUS["exit"], "the last one has no proper end")
    total = sums(stats)
    expect(total["lost"] == 0 and total["unknown"] == 0, f"{total['lost']} lost, {total['unknown']} unknown frees")
    check_calls(page.counts(), total)
    check_null_frees(bench, paths[-1], stats[-1])
    for path in paths[:2] + paths[-1:]:
        decode(path)
    large = max(os.path.getsize(path) for path in paths)
    expect(large <= 100 << 10, f"a file of {large} bytes")
    return f"{len(paths)} files of {large} bytes at most, {total['events']} events"


def last_ones(bench):
    trace, page = bench.new_run()
    run_victim(bench, trace, page, ["--max-size=64k", "--rotate=2"], 250000)
    paths = files_of(trace)
    expect(len(paths) == 2 and trace not in paths, f"kept {paths}")
    for path in paths:
        expect(bench.build.stat(path)["complete"], f"{path}: has no end")
    return ", ".join(os.path.basename(path) for path in paths)


def too_large(bench):
    """The program goes on, and ends as without msrec."""
    trace, page = bench.new_run()
    err = run_victim(bench, trace, page, ["--max-size=100k"], 2000000)
    stat, size = bench.build.stat(trace), os.path.getsize(trace)
    expect(stat["complete"] and stat["reason"] == "detached" and stat["lost"] == 0, f"ends so: {stat}")
    expect(size <= 100 << 10, f"{size} bytes")
    expect(err.count("recording has ended, the program goes on") == 1, f"says {err}")
    expect(stat["aligned_alloc"] < page.counts()[0], "recorded to the end")
    return f"{size} bytes, {stat['events']} events"


def time_is_up(bench):
    trace, page = bench.new_run()
    process = record(bench, trace, ["--duration=1"], [bench.victim, page.path, "exit", "0"])
    until(lambda: bench.build.stat(trace)["complete"])
    stat = bench.build.stat(trace)
    expect(stat["complete"] and stat["reason"] == "detached", f"after its time: {stat}")
    expect(process.poll() is None, "the program is gone")
    before = page.counts()[0]
    time.sleep(0.2)
    expect(page.counts()[0] > before, "the program stands still")
    page.stop()
    err = finish(process)
    expect(process.returncode == STATUS["exit"], f"status {process.returncode}: {err}")
    expect(bench.build.stat(trace) == stat, "the file has changed since")
    return f"{stat['events']} events"


def children(bench):
    """A forked child's file is whole and has its parent's last initial state; no file for a stopped parent's child."""
    trace, _ = bench.new_run()
    process = record(bench, trace, ["--max-size=64k", "--rotate"], ["perl", "-e", FORKING])
    err = finish(process)
    expect(process.returncode == 5, f"status {process.returncode}: {err}")
    paths = files_of(trace)
    stats = [bench.build.stat(path) for path in paths]
    expect(all(stat["complete"] and stat["unknown"] == 0 for stat in stats), f"not whole: {stats}")
    trace, _ = bench.new_run()
    process = record(bench, trace, ["--max-size=64k"], ["perl", "-e", FORKING])
    err = finish(process)
    expect(process.returncode == 5 and len(files_of(trace)) >= 1, f"status {process.returncode}: {err}")
    expect(all(bench.build.stat(path)["complete"] for path in files_of(trace)), "not whole")
    return f"{len(paths)} files"


def frees_of_null(bench):
    """Frees of the clean-up at exit are not in a file that ended before, even if msrec ends it late."""
    found = []
    for options in [], ["-z", "19", "--max-size=64k", "--rotate"]:
        trace, _ = bench.new_run()
        err = finish(record(bench, trace, options, ["perl", "-e", STRINGS]))
        found.append([null_frees(bench, path) for path in files_of(trace)])
        expect("cannot" not in err, err)
    expect(len(found[1]) > 1 and sum(found[1]) == found[0][0], f"{found[1]} in the files, {found[0]} in one")
    return f"{found[1]}"


def killed(bench):
    """At any instant all files but the last are whole, and the last is sound or, if just made, empty."""
    for i in range(bench.kills):
        trace, page = bench.new_run()
        process = record(bench, trace, ["-q", "--max-size=64k", "--rotate"], [bench.victim, page.path, "exit", "0"])
        child = child_of(process)
        time.sleep(0.3 + 0.037 * i)
        process.kill()
        finish_killed(process, page, child)
        paths = files_of(trace)
        if os.path.getsize(paths[-1]) == 0:
            os.unlink(paths.pop())
        stats = [bench.build.stat(path) for path in paths]     # 3, damaged, would be an error
        expect(all(stat["complete"] for stat in stats[:-2]), f"{paths}: {[stat['complete'] for stat in stats]}")
        check_chain(bench, [path for path, stat in zip(paths, stats) if stat["complete"]][:3])
        for path in paths:
            os.unlink(path)
    return f"{bench.kills} times"


def finish_killed(process, page, child):
    page.stop()
    process.communicate(timeout=60)
    for _ in range(1000):
        if not os.path.exists(f"/proc/{child}"):
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass    # it was done


def helpers(bench):
    """Other processes look names up; even if they are slow, there are never many."""
    trace, page = bench.new_run()
    options = ["--embed-symbols", "--max-size=64k", "--rotate"]
    process = record(bench, trace, options, [bench.victim, page.path, "exit", "0"])
    program, most = child_of(process), 0
    begin = time.monotonic()
    while time.monotonic() - begin < 1.5:
        stopped = [pid for pid in children_of(process.pid) if pid != program]
        for pid in stopped:
            send(pid, signal.SIGSTOP)
        most = max(most, len(stopped))
        time.sleep(0.01)
    page.stop()
    while process.poll() is None:
        for pid in children_of(process.pid):
            send(pid, signal.SIGCONT)
        time.sleep(0.01)
    err = finish(process)
    paths = files_of(trace)
    expect(process.returncode == STATUS["exit"] and "cannot" not in err, f"status {process.returncode}: {err}")
    expect(len(paths) > 16 and most == 16, f"{len(paths)} files, {most} helpers at once")
    check_tail(bench, paths)
    return f"{len(paths)} files, {most} helpers at once"


def disk_that_suffices(bench):
    """Room for a few files is room for days."""
    if not ROOT:
        return "skip: mounting needs root"
    with SmallDisk(bench, "512k") as disk:
        _, page = bench.new_run()
        trace = os.path.join(disk.path, "t")
        err = run_victim(bench, trace, page, ["--max-size=100k", "--rotate=3"], 1000000)
        stats = check_tail(bench, files_of(trace))
        expect("waiting" not in err and all(stat["lost"] == 0 for stat in stats), f"says {err}")
    return f"{len(stats)} files"


def check_tail(bench, paths):
    stats = [bench.build.stat(path) for path in paths]
    expect(all(stat["complete"] for stat in stats), f"{paths}: not whole")
    return stats


def disk_full(bench):
    """The program ends by itself, and the files are readable."""
    if not ROOT:
        return "skip: mounting needs root"
    with SmallDisk(bench, "256k") as disk:
        _, page = bench.new_run()
        trace = os.path.join(disk.path, "t")
        err = run_victim(bench, trace, page, ["--max-size=100k", "--rotate"], 2000000)
        expect("waiting for room" in err, f"says {err}")
        paths = files_of(trace)
        stats = [bench.build.stat(path) for path in paths if os.path.getsize(path) > 4096]
        missing = [max(0, counted - sum(stat[name] for stat in stats)) for name, counted in zip(COUNTS, page.counts())]
        expect(all(stat["complete"] for stat in stats[:-1]), f"{paths}: not whole")
    return f"{len(paths)} files, {sum(missing)} calls missing"


def main():
    options = arguments(__doc__, ("--long", {"help": "more kills"}), "--only")
    cases = [("rotated", rotated), ("the last ones", last_ones), ("too large", too_large), ("time is up", time_is_up),
             ("children", children), ("frees of NULL", frees_of_null), ("killed", killed), ("helpers", helpers),
             ("a disk that suffices", disk_that_suffices), ("a full disk", disk_full)]
    with Scratch() as folder:
        bench = Bench(options.build, folder)
        bench.kills = 100 if options.long else 3
        return run_cases(cases, bench, options.only)


if __name__ == "__main__":
    sys.exit(main())
