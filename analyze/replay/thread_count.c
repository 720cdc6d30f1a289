/* SPDX-License-Identifier: MIT */
#include "thread_count.h"

#include "mstrace.h"

uint32_t thread_count(const struct mst_reader *reader)
{
	uint32_t n, count = 0;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	for (uint32_t i = 0; i < n; i++)
		count += threads[i].tid != 0;
	return count ? count : 1;
}
