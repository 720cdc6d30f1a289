/* SPDX-License-Identifier: MIT */
#include "family.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "figures.h"
#include "index_map.h"
#include "sample_weight.h"

enum { PROCESSES = 10, SITES = 5 };

/* One process, or one program that a process ran. */
struct process {
	const char *program, *command, *file, *end;
	uint32_t pid, parent_pid, traces;
	uint64_t start_ns;         /* CLOCK_REALTIME at the time 0 of its traces; 0: not known */
	uint64_t begin_ns, end_ns; /* since then */
	uint64_t peak_bytes, peak_ns, then_bytes, inherited_bytes;
	uint64_t end_bytes, end_shares, bytes, shares;
};

struct family_site {
	const char *function, *file, *module, *via;
	int line;
	uint64_t id, id_bytes; /* of the stack that allocated most */
	uint64_t end_bytes, end_shares, bytes, shares;
	uint32_t processes, last; /* that allocated there; the last of them + 1 */
};

struct family {
	struct process *processes;
	uint32_t n, n_traces, most;
	uint32_t *process_of; /* by trace */
	struct levels levels;
	struct family_window window;
	bool chosen; /* the window */
	bool no_clock, sampled, partial;
	struct block_filter_count all; /* own_part.h */

	struct family_site *sites;
	uint32_t n_sites, room_sites;
	struct index_map numbers; /* of sites, by a hash of their names */
	struct pool pool;
};

struct family *family_create(uint32_t most)
{
	struct family *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->most = most;
	f->processes = calloc(most + (size_t)1, sizeof(*f->processes));
	f->process_of = calloc(most + (size_t)1, sizeof(*f->process_of));
	if (f->processes && f->process_of)
		return f;
	family_destroy(f);
	return NULL;
}

void family_destroy(struct family *f)
{
	if (!f)
		return;
	levels_finish(&f->levels);
	index_map_finish(&f->numbers);
	pool_finish(&f->pool);
	free(f->processes);
	free(f->process_of);
	free(f->sites);
	free(f);
}

struct levels *family_levels(struct family *f, const struct mst_file_info *info)
{
	f->no_clock |= info->start_ns == 0;
	return f->no_clock ? NULL : &f->levels;
}

void family_choose(struct family *f, const struct family_window *window)
{
	f->window = *window;
	f->chosen = true;
}

/* NULL: no memory, or no text. */
static const char *keep(struct family *f, const char *text)
{
	return text ? pool_copy(&f->pool, text) : NULL;
}

/* ---- Sites ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static bool is_site(const struct family_site *s, const struct call *call, const char *module)
{
	return s->line == call->line && strcmp(s->function, call->function) == 0 &&
	       strcmp(s->file, call->file) == 0 && strcmp(s->module, module) == 0;
}

/* NULL: no memory. */
static struct family_site *find_site(struct family *f, const struct call *call, const char *module)
{
	uint64_t number;
	uint64_t key = hash_text(
		hash_text(hash_text(UINT64_C(0xcbf29ce484222325) + (uint64_t)call->line, call->function),
			  call->file),
		module);
	for (;; key++) {
		key -= key == UINT64_MAX; /* no key of the map */
		if (!index_map_find(&f->numbers, key, &number))
			break;
		if (is_site(&f->sites[number], call, module))
			return &f->sites[number];
	}
	if (!array_reserve(&f->sites, f->n_sites, &f->room_sites, sizeof(*f->sites)) ||
	    !index_map_put(&f->numbers, key, f->n_sites))
		return NULL;
	struct family_site *site = &f->sites[f->n_sites++];
	*site = (struct family_site){
		.function = keep(f, call->function),
		.file = keep(f, call->file),
		.module = keep(f, module),
		.line = call->line,
	};
	return site->function && site->file && site->module ? site : NULL;
}

/* The site of a stack. NULL: no memory. */
static struct family_site *site_of(struct family *f, struct report *r, uint32_t stack)
{
	const struct site *site = sites_of(r->sites, stack);
	struct call call = { .function = "[no stack]", .file = "" };
	if (!site)
		return NULL;
	if (site->call != MST_NONE)
		call = *call_sites_at(r->calls, site->call);
	struct family_site *found = find_site(f, &call, sites_module(r->sites, site->module));
	if (found && !found->via && site->via != MST_NONE)
		found->via = keep(f, call_sites_at(r->calls, site->via)->function);
	return found;
}

/* ---- Adding a trace ---- */

static struct process *find_process(struct family *f, const struct mst_file_info *info)
{
	struct process *p = f->n ? &f->processes[f->n - 1] : NULL;
	if (p && info->start_ns && p->pid == info->pid && p->start_ns == info->start_ns &&
	    info->initial_state && info->begin_ns >= p->end_ns)
		return p;
	return NULL;
}

static struct process *begin_process(struct family *f, const struct report *r,
				     const struct own_figures *figures)
{
	const struct mst_file_info *info = mst_reader_info(r->reader);
	const char *slash = strrchr(info->exe, '/');
	struct process *p = &f->processes[f->n++];
	const char *program = slash ? slash + 1 : info->exe;
	char *command = report_command_line(r);
	*p = (struct process){
		.program = keep(f, program),
		.command = keep(f, command && *command ? command : program),
		.file = keep(f, r->name),
		.pid = info->pid,
		.parent_pid = info->parent_pid,
		.start_ns = info->start_ns,
		.begin_ns = figures->begin_ns,
		.inherited_bytes = figures->inherited_bytes,
	};
	free(command);
	return p;
}

/* Adds the blocks of one kind to its site and to its process. */
static bool add_kind(struct family *f, struct report *r, struct process *p, const struct mst_kind *kind,
		     const struct own_kind *own, bool last)
{
	const uint64_t mean = mst_reader_info(r->reader)->sample_bytes;
	const uint64_t bytes = weight_bytes(mean, kind->size, kind->size);
	const uint64_t shares = weight_shares(mean, kind->size), live = last ? own->live : 0;
	struct family_site *site = site_of(f, r, kind->stack);
	if (!site)
		return false;
	site->bytes += own->allocated * bytes;
	site->shares += own->allocated * shares;
	site->end_bytes += live * bytes;
	site->end_shares += live * shares;
	if (site->last != f->n) {
		site->processes++;
		site->last = f->n;
	}
	if (site->id == 0 || own->allocated * bytes > site->id_bytes) {
		site->id_bytes = own->allocated * bytes;
		site->id = sites_id(r->sites, kind->stack);
	}
	p->bytes += own->allocated * bytes;
	p->shares += own->allocated * shares;
	p->end_bytes += live * bytes;
	p->end_shares += live * shares;
	return true;
}

bool family_add(struct family *f, struct report *r, const struct own_part *part, bool last)
{
	const struct own_figures figures = own_part_figures(part);
	const struct mst_file_info *info = mst_reader_info(r->reader);
	uint32_t n, n_own;
	char end[64];
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n);
	const struct own_kind *own = own_part_kinds(part, &n_own);
	struct process *p = find_process(f, info);
	if (!p)
		p = begin_process(f, r, &figures);
	p->traces++;
	p->end = keep(f, report_describe_end(r, end));
	p->end_ns = figures.end_ns > p->begin_ns ? figures.end_ns : p->begin_ns;
	if (figures.peak_bytes > p->peak_bytes) {
		p->peak_bytes = figures.peak_bytes;
		p->peak_ns = figures.peak_ns;
	}
	f->process_of[f->n_traces++] = f->n - 1;
	f->all.calls += figures.all.calls;
	f->all.bytes += figures.all.bytes;
	f->sampled |= info->sample_bytes != 0;
	f->partial |= r->partial;
	for (uint32_t i = 0; i < n_own && i < n; i++) {
		if ((own[i].allocated || own[i].live) && !add_kind(f, r, p, &kinds[i], &own[i], last))
			return false;
	}
	return p->program && p->command && p->file && p->end;
}

/* ---- Facts ---- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

struct family_totals {
	uint64_t origin_ns;         /* CLOCK_REALTIME, from which times of the answer count */
	uint64_t first_ns, last_ns; /* the same clock */
	uint64_t end_bytes, end_shares, bytes, shares;
	uint64_t peak_bytes, peak_ns; /* since origin_ns */
	uint32_t n, at_peak;          /* processes: of the window, and with live blocks at the peak */
};

static bool is_in_window(const struct family *f, const struct process *p)
{
	return !f->chosen || (p->start_ns + p->begin_ns < f->window.before_ns &&
			      p->start_ns + p->end_ns >= f->window.from_ns);
}

static struct family_totals add_up(const struct family *f)
{
	struct family_totals t = { .first_ns = UINT64_MAX };
	for (uint32_t i = 0; i < f->n; i++) {
		const struct process *p = &f->processes[i];
		const uint64_t begin = p->start_ns + p->begin_ns, end = p->start_ns + p->end_ns;
		if (!is_in_window(f, p))
			continue;
		t.n++;
		t.first_ns = begin < t.first_ns ? begin : t.first_ns;
		t.last_ns = end > t.last_ns ? end : t.last_ns;
		t.end_bytes += p->end_bytes;
		t.end_shares += p->end_shares;
		t.bytes += p->bytes;
		t.shares += p->shares;
	}
	t.origin_ns = f->chosen ? f->window.origin_ns : t.first_ns;
	if (f->chosen && t.first_ns < f->window.from_ns)
		t.first_ns = f->window.from_ns;
	if (t.first_ns > t.last_ns)
		t.first_ns = t.last_ns;
	return t;
}

void family_count(const struct family *f, struct answer_filter *filter)
{
	const struct family_totals t = add_up(f);
	filter->calls = weight_blocks(t.shares);
	filter->bytes = t.bytes;
	filter->all_calls = weight_blocks(f->all.calls);
	filter->all_bytes = f->all.bytes;
}

/* False: no memory. */
static bool find_peak(struct family *f, struct family_totals *t)
{
	uint64_t *then = calloc(f->n_traces + (size_t)1, sizeof(*then));
	uint64_t time_ns;
	if (!then)
		return false;
	t->peak_bytes = levels_peak(&f->levels, then, f->n_traces, &time_ns);
	t->peak_ns = time_ns > t->origin_ns ? time_ns - t->origin_ns : 0;
	for (uint32_t i = 0; i < f->n_traces; i++)
		f->processes[f->process_of[i]].then_bytes += then[i];
	for (uint32_t i = 0; i < f->n; i++)
		t->at_peak += f->processes[i].then_bytes != 0;
	free(then);
	return true;
}

static void write_title(const struct family *f, struct answer *a, const struct family_totals *t)
{
	char title[160], time[FIGURE_SIZE], date[32] = "";
	const time_t started = (time_t)((t->n ? t->first_ns : f->window.origin_ns) / 1000000000);
	struct tm tm;
	if (!f->no_clock && localtime_r(&started, &tm))
		strftime(date, sizeof(date), ", %Y-%m-%d %H:%M", &tm);
	const int n = snprintf(title, sizeof(title), "%" PRIu32 " process%s", t->n, t->n == 1 ? "" : "es");
	if (!f->no_clock)
		snprintf(title + n, sizeof(title) - (size_t)n, " in %s%s",
			 figure_time(time, t->last_ns - t->first_ns), date);
	answer_screen(a, title, 0);
}

static void write_peak(const struct family *f, struct answer *a, const struct family_totals *t, bool si)
{
	char line[200], bytes[FIGURE_SIZE], at[FIGURE_SIZE];
	if (f->no_clock)
		return;
	snprintf(line, sizeof(line), "%s in %" PRIu32 " process%s at %s",
		 figure_bytes(bytes, t->peak_bytes, si), t->at_peak, t->at_peak == 1 ? "" : "es",
		 figure_time(at, t->peak_ns));
	answer_fact_text(a, "peak", "together", line);
	answer_fact(a, "peak_bytes", NULL, ANSWER_BYTES, t->peak_bytes);
	answer_fact(a, "peak_ns", NULL, ANSWER_NS, t->peak_ns);
	answer_fact(a, "peak_step_ns", NULL, ANSWER_NS, f->levels.step_ns);
	answer_fact(a, "duration_ns", NULL, ANSWER_NS, t->last_ns - t->first_ns);
}

static void write_facts(const struct family *f, struct answer *a, const struct family_totals *t, bool si)
{
	const uint64_t calls = weight_blocks(t->shares), blocks = weight_blocks(t->end_shares);
	char line[200], bytes[FIGURE_SIZE], count[FIGURE_SIZE];
	answer_fact(a, "processes_total", NULL, ANSWER_COUNT, t->n);
	answer_fact(a, "traces", NULL, ANSWER_COUNT, f->n_traces);
	write_peak(f, a, t, si);
	snprintf(line, sizeof(line), "%s in %s block%s", figure_bytes(bytes, t->end_bytes, si),
		 thousands(count, blocks), plural(blocks));
	answer_fact_text(a, "at_the_ends", "at the ends", line);
	answer_fact(a, "end_bytes", NULL, ANSWER_BYTES, t->end_bytes);
	answer_fact(a, "end_blocks", NULL, ANSWER_COUNT, blocks);
	snprintf(line, sizeof(line), "%s in %s call%s", figure_bytes(bytes, t->bytes, si),
		 thousands(count, calls), plural(calls));
	answer_fact_text(a, "allocated", "allocated", line);
	answer_fact(a, "bytes", NULL, ANSWER_BYTES, t->bytes);
	answer_fact(a, "calls", NULL, ANSWER_COUNT, calls);
}

/* ---- Tables ---- */

static const struct answer_column process_columns[] = {
	{ "peak_bytes", "own peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "peak_ns", "", ANSWER_NS, ANSWER_DATA },
	{ "then_bytes", "together", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_bytes", "at the end", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_blocks", "", ANSWER_COUNT, ANSWER_DATA },
	{ "inherited_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "bytes", "allocated", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "start_ns", "", ANSWER_NS, ANSWER_DATA },
	{ "duration_ns", "", ANSWER_NS, ANSWER_DATA },
	{ "pid", "pid", ANSWER_TEXT, ANSWER_SCREEN },
	{ "pid", "", ANSWER_COUNT, ANSWER_DATA },
	{ "parent_pid", "", ANSWER_COUNT, ANSWER_DATA },
	{ "program", "", ANSWER_TEXT, ANSWER_DATA },
	{ "", "command", ANSWER_TEXT, ANSWER_SCREEN },
	{ "end", "ended", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "traces", "", ANSWER_COUNT, ANSWER_DATA },
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },
};

static void write_process(const struct family *f, struct answer *a, const struct process *p,
			  uint64_t origin_ns)
{
	char pid[16];
	snprintf(pid, sizeof(pid), "%" PRIu32, p->pid);
	answer_number(a, p->peak_bytes);
	answer_number(a, p->peak_ns);
	if (f->no_clock)
		answer_nothing(a);
	else
		answer_number(a, p->then_bytes);
	answer_number(a, p->end_bytes);
	answer_number(a, weight_blocks(p->end_shares));
	answer_number(a, p->inherited_bytes);
	answer_number(a, p->bytes);
	answer_number(a, weight_blocks(p->shares));
	if (f->no_clock)
		answer_nothing(a);
	else
		answer_number(a, p->start_ns + p->begin_ns - origin_ns);
	answer_number(a, p->end_ns - p->begin_ns);
	answer_text(a, pid);
	answer_number(a, p->pid);
	if (p->parent_pid)
		answer_number(a, p->parent_pid);
	else
		answer_nothing(a);
	answer_text(a, p->program);
	answer_text(a, p->command);
	answer_text(a, p->end);
	answer_number(a, p->traces);
	answer_text(a, p->file);
}

static int compare_processes(const void *a, const void *b)
{
	const struct process *x = *(const struct process *const *)a, *y = *(const struct process *const *)b;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes > y->peak_bytes ? -1 : 1;
	return (x > y) - (x < y);
}

/* The largest come first. Returns the first one, or of an empty window one without it; NULL: no memory. */
static const struct process *write_processes(const struct family *f, struct answer *a,
					     const struct family_totals *t, uint64_t top)
{
	const struct process **sorted = malloc((f->n + (size_t)1) * sizeof(const struct process *));
	uint32_t n = 0;
	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < f->n; i++) {
		if (is_in_window(f, &f->processes[i]))
			sorted[n++] = &f->processes[i];
	}
	array_sort(sorted, n, sizeof(const struct process *), compare_processes);
	answer_table(a, "processes", "Processes", process_columns,
		     sizeof(process_columns) / sizeof(*process_columns));
	for (uint32_t i = 0; i < n && i < top; i++)
		write_process(f, a, sorted[i], t->origin_ns);
	answer_left_out(a, n > top ? n - top : 0);
	const struct process *first = n ? sorted[0] : f->processes;
	free(sorted);
	return first;
}

static const struct answer_column end_columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "processes", "in", ANSWER_COUNT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static const struct answer_column call_columns[] = {
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "processes", "in", ANSWER_COUNT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static int compare_ends(const void *a, const void *b)
{
	const struct family_site *x = a, *y = b;
	if (x->end_bytes != y->end_bytes)
		return x->end_bytes > y->end_bytes ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int compare_calls(const void *a, const void *b)
{
	const struct family_site *x = a, *y = b;
	if (x->shares != y->shares)
		return x->shares > y->shares ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void name_site(struct answer *a, const struct family_site *s)
{
	char place[4096 + 32];
	if (s->line)
		snprintf(place, sizeof(place), "%s:%d", s->file, s->line);
	else
		snprintf(place, sizeof(place), "%s", *s->file ? s->file : s->module);
	answer_text(a, s->function);
	answer_text(a, place);
	answer_text(a, *s->file ? s->file : NULL);
	if (s->line)
		answer_number(a, (uint64_t)s->line);
	else
		answer_nothing(a);
	answer_text(a, *s->module ? s->module : NULL);
	answer_text(a, s->via);
	answer_number(a, s->id);
}

static void write_ends(struct family *f, struct answer *a, uint64_t all, uint64_t top)
{
	uint32_t n = 0;
	array_sort(f->sites, f->n_sites, sizeof(*f->sites), compare_ends);
	while (n < f->n_sites && f->sites[n].end_bytes)
		n++;
	if (n == 0)
		return;
	answer_table(a, "end_sites", "What is left at the ends", end_columns,
		     sizeof(end_columns) / sizeof(*end_columns));
	for (uint32_t i = 0; i < n && i < top; i++) {
		const struct family_site *s = &f->sites[i];
		answer_number(a, s->end_bytes);
		answer_real(a, report_share(s->end_bytes, all));
		answer_number(a, weight_blocks(s->end_shares));
		answer_number(a, s->processes);
		name_site(a, s);
	}
	answer_left_out(a, n > top ? n - top : 0);
}

static void write_calls(struct family *f, struct answer *a, uint64_t all, uint64_t top)
{
	if (f->n_sites == 0)
		return;
	array_sort(f->sites, f->n_sites, sizeof(*f->sites), compare_calls);
	answer_table(a, "churn_sites", "What churns", call_columns,
		     sizeof(call_columns) / sizeof(*call_columns));
	for (uint32_t i = 0; i < f->n_sites && i < top; i++) {
		const struct family_site *s = &f->sites[i];
		answer_number(a, weight_blocks(s->shares));
		answer_real(a, report_share(s->shares, all));
		answer_number(a, s->bytes);
		answer_number(a, s->processes);
		name_site(a, s);
	}
	answer_left_out(a, f->n_sites > top ? f->n_sites - top : 0);
}

static void write_notes(const struct family *f, struct answer *a, const struct process *largest)
{
	char step[FIGURE_SIZE];
	if (f->partial)
		answer_note(a,
			    "Of damaged or cut traces this is about what lies before the damage or the cut.");
	if (f->sampled)
		answer_note(a, "Estimates: there are samples among the traces.");
	if (f->no_clock)
		answer_note(a, "What they had together is not known: a trace lacks the time of its start.");
	else if (f->levels.step_ns)
		answer_note(a, "What they had together is known in steps of %s.",
			    figure_time(step, f->levels.step_ns));
	answer_note(a, "next: msreport %s", largest->file);
}

bool family_write(struct family *f, struct answer *a, uint64_t top, bool si)
{
	struct family_totals t = add_up(f);
	answer_section(a, "family", NULL);
	if (!f->no_clock && !find_peak(f, &t))
		return false;
	write_title(f, a, &t);
	write_facts(f, a, &t, si);
	const struct process *largest = write_processes(f, a, &t, top ? top : PROCESSES);
	if (!largest)
		return false;
	write_ends(f, a, t.end_bytes, top ? top : SITES);
	write_calls(f, a, t.shares, top ? top : SITES);
	write_notes(f, a, largest);
	return !answer_failed(a);
}
