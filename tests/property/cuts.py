#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut random traces, and compare the answers of the pieces with those of the whole.

msconvert cuts the trace of a random script of calls (script2trace) to a random range of time. At random times of the
range the live blocks must be those of the whole trace, stack by stack, also if some are ignored; memusage's counts
before, in and after the range must add up to those of the whole; a cut of a cut must equal the cut; a trace rewritten
without a range must have the same events. Traces are sampled, without identity, with several threads, stack depths or
changes of the stack pointer, mappings, and page events, by turns.

  cuts.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import os
import random
import re
import subprocess
import sys

from massif_model import Program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Problem, run_tries    # noqa: E402

MS = 1000000
PAGE = 4096
ROWS = ('malloc', 'realloc', 'calloc', 'free', 'mmap(r)', 'mmap(w)', 'mmap(a)', 'mremap', 'munmap')
IGNORED = ['--ignore-fn=work1', '--ignore-fn=alloc1', '--ignore-fn=main']
PAGES = [['--pages-as-heap=yes', *more]
         for more in ([], ['--compat=3.19'], ['--compat=latest', '--depth=3', *IGNORED], IGNORED)]
# The parts that --drop leaves out, and a line of tracedump for each.
PARTS = {'identity': r'^free .*old_block=\d', 'time': ' time=[1-9]', 'threads': ' thread=[1-9]',
         'instructions': ' instructions=|^step ', 'names': '^name ', 'usable': ' usable=',
         'stacks': r'^kind \d+ op=37 ', 'mappings': r'^kind \d+ op=(3[89]|4[0-4]) ',
         'pages': r'^kind \d+ op=(4[5-9]|5[0-6]) ',
         'free-stacks': r'^kind \d+ op=17 '}


class Different(Problem):
    """A difference between the pieces and the whole."""


class Script:
    """A random program: mostly the usual calls, with some of all others."""

    def __init__(self, rng, program):
        self.rng, self.live, self.next, self.lines = rng, [], 0, []
        self.sampled, self.anonymous = rng.random() < 0.15, rng.random() < 0.2
        self.maps, self.null_frees, self.exited = rng.random() < 0.3, 0, False
        self.pages = rng.choice([0, 0, 0, 2, 40, 300])      # at most so many at a time
        self.put('records', rng.choice([2, 7, 60, 65536]))
        if self.sampled:
            self.put('sampled', 4096)
        self.counted, self.instructions, self.depth = rng.random() < 0.3, 0, 0
        self.lines += ['anonymous'] * self.anonymous + ['counted'] * self.counted
        self.lines += ['stacks'] + ['pages'] * bool(self.pages)
        self.put('module', program.path)
        self.stacks = rng.randrange(1, 12)
        frames = [hex(0x1000 + 16 * i) for i in range(20)] + ['m0x%x' % address for address in program.names]
        for s in range(self.stacks):
            self.put('stack', s, *(rng.choice(frames) for _ in range(rng.randrange(1, 6))))
        self.now = 0
        for _ in range(rng.randrange(5, 900)):
            self.move_on()
            if not self.exited and rng.random() < 0.002:
                self.put('call', 'exit', 0, self.null_frees)
                self.exited = True
            if self.counted:
                self.change_stack()
            if self.pages and rng.random() < 0.6:
                self.page()
            else:
                self.step()
        self.end_ms = self.now // MS

    def move_on(self):
        self.now += self.rng.choice([0, 0, 0, 1000, 70000, MS, 3 * MS + 7])
        self.put('time', self.now)

    def put(self, *words):
        self.lines.append(' '.join(map(str, words)))

    def stack(self):
        return self.rng.randrange(self.stacks)

    def size(self):
        return self.rng.choice([0, 1, 16, 24, 40, 100, self.rng.randrange(3000), self.rng.randrange(1 << 20)])

    def alloc(self):
        self.put('alloc', self.next, self.rng.choice(['malloc', 'calloc', 'new', 'memalign', 'malloclike']),
                 self.stack(), self.size())
        self.live.append(self.next)
        self.next += 1

    def change_stack(self):
        for _ in range(self.rng.choice([0, 0, 1, 3])):
            size = self.rng.choice([8, 8, 800, 7, self.rng.randrange(1, 1 << 20)])
            self.instructions += self.rng.choice([0, 1, 300])
            grown = -size if size <= self.depth and self.rng.random() < 0.6 else size
            self.depth += grown
            self.put('step', self.instructions, grown)
        self.instructions += self.rng.choice([0, 5, 5000])
        self.put('instructions', self.instructions)

    def step(self):
        rng = self.rng
        chance = rng.random()
        if chance < 0.45 or not self.live:
            self.alloc()
        elif chance < 0.75:
            block = self.live.pop(rng.choice([-1, 0, rng.randrange(len(self.live))]))
            how = rng.random()
            if how < 0.8:
                self.put('free', block)
            else:
                self.put('free_by', block, rng.choice(['realloc_free', 'free', 'implied_free']), self.stack())
        elif chance < 0.85:
            self.put('resize', rng.choice(self.live), self.stack(), self.size() + 1)
        elif chance < 0.9:
            self.mark()
        elif chance < 0.93:
            self.put('thread', rng.randrange(4))
        elif chance < 0.95 and not self.sampled:
            self.put('failed_resize', rng.choice(self.live), self.stack(), 1 << 50)
        elif chance < 0.97:
            self.put('null_frees', rng.randrange(5))
            self.null_frees += int(self.lines[-1].split()[1])
        elif chance < 0.98:
            self.put('free', 60000)     # a block that was never seen
        else:
            self.put('flush')

    def page(self):
        """Over one another in a few places, which makes Massif's records of a page many."""
        rng = self.rng
        op = rng.choice(['start', 'mmap', 'mmap', 'mmap', 'shmat', 'munmap', 'shmdt', 'mremap', 'brk_grow', 'brk_grow',
                         'brk_shrink'])
        size, address = rng.randrange(self.pages * PAGE) + 1, rng.randrange(60) * PAGE
        if op.startswith('brk'):
            address = rng.randrange(600, 640) * PAGE + rng.choice([0, 0, 1, 2048, 4095])
        if op == 'mremap':
            old = rng.choice([address, rng.randrange(60) * PAGE])
            self.put('page', 'page_mremap_from', self.stack(), rng.choice([0, size, rng.randrange(self.pages * PAGE)]),
                     old)
            if rng.random() < 0.3:
                self.move_on()
        self.put('page', 'page_' + op, self.stack(), size, address)

    def mark(self):
        if self.maps and self.rng.random() < 0.7:
            self.put('call', self.rng.choice(['mmap_read', 'mmap_write', 'mmap_anon', 'munmap']), 0, self.size())
        else:
            self.put('call', 'lost' if self.counted else 'stack', 0, self.size())


class Bench:
    def __init__(self, build, scratch):
        self.scratch, self.anonymous, self.program = scratch, False, Program(scratch)
        self.msreplay, self.msconvert = build / 'analyze/msreplay', build / 'analyze/msconvert'
        self.script2trace, self.dump_program = build / 'tests/tools/script2trace', build / 'tests/tools/tracedump'

    def run(self, *command, status=0):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=self.scratch)
        if done.returncode != status:
            raise Different('%s: exit %d: %s' % (' '.join(map(str, command)), done.returncode, done.stderr.strip()))
        return done.stdout

    def convert(self, source, target, *options):
        self.run(self.msconvert, '-q', '--to=trace', *options, '-o', target, source)
        return target

    def dump(self, trace):
        return self.run(self.dump_program, trace)

    def calls(self, trace):
        """Its calls by content, independent of the chunks and of the order of definitions."""
        lines = self.dump(trace).splitlines()
        contents = {}
        for line in lines:
            word, number, *rest = line.split() + ['', '']
            if word in ('thread', 'frame', 'stack', 'kind'):
                # How many free(NULL)s were before an exit depends on chunks, too.
                contents[word, number] = tuple(contents.get((field.split('=')[0].replace('parent', 'stack'),
                                                             field.split('=')[1]), field)
                                               for field in rest[:2 if 'op=35' in rest else None] if '=' in field)
        initial, calls, in_initial = [], [], False
        for line in lines:
            word, *fields = line.split()
            if word == 'chunk':
                in_initial = 'initial' in fields
            if word not in ('alloc', 'free', 'resize', 'call'):
                continue
            # Without identity an initial state has no order; a trace without frees doesn't show that it lacks identity.
            absent = ['block'] + ['time', 'thread'] * in_initial if self.anonymous else []
            pairs = [(key.replace('old', 'kind') if key == 'old' else key, value)
                     for key, value in (field.split('=') for field in fields) if key not in absent]
            call = (word, tuple(contents.get(pair, pair) for pair in pairs))
            (initial if in_initial else calls).append(call)
        return sorted(initial, key=repr) + calls

    def steps(self, trace):
        """Changes of the stack pointer, independent of the chunks."""
        return [line.split()[2:] for line in self.dump(trace).splitlines() if line.startswith('step ')]

    def snapshot(self, trace, ms, *options):
        """The snapshot of massif.out at a time: live bytes, and the tree."""
        self.run(self.msreplay, '-q', '--threshold=0.0001', '--time-unit=ms', '--massif-out-file=out', f'--at={ms}',
                 *options, trace)
        text = (self.scratch / f'out.at-{ms}').read_text()
        return re.sub(r'^time=.*\n', '', text, flags=re.M)

    def folded(self, trace, ms):
        return sorted(self.run(self.msconvert, '-q', '--to=folded', '--time-unit=ms', f'--at={ms}', '-o', '-',
                               trace).splitlines())

    def usage(self, trace, *options):
        """memusage's counts, by row: calls and bytes; and the total of requested bytes."""
        text = self.run(self.msreplay, '-q', '--memusage', *options, trace)
        rows = {name: list(map(int, rest.split()[:2])) for name, rest in re.findall(r'^ *(\S+)\|(.*)$', text, re.M)}
        rows['total'] = [int(re.search(r'heap total: (\d+)', text).group(1)), 0]
        return rows


def same(what, a, b):
    if a != b:
        a, b = (x if isinstance(x, list) else x.splitlines() for x in (a, b))
        lines = [(x, y) for x, y in zip(a, b) if x != y][:3]
        raise Different('%s: %s' % (what, lines or 'one is longer'))


def compare_snapshots(bench, script, cut, rng, first, last):
    for ms in {first, last, rng.randint(first, last), rng.randint(first, last)}:
        for options in ([], ['--stacks=yes'], IGNORED, *(PAGES if script.pages else [])):
            same(f'at {ms} {options}', bench.snapshot('whole', ms, *options), bench.snapshot(cut, ms, *options))
        if not script.sampled:
            same(f'folded at {ms}', bench.folded('whole', ms), bench.folded(cut, ms))


def compare_counts(bench, script, first, last):
    pieces = [bench.convert('whole', 'middle', f'--from={first}', f'--until={last}'),
              bench.convert('whole', 'after', f'--from={last + 1}')]
    if first:
        pieces.append(bench.convert('whole', 'before', f'--until={first - 1}'))
    options = ['--mmap'] if script.maps else []
    whole, sums = bench.usage('whole', *options), {}
    for piece in pieces:
        for row, numbers in bench.usage(piece, *options).items():
            sums[row] = [a + b for a, b in zip(sums.get(row, [0, 0]), numbers)]
    if not script.sampled:      # estimates are rounded in each piece
        same('what memusage counts', sorted(whole.items()), sorted(sums.items()))


def compare_again(bench, first, last):
    """A cut of a cut; and the whole, compressed in other chunks."""
    wide = bench.convert('whole', 'wide', f'--from={max(first - 3, 0)}', f'--until={last + 3}')
    same('a cut of a cut', bench.calls(bench.convert(wide, 'again', f'--from={first}', f'--until={last}')),
         bench.calls('middle'))
    same('recompressed', bench.calls('whole'), bench.calls(bench.convert('whole', 'small', '--level=19')))
    same('steps, recompressed', bench.steps('whole'), bench.steps('small'))
    same('steps of a cut of a cut', bench.steps('again'), bench.steps('middle'))
    same('recompressed cut', bench.calls('middle'), bench.calls(bench.convert('middle', 'small', '--level=19')))


def compare_dropped(bench):
    """The cut lacks exactly the dropped parts."""
    bench.convert('middle', 'dropped', '--drop=' + ','.join(PARTS), '--no-args', '--strip-paths')
    text = bench.dump('dropped')
    for part, trait in PARTS.items():
        if re.search(trait, text, re.M):
            raise Different('the dropped part is there: ' + part)
    kept, left = ([call[0] for call in bench.calls(trace)] for trace in ('middle', 'dropped'))
    same('calls beside marks', [k for k in kept if k != 'call'], [k for k in left if k != 'call'])
    # Records without a thread would show the depths of all threads in turn.
    if re.search(r'^kind .* op=37\b', bench.dump(bench.convert('middle', 'nobodys', '--drop=threads')), re.M):
        raise Different('depths of threads that are dropped are there')


def try_once(bench, seed):
    rng = random.Random(seed)
    script = Script(rng, bench.program)
    bench.anonymous = script.anonymous
    (bench.scratch / 'script').write_text('\n'.join(script.lines) + '\n')
    bench.run(bench.script2trace, 'script', 'whole')
    first = rng.randint(0, script.end_ms + 1)
    last = rng.randint(first, script.end_ms + 2)
    cut = bench.convert('whole', 'cut', f'--from={first}', f'--until={last}')
    compare_snapshots(bench, script, cut, rng, first, last)
    compare_counts(bench, script, first, last)
    compare_again(bench, first, last)
    compare_dropped(bench)


def main():
    return run_tries(__doc__, Bench, try_once, found=[100, 260])


if __name__ == '__main__':
    sys.exit(main())
