# SPDX-License-Identifier: MIT
"""Tables (CSV, NDJSON, Parquet), DHAT's JSON and V8's heap profile: SQL queries by sqlite3 have msreplay's
answers, and the values of each stack in DHAT's file follow from the table of events.

  tables.py --build DIR [--long]
"""

import collections
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import parquet  # noqa: E402
from profiles import ALLOCATIONS, SQL, Tools, check, expect, read_folded  # noqa: E402

TABLES = ("events", "stacks", "frames", "snapshots", "threads", "rss")


def format_of(form, table):
    return form if table == "events" else f"{form}-{table}"


def read_csv(data):
    return list(csv.DictReader(io.StringIO(data.decode())))


def check_forms(tools, name, trace):
    """A table has the same rows in all forms."""
    tables = {}
    for table in TABLES:
        rows = read_csv(tools.convert(trace, f"--to={format_of('csv', table)}"))
        lines = tools.convert(trace, f"--to={format_of('ndjson', table)}").decode().splitlines()
        objects = [json.loads(line) for line in lines]
        as_text = [{key: "" if value is None else str(value) for key, value in row.items()} for row in objects]
        expect(f"{name}: {table} in both forms", as_text == rows, True)
        expect(f"{name}: {table} as Parquet",
               parquet.read(tools.convert(trace, f"--to={format_of('parquet', table)}")) == objects, True)
        tables[table] = objects
    return tables


def check_sql(tools, name, trace):
    """Questions that sqlite3 answers from the files as msreplay and tracestat do."""
    script = [".mode csv"]
    for table in TABLES:
        path = tools.path(f"t.{table}.csv" if table != "events" else "t.csv")
        tools.convert(trace, "-o", path)
        script.append(f".import {path} {table}")
    script += [
        "select count(*) from events where type in ('alloc', 'resize');",
        "select sum(inuse_bytes + 0) from stacks;",
        """with recursive inner(stack, root) as (select stack, stack from stacks where parent = '0'
           union all select s.stack, i.root from stacks s join inner i on s.parent = i.stack)
           select sum(s.alloc_bytes + 0) from inner i join stacks s on s.stack = i.stack;""",
        "select sum(size + 0) from events where type in ('alloc', 'resize') and stack <> '0';",
        """select count(*) from events e left join stacks s on e.stack = s.stack
           left join frames f on f.frame = s.frame where e.stack + 0 > 0 and f.address is null;""",
        "select sum(end_bytes + 0) from stacks;",
    ]
    answers = tools.run("sqlite3", ":memory:", data="\n".join(script).encode()).decode().split()
    stat = tools.build.stat(trace)
    peak, end = tools.massif_bytes(trace, "peak"), tools.massif_bytes(trace, "end")
    expect(f"{name}: calls that gave a block", int(answers[0]), sum(stat[key] for key in ALLOCATIONS))
    expect(f"{name}: bytes at the peak", int(answers[1]), peak)
    expect(f"{name}: bytes of stacks and of events", answers[2], answers[3])
    expect(f"{name}: frames that lack", answers[4], "0")
    expect(f"{name}: bytes at the end", int(answers[5]), end)


def check_paths(tools, name, trace):
    """The column of paths has the lines of a folded profile."""
    rows = read_csv(tools.convert(trace, "--to=csv-stacks"))
    sums = collections.Counter()
    for row in rows:
        sums[row["path"] or "[no stack]"] += int(row["alloc_bytes"])
    folded = read_folded(tools.convert(trace, "--to=folded", "--value=alloc_bytes"))
    expect(f"{name}: paths and bytes of a folded profile", {p: n for p, n in sums.items() if n}, dict(folded))
    wrong = [row for row in rows if row["path"] and not row["path"].endswith(row["function"].replace(";", ":"))]
    expect(f"{name}: functions that do not end their path", wrong, [])


def replay_events(events):
    """The values of DHAT's fields, by the stack that first allocated a block, from the calls alone."""
    fields = ("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk")
    places = collections.defaultdict(lambda: dict.fromkeys(fields, 0))
    births, live, best, now, peak_time = {}, 0, 0, 0, 0
    for event in events:
        now = event["time_ns"]
        stack, born = event["stack"], now
        if event["old_block"] is not None and event["type"] in ("free", "resize"):
            first, size, birth = births.pop(event["old_block"])
            place = places[first]
            place["eb"] -= size
            place["ebk"] -= 1
            live -= size
            if event["type"] == "free":
                place["tl"] += now - birth
            else:
                stack, born = first, birth
        if event["type"] in ("alloc", "resize"):
            place, size = places[stack], event["size"] or 1
            births[event["block"]] = stack, size, born
            for key, n in (("tb", size), ("tbk", 1), ("eb", size), ("ebk", 1)):
                place[key] += n
            if place["eb"] >= place["mb"]:
                place["mb"], place["mbk"] = place["eb"], place["ebk"]
            live += size
        if event["type"] in ("alloc", "resize") and live >= best:
            best, peak_time = live, now
            for place in places.values():
                place["gb"], place["gbk"] = place["eb"], place["ebk"]
    return places, births, peak_time


def check_dhat(tools, name, trace, tables):
    dhat = json.loads(tools.convert(trace, "--to=dhat", "--show-below-main=yes"))
    expect(f"{name}: dhat's head", [dhat[key] for key in ("dhatFileVersion", "mode", "bklt", "bkacc")],
           [2, "heap", True, False])
    places, births, peak_time = replay_events(tables["events"])
    expect(f"{name}: dhat's time of the peak", dhat["tg"], peak_time // 1000)
    for stack, size, born in births.values():
        places[stack]["tl"] += dhat["te"] * 1000 - born
    order = sorted(places)
    expect(f"{name}: dhat's points", len(dhat["pps"]), len(order))
    parents = {row["stack"]: (row["parent"], row["frame"]) for row in tables["stacks"]}
    addresses = {row["frame"]: int(row["address"], 16) for row in tables["frames"]}
    for point, stack in zip(dhat["pps"], order):
        wanted = dict(places[stack])
        # The trace has the end in nanoseconds, DHAT's file in microseconds.
        expect(f"{name}: dhat's lifetimes of stack {stack}",
               abs(point["tl"] - wanted.pop("tl") // 1000) <= wanted["ebk"], True)
        found = {key: point[key] for key in wanted}
        expect(f"{name}: dhat's stack {stack}", found, wanted)
        frames = []
        while stack:
            stack, frame = parents[stack]
            frames.append(addresses[frame])
        shown = [int(dhat["ftbl"][i].split(":")[0], 16) for i in point["fs"]]
        deduplicated = [a for i, a in enumerate(shown) if i == 0 or a != shown[i - 1]]
        expect(f"{name}: dhat's frames", deduplicated,
               [a for i, a in enumerate(frames) if i == 0 or a != frames[i - 1]])


def model(events, unit, at, begin, until, tid):
    """The rows of the table of stacks, from the calls alone: by stack blocks and bytes in use and allocated."""
    births, live, best, clock, total = {}, {}, 0, 0, 0
    allocated, marked, passed = collections.defaultdict(lambda: [0, 0]), {}, False
    for event in events:
        came = event["size"] if event["type"] in ("alloc", "resize") else 0
        went = event["old_size"] if event["type"] in ("free", "resize") and event["old_size"] is not None else 0
        clock += abs(came - went)
        now = clock if unit == "B" else event["time_ns"] // 1000000
        if at not in ("peak", "end") and now > at and not passed:
            passed, marked = True, dict(live)
        if now > until:
            break
        if event["type"] in ("free", "resize"):
            births.pop(event["old_block"], None)
            live.pop(event["old_block"], None)
        total += came - went
        if event["type"] in ("alloc", "resize") and now >= begin:
            births[event["block"]] = True
            if tid in (None, event["tid"]):
                live[event["block"]] = event["stack"], event["size"]
                allocated[event["stack"]][0] += 1
                allocated[event["stack"]][1] += event["size"]
        if at == "peak" and now >= begin and total > best:
            best, marked = total, dict(live)
    if at == "end" or (at != "peak" and not passed):
        marked = live
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for stack, size in marked.values():
        rows[stack][0] += 1
        rows[stack][1] += size
    for stack, (blocks, size) in allocated.items():
        rows[stack][2:] = blocks, size
    return dict(rows)


def check_model(tools, name, trace, tables):
    """Points in time, windows and threads, compared with a model."""
    events = tables["events"]
    changes = [abs((e["size"] or 0) * (e["type"] in ("alloc", "resize"))
                   - (e["old_size"] or 0) * (e["type"] in ("free", "resize"))) for e in events]
    tids = sorted({e["tid"] for e in events})
    last = {"B": sum(changes), "ms": events[-1]["time_ns"] // 1000000 + 1}
    cases = [("peak", 0, None, None), ("end", 0, None, None), ("peak", 0, None, tids[-1]), ("end", 0, None, tids[0])]
    for i in range(1, 10):
        cases += [(i / 10, 0, None, None), ("peak", i / 12, None, None), ("peak", 0, i / 12, None),
                  ("end", i / 13, 0.9, tids[i % len(tids)]), (i / 9, i / 20, i / 10, tids[-i % len(tids)])]
    for at, begin, until, tid in cases:
        for unit in ("B", "ms"):
            at_time = at if isinstance(at, str) else int(at * last[unit])
            window = int(begin * last[unit]), None if until is None else int(until * last[unit])
            options = [f"--time-unit={unit}", f"--at={at_time}", "--usable=requested", "--heap-admin=0"]
            options += [f"--from={window[0]}"] * (begin > 0) + [f"--until={window[1]}"] * (until is not None)
            options += [f"--thread={tid}"] * (tid is not None)
            rows = read_csv(tools.convert(trace, "--to=csv-stacks", *options))
            found = {int(r["stack"]): [int(r[key]) for key in ("inuse_objects", "inuse_bytes", "alloc_objects",
                                                                "alloc_bytes")] for r in rows}
            wanted = model(events, unit, at_time, window[0], 1 << 62 if until is None else window[1], tid)
            expect(f"{name}: {' '.join(options)}", {s: r for s, r in found.items() if any(r)}, wanted)


def check_heapprofile(tools, name, trace):
    profile = json.loads(tools.convert(trace, "--to=heapprofile"))
    folded = read_folded(tools.convert(trace, "--to=folded"))
    stacks, sizes = collections.Counter(), {}
    pending = [(profile["head"], ())]
    while pending:
        node, path = pending.pop()
        frame = node["callFrame"]
        assert set(frame) == {"functionName", "scriptId", "url", "lineNumber", "columnNumber"}
        assert node["id"] not in sizes
        sizes[node["id"]] = node["selfSize"]
        if node["selfSize"]:
            stacks[";".join(path) or "[no stack]"] += node["selfSize"]
        for child in node["children"]:
            pending.append((child, path + (child["callFrame"]["functionName"],)))
    expect(f"{name}: V8's stacks", dict(stacks), folded)
    expect(f"{name}: V8's samples", {s["nodeId"]: s["size"] for s in profile["samples"]},
           {number: size for number, size in sizes.items() if size})


def main():
    args = harness.arguments(__doc__, "--long")
    build = args.build
    with harness.Scratch() as directory:
        tools = Tools(build, directory)
        for name, command in {"sqlite3": ["sqlite3", ":memory:", SQL.replace("4000", "20000" if args.long else "300")],
                              "threads": [build.file("corpus/threads")],
                              "realloc": [build.file("corpus/realloc")],
                              "inline_chain": [build.file("corpus/inline_chain")]}.items():
            trace = tools.record(name, *command)
            tables = check_forms(tools, name, trace)
            check_sql(tools, name, trace)
            check_paths(tools, name, trace)
            check_dhat(tools, name, trace, tables)
            check_heapprofile(tools, name, trace)
            if name in ("threads", "realloc"):
                check_model(tools, name, trace, tables)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
