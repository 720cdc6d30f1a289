#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every figure of msreport's sections about the corpus's programs is the model's (report_model.py).

Stacks of the same functions, called in the same line of the innermost one, are one to msreport; so they are to the
model. Of a family of processes the parent is looked at.

  report_corpus.py --build DIR [--case REGEX]

Exit status: 0 all equal, 1 a difference.
"""

import random
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'corpus'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tools'))
import cases as corpus    # noqa: E402
import report_model as model    # noqa: E402
from harness import Problem, Scratch, Tally, arguments    # noqa: E402


# Blocks of "-20 bytes", whose sums msreport takes modulo 2^64 as Massif does.
LEFT_OUT = re.compile('custom_alloc')


class Recorded(model.Bench):
    """The trace of one program."""

    def ask_all(self, *words):
        return super().ask_all('--no-suppressions', *words)

    def record(self, build, case):
        subprocess.run([build.msrec, '-q', '-f', '--rss=off', '-o', self.trace, *case.argv], cwd=build,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        self.usable = 0         # slack is not known
        lines = {row['frame']: row['line'] for row in self.table('ndjson-frames')}
        first, same = {}, {}
        for row in self.table('ndjson-stacks'):
            same[row['stack']] = first.setdefault((row['path'], lines.get(row['frame'])), row['stack'])
        events = self.events()
        for event in events:
            event['recorded_stack'] = event['stack']
            for key in 'stack', 'old_stack':
                event[key] = same.get(event[key], event[key])
        return events


def compare(bench, build, case):
    events = bench.record(build, case)
    whole, sections = model.Model(events, 0), model.ask_sections(bench, 0)
    timeline = model.Timeline(whole, sections['overview']['duration_ns'])
    model.compare_figures(bench, sections, whole, timeline)
    model.compare_growth(bench, events, random.Random(1), timeline.end)


def main():
    options = arguments(__doc__, ("--case", {"default": "", "help": "only cases whose name matches from its start"}))
    tally = Tally()
    for case in corpus.CASES:
        if not re.match(options.case, case.name) or LEFT_OUT.match(case.name):
            continue
        with Scratch() as folder:
            try:
                compare(Recorded(options.build, Path(folder)), options.build, case)
                tally(True)
            except (Problem, KeyError) as e:
                tally(False, f'{case.name}: {e!r}'[:600])
    return tally.status()


if __name__ == '__main__':
    sys.exit(main())
