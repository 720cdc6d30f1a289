#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line of msrec: statuses, names, refusals, messages, children, signals."""

import glob
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import compiler, plain_environment, run_in_folders    # noqa: E402

ROOT = os.geteuid() == 0
TIMEOUT = 30

PATHS = 14
PATHS_PROGRAM = r"""
#include <stdlib.h>
static void go(unsigned path, int left);
__attribute__((noinline)) static void zero(unsigned path, int left) { go(path, left); __asm__ volatile("# 0"); }
__attribute__((noinline)) static void one(unsigned path, int left) { go(path, left); __asm__ volatile("# 1"); }
static void go(unsigned path, int left)
{
	void *volatile block;
	if (left)
		return path & 1 ? one(path >> 1, left - 1) : zero(path >> 1, left - 1);
	block = malloc(1);
	free(block);
}
int main(void)
{
	for (unsigned i = 0; i < 2u << DEPTH; i++)
		go(i, DEPTH);
	return 0;
}
"""


class Result:
    def __init__(self, done, folder):
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        self.files = sorted(os.path.relpath(p, folder) for p in glob.glob(folder + "/**", recursive=True)
                            if os.path.isfile(p))


class Tests:
    """One method a test; each runs in an empty folder."""

    def __init__(self, build):
        self.build, self.folder = build, None

    def run(self, *words, env=None, **more):
        done = subprocess.run([self.build.msrec, *words], cwd=self.folder, env=plain_environment(**(env or {})),
                              capture_output=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL, **more)
        return Result(done, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content, mode=0o755):
        with open(self.path(name), "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(self.path(name), mode)
        return self.path(name)

    def refused(self, status, words, *command, **more):
        """msrec's own failure: one line that begins with its name, the words in it, no trace."""
        before = set(os.listdir(self.folder))
        r = self.run(*command, **more)
        assert r.status == status, f"status {r.status}, not {status}: {r.err}"
        assert r.err.startswith("msrec: ") and re.search(words, r.err), f"says {r.err!r}"
        assert r.err.count("\n") == 1, f"says more than one line: {r.err!r}"
        assert r.out == "", f"prints {r.out!r}"
        assert set(os.listdir(self.folder)) == before, f"leaves {os.listdir(self.folder)}"

    # ---- statuses ----

    def test_status_of_the_program(self):
        for status in (0, 1, 3, 125, 126, 127, 255):
            assert self.run("-f", "-o", "t", "sh", "-c", f"exit {status}").status == status, status

    def test_signal_of_the_program(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE, signal.SIGINT):
            r = self.run("-f", "-o", "t", "sh", "-c", f"kill -{int(number)} $$")
            assert r.status == -number, f"{number}: {r.status}"
            assert self.build.stat(self.path("t"))["detail"] == number

    def test_not_found(self):
        self.refused(127, "no-such-program", "no-such-program")
        self.refused(127, "no-such", "./no-such")
        self.refused(127, "", "/bin/true/x")
        self.refused(127, "No such file", "")

    def test_cannot_execute(self):
        self.write("plain", "x", 0o644)
        self.refused(126, "[Pp]ermission denied", "./plain")
        os.mkdir(self.path("folder"))
        self.refused(126, "", "./folder")
        self.refused(126, "", "/")

    def test_no_program(self):
        self.refused(125, "no program")
        self.refused(125, "no program", "--")

    def test_bad_options(self):
        for option in ("--nonsense", "-z0", "-z20", "-zx", "--depth=0", "--depth=2049", "--depth=", "--depth=1x",
                       "--trace-children=maybe", "--run-libc-freeres=1", "--identity=",
                       "--max-size=63k", "--max-size=1m1", "--max-size=17179869184t", "--sample=1048577k"):
            r = self.run(option, "true")
            assert r.status == 125 and r.out == "" and r.err, f"{option}: {r.status} {r.err!r}"
            assert r.files == [], r.files

    def test_options_alone(self):
        # msreplay's options of the same names refuse a trace (64) that lacks what they need.
        replay = self.build / "analyze/msreplay"
        for option in ("--stacks", "--pages"):
            for value, expected in (("", 0), ("=yes", 0), ("=no", 64)):
                r = self.run("-q", "-f", "-o", "t", option + value, "true")
                assert r.status == 0 and r.err == "", f"{option}{value}: {r.status} {r.err!r}"
                for asked, status in ((option, expected), (option + "=no", 0)):
                    done = subprocess.run([replay, "-q", "-o", "-", asked, self.path("t")], capture_output=True)
                    assert done.returncode == status, f"{option}{value}: {asked}: {done.stderr}"
        for option in ("--trace-children", "--identity", "--free-stacks", "--mmap", "--usable", "--run-cxx-freeres"):
            r = self.run("-q", "-f", option, "true")
            assert r.status == 0 and r.err == "", f"{option}: {r.status} {r.err!r}"

    def test_attaching(self):
        for words, said in ((("-p",), "requires an argument"), (("-p", "x"), "should be a number"),
                            (("--pid=1", "true"), "no program is started")):
            r = self.run(*words)
            assert r.status == 125 and said in r.err, f"{words}: {r.err!r}"

    def test_sizes(self):
        for size in ("65536", "64k", "1048576k", "1048576M", "8388607T"):
            r = self.run("-q", "-f", f"--max-size={size}", "true")
            assert r.status == 0 and r.err == "", f"{size}: {r.err!r}"

    def test_help_and_version(self):
        # Help and version go to stdout: no program runs.
        for option in ("--help", "--version", "--usage"):
            r = self.run(option)
            assert r.status == 0 and "msrec" in r.out + r.err, f"{option}: {r.status}"

    def test_help_that_nobody_gets(self):
        for option in ("--help", "--version", "--usage"):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([self.build.msrec, option], stdout=full, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 125, f"{option}: {done.returncode}"
            assert done.stderr == "msrec: standard output: No space left on device\n", done.stderr

    # ---- refusals ----

    def elf(self, machine=62, bits=2, kind=2, interpreter=b"/lib64/ld-linux-x86-64.so.2"):
        header = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9)
        header += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0x400000, 64, 0, 0, 64, 56, 1, 64, 0, 0)
        text = (interpreter or b"") + b"\0"
        return header + struct.pack("<IIQQQQQQ", 3 if interpreter else 1, 5, 120, 120, 120, len(text), len(text), 1) + \
            text + bytes(64)

    def test_static(self):
        self.write("program", self.elf(interpreter=None))
        self.refused(125, "statically linked.*--engine=valgrind", "./program")

    def test_loader_as_a_command(self):
        """The loader itself has no interpreter; the executable of the trace is its argument."""
        told = os.path.join(self.folder, "told")
        subprocess.run(["gcc", "-x", "c", "-o", told, "-"], text=True, check=True, input="""#include <stdio.h>
            #include <sys/auxv.h>
            int main(void) { return puts((const char *)getauxval(AT_EXECFN)) < 0; }""")
        said = subprocess.run(["/lib64/ld-linux-x86-64.so.2", told], capture_output=True, text=True, check=True).stdout
        if said != told + "\n":
            return "this loader does not say what it has loaded"
        program = os.path.realpath(self.build.file("corpus/one"))
        name = os.path.relpath(program, os.path.realpath(self.folder))
        assert self.run("-o", "t", "/lib64/ld-linux-x86-64.so.2", name).status == 0
        text = subprocess.run([self.build.file("tests/tools/tracedump"), self.path("t")], capture_output=True,
                              text=True, check=True).stdout
        assert f" {program} role=1 " in text, re.findall("^module.*", text, re.M)
        return None

    def test_other_libraries(self):
        for path, name in ((b"/lib/ld-musl-x86_64.so.1", "musl"), (b"/lib/ld64-uClibc.so.0", "uClibc"),
                           (b"/system/bin/linker64", "Android")):
            self.write("program", self.elf(interpreter=path))
            cure = ": an msrec built with musl records it" if name == "musl" else ""
            self.refused(125, f"another C library .{name}.*; the recorder is for glibc{cure}\n", "./program")
            r = self.run("--engine=valgrind", "-f", "-o", "t", "./program")
            assert f"another C library ({name}" in r.err and "may not replace" in r.err, r.err
        # msrec leaves unknown names to the kernel, which doesn't find them.
        self.write("program", self.elf(interpreter=b"/no/such/ld.so"))
        assert "C library" not in self.run("-f", "-o", "t", "./program").err

    def test_32_bit(self):
        self.write("program", self.elf(bits=1))
        self.refused(125, "32-bit", "./program")

    def test_foreign_machine(self):
        self.write("program", self.elf(machine=183))
        self.refused(125, "another kind of processor", "./program")

    def test_not_an_executable(self):
        self.write("object.o", self.elf(kind=1))
        self.refused(125, "not an executable", "./object.o")

    def test_cut_program(self):
        for size in (5, 20, 64, 100):
            self.write("program", self.elf()[:size])
            r = self.run("./program")
            assert r.status in (125, 126) and r.err.startswith("msrec: "), f"{size}: {r.status} {r.err}"

    def test_set_user_id(self):
        if not ROOT:
            return "needs root"
        shutil.copy("/bin/true", self.path("program"))
        os.chown(self.path("program"), 65534, 65534)
        os.chmod(self.path("program"), 0o4755)
        self.refused(125, "set-user-ID", "./program")
        os.chmod(self.path("program"), 0o2755)
        self.refused(125, "set-group-ID", "./program")
        os.chown(self.path("program"), os.geteuid(), os.getegid())
        os.chmod(self.path("program"), 0o6755)
        assert self.run("-o", "own", "./program").status == 0
        self.refused(125, "set-group-ID: Valgrind", "--engine=valgrind", "./program")
        os.chown(self.path("program"), 65534, 65534)
        os.chmod(self.path("program"), 0o2755)
        # The kernel passes over these bits of a script, Valgrind doesn't.
        self.write("script", "#!/bin/sh\nexit 4\n")
        os.chown(self.path("script"), 65534, 65534)
        os.chmod(self.path("script"), 0o6755)
        assert self.run("-o", "t", "./script").status == 4
        self.refused(125, "set-group-ID: Valgrind", "--engine=valgrind", "./script")
        self.write("script", f"#!{self.path('program')}\n")
        self.refused(125, "script for .* set-group-ID", "./script")

    def test_scripts(self):
        self.write("script", "#!/bin/sh\nexit 4\n")
        assert self.run("-o", "t", "./script").status == 4
        assert self.build.stat(self.path("t"))["malloc"] > 0
        self.write("bare", "exit 5\n")
        assert self.run("-f", "-o", "t", "./bare").status == 5
        self.write("static", self.elf(interpreter=None))
        self.write("script", f"#! {self.path('static')} -x\n")
        self.refused(125, "script for .*statically", "./script")
        self.write("script", "#!/no/such/interpreter\n")
        r = self.run("-o", "u", "./script")
        assert r.status in (126, 127) and "u" not in r.files, f"{r.status} {r.files}"

    # ---- names ----

    def test_default_name(self):
        r = self.run("true")
        assert len(r.files) == 1 and re.fullmatch(r"trace\.true\.\d+\.zst", r.files[0]), r.files
        assert r.files[0] in r.err

    def test_patterns(self):
        r = self.run("-o", "%e-%n-%q{WORD}-100%%", "true", env={"WORD": "w"})
        assert r.files == ["true-1-w-100%"], r.files
        r = self.run("--output=x.%p", "sh", "-c", "echo $$")
        assert f"x.{r.out.strip()}" in r.files, (r.files, r.out)
        assert self.build.stat(self.path("x." + r.out.strip()))["complete"] == 1

    def test_bad_patterns(self):
        for pattern in ("%", "a%", "%x", "%q", "%qVAR", "%q{VAR", "%q{NOT_SET}", "%q{}", ""):
            self.refused(125, "", "-o", pattern, "true")

    def test_existing_file(self):
        self.write("t", "precious", 0o644)
        self.refused(125, "t: File exists.*-f", "-o", "t", "true")
        with open(self.path("t")) as f:
            assert f.read() == "precious"
        assert self.run("-f", "-o", "t", "true").status == 0
        assert self.build.stat(self.path("t"))["complete"] == 1

    def test_force_spares_what_cannot_be_replaced(self):
        """An old trace stays if the program cannot be executed; otherwise the new one replaces it."""
        self.write("t", "precious", 0o644)
        self.write("script", "#!/no/such/interpreter\n")
        self.refused(127, "script: No such file", "-f", "-o", "t", "./script")
        with open(self.path("t")) as f:
            assert f.read() == "precious"
        r = self.run("-f", "-o", self.path("t"), "true")
        assert r.status == 0 and r.files == ["script", "t"], r.files
        assert self.build.stat(self.path("t"))["complete"] == 1

    def test_force_spares_what_is_no_file(self):
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("fifo"))
        for options in ([], ["-f"]):
            self.refused(125, "fifo: File exists, and is no regular file", *options, "-o", "fifo", "true")
        self.refused(125, "", "-f", "-o", "folder", "true")
        self.refused(125, "", "-f", "-o", "/dev/null", "true")
        assert os.path.exists("/dev/null")

    def test_unwritable_folder(self):
        self.refused(125, "No such file or directory", "-o", "no/such/t", "true")
        if ROOT:
            self.refused(125, "", "-o", "/proc/t", "true")

    def test_unreadable_to_others(self):
        self.run("-o", "t", "true")
        assert os.stat(self.path("t")).st_mode & 0o777 == 0o600

    # ---- options ----

    def test_environment_options(self):
        r = self.run("true", env={"MSREC_OPTS": "-q  -o\tfrom-environment"})
        assert r.files == ["from-environment"] and r.err == "", (r.files, r.err)
        r = self.run("-o", "later", "true", env={"MSREC_OPTS": "-o earlier"})
        assert "later" in r.files and "earlier" not in r.files
        r = self.run("true", env={"MSREC_OPTS": "--nonsense"})
        assert r.status == 125

    def test_options_end_at_the_program(self):
        assert self.run("-o", "t", "echo", "-o", "--depth=0", "--", "-v").out == "-o --depth=0 -- -v\n"
        assert self.run("-f", "-o", "t", "--", "echo", "x").out == "x\n"

    def test_depth(self):
        self.run("--depth=2", "-o", "t", "ls")
        assert self.build.stat(self.path("t"))["depth"] == 2

    def test_levels_and_identity(self):
        counts = set()
        for option in ("-z1", "-z19", "--level=7", "--identity=no"):
            self.run("-f", "-o", "t", option, "echo", "x")
            s = self.build.stat(self.path("t"))
            counts.add((s["malloc"], s["free"], s["peak"], s["events"]))
        assert len(counts) == 1, counts

    def test_no_args(self):
        """Of the command lines, also of executed and forked programs, only the names are kept."""
        script = "echo geheim-1 | env -i /bin/true geheim-2; (echo geheim-3; true)"
        self.run("--no-args", "--trace-children=yes", "-o", "t.%n", "sh", "-c", script, "geheim-4")
        traces = [name for name in os.listdir(self.folder) if name.startswith("t.")]
        assert len(traces) >= 2, traces
        for name in traces:
            dump = subprocess.run([self.build.file("tests/tools/tracedump"), name], cwd=self.folder,
                                  capture_output=True, text=True, check=True).stdout
            assert "geheim" not in dump and len(re.findall(r"^arg ", dump, re.M)) <= 1, dump[:300]
        out = subprocess.run([self.build.file("analyze/msreplay"), "-q", "--massif-out-file=-", "t.1"], cwd=self.folder,
                             capture_output=True, text=True, check=True).stdout
        assert "\ncmd: sh\n" in out, out[:200]

    def test_modes(self):
        """Only the owner can read traces; results have the mode of the umask, also when they replace a file."""
        self.run("-o", "t", "true", umask=0)
        assert os.stat(self.path("t")).st_mode & 0o777 == 0o600
        for umask in (0o022, 0o077):
            subprocess.run([self.build.file("analyze/msreplay"), "-q", "--massif-out-file=m", "t"], cwd=self.folder,
                           check=True, umask=umask)
            assert os.stat(self.path("m")).st_mode & 0o777 == 0o666 & ~umask, oct(os.stat(self.path("m")).st_mode)

    def test_freeres(self):
        live = {}
        for word in ("yes", "no"):
            self.run("-f", "-o", "t", f"--run-libc-freeres={word}", "ls", "-l")
            live[word] = self.build.stat(self.path("t"))["live"]
        assert live["yes"] < live["no"], live

    def test_messages(self):
        r = self.run("-o", "t", "true")
        assert re.fullmatch(r"msrec: true ran for [\d.]+ s: [\d,]+ calls, peak [\d,]+ bytes, [\d,]+ live at the end; "
                            r"next: msreport t\nmsrec: t: \d+ events, 0 lost, [\d.]+ bytes/event\n", r.err), r.err
        assert self.run("-q", "-f", "-o", "t", "true").err == ""
        assert self.run("-v", "-f", "-o", "t", "true").status == 0

    def stacks(self, *command):
        """What -v says of stacks: contexts, distinct ones, walks, resets."""
        err = self.run("-v", "-f", "-o", "t", *command).err
        said = re.search(r"^msrec: stacks: contexts ([\d,]+), distinct ([\d,]+), walks ([\d,]+), resets ([\d,]+)$",
                         err, re.M)
        assert said, err
        return [int(number.replace(",", "")) for number in said.groups()]

    def test_what_stacks_cost(self):
        """All paths of 14 calls of two functions, twice: more nodes than there is room for, but each context once."""
        subprocess.run([*compiler(), "-x", "c", f"-DDEPTH={PATHS}", "-O1", "-o", self.path("paths"),
                        self.write("paths.c", PATHS_PROGRAM)], check=True)
        few, paths = self.stacks("true"), self.stacks("./paths")
        assert few[0] == few[1] and few[2] >= 1 and few[3] == 0, few
        assert 2 << PATHS < paths[1] <= paths[0] < 6 << PATHS and paths[0] - paths[1] < 100, paths
        assert paths[2] >= 1 << PATHS and 2 <= paths[3] < 100, paths
        assert "stacks" not in self.run("-f", "-o", "t", "true").err

    def test_nothing_on_stdout(self):
        assert self.run("-v", "-o", "t", "true").out == ""
        assert self.run("-f", "-o", "t", "printf", "a").out == "a"

    # ---- surroundings ----

    def test_closed_descriptors(self):
        for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"):
            done = subprocess.run(["/bin/sh", "-c", f'"{self.build.msrec}" -f -o t sh -c "exit 9" {closed}'],
                                  cwd=self.folder, env=plain_environment(), capture_output=True, timeout=TIMEOUT)
            assert done.returncode == 9, f"{closed}: {done.returncode} {done.stderr}"
            assert self.build.stat(self.path("t"))["complete"] == 1, closed

    def test_no_descriptor_reaches_the_program(self):
        r = self.run("-q", "-o", "t", "sh", "-c", "ls /proc/$$/fd")
        assert set(r.out.split()) <= {"0", "1", "2"}, r.out

    def test_paths(self):
        os.mkdir(self.path("bin"))
        shutil.copy("/bin/echo", self.path("bin/mine"))
        for name, env in (("bin/mine", {}), ("./bin/mine", {}), (self.path("bin/mine"), {}),
                          ("mine", {"PATH": "/no:" + self.path("bin") + ":/bin"}), ("mine", {"PATH": "bin:/bin"})):
            r = self.run("-f", "-o", "t", name, "x", env=env)
            assert r.status == 0 and r.out == "x\n", f"{name}: {r.status} {r.err}"
        self.write("bin/second", "x", 0o644)
        self.refused(126, "", "second", env={"PATH": self.path("bin")})

    def test_program_name(self):
        r = self.run("-q", "-o", "t", "sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline", "word")
        assert r.out.startswith("sh -c"), r.out

    def test_environment_of_the_program(self):
        """The program sees the same as without a recorder."""
        def variables(out):
            return sorted(line for line in out.splitlines() if not line.startswith(("_=", "SHLVL=", "PWD=", "OLDPWD=")))
        plain = subprocess.run(["env"], env=plain_environment(A="1"), capture_output=True, text=True).stdout
        assert variables(self.run("-o", "t", "env", env={"A": "1"}).out) == variables(plain)
        inner = self.run("-f", "-o", "t", "sh", "-c", "env", env={"A": "1"}).out
        assert variables(inner) == variables(plain), inner

    def sanitized(self):
        """A sanitizer's runtime must come first: nothing can be preloaded into msrec then. It needs /proc, too."""
        with open(self.build.msrec, "rb") as f:
            return "msrec is built with a sanitizer" if b"__asan_version" in f.read() else None

    def test_own_preload_is_kept(self):
        if self.sanitized():
            return self.sanitized()
        libm = glob.glob("/lib/*/libm.so.6")[0]
        r = self.run("-o", "t", "sh", "-c", "cat /proc/$$/maps; env", env={"LD_PRELOAD": libm})
        assert f"LD_PRELOAD={libm}\n" in r.out and "libm.so.6" in r.out
        assert self.build.stat(self.path("t"))["malloc"] > 0

    def test_preloaded_sanitizers(self):
        """Their runtimes want to come first. Stand-ins do."""
        if self.sanitized():
            return self.sanitized()
        for name, words in (("libasan.so.8", "AddressS"), ("libtsan.so.2", "ThreadS"),
                            ("libclang_rt.asan-x86_64.so", "AddressS")):
            shutil.copy(glob.glob("/lib/*/libm.so.6")[0], self.path(name))
            self.refused(125, f"true would run with {words}anitizer .LD_PRELOAD.", "true",
                         env={"LD_PRELOAD": self.path(name)})

    def test_other_proc(self):
        """The recorder opens its memory below /proc, which may be missing or belong to another PID namespace."""
        if not ROOT or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            return "needs a mount namespace"
        if self.sanitized():
            return self.sanitized()
        for start, words in ((["-m", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"], "/proc is not mounted"),
                             (["-p", "-f"], "/proc is that of other processes")):
            done = subprocess.run(["unshare", *start, self.build.msrec, "-o", "t", "true"], cwd=self.folder,
                                  env=plain_environment(), capture_output=True, timeout=TIMEOUT)
            r = Result(done, self.folder)
            assert r.status == 125 and re.match(f"msrec: {words}", r.err) and not r.files, (r.status, r.err, r.files)

    def denied(self, *calls):
        """As on a kernel without the calls, or in a container that denies them. The program has a child."""
        done = subprocess.run([self.build.file("tests/tools/deny_calls"), *calls, "--", self.build.msrec, "-o", "t.%p",
                               "perl", "-e", "my @a = (1 .. 1000); if (!fork) { my @b = (1 .. 1000) } wait"],
                              cwd=self.folder, env=plain_environment(), capture_output=True, timeout=TIMEOUT)
        return Result(done, self.folder)

    def test_no_shared_memory(self):
        r = self.denied("memfd_create")
        assert r.status == 125 and re.match(r"msrec: cannot make shared memory: .*memfd_create\)\n$", r.err), r.err
        assert not r.files, r.files

    def test_no_wiped_memory(self):
        """A child of an unusual fork would write into its parent's ring."""
        if self.sanitized():
            return self.sanitized()
        r = self.denied("wipeonfork")
        assert r.status == 0 and re.search(r"perl gets no memory .*MADV_WIPEONFORK\): it is not recorded", r.err), r.err

    def test_path_that_the_loader_splits(self):
        for name in ("a b", "a:b"):
            os.makedirs(self.path(f"{name}/preload"))
            msrec = shutil.copy(self.build.msrec, self.path(name))
            shutil.copy(self.build.file("trace-record/preload/libmsrec.so"), self.path(f"{name}/preload"))
            done = subprocess.run([msrec, "-o", "t", "true"], cwd=self.folder, env=plain_environment(),
                                  capture_output=True, timeout=TIMEOUT)
            assert done.returncode == 125 and done.stderr.startswith(b"msrec: ") and b"blank" in done.stderr, done
            assert not os.path.exists(self.path("t"))

    # ---- children ----

    def test_forked_children(self):
        script = ("import os\nfor i in range(3):\n if os.fork() == 0: x = [bytes(1000 + i)] * 9; os._exit(i)\n"
                  "os.wait()\n")
        r = self.run("-o", "t.%p", "/usr/bin/python3", "-S", "-c", script, env={"PYTHONMALLOC": "malloc"})
        assert len(r.files) == 4, r.files
        r = self.run("-o", "u", "/usr/bin/python3", "-S", "-c", script, env={"PYTHONMALLOC": "malloc"})
        mine = [f for f in r.files if f.startswith("u")]
        assert len(mine) == 4 and "u" in mine and all(re.fullmatch(r"u(\.\d+)?", f) for f in mine), mine

    def test_cut_at_the_fork(self):
        """A child's file without its parent's part: two blocks were inherited, one of them is freed, seven come."""
        def cut(name):
            return subprocess.run([self.build.file("analyze/msconvert"), "-q", "--to=trace", "--from=fork", "-o",
                                   self.path("cut"), self.path(name)], capture_output=True, text=True)
        r = self.run("-q", "-o", "t", self.build.file("corpus/fork"))
        child = next(f for f in r.files if f.startswith("t."))
        done = cut(child)
        assert done.returncode == 0 and not done.stderr, done.stderr
        stat = self.build.stat(self.path("cut"))
        found = [stat[key] for key in ("initial", "initial_blocks", "malloc", "free", "live", "unknown", "lost")]
        assert found == [3500, 2, 7, 1, 3700, 0, 0], stat
        done = cut("t")
        assert done.returncode == 64 and "no forked child did anything in it" in done.stderr, done.stderr

    def test_limited_address_space(self):
        """A program limits its address space: its children and executed programs still get memory for the recorder."""
        script = "ulimit -v 1000000; (sleep 0.1; sleep 0.1; :); exit 3"
        for options, traces in (([], 2), (["--trace-children=yes"], 4)):
            r = self.run("-o", f"{traces}.%n", *options, "/bin/sh", "-c", script)
            assert r.status == 3 and "not recorded" not in r.err, (r.status, r.err)
            assert sum(f.startswith(str(traces)) for f in r.files) >= traces, r.files

    def test_child_that_comes_after_its_parent(self):
        r = self.run("-o", "t.%p", self.build.file("corpus/orphan"))
        assert len(r.files) == 2, r.files
        assert all(self.build.stat(self.path(f))["complete"] == 1 for f in r.files)

    def test_daemon_when_the_time_is_up(self):
        """msrec does not wait for a program that it no longer records."""
        script = ("if (fork) { exit 5 } $0 = 'daemon'; close STDOUT; close STDERR; "
                  "for (1 .. 60) { my @a = map { 'x' x $_ } 1 .. 100; select(undef, undef, undef, 0.1) }")
        begin = time.monotonic()
        r = self.run("--duration=1", "-o", "t.%n", "perl", "-e", script)
        took = time.monotonic() - begin
        assert r.status == 5 and "recording has ended, the program goes on" in r.err, r.err
        assert 1 <= took < 4, f"took {took:.1f} s"
        assert [self.build.stat(self.path(f))["reason"] for f in r.files] == ["exit", "detached"], r.files

    def test_executed_children(self):
        script = "env >child; env >again; true"
        r = self.run("-o", "t.%p", "sh", "-c", script)
        with open(self.path("child")) as f:
            text = f.read()
        assert "LD_PRELOAD" not in text and "MSREC" not in text, text
        no = len([f for f in r.files if f.startswith("t.")])
        r = self.run("--trace-children=yes", "-o", "u.%n", "sh", "-c", script)
        yes = [f for f in r.files if f.startswith("u.")]
        assert len(yes) > no, (no, yes)
        for f in yes:
            assert self.build.stat(self.path(f))["complete"] == 1, f

    def test_programs_whose_files_cannot_be_made(self):
        os.mkdir(self.path("out"))
        script = "rm -rf out; /bin/ls >/dev/null; exec /bin/true"
        r = self.run("-q", "--trace-children=yes", "-o", "out/t.%p", "sh", "-c", script)
        lines = [re.fullmatch(r"msrec: process (\d+) is not recorded: out/t\.\1: No such file or directory", line)
                for line in r.err.splitlines()]
        assert r.status == 0 and len(lines) >= 2 and all(lines), r.err
        assert len({line.group(1) for line in lines}) >= 2, r.err

    def test_names_of_executed_children(self):
        r = self.run("--trace-children=yes", "-o", "%e.%n", "sh", "-c", "sleep 0.3; sleep 0.3; true")
        names = {f.rsplit(".", 1)[0] for f in r.files}
        assert any("sleep" in n for n in names) and len(names) == 2, r.files

    def command_of(self, trace):
        """The program's file and its words, as the trace has them."""
        dump = subprocess.run([self.build.file("tests/tools/tracedump"), trace], cwd=self.folder, capture_output=True,
                              text=True, check=True).stdout
        exe = re.search(r"^exe (.*)$", dump, re.M).group(1)
        return [os.path.basename(exe), *re.findall(r"^arg (.*)$", dump, re.M)]

    def test_commands_of_other_programs(self):
        """Traces of executed programs and of their children have their own command."""
        self.run("--trace-children=yes", "-o", "t.%n", "env", "sleep", "0.1")
        assert self.command_of("t.1") == ["env", "env", "sleep", "0.1"], self.command_of("t.1")
        assert self.command_of("t.2") == ["sleep", "sleep", "0.1"], self.command_of("t.2")
        script = "if (fork() == 0) { my @a = (1 .. 1000); exit } wait; select(undef, undef, undef, 0.1)"
        r = self.run("--trace-children=yes", "-o", "u.%e.%n", "env", "perl", "-e", script, "word")
        perls = [f for f in r.files if f.startswith("u.perl")]
        assert len(perls) == 2, r.files
        for name in perls:
            command = self.command_of(name)
            assert len(command) == 5 and command[0] == command[1] == "perl" and command[-1] == "word", command

    def run_unwatched(self, seconds, *words):
        """Runs a program that prints "ready" and waits for a line; stops msrec while the program goes on. Returns
        msrec's status and messages."""
        p = subprocess.Popen([self.build.msrec, "--trace-children=yes", "-o", "%e.%n", *words], cwd=self.folder,
                             env=plain_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        assert p.stdout.readline() == b"ready\n"
        p.send_signal(signal.SIGSTOP)
        p.stdin.write(b"go\n")
        p.stdin.flush()
        time.sleep(seconds)
        p.send_signal(signal.SIGCONT)
        err = p.communicate(timeout=TIMEOUT)[1]
        return p.returncode, err

    def test_program_that_is_replaced_before_it_is_met(self):
        """Its trace has its own name and arguments, not those of the program after it."""
        status, err = self.run_unwatched(0.3, "sh", "-c", "echo ready; read word; exec env -u word sleep 0.3")
        names = {os.path.splitext(f)[0]: f for f in os.listdir(self.folder)}
        assert status == 0 and "env" in names and "sleep" in names, (names, err)
        command = ["env", "env", "-u", "word", "sleep", "0.3"]
        assert self.command_of(names["env"]) == command, self.command_of(names["env"])
        assert self.command_of(names["sleep"]) == ["sleep", "sleep", "0.3"], self.command_of(names["sleep"])

    def test_programs_that_are_met_before_those_that_executed_them(self):
        """So many children at once that most have executed another program before msrec meets them."""
        script = ("$| = 1; print \"ready\\n\"; <STDIN>; "
                  "for (1 .. 40) { if (!fork) { my @a = (1 .. 1000); exec 'sleep', '0.3' } } 1 while wait > 0")
        status, err = self.run_unwatched(0.3, "perl", "-e", script)
        reasons = sorted((f.split(".")[0], self.build.stat(self.path(f))["reason"]) for f in os.listdir(self.folder))
        expected = [("perl", "exec")] * 40 + [("perl", "exit")] + [("sleep", "exit")] * 40
        assert status == 0 and reasons == expected, (reasons, err)

    def test_execed_program(self):
        r = self.run("-o", "t", "sh", "-c", "exec sh -c 'exit 3'")
        assert r.status == 3 and "executed another" in r.err, r.err
        assert self.build.stat(self.path("t"))["reason"] == "exec"
        r = self.run("--trace-children=yes", "-o", "u.%n", "sh", "-c", "exec sh -c 'exit 3'")
        reasons = [self.build.stat(self.path(f))["reason"] for f in r.files if f.startswith("u.")]
        assert r.status == 3 and sorted(reasons) == ["exec", "exit"], reasons
        assert "executed another" in r.err and "--trace-children" not in r.err, r.err

    def test_within_itself(self):
        if self.sanitized():
            return self.sanitized()
        r = self.run("-q", "-o", "outer", self.build.msrec, "-q", "-o", "inner", "sh", "-c", "exit 6")
        assert r.status == 6, f"{r.status} {r.err}"
        assert {"outer", "inner"} <= set(r.files), r.files
        for name in ("outer", "inner"):
            assert self.build.stat(self.path(name))["complete"] == 1, name

    # ---- signals ----

    def start(self, *words, **more):
        return subprocess.Popen([self.build.msrec, *words], cwd=self.folder, env=plain_environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def test_forwarded_signals(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            p = self.start("-f", "-o", "t", "sh", "-c",
                           f"trap 'exit 11' {int(number)}; echo ready; while :; do sleep 0.05; done")
            assert p.stdout.readline() == b"ready\n"
            p.send_signal(number)
            p.communicate(timeout=TIMEOUT)
            assert p.returncode == 11, f"{number}: {p.returncode}"
        p = self.start("-f", "-o", "t", "sh", "-c", "echo ready; exec sleep 60")
        p.stdout.readline()
        p.terminate()
        p.communicate(timeout=TIMEOUT)
        assert p.returncode == -signal.SIGTERM, p.returncode

    def in_terminal(self, script):
        """msrec in a terminal of its own, Ctrl-C pressed when it says ready; its status as waitpid has it."""
        pid, terminal = os.forkpty()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(self.build.msrec, ["msrec", "-f", "-o", "t", "sh", "-c", script], plain_environment())
        seen = b""
        while b"ready" not in seen and select.select([terminal], [], [], TIMEOUT)[0]:
            seen += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                os.close(terminal)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise AssertionError("does not end after Ctrl-C")

    def test_ctrl_c(self):
        try:
            for end in os.openpty():
                os.close(end)
        except OSError as e:
            return f"no pseudo-terminals here ({e})"
        assert self.in_terminal("echo ready; exec sleep 60") == -signal.SIGINT
        assert self.build.stat(self.path("t"))["complete"] == 1
        assert self.in_terminal("trap 'exit 12' INT; echo ready; while :; do sleep 0.05; done") == 12
        assert self.build.stat(self.path("t"))["detail"] == 12

    def test_ignored_signals_stay_ignored(self):
        done = subprocess.run(["/bin/sh", "-c", f'trap "" HUP INT; "{self.build.msrec}" -q -o t '
                               'sh -c "grep SigIgn /proc/\\$\\$/status"; :'], cwd=self.folder, env=plain_environment(),
                              capture_output=True, text=True, timeout=TIMEOUT)
        alone = subprocess.run(["/bin/sh", "-c", 'trap "" HUP INT; sh -c "grep SigIgn /proc/\\$\\$/status"; :'],
                               env=plain_environment(), capture_output=True, text=True, timeout=TIMEOUT)
        assert done.stdout == alone.stdout, f"{done.stdout} instead of {alone.stdout}"

    # ---- the library ----

    def test_exported_names(self):
        out = subprocess.run(["nm", "-D", "--defined-only", self.build.preload], capture_output=True, text=True,
                             check=True).stdout
        names = {line.split()[-1].split("@")[0] for line in out.splitlines()}
        c = {"malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "free_sized", "free_aligned_sized",
             "memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc"}
        others = {"mmap", "mmap64", "mremap", "munmap", "mlockall", "setrlimit", "setrlimit64", "prlimit",
                  "prlimit64", "dlclose", "fork", "_Fork", "__register_atfork", "_exit", "_Exit",
                  "execve", "execv", "execvp", "execvpe", "execl", "execle", "execlp", "fexecve", "execveat",
                  "posix_spawn", "posix_spawnp", "prctl", "pthread_setname_np", "msrec_malloclike", "msrec_freelike",
                  "msrec_resizeinplace", "msrec_mark", "msrec_span_begin", "msrec_span_end", "msrec_on", "msrec_off",
                  "msrec_first"}
        tables = {"__register_frame" + how for how in ("", "_table", "_info", "_info_bases", "_info_table",
                                                       "_info_table_bases")}
        tables |= {"__deregister_frame" + how for how in ("", "_info", "_info_bases")}
        operators = {n for n in names if re.match(r"_Z(n|d)[wal]", n)}
        assert names == c | others | tables | operators, names ^ (c | others | tables | operators)
        assert len(operators) == 20, sorted(operators)

    def test_needed_libraries(self):
        out = subprocess.run(["readelf", "-d", self.build.preload], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"NEEDED.*\[(.*)\]", out)
        allowed = {"libc.so.6", "ld-linux-x86-64.so.2"}
        if tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) < (2, 34):
            allowed |= {"libdl.so.2", "libpthread.so.0"}
        assert set(needed) <= allowed, needed


def main():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)    # nohup leaves it ignored, and then no shell can catch it
    return run_in_folders(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
