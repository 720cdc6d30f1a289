/* SPDX-License-Identifier: MIT */
#include "life_histograms.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "array.h"

#define BATCHES 128u /* as many as come while the thread waits for a processor */

/*
 * Batches are numbered from 0; number n is batches[n % BATCHES]. counted <= filled < counted + BATCHES: the caller fills
 * number `filled`, and those before it wait. While batches wait, `items`, `room` and `pages` are the thread's. Only the
 * caller writes `filled`, with the lock, and so reads it without.
 */
struct life_histograms {
	struct lifetimes *items; /* by life */
	uint32_t room;
	struct histogram_pages pages;

	bool threaded; /* a thread is wanted */
	bool has_thread;
	bool failed; /* the caller's: there was no memory */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows, but the batches */
	pthread_cond_t more, fewer;
	uint64_t filled, counted;
	bool no_memory, quit;
	struct life_batch batches[BATCHES];
};

/* False: no memory. */
static bool count(struct life_histograms *h, const struct life_batch *batch)
{
	assert(batch->n <= LIFE_BATCH);
	for (uint32_t i = 0; i < batch->n; i++) {
		const struct ended_life *ended = &batch->items[i];
		if (!array_reserve_zeroed(&h->items, ended->life, &h->room, sizeof(*h->items)))
			return false;
		struct lifetimes *to = &h->items[ended->life];
		if (!histogram_add(&to->calls, &h->pages, ended->calls) ||
		    !histogram_add(&to->bytes, &h->pages, ended->bytes) ||
		    !histogram_add(&to->time_ns, &h->pages, ended->time_ns))
			return false;
	}
	return true;
}

static void *count_batches(void *context)
{
	struct life_histograms *h = context;
	pthread_mutex_lock(&h->lock);
	for (;;) {
		while (h->counted == h->filled && !h->quit)
			pthread_cond_wait(&h->more, &h->lock);
		if (h->counted == h->filled)
			break;
		pthread_mutex_unlock(&h->lock);
		const bool fine = count(h, &h->batches[h->counted % BATCHES]);
		pthread_mutex_lock(&h->lock);
		h->counted++;
		h->no_memory |= !fine;
		pthread_cond_signal(&h->fewer);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* Without a thread all goes on, but slower. */
static void start_thread(struct life_histograms *h)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	h->has_thread = h->threaded = pthread_create(&h->thread, NULL, count_batches, h) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Lets the thread have the batch that was filled, and waits until at most `left` are not counted. */
static void hand_over(struct life_histograms *h, unsigned left)
{
	pthread_mutex_lock(&h->lock);
	h->filled++;
	pthread_cond_signal(&h->more);
	while (h->filled - h->counted > left)
		pthread_cond_wait(&h->fewer, &h->lock);
	h->failed |= h->no_memory;
	pthread_mutex_unlock(&h->lock);
}

/* Counts the batch, and waits until at most `left` are not counted. */
static bool take(struct life_histograms *h, unsigned left)
{
	if (h->has_thread)
		hand_over(h, left);
	else
		h->failed |= !count(h, life_histograms_batch(h));
	life_histograms_batch(h)->n = 0;
	return !h->failed;
}

struct life_batch *life_histograms_batch(struct life_histograms *h)
{
	return &h->batches[h->filled % BATCHES];
}

bool life_histograms_count(struct life_histograms *h)
{
	/* A short trace ends before a thread pays for its start. */
	if (h->threaded && !h->has_thread)
		start_thread(h);
	return take(h, BATCHES - 1);
}

bool life_histograms_finish(struct life_histograms *h)
{
	return take(h, 0);
}

/* ---- The result ---- */

const struct lifetimes *life_histograms_of(const struct life_histograms *h, uint32_t life)
{
	return life < h->room ? &h->items[life] : NULL;
}

const struct histogram_pages *life_histograms_pages(const struct life_histograms *h)
{
	return &h->pages;
}

/* ---- Life ---- */

struct life_histograms *life_histograms_create(unsigned jobs)
{
	struct life_histograms *h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->threaded = jobs > 1;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->more, NULL);
	pthread_cond_init(&h->fewer, NULL);
	return h;
}

void life_histograms_destroy(struct life_histograms *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->quit = true;
	pthread_cond_signal(&h->more);
	pthread_mutex_unlock(&h->lock);
	if (h->has_thread)
		pthread_join(h->thread, NULL);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->more);
	pthread_cond_destroy(&h->fewer);
	histogram_pages_finish(&h->pages);
	free(h->items);
	free(h);
}
