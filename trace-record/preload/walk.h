/* SPDX-License-Identifier: MIT */
/*
 * A walk outwards over the frames of a stack, one frame step at a time: by the rules remembered for each pc; by the full
 * meaning of .eh_frame where a rule cannot hold it; by tables that the program has registered; and by frame pointers
 * in code without tables. Each frame step records what it depended on, so that unwind.c can compare these words later
 * instead of taking the step again.
 *
 * A walk reads memory only where a walk of a sound stack does, and asks the kernel before it leaves what is known to be
 * mapped: broken stacks give short lists, not crashes.
 */
#ifndef PRELOAD_WALK_H
#define PRELOAD_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi.h"
#include "registers.h"
#include "return_path.h"
#include "rules.h"

/* Bounds of code addresses: the first page is never mapped, the top half is the kernel's. */
#define WALK_PC_MIN ((uintptr_t)4096)
#define WALK_PC_MAX CODE_END

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* A word of memory that a step depends on, and what it held. */
struct link {
	uintptr_t at;
	uint64_t value;
};

/* What a frame step depends on. */
enum {
	STEP_EXACT = 1 << 0,     /* the frame's pc is not a return address */
	STEP_OPAQUE = 1 << 1,    /* on something that is not compared */
	STEP_USES_BP = 1 << 2,   /* on bp, other than by passing it on */
	STEP_KEEPS_BP = 1 << 3,  /* the caller's bp is this frame's */
	STEP_SCRIPT = 1 << 9,    /* the frame is one of a script; pc is where the interpreter has it */
	STEP_LEFT_OUT = 1 << 10, /* stacks leave the frame out */
	STEP_LIFE = 1 << 11,     /* the first read is the life of the frame's code (script_codes.h) */
	STEP_LINKED = 1 << 13    /* the first read is what walk.next was */
};

/* A frame, and the step to its caller. */
struct step {
	uintptr_t pc, sp, bp;
	uintptr_t return_at;   /* where the caller's pc was read, 0 = nowhere */
	uintptr_t return_word; /* what was there */
	uintptr_t bp_at;       /* where the caller's bp was read, 0 = nowhere, or noted in reads */
	uint32_t reads_end;    /* its entries in `reads` end here, those of the one before where they
			       begin; they cover all that it read */
	uint32_t flags;
	uintptr_t shown; /* with STEP_SCRIPT: the pc that the frame has in stacks */
};

#define SCRIPT_LINES 512u /* a power of two */

/* What an instruction of a script is shown as, while its code object lives. */
struct script_line {
	uintptr_t instr;
	struct script_code *code; /* NULL: the entry is empty */
	uint64_t life;
	uint64_t place;
};

/* A thread's memory for walks. walk.count <= walked_most of unwind.c; walk.reads <= reads_most. */
struct walker {
	uintptr_t low, high; /* readable memory where the walk is */
	struct step *steps;  /* of the present walk, innermost first */
	struct link *reads;  /* of steps that are not simple, in their order */
	unsigned reads_most;
	struct script_line
		*lines; /* [SCRIPT_LINES], by instruction; what an earlier thread knew holds, too */
	struct cfi_work work;
	struct cfi_state registers; /* of the present frame, in walks with all registers */
	struct return_path_work *path;
};

/* A frame of the C function that runs scripts. Its scripts' frames lie between it and its caller. */
struct walk_runner {
	uintptr_t pc, sp;
	uint64_t rule;    /* compact */
	uintptr_t record; /* script_entry.record */
};

/* The state of the frame to be stepped from. */
struct walk {
	uintptr_t pc, sp, bp;
	unsigned count, reads;    /* entries of steps and reads */
	bool exact;               /* pc is not a return address */
	bool caching;             /* rules may be looked up and kept */
	bool all_registers;       /* walker->registers is kept up to date */
	bool wants_all_registers; /* the walk stopped for want of a register */
	bool reads_lost;          /* a read was not recorded */
	bool truncated;           /* there were more frames than are wanted */
	bool interrupted; /* a signal has interrupted what the next frame that runs scripts has called, or the frame itself */
	bool runners_lost;         /* what the next frame that runs scripts runs is not known */
	bool script;               /* the frame is one of a script, and pc is where the interpreter has it */
	struct walk_runner runner; /* then: the frame that runs it */
	struct link next; /* what the next frame that runs scripts runs; at 0: the thread's state has it */
};

/* Begins at the caller of the intercepted function. */
void walk_start(struct walker *walker, struct walk *w, const struct unwind_regs *regs, bool caching);

/*
 * walk_start() for a walk that knows all registers which a function preserves. Takes them here, and walks out through the
 * recorder's own frames. If these do not lead to the caller of the intercepted function, the walk starts without
 * the registers, and stops where one is needed.
 */
void walk_start_all(struct walker *walker, struct walk *w, const struct unwind_regs *regs, bool caching);

/* Records the walk's frame and moves to its caller. False: the frame is the last. */
bool walk_step(struct walker *walker, struct walk *w);

/* Ends the walk with the frame last recorded, though that has a caller. */
void walk_cut(struct walker *walker, struct walk *w);

/* Records that the present step depends on a word of memory. */
void walk_note(struct walker *walker, struct walk *w, uintptr_t at, uint64_t value);

/* The pc that a step's frame has in stacks. */
static inline uintptr_t step_shown(const struct step *step)
{
	return unlikely(step->flags & STEP_SCRIPT) ? step->shown : step->pc;
}

static inline uint64_t walk_load(uintptr_t at)
{
	return *(const uint64_t *)at;
}

/* ---- parts of all kinds of frame steps ---- */

static inline struct step *walk_add_step(struct walker *walker, struct walk *w)
{
	struct step *step = &walker->steps[w->count++];

	/* Field by field: return_word is set with return_at. */
	step->pc = w->pc;
	step->sp = w->sp;
	step->bp = w->bp;
	step->return_at = 0;
	step->bp_at = 0;
	step->reads_end = w->reads;
	step->flags = w->exact ? STEP_EXACT : 0;
	return step;
}

static inline bool walk_may_be_code(uintptr_t pc)
{
	return pc - WALK_PC_MIN < WALK_PC_MAX - WALK_PC_MIN && pc % (1u << CODE_ALIGN_LOG2) == 0;
}

/* Moves the walk to the caller; false when that can be none. */
static inline bool walk_move(struct walk *w, uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
	if (unlikely(!walk_may_be_code(pc)))
		return false;
	w->pc = pc;
	w->sp = sp;
	w->bp = bp;
	w->exact = false;
	return true;
}

static inline bool walk_has_quickly(const struct walker *walker, uintptr_t at)
{
	return likely(at - walker->low <= walker->high - walker->low - 8);
}

static inline uintptr_t walk_compact_cfa(const struct walk *w, uint64_t rule)
{
	return (rule & RULE_FROM_BP ? w->bp : w->sp) + 8 * ((rule >> RULE_CFA_SHIFT) & RULE_CFA_WORDS_MAX);
}

/* A compact step, once its addresses were found readable. */
static inline bool walk_finish_compact(struct walk *w, struct step *step, uint64_t rule, uintptr_t cfa)
{
	uintptr_t bp = w->bp;

	step->return_at = compact_return_at(rule, cfa);
	step->return_word = walk_load(step->return_at);
	if (!compact_moves_bp(rule)) {
		step->flags |= STEP_KEEPS_BP;
	} else {
		step->bp_at = compact_bp_at(rule, cfa);
		bp = walk_load(step->bp_at);
	}
	return walk_move(w, compact_return(rule, step->return_word), cfa, bp);
}

/* walk_step() for a cached compact rule on readable memory; else false, and nothing is done. */
static inline bool walk_step_quickly(struct walker *walker, struct walk *w)
{
	struct rule_place place = rule_place(w->pc, w->exact);
	uint64_t rule = rule_load(place.home);
	uintptr_t cfa = walk_compact_cfa(w, rule);
	struct step *step;

	if (unlikely(rule >> RULE_TAG_SHIFT != place.tag || RULE_KIND(rule) != RULE_COMPACT || cfa <= w->sp ||
		     cfa % 8 != 0 || !walk_has_quickly(walker, cfa - 8) || compact_bp_at(rule, cfa) < w->sp))
		return false;
	/* walk_step() ends walks. */
	if (unlikely(!walk_may_be_code(compact_return(rule, walk_load(compact_return_at(rule, cfa))))))
		return false;
	step = walk_add_step(walker, w);
	step->flags |= rule & RULE_FROM_BP ? STEP_USES_BP : 0;
	return walk_finish_compact(w, step, rule, cfa);
}

#endif
