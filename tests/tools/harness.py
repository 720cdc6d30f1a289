# SPDX-License-Identifier: MIT
"""What the tests of the recorder share: the build's programs, running them, reading figures."""

import os
import shutil
import subprocess
import tempfile


class Build:
    """The programs of a build directory."""

    def __init__(self, directory):
        self.root = os.path.abspath(directory)
        self.msrec = self.file("trace-record/msrec")
        self.preload = self.file("trace-record/preload/libmsrec.so")
        self.tracestat = self.file("tests/tools/tracestat")
        self.exact = self.file("tests/tools/preload_exact.so")

    def file(self, name):
        path = os.path.join(self.root, name)
        if not os.path.exists(path):
            raise SystemExit(f"{path}: missing; build with -Dtests=true")
        return path

    def stat(self, trace):
        """The figures of a trace as a dictionary; numbers as int."""
        done = subprocess.run([self.tracestat, trace], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"tracestat: exit {done.returncode}: {done.stderr.strip()}")
        pairs = (line.split("=", 1) for line in done.stdout.split())
        return {key: int(value) if value.isdigit() else value for key, value in pairs}


class Scratch:
    """A temporary directory, as a context; `TMPDIR` decides where."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="msrec-test-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def plain_environment(**more):
    """An environment of known content, so that runs can be compared."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    env.update(more)
    return env


def have(*programs):
    return all(shutil.which(p) for p in programs)
