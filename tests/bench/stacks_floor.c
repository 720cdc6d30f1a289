/* SPDX-License-Identifier: MIT */
/*
 * stacks_floor PART DESCENTS: what many_stacks.c needs of any recorder, and no more. PART is
 *
 *     native     the program alone
 *     program    each malloc also walks the whole stack, finds the context of the frames that have changed, and writes an
 *                event; the events are dropped
 *     whole      the events also become tokens, definitions and ages, compressed as in a trace
 *
 * Prints the CPU nanoseconds and the bytes of a call. It does without what a recorder of real programs must have:
 * frames are found by frame pointers, there is one thread, a stack that cannot be read ends it, nothing is lost, timed,
 * checked, forgotten or put into a file, and both sides are one process.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zstd.h>

#define DEPTH 64u
#define CONTEXTS (1u << 18)
#define RING_WORDS 8192u
#define LIVE 4096u
#define CHUNK 262144u
#define LEVEL 5
#define FREE 1u

static enum { NATIVE, PROGRAM, WHOLE } part;

/* ---- the program's side ---- */

static struct context {
	uintptr_t pc;
	uint32_t parent;
} contexts[CONTEXTS];
static uint32_t context_index[2 * CONTEXTS], n_contexts = 1, emitted = 1;

static struct {
	uintptr_t pc;
	uint32_t context;
} last_stack[DEPTH]; /* of the last event, outermost first */
static unsigned last_depth;

static uint64_t ring[RING_WORDS];
static unsigned n_ring;
static const uintptr_t *outermost;

static void drain(void);

static inline void put(uint64_t word)
{
	ring[n_ring++] = word;
}

static inline bool is_context(uint32_t number, uint32_t parent, uintptr_t pc)
{
	return contexts[number].pc == pc && contexts[number].parent == parent;
}

static uint32_t context_of(uint32_t parent, uintptr_t pc)
{
	uint32_t at = (uint32_t)((pc * 0x9e3779b97f4a7c15u + parent) * 0xd6e8feb86659fd93u >> 45);

	if (parent && parent + 1 < n_contexts && is_context(parent + 1, parent, pc))
		return parent + 1;
	for (; context_index[at]; at = (at + 1) % (2 * CONTEXTS))
		if (is_context(context_index[at], parent, pc))
			return context_index[at];
	if (n_contexts == CONTEXTS)
		abort();
	contexts[n_contexts] = (struct context){ pc, parent };
	return context_index[at] = n_contexts++;
}

/* The context of the frames from one on. */
static inline uint32_t context_at(const uintptr_t *frame)
{
	uintptr_t pcs[DEPTH];
	unsigned n = 0, same = 0;
	uint32_t context;

	for (; frame < outermost && n < DEPTH; frame = (const uintptr_t *)frame[0])
		pcs[n++] = frame[1];
	while (same < n && same < last_depth && last_stack[same].pc == pcs[n - 1 - same])
		same++;
	context = same ? last_stack[same - 1].context : 0;
	for (; same < n; same++) {
		context = context_of(context, pcs[n - 1 - same]);
		last_stack[same].pc = pcs[n - 1 - same];
		last_stack[same].context = context;
	}
	last_depth = n;
	return context;
}

static __attribute__((noinline)) void *recorded_malloc(size_t size)
{
	void *const block = malloc(size);

	if (part == NATIVE)
		return block;
	const uint32_t context = context_at(__builtin_frame_address(0));
	if (n_ring + 2 > RING_WORDS || emitted != n_contexts)
		drain();
	put((uint64_t)size << 32 | (uint64_t)context << 8);
	put((uintptr_t)block);
	return block;
}

static __attribute__((noinline)) void recorded_free(void *block)
{
	if (part != NATIVE) {
		if (n_ring == RING_WORDS)
			drain();
		put((uint64_t)(uintptr_t)block << 8 | FREE);
	}
	free(block);
}

/* ---- the collector's side ---- */

struct column {
	uint8_t *bytes;
	size_t n, room;
};

static struct column records, ages, definitions;
static ZSTD_CCtx *zstd;
static uint64_t written;

static struct {
	uint32_t size, kind;
} kind_of[CONTEXTS]; /* by context */

static struct number {
	uint32_t epoch, token;
	uint64_t last; /* of ALLOC: blocks so far; of FREE: the age last written */
} numbers[CONTEXTS][2];
static uint32_t n_kinds = 1, n_tokens, epoch = 1;

static struct {
	uint64_t address, ordinal;
	uint32_t kind;
} live[LIVE];

static void *room_for(struct column *column, size_t n)
{
	if (column->n + n > column->room) {
		column->room = 2 * column->room + n + 4096;
		column->bytes = realloc(column->bytes, column->room);
		if (!column->bytes)
			abort();
	}
	return column->bytes + column->n;
}

static inline void put_varint(struct column *column, uint64_t value)
{
	uint8_t *at = room_for(column, 10);

	for (; value > 127; value >>= 7, column->n++)
		*at++ = (uint8_t)(value | 128);
	*at = (uint8_t)value;
	column->n++;
}

static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static void compress(struct column *column)
{
	static struct column packed;
	const size_t bound = ZSTD_compressBound(column->n);
	const size_t size =
		ZSTD_compressCCtx(zstd, room_for(&packed, bound), bound, column->bytes, column->n, LEVEL);

	if (ZSTD_isError(size))
		abort();
	written += size;
	column->n = 0;
}

static void end_chunk(void)
{
	compress(&records);
	compress(&ages);
	compress(&definitions);
	n_tokens = 0;
	epoch++;
}

/* Stacks that are new: the parent's distance, and the frame as it is. */
static void define_contexts(void)
{
	for (; emitted < n_contexts; emitted++) {
		const struct context *const c = &contexts[emitted];

		put_varint(&definitions, emitted - 1 - c->parent);
		put_varint(&definitions, zigzag((int64_t)(c->pc - contexts[emitted - 1].pc)));
	}
}

static inline void put_token(struct number *number, uint32_t kind, unsigned role)
{
	if (number->epoch != epoch) {
		number->epoch = epoch;
		number->token = n_tokens++;
		put_varint(&definitions, kind << 1 | role);
		if (role)
			number->last = 1;
	}
	const uint16_t token = (uint16_t)number->token;
	memcpy(room_for(&records, sizeof(token)), &token, sizeof(token));
	records.n += sizeof(token);
}

static inline unsigned live_at(uint64_t address)
{
	unsigned at = (unsigned)(address >> 4) % LIVE;

	while (live[at].address && live[at].address != address)
		at = (at + 1) % LIVE;
	return at;
}

static void take_alloc(uint32_t context, uint32_t size, uint64_t address)
{
	const unsigned at = live_at(address);
	uint32_t kind = kind_of[context].kind;

	if (kind_of[context].size != size || !kind) {
		kind = n_kinds++;
		kind_of[context].size = size;
		kind_of[context].kind = kind;
		put_varint(&definitions, context);
		put_varint(&definitions, size);
	}
	live[at].address = address;
	live[at].kind = kind;
	live[at].ordinal = numbers[kind][0].last++;
	put_token(&numbers[kind][0], kind, 0);
}

/* The program's blocks go before others come, so no search passes over the place. */
static void take_free(uint64_t address)
{
	const unsigned at = live_at(address);
	const uint32_t kind = live[at].kind;
	struct number *const number = &numbers[kind][1];
	uint64_t age;

	if (!live[at].address)
		abort();
	live[at].address = 0;
	put_token(number, kind, 1);
	age = numbers[kind][0].last - live[at].ordinal;
	put_varint(&ages, zigzag((int64_t)(age - number->last)));
	number->last = age;
}

static void drain(void)
{
	for (unsigned i = 0; part == WHOLE && i < n_ring; i++) {
		if (ring[i] & FREE) {
			take_free(ring[i] >> 8);
		} else {
			take_alloc((uint32_t)(ring[i] >> 8) & (CONTEXTS - 1), (uint32_t)(ring[i] >> 32),
				   ring[i + 1]);
			i++;
		}
		if (records.n == CHUNK * sizeof(uint16_t) || n_tokens == UINT16_MAX)
			end_chunk();
	}
	n_ring = 0;
	if (part == WHOLE)
		define_contexts();
	emitted = n_contexts;
}

/* ---- the program ---- */

int many_stacks(int argc, char **argv);

#define malloc recorded_malloc
#define free recorded_free
#define main many_stacks
#include "many_stacks.c"
#undef main

int main(int argc, char **argv)
{
	static const char *const parts[] = { "native", "program", "whole" };
	struct rusage usage;
	double calls;

	if (argc != 3)
		return 2;
	while (part < WHOLE && strcmp(argv[1], parts[part]) != 0)
		part++;
	zstd = ZSTD_createCCtx();
	outermost = __builtin_frame_address(0);
	if (!zstd || many_stacks(2, &argv[1]) != 0)
		return 1;
	drain();
	end_chunk();
	calls = 2 * PAIRS * atof(argv[2]);
	getrusage(RUSAGE_SELF, &usage);
	printf("ns=%.1f bytes=%.2f contexts=%u\n",
	       ((double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
		(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3) /
		       calls,
	       (double)written / calls, n_contexts);
	return 0;
}
