/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD: what threads need of any recorder that knows the order of their calls, and no more. Each
 * malloc, calloc, realloc and free becomes an event of two words in a ring of its thread's; one more thread reads all
 * rings. THREADS_FLOOR says how much of it is done:
 *
 *     rings     events have no stamp, and are copied away
 *     stamps    events have the time-stamp counter, read as the recorder reads it
 *     blocks    and the reader finds the block of each free in a table
 *
 * There are no stacks, and nothing is merged, compressed, written, lost or checked. At the end stderr has the number of
 * events and the reader's CPU nanoseconds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#define RINGS 4096u
#define RING_WORDS 8192u /* 64 KiB, as the recorder's wrap */
#define FREE 1u
#define AREA_BITS 16u /* of address space, whose blocks have places in a row */
#define AREA_PLACES (1u << (AREA_BITS - 4))
#define AREAS (1u << 16)

struct ring {
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint64_t tail;
	_Alignas(64) uint64_t at, room_until;
	uint64_t words[RING_WORDS];
};

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static struct ring *_Atomic rings[RINGS];
static _Atomic uint32_t n_rings;
static __thread __attribute__((tls_model("initial-exec"))) struct ring *own;
static enum { OFF, RINGS_ONLY, STAMPS, BLOCKS } part;
static pthread_t reader;
static _Atomic bool ended;
static uint64_t log_words[1u << 15], events, blocks_found;
static struct {
	uint64_t key;
	uint64_t *places;
} areas[AREAS];

static void *mapped(size_t size)
{
	void *const space =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (space == MAP_FAILED)
		abort();
	return space;
}

/* ---- the program's threads ---- */

static __attribute__((noinline)) struct ring *begin_ring(void)
{
	const uint32_t i = n_rings++;

	if (i >= RINGS)
		abort();
	own = mapped(sizeof(*own));
	own->room_until = RING_WORDS;
	rings[i] = own;
	return own;
}

static __attribute__((noinline)) void wait_for_room(struct ring *ring)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	const int saved = errno;

	while ((ring->room_until = ring->tail + RING_WORDS) < ring->at + 4)
		nanosleep(&pause, NULL);
	errno = saved;
}

static void put(uint64_t word, const void *address)
{
	struct ring *const ring = own ? own : begin_ring();
	const uint64_t at = ring->at;
	unsigned cpu;

	if (__builtin_expect(ring->room_until < at + 4, 0))
		wait_for_room(ring);
	/* Pairs of words never straddle the end. */
	ring->words[at % RING_WORDS] = part >= STAMPS ? word ^ __rdtscp(&cpu) << 32 : word;
	ring->words[at % RING_WORDS + 1] = (uintptr_t)address << 1 | (word & FREE);
	ring->at = at + 2;
	atomic_store_explicit(&ring->head, at + 2, memory_order_release);
}

void *malloc(size_t size)
{
	void *const block = __libc_malloc(size);

	if (part)
		put(size << 1, block);
	return block;
}

void *calloc(size_t n, size_t size)
{
	void *const block = __libc_calloc(n, size);

	if (part)
		put(n * size << 1, block);
	return block;
}

void free(void *block)
{
	if (part && block)
		put(FREE, block);
	__libc_free(block);
}

void *realloc(void *block, size_t size)
{
	if (part && block)
		put(FREE, block);
	block = __libc_realloc(block, size);
	if (part)
		put(size << 1, block);
	return block;
}

/* ---- the reader ---- */

static uint64_t *place_of(uint64_t address)
{
	const uint64_t key = (address >> AREA_BITS) + 1;
	uint64_t i = key * 0x9e3779b97f4a7c15u >> 48;

	while (areas[i].key != key && areas[i].key)
		i = (i + 1) % AREAS;
	if (!areas[i].key) {
		areas[i].key = key;
		areas[i].places = mapped(AREA_PLACES * sizeof(uint64_t));
	}
	return &areas[i].places[address >> 4 & (AREA_PLACES - 1)];
}

static void follow(const uint64_t *event)
{
	uint64_t *const place = place_of(event[1] >> 1);

	if (event[1] & FREE) {
		blocks_found += *place != 0;
		*place = 0;
	} else {
		*place = event[0] | 1;
	}
}

static bool read_ring(struct ring *ring)
{
	const uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire), tail = ring->tail;

	for (uint64_t at = tail; at < head; at += 2) {
		const uint64_t *const event = &ring->words[at % RING_WORDS];

		memcpy(&log_words[2 * events++ % (sizeof(log_words) / sizeof(log_words[0]))], event, 16);
		if (part == BLOCKS)
			follow(event);
	}
	atomic_store_explicit(&ring->tail, head, memory_order_release);
	return head != tail;
}

static void *read_all(void *unused)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (;;) {
		const bool last = ended;
		bool any = false;

		for (uint32_t i = 0; i < n_rings; i++)
			any |= rings[i] && read_ring(rings[i]);
		if (last)
			return unused;
		if (!any)
			nanosleep(&pause, NULL);
	}
}

static __attribute__((constructor)) void begin(void)
{
	static const char *const names[] = { "", "rings", "stamps", "blocks" };
	const char *const wanted = getenv("THREADS_FLOOR");

	if (pthread_create(&reader, NULL, read_all, NULL) != 0)
		abort();
	for (unsigned i = RINGS_ONLY; i <= BLOCKS; i++) {
		if (wanted && strcmp(wanted, names[i]) == 0)
			part = i;
	}
}

static __attribute__((destructor)) void end(void)
{
	struct timespec spent = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(reader, &clock) == 0)
		clock_gettime(clock, &spent);
	ended = true;
	pthread_join(reader, NULL);
	part = OFF;
	fprintf(stderr, "events=%llu found=%llu reader=%llu\n", (unsigned long long)events,
		(unsigned long long)blocks_found,
		(unsigned long long)spent.tv_sec * 1000000000 + (unsigned long long)spent.tv_nsec);
}
