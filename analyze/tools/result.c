/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <errno.h>
#include <string.h>

static bool complain(const struct result *r, int error)
{
	tool_error(r->tool, "%s: %s", strcmp(r->name, "-") == 0 ? "standard output" : r->name,
		   strerror(error));
	return false;
}

bool result_begin(struct result *r, const struct tool *tool, const char *name, enum packing packing)
{
	*r = (struct result){ .tool = tool, .name = name };
	const int error = output_file_begin(&r->file, name, OUTPUT_FILE_RESULT);
	if (error)
		return complain(r, -error);
	r->out = out_create_packed(r->file.fd, packing);
	if (r->out)
		return true;
	output_file_abort(&r->file);
	return complain(r, ENOMEM);
}

bool result_end(struct result *r, bool keep)
{
	int error = out_finish(r->out);
	if (error || !keep)
		output_file_abort(&r->file);
	else
		error = -output_file_commit(&r->file);
	return error ? complain(r, error) : true;
}
