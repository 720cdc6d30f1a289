/* heap_peak TRACE: the most bytes that were live at one time, and those that were never freed. */
#include <fcntl.h>
#include <inttypes.h>
#include <mstrace.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	uint64_t live = 0, peak = 0;
	int got = mst_reader_create(&reader, open(argc > 1 ? argv[1] : "trace.zst", O_RDONLY));

	if (got < 0)
		return fprintf(stderr, "%s\n", mst_strerror(got)), 2;
	while ((got = mst_reader_next(reader, &chunk)) == 1) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event event;
		uint32_t n;
		const struct mst_kind *kinds = mst_reader_kinds(reader, &n);

		while (mst_cursor_next(&cursor, &event)) {
			if (event.type == MST_EVENT_FREE || event.type == MST_EVENT_RESIZE)
				live -= kinds[event.old_kind].size;
			if (event.type == MST_EVENT_ALLOC || event.type == MST_EVENT_RESIZE)
				live += kinds[event.kind].size;
			if (live > peak)
				peak = live;
		}
	}
	printf("peak %" PRIu64 " bytes, at the end %" PRIu64 " bytes\n", peak, live);
	if (got < 0)
		fprintf(stderr, "%s: %s\n", mst_strerror(got), mst_reader_problem(reader));
	mst_reader_destroy(reader);
	return got < 0;
}
