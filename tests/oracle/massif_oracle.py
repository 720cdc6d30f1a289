#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare msreplay with Massif itself, case by case (corpus/cases.py).

Each program is recorded once; each of its option sets is replayed, and run under valgrind. The
two files must be equal but for addresses and the desc: line, which lists the options as given.
Massif's files are kept in BUILD/oracle-cache, under a key of everything that could change them.

Exit status: 0 all as expected, 1 an unexpected difference or a stale exception, 2 cannot run, 77
no valgrind.
"""

import concurrent.futures
import difflib
import hashlib
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
CORPUS = Path(__file__).resolve().parents[2] / 'corpus'
sys.path.insert(0, str(CORPUS))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tools'))
from harness import Tally, arguments, by_process, installed_compat, need_valgrind    # noqa: E402
import cases as corpus  # noqa: E402
from names_oracle import identifier    # noqa: E402

ENVIRONMENT = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C', 'LC_ALL': 'C'}
TIMEOUT_S = 120
DIFF_LINES = 12


class Failure(Exception):
    """A tool failed: there is nothing to compare."""


def run(command, build, environment=None):
    """Run one command in the build directory; return its exit status and messages."""
    try:
        done = subprocess.run(command, cwd=build, env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Failure('no end after %d s: %s' % (TIMEOUT_S, shlex.join(command)))
    except OSError as error:
        raise Failure('%s: %s' % (command[0], error.strerror))
    return done.returncode, done.stderr.decode('utf-8', 'replace').strip()


def in_family_order(directory, prefix):
    """The files of a process and its children: PREFIX or PREFIX.PID, parent first."""
    return by_process(path for path in directory.iterdir()
                      if re.fullmatch(re.escape(prefix) + r'(?:\.(\d+))?', path.name))


def normalise(text, stand_in):
    """The lines to compare: all but addresses, desc: and, for a stand-in, cmd:."""
    dropped = ('desc:', 'cmd:') if stand_in else ('desc:',)
    lines = [line for line in text.split('\n') if not line.startswith(dropped)]
    return [re.sub(r'0x[0-9A-F]+', '0x...', line) for line in lines]


class Oracle:
    def __init__(self, build, usable, compat, use_cache, more):
        self.build = build
        self.usable = usable
        self.compat = compat
        self.installed = installed_compat()
        self.more = more
        self.model = ['--usable=' + usable, '--compat=' + compat]
        self.cache = build / 'oracle-cache'
        self.cache.mkdir(exist_ok=True)
        self.use_cache = use_cache
        self.version = subprocess.run(['valgrind', '--version'], capture_output=True, check=True).stdout

    def key(self, case, argv, option_set):
        digest = hashlib.sha256(self.version)
        for part in (os.fspath(self.build), repr(argv), option_set):
            digest.update(part.encode() + b'\0')
        for name in (argv[0],) + case.libraries:
            digest.update((self.build / name).read_bytes())
        return digest.hexdigest()[:32]

    def massif(self, case, option_set, again=False):
        """Massif's files for one option set, parent first; `again` bypasses the cache."""
        argv = case.stand_in or case.argv
        kept = self.cache / self.key(case, argv, option_set)
        if not (kept.is_dir() and self.use_cache) or again:
            fresh = Path(tempfile.mkdtemp(dir=self.cache, prefix='new-'))
            status, said = run(['valgrind', '-q', '--tool=massif', '--time-unit=B', *shlex.split(option_set),
                                '--massif-out-file=%s/out.%%p' % fresh, *argv], self.build)
            if not in_family_order(fresh, 'out'):
                shutil.rmtree(fresh)
                raise Failure('valgrind wrote nothing (status %d): %s' % (status, said))
            if again:
                files = self.take(fresh)
                shutil.rmtree(fresh)
                return files
            shutil.rmtree(kept, ignore_errors=True)
            try:
                fresh.rename(kept)
            except OSError:  # another job has just made the same file
                shutil.rmtree(fresh)
        return self.take(kept)

    @staticmethod
    def take(directory):
        return [path.read_text('utf-8', 'surrogateescape') for path in in_family_order(directory, 'out')]

    def record(self, case, scratch):
        """The traces of one program, parent first."""
        status, said = run([str(self.build / 'trace-record/msrec'), '-q', '-f', '-o', str(scratch / 'trace'),
                            *case.argv], self.build)
        traces = in_family_order(scratch, 'trace')
        if not traces:
            raise Failure('msrec wrote nothing (status %d): %s' % (status, said))
        return traces

    def replay(self, trace, option_set, scratch):
        out = scratch / 'replayed'
        out.unlink(missing_ok=True)
        status, said = run([str(self.build / 'analyze/msreplay'), '--time-unit=B', *self.model,
                            *shlex.split(option_set), '--massif-out-file=%s' % out, str(trace)], self.build)
        if not out.exists():
            raise Failure('msreplay wrote nothing (status %d): %s' % (status, said))
        return out.read_text('utf-8', 'surrogateescape')

    def expected_difference(self, case, option_set):
        """(kind, reason) of a listed exception that applies to this run, or None."""
        entry = case.exception(option_set)
        if not entry:
            return None
        applies = {'usable': self.usable != 'valgrind', 'repair': self.compat == 'fixed',
                   'repaired': (self.compat == '3.19') != (self.installed == '3.19')}
        return entry if applies.get(entry[0], True) else None


def own_names(lines):
    """Functions without namespaces and arguments: of inlined ones, only --compat=fixed shows these."""
    return [re.sub(r'^( *n\d+: \d+ 0x\.\.\.: )(.*)( \([^()]*\))$',
                   lambda found: found[1] + identifier(found[2]) + found[3], line) for line in lines]


def difference(case, theirs, ours, compat):
    """The differing lines of two families of files, or nothing."""
    if len(theirs) != len(ours):
        return ['massif wrote %d files, we %d' % (len(theirs), len(ours))]
    lines = []
    for their, our in zip(theirs, ours):
        pair = [normalise(text, case.stand_in) for text in (their, our)]
        lines += difflib.unified_diff(*(map(own_names, pair) if compat == 'fixed' else pair),
                                      'massif', 'msreplay', lineterm='', n=1)
    return lines


def within(kind, lines):
    """Is a difference of the listed kind? A missing file never is."""
    changed = [line for line in lines if line[:1] in '+-' and line[:3] not in ('+++', '---')]
    if kind == 'tree':
        return bool(changed) and all(re.match(r'[+-] *n\d+: ', line) for line in changed)
    return bool(changed)


def judge(name, lines, exception):
    """(identical, as expected, text) of one comparison."""
    if exception and not lines:
        return True, False, 'STALE     %s: listed as different (%s), but equal' % (name, exception[1])
    if exception and within(exception[0], lines):
        return False, True, None
    if not lines:
        return True, True, None
    shown = lines[:DIFF_LINES]
    if len(lines) > DIFF_LINES:
        shown = shown + ['... %d more' % (len(lines) - DIFF_LINES)]
    return False, False, '\n  '.join(['DIFFERENT %s' % name] + shown)


def compare_case(oracle, case, twice):
    """All option sets of one case: a list of (identical, as expected, listed, text)."""
    results = []
    with tempfile.TemporaryDirectory(prefix='massif-oracle-') as directory:
        scratch = Path(directory)
        traces = failure = None
        try:
            traces = None if twice else oracle.record(case, scratch)
        except Failure as error:
            failure = error
        for option_set in case.options + (corpus.MORE if oracle.more else ()):
            name = '%s [%s]' % (case.name, option_set)
            exception = None if twice else oracle.expected_difference(case, option_set)
            try:
                if failure:
                    raise failure
                theirs = oracle.massif(case, option_set)
                ours = (oracle.massif(case, option_set, again=True) if twice else
                        [oracle.replay(trace, option_set, scratch) for trace in traces])
                same, expected, text = judge(name, difference(case, theirs, ours, oracle.compat), exception)
            except Failure as error:
                same, expected, text = False, False, 'FAILED    %s: %s' % (name, error)
            results.append((same, expected, bool(exception) and expected, text))
    return results


def count_events(case, build, scratch):
    """(allocations, resizes, frees) of a program as the preloaded counter sees them."""
    out = scratch / 'count'
    environment = dict(ENVIRONMENT, COUNT_OUT=str(out),
                       LD_PRELOAD=str(build / 'corpus/libpreload_count.so'))
    run(list(case.argv), build, environment)
    if not out.exists():
        raise Failure('the counter wrote nothing')
    count = {key: int(value) for key, value in (pair.split('=') for pair in out.read_text().split())}
    resizes = count['realloc'] - count['realloc_null'] - count['realloc_zero']
    blocks = count['malloc'] + count['calloc'] + count['aligned'] + count['realloc_null']
    # A failed resize of a live block is a resize in the answers, a failure in the counter.
    failed = count['failed'] - count['realloc_failed']
    return blocks - failed, resizes, count['free'] + count['realloc_zero']


def check_answers(build, chosen):
    """Compare each program, run as it is, with its known answer."""
    wrong = checked = 0
    for case in chosen:
        answer = corpus.ANSWERS.get(case.name)
        if answer is None:
            continue
        with tempfile.TemporaryDirectory(prefix='massif-oracle-') as directory:
            try:
                counted = count_events(case, build, Path(directory))
            except Failure as error:
                counted = str(error)
        checked += 1
        if counted != answer:
            wrong += 1
            print('WRONG     %s: counted %s, known %s' % (case.name, counted, answer))
    print('answers %d/%d' % (checked - wrong, checked))
    return 1 if wrong or not checked else 0


def main():
    options = arguments(
        __doc__, "--jobs", ("--long", {"help": "with more sets of options for each case"}),
        ("--case", {"action": "append", "default": [], "metavar": "REGEX",
                    "help": "only cases whose name matches from its start (repeatable)"}),
        ("--usable", {"choices": ("rounded", "valgrind"), "default": "valgrind",
                      "help": "passed to msreplay (valgrind)"}),
        ("--compat", {"choices": ("3.19", "3.24", "3.27", "fixed"),
                      "help": "passed to msreplay (the installed Massif's version)"}),
        ("--no-cache", {"action": "store_true", "help": "run valgrind even if its answer is kept"}),
        ("--twice", {"action": "store_true",
                     "help": "compare Massif with a second run of itself: is each case deterministic?"}),
        ("--answers", {"action": "store_true",
                       "help": "only run the programs natively and count their events (no valgrind, no msrec)"}),
        ("--list", {"action": "store_true", "help": "name the cases and stop"}))
    chosen = [case for case in corpus.CASES
              if not options.case or any(re.match(pattern, case.name) for pattern in options.case)]
    if options.list:
        print('\n'.join('%s (%d option sets)' % (case.name, len(case.options)) for case in chosen))
        return 0
    if not chosen:
        print('massif_oracle: no such case', file=sys.stderr)
        return 2
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if options.answers:
        return check_answers(options.build, chosen)
    need_valgrind()
    oracle = Oracle(options.build, options.usable, options.compat or installed_compat(), not options.no_cache,
                    options.long)
    tally, listed, bad = Tally(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for results in pool.map(lambda case: compare_case(oracle, case, options.twice), chosen):
            for same, expected, excused, text in results:
                tally(same, text)
                listed += excused
                bad += not expected
    tally.status(' (%d listed exceptions)' % listed)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
