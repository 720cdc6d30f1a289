#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every figure of msreport --diff is that of report_model.py's model of both programs: totals, the lists grew, shrank,
new and gone of each figure, and their sums; of whole programs, of their beginnings (FILE@TIME), and of one program
against the median of several.

The programs share most stacks. Frames have no names, so stacks are the same if all their addresses are; what names
make of that is tested in tests/unit/test_match.c.

  diff_model.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import run_tries    # noqa: E402
from report_model import Different, Model, Script, same, same_rows, shown    # noqa: E402

BYTES, COUNTS = ('peak', 'end', 'bytes'), ('peak-blocks', 'end-blocks', 'calls', 'temporary', 'life')
LISTS = ('grew', 'shrank', 'new', 'gone')
ENOUGH = 10     # frees of which a median is said


class Figures:
    """Of one program, by path of its stacks; None is not known."""

    def __init__(self, events, paths):
        model = Model(events, 0)
        self.rows = defaultdict(lambda: dict.fromkeys(BYTES + COUNTS, 0) | {'lives': []})
        for blocks, size, number in ((model.peak_live, 'peak', 'peak-blocks'),
                                     (model.live.values(), 'end', 'end-blocks')):
            for block in blocks:
                row = self.rows[paths[block.stack]]
                row[size] += block.size
                row[number] += 1
        for stack, allocated in model.allocated.items():
            row = self.rows[paths[stack]]
            row['bytes'] += allocated['bytes']
            row['calls'] += allocated['calls']
            row['temporary'] += model.figures[stack]['temporary']
            row['lives'] += [life[0] for life in model.lives[stack]]
        self.totals = {figure: sum(row[figure] for row in self.rows.values()) for figure in BYTES + COUNTS}
        self.totals['life'] = median_life([life for row in self.rows.values() for life in row['lives']])
        for row in self.rows.values():
            row['life'] = median_life(row['lives'])


def median_life(lives):
    return shown(lives, .5) if len(lives) >= ENOUGH else None


def settle(figure, values):
    """Median and noise of several recordings; an unknown figure is larger than all others."""
    known = sorted(2**64 - 1 if value is None else value for value in values)
    middle = known[(len(known) - 1) // 2]
    deviation = sorted(abs(value - middle) for value in known)[(len(known) - 1) // 2]
    noise = max(3 * deviation, middle // 100, 4096 if figure in BYTES else 0) if len(values) > 1 else 0
    return (None if middle == 2**64 - 1 else middle), noise


class Base:
    """The median of several programs."""

    def __init__(self, olds):
        self.runs = len(olds)
        self.totals = {f: settle(f, [old.totals[f] for old in olds]) for f in BYTES + COUNTS}
        absent = dict.fromkeys(BYTES + COUNTS, 0) | {'life': None}
        paths = {path for old in olds for path in old.rows}
        self.rows = {path: {f: settle(f, [old.rows.get(path, absent)[f] if path in old.rows else absent[f]
                                          for old in olds]) for f in BYTES + COUNTS} for path in paths}

    def lists(self, new, figure):
        """Rows (change, old, new) by list, and the changes that are none."""
        rows, within = {name: [] for name in LISTS}, 0
        for path in {*self.rows, *new.rows}:
            nothing = None if figure == 'life' else 0
            unknown = nothing, settle(figure, [0] * self.runs)[1]
            old, noise = self.rows[path][figure] if path in self.rows else unknown
            now = new.rows[path][figure] if path in new.rows else nothing
            if old is None or now is None:
                continue
            if abs(now - old) <= noise:
                within += now - old
                continue
            name = ('new' if path not in self.rows else 'gone' if path not in new.rows else
                    'grew' if now > old else 'shrank')
            rows[name].append((now - old, old, now))
        return rows, within


class Bench:
    """The programs, and the traces of one seed."""

    def __init__(self, build, folder):
        self.msreport, self.msconvert = build / 'analyze/msreport', build / 'analyze/msconvert'
        self.script2trace, self.folder = build / 'tests/tools/script2trace', folder

    def make(self, name, rng, pool):
        """A random program, most of whose stacks are those of the pool."""
        script = Script(rng)
        for i, line in enumerate(script.lines):
            words = line.split()
            if words[0] == 'stack' and rng.random() < .8:
                script.lines[i] = f'stack {words[1]} ' + ' '.join(pool[int(words[1])])
        script.write(self.folder / f'{name}.script')
        trace = self.folder / name
        subprocess.run([self.script2trace, self.folder / f'{name}.script', trace], check=True)
        return trace

    def table(self, trace, form):
        done = subprocess.run([self.msconvert, '-q', f'--to={form}', '-o', '-', trace], check=True,
                              capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def figures(self, trace, until_ms=None):
        paths = {row['stack']: row['path'] for row in self.table(trace, 'ndjson-stacks')}
        return Figures([event for event in self.table(trace, 'ndjson')
                        if (event['type'] != 'free' or event['old_block'] is not None) and
                        (until_ms is None or event['time_ns'] // 1000000 <= until_ms)], paths)

    def diff(self, olds, new):
        command = [self.msreport, '-q', '--format=json', '--top=1000000', '--figure=all',
                   *(f'--diff={old}' for old in olds), str(new)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Different(f'{command}: exit {done.returncode}: {done.stderr}')
        return json.loads(done.stdout)['sections']


def compare(sections, base, new):
    sums = {row['figure']: row for row in sections['diff']['bytes'] + sections['diff']['counts']}
    for figure in BYTES + COUNTS:
        (old, noise), now = base.totals[figure], new.totals[figure]
        if old is None or now is None:
            same(figure, figure in sums, False)
            continue
        row = sums[figure]
        same(f'{figure} in sum', (row['old'], row['new'], row['change']), (old, now, now - old))
        same(f'noise of {figure}', row['noise'], noise if base.runs > 1 else None)
        lists, within = base.lists(new, figure)
        section = sections['diff_' + figure.replace('-', '_')]
        for name, wanted in lists.items():
            same_rows(f'{figure} {name}', [(r['change'], r['old'], r['new']) for r in section[name]], wanted)
            if figure != 'life':
                same(f'sum of {figure} {name}', row['appeared' if name == 'new' else name], sum(r[0] for r in wanted))
            same(f'order of {figure} {name}', [abs(r['change']) for r in section[name]],
                 sorted((abs(r[0]) for r in wanted), reverse=True))
        if figure != 'life':
            same(f'{figure} that counts as the same', row['same'], within)
    kinds = Counter({'same': len({*base.rows} & {*new.rows}), 'only in the old': len({*base.rows} - {*new.rows}),
                     'only in the new': len({*new.rows} - {*base.rows})})
    same_rows('matching', [(row['stacks_are'], row['stacks']) for row in sections['diff']['matching']],
              list((+kinds).items()))


def part(rng, trace, events):
    """A moment of a trace: an input's name, and the time in ms."""
    until = rng.randint(0, max((event['time_ns'] for event in events), default=0) // 1000000 + 1)
    return f'{trace}@{until}', until


def try_once(bench, seed):
    rng = random.Random(seed)
    pool = [[hex(0x3000 + rng.randint(0, 9)) for _ in range(rng.randint(1, 5))] + [hex(0x4000 + i)] for i in range(40)]
    old, new = bench.make('old', rng, pool), bench.make('new', rng, pool)
    now = bench.figures(new)
    compare(bench.diff([old], new), Base([bench.figures(old)]), now)
    before, first = part(rng, new, bench.table(new, 'ndjson'))
    after, second = part(rng, old, bench.table(old, 'ndjson'))
    compare(bench.diff([before], after), Base([bench.figures(new, first)]), bench.figures(old, second))
    olds = [old, *(bench.make(f'old{i}', random.Random(seed + i % 2), pool) for i in range(rng.choice([1, 2, 4])))]
    compare(bench.diff(olds, new), Base([bench.figures(each) for each in olds]), now)


def main():
    return run_tries(__doc__, Bench, try_once)


if __name__ == '__main__':
    sys.exit(main())
