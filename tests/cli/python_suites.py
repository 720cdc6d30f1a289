# SPDX-License-Identifier: MIT
"""Suites of the interpreter's own tests, with events at allocations chosen at random, wherever they come from. Writes
to LOG what tracemalloc noted at each: "frame NUMBER FILE:LINE", "stack NUMBER FRAME...", "event NUMBER STACK".

  python_suites.py LOG COUNT SEED EVENTS.so [SUITE...]
"""

import ctypes
import gc
import importlib
import io
import os
import random
import sys
import time
import tracemalloc
import unittest

LOG, COUNT, SEED, EVENTS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
CHOSEN = sys.argv[5:]
DOMAIN = 35     # as in python_events.c
DEEPEST = 65535

# Of test.*: what needs no network, no display and few child processes.
SUITES = """abc argparse ast asyncgen asyncio.test_locks asyncio.test_queues asyncio.test_tasks
asyncio.test_taskgroups asyncio.test_timeouts augassign base64 bdb binascii binop bisect bool bufio builtin bytes bz2
call class cmath code codeccallbacks codecs codeop collections compare compile complex configparser contains
contextlib contextlib_async copy copyreg coroutines csv ctypes.test_callbacks ctypes.test_structures
ctypes.test_bitfields dataclasses datetime decorators defaultdict deque descr descrtut dict dictcomps dictviews
difflib dis doctest dynamic dynamicclassattribute email.test_email email.test_message email.test_headerregistry
email.test__header_value_parser enum enumerate except_star exception_group exception_variations extcall fileinput
fnmatch format fractions frame fstring funcattrs functools generators generator_stop genericalias genericpath genexps
getopt gettext grammar graphlib gzip hash heapq hmac html htmlparser http_cookies importlib.test_lazy
importlib.import_.test_path inspect ipaddress isinstance iter iterlen itertools json keyword keywordonlyarg linecache
list listcomps long mailbox mailcap memoryio memoryview metaclass minidom module modulefinder named_expressions netrc
opcodes operator optparse ordered_dict pathlib patma pep646_syntax pickle pickletools pkgutil plistlib
positional_only_arg pprint property pulldom pyexpat queue raise range re reprlib richcmp sax sched scope set setcomps
shelve shlex slice smtplib sqlite3.test_dbapi sqlite3.test_factory sqlite3.test_hooks sqlite3.test_regression
sqlite3.test_types sqlite3.test_userfunctions sqlite3.test_transactions statistics str string strptime struct
subclassinit super symtable sys_setprofile sys_settrace tempfile textwrap threading_local thread timeit tokenize
tomllib traceback tuple typechecks types typing unittest.testmock unpack unpack_ex urlparse userdict userlist
userstring utf8source uuid weakset with wsgiref xml_etree xml_etree_c xmlrpc yield_from zipapp zipimport zlib""".split()


def loaded(name):
    """The suite of that name, or None: versions differ in what they have."""
    folder, _, last = name.rpartition(".")
    last = last if last.startswith("test") else "test_" + last
    path = ".".join(["test", *(f"test_{part}" for part in folder.split(".") if part), last])
    try:
        return unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(path))
    except (ImportError, unittest.SkipTest):
        return None


def cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def write(traces):
    frames, stacks, chosen = {}, {}, 0
    with open(LOG, "w", encoding="utf-8", errors="surrogatepass") as log:
        print("process", os.getpid(), file=log)
        for domain, number, places, *_ in traces:
            if domain != DOMAIN:
                continue
            chosen += 1
            for place in places:
                if place not in frames:
                    frames[place] = len(frames)
                    print("frame", frames[place], f"{place[0]}:{place[1]}", file=log)
            if places not in stacks:
                stacks[places] = len(stacks)
                print("stack", stacks[places], *(frames[place] for place in places), file=log)
            print("event", number, stacks[places], file=log)
    print(f"{chosen} events, {len(stacks)} stacks, {len(frames)} lines", flush=True)


def main():
    events, chance = ctypes.PyDLL(EVENTS), random.Random(SEED)
    events.python_events_prepare()
    tracemalloc.start(DEEPEST)
    events.python_events_begin()
    wanted, begun = COUNT, time.monotonic()
    suites = CHOSEN or SUITES
    while wanted > 0:
        names = chance.sample(suites, len(suites))
        before = wanted
        for place, name in enumerate(names):
            most = wanted // (len(names) - place)
            had = events.python_events(most, chance.randrange(1, 40), chance.randrange(1 << 30))
            suite = loaded(name)
            if suite:
                result = unittest.TestResult()
                result.stream = io.StringIO()
                for test in cases(suite):
                    if events.python_events_left():
                        test.run(result)
            made = events.python_events(0, 1, 0) - had
            wanted -= made
            print(f"{name} {made} {time.monotonic() - begun:.0f} s", file=sys.__stderr__, flush=True)
        if wanted == before:
            break
    events.python_events_end()
    gc.disable()
    write(tracemalloc._get_traces())    # pylint: disable=protected-access


main()
sys.stdout.flush()
