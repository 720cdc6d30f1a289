/* SPDX-License-Identifier: MIT */
#include "conversion.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outfile.h"
#include "places.h"

/* ---- Names ---------------------------------------------------------------------------------- */

static int check_names(const struct conversions *c, const struct tool *tool,
		       const struct tool_trace *trace)
{
	struct places places = { 0 };
	int status = 0;
	for (size_t i = 0; i < c->n && status == 0; i++) {
		const struct conversion *item = &c->items[i];
		status = places_add(&places, tool, trace, item->name);
		for (size_t k = 0; k < item->settings->n_ats && status == 0; k++)
			status = places_add(&places, tool, trace, item->at_names[k]);
	}
	places_finish(&places);
	return status;
}

/* The name of the file for a moment: that of the result, ".at-" and the moment. NULL: no memory. */
static char *name_at(const char *result, const struct at *at)
{
	char *name;
	int n = at->kind == AT_TIME ? asprintf(&name, "%s.at-%" PRIu64, result, at->time) :
		asprintf(&name, "%s.at-%s", result, at->kind == AT_PEAK ? "peak" : "end");
	return n < 0 ? NULL : name;
}

static int name_ats(struct conversion *item, const struct tool *tool)
{
	const struct settings *settings = item->settings;
	if (settings->n_ats && strcmp(item->name, "-") == 0) {
		tool_error(tool, "--at: standard output is no name that others can be made of; use "
			   "--massif-out-file=FILE");
		return TOOL_USAGE;
	}
	item->at_names = calloc(settings->n_ats + 1, sizeof(char *));
	bool ok = item->at_names;
	for (size_t i = 0; ok && i < settings->n_ats; i++) {
		item->at_names[i] = name_at(item->name, &settings->ats[i]);
		ok = item->at_names[i];
	}
	if (ok)
		return 0;
	tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return TOOL_NO_RESULT;
}

int conversions_plan(struct conversions *c, const struct tool *tool, const struct tool_trace *trace,
		     const char *output)
{
	struct outname outname = { .pid = mst_reader_info(trace->reader)->pid };
	*c = (struct conversions){ .items = calloc(tool->n_also + 1, sizeof(*c->items)) };
	int status = TOOL_NO_RESULT;
	for (size_t i = 0; c->items && i <= tool->n_also; i++) {
		struct conversion *item = &c->items[i];
		item->settings = i ? &tool->also[i - 1].settings : &tool->args.settings;
		item->name = i == 0 && output ? strdup(output) :
			     tool_out_name(tool, item->settings, &outname, &status);
		if (!item->name)
			return status;
		c->n++;
		status = name_ats(item, tool);
		if (status)
			return status;
		status = TOOL_NO_RESULT;
	}
	if (c->items)
		return check_names(c, tool, trace);
	tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return status;
}

void conversions_finish(struct conversions *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct conversion *item = &c->items[i];
		for (size_t k = 0; item->at_names && k < item->settings->n_ats; k++)
			free(item->at_names[k]);
		free(item->at_names);
		free(item->name);
	}
	free(c->items);
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* All of it by the emitter, or the one snapshot. */
static int write_output(const struct emitter *emitter, const struct emit_view *view,
			const struct snapshot *one, int fd)
{
	struct out *out = out_create(fd);
	if (!out)
		return -ENOMEM;
	if (one)
		emit_massif_one(out, view, one);
	else
		emitter->write(out, view);
	return -out_finish(out);
}

static bool write_file(const struct tool *tool, const struct emitter *emitter,
		       const struct emit_view *view, const struct snapshot *one, const char *name)
{
	struct outfile file;
	int error = outfile_begin(&file, name);
	if (!error) {
		error = write_output(emitter, view, one, file.fd);
		if (error)
			outfile_abort(&file);
		else
			error = outfile_commit(&file);
	}
	if (error)
		tool_error(tool, "%s: %s", strcmp(name, "-") == 0 ? "standard output" : name,
			   strerror(-error));
	return error == 0;
}

/* ---- Replay --------------------------------------------------------------------------------- */

static int replay(struct conversions *c, const struct tool *tool, const struct tool_trace *trace,
		  struct naming *naming)
{
	struct observer **observers = calloc(c->n, sizeof(struct observer *));
	int status = TOOL_NO_RESULT;
	size_t n = 0;
	while (observers && n < c->n) {
		struct conversion *item = &c->items[n];
		item->massif = massif_create(item->settings, naming);
		if (!item->massif)
			break;
		observers[n++] = massif_observer(item->massif);
	}
	if (n == c->n)
		status = tool_replay(tool, trace, observers, n);
	else
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	free(observers);
	return status;
}

static bool write_all(const struct conversions *c, const struct tool *tool,
		      const struct tool_trace *trace, const struct emitter *emitter,
		      struct naming *naming)
{
	bool written = true;
	for (size_t i = 0; i < c->n; i++) {
		const struct conversion *item = &c->items[i];
		const struct emit_view view = { trace->reader, item->settings, naming, item->massif };
		written = write_file(tool, emitter, &view, NULL, item->name) && written;
		for (size_t k = 0; k < item->settings->n_ats; k++) {
			const struct snapshot one = massif_at(item->massif, k);
			written = write_file(tool, emitter, &view, &one, item->at_names[k]) && written;
		}
	}
	return written;
}

int conversions_run(struct conversions *c, const struct tool *tool, const struct tool_trace *trace,
		    const struct emitter *emitter)
{
	struct naming *naming = naming_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs);
	if (!naming) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	int status = replay(c, tool, trace, naming);
	if (status != TOOL_NO_RESULT) {
		if (!write_all(c, tool, trace, emitter, naming))
			status = TOOL_NO_RESULT;
		tool_symbol_notices(tool, naming_symbols(naming));
	}
	for (size_t i = 0; i < c->n; i++)
		massif_destroy(c->items[i].massif);
	naming_destroy(naming);
	return status;
}
