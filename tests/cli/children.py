#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that a recorded program executes: their clocks, names, ends, and what is said of them."""

import glob
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import plain_environment, run_in_folders    # noqa: E402

TIMEOUT = 60


class Tests:
    """One method a test; each runs in an empty folder."""

    def __init__(self, build):
        self.build, self.folder = build, None

    def run(self, *words, tool="msrec", env=None):
        program = self.build.msrec if tool == "msrec" else self.build.file(f"analyze/{tool}")
        return subprocess.run([program, *words], cwd=self.folder, env=plain_environment(**(env or {})),
                              capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)

    def files(self, pattern="*"):
        return sorted(os.path.basename(path) for path in glob.glob(os.path.join(self.folder, pattern)))

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, *words, status=0):
        r = self.run("--trace-children=yes", *words)
        assert r.returncode == status, (r.returncode, r.stderr)
        return r

    # ---- clocks ----

    def figures(self, trace):
        """When the program began, and how long it ran, in seconds."""
        said = self.run("-v", "--massif-out-file=/dev/null", trace, tool="msreplay").stderr
        began = re.search(r"the program began at \S+ (\d+):(\d+):(\d+\.\d+) ", said)
        ran = re.search(r"the program ran for ([\d.]+) s", said)
        assert began and ran, said
        return sum(float(n) * unit for n, unit in zip(began.groups(), (3600, 60, 1))), float(ran[1])

    def test_clock_begins_with_the_program(self):
        """The starts of two traces lie as far apart as the programs did; the clock of the second begins at 0."""
        self.record("-o", "%e.zst", "sh", "-c", "sleep 0.3; env true; :")
        shell, child = self.figures(self.files("[!se]*sh.zst")[0]), self.figures("env.zst")
        assert 0.3 <= (child[0] - shell[0]) % 86400 < shell[1], (shell, child)
        assert child[1] < shell[1] - 0.3, (shell, child)
        rows = self.run("-q", "--to=csv", "env.zst", tool="msconvert").stdout.splitlines()
        assert int(rows[1].split(",")[1]) < 300_000_000, rows[:2]

    def test_clock_of_a_fork_is_its_parents(self):
        self.run("-q", "-o", "t.zst", "perl", "-e", "select undef, undef, undef, 0.3; fork; my @a = (1 .. 1000)")
        assert len({round(self.figures(name)[0], 6) for name in self.files("t*.zst")}) == 1
        assert min(self.figures(name)[1] for name in self.files("t*.zst")) >= 0.3

    # ---- ends ----

    def test_ends_of_forks_that_execute(self):
        """Most have executed another program before msrec meets them."""
        script = ("for (1 .. 20) { if (!fork) { my @a = (1 .. 1000); exec 'sleep', '0.3' } } 1 while wait > 0")
        assert self.run("-q", "-o", "t", "perl", "-e", script).returncode == 0
        reasons = [self.build.stat(self.path(name))["reason"] for name in self.files()]
        assert sorted(reasons) == ["exec"] * 20 + ["exit"], reasons

    def ends(self):
        """(program, reason, detail) of each trace, sorted."""
        stats = [(name.split(".")[0], self.build.stat(self.path(name))) for name in self.files("*.zst")]
        return sorted((name, stat["reason"], stat["detail"]) for name, stat in stats)

    def test_ends_of_children(self):
        """However soon their parents wait for them."""
        kernel = [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]]
        for script, end in (("exit 5", ("exit", 5)), ("require POSIX; POSIX::_exit(6)", ("exit", 6)),
                            ("exec 'sh', '-c', 'exit 7'", ("exit", 7)),
                            ("select undef, undef, undef, 0.3; kill 9, $$", ("signal", 9))):
            for old in (False, True):
                for name in self.files():
                    os.unlink(self.path(name))
                self.run("-q", "--trace-children=yes", "-o", "%e.%p.zst", "perl", "-e",
                         f"if (!fork) {{ {script} }} wait", env=self.build.preloaded("old_kernel") if old else None)
                found = [row[1:] for row in self.ends() if row[1:] not in (("exit", 0), ("exec", 0))]
                sure = end[0] == "exit" or not old and kernel >= [6, 15]
                assert found == [end] or not sure and found == [("unknown", 0)], (script, old, found)

    def test_numbers_outside_of_a_namespace(self):
        """Also of processes that end at once."""
        script = "for (1 .. 20) { if (!fork) { my @a = (1 .. 1000); exit } } 1 while wait > 0"
        r = self.run("-q", "--trace-children=yes", "-o", "%e.%p", "unshare", "--pid", "--fork", "perl", "-e", script)
        if "unshare" in r.stderr:
            return "no namespaces here"
        names = self.files("perl.*")
        assert len(names) == 21 and all(int(name.split(".")[1]) > 30 for name in names), names
        return None

    # ---- names of traces ----

    def test_default_names(self):
        """Successive programs of one process: each says its program, none looks like a part of a rotation."""
        self.record("sh", "-c", "exec sh -c 'exec env true'")
        names = self.files()
        pid = re.fullmatch(r"trace\.env\.(\d+)\.zst", names[-2])[1]
        shell = names[0].split(".")[1]
        assert names == sorted([f"trace.{shell}.{pid}.zst", f"trace.{shell}.{pid}-2.zst", f"trace.env.{pid}.zst",
                                f"trace.true.{pid}.zst"]), names

    def test_names_of_forks(self):
        self.run("-q", "-o", "t.zst", "perl", "-e", "if (!fork) { my @a = (1 .. 1000) } wait")
        assert re.fullmatch(r"t\.\d+\.zst t\.zst", " ".join(self.files())), self.files()

    def test_names_never_run_out(self):
        """Far more names are taken than anyone would try one after the other."""
        for i in range(1500):
            with open(self.path("t.zst" if i == 0 else f"t-{i + 1}.zst"), "w", encoding="ascii"):
                pass
        os.mkdir(self.path("t-1501.zst"))
        shutil.copy(shutil.which("true"), self.path("t"))
        self.record("-q", "-o", "%e.zst", "env", "./t")
        assert os.path.getsize(self.path("t-1502.zst")) > 0 and os.path.getsize(self.path("t-1500.zst")) == 0
        self.record("-q", "-f", "-o", "%e.zst", "env", "sh", "-c", "./t; ./t")
        assert os.path.getsize(self.path("t.zst")) > 0 and os.path.getsize(self.path("t-2.zst")) > 0
        assert os.path.getsize(self.path("t-3.zst")) == 0

    def test_default_name_that_is_taken(self):
        """A process id comes again. Only a name that the user chose is refused."""
        for _ in range(2):
            done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh",
                                   self.build.msrec, "-q", "true"], cwd=self.folder, env=plain_environment(),
                                  stderr=subprocess.PIPE, text=True)
            if "unshare" in done.stderr:
                return "no namespaces here"
            assert done.returncode == 0, done.stderr
        assert len([name for name in self.files() if os.path.getsize(self.path(name))]) == 2, self.files()
        assert self.run("-q", "-o", "x", "true").returncode == 0
        r = self.run("-q", "-o", "x", "true")
        assert r.returncode == 125 and "File exists" in r.stderr, r.stderr
        return None

    def test_long_name_of_a_program(self):
        for letter, count in (("a", 250), ("ä", 120), ("\x01", 200)):
            program = self.path(letter * count)
            shutil.copy(shutil.which("true"), program)
            r = self.run("-q", program)
            assert r.returncode == 0, r.stderr
        names = self.files("trace.*.zst")
        assert len(names) == 3 and all(len(os.fsencode(name)) < 160 for name in names), names

    # ---- which programs are recorded ----

    TRUE = shutil.which("true", path="/usr/bin:/bin")    # /bin is apart in older systems
    PROGRAMS = f"/usr/bin/env {TRUE}; /usr/bin/env /bin/sh -c '/usr/bin/tail /dev/null; :'; :"
    NAMES = {"env", "true", "tail"}

    def recorded(self, *options, script=PROGRAMS):
        self.record("-q", *options, "-o", "%e.zst", "sh", "-c", script)
        names = {re.sub(r"([-.]\d+)*\.zst$", "", name) for name in self.files("*.zst")} & self.NAMES
        for name in self.files("*.zst"):
            os.remove(self.path(name))
        return names

    def test_programs_that_are_skipped(self):
        """With all that they execute."""
        for patterns, left in (("*/env", set()), ("*/true", {"env", "tail"}), ("*/t*", {"env"}), ("", self.NAMES),
                               (f"{self.TRUE[:-3]}??e,*/tail", {"env"}), ("x,,*/true,", {"env", "tail"}),
                               ("true", self.NAMES),
                               ("*/tr", self.NAMES), ("*/[t]rue", self.NAMES), ("*", set())):
            names = self.recorded(f"--trace-children-skip={patterns}")
            assert names == left, (patterns, names)

    def test_skipped_as_by_valgrind(self):
        if not shutil.which("valgrind"):
            return "no valgrind here"
        program = ["sh", "-c", f"/usr/bin/env {self.TRUE}; :"]
        for patterns in ("*/env", "env", "/usr/bin/en?,x", "*/[e]nv", "\\*/env", "*/en"):
            ours = self.recorded(f"--trace-children-skip={patterns}", script=program[-1])
            words = ["valgrind", "--tool=none", "--trace-children=yes", f"--trace-children-skip={patterns}", *program]
            said = subprocess.run(words, capture_output=True, text=True).stderr
            theirs = {name for name in self.NAMES if re.search(rf"Command: \S*/{name}\b", said)}
            assert ours == theirs, (patterns, ours, theirs)
        return None

    def test_programs_that_alone_are_recorded(self):
        """Whatever executes them; the first program always is."""
        for patterns, left in (("*/true", {"true"}), ("*/tail", {"tail"}), ("*/env,*/tail", {"env", "tail"}),
                               ("tail", set())):
            names = self.recorded(f"--trace-children-only={patterns}")
            assert names == left, (patterns, names)
        names = self.recorded("--trace-children-only=*/t*", "--trace-children-skip=*/true")
        assert names == {"tail"}, names
        assert self.run("-q", "--trace-children=yes", "--trace-children-only=x", "-o", "t.zst", "true").returncode == 0
        assert self.build.stat(self.path("t.zst"))["complete"] == 1

    def test_skipped_programs_are_as_without_msrec(self):
        """The recorder is not in the environment of what is skipped, and msrec does not wait for it."""
        begin = time.monotonic()
        self.record("-q", "--trace-children-skip=*/env", "-o", "t.zst", "sh", "-c",
                    "exec >/dev/null 2>&1; env -u x sleep 20 & :")
        assert time.monotonic() - begin < 15
        for script in ("env >said; :", "env env >said; :"):
            self.record("-q", "--trace-children-skip=*/env", "-f", "-o", "%e.zst", "sh", "-c", script)
            with open(self.path("said"), encoding="utf-8") as f:
                said = f.read()
            assert "PATH" in said and "LD_PRELOAD" not in said and "MSREC" not in said, said

    def test_patterns_need_children(self):
        for option in ("--trace-children-skip=x", "--trace-children-only=x"):
            r = self.run(option, "true")
            assert r.returncode == 125 and "needs --trace-children=yes" in r.stderr, r.stderr
        r = self.run("--trace-children=yes", "--trace-children-skip=" + "x" * 5000, "true")
        assert r.returncode == 125 and "at most 4095 bytes" in r.stderr, r.stderr

    # ---- the last lines ----

    def said(self, *words):
        """The lines on stderr, without the name in front and without what msreport says (first_lines.py)."""
        r = self.run(*words)
        lines = r.stderr.splitlines()
        assert all(line.startswith("msrec: ") for line in lines), r.stderr
        lines = [line.removeprefix("msrec: ") for line in lines]
        return [line for line in lines if not re.match(r"What holds| *bytes  | *[\d.]+ ([KMG]i)?B  ", line)]

    def check_program(self, line, program, trace):
        """The figures are those of the trace."""
        match = re.fullmatch(r"(\S+) ran for [\d.]+ s: ([\d,]+) calls, peak ([\d,]+) bytes, ([\d,]+) live at the end; "
                             r"next: msreport (.*)", line)
        assert match and match[1] == program and match[5] == trace, line
        calls, peak, live = (int(figure.replace(",", "")) for figure in match.groups()[1:4])
        stat = self.build.stat(self.path(trace))
        markers = sum(stat[key] for key in ("implied_free", "start", "exit", "fork"))
        assert (calls, peak, live) == (stat["events"] - markers, stat["peak"], stat["live"]), (line, stat)

    def test_lines_of_one_program(self):
        lines = self.said("-o", "t.zst", "perl", "-e", "my @a = map { 'x' x $_ } 1 .. 3000; exit 3")
        assert len(lines) == 2, lines
        self.check_program(lines[0], "perl", "t.zst")
        assert re.fullmatch(r"t\.zst: \d+ events, 0 lost, [\d.]+ bytes/event", lines[1]), lines
        assert not self.said("-q", "-o", "u.zst", "true")

    def test_lines_of_a_rotation(self):
        """Figures are those of all files."""
        script = "my @a; for my $i (1 .. 60000) { push @a, 'x' x ($i % 900); shift @a if @a > 2000 } undef @a"
        self.said("-o", "whole.zst", "perl", "-e", script)
        lines = self.said("--max-size=64k", "--rotate", "-o", "t.zst", "perl", "-e", script)
        parts = self.files("t.zst*")
        assert len(parts) > 2 and "goes on in" in lines[0], (parts, lines)
        peak = int(re.search(r"peak ([\d,]+) ", lines[-2])[1].replace(",", ""))
        whole = self.build.stat(self.path("whole.zst"))["peak"]
        assert abs(peak - whole) < whole / 100 and lines[-2].endswith(f"next: msreport t.zst.{len(parts)}"), lines

    def test_line_of_all_children(self):
        """One for all other traces; where there is only one, its own."""
        lines = self.said("--trace-children=yes", "-o", "%e.%p.zst", "sh", "-c", "env true; env env true; :")
        assert len(lines) == 3, lines
        assert re.fullmatch(r"5 more traces \(3 env, 2 true\): \d+ events, 0 lost, [\d.]+ bytes/event", lines[0]), lines
        lines = self.said("--trace-children=yes", "-o", "u.%e.zst", "sh", "-c", "env; :")
        assert len(lines) == 3 and lines[0].startswith("u.env.zst: "), lines
        lines = self.said("-v", "--trace-children=yes", "-o", "v.%e.zst", "sh", "-c", "env true; :")
        assert len(lines) == 6 and lines[0].startswith("v.env.zst: ") and lines[1].startswith("v.true.zst: "), lines

    def test_line_about_a_wrapper_comes_last(self):
        with open(self.path("script"), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexit 0\n")
        os.chmod(self.path("script"), 0o755)
        lines = self.said("-o", "t.zst", "./script")
        assert lines[-1].startswith("t.zst: holds what the shell itself allocates (--trace-children"), lines
        self.check_program(lines[0], "script", "t.zst")
        lines = self.said("-f", "-o", "t.zst", "env", "-u", "x", "true")
        assert len(lines) == 3 and lines[-1].startswith("t.zst: ends where the program executed another one ("), lines
        lines = self.said("-f", "-o", "t.zst", "sh", "-c", "(a=b; exec true); :")
        assert re.match(r"t\.\d+\.zst: ends where the program executed another one \(", lines[-1]), lines
        lines = self.said("--trace-children=yes", "-o", "%e.zst", "env", "-u", "x", "env", "sleep", "0.1")
        assert re.fullmatch(r"env(-2)?\.zst: ends where the program executed another one; the last one's is sleep\.zst",
                            lines[-1]), lines
        self.check_program(lines[1], "sleep", "sleep.zst")

    def test_next_command_can_be_pasted(self):
        lines = self.said("-o", "it's $HOME.zst", "true")
        command = lines[0].split("next: ")[1]
        words = subprocess.run(["sh", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True, check=True)
        assert words.stdout.splitlines() == ["msreport", "it's $HOME.zst"], words.stdout

    # ---- names of results ----

    def test_results_of_one_process(self):
        """Each trace has its own result, and the same one again."""
        self.record("-q", "sh", "-c", "exec sh -c 'exec env true'")
        for _ in range(2):
            for trace in self.files("*.zst"):
                r = self.run("-q", "--at=end", "--xtree-memory=full", trace, tool="msreplay")
                assert r.returncode == 0, r.stderr
        names = self.files("massif.out.*")
        assert len(names) == 8 and len(self.files("xtmemory.kcg.*")) == 4, names
        commands = set()
        for name in names:
            with open(self.path(name), encoding="utf-8") as f:
                commands.add(re.search("^cmd: (.*)", f.read(), re.M)[1])
        assert len(commands) == 4, commands

    def test_results_of_others(self):
        """Neither Massif's own file nor one of a process with the same id is replaced; a name that is given is."""
        self.run("-q", "-o", "t.zst", "true")
        self.run("-q", "t.zst", tool="msreplay")
        name, = self.files("massif.out.*")
        with open(self.path(name), "rb") as f:
            content = f.read()
        os.remove(self.path(name))
        with open(self.path(name), "w", encoding="ascii") as f:
            f.write("mine\n")
        self.run("-q", "t.zst", tool="msreplay")
        self.run("-q", "t.zst", tool="msreplay")
        assert self.files("massif.out.*") == [name, name + "-2"]
        with open(self.path(name), encoding="ascii") as f:
            assert f.read() == "mine\n"
        with open(self.path(name + "-2"), "rb") as f:
            assert f.read() == content
        self.run("-q", "--massif-out-file=" + name, "t.zst", tool="msreplay")
        with open(self.path(name), "rb") as f:
            assert f.read().splitlines()[1:] == content.splitlines()[1:]


def main():
    return run_in_folders(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
