/* SPDX-License-Identifier: MIT */
#include "memusage.h"

#include <inttypes.h>
#include <stdlib.h>

#include "datafile.h"
#include "sample_weight.h"

enum row {
	ROW_MALLOC,
	ROW_REALLOC,
	ROW_CALLOC,
	ROW_FREE,
	ROW_MMAP_READ,
	ROW_MMAP_WRITE,
	ROW_MMAP_ANON,
	ROW_MREMAP,
	ROW_MUNMAP,
	ROW_COUNT,
	ROW_NONE = ROW_COUNT
};

#define BUCKET_B 16u
#define BUCKETS 4096u /* blocks below 64 KiB; the others are "large" */

/* All counters are machine words that wrap, as memusage's. */
struct counts {
	uint64_t calls, total, failed; /* calls in shares, see estimate.h */
};

/* A kind's records in chunks of which only the sums were looked at: each of a token counts alike, whenever it was. */
struct tallied {
	uint64_t records[3]; /* ALLOC; FREE; OUT, where it is a free */
};

/* A chunk's tokens, added up by what must be known of them together. */
struct tally {
	uint64_t out, resized, freed; /* first records of pairs, and the second ones that they can have */
	uint64_t kept, refused;       /* the same of failed reallocs */
	bool odd;                     /* something whose part in the sums is not that in the report */
	bool partial;                 /* blocks come or go that don't count */
	bool marked;                  /* a record says more than its token */
	uint64_t net;                 /* what the chunk adds to the live bytes */
	uint64_t above;               /* how far these can be, at some moment of it, above what sums tell */
};

struct memusage {
	struct observer observer;
	uint64_t mean; /* of the sample, see estimate.h; sizes below are estimates, too */
	struct counts rows[ROW_COUNT];
	uint64_t heap_total;      /* everything ever asked for */
	uint64_t heap, heap_peak; /* live bytes */
	uint64_t stack;           /* depth of the present call's thread */
	uint64_t stack_peak;
	uint64_t peak;           /* of live bytes and one stack together */
	bool sampled;            /* that depth isn't in the peak yet: the call that it was seen at */
	uint32_t sampled_thread; /* comes next, if there is one */
	uint64_t *stacks;        /* depths by thread */
	uint32_t n_stacks;
	uint64_t in_place, decreasing, realloc_frees; /* in shares, as calls of all sorts are */
	enum memusage_maps maps;
	uint64_t mapped;   /* of the live bytes; not with MEMUSAGE_MAPS_AS_MEMUSAGE */
	uint64_t remapped; /* length that the mremap to come is to change */
	uint64_t remapped_in_place, remapped_decreasing;
	uint64_t sized_calls; /* entries of the histogram */
	uint64_t buckets[BUCKETS], large;
	uint64_t null_frees;
	uint8_t *traits; /* by kind: enum trait */
	struct tallied *
		*tallied; /* pages of them, by kind, where any has come up: of what is not yet counted */
	uint32_t n_kinds, cap_kinds;
	struct tally tally; /* of the chunk at hand */
	bool begun;
	bool ended;            /* the report would have been printed */
	struct datafile *data; /* NULL: none is wanted */
	uint64_t start, time;  /* of the first call and of the present one, in ns */
};

/* ---- Counting ------------------------------------------------------------------------------- */

/* The row in which memusage sees a call; operator new is its malloc. */
static enum row row_of(const struct mst_kind *kind)
{
	switch (kind->op) {
	case MST_OP_MALLOC:
	case MST_OP_NEW:
	case MST_OP_NEW_ARRAY:
		return kind->flags & MST_KIND_ALIGNED ? ROW_NONE : ROW_MALLOC;
	case MST_OP_CALLOC:
		return ROW_CALLOC;
	case MST_OP_REALLOC:
	case MST_OP_REALLOC_MOVED:
	case MST_OP_REALLOC_IN_PLACE:
		return kind->flags & MST_KIND_ALIGNED ? ROW_NONE : ROW_REALLOC;
	}
	return ROW_NONE;
}

/* libstdc++'s operator new asks malloc for one byte when it is asked for none. */
static uint64_t size_of(const struct mst_kind *kind)
{
	bool is_new = kind->op == MST_OP_NEW || kind->op == MST_OP_NEW_ARRAY;
	return is_new && kind->size == 0 ? 1 : kind->size;
}

static uint64_t shares_of(const struct memusage *m, const struct mst_kind *kind)
{
	return weight_shares(m->mean, kind->size);
}

static uint64_t bytes_of(const struct memusage *m, const struct mst_kind *kind)
{
	return weight_bytes(m->mean, kind->size, size_of(kind));
}

static void add_entry(struct memusage *m, uint64_t size, uint64_t shares)
{
	if (size < BUCKETS * BUCKET_B)
		m->buckets[size / BUCKET_B] += shares;
	else
		m->large += shares;
	m->sized_calls += shares;
}

static void raise_peak(struct memusage *m, uint64_t stack)
{
	if (m->heap + stack > m->peak)
		m->peak = m->heap + stack;
}

static void move_heap(struct memusage *m, uint64_t change)
{
	m->heap += change;
	if (m->heap > m->heap_peak)
		m->heap_peak = m->heap;
	raise_peak(m, m->stack);
	m->sampled = false;
	if (m->data)
		datafile_add(m->data, &(struct datafile_record){ m->heap, m->stack, m->time });
}

/* Calls that ask for `size` bytes each, `grown` of them all together new. */
static void count_request(struct memusage *m, enum row row, uint64_t size, uint64_t grown, uint64_t shares)
{
	m->rows[row].calls += shares;
	m->rows[row].total += grown;
	m->heap_total += grown;
	add_entry(m, size, shares);
}

static void count_alloc(struct memusage *m, const struct mst_kind *kind)
{
	enum row row = row_of(kind);
	if (row == ROW_NONE)
		return;
	uint64_t bytes = bytes_of(m, kind);
	count_request(m, row, size_of(kind), bytes, shares_of(m, kind));
	move_heap(m, bytes);
}

/* The calls that one stands for of which both blocks are in the sample, as is chance for each. */
static uint64_t shares_of_both(const struct memusage *m, const struct mst_kind *old,
			       const struct mst_kind *kind)
{
	unsigned __int128 product = (unsigned __int128)shares_of(m, old) * shares_of(m, kind);
	return (uint64_t)(product >> WEIGHT_SHARES_LOG2);
}

/* What most blocks of a sample grew from isn't known: there, all that is asked for is new. */
static void count_resize(struct memusage *m, const struct mst_kind *old, const struct mst_kind *kind)
{
	if (row_of(kind) == ROW_NONE)
		return;
	bool known = row_of(old) != ROW_NONE;
	uint64_t old_size = known ? size_of(old) : 0, size = kind->size, bytes = bytes_of(m, kind);
	uint64_t grown = size > old_size ? size - old_size : 0;
	count_request(m, ROW_REALLOC, size, m->mean ? bytes : grown, shares_of(m, kind));
	if (kind->op == MST_OP_REALLOC_IN_PLACE)
		m->in_place += shares_of_both(m, old, kind);
	if (old_size > size)
		m->decreasing += shares_of_both(m, old, kind);
	move_heap(m, bytes - (known ? bytes_of(m, old) : 0));
}

/* A realloc of a sample whose new block isn't in it; of a request for 0 bytes there is none. */
static bool is_leaving(const struct memusage *m, const struct mst_kind *call)
{
	return m->mean && call->op == MST_OP_REALLOC_FREE && call->size;
}

/* `call` is NULL for free. */
static void count_free(struct memusage *m, const struct mst_kind *old, const struct mst_kind *call)
{
	/* A free that the recorder didn't see can't have been seen by memusage. */
	if (row_of(old) == ROW_NONE || (call && call->op == MST_OP_IMPLIED_FREE))
		return;
	if (call && is_leaving(m, call)) {
		move_heap(m, -bytes_of(m, old));
		return;
	}
	if (call && call->op == MST_OP_REALLOC_FREE) {
		m->rows[ROW_REALLOC].calls += shares_of(m, old);
		m->realloc_frees += shares_of(m, old);
	} else {
		m->rows[ROW_FREE].calls += shares_of(m, old);
	}
	m->rows[ROW_FREE].total += bytes_of(m, old);
	move_heap(m, -bytes_of(m, old));
}

static void note_stack(struct memusage *m, uint32_t thread, uint64_t depth)
{
	m->stacks[thread] = m->stack = depth;
	m->sampled = true;
	m->sampled_thread = thread;
	if (depth > m->stack_peak)
		m->stack_peak = depth;
}

/* A depth that was seen at no call counts with the live bytes as they are. */
static void settle_sample(struct memusage *m)
{
	if (m->sampled)
		raise_peak(m, m->stacks[m->sampled_thread]);
	m->sampled = false;
}

/* `old` is the block that a failed realloc was given, or NULL. */
static void count_call(struct memusage *m, const struct mst_kind *old, const struct mst_kind *kind)
{
	if (kind->op == MST_OP_EXIT) {
		m->null_frees = kind->size;
		m->ended = true;
		return;
	}
	enum row row = row_of(kind);
	if (row == ROW_NONE || (old && row_of(old) == ROW_NONE))
		return;
	uint64_t size = size_of(kind), old_size = old ? size_of(old) : 0;
	count_request(m, row, size, size > old_size ? size - old_size : 0, WEIGHT_ONE);
	m->rows[row].failed++;
}

/* ---- Mappings ------------------------------------------------------------------------------- */

/* More can be unmapped than was seen being mapped. */
static void move_mapped(struct memusage *m, uint64_t plus, uint64_t minus)
{
	if (m->maps == MEMUSAGE_MAPS) {
		if (minus > m->mapped && minus - m->mapped > plus)
			minus = m->mapped + plus;
		m->mapped += plus - minus;
	}
	move_heap(m, plus - minus);
}

static void count_mmap(struct memusage *m, enum row row, uint64_t size, bool failed)
{
	bool faithful = m->maps == MEMUSAGE_MAPS_AS_MEMUSAGE;
	count_request(m, row, size, size, WEIGHT_ONE);
	m->rows[row].failed += failed && !faithful;
	if (faithful ? row == ROW_MMAP_WRITE : !failed)
		move_mapped(m, size, 0);
}

static void count_mremap(struct memusage *m, const struct mst_kind *kind, bool failed)
{
	bool faithful = m->maps == MEMUSAGE_MAPS_AS_MEMUSAGE;
	uint64_t old = m->remapped, size = kind->size;
	count_request(m, ROW_MREMAP, size, size > old ? size - old : 0, WEIGHT_ONE);
	m->rows[ROW_MREMAP].failed += failed && !faithful;
	if (failed && !faithful)
		return;
	m->remapped_in_place += kind->op == MST_OP_MREMAP_IN_PLACE;
	m->remapped_decreasing += old > size;
	move_mapped(m, size, old);
}

static void count_munmap(struct memusage *m, uint64_t size, bool failed)
{
	m->rows[ROW_MUNMAP].calls += WEIGHT_ONE;
	m->rows[ROW_MUNMAP].failed += failed;
	if (failed)
		return;
	m->rows[ROW_MUNMAP].total += size;
	move_mapped(m, 0, size);
}

static void count_map(struct memusage *m, const struct mst_kind *kind)
{
	bool failed = kind->flags & MST_KIND_FAILED;
	switch (kind->op) {
	case MST_OP_MMAP_READ:
		count_mmap(m, ROW_MMAP_READ, kind->size, failed);
		break;
	case MST_OP_MMAP_WRITE:
		count_mmap(m, ROW_MMAP_WRITE, kind->size, failed);
		break;
	case MST_OP_MMAP_ANON:
		count_mmap(m, ROW_MMAP_ANON, kind->size, failed);
		break;
	case MST_OP_MREMAP_OLD:
		m->remapped = kind->size;
		break;
	case MST_OP_MREMAP_MOVED:
	case MST_OP_MREMAP_IN_PLACE:
		count_mremap(m, kind, failed);
		break;
	case MST_OP_MUNMAP:
		count_munmap(m, kind->size, failed);
		break;
	}
}

static bool is_map(const struct mst_kind *kind)
{
	return kind->op >= MST_OP_MMAP_READ && kind->op <= MST_OP_MUNMAP;
}

/* ---- The trace ------------------------------------------------------------------------------ */

static const struct mst_kind *find(const struct mst_kind *kinds, uint32_t id)
{
	return id == MST_NONE ? NULL : &kinds[id];
}

/* Depths of threads that are new are 0. False: no memory. */
static bool know_threads(struct memusage *m, uint32_t n)
{
	if (n <= m->n_stacks)
		return true;
	uint64_t *stacks = reallocarray(m->stacks, n, sizeof(*stacks));
	if (!stacks)
		return false;
	for (uint32_t i = m->n_stacks; i < n; i++)
		stacks[i] = 0;
	m->stacks = stacks;
	m->n_stacks = n;
	return true;
}

/* What was there when the trace begins: no calls. */
static void take_base(struct memusage *m, const struct mst_kind *kind, uint32_t thread)
{
	if (kind->op == MST_OP_STACK)
		note_stack(m, thread, kind->size);
	else if (kind->op == MST_OP_EXIT)
		m->ended = true;
	else if (is_map(kind) && m->maps == MEMUSAGE_MAPS)
		m->heap += m->mapped = kind->size;
	else if (row_of(kind) != ROW_NONE)
		m->heap += bytes_of(m, kind);
	if (m->heap > m->heap_peak)
		m->heap_peak = m->heap;
	raise_peak(m, m->stacks[thread]);
}

static int memusage_chunk(struct observer *observer, const struct mst_reader *reader,
			  const struct mst_chunk *chunk)
{
	struct memusage *m = (struct memusage *)observer;
	if (m->ended && !chunk->base)
		return 0;
	m->null_frees += chunk->sums.null_frees;
	m->mean = mst_reader_info(reader)->sample_bytes;
	uint32_t n;
	mst_reader_threads(reader, &n);
	if (!know_threads(m, n))
		return MST_ERR_NOMEM;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	unsigned shift = mst_reader_time_shift(reader);
	while (chunk->base && mst_cursor_next(&cursor, &event))
		take_base(m, &kinds[event.kind], event.thread);
	while (!m->ended && mst_cursor_next(&cursor, &event)) {
		m->time = event.time << shift;
		if (!m->begun)
			m->start = m->time;
		m->begun = true;
		m->stack = m->stacks[event.thread];
		if ((event.type == MST_EVENT_CALL && !is_map(find(kinds, event.kind))) ||
		    event.thread != m->sampled_thread)
			settle_sample(m);
		const struct mst_kind *old = find(kinds, event.old_kind);
		const struct mst_kind *kind = find(kinds, event.kind);
		switch (event.type) {
		case MST_EVENT_ALLOC:
			count_alloc(m, kind);
			break;
		case MST_EVENT_FREE:
			count_free(m, old, kind);
			break;
		case MST_EVENT_RESIZE:
			count_resize(m, old, kind);
			break;
		case MST_EVENT_CALL:
			if (kind->op == MST_OP_STACK)
				note_stack(m, event.thread, kind->size);
			else if (is_map(kind) && m->maps != MEMUSAGE_NO_MAPS)
				count_map(m, kind);
			else
				count_call(m, old, kind);
			break;
		}
	}
	return 0;
}

/* ---- Chunks by their sums ------------------------------------------------------------------- */

/* Sizes up to which sums stay clear of what wraps. */
#define SANE_BYTES ((uint64_t)1 << 44)

/* What is to be known of a kind of which there are records in a chunk. */
enum trait {
	TRAIT_COUNTS = 1,   /* its calls have a row */
	TRAIT_PLAIN = 2,    /* and its size is that of the sums */
	TRAIT_UNLIKE = 4,   /* its blocks come and go otherwise than the sums say */
	TRAIT_INSANE = 8,   /* so large that sums might wrap */
	TRAIT_RESIZES = 16, /* the second record of a realloc */
	TRAIT_FREES = 32,   /* the second record of a free */
	TRAIT_REALLOC = 64, /* as memusage knows it */
	TRAIT_MARKED = 128, /* a call that says more than how often it was made */
};

static uint8_t traits_of(const struct memusage *m, const struct mst_kind *kind)
{
	const bool realloc = kind->op == MST_OP_REALLOC_MOVED || kind->op == MST_OP_REALLOC_IN_PLACE;
	const bool counts = row_of(kind) != ROW_NONE;
	unsigned traits = realloc ? TRAIT_REALLOC | TRAIT_RESIZES : 0;
	if (counts)
		traits |= size_of(kind) == kind->size ? TRAIT_COUNTS | TRAIT_PLAIN : TRAIT_COUNTS;
	if (kind->op != MST_OP_UNKNOWN && !(traits & TRAIT_PLAIN))
		traits |= TRAIT_UNLIKE;
	if (kind->size > SANE_BYTES)
		traits |= TRAIT_INSANE;
	if (kind->op == MST_OP_RESIZEINPLACE)
		traits |= TRAIT_RESIZES;
	if (kind->op == MST_OP_REALLOC_FREE || kind->op == MST_OP_FREE)
		traits |= TRAIT_FREES;
	if (kind->op == MST_OP_EXIT || kind->op == MST_OP_IMPLIED_FREE ||
	    (is_map(kind) && m->maps != MEMUSAGE_NO_MAPS))
		traits |= TRAIT_MARKED;
	return (uint8_t)traits;
}

#define PAGE_KINDS 4096u

static uint32_t pages_for(uint32_t kinds)
{
	return (kinds + PAGE_KINDS - 1) / PAGE_KINDS;
}

static bool reserve_kinds(struct memusage *m, uint32_t n)
{
	const uint32_t more = n + n / 2, pages = pages_for(more);
	struct tallied **tallied;
	uint8_t *traits;
	if (n <= m->cap_kinds)
		return true;
	tallied = reallocarray(m->tallied, pages, sizeof(*tallied));
	if (!tallied)
		return false;
	m->tallied = tallied;
	traits = realloc(m->traits, more);
	if (!traits)
		return false;
	m->traits = traits;
	for (uint32_t i = pages_for(m->cap_kinds); i < pages; i++)
		tallied[i] = NULL;
	m->cap_kinds = more;
	return true;
}

/* Makes sure that each kind has its traits. False: no memory. */
static bool know_kinds(struct memusage *m, const struct mst_kind *kinds, uint32_t n)
{
	if (!reserve_kinds(m, n))
		return false;
	for (; m->n_kinds < n; m->n_kinds++)
		m->traits[m->n_kinds] = traits_of(m, &kinds[m->n_kinds]);
	return true;
}

static void tally_call(struct tally *t, const struct mst_token *token, unsigned traits)
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

/* Which role comes next can't be foretold, so blocks are tallied without asking. */
static struct tally tally_up(const struct memusage *m, const struct mst_chunk *chunk)
{
	struct tally t = { .net = (uint64_t)chunk->sums.net_bytes };
	unsigned all = 0, handed = 0, strange = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const unsigned traits = m->traits[token->kind];
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

/* Corrects what the sums of a partial chunk say by the blocks that count otherwise. */
static void weigh(struct memusage *m, const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const unsigned traits = m->traits[token->kind];
		if (!(traits & TRAIT_UNLIKE) || token->role > MST_OUT)
			continue;
		const struct mst_kind *kind = &kinds[token->kind];
		const uint64_t bytes = traits & TRAIT_COUNTS ? size_of(kind) : 0;
		/* By which the sums' step is too low. */
		const uint64_t lacks = token->role == MST_ALLOC ? bytes - kind->size : kind->size - bytes;
		m->tally.net += token->count * lacks;
		m->tally.above += (int64_t)lacks > 0 ? token->count * lacks : 0;
	}
}

/*
 * What can be told without the records: which of a pair's first records have which second ones, if all are of one
 * sort, or how many bytes those of frees had, if no realloc failed or made a block smaller; by how much reallocs made
 * blocks larger, if all of them count; and the largest of the live bytes, if all blocks count, or there can't be more
 * of them than there were before.
 */
static bool memusage_sums_suffice(struct observer *observer, const struct mst_reader *reader,
				  const struct mst_chunk *chunk)
{
	struct memusage *m = (struct memusage *)observer;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	if (m->ended)
		return true;
	if (m->data || chunk->base || mst_reader_info(reader)->sample_bytes || m->heap > INT64_MAX / 2 ||
	    !know_kinds(m, kinds, n_kinds))
		return false;
	const struct tally *t = &m->tally;
	m->tally = tally_up(m, chunk);
	if (t->marked || t->out != t->resized + t->freed || t->kept != t->refused ||
	    (t->resized && t->freed && (t->kept || chunk->sums.shrunk)) || (t->odd && (t->out || t->kept)))
		return false;
	if (chunk->sums.max_bytes < 0)
		return false;
	if (t->partial)
		weigh(m, chunk, kinds);
	return !t->partial || m->heap + (uint64_t)chunk->sums.max_bytes + t->above <= m->heap_peak;
}

/* `n` calls that gave nothing, or freed. */
static void count_calls(struct memusage *m, const struct mst_kind *kind, uint64_t n)
{
	const bool resized = kind->op == MST_OP_REALLOC_MOVED || kind->op == MST_OP_REALLOC_IN_PLACE;
	const enum row row = row_of(kind);
	if (kind->op == MST_OP_STACK && n && kind->size > m->stack_peak)
		m->stack_peak = kind->size;
	if (kind->op == MST_OP_FREE)
		m->rows[ROW_FREE].calls += n * WEIGHT_ONE;
	if (kind->op == MST_OP_REALLOC_FREE) {
		m->rows[ROW_REALLOC].calls += n * WEIGHT_ONE;
		m->realloc_frees += n * WEIGHT_ONE;
	}
	if (row == ROW_NONE)
		return;
	count_request(m, row, size_of(kind), resized ? 0 : n * size_of(kind), n * WEIGHT_ONE);
	m->rows[row].failed += n;
}

/* False: no memory. */
static bool note_tokens(struct memusage *m, const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	const uint32_t counts[] = { [MST_ALLOC] = 1, [MST_FREE] = 1, [MST_OUT] = m->tally.resized == 0 };
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		struct tallied **page = &m->tallied[token->kind / PAGE_KINDS];
		if (token->role == MST_CALL)
			count_calls(m, &kinds[token->kind], token->count);
		if (token->role > MST_OUT)
			continue;
		if (!*page && !(*page = calloc(PAGE_KINDS, sizeof(**page))))
			return false;
		(*page)[token->kind % PAGE_KINDS].records[token->role] += counts[token->role] * token->count;
	}
	return true;
}

/*
 * Bytes of the blocks that pairs free, where other pairs resize blocks and no realloc fails or makes one smaller: what
 * all of them had, without what resized ones had, which is what they have less what they grew by.
 */
static uint64_t freed_by_pairs(const struct memusage *m, const struct mst_chunk *chunk,
			       const struct mst_kind *kinds)
{
	uint64_t bytes = chunk->sums.grown;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		if (token->role == MST_OUT)
			bytes += token->count * kinds[token->kind].size;
		else if (token->role == MST_ALLOC && m->traits[token->kind] & TRAIT_RESIZES)
			bytes -= token->count * kinds[token->kind].size;
	}
	return bytes;
}

static int memusage_sums(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct memusage *m = (struct memusage *)observer;
	const struct tally *t = &m->tally;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	if (m->ended)
		return 0;
	if (!t->partial && m->heap + (uint64_t)chunk->sums.max_bytes > m->heap_peak)
		m->heap_peak = m->heap + (uint64_t)chunk->sums.max_bytes;
	m->heap += t->net;
	if (!note_tokens(m, chunk, kinds))
		return MST_ERR_NOMEM;
	if (t->resized && t->freed)
		m->rows[ROW_FREE].total += freed_by_pairs(m, chunk, kinds);
	m->rows[ROW_REALLOC].total += t->resized || t->refused ? chunk->sums.grown : 0;
	m->heap_total += t->resized || t->refused ? chunk->sums.grown : 0;
	m->decreasing += t->resized ? chunk->sums.shrunk * WEIGHT_ONE : 0;
	m->null_frees += chunk->sums.null_frees;
	return 0;
}

/* `n` blocks came, by calls of their own or by reallocs, whose growth is known for all together. */
static void count_allocs(struct memusage *m, const struct mst_kind *kind, uint64_t n)
{
	const bool resized = kind->op == MST_OP_REALLOC_MOVED || kind->op == MST_OP_REALLOC_IN_PLACE;
	/* A realloc's entry is of the size that was asked for; only operator new has another. */
	count_request(m, row_of(kind), size_of(kind), resized ? 0 : n * size_of(kind), n * WEIGHT_ONE);
	if (kind->op == MST_OP_REALLOC_IN_PLACE)
		m->in_place += n * WEIGHT_ONE;
}

/* All that sums have told. */
static void count_tallied(struct memusage *m, const struct mst_reader *reader)
{
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	for (uint32_t i = 0; i < m->n_kinds; i++) {
		const struct tallied *page = m->tallied[i / PAGE_KINDS];
		if (!page || !(m->traits[i] & TRAIT_COUNTS))
			continue;
		const uint64_t *records = page[i % PAGE_KINDS].records;
		count_allocs(m, &kinds[i], records[MST_ALLOC]);
		m->rows[ROW_FREE].calls += records[MST_FREE] * WEIGHT_ONE;
		m->rows[ROW_FREE].total += (records[MST_FREE] + records[MST_OUT]) * size_of(&kinds[i]);
	}
}

static int memusage_end(struct observer *observer, const struct mst_reader *reader)
{
	struct memusage *m = (struct memusage *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	if (!m->ended && end && end->time_ns > m->time)
		m->time = end->time_ns;
	settle_sample(m);
	count_tallied(m, reader);
	/* memusagestat divides by the time that has passed. */
	if (m->data)
		datafile_end(m->data, &(struct datafile_head){
					      .start = m->start,
					      .end = m->time > m->start ? m->time : m->start + 1,
					      .peak_heap = m->heap_peak,
					      .peak_stack = m->stack_peak,
					      .peak_total = m->peak,
				      });
	return 0;
}

/* ---- Life ----------------------------------------------------------------------------------- */

struct memusage *memusage_create(struct datafile *data, enum memusage_maps maps)
{
	static const struct observer_impl impl = {
		.chunk = memusage_chunk,
		.sums_suffice = memusage_sums_suffice,
		.sums = memusage_sums,
		.end = memusage_end,
	};
	struct memusage *m = calloc(1, sizeof(*m));
	if (m) {
		m->observer.impl = &impl;
		m->observer.spared = MST_IDENTITY | MST_INSTRUCTIONS | MST_ADDRESSES | MST_SP_CHANGES;
		m->data = data;
		m->maps = maps;
	}
	return m;
}

void memusage_destroy(struct memusage *m)
{
	if (m) {
		free(m->stacks);
		for (uint32_t i = 0; i < pages_for(m->cap_kinds); i++)
			free(m->tallied[i]);
		free(m->tallied);
		free(m->traits);
	}
	free(m);
}

struct observer *memusage_observer(struct memusage *m)
{
	return &m->observer;
}

/* ---- The report ----------------------------------------------------------------------------- */

struct paint {
	const char *title, *head, *label, *failure, *bar; /* switch a colour on */
	const char *title_off, *off, *row_off;            /* and off */
};

static const struct paint coloured_paint = {
	.title = "\033[01;32m",
	.head = "\033[04;34m",
	.label = "\033[00;34m",
	.failure = "\033[01;41m",
	.bar = "\033[41;37m",
	.title_off = "\033[0;0m",
	.off = "\033[0m",
	.row_off = "\033[00;00m",
};

static const struct paint plain_paint = { "", "", "", "", "", "", "", "" };

static void print_row(const struct memusage *m, FILE *out, const struct paint *paint, enum row row)
{
	static const char *const labels[ROW_COUNT] = {
		[ROW_MALLOC] = " malloc",    [ROW_REALLOC] = "realloc",   [ROW_CALLOC] = " calloc",
		[ROW_FREE] = "   free",      [ROW_MMAP_READ] = "mmap(r)", [ROW_MMAP_WRITE] = "mmap(w)",
		[ROW_MMAP_ANON] = "mmap(a)", [ROW_MREMAP] = " mremap",    [ROW_MUNMAP] = " munmap",
	};
	const struct counts *c = &m->rows[row];
	uint64_t calls = weight_blocks(c->calls) + (row == ROW_FREE ? m->null_frees : 0);
	fprintf(out, "%s%s|%s %10" PRIu64 "   %12" PRIu64, paint->label, labels[row], paint->off, calls,
		c->total);
	if (row != ROW_FREE)
		fprintf(out, "   %s%12" PRIu64 "%s", c->failed ? paint->failure : "", c->failed,
			paint->row_off);
	if (row == ROW_REALLOC)
		fprintf(out, "  (nomove:%" PRId64 ", dec:%" PRId64 ", free:%" PRId64 ")",
			(int64_t)weight_blocks(m->in_place), (int64_t)weight_blocks(m->decreasing),
			(int64_t)weight_blocks(m->realloc_frees));
	if (row == ROW_MREMAP)
		fprintf(out, "  (nomove: %" PRId64 ", dec:%" PRId64 ")", (int64_t)m->remapped_in_place,
			(int64_t)m->remapped_decreasing);
	fputc('\n', out);
}

/* The rest of a histogram line for `n` entries. */
static void print_bar(const struct memusage *m, FILE *out, const struct paint *paint, uint64_t n,
		      uint64_t most)
{
	uint64_t percent = 100 * n / weight_blocks(m->sized_calls);
	if (percent == 0)
		fputs(" <1% ", out);
	else
		fprintf(out, "%3d%% ", (int)percent);
	fputs(paint->bar, out);
	for (uint64_t i = 50 * n / most; i > 0; i--)
		fputc('=', out);
	fprintf(out, "%s\n", paint->title_off);
}

static void print_histogram(const struct memusage *m, FILE *out, const struct paint *paint)
{
	fprintf(out, "%sHistogram for block sizes:%s\n", paint->title, paint->title_off);
	uint64_t large = weight_blocks(m->large), most = large;
	for (unsigned i = 0; i < BUCKETS; i++)
		if (weight_blocks(m->buckets[i]) > most)
			most = weight_blocks(m->buckets[i]);
	for (unsigned i = 0; i < BUCKETS; i++) {
		if (m->buckets[i] == 0)
			continue;
		int size = (int)(i * BUCKET_B);
		uint64_t n = weight_blocks(m->buckets[i]);
		fprintf(out, "%5d-%-5d%12" PRIu64 " ", size, size + (int)BUCKET_B - 1, n);
		print_bar(m, out, paint, n, most);
	}
	if (large) {
		fprintf(out, "   large   %12" PRIu64 " ", large);
		print_bar(m, out, paint, large, most);
	}
}

void memusage_print(const struct memusage *m, FILE *out, bool coloured)
{
	const struct paint *paint = coloured ? &coloured_paint : &plain_paint;
	char mark[80] = "";
	if (m->mean)
		snprintf(mark, sizeof(mark), " (estimates: a sample of one block in %" PRIu64 " bytes)",
			 m->mean);
	fprintf(out,
		"\n%sMemory usage summary%s:%s heap total: %" PRIu64 ", heap peak: %" PRIu64
		", stack peak: %" PRIu64 "\n",
		paint->title, mark, paint->title_off, m->heap_total, m->heap_peak, m->stack_peak);
	fprintf(out, "%s         total calls   total memory   failed calls%s\n", paint->head, paint->off);
	enum row end = m->maps == MEMUSAGE_NO_MAPS ? ROW_MMAP_READ : ROW_COUNT;
	for (enum row row = 0; row < end; row++)
		print_row(m, out, paint, row);
	print_histogram(m, out, paint);
}
