#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with an allocator linked into them: recorded by patches of its functions' first instructions. What the
traces say is compared with the account that the programs keep themselves, stack by stack.

  linked.py --build DIR [--only WORD]
"""

import collections
import csv
import glob
import io
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
from harness import by_process, compiler, plain_environment, run_in_folders, until    # noqa: E402

TIMEOUT = 120

# A small allocator whose functions call each other: what one of them asks of another is no call of the program.
SMALL = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#define NOINLINE __attribute__((noinline, noclone, VISIBILITY))
static char *pool;
static size_t used;
NOINLINE void *@memalign(size_t align, size_t n)
{
	size_t *p;
	if (!pool)
		pool = mmap(NULL, 4ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (;;) {
		size_t before = __atomic_load_n(&used, __ATOMIC_RELAXED), start = (before + 16 + align - 1) / align * align;
		if (!__atomic_compare_exchange_n(&used, &before, start + n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		p = (size_t *)(pool + start);
		p[-1] = n;
		return p;
	}
}
NOINLINE void *@malloc(size_t n) { void *volatile p = @memalign(16, n); return p; }
NOINLINE void @free(void *p) { if (p) ((size_t *)p)[-2] = 1; }
NOINLINE void *@calloc(size_t n, size_t size) { void *p = @malloc(n * size); return p ? memset(p, 0, n * size) : p; }
NOINLINE void *@realloc(void *old, size_t n)
{
	void *p = @malloc(n);
	size_t before = old ? ((size_t *)old)[-1] : 0;
	if (old)
		memcpy(p, old, before < n ? before : n);
	@free(old);
	return p;
}
NOINLINE void *@aligned_alloc(size_t align, size_t n) { void *volatile p = @memalign(align, n); return p; }
NOINLINE int @posix_memalign(void **p, size_t align, size_t n) { *p = @memalign(align, n); return 0; }
"""


def small_allocator(prefix="", visibility="default"):
    return SMALL.replace("@", prefix).replace("VISIBILITY", f'visibility("{visibility}")')


# Operators that put a header in front of their blocks, and others that do not.
OPERATORS = r"""
#include <cstdio>
#include <cstdlib>
#include <new>
static unsigned long news, deletes;
extern "C" void *malloc(size_t);
void *operator new(size_t n) { news++; char *p = static_cast<char *>(malloc(n + HEADER)); return p + HEADER; }
void operator delete(void *p) noexcept { deletes++; free(static_cast<char *>(p) - HEADER); }
void operator delete(void *p, size_t) noexcept { deletes++; free(static_cast<char *>(p) - HEADER); }
int main()
{
	for (int i = 0; i < 100; i++) {
		int *volatile p = new int(i);
		if (i % 4)
			delete p;
	}
	std::printf("%lu %lu\n", news, deletes);
}
"""

THROWING = r"""
#include <cstdio>
#include <cstdint>
#include <new>
int main()
{
	int caught = 0;
	for (int i = 0; i < 50; i++) {
		try {
			char *volatile p = new char[SIZE_MAX / 2 - 64];
			delete[] p;
		} catch (const std::bad_alloc &) {
			caught++;
		}
		char *volatile q = new (std::nothrow) char[SIZE_MAX / 2 - 64];
		if (!q)
			caught++;
	}
	std::printf("%d\n", caught);
}
"""

# Each function of the family that is named here cannot be patched for another reason.
REFUSED = {
    "it is shorter than a jump": "ret; .byte 0x55; .byte 0xc3",
    "it begins with an unusual call": "call *%rax; ret; nop; nop; nop",
    "it begins with an unusual branch": "jrcxz helper; ret; nop; nop; nop",
    "code jumps to its first instructions": "xor %eax, %eax; 1: dec %edi; jns 1b; ret; nop; nop; nop",
    "code jumps into its functions": "push %rbx; inner: push %rbp; xor %eax, %eax; pop %rbp; pop %rbx; ret",
}
REFUSED_SOURCE = r"""
#include <stddef.h>
#include <stdio.h>
__asm__(".text; .balign 16; .globl malloc; .type malloc, @function; malloc: CODE; .size malloc, . - malloc; .balign 16;"
	".type helper, @function; helper: xor %eax, %eax; ret; .skip 200; jmp inner; ret");
#ifndef INNER
__asm__(".globl inner; inner: ret");
#endif
static volatile int frees;
void free(void *p) { frees += p != NULL; }
int main(void) { return 0; }
"""


class Tests:
    def __init__(self, build):
        self.build, self.folder = build, None

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, sources, *options, cxx=False):
        """The program, of files or texts."""
        files = []
        for i, source in enumerate(sources):
            if "\n" in source:
                files.append(self.path(f"{name}{i}.{'cpp' if cxx else 'c'}"))
                with open(files[-1], "w", encoding="utf-8") as f:
                    f.write(source)
            else:
                files.append(source)
        subprocess.run([*compiler(cxx=cxx), "-O1", "-g", "-D_GNU_SOURCE", "-fno-builtin", "-pthread", *files, "-o",
                        self.path(name), *options], check=True)
        return self.path(name)

    def program(self, name, archive=None, *options, whole=True):
        """linked_program.c with a static library; None if that is not installed."""
        source = os.path.join(HERE, "linked_program.c")
        found = glob.glob(f"/usr/lib/*/{archive}") if archive else []
        if archive and not found:
            return None
        linked = ["-Wl,--whole-archive", *found[:1], "-Wl,--no-whole-archive"] if whole else found[:1]
        return self.compile(name, [source], *options, *linked, "-lstdc++", "-lm", "-ldl")

    def record(self, *command, options=(), status=0, env=None):
        for trace in glob.glob(self.path("t.*")):
            os.remove(trace)
        done = subprocess.run([self.build.msrec, "-o", self.path("t.%p"), *options, *command], capture_output=True,
                              text=True, timeout=TIMEOUT, env=plain_environment(**(env or {})), cwd=self.folder)
        assert done.returncode == status, (done.returncode, done.stderr)
        self.err = done.stderr
        return done.stdout

    def traces(self):
        return by_process(glob.glob(self.path("t.*")))

    def table(self, trace, name):
        done = subprocess.run([self.build / "analyze/msconvert", "-q", f"--to=csv-{name}", trace], capture_output=True,
                              text=True, check=True)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def functions(self, program):
        """Of the account: (start, end) by start."""
        out = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
        rows = [re.match(r"([0-9a-f]+) ([0-9a-f]+) [tT] (by_\w+)$", line) for line in out.splitlines()]
        return {int(m[1], 16): int(m[1], 16) + int(m[2], 16) for m in rows if m}

    def stacks(self, trace, program):
        """Of the calls that the program's own functions make: calls and bytes by the frames in the program, whose
        innermost stands for its function."""
        functions = self.functions(program)
        frames = {row["frame"]: int(row["address"], 16) if row["address"] and os.path.basename(row["module"]) ==
                  os.path.basename(program) else None for row in self.table(trace, "frames") if row["call"] == "0"}
        paths, sums = {"0": ()}, collections.Counter()
        for row in self.table(trace, "stacks"):
            if row["stack"] != "0":
                paths[row["stack"]] = (frames[row["frame"]],) + paths[row["parent"]]
            path = paths[row["stack"]]
            start = next((s for s, e in functions.items() if path and path[0] is not None and s <= path[0] < e), None)
            if start is not None and int(row["alloc_objects"]):
                key = (start, *(a for a in path[1:] if a is not None))
                sums[key, "calls"] += int(row["alloc_objects"])
                sums[key, "bytes"] += int(row["alloc_bytes"])
        return dict(sums)

    @staticmethod
    def account(out, most):
        """What the program says: its stacks as stacks() has them, and its counts. Addresses below `most` are in it."""
        sums, counts, live = collections.Counter(), {}, None
        for line in out.splitlines():
            words = line.split()
            if words[0] == "stack":
                pcs = [int(word, 16) for word in words[3:]]
                key = (pcs[0], *(pc - 1 for pc in pcs[1:] if pc < most))
                sums[key, "calls"] += int(words[1])
                sums[key, "bytes"] += int(words[2])
            elif words[0] == "count":
                counts[words[1]] = int(words[2])
            else:
                live = [int(word) for word in words[1:]]
        return dict(sums), counts, live

    def compare(self, program, *arguments, options=(), process=0, exact=True):
        """`exact`: the trace has no other calls than the account."""
        out = self.record(program, *arguments, options=options)
        trace = self.traces()[process]
        stats = self.build.stat(trace)
        most = 1 << 40      # libraries are further from the program, whatever its own base is
        stacks, counts, live = self.account(out, most)
        found = self.stacks(trace, program)
        wrong = [(key, n, found.get(key)) for key, n in stacks.items() if found.get(key) != n]
        assert not wrong, (len(wrong), len(stacks), wrong[:3], list(found)[:4])
        assert set(found) == set(stacks), [key for key in found if key not in stacks][:3]
        assert stats["lost"] == stats["implied"] == stats["failed"] == 0, stats
        if not exact:
            return stats
        assert stats["unknown"] == 0, stats["unknown"]
        moved = stats["realloc_moved"] + stats["realloc_in_place"]
        assert moved == counts["realloc_block"], (moved, counts)
        # libc takes a thread's own memory by calloc.
        assert 0 <= stats["calloc"] - counts["calloc"] <= 2, (stats["calloc"], counts["calloc"])
        for key in ("realloc", "aligned_alloc", "posix_memalign"):
            assert stats[key] == counts.get(key, 0), (key, stats[key], counts)
        return stats, counts, live

    def compare_exactly(self, program, *arguments, **how):
        """libc's own calls, such as for a thread's stack, are in the trace, too."""
        stats, counts, live = self.compare(program, *arguments, **how)
        assert 0 <= stats["malloc"] - counts["malloc"] <= 4, (stats["malloc"], counts["malloc"])
        assert counts["free"] <= stats["free"] <= counts["free"] + 4, (stats["free"], counts["free"])
        assert live[1] <= stats["blocks"] <= live[1] + 4 and live[0] <= stats["live"] <= live[0] + 200000, (live, stats)

    # ---- switching ----

    def test_switched(self):
        """Patched functions ask whether recording is on, but not before they are patched."""
        waiting = small_allocator() + r"""
#include <unistd.h>
int main(void)
{
	char byte;
	while (read(0, &byte, 1) == 1) {
		free(malloc(100));
		if (write(1, &byte, 1) != 1)
			return 1;
	}
	return 0;
}
"""
        program = self.compile("waiting", [waiting])
        self.record("--dormant", program, status=125)
        assert "has an allocator linked into it, and cannot start dormant" in self.err, self.err
        assert not self.traces()
        with subprocess.Popen([self.build.msrec, "-o", self.path("t.%p"), program], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=plain_environment(),
                              cwd=self.folder) as process:
            assert until(lambda: self.switch("on", process.pid))
            for state in ("on", "off", "on"):
                self.switch(state, process.pid)
                process.stdin.write(b"xx")
                process.stdin.flush()
                assert process.stdout.read(2) == b"xx"
            process.stdin.close()
        stats = self.build.stat(self.traces()[0])
        assert process.returncode == 0 and stats["malloc"] == stats["free"] == 4, stats

    def switch(self, state, pid):
        done = subprocess.run([self.build.msrec, state, str(pid)], capture_output=True, text=True, timeout=TIMEOUT,
                              env=plain_environment())
        assert done.returncode == 0 or "is not recorded" in done.stderr, done.stderr
        return done.returncode == 0

    # ---- allocators ----

    def test_jemalloc(self):
        for how in (("-fPIE", "-pie"), ("-fno-pie", "-no-pie")):
            program = self.program("je" + how[1], "libjemalloc_pic.a", "-DJEMALLOC", *how, whole=False)
            if not program:
                return "no static jemalloc"
            self.compare_je(program)
            self.compare_je(program, options=["--usable=yes"])
        return None

    def compare_je(self, program, options=()):
        """jemalloc's thread states take memory by calloc from libc's keys of threads."""
        stats, counts, live = self.compare(program, options=options, exact=True)
        for key in ("malloc", "free"):
            assert 0 <= stats[key] - counts[key] <= 4, (key, stats[key], counts[key])
        assert live[1] <= stats["blocks"] <= live[1] + 4, (live, stats)

    def test_stripped(self):
        """The linker exports the functions that libc has, too; mallocx and its like are unknown then."""
        program = self.program("stripped", "libjemalloc_pic.a", "-s", whole=False)
        if not program:
            return "no static jemalloc"
        self.record(program)
        stats = self.build.stat(self.traces()[0])
        assert stats["malloc"] > 15000 and stats["unknown"] == 0 and "of its own" not in self.err, (stats, self.err)
        return None

    def test_hidden(self):
        """The library's functions are the program's alone, and libc's calls go to libc's malloc."""
        program = self.program("hidden", "libjemalloc_pic.a", "-DJEMALLOC", "-Wl,--exclude-libs,ALL", whole=False)
        if not program:
            return "no static jemalloc"
        self.compare_je(program)
        return None

    def test_tcmalloc(self):
        """Its free and operator delete are one function."""
        program = self.program("tc", "libtcmalloc_minimal.a", "-fno-pie", "-no-pie")
        if not program:
            return "no static tcmalloc"
        stats = self.compare(program, exact=False)
        assert stats["unknown"] <= 2, stats
        return None

    def small(self, name, prefix="", visibility="default"):
        """linked_program.c with the small allocator."""
        return self.compile(name, [small_allocator(prefix, visibility), os.path.join(HERE, "linked_program.c")],
                            *([f"-DPREFIX={prefix}"] if prefix else []))

    def test_small(self):
        for visibility in ("default", "hidden"):
            program = self.small("small_" + visibility, visibility=visibility)
            self.compare_exactly(program)
            self.compare_exactly(program, options=["--stacks=yes", "--free-stacks=yes"])

    def test_sample(self):
        """Blocks leave the sample as they came, whichever functions move and free them."""
        for program in (self.small("sampled"),
                        self.program("sampled_je", "libjemalloc_pic.a", "-DJEMALLOC", whole=False)):
            if not program:
                continue
            live = self.account(self.record(program, options=["--sample=4k"]), 1 << 40)[2]
            stats = self.build.stat(self.traces()[0])
            assert stats["unknown"] == stats["implied"] == stats["lost"] == 0 < stats["blocks"] < 512, stats
            shown = json.loads(subprocess.run([self.build / "analyze/msreport", "--format=json", self.traces()[0]],
                                              capture_output=True, text=True, check=True).stdout)
            assert 0.5 < shown["sections"]["overview"]["end_bytes"] / live[0] < 2, (shown, live)

    def test_prefix(self):
        """A program with two allocators: libc's, and one by names of its own, as in Rust programs."""
        for prefix in ("_rjem_", "mi_"):
            self.compare_exactly(self.small("named" + prefix, prefix, "hidden"))

    # ---- processes ----

    def test_fork(self):
        program = self.small("forking")
        self.compare_exactly(program, "fork", process=1)

    def test_executed(self):
        """By a script whose interpreter it is, and by itself."""
        program = self.small("executed")
        with open(self.path("script"), "w", encoding="utf-8") as f:
            f.write(f"#!{program}\n")
        os.chmod(self.path("script"), 0o755)
        self.record(self.path("script"))
        assert self.build.stat(self.traces()[0])["malloc"] > 10000

    def test_executed_later(self):
        """msrec plans at the process's request."""
        program = self.small("later")
        text = f"{program} >/dev/null; {program} >/dev/null & {program} >/dev/null & wait; {program}"
        out = self.record("sh", "-c", text, options=["--trace-children=yes"])
        traces = [t for t in self.traces() if self.build.stat(t)["calloc"] > 1000]
        assert len(traces) == 4 and "of its own" not in self.err, (len(traces), self.err)
        stacks, counts, _ = self.account(out, 1 << 40)
        assert self.stacks(traces[-1], program) == stacks
        assert all(self.build.stat(t)["aligned_alloc"] == counts["aligned_alloc"] for t in traces)

    # ---- operators ----

    def operators(self, header):
        allocator = self.compile("small.o", [small_allocator()], "-c")
        program = self.compile(f"operators{header}", [OPERATORS, allocator], f"-DHEADER={header}", cxx=True)
        out = self.record(program)
        news, deletes = map(int, out.split())
        return news, deletes, self.build.stat(self.traces()[0])

    def test_operators(self):
        news, deletes, stats = self.operators(0)
        assert stats["new"] == news == 100 and deletes <= stats["free"] <= deletes + 2 and stats["unknown"] == 0, stats
        assert stats["implied"] == 0, stats

    def test_operators_with_headers(self):
        """Their calls of malloc count."""
        news, deletes, stats = self.operators(32)
        assert stats["new"] == 0 and news <= stats["malloc"] + stats["memalign"] <= news + 2, stats
        assert deletes <= stats["free"] <= deletes + 2, stats
        assert stats["unknown"] == stats["implied"] == 0, stats

    def test_exceptions(self):
        """They pass the recorder's frames."""
        library = glob.glob("/usr/lib/*/libtcmalloc_minimal.a")
        if not library:
            return "no static tcmalloc"
        program = self.compile("throwing", [THROWING], "-Wl,--whole-archive", library[0], "-Wl,--no-whole-archive",
                               cxx=True)
        assert self.record(program) == "100\n"
        stats = self.build.stat(self.traces()[0])
        assert stats["failed"] == 100 and stats["lost"] == 0, stats
        return None

    # ---- refusals ----

    def test_refused(self):
        for i, (reason, code) in enumerate(REFUSED.items()):
            inner = ["-DINNER"] if "inner" in code else []
            program = self.compile(f"refused{i}", [REFUSED_SOURCE.replace("CODE", code)], *inner)
            self.record(program, status=125)
            assert reason in self.err and "--engine=valgrind" in self.err, (reason, self.err)


if __name__ == "__main__":
    sys.exit(run_in_folders(__doc__, Tests))
