#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What names cost: replay with names against heaptrack's interpretation of the same run, names in a
trace, and the names of a million frames.

  names.py --build DIR [--runs N] COMMAND...

Each COMMAND is one word for the shell. CPU seconds are medians; both tools end with names, files and lines of what they
write. Prints Markdown tables.
"""

import glob
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, arguments    # noqa: E402
from measure import cpu_seconds    # noqa: E402

INTERPRET = '/usr/lib/heaptrack/libexec/heaptrack_interpret'


def seconds(command, runs=1):
    """The median of some runs in a shell, as text; "fails" if it does."""
    try:
        spent = [cpu_seconds(['bash', '-c', 'set -o pipefail; ' + command]) for _ in range(runs)]
        return f'{statistics.median(spent):.2f} s'
    except subprocess.CalledProcessError:
        return 'fails'


def measure(build, command, runs, scratch):
    """A row of the first table."""
    plain, named, raw = (os.path.join(scratch, name) for name in ('plain.zst', 'named.zst', 'heaptrack'))
    msrec = os.path.join(build, 'trace-record/msrec')
    replay = os.path.join(build, 'analyze/msreplay') + ' -q --time-unit=B --massif-out-file=/dev/null '
    subprocess.run(f'{msrec} -q -f -o {plain} {command}', shell=True, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(f'{msrec} -q -f --embed-symbols -o {named} {command}', shell=True, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(f'heaptrack -r -o {raw} {command}', shell=True, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    found, = glob.glob(raw + '.raw.*')
    unpack = 'zstd -dc' if found.endswith('.zst') else 'gzip -dc'
    row = [seconds(replay + plain, runs), seconds(replay + named, runs),
           seconds(f'{unpack} {found} | {INTERPRET}', runs)]
    os.unlink(found)
    return row + [os.path.getsize(plain), os.path.getsize(named)]


def million(build, path):
    """Seconds and MiB for the names of a million addresses of a file."""
    section = re.search(r'\] \.text +PROGBITS +(\w+) \w+ (\w+)',
                        subprocess.run(['readelf', '-SW', path], check=True, capture_output=True, text=True).stdout)
    start, size = (int(value, 16) for value in section.groups())
    addresses = ''.join('%x\n' % (start + i * size // 1000000) for i in range(1000000)).encode()
    tool = subprocess.Popen([os.path.join(build, 'tests/tools/frame_names'), path], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL)
    tool.stdin.write(addresses)
    tool.stdin.close()
    _, status, usage = os.wait4(tool.pid, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    options = arguments(__doc__, ('--runs', {'default': 3}),
                        ('--of', {'default': '/usr/bin/python3.11', 'help': 'the file of the million frames'}),
                        ('commands', {'nargs': '+', 'metavar': 'COMMAND'}))
    os.environ["MSREC_CACHE"] = ""
    print('| run | msreplay, names from files | from the trace | heaptrack_interpret | trace, bytes | with names |\n'
          '|---|--:|--:|--:|--:|--:|')
    for command in options.commands:
        with Scratch() as scratch:
            replay, named, theirs, small, large = measure(options.build, command, options.runs, scratch)
        name = os.path.basename(command.split()[0])
        print(f'| {name} | {replay} | {named} | {theirs} | {small} | {large} |')
    spent, mib = million(options.build, options.of)
    print(f'\nA million addresses of {options.of}: {spent:.1f} s, {mib:.0f} MiB at most.')


if __name__ == '__main__':
    main()
