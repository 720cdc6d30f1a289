/* SPDX-License-Identifier: MIT */
#include "read_ahead.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "check.h"

#define CHUNKS_A_THREAD 4u
#define MORE_CHUNKS 8u

struct worker {
	struct ahead *ahead;
	pthread_t thread;
	struct decode_scratch scratch;
};

struct ahead {
	struct decode_scratch scratch; /* the caller's thread's */
	size_t bytes;                  /* stored, of chunks [first, end) */
	unsigned capacity;
	struct ahead_chunk *chunks;
	/*
	 * Chunks are numbered from 0; number n is chunks[n % capacity]. first <= next <= end <= first + capacity.
	 * Only the caller's thread writes `first` and `end`, with the lock, and so reads them without.
	 */
	uint64_t first, end;
	uint64_t next; /* the first whose decoding has not begun; under the lock */
	bool quit;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	unsigned n_wanted, n_workers;
	struct worker *workers;
};

static struct ahead_chunk *chunk_at(struct ahead *a, uint64_t number)
{
	return &a->chunks[number % a->capacity];
}

/* With the lock. */
static void assert_order(const struct ahead *a)
{
	assert(a->first <= a->next && a->next <= a->end && a->end - a->first <= a->capacity);
	(void)a;
}

/* ---- decoding ---- */

/* Decodes chunk a->next. Called and left with the lock, which is free meanwhile. */
static void decode_next(struct ahead *a, struct decode_scratch *scratch)
{
	struct ahead_chunk *chunk = chunk_at(a, a->next++);

	assert_order(a);
	assert(chunk->state == CHUNK_WAITING);
	chunk->state = CHUNK_BUSY;
	pthread_mutex_unlock(&a->lock);
	decode_peek(&chunk->decode, scratch);
	if (chunk->whole && !chunk->decode.peeked.error)
		decode_rest(&chunk->decode, scratch);
	pthread_mutex_lock(&a->lock);
	assert(chunk->state == CHUNK_BUSY);
	chunk->state = CHUNK_DONE;
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

struct ahead_chunk *ahead_free(struct ahead *a)
{
	struct ahead_chunk *chunk = chunk_at(a, a->end);

	assert(a->end - a->first <= a->capacity);
	if (a->end - a->first == a->capacity)
		return NULL;
	decode_reset(&chunk->decode);
	return chunk;
}

void ahead_submit(struct ahead *a)
{
	struct ahead_chunk *chunk = chunk_at(a, a->end);

	a->bytes += chunk->decode.stored.size;
	pthread_mutex_lock(&a->lock);
	assert(a->end - a->first < a->capacity);
	chunk->state = CHUNK_WAITING;
	a->end++;
	assert_order(a);
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
	/* Short traces end before threads pay for their start. */
	if (a->n_workers < a->n_wanted && a->end > 2)
		start_workers(a);
}

struct ahead_chunk *ahead_first(struct ahead *a)
{
	return a->first < a->end ? chunk_at(a, a->first) : NULL;
}

void ahead_wait(struct ahead *a)
{
	const struct ahead_chunk *chunk = chunk_at(a, a->first);

	assert(a->first < a->end);
	pthread_mutex_lock(&a->lock);
	while (chunk->state != CHUNK_DONE) {
		if (a->next < a->end)
			decode_next(a, &a->scratch);
		else
			pthread_cond_wait(&a->done, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
}

void ahead_release(struct ahead *a)
{
	assert(a->first < a->end && a->bytes >= chunk_at(a, a->first)->decode.stored.size);
	a->bytes -= chunk_at(a, a->first)->decode.stored.size;
	pthread_mutex_lock(&a->lock);
	assert(chunk_at(a, a->first)->state == CHUNK_DONE);
	a->first++;
	assert_order(a);
	pthread_mutex_unlock(&a->lock);
}

size_t ahead_bytes(const struct ahead *a)
{
	if (check_wanted()) {
		size_t bytes = 0;

		for (uint64_t number = a->first; number < a->end; number++)
			bytes += a->chunks[number % a->capacity].decode.stored.size;
		assert(bytes == a->bytes);
	}
	return a->bytes;
}

bool ahead_is_busy(const struct ahead *a)
{
	return a->end - a->first > a->capacity / 2;
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
	a->capacity = threads ? CHUNKS_A_THREAD * (threads + 1) + MORE_CHUNKS : 1;
	a->chunks = calloc(a->capacity, sizeof(*a->chunks));
	a->workers = calloc(threads + 1, sizeof(*a->workers));
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->done, NULL);
	if (a->chunks && a->workers)
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
	for (unsigned i = 0; a->chunks && i < a->capacity; i++)
		decode_finish(&a->chunks[i].decode);
	decode_scratch_finish(&a->scratch);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->work);
	pthread_cond_destroy(&a->done);
	free(a->chunks);
	free(a->workers);
	free(a);
}
