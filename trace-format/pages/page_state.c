/* SPDX-License-Identifier: MIT */
#include "page_state.h"

#include <stdlib.h>

#include "index_map.h"

/* What is mapped, by one way of counting. */
struct count {
	struct pages *pages;
	uint32_t *stacks; /* by context, in the order of first use */
	uint32_t n, capacity;
	struct index_map contexts; /* by stack */
	int error;                 /* the first error; then the count stands still */
};

enum way { ONCE, AS_MASSIF, WAYS };

struct page_state {
	struct count counts[WAYS];
};

/* Where the markers of an initial state go. */
struct emission {
	const struct count *count;
	struct mst_remap *remap; /* or NULL: only `next` gets them */
	struct mst_writer *writer;
	struct page_state *next;
};

/* ---- life ---- */

struct page_state *page_state_create(void)
{
	struct page_state *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->counts[ONCE].pages = pages_create(true);
	b->counts[AS_MASSIF].pages = pages_create(false);
	if (b->counts[ONCE].pages && b->counts[AS_MASSIF].pages)
		return b;
	page_state_destroy(b);
	return NULL;
}

void page_state_destroy(struct page_state *b)
{
	if (!b)
		return;
	for (unsigned i = 0; i < WAYS; i++) {
		pages_destroy(b->counts[i].pages);
		free(b->counts[i].stacks);
		index_map_finish(&b->counts[i].contexts);
	}
	free(b);
}

/* ---- events ---- */

/* The number of a stack for which pages are mapped. */
static int find_context(struct count *c, uint32_t stack, uint32_t *context)
{
	uint64_t known;

	if (index_map_find(&c->contexts, stack, &known)) {
		*context = (uint32_t)known;
		return 0;
	}
	if (c->n == c->capacity) {
		const uint32_t capacity = 2 * c->capacity + 16;
		uint32_t *grown = reallocarray(c->stacks, capacity, sizeof(*grown));

		if (!grown)
			return MST_ERR_NOMEM;
		c->stacks = grown;
		c->capacity = capacity;
	}
	*context = c->n++;
	c->stacks[*context] = stack;
	return index_map_put(&c->contexts, stack, *context) ? 0 : MST_ERR_NOMEM;
}

static int note(struct count *c, const struct mst_kind *kind, uint64_t address, bool in_initial_state)
{
	struct page_step steps[PAGE_STEPS];
	const int n = in_initial_state ? pages_initial(c->pages, kind, address, steps)
				       : (int)pages_steps(c->pages, kind, address, steps);
	uint32_t context = PAGES_IGNORED;
	uint64_t change;
	int err = n < 0 ? n : 0;

	for (int i = 0; i < n && !err; i++) {
		if (steps[i].map)
			err = find_context(c, kind->stack, &context);
		if (!err)
			err = pages_do(c->pages, &steps[i], context, &change);
	}
	return err;
}

void page_state_note(struct page_state *b, const struct mst_kind *kind, uint64_t address,
		     bool in_initial_state)
{
	for (unsigned i = 0; i < WAYS; i++) {
		if (!b->counts[i].error)
			b->counts[i].error = note(&b->counts[i], kind, address, in_initial_state);
	}
}

/* ---- initial states ---- */

static int emit(void *context, const struct mst_kind *marker, uint64_t address)
{
	const struct emission *t = context;
	const bool maps = marker->op == MST_OP_PAGE_START || marker->op == MST_OP_PAGE_RECORD;
	struct mst_kind kind = *marker;
	uint32_t id;
	int err = 0;

	kind.stack = maps ? t->count->stacks[marker->stack] : MST_ROOT_STACK;
	if (t->remap && !(err = mst_remap_stack(t->remap, kind.stack, &kind.stack)) &&
	    !(err = mst_writer_kind(t->writer, &kind, &id)))
		err = mst_writer_page(t->writer, id, address);
	if (!err && t->next)
		page_state_note(t->next, &kind, address, true);
	return err;
}

/* Massif's records can go beyond the limits while the pages do not: then the records are left out. */
static int emit_count(const struct page_state *b, enum way way, struct emission *t)
{
	static const struct mst_kind too_many = { .op = MST_OP_PAGE_MOST,
						  .size = PAGES_TOO_MANY,
						  .cap = PAGES_TOO_MANY };
	int err;

	t->count = &b->counts[way];
	err = t->count->error ? t->count->error : pages_list(t->count->pages, emit, t);
	return err == MST_ERR_LIMIT && way == AS_MASSIF ? emit(t, &too_many, 0) : err;
}

int page_state_write(const struct page_state *b, struct mst_remap *remap, struct mst_writer *writer,
		     struct page_state *next)
{
	struct emission emission = { .remap = remap, .writer = writer, .next = next };
	const int err = emit_count(b, ONCE, &emission);

	return err ? err : emit_count(b, AS_MASSIF, &emission);
}

struct page_state *page_state_copy(const struct page_state *from)
{
	struct page_state *copy = page_state_create();
	struct emission emission = { .next = copy };

	for (unsigned i = 0; copy && i < WAYS; i++) {
		const int err = emit_count(from, i, &emission);

		if (err)
			copy->counts[i].error = err;
	}
	return copy;
}
