/* SPDX-License-Identifier: MIT */
/* msconvert: converts a trace to another format, or another recorder's file to a trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block_sizes.h"
#include "convert_options.h"
#include "cut_trace.h"
#include "filtered_trace.h"
#include "fleet_run.h"
#include "fleet_schema.h"
#include "full_version.h"
#include "imported.h"
#include "input_part.h"
#include "massif_run.h"
#include "memory.h"
#include "moment.h"
#include "output_set.h"
#include "profile_run.h"
#include "report_input.h"
#include "rewrite.h"
#include "run_labels.h"
#include "tool.h"
#include "trace_to_trace.h"

#define NAME "msconvert"

const char *argp_program_version = NAME " " MSREC_FULL_VERSION;

#define MAX_MS (UINT64_MAX / 1000000) /* of a trace's time */

/* Finds the format by the suffix of a name of `length` bytes. NULL: unknown. */
static const struct emitter *emitter_by_suffix(const char *name, size_t length)
{
	for (const struct emitter *const *e = emitters; *e; e++) {
		const size_t suffix = strlen((*e)->suffix);
		if (length > suffix && strncmp(name + length - suffix, (*e)->suffix, suffix) == 0)
			return *e;
	}
	return NULL;
}

/* Massif's names begin with massif.out instead of ending with a suffix. .gz or .zst may come last. */
static const struct emitter *guess_format(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	if (strncmp(base, "massif.out", strlen("massif.out")) == 0)
		return &emit_massif;
	const struct emitter *emitter = emitter_by_suffix(base, strlen(base));
	if (emitter || pack_by_name(base) == PACK_NONE)
		return emitter;
	return emitter_by_suffix(base, (size_t)(strrchr(base, '.') - base));
}

/* True for the formats of massif_run.h; profile_run.h writes the others. */
static bool is_massifs(const struct emitter *emitter)
{
	return emitter->source == EMIT_SNAPSHOTS || emitter->source == EMIT_XTREE;
}

/* Other names of formats, and forms that another tool makes of a format. */
static void refuse_format(const struct convert_command *command)
{
	static const struct {
		const char *name, *formats;
	} hints[] = {
		{ "flamegraph", "folded or speedscope; msreport --html draws one" },
		{ "flame", "folded or speedscope; msreport --html draws one" },
		{ "svg", "folded, for flamegraph.pl; msreport --html draws one" },
		{ "html", "msreport --html, or dhat, for dh_view.html" },
		{ "collapsed", "folded" },
		{ "json", "speedscope, dhat or ndjson" },
		{ "kcachegrind", "callgrind" },
		{ "massif.out", "massif" },
		{ "pb", "pprof" },
		{ "zst", "trace" },
	};
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
		if (strcmp(command->to, hints[i].name) != 0)
			continue;
		tool_error(&command->tool, "--to=%s: no such format; use %s (--to=help lists all)",
			   command->to, hints[i].formats);
		return;
	}
	tool_error(&command->tool, "--to=%s: no such format (--to=help lists them)", command->to);
}

/* NULL after a message. */
static const struct emitter *choose_emitter(const struct convert_command *command, const char *output)
{
	const struct emitter *emitter = command->to ? emitter_find(command->to) : guess_format(output);
	if (!emitter && command->to)
		refuse_format(command);
	else if (!emitter && strcmp(output, "-") == 0)
		tool_error(&command->tool, "no format given; use --to=FORMAT (--to=help lists them)");
	else if (!emitter)
		tool_error(&command->tool,
			   "%s: no format has this suffix; use --to=FORMAT (--to=help lists them)", output);
	else if (is_massifs(emitter) && pack_by_name(output) != PACK_NONE) {
		tool_error(&command->tool, "%s: %s is not written compressed; use another name", output,
			   emitter->name);
		return NULL;
	} else if (emitter->binary && strcmp(output, "-") == 0 && isatty(STDOUT_FILENO)) {
		tool_error(&command->tool, "%s is not text, so it is not written to a terminal; use -o FILE",
			   emitter->name);
		return NULL;
	}
	return emitter;
}

/* ---- Conversion ---- */

#define PAGES "--pages-as-heap"

/* Returns the first option without effect on a profile, or, with `calls`, on events or a trace. NULL: none. */
static const char *find_foreign(const struct convert_command *command, bool calls, const char *query_option)
{
	const struct settings *s = &command->tool.args.settings;
	const struct {
		bool given;
		const char *name;
	} foreign[] = {
		{ s->n_ats > 1, "--at, more than one" },
		{ s->n_ats == 1 && s->ats[0].what != AT_DETAILED, "--snapshot, --all-snapshots" },
		{ s->n_ats == 1 && calls, "--at" },
		{ command->tool.n_also > 0, "--also" },
		{ query_option, query_option },
		{ s->pages_as_heap, PAGES },
		{ block_sizes_needed(s), "--usable=valgrind, --compat" },
		{ s->usable_given && calls, "--usable" },
		{ !s->heap, "--heap=no" },
		{ s->stacks, "--stacks=yes" },
		{ s->exact_peak, "--exact-peak" },
		{ s->only_moments, "--only-moments" },
		{ s->xtree_memory != XTREE_NONE, "--xtree-memory" },
		{ s->stats, "--stats" },
	};
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (foreign[i].given)
			return foreign[i].name;
	return NULL;
}

/* False after a message: the range of time is empty. */
static bool is_range_sound(const struct convert_command *command, uint64_t most)
{
	const struct profile_query *range = &command->query.profile;
	if (range->from <= range->until && range->from <= most)
		return true;
	tool_error(&command->tool, "--from, --until: nothing lies between them");
	return false;
}

/* Sets the point in time of a profile to that of --at. False after a message. */
static bool settle_query(struct convert_command *command, const struct tool_trace *trace,
			 const struct emitter *emitter)
{
	struct settings *settings = &command->tool.args.settings;
	const bool events = emitter->source == EMIT_EVENTS || emitter->source == EMIT_FLEET;
	const char *foreign = find_foreign(command, events, events ? command->profile_option : NULL);
	if (foreign) {
		tool_error(&command->tool, "%s: not with the format %s", foreign, emitter->name);
		return false;
	}
	if (!is_range_sound(command, UINT64_MAX))
		return false;
	if (settings->n_ats)
		command->query.profile.at = settings->ats[0];
	command->query.one |= settings->n_ats != 0;
	if (settings->time_unit == TIME_DEFAULT && !mst_reader_info(trace->reader)->instructions)
		settings->time_unit =
			TIME_MS; /* no notice: the output shows the unit only with an option that names it */
	return true;
}

/* NULL after a message; then *status is the exit status. */
static char *output_name(const struct convert_command *command, const struct tool_trace *trace, int *status)
{
	const struct tool *tool = &command->tool;
	const struct settings *settings = &tool->args.settings;
	struct outname outname = { .pid = mst_reader_info(trace->reader)->pid };
	if (!command->output)
		return tool_out_name(tool, settings->out_option, settings->out_file, &outname, status);
	char *name = strdup(command->output);
	if (!name)
		tool_error(tool, "%s", strerror(errno));
	return name;
}

/* False after a message: the result cannot be of the point in time that is asked for. */
static bool settle_point(const struct tool *tool, const struct emitter *emitter, struct settings *settings)
{
	const char *foreign = settings->n_ats > 1 ? "--at, more than one" : NULL;
	if (settings->n_ats == 1 && settings->ats[0].what != AT_DETAILED && emitter->source == EMIT_XTREE)
		foreign = "--snapshot, --all-snapshots";
	if (foreign) {
		tool_error(tool, "%s: not with the format %s", foreign, emitter->name);
		return false;
	}
	if (settings->only_moments && settings->n_ats == 0) {
		tool_error(tool, "--only-moments needs --at, --snapshot or --all-snapshots");
		return false;
	}
	/* Nothing else is written, so nothing else needs to be found out. */
	settings->only_moments = settings->n_ats > 0;
	return true;
}

static bool settle_points(struct tool *tool, const struct emitter *emitter)
{
	bool fine = settle_point(tool, emitter, &tool->args.settings);
	for (size_t i = 0; i < tool->n_also && fine; i++)
		fine = settle_point(tool, emitter, &tool->also[i].settings);
	return fine;
}

static int write_results(struct convert_command *command, const struct tool_trace *trace,
			 const struct emitter *emitter)
{
	struct massif_runs plan;
	const bool pages = command->tool.args.settings.pages_as_heap && emitter->source == EMIT_XTREE;
	if (command->profile_option || pages) {
		tool_error(&command->tool, "%s: not with the format %s",
			   pages ? PAGES : command->profile_option, emitter->name);
		return TOOL_USAGE;
	}
	if (!settle_points(&command->tool, emitter))
		return TOOL_USAGE;
	int status = massif_runs_plan(&plan, &command->tool, trace, command->output, true);
	if (status == 0)
		status = tool_settle(&command->tool, trace)
				 ? massif_runs_run(&plan, &command->tool, trace, emitter)
				 : (int)TOOL_USAGE;
	massif_runs_finish(&plan);
	return status;
}

/* Finds the record from which on allocations count. False after a message: there is none. */
static bool settle_allocs(struct convert_command *command, const struct tool_trace *trace)
{
	const struct tool *tool = &command->tool;
	struct rewrite_survey survey;
	struct mark_place place;
	if (command->alloc_mark) {
		if (!moment_find(tool, trace, command->alloc_mark, &place))
			return false;
		command->query.profile.alloc_record = place.record;
	}
	if (!command->alloc_fork)
		return true;
	if (!mst_reader_info(trace->reader)->parent_pid) {
		tool_error(tool, "%s: --alloc-from=fork: it is not of a forked child", trace->name);
		return false;
	}
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	if (position < 0 || lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0) {
		tool_input_error(tool, trace->name, errno);
		return false;
	}
	rewrite_look(trace->fd, true, &survey);
	(void)lseek(trace->fd, position, SEEK_SET);
	/* A child that did nothing has allocated nothing. */
	command->query.profile.alloc_record = survey.has_fork ? survey.fork : UINT64_MAX;
	return true;
}

static int write_profile(struct convert_command *command, const struct tool_trace *trace,
			 const struct emitter *emitter, const char *name)
{
	struct fleet_labels labels = { 0 };
	int status = TOOL_USAGE;
	if (command->label && !emitter->labels)
		tool_error(&command->tool, "--label: not with the format %s", emitter->name);
	else if (settle_allocs(command, trace) &&
		 run_labels_expand(&command->tool, trace, &command->labels, &labels)) {
		command->query.labels = &labels;
		status = profile_run(&command->tool, trace, emitter, &command->query, name);
		command->query.labels = NULL;
	}
	fleet_labels_finish(&labels);
	return status;
}

static int write_format(struct convert_command *command, const struct tool_trace *trace,
			const struct emitter *emitter, const char *name)
{
	if (!moment_settle(&command->tool, trace))
		return TOOL_USAGE;
	if (is_massifs(emitter))
		return write_results(command, trace, emitter);
	if (!settle_query(command, trace, emitter) || !tool_settle(&command->tool, trace))
		return TOOL_USAGE;
	if (emitter->source == EMIT_FLEET)
		return fleet_run(&command->tool, trace, emitter, &command->labels, name);
	return write_profile(command, trace, emitter, name);
}

/* ---- Filters ---- */

/* Whether the blocks must be chosen before the format sees them. Profiles choose threads and modules by themselves. */
static bool is_filtered_first(const struct convert_command *command, const struct emitter *emitter)
{
	const struct block_filter_query *q = &command->filter.query;
	const bool profile = emitter->source == EMIT_PROFILE;
	return q->no_initial || q->n_functions || q->n_sizes || q->n_lifetimes ||
	       (!profile && (q->n_threads || q->n_modules));
}

static void choose_rows(struct convert_command *command)
{
	const struct block_filter_query *q = &command->filter.query;
	command->query.filter = (struct profile_rows_filter){
		.threads = q->threads,
		.n_threads = q->n_threads,
		.modules = q->modules,
		.n_modules = q->n_modules,
	};
}

static int write_filtered(struct convert_command *command, const struct tool_trace *trace,
			  const struct emitter *emitter, const char *name)
{
	const struct filtered_trace_job job = {
		.query = &command->filter.query,
		.until_ms = UINT64_MAX,
		.every_part = true,
	};
	struct filtered_trace filtered;
	if (command->tool.args.settings.pages_as_heap) {
		tool_error(&command->tool, "%s: not with " PAGES ", which counts no blocks",
			   command->filter.words[0]);
		return TOOL_USAGE;
	}
	const int status = filtered_trace_make(&command->tool, trace, &job, &filtered);
	if (!tool_has_result(status))
		return status;
	filtered.trace.origin = trace->origin;
	command->tool.noticed = true;
	const int written = write_format(command, &filtered.trace, emitter, name);
	tool_close(&filtered.trace);
	return tool_has_result(written) ? status | written : written;
}

static int convert(struct convert_command *command, const struct tool_trace *trace)
{
	int status = TOOL_NO_RESULT;
	char *name = output_name(command, trace, &status);
	if (!name)
		return status;
	const struct emitter *emitter = choose_emitter(command, name);
	status = TOOL_USAGE;
	if (emitter && is_filtered_first(command, emitter)) {
		status = write_filtered(command, trace, emitter, name);
	} else if (emitter) {
		choose_rows(command);
		status = write_format(command, trace, emitter, name);
	}
	free(name);
	return status;
}

static struct trace_part part_of(const struct convert_command *command)
{
	struct trace_part part = TRACE_PART_ALL;
	part.from_mark = command->from_mark;
	part.until_mark = command->until_mark;
	return part;
}

/* A profile of what lies between marks. */
static int convert_part(struct convert_command *command, const struct tool_trace *whole)
{
	const struct trace_part part = part_of(command);
	struct trace_places places;
	struct tool_trace trace;
	if (!trace_part_find(&command->tool, whole, &part, &places))
		return TOOL_USAGE;
	const int status = cut_trace_make(&command->tool, whole, &part, &places, &trace);
	if (!tool_has_result(status))
		return status;
	command->tool.noticed = true;
	command->filter.query.no_initial = part.from_mark;
	const int converted = convert(command, &trace);
	tool_close(&trace);
	return tool_has_result(converted) ? status | converted : converted;
}

/* ---- Imported traces ---- */

static bool is_trace_wanted(const struct convert_command *command)
{
	const char *name = command->output ? command->output : "";
	size_t length = strlen(name), suffix = strlen(TRACE_SUFFIX);
	if (command->to)
		return strcmp(command->to, TRACE) == 0;
	return !guess_format(name) && length > suffix && strcmp(name + length - suffix, TRACE_SUFFIX) == 0;
}

static int keep_import(const struct convert_command *command, const struct import *import)
{
	const struct tool *tool = &command->tool;
	int status = command->output ? output_set_check(tool, import->from, command->output) : 0;
	if (status == 0)
		status = trace_to_trace_keep(tool, command->output, import->to);
	close(import->to);
	return status;
}

static int convert_import(struct convert_command *command, const struct import *import)
{
	struct tool_trace trace;
	if (!tool_open_fd(&command->tool, &trace, command->input, import->to))
		return TOOL_NO_RESULT;
	trace.origin = import->from;
	int status = convert(command, &trace);
	tool_close(&trace);
	return status;
}

/* Imports the input, then converts the trace. */
static int run_import(struct convert_command *command)
{
	struct import import = { .name = command->input, .tick_rate = command->tick_rate };
	if (!imported_read(&command->tool, command->from, &import))
		return TOOL_NO_RESULT;
	const int status =
		is_trace_wanted(command) ? keep_import(command, &import) : convert_import(command, &import);
	close(import.from);
	return status == TOOL_COMPLETE && import.warning ? (int)TOOL_PARTIAL : status;
}

static int run_trace_to_trace(struct convert_command *command)
{
	const struct profile_query *range = &command->query.profile;
	const bool filters = command->filter.n_words;
	const bool rewrites = command->trace_option || command->profile_option || filters;
	const bool asked = command->embed_symbols || rewrites;
	struct trace_to_trace job = {
		.input = command->input,
		.output = command->output,
		/* Without build ids there is no other way to a name. */
		.embed_symbols = command->embed_symbols || command->anonymize,
		.rewrites = !asked || rewrites,
		.from_fork = command->from_fork,
		.options = command->rewrite,
		.filter = filters ? &command->filter.query : NULL,
	};
	job.part = part_of(command);
	job.options.from = range->from;
	job.options.until = range->until;
	/* Trace to trace without any other option asks for better compression. */
	if (!asked)
		job.options.level = LEVEL_BEST;
	if (command->anonymize && !(job.options.anonymizer = anonymizer_create(command->anonymize_key))) {
		tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	const int status = trace_to_trace_run(&command->tool, &job);
	anonymizer_destroy(job.options.anonymizer);
	return status;
}

/* False after a message: an option has no effect on a trace, or the range of time is empty. */
static bool settle_trace(const struct convert_command *command)
{
	const char *foreign = find_foreign(command, true, command->profile_only);
	if (strcmp(command->tool.args.settings.out_file, "-") != 0)
		foreign = "--massif-out-file";
	if (foreign)
		tool_error(&command->tool, "%s: not with the format %s", foreign, TRACE);
	else if (command->from && command->filter.n_words)
		tool_error(&command->tool, "%s is for traces of msrec, not for what --from reads",
			   command->filter.words[0]);
	else if (command->from && command->profile_option)
		tool_error(&command->tool, "%s is for traces of msrec, not for what --from reads",
			   command->profile_option);
	else
		return is_range_sound(command, MAX_MS);
	return false;
}

/* ---- Differences ---- */

/* One of the two recordings. */
struct compared {
	struct input_part part;
	struct report_input input;
	struct filtered_trace filtered; /* of the blocks that pass the filters */
	struct emit_query query;
	struct profiled profiled;
	struct tool_trace cut; /* of its part between marks */
	bool is_open, is_cut, is_filtered, is_read;
};

/* False after a message: there is no such part. */
static bool cut_compared(const struct convert_command *command, struct compared *c)
{
	const struct trace_part asked = part_of(command);
	struct trace_part *part = &c->part.range;
	struct trace_places places;
	part->from_mark = part->from_mark ? part->from_mark : asked.from_mark;
	part->until_mark = part->until_mark ? part->until_mark : asked.until_mark;
	if (trace_part_is_all(part))
		return true;
	if (!trace_part_find(&command->tool, &c->input.trace, part, &places))
		return false;
	c->is_cut = tool_has_result(cut_trace_make(&command->tool, &c->input.trace, part, &places, &c->cut));
	return c->is_cut;
}

/* False after a message. */
static bool open_compared(const struct convert_command *command, const char *name, struct compared *c)
{
	const struct tool *tool = &command->tool;
	if (!input_part_parse(&c->part, tool, name))
		return false;
	const bool as_told = command->from && name == command->input;
	const struct importer *importer = as_told ? command->from : imported_recognize(c->part.file);
	c->is_open = report_input_open_as(tool, &c->input, c->part.file, importer, command->tick_rate);
	return c->is_open && cut_compared(command, c);
}

static void close_compared(const struct convert_command *command, struct compared *c)
{
	if (c->is_read)
		profiled_finish(&c->profiled, &command->tool);
	if (c->is_filtered)
		tool_close(&c->filtered.trace);
	if (c->is_cut)
		tool_close(&c->cut);
	if (c->is_open)
		report_input_close(&c->input, TOOL_COMPLETE);
	input_part_finish(&c->part);
}

/* What the name of the input says. */
static const struct tool_trace *part_trace(const struct compared *c)
{
	return c->is_cut ? &c->cut : &c->input.trace;
}

static const struct tool_trace *trace_of(const struct compared *c)
{
	return c->is_filtered ? &c->filtered.trace : part_trace(c);
}

/* The descriptor of the file itself. */
static int origin_of(const struct compared *c)
{
	return c->input.imported ? c->input.import.from : c->input.trace.origin;
}

/* NULL after a message: the format has no differences. */
static const struct emitter *choose_diff_emitter(const struct convert_command *command, const char *output)
{
	const struct emitter *emitter = is_trace_wanted(command) ? NULL : choose_emitter(command, output);
	if (emitter && emitter->write_diff)
		return emitter;
	if (emitter || is_trace_wanted(command))
		tool_error(&command->tool,
			   "--diff-base: not with the format %s; use folded, speedscope or pprof",
			   emitter ? emitter->name : TRACE);
	return NULL;
}

/* Both recordings are measured alike: by what suits one alone, if it suits both. False after a message. */
static bool settle_diff(struct convert_command *command, const struct emitter *emitter,
			const struct compared sides[2])
{
	struct settings *settings = &command->tool.args.settings;
	const struct mst_file_info *a = mst_reader_info(sides[0].input.trace.reader);
	const struct mst_file_info *b = mst_reader_info(sides[1].input.trace.reader);
	const bool parts =
		sides[0].part.until_ms != PROFILE_NO_TIME || sides[1].part.until_ms != PROFILE_NO_TIME;
	if (parts && settings->time_unit != TIME_DEFAULT && settings->time_unit != TIME_MS) {
		tool_error(&command->tool, "FILE@TIME is in milliseconds: not with another --time-unit");
		return false;
	}
	if (settings->time_unit == TIME_DEFAULT && (parts || !a->instructions || !b->instructions))
		settings->time_unit = TIME_MS;
	if (a->exact != b->exact)
		settings->usable_given = settings->compat_given = true;
	for (int i = 0; i < 2; i++) {
		if (!settle_query(command, part_trace(&sides[i]), emitter) ||
		    !tool_settle(&command->tool, part_trace(&sides[i])))
			return false;
	}
	return true;
}

/* Leaves out the blocks that don't pass. Returns an enum tool_status. */
static int filter_compared(const struct convert_command *command, struct compared *c)
{
	const struct filtered_trace_job job = {
		.query = &command->filter.query,
		.until_ms = UINT64_MAX,
		.every_part = true,
	};
	const int status = filtered_trace_make(&command->tool, part_trace(c), &job, &c->filtered);
	c->is_filtered = tool_has_result(status);
	c->filtered.trace.origin = c->input.trace.origin;
	return status;
}

/* Returns an enum tool_status. */
static int read_compared(struct convert_command *command, const struct emitter *emitter, struct compared *c)
{
	const bool filters = is_filtered_first(command, emitter);
	int status = filters ? filter_compared(command, c) : TOOL_COMPLETE;
	if (!tool_has_result(status))
		return status;
	c->query = command->query;
	if (c->part.until_ms < c->query.profile.until)
		c->query.profile.until = c->part.until_ms;
	if (!moment_settle_at(&command->tool, trace_of(c), &c->query.profile.at))
		return TOOL_USAGE;
	command->tool.noticed = filters || c->is_cut;
	c->is_read = true;
	const int read = profiled_read(&c->profiled, &command->tool, trace_of(c), emitter, &c->query);
	if (!tool_has_result(read))
		return read;
	return status | read | (c->input.imported && c->input.import.warning ? TOOL_PARTIAL : TOOL_COMPLETE);
}

static int write_diff(struct convert_command *command, struct compared sides[2],
		      const struct emitter *emitter, const char *name)
{
	const struct tool *tool = &command->tool;
	int status = TOOL_COMPLETE;
	if (!settle_diff(command, emitter, sides))
		return TOOL_USAGE;
	choose_rows(command);
	for (int i = 0; i < 2 && tool_has_result(status); i++) {
		const int checked = output_set_check(tool, origin_of(&sides[i]), name);
		const int read = checked ? checked : read_compared(command, emitter, &sides[i]);
		status = tool_has_result(read) ? status | read : read;
	}
	if (tool_has_result(status) &&
	    !profiled_write_diff(&sides[1].profiled, &sides[0].profiled, tool, name))
		status = TOOL_NO_RESULT;
	return status;
}

/* From --diff-base's recording to the input. */
static int run_diff(struct convert_command *command)
{
	struct compared sides[2] = { 0 };
	int status = TOOL_NO_RESULT;
	if (strcmp(command->base, "-") == 0 && strcmp(command->input, "-") == 0) {
		tool_error(&command->tool, "--diff-base: standard input is one recording, not two");
		return TOOL_USAGE;
	}
	command->filter.query.no_initial = command->from_mark;
	if (open_compared(command, command->base, &sides[0]) &&
	    open_compared(command, command->input, &sides[1])) {
		char *name = output_name(command, &sides[1].input.trace, &status);
		const struct emitter *emitter = name ? choose_diff_emitter(command, name) : NULL;
		if (name)
			status = emitter ? write_diff(command, sides, emitter, name) : (int)TOOL_USAGE;
		free(name);
	}
	close_compared(command, &sides[1]);
	close_compared(command, &sides[0]);
	return status;
}

/* A summary's replay needs to know first when the run ends. */
static bool is_summary_wanted(const struct convert_command *command)
{
	const struct emitter *emitter = command->to ? emitter_find(command->to)
						    : guess_format(command->output ? command->output : "-");
	return emitter && emitter->source == EMIT_FLEET;
}

static int run(struct convert_command *command)
{
	struct tool_trace trace;
	if (command->schema)
		return fleet_run_schema(&command->tool, strcmp(command->to, "clickhouse") == 0,
					command->output ? command->output : "-");
	if (command->base)
		return run_diff(command);
	if (!command->from && !command->embed_symbols && !command->trace_option)
		command->from = imported_recognize(command->input);
	const bool to_trace = command->embed_symbols || command->trace_option || is_trace_wanted(command);
	if (to_trace && !settle_trace(command))
		return TOOL_USAGE;
	if (command->from)
		return run_import(command);
	if (to_trace)
		return run_trace_to_trace(command);
	const bool marks = command->from_mark || command->until_mark;
	const bool twice = command->filter.n_words || marks || command->alloc_mark || command->alloc_fork ||
			   is_summary_wanted(command);
	if (!(twice ? tool_open_file : tool_open)(&command->tool, &trace, command->input))
		return TOOL_NO_RESULT;
	int status = marks ? convert_part(command, &trace) : convert(command, &trace);
	tool_close(&trace);
	return status;
}

int main(int argc, char **argv)
{
	struct convert_command command = {
		.tick_rate = 1000000000,
		.query.profile = { .at.kind = AT_PEAK, .until = PROFILE_NO_TIME },
	};

	memory_prepare();
	if (!tool_init(&command.tool, NAME) ||
	    args_set_out_file(&command.tool.args, "massif-out-file", "-") != 0) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	char **words;
	int status = tool_parse(&command.tool, &convert_argp, argc, argv, NULL, &command, &words);
	if (status == 0)
		status = run(&command);
	free(words);
	filter_options_finish(&command.filter);
	fleet_labels_finish(&command.labels);
	tool_finish(&command.tool);
	return status;
}
