#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the model of Valgrind's heap with the real one: usable sizes of every allocation.

Random scripts of heap operations run under `valgrind --tool=massif` and on the model; the results of
malloc_usable_size must be the same to the byte, at every operation.

  usable_oracle.py --build DIR [--long] [--seed N] [--keep DIR] [CHARACTER...]

Exit status: 0 all identical, 1 not, 77 Valgrind is not installed.
"""

import concurrent.futures
import itertools
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Scratch, Tally, arguments, need, plain_environment    # noqa: E402

KB, MB = 1 << 10, 1 << 20
SUPERBLOCK = 4 * MB
# The largest payloads of the lists of several sizes begin here; each is a multiple of 16.
LISTS = (67, 70, 74, 77, 81, 85, 90, 94, 99, 104, 109, 114, 120, 126, 133, 139, 153, 169, 185, 204, 224, 247, 272, 299,
         329, 362, 398, 438, 482, 530, 583, 641, 770, 924, 1109, 1331, 1597, 1916, 2300, 2760, 3312, 3974, 4769, 5723,
         6868, 8241, 9890)


class Script:
    """Operations, and the set of full slots."""

    def __init__(self, rng):
        self.rng, self.lines, self.full, self.free_slots = rng, [], [], []
        self.bytes, self.sizes, self.next = 0, {}, 0

    def slot(self):
        if self.free_slots:
            return self.free_slots.pop()
        self.next += 1
        return self.next - 1

    def take(self, op, *numbers):
        i = self.slot()
        self.lines.append(" ".join(map(str, (op, i) + numbers)))
        self.full.append(i)
        self.sizes[i] = numbers[-1]
        self.bytes += numbers[-1]
        return i

    def free(self, i):
        self.full.remove(i)
        self.drop(i)

    def drop(self, i):
        self.lines.append(f"f {i}")
        self.free_slots.append(i)
        self.bytes -= self.sizes.pop(i)

    def free_any(self):
        at = self.rng.randrange(len(self.full))
        self.full[at], self.full[-1] = self.full[-1], self.full[at]
        self.drop(self.full.pop())

    def resize(self, i, size):
        self.lines.append(f"r {i} {size}")
        self.bytes += size - self.sizes[i]
        self.sizes[i] = size

    def free_all(self):
        order = self.rng.randrange(3)
        if order == 0:
            self.rng.shuffle(self.full)
        elif order == 1:
            self.full.sort()
        while self.full:
            self.drop(self.full.pop())

    def churn(self, operations, size, live, make=None, resizing=0.0, room=512 * MB):
        """Takes and frees around `live` blocks, at times resizing one; sizes come from size()."""
        rng = self.rng
        for _ in range(operations):
            if self.full and rng.random() < resizing:
                i = rng.choice(self.full)
                n = size() if rng.random() < 0.6 else max(1, self.sizes[i] + rng.randint(-40, 40))
                self.resize(i, max(1, n))
            elif len(self.full) < 2 * live * rng.random() and self.bytes < room:
                make() if make else self.take("c" if rng.random() < 0.1 else "m", size())
            elif self.full:
                self.free_any()


def small(s, scale):
    limit = s.rng.choice((64, 200, 600))
    s.churn(2000 * scale, lambda: s.rng.randint(0, limit), s.rng.choice((5, 50, 500)))


def mixed(s, scale):
    s.churn(2000 * scale, lambda: s.rng.randint(0, 5000), s.rng.choice((10, 100, 1000)), resizing=0.1)


def wide(s, scale):
    """Sizes of every magnitude up to beyond a superblock."""
    s.churn(1500 * scale, lambda: int(2 ** s.rng.uniform(0, 23)), s.rng.choice((20, 60, 200)), resizing=0.15)


def big(s, scale):
    rng = s.rng
    edge = SUPERBLOCK - 64

    def size():
        kind = rng.randrange(4)
        if kind == 0:
            return edge + rng.randint(-100, 5000)
        if kind == 1:
            return rng.randint(SUPERBLOCK, 64 * MB)
        return rng.randint(100 * KB, 3 * MB) if kind == 2 else rng.randint(0, 20000)

    s.churn(400 * scale, size, rng.choice((5, 20, 40)), resizing=0.1, room=400 * MB)


def aligned(s, scale):
    rng = s.rng
    limit = rng.choice((100, 5000, 100 * KB))

    def make():
        size = rng.randint(0, limit)
        if rng.random() < 0.6:
            s.take("a", 1 << rng.randint(0, 12), size)
        else:
            s.take("m", size)

    s.churn(1500 * scale, lambda: rng.randint(0, limit), rng.choice((10, 100, 600)), make, resizing=0.05)


def aligned_big(s, scale):
    """memalign's superblocks beyond the usual size, which are split, among those that aren't."""
    rng = s.rng

    def size():
        return rng.choice((rng.randint(0, 3000), rng.randint(1 * MB, 12 * MB), SUPERBLOCK - rng.randint(0, 9000)))

    def make():
        if rng.random() < 0.4:
            s.take("a", 1 << rng.randint(5, 12), size())
        else:
            s.take("m", size())

    s.churn(400 * scale, size, rng.choice((5, 20, 60)), make, resizing=0.1, room=400 * MB)


def aligned_far(s, scale):
    """Alignments above a page, whose sizes depend on where the heap begins: the second line asks."""
    rng = s.rng
    s.take("m", 1)
    s.lines.append("p 0")

    def size():
        return rng.choice((rng.randint(0, 3000), rng.randint(0, 200 * KB), rng.randint(1 * MB, 6 * MB)))

    def make():
        if rng.random() < 0.5:
            s.take("a", 1 << rng.randint(12, 22), size())
        else:
            s.take("m", size())

    s.churn(300 * scale, size, rng.choice((5, 20, 60)), make, resizing=0.1, room=300 * MB)


def growing(s, scale):
    """Vectors that double or creep, shrink in place, and are copied."""
    rng = s.rng
    for _ in range(12):
        s.take("m", rng.randint(1, 64))
    for _ in range(1500 * scale):
        i = rng.choice(s.full)
        n = s.sizes[i]
        how = rng.randrange(6)
        if how == 0 or n > 6 * MB:
            s.resize(i, rng.randint(1, n))
        elif how == 1:
            s.resize(i, n + rng.randint(1, 48))
        elif how == 2:
            s.resize(i, n + n // 2 + 1)
        elif how == 3:
            s.resize(i, rng.randint(1, 64))
        elif how == 4:
            s.resize(i, 2 * n)
        else:
            s.free(i)
            s.take(rng.choice("mc"), rng.randint(1, 300))


def phases(s, scale):
    """Everything freed, in some order, and again: superblocks come and go."""
    rng = s.rng
    for _ in range(4 * scale):
        top = int(2 ** rng.uniform(5, 21))
        for _ in range(rng.choice((20, 200, 600))):
            if s.bytes > 64 * MB:
                break
            s.take("m", rng.randint(0, top))
        if rng.random() < 0.8:
            s.free_all()
        else:
            s.churn(200, lambda: rng.randint(0, top), 20, room=64 * MB)


def crowd(s, count, low, high, where, between):
    """`count` free blocks of `low` to `high` - 2 units in one list, with one of `high` at `where`; asks for a unit
    less. Blocks of `between` bytes keep them apart."""
    rng = s.rng
    units = [rng.randint(low, high - 2) for _ in range(count)]
    units[where] = high
    blocks = []
    for n in units:
        blocks.append(s.take("m", 16 * n))
        s.take("m", between)
    order = list(range(count))
    if rng.random() < 0.5:                       # Their place in the list counts, not their place in memory.
        order.remove(where)
        rng.shuffle(order)
        order.insert(where, where)
    for k in order:
        s.free(blocks[k])
    for _ in range(rng.randint(1, 4)):
        s.take("m", 16 * (high - 1) - rng.randrange(16))


def crowded(s, scale):
    """About a hundred free blocks in one list before one that is large enough."""
    rng = s.rng
    for _ in range(4 * scale):
        at = rng.randrange(len(LISTS) - 1)
        low, high = LISTS[at], min(LISTS[at + 1] - 1, LISTS[at] + 60)
        count = rng.choice((98, 99, 100, 101, 102, 103, 150, 210))
        crowd(s, count, low, high, min(count - 1, rng.choice((90, 97, 98, 99, 100, 101, 149))), 1)
        s.churn(60, lambda: 16 * rng.randint(low, high), 50, room=300 * MB)
        s.free_all()


def large_lists(s, scale):
    """The last list, which is walked to its end, with more than a hundred blocks."""
    rng = s.rng
    for _ in range(scale):
        # Twelve superblocks without room for any more such blocks.
        crowd(s, 156, LISTS[-1], LISTS[-1] + 110, rng.choice((98, 99, 100, 120, 155)), 16 * LISTS[-1])
        s.churn(300, lambda: rng.randint(150000, 172000), 150, resizing=0.05, room=200 * MB)
        s.free_all()


# Name: generator, scripts of a short run, scale of their length.
CHARACTERS = {
    "small": (small, 40, 1),
    "mixed": (mixed, 40, 1),
    "wide": (wide, 30, 1),
    "big": (big, 30, 1),
    "aligned": (aligned, 40, 1),
    "aligned_big": (aligned_big, 30, 1),
    "aligned_far": (aligned_far, 30, 1),
    "growing": (growing, 30, 1),
    "phases": (phases, 30, 1),
    "crowded": (crowded, 40, 1),
    "large_lists": (large_lists, 15, 1),
    "small_long": (small, 2, 25),
    "mixed_long": (mixed, 2, 25),
    "aligned_long": (aligned, 2, 33),
    "phases_long": (phases, 2, 20),
}
LONG = 20


def write_script(path, character, seed):
    generate, _, scale = CHARACTERS[character]
    script = Script(random.Random(f"{character} {seed}"))
    generate(script, scale)
    with open(path, "w") as f:
        f.write("".join(line + "\n" for line in script.lines))


def run(command, paths):
    """The program's output for each script."""
    done = subprocess.run(command + paths, capture_output=True, text=True, timeout=1500, env=plain_environment())
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit {done.returncode}: {done.stderr[-300:]}")
    parts = done.stdout.split("= ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n")[1:-1] for part in parts}


def place_heap(path, real):
    """Tells a script that has asked where the heap begins: a page, of which 48 bytes lie before the first block."""
    with open(path) as f:
        lines = f.read()
    if lines.split("\n")[1:2] == ["p 0"] and len(real) > 1:
        with open(path, "w") as f:
            f.write(f"b {int(real[1]) - 48}\n" + lines)


def first_difference(path, real, model):
    """The operation at which the sizes differ first."""
    with open(path) as f:
        lines = f.read().splitlines()
    asking = [(n, line) for n, line in enumerate(lines, 1) if line[0] not in "fb"]
    for (n, line), theirs, ours in itertools.zip_longest(asking, real, model, fillvalue="nothing"):
        if theirs != ours:
            return f"line {n} of {len(lines)} (`{line}`): Valgrind {theirs}, model {ours}"
    return "lengths differ"


def compare(args, paths):
    """Differing scripts with their differences, and the number of compared sizes."""
    real = run([shutil.which("valgrind"), "--tool=massif", "--massif-out-file=/dev/null", "-q", args.real], paths)
    for path in paths:
        place_heap(path, real.get(path, []))
    model = run([args.model], paths)
    different = [(p, first_difference(p, real.get(p, []), model.get(p, []))) for p in paths
                 if p not in real or real[p] != model.get(p)]
    return different, sum(map(len, real.values()))


def batches(folder, args):
    names = args.characters or list(CHARACTERS)
    paths = []
    for name in names:
        for k in range(CHARACTERS[name][1] * (LONG if args.long else 1)):
            paths.append(os.path.join(folder, f"{name}-{args.seed + k}"))
            write_script(paths[-1], name, args.seed + k)
    size = 20
    random.Random(0).shuffle(paths)
    return [paths[i:i + size] for i in range(0, len(paths), size)], len(paths)


def main():
    args = arguments(__doc__, ("--long", {"help": f"{LONG} times as many scripts"}),
                     ("--seed", {"help": "of the first script of each character"}),
                     ("--keep", {"help": "a directory for the scripts"}),
                     ("characters", {"nargs": "*", "metavar": "CHARACTER", "choices": [[], *CHARACTERS]}))
    need("valgrind")
    args.real, args.model = (args.build.file("tests/oracle/" + p) for p in ("usable_real", "usable_model"))
    tally = Tally()
    with Scratch() as scratch:
        folder = os.path.abspath(args.keep or scratch)
        os.makedirs(folder, exist_ok=True)
        work, total = batches(folder, args)
        failed = sizes = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for different, compared in pool.map(lambda paths: compare(args, paths), work):
                sizes += compared
                failed += len(different)
                for path, how in different:
                    print(f"not ok {os.path.basename(path)}: {how}", flush=True)
    print(f"{sizes} sizes compared")
    tally.total, tally.identical = total, total - failed
    return tally.status()


if __name__ == "__main__":
    sys.exit(main())
