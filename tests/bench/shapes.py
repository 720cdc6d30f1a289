#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The worst shapes for recording: many stacks, compilers, programs whose heap grows, and many threads; paired runs.

  shapes.py --build DIR [--old DIR] [--runs N] [--quick] [--floor] [NAME...]

Each round runs a shape natively, under the msrec of DIR, and under that of --old. Prints a Markdown table: multiples
of native wall time and of native CPU time of all processes, nanoseconds of CPU a call more, and bytes a call;
medians, CPU with its quartiles. A second table has msreplay's speed on the traces with --time-unit=B, the growing
heaps' worst unit; names come from the cache. With --floor a third one says what recording_floor.c takes for the
traces: nanoseconds of CPU a call more in the program and beside it, medians, with the least of both together; and
what 1.25 and 1.5 times native CPU time leave. Of threads a table says how many times the native CPU time
threads_floor.c takes, whose parts are in its head.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../tools'))
import machine                                            # noqa: E402
from bench import Recorder, compile_loop, compiler, run, spread     # noqa: E402
from harness import Build, Scratch, arguments, have       # noqa: E402
from measure import in_turns                              # noqa: E402
from workloads import Workload, write                     # noqa: E402

TEMPLATES = """#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct node { std::variant<int, std::string, std::unique_ptr<node<N - 1>>> value; };
template <> struct node<0> { std::variant<int, std::string> value; };
template <int N, typename... T> struct pile : pile<N - 1, T..., std::tuple<T..., node<N % 5>>> {};
template <typename... T> struct pile<0, T...> { std::map<std::string, std::tuple<std::vector<T>...>> all; };
"""
TEMPLATE = """struct key{0} {{ int a; std::string b; bool operator<(const key{0} &o) const {{ return b < o.b; }} }};
int use{0}(const std::vector<key{0}> &keys)
{{
    std::map<key{0}, std::vector<std::function<int(int)>>> m;
    std::unordered_map<std::string, std::unique_ptr<key{0}>> u;
    pile<{1}> p;
    for (auto &k : keys) {{ m[k].push_back([k](int n) {{ return n + k.a; }}); u.emplace(k.b, new key{0}(k)); }}
    int n = (int)p.all.size() + (int)u.size();
    for (auto &e : m) for (auto &f : e.second) n = f(n);
    return n;
}}
"""


def templates(folder, scale, compiler):
    text = TEMPLATES + "".join(TEMPLATE.format(i, i % 3 + 1) for i in range(2 * scale))
    path, preprocessed = write(os.path.join(folder, 'x.cc'), text), os.path.join(folder, 'x.ii')
    subprocess.run([compiler, '-std=c++17', '-E', path, '-o', preprocessed], check=True)
    return preprocessed


def many_stacks(folder, scale):
    return Workload('many stacks', [compile_loop('many_stacks', folder), str(40000 * scale)])


def cc1plus(folder, scale):
    program = subprocess.run(['g++', '-print-prog-name=cc1plus'], capture_output=True, text=True).stdout.strip()
    return Workload('cc1plus -O1', [program, '-quiet', '-std=c++17', '-O1', templates(folder, scale, 'g++'), '-o',
                                    '/dev/null'], by_address=True)


def clang(folder, scale):
    """The compiler itself, not the driver that starts it."""
    source = templates(folder, scale, 'clang++')
    shown = subprocess.run(['clang++', '-###', '-std=c++17', '-O1', '-w', '-c', source, '-o', '/dev/null'],
                           capture_output=True, text=True, check=True).stderr.splitlines()
    words = [word.strip('"') for word in next(line for line in shown if '"-cc1"' in line).split()]
    return Workload('clang -cc1 -O1', words, by_address=True)


def xmllint(folder, scale):
    items = "".join(f'<item id="{i}" kind="k{i % 17}"><name>name {i}</name><v a="{i % 7}">{i * i}</v></item>\n'
                    for i in range(30000 * scale))
    return Workload('xmllint --noout', ['xmllint', '--huge', '--noout',
                                        write(os.path.join(folder, 'in.xml'), f"<list>{items}</list>\n")])


def python(folder, scale):
    rows = ",".join(f'{{"id":{i},"name":"n{i * 7919 % 100003}","tags":{list(range(i % 5))},"v":{i / 3:.3f}}}'
                    for i in range(30000 * scale))
    data = write(os.path.join(folder, 'in.json'), f"[{rows}]")
    script = write(os.path.join(folder, 'load.py'),
                   f"import json\nwith open({data!r}) as f:\n    kept = json.load(f)\nprint(len(kept))\n")
    return Workload('python3, json', ['/usr/bin/python3', '-S', script],
                    env={'PYTHONMALLOC': 'malloc', 'PYTHONHASHSEED': '0', 'PYTHONDONTWRITEBYTECODE': '1'})


def sqlite(folder, scale):
    rows = "".join(f"insert into t values({i}, 'name {i * 7919 % 10007}', {i / 3:.3f});\n"
                   for i in range(20000 * scale))
    script = write(os.path.join(folder, 'load.sql'), "create table t(a integer primary key, b text, c real);\n"
                   f"create index tb on t(b);\nbegin;\n{rows}commit;\nselect count(*), sum(c) from t;\n")
    return Workload('sqlite3, load', ['sqlite3', ':memory:'], stdin=script)


def perl(folder, scale):
    script = write(os.path.join(folder, 'hash.pl'), f"""my %h;
for my $i (1 .. {40000 * scale}) {{ $h{{"key$i"}}{{"n" . $i % 11}} = [$i, "v$i"]; }}
my $n = 0;
for my $k (keys %h) {{ $n += scalar(keys %{{$h{{$k}}}}); delete $h{{$k}} if $n % 3 == 0; }}
print "$n ", scalar(keys %h), "\\n";
""")
    return Workload('perl, hashes', ['perl', script], env={'PERL_HASH_SEED': '0', 'PERL_PERTURB_KEYS': '0'})


def threads(busy, idle):
    """The idle ones come first: there may be so many that no ring is left for those that work."""
    def maker(folder, scale):
        name = f'{busy} threads at work' + (f', {idle:,} more' if idle else '')
        return Workload(name, [compile_loop('words', folder), str(busy), str(100000 * scale), str(idle)])
    return maker


MAKERS = {'many-stacks': (many_stacks, 'cc'), 'cc1plus': (cc1plus, 'g++'), 'clang': (clang, 'clang++'),
          'xmllint': (xmllint, 'xmllint'), 'python3': (python, '/usr/bin/python3'), 'sqlite3': (sqlite, 'sqlite3'),
          'perl': (perl, 'perl'), 'threads-8': (threads(8, 0), 'cc'), 'threads-1000': (threads(8, 992), 'cc'),
          'threads-1100': (threads(8, 1092), 'cc')}


def make(folder, scale, names):
    for name, (maker, program) in MAKERS.items():
        if (not names or name in names) and have(program):
            own = os.path.join(folder, name)
            os.mkdir(own)
            yield maker(own, scale)


def measure(builds, workload, runs, folder):
    """Rows of samples: native, then one for each build. One round comes before, and is not counted."""
    recorders = [Recorder('native', lambda _, argv: argv)]
    recorders += [Recorder('msrec', lambda f, argv, build=build: [build.msrec, '-q', '-f', '-o', f'{f}/t'] + argv, 't')
                  for build in builds]
    rows = [[run(r, workload, os.path.join(folder, 'work')) for r in recorders] for _ in range(runs + 1)]
    if any(sample is None for row in rows for sample in row):
        sys.exit(f'{workload.name}: a run failed')
    return rows[1:]


def recording_row(names, workload, rows, calls):
    cells = [workload.name, f'{calls:,}', '%.2f' % statistics.median(native.wall for native, *_ in rows)]
    for i in range(1, len(names) + 1):
        cells += ['%.2f' % statistics.median(row[i].wall / row[0].wall for row in rows),
                  spread([row[i].cpu / row[0].cpu for row in rows]),
                  '%.0f' % statistics.median((row[i].cpu - row[0].cpu) / calls * 1e9 for row in rows),
                  '%.2f' % (rows[-1][i].bytes / calls)]
    return '| ' + ' | '.join(cells) + ' |'


def count_calls(build, trace, native):
    """As the program says, if it does: those of threads without a ring are not in the trace."""
    said = re.search(rb'calls=(\d+)', native.out)
    return int(said.group(1)) if said else build.stat(trace)['events']


def replay_row(builds, workload, trace, runs, calls):
    options = ['-q', '--time-unit=B', '--massif-out-file=/dev/null']
    commands = [[build.file('analyze/msreplay'), *options, trace] for build in builds]
    rows = in_turns(commands, runs, env={**os.environ, 'MSREC_CACHE': trace + '.names'})
    cells = ['%.1f' % statistics.median(calls / row[i] / 1e6 for row in rows) for i in range(len(builds))]
    return f'| {workload.name} | ' + ' | '.join(cells) + ' |'


def floor_ns(floor, part, trace):
    done = subprocess.run([floor, part, trace], check=True, capture_output=True, text=True)
    return float(re.search(r'ns=([0-9.]+)', done.stdout).group(1))


def floor_row(build, workload, trace, rows, calls):
    """What a recorder must do at least, of each run's native CPU time; as many runs as rows, in turns."""
    floor = build.file('tests/bench/recording_floor')
    parts = [[floor_ns(floor, part, trace) for part in ('native', 'program', 'whole')] for _ in rows]
    native = statistics.median(row[0].cpu for row in rows) / calls * 1e9
    cells = [statistics.median(program - none for none, program, _ in parts),
             statistics.median(whole - program for _, program, whole in parts),
             statistics.median(whole - none for none, _, whole in parts)]
    least = min(whole - none for none, _, whole in parts)
    return (f'| {workload.name} | ' + ' | '.join('%.0f' % cell for cell in cells) +
            f' ({least:.0f}) | {native / 4:.0f} | {native / 2:.0f} |')


FLOORS = ('rings', 'stamps', 'blocks')


def compile_threads_floor(folder):
    library = os.path.join(folder, 'threads_floor.so')
    subprocess.run([*compiler(), '-shared', '-fPIC', '-O2', '-D_GNU_SOURCE', '-pthread', '-fno-builtin', '-o', library,
                    os.path.join(HERE, 'threads_floor.c')], check=True)
    return library


def threads_floor_row(library, workload, runs):
    rows = in_turns([workload.argv] + [['env', f'THREADS_FLOOR={floor}', f'LD_PRELOAD={library}', *workload.argv]
                                       for floor in FLOORS], runs)
    cells = [spread([row[i] / row[0] for row in rows]) for i in range(1, len(FLOORS) + 1)]
    return f'| {workload.name} | ' + ' | '.join(cells) + ' |'


def main():
    options = arguments(__doc__, ('--runs', {'default': 5}), ('--old', {'default': None, 'metavar': 'DIR'}),
                        ('--quick', {'action': 'store_true', 'default': False}),
                        ('--floor', {'action': 'store_true', 'default': False}),
                        ('names', {'nargs': '*', 'metavar': 'NAME', 'help': 'only these shapes'}))
    os.environ['MSREC_CACHE'] = ''
    builds = ([Build(options.old)] if options.old else []) + [options.build]
    names = (['old'] if options.old else []) + ['msrec']
    runs, scale = (1, 1) if options.quick else (options.runs, 10)
    if not options.quick:
        machine.touch_memory()
    columns = ''.join(f' {n}: wall | CPU | ns a call | bytes a call |' for n in names)
    print(f'| shape | calls | native, s |{columns}\n|---|--:|--:|' + '--:|' * (4 * len(names)))
    replays, floors, threads_floors = [], [], []
    with Scratch() as folder:
        for workload in make(folder, scale, options.names):
            rows = measure(builds, workload, runs, folder)
            trace = shutil.move(os.path.join(folder, 'work', 't'), os.path.join(folder, workload.name))
            calls = count_calls(options.build, trace, rows[-1][0])
            print(recording_row(names, workload, rows, calls), flush=True)
            replays.append(replay_row(builds, workload, trace, runs, calls))
            if options.floor and ' threads ' in workload.name:
                threads_floors.append(threads_floor_row(compile_threads_floor(folder), workload, runs))
            elif options.floor:
                floors.append(floor_row(options.build, workload, trace, rows, calls))
    print('\n| --time-unit=B, M calls a second of CPU time |' + ''.join(f' {n} |' for n in names) + '\n|---|' +
          '--:|' * len(names) + '\n' + '\n'.join(replays))
    if floors:
        print('\n| the floor, ns a call | program | msrec | together | 1.25 × native leaves | 1.5 × |\n|---|' +
              '--:|' * 5 + '\n' + '\n'.join(floors))
    if threads_floors:
        print(f'\n| the floor, multiples of native CPU time | {" | ".join(FLOORS)} |\n|---|' + '--:|' * len(FLOORS) +
              '\n' + '\n'.join(threads_floors))


if __name__ == '__main__':
    main()
