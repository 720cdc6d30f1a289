#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Death of the program and of msrec, at any instant and in every way (victim.c), and traces that were cut or damaged.

The program counts its calls after they have returned, in a page that outlives it. Whatever kills it: each call
that had returned is in the trace, and at most one more for each thread. Whatever kills msrec: the program ends as
without it. One line for each case, and "lost N" for the kills.
"""

import ctypes
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
sys.path.insert(0, os.path.join(HERE, "../oracle"))
from harness import (MemoryGroup, Problem, Scratch, arguments, compiler,    # noqa: E402
                     plain_environment, run_cases, until)
from decode import Decoder                                # noqa: E402
from decode_checks import EVENTS                          # noqa: E402

COUNTS = ["aligned_alloc", "memalign", "posix_memalign", "valloc", "reallocarray"]    # then reallocs and frees
THREADS = 6    # at work at one time: the workers, the starter, its short thread
TIMEOUT = 60
PR_SET_CHILD_SUBREAPER = 36
STATUS = {"exit": 7, "_exit": 9, "quick_exit": 11, "exec": 0, "segv": -signal.SIGSEGV, "abort": -signal.SIGABRT,
          "trap": -signal.SIGILL, "overflow": -signal.SIGSEGV, "double-free": -signal.SIGABRT,
          "no memory": -signal.SIGABRT, "memory": -signal.SIGKILL}


def expect(truth, words):
    if not truth:
        raise Problem(words)


class Page:
    """The page that the program counts in."""

    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as f:
            f.truncate(4096)
            self.map = mmap.mmap(f.fileno(), 4096)

    def word(self, i):
        return struct.unpack_from("=Q", self.map, 8 * i)[0]

    begun = property(lambda self: self.word(0))

    def stop(self):
        self.map[8:16] = struct.pack("=Q", 1)

    def counts(self):
        return [self.word(8 + i) for i in range(len(COUNTS) + 2)]


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder, self.runs = build, folder, 0
        self.msreplay = build.file("analyze/msreplay")
        self.victim = os.path.join(folder, "victim")
        subprocess.run([*compiler(), "-std=gnu11", "-O1", "-g", "-D_GNU_SOURCE", "-pthread",
                        os.path.join(HERE, "victim.c"), "-o", self.victim], check=True)

    def new_run(self):
        self.runs += 1
        where = os.path.join(self.folder, f"run{self.runs}")
        os.mkdir(where)
        return os.path.join(where, "t"), Page(os.path.join(where, "page"))

    def start(self, trace, page, end="exit", calls=0, wrapper=(), **more):
        return subprocess.Popen([*wrapper, self.build.msrec, "-o", trace, self.victim, page.path, end, str(calls)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env=plain_environment(), **more)

    def replay(self, trace, *options):
        """Exit status and lines of msreplay."""
        done = subprocess.run([self.msreplay, *(options or ["--time-unit=B", "--massif-out-file=/dev/null"]), trace],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
        expect(done.returncode in (0, 1, 2), f"msreplay ends with {done.returncode}: {done.stderr[-300:]}")
        return done.returncode, done.stderr.splitlines()


def finish(process):
    """Status and messages of msrec, and of everything that holds its stderr."""
    try:
        return process.communicate(timeout=TIMEOUT)[1].decode()
    except subprocess.TimeoutExpired:
        process.kill()
        raise Problem(f"msrec hangs: still there after {TIMEOUT} s") from None


def child_of(process):
    """The program's process, as soon as there is one; None if msrec is gone before."""
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
                words = f.read().split()
        except OSError:
            return None
        if words:
            return int(words[0])
        time.sleep(0.0005)
    return None


def check_calls(counts, stat):
    """Compares the program's counts with the trace. Returns the number of recorded calls that did not return."""
    more = 0
    for name, counted in zip(COUNTS, counts):
        expect(stat[name] >= counted,
               f"lost {counted - stat[name]}: {counted} calls of {name}, {stat[name]} in the trace")
        more += stat[name] - counted
    reallocs = sum(stat[op] for op in ("realloc", "realloc_moved", "realloc_in_place"))
    expect(reallocs >= counts[-2], f"lost {counts[-2] - reallocs}: {counts[-2]} reallocs, {reallocs} in the trace")
    expect(stat["free"] >= counts[-1],
           f"lost {counts[-1] - stat['free']}: {counts[-1]} frees, {stat['free']} in the trace")
    expect(more <= THREADS, f"{more} calls in the trace that never returned, with {THREADS} threads")
    return more


def check_whole(stat, unknown=0):
    expect(stat["complete"] == 1, "the trace has no end")
    expect(stat["lost"] == 0 and stat["unknown"] == unknown, f"{stat['lost']} lost, {stat['unknown']} unknown frees")
    # A realloc that did not return may have given its old block to another thread.
    expect(stat["implied"] <= THREADS, f"{stat['implied']} implied frees")


def check_notices(bench, trace, stat, words):
    """msreplay succeeds, and reports once how the program ended."""
    status, lines = bench.replay(trace)
    expect(status == 0, f"msreplay: {status}: {lines}")
    expected = (words is not None) + (stat["implied"] > 0) + (stat["unknown"] > 0)
    expect(len(lines) == expected and all(words in line for line in lines[:1] if words), f"msreplay says {lines}")


# ---- the program is killed ----

def an_instant():
    """Half of them while the program is just starting."""
    return random.uniform(0, 0.02) if random.random() < 0.5 else random.uniform(0, 0.25)


def kill_program(bench):
    """Returns calls counted."""
    trace, page = bench.new_run()
    process = bench.start(trace, page)
    child = child_of(process)
    time.sleep(an_instant())
    expect(child is not None, "there is no program")
    os.kill(child, signal.SIGKILL)
    err = finish(process)
    expect(process.returncode == -signal.SIGKILL, f"msrec: {process.returncode}: {err}")
    counts, stat = page.counts(), bench.build.stat(trace)
    expect((stat["reason"], stat["detail"]) == ("signal", 9), f"the trace says {stat['reason']} {stat['detail']}")
    check_whole(stat)
    check_calls(counts, stat)
    check_notices(bench, trace, stat, "killed by signal 9")
    os.unlink(trace)
    return sum(counts)


def program_killed(times):
    def run(bench):
        calls = [kill_program(bench) for _ in range(times)]
        return f"{times} kills, {min(calls)} to {max(calls)} calls: 0 lost"
    return run


# ---- msrec is killed ----

def wait_for(pid):
    """The exit status of the program, which has become a child of this script."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise Problem(f"the program hangs: still there after {TIMEOUT} s")


def lacks(counts, stat):
    return [name for name, counted in zip(COUNTS, counts) if stat[name] < counted]


def stop_and_await(bench, child, trace, page):
    """Stops the program and waits for its calls in the file: a second later if the machine is idle."""
    os.kill(child, signal.SIGSTOP)
    counts, end = page.counts(), time.monotonic() + 30
    while lacks(counts, bench.build.stat(trace)):
        expect(time.monotonic() < end, "what the program did half a minute ago is not in the file")
        time.sleep(0.1)
    return counts


def kill_recorder(bench, instant, end, late):
    """Returns whether the program had begun, and the seconds until its end after the request."""
    trace, page = bench.new_run()
    process = bench.start(trace, page, end)
    child, kept = child_of(process), []
    expect(child is not None, "there is no program")
    time.sleep(instant)
    if late:
        kept = stop_and_await(bench, child, trace, page)
    process.kill()
    process.wait()
    os.kill(child, signal.SIGCONT)
    time.sleep(random.uniform(0, 0.1))
    asked = time.monotonic()
    page.stop()
    status = wait_for(child)
    took = time.monotonic() - asked
    process.stderr.close()
    if not page.begun and status == 126:
        return False, 0    # msrec died before it had let it begin
    expect(status == STATUS[end], f"the program's status is {status}, not {STATUS[end]}")
    expect(took < 10, f"the program took {took:.1f} s to end")
    code, lines = bench.replay(trace)
    expect(code == 1 and len(lines) == 1 or not page.begun, f"msreplay: {code}: {lines}")
    if page.begun:
        check_kept(bench.build.stat(trace), kept)
    if os.path.exists(trace):
        os.unlink(trace)
    return True, took


def check_kept(stat, kept):
    """Killing msrec loses nothing of the file."""
    expect(stat["complete"] == 0, "the trace claims to be complete")
    expect(not lacks(kept, stat), f"{kept} calls were in the file, now {stat}")


def recorder_killed(times, late):
    def run(bench):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        begun, slowest = 0, 0
        for i in range(times):
            ran, took = kill_recorder(bench, an_instant() * 4, random.choice(["exit", "_exit", "segv", "abort"]),
                                      i < late)
            begun, slowest = begun + ran, max(slowest, took)
        return (f"{times} kills, {begun} after the program had begun: all ended as they would have, "
                f"in {slowest:.1f} s at most")
    return run


FORKS = "for (1 .. 60) { fork or exit; wait }"


def kill_workers(process, program):
    """Kills msrec's name look-up workers, stopped first, so that others wait for their turn. Returns their number."""
    known, stopped = {program}, set()
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
                children = {int(word) for word in f.read().split()}
            for pid in children - known:
                os.kill(pid, signal.SIGSTOP)
                known.add(pid)
                stopped.add(pid)
            if len(stopped) >= 8 or program not in children:
                while stopped:
                    os.kill(stopped.pop(), signal.SIGKILL)
        except OSError:
            pass
    return len(known) - 1


def names_killed(bench):
    """Workers die, as from lack of memory: no call is lost, and msrec names each trace without an end."""
    trace, _ = bench.new_run()
    process = subprocess.Popen([bench.build.msrec, "-q", "--embed-symbols", "-o", trace, "perl", "-e", FORKS],
                               stderr=subprocess.PIPE, env=plain_environment())
    killed = kill_workers(process, child_of(process))
    named = set(re.findall(r"^msrec: (\S+): looking names up was killed", finish(process), re.MULTILINE))
    folder = os.path.dirname(trace)
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("t")]
    stats = {path: bench.build.stat(path) for path in paths}
    expect(len(stats) == 61 and killed and named, f"{len(stats)} traces, {killed} killed, {len(named)} named")
    expect(named == {path for path in stats if not stats[path]["complete"]}, "not those that have no end are named")
    expect(all(stat["exit"] == 1 for stat in stats.values()), "records are missing")
    return f"{killed} killed, {len(named)} traces without an end"


# ---- the program ends in other ways ----

def check_end(bench, trace, page, process, status, unknown=0):
    err = finish(process)
    expect(process.returncode == status, f"msrec: {process.returncode}, not {status}: {err}")
    stat = bench.build.stat(trace)
    check_whole(stat, unknown)
    check_calls(page.counts(), stat)
    return stat


def ends(name):
    """Ends after some thousand calls in its threads; the trace has all of them, and the reason of the end."""
    def run(bench):
        trace, page = bench.new_run()
        stat = check_end(bench, trace, page, bench.start(trace, page, name, 20000), STATUS[name],
                         unknown=name == "double-free")
        expect(page.word(2) == 1, "the program did not come to its end")
        expect((stat["reason"], stat["detail"]) == (("exec", 0) if name == "exec" else
                                                    ("exit", STATUS[name]) if STATUS[name] >= 0 else
                                                    ("signal", -STATUS[name])),
               f"the trace says {stat['reason']} {stat['detail']}")
        check_notices(bench, trace, stat, "executed another program" if name == "exec" else
                      None if STATUS[name] >= 0 else "killed by signal")
        return f"{stat['events']} events, {stat['reason']} {stat['detail']}"
    return run


def out_of_memory(bench):
    """The kernel kills the program for memory; msrec, smaller and in the same group, goes on."""
    group = MemoryGroup(200)
    if not group.path:
        return f"skip: {group.why}"
    try:
        trace, page = bench.new_run()
        process = bench.start(trace, page, "memory", 20000, preexec_fn=group.enter)
        stat = check_end(bench, trace, page, process, -signal.SIGKILL)
        check_notices(bench, trace, stat, "killed by signal 9")
    finally:
        group.remove()
    return f"{stat['events']} events, {stat['live'] >> 20} MiB live at the end"


def all_killed(bench):
    """Program and msrec killed at once, as with a container: the file is readable."""
    trace, page = bench.new_run()
    process = bench.start(trace, page, start_new_session=True)
    child = child_of(process)
    until(lambda: page.begun)
    time.sleep(0.3)
    kept = stop_and_await(bench, child, trace, page)
    os.kill(child, signal.SIGCONT)
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    check_kept(bench.build.stat(trace), kept)
    code, lines = bench.replay(trace)
    expect(code == 1 and len(lines) == 1, f"msreplay: {code}: {lines}")
    return lines[0].split(": ", 2)[2]


# ---- cut and damaged ----

def units_of(data):
    """(end, events so far) of each unit of a whole trace."""
    decoder, at, events, units = Decoder(data), 0, 0, []
    while decoder.at < len(data):
        kind, _, fields, _ = decoder.unit()
        if kind == EVENTS:
            events += sum(struct.unpack_from("<QQ", fields, 48))
        at = decoder.at
        units.append((at, events))
    return units


def events_before(units, offset):
    """In the whole units in front of that byte."""
    return max([events for end, events in units if end <= offset], default=0)


def replay_bytes(bench, data):
    path = os.path.join(bench.folder, "damaged")
    with open(path, "wb") as f:
        f.write(data)
    status, lines = bench.replay(path, "--memusage")
    return status, lines[-1] if lines else ""


def expect_events(bench, whole, data, units, intact, what):
    """The tools use all units up to that byte, or to the first that really differs, and report it in one line."""
    while intact < len(data) and data[intact] == whole[intact]:
        intact += 1
    status, line = replay_bytes(bench, data)
    if intact < units[0][0]:
        expect(status == 2, f"{what}: {status}: {line}")
        return
    events = events_before(units, intact)
    expect(status == 1 and f"the {events} event" in line, f"{what}: {events} events expected: {status}: {line}")


def cut_and_damaged(times):
    def run(bench):
        trace, page = bench.new_run()
        process = bench.start(trace, page, "exit", 120000)
        check_end(bench, trace, page, process, STATUS["exit"])
        with open(trace, "rb") as f:
            whole = f.read()
        units = units_of(whole)
        expect(len(units) > 8, f"only {len(units)} units")
        edges = [end + d for end, _ in units[:-1] for d in (-1, 0, 1)]
        for cut in edges + [random.randrange(len(whole)) for _ in range(times)]:
            expect_events(bench, whole, whole[:cut], units, cut, f"cut at {cut}")
            # As after a crash of a file system that had allocated more than it wrote.
            expect_events(bench, whole, whole[:cut] + bytes(len(whole) - cut), units, cut, f"zeros from {cut}")
        for _ in range(times):
            at, n = random.randrange(len(whole)), random.choice([1, 2, 16, 512, 4096])
            damaged = bytearray(whole)
            for i in range(at, min(at + n, len(whole))):
                damaged[i] ^= random.randrange(1, 256)
            expect_events(bench, whole, bytes(damaged), units, at, f"{n} bytes changed at {at}")
        return f"{len(whole)} bytes, {len(units)} units: {2 * (len(edges) + times) + times} damaged copies"
    return run


def cases(long):
    every = [name for name in STATUS if name != "memory"]
    return [("the program killed", program_killed(1000 if long else 40)),
            ("msrec killed", recorder_killed(200 if long else 20, 20 if long else 2)),
            ("both killed", all_killed),
            ("looking names up killed", names_killed)] + \
           [(f"the program ends: {name}", ends(name)) for name in every] + \
           [("the program ends: out of memory", out_of_memory),
            ("traces cut and damaged", cut_and_damaged(400 if long else 30))]


def main():
    options = arguments(__doc__, ("--long", {"help": "1000 kills of the program, 200 of msrec, more damage"}), "--only",
                        ("--seed", {"default": random.randrange(1 << 32), "help": "of what is left to chance"}))
    print(f"seed {options.seed}", flush=True)
    random.seed(options.seed)
    with Scratch() as folder:
        return run_cases(cases(options.long), Bench(options.build, folder), options.only)


if __name__ == "__main__":
    sys.exit(main())
