/* SPDX-License-Identifier: MIT */
/*
 * A recorded process goes on in another file: what was said in the trace before is said once more, as far as it is
 * still needed. Stacks and kinds are defined when they are used again, so that a file has only those that
 * it needs, however many there were before.
 */
#include <stdlib.h>
#include <string.h>

#include "tracee_state.h"

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

struct succession {
	struct tracee *tracee;
	struct mst_writer *old, *new;
	struct mst_remap *remap;
	uint32_t *kinds;          /* new ones by old ones; MST_NONE: not yet */
	struct page_state *pages; /* for the new file's numbers; NULL: nobody follows them */
	struct block_ref *refs, *room;
	uint64_t n_refs;
};

/* ---- blocks kind by kind, as they came ---- */

static void sort_by(struct succession *s, uint64_t least, unsigned shift)
{
	uint64_t starts[DIGITS + 1] = { 0 };
	struct block_ref *const sorted = s->room;

	for (uint64_t i = 0; i < s->n_refs; i++)
		starts[((s->refs[i].key - least) >> shift & (DIGITS - 1)) + 1]++;
	for (uint32_t d = 1; d < DIGITS; d++)
		starts[d] += starts[d - 1];
	for (uint64_t i = 0; i < s->n_refs; i++)
		sorted[starts[(s->refs[i].key - least) >> shift & (DIGITS - 1)]++] = s->refs[i];
	s->room = s->refs;
	s->refs = sorted;
}

/* Digit by digit: there may be millions, and the program waits. */
static void sort_refs(struct succession *s)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint64_t i = 0; i < s->n_refs; i++) {
		const uint64_t key = s->refs[i].key;

		least = key < least ? key : least;
		most = key > most ? key : most;
	}
	for (unsigned shift = 0; s->n_refs && shift < 64 && (most - least) >> shift; shift += DIGIT_BITS)
		sort_by(s, least, shift);
}

/* Blocks that reallocs have been given, which have not returned. Their number. */
static uint64_t list_moving(struct tracee *t, struct block_ref *refs)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n_consumers; i++) {
		if (t->consumers[i].moving_address)
			refs[n++] = block_at(&t->consumers[i].moving);
	}
	return n;
}

static int find_refs(struct succession *s)
{
	const uint64_t own = blocks_count(&s->tracee->blocks), custom = customs_count(&s->tracee->customs);

	s->n_refs = own + custom + s->tracee->n_consumers;
	s->refs = malloc((s->n_refs + 1) * sizeof(*s->refs));
	s->room = malloc((s->n_refs + 1) * sizeof(*s->room));
	if (!s->refs || !s->room)
		return MST_ERR_NOMEM;
	blocks_list(&s->tracee->blocks, s->refs);
	customs_list(&s->tracee->customs, s->refs + own);
	s->n_refs = own + custom + list_moving(s->tracee, s->refs + own + custom);
	sort_refs(s);
	return 0;
}

/* ---- the base ---- */

static int kind_of(struct succession *s, uint32_t old, uint32_t *id)
{
	struct mst_kind kind = *mst_writer_kind_at(s->old, old);
	int err = 0;

	if (s->kinds[old] == MST_NONE) {
		err = mst_remap_stack(s->remap, kind.stack, &kind.stack);
		if (!err)
			err = mst_writer_kind(s->new, &kind, &s->kinds[old]);
	}
	*id = s->kinds[old];
	return err;
}

static int write_blocks(struct succession *s)
{
	int err = 0;

	for (uint64_t i = 0; i < s->n_refs && !err; i++) {
		struct block block = block_get(&s->refs[i]);

		err = kind_of(s, block.kind, &block.kind);
		if (!err)
			err = mst_writer_alloc(s->new, block.kind, &block.ordinal);
		if (!err)
			block_set(&s->refs[i], block);
	}
	return err;
}

static int write_marks(struct succession *s, uint64_t time, uint32_t nobody)
{
	struct tracee *t = s->tracee;
	int err = 0;

	for (uint32_t i = 0; i < t->n_consumers && !err; i++) {
		const struct consumer *consumer = &t->consumers[i];

		if (!consumer->ring || !consumer->stack_depth)
			continue;
		mst_writer_at(s->new, time, consumer->thread);
		err = mst_writer_marker(s->new, MST_OP_STACK, 0, consumer->stack_depth);
	}
	mst_writer_at(s->new, time, nobody);
	if (!err && t->mapped)
		err = mst_writer_marker(s->new, MST_OP_MMAP_ANON, 0, t->mapped);
	if (!err && t->exited)
		err = mst_writer_marker(s->new, MST_OP_EXIT, 0, 0);
	if (!err && t->pages)
		err = page_state_write(t->pages, s->remap, s->new, s->pages);
	return err;
}

/* ---- ids that are kept ---- */

/* All modules, in their order: then they have the numbers that they had. */
static int define_modules(struct succession *s)
{
	uint32_t n, id;
	const struct mst_module *modules = mst_writer_modules(s->old, &n);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = mst_writer_module(s->new, &modules[i], &id);
	return err;
}

static int renew_consumer(struct succession *s, uint32_t slot)
{
	struct consumer *consumer = &s->tracee->consumers[slot];
	int err = tracee_find_thread(s->tracee, s->new, slot, &consumer->thread);

	for (uint32_t i = 0; i < consumer->n_nodes && !err; i++) {
		struct consumer_node *node = &consumer->nodes[i];

		node->stack = MST_NONE;
		if (node->depth && node->frame != MST_NONE)
			err = mst_remap_frame(s->remap, node->frame, &node->frame);
	}
	return err;
}

static int renew_consumers(struct succession *s)
{
	struct tracee *t = s->tracee;
	int err = 0;

	for (uint32_t i = 0; i < t->n_consumers && !err; i++) {
		if (t->consumers[i].ring && t->consumers[i].use)
			err = renew_consumer(s, i);
	}
	return err;
}

/* ---- the whole ---- */

static int begin(struct succession *s, struct tracee *t, struct mst_writer *new)
{
	const uint32_t n = mst_writer_kinds(t->writer);

	*s = (struct succession){ .tracee = t, .old = t->writer, .new = new };
	s->kinds = malloc(n * sizeof(*s->kinds));
	if (!s->kinds)
		return MST_ERR_NOMEM;
	memset(s->kinds, 0xff, n * sizeof(*s->kinds));
	s->kinds[MST_UNKNOWN_KIND] = MST_UNKNOWN_KIND;
	if (t->pages && !(s->pages = page_state_create()))
		return MST_ERR_NOMEM;
	return mst_remap_between(&s->remap, s->old, new);
}

static void finish(struct succession *s)
{
	mst_remap_destroy(s->remap);
	page_state_destroy(s->pages);
	free(s->kinds);
	free(s->refs);
	free(s->room);
}

static void swap_pages(struct succession *s)
{
	struct page_state *old = s->tracee->pages;

	s->tracee->pages = s->pages;
	s->pages = old;
}

/* What is remembered of the old file's numbers. */
static void forget(struct tracee *t)
{
	frames_forget(&t->frames);
	memset(t->kinds, 0, (1u << KIND_CACHE_BITS) * sizeof(*t->kinds));
	t->at_thread = MST_NONE;
}

int tracee_roll_over(struct tracee *t, struct mst_writer *new)
{
	const uint64_t time = mst_writer_time(t->writer);
	struct succession s;
	uint32_t nobody;
	int err = begin(&s, t, new);

	if (!err)
		err = mst_writer_thread(new, &(struct mst_thread){ 0 }, &nobody);
	if (!err) {
		mst_writer_at(new, time, nobody);
		mst_writer_instructions(new, mst_writer_instruction_count(t->writer));
	}
	if (!err && !(err = define_modules(&s)) && !(err = find_refs(&s)) && !(err = write_blocks(&s)) &&
	    !(err = renew_consumers(&s)) && !(err = write_marks(&s, time, nobody)))
		err = mst_writer_end_initial_state(new);
	if (!err)
		swap_pages(&s);
	finish(&s);
	if (err)
		return err;
	forget(t);
	t->unknown_frees = t->implied_frees = 0;
	t->lost -= tracee_lost(t);
	t->null_frees_before = t->null_frees;
	t->writer = new;
	return 0;
}

void tracee_note_mapping(struct tracee *t, const struct consumer_event *e)
{
	const bool maps = e->op >= MST_OP_MMAP_READ && e->op <= MST_OP_MMAP_ANON;
	const bool remaps = e->op == MST_OP_MREMAP_MOVED || e->op == MST_OP_MREMAP_IN_PLACE;
	const uint64_t plus = maps || remaps ? e->size : 0;
	const uint64_t minus = remaps ? e->address : e->op == MST_OP_MUNMAP ? e->size : 0;

	if (!(e->flags & SHM_FAILED))
		t->mapped = t->mapped + plus > minus ? t->mapped + plus - minus : 0;
}
