# SPDX-License-Identifier: MIT
"""The data of msreport's page, decoded from docs/internals/page.md alone: the twin of analyze/page/web/data.js."""

import base64
import bisect
import json
import re
import struct
import zlib

PEAK, MARK, THREAD = 1, 2, 4
HIDDEN, NAMED = 1, 2
REPORT, TEXTS, FRAMES, NODES, BORDERS, SERIES, CELLS, PAIRS, FACTS, THREADS, SOURCES, MARKS = range(1, 13)


class Damaged(Exception):
    """The file is no page, or no page that the description allows."""


class Reader:
    """A cursor over one part."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        n = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            n |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return n

    def signed(self):
        n = self.number()
        return -(n + 1) // 2 if n % 2 else n // 2

    def column(self, n):
        return [self.number() for _ in range(n)]

    def signed_column(self, n):
        return [self.signed() for _ in range(n)]

    def deltas(self, n):
        values = []
        for _ in range(n):
            values.append(self.signed() + (values[-1] if values else 0))
        return values

    def raw(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def rows(self, counts):
        """What is counted by node: for each a list of indices into the columns."""
        at, rows = 0, []
        for count in counts:
            rows.append(range(at, at + count))
            at += count
        return rows


def element(html, name):
    found = re.search(rf'<script[^>]*\bid="?{name}"?[^>]*>(.*?)</script>', html, re.S)
    if not found:
        raise Damaged(f'no element {name}')
    return found.group(1)


class Page:
    """Nodes are numbers, as in the page; figures by node are lists."""

    def __init__(self, path):
        self.load(path)
        self.block = self.meta['page']['block']
        self.report = json.loads(self.parts[REPORT].data)
        self.read_texts(self.parts[TEXTS])
        self.read_tree(self.parts[FRAMES], self.parts[NODES])
        self.read_borders(self.parts[BORDERS])
        self.read_series(self.parts[SERIES])
        self.read_cells(self.parts[CELLS])
        self.pairs = self.read_pairs(self.parts[PAIRS]) if PAIRS in self.parts else None
        self.read_facts(self.parts[FACTS])
        self.read_threads(self.parts[THREADS])
        self.read_marks(self.parts[MARKS])
        self.read_sources(self.parts.get(SOURCES))
        for number, reader in self.parts.items():
            if number != REPORT and reader.at != len(reader.data):
                raise Damaged(f'part {number}: {len(reader.data) - reader.at} bytes are left')

    def load(self, path):
        with open(path, encoding='utf-8', newline='') as file:
            self.html = file.read()
        self.meta = json.loads(element(self.html, 'meta'))
        data = zlib.decompress(base64.b64decode(element(self.html, 'data'), validate=True))
        if data[:5] != b'MSPG\x01':
            raise Damaged('magic')
        self.parts, at = {}, 5
        while at < len(data):
            number, size = struct.unpack_from('<BI', data, at)
            self.parts[number] = Reader(data[at + 5:at + 5 + size])
            at += 5 + size

    def read_texts(self, reader):
        self.texts = [reader.raw(size).decode() for size in reader.column(reader.number())]

    def read_tree(self, frames, nodes):
        n = frames.number()
        functions, files, lines, modules, flags = (frames.column(n) for _ in range(5))
        self.frames = [(self.texts[f], self.texts[p], line, self.texts[m], flag)
                       for f, p, line, m, flag in zip(functions, files, lines, modules, flags)]
        self.n, self.n_all = nodes.number(), nodes.number()
        self.parents = [i - up if up else None for i, up in enumerate(nodes.column(self.n))]
        self.frame = [frame - 1 if frame else None for frame in nodes.column(self.n)]
        self.others = nodes.column(self.n)
        ids = struct.unpack(f'<{self.n}Q', nodes.raw(8 * self.n))
        self.ids = [f'{number:016x}' if number else '' for number in ids]
        self.paths = []
        for parent, frame in zip(self.parents, self.frame):
            self.paths.append((self.paths[parent] if parent is not None else ()) +
                              ((self.frames[frame][0] if frame is not None else None),))

    def site(self, node):
        """The innermost call that isn't hidden."""
        while node is not None:
            frame = self.frame[node] if self.frame[node] is None else self.frames[self.frame[node]]
            if frame and not frame[4] & HIDDEN:
                return frame
            node = self.parents[node]
        return None

    def read_borders(self, reader):
        self.buckets = reader.number()
        self.borders = reader.deltas(self.buckets + 1)
        self.flags = reader.column(self.buckets + 1)
        self.highest_ns = [b + ns for b, ns in zip(self.borders, reader.signed_column(self.buckets))]
        self.highest = reader.signed_column(self.buckets)

    def read_series(self, reader):
        n = reader.number()
        self.points = list(zip(*(reader.deltas(n) for _ in range(4))))
        n = reader.number()
        self.samples = list(zip(reader.deltas(n), reader.deltas(n)))

    def read_cells(self, reader):
        n = reader.number()
        self.initial = list(zip(reader.signed_column(self.n), reader.signed_column(self.n)))
        self.cells_of = reader.rows(reader.column(self.n))
        buckets = reader.column(n)
        for rows in self.cells_of:
            for i in rows[1:]:
                buckets[i] += buckets[i - 1]
        came, net, high = [], [], []
        for to, read in ((came, reader.column), (net, reader.signed_column), (high, reader.signed_column)):
            to += zip(read(n), read(n))
        self.cell_buckets, self.came, self.net, self.high = buckets, came, net, high

    def read_pairs(self, reader):
        begins = reader.column(reader.number())
        n = reader.number()
        rows = reader.rows(reader.column(self.n))
        births = reader.column(n)
        for some in rows:
            for i in some[1:]:
                births[i] += births[i - 1]
        deaths = [birth + after for birth, after in zip(births, reader.column(n))]
        return {'begins': begins, 'of': rows, 'births': births, 'deaths': deaths,
                'values': list(zip(reader.column(n), reader.column(n)))}

    def read_facts(self, reader):
        n = self.n
        self.facts = {name: [size - 1 if size else None for size in reader.column(n)] for name in ('least', 'most')}
        names = [self.texts[reader.number()] for _ in range(reader.number())]
        self.verdicts = [names[verdict] for verdict in reader.raw(n)]
        self.knows_lives = reader.number() == 1
        if self.knows_lives:
            for name in ('freed', 'temporary', 'resized', 'moved', 'copied', 'calls50', 'bytes50', 'ns50', 'calls99',
                         'bytes99', 'ns99'):
                self.facts[name] = reader.column(n)
        self.threads_of = [[(reader.number(), reader.number()) for _ in range(reader.number())] for _ in range(n)]

    def read_threads(self, reader):
        self.threads, self.spans = [], []
        for _ in range(reader.number()):
            self.threads.append((reader.number(), self.texts[reader.number()], reader.number()))
            first = reader.number()
            self.spans.append((first - 1, first - 1 + reader.number()) if first else None)

    def read_marks(self, reader):
        self.all_marks, n = reader.number(), reader.number()
        self.marks = list(zip(reader.deltas(n), [self.texts[text] for text in reader.column(n)]))

    def read_sources(self, reader):
        self.sources = {}
        for _ in range(reader.number() if reader else 0):
            file, line = self.texts[reader.number()], 0
            self.sources[file] = lines = {}
            for _ in range(reader.number()):
                line += reader.number()
                lines[line] = self.texts[reader.number()]

    # ---- Sums of a node in a range of buckets: (bytes, blocks) ----

    def cells(self, node, a, b):
        rows = self.cells_of[node]
        low = bisect.bisect_left(self.cell_buckets, a, rows.start, rows.stop)
        return range(low, bisect.bisect_left(self.cell_buckets, b, rows.start, rows.stop))

    def live(self, node, border):
        return add([self.initial[node]] + [self.net[i] for i in self.cells(node, 0, border)])

    def allocated(self, node, a, b):
        return add(self.came[i] for i in self.cells(node, a, b))

    def highest_bucket(self, a, b):
        return max(range(a, b), key=lambda i: (self.highest[i], -i))

    def peak(self, node, a, b):
        bucket = self.highest_bucket(a, b)
        return add([self.live(node, bucket)] + [self.high[i] for i in self.cells(node, bucket, bucket + 1)])

    def group(self, border):
        """The group that begins at a border; None: none does."""
        begins = self.pairs['begins']
        if border == self.buckets:
            return len(begins) + 1
        return begins.index(border) + 1 if border in begins else None

    def kept(self, node, a, b):
        """None: not at the pairs' resolution."""
        first, last = self.group(a), self.group(b)
        if first is None or last is None:
            return None
        left = add(self.pairs['values'][i] for i in self.pairs['of'][node]
                   if self.pairs['births'][i] < first <= self.pairs['deaths'][i] < last)
        before, after = self.live(node, a), self.live(node, b)
        return after[0] - before[0] + left[0], after[1] - before[1] + left[1]


class Comparison(Page):
    """The tree of a comparison's page."""

    def __init__(self, path):
        self.load(path)
        self.read_texts(self.parts[TEXTS])
        self.read_tree(self.parts[FRAMES], self.parts[NODES])


def add(values):
    values = list(values)
    return sum(value[0] for value in values), sum(value[1] for value in values)
