/* SPDX-License-Identifier: MIT */
/*
 * A recorded process goes on in another file: the file's initial state has what is still needed of the files before. Stacks
 * and kinds are defined when they are used again; so a file has only those that it needs, however many there were before.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracee_state.h"

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

struct rollover {
	struct tracee *tracee;
	struct mst_writer *old, *next;
	struct mst_remap *remap;
	uint32_t *kinds;          /* new ids by old ones; MST_NONE: not defined yet */
	struct page_state *pages; /* with the new file's ids; NULL: not followed */
	struct block_ref *refs, *spare;
	uint64_t n_refs;
};

/* ---- blocks kind by kind, as they came ---- */

static void sort_by(struct rollover *r, uint64_t least, unsigned shift)
{
	uint64_t starts[DIGITS + 1] = { 0 };
	struct block_ref *const sorted = r->spare;

	for (uint64_t i = 0; i < r->n_refs; i++)
		starts[((r->refs[i].key - least) >> shift & (DIGITS - 1)) + 1]++;
	for (uint32_t d = 1; d < DIGITS; d++)
		starts[d] += starts[d - 1];
	for (uint64_t i = 0; i < r->n_refs; i++)
		sorted[starts[(r->refs[i].key - least) >> shift & (DIGITS - 1)]++] = r->refs[i];
	r->spare = r->refs;
	r->refs = sorted;
}

/* By digits, in linear time: there may be millions, and the program waits. */
static void sort_refs(struct rollover *r)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint64_t i = 0; i < r->n_refs; i++) {
		const uint64_t key = r->refs[i].key;

		least = key < least ? key : least;
		most = key > most ? key : most;
	}
	for (unsigned shift = 0; r->n_refs && shift < 64 && (most - least) >> shift; shift += DIGIT_BITS)
		sort_by(r, least, shift);
}

/* The blocks that reallocs have been given and that have not returned. Returns their number. */
static uint64_t list_moving(struct tracee *t, struct block_ref *refs)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n_consumers; i++) {
		if (t->consumers[i].moving.address)
			refs[n++] = block_at(&t->consumers[i].moving.block);
	}
	return n;
}

static int find_refs(struct rollover *r)
{
	const uint64_t own = blocks_count(&r->tracee->blocks), custom = customs_count(&r->tracee->customs);

	r->n_refs = own + custom + r->tracee->n_consumers;
	r->refs = malloc((r->n_refs + 1) * sizeof(*r->refs));
	r->spare = malloc((r->n_refs + 1) * sizeof(*r->spare));
	if (!r->refs || !r->spare)
		return MST_ERR_NOMEM;
	blocks_list(&r->tracee->blocks, r->refs);
	customs_list(&r->tracee->customs, r->refs + own);
	r->n_refs = own + custom + list_moving(r->tracee, r->refs + own + custom);
	sort_refs(r);
	assert(r->n_refs <= own + custom + r->tracee->n_consumers);
	return 0;
}

/* ---- the initial state ---- */

static int kind_of(struct rollover *r, uint32_t old, uint32_t *id)
{
	struct mst_kind kind = *mst_writer_kind_at(r->old, old);
	int err = 0;

	if (r->kinds[old] == MST_NONE) {
		err = mst_remap_stack(r->remap, kind.stack, &kind.stack);
		if (!err)
			err = mst_writer_kind(r->next, &kind, &r->kinds[old]);
	}
	*id = r->kinds[old];
	return err;
}

static int write_blocks(struct rollover *r)
{
	int err = 0;

	for (uint64_t i = 0; i < r->n_refs && !err; i++) {
		struct block block = block_get(&r->refs[i]);

		err = kind_of(r, block.kind, &block.kind);
		if (!err)
			err = mst_writer_alloc(r->next, block.kind, &block.ordinal);
		if (!err)
			block_set(&r->refs[i], block);
	}
	return err;
}

static int write_markers(struct rollover *r, uint64_t time, uint32_t no_thread)
{
	struct tracee *t = r->tracee;
	int err = 0;

	for (uint32_t i = 0; i < t->n_consumers && !err; i++) {
		const struct consumer *consumer = &t->consumers[i];

		if (!consumer->ring || !consumer->thread.stack_depth)
			continue;
		mst_writer_at(r->next, time, consumer->thread.id);
		err = mst_writer_marker(r->next, MST_OP_STACK, 0, consumer->thread.stack_depth);
	}
	mst_writer_at(r->next, time, no_thread);
	if (!err && t->mapped)
		err = mst_writer_marker(r->next, MST_OP_MMAP_ANON, 0, t->mapped);
	if (!err && t->exited)
		err = mst_writer_marker(r->next, MST_OP_EXIT, 0, 0);
	if (!err && t->was_off)
		err = mst_writer_marker(r->next, MST_OP_OFF, 0, t->switched_off ? 0 : MST_OFF_LATE);
	if (!err && t->was_off && !t->off)
		err = mst_writer_marker(r->next, MST_OP_ON, 0, 0);
	if (!err && t->pages)
		err = page_state_write(t->pages, r->remap, r->next, r->pages);
	return err;
}

/* ---- ids that are kept ---- */

/* All modules in their order, so that they keep their ids. */
static int define_modules(struct rollover *r)
{
	uint32_t n, id;
	const struct mst_module *modules = mst_writer_modules(r->old, &n);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = mst_writer_module(r->next, &modules[i], &id);
	return err;
}

static int renew_consumer(struct rollover *r, uint32_t ring_id)
{
	struct consumer *consumer = &r->tracee->consumers[ring_id];
	int err = tracee_find_thread(r->tracee, r->next, ring_id, &consumer->thread.id);

	if (!err && *consumer->thread.name && !consumer->ring->within)
		err = mst_writer_thread_name(r->next, consumer->thread.id, mst_writer_time(r->old),
					     consumer->thread.name);
	for (uint32_t i = 0; i < consumer->n_nodes && !err; i++) {
		struct consumer_node *node = &consumer->nodes[i];

		consumer_set_stack(node, MST_NONE);
		if (node->depth && node->frame != MST_NONE)
			err = mst_remap_frame(r->remap, node->frame, &node->frame);
	}
	return err;
}

static int renew_consumers(struct rollover *r)
{
	struct tracee *t = r->tracee;
	int err = 0;

	for (uint32_t i = 0; i < t->n_consumers && !err; i++) {
		if (t->consumers[i].ring && t->consumers[i].thread.use)
			err = renew_consumer(r, i);
	}
	return err;
}

/* ---- the whole ---- */

static int begin(struct rollover *r, struct tracee *t, struct mst_writer *next)
{
	const uint32_t n = mst_writer_kinds(t->writer);

	*r = (struct rollover){ .tracee = t, .old = t->writer, .next = next };
	r->kinds = malloc(n * sizeof(*r->kinds));
	if (!r->kinds)
		return MST_ERR_NOMEM;
	memset(r->kinds, 0xff, n * sizeof(*r->kinds));
	r->kinds[MST_UNKNOWN_KIND] = MST_UNKNOWN_KIND;
	if (t->pages && !(r->pages = page_state_create()))
		return MST_ERR_NOMEM;
	return mst_remap_between(&r->remap, r->old, next);
}

static void finish(struct rollover *r)
{
	mst_remap_destroy(r->remap);
	page_state_destroy(r->pages);
	free(r->kinds);
	free(r->refs);
	free(r->spare);
}

static void swap_pages(struct rollover *r)
{
	struct page_state *old = r->tracee->pages;

	r->tracee->pages = r->pages;
	r->pages = old;
}

/* Forgets the old file's ids. */
static void forget(struct tracee *t)
{
	frames_forget(&t->frames);
	memset(t->kinds.entries, 0, ((size_t)1 << t->kinds.bits) * sizeof(*t->kinds.entries));
	t->at_thread = MST_NONE;
}

int tracee_roll_over(struct tracee *t, struct mst_writer *next)
{
	const uint64_t time = mst_writer_time(t->writer);
	struct rollover r;
	uint32_t no_thread;
	struct generated generated = { .pid = 0 };
	int err = begin(&r, t, next);

	if (!err)
		err = mst_writer_thread(next, &(struct mst_thread){ 0 }, &no_thread);
	if (!err) {
		mst_writer_at(next, time, no_thread);
		mst_writer_instructions(next, mst_writer_instruction_count(t->writer));
	}
	if (!err && !(err = define_modules(&r)) && !(err = find_refs(&r)) && !(err = write_blocks(&r)) &&
	    !(err = renew_consumers(&r)) && !(err = generated_move(&generated, &t->generated, r.remap)) &&
	    !(err = write_markers(&r, time, no_thread)))
		err = mst_writer_end_initial_state(next);
	if (!err)
		swap_pages(&r);
	finish(&r);
	if (err) {
		generated_finish(&generated);
		return err;
	}
	generated_finish(&t->former);
	t->former = t->generated;
	t->generated = generated;
	forget(t);
	assert(t->counts.null_frees >= t->counts.null_frees_before);
	t->counts = (struct tracee_counts){
		.null_frees = t->counts.null_frees,
		.null_frees_before = t->counts.null_frees,
		.ringless = t->counts.ringless,
		.ringless_before = t->counts.ringless,
	};
	t->writer = next;
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
