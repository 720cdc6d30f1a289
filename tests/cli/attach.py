#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec --pid: attaches to programs that run, and leaves them. What the traces say is compared with the account that
the programs keep themselves; the programs look at their own memory, and must answer right to the end.

  attach.py --build DIR [--only WORD] [--long [--cycles N]] [--instants N]
"""

import csv
import glob
import io
import mmap
import os
import platform
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools"), HERE]
from harness import compiler, have, plain_environment, run_methods, until    # noqa: E402
from linked import Tests as Linked    # noqa: E402

TIMEOUT = 120
ATTEMPTS = 6            # to attach
THREADS = 8
KINDS = ("malloc", "calloc", "realloc", "aligned", "new", "free")


class Program:
    """A program that obeys lines, as a context."""

    def __init__(self, *command, ready="ready\n", **how):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=plain_environment(), **how)
        self.pid = self.process.pid
        if ready:
            said = self.process.stdout.readline()
            assert said == ready, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        assert said, f"{line}: the program is gone: {self.process.poll()}"
        return said.strip()

    def end(self):
        """Ends it; it must be right, and exit well."""
        assert self.do("check") == "right", self.do("check")
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0, self.process.returncode


def mapped_code(pid):
    """The executable mappings, and what is in them."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        rows = [line.split() for line in maps]
    code = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for row in rows:
            start, end = (int(word, 16) for word in row[0].split("-"))
            if "x" in row[1] and row[-1] != "[vsyscall]":
                memory.seek(start)
                code.append((row[0], memory.read(end - start)))
    return code


def mapped_bytes(pid, name):
    """Of each mapping of a memory file."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        rows = [line.split() for line in maps if line.rstrip().endswith(f" {name} (deleted)")]
    return [int(end, 16) - int(start, 16) for start, end in (row[0].split("-") for row in rows)]


def heap_is_known():
    """Whether msrec knows the structures of this machine's malloc, and so counts blocks from before (glibc_heap.c)."""
    name, version = platform.libc_ver()
    return name == "glibc" and tuple(map(int, version.split("."))) <= (2, 43)


class Tests:
    said = ""

    def __init__(self, options, folder):
        self.build, self.folder, self.long = options.build, folder, options.long
        self.cycles, self.instants = options.cycles, options.instants
        self.program = options.build.file("tests/cli/attach_program")
        self.plugin = options.build.file("tests/cli/plugin_one.so")

    # ---- msrec ----

    def path(self, name):
        return os.path.join(self.folder, name)

    def msrec(self, pid, *options, trace="t.zst"):
        """Begins to record; the recording is on when this returns. Busy threads may ask for another attempt."""
        command = [self.build.msrec, "-v", "-f", "-o", self.path(trace), f"--pid={pid}", *options]
        for _ in range(ATTEMPTS):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=plain_environment(),
                                       cwd=self.folder)
            said = ""
            while "attached to" not in said:
                line = process.stderr.readline()
                if not line:
                    break
                said += line
            else:
                self.said = said
                return process
            process.wait()
            if "; try again" not in said:
                break
        raise AssertionError(f"msrec: {process.returncode}: {said}")

    def leave(self, process, number=signal.SIGINT):
        process.send_signal(number)
        _, said = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, (process.returncode, said)
        return said

    def attach_for(self, pid, seconds):
        process = self.msrec(pid)
        time.sleep(seconds)
        return self.leave(process)

    def refused(self, pid, text, *options):
        done = subprocess.run([self.build.msrec, "-o", self.path("no.zst"), f"--pid={pid}", *options],
                              capture_output=True, text=True, timeout=TIMEOUT, env=plain_environment())
        assert done.returncode == 125 and text in done.stderr, (done.returncode, text, done.stderr)
        assert not os.path.exists(self.path("no.zst"))
        return done.stderr

    def bytes(self):
        """That the trace's calls asked for."""
        done = subprocess.run([self.build / "analyze/msconvert", "-q", "--to=csv-stacks", self.path("t.zst")],
                              capture_output=True, text=True, check=True)
        return sum(int(row["alloc_bytes"]) for row in csv.DictReader(io.StringIO(done.stdout)))

    def check_counts(self, account, trace="t.zst"):
        """All threads stand still when msrec comes and goes: their calls are the trace's, one by one."""
        stats = self.build.stat(self.path(trace))
        wanted = dict(zip(KINDS, account))
        found = {"malloc": stats["malloc"], "calloc": stats["calloc"],
                 "realloc": stats["realloc_moved"] + stats["realloc_in_place"],
                 # One function has two names in libc.
                 "aligned": stats.get("aligned_alloc", 0) + stats.get("memalign", 0), "free": stats["free"]}
        wanted["malloc"] += wanted.pop("new")
        assert found == wanted, (found, wanted)
        assert stats["lost"] == stats["unknown"] == stats["implied"] == 0, stats
        return stats

    def check_head(self, census, off):
        """What msreport says first: that the recording began late, and whether it was off later."""
        done = subprocess.run([self.build / "analyze/msreport", "-q", self.path("t.zst")], capture_output=True,
                              text=True, check=True, env=plain_environment())
        said = " ".join(done.stdout.split())
        late = "has sizes, but no stacks" if census and heap_is_known() else "is in no figure"
        assert f"Recorded from within the run: what was live before {late}." in said, said[:500]
        assert ("Recording was off for some time" in said) == off, said[:500]

    # ---- what is recorded ----

    def test_account(self):
        """Twice, with work in between that no trace has."""
        with Program(self.program, str(THREADS)) as program:
            for rounds in (1000, 20000, 50):
                program.do("run 3000")
                program.do("account")
                msrec = self.msrec(program.pid)
                program.do(f"run {rounds}")
                account = [int(word) for word in program.do("account").split()]
                self.leave(msrec)
                program.do("run 100")
                self.check_counts(account[:6])
                assert self.bytes() == account[6], account
            self.check_head(True, False)
            program.end()

    def test_account_of_a_sample(self):
        """Then a recording of all."""
        with Program(self.program, str(THREADS)) as program:
            msrec = self.msrec(program.pid, "--sample=64k")
            program.do("run 20000")
            program.do("account")
            self.leave(msrec)
            assert 0 < self.build.stat(self.path("t.zst"))["malloc"] < 20000
            msrec = self.msrec(program.pid)
            program.do("run 5000")
            account = [int(word) for word in program.do("account").split()]
            self.leave(msrec)
            self.check_counts(account[:6])
            # The second attachment has left of the first one's memory the page with owners of rings.
            assert sorted(mapped_bytes(program.pid, "/memfd:msrec"))[0] == mmap.PAGESIZE
            program.end()

    def test_stacks(self):
        """Equal to libgcc's, call by call."""
        source = os.path.join(HERE, "linked_program.c")
        program = self.path("stacks")
        subprocess.run([*compiler(), "-O1", "-g", "-D_GNU_SOURCE", "-DWAIT", "-fno-builtin", "-pthread", source, "-o",
                        program, "-ldl"], check=True)
        linked = Linked(self.build)
        linked.folder = self.folder
        with Program(program, ready="") as process:
            # In read(), of system call number 0.
            assert until(lambda: open(f"/proc/{process.pid}/syscall", encoding="ascii").read().startswith("0 "))
            msrec = self.msrec(process.pid)
            out, _ = process.process.communicate("\n", timeout=TIMEOUT)
            msrec.communicate(timeout=TIMEOUT)
            assert process.process.returncode == 0 and msrec.returncode == 0
        stacks, counts, live = linked.account(out, 1 << 40)
        found = linked.stacks(self.path("t.zst"), program)
        assert len(stacks) > 100 and found == stacks, (len(stacks), len(found))
        stats = self.build.stat(self.path("t.zst"))
        assert stats["lost"] == stats["implied"] == stats["unknown"] == 0, stats
        assert 0 <= stats["malloc"] - counts["malloc"] <= 4, (stats, counts)
        assert 0 <= stats["blocks"] - live[1] <= 4 + stats["initial_blocks"], (stats, live)

    def test_children(self):
        """A child has a trace of its own; msrec leaves it, too, whether it has made a call or not."""
        source = self.path("forks.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char line[100];
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	fgets(line, sizeof(line), stdin);
	for (int i = 0; i < 2; i++) {
		int pid = fork();
		if (pid == 0) {
			if (i == 0)
				for (int k = 0; k < 33; k++)
					free(malloc(1000 + k));
			for (;;)
				pause();
		}
		printf("%d\n", pid);
	}
	for (;;)
		pause();
}
""")
        subprocess.run([*compiler(), "-fno-builtin", source, "-o", self.path("forks")], check=True)
        with Program(self.path("forks")) as program:
            before = mapped_code(program.pid)
            msrec = self.msrec(program.pid, trace="t.%p.zst")
            children = [int(program.do(""))]
            children.append(int(program.process.stdout.readline()))
            trace = self.path(f"t.{children[0]}.zst")
            assert until(lambda: os.path.exists(trace))
            self.leave(msrec)
            stats = self.build.stat(trace)
            assert stats["malloc"] == stats["free"] == 33, stats
            for pid in (program.pid, *children):
                after = dict(mapped_code(pid))
                assert all(after[place] == code for place, code in before), pid
            for pid in children:
                os.kill(pid, signal.SIGKILL)

    # ---- coming and going ----

    def cycle(self, cycles, threads, command):
        """Comes and goes while threads allocate, and one forks, loads and unloads, throws, and switches stacks."""
        stops = []
        with Program(self.program, str(threads), self.plugin) as program:
            program.do(command)
            for i in range(cycles):
                said = self.attach_for(program.pid, 0.01)
                stops += [float(word) for word in re.findall(r"times, ([0-9.]+) ms at most", said)]
                for trace in glob.glob(self.path("t*")):
                    if i + 1 < cycles:
                        os.remove(trace)
            program.do("halt")
            program.end()
        stops.sort()
        print(f"   longest stop of a cycle: median {stops[len(stops) // 2]} ms, 99th percentile "
              f"{stops[len(stops) * 99 // 100]} ms, most {stops[-1]} ms")
        assert len(stops) == cycles

    def test_cycles(self):
        """A thousand with fifty threads that pause as a server's do; a few with threads that never pause."""
        if self.long:
            self.cycle(self.cycles or 1000, 50, "free 10000")
        self.cycle(20 if self.long else 12, 50 if self.long else THREADS, "free")

    def test_left_as_it_was(self):
        """Behind each recording the program's code has the bytes that it had before."""
        with Program(self.program, "2") as program:
            before = mapped_code(program.pid)
            for _ in range(3):
                msrec = self.msrec(program.pid)
                during = dict(mapped_code(program.pid))
                assert any(during[place] != code for place, code in before)
                self.leave(msrec)
                after = dict(mapped_code(program.pid))
                assert all(after[place] == code for place, code in before)
                program.do("run 1000")
            program.end()

    def test_stop_and_duration(self):
        with Program(self.program, "2") as program:
            msrec = self.msrec(program.pid)
            program.do("run 100")
            done = subprocess.run([self.build.msrec, "mark", str(program.pid), "here"], capture_output=True, text=True,
                                  timeout=TIMEOUT)
            assert done.returncode == 0, done.stderr
            done = subprocess.run([self.build.msrec, "stop", str(program.pid)], capture_output=True, text=True,
                                  timeout=TIMEOUT)
            assert done.returncode == 0 and done.stdout.strip() == self.path("t.zst"), (done.stdout, done.stderr)
            msrec.communicate(timeout=TIMEOUT)
            assert msrec.returncode == 0
            msrec = self.msrec(program.pid, "--duration=1")
            msrec.communicate(timeout=TIMEOUT)
            assert msrec.returncode == 0
            program.end()

    def command(self, *words):
        done = subprocess.run([self.build.msrec, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_off_and_on(self):
        """While it is off, what comes is not recorded, and what goes is."""
        for options in ((), ("--usable", "--free-stacks"), ("--sample=4k",)):
            with Program(self.program, "4") as program:
                program.do("run 3000")
                msrec = self.msrec(program.pid, *options)
                counts = [0] * 6
                for state in ("on", "off", "on", "off", "off", "on"):
                    self.command(state, program.pid)
                    assert self.command("status", program.pid).split()[1] == state
                    program.do("account")
                    program.do("run 500")
                    account = [int(word) for word in program.do("account").split()]
                    counts = [n + more * (state == "on") for n, more in zip(counts, account)]
                self.leave(msrec)
                stats = self.build.stat(self.path("t.zst"))
                assert stats["lost"] == stats["unknown"] == stats["implied"] == 0, stats
                self.check_head("--sample=4k" not in options, True)
                if "--sample=4k" not in options:
                    assert stats["malloc"] == counts[0] + counts[4] and stats["calloc"] == counts[1], (stats, counts)
                    assert stats["realloc_moved"] + stats["realloc_in_place"] == counts[2], (stats, counts)
                    assert stats["memalign"] + stats["aligned_alloc"] == counts[3], (stats, counts)
                    assert stats["free"] + stats["realloc_free"] > counts[5] and stats["realloc_free"], (stats, counts)
                program.end()

    def test_msrec_killed(self):
        """At any time; the next one takes over."""
        chance = random.Random(1)
        with Program(self.program, "4", self.plugin) as program:
            program.do("free")
            for _ in range(300 if self.long else 15):
                process = subprocess.Popen([self.build.msrec, "-f", "-o", self.path("k.zst"), f"--pid={program.pid}"],
                                           stderr=subprocess.DEVNULL, env=plain_environment())
                time.sleep(chance.random() * 0.25)
                process.kill()
                process.wait()
            self.attach_for(program.pid, 0.05)
            program.do("halt")
            program.do("run 100")
            program.do("account")
            msrec = self.msrec(program.pid)
            program.do("run 2000")
            account = [int(word) for word in program.do("account").split()]
            self.leave(msrec)
            self.check_counts(account[:6])
            program.end()

    def killed_at(self, stop, pid):
        """Attaches and leaves, killed where it begins or ends its STOP-th system call. Returns how many there were, and
        whether it was killed."""
        command = [self.build.msrec, "-v", "-f", "-o", self.path("k.zst"), f"--pid={pid}"]
        process = subprocess.Popen([self.build.file("tests/tools/kill_at"), str(stop), *command], text=True,
                                   start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=plain_environment())
        said = ""
        for line in process.stderr:
            said += line
            if "attached to" in line:
                os.killpg(process.pid, signal.SIGINT)
        count, how, *status = process.stdout.read().split()
        process.stdout.close()
        process.stderr.close()
        assert process.wait(TIMEOUT) == 0, process.returncode
        assert how == "killed" or status in (["0"], ["125"]), (how, status, said)
        if status == ["125"] and "; try again" not in said:
            assert "did not answer its recorder in time" in said, said
            self.refusals.append(said)
        return int(count), how == "killed"

    def test_msrec_killed_at_each_instant(self):
        """Wherever it is with attaching and leaving, the program lives on, and can be attached to again."""
        with Program(self.program, "4", self.plugin) as program:
            program.do("free 1000")
            self.refusals = []
            counts = [self.killed_at(0, program.pid)[0] for _ in range(3)]
            stops = range(1, max(counts) + 1)
            stops = random.Random(2).sample(stops, min(self.instants or (2000 if self.long else 25), len(stops)))
            kills = sum(self.killed_at(stop, program.pid)[1] for stop in stops)
            # Some are behind the end: how many calls it makes depends on when it finds the threads, so on other work.
            self.attach_for(program.pid, 0.05)
            program.do("halt")
            program.end()
            print(f"{kills} kills at {len(stops)} instants of {min(counts)} to {max(counts)}")
            assert kills, (stops, counts)
            # Seen once in some thousands of attempts behind a kill: "did not answer its recorder in time".
            assert len(self.refusals) <= 1 + len(stops) // 1000, self.refusals
            for said in self.refusals:
                print("   refused: " + said.strip().replace("\n", "; "))

    def test_program_ends(self):
        """While it is recorded."""
        with Program(self.program, "2") as program:
            msrec = self.msrec(program.pid)
            program.do("run 5000")
            program.do("account")
            program.end()
            msrec.communicate(timeout=TIMEOUT)
            assert msrec.returncode == 0 and self.build.stat(self.path("t.zst"))["malloc"] > 1000

    # ---- other programs ----

    def test_python(self):
        code = "import json\nwhile 1:\n  print(sum(len(json.dumps([i] * 500)) for i in range(300)), flush=True)"
        with Program("/usr/bin/python3", "-c", code, ready="") as program:
            wanted = program.process.stdout.readline()
            for _ in range(3):
                self.attach_for(program.pid, 0.2)
                assert self.build.stat(self.path("t.zst"))["malloc"] > 0
                assert program.process.stdout.readline() == wanted
            head = subprocess.run([self.build / "analyze/msreport", "-q", self.path("t.zst")], capture_output=True,
                                  text=True, check=True, env=plain_environment()).stdout
            assert ", 1 thread," in head, head[:200]

    def test_perl(self):
        if not have("perl"):
            return "perl is not installed"
        code = "$|=1; while (1) { my %h; $h{$_} = 'x' x $_ for 1..300; print scalar(keys %h), qq(\\n); }"
        with Program("perl", "-e", code, ready="") as program:
            for _ in range(3):
                self.attach_for(program.pid, 0.1)
                assert program.process.stdout.readline() == "300\n"
        return None

    def test_redis(self):
        """jemalloc, as a library; a command is answered right before, during and after."""
        if not have("redis-server"):
            return "redis-server is not installed"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", self.folder],
                                  stdout=subprocess.DEVNULL, env=plain_environment())
        try:
            assert until(lambda: self.ask(port, "PING") == "+PONG")
            for i in range(3):
                msrec = self.msrec(server.pid)
                for k in range(300):
                    assert self.ask(port, f"SET key{k} {'x' * (k + i + 1)}") == "+OK"
                    assert self.ask(port, f"STRLEN key{k}") == f":{k + i + 1}"
                self.leave(msrec)
                stats = self.build.stat(self.path("t.zst"))
                assert stats["malloc"] > 300 and stats["lost"] == 0, stats
                assert self.ask(port, "PING") == "+PONG"
        finally:
            server.kill()
            server.wait()
        return None

    @staticmethod
    def ask(port, command):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(command.encode() + b"\r\n")
            return connection.makefile("rb").readline().decode().strip()

    # ---- other users and namespaces ----

    def test_namespaces(self):
        """A process with ids, a /proc and mounts of its own, which does not see msrec."""
        if os.geteuid() != 0 or not have("unshare"):
            return "needs root and unshare"
        for more in ((), ("--user", "--map-root-user", "--net", "--ipc", "--uts")):
            said = self.in_namespaces(*more)
            if said:
                return said
        return None

    def in_namespaces(self, *more):
        words = ("unshare", *more, "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                 f"mount -t tmpfs none /mnt; exec {self.program} 2")
        with Program(*words, ready="") as program:
            said = program.process.stdout.readline()
            if said != "ready\n":
                return "namespaces cannot be made here"
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as children:
                pid = int(children.read().split()[0])
            msrec = self.msrec(pid)
            program.do("account")
            program.do("run 500")
            account = [int(word) for word in program.do("account").split()]
            self.leave(msrec)
            self.check_counts(account[:6])
            program.end()
        return None

    def test_chroot(self):
        """A root directory with a program and its libraries alone is refused, and one with /proc, too, is not."""
        if os.geteuid() != 0 or not have("unshare"):
            return "needs root and unshare"
        chroot = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin")
        root = self.path("root")
        listed = subprocess.run(["ldd", self.program], capture_output=True, text=True, check=True).stdout
        for path in [self.program, *re.findall(r"/\S+", listed)]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        with Program(chroot, root, self.program, "2") as program:
            self.untouched(program.pid, "has no /proc in its root directory, by which the recorder comes in: "
                           f"mount -t proc proc {root}/proc")
            program.end()
        os.mkdir(root + "/proc")
        words = ("unshare", "--mount", "sh", "-c",
                 f"mount -t proc proc {root}/proc && echo mounted; exec {chroot} {root} {self.program} 2")
        with Program(*words, ready="") as program:
            if program.process.stdout.readline() != "mounted\n":
                return "namespaces cannot be made here"
            assert program.process.stdout.readline() == "ready\n"
            msrec = self.msrec(program.pid)
            program.do("account")
            program.do("run 500")
            account = [int(word) for word in program.do("account").split()]
            self.leave(msrec)
            self.check_counts(account[:6])
            program.end()
        return None

    def test_ordinary_user(self):
        """Without any rights but to its own processes."""
        if os.geteuid() != 0:
            return None     # then all tests are that one
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        folder = self.path("theirs")
        os.mkdir(folder)
        os.chmod(self.folder, 0o755)
        os.chown(folder, 65534, 65534)
        with Program(*user, self.program, "2") as program:
            program.do("run 100")
            done = subprocess.run([*user, self.build.msrec, f"--pid={program.pid}", "--duration=1", "-o",
                                   os.path.join(folder, "t.zst")], capture_output=True, text=True, timeout=TIMEOUT,
                                  env=plain_environment())
            counted = "blocks of" if heap_is_known() else "its blocks from before are not known"
            assert done.returncode == 0 and counted in done.stderr, done.stderr
            program.end()
        return None

    # ---- refusals ----

    def untouched(self, pid, text, *options):
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
            before = maps.read()
        code = mapped_code(pid)
        said = self.refused(pid, text, *options)
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
            assert maps.read() == before
        assert mapped_code(pid) == code
        return said

    def test_refused_states(self):
        with Program(self.program, "1") as program:
            os.kill(program.pid, signal.SIGSTOP)
            assert until(lambda: "T (" in open(f"/proc/{program.pid}/status", encoding="ascii").read())
            self.untouched(program.pid, f"is stopped by a signal; kill -CONT {program.pid}")
            os.kill(program.pid, signal.SIGCONT)
            with open(f"/proc/{program.pid}/task/{program.pid}/status", encoding="ascii") as status:
                assert "T (" not in status.read()
            other = next(tid for tid in os.listdir(f"/proc/{program.pid}/task") if int(tid) != program.pid)
            self.refused(other, f"is a thread of process {program.pid}")
            program.end()
        with subprocess.Popen(["true"]) as process:
            assert until(lambda: "Z (" in open(f"/proc/{process.pid}/status", encoding="ascii").read())
            self.refused(process.pid, "has ended (a zombie")
        self.refused(process.pid, "does not exist")
        if os.path.exists("/proc/2/status"):     # not in a namespace of its own
            self.refused(2, "is the kernel's own" if os.geteuid() == 0 else "")

    def test_refused_recorded(self):
        with Program(self.program, "1") as program:
            msrec = self.msrec(program.pid)
            self.refused(program.pid, "is recorded by msrec already")
            self.leave(msrec)
            self.attach_for(program.pid, 0.01)
            program.end()
        with Program(self.build.msrec, "-q", "-o", self.path("p.zst"), self.program, "1") as msrec:
            with open(f"/proc/{msrec.pid}/task/{msrec.pid}/children", encoding="ascii") as children:
                pid = int(children.read().split()[0])
            self.untouched(pid, "is recorded by msrec already")
            msrec.process.kill()
            msrec.process.wait()
            assert until(lambda: "was started by an msrec that has ended" in
                         self.refused_with(pid), 10)
            os.kill(pid, signal.SIGKILL)

    def refused_with(self, pid):
        return subprocess.run([self.build.msrec, f"--pid={pid}"], capture_output=True, text=True, timeout=TIMEOUT,
                              cwd=self.folder).stderr

    def test_refused_traced(self):
        if not have("strace"):
            return "strace is not installed"
        with Program(self.program, "1") as program:
            with subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(program.pid)],
                                  stderr=subprocess.DEVNULL) as tracer:
                status = f"/proc/{program.pid}/status"
                assert until(lambda: "TracerPid:\t0" not in open(status, encoding="ascii").read())
                self.refused(program.pid, f"is traced by process {tracer.pid}")
                tracer.terminate()
            self.attach_for(program.pid, 0.01)
            program.end()
        return None

    def compiled(self, name, text, *options):
        source = self.path(name + ".c")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        done = subprocess.run([*compiler(), "-D_GNU_SOURCE", source, "-o", self.path(name), *options],
                              capture_output=True, text=True)
        return self.path(name) if done.returncode == 0 else None

    WAITING = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { BEGIN puts("ready"); fflush(stdout); ' \
              'for (;;) pause(); }\n'

    def test_refused_programs(self):
        plain = self.WAITING.replace("BEGIN", "")
        for name, text, options, said in (("static", plain, ["-static"], "is statically linked"),
                                          ("asan", plain, ["-fsanitize=address"], "AddressSanitizer"),
                                          ("narrow", plain, ["-m32"], "is a 32-bit program")):
            path = self.compiled(name, text, *options)
            if not path:
                print(f"   {name}: cannot be compiled here")
                continue
            with Program(path) as program:
                self.untouched(program.pid, said)

    # ---- programs with a seccomp filter ----

    # What confinement.c has, and what this program itself does.
    NEEDED = "memfd_create mmap mprotect munmap brk madvise open readlink openat readlinkat newfstatat fstat read " \
             "pread64 pwrite64 close getcwd getrandom getpid gettid futex rt_sigprocmask rt_sigreturn " \
             "restart_syscall sched_yield membarrier clock_gettime prlimit64".split()
    OWN = "write exit_group".split()

    def confined(self, name, listed, answer, other, setup="", user=()):
        """A program that calls malloc(1000) and free for each line that it reads. `listed` system calls have that
        answer, all others the `other`."""
        path = self.compiled(name, r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static const unsigned listed[] = { LISTED };
#define N (sizeof(listed) / sizeof(*listed))
static void confine(void)
{
	struct sock_filter f[2 * N + 2] = { { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) } };
	struct sock_fprog p = { 2 * N + 2, f };

	for (size_t i = 0; i < N; i++) {
		f[2 * i + 1] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, listed[i] };
		f[2 * i + 2] = (struct sock_filter){ BPF_RET | BPF_K, 0, 0, ANSWER };
	}
	f[2 * N + 1] = (struct sock_filter){ BPF_RET | BPF_K, 0, 0, OTHER };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		_exit(3);
}
int main(void)
{
	static char line[100], out[100];

	setvbuf(stdin, line, _IOLBF, sizeof(line));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	SETUP confine();
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		char *volatile p = malloc(1000);

		free(p);
		puts(strcmp(line, "check\n") ? "done" : "right");
	}
	_exit(0);
}
""", f"-DLISTED={','.join('SYS_' + call for call in listed)}", f"-DANSWER={answer}", f"-DOTHER={other}",
                             f"-DSETUP={setup}")
        assert path
        return Program(*user, path)

    def recorded(self, program):
        for _ in range(2):
            msrec = self.msrec(program.pid)
            for _ in range(5):
                program.do("x")
            self.leave(msrec)
            stats = self.build.stat(self.path("t.zst"))
            assert stats["malloc"] == stats["free"] == 5, stats
        program.end()

    def test_filters(self):
        """A filter as containers have it denies what no recorder needs; another kills at all but what is needed."""
        if os.geteuid() != 0:
            return "needs root"
        denied = "acct add_key bpf clone3 delete_module init_module keyctl mount perf_event_open ptrace reboot " \
                 "setns swapon umount2 unshare userfaultfd".split()
        with self.confined("container", denied, "SECCOMP_RET_ERRNO|EPERM", "SECCOMP_RET_ALLOW") as program:
            self.recorded(program)
        with self.confined("narrowest", self.NEEDED + self.OWN, "SECCOMP_RET_ALLOW",
                           "SECCOMP_RET_KILL_PROCESS") as program:
            self.recorded(program)
        return None

    def test_refused_filters(self):
        """One needed call is denied."""
        if os.geteuid() != 0:
            return "needs root"
        for call in ("memfd_create", "futex", "sched_yield"):
            with self.confined("denied", [call], "SECCOMP_RET_KILL_PROCESS", "SECCOMP_RET_ALLOW") as program:
                self.untouched(program.pid, f"has a seccomp filter that does not allow {call}")
                program.end()
        with self.confined("strict", [], "0", "SECCOMP_RET_ALLOW",
                           "return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), puts(\"ready\"), getchar();"
                           ) as program:
            self.untouched(program.pid, "may make no system call but read, write and exit")
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        os.chmod(self.folder, 0o755)
        with self.confined("other", ["acct"], "SECCOMP_RET_ERRNO|EPERM", "SECCOMP_RET_ALLOW",
                           user=user) as program:
            done = subprocess.run([*user, self.build.msrec, f"--pid={program.pid}", "-o", "/tmp/never"],
                                  capture_output=True, text=True, env=plain_environment(), timeout=TIMEOUT)
            assert done.returncode == 125 and "only root outside of such filters may see" in done.stderr, done.stderr
            program.end()
        return None

    def test_refused_options(self):
        for options in (["--pages"], ["--dormant"], ["--engine=valgrind"], ["--trace-children"], ["--check=peak<=1G"]):
            self.refused(os.getpid(), "needs the recorder from the program's start", *options)
        self.refused(os.getpid(), "no program is started", "true")

    def test_refused_user(self):
        """Another user's process, and an own one that root has made undumpable."""
        if os.geteuid() != 0:
            return "needs root"
        with Program("sleep", "100", ready="") as program:
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.build.msrec,
                                   f"--pid={program.pid}", "-o", "/tmp/never"], capture_output=True, text=True,
                                  env=plain_environment())
            assert done.returncode == 125 and "belongs to user 0" in done.stderr, done.stderr
        with Program("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.program, "1") as program:
            msrec = self.msrec(program.pid)     # as root
            program.do("run 100")
            self.leave(msrec)
            program.end()
        return None


if __name__ == "__main__":
    sys.exit(run_methods(__doc__, Tests, "--long", ("--cycles", {
        "type": int, "default": 0, "help": "of attaching, of test_cycles, with --long (1000)"}), ("--instants", {
        "type": int, "default": 0, "help": "at which msrec is killed (25; with --long 2000)"})))
