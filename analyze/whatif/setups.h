/* SPDX-License-Identifier: MIT */
/* Which allocators a trace is played against, with which settings. */
#ifndef ANALYZE_SETUPS_H
#define ANALYZE_SETUPS_H

#include <stdbool.h>

#include "mstrace.h"
#include "players.h"

enum allocator_family {
	ALLOCATOR_GLIBC,
	ALLOCATOR_JEMALLOC,
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_MIMALLOC,
	ALLOCATOR_FILE
};

struct setup {
	enum allocator_family family;
	char *name;       /* as the table shows it */
	char *library;    /* path; NULL: the C library's allocator */
	char *settings;   /* words NAME=VALUE as they were given; "": none */
	char **variables; /* [n_variables] of these that are variables */
	size_t n_variables;
	uint64_t trim_ns;
};

/* Zero-initialise. */
struct setups {
	struct setup *items;
	size_t n, room;
	enum allocator_family own; /* that the program ran with; ALLOCATOR_GLIBC if that isn't known */
	char *missing; /* known allocators that are not installed, with ", " between them; NULL: none */
};

enum setups_result {
	SETUPS_FINE,
	SETUPS_NO_MEMORY,
	SETUPS_UNKNOWN,    /* neither a known allocator nor a file */
	SETUPS_ABSENT,     /* a known allocator that is not installed */
	SETUPS_NO_LIBRARY, /* a file that no player could load */
	SETUPS_SETTINGS,   /* words that aren't NAME=VALUE */
	SETUPS_PRELOAD,    /* a variable that would preload a library */
	SETUPS_NONE,       /* settings of no allocator that was asked for */
};

/* An allocator without settings: glibc, jemalloc, tcmalloc, mimalloc, or a path that has a slash. */
enum setups_result setups_add(struct setups *setups, const char *name);

/* The allocator that the modules of a process have. */
enum allocator_family setups_find_own(const struct mst_module *modules, uint32_t n);
const char *setups_name(enum allocator_family family);

/* All that are installed, the program's own first; the others are noted as missing. */
enum setups_result setups_add_known(struct setups *setups);

/*
 * Settings for each allocator that is there without settings and that they are for: a word is a variable, or
 * malloc_trim=TIME of glibc.
 */
enum setups_result setups_add_settings(struct setups *setups, const char *words);

/*
 * The first variable of `words` that none of the known allocators reads: its name, and the words behind it. NULL: there is
 * none.
 */
const char *setups_unread(const char *words, char *name, size_t room);

/* The first variable of glibc's in `words` that wants a number and has something else: as setups_unread(). */
const char *setups_no_number(const char *words, char *name, size_t room);

/*
 * The settings that are worth a try: few, some more of the program's own allocator, or with `sweep` many. `threads`: those that
 * make calls, for so long.
 */
enum setups_result setups_add_usual(struct setups *setups, uint32_t threads, uint64_t ns, bool sweep);

/* Whether both are of one allocator, whatever their settings are. */
bool setup_is_like(const struct setup *a, const struct setup *b);

void setups_finish(struct setups *setups);

#endif
