/* SPDX-License-Identifier: MIT */
#include "conversion.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "outfile.h"

/* A renamed result would take the trace's place. */
static bool is_trace(const struct tool_trace *trace, const char *name)
{
	struct stat in, out;
	return fstat(trace->fd, &in) == 0 && stat(name, &out) == 0 && S_ISREG(out.st_mode) &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

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

int conversion_run(const struct tool *tool, const struct tool_trace *trace,
		   const struct emitter *emitter, const char *name)
{
	const struct settings *settings = &tool->args.settings;
	if (strcmp(name, "-") != 0 && is_trace(trace, name)) {
		tool_error(tool, "%s: is the trace itself", name);
		return TOOL_USAGE;
	}
	struct naming *naming = naming_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs);
	struct massif *massif = naming ? massif_create(settings, naming) : NULL;
	int status = TOOL_NO_RESULT;
	if (massif) {
		struct observer *observer = massif_observer(massif);
		status = tool_replay(tool, trace, &observer, 1);
	} else {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	}
	if (status != TOOL_NO_RESULT) {
		const struct emit_view view = { trace->reader, settings, naming, massif };
		if (!write_file(tool, emitter, &view, name))
			status = TOOL_NO_RESULT;
		tell_symbols(tool, naming_symbols(naming));
	}
	massif_destroy(massif);
	naming_destroy(naming);
	return status;
}
