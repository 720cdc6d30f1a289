/* SPDX-License-Identifier: MIT */
#include "typed_blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash_index.h"
#include "sample_weight.h"

/* Calls of a way: so many that libraries of templates nest. */
enum { WAY_CALLS = 64 };

/* From the allocator to the site: the innermost frames of stacks, and how many calls of the last one. */
struct way {
	uint32_t stack;  /* one that begins so */
	uint32_t frames; /* of it */
	uint32_t level;  /* of the site, of those inlined into the last frame */
	unsigned op;
	struct block_sizes sizes;
	struct typed_row sums;
	struct alloc_type type;
};

struct collection {
	struct typed_blocks *blocks;
	const struct mst_reader *reader;
	const struct mst_stack *stacks;
	uint32_t n_stacks;
	struct sites *sites;
	struct way *ways;
	uint32_t n, room;
	struct hash_index index; /* of ways */
	uint32_t *way_of;        /* by stack; MST_NONE: not asked */
};

/* ---- Ways ---- */

/* Where the site of a stack is. False: no memory, or it has none. */
static bool find_site(struct collection *c, uint32_t stack, struct way *way)
{
	const struct site *site = sites_of(c->sites, stack);
	uint32_t frames = 0;

	if (!site || site->call == MST_NONE)
		return false;
	for (uint32_t at = stack; at != MST_ROOT_STACK; at = c->stacks[at].parent) {
		uint32_t n;
		const uint32_t *calls = call_sites_of(sites_calls(c->sites), c->stacks[at].frame, &n);

		frames++;
		for (uint32_t i = 0; calls && i < n; i++) {
			if (calls[i] != site->call)
				continue;
			*way = (struct way){ .stack = stack, .frames = frames, .level = i };
			return true;
		}
	}
	return false;
}

static uint32_t hash_of(const struct collection *c, const struct way *way)
{
	uint32_t hash = hash_words(way->frames, way->level), stack = way->stack;

	for (uint32_t i = 0; i < way->frames; i++, stack = c->stacks[stack].parent)
		hash = hash_words(hash, c->stacks[stack].frame);
	return hash;
}

static bool is_same(const struct collection *c, const struct way *a, const struct way *b)
{
	uint32_t x = a->stack, y = b->stack;

	if (a->frames != b->frames || a->level != b->level)
		return false;
	for (uint32_t i = 0; i < a->frames; i++, x = c->stacks[x].parent, y = c->stacks[y].parent) {
		if (c->stacks[x].frame != c->stacks[y].frame)
			return false;
	}
	return true;
}

/* The number of a stack's way, made if need be. MST_NONE: no memory. */
static uint32_t way_of(struct collection *c, uint32_t stack)
{
	struct way way = { .stack = stack };
	uint32_t hash, i, id;

	if (c->way_of[stack] != MST_NONE)
		return c->way_of[stack];
	if (!find_site(c, stack, &way) && !sites_of(c->sites, stack))
		return MST_NONE;
	hash = hash_of(c, &way);
	if (!hash_index_reserve(&c->index) || !array_reserve(&c->ways, c->n, &c->room, sizeof(*c->ways)))
		return MST_NONE;
	for (i = hash_index_first(&c->index, hash); hash_index_next(&c->index, hash, &i, &id);) {
		if (is_same(c, &c->ways[id], &way))
			return c->way_of[stack] = id;
	}
	hash_index_add(&c->index, hash, c->n);
	c->ways[c->n] = way;
	return c->way_of[stack] = c->n++;
}

static void add_row(struct way *way, const struct profile_row *row, const struct mst_kind *kind,
		    uint64_t mean)
{
	const uint64_t bytes = weight_bytes(mean, kind->size, kind->size);
	const uint64_t shares = weight_shares(mean, kind->size);
	struct typed_row *sums = &way->sums;

	way->op = kind->op;
	block_sizes_add(&way->sizes, kind->size);
	sums->then_bytes += row->inuse * bytes;
	sums->then_blocks += row->inuse * shares;
	sums->end_bytes += row->at_end * bytes;
	sums->end_blocks += row->at_end * shares;
	sums->bytes += row->allocated * bytes;
	sums->calls += row->allocated * shares;
}

static bool collect_ways(struct collection *c, const struct profile *profile)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(c->reader, &n);
	const uint64_t mean = mst_reader_info(c->reader)->sample_bytes;
	struct profile_row row;

	c->stacks = mst_reader_stacks(c->reader, &c->n_stacks);
	c->way_of = malloc((c->n_stacks + (size_t)1) * sizeof(*c->way_of));
	if (!c->way_of || !hash_index_init(&c->index))
		return false;
	memset(c->way_of, 0xff, (c->n_stacks + (size_t)1) * sizeof(*c->way_of));
	for (size_t i = 0; profile_row(profile, i, &row); i++) {
		const struct mst_kind *kind = &kinds[row.kind];
		const uint32_t way = way_of(c, kind->stack);

		if (way == MST_NONE)
			return false;
		add_row(&c->ways[way], &row, kind, mean);
	}
	return true;
}

/* ---- Types ---- */

/* The calls of a way from the innermost on; of those inside of the last `WAY_CALLS` none. Their number. */
static uint32_t list_calls(const struct collection *c, const struct way *way, struct way_call *calls)
{
	uint32_t n = 0, stack = way->stack;

	for (uint32_t i = 0; i < way->frames; i++, stack = c->stacks[stack].parent) {
		uint32_t n_calls;
		const uint32_t frame = c->stacks[stack].frame;
		const uint32_t *numbers = call_sites_of(sites_calls(c->sites), frame, &n_calls);
		const uint32_t most = i + 1 == way->frames ? way->level + 1 : n_calls;

		for (uint32_t k = 0; numbers && k < most && k < n_calls; k++) {
			if (n == WAY_CALLS)
				memmove(calls, calls + 1, --n * sizeof(*calls));
			calls[n++] = (struct way_call){ frame, k, numbers[k] };
		}
	}
	return n;
}

/* The row of a type, made if need be; NULL: no memory. */
static struct typed_row *find_row(struct typed_blocks *blocks, const struct alloc_type *type, uint32_t stack)
{
	for (uint32_t i = 0; i < blocks->n; i++) {
		const struct alloc_type *t = &blocks->rows[i].type;

		if (t->name == type->name && t->container == type->container && t->size == type->size)
			return &blocks->rows[i];
	}
	if (!array_reserve(&blocks->rows, blocks->n, &blocks->room, sizeof(*blocks->rows)))
		return NULL;
	blocks->rows[blocks->n] = (struct typed_row){ .type = *type, .stack = stack, .counted = true };
	return &blocks->rows[blocks->n++];
}

static void add_sums(struct typed_row *to, const struct typed_row *sums)
{
	to->then_bytes += sums->then_bytes;
	to->then_blocks += sums->then_blocks;
	to->end_bytes += sums->end_bytes;
	to->end_blocks += sums->end_blocks;
	to->bytes += sums->bytes;
	to->calls += sums->calls;
	to->ways++;
}

/* False: no memory. */
static bool tell_way(struct collection *c, struct way *way)
{
	struct way_call calls[WAY_CALLS];
	const uint32_t n = list_calls(c, way, calls);

	return !n || alloc_types_tell(c->blocks->types, calls, n, way->op, &way->sizes, &way->type);
}

/* Where what was told of others says that the program's allocator adds to each block. */
static bool tell_again(struct collection *c, struct way *way)
{
	struct way_call calls[WAY_CALLS];
	const uint32_t n = list_calls(c, way, calls);

	return n < 2 || !alloc_types_header(c->blocks->types, calls) || tell_way(c, way);
}

/* Objects in the blocks, in shares. */
static uint64_t count_objects(const struct way *way)
{
	const struct alloc_type *type = &way->type;
	const uint64_t headers = weight_blocks(way->sums.then_blocks) * type->header;

	if (type->one_each)
		return way->sums.then_blocks;
	return way->sums.then_bytes > headers ? (way->sums.then_bytes - headers) / type->size * WEIGHT_ONE
					      : 0;
}

static bool add_way(struct typed_blocks *blocks, struct way *way)
{
	const struct alloc_type *type = &way->type;
	struct typed_row *row = type->name ? find_row(blocks, type, way->stack) : &blocks->unknown;

	if (!row)
		return false;
	add_sums(row, &way->sums);
	row->type.trust = type->trust < row->type.trust ? type->trust : row->type.trust;
	row->counted = row->counted && type->counted;
	if (type->counted)
		row->then_objects += count_objects(way);
	if (!row->type.info) {
		row->type.info = type->info;
		row->type.type = type->type;
	}
	return true;
}

static int compare_ways(const void *a, const void *b, void *ways)
{
	const struct typed_row *x = &((const struct way *)ways)[*(const uint32_t *)a].sums;
	const struct typed_row *y = &((const struct way *)ways)[*(const uint32_t *)b].sums;

	if (x->then_bytes != y->then_bytes)
		return x->then_bytes > y->then_bytes ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

static int compare_rows(const void *a, const void *b)
{
	const struct typed_row *x = a, *y = b;

	if (x->then_bytes != y->then_bytes)
		return x->then_bytes > y->then_bytes ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->type.name, y->type.name);
}

static bool tell_ways(struct collection *c)
{
	struct typed_blocks *blocks = c->blocks;
	uint32_t *order = malloc((c->n + (size_t)1) * sizeof(*order));
	bool fine = order;

	for (uint32_t i = 0; fine && i < c->n; i++)
		order[i] = i;
	if (fine && c->n > 1)
		qsort_r(order, c->n, sizeof(*order), compare_ways, c->ways);
	blocks->n_ways = c->n;
	blocks->n_told = c->n < TYPED_WAYS ? c->n : TYPED_WAYS;
	for (uint32_t i = 0; fine && i < blocks->n_told; i++)
		fine = tell_way(c, &c->ways[order[i]]);
	for (uint32_t i = 0; fine && i < blocks->n_told; i++)
		fine = tell_again(c, &c->ways[order[i]]);
	for (uint32_t i = 0; fine && i < c->n; i++)
		fine = add_way(blocks, &c->ways[order[i]]);
	free(order);
	return fine;
}

static void round_row(struct typed_row *row)
{
	row->then_blocks = weight_blocks(row->then_blocks);
	row->then_objects = row->counted ? weight_blocks(row->then_objects) : 0;
	row->end_blocks = weight_blocks(row->end_blocks);
	row->calls = weight_blocks(row->calls);
}

/* What is known of single ways and stacks. False: no memory. */
static bool keep_ways(struct collection *c)
{
	struct typed_blocks *blocks = c->blocks;

	blocks->ways = malloc((c->n + (size_t)1) * sizeof(*blocks->ways));
	blocks->unknown_stacks = malloc((c->n_stacks + (size_t)1) * sizeof(*blocks->unknown_stacks));
	blocks->way_of = c->way_of;
	c->way_of = NULL;
	if (!blocks->ways || !blocks->unknown_stacks)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		blocks->ways[i] = c->ways[i].type;
	for (uint32_t i = 0; i < c->n_stacks; i++)
		blocks->unknown_stacks[i] = typed_blocks_of(blocks, i) ? 0 : MST_NONE;
	return true;
}

const struct alloc_type *typed_blocks_of(const struct typed_blocks *blocks, uint32_t stack)
{
	const uint32_t way = blocks->way_of[stack];

	return way != MST_NONE && blocks->ways[way].name ? &blocks->ways[way] : NULL;
}

bool typed_blocks_collect(struct typed_blocks *blocks, const struct mst_reader *reader,
			  const struct profile *profile, struct sites *sites, struct symbolizer *symbolizer)
{
	struct collection c = { .blocks = blocks, .reader = reader, .sites = sites };
	bool fine;

	*blocks = (struct typed_blocks){ .types = alloc_types_create(symbolizer, sites_calls(sites)) };
	fine = blocks->types && collect_ways(&c, profile) && tell_ways(&c) && keep_ways(&c);
	for (uint32_t i = 0; i < blocks->n; i++)
		round_row(&blocks->rows[i]);
	round_row(&blocks->unknown);
	array_sort(blocks->rows, blocks->n, sizeof(*blocks->rows), compare_rows);
	blocks->limited = blocks->types && alloc_types_are_limited(blocks->types);
	hash_index_finish(&c.index);
	free(c.ways);
	free(c.way_of);
	return fine;
}

void typed_blocks_finish(struct typed_blocks *blocks)
{
	alloc_types_destroy(blocks->types);
	free(blocks->rows);
	free(blocks->unknown_stacks);
	free(blocks->ways);
	free(blocks->way_of);
}
