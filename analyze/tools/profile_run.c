/* SPDX-License-Identifier: MIT */
#include "profile_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output_set.h"
#include "profile_rows.h"
#include "requested_time.h"
#include "thread_list.h"

static enum packing packing_of(const struct emitter *emitter, const char *name)
{
	return emitter->packing != PACK_NONE ? emitter->packing : pack_by_name(name);
}

static void notice_threads(const struct tool *tool, const struct tool_trace *trace)
{
	tool_notice(tool,
		    "%s: which block each free gives back is not recorded, so threads are not kept apart "
		    "(msrec --identity=yes)",
		    trace->name);
}

static void notice_misses(const struct tool *tool, const struct tool_trace *trace,
			  const struct profile_rows_filter *filter)
{
	for (size_t i = 0; i < filter->n_threads; i++) {
		if (!profile_rows_find_threads(trace->reader, filter->threads[i], NULL))
			thread_list_notice(tool, trace, filter->threads[i]);
	}
	for (size_t i = 0; i < filter->n_modules; i++) {
		if (!profile_rows_any_module(trace->reader, filter->modules[i]))
			tool_notice(tool, "%s: --module=%s: no program or library in it matches", trace->name,
				    filter->modules[i]);
	}
}

static void notice_late(const struct tool *tool, const struct tool_trace *trace,
			const struct settings *settings, const struct profile *profile,
			const struct profile_query *query)
{
	const uint64_t last = profile_last_time(profile);
	requested_time_check_at(tool, trace, settings, &query->at, last);
	requested_time_check(tool, trace, settings, "--from", query->from, last, "nothing is left");
}

/* False after a message: the trace can't answer the query. */
static bool is_answered(const struct tool *tool, const struct tool_trace *trace,
			const struct profile *profile, const struct emit_query *query)
{
	if (tool_lacks_usable(tool, trace, &tool->args.settings))
		return false;
	if (!profile_lacks_threads(profile))
		return true;
	if (query->filter.n_threads == 0) {
		notice_threads(tool, trace);
		return true;
	}
	tool_error(tool,
		   "%s: --thread: which block each free gives back is not recorded in it "
		   "(msrec --identity=yes)",
		   trace->name);
	return false;
}

/* True if thread 0 surely made all calls. Reads a file's headers before the replay; a pipe is never sure. */
static bool has_one_thread(const struct tool *tool, const struct tool_trace *trace)
{
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	struct mst_reader *reader = NULL;
	const struct mst_chunk *chunk;
	uint32_t n = 0;
	bool one;
	if (position >= 0 && lseek(trace->fd, (off_t)trace->start, SEEK_SET) >= 0)
		(void)mst_reader_create(&reader, trace->fd);
	if (reader && mst_reader_parallel(reader, tool_jobs(tool)) != 0) {
		mst_reader_destroy(reader);
		reader = NULL;
	}
	if (reader)
		mst_reader_want(reader, 0);
	while (reader && n <= 1 && mst_reader_peek(reader, &chunk) > 0)
		mst_reader_threads(reader, &n);
	/* tid 0 stands for any thread. */
	one = reader && n == 1 && mst_reader_threads(reader, &n)->tid != 0;
	mst_reader_destroy(reader);
	if (position >= 0)
		(void)lseek(trace->fd, position, SEEK_SET);
	return one;
}

/* False after a message. */
static bool make_profile(struct profiled *p, const struct tool *tool, const struct tool_trace *trace,
			 const struct emitter *emitter)
{
	struct profile_query *query = &p->query;
	query->threads =
		(emitter->threads && !p->view.query->merge_threads) || p->view.query->filter.n_threads;
	query->one_thread = query->threads && query->from == 0 && has_one_thread(tool, trace);
	query->point_alone = emitter->one && p->view.query->value <= PROFILE_INUSE_OBJECTS;
	p->profile = profile_create(p->view.settings, query);
	const int error = p->profile ? profile_seek(p->profile, trace->reader) : MST_ERR_NOMEM;
	if (error)
		tool_error(tool, "%s: %s", trace->name, mst_strerror(error));
	return error == 0;
}

/* False after a message. */
static bool begin_view(struct profiled *p, const struct tool *tool, const struct tool_trace *trace,
		       const struct emitter *emitter, const struct emit_query *query)
{
	*p = (struct profiled){
		.query = query->profile,
		.symbolizer = symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true),
	};
	p->view = (struct emit_view){
		.emitter = emitter,
		.reader = trace->reader,
		.settings = &tool->args.settings,
		.symbolizer = p->symbolizer,
		.query = query,
	};
	if (!p->symbolizer)
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return p->symbolizer;
}

/* Replays. Returns an enum tool_status. */
static int read_profile(struct profiled *p, const struct tool *tool, const struct tool_trace *trace,
			const struct emitter *emitter)
{
	if (!make_profile(p, tool, trace, emitter))
		return TOOL_NO_RESULT;
	struct observer *observer = profile_observer(p->profile);
	const int status = tool_replay(tool, trace, &observer, 1);
	p->view.profile = p->profile;
	if (!tool_has_result(status))
		return status;
	if (!is_answered(tool, trace, p->profile, p->view.query))
		return TOOL_USAGE;
	notice_late(tool, trace, p->view.settings, p->profile, &p->query);
	notice_misses(tool, trace, &p->view.query->filter);
	return status;
}

int profiled_read(struct profiled *p, const struct tool *tool, const struct tool_trace *trace,
		  const struct emitter *emitter, const struct emit_query *query)
{
	return begin_view(p, tool, trace, emitter, query) ? read_profile(p, tool, trace, emitter)
							  : (int)TOOL_NO_RESULT;
}

void profiled_finish(struct profiled *p, const struct tool *tool)
{
	if (p->symbolizer)
		tool_symbol_notices(tool, symbolize_symbols(p->symbolizer));
	profile_destroy(p->profile);
	symbolize_destroy(p->symbolizer);
}

/* Writes a profile, or what changed since `base`. False after a message. */
static bool write_profile(const struct tool *tool, const struct emit_view *view, const struct emit_view *base,
			  const char *name)
{
	struct output_file file;
	if (!output_begin(&file, tool, name, OUTPUT_FILE_RESULT, packing_of(view->emitter, name)))
		return false;
	if (base)
		view->emitter->write_diff(file.out, view, base);
	else
		view->emitter->write(file.out, view);
	return output_end(&file, tool, name, true);
}

bool profiled_write_diff(const struct profiled *p, const struct profiled *base, const struct tool *tool,
			 const char *name)
{
	return write_profile(tool, &p->view, &base->view, name);
}

/* Writes the formats of single events, during the replay. */
static int write_pass(const struct tool *tool, const struct tool_trace *trace, const struct emitter *emitter,
		      const struct emit_view *view, const char *name)
{
	struct output_file file;
	if (!output_begin(&file, tool, name, OUTPUT_FILE_RESULT, packing_of(emitter, name)))
		return TOOL_NO_RESULT;
	int status = TOOL_NO_RESULT;
	struct observer *observer = emitter->pass->create(file.out, view);
	if (observer) {
		status = tool_replay(tool, trace, &observer, 1);
		emitter->pass->destroy(observer);
	} else {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	}
	if (!output_end(&file, tool, name, tool_has_result(status)))
		status = TOOL_NO_RESULT;
	return status;
}

int profile_run(const struct tool *tool, const struct tool_trace *trace, const struct emitter *emitter,
		const struct emit_query *query, const char *name)
{
	struct profiled profiled;
	int status = output_set_check(tool, trace->origin, name);
	if (status)
		return status;
	if (!begin_view(&profiled, tool, trace, emitter, query)) {
		status = TOOL_NO_RESULT;
	} else if (emitter->pass) {
		status = write_pass(tool, trace, emitter, &profiled.view, name);
	} else {
		status = read_profile(&profiled, tool, trace, emitter);
		if (tool_has_result(status) && !write_profile(tool, &profiled.view, NULL, name))
			status = TOOL_NO_RESULT;
	}
	profiled_finish(&profiled, tool);
	return status;
}
