#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the page of msreport --html is: in headless Chromium, of traces or of the benchmarks' programs.

  page.py --build DIR [--scale N] [--steps N] [--width N] [--output FILE] [TRACE|PROGRAM...]

`made` are seconds of msreport --html, and how many times those of its full text; `paint` and `drawn` are milliseconds
from the navigation to the first paint and to the whole page, medians of five. An interaction lasts from the event to
the end of the frame that shows it: medians, 95 % and the most of --steps of each kind. Memory is that of the scripts'
heap and the private memory of the tab's process, after all interactions and a garbage collection. Prints Markdown.

Needs python3-selenium, chromium and chromium-driver.
"""

import argparse
import datetime
import os
import platform
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../tools"), os.path.join(HERE, "../page")]
import machine                                            # noqa: E402
import workloads                                          # noqa: E402
from browser import Browser, why_not                      # noqa: E402
from days import record                                   # noqa: E402
from harness import Build, Scratch                        # noqa: E402

MIB = 1 << 20
SECTIONS = ("overview", "peak", "leaks", "growth", "steps", "churn", "sizes", "threads", "libraries", "functions",
            "lines", "errors", "rss")

# Runs in the page, the whole list without WebDriver.
with open(os.path.join(HERE, "page_steps.js"), encoding="utf-8") as script:
    MEASURE = script.read() + "measure(...arguments);"


def seconds_of(words):
    begin = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


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
    return browser.run("""return [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
        performance.getEntriesByName("drawn")[0].startTime];""")


def measure(build, trace, name, folder, options):
    msreport, page = build.file("analyze/msreport"), os.path.join(folder, name + ".html")
    seconds_of([msreport, "-q", trace])     # names come from the cache from now on
    text = min(seconds_of([msreport, "-q", *SECTIONS, trace]) for _ in range(3))
    made = min(seconds_of([msreport, "-q", f"--html={page}", trace]) for _ in range(3))
    with Browser(folder) as browser:
        browser.driver.set_script_timeout(900)
        browser.shape(width=options.width, height=1000)
        paint, drawn = (statistics.median(values) for values in zip(*(opened(browser, page) for _ in range(5))))
        nodes, buckets = browser.run("return [msrecPage.model.nodeCount, msrecPage.model.bucketCount];")
        found = browser.driver.execute_async_script(MEASURE, options.steps)
        if isinstance(found, str):
            raise SystemExit(f"{name}: {found}")
        browser.command("HeapProfiler.collectGarbage")
        heap = browser.run("return performance.memory.usedJSHeapSize;") / MIB
        memory = private_memory(browser)
    every = [value for values in found.values() for value in values]
    events = build.stat(trace)["events"] / 1e6
    row = [name, f"{events:.2f}", f"{nodes:,} × {buckets}", f"{os.path.getsize(page) / MIB:.2f}",
           f"{made:.2f} ({made / text:.2f} ×)",
           *(f"{n:.0f}" for n in (paint, drawn, quantile(every, 0.95), heap, memory))]
    return "| " + " | ".join(row) + " |", found


def interactions_table(name, found):
    lines = [f"\n{name}, by interaction, ms:\n", "| interaction | median | 95 % | most |", "|---|--:|--:|--:|"]
    for kind, values in found.items():
        lines.append(f"| {kind} | {statistics.median(values):.0f} | {quantile(values, 0.95):.0f} | {max(values):.0f} |")
    return lines


def traces_of(build, folder, options):
    """Files as they are named, and recordings of programs: (trace, name)."""
    for name in options.names:
        if os.path.exists(name):
            yield name, os.path.basename(name).removesuffix(".zst")
    programs = [name for name in options.names if not os.path.exists(name)]
    if programs or not options.names:
        for workload in workloads.make(folder, options.scale, programs):
            trace = os.path.join(folder, workload.name + ".zst")
            record(build, workload, trace)
            yield trace, workload.name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--scale", type=int, default=1, help="of the programs' inputs (1)")
    parser.add_argument("--steps", type=int, default=30, help="of each kind of interaction (30)")
    parser.add_argument("--width", type=int, default=1600, help="of the window (1600)")
    parser.add_argument("--output", default="/dev/stdout")
    parser.add_argument("names", nargs="*", metavar="TRACE|PROGRAM")
    options = parser.parse_args()
    if why_not():
        sys.exit(f"page.py: {why_not()}")
    build, tables = Build(options.build), []
    text = [f"- {datetime.date.today().isoformat()}, {os.cpu_count()} cores, {machine.model()}, "
            f"Linux {platform.release()}, load when it began: {os.getloadavg()[0]:.1f}", "",
            "| trace | M events | nodes × buckets | page, MiB | made, s | paint, ms | drawn, ms | 95 %, ms | "
            "heap, MiB | tab, MiB |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    with Scratch() as folder:
        for trace, name in traces_of(build, folder, options):
            row, found = measure(build, trace, name, folder, options)
            text.append(row)
            tables += interactions_table(name, found)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("\n".join(text + tables) + "\n")


if __name__ == "__main__":
    main()
