# SPDX-License-Identifier: MIT
"""The constants of trace-format/FORMAT.md for decode.py, and the checks that a reader may leave out: the sums of a
chunk, computed again, key frames and the index."""
import struct

FILE, MODULES, THREADS, STACKS, KINDS, EVENTS, KEYFRAME, NAMES, INDEX, END = range(1, 11)
MEMORY, THREAD_NAMES, MARKS, THREAD_ENDS, SCRIPTS = 11, 12, 13, 14, 15
ALLOC, FREE, OUT, CALL, KEEP = range(5)
CUSTOM = 15, 16
MASK = 2**64 - 1
LIMIT = {"columns": 32, "fields": 4096, "raw": 16777216, "stored": 17825792, "records": 1048576,
         "tokens": 65535,
         KINDS: 16777216, STACKS: 67108864, "frames": 16777216, MODULES: 65536, THREADS: 1048576,
         "depth": 65535, "text": 1048576, "args": 65536,
         MEMORY: 4194304, THREAD_NAMES: 1048576, "thread name": 255, MARKS: 1048576, "mark": 255,
         SCRIPTS: 65536, "script": 1023,
         NAMES: 16777216, "name bytes": 1 << 30, "names": 1024, "all names": 1 << 26}


class Problem(Exception):
    """Why reading stops: truncated, damaged, version, limit or not a trace."""


def need(truth, what, kind="damaged"):
    if not truth:
        raise Problem(kind, what)


def signed(value):
    return value - 2**64 if value >> 63 else value


class Sums:
    """The sums of a chunk, computed again (§9)."""

    def __init__(self, kinds):
        self.kinds, self.net, self.most = kinds, [0, 0, 0], [0, 0, 0]
        self.events = self.moved = self.steps = self.grown = self.shrunk = 0

    def worth(self, kind, role):
        op, _, size, cap, *_ = self.kinds[kind]
        sign = {ALLOC: 1, FREE: -1, OUT: -1}.get(role, 0) if op else 0
        return [sign * size, sign * (size if op in CUSTOM else cap + 15 & ~15), sign]

    def call(self, role, kind, what, then):
        worth = self.worth(kind, role)
        if role in (OUT, KEEP):
            worth = [a + b for a, b in zip(worth, self.worth(then, what))]
            op, a, b = self.kinds[then][0], self.kinds[kind][2], self.kinds[then][2]
            self.grown = (self.grown + (b - a if op in (4, 5) and b > a else 0)) & MASK
            self.shrunk += role == OUT and what == ALLOC and op in (4, 5) and b < a
        self.net = [signed((a + b) & MASK) for a, b in zip(self.net, worth)]
        self.most = [max(a, b) for a, b in zip(self.most, self.net)]
        self.events, self.steps = self.events + 1, self.steps + (worth[2] != 0)
        self.moved = (self.moved + abs(signed(worth[1] & MASK))) & MASK

    def check(self, stated, initial):
        if initial:
            self.events = self.moved = self.steps = 0
        mine = [self.events, stated[1], *self.net, *self.most, self.moved, self.steps, self.grown, self.shrunk]
        need(mine == [signed(v) if 2 <= i <= 7 else v for i, v in enumerate(stated)], "the sums of a chunk")


class Temporary:
    """The blocks that are freed before the thread that allocated them allocates again (§9)."""

    def __init__(self):
        self.last, self.count = {}, 0

    def call(self, role, what, thread, block, old):
        owner = next((t for t, last in self.last.items() if last == old), None) if role in (FREE, OUT) else None
        if owner is not None:
            del self.last[owner]
            self.count += what != ALLOC
        if (role, what) == (ALLOC, ALLOC):
            self.last[thread] = block
        elif what == ALLOC:
            self.last.pop(thread, None)

    def check(self, stated):
        need(stated == self.count, "the temporary blocks of a chunk")
        self.count = 0


class Live:
    """The expected key frame: the sums of all chunks so far, and the live blocks (§10)."""

    def __init__(self, kinds):
        self.kinds, self.sums, self.blocks = kinds, [0] * 12, {}

    def chunk(self, tokens, stated):
        for kind, role, count in tokens:
            if role in (ALLOC, FREE, OUT) and self.kinds[kind][0]:
                self.blocks[kind] = self.blocks.get(kind, 0) + (count if role == ALLOC else -count)
        for i in (5, 6, 7):
            self.sums[i] = max(self.sums[i], signed((self.sums[i - 3] + stated[i]) & MASK))
        self.sums = [v if 5 <= i <= 7 else (v + stated[i]) & MASK for i, v in enumerate(self.sums)]
        self.sums[2:5] = map(signed, self.sums[2:5])

    def check(self, expected, fields, kinds, blocks):
        *place, n_kinds, n = struct.unpack_from("<QQQII", fields)
        place += struct.unpack_from("<Q", fields, 128)
        stated = struct.unpack_from("<2Q6q4Q", fields, 32)
        need(place == list(expected) and n_kinds == len(self.kinds), "a key frame's place")
        need(list(stated) == self.sums, "the sums of a key frame")
        kind, live = 0, {}
        for _ in range(n):
            kind += kinds.varint()
            live[kind] = signed(blocks.zigzag(0))
        need(live == self.blocks, "the live blocks of a key frame")


def check_index(units, stated, entries):
    """The index repeats what came before it (§10)."""
    time = 0
    need(stated == len(units) - 1, "the number of entries of the index")
    for kind, size, n, first in units[:-1]:
        need((entries.u8(), entries.varint()) == (kind, size), "the index is wrong")
        if kind == EVENTS:
            need((entries.varint(), entries.varint()) == (n, (first - time) & MASK), "the index is wrong")
            time = first


class Names:
    """The names of frames, as successive NAMES units define them (§5)."""

    def __init__(self):
        self.texts, self.frames, self.full, self.bytes, self.count = [None], {}, {}, 0, 0

    def read(self, fields, column, first, texts, frames):
        need(first == len(self.texts), "texts are missing")
        need(first + texts <= LIMIT[NAMES], "too many texts", "limit")
        text, named, names, full = column(0), column(1), column(2), column(3)
        self.bytes += len(text.data)
        need(self.bytes <= LIMIT["name bytes"], "too many bytes of texts", "limit")
        self.texts += [text.text() for _ in range(texts)]
        frame = 0
        for _ in range(frames):
            frame, n = frame + named.varint(), named.varint()
            need(frame > max(self.frames, default=-1), "frames don't ascend")
            self.count += n
            need(1 <= n <= LIMIT["names"] and self.count <= LIMIT["all names"], "a number of names", "limit")
            self.frames[frame] = [[names.varint() for _ in range(4)] for _ in range(n)]
            self.full[frame] = [full.varint() if full.data else 0 for _ in range(n)]
            need(max(self.full[frame]) < len(self.texts), "a full name")
            need(all(max(name[:3]) < len(self.texts) and name[3] < 2**31 for name in self.frames[frame]), "a name")

    def named(self, frames, scripts):
        """(frame, line, texts) of all names, by the frames and the functions of scripts of the trace."""
        for frame, (module, address) in enumerate(frames):
            for (*texts, line), full in zip(self.frames.get(frame, []), self.full.get(frame, [])):
                yield frame, line, [self.texts[number] for number in (*texts, full)]
            function, line = divmod(address - 2**62, 2**24)
            if module == "-" and 0 <= function < len(scripts) and frame not in self.frames:
                path, name = scripts[function]
                folder, slash, file = path.rpartition("/")
                yield frame, line, [name or None, folder if slash else None, file if path else None, None]

    def lines(self, frames, scripts):
        for frame, line, texts in self.named(frames, scripts):
            yield f"name frame={frame} line={line}" + "".join(
                f" {what}{' ' * bool(text)}{text}"
                for what, text in zip(("function", "directory", "file", "full"), texts) if text is not None)


class Memory:
    """What memory the process had, by the MEMORY units (§10)."""

    def __init__(self):
        self.peak, self.samples = 0, []

    def read(self, fields, column):
        self.peak, n = struct.unpack_from("<QI", fields)
        need(len(self.samples) + n <= LIMIT[MEMORY], "too many samples")
        earliest = self.samples[-1][0] if self.samples else 0
        time, values = 0, [0] * 5
        for _ in range(n):
            head = column.varint()
            time, detailed = time + (head >> 1), head & 1
            for i in range(5 if detailed else 1):
                values[i] = column.zigzag(values[i])
            need(earliest <= time <= MASK and max(values[:3]) << 10 <= MASK, "a sample")
            self.samples.append((time, *(values if detailed else values[:1])))

    def lines(self):
        if self.peak:
            yield f"peak resident={self.peak}"
        for time, resident, *more in self.samples:
            shares = ["-" if v == 0 else str((v - 1) << 10) for v in more[:2]]
            yield f"memory time={time} resident={resident << 10}" + (
                " proportional=%s swapped=%s minor=%d major=%d" % (*shares, *more[2:]) if more else "")


def definitions(decoder):
    """All definitions, as text."""
    yield from (f"thread {i} tid={tid}" for i, tid in enumerate(decoder.threads))
    yield from (f"called thread={thread} time={time} {name}".rstrip() for thread, time, name in decoder.thread_names)
    yield from (f"mark record={record} time={time} thread={thread} {name}".rstrip()
                for record, time, thread, name in decoder.marks)
    yield from (f"ended record={record} time={time} thread={thread}" for record, time, thread in decoder.thread_ends)
    yield from ("module %d %s role=%d order=%d start=%#x end=%#x bias=%#x build=%s" % (i, *m)
                for i, m in enumerate(decoder.modules))
    yield from ("frame %d module=%s address=%#x" % (i, *f) for i, f in enumerate(decoder.frames))
    yield from ("stack %d parent=%d frame=%d" % (i, *s) for i, s in enumerate(decoder.stacks) if i)
    yield from ("kind %d op=%d stack=%d size=%d cap=%d align=%d flags=%d" % (i, *k[:6]) +
                (" usable=%d" % k[6] if k[5] & 4 else "")
                for i, k in enumerate(decoder.kinds))
