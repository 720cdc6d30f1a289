# SPDX-License-Identifier: MIT
"""Real programs with inputs made here, the same on every run, for the oracle and the benchmark."""

import os
import subprocess
from dataclasses import dataclass, field

from harness import have, plain_environment


@dataclass
class Workload:
    name: str
    argv: list
    stdin: str = "/dev/null"
    env: dict = field(default_factory=dict)
    cwd: str = None
    by_address: bool = False    # what it allocates depends on where its memory lies

    def environment(self, **more):
        return plain_environment(**self.env, **more)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def sqlite(folder, scale):
    rows = 20000 * scale
    script = write(os.path.join(folder, "script.sql"), f"""
create table t(a integer primary key, b text, c real);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
insert into t select i, printf('row %d of many', i * 7919 % 10007), i / 3.0 from n;
commit;
create index tb on t(b);
select b, count(*), sum(c) from t group by b order by 2 desc, 1 limit 5;
select count(*) from t x join t y on x.b = y.b where x.a < 500;
""")
    return Workload("sqlite3", ["sqlite3", ":memory:"], stdin=script)


def python(folder, scale):
    script = write(os.path.join(folder, "work.py"), f"""
import json
rows = [{{"id": i, "name": "n%d" % (i * 7919 % 1000), "tags": list(range(i % 9))}} for i in range({3000 * scale})]
for _ in range(3):
    text = json.dumps(rows, indent=1)
    rows = json.loads(text)
print(len(text), sum(len(r["tags"]) for r in rows))
""")
    return Workload("python3", ["/usr/bin/python3", "-S", script],
                    env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"})


def perl(folder, scale):
    script = write(os.path.join(folder, "work.pl"), f"""
my (%h, @a);
for my $i (1 .. {30000 * scale}) {{
    my $k = "k" . ($i * 7919 % 5003);
    push @{{$h{{$k}}}}, "v$i";
    $a[$i % 1000] .= substr("abcdefghij", $i % 7, 3);
}}
my $n = 0;
for my $k (sort keys %h) {{ $n += length join(",", sort @{{$h{{$k}}}}); }}
print "$n ", length(join "", @a), "\\n";
""")
    return Workload("perl", ["perl", script], env={"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"})


def git(folder, scale):
    repository = os.path.join(folder, "repository")
    env = plain_environment(GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@example.org",
                            GIT_COMMITTER_NAME="A", GIT_COMMITTER_EMAIL="a@example.org")
    stream = []
    lines = [f"line {i}" for i in range(300)]
    for n in range(80 * scale):
        for i in range(n * 37 % 100, 300, 41):
            lines[i] = f"line {i} as of {n}"
        text = "\n".join(lines) + "\n"
        stream.append(f"commit refs/heads/main\ncommitter A <a@example.org> {1600000000 + n} +0000\n"
                      f"data 4\nc{n:03d}\nM 100644 inline f{n % 5}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "init", "-q", "-b", "main", repository], env=env, check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repository, env=env, check=True,
                   input="".join(stream).encode())
    return Workload("git", ["git", "--no-pager", "log", "-p"], env={"GIT_CONFIG_NOSYSTEM": "1"}, cwd=repository)


def xmllint(folder, scale):
    items = "".join(f'<item id="{i}" kind="k{i % 17}"><name>name {i}</name><v>{i * i}</v></item>\n'
                    for i in range(8000 * scale))
    path = write(os.path.join(folder, "in.xml"), f"<?xml version='1.0'?>\n<list>{items}</list>\n")
    return Workload("xmllint", ["xmllint", "--format", path])


def jq(folder, scale):
    rows = ",".join(f'{{"id":{i},"k":"k{i % 101}","v":[{i},{i + 1}]}}' for i in range(5000 * scale))
    path = write(os.path.join(folder, "in.json"), f"[{rows}]")
    return Workload("jq", ["jq", "-c", "group_by(.k) | map({k: .[0].k, n: length, s: map(.v[0]) | add})", path])


def cc1plus(folder, scale):
    source = ["#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"]
    for i in range(15 * scale):
        source.append(f"struct s{i} {{ std::map<std::string, std::vector<s{i} *>> m; int f(int n) const; }};\n"
                      f"int s{i}::f(int n) const {{ int r = n; for (auto &e : m) r += (int)e.second.size();\n"
                      f"std::vector<int> v(r); std::sort(v.begin(), v.end()); return v[{i}]; }}\n")
    path = write(os.path.join(folder, "x.cc"), "".join(source))
    preprocessed = os.path.join(folder, "x.ii")
    subprocess.run(["g++", "-E", path, "-o", preprocessed], check=True)
    program = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()
    return Workload("cc1plus", [program, "-quiet", "-O2" if scale > 1 else "-O0", preprocessed, "-o", "/dev/null"],
                    by_address=True)


def clang(folder, scale):
    source = "#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n" + "".join(
        f"std::map<std::string, std::vector<int>> m{i};\nint f{i}(int n) {{ auto &v = m{i}[std::to_string(n)];"
        f" std::sort(v.begin(), v.end()); return (int)v.size() + {i}; }}\n" for i in range(12 * scale))
    path = write(os.path.join(folder, "x.cc"), source)
    what = ["-c", "-O1"] if scale > 1 else ["-fsyntax-only"]
    return Workload("clang", ["clang++"] + what + ["-w", path, "-o", "/dev/null"], by_address=True)


MAKERS = {"sqlite3": sqlite, "python3": python, "perl": perl, "git": git, "xmllint": xmllint, "jq": jq,
          "cc1plus": cc1plus, "clang": clang}
PROGRAMS = {"cc1plus": "g++", "clang": "clang++"}       # where the name is not the program's


def make(folder, scale=1, names=None):
    """The workloads whose programs are installed, their inputs made in `folder`."""
    made = []
    for name, maker in MAKERS.items():
        if (names and name not in names) or not have(PROGRAMS.get(name, name)):
            continue
        own = os.path.join(folder, name)
        os.mkdir(own)
        made.append(maker(own, scale))
    return made
