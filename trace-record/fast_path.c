/* SPDX-License-Identifier: MIT */
/*
 * Fast path for plain alloc and free records, and definitions of stacks, nearly all there are: takes them straight from
 * the ring. Anything else stops the run; events.c handles it.
 */
#include <assert.h>

#include "accounting.h"

#define RECORD_WORDS 4u /* of a record at most: head, stamp, address, and of realloc(NULL, n) another one */
#define RUN_WORDS (CONSUMER_RELEASE_BYTES / 8)

/* Operations that give a block and take none. */
#define PLAIN_OPS                                                                                            \
	(1u << MST_OP_MALLOC | 1u << MST_OP_CALLOC | 1u << MST_OP_REALLOC | 1u << MST_OP_NEW |               \
	 1u << MST_OP_NEW_ARRAY)

static inline bool is_plain_free(uint64_t head)
{
	return (uint16_t)(head & ~((uint64_t)SHM_STAMPED << 8)) == SHM_OP_FREE;
}

static inline bool is_plain_node(uint64_t head)
{
	return (uint16_t)(head & ~((uint64_t)SHM_STAMPED << 8)) == SHM_OP_NODE;
}

/* Also with the size that it was given. */
static inline bool is_plain_delete(uint64_t head)
{
	return (SHM_OP(head) == SHM_OP_DELETE || SHM_OP(head) == SHM_OP_DELETE_ARRAY) &&
	       !(SHM_FLAGS(head) & ~(SHM_STAMPED | SHM_USABLE));
}

static inline bool is_plain_alloc(uint64_t head)
{
	return SHM_OP(head) < 32 && PLAIN_OPS >> SHM_OP(head) & 1 && !(SHM_FLAGS(head) & ~SHM_STAMPED);
}

/* The address that they give, and what realloc() was given. */
static inline unsigned plain_operands(uint64_t head)
{
	return SHM_OP(head) == MST_OP_REALLOC ? 2 : 1;
}

/*
 * The kind of a plain call with that head, if it is remembered; else 0, which no call has. The node remembers its last one;
 * that is one look at memory, where a program of many stacks misses the caches.
 */
static inline uint32_t fast_kind(const struct tracee *t, struct consumer *consumer, uint64_t head)
{
	const uint32_t call = consumer_call(SHM_OP(head), SHM_SIZE(head));
	struct consumer_node *node;
	uint64_t key;
	uint32_t kind;

	if (__builtin_expect(SHM_NODE(head) >= consumer->n_nodes, 0))
		return 0;
	node = &consumer->nodes[SHM_NODE(head)];
	if (__builtin_expect(node->call == call, 1))
		return node->kind;
	if (__builtin_expect(node->stack == MST_NONE, 0))
		return 0;
	key = call_key(node->stack, SHM_OP(head), SHM_SIZE(head));
	kind = remembered_kind(kind_entry(t, key, MST_NONE), key, MST_NONE);
	if (kind) {
		node->call = call;
		node->kind = kind;
	}
	return kind;
}

/* Takes an alloc whose kind is remembered; NOT_PLAIN: something else. */
static inline int fast_alloc(struct tracee *t, struct consumer *consumer, uint64_t head, uint64_t address)
{
	const uint32_t kind = is_plain_alloc(head) ? fast_kind(t, consumer, head) : 0;
	const bool frees = SHM_OP(head) != MST_OP_NEW && SHM_OP(head) != MST_OP_NEW_ARRAY;

	return kind ? account_alloc(t, kind, frees, address) : NOT_PLAIN;
}

/* Gives the writer the time and the thread of the next calls, if either changed. */
static inline void set_time(struct tracee *t, const struct consumer *consumer, const struct clock *clock)
{
	if (__builtin_expect(
		    consumer->thread.id != t->at_thread || consumer->stamp - t->at_stamp >= TIME_STAMPS, 0))
		tracee_set_time(t, consumer, consumer->stamp, clock);
}

/*
 * Where the records end that are whole for sure and are taken in one go: the producer waits for room meanwhile.
 */
static const uint64_t *end_of_run(const struct consumer *consumer, const uint64_t *first, int64_t most)
{
	const uint64_t there = consumer->head - consumer->tail,
		       in_ring = consumer->size - (consumer->tail & (consumer->size - 1));
	const int64_t words = (int64_t)(there < in_ring ? there : in_ring) / 8 - (int64_t)RECORD_WORDS;

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
	int64_t taken = 0;
	int err = 0;

	if (first < last && !(SHM_FLAGS(*first) & SHM_STAMPED))
		set_time(t, consumer, clock);
	while (w < last) {
		const uint64_t head = consumer_read_head(w), *operand = w + 1;

		if (SHM_FLAGS(head) & SHM_STAMPED) {
			if (*operand > limit)
				break;
			consumer->stamp = *operand++;
			set_time(t, consumer, clock);
		}
		if (is_plain_free(head)) {
			err = account_free(t, SHM_VALUE(head), MST_OP_FREE, 0);
		} else if (is_plain_delete(head)) {
			const bool sized = SHM_FLAGS(head) & SHM_USABLE;

			err = account_free(t, SHM_VALUE(head),
					   SHM_OP(head) == SHM_OP_DELETE ? MST_OP_DELETE
									 : MST_OP_DELETE_ARRAY,
					   sized ? *operand : 0);
			operand += sized;
		} else if (is_plain_node(head)) {
			err = tracee_define_node(t, consumer, head, *operand++);
		} else {
			err = fast_alloc(t, consumer, head, *operand);
			operand += plain_operands(head);
		}
		if (__builtin_expect(err == NOT_PLAIN, 0))
			break;
		w = operand;
		taken++;
		if (__builtin_expect(err, 0))
			break;
	}
	assert(taken <= most && w <= last + RECORD_WORDS);
	if (w != first) {
		consumer->tail += (uint64_t)(w - first) * 8;
		consumer->peeked = false;
	}
	*error = err == NOT_PLAIN ? 0 : err;
	return taken;
}
