/* SPDX-License-Identifier: MIT */
#include "blame.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array.h"

enum { PAGE = 4096, GRAINS = PAGE / SHADOW_GRAIN, BATCH = 8192 };

/* ---- Resident pages ---- */

static bool add_page(struct page_list *pages, uint64_t number)
{
	if (!array_reserve(&pages->numbers, pages->n, &pages->room, sizeof(*pages->numbers)))
		return false;
	pages->numbers[pages->n++] = number;
	return true;
}

/* Those of [begin, end), from /proc/PID/pagemap. */
static bool add_resident(struct page_list *pages, int pagemap, uint64_t begin, uint64_t end)
{
	static const uint64_t present = UINT64_C(1) << 63;
	uint64_t entries[512];
	for (uint64_t at = begin / PAGE; at < end / PAGE;) {
		const uint64_t left = end / PAGE - at, n = left < 512 ? left : 512;
		const ssize_t got =
			pread(pagemap, entries, n * sizeof(*entries), (off_t)(at * sizeof(*entries)));
		if (got <= 0)
			return false;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++) {
			if (entries[i] & present && !add_page(pages, at + i))
				return false;
		}
		at += (uint64_t)got / sizeof(*entries);
	}
	return true;
}

/* A line of /proc/PID/maps: writable, private, no file, no stack. */
static bool is_heap(const char *line, uint64_t *begin, uint64_t *end)
{
	char access[5];
	uint64_t inode;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, begin, end, access, &inode) != 4)
		return false;
	return strcmp(access, "rw-p") == 0 && inode == 0 && !strstr(line, "[stack");
}

static FILE *open_maps(pid_t pid, int *pagemap)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (*pagemap < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		close(*pagemap);
	return maps;
}

bool page_list_read(struct page_list *pages, pid_t pid)
{
	char *line = NULL;
	size_t room = 0;
	int pagemap;
	bool fine = true;
	FILE *maps = open_maps(pid, &pagemap);
	if (!maps)
		return false;
	while (fine && getline(&line, &room, maps) > 0) {
		uint64_t begin, end;
		if (is_heap(line, &begin, &end))
			fine = add_resident(pages, pagemap, begin, end);
	}
	free(line);
	fclose(maps);
	close(pagemap);
	return fine;
}

void page_list_finish(struct page_list *pages)
{
	free(pages->numbers);
	*pages = (struct page_list){ 0 };
}

/* ---- Live blocks ---- */

struct block {
	uint64_t address, size, usable;
	uint32_t kind;
};

struct blocks {
	struct block *items; /* by address */
	size_t n;
};

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static bool collect_blocks(struct blocks *blocks, const struct player_process *player,
			   const struct op_stream *stream, const struct mst_kind *kinds)
{
	const uint64_t *slots = player_slots(player), *usable = player_usable(player);
	const uint32_t n = stream->outline->slots;
	blocks->items = malloc((n + (size_t)1) * sizeof(*blocks->items));
	for (uint32_t i = 0; blocks->items && i < n; i++) {
		const uint32_t kind = stream->owners[i];
		if (kind == MST_NONE || slots[i] == 0 || slots[i] >> SHADOW_BITS)
			continue;
		const uint64_t size = kinds[kind].size, most = ((uint64_t)1 << SHADOW_BITS) - slots[i];
		blocks->items[blocks->n++] =
			(struct block){ slots[i], size < most ? size : most, usable[i], kind };
	}
	if (blocks->items)
		qsort(blocks->items, blocks->n, sizeof(*blocks->items), compare_blocks);
	return blocks->items;
}

/* ---- Pages and blocks together ---- */

struct view {
	struct blame *blame;
	const uint32_t *shadow;           /* of the present page: [GRAINS] */
	const struct block *first, *last; /* blocks that lie on the page, `last` excluded */
	uint64_t begin;                   /* address of the page */
};

static uint64_t overlap(const struct block *b, uint64_t begin)
{
	const uint64_t end = begin + PAGE, last = b->address + b->size;
	const uint64_t from = b->address > begin ? b->address : begin, to = last < end ? last : end;
	return to > from ? to - from : 0;
}

/* A grain is live if any of its bytes is, also those of a block of 0 bytes. */
static void mark_live(const struct view *v, bool live[GRAINS])
{
	for (const struct block *b = v->first; b < v->last; b++) {
		const uint64_t last = b->address + (b->size ? b->size : 1);
		const uint64_t from = b->address > v->begin ? b->address - v->begin : 0;
		for (uint64_t i = from / SHADOW_GRAIN; i < GRAINS && v->begin + i * SHADOW_GRAIN < last; i++)
			live[i] = true;
	}
}

/* Bytes of holes; with `left`, each is noted where its last block came from. */
static uint64_t find_holes(const struct view *v, bool left)
{
	bool live[GRAINS] = { false };
	uint64_t bytes = 0;
	mark_live(v, live);
	for (unsigned i = 0; i < GRAINS; i++) {
		const uint32_t owner = v->shadow[i];
		if (owner == 0 || live[i])
			continue;
		bytes += SHADOW_GRAIN;
		if (left && owner - 1 < v->blame->n_kinds)
			v->blame->kinds[owner - 1].left += SHADOW_GRAIN;
	}
	return bytes;
}

static void blame_blocks(const struct view *v, uint64_t live, uint64_t holes)
{
	for (const struct block *b = v->first; b < v->last; b++) {
		const double part = (double)overlap(b, v->begin) / (double)live;
		v->blame->kinds[b->kind].kept += part * (double)holes;
		v->blame->kinds[b->kind].pages += holes ? part * PAGE : 0;
	}
}

/* `known`: the page was resident before the first call, so without blocks it isn't the allocator's. */
static void look_at_page(const struct view *v, bool known)
{
	struct blame *const blame = v->blame;
	uint64_t live = 0;
	for (const struct block *b = v->first; b < v->last; b++)
		live += overlap(b, v->begin);
	live = live < PAGE ? live : PAGE;
	const uint64_t holes = find_holes(v, live > 0);
	if (known && live + holes == 0)
		return;
	if (blame->page) {
		const struct blame_page page = { v->begin / PAGE, (uint32_t)live, (uint32_t)holes };
		blame->page(blame->context, &page);
	}
	blame->resident += PAGE;
	blame->live += live;
	if (live == 0) {
		*(holes ? &blame->empty : &blame->unused) += PAGE;
		return;
	}
	blame->holes += holes;
	blame->kept_pages += holes > 0;
	blame_blocks(v, live, holes);
}

static void look_at_pages(struct blame *blame, const struct page_list *pages, const struct page_list *before,
			  const struct blocks *blocks, const uint32_t *shadow)
{
	size_t first = 0, old = 0;
	for (size_t i = 0; i < pages->n; i++) {
		struct view v = { .blame = blame, .begin = pages->numbers[i] * PAGE };
		while (first < blocks->n &&
		       blocks->items[first].address + blocks->items[first].size <= v.begin)
			first++;
		size_t last = first;
		while (last < blocks->n && blocks->items[last].address < v.begin + PAGE)
			last++;
		while (old < before->n && before->numbers[old] < pages->numbers[i])
			old++;
		v.first = blocks->items + first;
		v.last = blocks->items + last;
		v.shadow = shadow + v.begin / SHADOW_GRAIN;
		look_at_page(&v, old < before->n && before->numbers[old] == pages->numbers[i]);
	}
}

static void count_blocks(struct blame *blame, const struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->n; i++) {
		const struct block *block = &blocks->items[i];
		struct blamed *b = &blame->kinds[block->kind];
		const uint64_t rounded = block->usable > block->size ? block->usable - block->size : 0;
		b->blocks++;
		b->bytes += block->size;
		b->rounded += rounded;
		blame->rounded += rounded;
	}
}

bool blame_find(struct blame *blame, const struct player_process *player, const struct page_list *before,
		const struct op_stream *stream, const struct mst_kind *kinds, uint32_t n_kinds)
{
	const size_t size = (size_t)(((uint64_t)1 << SHADOW_BITS) / SHADOW_GRAIN * sizeof(uint32_t));
	struct page_list pages = { 0 };
	struct blocks blocks = { 0 };
	blame->kinds = calloc(n_kinds + (size_t)1, sizeof(*blame->kinds));
	blame->n_kinds = n_kinds;
	const uint32_t *shadow =
		mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, player->shadow_fd, 0);
	const bool fine = blame->kinds && shadow != MAP_FAILED && page_list_read(&pages, player->pid) &&
			  collect_blocks(&blocks, player, stream, kinds);
	if (fine) {
		count_blocks(blame, &blocks);
		look_at_pages(blame, &pages, before, &blocks, shadow);
	}
	if (shadow != MAP_FAILED)
		munmap((void *)shadow, size);
	free(blocks.items);
	page_list_finish(&pages);
	return fine;
}

void blame_finish(struct blame *blame)
{
	free(blame->kinds);
	*blame = (struct blame){ 0 };
}
