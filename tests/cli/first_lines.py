#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lines that msrec has from msreport at its end: they are msreport's, they never delay the end or change the exit
status, and a msreport that is missing, late, failing or endless leaves none.

  first_lines.py --build DIR
"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import plain_environment, run_methods, until    # noqa: E402


class Tests:
    """Each method is one test."""

    def __init__(self, options, folder):
        self.build, self.folder = options.build, folder
        self.program = self.build.file("corpus/basic")
        self.trace = os.path.join(folder, "t.zst")
        # msrec beside a msreport of ours.
        self.msrec, self.msreport = (os.path.join(folder, "bin", name) for name in ("msrec", "msreport"))
        os.makedirs(os.path.dirname(self.msrec))
        shutil.copy(self.build.msrec, self.msrec)
        os.symlink(os.path.dirname(self.build.preload), os.path.join(folder, "bin/preload"))

    def lines(self, msrec, *words, status=0):
        """Those behind msrec's own two."""
        done = subprocess.run([msrec, "-f", "-o", self.trace, *words], capture_output=True, text=True, timeout=60,
                              env=plain_environment())
        assert done.returncode == status and not done.stdout, done
        lines = done.stderr.splitlines()
        assert " ran for " in lines[0] and "bytes/event" in lines[1], done
        assert all(line.startswith("msrec: ") for line in lines), done
        return [line.removeprefix("msrec: ") for line in lines[2:]]

    def with_script(self, script, *words, status=0):
        with open(self.msreport, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod(self.msreport, 0o755)
        return self.lines(self.msrec, *(words or (self.program,)), status=status)

    def test_lines_are_those_of_msreport(self):
        def said():
            lines = self.lines(self.build.msrec, self.program)
            own = subprocess.run([self.build.file("analyze/msreport"), "-q", "brief", self.trace], check=True,
                                 capture_output=True, text=True, env=plain_environment(COLUMNS="73")).stdout
            wanted = [line for line in own.splitlines() if line]
            assert lines in ([], wanted), (lines, wanted)
            assert wanted[0] == "What holds the peak" and 2 < len(wanted) <= 5, wanted
            assert re.search(r"basic\.c:\d+", wanted[2]), wanted
            return lines
        assert until(said), "never within 0.2 s"

    def test_nothing_of_nothing(self):
        """No blocks, no lines."""
        assert not self.lines(self.build.msrec, self.build.file("corpus/null"))

    def test_words(self):
        said = []
        assert until(lambda: said.append(self.with_script('echo "$@"; echo; echo x')) or said[-1]), said
        assert said[-1] == [f"-q brief {self.trace}", "x"], said

    def test_quiet(self):
        with open(self.msreport, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\ntouch " + self.folder + "/ran\n")
        os.chmod(self.msreport, 0o755)
        done = subprocess.run([self.msrec, "-q", "-f", "-o", self.trace, self.program], capture_output=True, check=True)
        assert not done.stdout + done.stderr and not os.path.exists(self.folder + "/ran"), done

    def test_late(self):
        """It is killed."""
        pid = os.path.join(self.folder, "pid")
        assert self.with_script(f"echo early; echo $$ >{pid}; exec sleep 1000") == []
        number = ""
        if os.path.exists(pid):
            with open(pid, encoding="ascii") as file:
                number = file.read().strip()
        if number:
            assert until(lambda: not os.path.exists(f"/proc/{number}")), number

    def test_failing(self):
        assert self.with_script("echo x; exit 2") == []
        assert self.with_script("echo x; kill -9 $$") == []
        assert self.with_script("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxx; done") == []
        os.remove(self.msreport)
        assert self.lines(self.msrec, self.program) == []

    def test_status(self):
        for script in ("echo x", "exit 2", "exec sleep 1000"):
            self.with_script(script, "sh", "-c", "exit 7", status=7)
            self.with_script(script, "sh", "-c", "kill -15 $$", status=-15)


def main():
    return run_methods(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
