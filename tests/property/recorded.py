#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A trace has every call of the program: its thread, order, stack depth and block.

recorded.c makes random calls in several threads, in processes that fork, and keeps an account of its own. It is
recorded with random options; then each process's trace is compared with its account, call by call. In the order of
the trace no block may be freed before its allocation, or twice; and no free may be unknown or implied. With --long
other processes keep the machine busy, so that threads stop anywhere for long; a run in which msrec stopped for seconds,
and events were lost and counted, is not compared: at most one in ten.

  recorded.py --build DIR [--runs N] [--seed N] [--long]

Exit status: 0 all equal, 1 a difference.
"""

import collections
import os
import random
import struct
import subprocess
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Problem, arguments, run_seeds    # noqa: E402

ENTRY = struct.Struct('<9Q')
NO_BLOCK = (1 << 64) - 1
# By the account's letter: the trace's event, and the operation (op.h); a realloc in place has the next one.
CALLS = {'M': ('alloc', 1), 'c': ('alloc', 2), 'R': ('alloc', 3), 'm': ('alloc', 7), 'p': ('alloc', 8),
         'a': ('alloc', 9), 'v': ('alloc', 10), 'w': ('alloc', 11), 'f': ('free', None), 'z': ('free', 6),
         'r': ('resize', 4), 'y': ('resize', 4), 'k': ('call', 4), 'F': ('call', 1)}
ANY_DEPTH = 'y'                 # libc's reallocarray calls realloc, or jumps there
PAGES = 'vw'                    # are aligned to these
FIRST_MARK = 32
FIRST_THREAD = 0
BUSY = 2
LOST_MOST = 0.1                 # of the runs


class Different(Problem):
    """A difference between the trace and the account."""


class Lost(Exception):
    """Events, as the trace says itself."""


@dataclass
class Call:
    """Of the account."""
    thread: int
    tid: int
    op: str
    size: int
    align: int
    old: int
    new: int
    depth: int
    in_place: int


class Kind:
    def __init__(self, fields, depth, by_program):
        self.op, self.size, self.align = int(fields['op']), int(fields['size']), int(fields['align'])
        self.depth, self.by_program = depth, by_program


class Trace:
    """What tracedump says of one."""

    def __init__(self, build, path):
        done = subprocess.run([build.file('tests/tools/tracedump'), path], capture_output=True, text=True)
        if done.returncode:
            raise Different(done.stderr)
        self.events, self.threads, self.kinds, self.end = [], {}, {}, None
        stacks, frames, modules, kinds = {0: (0, None)}, {}, {}, {}
        for line in done.stdout.splitlines():
            what, *words = line.split()
            fields = dict(word.split('=', 1) for word in words if '=' in word)
            if what in ('alloc', 'free', 'resize', 'call'):
                self.events.append((what, fields))
            elif what == 'thread':
                self.threads[words[0]] = int(fields['tid'])
            elif what == 'module':
                modules[words[0]] = line
            elif what == 'frame':
                frames[words[0]] = '/recorded ' in modules.get(fields.get('module'), '')
            elif what == 'stack' and int(words[0]) not in stacks:
                stacks[int(words[0])] = (stacks[int(fields['parent'])][0] + 1, frames[fields['frame']])
            elif what == 'kind':
                kinds[int(words[0])] = fields
            elif what == 'end':
                self.end = fields
        for number, fields in kinds.items():
            self.kinds[number] = Kind(fields, *stacks[int(fields['stack'])])

    def kind(self, fields):
        return self.kinds[int(fields['kind'])] if fields['kind'] != '-' else None


def read_account(path):
    for thread, tid, op, size, align, old, new, depth, in_place in ENTRY.iter_unpack(path.read_bytes()):
        yield Call(thread, tid, chr(op), size, align, old, new, depth, in_place)


class Comparison:
    """The calls of one process. A child continues as the first thread, which had another number before. The fork
    interrupts the other threads anywhere, so each may have recorded a call that the account lacks, or lack the
    account's last call."""

    def __init__(self, trace, calls):
        self.trace, self.numbers = trace, {}    # threads by the kernel's numbers
        self.account, self.told = collections.defaultdict(list), collections.defaultdict(list)
        for call in calls:
            self.numbers[call.tid] = call.thread
            self.account[call.thread].append(call)
        self.is_child = len(self.numbers) > len(self.account)
        self.blocks = {}            # of the program, by those of the trace
        self.offsets = collections.defaultdict(set)

    def is_programs(self, event):
        """Not a call that a library made for itself."""
        what, fields = event
        kind = self.trace.kind(fields)
        if what == 'free':
            return fields['old_block'] in self.blocks
        if what == 'resize':
            return True
        return kind.op < FIRST_MARK and (kind.by_program or fields['old'] != '-')

    def name_blocks(self):
        """In each thread's order."""
        made = collections.defaultdict(list)
        for event in self.trace.events:
            if event[0] in ('alloc', 'resize') and self.is_programs(event):
                made[self.thread(event)].append(event[1]['block'])
        for thread, calls in self.account.items():
            blocks = [call.new for call in calls if call.new != NO_BLOCK]
            if abs(len(blocks) - len(made[thread])) > self.slack(thread):
                raise Different('thread %d made %d blocks, %d are told' % (thread, len(blocks), len(made[thread])))
            self.blocks.update(zip(made[thread], blocks))

    def thread(self, event):
        return self.numbers.get(self.trace.threads[event[1]['thread']])

    def slack(self, thread):
        return 1 if self.is_child and thread != FIRST_THREAD else 0

    def check_order(self):
        live = set()
        if int(self.trace.end['lost']):
            raise Lost
        for what, fields in self.trace.events:
            if what in ('free', 'resize'):
                if fields['old_block'] not in live:
                    raise Different('not live: %s' % fields)
                live.remove(fields['old_block'])
            if what in ('alloc', 'resize'):
                live.add(fields['block'])
        if any(int(self.trace.end[name]) for name in ('unknown', 'implied')):
            raise Different('at the end: %s' % self.trace.end)

    def check_call(self, thread, call, event):
        what, fields = event
        kind = self.trace.kind(fields)
        wanted, op = CALLS[call.op]
        op = op + 1 if wanted == 'resize' and call.in_place else op
        old = self.blocks.get(fields['old_block'], NO_BLOCK)
        new = self.blocks.get(fields['block'], NO_BLOCK)
        if (what, kind.op if kind else None, old, new) != (wanted, op, call.old, call.new):
            raise Different('%s is told as %s' % (call, event))
        if what == 'free':
            return
        align = os.sysconf('SC_PAGESIZE') if call.op in PAGES else call.align
        if (kind.size, 1 << kind.align if kind.align else 0) != (call.size, align):
            raise Different('%s has %d bytes, aligned to 2^%d' % (call, kind.size, kind.align))
        if call.op not in ANY_DEPTH:
            self.offsets[thread].add(kind.depth - call.depth)

    def run(self):
        """Returns how many calls were equal."""
        self.check_order()
        self.name_blocks()
        for event in filter(self.is_programs, self.trace.events):
            self.told[self.thread(event)].append(event)
        for thread, calls in self.account.items():
            if abs(len(calls) - len(self.told[thread])) > self.slack(thread):
                raise Different('thread %d made %d calls, %d are told' % (thread, len(calls), len(self.told[thread])))
            for call, event in zip(calls, self.told[thread]):
                self.check_call(thread, call, event)
            if len(self.offsets[thread]) > 1:
                raise Different('stacks of thread %d: %s' % (thread, self.offsets[thread]))
        return sum(map(len, self.account.values()))


def random_options(rng):
    words = ['-z%d' % rng.choice((1, 3, 9))] * (rng.random() < 0.3)
    for option, share in (('--pages', 0.15), ('--mmap=yes', 0.2), ('--usable=yes', 0.2), ('--stacks=yes', 0.2)):
        words += [option] * (rng.random() < share)
    return words


def try_once(build, seed, long, scratch):
    """Calls that were compared."""
    rng = random.Random(seed)
    forks = rng.choice((0, 0, 1, 2, 3))
    threads = rng.choice((1, 3, 8, 8) if forks else (1, 2, 3, 8, 20, 50))
    calls = rng.choice((300, 2000 if long else 500) if forks else (300, 3000, 30000))
    calls //= 1 if forks or long or threads < 8 else 8
    folder = scratch / str(seed)
    folder.mkdir()
    words = random_options(rng)
    program = [build.file('tests/property/recorded'), *map(str, (seed, calls, threads, forks)), folder / 'account']
    done = subprocess.run([build.msrec, '-q', '-o', folder / 'trace.%p', *words, *program],
                          capture_output=True, text=True)
    if done.returncode:
        raise Different('exit %d: %s' % (done.returncode, done.stderr))
    accounts = sorted(folder.glob('account.*'))
    if len(accounts) != 1 << forks:     # each process makes all forks that are left
        raise Different('%d processes' % len(accounts))
    compared = 0
    for path in accounts:
        trace = Trace(build, folder / ('trace' + path.suffix))
        compared += Comparison(trace, read_account(path)).run()
    return compared


def main():
    options = arguments(__doc__, '--runs', '--seed', ('--long', {'help': 'many calls, on a busy machine'}))
    build, compared, lost = options.build, 0, 0
    busy = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(BUSY * options.long)]

    def begin(folder):
        def compare(seed):
            nonlocal compared, lost
            try:
                compared += try_once(build, seed, options.long, folder)
            except Lost:
                lost += 1
        return compare
    try:
        status = run_seeds(options, begin)
    finally:
        for process in busy:
            process.kill()
    print('%d calls; events were lost in %d runs' % (compared, lost))
    return status or int(lost > LOST_MOST * options.runs)


if __name__ == '__main__':
    sys.exit(main())
