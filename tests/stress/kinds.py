# SPDX-License-Identifier: MIT
"""Kinds of programs for hosts.py: their build decides whether msrec can record them, and its message."""

import glob
import os
import subprocess

PLAIN = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void *volatile p = aligned_alloc(16, 32);
		free(p);
	}
	puts("calls 1000");
	return 0;
}
"""

# The note that Go's linker puts into every program, here in one of C.
GO_NOTE = r"""
__asm__(".section .note.go.buildid,\"a\",@note\n.balign 4\n.long 4, 4, 4\n.asciz \"Go\\0\"\n.ascii \"abcd\"\n.text");
"""

NO_LIBC_32 = r"""
void _start(void)
{
	__asm__ volatile("int $0x80" : : "a"(1), "b"(0));
}
"""

RUST = r"""
use std::collections::HashMap;
use std::thread;

fn work(n: usize) -> usize {
    let mut map: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..n {
        map.entry(format!("key {}", i % 97)).or_default().push(i as u64);
    }
    map.values().map(|v| v.len()).sum()
}

fn main() {
    let threads: Vec<_> = (0..4).map(|i| thread::spawn(move || work(1000 * (i + 1)))).collect();
    let sum: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let caught = std::panic::catch_unwind(|| {
        let boxed = vec![Box::new(1); 100];
        if boxed.len() == 100 {
            panic!("as planned");
        }
    });
    println!("{} {}", sum, caught.is_err());
}
"""

JEMALLOC = "/usr/lib/*/libjemalloc_pic.a"
REPLACED = "replaces malloc and bears no recorder"

# Name, source, compiler's options, and the words of the refusal; None: it is recorded.
KINDS = [
    ("gcc -fsanitize=address", PLAIN, ["gcc", "-fsanitize=address"], "AddressSanitizer, which " + REPLACED),
    ("gcc -fsanitize=thread", PLAIN, ["gcc", "-fsanitize=thread"], "ThreadSanitizer, which " + REPLACED),
    ("gcc -fsanitize=leak", PLAIN, ["gcc", "-fsanitize=leak"], "LeakSanitizer, which " + REPLACED),
    ("gcc -fsanitize=address, static run-time", PLAIN, ["gcc", "-fsanitize=address", "-static-libasan"],
     "AddressSanitizer, which " + REPLACED),
    ("gcc -fsanitize=undefined", PLAIN, ["gcc", "-fsanitize=undefined"], None),
    ("a static program", PLAIN, ["gcc", "-static"],
     "is statically linked: there is no dynamic loader that could load the recorder (--engine=valgrind"),
    ("a static program that moves", PLAIN, ["gcc", "-static-pie", "-fPIE"], "statically linked"),
    ("a 32-bit program", NO_LIBC_32, ["gcc", "-m32", "-nostdlib", "-static", "-fno-pic", "-no-pie"], "32-bit"),
    ("an x32 program", NO_LIBC_32, ["gcc", "-mx32", "-nostdlib", "-static", "-fno-pic", "-no-pie"], "32-bit"),
    ("a malloc linked into the program", PLAIN, ["gcc", JEMALLOC, "-lm", "-lstdc++", "-lpthread", "-ldl"],
     None),
    ("a malloc linked into a stripped program", PLAIN, ["gcc", "-s", JEMALLOC, "-lm", "-lstdc++", "-lpthread", "-ldl"],
     None),
    ("a malloc linked in and hidden", PLAIN, ["gcc", "-Wl,--exclude-libs,ALL", JEMALLOC, "-lm", "-lstdc++", "-lpthread",
                                              "-ldl"], None),
    ("a Go program without a loader", PLAIN + GO_NOTE, ["gcc", "-static"], "Go program and statically linked"),
]


def build(folder, number, text, command):
    """The program; its own way of building is part of the test, so it must work."""
    source, target = os.path.join(folder, f"kind{number}.c"), os.path.join(folder, f"kind{number}")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    words = [word for pattern in command[1:] for word in (glob.glob(pattern) or [pattern])]
    subprocess.run([command[0], "-O1", "-g", source, "-o", target, *words], check=True)
    return target


def build_rust(folder):
    source, target = os.path.join(folder, "kind.rs"), os.path.join(folder, "kind_rust")
    with open(source, "w", encoding="utf-8") as f:
        f.write(RUST)
    subprocess.run(["rustc", "-O", "-o", target, source], check=True, capture_output=True)
    return target
