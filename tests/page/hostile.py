# SPDX-License-Identifier: MIT
"""A program whose functions, thread, path and arguments have hostile names."""

import os
import subprocess

import harness

# Markup, what ends scripts and comments, what reverses or hides text, the template's places, and a long one.
NAMES = ("</script><script>window.owned = 1</script>", "<img src=x onerror=window.owned=1>", "<!--<script>", "]]>",
         "@META@", "@DATA@", "${window.owned = 1}", "\u202ereversed\u202c", "'&amp;&lt;", "a\u200bb\ufeff",
         "x" * 100000)

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
%s
int main(void)
{
	pthread_setname_np(pthread_self(), "<b>\u202e</b>");
	for (int i = 0; i < 20; i++) {
		%s
	}
	return 0;
}
"""
FUNCTION = """
void *f%d(size_t n) __asm__("\\"%s\\"");
__attribute__((noinline)) void *f%d(size_t n) { return memset(malloc(n), 1, n); }
"""


def escaped(name):
    """As msreport has it: bytes of what cannot be seen are written out. The first 60 characters."""
    return "".join(c if c.isprintable() else "".join(f"\\x{b:02x}" for b in c.encode()) for c in name)[:60]


def make_program(folder):
    """Its path; None: the assembler refuses the names."""
    functions = "".join(FUNCTION % (i, name, i) for i, name in enumerate(NAMES))
    calls = "\n\t\t".join(f"f{i}({1000 * (i + 1)});" for i in range(len(NAMES)))
    source = os.path.join(folder, "hostile.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM % (functions, calls))
    place = os.path.join(folder, "<b>\u202e&amp;")
    os.makedirs(place, exist_ok=True)
    program = os.path.join(place, "<script>owned=1<")
    words = (*harness.compiler(), "-w", "-O0", "-fno-builtin", "-pthread", "-o", program, source)
    return program if subprocess.run(words, capture_output=True).returncode == 0 else None
