#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record programs that are linked with musl, and compare with what the same programs do with glibc.

Both builds are run on this machine. The stacks of each allocation, as far as they are the program's own functions, must
be those that glibc's tables give, also through functions of the C library, which has no tables in musl; and the trees
that Massif would write must be equal.

  musl.py --build DIR --musl DIR [--only WORD]

--build is for glibc, --musl for musl, with its test programs. $CC_MUSL is the compiler for musl (musl-gcc).
Exit status: 0 all as it should be, 1 a difference.
"""

import collections
import glob
import os
import re
import shlex
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Build, compiler, plain_environment, run_in_folders    # noqa: E402

TIMEOUT = 60

# Allocates in many ways, and lets the C library do so; main() and the functions named own_... are compared.
WAYS = r"""
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN __attribute__((noinline))

static void *volatile kept;

OWN void *own_leaf(size_t n) { return kept = malloc(n); }

/* Through a frame of the C library that has many registers saved: a callback. */
OWN int own_compare(const void *a, const void *b)
{
	kept = malloc(101);
	return *(const int *)a - *(const int *)b;
}
OWN void own_sort(void)
{
	int numbers[] = { 3, 1, 2, 5, 4, 9, 8, 7 };

	qsort(numbers, 2, sizeof(*numbers), own_compare);
	kept = numbers;
}
OWN int own_find(const void *a, const void *b) { kept = malloc(103); return *(const char *)a - *(const char *)b; }
OWN void own_search(void) { kept = bsearch("c", "c", 1, 1, own_find); }
OWN void own_walk(const void *node, VISIT visit, int depth)
{
	(void)node;
	(void)depth;
	if (visit == leaf)
		kept = malloc(104);
}
OWN int own_order(const void *a, const void *b) { return (a > b) - (a < b); }
OWN void own_tree(void)
{
	void *root = NULL;

	tsearch(&root, &root, own_order);
	twalk(root, own_walk);
}

/* By a pointer that is called last, with frames of different shapes between. */
OWN void own_deep(unsigned n, volatile char *above)
{
	volatile char frame[24 * n + 8];

	frame[0] = 1;
	if (n > 0)
		own_deep(n - 1, frame);
	else
		kept = strdup("deep below frames of variable size");
	frame[1] = above ? above[0] : 0;
}

OWN void own_strings(void)
{
	kept = strdup("one string");
	kept = strndup("another string", 9);
}
static void own_handler(int number) { (void)number; kept = malloc(105); kept = strdup("in a handler"); }
OWN void own_signal(void)
{
	signal(SIGUSR1, own_handler);
	raise(SIGUSR1);
}
static void own_at_exit(void) { kept = malloc(106); kept = strdup("at exit"); }
OWN void *own_thread(void *unused) { (void)unused; own_leaf(107); kept = strdup("in a thread"); return NULL; }
OWN void own_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, own_thread, NULL);
	pthread_join(thread, NULL);
}
OWN void own_jump(void)
{
	static jmp_buf back;

	if (setjmp(back) == 0) {
		own_leaf(108);
		longjmp(back, 1);
	}
	own_leaf(109);
}
OWN void own_all_kinds(void)
{
	void *p = calloc(7, 16);

	p = realloc(p, 120);
	free(p);
	kept = reallocarray(NULL, 3, 40);
	kept = memalign(64, 130);
	kept = aligned_alloc(64, 192);
	if (posix_memalign(&p, 64, 140) == 0)
		kept = p;
	kept = valloc(150);
	free(kept);
	kept = p = malloc(160);
	if (malloc_usable_size(p) < 160)
		abort();
	free(NULL);
	if (posix_memalign(&p, 3, 1) != EINVAL || calloc((size_t)-1, 2) || reallocarray(NULL, (size_t)-1, 2))
		abort();
}
static __attribute__((constructor)) void own_constructor(void) { kept = malloc(110); }
static __attribute__((destructor)) void own_destructor(void) { kept = malloc(111); }

int main(void)
{
	atexit(own_at_exit);
	own_leaf(100);
	own_sort();
	own_search();
	own_tree();
	own_deep(9, NULL);
	own_strings();
	own_signal();
	own_threads();
	own_jump();
	own_all_kinds();
	return 0;
}
"""

# calloc() of memory that was another block's, and of pages that were never used.
CLEARED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int main(void)
{
	struct rusage usage;
	long before;

	for (size_t n = 1; n < 100000; n += n / 3 + 1) {
		char *p = malloc(n), *q;

		memset(p, 1, n);
		free(p);
		q = calloc(n, 1);
		for (size_t i = 0; i < n; i++)
			if (q[i])
				return 1;
		free(q);
	}
	getrusage(RUSAGE_SELF, &usage);
	before = usage.ru_maxrss;
	if (!calloc(64, 1 << 20))
		return 2;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss - before > 8 << 10 ? 3 : 0;
}
"""

# Executes another program, or is killed; in children and threads.
LIFE = r"""
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept;

static void *thread(void *unused)
{
	for (int i = 0; i < 1000; i++)
		kept = malloc(10 + i % 3);
	return unused;
}
static void child_handler(void) { kept = malloc(77); }

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t threads[8];
	int status = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			pthread_create(&threads[i], NULL, thread, NULL);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "exit") == 0)
		exit(5);
	if (strcmp(how, "exec") == 0)
		execvp(argv[2], argv + 2);
	if (strcmp(how, "spawn") == 0) {
		pid_t pid;

		if (posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0)
			return 9;
		waitpid(pid, &status, 0);
		return WEXITSTATUS(status);
	}
	if (strcmp(how, "fork") == 0) {
		pthread_atfork(NULL, NULL, child_handler);
		for (int i = 0; i < 3; i++) {
			if (fork() == 0) {
				thread(NULL);
				exit(i + 1);
			}
			wait(&status);
		}
		return WEXITSTATUS(status);
	}
	return 7;
}
"""

# What a C++ run-time library has: Debian has none for musl.
OPERATORS = r"""
#include <stdlib.h>
void *_Znwm(size_t n) { return malloc(n ? n : 1); }
void *_Znam(size_t n) { return _Znwm(n); }
void _ZdlPv(void *p) { free(p); }
void _ZdaPv(void *p) { _ZdlPv(p); }
void _ZdlPvm(void *p, size_t n) { (void)n; _ZdlPv(p); }
void *_ZnwmSt11align_val_t(size_t n, size_t align) { return aligned_alloc(align, n); }
void _ZdlPvSt11align_val_t(void *p, size_t align) { (void)align; free(p); }
"""
CALLS_OPERATORS = r"""
#include <stddef.h>
void *_Znwm(size_t n), *_Znam(size_t n), *_ZnwmSt11align_val_t(size_t n, size_t align);
void _ZdlPv(void *p), _ZdaPv(void *p), _ZdlPvm(void *p, size_t n), _ZdlPvSt11align_val_t(void *p, size_t align);
int main(void)
{
	_ZdlPv(_Znwm(100));
	_ZdlPvm(_Znwm(50), 50);
	_ZdaPv(_Znam(20));
	_ZdlPvSt11align_val_t(_ZnwmSt11align_val_t(128, 64), 64);
	return _Znwm(7) == NULL;
}
"""

# What the C libraries allocate there has different sizes, or is not by malloc().
OF_LIBRARY = {"main;own_tree", "main;own_threads"}

STATIC = "int main(void) { return 0; }\n"


class Musl:
    def __init__(self, options):
        self.glibc, self.musl = options.build, options.musl

    # ---- tools ----

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, source, musl, *options):
        with open(self.path(name + ".c"), "w") as f:
            f.write(source)
        words = shlex.split(os.environ.get("CC_MUSL", "musl-gcc")) if musl else compiler()
        subprocess.run([*words, "-D_GNU_SOURCE", "-g", "-fno-builtin", "-Wl,--eh-frame-hdr", "-pthread", *options,
                        "-o", self.path(name), self.path(name + ".c")], check=True, stderr=subprocess.PIPE)
        return self.path(name)

    def record(self, build, *words, status=0, env=(), trace="t"):
        done = subprocess.run([build.msrec, "-f", "-o", trace, *words], cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
                              env=plain_environment(**dict(env)))
        assert done.returncode == status, f"{words}: exit {done.returncode}: {done.stderr[-500:]}"
        return done.stderr

    def folded(self, trace="t"):
        """Program's own functions of each stack → bytes allocated."""
        words = [self.glibc.file("analyze/msconvert"), "--to=folded", "--value=alloc_bytes", "-o", "-", trace]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=True)
        sums = collections.Counter()
        for line in done.stdout.splitlines():
            frames, size = line.rsplit(" ", 1)
            own = [f for f in frames.split(";") if f == "main" or f.startswith("own_")]
            if own:
                sums[";".join(own)] += int(size)
        return sums

    # ---- cases ----

    def test_ways(self):
        for level in ("-O0", "-O2", "-Os"):
            self.record(self.glibc, self.compile("with_glibc", WAYS, False, level), trace="g")
            self.record(self.musl, self.compile("with_musl", WAYS, True, level), trace="m")
            ours, wanted = self.folded("m"), self.folded("g")
            assert len(wanted) >= 16, wanted
            differ = {k: (ours.get(k), wanted.get(k)) for k in {*ours, *wanted} - OF_LIBRARY
                      if ours.get(k) != wanted.get(k)}
            assert not differ, f"{level}: (musl, glibc) {differ}"
            stat = self.musl.stat(self.path("m"))
            assert stat["reason"] == "exit" and not stat["lost"] and not stat["unknown"], stat

    def test_options(self):
        program = self.compile("with_musl", WAYS, True, "-O2")
        for options in (["--free-stacks=yes"], ["--usable=yes"], ["--stacks=yes"], ["--timer=1"], ["--mmap=yes"],
                        ["--sample=4k"], ["--depth=3"]):
            self.record(self.musl, *options, program, trace="o")
        for option in (["--pages", program], ["--pid=1"]):
            said = self.record(self.musl, *option, status=125)
            assert "on x86-64 with glibc alone" in said, said

    def test_trees(self):
        """What Massif would write, but for addresses and names of folders."""
        for name in ("basic", "deep", "one", "peak", "recurse", "thresholds", "zero"):
            texts = []
            for build, trace in ((self.glibc, "g"), (self.musl, "m")):
                self.record(build, build.file(f"corpus/{name}"), trace=trace)
                words = [self.glibc.file("analyze/msreplay"), "-q", "--time-unit=B", "--massif-out-file=-", trace]
                done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=True)
                texts.append(re.sub(r"0x[0-9A-F]+: ", "", "".join(done.stdout.splitlines(True)[2:])))
            assert texts[0] == texts[1], f"{name}:\n{texts[0]}\n{texts[1]}"

    def test_calloc(self):
        self.record(self.musl, self.compile("cleared", CLEARED, True, "-O1"))

    def test_operators(self):
        for name in ("libstdc++.so.6", "libother.so"):     # the recorder knows the first by its name
            library = self.compile(name, OPERATORS, True, "-shared", "-fPIC")
            self.record(self.musl, self.compile("calls", CALLS_OPERATORS, True, library, "-Wl,-rpath,$ORIGIN"))
            stat = self.musl.stat(self.path("t"))
            found = {key: stat[key] for key in ("new", "new_array", "malloc", "free", "live", "unknown")}
            assert found == {"new": 4, "new_array": 1, "malloc": 0, "free": 4, "live": 7, "unknown": 0}, found

    def test_killed(self):
        self.record(self.musl, self.compile("life", LIFE, True), "kill", status=-signal.SIGKILL)
        stat = self.musl.stat(self.path("t"))
        assert stat["malloc"] >= 24000 and stat["reason"] not in ("exit", "exec"), stat

    def test_exit(self):
        self.record(self.musl, self.compile("life", LIFE, True), "exit", status=5)
        assert self.musl.stat(self.path("t"))["reason"] == "exit"

    def test_forks(self):
        self.record(self.musl, "--trace-children=yes", self.compile("life", LIFE, True), "fork", status=3, trace="f.%p")
        stats = [self.musl.stat(path) for path in glob.glob(self.path("f.*"))]
        assert len(stats) == 4, stats
        for stat in stats:
            assert stat["reason"] == "exit" and not stat["lost"] and stat["malloc"] >= 24000, stat
        assert sum(stat["malloc"] for stat in stats) >= 4 * 24000 + 3 * 1001

    def test_executed(self):
        life = self.compile("life", LIFE, True)
        for how in ("exec", "spawn"):
            self.record(self.musl, "--trace-children=yes", life, how, life, status=7, trace=how + ".%p")
            stats = [self.musl.stat(path) for path in glob.glob(self.path(how + ".*"))]
            assert sorted(stat["reason"] for stat in stats) == sorted([how, "exit"] if how == "exec" else ["exit"] * 2)
            assert all(stat["malloc"] >= 24000 for stat in stats), stats

    def test_other_library(self):
        """Programs of one C library are refused by the msrec of the other, or run unrecorded."""
        life, other = self.compile("life", LIFE, True), self.compile("other", LIFE, False)
        said = self.record(self.glibc, life, status=125)
        assert "another C library (musl); the recorder is for glibc: an msrec built with musl records it" in said, said
        said = self.record(self.musl, other, status=125)
        assert "another C library (glibc); the recorder is for musl: an msrec built with glibc records it" in said, said
        for build, first, second in ((self.musl, life, other), (self.glibc, other, life)):
            said = self.record(build, "--trace-children=yes", first, "exec", second, status=7, trace="x.%p")
            assert "another C library than" in said and len(glob.glob(self.path("x.*"))) == 1, said
            os.unlink(*glob.glob(self.path("x.*")))
        said = self.record(self.musl, self.compile("static", STATIC, True, "-static"), status=125)
        assert "statically linked" in said, said


def main():
    return run_in_folders(__doc__, Musl, ("--musl", {"required": True, "type": Build, "metavar": "DIR"}))


if __name__ == "__main__":
    sys.exit(main())
