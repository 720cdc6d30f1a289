/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "index_map.h"

/* Bounds for hostile traces. A kernel allows 65530 mappings by default. */
#define MOST_LAYERS (1u << 22)
#define MOST_RANGES (1u << 20)
#define WORK_AT_START ((uint64_t)1 << 22)
#define WORK_A_STEP 4096u /* on average; moving 16 ranges is as much as making one */

/*
 * Massif's hash table of records grows beyond these sizes. It then lists the records of each page in the opposite
 * order, so the oldest is removed first, until the table grows again.
 */
static const uint32_t table_sizes[] = {
	769,      1543,      3079,      6151,      12289,     24593,      49157,    98317,
	196613,   393241,    786433,    1572869,   3145739,   6291469,    12582917, 25165843,
	50331653, 100663319, 201326611, 402653189, 805306457, 1610612741,
};

#define TABLE_SIZES (sizeof(table_sizes) / sizeof(*table_sizes))

/* The records of a page: the context of the first, and the layer of the others, `below`. Layer 0: no record. */
struct layer {
	uint32_t context, below;
};

/* lo < hi; layer is not 0; ranges that touch have different layers. */
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
	struct ranges all;    /* ascending, without overlaps */
	struct ranges made;   /* by the step that is being done */
	struct layer *layers; /* [n_layers], each once; below < own number */
	uint32_t n_layers, layer_capacity;
	struct index_map layer_numbers; /* by context and below */
	uint64_t *bytes;                /* by context */
	uint32_t n_contexts, context_capacity;
	uint64_t records;  /* of all pages */
	uint64_t most;     /* records at one time so far; >= records behind each call */
	size_t table_size; /* index of the size that Massif's table has; <= TABLE_SIZES */
	uint64_t work;     /* credit of steps; a trace that uses it up is refused */

	/* The range that the next mremap was given. */
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

/* The first page behind `size` bytes at `address`, at most the one behind the last address. */
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
	const uint64_t target = page_of(to), target_end = page_behind(to, size);
	const uint64_t old_n = old_end - old, new_n = target_end - target,
		       kept = old_n < new_n ? old_n : new_n;
	unsigned n = 0;

	p->from_size = 0;
	if (old == target) {
		n = add_step(steps, n, false, target_end, old_end);
		return add_step(steps, n, true, old_end, target_end);
	}
	if (p->once) {
		n = add_step(steps, n, false, old, old_end);
		return add_step(steps, n, true, target, target_end);
	}
	n = add_step(steps, n, false, old, old + kept);
	n = add_step(steps, n, true, target, target + kept);
	n = add_step(steps, n, true, target + kept, target_end);
	return add_step(steps, n, false, old, old_end);
}

/* As Massif: from the page of the lower break, also if another mapping has it, up to and without the last page. */
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

/* The number of the layer, made if it is not there; 0: a limit, or no memory. */
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

/* Adds bytes to the context; returns them if it counts, else 0. */
static uint64_t charge(struct pages *p, uint32_t context, uint64_t bytes)
{
	if (context >= PAGES_IGNORED)
		return 0;
	p->bytes[context] += bytes;
	return bytes;
}

/* ---- ranges ---- */

/* Index of the first range that ends at `page` or behind it. */
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

/* Appends pages to p->made, to the last range if they touch and have the same layer. Layer 0 is left out. */
static void make(struct pages *p, uint64_t lo, uint64_t hi, uint32_t layer)
{
	struct range *last = p->made.n ? &p->made.v[p->made.n - 1] : NULL;

	assert(!last || lo >= last->hi || lo >= hi);
	if (lo >= hi || !layer)
		return;
	if (last && last->hi == lo && last->layer == layer)
		last->hi = hi;
	else {
		assert(p->made.n < p->made.capacity);
		p->made.v[p->made.n++] = (struct range){ lo, hi, layer };
	}
}

/* Does the step for pages [lo, hi), which have `layer` now. */
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
	assert(layer < p->n_layers);
	if (layer && !map) {
		now = p->layers[layer].below;
		assert(p->records >= hi - lo);
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

/* Does the step for the ranges [first, last), which are all that touch its range, into p->made. */
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

/* Whether the ranges ascend without overlaps, have layers, and are merged where they touch. */
static __attribute__((unused)) bool ranges_are_sound(const struct pages *p)
{
	for (size_t i = 0; i < p->all.n; i++) {
		const struct range *r = &p->all.v[i];

		if (r->lo >= r->hi || !r->layer || r->layer >= p->n_layers)
			return false;
		if (i > 0 && (r[-1].hi > r->lo || (r[-1].hi == r->lo && r[-1].layer == r->layer)))
			return false;
	}
	return true;
}

/* Reverses the records of each page. */
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

/* Whether the step makes Massif's table grow. */
static bool is_too_much(const struct pages *p, const struct page_step *s)
{
	return s->map && !p->once && p->table_size < TABLE_SIZES &&
	       p->records + (s->hi - s->lo) > table_sizes[p->table_size];
}

int pages_do(struct pages *p, const struct page_step *s, uint32_t context, uint64_t *change)
{
	struct page_step rest = *s;
	int err = s->map ? reserve_context(p, context) : 0;

	assert(s->lo <= s->hi);
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
	assert(err || !check_wanted() || ranges_are_sound(p));
	if (p->records > p->most)
		p->most = p->records;
	return err;
}

int pages_do_custom(struct pages *p, bool comes, uint64_t size, uint32_t context, uint64_t *change)
{
	const int err = reserve_context(p, context);

	assert(!p->once);
	*change = err ? 0 : charge(p, context, comes ? size : -size);
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

/* ---- initial states ---- */

/* Takes over how many records there have been, which decides their order from then on. */
static int expect(struct pages *p, uint64_t most)
{
	p->most = at_least(p->most, most);
	while (p->table_size < TABLE_SIZES && most > table_sizes[p->table_size])
		p->table_size++;
	return most == PAGES_TOO_MANY ? MST_ERR_LIMIT : 0;
}

int pages_initial(struct pages *p, const struct mst_kind *kind, uint64_t address, struct page_step *step)
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

static int emit_marker(pages_emit *emit, void *context, uint8_t op, uint32_t stack, uint64_t size,
		       uint64_t address)
{
	const struct mst_kind kind = { .op = op, .stack = stack, .size = size, .cap = size };

	return emit(context, &kind, address);
}

/* The whole address space is 2^64 bytes, one more than a uint64_t holds. */
static uint64_t bytes_of(const struct range *r)
{
	const uint64_t bytes = (r->hi - r->lo) * PAGE_BYTES;

	return bytes ? bytes : UINT64_MAX;
}

/* The most records of a page. All together have a limit, which readers of the markers have, too. */
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

/* Emits a marker for each record of the range, the one that goes first last. `chain` has room for their contexts. */
static int emit_range(const struct pages *p, const struct range *r, uint32_t *chain, pages_emit *emit,
		      void *context)
{
	const uint8_t op = p->once ? MST_OP_PAGE_START : MST_OP_PAGE_RECORD;
	uint32_t n = 0;
	int err = 0;

	for (uint32_t layer = r->layer; layer; layer = p->layers[layer].below)
		chain[n++] = p->layers[layer].context;
	while (!err && n > 0)
		err = emit_marker(emit, context, op, chain[--n], bytes_of(r), r->lo * PAGE_BYTES);
	return err;
}

int pages_list(const struct pages *p, pages_emit *emit, void *context)
{
	uint32_t deepest, *chain = NULL;
	int err = find_deepest(p, &deepest);

	if (!err && !(chain = malloc((deepest + (size_t)1) * sizeof(*chain))))
		err = MST_ERR_NOMEM;
	for (uint32_t i = 0; i < p->n_contexts && !err; i++)
		err = emit_marker(emit, context, p->once ? MST_OP_PAGE_START : MST_OP_PAGE_RECORD, i, 0, 0);
	if (!err && p->most && !p->once)
		err = emit_marker(emit, context, MST_OP_PAGE_MOST, 0, p->most, 0);
	for (size_t i = 0; i < p->all.n && !err; i++)
		err = emit_range(p, &p->all.v[i], chain, emit, context);
	if (!err && p->from_size && p->once)
		err = emit_marker(emit, context, MST_OP_PAGE_MREMAP_FROM, 0, p->from_size, p->from);
	free(chain);
	return err;
}
