# SPDX-License-Identifier: MIT
"""Larger programs than those of workloads.py, for the page: node, postgres, LibreOffice, ffmpeg, vim."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import have                                  # noqa: E402
from workloads import Workload, write                     # noqa: E402

OFFICE = "/usr/lib/libreoffice/program/soffice.bin"
UNPRIVILEGED = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
NODE = """
const rows = Array.from({ length: %d }, (_, i) => ({ id: i, name: `name ${i %% 1009}`, tags: [i, String(i)] }));
let size = 0;
for (let i = 0; i < 5; i++) size += JSON.parse(JSON.stringify(rows)).length;
console.log(size, require("zlib").gzipSync(JSON.stringify(rows)).length);
"""
SQL = """drop table if exists t;
create table t as select i as a, md5(i::text) as b from generate_series(1, %d) i;
create index on t(b);
select left(b, 2) k, count(*), max(length(b)) from t group by 1 order by 2 desc limit 5;
select count(*) from t x join t y using (b);
"""


@dataclass
class Program(Workload):
    drop: tuple = field(default=())     # words before the command: another user, as whom it runs


def node(folder, scale):
    return Program("node", ["node", write(os.path.join(folder, "work.js"), NODE % (20000 * scale))])


def postgres(folder, scale):
    """One process with its tables in `folder`; it refuses to run as root."""
    drop, data = UNPRIVILEGED if os.geteuid() == 0 else (), os.path.join(folder, "data")
    binaries = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
    if drop:
        subprocess.run(["chown", "nobody", folder], check=True)
    subprocess.run([*drop, os.path.join(binaries, "initdb"), "-A", "trust", "-N", "-D", data], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    script = write(os.path.join(folder, "script.sql"), SQL % (50000 * scale))
    return Program("postgres", [os.path.join(binaries, "postgres"), "--single", "-j", "-D", data, "postgres"],
                   stdin=script, cwd=folder, drop=drop)


def office(folder, scale):
    text = "".join(f"Paragraph {i}. " + "The quick brown fox jumps over the lazy dog. " * 8 + "\n\n"
                   for i in range(200 * scale))
    argv = [OFFICE, "--headless", f"-env:UserInstallation=file://{folder}/profile", "--convert-to", "pdf", "--outdir",
            folder, write(os.path.join(folder, "in.txt"), text)]
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)      # makes its profile
    return Program("libreoffice", argv)


def ffmpeg(folder, scale):
    return Program("ffmpeg", ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc=duration={2 * scale}", "-c:v",
                              "mpeg4", "-f", "null", "-"])


def vim(folder, scale):
    lines = "".join(f"line {i} of {i * 7919 % 1009}\n" for i in range(20000 * scale))
    text = write(os.path.join(folder, "in.txt"), lines)
    words = ("%s/of/from/g", "sort n", "g/7/m0", "undo", "q!")
    return Program("vim", ["vim", "-u", "NONE", "-es", *(f"+{word}" for word in words), text])


MAKERS = {"node": (node, "node"), "postgres": (postgres, "pg_config"), "libreoffice": (office, OFFICE),
          "ffmpeg": (ffmpeg, "ffmpeg"), "vim": (vim, "vim")}


def make(folder, scale, names):
    """Those of `names` that are installed, their inputs made in `folder`."""
    for name, (maker, program) in MAKERS.items():
        if name in names and have(program):
            own = os.path.join(folder, name)
            os.mkdir(own)
            yield maker(own, scale)
