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

static void find_next(struct requested *requested)
{
	requested->next_time = requested->taken < requested->n_times
				       ? requested->settings->ats[requested->taken].time
				       : UINT64_MAX;
}

bool requested_init(struct requested *requested, const struct settings *settings)
{
	*requested = (struct requested){
		.settings = settings,
		.peak_wanted = settings->exact_peak || wants(settings, AT_PEAK),
		.requests = calloc(settings->n_ats + 1, sizeof(*requested->requests)),
	};
	while (requested->n_times < settings->n_ats && settings->ats[requested->n_times].kind == AT_TIME)
		requested->n_times++;
	requested->highest = requested->peak_wanted ? 0 : UINT64_MAX;
	find_next(requested);
	assert(requested->n_times <= settings->n_ats);
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

bool requested_pass(struct requested *requested, const struct snapshot *before, uint64_t clock)
{
	bool all = false;

	assert(clock > requested->next_time);
	for (; requested->taken < requested->n_times && requested->next_time < clock; find_next(requested)) {
		all |= requested->settings->ats[requested->taken].what == AT_ALL;
		requested->requests[requested->taken++].one = *before;
	}
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

bool requested_copy_all(struct requested *requested, size_t count, const struct snapshot *stored, size_t n)
{
	for (size_t i = count; i-- > 0 && !requested->requests[i].all;) {
		if (requested->settings->ats[i].what == AT_ALL &&
		    !copy_all(&requested->requests[i], stored, n))
			return false;
	}
	return true;
}

/* The first request taken that needs `live` and has none. */
static struct snapshot *find_unfilled(struct requested *requested)
{
	while (requested->filled < requested->taken &&
	       requested->settings->ats[requested->filled].what != AT_DETAILED)
		requested->filled++;
	return requested->filled < requested->taken ? &requested->requests[requested->filled].one : NULL;
}

struct snapshot *requested_pending(struct requested *requested)
{
	struct snapshot *peak = requested->peak_pending ? &requested->peak : NULL;
	struct snapshot *at = find_unfilled(requested);

	return peak && (!at || peak->records <= at->records) ? peak : at;
}

void requested_fill(struct requested *requested, struct snapshot *pending, struct live *live)
{
	free(pending->live);
	pending->live = live;
	if (pending == &requested->peak)
		requested->peak_pending = false;
	else
		requested->filled++;
	assert(requested->filled <= requested->taken && requested->taken <= requested->n_times);
}
