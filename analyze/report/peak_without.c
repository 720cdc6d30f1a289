/* SPDX-License-Identifier: MIT */
#include "peak_without.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

/* What a token of the present chunk is about. */
struct subject {
	uint64_t change; /* bytes of a record, negative ones modulo 2^64 */
	uint32_t group;  /* n_groups: of none */
	uint32_t rank;   /* place of the group among the removed ones; n_removed: not among them */
	uint32_t early;  /* place of the group among the early ones; EARLY_MOST: not among them */
	uint8_t role;    /* enum mst_role */
};

/* The program without the first groups. */
struct left {
	uint64_t live, peak;
	bool grows; /* the peak can grow in the present chunk */
};

/* The program with the blocks of one group freed early. */
struct early {
	uint64_t peak;
	uint64_t missing; /* bytes that are freed early, and later in the trace */
	uint64_t *growth; /* by group: live at the peak, less what was live at `last` */
};

struct peak_without {
	struct observer observer;
	const struct peak_without_query *query;
	struct left left[WITHOUT_MOST + 1];
	struct early early[EARLY_MOST];
	uint32_t *rank_of, *early_of; /* by group, n_groups for none */
	uint64_t *live;               /* by group, likewise */
	uint32_t next_free;           /* of query->early_frees */

	struct subject *subjects; /* by token of the present chunk */
	uint32_t room_subjects;
	bool prepared; /* there was memory for these */
};

/* ---- The present chunk ---- */

static uint64_t total(const struct peak_without *w)
{
	return w->left[0].live;
}

static bool is_above(uint64_t a, uint64_t b)
{
	return (int64_t)a > (int64_t)b;
}

static struct subject subject_of(const struct peak_without *w, const struct mst_kind *kind, uint32_t role)
{
	const struct peak_without_query *q = w->query;
	const uint32_t group = kind->stack < q->n_stacks ? q->group_of[kind->stack] : MST_NONE;
	struct subject s = { .group = group < q->n_groups ? group : q->n_groups, .role = (uint8_t)role };
	s.rank = w->rank_of[s.group];
	s.early = w->early_of[s.group];
	if (role <= MST_OUT && kind->op != MST_OP_UNKNOWN)
		s.change = role == MST_ALLOC ? kind->size : -kind->size;
	return s;
}

/*
 * Finds which peaks can grow. What is left has at most what it has now and all that comes to it, and at most what the
 * program has less what is removed, of which no more goes than the chunk frees. The whole program's peak is in the sums.
 */
static void bound(struct peak_without *w, const struct mst_chunk *chunk)
{
	uint64_t comes[WITHOUT_MOST + 1] = { 0 }, goes[WITHOUT_MOST + 1] = { 0 }, gain = 0, loss = 0;
	const uint32_t n = w->query->n_removed;
	const uint64_t most = total(w) + (uint64_t)chunk->sums.max_bytes;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct subject *s = &w->subjects[i];
		if (s->role == MST_ALLOC)
			comes[s->rank] += chunk->tokens[i].count * s->change;
		else
			goes[s->rank] -= chunk->tokens[i].count * s->change;
	}
	w->left[0].peak = is_above(most, w->left[0].peak) ? most : w->left[0].peak;
	for (uint32_t k = 0; k < n; k++)
		loss += goes[k];
	for (uint32_t k = n; k > 0; k--) {
		struct left *left = &w->left[k];
		const uint64_t removed = total(w) - left->live;
		const uint64_t kept = is_above(removed, loss) ? removed - loss : 0;
		gain += comes[k];
		left->grows = is_above(left->live + gain, left->peak) && is_above(most - kept, left->peak);
		loss -= goes[k - 1];
	}
}

/* False: no memory. */
static bool prepare(struct peak_without *w, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	if (chunk->n_tokens &&
	    !array_reserve(&w->subjects, chunk->n_tokens - 1, &w->room_subjects, sizeof(*w->subjects)))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		w->subjects[i] = subject_of(w, &kinds[chunk->tokens[i].kind], chunk->tokens[i].role);
	bound(w, chunk);
	return true;
}

/* The blocks [from, to) come in the chunk. */
struct span {
	uint64_t from, to;
};

static struct span blocks_of(const struct peak_without *w, const struct mst_chunk *chunk)
{
	struct span span = { chunk->first_alloc, chunk->first_alloc };
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		span.to += w->subjects[i].role == MST_ALLOC ? chunk->tokens[i].count : 0;
	return span;
}

/* Whether the records decide about early frees: those from the peak until soon after it, and where a youngest block comes. */
static bool early_needs_records(const struct peak_without *w, const struct mst_chunk *chunk)
{
	const struct peak_without_query *q = w->query;
	const struct span span = blocks_of(w, chunk);
	if (q->n_early && span.to > q->peak && span.from <= q->until + 1)
		return true;
	for (uint32_t i = 0; i < q->n_early; i++) {
		if (q->early[i].last >= span.from && q->early[i].last < span.to)
			return true;
	}
	return false;
}

/* ---- Without groups ---- */

static void note_left(struct left *left, uint64_t change)
{
	left->live += change;
	if (is_above(left->live, left->peak))
		left->peak = left->live;
}

/* Those whose peaks can't grow, by sums; the rest by records. */
static void leave_out(struct peak_without *w, const struct mst_chunk *chunk)
{
	struct left *growing[WITHOUT_MOST + 1];
	uint32_t ranks[WITHOUT_MOST + 1], n = 0;
	for (uint32_t k = 0; k <= w->query->n_removed; k++) {
		struct left *left = &w->left[k];
		if (left->grows) {
			ranks[n] = k;
			growing[n++] = left;
			continue;
		}
		for (uint32_t i = 0; i < chunk->n_tokens; i++) {
			if (w->subjects[i].rank >= k)
				left->live += chunk->tokens[i].count * w->subjects[i].change;
		}
	}
	/* The first of a realloc's two records makes the bytes less, so no peak lies between them. */
	for (uint32_t r = 0; n && r < chunk->n_records; r++) {
		const struct subject *s = &w->subjects[chunk->records[r]];
		for (uint32_t i = 0; i < n && ranks[i] <= s->rank; i++)
			note_left(growing[i], s->change);
	}
}

/* ---- Freed early ---- */

/* By sums, before leave_out(): the chunk has no block after which an early free lies, and no late one. */
static void add_sums_early(struct peak_without *w, const struct mst_chunk *chunk)
{
	const uint64_t most = total(w) + (uint64_t)chunk->sums.max_bytes;
	for (uint32_t i = 0; i < w->query->n_early; i++) {
		if (is_above(most - w->early[i].missing, w->early[i].peak))
			w->early[i].peak = most - w->early[i].missing;
	}
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		w->live[w->subjects[i].group] += chunk->tokens[i].count * w->subjects[i].change;
}

/* The block with the index has come. */
static void pass_block(struct peak_without *w, uint64_t index)
{
	const struct peak_without_query *q = w->query;
	for (uint32_t i = 0; i < q->n_early; i++) {
		struct early *e = &w->early[i];
		for (uint32_t g = 0; index == q->peak && g < q->n_groups; g++)
			e->growth[g] += w->live[g];
		if (index != q->early[i].last)
			continue;
		e->missing = q->early[i].bytes;
		for (uint32_t g = 0; g < q->n_groups; g++)
			e->growth[g] -= w->live[g];
	}
}

/* Whether the record frees a block that was freed early. Records are asked for in order. */
static bool frees_early(struct peak_without *w, uint64_t record)
{
	const struct peak_without_query *q = w->query;
	while (w->next_free < q->n_early_frees && q->early_frees[w->next_free] < record)
		w->next_free++;
	return w->next_free < q->n_early_frees && q->early_frees[w->next_free] == record;
}

/* By records: a block that was freed early goes when the trace frees it. */
static void add_records_early(struct peak_without *w, const struct mst_chunk *chunk)
{
	const struct peak_without_query *q = w->query;
	uint64_t live = total(w), index = chunk->first_alloc;
	for (uint32_t r = 0; r < chunk->n_records; r++) {
		const struct subject *s = &w->subjects[chunk->records[r]];
		live += s->change;
		w->live[s->group] += s->change;
		if (s->early < q->n_early && frees_early(w, chunk->first_record + r))
			w->early[s->early].missing += s->change;
		for (uint32_t i = 0; i < q->n_early; i++) {
			if (is_above(live - w->early[i].missing, w->early[i].peak))
				w->early[i].peak = live - w->early[i].missing;
		}
		if (s->role == MST_ALLOC)
			pass_block(w, index++);
	}
}

/* ---- The observer ---- */

/* Comes before each chunk, also one without records. Without memory the chunk is decoded, and see_chunk() fails. */
static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct peak_without *w = (struct peak_without *)observer;
	w->prepared = prepare(w, reader, chunk);
	if (!w->prepared)
		return false;
	for (uint32_t k = 0; k <= w->query->n_removed; k++) {
		if (w->left[k].grows)
			return false;
	}
	return !early_needs_records(w, chunk);
}

static int see_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct peak_without *w = (struct peak_without *)observer;
	(void)reader;
	add_sums_early(w, chunk);
	leave_out(w, chunk);
	return 0;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct peak_without *w = (struct peak_without *)observer;
	(void)reader;
	if (!w->prepared)
		return MST_ERR_NOMEM;
	if (early_needs_records(w, chunk))
		add_records_early(w, chunk);
	else
		add_sums_early(w, chunk);
	leave_out(w, chunk);
	return 0;
}

/* False: no memory. */
static bool set_up(struct peak_without *w)
{
	const struct peak_without_query *q = w->query;
	const size_t n = q->n_groups + (size_t)1;
	assert(q->n_removed <= WITHOUT_MOST && q->n_early <= EARLY_MOST);
	w->rank_of = malloc(n * sizeof(*w->rank_of));
	w->early_of = malloc(n * sizeof(*w->early_of));
	w->live = calloc(n, sizeof(*w->live));
	for (uint32_t i = 0; i < q->n_early; i++) {
		if (!(w->early[i].growth = calloc(n, sizeof(uint64_t))))
			return false;
	}
	if (!w->rank_of || !w->early_of || !w->live)
		return false;
	for (size_t g = 0; g < n; g++) {
		w->rank_of[g] = q->n_removed;
		w->early_of[g] = EARLY_MOST;
	}
	for (uint32_t i = 0; i < q->n_removed; i++) {
		w->rank_of[q->removed[i]] = i;
		w->left[i + 1].peak = q->floors[i];
	}
	for (uint32_t i = 0; i < q->n_early; i++)
		w->early_of[q->early[i].group] = i;
	return true;
}

struct peak_without *peak_without_create(const struct peak_without_query *query)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.sums_suffice = sums_suffice,
		.sums = see_sums,
	};
	struct peak_without *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS,
	};
	w->query = query;
	if (set_up(w))
		return w;
	peak_without_destroy(w);
	return NULL;
}

void peak_without_destroy(struct peak_without *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < EARLY_MOST; i++)
		free(w->early[i].growth);
	free(w->rank_of);
	free(w->early_of);
	free(w->live);
	free(w->subjects);
	free(w);
}

struct observer *peak_without_observer(struct peak_without *w)
{
	return &w->observer;
}

/* ---- The result ---- */

uint64_t peak_without_first(const struct peak_without *w, uint32_t n)
{
	assert(n <= w->query->n_removed);
	return w->left[n].peak;
}

uint64_t peak_without_early(const struct peak_without *w, uint32_t i)
{
	assert(i < w->query->n_early);
	return w->early[i].peak;
}

uint64_t peak_without_growth(const struct peak_without *w, uint32_t i, uint32_t group)
{
	assert(i < w->query->n_early && group < w->query->n_groups);
	return w->early[i].growth[group];
}
