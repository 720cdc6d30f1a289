#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec --pid on real servers under load: what requests take before, while msrec comes and goes, while it records, and
after; how long the processes stand still. Every answer is checked, and every server must live to the end.

  attach.py --build DIR [--cycles N] [--seconds S] [SERVER...]
  attach.py --build DIR --heaps [--cycles N]

One client makes requests one after the other, over one connection. With --heaps: programs with heaps of several sizes,
how long they stand still, and when their blocks are counted. Prints Markdown; times are in milliseconds.
"""

import argparse
import http.client
import os
import pwd
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
from harness import Build, Scratch, compiler, have, plain_environment, until         # noqa: E402

TIMEOUT = 120
ATTEMPTS = 6
PAUSE = 0.1             # before each cycle, and its recording
USER = "nobody"         # of servers that root may not run

NODE = """
require("http").createServer((request, response) => {
  const list = [];
  for (let i = 0; i < 300; i++) list.push({ number: i, text: "x".repeat(i) });
  response.end(String(JSON.parse(Buffer.from(JSON.stringify(list)).toString()).length));
}).listen(Number(process.argv[2]), "127.0.0.1");
"""

JAVA = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.Executors;
public class Server {
  public static void main(String[] words) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 0);
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.createContext("/", exchange -> {
      ByteBuffer direct = ByteBuffer.allocateDirect(4096);
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < 300; i++) text.append(i % 10);
      direct.put(text.toString().getBytes());
      byte[] answer = String.valueOf(direct.position()).getBytes();
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    });
    server.start();
  }
}
"""

RUST = """
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
fn main() {
    let port = std::env::args().nth(1).unwrap();
    for stream in TcpListener::bind(format!("127.0.0.1:{port}")).unwrap().incoming() {
        std::thread::spawn(move || {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(Ok(line)) = lines.next() {
                if line.is_empty() {
                    let mut map = HashMap::new();
                    for i in 0..300 {
                        map.insert(i, vec![b'x'; i]);
                    }
                    let body = map.len().to_string();
                    let head = format!("HTTP/1.1 200 OK\\r\\nContent-Length: {}\\r\\n\\r\\n", body.len());
                    stream.write_all((head + &body).as_bytes()).unwrap();
                }
            }
        });
    }
}
"""


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


class Server:
    """A server as a context. `ask` makes a request and checks the answer."""

    needs = ()

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.process = self.connection = None

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def start(self, *command, **how):
        command = (shutil.which(command[0]), *command[1:])
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=plain_environment(), cwd=self.folder, **how)

    def pid(self):
        return self.process.pid

    def __enter__(self):
        self.launch()
        assert until(self.connect, 60), "does not answer"
        return self

    def __exit__(self, *_):
        if self.connection:
            self.connection.close()
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Http(Server):
    answer = b"300"

    def connect(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        self.connection.request("GET", "/")
        return self.connection.getresponse().read() == self.answer

    def ask(self, _):
        self.connection.request("GET", "/")
        response = self.connection.getresponse()
        got = response.read()
        assert response.status == 200 and got == self.answer, (response.status, got)


class Nginx(Http):
    needs = ("nginx",)
    answer = b"static\n" * 500

    def launch(self):
        os.makedirs(self.path("site"), exist_ok=True)
        os.chmod(self.folder, 0o755)
        self.path("site/index.html", self.answer.decode())
        conf = self.path("nginx.conf", f"""
daemon off; worker_processes 1; error_log {self.path("error.log")}; pid {self.path("nginx.pid")};
events {{ }}
http {{ access_log off; keepalive_requests 100000000; gzip on; gzip_types *; gzip_min_length 1;
  server {{ listen 127.0.0.1:{self.port}; root {self.path("site")}; index index.html; }} }}
""")
        self.start("nginx", "-p", self.folder, "-c", conf)

    def pid(self):
        return children(self.process.pid)[0]


class Node(Http):
    needs = ("node",)

    def launch(self):
        self.start("node", self.path("server.js", NODE), str(self.port))


class Java(Http):
    needs = ("java", "javac")

    def launch(self):
        subprocess.run(["javac", "-d", self.folder, self.path("Server.java", JAVA)], check=True)
        self.start("java", "-Xmx256m", "-Dsun.net.httpserver.nodelay=true", "-cp", self.folder, "Server",
                   str(self.port))


class Rust(Http):
    needs = ("rustc",)

    def launch(self):
        program = self.path("rust-server")
        subprocess.run(["rustc", "-O", "-o", program, self.path("server.rs", RUST)], check=True)
        self.start(program, str(self.port))


class Redis(Server):
    needs = ("redis-server",)

    def launch(self):
        self.start("redis-server", "--port", str(self.port), "--save", "", "--dir", self.folder)

    def connect(self):
        self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)
        self.lines = self.connection.makefile("rb")
        return self.command("PING") == b"+PONG"

    def command(self, text):
        self.connection.sendall(text.encode() + b"\r\n")
        return self.lines.readline().strip()

    def ask(self, number):
        length = number % 1000 + 1
        assert self.command(f"SET key{number % 5000} {'x' * length}") == b"+OK"
        assert self.command(f"STRLEN key{number % 5000}") == b":%d" % length


class Psql:
    """A session, in a program of PostgreSQL's own."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=plain_environment(), text=True)

    def query(self, text):
        self.process.stdin.write(text + ";\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Postgres(Server):
    """The process of a session, which answers that."""

    needs = ("postgres", "initdb", "psql")

    def launch(self):
        user = ("setpriv", f"--reuid={pwd.getpwnam(USER).pw_uid}", "--clear-groups") if os.geteuid() == 0 else ()
        data = self.path("data")
        os.chmod(self.folder, 0o777)
        subprocess.run([*user, "initdb", "-A", "trust", "-U", "postgres", "-D", data], check=True,
                       stdout=subprocess.DEVNULL, env=plain_environment(), cwd=self.folder)
        self.start(*user, "postgres", "-D", data, "-p", str(self.port), "-k", self.folder, "-F")

    def connect(self):
        self.connection = Psql(["psql", "-XqAt", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"])
        self.backend = int(self.connection.query("select pg_backend_pid()"))
        return True

    def pid(self):
        return self.backend

    def ask(self, number):
        n = number % 500 + 1
        got = self.connection.query(f"select sum(length(repeat('x', n))) from generate_series(1, {n}) n")
        assert got == str(n * (n + 1) // 2), (n, got)


HEAP = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static uint64_t limit;
static void *churn(void *unused)
{
	void *blocks[512] = { 0 };
	for (unsigned i = 0;; i++) {
		void **b = &blocks[i * 2654435761u >> 23];
		free(*b);
		*b = malloc(16 + i % 400);
		if (i % 64 == 0)
			usleep(500);
	}
	return unused;
}
int main(int argc, char **argv)
{
	static const unsigned sizes[] = { 24, 40, 56, 72, 104, 200, 24, 40, 1000, 136 };
	pthread_t threads[4];
	limit = argc > 1 ? strtoull(argv[1], NULL, 10) << 20 : 0;
	for (uint64_t sum = 0, i = 0; sum < limit; sum += sizes[i++ % 10] + 8)
		memset(malloc(sizes[i % 10]), 1, sizes[i % 10]);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	puts("ready");
	fflush(stdout);
	pause();
}
"""

SERVERS = {"redis": Redis, "nginx": Nginx, "postgres": Postgres, "node": Node, "rust": Rust, "jvm": Java}


class Load(threading.Thread):
    """Makes requests until stop(), and keeps what each took, by phase."""

    def __init__(self, server):
        super().__init__()
        self.server, self.phase, self.times, self.error, self.ends = server, "before", {}, None, False

    def run(self):
        number = 0
        try:
            while not self.ends:
                phase, start = self.phase, time.perf_counter()
                self.server.ask(number)
                self.times.setdefault(phase, []).append((time.perf_counter() - start) * 1000)
                number += 1
        except Exception as error:    # any: the main thread shows it
            self.error = error

    def check(self):
        assert self.error is None, repr(self.error)

    def stop(self):
        self.ends = True
        self.join(TIMEOUT)
        self.check()
        assert not self.is_alive(), "hangs"


class Msrec:
    def __init__(self, build, trace):
        self.build, self.trace, self.process = build, trace, None
        self.stops, self.again, self.counted = [], 0, []

    def come(self, pid):
        for _ in range(ATTEMPTS):
            said = ""
            self.process = subprocess.Popen([self.build.msrec, "-v", "-f", "-o", self.trace, f"--pid={pid}"],
                                            stderr=subprocess.PIPE, text=True, env=plain_environment())
            while "attached to" not in said:
                line = self.process.stderr.readline()
                said += line
                if not line:
                    break
            else:
                self.counted += re.findall(r"has ([0-9]+) blocks of ([0-9]+) bytes from before(.*)", said)
                return
            self.process.wait()
            assert "; try again" in said, said
            self.again += 1
        raise AssertionError(said)

    def leave(self):
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0, said
        self.stops += [float(word) for word in re.findall(r"times, ([0-9.]+) ms at most", said)]


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else float("nan")


def quantiles(values):
    return f"{quantile(values, 0.5):.1f} / {quantile(values, 0.99):.1f}"


def cycle(load, msrec, pid):
    load.phase = "between"
    time.sleep(PAUSE)
    load.phase = "coming, leaving"
    msrec.come(pid)
    load.phase = "recorded"
    time.sleep(PAUSE)
    load.phase = "coming, leaving"
    msrec.leave()
    load.check()


def measure(name, options, build, folder):
    """The row of a server."""
    msrec = Msrec(build, os.path.join(folder, "t.zst"))
    calls = []
    with SERVERS[name](folder) as server:
        pid, load = server.pid(), Load(server)
        load.start()
        time.sleep(options.seconds)
        for _ in range(options.cycles):
            cycle(load, msrec, pid)
            stats = build.stat(msrec.trace)
            assert stats["lost"] == 0, stats
            calls.append(stats["malloc"])
        load.phase = "after"
        time.sleep(options.seconds)
        load.stop()
        assert server.pid() == pid and os.path.exists(f"/proc/{pid}"), "is gone"
    words = [f"{quantile(load.times.get(phase, []), 0.5):.2f} / {quantile(load.times.get(phase, []), 0.99):.2f}"
             for phase in ("before", "coming, leaving", "recorded", "after")]
    worst = max(max(times) for phase, times in load.times.items() if phase != "before")
    return [name, str(sum(len(times) for times in load.times.values())), f"{statistics.median(calls):,.0f}", *words,
            f"{int(msrec.counted[-1][0]):,}" if msrec.counted else "not known", f"{worst:.1f}",
            quantiles(msrec.stops), str(msrec.again)]


def measure_heap(megabytes, options, build, folder):
    """The row of a program with such a heap."""
    program, msrec = os.path.join(folder, "heap"), Msrec(build, os.path.join(folder, "t.zst"))
    if not os.path.exists(program):
        with open(program + ".c", "w", encoding="ascii") as file:
            file.write(HEAP)
        subprocess.run([*compiler(), "-O1", "-fno-builtin", "-pthread", program + ".c", "-o", program], check=True)
    times = []
    with subprocess.Popen([program, str(megabytes)], stdout=subprocess.PIPE, env=plain_environment()) as process:
        process.stdout.readline()
        for _ in range(options.cycles):
            time.sleep(PAUSE)
            start = time.perf_counter()
            msrec.come(process.pid)
            times.append((time.perf_counter() - start) * 1000)
            msrec.leave()
        process.kill()
    still = sum(not how for _, _, how in msrec.counted)
    return [f"{megabytes} MB", f"{int(msrec.counted[-1][0]):,}",
            quantiles(msrec.stops), f"{still} of {options.cycles}", quantiles(times), str(msrec.again)]


def measure_heaps(options, build):
    print("| heap | blocks | longest stop | copied in the stop | until it is recorded | attempts again |\n|"
          + "---|" * 6, flush=True)
    with Scratch() as folder:
        for megabytes in (1, 5, 10, 20, 50, 200, 1000):
            print("| " + " | ".join(measure_heap(megabytes, options, build, folder)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3, help="of load before and after")
    parser.add_argument("--heaps", action="store_true")
    parser.add_argument("servers", nargs="*", metavar="SERVER", help=", ".join(SERVERS))
    options = parser.parse_args()
    build, failed = Build(options.build), False
    if options.heaps:
        measure_heaps(options, build)
        return False
    print("| server | requests | calls of malloc recorded | before | coming, leaving | recorded | after "
          "| blocks from before | longest | longest stop | attempts again |\n|" + "---|" * 11, flush=True)
    for name in options.servers or SERVERS:
        if not have(*SERVERS[name].needs):
            print(f"{name}: {' '.join(SERVERS[name].needs)} not installed", file=sys.stderr)
            continue
        with Scratch() as folder:
            try:
                print("| " + " | ".join(measure(name, options, build, folder)) + " |", flush=True)
            except AssertionError as error:
                failed = True
                print(f"{name}: {error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
