/* SPDX-License-Identifier: MIT */
/*
 * Reading from a key frame: the index gives the places of units, the key frame the sums of the records before
 * it. All definitions before it are read.
 */
#include <assert.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "keyframe.h"
#include "reader.h"
#include "sums.h"

/* END's size and CRC, the last bytes of a trace. */
#define TAIL_BYTES 8u

/* A unit before the index, as the index lists it. */
struct entry {
	uint64_t at;
	uint8_t type;
};

struct seeking {
	struct mst_reader *reader;
	uint64_t start; /* file position of the trace */
	struct entry *entries;
	uint32_t n;
};

/* ---- units at known places ---- */

/* Reads the header of a unit at `at`. False: there is no unit of the type. */
static bool peek_header(const struct seeking *s, uint64_t at, uint8_t type, uint8_t bytes[UNIT_HEADER_MAX],
			struct unit_header *header)
{
	return unit_read(s->reader->input.fd, s->start + at, bytes, header) && header->type == type;
}

/* The trace's file position. False: the input is no file. */
static bool find_start(const struct mst_reader *r, uint64_t *start)
{
	const off_t position = lseek(r->input.fd, 0, SEEK_CUR);

	*start = (uint64_t)position - input_left(&r->input) - r->input.offset;
	return position >= 0;
}

/* Reads END's header; its fields are in `bytes`. False: the file doesn't end with END. */
static bool peek_end(const struct seeking *s, uint8_t bytes[UNIT_HEADER_MAX], struct unit_header *header)
{
	uint8_t tail[TAIL_BYTES];
	struct stat st;
	uint64_t end;

	if (fstat(s->reader->input.fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < s->start + TAIL_BYTES)
		return false;
	end = (uint64_t)st.st_size - s->start;
	return file_read_at(s->reader->input.fd, s->start + end - TAIL_BYTES, tail, sizeof(tail)) &&
	       wire_u32(tail) <= end && peek_header(s, end - wire_u32(tail), UNIT_END, bytes, header) &&
	       header->fields_size >= FIELDS_END;
}

/* The place of the index; 0: there is none. */
static uint64_t find_index(const struct seeking *s)
{
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;

	return peek_end(s, bytes, &header) ? wire_u64(header.fields + 48) : 0;
}

/* ---- the index ---- */

/* Reads header and columns of the unit at a place. */
static int read_unit_at(struct mst_reader *r, uint64_t at, uint32_t number)
{
	int got;

	if (r->input.offset != at && (got = input_go(&r->input, at)))
		return got;
	r->unit.n = number;
	got = reader_header(r);
	return got == 1 ? reader_columns(r) : got == 0 ? MST_ERR_DAMAGED : got;
}

/* False: the column is no index. */
static bool take_entries(struct seeking *s, struct cursor c)
{
	uint64_t at = 0, size, records, time;

	for (uint32_t i = 0; i < s->n; i++) {
		s->entries[i].at = at;
		if (!take_byte(&c, &s->entries[i].type) || !take_varint(&c, &size) ||
		    (s->entries[i].type == UNIT_EVENTS &&
		     (!take_varint(&c, &records) || !take_varint(&c, &time))))
			return false;
		at += size;
	}
	return true;
}

/* 1; 0 without a readable index; or an error. */
static int read_index(struct seeking *s)
{
	struct mst_reader *r = s->reader;
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;
	const uint64_t at = find_index(s);

	if (!at || !peek_header(s, at, UNIT_INDEX, bytes, &header) || header.fields_size < 4 ||
	    read_unit_at(r, at, header.seq) != 0)
		return 0;
	s->n = wire_u32(r->unit.header.fields);
	/* An entry takes two bytes at least. */
	if (!r->unit.columns[0].present || s->n > r->unit.columns[0].size / 2)
		return 0;
	s->entries = malloc(s->n * sizeof(*s->entries));
	if (!s->entries)
		return MST_ERR_NOMEM;
	return take_entries(s, column_cursor(r, 0));
}

/* ---- key frames ---- */

static struct mst_keyframe unpack(const uint8_t *f)
{
	return (struct mst_keyframe){
		.records = wire_u64(f),
		.allocs = wire_u64(f + 8),
		.time = wire_u64(f + 16),
		.n = wire_u32(f + 28),
		.sums = sums_unpack(f + 32),
		.instructions = wire_u64(f + 128),
	};
}

/* Reads the fields of the key frame of an entry. False: it can't be read. */
static bool peek_keyframe(const struct seeking *s, uint32_t entry, struct mst_keyframe *keyframe)
{
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;

	if (!peek_header(s, s->entries[entry].at, UNIT_KEYFRAME, bytes, &header) ||
	    header.fields_size < FIELDS_KEYFRAME)
		return false;
	*keyframe = unpack(header.fields);
	return true;
}

/*
 * The entry of the last key frame for which `will_do` is true; s->n: there is none. Bisects, as
 * mst_reader_seek() says.
 */
static uint32_t find_keyframe(const struct seeking *s, bool (*will_do)(const struct mst_keyframe *, void *),
			      void *context)
{
	uint32_t *frames = malloc((s->n + 1) * sizeof(*frames)), n = 0, lo = 0, found;
	struct mst_keyframe keyframe;

	for (uint32_t i = 0; frames && i < s->n; i++) {
		if (s->entries[i].type == UNIT_KEYFRAME)
			frames[n++] = i;
	}
	for (uint32_t hi = n; lo < hi;) {
		const uint32_t middle = lo + (hi - lo) / 2;

		if (peek_keyframe(s, frames[middle], &keyframe) && will_do(&keyframe, context))
			lo = middle + 1;
		else
			hi = middle;
	}
	found = lo ? frames[lo - 1] : s->n;
	free(frames);
	assert(found <= s->n);
	return found;
}

static int take_live(struct mst_reader *r, struct mst_keyframe *keyframe)
{
	struct cursor kinds = column_cursor(r, COLUMN_LIVE_KINDS),
		      blocks = column_cursor(r, COLUMN_LIVE_BLOCKS);
	uint64_t kind = 0, skip, count;
	struct mst_live *live;
	uint32_t n;

	DAMAGED_IF(r->unit.header.fields_size < FIELDS_KEYFRAME, "a key frame is malformed");
	n = wire_u32(r->unit.header.fields + 28);
	DAMAGED_IF(wire_u32(r->unit.header.fields + 24) != r->defs.kinds.n || n >= r->defs.kinds.n,
		   "a key frame of other definitions");
	live = malloc((n + 1) * sizeof(*live));
	if (!live)
		return MST_ERR_NOMEM;
	free(r->live);
	r->live = live;
	for (uint32_t i = 0; i < n; i++) {
		DAMAGED_IF(!take_varint(&kinds, &skip) || !take_varint(&blocks, &count) || skip == 0 ||
				   skip >= r->defs.kinds.n - kind,
			   "a key frame is malformed");
		kind += skip;
		assert(kind < r->defs.kinds.n);
		live[i] = (struct mst_live){ (uint32_t)kind, wire_unzigzag(count) };
	}
	*keyframe = unpack(r->unit.header.fields);
	keyframe->live = live;
	return 0;
}

/* Reads all definitions before an entry, then the entry's key frame. */
static int begin_at(const struct seeking *s, uint32_t entry, struct mst_keyframe *keyframe)
{
	struct mst_reader *r = s->reader;
	int err = 0;

	assert(entry < s->n && s->entries[entry].type == UNIT_KEYFRAME);
	for (uint32_t i = 1; i < entry && !err; i++) {
		if (s->entries[i].type == UNIT_EVENTS || s->entries[i].type == UNIT_KEYFRAME)
			continue;
		err = read_unit_at(r, s->entries[i].at, i);
		if (!err)
			err = reader_take(r);
	}
	if (!err)
		err = read_unit_at(r, s->entries[entry].at, entry);
	return err ? err : take_live(r, keyframe);
}

int mst_reader_seek(struct mst_reader *r, bool (*will_do)(const struct mst_keyframe *, void *), void *context,
		    struct mst_keyframe *keyframe)
{
	const uint64_t here = r->input.offset;
	struct seeking s = { .reader = r };
	uint32_t entry;
	int got;

	if (r->state != 1 || r->ahead.coming != 1 || r->ahead.header_read || r->place.record ||
	    ahead_first(r->ahead.chunks) || r->delivered || r->file.info.initial_state ||
	    !find_start(r, &s.start))
		return 0;
	r->input.jumping = true;
	got = read_index(&s);
	entry = got == 1 ? find_keyframe(&s, will_do, context) : s.n;
	if (got < 0 || entry == s.n) {
		/* Back to the place behind FILE, the only unit that has been read. */
		free(s.entries);
		r->unit.n = 1;
		r->input.jumping = false;
		return got < 0 ? got : input_go(&r->input, here);
	}
	got = begin_at(&s, entry, keyframe);
	free(s.entries);
	r->input.jumping = false;
	if (got < 0)
		return r->state = got;
	r->place.record = keyframe->records;
	r->place.alloc = keyframe->allocs;
	r->place.time = keyframe->time;
	r->place.instructions = keyframe->instructions;
	r->place.gap = true;
	reader_know(r);
	return 1;
}

bool mst_reader_peek_end(struct mst_reader *r, struct mst_end *end)
{
	struct seeking s = { .reader = r };
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;

	if (!find_start(r, &s.start) || !peek_end(&s, bytes, &header))
		return false;
	*end = reader_unpack_end(header.fields);
	return true;
}
