/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "group_lives.h"
#include "hash_index.h"
#include "hex.h"
#include "thread_count.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { ENOUGH_LIVES = 10 }; /* frees from which on a median is said */

const char *const figure_words[FIGURES] = { "peak",  "peak-blocks", "end",       "end-blocks",
					    "bytes", "calls",       "temporary", "life" };
const char *const figure_titles[FIGURES] = { "peak",       "blocks at the peak",
					     "at the end", "blocks at the end",
					     "allocated",  "calls",
					     "temporary",  "median life" };

/* What calls main and threads: it depends on the C library alone. */
static const char *const starters[] = {
	"_start",
	"__libc_start_main",
	"__libc_start_call_main",
	"__libc_start_main_impl",
	"(below main)",
	"start_thread",
	"clone",
	"clone3",
	"__clone",
	"__clone3",
};

void summary_finish(struct summary *s)
{
	free(s->stacks);
	free(s->calls);
	pool_finish(&s->pool);
	*s = (struct summary){ 0 };
}

/* NULL stays NULL. False: no memory. */
static bool keep(struct summary *s, const char *text, const char **kept)
{
	*kept = text ? pool_copy(&s->pool, text) : NULL;
	return *kept || !text;
}

/* ---- Labels ---- */

/* The labels of a stack while they are collected. */
struct path {
	uint32_t *items;
	uint32_t n, room;
	uint32_t starters; /* of them the last ones, that are left out */
};

/* What makes a summary. */
struct maker {
	struct summary *summary;
	struct report *report;
	struct labels *labels;
	const struct summary_query *query;
	struct path path; /* of the present stack */
};

/* "__libc_start_main@@GLIBC_2.34", too. */
static bool is_starter(const char *function)
{
	const size_t n = strcspn(function, "@");
	for (size_t i = 0; i < COUNT(starters); i++) {
		if (strlen(starters[i]) == n && strncmp(function, starters[i], n) == 0)
			return true;
	}
	return false;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Recordings of other tools don't say which module is the program: there it is the one with the command's name. */
static bool is_program(const struct report *r, const struct mst_module *modules, uint32_t n, uint32_t module)
{
	const struct mst_file_info *info = mst_reader_info(r->reader);
	if (modules[module].role == MST_MODULE_EXECUTABLE)
		return true;
	if (info->argc == 0 || strcmp(last_part(info->argv[0]), last_part(modules[module].path)) != 0)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (modules[i].role == MST_MODULE_EXECUTABLE)
			return false;
	}
	return true;
}

/* The program is the program, however its file is called. */
static const char *module_name(const struct report *r, uint32_t module)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(r->reader, &n);
	return module < n && is_program(r, modules, n, module) ? "" : sites_module(r->sites, module);
}

/* Text of a module's build: its id, else its path. */
static const char *build_name(const struct report *r, uint32_t module, char text[2 * MST_BUILD_ID_MAX + 1])
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(r->reader, &n);
	if (module >= n)
		return "";
	if (modules[module].build_id_size == 0)
		return modules[module].path;
	hex_put(text, modules[module].build_id, modules[module].build_id_size);
	return text;
}

/* A call that is to be labelled. */
struct place {
	const char *function, *file;
	int line;
	bool named, hidden;
	uint32_t module;
};

/* Keeps the call of a label that is seen for the first time, if calls are asked for. False: no memory. */
static bool keep_call(struct maker *m, uint32_t label, const struct place *at)
{
	struct summary *s = m->summary;
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(m->report->reader, &n);
	const char *module = at->module < n ? modules[at->module].path : "";
	if (!m->query->calls || (label < s->n_calls && s->calls[label].function))
		return true;
	if (!array_reserve_zeroed(&s->calls, label, &s->n_calls, sizeof(*s->calls)))
		return false;
	struct label_call *call = &s->calls[label];
	*call = (struct label_call){ .line = at->line, .named = at->named, .hidden = at->hidden };
	return keep(s, at->file, &call->file) && keep(s, module, &call->module) &&
	       keep(s, at->function, &call->function);
}

/* `inside`: of sites_hide_frame(). False: no memory. */
static bool label_call(struct maker *m, uint32_t call, uint32_t module, bool inside, uint32_t *label)
{
	char build[2 * MST_BUILD_ID_MAX + 1];
	const struct call *c = call_sites_at(m->report->calls, call);
	struct place place = { c->function, c->file, c->line, c->named, false, module };
	if (!sites_hide(m->report->sites, call, module, &place.hidden))
		return false;
	place.hidden |= inside;
	return labels_add(m->labels,
			  &(struct labelled){ .function = c->function,
					      .named = c->named,
					      .module = module_name(m->report, module),
					      .build = c->named ? "" : build_name(m->report, module, build),
					      .hidden = place.hidden,
					      .inside = inside },
			  label) &&
	       keep_call(m, *label, &place);
}

static bool path_add(struct path *p, uint32_t label, bool starter)
{
	if (!array_reserve(&p->items, p->n, &p->room, sizeof(*p->items)))
		return false;
	p->items[p->n++] = label;
	p->starters = starter ? p->starters + 1 : 0;
	return true;
}

static bool collect_stack(struct maker *m, uint32_t stack)
{
	const struct report *r = m->report;
	struct path *p = &m->path;
	uint32_t n_stacks, n_frames, n, label;
	const struct mst_stack *stacks = mst_reader_stacks(r->reader, &n_stacks);
	const struct mst_frame *frames = mst_reader_frames(r->reader, &n_frames);
	p->n = p->starters = 0;
	for (; stack != MST_ROOT_STACK; stack = stacks[stack].parent) {
		const uint32_t frame = stacks[stack].frame;
		const bool inside = sites_hide_frame(r->sites, stack);
		const uint32_t *calls = call_sites_of(r->calls, frame, &n);
		for (uint32_t i = 0; calls && i < n; i++) {
			const struct call *call = call_sites_at(r->calls, calls[i]);
			/* Outside of a starter, code without a name is a stripped program's _start. */
			const bool starter = call->named ? is_starter(call->function) : p->starters > 0;
			if (!label_call(m, calls[i], frames[frame].module, inside, &label) ||
			    !path_add(p, label, starter))
				return false;
		}
		if (!calls)
			return false;
	}
	if (p->starters < p->n)
		p->n -= p->starters;
	return true;
}

/* A site's function, or what stands for it. */
static const char *site_name(const struct maker *m, const struct site *site)
{
	const char *module = sites_module(m->report->sites, site->module);
	if (m->query->by == SUMMARY_BY_LIBRARY)
		return *module ? module : "[no library]";
	return site->call == MST_NONE ? "[no stack]" : call_sites_at(m->report->calls, site->call)->function;
}

/* One label: of the site's function, or of its library. */
static bool collect_site(struct maker *m, uint32_t stack)
{
	const bool by_library = m->query->by == SUMMARY_BY_LIBRARY;
	const struct site *site = sites_of(m->report->sites, stack);
	uint32_t label;
	m->path.n = m->path.starters = 0;
	if (!site)
		return false;
	if (!by_library && site->call != MST_NONE)
		return label_call(m, site->call, site->module, false, &label) &&
		       path_add(&m->path, label, false);
	const struct place place = { site_name(m, site), "", 0, true, false, site->module };
	return labels_add(m->labels,
			  &(struct labelled){ .function = "",
					      .named = true,
					      .module = by_library ? module_name(m->report, site->module)
								   : "?" },
			  &label) &&
	       keep_call(m, label, &place) && path_add(&m->path, label, false);
}

/* ---- Stacks ---- */

/* The function outside of a stack's site. NULL: there is none. */
static const char *find_caller(const struct report *r, uint32_t stack, const struct site *site)
{
	uint32_t n_stacks, n;
	const struct mst_stack *stacks = mst_reader_stacks(r->reader, &n_stacks);
	bool found = false;
	for (; stack != MST_ROOT_STACK; stack = stacks[stack].parent) {
		const uint32_t *calls = call_sites_of(r->calls, stacks[stack].frame, &n);
		for (uint32_t i = 0; calls && i < n; i++) {
			const char *function = call_sites_at(r->calls, calls[i])->function;
			if (found)
				return is_starter(function) ? NULL : function;
			found = calls[i] == site->call;
		}
	}
	return NULL;
}

static bool describe(struct maker *m, uint32_t stack, struct origin *origin)
{
	struct summary *s = m->summary;
	const struct report *r = m->report;
	const enum summary_by by = m->query->by;
	const struct site *site = sites_of(r->sites, stack);
	if (!site)
		return false;
	const bool known = site->call != MST_NONE && by != SUMMARY_BY_LIBRARY;
	const struct call *call = known ? call_sites_at(r->calls, site->call) : NULL;
	const char *module = sites_module(r->sites, site->module);
	origin->line = known && by == SUMMARY_BY_STACK ? call->line : 0;
	origin->id = by == SUMMARY_BY_STACK ? sites_id(r->sites, stack) : 0;
	return keep(s, site_name(m, site), &origin->function) &&
	       keep(s, known && *call->file ? call->file : NULL, &origin->file) &&
	       keep(s, *module ? module : NULL, &origin->module) &&
	       keep(s, known && site->via != MST_NONE ? call_sites_at(r->calls, site->via)->function : NULL,
		    &origin->via) &&
	       keep(s, known && by == SUMMARY_BY_STACK ? find_caller(r, stack, site) : NULL, &origin->caller);
}

static uint32_t hash_path(const uint32_t *labels, uint32_t n)
{
	return hash_text((const char *)labels, n * sizeof(*labels));
}

/* The stack of a path, made and described if need be. NULL: no memory. */
static struct summary_stack *find_stack(struct summary *s, struct hash_index *index, const struct path *p)
{
	const uint32_t hash = hash_path(p->items, p->n);
	uint32_t id;
	if (!hash_index_reserve(index) || !array_reserve(&s->stacks, s->n, &s->room, sizeof(*s->stacks)))
		return NULL;
	for (uint32_t at = hash_index_first(index, hash); hash_index_next(index, hash, &at, &id);) {
		const struct summary_stack *known = &s->stacks[id];
		if (known->n == p->n &&
		    (p->n == 0 || memcmp(known->labels, p->items, p->n * sizeof(*p->items)) == 0))
			return &s->stacks[id];
	}
	uint32_t *labels = pool_take(&s->pool, (p->n + (size_t)1) * sizeof(*labels));
	if (!labels)
		return NULL;
	if (p->n)
		memcpy(labels, p->items, p->n * sizeof(*labels));
	hash_index_add(index, hash, s->n);
	s->stacks[s->n] = (struct summary_stack){ .labels = labels, .n = p->n };
	return &s->stacks[s->n++];
}

static void add_group(struct summary_stack *to, const struct group *g, bool suppressed)
{
	to->leaked += suppressed ? 0 : g->end_bytes;
	if (g->calls && g->most > to->largest)
		to->largest = g->most;
	to->figures[FIGURE_PEAK] += g->then_bytes;
	to->figures[FIGURE_PEAK_BLOCKS] += g->then_blocks;
	to->figures[FIGURE_END] += g->end_bytes;
	to->figures[FIGURE_END_BLOCKS] += g->end_blocks;
	to->figures[FIGURE_BYTES] += g->bytes;
	to->figures[FIGURE_CALLS] += g->calls;
}

/* Groups come with the most allocated bytes first, so the first one of a path describes it. False: no memory. */
static bool add_groups(struct maker *m, const struct groups *groups, uint32_t *number_of)
{
	struct summary *s = m->summary;
	const struct report *r = m->report;
	uint32_t *suppressed = suppressions_of_stacks(r->query->suppressions, r->reader, r->calls);
	struct hash_index index;
	bool fine = hash_index_init(&index) && suppressed;
	for (uint32_t i = 0; fine && i < groups->n; i++) {
		const struct group *g = &groups->items[i];
		const uint32_t before = s->n;
		struct summary_stack *to = NULL;
		if (m->query->by == SUMMARY_BY_STACK ? collect_stack(m, g->stack) : collect_site(m, g->stack))
			to = find_stack(s, &index, &m->path);
		fine = to && (s->n == before || describe(m, g->stack, &to->origin));
		if (!fine)
			break;
		add_group(to, g, suppressed[g->stack] != MST_NONE);
		number_of[g->stack] = (uint32_t)(to - s->stacks);
	}
	free(m->path.items);
	free(suppressed);
	hash_index_finish(&index);
	return fine;
}

/* ---- Lives ---- */

static uint64_t median_life(const struct group_lives *lives, const struct group_life *life)
{
	return life->freed < ENOUGH_LIVES ? FIGURE_UNKNOWN
					  : histogram_quantile(&life->lifetimes.calls, &lives->pages, .5);
}

/* False: no memory. */
static bool add_lives(struct summary *s, const struct report *r, uint32_t *number_of, uint32_t n_stacks)
{
	struct group_lives lives = { 0 }, all = { 0 };
	bool fine = group_lives_add_up(&lives, r, number_of, n_stacks, s->n);
	for (uint32_t i = 0; fine && i < s->n; i++) {
		s->stacks[i].figures[FIGURE_TEMPORARY] = lives.items[i].temporary;
		s->stacks[i].figures[FIGURE_LIFE] = median_life(&lives, &lives.items[i]);
	}
	for (uint32_t i = 0; i < n_stacks; i++)
		number_of[i] = number_of[i] == MST_NONE ? MST_NONE : 0;
	fine = fine && group_lives_add_up(&all, r, number_of, n_stacks, 1);
	if (fine) {
		s->totals[FIGURE_TEMPORARY] = all.items[0].temporary;
		s->totals[FIGURE_LIFE] = median_life(&all, &all.items[0]);
	}
	group_lives_finish(&lives);
	group_lives_finish(&all);
	return fine;
}

static void forget_lives(struct summary *s)
{
	s->totals[FIGURE_TEMPORARY] = s->totals[FIGURE_LIFE] = FIGURE_UNKNOWN;
	for (uint32_t i = 0; i < s->n; i++)
		s->stacks[i].figures[FIGURE_TEMPORARY] = s->stacks[i].figures[FIGURE_LIFE] = FIGURE_UNKNOWN;
}

/* ---- All of it ---- */

static bool keep_command(struct summary *s, const struct report *r)
{
	char *command = report_command_line(r);
	const bool fine = command && keep(s, command, &s->command) && keep(s, r->name, &s->name);
	free(command);
	return fine;
}

static void add_mistakes(struct summary *s, const struct report *r)
{
	uint32_t n = 0;
	const struct mistake *list = r->mistakes ? mistakes_list(r->mistakes, &n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		s->errors += list[i].type == MISTAKE_ZERO ? 0 : list[i].count;
}

static void add_totals(struct summary *s, const struct report *r)
{
	const struct report_totals t = report_totals(r, r->profile);
	s->totals[FIGURE_PEAK] = t.then_bytes;
	s->totals[FIGURE_PEAK_BLOCKS] = t.then_blocks;
	s->totals[FIGURE_END] = t.end_bytes;
	s->totals[FIGURE_END_BLOCKS] = t.end_blocks;
	s->totals[FIGURE_BYTES] = t.bytes;
	s->totals[FIGURE_CALLS] = t.calls;
	s->duration_ns = profile_end_ns(r->profile) - r->begin_ns;
	s->partial = r->partial;
	s->sampled = mst_reader_info(r->reader)->sample_bytes;
	s->knows_lives = report_knows_lives(r);
	s->resident = mst_reader_peak_resident(r->reader);
	const struct mst_end *end = mst_reader_end(r->reader);
	s->ended = end;
	s->growing = r->growing;
	s->lost = end ? end->lost : 0;
	s->stopped = end && end->reason == MST_END_DETACHED;
	s->part = r->begin_ns > 0;
	s->threads = thread_count(r->reader);
	add_mistakes(s, r);
}

bool summary_make(struct summary *s, struct report *r, struct labels *labels,
		  const struct summary_query *query)
{
	struct maker maker = { .summary = s, .report = r, .labels = labels, .query = query };
	struct groups groups = { 0 };
	uint32_t n_stacks;
	mst_reader_stacks(r->reader, &n_stacks);
	uint32_t *number_of = malloc((n_stacks + (size_t)1) * sizeof(*number_of));
	*s = (struct summary){ 0 };
	add_totals(s, r);
	if (number_of)
		memset(number_of, 0xff, n_stacks * sizeof(*number_of));
	bool fine = number_of && keep_command(s, r) &&
		    report_groups(r, r->profile, &groups, BY_NODE, ORDER_BYTES) &&
		    add_groups(&maker, &groups, number_of);
	if (fine && s->knows_lives)
		fine = add_lives(s, r, number_of, n_stacks);
	else
		forget_lives(s);
	groups_finish(&groups);
	free(number_of);
	return fine;
}

struct match_stack *summary_match_stacks(const struct summary_stack *stacks, uint32_t n)
{
	struct match_stack *list = malloc((n + (size_t)1) * sizeof(*list));
	for (uint32_t i = 0; list && i < n; i++)
		list[i] = (struct match_stack){ stacks[i].labels, stacks[i].n,
						stacks[i].figures[FIGURE_CALLS] };
	return list;
}
