/* SPDX-License-Identifier: MIT */
/*
 * Readable names of C++ and Rust symbols, spelt as Massif spells them: with argument lists, and
 * with the return type where the mangling carries one (`void f<3>()`), Rust without its hash.
 * The rules are those of GNU libiberty; other languages, and names with a version suffix
 * (`_Znwm@@GLIBCXX_3.4`), stay as they are, as they do in Massif.
 */
#ifndef NAMES_DEMANGLE_H
#define NAMES_DEMANGLE_H

/* A few bytes of mangled name can stand for gigabytes of text: longer results are given up. */
#define DEMANGLE_MAX (1U << 20)

/*
 * The readable form of `name`, which may be that of one of Valgrind's replacements, to be released with free(). NULL if the name is not a mangled one,
 * is damaged, has more than 1,024 bytes (libiberty's limit, which Massif shares), would need more
 * than DEMANGLE_MAX bytes, or when out of memory: print the name itself then.
 */
char *demangle_name(const char *name);

#endif
