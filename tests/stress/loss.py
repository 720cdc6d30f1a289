#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Losses: the disk full for good or for a while, a limit on the file's size, msrec stopped.

For each: the program is never held up for longer than the manual says and ends as it does alone; the trace counts the
missing calls; and every tool that reads the trace reports them. victim.c counts its calls in a page.
"""

import os
import resource
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
sys.path.insert(0, HERE)
from harness import Scratch, arguments, plain_environment, run_cases, until    # noqa: E402
from kill import COUNTS, STATUS, Bench, child_of, expect, finish             # noqa: E402

HELD_UP_MOST = 6.0    # seconds; 2 by the manual, the rest for a busy machine
ROOT = os.geteuid() == 0


class SmallDisk:
    """A file system of its own with so much room."""

    def __init__(self, bench, size):
        bench.runs += 1
        self.path = os.path.join(bench.folder, f"disk{bench.runs}")
        self.size = size

    def mount(self, *options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join([f"size={self.size}", *options]), "tmpfs", self.path],
                       check=True)

    def __enter__(self):
        os.mkdir(self.path)
        self.mount()
        return self

    def grow(self, size):
        self.size = size
        self.mount("remount")

    def __exit__(self, *_):
        subprocess.run(["umount", self.path], check=True)


def watch(page, seconds):
    """The longest time in which the program made no call."""
    begin = still_since = time.monotonic()
    last, longest = page.counts(), 0
    while time.monotonic() - begin < seconds:
        time.sleep(0.01)
        now = page.counts()
        if now != last:
            last, still_since = now, time.monotonic()
        longest = max(longest, time.monotonic() - still_since)
    return longest


def check_counts(page, stat):
    """The trace counts all missing calls. Returns their number."""
    missing = 0
    for name, counted in zip(COUNTS, page.counts()):
        expect(counted >= stat[name] - 6, f"{stat[name]} calls of {name} in the trace, {counted} made")
        missing += max(0, counted - stat[name])
    expect(missing <= stat["lost"], f"{missing} calls missing, {stat['lost']} events said to be lost")
    return missing


def check_tools(bench, trace, lost):
    """Each reader prints the count on standard error, and does its work."""
    for tool, *words in (("msreplay", "--time-unit=B", "--massif-out-file=/dev/null"), ("msreplay", "--memusage"),
                         ("msconvert", "--to=massif", "--time-unit=B", "-o", "/dev/null")):
        done = subprocess.run([bench.build.file("analyze/" + tool), *words, trace], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        expect(done.returncode == 0 and f"{lost} event" in done.stderr and "lost while recording" in done.stderr,
               f"{tool} {words[0]}: {done.returncode}: {done.stderr}")


def disk_full_for_a_while(bench):
    """Recording continues as soon as there is room; until then the program is held up once for each of its threads."""
    with SmallDisk(bench, "256k") as disk:
        _, page = bench.new_run()
        trace = os.path.join(disk.path, "t")
        process = bench.start(trace, page)
        child_of(process)
        longest = watch(page, 6)
        before = bench.build.stat(trace)
        disk.grow("256m")
        longest = max(longest, watch(page, 1))
        page.stop()
        err = finish(process)
        expect(process.returncode == STATUS["exit"], f"status {process.returncode}: {err}")
        expect(err.count("waiting for room") == 1 and "cannot be written" not in err, f"says {err}")
        stat = bench.build.stat(trace)
        expect(stat["complete"] == 1 and stat["lost"] > 0 and stat["lost_marks"] > 0, f"no loss is counted: {stat}")
        expect(before["complete"] == 0 and stat["aligned_alloc"] > before["aligned_alloc"], "not recorded on")
        missing = check_counts(page, stat)
        check_tools(bench, trace, stat["lost"])
    expect(longest < HELD_UP_MOST, f"the program was held up for {longest:.1f} s")
    return f"{missing} calls missing, {stat['lost']} events lost, held up {longest:.1f} s at most"


def disk_full_for_good(bench):
    """The program ends by itself; the trace has an end with the number of missing events."""
    with SmallDisk(bench, "256k") as disk:
        _, page = bench.new_run()
        trace = os.path.join(disk.path, "t")
        process = bench.start(trace, page, "_exit", 2000000)
        begin = time.monotonic()
        err = finish(process)
        took = time.monotonic() - begin
        expect(process.returncode == STATUS["_exit"], f"status {process.returncode}: {err}")
        expect("waiting for room" in err and "cannot be written: No space left" in err, f"says {err}")
        stat = bench.build.stat(trace)
        used = os.stat(trace).st_size
        if stat["complete"]:
            missing = check_counts(page, stat)
            check_tools(bench, trace, stat["lost"])
        else:
            # Behind the last whole unit there was no room for an end.
            code, lines = bench.replay(trace)
            expect(code == 1 and len(lines) == 1 and used % 4096 > 4096 - 160, f"msreplay: {code}: {lines}")
            missing = sum(page.counts())
    return f"{used} bytes, {missing} calls missing, msrec done after {took:.1f} s"


def fork_on_full_disk(bench):
    """There is no room for the children's files either; all end as they do."""
    with SmallDisk(bench, "16k") as disk:
        command = [sys.executable, "-S", "-c", "import os\nx = [bytes(i) for i in range(20000)]\n"
                   "for i in range(3):\n p = os.fork()\n"
                   " if p == 0: y = [bytes(i) for i in range(5000)]; os._exit(i + 3)\n"
                   " assert os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) == i + 3\nos._exit(8)"]
        done = subprocess.run([bench.build.msrec, "-o", os.path.join(disk.path, "t.%p"), *command], capture_output=True,
                              text=True, timeout=60, env=plain_environment(PYTHONMALLOC="malloc"))
        expect(done.returncode == 8, f"status {done.returncode}: {done.stderr}")
        expect("No space left" in done.stderr, f"says {done.stderr}")
    return "status 8, and said so"


def no_room_for_a_file_for_a_while(bench):
    """A child's file, and the next one of a rotation, are made as soon as there is room for one more."""
    script = ("import os\nx = [bytes(i) for i in range(20000)]\n"
              "if os.fork() == 0: y = [bytes(i) for i in range(5000)]; os.read(0, 1); os._exit(5)\n"
              "os.wait()\n")
    command = ["-o", "t", sys.executable, "-S", "-c", script]
    texts = []
    for options in ([], ["--max-size=64k", "--rotate"]):
        with SmallDisk(bench, "16m") as disk:
            disk.mount("remount", "nr_inodes=2")    # the folder, and one file
            process = subprocess.Popen([bench.build.msrec, *options, *command], stderr=subprocess.PIPE, cwd=disk.path,
                                       stdin=subprocess.PIPE, env=plain_environment(PYTHONMALLOC="malloc"), bufsize=0)
            err = process.stderr.readline().decode()    # it waits
            disk.mount("remount", "nr_inodes=100")
            process.stdin.write(b"x")
            err += finish(process)
            stats = [bench.build.stat(os.path.join(disk.path, name)) for name in os.listdir(disk.path)]
            expect(process.returncode == 0 and err.count("waiting for room") == 1, f"{process.returncode}: {err}")
            expect(len(stats) >= 2 and all(s["complete"] == 1 and s["lost"] == 0 for s in stats), f"{err}: {stats}")
            expect("cannot" not in err and "not recorded" not in err and "has ended" not in err, err)
            texts.append(f"{len(stats)} files")
    return ", ".join(texts)


def no_room_at_the_start(bench):
    with SmallDisk(bench, "4k") as disk:
        with open(os.path.join(disk.path, "filler"), "wb") as f:
            f.write(bytes(4096))
        _, page = bench.new_run()
        process = bench.start(os.path.join(disk.path, "t"), page)
        err = finish(process)
        expect(process.returncode == 125 and "No space left" in err and not page.begun, f"{process.returncode}: {err}")
        expect(os.listdir(disk.path) == ["filler"], f"leaves {os.listdir(disk.path)}")
    return "refused: " + err.strip().split(": ", 2)[2]


def file_size_limit(bench):
    """Reached in the middle: the file ends there, with the number of missing events."""
    trace, page = bench.new_run()
    process = bench.start(trace, page, "_exit", 2000000)
    child_of(process)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (300000, 300000))
    err = finish(process)
    expect(process.returncode == STATUS["_exit"] and "File too large" in err, f"status {process.returncode}: {err}")
    stat = bench.build.stat(trace)
    expect(os.stat(trace).st_size <= 300000 and stat["complete"] == 1, f"{os.stat(trace).st_size} bytes")
    missing = check_counts(page, stat)
    check_tools(bench, trace, stat["lost"])
    return f"{os.stat(trace).st_size} bytes, {missing} calls missing"


def file_size_limit_at_the_start(bench):
    _, page = bench.new_run()
    command = f"ulimit -f 64; exec {bench.build.msrec} {bench.victim} {page.path} exit 9"
    got = subprocess.run(["/bin/bash", "-c", command],
                         capture_output=True, text=True, env=plain_environment(), cwd=bench.folder, timeout=60)
    expect(got.returncode == 125 and "ulimit -f" in got.stderr, f"status {got.returncode}: {got.stderr}")
    return "said before starting"


def recorder_stopped(seconds):
    """The program waits 2 s at most, then goes on; lost calls are counted."""
    def run(bench):
        trace, page = bench.new_run()
        process = bench.start(trace, page)
        child_of(process)
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        longest = watch(page, seconds)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        page.stop()
        err = finish(process)
        stat = bench.build.stat(trace)
        expect(process.returncode == STATUS["exit"] and "cannot" not in err, f"status {process.returncode}: {err}")
        expect(longest < HELD_UP_MOST, f"the program was held up for {longest:.1f} s")
        expect(stat["complete"] == 1 and stat["lost"] > 0 and stat["lost_marks"] > 0, "no loss is counted")
        missing = check_counts(page, stat)
        check_tools(bench, trace, stat["lost"])
        return (f"held up {longest:.1f} s, {sum(page.counts())} calls, {missing} missing, {stat['lost']} events lost, "
                f"{stat['unknown']} unknown and {stat['implied']} implied frees")
    return run


def state_of(pid):
    """The kernel's letter for the process's state; None: it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return None


def recorder_stopped_at_the_end(bench):
    """The program ends without waiting for msrec, and msrec drains the rest later."""
    state, runs = None, 0
    while state is None:            # if this script is delayed, all may be over before msrec is stopped
        runs += 1
        expect(runs < 20, "msrec was never stopped in time")
        trace, page = bench.new_run()
        process = bench.start(trace, page, "_exit", 3000)
        child = child_of(process)
        while page.begun == 0:
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        until(lambda: state_of(child) in ("Z", None), 5)
        state = state_of(child)
        process.send_signal(signal.SIGCONT)
        err = finish(process)
    expect(state == "Z", f"the program is still there: {state}")
    expect(process.returncode == STATUS["_exit"], f"status {process.returncode}: {err}")
    stat = bench.build.stat(trace)
    expect(stat["complete"] == 1 and check_counts(page, stat) == 0, "calls are missing")
    return f"{stat['events']} events, none lost"


def can_mount():
    return ROOT and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


def cases(long):
    disks = [("disk full for a while", disk_full_for_a_while), ("disk full for good", disk_full_for_good),
             ("fork on a full disk", fork_on_full_disk),
             ("no room for one more file for a while", no_room_for_a_file_for_a_while),
             ("disk full at the start", no_room_at_the_start)]
    return [(name, run if can_mount() else lambda bench: "skip: no file system can be mounted here")
            for name, run in disks] + \
           [("file-size limit reached", file_size_limit),
            ("file-size limit at the start", file_size_limit_at_the_start),
            ("msrec stopped", recorder_stopped(20 if long else 5)),
            ("msrec stopped when the program ends", recorder_stopped_at_the_end)]


def main():
    options = arguments(__doc__, ("--long", {"help": "each five times, and for longer"}), "--only")
    with Scratch() as folder:
        bench = Bench(options.build, folder)
        return run_cases(cases(options.long), bench, options.only, 5 if options.long else 1)


if __name__ == "__main__":
    sys.exit(main())
