/* SPDX-License-Identifier: MIT */
#include "requested_snapshots.h"

#include <stdlib.h>
#include <string.h>

static bool wants(const struct settings *settings, enum at_kind kind)
{
	for (size_t i = 0; i < settings->n_ats; i++) {
		if (settings->ats[i].kind == kind)
			return true;
	}
	return false;
}

static struct request_queue queue_of(const struct settings *settings, size_t first, enum at_kind kind)
{
	struct request_queue queue = { .first = first };

	while (first + queue.n < settings->n_ats && settings->ats[first + queue.n].kind == kind)
		queue.n++;
	return queue;
}

/* The first request of a queue that is not taken. NULL: there is none. */
static const struct at *next_of(const struct requested *requested, const struct request_queue *queue)
{
	return queue->taken < queue->n ? &requested->settings->ats[queue->first + queue->taken] : NULL;
}

static void find_next(struct requested *requested)
{
	const struct at *time = next_of(requested, &requested->times),
			*mark = next_of(requested, &requested->marks);

	requested->next_time = time ? time->time : UINT64_MAX;
	requested->next_mark = mark ? mark->record : UINT64_MAX;
}

bool requested_init(struct requested *requested, const struct settings *settings)
{
	*requested = (struct requested){
		.settings = settings,
		.peak_wanted = settings->exact_peak || wants(settings, AT_PEAK),
		.requests = calloc(settings->n_ats + 1, sizeof(*requested->requests)),
	};
	requested->times = queue_of(settings, 0, AT_TIME);
	requested->marks = queue_of(settings, requested->times.n, AT_MARK);
	requested->highest = requested->peak_wanted ? 0 : UINT64_MAX;
	find_next(requested);
	assert(requested->times.n + requested->marks.n <= settings->n_ats);
	return requested->requests != NULL;
}

void requested_finish(struct requested *requested)
{
	free(requested->peak.live);
	for (size_t i = 0; requested->requests && i < requested->settings->n_ats; i++) {
		struct request *request = &requested->requests[i];

		free(request->one.live);
		for (size_t k = 0; k < request->n_all; k++)
			free(request->all[k].live);
		free(request->all);
	}
	free(requested->requests);
}

/* Takes the first request of a queue. True: it is for all stored snapshots. */
static bool take(struct requested *requested, struct request_queue *queue, const struct snapshot *before)
{
	const size_t i = queue->first + queue->taken++;

	requested->requests[i].one = *before;
	find_next(requested);
	return requested->settings->ats[i].what == AT_ALL;
}

bool requested_pass(struct requested *requested, const struct snapshot *before, uint64_t clock)
{
	bool all = false;

	assert(clock > requested->next_time);
	while (requested->times.taken < requested->times.n && requested->next_time < clock)
		all |= take(requested, &requested->times, before);
	return all;
}

bool requested_pass_marks(struct requested *requested, const struct snapshot *before, uint64_t record)
{
	bool all = false;

	while (requested->marks.taken < requested->marks.n && requested->next_mark <= record)
		all |= take(requested, &requested->marks, before);
	return all;
}

static bool copy_all(struct request *request, const struct snapshot *stored, size_t n)
{
	request->all = malloc((n + 1) * sizeof(*request->all));
	for (; request->all && request->n_all < n; request->n_all++) {
		struct snapshot *copy = &request->all[request->n_all];
		const struct live *live = stored[request->n_all].live;
		const size_t size = live ? sizeof(*live) + live->n * sizeof(*live->bytes) : 0;

		*copy = stored[request->n_all];
		copy->live = live ? malloc(size) : NULL;
		if (live && !copy->live)
			return false;
		if (live)
			memcpy(copy->live, live, size);
	}
	return request->all;
}

/* For the requests [first, first + count). */
static bool copy_range(struct requested *requested, size_t first, size_t count, const struct snapshot *stored,
		       size_t n)
{
	for (size_t i = first; i < first + count; i++) {
		if (requested->settings->ats[i].what == AT_ALL && !requested->requests[i].all &&
		    !copy_all(&requested->requests[i], stored, n))
			return false;
	}
	return true;
}

bool requested_copy_due(struct requested *requested, const struct snapshot *stored, size_t n)
{
	return copy_range(requested, requested->times.first, requested->times.taken, stored, n) &&
	       copy_range(requested, requested->marks.first, requested->marks.taken, stored, n);
}

bool requested_copy_points(struct requested *requested, const struct snapshot *stored, size_t n)
{
	return copy_range(requested, 0, requested->times.n + requested->marks.n, stored, n);
}

bool requested_copy_all(struct requested *requested, const struct snapshot *stored, size_t n)
{
	return copy_range(requested, 0, requested->settings->n_ats, stored, n);
}

/* The first request taken from a queue that needs `live` and has none. */
static struct snapshot *find_unfilled(struct requested *requested, struct request_queue *queue)
{
	const struct at *ats = &requested->settings->ats[queue->first];

	while (queue->filled < queue->taken && ats[queue->filled].what != AT_DETAILED)
		queue->filled++;
	return queue->filled < queue->taken ? &requested->requests[queue->first + queue->filled].one : NULL;
}

static struct snapshot *earlier(struct snapshot *a, struct snapshot *b)
{
	return a && (!b || a->records <= b->records) ? a : b;
}

struct snapshot *requested_pending(struct requested *requested)
{
	struct snapshot *peak = requested->peak_pending ? &requested->peak : NULL;
	struct snapshot *at = earlier(find_unfilled(requested, &requested->times),
				      find_unfilled(requested, &requested->marks));

	return earlier(peak, at);
}

void requested_fill(struct requested *requested, struct snapshot *pending, struct live *live)
{
	free(pending->live);
	pending->live = live;
	if (pending == &requested->peak)
		requested->peak_pending = false;
	else if (pending < &requested->requests[requested->marks.first].one)
		requested->times.filled++;
	else
		requested->marks.filled++;
	assert(requested->times.filled <= requested->times.taken &&
	       requested->times.taken <= requested->times.n);
	assert(requested->marks.filled <= requested->marks.taken &&
	       requested->marks.taken <= requested->marks.n);
}
