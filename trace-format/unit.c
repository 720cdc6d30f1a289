/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <assert.h>
#include <string.h>

#include "file.h"
#include "mstrace.h"
#include "wire.h"

static int compress_columns(struct bytes *out, ZSTD_CCtx *zstd, const struct unit_column *columns, size_t n,
			    uint32_t *stored)
{
	for (size_t i = 0; i < n; i++) {
		const size_t bound = ZSTD_compressBound(columns[i].size);
		uint8_t *at;
		size_t size;

		if (columns[i].size > MST_MAX_COLUMN_RAW)
			return MST_ERR_LIMIT;
		at = bytes_reserve(out, bound);
		if (!at)
			return MST_ERR_NOMEM;
		size = ZSTD_compress2(zstd, at, bound, columns[i].data, columns[i].size);
		if (ZSTD_isError(size))
			return MST_ERR_NOMEM;
		out->size += size;
		stored[i] = (uint32_t)size;
	}
	return 0;
}

static uint8_t *put_header(uint8_t *p, uint8_t type, uint8_t flags, uint32_t seq, const struct bytes *fields,
			   size_t n)
{
	wire_put_u32(p, UNIT_TAG);
	p[4] = type;
	p[5] = flags;
	p[6] = (uint8_t)n;
	p[7] = 0;
	wire_put_u32(p + 8, seq);
	wire_put_u32(p + 12, (uint32_t)fields->size);
	if (fields->size)
		memcpy(p + UNIT_FIXED, fields->data, fields->size);
	return p + UNIT_FIXED + fields->size;
}

int unit_encode(struct bytes *out, ZSTD_CCtx *zstd, uint8_t type, uint8_t flags, uint32_t seq,
		const struct bytes *fields, const struct unit_column *columns, size_t n)
{
	const size_t start = out->size;
	struct unit_column present[MST_MAX_COLUMNS];
	uint32_t stored[MST_MAX_COLUMNS];
	size_t n_present = 0, header_size;
	uint8_t *header, *p;
	int err;

	assert(n <= MST_MAX_COLUMNS);
	for (size_t i = 0; i < n; i++) {
		if (columns[i].size)
			present[n_present++] = columns[i];
	}
	if (fields->failed)
		return MST_ERR_NOMEM;
	header_size = UNIT_FIXED + fields->size + n_present * UNIT_COLUMN + 4;
	if (!bytes_reserve(out, UNIT_PREFIX + header_size))
		return MST_ERR_NOMEM;
	out->size += UNIT_PREFIX + header_size;

	err = compress_columns(out, zstd, present, n_present, stored);
	if (err) {
		out->size = start;
		return err;
	}

	/* The header comes last, because it lists the sizes of the compressed columns. */
	header = out->data + start;
	wire_put_u32(header, UNIT_MAGIC);
	wire_put_u32(header + 4, (uint32_t)header_size);
	header += UNIT_PREFIX;
	p = put_header(header, type, flags, seq, fields, n_present);
	for (size_t i = 0; i < n_present; i++, p += UNIT_COLUMN) {
		p[0] = present[i].id;
		p[1] = UNIT_ZSTD;
		p[2] = p[3] = 0;
		wire_put_u32(p + 4, stored[i]);
		wire_put_u32(p + 8, (uint32_t)present[i].size);
	}
	if (type == UNIT_EVENTS && fields->size >= EVENTS_CHECK_AT + 4)
		wire_put_u32(
			header + UNIT_FIXED + EVENTS_CHECK_AT,
			unit_crc(0, header + header_size, out->size - start - UNIT_PREFIX - header_size));
	assert(p == header + header_size - 4);
	wire_put_u32(p, unit_crc(0, header, header_size - 4));
	return 0;
}

const char *unit_parse(const uint8_t *data, size_t size, struct unit_header *header)
{
	const uint8_t *p;

	if (size < UNIT_FIXED + 4 || size > UNIT_HEADER_MAX)
		return "impossible size of a unit's header";
	if (wire_u32(data) != UNIT_TAG)
		return "no unit where one was expected";
	if (unit_crc(0, data, size - 4) != wire_u32(data + size - 4))
		return "checksum of a unit's header differs";
	header->type = data[4];
	header->flags = data[5];
	header->n_columns = data[6];
	header->seq = wire_u32(data + 8);
	header->fields_size = wire_u32(data + 12);
	header->fields = data + UNIT_FIXED;
	if (header->n_columns > MST_MAX_COLUMNS || header->fields_size > MST_MAX_FIELDS)
		return "a unit's header is beyond the format's limits";
	if (size != UNIT_FIXED + header->fields_size + header->n_columns * UNIT_COLUMN + 4)
		return "a unit's header contradicts itself";

	p = header->fields + header->fields_size;
	for (uint32_t i = 0; i < header->n_columns; i++, p += UNIT_COLUMN) {
		header->columns[i].id = p[0];
		header->columns[i].codec = p[1];
		header->columns[i].stored = wire_u32(p + 4);
		header->columns[i].raw = wire_u32(p + 8);
		if (header->columns[i].stored > MST_MAX_COLUMN_STORED ||
		    header->columns[i].raw > MST_MAX_COLUMN_RAW)
			return "a column is larger than the format allows";
	}
	return NULL;
}

uint32_t unit_read(int fd, uint64_t at, uint8_t bytes[UNIT_HEADER_MAX], struct unit_header *header)
{
	uint8_t prefix[UNIT_PREFIX];
	uint32_t size;

	if (!file_read_at(fd, at, prefix, sizeof(prefix)) || wire_u32(prefix) != UNIT_MAGIC)
		return 0;
	size = wire_u32(prefix + 4);
	if (size > UNIT_HEADER_MAX || !file_read_at(fd, at + UNIT_PREFIX, bytes, size) ||
	    unit_parse(bytes, size, header))
		return 0;
	return size;
}
