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

static void find_next(struct requested *marks)
{
	marks->next_time =
		marks->taken < marks->n_times ? marks->settings->ats[marks->taken].time : UINT64_MAX;
}

bool requested_init(struct requested *marks, const struct settings *settings, uint64_t floor)
{
	*marks = (struct requested){
		.settings = settings,
		.peak_wanted = settings->exact_peak || wants(settings, AT_PEAK),
		.moments = calloc(settings->n_ats + 1, sizeof(*marks->moments)),
	};
	while (marks->n_times < settings->n_ats && settings->ats[marks->n_times].kind == AT_TIME)
		marks->n_times++;
	marks->highest = floor ? floor - 1 : 0;
	if (!marks->peak_wanted)
		marks->highest = UINT64_MAX;
	find_next(marks);
	return marks->moments != NULL;
}

void requested_finish(struct requested *marks)
{
	free(marks->peak.live);
	for (size_t i = 0; marks->moments && i < marks->settings->n_ats; i++) {
		struct moment *moment = &marks->moments[i];

		free(moment->one.live);
		for (size_t k = 0; k < moment->n_all; k++)
			free(moment->all[k].live);
		free(moment->all);
	}
	free(marks->moments);
}

bool requested_pass(struct requested *marks, const struct snapshot *before, uint64_t clock)
{
	bool all = false;

	for (; marks->taken < marks->n_times && marks->next_time < clock; find_next(marks)) {
		all |= marks->settings->ats[marks->taken].what == AT_ALL;
		marks->moments[marks->taken++].one = *before;
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

bool requested_copy_all(struct requested *marks, size_t count, const struct snapshot *stored, size_t n)
{
	for (size_t i = count; i-- > 0 && !marks->moments[i].all;) {
		if (marks->settings->ats[i].what == AT_ALL && !copy_all(&marks->moments[i], stored, n))
			return false;
	}
	return true;
}

/* The first moment taken that needs `live` and has none. */
static struct snapshot *find_unfilled(struct requested *marks)
{
	while (marks->filled < marks->taken && marks->settings->ats[marks->filled].what != AT_DETAILED)
		marks->filled++;
	return marks->filled < marks->taken ? &marks->moments[marks->filled].one : NULL;
}

struct snapshot *requested_pending(struct requested *marks)
{
	struct snapshot *peak = marks->peak_pending ? &marks->peak : NULL;
	struct snapshot *at = find_unfilled(marks);

	return peak && (!at || peak->records <= at->records) ? peak : at;
}

void requested_fill(struct requested *marks, struct snapshot *mark, struct live *live)
{
	free(mark->live);
	mark->live = live;
	if (mark == &marks->peak)
		marks->peak_pending = false;
	else
		marks->filled++;
}
