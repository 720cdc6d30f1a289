# SPDX-License-Identifier: MIT
"""Large clients read msconvert's files: Valgrind's dh_view.html and speedscope in headless
Chromium, DuckDB, massif-visualizer. speedscope and DuckDB come from npm, into the build directory.

  clients.py --build DIR
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from profiles import ALLOCATIONS, SQL, Tools, check, expect, read_folded, read_speedscope  # noqa: E402

PACKAGES = ("speedscope@1.25.0", "@duckdb/node-api@1.5.6-r.1")
CHROMIUM = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-quic", "--enable-logging=stderr",
            "--virtual-time-budget=20000", "--dump-dom")
DH_VIEW = "/usr/libexec/valgrind"

# Gives a page's file input a file, as a user would.
LOADER = """<script>
window.addEventListener("load", () => setTimeout(() => {
  const list = new DataTransfer();
  list.items.add(new File([Uint8Array.from(atob("%s"), c => c.charCodeAt(0))], "%s"));
  const input = document.querySelector("input[type=file]");
  input.files = list.files;
  input.dispatchEvent(new Event("change", {bubbles: true}));
}, 300));
</script>"""

DUCKDB = """
const { DuckDBInstance } = require("@duckdb/node-api");
(async () => {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const answers = [];
  for (const sql of JSON.parse(process.argv[2])) {
    const rows = (await connection.runAndReadAll(sql)).getRows();
    answers.push(rows[0].map(String));
  }
  console.log(JSON.stringify(answers));
})();
"""


def modules(build):
    return os.path.join(build.root, "clients", "node_modules")


def install(build):
    place = os.path.join(build.root, "clients")
    os.makedirs(place, exist_ok=True)
    if not os.path.exists(os.path.join(place, "installed")):
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES],
                       cwd=place, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(place, "installed"), "w", encoding="utf-8") as file:
            file.write("\n".join(PACKAGES))
    return modules(build)


def show(tools, folder, page, name, data):
    """A page's text after it got a file, its title, and its console's lines."""
    with open(os.path.join(folder, page), encoding="utf-8") as file:
        html = file.read()
    with open(os.path.join(folder, "shown.html"), "w", encoding="utf-8") as file:
        file.write(html + LOADER % (base64.b64encode(data).decode(), name))
    done = subprocess.run([*CHROMIUM, f"--user-data-dir={tools.path('chromium')}",
                           f"file://{folder}/shown.html"], capture_output=True, text=True, check=True, timeout=120,
                          env=harness.plain_environment(HOME=tools.directory))
    text = re.sub(r"<[^>]*>", " ", re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S))
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.S)
    return re.sub(r"\s+", " ", text), title[1] if title else "", done.stderr


def check_dh_view(tools, trace):
    folder = tools.path("dh_view")
    os.mkdir(folder)
    for name in os.listdir(DH_VIEW):
        if name.startswith("dh_view"):
            shutil.copy(os.path.join(DH_VIEW, name), folder)
    data = tools.convert(trace, "--to=dhat")
    text, _, _ = show(tools, folder, "dh_view.html", "x.json", data)
    points = json.loads(data)["pps"]
    total, blocks = sum(p["tb"] for p in points), sum(p["tbk"] for p in points)
    expect("dh_view's total", re.search(r"Total: ([\d,]+) bytes \(100%[^)]*\) in ([\d,]+) blocks", text).groups(),
           (f"{total:,}", f"{blocks:,}"))
    peak = sum(p["gb"] for p in points)
    expect("dh_view's peak", re.search(r"At t-gmax: ([\d,]+) bytes \(100%\)", text)[1], f"{peak:,}")
    assert "avg lifetime" in text


def check_speedscope(tools, trace, modules):
    folder = tools.path("speedscope")
    shutil.copytree(os.path.join(modules, "speedscope/dist/release"), folder)
    peak = sum(read_folded(tools.convert(trace, "--to=folded")).values())
    named = {"in use, peak": peak}
    named.update((name, sum(stacks.values())) for name, stacks in
                 read_speedscope(tools.convert(trace, "--to=speedscope")).items())
    expect("speedscope's own profiles", len(named), 3)
    for form, name, importer in (("speedscope", "x.speedscope.json", "speedscope json file"),
                                 ("folded", "x.folded", "collapsed stack"), ("pprof", "x.pb.gz", "protobuf"),
                                 ("heapprofile", "x.heapprofile", "Chrome Heap Profile")):
        text, title, console = show(tools, folder, "index.html", name, tools.convert(trace, f"--to={form}"))
        importing = re.search(r'"Importing as ([^"]*)"', console)
        expect(f"speedscope: {form}", bool(importing) and importer.lower() in importing[1].lower(), True)
        expect(f"speedscope's title of {form}", title.endswith(" - speedscope") and "Welcome" not in text, True)
        if form == "speedscope":
            for word in ("in use, peak", "in use, end", "allocated"):
                assert word in text, word
    data = tools.convert(trace, "--to=speedscope", f"--diff-base={trace}@20ms")
    text, title, _ = show(tools, folder, "index.html", "x.speedscope.json", data)
    expect("speedscope's title of differences", title.endswith(" - speedscope") and "Welcome" not in text, True)
    assert "in use, peak: grew" in text, text


def check_massif_visualizer(tools, trace):
    """massif-visualizer prints figures on its console, and never ends by itself."""
    path = tools.path("x.massif")
    tools.convert(trace, "--to=massif", "--exact-peak", "--time-unit=B", "-o", path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    peak = re.search(r"snapshot=(\d+)\n#-+\ntime=(\d+)\nmem_heap_B=(\d+)\nmem_heap_extra_B=(\d+)\n"
                     r"mem_stacks_B=0\nheap_tree=peak", text)
    program = subprocess.Popen(["massif-visualizer", path], stderr=subprocess.PIPE, text=True,
                               env=harness.plain_environment(HOME=tools.directory, QT_QPA_PLATFORM="offscreen"))
    printed = {}
    timer = threading.Timer(60, program.kill)
    timer.start()
    for line in program.stderr:
        m = re.match(r"(snapshots|peak|peak cost|time unit): *(.*)$", line)
        if m:
            printed[m[1]] = m[2]
        if "peak cost" in printed or "invalid line" in line:
            break
    timer.cancel()
    program.kill()
    program.wait()
    expect("massif-visualizer's snapshots", printed.get("snapshots"), str(text.count("snapshot=")))
    numbers = [int(n) for n in re.findall(r"\d+", printed.get("peak", ""))]
    expect("massif-visualizer's peak", numbers[:2], [int(peak[1]), int(peak[2])])
    units = {"B": 1, "KiB": 1024, "MiB": 1024 ** 2}
    cost = re.match(r'"([\d.]+) (\w+)" heap "([\d.]+) (\w+)" heap extra', printed.get("peak cost", ""))
    for number, unit, wanted in ((cost[1], cost[2], peak[3]), (cost[3], cost[4], peak[4])):
        expect("massif-visualizer's peak cost", abs(float(number) * units[unit] - int(wanted)) <= units[unit] / 20,
               True)


def check_duckdb(tools, trace, modules):
    """Three questions, of CSV, of NDJSON and of Parquet."""
    stat = tools.build.stat(trace)
    wanted = [[str(sum(stat[key] for key in ALLOCATIONS))], [str(tools.massif_bytes(trace, "peak"))],
              [str(tools.massif_bytes(trace, "end"))]]
    script = tools.path("ask.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(DUCKDB)
    for form, reader in (("csv", "read_csv"), ("ndjson", "read_json"), ("parquet", "read_parquet")):
        paths = {}
        for table in ("events", "stacks"):
            paths[table] = tools.path(f"t.{form}" if table == "events" else f"t.{table}.{form}")
            tools.convert(trace, "-o", paths[table])
        questions = [f"select count(*) from {reader}('{paths['events']}') where type in ('alloc', 'resize')",
                     f"select sum(inuse_bytes) from {reader}('{paths['stacks']}')",
                     f"""select coalesce(sum(size) filter (type in ('alloc', 'resize')), 0)
                         - coalesce(sum(old_size) filter (type in ('free', 'resize')), 0)
                         from {reader}('{paths['events']}')"""]
        done = subprocess.run(["node", script, json.dumps(questions)], capture_output=True, text=True, check=True,
                              env={**os.environ, "NODE_PATH": modules})
        expect(f"DuckDB on {form}", json.loads(done.stdout), wanted)


def main():
    build = harness.arguments(__doc__).build
    modules = install(build)
    with harness.Scratch() as directory:
        tools = Tools(build, directory)
        trace = tools.record("sqlite3", "sqlite3", ":memory:", SQL)
        check_dh_view(tools, trace)
        check_speedscope(tools, trace, modules)
        check_duckdb(tools, trace, modules)
        check_massif_visualizer(tools, trace)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
