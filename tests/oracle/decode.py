#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""decode.py TRACE: a trace as text, decoded by trace-format/FORMAT.md alone ("§" names its sections).

Shares nothing with the C library; decode_oracle.py compares it with tests/tools/tracedump.c.
"""
import collections
import ctypes
import itertools
import struct
import sys
import zlib

from decode_checks import (ALLOC, CALL, END, EVENTS, FILE, FREE, INDEX, KEEP, KEYFRAME, KINDS, LIMIT, MARKS, MASK,
                           MEMORY, MODULES, NAMES, OUT, SCRIPTS, STACKS, THREAD_ENDS, THREAD_NAMES, THREADS, Live,
                           Memory, Names, Problem, Sums, Temporary, check_index, definitions, need, signed)

USABLE = 4
FIELDS = {FILE: 64, STACKS: 16, MODULES: 8, THREADS: 8, KINDS: 8, EVENTS: 160, KEYFRAME: 136, INDEX: 4, END: 64,
          NAMES: 12, MEMORY: 16, THREAD_NAMES: 4, MARKS: 4, THREAD_ENDS: 4, SCRIPTS: 8}
ZSTD = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_findFrameCompressedSize", "ZSTD_decompress"):
    getattr(ZSTD, name).restype = ctypes.c_size_t


class Column:  # its bytes, read from the front (§2)
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

    def text(self):
        text = self.bytes(self.varint())
        need(len(text) <= LIMIT["text"] and 0 not in text, "a text is too long or has a NUL")
        return "".join(chr(b) if 0x20 < b < 0x7f and b != 0x5c else "\\x%02x" % b for b in text)


def decompress(data, raw):
    """One zstd frame of exactly `raw` bytes (§3)."""
    out = ctypes.create_string_buffer(max(raw, 1))
    n = ctypes.c_size_t(len(data))
    need(ZSTD.ZSTD_findFrameCompressedSize(data, n) == len(data), "a column is not one frame")
    need(ZSTD.ZSTD_decompress(out, ctypes.c_size_t(raw), data, n) == raw, "a column doesn't decompress to its size")
    return out.raw[:raw]


class Counts:
    """The instructions executed at each call of a chunk (§8)."""

    def __init__(self, fields, column, before):
        self.column, self.calls = column, []
        self.count, self.last = struct.unpack_from("<QQ", fields, 144)
        need(before <= self.count <= self.last < 2**63, "the counts go back")

    def call(self, record):
        self.count += self.column.varint()
        need(self.count <= self.last, "a count is above the last one")
        self.calls.append((record, self.count))
        return self.count

    def finish(self):
        need(self.count == self.last, "the last count")
        return self.count


def sp_changes(column, calls, count, last):
    """The changes of the stack pointer in a chunk (§8): (record, instructions, growth); then the count behind them.

    `calls` has the record and the count of each call, `count` is that of the last change or call before, and `last`
    that of the record behind the last.
    """
    found, call = [], 0
    while column.at < len(column.data):
        step = column.varint()
        if step == 0:
            need(call < len(calls) and calls[call][1] >= count, "SP changes of a call that isn't there, or is earlier")
            count, call = calls[call][1], call + 1
            continue
        size = step >> 3 if step & 4 else (step >> 3) * 8
        need(0 < size <= MASK, "an SP change's size")
        if step & 1:
            count += column.varint()
            need(count < 2**63, "an SP change's count")
        found.append((calls[call][0] if call < len(calls) else last, count, -size if step & 2 else size))
    need(call == len(calls) or calls[call][1] >= count, "a call before its SP changes")
    return found, max([count] + [c for _, c in calls[-1:]])


class Identity:
    """The block of each FREE, OUT and KEEP record (§8): the live blocks of each kind, by ordinal."""

    def __init__(self):
        self.live = collections.defaultdict(dict)
        self.counts = collections.Counter()

    def indices(self, column, numbers, tokens, allocs):
        """The blocks' indices, record by record, or None if they weren't recorded."""
        frees = [token for token in numbers if tokens[token][1] in (FREE, OUT, KEEP)]
        in_a_row = bool(column(6).data)
        stored = column(6 if in_a_row else 5)
        if frees and not stored.data:
            return None
        found, ages = [], collections.defaultdict(lambda: 1)
        for token in numbers:
            kind, role = tokens[token][:2]
            if role == ALLOC:
                self.live[kind][self.counts[kind]] = allocs
                self.counts[kind] += 1
                allocs += 1
            elif role != CALL:
                z = stored.varint()
                of = None if in_a_row else token
                age = (ages[of] + (z >> 1 ^ -(z & 1))) & MASK
                ages[of] = age or ages[of]
                found.append(self.named(kind, age, role == KEEP) if age else MASK)
        return iter(found)

    def named(self, kind, age, stays):
        ordinal = self.counts[kind] - age
        need(ordinal >= 0, "a block of before all")
        index = self.live[kind].get(ordinal, MASK)
        if not stays:
            self.live[kind].pop(ordinal, None)
        return index


class Decoder:
    def __init__(self, data):
        self.data, self.at, self.units = data, 0, []
        self.threads, self.thread_names, self.marks, self.thread_ends = [], [], [], []
        self.modules, self.frames, self.scripts = [], [], []
        self.stacks, self.kinds, self.depth = ["root"], [(0, 0, 0, 0, 0, 0, 0)], [0]
        self.records = self.allocs = self.time = self.count = self.stepped = 0
        self.names, self.live, self.identity, self.memory = Names(), Live(self.kinds), Identity(), Memory()
        self.temporary = Temporary()

    def take(self, n):
        need(self.at + n <= len(self.data), "the file ends inside a unit", "truncated")
        self.at += n
        return self.data[self.at - n:self.at]

    def unit(self):
        """The next unit: type, critical, fields, columns by id (§3)."""
        start = self.at
        magic, size = struct.unpack("<II", self.take(8))
        need(magic == 0x184D2A5B, "no unit here")
        need(size <= 20 + LIMIT["fields"] + 12 * LIMIT["columns"], "a header's size")
        header = self.take(size)
        need(size >= 20 and header[:4] == b"MSTR", "no tag")
        kind, flags, n, _, number, f = struct.unpack_from("<BBBBII", header, 4)
        need(size == 20 + f + 12 * n and n <= LIMIT["columns"] and f <= LIMIT["fields"], "a header's size")
        need(struct.unpack("<I", header[-4:])[0] == zlib.crc32(header[:-4]), "a header's checksum")
        need(number == len(self.units), "a unit is missing")
        columns, stored_at = {}, self.at
        for i in range(n):
            column, codec, _, stored, raw = struct.unpack_from("<BBHII", header, 16 + f + 12 * i)
            need(column not in columns, "a column occurs twice")
            need(raw <= LIMIT["raw"] and stored <= LIMIT["stored"], "a column's size", "limit")
            frame = self.take(stored)
            columns[column] = Column(decompress(frame, raw) if codec == 1 and kind in FIELDS else b"")
        need(f >= FIELDS.get(kind, 0), "fields are missing")
        check = struct.unpack_from("<I", header, 56)[0] if kind == EVENTS else 0
        need(kind != EVENTS or check == zlib.crc32(self.data[stored_at:self.at]), "the check of a chunk's columns")
        self.units.append([kind, self.at - start, None, None])
        return kind, flags & 1, header[16:16 + f], lambda c: columns.get(c, Column())

    def file(self, fields, column):
        (version, features, shift, machine, page, pid, parent, argc, start, recorded, sample,
         begin) = struct.unpack_from("<8I4Q", fields)
        need(version == 1 and features & ~3 == 0, "version %d, features %#x" % (version, features), "version")
        sample = sample if features & 1 else 0
        need(not features & 1 or 4096 <= sample <= 1 << 30, "the sample's mean")
        self.begin = begin if features & 2 else 0
        need(self.begin << shift <= MASK, "the beginning")
        self.has_initial = self.in_initial = features >> 1 & 1
        self.counted = recorded >> 1 & 1
        self.counts_temporary = recorded >> 6 & 1
        need(shift <= 30 and argc <= LIMIT["args"], "time shift or argc", "limit")
        yield (f"file shift={shift} machine={machine} page={page} pid={pid} parent={parent} start={start}"
               + (f" sample={sample}" if sample else "") + " counted" * self.counted + " stacks" * (recorded >> 3 & 1)
               + (" pages" if recorded & 4 else "") + " exact" * (recorded >> 4 & 1)
               + (f" begin={self.begin << shift}" if self.has_initial else ""))
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
        self.threads += [tids.varint() for _ in self.define(THREADS, fields, len(self.threads))]

    def name_threads(self, fields, column):
        c, time = column(0), 0
        for _ in range(struct.unpack_from("<I", fields)[0]):
            thread, time, at = c.varint(), c.zigzag(time), c.at
            name = c.text()
            need(thread < len(self.threads) and c.at - at - 1 <= LIMIT["thread name"] + 1, "a thread's name")
            self.thread_names.append((thread, time, name))
            need(len(self.thread_names) <= LIMIT[THREAD_NAMES], "too many names of threads")

    def set_marks(self, fields, column):
        c, record, time = column(0), 0, 0
        for _ in range(struct.unpack_from("<I", fields)[0]):
            record, time, thread, at = record + c.varint(), time + c.varint(), c.varint(), c.at
            name = c.text()
            need(thread <= len(self.threads) and max(record, time) <= MASK, "a mark")
            need(c.at - at - 1 <= LIMIT["mark"] + 1, "a mark's name")
            need(not self.marks or all(a >= b for a, b in zip((record, time), self.marks[-1])), "marks go back")
            self.marks.append((record, time, thread - 1 if thread else "-", name))
            need(len(self.marks) <= LIMIT[MARKS], "too many marks")

    def end_threads(self, fields, column):
        c, record, time = column(0), 0, 0
        for _ in range(struct.unpack_from("<I", fields)[0]):
            record, time, thread = record + c.varint(), time + c.varint(), c.varint()
            need(thread < len(self.threads) and max(record, time) <= MASK, "an end of a thread")
            need(not self.thread_ends or all(a >= b for a, b in zip((record, time), self.thread_ends[-1])),
                 "ends of threads go back")
            self.thread_ends.append((record, time, thread))
            need(len(self.thread_ends) <= len(self.threads), "more ends than threads")

    def define_modules(self, fields, column):
        c = column(0)
        for _ in self.define(MODULES, fields, len(self.modules)):
            path, role, order, start = c.text(), c.u8(), c.varint(), c.varint()
            extent, bias, n = c.varint(), c.varint(), c.u8()
            need(n <= 64, "a build id is too long")
            self.modules.append((path, role if role <= 4 else 0, order, start, (start + extent) & MASK, bias,
                                 c.bytes(n).hex() or "-"))

    def define_scripts(self, fields, column):
        c = column(0)
        for _ in self.define(SCRIPTS, fields, len(self.scripts)):
            starts, texts = [], []
            for _ in range(2):
                starts.append(c.at)
                texts.append(c.text())
            starts.append(c.at)
            need(all(end - start - (1 if end - start < 129 else 2) <= LIMIT["script"]
                     for start, end in zip(starts, starts[1:])), "a text of a script")
            self.scripts.append(tuple(texts))

    def define_stacks(self, fields, column):
        address, frames, parents, named = 0, column(0), column(1), column(2)
        fresh = len(self.frames)
        for _ in self.define(STACKS, fields[8:], len(self.frames), "frames"):
            module = frames.varint()
            address = frames.zigzag(address)
            need(module <= len(self.modules), "a frame's module")
            self.frames.append((module - 1 if module else "-", address))
        for _ in self.define(STACKS, fields, len(self.stacks)):
            parent, frame = self.parent(parents.varint()), named.varint()
            fresh, frame = (fresh, frame - 1) if frame else (fresh + 1, fresh)
            need(parent >= 0 and frame < len(self.frames), "a stack's parent or frame")
            self.depth.append(self.depth[parent] + 1)
            need(self.depth[-1] <= LIMIT["depth"], "a stack is too deep", "limit")
            self.stacks.append((parent, frame))

    def parent(self, v):
        """Of the next stack, by an entry of column 1 (§5)."""
        parent = len(self.stacks) - 1
        if v & 1:
            return parent - (v >> 1)
        need(v >> 1 <= 255, "a parent is too far out")
        for _ in range(v >> 1):
            need(parent, "a parent beyond stack 0")
            parent = self.stacks[parent][0]
        return parent

    def define_kinds(self, fields, column):
        ops, stacks, sizes, caps, aligns, flags, usables = (column(i) for i in range(7))
        stack = 0
        for _ in self.define(KINDS, fields, len(self.kinds)):
            stack = stacks.zigzag(stack)
            op, size = ops.u8(), sizes.varint()
            cap, align = (size + caps.varint()) & MASK, aligns.u8()
            need(op < 64 and stack < len(self.stacks) and align < 64, "a kind")
            flag = flags.u8()
            usable = size + usables.varint() if flag & USABLE else 0
            need(usable <= MASK, "a usable size")
            self.kinds.append((op, stack, size, cap, align, flag, usable))

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

    @staticmethod
    def token_numbers(column, n, s):
        """The token numbers of a chunk's records (§7)."""
        narrow = s < 256
        numbers = struct.unpack(f"<{n}{'B' if narrow else 'H'}", column.bytes(n if narrow else 2 * n))
        need(len(column.data) == column.at, "more records than N")
        fresh = itertools.count()
        return [token - 1 if token else next(fresh) for token in numbers]

    def temporary_of(self, fields):
        """What a chunk says of temporary blocks (§9)."""
        need(not self.counts_temporary or len(fields) >= 168, "fields are missing")
        return struct.unpack_from("<Q", fields, 160)[0] if self.counts_temporary else 0

    def events(self, fields, column):
        first, first_alloc, time, last, n, s, _, flags, *stated = struct.unpack_from("<4QIIII12Q", fields)
        initial = self.has_initial and flags & 1
        temporary = self.temporary_of(fields)
        need(n <= LIMIT["records"] and (s <= n or initial) and s <= LIMIT["tokens"], "a chunk's size", "limit")
        need(not initial or (self.in_initial and last <= self.begin), "an initial state of later, or in the midst")
        self.time = max(self.time, self.begin) if not initial else self.time
        self.in_initial = initial
        need((first, first_alloc) == (self.records, self.allocs) and time >= self.time, "a chunk's beginning")
        numbers = self.token_numbers(column(0), n, s)
        tokens, counts, value = [], column(2), 0
        for _ in range(s):
            value = column(1).zigzag(value)
            need(value & 7 <= KEEP and value >> 3 < len(self.kinds), "a token")
            tokens.append((value >> 3, value & 7, counts.varint()))
        uses = {i: count for i, (_, _, count) in enumerate(tokens) if count}
        need(collections.Counter(numbers) == uses, "the counts aren't true")
        stamps = [(0, time)] + self.pairs(column(3), False, time, n, lambda a, b: a + b)
        runs = self.pairs(column(4), True, 0, n, lambda _, b: b)
        need(stamps[-1][1] == last <= MASK, "the last stamp")
        need((not n or (runs and runs[0][0] == 0)) and all(t < len(self.threads) for _, t in runs), "the runs")
        yield (f"chunk first={first} alloc={first_alloc} records={n} tokens={s} kinds={len(self.kinds)} stacks="
               f"{len(self.stacks)} frames={len(self.frames)} modules={len(self.modules)} threads={len(self.threads)}" +
               " initial" * initial +
               (f" temporary={temporary}" if self.counts_temporary else ""))
        yield "sums " + " ".join(str(signed(v) if 2 <= i <= 7 else v) for i, v in enumerate(stated))
        need(not initial or (not stated[1] and all(role in (ALLOC, CALL) for _, role, _ in tokens)),
             "calls in an initial state")
        yield from (f"token kind={kind} role={role} count={count}" for kind, role, count in tokens)
        counts = Counts(fields, column(7), self.count) if self.counted else None
        olds = self.identity.indices(column, numbers, tokens, first_alloc)
        records = [tokens[token][:2] for token in numbers]
        yield from self.calls(records, stamps, runs, olds, column(8), stated, counts, initial)
        if self.counts_temporary:
            self.temporary.check(temporary)
        self.count = counts.finish() if counts else 0
        if counts:
            found, self.stepped = sp_changes(column(9), counts.calls, self.stepped, n)
            yield from ("step record=%d instructions=%d grown=%d" % step for step in found)
        self.records, self.time = self.records + n, last
        self.live.chunk(tokens, stated)
        self.units[-1][2:] = n, time

    def calls(self, records, stamps, runs, olds, addresses, stated, counts, initial):
        end = self.allocs + sum(role == ALLOC for _, role in records)
        records.append((0, None))
        i, stamp, run, place, sums = 0, 0, 0, 0, Sums(self.kinds)
        while i < len(records) - 1:
            while stamp + 1 < len(stamps) and stamps[stamp + 1][0] <= i:
                stamp += 1
            while run + 1 < len(runs) and runs[run + 1][0] <= i:
                run += 1
            (kind, role), old, block = records[i], "-", "-"
            if role in (FREE, OUT, KEEP) and olds is not None:
                old = next(olds)
                need(old < end or old == MASK, "a block that is still to come")
                old = "-" if old == MASK else old
            pair = role in (OUT, KEEP)
            then, what = records[i + 1] if pair else (kind, role)
            need(not pair or what == CALL or (role, what) == (OUT, ALLOC), "a pair is cut or of other roles")
            if what == ALLOC:
                block, self.allocs = self.allocs, self.allocs + 1
            sums.call(role, kind, what, then)
            paged = what == CALL and 45 <= self.kinds[then][0] <= 56
            place = addresses.zigzag(place) if paged else place
            names = {(ALLOC, ALLOC): "alloc", (FREE, FREE): "free", (OUT, ALLOC): "resize", (OUT, CALL): "free"}
            yield (f"{names.get((role, what), 'call')} kind={then if what != FREE else '-'} block={block} "
                   f"old={kind if role in (FREE, OUT, KEEP) else '-'} old_block={old} "
                   f"time={stamps[stamp][1]} thread={runs[run][1]}"
                   + (f" instructions={counts.call(i)}" if counts else "")
                   + (f" address={place:#x}" if paged and place else ""))
            if not initial:
                self.temporary.call(role, what, runs[run][1], block, old)
            i += 1 + pair
        sums.check(stated, initial)

    def define_names(self, fields, column):
        self.names.read(fields, column, *struct.unpack_from("<III", fields))

    def keyframe(self, fields, column):
        self.live.check((self.records, self.allocs, self.time, self.count), fields, column(0), column(1))

    def index(self, fields, column):
        check_index(self.units, struct.unpack_from("<I", fields)[0], column(0))

    def end(self, fields):
        reason, *numbers, index, _ = struct.unpack_from("<IIQQQQQQI", fields)
        has_index = self.units[-2][0] == INDEX
        need(index == (sum(u[1] for u in self.units[:-2]) if has_index else 0), "the index's offset")
        need(struct.unpack("<I", fields[-4:])[0] == self.units[-1][1], "END's own size")
        need(self.at == len(self.data), "something follows END")
        need(max(self.names.frames, default=-1) < len(self.frames), "names of a frame that isn't there")
        yield from definitions(self)
        yield from self.names.lines(self.frames, self.scripts)
        yield from self.memory.lines()
        yield "end reason=%d detail=%d time=%d events=%d lost=%d unknown=%d implied=%d" % (min(reason, 4), *numbers)

    def lines(self):
        """The whole trace as text; Problem is raised where it ends early."""
        need(self.data[:4] == b"\x5b\x2a\x4d\x18", "no unit at the front", "not a trace")
        printed = {FILE: self.file, EVENTS: self.events, END: lambda fields, _: self.end(fields)}
        kept = {THREADS: self.define_threads, SCRIPTS: self.define_scripts, MODULES: self.define_modules,
                STACKS: self.define_stacks, KINDS: self.define_kinds, NAMES: self.define_names, KEYFRAME: self.keyframe,
                INDEX: self.index, THREAD_NAMES: self.name_threads, MARKS: self.set_marks,
                THREAD_ENDS: self.end_threads, MEMORY: lambda fields, column: self.memory.read(fields, column(0))}
        kind = None
        while kind != END:
            before = kind
            kind, critical, fields, column = self.unit()
            need((before is None) == (kind == FILE), "FILE stands at the front, and only there")
            need(before != INDEX or kind == END, "something between INDEX and END")
            need(kind in FIELDS or not critical, "an unknown unit", "version")
            if kind in printed:
                yield from printed[kind](fields, column)
            elif kind in kept:
                kept[kind](fields, column)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        for line in Decoder(file.read()).lines():
            print(line)
