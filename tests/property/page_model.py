#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every figure of msreport's page is that of a model that keeps all blocks in a list, between any two borders.

The random programs are those of report_model.py, and so is the model of lifetimes. tests/tools/page_data.py decodes the
page from its description. At borders of whole milliseconds msreport's own answers are asked, too.

  page_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import os
import random
import subprocess
import sys
from collections import Counter, defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '../tools'), HERE]
import page_data                                                     # noqa: E402
from harness import run_tries                                        # noqa: E402
from report_model import Bench, Different, Model, same, shown        # noqa: E402

RANGES = 12
LARGEST = 3000000
MARKS = {'exit': 'exit handlers done', 'fork': 'fork'}


class History:
    """All blocks with the positions, in events, of their births and deaths; and the levels behind each event."""

    def __init__(self, events):
        self.events, self.blocks, self.levels, live, total = events, [], [0], {}, 0
        for i, event in enumerate(events):
            if event['type'] in ('free', 'resize'):
                block = live.pop(event['old_block'])
                block['death'] = i
                total -= block['size']
            if event['type'] in ('alloc', 'resize'):
                block = {'stack': event['stack'], 'size': event['size'], 'birth': i, 'death': len(events)}
                live[event['block']] = block
                self.blocks.append(block)
                total += event['size']
            self.levels.append(total)

    def sums(self, wanted):
        """By stack (bytes, blocks) of the blocks that are wanted."""
        sums = defaultdict(lambda: (0, 0))
        for block in self.blocks:
            if wanted(block):
                size, n = sums[block['stack']]
                sums[block['stack']] = size + block['size'], n + 1
        return sums

    def live(self, at):
        return self.sums(lambda block: block['birth'] < at <= block['death'])

    def allocated(self, a, b):
        return self.sums(lambda block: a <= block['birth'] < b)

    def kept(self, a, b):
        return self.sums(lambda block: a <= block['birth'] < b <= block['death'])

    def highest(self, a, b):
        """The first position in [a, b] behind whose events most is live."""
        return max(range(a, b + 1), key=lambda i: (self.levels[i], -i))


def find_positions(page, history):
    """Of each border the number of events before it."""
    peak = history.highest(0, len(history.events))
    starts, seen = [], set()
    for i, event in enumerate(history.events):
        if event['tid'] not in seen:
            seen.add(event['tid'])
            starts.append(i)
    starts, positions = starts[1:], []
    for time, flags in zip(page.borders[:-1], page.flags):
        if flags & page_data.PEAK:
            positions.append(peak)
        elif flags & page_data.THREAD:
            positions.append(starts[0])
        else:
            positions.append(sum(event['time_ns'] < time for event in history.events))
        while flags & page_data.THREAD and starts and starts[0] <= positions[-1]:
            starts.pop(0)
    if positions != sorted(positions):
        raise Different(f'borders are out of order: {positions}')
    if starts:
        raise Different(f'{len(starts)} threads have no border')
    return positions + [len(history.events)]


def compare(what, page, nodes, figures, expected):
    """Figures of all nodes, a function of the node, and a model's by stack."""
    by_stack = {stack: figures(node) for stack, node in nodes.items()}
    for stack, value in by_stack.items():
        if value != expected[stack]:
            raise Different(f'{what} of stack {stack}: the page has {value}, the model {expected[stack]}')
    rest = sum(figures(node)[0] for node in range(page.n) if node not in nodes.values())
    same(f'{what} of nodes in between', rest, 0)


def compare_ranges(page, nodes, history, rng):
    positions = find_positions(page, history)
    for k in range(RANGES):
        a, b = sorted(rng.sample(range(page.buckets + 1), 2)) if k else (0, page.buckets)
        start, end = positions[a], positions[b]
        compare(f'live at border {b}', page, nodes, lambda node: page.live(node, b), history.live(end))
        compare(f'allocated in {a}..{b}', page, nodes, lambda node: page.allocated(node, a, b),
                history.allocated(start, end))
        if page.group(a) and page.group(b):
            compare(f'kept in {a}..{b}', page, nodes, lambda node: page.kept(node, a, b), history.kept(start, end))
        highest = history.highest(start, end)
        bucket = page.highest_bucket(a, b)
        same(f'highest level in {a}..{b}', page.highest[bucket], history.levels[highest])
        compare(f'peak in {a}..{b}', page, nodes, lambda node: page.peak(node, a, b), history.live(highest))
        if highest > start:
            same('its moment', page.highest_ns[bucket], history.events[highest - 1]['time_ns'])


def compare_facts(page, nodes, model):
    for stack, node in nodes.items():
        figures, lives = model.figures[stack], model.lives[stack]
        facts = {name: values[node] for name, values in page.facts.items()}
        expected = {name: figures[name] for name in ('freed', 'temporary', 'resized', 'moved', 'copied')}
        for k, unit in enumerate(('calls', 'bytes', 'ns')):
            for share in (50, 99):
                expected[f'{unit}{share}'] = shown([life[k] for life in lives], share / 100) if lives else 0
        same(f'facts of stack {stack}', {name: facts[name] for name in expected}, expected)


def compare_threads(page, nodes, history):
    calls, sizes = defaultdict(Counter), defaultdict(list)
    for event in history.events:
        if event['type'] in ('alloc', 'resize'):
            calls[event['stack']][event['tid']] += 1
            sizes[event['stack']].append(event['size'])
    for stack, node in nodes.items():
        same('sizes', (page.facts['least'][node], page.facts['most'][node]), (min(sizes[stack]), max(sizes[stack])))
        got = {page.threads[thread][0]: n for thread, n in page.threads_of[node]}
        same('number of threads', len(got), min(len(calls[stack]), 4))
        same('their calls', sorted(got.values(), reverse=True), sorted(calls[stack].values(), reverse=True)[:4])
        same('threads', all(calls[stack][tid] == n for tid, n in got.items()), True)


def compare_spans(page, history):
    """From the first to the last call of each thread; markers are calls here, too."""
    spans = {}
    for event in history.events:
        first, _ = spans.get(event['tid'], (event['time_ns'], None))
        spans[event['tid']] = first, event['time_ns']
    got = {thread[0]: span for thread, span in zip(page.threads, page.spans) if span}
    same('first and last calls of threads', got, spans)
    marks = [(event['time_ns'], MARKS[event['operation']]) for event in history.events
             if event['operation'] in MARKS]
    same('marks', (page.all_marks, page.marks), (len(marks), marks[:500]))


def compare_points(page, history):
    ends = [point for point in page.points if point[0] <= page.borders[-1]]
    same('the last point', ends[-1][1], history.levels[-1])
    same('the highest point', max(point[1] for point in ends), max(history.levels))
    same('calls', ends[-1][3], len(history.blocks))
    same('times ascend', [p[0] for p in page.points], sorted(p[0] for p in page.points))


def compare_answers(bench, page, rng):
    """At borders of whole milliseconds msreport itself says the same."""
    whole = [i for i in range(1, page.buckets) if page.borders[i] % 1000000 == 0 and page.flags[i] == 0]
    whole = [i for i in whole if page.group(i)]
    if len(whole) < 2:
        return
    a, b = sorted(rng.sample(whole, 2))
    start, end = page.borders[a] // 1000000, page.borders[b] // 1000000 - 1
    peak = bench.ask('peak', f'--at={end}ms', '--by=stack')['peak']
    same(f'msreport peak --at={end}ms', (peak['bytes'], peak['blocks']),
         page_data.add(page.live(node, b) for node in range(page.n)))
    growth = bench.ask('growth', f'--from={start}ms', f'--until={end}ms', '--by=stack')['growth']
    same(f'msreport growth --from={start}ms --until={end}ms', (growth['bytes'], growth['blocks']),
         page_data.add(page.kept(node, a, b) for node in range(page.n)))


def read_page(bench, *words):
    html = bench.folder / 'page.html'
    done = subprocess.run([bench.msreport, '-q', '--all-frames', f'--html={html}', *words, bench.trace],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or done.stdout or done.stderr:
        raise Different(f'msreport --html: exit {done.returncode}: {done.stdout}{done.stderr}')
    if html.stat().st_size > LARGEST:
        raise Different(f'{html.stat().st_size} bytes')
    return page_data.Page(html)


def find_nodes(bench, page):
    """The nodes of stacks that allocate."""
    by_path = {path: node for node, path in enumerate(page.paths)}
    paths = {row['stack']: tuple(row['path'].split(';')) for row in bench.table('ndjson-stacks') if row['path']}
    return {stack: by_path[path] for stack, path in paths.items() if path in by_path and page.ids[by_path[path]]}


def try_once(bench, seed):
    rng = random.Random(seed)
    events = [event for event in bench.make(rng)]
    allowed = rng.choice([0, 0, 1, 3])
    page = read_page(bench, f'--temporary={allowed}', '--top=1000000')
    history, nodes = History(events), find_nodes(bench, page)
    same('stacks', set(nodes), {block['stack'] for block in history.blocks})
    same('the page has a part of a larger report',
         page.report['sections'], bench.ask(*page.report['sections'], f'--temporary={allowed}'))
    compare_ranges(page, nodes, history, rng)
    compare_facts(page, nodes, Model(events, allowed))
    compare_threads(page, nodes, history)
    compare_spans(page, history)
    if history.blocks:
        compare_points(page, history)
    compare_answers(bench, page, rng)


def main():
    return run_tries(__doc__, Bench, try_once, found=[763, 1337])


if __name__ == '__main__':
    sys.exit(main())
