# SPDX-License-Identifier: MIT
"""The common part of all test scripts: the command line, the build's programs, folders, environments, cases, counts.

A script has main(), which returns its exit status: 0, 1 (something differs) or SKIPPED. It takes its options from
arguments(), works in a Scratch, and counts by run_cases(), Checks, Tally or run_seeds().
"""

import argparse
import errno
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77        # meson's status for a test that cannot run here

# The caller's variables that would change results; meson names the folders of shared modules.
for name in ("ARGP_HELP_FMT", "COLUMNS", "DEBUGINFOD_URLS", "LD_LIBRARY_PATH", "MSREC_OPTS", "MSREPLAY_OPTS",
             "NO_COLOR"):
    os.environ.pop(name, None)


def valgrind_version():
    said = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", said)[:2])


def binutils_version():
    said = subprocess.run(["addr2line", "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(number) for number in re.findall(r"\d+", said.split("\n")[0].split()[-1])[:2])


def installed_compat():
    """The version of Massif, as msreplay's --compat has it, whose answers are those of the installed one."""
    version = valgrind_version()
    if version >= (3, 26):      # its names of inlined functions come from any unit
        return "3.27"
    return "3.24" if version >= (3, 22) else "3.19"     # since 3.22 its lists name inlined functions, too


class Build:
    """The programs of a build directory; where a path is wanted, the directory itself."""

    def __init__(self, directory):
        self.root = os.path.abspath(directory)
        self.tracestat = self.file("tests/tools/tracestat")

    # Builds of the readers alone have none of these.
    @property
    def msrec(self):
        return self.file("trace-record/msrec")

    @property
    def preload(self):
        return self.file("trace-record/preload/libmsrec.so")

    @property
    def exact(self):
        return self.file("tests/tools/preload_exact.so")

    @property
    def patches(self):
        """Its msrec records allocators that are linked into programs."""
        return self.has("tests/unit/test_displace")

    def __fspath__(self):
        return self.root

    def __truediv__(self, name):
        return pathlib.Path(self.root) / name

    def has(self, name):
        return os.path.exists(os.path.join(self.root, name))

    def file(self, name):
        path = os.path.join(self.root, name)
        if not os.path.exists(path):
            raise SystemExit(f"{path}: missing; build with -Dtests=enabled")
        return path

    def preloaded(self, name):
        """Environment of a program with a library of tests/tools."""
        return {"LD_PRELOAD": self.file(f"tests/tools/{name}.so"), "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def later(self):
        """Environment of a tool whose wall clock is ahead: to the cache of names, files just written are old."""
        return self.preloaded("later")

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
    """
    Paths that end in .PID, .PID-N or .PID.N, the first process's first: behind the largest ids come the small ones. A
    path without an id comes before all.
    """
    with open("/proc/sys/kernel/pid_max") as f:
        most = int(f.read())

    def numbers(path):
        match = re.search(r"\.(\d+)(?:[.-](\d+))?$", os.path.basename(path))
        return (int(match[1]), int(match[2] or 0)) if match else (-1, 0)
    paths = sorted(paths, key=numbers)
    pids = sorted({pid for pid, _ in map(numbers, paths) if pid >= 0})
    # The first one is that with the most unused ids before it.
    first = max(pids, key=lambda pid: (pid - pids[pids.index(pid) - 1]) % most or most, default=0)
    return sorted(paths, key=lambda path: (0 <= numbers(path)[0] < first, numbers(path)))


def until(condition, seconds=30):
    """Waits for a condition, whose exceptions count as false; returns whether it came true in time."""
    end = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return True
        except (OSError, RuntimeError):
            pass
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


OPTIONS = {
    "--long": {"action": "store_true", "help": "more of it: takes minutes to hours"},
    "--only": {"metavar": "WORD", "help": "cases with this word in their name"},
    "--runs": {"type": int, "default": 20, "metavar": "N", "help": "seeds that are tried (%(default)s)"},
    "--seed": {"type": int, "default": 1, "help": "of the first run; the next has the next one (%(default)s)"},
    "--jobs": {"type": int, "default": 2, "metavar": "N", "help": "cases at a time (%(default)s)"},
    "--keep": {"type": pathlib.Path, "metavar": "FOLDER", "help": "where to leave the files of a difference"},
    "--verbose": {"action": "store_true", "help": "show what differs"},
}


def arguments(doc, *more):
    """A script's options: --build DIR, which becomes a Build, and `more`: names of OPTIONS or (name, keywords)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Build, metavar="DIR", help="Meson's build directory")
    for option in more:
        name, keywords = (option, {}) if isinstance(option, str) else option
        parser.add_argument(name, **{**OPTIONS.get(name, {}), **keywords})
    return parser.parse_args()


def skip(why):
    """Ends the script: it cannot run here."""
    print(f"SKIP: {why}")
    sys.exit(SKIPPED)


def need(*programs):
    for program in programs:
        if not have(program):
            skip(f"{program} is not installed")


def need_valgrind():
    """Whose files are compared with ours: those of 3.19 and later."""
    need("valgrind")
    if valgrind_version() < (3, 19):
        skip("Valgrind is older than 3.19")


def have_heaptrack_print():
    """With the option that shows all leaks, which that of Debian 11 lacks."""
    return have("heaptrack_print") and "--disable-builtin-suppressions" in subprocess.run(
        ["heaptrack_print", "--help"], capture_output=True, text=True, check=False).stdout


def need_heaptrack_print():
    need("heaptrack")
    if not have_heaptrack_print():
        skip("heaptrack_print is not installed, or has no --disable-builtin-suppressions")


class Problem(Exception):
    """A failure of a case."""


class Checks:
    """Statements that are true or not, a line each."""

    def __init__(self):
        self.done = self.failed = 0

    def __call__(self, what, fine, detail=""):
        self.done += 1
        self.failed += not fine
        print(f"{'ok' if fine else 'not ok':7}{what}{'' if fine else ': ' + str(detail)[-1500:]}", flush=True)
        return fine

    def equal(self, what, found, wanted):
        """Silent if so."""
        self.done += 1
        if found != wanted:
            self.failed += 1
            print(f"not ok {what}: {found!r} instead of {wanted!r}", flush=True)
        return found == wanted

    def status(self):
        print(f"{self.done} checks, {self.failed} failed")
        return 1 if self.failed or not self.done else 0


class Tally:
    """Results that should be identical with another program's."""

    def __init__(self):
        self.identical = self.total = 0

    def __call__(self, same, text=""):
        self.total += 1
        self.identical += bool(same)
        if text:
            print(text, flush=True)
        return same

    def status(self, more=""):
        print(f"identical {self.identical}/{self.total}{more}")
        return 0 if self.total and self.identical == self.total else 1


FAILURES = (AssertionError, Problem, RuntimeError, OSError, subprocess.SubprocessError)


def run_cases(cases, bench, only=None, times=1):
    """Runs (name, function) pairs, a line each: a function returns its outcome, or "skip: why". 1 if any failed."""
    failed = 0
    for name, run in cases:
        if only and only not in name:
            continue
        begin = time.monotonic()
        try:
            for _ in range(times):
                outcome = run(bench) or "as it should be"
        except FAILURES as e:
            failed += 1
            print(f"not ok {name}: {type(e).__name__ + ': ' if not isinstance(e, Problem) else ''}{e}", flush=True)
            continue
        if outcome.startswith("skip: "):
            print(f"SKIP {name}: {outcome[6:]}", flush=True)
        else:
            print(f"ok {name}: {outcome} ({time.monotonic() - begin:.1f} s)", flush=True)
    return 1 if failed else 0


def methods(tests):
    """The test_... methods of an object as cases; one that returns a text is skipped for that reason."""
    def case(method):
        def run(_):
            why = method()
            return f"skip: {why}" if why else None
        return run
    return [(name[5:], case(getattr(tests, name))) for name in dir(tests) if name.startswith("test_")]


def run_in_folders(doc, tests_of, *more):
    """
    A script of methods: tests_of(build), or with more options tests_of(options), has them, and finds in `folder` an
    empty one for each.
    """
    options = arguments(doc, "--only", *more)
    tests = tests_of(options if more else options.build)

    def in_folder(run):
        def case(bench):
            with Scratch() as tests.folder:
                os.chmod(tests.folder, 0o755)
                return run(bench)
        return case
    return run_cases([(name, in_folder(run)) for name, run in methods(tests)], None, options.only)


def run_methods(doc, tests_of, *more):
    """A script of methods that share a folder, and names that were once read: those of tests_of(options, folder)."""
    options = arguments(doc, "--only", *more)
    with Scratch() as folder:
        os.environ["MSREC_CACHE"] = os.path.join(folder, "names")
        return run_cases(methods(tests_of(options, folder)), None, options.only)


def run_script(doc, cases, bench, *more):
    """A script of cases: `cases` is a list, or makes one of the options; bench(build, folder) is what they get."""
    options = arguments(doc, "--only", *more)
    with Scratch() as folder:
        os.chmod(folder, 0o755)
        return run_cases(cases(options) if callable(cases) else cases, bench(options.build, folder), options.only)


def run_seeds(options, begin, found=()):
    """Calls begin(folder)'s result with each seed until it fails; prints that seed and leaves its files in --keep.
    Seeds that have found a fault, `found`, come first."""
    with Scratch() as folder:
        try_once = begin(pathlib.Path(folder))
        for seed in [*found, *range(options.seed, options.seed + options.runs)]:
            try:
                try_once(seed)
            except FAILURES as e:
                print(f"DIFFERENT seed {seed}: {e}")
                if options.keep:
                    shutil.copytree(folder, options.keep, dirs_exist_ok=True)
                return 1
    print(f"equal {options.runs}/{options.runs}")
    return 0


def run_tries(doc, bench_of, try_once, found=()):
    """A script that calls try_once(bench_of(build, folder), seed) with each of its seeds, and those of `found`."""
    options = arguments(doc, "--runs", "--seed", "--keep")

    def begin(folder):
        bench = bench_of(options.build, folder)
        return lambda seed: try_once(bench, seed)
    return run_seeds(options, begin, found)
