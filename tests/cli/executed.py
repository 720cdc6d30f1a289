#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executed programs and forked children: which have a trace, and what msrec says of those that cannot have one."""

import ctypes
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import compiler, have, plain_environment, run_in_folders    # noqa: E402

ROOT = os.geteuid() == 0
TIMEOUT = 60
MEGABYTE = 1 << 20

HEAP = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 100; i++) {
		void *volatile lost = malloc(10 + i);
		(void)lost;
	}
	puts("ran");
	return 7;
}
"""

OWN_MALLOC = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char pool[16 << 20];
static size_t used;
LINKAGE void *malloc(size_t n) { void *p = pool + used; used += (n + 31) / 16 * 16; return p; }
LINKAGE void free(void *p) { (void)p; }
LINKAGE void *calloc(size_t n, size_t size) { return malloc(n * size); }
LINKAGE void *realloc(void *old, size_t n) { void *p = malloc(n); if (old) memcpy(p, old, n); return p; }
int main(int argc, char **argv)
{
	for (int i = 0; i < 100; i++) {
		void *volatile p = malloc(10);
		(void)p;
	}
	puts("ran");
	fflush(stdout);
	if (argc > 1)
		execvp(argv[1], argv + 1);
	return 7;
}
"""

# Prints how much of the recorder's memory a process can read, its own and then its child's; the last is a grandchild.
READABLE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void count(void)
{
	char line[4096], mode[8];
	unsigned long start, end, bytes = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:msrec") && sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && mode[0] != '-')
			bytes += end - start;
	fclose(maps);
	printf("%lu\n", bytes);
	fflush(stdout);
}
static void *use(void *unused) { free(malloc(100)); return unused; }
int main(void)
{
	pthread_t threads[5];
	for (int i = 0; i < 5; i++)
		pthread_create(&threads[i], NULL, use, NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++) {
		count();
		if (fork() != 0)
			break;
	}
	wait(NULL);
	return 0;
}
"""

# Executes argv[2] by the function that argv[1] names, with the words behind it.
EXECS = r"""
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
	const char *how = argv[1], *path = argv[2];
	char **words = argv + 2;
	int status = 1;
	pid_t pid;
	free(malloc(10));
	if (!strcmp(how, "execve")) execve(path, words, environ);
	if (!strcmp(how, "execv")) execv(path, words);
	if (!strcmp(how, "execvp")) execvp(path, words);
	if (!strcmp(how, "execvpe")) execvpe(path, words, environ);
	if (!strcmp(how, "execl")) execl(path, path, argv[3], argv[4], (char *)0);
	if (!strcmp(how, "execlp")) execlp(path, path, argv[3], argv[4], (char *)0);
	if (!strcmp(how, "execle")) execle(path, path, argv[3], argv[4], (char *)0, environ);
	if (!strcmp(how, "fexecve")) fexecve(open(path, O_RDONLY), words, environ);
	if (!strcmp(how, "execveat")) execveat(AT_FDCWD, path, words, environ, 0);
	if (!strcmp(how, "vfork")) {
		if (vfork() == 0) {
			execv(path, words);
			_exit(1);
		}
		wait(&status);
		free(malloc(20));
		return WEXITSTATUS(status);
	}
	if (!strcmp(how, "posix_spawn") && posix_spawn(&pid, path, NULL, NULL, words, environ) == 0) {
		waitpid(pid, &status, 0);
		return WEXITSTATUS(status);
	}
	if (!strcmp(how, "posix_spawnp") && posix_spawnp(&pid, path, NULL, NULL, words, environ) == 0) {
		waitpid(pid, &status, 0);
		return WEXITSTATUS(status);
	}
	return 1;
}
"""

ECHO = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		puts(argv[i]);
	puts(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
	return 3;
}
"""

FORKS = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int how)
{
	if (how == 0) _exit(0);
	if (how == 1) abort();
	if (how == 2) raise(SIGSEGV);
	if (how == 3) raise(SIGKILL);
	if (how == 4) execl("/bin/true", "true", (char *)0);
	if (how == 5) execl("/no/such", "such", (char *)0);
	_exit(3);
}
int main(void)
{
	void *volatile block = malloc(1000);
	for (int how = 0; how < 6; how++) {
		pid_t pid = fork();
		if (pid == 0)
			end(how);
		waitpid(pid, NULL, 0);
	}
	(void)block;
	return 0;
}
"""


class Tests:
    """One method a test; each runs in an empty folder."""

    def __init__(self, build):
        self.build, self.folder = build, None

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, source, *options, cc=None):
        with open(self.path(name + ".c"), "w") as f:
            f.write(source)
        command = [*(cc or compiler()), "-g", "-O0", "-D_GNU_SOURCE", "-fno-builtin", self.path(name + ".c"), "-o",
                   self.path(name), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode == 0

    def run(self, *words, status=0, env=None):
        """Records programs and the ones that they execute. Returns the lines about programs that are not recorded."""
        for name in os.listdir(self.folder):
            if name.startswith("t."):
                os.remove(self.path(name))
        done = subprocess.run([self.build.msrec, "--trace-children=yes", "-o", "t.%e.%n", *words], cwd=self.folder,
                              env=plain_environment(**(env or {})), capture_output=True, text=True, timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == status, f"status {done.returncode}: {done.stderr}"
        self.out, self.err = done.stdout, done.stderr
        return [line for line in done.stderr.splitlines() if "recorded" in line]

    def traces(self, program):
        return [f for f in sorted(os.listdir(self.folder)) if f.startswith(f"t.{program}.")]

    def expect(self, lines, words, *programs):
        assert len(lines) == 1 and re.search(words, lines[0]), lines or self.err
        for program in programs:
            assert not self.traces(program), self.traces(program)

    # ---- programs that cannot be recorded ----

    def test_own_malloc(self):
        """It is recorded if it is exported, as the linker makes it by itself. So is what the program executes."""
        for name, linkage in (("exported", ""), ("hidden", '__attribute__((visibility("hidden")))')):
            assert self.compile(name, OWN_MALLOC, f"-DLINKAGE={linkage}")
            lines = self.run("sh", "-c", f"./{name}; ./{name} ls / >out; :")
            if name == "exported" and self.build.patches:
                counts = [self.build.stat(self.path(trace))["malloc"] for trace in self.traces(name)]
                assert not lines and len(counts) == 2 and min(counts) >= 100, (lines, counts)
            else:
                self.expect(lines, f"/{name} has a malloc of its own", name)
            assert self.out == "ran\n" and self.traces("ls"), (self.out, self.err)

    def test_static(self):
        if not self.compile("static", HEAP, "-static"):
            return "no static C library"
        lines = self.run("sh", "-c", "./static; ./static; ls >out; exit 4", status=4)
        self.expect(lines, "./static is statically linked", "static")
        assert self.out == "ran\nran\n" and self.traces("ls"), (self.out, self.err)

    def test_sanitizers(self):
        """They start only without the recorder, and find their own LD_PRELOAD."""
        tried = 0
        for cc, flags in (("gcc", ["-fsanitize=address"]), ("gcc", ["-fsanitize=thread"]),
                          ("clang", ["-fsanitize=address"]), ("clang", ["-fsanitize=memory", "-fPIE", "-pie"]),
                          ("clang", ["-fsanitize=thread"])):
            if not have(cc) or not self.compile("clean", ECHO, *flags, cc=[cc]):
                continue
            plain = subprocess.run([self.path("clean"), "x"], capture_output=True, text=True, env=plain_environment())
            if plain.returncode != 3:
                continue        # it cannot run here at all
            tried += 1
            lines = self.run("sh", "-c", "./clean x; ./clean x", status=3)
            self.expect(lines, "./clean has a sanitizer", "clean")
            assert self.out == 2 * plain.stdout, self.out
        return None if tried else "no sanitizer works here"

    def test_preloaded_sanitizer(self):
        """The program that executes another adds it behind the recorder, where it would refuse to start."""
        library = os.path.realpath(subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                                                  text=True).stdout.strip() if have("gcc") else "")
        if not os.path.isfile(library) or "libasan.so" not in os.path.basename(library):
            return "no libasan.so"
        assert self.compile("echo", ECHO)
        lines = self.run("sh", "-c", f"LD_PRELOAD=$LD_PRELOAD:{library} ./echo one", status=3)
        self.expect(lines, "./echo has a sanitizer", "echo")
        assert self.out == f"one\n{library}\n", self.out

    def test_ways_to_execute(self):
        """Each function decides for itself; arguments, the environment and its LD_PRELOAD stay the program's own."""
        if not self.compile("clean", ECHO, "-fsanitize=address", cc=["gcc"]) or subprocess.run(
                [self.path("clean")], capture_output=True).returncode != 3:
            return "AddressSanitizer does not work here"
        if not hasattr(ctypes.CDLL(None), "execveat"):
            return "no execveat() in this C library"
        assert self.compile("echo", ECHO) and self.compile("execs", EXECS)
        libm = os.path.realpath("/lib/x86_64-linux-gnu/libm.so.6")
        for how in ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
                    "posix_spawn", "posix_spawnp", "vfork"):
            searched = how in ("execvp", "execvpe", "execlp", "posix_spawnp")
            env = {"PATH": f"/no/such::{self.folder}:/usr/bin:/bin"}
            self.expect(self.run("./execs", how, "clean" if searched else "./clean", "one", "two", status=3, env=env),
                        "clean has a sanitizer", "clean")
            assert self.out == "one\ntwo\n\n", (how, self.out)
            own, = self.traces("execs")
            wanted = "exit" if how in ("posix_spawn", "posix_spawnp", "vfork") else "exec"
            assert self.build.stat(self.path(own))["reason"] == wanted, how
            assert self.run("./execs", how, "./echo", "one", "two", status=3) == [], self.err
            assert self.out.startswith("one\ntwo\n") and "libmsrec" in self.out and self.traces("echo"), self.out
        if os.path.exists(libm):
            env = {"LD_PRELOAD": libm, "ASAN_OPTIONS": "verify_asan_link_order=0"}  # of msrec's own build
            self.run("./execs", "execve", "./echo", "one", "two", status=3, env=env)
            assert self.out.endswith(f":{libm}\n"), self.out

    def test_script_of_such_an_interpreter(self):
        if not self.compile("static", HEAP, "-static"):
            return "no static C library"
        with open(self.path("script"), "w") as f:
            f.write(f"#!{self.path('static')}\n")
        os.chmod(self.path("script"), 0o755)
        self.expect(self.run("env", "./script", status=7), "/static is statically linked", "static", "script")

    def test_privileges(self):
        if not ROOT:
            return "needs root"
        shutil.copy("/bin/ls", self.path("other"))
        os.chown(self.path("other"), 65534, 65534)
        os.chmod(self.path("other"), 0o4755)
        self.expect(self.run("env", "./other"), "./other gains privileges", "other")

    def test_other_environments(self):
        """The program that executes it has taken the recorder away."""
        self.expect(self.run("sh", "-c", "env -i /bin/ls >out"), "/bin/ls was executed without the recorder", "ls")
        self.expect(self.run("env", "LD_PRELOAD=", "/bin/ls"), "/bin/ls was executed without the recorder", "ls")

    def test_out_of_reach(self):
        """As another user, with another /proc, and with another root, where the recorder is not there either."""
        if not ROOT:
            return "needs root"
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.expect(self.run(*nobody, "/bin/ls", "/"), "/bin/ls cannot reach msrec, as another user", "ls")
        spaces = ("unshare", "-fpm", "--mount-proc")
        if subprocess.call([*spaces, "true"], stderr=subprocess.DEVNULL) == 0:    # not so in a chroot
            self.expect(self.run(*spaces, "/bin/ls", "/"), "/bin/ls cannot reach msrec", "ls")
        libraries = {"/bin/true", *re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", "/bin/true"], text=True))}
        for path in libraries:
            os.makedirs(self.path("root" + os.path.dirname(path)), exist_ok=True)
            shutil.copy(path, self.path("root" + path))
        lines = self.run("/usr/sbin/chroot", self.path("root"), "/bin/true")
        self.expect(lines, "/bin/true cannot read the recorder", "true")
        assert not any("ld.so" in line for line in lines), lines

    def test_quiet_and_many(self):
        """One line each, up to fifty."""
        if not self.compile("static", HEAP, "-static"):
            return "no static C library"
        for i in range(60):
            os.link(self.path("static"), self.path(f"s{i}"))
        script = "for i in ./s?*; do case $i in *.*.c) ;; *) $i;; esac; done >out; :"
        lines = self.run("sh", "-c", script)
        named = [line for line in lines if "statically" in line]
        assert len(named) == 50 and any(re.search(" 1[01] more programs", line) for line in lines), lines
        assert self.run("-q", "sh", "-c", "./s1; :") == []

    # ---- what reads all memory ----

    def test_readable_memory(self):
        """Some megabytes of a process are readable, not the 44 GiB that all could have, nor a parent's part."""
        assert self.compile("readable", READABLE, "-pthread")
        assert self.run("./readable") == []
        sizes = [int(n) for n in self.out.split()]
        assert len(sizes) == 3 and all(0 < n < 48 * MEGABYTE for n in sizes), sizes
        # The heads of each ancestor's rings stay: some 200 KiB.
        assert sizes[1] < sizes[0], f"children keep their parents' memory: {sizes}"
        assert 0 <= sizes[2] - sizes[1] < MEGABYTE / 4, f"children keep their parents' memory: {sizes}"

    def test_memcheck(self):
        """Its search for leaks reads all that is readable."""
        if not have("valgrind"):
            return "no valgrind"
        assert self.compile("heap", HEAP)
        lines = self.run("sh", "-c", "valgrind --leak-check=full ./heap", status=7)
        assert any(re.search(r"/heap runs under Valgrind", line) for line in lines) and not self.traces("heap"), lines
        assert "definitely lost: 5,950 bytes in 100 blocks" in self.err, self.err
        assert "unknown 'how' field" not in self.err and "set address range perms" not in self.err, self.err
        lines = self.run("sh", "-c", "valgrind -q env ./heap", status=7)
        assert self.traces("heap"), "what a program under Valgrind executes does not run there, and is recorded"

    # ---- forked children ----

    def test_children_without_calls(self):
        """Massif writes a file of each process that ends, but for one that has become another program."""
        assert self.compile("forks", FORKS)
        assert self.run("--trace-children=no", "./forks") == []
        stats = [self.build.stat(self.path(name)) for name in self.traces("forks")]
        assert len(stats) == 6, (stats, self.err)
        assert all(s["complete"] == 1 and s["live"] >= 1000 and s["lost"] == 0 for s in stats), stats
        if have("valgrind"):
            subprocess.run(["valgrind", "-q", "--tool=massif", "--massif-out-file=m.%p", "./forks"], cwd=self.folder,
                           capture_output=True, timeout=TIMEOUT, check=True, env=plain_environment())
            massifs = [name for name in os.listdir(self.folder) if name.startswith("m.")]
            assert len(massifs) == len(stats), massifs


def main():
    return run_in_folders(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
