#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What traces say of wrong frees and failed calls, by the decoder that knows FORMAT.md alone: which function freed a
block where it isn't the block's own, frees of what is gone or never was there, and why calls gave nothing.

  frees.py --build DIR
"""

import collections
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools"), os.path.join(HERE, "../oracle")]
from decode import Decoder    # noqa: E402
from harness import Checks, Scratch, arguments    # noqa: E402

FREE, DELETE, DELETE_ARRAY, FREED_BEFORE = 17, 19, 20, 57
OVERFLOW, INVALID = 1, 32
# As frees_program has them: the function that belongs to a block, its alignment; function, added size, alignment.
GIVES = [(FREE, 0), (FREE, 0), (FREE, 6), (FREE, 0), (DELETE, 0), (DELETE_ARRAY, 0), (DELETE, 6), (DELETE_ARRAY, 6)]
FREES = [(FREE, None, 0), (DELETE, None, 0), (DELETE_ARRAY, None, 0), (DELETE, 0, 0), (DELETE, 1, 0),
         (DELETE_ARRAY, 0, 0), (DELETE, None, 6), (DELETE, None, 7), (DELETE_ARRAY, 0, 6)]
check = Checks()

Kind = collections.namedtuple("Kind", "op stack size cap align flags usable")


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            decoder = Decoder(file.read())
        self.lines = list(decoder.lines())
        self.kinds = [Kind(*kind) for kind in decoder.kinds]

    def events(self, *words):
        """(call's kind or None, old kind or None) of each event whose line begins with one of the words."""
        for line in self.lines:
            if line.split(" ")[0] in words:
                values = dict(word.split("=") for word in line.split()[1:])
                yield [None if values[key] == "-" else self.kinds[int(values[key])] for key in ("kind", "old")]


def is_right(give, free, sized):
    (own, own_align), (function, more, align) = give, free
    if more and sized:
        return False
    if not sized and align:
        align = own_align or 4
    # free() knows no alignment; the operators have to be given the block's.
    return function == own and (own == FREE or align == own_align)


def record(build, trace, mode, *options, engine="preload"):
    return subprocess.run([build.msrec, "-q", "-f", "-o", trace, f"--engine={engine}", *options,
                           build.file("tests/cli/frees_program"), mode], stderr=subprocess.DEVNULL).returncode


def check_pairs(build, trace, stacks, engine="preload"):
    """Valgrind doesn't tell its tools the size that a sized delete is given."""
    sized = engine == "preload"
    record(build, trace, "pairs", f"--free-stacks={stacks}", engine=engine)
    made = Trace(trace)
    found = {old.size: call for call, old in made.events("free") if old and 1000 <= old.size < 1100}
    check(f"{engine}, --free-stacks={stacks}: all blocks are freed", len(found) == len(GIVES) * len(FREES), len(found))
    for a, give in enumerate(GIVES):
        for f, free in enumerate(FREES):
            size = 1000 + a * len(FREES) + f
            call = found.get(size)
            function, more, align = free
            right = is_right(give, free, sized)
            if stacks == "no" and right:
                check.equal(f"{give} freed by {free} is no call of its own", call, None)
                continue
            # Nor the alignment: it counts as the block's, if that has any.
            align = align if sized or not align else give[1] or 4
            want = (function, 0 if more is None or not sized else size + more, align)
            check.equal(f"{give} freed by {free}", call and (call.op, call.size, call.align), want)
            check.equal(f"{give} freed by {free} has a stack", bool(call and call.stack), stacks == "yes")
    wrong = {old.size for call, old in made.events("free") if call and call.op in (FREE, DELETE, DELETE_ARRAY) and old}
    check(f"{engine}, --free-stacks={stacks}: functions are in the trace", len(wrong) > 40, len(wrong))


def report(build, trace, *options):
    text = subprocess.run([build.file("analyze/msreplay"), "-q", "--massif-out-file=-", "--time-unit=B",
                           "--exact-peak", *options, trace], check=True, capture_output=True, text=True).stdout
    return [line for line in text.splitlines() if not line.startswith(("desc:", "cmd:"))]


def check_results(build, scratch):
    """Results do not depend on how frees are recorded, nor on whether a trace is written again."""
    plain, full, again = (os.path.join(scratch, name) for name in ("plain", "full", "again.zst"))
    record(build, plain, "pairs")
    record(build, full, "pairs", "--free-stacks=yes")
    check("massif.out is the same with the stacks of frees", report(build, plain) == report(build, full))

    def table(trace):
        return subprocess.run([build.file("analyze/msreplay"), "-q", "--memusage", trace], text=True,
                              capture_output=True).stdout
    check("memusage's report, too", table(plain) == table(full) and "free|" in table(plain), table(plain))
    subprocess.run([build.file("analyze/msconvert"), "-q", "--to=trace", "-o", again, plain], check=True)
    first, second = list(Trace(plain).events("free")), list(Trace(again).events("free"))
    check("a trace that is written again has the same frees", [(c and (c.op, c.size, c.align), o) for c, o in first] ==
          [(c and (c.op, c.size, c.align), o) for c, o in second])
    subprocess.run([build.file("analyze/msconvert"), "-q", "-f", "--to=trace", "--drop=free-stacks", "-o", again, full])
    dropped = [(c and (c.op, c.size, c.align), o.size if o else 0) for c, o in Trace(again).events("free")]
    check("without the stacks of frees functions stay",
          sorted(map(str, dropped)) == sorted(str((c and (c.op, c.size, c.align), o.size if o else 0))
                                              for c, o in first))


def check_again(build, trace):
    for stacks in "no", "yes":
        ended = record(build, trace, "double", f"--free-stacks={stacks}")
        made = Trace(trace)
        marks = [old for call, old in made.events("call") if call.op == FREED_BEFORE]
        check(f"a double free, --free-stacks={stacks}: the marker has the block",
              ended == -signal.SIGABRT and [old.size for old in marks] == [1234], (ended, marks))
        last = list(made.events("free"))[-1]
        check("and the free is of the unknown block",
              last[1] is made.kinds[0] and bool(last[0]) == (stacks == "yes"), last)
        record(build, trace, "never", f"--free-stacks={stacks}")
        made = Trace(trace)
        check("what was never allocated has no marker", not any(
            call.op == FREED_BEFORE for call, _ in made.events("call")) and list(made.events("free"))[-1][1] is
            made.kinds[0])


def check_fails(build, trace):
    record(build, trace, "fails")
    made = Trace(trace)
    half = (2**64 - 1) // 2
    calls = {call.size: call for call, _ in made.events("call") if call.op < 32}
    for what, size, op, flags in (("malloc", half - 1, 1, 0), ("calloc", half * 3 % 2**64, 2, OVERFLOW),
                                  ("realloc", half - 4, 4, 0), ("posix_memalign", 1001, 8, INVALID),
                                  ("new", half - 3, 12, 0)):
        call = calls.get(size)
        check(f"a failed {what}",
              call and call.op == op and call.stack and call.flags & (OVERFLOW | INVALID) == flags, call)
    check("malloc(0)", any(call.op == 1 and call.size == 0 for call, _ in made.events("alloc")))


def main():
    build = arguments(__doc__).build
    with Scratch() as scratch:
        trace = os.path.join(scratch, "trace")
        for stacks in "no", "yes":
            check_pairs(build, trace, stacks)
            if build.has("trace-record/valgrind/msrec-amd64-linux"):
                check_pairs(build, trace, stacks, "valgrind")
        check_results(build, scratch)
        check_again(build, trace)
        check_fails(build, trace)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
