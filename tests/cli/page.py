#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msreport --html: pages of recordings and of what can be imported, hostile names, sizes, sources, and the file itself.

  page.py --build DIR [--only WORD]

tests/tools/page_data.py reads the pages; the browser's view of them is tests/page's matter.
"""

import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import page_data                                                                      # noqa: E402
from harness import compiler, plain_environment, run_methods    # noqa: E402

LARGEST = 3000000
NODES = 20000      # that are shown
EVIL = ["</script><script>alert(1)</script>", "<!--<script>", "&lt;b&gt;\u202egnp.exe", "@DATA@", "@META@"]
SOURCE = r"""#include <stdlib.h>
#include <string.h>
void *kept[1000];
__attribute__((noinline)) void *evil(size_t n) __asm__("\"NAME\"");
__attribute__((noinline)) void *evil(size_t n)
{
	return malloc(n); /* the line that allocates: SECRET */
}
__attribute__((noinline)) void *plain(size_t n)
{
	void *p = malloc(n);
	memset(p, 1, n);
	return p;
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = i % 2 ? plain(100 + i) : evil(10);
	for (int i = 0; i < 900; i++)
		free(kept[i]);
	return 0;
}
"""
SECTIONS = ("overview", "leaks", "steps", "churn", "savings", "sizes", "threads", "libraries", "functions", "lines",
            "types", "errors", "rss")      # what views show


class Tests:
    """One program, recorded once."""

    def __init__(self, options, folder):
        self.build, self.folder = options.build, folder
        self.msreport = self.build.file("analyze/msreport")
        self.program = self.compile("prog", "evil_" + EVIL[0])
        self.trace = self.record("t.zst", self.program, *EVIL, "\udcff\udc80 no UTF-8")

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, function):
        source, program = self.path(name + ".c"), self.path(name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE.replace("NAME", function))
        subprocess.run([*compiler(), "-g", "-O1", "-fno-builtin", source, "-o", program], check=True)
        return program

    def run(self, *words, status=0, **more):
        done = subprocess.run(words, cwd=self.folder, env=plain_environment(MSREC_CACHE=""), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=300, **more)
        assert done.returncode == status, (words, done)
        return done

    def record(self, name, *words):
        self.run(self.build.msrec, "-q", "-f", "-o", name, *words)
        return self.path(name)

    def page(self, *words, status=0):
        name = self.path("page.html")
        self.run(self.msreport, "-q", f"--html={name}", *words, status=status)
        assert os.path.getsize(name) <= LARGEST, os.path.getsize(name)
        return page_data.Page(name)

    def script(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.run(self.build.file("tests/tools/script2trace"), name, name + ".zst")
        return self.path(name + ".zst")

    def check_totals(self, page):
        """The nodes' sums are the report's figures; estimates are rounded."""
        overview, nodes, n = page.report["sections"]["overview"], range(page.n), page.buckets
        found = {
            "peak": page_data.add(page.peak(node, 0, n) for node in nodes),
            "end": page_data.add(page.live(node, n) for node in nodes),
            "": page_data.add(page.allocated(node, 0, n) for node in nodes),
        }
        for what, (size, blocks) in found.items():
            prefix = what + "_" if what else ""
            assert size == overview[prefix + "bytes"], (what, size, overview)
            wanted = overview[prefix + "blocks" if what else "calls"]
            assert abs(blocks / page.block - wanted) < .51, (what, blocks, wanted)
        assert page.highest[page.highest_bucket(0, n)] == overview["peak_bytes"]

    # ---- What is shown ----

    def test_recording(self):
        page = self.page(self.trace)
        self.check_totals(page)
        plain = [node for node in range(page.n) if page.paths[node][-1] == "plain" and page.ids[node]]
        assert len(plain) == 1, plain
        assert page.allocated(plain[0], 0, page.buckets)[1] == 500
        assert page.live(plain[0], page.buckets)[1] == 50
        assert page.facts["freed"][plain[0]] == 450
        assert (page.facts["least"][plain[0]], page.facts["most"][plain[0]]) == (101, 1099)
        shown = json.loads(self.run(self.msreport, "--format=json", f"--stack={page.ids[plain[0]]}", self.trace).stdout)
        assert shown["sections"], shown
        assert any(flags & page_data.PEAK for flags in page.flags), page.flags
        assert any(flags & page_data.MARK for flags in page.flags), page.flags
        assert [name for _, name in page.marks] == ["exit handlers done"], page.marks
        assert page.spans[0][0] <= page.marks[0][0] <= page.borders[-1], (page.spans, page.marks)

    def test_hostile_names(self):
        """Markup stays text: the page has no more elements than its template."""
        page = self.page(self.trace)
        with open(self.build.file("analyze/page/web/page.html"), encoding="utf-8") as file:
            template = file.read()
        for word in ("<script", "</script", "<!--"):
            assert page.html.count(word) == template.count(word), word
        assert page.meta["page"]["command"][1:6] == EVIL, page.meta
        assert "\ufffd" in page.meta["page"]["command"][6], page.meta
        assert any("evil_" + EVIL[0] in path for path in page.paths), page.texts

    def test_long_names(self):
        trace = self.record("long.zst", self.compile("long", "x" * 100000))
        page = self.page(trace)
        self.check_totals(page)
        assert max(len(text.encode()) for text in page.texts) <= 1000
        assert len(page.html) < 1000000, len(page.html)

    def test_long_different_names(self):
        """Names that differ in their middle alone stay different functions, with the figures of each."""
        source, program, names = self.path("middles.c"), self.path("middles"), []
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdlib.h>\n")
            for i in range(4):
                names.append("x" * 800 + str(i) + "y" * 800)
                file.write(f"__attribute__((noinline)) void *{names[i]}(void) {{ return malloc({100 + i}); }}\n")
            calls = "".join(f"*(void *volatile *)&kept[{i}] = {name}();" for i, name in enumerate(names))
            file.write(f"void *kept[4];\nint main(void) {{ {calls} return 0; }}\n")
        subprocess.run([*compiler(), "-O1", "-fno-builtin", "-fno-ipa-icf", source, "-o", program], check=True)
        page = self.page(self.record("middles.zst", program))
        rows = page.report["sections"]["functions"]["functions"]
        made = {row["function"]: row["self_bytes"] for row in rows if row["function"].startswith("xxx")}
        assert sorted(made.values()) == [100, 101, 102, 103], made
        assert set(made) <= set(page.texts), page.texts

    def test_sources(self):
        page = self.page(self.trace)
        assert not page.sources and "SECRET" not in "".join(page.texts)
        page = self.page("--sources", self.trace)
        lines = page.sources[self.path("prog.c")]
        assert "SECRET" in lines[7] and sorted(lines)[0] >= 3, lines
        self.run(self.msreport, "--sources", self.trace, status=64)

    def test_sections_beside(self):
        """A section that is named is answered as without the page."""
        for section in "peak", "savings", "--span=thread", "--span=plain":
            words = [self.msreport, "-q", section, "--format=json", self.trace]
            assert self.run(*words).stdout == self.run(*words, f"--html={self.path('p.html')}").stdout, section
        assert self.run(self.msreport, "-q", f"--html={self.path('p.html')}", self.trace).stdout == b""
        self.run(self.msreport, "-q", "peak", "--html=-", self.trace, status=64)

    def test_spans(self):
        """With --span alone the page has that section, with more rows than a screen."""
        assert "spans" not in self.page(self.trace).report["sections"]
        words = "--span=plain", self.trace
        shown = self.page(*words).report["sections"]["spans"]
        assert shown["spans"] == 500 and len(shown["largest"]) == 50 and shown["left_out"]["largest"] == 450, shown
        wanted = self.run(self.msreport, "-q", "--format=json", "--top=20", *words).stdout
        assert self.page("--top=20", *words).report["sections"]["spans"] == json.loads(wanted)["sections"]["spans"]

    def test_filtered(self):
        page = self.page("--size=100-", self.trace)
        self.check_totals(page)
        assert page.report["sections"]["overview"]["calls"] == 500

    # ---- What lacks ----

    def test_sampled(self):
        trace = self.path("sampled.zst")
        self.run(self.build.msrec, "-q", "-f", "--sample=4k", "-o", trace, "sh", "-c",
                 "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); a=$a$i; done")
        page = self.page(trace)
        assert page.block == 65536 and any("sample" in note for note in page.meta["page"]["notes"]), page.meta
        self.check_totals(page)

    def test_without_identity(self):
        """What is about single blocks is left out."""
        trace = self.path("anonymous.zst")
        self.run(self.build.msrec, "-q", "-f", "--identity=no", "-o", trace, "perl", "-e",
                 "my @a; for (1..30) { push @a, 'x' x 10000; select(undef, undef, undef, 0.002) }")
        page = self.page(trace)
        self.check_totals(page)
        assert page.pairs is None and not page.knows_lives and page.meta["page"]["notes"], page.meta
        assert set(page.report["sections"]) == set(SECTIONS), page.report["sections"].keys()

    def test_cut(self):
        with open(self.trace, "rb") as file:
            data = file.read()
        with open(self.path("cut.zst"), "wb") as file:
            file.write(data[:len(data) * 2 // 3])
        page = self.page("cut.zst", status=1)
        assert page.meta["page"]["partial"] and page.meta["page"]["notes"], page.meta

    def test_imported(self):
        self.run(self.build.file("analyze/msreplay"), "-q", "-o", "massif.out", self.trace)
        page = self.page("massif.out")
        assert page.n and page.report["sections"]["overview"]["peak_bytes"]

    def test_nothing(self):
        """A program without a block, and a trace without an event."""
        page = self.page(self.script("nothing", ["end 1000000"]))
        assert page.n == 0 and page.buckets == 200, (page.n, page.buckets)

    # ---- Limits ----

    def test_many_nodes(self):
        """More nodes than are shown: the others keep sums exact."""
        rng, lines = random.Random(1), []
        for stack in range(25000):
            lines.append(f"stack {stack} " + " ".join(hex(0x1000 + rng.randrange(30)) for _ in range(6)) + " 0x100")
        for i in range(40000):
            lines += [f"time {i * 1000000}", f"alloc {i} malloc {rng.randrange(25000)} {rng.randrange(10000)}"]
            if rng.random() < .8:
                lines.append(f"free {i}")
        page = self.page(self.script("wide", lines + ["end 40000000000"]))
        assert NODES * 4 // 5 < page.n <= NODES < page.n_all, (page.n, page.n_all)
        assert sum(page.others) > 1000 and any("nodes of the call tree" in note for note in page.meta["page"]["notes"])
        self.check_totals(page)
        kept = [page.kept(node, 20, 150) for node in range(page.n)]
        growth = self.run(self.msreport, "growth", "--format=json", f"--from={page.borders[20] // 1000000}ms",
                          f"--until={page.borders[150] // 1000000 - 1}ms", "wide.zst").stdout
        growth = json.loads(growth)["sections"]["growth"]
        assert page_data.add(kept) == (growth["bytes"], growth["blocks"]), (page_data.add(kept), growth)

    def test_deep_stacks(self):
        """Long chains don't take the room of what lies near, and what lies at their ends is shown if it is worth it."""
        lines, allocations = [], []
        for stack in range(2000):
            depth, size = (200, 1000) if stack < 1000 else (3, 900)
            own = " ".join(hex(0x100000 + stack * 1000 + level) for level in range(depth))
            lines.append(f"stack {stack} {own} 0x100")
            allocations.append(f"alloc {stack} malloc {stack} {size}")
        lines.append(f"stack 2000 {' '.join(hex(0x50000000 + level) for level in range(500))} 0x100")
        allocations.append("alloc 2000 malloc 2000 1000000")
        page = self.page(self.script("deep", lines + allocations + ["end 1000000"]))
        self.check_totals(page)
        assert page.n <= NODES < page.n_all, (page.n, page.n_all)
        lengths = [len(page.paths[node]) for node in range(page.n) if page.ids[node]]
        assert 501 in lengths and lengths.count(4) == 1000, (max(lengths), lengths.count(4))
        assert lengths.count(201) > (NODES - 4000) // 200 * 4 // 5, lengths.count(201)

    def test_size(self):
        """Thousands of stacks that are busy all the time, with sizes like noise: fewer nodes are shown."""
        rng, lines = random.Random(2), []
        for stack in range(4000):
            lines.append(f"stack {stack} {hex(0x1000 + stack)} 0x100")
        blocks = [None] * 4000
        for i in range(150000):
            stack = rng.randrange(4000)
            lines.append(f"time {i * 250000}")
            if blocks[stack] is not None:
                lines.append(f"free {blocks[stack]}")
            blocks[stack] = i % 65536 if i < 65536 else blocks[stack] if blocks[stack] is not None else i % 65536
            lines.append(f"alloc {blocks[stack]} malloc {stack} {rng.randrange(1 << 40)}")
        page = self.page(self.script("noise", lines + ["end 40000000000"]))
        self.check_totals(page)
        assert os.path.getsize(self.path("page.html")) > LARGEST / 3
        self.run("env", "MSREC_CHECK=1", self.msreport, "-q", f"--html={self.path('few.html')}", "noise.zst")
        few = page_data.Page(self.path("few.html"))     # with MSREC_CHECK the limit of cells is low
        self.check_totals(few)
        assert few.n < page.n and 500 < len(few.came) <= 2000 < len(page.came) <= 400000, (few.n, len(few.came))

    # ---- The file ----

    def test_names_of_files(self):
        done = self.run(self.msreport, "-q", "--html=-", self.trace)
        assert done.stdout.startswith(b"<!") and b"</html>" in done.stdout[-100:], done.stdout[-100:]
        self.run(self.msreport, f"--html={self.trace}", self.trace, status=64)
        self.run(self.msreport, "--html=two", self.trace, "cut.zst", status=64)
        self.run(self.msreport, f"--html={self.trace}", "--diff", self.trace, self.trace, status=64)
        self.run(self.msreport, "--html=x", "--figure=end", "-o", "x", "--diff", self.trace, self.trace, status=64)
        self.run(self.msreport, "--html=two", "--sources", "--diff", self.trace, self.trace, status=64)
        self.run(self.msreport, "--html=two", "--check=peak<=1", self.trace, status=64)
        self.run(self.msreport, "peak", "--html=same", "-o", "same", self.trace, status=64)
        done = self.run(self.msreport, "--html=nowhere/p.html", self.trace, status=2)
        assert b"nowhere/p.html" in done.stderr
        done = self.run(self.msreport, "--html=p q.html", self.trace)
        assert re.search(rb"p q\.html: written; to see it: xdg-open 'p q\.html'", done.stderr), done.stderr

    def test_again(self):
        """The same trace gives the same page."""
        first = self.page(self.trace).html
        assert self.page("-j1", self.trace).html == first


def main():
    return run_methods(__doc__, Tests)


if __name__ == "__main__":
    sys.exit(main())
