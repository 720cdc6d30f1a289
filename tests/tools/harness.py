# SPDX-License-Identifier: MIT
"""What the tests of the recorder share: the build's programs, running them, reading figures."""

import errno
import os
import shlex
import shutil
import subprocess
import tempfile
import time

# Settings of the caller's that would change what a test sees; meson names the folders of shared modules.
for name in ("ARGP_HELP_FMT", "COLUMNS", "DEBUGINFOD_URLS", "LD_LIBRARY_PATH", "MSREC_OPTS", "MSREPLAY_OPTS",
             "NO_COLOR"):
    os.environ.pop(name, None)


class Build:
    """The programs of a build directory."""

    def __init__(self, directory):
        self.root = os.path.abspath(directory)
        self.msrec = self.file("trace-record/msrec")
        self.preload = self.file("trace-record/preload/libmsrec.so")
        self.tracestat = self.file("tests/tools/tracestat")
        self.exact = self.file("tests/tools/preload_exact.so")

    def file(self, name):
        path = os.path.join(self.root, name)
        if not os.path.exists(path):
            raise SystemExit(f"{path}: missing; build with -Dtests=true")
        return path

    def later(self):
        """Environment of a tool whose wall clock is ahead: to the cache of names, files just written are old."""
        return {"LD_PRELOAD": self.file("tests/tools/later.so"), "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def stat(self, trace):
        """The figures of a trace as a dictionary; numbers as int."""
        done = subprocess.run([self.tracestat, trace], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"tracestat: exit {done.returncode}: {done.stderr.strip()}")
        pairs = (line.split("=", 1) for line in done.stdout.split())
        return {key: int(value) if value.isdigit() else value for key, value in pairs}


class Scratch:
    """A temporary directory, as a context; `TMPDIR` decides where."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="msrec-test-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class MemoryGroup:
    """A cgroup with a limit on memory, of either version; without a path a reason why there is none."""

    def __init__(self, megabytes):
        self.path, self.why = None, "no cgroup of memory can be made here"
        for root, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            path = os.path.join(root, f"msrec-test-{os.getpid()}")
            try:
                os.mkdir(path)
                self.path = path
                # The kernel has made it: a folder that is no group has no such file.
                with open(os.path.join(path, limit), "r+") as f:
                    f.write(str(megabytes << 20))
                return
            except OSError as e:
                self.why = f"no cgroup of memory can be made here ({e.strerror})"
                self.remove()

    def enter(self):
        """For a child, before it executes."""
        with open(os.path.join(self.path, "cgroup.procs"), "w") as f:
            f.write(str(os.getpid()))

    def remove(self):
        for _ in range(100):
            try:
                if self.path:
                    os.rmdir(self.path)
                self.path = None
                return
            except OSError as e:
                if e.errno != errno.EBUSY:
                    return
                time.sleep(0.05)


def plain_environment(**more):
    """An environment of known content, so that runs can be compared."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    env.update(more)
    return env


def compiler(cxx=False):
    """The words of a compiler's command: $CC and $CXX may have several."""
    return shlex.split(os.environ.get("CXX", "c++") if cxx else os.environ.get("CC", "cc"))


def have(*programs):
    return all(shutil.which(p) for p in programs)


def by_process(paths):
    """Paths that end in .PID, the first process's first: behind the largest ids come the small ones again."""
    with open("/proc/sys/kernel/pid_max") as f:
        most = int(f.read())

    def pid_of(path):
        return int(path.rsplit(".", 1)[1])
    paths = sorted(paths, key=pid_of)
    # The first one is that with the most unused ids before it.
    gaps = [(pid_of(path) - pid_of(paths[i - 1])) % most for i, path in enumerate(paths)]
    first = gaps.index(max(gaps)) if paths else 0
    return paths[first:] + paths[:first]


class Problem(Exception):
    """What a case finds wrong."""


def run_cases(cases, bench, only=None, times=1):
    """Runs (name, function) pairs, a line each: a function tells its outcome, or "skip: why". 1 if any failed."""
    failed = 0
    for name, run in cases:
        if only and only not in name:
            continue
        begin = time.monotonic()
        try:
            for _ in range(times):
                outcome = run(bench)
        except (Problem, RuntimeError, OSError, subprocess.SubprocessError) as e:
            failed += 1
            print(f"not ok {name}: {e}", flush=True)
            continue
        if outcome.startswith("skip: "):
            print(f"SKIP {name}: {outcome[6:]}", flush=True)
        else:
            print(f"ok {name}: {outcome} ({time.monotonic() - begin:.1f} s)", flush=True)
    return 1 if failed else 0
