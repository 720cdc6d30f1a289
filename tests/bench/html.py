#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What msreport's page costs, next to the text of all sections, over recordings of real programs and over long traces.

  html.py --build DIR [--scale N] [--runs N] [--events N] [--folder DIR] [--output FILE] [PROGRAM...]

Times are CPU seconds of whole commands with one thread that decodes, the least of the runs, names from the cache of an
earlier run; paired. The long trace is made as in days.py. Prints Markdown.
"""

import datetime
import os
import platform
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../tools")]
import machine                                            # noqa: E402
import page_data                                          # noqa: E402
import workloads                                          # noqa: E402
from days import MILLION, Run, generate, options_of, record    # noqa: E402
from harness import Build, Scratch                        # noqa: E402

SECTIONS = ("overview", "peak", "leaks", "growth", "steps", "churn", "savings", "sizes", "threads", "libraries",
            "functions", "lines", "errors", "rss", "types")
BUDGET = 1.5    # times the text's


def row(build, name, trace, folder, runs):
    msreport, html = [build.file("analyze/msreport"), "-q", "-j1"], os.path.join(folder, "page.html")
    Run(msreport + [*SECTIONS, trace])  # names come from the cache from now on
    text, page = [], []
    for _ in range(runs):
        text.append(Run(msreport + [*SECTIONS, trace]))
        page.append(Run(msreport + [f"--html={html}", trace]))
    ours, theirs = min(run.cpu for run in page), min(run.cpu for run in text)
    read = page_data.Page(html)
    events = build.stat(trace)["events"] / MILLION
    line = (f"| {name} | {events:.2f} | {theirs:.2f} | {ours:.2f} | {ours / theirs:.2f} | "
            f"{max(run.mib for run in page):.0f} | {os.path.getsize(html) / 1000:.0f} | {read.n:,} of {read.n_all:,} | "
            f"{len(read.came):,} |")
    print(line, file=sys.stderr, flush=True)
    return line


def main():
    options = options_of(__doc__, runs=3)
    build = Build(options.build)
    lines = [f"- {datetime.date.today().isoformat()}, {os.cpu_count()} cores, {machine.model()}, "
             f"Linux {platform.release()}, load when it began: {os.getloadavg()[0]:.1f}", "",
             "| program | M calls | text, CPU s | page, CPU s | times | MiB | kB of HTML | nodes | cells |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    with Scratch() as folder:
        for workload in workloads.make(folder, options.scale, options.names):
            trace = os.path.join(folder, workload.name + ".zst")
            record(build, workload, trace)
            lines.append(row(build, workload.name, trace, folder, options.runs))
        if options.events:
            model, trace = os.path.join(folder, "model.zst"), os.path.join(folder, "long.zst")
            os.mkdir(os.path.join(folder, "model"))
            record(build, next(iter(workloads.make(os.path.join(folder, "model"), 10, ["cc1plus"]))), model)
            generate(build, model, trace, int(options.events))
            lines.append(row(build, "of days", trace, folder, 1))
    with open(options.output, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + f"\n\nThe budget is {BUDGET} times the text.\n")


if __name__ == "__main__":
    main()
