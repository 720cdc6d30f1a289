/* SPDX-License-Identifier: MIT */
/*
 * How a function without tables returns, from its machine code: musl has no call frame information. Compiled code leaves a
 * function by a known way from any of its instructions: whichever branches are taken, the stack pointer moves by the
 * same distance up to the return. So the instructions from the pc on say where the return address is, and whether the caller's
 * frame pointer is on the stack. No beginning of the function need be known.
 *
 * Runs in the recorded program, as cfi.h does. It allocates nothing, and reads code only.
 */
#ifndef PRELOAD_RETURN_PATH_H
#define PRELOAD_RETURN_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define RETURN_PATH_SEEN 1024u   /* a power of two: instructions that are looked at, twice that */
#define RETURN_PATH_BRANCHES 64u /* that wait to be looked at */
#define RETURN_PATH_RULES 4u     /* different answers that are kept */

/* A stack pointer or frame pointer, as a distance from one of the two at the pc, or what was saved at such a distance. */
struct return_path_value {
	uint8_t kind; /* enum of the implementation */
	int32_t offset;
};

/* The state at an instruction. */
struct return_path_state {
	uintptr_t pc;
	struct return_path_value sp, bp;
	struct return_path_value pushed_at, pushed; /* the last bp that the path has saved, and where */
};

/* Code that may be followed, and functions that do not return. */
struct return_path_code {
	uintptr_t start, end;
	const uintptr_t *endless;
	unsigned n_endless;
};

/* Working memory, kept off the program's stack, which may be tiny. */
struct return_path_work {
	struct return_path_state branches[RETURN_PATH_BRANCHES];
	uintptr_t seen[RETURN_PATH_SEEN];
	uintptr_t readable; /* the page that is known to be */
	unsigned n_branches, n_seen, n_answers;
};

/*
 * The compact rules (rules.h) that the paths from `pc` on lead to, each once: one, where the code is as compilers make it. More
 * where a path goes on behind a call that does not return. None: no path returns, or the code is not understood.
 */
unsigned return_path_find(const struct return_path_code *code, uintptr_t pc, struct return_path_work *work,
			  uint64_t answers[RETURN_PATH_RULES]);

/*
 * For a function that never returns, as exit(), but was called: follows it from `first`, its beginning, to `pc`. RULE_NONE: the code from
 * there does not lead to the pc.
 */
uint64_t return_path_enter(const struct return_path_code *code, uintptr_t first, uintptr_t pc,
			   struct return_path_work *work);

/* Whether the code before that address is a call. */
bool return_path_follows_call(uintptr_t address);

#endif
