#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare msreplay's massif.out with a plain model of Massif's rules, over random programs.

A random script of allocator calls is written as a trace (script2trace) and replayed with random
options, and others in the same pass (--also); the model below, which knows nothing but the rules, runs
the same script block by block and prints Massif's file. The files must be equal, byte for byte. Every tenth script
is an impossible one (blocks freed twice, sizes beyond all memory), which msreplay only has to survive.

  massif_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import os
import random
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Problem, arguments, run_seeds    # noqa: E402

MS = 1000000
FUNCTIONS = ['main', '_start', '__libc_start_main', '__libc_start_call_main', 'alloc1', 'alloc2',
             'ignore1', 'ignore2', 'work1', 'work2', 'work3', 'work4', 'malloc']
BELOW_MAIN = ('_start', '__libc_start_main', '__libc_start_call_main')
DEFAULT_ALLOC_FNS = ['malloc', 'calloc', 'realloc', 'memalign', 'posix_memalign', 'valloc']


# ---- the program that frames lie in ----

class Program:
    """A library with known functions; frames in it have names, others have none."""

    def __init__(self, directory):
        self.path = directory / 'program'
        source = directory / 'program.c'
        source.write_text(''.join('int %s(int x) { return x * %d; }\n' % (name, i + 3)
                                  for i, name in enumerate(FUNCTIONS)))
        subprocess.run(['cc', '-O1', '-g0', '-shared', '-fPIC', '-nostdlib', '-fno-builtin', '-w',
                        '-Wl,--build-id=none', '-o', self.path, source], check=True)
        listed = subprocess.run(['nm', '-S', '--defined-only', self.path], check=True,
                                capture_output=True, text=True)
        self.names = {}
        for fields in map(str.split, listed.stdout.splitlines()):
            if len(fields) == 4 and fields[3] in FUNCTIONS:
                self.names[int(fields[0], 16)] = fields[3]

    def frames(self, rng):
        """Frames to make stacks of: (is in the program, address) -> name."""
        frames = {(True, start + rng.randrange(3)): name for start, name in self.names.items()}
        frames[(True, 0x20)] = None
        for _ in range(4):
            frames[(False, rng.randrange(1, 1 << 33))] = None
        return frames


# ---- the rules ----

def parse_float(text):
    """Massif's own way to read a number with a fraction."""
    whole, _, fraction = text.partition('.')
    value, x, part = 0.0, 0.1, 0.0
    for digit in whole:
        value = 10 * value + int(digit)
    for digit in fraction:
        part += x * int(digit)
        x /= 10
    return value + part


def percent(value):
    whole = int(value)
    hundredths = (value - whole) * 100
    fraction = int(hundredths)
    if hundredths - fraction > 0.5:
        fraction += 1
    return '%d.%02d%%' % (whole + fraction // 100, fraction % 100)


class Block:
    def __init__(self, context, size, usable):
        self.context, self.size, self.usable = context, size, usable
        self.forgotten = False


class Context:
    """The allocations with the same captured stack: the frames shown, the live bytes."""

    def __init__(self, shown):
        self.shown, self.bytes = shown, 0


class Snapshot:
    def __init__(self, time, heap, extra, stacks, changes):
        self.time, self.heap, self.extra, self.stacks, self.changes = time, heap, extra, stacks, changes
        self.peak, self.detailed, self.tree = False, False, None

    def total(self):
        return self.heap + self.extra + self.stacks


class Model:
    def __init__(self, options, names, program):
        self.o, self.names, self.program = options, names, program
        self.heap = self.extra = self.stacks = self.clock_b = self.now_ns = self.instructions = 0
        self.depths = {}
        self.snapshots, self.contexts = [], {}
        self.min_interval = self.earliest = self.since_detailed = self.peak_total = 0
        self.deepest = self.changes = 0
        self.aborted = False
        self.faithful = options['compat'] != 'fixed'
        self.totals = [0]                               # after each change
        self.highest = None
        self.normal()

    # -- stacks --

    def name(self, frame):
        name = self.names[frame]
        if name in BELOW_MAIN and not self.o['show_below_main']:
            return '(below main)'
        return name

    def cut(self, captured):
        n = len(captured)
        kinds = [{'main': 'main'}.get(self.names[f], 'below' if self.names[f] in BELOW_MAIN else None)
                 for f in captured]
        candidate = None
        for i in range(max(0, n - 1 - self.deepest), n):
            if kinds[i]:
                candidate = i
                break
        if candidate is None or kinds[candidate] != 'main':
            for i in range((n - 1 if candidate is None else candidate) - 1, -1, -1):
                if kinds[i]:
                    candidate = i
                if kinds[i] == 'main':
                    break
        if candidate is None:
            return n - 1
        if kinds[candidate] == 'main':
            self.deepest = max(self.deepest, n - 1 - candidate)
        return candidate

    def select(self, captured):
        """The frames shown; None if the stack is ignored."""
        first = 0
        while first < len(captured) and self.name(captured[first]) in self.o['alloc_fns']:
            first += 1
        if first == len(captured):
            if self.faithful:
                return None
            first = max(0, first - 1)
        elif self.o['ignore_fns']:
            named = [self.name(f) for f in captured[first:] if self.name(f)]
            if named and named[0] in self.o['ignore_fns']:
                return None
        if not captured:
            return ()
        end = len(captured)
        if not self.o['show_below_main']:
            end = max(self.cut(captured), first) + 1
        return tuple(captured[first:end][:self.o['depth']])

    def context(self, stack):
        """None for an ignored stack."""
        captured = tuple(stack[:self.o['depth'] + 49])
        if captured not in self.contexts:
            self.contexts[captured] = Context(self.select(captured))
        context = self.contexts[captured]
        return context if context.shown is not None else None

    # -- snapshots --

    def clock(self):
        return {'B': self.clock_b, 'ms': self.now_ns // MS, 'i': self.instructions}[self.o['time_unit']]

    def total(self):
        return self.heap + self.extra + self.stacks

    def note(self):
        self.changes += 1
        self.totals.append(self.total())

    def happened(self):
        """After each call that changed something."""
        self.note()
        if self.o['exact_peak'] and self.total() > (self.highest.total() if self.highest else 0):
            self.highest = self.now()
            self.highest.tree = self.tree() if self.o['heap'] else None
        self.normal()

    def now(self):
        return Snapshot(self.clock(), self.heap, self.extra, self.stacks, self.changes)

    def set_exact_peak(self):
        """The highest total becomes the peak: a snapshot with a tree that was taken of it, or a new one."""
        for old in self.snapshots:
            old.peak = False
        same = [s for s in self.snapshots if s.changes == self.highest.changes and s.detailed]
        peak = same[-1] if same else self.highest
        peak.peak = True
        if not same:
            self.snapshots.append(peak)
            self.snapshots.sort(key=lambda s: s.changes)

    def store(self, peak, detailed):
        snapshot = self.now()
        snapshot.detailed = detailed
        if detailed:
            self.since_detailed = 0
            if self.o['heap']:
                snapshot.tree = self.tree()
        else:
            self.since_detailed += 1
        if peak:
            for old in self.snapshots:
                old.peak = False
            snapshot.peak = True
        self.snapshots.append(snapshot)
        if len(self.snapshots) == self.o['max_snapshots']:
            self.cull()
        self.earliest = snapshot.time + self.min_interval

    def normal(self):
        if self.clock() >= self.earliest:
            self.store(False, self.since_detailed == self.o['detailed_freq'] - 1)

    def peak(self):
        total = self.total()
        if total > self.peak_total + int(float(self.peak_total) * self.o['peak_inaccuracy'] / 100):
            self.store(True, True)
            self.peak_total = total

    def cull(self):
        kept = self.snapshots
        for _ in range(self.o['max_snapshots'] // 2):
            spans = [(kept[i + 1].time - kept[i - 1].time, i)
                     for i in range(1, len(kept) - 1) if not kept[i].peak]
            del kept[min(spans)[1]]
        fixed = [i == 0 or i == len(kept) - 1 or s.peak for i, s in enumerate(kept)]
        self.min_interval = min(kept[i].time - kept[i - 1].time for i in range(1, len(kept))
                                if not (fixed[i] and fixed[i - 1]))
        if self.faithful:
            self.min_interval %= 1 << 32

    # -- trees --

    def tree(self):
        """Lines of the tree as it is now."""
        members = [c for c in self.contexts.values() if c.shown is not None]
        top = sum(c.bytes for c in members)
        threshold = self.o['threshold']
        if top == 0 and threshold != 0:
            significant = 1
        else:
            significant = int(float(top + self.extra + self.stacks) * threshold / 100)
        lines = []
        entries = self.entries(members, 0, significant)
        lines.append('n%d: %d (heap allocation functions) malloc/new/new[], --alloc-fns, etc.' %
                     (len(entries), top))
        self.write_entries(lines, entries, 0, significant)
        return lines

    def entries(self, members, level, significant):
        """(-bytes, order, frame, members or number of places), as Massif sorts them."""
        groups = {}
        for context in members:
            if len(context.shown) > level:
                groups.setdefault(context.shown[level], []).append(context)
        entries, places, rest = [], 0, 0
        for frame, inside in groups.items():
            total = sum(c.bytes for c in inside)
            if total < significant:
                places += 1
                rest += total
            else:
                entries.append((-total, (1,) + frame, frame, inside))
        if places:
            entries.append((-rest, (0,), None, places))
        return sorted(entries, key=lambda e: e[:2])

    def write_entries(self, lines, entries, level, significant):
        indent = ' ' * (level + 1)
        for minus_bytes, _, frame, inside in entries:
            if frame is None:
                text = '%d place, below' % inside if inside == 1 else '%d places, all below' % inside
                lines.append("%sn0: %d in %s massif's threshold (%s)" %
                             (indent, -minus_bytes, text, percent(self.o['threshold'])))
                continue
            below = self.entries(inside, level + 1, significant)
            where = ' (in %s)' % self.program if frame[0] else ''
            lines.append('%sn%d: %d 0x%X: %s%s' % (indent, len(below), -minus_bytes, frame[1],
                                                  self.name(frame) or '???', where))
            self.write_entries(lines, below, level + 1, significant)

    # -- calls --

    def round_up(self, size):
        return -(-size // self.o['alignment']) * self.o['alignment']

    def change(self, heap, extra):
        if self.faithful:
            extra = (extra + (1 << 31)) % (1 << 32) - (1 << 31)
        self.heap += heap
        self.extra += extra
        self.clock_b += abs(heap + extra)
        # Massif's own check of its counters would end it here: there is no answer to compare with.
        self.aborted = self.aborted or self.extra < 0

    def stack(self, thread, depth):
        """A thread's stack is that deep from here on."""
        grown = depth - self.depths.get(thread, 0)
        if not self.o['stacks'] or not grown:
            return
        if grown < 0:
            self.peak()
        self.depths[thread] = depth
        self.stacks += grown
        self.clock_b += abs(grown)
        self.happened()

    def add(self, block):
        if block.context:
            block.context.bytes += block.size
            self.change(block.size, block.usable - block.size + self.o['heap_admin'])
            self.happened()

    def remove(self, block):
        if block.context and not block.forgotten:
            self.peak()
            self.change(-block.size, block.size - block.usable - self.o['heap_admin'])
            block.context.bytes -= block.size
            self.happened()

    def alloc(self, stack, size):
        block = Block(self.context(stack) if self.o['heap'] else None, size, self.round_up(size))
        self.add(block)
        return block

    def fail_to_resize(self, block):
        block.forgotten = self.faithful

    def resize(self, old, stack, size):
        if old.forgotten:
            return old
        usable = old.usable if size <= old.usable else self.round_up(size)
        if old.context and size < old.size and (self.faithful or self.peeks(stack)):
            self.peak()
        new = Block(self.context(stack) if self.o['heap'] else None, size, usable)
        if old.context and new.context:
            new.context.bytes += size
            old.context.bytes -= old.size
            self.change(size - old.size, usable - size - (old.usable - old.size))
            self.happened()
        elif self.faithful:
            if new.context:
                new.context.bytes += size
                new.context = None
                self.note()
        elif old.context:
            self.remove(old)
        else:
            self.add(new)
        return new

    def peeks(self, stack):
        """Whether the stack counts, without making it a context before its time."""
        captured = tuple(stack[:self.o['depth'] + 49])
        if captured in self.contexts:
            return self.contexts[captured].shown is not None
        deepest = self.deepest
        shown = self.select(captured)
        self.deepest = deepest
        return shown is not None

    # -- output --

    def text(self, only=None):
        if self.highest:
            self.set_exact_peak()
        lines = ['cmd: script', 'time_unit: ' + self.o['time_unit']]
        for i, s in enumerate([only] if only else self.snapshots):
            lines += ['#-----------', 'snapshot=%d' % i, '#-----------', 'time=%d' % s.time,
                      'mem_heap_B=%d' % (int(s.tree[0].split()[1]) if s.tree else s.heap),
                      'mem_heap_extra_B=%d' % s.extra, 'mem_stacks_B=%d' % s.stacks,
                      'heap_tree=' + ('empty' if s.tree is None else 'peak' if s.peak else 'detailed')]
            lines += s.tree or []
        return '\n'.join(lines) + '\n'


# ---- random programs and options ----

def random_stack(rng, frames):
    known = [f for f in frames if frames[f]]
    by_name = {frames[f]: f for f in known}
    length = rng.choice((1, 2, 3, 4, 6, 12, 12, 55, 70)) if rng.random() < 0.3 else rng.randrange(1, 8)
    stack = [rng.choice(list(frames)) for _ in range(length)]
    if rng.random() < 0.5:
        stack = [by_name[rng.choice(('alloc1', 'malloc'))]] * rng.randrange(3) + stack
    if rng.random() < 0.7:
        stack += [by_name[n] for n in ('main', '__libc_start_call_main', '_start')]
        stack += rng.choices([f for f in frames if not frames[f]], k=rng.choice((0, 0, 0, 1, 2)))
    return stack


def random_script(rng, frames, path, counted):
    """(lines of the script, steps for the model)"""
    lines, steps = ['records %d' % rng.choice((8, 64, 500, 65536))] + ['counted'] * counted + ['stacks'], []
    lines.append('module %s' % path)
    stacks = [random_stack(rng, frames) for _ in range(rng.randrange(1, 25))] + [[]] * rng.randrange(2)
    for i, stack in enumerate(stacks):
        lines.append('stack %d %s' % (i, ' '.join(('m' if f[0] else '') + '0x%x' % f[1] for f in stack)))
    live, now, largest = [], 0, rng.choice((1, 40, 500, 100000, 1 << 34))
    grows, instructions, deep = rng.random(), 0, rng.choice((0, 0, 0.05, 0.6))
    passes = rng.choice((0.5, 0.1, 0.005))     # by the last, Massif takes more snapshots in a millisecond than it keeps
    if rng.random() < 0.5:
        lines.append('call start 0 0')
    for i in range(rng.choice((0, 3, 40, 40, 400, 400, 400, 3000))):
        if rng.random() < passes:
            now += rng.choice((1, 1, 1, 7, 1000)) * MS
            lines.append('time %d' % (now + MS // 2))
            steps.append(('time', now))
        if counted and rng.random() < 0.9:
            instructions += rng.choice((1, 3, 200, 200, 10000, 1 << 33))
            lines.append('instructions %d' % instructions)
            steps.append(('instructions', instructions))
        if rng.random() < deep:
            thread = rng.choice((0, 0, 1, 63))
            depth = rng.choice((0, 8, rng.randrange(5000), rng.randrange(largest + 1)))
            lines += ['thread %d' % thread, 'call stack 0 %d' % depth]
            steps.append(('stack', thread, depth))
        s = rng.randrange(len(stacks))
        size = rng.choice((0, largest, rng.randrange(largest + 1), rng.randrange(largest + 1)))
        what = rng.random()
        if what < 0.05:
            lines.append(rng.choice(('call malloc %d %d' % (s, size), 'call lost 0 3', 'null_frees 2',
                                     'flush')))
        elif not live or what < 0.25 + 0.4 * grows:
            lines.append('alloc %d %s %d %d' % (i, rng.choice(('malloc', 'calloc', 'new', 'memalign')), s, size))
            steps.append(('alloc', i, stacks[s], size))
            live.append(i)
        elif what < 0.70:
            block = live.pop(rng.randrange(len(live)))
            steps.append(('free', block))
            lines.append(rng.choice(('free %d' % block, 'free %d' % block,
                                     'free_by %d realloc_free %d' % (block, s),
                                     'free_by %d implied_free 0' % block)))
        elif what < 0.73:
            block = rng.choice(live)
            lines.append('failed_resize %d %d %d' % (block, s, size))
            steps.append(('fail', block))
        else:
            block = rng.choice(live)
            size = max(size, 1)
            lines.append('resize %d %d %d' % (block, s, size))
            steps.append(('resize', block, stacks[s], size))
    return lines, steps


def random_impossible_script(rng, frames, path):
    """Lines of a script that no program could have run."""
    lines, _ = random_script(rng, frames, path, True)
    stacks = sum(line.startswith('stack ') for line in lines)
    for i in range(rng.choice((5, 100, 1000))):
        s, block = rng.randrange(stacks), rng.randrange(60)
        size = rng.choice((0, 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 15, rng.randrange(1 << 64)))
        lines.append(rng.choice((
            'thread %d' % rng.randrange(64), 'call stack 0 %d' % size, 'free_by %d stack %d' % (block, s),
            'instructions %d' % rng.choice((size, (1 << 63) - 1 if i > 90 else 0)),
            'time %d' % rng.choice((i * MS, (1 << 64) - 1)) if i > 90 else 'flush', 'free %d' % block,
            'free %d' % block, 'free_by %d implied_free 0' % block,
            'alloc %d malloc %d %d' % (block, s, size),
            'alloc %d unknown %d %d' % (block, s, size), 'resize %d %d %d' % (block, s, size))))
    return lines


def random_times(rng):
    times = {rng.randrange(1 << rng.choice((4, 10, 20, 40))) for _ in range(rng.randrange(6))}
    return rng.sample([str(t) for t in times], len(times))


def random_options(rng, counted):
    """(the model's options, the command line's)"""
    texts = {
        'peak-inaccuracy': rng.choice(('0', '1.0', '1', '0.3', '50', '12.345')),
        'threshold': rng.choice(('0', '1', '2.675', '0.125', '0.995', '10', '33.3', '100')),
        'max-snapshots': rng.choice((10, 11, 20, 100)),
        'detailed-freq': rng.choice((1, 2, 3, 10)),
        'heap-admin': rng.choice((0, 8, 100)),
        'alignment': rng.choice((16, 16, 32, 4096)),
        'depth': rng.choice((1, 2, 3, 6, 12, 30)),
        'time-unit': rng.choice(('B', 'B', 'ms') + ('i', 'i') * counted),
        'stacks': rng.choice(('no', 'no', 'yes')),
        'heap': rng.choice(('yes',) * 15 + ('no',)),
        'show-below-main': rng.choice(('no', 'no', 'yes')),
        'compat': rng.choice(('fixed', 'fixed', '3.19', 'latest')),
    }
    alloc = rng.choice(((), (), ('alloc1',), ('alloc1', 'alloc2', 'work1'), ('main', 'work2'),
                        ('(below main)',)))
    ignore = rng.choice(((), (), ('ignore1', 'ignore2'), ('work3', 'main'), ('(below main)', 'ignore1')))
    options = {key.replace('-', '_'): value for key, value in texts.items()}
    options['exact_peak'] = rng.random() < 0.4
    ats = rng.choice(([], [], ['peak'], ['peak', 'end', '0'], [str(rng.randrange(20)), 'end'], random_times(rng)))
    whats = [rng.choice(('at', 'at', 'snapshot', 'all-snapshots')) for _ in ats]
    options['at'] = [('at' if at == 'peak' and what == 'all-snapshots' else what, at)
                     for what, at in zip(whats, ats)]
    for key in ('peak_inaccuracy', 'threshold'):
        options[key] = parse_float(options[key])
    for key in ('heap', 'stacks', 'show_below_main'):
        options[key] = options[key] == 'yes'
    options['alloc_fns'] = DEFAULT_ALLOC_FNS + list(alloc)
    options['ignore_fns'] = list(ignore)
    words = ['--%s=%s' % item for item in texts.items() if item != ('time-unit', 'i') or rng.random() < 0.5]
    words += ['--alloc-fn=' + name for name in alloc] + ['--ignore-fn=' + name for name in ignore]
    words += ['--exact-peak'] * options['exact_peak'] + ['--%s=%s' % at for at in options['at']]
    return options, words


def run_model(options, steps, frames, path):
    """The model after all steps, and its clock and number of changes after each."""
    model, blocks, after = Model(options, frames, path), {}, []
    for step in steps:
        if step[0] == 'time':
            model.now_ns = step[1]
        elif step[0] == 'instructions':
            model.instructions = step[1]
        elif step[0] == 'stack':
            model.stack(step[1], step[2])
        elif step[0] == 'alloc':
            blocks[step[1]] = model.alloc(step[2], step[3])
        elif step[0] == 'free':
            model.remove(blocks.pop(step[1]))
        elif step[0] == 'fail':
            model.fail_to_resize(blocks[step[1]])
        else:
            blocks[step[1]] = model.resize(blocks[step[1]], step[2], step[3])
        after.append((model.clock(), model.changes))
    return model, after


def steps_until(at, totals, after):
    """The number of steps until then, also of those without effect: Massif takes a peak before it knows."""
    if at == 'end':
        return len(after)
    if at == 'peak':
        highest = totals.index(max(totals))
        return next((i for i, (_, changes) in enumerate(after, 1) if changes == highest), 0)
    return sum(clock <= int(at) for clock, _ in after)


def comparable(text, ats):
    """The parts of a requested snapshot that the model knows: without the ms of calls that count nowhere."""
    return [text.split('\n')] + [[line for line in at.split('\n') if not line.startswith('time=')
                                  or 'time_unit: B' in at] for at in ats]


def model_texts(options, steps, frames, path):
    """massif.out, then a file for each requested snapshot, by another run up to that time; or None."""
    model, after = run_model(options, steps, frames, path)
    if model.aborted:
        return None
    ats = []
    for what, at in options['at']:
        then, _ = run_model(options, steps[:steps_until(at, model.totals, after)], frames, path)
        if what == 'all-snapshots':
            then.highest = then.highest if at == 'end' else None
            ats.append(then.text())
            continue
        snapshot = then.now()
        snapshot.tree = then.tree() if options['heap'] and what == 'at' else None
        ats.append(then.text(snapshot))
    return comparable(model.text(), ats)


def read_texts(name, options):
    """msreplay's file, without the options in the first lines."""
    ats = [name.with_name('%s.%s-%s' % (name.name, what, at)) for what, at in options['at']]
    texts = [path.read_text().split('\n', 1)[1] for path in [name] + ats]
    for path in ats:
        path.unlink()
    return comparable(texts[0], texts[1:])


def run_tools(build, lines, words, also, scratch, others=0):
    """Runs msreplay with `words`, and in the same pass with `also`; and with others, by sums of records."""
    (scratch / 'script').write_text('\n'.join(lines) + '\n')
    more = ['--also=' + shlex.join(also + ['--massif-out-file=%s' % (scratch / 'also')])]
    more += ['--also=--massif-out-file=%s%d' % (scratch / 'other', i) for i in range(others)]
    (scratch / 'options').write_text(shlex.join(words + more) + '\n')
    subprocess.run([build / 'tests/tools/script2trace', scratch / 'script', scratch / 'trace'], check=True)
    subprocess.run([build / 'analyze/msreplay', '-q', *words, '--massif-out-file=%s' % (scratch / 'ours'),
                    *more, scratch / 'trace'], check=True, timeout=60)


def try_once(seed, build, program, scratch):
    """Whether the two agree; and the number of snapshots."""
    rng = random.Random(seed)
    frames = program.frames(rng)
    if seed % 10 == 0:
        more = [['--usable=valgrind'], ['--xtree-memory=full', '--xtree-memory-file=%s' % (scratch / 'xtree')]]
        run_tools(build, random_impossible_script(rng, frames, program.path),
                  random_options(rng, True)[1] + sum(rng.sample(more, rng.randrange(3)), []),
                  random_options(rng, True)[1], scratch)
        return True, 0
    counted = rng.random() < 0.5
    lines, steps = random_script(rng, frames, program.path, counted)
    options, words = zip(random_options(rng, counted), random_options(rng, counted))
    run_tools(build, lines, *words, scratch, others=seed % 2 * 3)
    equal, snapshots = True, 0
    for name, o in zip(('ours', 'also'), options):
        theirs = model_texts(o, steps, frames, program.path)
        ours = read_texts(scratch / name, o)
        if theirs is None:
            continue
        (scratch / (name + '-model')).write_text('\n'.join(theirs[0]))
        equal = equal and ours == theirs
        snapshots += sum(line.startswith('snapshot=') for text in theirs for line in text)
    return equal, snapshots


def main(doc=__doc__, try_one=try_once):
    options = arguments(doc, '--runs', '--seed', '--keep')
    snapshots = 0

    def begin(folder):
        program = Program(folder)

        def compare(seed):
            nonlocal snapshots
            equal, seen = try_one(seed, options.build, program, folder)
            snapshots += seen
            if not equal:
                raise Problem('ours and ours-model, or also and also-model')
        return compare
    status = run_seeds(options, begin)
    print('%d snapshots' % snapshots)
    return status


if __name__ == '__main__':
    sys.exit(main())
