# SPDX-License-Identifier: MIT
"""Summaries of a fleet: runs of a service in three versions on many hosts, some recorded, the others made from scripts,
with regressions, a leak and outlier hosts that are planted (fleet_program.c says which)."""

import concurrent.futures
import os
import random
import subprocess

import harness

OUTLIERS = ("host03", "host11", "host17", "host24", "host38")   # three times the bytes
LEAKING = "open_session"        # in version 3: 5,000 bytes a second, in made runs
HOSTS = 40
EPOCH = 1_790_000_000 * 10**9   # when the first run began
MINUTE = 60 * 10**9


class Fleet:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.program = str(build / "tests/tools/fleet_program")
        listed = subprocess.run(["nm", self.program], capture_output=True, text=True, check=True).stdout
        words = [line.split() for line in listed.splitlines()]
        self.address = {word[2]: int(word[0], 16) for word in words if len(word) == 3}
        self.suffix = "csv.gz"      # or parquet
        self.summaries = os.path.join(folder, "summaries")
        os.makedirs(self.summaries, exist_ok=True)

    @staticmethod
    def of(number):
        """Version and host of a run: hosts have all versions."""
        return 1 + number % 3, f"host{number // 3 % HOSTS:02}"

    def record(self, number, trace):
        version, host = self.of(number)
        factor = 300 if host in OUTLIERS else 100
        subprocess.run([self.build.msrec, "-q", "-f", "-o", trace, self.program, str(version), str(factor),
                        str(number)], check=True, env=harness.plain_environment())

    def script(self, number):
        """A minute's run: the cache grows within ten seconds, requests come and go, a leak grows."""
        version, host = self.of(number)
        chance = random.Random(number)
        factor = 3 if host in OUTLIERS else 1
        stacks = ("main", "fill_cache", "build_index", "open_session", "read_request")
        yield f"process {1000 + number} {EPOCH + number * MINUTE}"
        yield f"module {self.program}"
        for i, name in enumerate(stacks[1:], 1):
            yield f"stack {i} m{self.address[name] + 8:#x} m{self.address['main'] + 8:#x}"

        def size(base):
            return int(base * factor * chance.uniform(0.98, 1.02))
        for i in range(50):
            yield f"time {i * MINUTE // 300}"
            yield f"alloc {i} malloc 1 {size(3000 if version >= 2 else 2000)}"
            yield f"alloc {100 + i} calloc 2 {size(1000 if version >= 3 else 3000)}"
        for i in range(300):
            yield f"time {MINUTE // 6 + i * (MINUTE * 5 // 6) // 300}"
            yield f"alloc {200} malloc 4 {chance.randrange(100, 200)}"
            yield "free 200"
            if version >= 3:
                yield f"alloc {300 + i} malloc 3 {size(833)}"
        yield f"end {MINUTE}"

    def summarize(self, number, recorded):
        """Makes the run's summary; returns its bytes."""
        version, host = self.of(number)
        trace = os.path.join(self.folder, f"{number}.zst")
        summary = os.path.join(self.summaries, f"{number:06}.fleet.{self.suffix}")
        if recorded:
            self.record(number, trace)
        else:
            script = os.path.join(self.folder, f"{number}.script")
            with open(script, "w", encoding="utf-8") as file:
                file.write("\n".join(self.script(number)) + "\n")
            subprocess.run([self.build / "tests/tools/script2trace", script, trace], check=True)
            os.unlink(script)
        labels = f"service={'recorded' if recorded else 'made'},version={version},host={host},commit=c{version}"
        subprocess.run([self.build / "analyze/msconvert", "-q", "-o", summary, "--label", labels, trace], check=True)
        os.unlink(trace)
        return os.path.getsize(summary)

    def make(self, recorded, made, first=0):
        """The sizes of all summaries."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda number: self.summarize(number, number < recorded),
                                 range(first, first + recorded + made)))
