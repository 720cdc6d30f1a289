/* SPDX-License-Identifier: MIT */
#include "thread_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_LISTED 16u

/* "4711 (worker), 4712 and 12 others": the threads of a trace; to be freed. NULL: no memory. */
static char *list_threads(const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (uint32_t i = 0; i < n && i < THREADS_LISTED; i++) {
		fprintf(out, "%s%" PRIu32, i ? ", " : "", threads[i].tid);
		if (threads[i].name)
			fprintf(out, " (%s)", threads[i].name);
	}
	if (n > THREADS_LISTED)
		fprintf(out, " and %" PRIu32 " others", n - THREADS_LISTED);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

void thread_list_notice(const struct tool *tool, const struct tool_trace *trace, const char *word)
{
	char *threads = list_threads(trace->reader);
	tool_notice(tool, "%s: --thread=%s: no such thread is in it; its threads are %s", trace->name, word,
		    threads && *threads ? threads : "not recorded");
	free(threads);
}
