/* SPDX-License-Identifier: MIT */
#include "pools.h"

#include <stdlib.h>

#include "array.h"
#include "mst_op.h"

enum {
	NO_PAGE = 0, /* so that classes without one, of which there may be very many, need no memory */
	PAGE = 4096,
	GRAIN = 16,            /* sizes of pieces are multiples of it */
	LARGE = PAGE / 2,      /* larger ones have whole pages */
	SIZES = LARGE / GRAIN, /* of pieces */
};

/* A page of small blocks. One of pieces is in a list of its class as long as a piece is free. */
struct pool_page {
	uint32_t class;
	uint16_t used, filled; /* live blocks; bytes that blocks had, where none has them again */
	uint32_t before,
		after; /* pages; NO_PAGE: the first or last one. Of an unused page, `after` is the next such one */
};

struct pool_pages {
	const uint32_t *groups; /* by kind; NULL: all are one group, or that of the block's life */
	bool appends; /* classes of blocks of all sizes, side by side; no room is used again before its page is empty */
	uint32_t *first; /* [n_classes] page with room; NO_PAGE: none */
	struct pool_page *pages;
	uint32_t n, room, unused;
	uint32_t *of_blocks; /* [slots] page of each live block; NO_PAGE: it is large */
};

static uint64_t whole_pages(uint64_t bytes)
{
	return bytes > UINT64_MAX - PAGE ? UINT64_MAX / PAGE * PAGE : (bytes + PAGE - 1) / PAGE * PAGE;
}

/* From 0; pieces of size (n + 1) * GRAIN. */
static uint32_t size_of_piece(uint64_t bytes)
{
	return bytes ? (uint32_t)((bytes - 1) / GRAIN) : 0;
}

static uint32_t capacity(uint32_t class)
{
	return PAGE / ((class % SIZES + 1) * GRAIN);
}

/* ---- Lists ---- */

static void push(struct pool_pages *m, uint32_t page)
{
	struct pool_page *const p = &m->pages[page];
	uint32_t *const first = &m->first[p->class];
	p->before = NO_PAGE;
	p->after = *first;
	if (*first != NO_PAGE)
		m->pages[*first].before = page;
	*first = page;
}

static void unlink_page(struct pool_pages *m, uint32_t page)
{
	const struct pool_page *p = &m->pages[page];
	if (p->before != NO_PAGE)
		m->pages[p->before].after = p->after;
	else
		m->first[p->class] = p->after;
	if (p->after != NO_PAGE)
		m->pages[p->after].before = p->before;
}

/* A page of the class with nothing on it. NO_PAGE: no memory. */
static uint32_t new_page(struct pool_pages *m, uint32_t class)
{
	uint32_t page = m->unused;
	if (page != NO_PAGE) {
		m->unused = m->pages[page].after;
	} else {
		if (m->n == UINT32_MAX || !array_reserve(&m->pages, m->n, &m->room, sizeof(*m->pages)))
			return NO_PAGE;
		page = m->n++;
	}
	m->pages[page] = (struct pool_page){ .class = class };
	if (m->appends)
		m->first[class] = page;
	else
		push(m, page);
	return page;
}

static void drop_page(struct pool_pages *m, uint32_t page)
{
	struct pool_page *const p = &m->pages[page];
	if (!m->appends)
		unlink_page(m, page);
	else if (m->first[p->class] == page)
		m->first[p->class] = NO_PAGE;
	p->after = m->unused;
	m->unused = page;
}

/* ---- Blocks ---- */

static void add(struct pool_figures *f, uint64_t bytes)
{
	f->now += bytes;
	f->peak = f->now > f->peak ? f->now : f->peak;
}

/* False: no memory. */
static bool come(struct pool_pages *m, struct pool_figures *f, uint32_t slot, uint32_t group, uint64_t size)
{
	m->of_blocks[slot] = NO_PAGE;
	if (size > LARGE) {
		add(f, whole_pages(size));
		return true;
	}
	const uint32_t piece = size_of_piece(size), bytes = (piece + 1) * GRAIN;
	const uint32_t class = m->appends ? group : group * SIZES + piece;
	uint32_t page = m->first[class];
	if (page == NO_PAGE || (m->appends && m->pages[page].filled + bytes > PAGE)) {
		page = new_page(m, class);
		if (page == NO_PAGE)
			return false;
		add(f, PAGE);
	}
	m->of_blocks[slot] = page;
	m->pages[page].used++;
	if (m->appends)
		m->pages[page].filled = (uint16_t)(m->pages[page].filled + bytes);
	else if (m->pages[page].used == capacity(class))
		unlink_page(m, page);
	return true;
}

static void go(struct pool_pages *m, struct pool_figures *f, uint32_t slot, uint64_t size)
{
	const uint32_t page = m->of_blocks[slot];
	if (page == NO_PAGE) {
		f->now -= whole_pages(size);
		return;
	}
	struct pool_page *const p = &m->pages[page];
	if (!m->appends && p->used == capacity(p->class))
		push(m, page);
	if (--p->used > 0)
		return;
	drop_page(m, page);
	f->now -= PAGE;
}

/* ---- The observer ---- */

static uint32_t group_of(const struct pools *p, enum pool_model model, uint32_t kind, uint64_t block)
{
	if (model == POOLS_BY_LIFE)
		return life_class(p->lives, block);
	return p->models[model].groups && kind < p->n_kinds ? p->models[model].groups[kind] : 0;
}

static int put_block(struct pools *p, const struct mst_kind *kinds, uint32_t kind)
{
	const uint32_t slot = block_numbers_give(&p->numbers);
	const uint64_t block = p->numbers.first + p->numbers.n_recent - 1;
	if (slot >= p->outline->slots)
		return MST_ERR_DAMAGED;
	for (unsigned m = 0; m < POOL_MODELS && !mst_op_is_custom(kinds[kind].op); m++) {
		if (p->has[m] && !come(&p->models[m], &p->figures[m], slot,
				       group_of(p, (enum pool_model)m, kind, block), kinds[kind].size))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static void take_block(struct pools *p, const struct mst_kind *kinds, const struct mst_event *e)
{
	uint32_t slot;
	if (!block_numbers_take(&p->numbers, e->old_index, &slot) || mst_op_is_custom(kinds[e->old_kind].op))
		return;
	for (unsigned m = 0; m < POOL_MODELS; m++) {
		if (p->has[m])
			go(&p->models[m], &p->figures[m], slot, kinds[e->old_kind].size);
	}
}

static void note_peak(struct pools *p)
{
	for (unsigned m = 0; m < POOL_MODELS; m++)
		p->figures[m].at_live_peak = p->figures[m].now;
}

static void note_end(struct pools *p)
{
	p->done = true;
	for (unsigned m = 0; m < POOL_MODELS; m++)
		p->figures[m].at_end = p->figures[m].now;
}

static int place_chunk(struct observer *observer, const struct mst_reader *reader,
		       const struct mst_chunk *chunk)
{
	struct pools *const p = (struct pools *)observer;
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	if (!block_numbers_begin(&p->numbers, chunk))
		return MST_ERR_NOMEM;
	while (!p->done && mst_cursor_next(&cursor, &e)) {
		const uint64_t record = chunk->first_record + cursor.record - 1;
		if (record >= p->outline->records) {
			note_end(p);
			break;
		}
		if (e.type == MST_EVENT_FREE || e.type == MST_EVENT_RESIZE)
			take_block(p, kinds, &e);
		const int error = e.type == MST_EVENT_ALLOC || e.type == MST_EVENT_RESIZE
					  ? put_block(p, kinds, e.kind)
					  : 0;
		if (error)
			return error;
		if (record == p->outline->peak_record)
			note_peak(p);
	}
	life_classes_let_go(p->lives, &p->chunks);
	return 0;
}

static bool is_done(const struct observer *observer)
{
	return ((const struct pools *)observer)->done;
}

static int place_end(struct observer *observer, const struct mst_reader *reader)
{
	struct pools *const p = (struct pools *)observer;
	(void)reader;
	if (!p->done)
		note_end(p);
	return 0;
}

static const struct observer_impl impl = {
	.chunk = place_chunk,
	.satisfied = is_done,
	.end = place_end,
};

/* ---- Beginning and end ---- */

static bool model_init(struct pool_pages *m, bool appends, const uint32_t *groups, uint32_t n_groups,
		       uint32_t slots)
{
	const size_t n_classes = (size_t)n_groups * (appends ? 1 : SIZES);
	*m = (struct pool_pages){ .groups = groups, .appends = appends, .n = NO_PAGE + 1 };
	if (n_classes > UINT32_MAX)
		return false;
	m->first = calloc(n_classes, sizeof(*m->first));
	m->of_blocks = malloc((slots + (size_t)1) * sizeof(*m->of_blocks));
	return m->first && m->of_blocks;
}

bool pools_init(struct pools *pools, const struct outline *outline, const struct life_classes *lives,
		const uint32_t *sites, uint32_t n_kinds)
{
	uint32_t n_sites = 1;
	*pools = (struct pools){
		.observer = { .impl = &impl, .spared = MST_INSTRUCTIONS | MST_ADDRESSES | MST_SP_CHANGES },
		.outline = outline,
		.lives = lives,
		.n_kinds = n_kinds,
		.models = calloc(POOL_MODELS, sizeof(*pools->models)),
		.has = { [POOLS_BY_SITE] = true, [POOLS_BY_SIZE] = true },
	};
	for (uint32_t i = 0; i < n_kinds; i++)
		n_sites = sites[i] >= n_sites ? sites[i] + 1 : n_sites;
	pools->has[POOLS_BY_LIFE] = life_classes_known(lives, lives->numbers.first + lives->numbers.n_recent);
	return pools->models &&
	       model_init(&pools->models[POOLS_BY_LIFE], true, NULL, LIFE_CLASSES, outline->slots) &&
	       model_init(&pools->models[POOLS_BY_SITE], false, sites, n_sites, outline->slots) &&
	       model_init(&pools->models[POOLS_BY_SIZE], false, NULL, 1, outline->slots);
}

void pools_finish(struct pools *pools)
{
	for (unsigned m = 0; pools->models && m < POOL_MODELS; m++) {
		free(pools->models[m].first);
		free(pools->models[m].pages);
		free(pools->models[m].of_blocks);
	}
	free(pools->models);
	block_numbers_finish(&pools->numbers);
	*pools = (struct pools){ 0 };
}
