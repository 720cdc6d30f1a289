#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replays that decode records and replays by sums give the same answer, with any threads, from any point of the trace.

Random scripts of calls and random settings (massif_model.py), in traces of small chunks with key frames. One replay
looks at all records (--stats=yes makes it); others may go by the sums of chunks, with one thread and with three, from a
file and from a pipe: their files must be the same to a byte. Files of --only-moments must be those of the whole replay,
memusage's report that of a replay which writes all its data. Profiles by thread must not depend on other threads in the
trace; their live bytes are those that the script left to each thread, and those of Massif's snapshot. An xtree report
must have the same live bytes with and without frees. Then the trace is damaged: both ways must use the same part of it,
and report the same problem.

  sums.py --build DIR [--runs N] [--seed N] [--keep DIR]

Exit status: 0 all equal, 1 a difference (its files are left in the --keep directory).
"""

import os
import random
import re
import shutil
import subprocess
import sys

from massif_model import Program, random_options, random_script

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Problem, arguments, run_seeds    # noqa: E402

WAYS = (('-j1',), ('-j3',), ('-j3', 'pipe'))
THREADS = (0, 1, 63)    # of scripts; a trace has them with one more


class Different(Problem):
    """A difference between two ways."""


class Bench:
    """One trace and its replays."""

    def __init__(self, build, scratch, seed):
        self.msreplay, self.script2trace = build / 'analyze/msreplay', build / 'tests/tools/script2trace'
        self.scratch, self.rng = scratch, random.Random(seed)
        self.trace, self.looked, self.chunks = scratch / 'trace', 0, 0

    def make(self, lines):
        (self.scratch / 'script').write_text('\n'.join(lines) + '\n')
        subprocess.run([self.script2trace, self.scratch / 'script', self.trace], check=True)

    def run(self, words, way=()):
        """(exit status, messages, standard output, files by name)"""
        out = self.scratch / 'out'
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        command = [self.msreplay, '-v', *(w for w in way if w != 'pipe'), *words]
        piped = 'pipe' in way
        with open(self.trace, 'rb') as file:
            source = subprocess.Popen(['cat'], stdin=file, stdout=subprocess.PIPE) if piped else None
            done = subprocess.run(command + ['-' if piped else self.trace], stdin=source.stdout if piped else None,
                                  cwd=out, capture_output=True, text=True, timeout=60)
            if piped:
                source.stdout.close()
                source.wait()
        looked = re.search(r'the records of (\d+) of (\d+) chunks', done.stderr)
        if looked:
            self.looked, self.chunks = map(int, looked.groups())
        said = '\n'.join(line for line in done.stderr.replace('standard input', str(self.trace)).split('\n')
                         if not re.search(r'replayed in|the records of|total_time|==|--', line))
        return done.returncode, said, done.stdout, {path.name: path.read_bytes() for path in out.iterdir()}

    def expect(self, got, wanted, what):
        if got != wanted:
            raise Different('%s: %s\n%s' % (what, got[:3], wanted[:3]))


def massif(bench, words, counts):
    """Massif's file; the whole replay of it."""
    whole = bench.run(words + ['--massif-out-file=o', '--stats=yes'])
    nothing_counts = '--heap=no' in words and '--stacks=yes' not in words
    if bench.looked != bench.chunks and not nothing_counts:
        raise Different('not all records were looked at')
    for way in WAYS:
        got = bench.run(words + ['--massif-out-file=o'], way)
        bench.expect((got[0],) + got[2:], (whole[0],) + whole[2:], 'massif %s %s' % (words, way))
        counts[0] += bench.looked
        counts[1] += bench.chunks
    # Several settings in one pass don't disturb each other.
    got = bench.run(words + ['--massif-out-file=o'] + ['--also=--massif-out-file=o%d' % i for i in range(3)])
    bench.expect((got[0], got[3]['o']), (whole[0], whole[3]['o']), 'massif %s, four times' % words)
    return whole


def only_requested(bench, words, counts):
    """The requested snapshots alone, and those of the whole replay."""
    words = words + ['--at=%d' % bench.rng.choice((0, 3, 40, 1000, 10**6, 10**9))] * (bench.rng.random() < 0.8)
    if not any(word.startswith(('--at=', '--snapshot=', '--all-snapshots=')) for word in words):
        return
    whole = bench.run(words + ['--massif-out-file=o', '--stats=yes'])
    for way in WAYS:
        got = bench.run(words + ['--massif-out-file=o', '--only-moments'], way)
        files = {name: text for name, text in whole[3].items() if name != 'o'}
        bench.expect((got[0], got[3]), (whole[0], files), 'requested snapshots %s %s' % (words, way))
        counts[2] += bench.chunks
        counts[3] += len(WAYS) and 1


def memusage(bench):
    whole = bench.run(['--memusage', '--data=d'])
    for way in WAYS:
        bench.expect(bench.run(['--memusage'], way)[:3], whole[:3], 'memusage %s' % (way,))


def convert(bench, *words):
    out = bench.scratch / 'converted'
    out.unlink(missing_ok=True)
    done = subprocess.run([bench.msreplay.with_name('msconvert'), '-q', *words, '-o', out, bench.trace],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, out.read_text() if out.exists() else done.stderr


def profiles(bench, lines):
    """A trace with one thread needs no records to find the thread of its calls."""
    if any(line.startswith('thread') for line in lines):
        return
    words = ['--to=folded', '--thread=1', '--at=%s' % bench.rng.choice(('peak', 'end', '7', '5000')),
             '--value=%s_%s' % (bench.rng.choice(('inuse', 'alloc')), bench.rng.choice(('bytes', 'objects')))]
    wanted = convert(bench, *words)
    bench.make(['alone'] + lines)
    bench.expect(convert(bench, *words), wanted, ' '.join(words))
    bench.make(lines)


def profile_at_a_time(bench):
    """
    Live bytes at a time are read from a key frame on, and at the peak or the end by sums; with a window all records are
    read, on the clock of bytes one by one.
    """
    words = ['--to=%s' % bench.rng.choice(('folded', 'speedscope', 'heapprofile')),
             '--at=%s' % bench.rng.choice((0, 3, 40, 1000, 10**6, 10**9, 'peak', 'end')),
             '--value=%s' % bench.rng.choice(('inuse_bytes', 'inuse_objects'))]
    words += ['--time-unit=B'] * (bench.rng.random() < 0.3)
    bench.expect(convert(bench, *words), convert(bench, *words, '--until=%d' % 10**18), ' '.join(words))


def folded_sum(bench, *words):
    status, text = convert(bench, '--to=folded', *words)
    if status:
        raise Different('%s: exit %d: %s' % (' '.join(words), status, text))
    return sum(int(line.rsplit(' ', 1)[1]) for line in text.split('\n') if line)


def live_by_thread(bench, lines):
    """A block counts for the thread that it came to, no matter which thread frees it."""
    changes, thread, live, script = bench.rng.choice((0.02, 0.5)), 0, {}, []
    for line in lines:
        what, *words = line.split()
        if what in ('alloc', 'free', 'free_by', 'resize') and bench.rng.random() < changes:
            thread = bench.rng.choice(THREADS)
            script.append('thread %d' % thread)
        script.append(line)
        if what == 'thread':
            thread = int(words[0])
        elif what in ('alloc', 'resize'):
            live[words[0]] = thread, int(words[-1])
        elif what in ('free', 'free_by'):
            del live[words[0]]
    bench.make(script)
    for thread in THREADS:
        wanted = sum(size for owner, size in live.values() if owner == thread)
        found = folded_sum(bench, '--thread=%d' % (thread + 1), '--at=end', '--value=inuse_bytes')
        bench.expect((found,), (wanted,), 'live by thread %d' % thread)
    bench.make(lines)


def profile_by_bytes(bench):
    """On the clock of bytes, the live bytes of a profile at a time are those of Massif's snapshot."""
    time = bench.rng.choice((0, 40, 300, 1000, 4000, 20000, 10**6))
    words = ['--time-unit=B', '--at=%d' % time]
    snapshot = bench.run(words + ['--massif-out-file=o'])[3]['o.at-%d' % time].decode()
    wanted = int(re.search(r'mem_heap_B=(\d+)', snapshot).group(1))
    bench.expect((folded_sum(bench, *words, '--value=inuse_bytes'),), (wanted,), 'live by bytes at %d' % time)


def costs(text):
    """The live bytes of an xtree report, by place and callee."""
    found, place, callee = {}, {}, ()
    for line in text.split('\n'):
        word, _, rest = line.partition('=')
        if word in ('fl', 'fn', 'cfi', 'cfn'):
            place[word] = rest
        if word == 'cfn':
            callee = (place['cfi'], place['cfn'])
        values = line.split()
        if len(values) >= 3 and values[0].isdigit():
            key = (place['fl'], place['fn'], values[0], callee)
            found[key] = [a + int(b) for a, b in zip(found.get(key, (0, 0)), values[1:3])]
            callee = ()
    return {key: values for key, values in found.items() if any(values)}


def xtrees(bench):
    """
    A report with the stacks of frees needs more records than one of live blocks. Stacks of frees affect where later
    stacks are cut off at main.
    """
    words = ['--to=callgrind', '--xtree-compress-strings=no', '--show-below-main=yes', '--xtree-memory=']
    live, full = (convert(bench, *words[:-1], words[-1] + what) for what in ('allocs', 'full'))
    bench.expect((live[0], costs(live[1])), (full[0], costs(full[1])), 'xtree')


def damage(bench):
    data = bytearray(bench.trace.read_bytes())
    for _ in range(bench.rng.choice((1, 1, 4))):
        data[bench.rng.randrange(len(data))] ^= 1 << bench.rng.randrange(8)
    if bench.rng.random() < 0.3:
        del data[bench.rng.randrange(len(data)):]
    bench.trace.write_bytes(data)
    for words in (['--massif-out-file=o'], ['--memusage']):
        first = bench.run(words, WAYS[0])
        for way in WAYS[1:]:
            bench.expect(bench.run(words, way), first, 'damaged %s' % (way,))
        whole = bench.run(words + (['--stats=yes'] if words[0] != '--memusage' else ['--data=d']))
        whole[3].pop('d', None)
        bench.expect((first[0],) + first[2:], (whole[0],) + whole[2:], 'damaged, all records')


def try_once(bench, program, counts):
    rng = bench.rng
    counted = rng.random() < 0.5
    lines = random_script(rng, program.frames(rng), program.path, counted)[0]
    if rng.random() < 0.8:
        lines[0] = 'records %d' % rng.choice((3, 8, 20, 100))
    lines.insert(1, 'keyframes %d' % rng.choice((1, 30, 200)))
    bench.make(lines)
    words = random_options(rng, counted)[1]
    if rng.random() < 0.7:
        words = [word for word in words if not word.startswith(('--compat', '--stacks', '--heap='))]
    massif(bench, words, counts)
    only_requested(bench, words, counts)
    memusage(bench)
    profiles(bench, lines)
    live_by_thread(bench, lines)
    profile_at_a_time(bench)
    profile_by_bytes(bench)
    xtrees(bench)
    damage(bench)


def main():
    options = arguments(__doc__, '--runs', '--seed', '--keep')
    counts = [0, 0, 0, 0]

    def begin(folder):
        program = Program(folder)
        return lambda seed: try_once(Bench(options.build, folder, seed), program, counts)
    status = run_seeds(options, begin)
    print('the records of %d of %d chunks were looked at' % tuple(counts[:2]))
    return status or int(counts[0] >= counts[1])


if __name__ == '__main__':
    sys.exit(main())
