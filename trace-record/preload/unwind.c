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

/* unwind_frame.flags. The first three are about the frame's state, the others about its step. */
enum {
	FRAME_EXACT = 1 << 0,           /* pc is not a return address */
	FRAME_NEEDS_BP = 1 << 1,        /* this step or one further out depends on this frame's bp */
	FRAME_OPAQUE = 1 << 2,          /* the step depends on what is not compared */
	FRAME_USES_BP = 1 << 3,         /* the step depends on bp, other than by passing it on */
	FRAME_KEEPS_BP = 1 << 4,        /* the caller's bp is this frame's */
	FRAME_COMPARE_BP = 1 << 5,      /* bp_at is part of what later steps depend on */
	FRAME_READS = 1 << 6            /* has entries in `reads`, which cover all that it read */
};

/* Memory that a step other than by a compact rule read. */
struct read {
	uintptr_t at;
	uint64_t value;
	uint32_t bytes;
};

struct unwind_stack {
	uint64_t state;                 /* modules_state of the frames; 0 = void */
	unsigned depth, capacity;
	unsigned opaque;                /* frames from this one inwards cannot be compared */
	bool truncated;                 /* frames[0] is not the outermost of the true stack */
	uintptr_t low, high;            /* readable memory around the stack pointer */
	struct unwind_frame *frames;    /* outermost first */
	struct unwind_frame *fresh;     /* of the present capture, innermost first */
	struct read *reads;             /* of frames, in their order */
	struct read *fresh_reads;       /* of fresh, in their order */
	unsigned reads_capacity;
	struct cfi_work work;
	struct cfi_state registers;     /* of the present frame, in walks with all registers */
};

/* A walk: the state of the frame to be stepped from. */
struct walk {
	uintptr_t pc, sp, bp;
	unsigned count, reads;          /* entries of fresh and fresh_reads */
	bool exact;                     /* pc is not a return address */
	bool caching;                   /* rules may be looked up and kept */
	bool all_registers;             /* stack->registers is kept up to date */
	bool wants_all_registers;       /* the walk stopped for want of a register */
	bool reads_lost;                /* fresh_reads was full */
	bool truncated;                 /* there was more than fits */
};

/*
 * Rules by pc. One 64-bit word holds a whole rule and enough of its key to make it unmistakable,
 * so that any thread may read and write any slot at any time without a lock.
 *
 * Key: pc * 2 + exact, 48 bits, spread by a multiplication that is one-to-one modulo 2^48. The
 * top 13 bits of the product choose the bucket, the other 35 are the tag. A bucket is one cache
 * line of eight slots; a key's home slot is replaced when the bucket is full.
 *
 * Rules of closed modules are cleared before the first capture that could meet other code at
 * their addresses. A thread that adds a rule has the pc on its stack, so no program that is sound
 * can unload that code before the capture is over: what is added during a clearing is valid.
 */
#define RULE_BUCKET_BITS 13
#define RULE_SLOTS 8
#define RULE_TAG_BITS 35
#define RULE_KEY_MASK ((UINT64_C(1) << 48) - 1)
#define RULE_SPREAD UINT64_C(0x9e3779b97f4b)

enum { RULE_NONE = 0, RULE_COMPACT = 1, RULE_GENERAL = 2, RULE_OUTERMOST = 3 };

/* Bits of a word. Compact: CFA = (bp or sp) + 8 * CFA words, return address at CFA - 8, the
 * caller's bp at CFA - 8 * BP words, or unchanged when that is 0. */
#define RULE_KIND(rule) ((rule) & 3)
#define RULE_FROM_BP (UINT64_C(1) << 2)
#define RULE_CFA_SHIFT 3
#define RULE_CFA_WORDS_MAX ((UINT64_C(1) << 17) - 1)
#define RULE_BP_SHIFT 20
#define RULE_BP_WORDS_MAX UINT64_C(255)
#define RULE_TAG_SHIFT 28

_Static_assert(RULE_BUCKET_BITS + RULE_TAG_BITS == 48, "the tag completes the bucket");
_Static_assert(RULE_TAG_SHIFT + RULE_TAG_BITS <= 64, "a rule is one word");

static _Alignas(64) _Atomic uint64_t rules[1 << RULE_BUCKET_BITS][RULE_SLOTS];
static _Atomic uint64_t rules_closings;         /* the rules are free of modules closed before */

struct rule_place {
	_Atomic uint64_t *bucket;
	unsigned home;
	uint64_t tag;
};

static inline struct rule_place rule_place(uintptr_t pc, bool exact)
{
	uint64_t spread = (((uint64_t)pc << 1 | exact) * RULE_SPREAD) & RULE_KEY_MASK;

	return (struct rule_place){
		.bucket = rules[spread >> RULE_TAG_BITS],
		.home = (unsigned)(spread >> (RULE_TAG_BITS - 3)) & (RULE_SLOTS - 1),
		.tag = spread & ((UINT64_C(1) << RULE_TAG_BITS) - 1),
	};
}

static inline uint64_t rule_at(const struct rule_place *place, unsigned slot)
{
	return atomic_load_explicit(&place->bucket[slot], memory_order_relaxed);
}

static uint64_t rule_search(const struct rule_place *place)
{
	for (unsigned slot = 0; slot < RULE_SLOTS; slot++) {
		uint64_t rule = rule_at(place, slot);

		if (rule >> RULE_TAG_SHIFT == place->tag && RULE_KIND(rule) != RULE_NONE)
			return rule;
	}
	return RULE_NONE;
}

static void rule_keep(const struct rule_place *place, uint64_t rule)
{
	unsigned slot = 0;

	while (slot < RULE_SLOTS && rule_at(place, slot) != 0)
		slot++;
	if (slot == RULE_SLOTS || rule_at(place, place->home) == 0)
		slot = place->home;
	atomic_store_explicit(&place->bucket[slot], rule | place->tag << RULE_TAG_SHIFT,
		memory_order_relaxed);
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
				atomic_store_explicit(&rules[bucket][slot], 0,
					memory_order_relaxed);
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
	if (row->kind[CFI_RIP] != CFI_OFFSET || row->value[CFI_RIP] != -8 ||
	    row->kind[CFI_RSP] != CFI_SAME)
		return RULE_GENERAL;
	if (row->kind[CFI_RBP] == CFI_OFFSET && row->value[CFI_RBP] < 0 &&
	    row->value[CFI_RBP] % 8 == 0)
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
	uint64_t rule = rule_at(&place, place.home);

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

/* Whether the word at `at` may be read; an unaligned one outside the region is refused. */
static inline bool region_has(struct unwind_stack *stack, uintptr_t at)
{
	return likely(at - stack->low <= stack->high - stack->low - 8) || region_move(stack, at);
}

static inline uint64_t load(uintptr_t at)
{
	uint64_t value;

	memcpy(&value, (const void *)at, sizeof(value));
	return value;
}

static inline uintptr_t load_bytes(uintptr_t at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)at, bytes);
	return value;
}

/* Stacks grow down, so callers are found upwards; unless the program changed to another stack. */
static inline bool is_outwards(const struct unwind_stack *stack, const struct walk *w, uintptr_t sp)
{
	return likely(sp > w->sp) || sp <= stack->low || sp > stack->high;
}

/* Notes that the frame being stepped from depends on a word of memory. */
static void note_read(struct unwind_stack *stack, struct walk *w, uintptr_t at, unsigned bytes,
	uint64_t value)
{
	if (w->reads == stack->reads_capacity)
		w->reads_lost = true;
	else
		stack->fresh_reads[w->reads++] = (struct read){ at, value, bytes };
}

struct reader {
	struct unwind_stack *stack;
	struct walk *walk;
};

/* Expressions and rules read the stack as a rule, but may read anything. */
static bool read_memory(void *context, uintptr_t address, unsigned bytes, bool link, uint64_t *value)
{
	struct reader *reader = context;

	if (!region_has(reader->stack, address) &&
	    (address + bytes < address || !probe_readable(address)))
		return false;
	*value = load_bytes(address, bytes);
	if (link)
		note_read(reader->stack, reader->walk, address, bytes, *value);
	return true;
}

/* Moves the walk to the caller; false when that can be none. The value at return_at ends the walk
 * then, so it must be compared. */
static bool move_to(struct unwind_stack *stack, struct walk *w, const struct unwind_frame *frame,
	uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
	if (unlikely(pc < PC_MIN || pc >= PC_MAX)) {
		if (frame->return_at != 0)
			note_read(stack, w, frame->return_at, 8, pc);
		return false;
	}
	w->pc = pc;
	w->sp = sp;
	w->bp = bp;
	w->exact = false;
	return true;
}

static inline bool step_compact(struct unwind_stack *stack, struct walk *w,
	struct unwind_frame *frame, uint64_t rule)
{
	uintptr_t from = rule & RULE_FROM_BP ? w->bp : w->sp, bp = w->bp;
	uintptr_t cfa = from + 8 * ((rule >> RULE_CFA_SHIFT) & RULE_CFA_WORDS_MAX);
	uintptr_t bp_words = (rule >> RULE_BP_SHIFT) & RULE_BP_WORDS_MAX;

	frame->flags |= rule & RULE_FROM_BP ? FRAME_USES_BP : 0;
	if (unlikely(!is_outwards(stack, w, cfa) || cfa % 8 != 0 ||
	    !region_has(stack, cfa - 8)))
		return false;
	frame->return_at = cfa - 8;
	if (bp_words == 0) {
		frame->flags |= FRAME_KEEPS_BP;
	} else {
		frame->bp_at = cfa - 8 * bp_words;
		if (unlikely(!region_has(stack, frame->bp_at)))
			return false;
		bp = load(frame->bp_at);
	}
	return move_to(stack, w, frame, load(cfa - 8), cfa, bp);
}

/* Last resort, for code that no table describes: rbp points to the caller's saved rbp, below the
 * return address. */
static bool step_frame_pointer(struct unwind_stack *stack, struct walk *w,
	struct unwind_frame *frame)
{
	uintptr_t bp = w->bp;

	frame->flags |= FRAME_USES_BP;
	if (bp % 8 != 0 || bp < w->sp || bp - w->sp > POINTER_FRAME_BYTES_MAX ||
	    !region_has(stack, bp) || !region_has(stack, bp + 8))
		return false;
	frame->bp_at = bp;
	frame->return_at = bp + 8;
	return move_to(stack, w, frame, load(bp + 8), bp + 16, load(bp));
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
static bool step_sigreturn(struct unwind_stack *stack, struct walk *w, struct unwind_frame *frame)
{
	static const int fields[3] = { REG_RIP, REG_RSP, REG_RBP };
	struct reader reader = { stack, w };
	uint64_t value[3];

	for (unsigned i = 0; i < 3; i++) {
		uintptr_t at = w->sp + offsetof(ucontext_t, uc_mcontext.gregs) +
			sizeof(greg_t) * (unsigned)fields[i];

		if (!read_memory(&reader, at, 8, true, &value[i]))
			return false;
		if (i == 0)
			frame->return_at = at;
	}
	if (!move_to(stack, w, frame, value[0], value[1], value[2]))
		return false;
	w->exact = true;
	return true;
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

/* What the outcome of a general step depended on, in the frame's flags. */
static void mark_general(struct unwind_frame *frame, const struct cfi_step *step)
{
	uint32_t compared = 1u << CFI_RIP | 1u << CFI_RSP | 1u << CFI_RBP;

	if (step->used & 1u << CFI_RBP)
		frame->flags |= FRAME_USES_BP;
	if (step->used & ~compared || step->return_at == 0)
		frame->flags |= FRAME_OPAQUE;
}

/* A step by the full meaning of the tables. */
static bool step_tables(struct unwind_stack *stack, struct walk *w, struct unwind_frame *frame,
	const struct cfi_function *function)
{
	struct cfi_state *registers = &stack->registers;
	struct reader reader = { stack, w };
	struct cfi_step step = {
		.read = read_memory, .context = &reader, .state = registers,
		.all_registers = w->all_registers,
	};
	enum cfi_result result;

	load_registers(stack, w);
	result = cfi_take_step(&step, &stack->work);
	mark_general(frame, &step);
	w->wants_all_registers = result == CFI_NEEDS_REGISTER && !w->all_registers;
	if (result == CFI_OUTERMOST)
		frame->flags &= ~(uint32_t)FRAME_OPAQUE;
	if (result != CFI_OK)
		return false;
	frame->return_at = step.return_at;
	if (!function->signal && !is_outwards(stack, w, registers->value[CFI_RSP]))
		return false;
	if (!(registers->known & 1u << CFI_RBP))
		registers->value[CFI_RBP] = 0;
	if (!move_to(stack, w, frame, registers->value[CFI_RIP], registers->value[CFI_RSP],
		registers->value[CFI_RBP]))
		return false;
	w->exact = function->signal;
	return true;
}

static __attribute__((noinline)) bool step_general(struct unwind_stack *stack, struct walk *w,
	struct unwind_frame *frame)
{
	struct cfi_function function;

	if (find_row(stack, w, &function))
		return step_tables(stack, w, frame, &function);
	/* What code without tables did with the other registers is not known. */
	stack->registers.known = 0;
	if (is_sigreturn(w->pc))
		return step_sigreturn(stack, w, frame);
	return step_frame_pointer(stack, w, frame);
}

/* Adds the walk's frame to `fresh` and moves to its caller. False: it is the last. */
static inline bool step(struct unwind_stack *stack, struct walk *w)
{
	struct unwind_frame *frame = &stack->fresh[w->count++];
	unsigned reads = w->reads;
	uint64_t rule;
	bool more = false;

	*frame = (struct unwind_frame){
		.pc = w->exact ? w->pc : w->pc - 1, .sp = w->sp, .bp = w->bp,
		.flags = w->exact ? FRAME_EXACT : 0,
	};
	rule = w->all_registers ? RULE_GENERAL : rule_find(stack, w);
	if (likely(RULE_KIND(rule) == RULE_COMPACT))
		more = step_compact(stack, w, frame, rule);
	else if (RULE_KIND(rule) == RULE_GENERAL)
		more = step_general(stack, w, frame);
	if (unlikely(w->reads != reads))
		frame->flags |= FRAME_READS;
	if (unlikely(w->reads_lost))
		frame->flags |= FRAME_OPAQUE;
	frame->reads_end = w->reads;
	return more;
}

/* Whether the memory that the step from frame i read beyond the return address is unchanged. */
static bool reads_same(const struct unwind_stack *stack, unsigned i)
{
	const struct unwind_frame *frame = &stack->frames[i];
	uint32_t from = i > 0 ? frame[-1].reads_end : 0;

	if (i > 0 && frame->flags & FRAME_COMPARE_BP && load(frame->bp_at) != frame[-1].bp)
		return false;
	/* In order: each address follows from the values before it. */
	for (uint32_t r = from; r < frame->reads_end; r++) {
		const struct read *read = &stack->reads[r];

		if (load_bytes(read->at, read->bytes) != read->value)
			return false;
	}
	return true;
}

/*
 * Given that the thread now has a frame in the state of frames[i], whether the walk outwards from
 * it still gives frames[i-1] … frames[0] and nothing more. Goes from the inside outwards and
 * stops at the first difference, so each word read is one that a walk would read: its address
 * was derived from values just found to hold. Returns the frame whose step changed, or -1.
 */
static inline int frames_changed(const struct unwind_stack *stack, int i)
{
	const struct unwind_frame *frame = &stack->frames[i];

	for (; frame > stack->frames; frame--) {
		if (unlikely(frame->flags & FRAME_READS)) {
			if (!reads_same(stack, (unsigned)(frame - stack->frames)))
				return (int)(frame - stack->frames);
			continue;
		}
		if (unlikely(load(frame->return_at) != frame[-1].pc + 1))
			return (int)(frame - stack->frames);
		if (frame->flags & FRAME_COMPARE_BP && load(frame->bp_at) != frame[-1].bp)
			return (int)(frame - stack->frames);
	}
	if (!stack->truncated && frame->flags & FRAME_READS && !reads_same(stack, 0))
		return 0;
	return -1;
}

static inline bool frame_is(const struct unwind_frame *frame, const struct walk *w)
{
	bool exact = frame->flags & FRAME_EXACT;

	return frame->sp == w->sp && frame->pc == w->pc - !exact && exact == w->exact &&
		(!(frame->flags & FRAME_NEEDS_BP) || frame->bp == w->bp);
}

/* Walks outwards until the rest is known or there is no more. Returns the innermost of the frames
 * that may be kept, or -1. */
static int walk_out(struct unwind_stack *stack, struct walk *w)
{
	int known = (int)(stack->depth < stack->opaque ? stack->depth : stack->opaque) - 1;

	for (;;) {
		while (known >= 0 && stack->frames[known].sp < w->sp)
			known--;
		if (known >= 0 && frame_is(&stack->frames[known], w)) {
			int changed = frames_changed(stack, known);

			if (changed < 0)
				return known;
			/* Nothing from the changed step inwards can be kept. */
			known = changed - 1;
		}
		if (w->count == stack->capacity) {
			w->truncated = true;
			return -1;
		}
		if (!step(stack, w))
			return -1;
	}
}

/* Drops the outermost frames. */
static void drop_outer(struct unwind_stack *stack, unsigned count)
{
	uint32_t reads = count > 0 ? stack->frames[count - 1].reads_end : 0;

	stack->truncated = true;
	stack->depth -= count;
	memmove(stack->frames, stack->frames + count, stack->depth * sizeof(*stack->frames));
	if (stack->depth == 0)
		return;
	memmove(stack->reads, stack->reads + reads,
		(stack->frames[stack->depth - 1].reads_end - reads) * sizeof(*stack->reads));
	for (unsigned i = 0; i < stack->depth; i++)
		stack->frames[i].reads_end -= reads;
}

/* Appends a fresh frame: completes what depends on the frames further out. */
static void append(struct unwind_stack *stack, unsigned fresh)
{
	struct unwind_frame *frame = &stack->frames[stack->depth], *from = &stack->fresh[fresh];
	const struct unwind_frame *outer = stack->depth > 0 ? frame - 1 : NULL;
	uint32_t first = fresh > 0 ? from[-1].reads_end : 0, count = from->reads_end - first;
	uint32_t reads = outer ? outer->reads_end : 0;
	bool outer_needs = outer && outer->flags & FRAME_NEEDS_BP;

	*frame = *from;
	if (frame->flags & FRAME_USES_BP || (frame->flags & FRAME_KEEPS_BP && outer_needs))
		frame->flags |= FRAME_NEEDS_BP;
	if (frame->bp_at != 0 && outer_needs)
		frame->flags |= FRAME_COMPARE_BP;
	if (count > stack->reads_capacity - reads) {
		frame->flags |= FRAME_OPAQUE;
		count = 0;
	}
	memcpy(stack->reads + reads, stack->fresh_reads + first, count * sizeof(*stack->reads));
	frame->reads_end = reads + count;
	if (frame->flags & FRAME_OPAQUE && stack->opaque > stack->depth)
		stack->opaque = stack->depth;
	stack->depth++;
}

/* Puts the fresh frames onto the first `kept` ones. Returns how many leading pcs are as before. */
static unsigned commit(struct unwind_stack *stack, const struct walk *w, unsigned kept)
{
	unsigned before = stack->depth, same = kept;

	stack->depth = kept;
	stack->opaque = FRAMES_MAX;     /* frames that may be kept are not opaque */
	if (kept == 0)
		stack->truncated = w->truncated;
	if (kept + w->count > stack->capacity) {
		unsigned half = stack->capacity / 2;

		drop_outer(stack, w->count < half ? kept + w->count - half : kept);
		before = same = 0;
	}
	for (unsigned i = w->count; i-- > 0; ) {
		unsigned at = stack->depth;

		if (same == at && at < before && stack->frames[at].pc == stack->fresh[i].pc)
			same++;
		append(stack, i);
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
	struct unwind_frame frame;

	__asm__ volatile(
		"movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
		"movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"
		"movq %%r15, 120(%0)\n\tleaq 0f(%%rip), %%rax\n\t0:\n\tmovq %%rax, 128(%0)"
		: : "r"(value) : "rax", "memory");
	*w = (struct walk){
		.pc = value[CFI_RIP], .sp = value[CFI_RSP], .bp = value[CFI_RBP],
		.exact = true, .all_registers = true, .caching = caching,
	};
	stack->registers.known = 1u << CFI_RBX | 0xfu << CFI_R12;
	region_start(stack, w->sp);
	for (unsigned n = 0; n < OWN_FRAMES_MAX && (w->sp != regs->sp || w->pc != regs->pc); n++) {
		frame = (struct unwind_frame){ .return_at = 0 };
		if (!step_general(stack, w, &frame))
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
static __attribute__((noinline)) unsigned capture(struct unwind_stack *stack,
	const struct unwind_regs *regs)
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
	if (known >= 0 && stack->truncated &&
	    (unsigned)known + 1 + w.count < stack->capacity / 2) {
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
	return rounded(sizeof(struct unwind_stack)) +
		2 * rounded(capacity * sizeof(struct unwind_frame)) +
		2 * rounded(2 * capacity * sizeof(struct read));
}

void unwind_stack_init(struct unwind_stack *stack, unsigned capacity)
{
	unsigned char *at = (unsigned char *)stack + rounded(sizeof(*stack));

	memset(stack, 0, sizeof(*stack));
	stack->capacity = capacity;
	stack->opaque = FRAMES_MAX;
	stack->reads_capacity = 2 * capacity;
	stack->frames = (struct unwind_frame *)at;
	at += rounded(capacity * sizeof(struct unwind_frame));
	stack->fresh = (struct unwind_frame *)at;
	at += rounded(capacity * sizeof(struct unwind_frame));
	stack->reads = (struct read *)at;
	at += rounded(stack->reads_capacity * sizeof(struct read));
	stack->fresh_reads = (struct read *)at;
}

unsigned unwind_stack_depth(const struct unwind_stack *stack)
{
	return stack->depth;
}

const struct unwind_frame *unwind_stack_frames(const struct unwind_stack *stack)
{
	return stack->frames;
}
