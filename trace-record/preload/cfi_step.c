/* SPDX-License-Identifier: MIT */
/* A frame step by the rules that hold at a pc. */
#include <stddef.h>

#include "cfi.h"
#include "cfi_expression.h"
#include "recorder_assert.h"
#include "registers.h"

/* Restores a register of the caller. *at: where it was read; 0: nowhere. */
static enum cfi_result restore(struct cfi_step *step, struct cfi_work *work, unsigned reg, uint64_t cfa,
			       bool link, uint64_t *value, uintptr_t *at)
{
	int64_t rule = work->row.value[reg];
	uint64_t address;
	enum cfi_result result;

	RECORDER_ASSERT(reg < CFI_REGISTERS);
	*at = 0;
	switch (work->row.kind[reg]) {
	case CFI_SAME:
		return cfi_read_register(step, reg, link, value);
	case CFI_UNDEFINED:
		return CFI_NEEDS_REGISTER;
	case CFI_VAL_OFFSET:
		*value = cfa + (uint64_t)rule;
		return CFI_OK;
	case CFI_IN_REGISTER:
		return cfi_read_register(step, (uint64_t)rule, link, value);
	case CFI_VAL_EXPRESSION:
		return cfi_evaluate(step, work, rule, &cfa, link, value);
	case CFI_OFFSET:
		address = cfa + (uint64_t)rule;
		break;
	default:
		result = cfi_evaluate(step, work, rule, &cfa, link, &address);
		if (result != CFI_OK)
			return result;
	}
	*at = address;
	return step->read(step->context, address, 8, link, value) ? CFI_OK : CFI_FAILED;
}

static enum cfi_result find_cfa(struct cfi_step *step, struct cfi_work *work, uint64_t *cfa)
{
	enum cfi_result result;

	if (work->row.cfa_is_expression)
		return cfi_evaluate(step, work, work->row.cfa, NULL, true, cfa);
	result = cfi_read_register(step, work->row.cfa_register, true, cfa);
	*cfa += (uint64_t)work->row.cfa;
	return result;
}

/*
 * The caller's pc and stack pointer must be found. Its frame pointer may be lost, but not for want of a register that a walk
 * with all registers would know.
 */
static enum cfi_result restore_links(struct cfi_step *step, struct cfi_work *work, uint64_t cfa,
				     struct cfi_state *caller)
{
	enum cfi_result result;
	uintptr_t at;

	result = restore(step, work, CFI_RETURN, cfa, true, &caller->value[CFI_PC], &step->return_at);
	if (result != CFI_OK)
		return result;
	if (work->row.signed_return)
		caller->value[CFI_PC] = return_address(caller->value[CFI_PC]);
	caller->value[CFI_SP] = cfa;
	if (work->row.kind[CFI_SP] != CFI_SAME) {
		result = restore(step, work, CFI_SP, cfa, true, &caller->value[CFI_SP], &at);
		if (result != CFI_OK)
			return result;
	}
	caller->known = CFI_BIT(CFI_PC) | CFI_BIT(CFI_SP);
	result = restore(step, work, CFI_BP, cfa, true, &caller->value[CFI_BP], &at);
	if (result == CFI_OK)
		caller->known |= CFI_BIT(CFI_BP);
	else if (result == CFI_FAILED)
		return CFI_FAILED;
	else if (!step->all_registers && work->row.kind[CFI_BP] != CFI_UNDEFINED)
		return CFI_NEEDS_REGISTER;
	return CFI_OK;
}

enum cfi_result cfi_take_step(struct cfi_step *step, struct cfi_work *work)
{
	struct cfi_state caller;
	enum cfi_result result;
	uintptr_t at;
	uint64_t cfa;

	step->used = 0;
	step->return_at = 0;
	if (work->row.kind[CFI_RETURN] == CFI_UNDEFINED)
		return CFI_OUTERMOST;
	result = find_cfa(step, work, &cfa);
	if (result != CFI_OK)
		return result;
	result = restore_links(step, work, cfa, &caller);
	if (result != CFI_OK)
		return result;
	for (unsigned reg = 0; step->all_registers && reg < CFI_REGISTERS; reg++)
		if (!(CFI_FOLLOWED & CFI_BIT(reg)) &&
		    restore(step, work, reg, cfa, false, &caller.value[reg], &at) == CFI_OK)
			caller.known |= CFI_BIT(reg);
	*step->state = caller;
	return CFI_OK;
}
