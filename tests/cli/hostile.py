#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program with control characters, line ends and conversions in its name, folder, arguments, functions and source
files: these must not reach a terminal, the name of a file, or the lines of a result. The same for U+202E, which turns
the direction of text around."""

import os
import pty
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Scratch, arguments, compiler, methods, plain_environment, run_cases, skip    # noqa: E402

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e%s%n%999999d"
ARGUMENT = "x\nsnapshot=0\r\n" + EVIL
SOURCE = r"""
#include <stdlib.h>
void evil(void) __asm__("\"ev\033[31mil%s%n\"");
#line 1 "so\033[2Ju\nrce%s%n.c"
__attribute__((noinline)) void evil(void) { void *volatile p = malloc(1000); (void)p; }
int main(int argc, char **argv) { for (int i = 0; i < 20; i++) evil(); return argc == 1 || !argv; }
"""
JIT_SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	/* push %rbp; mov %rsp, %rbp; movabs $malloc, %rax; call *%rax; pop %rbp; ret */
	unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3 };
	void *(*function)(size_t) = malloc;
	char name[64];
	memcpy(code + 6, &function, sizeof(function));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 77;
	memcpy(page, code, sizeof(code));
	memcpy(&function, &page, sizeof(function));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(name, "w");
	fprintf(map, "%lx 40 ev\033[31mil;\r%%s\n", (unsigned long)page);
	fclose(map);
	void *volatile block = function(50000);
	return !block;
}
"""
MTRACE_LOG = b"= Start\n@ ./a b:(ev\033[31mil+0x5)[0x15] + 0x100 0x20\n"
HEAPTRACK_LOG = (b"v 10500 3\nX a\nI 1000 1\ns 4 ./ab\ns 9 ev\x1b[31mil\ns 7 so\x1b[2Ju\n"
                 b"i 1015 1 2 3 7\nt 1 0\na 20 1\n+ 0\n")
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|(?<![\x80-\xff])[\x80-\x9f]|\xe2\x80[\xa8-\xae]")
TIMEOUT = 60


class Tests:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        os.mkdir(os.path.join(folder, "d" + EVIL))
        self.program = os.path.join(folder, "d" + EVIL, "p" + EVIL)
        source = os.path.join(folder, "source.c")
        with open(source, "w", encoding="latin-1") as f:
            f.write(SOURCE)
        done = subprocess.run([*compiler(), "-g", "-O1", source, "-o", self.program], capture_output=True, text=True,
                              check=False)
        if "invalid character" in done.stderr:
            skip("this assembler takes no such names")
        assert done.returncode == 0, done.stderr
        self.run(self.build.msrec, "-o", "t", self.program, ARGUMENT)

    def run(self, *words, output=None, status=0):
        """All output of a command, which must not have control characters other than line ends."""
        done = subprocess.run(words, cwd=self.folder, env=plain_environment(TERM="dumb"), timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, capture_output=True)
        texts = [done.stdout, done.stderr]
        if output:
            with open(os.path.join(self.folder, output), "rb") as f:
                texts.append(f.read())
        for text in texts:
            found = CONTROL.search(text)
            assert not found, f"{words[0]} writes {text[max(0, found.start() - 40):found.end() + 20]!r}"
        assert done.returncode == status or (status is None and done.returncode > 0 and done.stderr), \
            f"{words}: {done.returncode}: {done.stderr}"
        return done.stdout + b"".join(texts[2:])

    def msconvert(self, *words, **more):
        return self.run(self.build.file("analyze/msconvert"), *words, **more)

    def check_names(self, *source):
        """The names of a trace, or of another program's recording, in all line formats and in all terminal
        output."""
        for name in ("massif", "callgrind", "xtree", "folded", "heaptrack", "csv-frames", "ndjson-frames"):
            text = self.msconvert(f"--to={name}", "--detailed-freq=1", *source)
            assert rb"ev\x1b[31mil" in text.replace(rb"\\x1b", rb"\x1b"), (name, text[-900:])
        self.msconvert("--to=massif", "-o", "m", *source)
        self.run(self.build.file("ms_print/ms_print"), "m")

    def msreplay(self, *words, **more):
        return self.run(self.build.file("analyze/msreplay"), *words, "t", **more)

    def test_massif(self):
        text = self.msreplay("--time-unit=B", "--massif-out-file=m", output="m")
        assert re.search(rb"\ncmd: \S*p\\x1b\]0;owned\\x07\\x1b\[2J\S*%s%n%999999d x\\x0asnapshot=0\\x0d\\x0a\\x1b",
                         text), text[:600]
        assert rb"ev\x1b[31mil" in text and rb"so\x1b[2Ju\x0arce%s%n.c:" in text, text[-900:]

    def test_xtree(self):
        for name in ("x.kcg", "x.ms"):
            text = self.msreplay("--xtree-memory=full", f"--xtree-memory-file={name}", "--massif-out-file=/dev/null",
                                 output=name)
            assert rb"ev\x1b[31mil" in text, text[-900:]

    def test_memusage(self):
        text = self.msreplay("--memusage=full", "--color=never")
        assert rb"ev\x1b[31mil" in text, text[-900:]

    def test_messages(self):
        """Names, values and options that commands refuse."""
        def refused(*words):
            self.run(*words, status=None)
        for name in ("msreplay", "msconvert"):
            command = self.build.file("analyze/" + name)
            for words in (["nowhere/" + EVIL], ["--" + EVIL], ["--threshold=" + EVIL, "t"], ["-o", EVIL + "/x/y", "t"]):
                refused(command, *words)
        for command in (self.build.msrec, self.build.file("analyze/msusage")):
            for words in ([EVIL], ["./" + EVIL], ["--" + EVIL, "true"]):
                refused(command, *words)
        refused(self.build.msrec, "-o", EVIL + "/x/y", "true")
        refused(self.build.msrec, "--sample=" + EVIL, "true")

    def test_names_in_files(self):
        self.check_names("t")

    def test_names_in_traces(self):
        self.run(self.build.msrec, "--embed-symbols", "-o", "e", self.program, ARGUMENT)
        os.rename(self.program, self.program + "x")
        try:
            self.check_names("e")
            text = self.run(self.build.file("analyze/msreplay"), "--memusage=full", "--color=never", "e")
        finally:
            os.rename(self.program + "x", self.program)
        assert rb"ev\x1b[31mil" in text, text[-900:]

    def test_names_from_others(self):
        for source, log in (("mtrace", MTRACE_LOG), ("heaptrack", HEAPTRACK_LOG)):
            with open(os.path.join(self.folder, source), "wb") as f:
                f.write(log)
            self.check_names(f"--from={source}", source)

    def test_names_of_compilers(self):
        """Code with a file for perf, whose names msrec embeds in the trace."""
        program, source = os.path.join(self.folder, "jit"), os.path.join(self.folder, "jit.c")
        with open(source, "w") as f:
            f.write(JIT_SOURCE)
        subprocess.run([*compiler(), "-g", "-O1", source, "-o", program], check=True)
        done = subprocess.run([self.build.msrec, "-q", "-o", "jit.%p", program], cwd=self.folder, timeout=TIMEOUT,
                              env=plain_environment())
        if done.returncode == 77:
            return "no code may be made at run time here"
        trace = next(n for n in os.listdir(self.folder) if re.fullmatch(r"jit\.[0-9]+", n))
        os.unlink(f"/tmp/perf-{trace[4:]}.map")
        self.check_names(trace)
        return None

    def test_notices(self):
        """The program is gone: its path is in a notice."""
        os.rename(self.program, self.program + "x")
        try:
            self.msreplay("--massif-out-file=/dev/null", "-v")
        finally:
            os.rename(self.program + "x", self.program)

    def test_msusage(self):
        self.run(self.build.file("analyze/msusage"), "--color=never", self.program, "y")

    def test_file_names(self):
        """%e is a program name, which the recorded program chooses."""
        self.run(self.build.msrec, "--trace-children=yes", "-o", "%e.%n.trace", self.program, "z")
        names = [os.fsencode(n) for n in os.listdir(self.folder) if n.endswith(".trace")]
        assert any(n.startswith(b"p\\x1b]0;owned") for n in names) and not any(CONTROL.search(n) for n in names), names

    def on_terminal(self, *words):
        """The bytes that a command writes to a terminal."""
        try:
            terminal, side = pty.openpty()
        except OSError as e:
            return None, f"no pseudo-terminals here ({e})"
        process = subprocess.Popen(words, cwd=self.folder, env=plain_environment(TERM="dumb"), stdin=subprocess.DEVNULL,
                                   stdout=side, stderr=side)
        os.close(side)
        text = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:
                part = b""
            if not part:
                break
            text += part
        os.close(terminal)
        process.wait(TIMEOUT)
        return text.replace(b"\r\n", b"\n"), None

    def test_ms_print(self):
        """Unchanged in a file, as Valgrind's ms_print writes it; escaped on a terminal."""
        with open(os.path.join(self.folder, "foreign"), "wb") as f:
            f.write(b"desc: (none)\ncmd: a\x1b[2Jb\xc2\x9b1m \xc3\xa4\ntime_unit: B\nsnapshot=0\ntime=0\nmem_heap_B=5\n"
                    b"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\nn0: 5 \x1b]0;x\x07 f\xc3\xbcr\n")
        ms_print = self.build.file("ms_print/ms_print")
        done = subprocess.run([ms_print, "foreign"], cwd=self.folder, capture_output=True, timeout=TIMEOUT)
        assert b"a\x1b[2Jb" in done.stdout and b"\x1b]0;x\x07 f" in done.stdout, done
        shown, why = self.on_terminal(ms_print, "foreign")
        if why:
            return why
        assert not CONTROL.search(shown), shown
        assert rb"a\x1b[2Jb\xc2\x9b1m" in shown and "für\n".encode() in shown and "ä\n".encode() in shown, shown
        shown = re.sub(rb"\\x(..)", lambda m: bytes([int(m.group(1), 16)]), shown)
        assert shown == done.stdout, "more than escapes differs"
        return None

    def test_ms_print_errors(self):
        with open(os.path.join(self.folder, "broken"), "wb") as f:
            f.write(b"cmd: x\ntime_unit: B\nsnap\x1b[2Jshot\n")
        shown, why = self.on_terminal(self.build.file("ms_print/ms_print"), "broken")
        assert why or (rb"snap\x1b[2Jshot" in shown and not CONTROL.search(shown)), shown
        return why


def main():
    options = arguments(__doc__, "--only")
    with Scratch() as folder:
        return run_cases(methods(Tests(options.build, folder)), None, options.only)


if __name__ == "__main__":
    sys.exit(main())
