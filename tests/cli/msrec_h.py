#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec.h in every language, mode of compiling and way of linking: it compiles without a warning, does nothing
without a recorder, and msrec records its requests."""

import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
from harness import Checks, Scratch, arguments, by_process, have, plain_environment    # noqa: E402

INCLUDE = os.path.join(HERE, "../../trace-record/include")
SOURCE = os.path.join(HERE, "requests.c")
LOOP = os.path.join(HERE, "../bench/requests.c")
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wundef", "-Wpointer-arith", "-Werror"]
C = ["gcc", "clang"]
CXX = {"gcc": "g++", "clang": "clang++"}
LANGUAGES = ["-std=c89", "-std=gnu89", "-std=c99", "-std=gnu11", "-std=c17", "-std=gnu2x"]
CXX_LANGUAGES = ["-std=c++98", "-std=c++11", "-std=c++17", "-std=c++20"]
LINKED = ["-fPIE -pie", "-fno-pie -no-pie", "-fPIE -pie -Wl,-z,lazy", "-fno-pie -no-pie -Wl,-z,lazy",
          "-fPIE -pie -Wl,-z,now", "-fno-pie -no-pie -Wl,-z,now", "-flto", "-fno-plt", "-masm=intel", "-fcf-protection",
          "-mcmodel=large -fno-pie -no-pie", "-fuse-ld=gold -no-pie", "-fuse-ld=gold -pie -fPIE",
          "-fuse-ld=lld -no-pie", "-fuse-ld=lld -pie -fPIE", "-fvisibility=hidden -rdynamic", "-fsanitize=undefined"]
STATIC = ["-static -fno-pie", "-static-pie -fPIE"]
RECORDED = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
MACHINES = [*RECORDED, "i686-linux-gnu", "x86_64-linux-gnux32", "riscv64-linux-gnu",
            "x86_64-apple-darwin", "x86_64-pc-windows-msvc"]
SNIPPET = """#define MSREC_VALGRIND_NAMES
#include "msrec.h"
int f(char *p, unsigned long n);
int f(char *p, unsigned long n)
{
	if (RUNNING_ON_VALGRIND)
		VALGRIND_MALLOCLIKE_BLOCK(p, n, 0, 0);
	else
		VALGRIND_RESIZEINPLACE_BLOCK(p, n, n + 1, 0);
	VALGRIND_FREELIKE_BLOCK(p, 0);
	msrec_mark("worked");
	msrec_span_begin("works");
	msrec_span_end();
	return MSREC_RECORDING;
}
"""
LIBRARIES = ["-fPIC -shared", "-fPIC -shared -Wl,-z,now", "-fPIC -shared -Wl,-Bsymbolic -O2", "-fPIC -shared -flto"]
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os"]

# The known answer: kinds of blocks by operation, calls, and the functions that the blocks are charged to.
MALLOCLIKE, RESIZEINPLACE = 15, 16
TREE = re.compile(r"n\d+: (\d+) 0x[0-9A-F]+: (give_out|resize)\b.*\((?:\S*/)?requests\.c:(\d+)\)")


def line_of(text):
    with open(SOURCE, encoding="ascii") as source:
        return next(i for i, line in enumerate(source, 1) if text in line)


class Tests:
    def __init__(self, build, folder):
        self.build, self.folder, self.check, self.skipped = build, folder, Checks(), []
        self.dump, self.msreplay = build.file("tests/tools/tracedump"), build.file("analyze/msreplay")
        self.lines = {str(line_of("MSREC_MALLOCLIKE(block")), str(line_of("MSREC_RESIZEINPLACE(block"))}

    def compile(self, compiler, flags, out, *more):
        command = [compiler, *WARNINGS, *flags.split(), "-g", "-I", INCLUDE, "-x", "c++" if "++" in compiler else "c",
                   SOURCE, "-o", out, *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr.strip()

    def linked(self, compiler, flags, out, *more):
        """True when built; a mode that this compiler or linker hasn't is skipped, a warning is not."""
        status, said = self.compile(compiler, flags, out, "-pthread", *more)
        if status == 0:
            return True
        # clang before 14 reads the header's AT&T syntax as Intel's.
        if re.search(r"unrecognized|unknown|invalid linker|cannot find|not supported|error loading plugin", said) or (
                compiler == "clang" and "-masm=intel" in flags and "unexpected token" in said):
            self.skipped.append(f"{compiler} {flags}")
        else:
            self.note(f"{compiler} {flags}", said.splitlines()[0])
        return False

    def note(self, what, problem=None):
        self.check(what, not problem, problem)

    def run(self, *command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env=plain_environment())
        assert done.returncode == 0, f"{command[0]}: status {done.returncode}: {done.stderr}"
        return done.stdout

    def record(self, *command):
        """What the program printed, and its traces as text, the first process's first."""
        for old in glob.glob(os.path.join(self.folder, "t.*")):
            os.unlink(old)
        out = self.run(self.build.msrec, "-q", "-o", "t.%p", *command)
        traces = by_process(glob.glob(os.path.join(self.folder, "t.*")))
        return out, [(trace, self.run(self.dump, trace)) for trace in traces]

    @staticmethod
    def calls(text):
        """Numbers of custom allocations and frees, by operation."""
        ops = dict(map(int, pair) for pair in re.findall(r"^kind (\d+) op=(\d+)", text, re.M))
        count = {}
        for name, kind, old in re.findall(r"^(alloc|free) kind=(\S+) .*?old=(\S+)", text, re.M):
            op = ops.get(int(kind if name == "alloc" else old), 0)
            count[name, op] = count.get((name, op), 0) + 1
        return {key: n for key, n in count.items() if key[1] in (MALLOCLIKE, RESIZEINPLACE)}

    def check_work(self, what, *command):
        try:
            assert self.run(*command) == "0\n", "has an effect, or reports one, without a recorder"
            out, [(trace, text)] = self.record(*command)
            assert out == "1\n", f"doesn't know that it is recorded: {out!r}"
            expected = {("alloc", MALLOCLIKE): 3, ("alloc", RESIZEINPLACE): 1, ("free", MALLOCLIKE): 3,
                        ("free", RESIZEINPLACE): 1}
            assert self.calls(text) == expected, f"recorded {self.calls(text)}"
            marks = re.findall(r"^mark .* thread=\d+ (.*)", text, re.M)
            assert marks == ["worked", "span:works", "/span"], f"has marks {marks}"
            replayed = self.run(self.msreplay, "--time-unit=B", "--threshold=0", "--detailed-freq=1",
                                "--massif-out-file=-", trace)
            places = {place[1:] for place in TREE.findall(replayed)}
            assert {f for f, _ in places} == {"give_out", "resize"}, f"shown in {places}"
            assert {line for _, line in places} == self.lines, f"shown in {places}, not {self.lines}"
            self.note(what)
        except (AssertionError, ValueError, subprocess.SubprocessError) as problem:
            self.note(what, problem)

    # ---- the ways ----

    def languages(self):
        for compiler in filter(have, C):
            for tool, languages in ((compiler, LANGUAGES), (CXX[compiler], CXX_LANGUAGES)):
                for language in languages if have(tool) else []:
                    for off in ("", "-DNMSREC", "-U__linux__"):
                        status, said = self.compile(tool, f"{language} {off} -D_GNU_SOURCE -O1", "/dev/null", "-c")
                        self.note(f"{tool} {language} {off}", said.splitlines()[0] if status else None)

    def machines(self):
        for machine in MACHINES if have("clang") else []:
            for language in ("c", "c++"):
                done = subprocess.run(["clang", f"--target={machine}", "-ffreestanding", "-nostdinc++", *WARNINGS,
                                       "-O2", "-I", INCLUDE,
                                       "-x", language, "-", "-S", "-o", "-"], input=SNIPPET, capture_output=True,
                                      text=True, timeout=60)
                right = done.returncode == 0 and ("msrec_" in done.stdout) == (machine in RECORDED)
                self.note(f"{machine} {language}",
                          None if right else f"{done.stderr.strip() or 'requests where none can be'}")

    def links(self):
        out = os.path.join(self.folder, "program")
        for compiler in filter(have, C):
            for flags in LINKED:
                if self.linked(compiler, flags + " -O2 -D_GNU_SOURCE", out, "-ldl"):
                    self.check_work(f"{compiler} {flags}", out)
            for flags in LEVELS:
                for tool in (compiler, CXX[compiler]):
                    if have(tool) and self.linked(tool, flags + " -D_GNU_SOURCE", out, "-ldl"):
                        self.check_work(f"{tool} {flags}", out)
            for flags in STATIC:
                if self.linked(compiler, flags + " -O2 -DSTATIC", out):
                    self.note(f"{compiler} {flags}", None if self.run(out) == "0\n" else "not quiet")
            if self.linked(compiler, "-O2 -D_GNU_SOURCE -DNMSREC", out, "-ldl"):
                text = self.record(out)[1][0][1]
                self.note(f"{compiler} -DNMSREC", f"recorded {self.calls(text)}" if self.calls(text) else None)

    def libraries(self):
        program, library = (os.path.join(self.folder, name) for name in ("program", "library.so"))
        for compiler in filter(have, C):
            for mode in ("-fPIE -pie", "-fno-pie -no-pie"):
                for flags in LIBRARIES:
                    if (self.linked(compiler, mode + " -O1 -D_GNU_SOURCE", program, "-ldl") and
                            self.linked(compiler, flags + " -D_GNU_SOURCE", library, "-ldl")):
                        self.check_work(f"{compiler} {mode}, {flags}", program, "dl", library)

    def processes(self):
        out = os.path.join(self.folder, "program")
        compiler = next(filter(have, C))
        assert self.linked(compiler, "-O2 -D_GNU_SOURCE", out, "-ldl")
        self.check_work(compiler, out)
        _, [(_, text)] = self.record(out, "threads")
        end = re.search(r"^end .*lost=(\d+) unknown=(\d+) implied=(\d+)", text, re.M).groups()
        right = self.calls(text) == {("alloc", MALLOCLIKE): 20000, ("free", MALLOCLIKE): 20000}
        self.note("threads", None if right and end == ("0", "0", "0") else f"{self.calls(text)}, {end}")
        _, traces = self.record(out, "fork")
        counts = [self.calls(text) for _, text in traces]
        right = counts == [{("alloc", MALLOCLIKE): 200}, {("alloc", MALLOCLIKE): 200, ("free", MALLOCLIKE): 100}]
        self.note("fork", None if right else f"{counts}")

    def cost(self):
        """Instructions of a request without a recorder: those of a program with requests, less those without."""
        compiler = next(filter(have, C))
        if not have("valgrind"):
            return
        count = {}
        for name, flags in (("with", []), ("without", ["-DNMSREC"])):
            program = os.path.join(self.folder, name)
            subprocess.run([compiler, "-O2", "-I", INCLUDE, *flags, LOOP, "-o", program], check=True)
            for pairs in (1000, 101000):
                done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program,
                                       str(pairs)], capture_output=True, text=True, timeout=60, check=True)
                count[name, pairs] = int(re.search(r"Collected : (\d+)", done.stderr).group(1))
        loops = {name: count[name, 101000] - count[name, 1000] for name in ("with", "without")}
        each = (loops["with"] - loops["without"]) / 200000
        version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout
        most = 5.1 if (compiler, version.split(".")[0].strip()) == ("gcc", "10") else 4.5
        self.note("cost", None if 2 <= each <= most else f"{each} instructions")
        runs = {"with": [], "without": []}
        for _ in range(5):
            for name, times in runs.items():
                times.append(float(self.run(os.path.join(self.folder, name), "20000000").strip()[8:]))
        print(f"not recorded: {each:.1f} instructions a request; half a turn of a loop of two takes "
              f"{min(runs['with']):.2f} ns, without requests {min(runs['without']):.2f} (least of 5)")


def main():
    args = arguments(__doc__, ("--one-way", {
        "action": "store_true", "help": "compiled and linked in one way: what is tested is msrec, not msrec.h"}))
    with Scratch() as folder:
        tests = Tests(args.build, folder)
        tests.processes()
        for ways in () if args.one_way else (tests.languages, tests.machines, tests.links, tests.libraries, tests.cost):
            ways()
        if tests.skipped:
            print(f"not here: {', '.join(tests.skipped)}")
        return tests.check.status()


if __name__ == "__main__":
    sys.exit(main())
