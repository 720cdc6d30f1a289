/* SPDX-License-Identifier: MIT */
#include "latest.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

void latest_finish(struct latest *latest)
{
	free(latest->values);
	index_map_finish(&latest->others);
	*latest = LATEST_EMPTY;
}

bool latest_copy(struct latest *to, const struct latest *from)
{
	*to = LATEST_EMPTY;
	for (uint32_t i = 0; i < from->room; i++) {
		if (!latest_switch(to, i))
			return false;
		latest_set(to, i == from->present ? from->value : from->values[i]);
	}
	if (!latest_switch(to, from->present))
		return false;
	latest_set(to, from->value);
	return true;
}

bool latest_change_present(struct latest *latest, uint32_t owner)
{
	const uint32_t known = latest->room, before = latest->present;
	const uint32_t highest = owner > before ? owner : before;
	if (!array_reserve(&latest->values, highest, &latest->room, sizeof(*latest->values)))
		return false;
	for (uint32_t i = known; i < latest->room; i++)
		latest->values[i] = LATEST_NONE;
	if (!index_map_put(&latest->others, latest->value, before))
		return false;
	index_map_take(&latest->others, latest->values[owner], NULL);
	latest->values[before] = latest->value;
	latest->value = latest->values[owner];
	latest->present = owner;
	return true;
}

bool latest_take_from_others(struct latest *latest, uint64_t value)
{
	uint64_t owner;
	if (!index_map_take(&latest->others, value, &owner))
		return false;
	assert(owner < latest->room && latest->values[owner] == value);
	latest->values[owner] = LATEST_NONE;
	return true;
}
