# SPDX-License-Identifier: MIT
"""Summaries of runs (msconvert --to=clickhouse): sums, keys, bounds, labels. With --long: 2,000 of them in a cluster of
ClickHouse's servers and in DuckDB, which give the answers of a model; planted regressions, a leak and outlier hosts are
among them, and neither kills of the loader nor a server that is down double or lose a run.

  fleet.py --build DIR [--only WORD] [--long]
"""

import collections
import csv
import gzip
import io
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import clients  # noqa: E402
import clickhouse  # noqa: E402
import harness  # noqa: E402
import parquet  # noqa: E402
from fleet_traces import LEAKING, OUTLIERS, Fleet  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MOST_BYTES = 200_000
FIGURES = ("peak_bytes", "peak_blocks", "end_bytes", "end_blocks", "alloc_bytes", "alloc_blocks")
TEXTS = ("run", "part", "service", "version", "host", "key", "function", "name", "module", "build_id", "file", "path",
         "verdict", "labels", "program")
QUERIES = ("top-sites", "regressions", "outlier-hosts", "growth", "commit", "cost", "days")

DUCKDB = """
const { DuckDBInstance } = require("@duckdb/node-api");
(async () => {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const answers = [];
  for (const sql of JSON.parse(require("fs").readFileSync(0))) {
    const begin = performance.now();
    const rows = (await connection.runAndReadAll(sql)).getRows();
    answers.push([rows.map(row => row.map(String)), (performance.now() - begin) / 1000]);
  }
  console.log(JSON.stringify(answers));
})();
"""


def equal(what, found, wanted):
    if found != wanted:
        raise harness.Problem(f"{what}: {str(found)[:600]} instead of {str(wanted)[:600]}")


def read_rows(data):
    """The rows, numbers as int."""
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    return [{key: value if key in TEXTS or not value else int(value) for key, value in row.items()} for row in rows]


def query(name):
    with open(os.path.join(SOURCE, "docs", "fleet", f"{name}.sql"), encoding="utf-8") as file:
        text = re.sub("^--.*\n", "", file.read(), flags=re.M)
    return text.replace("OLD", "1").replace("NEW", "3").strip().rstrip(";")


class Model:
    """The answers by hand, of all rows of all runs."""

    def __init__(self, paths):
        self.rows = []
        for path in paths:
            with gzip.open(path) as file:
                self.rows += read_rows(file.read())

    def hosts(self, part, key, versions):
        """By version and service (and key): the means of hosts."""
        runs, sums = collections.defaultdict(set), collections.Counter()
        for row in self.rows:
            if row["part"] == part and (not versions or row["version"] in versions):
                of = (row["service"], row["version"], row[key], row["host"])
                runs[of].add(row["run"])
                sums[of] += row["peak_bytes"]
        means = collections.defaultdict(dict)
        for of, total in sums.items():
            means[of[:3]][of[3]] = total // len(runs[of])
        return means

    @staticmethod
    def quarters(values):
        values = sorted(values)
        return [values[len(values) * i // 4] for i in (1, 2, 3)]

    def regressions(self):
        pairs = collections.defaultdict(lambda: {"1": (0, 0), "3": (0, 0)})
        for (service, version, key), means in self.hosts("site", "key", ("1", "3")).items():
            low, median, high = self.quarters(means.values())
            pairs[service, key][version] = (median, high - low)
        return {(service, key): (pair["1"][0], pair["3"][0]) for (service, key), pair in pairs.items()
                if abs(pair["3"][0] - pair["1"][0]) > pair["1"][1] + pair["3"][1] and
                abs(pair["3"][0] - pair["1"][0]) * 20 > max(pair["1"][0], pair["3"][0])}

    def outliers(self):
        found = set()
        for (service, version, _), means in self.hosts("run", "part", ()).items():
            low, median, high = self.quarters(means.values())
            found |= {(service, version, host) for host, mean in means.items()
                      if (mean > high + 3 * (high - low) or mean < low - 3 * (high - low)) and
                      abs(mean - median) * 10 > median}
        return found

    def top(self):
        sums = collections.Counter()
        for row in self.rows:
            if row["part"] == "site":
                sums[row["key"]] += row["peak_bytes"]
        return sums


class Summaries:
    def __init__(self, options, folder):
        self.build, self.folder, self.long = options.build, folder, options.long
        self.msconvert = str(self.build / "analyze/msconvert")
        self.fleet = Fleet(self.build, os.path.join(folder, "fleet"))
        self.numbers = itertools.count()

    def path(self, name):
        return os.path.join(self.folder, name)

    def convert(self, *words, status=0):
        done = subprocess.run([self.msconvert, "-q", *words], capture_output=True, check=False)
        if done.returncode != status:
            raise harness.Problem(f"{words}: exit {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def scripted(self, lines):
        number = next(self.numbers)
        script, trace = self.path(f"{number}.script"), self.path(f"{number}.zst")
        with open(script, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        subprocess.run([self.build / "tests/tools/script2trace", script, trace], check=True)
        return trace

    def recorded(self, number=0):
        trace = self.path(f"recorded{number}.zst")
        self.fleet.record(number, trace)
        return trace

    def large(self):
        """More stacks and functions than a summary can have, of many sizes."""
        chance = random.Random(5)
        lines = [f"stack {i} {0x1000 + i % 900 * 16:#x} {0x100000 + i * 16:#x} 0x900000" for i in range(1, 5001)]
        for i in range(1, 5001):
            lines += [f"time {i * 1000000}", f"alloc {i} malloc {i} {chance.randrange(1, 100) << chance.randrange(30)}"]
            if i % 3 == 0:
                lines.append(f"free {i - chance.randrange(2)}")
        return self.scripted(lines + ["end 6000000000"])

    def check_sums(self, rows):
        """The parts of a run are all of it."""
        [run] = [row for row in rows if row["part"] == "run"]
        equal("the run comes last", rows[-1], run)
        equal("its number of rows", run["rows"], len(rows))
        for part in ("site", "stack", "size"):
            for figure in FIGURES:
                equal(f"{part}: {figure}", sum(row[figure] for row in rows if row["part"] == part), run[figure])
        for part in ("site", "time"):
            equal(f"{part}: byte_seconds", sum(row["byte_seconds"] for row in rows if row["part"] == part),
                  run["byte_seconds"])
        for part in ("function", "frame"):
            for row in (row for row in rows if row["part"] == part):
                assert all(row[figure] <= run[figure] for figure in FIGURES), row
        keys = [(row["part"], row["key"]) for row in rows]
        equal("keys that are there twice", len(keys) - len(set(keys)), 0)
        return run

    def test_sums(self):
        for trace in (self.recorded(), self.scripted(self.fleet.script(2)), self.large()):
            data = self.convert("--to=clickhouse", trace)
            self.check_sums(read_rows(data))
            assert len(data) <= MOST_BYTES, len(data)

    def test_figures_are_those_of_other_formats(self):
        trace = self.recorded(2)
        rows = read_rows(self.convert("--to=clickhouse", trace))
        [run] = [row for row in rows if row["part"] == "run"]
        stacks = read_rows(self.convert("--to=csv-stacks", trace))
        paths = collections.Counter()
        for row in stacks:
            paths[row["path"]] += row["alloc_bytes"]
        equal("stacks", {row["path"]: row["alloc_bytes"] for row in rows if row["part"] == "stack"},
              {path: value for path, value in paths.items() if value})
        equal("bytes at the end", run["end_bytes"], sum(row["end_bytes"] for row in stacks))
        said = json.loads(subprocess.run([self.build / "analyze/msreport", "-q", "peak", "--by=stack", "--top=1000",
                                          "--format=json", trace], capture_output=True, check=True).stdout)
        text = json.dumps(said)
        ids = {row["key"]: row["peak_bytes"] for row in rows if row["part"] == "stack" and row["peak_bytes"]}
        assert ids and all(key in text for key in ids), "keys of stacks are no ids of msreport"

    def test_keys_join_runs(self):
        recorded = read_rows(self.convert("--to=clickhouse", "--label=host=a", self.recorded(2)))
        made = read_rows(self.convert("--to=clickhouse", "--label=host=b", self.scripted(self.fleet.script(5))))

        def keys(rows):
            return {row["name"]: row["key"] for row in rows if row["part"] == "site" and row["name"] != "[other]"}
        equal("keys of sites", {name: key for name, key in keys(recorded).items() if name in keys(made)}, keys(made))
        assert LEAKING in keys(made)

    def test_runs_have_one_key(self):
        trace = self.recorded(1)
        first = self.convert("--to=clickhouse", trace)
        equal("the same bytes", self.convert("--to=clickhouse", trace), first)
        run = read_rows(first)[-1]["run"]
        other = read_rows(self.convert("--to=clickhouse", "--label", "service=x,version=2,host=%h,tier=a", trace))
        equal("the key with labels", other[-1]["run"], run)
        equal("labels", [other[-1][key] for key in ("service", "version", "host", "labels")],
              ["x", "2", os.uname().nodename[:64], "tier=a"])
        assert read_rows(self.convert("--to=clickhouse", "--label=run=again", trace))[-1]["run"] != run

    def test_long_labels_fit(self):
        quotes = '"' * 64
        words = [f"--label={key}={quotes}" for key in ("service", "version", "host", *(f"k{i}" for i in range(13)))]
        data = self.convert("--to=clickhouse", *words, self.large())
        assert len(data) <= MOST_BYTES, len(data)
        self.check_sums(read_rows(data))

    def test_a_trend_is_judged(self):
        rows = read_rows(self.convert("--to=clickhouse", self.scripted(self.fleet.script(2))))
        verdicts = {row["name"]: (row["verdict"], row["growth"]) for row in rows if row["part"] == "site"}
        verdict, growth = verdicts[LEAKING]
        equal("verdict", verdict, "growing")
        assert abs(growth - 5000 * 3600) < 5000 * 36, growth
        equal("others that grow", [name for name, (_, rate) in verdicts.items() if rate and name != LEAKING], [])

    def test_parquet_has_the_same_rows(self):
        trace = self.recorded(1)
        rows = parquet.read(self.convert("--to=parquet-fleet", "-o", "-", trace))
        equal("rows", [{key: str(value) for key, value in row.items()} for row in rows],
              [{key: str(value) for key, value in row.items()} for row in
               csv.DictReader(io.StringIO(self.convert("--to=clickhouse", trace).decode()))])

    def test_wrong_usage(self):
        trace = self.recorded()
        for words in (["--label=x"], ["--label=a b=c"], ["--label=x=" + "y" * 65], ["--label=x=%z"], ["--at=end"],
                      ["--until=5"], ["--value=alloc_bytes"], ["--label=" + ",".join(f"k{i}=v" for i in range(17))]):
            self.convert("--to=clickhouse", *words, trace, status=64)
        self.convert("--to=csv-stacks", "--label=a=b", trace, status=64)
        self.convert("--to=csv", "--schema", status=64)
        self.convert("--to=clickhouse", "--schema", trace, status=64)

    def test_schema_names_all_columns(self):
        names = self.convert("--to=clickhouse", self.recorded()).decode().split("\n")[0].split(",")
        for to, number in (("clickhouse", "UInt64"), ("parquet", "ubigint")):
            text = self.convert(f"--to={to}", "--schema").decode()
            table = text[text.index("("):text.index("\n)")]
            equal(f"{to}: columns", [line.split()[0] for line in table.split("\n")[1:]], names)
            assert number in table

    def test_loader_takes_whole_files_only(self):
        summary = self.path("whole.fleet.csv")
        self.convert("--to=clickhouse", "-o", summary, self.recorded())
        with open(summary, "rb") as file:
            data = file.read()
        lines = data.splitlines(keepends=True)
        for name, text in (("short", b"".join(lines[:-1])), ("gap", b"".join(lines[:5] + lines[6:])), ("none", b"")):
            path = self.path(f"{name}.fleet.csv")
            with open(path, "wb") as file:
                file.write(text)
            done = self.load("--shard=http://127.0.0.1:1", path, status=1)
            assert f"{name}.fleet.csv: " in done.stderr, done.stderr
        done = self.load("--shard=http://127.0.0.1:1", summary, status=1)
        assert "127.0.0.1:1: " in done.stderr and "1 runs read, 0 sent" in done.stdout, done

    def load(self, *words, status=0):
        done = subprocess.run([os.path.join(SOURCE, "scripts", "fleet-load"), f"--msconvert={self.msconvert}",
                               f"--lock={self.path('lock')}", *words], capture_output=True, text=True, check=False)
        if status is not None and done.returncode != status:
            raise harness.Problem(f"fleet-load {words}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def report(self, *words, status=0):
        done = subprocess.run([self.build / "analyze/msreport", "--fleet", "--format=json", "--top=1000", *words],
                              capture_output=True, text=True, check=False)
        equal(f"msreport --fleet {words}: exit", (done.returncode, done.stderr if not status else ""), (status, ""))
        return json.loads(done.stdout)["sections"]["fleet"] if status <= 1 else done.stderr

    def folder_of_traces(self):
        """Runs of which one stands out, with what they come to by the single summaries."""
        folder = self.path(f"traces{next(self.numbers)}")
        os.makedirs(os.path.join(folder, "below"))
        sites, peaks = collections.Counter(), {}
        for number in range(12):
            trace = os.path.join(folder, "below" if number % 2 else "", f"{number}.zst")
            words = ["1", "500" if number == 7 else "100", str(number)]
            subprocess.run([self.build.msrec, "-q", "-o", trace, self.fleet.program, *words], check=True,
                           env=harness.plain_environment())
            rows = read_rows(self.convert("--to=clickhouse", trace))
            for row in (row for row in rows if row["part"] == "site" and row["peak_bytes"]):
                sites[row["name"]] += row["peak_bytes"]
            peaks[trace] = rows[-1]["peak_bytes"]
        return folder, sites, peaks

    def test_report_of_a_folder(self):
        folder, sites, peaks = self.folder_of_traces()
        said = self.report(folder)
        equal("runs", (said["runs"], said["failed"], said["partial"], said["twice"]), (12, 0, 0, 0))
        equal("sites", {row["function"]: row["peak_bytes"] for row in said["peak"]}, dict(sites))
        equal("all peaks", (said["peak_bytes"], said["highest_bytes"]), (sum(peaks.values()), max(peaks.values())))
        equal("largest", {row["trace"]: row["peak_bytes"] for row in said["largest"]}, peaks)
        equal("outliers", [row["trace"] for row in said["outliers"]], [os.path.join(folder, "below", "7.zst")])
        equal("one process", self.report("-j1", folder), said)

    def test_report_of_a_bad_folder(self):
        folder, _, _ = self.folder_of_traces()
        with open(os.path.join(folder, "0.zst"), "rb") as file:
            data = file.read()
        for name, text in (("copy", data), ("cut", data[:-9]), ("bad", b"no trace")):
            with open(os.path.join(folder, f"{name}.zst"), "wb") as file:
                file.write(text)
        said = self.report(folder, status=1)
        equal("runs", (said["failed"], said["twice"] + said["partial"] >= 2), (1, True))
        self.report("/nonexistent", status=2)
        self.report(self.fleet.summaries, status=2)
        self.report("peak", folder, status=64)

    def test_planted_ones_are_found(self):
        """By the model, of a fleet that has three runs on each host."""
        sizes = self.fleet.make(0, 120)
        self.check_planted(Model(self.summaries()))
        assert max(sizes) < 10_000

    def summaries(self):
        return [os.path.join(self.fleet.summaries, name) for name in sorted(os.listdir(self.fleet.summaries))]

    def check_planted(self, model):
        names = {row["key"]: row["name"] for row in model.rows if row["part"] == "site"}
        changed = {names[key]: new - old for (service, key), (old, new) in model.regressions().items()
                   if service == "made" and abs(new - old) > 1000}
        equal("sites that changed", sorted(changed), ["build_index", "fill_cache", LEAKING])
        assert changed["build_index"] < 0 < changed["fill_cache"], changed
        equal("outliers", {found for found in model.outliers() if found[0] == "made"},
              {("made", str(version), host) for version in (1, 2, 3) for host in OUTLIERS})


# ---- Engines ----

class Engines(Summaries):
    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.runs = 2000

    def duckdb(self, statements):
        node = clients.install(self.build)
        script = self.path("duckdb.js")
        with open(script, "w", encoding="utf-8") as file:
            file.write(DUCKDB)
        done = subprocess.run(["node", script], input=json.dumps(statements), capture_output=True, text=True,
                              check=True, env={**os.environ, "NODE_PATH": node})
        return json.loads(done.stdout)

    def ask_duckdb(self, files):
        """Answers and seconds of all queries, and the seconds of loading; a view of Parquet files needs none."""
        schema = self.convert("--to=parquet", "--schema").decode()
        with open(os.path.join(SOURCE, "docs", "fleet", "duckdb.sql"), encoding="utf-8") as file:
            text = re.sub("^--.*$", "", schema + file.read(), flags=re.M)
        statements = [one for one in text.split(";") if one.strip()]
        if files.endswith(".parquet"):
            statements = [f"create view fleet as select * from read_parquet('{files}')",
                          *(one for one in statements if "create table" not in one)]
        else:
            statements.append(f"insert into fleet by name select * from read_csv('{files}', all_varchar = true)")
        answers = self.duckdb(statements + [query(name) for name in QUERIES])
        return dict(zip(QUERIES, answers[len(statements):])), answers[len(statements) - 1][1]

    def ask_clickhouse(self, server):
        answers = {}
        for name in QUERIES:
            begin = time.monotonic()
            rows = [line.split("\t") for line in server.ask(query(name)).splitlines()]
            answers[name] = (rows, time.monotonic() - begin)
        return answers

    def kill_loader(self, cluster, seconds):
        process = subprocess.Popen([os.path.join(SOURCE, "scripts", "fleet-load"), f"--lock={self.path('lock')}", "-q",
                                    *cluster.options(), self.fleet.summaries])
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop_shard(self, cluster):
        """Both replicas of a shard are killed as they are loaded. Queries over all shards fail and name the servers, or
        leave that shard out if they are told to; the next load brings what is missing."""
        shard, alive = cluster.shards[0], cluster.shards[1][0]
        loader = subprocess.Popen([os.path.join(SOURCE, "scripts", "fleet-load"), f"--lock={self.path('lock')}",
                                   *cluster.options(), self.fleet.summaries], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        assert harness.until(lambda: shard[0].ask("select count() from fleet_local") != "0\n", 300)
        for server in shard:
            server.stop(hard=True)
        _, said = loader.communicate(timeout=600)
        equal("a load without a shard: status", loader.returncode, 1)
        assert f"127.0.0.1:{shard[1].http}: " in said, said
        equal("nothing is missing in the other", alive.ask("select countIf(part = 'run') > 0 from fleet_local"), "1\n")
        try:
            answer = alive.ask(query("top-sites"))
        except harness.Problem as problem:
            assert f":{shard[0].tcp}" in str(problem) and f":{shard[1].tcp}" in str(problem), problem
        else:
            raise harness.Problem(f"a query over all shards answered without one: {answer}")
        equal("runs without that shard", alive.ask("select count() from fleet_run", skip_unavailable_shards=1),
              alive.ask("select countIf(part = 'run') from fleet_local"))
        done = self.load(*cluster.options(), self.fleet.summaries, status=1)
        assert ", 0 sent" in done.stdout, done.stdout
        for server in shard:
            server.start()
        # A server that is killed inside of an insert may have its rows, and not their sums by day.
        self.load(*cluster.options(), "--check", "--rebuild", self.fleet.summaries)
        self.check_whole(cluster)

    def check_whole(self, cluster):
        """Each run is there once, in each replica of its shard and over all shards."""
        for server in cluster.servers():
            equal("runs, and those that differ", *(server.ask(f"select {what} from fleet_local where part = 'run'")
                                                   for what in ("count()", "uniqExact(run)")))
            equal("runs over all shards", server.ask("select count(), uniqExact(run) from fleet_run"),
                  f"{self.runs}\t{self.runs}\n")
        self.load(*cluster.options(), "--check")

    def load_all(self, cluster):
        """With kills, and while a server is down."""
        self.load(*cluster.options(), "--init")
        self.stop_shard(cluster)
        for server in cluster.servers():
            server.ask("truncate table fleet_local")
            server.ask("truncate table fleet_day_local")
        for i in range(6):
            self.kill_loader(cluster, 0.3 + 0.25 * i)
        down = cluster.shards[1][1]
        down.stop(hard=True)
        done = self.load(*cluster.options(), self.fleet.summaries, status=1)
        assert f"127.0.0.1:{down.http}: " in done.stderr, done.stderr
        down.start()
        self.load(*cluster.options(), self.fleet.summaries)
        done = self.load(*cluster.options(), "--check", "--rebuild", self.fleet.summaries)
        assert ", 0 sent" in done.stdout, done.stdout
        self.check_whole(cluster)

    def check_days(self, cluster):
        """Sums of days that lack an insert are found and made anew."""
        server = cluster.shards[0][0]
        before = server.ask("select sum(alloc_bytes) from fleet_day_local")
        server.ask("truncate table fleet_day_local")
        done = self.load(*cluster.options(), "--check", status=1)
        assert "sums of days" in done.stderr, done.stderr
        self.load(*cluster.options(), "--check", "--rebuild")
        equal("sums of days", server.ask("select sum(alloc_bytes) from fleet_day_local"), before)

    def check_migration(self, cluster):
        """A table without a column gets it."""
        server = cluster.shards[0][0]
        server.ask("drop table fleet_day_insert")
        server.ask("alter table fleet_local drop column sample_bytes")
        self.load(*cluster.options(), "--init")
        equal("the column", server.ask("select count() from fleet_local where sample_bytes = 0"),
              server.ask("select count() from fleet_local"))

    def multiply(self, times):
        """As many runs more, of other keys: 20,000 of 2,000."""
        folder = self.path("many")
        os.makedirs(folder)
        for path in self.summaries():
            with gzip.open(path) as file:
                data = file.read()
            run = data.rsplit(b"\n", 2)[1][:16]
            for i in range(times):
                key = f"{(int(run, 16) + (i + 1) * 0x9e3779b97f4a7c15) % 2**64:016x}".encode()
                with gzip.open(os.path.join(folder, f"{key.decode()}.fleet.csv.gz"), "wb", 1) as file:
                    file.write(data.replace(run, key))
        return folder

    def measure(self, cluster, folder, glob, label):
        begin = time.monotonic()
        done = self.load(*cluster.options(), folder)
        seconds = time.monotonic() - begin
        rows = int(cluster.shards[0][0].ask("select count() from fleet"))
        runs = int(cluster.shards[0][0].ask("select count() from fleet_run"))
        times = self.ask_clickhouse(cluster.shards[0][0])
        others, loading = self.ask_duckdb(glob)
        print(f"{label}: {runs} runs, {rows} rows; {done.stdout.strip()} in {seconds:.1f} s; DuckDB {loading:.1f} s")
        for name in QUERIES:
            print(f"  {name}: ClickHouse {times[name][1]:.3f} s, DuckDB {others[name][1]:.3f} s")
            equal(f"{label}: {name}", times[name][0], others[name][0])
        return times

    def test_parquet(self):
        """DuckDB's answers from Parquet are those from CSV."""
        fleet = Fleet(self.build, self.path("both"))
        fleet.make(0, 120)
        fleet.suffix = "parquet"
        fleet.make(0, 120)
        answers = [self.ask_duckdb(f"{fleet.summaries}/*.fleet.{suffix}")[0] for suffix in ("csv.gz", "parquet")]
        for name in QUERIES:
            equal(f"Parquet: {name}", answers[1][name][0], answers[0][name][0])
            assert answers[0][name][0], name

    def test_engines(self):
        sizes = self.fleet.make(200, self.runs - 200)
        print(f"{len(sizes)} summaries, {sum(sizes) / len(sizes):.0f} bytes in the mean, {max(sizes)} at most")
        few = self.path("few")
        os.makedirs(few)
        for path in self.summaries()[200:400]:
            os.link(path, os.path.join(few, os.path.basename(path)))
        with clickhouse.Cluster(self.path("few-servers"), 2, 2) as cluster:
            self.load(*cluster.options(), "--init")
            self.measure(cluster, few, f"{few}/*.csv.gz", "200")
        with clickhouse.Cluster(self.path("servers"), 2, 2) as cluster:
            self.load_all(cluster)
            answers = self.measure(cluster, self.fleet.summaries, f"{self.fleet.summaries}/*.csv.gz", "2,000")
            self.check_answers(answers)
            self.check_days(cluster)
            self.check_migration(cluster)
        many = self.multiply(10)
        with clickhouse.Cluster(self.path("many-servers"), 2, 2) as cluster:
            self.load(*cluster.options(), "--init")
            self.measure(cluster, many, f"{many}/*.csv.gz", "20,000")

    def check_answers(self, answers):
        model = Model(self.summaries())
        self.check_planted(model)
        equal("runs", sum(int(row[2]) for row in answers["cost"][0]), self.runs)
        equal("regressions", {(row[0], row[1]): (int(row[3]), int(row[4])) for row in answers["regressions"][0]},
              model.regressions())
        equal("outliers", {tuple(row[:3]) for row in answers["outlier-hosts"][0]}, model.outliers())
        equal("top", {row[0]: int(row[3]) for row in answers["top-sites"][0]}, dict(model.top().most_common(20)))
        equal("what grows", [row[1] for row in answers["growth"][0]], [LEAKING])


def main():
    def tests_of(options, folder):
        if not options.long:
            return Summaries(options, folder)
        harness.need("clickhouse-server", "node", "npm")
        engines = Engines(options, folder)
        return type("Long", (), {"test_engines": staticmethod(engines.test_engines),
                                 "test_parquet": staticmethod(engines.test_parquet)})()
    return harness.run_methods(__doc__, tests_of, "--long")


if __name__ == "__main__":
    sys.exit(main())
