# SPDX-License-Identifier: MIT
"""docs/fleet.md, followed to the letter: all its commands, one after the other, with ClickHouse and the hosts that it
names on loopback, and a server that takes profiles. Needs root, for a network and a file of hosts of its own. DuckDB's
command line comes from no registry that Debian has; without --duckdb a script around its library stands for it.

  fleet_recipe.py --build DIR [--duckdb PROGRAM]

In a fresh system: scripts/in-chroot bookworm tests/formats/fleet_recipe.sh
"""

import base64
import contextlib
import ctypes
import fcntl
import http.server
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import clickhouse  # noqa: E402
import clients  # noqa: E402
import harness  # noqa: E402
from profile_proto import Profile  # noqa: E402

SOURCE = os.path.join(HERE, "..", "..")
DUCKDB = """#!/usr/bin/env node
// duckdb [-bail] FILE [-c SQL]: runs SQL, or what standard input has, and prints the rows.
const { DuckDBInstance } = require("@duckdb/node-api");
(async () => {
  const words = process.argv.slice(2).filter(word => word != "-bail");
  const sql = words[1] == "-c" ? words[2] : require("fs").readFileSync(0, "utf8");
  const connection = await (await DuckDBInstance.create(words[0])).connect();
  const statements = await connection.extractStatements(sql);
  for (let i = 0; i < statements.count; i++) {
    const result = await (await statements.prepare(i)).runAndReadAll();
    for (const row of result.getRows())
      console.log(row.map(String).join("|"));
  }
  connection.closeSync();
})().catch(error => { console.error(`Error: ${error.message}`); process.exit(1); });
"""
CLONE_NEWNS, CLONE_NEWNET, MS_REC, MS_PRIVATE, MS_BIND = 0x20000, 0x40000000, 0x4000, 0x40000, 0x1000
# Addresses of the document's hosts.
HOSTS = {"localhost": "127.0.0.1", "a1": "127.0.1.1", "a2": "127.0.1.2", "b1": "127.0.2.1", "b2": "127.0.2.2",
         "pyroscope": "127.0.3.1", "parca": "127.0.3.2"}
PORTS = {"pyroscope": 4040, "parca": 7070}
SQL = re.compile(r"(?:create|select|with|insert)\b")


def own_network(folder):
    """This process is alone on its loopback, and names have the addresses of HOSTS."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        harness.skip(f"no namespaces: {os.strerror(ctypes.get_errno())}")
    path = os.path.join(folder, "hosts")
    names = {**HOSTS, socket.gethostname(): "127.0.0.1"}
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{address} {name}\n" for name, address in names.items())
    if libc.mount(path.encode(), b"/etc/hosts", None, MS_BIND, None) != 0:
        harness.skip(f"/etc/hosts: {os.strerror(ctypes.get_errno())}")
    with socket.socket() as s:      # lo is to be up
        request = struct.pack("16sH14x", b"lo", 0x41)   # IFF_UP, IFF_RUNNING
        fcntl.ioctl(s, 0x8914, request)                 # SIOCSIFFLAGS


def blocks():
    """The commands of the document: (the heading above, the text)."""
    with open(os.path.join(SOURCE, "docs", "fleet.md"), encoding="utf-8") as file:
        parts = re.split(r"^#+ (.*)\n", file.read(), flags=re.M)
    for heading, text in zip(parts[1::2], parts[2::2]):
        for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S):
            yield heading, block


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def receiver(name):
    server = http.server.ThreadingHTTPServer((HOSTS[name], PORTS[name]), Receiver)
    server.got = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Reader:
    def __init__(self, build, duckdb, folder):
        self.folder = os.path.join(folder, "reader")
        commands = os.path.join(folder, "bin")
        os.makedirs(self.folder)
        os.makedirs(commands)
        for name, program in (("prog", build.file("tests/tools/fleet_program")), ("duckdb", duckdb),
                              *((name, build.file(f"analyze/{name}")) for name in ("msconvert", "msreport")),
                              ("msrec", build.msrec)):
            os.symlink(program, os.path.join(commands, name))
        for name in ("docs", "scripts"):
            os.symlink(os.path.join(SOURCE, name), os.path.join(self.folder, name))
        self.env = {**os.environ, "PATH": f"{commands}:/usr/local/bin:/usr/bin:/bin:/usr/sbin", "HOME": folder,
                    "MSREC_CACHE": os.path.join(folder, "names"), "NODE_PATH": clients.modules(build)}

    def follow(self, heading, block):
        """Returns what the commands print. SQL is for DuckDB, in one database."""
        command = ["duckdb", "-bail", "tables.db"] if SQL.match(block) else ["sh", "-eu"]
        done = subprocess.run(command, input=block, cwd=self.folder, env=self.env, text=True, capture_output=True,
                              timeout=600)
        if done.returncode != 0 or "Error" in done.stderr:
            raise harness.Problem(f"{heading}: status {done.returncode} of\n{block}\n{done.stdout}{done.stderr}")
        return done.stdout


class Profiles:
    """What the servers got."""

    @staticmethod
    def check(data):
        """Of a small program a sample may have nothing."""
        profile = Profile(data)
        assert (profile.raw.period, profile.default) == (512 << 10, "inuse_space"), profile.default

    def pyroscope(self, got):
        assert len(got) == 2, [path for path, _ in got]
        (path, data), (pushed, text) = got
        assert re.fullmatch(r"/ingest\?name=api%7Bhost=[^&]+%7D&format=pprof&from=\d+&until=\d+", path), path
        self.check(data)
        assert pushed == "/push.v1.PusherService/Push", pushed
        [series] = json.loads(text)["series"]
        labels = {label["name"]: label["value"] for label in series["labels"]}
        assert labels["__name__"] == "memory" and labels["__delta__"] == "false" and labels["service_name"], labels
        self.check(base64.b64decode(series["samples"][0]["rawProfile"], validate=True))

    def parca(self, got):
        [(path, text)] = got
        assert path == "/profiles/writeraw", path
        [series] = json.loads(text)["series"]
        labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
        assert labels["__name__"] == "memory" and labels["job"], labels
        self.check(base64.b64decode(series["samples"][0]["rawProfile"], validate=True))


def servers(folder, stack):
    """One at the place of clients' defaults, and the document's cluster of four."""
    shards = [["a1", "a2"], ["b1", "b2"]]
    text = "".join("<shard>" + "".join(f"<replica><host>{host}</host><port>9000</port></replica>" for host in shard) +
                   "</shard>" for shard in shards)
    for name in ("localhost", "a1", "a2", "b1", "b2"):
        server = clickhouse.Server(os.path.join(folder, f"clickhouse-{name}"), 8123, 9000, HOSTS[name])
        server.configure(text)
        stack.callback(server.stop, hard=True)
        server.start()


def make_duckdb(build):
    clients.install(build)
    path = os.path.join(clients.modules(build), "duckdb")
    with open(path, "w", encoding="utf-8") as file:
        file.write(DUCKDB)
    os.chmod(path, 0o755)
    return path


def main():
    options = harness.arguments(__doc__, ("--duckdb", {"metavar": "PROGRAM", "help": "its command line"}))
    if os.geteuid() != 0:
        harness.skip("not root")
    harness.need("clickhouse-server", "clickhouse-client", "curl", "go", "node")
    duckdb = options.duckdb or make_duckdb(options.build)
    check = harness.Checks()
    with harness.Scratch() as folder, contextlib.ExitStack() as stack:
        own_network(folder)
        servers(folder, stack)
        pyroscope, parca = stack.enter_context(receiver("pyroscope")), stack.enter_context(receiver("parca"))
        reader = Reader(options.build, duckdb, folder)
        said = ""
        for number, (heading, block) in enumerate(blocks()):
            text = reader.follow(heading, block)
            check(f"{heading}, {block.splitlines()[0][:60]}", True)
            if number == 0:     # a second run, so that there is an old and a new one
                reader.follow(heading, block)
            said += f"{heading}:\n{text}"
        for wanted in ("fill_cache", "build_index", "2 runs"):
            check(f"answers name {wanted}", wanted in said, said[-3000:])
        Profiles().pyroscope(pyroscope)
        Profiles().parca(parca)
        check("servers got profiles", True)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
