/* SPDX-License-Identifier: MIT */
#include "effect.h"

#include <assert.h>

#include "sample_weight.h"

struct effect effect_of(const struct settings *settings, const struct mst_kind *kind, enum mst_role role,
			bool counted, uint64_t usable, uint64_t mean)
{
	const uint64_t total = weight_bytes(mean, kind->size, usable + settings->heap_admin);
	const uint64_t useful = weight_bytes(mean, kind->size, kind->size);
	struct effect e = { .action = NOTHING, .counted = counted };

	assert(role <= MST_KEEP);
	if (role == MST_CALL || role == MST_KEEP)
		return e;
	e.comes = role == MST_ALLOC;
	if (kind->op != MST_OP_UNKNOWN)
		e.live = e.comes ? 1 : -1;
	e.useful = e.comes ? useful : -useful;
	effect_charge(&e, settings, total);
	if (role == MST_OUT)
		e.action = PAIR;
	else if (counted)
		e.action = e.comes ? COMES : GOES;
	assert(e.action != NOTHING || !counted);
	return e;
}
