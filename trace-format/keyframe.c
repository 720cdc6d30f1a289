/* SPDX-License-Identifier: MIT */
#include "keyframe.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mst_limits.h"
#include "sums.h"
#include "wire.h"

#define EVERY (16u << 16)
#define A_RECORD 14 /* thousandths of a byte */
/* A reader decodes as many records in a few hundredths of a second. */
#define EVERY_IF_SMALL (8u << 20)
#define A_RECORD_IF_SMALL 4
#define EXPECTED_BYTES 300 /* of the first key frame, without its kinds */
#define EXPECTED_A_KIND 2

void keyframes_init(struct keyframes *k, uint32_t every, bool small)
{
	*k = (struct keyframes){
		.every = every   ? every
			 : small ? EVERY_IF_SMALL
				 : EVERY,
		.thrifty = !every,
		.a_record = small ? A_RECORD_IF_SMALL : A_RECORD,
	};
}

void keyframes_finish(struct keyframes *k)
{
	free(k->live);
}

int keyframes_copy(struct keyframes *to, const struct keyframes *from)
{
	*to = *from;
	to->capacity = from->n;
	to->live = malloc((from->n + 1u) * sizeof(*to->live));
	if (!to->live)
		return MST_ERR_NOMEM;
	if (from->n)
		memcpy(to->live, from->live, from->n * sizeof(*to->live));
	return 0;
}

static int reserve(struct keyframes *k, uint32_t kind)
{
	if (kind >= k->capacity) {
		const uint32_t capacity = kind + kind / 2 + 64;
		int64_t *live = realloc(k->live, capacity * sizeof(*live));

		if (!live)
			return MST_ERR_NOMEM;
		k->live = live;
		k->capacity = capacity;
	}
	while (k->n <= kind)
		k->live[k->n++] = KEYFRAME_NEVER;
	return 0;
}

int keyframes_add(struct keyframes *k, const struct chunk *chunk, const struct mst_kind *kinds,
		  const struct mst_sums *sums)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		int64_t *live;

		if (token->role == MST_CALL || token->role == MST_KEEP ||
		    kinds[token->kind].op == MST_OP_UNKNOWN)
			continue;
		if (reserve(k, token->kind) != 0)
			return MST_ERR_NOMEM;
		live = &k->live[token->kind];
		if (*live == KEYFRAME_NEVER) {
			*live = 0;
			k->n_known++;
		}
		*live += token->role == MST_ALLOC ? (int64_t)token->count : -(int64_t)token->count;
	}
	sums_add(&k->sums, sums);
	k->since += chunk->n_records;
	k->credit += (int64_t)chunk->n_records * k->a_record;
	return 0;
}

/* The bytes of the last key frame, and some for each kind that is new. */
static int64_t expected_bytes(const struct keyframes *k)
{
	const uint32_t more = k->n_known - k->last_known;

	assert(k->last_known <= k->n_known);
	return (int64_t)(k->last_bytes ? k->last_bytes : EXPECTED_BYTES) + (int64_t)more * EXPECTED_A_KIND;
}

bool keyframes_due(const struct keyframes *k)
{
	return k->since && k->since >= k->every && (!k->thrifty || expected_bytes(k) * 1000 <= k->credit);
}

void keyframes_pack(const struct keyframes *k, const struct keyframe_place *place, struct bytes *fields,
		    struct bytes columns[2])
{
	uint32_t last = 0, n = 0;

	assert(place->allocs <= place->records && k->n <= place->kinds);
	bytes_u64(fields, place->records);
	bytes_u64(fields, place->allocs);
	bytes_u64(fields, place->time);
	bytes_u32(fields, place->kinds);
	bytes_u32(fields, k->n_known);
	sums_pack(&k->sums, fields);
	bytes_u64(fields, place->instructions);
	for (uint32_t i = 0; i < k->n; i++) {
		if (k->live[i] == KEYFRAME_NEVER)
			continue;
		bytes_varint(&columns[0], i - last);
		bytes_varint(&columns[1], wire_zigzag(k->live[i]));
		last = i;
		n++;
	}
	assert(n == k->n_known);
	(void)n;
}

void keyframes_paid(struct keyframes *k, size_t bytes)
{
	assert(k->since >= k->every && bytes > 0);
	k->since = 0;
	k->last_bytes = bytes;
	k->last_known = k->n_known;
	k->credit -= (int64_t)bytes * 1000;
}
