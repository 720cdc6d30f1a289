#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mswhatif beside real programs: the memory of players next to that of programs that really run with each allocator,
what a call costs in a player, and a trace of a hundred million calls.

  whatif.py --build DIR [--events N] [--scale N] [--rounds N] [--set VARIABLE=VALUE]... [--pace] [--advice]
            [--output FILE] [--more] [--run NAME=COMMAND]... [PROGRAM...]

The heap of a real program is its private memory without a file and without stacks, as /proc/PID/smaps has it, less
what the program maps by itself (real_heap.c): when exit handlers run; in another run, when most is live; and the
most, by the kernel's mark (VmHWM), or in polls of a millisecond. Its players' figures are those of mswhatif. A ratio
is that of the player to the program; a second one counts pages of the program's large blocks that it never touched,
too, since players touch all. What the trace says was resident (msrec --rss) is more than the player's: by code, data,
stacks and the recorder. This rest is the same when most was resident and in the last sample if the curves are. With
several rounds figures are medians.
Prints Markdown.
"""

import argparse
import array
import csv
import datetime
import json
import mmap
import os
import platform
import re
import shlex
import signal
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
import machine                                                          # noqa: E402
import workloads                                                        # noqa: E402
from days import MILLION, MODEL, Run, generate, record                  # noqa: E402
from harness import Build, Scratch, compiler, have, plain_environment        # noqa: E402

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
ALLOCATORS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
              "mimalloc": "libmimalloc.so.2"}
# struct notes of real_heap.c: seven numbers, ranges of mappings, ranges of blocks, two moments: four numbers and text.
HEAD, MAPS, BLOCKS, MOMENT, TEXT = 56, 8192, (1 << 14) * 8, 32, 1 << 20
PEAK_AT = HEAD + 16 * (MAPS + BLOCKS)
END_AT = PEAK_AT + MOMENT + TEXT
NOTES = END_AT + MOMENT + TEXT
PAGE = 4096
NEAR = 1.05
GROWN = 1.02        # pages are counted again when there is so much more of the heap
NEARLY = .998       # of what is live at most: the peak
KEYS = ("peak_resident_bytes", "end_resident_bytes", "live_peak_resident_bytes")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def heap_of(smaps):
    """Bytes of the mappings that can be a heap's."""
    total, counts = 0, False
    for line in smaps.splitlines():
        words = line.split()
        if len(words) >= 5 and "-" in words[0] and len(words[1]) == 4:
            counts = words[1] == "rw-p" and words[4] == "0" and "[stack" not in line
        elif counts and words and words[0] == "Anonymous:":
            total += int(words[1]) << 10
    return total


def workload_of(name, words):
    """A command with variables before it, as a shell has them."""
    n = next(i for i, word in enumerate(words) if "=" not in word)
    return workloads.Workload(name, words[n:], env=dict(word.split("=", 1) for word in words[:n]))


def more_programs(build, folder):
    """Programs of kinds that the usual ones are not; their inputs are made in `folder`."""
    def file(name, text):
        return workloads.write(os.path.join(folder, name), text)
    lines = "".join(f"line {i * 7919 % 100003} of many, {i}\n" for i in range(320000))
    text, short = file("lines", lines), file("short", lines[:2500000])
    line = file("line", "some words and more of them " * 90000 + "\n")
    page = file("page.ps", "/Helvetica findfont 12 scalefont setfont\n" + "".join(
        "".join(f"72 {700 - 14 * i} moveto (line {i} of page {n}) show\n" for i in range(40)) + "showpage\n"
        for n in range(20)))
    pdf = os.path.join(folder, "page.pdf")
    subprocess.run(["gs", "-q", "-o", pdf, "-sDEVICE=pdfwrite", page], check=True)
    targets = file("many.mk", "all: " + " ".join(f"t{i}" for i in range(8000)) + "\n" +
                   "".join(f"t{i}: t{i // 2}.c\n\techo $@\n" for i in range(8000)) +
                   "".join(f"t{i}.c:\n" for i in range(4000)))
    tcl = file("array.tcl", "for {set i 0} {$i < 120000} {incr i} { set a(k$i) [list $i value] }\n")
    man = file("text.tr", "".join(f".br\nParagraph {i} with some words that fill a line or two, and a bit more.\n"
                                  for i in range(12000)))
    sums = file("sums.bc", "for (i = 1; i < 3000; i++) { a[i] = 2 ^ i; s += a[i] % 1009 }\ns\nquit\n")
    words = {
        "mawk": ["mawk", "BEGIN { for (i = 0; i < 300000; i++) a[i] = i }"],
        "gawk": ["gawk", 'BEGIN { for (i = 0; i < 100000; i++) a["k" i] = "value " i }'],
        "lua": ["lua", "-e", "t = {} for i = 1, 200000 do t['k' .. i] = {i} end"],
        "tclsh": ["tclsh", tcl],
        "make": ["make", "-n", "-f", targets],
        "troff": ["troff", man],
        "pdftotext": ["pdftotext", pdf, "/dev/null"],
        "bc": ["bc", sums],
        "R": ["R_HOME=/usr/lib/R", "/usr/lib/R/bin/exec/R", "--vanilla", "--no-echo", "-e",
              "d <- data.frame(g = 1:200000 %% 97, x = sqrt(1:200000)); m <- aggregate(x ~ g, d, mean); lm(x ~ g, d)"],
        "php": ["USE_ZEND_ALLOC=0", "php", "-n", "-r",
                "$a = []; for ($i = 0; $i < 100000; $i++) $a['k' . $i] = [$i, 'v' . $i];"],
        "gs": ["gs", "-q", "-dNOPAUSE", "-dBATCH", "-sDEVICE=ppmraw", "-o", "/dev/null", page],
        "xz": ["xz", "-1", "-T2", "-c", short],
        "zstd": ["zstd", "-T2", "-c", short],
        "sed": ["sed", "s/more/less/g", line],
        "sort": ["sort", text],
        "ruby": ["ruby", "-e", 'h = {}; 150000.times { |i| h["k#{i}"] = i.to_s }'],
        "gdb": ["gdb", "-batch", "-ex", "info functions ^report", build.file("analyze/msreport")],
        "node": ["node", "-e", 'const m = new Map(); for (let i = 0; i < 300000; i++) m.set("k" + i, {i})'],
    }
    return [workload_of(name, command) for name, command in words.items()
            if have(next(word for word in command if "=" not in word))]


def most_of(status, end):
    """Of a heap that has `end` bytes now, by the kernel's marks; what else is resident counts as it is now."""
    marks = {line.split(":")[0]: int(line.split()[1]) << 10 for line in status.splitlines() if line.endswith(" kB")}
    return marks["VmHWM"] - marks["RssFile"] - marks["RssShmem"] - (marks["RssAnon"] - end)


class Heap:
    """What a real process has, in bytes: all of its heap, what of it it has mapped by itself, and what of its large
    blocks it hasn't touched."""

    def __init__(self, whole=0, own=0, unused=0, ns=0):
        self.whole, self.own, self.unused, self.ns = whole, own, unused, ns

    @property
    def allocators(self):
        return max(self.whole - self.own, 0)


class Notes:
    """The file that a real program shares with this script; see real_heap.c."""

    def __init__(self, path):
        with open(path, "w+b") as f:
            f.truncate(NOTES)
            self.memory = mmap.mmap(f.fileno(), NOTES)

    def ranges(self, at, n):
        numbers = array.array("Q", self.memory[at:at + 16 * n])
        return [(begin, end) for begin, end in zip(numbers[::2], numbers[1::2]) if begin]

    @staticmethod
    def pages(pagemap, ranges, wanted):
        n = 0
        for begin, end in ranges:
            if end > begin:
                entries = array.array("Q", os.pread(pagemap, 8 * (end - begin), 8 * begin))
                n += sum((entry >> 62 != 0 and not entry >> 61 & 1) if wanted else entry >> 62 == 0
                         for entry in entries)
        return n * PAGE

    def count(self, pid):
        """The Heap of a process that runs; it stands still meanwhile."""
        os.kill(pid, signal.SIGSTOP)
        try:
            while read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] not in "TZX":
                time.sleep(0.0001)
            return self.count_now(pid)
        finally:
            os.kill(pid, signal.SIGCONT)

    def count_now(self, pid):
        whole = heap_of(read(f"/proc/{pid}/smaps"))
        n_maps = struct.unpack_from("Q", self.memory, 8)[0]
        maps = [(begin // PAGE, end // PAGE) for begin, end in self.ranges(HEAD, n_maps)]
        blocks = [(-(-begin // PAGE), end // PAGE) for begin, end in self.ranges(HEAD + 16 * MAPS, BLOCKS)]
        pagemap = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY)
        try:
            return Heap(whole, self.pages(pagemap, maps, True), self.pages(pagemap, blocks, False))
        finally:
            os.close(pagemap)

    def moment(self, at):
        """(what the kernel says of the process then, its Heap)"""
        own, unused, ns, n = struct.unpack_from("4Q", self.memory, at)
        text = self.memory[at + MOMENT:at + MOMENT + n].decode(errors="replace")
        return text, Heap(heap_of(text), own, unused, ns)

    def most_live(self):
        _, _, lost_maps, lost_blocks, most = struct.unpack_from("5Q", self.memory)
        if lost_maps or lost_blocks:
            print(f"lost: {lost_maps} mappings, {lost_blocks} blocks", file=sys.stderr)
        return most


class Bench:
    def __init__(self, options, folder):
        self.build, self.folder, self.scale, self.rounds = options.build, folder, options.scale, options.rounds
        self.pace = options.pace
        self.settings = dict(word.split("=", 1) for word in options.set or [])
        self.library, self.no_allocator, self.trim = (self.compile(name) for name in
                                                      ("real_heap", "no_allocator", "trim_every"))

    def compile(self, name):
        library = os.path.join(self.folder, name + ".so")
        subprocess.run([*compiler(), "-shared", "-fPIC", "-O2", "-fno-builtin", "-D_GNU_SOURCE", "-o", library,
                        os.path.join(HERE, name + ".c"), "-ldl"], check=True)
        return library

    def programs(self, names):
        own = os.path.join(self.folder, "programs")
        os.mkdir(own)
        made = [w for w in workloads.make(own, self.scale) if not names or w.name in names]
        for name, words in {"pins": ["corpus/fragments", "pins"], "arenas": ["corpus/fragments", "arenas"],
                            "turns": ["tests/cli/whatif_program", "turns", "200000"]}.items():
            if not names or name in names:
                made.append(workloads.Workload(name, [self.build.file(words[0]), *words[1:]]))
        return made

    def start(self, workload, allocator, **more):
        """A real program, with the allocator of a name or of a path, and the Notes of it."""
        path, library = os.path.join(self.folder, "notes"), ALLOCATORS.get(allocator, allocator)
        notes = Notes(path)
        preload = ":".join([self.library] + ([os.path.join(LIBRARIES, library)] if library else []))
        with open(workload.stdin) as stdin:
            process = subprocess.Popen(workload.argv, stdin=stdin, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, cwd=workload.cwd,
                                       env=workload.environment(LD_PRELOAD=preload, REAL_HEAP=path, **self.settings,
                                                                **more))
        return process, notes

    def real(self, workload, allocator, **more):
        """(Heap when most was there, Heap at the end, Heap when most was live) of real runs; None if one failed. What
        is unused of the first is what the most would be above it, at whatever moment, if all of the blocks were
        used."""
        process, notes = self.start(workload, allocator, **more)
        most, counted, wholly = Heap(), 0, 0
        while process.poll() is None:
            try:
                whole = heap_of(read(f"/proc/{process.pid}/smaps"))
                if whole > GROWN * counted:
                    counted = whole
                    heap = notes.count(process.pid)
                    most = max(most, heap, key=lambda heap: heap.allocators)
                    wholly = max(wholly, heap.allocators + heap.unused)
            except OSError:
                pass
            time.sleep(0.001)
        polled, end = notes.moment(END_AT)
        if process.returncode < 0 or not polled:
            return None
        # The mark is of a moment that isn't known, so as much is taken for the program's own as ever was.
        mark = Heap(most_of(polled, end.whole), max(most.own, end.own))
        peak, end = self.unpolled(workload, allocator, int(notes.most_live() * NEARLY), **more)
        highest = max(most, end, mark, peak, key=lambda heap: heap.allocators)
        wholly = max(wholly, *(heap.allocators + heap.unused for heap in (end, peak)), highest.allocators)
        return Heap(highest.whole, highest.own, wholly - highest.allocators), end, peak

    def unpolled(self, workload, allocator, live, **more):
        """The Heaps of a run that isn't delayed: when so much is live, or at the end if it never is, and at the end."""
        process, notes = self.start(workload, allocator, REAL_HEAP_PEAK=str(live), **more)
        process.wait()
        text, heap = notes.moment(PEAK_AT)
        _, end = notes.moment(END_AT)
        return heap if text else end, end

    def memory(self, trace):
        """(time, bytes resident) of the recording's samples."""
        done = subprocess.run([self.build.file("analyze/msconvert"), "-q", "--to=csv-rss", "-o", "-", trace],
                              capture_output=True, text=True, check=True)
        return [(int(row["time_ns"]), int(row["resident_bytes"])) for row in csv.DictReader(done.stdout.splitlines())]

    def own_cost(self, trace):
        """Nanoseconds of the processor that a player takes for a call beside the allocator: the least of three runs."""
        costs = []
        for _ in range(3):
            done = subprocess.run([self.build.file("analyze/mswhatif"), "-q", "--no-blame", "--format=json",
                                   "--allocator=" + self.no_allocator, trace], capture_output=True, check=True)
            [run] = json.loads(done.stdout)["sections"]["whatif"]["runs"]
            costs.append((run["cpu_ns"] - run["touch_ns"]) / run["calls"])
        return min(costs)

    def played(self, trace, real):
        """mswhatif's answer, with its runs by allocator; with --pace each is as fast as the `real` one."""
        whatif = self.ask(trace, ",".join(ALLOCATORS))
        for allocator, heaps in real.items():
            if self.pace and heaps:
                pace = whatif["curves"][-1]["time_ns"] / heaps[1].ns
                whatif["runs"].update(self.ask(trace, allocator, f"--pace={pace:.4f}")["runs"])
        return whatif

    def advised(self, trace):
        """(how mswhatif describes an advice, all runs, whether it is of the peak, and of the end)"""
        done = subprocess.run([self.build.file("analyze/mswhatif"), "-q", "--no-blame", "--format=json", "--top=9999",
                               trace], capture_output=True, check=True)
        whatif = json.loads(done.stdout)["sections"]["whatif"]
        for note in whatif["notes"]:
            words, colon, change = note.partition(": ")
            if colon and change.startswith(("peak RSS", "at the end")):
                yield words, whatif["runs"], "peak RSS" in change, "at the end" in change

    def follow(self, workload, words):
        """Real runs that follow an advice, whose words are LD_PRELOAD=, variables, or malloc_trim(0) every TIME."""
        library, variables = None, {}
        if words.startswith("malloc_trim(0) every "):
            library = self.trim
            number, unit = re.fullmatch(r"malloc_trim\(0\) every (\d+)(m?s)", words).groups()
            variables["TRIM_EVERY"] = str(int(number) * (1 if unit == "ms" else 1000))
        elif words != "glibc":
            variables = dict(word.split("=", 1) for word in words.split())
            library = variables.pop("LD_PRELOAD", None)
        return self.real(workload, library, **variables)

    def ask(self, trace, allocators, *options):
        words = " ".join(f"{name}={value}" for name, value in self.settings.items())
        done = subprocess.run([self.build.file("analyze/mswhatif"), "-q", "--no-blame", "--format=json", "--top=9999",
                               "--allocator=" + allocators, *options, *(["--set=" + words] if words else []), trace],
                              capture_output=True, check=True)
        whatif = json.loads(done.stdout)["sections"]["whatif"]
        plain, given = ({run["allocator"]: run for run in whatif["runs"] if run["settings"] == settings}
                        for settings in ("", words))
        whatif["runs"] = {**plain, **given}
        return whatif


def middle(values):
    """The median; of an even number the higher one of the middle."""
    values = sorted(values)
    return values[len(values) // 2]


def show(played, real, moment):
    """MiB of players; beside it the ratio to real programs, and, where that isn't near 1, the ratio to what these would
    take if they used their blocks wholly."""
    most = middle(played)
    mib = f"{most / 2 ** 20:.1f}"
    if not real:
        return f"{mib} (–)"
    heaps = [each[moment] for each in real]
    plain = most / max(middle(heap.allocators for heap in heaps), 1)
    whole = most / max(middle(heap.allocators + heap.unused for heap in heaps), 1)
    return f"{mib} ({plain:.2f})" if plain < NEAR or plain - whole < .02 else f"{mib} ({plain:.2f}, {whole:.2f})"


def spread(values):
    return f"{min(values) / 2 ** 20:.1f} to {max(values) / 2 ** 20:.1f}"


class Row:
    """A program: what its players and it itself took with each allocator, in each round."""

    def __init__(self, bench, workload):
        self.name, self.played, self.real = workload.name, [], {allocator: [] for allocator in ALLOCATORS}
        self.recorded = None
        trace = os.path.join(bench.folder, "t.zst")
        for _ in range(bench.rounds):
            record(bench.build, workload, trace)
            real = {allocator: bench.real(workload, allocator) for allocator in ALLOCATORS}
            for allocator, heaps in real.items():
                self.real[allocator].append(heaps)
            self.played.append(bench.played(trace, real))
            self.recorded = self.rest(bench.memory(trace))
        self.own_cost = bench.own_cost(trace)
        print(self.name, self.facts(), self.recorded, sep="\n  ", file=sys.stderr)
        for allocator in ALLOCATORS:
            cells = ", ".join(self.cell(allocator, moment) for moment in range(3))
            print(f"  {allocator}: {cells}; {self.spreads(allocator)}", file=sys.stderr, flush=True)

    def rest(self, samples):
        """Bytes: most that was resident in samples of the recording; beyond the player with glibc then, and at last."""
        if not samples:
            return None
        curve = [(row["time_ns"], row["resident_bytes"]) for row in self.played[-1]["curves"]
                 if row["allocator"] == "glibc" and row["settings"] == ""]

        def beyond(sample):
            return sample[1] - min(curve, key=lambda point: abs(point[0] - sample[0]))[1]
        most = max(samples, key=lambda sample: sample[1])
        return most[1], beyond(most), beyond(samples[-1])

    def runs(self, allocator):
        return [played["runs"][allocator] for played in self.played if allocator in played["runs"]]

    def figures(self, allocator, moment):
        """Bytes of players, and Heaps of the programs that didn't fail."""
        played = [run[KEYS[moment]] or 0 for run in self.runs(allocator)]
        return played, [heaps for heaps in self.real[allocator] if heaps]

    def cell(self, allocator, moment):
        played, real = self.figures(allocator, moment)
        return show(played, real, moment) if played else ""

    def spreads(self, allocator):
        texts = []
        for moment in (0, 1, 2):
            played, real = self.figures(allocator, moment)
            if real and played:
                texts += [spread([heaps[moment].allocators for heaps in real]), spread(played)]
        return f"{allocator}: " + ", ".join(texts)

    def cost(self, allocator):
        """Nanoseconds of a call in the allocator, on the clock on the wall."""
        costs = [run["call_ns"] / run["calls"] for run in self.runs(allocator) if run["calls"]]
        return f"{min(costs):.0f}" if costs else ""

    def facts(self, moment=0):
        """Threads, MiB live, and of the real program with glibc: mapped by itself, and of blocks not touched."""
        real = self.figures("glibc", 0)[1]
        own, unused = ((f"{middle(values) / 2 ** 20:.1f}" if real else "–")
                       for values in ([each[moment].own for each in real], [each[moment].unused for each in real]))
        return [str(self.played[0]["threads"]), f"{self.played[0]['live_peak_bytes'] / 2 ** 20:.1f}", own, unused]


def table(columns, rows):
    lines = ["| " + " | ".join(["program", *columns, *ALLOCATORS]) + " |",
             "|---|" + "--:|" * (len(columns) + len(ALLOCATORS))]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def reality(bench, programs):
    rows = [Row(bench, workload) for workload in programs]
    lines = ["Most resident, MiB:", "",
             *table(["threads", "live", "own maps", "unused"],
                    [[row.name, *row.facts(), *(row.cell(a, 0) for a in ALLOCATORS)] for row in rows]),
             "Resident when most is live:", "",
             *table(["own maps", "unused"],
                    [[row.name, *row.facts(2)[2:], *(row.cell(a, 2) for a in ALLOCATORS)] for row in rows]),
             "Resident at the end:", "",
             *table([], [[row.name, *(row.cell(a, 1) for a in ALLOCATORS)] for row in rows]),
             "Resident in the recording, MiB, and beyond the player with glibc:", "",
             "| program | recorded | beyond, at the peak | beyond, at the end |", "|---|--:|--:|--:|",
             *("| " + " | ".join([row.name, *(f"{n / 2 ** 20:.1f}" for n in row.recorded)]) + " |"
               for row in rows if row.recorded), "",
             "Nanoseconds a call, of the player itself and in the allocator:", "",
             *table(["calls", "player"], [[row.name, f"{row.runs('glibc')[0]['calls']:,}", f"{row.own_cost:.0f}",
                                           *(row.cost(a) for a in ALLOCATORS)] for row in rows])]
    if bench.rounds > 1:
        lines += ["Real and players: most, at the end, when most is live:", ""]
        lines += [f"* {row.name}, {row.spreads(allocator)}" for row in rows for allocator in ALLOCATORS]
    return lines


def run_of(runs, words):
    """The run that an advice describes."""
    if words.startswith("malloc_trim(0) every "):
        return next(run for run in runs if run["settings"] == "malloc_trim=" + words.rpartition(" ")[2])
    first, _, rest = words.partition(" ")
    if words == "glibc":
        return next(run for run in runs if run["allocator"] == "glibc" and not run["settings"])
    if not first.startswith("LD_PRELOAD="):
        return next(run for run in runs if run["allocator"] == "glibc" and run["settings"] == words)
    return next(run for run in runs if run["settings"] == rest and run["allocator"] in first)


def share(before, after):
    return f"{(before - after) / before * 100:.0f} %"


def advice(bench, programs):
    """What each advice promises, and what real programs get that follow it: shares of the peak and of the end."""
    lines = ["| program | advice | peak: promised | got | at the end: promised | got |", "|---|---|--:|--:|--:|--:|"]
    trace = os.path.join(bench.folder, "t.zst")
    for workload in programs:
        record(bench.build, workload, trace)
        before = None
        for words, runs, of_peak, of_end in bench.advised(trace):
            before = before or bench.real(workload, "glibc")
            after, run = bench.follow(workload, words), run_of(runs, words)
            cells = []
            for moment, wanted in enumerate((of_peak, of_end)):
                promised = share(runs[0][KEYS[moment]], run[KEYS[moment]])
                got = share(before[moment].allocators, after[moment].allocators) if after else "–"
                cells += [promised, got] if wanted else ["", ""]
            lines.append("| " + " | ".join([workload.name, f"`{words}`", *cells]) + " |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def long_trace(bench, events):
    model, trace = os.path.join(bench.folder, "model.zst"), os.path.join(bench.folder, "long.zst")
    own = os.path.join(bench.folder, "long")
    os.mkdir(own)
    record(bench.build, next(iter(workloads.make(own, 1, [MODEL]))), model)
    lines = ["| calls | wall, s | ns a call | MiB of mswhatif |", "|--:|--:|--:|--:|"]
    for n in (events // 10, events):
        generate(bench.build, model, trace, n)
        run = Run([bench.build.file("analyze/mswhatif"), "-q", "--no-blame", "--allocator=jemalloc", trace],
                  env=plain_environment())
        lines.append(f"| {n:,} | {run.wall:.1f} | {run.wall / n * 1e9:.0f} | {run.mib:.0f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Build)
    parser.add_argument("--events", type=float, default=100 * MILLION, help="of the long trace; 0: none")
    parser.add_argument("--scale", type=int, default=3, help="of the programs' inputs (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="recordings, and real runs with each allocator")
    parser.add_argument("--set", action="append", metavar="VARIABLE=VALUE", help="of allocators, played and real")
    parser.add_argument("--advice", action="store_true", help="real programs follow the advice of mswhatif")
    parser.add_argument("--pace", action="store_true", help="players are as fast as the real runs")
    parser.add_argument("--output", default="/dev/stdout")
    parser.add_argument("--more", action="store_true", help="instead of the usual programs, twenty of other kinds")
    parser.add_argument("--run", action="append", type=lambda text: text.split("=", 1), metavar="NAME=COMMAND",
                        help="instead of the usual programs")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    with Scratch() as folder:
        bench = Bench(options, folder)
        if options.more:
            made = more_programs(options.build, folder)
        elif options.run:
            made = [workload_of(name, shlex.split(words)) for name, words in options.run]
        else:
            made = bench.programs(options.programs)
        made = [w for w in made if not options.programs or w.name in options.programs]
        lines = advice(bench, made) if options.advice else reality(bench, made)
        if options.events:
            lines += ["", *long_trace(bench, int(options.events))]
    with open(options.output, "w", encoding="utf-8") as f:
        f.write("\n".join([f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores, {machine.model()}, Linux "
                           f"{platform.release()}, load {os.getloadavg()[0]:.1f} when it ended.", "", *lines]) + "\n")


if __name__ == "__main__":
    main()
