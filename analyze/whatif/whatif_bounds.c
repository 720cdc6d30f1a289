/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "figures.h"
#include "whatif_answer.h"

static const struct answer_column columns[] = {
	{ "bound", "bound", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "peak_bytes", "peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "live_peak_bytes", "at peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_bytes", "at end", ANSWER_BYTES, ANSWER_EVERYWHERE },
};

static const char *const names[] = {
	[POOLS_BY_LIFE] = "lifetime",
	[POOLS_BY_SITE] = "site",
	[POOLS_BY_SIZE] = "size",
};

static void write_row(struct answer *a, const char *name, uint64_t peak, uint64_t at_live_peak, uint64_t end)
{
	answer_text(a, name);
	answer_number(a, peak);
	answer_number(a, at_live_peak);
	answer_number(a, end);
}

static void write_table(struct whatif *w)
{
	struct answer *const a = w->report->answer;
	const struct outline *o = w->outline;
	answer_table(a, "bounds", "No allocator can take less than what is live; pools without overhead",
		     columns, sizeof(columns) / sizeof(*columns));
	write_row(a, "live", o->peak_bytes, o->peak_bytes, o->end_bytes);
	for (unsigned m = 0; m < POOL_MODELS; m++) {
		const struct pool_figures *f = &w->pools->figures[m];
		char name[32];
		snprintf(name, sizeof(name), "pools by %s", names[m]);
		if (w->pools->has[m])
			write_row(a, name, f->peak, f->at_live_peak, f->at_end);
	}
}

static void write_line(struct whatif *w)
{
	char text[160], bytes[FIGURE_SIZE];
	size_t n = 0;
	for (unsigned m = 0; m < POOL_MODELS; m++) {
		if (w->pools->has[m])
			n += (size_t)snprintf(
				text + n, sizeof(text) - n, "%s%s by %s", n ? ", " : "",
				figure_bytes(bytes, w->pools->figures[m].peak, w->report->query->si),
				names[m]);
	}
	answer_fact_text(w->report->answer, "pools", "pools take", text);
}

void whatif_write_bounds(struct whatif *w)
{
	if (w->screen)
		write_line(w);
	else
		write_table(w);
}
