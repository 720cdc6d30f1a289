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
		.moments = calloc(settings->n_ats + 1, sizeof(*requested->moments)),
	};
	while (requested->n_times < settings->n_ats && settings->ats[requested->n_times].kind == AT_TIME)
		requested->n_times++;
	requested->highest = requested->peak_wanted ? 0 : UINT64_MAX;
	find_next(requested);
	return requested->moments != NULL;
}

void requested_finish(struct requested *requested)
{
	free(requested->peak.live);
	for (size_t i = 0; requested->moments && i < requested->settings->n_ats; i++) {
		struct moment *moment = &requested->moments[i];

		free(moment->one.live);
		for (size_t k = 0; k < moment->n_all; k++)
			free(moment->all[k].live);
		free(moment->all);
	}
	free(requested->moments);
}

bool requested_pass(struct requested *requested, const struct snapshot *before, uint64_t clock)
{
	bool all = false;

	for (; requested->taken < requested->n_times && requested->next_time < clock; find_next(requested)) {
		all |= requested->settings->ats[requested->taken].what == AT_ALL;
		requested->moments[requested->taken++].one = *before;
	}
	return all;
}

static bool copy_all(struct moment *moment, const struct snapshot *stored, size_t n)
{
	moment->all = malloc((n + 1) * sizeof(*moment->all));
	for (; moment->all && moment->n_all < n; moment->n_all++) {
		struct snapshot *copy = &moment->all[moment->n_all];
		const struct live *live = stored[moment->n_all].live;
		const size_t size = live ? sizeof(*live) + live->n * sizeof(*live->bytes) : 0;

		*copy = stored[moment->n_all];
		copy->live = live ? malloc(size) : NULL;
		if (live && !copy->live)
			return false;
		if (live)
			memcpy(copy->live, live, size);
	}
	return moment->all;
}

bool requested_copy_all(struct requested *requested, size_t count, const struct snapshot *stored, size_t n)
{
	for (size_t i = count; i-- > 0 && !requested->moments[i].all;) {
		if (requested->settings->ats[i].what == AT_ALL &&
		    !copy_all(&requested->moments[i], stored, n))
			return false;
	}
	return true;
}

/* The first moment taken that needs `live` and has none. */
static struct snapshot *find_unfilled(struct requested *requested)
{
	while (requested->filled < requested->taken &&
	       requested->settings->ats[requested->filled].what != AT_DETAILED)
		requested->filled++;
	return requested->filled < requested->taken ? &requested->moments[requested->filled].one : NULL;
}

struct snapshot *requested_pending(struct requested *requested)
{
	struct snapshot *peak = requested->peak_pending ? &requested->peak : NULL;
	struct snapshot *at = find_unfilled(requested);

	return peak && (!at || peak->records <= at->records) ? peak : at;
}

void requested_fill(struct requested *requested, struct snapshot *mark, struct live *live)
{
	free(mark->live);
	mark->live = live;
	if (mark == &requested->peak)
		requested->peak_pending = false;
	else
		requested->filled++;
}
