#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs under their own tests, recorded: they pass as they do alone, and nothing is lost.

Python's own tests of threads, signals, processes and foreign functions, with malloc for every object; redis under its
benchmark; nginx with workers that come and go; git in a script. One line each.
"""

import glob
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
from harness import Problem, plain_environment, run_script    # noqa: E402

PYTHON_TESTS = {
    "threads": ["test_thread", "test_threading", "test_threadsignals", "test_threading_local", "test_queue"],
    "signals": ["test_signal", "test_faulthandler"],
    "processes": ["test_subprocess", "test_fork1", "test_wait3", "test_wait4", "test_popen", "test_pty"],
    "foreign functions": ["test_ctypes", "test_mmap", "test_resource"],
    "multiprocessing": ["test_multiprocessing_main_handling", "test_concurrent_futures"],
    "the rest": ["test_gc", "test_weakref", "test_exceptions", "test_generators", "test_asyncgen", "test_contextlib",
                 "test_json", "test_re", "test_sqlite3", "test_zlib"],
}
PYTHON = "/usr/bin/python3"
TIMEOUT = 1500


def expect(truth, words):
    if not truth:
        raise Problem(words)


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder, self.runs = build, folder, 0

    def new_folder(self):
        self.runs += 1
        path = os.path.join(self.folder, f"run{self.runs}")
        os.mkdir(path)
        os.chmod(path, 0o777)
        return path

    def recorded(self, where, argv):
        return [self.build.msrec, "-q", "-o", os.path.join(where, "t.%p"), *argv]

    def check_traces(self, where):
        """All are whole, and nothing is lost. Their number and that of their events."""
        events, paths = 0, glob.glob(os.path.join(where, "t.*"))
        for path in paths:
            stat = self.build.stat(path)
            expect(stat["complete"] == 1 and stat["lost"] == 0,
                   f"{path}: complete {stat['complete']}, {stat.get('lost')} lost")
            events += stat["events"]
        expect(events > 0, "nothing is recorded")
        return len(paths), events


def outcomes(text):
    """The result of each of Python's tests, in their order."""
    return re.findall(r"^(\S+) \.\.\. (.*)$", text, re.M) + re.findall(r"^(\S+ skipped|\S+ failed)", text, re.M)


def python_run(bench, names, tries, wrap):
    """(results, text, folder, runs): some of Python's tests fail now and then on a busy machine, unrecorded
    too."""
    for i in range(tries):
        where = bench.new_folder()
        done = subprocess.run(wrap(where, [PYTHON, "-m", "test", *names]), cwd=where, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT,
                              errors="replace", env=plain_environment(PYTHONMALLOC="malloc", HOME=where, TERM="dumb"))
        if done.returncode == 0:
            break
    result = done.returncode, outcomes(done.stdout), re.findall(r"^Tests? result: .*$", done.stdout, re.M)
    return result, done.stdout, where, i + 1


def python_tests(names):
    def run(bench):
        alone, alone_text, _, _ = python_run(bench, names, 3, lambda where, argv: argv)
        result, text, where, runs = python_run(bench, names, 2, bench.recorded)
        expect(alone == result, f"alone {alone}, recorded {result}: {alone_text[-2000:]} {text[-2000:]}")
        traces, events = bench.check_traces(where)
        again = ", at the second run" if runs > 1 else ""
        return f"{result[2][-1].lower()}, {traces} traces, {events} events{again}"
    return run


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def await_port(port):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise Problem("the server doesn't listen")


def redis(bench):
    """Its own benchmark, a background save by a forked child, and a proper end."""
    where, port = bench.new_folder(), free_port()
    server = subprocess.Popen(bench.recorded(where, ["redis-server", "--port", str(port), "--dir", where, "--save", "",
                                                     "--appendonly", "no", "--bind", "127.0.0.1"]),
                              stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, env=plain_environment())
    try:
        await_port(port)
        client = ["redis-cli", "-p", str(port)]
        done = subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-n", "5000", "-r", "1000",
                               "-t", "set,get,incr,lpush,rpop,sadd,hset,spop,zadd,lrange_100,mset"],
                              capture_output=True, text=True, timeout=TIMEOUT)
        expect(done.returncode == 0 and "LRANGE" in done.stdout, f"redis-benchmark: {done.returncode}: {done.stderr}")
        keys = subprocess.run([*client, "dbsize"], capture_output=True, text=True, check=True).stdout.strip()
        subprocess.run([*client, "bgsave"], capture_output=True, check=True)
        end = time.monotonic() + 60
        while "rdb_bgsave_in_progress:0" not in subprocess.run([*client, "info", "persistence"], capture_output=True,
                                                               text=True, check=True).stdout and time.monotonic() < end:
            time.sleep(0.1)
        subprocess.run([*client, "shutdown", "nosave"], capture_output=True)
        server.wait(60)
    finally:
        server.poll() is None and server.kill()
    expect(server.returncode == 0, f"status {server.returncode}")
    traces, events = bench.check_traces(where)
    expect(traces >= 2 and os.path.exists(os.path.join(where, "dump.rdb")), f"{traces} traces: no child saved")
    return f"{keys} keys, {traces} traces, {events} events"


NGINX = """
daemon off; master_process on; worker_processes 2; pid {0}/pid; error_log {0}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p;
fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u;
scgi_temp_path {0}/s; server {{ listen 127.0.0.1:{1}; root {0}; }} }}
"""


def nginx(bench):
    """Workers that change their user, and are replaced by a reload while requests come."""
    where, port = bench.new_folder(), free_port()
    for name, text in (("conf", NGINX.format(where, port)), ("page", "x" * 100000)):
        with open(os.path.join(where, name), "w", encoding="ascii") as f:
            f.write(text)
    server = subprocess.Popen(bench.recorded(where, ["nginx", "-c", os.path.join(where, "conf")]),
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=plain_environment(PATH="/usr/sbin:/usr/bin:/bin"))
    try:
        await_port(port)
        for i in range(300):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/page", timeout=30) as answer:
                expect(len(answer.read()) == 100000, "a short answer")
            if i % 100 == 50:
                with open(os.path.join(where, "pid"), encoding="ascii") as f:
                    os.kill(int(f.read()), signal.SIGHUP)
                time.sleep(0.3)
        with open(os.path.join(where, "pid"), encoding="ascii") as f:
            os.kill(int(f.read()), signal.SIGQUIT)
        server.wait(60)
    finally:
        server.poll() is None and server.kill()
    expect(server.returncode == 0, f"status {server.returncode}")
    traces, events = bench.check_traces(where)
    expect(traces >= 9, f"{traces} traces, of a master and four times two workers")
    return f"300 requests, {traces} traces, {events} events"


GIT = """
set -e
git init -q -b main . && git config user.email a@example.org && git config user.name A
for i in $(seq 1 30); do seq $i 7 $((i * 40)) > f$((i % 5)); git add -A; git commit -qm "c$i"; done
git checkout -q -b side HEAD~10; echo x > g; git add g; git commit -qm side
git merge -q -m merged main
git gc -q; git fsck --strict 2>&1; git log --oneline | wc -l; git log -p | md5sum; git blame f1 | wc -l
git status --short
"""


def git(bench):
    results = []
    for record in (False, True):
        where = bench.new_folder()
        work = os.path.join(where, "work")
        os.mkdir(work)
        argv = ["sh", "-c", GIT]
        if record:
            argv = [bench.build.msrec, "-q", "--trace-children=yes", "-o", f"{where}/t.%n", *argv]
        done = subprocess.run(argv, cwd=work, capture_output=True, text=True, timeout=TIMEOUT,
                              env=plain_environment(HOME=where, GIT_CONFIG_NOSYSTEM="1",
                                                    GIT_AUTHOR_DATE="1700000000 +0000",
                                                    GIT_COMMITTER_DATE="1700000000 +0000"))
        results.append((done.returncode, done.stdout))
    expect(results[0] == results[1] and results[0][0] == 0, f"alone {results[0]}, recorded {results[1]}: {done.stderr}")
    traces, events = bench.check_traces(where)
    return f"{traces} traces, {events} events"


def main():
    cases = [(f"python: {name}", python_tests(tests)) for name, tests in PYTHON_TESTS.items()]
    return run_script(__doc__, [*cases, ("redis", redis), ("nginx", nginx), ("git", git)], Bench)


if __name__ == "__main__":
    sys.exit(main())
