/* SPDX-License-Identifier: MIT */
#include "report_input.h"

#include <unistd.h>

#include "imported.h"

enum { USUAL_RATE = 1000000000 };

bool report_input_open(const struct tool *tool, struct report_input *input, const char *path)
{
	return report_input_open_as(tool, input, path, imported_recognize(path), USUAL_RATE);
}

bool report_input_open_as(const struct tool *tool, struct report_input *input, const char *path,
			  const struct importer *importer, uint64_t tick_rate)
{
	struct tool_trace *trace = &input->trace;
	*input = (struct report_input){ .import = { .name = path, .tick_rate = tick_rate } };
	input->imported = importer;
	if (importer)
		return imported_read(tool, importer, &input->import) &&
		       tool_open_fd(tool, trace, path, input->import.to);
	return tool_open_file(tool, trace, path);
}

int report_input_close(struct report_input *input, int status)
{
	tool_close(&input->trace);
	if (!input->imported)
		return status;
	close(input->import.from);
	return status == TOOL_COMPLETE && input->import.warning ? (int)TOOL_PARTIAL : status;
}
