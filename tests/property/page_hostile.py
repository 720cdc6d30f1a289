#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages of hostile traces: the fuzzers' corpus, and mutations of it and of a sound trace. msreport --html ends soon,
with one of its exit codes, and what it writes is a page: of a whole one, tests/tools/page_data.py reads every byte.

  page_hostile.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all are fine, 1 not (the trace is left in the --keep directory).
"""

import glob
import os
import random
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
import page_data                                    # noqa: E402
from harness import Problem, run_tries              # noqa: E402

LARGEST = 3000000
SECONDS = 60
PAGES = (0, 1)       # exit codes with a page: all is well; up to a damage
OTHERS = (2, 64)     # without one
NUMBERS = (0, 1, 0x7f, 0x80, 0xff)
SCRIPT = """stack 0 0x1000 0x100
stack 1 0x2000 0x1000 0x100
time 1000000
alloc 0 malloc 0 100
alloc 1 new 1 5000
thread 1
time 5000000
alloc 2 calloc 1 0
resize 0 1 300
free 1
time 90000000
free_by 2 free 0
end 100000000
"""


class Hostile(Problem):
    """A trace that msreport doesn't bear."""


def mutate(rng, recipe):
    """Some bytes are others, or gone, or there twice."""
    data = bytearray(recipe)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 8, 40))
        what = rng.randrange(5)
        if what == 0:
            data[at:at + size] = rng.randbytes(size)
        elif what == 1:
            data[at:at + 1] = bytes([rng.choice(NUMBERS)])
        elif what == 2:
            del data[at:at + size]
        elif what == 3:
            data[at:at] = data[at:at + size]
        else:
            start = rng.randrange(len(data) + 1)
            data[at:at + size] = data[start:start + size]
    return bytes(data)


class Kitchen:
    """Makes traces and their pages in one folder."""

    script = SCRIPT

    def __init__(self, build, folder):
        self.folder, self.tool, self.recipes = folder, build.file, []
        for corpus in ("reader", "replay", "seek"):
            for path in sorted(glob.glob(os.path.join(HERE, "../fuzz/corpus", corpus, "*"))):
                with open(path, "rb") as file:
                    self.recipes.append(file.read())
        self.recipes.append(self.sound())

    def path(self, name):
        return os.path.join(self.folder, name)

    def sound(self):
        with open(self.path("script"), "w", encoding="utf-8") as file:
            file.write(self.script)
        subprocess.run([self.tool("tests/tools/script2trace"), self.path("script"), self.path("sound.zst")], check=True)
        subprocess.run([self.tool("tests/fuzz/cook"), "-r", self.path("sound.zst"), self.path("recipe")], check=True)
        with open(self.path("recipe"), "rb") as file:
            return file.read()

    def try_once(self, seed):
        """The first seeds are the recipes as they are."""
        rng = random.Random(seed)
        known = 0 < seed <= len(self.recipes)
        recipe = self.recipes[seed - 1] if known else mutate(rng, rng.choice(self.recipes))
        with open(self.path("recipe"), "wb") as file:
            file.write(recipe)
        subprocess.run([self.tool("tests/fuzz/cook"), self.path("recipe"), self.path("t.zst")], check=True)
        self.check()

    def check(self):
        html = self.path("page.html")
        if os.path.exists(html):
            os.unlink(html)
        words = [self.tool("analyze/msreport"), "-q", "-j1", f"--html={html}", self.path("t.zst")]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Hostile(f"no end after {SECONDS} s") from error
        if done.returncode not in PAGES + OTHERS or done.stdout:
            raise Hostile(f"exit {done.returncode}: {done.stdout[:300]}{done.stderr[:1000]}")
        if (done.returncode in PAGES) != os.path.exists(html):
            raise Hostile(f"exit {done.returncode}, but {'no ' * (done.returncode in PAGES)}page")
        if done.returncode in PAGES:
            try:
                self.read(html)
            except (page_data.Damaged, IndexError, KeyError, ValueError, zlib.error) as error:
                raise Hostile(f"no page: {type(error).__name__}: {error}") from error

    def read(self, html):
        if os.path.getsize(html) > LARGEST:
            raise Hostile(f"{os.path.getsize(html)} bytes")
        page = page_data.Page(html)
        if page.html.count("<script") != page.html.count("</script") or not page.html.rstrip().endswith("</html>"):
            raise Hostile("no sound HTML")
        if any(parent is not None and parent >= node for node, parent in enumerate(page.parents)):
            raise Hostile("a parent behind its child")


if __name__ == "__main__":
    sys.exit(run_tries(__doc__, Kitchen, Kitchen.try_once))
