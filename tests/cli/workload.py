# SPDX-License-Identifier: MIT
"""Reads a workload of trace_run by the table in docs/internals/whatif.md, and runs its threads as trace_run does."""

DONE, MALLOC, CALLOC, REALLOC, FREE, SET, WAIT, POINTERS, SYNCS, THREADS, START, MEMALIGN = range(1, 13)
NUMBERS = {DONE: 0, MALLOC: 2, CALLOC: 2, REALLOC: 3, FREE: 1, SET: 1, WAIT: 1, POINTERS: 1, SYNCS: 1, THREADS: 1,
           START: 1, MEMALIGN: 3}
NAMES = {MALLOC: "malloc", CALLOC: "calloc", REALLOC: "realloc", FREE: "free", MEMALIGN: "memalign"}


def operations(data, at):
    """(code, numbers) up to DONE, and where it ends."""
    while True:
        code, numbers = data[at], []
        at += 1
        for _ in range(NUMBERS[code]):
            n = 0
            while True:
                byte = data[at]
                at += 1
                n = n << 7 | byte & 0x7f
                if byte < 0x80:
                    break
            numbers.append(n)
        yield code, numbers, at
        if code == DONE:
            return


def calls(data):
    """(thread, function, size, block, block before); threads and blocks are numbers in the order in which they come."""
    header = list(operations(data, 0))
    [pointers] = [numbers[0] for code, numbers, _ in header if code == POINTERS]
    [syncs] = [numbers[0] for code, numbers, _ in header if code == SYNCS]
    starts = [numbers[0] for code, numbers, _ in header if code == START]
    assert [numbers for code, numbers, _ in header if code == THREADS] == [[len(starts)]]
    streams = [list(operations(data, start)) for start in starts]
    # The streams lie one behind the other, and fill the file.
    assert starts == [header[-1][2]] + [stream[-1][2] for stream in streams[:-1]] and streams[-1][-1][2] == len(data)
    live, is_set, at, known, n_blocks = {}, set(), [0] * len(streams), {}, 0

    def can_go_on(thread):
        code, numbers, _ = streams[thread][at[thread]]
        return code != DONE and (code != WAIT or numbers[0] in is_set)
    thread = None
    while True:
        if thread is None or not can_go_on(thread):
            ready = [t for t in range(len(streams)) if can_go_on(t)]
            assert len(ready) <= 1, ready
            if not ready:
                break
            thread = ready[0]
        code, numbers, _ = streams[thread][at[thread]]
        at[thread] += 1
        if code in (SET, WAIT):
            assert 0 < numbers[0] < syncs
            is_set |= {numbers[0]} if code == SET else set()
            continue
        pointer, size = numbers[0], numbers[-1] if code != FREE else None
        assert 0 < pointer < pointers and (pointer in live) == (code == FREE) or code == REALLOC, (code, numbers)
        assert code != REALLOC or numbers[1] == pointer
        before = live.pop(pointer, None)
        if code != FREE:
            live[pointer] = n_blocks
            n_blocks += 1
        yield known.setdefault(thread, len(known)), NAMES[code], size, live.get(pointer), before
    assert all(stream[i][0] == DONE for stream, i in zip(streams, at))
