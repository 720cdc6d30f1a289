#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Libraries with a rare layout: their stacks are whole, and the trace has their build ids.

  objects.py --build DIR [--only PART]
"""

import os
import platform
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Problem, plain_environment, run_script    # noqa: E402

LIBRARY = r"""
#include <stdlib.h>
static __attribute__((noinline)) void inner(int n, int room)
{
	char *volatile some = __builtin_alloca((size_t)room);
	some[0] = 1;
	if (n > 0)
		inner(n - 1, room + 1);
	else
		some = malloc(10);
	some[0] = 2;
}
void outer(int n) { inner(n, n % 7 + 1); }
"""
HOST = "void outer(int); int main(void) { outer(7); return 0; }\n"
# Eight of inner(), outer(), main(), and three before that; two until glibc 2.33.
LIBC, VERSION = platform.libc_ver()
FRAMES = 12 if LIBC == "glibc" and tuple(map(int, VERSION.split("."))) < (2, 34) else 13
ID = "0123456789abcdef0123"
PAGE = 4096
LOAD, RELRO = 1, 0x6474e552


class Bench:
    def __init__(self, build, path):
        self.build, self.path = build, path
        self.library = os.path.join(path, "libodd.so")
        for name, text in (("library.c", LIBRARY), ("host.c", HOST)):
            with open(os.path.join(path, name), "w", encoding="ascii") as f:
                f.write(text)
        self.run("gcc", "-O1", "-fomit-frame-pointer", "-fPIC", "-c", "library.c")

    def run(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.path, env=plain_environment())
        if done.returncode:
            raise Problem(f"{words}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def link(self):
        self.run("gcc", "-shared", "-Wl,--build-id=0x" + ID, "-o", self.library, "library.o")

    def record(self):
        """Of the library in a trace: the build id, and the depth of the deepest stack."""
        self.run("gcc", "-o", "host", "host.c", self.library)
        self.run(self.build.msrec, "-f", "-o", "t", "./host")
        dump = self.run(self.build.file("tests/tools/tracedump"), "t")
        found = re.search(r"^module \d+ \S*/libodd\.so .* build=(\w*)$", dump, re.M)
        return found and found.group(1), self.build.stat(os.path.join(self.path, "t"))["depth"]


def expect(got, wanted):
    if got != wanted:
        raise Problem(f"{got}, not {wanted}")
    return f"{got[1]} frames"


def plain(bench):
    bench.link()
    return expect(bench.record(), (ID, FRAMES))


def writable_frames(bench):
    """.eh_frame in the writable segment, .eh_frame_hdr in a read-only one, as NVIDIA's compilers do it."""
    bench.run("objcopy", "--set-section-flags", ".eh_frame=alloc,data,contents", "library.o")
    bench.link()
    flags = re.findall(r"\.eh_frame(?:_hdr)? +\w+ +\w+ \w+ \w+ \w+ +(\w+)", bench.run("readelf", "-SW", bench.library))
    if flags != ["A", "WA"]:
        raise Problem(f"the linker made {flags}")
    return expect(bench.record(), (ID, FRAMES))


def far_headers(bench):
    """The program headers in a segment of their own behind all others, as patchelf leaves them."""
    bench.link()
    with open(bench.library, "rb") as f:
        data = bytearray(f.read())
    at, n = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    headers = [list(struct.unpack_from("<IIQQQQQQ", data, at + 56 * i)) for i in range(n)]
    data += bytes(-len(data) % PAGE)
    end = max(h[3] + h[6] for h in headers if h[0] == LOAD)
    place = len(data), end + -end % PAGE
    moved = next(h for h in headers if h[0] == RELRO)
    moved[:] = [LOAD, 4, place[0], place[1], place[1], 56 * n, 56 * n, PAGE]
    for h in headers:
        data += struct.pack("<IIQQQQQQ", *h)
    struct.pack_into("<Q", data, 32, place[0])
    with open(bench.library, "wb") as f:
        f.write(data)
    if place[0] == place[1]:
        raise Problem("the headers lie where they would without a look at the segments")
    return expect(bench.record(), (ID, FRAMES))


CASES = [
    ("an ordinary library", plain),
    ("call frame information in two segments", writable_frames),
    ("program headers far from the beginning", far_headers),
]


def main():
    return run_script(__doc__, CASES, Bench)


if __name__ == "__main__":
    sys.exit(main())
