#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every figure of `msreport savings` is that of a model which follows the rules of msreport(1), "SAVINGS", over random
programs full of loops: buffers that grow, blocks that come one at a time, pools, and large blocks that go after a peak.

What the peak would have been is computed by going through all events again, once for each set of sites. Each program is
asked about twice, the second time with random filters.

  savings_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import os
import random
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import run_tries    # noqa: E402
from report_model import Bench, Filter, Model, Script, Timeline, same, same_rows, values    # noqa: E402

LADDER, FREES, SOON, LOOP, LOCAL = 3, 4, 1000, 10, 4096
LEAST_BYTES, LEAST_CALLS, LEAST_POOL = 65536, 100, 1000


# ---- Random programs ----

class Loops(Script):
    """Phases of one habit each, with other calls between."""

    def __init__(self, rng):
        super().__init__(rng)
        self.by_stack = rng.choice([0, .5, 1])      # how often it is known which stack frees

    def get(self, stack, size):
        self.tick()
        self.lines.append(f'alloc {self.next} {self.rng.choice(["malloc", "new"])} {stack} {size}')
        self.next += 1
        return self.next - 1

    def give(self, block, stack):
        if self.rng.random() < self.by_stack:
            stack = stack if self.rng.random() < .995 else self.rng.randrange(self.stacks)
            self.lines.append(f'free_by {block} free {stack}')
        else:
            self.lines.append(f'free {block}')

    def disturb(self):
        """A call of something else, now and then."""
        if self.rng.random() < .02:
            self.tick()
            self.lines.append(f'call malloc {self.rng.randrange(self.stacks)} 5')

    def loop(self, stack, n):
        size, largest = self.rng.choice([16, 200, 5000]), self.rng.choice([0, 0, 300])
        for _ in range(n):
            block = self.get(stack, size + self.rng.randint(0, largest))
            self.disturb()
            self.give(block, stack)

    def pool(self, stack, n):
        live, most = [], self.rng.randint(2, 12)
        nested = self.rng.random() < .5
        for _ in range(self.rng.choice([5, 20]) * n):
            if live and (len(live) == most or self.rng.random() < .5):
                self.give(live.pop(-1 if nested else self.rng.randrange(len(live))), stack)
            else:
                live.append(self.get(stack, 48))
        for block in reversed(live):
            self.give(block, stack)

    def grow(self, stack, n):
        other = self.rng.choice([stack, self.rng.randrange(self.stacks)])
        for _ in range(self.rng.randint(1, n // 10 + 1)):
            block, size = self.get(stack, 24), 24
            for _ in range(self.rng.randint(1, 12)):
                size = size * self.rng.choice([4, 4, 3, 5]) // 2
                if self.rng.random() < .03:
                    size //= 4
                self.tick()
                self.lines.append(f'resize {block} {other} {size}')
            if self.rng.random() < .9:
                self.give(block, stack)

    def replace(self, stack, n):
        for _ in range(self.rng.randint(1, n // 10 + 1)):
            block, size = self.get(stack, 24), 24
            for _ in range(self.rng.randint(1, 14)):
                size = size * self.rng.choice([40, 40, 30, 29, 41]) // 20 if self.rng.random() < .2 else 2 * size
                bigger = self.get(stack, size)
                self.disturb()
                self.give(block, stack)
                block = bigger
            if self.rng.random() < .9:
                self.give(block, stack)

    def overlap(self, stack, n):
        """Large blocks of which some go after a peak, to which others lead."""
        large = [self.get(stack, self.rng.randint(10**5, 10**7)) for _ in range(self.rng.randint(1, 4))]
        other = self.rng.randrange(self.stacks)
        small = [self.get(other, self.rng.randint(1000, 10**5)) for _ in range(n)]
        for block in large:
            if self.rng.random() < .9:
                self.give(block, stack)
        for block in small:
            if self.rng.random() < .3:
                self.give(block, other)

    def stay(self, _, n):
        for _ in range(n):
            self.get(self.rng.randrange(self.stacks), self.rng.randint(1000, 10**6))

    def write(self, path):
        rng = self.rng
        habits = [self.loop, self.pool, self.grow, self.replace, self.overlap, self.stay]
        for _ in range(rng.randint(1, 8)):
            rng.choice(habits)(rng.randrange(self.stacks), rng.choice([9, 30, 150]))
        if rng.random() < .7:
            self.loop(rng.randrange(self.stacks), 1100)
        self.lines.append(f'end {self.time + self.pause}')
        path.write_text('\n'.join(self.lines) + '\n')


# ---- The model ----

class Rung:
    """A live block, and how far it has come on a ladder."""

    def __init__(self, place, size, depth):
        self.place, self.size, self.depth, self.live = place, size, depth, True
        self.first, self.steps, self.copied = size, 0, 0

    def follow(self, before, step, copied):
        self.first, self.steps, self.copied = before.first, before.steps + step, before.copied + copied
        if self.steps > self.place.longest[0]:
            self.place.longest = self.steps, self.first, self.size


class Place:
    """The blocks of one stack in one thread."""

    def __init__(self, stack, tid):
        self.stack, self.tid = stack, tid
        self.sizes, self.live, self.most = [], 0, 0
        self.freed = self.foreign = self.resized = self.ladders = self.steps = self.copied = 0
        self.nested, self.frees, self.longest = True, set(), (0, 0, 0)

    def end(self, rung):
        if rung.steps >= LADDER:
            self.ladders += 1
            self.steps += rung.steps
            self.copied += rung.copied


class Places:
    """All places, by what happens to their blocks."""

    def __init__(self, events):
        self.places, self.live, self.last = {}, {}, {}
        for event in events:
            self.see(event)
        for rung in self.live.values():
            rung.place.end(rung)

    def add(self, event):
        key = event['stack'], event['tid']
        place = self.places.setdefault(key, Place(*key))
        place.sizes.append(event['size'])
        place.live += 1
        place.most = max(place.most, place.live)
        rung = Rung(place, event['size'], place.live)
        self.live[event['block']] = rung
        self.last[event['tid']] = rung
        return rung

    def take(self, event):
        rung = self.live.pop(event['old_block'])
        rung.live = False
        rung.place.nested &= rung.place.live == rung.depth
        rung.place.live -= 1
        return rung

    def free(self, event, last):
        rung = self.take(event)
        place = rung.place
        place.freed += 1
        place.foreign += place.tid != event['tid']
        place.frees.add(event['stack'])
        grows = (last and last is not rung and last.place is place and last.live and
                 1.5 * rung.size <= last.size <= 2 * rung.size and last.size > rung.size)
        if grows:
            last.follow(rung, 1, rung.size)
        else:
            place.end(rung)

    def see(self, event):
        last = self.last.pop(event['tid'], None)
        if event['type'] == 'alloc':
            self.add(event)
        elif event['type'] == 'free':
            self.free(event, last)
        elif event['type'] == 'resize':
            before = self.take(event)
            before.place.resized += 1
            grows = event['size'] > before.size
            moved = grows and event['operation'] != 'realloc_in_place'
            self.add(event).follow(before, grows, before.size if moved else 0)


def rule_of(place, paths):
    """What a place suggests, and how many calls that saves."""
    n, path = len(place.sizes), paths[place.stack]
    equal = len(set(place.sizes)) == 1
    if place.ladders and 2 * (place.steps + place.ladders) >= n:
        return 'reserve', place.steps
    if place.most == 1 and n >= LOOP and place.freed == n and not place.foreign:
        local = (place.frees and None not in place.frees and len(place.frees) <= FREES and
                 all(paths[free][:len(path)] == path for free in place.frees))
        if local and max(place.sizes) <= LOCAL:
            return 'stack', n
        if path.count(path[-1]) > 1:
            return None, 0
        records = sum(size > max(place.sizes[:i], default=-1) for i, size in enumerate(place.sizes))
        return ('hoist', n - 1) if equal else ('reuse', n - records)
    if equal and 1 < place.most <= n // 10 and not place.foreign and not place.resized:
        return 'pool', n - place.most
    return None, 0


def suggest(places, paths, model):
    """The rows of suggestions that the places make: by stack, what."""
    rows = defaultdict(list)
    for place in places:
        what, saved = rule_of(place, paths)
        if what:
            rows[place.stack, what].append((place, saved))
    for (_, what), members in rows.items():
        them = [place for place, _ in members]
        saved, copied = sum(saved for _, saved in members), 0
        held = sum(place.most * max(place.sizes) for place in them) if what in ('hoist', 'reuse', 'pool') else 0
        ladder = [None] * 4
        if what == 'reserve':
            copied = sum(place.copied for place in them)
            ladder = [sum(place.ladders for place in them), *max((p.longest for p in them), key=lambda x: x[0])]
        enough = saved >= (LEAST_POOL if what == 'pool' else LEAST_CALLS) and \
            saved >= model.calls // (20 if what == 'pool' else 100)
        if what in ('hoist', 'reuse') and held > model.peak // 10:
            continue
        if enough or (copied >= LEAST_BYTES and copied >= model.bytes // 100):
            yield (what, saved, copied or None, sum(len(p.sizes) for p in them), len(them),
                   min(min(p.sizes) for p in them), max(max(p.sizes) for p in them), sum(p.most for p in them),
                   held, *ladder)


class Peak:
    """The first moment of the most live bytes, and what goes soon after it."""

    def __init__(self, events):
        self.live, self.births, self.blocks = {}, {}, {}    # by block: (stack, size); its number among all
        total = self.bytes = self.calls = self.place = 0
        calls = 0
        for i, event in enumerate(events):
            if event['type'] in ('free', 'resize'):
                total -= event['old_size']
                del self.live[event['old_block']]
            if event['type'] in ('alloc', 'resize'):
                self.births[event['block']] = i
                self.live[event['block']] = event['stack'], event['size']
                total += event['size']
                calls += 1
                if total > self.bytes:
                    self.bytes, self.place, self.calls, self.blocks = total, i, calls, dict(self.live)
        self.soon = self.calls + max(SOON, self.calls // 20)
        self.goes_on = calls > self.soon
        self.early = defaultdict(list)          # by stack: blocks
        calls = 0
        for i, event in enumerate(events):
            calls += event['type'] in ('alloc', 'resize')
            if i > self.place and calls <= self.soon and event['type'] == 'free' and event['old_block'] in self.blocks:
                self.early[event['old_stack']].append(event['old_block'])

    def by_stack(self):
        rows = Counter()
        for stack, size in self.blocks.values():
            rows[stack] += size
        return rows


def peak_of(events, removed=(), early=(), after=None):
    """The peak without the blocks of some stacks, or if the early blocks had gone after the event `after`."""
    total = most = 0
    for i, event in enumerate(events):
        if event['type'] in ('free', 'resize') and event['old_stack'] not in removed and \
                not (i > (after or 0) and event['old_block'] in early):
            total -= event['old_size']
        if event['type'] in ('alloc', 'resize') and event['stack'] not in removed:
            total += event['size']
        most = max(most, total)
        if i == after:
            total -= sum(event['size'] for event in events if event['block'] in early)
    return most


def growth(events, start, end):
    """By stack: the bytes by which it grew after the event `start` until after the event `end`."""
    grown = Counter()
    for event in events[start + 1:end + 1]:
        if event['type'] in ('free', 'resize'):
            grown[event['old_stack']] -= event['old_size']
        if event['type'] in ('alloc', 'resize'):
            grown[event['stack']] += event['size']
    return grown


def suggest_early(events, peak, names):
    sizes = {event['block']: event['size'] for event in events if event['block'] is not None}
    early = {stack: sum(sizes[block] for block in blocks) for stack, blocks in peak.early.items()}
    worth = [stack for stack in early if early[stack] >= max(LEAST_BYTES, peak.bytes // 20)]
    for stack in sorted(worth, key=lambda stack: -early[stack])[:8] if peak.goes_on else []:
        last = max(peak.births[block] for block in peak.early[stack])
        off = peak.bytes - peak_of(events, early=set(peak.early[stack]), after=last)
        grown = growth(events, last, peak.place)
        before = max((other for other in grown if other != stack), key=lambda other: grown[other], default=None)
        if before is None or grown[before] <= 0 or early.get(before, 0) > grown[before] // 2:
            continue
        if off >= max(LEAST_BYTES, peak.bytes // 20):
            yield ('free earlier', off, early[stack], names[before], names[stack])


# ---- Comparison ----

def id_of(path):
    """The hash that names a stack: of its frames' hashes from the innermost outwards. That of a frame is of its
    function and its module, "" here."""
    value = basis = 0xcbf29ce484222325
    for name in reversed(path):
        frame = basis
        for byte in name.encode() + b'\0' + b'\0':
            frame = (frame ^ byte) * 0x100000001b3 % 2**64
        value = (value ^ frame) * 0x100000001b3 % 2**64
        value ^= value >> 32
    return f'{value:016x}'


def compare_suggestions(section, events, paths, model, peak):
    rows = section.get('suggestions', [])
    names = {stack: path[-1] if path else None for stack, path in paths.items()}
    same_rows('suggestions',
              values([row for row in rows if row['what'] != 'free earlier'], 'what', 'saved_calls',
                     'saved_copied_bytes', 'blocks', 'places', 'least', 'largest', 'most_live', 'held_bytes',
                     'ladders', 'longest', 'longest_from', 'longest_to'),
              list(suggest(Places(events).places.values(), paths, model)))
    same_rows('early', values([row for row in rows if row['what'] == 'free earlier'], 'what', 'saved_peak_bytes',
                              'early_bytes', 'before', 'function'), list(suggest_early(events, peak, names)))
    shares = [row['share'] for row in rows]
    same('order', shares, sorted(shares, reverse=True))


def compare_peaks(section, events, paths, peak, timeline):
    """Each peak is exact for the stacks that are named, which are the largest at the highest moment of what is left."""
    stacks = {id_of(path): stack for stack, path in paths.items() if path}
    at_peak, removed, rows = peak.by_stack(), [], section.get('lower_peak', [])
    levels = {stack: [*series, at_peak[stack]] for stack, series in timeline.series.items()}
    left = [*timeline.levels, peak.bytes]
    for row in rows:
        stack = stacks[row['id']]
        highest = left.index(max(left))
        most = max((levels[other][highest] for other in levels if other not in removed), default=0)
        same('the largest site', levels[stack][highest], most)
        left = [level - gone for level, gone in zip(left, levels[stack])]
        removed.append(stack)
        same(f'the peak without {removed}', row['peak_bytes'], peak_of(events, removed))
    for share, key in ((.1, 'sites_for_tenth'), (.25, 'sites_for_quarter'), (.5, 'sites_for_half')):
        needed = next((row['sites'] for row in rows if row['peak_bytes'] <= peak.bytes - int(peak.bytes * share)), None)
        same(key, section.get(key), needed)


def compare_savings(bench, events, paths, timeline_of, words=()):
    """What the words ask for with the model of its events. Returns the timeline."""
    section = bench.ask('savings', '--by=stack', *words)['savings']
    model, peak = Model(events, 0), Peak(events)
    same('facts', (section['calls'], section['bytes'], section['peak_bytes']), (model.calls, model.bytes, peak.bytes))
    compare_suggestions(section, events, paths, model, peak)
    timeline = timeline_of(model, bench.ask('overview', *words)['overview']['duration_ns'])
    compare_peaks(section, events, paths, peak, timeline)
    return timeline


def by_nothing(event):
    """A realloc whose new block doesn't pass frees the old one; no stack is known to do so."""
    return {**event, 'stack': None} if event['type'] == 'free' and event['operation'].startswith('realloc') else event


def compare_filtered(bench, rng, events, stacks, paths, end_ns):
    chosen = Filter(rng, events, stacks, end_ns)

    def timeline_of(model, _):
        begin, end = chosen.extent()
        return Timeline(model, end, begin)
    compare_savings(bench, [by_nothing(event) for event in chosen.apply(events)], paths, timeline_of, chosen.words)


def try_once(bench, seed):
    rng = random.Random(seed)
    Loops(rng).write(bench.folder / 'script')
    subprocess.run([bench.script2trace, bench.folder / 'script', bench.trace], check=True)
    events, stacks = bench.table('ndjson'), bench.table('ndjson-stacks')
    paths = {row['stack']: row['path'].split(';') if row['path'] else [] for row in stacks}
    timeline = compare_savings(bench, events, paths, Timeline)
    compare_filtered(bench, rng, events, stacks, paths, timeline.end)


def main():
    return run_tries(__doc__, Bench, try_once)


if __name__ == '__main__':
    sys.exit(main())
