/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include <stdlib.h>

static bool wants(const struct settings *settings, enum at_kind kind)
{
	for (size_t i = 0; i < settings->n_ats; i++) {
		if (settings->ats[i].kind == kind)
			return true;
	}
	return false;
}

static void find_next(struct marks *marks)
{
	marks->next_time = marks->taken < marks->n_times ? marks->settings->ats[marks->taken].time : UINT64_MAX;
}

bool marks_init(struct marks *marks, const struct settings *settings)
{
	*marks = (struct marks){
		.settings = settings,
		.peak_wanted = settings->exact_peak || wants(settings, AT_PEAK),
		.ats = calloc(settings->n_ats + 1, sizeof(*marks->ats)),
	};
	while (marks->n_times < settings->n_ats && settings->ats[marks->n_times].kind == AT_TIME)
		marks->n_times++;
	marks->watching = marks->peak_wanted || marks->n_times > 0;
	if (!marks->peak_wanted)
		marks->highest = UINT64_MAX;
	find_next(marks);
	return marks->ats != NULL;
}

void marks_finish(struct marks *marks)
{
	free(marks->peak.live);
	for (size_t i = 0; marks->ats && i < marks->settings->n_ats; i++)
		free(marks->ats[i].live);
	free(marks->ats);
}

void marks_pass(struct marks *marks, const struct snapshot *before, uint64_t clock)
{
	for (; marks->taken < marks->n_times && marks->next_time < clock; find_next(marks))
		marks->ats[marks->taken++] = *before;
}

struct snapshot *marks_pending(struct marks *marks)
{
	struct snapshot *peak = marks->peak_pending ? &marks->peak : NULL;
	struct snapshot *at = marks->filled < marks->taken ? &marks->ats[marks->filled] : NULL;

	return peak && (!at || peak->records <= at->records) ? peak : at;
}

void marks_fill(struct marks *marks, struct snapshot *mark, struct live *live)
{
	free(mark->live);
	mark->live = live;
	if (mark == &marks->peak)
		marks->peak_pending = false;
	else
		marks->filled++;
}
