#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every figure of `msreport spans` is that of a model that follows msreport(1), "SPANS", over random programs of
several threads that are in calls, marked spans or neither.

The model first says of each event which span its thread is in, and which event is the last one of each span. Then it
asks of each block whether its free came before that. Each program is asked about by all kinds of spans, and with
random filters.

  spans_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import fnmatch
import math
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import run_tries    # noqa: E402
from report_model import Bench, Filter, Script, same, same_rows, share, values    # noqa: E402

FATES = 'within', 'later', 'after', 'left'
FIGURES = ('calls', 'bytes', 'peak_bytes', 'within_bytes', 'later_bytes', 'after_bytes', 'left_bytes', 'time_ns')
CALLS = 'alloc', 'free', 'resize', 'failed'
CUT = 0xffffffffffff0003


# ---- Random programs ----

class Requests(Script):
    """Each thread stays at a few stacks for a while, and marks spans now and then."""

    def __init__(self, rng):
        super().__init__(rng)
        self.at, self.thread, self.marks = {}, 0, rng.choice([0, .05, .3])
        self.by_stack, self.again = rng.choice([0, .1, .7]), rng.random() < .3
        self.lines = [line for line in self.lines if not line.startswith('stack')]
        self.stacks = 0
        for _ in range(rng.randint(2, 12)):
            self.make_family()

    def make_family(self):
        """Stacks with the same outermost calls."""
        outer = [hex(0x1000 + self.rng.randint(0, 7)) for _ in range(self.rng.randint(0, 3))]
        cut = [hex(CUT)] if self.rng.random() < .1 else []
        for _ in range(self.rng.randint(1, 3)):
            inner = [hex(0x1000 + self.rng.randint(0, 9)) for _ in range(self.rng.randint(0, 3))]
            self.lines.append(f'stack {self.stacks} ' + ' '.join([hex(0x2000 + self.stacks)] + inner + outer + cut))
            self.stacks += 1

    def tick(self):
        rng = self.rng
        self.time += rng.choice([0, self.pause, 2 * self.pause])
        self.lines.append(f'time {self.time}')
        if self.threads > 1 and rng.random() < .3:
            self.thread = rng.randrange(self.threads)
            self.lines.append(f'thread {self.thread}')
        if rng.random() < self.marks:
            self.lines.append('mark ' + rng.choice(['span:a', 'span:a', 'span:b', 'span:c', '/span', '/span', '/span',
                                                    'other', 'span']))

    def stack(self):
        near = self.at.setdefault(self.thread, 0)
        if self.rng.random() < .4:
            near = self.at[self.thread] = self.rng.randrange(self.stacks)
        return min(self.stacks - 1, near + self.rng.choice([0, 0, 0, 1]))

    def work(self):
        rng = self.rng
        what = rng.random()
        if what < .5 or not self.live:
            size = rng.choice([0, 1, 16, 24, 24, 100, rng.randint(1, 10**5)])
            self.lines.append(f'alloc {self.next} {rng.choice(["malloc", "new"])} {self.stack()} {size}')
            self.live.append(self.next)
            self.next += 1
        elif what < .6:
            self.lines.append(f'resize {rng.choice(self.live)} {self.stack()} {rng.choice([8, 64, 1000])}')
        elif what < .63:
            self.lines.append(f'call malloc {self.stack()} 99999999999')
        elif what < .64 and self.freed and self.again:
            self.lines.append(f'free_again {rng.choice(self.freed)}')
        elif rng.random() < .8:
            block = self.live.pop(rng.randrange(len(self.live)))
            self.freed.append(block)
            by = f'free_by {block} free {self.stack()}' if rng.random() < self.by_stack else f'free {block}'
            self.lines.append(by)

    def write(self, path):
        for _ in range(self.rng.choice([5, 60, 600])):
            self.tick()
            self.work()
        self.lines.append(f'end {self.time + self.rng.choice([0, self.pause, 100 * self.pause])}')
        path.write_text('\n'.join(self.lines) + '\n')


# ---- The model ----

class Span:
    def __init__(self, number, event, name=None):
        self.number, self.begin, self.tid, self.name = number, event['time_ns'], event['tid'], name
        self.last, self.last_index, self.repeats = self.begin, event['i'], 0
        self.figures = Counter()
        self.stacks, self.left_stacks = Counter(), Counter()

    def note(self, event):
        self.last, self.last_index = event['time_ns'], event['i']

    def row(self, figure, paths, function):
        """`function` is right if it is that of a stack with the most bytes: a filter numbers stacks anew."""
        stacks = self.left_stacks if figure == 'left_bytes' else self.stacks
        right = [paths[stack][-1] for stack in stacks if stacks[stack] == max(stacks.values())]
        return (self.number, self.begin, self.tid and str(self.tid), self.name, *self.all_figures(),
                function if function in right else right)

    def all_figures(self):
        return tuple(self.figures[figure] for figure in FIGURES)


class Model:
    """Which span each event is in: self.within[i] is that of event i's thread."""

    def __init__(self, events, end_ns):
        self.spans, self.within, self.end_ns = [], [None] * (events[-1]['i'] + 1 if events else 0), end_ns
        self.no_begin = self.no_end = 0
        self.divide(events)
        self.account(events)

    def begin(self, event, name=None):
        self.spans.append(Span(len(self.spans) + 1, event, name))
        return self.spans[-1]

    def account(self, events):
        """What each span allocated, and what became of it."""
        live, outside = {}, Counter()
        self.blocks, self.outside, self.sums = Counter(), outside, defaultdict(Counter)
        for event in events:
            by = self.within[event['i']]
            if event['type'] in ('free', 'resize') and event['old_block'] in live:
                span, stack, size = live.pop(event['old_block'])
                if span is None:
                    outside['left'] -= size
                else:
                    fate = 'within' if event['i'] <= span.last_index else 'later' if by else 'after'
                    self.end(span, stack, size, fate)
            if event['type'] in ('alloc', 'resize'):
                live[event['block']] = by, event['stack'], event['size']
                if by is None:
                    outside.update(calls=1, bytes=event['size'], left=event['size'])
                    continue
                by.figures.update(calls=1, bytes=event['size'], live=event['size'])
                by.figures['peak_bytes'] = max(by.figures['peak_bytes'], by.figures['live'])
                by.stacks[event['stack']] += event['size']
        for span, stack, size in live.values():
            if span:
                self.end(span, stack, size, 'left')
                span.left_stacks[stack] += size
        for span in self.spans:
            span.figures['time_ns'] = span.last - span.begin

    def end(self, span, stack, size, fate):
        span.figures.update({f'{fate}_bytes': size, 'live': -size})
        self.blocks[fate] += 1
        self.sums[stack].update({f'{fate}_bytes': size, f'{fate}_blocks': 1})


class Calls(Model):
    def __init__(self, events, end_ns, paths, pattern, each):
        self.paths, self.pattern, self.each = paths, pattern, each
        super().__init__(events, end_ns)

    def place(self, stack):
        """None: nothing is known; False: outside; else the callers (None: unknown) and the function."""
        path = self.paths[stack] if stack else []
        if not path:
            return None
        cut = path[0].startswith('[stack cut')
        for i, function in enumerate(path):
            if not (cut and i == 0) and fnmatch.fnmatchcase(function, self.pattern):
                return (None if cut else tuple(path[:i])), function
        return None if cut else False

    def divide(self, events):
        now = {}       # by thread: span, callers, first stack
        for event in events:
            if event['type'] not in CALLS:
                continue
            place, tid = self.place(event['stack']), event['tid']
            span, callers, first = now.get(tid, (None, None, None))
            if place is False:
                span = None
            elif place:
                again = event['stack'] == first
                same_call = span and (place[0] is None or callers is None or place[0] == callers)
                if same_call and again:
                    span.repeats += 1
                if same_call and not (self.each and again):
                    callers = place[0] if callers is None else callers
                else:
                    span, callers, first = self.begin(event, place[1]), place[0], event['stack']
            now[tid] = span, callers, first
            if span:
                span.note(event)
            self.within[event['i']] = span


class Threads(Model):
    def divide(self, events):
        now = {}
        for event in events:
            if event['type'] in CALLS:
                span = now.get(event['tid']) or self.begin(event)
                now[event['tid']] = span
                span.note(event)
                self.within[event['i']] = span


class Windows(Model):
    def __init__(self, events, end_ns, period):
        self.period = period
        super().__init__(events, end_ns)

    def divide(self, events):
        number = span = None
        for event in events:
            if event['type'] in CALLS:
                if event['time_ns'] // self.period != number:
                    number, span = event['time_ns'] // self.period, self.begin({**event, 'tid': None})
                span.note(event)
                self.within[event['i']] = span


class Marked(Model):
    def __init__(self, events, end_ns, pattern):
        self.pattern = pattern
        super().__init__(events, end_ns)

    def divide(self, events):
        open_spans = defaultdict(list)     # by thread: names and spans
        for event in events:
            mine = open_spans[event['tid']]
            span = next((span for span in mine if span), None)
            if event['operation'].startswith('mark:span:'):
                name = event['operation'][len('mark:span:'):]
                begins = not span and fnmatch.fnmatchcase(name, self.pattern)
                mine.append(self.begin(event, name) if begins else None)
            elif event['operation'] == 'mark:/span':
                self.no_begin += not mine
                ended = mine.pop() if mine else None
                if ended:
                    ended.note(event)
            self.within[event['i']] = span
        for span in (span for mine in open_spans.values() for span in mine if span):
            self.no_end += 1
            span.last, span.last_index = max(self.end_ns, *(event['time_ns'] for event in events)), math.inf


# ---- Comparison ----

def quantile(numbers, part):
    return sorted(numbers)[max(math.ceil(len(numbers) * part) - 1, 0)]


def compare_facts(section, model):
    spans = model.spans
    same('spans', section['spans'], len(spans))
    same('inside', (section['calls'], section['bytes']),
         (sum(s.figures['calls'] for s in spans), sum(s.figures['bytes'] for s in spans)))
    same('outside', (section['outside_calls'], section['outside_bytes'], section['outside_left_bytes']),
         (model.outside['calls'], model.outside['bytes'], model.outside['left']))
    if 'repeats' in section:
        same('repeats', (section['repeated'], section['repeats']),
             (sum(s.repeats > 0 for s in spans), sum(s.repeats for s in spans)))
    if 'no_begin' in section:
        same('marks', (section['no_begin'], section['no_end']), (model.no_begin, model.no_end))


def compare_tables(section, model, paths, timeless):
    spans, figures = model.spans, {}
    for figure in FIGURES:
        figures[figure] = [span.figures[figure] for span in spans]
    parts = {'p50': lambda n: quantile(n, .5), 'p90': lambda n: quantile(n, .9), 'p99': lambda n: quantile(n, .99),
             'most': max, 'mean': lambda n: sum(n) // len(n)}
    for row in section['distribution']:
        for figure in FIGURES:
            same(f"{row['quantile']} {figure}", row[figure],
                 None if timeless and figure == 'time_ns' else parts[row['quantile']](figures[figure]))
    allocated = sum(figures['bytes'])
    same('fates', values(section['fates'], 'bytes', 'share', 'blocks', 'spans'),
         [(sum(figures[f'{fate}_bytes']), share(sum(figures[f'{fate}_bytes']), allocated), model.blocks[fate],
           sum(n > 0 for n in figures[f'{fate}_bytes'])) for fate in FATES])
    for key, figure in (('largest', 'bytes'), ('highest', 'peak_bytes'), ('leaving', 'left_bytes')):
        right = [span for span in sorted(spans, key=lambda s: (-s.figures[figure], s.number)) if span.figures[figure]]
        got = values(section.get(key, []), 'number', 'begin_ns', 'tid', 'name', *FIGURES, 'function')
        same(key, len(got), len(right))
        rows = [span.row(figure, paths, row[-1]) for span, row in zip(right, got)]
        if timeless:
            rows = [(*row[:-2], None, row[-1]) for row in rows]
        same(key, got, rows)
    compare_sites(section, model, paths)
    compare_names(section, spans)


def compare_sites(section, model, paths):
    sums = defaultdict(Counter)
    for stack, figures in model.sums.items():
        sums[paths[stack][-1]].update(figures)
    keys = [f'{fate}_{what}' for fate in ('left', 'later', 'after', 'within') for what in ('bytes', 'blocks')]
    rows = [(function, *(figures[key] for key in keys)) for function, figures in sums.items()
            if figures['left_bytes'] + figures['later_bytes'] + figures['after_bytes']]
    same_rows('sites', values(section.get('sites', []), 'function', *keys), rows)


def compare_names(section, spans):
    names = defaultdict(Counter)
    for span in spans:
        if span.name is not None:
            names[span.name].update({'spans': 1, **{key: span.figures[key] for key in FIGURES}})
    keys = 'spans', 'calls', 'bytes', 'later_bytes', 'left_bytes'
    rows = [(name, *(figures[key] for key in keys)) for name, figures in names.items()]
    same_rows('names', values(section.get('names', []), 'name', *keys), rows if len(rows) > 1 else [])


def compare(bench, model, paths, what, words=()):
    question = [f'--span={what}'] if what else []
    section = bench.ask('spans', '--by=function', *question, *words)['spans']
    compare_facts(section, model)
    if model.spans:
        compare_tables(section, model, paths, what and what.startswith('every:'))


def compare_calls(bench, rng, events, paths, end_ns, words=()):
    pattern = rng.choice(['*100[0-3]*', '*1004*', '*200?*', '*'])
    for each in False, True:
        form = 'each:{}' if each else rng.choice(['{}', 'function:{}'])
        compare(bench, Calls(events, end_ns, paths, pattern, each), paths, form.format(pattern), words)


def compare_others(bench, rng, events, paths, end_ns, words=()):
    compare(bench, Threads(events, end_ns), paths, 'thread', words)
    compare(bench, Marked(events, end_ns, '*'), paths, None, words)
    pattern = rng.choice(['a', '[bc]', '*'])
    compare(bench, Marked(events, end_ns, pattern), paths, 'mark:' + pattern, words)
    period = max(end_ns // 1000000 // rng.choice([1, 3, 20]), 1)
    compare(bench, Windows(events, end_ns, period * 1000000), paths, f'every:{period}ms', words)


def filtered(chosen, events):
    """What passes, and all marks."""
    calls = [event for event in events if not event['operation'].startswith('mark:')]
    marks = [event for event in events if event['operation'].startswith('mark:')]
    if chosen.until_ms is not None:
        marks = [event for event in marks if event['time_ns'] // 1000000 <= chosen.until_ms]
    left = [event for event in chosen.apply(calls) if event['type'] != 'left out']
    return sorted(left + marks, key=lambda event: event['i'])


def try_once(bench, seed):
    rng = random.Random(seed)
    program = Requests(rng)
    program.write(bench.folder / 'script')
    subprocess.run([bench.script2trace, bench.folder / 'script', bench.trace], check=True)
    events = [{**event, 'i': i} for i, event in enumerate(bench.table('ndjson'))]
    paths = {row['stack']: row['path'].split(';') if row['path'] else [] for row in bench.table('ndjson-stacks')}
    end_ns = bench.ask('overview')['overview']['duration_ns']
    compare_calls(bench, rng, events, paths, end_ns)
    compare_others(bench, rng, events, paths, end_ns)
    if program.again:       # which of these frees pass is for other tests
        return
    chosen = Filter(rng, events, [], end_ns)
    chosen.paths = paths
    left = filtered(chosen, events)
    compare_others(bench, rng, left, paths, chosen.extent()[1], chosen.words)
    if all(word.startswith(('--from', '--until')) for word in chosen.words):
        compare_calls(bench, rng, left, paths, chosen.extent()[1], chosen.words)


def main():
    return run_tries(__doc__, Bench, try_once)


if __name__ == '__main__':
    sys.exit(main())
