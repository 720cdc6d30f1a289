#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare msreplay's messages by -v -v --stats=yes with Massif's.

Each program of the corpus that is named below runs once under msrec, and under valgrind once for
each set of options. Massif's own lines ("--PID-- Massif: ...") must be the same, in the same order.

Exit status: 0 all identical, 1 not, 77 no valgrind.
"""

import difflib
import functools
import re
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tools'))
from harness import Scratch, Tally, arguments, need    # noqa: E402

PROGRAMS = ('ignored', 'culling even', 'culling growing', 'realloc', 'peak', 'deep', 'entry realloc-fail',
            'script 2 3000', 'basic', 'zero', 'null', 'stdio')
OPTIONS = (
    '--max-snapshots=10',
    '--ignore-fn=quiet_malloc --ignore-fn=quiet_realloc --ignore-fn=grow',
    '--detailed-freq=3 --heap-admin=16 --alloc-fn=a12 --alloc-fn=a11',
    '--peak-inaccuracy=0 --max-snapshots=13',
)
ENVIRONMENT = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LC_ALL': 'C'}


@functools.cache
def valgrind_release():
    done = subprocess.run(['valgrind', '--version'], capture_output=True, text=True, check=True)
    return done.stdout.strip().removeprefix('valgrind-')


def alloc_fns_asked_for(lines, options):
    """The lines without Massif's own list of allocation functions: later releases than 3.19 have another one."""
    begin, end = lines.index('Massif: alloc-fns:') + 1, lines.index('Massif: ignore-fns:')
    asked = re.findall('--alloc-fn=([^ ]+)', options)
    return lines[:begin] + [line for line in lines[begin:end] if line.split()[-1] in asked] + lines[end:]


def massif_lines(command, build):
    """Massif's lines among all messages, without the process id."""
    done = subprocess.run(command, cwd=build, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
    lines = done.stderr.decode('utf-8', 'replace').split('\n')
    return [re.sub(r'^--\d+-- ', '', line) for line in lines if re.match(r'--\d+-- Massif: ', line)]


def compare(build, program, options, trace):
    """The difference as lines; none if equal."""
    words = ['-v', '-v', '--stats=yes', '--time-unit=B', '--massif-out-file=/dev/null', *shlex.split(options)]
    theirs = massif_lines(['valgrind', '--tool=massif', *words, *program], build)
    ours = massif_lines(['analyze/msreplay', '--compat=3.19', '--usable=valgrind', *words, trace], build)
    if not theirs:
        return ['massif printed nothing']
    if valgrind_release() != '3.19.0':
        theirs, ours = (alloc_fns_asked_for(lines, options) for lines in (theirs, ours))
    return list(difflib.unified_diff(theirs, ours, 'massif', 'msreplay', lineterm='', n=1))


def main():
    build, tally = arguments(__doc__).build, Tally()
    need('valgrind')
    with Scratch() as scratch:
        trace = Path(scratch) / 'trace'
        for name in PROGRAMS:
            program = shlex.split('corpus/' + name)
            subprocess.run(['trace-record/msrec', '-q', '-f', '-o', trace, *program], cwd=build, env=ENVIRONMENT,
                           stdout=subprocess.DEVNULL, check=False)
            for options in OPTIONS:
                lines = compare(build, program, options, trace)
                tally(not lines, lines and '\n  '.join(['DIFFERENT %s [%s]' % (name, options)] + lines[:12]))
    return tally.status()


if __name__ == '__main__':
    sys.exit(main())
