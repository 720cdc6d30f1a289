# SPDX-License-Identifier: MIT
"""Figures of an open page against msreport's, and against the table of events."""

import collections
import csv
import io
import json
import subprocess

SECTIONS = ("overview", "leaks", "steps", "churn", "savings", "sizes", "threads", "libraries", "functions", "lines",
            "types", "errors", "rss")      # of a page
TOTALS = (("allocated", "bytes"), ("calls", "calls"), ("end", "end_bytes"), ("live", "end_bytes"),
          ("peak", "peak_bytes"), ("peakBlocks", "peak_blocks"))
ALL_ROWS = "1000000000"
BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
UNKNOWN = "–"
MS = 1000000        # ns


def bytes_text(n):
    """As msreport has it: three digits and a unit."""
    if n is None:
        return UNKNOWN
    if n < 1024:
        return f"{round(n)} B"
    i, value = 0, float(n)
    while i + 1 < len(BYTES) and value >= 1023.5:
        value /= 1024
        i += 1
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {BYTES[i]}"


def count_text(n):
    return UNKNOWN if n is None else f"{n:,}"


def text(metric, value):
    counted = metric in ("calls", "temporary") or metric.endswith("Blocks")
    return f"{round(value):,}" if counted else bytes_text(value)


def same(found, wanted):
    """The members that the page has are as msreport has them. Of a table it may have the first rows alone."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key == "notes" or same(found.get(key), wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) <= len(wanted) and (bool(found) or not wanted) and \
            all(same(each, wanted[i]) for i, each in enumerate(found))
    return found == wanted


class Figures:
    """The model of the page that is open in a browser, which was made of `trace`."""

    def __init__(self, seen, build, trace):
        self.browser, self.trace = seen, trace
        self.msreport, self.msconvert = build.file("analyze/msreport"), build.file("analyze/msconvert")
        self.n = seen.model("bucketCount")
        self.sampled = seen.model("meta.page.sample_bytes") > 0
        self.border_ns = [int(ns) for ns in seen.run("return Array.from(msrecPage.model.borderNs)")]
        self.exact_pairs = 0    # ranges of which the page claims to know exactly what is kept
        self.compared = 0       # ranges that were compared stack by stack with the events

    def by_stack(self, metric, a, b):
        """Sums by id; what is summed up as others is under None."""
        return summed(self.browser.ask("nodes", metric, a, b))

    def groups(self, by, metric, a, b):
        """Sums of functions or libraries, by walking up from each node: {"self": {key: value}, "all": ...}."""
        sums = {"self": collections.Counter(), "all": collections.Counter()}
        for value, path in self.browser.ask("paths", by, metric, a, b):
            for key in {each for each in path if each is not None}:
                sums["all"][key] += value
                sums["self"][key] += value if key == path[0] else 0
        return sums

    # ---- msreport ----

    def ask(self, *words, status=0):
        done = subprocess.run([self.msreport, "-q", "--format=json", f"--top={ALL_ROWS}", *words, self.trace],
                              capture_output=True, text=True, check=False)
        assert done.returncode == status, done
        return json.loads(done.stdout)["sections"]

    def check_report(self, status=0):
        """The whole run: the report within the page, and the sums of its tree."""
        report = self.browser.model("meta.report.sections")
        wanted = self.ask(*SECTIONS, status=status)
        for name in SECTIONS:
            assert name in report, f"the page has no {name}"
            assert same(report[name], wanted[name]), (name, str(report[name])[:999], str(wanted[name])[:999])
        for metric, member in TOTALS:
            found = sum(self.by_stack(metric, 0, self.n).values())
            assert self.equal(found, wanted["overview"][member]), (metric, found, wanted["overview"][member])
        for by in ("functions", "libraries"):
            self.check_callers(wanted[by][by], by)

    def equal(self, found, wanted):
        """Estimates of a sample are rounded: by the page when they are shown, by msreport stack by stack."""
        return found == wanted or self.sampled and abs(found - wanted) <= 1 + wanted / 1000

    def check_callers(self, rows, by):
        keys = [row["module"] if by == "libraries" else f"{row['function']}\n{row['module']}" for row in rows]
        for metric, everything, own in (("allocated", "bytes", "self_bytes"), ("calls", "calls", "self_calls")):
            sums = self.groups(by, metric, 0, self.n)
            whole = None not in self.by_stack(metric, 0, self.n)
            for row, key in zip(rows, keys):
                found, wanted = (sums["all"][key], sums["self"][key]), (row[everything], row[own])
                if keys.count(key) == 1:
                    fine = all(map(self.equal, found, wanted)) if whole else \
                        found[0] <= wanted[0] and found[1] <= wanted[1]
                    assert fine, (by, metric, key, found, wanted)

    def pairs(self, chosen, n):
        """Random pairs of borders that lie at milliseconds, which msreport's options can say."""
        there = [i for i in range(1, self.n) if self.border_ns[i] % MS == 0]
        assert len(there) > 10, f"only {len(there)} borders lie at milliseconds"
        return [sorted(chosen.sample(there, 2)) for _ in range(n)]

    def compare(self, what, found, rows, figure):
        """Sums by id with msreport's rows, of which one may stand for several stacks of the same calls."""
        wanted = collections.Counter()
        for row in rows:
            wanted[row["id"]] += row[figure]
        others = found.pop(None, 0)
        differs = {key: (found[key], wanted[key]) for key in {*found, *wanted} if found[key] != wanted[key]}
        if others:      # some stacks of an id may be among them
            assert sum(pair[1] - pair[0] for pair in differs.values()) == others, (what, differs)
            differs = {key: pair for key, pair in differs.items() if pair[0] > pair[1]}
        assert not differs, (what, differs)

    def check_range(self, a, b):
        """What is live at its end, and what was allocated in it and is live then. msreport's times include their ms."""
        since, until = f"{self.border_ns[a] // MS}ms", f"{self.border_ns[b] // MS - 1}ms"
        page = self.browser.ask("range", ["live", "liveBlocks", "kept", "keptBlocks"], a, b)
        found = {metric: summed(nodes) for metric, nodes in page["nodes"].items()}
        rows = self.ask("peak", "--by=stack", f"--at={until}")["peak"]["largest"]
        self.compare(("live", a, b), found["live"], rows, "bytes")
        self.compare(("liveBlocks", a, b), found["liveBlocks"], rows, "blocks")
        if not page["exact"]:
            return
        self.exact_pairs += 1
        rows = self.ask("growth", "--by=stack", f"--from={since}", f"--until={until}")["growth"]["largest"]
        self.compare(("kept", a, b), found["kept"], rows, "bytes")
        self.compare(("keptBlocks", a, b), found["keptBlocks"], rows, "blocks")

    # ---- Events ----

    def events(self):
        words = (self.msconvert, "-q", "--to=csv", self.trace)
        table = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return [row for row in csv.DictReader(io.StringIO(table)) if row["type"] in ("alloc", "resize", "free")]

    def check_events(self, pairs):
        """Bytes, calls and the peak of ranges by all events between their borders, as sorted sums of stacks."""
        events = self.events()
        for a, b in pairs:
            allocated, calls, most = between(events, self.border_ns[a], self.border_ns[b])
            page = self.browser.ask("range", ["allocated", "calls", "peak"], a, b)["nodes"]
            for metric, wanted in (("allocated", allocated), ("calls", calls)):
                found = page[metric]
                assert sum(each[1] for each in found) == sum(wanted.values()), (metric, a, b)
                sums = sorted(value for value in wanted.values() if value)
                if len(found) == len(sums) and not any(others for _, _, others in found):
                    self.compared += 1      # else stacks of the same lines are one node
                    assert sorted(each[1] for each in found) == sums, (metric, a, b)
            peak = sum(summed(page["peak"]).values())
            assert peak == most, ("peak", a, b, peak, most)


def summed(nodes):
    """Values by id, of what probe.nodes() says; what is summed up as others is under None."""
    sums = collections.Counter()
    for stack, value, others in nodes:
        sums[None if others else stack] += value
    return sums


def between(events, begin, end):
    """Bytes and calls by stack of the events in a range, and the most bytes that were live at once in it."""
    allocated, calls, live, most = collections.Counter(), collections.Counter(), 0, None
    for row in events:
        time = int(row["time_ns"])
        if time >= end:
            break
        if time >= begin and most is None:
            most = live
        if row["type"] != "alloc":
            live -= int(row["old_size"])
        if row["type"] != "free":
            live += int(row["size"])
            if time >= begin:
                allocated[row["stack"]] += int(row["size"])
                calls[row["stack"]] += 1
        if time >= begin:
            most = max(most, live)
    return allocated, calls, live if most is None else most
