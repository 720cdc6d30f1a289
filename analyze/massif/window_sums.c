/* SPDX-License-Identifier: MIT */
#include "window_sums.h"

#include <stdlib.h>

#define SPELL_RECORDS 32u /* short enough that few settings find something in it */

/* What a record of a token does; nothing if the block was never seen allocated. */
struct weight {
	uint64_t useful, rounded;
	uint64_t moved; /* the absolute value of `rounded` */
	int32_t blocks;
	bool changes; /* blocks isn't 0 */
	bool pair;    /* an OUT: the next record is of the same call */
};

/* What is made of a chunk. */
struct product {
	struct weight *weights; /* by token */
	uint32_t n_weights;
	struct spell *spells;
	uint32_t capacity;
};

struct digest {
	unsigned alignment;
	const struct mst_reader *reader;
	int number; /* among the reader's assistants */
};

/* ---- a chunk ---- */

static uint64_t absolute(uint64_t change)
{
	return (int64_t)change < 0 ? -change : change;
}

static struct weight weight_of(uint64_t mask, const struct mst_kind *kind, uint32_t role)
{
	const uint64_t cap = mst_op_is_custom(kind->op) ? 0 : kind->cap;
	const uint64_t rounded = cap ? (cap + mask) & ~mask : kind->size;
	struct weight w = { .pair = role == MST_OUT };

	if (kind->op == MST_OP_UNKNOWN || role == MST_CALL || role == MST_KEEP)
		return w;
	w.blocks = role == MST_ALLOC ? 1 : -1;
	w.changes = true;
	w.useful = role == MST_ALLOC ? kind->size : -kind->size;
	w.rounded = role == MST_ALLOC ? rounded : -rounded;
	w.moved = absolute(rounded);
	return w;
}

/* What a call of two records does. */
static struct weight join(const struct weight *first, const struct weight *second)
{
	const uint64_t rounded = first->rounded + second->rounded;

	return (struct weight){
		.useful = first->useful + second->useful,
		.rounded = rounded,
		.moved = absolute(rounded),
		.blocks = first->blocks + second->blocks,
		.changes = first->changes || second->changes,
	};
}

static inline void add(struct spell *s, const struct weight *w)
{
	s->useful += w->useful;
	s->rounded += w->rounded;
	s->moved += w->moved;
	s->blocks += (uint64_t)(int64_t)w->blocks;
	s->changes += w->changes;
	s->most_rounded = (int64_t)s->rounded > (int64_t)s->most_rounded ? s->rounded : s->most_rounded;
	s->most_blocks = (int64_t)s->blocks > (int64_t)s->most_blocks ? s->blocks : s->most_blocks;
}

/* The spell that begins with record `i`. */
static struct spell sum_up(const struct weight *weights, const struct mst_chunk *chunk, uint32_t i)
{
	const uint16_t *const records = chunk->records;
	const uint32_t end = chunk->n_records - i < SPELL_RECORDS ? chunk->n_records : i + SPELL_RECORDS;
	struct spell s = { 0 };
	uint32_t still = 0; /* calls that leave as many blocks as there were */

	for (; i < end; i++) {
		const struct weight *w = &weights[records[i]];

		if (__builtin_expect(w->pair, 0)) {
			/* The reader has proved that there is a next record. */
			const struct weight call = join(w, &weights[records[++i]]);

			still += call.changes && call.blocks == 0;
			add(&s, &call);
		} else {
			add(&s, w);
		}
	}
	s.steps = s.changes - still;
	s.end = i;
	return s;
}

/* Room for n items of which nothing is kept. */
static bool room_for(void **items, uint32_t *capacity, uint32_t n, size_t item_size)
{
	if (n <= *capacity)
		return true;
	free(*items);
	*items = malloc(n * item_size);
	*capacity = *items ? n : 0;
	return *items;
}

static bool reserve(struct product *p, uint32_t n_tokens, uint32_t n_spells)
{
	void *weights = p->weights, *spells = p->spells;
	const bool fine = room_for(&weights, &p->n_weights, n_tokens, sizeof(*p->weights)) &&
			  room_for(&spells, &p->capacity, n_spells, sizeof(*p->spells));

	p->weights = weights;
	p->spells = spells;
	return fine;
}

static int make(uint64_t alignment, const struct mst_chunk *chunk, const struct mst_kind *kinds,
		void **product)
{
	struct product *p = *product;
	uint32_t n = 0;

	if (!p)
		p = *product = calloc(1, sizeof(*p));
	if (!p || !reserve(p, chunk->n_tokens + 1, chunk->n_records / SPELL_RECORDS + 1))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		p->weights[i] =
			weight_of(alignment - 1, &kinds[chunk->tokens[i].kind], chunk->tokens[i].role);
	for (uint32_t i = 0; i < chunk->n_records; i = p->spells[n++].end)
		p->spells[n] = sum_up(p->weights, chunk, i);
	return 0;
}

static void discard(void *product)
{
	struct product *p = product;

	free(p->weights);
	free(p->spells);
	free(p);
}

/* ---- life ---- */

struct digest *digest_create(struct mst_reader *reader, unsigned alignment)
{
	const struct mst_assistant assistant = { .make = make, .discard = discard, .argument = alignment };
	struct digest *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	*d = (struct digest){ .alignment = alignment, .reader = reader };
	d->number = mst_reader_assist(reader, &assistant);
	if (d->number >= 0)
		return d;
	free(d);
	return NULL;
}

void digest_destroy(struct digest *d)
{
	free(d);
}

unsigned digest_alignment(const struct digest *d)
{
	return d->alignment;
}

const struct spell *digest_spells(const struct digest *d)
{
	const struct product *p = mst_reader_product(d->reader, d->number);

	return p->spells;
}
