/* SPDX-License-Identifier: MIT */
/*
 * Both sides of the rings in one process and one mapping, so that ThreadSanitizer sees every access of both: threads
 * record invented calls, the main thread drains them into a trace. Then the test reads the trace and compares it with
 * the notes of each thread.
 *
 * Sizes are unique: the number of the thread in the upper half, the number of the call in the lower. So sizes identify
 * blocks in the trace, which has no addresses.
 */
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "mst_writer.h"
#include "next_malloc.h"
#include "os.h"
#include "recorder.h"
#include "shm.h"
#include "tracee.h"

#define WORKERS 4u
#define CALLS 12000u  /* of a worker: many times what its ring holds */
#define INTERVAL 400u /* a worker's calls between two short-lived threads */
#define SHORT_CALLS 25u
#define THREADS (WORKERS * (1 + CALLS / INTERVAL))
#define ADDRESSES 64u  /* few, so that they come back at once */
#define LARGE_RINGS 2u /* large rings of threads; then come small ones ... */
#define SMALL_RINGS (shm_ring_classes[SHM_RING_CLASSES - 1].first) /* ... from this ring id on */
#define MARGIN 20000u /* in stamps: msrec's distance from the present */
#define DEPTH 32u

#define CHECK(what)                                                                                          \
	do {                                                                                                 \
		if (!(what)) {                                                                               \
			fprintf(stderr, "test_rings: line %d: not so: %s\n", __LINE__, #what);               \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

/* A call as its thread remembers it; sizes name blocks, 0: none. */
struct note {
	uint64_t gone, come;
	uintptr_t from, to; /* their addresses */
	uint8_t op;
	uint8_t depth; /* calls of record() on its stack */
};

struct block {
	uintptr_t address;
	uint64_t size; /* 0: not allocated */
};

struct account {
	uint32_t tid;
	uint32_t n, calls;
	struct note *notes; /* [n] of [calls] */
	struct block own;   /* used by this thread alone */
	uint32_t checked;   /* found in the trace so far */
	bool in_trace;
};

/* Shared by the threads: an allocator without memory, and blocks that any thread may free. */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t unused[ADDRESSES];
static uint32_t n_unused;
static struct block common[ADDRESSES];
static uint32_t n_common;

static struct account accounts[THREADS];
static _Atomic uint32_t n_accounts, n_running;
static struct shm_family *family;
static bool free_stacks;

static uintptr_t nth_address(uint32_t i)
{
	return 0x10000 + 16 * (uintptr_t)i;
}

/* ---- the program ---- */

/* 0: all are in use. */
static uintptr_t take_address(void)
{
	uintptr_t address = 0;

	pthread_mutex_lock(&pool_lock);
	if (n_unused)
		address = unused[--n_unused];
	pthread_mutex_unlock(&pool_lock);
	return address;
}

static void give_address(uintptr_t address)
{
	pthread_mutex_lock(&pool_lock);
	unused[n_unused++] = address;
	pthread_mutex_unlock(&pool_lock);
}

static bool take_common(struct block *block)
{
	bool any;

	pthread_mutex_lock(&pool_lock);
	any = n_common != 0;
	if (any)
		*block = common[--n_common];
	pthread_mutex_unlock(&pool_lock);
	return any;
}

static void give_common(const struct block *block)
{
	pthread_mutex_lock(&pool_lock);
	common[n_common++] = *block;
	pthread_mutex_unlock(&pool_lock);
}

static uint64_t next_size(const struct account *a)
{
	return (uint64_t)(a - accounts + 1) << 32 | (a->n + 1);
}

/* Stacks of different depths, so that nodes are emitted and used again. */
static __attribute__((noinline)) void record(const struct call *call, unsigned depth)
{
	if (depth)
		record(call, depth - 1);
	else if (call->op == MST_OP_FREE)
		recorder_free(&(const struct call){ .op = MST_OP_FREE, .result = call->old }, CALLER_REGS());
	else
		recorder_alloc(call, CALLER_REGS());
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static struct block do_alloc(struct account *a, uintptr_t address)
{
	const struct call call = { .op = MST_OP_MALLOC, .result = (void *)address, .size = next_size(a) };
	const uint8_t depth = a->n % 7;

	record(&call, depth);
	a->notes[a->n++] = (struct note){
		.op = call.op,
		.come = address ? call.size : 0,
		.to = address,
		.depth = depth,
	};
	return (struct block){ address, call.size };
}

static void do_free(struct account *a, const struct block *block)
{
	const struct call call = { .op = MST_OP_FREE, .old = (void *)block->address };
	const uint8_t depth = a->n % 6;

	record(&call, depth);
	a->notes[a->n++] = (struct note){
		.op = call.op,
		.gone = block->size,
		.from = block->address,
		.depth = depth,
	};
}

/* A realloc that moves if there is another address. Another thread may have the old one long before the realloc's record. */
static struct block do_realloc(struct account *a, const struct block *old)
{
	const uintptr_t other = take_address(), address = other ? other : old->address;
	const struct call call = {
		.op = other ? MST_OP_REALLOC_MOVED : MST_OP_REALLOC_IN_PLACE,
		.result = (void *)address,
		.old = (void *)old->address,
		.size = next_size(a),
	};
	const uint8_t depth = a->n % 5;

	recorder_moving(call.old);
	if (other)
		give_address(old->address);
	if (a->n % 64 == 0)
		usleep(100);
	record(&call, depth);
	a->notes[a->n++] = (struct note){
		.op = call.op,
		.gone = old->size,
		.come = call.size,
		.from = old->address,
		.to = address,
		.depth = depth,
	};
	return (struct block){ address, call.size };
}

/* Without the pool's lock, which would order the threads. */
static void own_step(struct account *a)
{
	if (a->own.size) {
		do_free(a, &a->own);
		a->own.size = 0;
	} else {
		a->own = do_alloc(a, nth_address(ADDRESSES + (uint32_t)(a - accounts)));
	}
}

static void common_step(struct account *a)
{
	const uintptr_t address = a->n % 3 ? take_address() : 0;
	struct block block;

	if (address) {
		block = do_alloc(a, address);
		give_common(&block);
	} else if (!take_common(&block)) {
		do_alloc(a, 0); /* fails */
	} else if (a->n % 4 == 0) {
		block = do_realloc(a, &block);
		give_common(&block);
	} else {
		do_free(a, &block);
		give_address(block.address);
	}
}

static struct account *open_account(uint32_t calls)
{
	struct account *a = &accounts[atomic_fetch_add(&n_accounts, 1)];

	a->tid = os_tid();
	a->calls = calls;
	a->notes = calloc(calls, sizeof(*a->notes));
	CHECK(a->notes);
	return a;
}

static void run_step(struct account *a)
{
	if (a->n / 16 % 2 == 0)
		own_step(a);
	else
		common_step(a);
	recorder_null_free();
}

/*
 * The kernel marks a thread's mutex after the thread's last access, and msrec reads the ring's head after it saw the
 * mark. ThreadSanitizer does not know the kernel's part; these atomics show it the order.
 */
static void end_thread(void)
{
	struct shm_segment *segment = shm_segment(family, 0);
	const uint32_t n = atomic_load(&segment->rings_used);

	for (uint32_t i = 0; i < n; i++)
		atomic_fetch_add_explicit(&segment->rings[i].head, 0, memory_order_release);
}

static void *run_short(void *unused_argument)
{
	struct account *a = open_account(SHORT_CALLS);

	(void)unused_argument;
	while (a->n < a->calls)
		run_step(a);
	end_thread();
	return NULL;
}

static void *run_worker(void *unused_argument)
{
	struct account *a = open_account(CALLS);
	pthread_t thread;
	bool yes;

	(void)unused_argument;
	/* All workers try to set up the process; one does it, the others go on unrecorded meanwhile. */
	do
		recorder_after_fork();
	while (!recorder_traces_children(&yes));
	while (a->n < a->calls) {
		run_step(a);
		if (a->n % INTERVAL == 0) {
			CHECK(pthread_create(&thread, NULL, run_short, NULL) == 0);
			CHECK(pthread_join(thread, NULL) == 0);
		}
	}
	atomic_fetch_sub(&n_running, 1);
	end_thread();
	return NULL;
}

/* ---- msrec ---- */

/* Replaces os_map_shared() (by the linker's --wrap): returns parts of the one mapping. */
void *__wrap_os_map_shared(const char *path, uint64_t offset, uint64_t bytes, int protection);
void *__wrap_os_map_shared(const char *path, uint64_t offset, uint64_t bytes, int protection)
{
	(void)path;
	(void)protection;
	return offset + bytes <= shm_bytes(1) ? (char *)family + offset : NULL;
}

/* Makes the family as the collector does, but with a single segment, most of whose large rings are taken. */
static void make_family(void)
{
	family = mmap(NULL, shm_bytes(1), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	CHECK(family != MAP_FAILED);
	*family = (struct shm_family){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.depth = DEPTH,
		.use_tsc = clock_tsc_usable(),
		.free_stacks = free_stacks,
	};
	shm_lock_for_life(&family->collector);
	for (uint32_t i = LARGE_RINGS; i < SMALL_RINGS; i++)
		atomic_store(&shm_segment(family, 0)->rings[i].state, SHM_RING_CLAIMED);
	CHECK(setenv(SHM_ENV, "the one mapping", 1) == 0);
}

static struct mst_writer *make_writer(int fd)
{
	const struct mst_file_info info = {
		.pid = os_pid(),
		.machine = EM_X86_64,
		.page_size = 4096,
		.recorder = "test_rings",
		.exe = "/test_rings",
		.cwd = "/",
	};
	const struct mst_writer_options options = { .identity = true };
	struct mst_writer *writer;

	CHECK(mst_writer_create(&writer, fd, &info, &options) == 0);
	return writer;
}

/* Drains now with pauses, so that rings fill up, now at every record. */
static void drain(struct tracee *tracee, struct clock *clock)
{
	for (unsigned round = 0; atomic_load(&n_running); round++) {
		CHECK(tracee_drain(tracee, clock, clock_sample(clock) - MARGIN) >= 0);
		if (round / 64 % 2)
			usleep(500);
	}
}

static void drain_rest(struct tracee *tracee, struct clock *clock)
{
	int64_t n;

	do {
		clock_sample(clock);
		n = tracee_drain(tracee, clock, UINT64_MAX);
		CHECK(n >= 0);
	} while (n);
}

static void finish(struct tracee *tracee)
{
	struct mst_end end = { .reason = MST_END_EXIT };

	tracee_end(tracee, &end);
	CHECK(end.lost == 0 && end.unknown_frees == 0 && end.implied_frees == 0);
	CHECK(mst_writer_finish(tracee_writer(tracee), &end) == 0);
	tracee_destroy(tracee);
}

static void record_all(int fd)
{
	struct shm_segment *segment = shm_segment(family, 0);
	struct mst_writer *writer = make_writer(fd);
	pthread_t threads[WORKERS];
	struct tracee *tracee;
	struct clock clock;

	clock_start(&clock, family->use_tsc);
	atomic_store(&n_running, WORKERS);
	for (uint32_t i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&threads[i], NULL, run_worker, NULL) == 0);
	while (atomic_load(&family->states[0]) != SHM_SEGMENT_LIVE)
		sched_yield();
	tracee = tracee_create(segment, writer, DEPTH, false);
	CHECK(tracee);
	drain(tracee, &clock);
	for (uint32_t i = 0; i < WORKERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	drain_rest(tracee, &clock);
	CHECK(atomic_load(&segment->rings_used) > SMALL_RINGS);
	finish(tracee);
}

/* ---- the trace ---- */

struct reading {
	struct mst_reader *reader;
	const struct mst_kind *kinds;
	const struct mst_thread *threads;
	struct account *accounts[THREADS];  /* by the trace's threads */
	uint64_t live[ADDRESSES + THREADS]; /* size by address */
	uint64_t displaced
		[THREADS]; /* blocks of reallocs whose records come when another thread has the address */
	uint32_t n_displaced;
	uint64_t *sizes; /* by index */
	uint64_t events, null_frees;
};

/* A thread's first call names the thread. */
static struct account *account_of(struct reading *r, const struct mst_event *e)
{
	struct account *a;
	uint64_t i;

	CHECK(e->thread < THREADS);
	a = r->accounts[e->thread];
	if (a)
		return a;
	CHECK(e->type == MST_EVENT_ALLOC);
	i = (r->kinds[e->kind].size >> 32) - 1;
	CHECK(i < THREADS);
	a = r->accounts[e->thread] = &accounts[i];
	CHECK(!a->in_trace && a->tid == r->threads[e->thread].tid);
	a->in_trace = true;
	return a;
}

static uint64_t *live_at(struct reading *r, uintptr_t address)
{
	const uintptr_t i = (address - nth_address(0)) / 16;

	CHECK(i < ADDRESSES + THREADS);
	return &r->live[i];
}

static void take_displaced(struct reading *r, const struct note *note)
{
	uint32_t i = 0;

	CHECK(note->come);
	while (i < r->n_displaced && r->displaced[i] != note->gone)
		i++;
	CHECK(i < r->n_displaced);
	r->displaced[i] = r->displaced[--r->n_displaced];
}

static void check_gone(struct reading *r, const struct note *note, const struct mst_event *e)
{
	uint64_t *live = live_at(r, note->from);

	CHECK(r->kinds[e->old_kind].size == note->gone);
	CHECK(r->sizes[e->old_index] == note->gone);
	if (*live == note->gone)
		*live = 0;
	else
		take_displaced(r, note);
}

static void check_come(struct reading *r, const struct note *note, const struct mst_event *e)
{
	uint64_t *live = live_at(r, note->to);

	if (*live) {
		CHECK(r->n_displaced < THREADS);
		r->displaced[r->n_displaced++] = *live;
	}
	*live = note->come;
	r->sizes[e->index] = note->come;
}

static void check_stack(struct reading *r, const struct mst_kind *kind, const struct note *note)
{
	const struct mst_stack *stacks = mst_reader_stacks(r->reader, &(uint32_t){ 0 });
	uint32_t frames = 0;

	for (uint32_t s = kind->stack; s != MST_ROOT_STACK; s = stacks[s].parent)
		frames++;
	CHECK(frames > note->depth && frames <= DEPTH);
}

static void check_event(struct reading *r, const struct mst_event *e)
{
	struct account *a = account_of(r, e);
	const struct note *note;
	enum mst_event_type type;

	CHECK(a->checked < a->n);
	note = &a->notes[a->checked++];
	if (note->gone)
		type = note->come ? MST_EVENT_RESIZE : MST_EVENT_FREE;
	else
		type = note->come ? MST_EVENT_ALLOC : MST_EVENT_CALL;
	CHECK(e->type == type);
	if (note->gone)
		check_gone(r, note, e);
	if (note->come)
		check_come(r, note, e);
	if (note->op == MST_OP_FREE && !free_stacks) {
		CHECK(e->kind == MST_NONE);
	} else {
		const struct mst_kind *kind = &r->kinds[e->kind];
		const uint64_t size = (uint64_t)(a - accounts + 1) << 32 | a->checked;

		/* The size identifies a failed call, too. */
		CHECK(kind->op == note->op);
		CHECK(kind->size == (note->op == MST_OP_FREE ? 0 : size));
		check_stack(r, kind, note);
	}
}

static void read_all(struct reading *r)
{
	const struct mst_chunk *chunk;
	int err;

	while ((err = mst_reader_next(r->reader, &chunk)) > 0) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event event;
		uint32_t n;

		r->kinds = mst_reader_kinds(r->reader, &n);
		r->threads = mst_reader_threads(r->reader, &n);
		for (; mst_cursor_next(&cursor, &event); r->events++)
			check_event(r, &event);
		r->null_frees += chunk->sums.null_frees;
	}
	CHECK(err == 0);
}

static void check_all(int fd)
{
	struct reading r = { .sizes = calloc(WORKERS * CALLS + THREADS * SHORT_CALLS, sizeof(*r.sizes)) };
	uint64_t calls = 0;

	CHECK(r.sizes);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(mst_reader_create(&r.reader, fd) == 0);
	read_all(&r);
	for (uint32_t i = 0; i < THREADS; i++) {
		CHECK(accounts[i].in_trace && accounts[i].checked == accounts[i].n);
		calls += accounts[i].n;
		free(accounts[i].notes);
	}
	CHECK(r.events == calls && r.null_frees == calls && r.n_displaced == 0);
	CHECK(mst_reader_end(r.reader)->events == 2 * calls);
	printf("%u threads, %llu calls, all there\n", THREADS, (unsigned long long)calls);
	mst_reader_destroy(r.reader);
	free(r.sizes);
}

/* With an argument, frees have stacks. */
int main(int argc, char **argv)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	(void)argv;
	free_stacks = argc > 1;
	CHECK(fd >= 0 && next_resolve());
	make_family();
	while (n_unused < ADDRESSES) {
		unused[n_unused] = nth_address(n_unused);
		n_unused++;
	}
	record_all(fd);
	check_all(fd);
	close(fd);
	return 0;
}
