/* SPDX-License-Identifier: MIT */
#include "massif_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block_sizes.h"
#include "free_name.h"
#include "output_set.h"
#include "requested_time.h"
#include "stack_depth.h"

/* ---- Names ---- */

/* The files that the settings' ats have beside the result. */
static size_t at_files(const struct massif_run *item)
{
	return item->at_names ? item->settings->n_ats : 0;
}

static int check_names(const struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace)
{
	struct output_set places = { 0 };
	int status = 0;
	for (size_t i = 0; i < c->n && status == 0; i++) {
		const struct massif_run *item = &c->items[i];
		if (c->points || !item->settings->only_moments)
			status = output_set_add(&places, tool, trace->origin, item->name);
		if (status == 0 && item->xtree_name)
			status = output_set_add(&places, tool, trace->origin, item->xtree_name);
		for (size_t k = 0; k < at_files(item) && status == 0; k++)
			status = output_set_add(&places, tool, trace->origin, item->at_names[k]);
	}
	output_set_finish(&places);
	return status;
}

/* What a file's name cannot have, or should not, becomes _. */
static void replace_odd(char *name)
{
	for (; *name; name++) {
		if (*name == '/' || (unsigned char)*name < ' ' || *name == 127)
			*name = '_';
	}
}

/* The name of the file for a request: that of the result, what it holds, and the point in time. NULL: no memory. */
static char *name_at(const char *result, const struct at *at)
{
	static const char *const words[] = {
		[AT_DETAILED] = "at",
		[AT_PLAIN] = "snapshot",
		[AT_ALL] = "all-snapshots",
	};
	const char *what = words[at->what];
	char *name;
	int n;
	if (at->kind == AT_TIME)
		n = asprintf(&name, "%s.%s-%" PRIu64, result, what, at->time);
	else if (at->kind == AT_MARK)
		n = asprintf(&name, "%s.%s-mark:%s", result, what, at->mark);
	else
		n = asprintf(&name, "%s.%s-%s", result, what, at->kind == AT_PEAK ? "peak" : "end");
	if (n >= 0 && at->kind == AT_MARK)
		replace_odd(name + n - strlen(at->mark));
	return n < 0 ? NULL : name;
}

static int name_ats(struct massif_run *item, const struct tool *tool)
{
	const struct settings *settings = item->settings;
	const bool to_stdout = strcmp(item->name, "-") == 0;
	if (to_stdout && settings->n_ats && !(settings->only_moments && settings->n_ats == 1)) {
		tool_error(tool,
			   "--at, --snapshot, --all-snapshots: only one result fits on standard output; use "
			   "--only-moments with one of them, or --output=FILE");
		return TOOL_USAGE;
	}
	if (settings->only_moments && settings->n_ats == 0) {
		tool_error(tool, "--only-moments needs --at, --snapshot or --all-snapshots");
		return TOOL_USAGE;
	}
	item->at_names = calloc(settings->n_ats + 1, sizeof(char *));
	bool ok = item->at_names;
	for (size_t i = 0; ok && i < settings->n_ats; i++) {
		item->at_names[i] = to_stdout ? strdup(item->name) : name_at(item->name, &settings->ats[i]);
		ok = item->at_names[i];
	}
	if (ok)
		return 0;
	tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return TOOL_NO_RESULT;
}

/* A result whose name is a default: the files that would be written under it. */
struct wanted {
	const struct result_owner *owner;
	const struct settings *settings; /* NULL: one file alone */
};

static bool is_other(const struct wanted *wanted, const char *name)
{
	const struct settings *settings = wanted->settings;
	bool other = !(settings && settings->only_moments) && result_owner_is_other(wanted->owner, name);
	for (size_t i = 0; settings && i < settings->n_ats && !other; i++) {
		char *at = name_at(name, &settings->ats[i]);
		other = at && result_owner_is_other(wanted->owner, at);
		free(at);
	}
	return other;
}

/* In place of the name, that with the first number that is not another trace's. NULL: no memory. */
static char *avoid_others(char *name, const struct wanted *wanted)
{
	char *mine = strdup(name);
	for (uint32_t i = 2; mine && is_other(wanted, mine); i++) {
		free(mine);
		mine = name_with_number(name, i);
	}
	free(name);
	return mine;
}

/* The name of `option`'s file. If it is the default one, no file of another trace is replaced. NULL after a message. */
static char *name_result(const struct tool *tool, const char *option, const char *pattern,
			 const char *default_pattern, const struct wanted *wanted, struct outname *outname,
			 int *status)
{
	char *name = tool_out_name(tool, option, pattern, outname, status);
	if (!name || strcmp(pattern, default_pattern) != 0)
		return name;
	name = avoid_others(name, wanted);
	if (!name)
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return name;
}

/* Massif writes the xtree report first, so %n counts it first. Returns 0 or an exit status. */
static int name_results(const struct massif_runs *c, struct massif_run *item, const struct tool *tool,
			const char *output, struct outname *outname)
{
	const struct settings *settings = item->settings;
	const struct wanted report = { .owner = &c->owner };
	const struct wanted result = { &c->owner, c->points ? NULL : settings };
	int status = TOOL_NO_RESULT;
	if (settings->xtree_memory != XTREE_NONE) {
		item->xtree_name = name_result(tool, "xtree-memory-file", settings->xtree_file,
					       SETTINGS_XTREE_FILE, &report, outname, &status);
		if (!item->xtree_name)
			return status;
	}
	if (!output)
		item->name = name_result(tool, settings->out_option, settings->out_file, SETTINGS_OUT_FILE,
					 &result, outname, &status);
	else if (!(item->name = strdup(output)))
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	if (!item->name)
		return status;
	return c->points ? 0 : name_ats(item, tool);
}

int massif_runs_plan(struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace,
		     const char *output, bool points)
{
	struct outname outname = { .pid = mst_reader_info(trace->reader)->pid };
	*c = (struct massif_runs){ .points = points, .items = calloc(tool->n_also + 1, sizeof(*c->items)) };
	if (!c->items) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	result_owner_init(&c->owner, trace);
	while (c->n <= tool->n_also) {
		size_t i = c->n++;
		c->items[i].settings = i ? &tool->also[i - 1].settings : &tool->args.settings;
		int status = name_results(c, &c->items[i], tool, i ? NULL : output, &outname);
		if (status)
			return status;
	}
	return check_names(c, tool, trace);
}

void massif_runs_finish(struct massif_runs *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct massif_run *item = &c->items[i];
		for (size_t k = 0; k < at_files(item); k++)
			free(item->at_names[k]);
		free(item->at_names);
		free(item->xtree_name);
		free(item->name);
	}
	free(c->items);
	written_finish(&c->written);
}

/* ---- Files ---- */

static bool write_file(const struct massif_runs *c, const struct tool *tool, const struct emitter *emitter,
		       const struct emit_view *view, const char *name)
{
	struct output_file file;
	if (!output_begin(&file, tool, name, OUTPUT_FILE_RESULT, PACK_NONE))
		return false;
	if (file.path)
		result_owner_mark(&c->owner, file.fd);
	struct emit_view own = *view;
	own.emitter = emitter;
	emitter->write(file.out, &own);
	return output_end(&file, tool, name, true);
}

/* The command that shows a file of massif.out's form, or of callgrind's. */
static const char *viewer_of(const struct emitter *emitter)
{
	return emitter == &emit_callgrind ? "callgrind_annotate --inclusive=yes" : "ms_print";
}

static bool write_listed(struct massif_runs *c, const struct tool *tool, const struct emitter *emitter,
			 const struct emit_view *view, const char *name)
{
	const bool written = write_file(c, tool, emitter, view, name);
	if (written)
		written_add(&c->written, name, viewer_of(emitter));
	return written;
}

/* ---- Replay ---- */

struct observers {
	size_t n;
	struct observer **items;
};

/* Finds or makes the block sizes of a run; runs with equal settings share them. False: no memory. */
static bool share_usable(struct massif_runs *c, struct massif_run *item, struct observers *observers,
			 const struct block_sizes **usable)
{
	*usable = NULL;
	if (!block_sizes_needed(item->settings))
		return true;
	for (size_t i = 0; i < c->n && !*usable; i++) {
		if (c->items[i].usable && block_sizes_serves(c->items[i].usable, item->settings))
			*usable = c->items[i].usable;
	}
	if (*usable)
		return true;
	*usable = item->usable = block_sizes_create(item->settings);
	if (*usable)
		observers->items[observers->n++] = block_sizes_observer(item->usable);
	return *usable;
}

/* Makes the stack depths that all runs share, if the run counts stacks. False: no memory. */
static bool share_depths(struct massif_runs *c, const struct massif_run *item, struct observers *observers,
			 const struct stack_depth **depths)
{
	*depths = NULL;
	if (!item->settings->stacks)
		return true;
	if (!c->depths) {
		c->depths = stack_depth_create();
		if (!c->depths)
			return false;
		observers->items[observers->n++] = stack_depth_observer(c->depths);
	}
	*depths = c->depths;
	return true;
}

/* Only the tool's own settings have a log: its lines don't name their settings. */
static struct event_log *begin_log(struct massif_run *item, const struct tool *tool,
				   const struct tool_trace *trace)
{
	const bool lines = tool->verbosity > 1 && item->settings == &tool->args.settings;
	if (!lines && !item->settings->stats)
		return NULL;
	item->log = (struct event_log){
		.file = stderr,
		.pid = mst_reader_info(trace->reader)->pid,
		.lines = lines,
	};
	event_log_begin(&item->log, item->settings);
	return &item->log;
}

/* True if an xtree report of the run is of a point in time. */
static bool is_of_point(const struct massif_runs *c, const struct massif_run *item)
{
	return c->points && item->settings->n_ats && item->settings->ats[0].what == AT_DETAILED;
}

/* Makes the observers of one run. False: no memory. */
static bool observe(struct massif_runs *c, struct massif_run *item, struct event_log *log,
		    const struct emitter *emitter, struct symbolizer *symbolizer, struct observers *observers)
{
	struct massif_helpers helpers = { .log = log };
	if (!share_usable(c, item, observers, &helpers.sizes) ||
	    !share_depths(c, item, observers, &helpers.depths))
		return false;
	item->massif = massif_create(item->settings, symbolizer, &helpers);
	if (!item->massif)
		return false;
	observers->items[observers->n++] = massif_observer(item->massif);
	if (!item->xtree_name && emitter->source != EMIT_XTREE)
		return true;
	item->xtree = xtree_create(item->settings, symbolizer);
	if (item->xtree && is_of_point(c, item))
		xtree_follow(item->xtree, item->massif);
	if (item->xtree)
		observers->items[observers->n++] = xtree_observer(item->xtree);
	return item->xtree;
}

/* True if a replay for requested snapshots alone may begin at the key frame. */
static bool is_before_requests(const struct mst_keyframe *keyframe, void *context)
{
	const struct massif_runs *c = context;
	for (size_t i = 0; i < c->n; i++)
		if (!massif_before(c->items[i].settings, keyframe, c->time_shift))
			return false;
	return true;
}

/* Seeks to the last key frame before all requested snapshots, if the settings allow it. 0, or an enum mst_error. */
static int enter(struct massif_runs *c, const struct tool_trace *trace)
{
	struct mst_keyframe keyframe;
	bool can = true, fine = true;
	for (size_t i = 0; i < c->n; i++)
		can &= massif_can_enter(c->items[i].settings, trace->reader) && !c->items[i].xtree;
	c->time_shift = mst_reader_time_shift(trace->reader);
	const int got = can ? mst_reader_seek(trace->reader, is_before_requests, c, &keyframe) : 0;
	for (size_t i = 0; i < c->n && got == 1 && fine; i++)
		fine = massif_enter(c->items[i].massif, trace->reader, &keyframe);
	return got < 0 ? got : fine ? 0 : MST_ERR_NOMEM;
}

static int replay(struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace,
		  const struct emitter *emitter, struct symbolizer *symbolizer)
{
	struct observers observers = { .items = calloc(4 * c->n + 1, sizeof(struct observer *)) };
	int status = TOOL_NO_RESULT;
	bool fine = observers.items;
	for (size_t i = 0; fine && i < c->n; i++)
		fine = observe(c, &c->items[i], begin_log(&c->items[i], tool, trace), emitter, symbolizer,
			       &observers);
	const int error = fine ? enter(c, trace) : MST_ERR_NOMEM;
	if (error == 0)
		status = tool_replay(tool, trace, observers.items, observers.n);
	else
		tool_error(tool, "%s: %s", trace->name, mst_strerror(error));
	free(observers.items);
	return status;
}

/* Massif chooses the format by the whole path, not by the end of the name. */
static const struct emitter *xtree_emitter(const char *name)
{
	char *directory = *name == '/' || strcmp(name, "-") == 0 ? NULL : getcwd(NULL, 0);
	bool is_massif = strstr(name, ".ms") || (directory && strstr(directory, ".ms"));
	free(directory);
	return is_massif ? &emit_xtree : &emit_callgrind;
}

static void report_unplaced(const struct tool *tool, const struct tool_trace *trace,
			    const struct massif_runs *c)
{
	uint64_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		if (c->items[i].xtree && xtree_unplaced(c->items[i].xtree) > n)
			n = xtree_unplaced(c->items[i].xtree);
	if (n)
		tool_notice(tool,
			    "%s: the stacks of %" PRIu64 " frees are not recorded, so totFdB and totFdBk "
			    "lack them (msrec --free-stacks=yes)",
			    trace->name, n);
}

/* True, after a message, if a result needs usable sizes that the trace lacks. */
static bool lacks_usable(const struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace)
{
	bool lacking = false;
	for (size_t i = 0; i < c->n && !lacking; i++)
		lacking = tool_lacks_usable(tool, trace, c->items[i].settings);
	return lacking;
}

/* True if a result needs stack depths that the trace lacks. */
static bool lacks_depths(const struct massif_runs *c, const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	bool lacking = c->depths && !mst_reader_info(reader)->stacks;
	for (uint32_t i = 0; i < n && lacking; i++)
		lacking = kinds[i].op != MST_OP_STACK;
	return lacking;
}

/* Writes the files of one run. False after a message: one of them couldn't be written. */
static bool write_run(struct massif_runs *c, const struct massif_run *item, const struct tool *tool,
		      const struct tool_trace *trace, const struct emitter *emitter,
		      struct symbolizer *symbolizer)
{
	const struct settings *settings = item->settings;
	struct emit_view view = {
		.reader = trace->reader,
		.settings = settings,
		.symbolizer = symbolizer,
		.massif = item->massif,
		.xtree = item->xtree,
	};
	struct snapshot one;
	bool all = true, xtree = false;
	if (item->xtree_name && emitter->source != EMIT_XTREE)
		all = xtree = write_file(c, tool, xtree_emitter(item->xtree_name), &view, item->xtree_name);
	if (c->points && settings->n_ats)
		view.snapshots = massif_at(item->massif, 0, &one, &view.n_snapshots);
	else
		view.snapshots = massif_snapshots(item->massif, &view.n_snapshots);
	if (c->points || !settings->only_moments)
		all = write_listed(c, tool, emitter, &view, item->name) && all;
	for (size_t k = 0; k < at_files(item); k++) {
		view.snapshots = massif_at(item->massif, k, &one, &view.n_snapshots);
		all = write_listed(c, tool, &emit_massif, &view, item->at_names[k]) && all;
	}
	for (size_t k = 0; k < settings->n_ats; k++)
		requested_time_check_at(tool, trace, settings, &settings->ats[k],
					massif_last_time(item->massif));
	if (xtree)
		written_add(&c->written, item->xtree_name, viewer_of(xtree_emitter(item->xtree_name)));
	return all;
}

static bool write_all(struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace,
		      const struct emitter *emitter, struct symbolizer *symbolizer)
{
	bool written = true;
	for (size_t i = 0; i < c->n; i++)
		written = write_run(c, &c->items[i], tool, trace, emitter, symbolizer) && written;
	return written;
}

int massif_runs_run(struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace,
		    const struct emitter *emitter)
{
	struct symbolizer *symbolizer =
		symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	if (!symbolizer) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	int status = replay(c, tool, trace, emitter, symbolizer);
	if (tool_has_result(status) && lacks_usable(c, tool, trace))
		status = TOOL_USAGE;
	if (tool_has_result(status) && lacks_depths(c, trace->reader)) {
		tool_error(tool, "%s: --stacks=yes: no stack depths are recorded in it (msrec --stacks=yes)",
			   trace->name);
		status = TOOL_USAGE;
	}
	if (tool_has_result(status)) {
		if (!write_all(c, tool, trace, emitter, symbolizer))
			status = TOOL_NO_RESULT;
		report_unplaced(tool, trace, c);
		if (c->depths && !mst_reader_info(trace->reader)->exact)
			tool_notice(
				tool,
				"%s: stack depths are known at calls only, so mem_stacks_B lacks what was "
				"between them",
				trace->name);
		tool_symbol_notices(tool, symbolize_symbols(symbolizer));
		for (size_t i = 0; i < c->n; i++)
			if (c->items[i].settings->stats)
				event_log_stats(&c->items[i].log);
	}
	for (size_t i = 0; i < c->n; i++) {
		massif_destroy(c->items[i].massif);
		block_sizes_destroy(c->items[i].usable);
		xtree_destroy(c->items[i].xtree);
	}
	stack_depth_destroy(c->depths);
	symbolize_destroy(symbolizer);
	return status;
}
