#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests to a recording that runs: msrec mark, on, off, snapshot, rotate, stop and status.

  live.py --build DIR [--only WORD]
"""

import contextlib
import glob
import json
import os
import re
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools")]
from harness import plain_environment, run_in_folders, until    # noqa: E402

TOOLS = {"msrec": "trace-record/msrec", "convert": "analyze/msconvert", "dump": "tests/tools/tracedump",
         "report": "analyze/msreport"}


class Program:
    """live_program under msrec."""

    def __init__(self, tests, *options):
        self.process = subprocess.Popen([tests.build.msrec, "-f", "-o", "t.zst", *options, "--", tests.program],
                                        cwd=tests.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=plain_environment())
        self.msrec = self.process.pid
        self.pid = 0

    @staticmethod
    def children(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]

    def do(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "ok\n", line

    def end(self):
        _, said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, said
        return said


class Tests:
    folder, said = None, ""

    def __init__(self, build):
        self.build = build
        self.program = build.file("tests/cli/live_program")

    def run(self, tool, *words, status=0):
        done = subprocess.run([self.build.file(TOOLS[tool]), *map(str, words)], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, env=plain_environment(), errors="backslashreplace")
        assert done.returncode == status, f"{tool} {words}: status {done.returncode}: {done.stderr}"
        self.said = done.stderr
        return done.stdout

    def start(self, *options):
        program = Program(self, *options)
        program.do("alloc 1 8")     # the program has begun
        assert until(lambda: self.known(program.msrec))
        program.pid = int(self.run("msrec", "status", program.msrec).split()[0])
        return program

    def known(self, pid):
        return subprocess.run([self.build.msrec, "status", str(pid)], capture_output=True, timeout=60).returncode == 0

    def events(self, trace):
        return [json.loads(line) for line in self.run("convert", "-q", "--to=ndjson", "-o", "-", trace).splitlines()]

    def marks(self, trace):
        return re.findall(r"^mark record=\d+ time=\d+ thread=\S+ ?(.*)",
                          self.run("dump", trace).replace("\\x20", " "), re.M)

    def live(self, trace, at="end"):
        words = ("-q", "--format=json", "peak", f"--at={at}", "--function=obey", trace)
        return json.loads(self.run("report", *words))["sections"]["peak"]["bytes"]

    # ---- the cases ----

    def test_mark(self):
        """A mark lies between what the program did before the command and what it did after."""
        program = self.start()
        program.do("alloc 10 1000")
        self.run("msrec", "mark", program.pid, "ready to go")
        program.do("alloc 10 100", "free 5")
        self.run("msrec", "mark", program.pid)
        self.run("msrec", "mark", program.msrec, "x" * 255)
        program.end()
        assert self.marks("t.zst") == ["ready to go", "mark", "x" * 255], self.marks("t.zst")
        assert self.live("t.zst", "mark:ready to go") == 10008
        assert self.live("t.zst", "mark:mark") == 10508

    def test_mark_family(self):
        """A process has its own marks; msrec's id means all."""
        program = self.start()
        program.do("fork", "alloc 1 8")
        assert until(lambda: len(self.run("msrec", "status", program.msrec).splitlines()) == 2)
        child = Program.children(program.pid)[0]
        self.run("msrec", "mark", child, "child")
        self.run("msrec", "mark", program.msrec, "all")
        program.end()
        assert self.marks("t.zst") == ["all"] and self.marks(f"t.{child}.zst") == ["child", "all"]

    def test_many_marks(self):
        program = self.start()
        for i in range(50):
            self.run("msrec", "mark", program.pid, i)
            program.do("alloc 1 8")
        program.end()
        for i in range(50):
            assert self.live("t.zst", f"mark:{i}") == 8 + 8 * i, i

    def test_snapshot(self):
        """The copy is complete and has what was recorded so far; the recording goes on."""
        program = self.start()
        program.do("alloc 100 1000")
        first = self.run("msrec", "snapshot", program.pid).strip()
        assert first == os.path.join(self.folder, "t.snapshot.zst"), first
        self.run("report", "-q", first)
        assert self.said == "", self.said
        assert self.live(first) == 100008
        program.do("free 50")
        second = self.run("msrec", "snapshot", program.pid).strip()
        assert second.endswith("t.snapshot-2.zst") and self.live(second) == 50008
        program.do("alloc 1 1")
        program.end()
        assert self.live("t.zst") == 50009
        assert self.build.stat(os.path.join(self.folder, "t.zst"))["lost"] == 0

    def test_rotate(self):
        program = self.start()
        program.do("alloc 100 1000")
        self.run("msrec", "mark", program.pid, "one")
        old = self.run("msrec", "rotate", program.pid).strip()
        assert old == os.path.join(self.folder, "t.zst"), old
        self.run("report", "-q", old)
        assert self.said == "" and self.live(old) == 100008
        self.run("msrec", "mark", program.pid, "two")
        program.do("free 50", "alloc 1 1")
        assert self.run("msrec", "rotate", program.pid).strip().endswith("t.zst.2")
        program.end()
        assert self.live("t.zst.2") == self.live("t.zst.3") == 50009
        assert [self.marks(name) for name in ("t.zst", "t.zst.2", "t.zst.3")] == [["one"], ["two"], []]

    def test_stop(self):
        program = self.start()
        program.do("alloc 10 1000")
        self.run("msrec", "stop", program.pid)
        program.do("alloc 10 1000")
        assert f"{program.pid} stopped" in self.run("msrec", "status", program.pid)
        self.run("msrec", "mark", program.pid, "x", status=1)
        assert "its recording has ended" in self.said, self.said
        assert "recording has ended, the program goes on" in program.end()
        assert self.live("t.zst") == 10008

    def test_refused(self):
        """Not recorded, gone, not a number, too long: a sentence each, and the recording is as it was."""
        program = self.start()
        for words, status, said in ((("mark", os.getpid()), 1, "is not recorded"),
                                    (("mark", 4194305), 1, "there is no such process"),
                                    (("mark", "x"), 125, "needs the id"), (("mark",), 125, "needs the id"),
                                    (("stop", "-1"), 125, "needs the id"), (("stop", "0"), 125, "needs the id"),
                                    (("rotate", program.pid, "x"), 125, "needs the id"),
                                    (("mark", program.pid, "x" * 256), 125, "at most 255 bytes")):
            self.run("msrec", *words, status=status)
            assert said in self.said, (words, self.said)
        program.end()
        assert self.marks("t.zst") == []

    def test_refused_options(self):
        for options, verbs, said in ((("--check=errors==0",), ("rotate", "stop"), "--check needs whole recordings"),
                                     (("--pages",), ("rotate",), "only with --rotate")):
            program = self.start(*options)
            for verb in verbs:
                self.run("msrec", verb, program.pid, status=1)
                assert said in self.said, self.said
            program.end()

    def test_program_of_that_name(self):
        with open(os.path.join(self.folder, "mark"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 7\n")
        os.chmod(os.path.join(self.folder, "mark"), 0o755)
        self.run("msrec", "-q", "-o", "m.zst", "--", "./mark", status=7)
        self.run("msrec", "-q", "-f", "-o", "m.zst", "./mark", status=7)

    @staticmethod
    def socket_of(pid):
        """The name of msrec's socket; recordings of other tests have theirs."""
        folder = f"/proc/{pid}/fd"
        with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
            names = dict(re.findall(r"(\d+) @(msrec-\d+-[0-9a-f]{16})$", file.read(), re.M))
        found = set()
        for link in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):    # msrec has closed it
                number = re.sub(r"socket:\[(\d+)\]", r"\1", os.readlink(f"{folder}/{link}"))
                found |= {names[number]} if number in names else set()
        name, = found
        return name

    def test_hostile_peers(self):
        """Silent, short, long, wrong, many: the recording goes on and answers."""
        program = self.start()
        name = "\0" + self.socket_of(program.msrec)
        held = []
        for message in (b"", b"x", b"\0" * 272, b"y" * 4096, None, b"z" * 100000):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            peer.connect(name)
            if message is not None:
                peer.send(message)
            held.append(peer)
        for _ in range(12):     # more than msrec takes at a time
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            peer.setblocking(False)
            try:
                peer.connect(name)
            except BlockingIOError:
                pass
            held.append(peer)
        program.do("alloc 10 1000")
        self.run("msrec", "mark", program.pid, "still here")
        program.end()
        assert self.marks("t.zst") == ["still here"]
        assert self.live("t.zst") == 10008

    def test_stuck_recordings(self):
        """What never answers, or takes no connection, keeps others from answering for a moment only."""
        code = ("import re, socket, subprocess, sys, time\n"
                "msrec, uid = sys.argv[1:]\n"
                "held = []\n"
                "def listen(i):\n"
                "    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                "    s.bind(f'\\0msrec-{uid}-stuck{i}')\n"
                "    s.listen(0)\n"
                "    held.append(s)\n"
                "def fill(i):\n"
                "    for _ in range(3):\n"
                "        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                "        s.setblocking(False)\n"
                "        held.append(s)\n"
                "        s.connect(f'\\0msrec-{uid}-stuck{i}')\n"
                "for i in range(4):\n"
                "    listen(i)\n"
                "    try:\n"
                "        fill(i) if i % 2 else None\n"
                "    except BlockingIOError:\n"
                "        pass\n"
                "ours = subprocess.Popen([msrec, '-f', '-o', 't.zst', 'sleep', '60'])\n"
                "end = time.monotonic() + 30\n"
                "while len(set(re.findall('@(msrec-.*)', open('/proc/net/unix').read()))) < 5:\n"
                "    assert time.monotonic() < end\n"
                "    time.sleep(0.01)\n"
                "begin = time.monotonic()\n"
                "done = subprocess.run([msrec, 'status', str(ours.pid)], capture_output=True, text=True)\n"
                "took = time.monotonic() - begin\n"
                "ours.terminate()\n"
                "ours.wait()\n"
                "assert done.returncode == 0 and took < 5, (done, took)\n")
        away = ["unshare", "--user", "--map-root-user", "--net"]    # from other tests' recordings
        if subprocess.run([*away, "true"], capture_output=True, timeout=60).returncode:
            return "no network namespace of its own"
        done = subprocess.run([*away, sys.executable, "-c", code, self.build.msrec, "0"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, env=plain_environment())
        assert done.returncode == 0, done.stderr
        return None

    def test_other_users(self):
        """Another user is refused by the recording itself, whatever the client thinks."""
        if os.geteuid() != 0:
            return
        program = self.start()
        name = self.socket_of(program.msrec)
        code = ("import os, socket, struct, sys\n"
                "os.setuid(65534)\n"
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                f"s.connect('\\0{name}')\n"
                "sys.exit(struct.unpack('<QII', s.recv(70000)[:16])[1])\n")
        assert subprocess.run(["python3", "-c", code], timeout=60).returncode == 4
        done = subprocess.run(["python3", "-c", f"import os; os.setuid(65534); os.execv({self.build.msrec!r}, "
                               f"['msrec', 'stop', '{program.pid}'])"], capture_output=True, text=True, timeout=60)
        assert done.returncode in (1, 126) or "another user" in done.stderr, (done.returncode, done.stderr)
        program.do("alloc 10 1000")
        assert f"{program.pid} on" in self.run("msrec", "status", program.pid)
        program.end()
        assert self.live("t.zst") == 10008

    # ---- on and off ----

    def errors(self, trace):
        section = json.loads(self.run("report", "-q", "--format=json", "errors", trace))["sections"]["errors"]
        return section.get("before", 0), section["unknown_blocks"], section["double_frees"], section["mismatches"]

    def phases(self, trace):
        return [e["operation"] for e in self.events(trace) if e["operation"] in ("on", "off", "fork")]

    def switched(self, switch):
        """Three phases: on from the beginning, off, on. Both ways to switch are the same to the trace."""
        program = self.start()
        program.do("alloc 10 1000")
        switch(program, "off")
        program.do("alloc 20 100", "oldest 5", "free 2", "realloc 5000")
        switch(program, "on")
        program.do("alloc 1 7", "free 10", "oldest 3", "realloc 77")
        program.end()
        # 8 + 10 * 1000; off: the oldest 5 are 8 and 4 * 1000; on: 7 comes and goes; 9 unknown go; 3 * 1000 go; a block
        # of 100 becomes one of 77.
        assert self.phases("t.zst") == ["off", "on"]
        assert self.live("t.zst") == 3077, self.live("t.zst")
        assert self.errors("t.zst") == (10, 0, 0, 0), self.errors("t.zst")
        assert self.build.stat(os.path.join(self.folder, "t.zst"))["lost"] == 0
        self.run("report", "t.zst")
        assert "recording was off for some time" in self.said and "never seen" not in self.said, self.said

    def request(self, program, word):
        self.run("msrec", word, program.pid)

    def test_switched_from_outside(self):
        self.switched(self.request)

    def test_switched_from_inside(self):
        self.switched(lambda program, word: program.do(word))

    def test_so_far(self):
        """A trace that is still recorded is no damaged one; when msrec is killed, it is cut."""
        for kill in (False, True):
            program = self.start()
            program.do("alloc 10 1000")
            self.run("msrec", "status", program.pid)
            shown = self.run("report", "t.zst", status=1)
            assert "still running" in shown and "peak        9.77 KiB" in shown, shown
            assert "This is about what is recorded so far." in shown, shown
            assert "is still being recorded; the " in self.said and "no end mark" not in self.said, self.said
            gate = self.run("report", "--check=peak<=1G", "t.zst", status=2)
            assert "cannot be verified: the trace is still being recorded" in " ".join(gate.split()), gate
            assert "recorded so far" in self.run("report", "--diff=t.zst", "t.zst", status=1)
            if kill:
                program.process.kill()
                program.process.communicate()
                shown = self.run("report", "t.zst", status=1)
                assert "the end is missing" in shown and "no end mark" in self.said, (shown, self.said)
            else:
                program.end()
                assert "exit 0" in self.run("report", "t.zst") and "still" not in self.said, self.said

    def follow(self, trace, stdin, steps):
        """Follows a trace by msreport; `steps` are (live bytes, what is to be done when an answer has them)."""
        words = "-q --follow --delay=0.2 --format=json peak --at=end --function=obey".split()
        text, seen = "", []
        with subprocess.Popen([self.build.file(TOOLS["report"]), *words, trace], cwd=self.folder, stdin=stdin,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=plain_environment()) as follower:
            for line in follower.stdout:
                text += line
                try:
                    seen.append(json.loads(text)["sections"]["peak"]["bytes"])
                except ValueError:
                    continue    # the answer has more lines
                text = ""
                if steps and seen[-1] == steps[0][0]:
                    steps.pop(0)[1]()
            said = follower.stderr.read()
        assert follower.returncode == 0 and not said, (follower.returncode, said)
        assert not steps and not text, (steps, seen, text)
        return seen

    def test_follow(self):
        """msreport --follow answers again as the trace grows; the last answer is about all of it."""
        program = self.start()
        seen = self.follow("t.zst", None, [(8, lambda: program.do("alloc 10 1000")),
                                           (10008, lambda: program.do("free 5")),
                                           (5008, lambda: program.do("alloc 1 300")), (5308, program.end)])
        assert seen[-1] == 5308, seen

    def test_follow_a_pipe(self):
        """The same through a pipe."""
        with subprocess.Popen([self.build.msrec, "-q", "-o", "-", "--", self.program], cwd=self.folder, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=plain_environment()) as recorder:
            def do(line):
                recorder.stdin.write(line + "\n")
                recorder.stdin.flush()
                assert recorder.stderr.readline() == "ok\n"
            do("alloc 1 8")
            seen = self.follow("-", recorder.stdout, [(8, lambda: do("alloc 10 1000")), (10008, lambda: do("free 5")),
                                                      (5008, recorder.stdin.close)])
            assert seen[-1] == 5008 and recorder.wait() == 0, seen

    def test_switched_twice(self):
        """Again what it is already: nothing changes."""
        program = self.start()
        for words in ("on", "on", "off", "off", "on"):
            program.do(words)
            self.request(program, words)
        program.do("alloc 1 100")
        program.end()
        assert self.phases("t.zst") == ["off", "on"] and self.live("t.zst") == 108

    def test_dormant(self):
        """Nothing is recorded before; what came before is known as that, not as an error."""
        for switch in (self.request, lambda program, word: program.do(word)):
            program = self.start("--dormant")
            assert f"{program.pid} dormant" in self.run("msrec", "status", program.pid)
            program.do("alloc 10 1000", "free 5", "realloc 2000")
            switch(program, "on")
            assert f"{program.pid} on" in self.run("msrec", "status", program.pid)
            program.do("alloc 4 50", "free 3", "oldest 2", "free 1", "realloc 3000", "alloc 1 11")
            program.end()
            calls = [e for e in self.events("t.zst") if e["operation"] not in ("off", "on", "start", "exit")]
            assert self.phases("t.zst") == ["off", "on"] and len(calls) <= 12, calls
            assert self.live("t.zst") == 3011, self.live("t.zst")
            assert self.errors("t.zst") == (3, 0, 0, 0), self.errors("t.zst")

    def test_dormant_to_the_end(self):
        program = self.start("--dormant")
        program.do("alloc 10 1000", "free 5")
        program.end()
        assert [e["operation"] for e in self.events("t.zst")] == ["start", "off", "exit"]

    def test_off_in_parts(self):
        """Files of a rotation, and forked children, know that recording is off or was."""
        program = self.start("--dormant")
        program.do("alloc 10 1000")
        self.request(program, "on")
        program.do("alloc 10 100")
        self.run("msrec", "rotate", program.pid)
        program.do("oldest 1")
        self.request(program, "off")
        self.run("msrec", "rotate", program.pid)
        program.do("oldest 1", "free 2", "alloc 1 1")
        program.do("fork", "free 1")
        assert until(lambda: len(self.run("msrec", "status", program.msrec).splitlines()) == 2)
        child = Program.children(program.pid)[0]
        self.request(program, "off")
        self.run("msrec", "on", child)
        program.do("oldest 1", "alloc 1 5")
        program.end()
        assert [self.errors(name) for name in ("t.zst.2", "t.zst.3")] == [(1, 0, 0, 0), (0, 0, 0, 0)]
        assert [self.live(name) for name in ("t.zst", "t.zst.2", "t.zst.3")] == [1000, 1000, 800]
        name = [name for name in os.listdir(self.folder) if f".{child}." in name][0]
        assert self.errors(name) == (1, 0, 0, 0) and self.live(name) == 805, (self.errors(name), self.live(name))

    def test_cut_while_off(self):
        """A cut that begins while recording is off, or after that, knows it."""
        program = self.start()
        program.do("alloc 10 1000")
        self.request(program, "off")
        program.do("alloc 20 100")
        self.request(program, "mark")
        program.do("free 3")
        self.request(program, "on")
        program.do("alloc 1 7")
        self.run("msrec", "mark", program.pid, "on again")
        program.do("free 3", "oldest 2")
        program.end()
        for name in ("mark", "on again"):
            self.run("convert", "-q", "--to=trace", f"--from=mark:{name}", "-o", "cut.zst", "t.zst")
            assert self.phases("cut.zst") == ["off", "on"], (name, self.phases("cut.zst"))
            assert self.errors("cut.zst") == (2, 0, 0, 0), (name, self.errors("cut.zst"))
            assert self.live("cut.zst") == self.live("t.zst") == 9000, name

    def test_switched_family(self):
        """msrec's own id: all processes, and those to come."""
        program = self.start("--dormant")
        program.do("fork")
        self.run("msrec", "on", program.msrec)
        program.do("alloc 3 100")
        child = Program.children(program.pid)[0]
        assert all(" on " in line for line in self.run("msrec", "status", program.msrec).splitlines())
        program.end()
        name = [name for name in os.listdir(self.folder) if f".{child}." in name][0]
        assert self.live(name) == 300

    def test_switched_threads(self):
        """Threads allocate, resize and free each other's blocks while recording is switched: the trace has no block
        twice, no loss, no mistake, and at the end only what the program left."""
        for options in ((), ("--dormant",), ("--usable=yes",)):
            program = self.start(*options)
            program.do("threads 4")
            for _ in range(15):
                self.request(program, "on")
                self.request(program, "off")
            self.request(program, "on")
            program.end()
            stat = self.build.stat(os.path.join(self.folder, "t.zst"))
            before, *mistakes = self.errors("t.zst")
            assert stat["lost"] == 0 and stat.get("implied", 0) == 0, (options, stat)
            assert mistakes == [0, 0, 0] and before > 0, (options, before, mistakes)
            events = self.events("t.zst")
            phases = [e["operation"] for e in events if e["operation"] in ("on", "off")]
            assert phases == ["off", "on"] * (len(phases) // 2) and len(phases) >= 30, (options, phases)
            came = sum(e["type"] == "alloc" for e in events)
            assert came > 1000, (options, came)

    def test_dormant_refused(self):
        for options in (["--pages"], ["--mmap"], ["--engine=valgrind"], ["--check=errors==0"]):
            self.run("msrec", "--dormant", *options, "true", status=125)
            assert "--dormant is not for" in self.said, self.said
        program = self.start("--mmap")
        self.run("msrec", "off", program.pid, status=1)
        assert "cannot be switched" in self.said, self.said
        program.do("off", "alloc 1 100")
        program.end()
        assert self.phases("t.zst") == [] and self.live("t.zst") == 108

    def test_files(self):
        """Nothing is left behind."""
        program = self.start()
        program.end()
        assert glob.glob(os.path.join(self.folder, "*")) == [os.path.join(self.folder, "t.zst")]


if __name__ == "__main__":
    sys.exit(run_in_folders(__doc__, Tests))
