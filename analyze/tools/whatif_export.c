/* SPDX-License-Identifier: MIT */
#include "whatif_export.h"

#include <errno.h>
#include <string.h>

#include "output_set.h"
#include "workload.h"

/* 0, or an enum mst_error. */
static int collect(const struct whatif_job *job, struct workload *workload)
{
	struct op_stream stream;
	if (!workload_init(workload, job->outline.n_threads, job->outline.slots))
		return errno == ENOMEM ? MST_ERR_NOMEM : MST_ERR_IO;
	const bool fine = op_stream_init(&stream, &job->outline, &job->vectors, &workload->sink, false);
	const int error = fine ? whatif_stream(job, &stream) : MST_ERR_NOMEM;
	op_stream_finish(&stream);
	return error;
}

/* False after a message. */
static bool write_file(const struct tool *tool, struct workload *workload, const char *name)
{
	struct output_file file;
	if (!output_begin(&file, tool, name, OUTPUT_FILE_RESULT, PACK_NONE))
		return false;
	const bool written = workload_write(workload, file.out);
	if (!written)
		tool_error(tool, "%s: %s", name, strerror(errno));
	return output_end(&file, tool, name, written) && written;
}

bool whatif_export(const struct whatif_job *job, const char *name)
{
	struct workload workload;
	const int error = collect(job, &workload);
	if (error)
		tool_error(job->tool, "%s: %s", name,
			   error == MST_ERR_IO ? strerror(errno) : mst_strerror(error));
	const bool fine = !error && write_file(job->tool, &workload, name);
	workload_finish(&workload);
	return fine;
}
