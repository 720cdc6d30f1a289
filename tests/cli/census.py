#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The heap census of msrec --pid: the blocks that a process has from before the recording. What is counted is compared
with the programs' own lists, with malloc_info(3) and mallinfo2(3), and with recordings from the start.

  census.py --build DIR [--only WORD]
"""

import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools"), HERE]
from attach import TIMEOUT, Program, Tests as Attach, heap_is_known    # noqa: E402
from harness import have, plain_environment, run_methods, until    # noqa: E402

OWN = 8                 # blocks of the C library itself: a thread's variables, a message's buffer
# Of an arena but the main one, in its first heap: until libc 2.34, from 2.35 on, and without fastbins.
HEADS = [(head + 8 + arena + 15) // 16 * 16 for head, arena in ((24, 2200), (40, 2200), (40, 2112))]
ALLOC, FREE, OUT = 0, 1, 2

PYTHON = """
import ctypes, os, re, sys, threading
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
kept = [re.compile("x" * i + "(a|b)*") for i in range(1, 300)] + ["y" * 5000 for _ in range(2000)]
big = ["z" * 3000000 for _ in range(5)]
del kept[::3]
info = libc.mallinfo2()
os.write(1, b"%d %d %d\\n" % (info.uordblks, info.hblks, info.hblkhd))
os.read(0, 1)
"""


class Census:
    """What tests/tools/census says of a process."""

    def __init__(self, build, pid):
        done = subprocess.run([build.file("tests/tools/census"), str(pid)], capture_output=True, text=True,
                              timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        *lines, last = done.stdout.splitlines()
        figures = [int(word) for word in last.split()]
        self.live, self.bytes, self.unknown_bytes, self.unknown_mapped, self.while_running = figures[:5]
        self.heap_bytes, self.mapped = figures[7:]
        self.arenas = [[int(word) for word in line.split()[1:]] for line in lines if line.startswith("arena")]
        self.blocks = {}
        for line in lines:
            if not line.startswith("arena"):
                address, size = line.split()
                assert int(address, 16) not in self.blocks, line
                self.blocks[int(address, 16)] = int(size)
        assert self.live == len(self.blocks) and self.bytes == sum(self.blocks.values())
        assert all(sound for _, _, sound in self.arenas), self.arenas


class Tests:
    def __init__(self, options, folder):
        options.long, options.cycles, options.instants = False, 0, 0
        self.build, self.attach = options.build, Attach(options, folder)
        self.path, self.leave = self.attach.path, self.attach.leave
        self.program = options.build.file("tests/cli/census_program")

    def msrec(self, pid, *options):
        return self.attach.msrec(pid, *options)

    def census(self, pid):
        return Census(self.build, pid)

    def own_list(self, program):
        program.do(f"list {self.path('list')}")
        with open(self.path("list"), encoding="ascii") as file:
            pairs = (line.split() for line in file)
            return {int(address, 16): int(size) for address, size in pairs}

    def compare(self, program, threads):
        """Address by address; what is more is the C library's own."""
        own = self.own_list(program)
        census = self.census(program.pid)
        assert census.unknown_bytes == census.unknown_mapped == 0, vars(census)
        missing = [(hex(a), own[a], census.blocks.get(a)) for a in own if census.blocks.get(a) != own[a]]
        assert not missing, (len(missing), len(own), missing[:10])
        more = {hex(a): size for a, size in census.blocks.items() if a not in own}
        assert len(more) <= threads + OWN and all(size < 2000 for size in more.values()), more
        return census

    # ---- what is counted ----

    def test_addresses(self):
        """Whatever the number of threads; of a small heap and of one that is read as the program runs."""
        for threads, rounds in ((1, 50), (1, 3000), (3, 300), (6, 6000), (40, 300)):
            with Program(self.program, str(threads)) as program:
                for _ in range(2):
                    program.do(f"run {rounds}")
                    census = self.compare(program, threads)
                assert census.while_running or census.heap_bytes < 32 << 20, census.heap_bytes
                program.do("free")
                assert self.own_list(program) == {}
                self.compare(program, threads)

    def test_settings(self):
        """Without caches, without arenas, with many mappings, and with chunks that are kept in other ways."""
        for tunables in ("glibc.malloc.tcache_count=0", "glibc.malloc.arena_max=1", "glibc.malloc.arena_max=2",
                         "glibc.malloc.mmap_threshold=5000", "glibc.malloc.mxfast=0:glibc.malloc.tcache_count=127",
                         "glibc.malloc.tcache_max=0", "glibc.malloc.tcache_max=300000",
                         "glibc.malloc.perturb=85", "glibc.malloc.trim_threshold=1"):
            with Program("env", f"GLIBC_TUNABLES={tunables}", self.program, "5") as program:
                program.do("run 1500")
                self.compare(program, 5)
                program.do("run 10")
                self.compare(program, 5)

    def test_many_heaps(self):
        """An arena with more than 64 MiB has several heaps."""
        tunables = "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=100000000:glibc.malloc.arena_max=3"
        with Program("env", tunables, self.program, "30") as program:
            program.do("run 3500")
            census = self.compare(program, 30)
            assert census.while_running and max(system for system, _, _ in census.arenas) > 64 << 20, census.arenas

    def test_malloc_info(self):
        """What malloc says of each arena."""
        for threads in (1, 6):
            with Program(self.program, str(threads)) as program:
                program.do("run 3000")
                program.do(f"info {self.path('info')}")
                census = self.census(program.pid)
                heaps = xml.parse(self.path("info")).getroot().findall("heap")
                assert len(heaps) == len(census.arenas)
                for i, (heap, (system, in_use, _)) in enumerate(zip(heaps, census.arenas)):
                    free = sum(int(total.get("size")) for total in heap.findall("total"))
                    # Of chunks in bins, which are all but the one at the end, a flag is part of the size there.
                    free -= int(heap.find("total[@type='rest']").get("count")) - 1
                    assert int(heap.find("system[@type='current']").get("size")) == system
                    head = system - free - in_use
                    assert head in (HEADS if i else (0,)), (i, head, system, free, in_use)
                mapped = xml.parse(self.path("info")).getroot().find("total[@type='mmap']")
                assert int(mapped.get("count")) == census.mapped, (mapped.attrib, census.mapped)
                assert census.mapped or threads == 1

    def test_recording(self):
        """A recording from the start has blocks of the same sizes."""
        trace = self.path("start.zst")
        with Program(self.build.msrec, "-q", "-f", "--usable", "-o", trace, self.program, "4") as program:
            program.do("run 5000")
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as file:
                pid = int(file.read().split()[0])
            census = self.census(pid)
            os.kill(pid, 9)
            program.process.wait(TIMEOUT)
        assert collections.Counter(census.blocks.values()) == self.live_sizes(trace)

    def live_sizes(self, trace):
        """How many blocks of which usable size are live at the end."""
        done = subprocess.run([self.build.file("tests/tools/tracedump"), trace], capture_output=True, text=True)
        usable, live = [], collections.Counter()
        for line in done.stdout.splitlines():
            values = dict(pair.split("=", 1) for pair in line.split()[1:] if "=" in pair)
            if line.startswith("kind "):
                usable.append(int(values.get("usable", 0)))
            elif line.startswith("token "):
                sign = {ALLOC: 1, FREE: -1, OUT: -1}.get(int(values["role"]), 0)
                live[int(values["kind"])] += sign * int(values["count"])
        sizes = collections.Counter()
        for kind, n in live.items():
            sizes[usable[kind]] += n
        return +sizes

    def test_python(self):
        """What its malloc says of all arenas."""
        process = subprocess.Popen([sys.executable, "-c", PYTHON], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env={**plain_environment(), "PYTHONMALLOC": "malloc"})
        try:
            in_use, n_mapped, mapped = (int(word) for word in process.stdout.readline().split())
            census = self.census(process.pid)
            large = [size for size in census.blocks.values() if size > 2 << 20]
            assert len(large) == 5 and n_mapped >= 5 and mapped > sum(large), (n_mapped, mapped, large)
            assert census.unknown_bytes == census.unknown_mapped == 0 and census.live > 10000, vars(census)
            # What is printed is a block or two.
            assert abs(sum(used for _, used, _ in census.arenas) - in_use) < 4096, (census.arenas, in_use)
        finally:
            process.kill()
            process.communicate()

    # ---- in recordings ----

    def initial(self, stats, said):
        counted = re.search(r"has (\d+) blocks of (\d+) bytes from before", said)
        assert counted, said
        assert (stats["initial_blocks"], stats["initial"]) == (int(counted[1]), int(counted[2])), (stats, said)
        return int(counted[2])

    def test_trace(self):
        """Totals are right from the first event, and what is freed later is known."""
        for rounds in (500, 5000):
            with Program(self.program, "4") as program:
                program.do(f"run {rounds}")
                usable = int(program.do("usable"))
                msrec = self.msrec(program.pid, "--usable")
                program.do("run 20")
                then = int(program.do("usable"))
                program.do("free")
                said = self.attach.said + self.leave(msrec)
                stats = self.build.stat(self.path("t.zst"))
                initial = self.initial(stats, said)
                assert usable <= initial < usable + 65536, (initial, usable)
                # The rest is the C library's, and the loader's of the recorder.
                assert stats["live"] <= initial - usable + 65536 and stats["blocks"] < 4 + 64, stats
                assert stats["peak"] >= max(initial, 0.99 * then), (stats["peak"], initial, then)
                assert stats["unknown"] == stats["implied"] == stats["lost"] == 0, stats
                assert stats["unknown_op"] == 0, stats

    def test_churn(self):
        """Threads that allocate all the time: nearly all that is counted wrong becomes right."""
        for threads, rounds in ((2, 3000), (6, 3000)):
            with Program(self.program, str(threads)) as program:
                program.do(f"run {rounds}")
                program.do("churn")
                msrec = self.msrec(program.pid)
                program.do("halt")
                program.do("free")
                said = self.attach.said + self.leave(msrec)
                stats = self.build.stat(self.path("t.zst"))
                self.initial(stats, said)
                figures = {key: stats[key] for key in ("initial_blocks", "blocks", "lost", "implied", "unknown")}
                assert stats["initial_blocks"] > threads * 1000, (figures, said)
                assert stats["lost"] == stats["implied"] == 0, (figures, said)
                assert stats["blocks"] <= 2 * threads + 32 + stats["initial_blocks"] / 50, (figures, said)

    def test_children(self):
        """Have their parent's blocks."""
        with Program(self.program, "3") as program:
            program.do("run 2000")
            msrec = self.attach.msrec(program.pid, trace="t.%p.zst")
            child = int(program.do("fork"))
            self.leave(msrec)
            stats = [self.build.stat(self.path(f"t.{pid}.zst")) for pid in (program.pid, child)]
            assert stats[0]["initial_blocks"] == stats[1]["initial_blocks"] > 3000, stats
            assert stats[0]["blocks"] >= stats[0]["initial_blocks"] and stats[1]["blocks"] < 64, stats
            assert all(part["lost"] == part["implied"] == part["unknown"] == 0 for part in stats), stats

    def test_rotated(self):
        """The next file begins with what is left of them; so does a copy, and a trace of kinds alone."""
        with Program(self.program, "2") as program:
            program.do("run 2000")
            for options in ((), ("--identity=no",)):
                msrec = self.msrec(program.pid, *options)
                program.do("run 100")
                copy = self.attach.command("snapshot", program.pid).strip()
                assert self.attach.command("rotate", program.pid).strip() == self.path("t.zst")
                program.do("free")
                said = self.attach.said + self.leave(msrec)
                self.initial(self.build.stat(self.path("t.zst")), said)
                self.initial(self.build.stat(copy), said)
                before, after = (self.build.stat(self.path(name)) for name in ("t.zst", "t.zst.2"))
                assert before["blocks"] == after["initial_blocks"] and after["blocks"] < 64, (before, after)
                assert before["lost"] == after["lost"] == before["implied"] == after["implied"] == 0
                os.remove(self.path("t.zst.2"))
                os.remove(copy)
                program.do("run 1000")

    def test_stream(self):
        """To a pipe; reports show the blocks by their name."""
        with Program(self.program, "1") as program:
            program.do("run 300")
            with open(self.path("pipe.zst"), "wb") as file:
                subprocess.run([self.build.msrec, "-q", "-o", "-", "--duration=1", f"--pid={program.pid}"], check=True,
                               stdout=file, timeout=TIMEOUT, env=plain_environment())
            usable = int(program.do("usable"))
        stats = self.build.stat(self.path("pipe.zst"))
        assert usable <= stats["initial"] < usable + 65536 and stats["complete"], (stats, usable)
        for tool, text in ((["msreport", "leaks"], "[before the recording]"),
                           (["msconvert", "-q", "--to=csv-stacks"], "[before the recording]"),
                           (["msreplay", "-o", "-"], f"mem_heap_B={stats['initial']}\n")):
            done = subprocess.run([self.build / f"analyze/{tool[0]}", *tool[1:], self.path("pipe.zst")],
                                  capture_output=True, text=True, timeout=TIMEOUT)
            assert done.returncode == 0 and text in done.stdout, (tool, done.stdout, done.stderr)

    def test_other_allocator(self):
        """Its blocks are not known, and a line says so."""
        if not have("redis-server"):
            return
        command = ["redis-server", "--port", "0", "--unixsocket", self.path("socket"), "--dir", self.path("")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=plain_environment()) as server:
            assert until(lambda: os.path.exists(self.path("socket")))
            msrec = self.msrec(server.pid)
            said = self.attach.said + self.leave(msrec)
            server.kill()
        assert "allocator" in said and "not known" in said, said

    def test_sample(self):
        """Has none."""
        with Program(self.program, "2") as program:
            program.do("run 100")
            msrec = self.msrec(program.pid, "--sample=64k")
            said = self.attach.said + self.leave(msrec)
            assert "blocks from before are not known: a sample is recorded" in said, said
            assert self.build.stat(self.path("t.zst"))["initial_blocks"] == 0


class UnknownHeap:
    """Where malloc's structures are newer than those that msrec knows."""

    def __init__(self, options, folder):
        self.tests = Tests(options, folder)

    def test_unknown_heap(self):
        """msrec says so, and records what the program does from then on."""
        tests = self.tests
        with Program(tests.program, "4") as program:
            program.do("run 500")
            msrec = tests.msrec(program.pid)
            program.do("run 20")
            said = tests.attach.said + tests.leave(msrec)
            stats = tests.build.stat(tests.path("t.zst"))
        assert "its blocks from before are not known: its C library is of a version whose heap msrec" in said, said
        assert stats["initial_blocks"] == 0 and stats["malloc"] > 20 and stats["lost"] == 0, stats


if __name__ == "__main__":
    sys.exit(run_methods(__doc__, Tests if heap_is_known() else UnknownHeap))
