#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of msreport --html --diff in headless Chromium: its rows, sums and boxes are those of msreport --diff, for
recordings, moments, medians and imported files; views, lists, search, zoom, history, keyboard; hostile names; axe-core;
no request, nothing on the console. With --screens, pictures of all views are left in
BUILD/tests/page/screens/comparison.

  comparison.py --build DIR [--only WORD] [--screens]
"""

import collections
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import browser  # noqa: E402
import harness  # noqa: E402
import hostile  # noqa: E402
from browser import Keys  # noqa: E402
from figures import bytes_text  # noqa: E402
from page import BUDGET, SCREENS, check_accessibility, check_views, fine  # noqa: E402

VIEWS = ("flame", "stacks", "functions", "matching")
LISTS = ("grew", "shrank", "new", "gone")
BYTES = ("peak", "end", "bytes")
SUMS = (*BYTES, "peak-blocks", "end-blocks", "calls", "temporary")
SAID = ("change", "old", "new", "noise", "function", "was", "file", "line", "old_line", "module", "via", "caller",
        "matched", "old_id", "id")
ALL = ("--format=json", "--figure=all", "--top=1000000000")


def row_key(row):
    return tuple(row[name] for name in SAID)


def signed(figure, n):
    size = bytes_text(abs(n)) if figure in BYTES else f"{abs(n):,}"
    return f"{'-' if n < 0 else '+'}{size}"


class Tests:
    """Each method is one test."""

    def __init__(self, options, folder, seen):
        self.build, self.folder, self.browser = options.build, folder, seen
        self.screens = None
        if options.screens:
            self.screens = os.path.join(self.build.root, "tests/page/screens/comparison")
            shutil.rmtree(self.screens, ignore_errors=True)
        self.old = self.record("old", "changed_program")
        self.new = self.record("new", "changed_next")
        self.page = self.page_of("usual", self.old, self.new)

    def record(self, name, program, *words):
        trace = os.path.join(self.folder, name + ".zst")
        words = (self.build.msrec, "-q", "-f", "-o", trace, self.build.file(f"tests/page/{program}"), *words)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return trace

    def msreport(self, *words):
        done = subprocess.run([self.build.file("analyze/msreport"), "-q", *words], capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def page_of(self, name, *words, options=()):
        path = os.path.join(self.folder, name + ".html")
        self.msreport(f"--html={path}", *options, "--diff", *words)
        assert os.path.getsize(path) <= BUDGET, f"{path}: {os.path.getsize(path)} bytes"
        return path

    def convert(self, trace, to, name):
        path = os.path.join(self.folder, name)
        subprocess.run([self.build.file("analyze/msconvert"), "-q", f"--to={to}", "-o", path, trace], check=True)
        return path

    def open(self, page=None, **state):
        self.browser.open(page or self.page)
        if state:
            self.browser.set(**state)

    # ---- Figures ----

    def check_rows(self, sections):
        """Every row of every list, with all that msreport says of it."""
        for figure in self.browser.ask("changeFigures"):
            section = sections["diff_" + figure.replace("-", "_")]
            for name in LISTS:
                rows = collections.Counter(map(row_key, section[name]))
                shown = collections.Counter(map(row_key, self.browser.ask("changes", figure, name)))
                assert shown == rows, (figure, name, shown - rows, rows - shown)
                assert self.browser.ask("listed", figure, name) == len(section[name]), (figure, name)

    def check_sums(self, diff):
        """The tree comes to the totals, and to the lists' sums; of medians only the latter."""
        for row in diff["bytes"] + diff["counts"]:
            if row["figure"] not in SUMS:
                continue
            old, new, counts = self.browser.ask("changeSums", row["figure"])
            assert counts == row["grew"] + row["shrank"] + row["appeared"] + row["gone"], row
            assert new == row["new"], row
            assert old == row["old"] or diff["runs"] > 1, (row, old)

    def check(self, name, *words, options=()):
        self.open(self.page_of(name, *words, options=options))
        sections = json.loads(self.msreport(*ALL, *options, "--diff", *words))["sections"]
        assert self.browser.model("meta.report.sections.diff") == sections["diff"], name
        known = {row["figure"] for row in sections["diff"]["bytes"] + sections["diff"]["counts"]}
        assert set(self.browser.ask("changeFigures")) == known, name
        self.check_rows(sections)
        self.check_sums(sections["diff"])
        self.browser.check()
        return sections

    def test_recordings(self):
        sections = self.check("recordings", self.old, self.new)
        assert all(sections["diff_bytes"][name] for name in LISTS), sections["diff_bytes"]
        found = {row["stacks_are"] for row in sections["diff"]["matching"]}
        assert found == {"same", "renamed", "only in the old", "only in the new"}, found
        self.check("reversed", self.new, self.old)

    def test_moments(self):
        self.check("moments", f"{self.old}@1ms", f"{self.old}@end")
        self.check("at", self.old, self.new, options=("--at=1ms",))
        assert "live at 1" in self.browser.text("[aria-label=Sums]").lower(), self.browser.text("[aria-label=Sums]")

    def test_median(self):
        olds = [self.record(f"old{i}", "changed_program", str(n)) for i, n in enumerate((0, 30, 15))]
        sections = self.check("median", *olds, self.new)
        assert sections["diff"]["runs"] == 3
        self.browser.set(view="stacks", metric="calls")
        assert "Noise" in self.browser.text("#panel thead"), self.browser.text("#panel thead")

    def test_imports(self):
        massif = self.convert(self.old, "massif", "old.massif")
        heaptrack = self.convert(self.new, "heaptrack", "new.heaptrack")
        self.check("massif", massif, self.new)
        self.check("heaptrack", self.old, heaptrack)
        self.check("both", massif, heaptrack)

    def test_groups(self):
        self.check("functions", self.old, self.new, options=("--by=function",))
        self.check("libraries", self.old, self.new, options=("--by=library",))

    def test_options(self):
        """Filters, units of 1000, and the answer beside the page."""
        page = os.path.join(self.folder, "options.html")
        words = ("--figure=calls", "--si", "--function=read_file", "--diff", self.old, self.new)
        shown = self.msreport(f"--html={page}", *words)
        assert shown == self.msreport(*words), shown
        self.open(page)
        assert "read_file" in self.browser.text("footer"), self.browser.text("footer")
        self.browser.check()

    def test_shown(self):
        """Cells show these figures, the largest change first."""
        self.browser.shape(3000, 900)
        self.open(view="stacks")
        for figure in ("bytes", "calls", "end"):
            for name in LISTS:
                self.browser.set(metric=figure, list=name, sort="")
                changes = [row["change"] for row in self.browser.ask("changes", figure, name)]
                wanted = [signed(figure, n) for n in sorted(changes, key=abs, reverse=True)]
                if wanted:
                    assert [row[1] for row in self.browser.ask("rows")] == wanted, (figure, name)
                else:
                    assert self.browser.run("return document.querySelector('#panel .grid-box').hidden"), (figure, name)
        self.browser.check()

    def test_functions(self):
        """Functions add up their stacks; those that were renamed, too. Without stacks they are as --by=function."""
        options = ("--by=function",)
        sections = json.loads(self.msreport(*ALL, *options, "--diff", self.old, self.new))["sections"]
        self.browser.shape(3000, 900)
        self.open(self.page_of("by", self.old, self.new, options=options), view="functions", metric="bytes")
        for name in LISTS:
            self.browser.set(list=name)
            shown = [row[1] for row in self.browser.ask("rows")]
            assert shown == [signed("bytes", row["change"]) for row in sections["diff_bytes"][name]], (name, shown)
        self.open(view="functions", metric="calls", list="grew")
        assert [row[:2] for row in self.browser.ask("rows")] == [["next_line changed_program.c", "+100"]]
        self.browser.set(called="1")
        assert "main" in self.browser.text("#panel tbody"), self.browser.text("#panel tbody")
        self.browser.check()

    # ---- Views ----

    def test_views(self):
        check_views(self.browser, self.page, VIEWS, self.screens)

    def test_flame(self):
        """All figures, widths and directions; a search says what it comes to; zoom by keyboard, back and Escape."""
        self.browser.shape()
        self.open()
        for metric in SUMS:
            for width, inverted in (("new", True), ("old", False), ("larger", True), ("change", False)):
                self.browser.set(metric=metric, width=width, inverted=inverted)
                assert fine(self.browser.text("#panel")), (metric, width, inverted)
        self.browser.set(metric="bytes", width="larger", inverted=False, search="make_buffer")
        before, after = (self.browser.ask("changeSums", "bytes", "make_buffer")[i] for i in (0, 1))
        text = self.browser.text(".crumbs [role=status]")
        assert f"{bytes_text(after)}, {signed('bytes', after - before)}" in text and after > before, text
        self.browser.set(search="")
        self.browser.run("document.querySelector('#panel [role=tree]').focus()")
        self.browser.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        self.browser.keys(Keys.ENTER)
        zoomed = self.browser.state()["zoom"]
        assert zoomed != "", self.browser.ask("focus")
        self.browser.run("history.back()")
        assert harness.until(lambda: self.browser.state()["zoom"] == "", 10), self.browser.state()
        self.browser.run("history.forward()")
        assert harness.until(lambda: self.browser.state()["zoom"] == zoomed, 10), self.browser.state()
        self.browser.settle()       # keys are about what is drawn
        self.browser.keys(Keys.ESCAPE)
        assert self.browser.state()["zoom"] == ""
        self.browser.check()

    def test_signs(self):
        """What grew and what shrank is said in words: of boxes, of the legend, of lists."""
        self.browser.shape()
        self.open(metric="bytes", width="larger", inverted=True)
        assert harness.until(lambda: "make_buffer" in (self.browser.text("#panel [role=tree]") or ""), 10)
        tree = self.browser.text("#panel [role=tree]")
        assert "+16.0 KiB (+100 %)" in tree, tree
        assert "+ double or more, or new" in self.browser.text(".legend")
        assert "- half or less, or gone" in self.browser.text(".legend")
        self.browser.check()

    def test_tables(self):
        """Headings sort; a search leaves what matches; a row is selected; the address keeps it all."""
        self.browser.shape(3000, 900)
        self.open()
        for view in VIEWS[1:]:
            self.browser.set(view=view, metric="calls", list="grew", sort="")
            for clicks in self.browser.ask("sorted_rows"):
                assert sorted(order for order, _ in clicks) == ["ascending", "descending"], (view, clicks)
        self.browser.set(view="stacks", metric="calls", list="gone", sort="", search="")
        everything = self.browser.ask("rowCount")
        self.browser.set(search="no such function")
        assert self.browser.ask("rowCount") == 0 < everything
        self.browser.set(search="/WRITE_l.g/")
        assert self.browser.ask("rowCount") > 0
        self.browser.run("document.querySelector('#panel tbody button').click()")
        self.browser.settle()
        assert harness.until(lambda: "only in the old" in self.browser.text(".details"), 10), \
            self.browser.text(".details")
        rows, address = self.browser.ask("rows"), self.browser.driver.current_url
        self.browser.open(self.page, address[address.index("#"):])
        assert rows and self.browser.ask("rows") == rows, (address, rows)
        self.browser.run("document.querySelector('[aria-label=Sums] td a').click()")
        self.browser.settle()
        assert self.browser.state()["view"] == "stacks"
        self.browser.check()

    # ---- Hostile names, accessibility ----

    def test_hostile(self):
        program = hostile.make_program(self.folder)
        if not program:
            return "the assembler refuses the names"
        trace = os.path.join(self.folder, "hostile.zst")
        subprocess.run([self.build.msrec, "-q", "-f", "-o", trace, program, *hostile.NAMES[:-1]], check=True)
        self.browser.shape()
        self.open(self.page_of("hostile", self.old, trace))
        names = self.browser.ask("functions")
        missing = [name for name in map(hostile.escaped, hostile.NAMES) if not any(name in each for each in names)]
        assert not missing, missing
        made = "return document.querySelectorAll('script, img, b, iframe, object, embed').length"
        usual = self.browser.run(made)
        for view in VIEWS:
            for state in ({"search": "</script>"}, {"search": "", "selected": self.browser.model("nodeCount") - 1}):
                self.browser.set(view=view, list="new", metric="bytes", **state)
                shown = self.browser.run("return document.body.innerText")
                assert not any(c in shown for c in "\u202e\u202c\u200b\ufeff"), view
                assert self.browser.ask("overflow") <= 0, view
                assert self.browser.run(made) == usual, view
        assert self.browser.run("return window.owned ?? null") is None
        self.browser.check()
        return None

    def test_accessibility(self):
        return check_accessibility(self.browser, self.build, self.page, VIEWS)


def main():
    options = harness.arguments(__doc__, "--only", SCREENS)
    why = browser.why_not()
    if why:
        harness.skip(why)
    if not options.build.has("analyze/page/web/page.html"):
        harness.skip("this build has no page: esbuild or node-d3 is missing")
    with harness.Scratch() as folder, browser.Browser(folder) as seen:
        return harness.run_cases(harness.methods(Tests(options, folder, seen)), None, options.only)


if __name__ == "__main__":
    sys.exit(main())
