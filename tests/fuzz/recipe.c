/* SPDX-License-Identifier: MIT */
#include "recipe.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "wire.h"

#define COLUMNS_MAX UNIT_KNOWN_COLUMNS
#define MENDED 0x40 /* among the flags */

/* The rest of the recipe. */
struct rest {
	const uint8_t *p, *end;
};

static uint8_t take_u8(struct rest *r)
{
	return r->p < r->end ? *r->p++ : 0;
}

static uint32_t take_u16(struct rest *r)
{
	const uint32_t low = take_u8(r);

	return low | (uint32_t)take_u8(r) << 8;
}

static void take_bytes(struct rest *r, struct bytes *out, size_t n)
{
	const size_t left = (size_t)(r->end - r->p);

	if (n > left)
		n = left;
	bytes_append(out, r->p, n);
	r->p += n;
}

static void cook_column(struct rest *r, struct bytes *out, uint32_t size, uint32_t repeat)
{
	take_bytes(r, out, size);
	for (uint32_t i = 0; i < repeat && out->size; i++)
		bytes_u8(out, out->data[out->size - 1]);
}

/* The index entries of the units so far, and the place of the last INDEX. */
struct shelf {
	struct bytes entries;
	uint32_t n;
	uint64_t time, index;
};

static void note_unit(struct shelf *shelf, uint8_t type, const struct bytes *fields, size_t size)
{
	bytes_u8(&shelf->entries, type);
	bytes_varint(&shelf->entries, size);
	if (type == UNIT_EVENTS && fields->size >= FIELDS_EVENTS) {
		bytes_varint(&shelf->entries, wire_u32(fields->data + 32));
		bytes_varint(&shelf->entries, wire_u64(fields->data + 16) - shelf->time);
		shelf->time = wire_u64(fields->data + 16);
	} else if (type == UNIT_EVENTS) {
		bytes_u8(&shelf->entries, 0);
		bytes_u8(&shelf->entries, 0);
	}
	shelf->n++;
}

static void mend(const struct shelf *shelf, uint8_t type, struct bytes *fields, struct bytes *column)
{
	if (type == UNIT_INDEX && fields->size >= 4) {
		wire_put_u32(fields->data, shelf->n);
		bytes_clear(column);
		bytes_append(column, shelf->entries.data, shelf->entries.size);
	}
	if (type == UNIT_END && fields->size >= FIELDS_END) {
		wire_put_u64(fields->data + 48, shelf->index);
		wire_put_u32(fields->data + fields->size - 4,
			     UNIT_PREFIX + UNIT_FIXED + (uint32_t)fields->size + 4);
	}
}

static void cook_unit(struct rest *r, ZSTD_CCtx *zstd, uint32_t seq, struct shelf *shelf, struct bytes *trace)
{
	const uint8_t type = take_u8(r), flags = take_u8(r);
	const uint32_t fields_size = take_u16(r) % (MST_MAX_FIELDS + 1), n = take_u8(r) % (COLUMNS_MAX + 1);
	const size_t start = trace->size;
	struct unit_column columns[COLUMNS_MAX];
	struct bytes fields = { 0 }, content[COLUMNS_MAX] = { 0 };
	uint32_t sizes[COLUMNS_MAX], repeats[COLUMNS_MAX];

	for (uint32_t i = 0; i < n; i++) {
		columns[i].id = take_u8(r);
		sizes[i] = take_u16(r);
		repeats[i] = take_u16(r);
	}
	take_bytes(r, &fields, fields_size);
	for (uint32_t i = 0; i < n; i++)
		cook_column(r, &content[i], sizes[i], repeats[i]);
	if (flags & MENDED && (n || type != UNIT_INDEX))
		mend(shelf, type, &fields, &content[0]);
	for (uint32_t i = 0; i < n; i++) {
		columns[i].data = content[i].data;
		columns[i].size = content[i].size;
	}
	if (unit_encode(trace, zstd, type, flags, seq, &fields, columns, n) != 0)
		abort();
	if (type == UNIT_INDEX)
		shelf->index = start;
	note_unit(shelf, type, &fields, trace->size - start);
	bytes_free(&fields);
	for (uint32_t i = 0; i < n; i++)
		bytes_free(&content[i]);
}

bool recipe_cook(struct bytes *trace, const uint8_t *data, size_t size)
{
	static ZSTD_CCtx *zstd;
	struct rest r = { data, data + size };
	struct shelf shelf = { 0 };

	if (size < 4 || wire_u32(data) != UNIT_TAG)
		return false;
	if (!zstd) {
		zstd = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, -5);
	}
	r.p += 4;
	for (uint32_t seq = 0; r.p < r.end; seq++)
		cook_unit(&r, zstd, seq, &shelf, trace);
	bytes_free(&shelf.entries);
	return true;
}

/* ---- the other way ---- */

static void put_u16(struct bytes *out, uint32_t v)
{
	if (v > UINT16_MAX)
		abort();
	bytes_u8(out, (uint8_t)v);
	bytes_u8(out, (uint8_t)(v >> 8));
}

static void put_content(struct bytes *out, const uint8_t *frame, const struct unit_header_column *column)
{
	uint8_t *at = bytes_reserve(out, column->raw);

	if (!at || ZSTD_decompress(at, column->raw, frame, column->stored) != column->raw)
		abort();
	out->size += column->raw;
}

/* Returns the size of the unit. */
static size_t put_unit(struct bytes *recipe, const uint8_t *unit)
{
	const uint32_t size = wire_u32(unit + 4);
	size_t at = UNIT_PREFIX + size;
	struct unit_header header;

	if (unit_parse(unit + UNIT_PREFIX, size, &header) || header.n_columns > COLUMNS_MAX)
		abort();
	bytes_u8(recipe, header.type);
	bytes_u8(recipe,
		 header.type == UNIT_INDEX || header.type == UNIT_END ? header.flags | MENDED : header.flags);
	put_u16(recipe, header.fields_size);
	bytes_u8(recipe, (uint8_t)header.n_columns);
	for (uint32_t i = 0; i < header.n_columns; i++) {
		bytes_u8(recipe, header.columns[i].id);
		put_u16(recipe, header.columns[i].raw);
		put_u16(recipe, 0);
	}
	bytes_append(recipe, header.fields, header.fields_size);
	for (uint32_t i = 0; i < header.n_columns; i++) {
		put_content(recipe, unit + at, &header.columns[i]);
		at += header.columns[i].stored;
	}
	return at;
}

void recipe_from_trace(struct bytes *recipe, const uint8_t *trace, size_t size)
{
	bytes_u32(recipe, UNIT_TAG);
	for (size_t at = 0; at < size;)
		at += put_unit(recipe, trace + at);
}
