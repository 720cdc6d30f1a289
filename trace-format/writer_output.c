/* SPDX-License-Identifier: MIT */
/*
 * The writer's file: units are written whole, with one write(2) each, so a killed writer leaves whole units and at
 * most one cut one.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "writer.h"

#define FAST_LEVEL 1 /* half the time of level 5 for what hardly repeats */

/* Cuts off what a failed write left behind the last whole unit. */
static void drop_cut_unit(struct mst_writer *w)
{
	if (ftruncate(w->output.fd, (off_t)w->output.bytes) == 0)
		(void)lseek(w->output.fd, (off_t)w->output.bytes, SEEK_SET);
}

static bool is_full(int error_number)
{
	return error_number == ENOSPC || error_number == EDQUOT;
}

/* Whether a failed write shall be repeated, from the last whole unit on. Keeps errno. */
static bool try_again(struct mst_writer *w)
{
	const int error_number = errno;
	bool again;

	if (w->output.stream)
		return false;
	drop_cut_unit(w);
	errno = error_number;
	again = is_full(error_number) && w->output.wait_for_room &&
		w->output.wait_for_room(w->output.context);
	errno = error_number;
	return again;
}

/* Writes the encoded unit. */
static int write_out(struct mst_writer *w)
{
	while (!file_write(w->output.fd, w->output.unit.data, w->output.unit.size)) {
		if (!try_again(w))
			return MST_ERR_IO;
	}
	w->output.bytes += w->output.unit.size;
	return 0;
}

int writer_note_unit(struct mst_writer *w, struct unit_entry entry)
{
	if (w->output.n_units == w->output.cap_units) {
		const uint32_t capacity = w->output.cap_units ? w->output.cap_units * 2 : 64;
		struct unit_entry *units = realloc(w->output.units, capacity * sizeof(*units));

		if (!units)
			return MST_ERR_NOMEM;
		w->output.units = units;
		w->output.cap_units = capacity;
	}
	w->output.units[w->output.n_units++] = entry;
	return 0;
}

int writer_unit(struct mst_writer *w, uint8_t type, uint8_t flags, size_t n_columns, uint32_t records,
		uint64_t time_first)
{
	struct unit_column columns[UNIT_KNOWN_COLUMNS];
	int err = 0;

	assert(n_columns <= UNIT_KNOWN_COLUMNS);
	assert((type == UNIT_FILE) == (w->output.n_units == 0));
	for (size_t i = 0; i < n_columns; i++) {
		columns[i] = (struct unit_column){ (uint8_t)i, w->columns[i].data, w->columns[i].size };
		if (w->columns[i].failed)
			err = MST_ERR_NOMEM;
	}
	bytes_clear(&w->output.unit);
	if (!err)
		err = unit_encode(&w->output.unit, w->zstd, type, flags, w->output.n_units, &w->fields,
				  columns, n_columns);
	if (!err)
		err = write_out(w);
	if (!err)
		err = writer_note_unit(
			w, (struct unit_entry){ type, (uint32_t)w->output.unit.size, records, time_first });
	bytes_clear(&w->fields);
	for (size_t i = 0; i < n_columns; i++)
		bytes_clear(&w->columns[i]);
	return err;
}

int writer_copy(struct mst_writer *w, int fd, uint64_t from, uint64_t to)
{
	off_t at = (off_t)from;
	uint8_t buffer[65536];

	assert(from <= to);
	while (at < (off_t)to) {
		const size_t left = (size_t)((off_t)to - at);
		const ssize_t n = pread(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0 && file_write(w->output.fd, buffer, (size_t)n)) {
			at += n;
			continue;
		}
		if (n <= 0 || !try_again(w))
			return MST_ERR_IO;
		at = (off_t)from;
	}
	w->output.bytes += to - from;
	return 0;
}

void writer_pack_at(struct mst_writer *w, int most)
{
	const int level = w->fast && most > FAST_LEVEL ? FAST_LEVEL : most;

	/* Never fails: zstd has taken both levels before, or the lower one is in its range. */
	(void)ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level < w->level ? level : w->level);
}

void mst_writer_fast_level(struct mst_writer *w, bool fast)
{
	if (fast == w->fast)
		return;
	w->fast = fast;
	writer_pack_at(w, w->level);
}
