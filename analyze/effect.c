/* SPDX-License-Identifier: MIT */
#include "effect.h"

#include "estimate.h"

/* A block that shrank in place keeps what it had; nothing rounds custom ones. */
uint64_t effect_usable(const struct settings *settings, const struct mst_kind *kind)
{
	const uint64_t mask = settings->alignment - 1;

	if (mst_op_is_custom(kind->op) || settings->usable == USABLE_REQUESTED)
		return kind->size;
	if (settings->usable == USABLE_REAL && kind->flags & MST_KIND_USABLE)
		return kind->usable;
	return (kind->cap + mask) & ~mask;
}

struct effect effect_of(const struct settings *settings, const struct mst_kind *kind, enum mst_role role,
			bool counted, uint64_t usable, uint64_t mean)
{
	const uint64_t total = estimate_bytes(mean, kind->size, usable + settings->heap_admin);
	const uint64_t useful = estimate_bytes(mean, kind->size, kind->size);
	struct effect e = { .action = NOTHING, .counted = counted };

	if (role == MST_CALL || role == MST_KEEP)
		return e;
	e.comes = role == MST_ALLOC;
	if (kind->op != MST_OP_UNKNOWN)
		e.live = e.comes ? 1 : -1;
	e.useful = e.comes ? useful : -useful;
	e.total = e.comes ? total : -total;
	/* A custom block may be of any size, and time never goes back. */
	if (settings->time_unit == TIME_BYTES)
		e.clock = (int64_t)total < 0 ? -total : total;
	if (role == MST_OUT)
		e.action = PAIR;
	else if (counted)
		e.action = e.comes ? COMES : GOES;
	return e;
}
