/* SPDX-License-Identifier: MIT */
#include "fleet_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extent.h"
#include "fleet_schema.h"
#include "fleet_table.h"
#include "output_set.h"
#include "pattern.h"
#include "report.h"

/* ---- Labels ---- */

/* A value with %h replaced by this machine's name, to be freed. NULL: no memory. */
static char *name_host(const char *value)
{
	char host[FLEET_LABEL_BYTES + 1] = "", *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	if (!to)
		return NULL;
	if (gethostname(host, sizeof(host) - 1) != 0)
		*host = '\0';
	for (; *value; value++) {
		if (value[0] == '%' && value[1] == 'h') {
			fputs(host, to);
			value++;
			continue;
		}
		fputc(*value, to);
		if (value[0] == '%' && value[1] == '%')
			fputc(*++value, to);
	}
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* False after a message. */
static bool expand_label(const struct tool *tool, const struct mst_file_info *info,
			 const struct fleet_label *label, struct fleet_labels *to)
{
	struct pattern_values values = { .pid = info->pid, .program = last_part(info->exe ? info->exe : "") };
	struct pattern_error error = { .problem = PATTERN_NO_MEMORY };
	char *text = name_host(label->value);
	char *value = text ? pattern_expand(text, &values, &error) : NULL, *pair = NULL;
	const char *why = value || error.problem == PATTERN_NO_MEMORY
				  ? mst_strerror(MST_ERR_NOMEM)
				  : "patterns are %h, %p, %e, %q{VARIABLE} and %%";
	if (value && strchr(value, ','))
		why = "a label's value has no comma";
	else if (value && asprintf(&pair, "%s=%s", label->key, value) >= 0)
		why = fleet_labels_add(to, pair);
	if (why)
		tool_error(tool, "--label=%s=%s: %s", label->key, label->value, why);
	free(pair);
	free(value);
	free(text);
	return !why;
}

static bool expand_labels(const struct tool *tool, const struct tool_trace *trace,
			  const struct fleet_labels *labels, struct fleet_labels *to)
{
	for (size_t i = 0; i < labels->n; i++) {
		if (!expand_label(tool, mst_reader_info(trace->reader), &labels->items[i], to))
			return false;
	}
	return true;
}

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
	if (!status && !expand_labels(tool, trace, given, &labels))
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
