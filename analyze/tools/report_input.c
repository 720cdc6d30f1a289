/* SPDX-License-Identifier: MIT */
#include "report_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "imported.h"

enum { USUAL_RATE = 1000000000 };

/* Owns `fd`; below 0: there was a message. */
static bool open_file(const struct tool *tool, struct report_input *input, const char *path, int fd,
		      const struct importer *importer, uint64_t tick_rate)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	*input = (struct report_input){
		.import = { .from = fd, .name = name, .tick_rate = tick_rate },
		.imported = importer,
	};
	if (fd < 0)
		return false;
	if (!importer)
		return tool_open_fd(tool, &input->trace, name, fd);
	if (!imported_read_file(tool, importer, &input->import))
		return false;
	if (tool_open_fd(tool, &input->trace, name, input->import.to))
		return true;
	close(fd);
	return false;
}

bool report_input_open(const struct tool *tool, struct spools *spools, struct report_input *input,
		       const char *path)
{
	const int fd = spools_open(spools, tool, path);
	const struct importer *importer = fd < 0 ? NULL : imported_recognize_file(fd);
	return open_file(tool, input, path, fd, importer, USUAL_RATE);
}

bool report_input_open_fd(const struct tool *tool, struct report_input *input, const char *name, int fd)
{
	if (fd < 0)
		tool_error(tool, "%s: %s", name, strerror(errno));
	return open_file(tool, input, name, fd, fd < 0 ? NULL : imported_recognize_file(fd), USUAL_RATE);
}

bool report_input_open_as(const struct tool *tool, struct report_input *input, const char *path,
			  const struct importer *importer, uint64_t tick_rate)
{
	struct spools spools = { 0 };
	const int fd = spools_open(&spools, tool, path);
	spools_finish(&spools);
	return open_file(tool, input, path, fd, importer, tick_rate);
}

int report_input_close(struct report_input *input, int status)
{
	tool_close(&input->trace);
	if (!input->imported)
		return status;
	close(input->import.from);
	return status == TOOL_COMPLETE && input->import.warning ? (int)TOOL_PARTIAL : status;
}
