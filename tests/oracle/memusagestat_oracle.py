#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare `msreplay --memusage --data` and `--png` with memusage's data file and memusagestat.

For each program:
  data     the live bytes of all records equal those in the file that libmemusage.so wrote, and so do
           peak and number (times and stack depths differ from run to run and are masked)
  drawn    memusagestat draws the same picture, to a byte, from both files, masked alike
  picture  msreplay's own PNG is memusagestat's of msreplay's data file, to a byte; each program takes two in turn of
           -t, -T, a title and several sizes, and all where programs are named

  memusagestat_oracle.py --build DIR [-v] [NAME...]

Exit status: 0 all identical, 1 not, 77 memusage or memusagestat is not installed.
"""

import glob
import os
import shutil
import struct
import sys

import memusage_oracle

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, arguments, skip    # noqa: E402

RECORD = struct.Struct('=QQII')
BUFFER = 32768
LOOKS = [[], ['-t'], ['-T'], ['-t', '-T'], ['--title', 'A title'], ['-x', '100', '-y', '80'],
         ['-x', '173', '-y', '91', '-t'], ['-x', '1500', '-y', '700', '-T', '--title', 'x' * 300]]
LOOKS_OF_ONE = 2
# By memusagestat's own names.
STAT_NAMES = {'--title': '-s'}


class Oracle(memusage_oracle.Oracle):
    def environment(self, argv, preload):
        output = os.path.join(self.scratch, 'theirs' if preload == self.library else 'unused')
        return dict(super().environment(argv, preload), MEMUSAGE_OUTPUT=output, MEMUSAGE_NO_TIMER='1')

    def their_data(self, argv):
        name = os.path.join(self.scratch, 'theirs')
        if os.path.exists(name):
            os.unlink(name)
        self.memusage_reports(argv)
        return load(name)

    def record(self, argv):
        """The trace of the program itself, not those of its forked children."""
        trace = os.path.join(self.scratch, 'trace')
        for old in glob.glob(glob.escape(trace) + '*'):
            os.unlink(old)
        self.run([self.msrec, '-q', '-f', '-o', trace, '--'] + argv,
                 self.environment(argv, self.idle_preload))
        return trace

    def replay(self, trace, *options):
        done = self.run([self.msreplay, '-q', '--memusage', *options, trace], self.base)
        if done.returncode != 0:
            print(done.stderr.decode(errors='replace'), end='')
        return done.returncode == 0


def load(name):
    """The records, the head first."""
    if not os.path.exists(name):
        return None
    with open(name, 'rb') as f:
        data = f.read()
    records = [RECORD.unpack_from(data, i) for i in range(0, len(data) - RECORD.size + 1, RECORD.size)]
    body = records[2:]
    # A last half of the buffer that was just full is written again.
    if len(body) >= 2 * BUFFER and body[-BUFFER:] == body[-2 * BUFFER:-BUFFER]:
        body = body[:-BUFFER]
    return records[:2] + body


def masked(records):
    """Without stack depths, with the number of a record for its time."""
    head = [(0, records[1][0], 0, 0), (records[1][0], 0, len(records), 0)]
    return head + [(heap, 0, i, 0) for i, (heap, *_) in enumerate(records[2:])]


def draw(oracle, data, options=()):
    picture = os.path.join(oracle.scratch, 'stat.png')
    done = oracle.run(['memusagestat', *[STAT_NAMES.get(o, o) for o in options], data, picture], oracle.base)
    if done.returncode != 0:
        return None
    with open(picture, 'rb') as f:
        return f.read()


def draw_masked(oracle, records):
    name = os.path.join(oracle.scratch, 'masked')
    with open(name, 'wb') as f:
        f.writelines(RECORD.pack(*r) for r in masked(records))
    return draw(oracle, name)


def difference(theirs, ours):
    """The first difference of live bytes, or None."""
    a, b = [[r[0] for r in records[1:]] for records in (theirs, ours)]
    if a == b:
        return None
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return '%d and %d records; the first difference is at %d: %s and %s' % (
        len(a) - 1, len(b) - 1, at - 1, a[at:at + 3], b[at:at + 3])


def compare_pictures(oracle, trace, data, looks, verbose):
    """Numbers of equal pictures and of all. If memusagestat crashes, msreplay must still draw one."""
    ours = os.path.join(oracle.scratch, 'ours.png')
    same = 0
    for look in looks:
        want = draw(oracle, data, look)
        if not oracle.replay(trace, '-p', ours, *look):
            continue
        with open(ours, 'rb') as f:
            picture = f.read()
        if want is None and verbose:
            print('    memusagestat crashes: %s' % ' '.join(look)[:60])
        identical = picture == want if want else picture.startswith(b'\x89PNG')
        same += identical
        if not identical:
            print('    picture differs: %s' % ' '.join(look)[:60])
    return same, len(looks)


def programs(scratch):
    for name, *argv in memusage_oracle.corpus_programs() + list(memusage_oracle.real_programs(scratch)):
        # Children write over their parent's records; Python's own differ from run to run.
        if name.split(':')[0] in ('fork', 'make', 'tar', 'python3') or name in memusage_oracle.DIFFERENT:
            continue
        if '/' in argv[0] or shutil.which(argv[0]):
            yield name, argv


def compare(oracle, name, argv, looks, verbose):
    """Numbers of equal (data, drawn, pictures) and of all; None: nothing to compare."""
    theirs, again = oracle.their_data(argv), oracle.their_data(argv)
    # A file that isn't finished has the same time twice in its head.
    if not theirs or theirs[0][2:] == theirs[1][2:]:
        print('%-24s -  writes no whole file' % name)
        return None
    if difference(theirs, again):
        print('%-24s -  not deterministic' % name)
        return None
    trace = oracle.record(argv)
    data = os.path.join(oracle.scratch, 'ours')
    if not oracle.replay(trace, '-d', data):
        return 0, 1, 0, 1
    ours = load(data)
    different = difference(theirs, ours)
    drawn = draw_masked(oracle, theirs) == draw_masked(oracle, ours)
    same, of = compare_pictures(oracle, trace, data, looks, verbose)
    print('%-24s %s, drawn %s, pictures %d/%d' % (name, 'data DIFFERENT' if different else 'data ok',
                                                  'ok' if drawn else 'DIFFERENT', same, of))
    if different:
        print('    ' + different)
    return (not different) + drawn, 2, same, of


def good(result):
    return not result or result[::2] == result[1::2]


def main():
    options = arguments(__doc__, '--verbose', ('names', {'nargs': '*'}))
    library = memusage_oracle.find_memusage()
    if not library or not shutil.which('memusagestat'):
        skip('memusage or memusagestat is not installed')
    with Scratch() as scratch:
        oracle = Oracle(options.build, scratch, library)
        totals = [0, 0, 0, 0]
        for i, (name, argv) in enumerate(programs(scratch)):
            if options.names and name not in options.names:
                continue
            first = i * LOOKS_OF_ONE % len(LOOKS)
            looks = LOOKS if options.names else LOOKS[first:first + LOOKS_OF_ONE]
            result = memusage_oracle.ask_again(name, lambda: compare(oracle, name, argv, looks, options.verbose), good)
            if result:
                totals = [t + r for t, r in zip(totals, result)]
    print('identical: data and what is drawn of it %d/%d, pictures %d/%d' % tuple(totals))
    return 0 if totals[1] and totals[0] == totals[1] and totals[2] == totals[3] else 1


if __name__ == '__main__':
    sys.exit(main())
