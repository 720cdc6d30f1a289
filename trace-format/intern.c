/* SPDX-License-Identifier: MIT */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

#include "mstrace.h"

#define FIRST_SLOTS 1024u

int intern_init(struct intern *index)
{
	*index = (struct intern){ .mask = FIRST_SLOTS - 1 };
	index->slots = calloc(FIRST_SLOTS, sizeof(*index->slots));
	return index->slots ? 0 : MST_ERR_NOMEM;
}

void intern_finish(struct intern *index)
{
	free(index->slots);
	*index = (struct intern){ 0 };
}

int intern_copy(struct intern *to, const struct intern *from)
{
	const size_t bytes = ((size_t)from->mask + 1) * sizeof(*from->slots);

	*to = *from;
	to->slots = malloc(bytes);
	if (!to->slots)
		return MST_ERR_NOMEM;
	memcpy(to->slots, from->slots, bytes);
	return 0;
}

static void place(struct intern *index, uint64_t slot)
{
	uint32_t i = (uint32_t)(slot >> 32) & index->mask;

	while (index->slots[i])
		i = (i + 1) & index->mask;
	index->slots[i] = slot;
}

int intern_grow(struct intern *index)
{
	struct intern grown = *index;

	grown.mask = index->mask * 2 + 1;
	grown.slots = calloc((size_t)grown.mask + 1, sizeof(*grown.slots));
	if (!grown.slots)
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i <= index->mask; i++) {
		if (index->slots[i])
			place(&grown, index->slots[i]);
	}
	free(index->slots);
	*index = grown;
	return 0;
}

void intern_add(struct intern *index, uint32_t hash, uint32_t id)
{
	place(index, (uint64_t)hash << 32 | (id + 1));
	index->used++;
}
