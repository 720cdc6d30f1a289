#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every figure of msreport's sections is that of a model which reads the trace's events and keeps all blocks in a list.

Random programs of several threads: blocks that stay, leak slowly, come and go as in a cache, are temporary, are resized
in chains, are freed by other threads. The model is written for clarity, from what msreport(1) says; it reads
`msconvert --to=ndjson`. Each program is asked about twice, the second time with random filters. Rows are compared as
sets: which name belongs to which stack is other tests' matter.

  report_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import fnmatch
import json
import math
import os
import random
import statistics
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Problem, run_tries    # noqa: E402

BUCKETS = 200
DETAILS = 'proportional_bytes', 'swapped_bytes', 'minor_faults', 'major_faults'    # of a sample of memory, if known
SECOND = 1000000000


class Different(Problem):
    """A figure that isn't the model's."""


# ---- Random programs ----

class Script:
    """Lines for script2trace."""

    def __init__(self, rng):
        self.rng, self.lines, self.live, self.freed, self.next, self.time = rng, [], [], [], 0, 0
        self.threads = rng.choice([1, 1, 2, 5])
        self.usable = rng.choice([0, 8, 100])       # of which the allocator gives multiples; 0: not recorded
        self.stacks = rng.randint(1, 30)
        rate = rng.choice([20, 2000, 100000])      # events a second
        self.pause = SECOND // rate
        if rng.random() < .5:
            self.lines.append(f'records {rng.choice([3, 20, 200])}')
        if rng.random() < .3:
            self.lines.append(f'keyframes {rng.choice([10, 100])}')
        if self.usable:
            self.lines.append(f'usable {self.usable}')
        for stack in range(self.stacks):
            depth = rng.randint(1, 6)
            frames = [hex(0x1000 + rng.randint(0, 12)) for _ in range(depth)] + [hex(0x2000 + stack)]
            rng.shuffle(frames)
            self.lines.append(f'stack {stack} ' + ' '.join(frames))

    def tick(self):
        self.time += self.rng.choice([0, self.pause, 2 * self.pause])
        self.lines.append(f'time {self.time}')
        if self.threads > 1 and self.rng.random() < .3:
            self.lines.append(f'thread {self.rng.randrange(self.threads)}')

    def alloc(self, size=None):
        rng = self.rng
        operation = rng.choice(['malloc', 'malloc', 'calloc', 'new', 'new_array'])
        size = rng.choice([0, 1, 16, 24, 100, 4096, rng.randint(1, 10**6)]) if size is None else size
        self.lines.append(f'alloc {self.next} {operation} {rng.randrange(self.stacks)} {size}')
        self.live.append(self.next)
        self.next += 1

    def free(self, index):
        block = self.live.pop(index)
        self.freed.append(block)
        if self.rng.random() < .1:
            self.lines.append(f'free_by {block} free {self.rng.randrange(self.stacks)}')
        else:
            self.lines.append(f'free {block}')

    def sample_memory(self):
        """What the kernel says, any number: it need not be above the heap's."""
        words = [self.rng.choice([0, 4096, self.rng.randint(0, 10**8)])]
        if self.rng.random() < .3:
            words += [self.rng.randint(0, 10**8) for _ in range(4)]
        self.lines.append('memory ' + ' '.join(map(str, words)))

    def resize(self, index):
        size = self.rng.choice([8, 64, 1000, 10**5])
        self.lines.append(f'resize {self.live[index]} {self.rng.randrange(self.stacks)} {size}')

    def write(self, path):
        rng = self.rng
        stay, sampling = rng.random(), rng.choice([0, .02, .5])
        for _ in range(rng.choice([5, 60, 800])):
            self.tick()
            what = rng.random()
            if rng.random() < sampling:
                self.sample_memory()
            if not self.live or what < .5:
                self.alloc()
                if rng.random() < .3 and self.live:
                    self.free(len(self.live) - 1)
            elif what < .6:
                self.resize(rng.randrange(len(self.live)))
            elif what < .61 and self.freed:
                self.lines.append(f'free_again {rng.choice(self.freed)}')
            elif what < .65:
                self.lines.append(f'call malloc {rng.randrange(self.stacks)} 99999999999')
            elif rng.random() > stay:
                self.free(rng.randrange(len(self.live)))
        if rng.random() < .3:      # a clean-up, as at an exit
            for _ in range(len(self.live) // rng.choice([1, 1, 2])):
                self.free(rng.randrange(len(self.live)))
        if sampling:
            self.lines.append(f'peak_resident {rng.randint(0, 10**8)}')
        self.lines.append(f'end {self.time + rng.choice([0, 0, self.pause, 100 * self.pause])}')
        path.write_text('\n'.join(self.lines) + '\n')


# ---- The model ----

class Block:
    """A live block. Lifetimes are counted from the first block of a chain of reallocs."""

    def __init__(self, event, before, model):
        self.stack, self.size, self.tid, self.born = event['stack'], event['size'], event['tid'], event['time_ns']
        self.operation = event['operation']
        self.seen = event.get('recorded_stack', self.stack), self.size      # what heaptrack compares
        self.resizes = before.resizes + 1 if before else 0
        self.first = before.first if before else self.size
        self.time = before.time if before else self.born
        self.calls = before.calls if before else model.all_calls()
        self.bytes = before.bytes if before else model.all_bytes()
        self.thread_calls = before.thread_calls if before else model.thread_calls[self.tid]


def shown(values, share):
    """A quantile as msreport rounds it: down to a class of which four double the value."""
    ordered = sorted(values)
    value = ordered[max(math.ceil(len(ordered) * share), 1) - 1]
    if value < 4:
        return value
    step = 1 << (value.bit_length() - 3)
    return value // step * step


class Model:
    """All that happened, by stack and by thread."""

    def __init__(self, events, allowed):
        self.calls, self.bytes, self.thread_calls = 0, 0, Counter()
        self.calls_left_out, self.bytes_left_out = 0, 0
        self.live, self.allowed = {}, allowed
        self.total, self.peak, self.peak_live, self.peak_ns = 0, 0, [], 0
        self.allocated = defaultdict(Counter)   # by stack
        self.lives = defaultdict(list)          # by stack: (calls, bytes, ns)
        self.figures = defaultdict(Counter)     # by stack
        self.chains = {}                        # by stack: (length, first size, last size)
        self.threads = defaultdict(Counter)
        self.pairs = defaultdict(Counter)
        self.sizes = Counter()
        self.sizes_and_lives = []               # (size, lifetime in calls) of freed blocks
        self.changes = []                       # (time, stack, thread that makes the call, bytes)
        self.last = self.first = None           # heaptrack's
        for event in events:
            self.see(event)

    def all_calls(self):
        return self.calls + self.calls_left_out

    def all_bytes(self):
        return self.bytes + self.bytes_left_out

    def add(self, event, before=None):
        size, stack, tid = event['size'], event['stack'], event['tid']
        self.calls += 1
        self.bytes += size
        self.thread_calls[tid] += 1
        block = Block(event, before, self)
        self.live[event['block']] = block
        self.total += size
        self.allocated[stack]['calls'] += 1
        self.allocated[stack]['bytes'] += size
        self.sizes[size] += 1
        thread = self.threads[tid]
        thread['calls'] += 1
        thread['bytes'] += size
        thread['live'] += size
        thread['blocks'] += 1
        thread['most'] = max(thread['most'], thread['live'])
        self.last = block.seen
        self.first = self.first or self.last
        self.changes.append((event['time_ns'], stack, tid, size))

    def take(self, event):
        block = self.live.pop(event['old_block'])
        self.total -= block.size
        self.threads[block.tid]['live'] -= block.size
        self.threads[block.tid]['blocks'] -= 1
        self.changes.append((event['time_ns'], block.stack, event['tid'], -block.size))
        return block

    def free(self, event):
        block, tid = self.take(event), event['tid']
        figures, thread = self.figures[block.stack], self.threads[tid]
        thread['frees'] += 1
        thread['foreign'] += block.tid != tid
        self.pairs[block.tid, tid]['blocks'] += 1
        self.pairs[block.tid, tid]['bytes'] += block.size
        life = self.all_calls() - block.calls
        self.sizes_and_lives.append((block.size, life))
        self.lives[block.stack].append((life, self.all_bytes() - block.bytes, event['time_ns'] - block.time))
        figures['freed'] += 1
        if block.resizes == 0:
            between = self.thread_calls[block.tid] - block.thread_calls
            figures['temporary'] += between <= self.allowed
            figures['at once'] += between == 0
        figures['heaptrack'] += self.last == block.seen
        self.last = self.first

    def resize(self, event):
        block = self.take(event)
        figures = self.figures[event['stack']]
        self.figures[block.stack]['heaptrack'] += self.last == block.seen
        figures['resized'] += 1
        if event['operation'] != 'realloc_in_place':
            figures['moved'] += 1
            figures['copied'] += min(block.size, event['size'])
        if block.resizes + 1 > self.chains.get(event['stack'], (0,))[0]:
            self.chains[event['stack']] = block.resizes + 1, block.first, event['size']
        self.add(event, block)

    def leave_out(self, event):
        """A call whose block doesn't pass a filter: lifetimes count it, and it is the last one."""
        self.calls_left_out += 1
        self.bytes_left_out += event['size']
        self.thread_calls[event['tid']] += 1
        self.last = 'left out'
        self.first = self.first or self.last

    def see(self, event):
        if event['type'] == 'left out':
            self.leave_out(event)
        elif event['type'] == 'alloc':
            self.add(event)
        elif event['type'] == 'free':
            self.free(event)
        elif event['type'] == 'resize':
            self.resize(event)
        if self.total > self.peak:
            self.peak, self.peak_ns, self.peak_live = self.total, event['time_ns'], list(self.live.values())


class Functions:
    """What each function, with all that it called, had live at most, and allocated."""

    def __init__(self, events, paths):
        self.live, self.peak, self.bytes, self.calls = Counter(), Counter(), Counter(), Counter()
        for event in events:
            if event['type'] in ('free', 'resize'):
                for function in paths[event['old_stack']]:
                    self.live[function] -= event['old_size']
            if event['type'] in ('alloc', 'resize'):
                for function in paths[event['stack']]:
                    self.live[function] += event['size']
                    self.bytes[function] += event['size']
                    self.calls[function] += 1
                    self.peak[function] = max(self.peak[function], self.live[function])


def by_stack(blocks):
    rows = defaultdict(lambda: [0, 0])
    for block in blocks:
        rows[block.stack][0] += block.size
        rows[block.stack][1] += 1
    return rows


class Timeline:
    """Live bytes at the ends of equal buckets, of all stacks and of each."""

    def __init__(self, model, end_ns, begin_ns=0):
        self.span, self.begin, self.end = (end_ns - begin_ns) // BUCKETS + 1, begin_ns, end_ns
        self.series = defaultdict(lambda: [0] * BUCKETS)
        self.by_thread = Counter()              # by bucket and thread: what it changed
        for time, stack, tid, size in model.changes:
            bucket = min((min(time, end_ns) - begin_ns) // self.span, BUCKETS - 1)
            self.by_thread[bucket, tid] += size
            for i in range(bucket, BUCKETS):
                self.series[stack][i] += size
        n = (end_ns - begin_ns) // self.span + 1
        self.series = {stack: levels[:n] for stack, levels in self.series.items()}
        self.levels = [sum(levels[i] for levels in self.series.values()) for i in range(n)]


def slope_and_low(levels):
    """Theil and Sen's slope, and the lower end of its 95 % interval by Kendall's statistic."""
    n = len(levels)
    slopes = sorted((levels[j] - levels[i]) / (j - i) for i in range(n) for j in range(i + 1, n))
    rank = (len(slopes) - 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)) / 2
    return statistics.median(slopes), slopes[max(int(rank), 0)]


def is_once(levels, allocated, live):
    if allocated != live:
        return False
    first = next((i for i, level in enumerate(levels) if level), len(levels))
    changed = [i for i in range(1, len(levels)) if levels[i] != levels[i - 1]]
    last = changed[-1] if changed else 0
    return first >= last or last - first < len(levels) // 20


def clean_up(levels):
    """The first bucket of the run's last stretch, of a twentieth at most, in which all live bytes only fall."""
    n = len(levels)
    first = n
    while first > 1 and n - first < n // 20 and levels[first - 1] <= levels[first - 2]:
        first -= 1
    while 0 < first < n and levels[first] == levels[first - 1]:
        first += 1
    return first


def middle(levels):
    return sorted(levels)[len(levels) // 2]


def last_third_is_higher(levels):
    third = len(levels) // 3
    return min(levels[-third:]) > max(levels[:third])


def begins(late):
    """The bucket in which a rise begins: the last one of the lowest level, then each knee behind it that is deep."""
    start = len(late) - 1 - late[::-1].index(min(late))
    while len(late) - start > 8:
        part = max((len(late) - start) // 10, 1)
        width, height = len(late) - part + part // 2 - start, middle(late[-part:]) - late[start]
        depths = [((late[start] - late[i]) * width + height * (i - start), i)
                  for i in range(start + 1, len(late) - max(part, 8))]
        depth, knee = max(depths, default=(0, start))
        if height <= 0 or 4 * depth < height * width:
            break
        start = knee
    return start


def rise(late):
    """The slope, in bytes a bucket, and the bucket in which the rise begins; None: they don't rise."""
    if not last_third_is_higher(late):
        return None
    start = begins(late)
    late = late[start:]
    third, part = len(late) // 3, max(len(late) // 10, 1)
    if not last_third_is_higher(late) or slope_and_low(late[len(late) // 2:])[1] <= 0:
        return None
    slope, low = slope_and_low(late)
    by = middle(late[-part:]) - middle(late[-third:][:part])
    if slope <= 0 or low <= 0 or by < slope / 2 * (third - part):
        return None
    return slope, start


def growth_of(levels, until, allocated):
    """As rise() of all buckets."""
    n, before = len(levels), levels[:until]
    late = before[n // 2:]
    if allocated < 10:
        return None
    for first in (n // 10, n // 2):
        if first == n // 2 and min(late[-(len(late) // 3):]) <= max(levels[:n // 2]):
            return None
        found = rise(before[first:])
        if found:
            return found[0], first + found[1]
    return None


def is_bounded(levels, until, size):
    part, half = len(levels) // 20, levels[len(levels) // 2:until]
    return (size > half[-1] and min(half) > 0 and max(half) < 1.5 * min(half) and
            middle(half[-part:]) <= 1.1 * middle(half[:part]))


def falls(levels):
    high, n = 0, 0
    for level in levels:
        high = max(high, level)
        if level < high // 2:
            n, high = n + 1, level
    return n


def judge(timeline, stack, allocated, live):
    """`allocated`: calls and bytes; `live`: blocks at the end. The verdict; with growth its slope, bucket and bytes."""
    return judge_levels(timeline, timeline.series.get(stack, [0] * len(timeline.levels)), allocated, live)


def judge_levels(timeline, levels, allocated, live):
    until = clean_up(timeline.levels)
    if len(levels) < 20 or len(levels) * timeline.span < SECOND:
        return 'not judged', None
    if is_once(levels, allocated['calls'], live):
        return 'once', None
    growth = growth_of(levels, until, allocated['calls'])
    if growth:
        return 'growing', (*growth, judged_bytes(levels, until))
    if until < len(levels) and live == 0 and 0 < allocated['bytes'] == levels[until - 1]:
        return 'until exit', None
    if falls(levels[:until]) >= 2:
        return 'sawtooth', None
    return ('bounded' if is_bounded(levels, until, allocated['bytes']) else 'not judged'), None


def judged_bytes(levels, until):
    """What the clean-up leaves, or what was there before if it frees more than half of that."""
    return levels[until - 1] if levels[-1] < levels[until - 1] - levels[until - 1] // 2 else levels[-1]


def what_grows(timeline, model, paths):
    """By site that grows: bytes, slope and first bucket of it or of each part that grows, whether only parts grow."""
    until, sites, least = clean_up(timeline.levels), defaultdict(list), max(model.total, model.peak) / 100
    at_peak, at_end = by_stack(model.peak_live), by_stack(model.live.values())
    nothing = [0] * len(timeline.levels)
    for stack in model.allocated:
        sites[paths[stack][-1] if stack in paths else '[no stack]'].append(stack)
    for site, stacks in sites.items():
        allocated = sum((model.allocated[stack] for stack in stacks), Counter())
        levels = [sum(column) for column in zip(*(timeline.series.get(stack, nothing) for stack in stacks))]
        _, whole = judge_levels(timeline, levels, allocated, sum(at_end[stack][1] for stack in stacks))
        held = {stack: max(at_peak[stack][0], at_end[stack][0]) for stack in stacks}
        parts = []
        for stack in stacks if sum(map(bool, held.values())) > 1 else []:
            _, growth = judge(timeline, stack, model.allocated[stack], at_end[stack][1])
            if growth and held[stack] >= least:
                parts.append((judged_bytes(timeline.series[stack], until), *growth))
        size = judged_bytes(levels, until)
        if parts and (not whole or sum(part[0] for part in parts) <= size // 2):
            yield site, sum(part[0] for part in parts), [part[1:] for part in parts], 'mixed'
        elif whole:
            yield site, size, [whole], 'growing'


def find_steps(levels):
    """(first bucket, last bucket, change, bucket in which it was gone or None)"""
    n, high, steps, i = len(levels), max(levels, default=0), [], 0
    change = [level - before for level, before in zip(levels, [0, *levels])]
    longest, ordinary = max(n // 20, 1), sorted(map(abs, change))[n // 2] if n else 0
    while i < n:
        last = i
        while (last + 1 < n and last + 1 - i < longest and change[i] != 0 and change[last + 1] * change[i] > 0):
            last += 1
        total = sum(change[i:last + 1])
        if total and abs(total) >= max(high // 20, ordinary * (8 + last + 1 - i)):
            before = levels[i - 1] if i else 0
            back = next((k for k in range(last + 1, n) if levels[k] < before + total // 4), None) if total > 0 else None
            steps.append((i, last, total, back))
        i = last + 1
        if len(steps) > 32:     # the new one gives way to equal ones
            least = min(range(32), key=lambda k: abs(steps[k][2]))
            del steps[32 if abs(steps[32][2]) <= abs(steps[least][2]) else least]
    return steps


# ---- Filters ----

class Filter:
    """Random options, and the events of the blocks that pass."""

    def __init__(self, rng, events, stacks, end_ns):
        self.words, self.end_ns = [], end_ns
        self.sizes, self.tids, self.patterns, self.lifetimes = [], [], [], []
        self.from_ms, self.until_ms = 0, None
        self.paths = {row['stack']: row['path'].split(';') for row in stacks if row['path']}
        for choose in rng.sample([self.choose_size, self.choose_thread, self.choose_function, self.choose_lifetime,
                                  self.choose_times], rng.choice([1, 1, 2, 3])):
            choose(rng, events)

    def choose_size(self, rng, _):
        for _ in range(rng.choice([1, 1, 2])):
            least, most = sorted(rng.choice([0, 1, 16, 25, 100, 1024, 4096, 10**5]) for _ in range(2))
            form = rng.choice(['{0}-{1}', '{0}-', '-{1}', '{0}'])
            self.words.append('--size=' + form.format('1k' if least == 1024 else least, '4k' if most == 4096 else most))
            self.sizes.append({'{0}-{1}': (least, most), '{0}-': (least, math.inf), '-{1}': (0, most),
                               '{0}': (least, least)}[form])

    def choose_thread(self, rng, events):
        for tid in rng.sample(sorted({event['tid'] for event in events} | {99}), rng.choice([1, 1, 2])):
            self.words.append(f'--thread={tid}')
            self.tids.append(tid)

    def choose_function(self, rng, _):
        self.patterns = ['*' + format(0x1000 + rng.randint(0, 12), 'x') + '*' for _ in range(rng.choice([1, 1, 2]))]
        self.words += ['--function=' + pattern for pattern in self.patterns]

    def choose_lifetime(self, rng, _):
        for _ in range(rng.choice([1, 1, 2])):
            if rng.random() < .5:
                least, most = sorted(rng.choice([0, 1, 2, 5, 20, 100]) for _ in range(2))
                unit, scale = 'calls', 1
            else:
                least, most = sorted(rng.randint(0, self.end_ns // 1000) for _ in range(2))
                unit, scale = 'us', 1000
            form = rng.choice([f'{least}{unit}-{most}{unit}', f'{least}-{most}{unit}', f'{least}{unit}-',
                               f'-{most}{unit}'])
            self.words.append('--lifetime=' + form)
            self.lifetimes.append((unit, 0 if form[0] == '-' else least * scale,
                                   math.inf if form[-1] == '-' else most * scale))

    def choose_times(self, rng, _):
        end_ms = self.end_ns // 1000000
        start, until = sorted((rng.randint(0, end_ms), rng.randint(0, end_ms)))
        if rng.random() < .7:
            self.from_ms = start
            self.words.append(f'--from={start}')
        if not self.from_ms or rng.random() < .7:
            self.until_ms = until
            self.words.append(f'--until={until}')

    def extent(self):
        """Beginning and end of the answer, in ns."""
        cut = self.until_ms is not None and self.until_ms < self.end_ns // 1000000
        end = self.until_ms * 1000000 if cut else self.end_ns
        return min(self.from_ms * 1000000, end), end

    def lives_of(self, events):
        """By block: lifetime of its chain of reallocs, in calls and in ns."""
        calls, origins, chains, lives = 0, {}, {}, {}
        for event in events:
            first = chains.pop(event['old_block'], None) if event['type'] in ('free', 'resize') else None
            calls += event['type'] in ('alloc', 'resize')
            if event['type'] == 'alloc':
                chains[event['block']] = first = event['block']
                origins[first] = calls, event['time_ns']
            elif event['type'] == 'resize':
                chains[event['block']] = first
            elif event['type'] == 'free':
                lives[first] = calls - origins[first][0], event['time_ns'] - origins[first][1]
        for first in chains.values():
            lives[first] = calls - origins[first][0], max(self.extent()[1] - origins[first][1], 0)
        return lives

    def passes(self, event, life):
        return ((not self.sizes or any(least <= event['size'] <= most for least, most in self.sizes)) and
                (not self.tids or event['tid'] in self.tids) and
                (not self.patterns or any(fnmatch.fnmatchcase(function, pattern) for pattern in self.patterns
                                          for function in self.paths.get(event['stack'], ()))) and
                (not self.lifetimes or any(least <= life[unit != 'calls'] <= most
                                           for unit, least, most in self.lifetimes)) and
                event['time_ns'] // 1000000 >= self.from_ms)

    def apply(self, events):
        """Events of the blocks that pass; of other blocks only that they came."""
        if self.until_ms is not None:
            events = [event for event in events if event['time_ns'] // 1000000 <= self.until_ms]
        lives, chains, kept, left = self.lives_of(events), {}, set(), []
        for event in events:
            if event['type'] not in ('alloc', 'free', 'resize'):
                left += [event] if not self.lifetimes and self.passes(event, None) else []
                continue
            old = event['type'] != 'alloc' and event['old_block'] in kept
            first = chains.pop(event['old_block'], None) if event['type'] != 'alloc' else event['block']
            if event['type'] == 'free':
                left += [event] if old else []
                continue
            chains[event['block']] = first
            comes = self.passes(event, lives[first])
            if comes:
                kept.add(event['block'])
                left.append(event if old else {**event, 'type': 'alloc'})
                continue
            if old:
                left.append({**event, 'type': 'free'})
            left.append({**event, 'type': 'left out'})
        return left


# ---- Comparison ----

def same(what, got, expected):
    if got != expected:
        raise Different(f'{what}: msreport has {got}, the model {expected}')


def same_rows(what, got, expected):
    got, expected = Counter(list(got)), Counter(list(expected))
    if got != expected:
        raise Different(f'{what}: only msreport has {list((got - expected).elements())[:5]}, '
                        f'only the model {list((expected - got).elements())[:5]}')


def values(rows, *keys):
    return [tuple(row[key] for key in keys) for row in rows]


def real(value):
    """As JSON has it."""
    return float(f'{value:.6g}')


def share(part, whole):
    return real(part / whole) if whole else 0


class Bench:
    """The programs, and the trace of one seed."""

    def __init__(self, build, folder):
        self.msreport, self.msconvert = build / 'analyze/msreport', build / 'analyze/msconvert'
        self.script2trace, self.folder, self.trace = build / 'tests/tools/script2trace', folder, folder / 'trace'

    def make(self, rng):
        script = Script(rng)
        script.write(self.folder / 'script')
        self.usable = script.usable
        subprocess.run([self.script2trace, self.folder / 'script', self.trace], check=True)
        return self.events()

    def events(self):
        """All but frees of unknown blocks."""
        events = []
        for event in self.table('ndjson'):
            if event['type'] != 'free' or event['old_block'] is not None:
                events.append(event)
            elif events and events[-1]['operation'] == 'freed_before':
                events[-1]['time_ns'] = event['time_ns']    # the mark is about the call behind it
        return events

    def table(self, form):
        done = subprocess.run([self.msconvert, '-q', f'--to={form}', '-o', '-', self.trace], check=True,
                              capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def ask_all(self, *words):
        command = [self.msreport, '-q', '--format=json', '--top=1000000', '--all-frames', *words, self.trace]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Different(f'msreport {words}: exit {done.returncode}: {done.stderr}')
        return json.loads(done.stdout)

    def ask(self, *words):
        return self.ask_all(*words)['sections']


def compare_overview(section, model, timeline):
    n = len(timeline.levels)
    points = min(n, 64)
    same('live bytes', section['live_bytes'], [timeline.levels[(i + 1) * n // points - 1] for i in range(points)])
    same('peak', values([section], 'peak_bytes', 'peak_blocks', 'peak_ns')[0],
         (model.peak, len(model.peak_live), model.peak_ns))
    same('end', (section['end_bytes'], section['end_blocks']), (model.total, len(model.live)))
    same('calls', (section['bytes'], section['calls']), (model.bytes, model.calls))
    same('temporary', section['temporary'], sum(f['temporary'] for f in model.figures.values()))


def compare_first_screen(section, model):
    """Asked for alone, the overview doesn't follow single blocks."""
    same('temporary, counted', section['temporary'], sum(f['at once'] for f in model.figures.values()))


def by_site(figures, paths):
    """Sums of stacks' figures by the innermost function."""
    sums = defaultdict(lambda: [0, 0])
    for stack, row in figures.items():
        site = paths[stack][-1] if stack in paths else '[no stack]'
        sums[site] = [sums[site][0] + row[0], sums[site][1] + row[1]]
    return sums


def compare_sites(section, model, paths):
    """The tables of the first screen."""
    allocated = {stack: (row['bytes'], row['calls']) for stack, row in model.allocated.items()}
    for name, figures, of, whole in (('peak_sites', by_stack(model.peak_live), 0, model.peak),
                                     ('end_sites', by_stack(model.live.values()), 0, model.total),
                                     ('churn_sites', allocated, 1, model.calls)):
        rows = [(site, *row, share(row[of], whole)) for site, row in by_site(figures, paths).items() if row[of]]
        same_rows(name, values(section.get(name, []), 'function', 'bytes', 'calls' if of else 'blocks', 'share'), rows)


def compare_what_grows(section, model, timeline, paths):
    """The first screen has the three that grow fastest. Of those as fast as the third, any."""
    growing = sorted(what_grows(timeline, model, paths), key=lambda row: -slope_of(row[2])) if model.calls else []
    growing = [row for row in growing if cost_of(timeline, row[2]) >= max(model.total, model.peak) / 100]
    rows = [(site, size, *figures_of_parts(timeline, growth), verdict) for site, size, growth, verdict in growing]
    got = values(section.get('growth', []), 'function', 'bytes', 'since_ns', 'bytes_per_minute', 'grown_bytes',
                 'verdict')
    same('number that grow', len(got), min(len(rows), 3))
    least = slope_of(growing[2][2]) * (1 + 1e-9) if len(rows) > 3 else 0
    clear = [row for row, (_, _, growth, _) in zip(rows, growing) if slope_of(growth) > least]
    same_rows('what grows', got[:len(clear)], clear)
    same_rows('what grows as fast', [row for row in got if row not in rows], [])


def compare_rss(section, samples, model, timeline):
    """Each sample next to the live bytes at the end of its part of the run."""
    rows = []
    for sample in samples:
        bucket = max(sample['time_ns'] - timeline.begin, 0) // timeline.span
        live = timeline.levels[min(bucket, len(timeline.levels) - 1)]
        rows.append((sample['time_ns'], sample['resident_bytes'], live, sample['resident_bytes'] - live,
                     *(sample[key] for key in DETAILS)))
    same('samples', values(section.get('samples', []), 'time_ns', 'resident_bytes', 'live_bytes', 'rest_bytes',
                           *DETAILS), rows)
    if rows:
        most = max(rows, key=lambda row: row[3])
        same('most beside the heap', values([section], 'most_rest_bytes', 'most_rest_ns')[0], (most[3], most[0]))


def compare_peak(section, model):
    same('peak', values([section], 'bytes', 'blocks', 'time_ns')[0], (model.peak, len(model.peak_live), model.peak_ns))
    same_rows('peak', values(section['largest'], 'bytes', 'blocks', 'share'),
              [(*row, share(row[0], model.peak)) for row in by_stack(model.peak_live).values() if row[1]])
    same('tree', max((row['bytes'] for row in section['tree'] if row['depth'] == 0), default=0) <= model.peak, True)


def compare_groups(bench, model, paths, words):
    """The peak by what blocks have in common."""
    def innermost(block):
        return paths[block.stack][-1] if block.stack in paths else '[no stack]'
    for by, group_of in (('size', lambda b: f'{b.size} bytes'), ('type', lambda b: b.operation),
                         ('thread', lambda b: f'thread {b.tid}'), ('function', innermost), ('site', innermost),
                         ('library', lambda b: '[no library]')):
        rows = defaultdict(lambda: [0, 0])
        for block in model.peak_live:
            row = rows[group_of(block)]
            row[0] += block.size
            row[1] += 1
        same_rows('by ' + by, values(bench.ask('peak', '--by=' + by, *words)['peak']['largest'],
                                     'function', 'bytes', 'blocks', 'share'),
                  [(name, *row, share(row[0], model.peak)) for name, row in rows.items()])


def growth_figures(timeline, growth):
    """Since when, bytes a minute, bytes since then, and bytes a day, of which a rise below 10 s says nothing."""
    if not growth:
        return None, None, None, None
    second = growth[0] * SECOND / timeline.span
    since = timeline.begin + (growth[1] + 1) * timeline.span
    grown = min(int(second * max(timeline.end - since, 0) / 1e9), growth[2])
    day = int(second * 86400) if timeline.end - since >= 10 * SECOND else None
    return since, int(second * 60), grown, day


def slope_of(parts):
    return sum(part[0] for part in parts)


def figures_of_parts(timeline, parts):
    """As growth_figures() of a site, without the day."""
    since, grown = zip(*(growth_figures(timeline, part)[0:3:2] for part in parts))
    return min(since), int(slope_of(parts) * SECOND / timeline.span * 60), sum(grown)


def cost_of(timeline, parts):
    """In a day, or if the rise takes less than 10 s what was seen."""
    since, minute, grown = figures_of_parts(timeline, parts)
    return minute * 1440 if timeline.end - since >= 10 * SECOND else grown


def compare_leaks(section, model, timeline):
    rows = []
    same('leaks', (section['bytes'], section['blocks']), (model.total, len(model.live)))
    for stack, (size, blocks) in by_stack(model.live.values()).items():
        births = [block.time for block in model.live.values() if block.stack == stack]
        verdict, growth = judge(timeline, stack, model.allocated[stack], blocks)
        # A cut is at a whole millisecond, with all of its calls.
        oldest, youngest = (max(timeline.end - birth, 0) for birth in (min(births), max(births)))
        rows.append((size, blocks, share(size, model.total), oldest, youngest, verdict,
                     *growth_figures(timeline, growth)))
    same_rows('leaks', values(section['leaks'], 'bytes', 'blocks', 'share', 'oldest_ns', 'youngest_ns', 'verdict',
                              'since_ns', 'bytes_per_minute', 'grown_bytes', 'bytes_per_day'), rows)
    freed = []
    for stack in model.allocated.keys() - {block.stack for block in model.live.values()}:
        (verdict, growth), level = judge(timeline, stack, model.allocated[stack], 0), 0
        if verdict in ('growing', 'until exit'):
            level = timeline.series[stack][clean_up(timeline.levels) - 1]
        if level:
            freed.append((level, verdict, *growth_figures(timeline, growth)[:3]))
    same_rows('until exit', values(section.get('until_exit', []), 'bytes', 'verdict', 'since_ns', 'bytes_per_minute',
                                   'grown_bytes'), freed)


def life_figures(lives):
    """Medians and 99th percentiles in calls, bytes and time, and the longest in calls."""
    quantiles = [shown([life[k] for life in lives], share) if lives else None for k in range(3) for share in (.5, .99)]
    return max((life[0] for life in lives), default=None), *quantiles


LIFE_KEYS = ('life_calls_max', 'life_calls_p50', 'life_calls_p99', 'life_bytes_p50', 'life_bytes_p99', 'life_ns_p50',
             'life_ns_p99')


def compare_churn(section, model):
    rows, reallocs = [], []
    for stack, allocated in model.allocated.items():
        figures, lives = model.figures[stack], model.lives[stack]
        rows.append((allocated['calls'], share(allocated['calls'], model.calls), allocated['bytes'],
                     figures['temporary'], share(figures['temporary'], allocated['calls']), figures['heaptrack'],
                     figures['freed'], *life_figures(lives)))
        if figures['resized']:
            reallocs.append((figures['copied'], figures['moved'], figures['resized'], *model.chains[stack]))
    same_rows('churn', values(section['busiest'], 'calls', 'share', 'bytes', 'temporary', 'temporary_share',
                              'temporary_by_heaptrack', 'freed',
                              *LIFE_KEYS), rows)
    same_rows('reallocs', values(section.get('reallocs', []), 'copied', 'moved', 'reallocs', 'chain', 'chain_from',
                                 'chain_to'), reallocs)


def compare_sizes(section, model):
    peak, end = (Counter(block.size for block in blocks) for blocks in (model.peak_live, model.live.values()))
    same('sizes', values([section], 'calls', 'mean', 'sizes')[0],
         (model.calls, model.bytes // model.calls if model.calls else 0, len(model.sizes)))
    same_rows('sizes', values(section['commonest'], 'size', 'calls', 'share', 'bytes', 'peak_bytes', 'end_bytes'),
              [(size, calls, share(calls, model.calls), size * calls, size * peak[size], size * end[size])
               for size, calls in model.sizes.items()])
    classes = defaultdict(Counter)
    for size, calls in model.sizes.items():
        classes[size.bit_length()].update(calls=calls, bytes=size * calls, peak=size * peak[size])
    same('classes', values(section['classes'], 'from', 'to', 'calls', 'share', 'bytes', 'peak_bytes'),
         [(1 << width >> 1, (1 << width) - 1, row['calls'], share(row['calls'], model.calls), row['bytes'], row['peak'])
          for width, row in sorted(classes.items())])
    compare_lifetimes(section['lifetimes'], model)


def compare_lifetimes(rows, model):
    """By size and lifetime, of which each row and column reaches sixteen times as far as the one before."""
    def band(size):
        return next((i for i in range(5) if size < 16 << 4 * i), 5)
    cells = Counter((band(size), 0 if life == 0 else 1 + min(band(life), 4)) for size, life in model.sizes_and_lives)
    cells.update((band(block.size), 6) for block in model.live.values())
    bands = {key[0] for key in cells}
    same('lifetimes', [tuple(row.values()) for row in rows],
         [(16 ** i if i else 0, (16 << 4 * i) - 1 if i < 5 else None, *(cells[i, k] for k in range(7)))
          for i in sorted(bands)])


def compare_slack(section, model, usable):
    """`usable`: the allocator gives a multiple of it, and at least one."""
    def slack(size):
        return max(-(-size // usable), 1) * usable - size
    if usable == 0 or model.calls == 0:
        same('no slack', 'slack_bytes' in section, False)
        return
    peak = Counter(block.size for block in model.peak_live)
    sums = [sum(slack(size) * n for size, n in sizes.items()) for sizes in (model.sizes, peak)]
    same('slack', [section['slack_bytes'], section['peak_slack_bytes']], sums)
    same('classes', [sum(row[key] for row in section['classes']) for key in ('slack_bytes', 'peak_slack_bytes')], sums)
    for row in section['classes']:
        same('class', row['slack_bytes'], sum(slack(size) * n for size, n in model.sizes.items()
                                              if row['from'] <= size <= row['to']))


def compare_threads(section, model):
    rows = [(str(tid), t['calls'], share(t['calls'], model.calls), t['bytes'], t['frees'], t['foreign'], t['most'],
             t['live'], t['blocks'])
            for tid, t in model.threads.items() if t['calls'] or t['frees']]
    got = [row for row in values(section['threads'], 'tid', 'calls', 'share', 'bytes', 'frees', 'foreign',
                                 'own_peak_bytes', 'end_bytes', 'end_blocks') if row[1] or row[4]]
    same_rows('threads', got, rows)
    same_rows('pairs', values(section.get('freed_by_others', []), 'allocated_by', 'freed_by', 'blocks', 'bytes'),
              [(str(a), str(b), p['blocks'], p['bytes']) for (a, b), p in model.pairs.items() if a != b])


def compare_steps(section, timeline, several_threads):
    def begins(bucket):
        return min(timeline.begin + bucket * timeline.span, timeline.end)
    rows = [(begins(first), begins(last + 1), change, None if back is None else begins(back + 1))
            for first, last, change, back in find_steps(timeline.levels)]
    same('steps', values(section['steps'], 'from_ns', 'until_ns', 'bytes', 'back_ns'), rows)
    made = []
    for number, (first, last, change, _) in enumerate(find_steps(timeline.levels), 1):
        for levels in timeline.series.values():
            by = levels[last] - (levels[first - 1] if first else 0)
            made += [(number, by)] if by * change > 0 else []
    same_rows('made by', values(section.get('made_by', []), 'step', 'bytes'), made)
    compare_threads_of_steps(section.get('threads'), timeline, several_threads)


def compare_threads_of_steps(rows, timeline, several_threads):
    """What each thread allocated less what it freed. A trace of one thread has no such table."""
    steps, threads = find_steps(timeline.levels), []
    same('table of threads', rows is not None, several_threads and bool(steps))
    if rows is None:
        return
    for number, (first, last, change, _) in enumerate(steps, 1):
        made = Counter()
        for (bucket, tid), size in timeline.by_thread.items():
            made[tid] += size if first <= bucket <= last else 0
        threads += [(number, size, str(tid)) for tid, size in made.items() if size * change > 0]
    same_rows('threads of steps', values(rows, 'step', 'bytes', 'tid'), threads)


def compare_functions(section, events, stacks, model):
    paths = {row['stack']: set(row['path'].split(';')) for row in stacks if row['path']}
    innermost = {row['stack']: row['path'].split(';')[-1] for row in stacks if row['path']}
    functions, sums = Functions(events, defaultdict(set, paths)), defaultdict(Counter)
    lives, sizes = defaultdict(list), defaultdict(list)
    for event in events:
        if event['type'] in ('alloc', 'resize'):
            for name in paths.get(event['stack'], ()):
                sizes[name].append(event['size'])
            sums[innermost.get(event['stack'])].update(self_bytes=event['size'], self_calls=1)
    for figure, blocks in (('peak', model.peak_live), ('end', model.live.values())):
        for block in blocks:
            sums[innermost.get(block.stack)]['self_' + figure] += block.size
            for name in paths.get(block.stack, ()):
                sums[name][figure] += block.size
    for stack, ended in model.lives.items():
        for name in paths.get(stack, ()):
            lives[name] += ended
    rows = [(name, functions.bytes[name], sums[name]['self_bytes'], calls, sums[name]['self_calls'],
             functions.bytes[name] // calls, min(sizes[name]), max(sizes[name]), sums[name]['peak'],
             share(sums[name]['peak'], model.peak), functions.peak[name],
             share(functions.bytes[name], functions.peak[name]), sums[name]['self_peak'], functions.live[name],
             sums[name]['self_end'], *life_figures(lives[name])) for name, calls in functions.calls.items()]
    for what in ('functions', 'lines'):
        same_rows(what, values(section[what][what], 'function', 'bytes', 'self_bytes', 'calls', 'self_calls', 'mean',
                               'least', 'most', 'peak_bytes', 'peak_share', 'own_peak_bytes', 'recycling',
                               'self_peak_bytes', 'end_bytes', 'self_end_bytes', *LIFE_KEYS), rows)
    compare_libraries(section['libraries'], model, functions)


def compare_libraries(section, model, functions):
    """All frames are in none."""
    rows = section['libraries']
    same('one library', len(rows), 1 if functions.calls else 0)
    same_rows('libraries', values(rows, 'bytes', 'self_bytes', 'calls', 'self_calls', 'peak_bytes', 'own_peak_bytes',
                                  'end_bytes'),
              [(model.bytes, model.bytes, model.calls, model.calls, model.peak, model.peak, model.total)] * len(rows))


def compare_errors(section, events, paths):
    """Wrong calls by what is wrong, the call and its stack, and the block's."""
    rows, operations = {}, {}

    def add(event, error, size, call, block):
        def kind(operation, stack):
            return operation, paths[stack][-1] if stack in paths else None
        key = error, size, call and (event['operation'], event['stack']), block and (*block, size)
        first = rows.setdefault(key, [0, event['time_ns'], *kind(*(key[2] or (None, None))),
                                      *kind(*(block or (None, None)))])
        first[0] += 1
    for event in events:
        old = operations.get(event['old_block']), event['old_stack']
        if event['type'] == 'free' and event['stack'] is not None and old[0] in ('new', 'new_array'):
            add(event, 'mismatch', event['old_size'], True, old)
        elif event['type'] == 'mark' and event['operation'] == 'freed_before':
            add(event, 'double free', event['old_size'], False, (None, event['old_stack']))
        elif event['type'] == 'failed':
            add(event, 'failed', event['size'], True, None)
        elif event['type'] == 'alloc' and event['size'] == 0:
            add(event, 'no bytes', 0, True, None)
        if event['type'] in ('alloc', 'resize'):
            operations[event['block']] = event['operation']
    got = values(section['errors'], 'error', 'size', 'count', 'first_ns', 'call', 'call_function', 'block',
                 'block_function')
    def summed(table):
        """What was freed twice is told apart by its allocation's function, of which events say nothing."""
        sums = {}
        for error, size, count, first, call, function, block, *rest in table:
            key = error, size, call, function, None if error == 'double free' else block, *rest
            sums[key] = sums.get(key, (0, first))[0] + count, min(first, sums.get(key, (0, first))[1])
        return sums
    same_rows('errors', summed(got).items(), summed((key[0], key[1], *row) for key, row in rows.items()).items())
    counts = Counter()
    for key, row in rows.items():
        counts[key[0]] += row[0]
    same('errors', values([section], 'mismatches', 'double_frees', 'unknown_blocks', 'failed', 'zero_sized')[0],
         (counts['mismatch'], counts['double free'], 0, counts['failed'], counts['no bytes']))


def compare_one_stack(bench, rng, model, timeline, words):
    """What is said of one stack is what the table of all says of it, and its live bytes are those of a stack."""
    rows = bench.ask('churn', '--by=stack', *words)['churn']['busiest']
    if not rows:
        return
    row = rng.choice(rows)
    section = bench.ask('--stack=' + row['id'], *words)['stack']
    keys = ('calls', 'bytes', 'freed', 'temporary', *(LIFE_KEYS[i] for i in (0, 1, 5) if row['freed']))
    same('one stack', values([section], *keys), values([row], *keys))
    series = [stack for stack, levels in timeline.series.items() if levels == section['live_bytes']]
    live, peak = by_stack(model.live.values()), by_stack(model.peak_live)
    figures = values([section], 'calls', 'bytes', 'peak_bytes', 'end_bytes', 'end_blocks')[0]
    same('its figures', figures in [(model.allocated[stack]['calls'], model.allocated[stack]['bytes'],
                                     peak[stack][0], *live[stack]) for stack in series], True)


def compare_growth(bench, events, rng, end_ns, words=()):
    end_ms = end_ns // 1000000
    start, until = sorted((rng.randint(0, end_ms), rng.randint(0, end_ms)))
    section = bench.ask('growth', '--by=stack', f'--from={start}', f'--until={until}ms', *words)['growth']
    model, all_events = Model([e for e in events if e['time_ns'] // 1000000 <= until], 0), Model(events, 0)
    timeline = Timeline(all_events, end_ns)
    young = [b for b in model.live.values() if b.born // 1000000 >= start]
    rows, size = [], sum(block.size for block in young)
    for stack, row in by_stack(young).items():
        series = timeline.series[stack]
        left = sum(block.stack == stack for block in all_events.live.values())
        rows.append((*row, share(row[0], size), tuple(series),
                     judge(timeline, stack, all_events.allocated[stack], left)[0]))
    same('growth', values([section], 'bytes', 'blocks')[0], (size, len(young)))
    same_rows('growth', [(*row[:3], tuple(row[3]), row[4])
                         for row in values(section['largest'], 'bytes', 'blocks', 'share', 'live_bytes', 'verdict')],
              rows)


def ask_sections(bench, allowed, words=()):
    return bench.ask('overview', 'peak', 'leaks', 'steps', 'churn', 'sizes', 'threads', '--by=stack',
                     f'--temporary={allowed}', *words)


def compare_figures(bench, sections, model, timeline, words=()):
    """All in which no name of a function is."""
    sections['peak']['tree'] = bench.ask('peak', *words)['peak']['tree']
    compare_overview(sections['overview'], model, timeline)
    compare_first_screen(bench.ask('overview', *words)['overview'], model)
    compare_peak(sections['peak'], model)
    compare_leaks(sections['leaks'], model, timeline)
    compare_steps(sections['steps'], timeline, sections['threads']['count'] > 1)
    compare_churn(sections['churn'], model)
    compare_sizes(sections['sizes'], model)
    compare_slack(sections['sizes'], model, bench.usable)
    compare_threads(sections['threads'], model)


def compare_sections(bench, rng, events, stacks, timeline_of, words=()):
    """Each of a model's figures with those that the words ask for. Returns the timeline."""
    allowed = rng.choice([0, 0, 1, 3])
    model = Model(events, allowed)
    sections = ask_sections(bench, allowed, words)
    timeline = timeline_of(model, sections['overview']['duration_ns'])
    paths = {row['stack']: row['path'].split(';') for row in stacks if row['path']}
    compare_figures(bench, sections, model, timeline, words)
    compare_sites(sections['overview'], model, paths)
    compare_what_grows(sections['overview'], model, timeline, paths)
    compare_groups(bench, model, paths, words)
    return timeline


def compare_filtered(bench, rng, events, stacks, end_ns):
    chosen = Filter(rng, events, stacks, end_ns)
    left = chosen.apply(events)

    def timeline_of(model, duration_ns):
        begin, end = chosen.extent()
        same('duration', duration_ns, end - begin)
        return Timeline(model, end, begin)
    compare_sections(bench, rng, left, stacks, timeline_of, chosen.words)
    whole, model = Model(events, 0), Model(left, 0)
    answer = bench.ask_all('functions', 'lines', 'libraries', *chosen.words)
    compare_functions(answer['sections'], left, stacks, model)
    same('options', sorted(answer['filter']['options']), sorted(chosen.words))
    same('share', values([answer['filter']], 'calls', 'all_calls', 'bytes', 'all_bytes')[0],
         (model.calls, whole.calls, model.bytes, whole.bytes))
    if not chosen.from_ms and chosen.until_ms is None:
        compare_growth(bench, left, rng, end_ns, chosen.words)


def try_once(bench, seed):
    rng = random.Random(seed)
    events, stacks = bench.make(rng), bench.table('ndjson-stacks')
    timeline = compare_sections(bench, rng, events, stacks, Timeline)
    compare_functions(bench.ask('functions', 'lines', 'libraries'), events, stacks, Model(events, 0))
    compare_growth(bench, events, rng, timeline.end)
    paths = {row['stack']: row['path'].split(';') for row in stacks if row['path']}
    compare_rss(bench.ask('rss')['rss'], bench.table('ndjson-rss'), Model(events, 0), timeline)
    compare_errors(bench.ask('errors')['errors'], events, paths)
    compare_one_stack(bench, rng, Model(events, 0), timeline, ())
    compare_filtered(bench, rng, events, stacks, timeline.end)


def main():
    return run_tries(__doc__, Bench, try_once)


if __name__ == '__main__':
    sys.exit(main())
