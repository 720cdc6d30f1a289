/* SPDX-License-Identifier: MIT */
#include "top_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follow.h"
#include "out.h"
#include "progress.h"
#include "replay.h"
#include "report.h"
#include "report_child.h"
#include "screen_locale.h"
#include "terminal.h"
#include "top_json.h"

#define NS_PER_MS 1000000u
#define RATE_NS 2000000000u
#define TICK_MS 50u           /* between looks at the keys while chunks come */
#define FAR_BEHIND (8u << 20) /* bytes of a file: then the screen says how far it has been read */
#define MESSAGE_MS 10000u     /* how long one is shown */
#define END_TICK_MS 500       /* once nothing comes any more */
#define ASK_BEFORE_MS 150u    /* a screen is due, msrec is asked for what it holds back */

/* What names are found by. */
struct top_names {
	struct symbolizer *symbolizer;
	struct call_sites *calls;
	struct sites *sites;
};

struct session {
	const struct top_command *command;
	struct follow follow;
	struct top_counts *counts;
	struct observer ticker; /* looks at the keys between chunks */
	struct top_names names;
	char *command_line;

	struct top_sample sample;
	struct top_view view;
	struct top_screen screen;
	bool shows;  /* a terminal is open */
	bool quit;   /* the user asked for it */
	bool failed; /* no memory */
	enum top_state state;
	uint64_t sampled, ticked; /* when, in ms */

	int32_t pid; /* of the process whose recordings are followed; 0: this file alone */
	char *next;  /* the file in which the recording goes on; NULL: none */

	struct report_child report;
	char *message;
	uint64_t message_until; /* ms; 0: until it is replaced */
};

static const struct sites_hidden hidden;

/* ---- Names ---- */

static void finish_names(struct top_names *n)
{
	sites_destroy(n->sites);
	call_sites_destroy(n->calls);
	symbolize_destroy(n->symbolizer);
	*n = (struct top_names){ 0 };
}

/* False: no memory. */
static bool begin_names(struct session *s)
{
	const struct tool *tool = &s->command->tool;
	struct top_names *n = &s->names;
	finish_names(n);
	n->symbolizer =
		symbolize_create(s->follow.trace.reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	n->calls = n->symbolizer ? call_sites_create(n->symbolizer) : NULL;
	n->sites = n->calls ? sites_create(s->follow.trace.reader, n->calls, &hidden) : NULL;
	return n->sites;
}

/* ---- Messages ---- */

static void __attribute__((format(printf, 3, 4)))
say(struct session *s, uint64_t for_ms, const char *format, ...)
{
	va_list list;
	free(s->message);
	va_start(list, format);
	if (vasprintf(&s->message, format, list) < 0)
		s->message = NULL;
	va_end(list);
	s->message_until = for_ms ? follow_now_ms() + for_ms : 0;
}

static void age_message(struct session *s)
{
	if (!s->message_until || follow_now_ms() < s->message_until)
		return;
	free(s->message);
	s->message = NULL;
	s->message_until = 0;
}

/* ---- Samples ---- */

static bool take_sample(struct session *s)
{
	const struct top_spans spans = { s->command->window_ns, RATE_NS };
	s->sample.state = s->state;
	if (s->state == TOP_ENDED)
		s->sample.end = *mst_reader_end(s->follow.trace.reader);
	if (!top_sample_take(&s->sample, s->counts, s->follow.trace.reader, s->names.sites, spans)) {
		s->failed = true;
		return false;
	}
	top_sample_sort(&s->sample, s->view.order);
	s->sampled = follow_now_ms();
	return true;
}

/* While nothing comes, time goes on as far as the last sample of the memory says. False: no memory. */
static bool pass_time(struct session *s)
{
	uint32_t n;
	const struct mst_reader *reader = s->follow.trace.reader;
	const struct mst_memory_sample *samples = mst_reader_memory(reader, &n);
	/* The initial state comes before all that passes. */
	if (mst_reader_info(reader)->initial_state && top_counts_events(s->counts) == 0)
		return true;
	if (n && !top_counts_pass(s->counts, samples[n - 1].time << mst_reader_time_shift(reader)))
		s->failed = true;
	return !s->failed;
}

static void take_stacks(struct session *s)
{
	struct top_view *v = &s->view;
	v->all_stacks = top_stacks_of(s->counts, s->names.sites, v->call, v->stacks, TOP_STACKS);
	v->n_stacks = v->all_stacks < TOP_STACKS ? v->all_stacks : TOP_STACKS;
	if (v->stack >= v->n_stacks)
		v->stack = 0;
}

/* ---- The screen ---- */

static struct top_scene scene_of(const struct session *s)
{
	return (struct top_scene){
		.sample = &s->sample,
		.view = &s->view,
		.reader = s->follow.trace.reader,
		.sites = s->names.sites,
		.command = s->command_line,
		.trace = s->follow.trace.name,
		.message = s->message,
	};
}

static void draw(struct session *s)
{
	const struct top_scene scene = scene_of(s);
	terminal_size(&s->screen.rows, &s->screen.columns);
	top_view_settle(&s->view, &s->sample, top_screen_rows(s->screen.rows));
	screen_locale_enter();
	const bool fine = top_screen_build(&s->screen, &scene);
	screen_locale_leave();
	if (!fine) {
		s->failed = true;
		return;
	}
	terminal_draw(&s->screen);
}

/* A new sample, unless the screen pauses. */
static void refresh(struct session *s)
{
	age_message(s);
	if (!s->view.paused && !take_sample(s))
		return;
	if (s->view.paused)
		top_sample_sort(&s->sample, s->view.order);
	if (s->view.page == TOP_STACK && !s->view.paused)
		take_stacks(s);
	s->sampled = follow_now_ms();
	draw(s);
}

/* ---- Reports ---- */

static void begin_report(struct session *s)
{
	const char *trace = s->follow.trace.name;
	if (s->follow.is_pipe)
		say(s, MESSAGE_MS, "a report needs a trace in a file");
	else if (s->report.pid)
		say(s, MESSAGE_MS, "a report is being written");
	else if (report_child_start(&s->report, trace))
		say(s, 0, "report: being written");
	else
		say(s, MESSAGE_MS, "report: msreport is not beside mstop, or cannot be started");
}

/* True: a message has changed. */
static bool look_at_report(struct session *s)
{
	char *path;
	if (!report_child_is_done(&s->report, &path))
		return false;
	if (path)
		say(s, MESSAGE_MS, "report: %s", path);
	else
		say(s, MESSAGE_MS, "report: it could not be written beside the trace");
	free(path);
	return true;
}

/* ---- Keys ---- */

static void obey(struct session *s, int key)
{
	if (key == TERMINAL_RESIZED) {
		draw(s);
		return;
	}
	const enum top_page page = s->view.page;
	switch (top_view_key(&s->view, &s->sample, key, top_screen_rows(s->screen.rows))) {
	case TOP_NOTHING:
		return;
	case TOP_QUIT:
		s->quit = true;
		top_counts_stop(s->counts);
		return;
	case TOP_REPORT:
		begin_report(s);
		draw(s);
		return;
	case TOP_REFRESH:
		if (s->view.page == TOP_STACK && page == TOP_SITES)
			take_stacks(s);
		refresh(s);
		return;
	case TOP_DRAW:
		draw(s);
		return;
	}
}

/* Looks at the keys for up to `ms`, and refreshes the screen when it is time. False: the user quits, or no memory. */
static bool tick(struct session *s, int ms)
{
	const uint64_t now = follow_now_ms(), due = s->sampled + s->command->delay_ms;
	const int left = due > now ? (int)(due - now) : 0;
	int key = terminal_key(left < ms ? left : ms);
	for (; key != TERMINAL_NO_KEY && !s->quit && !s->failed; key = terminal_key(0))
		obey(s, key);
	s->ticked = follow_now_ms();
	if (s->quit || s->failed)
		return false;
	if (look_at_report(s) || s->ticked - s->sampled >= s->command->delay_ms)
		refresh(s);
	return !s->failed;
}

/* follow's callback: all that there is has been read. */
static bool idle(void *context, int ms)
{
	struct session *s = context;
	s->state = TOP_RUNNING;
	/* So that the next screen is about what happened until shortly before it. */
	if (follow_now_ms() + ASK_BEFORE_MS >= s->sampled + s->command->delay_ms)
		follow_ask(&s->follow);
	if (!pass_time(s))
		return false;
	/* The first screen of what runs does not wait for the delay. */
	if (s->sample.state == TOP_READING) {
		free(s->message);
		s->message = NULL;
		refresh(s);
	}
	return !s->failed && tick(s, ms);
}

static void say_progress(struct session *s)
{
	struct stat st;
	const int fd = s->follow.trace.fd;
	const off_t at = lseek(fd, 0, SEEK_CUR);
	if (at >= 0 && fstat(fd, &st) == 0 && st.st_size - at > (off_t)FAR_BEHIND)
		say(s, MESSAGE_MS, "%d %% of the trace read so far", (int)(at * 100 / st.st_size));
}

static int between_chunks(struct observer *observer, const struct mst_reader *reader,
			  const struct mst_chunk *chunk)
{
	struct session *s = (struct session *)((char *)observer - offsetof(struct session, ticker));
	(void)reader;
	(void)chunk;
	if (!s->shows || follow_now_ms() - s->ticked < TICK_MS)
		return 0;
	say_progress(s);
	tick(s, 0);
	return s->failed ? MST_ERR_NOMEM : 0;
}

static bool needs_no_records(struct observer *observer, const struct mst_reader *reader,
			     const struct mst_chunk *chunk)
{
	(void)observer;
	(void)reader;
	(void)chunk;
	return true;
}

static bool is_satisfied(const struct observer *observer)
{
	(void)observer;
	return true;
}

static const struct observer_impl ticker_impl = {
	.chunk = between_chunks,
	.sums_suffice = needs_no_records,
	.sums = between_chunks,
	.satisfied = is_satisfied,
};

/* ---- Once ---- */

static void print_text(struct session *s, struct out *out, const struct top_scene *scene)
{
	struct top_screen screen = { .utf8 = s->screen.utf8 };
	s->failed |= !top_screen_build(&screen, scene);
	for (uint32_t i = 0; i < screen.n; i++) {
		const char *text = screen.lines[i].text ? screen.lines[i].text : "";
		size_t n = strlen(text);
		while (n && text[n - 1] == ' ')
			n--;
		out_write(out, text, n);
		out_text(out, "\n");
	}
	top_screen_finish(&screen);
}

/* False after a message. */
static bool print_once(struct session *s)
{
	const struct top_command *command = s->command;
	if (!take_sample(s))
		return false;
	struct top_scene scene = scene_of(s);
	struct out *out = out_create(STDOUT_FILENO);
	if (!out) {
		s->failed = true;
		return false;
	}
	if (command->json) {
		top_json_write(out, &scene, command->top);
	} else {
		if (s->sample.n_sites > command->top)
			s->sample.n_sites = (uint32_t)command->top;
		if (s->sample.n_threads > command->top)
			s->sample.n_threads = (uint32_t)command->top;
		print_text(s, out, &scene);
	}
	const int error = out_finish(out);
	if (error)
		tool_error(&command->tool, "standard output: %s", strerror(error));
	return !error && !s->failed;
}

/* ---- The run ---- */

static void begin_view(struct session *s)
{
	s->state = s->sample.state = TOP_READING;
	s->sampled = follow_now_ms();
}

/*
 * Replays up to the end, or until the user quits; without threads that decode ahead, which would take 100 MiB for what
 * is seldom far behind. Returns an enum replay_result or mst_error.
 */
static int read_trace(struct session *s)
{
	s->ticker = (struct observer){ .impl = &ticker_impl, .spared = MST_ALL_COLUMNS };
	struct observer *observers[] = { top_counts_observer(s->counts), &s->ticker };
	return replay_run(s->follow.trace.reader, observers, 2, NULL);
}

/* What the trace came to. */
static enum top_state state_at_end(const struct session *s, int result)
{
	if (mst_reader_end(s->follow.trace.reader))
		return TOP_ENDED;
	if (result == REPLAY_PARTIAL)
		return TOP_DAMAGED;
	return s->follow.growing ? TOP_RUNNING : TOP_CUT;
}

/* Whether the recording goes on in another file: then s->next is its name. */
static bool goes_on(struct session *s)
{
	const struct mst_end *end = mst_reader_end(s->follow.trace.reader);
	struct follow_answer answer;
	if (!s->pid || !end || (end->reason != MST_END_DETACHED && end->reason != MST_END_EXEC) ||
	    !follow_find(s->pid, &answer))
		return false;
	if (strcmp(answer.path, s->follow.trace.name) != 0)
		s->next = answer.path;
	else
		free(answer.path);
	return s->next;
}

/* The final state stays until the user quits. */
static void show_end(struct session *s)
{
	char text[40];
	if (!begin_names(s) || !take_sample(s)) { /* names may have come at the end */
		s->failed = true;
		return;
	}
	if (s->state == TOP_ENDED)
		say(s, 0, "the recording has ended: %s", top_state_text(&s->sample, text));
	else
		say(s, 0, "%s", replay_problem(s->follow.trace.reader));
	s->view.paused = false;
	refresh(s);
	while (tick(s, END_TICK_MS))
		;
}

/* Returns a tool_status. */
static int print_result(struct session *s)
{
	const bool whole = s->state == TOP_ENDED || s->state == TOP_RUNNING;
	if (s->state == TOP_RUNNING && !pass_time(s))
		return TOOL_NO_RESULT;
	if (!whole)
		tool_error(&s->command->tool, "%s: %s; what is before that is shown", s->follow.trace.name,
			   replay_problem(s->follow.trace.reader));
	if (!print_once(s))
		return TOOL_NO_RESULT;
	tool_symbol_notices(&s->command->tool, symbolize_symbols(s->names.symbolizer));
	return whole ? TOOL_COMPLETE : TOOL_PARTIAL;
}

/* The trace is open, and so is the terminal if there is one. Returns a tool_status. */
static int run_session(struct session *s)
{
	const struct report report = { .reader = s->follow.trace.reader };
	s->command_line = report_command_line(&report);
	s->counts = top_counts_create(s->command->window_ns);
	s->failed = !s->command_line || !s->counts || !begin_names(s);
	if (s->failed)
		return TOOL_NO_RESULT;
	begin_view(s);
	const int result = read_trace(s);
	s->failed |= result < 0;
	if (s->failed)
		return TOOL_NO_RESULT;
	s->state = state_at_end(s, result);
	if (!s->shows)
		return print_result(s);
	if (!s->quit && !goes_on(s))
		show_end(s);
	return s->failed ? TOOL_NO_RESULT : TOOL_COMPLETE;
}

static void finish_session(struct session *s)
{
	finish_names(&s->names);
	top_counts_destroy(s->counts);
	top_sample_finish(&s->sample);
	top_screen_finish(&s->screen);
	report_child_finish(&s->report);
	follow_close(&s->follow);
	free(s->command_line);
	free(s->message);
}

/* A terminal that is opened stays so for the next session; without one the state is printed. False after a message. */
static bool open_session(struct session *s, const char *path, bool *screen, bool *shown)
{
	s->follow.waits = *screen;
	if (!follow_open(&s->follow, &s->command->tool, path))
		return false;
	if (*screen && !*shown) {
		const char *why = terminal_open(term_colour_wanted(TERM_COLOUR_AUTO, STDOUT_FILENO));
		*screen = s->follow.waits = *shown = !why;
		if (why)
			tool_notice(&s->command->tool, "%s", why);
	}
	s->follow.idle = *screen ? idle : NULL;
	s->follow.context = s;
	s->shows = *screen;
	return true;
}

int top_run(const struct top_command *command, const char *path, int32_t pid, bool screen)
{
	char *name = strdup(path);
	bool shown = false, failed = !name;
	int status = TOOL_NO_RESULT;
	struct top_view view = { .order = command->order,
				 .page = command->threads ? TOP_THREADS : TOP_SITES };
	/* Text of a file or a pipe is UTF-8. */
	const bool utf8 = !isatty(STDOUT_FILENO) || screen_locale_is_utf8();
	while (name) {
		struct session s = {
			.command = command, .pid = pid, .view = view, .screen = { .utf8 = utf8 }
		};
		status = TOOL_NO_RESULT;
		if (open_session(&s, name, &screen, &shown)) {
			status = run_session(&s);
			failed = s.failed;
			view = s.view;
		}
		finish_session(&s);
		free(name);
		name = s.next;
	}
	if (shown)
		terminal_close();
	if (failed)
		tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return status;
}
