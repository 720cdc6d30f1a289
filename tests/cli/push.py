#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec --push: profiles of a running program, against a recording of the same program as a whole and against known
figures; by curl to a server; commands that fail and hang; forks, executed programs, kills, attachments.

  push.py --build DIR [--only WORD] [--long]
"""

import collections
import contextlib
import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools"), os.path.join(HERE, "../formats")]
from harness import have, plain_environment, run_in_folders, until    # noqa: E402
from profile_proto import Profile    # noqa: E402

CONVERT = ("-q", "--to=pprof", "--at=end", "--merge-threads")
# Keeps each profile with what it was told of it.
RECEIVE = """#!/bin/sh
n=$(ls push.*.env 2>/dev/null | wc -l)
cat >"push.$n.pb.gz" && env | grep '^MSREC_' >"push.$n.tmp" && mv "push.$n.tmp" "push.$n.env"
"""


class Push:
    """One that the command has got."""

    def __init__(self, data, told):
        self.data, self.told = data, dict(line.split("=", 1) for line in told.splitlines())
        self.profile = Profile(data)
        self.from_s, self.until_s = int(self.told["MSREC_FROM"]), int(self.told["MSREC_UNTIL"])

    def sums(self, kind, function="obey"):
        """By stack, of those of which this is the innermost function."""
        found = collections.Counter()
        for stack, values, _ in self.profile.samples:
            if values[kind] and stack[:1] == [function]:
                found[tuple(stack)] += values[kind]
        return found

    def sum(self, kind, function="obey"):
        return sum(self.sums(kind, function).values())


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes what a server of profiles takes."""

    def do_POST(self):
        asked = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((asked.path, dict(urllib.parse.parse_qsl(asked.query)), body))
        self.send_response(503 if self.server.refuses else 200)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.refuses = [], False
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Program:
    """live_program under msrec; its lines are answered when they are done."""

    def __init__(self, tests, *options, words=()):
        self.tests = tests
        self.process = subprocess.Popen([tests.build.msrec, "-f", "-o", "t.zst", *options, "--",
                                         *(words or [tests.program])],
                                        cwd=tests.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=tests.environment)
        self.msrec = self.process.pid

    def do(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "ok\n", line

    def ask(self, word, *more):
        """A request to all recordings of this msrec."""
        return self.tests.run("trace-record/msrec", word, self.msrec, *more)

    def end(self, status=0):
        _, said = self.process.communicate(timeout=100)
        assert self.process.returncode == status, (self.process.returncode, said)
        return said


class Tests:
    folder = None

    def __init__(self, build):
        self.build = build
        self.program = build.file("tests/cli/live_program")
        self.environment = plain_environment()

    def run(self, tool, *words, status=0):
        done = subprocess.run([self.build.file(tool), *map(str, words)], cwd=self.folder, capture_output=True,
                              timeout=120, env=self.environment)
        assert done.returncode == status, f"{tool} {words}: status {done.returncode}: {done.stderr}"
        return done.stdout

    def convert(self, *words):
        return self.run("analyze/msconvert", *words)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, before=""):
        """A command that keeps what it gets."""
        with open(self.path("receive"), "w", encoding="ascii") as file:
            file.write(RECEIVE.replace("\n", "\n" + before + "\n", 1))
        os.chmod(self.path("receive"), 0o755)
        return "--push=./receive"

    def n_pushes(self):
        return len([name for name in os.listdir(self.folder) if re.fullmatch(r"push\.\d+\.env", name)])

    def pushes(self):
        found = []
        for i in range(self.n_pushes()):
            with open(self.path(f"push.{i}.pb.gz"), "rb") as data, open(self.path(f"push.{i}.env"), "rb") as env:
                found.append(Push(data.read(), env.read().decode()))
        return found

    def traces(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("t.zst") or ".zst" in name)

    # ---- what is pushed ----

    STEPS = (("alloc 100 1000", "alloc 3 7"), ("free 50", "alloc 7 10"), (), ("realloc 5000", "oldest 20", "alloc 1 1"))

    def whole(self):
        """The same program without pushes: a mark where those are."""
        program = Program(self)
        for number, lines in enumerate(self.STEPS):
            program.do(*lines)
            program.ask("mark", f"m{number}")
        program.end()
        os.rename(self.path("t.zst"), self.path("whole.zst"))

    def marked(self, number):
        """The delta between two marks of the whole recording, and what was in use at the second."""
        words = [*CONVERT, f"--until=mark:m{number}"]
        if number:
            words.append(f"--alloc-from=mark:m{number - 1}")
        return Profile(self.convert(*words, "-o", "-", "whole.zst"))

    @staticmethod
    def by_stack(profile):
        """Values by stack and size, without frames that are not named."""
        found = collections.Counter()
        for stack, values, labels in profile.samples:
            assert set(labels) <= {"bytes"}, labels
            for kind, value in values.items():
                if "obey" in stack and value:
                    named = tuple(name for name in stack if not name.startswith("0x"))
                    found[kind, named, labels.get("bytes")] += value
        return dict(found)

    def test_deltas(self):
        """What is in use is whole in each push, what was allocated is in one; both are those of a whole recording."""
        self.whole()
        program = Program(self, self.command(), "--every=1h")
        for lines in self.STEPS:
            program.do(*lines)
            program.ask("rotate")
        said = program.end()
        pushes = self.pushes()
        assert len(pushes) == len(self.STEPS) + 1, pushes
        assert [push.sum("inuse_space") for push in pushes[:2]] == [100021, 53070], said
        assert [push.sum("alloc_space") for push in pushes] == [100021, 70, 0, 5001, 0], said
        for number, push in enumerate(pushes[:-1]):
            wanted, found = self.by_stack(self.marked(number)), self.by_stack(push.profile)
            assert found == wanted, (number, found, wanted)
        whole = Push(self.convert(*CONVERT, "-o", "-", "whole.zst"), "MSREC_FROM=0\nMSREC_UNTIL=0")
        for kind in ("alloc_space", "alloc_objects"):
            total = sum((push.sums(kind) for push in pushes), collections.Counter())
            assert total == whole.sums(kind), kind
        assert whole.sums("inuse_space") == pushes[-1].sums("inuse_space")
        assert f"msrec: profiles pushed: {len(pushes)}\n" in said, said
        self.check_told(pushes)
        # All files but the last one are gone; that is what the last lines speak of.
        assert self.traces() == ["t.zst.5", "whole.zst"], self.traces()
        assert "next: msreport t.zst.5" in said and "goes on in" not in said, said

    def check_told(self, pushes):
        for push in pushes:
            raw = push.profile.raw
            begin, end = raw.time_nanos, raw.time_nanos + raw.duration_nanos
            assert push.from_s * 10**9 - 10**9 <= begin <= end <= push.until_s * 10**9 + 10**9, push.told
            assert push.from_s < push.until_s <= time.time() + 2
            assert push.told["MSREC_PROGRAM"] == "live_program", push.told
        for one, next_one in zip(pushes, pushes[1:]):
            assert one.until_s - 1 <= next_one.from_s <= one.until_s, (one.told, next_one.told)

    def test_files_that_stay(self):
        """With --rotate; what is pushed is what msconvert makes of them."""
        program = Program(self, self.command(), "--every=1h", "--rotate=3")
        for lines in self.STEPS:
            program.do(*lines)
            program.ask("rotate")
            assert until(lambda: self.n_pushes() > 0)
        program.end()
        assert self.traces() == ["t.zst.3", "t.zst.4", "t.zst.5"], self.traces()
        pushes = {push.told["MSREC_TRACE"]: push.data for push in self.pushes()}
        for name in self.traces():
            assert self.convert(*CONVERT, "-o", "-", name) == pushes[name], name

    def test_clock(self):
        """Without a request, by time; samples are marked as such."""
        program = Program(self, self.command(), "--every=1s", "--sample=4k")
        program.do("alloc 10 100000", "threads 2")
        assert until(lambda: self.n_pushes() >= 2)
        program.do("alloc 10 100000")
        said = program.end()
        pushes = self.pushes()
        assert len(pushes) >= 3 and re.search(r"profiles pushed: \d+$", said, re.M), said
        assert sum(push.sum("alloc_space") for push in pushes) == pushes[-1].sum("inuse_space") == 2000000, said
        assert all(push.profile.raw.period == 4096 for push in pushes)
        assert pushes[0].sum("alloc_objects", "work") > 0
        self.check_told(pushes)

    def test_curl(self):
        """curl to a server, as docs/fleet.md has it, which refuses for a while."""
        if not have("curl"):
            raise AssertionError("curl is not installed (scripts/setup test)")
        with receiver() as server:
            url = f"http://127.0.0.1:{server.server_port}"
            asked = "name=api%7Bversion=1.4%7D&format=pprof&from=$MSREC_FROM&until=$MSREC_UNTIL"
            program = Program(self, "--every=1s", f"--push=curl -sSf --data-binary @- \"{url}/ingest?{asked}\"")
            server.refuses = True
            program.do("alloc 10 1000")
            assert until(lambda: len(server.got) >= 1)
            server.refuses = False
            program.do("alloc 10 500")
            assert until(lambda: len(server.got) >= 2)
            said = program.end()
        bodies = list(dict.fromkeys(body for _, _, body in server.got))     # one came again
        assert len(bodies) < len(server.got), "what was refused did not come again"
        for path, asked, _ in server.got:
            assert path == "/ingest" and asked["name"] == "api{version=1.4}" and asked["format"] == "pprof", asked
            assert int(asked["from"]) < int(asked["until"])
        pushes = [Push(body, "MSREC_FROM=0\nMSREC_UNTIL=0") for body in bodies]
        assert sum(push.sum("alloc_space") for push in pushes) == 15000, said
        assert pushes[-1].sum("inuse_space") == 15000, said
        assert "--push: t.zst: the command ended with status 22" in said, said
        assert re.search(r"profiles pushed: \d+; attempts that failed: \d+, at last the command ended with status 22",
                         said), said
        if have("go"):
            self.check_go(bodies)

    def check_go(self, bodies):
        """go tool pprof adds them up."""
        names = []
        for number, body in enumerate(bodies):
            names.append(self.path(f"{number}.pb.gz"))
            with open(names[-1], "wb") as file:
                file.write(body)
        done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-sample_index=alloc_space", "-unit=b",
                               "-nodecount=1000", "-top", *names], capture_output=True, text=True, check=True,
                              env=dict(os.environ, HOME=self.folder))
        assert re.search(r"^ +\S+ +\S+ +\S+ +15000B .* obey\b", done.stdout, re.M), done.stdout

    # ---- commands that do not do ----

    def test_failures(self):
        """A command that fails at first: its profile comes first later, and nothing is missing."""
        program = Program(self, self.command("[ -e good ] || { touch failed; exit 7; }"), "--every=1s")
        for lines in self.STEPS:
            program.do(*lines)
            program.ask("rotate")
        assert until(lambda: os.path.exists(self.path("failed")))
        with open(self.path("good"), "w", encoding="ascii"):
            pass
        said = program.end()
        pushes = self.pushes()
        assert sum(push.sum("alloc_space") for push in pushes) == 105092, said
        assert pushes[0].sum("alloc_space") == 100021 and "the command ended with status 7" in said, said
        assert len(self.traces()) == 1, self.traces()

    def test_failures_to_the_end(self):
        """The program's status is msrec's, and the traces stay for another time."""
        program = Program(self, "--push=cat >/dev/null; exit 9", "--every=1h", "-q")
        program.do("alloc 10 1000")
        program.ask("rotate")
        said = program.end()
        assert said == ("msrec: profiles pushed: 0; not pushed: 2, 2 of them with their traces still there; at last "
                        "the command ended with status 9\n"), said
        assert self.traces() == ["t.zst", "t.zst.2"]

    def test_what_hangs(self):
        """It is killed with its children, and the program has not waited."""
        program = Program(self, "--push=echo $$ >new; mv new pid; sleep 1000; true", "--every=1s")
        program.do("alloc 10 1000")
        assert until(lambda: os.path.exists(self.path("pid")))
        with open(self.path("pid"), encoding="ascii") as file:
            group = int(file.read())
        begin = time.monotonic()
        program.do(*["alloc 1 10"] * 200)
        assert time.monotonic() - begin < 2
        assert until(lambda: not self.lives(-group), 20)
        program.process.stdin.close()
        self.cancel(program)

    def cancel(self, program):
        """The program has ended, and msrec tries once more; a signal ends that."""
        assert until(lambda: not self.children(program.msrec, "live_program"))
        program.process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        said = program.process.stderr.read()
        assert program.process.wait(30) == 0 and time.monotonic() - begin < 4, (program.process.returncode, said)
        program.process.stdout.close()
        program.process.stderr.close()
        assert "the command took too long and was killed" in said and "not pushed: " in said, said
        assert "t.zst" in self.traces(), self.traces()

    @staticmethod
    def lives(pid):
        try:
            os.kill(abs(pid), 0) if pid > 0 else os.killpg(-pid, 0)
        except ProcessLookupError:
            return False
        return True

    @staticmethod
    def children(pid, name):
        """Those of that name."""
        found = []
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            for child in file.read().split():
                with contextlib.suppress(OSError), open(f"/proc/{child}/comm", encoding="ascii") as comm:
                    found += [child] if comm.read().startswith(name[:15]) else []
        return found

    # ---- processes ----

    def test_forks(self):
        """What the parent did is not in the child's first profile but as in use."""
        program = Program(self, self.command(), "--every=1h")
        program.do("alloc 10 1000")
        program.ask("rotate")
        program.do("alloc 5 100", "fork", "alloc 3 10")
        assert until(lambda: len(program.ask("status").splitlines()) == 2)
        program.ask("rotate")
        program.do("alloc 1 7")
        program.end()
        pushes = self.pushes()
        by_pid = collections.defaultdict(list)
        for push in pushes:
            by_pid[push.told["MSREC_PID"]].append(push)
        parent, child = (by_pid[pid] for pid in dict.fromkeys(push.told["MSREC_PID"] for push in pushes))
        assert [push.sum("alloc_space") for push in parent] == [10000, 500, 0], parent
        assert [push.sum("alloc_space") for push in child] == [30, 7], [push.sum("alloc_space") for push in child]
        assert [push.sum("inuse_space") for push in child] == [10530, 10537]
        assert child[0].from_s >= parent[0].until_s - 1
        assert len(self.traces()) == 1, self.traces()   # of the child none

    def test_executed_programs(self):
        """Each has its own."""
        program = Program(self, self.command(), "--every=1h", "--trace-children",
                          words=["sh", "-c", f"{self.program}; true"])
        program.do("alloc 10 1000")
        program.end()
        names = sorted(push.told["MSREC_PROGRAM"] for push in self.pushes())
        assert "live_program" in names and len(names) == 2, names
        assert sum(push.sum("alloc_space") for push in self.pushes()) == 10000
        assert len(self.traces()) == 1, self.traces()

    def test_killed_program(self):
        program = Program(self, self.command(), "--every=1h")
        program.do("alloc 10 1000")
        victim, = self.children(program.msrec, "live_program")
        os.kill(int(victim), signal.SIGKILL)
        program.end(-signal.SIGKILL)
        push, = self.pushes()
        assert push.sum("inuse_space") == 10000

    def test_attached(self):
        """A process that ran before: blocks from before are in use, and were not allocated."""
        with subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            def do(line):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                assert process.stdout.readline() == "ok\n"
            do("alloc 10 100000")
            recorder = subprocess.Popen([self.build.msrec, "-o", "t.zst", self.command(), "--every=1h",
                                         f"--pid={process.pid}"], cwd=self.folder, stderr=subprocess.PIPE, text=True,
                                        env=self.environment)
            said = ""
            while "attached to" not in said:
                line = recorder.stderr.readline()
                if "this build of msrec lacks libzydis" in line:
                    return "this build cannot attach"
                assert line, said
                said += line
            do("alloc 5 1000")
            recorder.send_signal(signal.SIGINT)
            _, said = recorder.communicate(timeout=60)
            assert recorder.returncode == 0 and "profiles pushed: 1" in said, said
            do("free 1")
            process.stdin.close()
            assert process.wait(30) == 0
        push, = self.pushes()
        assert push.sum("alloc_space") == push.sum("inuse_space") == 5000
        assert push.sum("inuse_space", "[before the recording]") >= 1000000
        assert push.sum("alloc_space", "[before the recording]") == 0
        return None

    def test_dormant(self):
        """Nothing is pushed before something is recorded."""
        program = Program(self, self.command(), "--every=1s", "--dormant")
        program.do("alloc 10 1000")
        time.sleep(1.3)
        assert self.n_pushes() == 0
        program.do("on", "alloc 5 100")
        program.end()
        assert sum(push.sum("alloc_space") for push in self.pushes()) == 500

    def test_full_files(self):
        """A file that is full before its time is a profile, too."""
        program = Program(self, self.command(), "--every=1h", "--max-size=64k")
        program.do("threads 4")
        assert until(lambda: self.n_pushes() >= 2, 60)
        program.end()
        pushes = self.pushes()
        self.check_told(pushes)
        assert len(self.traces()) == 1 and os.path.getsize(self.path(self.traces()[0])) <= 65536

    def test_wrong_usage(self):
        for words, said in ((["--every=5s"], "--every is about --push"), (["--push=x", "--every=10"], "1s to 24h"),
                            (["--push=x", "--every=25h"], "1s to 24h"), (["--push=x", "-o", "-"], "-o -"),
                            (["--push=x", "--check=errors==0"], "--check is not for --push"),
                            (["--push=x", "--engine=valgrind"], "--push is for --engine=preload")):
            done = subprocess.run([self.build.msrec, *words, "true"], cwd=self.folder, capture_output=True, text=True,
                                  env=self.environment, timeout=60)
            assert done.returncode == 125 and said in done.stderr, (words, done.returncode, done.stderr)
        assert os.listdir(self.folder) == []


class LongTests:
    """What takes long."""

    def __init__(self, build):
        self.tests = Tests(build)

    def test_given_up(self):
        """A command that fails for long: what is oldest is given up, and no more than some periods are on the disk."""
        tests = self.tests
        tests.folder = self.folder
        program = Program(tests, tests.command("[ -e good ] || exit 7"), "--every=1s")
        most = 0
        for number in range(24):
            program.do(f"alloc 1 {1000 + number}")
            time.sleep(1)
            most = max(most, len(tests.traces()))
        with open(tests.path("good"), "w", encoding="ascii"):
            pass
        said = program.end()
        pushes = tests.pushes()
        given_up = len(re.findall("not pushed for 16 periods, and given up", said))
        assert 17 <= most <= 19 and given_up >= 5, (most, said)
        assert f"profiles pushed: {len(pushes)}; not pushed: {given_up}, 0 of them" in said, said
        live = pushes[-1].sum("inuse_space")
        missed = live - sum(push.sum("alloc_space") for push in pushes)
        assert live == sum(1000 + number for number in range(24)) and 4000 < missed < 10000, (live, missed, said)
        assert len(tests.traces()) == 1, tests.traces()


def main():
    return run_in_folders(__doc__, lambda options: (LongTests if options.long else Tests)(options.build), "--long")


if __name__ == "__main__":
    sys.exit(main())
