/* SPDX-License-Identifier: MIT */
/* A recorded process: its life, its forks, and its threads' rings. */
#include "tracee.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "tracee_state.h"

#define BEHIND 8u /* with this part of a ring unread, the program may soon have to wait */

/* ---- life ---- */

static void set_tables(struct tracee *t)
{
	t->frames.modules = shm_modules(t->segment);
	t->frames.scripts = shm_scripts(t->segment);
}

static struct tracee *tracee_alloc(struct shm_segment *segment)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->segment = segment;
	t->at_thread = MST_NONE;
	t->batch = INT64_MAX;
	t->kinds.bits = KIND_CACHE_FIRST_BITS;
	t->kinds.entries = calloc(1u << KIND_CACHE_FIRST_BITS, sizeof(*t->kinds.entries));
	t->freed = calloc(FREED_BLOCKS, sizeof(*t->freed));
	if (!t->kinds.entries || !t->freed ||
	    !array_reserve_zeroed(&t->consumers, 0, &t->consumers_room, sizeof(*t->consumers)) ||
	    frames_init(&t->frames) != 0) {
		tracee_destroy(t);
		return NULL;
	}
	if (segment)
		set_tables(t);
	return t;
}

struct tracee *tracee_create(struct shm_segment *segment, struct mst_writer *writer, uint32_t depth,
			     bool follows_pages)
{
	struct tracee *t = tracee_alloc(segment);

	if (!t)
		return NULL;
	t->depth = depth;
	if (follows_pages)
		t->pages = page_state_create();
	if (blocks_init(&t->blocks) != 0 || customs_init(&t->customs) != 0 || (follows_pages && !t->pages)) {
		tracee_destroy(t);
		return NULL;
	}
	t->writer = writer;
	t->has_file = true;
	return t;
}

void tracee_destroy(struct tracee *t)
{
	if (!t)
		return;
	tracee_forget_forks(t);
	for (uint32_t i = 0; i < t->n_consumers; i++)
		consumer_finish(&t->consumers[i]);
	mst_writer_destroy(t->writer);
	blocks_finish(&t->blocks);
	customs_finish(&t->customs);
	page_state_destroy(t->pages);
	tids_finish(&t->tids);
	asked_marks_finish(&t->asked);
	frames_finish(&t->frames);
	jit_growth_destroy(t->generated.growth);
	generated_finish(&t->generated);
	generated_finish(&t->former);
	free(t->kinds.entries);
	free(t->freed);
	free(t->consumers);
	free(t);
}

void tracee_follow_code(struct tracee *t, pid_t pid, uint64_t since)
{
	t->generated.pid = pid;
	t->generated.since = since;
}

const struct generated *tracee_generated(const struct tracee *t, const struct mst_writer *writer)
{
	return writer == t->writer ? &t->generated : &t->former;
}

struct mst_writer *tracee_writer(struct tracee *t)
{
	return t->writer;
}

void tracee_set_batch(struct tracee *t, uint32_t most)
{
	assert(most > 0);
	t->batch = most;
}

void tracee_set_start(struct tracee *t, uint64_t ns)
{
	t->start_ns = ns;
}

void tracee_set_process(struct tracee *t, pid_t pid, const char *exe)
{
	const char *slash = strrchr(exe, '/');

	t->pid = pid;
	strncpy(t->program, slash ? slash + 1 : exe, sizeof(t->program) - 1);
}

struct shm_segment *tracee_segment(struct tracee *t)
{
	return t->segment;
}

/* ---- forks ---- */

/* Addresses that no program has: half of the address space is the kernel's. */
#define NOWHERE ((uint64_t)1 << 63)
#define NOWHERE_DISTANCE 16u

/*
 * Blocks that other threads' reallocs had been given, and had not returned. The child keeps them for ever, but not at their
 * addresses: realloc may have given those up, and the thread that would know the new ones is not in the child.
 */
static int strand_moving(struct tracee *t, const struct tracee *parent)
{
	t->stranded = parent->stranded;
	for (uint32_t i = 0; i < parent->n_consumers; i++) {
		const struct consumer_moving *moving = &parent->consumers[i].moving;

		if (!moving->address)
			continue;
		switch (blocks_add(&t->blocks, NOWHERE + t->stranded++ * NOWHERE_DISTANCE, moving->block)) {
		case BLOCKS_NO_MEMORY:
			return MST_ERR_NOMEM;
		case BLOCKS_ADDED:
		case BLOCKS_LIVE: /* only if a program invented such an address */
			break;
		}
	}
	return 0;
}

/* The state that a child forked now begins with. It defines its modules itself. */
static struct tracee *copy_state(struct tracee *parent)
{
	struct tracee *t = tracee_alloc(NULL);

	if (!t)
		return NULL;
	t->depth = parent->depth;
	t->start_ns = parent->start_ns;
	t->timed_marks = parent->timed_marks;
	t->counts = parent->counts;
	t->counts.ringless = t->counts.ringless_before = 0; /* the child has its own segment */
	t->mapped = parent->mapped;
	t->exited = parent->exited;
	t->off = parent->off;
	t->was_off = parent->was_off;
	t->switched_off = parent->switched_off;
	t->instructions = parent->instructions;
	if (parent->pages)
		t->pages = page_state_copy(parent->pages);
	if ((parent->pages && !t->pages) || blocks_copy(&t->blocks, &parent->blocks) != 0 ||
	    strand_moving(t, parent) != 0 || customs_copy(&t->customs, &parent->customs) != 0 ||
	    !script_names_copy(&t->frames.script_names, &parent->frames.script_names) ||
	    mst_writer_fork_state(parent->writer, &t->writer) != 0) {
		tracee_destroy(t);
		return NULL;
	}
	return t;
}

void tracee_forget_fork(struct tracee *t, uint32_t number)
{
	tracee_destroy(fork_states_take(&t->forks, number));
}

void tracee_forget_forks(struct tracee *t)
{
	while (t->forks.n)
		tracee_forget_fork(t, t->forks.states[0].number);
}

bool tracee_awaits_room(const struct tracee *t)
{
	return fork_states_full(&t->forks);
}

bool tracee_holds_fork(const struct tracee *t)
{
	return t->forks.waits_ns;
}

void tracee_hold_no_longer(struct tracee *t, const struct clock *clock)
{
	if (fork_states_overdue(&t->forks, clock))
		tracee_forget_forks(t);
}

void tracee_keep_fork(struct tracee *t, uint32_t number)
{
	fork_states_add(&t->forks, number, copy_state(t));
}

bool tracee_knows_fork(const struct tracee *t, uint32_t number)
{
	return fork_states_has(&t->forks, number);
}

bool tracee_awaits_children(const struct tracee *t)
{
	return t->forks.n > 0;
}

struct tracee *tracee_create_child(struct shm_segment *segment, struct tracee *parent)
{
	const uint32_t fork = segment->parent_fork;
	struct tracee *t =
		tracee_knows_fork(parent, fork) ? fork_states_take(&parent->forks, fork) : copy_state(parent);

	if (t) {
		assert(!t->segment && !t->has_file);
		t->segment = segment;
		set_tables(t);
	}
	return t;
}

bool tracee_needs_file(struct tracee *t, bool ended)
{
	const uint32_t n = atomic_load(&t->segment->rings_used);

	if (t->has_file)
		return false;
	t->has_file = ended;
	for (uint32_t i = 0; i < n && i < SHM_RINGS && !t->has_file; i++) {
		struct shm_ring *ring = &t->segment->rings[i];

		if (atomic_load(&ring->head) != atomic_load(&ring->tail))
			t->has_file = true;
	}
	return t->has_file;
}

/* ---- rings ---- */

int tracee_find_thread(struct tracee *t, struct mst_writer *writer, uint32_t ring_id, uint32_t *thread)
{
	const struct shm_ring *ring = &t->segment->rings[ring_id];
	const struct mst_thread definition = { .tid = ring->tid };
	const uint32_t first = ring->within - 1;

	if (first >= ring_id || !t->consumers[first].thread.use)
		return mst_writer_thread(writer, &definition, thread);
	*thread = t->consumers[first].thread.id;
	return 0;
}

/* ---- names of threads ---- */

#define NAMES_MOST 256u /* threads that are looked at in one go */

int tracee_name_thread(struct tracee *t, struct consumer *consumer, const char name[SHM_NAME_BYTES])
{
	int err;

	if (!*name || strncmp(consumer->thread.name, name, SHM_NAME_BYTES) == 0)
		return 0;
	memcpy(consumer->thread.name, name, SHM_NAME_BYTES - 1);
	err = mst_writer_thread_name(t->writer, consumer->thread.id, mst_writer_time(t->writer),
				     consumer->thread.name);
	return err == MST_ERR_LIMIT ? 0 : err;
}

/*
 * A new thread has the name that was meant for it, its own, or, if it is gone already, that of the first thread, and that one
 * the program's.
 */
static int name_new_thread(struct tracee *t, struct consumer *consumer)
{
	const struct shm_ring *ring = consumer->ring;
	char name[SHM_NAME_BYTES] = "";

	memset(consumer->thread.name, 0, sizeof(consumer->thread.name));
	if (!early_names_take(&t->early_names, ring->pointer, name) &&
	    !thread_name_read(t->pid, t->segment->pid, ring->tid, name))
		memcpy(name, consumer == t->consumers ? t->program : t->consumers->thread.name, sizeof(name));
	return tracee_name_thread(t, consumer, name);
}

static bool is_living(const struct consumer *consumer)
{
	return consumer->ring && consumer->thread.use && !consumer_done(consumer);
}

/*
 * The consumer of the thread with that pthread_t at a stamp: it had begun and has not ended, or is yet to begin. The events
 * before the stamp have been taken, so a thread without any more has ended or makes no more calls. NULL: it has not appeared.
 */
static struct consumer *consumer_of(struct tracee *t, uint64_t pointer, uint64_t stamp)
{
	struct consumer *last = NULL, *next = NULL;

	for (uint32_t i = 0; i < t->n_consumers; i++) {
		struct consumer *consumer = &t->consumers[i];
		const struct shm_ring *ring = consumer->ring;

		if (!is_living(consumer) || ring->pointer != pointer || ring->within)
			continue;
		if (ring->began <= stamp && (!last || last->ring->began < ring->began))
			last = consumer;
		if (ring->began > stamp && (!next || next->ring->began > ring->began))
			next = consumer;
	}
	return last ? last : next;
}

int tracee_rename(struct tracee *t, struct consumer *by, uint64_t pointer, uint64_t stamp,
		  const char name[SHM_NAME_BYTES])
{
	struct consumer *const consumer =
		by->ring->pointer == pointer && !by->ring->within ? by : consumer_of(t, pointer, stamp);

	if (consumer)
		return tracee_name_thread(t, consumer, name);
	early_names_add(&t->early_names, pointer, name);
	return 0;
}

/* The same of threads with one ring for all. */
static int look_at_tids(struct tracee *t)
{
	int err = 0;

	for (uint32_t i = 0; i < t->tids.n && i < NAMES_MOST && !err; i++) {
		struct tid *const tid = &t->tids.items[t->tids.n - 1 - i];
		char name[SHM_NAME_BYTES] = "";

		if (!thread_name_read(t->pid, t->segment->pid, tid->tid, name) ||
		    strcmp(name, tid->name) == 0)
			continue;
		memcpy(tid->name, name, sizeof(name));
		err = mst_writer_thread_name(t->writer, tid->thread, mst_writer_time(t->writer), name);
	}
	return err == MST_ERR_LIMIT ? 0 : err;
}

int tracee_look_at_names(struct tracee *t)
{
	uint32_t looked = 0;
	int err = t->segment->unowned ? look_at_tids(t) : 0;

	for (uint32_t i = 0; i < t->n_consumers && looked < NAMES_MOST && !err; i++) {
		struct consumer *consumer = &t->consumers[i];
		char name[SHM_NAME_BYTES] = "";

		if (!is_living(consumer) || consumer->ring->within || t->segment->unowned)
			continue;
		looked++;
		if (thread_name_read(t->pid, t->segment->pid, consumer->ring->tid, name))
			err = tracee_name_thread(t, consumer, name);
	}
	return err;
}

/* ---- ends of threads ---- */

/* Whether calls of the thread that its signal handlers made inside of others, in a ring of their own, are still to be taken. */
static bool has_nested_events(const struct tracee *t, uint32_t ring_id)
{
	for (uint32_t i = ring_id + 1; i < t->n_consumers; i++) {
		const struct consumer *consumer = &t->consumers[i];

		if (consumer->thread.within == ring_id + 1 && !consumer->broken &&
		    consumer->tail != consumer->head)
			return true;
	}
	return false;
}

/*
 * The end stands as early as it can be: behind the thread's last call and the calls before the look at which the thread was
 * still there. So it stands before the calls of a thread that was made when this one had been waited for. Where a process
 * ends, all threads are gone at once, and have not ended before it but for those that the process has noted.
 */
int tracee_end_thread(struct tracee *t, struct consumer *consumer)
{
	const struct shm_segment *segment = t->segment;
	const struct shm_ring *ring = consumer->ring;
	bool is_over;
	int err;

	if (!consumer->thread.gone || consumer->thread.ended || consumer->thread.within ||
	    !consumer->thread.use || (!consumer->broken && consumer->tail != consumer->head))
		return 0;
	is_over = !t->threads.any_alive || atomic_load(&segment->exit_status) ||
		  atomic_load(&segment->executing);
	if ((is_over && atomic_load(&ring->ended) != consumer->thread.use) ||
	    has_nested_events(t, (uint32_t)(consumer - t->consumers)))
		return 0;
	consumer->thread.ended = true;
	err = mst_writer_thread_end(t->writer, t->threads.looked_ns, consumer->thread.id);
	return err == MST_ERR_LIMIT ? 0 : err;
}

/* ---- consumers ---- */

/* Opens a consumer for a ring that has come into use, or begins anew for the ring's next thread. */
static int open_consumer(struct tracee *t, uint32_t ring_id)
{
	struct shm_ring *ring = &t->segment->rings[ring_id];
	struct consumer *consumer = &t->consumers[ring_id];

	if (atomic_load_explicit(&ring->state, memory_order_acquire) != SHM_RING_USED)
		return 0;
	if (!consumer->ring)
		consumer_open(consumer, t->segment, ring_id);
	if (consumer->thread.use == ring->use)
		return 0;
	consumer->thread.use = ring->use;
	consumer->thread.within = ring->within;
	consumer->thread.stack_depth = 0;
	consumer->thread.ended = false;
	consumer_forget(consumer);
	if (!t->segment->unowned) {
		const int err = tracee_find_thread(t, t->writer, ring_id, &consumer->thread.id);

		return err || ring->within ? err : name_new_thread(t, consumer);
	}
	/* Under Valgrind a stack may have no frames. */
	if (!consumer_reserve(consumer, 0))
		return MST_ERR_NOMEM;
	consumer->nodes[0].stack = MST_ROOT_STACK;
	return tids_find(&t->tids, t->writer, ring->tid, &consumer->thread.id);
}

/* Frees the ring of a thread that is gone, for another thread. */
static void close_consumer(struct tracee *t, struct consumer *consumer)
{
	if (atomic_load(&consumer->ring->state) == SHM_RING_USED && consumer_done(consumer)) {
		atomic_store(&consumer->ring->tail, atomic_load(&consumer->ring->head));
		consumer->tail = consumer->released = consumer->head = atomic_load(&consumer->ring->head);
		consumer->peeked = false;
		consumer->broken = false;
		atomic_store(&consumer->ring->state, SHM_RING_FREE);
		atomic_fetch_add(&t->segment->rings_freed, 1);
	}
}

/* For `n` rings; the program may claim fewer than before: those with a consumer keep it. False: no memory. */
static bool reserve_consumers(struct tracee *t, uint32_t n)
{
	n = n < SHM_RINGS ? n : SHM_RINGS;
	if (n <= t->n_consumers)
		return true;
	if (!array_reserve_zeroed(&t->consumers, n - 1, &t->consumers_room, sizeof(*t->consumers)))
		return false;
	t->n_consumers = n;
	return true;
}

int tracee_look_at_rings(struct tracee *t)
{
	bool behind = false;
	int err = 0;

	if (!reserve_consumers(t, atomic_load(&t->segment->rings_used)))
		return MST_ERR_NOMEM;
	t->threads.any_alive = false;
	for (uint32_t i = 0; i < t->n_consumers; i++) {
		struct consumer *consumer = &t->consumers[i];

		if ((err = open_consumer(t, i)))
			return err;
		if (!consumer->ring)
			continue;
		consumer_look(consumer);
		t->threads.any_alive |= consumer->thread.use && !consumer->thread.gone;
		behind |= consumer->head - consumer->tail > consumer->size / BEHIND;
	}
	for (uint32_t i = 0; i < t->n_consumers && !err; i++) {
		if (t->consumers[i].thread.gone)
			err = tracee_end_thread(t, &t->consumers[i]);
	}
	mst_writer_fast_level(t->writer, behind);
	return err;
}

/* Calls of free(NULL) are written behind the events that came before them: a file may end in between. */
static void count_null_frees(struct tracee *t, struct consumer *consumer)
{
	struct consumer_null_frees *const null_frees = &consumer->null_frees;
	uint64_t n;

	if (consumer_done(consumer))
		null_frees->seen = atomic_load_explicit(&consumer->ring->null_frees, memory_order_relaxed);
	else if (consumer->tail < null_frees->at)
		return;
	n = null_frees->seen - null_frees->counted;
	if (n)
		mst_writer_null_frees(t->writer, n);
	t->counts.null_frees += n;
	null_frees->counted = null_frees->seen;
}

/* A broken ring is one loss more. */
static void count_losses(struct tracee *t, struct consumer *consumer)
{
	const uint64_t lost = atomic_load_explicit(&consumer->ring->lost, memory_order_relaxed);

	t->counts.lost += lost - consumer->lost + (consumer->broken && !consumer->broken_counted);
	consumer->broken_counted = consumer->broken;
	consumer->lost = lost;
}

void tracee_settle_rings(struct tracee *t)
{
	for (uint32_t i = 0; i < t->n_consumers; i++) {
		struct consumer *consumer = &t->consumers[i];

		if (!consumer->ring)
			continue;
		consumer_release(consumer);
		count_null_frees(t, consumer);
		count_losses(t, consumer);
		close_consumer(t, consumer);
		assert(consumer->released == consumer->tail);
	}
}

bool tracee_is_empty(struct tracee *t)
{
	const uint32_t n = atomic_load(&t->segment->rings_used);

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++) {
		struct shm_ring *ring = &t->segment->rings[i];
		const uint32_t state = atomic_load(&ring->state);

		if (state == SHM_RING_CLAIMED ||
		    (state == SHM_RING_USED && ((!t->segment->unowned && !shm_owner_gone(&ring->owner)) ||
						atomic_load(&ring->head) != atomic_load(&ring->tail))))
			return false;
	}
	return true;
}

void tracee_count_stacks(const struct tracee *t, struct recording_stacks *stacks)
{
	const uint32_t n = atomic_load(&t->segment->rings_used);

	stacks->defined = t->contexts;
	stacks->walks = stacks->resets = 0;
	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++) {
		const struct stack_counts *counts = &t->segment->rings[i].stacks;

		stacks->walks += atomic_load_explicit(&counts->walks, memory_order_relaxed);
		stacks->resets += atomic_load_explicit(&counts->resets, memory_order_relaxed);
	}
}

int tracee_emit_others(struct tracee *t)
{
	return frames_emit_others(&t->frames, t->writer);
}

int tracee_emit_unloaded(struct tracee *t)
{
	return frames_emit_unloaded(&t->frames, t->writer);
}

void tracee_end(struct tracee *t, struct mst_end *end)
{
	end->events = mst_writer_events(t->writer);
	t->counts.ringless = atomic_load(&t->segment->ringless);
	end->lost = t->counts.lost + t->counts.ringless - t->counts.ringless_before;
	end->unknown_frees = t->counts.unknown_frees;
	end->implied_frees = t->counts.implied_frees;
}
