/* SPDX-License-Identifier: MIT */
#include "conversion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "outfile.h"

/* ---- Names ---------------------------------------------------------------------------------- */

/* What is the same for two names of one file, whether it is there already or not. */
struct place {
	bool shared;        /* not a plain file: any number of results may go there */
	dev_t dev;          /* of the file, else of its directory */
	ino_t ino;
	const char *name;   /* in its directory, if there is no such file; else "" */
};

static int find_place(struct place *place, const char *name)
{
	struct stat st;
	*place = (struct place){ .name = name };
	if (strcmp(name, "-") == 0)
		return 0;
	if (stat(name, &st) == 0) {
		*place = (struct place){ !S_ISREG(st.st_mode), st.st_dev, st.st_ino, "" };
		return 0;
	}
	const char *slash = strrchr(name, '/');
	char *directory = slash ? strndup(name, (size_t)(slash + 1 - name)) : strdup(".");
	if (!directory)
		return -ENOMEM;
	if (stat(directory, &st) == 0)
		*place = (struct place){ false, st.st_dev, st.st_ino, slash ? slash + 1 : name };
	free(directory);
	return 0;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return !a->shared && a->dev == b->dev && a->ino == b->ino && strcmp(a->name, b->name) == 0;
}

/* A renamed result would take the trace's place. */
static bool is_trace(const struct tool_trace *trace, const struct place *place)
{
	struct stat st;
	return fstat(trace->fd, &st) == 0 && !place->shared && *place->name == '\0' &&
	       st.st_dev == place->dev && st.st_ino == place->ino;
}

static int check_names(const struct conversions *c, const struct tool *tool,
		       const struct tool_trace *trace)
{
	struct place *places = calloc(c->n, sizeof(*places));
	int status = places ? 0 : (int)TOOL_NO_RESULT;
	for (size_t i = 0; i < c->n && status == 0; i++) {
		const char *name = c->items[i].name, *why = NULL;
		if (find_place(&places[i], name) != 0) {
			status = TOOL_NO_RESULT;
			break;
		}
		if (is_trace(trace, &places[i]))
			why = "is the trace itself";
		for (size_t k = 0; k < i && !why; k++)
			if (is_same(&places[k], &places[i]))
				why = "two results would have this name";
		if (!why)
			continue;
		tool_error(tool, "%s: %s", strcmp(name, "-") == 0 ? "standard output" : name, why);
		status = TOOL_USAGE;
	}
	if (status == TOOL_NO_RESULT)
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	free(places);
	return status;
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
	}
	if (c->items)
		return check_names(c, tool, trace);
	tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return status;
}

void conversions_finish(struct conversions *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->items[i].name);
	free(c->items);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static int write_output(const struct emitter *emitter, const struct emit_view *view, int fd)
{
	struct out *out = out_create(fd);
	if (!out)
		return -ENOMEM;
	emitter->write(out, view);
	return -out_finish(out);
}

static bool write_file(const struct tool *tool, const struct emitter *emitter,
		       const struct emit_view *view, const char *name)
{
	struct outfile file;
	int error = outfile_begin(&file, name);
	if (!error) {
		error = write_output(emitter, view, file.fd);
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

static void tell_symbols(const struct tool *tool, const struct symbols *symbols)
{
	const char *notice;
	for (size_t i = 0; (notice = symbols_notice(symbols, i)); i++)
		tool_notice(tool, "%s", notice);
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
		written = write_file(tool, emitter, &view, item->name) && written;
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
		tell_symbols(tool, naming_symbols(naming));
	}
	for (size_t i = 0; i < c->n; i++)
		massif_destroy(c->items[i].massif);
	naming_destroy(naming);
	return status;
}
