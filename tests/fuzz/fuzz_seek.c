/* SPDX-License-Identifier: MIT */
/*
 * Promise: reading any bytes from a key frame on never crashes, hangs or takes unbounded memory, and the reader
 * delivers only what mstrace.h allows; with threads and with all decode hints, too. The input is as
 * fuzz_reader.c's; its last bytes choose where to begin and how to read.
 */
#include <stdint.h>
#include <unistd.h>

#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct asked {
	uint64_t records; /* rejects a key frame behind more records */
	unsigned how;
};

static bool will_do(const struct mst_keyframe *keyframe, void *context)
{
	const struct asked *asked = context;

	check(!keyframe->live);
	return keyframe->records <= asked->records;
}

static void walk_keyframe(const struct mst_reader *r, const struct mst_keyframe *keyframe)
{
	uint32_t n_kinds, last = 0;

	mst_reader_kinds(r, &n_kinds);
	check(keyframe->n < n_kinds);
	for (uint32_t i = 0; i < keyframe->n; i++) {
		check(keyframe->live[i].kind > last && keyframe->live[i].kind < n_kinds);
		last = keyframe->live[i].kind;
	}
}

/* Chunks continue the state of the key frame. */
static int read_on(struct mst_reader *r, const struct asked *asked, uint64_t records, uint64_t allocs,
		   uint64_t time)
{
	const bool all = !(asked->how & 2), skims = asked->how & 4;
	const struct mst_chunk *chunk;
	int status;

	while ((status = skims ? mst_reader_peek(r, &chunk) : mst_reader_next(r, &chunk)) == 1) {
		check(chunk->first_record == records && chunk->first_alloc == allocs);
		check(chunk->first_time >= time && chunk->last_time >= chunk->first_time);
		records += chunk->n_records;
		for (uint32_t i = 0; i < chunk->n_tokens; i++)
			allocs += chunk->tokens[i].role == MST_ALLOC ? chunk->tokens[i].count : 0;
		if (all && !skims)
			walk_chunk(r, chunk, &time);
		time = chunk->last_time;
	}
	return status;
}

static void read_trace(int fd, const struct asked *asked)
{
	struct mst_keyframe keyframe = { 0 };
	struct mst_reader *r;
	int status = mst_reader_create(&r, fd);

	if (status != 0)
		return;
	status = mst_reader_seek(r, will_do, (void *)asked, &keyframe);
	check(status <= 1 && status != MST_ERR_IO);
	if (status == 1)
		walk_keyframe(r, &keyframe);
	if (asked->how & 1)
		check(mst_reader_parallel(r, 2) == 0);
	if (asked->how & 2)
		mst_reader_want(r, asked->how >> 3);
	status = read_on(r, asked, keyframe.records, keyframe.allocs, keyframe.time);
	finish_reading(r, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct asked asked = {
		.records = size > 1 ? 4u * data[size - 2] : 0,
		.how = size ? data[size - 1] : 0,
	};
	const int fd = open_input(data, size);

	read_trace(fd, &asked);
	close(fd);
	return 0;
}
