/* SPDX-License-Identifier: MIT */
/*
 * The names of code that a program makes, while it runs: /tmp/perf-PID.map as it grows. Code that moves or goes leaves
 * its address to other code; the map then has a later line for it. So the name of an address is that of its last line
 * so far. The file is hostile input, with the rules of jit.h. Single-threaded.
 */
#ifndef NAMES_JIT_GROWTH_H
#define NAMES_JIT_GROWTH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jit_growth;

/* `since`: CLOCK_REALTIME in ns at which the program started. NULL: no memory. Opens nothing yet. */
struct jit_growth *jit_growth_create(pid_t pid, uint64_t since);
void jit_growth_destroy(struct jit_growth *growth); /* NULL is allowed */

/* Reads the lines that were written since the last time. True: there are some. */
bool jit_growth_look(struct jit_growth *growth);

/*
 * The name of the code at an address by the lines read so far; NULL: none. Lives as long as `growth`. Equal names have
 * one address.
 */
const char *jit_growth_find(const struct jit_growth *growth, uint64_t address);

/* The same by the lines of the last look alone. Cheaper, as they are few. */
const char *jit_growth_news(const struct jit_growth *growth, uint64_t address);

#endif
