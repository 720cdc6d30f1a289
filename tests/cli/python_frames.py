#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The functions and lines of Python in stacks: at each event those that the interpreter itself says.

  python_frames.py --build DIR [--events N] [--seed N] [--python FILE] [--only WORD]
"""

import difflib
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools")]
import page_data    # noqa: E402
from harness import Problem, arguments, by_process, plain_environment, run_cases, Scratch, skip, until    # noqa: E402

PROGRAM = os.path.join(HERE, "python_program.py")
FOLLOWED = "3.11", "3.12", "3.13"
MALLOC, VALLOC = 1, 10  # in mst_op.h
DEEPEST = 2048     # frames of a stack that msrec takes
# Of the interpreter's own tests, for few events.
SUITES = ("json.test_fail", "generators", "coroutines", "contextlib", "sqlite3.test_userfunctions", "functools",
          "pyexpat", "except_star", "asyncio.test_queues", "dataclasses", "codeccallbacks",
          "importlib.import_.test_path", "genericpath")


class Bench:
    def __init__(self, options, folder):
        self.build, self.folder, self.python = options.build, folder, options.python
        self.events, self.seed = options.events, options.seed

    def run(self, *argv, status=0, timeout=1000, **env):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, cwd=self.folder,
                              env=plain_environment(PYTHONDONTWRITEBYTECODE="1", **env))
        if done.returncode != status:
            raise Problem(f"{argv}: exit {done.returncode}: {done.stderr}")
        return done

    def record(self, *words, options=(), timeout=1000, **env):
        for old in glob.glob(os.path.join(self.folder, "t.*")):
            os.unlink(old)
        said = self.run(self.build.msrec, "-v", "-f", "-o", "t.%p", *options, self.python, *words, timeout=timeout,
                        **env).stderr
        return said, by_process(glob.glob(os.path.join(self.folder, "t.*")))

    def script(self, text):
        path = os.path.join(self.folder, "script.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def dump(self, trace):
        """Of a trace: its stacks, and (operation, size, stack) of its blocks in their order."""
        path = os.path.join(self.folder, "dump")
        with open(path, "wb") as f:
            subprocess.run([self.build.file("tests/tools/tracedump"), trace], stdout=f, check=True, timeout=600,
                           cwd=self.folder, env=plain_environment())
        return Dump(path)


def unescape(text):
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), text.encode()).decode()


class Dump:
    """The script's part of each stack, innermost first, "function file:line"; and blocks."""

    def __init__(self, path):
        self.kinds, self.blocks, self.parents, self.frames, self.lines, scripts = {}, [], [(0, 0)], {}, {}, set()
        with open(path, encoding="utf-8") as f:
            for line in f:
                # Nearly all lines are of these.
                if line.startswith("alloc kind="):
                    self.blocks.append(int(line[11:line.index(" ", 11)]))
                    continue
                if line.startswith("free "):
                    continue
                word, *rest = line.split()
                if word == "stack":
                    self.parents.append((self.number(rest[1]), self.number(rest[2])))
                elif word == "kind":
                    self.kinds[int(rest[0])] = [self.number(text) for text in rest[1:4]]
                elif word == "frame" and rest[1] == "module=-" and int(rest[2][8:], 16) >> 62 == 1:
                    scripts.add(int(rest[0]))
                elif word == "name" and self.number(rest[0]) in scripts:
                    function, line = self.place(rest)
                    self.frames[self.number(rest[0])] = f"{function} {line}"
                    self.lines[self.number(rest[0])] = line
        for number in scripts - set(self.frames):
            self.frames[number] = self.lines[number] = "unnamed"

    @staticmethod
    def number(text):
        return int(text.split("=")[1], 10)

    @staticmethod
    def place(words):
        named = {key: unescape(words[words.index(key) + 1]) for key in ("function", "directory", "file")
                 if key in words}
        folder = named["directory"] + "/" if "directory" in named else ""
        return named["function"], f"{folder}{named.get('file', '')}:{words[1].split('=')[1]}"

    def stack(self, number, lines=False):
        """Its frames; or their lines alone."""
        frames, words = [], self.lines if lines else self.frames
        while number:
            number, frame = self.parents[number]
            if frame in words:
                frames.append(words[frame])
        return tuple(frames)

    def depth(self, number):
        frames = 0
        while number:
            number, frames = self.parents[number][0], frames + 1
        return frames

    def allocations(self):
        """(operation, size, stack) in their order."""
        for kind in self.blocks:
            op, stack, size = self.kinds[kind]
            yield op, size, stack


def compare(bench, trace, log):
    """The stacks in a trace against those that the program noted. Returns how many there were."""
    sizes, texts = {}, {}
    with open(log, encoding="utf-8") as f:
        for line in f:
            kind, number, text = line.rstrip("\n").split(" ", 2)
            (sizes if kind == "event" else texts)[int(number)] = text
    dump, seen = bench.dump(trace), {}
    for op, size, number in dump.allocations():
        stack = dump.stack(number) if op == MALLOC and size in sizes else None
        if stack is not None and (not stack or stack[0].startswith("probe ")):
            seen.setdefault(size, []).append(stack)
    wrong = 0
    for size, number in sizes.items():
        noted, recorded = tuple(texts[int(number)].split("\t")), seen.get(size, [])
        if recorded != [noted]:
            wrong += 1
            if wrong <= 3:
                print(f"size {size}, in {len(recorded)} events:", file=sys.stderr)
                for stack in recorded:
                    print("\n".join(difflib.ndiff(noted, stack)), file=sys.stderr)
    if wrong:
        raise Problem(f"{wrong} of {len(sizes)} stacks are wrong")
    return len(sizes)


def exact(bench):
    """Stacks at random: threads with the interpreter's lock and without, code that goes, a child."""
    log = os.path.join(bench.folder, "log")
    said, traces = bench.record(PROGRAM, log, str(bench.events), str(bench.seed), options=["--depth=2000"])
    if len(re.findall(" events, 0 lost", said)) != len(traces):
        raise Problem(f"events were lost: {said}")
    if len(traces) != 2:
        raise Problem(f"{len(traces)} traces")
    n = compare(bench, traces[0], log)
    return f"{n + compare(bench, traces[1], log + '.child'):,} stacks"


def suites(bench):
    """The interpreter's own tests, at allocations chosen at random: file and line of each frame are tracemalloc's."""
    if subprocess.run([bench.python, "-c", "import test.test_json"], capture_output=True, check=False).returncode:
        return "skip: this Python has no tests"
    log, chosen = os.path.join(bench.folder, "log"), SUITES if bench.events < 100000 else ()
    said, _ = bench.record(os.path.join(HERE, "python_suites.py"), log, str(bench.events), str(bench.seed),
                           bench.build.file("tests/cli/python_events.so"), *chosen,
                           options=[f"--depth={DEEPEST}", "--trace-children=no"], timeout=5000)
    lost = set(re.findall(r" events, (\d+) lost", said))
    if lost != {"0"}:
        raise Problem(f"events were lost: {lost}")
    frames, stacks, events = [], [], {}
    with open(log, encoding="utf-8", errors="surrogatepass") as file:
        for line in file:
            word, number, *text = line.rstrip("\n").split(" ", 2)
            if word == "process":       # some suites fork
                trace = os.path.join(bench.folder, f"t.{number}")
                continue
            if word == "frame":
                frames.append(*text)
            elif word == "stack":
                stacks.append(tuple(frames[int(place)] for place in "".join(text).split()))
            else:
                events[int(number)] = int(*text)
    dump, places, cut, wrong, seen, depth = bench.dump(trace), {}, set(), 0, set(), 0
    for op, size, stack in dump.allocations():
        if op != VALLOC:
            continue
        if stack not in places:
            places[stack] = dump.stack(stack, lines=True)
            if dump.depth(stack) >= DEEPEST:
                cut.add(stack)
        seen.add(size)
        noted = stacks[events[size]]
        if stack in cut:
            noted = noted[:len(places[stack])]
        depth += len(noted)
        if places[stack] != noted:
            wrong += 1
            if wrong <= 10:
                print(f"event {size}:", *difflib.ndiff(noted, places[stack]), sep="\n", file=sys.stderr)
    if wrong or seen != set(events) or len(events) != bench.events:
        raise Problem(f"{wrong} of {len(seen)} stacks are wrong, of {len(events)} events")
    different = len(set(events.values()))
    return f"{len(events):,} stacks, {different:,} different, {depth / len(events):.1f} frames on average"


# Each block of a size of its own is allocated in the line in which the interpreter is asked for the stack.
TRACED = """import faulthandler, functools, random, sys, traceback

asked, chance, log = [], random.Random(35), open(sys.argv[1], "w")


def ask(number):
    bytearray(400000 + number), faulthandler.dump_traceback(log, all_threads=False)
    asked.append(number)
    stack = traceback.extract_stack()
    print("stack", number, *(f"{frame.lineno}:{frame.name}" for frame in stack[-2::-1]), file=log, flush=True)


class Thing:
    def __init__(self, depth):
        go(depth)

    def __lt__(self, other):
        go(chance.randrange(3))
        return True

    @property
    def inner(self):
        return go(0)


def generated(depth):
    yield go(depth)


def go(depth):
    if depth <= 0:
        return ask(len(asked))
    way = chance.randrange(7)
    if way == 0:
        return [go(depth - 1) for _ in range(1)]
    if way == 1:
        return list(generated(depth - 1))
    if way == 2:
        return Thing(depth - 1)
    if way == 3:
        return functools.reduce(lambda a, b: go(depth - 1), range(2))
    if way == 4:
        return sorted([Thing(depth - 1), Thing(0)])
    if way == 5:
        return eval("go(depth - 1)"), Thing(0).inner
    return go(depth - 1)


while len(asked) < int(sys.argv[2]):
    go(chance.randrange(12))
"""


def asked_stacks(log):
    """By the block's number: the stack by faulthandler and by traceback, "line:function", the innermost first."""
    stacks, fault = {}, []
    with open(log, encoding="utf-8") as file:
        for line in file:
            found = re.match(r'  File "(.*)", line (\d+) in (.*)$', line)
            if found:
                fault.append(f"{found[2]}:{found[3]}")
            elif line.startswith("stack "):
                _, number, *words = line.split()
                stacks[int(number)], fault = (tuple(fault), tuple(words)), []
    return stacks


def traced(bench):
    """At chosen events the stack is that of faulthandler, and outside of the innermost line that of traceback."""
    log = os.path.join(bench.folder, "log")
    _, traces = bench.record(bench.script(TRACED), log, "2000", options=["--depth=2000"])
    dump, stacks = bench.dump(traces[0]), asked_stacks(log)
    found = {size - 400001: dump.stack(stack) for _, size, stack in dump.allocations() if 400000 < size < 410000}
    for number, (fault, trace) in stacks.items():
        # A qualified name ends with the plain one.
        mine = tuple(re.sub(r"^(?:\S*\.)?(\S+) \S+:(\d+)$", r"\2:\1", frame) for frame in found[number])
        if mine != fault or mine[1:] != trace:
            raise Problem(f"block {number}: {mine}, faulthandler {fault}, traceback {trace}")
    if len(stacks) < 2000:
        raise Problem(f"{len(stacks)} stacks")
    return f"{len(stacks):,} stacks"


KEEPER = """import sys

kept = []


def keep(n):
    kept.append(bytearray(300000 + n))


def work(rounds):
    for n in range(rounds):
        keep(n)
        kept.sort(key=len)


print("ready", flush=True)
sys.stdin.readline()
work(int(sys.argv[1]))
"""
INSIDE = ("keep {0}:7", "work {0}:12", "<module> {0}:18")


def kept_stacks(bench, trace):
    """The script's part of the stacks of the blocks of KEEPER, each once."""
    dump = bench.dump(trace)
    return {dump.stack(stack) for _, size, stack in dump.allocations() if 300000 < size < 310000}


def start(bench, *command, **env):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, cwd=bench.folder, env=plain_environment(**env))
    if process.stdout.readline() != "ready\n":
        process.kill()
        raise Problem(f"{command}: {process.communicate()[1]}")
    return process


def finish(process):
    said = process.communicate("\n", timeout=200)[1]
    if process.returncode:
        raise Problem(f"exit {process.returncode}: {said}")
    return said


def check_kept(bench, trace, script):
    wanted = {tuple(text.format(script) for text in INSIDE)}
    if kept_stacks(bench, trace) != wanted:
        raise Problem(f"{trace}: {kept_stacks(bench, trace)}, not {wanted}")


# Each time call() is at the same instruction; what it has called is at times far inwards, and then code of Python that
# calls C code from the same place, while the words of the former call still lie below.
CALLER = """import operator

kept = []


def numbers():
    kept.append(bytearray(300000))
    yield 1


def nested(depth=80):
    found = numbers()
    for _ in range(depth):
        found = map(operator.index, found)
    return found


def call(function, value):
    function(value)


def plain(value):
    call([].extend, value)


for n in range(600):
    for function, value in (kept.extend, nested()), (plain, range(50000)):
        call(function, value)
    kept.clear()
"""
CALLED = (("numbers 7", "call 19", "<module> 28"), ("call 19", "plain 23", "call 19", "<module> 28"))


def nested(bench):
    """The interpreter's frames change, and those further out do not."""
    script = bench.script(CALLER)
    _, traces = bench.record(script)
    dump = bench.dump(traces[0])
    found = {dump.stack(stack) for _, size, stack in dump.allocations() if 300000 <= size < 500000}
    wanted = {tuple(frame.replace(" ", f" {script}:") for frame in stack) for stack in CALLED}
    if found != wanted:
        raise Problem(f"{found}, not {wanted}")


def off(bench):
    """Without Python's functions a stack is that of the C functions."""
    script = bench.script(KEEPER)
    for options in ["--python=no"], ["--pages"]:
        finish(start(bench, bench.build.msrec, "-q", "-f", "-o", "t.off", *options, bench.python, script, "100"))
        if kept_stacks(bench, "t.off") != {()}:
            raise Problem(f"{options}: {kept_stacks(bench, 't.off')}")


def rotated(bench):
    """Each file has the names of what it has."""
    script = bench.script(KEEPER)
    finish(start(bench, bench.build.msrec, "-q", "-f", "-o", "t.rotated", "--max-size=64k", "--rotate", "--rss=no",
                 bench.python, script, "300", PYTHONMALLOC="malloc"))
    files = glob.glob(os.path.join(bench.folder, "t.rotated*"))
    for path in files:
        if kept_stacks(bench, path):
            check_kept(bench, path, script)
    if len(files) < 2:
        raise Problem("one file only")
    return f"{len(files)} files"


def attached(bench):
    """A process that has run Python code before; and its second recording."""
    script = bench.script(KEEPER)
    for number in range(2):
        process = start(bench, bench.python, script, "300") if number == 0 else process
        recording = subprocess.Popen([bench.build.msrec, "-f", "-o", f"t.attached{number}", f"--pid={process.pid}"],
                                     cwd=bench.folder, stderr=subprocess.PIPE, text=True, env=plain_environment())
        status = [bench.build.msrec, "status", str(process.pid)]
        if not until(lambda: subprocess.run(status, capture_output=True).returncode == 0):
            raise Problem(f"not attached: {recording.communicate()[1]}")
        if number == 0:
            bench.run(bench.build.msrec, "stop", str(process.pid))
        else:
            finish(process)
        said = recording.communicate(timeout=100)[1]
        if recording.returncode:
            raise Problem(f"msrec: exit {recording.returncode}: {said}")
    check_kept(bench, "t.attached1", script)


MAKER = """import gc, sys

kept = []
print("ready", flush=True)
print(id(type(compile("0", "", "eval"))), flush=True)
for number, line in enumerate(sys.stdin):
    names = {"kept": kept}
    exec(compile(f"def made{number}():\\n    kept.append(bytearray(300000))\\n", "made.py", "exec"), names)
    names.pop(f"made{number}")()
    names = None
    gc.collect()
    print(number, flush=True)
"""
DEALLOC = 48    # in a type: the function that frees its objects


def left(bench):
    """Between two recordings nothing of the recorder is in the interpreter, and other functions come to addresses."""
    process = start(bench, bench.python, bench.script(MAKER))
    dealloc = int(process.stdout.readline()) + DEALLOC

    def pointer():
        with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(dealloc)
            return memory.read(8)

    def make():
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()

    own, seen = pointer(), []
    for number in range(2):
        recording = subprocess.Popen([bench.build.msrec, "-q", "-f", "-o", f"t.left{number}", f"--pid={process.pid}"],
                                     cwd=bench.folder, stderr=subprocess.PIPE, text=True, env=plain_environment())
        status = [bench.build.msrec, "status", str(process.pid)]
        if not until(lambda: subprocess.run(status, capture_output=True).returncode == 0):
            raise Problem(f"not attached: {recording.communicate()[1]}")
        make()
        seen.append(pointer() == own)
        bench.run(bench.build.msrec, "stop", str(process.pid))
        recording.communicate(timeout=100)
        seen.append(pointer() == own)
        make()
    finish(process)
    if seen != [False, True, False, True]:
        raise Problem(f"the interpreter's pointer is its own: {seen}")
    for number in range(2):
        names = {stack[0] for stack in kept_stacks(bench, f"t.left{number}") if stack}
        if names != {f"made{2 * number} made.py:2"}:
            raise Problem(f"recording {number} has {names}")


def site(bench):
    """The interpreter inside of a function of Python is not what a report names."""
    script = bench.script(KEEPER)
    finish(start(bench, bench.build.msrec, "-q", "-f", "-o", "t.site", bench.python, script, "300"))
    msreport = bench.build.file("analyze/msreport")
    told = json.loads(bench.run(msreport, "peak", "--by=site", "--format=json", "t.site").stdout)
    first = told["sections"]["peak"]["largest"][0]
    if (first["function"], first["line"]) != ("keep", 7):
        raise Problem(f"the site is {first}")
    if not os.path.exists(bench.build.file("analyze/page/web/page.html")):
        return "this build has no page"
    bench.run(msreport, "-q", "--html=page.html", "t.site")
    check_page(page_data.Page(os.path.join(bench.folder, "page.html")), first["bytes"])
    bench.run(msreport, "-q", "--html=page.html", "--diff", "t.site", "t.site")
    check_sites(page_data.Comparison(os.path.join(bench.folder, "page.html")))
    return None


WAITER = KEEPER + """print("done", flush=True)
sys.stdin.readline()
work(10)
"""


def running(bench):
    """The names are there while the program runs, and in what is left when msrec is killed."""
    script = bench.script(WAITER)
    process = start(bench, bench.build.msrec, "-q", "-f", "-o", "t.running", bench.python, script, "100")
    process.stdin.write("\n")
    process.stdin.flush()
    if process.stdout.readline() != "done\n":
        raise Problem(f"the program ended: {process.communicate()[1]}")
    msreport, mstop = bench.build.file("analyze/msreport"), bench.build.file("analyze/mstop")

    def report(*words, status):
        said = bench.run(msreport, "-q", "peak", "--by=site", "--format=json", *words, status=status).stdout
        return json.loads(said)["sections"]["peak"]["largest"][0]

    top = json.loads(bench.run(mstop, "--json", str(process.pid)).stdout)["sites"][0]
    found = [top, report("t.running", status=1)]
    process.kill()
    process.communicate()
    found.append(report("t.running", status=1))
    bench.run(bench.build.file("analyze/msconvert"), "-q", "--to=trace", "-o", "t.cut", "t.running", status=1)
    found.append(report("t.cut", status=1))
    wrong = [row for row in found if (row["function"], row["line"]) != ("keep", 7)]
    if wrong:
        raise Problem(f"the sites are {wrong}")


def renamed(bench):
    """Without paths, and anonymous, a trace of Python has no name of the program."""
    script = bench.script(KEEPER)
    finish(start(bench, bench.build.msrec, "-q", "-f", "-o", "t.named", bench.python, script, "100"))
    for option, wanted in ("--strip-paths", {"keep script.py:7", "work script.py:12"}), ("--anonymize", set()):
        bench.run(bench.build.file("analyze/msconvert"), "-q", "--to=trace", option, "-o", "t.renamed", "t.named")
        frames = set(bench.dump("t.renamed").frames.values())
        if not wanted <= frames or [frame for frame in frames if "/" in frame] or not frames:
            raise Problem(f"{option}: {sorted(frames)[:9]}")
        if not wanted and [frame for frame in frames if "keep" in frame or "script" in frame]:
            raise Problem(f"{option}: {sorted(frames)[:9]}")


def below_main(bench):
    """What calls a script's main() is shown, as what calls others."""
    script = bench.script(KEEPER.replace("work(", "main("))
    finish(start(bench, bench.build.msrec, "-q", "-f", "-o", "t.main", bench.python, script, "300"))
    folded = bench.run(bench.build.file("analyze/msconvert"), "-q", "--to=folded", "-o", "-", "t.main").stdout
    stacks = [line for line in folded.splitlines() if ";keep;" in line]
    wrong = [line for line in stacks if ";<module>;main;keep;" not in line]
    if wrong or not stacks:
        raise Problem(f"{len(wrong)} of {len(stacks)} stacks: {wrong[:2]}")


def check_sites(page):
    """The interpreter is hidden inside of functions of Python alone. Nodes of the script's line that allocates."""
    nodes = [node for node in range(page.n) if page.ids[node] and "keep" in page.paths[node]]
    wrong = [page.paths[node] for node in nodes if page.site(node)[:3:2] != ("keep", 7)]
    if wrong or not nodes:
        raise Problem(f"{len(wrong)} of {len(nodes)} stacks have other sites: {wrong[:3]}")
    shown, hidden = ({frame[0] for frame in page.frames if frame[4] & page_data.HIDDEN == flag and "Py" in frame[0]}
                     for flag in (0, page_data.HIDDEN))
    if not shown & hidden:
        raise Problem(f"shown: {shown}; hidden: {hidden}")
    return nodes


def check_page(page, wanted):
    found = page_data.add(page.peak(node, 0, page.buckets) for node in check_sites(page))[0]
    if found != wanted:
        raise Problem(f"the page has {found} bytes of the site, not {wanted}")


# Requests of a server: each has a buffer, replaces a session, and each tenth keeps a report for good.
SERVER = """import io, os, sys
from wsgiref.handlers import SimpleHandler

sessions, reports = {}, []


def application(environ, start_response):
    number = int(environ["NUMBER"])
    buffer = bytearray(200000)
    sessions[number % 4] = bytearray(30000)
    if number % 10 == 0:
        reports.append(bytearray(7000))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d" % len(buffer)]


for number in range(int(sys.argv[1])):
    SimpleHandler(io.BytesIO(), io.BytesIO(), io.StringIO(), {"NUMBER": str(number)}).run(application)
    between = bytearray(5000)
os._exit(0)
"""


def requests(bench):
    """Each call of a function of Python is a span; nested in it, the application's own calls are as many."""
    _, traces = bench.record(bench.script(SERVER), "200")
    told = {}
    for pattern in "BaseHandler.run", "application":
        text = bench.run(bench.build.file("analyze/msreport"), "-q", "--format=json", "--top=1000", f"--span={pattern}",
                         "spans", traces[0]).stdout
        told[pattern] = json.loads(text)["sections"]["spans"]
        if told[pattern]["spans"] != 200:
            raise Problem(f"{pattern}: {told[pattern]['spans']} spans")
    rows = [row for row in told["BaseHandler.run"]["sites"] if row["function"] == "application"]
    found = {key: sum(row[key] for row in rows) for key in ("left_bytes", "left_blocks", "later_blocks")}
    # A buffer has a byte more than its contents. Sessions are replaced 196 times, and 4 are left.
    wanted = {"left_bytes": 20 * 7001 + 4 * 30001, "left_blocks": 20 + 4, "later_blocks": 196}
    if found != wanted:
        raise Problem(f"{found}, not {wanted}: {rows}")
    least = {name: min(row["bytes"] for row in section["largest"]) for name, section in told.items()}
    if min(least.values()) < 230000:
        raise Problem(f"a request has {least} bytes")
    return "200 requests"


def refused(bench):
    """Versions that are not followed are recorded all the same, and -v says so."""
    folders = [os.path.join(folder, f"bin/python3.{minor}") for minor in (9, 10, 14)
               for folder in ["/usr", *glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*"))]]
    others = [path for path in folders if os.path.exists(path)]
    for path in others:
        said = bench.run(bench.build.msrec, "-v", "-f", "-o", "t.other", path, "-S", "-c", "pass").stderr
        if "functions of Python" not in said or "are not shown" not in said:
            raise Problem(f"{path}: {said}")
    return f"{len(others)} versions" if others else "skip: there is none"


CASES = [("exact", exact), ("suites", suites), ("traced", traced), ("nested", nested), ("off", off),
         ("rotated", rotated), ("attached", attached), ("left", left), ("site", site), ("running", running),
         ("renamed", renamed), ("below_main", below_main), ("requests", requests), ("refused", refused)]


def main():
    options = arguments(__doc__, "--only", ("--events", {"type": int, "default": 20000}),
                        ("--seed", {"type": int, "default": 1}), ("--python", {"default": "/usr/bin/python3"}))
    try:
        version = subprocess.run([options.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        skip(f"{options.python} does not run")
    if version not in FOLLOWED:
        skip(f"frames of Python {version} are not followed")
    with Scratch() as folder:
        return run_cases(CASES, Bench(options, folder), options.only)


if __name__ == "__main__":
    sys.exit(main())
