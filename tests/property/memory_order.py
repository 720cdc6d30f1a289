#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The orderings that docs/internals/ordering.md argues with, on a machine that orders no more than it must.

Each case is a short program of two or three threads: the recorder's and msrec's accesses in their order, each with the
memory order that the source has for it, which is looked up there. The outcome that must not be is looked for among all
executions (weak_machine.py). Then each order that the case names is weakened, or a step is left out, and the outcome
must be found: an order that nothing needs, or a case that cannot fail, is an error.

  memory_order.py [--source DIR] [--only WORD] [-v]

Exit status: 0 all as it must be, 1 not.
"""

import argparse
import os
import re
import sys

from weak_machine import Clock, Fence, Load, Machine, Membarrier, ORDERS, Require, Store, Update, Wait

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")

# Name → file, the atomic function without its order, its first argument, and the function that calls it if the file has
# several. Of all such calls the weakest order counts. A fence has no argument.
SOURCES = {
    "head=": ("trace-record/preload/ring.h", "store", "&r->ring->head"),
    "head": ("trace-record/consumer.h", "load", "&consumer->ring->head"),
    "head at the end": ("trace-record/consumer.c", "load", "&consumer->ring->head"),
    "tail=": ("trace-record/consumer.c", "store", "&ring->tail"),
    "tail": ("trace-record/preload/ring.c", "load", "&ring->tail"),
    "tail again": ("trace-record/shared/doorbell.h", "load", "&shared->tail"),
    "space": ("trace-record/preload/ring.c", "load", "&ring->space"),
    "space+": ("trace-record/consumer.c", "fetch_add", "&ring->space"),
    "waiting=": ("trace-record/shared/doorbell.h", "store", "&shared->waiting"),
    "waiting": ("trace-record/consumer.c", "load", "&ring->waiting"),
    "doorbell+": ("trace-record/shared/doorbell.h", "fetch_add", "&family->doorbell"),
    "asleep": ("trace-record/shared/doorbell.h", "load", "&family->asleep"),
    "asleep=": ("trace-record/collector.c", "store", "&shm->asleep"),
    "null_frees=": ("trace-record/preload/recorder.c", "store", "n"),
    "null_frees": ("trace-record/consumer.h", "load", "&consumer->ring->null_frees"),
    "owner": ("trace-record/shared/shm.h", "load", "shm_owner_word(mutex)"),
    "state claimed": ("trace-record/preload/thread_begin.c", "compare_exchange_strong", "&ring->state"),
    "state used=": ("trace-record/preload/thread_begin.c", "store", "&ring->state"),
    "state to open": ("trace-record/tracee.c", "load", "&ring->state"),
    "state to free": ("trace-record/tracee.c", "load", "&consumer->ring->state"),
    "state free=": ("trace-record/tracee.c", "store", "&consumer->ring->state"),
    "segment live=": ("trace-record/preload/process_begin.c", "store", "&p->family->states[p->segment_number]"),
    "segment live": ("trace-record/processes.c", "load", "&ps->session->family.shm->states[i]"),
    "many_rings=": ("trace-record/preload/thread_begin.c", "store", "&p->many_rings"),
    "forking=": ("trace-record/preload/fork_barrier.c", "compare_exchange_strong", "&the_process.forks.forking"),
    "forking": ("trace-record/preload/fork_barrier.h", "load", "&the_process.forks.forking"),
    "epoch": ("trace-record/preload/ring.h", "load", "&the_process.family->epoch"),
    "epoch+": ("trace-record/timed_marks.c", "fetch_add", "&family->epoch"),
    "phase=": ("trace-record/timed_marks.c", "store", "phase"),
    "phase": ("trace-record/preload/process_state.h", "load",
              "atomic_load_explicit(&process_phase, memory_order_relaxed)"),
    "modules=": ("trace-record/preload/modules.c", "store", "&table->count"),
    "modules": ("trace-record/frames.c", "load", "&modules->count"),
    "closed=": ("trace-record/preload/modules.c", "store", "&module->closed"),
    "closed": ("trace-record/frames.c", "load", "&m->closed"),
    "taken": ("trace-record/preload/modules.c", "load", "&table->taken"),
    "taken=": ("trace-record/recording.c", "store", "&shm_modules(tracee_segment(r->tracee))->taken"),
    "objects=": ("trace-record/preload/modules.c", "store", "&object_count"),
    "life": ("trace-record/preload/modules.c", "load", "&object->life", "life_of"),
    "life again": ("trace-record/preload/modules.c", "thread_fence", "", "still_lives"),
    "life ends": ("trace-record/preload/modules.c", "compare_exchange_strong", "&objects[i].life"),
    "before a life": ("trace-record/preload/modules.c", "thread_fence", "", "fill_object"),
    "life=": ("trace-record/preload/modules.c", "store", "&object->life"),
    "range=": ("trace-record/shared/os.c", "store", "&own_ranges[i].end"),
    "range": ("trace-record/shared/os.c", "load", "&own_ranges[i].end"),
    "thread=": ("trace-record/preload/thread_begin.c", "store", "&p->threads[ring_id]"),
    "request asked": ("trace-record/preload/entries.c", "compare_exchange_strong", "&request->state"),
    "request answered": ("trace-record/plan_requests.c", "compare_exchange_strong", "&request->state"),
    "answer": ("trace-record/preload/entries.c", "load", "&request->state"),
    "skip=": ("trace-record/preload/skips.c", "store", "&skip->state"),
    "skip": ("trace-record/unrecorded.c", "load", "&skip->state"),
    "skip free=": ("trace-record/unrecorded.c", "store", "&skip->state"),
    "skip claimed": ("trace-record/preload/skips.c", "compare_exchange_strong", "&skip->state"),
    "lock": ("trace-record/shared/os.c", "exchange", "lock"),
    "unlock": ("trace-record/shared/os.c", "store", "lock"),
}


def call_at(text, at):
    """The text from `at` to the end of the parentheses that open there."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return text[at + 1:i]
    raise ValueError("unbalanced")


def arguments_of(call):
    parts, depth = [""], 0
    for character in call:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts]


def body_of(text, function):
    found = re.search(rf"^[^\n;]*\b{function}\([^;]*?\)\n{{.*?^}}", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise LookupError(f"no {function}() any more")
    return found.group(0)


def order_in(text, function, target):
    """The weakest order of the calls of that function with that first argument; of several named, that of success."""
    found = []
    for match in re.finditer(rf"\batomic_{function}(_weak|_strong)?(_explicit)?\(", text):
        given = arguments_of(call_at(text, match.end() - 1))
        if function == "thread_fence":
            found.append(given[0])
        elif given[0] == target:
            if not match.group(2):
                found.append("memory_order_seq_cst")
            else:
                found.append(given[3] if function.startswith("compare_exchange") else given[-1])
    if not found:
        raise LookupError(f"no atomic_{function}({target}) any more")
    return min((order.removeprefix("memory_order_") for order in found), key=ORDERS.index)


def orders_of(source):
    orders = {}
    for name, (path, function, target, *caller) in SOURCES.items():
        with open(os.path.join(source, path), encoding="utf-8") as file:
            text = file.read()
        try:
            orders[name] = order_in(body_of(text, caller[0]) if caller else text, function, target)
        except LookupError as error:
            sys.exit(f"{path}: {error}")
    return orders


# What others promise: the allocator's locks, and system calls that go through a full barrier in the kernel.
OTHERS = {"others' lock": "acquire", "others' unlock": "release", "kernel": "seq_cst"}

CASES = []


class Case:
    """A function of the orders that gives the threads; an outcome that must not be; what makes it possible."""

    def __init__(self, threads, forbidden, weaker, without, **machine):
        self.name, self.claim = threads.__name__.replace("_", " "), " ".join(threads.__doc__.split())
        self.threads, self.forbidden = threads, forbidden
        self.weaker, self.without, self.machine = weaker, without, machine

    def happens(self, orders, without=None):
        programs = [[step for step in program if step is not None] for program in self.threads(orders, without)]
        return True in Machine(programs, **self.machine).outcomes(lambda values: bool(self.forbidden(values)))


def case(forbidden, weaker=(), without=(), ticks=0, window=None, memory=None):
    """`weaker`: names of orders, each of which becomes relaxed, or {name: order, …}. `without`: what is left out."""
    def add(threads):
        CASES.append(Case(threads, forbidden, weaker, without, ticks=ticks, window=window, memory=memory))
        return threads
    return add


def fence(order):
    return None if order == "relaxed" else Fence(order)


def is_one(value):
    return value == 1


def is_zero(value):
    return value == 0


def plus_one(old):
    return old + 1


def zero_to_one(old):
    return 1 if old == 0 else None


# ---- rings ----

@case(lambda v: v["head"] == 1 and v["record"] == 0, weaker=["head=", "head"])
def a_record_is_whole(o, _):
    """No record is read before it is whole."""
    return ([Store("words", 1, "relaxed"), Store("ring head", 1, o["head="])],
            [Load("head", "ring head", o["head"]), Load("record", "words", "relaxed")])


@case(lambda v: v["record"] == 2, weaker=["tail="])
def a_record_is_read_before_it_is_overwritten(o, _):
    """The tail goes back with release, so the room behind it is really free."""
    return ([Load("record", "words", "relaxed"), Store("ring tail", 1, o["tail="])],
            [Load("tail", "ring tail", o["tail"]), Require("tail", is_one), Store("words", 2, "relaxed")])


@case(lambda v: v["tail"] == 0 and v["waiting"] == 0,
      weaker=[{"waiting=": "release"}, "tail again", {"tail=": "release"}, "waiting"])
def a_waiting_producer_is_woken(o, _):
    """Either the producer sees the new tail before it sleeps, or the consumer sees that it waits."""
    return ([Store("ring waiting", 1, o["waiting="]), Load("tail", "ring tail", o["tail again"])],
            [Store("ring tail", 1, o["tail="]), Load("waiting", "ring waiting", o["waiting"])])


@case(lambda v: v["space"] == 1 and v["tail"] == 0, weaker=["space"])
def the_futex_word_is_read_before_the_tail(o, _):
    """A producer that has read the new value of `space` sees the new tail, and does not sleep on that value."""
    return ([Load("space", "ring space", o["space"]), Load("tail", "ring tail", o["tail again"])],
            [Store("ring tail", 1, o["tail="]), Load("waiting", "ring waiting", o["waiting"]),
             Update("old", "ring space", plus_one, o["space+"])])


@case(lambda v: v["asleep"] == 0 and v["rung"] == 0, weaker=["asleep", {"doorbell+": "acquire"}, "kernel"])
def the_doorbell_is_heard(o, _):
    """Either the producer sees that msrec sleeps, or msrec sees the bell in its futex call and does not sleep."""
    return ([Update("old", "doorbell", plus_one, o["doorbell+"]), Load("asleep", "msrec asleep", o["asleep"])],
            [Store("msrec asleep", 1, o["asleep="]), Fence(o["kernel"]), Load("rung", "doorbell", "relaxed")])


@case(lambda v: v["nulls"] == 1 and v["head"] == 0, weaker=["null_frees=", "null_frees"])
def null_frees_stay_behind_the_events_before_them(o, _):
    """Calls of free(NULL) that were counted were called before any event behind the head that is read afterwards."""
    return ([Store("ring head", 1, o["head="]), Store("ring nulls", 1, o["null_frees="])],
            [Load("nulls", "ring nulls", o["null_frees"]), Load("head", "ring head", o["head"])])


@case(lambda v: v["gone"] == 1 and v["head"] == 0, weaker=["owner", "kernel"])
def the_head_of_a_thread_that_is_gone_is_final(o, _):
    """The kernel marks the owner's mutex when the thread is dead; the head is read behind the mark."""
    return ([Store("ring head", 1, o["head="]), Fence(o["kernel"]), Store("owner gone", 1, "relaxed")],
            [Load("gone", "owner gone", o["owner"]), Load("head", "ring head", o["head"])])


@case(lambda v: v["old"] == 0 and v["tail"] == 0, weaker=["state free=", "state claimed"],
      memory={"ring state": 2})
def a_ring_goes_to_its_next_thread_as_it_was_left(o, _):
    """The next thread begins at the tail that msrec left."""
    return ([Store("ring tail", 1, "relaxed"), Store("ring state", 0, o["state free="])],
            [Update("old", "ring state", zero_to_one, o["state claimed"]), Require("old", is_zero),
             Load("tail", "ring tail", "relaxed")])



@case(lambda v: v["state"] == 1 and v["gone"] == 0, weaker=["state used=", "state to free"])
def a_ring_that_was_taken_over_is_not_freed(o, _):
    """A look that sees the ring in use sees its new owner, and does not take the ring for the former owner's."""
    return ([Store("owner lives", 1, "relaxed"), Store("ring state", 1, o["state used="])],
            [Load("state", "ring state", o["state to free"]), Load("gone", "owner lives", o["owner"])])


@case(lambda v: v["state"] == 1 and v["thread"] == 0, weaker=["state used=", "state to open"])
def a_ring_in_use_says_whose_it_is(o, _):
    """The ring's thread, its name and its beginning are there before the ring is in use."""
    return ([Store("ring tid", 1, "relaxed"), Store("ring state", 1, o["state used="])],
            [Load("state", "ring state", o["state to open"]), Load("thread", "ring tid", "relaxed")])


# ---- processes ----

@case(lambda v: v["live"] == 1 and v["process"] == 0, weaker=["segment live=", "segment live"])
def a_live_segment_is_complete(o, _):
    """msrec meets a process when all that its segment says is there."""
    return ([Store("segment pid", 1, "relaxed"), Store("segment state", 1, o["segment live="])],
            [Load("live", "segment state", o["segment live"]), Load("process", "segment pid", "relaxed")])


@case(lambda v: v["answer"] == 2 and v["plan"] == 0, weaker=["answer", "request answered"])
def a_plan_is_whole(o, _):
    """A program that was executed reads the answer to its request behind the request's state."""
    return ([Update("r", "request", zero_to_one, o["request asked"]), Require("r", is_zero),
             Load("answer", "request", o["answer"]), Load("plan", "request plan", "relaxed")],
            [Load("asked", "request", "seq_cst"), Require("asked", is_one), Store("request plan", 1, "relaxed"),
             Update("s", "request", lambda old: 2 if old == 1 else None, o["request answered"])])


@case(lambda v: v["ready"] == 2 and v["path"] == 0, weaker=["skip=", "skip"])
def a_reason_comes_with_its_path(o, _):
    """What was not recorded is read behind its state."""
    return ([Update("s", "skip state", zero_to_one, o["skip claimed"]), Require("s", is_zero),
             Store("skip path", 1, "relaxed"), Store("skip state", 2, o["skip="])],
            [Load("ready", "skip state", o["skip"]), Load("path", "skip path", "relaxed")])


@case(lambda v: v["path"] == 2, weaker=["skip free="], memory={"skip state": 2})
def a_path_is_read_before_its_place_is_free(o, _):
    """The next reason is not written over the one that msrec reads."""
    return ([Load("path", "skip path", "relaxed"), Store("skip state", 0, o["skip free="])],
            [Update("s", "skip state", zero_to_one, o["skip claimed"]), Require("s", is_zero),
             Store("skip path", 2, "relaxed")])



# ---- the order of events ----

@case(lambda v: v["got"] == 1 and v["later"] == 1 and v["earlier"] == 0,
      weaker=["others' unlock", {"others' lock": "relaxed", "head=": "relaxed"}, "head"])
def an_earlier_ring_that_is_looked_at_later_has_the_free(o, _):
    """msrec, which has seen a block's allocation in one ring, sees the free before it in the ring it looks at next."""
    return ([Store("head of first", 1, o["head="]), Store("allocator", 1, o["others' unlock"])],
            [Load("got", "allocator", o["others' lock"]), Store("head of second", 1, o["head="])],
            [Load("later", "head of second", o["head"]), Load("earlier", "head of first", o["head"])])


@case(lambda v: v["got"] == 1 and v["allocated"] <= v["freed"],
      without=["loads before the stamp", "the next tick"], ticks=3)
def a_block_that_changes_threads_has_stamps_in_order(o, without):
    """The stamp of the free is lower than that of the allocation that gets the block, also within a tick."""
    return ([Clock("freed", without != "loads before the stamp", without != "the next tick"),
             Store("head of first", 1, o["head="]), Store("allocator", 1, o["others' unlock"])],
            [Load("got", "allocator", o["others' lock"]),
             Clock("allocated", without != "loads before the stamp", without != "the next tick"),
             Store("head of second", 1, o["head="])])


def margin(v, ticks):
    return v["got"] == 1 and v["second"] == 1 and v["first"] == 0 and v["allocated"] <= v["until"] - ticks


@case(lambda v: margin(v, v["margin"]), without=["the margin", "loads before the stamp"], ticks=5, window=2)
def what_led_to_an_event_that_is_taken_was_seen(o, without):
    """msrec looks at the earlier ring first, and takes only events that are stamped a margin before the look began: it
    has seen the free that led to an event that it takes. Nothing stays pending for as long as the margin."""
    return ([Store("head of first", 1, o["head="]), Store("allocator", 1, o["others' unlock"])],
            [Load("got", "allocator", o["others' lock"]), Clock("allocated", without != "loads before the stamp", True),
             Store("head of second", 1, o["head="])],
            [Store("margin", 0 if without == "the margin" else 3, "relaxed"), Clock("until", False, False),
             Load("first", "head of first", o["head"]), Load("second", "head of second", o["head"])])


@case(lambda v: v["got"] == 1 and v["many"] == 0, weaker=["others' unlock", "others' lock"],
      without=["before its event"])
def a_second_ring_is_announced_before_its_first_event(o, without):
    """A thread that can see an effect of a new thread sees that there are several rings, and stamps."""
    announced = Store("many rings", 1, o["many_rings="])
    late = without == "before its event"
    return ([None if late else announced, Store("head of second", 1, o["head="]),
             Store("allocator", 1, o["others' unlock"]), announced if late else None],
            [Load("got", "allocator", o["others' lock"]), Load("many", "many rings", "seq_cst"),
             Store("head of first", 1, o["head="])])


@case(lambda v: v["phase"] == 1 and v["epoch"] == 0, weaker=["phase", "phase="])
def a_call_that_sees_recording_on_is_stamped_anew(o, _):
    """Marker, epoch, then the word: a call in the new phase takes a new stamp, behind the marker."""
    return ([Update("r", "family epoch", plus_one, o["epoch+"]), Store("segment phase", 1, o["phase="])],
            [Load("phase", "segment phase", o["phase"]), Load("epoch", "family epoch", o["epoch"])])


# ---- forks ----

@case(lambda v: v["forking"] == 0 and v["event"] > v["marker"], without=["membarrier"], ticks=3)
def a_thread_waits_with_an_event_behind_a_forks_marker(o, without):
    """membarrier() stands between closing the barrier and the marker: an event behind the marker sees the barrier."""
    return ([Clock("event", True, True), Store("ring head", 1, o["head="]),
             Load("forking", "forking id", o["forking"])],
            [Update("r", "forking id", zero_to_one, o["forking="]), Require("r", is_zero),
             None if without == "membarrier" else Membarrier(), Clock("marker", True, True)])


@case(lambda v: v["forking"] == 0 and v["event"] > v["marker"], without=["the wait", "the fence before it"], ticks=6,
      window=2)
def so_it_does_where_the_kernel_has_no_membarrier(o, without):
    """A fence, and then a wait that is longer than anything stays pending, in place of membarrier()."""
    return ([Clock("event", True, True), Store("ring head", 1, o["head="]),
             Load("forking", "forking id", o["forking"])],
            [Update("r", "forking id", zero_to_one, o["forking="]), Require("r", is_zero),
             None if without == "the fence before it" else Fence("seq_cst"),
             *([] if without == "the wait" else [Clock("begun", True, True), Wait("begun", 3)]),
             Clock("marker", True, True)])


# ---- tables ----

@case(lambda v: v["count"] == 1 and v["entry"] == 0, weaker=["modules=", "modules"])
def a_module_is_complete_before_it_counts(o, _):
    """msrec reads an entry of the module table behind the count that covers it."""
    return ([Store("module", 1, "relaxed"), Store("modules count", 1, o["modules="])],
            [Load("count", "modules count", o["modules"]), Load("entry", "module", "relaxed")])


@case(lambda v: v["seen"] == 1 and v["count"] == 0, weaker=["head=", "head"])
def a_stack_comes_behind_its_modules(o, _):
    """A stack that is taken from a ring finds the modules of its frames."""
    return ([Store("modules count", 1, o["modules="]), Store("ring head", 1, o["head="])],
            [Load("seen", "ring head", o["head"]), Load("count", "modules count", o["modules"])])


@case(lambda v: v["closed"] == 0 and v["entry"] == 0, weaker=["closed=", "closed"], memory={"module closed": 5})
def an_entry_that_is_used_again_is_complete(o, _):
    """`closed` is 0 again when the new entry is complete."""
    return ([Store("module", 1, "relaxed"), Store("module closed", 0, o["closed="])],
            [Load("closed", "module closed", o["closed"]), Load("entry", "module", "relaxed")])



@case(lambda v: v["entry"] == 2, weaker=["taken="])
def an_entry_is_read_before_it_is_used_again(o, _):
    """msrec has read all that it wants of an entry when it says that it has taken what was captured there."""
    return ([Load("entry", "module", "relaxed"), Store("table taken", 1, o["taken="])],
            [Load("taken", "table taken", o["taken"]), Require("taken", is_one), Store("module", 2, "relaxed")])


@case(lambda v: v["life"] == v["again"] == 1 and v["start"] == 1, weaker=["life again", "before a life"],
      memory={"object life": 1})
def an_object_that_changes_is_not_believed(o, _):
    """What a thread has read of an entry holds if its `life` is the same before and after."""
    return ([Load("life", "object life", o["life"]), Load("start", "object start", "relaxed"), fence(o["life again"]),
             Load("again", "object life", "relaxed")],
            [Update("r", "object life", plus_one, o["life ends"]), Store("module closed", 1, "release"),
             fence(o["before a life"]), Store("object start", 1, "relaxed"), Store("object life", 3, o["life="])])


@case(lambda v: v["life"] == 3 and v["start"] == 0, weaker=["life", "life="])
def an_object_is_complete_when_it_is_open(o, _):
    """An odd `life` is there behind all of the entry."""
    return ([Store("object start", 1, "relaxed"), Store("object life", 3, o["life="])],
            [Load("life", "object life", o["life"]), Load("start", "object start", "relaxed")])


@case(lambda v: v["end"] == 1 and v["start"] == 0, weaker=["range=", "range"])
def a_range_is_there_once_its_end_is(o, _):
    """Own ranges are looked through while one is added."""
    return ([Store("range start", 1, "relaxed"), Store("range end", 1, o["range="])],
            [Load("end", "range end", o["range"]), Load("start", "range start", "relaxed")])


@case(lambda v: v["count"] == 2, weaker=["lock", "unlock"])
def tables_are_changed_by_one_thread_at_a_time(o, _):
    """A thread that gets the lock sees what the former holder has written."""
    first = [Update("r", "lock", zero_to_one, o["lock"]), Require("r", is_zero), Store("entry", 1, "relaxed"),
             Store("lock", 0, o["unlock"])]
    second = [Update("s", "lock", lambda old: 2 if old == 0 else None, o["lock"]), Require("s", is_zero),
              Load("seen", "entry", "relaxed"), Store("count", ("seen", lambda seen: 1 if seen else 2), "relaxed")]
    return first, second


def weakened(case_, orders):
    """(what was weakened, whether the outcome happens then)."""
    for change in case_.weaker:
        change = change if isinstance(change, dict) else {change: "relaxed"}
        what = ", ".join(f"{name} {orders[name]} → {order}" for name, order in change.items())
        yield what, case_.happens({**orders, **change})
    for what in case_.without:
        yield f"without {what}", case_.happens(orders, what)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default=ROOT, help="the tree whose orders are looked up")
    parser.add_argument("--only", default="", help="cases with this in their names")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what each weaker order leads to")
    args = parser.parse_args()
    orders = {**orders_of(args.source), **OTHERS}
    failed = outcomes = 0
    for case_ in CASES:
        if args.only not in case_.name:
            continue
        problems = ["it happens"] if case_.happens(orders) else []
        outcomes += 1
        for what, happens in weakened(case_, orders):
            outcomes += 1
            if not happens:
                problems.append(f"it does not happen with {what}")
            elif args.verbose:
                print(f"     {what}: it happens")
        failed += len(problems)
        print(f"{'not ok' if problems else 'ok'} {case_.name}")
        for problem in problems:
            print(f"     {problem}: {case_.claim}")
    print(f"{outcomes - failed} of {outcomes} outcomes as they must be, in {len(CASES)} cases")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
