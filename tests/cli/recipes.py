#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of docs/jit.md with the runtimes that are installed: their own functions are in the stacks, by name, and
have what they allocated. So they are by the jitdumps of runtimes that write one.

  recipes.py --build DIR
"""

import csv
import glob
import io
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
# Functions whose code makes room for that of the next ones; each allocates a size of its own.
REUSE = """
const fs = require('fs'), word = Buffer.alloc(1);
function made(n) {
  return new Function(`return function f_${n}() { return Buffer.allocUnsafeSlow(${100000 + n}); }`)();
}
for (let n = 0; n < 400; n++) {
  let f = made(n);
  for (let i = 0; i < 3; i++) f();
  f = null;
  if (n % 20 == 19) {
    console.log('made');
    fs.readSync(0, word);
    gc();
  }
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


def accepts(runtime, *options):
    """Without running a script, which would write V8's logs where the tests are started."""
    return subprocess.run([runtime, *options, "--version"], capture_output=True).returncode == 0


def node():
    path = shutil.which("node")
    return path if path and accepts(path, "--perf-basic-prof", "--interpreted-frames-native-stack") else None


def java():
    return shutil.which("javac") and shutil.which("java")


RECIPES = {
    "Node": (node, "app.js", NODE, r"[~^*]makeBuffers "),
    "Python, other": (python, "app.py", PYTHON, r"py::make_lists:"),
    "Java": (java, "App.java", JAVA, r"(?:void|long|ByteBuffer) App\.\w+\("),
}


# Instead of a recipe's options: those for a jitdump, and the folder that it is written to, if not the program's own.
JITDUMPS = {
    "Node": (["--perf-prof", "--interpreted-frames-native-stack"], ""),
    "Python, other": (["-X", "perf_jit"], "/tmp"),
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
    subprocess.run([build.msrec, "-q", "--python=no", "-o", os.path.join(work, name + ".%p.zst"), runtime,
                    *documented(name)], check=True, cwd=work, stdout=subprocess.DEVNULL)
    trace, = glob.glob(os.path.join(work, name + ".*.zst"))
    os.remove(f"/tmp/perf-{trace.split('.')[-2]}.map")
    folded = subprocess.run([build.file("analyze/msconvert"), "-q", "--to=folded", "--value=alloc_bytes", trace],
                            check=True, capture_output=True, text=True).stdout
    n = allocated(folded, pattern)
    check(f"{name}: its functions have {n} bytes", n > LEAST, folded[:1000])
    check(f"{name}: nothing is lost", build.stat(trace)["lost"] == 0)


def check_jitdump(check, build, work, name):
    find, source, text, pattern = RECIPES[name]
    options, folder = JITDUMPS[name]
    runtime = find()
    if not runtime or not accepts(runtime, *options):
        print(f"SKIP: {name}, jitdump: not here, or too old")
        return
    with open(os.path.join(work, source), "w") as file:
        file.write(text)
    subprocess.run([build.msrec, "-q", "--python=no", "-o", os.path.join(work, name + ".jitdump.%p.zst"), runtime,
                    *options, source], check=True, cwd=work, stdout=subprocess.DEVNULL)
    trace, = glob.glob(os.path.join(work, name + ".jitdump.*.zst"))
    os.remove(os.path.join(work, folder, f"jit-{trace.split('.')[-2]}.dump"))
    folded = subprocess.run([build.file("analyze/msconvert"), "-q", "--to=folded", "--value=alloc_bytes", trace],
                            check=True, capture_output=True, text=True).stdout
    n = allocated(folded, pattern)
    check(f"{name}: by the jitdump its functions have {n} bytes", n > LEAST, folded[:1000])


def named_functions(build, trace):
    """Of the blocks of REUSE: the number of the function that should have allocated it, and those in the stack."""
    def table(form):
        words = [build.file("analyze/msconvert"), "-q", "--to=csv" + form, "-o", "-", trace]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return csv.DictReader(io.StringIO(said))
    csv.field_size_limit(1 << 30)
    paths = {row["stack"]: row["path"] for row in table("-stacks")}
    for row in table(""):
        if row["type"] == "alloc" and 100000 <= int(row["size"]) < 100400:
            yield int(row["size"]) - 100000, {int(n) for n in re.findall(r"f_(\d+)", paths[row["stack"]])}


def check_reuse(check, build, work):
    """Code that comes to the address of other code leaves the other's stacks alone, if msrec looked in between."""
    if not node():
        print("SKIP: reuse: no Node")
        return
    with open(os.path.join(work, "reuse.js"), "w") as file:
        file.write(REUSE)
    program = subprocess.Popen([build.msrec, "-q", "-o", "reuse.%p.zst", "node", "--expose-gc",
                                *documented("Node")[:-1], "reuse.js"], cwd=work, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    while program.stdout.readline():
        # It answers when it has taken what was before, with the names that there were.
        subprocess.run([build.msrec, "mark", str(program.pid), "made"], check=True, capture_output=True)
        program.stdin.write("\n")
        program.stdin.flush()
    program.communicate()
    trace, = glob.glob(os.path.join(work, "reuse.*.zst"))
    map_file = f"/tmp/perf-{trace.split('.')[-2]}.map"
    with open(map_file, encoding="utf-8") as file:
        starts = [line.split()[0] for line in file if re.search(r"[~^*]f_\d+", line)]
    os.remove(map_file)
    check(f"Node: {len(starts) - len(set(starts))} of {len(starts)} functions are where another one was",
          len(starts) - len(set(starts)) > 100)
    found = list(named_functions(build, trace))
    wrong = [(wanted, names) for wanted, names in found if names != {wanted}]
    check(f"Node: {len(found)} blocks of functions whose code goes", len(found) == 1200 and not wrong, str(wrong[:5]))


def main():
    build, check = harness.arguments(__doc__).build, harness.Checks()
    with harness.Scratch() as work:
        for name in RECIPES:
            check_recipe(check, build, work, name)
        for name in JITDUMPS:
            check_jitdump(check, build, work, name)
        check_reuse(check, build, work)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
