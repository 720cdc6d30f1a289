#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small traces with much content: as many definitions as the format allows, and very many live blocks, in some
kilobytes. The tools answer, or refuse to, within the memory bounds of FORMAT.md (section 12)."""

import ctypes
import os
import resource
import struct
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
from harness import run_script    # noqa: E402

FILE, THREADS, STACKS, KINDS, EVENTS, NAMES, END = 1, 3, 4, 5, 6, 8, 10
KINDS_MOST, STACKS_MOST, DEPTH_MOST, CHUNK, LIVE_CHUNKS = 1 << 24, 1 << 26, 60000, 65536, 100
DEFINITIONS_MOST = 2 << 30     # bytes for all definitions, whatever is asked
ANSWERS_MOST = 9 << 30         # the same with what msreport keeps of each stack
NAMES_MOST = 9 << 28           # bytes for the names in a trace
SECONDS_MOST = 200             # of CPU, for any question
BLOCK_MOST = 160               # bytes for a live block, where Valgrind's heap is simulated
# Meson sets MALLOC_PERTURB_, with which malloc fills, and so touches, unused memory.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}

ZSTD = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_compressBound", "ZSTD_compress2", "ZSTD_CCtx_setParameter"):
    getattr(ZSTD, name).restype = ctypes.c_size_t
ZSTD.ZSTD_createCCtx.restype = ctypes.c_void_p
CONTEXT = ctypes.c_void_p(ZSTD.ZSTD_createCCtx())
ZSTD.ZSTD_CCtx_setParameter(CONTEXT, ctypes.c_int(201), ctypes.c_int(1))    # checksums


def compress(data):
    room = ZSTD.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    n = ZSTD.ZSTD_compress2(CONTEXT, out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)))
    return out.raw[:n]


def varint(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes(data) + bytes([value])


class Trace:
    def __init__(self, path):
        self.file, self.units = open(path, "wb"), 0
        text = b"".join(bytes([len(t)]) + t for t in (b"bomb", b"/a", b"/", b"a"))
        self.unit(FILE, struct.pack("<8I4Q", 1, 0, 10, 62, 4096, 1, 0, 1, 0, 1, 0, 0), [text])
        self.unit(THREADS, struct.pack("<II", 0, 1), [b"\1"], critical=0)

    def unit(self, kind, fields, columns, critical=1):
        rows = body = b""
        for i, column in enumerate(columns):
            if column:
                frame = compress(column)
                rows += struct.pack("<BBHII", i, 1, 0, len(frame), len(column))
                body += frame
        if kind == EVENTS:
            fields = fields[:40] + struct.pack("<I", zlib.crc32(body)) + fields[44:]
        header = b"MSTR" + struct.pack("<BBBBII", kind, critical, len(rows) // 12, 0, self.units, len(fields))
        header += fields + rows
        header += struct.pack("<I", zlib.crc32(header))
        self.file.write(struct.pack("<II", 0x184D2A5B, len(header)) + header + body)
        self.units += 1

    def stacks(self):
        """As many long chains as the format allows."""
        first = 1
        for k in range(4):
            count = STACKS_MOST // 4 - 70000
            parents = bytearray()
            for i in range(first, first + count, DEPTH_MOST):
                root = (i - 1) << 1 | 1
                while root > 127:
                    parents.append(root & 127 | 128)
                    root >>= 7
                parents.append(root)
                parents += bytes(min(DEPTH_MOST, first + count - i) - 1)
            frames = 1 if k == 0 else 0
            self.unit(STACKS, struct.pack("<IIII", first, count, 1 - frames, frames),
                      [b"\0\2" if frames else b"", bytes(parents), b"\1" * count])
            first += count

    def kinds(self, n):
        self.unit(KINDS, struct.pack("<II", 1, n), [b"\1" * n, bytes(n), b"\5" * n, bytes(n), bytes(n), bytes(n)])

    def allocations(self, chunks, n):
        for k in range(chunks):
            sums = struct.pack("<QQqqqqqqQQQQQQ", n, 0, 5 * n, 16 * n, n, 5 * n, 16 * n, n, 16 * n, n, 0, 0, 0, 0)
            self.unit(EVENTS, struct.pack("<QQQQIIQ", k * n, k * n, 0, 0, n, 1, 0) + sums,
                      [b"\1" * n, b"\x10", varint(n), b"", b"\0\0"])

    def chain(self):
        """Many frames, each with a stack, a kind and a block."""
        n = DEPTH_MOST
        self.unit(STACKS, struct.pack("<IIII", 1, n, 0, n), [b"\0\2" * n, bytes(n), bytes(n)])
        self.unit(KINDS, struct.pack("<II", 1, n), [b"\1" * n, b"\2" * n, b"\5" * n, bytes(n), bytes(n), bytes(n)])
        sums = struct.pack("<QQqqqqqqQQQQQQ", n, 0, 5 * n, 16 * n, n, 5 * n, 16 * n, n, 16 * n, n, 0, 0, 0, 0)
        self.unit(EVENTS, struct.pack("<QQQQIIQ", 0, 0, 0, 0, n, n, 0) + sums,
                  [bytes(2 * n), b"\x10" * n, b"\1" * n, b"", b"\0\0"])

    def names(self):
        """The longest texts and the most names of frames that the format allows, nearly all of them inlined calls."""
        text, once = b"\xf0\xff\x3f" + b"x" * ((1 << 20) - 16), 15
        for i in range(68):
            texts = text * once if i else b"\1x" * once
            self.unit(NAMES, struct.pack("<III", 1 + i * once, once, 0), [texts], critical=0)
        for first in range(0, DEPTH_MOST, 2500):
            named = b"".join(varint(i or first) + varint(1024) for i in [0] + [1] * 2499)
            self.unit(NAMES, struct.pack("<III", 1 + 68 * once, 0, 2500), [b"", named, b"\x10\x11\x12\4" * 1024 * 2500],
                      critical=0)

    def end(self, events):
        self.unit(END, struct.pack("<IIQQQQQQII", 0, 0, 1, events, 0, 0, 0, 0, 0, 92), [])
        self.file.close()


def definitions(path):
    trace = Trace(path)
    trace.stacks()
    trace.kinds(KINDS_MOST - 1)
    trace.allocations(1, 1)
    trace.end(1)


def live_blocks(path):
    trace = Trace(path)
    trace.kinds(1)
    trace.allocations(LIVE_CHUNKS, CHUNK)
    trace.end(LIVE_CHUNKS * CHUNK)


def names(path):
    trace = Trace(path)
    trace.chain()
    trace.names()
    trace.end(DEPTH_MOST)


def ask(build, trace, most, tool, words):
    """Peak memory of a tool in bytes."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2 * most + (1 << 30), 2 * most + (1 << 30)))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MOST, SECONDS_MOST))
    process = subprocess.Popen([build.file(f"analyze/{tool}"), "-q", *words, trace], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env=ENVIRONMENT, preexec_fn=limit, cwd=os.path.dirname(trace))
    err = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{words}: {process.returncode}: {err}"
    assert usage.ru_maxrss * 1024 <= most, f"{words}: {usage.ru_maxrss >> 10} MiB, more than {most >> 20}"
    return usage.ru_maxrss * 1024


NOWHERE = "--massif-out-file=/dev/null"
QUESTIONS = [("msreplay", words) for words in (
    ["--time-unit=B", NOWHERE], ["--memusage=full"], ["--usable=valgrind", "--time-unit=B", NOWHERE],
    ["--xtree-memory=full", "--xtree-memory-file=/dev/null", NOWHERE])]
ANSWERS = [("msreport", []), ("msreport", ["savings"])]
COPIES = [("msconvert", [*words, "-o", "copy"]) for words in (["--to=trace", "--level=1"], ["--embed-symbols"])]


def bomb(make, most, questions):
    def case(bench):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if memory < most * 5 // 4:
            return f"left out: the machine has {memory >> 30} GiB of memory"
        path = os.path.join(bench.folder, "bomb")
        make(path)
        peak = max(ask(bench.build, path, most, *question) for question in questions)
        return f"{os.path.getsize(path)} bytes, {peak >> 20} MiB at most"
    return case


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder


CASES = [("all definitions", bomb(definitions, DEFINITIONS_MOST, QUESTIONS)),
         ("answers", bomb(definitions, ANSWERS_MOST, ANSWERS)),
         ("live blocks", bomb(live_blocks, (64 << 20) + LIVE_CHUNKS * CHUNK * BLOCK_MOST, QUESTIONS)),
         ("names", bomb(names, NAMES_MOST, QUESTIONS[:3] + COPIES))]


def main():
    return run_script(__doc__, CASES, Bench)


if __name__ == "__main__":
    sys.exit(main())
