#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreport on recordings of real programs: names, hidden frames, resident memory, terminals, JSON and its schema, and
the examples of its manual page.

  report.py --build DIR --source DIR [--long]
"""

import csv
import io
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import compiler, run_methods    # noqa: E402

try:
    from jsonschema import Draft202012Validator
except ImportError:     # its version 3 lacks it
    Draft202012Validator = None

SECTIONS = ("overview", "peak", "leaks", "growth", "steps", "churn", "savings", "sizes", "spans", "threads",
            "libraries", "functions", "lines", "types", "errors", "rss", "brief")


def strict(schema):
    """The schema, but a member that it doesn't describe is an error."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: value if key == "$defs" else strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        schema["unevaluatedProperties"] = False
    return schema

SECTIONS = ("overview peak leaks growth steps churn savings sizes spans threads libraries functions lines types errors "
            "rss brief").split()


class Tests:
    """Each method is one test."""

    def __init__(self, options, folder):
        self.build, self.folder, self.source = options.build, folder, options.source
        self.tests, self.repeats = (200, 100) if options.long else (40, 1)
        self.msreport = self.build.file("analyze/msreport")
        with open(os.path.join(options.source, "docs/msreport.schema.json"), encoding="utf-8") as file:
            self.schema = json.load(file)
        with open(os.path.join(options.source, "docs/man/msreport.1.scd"), encoding="utf-8") as file:
            self.page = file.read()
        self.trace = self.record("cxx", self.build.file("tests/cli/sites"))
        self.python = self.record("python", sys.executable, "-c",
                                  "x = [str(i) * 9 for i in range(30000)]; y = list(map(bytes, range(999)))")

        self.steps = self.record("steps", "--usable=yes", self.build.file("tests/cli/steps_program"))

    def record(self, name, *command, also=()):
        """The command may begin with options of msrec; `also`: statuses that are as good as 0."""
        trace = os.path.join(self.folder, name + ".zst")
        with open(trace + ".out", "wb") as out:
            done = subprocess.run([self.build.msrec, "-q", "-f", "-o", trace, *command], stdout=out,
                                  stderr=subprocess.DEVNULL, check=False)
        assert done.returncode in (0, *also), (command, done)
        return trace

    def ask(self, *words, status=0, **more):
        done = subprocess.run([self.msreport, "-q", *words], capture_output=True, text=True, **more)
        assert done.returncode == status, (words, done)
        return done.stdout

    def answer(self, *words):
        return json.loads(self.ask("--format=json", *words))["sections"]

    def odd_traces(self):
        """Of a program that was recorded late; without events, without sizes, cut before its first event."""
        source, program = os.path.join(self.folder, "late.c"), os.path.join(self.folder, "late")
        with open(source, "w", encoding="ascii") as file:
            file.write('#include <stdlib.h>\n#include "msrec.h"\nint main(void) { void *early = malloc(9); '
                       "msrec_on(); free(early); return !malloc(7); }\n")
        subprocess.run([*compiler(), "-I", os.path.join(self.source, "trace-record/include"), "-o", program, source],
                       check=True)
        late = self.record("late", "--dormant", program)
        assert self.answer("errors", late)["errors"]["before"] == 1
        cut = os.path.join(self.folder, "no_event.zst")
        with open(self.python, "rb") as whole, open(cut, "wb") as file:
            file.write(whole.read(3000))
        yield late, 0
        yield cut, 1
        for text in ("end 5000000000\n", "end 0\n", "stack 0 0x1000\nalloc 0 malloc 0 0\nend 2000000000\n",
                     "stack 0 0x1000\ncall malloc 0 18446744073709551615\nend 2000000000\n"):
            yield self.scripted(text), 0

    def test_odd_traces(self):
        """All sections in all formats, and JSON by the schema."""
        validator = Draft202012Validator and Draft202012Validator(strict(self.schema))
        for trace, status in self.odd_traces():
            for words in ((), ("--size=1-",), ("--lifetime=0calls",), ("--until=0",)):
                document = json.loads(self.ask("--format=json", *SECTIONS, *words, trace, status=status))
                errors = [e.message for e in validator.iter_errors(document)] if validator else []
                assert not errors, (trace, words, errors[:5])
                for form in "text", "markdown", "csv":
                    self.ask("--format=" + form, *SECTIONS, *words, trace, status=status)

    def test_made_traces(self):
        """All sections of the traces that fuzzing has left, some of them damaged, come to an end of their own."""
        recipes = sorted(pathlib.Path(self.source, "tests/fuzz/corpus/reader").iterdir())
        assert len(recipes) > 10, recipes
        for recipe in recipes:
            trace = os.path.join(self.folder, "made.zst")
            subprocess.run([self.build.file("tests/fuzz/cook"), recipe, trace], check=True)
            done = subprocess.run([self.msreport, *SECTIONS, trace], capture_output=True)
            assert done.returncode >= 0 and b"Sanitizer" not in done.stderr, (recipe, done)

    def test_pages_alone(self):
        """Sections of blocks say that there are none; with one block they don't."""
        source, program = os.path.join(self.folder, "pages.c"), os.path.join(self.folder, "pages")
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <stdlib.h>\nint main(int argc, char **argv) { return argc > 1 && !malloc(9); }\n")
        subprocess.run([*compiler(), "-o", program, source], check=True)
        said = "The trace has pages and no blocks: msreplay --pages-as-heap=yes shows them."
        for words, expected in (("--pages", program), True), (("--pages", program, "1"), False), ((program,), False):
            trace = self.record("pages", *words)
            for section in SECTIONS[:-1]:
                assert (said in self.ask(section, trace)) == expected, (words, section)

    def test_schema(self):
        if Draft202012Validator is None:
            return "python3-jsonschema 4 is not installed"
        Draft202012Validator.check_schema(self.schema)
        validator = Draft202012Validator(strict(self.schema))
        for trace in (self.trace, self.python, self.steps):
            for words in (SECTIONS, ("peak", "leaks", "growth", "churn", "--by=library"), ("peak", "--by=type"),
                          ("peak", "--by=thread", "--at=end"), ("growth", "--by=size"), ("--stack=1",), ("--stack=c",),
                          ("--span=*",), ("--span=each:*",), ("--span=thread",), ("--span=every:1ms",),
                          ("--check=peak<=1G", "--check=errors==0", "--check=peak(fn~a)>=0"),
                          ("--diff", self.python, "--figure=all"), ("--diff", self.trace, "--by=library"),
                          ("--diff", self.trace, "--diff", self.python, "--figure=end,life")):
                document = json.loads(self.ask("--format=json", *words, trace))
                errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(document)]
                assert not errors, errors[:5]
        return None

    def test_json_is_small(self):
        """About 4 KB a section; what is left out is counted, and is there with --top."""
        left = 0
        for section in SECTIONS:
            text = self.ask("--format=json", section, self.python)
            assert len(text) < 4200, (section, len(text))
            few, many = (json.loads(said)["sections"][section] for said in
                         (text, self.ask("--format=json", "--top=100000", section, self.python)))
            if section not in ("overview", "peak", "leaks", "churn", "functions", "lines"):
                continue
            for table, rows in few.items():
                if isinstance(rows, list) and rows and isinstance(rows[0], dict) and table not in ("tree", "growth"):
                    lacking = few.get("left_out", {}).get(table, 0)
                    assert len(rows) + lacking == len(many[table]), (section, table, len(rows), lacking)
                    left += lacking
        assert left > 20, left

    def test_json_of_long_names(self):
        """It stays below 4 KB: if one row of each table is too much, all but the first table may be empty."""
        lines = [f"module /lib/{'long' * 120}.so"]
        for stack in range(4):
            lines += [f"stack {stack} m{hex(0x1000 + stack)} m0x{2 * '1'}"]
        for block in range(400):
            lines += [f"time {block * 10**7}", f"alloc {block} malloc {block % 4} {100 + block % 3}"]
            if block % 3:
                lines.append(f"resize {block} {(block + 1) % 4} 900" if block % 2 else f"free {block}")
        trace = self.scripted("\n".join(lines) + "\nend 5000000000\n")
        emptied = 0
        for words in [(section,) for section in SECTIONS] + [("--span=every:100ms",)]:
            text = self.ask("--format=json", *words, trace)
            assert len(text) < 4096, (words, len(text))
            few, = json.loads(text)["sections"].values()
            many, = json.loads(self.ask("--format=json", "--top=1000", *words, trace))["sections"].values()
            tables = [key for key, rows in many.items()
                      if isinstance(rows, list) and rows and isinstance(rows[0], dict)]
            assert not tables or few[tables[0]], (words, few)
            emptied += sum(not few[key] and few["left_out"][key] == len(many[key]) for key in tables)
        assert emptied, "no table was empty"

    def test_widths(self):
        """No line is wider than the screen, and without UTF-8 all of them are ASCII."""
        for section in SECTIONS:
            for width in (40, 80):
                for locale in ("C", "C.UTF-8"):
                    done = subprocess.run([self.msreport, section, self.python], capture_output=True, text=True,
                                          check=True, encoding="utf-8",
                                          env={**os.environ, "LC_ALL": locale, "COLUMNS": str(width)})
                    wide = [line for line in done.stdout.splitlines() if len(line) > width and " " in line]
                    assert not wide, (section, width, wide[:2])
                    assert locale != "C" or done.stdout.isascii(), section
        stack = self.answer("churn", self.python)["churn"]["busiest"][0]["id"]
        shown = subprocess.run([self.msreport, "--stack=" + stack, self.python], capture_output=True, text=True,
                               check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert max(map(len, shown.stdout.splitlines())) <= 80, shown.stdout

    def test_c_locale(self):
        """ASCII alone, whatever names there are; else UTF-8 as it is."""
        source, program = (os.path.join(self.folder, name) for name in ("stra\u00dfe.c", "stra\u00dfe"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdlib.h>\nvoid *volatile kept[99];\n"
                       "__attribute__((noinline)) static void sch\u00f6n(int i) { kept[i] = malloc(99); }\n"
                       "int main(void) { for (int i = 0; i < 99; i++) sch\u00f6n(i); free(kept[0]); }\n")
        subprocess.run([*compiler(), "-g", "-o", program, source], check=True)
        trace = self.record("\u00e4", program, "caf\u00e9")
        ways = [(section,) for section in SECTIONS] + [("--function=sch\u00f6n*",), ("peak", "--by=library"),
                                                       ("leaks", "--stack=0"), ("--diff", self.trace)]
        for form in "text", "markdown":
            for words in ways:
                for locale in "C", "C.UTF-8":
                    done = subprocess.run([self.msreport, "-q", "--format=" + form, *words, trace], check=True,
                                          capture_output=True, env={**os.environ, "LC_ALL": locale})
                    said = done.stdout.decode("ascii" if locale == "C" else "utf-8")
                    if words in (("peak",), ("leaks",), ("functions",), ("overview",)):
                        name = "sch\u00f6n" if locale != "C" else "sch\\xc3\\xb6n" if form == "text" else "sch"
                        assert name in said, (words, locale, form, said)

    def test_hidden_frames(self):
        """std::vector is no site of its own; with --all-frames it is; --hide and --alloc-fn go one call further out."""
        def largest(*words):
            return self.answer("churn", "--top=1", *words, self.trace)["churn"]["busiest"][0]
        plain, bare = largest(), largest("--all-frames")
        assert plain["function"] == "fill(int)" and plain["file"].endswith("sites.cpp"), plain
        assert re.search("operator new|allocate|std::", plain["via"]), plain
        assert bare["function"].startswith(("std::", "__gnu_cxx::")) and bare["via"] is None, bare
        assert largest("--alloc-fn=fill(int)")["function"] == "main"
        assert largest("--hide=fi*")["function"] == "main"

    def test_library_types_hide_nothing(self):
        """A function that takes or returns what the C++ library has is the program's own."""
        path = os.path.join(self.folder, "takes")
        with open(path + ".cpp", "w", encoding="ascii") as file:
            file.write("#include <string>\n#include <vector>\n"
                       "void *volatile kept;\n"
                       "void takes(int, std::string *, std::string *) { kept = new char[700]; }\n"
                       "template <class T> std::vector<T> *makes(T) { kept = new char[900]; return nullptr; }\n"
                       "int main() { takes(1, nullptr, nullptr); return makes(2L) != nullptr; }\n")
        subprocess.run([*compiler(cxx=True), "-O0", "-o", path, path + ".cpp"], check=True)
        rows = {row["bytes"]: row for row in self.answer(
            "leaks", "--by=site", "--top=100", self.record("takes", path))["leaks"]["leaks"]}
        assert rows[700]["function"].startswith("takes(int, std::"), rows[700]
        assert re.match("std::vector<long.*makes<long>", rows[900]["function"]), rows[900]

    def stripped(self, name, *words):
        """Compiles NAME.c without names but those for the loader."""
        path = os.path.join(self.folder, name)
        subprocess.run([*compiler(), "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-s", "-o", path,
                        path + ".c", *words], check=True)
        return path

    def test_stripped_libraries(self):
        """A static function of a stripped library is no site if the library has a name for its caller."""
        wrapper = ("#include <stdlib.h>\n"
                   "static __attribute__((noinline)) char *get(long n) { char *p = malloc(n); *p = 1; return p; }\n")
        for name, text in (("some.c", "char *some_open(void) { return get(700) + 1; }\n"
                                      "char *some_read(void) { return get(900) + 1; }\n"),
                           ("user.c", "char *some_open(void), *some_read(void);\n"
                                      "int main(void) { return *get(50) + *some_open() + *some_read() == 1; }\n")):
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write(wrapper + text)
        library = self.stripped("some", "-shared", "-fPIC")
        os.rename(library, library + ".so")
        user = self.stripped("user", library + ".so", "-Wl,-rpath," + self.folder)
        trace = self.record("stripped", user, also=range(256))
        rows = {row["bytes"]: row for row in self.answer("leaks", "--by=site", "--top=100", trace)["leaks"]["leaks"]}
        assert (rows[700]["function"], rows[900]["function"]) == ("some_open", "some_read"), rows
        assert re.fullmatch(r"\[some.so\+0x[0-9a-f]+\]", rows[700]["via"]) and rows[700]["via"] == rows[900]["via"]
        assert re.fullmatch(r"\[user\+0x[0-9a-f]+\]", rows[50]["function"]), rows
        wrapper = f"--alloc-fn={rows[50]['function']}"
        rows = self.answer("leaks", "--by=site", wrapper, "--top=100", trace)["leaks"]["leaks"]
        outer, = [row for row in rows if row["bytes"] == 50]
        assert outer["function"] != outer["via"] and outer["via"].startswith("[user+0x"), outer
        bare = self.answer("leaks", "--by=site", "--all-frames", "--top=100", trace)["leaks"]["leaks"]
        assert 1600 in [row["bytes"] for row in bare], bare

    def test_wrappers_without_names(self):
        """What five places of a library without names call, and what is all that such a frame calls, is no site."""
        places = [f"m{0x5000 + i:#x}" for i in range(12)]
        stacks = ([f"m0x10 {place} m0xf0" for place in places[:5]] +       # malloc in a function that five places call
                  [f"m0x20 {place} m0xf0" for place in places[:4]] +       # that four call
                  [f"m0x31 m0x30 {place} m0xf0" for place in places[:6]] +    # a part of a wrapper
                  [f"m0x41 m0x40 {place} m0xf0" for place in places[:6]] +    # a function of two parts
                  [f"m0x42 m0x40 {place} m0xf0" for place in places[:6]] +
                  ["m0x10 0x99 m0xf0"])                                     # the wrapper, called back from elsewhere
        lines = [f"stack {i} {stack}" for i, stack in enumerate(stacks)]
        lines += [f"alloc {i} malloc {i} {1000 + i}" for i in range(len(stacks))]
        trace = self.scripted("module /nonexistent/prog\n" + "\n".join(lines) + "\nend 1000000\n")
        words = ("leaks", "--by=stack", "--top=100")

        def sites(*more):
            rows = self.answer(*words, *more, trace)["leaks"]["leaks"]
            pairs = {row["bytes"] - 1000: (row["function"], row["via"]) for row in rows}
            return [pairs[i] for i in range(len(stacks))]

        def named(address, via=None):
            return f"[prog+{address}]", via and f"[prog+{via}]"
        expected = ([named(place[1:], "0x10") for place in places[:5]] + [named("0x20")] * 4 +
                    [named(place[1:], "0x31") for place in places[:6]] + [named("0x41")] * 6 + [named("0x42")] * 6 +
                    [named("0x10")])
        assert sites() == expected, sites()
        assert sites("--all-frames") == [named(stack.split()[0][1:]) for stack in stacks], sites("--all-frames")

    def test_stacks_that_look_alike(self):
        """Two calls in one function: one row if lines are unknown, else two. The ages are those of all blocks."""
        path = os.path.join(self.folder, "alike.c")
        with open(path, "w", encoding="ascii") as file:
            file.write("#include <stdlib.h>\n#include <unistd.h>\nvoid *a, *b;\n"
                       "__attribute__((noinline)) void get(void)\n{\n\ta = malloc(100);\n\tusleep(30000);\n"
                       "\tb = malloc(200);\n}\nint main(void)\n{\n\tget();\n\treturn 0;\n}\n")
        seen = []
        for flag in ("-g0", "-g"):
            program = path.replace(".c", flag)
            subprocess.run([*compiler(), "-O1", "-fno-builtin", flag, "-o", program, path], check=True)
            trace = self.record("alike" + flag, program)
            for words in (("leaks",), ("leaks", "--by=stack"), ("peak", "--by=stack"), ("churn", "--by=stack")):
                section = self.answer(*words, trace)[words[0]]
                rows = section[{"leaks": "leaks", "peak": "largest", "churn": "busiest"}[words[0]]]
                seen.append([(row["bytes"], row["line"]) for row in rows if row["function"] == "get"])
                if words == ("leaks",) and flag == "-g0":
                    assert rows[0]["oldest_ns"] - rows[0]["youngest_ns"] > 25000000, rows
        assert [sorted(rows) for rows in seen] == [[(300, None)]] * 4 + [[(100, 6), (200, 8)]] * 4, seen

    def test_ids_are_those_of_other_runs(self):
        again = self.record("again", self.build.file("tests/cli/sites"))
        first, second = (self.answer("churn", "--by=stack", "--top=1000", each) for each in (self.trace, again))
        ids = [sorted(row["id"] for row in each["churn"]["busiest"]) for each in (first, second)]
        assert ids[0] == ids[1] and len(ids[0]) > 2, ids

    def test_rss(self):
        """The samples are those that msconvert's table has."""
        rows = self.answer("rss", "--top=10000", self.python)["rss"]
        msconvert = self.build.file("analyze/msconvert")
        done = subprocess.run([msconvert, "-q", "--to=csv-rss", "-o", "-", self.python], check=True,
                              capture_output=True, text=True)
        table = list(csv.DictReader(io.StringIO(done.stdout)))
        found, wanted = ([int(row["resident_bytes"]) for row in each] for each in (rows["samples"], table))
        assert found == wanted, (found, wanted)

    def scripted(self, text):
        """A trace that a script describes."""
        script, trace = (os.path.join(self.folder, name) for name in ("script", "scripted.zst"))
        with open(script, "w", encoding="ascii") as file:
            file.write(text)
        subprocess.run([self.build.file("tests/tools/script2trace"), script, trace], check=True)
        return trace

    def test_chunks_without_records(self):
        """What was found out about a chunk isn't taken for what is true of the next but one."""
        trace = self.scripted("stack 0 0x1000\nstack 1 0x2000\nalloc 0 malloc 0 10000\nalloc 1 malloc 1 70000\n"
                              "flush\nnull_frees 3\nflush\n"
                              "free 0\nalloc 2 malloc 1 5000\nalloc 3 malloc 1 6000\nfree 1\n"
                              "flush\nalloc 4 malloc 0 100\nend 1000000\n")
        dump = self.build.file("tests/tools/tracedump")
        chunks = subprocess.run([dump, trace], capture_output=True, check=True).stdout
        assert re.findall(rb"^chunk first=(\d+) .*records=(\d+)", chunks, re.M) == [
            (b"0", b"2"), (b"2", b"0"), (b"2", b"4"), (b"6", b"1")], chunks
        answer = self.answer("savings", "functions", "lines", "libraries", trace)
        lower = answer["savings"]["lower_peak"]
        assert [(row["function"], row["peak_bytes"]) for row in lower] == [("[0x2000]", 10000)], lower
        peaks = {row["function"]: row["own_peak_bytes"] for row in answer["functions"]["functions"]}
        assert peaks == {"[0x1000]": 10000, "[0x2000]": 81000}, peaks
        assert {row["own_peak_bytes"] for row in answer["lines"]["lines"]} == {10000, 81000}, answer["lines"]

    def uncounted(self, trace):
        """A copy whose FILE unit doesn't say that chunks count temporary blocks (FORMAT.md, section 4)."""
        with open(trace, "rb") as file:
            data = bytearray(file.read())
        features, size = 8 + 16 + 40, struct.unpack_from("<I", data, 4)[0]
        assert data[features] & 64, trace
        data[features] &= ~64
        data[4 + size:8 + size] = struct.pack("<I", zlib.crc32(data[8:4 + size]))
        copy = os.path.join(self.folder, "uncounted.zst")
        with open(copy, "wb") as file:
            file.write(data)
        return copy

    def test_title(self):
        """A command of several lines, or of more than the screen has, is one line that fits; no character is cut."""
        for script in ("one\n\t: two\n: " * 9, "'" + "\u00e9" * 200 + "'", "'" + "a\u00e9" * 100 + "'"):
            trace = self.record("title", "--", "sh", "-c", ": " + script)
            title = self.ask(trace, encoding="utf-8", env={**os.environ, "LC_ALL": "C.UTF-8"}).splitlines()[0]
            assert len(title) <= 80 and "\\x" not in title and "\ufffd" not in title, title
            assert title.startswith("sh -c : ") and "...   " in title and "exit 0" in title, title

    def test_sample(self):
        """Which figures of a sampled trace are no estimates is said where they stand."""
        text = "stack 0 0x1000\nalloc 0 malloc 0 100000\nalloc 1 malloc 0 8\nfree 1\nend 5000000000\n"
        for words, expected in (("sampled 65536\n", True), ("", False)):
            trace = self.scripted(words + text)
            for section in ("threads", "churn", "sizes", "leaks"):
                said = " ".join(self.ask(section, trace).split())
                assert ("counts the recorded blocks: it is no estimate" in said) == expected, (section, said)
            assert ("Estimates: the trace is a sample" in self.ask("peak", trace)) == expected

    def test_times_that_are_none(self):
        """A massif.out by instructions or bytes: a notice says that its times are no times."""
        path = os.path.join(self.folder, "massif.out")
        for unit, words in (("i", "its times are instructions"), ("B", "its times are bytes"), ("ms", None)):
            with open(path, "w", encoding="ascii") as file:
                file.write(f"desc: (none)\ncmd: program\ntime_unit: {unit}\nsnapshot=0\ntime=40000\nmem_heap_B=5\n"
                           "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n"
                           "n1: 5 (all)\n n0: 5 0x1: f (f.c:1)\n")
            done = subprocess.run([self.msreport, path], capture_output=True, text=True, check=True)
            assert ("each counts as a millisecond" in done.stderr) == bool(words), done.stderr
            assert not words or words in done.stderr, done.stderr

    def test_executed(self):
        """A trace that ends where its program executed another one says how that is recorded."""
        said = [self.ask(self.record(name, *words)) for name, words in (("left", ("sh", "-c", "exec true")),
                                                                      ("stayed", ("sh", "-c", "true; :")))]
        assert ["--trace-children=yes" in text for text in said] == [True, False], said

    def test_large_trace(self):
        """What isn't read of large traces is said, with the command that reads it."""
        large = self.scripted("stack 0 0x1000\nalloc 1 malloc 0 8\n" + "alloc 0 malloc 0 8\nfree 0\n" * 2000001)
        said = self.ask("leaks", large)
        assert "They are read with churn: msreport leaks churn " in " ".join(said.split()), said
        assert all("4 million events" in self.ask(section, large) for section in ("functions", "lines", "libraries"))
        assert [self.answer(*sections, large)["leaks"]["leaks"][0]["oldest_ns"] is None
                for sections in (("leaks",), ("leaks", "churn"))] == [True, False]
        assert "4 million" not in self.ask("leaks", self.python)

    def test_temporary_share(self):
        """The overview counts what churn counts, with and without the counts of chunks, and filtered; what came before
        a cut trace's beginning isn't temporary."""
        cut = os.path.join(self.folder, "cut.zst")
        whole = self.scripted("stack 0 0x1000\ntime 1000000\nalloc 0 malloc 0 100\nalloc 1 malloc 0 100\ntime 5000000\n"
                              "free 1\nalloc 2 malloc 0 50\nfree 2\nalloc 3 malloc 0 50\nfree 0\nend 9000000\n")
        subprocess.run([self.build.file("analyze/msconvert"), "-q", "--to=trace", "--from=3", "-o", cut, whole],
                       check=True)
        for trace, expected in ((whole, 2), (cut, 1), (self.python, None), (self.trace, None)):
            counts = [self.answer(section, trace)[section]["temporary"] for section in ("overview", "churn")]
            assert counts[0] == counts[1] and expected in (counts[0], None), (trace, counts)
            few = [self.answer(section, "--size=-60", trace)[section]["temporary"] for section in ("overview", "churn")]
            assert few[0] == few[1], (trace, few)
            older = self.uncounted(trace)
            assert self.ask(trace) == self.ask(older).replace("uncounted", os.path.basename(trace)[:-4]), trace

    def test_stack(self):
        """The life of one stack has the figures that the tables have."""
        churn = self.answer("churn", "--by=stack", "--top=1000000", self.python)["churn"]["busiest"]
        once = [row for row in churn if [other["id"] for other in churn].count(row["id"]) == 1]
        assert len(once) > 20, len(once)
        for row in once[:10]:
            stack = self.answer("--stack=" + row["id"][:12], self.python)["stack"]
            for member in ("id", "calls", "bytes", "temporary", "freed"):
                assert stack[member] == row[member], (member, stack, row)
            for member in ("life_calls_p50", "life_ns_p50"):
                assert stack.get(member) == row[member], (member, stack, row)
            assert stack["live_bytes"][-1] == stack["end_bytes"] and len(stack["frames"]) > 2, stack

    def test_pipes(self):
        """A FIFO is opened once, and read as the file is, with filters, too."""
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        for words in (("peak",), ("sizes", "--size=1k-"), ("peak", "leaks", "--from=0.01")):
            with subprocess.Popen(["cp", self.python, fifo], stderr=subprocess.DEVNULL) as writer:
                try:
                    assert (self.ask(*words, "--format=csv", fifo, timeout=60) ==
                            self.ask(*words, "--format=csv", self.python)), words
                finally:
                    writer.kill()
                assert writer.wait() == 0, words

    def test_threads_of_steps(self):
        """One thread makes the step, another one takes back most of it. Slack is what the program itself found."""
        with open(self.steps + ".out", encoding="ascii") as file:
            slack, size = int(file.read()), 10007
        answer = self.answer("--size=10007", "steps", "sizes", self.steps)
        steps, sizes = answer["steps"], answer["sizes"]
        assert [step["bytes"] for step in steps["steps"]] == [200 * size, -150 * size], steps
        loader, first = steps["threads"]
        assert (loader["step"], loader["bytes"], loader["name"]) == (1, 200 * size, "loader"), steps
        assert (first["step"], first["bytes"]) == (2, -150 * size) and first["tid"] != loader["tid"], steps
        assert (sizes["slack_bytes"], sizes["peak_slack_bytes"]) == (slack, slack) and slack > 0, (sizes, slack)
        assert sizes["lifetimes"] == [{"from": 4096, "to": 65535, "life_0": 0, "life_1": 0, "life_16": 150,
                                       "life_256": 0, "life_4096": 0, "life_65536": 0, "end_blocks": 50}], sizes

    def test_errors(self):
        """frees_program makes each mistake; which pairs are wrong is the same rule as in tests/cli/frees.py."""
        def errors(mode, *options):
            program = self.build.file("tests/cli/frees_program")
            trace = self.record(mode, *options, program, mode, also=(-signal.SIGABRT, 128 + signal.SIGABRT))
            return self.answer("errors", "--top=1000", trace)["errors"]
        pairs = errors("pairs", "--free-stacks=yes")
        wrong = [row for row in pairs["errors"] if row["error"] == "mismatch"]
        assert pairs["mismatches"] == sum(row["count"] for row in wrong) > 20, pairs
        assert not any((row["block"], row["call"]) in (("malloc", "free"), ("calloc", "free")) for row in wrong), wrong
        for block, call in (("malloc", "delete"), ("new", "free"), ("new", "delete_array"), ("new_array", "delete")):
            assert any((row["block"], row["call"]) == (block, call) for row in wrong), (block, call, wrong)
        assert all(row["call_function"] and row["block_function"] for row in wrong), wrong
        double = errors("double")
        assert double["double_frees"] == 1 and [row["size"] for row in double["errors"]
                                                if row["error"] == "double free"] == [1234], double
        for option, n in (("--size=1234", 1), ("--thread=*", 1), ("--size=1-9", 0), ("--lifetime=0-", 0)):
            filtered = self.answer("errors", option, os.path.join(self.folder, "double.zst"))["errors"]
            assert filtered["double_frees"] == n, (option, filtered)
        assert errors("never")["unknown_blocks"] >= 1
        for records in (1, 2, 3, 4):    # the marker and the free in one chunk, and in two
            trace = self.scripted(f"records {records}\nstack 0 0x1000\nalloc 0 malloc 0 100\nfree 0\nfree_again 0\n")
            twice = self.answer("errors", trace)["errors"]
            assert (twice["double_frees"], twice["unknown_blocks"]) == (1, 0), (records, twice)
        fails = errors("fails")
        assert {"overflow", "failed", "bad alignment"} <= {row["error"] for row in fails["errors"]}, fails

    def filtered(self, trace, *words):
        """What passes the filters: calls and bytes, and the overview."""
        answer = json.loads(self.ask("--format=json", *words, trace))
        passed, overview = answer["filter"], answer["sections"]["overview"]
        assert passed["options"] == list(words), passed
        assert (passed["calls"], passed["bytes"]) == (overview["calls"], overview["bytes"]), answer
        return passed["calls"], passed["bytes"]

    def profile(self, trace, *words, wanted=lambda row: True):
        """The same by msconvert's table of stacks."""
        command = [self.build.file("analyze/msconvert"), "-q", "--to=ndjson-stacks", "-o", "-", *words, trace]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows = [row for row in map(json.loads, done.stdout.splitlines()) if wanted(row)]
        return sum(row["alloc_objects"] for row in rows), sum(row["alloc_bytes"] for row in rows)

    def test_filters(self):
        """Blocks are chosen as msconvert chooses them, and as its table of stacks says."""
        threads = self.record("threads", self.build.file("tests/cli/thread_names_program"))
        for option in ("--module=libc[.-]*so*", "--module=*/libstdc++*", "--module=nothing"):
            assert self.filtered(self.trace, option) == self.profile(self.trace, option), option
        for option in ("--thread=*", "--thread=w*", "--thread=nothing"):
            assert self.filtered(threads, option) == self.profile(threads, option), option
        functions = self.answer("functions", "--top=1000", self.python)["functions"]["functions"]
        names = {row["function"] for row in functions}
        assert len(names) > 50, names
        for name in sorted(names)[::len(names) // 8]:
            pattern = "--function=" + re.sub(r"([*?[])", r"[\1]", name)
            inside = self.profile(self.python, wanted=lambda row, name=name: name in (row["path"] or "").split(";"))
            assert self.filtered(self.python, pattern) == inside, (pattern, inside)
        both = self.filtered(self.trace, "--function=fill")
        assert both == self.filtered(self.trace, "--function=fill(int)") and both[0] > 100, both
        assert self.filtered(self.trace, "--function=main", "--function=fill") == self.filtered(
            self.trace, "--function=main")
        sizes = self.answer("sizes", "--top=100000", self.python)["sizes"]["commonest"]
        for word, least, most in (("1k-2KiB", 1024, 2048), ("-40", 0, 40), ("1kB-", 1000, 2**64), ("24", 24, 24),
                                  ("1.5k-3k", 1536, 3072), ("9223372036854775807-", 2**63 - 1, 2**64)):
            rows = [row for row in sizes if least <= row["size"] <= most]
            expected = sum(row["calls"] for row in rows), sum(row["calls"] * row["size"] for row in rows)
            assert self.filtered(self.python, "--size=" + word) == expected, (word, expected)

    def test_filters_keep_the_rest(self):
        """The command, its end, its threads and its resident memory stay; and lifetimes are the program's."""
        plain, few = (self.answer(*words, "overview", "rss", self.python) for words in ((), ("--size=100k-",)))
        for member in ("command", "end", "threads", "pid", "duration_ns", "peak_resident_bytes"):
            assert plain["overview"][member] == few["overview"][member], member
        assert [row["resident_bytes"] for row in plain["rss"]["samples"]] == [
            row["resident_bytes"] for row in few["rss"]["samples"]]
        churn, few = (self.answer("churn", "--by=stack", "--top=100000", *words, self.trace)["churn"]["busiest"]
                      for words in ((), ("--function=fill",)))
        whole = {row["id"]: row for row in churn}
        assert few
        for row in few:
            for member in ("calls", "temporary", "freed", "life_calls_p50", "life_calls_p99"):
                assert row[member] == whole[row["id"]][member], (member, row, whole[row["id"]])

    def test_filters_of_pages(self):
        """A page says what it is about."""
        if not self.build.has("analyze/page/web/page.html"):
            return "this build has no page"
        def page(*words):
            self.ask("--html=" + os.path.join(self.folder, "page.html"), *words, self.python)
            with open(os.path.join(self.folder, "page.html"), encoding="utf-8") as file:
                return file.read()
        said = self.ask("--size=1k-", "--function=*", "peak", self.python).split("\n")[0]
        assert said.startswith("filtered: ") and said in page("--size=1k-", "--function=*")
        assert '"filtered: ' not in page()

    def test_filters_of_msconvert(self):
        """A filtered trace, and each format of filtered blocks, has the figures of msreport's filtered answer."""
        msconvert, small = self.build.file("analyze/msconvert"), os.path.join(self.folder, "small.zst")

        def convert(*words, trace=self.python):
            done = subprocess.run([msconvert, "-q", "-o", "-", *words, trace], capture_output=True, check=False)
            assert done.returncode == 0, (words, done.stderr)
            return done.stdout
        for options in (["--size=1k-"], ["--function=_Py*", "--lifetime=5ms-"],
                        ["--module=libc[.-]*so*", "--thread=*"]):
            with open(small, "wb") as file:
                file.write(convert("--to=trace", *options))
            passed = self.filtered(self.python, *options)
            overview = self.answer(small)["overview"]
            assert passed == (overview["calls"], overview["bytes"]) and passed[0], (options, passed, overview)
            assert self.profile(self.python, *options) == passed, options
            again = os.path.join(self.folder, "again.zst")
            with open(again, "wb") as file:
                file.write(convert("--to=trace", *options, trace=small))
            # A block that was allocated as a realloc's second half is now a first one.
            if "--lifetime" not in options[-1]:
                assert self.profile(again) == passed, options
            for to in ("ndjson", "massif", "memusage", "heaptrack", "dhat", "speedscope", "callgrind", "csv-rss"):
                assert convert(f"--to={to}", *options) == convert(f"--to={to}", trace=small), (to, options)
        with open(self.python, "rb") as file:
            piped = subprocess.run([msconvert, "-q", "--to=folded", "--size=1k-", "-"], input=file.read(),
                                   stdout=subprocess.PIPE, check=True).stdout
        assert piped == convert("--to=folded", "--size=1k-") != convert("--to=folded")

    def test_filters_of_growth(self):
        """Allocated after one moment and live at another: growth says so by itself, and leaks of what passes."""
        end = self.answer(self.python)["overview"]["duration_ns"] // 1000000
        times = f"--from={end // 3}", f"--until={end * 2 // 3}"
        growth, = self.answer("growth", *times, self.python).values()
        leaks, = self.answer("leaks", "--no-suppressions", *times, self.python).values()
        assert (growth["bytes"], growth["blocks"]) == (leaks["bytes"], leaks["blocks"]) and growth["bytes"], growth
        assert "filter" not in json.loads(self.ask("--format=json", "growth", *times, self.python))

    def test_filters_of_odd_traces(self):
        """Damaged ones, ones from a pipe, in part or as a sample; and those that can't say."""
        with open(self.python, "rb") as file:
            content = file.read()
        whole = self.ask("--size=1k-", "--format=csv", "sizes", self.python)
        assert self.ask("--size=1k-", "--format=csv", "sizes", "-", input=None, stdin=open(self.python, "rb")) == whole
        damaged = os.path.join(self.folder, "damaged.zst")
        with open(damaged, "wb") as file:
            file.write(content[:len(content) * 2 // 3])
        cut = self.ask("--size=1k-", "peak", damaged, status=1)
        assert cut.startswith("filtered: --size=1k-: ") and "damage or cut" in cut, cut
        part = os.path.join(self.folder, "part.zst")
        end = self.answer(self.python)["overview"]["duration_ns"] // 1000000
        subprocess.run([self.build.file("analyze/msconvert"), "-q", f"--from={end // 2}", "-o", part, self.python],
                       check=True)
        live, few = (self.answer(*words, "--at=end", "peak", part)["peak"]["bytes"] for words in ((), ("--size=1k-",)))
        assert 0 < few < live and few == self.answer("--at=end", "--size=1k-", "peak", self.python)["peak"]["bytes"]
        sample = self.record("sample", "--sample=4096", sys.executable, "-c", "x = [str(i) * 9 for i in range(30000)]")
        assert "Estimates" in self.ask("--size=1k-", "peak", sample)
        without = self.record("without", "--identity=no", self.build.file("tests/cli/sites"))
        assert self.filtered(without, "--size=64-") == self.filtered(self.trace, "--size=64-")
        for option in ("--thread=1", "--lifetime=1s-", "--from=1ms"):
            done = subprocess.run([self.msreport, "leaks", option, without], capture_output=True, text=True)
            assert done.returncode == 64 and f"{option.split('=')[0]}: which block" in done.stderr, done

    def planted(self, program, *mode):
        return self.record("-".join([program, *mode]), self.build.file(f"tests/cli/{program}"), *mode)

    def changes(self, *words):
        """What --diff lists, by figure: (list, function, change)."""
        sections = self.answer("--top=1000", "--figure=all", *(str(word) for word in words))
        return {name[len("diff_"):]: {(which, row["function"], row["change"])
                                      for which in ("grew", "shrank", "new", "gone") for row in section[which]}
                for name, section in sections.items() if name != "diff"}

    def test_diff_finds_what_was_planted(self):
        """Each regression, between two runs of one build and between two builds; nothing else."""
        for program in ("planted", "planted_next"):
            old = self.planted("planted")
            leak = self.changes("--diff", old, self.planted(program, "leak"))
            assert {row[2] for row in leak["end"]} == {200 * 48}, leak
            assert {row[2] for row in leak["calls"]} == {200}, leak
            call = self.changes("--diff", old, self.planted(program, "call"))
            assert not call["end"] and {row[2] for row in call["calls"]} == {200}, call
            peak = self.changes("--diff", old, self.planted(program, "peak"))
            assert {row[::2] for row in peak["peak"]} == {("grew", 3200)}, peak
            assert not peak["calls"] and not peak["end"], peak
            double = self.changes("--diff", old, self.planted(program, "double"))
            assert {row[::2] for row in double["peak"]} == {("grew", 8192)}, double
            assert not double["calls"] and not double["end"], double

    def test_diff_of_unchanged_repeats(self):
        """Runs of one build, and of one version and the next without a regression: no change of any figure."""
        first, following = self.planted("planted"), self.planted("planted_next")
        changes = self.changes("--diff", first, following)
        assert not any(changes.values()), changes
        for _ in range(10):
            again = self.record("again", self.build.file("tests/cli/planted"))
            changes = self.changes("--diff", first, again)
            assert not any(changes.values()), changes

    def test_diff_names_what_was_renamed(self):
        sections = self.answer("--diff", self.planted("planted"), self.planted("planted_next"))
        stacks = {row["stacks_are"]: row["stacks"] for row in sections["diff"]["matching"]}
        assert stacks == {"moved": 3}, stacks

    def test_diff_of_several(self):
        """What is within the noise of several runs is no change."""
        runs = [self.record(f"noise{n}", sys.executable, "-c", f"x = [0] * {20000 + 500 * n}") for n in range(4)]
        assert self.changes("--diff", runs[0], runs[2])["peak"]
        assert not self.changes("--diff", *runs[:3], runs[3])["peak"]
        far = self.record("far", sys.executable, "-c", "x = [0] * 90000")
        assert any(row[0] == "grew" and row[2] > 500000 for row in self.changes("--diff", *runs, far)["peak"])

    def test_diff_of_filtered_blocks(self):
        """Filters choose the blocks of both."""
        old, new = self.planted("planted"), self.planted("planted", "leak")
        assert {row[2] for row in self.changes("--diff", old, new, "--size=48")["end"]} == {200 * 48}
        assert not any(self.changes("--diff", old, new, "--size=100-").values())
        assert self.changes("--diff", old, "--until=5", self.python) == self.changes(
            "--diff", old + "@5", self.python + "@5")

    def test_diff_of_moments(self):
        """FILE@TIME is the trace that msconvert cuts there, and a file of that very name comes first."""
        convert = self.build.file("analyze/msconvert")
        cut = os.path.join(self.folder, "python@5.zst")
        subprocess.run([convert, "-q", "--to=trace", "--until=5", "-o", cut, self.python], check=True)
        changes = self.changes("--diff", self.python + "@5ms", cut)
        assert not any(changes.values()), changes
        assert self.changes("--diff", self.python + "@5", self.python)["calls"]
        assert "nosuch: No such file" in subprocess.run([self.msreport, "--diff", self.python, "nosuch@5ms"],
                                                            capture_output=True, text=True, check=False).stderr

    def check(self, *words, status=0, **more):
        done = subprocess.run([self.msreport, "-q", *words], capture_output=True, text=True, **more)
        assert done.returncode == status, (words[:5], done.returncode, done.stderr, done.stdout[:900])
        return done.stdout

    def suite(self, name, program, regressions):
        """Records a script of tests, the modes of some of which are given; returns the traces."""
        n = self.tests
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        shutil.copy(self.build.file(f"tests/cli/{program}"), os.path.join(folder, "planted"))
        script = "".join(f"PLANTED={regressions.get(i, '')} {folder}/planted {i}\n" for i in range(n))
        subprocess.run([self.build.msrec, "-q", "--trace-children=yes", "-o", os.path.join(folder, "%e.%p.zst"), "sh",
                        "-c", script], check=True)
        traces = sorted(os.path.join(folder, each) for each in os.listdir(folder) if each.startswith("planted."))
        assert len(traces) == n, traces
        return traces

    def test_check_of_a_suite(self):
        """A baseline of many tests: unchanged ones keep to it, in the next version too; each regression is found."""
        file = os.path.join(self.folder, "heap.check")
        limits = "--check=peak<=+2%", "--check=end<=+0", "--check=calls<=+0"
        self.check(f"--check={file}", *limits, "--update", *self.suite("first", "planted", {}))
        with open(file, encoding="utf-8") as baseline:
            text = baseline.read()
        assert text.count("\nrun planted") == self.tests and text.startswith("limit peak <= +2%\n"), text
        for _ in range(self.repeats):
            self.check(f"--check={file}", *self.suite("again", "planted", {}))
            shutil.rmtree(os.path.join(self.folder, "again"))
        traces = self.suite("next", "planted_next", {3: "leak", 11: "call", 22: "peak", 33: "double"})
        section = json.loads(self.check(f"--check={file}", "--format=json", *traces, status=1))["sections"]["check"]
        exceeded = {(row["run"].split()[-1], row["subject"]) for row in section["limits"]
                    if row["status"] == "exceeded"}
        assert exceeded == {("3", "end"), ("3", "calls"), ("3", "peak"), ("11", "calls"), ("22", "peak"),
                            ("33", "peak")}, exceeded
        assert section["unverified"] == 0 and section["within"] == 3 * self.tests - len(exceeded), section
        guilty = {(row["run"].split()[-1], row["limit"], row["function"]) for row in section["blame"]}
        assert ("33", "peak", "make_buffer") in guilty and ("22", "peak", "make_table") in guilty, guilty
        assert ("3", "end", "next_line") in guilty and ("11", "calls", "next_line") in guilty, guilty
        with open(file, "w", encoding="utf-8") as baseline:
            baseline.write(text.replace("run planted 3\n", "# slow\nrun planted 3\n"))
        self.check(f"--check={file}", "--update", *traces)
        with open(file, encoding="utf-8") as baseline:
            updated = baseline.read()
        assert "# slow\nrun planted 3\n\tcalls 402\n\tend 9600\n\tpeak 117792\n\tstack calls" in updated, updated

    def test_check_formats(self):
        """JUnit's XML has a case for each trace; annotations name file and line."""
        old, new = self.planted("planted"), self.planted("planted", "leak")
        words = "--diff", old, "--check=end<=+0", "--check=peak<=1G", "--check=live(at=1h)<=5", new
        suite = ElementTree.fromstring(self.check("--format=junit", *words, status=1))[0]
        assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["1", "1", "0"], suite.attrib
        assert [(case.get("classname"), case.get("name")) for case in suite] == [("planted", "planted leak")]
        failure, = suite[0]
        assert failure.tag == "failure" and failure.get("message").startswith("end is 9.38 KiB"), failure.attrib
        assert "read_line (planted.c:" in failure.text and "live(at=1h) <= 5 cannot be" in failure.text, failure.text
        unread = os.path.join(self.folder, "unread.zst")
        with open(unread, "wb") as file:
            file.write(b"no trace")
        suite = ElementTree.fromstring(self.check("--format=junit", "--check=peak<=1G", old, unread, status=2))[0]
        assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["2", "0", "1"], suite.attrib
        assert [[child.tag for child in case] for case in suite] == [[], ["error"]]
        lines = self.check("--format=github", *words, status=1).splitlines()
        assert re.match(r"::error file=[^:,]*planted\.c,line=\d+,title=planted leak::end is 9\.38 KiB", lines[0]), lines
        assert "::error title=planted leak::live" in lines[1] and lines[2].startswith("::notice "), lines
        assert "| exceeded | end &lt;= +0 |" in self.check("--format=markdown", *words, status=1)

    def test_check_of_what_cannot_be_seen(self):
        """A gate that cannot see fails; a baseline is not made of such a trace."""
        with open(self.python, "rb") as file:
            content = file.read()
        cut, file = os.path.join(self.folder, "cut.zst"), os.path.join(self.folder, "unseen.check")
        with open(cut, "wb") as out:
            out.write(content[:len(content) // 2])
        self.check("--check=peak<=1G", cut, status=2)
        self.check(f"--check={file}", "--update", cut, status=2)
        assert not os.path.exists(file)
        sample = self.record("sampled", "--sample=4096", sys.executable, "-c", "pass")
        assert "is a sample" in self.check("--check=peak<=1G", sample, status=2)
        assert "no baseline" in self.check("--check=peak<=+5%", self.python, status=2)
        assert "did not last" in self.check("--check=live(at=1h)<=1G", self.python, status=2)
        plain = self.record("plain", "--identity=no", sys.executable, "-c", "pass")
        self.check("--check=temporary<=1G", plain, status=2)

    def test_check_of_figures(self):
        """Each figure is that of the sections."""
        trace = self.record("figures", self.build.file("tests/cli/sites"))
        overview, errors = self.answer("overview", trace)["overview"], self.answer("errors", trace)["errors"]
        churn = self.answer("churn", trace)["churn"]
        leaks = self.answer("leaks", trace)["leaks"]["bytes"]
        fill = [row for row in churn["busiest"] if row["function"] == "fill(int)"][0]
        largest = max(row["size"] for row in self.answer("sizes", "--top=10000", trace)["sizes"]["commonest"])
        expected = {"peak": overview["peak_bytes"], "end": overview["end_bytes"], "leaked": leaks,
                    "bytes": overview["bytes"], "calls": overview["calls"], "temporary": churn["temporary"],
                    "largest": largest, "threads": overview["threads"], "live(at=1h)": None,
                    "errors": sum(errors[key] for key in ("mismatches", "double_frees", "unknown_blocks")),
                    "calls(fn=fill)": fill["calls"], "calls(fn=fill(int))": fill["calls"],
                    "bytes(stack~sites.cpp,fn~^fil)": fill["bytes"], "calls(fn=nothing)": 0,
                    "calls(fn=fil*)": fill["calls"], "calls(fn=*ill*)": fill["calls"], "calls(fn=il*)": 0,
                    "calls(fn=fill(i*))": 0}
        words = [f"--check={subject}>=0" for subject in expected]
        section = json.loads(self.check("--format=json", *words, trace, status=2))["sections"]["check"]
        assert {row["subject"]: row["value"] for row in section["limits"]} == expected, section
        moment = self.answer("peak", "--at=2ms", self.python)["peak"]["bytes"]
        self.check(f"--check=live(at=2ms)=={moment}", self.python)

    def terminal(self, rows, **environment):
        """What msreport prints on a terminal."""
        master, slave = pty.openpty()
        env = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "COLUMNS": "80", **environment}
        command = [self.msreport, "-q", *rows, self.python]
        with subprocess.Popen(command, stdout=slave, stderr=slave, env=env) as process:
            os.close(slave)
            text = b""
            while True:
                try:
                    piece = os.read(master, 65536)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
        os.close(master)
        assert process.returncode == 0, (process.returncode, text)
        return text.decode()

    def test_terminal(self):
        colours = self.terminal([], MSREPORT_PAGER="")
        assert "\033[1m" in colours and "\u2588" in colours, colours
        lines = colours.rstrip().split("\n")
        assert len(lines) <= 23, len(lines)
        assert max(len(re.sub(r"\033\[[0-9]*m|\r", "", line)) for line in lines[:-1]) <= 80
        plain = self.terminal([], MSREPORT_PAGER="", NO_COLOR="1")
        assert "\033" not in plain
        paged = self.terminal(["functions"], MSREPORT_PAGER="sed 's/^/paged: /'", NO_COLOR="1")
        assert all(line.startswith("paged: ") for line in paged.replace("\r", "").strip("\n").split("\n")), paged
        assert "Functions" in self.terminal(["functions", "--top=2000"], MSREPORT_PAGER="head -n 1", NO_COLOR="1")

    def test_examples(self):
        """The commands of the manual page's examples."""
        text = self.page.split("# EXAMPLES")[1].split("\n# ")[0]
        commands = [line for block in re.findall(r"```\n(.*?)```", text, re.S) for line in block.splitlines()]
        assert len(commands) > 6, commands
        folder = os.path.join(self.folder, "examples")
        os.makedirs(folder, exist_ok=True)
        os.symlink(self.build.file("tests/cli/sites"), os.path.join(folder, "prog"))
        path = ":".join([os.path.dirname(self.msreport), os.path.dirname(self.build.msrec), os.environ["PATH"]])
        has_page = os.path.exists(os.path.join(self.build.root, "analyze/page/web/page.html"))
        for command in commands:
            page = re.search(r"--html=(\S+)", command)
            if page and not has_page:
                continue
            done = subprocess.run(command, shell=True, cwd=folder, env={**os.environ, "PATH": path},
                                  capture_output=True, text=True)
            shown = os.path.getsize(os.path.join(folder, page.group(1))) if page else done.stdout or "msrec" in command
            assert done.returncode == 0 and shown, (command, done)


def main():
    return run_methods(__doc__, Tests, "--long", ("--source", {"required": True, "help": "the source tree"}))


if __name__ == "__main__":
    sys.exit(main())
