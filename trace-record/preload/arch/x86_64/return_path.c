/* SPDX-License-Identifier: MIT */
#include "return_path.h"

#include "instruction.h"
#include "os.h"
#include "rules.h"

#define SP 4u
#define BP 5u
#define NO_REGISTER 16u

/* Of a struct return_path_value: an address, as a distance from the stack pointer or from the frame pointer at the pc, or... */
enum {
	UNKNOWN,
	FROM_SP,
	FROM_BP,
	AT_SP, /* what was saved at such an address before the pc */
	AT_BP
};

enum follow { GOES_ON, ENDS, RETURNS };

static const struct return_path_value unknown = { UNKNOWN, 0 };

static bool is_address(struct return_path_value value)
{
	return value.kind == FROM_SP || value.kind == FROM_BP;
}

static struct return_path_value moved(struct return_path_value value, int64_t by)
{
	if (!is_address(value) || by > INT32_MAX / 4 || by < INT32_MIN / 4 || value.offset > INT32_MAX / 2 ||
	    value.offset < INT32_MIN / 2)
		return unknown;
	value.offset += (int32_t)by;
	return value;
}

static bool are_equal(struct return_path_value a, struct return_path_value b)
{
	return a.kind == b.kind && a.offset == b.offset;
}

/* The word at an address. */
static struct return_path_value load(const struct return_path_state *s, struct return_path_value at)
{
	if (!is_address(at))
		return unknown;
	if (are_equal(at, s->pushed_at))
		return s->pushed;
	return (struct return_path_value){ at.kind == FROM_SP ? AT_SP : AT_BP, at.offset };
}

static void save_bp(struct return_path_state *s, struct return_path_value at)
{
	if (!is_address(at))
		return;
	s->pushed_at = at;
	s->pushed = s->bp;
}

/* The address that an operand in memory has, if its base is one of the two. */
static struct return_path_value operand_address(const struct return_path_state *s,
						const struct instruction *i)
{
	if (i->base == SP)
		return moved(s->sp, i->displacement);
	if (i->base == BP)
		return moved(s->bp, i->displacement);
	return unknown;
}

/* What a register holds, as far as that matters. */
static struct return_path_value value_of(const struct return_path_state *s, unsigned reg)
{
	return reg == SP ? s->sp : reg == BP ? s->bp : unknown;
}

static void set_register(struct return_path_state *s, unsigned reg, struct return_path_value value)
{
	if (reg == SP)
		s->sp = value;
	else if (reg == BP)
		s->bp = value;
}

/* ---- what instructions do to the two registers ---- */

/*
 * A function has rbp either for its frame pointer, and leaves it alone, or for anything, and restores it at the end: so other
 * writes to rbp than these do not matter. rsp may be lost (alloca), until it is made of rbp again.
 */
static void move(struct return_path_state *s, const struct instruction *i)
{
	const bool to_reg = i->opcode == 0x8b;

	if (i->mod == 3)
		set_register(s, to_reg ? i->reg : i->rm, value_of(s, to_reg ? i->rm : i->reg));
	else if (to_reg)
		set_register(s, i->reg, load(s, operand_address(s, i)));
	else if (i->reg == BP)
		save_bp(s, operand_address(s, i));
}

/* Arithmetic with two registers, of which one may be rsp. */
static void calculate(struct return_path_state *s, const struct instruction *i)
{
	const bool compares = i->opcode >= 0x38;

	if (!compares &&
	    ((i->opcode % 8 == 1 && i->mod == 3 && i->rm == SP) || (i->opcode % 8 == 3 && i->reg == SP)))
		s->sp = unknown;
}

/* Arithmetic with a number. */
static void add_number(struct return_path_state *s, const struct instruction *i)
{
	const unsigned operation = i->reg % 8;

	if (i->mod != 3 || i->rm != SP || operation == 7) /* cmp */
		return;
	if (operation == 0)
		s->sp = moved(s->sp, i->immediate);
	else
		s->sp = operation == 5 ? moved(s->sp, -i->immediate) : unknown;
}

static void push(struct return_path_state *s, unsigned reg)
{
	s->sp = moved(s->sp, -8);
	if (reg == BP)
		save_bp(s, s->sp);
}

static void pop(struct return_path_state *s, unsigned reg)
{
	const struct return_path_value at = s->sp;

	s->sp = moved(at, 8);
	set_register(s, reg, load(s, at));
}

/*
 * ff: increments, indirect calls and jumps, pushes. A jump by a word of memory that no index chooses is a call at the end of
 * a function; another one may be a switch.
 */
static enum follow jump_or_push(struct return_path_state *s, const struct instruction *i)
{
	switch (i->reg % 8) {
	case 4:
		return i->mod != 3 && (i->base != NO_BASE || i->rm % 8 == 5) ? RETURNS : ENDS;
	case 6:
		push(s, NO_REGISTER);
		return GOES_ON;
	case 3:
	case 5:
	case 7:
		return ENDS;
	default:
		return GOES_ON;
	}
}

/* Changes of the two registers by instructions that go on to the next one. */
static void take_change(struct return_path_state *s, const struct instruction *i)
{
	if (i->opcode < 0x40)
		calculate(s, i);
	else if (i->opcode >= 0x50 && i->opcode < 0x58)
		push(s, i->rm);
	else if (i->opcode >= 0x58 && i->opcode < 0x60)
		pop(s, i->rm);
	switch (i->opcode) {
	case 0x68:
	case 0x6a:
	case 0x9c: /* pushf */
		push(s, NO_REGISTER);
		break;
	case 0x8f:
	case 0x9d: /* popf */
		pop(s, NO_REGISTER);
		break;
	case 0x81:
	case 0x83:
		add_number(s, i);
		break;
	case 0x89:
	case 0x8b:
		move(s, i);
		break;
	case 0x8d: /* lea */
		set_register(s, i->reg, operand_address(s, i));
		break;
	case 0xc9: /* leave */
		s->sp = s->bp;
		pop(s, BP);
		break;
	default:
		break;
	}
}

/* Instructions of one-byte opcodes that do not jump by a number. */
static enum follow take_one_byte(struct return_path_state *s, const struct instruction *i)
{
	switch (i->opcode) {
	case 0xc2: /* ret that pops, far returns, int3, iret, hlt */
	case 0xc8: /* enter */
	case 0xca:
	case 0xcb:
	case 0xcc:
	case 0xcf:
	case 0xf4:
		return ENDS;
	case 0xc3:
		return RETURNS;
	case 0xff:
		return jump_or_push(s, i);
	default:
		take_change(s, i);
		return GOES_ON;
	}
}

/* ---- paths ---- */

/* False if the instruction has been looked at, or no more can be. */
static bool is_new(struct return_path_work *work, uintptr_t pc)
{
	unsigned at = (unsigned)(pc * 0x9e3779b1u >> 7) % RETURN_PATH_SEEN;

	while (work->seen[at] && work->seen[at] != pc)
		at = (at + 1) % RETURN_PATH_SEEN;
	if (work->seen[at] || work->n_seen == RETURN_PATH_SEEN / 2)
		return false;
	work->seen[at] = pc;
	work->n_seen++;
	return true;
}

/* Bytes of code from there on, of which so many as an instruction may have can be read; 0: none. */
static uint64_t readable_from(const struct return_path_code *code, struct return_path_work *work,
			      uintptr_t pc)
{
	const uintptr_t page = pc & ~(PAGE - 1), last = (pc + INSTRUCTION_BYTES - 1) & ~(PAGE - 1);

	if (pc < code->start || pc >= code->end || (page != work->readable && !os_readable(page)))
		return 0;
	work->readable = page;
	if (last != page && !os_readable(last))
		return page + PAGE - pc;
	return code->end - pc;
}

static bool is_endless(const struct return_path_code *code, uintptr_t target)
{
	for (unsigned i = 0; i < code->n_endless; i++) {
		if (code->endless[i] == target)
			return true;
	}
	return false;
}

static void add_branch(struct return_path_work *work, const struct return_path_state *s, uintptr_t target)
{
	if (work->n_branches == RETURN_PATH_BRANCHES)
		return;
	work->branches[work->n_branches] = *s;
	work->branches[work->n_branches++].pc = target;
}

static bool is_conditional(const struct instruction *i)
{
	return i->map == 1
		       ? (i->opcode >= 0x70 && i->opcode < 0x80) || (i->opcode >= 0xe0 && i->opcode < 0xe4)
		       : i->map == 2 && i->opcode >= 0x80 && i->opcode < 0x90;
}

/* One instruction; s->pc becomes that of the next one. */
static enum follow take(const struct return_path_code *code, struct return_path_work *work,
			struct return_path_state *s)
{
	const uint64_t bytes = readable_from(code, work, s->pc);
	struct instruction i;
	uintptr_t target;

	if (bytes == 0 ||
	    !instruction_decode((const uint8_t *)s->pc, bytes, &i)) // NOLINT(performance-no-int-to-ptr)
		return ENDS;
	s->pc += i.length;
	target = s->pc + (uintptr_t)i.immediate;
	if (is_conditional(&i)) {
		add_branch(work, s, target);
		return GOES_ON;
	}
	if (i.map > 1)
		return i.map == 2 && i.opcode == 0x0b ? ENDS : GOES_ON; /* ud2 */
	if (i.opcode == 0xe8)
		return is_endless(code, target) ? ENDS : GOES_ON;
	if (i.opcode == 0xe9 || i.opcode == 0xeb) {
		s->pc = target;
		return is_endless(code, target) ? ENDS : GOES_ON;
	}
	return take_one_byte(s, &i);
}

static bool is_callers_bp(struct return_path_value value)
{
	return value.kind == FROM_BP && value.offset == 0;
}

/* The rule: the CFA so far from sp or bp, the caller's bp so far below the CFA, or in place (0). RULE_NONE: there is none. */
static uint64_t make_rule(bool from_bp, int64_t cfa, int64_t bp)
{
	if (cfa <= 0 || cfa % 8 != 0 || bp < 0 || bp % 8 != 0 || (uint64_t)cfa / 8 > RULE_CFA_WORDS_MAX ||
	    (uint64_t)bp / 8 > RULE_BP_WORDS_MAX)
		return RULE_NONE;
	return RULE_COMPACT | (from_bp ? RULE_FROM_BP : 0) | (uint64_t)cfa / 8 << RULE_CFA_SHIFT |
	       (uint64_t)bp / 8 << RULE_BP_SHIFT;
}

/* The rule that a return from that state leads to. */
static uint64_t rule_of_return(const struct return_path_state *s)
{
	const int64_t cfa = (int64_t)s->sp.offset + 8;

	if (!is_address(s->sp))
		return RULE_NONE;
	if (s->sp.kind == FROM_SP ? s->bp.kind == AT_SP : s->bp.kind == AT_BP)
		return make_rule(s->sp.kind == FROM_BP, cfa, cfa - s->bp.offset);
	return s->bp.kind == UNKNOWN || is_callers_bp(s->bp) ? make_rule(s->sp.kind == FROM_BP, cfa, 0)
							     : RULE_NONE;
}

/* The rule of a state that a function has come to from its beginning, where the CFA was sp + 8. */
static uint64_t rule_of_entered(const struct return_path_state *s)
{
	const bool saved = s->pushed_at.kind == FROM_SP && is_callers_bp(s->pushed);
	const int64_t bp = saved ? 8 - (int64_t)s->pushed_at.offset : 0;

	if (!saved && !is_callers_bp(s->bp))
		return RULE_NONE;
	if (s->sp.kind == FROM_SP)
		return make_rule(false, 8 - (int64_t)s->sp.offset, bp);
	return s->bp.kind == FROM_SP ? make_rule(true, 8 - (int64_t)s->bp.offset, bp) : RULE_NONE;
}

static void add_rule(struct return_path_work *work, uint64_t rule, uint64_t answers[RETURN_PATH_RULES])
{
	for (unsigned i = 0; i < work->n_answers; i++) {
		if (answers[i] == rule)
			return;
	}
	if (rule != RULE_NONE && work->n_answers < RETURN_PATH_RULES)
		answers[work->n_answers++] = rule;
}

static void start(struct return_path_work *work, uintptr_t pc)
{
	const struct return_path_state s = { .sp = { FROM_SP, 0 }, .bp = { FROM_BP, 0 } };

	__builtin_memset(work->seen, 0, sizeof(work->seen));
	work->n_branches = work->n_seen = work->n_answers = 0;
	work->readable = 0;
	add_branch(work, &s, pc);
}

/* A branch that waits. False: there is none. */
static bool next_path(struct return_path_work *work, struct return_path_state *s)
{
	if (work->n_branches == 0)
		return false;
	*s = work->branches[--work->n_branches];
	return true;
}

unsigned return_path_find(const struct return_path_code *code, uintptr_t pc, struct return_path_work *work,
			  uint64_t answers[RETURN_PATH_RULES])
{
	struct return_path_state s;

	start(work, pc);
	while (next_path(work, &s)) {
		enum follow follow = GOES_ON;

		while (follow == GOES_ON && is_new(work, s.pc))
			follow = take(code, work, &s);
		if (follow == RETURNS)
			add_rule(work, rule_of_return(&s), answers);
	}
	return work->n_answers;
}

uint64_t return_path_enter(const struct return_path_code *code, uintptr_t first, uintptr_t pc,
			   struct return_path_work *work)
{
	struct return_path_state s;

	start(work, first);
	while (next_path(work, &s)) {
		while (s.pc != pc && is_new(work, s.pc) && take(code, work, &s) == GOES_ON)
			;
		if (s.pc == pc)
			return rule_of_entered(&s);
	}
	return RULE_NONE;
}

bool return_path_follows_call(uintptr_t address)
{
	static const uint8_t lengths[] = { 2, 3, 4, 6, 7 };   /* of calls by ff */
	const uint8_t *const code = (const uint8_t *)address; // NOLINT(performance-no-int-to-ptr)

	if (!os_readable((address - 7) & ~(uintptr_t)7) || !os_readable((address - 1) & ~(uintptr_t)7))
		return false;
	if (code[-5] == 0xe8)
		return true;
	for (unsigned i = 0; i < sizeof(lengths); i++) {
		const uint8_t *const call = code - lengths[i];

		if (call[0] == 0xff && (call[1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}
