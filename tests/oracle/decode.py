#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""decode.py TRACE: a trace as text, decoded by trace-format/FORMAT.md alone.

Shares nothing with the C library; tests/tools/tracedump.c prints the same text through it, and
decode_oracle.py compares the two. Every rule of the text that a reader can check is checked here,
the sums of the chunks and the index among them. "§" names the section of the text.
"""
import ctypes
import struct
import sys
import zlib

FILE, STACKS, MODULES, THREADS, KINDS, EVENTS, INDEX, END = 1, 2, 3, 4, 5, 6, 9, 10
ALLOC, FREE, OUT, CALL, KEEP = range(5)
FIELDS = {FILE: 48, STACKS: 16, MODULES: 8, THREADS: 8, KINDS: 8, EVENTS: 144, INDEX: 4, END: 64}
MASK = 2**64 - 1
LIMIT = {"columns": 32, "fields": 4096, "raw": 16777216, "stored": 17825792, "records": 65536,
         KINDS: 16777216, STACKS: 67108864, "frames": 16777216, MODULES: 65536, THREADS: 1048576,
         "depth": 65535, "text": 1048576, "args": 65536}
ZSTD = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_findFrameCompressedSize", "ZSTD_decompress"):
    getattr(ZSTD, name).restype = ctypes.c_size_t


class Problem(Exception):
    """Why reading stops: truncated, damaged, version, limit or not a trace."""


def need(truth, what, kind="damaged"):
    if not truth:
        raise Problem(kind, what)


def signed(value):
    return value - 2**64 if value >> 63 else value


class Column:
    """The bytes of a column, read from the front (§2)."""

    def __init__(self, data=b""):
        self.data, self.at = data, 0

    def bytes(self, n):
        need(self.at + n <= len(self.data), "a column is too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.bytes(1)[0]

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.u8()
            value |= (byte & 127) << 7 * i
            if byte < 128:
                need(value <= MASK, "a varint is over 64 bits")
                return value
        raise Problem("damaged", "a varint is too long")

    def zigzag(self, base):
        z = self.varint()
        return (base + (z >> 1 ^ -(z & 1))) & MASK

    def u32(self):
        value = self.varint()
        need(value < 2**32, "a value is over 32 bits")
        return value

    def text(self):
        n = self.varint()
        need(n <= LIMIT["text"], "a text is too long", "limit")
        text = self.bytes(n)
        need(0 not in text, "a NUL in a text")
        return "".join(chr(b) if 0x20 < b < 0x7f and b != 0x5c else "\\x%02x" % b for b in text)


def decompress(data, raw):
    """One zstd frame of exactly `raw` bytes (§3)."""
    out = ctypes.create_string_buffer(max(raw, 1))
    size = ZSTD.ZSTD_findFrameCompressedSize(data, ctypes.c_size_t(len(data)))
    need(size == len(data), "a column is not one frame")
    got = ZSTD.ZSTD_decompress(out, ctypes.c_size_t(raw), data, ctypes.c_size_t(len(data)))
    need(got == raw, "a column doesn't decompress to its size")
    return out.raw[:raw]


class Decoder:
    def __init__(self, data):
        self.data, self.at, self.units = data, 0, []
        self.threads, self.modules, self.frames = [], [], []
        self.stacks, self.kinds, self.depth = ["root"], [(0, 0, 0, 0, 0, 0)], [0]
        self.records = self.allocs = self.time = 0

    def take(self, n):
        need(self.at + n <= len(self.data), "the file ends inside a unit", "truncated")
        self.at += n
        return self.data[self.at - n:self.at]

    def unit(self):
        """The next unit: type, critical, fields, columns by id (§3)."""
        start = self.at
        need(start < len(self.data), "the file has no END", "truncated")
        prefix = self.take(8)
        magic, size = struct.unpack("<II", prefix)
        need(magic == 0x184D2A5B, "no unit here")
        need(size <= 20 + LIMIT["fields"] + 12 * LIMIT["columns"], "a header's size")
        header = self.take(size)
        need(size >= 20 and header[:4] == b"MSTR", "no tag")
        kind, flags, n, _, number, f = struct.unpack_from("<BBBBII", header, 4)
        need(size == 20 + f + 12 * n and n <= LIMIT["columns"] and f <= LIMIT["fields"], "a header's size")
        need(struct.unpack("<I", header[-4:])[0] == zlib.crc32(header[:-4]), "a header's checksum")
        need(number == len(self.units), "a unit is missing")
        columns, ids = {}, set()
        for i in range(n):
            column, codec, _, stored, raw = struct.unpack_from("<BBHII", header, 16 + f + 12 * i)
            need(column not in ids, "a column occurs twice")
            need(raw <= LIMIT["raw"] and stored <= LIMIT["stored"], "a column's size", "limit")
            ids.add(column)
            frame = self.take(stored)
            if codec == 1 and kind in FIELDS:
                columns[column] = Column(decompress(frame, raw))
        need(f >= FIELDS.get(kind, 0), "fields are missing")
        self.units.append([kind, self.at - start, None, None])
        return kind, flags & 1, header[16:16 + f], lambda c: columns.get(c, Column())

    def file(self, fields, column):
        version, features, shift, machine, page, pid, parent, argc, start, _ = \
            struct.unpack_from("<8IQQ", fields)
        need(version == 1 and features == 0, "version %d, features %#x" % (version, features), "version")
        need(shift <= 30 and argc <= LIMIT["args"], "time shift or argc", "limit")
        yield f"file shift={shift} machine={machine} page={page} pid={pid} parent={parent} start={start}"
        texts = column(0)
        for name in ["recorder", "exe", "cwd"] + ["arg"] * argc:
            yield f"{name} {texts.text()}".rstrip()

    def define(self, kind, fields, known, what=None):
        first, count = struct.unpack_from("<II", fields)
        need(first == known, "definitions are missing")
        need(first + count <= LIMIT[what or kind], "too many definitions", "limit")
        return range(count)

    def define_threads(self, fields, column):
        tids = column(0)
        self.threads += [tids.u32() for _ in self.define(THREADS, fields, len(self.threads))]

    def define_modules(self, fields, column):
        c = column(0)
        for _ in self.define(MODULES, fields, len(self.modules)):
            path, role, order, start, extent, bias, n = \
                c.text(), c.u8(), c.u32(), c.varint(), c.varint(), c.varint(), c.u8()
            need(n <= 64, "a build id is too long")
            self.modules.append((path, role if role < 4 else 0, order, start, (start + extent) & MASK, bias,
                                 c.bytes(n).hex() or "-"))

    def define_stacks(self, fields, column):
        address, frames, parents, named = 0, column(0), column(1), column(2)
        fresh = len(self.frames)
        for _ in self.define(STACKS, fields[8:], len(self.frames), "frames"):
            module = frames.varint()
            address = frames.zigzag(address)
            need(module <= len(self.modules), "a frame's module")
            self.frames.append((module - 1 if module else "-", address))
        for _ in self.define(STACKS, fields, len(self.stacks)):
            back, frame = parents.varint(), named.varint()
            parent = len(self.stacks) - 1 - back
            fresh, frame = (fresh, frame - 1) if frame else (fresh + 1, fresh)
            need(parent >= 0 and frame < len(self.frames), "a stack's parent or frame")
            self.depth.append(self.depth[parent] + 1)
            need(self.depth[-1] <= LIMIT["depth"], "a stack is too deep", "limit")
            self.stacks.append((parent, frame))

    def define_kinds(self, fields, column):
        ops, stacks, sizes, caps, aligns, flags = (column(i) for i in range(6))
        stack = 0
        for _ in self.define(KINDS, fields, len(self.kinds)):
            op, stack, size = ops.u8(), stacks.zigzag(stack), sizes.varint()
            cap, align = (size + caps.varint()) & MASK, aligns.u8()
            need(op < 64 and stack < len(self.stacks) and align < 64, "a kind")
            self.kinds.append((op, stack, size, cap, align, flags.u8()))

    def pairs(self, column, skip, value, n, step):
        """The (record, value) of the pairs of columns 3 and 4 (§8)."""
        pairs, record = [], 0
        while column.at < len(column.data):
            more = column.varint()
            need(more >= 1 or (skip and not pairs), "a skip of 0")
            record += more
            need(record < n, "a skip beyond the records")
            value = step(value, column.varint())
            pairs.append((record, value))
        return pairs

    def events(self, fields, column):
        first, first_alloc, time, last, n, s, _, *stated = struct.unpack_from("<4QIIQ12Q", fields)
        need(n <= LIMIT["records"] and s <= n, "a chunk's size", "limit")
        need((first, first_alloc) == (self.records, self.allocs) and time >= self.time, "a chunk's beginning")
        raw = column(0)
        rows = struct.unpack(f"<{n}{'B' if s <= 256 else 'H'}", raw.bytes(n if s <= 256 else 2 * n))
        need(len(raw.data) == raw.at, "more records than N")
        symbols, counts, value = [], column(2), 0
        for _ in range(s):
            value = column(1).zigzag(value)
            need(value & 7 <= KEEP and value >> 3 < len(self.kinds), "a symbol")
            symbols.append((value >> 3, value & 7, counts.varint()))
        tally = [0] * s
        for row in rows:
            need(row < s, "a record's symbol")
            tally[row] += 1
        need(tally == [count for _, _, count in symbols], "the counts aren't true")
        stamps = [(0, time)] + self.pairs(column(3), False, time, n, lambda a, b: a + b)
        runs = self.pairs(column(4), True, 0, n, lambda _, b: b)
        need(stamps[-1][1] == last <= MASK, "the last stamp")
        need(not n or (runs and runs[0][0] == 0), "the first run")
        need(all(thread < len(self.threads) for _, thread in runs), "a thread")
        yield (f"chunk first={first} alloc={first_alloc} records={n} symbols={s} kinds={len(self.kinds)} "
               f"stacks={len(self.stacks)} frames={len(self.frames)} modules={len(self.modules)} "
               f"threads={len(self.threads)}")
        yield "sums " + " ".join(str(signed(v) if 2 <= i <= 7 else v) for i, v in enumerate(stated))
        yield from (f"symbol kind={kind} role={role} count={count}" for kind, role, count in symbols)
        yield from self.calls([symbols[row][:2] for row in rows], stamps, runs, column(5), stated)
        self.records, self.time = self.records + n, last
        self.units[-1][2:] = n, time

    def calls(self, records, stamps, runs, identity, stated):
        end = self.allocs + sum(role == ALLOC for _, role in records)
        known, i, stamp, run, sums = 0, 0, 0, 0, Sums(self.kinds)
        while i < len(records):
            while stamp + 1 < len(stamps) and stamps[stamp + 1][0] <= i:
                stamp += 1
            while run + 1 < len(runs) and runs[run + 1][0] <= i:
                run += 1
            (kind, role), old, block = records[i], "-", "-"
            if role in (FREE, OUT, KEEP) and identity.data:
                old = identity.zigzag(known)
                need(old < end or old == MASK, "a block that is still to come")
                known, old = (known, "-") if old == MASK else (old, old)
            pair = role in (OUT, KEEP)
            need(not pair or i + 1 < len(records), "a pair is cut")
            then, what = records[i + 1] if pair else (kind, role)
            need(not pair or what == CALL or (role, what) == (OUT, ALLOC), "a pair of other roles")
            if what == ALLOC:
                block, self.allocs = self.allocs, self.allocs + 1
            sums.call(role, kind, what, then)
            names = {(ALLOC, ALLOC): "alloc", (FREE, FREE): "free", (OUT, ALLOC): "resize", (OUT, CALL): "free"}
            yield (f"{names.get((role, what), 'call')} kind={then if what != FREE else '-'} block={block} "
                   f"old={kind if role in (FREE, OUT, KEEP) else '-'} old_block={old} "
                   f"time={stamps[stamp][1]} thread={runs[run][1]}")
            i += 1 + pair
        sums.check(stated)

    def check_index(self, fields, column):
        rows, time = column(0), 0
        need(struct.unpack_from("<I", fields)[0] == len(self.units) - 1, "the number of entries of the index")
        for kind, size, n, first in self.units[:-1]:
            need((rows.u8(), rows.varint()) == (kind, size), "the index is wrong")
            if kind == EVENTS:
                need((rows.varint(), rows.varint()) == (n, (first - time) & MASK), "the index is wrong")
                time = first

    def end(self, fields):
        reason, detail, time, events, lost, unknown, implied, index, _ = struct.unpack_from("<IIQQQQQQI", fields)
        has_index = self.units[-2][0] == INDEX
        offset = sum(size for _, size, _, _ in self.units[:-2]) if has_index else 0
        need(index == offset, "the index's offset")
        need(struct.unpack("<I", fields[-4:])[0] == self.units[-1][1], "END's own size")
        need(self.at == len(self.data), "something follows END")
        yield from (f"thread {i} tid={tid}" for i, tid in enumerate(self.threads))
        yield from ("module %d %s role=%d order=%d start=%#x end=%#x bias=%#x build=%s" % (i, *m)
                    for i, m in enumerate(self.modules))
        yield from ("frame %d module=%s address=%#x" % (i, *f) for i, f in enumerate(self.frames))
        yield from ("stack %d parent=%d frame=%d" % (i, *s) for i, s in enumerate(self.stacks) if i)
        yield from ("kind %d op=%d stack=%d size=%d cap=%d align=%d flags=%d" % (i, *k)
                    for i, k in enumerate(self.kinds))
        yield (f"end reason={min(reason, 4)} detail={detail} time={time} events={events} lost={lost} "
               f"unknown={unknown} implied={implied}")

    def lines(self):
        simple = {THREADS: self.define_threads, MODULES: self.define_modules, STACKS: self.define_stacks,
                  KINDS: self.define_kinds, INDEX: self.check_index}
        kind = None
        while kind != END:
            before = kind
            if before is None:
                need(self.data[:4] == b"\x5b\x2a\x4d\x18", "no unit at the front", "not a trace")
            kind, critical, fields, column = self.unit()
            need(before is not None or kind == FILE, "no FILE at the front", "not a trace")
            need(before is None or kind != FILE, "a second FILE")
            need(before != INDEX or kind == END, "something between INDEX and END")
            need(kind in FIELDS or not critical, "an unknown unit", "version")
            if kind == FILE:
                yield from self.file(fields, column)
            elif kind == EVENTS:
                yield from self.events(fields, column)
            elif kind == END:
                yield from self.end(fields)
            elif kind in simple:
                simple[kind](fields, column)


class Sums:
    """The sums of a chunk, once more (§9)."""

    def __init__(self, kinds):
        self.kinds, self.net, self.most = kinds, [0, 0, 0], [0, 0, 0]
        self.events = self.moved = self.steps = self.grown = self.shrunk = 0

    def worth(self, kind, role):
        op, _, size, cap, _, _ = self.kinds[kind]
        sign = {ALLOC: 1, FREE: -1, OUT: -1}.get(role, 0) if op else 0
        return [sign * size, sign * (cap + 15 & ~15), sign]

    def call(self, role, kind, what, then):
        worth = self.worth(kind, role)
        if role in (OUT, KEEP):
            worth = [a + b for a, b in zip(worth, self.worth(then, what))]
            op, a, b = self.kinds[then][0], self.kinds[kind][2], self.kinds[then][2]
            self.grown += b - a if op in (4, 5) and b > a else 0
            self.shrunk += role == OUT and what == ALLOC and op in (4, 5) and b < a
        self.net = [signed((a + b) & MASK) for a, b in zip(self.net, worth)]
        self.most = [max(a, b) for a, b in zip(self.most, self.net)]
        self.events, self.moved, self.steps = self.events + 1, self.moved + abs(worth[1]), self.steps + (worth[2] != 0)

    def check(self, stated):
        mine = [self.events, stated[1], *self.net, *self.most, self.moved, self.steps, self.grown, self.shrunk]
        need(mine == [signed(v) if 2 <= i <= 7 else v for i, v in enumerate(stated)], "the sums of a chunk")


def main():
    with open(sys.argv[1], "rb") as trace:
        data = trace.read()
    try:
        for line in Decoder(data).lines():
            print(line)
    except Problem as problem:
        print("problem", problem.args[0])
        print(f"decode.py: {sys.argv[1]}: {problem.args[1]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
