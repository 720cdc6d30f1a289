# SPDX-License-Identifier: MIT
"""All executions of short programs of several threads on a processor that orders no more than it must.

The machine has one memory that all processors see at once, as x86-64 and Armv8 promise. A thread's accesses reach it in
any order but for these rules:

  - accesses of one location stay in order; a load gets what the thread's own pending store will write
  - a load with acquire comes before all that follows, a store with release behind all that precedes
  - of sequentially consistent accesses a store comes before a later load, too
  - fences: loads before everything ("acquire"), everything before stores ("release"), everything ("seq_cst")
  - a store comes behind what its value and the branches before it depend on; a load need not wait for branches
  - a read-modify-write is a load and a store with no other store to its location in between: its acquire is the load's,
    its release the store's, as ldaxr and stlxr have it
  - membarrier() returns when each other thread has gone through a point with all before it done and nothing behind it

So nothing of what a compiler or a processor may exchange is taken for granted. What is more than Armv8 may do, such as
loads that overtake a load on which their address depends, only makes the machine stricter with the code.

There is a clock, which any step may find at a later tick. Reading it is an access that may wait for the loads before
it, and may last until the next tick; stores wait for that. With a window, nothing stays pending for more than so many
ticks after something behind it was done.
"""

from collections import namedtuple

ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")

Load = namedtuple("Load", "register location order")
Store = namedtuple("Store", "location value order")                # a number, or (register or registers, function)
Update = namedtuple("Update", "register location change order")    # change(old) → new; None: it fails, stores nothing
Fence = namedtuple("Fence", "order")
Clock = namedtuple("Clock", "register ordered settled")
Require = namedtuple("Require", "registers holds")                 # a branch: executions that go elsewhere are left out
Wait = namedtuple("Wait", "register ticks")                        # until the clock is so far beyond the register
Membarrier = namedtuple("Membarrier", "")


def names_of(registers):
    return (registers,) if isinstance(registers, str) else registers


def acquires(order):
    return order in ("acquire", "acq_rel", "seq_cst")


def releases(order):
    return order in ("release", "acq_rel", "seq_cst")


class Step:
    """What reaches memory, or the clock, at one moment."""

    def __init__(self, kind, operation, at, location=None, order="relaxed"):
        self.kind, self.operation, self.at, self.location, self.order = kind, operation, at, location, order
        self.loads = kind in ("load", "load of update")
        self.stores = kind in ("store", "store of update")


def steps_of(program):
    steps = []
    for at, operation in enumerate(program):
        if isinstance(operation, Load):
            steps.append(Step("load", operation, at, operation.location, operation.order))
        elif isinstance(operation, Store):
            steps.append(Step("store", operation, at, operation.location, operation.order))
        elif isinstance(operation, Update):
            steps.append(Step("load of update", operation, at, operation.location, operation.order))
            steps.append(Step("store of update", operation, at, operation.location, operation.order))
        elif isinstance(operation, Clock):
            steps.append(Step("now", operation, at))
            if operation.settled:
                steps.append(Step("settled", operation, at))
        else:
            kind = {Fence: "fence", Require: "require", Wait: "wait", Membarrier: "membarrier"}[type(operation)]
            steps.append(Step(kind, operation, at, order=getattr(operation, "order", "relaxed")))
    return steps


def needed_registers(step):
    if step.kind == "store" and isinstance(step.operation.value, tuple):
        return set(names_of(step.operation.value[0]))
    if step.kind == "store of update":
        return {step.operation.register}
    if step.kind == "settled" or step.kind == "wait":
        return {step.operation.register}
    return set(names_of(step.operation.registers)) if step.kind == "require" else set()


def comes_before(first, second):
    """Whether the machine keeps the order of two steps of a thread."""
    if first.at == second.at:
        return True
    if "membarrier" in (first.kind, second.kind):
        return True
    if first.kind == "fence" or second.kind == "fence":
        fence, other = (first, second) if first.kind == "fence" else (second, first)
        if other.kind == "fence" or fence.order in ("seq_cst", "acq_rel"):
            return True
        if fence is first:
            return fence.order == "acquire" or other.stores
        return fence.order == "release" or other.loads
    if first.kind in ("require", "settled", "wait") and second.stores:
        return True
    if second.kind == "now":
        return second.operation.ordered and first.loads
    if first.location is None or second.location is None:
        return releases(second.order) and second.stores
    if first.location == second.location and not (first.kind == "store" and second.kind == "load"):
        return True
    if first.loads and acquires(first.order) or second.stores and releases(second.order):
        return True
    return first.stores and second.loads and first.order == second.order == "seq_cst"


class Machine:
    """`programs`: a list of operations for each thread; `memory`: what is not 0 at first. Registers have names that no
    two operations share."""

    def __init__(self, programs, ticks=0, window=None, memory=None):
        self.threads = [steps_of(program) for program in programs]
        self.ticks, self.window, self.initial = ticks, window, dict(memory or {})
        self.before = [self._before(steps) for steps in self.threads]
        self.forwards = [[self._forwarding(steps, i) for i in range(len(steps))] for steps in self.threads]
        for steps in self.threads:
            for step in steps:
                if step.location is not None:
                    self.initial.setdefault(step.location, 0)

    @staticmethod
    def _before(steps):
        """Of each step, the steps that come before it, as bits."""
        result = []
        for i, step in enumerate(steps):
            needed = needed_registers(step)
            bits = 0
            for k in range(i):
                gives = getattr(steps[k].operation, "register", None)
                if comes_before(steps[k], step) or gives in needed and (steps[k].loads or steps[k].kind == "now"):
                    bits |= 1 << k
            result.append(bits)
        return result

    @staticmethod
    def _forwarding(steps, i):
        """The last store of the thread before load `i` to its location; None: there is none."""
        for k in range(i - 1, -1, -1):
            if steps[i].kind == "load" and steps[k].kind == "store" and steps[k].location == steps[i].location:
                return k
        return None

    def outcomes(self, wanted):
        """All values of the registers, and of locations, at the end, as `wanted` sees them: the set of its results."""
        start = ((0,) * len(self.threads), tuple(sorted((k, (v, 0)) for k, v in self.initial.items())), (), 0, ())
        seen, todo, results = {start}, [start], set()
        complete = tuple((1 << len(steps)) - 1 for steps in self.threads)
        while todo:
            state = todo.pop()
            if state[0] == complete:
                values = dict(state[2])
                values.update({location: value for location, (value, _) in state[1]})
                results.add(wanted(values))
            for following in self._next(state):
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        return results

    def _next(self, state):
        done, memory, registers, clock, deadlines = state
        if clock < self.ticks and all(clock < deadline for _, _, deadline in deadlines):
            yield done, memory, registers, clock + 1, deadlines
        for thread, steps in enumerate(self.threads):
            for i in range(len(steps)):
                if done[thread] >> i & 1 or self.before[thread][i] & ~done[thread]:
                    continue
                following = self._perform(state, thread, i)
                if following:
                    yield self._marked(state, following, thread, i)

    def _marked(self, state, following, thread, i):
        """With the step done, and a deadline for those that it has overtaken."""
        done, _, _, clock, deadlines = state
        bits = done[thread] | 1 << i
        now_done = done[:thread] + (bits,) + done[thread + 1:]
        if self.window is not None:
            due = {(t, k): d for t, k, d in deadlines if (t, k) != (thread, i)}
            for k in range(i):
                if not bits >> k & 1:
                    due.setdefault((thread, k), clock + self.window)
            deadlines = tuple(sorted((t, k, d) for (t, k), d in due.items()))
        return (now_done, *following, clock, deadlines)

    def _perform(self, state, thread, i):
        """(memory, registers) behind the step; None: it cannot be done now, or not in this execution."""
        done, memory, registers, clock, _ = state
        step, values = self.threads[thread][i], dict(registers)
        operation = step.operation
        if step.loads:
            pending = self.forwards[thread][i]
            value, version = dict(memory)[step.location]
            if pending is not None and not done[thread] >> pending & 1:
                value = self._value(self.threads[thread][pending], values)
                if value is None:
                    return None
            values[operation.register] = value
            if step.kind == "load of update":
                values[operation.register, "version"] = version
        elif step.stores:
            value = self._value(step, values)
            if value is not None:
                cells = dict(memory)
                version = cells[step.location][1]
                if step.kind == "store of update" and version != values[operation.register, "version"]:
                    return None
                cells[step.location] = value, version + 1
                memory = tuple(sorted(cells.items()))
            values.pop((getattr(operation, "register", None), "version"), None)
        elif step.kind == "now":
            values[operation.register] = clock
        elif step.kind == "settled" and clock <= values[operation.register]:
            return None
        elif step.kind == "wait" and clock < values[operation.register] + operation.ticks:
            return None
        elif step.kind == "require" and not operation.holds(*(values[name] for name in names_of(operation.registers))):
            return None
        elif step.kind == "membarrier":
            if any(bits & (bits + 1) for t, bits in enumerate(done) if t != thread):
                return None
        return memory, tuple(sorted(values.items(), key=str))

    @staticmethod
    def _value(step, values):
        """Of a store; None: not known yet, or an update that stores nothing."""
        if step.kind == "store of update":
            old = values.get(step.operation.register)
            return None if old is None else step.operation.change(old)
        value = step.operation.value
        if not isinstance(value, tuple):
            return value
        names, function = names_of(value[0]), value[1]
        return function(*(values[name] for name in names)) if all(name in values for name in names) else None
