#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names, files, lines and inlined calls against addr2line (binutils) and eu-addr2line (elfutils).

  names_oracle.py --build DIR [--frames N]

Frames are those of recorded runs (cc1plus, clang, python3), and addresses sampled from the functions of programs: C++,
D and Rust, optimised and with debug information, python3 with its debug file, and msrec itself. Each frame must agree
with addr2line in the number of calls, and in function, file and line of each, or differ in one of the ways listed
below. Names of inlined functions in C++ and Rust agree to the letter. A folded profile of a recorded C++ program has
them, too: from its files, from the cache of names, and from the trace. Prints how many agree and differ, by class.
"""

import collections
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

CLASSES = {
    "symbol": "clones and static functions that are not inlined: ours is the symbol's name, as Massif's",
    "plain": "inlined functions of D, whose linkage names are no text to read",
    "alias": "one of several names of the same address, or of a function that covers it: Massif has a rule for it",
    "between": "no symbol covers the address: addr2line takes the nearest one before it",
    "mangled": "inlined functions whose linkage name addr2line cannot read: constrained by a requires-clause",
    "large files": "inlined functions of libc by the linker's name, which has 64 at its end",
    "nested": "inlined functions inside another one: addr2line has the name of the one around it",
    "file only": "no line is known: addr2line has a file from the symbol table, or a line of 0",
    "artificial": "the code is of a unit that link-time optimisation made up: addr2line has the file '<artificial>'",
    "local type": "a member function of a function's own type, in D: no inlined calls are known in it",
    "joined": "neighbouring rows of one line number are one for Massif, under the file of the first",
}

# addr2line's own: binutils 2.35 takes lambdas as arguments wrong, and the lines of code that has none.
MISTAKES = 5 if harness.binutils_version() < (2, 38) else 0

ELF_EACH = 64  # eu-addr2line takes some milliseconds for a frame

CXX = r"""
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
struct node { std::string name; std::vector<std::unique_ptr<node>> children; };
static std::unique_ptr<node> make(int depth)
{
	auto n = std::make_unique<node>();
	n->name = "n" + std::to_string(depth);
	for (int i = 0; i < depth; i++)
		n->children.push_back(make(depth - 1));
	return n;
}
int main(int argc, char **)
{
	std::regex pattern("([a-z]+)=([0-9]+)");
	std::map<std::string, int> sums;
	for (int i = 0; i < argc * 50; i++) {
		std::ostringstream text;
		std::smatch match;
		text << "k" << i << "=" << i;
		std::string line = text.str();
		if (std::regex_search(line, match, pattern))
			sums[match[1]] += std::stoi(match[2]);
	}
	std::function<int(const node &)> count = [&](const node &n) {
		int c = 1;
		for (auto &child : n.children)
			c += count(*child);
		return c;
	};
	std::vector<std::pair<std::string, int>> sorted(sums.begin(), sums.end());
	std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.second < b.second; });
	std::cout << sorted.size() + count(*make(4)) << "\n";
}
"""

RUST = r"""
use std::collections::{BTreeMap, HashMap};
fn main() {
    let mut lists: HashMap<String, Vec<u64>> = HashMap::new();
    let mut tree = BTreeMap::new();
    for i in 0..1000u64 {
        lists.entry(format!("k{}", i % 37)).or_default().push(i);
        tree.insert(i.to_string(), i);
    }
    let mut sorted: Vec<_> = lists.into_iter().collect();
    sorted.sort();
    println!("{} {}", sorted.len(), tree.len());
}
"""

D = r"""
import std.stdio, std.algorithm, std.array, std.conv;
void main()
{
    int[string] sums;
    foreach (i; 0 .. 1000)
        sums[to!string(i % 37)] += i;
    auto keys = sums.keys;
    sort(keys);
    writeln(keys.map!(a => a ~ "x").join(" ").length);
}
"""


def run(words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


# ---- whose frames ----

def function_ranges(path):
    """The code of the functions with a size, in the file or its separate debug file."""
    ranges = []
    for source in (path, debug_file(path)):
        if source:
            for line in run(["readelf", "-sW", source]).splitlines():
                words = line.split()
                if len(words) > 7 and words[3] == "FUNC" and words[6].isdigit() and words[2] != "0":
                    ranges.append((int(words[1], 16), int(words[2], 0)))
    return sorted(set(ranges))


def debug_file(path):
    found = re.search(r"Build ID: (\w\w)(\w+)", run(["readelf", "-n", path]))
    name = found and f"/usr/lib/debug/.build-id/{found.group(1)}/{found.group(2)}.debug"
    return name if name and os.path.exists(name) else None


def sampled(path, n):
    """Addresses from all over the functions of a program."""
    ranges = function_ranges(path)
    dice = random.Random(path.rsplit("/", 1)[-1])
    return sorted({start + dice.randrange(size) for start, size in (dice.choice(ranges) for _ in range(n))})


def recorded(build, work, name, words):
    """The frames of a run, by file."""
    trace = os.path.join(work, name + ".zst")
    subprocess.run([build.msrec, "-q", "-f", "-o", trace, *words], check=True, stdout=subprocess.DEVNULL, cwd=work)
    modules, frames = {}, collections.defaultdict(set)
    for line in run([build.file("tests/tools/tracedump"), trace]).splitlines():
        if line.startswith("module "):
            _, number, path, *_ = line.split()
            modules[number] = path
        elif line.startswith("frame ") and "module=-" not in line:
            _, _, module, address = line.split()
            frames[modules[module.split("=")[1]]].add(int(address.split("=")[1], 16))
    return {path: sorted(addresses) for path, addresses in frames.items() if os.path.exists(path)}


# ---- answers: for each address a list of (function, file, line) ----

def whole_path(directory, file):
    if file in ("?", "??"):
        return file
    return os.path.normpath(file if directory == "?" else os.path.join(directory, file))


def ours(build, path, addresses):
    answers = []
    for line in run([build.file("tests/tools/frame_names"), path],
                    input="".join(f"{a:x}\n" for a in addresses)).splitlines():
        if "\t" not in line:
            answers.append([])
        else:
            function, directory, file, number = line.split("\t")
            answers[-1].append((function, whole_path(directory, file), int(number)))
    return answers


def parsed(text, mark):
    answers, lines = [], iter(text.splitlines())
    for line in lines:
        if re.fullmatch(mark, line):
            answers.append([])
            continue
        place = re.match(r"(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?$", next(lines))
        file, number = place.groups()
        answers[-1].append((line.replace("??", "?"), whole_path("?", file).replace("??", "?"),
                            0 if number == "?" else int(number)))
    return answers


def binutils(path, addresses):
    return parsed(run(["addr2line", "-afiC", "-e", path], input="".join(f"{a:x}\n" for a in addresses)),
                  r"0x[0-9a-f]{16}")


def elfutils(path, addresses):
    """Files and lines alone: eu-addr2line prints names in another way."""
    # Its exit status is 1 when an address is in no unit.
    text = subprocess.run(["eu-addr2line", "-a", "-i", "-A", "-e", path], capture_output=True, text=True,
                          input="".join(f"0x{a:x}\n" for a in addresses)).stdout
    answers = []
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            answers.append([])
        else:
            file, number = re.match(r"(.*?):(\d+)", line).groups()
            answers[-1].append((whole_path("?", file).replace("??", "?"), int(number)))
    return answers


# ---- comparison ----

def identifier(name):
    """A function's own name, without qualifiers, arguments and a clone's suffix."""
    name = re.sub(r" \[clone .*|(\.(cold|part|isra|constprop|lto_priv|localalias)(\.\d+)*)+$", "", name)
    while True:
        shorter = re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]", "", name)
        if shorter == name:
            break
        name = shorter
    found = re.findall(r"operator\W*\w*|~?\w+", name.replace(" const", ""))
    return found[-1] if found else ""


def is_plain(mine, theirs):
    if mine == theirs or identifier(mine) == identifier(theirs):
        return True
    if "operator" in mine:  # a conversion's name is its type, which has several spellings
        return "operator" in theirs
    # D's linkage names are left as they are; closures have made-up names.
    if mine.startswith("{closure"):
        return "closure" in theirs
    short = re.sub(r"[<{(].*|\.\w+\.\d+$", "", mine)
    if not re.search(r"\w", short):
        return False
    return short in theirs or re.sub(r"\W", "", short) in re.sub(r"\W", "", theirs)


def is_of_d(call):
    """addr2line shows D's functions by their linkage names; later binutils than 2.40, as D has them."""
    return call[0].startswith("_D") or call[1].endswith(".d")


def explain(mine, theirs):
    """None if they agree, a class, or "unexplained"."""
    if mine == theirs:
        return None
    if len(mine) != len(theirs):
        alone = len(mine) == 1 and mine[0][0].startswith("_D") and mine[0][1:] == theirs[0][1:]
        return "local type" if alone else "unexplained"
    if mine[-1][0] == "?" and theirs[-1][0] != "?":
        return "between"
    for (_, file, line), (_, other_file, other_line) in zip(mine, theirs):
        if (file, line) != (other_file, other_line):
            if line == 0 and other_line == 0:
                return "file only"
            if other_file.endswith("<artificial>"):
                return "artificial" if line == other_line else "unexplained"
            return "joined" if line == other_line else "unexplained"
    inlined = [(a[0], b[0], is_of_d(b)) for a, b in zip(mine[:-1], theirs[:-1]) if a[0] != b[0]]
    if not inlined:
        return "symbol" if is_plain(mine[-1][0], theirs[-1][0]) else "alias"
    if all(is_plain(a, b) and of_d for a, b, of_d in inlined):
        return "plain"
    if all(b.startswith("_Z") and ("operator" in a or a.split("<")[0] in b) for a, b, _ in inlined):
        return "mangled"
    if all(b == a + "64" for a, b, _ in inlined):
        return "large files"
    around = {name for name, *_ in theirs[1:]} | {mine[-1][0]}
    if all(b in around or of_d for a, b, of_d in inlined):
        return "nested"
    return "unexplained"


def places(answer):
    return [name[1:] for name in answer]


class Account:
    def __init__(self):
        self.total = self.same = self.places = self.elf_total = self.elf_same = self.elf_first = self.inlined = 0
        self.classes = collections.Counter()

    def program(self, build, what, path, addresses):
        mine, theirs = ours(build, path, addresses), binutils(path, addresses)
        found, example = collections.Counter(), None
        for address, a, b in zip(addresses, mine, theirs):
            self.places += places(a) == places(b)
            self.inlined += len(a) > 1 and [name for name, *_ in a[:-1]] == [name for name, *_ in b[:-1]]
            why = explain(a, b)
            found[why or "same"] += 1
            if why == "unexplained":
                example = example or (hex(address), a, b)
        some = elfutils(path, addresses[::ELF_EACH])
        self.elf_total += len(some)
        self.elf_same += sum(places(a) == c for a, c in zip(mine[::ELF_EACH], some))
        self.elf_first += sum(len(c) == 1 < len(a) and places(a)[0] == c[0] for a, c in zip(mine[::ELF_EACH], some))
        self.total += len(addresses)
        self.same += found.pop("same", 0)
        self.classes += found
        print(f"{what:28} {len(addresses):6} frames, differences: {dict(found) or 'none'}")
        if example:
            print("   for instance", *example, sep="\n      ")


def compiled(work, name, text, *words):
    source = os.path.join(work, name)
    with open(source, "w") as file:
        file.write(text)
    target = source.replace(".", "-")
    run([*words, "-o", target, source], cwd=work)
    return target


# ---- formats ----

def converted(build, trace, *options, **environment):
    name = "analyze/msreplay" if "--massif-out-file=-" in options else "analyze/msconvert"
    return run([build.file(name), *options, trace], env={**os.environ, **environment})


def profiles(build, work, program):
    """What is wrong with the names of a recorded program in a folded profile and in massif.out: a list."""
    wrong, name = [], os.path.basename(program)
    trace, named = os.path.join(work, name + ".zst"), os.path.join(work, name + ".named.zst")
    frames = recorded(build, work, name, [program])[program]
    converted(build, trace, "--to=trace", "--embed-symbols", "-o", named)
    folded = ["--to=folded", "--value=alloc_objects", "-o", "-"]
    text = converted(build, trace, *folded)
    shown = set(re.split(r";|\n", re.sub(r" \d+$", "", text, flags=re.M)))
    chains = binutils(program, frames)
    asked = {call[0] for chain in chains for call in chain[:-1]}
    full = {call for call in asked if "::" in call} - {chain[-1][0] for chain in chains}
    missing = {call for call in asked if call.replace(";", ":") not in shown}
    if missing or len(asked) < 10:
        wrong.append(f"folded lacks {len(missing)} of {len(asked)} inlined functions: {sorted(missing)[:2]}")
    calls = converted(build, trace, "--to=callgrind", "--xtree-memory=full", "-o", "-")
    if asked - set(re.findall(r"^c?fn=\(\d+\) (.*)$", calls, re.M)):
        wrong.append("callgrind's format lacks inlined functions")
    with open(os.path.join(work, name + ".kcg"), "w") as file:
        file.write(calls)
    report = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--auto=no", file.name], capture_output=True,
                            text=True)
    if report.returncode or report.stderr or f":main [{program}]" not in report.stdout.replace("::main", ":main"):
        wrong.append(f"callgrind_annotate: {report.stderr or 'main is not in its object'}")
    later = dict(build.later(), MSREC_CACHE=os.path.join(work, "cache"))
    cached = [converted(build, trace, *folded, **later) for _ in range(2)]
    if not os.path.isdir(later["MSREC_CACHE"]) or cached != [text, text]:
        wrong.append("the cache of names has other names")
    massif = ["--massif-out-file=-", "--threshold=0", "--detailed-freq=1"]
    fixed, old = (converted(build, trace, *massif, "--compat=" + version) for version in ("fixed", "3.19"))
    os.rename(program, program + ".away")
    if converted(build, named, *folded) != text:
        wrong.append("the trace's own names are others")
    if converted(build, named, *massif, "--compat=fixed") != fixed:
        wrong.append("massif.out differs with the trace's own names")
    os.rename(program + ".away", program)
    if not any(f": {call} (" in fixed for call in full) or any(f": {call} (" in old for call in full):
        wrong.append("massif.out lacks full names, or has them with --compat=3.19")
    print(f"{name:28} {len(asked):6} inlined functions in a folded profile: {'; '.join(wrong) or 'as asked'}")
    return wrong


def main():
    options = harness.arguments(
        __doc__, ("--frames", {"type": int, "default": 3000, "help": "sampled of each program"}))
    build, account = options.build, Account()
    os.environ["MSREC_CACHE"] = ""
    with harness.Scratch() as work:
        cxx = compiled(work, "program.cpp", CXX, "g++", "-g", "-O2")
        programs = {"C++, -O2": cxx}
        if shutil.which("gdc"):
            programs["D, -O2"] = compiled(work, "program.d", D, "gdc", "-g", "-O2")
        else:
            print("SKIP: no gdc")
        rustc = shutil.which("rustc") or shutil.which(os.path.expanduser("~/.cargo/bin/rustc"))
        if rustc:
            programs["Rust, -O"] = compiled(work, "legacy.rs", RUST, rustc, "-g", "-O")
            try:
                programs["Rust, -O, v0"] = compiled(work, "v0.rs", RUST, rustc, "-g", "-O", "-C",
                                                    "symbol-mangling-version=v0")
            except subprocess.CalledProcessError:
                print("SKIP: this rustc writes the older names alone")
        else:
            print("SKIP: no rustc, and scripts/setup installs none")
        programs["msrec"] = build.msrec
        python = os.path.realpath("/usr/bin/python3")
        programs["python3, debug file"] = python
        for what, path in programs.items():
            n = options.frames * (3 if path == python else 1)
            account.program(build, what, path, sampled(path, n))
        wrong = [text for path in (cxx, programs.get("Rust, -O")) if path for text in profiles(build, work, path)]
        cc1plus = run(["g++", "-print-prog-name=cc1plus"]).strip()
        with open(os.path.join(work, "small.c"), "w") as file:
            file.write("#include <stdio.h>\nint main(int n, char **v) { while (n--) puts(v[n]); return 0; }\n")
        whole = compiled(work, "whole.cpp", CXX, "g++", "-E")
        runs = {"cc1plus": [cc1plus, "-quiet", "-fpreprocessed", whole, "-o", "/dev/null"],
                "clang": ["clang", "-c", "-O1", "-o", "/dev/null", os.path.join(work, "small.c")],
                "python3": [python, "-c", "import json, re, decimal, email.parser; "
                            "re.compile('(a|b)*c'); json.dumps([1] * 99)"]}
        for what, words in runs.items():
            for path, addresses in recorded(build, work, what, words).items():
                account.program(build, f"{what} run, {os.path.basename(path)[:14]}", path, addresses)
    print(f"frames {account.total}")
    print(f"files, lines and numbers of calls as addr2line's: {account.places} "
          f"({100 * account.places / account.total:.2f} %)")
    print(f"eu-addr2line, of {account.elf_total} asked: {account.elf_same} the same, "
          f"{account.elf_first} the same as far as it "
          "goes (no calls of functions that another unit describes: Rust, link-time optimisation)")
    print(f"names to the letter, too: {account.same}; of inlined functions: {account.inlined} frames")
    for name, n in account.classes.most_common():
        print(f"{n:7} {name}: {CLASSES.get(name, '')}")
    wrong = wrong or account.classes["unexplained"] > MISTAKES
    return 1 if wrong or account.total < 20000 or account.inlined < 5000 else 0


if __name__ == "__main__":
    sys.exit(main())
