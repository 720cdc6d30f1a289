/* SPDX-License-Identifier: MIT */
#include "imported.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "line_reader.h"

#define HEAD_BYTES 256

const struct importer *imported_recognize_file(int fd)
{
	char head[HEAD_BYTES];
	const off_t start = lseek(fd, 0, SEEK_CUR);
	const struct importer *found =
		start < 0 ? NULL : importer_recognize(head, line_reader_head(fd, head, sizeof(head)));
	return start < 0 || lseek(fd, start, SEEK_SET) < 0 ? NULL : found;
}

const struct importer *imported_recognize(const char *input)
{
	struct stat st;
	/* A FIFO can be opened once only: its writer ends, or is killed by SIGPIPE, when the first reader closes it. */
	if (strcmp(input, "-") == 0 || stat(input, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	const int fd = open(input, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	const struct importer *found = imported_recognize_file(fd);
	close(fd);
	return found;
}

static bool read_into(const struct tool *tool, const struct importer *importer, struct import *import)
{
	if (importer->read(import) == 0 && lseek(import->to, 0, SEEK_SET) == 0)
		return true;
	if (import->problem)
		tool_error(tool, "%s: %s", import->name, import->problem);
	else
		tool_input_error(tool, import->name, errno);
	return false;
}

bool imported_read(const struct tool *tool, const struct importer *importer, struct import *import)
{
	import->from = open(import->name, O_RDONLY | O_CLOEXEC);
	if (import->from >= 0)
		return imported_read_file(tool, importer, import);
	tool_error(tool, "%s: %s", import->name, strerror(errno));
	return false;
}

bool imported_read_file(const struct tool *tool, const struct importer *importer, struct import *import)
{
	import->to = file_unnamed();
	if (import->to < 0)
		tool_error(tool, "temporary file: %s", strerror(errno));
	else if (read_into(tool, importer, import)) {
		if (import->warning)
			tool_error(tool, "%s: %s", import->name, import->warning);
		if (importer->notice)
			tool_notice(tool, "%s: %s", import->name, importer->notice);
		if (import->clock)
			tool_notice(tool, "%s: %s", import->name, import->clock);
		return true;
	} else {
		close(import->to);
	}
	close(import->from);
	return false;
}
