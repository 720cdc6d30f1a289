/* SPDX-License-Identifier: MIT */
#include "report_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "imported.h"

/* Copies standard input to a file without a name: a report reads a trace's headers before its chunks. -1 with errno. */
static int spool(void)
{
	uint8_t bytes[1 << 16];
	ssize_t n;
	const int fd = file_unnamed();
	if (fd < 0)
		return -1;
	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0 && !file_write(fd, bytes, (size_t)n)) {
			n = -1;
			break;
		}
	}
	if (n == 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	const int error = errno;
	close(fd);
	errno = error;
	return -1;
}

bool report_input_open(const struct tool *tool, struct report_input *input, const char *path)
{
	const struct importer *importer = imported_recognize(path);
	struct tool_trace *trace = &input->trace;
	*input = (struct report_input){ .import = { .name = path, .tick_rate = 1000000000 } };
	input->imported = importer;
	if (importer)
		return imported_read(tool, importer, &input->import) &&
		       tool_open_fd(tool, trace, path, input->import.to);
	if (strcmp(path, "-") != 0 || lseek(STDIN_FILENO, 0, SEEK_CUR) >= 0)
		return tool_open(tool, trace, path);
	const int fd = spool();
	if (fd >= 0)
		return tool_open_fd(tool, trace, "standard input", fd);
	tool_input_error(tool, "standard input", errno);
	return false;
}

int report_input_close(struct report_input *input, int status)
{
	tool_close(&input->trace);
	if (!input->imported)
		return status;
	close(input->import.from);
	return status == TOOL_COMPLETE && input->import.warning ? (int)TOOL_PARTIAL : status;
}
