#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What alternative encodings of columns save, those of the format and others: sizes of whole traces.

  encodings.py --build DIR [--scale N] [--level N] [--recompress] [NAME...]

Records the workloads and some other programs, packs the columns of each trace once more in every encoding below, chunk
by chunk the smallest, and prints two Markdown tables: by how many percent a trace is larger without an encoding, first
when all others are there, then when those are that the format has. Without --recompress traces are those that msrec
writes, else those of `msconvert --to=trace --level=LEVEL`. Encodings are made here, from what decode.py says of a
trace, so that one which the format doesn't have can be weighed, too.
"""

import argparse
import ctypes
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '../tools'), os.path.join(HERE, '../oracle')]
import decode                                             # noqa: E402
import workloads                                          # noqa: E402
from decode_checks import ALLOC, CALL, EVENTS, KINDS, STACKS  # noqa: E402
from harness import Build, Scratch, have                  # noqa: E402

TRIED_LEVEL = 12                # at which encodings are compared, whatever the file's level
ROW = 12                        # bytes of a column in a unit's header
LEVEL, CHECKSUM = 100, 201      # zstd's parameters

#         name: the encodings that are given up with it
ENCODINGS = {
    'records in planes': {'planes', 'next planes'},
    'next records': {'next', 'next planes'},
    'skips and deltas apart': {'apart'},
    'ordinals by token': {'by token'},
    'ordinals in a row': {'in a row'},
    'parents by frames out': {'out'},
    'kinds at the next end': {'ends'},
}
EVERYTHING = set().union(*ENCODINGS.values())
KEPT = ['next records', 'ordinals in a row', 'parents by frames out']       # by the format


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return out


def zigzag(value):
    return varint(2 * value if value >= 0 else -2 * value - 1)


def join(parts):
    return b''.join(parts)


class Packer:
    """zstd at two levels."""

    def __init__(self, level):
        zstd = decode.ZSTD
        zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
        zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress2.restype = ctypes.c_size_t
        self.level, self.contexts = level, {}
        for each in {min(TRIED_LEVEL, level), level}:
            context = ctypes.c_void_p(zstd.ZSTD_createCCtx())
            zstd.ZSTD_CCtx_setParameter(context, LEVEL, each)
            zstd.ZSTD_CCtx_setParameter(context, CHECKSUM, 1)
            self.contexts[each] = context

    def size(self, columns, level):
        total = 0
        for data in columns:
            bound = decode.ZSTD.ZSTD_compressBound(ctypes.c_size_t(len(data)))
            room = ctypes.create_string_buffer(bound)
            if data:
                total += ROW + decode.ZSTD.ZSTD_compress2(self.contexts[level], room, ctypes.c_size_t(bound), data,
                                                          ctypes.c_size_t(len(data)))
        return total

    def sizes(self, forms):
        """{encoding: (size to compare, size in the file)}"""
        return {name: (self.size(columns, min(TRIED_LEVEL, self.level)), self.size(columns, self.level))
                for name, columns in forms.items()}


class Identity(decode.Identity):
    """Keeps what it was asked, to give ages again."""

    def indices(self, column, numbers, tokens, allocs):
        before = dict(self.counts)
        found = super().indices(column, numbers, tokens, allocs)
        self.chunk = before, numbers, tokens, list(found) if found is not None else None
        return iter(self.chunk[3]) if found is not None else None


class Weigher(decode.Decoder):
    """Reads a trace; groups: for each group of columns that say the same, the sizes of its encodings."""

    def __init__(self, data, packer):
        super().__init__(data)
        self.packer, self.groups, self.taken = packer, [], 0
        self.identity, self.ordinals, self.highest = Identity(), {}, 0

    def unit(self):
        start = self.at
        got = super().unit()
        self.rows_of_header(start, {EVENTS: (0, 3, 5, 6), STACKS: (1,), KINDS: (1,)}.get(got[0], ()), len(got[2]))
        return got

    def rows_of_header(self, start, ids, fields):
        """Adds what columns of these ids take in the file."""
        for i in range(self.data[start + 8 + 6]):
            at = start + 8 + 16 + fields + ROW * i
            if self.data[at] in ids:
                self.taken += ROW + int.from_bytes(self.data[at + 4:at + 8], 'little')

    def weigh(self, forms):
        if any(forms['plain']):
            self.groups.append(self.packer.sizes(forms))

    def define_stacks(self, fields, column):
        first = len(self.stacks)
        super().define_stacks(fields, column)
        plain, out = [], []
        for i in range(first, len(self.stacks)):
            parent, at, n = self.stacks[i][0], i - 1, 0
            while at != parent and at and n < 255:
                at, n = self.stacks[at][0], n + 1
            plain.append(varint(i - 1 - parent))
            out.append(varint(n << 1 if at == parent else (i - 1 - parent) << 1 | 1))
        self.weigh({'plain': [join(plain)], 'out': [join(out)]})

    def define_kinds(self, fields, column):
        first, last, plain, ends, end = len(self.kinds), 0, [], [], 0
        super().define_kinds(fields, column)
        for kind in self.kinds[first:]:
            stack, difference = kind[1], zigzag(kind[1] - last)
            if end <= self.highest:
                end = self.highest + 1
                while end + 1 < len(self.stacks) and self.stacks[end + 1][0] == end:
                    end += 1
            plain.append(difference)
            ends.append(varint(0) if stack == end else varint(self.number(difference) + 1))
            self.highest, last = max(self.highest, stack), stack
        self.weigh({'plain': [join(plain)], 'ends': [join(ends)]})

    @staticmethod
    def number(data):
        return decode.Column(data).varint()

    def events(self, fields, column):
        yield from super().events(fields, column)
        before, numbers, tokens, olds = self.identity.chunk
        self.weigh_records(numbers, len(tokens))
        self.weigh_times(decode.Column(column(3).data))
        if olds is not None:
            self.weigh_ordinals(before, numbers, tokens, olds)

    @staticmethod
    def numbers(values, width):
        return join(value.to_bytes(width, 'little') for value in values)

    def weigh_records(self, numbers, n):
        width = 1 if n <= 256 else 2
        forms = {'plain': [self.numbers(numbers, width)]}
        if (1 if n < 256 else 2) == width and n < 65536:
            following, values = 0, []
            for token in numbers:
                values.append(0 if token == following else token + 1)
                following += token == following
            forms['next'] = [self.numbers(values, width)]
        if width == 2:
            forms['planes'] = [self.planes(forms['plain'][0])]
            if 'next' in forms:
                forms['next planes'] = [self.planes(forms['next'][0])]
        self.weigh(forms)

    @staticmethod
    def planes(data):
        return data[::2] + data[1::2]

    def weigh_times(self, column):
        values = []
        while column.at < len(column.data):
            values.append(column.varint())
        skips, deltas = values[::2], values[1::2]
        self.weigh({'plain': [join(map(varint, values))],
                    'apart': [join(map(varint, skips)), join(map(varint, deltas))]})

    def weigh_ordinals(self, before, numbers, tokens, olds):
        counts, last_of, last = before, [1] * len(tokens), 1
        plain, by_token, in_a_row, olds = [], [[] for _ in tokens], [], iter(olds)
        alloc = self.allocs - sum(tokens[token][1] == ALLOC for token in numbers)
        for token in numbers:
            kind, role = tokens[token][:2]
            if role == ALLOC:
                self.ordinals[alloc] = counts.get(kind, 0)
                counts[kind] = counts.get(kind, 0) + 1
                alloc += 1
            elif role != CALL:
                old = next(olds)
                age = counts.get(kind, 0) - self.ordinals[old] if old in self.ordinals else 0
                plain.append(zigzag(age - last_of[token]))
                by_token[token].append(plain[-1])
                in_a_row.append(zigzag(age - last))
                if age:
                    last_of[token] = last = age
        self.weigh({'plain': [join(plain)], 'by token': [join(map(join, by_token))], 'in a row': [join(in_a_row)]})

    def size_without(self, encodings):
        """Of the whole trace, each group in the smallest of its other encodings."""
        chosen = (min((size for name, size in group.items() if name not in encodings)) for group in self.groups)
        return len(self.data) - self.taken + sum(size for _, size in chosen)


def others(folder):
    """Programs that are not among the workloads."""
    make = workloads.write(os.path.join(folder, 'Makefile'), 'all:' + ''.join(f' t{i}' for i in range(1500)) + '\n' +
                           ''.join(f't{i}: t{i + 1} $(wildcard *.x) $(patsubst %,a%,{i})\n' for i in range(1500)) +
                           't1500:\n')
    assembler = workloads.write(os.path.join(folder, 'x.s'), ''.join(
        f'.globl f{i}\nf{i}:\n mov $({i} + v{i}), %eax\n call f{i + 1}\n .data\nv{i}: .quad f{i}, {i}\n .text\n'
        for i in range(3000)))
    text = workloads.write(os.path.join(folder, 'text.txt'), ''.join(
        f'line {i * 7919 % 10007} of the text, {i}\n' for i in range(4000)))
    vim = ['vim', '-e', '-s', '-u', 'NONE', '-i', 'NONE', '-c', '%s/\\(\\d\\+\\) of/of \\1/g', '-c', 'sort', '-c',
           'g/7/normal dwp', '-c', 'q!', text]
    page = workloads.write(os.path.join(folder, 'page.ms'), ''.join(
        f'.NH\nHeading {i}\n.PP\nSome text of paragraph {i}, with words that \\fBare bold\\fP or not.\n'
        for i in range(400)))
    for argv in (['make', '-n', '-f', make], ['as', '--64', assembler, '-o', '/dev/null'], vim,
                 ['troff', '-ms', page], ['openssl', 'genrsa', '2048'], ['gdb', '-nx', '-batch', '-ex', 'info types',
                                                                         sys.executable]):
        if have(argv[0]):
            yield workloads.Workload(argv[0], argv, cwd=folder)


def record(build, workload, folder, level):
    trace = os.path.join(folder, 'trace.' + workload.name)
    with open(workload.stdin) as stdin:
        subprocess.run([build.msrec, '-q', '-o', trace, '--', *workload.argv], stdin=stdin, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=workload.cwd, env=workload.environment(), check=False)
    if level:
        subprocess.run([build.file('analyze/msconvert'), '-q', '--to=trace', f'--level={level}', '-o', trace + '.z',
                        trace], check=True)
        trace += '.z'
    with open(trace, 'rb') as f:
        return f.read()


def percent(more, of):
    return '%.1f' % (100 * (more / of - 1))


def table(weighed, present):
    """How much larger each trace is without one of the encodings that are there, and without all."""
    absent = set().union(*(given for name, given in ENCODINGS.items() if name not in present))
    print('| program | records | bytes | ' + ' | '.join(present) + ' | all |')
    print('|---' * (len(present) + 4) + '|')
    ratios = {name: [] for name in [*present, 'all']}
    for program, weigher in weighed:
        least, row = weigher.size_without(absent), []
        for name in ratios:
            size = weigher.size_without(absent | (ENCODINGS[name] if name in ENCODINGS else EVERYTHING))
            ratios[name].append(size / least)
            row.append(percent(size, least))
        print(f'| {program} | {weigher.records} | {least} | ' + ' | '.join(row) + ' |')
    means = (percent(math.exp(sum(map(math.log, each)) / len(each)), 1) for each in ratios.values())
    print('| geometric mean | | | ' + ' | '.join(means) + ' |', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', required=True)
    parser.add_argument('--scale', type=int, default=1)
    parser.add_argument('--level', type=int)
    parser.add_argument('--recompress', action='store_true')
    parser.add_argument('names', nargs='*')
    args = parser.parse_args()
    build, level = Build(args.build), args.level or (19 if args.recompress else 5)
    weighed = []
    with Scratch() as folder:
        for workload in [*workloads.make(folder, args.scale), *others(folder)]:
            if not args.names or workload.name in args.names:
                data = record(build, workload, folder, level if args.recompress else 0)
                weigher = Weigher(data, Packer(level))
                for _ in weigher.lines():
                    pass
                weighed.append((workload.name, weigher))
    table(weighed, list(ENCODINGS))
    print()
    table(weighed, KEPT)


if __name__ == '__main__':
    main()
