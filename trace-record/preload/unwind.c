/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1

#include "unwind.h"
#include "cfi.h"
#include "modules.h"
#include "probe.h"

#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

#define PAGE ((uintptr_t)4096)

/* Addresses outside are no code: the first page is never mapped, the top half is the kernel's. */
#define PC_MIN ((uintptr_t)4096)
#define PC_MAX ((uintptr_t)1 << 47)

/* A frame larger than this is not believed when only the frame pointer tells its size. */
#define POINTER_FRAME_BYTES_MAX ((uintptr_t)1 << 20)

/* Reads farther than this from the readable region start another one. */
#define REGION_STEP ((uintptr_t)64 << 10)

#define FRAMES_MAX ((unsigned)1 << 30)

/* Frames between unwind_capture() and the caller of the intercepted function. */
#define OWN_FRAMES_MAX 16

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* unwind_frame.flags. The first two are about the frame's state, the others about its step. */
enum {
	FRAME_EXACT = 1 << 0,    /* pc is not a return address */
	FRAME_NEEDS_BP = 1 << 1, /* this step or one further out depends on the bp */
	FRAME_OPAQUE = 1 << 2,   /* the step depends on what is not compared */
	FRAME_USES_BP = 1 << 3,  /* the step depends on bp, other than by passing it on */
	FRAME_KEEPS_BP = 1 << 4  /* the caller's bp is this frame's */
};

/* A word of memory that a step depends on, and what it held. */
struct link {
	uintptr_t at;
	uint64_t value;
};

/* A frame of the present walk, and its step. */
struct step {
	uintptr_t pc, sp, bp;
	uintptr_t return_at; /* where the caller's pc was read, 0 = nowhere */
	uintptr_t return_pc;
	uintptr_t bp_at; /* where the caller's bp was read, 0 = nowhere, or
					   noted in reads */
	uintptr_t caller_bp;
	uint32_t reads_end; /* its entries in `reads` end here, those of the one before
					   where they begin; they cover all that it read */
	uint32_t flags;
};

struct unwind_stack {
	uint64_t state; /* modules_state of the frames; 0 = void */
	unsigned depth, capacity;
	unsigned opaque;             /* frames from this one inwards cannot be compared */
	bool truncated;              /* frames[0] is not the outermost of the true stack */
	uintptr_t low, high;         /* readable memory where the walk is */
	struct unwind_frame *frames; /* outermost first */
	struct link *links;          /* what the steps depend on, in the order of frames; within
					   a frame what was read first comes last */
	struct step *steps;          /* of the present capture, innermost first */
	struct link *reads;          /* of steps that are not simple, in their order */
	struct cfi_work work;
	struct cfi_state registers; /* of the present frame, in walks with all registers */
};

/* A simple step has at most two links; those of other steps share what is kept for them. */
#define READ_LINKS_PER_FRAME 2
#define LINKS_PER_FRAME (READ_LINKS_PER_FRAME + 2)
#define READS_PER_FRAME 2

/* A walk: the state of the frame to be stepped from. */
struct walk {
	uintptr_t pc, sp, bp;
	unsigned count, reads;    /* entries of steps and reads */
	bool exact;               /* pc is not a return address */
	bool caching;             /* rules may be looked up and kept */
	bool all_registers;       /* stack->registers is kept up to date */
	bool wants_all_registers; /* the walk stopped for want of a register */
	bool reads_lost;          /* a read could not be noted */
	bool truncated;           /* there was more than fits */
};

/*
 * Rules by pc. One 64-bit word holds a whole rule and enough of its key to make it unmistakable,
 * so that any thread may read and write any slot at any time without a lock.
 *
 * Key: pc * 2 + exact, 48 bits, spread by a multiplication modulo 2^48 (done in the upper bits of
 * a word). The top 13 bits of the product choose the bucket, the other 35 are the tag. A bucket is
 * one cache line of eight slots; the tag's top 3 bits choose the home slot, which is looked at
 * first, and replaced when the bucket is full.
 *
 * Rules of closed modules are cleared before the first capture that could meet other code at
 * their addresses. A thread that adds a rule has the pc on its stack, so no program that is sound
 * can unload that code before the capture is over: what is added during a clearing is valid.
 */
#define RULE_BUCKET_BITS 13
#define RULE_SLOTS 8
#define RULE_TAG_BITS 35
#define RULE_TAG_MASK ((UINT64_C(1) << RULE_TAG_BITS) - 1)
#define RULE_SPREAD UINT64_C(0x9e3779b97f4b) /* odd, so that the product is one-to-one */

enum { RULE_NONE = 0, RULE_COMPACT = 1, RULE_GENERAL = 2, RULE_OUTERMOST = 3 };

/* Bits of a word. Compact: CFA = (bp or sp) + 8 * CFA words, return address at CFA - 8, the
 * caller's bp at CFA - 8 * BP words, or unchanged when that is 0. */
#define RULE_KIND(rule) ((rule)&3)
#define RULE_FROM_BP (UINT64_C(1) << 2)
#define RULE_CFA_SHIFT 3
#define RULE_CFA_WORDS_MAX ((UINT64_C(1) << 17) - 1)
#define RULE_BP_SHIFT 20
#define RULE_BP_WORDS_MAX UINT64_C(255)
#define RULE_TAG_SHIFT 28

_Static_assert(RULE_BUCKET_BITS + RULE_TAG_BITS == 48, "the tag completes the bucket");
_Static_assert(RULE_TAG_SHIFT + RULE_TAG_BITS <= 64, "a rule is one word");

static _Alignas(64) _Atomic uint64_t rules[1 << RULE_BUCKET_BITS][RULE_SLOTS];
static _Atomic uint64_t rules_closings; /* the rules are free of modules closed before */

struct rule_place {
	_Atomic uint64_t *bucket, *home;
	uint64_t tag;
};

static inline struct rule_place rule_place(uintptr_t pc, bool exact)
{
	uint64_t spread = ((uint64_t)pc << 1 | exact) * (RULE_SPREAD << 16);

	return (struct rule_place){
		.home = &rules[0][0] + (spread >> 48),
		.bucket = rules[spread >> (16 + RULE_TAG_BITS)],
		.tag = (spread >> 16) & RULE_TAG_MASK,
	};
}

static inline uint64_t rule_load(_Atomic uint64_t *slot)
{
	return atomic_load_explicit(slot, memory_order_relaxed);
}

static uint64_t rule_search(const struct rule_place *place)
{
	for (unsigned slot = 0; slot < RULE_SLOTS; slot++) {
		uint64_t rule = rule_load(&place->bucket[slot]);

		if (rule >> RULE_TAG_SHIFT == place->tag && RULE_KIND(rule) != RULE_NONE)
			return rule;
	}
	return RULE_NONE;
}

static void rule_keep(const struct rule_place *place, uint64_t rule)
{
	_Atomic uint64_t *slot = place->home;

	for (unsigned i = 0; i < RULE_SLOTS && rule_load(slot) != 0; i++)
		slot = &place->bucket[i];
	if (rule_load(slot) != 0)
		slot = place->home;
	atomic_store_explicit(slot, rule | place->tag << RULE_TAG_SHIFT, memory_order_relaxed);
}

/* Drops all rules if a module was closed since the last time. Threads may do so side by side;
 * each goes on only after it has cleared everything itself or seen that another one had. */
static void rules_renew(uint64_t state)
{
	uint64_t closings = modules_closings(state);

	if (atomic_load_explicit(&rules_closings, memory_order_acquire) == closings)
		return;
	for (unsigned bucket = 0; bucket < 1 << RULE_BUCKET_BITS; bucket++)
		for (unsigned slot = 0; slot < RULE_SLOTS; slot++)
			if (atomic_load_explicit(&rules[bucket][slot], memory_order_relaxed) != 0)
				atomic_store_explicit(&rules[bucket][slot], 0, memory_order_relaxed);
	atomic_store_explicit(&rules_closings, closings, memory_order_release);
}

/* The rows that a compact rule can say; RULE_GENERAL for all others. */
static uint64_t rule_pack(const struct cfi_function *function, const struct cfi_row *row)
{
	uint64_t rule = RULE_COMPACT, words = (uint64_t)row->cfa / 8, bp_words = 0;

	if (row->kind[CFI_RIP] == CFI_UNDEFINED && !function->signal)
		return RULE_OUTERMOST;
	if (function->signal || row->cfa_is_expression || row->cfa <= 0 || row->cfa % 8 != 0 ||
	    words > RULE_CFA_WORDS_MAX)
		return RULE_GENERAL;
	if (row->kind[CFI_RIP] != CFI_OFFSET || row->value[CFI_RIP] != -8 || row->kind[CFI_RSP] != CFI_SAME)
		return RULE_GENERAL;
	if (row->kind[CFI_RBP] == CFI_OFFSET && row->value[CFI_RBP] < 0 && row->value[CFI_RBP] % 8 == 0)
		bp_words = (uint64_t)-row->value[CFI_RBP] / 8;
	else if (row->kind[CFI_RBP] != CFI_SAME)
		return RULE_GENERAL;
	if (bp_words > RULE_BP_WORDS_MAX)
		return RULE_GENERAL;
	if (row->cfa_register == CFI_RBP)
		rule |= RULE_FROM_BP;
	else if (row->cfa_register != CFI_RSP)
		return RULE_GENERAL;
	return rule | words << RULE_CFA_SHIFT | bp_words << RULE_BP_SHIFT;
}

/* Finds the row that holds at the walk's pc, in work->row. A return address may be the first byte
 * of the next function: the call that it returns from is what counts. */
static bool find_row(struct unwind_stack *stack, const struct walk *w, struct cfi_function *function)
{
	uintptr_t address = w->exact ? w->pc : w->pc - 1;
	struct cfi_section section;

	return modules_find(address, &section) && cfi_find(&section, address, function) &&
	       cfi_find_row(function, address, &stack->work);
}

static __attribute__((noinline)) uint64_t rule_learn(struct unwind_stack *stack, struct walk *w)
{
	struct rule_place place = rule_place(w->pc, w->exact);
	struct cfi_function function;
	uint64_t rule;

	if (!find_row(stack, w, &function))
		return RULE_GENERAL;
	rule = rule_pack(&function, &stack->work.row);
	if (w->caching)
		rule_keep(&place, rule);
	return rule;
}

static inline uint64_t rule_find(struct unwind_stack *stack, struct walk *w)
{
	struct rule_place place = rule_place(w->pc, w->exact);
	uint64_t rule = rule_load(place.home);

	if (unlikely(!w->caching))
		return rule_learn(stack, w);
	if (likely(rule >> RULE_TAG_SHIFT == place.tag && RULE_KIND(rule) != RULE_NONE))
		return rule;
	rule = rule_search(&place);
	return rule != RULE_NONE ? rule : rule_learn(stack, w);
}

/*
 * Readable memory. [low, high) is a run of pages around the place where the walk is, each of which
 * the kernel was asked about. It starts anew when the walk or the program goes elsewhere, so what
 * was learned about a stack that may be gone is not used again.
 */
static void region_start(struct unwind_stack *stack, uintptr_t at)
{
	stack->low = at & ~(PAGE - 1);
	stack->high = stack->low + PAGE;
}

static bool region_grow(struct unwind_stack *stack, uintptr_t at)
{
	if (at - stack->high < REGION_STEP) {
		while (at >= stack->high && probe_readable(stack->high))
			stack->high += PAGE;
		return at < stack->high;
	}
	if (stack->low - at <= REGION_STEP) {
		while (at < stack->low && probe_readable(stack->low - PAGE))
			stack->low -= PAGE;
		return at >= stack->low;
	}
	return false;
}

static __attribute__((noinline)) bool region_move(struct unwind_stack *stack, uintptr_t at)
{
	if (at % 8 != 0)
		return false;
	if (region_grow(stack, at))
		return true;
	if (!probe_readable(at))
		return false;
	region_start(stack, at);
	return true;
}

static inline uint64_t load(uintptr_t at)
{
	return *(const uint64_t *)at;
}

static inline bool region_has_quickly(const struct unwind_stack *stack, uintptr_t at)
{
	return likely(at - stack->low <= stack->high - stack->low - 8);
}

/* Whether the word at `at` may be read; an unaligned one outside the region is refused. */
static inline bool region_has(struct unwind_stack *stack, uintptr_t at)
{
	return region_has_quickly(stack, at) || region_move(stack, at);
}

/* Stacks grow down, so callers are found upwards; unless the program changed to another stack. */
static inline bool is_outwards(const struct unwind_stack *stack, const struct walk *w, uintptr_t sp)
{
	return likely(sp > w->sp) || sp <= stack->low || sp > stack->high;
}

struct reader {
	struct unwind_stack *stack;
	struct walk *walk;
};

/* Notes that the present step depends on a word of memory. */
static void note_read(struct reader *reader, uintptr_t at, unsigned bytes, uint64_t value)
{
	struct unwind_stack *stack = reader->stack;
	struct walk *w = reader->walk;

	if (bytes != 8 || w->reads == READS_PER_FRAME * stack->capacity)
		w->reads_lost = true;
	else
		stack->reads[w->reads++] = (struct link){ at, value };
}

/* Expressions and rules read the stack as a rule, but may read anything. */
static bool read_memory(void *context, uintptr_t address, unsigned bytes, bool link, uint64_t *value)
{
	struct reader *reader = context;

	if (address % bytes != 0)
		return false;
	if (!(address % 8 == 0 && region_has(reader->stack, address)) &&
	    !probe_readable(address & ~(uintptr_t)7))
		return false;
	*value = 0;
	memcpy(value, (const void *)address, bytes);
	if (link)
		note_read(reader, address, bytes, *value);
	return true;
}

/* Moves the walk to the caller; false when that can be none. */
static inline bool move_to(struct walk *w, struct step *step, uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
	step->return_pc = pc;
	step->caller_bp = bp;
	if (unlikely(pc - PC_MIN >= PC_MAX - PC_MIN))
		return false;
	w->pc = pc;
	w->sp = sp;
	w->bp = bp;
	w->exact = false;
	return true;
}

static inline uintptr_t compact_cfa(const struct walk *w, uint64_t rule)
{
	return (rule & RULE_FROM_BP ? w->bp : w->sp) + 8 * ((rule >> RULE_CFA_SHIFT) & RULE_CFA_WORDS_MAX);
}

static inline uintptr_t compact_bp_words(uint64_t rule)
{
	return (rule >> RULE_BP_SHIFT) & RULE_BP_WORDS_MAX;
}

/* The part of a compact step after the addresses were found good. */
static inline bool finish_compact(struct walk *w, struct step *step, uint64_t rule, uintptr_t cfa)
{
	uintptr_t bp_words = compact_bp_words(rule), bp = w->bp;

	step->return_at = cfa - 8;
	if (bp_words == 0) {
		step->flags |= FRAME_KEEPS_BP;
	} else {
		step->bp_at = cfa - 8 * bp_words;
		bp = load(step->bp_at);
	}
	return move_to(w, step, load(cfa - 8), cfa, bp);
}

static bool step_compact(struct unwind_stack *stack, struct walk *w, struct step *step, uint64_t rule)
{
	uintptr_t cfa = compact_cfa(w, rule), bp_words = compact_bp_words(rule);

	step->flags |= rule & RULE_FROM_BP ? FRAME_USES_BP : 0;
	if (cfa % 8 != 0 || !is_outwards(stack, w, cfa) || !region_has(stack, cfa - 8) ||
	    (bp_words != 0 && !region_has(stack, cfa - 8 * bp_words)))
		return false;
	return finish_compact(w, step, rule, cfa);
}

/* Last resort, for code that no table describes: rbp points to the caller's saved rbp, below the
 * return address. */
static bool step_frame_pointer(struct unwind_stack *stack, struct walk *w, struct step *step)
{
	uintptr_t bp = w->bp;

	step->flags |= FRAME_USES_BP;
	if (bp % 8 != 0 || bp < w->sp || bp - w->sp > POINTER_FRAME_BYTES_MAX || !region_has(stack, bp) ||
	    !region_has(stack, bp + 8))
		return false;
	step->bp_at = bp;
	step->return_at = bp + 8;
	return move_to(w, step, load(bp + 8), bp + 16, load(bp));
}

/* Whether the code at pc makes the system call that ends a signal handler, as the restorers of
 * other run-time systems do, which come without tables. */
static bool is_sigreturn(uintptr_t pc)
{
	static const unsigned char long_form[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const unsigned char short_form[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	if (!probe_readable(pc) || !probe_readable(pc + sizeof(long_form) - 8))
		return false;
	return memcmp((const void *)pc, short_form, sizeof(short_form)) == 0 ||
	       memcmp((const void *)pc, long_form, sizeof(long_form)) == 0;
}

/* The kernel left the interrupted registers in the ucontext that the stack pointer points to. */
static bool step_sigreturn(struct unwind_stack *stack, struct walk *w, struct step *step)
{
	static const unsigned fields[3] = { REG_RIP, REG_RSP, REG_RBP };
	struct reader reader = { stack, w };
	uintptr_t saved = w->sp + offsetof(ucontext_t, uc_mcontext.gregs);
	uint64_t value[3];

	for (unsigned i = 0; i < 3; i++)
		if (!read_memory(&reader, saved + sizeof(greg_t) * fields[i], 8, true, &value[i]))
			return false;
	w->exact = move_to(w, step, value[0], value[1], value[2]);
	return w->exact;
}

/* The walk's registers as the tables' rules see them. */
static void load_registers(struct unwind_stack *stack, const struct walk *w)
{
	struct cfi_state *registers = &stack->registers;

	if (!w->all_registers)
		registers->known = 0;
	registers->value[CFI_RIP] = w->pc;
	registers->value[CFI_RSP] = w->sp;
	registers->value[CFI_RBP] = w->bp;
	registers->known |= 1u << CFI_RIP | 1u << CFI_RSP | 1u << CFI_RBP;
}

/* What the outcome of a step by the tables depended on, in the frame's flags. */
static void mark_dependence(struct step *step, const struct cfi_step *tables, enum cfi_result result)
{
	uint32_t compared = 1u << CFI_RIP | 1u << CFI_RSP | 1u << CFI_RBP;

	if (tables->used & 1u << CFI_RBP)
		step->flags |= FRAME_USES_BP;
	if (tables->used & ~compared || (tables->return_at == 0 && result != CFI_OUTERMOST))
		step->flags |= FRAME_OPAQUE;
}

/* A step by the full meaning of the tables. */
static bool step_tables(struct unwind_stack *stack, struct walk *w, struct step *step,
			const struct cfi_function *function)
{
	struct cfi_state *registers = &stack->registers;
	struct reader reader = { stack, w };
	struct cfi_step tables = {
		.read = read_memory,
		.context = &reader,
		.state = registers,
		.all_registers = w->all_registers,
	};
	enum cfi_result result;

	load_registers(stack, w);
	result = cfi_take_step(&tables, &stack->work);
	mark_dependence(step, &tables, result);
	w->wants_all_registers = result == CFI_NEEDS_REGISTER && !w->all_registers;
	if (result != CFI_OK)
		return false;
	if (!function->signal && !is_outwards(stack, w, registers->value[CFI_RSP]))
		return false;
	if (!(registers->known & 1u << CFI_RBP))
		registers->value[CFI_RBP] = 0;
	if (!move_to(w, step, registers->value[CFI_RIP], registers->value[CFI_RSP],
		     registers->value[CFI_RBP]))
		return false;
	w->exact = function->signal;
	return true;
}

static __attribute__((noinline)) bool step_general(struct unwind_stack *stack, struct walk *w,
						   struct step *step)
{
	struct cfi_function function;

	if (find_row(stack, w, &function))
		return step_tables(stack, w, step, &function);
	/* What code without tables did with the other registers is not known. */
	stack->registers.known = 0;
	if (is_sigreturn(w->pc))
		return step_sigreturn(stack, w, step);
	return step_frame_pointer(stack, w, step);
}

/* Begins the walk's next step. */
static inline struct step *add_step(struct unwind_stack *stack, struct walk *w)
{
	struct step *step = &stack->steps[w->count++];

	/* Field by field: what is left out is set by whoever sets return_at or bp_at. */
	step->pc = w->pc;
	step->sp = w->sp;
	step->bp = w->bp;
	step->return_at = 0;
	step->bp_at = 0;
	step->reads_end = w->reads;
	step->flags = w->exact ? FRAME_EXACT : 0;
	return step;
}

/* Notes the walk's frame and moves to its caller. False: it is the last. */
static __attribute__((noinline)) bool step_any(struct unwind_stack *stack, struct walk *w)
{
	struct step *step = add_step(stack, w);
	uint64_t rule = w->all_registers ? RULE_GENERAL : rule_find(stack, w);
	bool more = false;

	if (RULE_KIND(rule) == RULE_COMPACT)
		more = step_compact(stack, w, step, rule);
	else if (RULE_KIND(rule) == RULE_GENERAL)
		more = step_general(stack, w, step);
	if (w->reads_lost)
		step->flags |= FRAME_OPAQUE;
	step->reads_end = w->reads;
	return more;
}

/* step_any() for the common case; false, with nothing done, when it is another one. */
static inline bool step_quickly(struct unwind_stack *stack, struct walk *w)
{
	struct rule_place place = rule_place(w->pc, w->exact);
	uint64_t rule = rule_load(place.home);
	uintptr_t cfa = compact_cfa(w, rule), bp_at = cfa - 8 * compact_bp_words(rule);
	struct step *step;

	if (unlikely(rule >> RULE_TAG_SHIFT != place.tag || RULE_KIND(rule) != RULE_COMPACT || cfa <= w->sp ||
		     cfa % 8 != 0 || !region_has_quickly(stack, cfa - 8) || bp_at < w->sp))
		return false;
	/* What ends a walk is left to step_any(). */
	if (unlikely(load(cfa - 8) - PC_MIN >= PC_MAX - PC_MIN))
		return false;
	step = add_step(stack, w);
	step->flags |= rule & RULE_FROM_BP ? FRAME_USES_BP : 0;
	return finish_compact(w, step, rule, cfa);
}

static inline bool link_holds(const struct link *link)
{
	return load(link->at) == link->value;
}

/* The frame, i or further out, whose step has this link. */
static int frame_of_link(const struct unwind_stack *stack, int i, const struct link *link)
{
	while (i > 0 && stack->links + stack->frames[i - 1].links > link)
		i--;
	return i;
}

/*
 * Given that the thread now has a frame in the state of frames[i], whether the walk outwards from
 * it still gives frames[i-1] … frames[0] and nothing more. Goes from the inside outwards and
 * stops at the first difference, so each word read is one that a walk would read: its address
 * was derived from values just found to hold. Returns the frame whose step changed, or -1.
 */
static inline int frames_changed(const struct unwind_stack *stack, int i)
{
	uint32_t left = stack->frames[i].links;
	const struct link *link = stack->links + left;

	/* Four to a round; the first difference still ends it. */
	for (; left >= 4; left -= 4)
		if (unlikely(!link_holds(--link) || !link_holds(--link) || !link_holds(--link) ||
			     !link_holds(--link)))
			return frame_of_link(stack, i, link);
	for (; left > 0; left--)
		if (unlikely(!link_holds(--link)))
			return frame_of_link(stack, i, link);
	return -1;
}

static inline bool frame_is(const struct unwind_frame *frame, const struct walk *w)
{
	return frame->sp == w->sp && frame->pc == w->pc - 1 &&
	       (frame->flags & FRAME_EXACT) == (w->exact ? FRAME_EXACT : 0) &&
	       (!(frame->flags & FRAME_NEEDS_BP) || frame->bp == w->bp);
}

/* Walks outwards until the rest is known or there is no more. Returns the innermost of the frames
 * that may be kept, or -1. */
static int walk_out(struct unwind_stack *stack, struct walk *walk)
{
	int known = (int)(stack->depth < stack->opaque ? stack->depth : stack->opaque) - 1;
	bool quick = walk->caching && !walk->all_registers;
	struct walk w = *walk; /* a copy that can live in registers */

	for (;;) {
		while (known >= 0 && stack->frames[known].sp < w.sp)
			known--;
		if (known >= 0 && frame_is(&stack->frames[known], &w)) {
			int changed = frames_changed(stack, known);

			if (changed < 0)
				break;
			/* Nothing from the changed step inwards can be kept. */
			known = changed - 1;
		}
		if (unlikely(w.count == stack->capacity)) {
			w.truncated = true;
			known = -1;
			break;
		}
		if (likely(quick && step_quickly(stack, &w)))
			continue;
		*walk = w;
		if (!step_any(stack, walk))
			return -1;
		w = *walk;
	}
	*walk = w;
	return known;
}

/* Drops the outermost frames. */
static void drop_outer(struct unwind_stack *stack, unsigned count)
{
	uint32_t links = count > 0 ? stack->frames[count - 1].links : 0;

	stack->truncated = true;
	stack->depth -= count;
	memmove(stack->frames, stack->frames + count, stack->depth * sizeof(*stack->frames));
	if (stack->depth == 0)
		return;
	memmove(stack->links, stack->links + links,
		(stack->frames[stack->depth - 1].links - links) * sizeof(*stack->links));
	for (unsigned i = 0; i < stack->depth; i++)
		stack->frames[i].links -= links;
}

/* Adds the links of a step that is not simple, first read last; returns where they end. When there
 * is no room the frame cannot be compared. */
static uint32_t link_reads(const struct unwind_stack *stack, unsigned i, uint32_t links, uint32_t *flags)
{
	uint32_t first = i > 0 ? stack->steps[i - 1].reads_end : 0, end = stack->steps[i].reads_end;

	if (links + end - first > READ_LINKS_PER_FRAME * stack->capacity + 2 * stack->depth) {
		*flags |= FRAME_OPAQUE;
		return links;
	}
	while (end > first)
		stack->links[links++] = stack->reads[--end];
	return links;
}

/* Appends the frame of steps[i]: completes what depends on the frames further out. */
static inline void append(struct unwind_stack *stack, unsigned i)
{
	struct unwind_frame *frame = &stack->frames[stack->depth];
	const struct step *step = &stack->steps[i];
	uint32_t links = stack->depth > 0 ? frame[-1].links : 0;
	bool outer_needs = stack->depth > 0 && frame[-1].flags & FRAME_NEEDS_BP;
	uint32_t flags = step->flags;

	if (flags & FRAME_USES_BP || (flags & FRAME_KEEPS_BP && outer_needs))
		flags |= FRAME_NEEDS_BP;
	if (outer_needs && step->bp_at != 0)
		stack->links[links++] = (struct link){ step->bp_at, step->caller_bp };
	if (step->return_at != 0)
		stack->links[links++] = (struct link){ step->return_at, step->return_pc };
	if (unlikely(step->reads_end > (i > 0 ? step[-1].reads_end : 0)))
		links = link_reads(stack, i, links, &flags);
	if (unlikely(flags & FRAME_OPAQUE) && stack->opaque > stack->depth)
		stack->opaque = stack->depth;
	*frame = (struct unwind_frame){
		step->pc - 1, step->sp, step->bp, links, flags,
	};
	stack->depth++;
}

/* Puts the walk's frames onto the first `kept` ones. Returns how many leading pcs are as before. */
static unsigned commit(struct unwind_stack *stack, const struct walk *w, unsigned kept)
{
	unsigned before = stack->depth, half = stack->capacity / 2, same = kept;

	stack->depth = kept;
	stack->opaque = FRAMES_MAX; /* frames that may be kept are not opaque */
	if (kept == 0)
		stack->truncated = w->truncated;
	if (unlikely(kept + w->count > stack->capacity)) {
		drop_outer(stack, w->count < half ? kept + w->count - half : kept);
		before = same = 0;
	}
	for (unsigned i = w->count; i-- > 0;) {
		unsigned at = stack->depth;
		uintptr_t old_pc = stack->frames[at].pc;

		append(stack, i);
		same += same == at && at < before && stack->frames[at].pc == old_pc;
	}
	return same;
}

static void walk_start(struct walk *w, const struct unwind_regs *regs, bool caching)
{
	*w = (struct walk){ .pc = regs->pc, .sp = regs->sp, .bp = regs->bp, .caching = caching };
}

/*
 * Starts a walk that knows all registers which a function preserves: takes them here, and walks
 * out through our own frames to the caller of the intercepted function. Should our frames not
 * lead there, the walk starts without the registers, and stops where they are missed.
 */
static __attribute__((noinline)) void walk_start_all(struct unwind_stack *stack, struct walk *w,
						     const struct unwind_regs *regs, bool caching)
{
	uint64_t *value = stack->registers.value;
	struct step step;

	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\tleaq 0f(%%rip), %%rax\n\t0:\n\tmovq %%rax, 128(%0)"
			 :
			 : "r"(value)
			 : "rax", "memory");
	*w = (struct walk){
		.pc = value[CFI_RIP],
		.sp = value[CFI_RSP],
		.bp = value[CFI_RBP],
		.exact = true,
		.all_registers = true,
		.caching = caching,
	};
	stack->registers.known = 1u << CFI_RBX | 0xfu << CFI_R12;
	region_start(stack, w->sp);
	for (unsigned n = 0; n < OWN_FRAMES_MAX && (w->sp != regs->sp || w->pc != regs->pc); n++) {
		step = (struct step){ .return_at = 0 };
		if (!step_general(stack, w, &step))
			break;
	}
	w->reads = 0;
	w->reads_lost = false;
	if (w->sp != regs->sp || w->pc != regs->pc) {
		walk_start(w, regs, caching);
		w->all_registers = true;
		stack->registers.known = 0;
	}
}

/* A capture other than of the same stack again. */
static __attribute__((noinline)) unsigned capture(struct unwind_stack *stack, const struct unwind_regs *regs)
{
	uint64_t state = modules_state_now();
	bool caching = !(state & MODULES_CLOSING);
	struct walk w;
	int known;

	if (stack->state != state || !caching) {
		stack->depth = 0;
		stack->state = caching ? state : 0;
		if (caching)
			rules_renew(state);
	}
	/* The word below the stack pointer held the return address; that at it may not exist. */
	if (regs->sp - 8 - stack->low >= stack->high - stack->low)
		region_start(stack, regs->sp - 8);
	walk_start(&w, regs, caching);
	known = walk_out(stack, &w);
	/* What is left of a truncated stack may have become too short. */
	if (known >= 0 && stack->truncated && (unsigned)known + 1 + w.count < stack->capacity / 2) {
		stack->depth = 0;
		walk_start(&w, regs, caching);
		known = walk_out(stack, &w);
	}
	if (unlikely(w.wants_all_registers)) {
		walk_start_all(stack, &w, regs, caching);
		known = walk_out(stack, &w);
	}
	return commit(stack, &w, (unsigned)(known + 1));
}

unsigned unwind_capture(struct unwind_stack *stack, const struct unwind_regs *regs)
{
	struct walk w = { .pc = regs->pc, .sp = regs->sp, .bp = regs->bp };
	unsigned depth = stack->depth;

	if (likely(stack->state == modules_state_now() && depth > 0 && depth <= stack->opaque) &&
	    frame_is(&stack->frames[depth - 1], &w) && frames_changed(stack, (int)depth - 1) < 0)
		return depth;
	return capture(stack, regs);
}

static size_t rounded(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

size_t unwind_stack_bytes(unsigned capacity)
{
	return rounded(sizeof(struct unwind_stack)) + rounded(capacity * sizeof(struct unwind_frame)) +
	       rounded(LINKS_PER_FRAME * capacity * sizeof(struct link)) +
	       rounded(capacity * sizeof(struct step)) +
	       rounded(READS_PER_FRAME * capacity * sizeof(struct link));
}

void unwind_stack_init(struct unwind_stack *stack, unsigned capacity)
{
	unsigned char *at = (unsigned char *)stack + rounded(sizeof(*stack));

	memset(stack, 0, sizeof(*stack));
	stack->capacity = capacity;
	stack->opaque = FRAMES_MAX;
	stack->frames = (struct unwind_frame *)at;
	at += rounded(capacity * sizeof(struct unwind_frame));
	stack->links = (struct link *)at;
	at += rounded(LINKS_PER_FRAME * capacity * sizeof(struct link));
	stack->steps = (struct step *)at;
	at += rounded(capacity * sizeof(struct step));
	stack->reads = (struct link *)at;
}

unsigned unwind_stack_depth(const struct unwind_stack *stack)
{
	return stack->depth;
}

const struct unwind_frame *unwind_stack_frames(const struct unwind_stack *stack)
{
	return stack->frames;
}
