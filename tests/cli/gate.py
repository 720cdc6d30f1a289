#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec --check: record, check and report in one. The program's own streams and failures are left alone, and so is
the verdict of the limits.

  gate.py --build DIR
"""

import json
import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import run_methods    # noqa: E402


class Tests:
    """Each method is one test, in a folder of its own."""

    def __init__(self, options, folder):
        self.build, self.place = options.build, folder
        self.msreport = self.build.file("analyze/msreport")
        self.planted = self.build.file("tests/cli/planted")

    def folder(self, name):
        path = os.path.join(self.place, name)
        os.makedirs(path)
        return path

    def run(self, folder, *words, status=0, **more):
        done = subprocess.run([self.build.msrec, *words], cwd=folder, capture_output=True, text=True, **more)
        assert done.returncode == status, (words, done)
        return done

    def traces(self, folder):
        return sorted(name for name in os.listdir(folder) if name.endswith(".zst"))

    def test_streams(self):
        """Standard input and output are the program's; the report is on standard error, or in a file."""
        folder = self.folder("streams")
        done = self.run(folder, "--check=peak<=1G", "cat", input="one\ntwo\n")
        assert done.stdout == "one\ntwo\n" and "The limit is kept" in done.stderr, done
        done = self.run(folder, "-q", "--check=peak<=1G", "cat", input="one\n")
        assert (done.stdout, done.stderr) == ("one\n", ""), done
        done = self.run(folder, "-q", "--check=calls<1", "cat", input="one\n", status=1)
        assert done.stdout == "one\n" and done.stderr.startswith("1 of 1 limits exceeded"), done
        done = self.run(folder, "-q", "--check=peak<1", "--check-output=r.xml", "--check-format=junit", "cat",
                        input="", status=1)
        assert not done.stdout + done.stderr, done
        assert ElementTree.parse(os.path.join(folder, "r.xml")).getroot()[0].get("failures") == "1"

    def test_statuses(self):
        """The program's failure comes first, then the limits'."""
        folder = self.folder("statuses")
        for limit, wanted in (("peak<=1G", 0), ("calls<1", 1), ("peak<=+1%", 2)):
            self.run(folder, f"--check={limit}", self.planted, status=wanted)
            done = self.run(folder, f"--check={limit}", "sh", "-c", "exit 9", status=9)
            assert ("kept" in done.stderr) == (wanted == 0) and "limit" in done.stderr, done
            self.run(folder, f"--check={limit}", "sh", "-c", "kill -TERM $$", status=-15)
        assert len(self.traces(folder)) == 9

    def test_baseline(self):
        folder = self.folder("baseline")
        assert "No such file" in self.run(folder, "--check=a.check", self.planted, status=2).stderr
        self.run(folder, "--check=a.check", "--check=peak<=+2%", "--check=calls<=+0", "--update", self.planted)
        with open(os.path.join(folder, "a.check"), encoding="utf-8") as file:
            assert file.read().startswith("limit peak <= +2%\nlimit calls <= +0\n\nrun planted\n\tcalls 202\n")
        self.run(folder, "--check=a.check", self.planted)
        done = self.run(folder, "--check=a.check", self.planted, env={**os.environ, "PLANTED": "peak"}, status=1)
        assert re.search(r"peak +\+3\.12 KiB +make_table +\S*planted\.c:", done.stderr), done

    def test_patterns(self):
        """A run of a baseline may have * for any text; the very name comes first, and an update leaves both."""
        folder = self.folder("patterns")
        path = os.path.join(folder, "a.check")
        with open(path, "w", encoding="utf-8") as file:
            file.write("limit calls <= +0\n\nrun planted * /tmp/*.x\n\tcalls 202\n\n"
                       "run planted 2 /tmp/a.x\n\tcalls 1\n")
        self.run(folder, "--check=a.check", self.planted, "1", "/tmp/a.x")
        self.run(folder, "--check=a.check", self.planted, "2", "/tmp/b.x")
        self.run(folder, "--check=a.check", self.planted, "2", "/tmp/a.x", status=1)
        self.run(folder, "--check=a.check", self.planted, "2", "/tmp/a.y", status=2)
        self.run(folder, "--check=a.check", "--update", self.planted, "3", "/tmp/c.x")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert re.findall("^run .*", text, re.M) == ["run planted * /tmp/*.x", "run planted 2 /tmp/a.x"], text
        one = subprocess.run([self.msreport, "-q", "--check=a.check", "."], cwd=folder, capture_output=True, text=True)
        assert one.returncode == 1 and "in 2 of 5 runs" in one.stdout, one
        empty = subprocess.run([self.msreport, "--check=a.check", "/proc/self/fd"], cwd=folder, capture_output=True,
                               text=True)
        assert empty.returncode == 2 and "no traces (*.zst) are in this folder" in empty.stderr, empty

    def test_traces(self):
        """They stay if something is wrong; without that they go if they may."""
        folder = self.folder("traces")
        self.run(folder, "--check=peak<=1G", "-o", "kept.zst", "true")
        self.run(folder, "--check=peak<=1G", "--drop-passed", "-o", "passed.zst", "true")
        self.run(folder, "--check=peak<1", "--drop-passed", "-o", "exceeded.zst", self.planted, status=1)
        self.run(folder, "--check=peak<=1G", "--drop-passed", "-o", "failed.zst", "false", status=1)
        self.run(folder, "--check=calls<=+1", "--drop-passed", "-o", "unverified.zst", "true", status=2)
        assert self.traces(folder) == ["exceeded.zst", "failed.zst", "kept.zst", "unverified.zst"], os.listdir(folder)

    def test_usage(self):
        """What is wrong with the command line ends msrec before the program begins."""
        folder = self.folder("usage")
        for words in (["--check=peak<=x"], ["--check=a", "--check=b"], ["--update"], ["--check=peak<=5", "--update"],
                      ["--check=peak<=5", "--check-format=yaml"], ["--drop-passed"], ["--check-output=x"],
                      ["--check=peak<=5", "--sample=64k"], ["--check=peak<=5", "--max-size=1m", "--rotate"],
                      ["--check=peak<=5", "-o", "-"]):
            done = self.run(folder, *words, "touch", "begun", status=125)
            assert done.stderr and not os.path.exists(os.path.join(folder, "begun")), done
        assert not self.traces(folder), os.listdir(folder)

    def test_without_msreport(self):
        folder = self.folder("without")
        shutil.copy(self.build.msrec, folder)
        os.symlink(os.path.dirname(self.build.preload), os.path.join(folder, "preload"))
        for script, wanted, text in ((None, 125, "not installed"), ("kill -9 $$", 2, "was killed")):
            if script:
                with open(os.path.join(folder, "msreport"), "w", encoding="ascii") as file:
                    file.write(f"#!/bin/sh\n{script}\n")
                os.chmod(os.path.join(folder, "msreport"), 0o755)
            done = subprocess.run([folder + "/msrec", "--check=peak<=1G", "true"], cwd=folder, capture_output=True,
                                  text=True)
            assert done.returncode == wanted and text in done.stderr, done

    def test_blind(self):
        """A gate that cannot see fails."""
        folder = self.folder("blind")
        done = self.run(folder, "--check=peak<=1G", "sh", "-c", "exec true", status=2)
        assert "executed another one, which was not recorded" in done.stderr, done
        self.run(folder, "--check=peak<=1G", "--trace-children", "sh", "-c", "exec true")
        done = self.run(folder, "--check=peak<=1G", "--trace-children", "sh", "-c", "env -i true; :", status=2)
        assert "a program of this run was not recorded" in done.stderr, done
        self.run(folder, "--check=peak<=1G", "--max-size=64k", "perl", "-e", "push @x, $_ x 9 for 1 .. 300000",
                 status=2)

    def repeat(self, folder, *words, status=0):
        done = subprocess.run([self.msreport, "-q", "--format=json", *words], cwd=folder, capture_output=True,
                              text=True, input="not read")
        assert done.returncode == status, (words, done)
        return json.loads(done.stdout)["sections"]["repeat"]

    def test_repeat(self):
        """What varies is named, with its stack and the tolerance that it needs."""
        folder = self.folder("repeat")
        same = self.repeat(folder, "--repeat=3", "--", self.planted)
        figures = {row["figure"]: (row["least"], row["most"], row["tolerance"]) for row in same["figures"]}
        assert figures["calls"] == (202, 202, "+0") and figures["peak"] == (108192 + 79, 108192 + 79, "+0"), figures
        assert (same["varies"], same["stacks"], same["runs"]) == (0, [], 3), same
        script = ("n=$(cat n); echo $((n + 1)) >n; case $((n % 2)) in 1) PLANTED=call;; *) PLANTED=;; esac; "
                  f"export PLANTED; exec {self.planted}")
        words = "--repeat=4", "--", "sh", "-c", script
        with open(os.path.join(folder, "n"), "w", encoding="ascii") as file:
            file.write("0\n")
        varies = self.repeat(folder, *words, status=1)
        calls, = (row for row in varies["figures"] if row["figure"] == "calls")
        assert (calls["least"], calls["median"], calls["most"], calls["tolerance"]) == (202, 202, 402, "+200%"), calls
        assert {(row["figure"], row["least"], row["most"], row["runs"], row["function"]) for row in varies["stacks"]} \
            == {("bytes", 9500, 12700, 4, "read_line"), ("calls", 200, 400, 4, "read_line"),
                ("temporary", 200, 400, 4, "read_line")}, varies["stacks"]
        noisy = self.repeat(folder, "--check=calls<=+1%", "--check=peak<=+0", "--check=calls<=300", *words, status=1)
        assert [(row["status"], row["held"], row["compared"]) for row in noisy["limits"]] == [
            ("noisy", 12, 16), ("kept", 16, 16), ("noisy", 2, 4)], noisy["limits"]
        self.repeat(folder, "--check=peak<=+0", *words)
        assert not self.traces(folder)
        for wrong, wanted in ((["--repeat=1", "true"], 64), (["--repeat=2"], 64), (["--repeat=2", "nosuchprogram"], 2),
                              (["--repeat=2", "--update", "--check=a", "true"], 64)):
            done = subprocess.run([self.msreport, *wrong], cwd=folder, capture_output=True, text=True)
            assert done.returncode == wanted and done.stderr, done

    def suite(self, folder, *words, status=0, runner="sh"):
        """Ten tests below a runner, one of which has regressed: 'PLANTED=leak'."""
        script = "".join(f"PLANTED=$MODE{i} {self.planted} {i} {folder}/data{i}\n" for i in range(10))
        with open(os.path.join(folder, "suite"), "w", encoding="ascii") as file:
            file.write(script)
        return self.run(folder, "-q", "--trace-children", "--trace-children-only=*/planted", "--check=heap.check", "-o",
                        "%e.%p.zst", *words, runner, "suite", status=status)

    def test_suite(self):
        """One trace a test, one report; the runner is not a test, and paths are relative to the baseline."""
        folder = self.folder("suite")
        self.suite(folder, "--update")
        with open(os.path.join(folder, "heap.check"), encoding="utf-8") as file:
            runs = [line for line in file if line.startswith("run ")]
        assert runs == [f"run planted {i} data{i}\n" for i in range(10)], runs
        moved = self.folder("moved")
        shutil.copy(os.path.join(folder, "heap.check"), moved)
        self.suite(moved)
        os.environ["MODE7"] = "leak"
        done = self.suite(moved, "--check-format=json", status=1)
        del os.environ["MODE7"]
        check = json.loads(done.stderr)["sections"]["check"]
        assert [run["run"] for run in check["runs"] if run["status"] != "within"] == ["planted 7 data7"], check["runs"]
        assert len(check["runs"]) == 10 and check["unverified"] == 0, check
        done = self.suite(moved, "--drop-passed")
        assert len(self.traces(moved)) == 22, self.traces(moved)    # with the runners', less the last ones


def main():
    return run_methods(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
