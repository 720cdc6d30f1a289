# SPDX-License-Identifier: MIT
"""A program whose stacks are known: at each of COUNT events it allocates a block of a size of its own, and notes what
the interpreter says of its stack. At the end it writes to LOG: a line with size and number of the stack for each event,
and a line for each stack.

  python_program.py LOG COUNT SEED
"""

import asyncio
import contextlib
import ctypes
import functools
import gc
import json
import os
import random
import re
import sys
import threading

LOG, COUNT, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
LEAST = 1 << 20
THREADS = 4

# Without the interpreter's lock: other threads run Python code at the event.
libc = ctypes.CDLL(None)
# With it.
held = ctypes.PyDLL(None)
for library in libc, held:
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
libc.qsort.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, CALLBACK]

stacks, events, lock = {}, [], threading.Lock()


class State(threading.local):
    chance, made = None, 0


state = State()


def note():
    """Notes the caller's stack; returns a size for it."""
    frame, words = sys._getframe(1), []
    while frame:
        code = frame.f_code
        words.append(f"{code.co_qualname} {code.co_filename}:{frame.f_lineno or 0}")
        frame = frame.f_back
    text = "\t".join(words)
    with lock:
        size = LEAST + 2 * len(events) + 1
        events.append(stacks.setdefault(text, len(stacks)))
    return size


def probe():
    state.made += 1
    if state.chance.random() < 0.5:
        libc.free(libc.malloc(note()))
    else:
        held.free(held.malloc(note()))


# ---- ways to get deeper ----

def plain(n):
    go(n)


def recursive(n, more=3):
    if more:
        return recursive(n, more - 1)
    return go(n)


def deep(n):
    return recursive(n, state.chance.randrange(100))


def generated(n):
    def numbers():
        yield 1
        go(n)
        yield 2
    return sum(numbers())


def delegated(n):
    def inner():
        go(n)
        yield 1

    def outer():
        yield from inner()
    for _ in outer():
        go(n - 1)


def sorted_by(n):
    left = [n]

    def key(x):
        if left:
            go(left.pop())
        return -x
    return sorted([3, 1, 2], key=key)


def compared(n):
    left = [n]

    def compare(a, b):
        if left:
            go(left.pop())
        return a - b
    return sorted([3, 1], key=functools.cmp_to_key(compare))


def substituted(n):
    return re.sub("x", lambda match: go(n) or "y", "axb")


def mapped(n):
    return list(map(lambda _: go(n), [0]))


def comprehended(n):
    return [go(m) for m in [n]], {m: go(m) for m in [n - 1]}


def executed(n):
    source = "\n" * state.chance.randrange(50) + "def made():\n\n    go(n)\nmade()"
    name = f"<made {state.chance.randrange(100)} \u00e9\u4e2d>"
    exec(compile(source, name, "exec"), {"go": go, "n": n})


def evaluated(n):
    return eval(f"(lambda: go({n}))()", {"go": go})


def raised(n):
    try:
        try:
            raise ValueError(n)
        except ValueError:
            go(n)
            raise KeyError from None
        finally:
            go(n - 1)
    except KeyError:
        return


def managed(n):
    @contextlib.contextmanager
    def context():
        go(n)
        yield
        go(n - 1)
    with context():
        go(n - 2)


class Thing:
    def __init__(self, n):
        go(n)

    def __getattr__(self, name):
        go(0)
        return name

    def __del__(self):
        probe()

    def __repr__(self):
        go(0)
        return "thing"

    def __eq__(self, other):
        go(1)
        return True

    @property
    def at(self):
        return go(1)

    __hash__ = None


def object_made(n):
    thing = Thing(n)
    assert thing.missing
    repr([thing])
    assert [thing] == [Thing(0)]
    return thing.at


def class_made(n):
    class Made:
        go(n)
        value = [go(n - 1) for _ in range(1)]
    return Made


def collected(n):
    ring = [Thing(n - 1)]
    ring.append(ring)
    del ring
    gc.collect(0)


def called_back(n):
    left, array = [n], (ctypes.c_int * 2)(2, 1)

    @CALLBACK
    def compare(_a, _b):
        if left:
            go(left.pop())
        return 0
    libc.qsort(array, 2, 4, compare)


def awaited(n):
    async def inner():
        go(n)

    async def outer():
        await inner()
    try:
        outer().send(None)
    except StopIteration:
        return


class Pause:
    def __await__(self):
        yield


def thrown(n):
    """Through two coroutines that wait, which C code goes through, too."""
    async def inner():
        try:
            await Pause()
        except KeyError:
            go(n)
        finally:
            go(n - 1)

    async def middle():
        await inner()

    async def outer():
        await middle()
    coroutine = outer()
    coroutine.send(None)
    try:
        coroutine.throw(KeyError())
    except StopIteration:
        return


def closed(n):
    def inner():
        try:
            yield
        finally:
            go(n)

    def outer():
        yield from inner()
    generator = outer()
    next(generator)
    generator.close()


def traced(n):
    def trace(_frame, event, _arg):
        if event == "call" and state.chance.random() < 0.1:
            sys.settrace(None)
            probe()
            sys.settrace(trace)
    sys.settrace(trace)
    try:
        plain(n - 1)
    finally:
        sys.settrace(None)


def encoded(n):
    return json.dumps([object()], default=lambda _: go(n))


def partial(n):
    return functools.partial(go, n)()


def with_cells(n, *rest, key=None, **more):
    x = n

    def inside(y=state):
        nonlocal x
        x -= 1
        return go(x) if y else None
    return inside(), rest, key, more


def many_arguments(n):
    return with_cells(n, 1, 2, key=3, **{"a": 4})


WAYS = [plain, recursive, deep, generated, delegated, sorted_by, compared, substituted, mapped, comprehended,
        executed, evaluated, raised, managed, object_made, class_made, collected, called_back, awaited, thrown,
        closed, traced, encoded, partial, many_arguments]


def go(n):
    if n <= 0 or state.made >= COUNT // (THREADS + 1):
        probe()
    else:
        state.chance.choice(WAYS)(n - 1)


def run(seed):
    state.chance = random.Random(seed)
    while state.made < COUNT // (THREADS + 1):
        go(state.chance.randrange(1, 8))


async def several(seed):
    async def one(number):
        state.chance = random.Random(number)
        for _ in range(3):
            go(2)
            await asyncio.sleep(0)
    await asyncio.gather(*[one(seed + i) for i in range(3)])


def forked(seed):
    """A child notes other sizes than its parent, whose events its trace begins with, in a log of its own."""
    global LOG, LEAST
    pid = os.fork()
    if pid == 0:
        LOG += ".child"
        LEAST += 4 * COUNT
        state.made = 0
        events.clear()
        run(seed)
        finish()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def finish():
    with open(LOG, "w", encoding="utf-8") as f:
        f.write("".join(f"event {LEAST + 2 * i + 1} {stack}\n" for i, stack in enumerate(events)))
        f.write("".join(f"stack {i} {text}\n" for text, i in stacks.items()))


def main():
    threads = [threading.Thread(target=run, args=(SEED + 1 + i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    run(SEED)
    for thread in threads:
        thread.join()
    asyncio.run(several(SEED))
    forked(SEED + 100)
    finish()


main()
