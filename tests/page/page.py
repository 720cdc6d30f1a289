# SPDX-License-Identifier: MIT
"""The page of msreport --html in headless Chromium: every view is opened, brushed, searched, sorted and zoomed; its
figures are msreport's; nothing is asked of a network or written to the console; hostile names are harmless; axe-core,
which comes from npm, finds no barrier. --long: real programs. With --screens, pictures of all views at three widths in
two themes, and all of them on paper, are left in BUILD/tests/page/screens.

  page.py --build DIR [--only WORD] [--screens] [--long]
"""

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import browser  # noqa: E402
import harness  # noqa: E402
import hostile  # noqa: E402
from browser import Keys  # noqa: E402
from figures import Figures, UNKNOWN, bytes_text, count_text, text  # noqa: E402

AXE = "axe-core@4.10.3"
SHAPES = [(width, dark) for width in (360, 1280, 3000) for dark in (False, True)]
VIEWS = ("flame", "table", "leaks", "churn", "reallocs", "savings", "sizes", "types", "threads", "errors")
BY = ("sites", "functions", "lines", "stacks", "libraries")
TABLES = [{"view": "table", "by": by} for by in BY]
ANSWERS = [{"view": view} for view in ("leaks", "churn", "reallocs", "savings", "threads", "errors")]
METRICS = ("peak", "live", "kept", "allocated", "calls", "temporary", "end")
WRONG = ("NaN", "undefined", "Infinity", "[object")     # in no figure
BUDGET = 3 << 20        # bytes of a page
SCREENS = ("--screens", {"action": "store_true", "help": "leave pictures of all views"})
PYTHON = """
import json, threading
def work():
    rows = [{"id": i, "name": "item %d" % i, "tags": [str(i % 7)] * 5} for i in range(20000)]
    assert len(json.loads(json.dumps(rows))) == len(rows)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
SQL = """create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
insert into t select i, hex(randomblob(16 + i % 40)) from n;
create index tb on t(b);
select substr(b, 1, 2) k, length(group_concat(b)) from t group by k order by 2 desc limit 3;
"""
FEW = """#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *volatile block = malloc(10);
		(void)block;
	}
	_exit(argv == NULL);
}
"""
PERL = "my %h; for my $i (1 .. 2000000) { $h{$i % 5000} .= $i; } print scalar(keys %h)"
CXX = """#include <regex>
int main() { return std::regex_match("a", std::regex("a*")); }
"""
PROGRAMS = {
    "python3": ["/usr/bin/python3", "-c", PYTHON],
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "perl": ["perl", "-e", PERL],
    "c++": [*harness.compiler(cxx=True), "-O2", "-x", "c++", "-c", "-o", "/dev/null"],     # and a file
}


def axe(build):
    """The script of axe-core, installed where there is npm; and why there is none."""
    place = os.path.join(build.root, "tests/page/axe")
    path = os.path.join(place, "node_modules/axe-core/axe.min.js")
    if not os.path.exists(path):
        if not harness.have("npm"):
            return None, "axe-core is not there, nor npm to install it"
        os.makedirs(place, exist_ok=True)
        words = ("npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", place, AXE)
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return None, "npm takes too long to install axe-core"
        if done.returncode != 0 or not os.path.exists(path):
            return None, f"npm cannot install axe-core: {done.stderr.strip()[-200:]}"
    with open(path, encoding="utf-8") as file:
        return file.read(), None


def fine(shown):
    return shown and len(shown) > 40 and not any(word in shown for word in WRONG)


def printed_lightness(path):
    """Of all pages of a PDF, as 0 to 1."""
    rest = subprocess.run(["pdftoppm", "-gray", "-r", "20", path], capture_output=True, check=True).stdout
    values = []
    while rest:         # PGM, one page behind the other
        head = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255\s", rest)
        end = head.end() + int(head[1]) * int(head[2])
        values += rest[head.end():end]
        rest = rest[end:]
    return sum(values) / len(values) / 255


def check_views(seen, page, views, screens):
    """Each tab opens its view, which shows something at each width, in both themes; the page is never wider."""
    for width, dark in SHAPES:
        seen.shape(width, 900, dark)
        seen.open(page)
        assert set(views) == set(seen.ask("views")), seen.ask("views")
        for view in views:
            seen.run("document.getElementById(`tab-${arguments[0]}`).click()", view)
            seen.settle()
            assert fine(seen.text("#panel")), (view, seen.text("#panel"))
            assert seen.ask("overflow") <= 0, f"{view}: wider than {width} pixels"
            if screens:
                seen.shot(f"{screens}/{view}-{width}-{'dark' if dark else 'light'}.png")
    seen.check()


def check_accessibility(seen, build, page, views):
    """axe-core finds no barrier in any view, in both themes. Why it cannot be asked; None: it was."""
    script, why = axe(build)
    if why:
        return why
    found = []
    for dark in (False, True):
        seen.shape(1280, 900, dark)
        seen.open(page)
        seen.set(selected=3)
        seen.run(script)
        for view in views:
            seen.set(view=view)
            part = "html" if view == views[0] else "#panel"     # all else is the same in all views
            found += [(view, dark, *each) for each in seen.ask_later("violations", part, dark)]
    assert not found, "\n".join(map(str, found[:12]))
    return None


class Tests:
    """Each method is one test."""

    name = "program"

    def __init__(self, options, folder, seen):
        self.build, self.folder, self.browser = options.build, folder, seen
        self.screens = None
        if options.screens:
            self.screens = os.path.join(self.build.root, "tests/page/screens", self.name)
            shutil.rmtree(self.screens, ignore_errors=True)
        self.trace = self.record(self.name, "--free-stacks=yes", *self.command())
        self.page = self.page_of(self.trace, self.name)

    def command(self):
        return [self.build.file("tests/page/page_program")]

    def record(self, name, *words):
        trace = os.path.join(self.folder, name + ".zst")
        done = subprocess.run([self.build.msrec, "-q", "-f", "-o", trace, *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done
        return trace

    def page_of(self, trace, name, *words, status=0):
        path = os.path.join(self.folder, name + ".html")
        done = subprocess.run([self.build.file("analyze/msreport"), "-q", *words, f"--html={path}", trace],
                              stderr=subprocess.DEVNULL if status else None, check=False)
        assert done.returncode == status, done
        assert os.path.getsize(path) <= BUDGET, f"{path}: {os.path.getsize(path)} bytes"
        return path

    def open(self, page=None, **state):
        self.browser.open(page or self.page)
        if state:
            self.browser.set(**state)

    def figures(self):
        return Figures(self.browser, self.build, self.trace)

    # ---- Views ----

    def test_views(self):
        check_views(self.browser, self.page, VIEWS, self.screens)

    def test_range(self):
        """All views follow a range, and a moment; the address keeps it."""
        self.browser.shape()
        self.open()
        n = self.browser.model("bucketCount")
        for view in TABLES + [{"view": view} for view in VIEWS]:
            for a, b in ((0, n), (n // 3, n // 2), (n // 2, n // 2), (n - 1, n), (0, 1)):
                self.browser.set(**view, **{"from": a, "until": b})
                assert fine(self.browser.text("#panel")), (view, a, b, self.browser.text("#panel"))
        self.browser.set(view="table", by="functions", metric="kept", search="r", **{"from": n // 4, "until": n // 2})
        self.browser.complete()
        rows, address = self.browser.ask("rows"), self.browser.driver.current_url
        self.browser.open(self.page, address[address.index("#"):])
        self.browser.complete()
        assert rows and self.browser.ask("rows") == rows, (address, rows)
        self.browser.check()

    def test_landmarks(self):
        """Each thread has a band from its first call to its last one, and each mark a line."""
        self.browser.shape()
        self.open()
        bands, threads = self.browser.ask("bands"), self.browser.model("threads")
        spans = [(thread["start"], thread["end"]) for thread in threads if "start" in thread]
        spans.sort(key=lambda span: span[0])        # several may begin in one step of the clock
        assert len(spans) > 1 and len(bands) == min(len(spans), 6), (bands, threads)
        assert [band[0] for band in bands[:-1]] == sorted(band[0] for band in bands[:-1]), bands
        first, last = spans[0][0], max(end for _, end in spans)
        scale = (max(band[1] for band in bands) - bands[0][0]) / (last - first)
        assert all(end - begin >= 2 and "calls from" in said for begin, end, said in bands), bands
        if len(spans) <= 6:
            wide = [(band[1] - band[0], (end - start) * scale) for band, (start, end) in zip(bands, spans)]
            assert all(abs(pixels - wanted) <= 4 for pixels, wanted in wide), wide
        marks = [mark["name"] for mark in self.browser.model("marks")]
        assert self.browser.ask("marks") == len(marks) and "exit handlers done" in marks, marks

    def test_cards(self):
        """Each step has a card that says when it was, how much and who made it, and whether it came back."""
        self.browser.shape()
        self.open()
        steps = self.browser.model("meta.report.sections.steps")
        cards = self.browser.ask("cards")
        for step in steps["steps"]:
            shown = [card for card in cards if f"Step {step['step']}: " in card]
            assert len(shown) == 1, (step, cards)
            made = [row["function"] for row in steps["made_by"] if row["step"] == step["step"]]
            back = "It has not come back." if step["back_ns"] is None else "It came back at "
            assert bytes_text(abs(step["bytes"])) in shown[0] and back in shown[0], (step, shown)
            assert made and made[0] in shown[0] and re.search(r"from .* to .*s\.", shown[0]), (step, shown)
        assert len(steps["steps"]) >= 2 and any(card.startswith("×Peak: ") for card in cards), cards
        self.browser.check()

    def test_peak(self):
        """The exact peak is a border, and its card takes that moment."""
        self.browser.shape()
        self.open()
        state = self.browser.ask("takePeak")
        at, wanted = state["from"], self.browser.model("meta.report.sections.overview.peak_bytes")
        assert at == state["until"] and self.browser.model(f"borderFlags[{at}]") & 1, state
        assert sum(self.figures().by_stack("live", at, at).values()) == wanted, (at, wanted)
        self.browser.check()

    def test_brush(self):
        """A drag over the timeline chooses a range."""
        self.browser.shape()
        self.open(view="table")
        left, top, width, height = self.browser.run(
            "const box = document.querySelector('.chart').getBoundingClientRect();"
            "return [box.left, box.top, box.width, box.height]")
        for kind, part in (("mousePressed", 0.4), ("mouseMoved", 0.5), ("mouseMoved", 0.6), ("mouseReleased", 0.6)):
            self.browser.command("Input.dispatchMouseEvent", type=kind, x=left + width * part, y=top + height / 2,
                                 button="left", buttons=int(kind != "mouseReleased"), clickCount=1)
            self.browser.settle()
        now = self.browser.state()
        assert 0 < now["from"] < now["until"] < self.browser.model("bucketCount"), now
        assert " … " in self.browser.text("#panel"), self.browser.text("#panel")
        self.browser.check()

    def test_history(self):
        """Back and forward walk over what was opened."""
        self.browser.shape()
        self.open()
        # Of more than 50 entries the browser takes out some, and those first that no click has made.
        self.browser.command("Page.resetNavigationHistory")
        for view in ("table", "leaks", "sizes"):
            self.browser.set(view=view)
        for step, wanted in (("back", "leaks"), ("back", "table"), ("forward", "leaks")):
            self.browser.run(f"history.{step}()")
            assert harness.until(lambda: self.browser.state()["view"] == wanted, 10), (step, self.browser.state())
        self.browser.settle()
        assert "Leaks" in self.browser.text("#panel h2")
        self.browser.check()

    # ---- Paper ----

    def test_print(self):
        """On paper no view is wider than a page, in no theme dark, and the page that was shown is there again."""
        for dark in (False, True):
            self.browser.shape(718, 900, dark)
            self.open()
            for view in VIEWS:
                self.browser.set(view=view)
                self.browser.complete()
                part = ".crumbs" if view == "flame" else "#panel"
                before = self.browser.text(part)
                self.browser.command("Emulation.setEmulatedMedia", media="print")
                wide = self.browser.ask("overflow"), self.browser.ask("scrolled")
                self.browser.shape(718, 900, dark)
                assert wide[0] <= 0 and not wide[1], (view, wide)
                path = os.path.join(self.screens or self.folder, f"{view}-{'dark' if dark else 'light'}.pdf")
                self.browser.print(path)
                same = harness.until(lambda: self.browser.text(part) == before, 5)      # in some frames
                assert same, (view, before, self.browser.text(part))
                if harness.have("pdftoppm"):
                    assert printed_lightness(path) > 0.85, (view, dark, printed_lightness(path))
        self.browser.check()
        return None if harness.have("pdftoppm") else "pdftoppm is missing: the pages' colours aren't known"

    def test_print_table(self):
        """A table that takes several pages has its headings on each, and what isn't printed is said."""
        if not harness.have("pdftotext"):
            return "pdftotext is missing"
        self.browser.shape()
        self.open(view="table", by="lines", metric="allocated")
        path = os.path.join(self.folder, "table.pdf")
        self.browser.print(path, paperHeight=4)
        pages = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True,
                               check=True).stdout.split("\f")
        begin = next(i for i, page in enumerate(pages) if page.startswith("Lines"))
        end = next(i for i, page in enumerate(pages) if "Largest in" in page)
        table = [page for page in pages[begin:end] if re.search(r" <?\d+ ?%", page)]
        assert len(table) >= 2, pages
        assert all("Line" in page and "Share" in page and "Self" in page for page in table), table
        rows = self.browser.ask("rowCount")
        assert rows <= 60 or f"The first 60 of {rows:,} rows are printed." in "".join(pages), rows
        self.browser.check()
        return None

    # ---- Tables ----

    def test_sort(self):
        """A heading sorts by what it stands over, up and down; aria-sort says so, of one column."""
        self.browser.shape(3000, 900)
        self.open()
        for view in TABLES + ANSWERS:
            self.browser.set(**view, sort="")
            self.browser.settle()       # all rows are there behind the second frame
            n, sorted_rows = self.browser.ask("rowCount"), self.browser.ask("sorted_rows")
            assert sorted_rows, view
            for i, sorting in enumerate(sorted_rows):
                orders, rows = zip(*sorting)
                assert sorted(orders) == ["ascending", "descending"], (view, i, orders)
                assert n > len(rows[0]) or sorted(rows[0]) == sorted(rows[1]), (view, i, rows)
            self.browser.settle()
            last = sorted_rows[-1][1][1]        # what the first frame has of it
            assert last and self.browser.ask("rows")[:len(last)] == last, view
            assert self.browser.run("return document.querySelectorAll('#panel [aria-sort]').length") == 1
        self.browser.check()

    def test_order(self):
        """Rows lie in the order of the figures of all rows, and not of those in sight."""
        self.browser.shape()
        self.open(view="table", by="functions", metric="allocated", sort="-self")
        figures = self.figures()
        wanted = sorted(figures.groups("functions", "allocated", 0, figures.n)["self"].values(), reverse=True)
        for sort, values in (("-self", wanted), ("self", wanted[::-1])):
            self.browser.set(sort=sort)
            shown = [row[3] for row in self.browser.ask("rows")]
            assert shown == [text("allocated", value) for value in values[:len(shown)]], (sort, shown)
        self.browser.check()

    def test_search(self):
        """A search leaves the rows that match, in each table; so does a regular expression; and none says so."""
        self.browser.shape()
        self.open()
        for view in TABLES[:4] + [{"view": "leaks"}, {"view": "churn"}]:
            self.browser.set(**view)
            everything = self.browser.ask("rowCount")
            for search in ("LEAK_slow", "/leak_.l[ow]+ly/"):
                self.browser.set(search=search)
                assert 0 < self.browser.ask("rowCount") < everything, (view, search)
            self.browser.set(search="no such function")
            assert self.browser.ask("rowCount") == 0, view
            assert self.browser.run("return document.querySelector('#panel .grid-box').hidden"), view
            assert self.browser.text("#panel .grid-outer > .about") == "No row matches.", view
            self.browser.set(search="")
            assert self.browser.ask("rowCount") == everything, view
        self.browser.check()

    def test_rows(self):
        """The keyboard walks over all rows, those out of sight as well; Enter chooses one."""
        self.browser.shape(1280, 500)
        self.open(view="table", by="lines")
        n = self.browser.ask("rowCount")
        self.browser.run("document.querySelector('#panel tbody button').focus()")
        for i in range(n):
            assert self.browser.ask("row") == [i + 2, True], (i, self.browser.ask("row"))
            self.browser.keys(Keys.ARROW_DOWN)
        for key, row in ((Keys.HOME, 2), (Keys.PAGE_DOWN, None), (Keys.END, n + 1)):
            self.browser.keys(key)
            found = self.browser.ask("row")
            assert found[1] and row in (None, found[0]), (key, found)
        self.browser.keys(Keys.ENTER)
        assert self.browser.state()["selected"] is not None
        assert self.browser.run("return document.querySelectorAll('#panel tr.chosen[aria-current]').length") >= 1
        self.browser.check()

    def test_place(self):
        """A table that was left is where it was."""
        self.browser.shape(1280, 500)
        self.open(view="table", by="lines")
        place = "return document.querySelector('#panel .grid-box').scrollTop"
        self.browser.run(place.replace("return ", "") + " = 90")
        self.browser.complete()
        rows = self.browser.ask("rows")
        assert self.browser.run(place) == 90
        for view in ("flame", "table"):
            self.browser.set(view=view)
            self.browser.settle()
        assert harness.until(lambda: self.browser.run(place) == 90 and self.browser.ask("rows") == rows, 10), \
            (self.browser.run(place), rows, self.browser.ask("rows"))
        self.browser.check()

    # ---- Flame graph ----

    def test_flame(self):
        """All metrics in both directions; zoom by keyboard and back by Escape; search."""
        self.browser.shape()
        self.open(view="flame")
        for metric in METRICS:
            for inverted in (False, True):
                for fold in (False, True):
                    self.browser.set(metric=metric, inverted=inverted, fold=fold)
                    assert fine(self.browser.text("#panel")), (metric, inverted, fold)
        for hidden in (["*"], ["main", "x*"], []):
            self.browser.set(metric="calls", inverted=False, fold=True, hidden=hidden, zoom="")
            boxes = self.browser.ask_later("firstBoxes")
            assert sum(boxes[1:]) == boxes[0] > 0 and len(boxes) > 1, (hidden, boxes)
        self.browser.set(metric="allocated", inverted=False, search="produce")
        assert "produce" in self.browser.text("#panel")
        self.browser.set(search="")
        self.browser.run("document.querySelector('#panel [role=tree]').focus()")
        self.browser.keys(Keys.ARROW_DOWN)
        self.browser.keys(Keys.ARROW_DOWN)
        self.browser.keys(Keys.ENTER)
        zoomed = self.browser.state()["zoom"]
        assert zoomed != "", self.browser.ask("focus")
        self.browser.keys(Keys.ESCAPE)
        assert self.browser.state()["zoom"] != zoomed and self.browser.state()["selected"] is not None
        self.browser.keys(Keys.ESCAPE)
        assert self.browser.state()["selected"] is None
        self.browser.check()

    def test_folded(self):
        """Stacks of hidden calls alone have boxes as well, so that these add up to all."""
        self.browser.shape()
        self.open(view="flame", metric="allocated", hidden=["*"])
        items = "return [...document.querySelectorAll('#panel [aria-level=\"2\"]')].map(each => each.textContent)"
        assert harness.until(lambda: len(self.browser.run(items)) > 1, 10), self.browser.run(items)
        self.browser.check()

    def test_zoom(self):
        """A click zooms; back and forward undo and redo it."""
        self.browser.shape()
        self.open(view="flame", metric="allocated")
        self.browser.ask("clickBox", 2.5)
        self.browser.settle()
        zoomed = self.browser.state()["zoom"]
        assert zoomed != ""
        for step, wanted in (("back", ""), ("forward", zoomed)):
            self.browser.run(f"history.{step}()")
            assert harness.until(lambda: self.browser.state()["zoom"] == wanted, 10), (step, self.browser.state())
        self.browser.check()

    def test_hide(self):
        """A pattern hides functions, until its chip is taken away."""
        self.browser.shape()
        self.open(view="flame", metric="allocated", inverted=True)
        names = "return msrecPage.state.get().hidden.join() + ' ' + document.querySelector('#panel').textContent"
        tree = "return [...document.querySelectorAll('#panel [role=treeitem]')].map((item) => item.textContent).join()"
        assert harness.until(lambda: "churn" in self.browser.run(tree), 10)
        self.browser.run("document.querySelector('#panel form input').focus()")
        self.browser.keys("chu*", Keys.ENTER)
        assert harness.until(lambda: "churn:" not in self.browser.run(tree), 10), self.browser.run(tree)
        assert self.browser.run(names).startswith("chu* ") and "hidden: chu*" in self.browser.run(names)
        self.browser.run("document.querySelector('#panel .chip button').click()")
        assert harness.until(lambda: "churn:" in self.browser.run(tree), 10), self.browser.run(tree)
        self.browser.check()

    def test_colours(self):
        """By module, thread and lifetime, and the legend says what they mean."""
        self.browser.shape()
        self.open(view="flame")
        legends = []
        for colour, word in (("module", "page_program"), ("thread", "producer one"), ("lifetime", "")):
            self.browser.set(colour=colour)
            legends.append(self.browser.text("#panel .legend"))
            assert word in legends[-1], legends
        assert len(set(legends)) == 3 and all(legends), legends
        self.browser.check()

    def test_copy(self):
        """C copies the stack, the innermost call first."""
        self.browser.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.browser.shape()
        self.open(view="flame", metric="allocated")
        self.browser.run("document.querySelector('#panel [role=tree]').focus()")
        self.browser.keys(*[Keys.ARROW_DOWN] * 4, "c")
        box = self.browser.ask("activeBox").rsplit(": ", 1)[0]
        copied = self.browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
        lines = copied.splitlines()
        assert len(lines) > 2 and lines[0].startswith(box) and lines[-1].startswith("_start"), (box, copied)
        self.browser.check()

    def test_inverted(self):
        """From an allocating function the largest callers lead to where a stack begins, however deep it is."""
        self.browser.shape()
        self.open(view="flame", inverted=True, fold=False, metric="allocated")
        self.browser.run("document.querySelector('#panel [role=tree]').focus()")
        depth = self.browser.model("depth.reduce((most, n) => Math.max(most, n))")
        self.browser.keys(*[Keys.ARROW_DOWN] * (depth + 2))
        outermost, roots = self.browser.ask("activeBox"), self.browser.ask("rootNames")
        assert any(outermost.startswith(f"{name}: ") for name in roots), (outermost, roots)
        self.browser.check()

    # ---- Figures ----

    def test_whole(self):
        """What the page has of the whole run is what msreport says."""
        self.open()
        self.figures().check_report()
        self.browser.check()

    def test_ranges(self):
        """What is live at borders, and what is kept between two, is what msreport says."""
        self.open()
        figures = self.figures()
        for a, b in figures.pairs(random.Random(1), 50):
            figures.check_range(a, b)
        assert figures.exact_pairs >= 10, figures.exact_pairs
        self.browser.check()

    def test_events(self):
        """Bytes, calls and the peak between borders are those of the table of events."""
        self.open()
        figures = self.figures()
        figures.check_events(figures.pairs(random.Random(2), 50))
        assert figures.compared >= 50 or self.name != "program", figures.compared
        self.browser.check()

    def test_shown(self):
        """Rows show the model's figures for a range."""
        self.browser.shape(3000, 900)
        self.open()
        figures = self.figures()
        a, b = figures.n // 4, figures.n // 2
        for metric in ("live", "allocated", "calls", "kept", "peak"):
            self.browser.set(view="table", by="functions", metric=metric, sort="-all", **{"from": a, "until": b})
            wanted = sorted(figures.groups("functions", metric, a, b)["all"].values(), reverse=True)
            shown = [row[1] for row in self.browser.ask("rows")]
            assert shown == [text(metric, value) for value in wanted[:len(shown)]] and shown, (metric, shown)
        self.browser.check()

    def test_savings(self):
        """Rows and sentences are msreport's suggestions in their order, and the lower peaks its table."""
        self.browser.shape(3000, 900)
        self.open(view="savings")
        self.browser.complete()
        wanted = self.figures().ask("savings")["savings"]
        rows, lower, said = (self.browser.ask(name) for name in ("rows", "lowerPeaks", "advice"))
        assert len(rows) >= 2 and said == wanted["notes"], (said, wanted["notes"])
        for row, made in zip(rows, wanted["suggestions"], strict=True):
            saved = [count_text(made["saved_calls"]), *map(bytes_text, (made["saved_copied_bytes"],
                                                                        made["saved_peak_bytes"]))]
            assert row[0].startswith(made["function"]) and row[2] == made["what"] and row[4:7] == saved, (row, made)
        for row, made in zip(lower, wanted["lower_peak"], strict=True):
            assert row[0].startswith(made["function"]), (row, made)
            assert row[1:3] == [count_text(made["sites"]), bytes_text(made["peak_bytes"])], (row, made)
        assert wanted["sites_for_tenth"] == wanted["sites_for_half"] == len(lower) == 1, wanted
        sites, shown = "For a peak that is 50 % lower 1 site must go.", self.browser.text("#panel .advice")
        assert shown.startswith(sites), shown
        self.browser.run("document.querySelector('#panel .lower button').click()")
        self.browser.settle()
        picked = self.browser.model(f"stackId({self.browser.state()['selected']})")
        assert picked == wanted["lower_peak"][0]["id"], (picked, wanted["lower_peak"])
        self.browser.check()

    def test_types(self):
        """Rows are msreport's types in its order, and select stacks."""
        program = os.path.join(self.folder, "typed")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli/types_program.c")
        subprocess.run([*harness.compiler(), "-g", "-O1", "-fno-builtin", "-o", program, source], check=True)
        trace = self.record("typed", program)
        self.browser.shape(3000, 900)
        self.open(self.page_of(trace, "typed"))
        assert "types" in self.browser.ask("views")
        self.browser.set(view="types")
        self.browser.complete()
        wanted = Figures(self.browser, self.build, trace).ask("types")["types"]["types"]
        rows = [row[:3] + row[4:7] for row in self.browser.ask("rows")]
        assert len(wanted) > 5 and rows == [
            [row["type"], row["container"] or UNKNOWN, bytes_text(row["bytes"]), count_text(row["objects"]),
             count_text(row["size"]), row["trust"]] for row in wanted], (rows, wanted)
        self.browser.check()

    def test_spans(self):
        """Requests of a server: their spread, what became of their blocks, the largest, and what outlives them."""
        trace = self.record("requests", self.build.file("tests/cli/spans_program"), "serve", "gap", "3", "200")
        page = self.page_of(trace, "requests", "-o/dev/null", "--span=*handle_request*")
        for width in 360, 3000:
            self.browser.shape(width, 900)
            self.open(page, view="spans")
            assert self.browser.ask("overflow") <= 0, width
        self.browser.complete()
        said = Figures(self.browser, self.build, trace).ask("spans", "--span=*handle_request*", "--top=50")["spans"]
        tables = self.browser.ask("sums")
        assert [row[0] for row in tables[0]] == [row["quantile"] for row in said["distribution"]], tables[0]
        assert [row[1:4] for row in tables[0]] == [
            [count_text(row["calls"]), bytes_text(row["bytes"]), bytes_text(row["peak_bytes"])]
            for row in said["distribution"]], tables[0]
        assert [[row[0], row[1], row[3]] for row in tables[1]] == [
            [row["fate"], bytes_text(row["bytes"]), count_text(row["blocks"])] for row in said["fates"]], tables[1]
        assert [row[1:4] for row in tables[2]] == [
            [bytes_text(row["left_bytes"]), count_text(row["left_blocks"]), bytes_text(row["later_bytes"])]
            for row in said["sites"]], tables[2]
        rows = [row[2:6] + row[-1:] for row in self.browser.ask("rows")]
        wanted = [[bytes_text(row["bytes"]), bytes_text(row["peak_bytes"]), bytes_text(row["left_bytes"]),
                   bytes_text(row["later_bytes"]), count_text(row["number"])] for row in said["largest"]]
        assert len(rows) > 10 and rows == wanted[:len(rows)], (rows, wanted)
        self.browser.run("document.querySelector('#panel .outliving button').click()")
        self.browser.settle()
        assert self.browser.model(f"stackId({self.browser.state()['selected']})") == said["sites"][0]["id"]
        self.browser.check()
        return check_accessibility(self.browser, self.build, page, ("spans",))

    def test_sources(self):
        """Lines of the source with --sources alone."""
        self.open(self.page_of(self.trace, "sources", "--sources"))
        assert "source" in self.browser.ask("views")
        self.browser.set(view="source", metric="allocated")
        lines = [row for row in self.browser.ask("rows") if "void *block = malloc(size);" in row[-1]]
        assert len(lines) == 1, self.browser.ask("rows")
        made = dict(self.figures().groups("functions", "allocated", 0, self.browser.model("bucketCount"))["all"])
        allocated = [value for key, value in made.items() if key.startswith("xmalloc\n")]
        assert lines[0][1] == text("allocated", allocated[0]), (lines, allocated)
        with open(self.page, encoding="utf-8") as file:
            assert "void *block = malloc" not in file.read()
        self.browser.check()

    # ---- Other traces ----

    def odd_traces(self):
        source, program = os.path.join(self.folder, "few.c"), os.path.join(self.folder, "few")
        with open(source, "w", encoding="utf-8") as file:
            file.write(FEW)
        subprocess.run([*harness.compiler(), "-g", "-O0", "-fno-builtin", "-o", program, source], check=True)
        yield self.record("none", program), 0
        yield self.record("one", program, "1"), 0
        yield self.record("sampled", "--sample=4096", *self.command()), 0
        yield self.record("anonymous", "--identity=no", *self.command()), 0
        cut = os.path.join(self.folder, "cut.zst")
        with open(self.trace, "rb") as whole, open(cut, "wb") as part:
            part.write(whole.read()[:os.path.getsize(self.trace) // 2])
        yield cut, 1

    def test_odd(self):
        """Traces with no call, with one, of samples, without identities and cut: all views, and msreport's figures."""
        self.browser.shape()
        for trace, status in self.odd_traces():
            name = os.path.basename(trace).removesuffix(".zst")
            self.open(self.page_of(trace, name, status=status))
            n = self.browser.model("bucketCount")
            for view in TABLES[3:] + [{"view": view} for view in VIEWS]:
                for a, b in ((0, n), (n // 2, n // 2)):
                    self.browser.set(**view, **{"from": a, "until": b})
                    shown = self.browser.text("#page")
                    assert not any(word in shown for word in WRONG), (name, view, a, b, shown)
                    several = re.search(r"\b1 (blocks|calls|threads|sites|sizes|stacks|rows)\b", shown)
                    assert not several, (name, view, shown)
                    assert self.browser.ask("overflow") <= 0, (name, view)
            Figures(self.browser, self.build, trace).check_report(status)
            self.browser.check()

    # ---- Hostile names ----

    def test_unnamed(self):
        """Where functions have no names, the page says that symbols are missing, and of which file."""
        if not harness.have("strip"):
            return "strip is missing"
        stripped = os.path.join(self.folder, "stripped")
        subprocess.run(["strip", "-o", stripped, *self.command()], check=True)
        for page, wanted in ((self.page, False), (self.page_of(self.record("bare", stripped), "bare"), True)):
            self.open(page)
            said = "has no names of functions: symbols are missing of stripped" in self.browser.text(".out")
            assert said == wanted, (page, self.browser.text(".out"))
        self.browser.check()
        return None

    def test_hostile(self):
        """Names with markup, controls and 100,000 characters are shown as text, and make no page wider."""
        program = hostile.make_program(self.folder)
        if not program:
            return "the assembler refuses the names"
        trace = self.record("hostile", program, *hostile.NAMES[:-1])
        self.browser.shape()
        self.open(self.space_page(trace, "hostile")[0])
        names = self.browser.ask("functions")
        wanted = map(hostile.escaped, hostile.NAMES)
        missing = [name for name in wanted if not any(name in each for each in names)]
        assert not missing, missing
        made = "return document.querySelectorAll('script, img, b, iframe, object, embed').length"
        usual = self.browser.run(made)
        for view in self.browser.ask("views"):
            last = self.browser.model("nodeCount") - 1
            for state in ({"search": "</script>"}, {"search": "\u202e"}, {"search": "", "selected": last}):
                self.browser.set(view=view, **state)
                shown = self.browser.run("return document.body.innerText")
                assert not any(c in shown for c in "\u202e\u202c\u200b\ufeff"), view
                assert self.browser.ask("overflow") <= 0, view
                assert self.browser.run(made) == usual, view
                assert len(self.browser.text("#page")) < 2000000, view
        assert self.browser.run("return window.owned ?? null") is None
        self.browser.check()
        return None

    # ---- The address space ----

    def space_page(self, trace, name):
        """mswhatif's page, and its answer."""
        path, answer = (os.path.join(self.folder, name + end) for end in (".html", ".json"))
        subprocess.run([self.build.file("analyze/mswhatif"), "-q", "--allocator=glibc", f"--html={path}",
                        "--format=json", "-o", answer, trace], check=True)
        assert os.path.getsize(path) <= BUDGET, path
        with open(answer, encoding="utf-8") as file:
            return path, json.load(file)["sections"]

    def test_space(self):
        """Eight arenas, each full and then empty, are seen and said; the figures are mswhatif's."""
        trace = self.record("space", self.build.file("corpus/fragments"), "arenas")
        page, sections = self.space_page(trace, "space")
        for width, dark in SHAPES:
            self.browser.shape(width, 900, dark)
            self.open(page, view="space")
            assert fine(self.browser.text("#panel")) and self.browser.ask("overflow") <= 0, width
            if self.screens:
                self.browser.shot(f"{self.screens}/space-{width}-{'dark' if dark else 'light'}.png")
        assert set(self.browser.ask("views")) == {*VIEWS, "space"}
        self.browser.shape()
        self.open(page, view="space")
        shown = self.browser.text("#panel")
        run, blame = sections["whatif"]["runs"][0], sections["blame"]
        for wanted in (run["peak_resident_bytes"], run["end_resident_bytes"], blame["keepers"][0]["kept_bytes"]):
            assert bytes_text(wanted) in shown, (wanted, shown)
        assert all(note in shown for note in blame["notes"]), shown
        colours = self.browser.ask("spaceColours")
        assert colours["blue"] > 1000 and colours["red"] > 10000, colours
        self.browser.run("document.querySelector('.space').focus()")
        self.browser.keys(Keys.END)
        last = self.browser.text("#panel [role=status]")
        self.browser.keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
        first = self.browser.text("#panel [role=status]")
        assert "pages without a live block" in last and first != last and "from " in first, (first, last)
        self.browser.keys(Keys.ENTER)
        state = self.browser.state()
        assert state["from"] == state["until"], state
        self.browser.check()
        return check_accessibility(self.browser, self.build, page, ["space"])

    # ---- Accessibility ----

    def test_accessibility(self):
        return check_accessibility(self.browser, self.build, self.page, VIEWS)

    def test_keyboard(self):
        """Tab reaches the parts of the page; the focus is always in sight."""
        self.browser.shape()
        self.open(view="table")
        seen = []
        for _ in range(150):
            self.browser.keys(Keys.TAB)
            seen.append(self.browser.ask("focus"))
            if seen[-1] is None:
                break
        seen = [each for each in seen if each]
        assert {"#panel", ".timeline", "[role=tablist]", "page"} <= {each[1] for each in seen}, seen
        assert all(each[2] for each in seen), [each for each in seen if not each[2]]
        self.browser.check()


class Program(Tests):
    """A real program: what doesn't ask for this program's functions."""

    CASES = ("views", "range", "brush", "sort", "flame", "inverted", "whole", "ranges", "events", "accessibility")

    def __init__(self, options, folder, seen, name):
        self.name = name
        super().__init__(options, folder, seen)

    def command(self):
        if self.name != "c++":
            return PROGRAMS[self.name]
        path = os.path.join(self.folder, "program.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CXX)
        shown = subprocess.run([*PROGRAMS["c++"], "-###", path], capture_output=True, text=True, check=True).stderr
        return shlex.split(next(line for line in shown.splitlines() if "cc1plus" in line or "-cc1" in line))

    def cases(self):
        return [(f"{self.name}-{case}", run) for case, run in harness.methods(self) if case in self.CASES]


def main():
    options = harness.arguments(__doc__, "--only", "--long", SCREENS)
    why = browser.why_not()
    if why:
        harness.skip(why)
    if not options.build.has("analyze/page/web/page.html"):
        harness.skip("this build has no page: esbuild or node-d3 is missing")
    with harness.Scratch() as folder, browser.Browser(folder) as seen:
        if not options.long:
            return harness.run_cases(harness.methods(Tests(options, folder, seen)), None, options.only)
        cases = [case for name in PROGRAMS for case in Program(options, folder, seen, name).cases()]
        return harness.run_cases(cases, None, options.only)


if __name__ == "__main__":
    sys.exit(main())
