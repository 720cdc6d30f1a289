#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the machine of weak_machine.py against shapes whose outcomes on Armv8 and x86-64 are known.

Their names are those of the literature (Alglave, Maranget, Tautschnig: Herding cats; Pulte et al.: Simplifying ARM
concurrency).
"""

import sys

from weak_machine import Clock, Fence, Load, Machine, Membarrier, Require, Store, Update, Wait


def x(order="relaxed", value=1):
    return Store("x", value, order)


def y(order="relaxed", value=1):
    return Store("y", value, order)


def add(register, location, order="relaxed"):
    return Update(register, location, lambda old: old + 1, order)


FULL = Fence("seq_cst")
# name, threads, what is looked at, the outcome, whether Armv8 may have it
SHAPES = [
    ("SB", [[x(), Load("a", "y", "relaxed")], [y(), Load("b", "x", "relaxed")]], "ab", (0, 0), True),
    ("SB+fences", [[x(), FULL, Load("a", "y", "relaxed")], [y(), FULL, Load("b", "x", "relaxed")]], "ab",
     (0, 0), False),
    ("SB+rel+acq", [[x("release"), Load("a", "y", "acquire")], [y("release"), Load("b", "x", "acquire")]], "ab",
     (0, 0), True),
    ("SB+sc", [[x("seq_cst"), Load("a", "y", "seq_cst")], [y("seq_cst"), Load("b", "x", "seq_cst")]], "ab", (0, 0),
     False),
    ("SB+one sc", [[x("seq_cst"), Load("a", "y", "relaxed")], [y("seq_cst"), Load("b", "x", "seq_cst")]], "ab",
     (0, 0), True),
    ("MP", [[x(), y()], [Load("a", "y", "relaxed"), Load("b", "x", "relaxed")]], "ab", (1, 0), True),
    ("MP+rel+acq", [[x(), y("release")], [Load("a", "y", "acquire"), Load("b", "x", "relaxed")]], "ab", (1, 0), False),
    ("MP+rel+po", [[x(), y("release")], [Load("a", "y", "relaxed"), Load("b", "x", "relaxed")]], "ab", (1, 0), True),
    ("MP+po+acq", [[x(), y()], [Load("a", "y", "acquire"), Load("b", "x", "relaxed")]], "ab", (1, 0), True),
    ("MP+rel+ctrl", [[x(), y("release")], [Load("a", "y", "relaxed"), Require("a", lambda a: a == 1),
                                          Load("b", "x", "relaxed")]], "ab", (1, 0), True),
    ("MP+fences", [[x(), Fence("release"), y()], [Load("a", "y", "relaxed"), Fence("acquire"),
                                                 Load("b", "x", "relaxed")]], "ab", (1, 0), False),
    ("LB", [[Load("a", "x", "relaxed"), y()], [Load("b", "y", "relaxed"), x()]], "ab", (1, 1), True),
    ("LB+ctrls", [[Load("a", "x", "relaxed"), Require("a", lambda a: a == 1), y()],
                  [Load("b", "y", "relaxed"), Require("b", lambda b: b == 1), x()]], "ab", (1, 1), False),
    ("LB+values", [[Load("a", "x", "relaxed"), y(value=("a", lambda a: a))],
                  [Load("b", "y", "relaxed"), x(value=("b", lambda b: b))]], "ab", (1, 1), False),
    ("S+rel+ctrl", [[x(value=2), y("release")], [Load("a", "y", "relaxed"), Require("a", lambda a: a == 1), x()]],
     "ax", (1, 2), False),
    ("R", [[x(), y()], [y(value=2), Load("a", "x", "relaxed")]], "ya", (2, 0), True),
    ("R+fences", [[x(), FULL, y()], [y(value=2), FULL, Load("a", "x", "relaxed")]], "ya", (2, 0), False),
    ("2+2W", [[x(value=2), y()], [y(value=2), x()]], "xy", (2, 2), True),
    ("2+2W+rels", [[x(value=2), y("release")], [y(value=2), x("release")]], "xy", (2, 2), False),
    ("CoRR", [[x()], [Load("a", "x", "relaxed"), Load("b", "x", "relaxed")]], "ab", (1, 0), False),
    ("CoWR", [[x(), Load("a", "x", "relaxed")]], "a", (0,), False),
    ("CoRW", [[Load("a", "x", "relaxed"), x()]], "a", (1,), False),
    ("WRC+rel+acq", [[x()], [Load("a", "x", "relaxed"), y("release")],
                     [Load("b", "y", "acquire"), Load("c", "x", "relaxed")]], "abc", (1, 1, 0), False),
    ("WRC", [[x()], [Load("a", "x", "relaxed"), y()], [Load("b", "y", "acquire"), Load("c", "x", "relaxed")]], "abc",
     (1, 1, 0), True),
    ("IRIW+acqs", [[x()], [y()], [Load("a", "x", "acquire"), Load("b", "y", "relaxed")],
                   [Load("c", "y", "acquire"), Load("d", "x", "relaxed")]], "abcd", (1, 0, 1, 0), False),
    ("IRIW", [[x()], [y()], [Load("a", "x", "relaxed"), Load("b", "y", "relaxed")],
              [Load("c", "y", "relaxed"), Load("d", "x", "relaxed")]], "abcd", (1, 0, 1, 0), True),
    ("ISA2+rels+acqs", [[x(), y("release")], [Load("a", "y", "acquire"), Store("z", 1, "release")],
                        [Load("b", "z", "acquire"), Load("c", "x", "relaxed")]], "abc", (1, 1, 0), False),
    ("PPOCA", [[x(), FULL, y()], [Load("a", "y", "relaxed"), Require("a", lambda a: a == 1), Store("z", 1, "relaxed"),
                                  Load("b", "z", "relaxed"), Load("c", "x", "relaxed")]], "abc", (1, 1, 0), True),
    # The store of a read-modify-write with all of C11's orders may be overtaken by a later store, its load may not.
    ("MP+rmw", [[add("r", "x", "acq_rel"), y()], [Load("a", "y", "acquire"), Load("b", "x", "relaxed")]], "ab",
     (1, 0), True),
    ("MP+rmw+rel", [[add("r", "x", "acq_rel"), y("release")], [Load("a", "y", "acquire"), Load("b", "x", "relaxed")]],
     "ab", (1, 0), False),
    ("lost update", [[add("r", "x")], [add("s", "x")]], "x", (1,), False),
    ("SB+membarrier", [[x(), Load("a", "y", "relaxed")], [y(), Membarrier(), Load("b", "x", "relaxed")]], "ab", (0, 0),
     False),
    ("MP+membarrier", [[x(), Membarrier(), y()], [Load("a", "y", "relaxed"), Load("b", "x", "relaxed")]], "ab", (1, 0),
     False),
    ("a clock ahead of a load", [[Clock("t", True, False), x("release")],
                                 [Load("a", "x", "acquire"), Clock("u", False, False)]], "atu", (1, 1, 0), True),
    ("a clock behind it", [[Clock("t", True, False), x("release")],
                           [Load("a", "x", "acquire"), Clock("u", True, False)]], "atu", (1, 1, 0), False),
    ("two threads in a tick", [[Clock("t", True, False), x("release")],
                               [Load("a", "x", "acquire"), Clock("u", True, False)]], "atu", (1, 1, 1), True),
    ("a tick awaited", [[Clock("t", True, True), x("release")],
                        [Load("a", "x", "acquire"), Clock("u", True, False)]], "atu", (1, 1, 1), False),
    ("SB+wait", [[x(), Load("a", "y", "relaxed")],
                 [y(), FULL, Clock("t", True, False), Wait("t", 2), FULL, Load("b", "x", "relaxed")]], "ab",
     (0, 0), False),
    ("SB+shorter wait", [[x(), Load("a", "y", "relaxed")],
                         [y(), FULL, Clock("t", True, False), Wait("t", 1), FULL, Load("b", "x", "relaxed")]], "ab",
     (0, 0), True),
]


def main():
    failed = 0
    for name, threads, looked_at, outcome, allowed in SHAPES:
        found = Machine(threads, ticks=4 if any(isinstance(o, Clock) for t in threads for o in t) else 0,
                        window=1).outcomes(lambda values, names=looked_at: tuple(values[n] for n in names))
        fine = (outcome in found) == allowed
        failed += not fine
        print(f"{'ok' if fine else 'not ok'} {name}: {outcome} {'allowed' if allowed else 'forbidden'}")
    print(f"{len(SHAPES) - failed} of {len(SHAPES)} shapes as known")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
