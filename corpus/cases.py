# SPDX-License-Identifier: MIT
"""The corpus as data: which program to run with which arguments, under which sets of Massif options.

CASES is a list of Case. Paths in `argv` are relative to the build directory, which is the working
directory of every run. Each option set is one string, split at blanks (shlex); the runner adds
--time-unit=B and the output file to all of them.

`exceptions` maps an option set, or '*' for all of them, to (kind, reason). A listed difference must
really occur: the runner reports a stale entry otherwise. Kinds:

  usable   the difference lies in how much a block really takes. It is expected under
           --usable=rounded (a block takes its largest requested size rounded up to --alignment),
           and must be gone under --usable=valgrind.
  repair   Massif is wrong there. It is expected under --compat=fixed, and must be gone under
           other values.
  repaired the same, but Massif 3.24 is right.
  tree     only lines of trees may differ, whatever the model; times and totals are equal.
  always   the difference is expected whatever the model.
"""

from dataclasses import dataclass, field

PLAIN = (
    '',
    '--threshold=0 --detailed-freq=1',
    '--max-snapshots=10 --detailed-freq=3 --peak-inaccuracy=0',
    '--heap-admin=0 --depth=3 --threshold=0.5 --detailed-freq=2',
    '--heap-admin=64 --max-snapshots=20 --peak-inaccuracy=10 --depth=1 --detailed-freq=4',
    '--show-below-main=yes --depth=2 --detailed-freq=2 --threshold=5',
)

# Programs whose stacks are the interesting part: every snapshot with its tree, nothing aggregated.
STACKS = (
    '--threshold=0 --detailed-freq=1',
    '--threshold=0 --detailed-freq=1 --depth=1 --heap-admin=0',
    '--threshold=0 --detailed-freq=1 --depth=4',
    '--threshold=0 --detailed-freq=2 --show-below-main=yes --depth=3',
    '--threshold=10 --detailed-freq=3 --max-snapshots=12',
    '--peak-inaccuracy=0 --heap-admin=1024 --threshold=2.675 --depth=200',
)

CUSTOM = STACKS + (
    '--heap-admin=0 --threshold=0 --detailed-freq=1 --alloc-fn=pool_take',
    '--threshold=0 --detailed-freq=1 --alloc-fn=pool_take --alloc-fn=deep --depth=35 --ignore-fn=pool_note',
    '--max-snapshots=10 --detailed-freq=3 --peak-inaccuracy=0',
)

# More for every case, in the long comparison.
MORE = (
    '--threshold=0 --detailed-freq=1 --max-snapshots=50 --alignment=32 --depth=1',
    '--heap-admin=0 --alignment=128 --depth=2 --detailed-freq=5',
    '--peak-inaccuracy=3.3 --threshold=0.3 --max-snapshots=33 --depth=2',
    '--alignment=4096 --heap-admin=100 --detailed-freq=2 --depth=1',
    '--heap-admin=0 --max-snapshots=17 --depth=1',
    '--ignore-fn=main --detailed-freq=2 --depth=2',
    '--alloc-fn=main --detailed-freq=1 --depth=2',
)

# Those of STACKS that reach the outer end of an ordinary stack.
WHOLE_STACKS = (STACKS[0], STACKS[4], STACKS[5])

MEMALIGN = ('usable', 'memalign leaves the bytes behind the block to it')
WHOLE_PAGES = ('usable', 'a block above 4194240 bytes takes whole pages')
REMAINDER = ('usable', 'a free block only 16 bytes larger is handed out whole')
ALIGNMENT = ('usable', '--alignment above 16 makes every request a memalign')
STACK_CHANGE = ('tree', "Massif's unwinder stops one frame after the change to another stack")
GARBAGE = ('tree', "Massif's unwinder makes up a frame beyond the outermost one")
NEW_FAILS = ('always', "the C++ library's failing nothrow new throws and catches, Massif's just fails")
UNLOADED = ('tree', 'Massif looks names up when it ends: an unloaded library has none any more')
CLONE3 = ('tree', 'Valgrind knows no clone3, so libc starts its threads by clone there')
IGNORED_REALLOC = ('repair', 'Massif forgets or invents bytes when a realloc leaves or enters an ignored function')
ALL_ALLOC_FNS = ('repair', 'Massif counts nothing whose captured stack is all allocation functions')
INLINED = ('repaired', 'Massif 3.19 knows no functions but physical ones when it looks for those to strip or ignore')
FAILED_REALLOC = ('repair', 'Massif forgets the block of a realloc that failed')
INTERVAL_32_BIT = ('repair', "Massif keeps the low 32 bits of the least interval between snapshots")
WIDE_DELTA = ('repair', 'Massif keeps a change of extra bytes in 32 bits')
FAILED_ALIGNED = ('always',
                  "what a failed request for an aligned block leaves behind in Valgrind's heap isn't modelled")
# Alignments above 4096 are in no case: what --usable=valgrind makes of them depends on where Valgrind's heap begins,
# behind the libraries and ld.so.cache, which differs by machine. usable_oracle.py compares them from its real page.
TAKEN_FOR_OTHER = ('always', "what a free that took a custom block for the allocator's own gives back isn't recorded")
BYPASS = ('always', 'an exit around libc lets no code of the process clean up')

CUSTOM_DEEP = {CUSTOM[len(STACKS) + 1]: ALL_ALLOC_FNS}
CUSTOM_ALIGNED = dict.fromkeys((MORE[0], MORE[1], MORE[3]), TAKEN_FOR_OTHER)


@dataclass(frozen=True)
class Case:
    name: str
    argv: tuple
    # plain: one process. fork: the children's files are compared too. killed: valgrind runs
    # `stand_in` instead, a program that does the same but lets Massif write its file.
    kind: str = 'plain'
    options: tuple = PLAIN
    exceptions: dict = field(default_factory=dict)
    libraries: tuple = ()
    stand_in: tuple = ()

    def exception(self, option_set):
        return self.exceptions.get(option_set, self.exceptions.get('*'))


def case(name, *arguments, program=None, **rest):
    argv = ('corpus/' + (program or name.split(':')[0]),) + arguments
    return Case(name=name, argv=argv, **rest)



def named(option, *names):
    return ' '.join("'--%s=%s'" % (option, n) for n in names)


CHAIN = named('alloc-fn', 'a4', 'b4', 'b3', 'c4', 'c3', 'c2', 'd4', 'd3', 'd2', 'd1')
QUIET = named('ignore-fn', 'quiet_malloc', 'quiet_realloc')


def inner(first):
    """The functions of deep.c from `first` inward."""
    return named('alloc-fn', *('a%d' % i for i in range(first, 13)))


CASES = [
    # The shapes of the reference implementation's own regression tests.
    case('null'),
    case('one', options=(
        '--heap-admin=0', '', '--threshold=0 --detailed-freq=1', '--detailed-freq=1 --threshold=100',
        '--heap-admin=0 --detailed-freq=1 --alignment=16',
        '--detailed-freq=2 --show-below-main=yes --depth=3')),
    case('zero', options=(
        '--heap-admin=0', '--heap-admin=0 --detailed-freq=1',
        '--heap-admin=0 --threshold=0 --detailed-freq=1') + PLAIN[:3]),
    case('basic', options=PLAIN + (
        '--detailed-freq=1 --max-snapshots=10', '--heap=no', '--heap=no --detailed-freq=1',
        '--heap-admin=1024 --max-snapshots=11 --detailed-freq=7',
        '--alignment=64 --detailed-freq=5'),
        exceptions={'--alignment=64 --detailed-freq=5': ALIGNMENT}),
    case('alloc_fns', options=(
        '--heap-admin=0', '--heap-admin=0 ' + CHAIN, CHAIN + ' --detailed-freq=1 --threshold=0',
        CHAIN + ' --detailed-freq=3 --depth=1',
        '--detailed-freq=2 --threshold=0 ' + named('alloc-fn', 'main', 'd4', 'd3', 'd2', 'd1'),
        '--detailed-freq=2 --threshold=15 ' + named('ignore-fn', 'b4', 'c3'))),
    case('big_alloc', exceptions={'*': WHOLE_PAGES}),
    case('big_alloc:fits', '4194240'),
    case('culling:even', 'even', options=(
        '--heap-admin=16', '--heap-admin=16 --max-snapshots=10', '--heap-admin=0 --max-snapshots=51',
        '--max-snapshots=199', '--max-snapshots=200 --detailed-freq=1', '--max-snapshots=1000')),
    case('culling:growing', 'growing', options=(
        '', '--max-snapshots=10', '--heap-admin=0 --max-snapshots=51', '--max-snapshots=199',
        '--max-snapshots=200 --detailed-freq=199', '--max-snapshots=25 --detailed-freq=2')),
    case('deep', options=(
        '--depth=8', '--depth=8 ' + inner(6), '--depth=8 ' + inner(3),
        '--depth=20 ' + inner(1) + " '--alloc-fn=main'", '--depth=1 --detailed-freq=1',
        '--depth=3 --show-below-main=yes --detailed-freq=5 ' + inner(2))),
    case('ignored', options=(
        '--heap-admin=0 ' + QUIET, QUIET + ' --detailed-freq=1 --threshold=0',
        QUIET + ' --peak-inaccuracy=0 --detailed-freq=3',
        '--heap-admin=0 --detailed-freq=2 ' + named('ignore-fn', 'loud_malloc', 'quiet_realloc'),
        '--detailed-freq=2 ' + named('alloc-fn', 'loud_malloc', 'loud_realloc') + ' ' + QUIET,
        '--detailed-freq=1 --threshold=3'),
        exceptions=dict.fromkeys((
            '--heap-admin=0 ' + QUIET, QUIET + ' --detailed-freq=1 --threshold=0',
            QUIET + ' --peak-inaccuracy=0 --detailed-freq=3',
            '--heap-admin=0 --detailed-freq=2 ' + named('ignore-fn', 'loud_malloc', 'quiet_realloc'),
            '--detailed-freq=2 ' + named('alloc-fn', 'loud_malloc', 'loud_realloc') + ' ' + QUIET),
            IGNORED_REALLOC)),
    case('ignoring', options=PLAIN[:5] + ('--max-snapshots=11 --peak-inaccuracy=50',)),
    case('insig', options=(
        '--heap-admin=128 --threshold=0.99', '--heap-admin=128 --threshold=0.99 --detailed-freq=1',
        '--heap-admin=0 --threshold=1.43 --detailed-freq=4', '--threshold=0.125 --detailed-freq=2',
        '--threshold=100 --detailed-freq=2', '--threshold=2.675 --detailed-freq=2')),
    case('long_names', options=(
        '--heap-admin=0 --detailed-freq=3', '--detailed-freq=1 --depth=2', '--threshold=0',
        '--depth=1 --detailed-freq=2', '--threshold=20 --detailed-freq=2', '--depth=200')),
    case('long_time', options=(
        '--heap-admin=0', '', '--max-snapshots=10', '--max-snapshots=1000 --detailed-freq=500',
        '--peak-inaccuracy=0 --detailed-freq=7', '--max-snapshots=20 --detailed-freq=1')),
    case('long_time:interval', '400', '1073741760', options=(
        '--max-snapshots=10', '--max-snapshots=20 --heap-admin=0', '--max-snapshots=11 --detailed-freq=3',
        '--max-snapshots=50 --peak-inaccuracy=0', '', '--max-snapshots=13 --detailed-freq=1'),
        exceptions=dict.fromkeys((
            '--max-snapshots=10', '--max-snapshots=20 --heap-admin=0', '--max-snapshots=11 --detailed-freq=3',
            '--max-snapshots=50 --peak-inaccuracy=0', '--max-snapshots=13 --detailed-freq=1'),
            INTERVAL_32_BIT)),
    case('huge', exceptions={'*': WIDE_DELTA}),
    case('usable'),
    case('new_basic', options=STACKS),
    case('new_basic:fail', 'fail', options=STACKS, exceptions={'*': NEW_FAILS}),
    case('overloaded_new', options=STACKS),
    case('peak', options=(
        '--peak-inaccuracy=0 --heap-admin=128', '--peak-inaccuracy=10 --heap-admin=128',
        '--peak-inaccuracy=10', '--peak-inaccuracy=0 --max-snapshots=10', '--peak-inaccuracy=100',
        '--peak-inaccuracy=0.5 --max-snapshots=30 --detailed-freq=1')),
    case('realloc', options=(
        '--heap-admin=0 --threshold=0', '--threshold=0 --detailed-freq=1',
        '--peak-inaccuracy=0 --detailed-freq=2', "--detailed-freq=1 '--alloc-fn=grow'",
        "--detailed-freq=1 '--ignore-fn=grow'", '--max-snapshots=10 --detailed-freq=1'),
        exceptions={"--detailed-freq=1 '--ignore-fn=grow'": IGNORED_REALLOC}),
    case('realloc_cycle'),
    case('thresholds', options=tuple(
        '--heap-admin=0 --detailed-freq=1 --threshold=%s' % t for t in ('0', '5', '10', '1.5', '20', '76'))),

    # Ways into the allocator, one by one.
    case('entry:malloc-zero', 'malloc-zero'),
    case('entry:free-null', 'free-null'),
    case('entry:calloc', 'calloc', options=STACKS),
    case('entry:calloc-overflow', 'calloc-overflow'),
    case('entry:malloc-huge', 'malloc-huge'),
    case('entry:realloc-null', 'realloc-null', options=STACKS),
    case('entry:realloc-fail', 'realloc-fail', exceptions={
        '*': FAILED_REALLOC, MORE[0]: FAILED_ALIGNED, MORE[1]: FAILED_ALIGNED, MORE[3]: FAILED_ALIGNED}),
    case('entry:realloc-in-place', 'realloc-in-place'),
    case('entry:memalign', 'memalign', options=STACKS, exceptions={'*': MEMALIGN}),
    case('entry:memalign-small', 'memalign-small', options=STACKS),
    case('entry:posix-memalign', 'posix-memalign', options=STACKS, exceptions={'*': MEMALIGN}),
    case('entry:aligned-alloc', 'aligned-alloc', options=STACKS, exceptions={'*': MEMALIGN}),
    case('entry:valloc', 'valloc', options=STACKS, exceptions={'*': MEMALIGN}),
    case('entry:reallocarray', 'reallocarray', options=STACKS),
    case('entry:libc', 'libc', options=STACKS),
    case('entry:malloc-control', 'malloc-control'),
    case('entry:churn', 'churn', options=PLAIN + ('--alignment=32 --detailed-freq=3',),
         exceptions={'--alignment=32 --detailed-freq=3': ALIGNMENT}),
    case('new_aligned', options=STACKS, exceptions={'*': MEMALIGN}),

    # Stacks that are hard to walk, to cut or to name.
    case('recurse:40', '40', options=STACKS),
    case('recurse:300', '300', options=STACKS + (
        '--depth=40 --detailed-freq=1 --alloc-fn=down',),
        exceptions={'--depth=40 --detailed-freq=1 --alloc-fn=down': ALL_ALLOC_FNS}),
    case('main_again', options=STACKS),
    case('longjmp', options=STACKS),
    case('signal', options=STACKS),
    case('signal:alt', 'alt', options=STACKS, exceptions=dict.fromkeys(WHOLE_STACKS, STACK_CHANGE)),
    case('coroutine', options=STACKS, exceptions=dict.fromkeys(WHOLE_STACKS, GARBAGE)),
    case('recurse:below', '40', program='recurse', options=STACKS[:1] + (
        '--threshold=0 --detailed-freq=1 --show-below-main=yes --depth=200',),
        exceptions={'--threshold=0 --detailed-freq=1 --show-below-main=yes --depth=200': GARBAGE}),
    case('frames_fast', options=STACKS),
    case('ctor', options=STACKS),
    case('inline', options=STACKS),
    case('inline_fast', options=STACKS[:5] + (
        '--detailed-freq=1 --ignore-fn=level1 --alloc-fn=real2',),
        exceptions={'--detailed-freq=1 --ignore-fn=level1 --alloc-fn=real2': INLINED}),
    case('inline_chain', options=STACKS + (
        "--detailed-freq=3 '--ignore-fn=forget(unsigned long)' --alloc-fn=forget",)),
    case('templates', options=STACKS),
    case('mangled', options=STACKS),
    case('exceptions', options=STACKS),
    # With arguments, what lies below the loader's entry is no longer taken for the end of the stack.
    case('exceptions:argument', 'unused', options=STACKS, exceptions=dict.fromkeys(WHOLE_STACKS, GARBAGE)),
    case('symbols_only', options=STACKS),
    case('stripped', options=STACKS),
    case('fixed', options=STACKS),

    # Custom blocks. The program with msrec's requests against the one with Valgrind's, and one with both.
    case('custom_alloc', options=CUSTOM, exceptions=CUSTOM_ALIGNED | CUSTOM_DEEP,
         stand_in=('corpus/custom_alloc_valgrind',)),
    case('custom_alloc_fast', options=CUSTOM, exceptions=CUSTOM_ALIGNED,
         stand_in=('corpus/custom_alloc_valgrind_fast',)),
    case('custom_alloc_both', options=CUSTOM, exceptions=CUSTOM_ALIGNED | CUSTOM_DEEP),
    case('custom_alloc_both_fast', options=CUSTOM, exceptions=CUSTOM_ALIGNED),
    case('custom_alloc:random', '1', '1000', options=PLAIN,
         stand_in=('corpus/custom_alloc_valgrind', '1', '1000')),
    case('custom_alloc_both_fast:random', '2', '3000', options=PLAIN),

    # Life and death of processes, threads and libraries.
    case('threads', options=STACKS, exceptions=dict.fromkeys(WHOLE_STACKS + (STACKS[2],), CLONE3)),
    case('fork', kind='fork', options=STACKS),
    case('dl', 'corpus/libdl_one.so', 'corpus/libdl_two.so', options=STACKS, exceptions={'*': UNLOADED},
         libraries=('corpus/libdl_one.so', 'corpus/libdl_two.so')),
    case('stdio', options=STACKS),
    case('exit:return', 'return'),
    case('exit:exit', 'exit'),
    case('exit:_exit', '_exit'),
    case('exit:quick_exit', 'quick_exit'),
    case('exit:syscall', 'syscall', exceptions={'*': BYPASS}),
    case('exit:abort', 'abort'),
    case('exit:segv', 'segv'),
    case('exit:sigterm', 'sigterm'),
    case('exit:pthread_exit', 'pthread_exit'),
    case('exit:sigkill', 'sigkill', kind='killed', stand_in=('corpus/exit', 'sigterm')),

    # Random operations.
    case('script:1', '1', '500'),
    case('script:2', '2', '3000'),
    case('script:3', '3', '10000', 'even'),
    case('script:4', '4', '1000', 'any', exceptions={'*': REMAINDER}),
    case('script:6', '6', '20000', 'any', exceptions={'*': REMAINDER}),
    case('script:7', '7', '20000', 'aligned', exceptions={'*': MEMALIGN}),
    case('script:8', '8', '1000000', 'any', exceptions={'*': REMAINDER}),
    case('script:5', '5', '1000', 'aligned', exceptions={'*': MEMALIGN}),
]

# The known answers: what each program itself asks for until its end, counted by hand or by preload_count
# and agreed with Massif's own counters: successful allocations, resizes of a live block whether they
# succeed or not, frees. (realloc of NULL is an allocation, realloc to zero a free. What libc and
# libstdc++ free when a tool asks them to clean up at exit is not in it. Programs that end without
# running destructors have no entry.)
ANSWERS = {
    'null': (0, 0, 0),
    'one': (1, 0, 0),
    'zero': (10, 0, 10),
    'basic': (36, 0, 35),
    'alloc_fns': (9, 0, 0),
    'big_alloc': (10, 0, 0),
    'big_alloc:fits': (10, 0, 0),
    'culling:even': (200, 0, 0),
    'culling:growing': (200, 0, 0),
    'deep': (10, 0, 0),
    'ignored': (11, 8, 11),
    'ignoring': (351, 0, 351),
    'insig': (23, 0, 0),
    'long_names': (10, 0, 0),
    'long_time': (1500, 0, 1500),
    'long_time:interval': (400, 0, 400),
    'huge': (2, 2, 2),
    'mangled': (12, 0, 0),
    'usable': (18, 0, 18),
    'new_basic': (15, 0, 13),
    'new_basic:fail': (17, 0, 15),
    'overloaded_new': (13, 0, 7),
    'peak': (40, 0, 20),
    'realloc': (3, 12, 3),
    'realloc_cycle': (1, 40, 1),
    'thresholds': (12, 0, 1),
    'entry:malloc-zero': (5, 0, 2),
    'entry:free-null': (2, 0, 1),
    'entry:calloc': (5, 0, 2),
    'entry:calloc-overflow': (2, 0, 1),
    'entry:malloc-huge': (2, 0, 1),
    'entry:realloc-null': (5, 0, 2),
    'entry:realloc-fail': (3, 1, 2),
    'entry:realloc-in-place': (3, 3, 1),
    'entry:memalign': (9, 0, 2),
    'entry:memalign-small': (4, 0, 1),
    'entry:posix-memalign': (4, 0, 2),
    'entry:aligned-alloc': (4, 0, 2),
    'entry:valloc': (4, 0, 2),
    'entry:reallocarray': (3, 2, 2),
    'entry:libc': (9, 0, 7),
    'entry:malloc-control': (6, 0, 1),
    'entry:churn': (102, 0, 101),
    'new_aligned': (7, 0, 5),
    'recurse:40': (5, 0, 0),
    'recurse:300': (31, 0, 0),
    'main_again': (4, 0, 0),
    'longjmp': (40, 0, 0),
    'signal': (10, 0, 0),
    'signal:alt': (10, 0, 0),
    'coroutine': (20, 0, 0),
    'recurse:below': (5, 0, 0),
    'frames_fast': (120, 0, 0),
    'ctor': (4, 0, 2),
    'inline': (56, 0, 0),
    'inline_fast': (56, 0, 0),
    'inline_chain': (148, 0, 145),
    'templates': (50, 0, 0),
    'custom_alloc': (6, 0, 5),
    'custom_alloc_fast': (6, 0, 5),
    'custom_alloc_both': (6, 0, 5),
    'custom_alloc_both_fast': (6, 0, 5),
    'custom_alloc:random': (8, 0, 8),
    'custom_alloc_both_fast:random': (8, 0, 8),
    'exceptions': (77, 0, 32),
    'exceptions:argument': (77, 0, 32),
    'symbols_only': (4, 0, 0),
    'stripped': (4, 0, 0),
    'fixed': (4, 0, 0),
    'threads': (49, 0, 44),
    'fork': (4, 0, 1),
    'dl': (30, 0, 28),
    'stdio': (12, 1, 9),
    'exit:return': (5, 0, 1),
    'exit:exit': (5, 0, 1),
    'exit:_exit': (5, 0, 1),
    'script:1': (190, 160, 150),
    'script:2': (1027, 987, 986),
    'script:3': (3412, 3218, 3370),
    'script:4': (354, 335, 311),
    'script:5': (343, 358, 299),
}
