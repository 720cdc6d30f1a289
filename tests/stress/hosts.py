#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that are difficult for a recorder (host.c, host_cxx.cpp ...), recorded: one line of outcome each.

For each: the program ends as it does alone, with the same output; the trace is whole, without lost or unknown
events, and has the program's own count of its calls. kill.py tests deaths, loss.py tests losses.
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
import kinds                                                   # noqa: E402
from harness import (MemoryGroup, Problem, Scratch, arguments, by_process,    # noqa: E402
                     compiler, plain_environment, run_cases, until)

CFLAGS = ["-std=gnu11", "-O1", "-g", "-D_GNU_SOURCE", "-pthread"]
CXXFLAGS = ["-std=c++17", "-O1", "-g", "-pthread"]
TIMEOUT = 120
ROOT = os.geteuid() == 0


def expect(truth, words):
    if not truth:
        raise Problem(words)


class Bench:
    """A folder with the hosts built in it, and ways to run them."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.host = self.compile("host", "host.c")
        self.ends = self.compile("ends", "ends.c")
        self.confined = self.compile("confined", "confined.c")
        self.cxx = self.compile("host_cxx", "host_cxx.cpp")
        self.replacing = self.compile("host_replacing", "host_cxx.cpp", "-DREPLACE")
        self.bump = self.compile("bump.so", "bump.c", "-fPIC", "-shared", "-fno-builtin")
        self.owning = self.compile("host_owning", "host_cxx.cpp",
                                   self.compile("bump.o", "bump.c", "-c", "-fno-builtin", "-falign-functions=16",
                                                "-DBYTES=(64ul << 20)"))
        self.plugin = self.compile("plugin.so", "host_cxx.cpp", "-DPLUGIN", "-fPIC", "-shared")
        self.plugin_replacing = self.compile("plugin_replacing.so", "host_cxx.cpp", "-DPLUGIN", "-DREPLACE", "-fPIC",
                                             "-shared", "-Wl,-Bsymbolic")
        self.runs = 0
        self.options = []           # msrec's, for every host
        self.around = []            # a command that executes msrec

    def compile(self, name, source, *options):
        target = os.path.join(self.folder, name)
        c = source.endswith(".c")
        subprocess.run(compiler(cxx=not c) +
                       (CFLAGS if c else CXXFLAGS) + [os.path.join(HERE, source), "-o", target, *options, "-ldl"],
                       check=True)
        return target

    def linked_with(self, library):
        """The host with another allocator, or None if that isn't installed."""
        found = glob.glob(f"/usr/lib/*/{library}") + glob.glob(f"/usr/lib/{library}")
        if not found:
            return None
        return self.compile("host_" + library, "host.c", "-Wl,--no-as-needed", found[0])

    def new_folder(self):
        self.runs += 1
        path = os.path.join(self.folder, f"run{self.runs}")
        os.mkdir(path)
        os.chmod(path, 0o777)
        return path

    def command(self, where, options=()):
        return [*self.around, self.build.msrec, "-o", os.path.join(where, "t.%p"), *self.options, *options]

    def start(self, where, argv, options=(), env=None, **more):
        """A running msrec; output goes to files, so that no remaining child keeps a pipe open."""
        with open(os.path.join(where, "out"), "wb") as out, open(os.path.join(where, "err"), "wb") as err:
            return subprocess.Popen(self.command(where, options) + argv, stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=err, env=env or plain_environment(), **more)

    def record(self, argv, options=(), env=None, timeout=TIMEOUT):
        """Status, output, messages, and the figures of each trace, the first process's first."""
        where = self.new_folder()
        process = self.start(where, argv, options, env)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            subprocess.run(["pkill", "-9", "-P", str(process.pid)], check=False)
            process.kill()
            raise Problem(f"hangs: still there after {timeout} s") from None
        with open(os.path.join(where, "out")) as out, open(os.path.join(where, "err")) as err:
            return process.returncode, out.read(), err.read(), self.stats(where)

    def stats(self, where):
        return [self.build.stat(path) for path in by_process(glob.glob(os.path.join(where, "t.*")))]

    def native(self, argv, env=None):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=env or plain_environment(), timeout=TIMEOUT)
        return done.returncode, done.stdout


def check_whole(stat, lost=0, unknown=0, implied=0):
    for key, allowed in (("lost", lost), ("unknown", unknown), ("implied", implied)):
        expect(allowed is None or stat[key] == allowed, f"{key}: {stat[key]}")
    expect(stat["complete"] == 1, "the trace has no end")


def own_calls(out):
    match = re.search(r"calls (\d+)", out)
    return int(match.group(1)) if match else None


# ---- hosts that end by themselves ----

def run_case(bench, name, env=None, program=None, same_output=True, calls=True, options=(), **allowed):
    """Natively and recorded; returns the figures."""
    argv = [program or bench.host, name]
    env = plain_environment(**(env or {}))
    status, out = bench.native(argv, env)
    got, recorded_out, err, stats = bench.record(argv, options, env=env)
    expect(got == status, f"status {got}, alone {status}: {err.strip()[-200:]}")
    expect(recorded_out == out or not same_output, f"says {recorded_out!r}, alone {out!r}")
    expect(stats, f"no trace: {err.strip()[-200:]}")
    for stat in stats:
        check_whole(stat, **allowed)
    if calls:
        expect(stats[0]["aligned_alloc"] == own_calls(recorded_out),
               f"{own_calls(recorded_out)} calls, {stats[0]['aligned_alloc']} in the trace")
    return stats


def simple(name, **options):
    def run(bench):
        stats = run_case(bench, name, **options)
        expect(len(stats) == 1, f"{len(stats)} traces")
        return f"{stats[0]['events']} events, {stats[0]['threads']} threads, depth {stats[0]['depth']}"
    return run


def end(name):
    """Each process is recorded to its end: nothing is missing or unknown."""
    def run(bench):
        stats = run_case(bench, name, program=bench.ends, calls=False)
        return f"{len(stats)} processes"
    return run


def confined(bench):
    """A filter that allows the system calls of the manual suffices."""
    for how, processes in (("alone", 1), ("threads", 1), ("forks", 9), ("threads,forks", 9)):
        stats = run_case(bench, how, program=bench.confined, calls=False)
        expect(len(stats) == processes, f"{how}: {len(stats)} traces, not {processes}")
    return "alive"


def many_forks(bench):
    """One child after the other, each with its parent's history: more than msrec follows at a time."""
    script = ("my @a = map { 'x' x 50 . $_ } 1 .. 200; for (1 .. 600) { my $p = fork; exit 0 unless $p; waitpid $p, 0; "
              "pop @a; push @a, 'y' x 60 . $_; }")
    status, _, err, stats = bench.record(["perl", "-e", script])
    expect(status == 0, f"status {status}: {err}")
    expect(len(stats) == 601, f"{len(stats)} traces, not 601")
    markers = sorted(stat["fork"] for stat in stats[1:])
    expect(markers == list(range(1, 601)), "children don't have their own parts of what their parent did")
    for stat in stats:
        check_whole(stat)
    return f"{sum(stat['events'] for stat in stats)} events"


def fork_in_handlers(bench):
    """A handler that interrupted an event forks: the event continues in both processes, each in its own ring."""
    stats = run_case(bench, "fork-in-handlers", same_output=False, calls=False, lost=None, unknown=None,
                     implied=None)
    expect(len(stats) == 21, f"{len(stats)} traces, not 21")
    check_whole(stats[0], lost=None)
    most = max(stat["lost"] for stat in stats)
    expect(most < 300, f"{most} events lost")
    return f"{stats[0]['events']} events, at most {most} lost"


def leave_threads(bench):
    stats = run_case(bench, "leave-threads", calls=False)
    expect(stats[0]["threads"] == 5, f"{stats[0]['threads']} threads")
    expect(stats[0]["detail"] == 6, f"exit status {stats[0]['detail']} in the trace")
    return f"{stats[0]['events']} events"


def forks(bench):
    """The children are 20 traces with the parent's history and 100 calls more."""
    stats = run_case(bench, "fork", same_output=False)
    expect(len(stats) == 21, f"{len(stats)} traces, not 21")
    expect(stats[0]["fork"] == 20, f"{stats[0]['fork']} fork marks")
    for child in stats[1:]:
        expect(child["memalign"] == 100, f"a child has {child['memalign']} calls, not 100")
        expect(child["aligned_alloc"] <= stats[0]["aligned_alloc"], "a child has more than its parent had")
    return f"{stats[0]['events']} events, 20 children"


def forks_without_membarrier(bench):
    """On a kernel without that call, or where a filter denies it, a forking thread waits instead."""
    bench.around = [bench.build.file("tests/tools/deny_calls"), "membarrier", "--"]
    try:
        return forks(bench)
    finally:
        bench.around = []


def environment(bench):
    """In an environment with only msrec's variables."""
    status, _, err, _ = bench.record([bench.host, "environment"], env={"LD_PRELOAD": ""})
    expect(status == 0, f"status {status}: {err.strip()[-200:]}")
    return "empty"


def daemon(bench):
    got, _, err, stats = bench.record([bench.host, "daemon"])
    expect(got == 0, f"status {got}: {err}")
    expect(len(stats) == 2, f"{len(stats)} traces, not 2")
    for stat in stats:
        check_whole(stat)
    expect(stats[1]["memalign"] == 2000, f"{stats[1]['memalign']} of 2000 calls")
    return f"{stats[1]['events']} events in the daemon"


def spawn(bench):
    stats = run_case(bench, "spawn")
    return f"{len(stats)} trace(s), {stats[0]['events']} events"


def address_space(bench):
    stats = run_case(bench, "address-space", same_output=False)
    expect(stats[0]["failed"] >= 100, f"only {stats[0]['failed']} failures")
    return f"{stats[0]['failed']} failed calls"


def little_memory(bench):
    """The limit is there before the program starts: too little for all segments, enough for one. The
    shell's own segment is still taken then, so the program may go unrecorded; it must say so and run."""
    script = f"ulimit -v 400000; exec {bench.host} longjmp"
    got, out, err, stats = bench.record(["/bin/sh", "-c", script], ["--trace-children=yes"])
    expect(got == 0, f"status {got}: {err.strip()[-200:]}")
    whole = sum(s["aligned_alloc"] for s in stats) == own_calls(out)
    expect(whole or "not recorded" in err, f"calls are missing and nothing is said: {err}")
    return "recorded in 400 MB of address space" if whole else "not recorded, and said so"


def more_threads(bench):
    """Calls of threads without a ring are lost, and counted. Of the 76 without one among the last 100, which go on
    alone with 4,000 calls each, not most of them: they get rings."""
    argv = [bench.host, "more-threads"]
    got, out, err, stats = bench.record(argv)
    expect(got == 0, f"status {got}: {err.strip()[-200:]}")
    missing = own_calls(out) - stats[0]["aligned_alloc"]
    expect(0 < missing <= stats[0]["lost"], f"{missing} calls missing, {stats[0]['lost']} events lost")
    expect(missing < 1100 * 40 + 150000, f"{missing} calls missing")
    check_whole(stats[0], lost=None, unknown=None, implied=None)
    return f"{stats[0]['threads']} of them recorded, {missing} calls missing, {stats[0]['lost']} events lost"


def ringless_threads(bench):
    """Of 1,500 threads 1,023 get the rings that the first one leaves. The calls of the others are counted, each one:
    200 allocations and their frees, and at a thread's end the C library's own calls of free(NULL)."""
    got, out, err, stats = bench.record([bench.host, "ringless-threads"])
    expect(got == 0, f"status {got}: {err.strip()[-200:]}")
    missing = own_calls(out) - stats[0]["aligned_alloc"]
    expect(missing == (1500 - 1023) * 200, f"{missing} calls missing")
    expect(0 <= stats[0]["lost"] - 2 * missing <= (1500 - 1023) * 4,
           f"{missing} calls missing, {stats[0]['lost']} events lost")
    check_whole(stats[0], lost=None)
    return f"{stats[0]['threads']} threads recorded, {stats[0]['lost']} events of the others lost"


def many_processes(bench):
    got, _, err, stats = bench.record([bench.host, "many-processes"])
    expect(got == 0, f"status {got}: {err.strip()[-200:]}")
    said = re.search(r"(\d+) processes were not recorded", err)
    expect(said and len(stats) + int(said.group(1)) == 301, f"{len(stats)} traces: {err[-200:]}")
    for stat in stats:
        check_whole(stat)
        expect(stat is stats[0] or stat["memalign"] == 2, f"a child has {stat['memalign']} calls, not 2")
    return f"{len(stats)} recorded, {said.group(1)} not, and said so"


def pid_namespace(bench):
    """No process waits for process 1 outside of the namespace."""
    got, out, err, stats = bench.record([bench.host, "pid-namespace"])
    expect(got == 0, f"status {got}: {err.strip()[-200:]}")
    for stat in stats:
        check_whole(stat)
    calls = sorted((s["memalign"], s["aligned_alloc"]) for s in stats)
    expect(calls == [(0, own_calls(out)), (100, 12), (101, 12)], f"calls in the traces: {calls}")
    return "three traces"


def late_reader(bench):
    """More short threads than there are rings while msrec is stopped for less than a second: nothing is lost."""
    where = bench.new_folder()
    process = bench.start(where, [bench.host, "short-threads"])
    time.sleep(0.03)
    process.send_signal(signal.SIGSTOP)
    until(lambda: os.path.getsize(os.path.join(where, "out")), 0.7)
    process.send_signal(signal.SIGCONT)
    process.wait(TIMEOUT)
    with open(os.path.join(where, "out")) as out:
        counted = own_calls(out.read())
    stat = bench.stats(where)[0]
    check_whole(stat)
    expect(stat["aligned_alloc"] == counted, f"{counted} calls, {stat['aligned_alloc']} in the trace")
    return f"{stat['threads']} threads, {stat['events']} events"


TICKING = ("use Time::HiRes qw(setitimer ITIMER_REAL time); $SIG{ALRM} = sub {}; setitimer(ITIMER_REAL, 0.001, 0.001); "
           "$| = 1; print 'begins'; my $end = time + 0.7; while (time < $end) { my @a = map { 'x' x $_ } 1 .. 500 } "
           "setitimer(ITIMER_REAL, 0)")


def ticking(bench):
    """A program's timer, ticking each millisecond, doesn't shorten its wait for msrec, which counts 100 sleeps."""
    where = bench.new_folder()
    process = bench.start(where, ["perl", "-e", TICKING])
    until(lambda: os.path.getsize(os.path.join(where, "out")))
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    process.send_signal(signal.SIGCONT)
    process.wait(TIMEOUT)
    stat = bench.stats(where)[0]
    # A handler that comes inside an event may allocate.
    check_whole(stat, lost=None, unknown=None, implied=None)
    expect(process.returncode == 0 and stat["lost"] < 100, f"status {process.returncode}, {stat['lost']} events lost")
    return f"{stat['events']} events, {stat['lost']} lost"


def generations(bench):
    """Children of children, all ended before msrec meets any of them: each has its ancestors' history."""
    where = bench.new_folder()
    process = bench.start(where, [bench.host, "generations"])
    time.sleep(0.03)
    process.send_signal(signal.SIGSTOP)
    until(lambda: os.path.getsize(os.path.join(where, "out")), 0.5)
    process.send_signal(signal.SIGCONT)
    process.wait(TIMEOUT)
    with open(os.path.join(where, "out")) as out:
        calls = own_calls(out.read())
    stats = bench.stats(where)
    for stat in stats:
        check_whole(stat)
    seen = sorted((s["memalign"], s["aligned_alloc"]) for s in stats)
    before = calls - 10    # those of main's end
    expect(seen == [(0, calls)] + [(n, before) for n in range(1, 21)], f"calls in the traces: {seen}")
    return f"{len(stats)} traces"


def memory_group(bench):
    """Program, msrec and the memory between them have 24 MiB together."""
    group = MemoryGroup(24)
    if not group.path:
        return f"skip: {group.why}"
    try:
        where = bench.new_folder()
        process = bench.start(where, [bench.host, "exchange"], preexec_fn=group.enter)
        process.wait(TIMEOUT)
        with open(os.path.join(where, "out")) as out:
            counted = own_calls(out.read())
        expect(process.returncode == 0, f"status {process.returncode}")
        stat = bench.stats(where)[0]
        check_whole(stat)
        expect(stat["aligned_alloc"] == counted, f"{counted} calls, {stat['aligned_alloc']} in the trace")
    finally:
        group.remove()
    return f"{stat['events']} events"


def utilities(bench):
    """Small everyday programs behave as alone."""
    def without_addresses(out):
        return re.sub(r"0x[0-9a-f]+", "0x", out)
    commands = [["true"], ["false"], ["env"], ["ldd", "/bin/ls"], ["bash", "-c", "f() { echo $#; }; f a b; (exit 3)"],
                ["ls", "/"], ["sed", "-n", "s/root/x/p", "/etc/passwd"], ["awk", "BEGIN { print length(\"abc\") }"],
                ["find", "/etc/apt", "-name", "*.list"],
                ["perl", "-e", "print join(\",\", map { $_ * 2 } 1..9), \"\\n\"; exit 4"],
                ["python3", "-c", "import json; print(json.dumps(list(range(9))))"], ["git", "--version"],
                ["tar", "-cf", "/dev/null", "/etc/apt"], ["sort", "/etc/passwd"], ["xargs", "-n1", "echo"],
                ["date", "+%Y"]]
    events = 0
    for argv in commands:
        status, out = bench.native(argv)
        got, recorded, err, stats = bench.record(argv)
        expect(got == status and without_addresses(recorded) == without_addresses(out),
               f"{argv[0]}: {got} instead of {status}: {err[-200:]}")
        for stat in stats:
            check_whole(stat, unknown=None)
        events += stats[0]["events"]
    return f"{len(commands)} programs, {events} events"


UNPATCHED = "this build of msrec lacks libzydis"


def kind(number, text, command, words):
    """Recorded whole, or refused with the reason in one line."""
    def run(bench):
        program = kinds.build(bench.folder, number, text, command)
        got, out, err, stats = bench.record([program])
        if words is None and got == 125 and not bench.build.patches:
            expect(UNPATCHED in err, f"status {got}: {err}")
            return "refused: this build lacks libzydis"
        if words is None:
            expect(got == 0 and out == "calls 1000\n", f"status {got}: {err}")
            check_whole(stats[0])
            expect(stats[0]["aligned_alloc"] == 1000, f"{stats[0]['aligned_alloc']} of 1000 calls")
            return f"{stats[0]['events']} events"
        expect(got == 125 and words in err and err.count("\n") == 1 and not out and not stats, f"status {got}: {err}")
        return "refused: " + err.strip().split(" ", 2)[2]
    return run


def go_with_c(bench):
    """Go that was linked with C: recorded, and msrec reports the missing calls."""
    program = kinds.build(bench.folder, "go", kinds.PLAIN + kinds.GO_NOTE, ["gcc"])
    got, out, err, stats = bench.record([program])
    expect(got == 0 and out == "calls 1000\n" and stats[0]["aligned_alloc"] == 1000, f"status {got}: {err}")
    expect("Go program" in err and "not" in err, f"says {err}")
    return err.splitlines()[0].split(" ", 2)[2]


def rust(bench):
    program = kinds.build_rust(bench.folder)
    status, out = bench.native([program])
    got, recorded, err, stats = bench.record([program])
    expect(got == status and recorded == out == "10000 true\n", f"status {got}: {recorded!r}: {err}")
    check_whole(stats[0])
    expect(stats[0]["threads"] == 5 and stats[0]["events"] > 1000, f"{stats[0]['events']} events")
    return f"{stats[0]['events']} events, {stats[0]['threads']} threads, a panic"


def storm(bench):
    """Handlers that allocate inside the events that they interrupt, on an allocator that allows it."""
    stats = run_case(bench, "storm", env={"LD_PRELOAD": bench.bump}, same_output=False)
    expect(stats[0]["threads"] == 1, f"{stats[0]['threads']} threads")
    return f"{stats[0]['events']} events, none lost"


def jumps(bench):
    """Long jumps out of handlers that interrupted an event: exactly these events are lost and counted."""
    status, out, err, stats = bench.record([bench.host, "jumps"], env=plain_environment(LD_PRELOAD=bench.bump))
    allocs, s = own_calls(out), stats[0]
    expect(status == 0 and s["complete"] == 1, f"status {status}: {err}")
    expect(s["lost"] <= 100 and allocs - s["aligned_alloc"] <= s["lost"],
           f"{allocs} calls, {s['aligned_alloc']} in the trace, {s['lost']} said to be lost")
    expect(s["threads"] == 1, f"{s['threads']} threads")
    return f"{s['aligned_alloc']} of {allocs} calls, {s['lost']} events lost"


def deepbind(bench):
    """The plug-in's own allocations bypass every preload; their frees by the program are unknown."""
    stats = run_case(bench, "deepbind", env={"HOST_PLUGIN": bench.plugin}, unknown=None)
    return f"{stats[0]['unknown']} frees of blocks that went past"


def as_root(run):
    return run if ROOT else lambda _: "skip: needs root"


def allocator(library):
    def run(bench):
        program = bench.linked_with(library)
        if not program:
            return "skip: not installed"
        if bench.native([program, "early"], plain_environment())[0] < 0:
            return "skip: it crashes by itself"
        total = 0
        for name in ("early", "short-threads", "exchange", "longjmp", "tls"):
            total += run_case(bench, name, program=program)[0]["events"]
        return f"{total} events in five hosts"
    return run


def cxx_case(name, program="cxx", exact=True):
    def run(bench):
        stats = run_case(bench, name, program=getattr(bench, program), calls=False)
        out = bench.native([getattr(bench, program), name], plain_environment())[1]
        news = stats[0]["new"] + stats[0]["new_array"]
        expect(not exact or news == int(out.split()[1]), f"operator new: {news} recorded, {out.split()[1]} made")
        return f"{news} news, {stats[0]['failed']} failed"
    return run


def own_malloc(bench):
    """msrec patches such a program, also if it is executed by another."""
    if not bench.build.patches:
        return "skip: this build lacks libzydis"
    stats = run_case(bench, "own-memory", program=bench.owning, calls=False)
    got, out, err, later = bench.record(["env", bench.owning, "own-memory"], ["--trace-children=yes"])
    expect(got == 0 and "of its own" not in err, f"status {got}: {err.strip()[-200:]}")
    calls = [{key: stat[key] for key in ("malloc", "new", "new_array", "free", "live")}
             for stat in (stats[0], max(later, key=lambda stat: stat["new"]))]
    expect(calls[0] == calls[1] and calls[0]["new"], f"{calls}")
    return f"{calls[0]['new']} news"


def locking_malloc(bench):
    """The recorder must not call the program's malloc while that maps its own pages."""
    if not bench.build.patches:
        return "skip: this build lacks libzydis"
    program = bench.compile("locking", "locking.c", "-fno-builtin", "-falign-functions=16")
    for command in ([program], ["env", program]):
        got, out, err, _ = bench.record(command, ["--trace-children=yes"], timeout=20)
        expect(got == 0 and out == "own\n", f"status {got}: {err.strip()[-200:]}")
    return "runs"


def dlopen_plugin(which):
    def run(bench):
        stats = run_case(bench, "dlopen", env={"HOST_PLUGIN": getattr(bench, which)})
        return f"{stats[0]['new']} + {stats[0]['new_array']} news, {stats[0]['failed']} failed"
    return run


HOSTS = [
    ("malloc before main", simple("early")),
    ("key destructors, pthread_exit", simple("tls")),
    ("2000 short threads", simple("short-threads")),
    ("2000 short threads, msrec late", late_reader),
    ("300 threads at once", simple("many-threads")),
    ("1100 threads at once", more_threads),
    ("1500 threads that all make calls", ringless_threads),
    ("blocks that change hands", simple("exchange", same_output=False)),
    ("exit while threads work", leave_threads),
    ("fork with threads", forks),
    ("fork with threads, no membarrier", forks_without_membarrier),
    ("600 forks in a row", many_forks),
    ("unwritten output at _exit", end("unwritten")),
    ("unwritten output at quick_exit", end("unwritten-quickly")),
    ("a file shared with children that _exit", end("shared-file")),
    ("_exit in handlers", end("in-handlers")),
    ("_exit of children beside threads", end("beside-threads")),
    ("20 generations, msrec late", generations),
    ("300 processes at once", many_processes),
    ("namespace of processes", as_root(pid_namespace)),
    ("vfork and exec", simple("vfork")),
    ("posix_spawn, system, popen", spawn),
    ("daemon without descriptors", daemon),
    ("chroot", as_root(simple("chroot"))),
    ("setuid", as_root(simple("setuid"))),
    ("mlockall", as_root(simple("mlockall"))),
    ("environment behind the arguments", environment),
    ("clearenv, environ = NULL", simple("clearenv")),
    ("RLIMIT_NOFILE 0", simple("nofile")),
    ("other limits", simple("limits")),
    ("RLIMIT_AS reached", address_space),
    ("RLIMIT_AS before the start", little_memory),
    ("timer storm", storm),
    ("a timer, and msrec late", ticking),
    ("jumps out of handlers", jumps),
    ("forks in handlers", fork_in_handlers),
    ("all but a few system calls forbidden", confined),
    ("handlers of SIGSEGV, SIGSYS, SIGPROF", simple("handlers", calls=False)),
    ("handlers, and --timer", simple("handlers", calls=False, options=["--timer=1"])),
    ("alternate signal stack", simple("altstack")),
    ("longjmp", simple("longjmp")),
    ("a stack that is not aligned", simple("unaligned", calls=False)),
    ("coroutines", simple("coroutines")),
    ("100,000 frames with alloca", simple("deep")),
    ("dlopen and dlclose, C++ plug-in in a C program", dlopen_plugin("plugin")),
    ("plug-in with its own operator new", dlopen_plugin("plugin_replacing")),
    ("RTLD_DEEPBIND", deepbind),
    ("bad_alloc", cxx_case("bad-alloc")),
    ("new_handler that allocates", cxx_case("new-handler", exact=False)),
    ("thread_local destructors", cxx_case("thread-local", exact=False)),
    ("exceptions through recorded frames", cxx_case("exceptions", exact=False)),
    ("program with its own operator new", cxx_case("bad-alloc", program="replacing", exact=False)),
    ("arrays by its own operator new", cxx_case("own-memory", program="replacing", exact=False)),
    ("C++ program with its own malloc, executed by another", own_malloc),
    ("program with a malloc that maps under its lock, executed by another", locking_malloc),
    ("jemalloc", allocator("libjemalloc.so.2")),
    ("tcmalloc_minimal", allocator("libtcmalloc_minimal.so.4")),
    ("mimalloc", allocator("libmimalloc.so.2")),
    ("memory limit of a cgroup", memory_group),
    ("shell utilities", utilities),
    ("Rust", rust),
    ("Go linked with C", go_with_c),
] + [(name, kind(i, *how)) for i, (name, *how) in enumerate(kinds.KINDS)] + [
]


def main():
    options = arguments(__doc__, ("--long", {"help": "every host five times"}), "--only",
                        ("--pages", {"action": "store_true", "help": "record with --pages"}))
    with Scratch() as folder:
        os.chmod(folder, 0o755)
        bench = Bench(options.build, folder)
        bench.options = ["--pages"] if options.pages else []
        return run_cases(HOSTS, bench, options.only, 5 if options.long else 1)


if __name__ == "__main__":
    sys.exit(main())
