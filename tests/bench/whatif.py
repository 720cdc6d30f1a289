#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mswhatif beside real programs: the memory of players next to that of programs that really run with each allocator,
what a call costs in a player, and a trace of a hundred million calls.

  whatif.py --build DIR [--events N] [--scale N] [--output FILE] [--run NAME=COMMAND]... [PROGRAM...]

The heap of a real program is its private memory without a file and without stacks, as /proc/PID/smaps has it: what a
preloaded library sees when exit handlers run; and the most, by the kernel's mark (VmHWM) less what isn't heap then, or
in polls of a millisecond. Its players' figures are those of mswhatif. A ratio is that of the player to the program.
Prints Markdown.
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
import machine                                                          # noqa: E402
import workloads                                                        # noqa: E402
from days import MILLION, MODEL, Run, generate, record                  # noqa: E402
from harness import Build, Scratch, compiler, plain_environment         # noqa: E402

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
ALLOCATORS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
              "mimalloc": "libmimalloc.so.2"}
AT_EXIT = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char text[1 << 16], name[256];
__attribute__((constructor)) static void note_name(void)
{
	const char *given = getenv("AT_EXIT"); /* programs that set their title overwrite it */
	strncpy(name, given ? given : "", sizeof(name) - 1);
}
__attribute__((destructor)) static void write_maps(void)
{
	const int from[] = { open("/proc/self/status", O_RDONLY), open("/proc/self/smaps", O_RDONLY) };
	const int to = *name ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	for (int i = 0; i < 2 && to >= 0; i++)
		for (ssize_t n; from[i] >= 0 && (n = read(from[i], text, sizeof(text))) > 0;)
			if (write(to, text, (size_t)n) != n)
				return;
}
"""


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


def most_of(status, end):
    """Of a heap that has `end` bytes now, by the kernel's marks; what else is resident counts as it is now."""
    marks = {line.split(":")[0]: int(line.split()[1]) << 10 for line in status.splitlines() if line.endswith(" kB")}
    return marks["VmHWM"] - marks["RssFile"] - marks["RssShmem"] - (marks["RssAnon"] - end)


class Bench:
    def __init__(self, options, folder):
        self.build, self.folder, self.scale = options.build, folder, options.scale
        source, self.at_exit = (os.path.join(folder, "at_exit" + end) for end in (".c", ".so"))
        workloads.write(source, AT_EXIT)
        subprocess.run([*compiler(), "-shared", "-fPIC", "-O2", "-o", self.at_exit, source], check=True)

    def programs(self, names, commands):
        if commands:
            return [workload_of(name, shlex.split(words)) for name, words in commands]
        own = os.path.join(self.folder, "programs")
        os.mkdir(own)
        made = [w for w in workloads.make(own, self.scale) if not names or w.name in names]
        for name, words in {"pins": ["corpus/fragments", "pins"], "arenas": ["corpus/fragments", "arenas"],
                            "turns": ["tests/cli/whatif_program", "turns", "200000"]}.items():
            if not names or name in names:
                made.append(workloads.Workload(name, [self.build.file(words[0]), *words[1:]]))
        return made

    def real(self, workload, allocator):
        """(most, at the end) of the heap of a real run."""
        maps, library = os.path.join(self.folder, "maps"), ALLOCATORS[allocator]
        if os.path.exists(maps):
            os.remove(maps)
        preload = ":".join([self.at_exit] + ([os.path.join(LIBRARIES, library)] if library else []))
        with open(workload.stdin) as stdin:
            process = subprocess.Popen(workload.argv, stdin=stdin, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, cwd=workload.cwd,
                                       env=workload.environment(LD_PRELOAD=preload, AT_EXIT=maps))
        most = 0
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/smaps") as f:
                    most = max(most, heap_of(f.read()))
            except OSError:
                pass
            time.sleep(0.001)
        try:
            with open(maps) as f:
                text = f.read()
            end = heap_of(text)
            most = max(most, most_of(text, end))
        except OSError:
            end = 0
        return max(most, end), end

    def played(self, trace):
        done = subprocess.run([self.build.file("analyze/mswhatif"), "-q", "--no-blame", "--format=json", "--top=99",
                               "--allocator=" + ",".join(ALLOCATORS), trace], capture_output=True, check=True)
        return json.loads(done.stdout)["sections"]["whatif"]


def show(played, real):
    mib = f"{played / 2 ** 20:.1f}"
    return f"{mib} ({played / real:.2f})" if real else f"{mib} (–)"


def reality(bench, names, commands):
    rows, costs = [], []
    for workload in bench.programs(names, commands):
        trace = os.path.join(bench.folder, "t.zst")
        record(bench.build, workload, trace)
        whatif = bench.played(trace)
        cells = []
        for run in whatif["runs"]:
            most, end = bench.real(workload, run["allocator"])
            cells.append((run["allocator"], show(run["peak_resident_bytes"], most),
                          show(run["end_resident_bytes"], end)))
            calls = run["calls"]
            costs.append((workload.name, run["allocator"], calls, run["call_ns"] / calls,
                          (run["cpu_ns"] - run["call_ns"] - run["touch_ns"]) / calls))
        cells.sort(key=lambda cell: list(ALLOCATORS).index(cell[0]))
        rows.append((workload.name, whatif["threads"], whatif["live_peak_bytes"], cells))
        print(rows[-1], file=sys.stderr, flush=True)
    lines = ["Most resident, MiB (ratio to the real program):", "",
             "| program | threads | live | " + " | ".join(ALLOCATORS) + " |",
             "|---|--:|--:|" + "--:|" * len(ALLOCATORS)]
    lines += [f"| {name} | {threads} | {live / 2 ** 20:.1f} | " + " | ".join(cell[1] for cell in cells) + " |"
              for name, threads, live, cells in rows]
    lines += ["", "Resident at the end:", "", "| program | " + " | ".join(ALLOCATORS) + " |",
              "|---|" + "--:|" * len(ALLOCATORS)]
    lines += [f"| {name} | " + " | ".join(cell[2] for cell in cells) + " |" for name, _, _, cells in rows]
    lines += ["", "Nanoseconds a call, in the allocator and beside it:", "",
              "| program | calls | " + " | ".join(ALLOCATORS) + " |", "|---|--:|" + "--:|" * len(ALLOCATORS)]
    for name, _, _, _ in rows:
        own = {cost[1]: cost for cost in costs if cost[0] == name}
        lines.append(f"| {name} | {own['glibc'][2]:,} | " +
                     " | ".join(f"{own[a][3]:.0f} + {own[a][4]:.0f}" for a in ALLOCATORS) + " |")
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
    parser.add_argument("--output", default="/dev/stdout")
    parser.add_argument("--run", action="append", type=lambda text: text.split("=", 1), metavar="NAME=COMMAND",
                        help="instead of the usual programs")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    with Scratch() as folder:
        bench = Bench(options, folder)
        lines = reality(bench, options.programs, options.run)
        if options.events:
            lines += ["", *long_trace(bench, int(options.events))]
    with open(options.output, "w", encoding="utf-8") as f:
        f.write("\n".join([f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores, {machine.model()}, Linux "
                           f"{platform.release()}, load {os.getloadavg()[0]:.1f} when it ended.", "", *lines]) + "\n")


if __name__ == "__main__":
    main()
