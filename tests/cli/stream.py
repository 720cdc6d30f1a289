#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec -o -: one trace to standard output."""

import os
import pty
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import plain_environment, run_in_folders, until    # noqa: E402

TIMEOUT = 60
FORKS = "my @a = map { 'x' x $_ } 1 .. 100; for (1 .. 3) { if (!fork) { my @b = @a; exit } } 1 while wait > 0"


class Tests:
    """One method a test; each runs in an empty folder."""

    def __init__(self, build):
        self.build, self.folder = build, None

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, stdout=subprocess.PIPE, **more):
        return subprocess.run([self.build.msrec, *words], cwd=self.folder, env=plain_environment(), stdout=stdout,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=TIMEOUT, **more)

    def stat(self, content):
        with open(self.path("t.zst"), "wb") as f:
            f.write(content)
        return self.build.stat(self.path("t.zst"))

    def test_pipe(self):
        """The trace that a file would hold; the program's output goes to standard error, its status is msrec's."""
        done = self.run("-o", "-", "sh", "-c", "echo printed; exit 5")
        assert done.returncode == 5 and done.stderr.startswith(b"printed\n"), done
        assert re.search(rb"standard output\b.* events", done.stderr), done.stderr
        assert os.listdir(self.folder) == [], os.listdir(self.folder)
        piped = self.stat(done.stdout)
        assert self.run("-q", "-o", "file", "sh", "-c", "echo printed; exit 5").stdout == b"printed\n"
        own = self.build.stat(self.path("file"))
        assert piped["complete"] == 1 and piped["detail"] == 5 and piped["events"] == own["events"] > 50, (piped, own)

    def test_reader_of_a_pipe(self):
        """msreplay reads while msrec writes."""
        replay = [self.build.file("analyze/msreplay"), "-q", "--massif-out-file=-", "-"]
        with subprocess.Popen([self.build.msrec, "-q", "-o", "-", "ls", "/"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=plain_environment()) as writer:
            done = subprocess.run(replay, stdin=writer.stdout, capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0 and "\ncmd: ls /\n" in done.stdout, done

    def test_file(self):
        """What is in a file before stays there."""
        with open(self.path("t"), "wb") as f:
            f.write(b"before")
        with open(self.path("t"), "ab") as f:
            assert self.run("-q", "-o", "-", "true", stdout=f).returncode == 0
        with open(self.path("t"), "rb") as f:
            content = f.read()
        assert content.startswith(b"before") and self.stat(content[6:])["complete"] == 1

    def test_full_disk(self):
        """A failed write ends the trace and cuts nothing."""
        if not os.path.exists("/dev/full"):
            return "no /dev/full"
        with open("/dev/full", "wb") as full:
            done = self.run("-o", "-", "sh", "-c", "exit 3", stdout=full)
        assert done.returncode in (3, 125) and b"No space left" in done.stderr, done
        with open(self.path("t"), "wb") as f:
            f.write(b"before")
        with open(self.path("t"), "ab") as f:
            self.run("-o", "-", "sh", "-c", "ulimit -f 0; exit 3", stdout=f)
        with open(self.path("t"), "rb") as f:
            assert f.read().startswith(b"before")

    def test_names(self):
        """Names are in the trace although it cannot be changed any more."""
        done = self.run("-q", "--embed-symbols", "-o", "-", "ls", "/")
        assert self.stat(done.stdout)["complete"] == 1
        dump = subprocess.run([self.build.file("tests/tools/tracedump"), self.path("t.zst")], capture_output=True,
                              text=True, check=True).stdout
        assert re.search(r"^name ", dump, re.M), dump[-2000:]

    def test_terminal(self):
        reader, terminal = pty.openpty()
        done = self.run("-o", "-", "true", stdout=terminal)
        os.close(terminal)
        os.close(reader)
        assert done.returncode == 125 and done.stderr.count(b"\n") == 1 and b"terminal" in done.stderr, done

    def test_one_trace(self):
        for option in (["--trace-children=yes"], ["--rotate", "--max-size=1m"]):
            done = self.run(*option, "-o", "-", "true")
            assert done.returncode == 125 and done.stdout == b"" and b"one process" in done.stderr, done
        done = self.run("-o", "-", "perl", "-e", FORKS)
        assert done.returncode == 0 and b"3 forked children were not recorded" in done.stderr, done
        stat = self.stat(done.stdout)
        assert stat["complete"] == 1 and stat["fork"] == 3, stat
        assert os.listdir(self.folder) == ["t.zst"], os.listdir(self.folder)
        assert self.run("-q", "-o", "./-", "true").stdout == b"" and "-" in os.listdir(self.folder)

    def test_reader_that_goes_away(self):
        """The program runs on."""
        script = "open my $f, '>', 'begun'; for (1 .. 3000) { push @a, map { 'x' x $_ } 1 .. 100 } print 'done'; exit 4"
        with subprocess.Popen([self.build.msrec, "-o", "-", "perl", "-e", script], cwd=self.folder,
                              env=plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert until(lambda: os.path.exists(self.path("begun")))
            process.stdout.close()
            err = process.stderr.read()
            process.wait(TIMEOUT)
        assert process.returncode == 4 and b"done" in err and b"Broken pipe" in err, (process.returncode, err)


def main():
    return run_in_folders(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
