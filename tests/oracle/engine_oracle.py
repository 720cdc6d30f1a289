#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare traces of the exact engine (msrec --engine=valgrind) with Massif itself: byte for byte.

Each program is recorded once for each way of recording (as it is, with --stacks=yes, with --pages,
with --trace-children=yes, with the stacks of frees), and each of its option sets is replayed from that trace, and run
under `valgrind --tool=massif`. The two files must be equal, times and addresses included, and so must the two xtree
reports, where an option set asks for them. Only these may differ: desc:, which lists the options as given; a report's
pid and milliseconds; and the order of stacks in one of live blocks, which Massif leaves to a hash of addresses. Both
runs get the same command, folder and environment, so that they are the same execution. Exceptions:

  - Programs that read /proc/self/maps (grep, diff, cmp and gawk do, for their handlers of stack overflow, and python3
    since 3.14, to know how far its stack goes) find another tool in it. They are not compared.
  - Threads run in another order now and then, in Massif's own runs as well (corpus/threads).
  - Shells keep process ids as text: its length changes when they go from 9999 to 10000, say. Of programs that
    differ, Massif is run RUNS_MORE times more, and msrec once: any two equal runs suffice.
  - Massif stops at an assertion of its own with --stacks=yes where a program leaves an alternate signal stack
    by a jump (corpus/signal): such a run is not compared.

Exit status: 0 all as expected, 1 a difference, 77 no engine.
"""

import difflib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from harness import arguments, by_process, installed_compat, skip    # noqa: E402
import cases as corpus  # noqa: E402
from xtree_oracle import Report, callgrind_lines  # noqa: E402

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C", "LC_ALL": "C", "PYTHONHASHSEED": "0",
               "PYTHONDONTWRITEBYTECODE": "1", "PERL_HASH_SEED": "0", "HOME": "/nonexistent"}
TIMEOUT_S = 300
DIFF_LINES = 14
WINDOW = 400    # lines from the first difference on are looked at
RUNS_MORE = 3  # of Massif, after a difference

SHORT_SETS = (
    "",
    "--time-unit=B --detailed-freq=1 --threshold=0 --depth=200 --fullpath-after=/none --fullpath-after=corpus/",
    "--stacks=yes",
    "--pages-as-heap=yes",
    "--trace-children=yes --max-snapshots=20",
    "--xtree-memory=full --xtree-memory-file=tree",
)

LONG_SETS = SHORT_SETS + (
    "--time-unit=B",
    "--depth=200 --show-below-main=yes --threshold=0.2",
    "--max-snapshots=10 --detailed-freq=3",
    "--heap-admin=0 --peak-inaccuracy=0 --detailed-freq=2",
    "--ignore-fn=main --detailed-freq=1 --max-snapshots=30",
    "--alloc-fn=main --alloc-fn=_IO_file_doallocate --ignore-fn=call_init --depth=3",
    "--alignment=64 --time-unit=B",
    "--stacks=yes --time-unit=B --max-snapshots=40 --detailed-freq=1",
    "--heap=no --stacks=yes",
    "--pages-as-heap=yes --time-unit=B --threshold=0.1 --depth=8",
    "--xtree-memory=full --xtree-memory-file=tree.ms --depth=5 --show-below-main=yes",
    "--xtree-memory=allocs --xtree-memory-file=tree --xtree-compress-strings=no",
    "--xtree-memory=full --xtree-memory-file=tree --trace-children=yes --alloc-fn=main --ignore-fn=call_init "
    "--depth=200",
)

# The files of the folder that every run starts in.
FILES = {
    "in.json": '{"a": [1, 2, {"b": "text"}], "c": {"d": [%s]}}\n' % ", ".join(str(n * n) for n in range(300)),
    "in.xml": "<r>%s</r>\n" % "".join('<e n="%d">t%d</e>' % (n, n % 7) for n in range(200)),
    "in.txt": "".join("line %d of %d, %s\n" % (n, n * n % 97, "abc" * (n % 5)) for n in range(400)),
    "in.sql": "create table t(a integer, b text);\n"
              + "".join("insert into t values(%d, 'v%d');\n" % (n, n % 13) for n in range(60))
              + "select b, count(*), sum(a) from t group by b order by 3 desc;\n",
    "in.py": "import json, re\nd = {str(i): list(range(i)) for i in range(120)}\n"
             "print(len(json.dumps(d)), len(re.findall(r'1.', json.dumps(d))))\n",
    "in.pl": "my %h; for my $i (1..800) { push @{$h{$i % 37}}, \"x\" x $i; }\n"
             "print scalar(keys %h), ' ', length(join('', map { @$_ } values %h)), \"\\n\";\n",
    "in.c": "".join("int f%d(int a, char *b) { return a * %d + b[a]; }\n" % (n, n) for n in range(40)),
    "in.bc": "scale=60; 4*a(1); for (i = 1; i < 40; i++) { x = x * 3 + i ^ 20 }; x; quit\n",
    "in.tcl": "for {set i 0} {$i < 300} {incr i} {lappend l([expr {$i % 7}]) $i}; puts [array size l]; exit\n",
    "in.sh": "x=0; for i in 1 2 3 4 5 6 7 8 9; do x=$((x + i)); done; echo $x; /bin/echo a | /usr/bin/tr a b\n",
}

# Real programs: name, command in that folder.
PROGRAMS = (
    ("python3", "python3 -P in.py"),  # without the times of the folder, which change with the results
    ("perl", "perl in.pl"),
    ("sqlite3", "sqlite3 -batch :memory: '.read in.sql'"),
    ("xmllint", "xmllint --format in.xml"),
    ("patch", "patch --version"),
    ("git", "git hash-object in.txt"),
    ("bash", "bash in.sh"),
    ("dash", "dash in.sh"),
    ("mawk", "mawk '{n[$2 % 9] += NF} END {for (k = 0; k < 9; k++) print k, n[k]}' in.txt"),
    ("sed", "sed -e 's/line/LINE/' -e '/9/d' in.txt"),
    ("gzip", "gzip -c in.txt"),
    ("sort", "sort -k2 -n in.txt"),
    ("ls", "ls -l /usr"),
    ("find", "find /usr/include/linux -name 'a*.h'"),
    ("tar", "tar cf - in.txt in.json"),
    ("make", "make --version"),
    ("gcc", "gcc --version"),
    ("comm", "comm in.txt in.sql"),
    ("readelf", "readelf -hd /bin/ls"),
    ("nm", "nm -D /bin/ls"),
    ("objdump", "objdump -p /bin/ls"),
    ("xz", "xz -c in.json"),
    ("jq", "jq -c .c in.json"),
    ("pipes", "bash -c 'for i in 1 2 3; do sort in.txt | sed -n ${i}p | tr a-z A-Z; done; "
              "(exit 3) || gzip -c in.sql | wc -c'"),
)

CORPUS = ("basic", "realloc", "fork", "threads", "new_basic", "deep", "custom_alloc_both_fast", "recurse", "signal",
          "ignored", "usable", "dl", "coroutine", "huge", "alloc_fns", "stdio", "inline_chain", "exceptions")


# Their threads run in another order now and then, under Massif alone as well.
UNSTEADY = ("corpus/threads",)


class Silent(Exception):
    """Massif itself gave up: it stops at an assertion where the sum of all stacks falls below zero."""


class Failure(Exception):
    """A tool failed: there is nothing to compare."""


def python_reads_maps():
    return subprocess.run(["python3", "-c", "import sys; sys.exit(sys.version_info < (3, 14))"],
                          env=ENVIRONMENT).returncode == 0


def programs(build, short):
    """(name, argv) of every program that is compared."""
    found = []
    for name in (("basic", "fork", "custom_alloc_both_fast") if short else CORPUS):
        case = next(c for c in corpus.CASES if c.name.split(":")[0] == name)
        found.append(("corpus/" + name, [str(build / arg) if (build / arg).is_file() else arg for arg in case.argv]))
    found.append(("deep_walk", [str(build / "tests/oracle/deep_walk"), "7", "600"]))
    if not short:
        found.append(("sections", [str(build / "tests/oracle/sections")]))
    for count in (6000,) if short else (3000, 6000, 70000):
        found.append(("page_table %d" % count, [str(build / "tests/oracle/page_table"), str(count)]))
    other = "python3" if python_reads_maps() else None
    for name, command in PROGRAMS:
        if name == other or short and name not in ("perl" if other else "python3", "bash"):
            continue
        if not shutil.which(command.split()[0], path=ENVIRONMENT["PATH"]):
            raise SystemExit("engine_oracle: %s is not installed (scripts/setup)" % command.split()[0])
        found.append((name, shlex.split(command)))
    return found


def run(command, folder):
    """Run a command; return its status and messages."""
    try:
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Failure("no end after %d s: %s" % (TIMEOUT_S, shlex.join(command)))
    return done.returncode, done.stderr.decode("utf-8", "replace").strip()


def by_pid(folder):
    """Files NAME.PID of a folder in the order of names and processes, and NAME.PID.2 behind NAME.PID."""
    return sorted(by_process(folder.iterdir()), key=lambda path: re.sub(r"\.\d.*", "", path.name))


def options_to(folder, option_set, end):
    """An option set with its files' names: `out` and a report's name, each with that end."""
    words = re.sub("(--xtree-memory-file=)([a-z.]+)", r"\g<1>%s/\g<2>%s" % (folder, end), option_set)
    return [*shlex.split(words), "--massif-out-file=%s/out%s" % (folder, end)]


def ways(option_set):
    """The recording that an option set needs."""
    words = []
    if "--stacks=yes" in option_set:
        words.append("--stacks=yes")
    if "--pages-as-heap=yes" in option_set:
        words.append("--pages")
    if "--trace-children=yes" in option_set:
        words.append("--trace-children=yes")
    if "--xtree-memory=full" in option_set:
        words.append("--free-stacks=yes")
    return tuple(words)


def lines_of(path, option_set):
    text = path.read_text("utf-8", "surrogateescape")
    if text.startswith("# callgrind format"):
        return callgrind_lines(text, Report("full" if "=full" in option_set else "allocs", "", None), None)
    unlike = ("desc:", "time=") if path.name.startswith("tree") else "desc:"    # reports have milliseconds
    return [line for line in text.split("\n") if not line.startswith(unlike)]


def difference(theirs, ours):
    """The lines that differ between two runs, each a status and the lines of its files."""
    if theirs[0] != ours[0]:
        return ["the program's status is %d under Massif and %d under msrec" % (theirs[0], ours[0])]
    if len(theirs[1]) != len(ours[1]):
        return ["Massif wrote %d files, we %d" % (len(theirs[1]), len(ours[1]))]
    lines = []
    for their, our in zip(theirs[1], ours[1]):
        equal = next((i for i, pair in enumerate(zip(their, our)) if pair[0] != pair[1]), min(len(their), len(our)))
        window = slice(max(0, equal - 2), equal + WINDOW)   # whole files would take minutes
        lines += difflib.unified_diff(their[window], our[window], "massif", "msreplay", lineterm="", n=1)
    return lines


class Oracle:
    def __init__(self, build, scratch):
        self.msrec = str(build / "trace-record/msrec")
        self.compat = installed_compat()
        self.msreplay = str(build / "analyze/msreplay")
        self.scratch = scratch
        self.work = scratch / "work"
        self.work.mkdir()
        for name, text in FILES.items():
            (self.work / name).write_text(text)
        self.recorded = {}

    def fresh(self, name):
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def massif(self, argv, option_set):
        folder = self.fresh("massif")
        # A process between, as msrec's own: shells keep their parent's number as text.
        status, said = run(["timeout", "--foreground", str(TIMEOUT_S), "valgrind", "-q", "--tool=massif",
                            *options_to(folder, option_set, ".%p"), *argv], self.work)
        files = by_pid(folder)
        if "Assertion" in said:     # in one of its processes
            raise Silent
        if not files:
            raise Failure("valgrind wrote nothing (status %d): %s" % (status, said))
        return status, files

    def traces(self, name, argv, words):
        """The traces of a program recorded that way, once."""
        if (name, words) not in self.recorded:
            folder = self.fresh("traces-%s-%s" % (name.replace("/", "-"), "-".join(words) or "plain"))
            status, said = run([self.msrec, "-q", "--engine=valgrind", *words, "-o", "%s/t.%%p" % folder, *argv],
                               self.work)
            if not any(folder.iterdir()):
                raise Failure("msrec wrote nothing (status %d): %s" % (status, said))
            self.recorded[name, words] = status, by_pid(folder)
        return self.recorded[name, words]

    def replay(self, traces, option_set):
        folder = self.fresh("replay")
        option_set = re.sub("--trace-children=[a-z]+", "", option_set)
        for trace in traces:
            end = trace.name[1:]
            status, said = run([self.msreplay, "--compat=" + self.compat, *options_to(folder, option_set, end),
                                str(trace)], self.work)
            if status != 0:
                raise Failure("msreplay: status %d: %s" % (status, said))
            # Massif writes nothing of a process that becomes another program.
            if "executed another program" in said:
                for path in [path for path in folder.iterdir() if path.name.endswith(end)]:
                    path.unlink()
        return by_pid(folder)

    def compare(self, name, argv, option_set):
        """(lines that differ, whether Massif differs from itself) of one program under one option set."""
        ours = self.ours(name, argv, option_set)
        theirs = self.theirs(argv, option_set)
        lines = difference(theirs, ours)
        if not lines:
            return lines, False
        # Threads may run in another order, or a process id may have more digits: then any of the answers is right.
        self.recorded.pop((name, ways(option_set)))
        ours = [ours, self.ours(name, argv, option_set)]
        others = [theirs] + [self.theirs(argv, option_set) for _ in range(RUNS_MORE)]
        if any(other in ours for other in others):
            return [], False
        return lines, name in UNSTEADY or any(other != theirs for other in others)

    def theirs(self, argv, option_set):
        status, files = self.massif(argv, option_set)
        return status, [lines_of(path, option_set) for path in files]

    def ours(self, name, argv, option_set):
        status, traces = self.traces(name, argv, ways(option_set))
        return status, [lines_of(path, option_set) for path in self.replay(traces, option_set)]


def main():
    # Programs that ask, as python3 does, go other ways where one is ignored; and timeout stops ignoring some.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_DFL)
    options = arguments(__doc__, ("--long", {"help": "all programs and all option sets"}),
                        ("--program", {"metavar": "REGEX", "help": "only programs whose name matches"}),
                        ("--set", {"metavar": "REGEX", "help": "only option sets that match somewhere"}),
                        ("--command", {"help": "this program instead, in a folder with the files in.*"}),
                        ("--keep", {"help": "work in this folder and leave it"}))
    build = options.build
    if not build.has("trace-record/valgrind/msrec-amd64-linux"):
        skip("msrec is built without its engine for Valgrind")
    scratch = options.keep or Path(tempfile.mkdtemp(prefix="engine-oracle-"))
    if options.keep:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
    oracle = Oracle(build, scratch)
    listed = [("command", shlex.split(options.command))] if options.command else programs(build, not options.long)
    chosen = [p for p in listed if not options.program or re.search(options.program, p[0])]
    sets = [s for s in (LONG_SETS if options.long else SHORT_SETS) if not options.set or re.search(options.set, s)]
    identical = excused = total = 0
    for name, argv in chosen:
        for option_set in sets:
            if name.startswith("page_table") and "pages" not in option_set:
                continue
            total += 1
            try:
                lines, unsteady = oracle.compare(name, argv, option_set)
            except Failure as failure:
                lines, unsteady = [str(failure)], False
            except Silent:
                lines, unsteady = ["Massif stops at an assertion"], True
            identical += not lines
            excused += bool(lines) and unsteady
            if lines:
                more = ["... %d more" % (len(lines) - DIFF_LINES)] if len(lines) > DIFF_LINES else []
                word = "EXCUSED  " if unsteady else "DIFFERENT"
                print("\n  ".join(["%s %s [%s]" % (word, name, option_set)] + lines[:DIFF_LINES] + more), flush=True)
    if not options.keep:
        shutil.rmtree(scratch)
    print("identical %d/%d (%d programs, %d option sets; in %d Massif's own runs differ, or end before their end)"
          % (identical, total, len(chosen), len(sets), excused))
    return 0 if total and identical + excused == total and excused <= total // 10 else 1


if __name__ == "__main__":
    sys.exit(main())
