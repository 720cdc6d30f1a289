#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of docs/gates.md with the test runners that are installed: a baseline is made, an unchanged run keeps to
it, and a buffer that has grown does not.

  gate_recipes.py --build DIR [--long]
"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Checks, Scratch, arguments, compiler, have    # noqa: E402

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/gates.md")
PROGRAM = """
#include <stdlib.h>
static void *volatile sink;
int main(void) { sink = malloc(SIZE); free(sink); return 0; }
"""
CTEST = """
cmake_minimum_required(VERSION 3.10)
project(demo C)
enable_testing()
foreach(name a b)
  add_executable(test_${name} test_${name}.c)
  add_test(NAME ${name} COMMAND test_${name})
endforeach()
"""
MESON = """
project('demo', 'c')
foreach name : ['a', 'b']
  test(name, executable('test_' + name, 'test_' + name + '.c'))
endforeach
"""
CONFIGURE = "AC_INIT([demo], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n"
AUTOMAKE = "check_PROGRAMS = test_a test_b\nTESTS = test_a test_b\n"
RUST = """
#[cfg(test)]
mod tests {
    #[test]
    fn a() { assert_eq!(std::hint::black_box(vec![1u8; SIZE]).len(), SIZE); }
}
"""
PYTEST = "def test_a():\n    assert bytearray(SIZE)\n\ndef test_b():\n    pass\n"


def documented(heading):
    """The commands of a section."""
    with open(DOCUMENT, encoding="utf-8") as file:
        section = re.split(r"^##+ ", file.read(), flags=re.M)
    text, = (each for each in section if each.startswith(heading + "\n"))
    return re.search(r"```(?:yaml)?\n(.*?)```", text, re.S).group(1)


class Recipes:
    """Each method prepares a project and returns the words that build it again."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        folders = [os.path.dirname(build.msrec), os.path.dirname(build.file("analyze/msreport")), "/usr/bin"]
        self.env = {**os.environ, "PATH": ":".join([*folders, os.environ["PATH"]]), "CC": " ".join(compiler())}

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def sh(self, script, **more):
        return subprocess.run(["sh", "-c", script], cwd=self.folder, env={**self.env, **more}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def sources(self, size):
        self.write("test_a.c", PROGRAM.replace("SIZE", str(size)))
        self.write("test_b.c", PROGRAM.replace("SIZE", "500"))

    def ctest(self, size):
        self.sources(size)
        self.write("CMakeLists.txt", CTEST)
        return "cmake -B build && cmake --build build"

    def meson(self, size):
        self.sources(size)
        self.write("meson.build", MESON)
        return "test -d build || meson setup build; ninja -C build"

    def automake(self, size):
        self.sources(size)
        self.write("configure.ac", CONFIGURE)
        self.write("Makefile.am", AUTOMAKE)
        return "test -e Makefile || { autoreconf -i && ./configure; }"

    def cargo(self, size):
        self.write("Cargo.toml", '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n')
        self.write("src/lib.rs", RUST.replace("SIZE", str(size)))
        self.env["PATH"] = os.environ["PATH"].join([os.path.dirname(self.build.msrec) + ":", ""])
        return "true"

    def pytest(self, size):
        self.write("test_it.py", PYTEST.replace("SIZE", str(size)))
        return "true"

    def github(self, size):
        return self.ctest(size)


RECIPES = {     # method, heading, programs, only with --long
    "ctest": ("CTest", ["cmake", "ctest"], False),
    "meson": ("Meson", ["meson", "ninja"], False),
    "github": ("GitHub Actions", ["cmake", "ctest"], False),
    "pytest": ("pytest", ["/usr/bin/python3"], True),
    "automake": ("Automake", ["automake", "autoreconf", "make"], True),
    "cargo": ("Cargo", ["cargo"], True),
}


def commands_of(name, heading):
    """Of GitHub's steps those that check."""
    text = documented(heading)
    if name != "github":
        return text
    return "".join(line.strip() + "\n" for line in text.splitlines() if line.strip().startswith("msrec "))


def check_recipe(check, build, place, name):
    heading, programs, _ = RECIPES[name]
    folder = os.path.join(place, name)
    recipes = Recipes(build, folder)
    if not have(*programs) or (name == "pytest" and not has_pytest()):
        print(f"SKIP: {heading}: not installed")
        return
    option = "MSREPORT_OPTS" if name == "pytest" else "MSREC_OPTS"
    for what, size, more, wanted in (("a baseline", 4000000, {option: "--update"}, 0), ("unchanged", 4000000, {}, 0),
                                     ("grown", 9000000, {}, 1)):
        made = recipes.sh(getattr(recipes, name)(size))
        shutil.rmtree(os.path.join(folder, "traces"), ignore_errors=True)
        os.makedirs(os.path.join(folder, "traces"))
        done = recipes.sh(commands_of(name, heading), **more)
        check(f"{heading}: {what}", done.returncode == wanted, (made.stdout[-500:], done))
    with open(os.path.join(folder, "heap.check"), encoding="utf-8") as file:
        runs = file.read().count("\nrun ")
    check(f"{heading}: {runs} tests", runs == (1 if name == "cargo" else 2))


def has_pytest():
    return subprocess.run(["/usr/bin/python3", "-m", "pytest", "--version"], capture_output=True).returncode == 0


def check_bisect(check, build, place):
    """Seven commits, of which the fourth allocates more, and the third cannot be built."""
    recipes = Recipes(build, os.path.join(place, "bisect"))
    git = "git -c user.name=x -c user.email=x@example.com"
    for i in range(7):
        recipes.sources(9000 if i >= 3 else 4000)
        if i == 2:
            recipes.write("test_a.c", "broken")
        recipes.write("note", str(i))
        recipes.sh(f"test -d .git || git init -q; git add test_a.c note; {git} commit -qm 'commit {i}'")
    done = recipes.sh(documented("git bisect").replace("HEAD~6", "$(git rev-list HEAD | tail -1)"))
    found = re.search(r"first bad commit could be any of|is the first bad commit", done.stdout)
    check("git bisect", found, done.stdout)
    named = recipes.sh("git log -1 --format=%s refs/bisect/bad").stdout
    check("git bisect: the commit", named == "commit 3\n", (named, done.stdout))


def main():
    options = arguments(__doc__, "--long", "--only")
    check = Checks()
    with Scratch() as place:
        for name, (_, _, long) in RECIPES.items():
            if (options.long or not long) and (not options.only or options.only in name):
                check_recipe(check, options.build, place, name)
        if have("git", "make") and (not options.only or options.only in "bisect"):
            check_bisect(check, options.build, place)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
