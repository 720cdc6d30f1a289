#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare msreplay's xtree memory reports with those of Massif itself, on the programs of corpus/cases.py.

Each program is recorded once, with the stacks of its frees; each of its reports is replayed, and written by
valgrind --tool=massif. The two must be equal but for the pid, addresses and milliseconds; and, in a report of
live blocks (allocs), the order of the stacks and with it the numbers of the names, which Massif leaves to a
hash of addresses. callgrind_annotate must find the same in both. And massif.out and memusage's report must not
depend on whether the stacks of frees were recorded.

By default each program has its full report in callgrind's format and one of the five others in turn; --all:
all six. Massif's files are kept in BUILD/oracle-cache. Prints "identical N/M". Exit status: 0 all as
expected, 1 not, 2 cannot run, 77 Valgrind is not installed.
"""

import collections
import concurrent.futures
import difflib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tools'))
from harness import Tally, arguments, installed_compat, need_valgrind    # noqa: E402
from massif_oracle import DIFF_LINES, ENVIRONMENT, Failure, Oracle, in_family_order, run  # noqa: E402
import cases as corpus  # noqa: E402

Report = collections.namedtuple('Report', 'memory suffix compress')
REPORTS = [Report('full', '', 'yes'), Report('full', '.ms', 'yes'), Report('allocs', '', 'yes'),
           Report('full', '', 'no'), Report('allocs', '.ms', 'no'), Report('allocs', '', 'no')]

CASES = """null zero basic alloc_fns deep realloc new_basic overloaded_new entry:malloc-zero entry:realloc-null
entry:realloc-fail entry:memalign entry:posix-memalign entry:reallocarray entry:libc entry:churn new_aligned
recurse:40 recurse:300 main_again signal ctor inline inline_chain templates exceptions symbols_only fork dl stdio
script:2 ignored custom_alloc_both_fast
custom_alloc_both_fast:random""".split()

OPTIONS = {
    'deep': '--depth=3',
    'recurse:300': '--depth=10',
    'alloc_fns': '--alloc-fn=a4 --alloc-fn=b4',
    'ignored': '--ignore-fn=quiet_malloc --ignore-fn=quiet_realloc',
}

# Only here the comparison includes blocks that the C and C++ libraries free at exit.
CLEAN_UP = ('new_basic', 'stdio')

# Kinds of differences that are removed from both sides before the comparison, with their reason.
INNER = ('inner', "3.19's realloc and posix_memalign may call another of its functions, which shows them")
OPERATORS = ('operators', "Valgrind takes the place of the program's own operator new, which doesn't run then")
FREERES = ('freeres', 'Valgrind calls the clean-up at exit itself')
# For others the comparison of full reports only requires some difference.
FAILED_REALLOC = ('any', 'Massif forgets the block of a realloc that failed')
IGNORED_REALLOC = ('any', 'Massif forgets blocks that a realloc takes out of an ignored function')
UNLOADED = ('any', 'Massif looks names up when it ends: an unloaded library has none any more')
EXPECTED = {
    **dict.fromkeys(('realloc', 'entry:realloc-null', 'entry:posix-memalign', 'script:2'), INNER),
    'overloaded_new': OPERATORS,
    'entry:realloc-fail': FAILED_REALLOC,
    'ignored': IGNORED_REALLOC,
    'dl': UNLOADED,
    **dict.fromkeys(CLEAN_UP, FREERES),
}


class XtreeOracle(Oracle):
    """Runs and replays for reports; `Oracle` does those for massif.out."""

    @staticmethod
    def options(case, report):
        return ['--xtree-memory=' + report.memory, '--xtree-compress-strings=' + report.compress,
                *shlex.split(OPTIONS.get(case.name, ''))]

    @staticmethod
    def clean_up(case):
        yes = 'yes' if case.name in CLEAN_UP else 'no'
        return ['--run-libc-freeres=' + yes, '--run-cxx-freeres=' + yes]

    def theirs(self, case, report):
        options = [*self.options(case, report), *self.clean_up(case)]
        kept = self.cache / self.key(case, case.argv, 'xtree%s %s' % (report.suffix, options))
        if not (kept.is_dir() and self.use_cache):
            # Massif goes by ".ms" anywhere in the whole path, so no random letters may come behind a dot.
            fresh = Path(tempfile.mkdtemp(prefix='xtree-oracle-'))
            status, said = run(['valgrind', '-q', '--tool=massif', '--massif-out-file=/dev/null', *options,
                                '--xtree-memory-file=%s/out%s.%%p' % (fresh, report.suffix), *case.argv], self.build)
            if not in_family_order(fresh, 'out' + report.suffix):
                raise Failure('valgrind wrote nothing (status %d): %s' % (status, said))
            shutil.rmtree(kept, ignore_errors=True)
            shutil.move(fresh, kept)
        return in_family_order(kept, 'out' + report.suffix)

    def traces(self, case, scratch, free_stacks='yes'):
        name = 'trace-' + free_stacks
        status, said = run([str(self.build / 'trace-record/msrec'), '-q', '-f', '--free-stacks=' + free_stacks,
                            *self.clean_up(case), '-o', str(scratch / name), *case.argv], self.build)
        if not in_family_order(scratch, name):
            raise Failure('msrec wrote nothing (status %d): %s' % (status, said))
        return in_family_order(scratch, name)

    def other_results(self, trace):
        """The other results of a trace: massif.out with all its trees, and memusage's report."""
        massif = ['--massif-out-file=-', '--time-unit=B', '--threshold=0', '--detailed-freq=1']
        return [line for options in (massif, ['--memusage', '--color=never']) for line in subprocess.run(
            [str(self.build / 'analyze/msreplay'), '-q', *options, str(trace)], env=ENVIRONMENT, capture_output=True,
            check=True, text=True, errors='surrogateescape').stdout.split('\n')]

    def ours(self, case, report, trace):
        out = Path('%s.%d%s' % (trace, REPORTS.index(report), report.suffix))
        status, said = run([str(self.build / 'analyze/msreplay'), '-q', '--compat=' + self.compat,
                            '--massif-out-file=/dev/null',
                            *self.options(case, report), '--xtree-memory-file=%s' % out, str(trace)], self.build)
        if status != 0 or not out.exists():
            raise Failure('msreplay wrote nothing (status %d): %s' % (status, said))
        return out


# ---- reading reports ----

class Callgrind:
    """A report in callgrind's format: lines of the header, blocks, totals. A block is a list of frames
    (file, function, line), outermost first, and its cost."""

    def __init__(self, text):
        self.names = {'file': {}, 'function': {}}
        lines = text.split('\n')
        begin = next(i for i, line in enumerate(lines) if line.startswith('events:')) + 1
        self.header = lines[:begin]
        *parts, self.totals = '\n'.join(lines[begin:]).split('\n\n') if '\n\n' in text[text.index('events:'):] \
            else ['\n'.join(lines[begin:])]
        self.blocks = [self.block(part.split('\n')) for part in parts]

    def name(self, sort, text):
        match = re.fullmatch(r'\((\d+)\)(?: (.*))?', text)
        if not match:
            return text
        number, known = int(match.group(1)), self.names[sort]
        if match.group(2) is not None:
            if number != len(known) + 1:
                raise Failure('name %d comes after %d others' % (number, len(known)))
            known[number] = match.group(2)
        return known[number]

    def frame(self, lines, keys):
        for line, key in zip(lines, keys):
            if not line.startswith(key + '='):
                raise Failure('%r is no %s' % (line, key))
        return tuple(self.name(sort, line.split('=', 1)[1]) for sort, line in zip(('file', 'function'), lines))

    def block(self, lines):
        frames, cost = [], lines[-1].split(' ', 1)[1]
        while len(lines) > 3:
            frames.append(self.frame(lines, ('fl', 'fn')) + (int(lines[2]),))
            inner = self.frame(lines[3:], ('cfi', 'cfn'))
            calls, line = lines[5].rsplit(' ', 1)
            if calls != 'calls=0' or lines[6] != '%s %s' % (lines[2], cost):
                raise Failure('not a call: %r' % lines[5:7])
            lines = lines[7:]
            if self.frame(lines, ('fl', 'fn')) != inner or lines[2].split(' ')[0] != line:
                raise Failure('another function than the one called: %r' % lines[:3])
        frames.append(self.frame(lines, ('fl', 'fn')) + (int(lines[2].split(' ')[0]),))
        return frames, cost

    def rows(self):
        """Each stack, innermost frame first, as text, with its cost."""
        return [(['%s (%s:%d)' % (function, file, line) for file, function, line in reversed(frames)],
                 [int(n) for n in cost.split()]) for frames, cost in self.blocks]


def massif_rows(text):
    """The stacks of a report in massif.out's format, with one value each: the event's number and its bytes."""
    rows, path = [], []
    for line in text.split('\n'):
        match = re.match(r'( *)n(\d+): (\d+) (?:0x[0-9A-F]+: )?(.*)', line)
        if match:
            depth = len(match.group(1))
            path[depth:] = [re.sub(r'^in \d+ places?,.*', 'in places', match.group(4))]
            if match.group(2) == '0' and depth:
                rows.append((path[1:], [path[0], int(match.group(3))]))
    return rows


# ---- comparing ----

def without(kind, frames):
    """A stack, innermost frame first, without known differences."""
    if kind == 'inner' and re.match(r'(realloc|posix_memalign) \((UnknownFile|in .*/vgpreload_)', frames[0]):
        return frames[1:]
    if kind == 'operators' and re.match(r'operator (new|delete)', frames[0]):
        return frames[1:]
    for i, frame in enumerate(frames if kind == 'freeres' else []):
        if re.match(r'_vgnU_freeres ', frame):      # there is no frame of the recorder's in ours
            frames = frames[:i] + frames[i + 1:]
            break
    for i, frame in enumerate(frames if kind == 'freeres' else []):
        if frame.startswith('__run_exit_handlers ') and re.match(r'\S*freeres\b', frames[i - 1]):
            return frames[:i] + [re.sub(r':\d+\)$', ')', frame)] + frames[i + 1:]
    return frames


def merged(rows, kind):
    """The sum of each stack, a line each."""
    sums = {}
    for frames, values in rows:
        event = [v for v in values if isinstance(v, str)]
        values = [v for v in values if isinstance(v, int)]
        key = ' <- '.join(without(kind, frames) + event)
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(values)), values)]
    return sorted('%s %s' % row for row in sums.items())


def massif_lines(text, kind):
    lines = [re.sub(r'0x[0-9A-F]+', '0x...', re.sub(r'^time=\d+', 'time=...', line)) for line in text.split('\n')]
    if kind in (None, 'any'):
        return lines
    return [line for line in lines if not re.match(r' *n\d+: ', line)] + merged(massif_rows(text), kind)


def callgrind_lines(text, report, kind):
    text = re.sub(r'(?m)^pid: \d+$', 'pid: ...', text)
    parsed = Callgrind(text)
    if kind not in (None, 'any'):
        return parsed.header + merged(parsed.rows(), kind) + [parsed.totals]
    if report.memory == 'allocs':
        return parsed.header + sorted(map(str, parsed.blocks)) + [parsed.totals]
    return text.split('\n')


def difference(theirs, ours, report, kind):
    """The differing lines of two families of files, or nothing."""
    if len(theirs) != len(ours):
        return ['massif wrote %d files, we %d' % (len(theirs), len(ours))]
    lines = []
    for pair in zip(theirs, ours):
        texts = [path.read_text('utf-8', 'surrogateescape') for path in pair]
        both = [massif_lines(t, kind) if report.suffix else callgrind_lines(t, report, kind) for t in texts]
        lines += difflib.unified_diff(*both, 'massif', 'msreplay', lineterm='', n=1)
    return lines


SORT = '--sort=' + ','.join('%s:100' % e for e in ('curB', 'curBk', 'totB', 'totBk', 'totFdB', 'totFdBk'))


def annotated(path):
    """callgrind_annotate's output for a full report, without the file's name and the sources."""
    done = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--auto=no', SORT, str(path)], env=ENVIRONMENT,
                          capture_output=True, text=True)
    if done.returncode != 0 or 'PROGRAM TOTALS' not in done.stdout:
        raise Failure('callgrind_annotate: status %d: %s' % (done.returncode, done.stderr.strip()))
    return [line for line in done.stdout.split('\n') if not line.startswith(('Profile data file', 'Profiled target'))]


def judge(name, lines, expected):
    """(as expected, text) of one comparison."""
    if expected and expected[0] == 'any':
        if lines and not lines[0].startswith('massif wrote'):
            return True, None
        return False, 'STALE     %s: listed as different (%s)' % (name, expected[1])
    if not lines:
        return True, None
    shown = lines[:DIFF_LINES] + (['... %d more' % (len(lines) - DIFF_LINES)] if len(lines) > DIFF_LINES else [])
    return False, '\n  '.join(['DIFFERENT %s' % name] + shown)


def compare(oracle, case, report, traces):
    """(as expected, text) of one report of a program and its children."""
    name = '%s [%s %s %s]' % (case.name, report.memory, report.suffix or '.kcg', report.compress)
    expected = EXPECTED.get(case.name)
    if report.memory == 'allocs' and expected and expected[0] == 'any':
        expected = None
    try:
        theirs = oracle.theirs(case, report)
        ours = [oracle.ours(case, report, trace) for trace in traces]
        lines = difference(theirs, ours, report, expected and expected[0])
        if report == REPORTS[0] and not expected and '(null)' not in theirs[0].read_text('utf-8'):
            lines += difflib.unified_diff(annotated(theirs[0]), annotated(ours[0]), 'massif', 'msreplay', n=1)
        return judge(name, lines, expected)
    except Failure as error:
        return False, 'FAILED    %s: %s' % (name, error)


def compare_other(oracle, case, traces, scratch):
    """(as expected, text): the other results, with and without the stacks of frees."""
    name = case.name + ' [stacks of frees]'
    try:
        without_stacks = oracle.traces(case, scratch, 'no')
        lines = [line for pair in zip(without_stacks, traces) for line in
                 difflib.unified_diff(*map(oracle.other_results, pair), 'without', 'with', n=1)]
        return judge(name, lines, None)
    except (Failure, subprocess.CalledProcessError) as error:
        return False, 'FAILED    %s: %s' % (name, error)


def compare_case(oracle, number, case, every):
    """Its reports: a list of (as expected, text)."""
    reports = REPORTS if every else [REPORTS[0], REPORTS[1 + number % (len(REPORTS) - 1)]]
    with tempfile.TemporaryDirectory(prefix='xtree-oracle-') as directory:
        try:
            traces = oracle.traces(case, Path(directory))
        except Failure as error:
            return [(False, 'FAILED    %s: %s' % (case.name, error))]
        return [compare(oracle, case, report, traces) for report in reports] + \
            [compare_other(oracle, case, traces, Path(directory))]


def main():
    options = arguments(__doc__, '--jobs',
                        ('--case', {'action': 'append', 'default': [], 'help': 'only this case (repeatable)'}),
                        ('--all', {'action': 'store_true', 'help': 'all six reports of each'}),
                        ('--no-cache', {'action': 'store_true', 'help': 'run valgrind even if its answer is kept'}))
    need_valgrind()
    named = {case.name: case for case in corpus.CASES}
    chosen = [(i, named[name]) for i, name in enumerate(CASES) if not options.case or name in options.case]
    oracle = XtreeOracle(options.build, 'rounded', installed_compat(), not options.no_cache, False)
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for results in pool.map(lambda item: compare_case(oracle, *item, options.all), chosen):
            for expected, text in results:
                tally(expected, text)
    return tally.status(' (%d programs with listed exceptions)' % sum(case.name in EXPECTED for _, case in chosen))


if __name__ == '__main__':
    sys.exit(main())
