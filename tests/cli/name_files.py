#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sources of names: each way of storing a program's symbols and debug information.

  name_files.py --build DIR

A C++ program with inlined calls is compiled once. The symbolizer answers for its names, files, lines and chains with
everything in place, and then with each arrangement of stripped, split, packed and moved files: the answers must be
the same, or as much of them as the files contain.
"""

import contextlib
import http.server
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

PROGRAM = r"""
#include <vector>
#include <string>
#include <cstdio>
namespace {
struct shape { virtual ~shape() = default; virtual double area() const = 0; };
template <int N> struct box : shape {
	double side;
	explicit box(double s) : side(s) {}
	double area() const override { double a = 1; for (int i = 0; i < N; i++) a *= side; return a; }
};
inline __attribute__((always_inline)) double twice(const shape &s) { return s.area() + s.area(); }
inline __attribute__((always_inline)) double sum(const std::vector<shape *> &v)
{
	double all = 0;
	for (auto *s : v)
		all += twice(*s);
	return all;
}
}
static __attribute__((noinline)) std::string text_of(double d) { return std::to_string(d) + "!"; }
extern "C" __attribute__((noinline)) double exported(const std::vector<shape *> &v) { return sum(v); }
int main(int argc, char **)
{
	std::vector<shape *> v;
	for (int i = 0; i < argc; i++) {
		v.push_back(new box<2>(i));
		v.push_back(new box<3>(i + 0.5));
	}
	std::puts(text_of(exported(v)).c_str());
}
"""


def sh(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


class Names:
    """Answers of the symbolizer for the addresses of one program."""

    asked = {}      # by command line: whose addresses

    def __init__(self, build, program):
        self.build = build
        self.tool = build.file("tests/tools/frame_names")
        self.build_id = re.search(r"Build ID: (\w+)", sh("readelf", "-n", program)).group(1)
        section = re.search(r"\] \.text +PROGBITS +(\w+) \w+ (\w+)", sh("readelf", "-SW", program))
        start, size = (int(value, 16) for value in section.groups())
        self.addresses = range(start, start + size, 3)

    def ask(self, path, *dirs, build_id=None, env=None):
        """The answers as one text, and the notices."""
        words = [self.tool, "-b", build_id or self.build_id]
        for directory in dirs:
            words += ["-s", directory]
        if not env:
            self.asked[(*words, path)] = self
        return self.say(words + [path], **(env or {}))

    def say(self, words, **env):
        done = subprocess.run(words, input="".join(f"{a:x}\n" for a in self.addresses),
                              capture_output=True, text=True, errors="surrogateescape", check=True,
                              env=harness.plain_environment(**env))
        return done.stdout, done.stderr


def functions(answer):
    """The outermost function of each address, which a symbol table alone has."""
    found, last = [], None
    for line in answer.splitlines() + ["0x"]:
        if line.startswith("0x"):
            found.append(last)
        else:
            last = line.split("\t")[0]
    return found


def strip_to(program, folder):
    """A stripped copy of the program, under its own name."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "program")
    sh("strip", "-o", path, program)
    return path


def check_debuglink(check, names, program, work, whole):
    base = os.path.join(work, "link")
    debug = os.path.join(base, "elsewhere", "program.dbg")
    stripped = strip_to(program, os.path.join(base, "bin"))
    os.makedirs(os.path.dirname(debug))
    sh("objcopy", "--only-keep-debug", program, debug)
    sh("objcopy", "--add-gnu-debuglink=" + debug, stripped)
    # By its build id libdwfl would find it too: only the link may lead to it here.
    check("debuglink: not found without a hint", names.ask(stripped)[0] != whole)
    check("debuglink: in a folder of debug files", names.ask(stripped, os.path.dirname(debug))[0] == whole)
    os.makedirs(os.path.join(base, "bin", ".debug"))
    beside = os.path.join(base, "bin", ".debug", "program.dbg")
    shutil.copy(debug, beside)
    check("debuglink: in .debug beside the file", names.ask(stripped)[0] == whole)
    with open(beside, "ab") as file:
        file.write(b"\0")
    # A build id in the debug file counts for more than the checksum of all its bytes; without one:
    plain = os.path.join(base, "plain")
    os.makedirs(plain)
    for name in ("program", "program.dbg"):
        sh("objcopy", "--remove-section=.note.gnu.build-id",
           stripped if name == "program" else debug, os.path.join(plain, name))
    bare = os.path.join(plain, "program")
    sh("objcopy", "--remove-section=.gnu_debuglink", bare)
    sh("objcopy", "--add-gnu-debuglink=" + os.path.join(plain, "program.dbg"), bare)
    check("debuglink: without build ids", ask_on_trust(names, bare) == whole)
    with open(os.path.join(plain, "program.dbg"), "ab") as file:
        file.write(b"\0")
    check("debuglink: another checksum is refused", ask_on_trust(names, bare) != whole)


def ask_on_trust(names, path):
    """Of a program that was recorded without a build id."""
    return subprocess.run([names.tool, path], input="".join(f"{a:x}\n" for a in names.addresses),
                          capture_output=True, text=True, check=True,
                          env=harness.plain_environment()).stdout


def check_build_id(check, names, program, work, whole):
    base = os.path.join(work, "ids")
    stripped = strip_to(program, os.path.join(base, "bin"))
    for sub in ("", "usr/lib/debug"):
        folder = os.path.join(base, "store" + sub.replace("/", "-"))
        place = os.path.join(folder, sub, ".build-id", names.build_id[:2])
        os.makedirs(place)
        sh("objcopy", "--only-keep-debug", program, os.path.join(place, names.build_id[2:] + ".debug"))
        kind = "sysroot" if sub else "folder of debug files"
        check(f"build id: in a {kind}", names.ask(stripped, folder)[0] == whole)
        answer = names.ask("/nonexistent/program", folder)[0]
        check(f"build id: in a {kind}, the program itself gone", answer == whole)


def check_tree(check, names, program, work, whole):
    root = os.path.join(work, "root")
    os.makedirs(os.path.join(root, "opt/app/bin"))
    shutil.copy(program, os.path.join(root, "opt/app/bin/program"))
    check("other folder tree", names.ask("/opt/app/bin/program", root)[0] == whole)
    check("other folder, by its own name", names.ask("/opt/app/bin/program", root + "/opt/app/bin")[0] == whole)
    answer, notices = names.ask("/opt/app/bin/program")
    check("gone: nothing is known", set(functions(answer)[1:]) == {"?"})
    check("gone: a notice names it", "/opt/app/bin/program: not found" in notices, notices)


def check_wrong_build_id(check, names, program, work, whole):
    other = names.build_id[:-1] + ("0" if names.build_id[-1] != "0" else "1")
    answer, notices = names.ask(program, build_id=other)
    check("wrong build id: nothing is used", set(functions(answer)[1:]) == {"?"})
    check("wrong build id: a notice names the file",
          notices == f"{program}: build id differs from the recorded one, not used\n", notices)
    root = os.path.join(work, "wrong")
    os.makedirs(root)
    source = os.path.join(work, "program.cpp")
    sh("g++", "-g", "-O2", "-Wl,--build-id=0x" + other, "-o", os.path.join(root, "program"), source)
    answer, notices = names.ask(program, root)
    check("wrong build id: the next place is used", answer == whole)
    check("wrong build id: a notice all the same", f"{root}/program: build id differs" in notices, notices)


def check_packed(check, names, program, work, whole):
    folder = os.path.join(work, "packed")
    os.makedirs(folder)
    for kind in ("zlib-gabi", "zlib-gnu", "zstd"):
        packed = os.path.join(folder, kind)
        if subprocess.run(["objcopy", "--compress-debug-sections=" + kind, program, packed], capture_output=True,
                          check=False).returncode:
            check(f"compressed sections: objcopy lacks {kind}", kind == "zstd")
            continue
        check(f"compressed sections: {kind}", names.ask(packed)[0] == whole)
    alone = os.path.join(folder, "alone")
    shutil.copy(program, alone)
    sh("dwz", alone)
    check("dwz", names.ask(alone)[0] == whole)
    pair = [os.path.join(folder, name) for name in ("one", "two")]
    for path in pair:
        shutil.copy(program, path)
    sh("dwz", "-m", os.path.join(folder, "common"), "-r", *pair)
    linked = ".gnu_debugaltlink" in sh("readelf", "-SW", pair[0])
    check("dwz with a common file", linked and names.ask(pair[0])[0] == whole, f"linked: {linked}")


def check_packed_addresses(check, build, work):
    """clang's DWARF 5 has addresses in a section of their own."""
    program = os.path.join(work, "addresses")
    sh("clang++", "-gdwarf-5", "-O2", "-Wl,--build-id", "-o", program, os.path.join(work, "program.cpp"))
    names = Names(build, program)
    whole = names.ask(program)[0]
    for kind in ("zlib", "zstd"):
        packed = f"{program}.{kind}"
        if subprocess.run(["objcopy", "--compress-debug-sections=" + kind, program, packed], capture_output=True,
                          check=False).returncode:
            check(f"compressed sections, clang: objcopy lacks {kind}", kind == "zstd")
            continue
        check(f"compressed sections, clang: {kind}", "twice" in whole and names.ask(packed)[0] == whole)


UNITS = {
    "one.c": """int two(int); int three(int);
static inline __attribute__((always_inline)) int in_one(int a) { return two(a) + 1; }
int main(int n, char **v) { (void)v; return in_one(n) + three(n); }
""",
    "two.c": """static inline __attribute__((always_inline)) int in_two(int a) { return a % 7 * a; }
int two(int a) { int r = 0; while (a > 0) r += in_two(a--); return r; }
""",
    "three.c": """static __attribute__((noinline)) int deep(int a) { return a / 3 ^ a; }
int three(int a) { return deep(a) + deep(a + 1); }
""",
    # More than the symbolizer unpacks at once.
    "many.c": "static inline __attribute__((always_inline)) int in_many(int a) { return a * a % 11; }\n" +
              "".join(f"__attribute__((used)) int many{i}(int a, int b{i})"
                      f"\n{{\nint c{i} = a * {i};\nreturn in_many(c{i}) ^ b{i};\n}}\n" for i in range(1000)),
    "last.c": "__attribute__((used)) int last(int a) { return a + 4; }\n",
}
# With LTO units name each other; what it drops is still described, between two that do, so that one of them is not
# unpacked with the other.
DROPPED = "dropped.c"
LTO_UNITS = {"one.c": UNITS["one.c"], DROPPED: UNITS["many.c"].replace("__attribute__((used)) ", ""),
             **{name: UNITS[name] for name in ("two.c", "three.c", "last.c")}}


def check_unpacking(check, names, work):
    """Compressed debug files of programs of several units, which are unpacked as far as an address asks for."""
    folder = os.path.join(work, "unpacking")
    os.makedirs(folder)
    # clang writes no .debug_aranges.
    for words in ("gcc -gdwarf-5", "gcc -gdwarf-4 -fdebug-types-section", "gcc -gdwarf-5 -flto", "clang -gdwarf-4"):
        program = os.path.join(folder, words.replace(" ", ""))
        units = LTO_UNITS if "-flto" in words else UNITS
        for name, text in units.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        sh(*words.split(), "-O1", "-Wl,--build-id", "-o", program, *units, cwd=folder)
        of_units = Names(names.build, program)
        all_of_it = of_units.addresses
        everywhere = of_units.ask(program)[0]
        every = of_units.addresses = [*all_of_it[:60], *all_of_it[60:-30:9], *all_of_it[-30:]]
        whole = of_units.ask(program)[0]
        packed = strip_to(program, program + ".stripped")
        debug = packed + ".debug"
        sh("objcopy", "--only-keep-debug", "--compress-debug-sections=zlib", program, debug)
        sh("objcopy", "--add-gnu-debuglink=" + debug, packed)
        fine = all(name in everywhere for name in units if name != DROPPED) and of_units.ask(packed)[0] == whole
        # One address alone, in a process of its own: nothing of the other units has been unpacked.
        for address in [*every[:60:12], *every[60:-30:len(every) // 3], every[-15], every[-1]]:
            of_units.addresses = [address]
            fine = fine and of_units.ask(packed)[0] == of_units.ask(program)[0]
        check(f"compressed debug file: {words}", fine)
        of_units.addresses = every[::20]
        check_damaged(check, of_units, packed, debug, words)
        check_nonsense(check, of_units, packed, debug, words)


class Damage:
    """Turns bits at the beginnings of a debug file's sections over, the same ones in each run."""

    def __init__(self, path):
        self.random = 12345
        with open(path, "rb") as file:
            self.good = file.read()
        self.sections = [int(value, 16) for value in re.findall(r"\.debug_\w+ +PROGBITS +\w+ (\w+)",
                                                                sh("readelf", "-SW", path))]

    def write(self, path, sections):
        bad = bytearray(self.good)
        for start in sections:
            self.random = self.random * 1103515245 + 12345 & 0x7fffffff
            bad[start + (self.random >> 8) % 60] ^= 1 << self.random % 7
        with open(path, "wb") as file:
            file.write(bad)


def check_damaged(check, names, packed, debug, words):
    """With any damage the symbolizer answers for each address, and does no harm."""
    damage = Damage(debug)
    answers = set()
    for _ in range(6):
        damage.write(debug, damage.sections)
        answers.add(len(functions(names.ask(packed)[0])))
    check(f"damaged debug file: {words}", answers == {len(names.addresses) + 1}, str(answers))


def check_nonsense(check, names, packed, debug, words):
    """Sections damaged before compression: the same answers as libdw's for the uncompressed file."""
    plain = debug + ".plain"
    sh("objcopy", "--only-keep-debug", packed.removesuffix(".stripped/program"), plain)
    damage = Damage(plain)
    same = True
    for section in 2 * damage.sections:
        damage.write(plain, [section])
        shutil.copy(plain, debug)
        answer = names.ask(packed)[0]
        sh("objcopy", "--compress-debug-sections=zlib", plain, debug)
        same = same and names.ask(packed)[0] == answer
    check(f"nonsense in a compressed debug file: {words}", same)


def check_split(check, names, work):
    """Debug information in .dwo files; of a build of its own, since the compiler says where they are."""
    folder = os.path.join(work, "split")
    os.makedirs(folder)
    source = os.path.join(folder, "program.cpp")
    shutil.copy(os.path.join(work, "program.cpp"), source)
    for version in ("4", "5"):
        built = {}
        for option in ("-gno-split-dwarf", "-gsplit-dwarf"):
            name = os.path.join(folder, "program" + version + option)
            sh("g++", "-gdwarf-" + version, option, "-O2", "-Wl,--build-id", "-c", "-o", name + ".o", source,
               cwd=folder)
            sh("g++", "-Wl,--build-id=0x0123456789abcdef", "-o", name, name + ".o", cwd=folder)
            built[option] = Names.ask(names, name, build_id="0123456789abcdef")[0]
        same = built["-gno-split-dwarf"] == built["-gsplit-dwarf"]
        check(f"split debug information, DWARF {version}", same and "program.cpp" in built["-gsplit-dwarf"])
        os.remove(name + ".dwo")
        notices = names.ask(name, build_id="0123456789abcdef")[1]
        notice = f"{name}: debug file {name}.dwo not found, inlined functions are left out\n"
        check(f"a notice of a .dwo file, DWARF {version}", notices == notice, notices)


# Calls of malloc in inlined functions, which are described by the unit itself, by another one, and by an entry of its
# own that another unit names, as rustc writes it; and in a function between those of a unit, as gcc leaves the ones it
# made itself (for Ada, say).
UNITS_APART = r"""
	.section .debug_line,"",@progbits
lines:	.section .text.startup,"ax",@progbits
	.file 1 "this.c"
unit_begin:
	.globl main
	.type main, @function
main:	.loc 1 1
	.cfi_startproc
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	.irp part, near, far, farther
\part\()_begin:
	mov $11, %edi
	call malloc@plt
\part\()_end:
	.endr
	call made
	xor %eax, %eax
	add $8, %rsp
	ret
	.cfi_endproc
	.size main, . - main
unit_break:
	.type made, @function
made:	.cfi_startproc
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	mov $11, %edi
	call malloc@plt
	add $8, %rsp
	ret
	.cfi_endproc
	.size made, . - made
unit_goes_on:
	.loc 1 2
	nop
unit_end:
	.loc 1 3 view after_all
	.text
unit_rest:
	.loc 1 4
	nop
rest_end:
	.section .debug_ranges,"",@progbits
ranges:	.quad unit_begin, unit_break, unit_goes_on, unit_end, unit_rest, rest_end
no_ranges:
	.quad 0, 0
	.macro attributes words:vararg
	.uleb128 \words, 0, 0
	.endm
	.section .debug_abbrev,"",@progbits
abbrevs:
	attributes 1, 0x11, 1, 3, 8, 0x11, 1, 0x55, 0x17, 0x10, 0x17	# unit
	attributes 2, 0x2e, 0, 3, 8					# function
	attributes 3, 0x2e, 0, 0x47, 0x10				# function specified in another unit
	attributes 4, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 1			# function with code
	attributes 5, 0x1d, 0, 0x31, 0x10, 0x11, 1, 0x12, 1, 0x58, 11, 0x59, 11	# inlined, of another unit
	attributes 6, 0x1d, 0, 0x31, 0x13, 0x11, 1, 0x12, 1, 0x58, 11, 0x59, 11	# inlined, of this one
	.byte 0
	.macro unit label, name, ranges
	.long \label\()_end - 1f
1:	.value 4
	.long abbrevs
	.byte 8, 1
	.asciz "\name"
	.quad 0
	.long \ranges, lines
	.endm
	.macro inlined number, entry, part
	.byte \number
	.long \entry
	.quad \part\()_begin, \part\()_end
	.byte 1, 7
	.endm
	.section .debug_info,"",@progbits
	unit other, other.c, no_ranges
elsewhere:
	.byte 2
	.asciz "take_elsewhere"
	.byte 0
other_end:
this:	unit this, this.c, ranges
here:	.byte 2
	.asciz "take_here"
shared:	.byte 3
	.long elsewhere
	.byte 4
	.asciz "main"
	.quad unit_begin, unit_break
	inlined 6, here-this, near
	inlined 5, elsewhere, far
	inlined 6, shared-this, farther
	.byte 0, 0
this_end:
	.section .note.GNU-stack,"",@progbits
"""


def tree_of(build, trace, compat):
    """What msreplay prints of all that is live."""
    return sh(build.file("analyze/msreplay"), "-q", "--time-unit=B", "--detailed-freq=1", "--threshold=0",
              "--compat=" + compat, "--massif-out-file=-", trace)


def check_units_apart(check, build, work):
    """As Massif itself shows it, which until 3.26 had no name for functions that another unit describes."""
    source, program, trace = (os.path.join(work, "apart" + end) for end in (".s", "", ".zst"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(UNITS_APART)
    sh("gcc", "-o", program, source)
    sh(build.file("trace-record/msrec"), "-q", "-f", "-o", trace, program)
    for compat, expected in (("fixed", ["take_here", "take_elsewhere", "take_elsewhere", "made"]),
                             ("3.19", ["take_here", "UnknownInlinedFun", "UnknownInlinedFun", "made"]),
                             ("3.24", ["take_here", "UnknownInlinedFun", "UnknownInlinedFun", "made"]),
                             ("3.27", ["take_here", "take_elsewhere", "take_elsewhere", "made"])):
        shown = sh(build.file("analyze/msreplay"), "-q", "--time-unit=B", "--compat=" + compat, "--detailed-freq=5",
                   "--massif-out-file=-", trace)
        functions_shown = re.findall(r"^ n1: \d+ 0x[0-9A-F]+: (\w+) \(this.c:1\)$", shown, re.M)
        check(f"units that are apart: {compat}", functions_shown == expected, shown)
    # crt1.o's code lies between two parts of the unit; the rows of the first end before it with an empty one.
    names = Names(build, program)
    names.addresses = [int(re.search(r"^(\w+) T _start$", sh("nm", program), re.M).group(1), 16)]
    shown = names.ask(program)[0]
    check("units that are apart: code of another one between", shown.endswith("\n_start\t?\t?\t0\n"), shown)


INLINED = """#include <stdlib.h>
void *volatile kept;
static inline __attribute__((always_inline)) void take(int n) { kept = malloc(n); }
__attribute__((noinline)) void outer(int n) {
	take(n);
}
int main(int n, char **v) { (void)v; outer(n); return 0; }
"""


INNER = """#include <cstdlib>
void *volatile kept;
static inline __attribute__((always_inline)) void take(int n) { kept = malloc(n); }
struct type { __attribute__((noinline)) static void outer(int n); };
__attribute__((noinline)) void around(int n) {
	struct inner { __attribute__((noinline)) static void outer(int n) { take(n); } };
	inner::outer(n);
}
int main(int n, char **) { around(n); return 0; }
"""

MODULE = """module shapes
  use iso_c_binding
  interface
    type(c_ptr) function get(n) bind(c, name="malloc")
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: n
    end function
  end interface
  type(c_ptr), volatile :: kept
contains
  subroutine take(n)
    integer(c_size_t), intent(in) :: n
    kept = get(n)
  end subroutine
  subroutine outer(n)
    integer(c_size_t), intent(in) :: n
    call take(n)
  end subroutine
end module
"""

MODULE_USER = """program p
  use shapes
  call outer(1_c_size_t)
end program
"""

CALLS = ["take (program.c:3)", "outer (program.c:5)"]
ALONE = ["outer (program.c:3)"]
INNER_CALLS, INNER_ALONE = ["take (program.cpp:3)", "outer (program.cpp:6)"], ["outer (program.cpp:3)"]
MODULE_CALLS, MODULE_ALONE = ["take (program.f90:13)", "outer (program.f90:17)"], ["outer (program.f90:13)"]
# What is compiled, and what Massif 3.19, 3.24 and 3.27 themselves show.
UNKNOWN = (
    ("program.c", "gcc -gdwarf-5", CALLS, CALLS, CALLS),
    ("program.c", "clang -gdwarf-4", CALLS, CALLS, CALLS),
    ("program.c", "clang -gdwarf-5", ALONE, [CALLS[0], "outer (???:5)"], [CALLS[0], "outer (???:5)"]),
    ("program.c", "gcc -gdwarf-4 -gsplit-dwarf", ALONE, ALONE, ALONE),
    ("program.c", "clang -gdwarf-5 -gsplit-dwarf", ["outer"], ALONE, ALONE),
    ("program.cpp", "g++ -gdwarf-4", INNER_ALONE, INNER_ALONE, INNER_CALLS),
    ("program.f90", "gfortran -gdwarf-4 user.f90", MODULE_ALONE, MODULE_ALONE, MODULE_CALLS),
)


def check_unknown_to_massif(check, build, work):
    """Inlined calls, by language and the compiler's options."""
    folder = os.path.join(work, "unknown")
    os.makedirs(folder)
    for name, text in (("program.c", INLINED), ("program.cpp", INNER), ("program.f90", MODULE),
                       ("user.f90", MODULE_USER)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    for source, words, *known in UNKNOWN:
        if not shutil.which(words.split()[0]):
            print(f"SKIP: inlined calls of {words}: not installed")
            continue
        program, trace = (os.path.join(folder, "program" + end) for end in ("", ".zst"))
        compiler, *more = words.split()
        sh(compiler, "-O1" if source == "program.c" else "-O2", "-o", program, source, *more, cwd=folder)
        sh(build.file("trace-record/msrec"), "-q", "-f", "-o", trace, program)
        fixed = {"program.c": CALLS, "program.cpp": INNER_CALLS, "program.f90": MODULE_CALLS}[source]
        for compat, expected in zip(("fixed", "3.19", "3.24", "3.27"), (fixed, *known)):
            shown = tree_of(build, trace, compat)
            places = re.findall(r" 0x[0-9A-F]+: (?:\w+\(int\)::inner::|__shapes_MOD_)?(take|outer)(?:\(int\))? "
                                r"\((?:in .*?/unknown/.*|(.*))\)$", shown, re.M)
            found = list(dict.fromkeys(f"{name} ({place})" if place else name for name, place in places))
            check(f"inlined calls: {words}, {compat}", found == expected, shown[-3000:])


def check_symbols_only(check, names, program, work, whole):
    folder = os.path.join(work, "symbols")
    stripped = strip_to(program, folder)
    exported = {name for name in functions(names.ask(stripped)[0])[1:] if name != "?"}
    check("stripped: the dynamic symbols are left", "exported" in exported and "main" not in exported,
          str(exported))
    mini = os.path.join(folder, "mini")
    sh("objcopy", "--strip-debug", "--remove-section=.comment", "--only-keep-debug", program, mini)
    sh("xz", "-f", mini)
    packed = os.path.join(folder, "packed")
    sh("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", stripped, packed)
    check("MiniDebugInfo", functions(names.ask(packed)[0]) == functions(whole))


def check_age(check, build, work):
    """A program without a build id, before and after it is written anew; and where its folder is given."""
    source, program, trace = (os.path.join(work, "aged" + suffix) for suffix in (".c", "", ".zst"))
    with open(source, "w") as file:
        file.write("#include <stdlib.h>\nint main(void) { return malloc(10) == 0; }\n")
    sh("gcc", "-Wl,--build-id=none", "-o", program, source)
    sh(build.msrec, "-q", "-o", trace, program)
    for what, seconds, words, is_reported in (("the same", -3600, (), False), ("a later one", 3600, (), True),
                                       ("a copy", 3600, ("--symbols=" + work,), False)):
        os.utime(program, (time.time() + seconds, time.time() + seconds))
        notices = subprocess.run([build.file("analyze/msreplay"), f"--massif-out-file={work}/aged.massif", *words,
                                  trace], capture_output=True, text=True, check=True).stderr
        check(f"no build id: {what}", ("its names may be wrong" in notices) == is_reported, notices)


def check_mapped(check, build, work):
    """Built with nothing in the place of its folder, as reproducible builds are: paths stay relative."""
    os.makedirs(os.path.join(work, "sub"))
    with open(os.path.join(work, "sub", "mapped.c"), "w") as file:
        file.write("int main(void) { return 0; }\n")
    program = os.path.join(work, "mapped")
    for version in ("4", "5"):
        sh("gcc", "-gdwarf-" + version, f"-ffile-prefix-map={work}=", "-o", program, "sub/mapped.c", cwd=work)
        address = re.search(r"^(\w+) T main$", sh("nm", program), re.MULTILINE).group(1)
        answer = sh(build.file("tests/tools/frame_names"), program, input=address + "\n")
        check(f"an empty folder, DWARF {version}", "main\tsub\tmapped.c\t1\n" in answer, answer)


NAMELESS = r"""
#include <string>
static thread_local std::string one(100, 'x');
thread_local std::string two(200, 'y');
__attribute__((noinline)) size_t use(int n) { return one.size() + n; }
__attribute__((noinline)) size_t use_other(int n) { return two.size() + n; }
int main(int argc, char **) { return use(argc) + use_other(argc) == 0; }
"""


COMMON = r"""
#include <vector>
int *volatile kept; // or gcc 16 needs no block
int main(int argc, char **) { std::vector<int> v; v.push_back(argc); kept = v.data(); return v.size() != 1; }
"""


def recorded(build, work, program):
    trace = os.path.join(work, "tree.zst")
    sh(build.msrec, "-q", "-f", "-o", trace, program)
    return trace


ALLOCATE = "std::__new_allocator<int>::allocate(unsigned long, void const*)"


def check_less_known(check, build, work):
    """Inlined functions whose names Massif doesn't find. clang's __tls_init has one for the linker alone."""
    for name, text in ("nameless", NAMELESS), ("common", COMMON):
        with open(os.path.join(work, name + ".cpp"), "w") as file:
            file.write(text)
    nameless, common = os.path.join(work, "nameless"), os.path.join(work, "common")
    sh("clang++", "-gdwarf-4", "-O2", "-o", nameless, "nameless.cpp", cwd=work)
    sh("g++", "-g", "-O2", "-o", common, "common.cpp", cwd=work)
    shutil.copy(common, common + "2")
    sh("dwz", "-r", "-m", common + ".debug", common, common + "2")
    for program, file, *names in (
            (nameless, "nameless.cpp:", "__tls_init", "AbsOriFnNameNotFound", "AbsOriFnNameNotFound", "<artificial>"),
            (common, "new_allocator.h:", ALLOCATE, "UnknownInlinedFun", "UnknownInlinedFun", "allocate")):
        for compat, name in zip(("fixed", "3.19", "3.24", "3.27"), names):
            tree = tree_of(build, recorded(build, work, program), compat)
            tree = tree.replace("__gnu_cxx::new_allocator<", "std::__new_allocator<")   # before gcc 12
            check(f"{file} {name}", f": {name} ({file}" in tree, tree)
    os.remove(common + ".debug")
    check_common_lacks(check, build, work, "common.debug")
    sh("g++", "-g", "-O2", "-o", common, "common.cpp", cwd=work)
    shutil.copy(common, common + "2")
    if subprocess.run(["dwz", "--dwarf-5", "-r", "-m", common + ".sup", common, common + "2"], capture_output=True,
                      check=False).returncode:
        print("SKIP: this dwz writes no common files of DWARF 5")
        return
    recorded(build, work, common)
    os.remove(common + ".sup") # which elfutils reads since 0.196, or before
    check_common_lacks(check, build, work, "common.sup")


def check_common_lacks(check, build, work, name):
    """The trace is that of recorded()."""
    said = subprocess.run([build.file("analyze/msreplay"), "--threshold=0", "--detailed-freq=1",
                           f"--massif-out-file={work}/tree.massif", os.path.join(work, "tree.zst")],
                          capture_output=True, text=True, check=True).stderr
    check(f"a notice of dwz's {name}", f"common debug file {name} not read" in said, said)


def check_deep(check, build, work):
    """A long chain of inlined calls is whole."""
    calls = 300
    with open(os.path.join(work, "deep.c"), "w") as file:
        file.write("#include <stdlib.h>\n#define IN static inline __attribute__((always_inline)) void *\n"
                   "IN f0(int n) { return malloc(n); }\n")
        file.write("".join(f"IN f{i}(int n) {{ return f{i - 1}(n + 1); }}\n" for i in range(1, calls)))
        file.write(f"int main(int n, char **v) {{ (void)v; return f{calls - 1}(n) == 0; }}\n")
    program = os.path.join(work, "deep")
    sh("gcc", "-g", "-O1", "-o", program, "deep.c", cwd=work)
    lines = re.findall(r": (f\d+|main) \(deep.c:(\d+)\)\n", tree_of(build, recorded(build, work, program), "fixed"))
    wanted = [(f"f{i}", str(i + 3)) for i in range(calls)] + [("main", str(calls + 3))]
    check(f"{calls} inlined calls", lines[:calls + 1] == wanted, str(lines[-3:]))


@contextlib.contextmanager
def debuginfod(folder, work):
    """A server of what is in the folder; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = open(os.path.join(work, "debuginfod.log"), "w")
    server = subprocess.Popen(["debuginfod", "-p", str(port), "-d", os.path.join(work, "index.sqlite"), "-F", folder],
                              stdout=log, stderr=log, env={**os.environ, "DEBUGINFOD_URLS": ""})
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()
        log.close()


def check_debuginfod(check, names, program, work, whole):
    store = os.path.join(work, "server")
    os.makedirs(store)
    shutil.copy(program, os.path.join(store, "program"))
    sh("objcopy", "--only-keep-debug", program, os.path.join(store, "program.debug"))
    stripped = strip_to(program, os.path.join(work, "client"))
    with debuginfod(store, work) as url:
        answers = {}
        deadline = time.monotonic() + 60
        round_of = 0
        while time.monotonic() < deadline:
            # Misses are remembered in the cache: a new one for each try, until the index is there.
            round_of += 1
            env = {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": os.path.join(work, f"cache{round_of}")}
            answers = {path: names.ask(path, env=env)[0] for path in (stripped, "/nonexistent/program")}
            if all(answer == whole for answer in answers.values()):
                break
            time.sleep(0.3)
        check("debuginfod: debug information of a stripped file", answers[stripped] == whole)
        check("debuginfod: a program that is gone", answers["/nonexistent/program"] == whole)
        check("debuginfod: not asked unless wanted", names.ask(stripped)[0] != whole)
    answer, _ = names.ask(stripped, env={"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": work + "/fresh"})
    check("debuginfod: a server that is gone", functions(answer) == functions(names.ask(stripped)[0]))


class Endless(http.server.BaseHTTPRequestHandler):
    """Answers that don't end: fast, packed to a thousandth, or slow."""

    def do_GET(self):
        self.server.asked += 1
        packer = zlib.compressobj(9, wbits=31)
        self.send_response(200)
        if self.server.how == "packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.over:
                self.wfile.write(packer.compress(bytes(1 << 20)) if self.server.how == "packed" else bytes(20000))
                if self.server.how == "slow":
                    time.sleep(0.1)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def endless(how):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        server.how, server.asked, server.over = how, 0, False
        threading.Thread(target=server.serve_forever).start()
        try:
            yield server
        finally:
            server.over = True
            server.shutdown()


def check_endless(check, names, program, work, _):
    """A server's answer is given up at the limits, and no other file is asked for. Of libdwfl's client and of ours."""
    stripped = strip_to(program, os.path.join(work, "endless"))
    size, seconds = {"DEBUGINFOD_MAXSIZE": "20000000"}, {"DEBUGINFOD_MAXTIME": "1"}
    for how, limit in (("fast", size), ("packed", size), ("slow", seconds)):
        for path in (stripped, "/nonexistent/program"):
            cache = os.path.join(work, f"endless-{how}{path.count('/')}")
            with endless(how) as server:
                # libdebuginfod's client itself leaks when a transfer is given up.
                env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}", "DEBUGINFOD_CACHE_PATH": cache,
                       "LSAN_OPTIONS": "detect_leaks=0", "ASAN_OPTIONS": "detect_leaks=0", **limit}
                _, notices = names.ask(path, env=env)
            kept = sum(os.path.getsize(os.path.join(folder, file))
                       for folder, _, files in os.walk(cache) for file in files)
            check(f"debuginfod: an endless {how} answer for {os.path.basename(path)}",
                  "an answer was too large or too slow" in notices and server.asked <= 2 and kept < 100000,
                  f"{notices}asked {server.asked} times, {kept} bytes")


def change_kept(path, old, new):
    """Puts another text into a file of the cache, with the right checksum."""
    with open(path, "rb") as file:
        data = file.read()
    body = data[160:].replace(old, new)
    with open(path, "wb") as file:
        file.write(data[:156] + struct.pack("<I", zlib.crc32(body)) + body)
    return body != data[160:]


def check_cache(check, names, program, work):
    """The cache has the symbolizer's answers for exactly the files of the questions above."""
    folder = os.path.join(work, "kept")
    later = names.build.later()     # files must have been left alone for some time
    wrong, other = [], 0
    for (tool, *question), of in names.asked.items():
        words = [tool, "-m", *question]
        plain = of.say(words)
        wrong += [words for _ in range(2) if of.say(words, MSREC_CACHE=folder, **later) != plain]
        other += plain[0].count("\tUnknownInlinedFun\n") + plain[0].count("\n-")
    check(f"cache: {len(names.asked)} questions, twice", len(names.asked) > 15 and not wrong, str(wrong[:2]))
    check("cache: of what Massif 3.19 doesn't know, too", other > 0)
    (kept,) = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(names.build_id)]
    question = [names.tool, "-b", names.build_id, program]
    whole = names.say(question)
    check("cache: a kept file", names.say(question, MSREC_CACHE=folder, **later) == whole)
    changed = change_kept(kept, b"program.cpp", b"PROGRAM.cpp")
    answer = names.say(question, MSREC_CACHE=folder, **later)[0]
    check("cache: is asked", changed and answer == whole[0].replace("program.cpp", "PROGRAM.cpp"), answer)
    check("cache: isn't asked when it isn't wanted", names.say(question, MSREC_CACHE="", **later) == whole)
    home = os.path.join(work, "home")
    os.makedirs(home)
    shutil.copytree(folder, os.path.join(home, ".cache", "msrec"))
    check("cache: in the home folder", names.say(question, HOME=home, **later)[0] == answer)
    os.utime(program)
    check("cache: not of a file that has been touched", names.say(question, MSREC_CACHE=folder) == whole)
    check("cache: nor later", names.say(question, MSREC_CACHE=folder, **later) == whole)
    os.rename(program, program + ".old")
    sh("strip", "-o", program, program + ".old")
    bare = names.say(question)
    check("cache: not of a file that has been stripped", bare != whole and
          names.say(question, MSREC_CACHE=folder) == bare)
    check("cache: nor later", names.say(question, MSREC_CACHE=folder, **later) == bare)
    check("cache: a folder that is none", names.say(question, MSREC_CACHE=program, **later) == bare)


def main():
    build, check = harness.arguments(__doc__).build, harness.Checks()
    with harness.Scratch() as work:
        source, program = os.path.join(work, "program.cpp"), os.path.join(work, "original", "program")
        with open(source, "w") as file:
            file.write(PROGRAM)
        os.makedirs(os.path.dirname(program))
        sh("g++", "-g", "-O2", "-Wl,--export-dynamic-symbol=exported", "-Wl,--build-id",
           "-o", program, source)
        names = Names(build, program)
        whole, notices = names.ask(program)
        inlined = "sum\t" in whole and "twice\t" in whole and "program.cpp" in whole
        check("everything in place", inlined and "exported" in whole and not notices, whole[:200] + notices)
        for part in (check_debuglink, check_build_id, check_tree, check_wrong_build_id, check_packed,
                     check_symbols_only, check_debuginfod, check_endless):
            part(check, names, program, work, whole)
        check_split(check, names, work)
        check_unpacking(check, names, work)
        check_packed_addresses(check, build, work)
        check_less_known(check, build, work)
        check_deep(check, build, work)
        check_age(check, build, work)
        check_mapped(check, build, work)
        check_units_apart(check, build, work)
        check_unknown_to_massif(check, build, work)
        check_cache(check, names, program, work)
    return check.status()


if __name__ == "__main__":
    sys.exit(main())
