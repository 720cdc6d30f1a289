/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "file.h"
#include "mst_limits.h"
#include "wire.h"

#define NO_MEMORY ""

void names_finish(struct names *names)
{
	for (uint32_t i = 0; i < names->n_blocks; i++)
		free(names->blocks[i]);
	free(names->blocks);
	free(names->texts);
	free(names->frames);
	free(names->names);
	*names = (struct names){ 0 };
}

/* Room for `n` more items. Arrays of millions of items grow by a quarter only. */
static bool reserve(void *items, uint32_t *capacity, size_t size, uint32_t n, uint64_t more)
{
	const uint64_t wanted = n + more;
	void *grown;

	if (wanted <= *capacity)
		return true;
	grown = reallocarray(*(void **)items, wanted + wanted / 4, size);
	if (!grown)
		return false;
	*(void **)items = grown;
	*capacity = (uint32_t)(wanted + wanted / 4);
	return true;
}

/* ---- a unit's columns ---- */

static const char *take_texts(struct names *names, uint32_t n, const struct names_column *column)
{
	const uint8_t *p = column->data, *end = p + column->size;
	char **blocks = reallocarray(names->blocks, names->n_blocks + 1, sizeof(*blocks));
	char *to;

	if (!blocks)
		return NO_MEMORY;
	names->blocks = blocks;
	to = malloc(column->size + 1);
	if (!to ||
	    !reserve(&names->texts, &names->texts_capacity, sizeof(*names->texts), names->n_texts, n)) {
		free(to);
		return NO_MEMORY;
	}
	blocks[names->n_blocks++] = to;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t size;

		/* A text has a byte or more of length in the column, and a NUL here. */
		p = wire_varint(p, end, &size);
		if (!p || size > MST_MAX_TEXT || size > (size_t)(end - p) || memchr(p, 0, size))
			return "a name's text is malformed";
		names->texts[names->n_texts++] = to;
		memcpy(to, p, size);
		to[size] = 0;
		to += size + 1;
		p += size;
	}
	return NULL;
}

static bool is_name(const struct names *names, const uint64_t v[4])
{
	return v[0] <= names->n_texts && v[1] <= names->n_texts && v[2] <= names->n_texts &&
	       v[3] <= INT32_MAX;
}

static const char *take_names(struct names *names, uint64_t n, const uint8_t **p, const uint8_t *end)
{
	if (n == 0 || n > MST_MAX_NAMES || n > MST_MAX_ALL_NAMES - names->n_names)
		return "an impossible number of names";
	/* A name has four bytes or more, so a false number alone allocates nothing. */
	if (n > (size_t)(end - *p) / 4)
		return "a name is malformed";
	if (!reserve(&names->names, &names->names_capacity, sizeof(*names->names), names->n_names, n))
		return NO_MEMORY;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v[4] = { 0 };

		for (size_t k = 0; k < 4 && *p; k++)
			*p = wire_varint(*p, end, &v[k]);
		if (!*p || !is_name(names, v))
			return "a name is malformed";
		names->names[names->n_names++] = (struct names_name){
			.function = (uint32_t)v[0],
			.directory = (uint32_t)v[1],
			.file = (uint32_t)v[2],
			.line = (uint32_t)v[3],
		};
	}
	return NULL;
}

static const char *take_frames(struct names *names, uint32_t n, const struct names_column *named,
			       const struct names_column *column)
{
	const uint8_t *p = named->data, *end = p + named->size;
	const uint8_t *q = column->data, *names_end = q + column->size;
	uint64_t frame = 0, delta, count;

	if (!reserve(&names->frames, &names->frames_capacity, sizeof(*names->frames), names->n_frames, n))
		return NO_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		const char *wrong;

		if (!(p = wire_varint(p, end, &delta)) || !(p = wire_varint(p, end, &count)) ||
		    delta >= MST_MAX_FRAMES || frame + delta >= MST_MAX_FRAMES)
			return "a named frame is malformed";
		frame += delta;
		if (names->n_frames && frame <= names->frames[names->n_frames - 1].frame)
			return "named frames are not in order";
		if ((wrong = take_names(names, count, &q, names_end)))
			return wrong;
		names->frames[names->n_frames++] = (struct names_frame){ (uint32_t)frame, names->n_names };
	}
	return NULL;
}

/* Adds the full names to the names from number `first` on. */
static const char *take_full_names(struct names *names, uint32_t first, const struct names_column *column)
{
	const uint8_t *p = column->data, *end = p + column->size;
	uint64_t text;

	for (uint32_t i = first; i < names->n_names; i++) {
		p = wire_varint(p, end, &text);
		if (!p || text > names->n_texts)
			return "a full name is malformed";
		names->names[i].full = (uint32_t)text;
	}
	return NULL;
}

/* Whether a column can hold `n` items of at least `bytes` each, which `limit` allows. */
static bool may_hold(const struct names_column *column, uint32_t n, size_t bytes, uint64_t limit)
{
	return n <= limit && (n == 0 || (column->data && column->size / bytes >= n));
}

const char *names_take(struct names *names, const struct unit_header *header,
		       const struct names_column columns[NAME_COLUMNS])
{
	const struct names before = *names;
	const uint8_t *f = header->fields;
	const char *wrong = NULL;
	uint32_t n_texts, n_frames;

	if (header->fields_size < FIELDS_NAMES)
		return "a NAMES unit lacks fields";
	if (wire_u32(f) != names->n_texts + 1)
		return "definitions are missing";
	n_texts = wire_u32(f + 4);
	n_frames = wire_u32(f + 8);
	if (!may_hold(&columns[COLUMN_TEXTS], n_texts, 1, MST_MAX_NAME_TEXTS - 1 - names->n_texts) ||
	    !may_hold(&columns[COLUMN_NAMED], n_frames, 2, MST_MAX_FRAMES - names->n_frames) ||
	    !may_hold(&columns[COLUMN_NAMES], n_frames, 4, MST_MAX_FRAMES))
		return "more definitions promised than there are";
	if (names->text_bytes + columns[COLUMN_TEXTS].size > MST_MAX_NAME_BYTES)
		return "more definitions than the format allows";
	names->text_bytes += columns[COLUMN_TEXTS].size;
	if (n_texts)
		wrong = take_texts(names, n_texts, &columns[COLUMN_TEXTS]);
	if (!wrong && n_frames)
		wrong = take_frames(names, n_frames, &columns[COLUMN_NAMED], &columns[COLUMN_NAMES]);
	if (!wrong && columns[COLUMN_FULL_NAMES].data)
		wrong = take_full_names(names, before.n_names, &columns[COLUMN_FULL_NAMES]);
	if (!wrong) {
		names->units++;
		return NULL;
	}
	names->n_texts = before.n_texts;
	names->n_frames = before.n_frames;
	names->n_names = before.n_names;
	return wrong;
}

/* ---- the scan ---- */

struct scan {
	int fd;
	uint64_t at;
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;
	uint64_t data; /* where the columns begin */
};

static bool scan_header(struct scan *scan)
{
	const uint32_t size = unit_read(scan->fd, scan->at, scan->bytes, &scan->header);

	if (!size)
		return false;
	scan->data = scan->at + UNIT_PREFIX + size;
	scan->at += unit_bytes(&scan->header, size);
	return true;
}

/* The content of a column, which the caller frees; NULL on any error. */
static uint8_t *scan_column(const struct scan *scan, const struct unit_header_column *info, uint64_t at)
{
	uint8_t *stored = malloc(info->stored + 1u), *raw = NULL;

	if (stored && file_read_at(scan->fd, at, stored, info->stored))
		raw = malloc(info->raw + 1u);
	if (raw && ZSTD_decompress(raw, info->raw, stored, info->stored) != info->raw) {
		free(raw);
		raw = NULL;
	}
	free(stored);
	return raw;
}

static bool scan_names(const struct scan *scan, struct names *names)
{
	struct names_column columns[NAME_COLUMNS] = { { NULL, 0 } };
	uint8_t *raw[NAME_COLUMNS] = { NULL };
	uint64_t at = scan->data;
	bool sound = true;

	for (uint32_t i = 0; i < scan->header.n_columns && sound; i++) {
		const struct unit_header_column *info = &scan->header.columns[i];

		if (info->id < NAME_COLUMNS && info->codec == UNIT_ZSTD) {
			sound = !raw[info->id] && (raw[info->id] = scan_column(scan, info, at));
			columns[info->id] = (struct names_column){ raw[info->id], info->raw };
		}
		at += info->stored;
	}
	sound = sound && !names_take(names, &scan->header, columns);
	for (size_t i = 0; i < NAME_COLUMNS; i++)
		free(raw[i]);
	return sound;
}

void names_scan(struct names *names, int fd, uint64_t start)
{
	struct scan scan = { .fd = fd, .at = start };
	bool sound = true;

	while (sound && scan_header(&scan))
		sound = scan.header.type != UNIT_NAMES || scan_names(&scan, names);
}

/* ---- answers ---- */

uint32_t names_of(const struct names *names, uint32_t frame, uint32_t *first)
{
	uint32_t lo = 0, hi = names->n_frames;

	/* Few frames have no names, so the entry is at or a little before index `frame`. */
	if (hi > frame)
		hi = frame + 1;
	for (uint32_t step = 1; step <= hi; step *= 2) {
		if (names->frames[hi - step].frame < frame) {
			lo = hi - step + 1;
			break;
		}
	}
	while (lo < hi) {
		const uint32_t middle = lo + (hi - lo) / 2;

		if (names->frames[middle].frame < frame)
			lo = middle + 1;
		else
			hi = middle;
	}
	if (lo == names->n_frames || names->frames[lo].frame != frame)
		return 0;
	*first = lo ? names->frames[lo - 1].end : 0;
	return names->frames[lo].end - *first;
}

static const char *text_at(const struct names *names, uint32_t number)
{
	return number ? names->texts[number - 1] : NULL;
}

struct mst_name names_at(const struct names *names, uint32_t i)
{
	const struct names_name *name = &names->names[i];

	return (struct mst_name){
		.function = text_at(names, name->function),
		.directory = text_at(names, name->directory),
		.file = text_at(names, name->file),
		.line = name->line,
		.full = text_at(names, name->full),
	};
}
