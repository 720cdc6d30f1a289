/* SPDX-License-Identifier: MIT */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64u

bool array_grow(void *items, uint32_t n, uint32_t *room, size_t size)
{
	const uint32_t wanted = n < UINT32_MAX / 2 - ROOM_MIN ? 2 * n + ROOM_MIN : UINT32_MAX;
	void *grown;

	if (n == UINT32_MAX)
		return false;
	memcpy(&grown, items, sizeof(grown)); /* the pointer may be one to anything */
	grown = reallocarray(grown, wanted, size);
	if (!grown)
		return false;
	memcpy(items, &grown, sizeof(grown));
	*room = wanted;
	return true;
}
