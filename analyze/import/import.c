/* SPDX-License-Identifier: MIT */
#include "import.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "imported_names.h"
#include "line_reader.h"
#include "mst_writer.h"

#define FORMAT(name) &import_##name,
const struct importer *const importers[] = {
#include "import_formats.h"
	NULL,
};
#undef FORMAT

const struct importer *importer_find(const char *name)
{
	const struct importer *const *i = importers;

	while (*i && strcmp((*i)->name, name) != 0)
		i++;
	return *i;
}

const struct importer *importer_recognize(const char *head, size_t n)
{
	const struct importer *const *i = importers;

	while (*i && !((*i)->recognize && (*i)->recognize(head, n)))
		i++;
	return *i;
}

int import_begin(struct import *import, struct mst_writer **writer, const struct import_info *info)
{
	const struct mst_writer_options options = { .identity = info->identity };
	const struct mst_file_info file_info = {
		.page_size = info->page_size,
		.recorder = info->recorder,
		.exe = info->argc ? info->argv[0] : import->name,
		.cwd = "",
		.argc = info->argc,
		.argv = info->argv,
	};
	uint32_t thread;
	const int error = mst_writer_create(writer, import->to, &file_info, &options);
	return import_check(import,
			    error ? error : mst_writer_thread(*writer, &(struct mst_thread){ 0 }, &thread));
}

int import_finish(struct import *import, struct mst_writer *writer, struct imported_names *names,
		  struct mst_end *end)
{
	end->events = mst_writer_events(writer);
	const int error = imported_names_write(names, writer);
	return import_check(import, error ? error : mst_writer_finish(writer, end));
}

void import_cut(struct import *import)
{
	import->warning = "it is cut or damaged; what is before that is used";
}

/* Sets problem or warning by how the lines ended. */
static int end_lines(struct import *import, enum line_reader_result result)
{
	if (result == LINE_READER_NOMEM)
		import->problem = mst_strerror(MST_ERR_NOMEM);
	if (result == LINE_READER_TOO_LONG)
		import->problem = "a line that is too long";
	if (result == LINE_READER_CUT)
		import_cut(import);
	return result == LINE_READER_END || result == LINE_READER_CUT ? 0 : -1;
}

int import_lines(struct import *import, import_line *read_line, void *state)
{
	struct line_reader *lines = line_reader_create(import->from);
	enum line_reader_result result = LINE_READER_NOMEM;
	char *line;
	size_t n;
	int status = 0;
	while (lines && status == 0 && (result = line_reader_line(lines, &line, &n)) == LINE_READER_LINE)
		status = read_line(state, line, n);
	if (status == 0)
		status = end_lines(import, result);
	const int saved = errno;
	line_reader_destroy(lines);
	errno = saved;
	return status;
}

int import_refuse(struct import *import, const char *problem)
{
	import->problem = problem;
	return -1;
}

int import_check(struct import *import, int error)
{
	return error ? import_refuse(import, error == MST_ERR_IO ? NULL : mst_strerror(error)) : 0;
}
