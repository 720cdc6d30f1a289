/* SPDX-License-Identifier: MIT */
/*
 * The latest value of each owner, as the block that each thread allocated last, and which owner has a value. A value
 * has at most one owner. One owner is present: setting and taking its value costs a comparison. Single-threaded.
 */
#ifndef BASE_LATEST_H
#define BASE_LATEST_H

#include "index_map.h"

#define LATEST_NONE UINT64_MAX /* no value */

struct latest {
	uint64_t value; /* of the present owner */
	uint32_t present;
	uint64_t *values; /* by owner; the present one's is void */
	uint32_t room;
	struct index_map others; /* values of the others, and their owners */
};

/* Owner 0 is present, and nothing has a value. */
#define LATEST_EMPTY ((struct latest){ .value = LATEST_NONE })

void latest_finish(struct latest *latest);

/* Also after a failure the caller finishes `to`. False: no memory. */
bool latest_copy(struct latest *to, const struct latest *from);

/* The slow halves of the functions below. */
bool latest_change_present(struct latest *latest, uint32_t owner);
bool latest_take_from_others(struct latest *latest, uint64_t value);

/* Makes another owner the present one. False: no memory. */
static inline bool latest_switch(struct latest *latest, uint32_t owner)
{
	return owner == latest->present || latest_change_present(latest, owner);
}

/* The present owner's value is another one from now on, or LATEST_NONE. */
static inline void latest_set(struct latest *latest, uint64_t value)
{
	latest->value = value;
}

/* Whether an owner has the value, which is none's from now on. */
static inline bool latest_take(struct latest *latest, uint64_t value)
{
	const bool own = value == latest->value && value != LATEST_NONE;
	if (own)
		latest->value = LATEST_NONE;
	return own || (latest->others.n && latest_take_from_others(latest, value));
}

#endif
