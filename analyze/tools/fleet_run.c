/* SPDX-License-Identifier: MIT */
#include "fleet_run.h"

#include "extent.h"
#include "fleet_schema.h"
#include "fleet_table.h"
#include "output_set.h"
#include "report.h"
#include "run_labels.h"

/* ---- The replay ---- */

/* The report lives as long as its observers. */
struct job {
	struct settings settings;
	struct report_query query;
	struct profile_query at;
	struct report report;
};

/* False: no memory. */
static bool make_report(struct job *job, const struct tool *tool, const struct tool_trace *trace)
{
	const struct extent extent = extent_measure(trace);
	const uint64_t begin_ns = mst_reader_info(trace->reader)->begin_ns;
	struct report *r = &job->report;
	job->settings = tool->args.settings;
	job->settings.time_unit = TIME_MS;
	job->settings.usable = USABLE_REQUESTED;
	job->settings.heap_admin = 0;
	job->at = (struct profile_query){ .at.kind = AT_PEAK, .until = PROFILE_NO_TIME };
	*r = (struct report){
		.query = &job->query,
		.reader = trace->reader,
		.settings = &job->settings,
		.name = trace->name,
		.begin_ns = begin_ns,
		.end_ns = extent.end_ns > begin_ns ? extent.end_ns : begin_ns,
	};
	r->symbolizer = symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	r->calls = r->symbolizer ? call_sites_create(r->symbolizer) : NULL;
	r->profile = profile_create(&job->settings, &job->at);
	r->timeline = timeline_create(r->begin_ns, r->end_ns);
	return r->calls && r->profile && r->timeline;
}

static void destroy(struct report *r)
{
	sites_destroy(r->sites);
	profile_destroy(r->profile);
	timeline_destroy(r->timeline);
	call_sites_destroy(r->calls);
	symbolize_destroy(r->symbolizer);
}

/* Returns a tool_status. */
static int replay(struct job *job, const struct tool *tool, const struct tool_trace *trace)
{
	struct report *r = &job->report;
	struct observer *observers[] = { profile_observer(r->profile), timeline_observer(r->timeline) };
	const int status = tool_replay(tool, trace, observers, 2);
	if (!tool_has_result(status))
		return status;
	const struct mst_end *end = mst_reader_end(trace->reader);
	r->ended = end;
	if (end)
		r->end = *end;
	r->sites = sites_create(r->reader, r->calls, &job->query.hidden);
	if (r->sites)
		return status;
	tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return TOOL_NO_RESULT;
}

static bool write_summary(const struct tool *tool, const struct emit_view *view, const char *name)
{
	struct output_file file;
	if (!output_begin(&file, tool, name, OUTPUT_FILE_RESULT, pack_by_name(name)))
		return false;
	view->emitter->write(file.out, view);
	return output_end(&file, tool, name, true);
}

int fleet_run(const struct tool *tool, const struct tool_trace *trace, const struct emitter *emitter,
	      const struct fleet_labels *given, const char *name)
{
	struct job job = { .query.top = 0 };
	struct fleet_labels labels = { 0 };
	int status = output_set_check(tool, trace->origin, name);
	if (!status && !run_labels_expand(tool, trace, given, &labels))
		status = TOOL_USAGE;
	if (status) {
		fleet_labels_finish(&labels);
		return status;
	}
	if (make_report(&job, tool, trace)) {
		status = replay(&job, tool, trace);
	} else {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		status = TOOL_NO_RESULT;
	}
	const struct emit_view view = { .emitter = emitter, .report = &job.report, .labels = &labels };
	if (tool_has_result(status)) {
		if (!write_summary(tool, &view, name))
			status = TOOL_NO_RESULT;
		tool_symbol_notices(tool, symbolize_symbols(job.report.symbolizer));
	}
	destroy(&job.report);
	fleet_labels_finish(&labels);
	return status;
}

int fleet_run_rows(const struct tool *tool, const struct tool_trace *trace, struct out *out)
{
	struct job job = { .query.top = 0 };
	const struct fleet_labels labels = { .n = 0 };
	int status = TOOL_NO_RESULT;
	if (make_report(&job, tool, trace))
		status = replay(&job, tool, trace);
	else
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	if (tool_has_result(status))
		fleet_table_write(out, TABLE_CSV, &job.report, &labels);
	destroy(&job.report);
	return status;
}

int fleet_run_schema(const struct tool *tool, bool clickhouse, const char *name)
{
	struct output_file file;
	if (!output_begin(&file, tool, name, OUTPUT_FILE_RESULT, pack_by_name(name)))
		return TOOL_NO_RESULT;
	fleet_schema_write(file.out, clickhouse ? FLEET_CLICKHOUSE : FLEET_DUCKDB);
	return output_end(&file, tool, name, true) ? TOOL_COMPLETE : TOOL_NO_RESULT;
}
