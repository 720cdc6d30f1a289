#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mstop: figures against msreport's, on whole, cut and growing traces; screens in a terminal (tmux); errors.

  mstop.py --build DIR --source DIR [--only WORD] [--bless] [--no-screens]

--bless replaces the screens in mstop.golden by what is shown now.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tools")]
from harness import arguments, methods, plain_environment, run_cases, Scratch, until   # noqa: E402

try:
    from jsonschema import Draft202012Validator
except ImportError:     # its version 3 lacks it
    Draft202012Validator = None

GOLDEN = os.path.join(HERE, "mstop.golden")
UTF8 = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
WHERE = ("function", "file", "line", "module")


def strict(schema):
    """The schema, but a member that it doesn't describe is an error."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        schema["additionalProperties"] = False
    return schema


def heaptrack_log(names, command, blocks=8):
    """A program whose functions have these names, the outermost main, with a file and a line each."""
    strings, lines = [], ["v 10500 3", "X " + command, "I 1000 1"]

    def string(text):
        strings.append(text)
        lines.append(f"s {len(text.encode()):x} {text}")
        return len(strings)
    module, main, source = string("/nowhere/prog"), string("main"), string("/nowhere/main.c")
    lines += [f"i 1000 {module:x} {main:x} {source:x} a", "t 1 0"]
    for i, name in enumerate(names):
        function, file = string(name), string(f"/nowhere/part{i}.c")
        lines += [f"i {0x2000 + i:x} {module:x} {function:x} {file:x} {i + 20:x}", f"t {i + 2:x} 1",
                  f"a {1000 * (i + 1):x} {i + 2:x}"]
    for i in range(len(names)):
        lines += [f"c {100 * (i + 1):x}", *[f"+ {i:x}"] * blocks, f"- {i:x}"]
    return "\n".join(lines + [f"c {100 * (len(names) + 1):x}", ""])


class Screen:
    """A command, or a line for a shell, in a terminal of tmux."""

    number = 0

    def __init__(self, tests, command, size=(80, 24), **more):
        Screen.number += 1
        self.socket = os.path.join(tests.folder, f"tmux{Screen.number}")
        self.status = self.socket + ".status"
        known = os.path.join(tests.folder, "known")
        with open(known, "w", encoding="ascii") as file:
            file.write("leak:libncursesw\n")    # delscreen() of ncurses 6.6 leaves a block
        env = plain_environment(TERM="xterm-256color", LSAN_OPTIONS=f"suppressions={known}:print_suppressions=0",
                                **{**UTF8, **more})
        words = command if isinstance(command, str) else " ".join(f"'{word}'" for word in command)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-c", tests.folder, "-x", str(size[0]), "-y", str(size[1]),
                  f"{words} 2>'{self.socket}.err'; echo $? >'{self.status}'; exec sleep 1000", env=env)
        self.tmux("set", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))

    def tmux(self, *words, env=None):
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, timeout=60, env=env or
                              plain_environment(**UTF8))
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def text(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def shows(self, pattern):
        if not until(lambda: re.search(pattern, self.text()), 20):
            raise AssertionError(f"{pattern!r} is not on the screen:\n{self.text()}")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def quit(self):
        """The exit status."""
        self.keys("q")
        assert until(lambda: os.path.exists(self.status) and os.path.getsize(self.status)), self.text()
        with open(self.status, encoding="ascii") as file:
            return int(file.read())

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Program:
    """live_program under msrec."""

    def __init__(self, tests, *options):
        self.process = subprocess.Popen([tests.build.msrec, "-f", "-o", "t.zst", *options, "--",
                                         tests.build.file("tests/cli/live_program")], cwd=tests.folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=plain_environment())
        self.do("alloc 1 8")
        self.status = [tests.build.msrec, "status", str(self.process.pid)]
        assert until(lambda: subprocess.run(self.status, capture_output=True, timeout=60).returncode == 0)
        self.pid = int(subprocess.run(self.status, capture_output=True, timeout=60, check=True).stdout.split()[0])

    def do(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "ok\n", line

    def end(self):
        _, said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Tests:
    folder, said = None, ""

    def __init__(self, options):
        self.build, self.bless = options.build, options.bless
        self.no_screens = ("mstop has no screen: built without ncurses" if options.no_screens else
                           "" if shutil.which("tmux") else "tmux is not installed")
        self.mstop = self.build.file("analyze/mstop")
        self.msreport = self.build.file("analyze/msreport")
        with open(os.path.join(options.source, "docs/mstop.schema.json"), encoding="utf-8") as file:
            self.schema = json.load(file)
        self.golden, self.shown = self.read_golden(), {}

    # ---- helpers ----

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, program, *words, status=0, env=None, **more):
        done = subprocess.run([program, *map(str, words)], cwd=self.folder, capture_output=True, timeout=120,
                              env=plain_environment(**(env or {})), **more)
        self.said = done.stderr.decode("utf-8", "surrogateescape")
        assert done.returncode == status, f"{words}: status {done.returncode}: {self.said}"
        return done.stdout

    def top(self, *words, status=0):
        return json.loads(self.run(self.mstop, "--json", "--top=100000", *words, status=status))

    def report(self, *words, status=0):
        return json.loads(self.run(self.msreport, "-q", "--format=json", "--top=100000", *words,
                                   status=status))["sections"]

    def record(self, name, *command):
        self.run(self.build.msrec, "-q", "-f", "-o", name, "--", *command)
        return name

    def script(self, name, *lines):
        with open(self.path("script"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        self.run(self.build.file("tests/tools/script2trace"), "script", name)
        return name

    def named(self, name, names, command="./prog one two"):
        with open(self.path("log"), "w", encoding="utf-8") as file:
            file.write(heaptrack_log(names, command))
        self.run(self.build.file("analyze/msconvert"), "-q", "--from=heaptrack", "--to=trace", "-o", name, "log")
        return name

    def compare(self, trace, target=None, status=0, partial=0):
        """mstop's figures with msreport's, of the whole, by site and by thread."""
        top = self.top(target or trace, status=status)
        sections = self.report("overview", "threads", trace, status=partial)
        overview, threads = sections["overview"], sections["threads"]["threads"]
        same = {"live_bytes": "end_bytes", "live_blocks": "end_blocks", "peak_bytes": "peak_bytes", "bytes": "bytes",
                "calls": "calls", "peak_ns": "peak_ns"}
        for ours, theirs in same.items():
            assert top[ours] == overview[theirs], (ours, top[ours], overview[theirs])
        leaks = self.report("peak", "--at=end", "--by=site", trace, status=partial)["peak"].get("largest", [])
        wanted = {tuple(site[w] for w in WHERE): (site["bytes"], site["blocks"]) for site in leaks if site["blocks"]}
        found = {tuple(site[w] for w in WHERE): (site["live_bytes"], site["live_blocks"]) for site in top["sites"]
                 if site["live_blocks"]}
        assert found == wanted, (found, wanted)
        figures = ("calls", "bytes", "frees", "end_bytes", "end_blocks")
        wanted = {int(t["tid"]): tuple(t[f] for f in figures) + (t["name"],) for t in threads}
        found = {t["tid"]: (t["calls"], t["bytes"], t["frees"], t["live_bytes"], t["live_blocks"], t["name"])
                 for t in top["threads"] if t["calls"] or t["frees"]}
        assert found == wanted, (found, wanted)
        assert sum(site["live_bytes"] for site in top["sites"]) == top["live_bytes"]
        assert sum(site["calls"] for site in top["sites"]) == top["calls"]
        return top

    @staticmethod
    def read_golden():
        try:
            with open(GOLDEN, encoding="utf-8") as file:
                parts = re.split(r"^==== (.+) ====\n", file.read(), flags=re.M)
        except FileNotFoundError:
            return {}
        return dict(zip(parts[1::2], parts[2::2]))

    def looks(self, name, look):
        """Compares a screen with the golden one, once it is drawn."""
        def text():
            return "".join(line.rstrip() + "\n" for line in look().rstrip("\n").split("\n"))
        if self.bless:
            time.sleep(0.5)
            self.shown[name] = text()
        elif not until(lambda: text() == self.golden.get(name), 10):
            raise AssertionError(f"{name}:\n{text()}instead of\n{self.golden.get(name)}")

    def finish(self):
        if self.bless and self.shown:
            with open(GOLDEN, "w", encoding="utf-8") as file:
                for name, text in sorted({**self.golden, **self.shown}.items()):
                    file.write(f"==== {name} ====\n{text}")

    # ---- figures ----

    def test_figures_of_programs(self):
        """Of one thread, of many, of C++ and Python."""
        live = self.build.file("tests/cli/live_program")
        self.run("sh", "-c", "printf 'alloc 100 1000\\nthreads 4\\nalloc 10 10\\nfree 60\\n' | "
                             f"{self.build.msrec} -q -f -o live.zst -- {live}")
        self.record("steps.zst", self.build.file("tests/cli/savings_program"))
        self.record("python.zst", sys.executable, "-c",
                    "import time; x = [str(i) * 10 for i in range(20000)]; del x[:10000]; time.sleep(0.3)")
        for trace in ("live.zst", "steps.zst", "python.zst"):
            top = self.compare(trace)
            assert top["state"] == "ended" and top["end"] == "exit 0", top
        # The others may end before the first sample of memory, and msrec itself had more before it executed them.
        assert top["peak_resident_bytes"], top

    def test_figures_without_identity(self):
        """Frees that do not say of which block: live bytes by thread are not known."""
        trace = self.script("anonymous.zst", "anonymous", "stack 1 0x10", "alloc 1 malloc 1 10", "thread 1",
                            "alloc 2 malloc 1 20", "thread 0", "free 2", "end 5")
        top = self.top(trace)
        assert top["live_bytes"] == 10 and [t["live_bytes"] for t in top["threads"]] == [None, None], top["threads"]

    def test_figures_of_a_sample(self):
        self.run(self.build.msrec, "-q", "-f", "-o", "s.zst", "--sample=4096", "--", sys.executable, "-c",
                 "x = [str(i) * 50 for i in range(20000)]")
        top, overview = self.top("s.zst"), self.report("overview", "s.zst")["overview"]
        assert top["sample_bytes"] == 4096 and top["calls"] == overview["calls"]
        assert top["live_bytes"] == overview["end_bytes"] and top["peak_bytes"] == overview["peak_bytes"]
        assert b"estimates" in self.run(self.mstop, "--once", "s.zst")

    def test_figures_of_a_cut_trace(self):
        """Status 1 and a message; the figures are those before the cut."""
        live = self.build.file("tests/cli/live_program")
        self.run("sh", "-c", f"(printf 'alloc 500 1000\\nthreads 3\\n'; sleep 2; echo 'free 400') | {self.build.msrec}"
                             f" -q -f -o t.zst -- {live}")
        size = os.path.getsize(self.path("t.zst"))
        cuts = 0
        for part in (0.5, 0.7, 0.8, 0.9, 0.99):
            shutil.copy(self.path("t.zst"), self.path("cut.zst"))
            os.truncate(self.path("cut.zst"), int(size * part))
            top = self.compare("cut.zst", status=1, partial=1)
            assert top["state"] == "cut" and top["end"] is None
            cuts += top["events"] > 0
        assert cuts, "no cut has events"

    def test_figures_of_a_damaged_trace(self):
        self.record("t.zst", sys.executable, "-c", "x = [str(i) for i in range(50000)]")
        with open(self.path("t.zst"), "r+b") as file:
            file.seek(os.path.getsize(self.path("t.zst")) * 3 // 4)
            file.write(b"damage!!" * 4)
        assert self.compare("t.zst", status=1, partial=1)["state"] == "damaged"

    def test_figures_of_a_growing_trace(self):
        """After the program paused: all that it did is in the figures, by its id and by its trace."""
        with Program(self) as program:
            program.do("alloc 100 1000", "free 30")
            for commands in (["threads 3"], ["alloc 10 5000"], ["oldest 20", "realloc 70000"]):
                program.do(*commands)
                os.kill(program.pid, signal.SIGSTOP)    # its threads allocate all the time
                for target in (program.pid, "t.zst"):
                    self.run(self.build.msrec, "status", program.pid)
                    top = self.compare("t.zst", target, partial=1)
                    assert top["state"] == "running" and top["pid"] == program.pid
                os.kill(program.pid, signal.SIGCONT)
            program.end()
        assert self.compare("t.zst")["state"] == "ended"

    def test_figures_after_a_rotation(self):
        """Blocks of the file before are live, but were not allocated in this one."""
        with Program(self) as program:
            program.do("alloc 100 1000")
            self.run(self.build.msrec, "rotate", program.pid)
            program.do("free 30", "alloc 1 5")
            top = self.top(program.pid)
            assert top["trace"].endswith("t.zst.2") and top["live_bytes"] == 70013 and top["growth_bytes"] == -29995
            program.end()
        assert self.compare("t.zst.2")["live_bytes"] == 70013

    def test_growth_and_rates(self):
        """Growth is about the window, rates about the last two seconds; both say how long it was."""
        lines = ["stack 1 0x10", "stack 2 0x20"]
        for second in range(60):
            lines += [f"time {second * 1000000000}", f"alloc {second} malloc 1 100", f"alloc {second + 100} malloc 2 7",
                      f"free {second + 100}", "flush"]
        trace = self.script("t.zst", *lines, "end 60000000000")
        for window in (2, 10, 30):
            top = self.top(f"--window={window}", "--sort=growth", trace)
            base = top["duration_ns"] - top["window_ns"]
            assert window <= top["window_ns"] / 1e9 <= window * 1.3 + 1, top["window_ns"]
            blocks = sum(second * 1000000000 > base for second in range(60))
            assert top["growth_blocks"] == blocks and top["growth_bytes"] == 100 * blocks, top
            assert [s["growth_bytes"] for s in top["sites"]] == [100 * blocks, 0]
            assert 2 <= top["rate_ns"] / 1e9 <= max(5, window / 4 + 2), top["rate_ns"]
            base = top["duration_ns"] - top["rate_ns"]
            calls = 2 * sum(second * 1000000000 > base for second in range(60))
            assert top["calls_per_second"] == round(calls / top["rate_ns"] * 1e9), top
        assert [s["calls"] for s in top["sites"]] == [60, 60]

    def test_order(self):
        trace = self.named("t.zst", ["a", "bb", "ccc"])
        by_live = [s["function"] for s in self.top("--sort=live", trace)["sites"]]
        assert by_live == ["ccc", "bb", "a"], by_live
        assert json.loads(self.run(self.mstop, "--json", "--top=1", trace))["sites_total"] == 3
        text = self.run(self.mstop, "--once", "--top=2", trace).decode()
        assert "ccc  part2.c:22" in text and "a  part0.c" not in text, text

    def test_schema(self):
        if Draft202012Validator is None:
            return "python3-jsonschema 4 is not installed"
        Draft202012Validator.check_schema(self.schema)
        validator = Draft202012Validator(strict(self.schema))
        self.record("python.zst", sys.executable, "-c", "x = [str(i) * 10 for i in range(2000)]")
        self.named("t.zst", ["a\x1b[31m", "b"])
        self.script("empty.zst", "end 1")
        for trace in ("python.zst", "t.zst", "empty.zst"):
            errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(self.top(trace))]
            assert not errors, errors[:5]
        return None

    def test_pipe(self):
        """A trace comes through a pipe: to its end, and as it comes."""
        self.record("t.zst", sys.executable, "-c", "x = [str(i) * 10 for i in range(20000)]")
        whole = self.top("t.zst")
        with open(self.path("t.zst"), "rb") as file:
            piped = json.loads(self.run(self.mstop, "--json", "--top=100000", "-", stdin=file))
        assert {**piped, "trace": ""} == {**whole, "trace": ""}
        done = self.run("sh", "-c", f"cat t.zst | {self.mstop} --json --top=100000 -")
        assert json.loads(done)["sites"] == whole["sites"]
        half = os.path.getsize(self.path("t.zst")) * 9 // 10
        cut = json.loads(self.run("sh", "-c", f"head -c {half} t.zst | {self.mstop} --json -", status=1))
        assert cut["state"] == "cut" and "what is before that is shown" in self.said, self.said

    # ---- errors ----

    def test_errors(self):
        self.run(self.mstop, "--once", "nothing.zst", status=2)
        assert self.said == "mstop: nothing.zst: No such file or directory\n", self.said
        self.run(self.mstop, "--once", 4194304, status=2)
        assert self.said == "mstop: process 4194304: there is no such process\n", self.said
        self.run(self.mstop, "--once", os.getpid(), status=2)
        assert re.search("is not recorded by any msrec|a recording does not answer", self.said), self.said
        with open(self.path("empty.zst"), "w", encoding="ascii"):
            pass
        self.run(self.mstop, "--once", "empty.zst", status=2)
        with open(self.path("text.zst"), "w", encoding="ascii") as file:
            file.write("no trace\n" * 100)
        self.run(self.mstop, "--once", "text.zst", status=2)
        for words in (("--sort=size",), ("--delay=0",), ("--delay=x",), ("--window=0.5",), ("--top=0",), ("a", "b"),
                      ("--nothing",)):
            self.run(self.mstop, "--once", *words, status=64)
            assert self.said.startswith("mstop: "), self.said
        for word in ("--help", "--version", "--usage"):
            assert b"mstop" in self.run(self.mstop, word)

    def test_other_user(self):
        if os.geteuid() != 0:
            return "only root can be another user, too"
        with Program(self) as program:
            os.chmod(self.path("t.zst"), 0o644)
            copy = self.path("mstop")
            shutil.copy(self.mstop, copy)
            self.run(copy, "--once", program.pid, status=2, user=65534, group=65534, extra_groups=[])
            assert self.said == f"mstop: process {program.pid} is another user's\n", self.said
            assert json.loads(self.run(copy, "--json", "t.zst", user=65534, group=65534))["state"] == "running"
            program.end()
        return None

    def alone(self, script):
        """Where no other recordings can be reached."""
        return subprocess.run(["unshare", "-rn", "sh", "-c", script], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, env=plain_environment())

    def test_without_argument(self):
        """The recording that runs, if there is one."""
        if self.alone("true").returncode:
            return "unshare -rn does not work here"
        done = self.alone(f"{self.mstop} --once")
        assert done.returncode == 2 and "no recording runs" in done.stderr, done
        live, msrec = self.build.file("tests/cli/live_program"), self.build.msrec
        begin = (f"mkfifo in$1 && ({msrec} -q -f -o t$1.zst -- {live} <in$1 >out$1 2>&1 &) && exec 7>in$1 && "
                 "echo 'alloc 10 100' >&7 && until grep -q ok out$1; do sleep .05; done; "
                 f"until {msrec} status | grep -q t$1.zst; do sleep .05; done")
        done = self.alone(f"set -- 1; {begin}; {self.mstop} --json")
        assert json.loads(done.stdout)["live_bytes"] == 1000, done
        done = self.alone(f"set -- 2; {begin}; exec 8>&7; set -- 3; {begin}; {self.mstop} --json")
        assert done.returncode == 2 and "several recordings run" in done.stderr, done
        assert "t2.zst" in done.stderr and "t3.zst" in done.stderr, done
        return self.no_screens or self.choose(begin)

    def choose(self, begin):
        """Of several recordings the terminal's user chooses one."""
        with open(self.path("choose"), "w", encoding="ascii") as file:
            file.write(f"set -- 4; {begin}; exec 8>&7; set -- 5; {begin}; echo 'alloc 1 500' >&7; {self.mstop}\n")
        with Screen(self, "(unshare -rn sh choose 2>&1)") as screen:
            screen.shows(r"t5.zst\s(.*\s)*Which\?")
            line = re.search(r"^ *(\d+) .*t5\.zst", screen.text(), re.M)
            screen.keys(line[1], "Enter")
            screen.shows("1.46 KiB in 11 blocks")
            assert screen.quit() == 0

    # ---- screens ----

    def screen(self, *words, size=(80, 24), **more):
        return Screen(self, [self.mstop, *map(str, words)], size, **more)

    def test_screens(self):
        if self.no_screens:
            return self.no_screens
        names = [f"function_{i:02}" for i in range(40)]
        names[38] = "ns::Widget<ns::Vector<int, ns::Pool<int>>>::with_a_name_that_is_too_long(unsigned long)"
        names[39] = "grüße_界界界_wide"
        self.named("t.zst", names)
        for size in ((80, 24), (120, 40), (20, 5)):
            at = f"{size[0]}x{size[1]}"
            with self.screen("t.zst", size=size) as screen:
                screen.shows("ended" if size[0] > 40 else "live")
                self.looks(f"sites {at}", screen.text)
                if size == (20, 5):
                    assert screen.quit() == 0
                    continue
                screen.keys("End")
                screen.shows("function_00")
                self.looks(f"last sites {at}", screen.text)
                screen.keys("Home", "Down", "Enter")
                screen.shows("of the site")
                self.looks(f"stack {at}", screen.text)
                screen.keys("Escape")
                screen.shows("growth")
                screen.keys("b")
                screen.shows(r"\*blocks")
                screen.keys("t")
                screen.shows("thread")
                self.looks(f"threads {at}", screen.text)
                screen.keys("h")
                screen.shows("keys")
                self.looks(f"help {at}", screen.text)
                assert screen.quit() == 0
        return None

    def test_sort_and_pause(self):
        if self.no_screens:
            return self.no_screens
        with Program(self) as program, self.screen("-d", "0.2", program.pid) as screen:
            program.do("alloc 100 1000")
            screen.shows(r"97\.7 KiB in 101 blocks")
            for key, head in (("g", "growth"), ("r", "calls/s"), ("a", "bytes/s"), ("b", "blocks"), ("l", "live")):
                screen.keys(key)
                screen.shows(rf"\*{head}")
            screen.keys("p")
            screen.shows("paused")
            program.do("free 100")
            time.sleep(1)   # nothing may change, so there is nothing to wait for
            screen.shows(r"97\.7 KiB in 101 blocks")
            screen.keys("p")
            screen.shows(r"8 B in 1 block ")
            program.do("alloc 1 500000")
            screen.shows("488 KiB in 2 blocks")
            program.end()
            screen.shows("the recording has ended: exit 0")
            assert screen.quit() == 0
        return None

    def test_resize(self):
        if self.no_screens:
            return self.no_screens
        self.named("t.zst", [f"function_{i:02}" for i in range(40)])
        with self.screen("t.zst") as screen:
            screen.shows("ended")
            screen.tmux("resize-window", "-x", "120", "-y", "40")
            screen.shows("function_10  part10.c")
            self.looks("resized", screen.text)
            screen.tmux("resize-window", "-x", "80", "-y", "10")
            assert until(lambda: screen.text().startswith("prog") and "function_36" not in screen.text()), screen.text()
            self.looks("resized again", screen.text)
            assert screen.quit() == 0
        return None

    def test_rotation_on_the_screen(self):
        """The screen goes on with the process's next file."""
        if self.no_screens:
            return self.no_screens
        with Program(self) as program, self.screen("-d", "0.2", program.pid) as screen:
            program.do("alloc 100 1000")
            screen.shows("in 101 blocks")
            screen.keys("g")
            screen.shows(r"\*growth")
            self.run(self.build.msrec, "rotate", program.pid)
            program.do("alloc 1 1")
            screen.shows("in 102 blocks")
            screen.shows(r"\*growth")
            program.end()
            screen.shows("the recording has ended: exit 0")
            assert screen.quit() == 0
        return None

    def test_killed_recording(self):
        if self.no_screens:
            return self.no_screens
        with Program(self) as program, self.screen("-d", "0.2", program.pid) as screen:
            program.do("alloc 100 1000")
            screen.shows("in 101 blocks")
            program.process.kill()
            program.process.communicate()
            screen.shows("the end is missing")
            screen.shows("in 101 blocks")
            assert screen.quit() == 0
        return None

    def test_pipe_on_the_screen(self):
        """Keys come from the terminal while the trace comes through a pipe."""
        if self.no_screens:
            return self.no_screens
        self.named("t.zst", ["a", "b"])
        half = os.path.getsize(self.path("t.zst")) // 2
        writer = f"head -c {half} t.zst; until [ -e go ]; do sleep .1; done; tail -c +{half + 1} t.zst"
        with Screen(self, f"({writer}) | '{self.mstop}' -") as screen:
            screen.shows("running|being read")
            screen.keys("h")
            screen.shows("keys")
            screen.keys("Escape")
            with open(self.path("go"), "w", encoding="ascii"):
                pass
            screen.shows("has ended")
            assert screen.quit() == 0
        return None

    def test_report(self):
        """w writes a report beside the trace, each a file of its own."""
        if self.no_screens:
            return self.no_screens
        self.named("t.zst", ["a", "b"])
        with self.screen(self.path("t.zst"), size=(200, 24)) as screen:
            screen.shows("ended")
            for name in ("t", "t-2"):
                screen.keys("w")
                assert until(lambda: any(os.path.exists(self.path(f"{name}.{end}")) for end in ("html", "txt"))) or \
                    os.listdir(self.folder)
                screen.shows(r"report: \S+/t\S*\.(html|txt)")
                screen.keys("h", "h")
            assert screen.quit() == 0
        made = sorted(name for name in os.listdir(self.folder) if name.endswith((".html", ".txt")))
        assert len(made) == 2 and all(os.path.getsize(self.path(name)) for name in made), made
        return None

    def test_hostile_names(self):
        """Control characters of names, commands and paths reach neither a terminal nor a pipe."""
        names = ["ev\x1b[31mil\x1b]0;owned\x07", "\u202eback", "zero\u200bwidth", "界" * 60, "%s%n%999999d"]
        self.named("t.zst", names, "p\x1b]0;owned\x07 \x9b31m")
        self.named("ev\x1b[2Jil.zst", names)
        text = self.run(self.mstop, "--once", "t.zst")
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b\xae]", text), text
        assert rb"ev\x1b[31mil\x1b]0;owned\x07" in text and b"%s%n%999999d" in text, text
        self.run(self.mstop, "--once", self.path("ev\x1b[2Jno.zst"), status=2)
        assert "\x1b" not in self.said, self.said
        if self.no_screens:
            return self.no_screens
        for env in (UTF8, {"LANG": "C", "LC_ALL": "C"}):
            with self.screen("t.zst", **env) as screen:
                screen.shows("ended")
                self.looks("hostile " + env["LANG"], screen.text)
                assert screen.tmux("display-message", "-p", "#{pane_title}").strip() != "owned"
                assert screen.quit() == 0
        return None

    def test_colours(self):
        if self.no_screens:
            return self.no_screens
        self.named("t.zst", ["a", "b"])
        for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            with self.screen("t.zst", **env) as screen:
                screen.shows("ended")
                found = bool(re.search(r"\x1b\[(?:\d+;)*3[1-7]m", screen.text("-e")))
                assert found == coloured, screen.text("-e")
                assert screen.quit() == 0
        return None

    def test_without_a_terminal(self):
        """Standard output is no terminal: one screen, as with --once."""
        self.named("t.zst", ["a", "b"])
        assert self.run(self.mstop, "t.zst") == self.run(self.mstop, "--once", "t.zst")
        self.looks("printed", lambda: self.run(self.mstop, "t.zst").decode())
        self.looks("printed by thread", lambda: self.run(self.mstop, "--threads", "t.zst").decode())
        if not self.no_screens:
            with Screen(self, f"TERM=no-such-terminal '{self.mstop}' t.zst") as screen:
                screen.shows("end unknown")
                assert until(lambda: os.path.exists(screen.status)), screen.text()
        self.run("sh", "-c", f"{self.mstop} --once t.zst >/dev/full", status=2)
        assert "No space left" in self.said, self.said


def main():
    options = arguments(__doc__, "--only", ("--source", {"required": True, "help": "the source tree"}),
                        ("--bless", {"action": "store_true", "help": "replace the golden screens"}),
                        ("--no-screens", {"action": "store_true", "help": "of a build without ncurses"}))
    tests = Tests(options)

    def in_folder(run):
        def case(bench):
            with Scratch() as tests.folder:
                os.chmod(tests.folder, 0o755)
                return run(bench)
        return case
    status = run_cases([(name, in_folder(run)) for name, run in methods(tests)], None, options.only)
    tests.finish()
    return status


if __name__ == "__main__":
    sys.exit(main())
