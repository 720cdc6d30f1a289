# SPDX-License-Identifier: MIT
"""The machine that something is measured on."""

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
    """Touches half of what memory there is to be had, and gives it back.

    A virtual machine gets a page from its host when it is touched for the first time. That takes seven
    times as long as any later time, and would be counted to whatever is measured then.
    """
    size = available_memory() // 2 // PAGE * PAGE
    child = os.fork()
    if child == 0:
        memory = mmap.mmap(-1, size)
        for at in range(0, size, PAGE):
            memory[at] = 1
        os._exit(0)
    os.waitpid(child, 0)
