/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

#include "index_map.h"

/* Bounds for crafted traces: a kernel allows 65530 mappings, unless told otherwise. */
#define MOST_LAYERS (1u << 22)
#define MOST_RANGES (1u << 20)
#define WORK_AT_START ((uint64_t)1 << 22)
#define WORK_A_STEP 4096u /* on average; moving 16 ranges is as much as making one */

/*
 * Massif's table of records grows when there are more than these, and then the records of each page come out in
 * the opposite order: what was the oldest is taken away first, until it grows again.
 */
static const uint32_t table_sizes[] = {
	769,      1543,      3079,      6151,      12289,     24593,      49157,    98317,
	196613,   393241,    786433,    1572869,   3145739,   6291469,    12582917, 25165843,
	50331653, 100663319, 201326611, 402653189, 805306457, 1610612741,
};

#define TABLE_SIZES (sizeof(table_sizes) / sizeof(*table_sizes))

/* For whom a page is on record; `below` it are older records of the page. Layer 0: it is on none. */
struct layer {
	uint32_t context, below;
};

/* Neighbours that touch differ in their layer, which isn't 0. */
struct range {
	uint64_t lo, hi;
	uint32_t layer;
};

struct ranges {
	struct range *v;
	size_t n, capacity;
};

struct pages {
	bool once;
	struct ranges all; /* in order */
	struct ranges made;
	struct layer *layers; /* all that there ever were, each once */
	uint32_t n_layers, layer_capacity;
	struct index_map layer_numbers; /* by context and below */
	uint64_t *bytes;                /* by context */
	uint32_t n_contexts, context_capacity;
	uint64_t records;  /* of all pages */
	uint64_t most;     /* of them at one time so far */
	size_t table_size; /* which of the sizes Massif's table has */
	uint64_t work;     /* that may still be done */

	/* What the mremap that comes next was given. */
	uint64_t from, from_size;
};

/* ---- life ---- */

struct pages *pages_create(bool once)
{
	struct pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->once = once;
	p->n_layers = 1;
	p->work = WORK_AT_START;
	return p;
}

void pages_destroy(struct pages *p)
{
	if (!p)
		return;
	free(p->all.v);
	free(p->made.v);
	free(p->layers);
	free(p->bytes);
	index_map_finish(&p->layer_numbers);
	free(p);
}

/* ---- calls ---- */

static uint64_t page_of(uint64_t address)
{
	return address / PAGE_BYTES;
}

/* The first page behind `size` bytes at `address`; there is none behind the last address. */
static uint64_t page_behind(uint64_t address, uint64_t size)
{
	const uint64_t last = address + (size - 1);

	if (size == 0)
		return page_of(address);
	return page_of(last < address ? UINT64_MAX : last) + 1;
}

static unsigned add_step(struct page_step *steps, unsigned n, bool map, uint64_t lo, uint64_t hi)
{
	steps[n] = (struct page_step){ .map = map, .lo = lo, .hi = hi };
	return n + (lo < hi);
}

static unsigned mremap_steps(struct pages *p, uint64_t to, uint64_t size, struct page_step *steps)
{
	const uint64_t old = page_of(p->from), old_end = page_behind(p->from, p->from_size);
	const uint64_t new = page_of(to), new_end = page_behind(to, size);
	const uint64_t old_n = old_end - old, new_n = new_end - new, kept = old_n < new_n ? old_n : new_n;
	unsigned n = 0;

	p->from_size = 0;
	if (old == new) {
		n = add_step(steps, n, false, new_end, old_end);
		return add_step(steps, n, true, old_end, new_end);
	}
	if (p->once) {
		n = add_step(steps, n, false, old, old_end);
		return add_step(steps, n, true, new, new_end);
	}
	n = add_step(steps, n, false, old, old + kept);
	n = add_step(steps, n, true, new, new + kept);
	n = add_step(steps, n, true, new + kept, new_end);
	return add_step(steps, n, false, old, old_end);
}

/* Massif begins at the page of the lower break, whoever has that page, and leaves the last one out. */
static unsigned brk_steps(const struct pages *p, bool map, uint64_t low, uint64_t size,
			  struct page_step *steps)
{
	const uint64_t first = page_behind(0, low), end = page_behind(low, size);

	if (p->once)
		return add_step(steps, 0, map, first, end);
	return size && low
		       ? add_step(steps, 0, map, page_of(low), page_of(low) + (end - 1 - page_of(low - 1)))
		       : 0;
}

unsigned pages_steps(struct pages *p, const struct mst_kind *kind, uint64_t address, struct page_step *steps)
{
	const uint64_t lo = page_of(address), hi = page_behind(address, kind->size);

	switch ((enum mst_op)kind->op) {
	case MST_OP_PAGE_START:
	case MST_OP_PAGE_MMAP:
	case MST_OP_PAGE_SHMAT:
		return add_step(steps, 0, true, lo, hi);
	case MST_OP_PAGE_MUNMAP:
	case MST_OP_PAGE_SHMDT:
		return add_step(steps, 0, false, lo, hi);
	case MST_OP_PAGE_MREMAP_FROM:
		p->from = address;
		p->from_size = kind->size;
		return 0;
	case MST_OP_PAGE_MREMAP:
		return mremap_steps(p, address, kind->size, steps);
	case MST_OP_PAGE_BRK_GROW:
		return brk_steps(p, true, address, kind->size, steps);
	case MST_OP_PAGE_BRK_SHRINK:
		return brk_steps(p, false, address, kind->size, steps);
	default:
		return 0;
	}
}

/* ---- layers ---- */

/* The layer's number; 0: there is no room. */
static uint32_t find_layer(struct pages *p, uint32_t context, uint32_t below)
{
	const uint64_t key = (uint64_t)context << 32 | below;
	uint64_t number;

	if (index_map_find(&p->layer_numbers, key, &number))
		return (uint32_t)number;
	if (p->n_layers >= p->layer_capacity) {
		const uint32_t capacity = p->layer_capacity ? 2 * p->layer_capacity : 256;
		struct layer *grown = realloc(p->layers, capacity * sizeof(*grown));

		if (!grown)
			return 0;
		p->layers = grown;
		p->layer_capacity = capacity;
	}
	if (p->n_layers == MOST_LAYERS || !index_map_put(&p->layer_numbers, key, p->n_layers))
		return 0;
	p->layers[p->n_layers] = (struct layer){ context, below };
	return p->n_layers++;
}

/* ---- bytes ---- */

static int reserve_context(struct pages *p, uint32_t context)
{
	const uint32_t n = context + context / 2 + 64;
	uint64_t *grown;

	if (context >= PAGES_IGNORED || context < p->n_contexts)
		return 0;
	if (context >= p->context_capacity) {
		grown = realloc(p->bytes, n * sizeof(*grown));
		if (!grown)
			return MST_ERR_NOMEM;
		p->bytes = grown;
		p->context_capacity = n;
	}
	for (; p->n_contexts <= context; p->n_contexts++)
		p->bytes[p->n_contexts] = 0;
	return 0;
}

/* The context has `bytes` more, and returns them if they count. */
static uint64_t charge(struct pages *p, uint32_t context, uint64_t bytes)
{
	if (context >= PAGES_IGNORED)
		return 0;
	p->bytes[context] += bytes;
	return bytes;
}

/* ---- ranges ---- */

/* The first range that ends at `page` or behind it. */
static size_t find_range(const struct pages *p, uint64_t page)
{
	size_t low = 0, high = p->all.n;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (p->all.v[middle].hi >= page)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int reserve_ranges(struct ranges *ranges, size_t n)
{
	struct range *grown;

	if (n <= ranges->capacity)
		return 0;
	if (n > MOST_RANGES)
		return MST_ERR_LIMIT;
	grown = realloc(ranges->v, 2 * n * sizeof(*grown));
	if (!grown)
		return MST_ERR_NOMEM;
	ranges->v = grown;
	ranges->capacity = 2 * n;
	return 0;
}

/* Adds pages to those made; they belong together if they touch and have the same layer. */
static void make(struct pages *p, uint64_t lo, uint64_t hi, uint32_t layer)
{
	struct range *last = p->made.n ? &p->made.v[p->made.n - 1] : NULL;

	if (lo >= hi || !layer)
		return;
	if (last && last->hi == lo && last->layer == layer)
		last->hi = hi;
	else
		p->made.v[p->made.n++] = (struct range){ lo, hi, layer };
}

/* Makes pages [lo, hi) of the step, which have been of `layer`. */
static int change_pages(struct pages *p, bool map, uint64_t lo, uint64_t hi, uint32_t layer, uint32_t context,
			uint64_t *change)
{
	const uint64_t bytes = (hi - lo) * PAGE_BYTES;
	uint32_t now = 0;

	if (lo >= hi)
		return 0;
	if (map) {
		now = find_layer(p, context, p->once ? 0 : layer);
		if (!now)
			return p->n_layers == MOST_LAYERS ? MST_ERR_LIMIT : MST_ERR_NOMEM;
		*change += charge(p, context, bytes);
		p->records += hi - lo;
	}
	if (layer && (!map || p->once))
		*change += charge(p, p->layers[layer].context, -bytes);
	if (layer && !map) {
		now = p->layers[layer].below;
		p->records -= hi - lo;
	}
	make(p, lo, hi, now);
	return 0;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Makes what the ranges [first, last), which are all that touch the step's, become. */
static int make_all(struct pages *p, const struct page_step *s, uint32_t context, size_t first, size_t last,
		    uint64_t *change)
{
	uint64_t at = s->lo;
	int err = 0;

	p->made.n = 0;
	for (size_t i = first; i < last && !err; i++) {
		const struct range r = p->all.v[i];

		err = change_pages(p, s->map, at, at_most(r.lo, s->hi), 0, context, change);
		make(p, r.lo, at_most(r.hi, s->lo), r.layer);
		if (!err)
			err = change_pages(p, s->map, at_least(r.lo, s->lo), at_most(r.hi, s->hi), r.layer,
					   context, change);
		make(p, at_least(r.lo, s->hi), r.hi, r.layer);
		at = at_least(at, r.hi);
	}
	return err ? err : change_pages(p, s->map, at, s->hi, 0, context, change);
}

static int do_step(struct pages *p, const struct page_step *s, uint32_t context, uint64_t *change)
{
	const size_t first = find_range(p, s->lo);
	size_t last = first, behind;
	int err;

	while (last < p->all.n && p->all.v[last].lo <= s->hi)
		last++;
	behind = p->all.n - last;
	p->work += WORK_A_STEP;
	if (p->work < 3 * (last - first) + 1 + behind / 16)
		return MST_ERR_LIMIT;
	p->work -= 3 * (last - first) + 1 + behind / 16;
	if ((err = reserve_ranges(&p->made, 3 * (last - first) + 1)) ||
	    (err = make_all(p, s, context, first, last, change)) ||
	    (err = reserve_ranges(&p->all, first + p->made.n + behind + 1)))
		return err;
	memmove(p->all.v + first + p->made.n, p->all.v + last, behind * sizeof(*p->all.v));
	memcpy(p->all.v + first, p->made.v, p->made.n * sizeof(*p->all.v));
	p->all.n = first + p->made.n + behind;
	return 0;
}

/* Turns the records of each page round. */
static int turn_round(struct pages *p)
{
	for (size_t i = 0; i < p->all.n; i++) {
		uint32_t turned = 0;

		for (uint32_t layer = p->all.v[i].layer; layer; layer = p->layers[layer].below) {
			if (p->work == 0)
				return MST_ERR_LIMIT;
			p->work--;
			turned = find_layer(p, p->layers[layer].context, turned);
			if (!turned)
				return p->n_layers == MOST_LAYERS ? MST_ERR_LIMIT : MST_ERR_NOMEM;
		}
		p->all.v[i].layer = turned;
	}
	return 0;
}

/* Whether the step makes the table grow. */
static bool is_too_much(const struct pages *p, const struct page_step *s)
{
	return s->map && !p->once && p->table_size < TABLE_SIZES &&
	       p->records + (s->hi - s->lo) > table_sizes[p->table_size];
}

int pages_do(struct pages *p, const struct page_step *s, uint32_t context, uint64_t *change)
{
	struct page_step rest = *s;
	int err = s->map ? reserve_context(p, context) : 0;

	*change = 0;
	while (!err && is_too_much(p, &rest)) {
		struct page_step part = rest;

		part.hi = rest.lo = part.lo + (table_sizes[p->table_size++] - p->records) + 1;
		err = do_step(p, &part, context, change);
		if (!err)
			err = turn_round(p);
	}
	if (!err && rest.lo < rest.hi)
		err = do_step(p, &rest, context, change);
	if (p->records > p->most)
		p->most = p->records;
	return err;
}

bool pages_counted(const struct pages *p, uint64_t page)
{
	const size_t i = find_range(p, page + 1);

	return i < p->all.n && p->all.v[i].lo <= page && p->layers[p->all.v[i].layer].context < PAGES_IGNORED;
}

const uint64_t *pages_bytes(const struct pages *p, uint32_t *n)
{
	*n = p->n_contexts;
	return p->bytes;
}

/* ---- bases ---- */

/* There have been so many records; their order is as it is since then. */
static int expect(struct pages *p, uint64_t most)
{
	p->most = at_least(p->most, most);
	while (p->table_size < TABLE_SIZES && most > table_sizes[p->table_size])
		p->table_size++;
	return most == PAGES_UNTOLD ? MST_ERR_LIMIT : 0;
}

int pages_base(struct pages *p, const struct mst_kind *kind, uint64_t address, struct page_step *step)
{
	switch ((enum mst_op)kind->op) {
	case MST_OP_PAGE_MREMAP_FROM:
		return (int)pages_steps(p, kind, address, step);
	case MST_OP_PAGE_MOST:
		return p->once ? 0 : expect(p, kind->size);
	case MST_OP_PAGE_START:
	case MST_OP_PAGE_RECORD:
		*step = (struct page_step){ true, page_of(address), page_behind(address, kind->size) };
		return p->once == (kind->op == MST_OP_PAGE_START);
	default:
		return 0;
	}
}

static int tell_mark(pages_tell *tell, void *context, uint8_t op, uint32_t stack, uint64_t size,
		     uint64_t address)
{
	const struct mst_kind kind = { .op = op, .stack = stack, .size = size, .cap = size };

	return tell(context, &kind, address);
}

/* All pages there are have a byte more than fits. */
static uint64_t bytes_of(const struct range *r)
{
	const uint64_t bytes = (r->hi - r->lo) * PAGE_BYTES;

	return bytes ? bytes : UINT64_MAX;
}

/* How many records a page has at most. There is a limit to all together, which a reader of the marks has, too. */
static int find_deepest(const struct pages *p, uint32_t *deepest)
{
	uint64_t work = p->work;

	*deepest = 0;
	for (size_t i = 0; i < p->all.n; i++) {
		uint32_t n = 0;

		for (uint32_t layer = p->all.v[i].layer; layer; layer = p->layers[layer].below, n++) {
			if (work-- == 0)
				return MST_ERR_LIMIT;
		}
		*deepest = n > *deepest ? n : *deepest;
	}
	return 0;
}

/* A mark for each record of the range, that which goes first last. `chain` has room for their contexts. */
static int tell_range(const struct pages *p, const struct range *r, uint32_t *chain, pages_tell *tell,
		      void *context)
{
	const uint8_t op = p->once ? MST_OP_PAGE_START : MST_OP_PAGE_RECORD;
	uint32_t n = 0;
	int err = 0;

	for (uint32_t layer = r->layer; layer; layer = p->layers[layer].below)
		chain[n++] = p->layers[layer].context;
	while (!err && n > 0)
		err = tell_mark(tell, context, op, chain[--n], bytes_of(r), r->lo * PAGE_BYTES);
	return err;
}

int pages_list(const struct pages *p, pages_tell *tell, void *context)
{
	uint32_t deepest, *chain = NULL;
	int err = find_deepest(p, &deepest);

	if (!err && !(chain = malloc((deepest + (size_t)1) * sizeof(*chain))))
		err = MST_ERR_NOMEM;
	for (uint32_t i = 0; i < p->n_contexts && !err; i++)
		err = tell_mark(tell, context, p->once ? MST_OP_PAGE_START : MST_OP_PAGE_RECORD, i, 0, 0);
	if (!err && p->most && !p->once)
		err = tell_mark(tell, context, MST_OP_PAGE_MOST, 0, p->most, 0);
	for (size_t i = 0; i < p->all.n && !err; i++)
		err = tell_range(p, &p->all.v[i], chain, tell, context);
	if (!err && p->from_size && p->once)
		err = tell_mark(tell, context, MST_OP_PAGE_MREMAP_FROM, 0, p->from_size, p->from);
	free(chain);
	return err;
}
