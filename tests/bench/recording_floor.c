/* SPDX-License-Identifier: MIT */
/*
 * recording_floor PART DESCENTS|TRACE: what a program needs of any recorder, and no more. The program is many_stacks.c
 * with so many descents; or the calls of a trace, made anew with the stacks that they had. PART is
 *
 *     native     the program alone
 *     program    each allocation also walks the whole stack, finds the context of the frames that have changed, and
 *                writes an event; the events are dropped
 *     whole      the events also become tokens, definitions and ages, compressed as in a trace
 *
 * Prints the CPU nanoseconds and the bytes of a call. It does without what a recorder of real programs must have:
 * frames are found by frame pointers, there is one thread, a stack that cannot be read ends it, nothing is lost, timed,
 * checked, forgotten or put into a file, and both sides are one process. Of a trace, the program does nothing else, so
 * that it leaves the caches to the recorder. Live blocks have a place for each 16 bytes of the heap, which is found by one
 * look, and takes half as much memory as the heap.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <zstd.h>

#include "mstrace.h"

#define DEPTH 2048u
#define CONTEXTS (1u << 22)
#define FIRST_BUCKETS (1u << 12)
#define RING_WORDS 8192u
#define CHUNK 262144u
#define LEVEL 5
#define FREE 1u
#define ORDINAL_BITS 40u
#define AREA_BITS 16u /* of address space, whose blocks have places in a row */
#define AREA_PLACES (1u << (AREA_BITS - 4))
#define AREAS (1u << 18)
#define SLAB (1024 * (size_t)AREA_PLACES)

static enum { NATIVE, PROGRAM, WHOLE } part;

static uint64_t mixed_word(uint64_t word)
{
	word *= 0x9e3779b97f4a7c15u;
	return word ^ word >> 32;
}

static void *allocated(size_t n, size_t size)
{
	void *const items = calloc(n, size);

	if (!items)
		abort();
	return items;
}

/* ---- the program's side ---- */

static struct context {
	uintptr_t pc;
	uint32_t parent;
} contexts[CONTEXTS];
static uint32_t n_contexts = 1, emitted = 1;
static uint32_t *context_index, context_mask; /* at least twice as many buckets as contexts */

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

static inline uint32_t *context_bucket(uint32_t parent, uintptr_t pc)
{
	return &context_index[(uint32_t)mixed_word(pc * 0x9e3779b97f4a7c15u + parent) & context_mask];
}

static inline uint32_t *next_bucket(uint32_t *bucket)
{
	return bucket == &context_index[context_mask] ? context_index : bucket + 1;
}

static void grow_context_index(void)
{
	free(context_index);
	context_mask = context_mask ? 2 * context_mask + 1 : FIRST_BUCKETS - 1;
	context_index = allocated(context_mask + 1, sizeof(*context_index));
	for (uint32_t i = 1; i < n_contexts; i++) {
		uint32_t *bucket = context_bucket(contexts[i].parent, contexts[i].pc);

		while (*bucket)
			bucket = next_bucket(bucket);
		*bucket = i;
	}
}

static uint32_t context_of(uint32_t parent, uintptr_t pc)
{
	uint32_t *bucket;

	if (parent && parent + 1 < n_contexts && is_context(parent + 1, parent, pc))
		return parent + 1;
	if (2 * n_contexts > context_mask)
		grow_context_index();
	bucket = context_bucket(parent, pc);
	for (; *bucket; bucket = next_bucket(bucket))
		if (is_context(*bucket, parent, pc))
			return *bucket;
	if (n_contexts == CONTEXTS)
		abort();
	contexts[n_contexts] = (struct context){ pc, parent };
	return *bucket = n_contexts++;
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

static inline void record_alloc(const void *block, size_t size, const uintptr_t *frame)
{
	const uint32_t context = context_at(frame);

	if (n_ring + 2 > RING_WORDS || emitted != n_contexts)
		drain();
	put((uint64_t)(size < UINT32_MAX ? size : UINT32_MAX) << 32 | (uint64_t)context << 8);
	put((uintptr_t)block);
}

static inline void record_free(const void *block)
{
	if (n_ring == RING_WORDS)
		drain();
	put((uint64_t)(uintptr_t)block << 8 | FREE);
}

static __attribute__((noinline)) void *recorded_malloc(size_t size)
{
	void *const block = malloc(size);

	if (part != NATIVE)
		record_alloc(block, size, __builtin_frame_address(0));
	return block;
}

static __attribute__((noinline)) void recorded_free(void *block)
{
	if (part != NATIVE)
		record_free(block);
	free(block);
}

/* ---- the collector's side: columns ---- */

struct column {
	uint8_t *bytes;
	size_t n, room;
};

static struct column records, ages, definitions;
static ZSTD_CCtx *zstd;
static uint64_t written;

static inline void *room_for(struct column *column, size_t n)
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

/* ---- kinds and blocks ---- */

static struct kind {
	uint32_t context, size;
} kinds[CONTEXTS];
static uint32_t n_kinds = 1, last_kind[CONTEXTS]; /* the latter by context */
static uint32_t *kind_index, kind_mask;           /* at least twice as many buckets as kinds */

static struct number {
	uint32_t epoch, token;
	uint64_t last; /* of ALLOC: blocks so far; of FREE: the age last written */
} numbers[CONTEXTS][2];
static uint32_t n_tokens, epoch = 1;

/* Places of the live blocks at each 16th address of an area: kind << ORDINAL_BITS | ordinal, 0: none. */
static struct area {
	uint64_t number;
	uint64_t *places; /* NULL: the bucket is free */
} areas[AREAS];

static inline bool is_kind(uint32_t kind, uint32_t context, uint32_t size)
{
	return kinds[kind].context == context && kinds[kind].size == size;
}

static inline uint32_t kind_home(uint32_t context, uint32_t size)
{
	return (uint32_t)mixed_word((uint64_t)context << 32 | size) & kind_mask;
}

static void grow_kind_index(void)
{
	free(kind_index);
	kind_mask = kind_mask ? 2 * kind_mask + 1 : FIRST_BUCKETS - 1;
	kind_index = allocated(kind_mask + 1, sizeof(*kind_index));
	for (uint32_t i = 1; i < n_kinds; i++) {
		uint32_t at = kind_home(kinds[i].context, kinds[i].size);

		while (kind_index[at])
			at = (at + 1) & kind_mask;
		kind_index[at] = i;
	}
}

/* A context's kind that is not its last one. */
static uint32_t find_kind(uint32_t context, uint32_t size)
{
	uint32_t at;

	if (2 * n_kinds > kind_mask)
		grow_kind_index();
	for (at = kind_home(context, size); kind_index[at]; at = (at + 1) & kind_mask)
		if (is_kind(kind_index[at], context, size))
			return kind_index[at];
	if (n_kinds == CONTEXTS)
		abort();
	kinds[n_kinds] = (struct kind){ context, size };
	put_varint(&definitions, context);
	put_varint(&definitions, size);
	return kind_index[at] = n_kinds++;
}

/* Fresh memory, of which only what is written exists: a table of a heap is as sparse as the heap. */
static uint64_t *new_places(void)
{
	static uint64_t *next, *end;

	if (next == end) {
		next = mmap(NULL, SLAB * sizeof(*next), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (next == MAP_FAILED)
			abort();
		end = next + SLAB;
	}
	next += AREA_PLACES;
	return next - AREA_PLACES;
}

static inline uint64_t *place_of(uint64_t address)
{
	const uint64_t number = address >> AREA_BITS;
	uint64_t i = mixed_word(number) % AREAS;

	while (areas[i].places && areas[i].number != number)
		i = (i + 1) % AREAS;
	if (!areas[i].places)
		areas[i] = (struct area){ number, new_places() };
	return &areas[i].places[address >> 4 & (AREA_PLACES - 1)];
}

/* ---- the collector's side: events ---- */

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
		put_varint(&definitions, (uint64_t)kind << 1 | role);
		if (role)
			number->last = 1;
	}
	const uint16_t token = (uint16_t)number->token;
	memcpy(room_for(&records, sizeof(token)), &token, sizeof(token));
	records.n += sizeof(token);
}

static inline void take_alloc(uint32_t context, uint32_t size, uint64_t address)
{
	uint32_t kind = last_kind[context];

	if (!kind || !is_kind(kind, context, size))
		last_kind[context] = kind = find_kind(context, size);
	*place_of(address) = (uint64_t)kind << ORDINAL_BITS | numbers[kind][0].last++;
	put_token(&numbers[kind][0], kind, 0);
}

static inline void take_free(uint64_t address)
{
	uint64_t *const place = place_of(address);
	const uint32_t kind = (uint32_t)(*place >> ORDINAL_BITS);
	struct number *const number = &numbers[kind][1];
	uint64_t age;

	if (!kind)
		abort();
	put_token(number, kind, 1);
	age = numbers[kind][0].last - (*place & (((uint64_t)1 << ORDINAL_BITS) - 1));
	put_varint(&ages, zigzag((int64_t)(age - number->last)));
	number->last = age;
	*place = 0;
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

/* ---- a program: many stacks ---- */

int many_stacks(int argc, char **argv);

#define malloc recorded_malloc
#define free recorded_free
#define main many_stacks
#include "many_stacks.c"
#undef main
#undef malloc
#undef free

/* ---- a program: a trace's ---- */

#define FRAME_WORDS 8u

/* A call that gives a block of a stack, or takes one; a realloc is both. */
struct call {
	uint32_t stack, size; /* stack is MST_NONE: it takes one */
	uint32_t block;
};

static struct {
	struct call *calls;
	size_t n, room;
	void **blocks; /* by index */
	struct mst_stack *stacks;
	uint32_t *depths;
	uintptr_t *pcs; /* by frame */
} program;

/* The present stack: frames with the next outer one's place and a pc, the outermost at the end. */
static uintptr_t stack[DEPTH * FRAME_WORDS];
static uint32_t placed[DEPTH]; /* stacks that frames are of, outermost first */

static void add_call(struct call call)
{
	if (program.n == program.room) {
		program.room = program.room ? 2 * program.room : 1u << 20;
		program.calls = realloc(program.calls, program.room * sizeof(*program.calls));
		if (!program.calls)
			abort();
	}
	program.calls[program.n++] = call;
}

/* Blocks from before the trace and unknown ones are left out. */
static void read_chunk(const struct mst_chunk *chunk, const struct mst_kind *of_kinds)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;

	while (mst_cursor_next(&cursor, &e)) {
		const bool gives = e.type == MST_EVENT_ALLOC || e.type == MST_EVENT_RESIZE;
		const bool takes = e.type == MST_EVENT_FREE || e.type == MST_EVENT_RESIZE;

		if (gives && of_kinds[e.kind].op != MST_OP_UNKNOWN && of_kinds[e.kind].size < UINT32_MAX)
			add_call((struct call){ of_kinds[e.kind].stack, (uint32_t)of_kinds[e.kind].size,
						(uint32_t)e.index });
		if (takes && e.old_index < UINT32_MAX)
			add_call((struct call){ .stack = MST_NONE, .block = (uint32_t)e.old_index });
	}
}

static void copy_stacks(struct mst_reader *reader)
{
	uint32_t n, n_frames;
	const struct mst_stack *const stacks = mst_reader_stacks(reader, &n);
	const struct mst_frame *const frames_of = mst_reader_frames(reader, &n_frames);

	program.stacks = allocated(n, sizeof(*program.stacks));
	program.depths = allocated(n, sizeof(*program.depths));
	program.pcs = allocated(n_frames + 1, sizeof(*program.pcs));
	memcpy(program.stacks, stacks, n * sizeof(*stacks));
	for (uint32_t i = 1; i < n; i++)
		program.depths[i] = program.depths[stacks[i].parent] + 1;
	for (uint32_t i = 0; i < n_frames; i++)
		program.pcs[i] = ((uintptr_t)frames_of[i].module << 40) + frames_of[i].address;
}

static bool read_program(const char *name)
{
	const int fd = open(name, O_RDONLY | O_CLOEXEC);
	const struct mst_chunk *chunk;
	struct mst_reader *reader = NULL;
	uint64_t blocks = 0;
	uint32_t n;
	int got = mst_reader_create(&reader, fd);

	while (got >= 0 && (got = mst_reader_next(reader, &chunk)) == 1) {
		read_chunk(chunk, mst_reader_kinds(reader, &n));
		blocks = chunk->first_alloc + chunk->n_records;
	}
	if (got == 0) {
		copy_stacks(reader);
		program.blocks = allocated(blocks + 1, sizeof(*program.blocks));
	}
	mst_reader_destroy(reader);
	return got == 0;
}

/* Makes a stack the present one; returns its innermost frame. */
static inline const uintptr_t *place_stack(uint32_t number)
{
	uint32_t depth = program.depths[number] < DEPTH ? program.depths[number] : DEPTH - 1;
	const uintptr_t *const innermost = &stack[(DEPTH - depth) * FRAME_WORDS];

	for (; depth > 0 && placed[depth - 1] != number; number = program.stacks[number].parent) {
		uintptr_t *const frame = &stack[(DEPTH - depth) * FRAME_WORDS];

		placed[--depth] = number;
		frame[0] = (uintptr_t)(frame + FRAME_WORDS);
		frame[1] = program.pcs[program.stacks[number].frame];
	}
	return innermost;
}

static void run_program(void)
{
	outermost = stack + DEPTH * FRAME_WORDS;
	for (size_t i = 0; i < program.n; i++) {
		const struct call *const call = &program.calls[i];
		void **const block = &program.blocks[call->block];

		if (call->stack != MST_NONE) {
			const uintptr_t *const frame = place_stack(call->stack);

			*block = malloc(call->size);
			if (part != NATIVE)
				record_alloc(*block, call->size, frame);
		} else if (*block) {
			if (part != NATIVE)
				record_free(*block);
			free(*block);
			*block = NULL;
		}
	}
}

/* ---- measuring ---- */

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	static const char *const parts[] = { "native", "program", "whole" };
	const bool is_loop = argc == 3 && atol(argv[2]) > 0;
	double begin, calls;

	if (argc != 3 || (!is_loop && !read_program(argv[2]))) {
		fprintf(stderr, "usage: recording_floor native|program|whole DESCENTS|TRACE\n");
		return 2;
	}
	while (part < WHOLE && strcmp(argv[1], parts[part]) != 0)
		part++;
	zstd = ZSTD_createCCtx();
	if (!zstd)
		return 1;
	begin = cpu_ns();
	outermost = __builtin_frame_address(0);
	if (!is_loop)
		run_program();
	else if (many_stacks(2, &argv[1]) != 0)
		return 1;
	drain();
	end_chunk();
	calls = is_loop ? 2 * PAIRS * atof(argv[2]) : (double)program.n;
	printf("ns=%.1f bytes=%.2f contexts=%u calls=%.0f\n", (cpu_ns() - begin) / calls,
	       (double)written / calls, n_contexts, calls);
	return 0;
}
