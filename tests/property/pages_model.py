#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare msreplay --pages-as-heap=yes with a plain model that keeps each page by itself.

As massif_model.py, whose model of snapshots and trees this one extends: random page events are written as
a trace and replayed; the model executes them page by page. Every tenth script is an impossible one (ranges
of any size anywhere), which msreplay only has to survive.

  pages_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import random
import sys

import massif_model
from massif_model import MS, Model, comparable, read_texts

PAGE = 4096
ROOT = ('(heap allocation functions) malloc/new/new[]', '(page allocation syscalls) mmap/mremap/brk')


# With more records, Massif's table of them grows and reverses the order of each page's records.
TABLE_SIZES = (769, 1543, 3079, 6151, 12289, 24593, 49157, 98317, 196613, 393241, 786433)


class Pages(Model):
    """The records of each page: its contexts, the next one to remove last."""

    def __init__(self, options, names, program):
        self.records, self.started = {}, False
        self.sizes, self.n_records = list(TABLE_SIZES), 0
        super().__init__(dict(options, heap_admin=0, heap=True), names, program)
        self.snapshots, self.since_detailed = [], 0
        self.starting = self.changed = False

    def text(self, only=None):
        return super().text(only).replace(*ROOT)

    def context(self, stack):
        captured = tuple(stack[:self.o['depth'] + 50])
        if captured not in self.contexts:
            self.contexts[captured] = massif_model.Context(self.select(captured))
        context = self.contexts[captured]
        return context if context.shown is not None else None

    # -- one page --

    def put(self, page, context):
        self.records.setdefault(page, []).append(context)
        self.n_records += 1
        if context:
            context.bytes += PAGE
            self.heap += PAGE
            self.changed = True

    def take(self, page):
        """Whether it was on record for a context that counts."""
        contexts = self.records.get(page)
        self.n_records -= bool(contexts)
        context = contexts.pop() if contexts else None
        if context:
            context.bytes -= PAGE
            self.heap -= PAGE
            self.changed = True
        return context is not None

    def counted(self, page):
        return bool(self.records.get(page)) and self.records[page][-1] is not None

    # -- a call, as Massif does it --

    def tick(self, heap):
        self.clock_b += abs(self.heap - heap)
        if self.changed:
            self.note()
        self.changed = False

    def map(self, pages, stack):
        heap = self.heap
        context = self.context(stack) if pages else None
        for page in pages:
            self.put(page, context)
            if self.n_records > self.sizes[0]:
                self.sizes.pop(0)
                for contexts in self.records.values():
                    contexts.reverse()
        self.tick(heap)
        self.raise_peak()
        if pages and context:
            self.normal()

    def unmap(self, pages):
        if not pages:
            return
        heap = self.heap
        if self.counted(pages[0]):
            self.peak()
            self.take(pages[0])
            self.tick(heap)
            self.normal()
            heap = self.heap
        else:
            self.take(pages[0])
        for page in pages[1:]:
            self.take(page)
        self.tick(heap)

    def raise_peak(self):
        if self.o['exact_peak'] and self.heap > (self.highest.total() if self.highest else 0):
            self.highest = self.now()
            self.highest.tree, self.highest.detailed = self.tree(), True

    # -- a call, each page once --

    def once(self, gone, come, stack):
        heap = self.heap
        if gone and self.counted(gone[0]) and len(come) < len(gone):
            self.peak()
        context = self.context(stack) if come else None
        for page in gone:
            self.take(page)
        for page in come:
            self.take(page)
            self.put(page, context)
            if self.records[page][-1] is None:
                self.records[page] = [None]
        changed = self.changed
        self.tick(heap)
        self.raise_peak()
        if changed:
            self.normal()

    def event(self, op, stack, size, address, old):
        """`old`: the range that a mremap was given."""
        if op != 'page_start' and not self.started:
            self.started = True
            self.normal()
        lo, hi = address // PAGE, -(-(address + size) // PAGE) if size else address // PAGE
        if op in ('page_start', 'page_mmap', 'page_shmat'):
            gone, come = range(0), range(lo, hi)
        elif op in ('page_munmap', 'page_shmdt'):
            gone, come = range(lo, hi), range(0)
        elif op == 'page_mremap':
            return self.mremap(range(lo, hi), old, stack)
        elif self.faithful:
            n = (address + size - 1) // PAGE - (address - 1) // PAGE
            gone, come = range(0), range(lo, lo + n)
            if op == 'page_brk_shrink':
                gone, come = come, gone
        else:
            gone, come = range(0), range(-(-address // PAGE), -(-(address + size) // PAGE))
            if op == 'page_brk_shrink':
                gone, come = come, gone
        if self.faithful:
            self.unmap(gone)
            self.map(come, stack)
        else:
            self.once(gone, come, stack)
        return None

    def mremap(self, new, old, stack):
        if old[0] == new[0]:
            more, less = range(old[-1] + 1, new[-1] + 1), range(new[-1] + 1, old[-1] + 1)
            if self.faithful:
                self.unmap(less)
                self.map(more, stack)
            else:
                self.once(less, more, stack)
        elif self.faithful:
            n = min(len(old), len(new))
            self.unmap(old[:n])
            self.map(new[:n], stack)
            self.map(new[n:], stack)
            self.unmap(old)
        else:
            self.once(old, new, stack)

    def normal(self):
        if getattr(self, 'starting', True):
            return
        super().normal()


def random_script(rng, frames, path, counted):
    """(lines of the script, steps for the model)"""
    lines = ['records %d' % rng.choice((8, 64, 65536)), 'pages'] + ['counted'] * counted + ['module %s' % path]
    steps = []
    stacks = [massif_model.random_stack(rng, frames) for _ in range(rng.randrange(1, 15))]
    for i, stack in enumerate([[(False, 0)]] + stacks):
        lines.append('stack %d %s' % (i, ' '.join(('m' if f[0] else '') + '0x%x' % f[1] for f in stack)))
    now, instructions, most = 0, 0, rng.choice((1, 3, 40))

    def event(op, s, size, address, old=None):
        if old:
            lines.append('page page_mremap_from %d %d %d' % (s, len(old) * PAGE, old[0] * PAGE))
        lines.append('page %s %d %d %d' % (op, s, size, address))
        steps.append((op, ([[(False, 0)]] + stacks)[s], size, address, old))

    for _ in range(rng.randrange(5)):
        event('page_start', 0, rng.randrange(1, most * PAGE), rng.randrange(100) * PAGE)
    for _ in range(rng.choice((0, 3, 40, 40, 400, 1500))):
        if rng.random() < 0.1:
            now += rng.choice((1, 1, 7, 1000)) * MS
            lines.append('time %d' % (now + MS // 2))
            steps.append(('time', now))
        if counted and rng.random() < 0.9:
            instructions += rng.choice((1, 200, 10000, 1 << 33))
            lines.append('instructions %d' % instructions)
            steps.append(('instructions', instructions))
        s, size, address = rng.randrange(len(stacks)) + 1, rng.randrange(1, most * PAGE), rng.randrange(100) * PAGE
        what = rng.random()
        if what < 0.02:
            lines.append(rng.choice(('call lost 0 3', 'null_frees 2', 'flush')))
        elif what < 0.4:
            event(rng.choice(('page_mmap', 'page_mmap', 'page_shmat')), s, size, address)
        elif what < 0.7:
            event(rng.choice(('page_munmap', 'page_shmdt')), s, size, address)
        elif what < 0.85:
            event(rng.choice(('page_brk_grow', 'page_brk_shrink')), s, size, address + rng.choice((0, 1, 2048, 4095))
                  + 1000 * PAGE)
        else:
            old = range(address // PAGE, address // PAGE + rng.randrange(1, most + 1))
            new = rng.choice((old[0], 200 + rng.randrange(100))) * PAGE
            event('page_mremap', s, rng.randrange(1, most + 1) * PAGE, new, old)
    return lines, steps


def random_impossible_script(rng, frames, path):
    lines, _ = random_script(rng, frames, path, True)
    stacks = sum(line.startswith('stack ') for line in lines)
    ops = ['page_' + op for op in ('start', 'mmap', 'munmap', 'mremap_from', 'mremap', 'brk_grow', 'brk_shrink',
                                   'shmat', 'shmdt')]
    for _ in range(rng.choice((5, 100, 3000))):
        numbers = [rng.choice((0, 1, 4095, 1 << 63, (1 << 64) - 1, (1 << 64) - 4096, rng.randrange(1 << 64)))
                   for _ in range(2)]
        lines.append('page %s %d %d %d' % (rng.choice(ops), rng.randrange(stacks), *numbers))
    return lines


def random_options(rng, counted):
    options, words = massif_model.random_options(rng, counted)
    options['heap'], options['stacks'] = True, False
    return options, [w for w in words if not w.startswith(('--heap=', '--stacks='))] + ['--pages-as-heap=yes']


def run_model(options, steps, frames, path, changes=None):
    model = Pages(options, {**frames, (False, 0): None}, path)
    for step in steps:
        if model.changes == changes:
            break
        if step[0] == 'time':
            model.now_ns = step[1]
        elif step[0] == 'instructions':
            model.instructions = step[1]
        else:
            model.event(*step)
    if not model.started:
        model.normal()
    return model


def try_once(seed, build, program, scratch):
    rng = random.Random(seed)
    frames = program.frames(rng)
    counted = seed % 10 == 0 or rng.random() < 0.5
    options, words = zip(random_options(rng, counted), random_options(rng, counted))
    if seed % 10 == 0:
        massif_model.run_tools(build, random_impossible_script(rng, frames, program.path), *words, scratch)
        return True, 0
    for o, w in zip(options, words):
        # The order of steps within a call is the replay's own, so only the times of calls are comparable.
        o['at'] = [at for at in o['at'] if at == ('at', 'end')]
        w[:] = [word for word in w if not word.startswith(('--at=', '--snapshot=', '--all-snapshots='))]
        w += ['--at=end'] * len(o['at'])
    lines, steps = random_script(rng, frames, program.path, counted)
    massif_model.run_tools(build, lines, *words, scratch)
    equal, snapshots = True, 0
    for name, o in zip(('ours', 'also'), options):
        model = run_model(o, steps, frames, program.path)
        snapshot = model.now()
        snapshot.tree = model.tree()
        ats = [model.text(snapshot) for _ in o['at']]
        theirs = comparable(model.text(), ats)
        ours = read_texts(scratch / name, o)
        (scratch / (name + '-model')).write_text('\n'.join(theirs[0]))
        equal = equal and ours == theirs
        snapshots += sum(line.startswith('snapshot=') for text in theirs for line in text)
    return equal, snapshots


def main():
    return massif_model.main(__doc__, try_once)


if __name__ == '__main__':
    sys.exit(main())
