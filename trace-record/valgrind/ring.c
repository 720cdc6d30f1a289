/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ring.h"

#include "child_filter.h"
#include "doorbell.h"

#define RING_ID 0u                /* of the one ring of a process */
#define UNSTAMPED 16u             /* records that may follow without a look at the clock */
#define DOORBELL_BYTES (1u << 20) /* written from one look at whether msrec sleeps to the next */

struct ring ring;

/* ---- the process ---- */

uint64_t ring_stamp(void)
{
	return os_stamp(ring.family->use_tsc);
}

void ring_stamp_next(void)
{
	ring.unstamped = 0;
}

/* A free segment, now claimed; SHM_NO_SEGMENT: there is none. */
static uint32_t claim_segment(void)
{
	for (uint32_t i = 0; i < SHM_SEGMENTS; i++) {
		if (shm_claim(ring.family, i))
			return i;
	}
	return SHM_NO_SEGMENT;
}

/* Claims a segment and its first ring; `parent` is the segment before a fork. */
static bool open_segment(uint32_t parent, uint32_t fork)
{
	struct shm_segment *segment;

	ring.on = false;
	ring.segment_number = claim_segment();
	if (ring.segment_number == SHM_NO_SEGMENT) {
		atomic_fetch_add(&ring.family->unrecorded, 1);
		return false;
	}
	segment = ring.segment = shm_segment(ring.family, ring.segment_number);
	segment->pid = os_pid();
	segment->outer_pid = os_outer_pid();
	segment->pid_space = os_pid_space();
	segment->parent = parent;
	segment->parent_fork = fork;
	segment->unowned = true;
	segment->start = ring_stamp();
	shm_modules(segment)->capacity = SHM_MODULES;
	shm_modules(segment)->text_capacity = SHM_MODULE_TEXT;
	ring.data = shm_ring_data(segment, RING_ID);
	ring.size = shm_ring_bytes(RING_ID);
	ring.head = ring.tail = 0;
	ring_stamp_next();
	ring.tid = segment->rings[RING_ID].tid = os_tid();
	segment->rings[RING_ID].use = 1;
	atomic_store(&segment->rings[RING_ID].state, SHM_RING_USED);
	atomic_store(&segment->rings_used, 1);
	atomic_store(&ring.family->states[ring.segment_number], SHM_SEGMENT_LIVE);
	ring.on = true;
	doorbell_ring(ring.family);
	return true;
}

bool ring_open(const char *path, const char *program)
{
	/*
	 * The kernel maps this above all that Valgrind gives to programs or takes itself. A forked child inherits the
	 * mapping and need not be allowed to open the file.
	 */
	ring.family = os_map_shared(path, 0, shm_bytes(SHM_SEGMENTS), PROT_READ | PROT_WRITE);
	if (!ring.family || ring.family->magic != SHM_MAGIC || ring.family->version != SHM_VERSION)
		return false;
	if (child_filter_judge(ring.family, program) == CHILD_RECORDED)
		return open_segment(SHM_NO_SEGMENT, 0);
	os_call6(SYS_munmap, (long)ring.family, (long)shm_bytes(SHM_SEGMENTS), 0, 0, 0, 0);
	return false;
}

uint32_t ring_count_fork(void)
{
	return atomic_fetch_add(&ring.segment->forks, 1) + 1;
}

void ring_note_exec(bool now)
{
	if (ring.on)
		atomic_store(&ring.segment->executing, now);
}

void ring_follow_fork(uint32_t fork)
{
	if (ring.on)
		open_segment(ring.segment_number, fork);
}

/* ---- room ---- */

static uint64_t room_left(void)
{
	return ring.size - (ring.head - ring.tail);
}

/* Waits for room while msrec lives. False: msrec is gone. */
static __attribute__((noinline)) bool wait_for_room(uint64_t bytes)
{
	struct shm_ring *shared = &ring.segment->rings[RING_ID];

	for (unsigned i = 0;; i++) {
		const uint32_t seen = atomic_load(&shared->space);

		ring.tail = atomic_load_explicit(&shared->tail, memory_order_acquire);
		if (room_left() >= bytes)
			return true;
		if (shm_owner_gone(&ring.family->collector) || atomic_load(&ring.segment->refused)) {
			ring.on = false;
			return false;
		}
		if (i < DOORBELL_SPINS) {
			cpu_pause();
			continue;
		}
		doorbell_sleep(ring.family, shared, ring.tail, seen);
	}
}

/* Room for the largest record, in one piece; NULL when recording has ended. */
static uint64_t *reserve(void)
{
	const uint64_t bytes = SHM_RECORD_WORDS * 8, at = ring.head & (ring.size - 1), rest = ring.size - at;
	const uint64_t needed = rest < bytes ? rest + bytes : bytes;

	if (!ring.on || (room_left() < needed && !wait_for_room(needed)))
		return NULL;
	if (rest >= bytes)
		return (uint64_t *)(void *)(ring.data + at);
	*(uint64_t *)(void *)(ring.data + at) = SHM_PAD;
	ring.head += rest;
	return (uint64_t *)(void *)ring.data;
}

static void publish(uint64_t words)
{
	const uint64_t old = ring.head;

	ring.head += words * 8;
	atomic_store_explicit(&ring.segment->rings[RING_ID].head, ring.head, memory_order_release);
	if ((old ^ ring.head) & DOORBELL_BYTES &&
	    atomic_load_explicit(&ring.family->asleep, memory_order_relaxed))
		doorbell_ring(ring.family);
}

/* ---- records ---- */

/* Puts a stamp at `w` if one is due, or the epoch has changed; returns where the record goes on. */
static uint64_t *put_stamp(uint64_t *w, uint8_t *flags)
{
	const uint32_t epoch = atomic_load_explicit(&ring.family->epoch, memory_order_relaxed);

	if (ring.unstamped > 0 && epoch == ring.epoch) {
		ring.unstamped--;
		return w;
	}
	ring.unstamped = UNSTAMPED;
	ring.epoch = epoch;
	*flags |= SHM_STAMPED;
	*w = ring_stamp();
	return w + 1;
}

/* A record of a value and at most one operand. */
static void emit_value(uint8_t op, uint64_t value, const uint64_t *operand)
{
	uint64_t *const start = reserve(), *w = start + 1;
	uint8_t flags = 0;

	if (!start)
		return;
	if (shm_is_wide(value)) {
		flags = SHM_WIDE;
		*w++ = value;
	}
	if (operand)
		*w++ = *operand;
	*start = shm_head(op, flags, value);
	publish((uint64_t)(w - start));
}

static void emit_count(uint64_t instructions)
{
	if (instructions != ring.emitted)
		emit_value(SHM_OP_COUNT, instructions - ring.emitted, NULL);
	ring.emitted = instructions;
}

void ring_emit(const struct event *event)
{
	uint64_t *start, *w, value;
	uint8_t flags = event->flags;
	bool wide;

	emit_count(event->instructions);
	start = reserve();
	w = start + 1;
	if (!start)
		return;
	w = put_stamp(w, &flags);
	if (shm_has_stack(event->op)) {
		value = shm_call_value(event->node, event->size);
		wide = shm_is_wide_size(event->size);
	} else {
		value = event->size;
		wide = shm_is_wide(value);
	}
	if (wide) {
		flags |= SHM_WIDE;
		*w++ = event->size;
	}
	for (unsigned i = 0; i < shm_operands(event->op); i++)
		*w++ = event->operands[i];
	if (event->align_log2) {
		flags |= SHM_ALIGNED;
		*w++ = event->align_log2;
	}
	if (event->has_usable) {
		flags |= SHM_USABLE;
		*w++ = event->usable;
	}
	*start = shm_head(event->op, flags, value);
	publish((uint64_t)(w - start));
}

void ring_emit_node(uint16_t node, uint16_t parent, uint64_t pc)
{
	emit_value(SHM_OP_NODE, shm_call_value(node, parent), &pc);
}

void ring_emit_thread(uint32_t tid)
{
	ring.tid = tid;
	emit_value(SHM_OP_THREAD, tid, NULL);
}

void ring_emit_sp_changes(const uint8_t *bytes)
{
	uint64_t *const start = reserve();
	uint64_t words[3] = { 0 };

	if (!start)
		return;
	__builtin_memcpy(words, bytes, SHM_SP_CHANGE_BYTES);
	start[0] = shm_head(SHM_OP_SP_CHANGES, 0, words[2]);
	start[1] = words[0];
	start[2] = words[1];
	publish(3);
}
