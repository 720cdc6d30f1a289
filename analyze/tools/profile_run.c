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

static int write_profile(const struct tool *tool, const struct tool_trace *trace,
			 const struct emitter *emitter, struct emit_view *view, const char *name)
{
	struct profile_query query = view->query->profile;
	query.threads = emitter->threads || view->query->filter.n_threads;
	query.one_thread = query.threads && query.from == 0 && has_one_thread(tool, trace);
	query.point_alone = emitter->one && view->query->value <= PROFILE_INUSE_OBJECTS;
	struct profile *profile = profile_create(view->settings, &query);
	const int error = profile ? profile_seek(profile, trace->reader) : MST_ERR_NOMEM;
	if (error) {
		tool_error(tool, "%s: %s", trace->name, mst_strerror(error));
		profile_destroy(profile);
		return TOOL_NO_RESULT;
	}
	struct observer *observer = profile_observer(profile);
	struct output_file file;
	int status = tool_replay(tool, trace, &observer, 1);
	view->profile = profile;
	if (tool_has_result(status) && !is_answered(tool, trace, profile, view->query))
		status = TOOL_USAGE;
	if (tool_has_result(status)) {
		notice_late(tool, trace, view->settings, profile, &query);
		notice_misses(tool, trace, &view->query->filter);
		bool fine = output_begin(&file, tool, name, OUTPUT_FILE_RESULT, packing_of(emitter, name));
		if (fine) {
			emitter->write(file.out, view);
			fine = output_end(&file, tool, name, true);
		}
		status = fine ? status : TOOL_NO_RESULT;
	}
	profile_destroy(profile);
	return status;
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
	int status = output_set_check(tool, trace->origin, name);
	if (status)
		return status;
	struct symbolizer *symbolizer =
		symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	if (!symbolizer) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	struct emit_view view = {
		.emitter = emitter,
		.reader = trace->reader,
		.settings = &tool->args.settings,
		.symbolizer = symbolizer,
		.query = query,
	};
	status = emitter->pass ? write_pass(tool, trace, emitter, &view, name)
			       : write_profile(tool, trace, emitter, &view, name);
	tool_symbol_notices(tool, symbolize_symbols(symbolizer));
	symbolize_destroy(symbolizer);
	return status;
}
