/* SPDX-License-Identifier: MIT */

#include "walk.h"

#include <string.h>

#include "frametables.h"
#include "libc.h"
#include "machine_context.h"
#include "modules.h"
#include "os.h"
#include "recorder_assert.h"
#include "scripts.h"
#include "sigreturn.h"
#include "take_registers.h"
#include "untabled.h"

/* A frame larger than this is not believed when its size comes from the frame pointer alone. */
#define POINTER_FRAME_BYTES_MAX ((uintptr_t)1 << 20)

/* Reads farther than this from the readable region start another one. */
#define REGION_STEP ((uintptr_t)64 << 10)

/* The recorder's own frames, up to the caller of the intercepted function. */
#define OWN_FRAMES_MAX 16

/* A return address may be the first byte of the next function; the call before it decides which function it is. */
static uintptr_t place_in_code(const struct walk *w)
{
	return w->exact ? w->pc : w->pc - 1;
}

/* Finds the row that holds at the walk's pc: work->row. */
static bool find_row(struct walker *walker, const struct walk *w, struct cfi_function *function)
{
	uintptr_t address = place_in_code(w);
	struct cfi_section section;

	return modules_find(address, &section) && cfi_find(&section, address, function) &&
	       cfi_find_row(function, address, &walker->work);
}

static bool is_sigreturn(uintptr_t pc);

static bool is_in_module(uintptr_t pc)
{
	return modules_find(pc, &(struct cfi_section){ 0 });
}

/* Rules are not kept for pcs that are in no module and have no table: other code may come there at any time. */
static __attribute__((noinline)) uint64_t rule_learn(struct walker *walker, struct walk *w)
{
	struct rule_place place = rule_place(w->pc, w->exact);
	struct cfi_function function;
	uint64_t rule;

	if (find_row(walker, w, &function)) {
		rule = rule_pack(&function, &walker->work.row);
		if (RULE_KIND(rule) == RULE_COMPACT && scripts_runs(&function, &walker->work))
			rule = rule_of_scripts(rule);
	} else
		rule = frametables_rule(place_in_code(w));
	if (rule == RULE_NONE && (!is_in_module(w->pc) || is_sigreturn(w->pc)))
		return RULE_GENERAL;
	if (rule == RULE_NONE)
		rule = untabled_rule(walker, w);
	if (rule == RULE_NONE)
		rule = RULE_GENERAL | RULE_NO_TABLE;
	if (w->caching)
		rule_keep(&place, rule);
	return rule;
}

static inline uint64_t rule_find(struct walker *walker, struct walk *w)
{
	struct rule_place place = rule_place(w->pc, w->exact);
	uint64_t rule = rule_load(place.home);

	if (unlikely(!w->caching))
		return rule_learn(walker, w);
	if (likely(rule_is(rule, &place)))
		return rule;
	rule = rule_search(&place);
	return rule != RULE_NONE ? rule : rule_learn(walker, w);
}

/*
 * Readable memory: [low, high) is a run of pages around the walk's place; the kernel has answered for each. It starts
 * anew when the walk goes elsewhere, so answers about a stack that may be gone are not used again.
 */
static void region_start(struct walker *walker, uintptr_t at)
{
	walker->low = at & ~(PAGE - 1);
	walker->high = walker->low + PAGE;
	RECORDER_ASSERT(walker->low <= at && at < walker->high);
}

static bool region_grow(struct walker *walker, uintptr_t at)
{
	if (at - walker->high < REGION_STEP) {
		while (at >= walker->high && os_readable(walker->high))
			walker->high += PAGE;
		return at < walker->high;
	}
	if (walker->low - at <= REGION_STEP) {
		while (at < walker->low && os_readable(walker->low - PAGE))
			walker->low -= PAGE;
		return at >= walker->low;
	}
	return false;
}

static __attribute__((noinline)) bool region_move(struct walker *walker, uintptr_t at)
{
	RECORDER_ASSERT(walker->low % PAGE == 0 && walker->high % PAGE == 0 && walker->low <= walker->high);
	if (at % 8 != 0)
		return false;
	if (region_grow(walker, at))
		return true;
	if (!os_readable(at))
		return false;
	region_start(walker, at);
	return true;
}

/* Whether the word at `at` may be read. An unaligned word outside the region is refused. */
static inline bool region_has(struct walker *walker, uintptr_t at)
{
	return walk_has_quickly(walker, at) || region_move(walker, at);
}

/* Whether the walk has been at this stack pointer: it goes in circles. */
static __attribute__((noinline)) bool was_there(const struct walker *walker, const struct walk *w,
						uintptr_t sp)
{
	for (unsigned i = w->count; i > 0; i--)
		if (walker->steps[i - 1].sp == sp)
			return true;
	return false;
}

/* Stacks grow down, so callers are above; but the program may have changed stacks, maybe to a neighbour. */
static inline bool is_outwards(const struct walker *walker, const struct walk *w, uintptr_t sp)
{
	return likely(sp > w->sp) || sp <= walker->low || sp > walker->high || !was_there(walker, w, sp);
}

struct reader {
	struct walker *walker;
	struct walk *walk;
};

void walk_note(struct walker *walker, struct walk *w, uintptr_t at, uint64_t value)
{
	RECORDER_ASSERT(w->reads <= walker->reads_most);
	if (w->reads == walker->reads_most)
		w->reads_lost = true;
	else
		walker->reads[w->reads++] = (struct link){ at, value };
}

/* walk_note() of a word that may have less than 8 bytes, which cannot be compared. */
static void note_read(struct reader *reader, uintptr_t at, unsigned bytes, uint64_t value)
{
	if (bytes == 8)
		walk_note(reader->walker, reader->walk, at, value);
	else
		reader->walk->reads_lost = true;
}

/* cfi_read_function of a walk. Expressions and rules read the stack mostly, but may read any memory. */
static bool read_memory(void *context, uintptr_t address, unsigned bytes, bool link, uint64_t *value)
{
	struct reader *reader = context;

	if (address % bytes != 0)
		return false;
	if (!(address % 8 == 0 && region_has(reader->walker, address)) &&
	    !os_readable(address & ~(uintptr_t)7))
		return false;
	*value = 0;
	memcpy(value, (const void *)address, bytes);
	if (link)
		note_read(reader, address, bytes, *value);
	return true;
}

static bool step_compact(struct walker *walker, struct walk *w, struct step *step, uint64_t rule)
{
	uintptr_t cfa = walk_compact_cfa(w, rule);

	step->flags |= rule & RULE_FROM_BP ? STEP_USES_BP : 0;
	if (cfa % 8 != 0 || !is_outwards(walker, w, cfa) ||
	    !region_has(walker, compact_return_at(rule, cfa)) ||
	    (compact_moves_bp(rule) && !region_has(walker, compact_bp_at(rule, cfa))))
		return false;
	return walk_finish_compact(w, step, rule, cfa);
}

/* Whether code that calls may be there; code made at run time is in no module. */
static bool may_return_to(uintptr_t pc)
{
	return is_in_module(pc - 1) || os_readable(pc - 1);
}

/* The last resort, for code without a table: bp may point to the caller's saved bp, below the return address. */
static bool step_frame_pointer(struct walker *walker, struct walk *w, struct step *step)
{
	uintptr_t bp = w->bp;

	if (!FRAME_POINTER_FINDS_SP)
		return false;
	step->flags |= STEP_USES_BP;
	if (bp % 8 != 0 || bp < w->sp || bp - w->sp > POINTER_FRAME_BYTES_MAX || !region_has(walker, bp) ||
	    !region_has(walker, bp + 8))
		return false;
	step->bp_at = bp;
	step->return_at = bp + 8;
	step->return_word = walk_load(bp + 8);
	return walk_move(w, step->return_word, bp + 16, walk_load(bp)) && may_return_to(w->pc);
}

/* Whether a signal handler returns to the code at pc. */
static bool is_sigreturn(uintptr_t pc)
{
	return os_readable(pc) && os_readable(pc + SIGRETURN_BYTES - 8) && sigreturn_is((const void *)pc);
}

/* The stack pointer leads to the ucontext in which the kernel saved the interrupted registers. Other steps restore less. */
static bool step_sigreturn(struct walker *walker, struct walk *w)
{
	const uintptr_t context = w->sp + CONTEXT_AT;
	struct cfi_state *registers = &walker->registers;
	struct reader reader = { walker, w };
	uint64_t pc, sp, bp;

	if (!read_memory(&reader, context + context_offset(CFI_PC), 8, true, &pc) ||
	    !read_memory(&reader, context + context_offset(CFI_SP), 8, true, &sp) ||
	    !read_memory(&reader, context + context_offset(CFI_BP), 8, true, &bp))
		return false;
	for (unsigned reg = 0; w->all_registers && reg < CFI_REGISTERS; reg++)
		if (CONTEXT_OTHERS & CFI_BIT(reg) &&
		    read_memory(&reader, context + context_offset(reg), 8, false, &registers->value[reg]))
			registers->known |= CFI_BIT(reg);
	w->exact = walk_move(w, pc, sp, bp);
	w->interrupted |= w->exact && scripts_are_present();
	return w->exact;
}

/* Gives the walk's registers to a step by the tables. */
static void load_registers(struct walker *walker, const struct walk *w)
{
	struct cfi_state *registers = &walker->registers;

	if (!w->all_registers)
		registers->known = 0;
	registers->value[CFI_PC] = w->pc;
	registers->value[CFI_SP] = w->sp;
	registers->value[CFI_BP] = w->bp;
	registers->known |= CFI_FOLLOWED;
}

/* Sets the flags that say what a step by the tables depended on. */
static void mark_dependence(struct step *step, const struct cfi_step *tables, enum cfi_result result)
{
	if (tables->used & CFI_BIT(CFI_BP))
		step->flags |= STEP_USES_BP;
	if (tables->used & ~CFI_FOLLOWED || (tables->return_at == 0 && result != CFI_OUTERMOST))
		step->flags |= STEP_OPAQUE;
}

/* An interrupted function whose return address is in a register may have no frame of its own. */
static bool is_leaf_step(const struct walk *w, uintptr_t sp)
{
	return CFI_RETURN != CFI_PC && w->exact && sp == w->sp;
}

/* A step by the full meaning of the tables. */
static bool step_tables(struct walker *walker, struct walk *w, struct step *step,
			const struct cfi_function *function)
{
	struct cfi_state *registers = &walker->registers;
	struct reader reader = { walker, w };
	struct cfi_step tables = {
		.read = read_memory,
		.context = &reader,
		.state = registers,
		.all_registers = w->all_registers,
	};
	enum cfi_result result;

	load_registers(walker, w);
	result = cfi_take_step(&tables, &walker->work);
	mark_dependence(step, &tables, result);
	w->wants_all_registers = result == CFI_NEEDS_REGISTER && !w->all_registers;
	if (result != CFI_OK)
		return false;
	if (!function->signal && !is_leaf_step(w, registers->value[CFI_SP]) &&
	    !is_outwards(walker, w, registers->value[CFI_SP]))
		return false;
	if (!(registers->known & CFI_BIT(CFI_BP)))
		registers->value[CFI_BP] = 0;
	if (!walk_move(w, registers->value[CFI_PC], registers->value[CFI_SP], registers->value[CFI_BP]))
		return false;
	w->exact = function->signal;
	w->interrupted |= w->exact && scripts_are_present();
	return true;
}

/* Code without tables leaves the other registers unknown. */
static bool step_untabled(struct walker *walker, struct walk *w, struct step *step)
{
	const uint64_t rule = LIBC_HAS_TABLES ? RULE_NONE : rule_find(walker, w);

	walker->registers.known = 0;
	if (RULE_KIND(rule) == RULE_COMPACT)
		return step_compact(walker, w, step, rule);
	return RULE_KIND(rule) != RULE_OUTERMOST && step_frame_pointer(walker, w, step);
}

static __attribute__((noinline)) bool step_general(struct walker *walker, struct walk *w, struct step *step)
{
	struct cfi_function function;
	uint64_t rule;

	if (find_row(walker, w, &function))
		return step_tables(walker, w, step, &function);
	rule = frametables_rule(place_in_code(w));
	if (rule == RULE_NONE && !is_sigreturn(w->pc))
		return step_untabled(walker, w, step);
	/* Rules restore no other registers. */
	walker->registers.known = 0;
	if (rule == RULE_NONE)
		return step_sigreturn(walker, w);
	return RULE_KIND(rule) == RULE_COMPACT && step_compact(walker, w, step, rule);
}

/* The step leads to no frame: the word found instead of the caller's pc is a read like others. */
static void note_end(struct walker *walker, struct walk *w, struct step *step)
{
	struct reader reader = { walker, w };

	if (step->return_at != 0)
		note_read(&reader, step->return_at, 8, step->return_word);
	step->return_at = step->bp_at = 0;
}

void walk_cut(struct walker *walker, struct walk *w)
{
	struct step *step = &walker->steps[w->count - 1];

	RECORDER_ASSERT(w->count > 0);
	w->truncated = true;
	note_end(walker, w, step);
	if (w->reads_lost)
		step->flags |= STEP_OPAQUE;
	step->reads_end = w->reads;
}

/* The step of a frame, by its rule, or by the tables with all registers. */
static bool take_step(struct walker *walker, struct walk *w, struct step *step, uint64_t rule)
{
	bool more = false;

	if (w->all_registers)
		more = step_general(walker, w, step);
	else if (RULE_KIND(rule) == RULE_COMPACT)
		more = step_compact(walker, w, step, rule);
	else if (rule_has_no_table(rule))
		more = step_untabled(walker, w, step);
	else if (RULE_KIND(rule) == RULE_GENERAL)
		more = step_general(walker, w, step);
	if (!more)
		note_end(walker, w, step);
	return more;
}

static void end_step(const struct walk *w, struct step *step)
{
	if (w->reads_lost)
		step->flags |= STEP_OPAQUE;
	step->reads_end = w->reads;
}

/* From a frame that runs scripts, whose CFA that is, to the innermost frame of these. False: they are not known. */
static bool enter_script(struct walker *walker, struct walk *w, uint64_t rule, uintptr_t cfa)
{
	struct script_entry entry;
	struct step *step;

	if (!scripts_enter(w, cfa, &entry))
		return false;
	step = walk_add_step(walker, w);
	step->flags |=
		STEP_KEEPS_BP | (rule & RULE_FROM_BP ? STEP_USES_BP : 0) | (entry.linked ? STEP_LINKED : 0);
	for (unsigned i = 0; i < entry.n; i++)
		walk_note(walker, w, entry.reads[i].at, entry.reads[i].value);
	end_step(w, step);
	w->script = true;
	w->runner = (struct walk_runner){ w->pc, w->sp, rule, entry.record };
	w->pc = entry.innermost;
	/* Between the runner's and its caller's. */
	w->sp = cfa - 1;
	return true;
}

/* From a frame of a script to the one that has called it, or to the caller of the frame that runs both. */
static bool step_script(struct walker *walker, struct walk *w)
{
	struct step *const step = walk_add_step(walker, w);
	struct script_frame frame;
	bool more = true;

	scripts_look(walker, w->runner.record, w->pc, &frame);
	for (unsigned i = 0; i < frame.n; i++)
		walk_note(walker, w, frame.reads[i].at, frame.reads[i].value);
	step->shown = frame.place + 1;
	step->flags |=
		STEP_SCRIPT | (frame.left_out ? STEP_LEFT_OUT : 0) | (frame.known ? STEP_LIFE : STEP_OPAQUE);
	if (frame.caller) {
		step->flags |= STEP_KEEPS_BP;
		w->pc = frame.caller;
	} else {
		w->script = false;
		w->pc = w->runner.pc;
		w->sp = w->runner.sp;
		more = take_step(walker, w, step, w->runner.rule);
	}
	end_step(w, step);
	return more;
}

bool walk_step(struct walker *walker, struct walk *w)
{
	const bool by_rule = !w->all_registers || scripts_are_present();
	uint64_t rule;
	struct step *step;
	bool more, opaque = false;

	if (unlikely(w->script))
		return step_script(walker, w);
	rule = by_rule ? rule_find(walker, w) : RULE_GENERAL;
	if (unlikely(rule_is_of_scripts(rule))) {
		rule = rule_without_scripts(rule);
		if (enter_script(walker, w, rule, walk_compact_cfa(w, rule)))
			return true;
		opaque = scripts_are_present();
	}
	step = walk_add_step(walker, w);
	more = take_step(walker, w, step, rule);
	end_step(w, step);
	step->flags |= opaque ? STEP_OPAQUE : 0;
	return more;
}

void walk_start(struct walker *walker, struct walk *w, const struct unwind_regs *regs, bool caching)
{
	/* The word below the stack pointer held the return address; the word at the stack pointer may not exist. */
	if (regs->sp - 8 - walker->low >= walker->high - walker->low)
		region_start(walker, regs->sp - 8);
	*w = (struct walk){ .pc = regs->pc, .sp = regs->sp, .bp = regs->bp, .caching = caching };
}

void walk_start_all(struct walker *walker, struct walk *w, const struct unwind_regs *regs, bool caching)
{
	uint64_t *value = walker->registers.value;
	struct step step;

	TAKE_REGISTERS(value);
	*w = (struct walk){
		.pc = value[CFI_PC],
		.sp = value[CFI_SP],
		.bp = value[CFI_BP],
		.exact = true,
		.all_registers = true,
		.caching = caching,
	};
	walker->registers.known = CFI_PRESERVED;
	region_start(walker, w->sp);
	for (unsigned n = 0; n < OWN_FRAMES_MAX && (w->sp != regs->sp || w->pc != regs->pc); n++) {
		step = (struct step){ .return_at = 0 };
		if (!step_general(walker, w, &step))
			break;
	}
	w->reads = 0;
	w->reads_lost = false;
	if (w->sp != regs->sp || w->pc != regs->pc) {
		walk_start(walker, w, regs, caching);
		w->all_registers = true;
		walker->registers.known = 0;
	}
}
