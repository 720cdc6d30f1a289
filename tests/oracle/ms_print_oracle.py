#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares our ms_print with Valgrind's on generated massif.out files.

Every case is a file and a command line, made from a seed: realistic profiles, profiles with odd values, and
broken ones. Standard output must agree byte for byte, success must agree, and so must the first line of the
message for malformed input. Cases on which the real program runs out of time or memory are not judged.

Exit status: 0 all identical, 1 some differ, 77 the real program is missing.
"""
import concurrent.futures
import difflib
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Scratch, arguments, need, need_valgrind    # noqa: E402

OUR_STATUSES = {0, 1, 2, 255}
MESSAGE = re.compile(rb"^(?:Line \d+: |bad time_unit: |Cannot open ).*$", re.M)

# ---- numbers -------------------------------------------------------------------------------------------

EDGES = [
    "0", "1", "9", "10", "999", "1000", "1023", "1024", "9999", "10239", "10240", "99999", "102399", "102400",
    "999999", "1000000", "1023999", "1048576", "3599999", "3600000", "35999999", "360000000",
    "4294967295", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "18446744073709551614", "18446744073709551615",
    "18446744073709551616", "99999999999999999999", "123456789012345678901234567890",
]
ODD = [
    "", " ", "abc", "12abc", "0x10", " 12", "12 ", "\t12\r", "+5", "-0", "-0.0", "--5", "+-5", "1_000", ".5", "5.",
    ".", "12.0", "1e3", "1E3", "1e", "1e+", "1e-3", "1.5e3", "9007199254740993.0", "9007199254740991.0",
    "9007199254740993abc", "9.99e15", "1e15", "1e18", "1e19", "1.9e19", "18446744073709551615e0",
    "99999999999999999999e0", "0e9999999999999999", "1e-400", "4.9e-324", "000000000000000000000000012", "0001234",
    "1234567.5", "-1", "-12345", "-9223372036854775808", "-9223372036854775809", "1\x002", "12\0", "1,234", "\x0b7",
    "\xa07", "1.5.5", "5 5", "1d5", "0.1", "0.30000000000000004", "999.5", "999.99999", "1e22", "1.7e308", "0b11",
    "123456789012345678", "nanx", "1e5.5", "+", "-", "e5", "1e0000000000000000001", "\u0662",
]
SPECIAL = ["inf", "nan", "-inf", "Infinity", "infx", "NaN(1)", "-nan", "1e400", "-1e400", "1" * 310, "snan", "iNf ",
           "9" * 400]
UNITS = ["B", "i", "ms"]


def plain_number(rng):
    kind = rng.random()
    if kind < 0.3:
        return str(rng.randrange(0, 2000))
    if kind < 0.6:
        return str(int(10 ** rng.uniform(0, 13)))
    if kind < 0.8:
        return str(rng.choice([1 << rng.randrange(0, 64), (1 << rng.randrange(1, 65)) - 1]))
    return rng.choice(EDGES)


def any_number(rng):
    kind = rng.random()
    if kind < 0.5:
        return plain_number(rng)
    if kind < 0.6:
        return repr(rng.choice([1, 1e3, 1e9, 1e16, 1e20, 1e-3]) * rng.random())
    if kind < 0.9:
        return rng.choice(ODD)
    return rng.choice(SPECIAL)


# ---- trees ---------------------------------------------------------------------------------------------

NAMES = [
    "main (a.c:7)", "g (ex.c:2)", "??? (in /usr/lib/libc.so.6)",
    "std::vector<int, std::allocator<int> >::push_back(int&&) (v.h:1)",
    "operator new(unsigned long) (vg_replace_malloc.c:422)", "f#1 (hash.c:3)", "percent %s%d (p.c:1)", "a, b (c d.c:9)",
    "(below main)", "caf\xe9 (\u00fc.c:1)", "x" * 300 + " (long.c:1)", "nul\0inside (n.c:1)", "cr\r", "",
    "n3: 7 0x1: lookalike", "in 3 places, all below massif's threshold (1.00%)",
]


def tree_lines(rng, total, depth, width, sloppy):
    """A tree of at most `total` bytes, as lines; iterative, for trees far deeper than Python may recurse."""
    root = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."
    out = []
    stack = [(total, 0, root)]
    while stack:
        size, level, text = stack.pop()
        count = rng.randrange(0, width + 1) if level < depth else 0
        if depth > 30 and level < depth:
            count = 1
        left, parts = size, []
        for _ in range(count):
            part = rng.choice([0, left, rng.randrange(left + 1), min(left, rng.randrange(100))])
            parts.append(part)
            left -= part
        if rng.random() < 0.7:
            parts.sort(reverse=True)
        shown = count
        if sloppy and rng.random() < 0.03:
            shown = max(0, count + rng.choice([-1, 1]))
        number = str(size)
        if sloppy and rng.random() < 0.05:
            number = rng.choice(["0" * 20 + number, number + "x", str(size * 3 + 1), number + ".5", plain_number(rng),
                                 number + "e5"])
        indent = " " * (level if not sloppy or rng.random() < 0.8 else rng.randrange(9))
        out.append(f"{indent}n{'0' * (sloppy and rng.random() < 0.05)}{shown}: {number} {text}")
        for part in reversed(parts):
            stack.append((part, level + 1, f"0x{rng.randrange(1 << 48):X}: {rng.choice(NAMES)}"))
    return out


def tree_shape(rng):
    kind = rng.random()
    if kind < 0.1:
        return rng.randrange(40, 400), 1
    if kind < 0.2:
        return 1, rng.randrange(0, 60)
    return rng.randrange(0, 7), rng.randrange(0, 5)


# ---- files ---------------------------------------------------------------------------------------------

def snapshot_lines(number, time, heap, extra, stacks, tree, body):
    return ["#-----------", f"snapshot={number}", "#-----------", f"time={time}", f"mem_heap_B={heap}",
            f"mem_heap_extra_B={extra}", f"mem_stacks_B={stacks}", f"heap_tree={tree}"] + body


def header_lines(rng):
    desc = rng.choice(["desc: (none)", "desc: --time-unit=B --detailed-freq=1", "desc: --alloc-fn=a b",
                       "desc:  --x=%d%s"])
    return [desc, rng.choice(["cmd: ./a.out 1 2", "cmd: ls  -l", "cmd: sh -c x y", "cmd: /opt/caf\xe9"]),
            f"time_unit: {rng.choice(UNITS)}"]


def realistic(rng):
    lines = header_lines(rng)
    count = rng.choice([1, 2, 3, rng.randrange(1, 30), rng.randrange(1, 101)])
    scale = 10 ** rng.uniform(0, rng.choice([3, 6, 12]))
    peak = rng.randrange(count) if rng.random() < 0.7 else None
    time = rng.choice([0, 0, rng.randrange(1000)])
    frequency = rng.choice([1, 2, 10, 1000])
    for i in range(count):
        heap = int(rng.random() * scale) if i or rng.random() < 0.3 else 0
        body, kind = [], "empty"
        if i == peak or (i % frequency == 0 and i):
            kind = "peak" if i == peak else "detailed"
            body = tree_lines(rng, heap, *tree_shape(rng), sloppy=False)
        extra = rng.choice([0, heap // 50, rng.randrange(200)])
        stacks = rng.choice([0, 0, 0, rng.randrange(5000)])
        lines += snapshot_lines(i, time, heap, extra, stacks, kind, body)
        time += int(rng.random() * scale) + rng.randrange(2)
    return lines


def time_series(rng, count):
    """Increasing, decreasing, repeating or negative times; the last one is never negative here."""
    top = rng.choice([10, 72, 1000, 10 ** 9, 2 ** 53, 2 ** 63])
    times = [rng.randrange(top) for _ in range(count)]
    if rng.random() < 0.5:
        times.sort()
    if rng.random() < 0.3:
        times = [time if rng.random() < 0.7 else -(time // rng.choice([1, 2, 5, 50])) for time in times]
    if rng.random() < 0.5:
        times[-1] = rng.choice([top, max(1, top // 3), max(1, max(times) - 1), max(times)])
    return [str(abs(time) if i + 1 == count else time) for i, time in enumerate(times)]


def odd(rng):
    lines = header_lines(rng)
    count = rng.randrange(1, 14)
    times = time_series(rng, count)
    sizes = rng.choice([plain_number, any_number, lambda r: str(r.randrange(3)),
                        lambda r: str(2 ** 64 - 1 - r.randrange(3)),
                        lambda r: str(2 ** 53 + r.randrange(-3, 4)), lambda r: repr(r.random() * 1e17), lambda r: "0"])
    for i in range(count):
        time = times[i] if rng.random() < 0.85 else any_number(rng)
        heap, extra, stacks = sizes(rng), rng.choice(["0", sizes(rng)]), rng.choice(["0", "0", sizes(rng)])
        number = rng.choice([str(i), str(i), str(i), str(rng.randrange(count + 1)), f" {i}.0", f"0{i}",
                             any_number(rng)])
        kind, body = "empty", []
        if rng.random() < 0.4:
            kind = rng.choice(["detailed", "peak", "peak", "peak ", "xpeakx", "emptydetailed"])
            total = rng.choice([0, int(heap) if heap.isascii() and heap.isdigit() else 5, 1])
            body = tree_lines(rng, total, *tree_shape(rng), sloppy=rng.random() < 0.1)
        lines += snapshot_lines(number, time, heap, extra, stacks, kind, body)
    return lines


JUNK = [
    "", " ", "\t\r\x0b\f", "#", "# snapshot=1", "snapshot=0", " snapshot=1", "snapshot =1", "time=5", "cmd: again",
    "desc: late",
    "time_unit: B", "heap_tree=empty", "heap_tree=detailed", "heap_tree=", "heap_tree=Peak", "heap_tree=empty ",
    "n0: 1 x", "n1: 1 x",
    "n99999999999999999999: 0 x", "n0:0", "n: 1 x", "n0 : 1 x", "N0: 1 x", "n0: -1 x", "\xa0n0: 1 x", "\0", "n+1: 1 x",
    "mem_heap_B", "mem_heap_B=", "garbage",
]


def break_lines(rng, lines):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if not lines:
            break
        at = rng.randrange(len(lines))
        if rng.random() < 0.25:
            at = rng.randrange(min(4, len(lines)))
        kind = rng.randrange(8)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, rng.choice(lines))
        elif kind == 2:
            lines.insert(at, rng.choice(JUNK))
        elif kind == 3:
            lines[at] = rng.choice(JUNK)
        elif kind == 4:
            del lines[at:]
        elif kind == 5:
            lines[at] += rng.choice(["\r", " ", "#", "# c", " x", "\0", "\t\r"])
        elif kind == 6:
            lines[at] = re.sub(r"\d+", lambda m: any_number(rng), lines[at], count=1)
        else:
            lines[at] = rng.choice([" ", "\t", "#", "x", "\r"]) + lines[at]
    return lines


def odd_header(rng, lines):
    rest = [line for line in lines if not line.startswith(("desc:", "cmd:", "time_unit:"))]
    pool = ["desc: one", "desc:", "desc:two #three", "desc:\r", "", "# note", "desc: \0x"]
    desc = [rng.choice(pool) for _ in range(rng.randrange(4))]
    cmd = rng.choice(["cmd: x", "cmd:x", "cmd:", "cmd:   spaced  out ", "cmd: a#b", "cmd: #", "cmd:\t\x0b\ftabs",
                      "cmd: cr\r", "cmd: " + "y" * 70000])
    unit = rng.choice(["time_unit: B", "time_unit:B", "time_unit:\t ms", "time_unit: i# x", "time_unit: i",
                       "time_unit: B ", "time_unit: s", "time_unit:", "time_unit: ms\r"])
    return desc + [cmd, unit] + rest


def corner(rng):
    """Cases that the other makers rarely hit."""
    head = ["desc: d", "cmd: c", f"time_unit: {rng.choice(UNITS)}"]
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice([[], [""], ["#"], head, head[:1], head[:2], head[1:], ["desc: x"] * 5 + head[1:]])
    if kind == 1:
        return head + snapshot_lines(0, rng.choice(["1", "nan", "inf", "-1", "0", "-0.0", "1e-320"]), any_number(rng),
                                     0, 0, "empty", [])
    if kind == 2:
        depth = rng.randrange(500, 1500)
        return head + snapshot_lines(0, 1, 5, 0, 0, "peak", ["n1: 5 deep"] * depth + ["n0: 5 end"])
    if kind == 3:
        total = rng.choice([2 ** 64 - 1, 10 ** 20, 2 ** 60 + 7, 10 ** 17])
        parts = sorted((rng.randrange(total) for _ in range(6)), reverse=True)
        body = ["n6: %d root" % total] + [" n0: %d part" % (part // rng.choice([1, 10, 100, 1000])) for part in parts]
        return head + snapshot_lines(0, 1, total, 0, 0, "detailed", body)
    if kind == 4:
        lines = head[:]
        for i in range(rng.randrange(2, 8)):
            lines += snapshot_lines(i, rng.choice(["nan", "inf", "1e300", "-1e30", "-7", "-3", "9", "25", "0"]),
                                    rng.choice([0, 0, 50, 70]), 0, 0,
                                    *rng.choice([("empty", []), ("peak", ["n0: 0 x"]), ("detailed", ["n0: 0 x"])]))
        return lines + snapshot_lines(9, 10, 100, 0, 0, "empty", [])
    if kind == 5:
        body = ["n2: 50 a", " n1: 0 hidden", "  n2: 77 shown", "   n0: 0 h", "   n0: 1 i",
                " n0: %s b" % rng.choice(["0", "1", "2", "50"])]
        return head + snapshot_lines(0, 1, rng.choice([100, 77, 200, 5000]), 0, 0, "peak", body)
    if kind == 6:
        size = rng.choice(["1" + "0" * 308, "9" * 309, "17" + "0" * 307, "8" + "0" * 307])
        body = [f"n3: {size} r", f" n0: {size} a", f" n0: {size} b", " n0: 5 c"]
        return head + snapshot_lines(0, 1, rng.choice(["inf", "1.7e308", size, "1" + "0" * 308]), 0, 0, "detailed",
                                     body)
    width = rng.randrange(100, 3000)
    body = [f"n{width}: {width * 2} wide"] + [f" n0: {rng.randrange(4)} leaf" for _ in range(width)]
    return head + snapshot_lines(0, 1, width * 2, 0, 0, "peak", body)


def make_file(rng):
    maker = rng.choices([realistic, odd, corner], [4, 4, 2])[0]
    lines = maker(rng)
    if rng.random() < 0.15:
        lines = odd_header(rng, lines)
    if rng.random() < 0.25:
        lines = break_lines(rng, lines)
    ends = rng.random()
    text = ("\r\n" if ends < 0.03 else "\n").join(lines)
    if lines and ends < 0.9:
        text += "\n"
    if rng.random() < 0.03:
        text = text[:rng.randrange(len(text) + 1)]
    if rng.random() < 0.02:
        text = text.replace("\n", "\n\n#x\n \t\n")
    return text.encode("utf-8" if rng.random() < 0.5 else "latin-1", "replace")


GOOD_THRESHOLDS = ["0", "0.1", "1", "1%", "5", "10", "20%", "33.33", "99.99", "100"]
ODD_THRESHOLDS = ["1.2.3", ".", "0..", "00002.5", "100.1", "", "%", "1%%", "1e1", "-1", "0.5\n", "0.5%\n", "1 ",
                  "." * 50, "0" * 400 + "1"]
ODD_ARGUMENTS = ["--x=3", "--x=4", "--x=5", "--x=1000", "--x=1001", "--x=0072", "--x=", "--x", "--y=4", "--y=1000",
                 "--y=1001", "--y=10x",
                 "--y=+10", "--x=72\n", "--x=99999999999999999999999", "-x=10", "--X=9", "--help", "-h", "--version",
                 "-", "--", "extra", "", "--threshold", "--x=10%"]


def make_arguments(rng):
    arguments = []
    if rng.random() < 0.6:
        arguments.append(f"--x={rng.choice([4, 6, 10, 40, rng.randrange(4, 200), rng.randrange(4, 1001)])}")
    if rng.random() < 0.6:
        arguments.append(f"--y={rng.choice([4, 5, 10, 20, rng.randrange(4, 100)])}")
    if rng.random() < 0.6:
        arguments.append(f"--threshold={rng.choice(GOOD_THRESHOLDS + [f'{rng.random() * 20:.3f}'])}")
    if rng.random() < 0.05:
        arguments.append(f"--threshold={rng.choice(ODD_THRESHOLDS)}")
    if rng.random() < 0.05:
        arguments.append(rng.choice(ODD_ARGUMENTS))
    names = ["FILE"] if rng.random() < 0.98 else rng.choice([["missing"], ["missing", "FILE"], ["FILE", "missing"], []])
    at = rng.randrange(len(arguments) + 1) if rng.random() < 0.3 else len(arguments)
    return arguments[:at] + names + arguments[at:]


# ---- running -------------------------------------------------------------------------------------------

def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))


def run(command, arguments, directory, limited):
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": directory, "ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "exitcode=99"}
    done = subprocess.run([command] + arguments, cwd=directory, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=20, preexec_fn=limit_memory if limited else None)
    return done.returncode, done.stdout, done.stderr


def first_message(text):
    """The first line of the message, which both programs must have in the same words."""
    found = MESSAGE.search(text)
    return found.group(0) if found else None


def same_message(real, ours):
    """The real program dies without a message of a node that is too large and of values that the graph can't show."""
    died = re.search(rb"^Died at .*?(?:<INPUTFILE> line (\d+))?\.$", real, re.M)
    if died and died.group(1):
        return ours.startswith(b"Line %s: a tree node" % died.group(1))
    if died or b"non-creatable" in real:
        return ours.startswith(b"ms_print: ")
    return first_message(real) == first_message(ours)


def judge(options, directory, index):
    """None if the two agree, "skipped", or the difference."""
    rng = random.Random(f"{options.seed}:{index}")
    data, arguments = make_file(rng), make_arguments(rng)
    name = f"{index}.out"
    arguments = [name if argument == "FILE" else argument for argument in arguments]
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data)
    try:
        try:
            real = run(options.real, arguments, directory, True)
        except subprocess.TimeoutExpired:
            return "skipped"
        if b"Out of memory" in real[2]:
            return "skipped"
        try:
            ours = run(options.ms_print, arguments, directory, False)
        except subprocess.TimeoutExpired:
            return (index, data, arguments, real, (None, b"", b"timed out"))
    finally:
        os.unlink(path)
    same = real[1] == ours[1] and (real[0] == 0) == (ours[0] == 0) and ours[0] in OUR_STATUSES
    if same and same_message(real[2], ours[2]):
        return None
    return (index, data, arguments, real, ours)


def show(difference, keep):
    index, data, arguments, real, ours = difference
    os.makedirs(keep, exist_ok=True)
    with open(os.path.join(keep, f"{index}.out"), "wb") as file:
        file.write(data)
    print(f"case {index} differs; kept in {keep}: ms_print {' '.join(map(repr, arguments))}")
    print(f"status: real {real[0]}, ours {ours[0]}")
    texts = [side[1].decode("latin-1").splitlines() for side in (real, ours)]
    for line in list(difflib.unified_diff(*texts, "real", "ours", lineterm="", n=1))[:40]:
        print(line[:200])
    for side, name in ((real, "real"), (ours, "ours")):
        print(f"stderr of {name}: {side[2].decode('latin-1')[:400]}")


def main():
    options = arguments(__doc__, ("--real", {"default": "/usr/bin/ms_print"}), "--seed",
                        ("--count", {"type": int, "default": 700}), ("--long", {"help": "many more cases"}),
                        ("--only", {"type": int, "metavar": "N", "help": "run this case only"}),
                        ("--keep", {"default": os.path.join(tempfile.gettempdir(), "ms_print_oracle"),
                                    "help": "where the first differing file goes"}))
    options.ms_print = options.build.file("ms_print/ms_print")
    need(options.real)
    need_valgrind()
    count = options.count * 6 if options.long else options.count
    indices = range(count) if options.only is None else [options.only]
    with (Scratch() as directory,
          concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool):
        results = list(pool.map(lambda index: judge(options, directory, index), indices))
    judged = [result for result in results if result != "skipped"]
    differences = [result for result in judged if result is not None]
    if differences:
        show(differences[0], options.keep)
        print("differing cases:", *[difference[0] for difference in differences[:50]])
    print(f"identical {len(judged) - len(differences)}/{len(judged)}" +
          (f" (not judged: {len(results) - len(judged)})" if len(judged) < len(results) else ""))
    # Too few judged cases prove nothing.
    return 1 if differences or len(judged) < 0.9 * len(results) else 0


if __name__ == "__main__":
    sys.exit(main())
