#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names embedded in the trace: those requested, and those that would be lost.

  embedding.py --build DIR
"""

import collections
import ctypes
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

# Loads libraries, plain or from memory, calls them, takes them away again.
HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void *volatile keep[64];
int kept;
__attribute__((noipa)) void work(unsigned long n) { keep[kept++] = malloc(n); }
static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	if (!library)
		exit(3);
	return library;
}
static void call(void *library, const char *name)
{
	void (*function)(unsigned long) = dlsym(library, name);
	function(4096);
	printf("%s %p\n", name, (void *)function);
}
static void copy(const char *from, int to)
{
	char buffer[65536];
	int fd = open(from, O_RDONLY);
	for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;)
		if (write(to, buffer, n) != n)
			exit(4);
	close(fd);
}
int main(int argc, char **argv)
{
	work(100000);
	for (int i = 1; i + 1 < argc; i += 2) {
		const char *what = argv[i], *path = argv[i + 1];
		if (!strcmp(what, "unlink")) {
			usleep(300000); /* by then the recorder has seen what came before */
			unlink(path);
		} else if (!strcmp(what, "replace")) {
			usleep(300000);
			rename(path, argv[0]);
		} else if (!strcmp(what, "load-unload")) {
			char name[64];
			void *library = load(path);
			snprintf(name, sizeof(name), "enter_%c", path[strlen(path) - 4]);
			call(library, name);
			dlclose(library);
		} else if (!strcmp(what, "load")) {
			char name[64];
			snprintf(name, sizeof(name), "enter_%c", path[strlen(path) - 4]);
			call(load(path), name);
		} else if (!strcmp(what, "memory")) {
			char name[64];
			int fd = memfd_create("library", 0);
			copy(path, fd);
			snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
			call(load(name), "enter_m");
			usleep(300000);
		}
	}
	return 0;
}
"""

LIBRARY = r"""
#include <stdlib.h>
static void *volatile kept_LETTER;
static inline __attribute__((always_inline)) void inlined_LETTER(unsigned long n) { kept_LETTER = malloc(n); }
void enter_LETTER(unsigned long n);
void enter_LETTER(unsigned long n) { inlined_LETTER(n); kept_LETTER = 0; }
"""

# Generated code that calls malloc, with a frame pointer, and its file for perf.
MAKER = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5,             /* push rbp; mov rbp, rsp */
	0xbf, 0x00, 0x10, 0x00, 0x00,       /* mov edi, 4096 */
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, /* mov rax, malloc */
	0xff, 0xd0, 0x5d, 0xc3,             /* call rax; pop rbp; ret */
};
static void put(FILE *f, uint64_t v, int n) { fwrite(&v, n, 1, f); }
static void tell_map(unsigned char *at)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(path, "w");
	fprintf(f, "%lx 40 an older name\nnonsense\n%lx %zx made by a compiler\n", (long)at, (long)at, sizeof(code));
	fclose(f);
}
static void tell_dump(unsigned char *at)
{
	char path[64], name[] = "_ZN4made4codeEi", file[] = "/src/made.script";
	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	FILE *f = fopen(path, "w");
	put(f, 0x4a695444, 4); put(f, 1, 4); put(f, 40, 4); put(f, 62, 4); put(f, 0, 4); put(f, getpid(), 4);
	put(f, 0, 8); put(f, 0, 8);
	put(f, 2, 4); put(f, 16 + 16 + 2 * 16 + sizeof(file) + 2, 4); put(f, 0, 8);
	put(f, (long)at, 8); put(f, 2, 8);
	put(f, (long)at, 8); put(f, 7, 4); put(f, 0, 4); fwrite(file, sizeof(file), 1, f);
	put(f, (long)at + 9, 8); put(f, 9, 4); put(f, 0, 4); fwrite("\xff", 2, 1, f);
	put(f, 0, 4); put(f, 16 + 40 + sizeof(name) + sizeof(code), 4); put(f, 0, 8);
	put(f, getpid(), 4); put(f, getpid(), 4); put(f, (long)at, 8); put(f, (long)at, 8); put(f, sizeof(code), 8);
	put(f, 1, 8); fwrite(name, sizeof(name), 1, f); fwrite(code, sizeof(code), 1, f);
	fclose(f);
}
int main(int argc, char **argv)
{
	unsigned char *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *(*volatile allocate)(size_t) = malloc;
	memcpy(at, code, sizeof(code));
	memcpy(at + 11, (void *)&allocate, 8);
	if (argc > 1 && strcmp(argv[1], "map") == 0)
		tell_map(at);
	if (argc > 1 && strcmp(argv[1], "dump") == 0)
		tell_dump(at);
	((void (*)(void))at)();
	printf("%d\n", getpid());
	return 0;
}
"""

# Generated code at one address, which is another function's in each round; 100 calls of each.
MOVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* push rbp; mov rbp, rsp; movabs rax, malloc; call rax; pop rbp; ret: the size is the caller's */
static unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3 };
static void *volatile block;
int main(int argc, char **argv)
{
	unsigned char *at = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *(*volatile allocate)(size_t) = malloc;
	char path[64];
	memcpy(code + 6, (void *)&allocate, 8);
	memcpy(at, code, sizeof(code));
	memcpy(at + 4096, code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx 1000 stays\n", (long)at + 4096);
	for (int i = 0; i < atoi(argv[1]); i++) {
		fprintf(map, "%lx %zx moves_%d\n", (long)at, sizeof(code), i % 3);
		fflush(map);
		for (int k = 0; k < 100; k++) {
			free(((void *(*)(size_t))at)(1000 * (i + 1)));
			((void *(*)(size_t))(at + 4096))(2);
		}
		for (int k = 0; argc > 2 && k < atoi(argv[2]); k++)
			free(block = malloc(rand() % 50000));
		usleep(200000); /* by then the recorder has seen them */
	}
	fclose(map);
	unlink(path);
	return 0;
}
"""

# Allocates in a signal handler that most often interrupts the kernel's own code.
TICKER = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static void *volatile block;
static volatile int ticks;
static void tick(int number)
{
	(void)number;
	block = malloc(77);
	free(block);
	ticks++;
}
int main(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	struct timespec now;
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, 0);
	while (ticks < 200)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return 0;
}
"""


class Bench:
    """A folder in which programs are built, recorded and replayed."""

    def __init__(self, build, path):
        self.build, self.path = build, path
        self.replayer = build.file("analyze/msreplay")
        self.converter = build.file("analyze/msconvert")

    def file(self, *names):
        return os.path.join(self.path, *names)

    def compile(self, text, name, *options):
        source = self.file(name + ".c")
        with open(source, "w") as file:
            file.write(text)
        subprocess.run(["gcc", "-g", "-O2", "-Wl,--build-id", "-o", self.file(name), source, *options], check=True)
        return self.file(name)

    def record(self, trace, *words):
        """The messages of msrec, and the program's output."""
        done = subprocess.run([self.build.msrec, "-f", "-o", self.file(trace), *words], capture_output=True,
                              text=True, cwd=self.path, env=harness.plain_environment())
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done}")
        return done.stderr, done.stdout

    def replay(self, trace, *options, **more):
        """massif.out without the line that repeats the options, notices, and the exit status."""
        done = subprocess.run([self.replayer, "--time-unit=B", "--massif-out-file=-", "--threshold=0",
                               "--detailed-freq=1", *options, self.file(trace) if trace != "-" else trace],
                              capture_output=True, text=True, **more)
        return done.stdout.split("\n", 1)[1], done.stderr, done.returncode


def from_library(name):
    """Its lines; gcc before 11 describes no inlined call there."""
    version = subprocess.run(["gcc", "-dumpversion"], check=True, capture_output=True, text=True).stdout
    inner = "inlined" if int(version.split(".")[0]) >= 11 else "enter"
    return rf" {inner}_{name} \(lib{name}\.so\.c:"


def check_asked(check, bench):
    """With all names embedded, msreplay needs no other file."""
    for folder in ("moved", "stripped"):
        os.makedirs(bench.file(folder))
    for name in ("host", "liba.so"):
        shutil.copy(bench.file(name), bench.file("moved", name))
        subprocess.run(["strip", "-o", bench.file("stripped", name), bench.file(name)], check=True)
    words = [bench.file("host"), "load", bench.file("liba.so")]
    bench.record("plain.zst", *words)
    bench.record("whole.zst", "--embed-symbols", *words)
    plain, notices, _ = bench.replay("plain.zst")
    whole, _, _ = bench.replay("whole.zst")
    check("embedded: the same as from the files", plain == whole and re.search(from_library("a"), whole), whole)
    subprocess.run([bench.converter, "--embed-symbols", "-o", bench.file("later.zst"), bench.file("plain.zst")],
                   check=True)
    subprocess.run(["zstd", "-tq", bench.file("later.zst"), bench.file("whole.zst")], check=True)
    for name in ("host", "liba.so"):
        os.unlink(bench.file(name))
    for trace in ("whole.zst", "later.zst"):
        answer, said, status = bench.replay(trace)
        check(f"{trace}: the files are gone, the answer is the same",
              (answer, said, status) == (plain, notices, 0), said)
        with subprocess.Popen(["cat", bench.file(trace)], stdout=subprocess.PIPE) as pipe:
            answer, said, status = bench.replay("-", stdin=pipe.stdout)
        check(f"{trace}: through a pipe", (answer, said, status) == (plain, notices, 0), said)
    with subprocess.Popen(["cat", bench.file("whole.zst")], stdout=subprocess.PIPE) as pipe:
        done = subprocess.run([bench.replayer, "-"], stdin=pipe.stdout, capture_output=True, text=True, cwd=bench.path,
                              env=harness.plain_environment(TMPDIR="/nonexistent/folder"))
    check("a pipe, and no folder for temporary files", (done.stderr, done.returncode) ==
          ("msreplay: temporary file: No such file or directory\n", 2), done)
    again = bench.file("again.zst")
    with open(bench.file("whole.zst"), "rb") as trace:
        piped = subprocess.run([bench.converter, "--embed-symbols", "-"], stdin=trace, stdout=subprocess.PIPE,
                               check=True)
    subprocess.run([bench.converter, "--embed-symbols", "-o", again, bench.file("whole.zst")], check=True)
    with open(again, "rb") as trace:
        check("embedding again keeps what is there", trace.read() == piped.stdout and
              bench.replay("again.zst")[0] == plain)
    with_folder = bench.replay("plain.zst", f"--symbols={bench.file('moved')}")
    check("not embedded, files in another folder: the same answer", with_folder == (plain, notices, 0), with_folder)
    answer, said, status = bench.replay("whole.zst", f"--symbols={bench.file('stripped')}")
    check("embedded, files without debug information in a folder: that of the trace", answer == plain and status == 0,
          answer[:900] + said)
    shutil.copy(bench.file("libb.so"), bench.file("liba.so"))
    answer, said, status = bench.replay("plain.zst")
    os.unlink(bench.file("liba.so"))
    check("not embedded, another file in its place: a notice", "enter_" not in answer and status == 0 and
          f"{bench.file('liba.so')}: build id differs from the recorded one, not used" in said, said)
    answer, said, status = bench.replay("plain.zst")
    check("not embedded: addresses and files", f"(in {bench.file('liba.so')})" in answer and
          "enter_a" not in answer and status == 0, answer[:400])
    check("not embedded: a notice for each file", all(f"{bench.file(name)}: not found, its functions have no names"
                                                      in said for name in ("host", "liba.so")), said)
    for name in ("host", "liba.so"):
        shutil.move(bench.file("moved", name), bench.file(name))
    check_cut(check, bench, plain)
    check_chroot(check, bench, plain)


def check_cut(check, bench, plain):
    """Names can be embedded in a cut trace."""
    with open(bench.file("plain.zst"), "rb") as trace:
        data = trace.read()
    with open(bench.file("cut.zst"), "wb") as trace:
        trace.write(data[:-100])
    done = subprocess.run([bench.converter, "--embed-symbols", "-o", bench.file("cut-whole.zst"),
                           bench.file("cut.zst")],
                          stderr=subprocess.PIPE, text=True)
    answer, said, status = bench.replay("cut-whole.zst")
    check("cut trace: stays cut, has names", done.returncode == 1 and status == 1 and answer == plain, said)


def change_root(root):
    if os.geteuid() != 0:
        ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
    os.chroot(root)


def check_chroot(check, bench, plain):
    """Replays without the program, its libraries and debug files."""
    root = bench.file("root")
    os.makedirs(root + "/tools")
    os.makedirs(root + "/tmp")
    needed = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", bench.replayer], check=True, capture_output=True,
                                                     text=True).stdout)
    if any("libasan" in path for path in needed):
        print("SKIP: chroot: AddressSanitizer wants /proc")
        return
    for path in [*needed, bench.replayer, bench.file("whole.zst"), bench.file("plain.zst")]:
        shutil.copy(path, root + "/tools/")
    loader = "/tools/" + next(os.path.basename(path) for path in needed if "ld-linux" in path)
    try:
        subprocess.run([loader, "--help"], preexec_fn=lambda: change_root(root), stdout=subprocess.DEVNULL, cwd="/")
    except subprocess.SubprocessError:
        print("SKIP: chroot: neither root nor user namespaces")
        return
    for trace in ("whole.zst", "plain.zst"):
        done = subprocess.run([loader, "--library-path", "/tools", "/tools/msreplay", "--time-unit=B",
                               "--massif-out-file=-", "--threshold=0", "--detailed-freq=1", "/tools/" + trace],
                              capture_output=True, text=True, preexec_fn=lambda: change_root(root), cwd="/",
                              env={"PATH": "/"})
        answer = done.stdout.split("\n", 1)[-1]
        if trace == "whole.zst":
            check("chroot: the same answer", answer == plain and done.returncode == 0
                  and "not found" not in done.stderr, done.stderr)
        else:
            names = set(re.findall(r" 0x\w+: (\S+)", answer))
            check("chroot: addresses and files, notices, exit 0", names == {"???"} and done.returncode == 0 and
                  re.search(r"libc(-2\.\d+\.so|\.so\.6): not found", done.stderr)
                  and bench.file("liba.so") in answer, done.stderr)


def check_lost(check, bench):
    """Files that change while the program runs, and code without a file."""
    shutil.copy(bench.file("host"), bench.file("victim"))
    shutil.copy(bench.file("libb.so"), bench.file("other"))
    said, _ = bench.record("replaced.zst", bench.file("victim"), "replace", bench.file("other"))
    answer, notices, status = bench.replay("replaced.zst")
    check("replaced executable: msrec says so", f"{bench.file('victim')} was replaced while it ran; the names of its "
          "functions are kept in the trace" in said, said)
    check("replaced executable: its names are there", "work (host.c:" in answer and "main (host.c:" in answer and
          "victim" not in notices and status == 0, answer[:900] + notices)

    shutil.copy(bench.file("host"), bench.file("victim"))
    shutil.copy(bench.file("libb.so"), bench.file("lost_b.so"))
    said, _ = bench.record("deleted.zst", bench.file("victim"), "load", bench.file("lost_b.so"), "unlink",
                           bench.file("lost_b.so"), "unlink", bench.file("victim"))
    answer, notices, _ = bench.replay("deleted.zst")
    check("deleted executable and library: msrec says so", f"{bench.file('lost_b.so')} is gone; " in said and
          f"{bench.file('victim')} is gone; " in said, said)
    check("deleted executable and library: names are there", re.search(from_library("b"), answer) and
          "work (host.c:" in answer and not re.search("victim|lost_b", notices), answer[:900] + notices)

    said, _ = bench.record("memory.zst", bench.file("host"), "memory", bench.file("libm.so"))
    answer, notices, _ = bench.replay("memory.zst")
    check("library in memory: names are there", re.search(from_library("m"), answer) and "/proc/self" not in notices,
          answer[:900] + said + notices)

    _, output = bench.record("unloaded.zst", bench.file("host"), "load-unload", bench.file("liba.so"),
                             "load-unload", bench.file("libb.so"))
    answer, _, _ = bench.replay("unloaded.zst")
    places = dict(line.split() for line in output.splitlines())
    check("two libraries at the same place, one after the other", places["enter_a"] == places["enter_b"] and
          all(re.search(from_library(name), answer) for name in "ab"), output + answer[:900])


def check_vdso(check, bench):
    bench.record("ticker.zst", bench.file("ticker"))
    answer, notices, _ = bench.replay("ticker.zst")
    check("vDSO: its function has a name", re.search(r"(__vdso_)?clock_gettime \(in \[vdso\]\)", answer) and
          "vdso" not in notices, answer[-900:] + notices)


def check_many(check, bench):
    """msrec looks names up while it records other processes."""
    script = bench.file("many.sh")
    with open(script, "w") as file:
        file.write("for i in 1 2 3 4; do %s & done; wait; exec %s\n" % (bench.file("host"), bench.file("host")))
    said, _ = bench.record("many.%p.zst", "--embed-symbols", "--trace-children=yes", "bash", script)
    traces = sorted(name for name in os.listdir(bench.path) if name.startswith("many.") and "zst" in name)
    hosts = [name for name in traces if "work (host.c:" in bench.replay(name)[0]]
    check("many processes: each has its names", len(hosts) == 5 and "build id" not in said, f"{traces} {said}")
    done = subprocess.run(["bash", "-c", "sleep 20 & exec " +
                           f"{bench.build.msrec} -f --embed-symbols -o {bench.file('own.zst')} "
                           "bash -c 'true & wait'"], capture_output=False, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=15)
    check("many processes: those of others are not waited for", done.returncode == 0)
    check("many processes: all traces are whole, and are reported",
          all(bench.replay(name)[2] == 0 for name in traces) and f"msrec: {len(traces) - 1} more traces (" in said,
          f"{traces} {said}")


def check_made(check, bench):
    """Code that the program generates."""
    for way, line in (("map", "made by a compiler (in ???)"), ("dump", "made::code(int) (made.script:9)")):
        _, pid = bench.record("made.zst", bench.file("maker"), way)
        map_file = f"/tmp/perf-{pid.strip()}.map" if way == "map" else bench.file(f"jit-{pid.strip()}.dump")
        check(f"made code, {way}: is there", os.path.exists(map_file))
        os.unlink(map_file)
        answer, _, _ = bench.replay("made.zst")
        check(f"made code, {way}: has its name", line in answer, answer)
    bench.record("made.zst", bench.file("maker"))
    answer, _, _ = bench.replay("made.zst")
    check("made code, no file for perf: an address alone", re.search(r" 0x\w+: \?\?\?\n", answer), answer)


def made_bytes(bench, *traces):
    """Bytes and calls by function, of generated code, in all traces together."""
    found = collections.Counter()
    for trace in traces:
        for value in "alloc_bytes", "alloc_objects":
            text = subprocess.run([bench.converter, "-q", "--to=folded", f"--value={value}", bench.file(trace)],
                                  check=True, capture_output=True, text=True).stdout
            for line in text.splitlines():
                function, number = line.rsplit(";", 1)[-1].rsplit(" ", 1)
                if re.match(r"moves_|stays", function):
                    found[function, value] += int(number)
    return found


def check_moving(check, bench):
    """Code at an address where other code was before has its own name, and leaves the other's stacks alone."""
    bench.record("moving.zst", bench.file("mover"), "7")
    wanted = {("stays", "alloc_bytes"): 1400, ("stays", "alloc_objects"): 700}
    for i in range(7):
        for value, number in ("alloc_bytes", 100000 * (i + 1)), ("alloc_objects", 100):
            wanted[f"moves_{i % 3}", value] = wanted.get((f"moves_{i % 3}", value), 0) + number
    found = made_bytes(bench, "moving.zst")
    check("moving code: each function has its own", found == wanted, str(found))
    subprocess.run([bench.converter, "-q", "-o", bench.file("again.zst"), bench.file("moving.zst")], check=True)
    check("moving code: in a copy of the trace", made_bytes(bench, "again.zst") == wanted)
    bench.record("part.%n.zst", "--max-size=64k", "--rotate=99", bench.file("mover"), "7", "20000")
    parts = [name for name in os.listdir(bench.path) if name.startswith("part.")]
    found = made_bytes(bench, *parts)
    check("moving code: in files that rotate", len(parts) > 2 and found == wanted, f"{parts} {found}")


def main():
    build, check = harness.arguments(__doc__).build, harness.Checks()
    with harness.Scratch() as path:
        bench = Bench(build, path)
        bench.compile(HOST, "host", "-ldl")
        bench.compile(MAKER, "maker")
        for letter in "abm":
            bench.compile(LIBRARY.replace("LETTER", letter), f"lib{letter}.so", "-shared", "-fPIC")
        bench.compile(TICKER, "ticker")
        check_lost(check, bench)
        check_vdso(check, bench)
        check_many(check, bench)
        bench.compile(MOVER, "mover")
        check_made(check, bench)
        check_moving(check, bench)
        check_asked(check, bench)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
