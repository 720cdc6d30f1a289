#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare how msreplay and real Massif take option values: the same ones are accepted, and refusals
have the same text and exit status (Massif's `valgrind: ` or `==PID== ` is our `msreplay: `).

  options_oracle.py --build DIR

DIR is a Meson build directory. Exit status: 0 all identical, 1 not, 77 Valgrind is not installed.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools'))
from harness import Scratch, Tally, arguments, need    # noqa: E402

INTEGERS = ('', '0', '1', '5', '9', '10', '16', '17', '24', '200', '201', '1000', '1001', '1024', '1025', '4096',
            '8192', '1000000', '1000001', '-', '+', '+16', '-1', '-16', '-0', ' 16', '\t16', '\n16', '\v16',
            '16 ', '  ', '- 5', '0x10', '1e2', '1.0', 'x', '16x', '2147483648', '-2147483648', '-2147483649',
            '4294967297', '4294967312', '9223372036854775808', '18446744073709551617',
            '18446744073709551632', '18446744073709551646', '99999999999999999999999')
FLOATS = ('', '.', '-', '+', ' ', '5', '+5', ' 5', '\t5', '5 ', '1.', '.5', '-.', '-0', '-1', '100', '100.0000',
          '100.0001', '200', '1e1', '1.5.5', '--5', '- 3', '0x1', 'nan', 'inf', 'x', '99999999999999999999')
BOOLEANS = ('yes', 'no', '', 'YES', '1', 'maybe')

VALUES = {
    'heap': BOOLEANS,
    'show-below-main': BOOLEANS,
    'trace-malloc': ('no', '', 'x'),
    'xtree-compress-strings': BOOLEANS,
    'heap-admin': INTEGERS,
    'depth': INTEGERS,
    'detailed-freq': INTEGERS,
    'max-snapshots': INTEGERS,
    'alignment': INTEGERS,
    'threshold': FLOATS,
    'peak-inaccuracy': FLOATS,
    'time-unit': ('ms', 'B', '', 'I', 's', 'b', 'ms '),
    'xtree-memory': ('none', 'allocs', 'full', '', 'foo', 'None', 'full '),
    'alloc-fn': ('', 'a b'),
    'ignore-fn': ('', 'f'),
    'massif-out-file': ('', '%', '%x', 'a%', '%n%', '%q', '%q{', '%q{A', '%q{}', '%q{MSREC_NO_SUCH}', '%%',
                        '%p', '%n', '%q{HOME}x'),
}


def run(command, directory):
    env = {'PATH': os.environ['PATH'], 'HOME': directory + '/', 'LC_ALL': 'C'}
    done = subprocess.run(command, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=60)
    return done.returncode, done.stderr.decode(errors='replace')


def massif(program, option, directory):
    status, text = run(['valgrind', '-q', '--tool=massif', '--massif-out-file=out', option, program], directory)
    return status, re.sub(r'(?m)^(valgrind:|==\d+==) ', '', text)


def ours(msreplay, trace, option, directory):
    status, text = run([msreplay, '-q', '--compat=3.19', '--massif-out-file=out', option, trace], directory)
    return status, re.sub(r'(?m)^msreplay: ', '', text)


def main():
    build, tally = arguments(__doc__).build, Tally()
    need('valgrind')
    # Without a library, whose debug information would be read each time.
    program = os.path.join(build, 'tests/tools/stack_walk')
    with Scratch() as scratch:
        trace = os.path.join(scratch, 'trace')
        subprocess.run([os.path.join(build, 'tests/tools/cli_trace'), trace], check=True)
        for name, values in VALUES.items():
            for value in values:
                option = '--%s=%s' % (name, value)
                want = massif(program, option, scratch)
                got = ours(os.path.join(build, 'analyze', 'msreplay'), trace, option, scratch)
                tally(want == got, want != got and '%r\n  massif    %r\n  msreplay  %r' % (option, want, got))
    return tally.status()


if __name__ == '__main__':
    sys.exit(main())
