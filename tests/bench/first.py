#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first replay of a program, whose names no cache has, beside heaptrack's.

  first.py --build DIR [--old DIR] [--runs N] [--scale S] [--cpu] [NAME...]

Records each program with msrec and with heaptrack -r, then runs in turns: heaptrack_interpret, which looks names up,
and heaptrack_print, which prints them; msreplay with a cache that has all names, with an empty one, and without one.
Prints a Markdown table of medians of wall seconds of whole commands, with --cpu of the least CPU seconds, which other
work on the machine disturbs less: how many times faster than heaptrack_print the first replay is, and than both
programs of heaptrack, which do what a first replay does. The floor is a replay with names from the cache, and the CPU
time that zlib needs to unpack what a first one reads of debug files (unpacking.c). With --old another build's first
replays take their turns, too.
"""

import glob
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../tools'))
import machine                                            # noqa: E402
import workloads                                          # noqa: E402
from bench import compiler                                # noqa: E402
from compare import wall                                  # noqa: E402
from harness import Scratch, arguments                    # noqa: E402
from measure import cpu_seconds                           # noqa: E402
from names import INTERPRET                               # noqa: E402


def record(build, workload, folder):
    """The trace, and heaptrack's raw file."""
    trace, theirs = os.path.join(folder, 'trace'), os.path.join(folder, 'heaptrack')
    with open(workload.stdin, 'rb') as stdin:
        for recorder in ([build.msrec, '-q', '-f', '-o', trace], ['heaptrack', '-r', '-o', theirs]):
            stdin.seek(0)
            subprocess.run([*recorder, *workload.argv], stdin=stdin, env=workload.environment(), cwd=workload.cwd,
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return trace, glob.glob(theirs + '.raw.*')[0]


class Bench:
    def __init__(self, options, folder):
        self.spent = cpu_seconds if options.cpu else wall
        self.builds = [options.build] + ([options.old] if options.old else [])
        self.runs = options.runs
        self.folder = folder
        self.library = os.path.join(folder, 'unpacking.so')
        subprocess.run([*compiler(), '-shared', '-fPIC', '-O2', '-D_GNU_SOURCE', '-o', self.library,
                        os.path.join(HERE, 'unpacking.c'), '-ldl'], check=True)

    def replay(self, trace, cache, build=None, **more):
        command = [(build or self.builds[0]).file('analyze/msreplay'), '-q', '--massif-out-file=/dev/null', trace]
        return self.spent(command, env=dict(os.environ, MSREC_CACHE=cache, **more))

    def unpacking(self, trace):
        """CPU seconds of zlib in a first replay."""
        out = os.path.join(self.folder, 'unpacking')
        self.replay(trace, '', LD_PRELOAD=self.library, UNPACKING_OUT=out)
        with open(out, encoding='utf-8') as file:
            return int(file.read().split()[0]) / 1e9

    def round(self, trace, raw, n):
        unpack = 'zstd -dc' if raw.endswith('.zst') else 'gzip -dc'
        interpreted = os.path.join(self.folder, 'interpreted')
        interpret = self.spent(['sh', '-c', f'{unpack} {raw} | {INTERPRET} >{interpreted}'])
        shown = self.spent(['heaptrack_print', '-f', interpreted])
        # The first replay after other programs takes some milliseconds more: here that is none of those compared.
        unpacking = self.unpacking(trace)
        return [interpret, shown, unpacking, self.replay(trace, f'{self.folder}/kept'),
                self.replay(trace, f'{self.folder}/empty.{n}'),
                *(self.replay(trace, '', build) for build in self.builds)]

    def rows(self, workload):
        trace, raw = record(self.builds[0], workload, self.folder)
        self.replay(trace, f'{self.folder}/kept')
        return [self.round(trace, raw, f'{workload.name}.{n}') for n in range(self.runs)]


def summary(rows, typical):
    """The rows' columns, and the ratios of the table."""
    interpret, shown, unpacking, again, empty, first, *old = (typical(column) for column in zip(*rows))
    ratios = [shown / first, shown / empty, (interpret + shown) / first, shown / again, shown / (again + unpacking)]
    return [interpret, shown, first, again, unpacking], ratios + [o / first for o in old]


def main():
    options = arguments(__doc__, ('--old', {'default': None, 'metavar': 'DIR'}), ('--runs', {'default': 5}),
                        ('--scale', {'type': int, 'default': 10}), ('--cpu', {'action': 'store_true'}),
                        ('names', {'nargs': '*', 'metavar': 'NAME'}))
    if options.old:
        options.old = type(options.build)(options.old)
    machine.touch_memory()
    print('| program | heaptrack_interpret, s | heaptrack_print, s | first, s | again, s | unpacking, s | first: times '
          '| keeping names: times | first: times both | again: times | floor: times |' +
          (' old : new |' if options.old else '') + '\n|---|' + '--:|' * (10 + bool(options.old)))
    means = []
    for name in options.names or list(workloads.MAKERS):
        with Scratch() as folder:
            for workload in workloads.make(folder, options.scale, [name]):
                seconds, ratios = summary(Bench(options, folder).rows(workload),
                                          min if options.cpu else statistics.median)
                print(f'| {name} | ' + ' | '.join('%.3f' % s for s in seconds) + ' | ' +
                      ' | '.join('%.1f' % r for r in ratios[:5]) + ''.join(' | %.2f' % r for r in ratios[5:]) + ' |',
                      flush=True)
                means.append(ratios)
    print('| geometric mean |' + ' |' * 5 + ''.join(' **%.2f** |' % statistics.geometric_mean(column)
                                                    for column in zip(*means)))


if __name__ == '__main__':
    main()
