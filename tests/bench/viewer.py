# SPDX-License-Identifier: MIT
"""heaptrack_gui, the viewer that the page is compared with: a recording, its loading time and memory."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import have                                  # noqa: E402

REST = 2.0          # s without work: all is loaded and shown
LONGEST = 600       # s
LOOK = 0.02         # s between looks


@dataclass
class Loading:
    seconds: float      # until its last work
    cpu: float          # of all its threads
    mib: float          # resident at most


def there():
    return have("heaptrack") and have("heaptrack_gui")


def record(workload, folder):
    """heaptrack's recording of a program: its path, or None if there is none."""
    place = os.path.join(folder, "heaptrack")
    with open(workload.stdin, encoding="utf-8") as stdin:
        subprocess.run([*getattr(workload, "drop", ()), "heaptrack", "-o", place, shutil.which(workload.argv[0]),
                        *workload.argv[1:]], stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=workload.cwd, env=workload.environment())
    return next((place + end for end in (".zst", ".gz") if os.path.exists(place + end)), None)


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def most_resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def load(path):
    """Opens a recording without a screen; it has been loaded when the process has nothing more to do."""
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", LC_ALL="C.UTF-8")
    begin = time.monotonic()
    viewer = subprocess.Popen(["heaptrack_gui", path], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    cpu, worked = 0.0, begin
    try:
        while viewer.poll() is None and time.monotonic() - begin < LONGEST:
            now = cpu_of(viewer.pid)
            if now > cpu:
                cpu, worked = now, time.monotonic()
            elif cpu and time.monotonic() - worked > REST:
                break
            time.sleep(LOOK)
        if viewer.poll() is not None:
            raise SystemExit(f"heaptrack_gui {path}: exit {viewer.returncode}")
        return Loading(worked - begin, cpu, most_resident(viewer.pid))
    finally:
        viewer.kill()
        viewer.wait()
