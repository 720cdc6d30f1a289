#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The installed libraries: they export exactly the functions of their headers, and examples link with them.

  library.py --build DIR --source DIR [--only PART]
"""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Problem, Scratch, arguments, run_cases    # noqa: E402

# Room, library, and what the names of its functions begin with.
LIBRARIES = [("trace-format", "libmstrace", "mst_"), ("names", "libmstrace-names", "mst_names_")]


class Bench:
    def __init__(self, build, source, path):
        self.build, self.source, self.path = build, source, path

    def headers(self, room):
        return sorted(glob.glob(os.path.join(self.source, room, "include/*.h")))

    def includes(self):
        return ["-I" + os.path.join(self.source, room, "include") for room, _, _ in LIBRARIES]

    def declared(self, room):
        """The functions that a room's headers declare."""
        found = set()
        for header in self.headers(room):
            text = run("cc", *self.includes(), "-E", header)
            own, inside = [], False
            for line in text.splitlines():
                marker = re.match(r'# \d+ "(.*?)"', line)
                if marker:
                    inside = marker.group(1) == header
                elif inside and not line.startswith("#"):
                    own.append(line)
            flat = " ".join(own)
            while re.search(r"\{[^{}]*\}", flat):       # bodies of functions and structures
                flat = re.sub(r"\{[^{}]*\}", ";", flat)
            for declaration in flat.split(";"):
                function = re.match(r"[\w\s*]*?\b(\w+)\s*\(", declaration)
                if function and not re.match(r"\s*(typedef|static)\b", declaration):
                    found.add(function.group(1))
        return found


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise Problem(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def differ(what, found, wanted):
    if found != wanted:
        raise Problem(f"{what}: more: {sorted(found - wanted)}, missing: {sorted(wanted - found)}")


def nm_symbols(*words):
    """Global symbols that a file defines, but for the names of versions."""
    lines = (line.split() for line in run("nm", "-g", "--defined-only", *words).splitlines())
    return {words[2].split("@")[0] for words in lines if len(words) == 3 and words[1] != "A"}


def symbols(bench):
    count = 0
    for room, library, prefix in LIBRARIES:
        declared = bench.declared(room)
        others = {name for name in declared if not name.startswith(prefix)}
        if others or not declared:
            raise Problem(f"{library}: declares {others or 'nothing'}")
        shared = bench.build.file(f"{room}/{library}.so")
        differ(f"{library}.so", nm_symbols("-D", shared), declared)
        differ(f"{library}.a", nm_symbols(bench.build.file(f"{room}/{library}.a")), declared)
        versions = {line.split("@")[-1] for line in run("nm", "-D", "--defined-only", "--with-symbol-versions",
                                                        shared).splitlines() if "@" in line}
        soname = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", shared)).group(1)
        abi = soname.rsplit(".", 1)[1]
        wanted = f"{library.upper().replace('-', '_')}_{abi}"
        if versions != {wanted} or soname != f"{library}.so.{abi}":
            raise Problem(f"{library}: {soname}, versions {versions}")
        count += len(declared)
    return f"{count} functions"


def headers_alone(bench):
    """Each header compiles by itself, in the oldest language that it is for, and defines names of the project only."""
    count = 0
    languages = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++20")]
    for header in [h for room, _, _ in LIBRARIES for h in bench.headers(room)]:
        for language, standard in languages:
            run("cc", "-x", language, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror",
                *bench.includes(), "-include", header, "-fsyntax-only", "-", input="extern int some;\n")
        plain = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
        macros = [set(re.findall(r"#define (\w+)", run("cc", *bench.includes(), "-dM", "-E", "-", input=text)))
                  for text in (plain, plain + f'#include "{header}"\n')]
        others = {name for name in macros[1] - macros[0] if not name.startswith(("MST_", "MSTRACE_"))}
        if others:
            raise Problem(f"{header}: defines {others}")
        count += 1
    return f"{count} headers, {len(languages)} languages"


def examples_shown(bench):
    """The excerpts of examples/NAME in headers and the manual are part of the file, which is built."""
    shown = 0
    places = [h for room, _, _ in LIBRARIES for h in bench.headers(room)]
    for place in places + [os.path.join(bench.source, "docs/man/libmstrace.3.scd")]:
        with open(place, encoding="utf-8") as f:
            content = f.read()
        if place.endswith(".h"):
            found = re.findall(r"examples/(\w+\.c)[^\n]*:\n \*\n((?: \*   [^\n]*\n| \*\n)+)", content)
            found = [(name, re.sub(r"(?m)^ \*(   )?", "", text)) for name, text in found]
        else:
            found = re.findall(r"(?s)examples/(\w+\.c).*?```\n(.*?)```", content)
            found = [(name, text.replace("\\\\", "\\")) for name, text in found]
        for name, text in found:
            with open(os.path.join(bench.source, "docs/examples", name), encoding="utf-8") as f:
                if text.strip("\n") not in f.read():
                    raise Problem(f"{place} shows another {name} than docs/examples has")
            shown += 1
    if shown != EXAMPLES_SHOWN:
        raise Problem(f"{shown} examples are shown")
    return f"{shown} examples"


def install(bench):
    """Installs the development files; the environment in which pkg-config and the loader find them."""
    run("meson", "install", "-C", bench.build.root, "--no-rebuild", "--tags", "devel,runtime", "--destdir", bench.path)
    config = glob.glob(os.path.join(bench.path, "**/pkgconfig"), recursive=True)
    if len(config) != 1:
        raise Problem(f"pkg-config files in {config}")
    return dict(os.environ, PKG_CONFIG_PATH=config[0], PKG_CONFIG_SYSROOT_DIR=bench.path,
                LD_LIBRARY_PATH=os.path.dirname(config[0]))


def installed(bench):
    """An example, compiled and linked by pkg-config as a user does it, prints the same of a trace either way."""
    env = install(bench)
    trace, program = os.path.join(bench.path, "trace"), os.path.join(bench.path, "forgetful")
    run("cc", "-g", "-O2", "-x", "c", "-", "-o", program, input=FORGETFUL)
    run(bench.build.msrec, "-q", "-o", trace, program)
    outputs = []
    for example, package, wanted in EXAMPLES:
        source = os.path.join(bench.source, "docs/examples", example)
        flags = run("pkg-config", "--cflags", package, env=env).split()
        shared = run("pkg-config", "--libs", package, env=env).split()
        static = run("pkg-config", "--static", "--libs", package, env=env).split()
        # The archives of these libraries, shared ones of the system: those of libdw seldom are there.
        static = [f"-l:lib{word[2:]}.a" if word.startswith("-lmstrace") else word for word in static]
        for how, libraries, needed in (("shared", shared, True), ("static", static, False)):
            program = os.path.join(bench.path, how)
            try:
                run("cc", "-Wall", "-Werror", source, "-o", program, *flags, *libraries)
            except Problem as problem:
                if needed or "cannot find -l" not in str(problem):
                    raise
                print(f"SKIP: {example}, static: {str(problem).splitlines()[0][-60:]}")
                continue
            if ("libmstrace.so" in run("readelf", "-d", program)) != needed:
                raise Problem(f"{example}: {how} it is not")
            outputs.append(run(program, trace, env=env))
            if not re.search(wanted, outputs[-1]) or outputs[-1] != outputs[-(1 if needed else 2)]:
                raise Problem(f"{example}, {how}: {outputs[-1]}")
    return f"{len(outputs)} programs"


FORGETFUL = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) char *lose(size_t n)
{
	return malloc(n);
}
int main(void)
{
	char *volatile lost = lose(1000000);
	lost = lose(10);
	free(lost);
	return 0;
}
"""
EXAMPLES = [("heap_peak.c", "libmstrace", r"^peak 10000\d\d bytes, at the end 10000\d\d bytes$"),
            ("leaks.c", "libmstrace-names", r"^1000000 bytes in 1 blocks:\n"
             r"    lose \(<stdin>:5\) inlined\n    main \(<stdin>:9\)\n")]
EXAMPLES_SHOWN = 4
CASES = [("examples shown", examples_shown), ("installed", installed), ("symbols", symbols),
         ("headers alone", headers_alone)]


def main():
    options = arguments(__doc__, ("--source", {"required": True, "metavar": "DIR"}), "--only")
    with Scratch() as path:
        return run_cases(CASES, Bench(options.build, options.source, path), options.only)


if __name__ == "__main__":
    sys.exit(main())
