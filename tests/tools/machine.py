# SPDX-License-Identifier: MIT
"""The machine that runs a benchmark."""

import mmap
import os

PAGE = 4096


def model():
    """The processor's name."""
    with open("/proc/cpuinfo") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return models[0] if models else "unknown CPU"


def available_memory():
    """Bytes that programs could still get."""
    with open("/proc/meminfo") as f:
        sizes = dict(line.split(":", 1) for line in f)
    return int(sizes["MemAvailable"].split()[0]) * 1024


def touch_memory():
    """Touches half of the available memory, and frees it.

    A virtual machine gets a page from its host at the first touch. That takes seven times as long as a later
    touch, and would add to the next measurement.
    """
    size = available_memory() // 2 // PAGE * PAGE
    child = os.fork()
    if child == 0:
        memory = mmap.mmap(-1, size)
        for at in range(0, size, PAGE):
            memory[at] = 1
        os._exit(0)
    os.waitpid(child, 0)
