#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of docs/jit.md with the runtimes that are installed: their own functions are in the stacks, by name, and
have what they allocated.

  recipes.py --build DIR
"""

import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "jit.md")
LEAST = 10_000_000      # bytes that each program's function allocates

NODE = """
function makeBuffers(n) {
  const all = [];
  for (let i = 0; i < n; i++)
    all.push(Buffer.allocUnsafeSlow(10000 + i));
  return all;
}
let kept = 0;
for (let round = 0; round < 30; round++) {
  kept += makeBuffers(50).length;
  new Function('n', `for (let i = 0; i < n; i++) JSON.parse('[${round}]');`)(20);
}
"""
PYTHON = """
def make_lists(n):
    return [bytes(5000 + i) for i in range(n)]
def outer():
    return [make_lists(100) for i in range(20)]
outer()
"""
JAVA = """
import java.nio.*;
import java.util.*;
public class App {
    static ByteBuffer grab(int n) { return ByteBuffer.allocateDirect(n); }
    static long work(int rounds) {
        List<ByteBuffer> kept = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            kept.add(grab(20000 + i % 7));
            sum += kept.size();
            if (kept.size() > 100)
                kept.clear();
        }
        return sum;
    }
    public static void main(String[] arguments) {
        long sum = 0;
        for (int i = 0; i < 20; i++)
            sum += work(1000);
        System.out.println(sum);
    }
}
"""


def python():
    """A Python that has -X perf: the newest."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for path in [shutil.which("python3") or "", *sorted(found, reverse=True)]:
        done = path and subprocess.run([path, "-X", "perf", "-c", "import sys; print(sys.version_info >= (3, 12))"],
                                       capture_output=True, text=True)
        if done and done.stdout == "True\n":
            return path
    return None


def node():
    path = shutil.which("node")
    done = path and subprocess.run([path, "--perf-basic-prof", "--interpreted-frames-native-stack", "-e", ""])
    return path if done and done.returncode == 0 else None


def java():
    return shutil.which("javac") and shutil.which("java")


RECIPES = {
    "Node": (node, "app.js", NODE, r"[~^*]makeBuffers "),
    "Python": (python, "app.py", PYTHON, r"py::make_lists:"),
    "Java": (java, "App.java", JAVA, r"(?:void|long|ByteBuffer) App\.\w+\("),
}


def documented(name):
    """The command of a recipe behind msrec, without the runtime's own name."""
    with open(DOCUMENT, encoding="utf-8") as file:
        return re.search(rf"^\| {name}.*`msrec (\S+) (.*)` \|$", file.read(), re.M).group(2).split()


def allocated(text, pattern):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.search(pattern, line))


def check_recipe(check, build, work, name):
    find, source, text, pattern = RECIPES[name]
    runtime = find()
    if not runtime:
        print(f"SKIP: {name}: not here, or too old")
        return
    with open(os.path.join(work, source), "w") as file:
        file.write(text)
    if source.endswith(".java"):
        subprocess.run(["javac", source], check=True, cwd=work)
    subprocess.run([build.msrec, "-q", "-o", os.path.join(work, name + ".%p.zst"), runtime, *documented(name)],
                   check=True, cwd=work, stdout=subprocess.DEVNULL)
    trace, = glob.glob(os.path.join(work, name + ".*.zst"))
    os.remove(f"/tmp/perf-{trace.split('.')[-2]}.map")
    folded = subprocess.run([build.file("analyze/msconvert"), "-q", "--to=folded", "--value=alloc_bytes", trace],
                            check=True, capture_output=True, text=True).stdout
    n = allocated(folded, pattern)
    check(f"{name}: its functions have {n} bytes", n > LEAST, folded[:1000])
    check(f"{name}: nothing is lost", build.stat(trace)["lost"] == 0)


def main():
    build, check = harness.arguments(__doc__).build, harness.Checks()
    with harness.Scratch() as work:
        for name in RECIPES:
            check_recipe(check, build, work, name)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
