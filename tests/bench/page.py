#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the page of msreport --html is: in headless Chromium, of traces or of programs, and beside heaptrack_gui.

  page.py --build DIR [--scale N] [--steps N] [--width N] [--gui] [--events N] [--folder DIR] [--output FILE]
          [TRACE|PROGRAM...]

`made` are CPU seconds of msreport --html, and how many times those of its full text, medians of pairs; `paint` and
`drawn` are milliseconds from the navigation to the first paint and to the whole page, medians of five. An interaction
lasts from the event to the end of the frame that shows it. Its CPU is that of the page's main thread: on a busy machine
that counts. Script, style and layout are means of it. A yardstick, a loop of fixed work, says how fast the machine was
meanwhile. 95 % of all interactions of all kinds don't take longer than said, those of the slowest kind than said in
parentheses. Memory is that of the scripts' heap and the private memory of the tab's process, after all interactions and
a garbage collection.

--gui records the same programs with heaptrack, too, and says how long heaptrack_gui loads that and what it takes.
--events adds the page of a long trace, made as in days.py; without names it is the only one. Programs are those
of workloads.py and programs.py. Prints Markdown. Needs python3-selenium, chromium and chromium-driver.
"""

import argparse
import datetime
import os
import platform
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../tools"), os.path.join(HERE, "../page")]
import machine                                            # noqa: E402
import programs                                           # noqa: E402
import viewer                                             # noqa: E402
import workloads                                          # noqa: E402
from browser import Browser, why_not                      # noqa: E402
from days import MILLION, MODEL, Run, generate            # noqa: E402
from harness import Build, Scratch, until               # noqa: E402

MIB = 1 << 20
SECTIONS = ("overview", "peak", "leaks", "growth", "steps", "churn", "savings", "sizes", "threads", "libraries",
            "functions", "lines", "errors", "rss", "types")
TASKS = "TaskDuration"
PARTS = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")     # of it
PAIRS, ENOUGH = 7, 10   # of runs that make the page, and CPU seconds of them, after which there are no more
LATER = 300     # ms until a page has done what follows behind a frame

with open(os.path.join(HERE, "page_steps.js"), encoding="utf-8") as script:
    STEPS = script.read()


def quantile(values, part):
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


def descendants(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            for child in file.read().split():
                found += [int(child), *descendants(int(child))]
    return found


def private_memory(browser):
    """MiB of the process that shows the page: the largest renderer."""
    most = 0
    for pid in descendants(browser.driver.service.process.pid):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"--type=renderer" not in file.read():
                continue
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            most = max(most, sum(int(line.split()[1]) for line in file if line.startswith("Private_")) * 1024)
    return most / MIB


def opened(browser, page):
    """Milliseconds until the first paint, and until all is drawn."""
    browser.open(page)
    paint = "return performance.getEntriesByName('first-contentful-paint').length"
    until(lambda: browser.settle() or browser.run(paint), 10)       # told behind the frame
    return browser.run("""return [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
        performance.getEntriesByName("drawn")[0].startTime];""")


class Kind:
    """One kind of interaction: milliseconds of each step, on the clock and of the main thread, and those of the
    thread with what followed."""

    def __init__(self, browser, name, steps):
        self.browser, self.name = browser, name
        self.wall, self.cpu, self.parts = [], [], dict.fromkeys(PARTS, 0)
        self.later("begin", name)
        begin = self.busy()
        for i in range(steps):
            self.later("again", name)
            before = self.worked()
            self.wall.append(self.later("step", name, i))
            after = self.worked()
            self.cpu.append(after[TASKS] - before[TASKS])
            for part in PARTS:
                self.parts[part] += (after[part] - before[part]) / steps
        browser.driver.execute_async_script(f"setTimeout(arguments[0], {LATER})")
        self.all = (self.busy() - begin) / steps

    def later(self, function, *values):
        return self.browser.driver.execute_async_script(f"interactions.{function}(...arguments)", *values)

    def worked(self):
        """Milliseconds of the main thread so far, by what it did."""
        metrics = self.browser.command("Performance.getMetrics")["metrics"]
        return {each["name"]: 1000 * each["value"] for each in metrics if each["name"] in (TASKS, *PARTS)}

    def busy(self):
        return self.worked()[TASKS]

    def row(self):
        figures = [f(values) for values in (self.wall, self.cpu)
                   for f in (statistics.median, lambda v: quantile(v, 0.95), max)]
        return "| " + " | ".join([self.name, *(f"{n:.0f}" for n in (*figures, *self.parts.values(), self.all))]) + " |"


def yardstick(kind):
    before = kind.busy()
    kind.browser.run("interactions.yardstick()")
    return kind.busy() - before


class Page:
    """A trace's page in a browser, measured."""

    def __init__(self, build, trace, name, folder, options):
        self.name, self.trace, self.path = name, trace, os.path.join(folder, name + ".html")
        self.events = build.stat(trace)["events"] / MILLION
        self.make(build.file("analyze/msreport"))
        with Browser(folder) as browser:
            browser.shape(width=options.width, height=1000)
            browser.command("Performance.enable", timeDomain="threadTicks")
            self.paint, self.drawn = (statistics.median(values) for values in
                                      zip(*(opened(browser, self.path) for _ in range(5))))
            self.nodes, self.buckets = browser.run("return [msrecPage.model.nodeCount, msrecPage.model.bucketCount];")
            browser.run(STEPS)
            names = browser.run("return interactions.names")
            self.kinds = [Kind(browser, name, options.steps) for name in names]
            self.yardstick = min(yardstick(self.kinds[0]) for _ in range(5))
            browser.run("interactions.end()")
            browser.settle()
            browser.command("HeapProfiler.collectGarbage")
            self.heap = browser.run("return performance.memory.usedJSHeapSize;") / MIB
            self.memory = private_memory(browser)

    def make(self, msreport):
        words, texts, pages = [msreport, "-q", "-j1"], [], []
        Run(words + [self.trace])       # names come from the cache from now on
        while not pages or len(pages) < PAIRS and sum(pages) < ENOUGH:
            texts.append(Run(words + [*SECTIONS, self.trace]).cpu)
            pages.append(Run(words + [f"--html={self.path}", self.trace]).cpu)
        self.made, self.times = statistics.median(pages), statistics.median(p / t for p, t in zip(pages, texts))

    def row(self):
        every = []
        for values in ([kind.wall for kind in self.kinds], [kind.cpu for kind in self.kinds]):
            slowest = max(quantile(of_kind, 0.95) for of_kind in values)
            every.append(f"{quantile([n for of_kind in values for n in of_kind], 0.95):.0f} ({slowest:.0f})")
        return [self.name, f"{self.events:.2f}", f"{self.nodes:,} × {self.buckets}",
                f"{os.path.getsize(self.path) / MIB:.2f}", f"{self.made:.2f} ({self.times:.2f} ×)",
                f"{self.paint:.0f}", f"{self.drawn:.0f}", *every, f"{self.heap:.0f}", f"{self.memory:.0f}"]

    def table(self):
        return [f"\n{self.name}, by interaction, ms; the yardstick took {self.yardstick:.0f} ms:\n",
                "| interaction | median | 95 % | most | CPU, median | 95 % | most | script | style | layout | "
                "with what follows |",
                "|---|" + "--:|" * 10, *(kind.row() for kind in self.kinds)]


def gui_row(workload, folder):
    path = viewer.record(workload, folder)
    if not path:
        return ["–"] * 4
    loading = viewer.load(path)
    return [f"{os.path.getsize(path) / MIB:.2f}", f"{loading.seconds:.1f}", f"{loading.cpu:.1f}", f"{loading.mib:.0f}"]


def recorded(build, workload, trace):
    with open(workload.stdin, encoding="utf-8") as stdin:
        Run([*getattr(workload, "drop", ()), build.msrec, "-q", "-f", "-o", trace, *workload.argv], stdin=stdin,
            cwd=workload.cwd, env=workload.environment())


def traces_of(build, folder, options):
    """Files as they are named, and recordings of programs: (trace, name, workload or None)."""
    for name in options.names:
        if os.path.exists(name):
            yield name, os.path.basename(name).removesuffix(".zst"), None
    names = [name for name in options.names if not os.path.exists(name)]
    alone = not names and (options.names or options.events)
    made = [] if alone else workloads.make(folder, options.scale, names)
    for workload in [*made, *programs.make(folder, options.scale, names)]:
        trace = os.path.join(folder, workload.name, "trace.zst")
        recorded(build, workload, trace)
        yield trace, workload.name, workload
    if options.events:
        own = os.path.join(folder, "long")
        os.mkdir(own)
        model, trace = os.path.join(own, "model.zst"), os.path.join(own, "long.zst")
        recorded(build, next(iter(workloads.make(own, 10, [MODEL]))), model)
        generate(build, model, trace, int(options.events))
        yield trace, f"{options.events / MILLION:,.0f} M calls", None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--scale", type=int, default=1, help="of the programs' inputs (1)")
    parser.add_argument("--steps", type=int, default=30, help="of each kind of interaction (30)")
    parser.add_argument("--width", type=int, default=1600, help="of the window (1600)")
    parser.add_argument("--gui", action="store_true", help="measure heaptrack_gui, too")
    parser.add_argument("--events", type=float, default=0, help="of a long trace; 0: none is made (0)")
    parser.add_argument("--folder", help="where the long trace is made: it takes a GB")
    parser.add_argument("--output", default="/dev/stdout")
    parser.add_argument("names", nargs="*", metavar="TRACE|PROGRAM")
    return parser.parse_args()


def main():
    options = arguments()
    if why_not():
        sys.exit(f"page.py: {why_not()}")
    if options.gui and not viewer.there():
        sys.exit("page.py: --gui needs heaptrack and heaptrack_gui")
    build, tables = Build(options.build), []
    columns = ["trace", "M events", "nodes × buckets", "page, MiB", "made, CPU s", "paint, ms", "drawn, ms",
               "95 %, ms", "95 %, CPU ms", "heap, MiB", "tab, MiB"]
    if options.gui:
        columns += ["heaptrack's file, MiB", "heaptrack_gui, s", "CPU s", "MiB"]
    text = [f"- {datetime.date.today().isoformat()}, {os.cpu_count()} cores, {machine.model()}, "
            f"Linux {platform.release()}, load when it began: {os.getloadavg()[0]:.1f}", "",
            "| " + " | ".join(columns) + " |", "|---|" + "--:|" * (len(columns) - 1)]
    if options.folder:
        os.environ["TMPDIR"] = options.folder
    with Scratch() as folder:
        os.chmod(folder, 0o755)     # some programs run as another user
        for trace, name, workload in traces_of(build, folder, options):
            page = Page(build, trace, name, folder, options)
            row = page.row()
            if options.gui:
                row += gui_row(workload, os.path.join(folder, name)) if workload else [""] * 4
            text.append("| " + " | ".join(row) + " |")
            print(text[-1], file=sys.stderr, flush=True)
            tables += page.table()
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("\n".join(text + tables) + "\n")


if __name__ == "__main__":
    main()
