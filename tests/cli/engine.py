#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exit statuses of msrec --engine=valgrind, and programs that end in different ways."""

import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Checks, Scratch, arguments, compiler, skip, until    # noqa: E402

TIMEOUT_S = 60
check = Checks()


class Engine:
    def __init__(self, build, folder):
        self.build, self.folder, self.runs = build, folder, 0

    def run(self, *words, msrec=None, env=None):
        """(exit status, standard error, traces) of msrec --engine=valgrind WORDS."""
        self.runs += 1
        out = os.path.join(self.folder, str(self.runs))
        os.mkdir(out)
        done = subprocess.run([msrec or self.build.msrec, "--engine=valgrind", "-o", out + "/t.%p", *words],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT_S, env=env)
        return done.returncode, done.stderr, sorted(os.path.join(out, name) for name in os.listdir(out))

    def ends(self, traces):
        return [self.build.stat(trace) for trace in traces]


def refusals(e):
    status, said, traces = e.run("/nonexistent/program")
    check("not found: 127, one line", status == 127 and said.count("\n") == 1 and not traces, said)
    path = os.path.join(e.folder, "plain")
    with open(path, "w", encoding="ascii") as f:
        f.write("no program\n")
    status, said, traces = e.run(path)
    check("not executable: 126, one line", status == 126 and said.count("\n") == 1 and not traces, said)
    for option in ("--sample=64k", "--timer=5", "--mmap=yes", "--duration=3"):
        status, said, traces = e.run(option, "/bin/true")
        check("%s: 125, one line" % option, status == 125 and said.count("\n") == 1 and not traces, said)
    source = os.path.join(e.folder, "static.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("int main(void) { return 3; }\n")
    if subprocess.run([*compiler(), "-static", "-o", path, source], capture_output=True).returncode == 0:
        status, said, traces = e.run(path)
        check("static: a warning", status == 3 and "cannot replace its malloc" in said and len(traces) == 1, said)
    # A msrec without the tool beside it.
    alone = os.path.join(e.folder, "msrec")
    shutil.copy(e.build.msrec, alone)
    status, said, traces = e.run("/bin/true", msrec=alone)
    check("no tool: 125, one line", status == 125 and said.count("\n") == 1 and "--engine=valgrind" in said, said)


def ends(e):
    status, said, traces = e.run("/bin/sh", "-c", "exit 7")
    check("exit status", status == 7 and len(traces) == 1, said)
    status, said, traces = e.run("/bin/sh", "-c", "kill -TERM $$")
    check("killed by SIGTERM", status == -signal.SIGTERM and len(traces) == 1, "%d %s" % (status, said))
    status, said, traces = e.run("/bin/sh", "-c", "kill -KILL $$")
    check("killed by SIGKILL", status == -signal.SIGKILL and len(traces) == 1, "%d %s" % (status, said))
    check("events before SIGKILL", e.ends(traces)[0]["events"] > 10)
    status, said, traces = e.run("--instructions=exact", "/bin/sh", "-c", "(a=b; exec /bin/echo); exit 3")
    check("a child that executes ends with that", status == 3 and "executed another one" in said, said)
    status, said, traces = e.run("--trace-children=yes", "/bin/sh", "-c", "/bin/true; exit 3")
    check("executed programs have files of their own", status == 3 and len(traces) >= 2, said)


def named_like_an_option(e):
    folder = os.path.join(e.folder, "programs")
    os.mkdir(folder)
    shutil.copy("/bin/true", os.path.join(folder, "--help"))
    path = os.pathsep.join([os.environ["PATH"], folder])
    status, said, traces = e.run("--", "--help", env={**os.environ, "PATH": path})
    check("a program named like an option", status == 0 and len(traces) == 1 and e.ends(traces)[0]["events"] > 0,
          said)


def executable(e):
    """The trace marks the program's module, however the program was linked or found; profiles have its name."""
    source, script = os.path.join(e.folder, "one.c"), os.path.join(e.folder, "script")
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(1); return !p; }\n")
    programs = {"-pie": None, "-no-pie": None}
    for how in programs:
        programs[how] = os.path.join(e.folder, "one" + how)
        subprocess.run([*compiler(), how, *(["-fPIE"] if how == "-pie" else []), source, "-o",
                        programs[how]],
                       check=True)
    with open(script, "w", encoding="ascii") as f:
        f.write("#!%s\n" % programs["-pie"])
    os.chmod(script, 0o755)
    linked = os.path.join(e.folder, "linked")
    os.symlink(programs["-pie"], linked)
    for command, program in ((programs["-pie"], programs["-pie"]), (programs["-no-pie"], programs["-no-pie"]),
                             (script, programs["-pie"]), (linked, programs["-pie"])):
        status, said, traces = e.run(command)
        dump = subprocess.run([e.build.file("tests/tools/tracedump"), traces[0]], capture_output=True, text=True,
                              check=True)
        found = [line.split()[2] for line in dump.stdout.splitlines() if line.startswith("module ")
                 and " role=1 " in line]
        check("the executable of " + command, status == 0 and found == [os.path.realpath(program)],
              "%s %s" % (found, said))


def program_outlives_msrec(e):
    """msrec is killed: the program runs on to its end."""
    out = os.path.join(e.folder, "outlived")
    script = "echo > %s.begun; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo done > %s" % (out, out)
    msrec = subprocess.Popen([e.build.msrec, "-q", "--engine=valgrind", "-o", out + ".trace", "/bin/sh", "-c", script])
    check("the program has begun", until(lambda: os.path.exists(out + ".begun")))
    msrec.kill()
    msrec.wait()
    check("the program outlives msrec", until(lambda: os.path.getsize(out), TIMEOUT_S))


def interrupt(e):
    """Ctrl-C reaches both: the program dies of it, and msrec with it."""
    out = os.path.join(e.folder, "interrupted")
    msrec = subprocess.Popen([e.build.msrec, "-q", "--engine=valgrind", "-o", out, "/bin/sh", "-c",
                              "echo ready; read word"], start_new_session=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    msrec.stdout.readline()
    os.killpg(msrec.pid, signal.SIGINT)
    check("Ctrl-C", msrec.wait(TIMEOUT_S) == -signal.SIGINT)
    check("Ctrl-C leaves a whole trace", e.build.stat(out)["lost"] == 0)


def unloaded(e):
    """Closed libraries have no names with --compat=3.19 and have names with --compat=fixed; in a rewritten trace,
    too."""
    corpus = os.path.join(e.build.root, "corpus")
    status, said, traces = e.run(*(os.path.join(corpus, name) for name in ("dl", "libdl_one.so", "libdl_two.so")))
    check("a program with libraries", status == 0 and len(traces) == 1, said)
    rewritten = os.path.join(e.folder, "rewritten")
    subprocess.run([e.build.file("analyze/msconvert"), "-q", "--to=trace", "-o", rewritten, traces[0]], check=True)

    def replayed(trace, *words):
        return subprocess.run([e.build.file("analyze/msreplay"), "-q", "--detailed-freq=1", "--threshold=0", *words,
                               "--massif-out-file=-", trace], capture_output=True, text=True, check=True).stdout
    theirs = replayed(traces[0])
    check("no names of closed libraries", "dl_make" not in theirs and ": ???\n" in theirs)
    check("no names of it in a rewritten trace", replayed(rewritten) == theirs)
    check("its names, rightly", "dl_make (dl_two.c:" in replayed(traces[0], "--compat=fixed"))


REPLACED = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static char data[3 * 4096];
static __attribute__((noinline)) void *take(size_t n) { return malloc(n); }
int main(void)
{
	char *code = (char *)((unsigned long)take & -4096UL), *whole_page = (char *)((unsigned long)(data + 4096) & -4096UL);
	int copy = memfd_create("code", 0);
	if (!take(1) || write(copy, code, 4096) != 4096 || munmap(whole_page, 4096) != 0 || !take(2))
		return 1;
	return mmap(code, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, copy, 0) != code || !take(3);
}
"""


def replaced(e):
    """A program keeps its names after it has unmapped some of its data and replaced its code by a copy."""
    program = os.path.join(e.folder, "replaced")
    subprocess.run(["gcc", "-O0", "-o", program, "-xc", "-"], input=REPLACED, text=True, check=True)
    status, said, traces = e.run(program)
    check("a program that replaces its code", status == 0 and len(traces) == 1, said)
    shown = subprocess.run([e.build.file("analyze/msreplay"), "-q", "--detailed-freq=4", "--threshold=0",
                            "--massif-out-file=-", traces[0]], capture_output=True, text=True, check=True).stdout
    check("its names stay", ": take (in " in shown and "???" not in shown, shown)


def main():
    build = arguments(__doc__).build
    if not build.has("trace-record/valgrind/msrec-amd64-linux"):
        skip("msrec is built without its engine for Valgrind")
    with Scratch() as folder:
        engine = Engine(build, folder)
        for part in (refusals, ends, named_like_an_option, unloaded, replaced, executable, program_outlives_msrec,
                     interrupt):
            part(engine)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
