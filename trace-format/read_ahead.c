/* SPDX-License-Identifier: MIT */
#include "read_ahead.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "check.h"

#define SLOTS_A_THREAD 4u
#define MORE_SLOTS 8u

struct worker {
	struct ahead *ahead;
	pthread_t thread;
	struct decode_scratch scratch;
};

struct ahead {
	struct decode_scratch scratch; /* the caller's thread's */
	size_t bytes;                  /* stored, of chunks [first, end) */
	unsigned n_slots;
	struct ahead_slot *slots;
	/*
	 * Chunks have numbers from 0; number n is in slot n % n_slots. first <= next <= end <= first +
	 * n_slots. Only the caller's thread writes `first` and `end`, with the lock, and so reads them
	 * without.
	 */
	uint64_t first, end;
	uint64_t next; /* the first whose decoding has not begun; under the lock */
	bool quit;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	unsigned n_wanted, n_workers;
	struct worker *workers;
};

static struct ahead_slot *slot_of(struct ahead *a, uint64_t number)
{
	return &a->slots[number % a->n_slots];
}

/* With the lock. */
static void assert_order(const struct ahead *a)
{
	assert(a->first <= a->next && a->next <= a->end && a->end - a->first <= a->n_slots);
	(void)a;
}

/* ---- decoding ---- */

/* Decodes chunk a->next. Called and left with the lock, which is free meanwhile. */
static void decode_next(struct ahead *a, struct decode_scratch *scratch)
{
	struct ahead_slot *slot = slot_of(a, a->next++);

	assert_order(a);
	assert(slot->state == SLOT_WAITING);
	slot->state = SLOT_BUSY;
	pthread_mutex_unlock(&a->lock);
	decode_peek(&slot->decode, scratch);
	if (slot->whole && !slot->decode.peeked.error)
		decode_rest(&slot->decode, scratch);
	pthread_mutex_lock(&a->lock);
	assert(slot->state == SLOT_BUSY);
	slot->state = SLOT_DONE;
	pthread_cond_signal(&a->done);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct ahead *a = worker->ahead;

	pthread_mutex_lock(&a->lock);
	while (!a->quit) {
		if (a->next < a->end)
			decode_next(a, &worker->scratch);
		else
			pthread_cond_wait(&a->work, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/*
 * Blocks all signals in the workers: they are for the program's own threads. Fewer workers than wanted only
 * take longer.
 */
static void start_workers(struct ahead *a)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (a->n_workers < a->n_wanted) {
		struct worker *worker = &a->workers[a->n_workers];

		worker->ahead = a;
		if (pthread_create(&worker->thread, NULL, work, worker) != 0)
			break;
		a->n_workers++;
	}
	a->n_wanted = a->n_workers;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the caller's side ---- */

struct ahead_slot *ahead_free(struct ahead *a)
{
	struct ahead_slot *slot = slot_of(a, a->end);

	assert(a->end - a->first <= a->n_slots);
	if (a->end - a->first == a->n_slots)
		return NULL;
	decode_reset(&slot->decode);
	return slot;
}

void ahead_submit(struct ahead *a)
{
	struct ahead_slot *slot = slot_of(a, a->end);

	a->bytes += slot->decode.stored.size;
	pthread_mutex_lock(&a->lock);
	assert(a->end - a->first < a->n_slots);
	slot->state = SLOT_WAITING;
	a->end++;
	assert_order(a);
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
	/* Short traces end before threads pay for their start. */
	if (a->n_workers < a->n_wanted && a->end > 2)
		start_workers(a);
}

struct ahead_slot *ahead_first(struct ahead *a)
{
	return a->first < a->end ? slot_of(a, a->first) : NULL;
}

void ahead_wait(struct ahead *a)
{
	const struct ahead_slot *slot = slot_of(a, a->first);

	assert(a->first < a->end);
	pthread_mutex_lock(&a->lock);
	while (slot->state != SLOT_DONE) {
		if (a->next < a->end)
			decode_next(a, &a->scratch);
		else
			pthread_cond_wait(&a->done, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
}

void ahead_release(struct ahead *a)
{
	assert(a->first < a->end && a->bytes >= slot_of(a, a->first)->decode.stored.size);
	a->bytes -= slot_of(a, a->first)->decode.stored.size;
	pthread_mutex_lock(&a->lock);
	assert(slot_of(a, a->first)->state == SLOT_DONE);
	a->first++;
	assert_order(a);
	pthread_mutex_unlock(&a->lock);
}

size_t ahead_bytes(const struct ahead *a)
{
	if (check_wanted()) {
		size_t bytes = 0;

		for (uint64_t number = a->first; number < a->end; number++)
			bytes += a->slots[number % a->n_slots].decode.stored.size;
		assert(bytes == a->bytes);
	}
	return a->bytes;
}

bool ahead_is_busy(const struct ahead *a)
{
	return a->end - a->first > a->n_slots / 2;
}

bool ahead_is_parallel(const struct ahead *a)
{
	return a->n_wanted > 0;
}

struct decode_scratch *ahead_scratch(struct ahead *a)
{
	return &a->scratch;
}

/* ---- life ---- */

struct ahead *ahead_create(unsigned threads)
{
	struct ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->n_wanted = threads;
	a->n_slots = threads ? SLOTS_A_THREAD * (threads + 1) + MORE_SLOTS : 1;
	a->slots = calloc(a->n_slots, sizeof(*a->slots));
	a->workers = calloc(threads + 1, sizeof(*a->workers));
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->done, NULL);
	if (a->slots && a->workers)
		return a;
	ahead_destroy(a);
	return NULL;
}

void ahead_destroy(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->quit = true;
	pthread_cond_broadcast(&a->work);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->n_workers; i++) {
		pthread_join(a->workers[i].thread, NULL);
		decode_scratch_finish(&a->workers[i].scratch);
	}
	for (unsigned i = 0; a->slots && i < a->n_slots; i++)
		decode_finish(&a->slots[i].decode);
	decode_scratch_finish(&a->scratch);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->work);
	pthread_cond_destroy(&a->done);
	free(a->slots);
	free(a->workers);
	free(a);
}
