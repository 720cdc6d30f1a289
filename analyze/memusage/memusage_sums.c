/* SPDX-License-Identifier: MIT */
/*
 * Chunks that are counted token by token, without their records. The tallies of all kinds enter the report at the end
 * of the trace.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "memusage_state.h"

/* Larger blocks might wrap the sums. */
#define SANE_BYTES ((uint64_t)1 << 44)

/* Properties of a kind that decide whether sums suffice for a chunk that uses it. */
enum trait {
	TRAIT_COUNTS = 1,   /* its calls have a row */
	TRAIT_PLAIN = 2,    /* ... and memusage's size of its blocks is that of the sums */
	TRAIT_UNLIKE = 4,   /* its blocks change the live bytes by other amounts than the sums hold */
	TRAIT_INSANE = 8,   /* above SANE_BYTES */
	TRAIT_RESIZES = 16, /* the second record of a realloc */
	TRAIT_FREES = 32,   /* the second record of a free */
	TRAIT_REALLOC = 64, /* a realloc that memusage sees */
	TRAIT_MARKED = 128, /* each call has an effect of its own, beyond its count */
};

static uint8_t traits_of(const struct memusage *m, const struct mst_kind *kind)
{
	const bool realloc = kind->op == MST_OP_REALLOC_MOVED || kind->op == MST_OP_REALLOC_IN_PLACE;
	const bool counts = memusage_row_of(kind) != ROW_NONE;
	unsigned traits = realloc ? TRAIT_REALLOC | TRAIT_RESIZES : 0;
	if (counts)
		traits |= memusage_size_of(kind) == kind->size ? TRAIT_COUNTS | TRAIT_PLAIN : TRAIT_COUNTS;
	if (kind->op != MST_OP_UNKNOWN && !(traits & TRAIT_PLAIN))
		traits |= TRAIT_UNLIKE;
	if (kind->size > SANE_BYTES)
		traits |= TRAIT_INSANE;
	if (kind->op == MST_OP_RESIZEINPLACE)
		traits |= TRAIT_RESIZES;
	if (kind->op == MST_OP_REALLOC_FREE || mst_op_is_free(kind->op))
		traits |= TRAIT_FREES;
	if (kind->op == MST_OP_EXIT || kind->op == MST_OP_IMPLIED_FREE ||
	    (memusage_is_map(kind) && m->maps != MEMUSAGE_NO_MAPS))
		traits |= TRAIT_MARKED;
	return (uint8_t)traits;
}

/* Fills the traits of new kinds. False: no memory. */
static bool know_kinds(struct memusage *m, const struct mst_kind *kinds, uint32_t n)
{
	struct memusage_sums *s = &m->sums;
	if (n && (!array_reserve(&s->traits, n - 1, &s->room_traits, sizeof(*s->traits)) ||
		  !array_reserve(&s->kinds, n - 1, &s->room_kinds, sizeof(*s->kinds))))
		return false;
	/* Room behind the kinds stays untouched: there may be millions of them. */
	if (n > s->n_kinds)
		memset(s->kinds + s->n_kinds, 0, (n - s->n_kinds) * sizeof(*s->kinds));
	for (; s->n_kinds < n; s->n_kinds++)
		s->traits[s->n_kinds] = traits_of(m, &kinds[s->n_kinds]);
	return true;
}

static void tally_call(struct chunk_tally *t, const struct mst_token *token, unsigned traits)
{
	if (token->role == MST_KEEP) {
		t->kept += token->count;
		t->odd |= !(traits & TRAIT_PLAIN);
	} else if (traits & TRAIT_FREES) {
		t->freed += token->count;
	} else if (traits & TRAIT_REALLOC) {
		t->refused += token->count;
		t->odd |= !(traits & TRAIT_COUNTS);
	} else {
		t->marked |= (traits & TRAIT_MARKED) != 0;
	}
}

/* Branch-free for blocks: the roles of successive tokens are unpredictable. */
static struct chunk_tally tally_up(const struct memusage *m, const struct mst_chunk *chunk)
{
	struct chunk_tally t = { .net = (uint64_t)chunk->sums.net_bytes };
	unsigned all = 0, handed = 0, strange = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const unsigned traits = m->sums.traits[token->kind];
		if (__builtin_expect(token->role > MST_OUT, 0)) {
			tally_call(&t, token, traits);
			continue;
		}
		const bool out = token->role == MST_OUT;
		const bool resized = token->role == MST_ALLOC && traits & TRAIT_RESIZES;
		all |= traits;
		handed |= out ? traits : 0;
		strange |= resized ? ~traits : 0;
		t.out += out ? token->count : 0;
		t.resized += resized ? token->count : 0;
	}
	t.marked |= (all & TRAIT_INSANE) != 0;
	t.partial = all & TRAIT_UNLIKE;
	t.odd |= handed & TRAIT_UNLIKE || strange & TRAIT_COUNTS;
	return t;
}

/* Corrects the sums of a partial chunk by the blocks with TRAIT_UNLIKE. */
static void weigh(struct memusage *m, const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const unsigned traits = m->sums.traits[token->kind];
		if (!(traits & TRAIT_UNLIKE) || token->role > MST_OUT)
			continue;
		const struct mst_kind *kind = &kinds[token->kind];
		const uint64_t bytes = traits & TRAIT_COUNTS ? memusage_size_of(kind) : 0;
		/* The amount by which the sums' change is too low; negative values wrap. */
		const uint64_t lacks = token->role == MST_ALLOC ? bytes - kind->size : kind->size - bytes;
		m->sums.chunk.net += token->count * lacks;
		m->sums.chunk.above += (int64_t)lacks > 0 ? token->count * lacks : 0;
	}
}

/*
 * The sums suffice if all pairs are reallocs, or all are frees; if all blocks that reallocs grow count; and if the
 * largest of the live bytes is known: all blocks count, or the chunk cannot exceed the peak so far.
 */
bool memusage_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			   const struct mst_chunk *chunk)
{
	struct memusage *m = (struct memusage *)observer;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	if (m->ended)
		return true;
	if (m->data || chunk->initial || mst_reader_info(reader)->sample_bytes || m->heap > INT64_MAX / 2 ||
	    !know_kinds(m, kinds, n_kinds))
		return false;
	const struct chunk_tally *t = &m->sums.chunk;
	m->sums.chunk = tally_up(m, chunk);
	if (t->marked || t->out != t->resized + t->freed || t->kept != t->refused ||
	    (t->resized && t->freed) || (t->odd && (t->out || t->kept)))
		return false;
	if (chunk->sums.max_bytes < 0)
		return false;
	if (t->partial)
		weigh(m, chunk, kinds);
	return !t->partial || m->heap + (uint64_t)chunk->sums.max_bytes + t->above <= m->report.heap_peak;
}

/* Counts `n` calls that failed or freed. */
static void count_calls(struct memusage *m, const struct mst_kind *kind, uint64_t n)
{
	const bool resized = kind->op == MST_OP_REALLOC_MOVED || kind->op == MST_OP_REALLOC_IN_PLACE;
	const enum memusage_row row = memusage_row_of(kind);
	if (kind->op == MST_OP_STACK && n && kind->size > m->report.stack_peak)
		m->report.stack_peak = kind->size;
	if (mst_op_is_free(kind->op))
		m->report.rows[ROW_FREE].calls += n * WEIGHT_ONE;
	if (kind->op == MST_OP_REALLOC_FREE) {
		m->report.rows[ROW_REALLOC].calls += n * WEIGHT_ONE;
		m->report.realloc_frees += n * WEIGHT_ONE;
	}
	if (row == ROW_NONE)
		return;
	memusage_count_request(&m->report, row, memusage_size_of(kind),
			       resized ? 0 : n * memusage_size_of(kind), n * WEIGHT_ONE);
	m->report.rows[row].failed += n;
}

static void note_tokens(struct memusage *m, const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	const uint32_t counts[] = { [MST_ALLOC] = 1, [MST_FREE] = 1, [MST_OUT] = m->sums.chunk.resized == 0 };
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		assert(token->kind < m->sums.n_kinds);
		if (token->role == MST_CALL)
			count_calls(m, &kinds[token->kind], token->count);
		else if (token->role <= MST_OUT)
			m->sums.kinds[token->kind].records[token->role] += counts[token->role] * token->count;
	}
}

int memusage_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct memusage *m = (struct memusage *)observer;
	const struct chunk_tally *t = &m->sums.chunk;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	if (m->ended)
		return 0;
	if (!t->partial && m->heap + (uint64_t)chunk->sums.max_bytes > m->report.heap_peak)
		m->report.heap_peak = m->heap + (uint64_t)chunk->sums.max_bytes;
	m->heap += t->net;
	note_tokens(m, chunk, kinds);
	m->report.rows[ROW_REALLOC].total += t->resized || t->refused ? chunk->sums.grown : 0;
	m->report.heap_total += t->resized || t->refused ? chunk->sums.grown : 0;
	m->report.decreasing += t->resized ? chunk->sums.shrunk * WEIGHT_ONE : 0;
	m->report.null_frees += chunk->sums.null_frees;
	return 0;
}

/* Counts `n` blocks of allocations or reallocs; the growth by reallocs is known as one sum. */
static void count_allocs(struct memusage *m, const struct mst_kind *kind, uint64_t n)
{
	const bool resized = kind->op == MST_OP_REALLOC_MOVED || kind->op == MST_OP_REALLOC_IN_PLACE;
	/* A realloc counts with its requested size; only operator new has a different one. */
	memusage_count_request(&m->report, memusage_row_of(kind), memusage_size_of(kind),
			       resized ? 0 : n * memusage_size_of(kind), n * WEIGHT_ONE);
	if (kind->op == MST_OP_REALLOC_IN_PLACE)
		m->report.in_place += n * WEIGHT_ONE;
}

void memusage_sums_end(struct memusage *m, const struct mst_reader *reader)
{
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	assert(m->sums.n_kinds <= n_kinds);
	for (uint32_t i = 0; i < m->sums.n_kinds; i++) {
		const uint64_t *records = m->sums.kinds[i].records;
		if (!(m->sums.traits[i] & TRAIT_COUNTS))
			continue;
		count_allocs(m, &kinds[i], records[MST_ALLOC]);
		m->report.rows[ROW_FREE].calls += records[MST_FREE] * WEIGHT_ONE;
		m->report.rows[ROW_FREE].total +=
			(records[MST_FREE] + records[MST_OUT]) * memusage_size_of(&kinds[i]);
	}
}

void memusage_sums_finish(struct memusage_sums *sums)
{
	free(sums->kinds);
	free(sums->traits);
}
