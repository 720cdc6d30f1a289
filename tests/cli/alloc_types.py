#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`msreport types` knows what programs of known types allocate, at -O0 and at -O2, counts the objects, and says nothing
where it could only guess.

  alloc_types.py --build DIR
"""

import collections
import csv
import io
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import compiler, run_methods    # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))

# By type and container: bytes, objects, bytes of an object.
C_TYPES = {
    ("struct padded", None): (480 + 10 * 32, 30, 24),       # ten behind a header
    ("struct tight", None): (10 * 96 + 32 * 55 + 10 * 32 + 10 * 40, 105, 32),
    ("struct owner", None): (10 * 24, 10, 16),
    ("struct bits", None): (120, 10, 12),
    ("struct header", None): (10 * 14 + 45, 10, 4),
    ("struct whole", None): (10 * 56, None, 8),     # each with three parts of 16
    ("nameless", None): (240, 10, 24),
    ("nameless*", None): (240, 30, 8),
    ("unsigned int", None): (220, 55, 4),
    ("double", None): (5120, 640, 8),
    ("char", None): (10 * 105 - 5 + 50, 1095, 1),
}
C_UNKNOWN = {"of_either", "library_buffer", "pool_of_tight", "wrong_if_guessed", "raw"}
CPP_TYPES = {
    ("shop::item", None): (2400, 100, 24),
    ("shop::derived", None): (11 * 48, 11, 48),
    ("shop::with_destructor", None): (176, 7, 24),
    ("shop::item*", None): (88, 11, 8),
    ("std::pair<long, long>", None): (16, 1, 16),
    ("std::vector<shop::item>", None): (24, 1, 24),
    ("shop::item", "std::vector"): (1200, 50, 24),
    ("std::string", "std::vector"): (640, 20, 32),
    ("unsigned long", "std::vector<bool>"): (32, 4, 8),
    ("char", "std::string"): (960, 960, 1),
    ("shop::item", "std::list"): (200, 5, 40),
    ("std::pair<int const, shop::item>", "std::map"): (320, 5, 64),
    ("long", "std::set"): (200, 5, 40),
    ("std::pair<int const, shop::item>", "std::unordered_map"): (200, 5, 40),
    ("shop::item", "std::shared_ptr"): (40, 1, 40),
    ("shop::item", "std::deque"): (1008, 42, 24),
    ("shop::item*", "std::deque"): (64, 8, 8),
}
RUST_TYPES = {
    ("types_program::Item", "Box"): (240, 10, 24),
    ("types_program::Item", "Vec"): (720, 30, 24),
    ("u32", "Vec"): (512, 128, 4),
    ("types_program::Item", "VecDeque"): (288, 12, 24),
    ("types_program::Item", "LinkedList"): (200, 5, 40),
    ("u8", "Vec"): (6, 6, 1),
}
# Types of one size, whose vectors grow by one function when LLVM has merged their own.
RUST_TWINS = """
#[derive(Clone)] pub struct First { pub a: u64, pub b: u64, pub c: u64 }
#[derive(Clone)] pub struct Second { pub x: u64, pub y: u64, pub z: u64 }
#[inline(never)] fn firsts(n: u64) -> Vec<First> {
    let mut v = Vec::new();
    for i in 0..n { v.push(First { a: i, b: i, c: i }); }
    v
}
#[inline(never)] fn seconds(n: u64) -> Vec<Second> {
    let mut v = Vec::new();
    for i in 0..n { v.push(Second { x: i, y: i + 1, z: 3 * i }); }
    v
}
fn main() {
    let n = std::env::args().count() as u64 * 100;
    std::mem::forget((firsts(n), seconds(2 * n)));
}
"""
# Objects of two types in the slabs of a pool, as LLVM's. Prints the bytes of the slabs that each begins.
SLABS = """
#include <cstdio>
#include <cstdlib>
#include <new>
size_t begun[2];
namespace llvm { struct BumpPtrAllocator {
    char *at = nullptr, *end = nullptr;
    size_t slabs = 0;
    __attribute__((noinline)) void *Allocate(size_t size, int who) {
        if (size_t(end - at) < size) {
            const size_t slab = 4096 << slabs++ / 8;
            at = static_cast<char *>(malloc(slab)), end = at + slab, begun[who] += slab;
        }
        at += size;
        return at - size;
    }
}; }
namespace ast {
struct Pool { llvm::BumpPtrAllocator slabs; };
struct Call { long words[20]; static Call *Create(Pool &); };
struct Name { long words[3]; static Name *Create(Pool &); };
struct Text { char *bytes; static Text Create(); };
struct Table { long *words; static Table make(Pool &); };
__attribute__((noinline)) Call *Call::Create(Pool &p) { return new (p.slabs.Allocate(sizeof(Call), 0)) Call(); }
__attribute__((noinline)) Name *Name::Create(Pool &p) { return new (p.slabs.Allocate(sizeof(Name), 1)) Name(); }
__attribute__((noinline)) char *filled() { char *s = new char[8192]; s[0] = 1; return s; }
__attribute__((noinline)) Text Text::Create() {
    char *s = new char[4096];
    s[0] = filled()[1];
    return {s};
}
}
int main() {
    static ast::Pool pool;
    for (int i = 0; i < 5000; i++) {
        ast::Name::Create(pool);
        if (i % 2) ast::Call::Create(pool);
    }
    ast::Text::Create();
    printf("%zu %zu", begun[0], begun[1]);
}
"""
RUST_NAMED = {("types_program::Item", "Rc"), ("(u32, types_program::Item)", "BTreeMap"),
              ("(u32, types_program::Item)", "HashMap")}


class Tests:
    """Each method is one test."""

    def __init__(self, options, folder):
        self.build, self.folder = options.build, folder
        self.msreport = self.build.file("analyze/msreport")

    def compile(self, name, words, source):
        program = os.path.join(self.folder, name)
        subprocess.run([*words, os.path.join(HERE, source), "-o", program], check=True)
        return program

    def record(self, program):
        trace = program + ".zst"
        subprocess.run([self.build.msrec, "-q", "-f", "-o", trace, program], check=True)
        return trace

    def ask(self, trace, *words):
        done = subprocess.run([self.msreport, "-q", "types", "--format=json", "--top=1000", *words, trace],
                              capture_output=True, text=True, env={**os.environ, "MSREC_CACHE": ""})
        assert done.returncode == 0, done
        return json.loads(done.stdout)["sections"]["types"]

    @staticmethod
    def by_type(section):
        return {(row["type"], row["container"]): row for row in section["types"]}

    def compare(self, section, wanted):
        rows = self.by_type(section)
        for key, figures in wanted.items():
            row = rows.get(key)
            assert row, (key, sorted(rows, key=str))
            assert (row["bytes"], row["objects"], row["size"]) == figures, (key, row, figures)
        return rows

    def check_padding(self, section, name, objects):
        rows = {row["type"]: row for row in section["padding"]}
        wanted = {"saved_bytes": 8 * objects, "objects": objects, "size": 24, "packed_size": 16, "members": 3}
        assert rows[name] == {**wanted, "type": name}, rows

    def check_table(self, trace, section):
        """A table's stacks by type have the bytes and blocks that msreport has."""
        words = "-q", "--to=csv-stacks", "--usable=requested", "--heap-admin=0"
        done = subprocess.run([self.build.file("analyze/msconvert"), *words, trace], capture_output=True, text=True)
        assert done.returncode == 0, done
        sums = collections.defaultdict(lambda: [0, 0, 0])
        for row in csv.DictReader(io.StringIO(done.stdout)):
            of = sums[row["type"], row["container"], row["type_size"]]
            for i, column in enumerate(("inuse_bytes", "inuse_objects", "alloc_bytes")):
                of[i] += int(row[column])
            assert (row["type_trust"] != "") == (row["type"] != ""), row
        known = {key: value for key, value in sums.items() if key[0]}
        assert known == {(row["type"], row["container"] or "", str(row["size"] or "")):
                         [row["bytes"], row["blocks"], row["allocated_bytes"]] for row in section["types"]}, known
        assert sum(value[0] for value in known.values()) == section["known_bytes"], known

    def check_c(self, level):
        words = [*compiler(), "-g", level, "-fno-builtin"]
        trace = self.record(self.compile("c" + level, words, "types_program.c"))
        section = self.ask(trace)
        rows = self.compare(section, C_TYPES)
        self.check_table(trace, section)
        assert set(rows) == set(C_TYPES), set(rows) ^ set(C_TYPES)
        assert {row["function"] for row in section["unknown"]} == C_UNKNOWN, section["unknown"]
        assert rows["nameless", None]["trust"] == rows["double", None]["trust"] == "certain"
        assert rows["struct header", None]["trust"] == rows["char", None]["trust"] == "likely"
        self.check_padding(section, "struct padded", 30)
        self.check_padding(section, "nameless", 10)
        assert len(section["padding"]) == 2 and any("bit fields" in note for note in section["notes"]), section
        assert section["known_bytes"] == sum(figures[0] for figures in C_TYPES.values())
        return trace

    def test_c(self):
        self.check_c("-O0")

    def test_c_optimised(self):
        self.check_c("-O2")

    def test_c_without_sources(self):
        """Of a variable alone little is said, and nothing wrong."""
        copy = os.path.join(self.folder, "gone.c")
        shutil.copy(os.path.join(HERE, "types_program.c"), copy)
        trace = self.record(self.compile("gone", [*compiler(), "-g", "-O1", "-fno-builtin"], copy))
        os.unlink(copy)
        rows = self.by_type(self.ask(trace))
        assert rows["struct padded", None]["evidence"] == "variable", rows
        assert set(rows) <= set(C_TYPES) and all(row["trust"] == "likely" for row in rows.values()), rows
        for key, row in rows.items():
            assert row["bytes"] <= C_TYPES[key][0] and row["size"] == C_TYPES[key][2], row

    def test_a_source_that_changed(self):
        copy = os.path.join(self.folder, "changed.c")
        shutil.copy(os.path.join(HERE, "types_program.c"), copy)
        program = self.compile("changed", [*compiler(), "-g", "-O1", "-fno-builtin"], copy)
        trace = self.record(program)
        with open(copy, "r+", encoding="ascii") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace("sizeof(nameless)", "sizeof(struct tight)"))
        later = os.stat(program).st_mtime + 10
        os.utime(copy, (later, later))
        rows = self.by_type(self.ask(trace))
        assert all(row["trust"] == "likely" for row in rows.values()), rows
        assert rows["struct tight", None]["bytes"] == C_TYPES["struct tight", None][0], rows

    def test_cpp(self):
        for level in ("-O0", "-O2"):
            words = [*compiler(cxx=True), "-g", level, "-std=c++17"]
            trace = self.record(self.compile("cpp" + level, words, "types_program.cpp"))
            section = self.ask(trace)
            self.check_table(trace, section)
            rows = self.compare(section, CPP_TYPES)
            more = {key for key in rows if key not in CPP_TYPES and rows[key]["type"] != "buckets"}
            assert not more, more
            assert all(row["trust"] == "certain" for row in rows.values()), rows
            # A node is as much smaller as its element.
            self.check_padding(section, "shop::item", 100 + 50 + 42 + 5 + 1)
            assert any("base classes" in note for note in section["notes"]), section["notes"]

    def test_cpp_without_debug_information(self):
        """Names alone: the types of elements, without sizes but for numbers."""
        program = self.compile("bare", [*compiler(cxx=True), "-g", "-O0", "-std=c++17"], "types_program.cpp")
        subprocess.run(["strip", "--strip-debug", program], check=True)
        rows = self.by_type(self.ask(self.record(program)))
        assert rows["shop::item", "std::vector"]["bytes"] == 1200, rows
        assert rows["shop::item", "std::vector"]["trust"] == "likely", rows
        assert rows["shop::item", "std::vector"]["objects"] is None, rows
        assert set(rows) <= {(name, where) for name, where in CPP_TYPES} | {("buckets", "std::unordered_map")}, rows

    def test_slabs(self):
        """Without debug information: a slab counts for the type that begins it, as a sample and not as known."""
        source = os.path.join(self.folder, "slabs.cpp")
        with open(source, "w", encoding="ascii") as file:
            file.write(SLABS)
        program = self.compile("slabs", [*compiler(cxx=True), "-O2", "-fno-optimize-sibling-calls"], source)
        section = self.ask(self.record(program))
        said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        wanted = dict(zip(("ast::Call", "ast::Name"), map(int, said.split())))
        assert min(wanted.values()) > 0, wanted
        assert {(row["type"], row["container"]): row["bytes"] for row in section["types"]} == {
            (name, "slab"): size for name, size in wanted.items()}, section["types"]
        assert all((row["trust"], row["evidence"], row["objects"], row["size"]) == ("sample", "maker", None, None)
                   for row in section["types"]), section["types"]
        assert (section["known_bytes"], section["sampled_bytes"]) == (0, sum(wanted.values())), section
        assert any("slabs" in note for note in section["notes"]), section["notes"]

    def test_rust(self):
        rustc = shutil.which("rustc")
        said = rustc and subprocess.run([rustc, "--version"], capture_output=True, text=True)
        if not said or said.returncode or tuple(map(int, re.findall(r"\d+", said.stdout)[:2])) < (1, 66):
            print("no rustc, or one without black_box(): test_rust left out")
            return
        section = self.ask(self.record(self.compile("rust", [rustc, "-g"], "types_program.rs")))
        rows = self.compare(section, RUST_TYPES)
        assert RUST_NAMED <= set(rows), sorted(rows, key=str)
        self.check_padding(section, "types_program::Item", 10 + 30 + 12 + 5 + 1)

    def test_merged_functions(self):
        rustc = shutil.which("rustc")
        if not rustc or subprocess.run([rustc, "--version"], capture_output=True).returncode:
            print("no rustc: test_merged_functions left out")
            return
        source = os.path.join(self.folder, "twins.rs")
        with open(source, "w", encoding="ascii") as file:
            file.write(RUST_TWINS)
        rows = self.by_type(self.ask(self.record(self.compile("twins", [rustc, "-g", "-O"], source))))
        sizes = {name: rows["twins::" + name, "Vec"]["bytes"] for name in ("First", "Second")}
        assert sizes == {"First": 128 * 24, "Second": 256 * 24}, rows

    def test_type_of_the_compiler(self):
        if platform.machine() != "x86_64":
            return
        section = self.ask(self.record(self.compile("call-site", compiler(), "types_call_site.S")))
        row = self.compare(section, {("node", None): (72, 3, 24)})["node", None]
        assert (row["trust"], row["evidence"]) == ("certain", "compiler"), row
        self.check_padding(section, "node", 3)

    def test_damaged_debug_information(self):
        """Whatever DWARF says, there is an answer, soon."""
        program = self.compile("damaged", [*compiler(), "-g", "-O2", "-fno-builtin"], "types_program.c")
        trace = self.record(program)
        listed = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
        parts = [(int(at, 16), int(size, 16)) for at, size in
                 re.findall(r"\.debug_(?:info|abbrev)\s+PROGBITS\s+\w+\s+(\w+)\s+(\w+)", listed)]
        assert len(parts) == 2, listed
        with open(program, "rb") as file:
            whole = file.read()
        for seed in range(40):
            dice, data = random.Random(seed), bytearray(whole)
            for _ in range(dice.choice((1, 10, 100, 1000))):
                at, size = dice.choice(parts)
                place, length = dice.randrange(size), dice.choice((1, 1, 4, 32))
                source = dice.randrange(size)
                length = min(length, size - place, size - source)
                data[at + place:at + place + length] = (
                    data[at + source:at + source + length] if dice.random() < 0.5 else dice.randbytes(length))
            with open(program, "wb") as file:
                file.write(data)
            done = subprocess.run([self.msreport, "-q", "types", "--format=json", trace], capture_output=True,
                                  timeout=60, env={**os.environ, "MSREC_CACHE": ""}, check=False)
            assert done.returncode == 0 and json.loads(done.stdout), (seed, done)

    def test_other_moments(self):
        trace = self.check_c("-O1")
        at_end = self.by_type(self.ask(trace, "--at=end"))
        assert at_end["nameless", None]["bytes"] == at_end["nameless", None]["end_bytes"] == 240, at_end
        none = self.ask(trace, "--at=0")
        assert none["bytes"] == 0 and self.by_type(none)["nameless", None]["calls"] == 10, none

    def test_formats(self):
        trace = self.check_c("-O1")
        said = {"csv": "types,types,240,", "markdown": "| nameless |", "text": "Reorder the members"}
        for form, wanted in said.items():
            done = subprocess.run([self.msreport, "-q", "types", "--format=" + form, trace],
                                  capture_output=True, text=True)
            assert done.returncode == 0 and wanted in done.stdout, done


if __name__ == "__main__":
    sys.exit(run_methods(__doc__, Tests))
