/* SPDX-License-Identifier: MIT */
#include "glibc_heap.h"

#include <stdlib.h>
#include <string.h>

#define VERSION_LEAST 31u /* what the structures are known of */
#define VERSION_MOST 43u
#define DATA_MOST (1u << 20)
#define EMPTY_BINS_LEAST 8u /* bins of large chunks are nearly always empty */
#define TCACHE_BYTES_MOST (1u << 23)

/* Of an arena's bytes, what it has only with fastbins. */
#define FAST_AT offsetof(struct glibc_arena, have_fastchunks)
#define FAST_END offsetof(struct glibc_arena, top)

_Static_assert(sizeof(struct glibc_arena) == 2200 && FAST_END - FAST_AT == 88 &&
		       sizeof(struct glibc_tcache) == 760,
	       "as libc has them");

/* ---- structures of several versions ---- */

static size_t fast_bytes(const struct glibc_heap *h)
{
	return h->no_fastbins ? 0 : FAST_END - FAST_AT;
}

static size_t arena_bytes(const struct glibc_heap *h)
{
	return FAST_AT + fast_bytes(h) + sizeof(struct glibc_arena) - FAST_END;
}

static void parse_arena(const struct glibc_heap *h, const uint8_t *bytes, struct glibc_arena *a)
{
	*a = (struct glibc_arena){ 0 };
	memcpy(a, bytes, FAST_AT + fast_bytes(h));
	memcpy(&a->top, bytes + FAST_AT + fast_bytes(h), sizeof(*a) - FAST_END);
}

bool glibc_heap_read_arena(const struct glibc_heap *h, struct target *t, uint64_t address,
			   struct glibc_arena *a)
{
	uint8_t bytes[sizeof(*a)];

	if (!target_read(t, address, bytes, arena_bytes(h)))
		return false;
	parse_arena(h, bytes, a);
	return true;
}

static unsigned tcache_bins(const struct glibc_heap *h)
{
	return h->version >= 42 ? GLIBC_TCACHE_BINS : GLIBC_TCACHE_SMALL;
}

size_t glibc_heap_tcache_bytes(const struct glibc_heap *h)
{
	return tcache_bins(h) * (sizeof(uint16_t) + sizeof(uint64_t));
}

void glibc_heap_parse_tcache(const struct glibc_heap *h, const uint8_t *bytes, struct glibc_tcache *t)
{
	const unsigned bins = tcache_bins(h);

	*t = (struct glibc_tcache){ 0 };
	memcpy(t->counts, bytes, bins * sizeof(*t->counts));
	memcpy(t->entries, bytes + bins * sizeof(*t->counts), bins * sizeof(*t->entries));
	for (unsigned i = 0; i < bins && h->version >= 42; i++)
		t->counts[i] =
			h->cache_blocks > t->counts[i] ? (uint16_t)(h->cache_blocks - t->counts[i]) : 0;
}

/* ---- variables that code names ---- */

/* The address in an instruction of the form 48 `opcode` 05, relative to its end, with which a function begins. */
static uint64_t operand(struct target *t, uint64_t function, uint8_t opcode)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[11];
	size_t at = 0;
	int32_t relative;

	if (!function || !target_read(t, function, code, sizeof(code)))
		return 0;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (code[at] != 0x48 || code[at + 1] != opcode || code[at + 2] != 0x05)
		return 0;
	memcpy(&relative, code + at + 3, sizeof(relative));
	return function + at + 7 + (uint64_t)(int64_t)relative;
}

/* gnu_get_libc_version() is lea "2.36", %rax. */
static unsigned find_version(struct target *t, const struct target_object *libc)
{
	const uint64_t at = operand(t, target_object_symbol(libc, "gnu_get_libc_version", STT_FUNC), 0x8d);
	char text[8] = "";

	if (!at || !target_read(t, at, text, sizeof(text) - 1) || strncmp(text, "2.", 2) != 0)
		return 0;
	return (unsigned)strtoul(text + 2, NULL, 10);
}

/* __errno_location() begins with mov OFFSET, %rax, from the table of offsets. */
static bool find_errno(struct glibc_heap *h, struct target *t, const struct target_object *libc)
{
	const uint64_t at = operand(t, target_object_symbol(libc, "__errno_location", STT_FUNC), 0x8b);

	return at && target_read(t, at, &h->errno_offset, sizeof(h->errno_offset));
}

/* ---- variables that have a shape ---- */

/* The writable part of libc. */
static bool find_data(struct glibc_heap *h, const struct target *t, const struct target_object *libc)
{
	for (uint32_t i = 0; i < t->n_mappings; i++) {
		const struct mapping *m = &t->mappings[i];

		if (!m->writable || m->start < libc->start || m->start >= libc->end)
			continue;
		if (!h->data)
			h->data = m->start;
		h->data_end = m->end < libc->end ? m->end : libc->end & ~UINT64_C(7);
	}
	return h->data && h->data_end > h->data && h->data_end - h->data <= DATA_MOST;
}

static bool is_aligned(uint64_t address)
{
	return address % GLIBC_ALIGNMENT == 0;
}

/* An empty bin links to itself; its address is that of a chunk whose links are the bin's two. */
static bool is_arena(const struct glibc_heap *h, const struct glibc_arena *a, uint64_t address)
{
	const uint64_t bins =
		address + offsetof(struct glibc_arena, bins) - (FAST_END - FAST_AT) + fast_bytes(h);
	unsigned empty = 0;

	for (unsigned i = 0; i < GLIBC_BINS; i++) {
		const uint64_t bin = bins + i * UINT64_C(16) - 16, first = a->bins[2 * i],
			       last = a->bins[2 * i + 1];

		if (first == bin && last == bin) {
			empty++;
			continue;
		}
		if (first == bin || last == bin || !first || !is_aligned(first) || !last || !is_aligned(last))
			return false;
	}
	return empty >= EMPTY_BINS_LEAST && a->next && a->system_mem <= a->max_system_mem &&
	       (a->top == bins - 16) == !a->system_mem;
}

static bool find_main_arena(struct glibc_heap *h, const uint8_t *data, size_t n)
{
	struct glibc_arena a;

	for (size_t at = 0; at + arena_bytes(h) <= n; at += 8) {
		parse_arena(h, data + at, &a);
		if (!is_arena(h, &a, h->data + at))
			continue;
		h->main_arena = h->data + at;
		return true;
	}
	return false;
}

/* glibc 2.43's arenas have no fastbins. Whether 2.42's have was not seen, so their shape says it. */
static bool find_arena_of_any_shape(struct glibc_heap *h, const uint8_t *data, size_t n)
{
	h->no_fastbins = h->version >= 42;
	if (find_main_arena(h, data, n))
		return true;
	h->no_fastbins = false;
	return h->version == 42 && find_main_arena(h, data, n);
}

/* malloc_par, as far as it is read: from n_mmaps on. */
struct parameters {
	int32_t counts[3]; /* n_mmaps, n_mmaps_max, max_n_mmaps */
	uint64_t mapped, max_mapped, sbrk_base, tcache_bins, tcache_max_bytes, tcache_count;
};

static size_t counts_before(const struct glibc_heap *h)
{
	return h->version >= 35 ? 36 : 32;
}

/* glibc 2.43 adds 16 bytes too many when a mapping grows, and never takes them back. */
static bool counts_fit(const struct glibc_heap *h, int32_t blocks, uint64_t bytes)
{
	return blocks ? bytes != 0 : bytes == 0 || h->version >= 43;
}

/* Those whose sbrk_base is at `base`, behind at least 40 readable bytes. */
static bool parse_parameters(const struct glibc_heap *h, const uint8_t *base, struct parameters *p)
{
	memcpy(p->counts, base - counts_before(h), sizeof(p->counts));
	memcpy(&p->mapped, base - 16, 48);
	return p->sbrk_base && p->counts[0] >= 0 && p->counts[0] <= p->counts[2] && p->counts[1] >= 0 &&
	       counts_fit(h, p->counts[0], p->mapped) && p->mapped <= p->max_mapped &&
	       p->tcache_bins <= GLIBC_TCACHE_SMALL && p->tcache_max_bytes <= TCACHE_BYTES_MOST &&
	       p->tcache_count <= UINT16_MAX;
}

#define PARAMETERS_BEFORE 40u
#define PARAMETERS_BEHIND 32u

/* Where they are not found, a cache may have as many blocks as it can count. */
static bool find_parameters(struct glibc_heap *h, const struct target *t, const uint8_t *data, size_t n)
{
	struct parameters p;

	h->cache_blocks = UINT16_MAX;
	for (size_t at = PARAMETERS_BEFORE; at + PARAMETERS_BEHIND <= n; at += 8) {
		const struct mapping *m;

		if (!parse_parameters(h, data + at, &p) || p.sbrk_base % 8)
			continue;
		m = target_mapping(t, p.sbrk_base);
		if (!m || strcmp(m->path, "[heap]") != 0)
			continue;
		h->parameters = h->data + at;
		h->cache_blocks = p.tcache_count;
		return true;
	}
	return false;
}

bool glibc_heap_parameters(const struct glibc_heap *h, struct target *t, uint64_t *sbrk_base,
			   struct glibc_mapped *mapped)
{
	uint8_t bytes[PARAMETERS_BEFORE + PARAMETERS_BEHIND];
	struct parameters p;

	if (!h->parameters || !target_read(t, h->parameters - PARAMETERS_BEFORE, bytes, sizeof(bytes)) ||
	    !parse_parameters(h, bytes + PARAMETERS_BEFORE, &p))
		return false;
	*sbrk_base = p.sbrk_base;
	*mapped = (struct glibc_mapped){ (uint64_t)p.counts[0], p.mapped };
	return true;
}

/* ---- the whole ---- */

const char *glibc_heap_find(struct glibc_heap *h, struct target *t, const struct target_object *libc)
{
	const char *problem = NULL;
	uint8_t *data = NULL;
	size_t n;

	*h = (struct glibc_heap){ .version = find_version(t, libc) };
	if (h->version < VERSION_LEAST || h->version > VERSION_MOST)
		return "its C library is of a version whose heap msrec does not know";
	if (!find_errno(h, t, libc) || !find_data(h, t, libc))
		return "its C library is built in a way that msrec does not know";
	n = h->data_end - h->data;
	data = malloc(n);
	if (!data)
		return "memory is short";
	if (!target_read(t, h->data, data, n) || !find_arena_of_any_shape(h, data, n))
		problem = "malloc's state was not found";
	else
		find_parameters(h, t, data, n);
	free(data);
	return problem;
}

uint64_t glibc_heap_first_chunk(const struct glibc_heap *h, uint64_t heap_info, bool own)
{
	const uint64_t at = heap_info + (h->version >= 35 ? 48 : 32) + (own ? arena_bytes(h) : 0);

	return (at + GLIBC_ALIGNMENT - 1) & ~(uint64_t)(GLIBC_ALIGNMENT - 1);
}
