/* SPDX-License-Identifier: MIT */
#include "own_peaks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "index_map.h"
#include "sample_weight.h"

enum { MOST_KNOWN = 4 << 20 }; /* owners of stacks, 16 MiB */

struct owner {
	uint64_t live, peak;
	uint64_t gain; /* the bytes that the present chunk allocates */
	uint64_t walk; /* the last one that met it: each owner counts once */
	uint32_t set;  /* of the present chunk */
};

/* Owners with the same tokens in a chunk: they rise and fall together, and are followed as one. */
struct set {
	int64_t change, highest; /* of bytes, since the chunk's begin */
	uint64_t token;          /* the last one that was looked at, for each of two rounds */
	uint32_t rest;           /* the set of those that have this token, too */
};

/* The owners of stacks that were met. */
struct known_stacks {
	uint32_t *at;    /* by stack: where its owners begin, + 1; 0: nowhere */
	uint32_t *items; /* of each stack: how many there are, and these */
	uint32_t room_at, n, room;
	uint64_t walks; /* over the calls of a stack */
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
	struct known_stacks known;

	/* Of the present chunk. */
	struct span *spans; /* by token */
	uint32_t room_spans;
	uint32_t *members; /* owners */
	uint32_t n_members, room_members;
	uint64_t *changes; /* by token: bytes of a record, negative ones modulo 2^64 */
	uint32_t room_changes;
	struct set *sets;
	uint32_t n_sets, room_sets;
	bool prepared; /* there was memory for these */
};

uint64_t own_peaks_key(const struct call_sites *calls, uint32_t call, uint32_t module, enum group_by by)
{
	if (by == BY_LIBRARY)
		return module;
	return by == BY_SITE ? call : call_sites_at(calls, call)->number_of_function;
}

/* ---- Owners ---- */

static bool learn(struct own_peaks *p, uint32_t word)
{
	if (!array_reserve(&p->known.items, p->known.n, &p->known.room, sizeof(*p->known.items)))
		return false;
	p->known.items[p->known.n++] = word;
	return true;
}

/* Adds a call's owner to those of the stack that is walked, unless it is among them. False: no memory. */
static bool learn_owner(struct own_peaks *p, uint32_t call, uint32_t module)
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
	if (owner->walk == p->known.walks)
		return true;
	owner->walk = p->known.walks;
	return learn(p, (uint32_t)number);
}

static bool walk(struct own_peaks *p, const struct mst_reader *reader, uint32_t stack)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);
	const struct mst_frame *frames = mst_reader_frames(reader, &n);
	for (p->known.walks++; stack != MST_ROOT_STACK; stack = stacks[stack].parent) {
		const uint32_t frame = stacks[stack].frame;
		const uint32_t *calls = call_sites_of(p->calls, frame, &n);
		for (uint32_t i = 0; calls && i < n; i++) {
			if (!learn_owner(p, calls[i], frames[frame].module))
				return false;
		}
		if (!calls)
			return false;
	}
	return true;
}

/* The owners of a stack, behind their number. Valid until the next call. NULL: no memory. */
static const uint32_t *owners_of(struct own_peaks *p, const struct mst_reader *reader, uint32_t stack)
{
	if (!array_reserve_zeroed(&p->known.at, stack, &p->known.room_at, sizeof(*p->known.at)))
		return NULL;
	if (p->known.at[stack] == 0) {
		if (p->known.n >= MOST_KNOWN) {
			memset(p->known.at, 0, p->known.room_at * sizeof(*p->known.at));
			p->known.n = 0;
		}
		const uint32_t number = p->known.n;
		if (!learn(p, 0) || !walk(p, reader, stack))
			return NULL;
		p->known.items[number] = p->known.n - number - 1;
		p->known.at[stack] = number + 1;
	}
	return &p->known.items[p->known.at[stack] - 1];
}

static bool add_members(struct own_peaks *p, const struct mst_reader *reader, uint32_t stack)
{
	const uint32_t *owners = owners_of(p, reader, stack);
	const uint32_t n = owners ? owners[0] : 0;
	if (!owners || (n > 0 && !array_reserve(&p->members, p->n_members + n - 1, &p->room_members,
						sizeof(*p->members))))
		return false;
	if (n > 0)
		memcpy(p->members + p->n_members, owners + 1, n * sizeof(*owners));
	p->n_members += n;
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
		if (!add_members(p, reader, kind->stack))
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

static bool add_set(struct own_peaks *p)
{
	if (!array_reserve(&p->sets, p->n_sets, &p->room_sets, sizeof(*p->sets)))
		return false;
	p->sets[p->n_sets++] = (struct set){ .highest = INT64_MIN };
	return true;
}

/* Parts the owners in the spans into sets, all of which are one at first: each token parts those that it meets. */
static bool part(struct own_peaks *p, const struct mst_chunk *chunk)
{
	p->n_sets = 0;
	if (!add_set(p))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		for (uint32_t k = p->spans[i].from; k < p->spans[i].to; k++) {
			struct owner *owner = &p->owners[p->members[k]];
			if (p->sets[owner->set].token != i + 1) {
				if (!add_set(p))
					return false;
				p->sets[owner->set].token = i + 1;
				p->sets[owner->set].rest = p->n_sets - 1;
			}
			owner->set = p->sets[owner->set].rest;
		}
	}
	return true;
}

/* Puts the sets in the place of their owners, each once. */
static void list_sets(struct own_peaks *p, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		struct span *span = &p->spans[i];
		uint32_t kept = span->from;
		for (uint32_t k = span->from; k < span->to; k++) {
			const uint32_t number = p->owners[p->members[k]].set;
			struct set *set = &p->sets[number];
			if (set->token != (uint64_t)chunk->n_tokens + i + 1)
				p->members[kept++] = number;
			set->token = (uint64_t)chunk->n_tokens + i + 1;
		}
		span->to = kept;
	}
}

static void follow(struct own_peaks *p, const struct mst_chunk *chunk)
{
	/* The first of a realloc's two records makes the owner's bytes less, so no peak lies between them. */
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint32_t token = chunk->records[i];
		for (uint32_t k = p->spans[token].from; k < p->spans[token].to; k++) {
			struct set *set = &p->sets[p->members[k]];
			set->change = (int64_t)((uint64_t)set->change + p->changes[token]);
			if (set->change > set->highest)
				set->highest = set->change;
		}
	}
}

static bool add_records(struct own_peaks *p, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < p->n; i++) {
		p->owners[i].gain = can_grow(&p->owners[i]);
		p->owners[i].set = 0;
	}
	sort_out(p, chunk);
	if (!part(p, chunk))
		return false;
	list_sets(p, chunk);
	follow(p, chunk);
	for (uint32_t i = 0; i < p->n; i++) {
		struct owner *owner = &p->owners[i];
		const struct set *set = &p->sets[owner->set];
		if (owner->set == 0)
			continue;
		const uint64_t highest = owner->live + (uint64_t)set->highest;
		if ((int64_t)highest > (int64_t)owner->peak)
			owner->peak = highest;
		owner->live += (uint64_t)set->change;
	}
	return true;
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
	assert(chunk->records || chunk->n_records == 0);
	return p->prepared && add_records(p, chunk) ? 0 : MST_ERR_NOMEM;
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
	free(p->known.at);
	free(p->known.items);
	free(p->spans);
	free(p->members);
	free(p->changes);
	free(p->sets);
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
