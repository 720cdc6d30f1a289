#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The words that the completions of bash and fish offer for incomplete command lines.

  completions.py --build DIR --completions DIR
"""

import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Checks, Scratch, arguments, plain_environment, skip    # noqa: E402

LIBRARY = "/usr/share/bash-completion/bash_completion"
# As readline calls a completion: "=" is a word of its own.
ASK = r"""
. %s
. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
COMP_WORDS=("${@:3}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "$3") function=${function#*-F }
${function%% *} "$3" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%%s\n' "${COMPREPLY[@]}"
""" % LIBRARY
PROGRAM, FILE = "a-program", "trace.zst"     # that one in PATH, this one in the current folder
PARTS = "identity time threads instructions names usable stacks mappings pages free-stacks rss marks"

# The typed line, and the words offered.
CASES = {
    "msrec --engine=": "preload valgrind",
    "msrec --engine v": "valgrind",
    "msrec --timer=o": "off",
    "msrec --push=x --every=6": "60s",
    "msrec --output tr": FILE,
    "msrec a-pro": PROGRAM,
    "msrec snapsh": "snapshot",
    "msrec -f -- a-pro": PROGRAM,
    "msrec --output out a-pro": PROGRAM,
    "msrec --output=out a-pro": PROGRAM,
    "msrec -o out --rotate --depth 3 --du": "--duration=",
    "msrec --pages a-pro": PROGRAM,
    "msrec --pages=": "yes no",
    "msrec --stacks=yes --mmap a-pro": PROGRAM,
    "msrec --rotate=3 --max-size=1g -q a-pro": PROGRAM,
    "msreplay tr": FILE,
    "msreplay --pages-as-heap=": "yes no",
    "msreplay --memusage=": "full",
    "msreplay --memusage tr": FILE,
    "msreplay --mmap=": "yes no memusage",
    "msreplay --pages=": "yes no",
    "msreplay --stacks tr": FILE,
    "msreplay -o tr": FILE,
    "msreplay --th": "--threshold=",
    "msconvert --to=fo": "folded",
    "msconvert --from=": "help fork heaptrack massif memusage mtrace",
    "msconvert --diff-base=tr": FILE,
    "msconvert --drop=": PARTS,
    "msconvert --drop=time,th": "time,threads",
    "msreport tr": FILE,
    "msreport le": "leaks",
    "msreport --by=l": "library",
    "msreport --format json --at=e": "end",
    "mstop tr": FILE,
    "mstop --sort=gr": "growth",
    "mstop --th": "--threads",
    "msusage --keep=tr": FILE,
    "msusage --keep a-pro": PROGRAM,
    "msusage --mmap=": "yes no memusage",
    "msusage --title text -m a-pro": PROGRAM,
    "msusage --title=text --keep=file -- a-pro": PROGRAM,
    "mswhatif tr": FILE,
    "mswhatif --allocator=je": "jemalloc",
    "mswhatif --at=g": "gap",
    "mswhatif --sw": "--sweep",
    "ms_print --": "--threshold= --x= --y= --help --version",
}


def words(line):
    """The line's words; the last one is the one that is completed."""
    result = []
    for word in line.split(" "):
        name, equals, value = word.partition("=")
        result += [name, equals, value] if equals else [word]
    return result


def file_of(folder, shell, line):
    """The file with the completion of the line's command."""
    tool = line.split(" ")[0]
    name = ("msreplay" if tool == "msconvert" else tool) + (".fish" if shell == "fish" else "")
    return os.path.join(os.path.abspath(folder), shell, name)


def bash_offers(file, line, environment, path):
    done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", file, line] + words(line),
                          capture_output=True, text=True, cwd=path, env=environment)
    return set(done.stdout.split())


def fish_offers(file, line, environment, path):
    """
    fish has the option in front of the words that complete it, and no "=" behind an option. Since version 4 it offers
    words, too, that have what was typed inside.
    """
    ask = 'source $argv[1]; and complete -C "$argv[2]"'
    done = subprocess.run(["fish", "--no-config", "-c", ask, "--", file, line], capture_output=True, text=True,
                          cwd=path, env={**environment, "HOME": path})
    typed = line.split(" ")[-1]
    lines = [offer.split("\t")[0] for offer in done.stdout.splitlines()]
    begun = [offer for offer in lines if offer.startswith(typed)]
    return {offer.partition("=")[2] if "=" in typed else offer for offer in begun} | set(done.stderr.splitlines())


def has_fish():
    """Its version 3.1 has no --no-config."""
    return shutil.which("fish") and subprocess.run(["fish", "--no-config", "-c", "true"], capture_output=True,
                                                   check=False).returncode == 0


SHELLS = {"bash": bash_offers, "fish": fish_offers}
# Where fish offers other words: all spellings of an option, and options without the "=" of their values.
FISH = {
    "msrec -o out --rotate --depth 3 --du": "--duration",
    "msreplay --th": "--threshold",
    "mswhatif tr": FILE,
    "mswhatif --allocator=je": "jemalloc",
    "mswhatif --at=g": "gap",
    "mswhatif --sw": "--sweep",
    "ms_print --": "--threshold --x --y --help --version",
}


def main():
    args = arguments(__doc__, ("--completions", {"required": True, "metavar": "DIR"}))
    shells = [shell for shell, needed in (("bash", os.path.exists(LIBRARY)), ("fish", has_fish())) if needed]
    if "fish" not in shells:
        print("SKIP: no fish with --no-config")
    if not shells:
        skip("neither bash-completion nor fish is installed")
    build, check, environment = args.build, Checks(), plain_environment()
    with Scratch() as path:
        programs = os.path.join(path, "programs")
        os.mkdir(programs)
        for name in (os.path.join(programs, PROGRAM), os.path.join(path, FILE)):
            with open(name, "w", encoding="ascii") as f:
                f.write("#!/bin/sh\n")
            os.chmod(name, 0o755)
        rooms = [os.path.join(build.root, room) for room in ("trace-record", "analyze", "ms_print")]
        environment["PATH"] = os.pathsep.join(rooms + [programs, environment["PATH"]])
        for shell in shells:
            for line, expected in CASES.items():
                if shell == "fish":
                    expected = FISH.get(line, expected)
                offers = SHELLS[shell](file_of(args.completions, shell, line), line, environment, path)
                check.equal(f"{shell}: {shlex.quote(line)}", offers, set(expected.split()))
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
