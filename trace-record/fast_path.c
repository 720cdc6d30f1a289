/* SPDX-License-Identifier: MIT */
/*
 * The commonest events, nearly all there are: plain calls that give or free a block. They are taken as they stand in the
 * ring. Whatever isn't as usual is left where it is, to events.c, which can take everything.
 */
#include "tracee_state.h"

#define QUICK_WORDS 4u /* of a record at most: head, stamp, address, and of realloc(NULL, n) another one */
#define RUN_WORDS (CONSUMER_RELEASE_BYTES / 8)
#define FEW_PAGES 1024u   /* the table of so many is in the caches anyway */
#define PAUSE_BYTES 4096u /* of records that aren't looked ahead at when most blocks are young */

/* Operations that give a block and take none. */
#define QUICK_OPS                                                                                            \
	(1u << MST_OP_MALLOC | 1u << MST_OP_CALLOC | 1u << MST_OP_REALLOC | 1u << MST_OP_NEW |               \
	 1u << MST_OP_NEW_ARRAY)

static inline bool is_quick_free(uint64_t head)
{
	return (uint16_t)(head & ~((uint64_t)SHM_STAMPED << 8)) == SHM_OP_FREE;
}

static inline bool is_quick_alloc(uint64_t head)
{
	return SHM_OP(head) < 32 && QUICK_OPS >> SHM_OP(head) & 1 && !(SHM_FLAGS(head) & ~SHM_STAMPED);
}

/* The address that they give, and what realloc() was given. */
static inline unsigned quick_operands(uint64_t head)
{
	return SHM_OP(head) == MST_OP_REALLOC ? 2 : 1;
}

/* ---- what will be looked at soon ---- */

/*
 * Goes on over the records from lane->ahead.far, as long as they begin before `end`, which is beyond the last
 * of them. Their addresses' places in the table of blocks and the nodes of their stacks are fetched. Whether it is worth
 * it: many of the addresses are not those of young blocks.
 */
static inline __attribute__((always_inline)) bool expect_places(const struct tracee *t,
								struct consumer *consumer, uint64_t end)
{
	struct consumer_ahead *const ahead = &consumer->ahead;
	uint64_t at = ahead->far;
	uint32_t n = 0, young = 0;

	for (uint32_t i = 0; i < CONSUMER_BATCH && at < end; i++) {
		const uint64_t *const w = (const uint64_t *)(consumer->data + (at & (consumer->size - 1)));
		const uint64_t head = *w;
		const unsigned stamped = (SHM_FLAGS(head) & SHM_STAMPED) != 0;
		uint64_t address = SHM_VALUE(head);

		if (is_quick_free(head)) {
			at += 8u << stamped;
		} else if (is_quick_alloc(head)) {
			at += (quick_operands(head) + 1 + stamped) * 8;
			address = w[1 + stamped];
			__builtin_prefetch(&consumer->nodes[SHM_NODE(head)]);
		} else if (SHM_OP(head) == SHM_PAD) {
			break;
		} else {
			at += shm_words(head) * 8;
			if (SHM_OP(head) < MST_OP_REALLOC || SHM_OP(head) > MST_OP_REALLOC_FREE)
				continue;
			address = w[2 + stamped];
		}
		if (blocks_young(&t->blocks, address)->address == address) {
			young++;
			continue;
		}
		ahead->places[n] = blocks_expect(&t->blocks, address);
		n += !n || ahead->places[n] != ahead->places[n - 1];
	}
	ahead->n = n;
	ahead->far = at;
	return young < CONSUMER_BATCH / 2;
}

/* Two batches of records beyond `at`, one by one nearer. */
static __attribute__((noinline)) void look_ahead(const struct tracee *t, struct consumer *consumer,
						 uint64_t at, uint64_t end)
{
	struct consumer_ahead *const ahead = &consumer->ahead;

	bool worth_it;

	if (ahead->far < at)
		*ahead = (struct consumer_ahead){ .due = at, .near = at, .far = at };
	do {
		for (uint32_t i = 0; i < ahead->n; i++)
			blocks_expect_page(&t->blocks, ahead->places[i]);
		ahead->due = ahead->near;
		ahead->near = ahead->far;
		worth_it = expect_places(t, consumer, end);
	} while (worth_it && ahead->due <= at && ahead->near < ahead->far);
	if (!worth_it)
		ahead->due = ahead->far + PAUSE_BYTES;
	else if (ahead->near == ahead->far)
		ahead->due = ahead->far;
}

/* ---- events ---- */

/* The kind of a plain call with that head, if it is remembered; else 0, which no call has. */
static inline uint32_t quick_kind(const struct tracee *t, struct consumer *consumer, uint64_t head)
{
	const struct kind_entry *entry;
	struct consumer_node *node;
	uint64_t call;

	if (__builtin_expect(SHM_NODE(head) >= consumer->n_nodes, 0))
		return 0;
	node = &consumer->nodes[SHM_NODE(head)];
	if (__builtin_expect(!((node->call ^ head) & CONSUMER_CALL_MASK), 1))
		return consumer_call_kind(node->call);
	if (node->stack == MST_NONE)
		return 0;
	call = call_key(node->stack, SHM_OP(head), SHM_SIZE(head));
	entry = kind_entry(t, call, MST_NONE);
	if (entry->call != call || entry->old != MST_NONE)
		return 0;
	node->call = consumer_call(head, entry->kind);
	return entry->kind;
}

/* Beside 0 and errors: the event is left where it is. */
#define UNUSUAL 1

static inline bool is_custom(const struct tracee *t, uint64_t address)
{
	return __builtin_expect(customs_any(&t->customs), 0) && customs_at(&t->customs, address);
}

static inline int quick_alloc(struct tracee *t, struct consumer *consumer, uint64_t head, uint64_t address)
{
	struct block block = { .kind = quick_kind(t, consumer, head) };

	if (__builtin_expect(!block.kind || is_custom(t, address), 0))
		return UNUSUAL;
	block.ordinal = mst_writer_blocks(t->writer, block.kind);
	if (__builtin_expect(blocks_add(&t->blocks, address, block) != BLOCKS_ADDED, 0))
		return UNUSUAL;
	return mst_writer_alloc(t->writer, block.kind, &block.ordinal);
}

static inline int quick_free(struct tracee *t, uint64_t address)
{
	const uint64_t slot = is_custom(t, address) ? 0 : blocks_take_slot(&t->blocks, address);
	const struct block block = block_unpack(slot);

	if (__builtin_expect(!slot, 0))
		return UNUSUAL;
	return mst_writer_free(t->writer, block.kind, block.ordinal);
}

/* Tells the writer who makes the next calls, and when, if that is news. */
static inline void tell(struct tracee *t, const struct consumer *consumer, const struct clock *clock)
{
	if (__builtin_expect(consumer->thread != t->at_thread || consumer->stamp - t->at_stamp >= TELL_STAMPS,
			     0))
		tracee_tell_when(t, consumer, consumer->stamp, clock);
}

/*
 * Where the records end that are whole for sure and are taken in one go: the producer waits for room meanwhile.
 */
static const uint64_t *end_of_run(const struct consumer *consumer, const uint64_t *first, int64_t most)
{
	const uint64_t there = consumer->head - consumer->tail,
		       in_ring = consumer->size - (consumer->tail & (consumer->size - 1));
	const int64_t words = (int64_t)(there < in_ring ? there : in_ring) / 8 - (int64_t)QUICK_WORDS;

	if (consumer->broken || there > consumer->size || (consumer->head | consumer->tail) & 7 || words <= 0)
		return first;
	if (most > RUN_WORDS)
		most = RUN_WORDS;
	return first + (words < most ? words : most);
}

int64_t tracee_run(struct tracee *t, struct consumer *consumer, const struct clock *clock, uint64_t limit,
		   int64_t most, int *error)
{
	const uint64_t *const first =
		(const uint64_t *)(consumer->data + (consumer->tail & (consumer->size - 1)));
	const uint64_t *const last = end_of_run(consumer, first, most), *w = first;
	const uint64_t from = consumer->tail - (uint64_t)first; /* from addresses to places in the ring */
	uint64_t due = t->blocks.used > FEW_PAGES ? consumer->ahead.due : UINT64_MAX;
	int64_t taken = 0;
	int err = 0;

	if (first < last && !(SHM_FLAGS(*first) & SHM_STAMPED))
		tell(t, consumer, clock);
	while (w < last) {
		const uint64_t head = *w, *operand = w + 1;

		if (__builtin_expect(from + (uint64_t)w >= due, 0)) {
			look_ahead(t, consumer, from + (uint64_t)w, from + (uint64_t)last);
			due = consumer->ahead.due;
		}
		if (SHM_FLAGS(head) & SHM_STAMPED) {
			if (*operand > limit)
				break;
			consumer->stamp = *operand++;
			tell(t, consumer, clock);
		}
		if (is_quick_free(head)) {
			err = quick_free(t, SHM_VALUE(head));
		} else {
			err = is_quick_alloc(head) ? quick_alloc(t, consumer, head, *operand) : UNUSUAL;
			operand += quick_operands(head);
		}
		if (__builtin_expect(err == UNUSUAL, 0))
			break;
		w = operand;
		taken++;
		if (__builtin_expect(err, 0))
			break;
	}
	if (w != first) {
		consumer->tail = from + (uint64_t)w;
		consumer->peeked = false;
	}
	*error = err == UNUSUAL ? 0 : err;
	return taken;
}
