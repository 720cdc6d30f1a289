#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every figure of msreport's sections is that of a model which reads the trace's events and keeps all blocks in a list.

Random programs of several threads: blocks that stay, leak slowly, come and go as in a cache, are temporary, are resized
in chains, are freed by other threads. The model is written for clarity, from what msreport(1) says; it reads
`msconvert --to=ndjson`. Rows are compared as sets: which name belongs to which stack is other tests' matter.

  report_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import json
import math
import os
import random
import statistics
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Problem, arguments, run_seeds    # noqa: E402

BUCKETS = 200
SECOND = 1000000000


class Different(Problem):
    """A figure that isn't the model's."""


# ---- Random programs ----

class Script:
    """Lines for script2trace."""

    def __init__(self, rng):
        self.rng, self.lines, self.live, self.next, self.time = rng, [], [], 0, 0
        self.threads = rng.choice([1, 1, 2, 5])
        self.stacks = rng.randint(1, 30)
        rate = rng.choice([20, 2000, 100000])      # events a second
        self.pause = SECOND // rate
        if rng.random() < .5:
            self.lines.append(f'records {rng.choice([3, 20, 200])}')
        if rng.random() < .3:
            self.lines.append(f'keyframes {rng.choice([10, 100])}')
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
        if self.rng.random() < .1:
            self.lines.append(f'free_by {block} free {self.rng.randrange(self.stacks)}')
        else:
            self.lines.append(f'free {block}')

    def resize(self, index):
        size = self.rng.choice([8, 64, 1000, 10**5])
        self.lines.append(f'resize {self.live[index]} {self.rng.randrange(self.stacks)} {size}')

    def write(self, path):
        rng = self.rng
        stay = rng.random()
        for _ in range(rng.choice([5, 60, 800])):
            self.tick()
            what = rng.random()
            if not self.live or what < .5:
                self.alloc()
                if rng.random() < .3 and self.live:
                    self.free(len(self.live) - 1)
            elif what < .6:
                self.resize(rng.randrange(len(self.live)))
            elif what < .65:
                self.lines.append(f'call malloc {rng.randrange(self.stacks)} 99999999999')
            elif rng.random() > stay:
                self.free(rng.randrange(len(self.live)))
        if rng.random() < .3:      # a clean-up, as at an exit
            for _ in range(len(self.live) // rng.choice([1, 1, 2])):
                self.free(rng.randrange(len(self.live)))
        self.lines.append(f'end {self.time + rng.choice([0, 0, self.pause, 100 * self.pause])}')
        path.write_text('\n'.join(self.lines) + '\n')


# ---- The model ----

class Block:
    """A live block. Lifetimes are counted from the first block of a chain of reallocs."""

    def __init__(self, event, before, model):
        self.stack, self.size, self.tid, self.born = event['stack'], event['size'], event['tid'], event['time_ns']
        self.resizes = before.resizes + 1 if before else 0
        self.first = before.first if before else self.size
        self.time = before.time if before else self.born
        self.calls = before.calls if before else model.calls
        self.bytes = before.bytes if before else model.bytes
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
        self.live, self.allowed = {}, allowed
        self.total, self.peak, self.peak_live, self.peak_ns = 0, 0, [], 0
        self.allocated = defaultdict(Counter)   # by stack
        self.lives = defaultdict(list)          # by stack: (calls, bytes, ns)
        self.figures = defaultdict(Counter)     # by stack
        self.chains = {}                        # by stack: (length, first size, last size)
        self.threads = defaultdict(Counter)
        self.pairs = defaultdict(Counter)
        self.sizes = Counter()
        self.changes = []                       # (time, stack, bytes)
        self.last = self.first = None           # heaptrack's
        for event in events:
            self.see(event)

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
        self.last = (stack, size)
        self.first = self.first or self.last
        self.changes.append((event['time_ns'], stack, size))

    def take(self, event):
        block = self.live.pop(event['old_block'])
        self.total -= block.size
        self.threads[block.tid]['live'] -= block.size
        self.threads[block.tid]['blocks'] -= 1
        self.changes.append((event['time_ns'], block.stack, -block.size))
        return block

    def free(self, event):
        block, tid = self.take(event), event['tid']
        figures, thread = self.figures[block.stack], self.threads[tid]
        thread['frees'] += 1
        thread['foreign'] += block.tid != tid
        self.pairs[block.tid, tid]['blocks'] += 1
        self.pairs[block.tid, tid]['bytes'] += block.size
        life = self.calls - block.calls
        self.lives[block.stack].append((life, self.bytes - block.bytes, event['time_ns'] - block.time))
        figures['freed'] += 1
        if block.resizes == 0 and self.thread_calls[block.tid] - block.thread_calls <= self.allowed:
            figures['temporary'] += 1
        figures['heaptrack'] += self.last == (block.stack, block.size)
        self.last = self.first

    def resize(self, event):
        block = self.take(event)
        figures = self.figures[event['stack']]
        self.figures[block.stack]['heaptrack'] += self.last == (block.stack, block.size)
        figures['resized'] += 1
        if event['operation'] != 'realloc_in_place':
            figures['moved'] += 1
            figures['copied'] += min(block.size, event['size'])
        if block.resizes + 1 > self.chains.get(event['stack'], (0,))[0]:
            self.chains[event['stack']] = block.resizes + 1, block.first, event['size']
        self.add(event, block)

    def see(self, event):
        if event['type'] == 'alloc':
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

    def __init__(self, model, end_ns):
        self.span, self.end = end_ns // BUCKETS + 1, end_ns
        self.series = defaultdict(lambda: [0] * BUCKETS)
        for time, stack, size in model.changes:
            bucket = min(time // self.span, BUCKETS - 1)
            for i in range(bucket, BUCKETS):
                self.series[stack][i] += size
        n = end_ns // self.span + 1
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


def is_rising(late):
    third, part = len(late) // 3, max(len(late) // 10, 1)
    if min(late[-third:]) <= max(late[:third]):
        return False
    slope, low = slope_and_low(late)
    rise = middle(late[-part:]) - middle(late[-third:][:part])
    return slope > 0 and low > 0 and rise >= slope / 2 * (third - part)


def is_growing(levels, until, allocated):
    n, before = len(levels), levels[:until]
    late = before[n // 2:]
    if allocated < 10:
        return False
    return is_rising(before[n // 10:]) or (min(late[-(len(late) // 3):]) > max(levels[:n // 2]) and is_rising(late))


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
    """`allocated`: calls and bytes; `live`: blocks at the end."""
    levels, until = timeline.series[stack], clean_up(timeline.levels)
    if len(levels) < 20 or len(levels) * timeline.span < SECOND:
        return 'not judged'
    if is_once(levels, allocated['calls'], live):
        return 'once'
    if is_growing(levels, until, allocated['calls']):
        return 'growing'
    if until < len(levels) and live == 0 and 0 < allocated['bytes'] == levels[until - 1]:
        return 'until exit'
    if falls(levels[:until]) >= 2:
        return 'sawtooth'
    return 'bounded' if is_bounded(levels, until, allocated['bytes']) else 'not judged'


def find_steps(levels):
    """(first bucket, last bucket, change, bucket in which it was gone or None)"""
    n, high, steps, i = len(levels), max(levels, default=0), [], 0
    change = [level - before for level, before in zip(levels, [0, *levels])]
    longest = max(n // 20, 1)
    while i < n:
        last = i
        while (last + 1 < n and last + 1 - i < longest and change[i] != 0 and change[last + 1] * change[i] > 0):
            last += 1
        total = sum(change[i:last + 1])
        if total and abs(total) >= high // 20:
            before = levels[i - 1] if i else 0
            back = next((k for k in range(last + 1, n) if levels[k] < before + total // 4), None) if total > 0 else None
            steps.append((i, last, total, back))
        i = last + 1
    while len(steps) > 32:
        least = min(range(len(steps)), key=lambda k: abs(steps[k][2]))
        del steps[least]
    return steps


# ---- Comparison ----

def same(what, got, expected):
    if got != expected:
        raise Different(f'{what}: msreport has {got}, the model {expected}')


def same_rows(what, got, expected):
    got, expected = Counter(got), Counter(expected)
    if got != expected:
        raise Different(f'{what}: only msreport has {list((got - expected).elements())[:5]}, '
                        f'only the model {list((expected - got).elements())[:5]}')


def values(rows, *keys):
    return [tuple(row[key] for key in keys) for row in rows]


class Bench:
    """The programs, and the trace of one seed."""

    def __init__(self, build, folder):
        self.msreport, self.msconvert = build / 'analyze/msreport', build / 'analyze/msconvert'
        self.script2trace, self.folder, self.trace = build / 'tests/tools/script2trace', folder, folder / 'trace'

    def make(self, rng):
        Script(rng).write(self.folder / 'script')
        subprocess.run([self.script2trace, self.folder / 'script', self.trace], check=True)
        return self.table('ndjson')

    def table(self, form):
        done = subprocess.run([self.msconvert, '-q', f'--to={form}', '-o', '-', self.trace], check=True,
                              capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def ask(self, *words):
        command = [self.msreport, '-q', '--format=json', '--top=1000000', '--all-frames', *words, self.trace]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Different(f'msreport {words}: exit {done.returncode}: {done.stderr}')
        return json.loads(done.stdout)['sections']


def compare_overview(section, model):
    same('peak', values([section], 'peak_bytes', 'peak_blocks', 'peak_ns')[0],
         (model.peak, len(model.peak_live), model.peak_ns))
    same('end', (section['end_bytes'], section['end_blocks']), (model.total, len(model.live)))
    same('calls', (section['bytes'], section['calls']), (model.bytes, model.calls))
    same('temporary', section['temporary'], sum(f['temporary'] for f in model.figures.values()))


def compare_peak(section, model):
    same_rows('peak', values(section['largest'], 'bytes', 'blocks'),
              [tuple(row) for row in by_stack(model.peak_live).values() if row[1]])
    same('tree', max((row['bytes'] for row in section['tree'] if row['depth'] == 0), default=0) <= model.peak, True)


def compare_leaks(section, model, timeline):
    rows = []
    for stack, (size, blocks) in by_stack(model.live.values()).items():
        births = [block.time for block in model.live.values() if block.stack == stack]
        verdict = judge(timeline, stack, model.allocated[stack], blocks)
        rows.append((size, blocks, timeline.end - min(births), timeline.end - max(births), verdict))
    same_rows('leaks', values(section['leaks'], 'bytes', 'blocks', 'oldest_ns', 'youngest_ns', 'verdict'), rows)
    freed = []
    for stack in model.allocated.keys() - {block.stack for block in model.live.values()}:
        verdict, level = judge(timeline, stack, model.allocated[stack], 0), 0
        if verdict in ('growing', 'until exit'):
            level = timeline.series[stack][clean_up(timeline.levels) - 1]
        if level:
            freed.append((level, verdict))
    same_rows('until exit', values(section.get('until_exit', []), 'bytes', 'verdict'), freed)


def compare_churn(section, model):
    rows, reallocs = [], []
    for stack, allocated in model.allocated.items():
        figures, lives = model.figures[stack], model.lives[stack]
        quantiles = [shown([life[k] for life in lives], share) if lives else None
                     for k in range(3) for share in (.5, .99)]
        longest = max((life[0] for life in lives), default=None)
        rows.append((allocated['calls'], allocated['bytes'], figures['temporary'], figures['heaptrack'],
                     figures['freed'], longest, *quantiles))
        if figures['resized']:
            reallocs.append((figures['copied'], figures['moved'], figures['resized'], *model.chains[stack]))
    same_rows('churn', values(section['busiest'], 'calls', 'bytes', 'temporary', 'temporary_by_heaptrack', 'freed',
                              'life_calls_max', 'life_calls_p50', 'life_calls_p99', 'life_bytes_p50',
                              'life_bytes_p99', 'life_ns_p50', 'life_ns_p99'), rows)
    same_rows('reallocs', values(section.get('reallocs', []), 'copied', 'moved', 'reallocs', 'chain', 'chain_from',
                                 'chain_to'), reallocs)


def compare_sizes(section, model):
    same_rows('sizes', values(section['commonest'], 'size', 'calls'), list(model.sizes.items()))
    same('sizes', sum(row['calls'] for row in section['classes']), model.calls)


def compare_threads(section, model):
    rows = [(str(tid), t['calls'], t['bytes'], t['frees'], t['foreign'], t['most'], t['live'], t['blocks'])
            for tid, t in model.threads.items() if t['calls'] or t['frees']]
    got = [row for row in values(section['threads'], 'tid', 'calls', 'bytes', 'frees', 'foreign', 'own_peak_bytes',
                                 'end_bytes', 'end_blocks') if row[1] or row[3]]
    same_rows('threads', got, rows)
    same_rows('pairs', values(section.get('freed_by_others', []), 'allocated_by', 'freed_by', 'blocks', 'bytes'),
              [(str(a), str(b), p['blocks'], p['bytes']) for (a, b), p in model.pairs.items() if a != b])


def compare_steps(section, timeline):
    def begins(bucket):
        return min(bucket * timeline.span, timeline.end)
    rows = [(begins(first), begins(last + 1), change, None if back is None else begins(back + 1))
            for first, last, change, back in find_steps(timeline.levels)]
    same('steps', values(section['steps'], 'from_ns', 'until_ns', 'bytes', 'back_ns'), rows)


def compare_functions(section, events, stacks):
    paths = {row['stack']: set(row['path'].split(';')) for row in stacks if row['path']}
    functions = Functions(events, defaultdict(set, paths))
    same_rows('functions', values(section['functions'], 'function', 'bytes', 'calls', 'own_peak_bytes', 'end_bytes'),
              [(name, functions.bytes[name], functions.calls[name], functions.peak[name], functions.live[name])
               for name in functions.calls])


def compare_growth(bench, events, rng, end_ns):
    end_ms = end_ns // 1000000
    start, until = sorted((rng.randint(0, end_ms), rng.randint(0, end_ms)))
    section = bench.ask('growth', '--by=stack', f'--from={start}', f'--until={until}ms')['growth']
    model = Model([e for e in events if e['time_ns'] // 1000000 <= until], 0)
    young = [b for b in model.live.values() if b.born // 1000000 >= start]
    same_rows('growth', values(section['largest'], 'bytes', 'blocks'), [tuple(r) for r in by_stack(young).values()])


def try_once(bench, seed):
    rng = random.Random(seed)
    events = bench.make(rng)
    allowed = rng.choice([0, 0, 1, 3])
    model = Model(events, allowed)
    sections = bench.ask('overview', 'peak', 'leaks', 'steps', 'churn', 'sizes', 'threads', '--by=stack',
                         f'--temporary={allowed}')
    tree = bench.ask('peak')['peak']
    end_ns = sections['overview']['duration_ns']
    timeline = Timeline(model, end_ns)
    sections['peak']['tree'] = tree['tree']
    compare_overview(sections['overview'], model)
    compare_peak(sections['peak'], model)
    compare_leaks(sections['leaks'], model, timeline)
    compare_steps(sections['steps'], timeline)
    compare_churn(sections['churn'], model)
    compare_sizes(sections['sizes'], model)
    compare_threads(sections['threads'], model)
    compare_functions(bench.ask('functions')['functions'], events, bench.table('ndjson-stacks'))
    compare_growth(bench, events, rng, end_ns)


def main():
    options = arguments(__doc__, '--runs', '--seed', '--keep')

    def begin(folder):
        bench = Bench(options.build, folder)
        return lambda seed: try_once(bench, seed)
    return run_seeds(options, begin)


if __name__ == '__main__':
    sys.exit(main())
