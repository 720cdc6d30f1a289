/* SPDX-License-Identifier: MIT */
/*
 * Copies the units of a trace as they are, for new names behind them. Unit numbers stay, because the units
 * that are left out (names, index, END) stand behind all others. Only the FILE unit's features will differ.
 */
#include <assert.h>
#include <string.h>

#include "mst_limits.h"
#include "wire.h"
#include "writer.h"

static bool is_kept(const struct unit_header *header)
{
	return header->type != UNIT_NAMES && header->type != UNIT_INDEX && header->type != UNIT_END;
}

/* Reads the header at `at`; *size is that of the unit. False: there is none within `end`. */
static bool read_header(int fd, uint64_t at, uint64_t end, uint8_t *bytes, struct unit_header *header,
			uint64_t *size)
{
	const uint32_t n = unit_read(fd, at, bytes, header);

	if (!n)
		return false;
	*size = unit_bytes(header, n);
	return *size <= end - at;
}

static int note(struct mst_writer *w, const struct unit_header *header, uint64_t size)
{
	struct unit_entry entry = { .type = header->type, .size = (uint32_t)size };

	if (header->type == UNIT_EVENTS && header->fields_size >= FIELDS_EVENTS) {
		entry.records = wire_u32(header->fields + 32);
		entry.time_first = wire_u64(header->fields + 16);
	}
	if (header->type == UNIT_STACKS && header->fields_size >= 16)
		w->frames_before = wire_u32(header->fields + 8) + wire_u32(header->fields + 12);
	return writer_note_unit(w, entry);
}

/* Notes the units before `*end` and sets `*end` behind the last one that is kept. */
static int note_units(struct mst_writer *w, int from, uint64_t *end)
{
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;
	uint64_t at = 0, size;
	int err = 0;

	while (!err && read_header(from, at, *end, bytes, &header, &size) && is_kept(&header)) {
		err = note(w, &header, size);
		at += size;
		assert(at <= *end);
	}
	*end = at;
	return err ? err : at ? 0 : MST_ERR_NOT_A_TRACE;
}

int mst_writer_append(struct mst_writer **writer, int fd, int from, uint64_t bytes)
{
	struct mst_writer *w;
	int err = writer_alloc(&w, fd, 0);

	*writer = NULL;
	if (err)
		return err;
	if ((err = note_units(w, from, &bytes)) || (err = writer_copy(w, from, 0, bytes))) {
		mst_writer_destroy(w);
		return err;
	}
	*writer = w;
	return 0;
}
