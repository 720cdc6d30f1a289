/* SPDX-License-Identifier: MIT */
#include "own_peaks.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "index_map.h"
#include "sample_weight.h"

struct owner {
	uint64_t live, peak;
	uint64_t gain;  /* the bytes that the present chunk allocates */
	uint64_t token; /* the last one + 1 of all chunks whose owners it is among: each counts once */
};

/* The owners of a token's stack: items [from, to) of `members`. */
struct span {
	uint32_t from, to;
};

struct own_peaks {
	struct observer observer;
	struct call_sites *calls;
	enum group_by by;
	struct index_map numbers; /* by key */
	struct owner *owners;
	uint32_t n, room;

	/* Of the present chunk. */
	struct span *spans; /* by token */
	uint32_t room_spans;
	uint32_t *members; /* owners */
	uint32_t n_members, room_members;
	uint64_t *changes; /* by token: bytes of a record, negative ones modulo 2^64 */
	uint32_t room_changes;
	uint64_t tokens; /* of all chunks before it */
	bool prepared;   /* there was memory for these */
};

uint64_t own_peaks_key(const struct call_sites *calls, uint32_t call, uint32_t module, enum group_by by)
{
	if (by == BY_LIBRARY)
		return module;
	return by == BY_SITE ? call : call_sites_at(calls, call)->number_of_function;
}

/* ---- Owners ---- */

/* Adds a call's owner to the members of a token, unless it is among them. False: no memory. */
static bool add_member(struct own_peaks *p, uint32_t call, uint32_t module, uint64_t token)
{
	const uint64_t key = own_peaks_key(p->calls, call, module, p->by);
	uint64_t number = p->n;
	if (!index_map_find(&p->numbers, key, &number)) {
		if (!array_reserve(&p->owners, p->n, &p->room, sizeof(*p->owners)) ||
		    !index_map_put(&p->numbers, key, number))
			return false;
		p->owners[p->n++] = (struct owner){ 0 };
	}
	struct owner *owner = &p->owners[number];
	if (owner->token == token + 1)
		return true;
	owner->token = token + 1;
	if (!array_reserve(&p->members, p->n_members, &p->room_members, sizeof(*p->members)))
		return false;
	p->members[p->n_members++] = (uint32_t)number;
	return true;
}

static bool add_members(struct own_peaks *p, const struct mst_reader *reader, uint32_t stack, uint64_t token)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);
	const struct mst_frame *frames = mst_reader_frames(reader, &n);
	for (; stack != MST_ROOT_STACK; stack = stacks[stack].parent) {
		const uint32_t frame = stacks[stack].frame;
		const uint32_t *calls = call_sites_of(p->calls, frame, &n);
		for (uint32_t i = 0; calls && i < n; i++) {
			if (!add_member(p, calls[i], frames[frame].module, token))
				return false;
		}
		if (!calls)
			return false;
	}
	return true;
}

static bool reserve(struct own_peaks *p, const struct mst_chunk *chunk)
{
	p->n_members = 0;
	return chunk->n_tokens == 0 ||
	       (array_reserve(&p->spans, chunk->n_tokens - 1, &p->room_spans, sizeof(*p->spans)) &&
		array_reserve(&p->changes, chunk->n_tokens - 1, &p->room_changes, sizeof(*p->changes)));
}

/* Finds each token's owners and changes, and what the owners gain at most. False: no memory. */
static bool prepare(struct own_peaks *p, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	if (!reserve(p, chunk))
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		p->owners[i].gain = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const struct mst_kind *kind = &kinds[token->kind];
		const uint64_t bytes = weight_bytes(mean, kind->size, kind->size);
		struct span *span = &p->spans[i];
		*span = (struct span){ p->n_members, p->n_members };
		p->changes[i] = 0;
		if (token->role >= MST_CALL || kind->op == MST_OP_UNKNOWN)
			continue;
		if (!add_members(p, reader, kind->stack, p->tokens++))
			return false;
		span->to = p->n_members;
		p->changes[i] = token->role == MST_ALLOC ? bytes : -bytes;
		for (uint32_t k = span->from; token->role == MST_ALLOC && k < span->to; k++)
			p->owners[p->members[k]].gain += token->count * bytes;
	}
	return true;
}

static bool can_grow(const struct owner *owner)
{
	return (int64_t)(owner->live + owner->gain) > (int64_t)owner->peak;
}

/* ---- Accounting ---- */

static void change(struct owner *owner, uint64_t bytes)
{
	owner->live += bytes;
	if ((int64_t)owner->live > (int64_t)owner->peak)
		owner->peak = owner->live;
}

/* Those whose peak can't grow, by sums. */
static void add_sums(struct own_peaks *p, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		for (uint32_t k = p->spans[i].from; k < p->spans[i].to; k++)
			p->owners[p->members[k]].live += chunk->tokens[i].count * p->changes[i];
	}
}

/* Leaves in the spans only the owners whose peak can grow, after the others have been accounted for. */
static void sort_out(struct own_peaks *p, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		struct span *span = &p->spans[i];
		uint32_t kept = span->from;
		for (uint32_t k = span->from; k < span->to; k++) {
			struct owner *owner = &p->owners[p->members[k]];
			if (owner->gain)
				p->members[kept++] = p->members[k];
			else
				owner->live += chunk->tokens[i].count * p->changes[i];
		}
		span->to = kept;
	}
}

static void add_records(struct own_peaks *p, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < p->n; i++)
		p->owners[i].gain = can_grow(&p->owners[i]);
	sort_out(p, chunk);
	/* The first of a realloc's two records makes the owner's bytes less, so no peak lies between them. */
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint32_t token = chunk->records[i];
		for (uint32_t k = p->spans[token].from; k < p->spans[token].to; k++)
			change(&p->owners[p->members[k]], p->changes[token]);
	}
}

/* ---- The observer ---- */

static bool any_can_grow(const struct own_peaks *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (can_grow(&p->owners[i]))
			return true;
	}
	return false;
}

/* Comes before each chunk, also one without records. Without memory the chunk is decoded, and see_chunk() fails. */
static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct own_peaks *p = (struct own_peaks *)observer;
	p->prepared = prepare(p, reader, chunk);
	return p->prepared && !any_can_grow(p);
}

static int see_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	(void)reader;
	add_sums((struct own_peaks *)observer, chunk);
	return 0;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct own_peaks *p = (struct own_peaks *)observer;
	(void)reader;
	if (!p->prepared)
		return MST_ERR_NOMEM;
	assert(chunk->records || chunk->n_records == 0);
	add_records(p, chunk);
	return 0;
}

struct own_peaks *own_peaks_create(struct call_sites *calls, enum group_by by)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.sums_suffice = sums_suffice,
		.sums = see_sums,
	};
	struct own_peaks *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS,
	};
	p->calls = calls;
	p->by = by;
	return p;
}

void own_peaks_destroy(struct own_peaks *p)
{
	if (!p)
		return;
	index_map_finish(&p->numbers);
	free(p->owners);
	free(p->spans);
	free(p->members);
	free(p->changes);
	free(p);
}

struct observer *own_peaks_observer(struct own_peaks *p)
{
	return &p->observer;
}

uint64_t own_peaks_of(const struct own_peaks *p, uint64_t key)
{
	uint64_t number;
	return index_map_find(&p->numbers, key, &number) ? p->owners[number].peak : 0;
}
