/* SPDX-License-Identifier: MIT */
#include "extent.h"

#include <unistd.h>

#include "mstrace.h"

struct extent extent_measure(const struct tool_trace *trace)
{
	struct extent extent = { 0 };
	struct mst_end end;
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	if (mst_reader_peek_end(trace->reader, &end))
		return (struct extent){ end.time_ns, end.events };
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	if (position < 0 || trace->start < 0 || lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0)
		return extent;
	if (mst_reader_create(&reader, trace->fd) == 0) {
		mst_reader_want(reader, 0);
		while (mst_reader_peek(reader, &chunk) > 0) {
			extent.end_ns = chunk->last_time << mst_reader_time_shift(reader);
			extent.events += chunk->sums.events;
		}
		mst_reader_destroy(reader);
	}
	(void)lseek(trace->fd, position, SEEK_SET);
	return extent;
}
