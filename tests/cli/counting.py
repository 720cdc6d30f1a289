#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""msrec --instructions on a machine that seems to have a counter (fake_counter), and on one that has none.

  counting.py --build DIR
"""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import SKIPPED, Checks, Scratch, arguments, skip    # noqa: E402

STEP = 1000  # of fake_counter


class Bench:
    def __init__(self, build, scratch):
        self.file, self.scratch, self.check = build.file, scratch, Checks()

    def expect(self, condition, what):
        self.check(what, condition)

    def record(self, mode, options, program):
        """The command's result, and its traces, the first process's first; clears the output folder before."""
        for old in glob.glob(os.path.join(self.scratch, '*')):
            os.unlink(old)
        trace = os.path.join(self.scratch, 'trace')
        words = program.split()
        command = [self.file('tests/tools/fake_counter'), mode, self.file('trace-record/msrec'), *options, '-o', trace,
                   self.file(words[0]), *words[1:]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        if done.returncode == SKIPPED:
            skip('the kernel offers no user notifications of system calls')
        return done, sorted(glob.glob(trace + '*'))

    def dump(self, trace):
        done = subprocess.run([self.file('tests/tools/tracedump'), trace], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            self.expect(False, 'a sound trace')
        return done.stdout

    def counts(self, trace):
        return [int(n) for n in re.findall(r' instructions=(\d+)', self.dump(trace))]


def is_counted(text):
    return re.search(r'^file .* counted', text, re.M) is not None


def check_single(b, mode):
    done, traces = b.record(mode, ['--instructions=pmu', '-q'], 'corpus/basic')
    counts = b.counts(traces[0])
    b.expect(done.returncode == 0 and done.stderr == '' and is_counted(b.dump(traces[0])), mode + ': recorded')
    b.expect(len(counts) > 50 and counts == sorted(counts), mode + ': a count for each call')
    return counts, traces[0]


def check_replay(b, trace):
    massif = subprocess.run([b.file('analyze/msreplay'), '-q', '--massif-out-file=-', trace], stdout=subprocess.PIPE,
                            text=True).stdout
    times = [int(n) for n in re.findall(r'^time=(\d+)$', massif, re.M)]
    b.expect('time_unit: i\n' in massif and times == sorted(times) and set(times) - {0} <= set(b.counts(trace)),
             'replayed by instructions')


def check_read(b):
    """Each call reads twice: the recorder's instructions, between the two, don't count."""
    counts, trace = check_single(b, 'read')
    b.expect(counts == [STEP * (i + 1) for i in range(len(counts))], 'read: the recorder does not count itself')
    check_replay(b, trace)


def check_threads(b):
    # The pages count while their threads run, and each stands for its thread.
    for program in ('corpus/threads', 'tests/cli/count_program threads 1'):
        done, traces = b.record('page', ['--instructions=auto', '-q'], program)
        counts = b.counts(traces[0])
        b.expect(done.returncode == 0 and counts == sorted(counts) and counts[-1] > 0, 'threads: ' + program)
    done, traces = b.record('read', ['--instructions=auto', '-q'], 'tests/cli/count_program threads 20')
    counts = b.counts(traces[0])
    b.expect(counts[-1] >= STEP * 20 * 200, 'threads: the counts of all are added up')


def check_leaks(b):
    done, _ = b.record('page', ['--instructions=pmu', '-q'], 'tests/cli/count_program threads 700')
    fds, maps = map(int, done.stdout.split())
    # A thread gets a former thread's ring, with its counter, once msrec has drained that.
    b.expect(fds == 0 and 1 <= maps < 400, '700 threads leave few counters: %d %d' % (fds, maps))
    done, _ = b.record('read', ['--instructions=pmu', '-q'], 'tests/cli/count_program threads 150')
    fds, maps = map(int, done.stdout.split())
    b.expect(1 <= fds <= 124 and maps == 0, '150 threads leave few descriptors: %d %d' % (fds, maps))


def check_closing(b):
    for what in ('close', 'reuse'):
        done, traces = b.record('page', ['--instructions=pmu', '-q'], 'tests/cli/count_program ' + what)
        b.expect(done.stdout == '0 1\n', '%s: the page needs no descriptor' % what)
        done, traces = b.record('read', ['--instructions=pmu', '-q'], 'tests/cli/count_program ' + what)
        counts = b.counts(traces[0])
        b.expect(done.returncode == 0 and done.stdout == '0 0\n' and len(counts) > 400 and
                 counts[-1] == counts[300] > STEP * 150, '%s: a closed descriptor stops the count, no more' % what)


def check_forks(b):
    for mode in ('page', 'read'):
        done, traces = b.record(mode, ['--instructions=pmu', '-q'], 'corpus/fork')
        all_counts = [b.counts(trace) for trace in traces]
        b.expect(done.returncode == 0 and len(traces) > 1 and all(c == sorted(c) for c in all_counts),
                 mode + ': forks')
        parent = next(c for c, t in zip(all_counts, traces) if re.search(r'^file .* parent=0 ', b.dump(t), re.M))
        shared = [sum(x == y for x, y in zip(parent, c)) for c in all_counts if c is not parent]
        b.expect(all(shared), mode + ': children go on from where their parent was')


def check_refusals(b):
    b_none = 'msrec: instructions are not counted: this machine offers no counter for them\n'
    b_denied = 'msrec: instructions are not counted: it is not allowed (/proc/sys/kernel/perf_event_paranoid)\n'
    for mode, options, wanted in (
            ('none', ['--instructions=pmu', '-q'], b_none), ('none', ['--instructions=auto', '-q'], ''),
            ('none', ['--instructions=off', '-q'], ''), ('denied', ['--instructions=pmu', '-q'], b_denied),
            ('denied', ['--instructions=auto', '-q'], ''), ('page', ['-q'], '')):
        done, traces = b.record(mode, options, 'corpus/exit 7')
        b.expect(done.stderr == wanted and not is_counted(b.dump(traces[0])),
                 '%s %s: %s' % (mode, options[0], wanted.strip() or 'nothing is said'))
    done, _ = b.record('none', ['--instructions=auto', '-v'], 'corpus/basic')
    b.expect(b_none in done.stderr, 'none --instructions=auto -v: said')
    done, traces = b.record('few', ['--instructions=pmu', '-q'], 'tests/cli/count_program threads 5')
    b.expect(done.returncode == 0 and done.stderr == 'msrec: --instructions: those of 5 threads could not be counted\n'
             and is_counted(b.dump(traces[0])), 'few: the threads without a counter are reported')


def main():
    build = arguments(__doc__).build
    with Scratch() as scratch:
        b = Bench(build, scratch)
        check_single(b, 'page')
        check_read(b)
        check_threads(b)
        check_leaks(b)
        check_closing(b)
        check_forks(b)
        check_refusals(b)
    return b.check.status()


if __name__ == '__main__':
    sys.exit(main())
