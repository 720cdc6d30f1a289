/* SPDX-License-Identifier: MIT */
#include "block_numbers.h"

#include <stdlib.h>

#include "array.h"

void block_numbers_finish(struct block_numbers *numbers)
{
	block_map_finish(&numbers->map);
	free(numbers->unused);
	free(numbers->recent);
	*numbers = (struct block_numbers){ 0 };
}

static uint32_t count_allocations(const struct mst_chunk *chunk)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		n += chunk->tokens[i].role == MST_ALLOC ? chunk->tokens[i].count : 0;
	return n;
}

bool block_numbers_begin(struct block_numbers *numbers, const struct mst_chunk *chunk)
{
	const uint32_t n = count_allocations(chunk);
	for (uint32_t i = 0; i < numbers->n_recent; i++) {
		if (numbers->recent[i] != BLOCK_MAP_NONE &&
		    !block_map_put(&numbers->map, numbers->first + i, numbers->recent[i]))
			return false;
	}
	numbers->n_recent = 0;
	numbers->first = chunk->first_alloc;
	if (n > UINT32_MAX - 1 - numbers->n)
		return false;
	return array_reserve(&numbers->recent, n, &numbers->room_recent, sizeof(*numbers->recent)) &&
	       array_reserve(&numbers->unused, numbers->n + n, &numbers->room_unused,
			     sizeof(*numbers->unused));
}
