/* SPDX-License-Identifier: MIT */
/*
 * The site of a stack: the innermost call of the program's own code. Allocators, wrappers and containers inside of it
 * (hidden_frames.h, and what the user adds) are only what it went through, and so is the interpreter inside of a script.
 */
#ifndef ANALYZE_SITES_H
#define ANALYZE_SITES_H

#include "call_sites.h"
#include "mstrace.h"

struct sites;

/* Patterns of fnmatch(3) of functions that are hidden, beside the built-in ones; with `all`, none is. */
struct sites_hidden {
	const char *const *patterns; /* of fnmatch(3) */
	size_t n;
	const char *const *names; /* of functions, as they are */
	size_t n_names;
	bool all;
};

/* All arguments must outlive it. NULL: no memory. */
struct sites *sites_create(const struct mst_reader *reader, struct call_sites *calls,
			   const struct sites_hidden *hidden);
void sites_destroy(struct sites *sites); /* NULL is allowed */

/*
 * While a trace is read: what has been read since is known, too. To be called before other calls, behind each chunk.
 * False: no memory.
 */
bool sites_refresh(struct sites *sites, const struct mst_reader *reader);

struct site {
	uint32_t call;   /* a number of call_sites.h */
	uint32_t module; /* MST_NONE: code in no known object */
	uint32_t via;    /* the innermost hidden call; MST_NONE: the site itself allocated */
	bool inlined;    /* the call is inlined into its caller */
};

/*
 * Whether a call in a module is none that can be a site wherever it is, unless all calls of a stack are such. False: no
 * memory.
 */
bool sites_hide(struct sites *sites, uint32_t call, uint32_t module, bool *hidden);

/*
 * Whether the calls at a stack's innermost frame can be no site there although they can elsewhere: a script has made them, and
 * they are its interpreter's. A script whose name isn't known yet is no site either.
 */
bool sites_hide_frame(struct sites *sites, uint32_t stack);

/* The site of a stack; of the root: `call` is MST_NONE. Valid until sites_refresh() or sites_destroy(). NULL: no memory. */
const struct site *sites_of(struct sites *sites, uint32_t stack);

/* The number of the call that called the stack's site; MST_NONE: there is none, or no memory. */
uint32_t sites_caller(struct sites *sites, uint32_t stack);

/*
 * A number that tells stacks apart: of the functions and modules from the innermost call outwards, without lines and
 * addresses, so it is the same in each run, and in each build in which the functions are the same. 0: no memory.
 */
uint64_t sites_id(struct sites *sites, uint32_t stack);

struct call_sites *sites_calls(const struct sites *sites);

/* The last part of a module's path. "" for MST_NONE. */
const char *sites_module(const struct sites *sites, uint32_t module);

#endif
