/* SPDX-License-Identifier: MIT */
#include "whatif_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "figures.h"
#include "thousands.h"

enum { SCREEN_RUNS = 7, SCREEN_SENTENCES = 1, USUAL_ROWS = 10, WIDTH = 80 };

#define LEAST_PART .1          /* of the holes, for a sentence on the screen */
#define MUCH_REST (24u << 20)  /* bytes beside malloc's: more than a program of some libraries has */
#define LEAST_KEPT (64u << 10) /* bytes, the same */

static const struct answer_column run_columns[] = {
	{ "allocator", "allocator", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "settings", "settings", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "peak_resident_bytes", "peak RSS", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "live_peak_resident_bytes", "at peak", ANSWER_BYTES, ANSWER_DATA },
	{ "end_resident_bytes", "at end", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "call_ns", "in calls", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "system_calls", "syscalls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "best", "", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "mapped_bytes", "mapped", ANSWER_BYTES, ANSWER_DATA },
	{ "minor_faults", "faults", ANSWER_COUNT, ANSWER_DATA },
	{ "touch_ns", "touching", ANSWER_NS, ANSWER_DATA },
	{ "cpu_ns", "player", ANSWER_NS, ANSWER_DATA },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_DATA },
	{ "failed_calls", "failed", ANSWER_COUNT, ANSWER_DATA },
	{ "mmap_calls", "mmap", ANSWER_COUNT, ANSWER_DATA },
	{ "munmap_calls", "munmap", ANSWER_COUNT, ANSWER_DATA },
	{ "mremap_calls", "mremap", ANSWER_COUNT, ANSWER_DATA },
	{ "brk_calls", "brk", ANSWER_COUNT, ANSWER_DATA },
	{ "madvise_calls", "madvise", ANSWER_COUNT, ANSWER_DATA },
	{ "error", "", ANSWER_TEXT, ANSWER_DATA },
};

static const struct answer_column curve_columns[] = {
	{ "allocator", "allocator", ANSWER_TEXT, ANSWER_DATA },
	{ "settings", "settings", ANSWER_TEXT, ANSWER_DATA },
	{ "time_ns", "time", ANSWER_NS, ANSWER_DATA },
	{ "live_bytes", "live", ANSWER_BYTES, ANSWER_DATA },
	{ "resident_bytes", "resident", ANSWER_BYTES, ANSWER_DATA },
	{ "mapped_bytes", "mapped", ANSWER_BYTES, ANSWER_DATA },
};

static const struct answer_column keeper_columns[] = {
	{ "kept_bytes", "holes kept", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "page_bytes", "on pages", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "live_bytes", "live", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static const struct answer_column leaver_columns[] = {
	{ "left_bytes", "holes left", ANSWER_BYTES, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static const struct answer_column rounding_columns[] = {
	{ "rounded_bytes", "rounded up", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "live_bytes", "live", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

#define COLUMNS(c) (c), sizeof(c) / sizeof(*(c))

/* ---- The table of runs ---- */

/* Why a run has no figures; NULL: it has. */
static const char *describe_failure(const struct run *run, char text[64])
{
	switch (run->end) {
	case PLAYER_ENDED:
		return NULL;
	case PLAYER_RUNS:
		return "was stopped";
	case PLAYER_NOT_PRELOADED:
		return "has no malloc()";
	case PLAYER_KILLED:
		snprintf(text, 64, "died of signal %d", run->detail);
		return text;
	case PLAYER_STUCK:
		return "hung in a call";
	case PLAYER_FAILED:
		break;
	}
	snprintf(text, 64, "exited with status %d", run->detail);
	return text;
}

/* Their sum, or each. */
static void write_syscalls(struct answer *a, const struct run *r, bool sum)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < PLAYER_SYSCALLS; i++) {
		all += r->syscalls[i];
		if (!sum && r->counted)
			answer_number(a, r->syscalls[i]);
		else if (!sum)
			answer_nothing(a);
	}
	if (sum && r->counted)
		answer_number(a, all);
	else if (sum)
		answer_nothing(a);
}

static void write_run(struct answer *a, const struct run *r)
{
	char text[64];
	const char *failure = describe_failure(r, text);
	answer_text(a, r->setup->name);
	answer_text(a, failure ? failure : r->setup->settings);
	if (failure) {
		for (int i = 0; i < 17; i++)
			answer_nothing(a);
		answer_text(a, failure);
		return;
	}
	answer_number(a, r->peak);
	answer_number(a, r->at_live_peak);
	answer_number(a, r->at_end);
	answer_number(a, r->call_ns);
	write_syscalls(a, r, true);
	answer_text(a, r->best ? "*" : NULL);
	answer_number(a, r->most_mapped);
	answer_number(a, r->faults);
	answer_number(a, r->touch_ns);
	answer_number(a, r->cpu_ns);
	answer_number(a, r->calls);
	answer_number(a, r->failed);
	write_syscalls(a, r, false);
	answer_nothing(a);
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = *(const struct run *const *)a, *y = *(const struct run *const *)b;
	const bool fails_x = x->end != PLAYER_ENDED, fails_y = y->end != PLAYER_ENDED;
	if (fails_x != fails_y)
		return fails_x - fails_y;
	if (x->peak != y->peak)
		return x->peak < y->peak ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The base first, then those with the lowest peak. */
static void write_runs(struct whatif *w)
{
	struct answer *const a = w->report->answer;
	const struct runs *runs = w->runs;
	const uint64_t most = w->screen ? report_top(w->report, SCREEN_RUNS) : report_top(w->report, runs->n);
	const struct run *base = runs_base(runs), **order = calloc(runs->n + 1, sizeof(*order));
	size_t n = 0;
	if (!order) {
		w->report->no_memory = true;
		return;
	}
	for (size_t i = 0; i < runs->n; i++) {
		if (&runs->items[i] != base)
			order[n++] = &runs->items[i];
	}
	qsort(order, n, sizeof(*order), compare_runs);
	answer_table(a, "runs", NULL, COLUMNS(run_columns));
	if (base)
		write_run(a, base);
	const size_t shown = most > (base != NULL) ? most - (base != NULL) : 0;
	for (size_t i = 0; i < n && i < shown; i++)
		write_run(a, order[i]);
	answer_left_out(a, n > shown ? n - shown : 0);
	free(order);
}

/* For JSON and CSV. */
static void write_curves(struct whatif *w)
{
	struct answer *const a = w->report->answer;
	answer_table(a, "curves", NULL, COLUMNS(curve_columns));
	answer_is_curve(a);
	for (size_t i = 0; i < w->runs->n; i++) {
		const struct run *r = &w->runs->items[i];
		for (uint32_t m = 0; r->end == PLAYER_ENDED && m < w->runs->n_moments; m++) {
			answer_text(a, r->setup->name);
			answer_text(a, r->setup->settings);
			answer_number(a, w->runs->moments[m].ns);
			answer_number(a, w->runs->moments[m].bytes);
			answer_number(a, r->samples[m].resident);
			answer_number(a, r->samples[m].mapped);
		}
	}
}

/* ---- The advice ---- */

/* "MALLOC_ARENA_MAX=2", or how to preload an allocator. To be freed; NULL: no memory. */
static char *describe_setup(const struct run *base, const struct run *run)
{
	char *text;
	const struct setup *s = run->setup;
	const bool other = s->library && !setup_is_like(s, base->setup);
	const char *trim = strstr(s->settings, "malloc_trim=");
	const char *glibc = s->library || !base->setup->library ? "" : *s->settings ? "glibc with " : "glibc";
	const int n = trim == s->settings ? asprintf(&text, "%smalloc_trim(0) every %s", glibc,
						     trim + sizeof("malloc_trim=") - 1)
		      : *glibc            ? asprintf(&text, "%s%s", glibc, s->settings)
		      : other ? asprintf(&text, "LD_PRELOAD=%s%s%s", s->library, *s->settings ? " " : "",
					 s->settings)
			      : asprintf(&text, "%s", *s->settings ? s->settings : s->name);
	return n < 0 ? NULL : text;
}

static void describe_time(const struct run *base, const struct run *run, char text[64])
{
	const double ratio = base->call_ns ? (double)run->call_ns / (double)base->call_ns : 1;
	const int percent = (int)(ratio >= 1 ? (ratio - 1) * 100 + .5 : (1 - ratio) * 100 + .5);
	if (percent < 3)
		snprintf(text, 64, "the same time");
	else
		snprintf(text, 64, "%d %% %s time", percent, ratio >= 1 ? "more" : "less");
}

/* " peak RSS 1.9 GiB -> 0.8 GiB,": `room` bytes. */
static void describe_change(const struct run *base, const struct run *run, bool end, bool si, char *text,
			    size_t room)
{
	char before[FIGURE_SIZE], after[FIGURE_SIZE];
	snprintf(text, room, " %s %s -> %s,", end ? "at the end" : "peak RSS",
		 figure_bytes(before, end ? base->at_end : base->peak, si),
		 figure_bytes(after, end ? run->at_end : run->peak, si));
}

/* What a run changes, of the peak and of the end. */
static void write_advice(struct whatif *w, const struct run *run, bool peak, bool end)
{
	char at_peak[80] = "", at_end[80] = "", time[64];
	const struct run *base = runs_base(w->runs);
	char *what = describe_setup(base, run);
	const bool si = w->report->query->si;
	if (!what) {
		w->report->no_memory = true;
		return;
	}
	if (peak)
		describe_change(base, run, false, si, at_peak, sizeof(at_peak));
	if (end)
		describe_change(base, run, true, si, at_end, sizeof(at_end));
	describe_time(base, run, time);
	answer_note(w->report->answer, "%s:%s%s at %s in malloc and free.", what, at_peak, at_end, time);
	free(what);
}

/* What it is if no setup helps. */
static void write_why_not(struct whatif *w)
{
	char live[FIGURE_SIZE], resident[FIGURE_SIZE];
	const struct run *base = runs_base(w->runs);
	if (!base)
		return;
	if (base->peak < w->outline->peak_bytes) {
		answer_note(w->report->answer, "Nothing here saves 5 %% of the peak.");
		return;
	}
	answer_note(
		w->report->answer,
		"Nothing here saves 5 %% of the peak: of %s resident, %s are live blocks (msreport peak).",
		figure_bytes(resident, base->peak, w->report->query->si),
		figure_bytes(live, w->outline->peak_bytes, w->report->query->si));
}

static void note_failures(struct whatif *w)
{
	uint64_t failed = 0;
	uint32_t threads = 0;
	for (size_t i = 0; i < w->runs->n; i++) {
		failed = w->runs->items[i].failed > failed ? w->runs->items[i].failed : failed;
		threads |= w->runs->items[i].threads_failed;
	}
	if (failed)
		answer_note(w->report->answer,
			    "Up to %" PRIu64
			    " calls got no memory: too much for this machine, or for --limit.",
			    failed);
	if (threads)
		answer_note(w->report->answer,
			    "Some threads could not be made; the main thread made their calls.");
}

enum { TOUCH_SIZE = 40 };

/* " Try --touch=64k.", by which players take what the program had; "" if there is no such size. */
static void describe_touch(const struct whatif *w, uint64_t resident, char text[TOUCH_SIZE])
{
	static const char units[] = "kmg";
	uint64_t bytes = live_sizes_used(&w->outline->sizes, resident) >> 10;
	unsigned unit = 0;
	for (; bytes >= 1024 && unit < 2; unit++)
		bytes >>= 10;
	*text = '\0';
	if (bytes)
		snprintf(text, TOUCH_SIZE, " Try --touch=%" PRIu64 "%c.", bytes, units[unit]);
}

/* A program that doesn't use all of its blocks has less in memory than they are large. */
static void note_untouched(struct whatif *w)
{
	char recorded[FIGURE_SIZE], live[FIGURE_SIZE], touch[TOUCH_SIZE];
	const uint64_t resident = mst_reader_peak_resident(w->report->reader);
	const bool si = w->report->query->si;
	describe_touch(w, resident, touch);
	if (w->touches_all && resident && resident < w->outline->peak_bytes)
		answer_note(w->report->answer,
			    "The recorded program had at most %s resident, and %s live: it does not use all "
			    "of its blocks, as players do.%s",
			    figure_bytes(recorded, resident, si),
			    figure_bytes(live, w->outline->peak_bytes, si), touch);
}

/* Allocators can't change what isn't malloc()'s. */
static void note_rest(struct whatif *w)
{
	char recorded[FIGURE_SIZE], played[FIGURE_SIZE];
	const struct run *base = runs_base(w->runs);
	const uint64_t resident = mst_reader_peak_resident(w->report->reader);
	const bool si = w->report->query->si;
	if (!base || resident < base->peak + MUCH_REST || resident < 2 * base->peak)
		return;
	answer_note(
		w->report->answer,
		"Of %s recorded, malloc's are %s. The rest is code, data, stacks, and what the program maps "
		"by itself (msrec --pages).",
		figure_bytes(recorded, resident, si), figure_bytes(played, base->peak, si));
}

static void write_notes(struct whatif *w)
{
	struct answer *const a = w->report->answer;
	const struct run *peak = runs_advise(w->runs, false), *end = runs_advise(w->runs, true);
	if (peak)
		write_advice(w, peak, true, end == peak);
	else
		write_why_not(w);
	if (end && end != peak)
		write_advice(w, end, false, true);
	note_untouched(w);
	note_rest(w);
	note_failures(w);
	if (w->outline->custom)
		answer_note(a, "%" PRIu64 " blocks of the program's own allocator are not played.",
			    w->outline->custom);
}

static void write_facts(struct whatif *w)
{
	struct answer *const a = w->report->answer;
	const struct outline *o = w->outline;
	char bytes[FIGURE_SIZE], blocks[FIGURE_SIZE], at[FIGURE_SIZE], text[160];
	const bool si = w->report->query->si;
	const uint64_t recorded = mst_reader_peak_resident(w->report->reader);
	snprintf(text, sizeof(text), "%s in %s block%s at %s", figure_bytes(bytes, o->peak_bytes, si),
		 thousands(blocks, o->peak_blocks), o->peak_blocks == 1 ? "" : "s",
		 figure_time(at, o->peak_ns));
	answer_fact_text(a, "live_peak", "live at peak", text);
	answer_fact(a, "live_peak_bytes", NULL, ANSWER_BYTES, o->peak_bytes);
	answer_fact(a, "live_end_bytes", "at the end", ANSWER_BYTES, o->end_bytes);
	answer_fact(a, "threads", NULL, ANSWER_COUNT, outline_threads(o));
	answer_fact(a, "allocations", NULL, ANSWER_COUNT, o->allocations);
	const enum allocator_family own = w->setups->own;
	answer_fact_text(a, "recorded_allocator", own == ALLOCATOR_GLIBC ? NULL : "ran with",
			 setups_name(own));
	if (recorded)
		answer_fact(a, "recorded_peak_resident_bytes", "recorded RSS", ANSWER_BYTES, recorded);
}

/* ---- Who keeps the pages ---- */

/* The kinds of one site. */
struct blamed_site {
	uint32_t call, stack; /* that of its largest kind */
	struct blamed sum;
	uint64_t size; /* of each block; UINT64_MAX: there are several sizes */
	double most;
};

struct blamed_sites {
	struct blamed_site *items;
	uint32_t n;
};

static void add_kind(struct blamed_site *to, const struct mst_kind *kind, const struct blamed *b)
{
	const double weight = b->kept + (double)(b->left + b->rounded);
	if (b->blocks && to->sum.blocks == 0)
		to->size = kind->size;
	else if (b->blocks && to->size != kind->size)
		to->size = UINT64_MAX;
	if (weight > to->most) {
		to->most = weight;
		to->stack = kind->stack;
	}
	to->sum.blocks += b->blocks;
	to->sum.bytes += b->bytes;
	to->sum.kept += b->kept;
	to->sum.pages += b->pages;
	to->sum.left += b->left;
	to->sum.rounded += b->rounded;
}

/* By number of call, MST_NONE last; those of which there is nothing to say are left out. False: no memory. */
static bool sum_up(struct whatif *w, struct blamed_sites *sites)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(w->report->reader, &n);
	struct blamed_site *by_call = NULL;
	uint32_t room = 0;
	n = n < w->blame->n_kinds ? n : w->blame->n_kinds;
	for (uint32_t i = 0; i < n; i++) {
		const struct blamed *b = &w->blame->kinds[i];
		if (b->blocks == 0 && b->left == 0)
			continue;
		const struct site *site = sites_of(w->report->sites, kinds[i].stack);
		const uint32_t at = site && site->call != MST_NONE ? site->call + 1 : 0;
		if (!site || !array_reserve_zeroed(&by_call, at, &room, sizeof(*by_call))) {
			free(by_call);
			return false;
		}
		by_call[at].call = at;
		add_kind(&by_call[at], &kinds[i], b);
	}
	for (uint32_t i = 0; i < room; i++) {
		if (by_call[i].sum.blocks || by_call[i].sum.left)
			by_call[sites->n++] = by_call[i];
	}
	sites->items = by_call;
	return true;
}

static int compare_kept(const void *a, const void *b)
{
	const struct blamed_site *x = a, *y = b;
	if (x->sum.kept != y->sum.kept)
		return x->sum.kept > y->sum.kept ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static int compare_figures(const struct blamed_site *x, const struct blamed_site *y, uint64_t of_x,
			   uint64_t of_y)
{
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static int compare_left(const void *a, const void *b)
{
	const struct blamed_site *x = a, *y = b;
	return compare_figures(x, y, x->sum.left, y->sum.left);
}

static int compare_rounded(const void *a, const void *b)
{
	const struct blamed_site *x = a, *y = b;
	return compare_figures(x, y, x->sum.rounded, y->sum.rounded);
}

static void name_site(struct whatif *w, const struct blamed_site *site)
{
	const struct group group = { .stack = site->stack };
	report_name_group(w->report, &group, BY_SITE);
}

static void write_keepers(struct whatif *w, struct blamed_sites *sites, uint64_t most)
{
	struct answer *const a = w->report->answer;
	uint32_t shown = 0;
	qsort(sites->items, sites->n, sizeof(*sites->items), compare_kept);
	answer_table(a, "keepers", "What keeps pages that have holes", COLUMNS(keeper_columns));
	while (shown < sites->n && shown < most && sites->items[shown].sum.kept >= 1) {
		const struct blamed_site *s = &sites->items[shown++];
		answer_number(a, (uint64_t)s->sum.kept);
		answer_number(a, (uint64_t)s->sum.pages);
		answer_number(a, s->sum.bytes);
		answer_number(a, s->sum.blocks);
		name_site(w, s);
	}
	uint32_t all = shown;
	while (all < sites->n && sites->items[all].sum.kept >= 1)
		all++;
	answer_left_out(a, all - shown);
}

static void write_leavers(struct whatif *w, struct blamed_sites *sites, uint64_t most)
{
	struct answer *const a = w->report->answer;
	uint32_t shown = 0;
	qsort(sites->items, sites->n, sizeof(*sites->items), compare_left);
	answer_table(a, "leavers", "Whose freed blocks are the holes", COLUMNS(leaver_columns));
	while (shown < sites->n && shown < most && sites->items[shown].sum.left) {
		answer_number(a, sites->items[shown].sum.left);
		name_site(w, &sites->items[shown++]);
	}
	uint32_t all = shown;
	while (all < sites->n && sites->items[all].sum.left)
		all++;
	answer_left_out(a, all - shown);
}

/* What a size class, or a pool, of its own would save a site. */
static void write_rounding(struct whatif *w, struct blamed_sites *sites, uint64_t most)
{
	struct answer *const a = w->report->answer;
	uint32_t shown = 0;
	qsort(sites->items, sites->n, sizeof(*sites->items), compare_rounded);
	answer_table(a, "rounding", "What size classes round up", COLUMNS(rounding_columns));
	for (; shown < sites->n && shown < most && sites->items[shown].sum.rounded; shown++) {
		answer_number(a, sites->items[shown].sum.rounded);
		answer_number(a, sites->items[shown].sum.bytes);
		answer_number(a, sites->items[shown].sum.blocks);
		name_site(w, &sites->items[shown]);
	}
	uint32_t all = shown;
	while (all < sites->n && sites->items[all].sum.rounded)
		all++;
	answer_left_out(a, all - shown);
}

/* What the blocks of a site would take on pages of their own. */
static uint64_t own_pages(const struct blamed_site *site)
{
	return (site->sum.bytes + 4095) & ~UINT64_C(4095);
}

/* "; a pool of their own would take 20 KiB", if that is much less. */
static void describe_pool(const struct whatif *w, const struct blamed_site *s, char text[80])
{
	char bytes[FIGURE_SIZE];
	*text = '\0';
	if (s->sum.kept >= (double)own_pages(s))
		snprintf(text, 80, "; a pool of %s own takes %s", s->sum.blocks == 1 ? "its" : "their",
			 figure_bytes(bytes, own_pages(s), w->report->query->si));
}

/* "412 blocks of 48 bytes from Cache::insert (cache.c:88) keep 3.2 MiB of holes on 3.9 MiB of pages." */
static void write_sentence(struct whatif *w, const struct blamed_site *s)
{
	char n[FIGURE_SIZE], kept[FIGURE_SIZE], pages[FIGURE_SIZE], size[40] = "", place[256] = "", pool[80];
	const struct site *site = sites_of(w->report->sites, s->stack);
	const bool si = w->report->query->si;
	if (!site || site->call == MST_NONE)
		return;
	const struct call *call = call_sites_at(w->report->calls, site->call);
	const char *slash = strrchr(call->file, '/');
	if (s->size != UINT64_MAX)
		snprintf(size, sizeof(size), " of %" PRIu64 " bytes", s->size);
	if (*call->file)
		snprintf(place, sizeof(place), " (%s:%d)", slash ? slash + 1 : call->file, call->line);
	describe_pool(w, s, pool);
	answer_note(w->report->answer, "%s block%s%s from %s%s keep%s %s of holes on %s of pages%s.",
		    thousands(n, s->sum.blocks), s->sum.blocks == 1 ? "" : "s", size, call->function, place,
		    s->sum.blocks == 1 ? "s" : "", figure_bytes(kept, (uint64_t)s->sum.kept, si),
		    figure_bytes(pages, (uint64_t)s->sum.pages, si), pool);
}

/* What each site's blocks would take if they lay on pages of their own. */
static uint64_t segregated(const struct blamed_sites *sites)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < sites->n; i++)
		bytes += own_pages(&sites->items[i]);
	return bytes;
}

/* Nothing is for data alone. */
static void write_bytes(struct answer *a, const char *key, const char *title, uint64_t bytes)
{
	answer_fact(a, key, bytes ? title : NULL, ANSWER_BYTES, bytes);
}

static void write_blame_facts(struct whatif *w, const struct blamed_sites *sites)
{
	struct answer *const a = w->report->answer;
	const struct blame *b = w->blame;
	answer_fact_text(a, "allocator", NULL, w->blamed_run->setup->name);
	answer_fact_text(a, "settings", NULL, w->blamed_run->setup->settings);
	answer_fact(a, "time_ns", "at", ANSWER_NS, w->blamed.ns);
	write_bytes(a, "resident_bytes", "resident", b->resident);
	write_bytes(a, "live_bytes", "of it live", b->live);
	write_bytes(a, "hole_bytes", "holes beside live", b->holes);
	write_bytes(a, "empty_bytes", "empty pages", b->empty);
	write_bytes(a, "overhead_bytes", "headers, rounding", b->resident - b->live - b->holes - b->empty);
	write_bytes(a, "rounded_bytes", "rounded up", b->rounded);
	write_bytes(a, "segregated_bytes", "if sites had own pages", segregated(sites));
}

static void write_what_it_is(struct whatif *w)
{
	const struct blame *b = w->blame;
	const bool advised = runs_advise(w->runs, false) || runs_advise(w->runs, true);
	char bytes[FIGURE_SIZE];
	if (b->empty > b->holes)
		answer_note(w->report->answer,
			    "%s are whole pages without a live block: the allocator keeps them%s.",
			    figure_bytes(bytes, b->empty, w->report->query->si),
			    advised ? "; a setting can give them back" : "");
}

/* A section of tables; the site that keeps most is in a sentence. */
static void write_blame_section(struct whatif *w, struct blamed_sites *sites)
{
	const struct setup *s = w->blamed_run->setup;
	const uint64_t most = report_top(w->report, USUAL_ROWS);
	char title[160], at[FIGURE_SIZE];
	snprintf(title, sizeof(title), "What keeps pages: %s%s%.60s at %s", s->name, *s->settings ? " " : "",
		 s->settings, figure_time(at, w->blamed.ns));
	answer_section(w->report->answer, "blame", NULL);
	answer_screen(w->report->answer, title, 0);
	write_blame_facts(w, sites);
	write_keepers(w, sites, most);
	if (sites->n && sites->items[0].sum.kept >= 1)
		write_sentence(w, &sites->items[0]);
	write_leavers(w, sites, most);
	write_rounding(w, sites, most);
	write_what_it_is(w);
}

/* On one screen: the largest parts of the holes. */
static void write_blame_sentences(struct whatif *w, struct blamed_sites *sites)
{
	const double least = (double)w->blame->holes * LEAST_PART;
	qsort(sites->items, sites->n, sizeof(*sites->items), compare_kept);
	for (uint32_t i = 0; i < sites->n && i < SCREEN_SENTENCES; i++) {
		if (sites->items[i].sum.kept >= least && sites->items[i].sum.kept >= LEAST_KEPT)
			write_sentence(w, &sites->items[i]);
	}
	write_what_it_is(w);
}

static void write_blame(struct whatif *w)
{
	struct blamed_sites sites = { 0 };
	if (!sum_up(w, &sites))
		w->report->no_memory = true;
	else if (w->screen)
		write_blame_sentences(w, &sites);
	else
		write_blame_section(w, &sites);
	free(sites.items);
}

/* As much of the command as fits. */
static void write_title(struct whatif *w)
{
	char *command = report_command_line(w->report), *title = NULL, rest[40];
	const uint32_t threads = outline_threads(w->outline);
	snprintf(rest, sizeof(rest), "   %" PRIu32 " thread%s", threads, threads == 1 ? "" : "s");
	const int room = WIDTH - (int)strlen(rest), n = command ? (int)strlen(command) : 0;
	const bool fits = n <= room;
	if (!command ||
	    asprintf(&title, "%.*s%s%s", fits ? n : room - 3, command, fits ? "" : "...", rest) < 0)
		w->report->no_memory = true;
	else
		answer_screen(w->report->answer, title, 0);
	free(command);
	free(title);
}

void whatif_write(struct whatif *w)
{
	struct answer *const a = w->report->answer;
	answer_section(a, "whatif", NULL);
	write_title(w);
	write_facts(w);
	if (w->screen)
		whatif_write_bounds(w);
	write_runs(w);
	if (!w->screen)
		whatif_write_bounds(w);
	if (!w->screen)
		write_curves(w);
	if (w->screen && w->blame)
		write_blame(w);
	write_notes(w);
	if (w->screen)
		answer_note(a, "next: mswhatif --blame|--sweep %s   --format=json", w->report->name);
	if (!w->screen && w->blame)
		write_blame(w);
}
