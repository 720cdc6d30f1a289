/* SPDX-License-Identifier: MIT */
#include "runs.h"

#include <stdlib.h>

#define LEAST_SHARE .05          /* of what the base takes, for an advice */
#define NEARLY .03               /* the same is saved, as shares */
#define LEAST_BYTES (256u << 10) /* below that, a page more or less decides */
#define DEARER 1.5               /* times the base's time: not advised ... */
#define MUCH .5                  /* ... unless such a share is saved, and the time is at most: */
#define DEAREST 4                /* times the base's, or */
#define LITTLE .1                /* of the run's time beyond the base's */

bool runs_init(struct runs *runs, const struct setups *setups, uint64_t begin_ns)
{
	*runs = (struct runs){ .items = calloc(setups->n + 1, sizeof(*runs->items)), .begin_ns = begin_ns };
	if (!runs->items)
		return false;
	runs->n = setups->n;
	for (size_t i = 0; i < runs->n; i++)
		runs->items[i].setup = &setups->items[i];
	return true;
}

void runs_finish(struct runs *runs)
{
	free(runs->items);
	*runs = (struct runs){ 0 };
}

static uint64_t above(uint64_t n, uint64_t base)
{
	return n > base ? n - base : 0;
}

static uint64_t ns_of(const struct player_area *area, uint64_t ticks)
{
	const uint64_t all = area->end_ticks - area->begin_ticks;
	return all ? (uint64_t)((double)ticks * (double)(area->end_ns - area->begin_ns) / (double)all) : 0;
}

static void note_samples(struct run *run, const struct player_process *player,
			 const struct player_sample *base, uint32_t n)
{
	const struct player_area *area = player->area;
	const struct player_sample *samples = player_samples(player);
	for (uint32_t i = 0; i < n; i++) {
		struct player_sample *to = &run->samples[i];
		*to = samples[i];
		to->resident = above(to->resident, base->resident);
		to->mapped = above(to->mapped, base->mapped);
		to->faults = above(to->faults, area->base.faults);
		run->peak = to->resident > run->peak ? to->resident : run->peak;
		run->most_mapped = to->mapped > run->most_mapped ? to->mapped : run->most_mapped;
	}
}

void runs_note(struct runs *runs, size_t run, const struct player_process *player,
	       const struct op_stream *stream)
{
	struct run *r = &runs->items[run];
	const struct player_area *area = player->area;
	const struct player_sample *base = &runs->base;
	r->end = player->end;
	r->detail = player->detail;
	if (r->end != PLAYER_ENDED || stream->n_moments == 0)
		return;
	runs->n_moments = stream->n_moments;
	runs->peak = stream->peak < stream->n_moments ? stream->peak : 0;
	for (uint32_t i = 0; i < stream->n_moments; i++)
		runs->moments[i] = stream->moments[i];
	note_samples(r, player, base, stream->n_moments);
	const struct player_sample *last = &r->samples[stream->n_moments - 1];
	const uint64_t most = above(area->most_resident, base->resident);
	r->peak = most > r->peak ? most : r->peak;
	r->at_live_peak = r->samples[runs->peak].resident;
	r->at_end = last->resident;
	r->faults = last->faults;
	r->calls = last->calls;
	r->failed = last->failed;
	r->call_ns = ns_of(area, last->call_ticks);
	r->touch_ns = ns_of(area, last->touch_ticks);
	r->cpu_ns = area->cpu_ns;
	r->threads_failed = area->threads_failed;
}

void runs_note_syscalls(struct runs *runs, size_t run, const struct player_process *player)
{
	struct run *r = &runs->items[run];
	r->counted = player->end == PLAYER_ENDED;
	for (unsigned i = 0; i < PLAYER_SYSCALLS; i++)
		r->syscalls[i] = player->area->syscalls[i];
}

static bool is_better(const struct run *a, const struct run *b)
{
	return a->peak <= b->peak && a->call_ns <= b->call_ns &&
	       (a->peak < b->peak || a->call_ns < b->call_ns);
}

/* Calls that failed make a run no answer. */
static bool counts(const struct run *run, uint64_t failed)
{
	return run->end == PLAYER_ENDED && run->failed <= failed;
}

void runs_judge(struct runs *runs)
{
	const struct run *base = runs_base(runs);
	for (size_t i = 0; base && i < runs->n; i++) {
		struct run *r = &runs->items[i];
		r->best = counts(r, base->failed);
		for (size_t j = 0; j < runs->n && r->best; j++) {
			const struct run *other = &runs->items[j];
			r->best = !(counts(other, base->failed) && is_better(other, r));
		}
	}
}

const struct run *runs_base(const struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		if (runs->items[i].end == PLAYER_ENDED)
			return &runs->items[i];
	}
	return NULL;
}

uint32_t runs_widest_gap(const struct runs *runs, const struct run *run)
{
	uint32_t widest = 0;
	int64_t most = INT64_MIN;
	for (uint32_t i = 0; i < runs->n_moments; i++) {
		const int64_t gap = (int64_t)(run->samples[i].resident - runs->moments[i].bytes);
		if (gap > most) {
			most = gap;
			widest = i;
		}
	}
	return widest;
}

/* The share of the base's bytes that a run saves. */
static double saved(const struct run *base, const struct run *run, bool end)
{
	const uint64_t before = end ? base->at_end : base->peak, after = end ? run->at_end : run->peak;
	return before > after && before - after >= LEAST_BYTES ? (double)(before - after) / (double)before
							       : 0;
}

/* Whether `a` is to be preferred to `b`, which saves nearly as much. */
static bool is_easier(const struct run *base, const struct run *a, const struct run *b)
{
	const bool same_a = setup_is_like(a->setup, base->setup),
		   same_b = setup_is_like(b->setup, base->setup);
	if (same_a != same_b)
		return same_a;
	const bool plain_a = !*a->setup->settings, plain_b = !*b->setup->settings;
	if (plain_a != plain_b)
		return plain_a;
	return a->call_ns < b->call_ns;
}

/* Whether what a run saves isn't worth its time. */
static bool is_dear(const struct runs *runs, const struct run *base, const struct run *run, double share)
{
	const double before = (double)base->call_ns, after = (double)run->call_ns;
	const uint64_t end_ns = runs->n_moments ? runs->moments[runs->n_moments - 1].ns : 0;
	const uint64_t ns = above(end_ns, runs->begin_ns);
	if (after <= DEARER * before)
		return false;
	return share < MUCH || (after > DEAREST * before && after - before > LITTLE * (double)ns);
}

const struct run *runs_advise(const struct runs *runs, bool end)
{
	const struct run *base = runs_base(runs), *advised = NULL;
	double most = 0;
	for (size_t i = 0; base && i < runs->n; i++) {
		const struct run *r = &runs->items[i];
		const double share = saved(base, r, end);
		if (r == base || !counts(r, base->failed) || share < LEAST_SHARE ||
		    is_dear(runs, base, r, share))
			continue;
		const bool near = advised && share > most - NEARLY && share < most + NEARLY;
		if (!advised || (near ? is_easier(base, r, advised) : share > most)) {
			advised = r;
			most = share;
		}
	}
	return advised;
}
