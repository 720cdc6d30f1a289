/* SPDX-License-Identifier: MIT */
/*
 * Readable names of C++ and Rust symbols in Massif's spelling: with argument lists, with the return type where the
 * mangling has one (`void f<3>()`), Rust without its hash. The rules are those of GNU libiberty. As in Massif, other
 * languages and names with a version suffix (`_Znwm@@GLIBCXX_3.4`) stay as they are.
 */
#ifndef NAMES_DEMANGLE_H
#define NAMES_DEMANGLE_H

/* A few bytes of mangled name can stand for gigabytes of text. */
#define DEMANGLE_MAX (1U << 20)

/*
 * The readable form of a name, perhaps of one of Valgrind's replacements, to be freed. NULL, print the name itself: it
 * is not mangled, damaged, longer than 1,024 bytes (libiberty's limit, which Massif shares), or would become longer
 * than DEMANGLE_MAX bytes; or there is no memory.
 */
char *demangle_name(const char *name);

#endif
