/* SPDX-License-Identifier: MIT */
#include "sums.h"

#include <assert.h>

void sums_pack(const struct mst_sums *sums, struct bytes *to)
{
	assert(sums->max_bytes >= 0 && sums->max_bytes16 >= 0 && sums->max_blocks >= 0);
	bytes_u64(to, sums->events);
	bytes_u64(to, sums->null_frees);
	bytes_u64(to, (uint64_t)sums->net_bytes);
	bytes_u64(to, (uint64_t)sums->net_bytes16);
	bytes_u64(to, (uint64_t)sums->net_blocks);
	bytes_u64(to, (uint64_t)sums->max_bytes);
	bytes_u64(to, (uint64_t)sums->max_bytes16);
	bytes_u64(to, (uint64_t)sums->max_blocks);
	bytes_u64(to, sums->moved16);
	bytes_u64(to, sums->changes);
	bytes_u64(to, sums->grown);
	bytes_u64(to, sums->shrunk);
}

struct mst_sums sums_unpack(const uint8_t *from)
{
	return (struct mst_sums){
		.events = wire_u64(from),
		.null_frees = wire_u64(from + 8),
		.net_bytes = (int64_t)wire_u64(from + 16),
		.net_bytes16 = (int64_t)wire_u64(from + 24),
		.net_blocks = (int64_t)wire_u64(from + 32),
		.max_bytes = (int64_t)wire_u64(from + 40),
		.max_bytes16 = (int64_t)wire_u64(from + 48),
		.max_blocks = (int64_t)wire_u64(from + 56),
		.moved16 = wire_u64(from + 64),
		.changes = wire_u64(from + 72),
		.grown = wire_u64(from + 80),
		.shrunk = wire_u64(from + 88),
	};
}

/* Modulo 2^64, like all sums. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void raise_to(int64_t *most, int64_t value)
{
	if (value > *most)
		*most = value;
}

void sums_add(struct mst_sums *all, const struct mst_sums *chunk)
{
	raise_to(&all->max_bytes, plus(all->net_bytes, chunk->max_bytes));
	raise_to(&all->max_bytes16, plus(all->net_bytes16, chunk->max_bytes16));
	raise_to(&all->max_blocks, plus(all->net_blocks, chunk->max_blocks));
	all->events += chunk->events;
	all->null_frees += chunk->null_frees;
	all->net_bytes = plus(all->net_bytes, chunk->net_bytes);
	all->net_bytes16 = plus(all->net_bytes16, chunk->net_bytes16);
	all->net_blocks = plus(all->net_blocks, chunk->net_blocks);
	all->moved16 += chunk->moved16;
	all->changes += chunk->changes;
	all->grown += chunk->grown;
	all->shrunk += chunk->shrunk;
}
