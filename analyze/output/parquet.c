/* SPDX-License-Identifier: MIT */
#include "parquet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#define GROUP_ROWS 65536u
#define GROUP_BYTES ((size_t)64 << 20) /* of one column: long texts make smaller groups */
#define LEVEL 3
#define MAGIC "PAR1"

struct buffer {
	unsigned char *bytes;
	size_t n, room;
};

struct column {
	struct buffer values;
	unsigned char present[GROUP_ROWS / 8]; /* a bit for each row */
};

struct parquet {
	struct out *out;
	const struct parquet_column *columns;
	unsigned n_columns, column;
	struct column *data;
	uint32_t rows; /* complete ones of the present group */
	uint64_t all_rows, offset;
	struct buffer groups; /* metadata of the written groups, for the end of the file */
	uint32_t n_groups;
	struct buffer page, packed;
	ZSTD_CCtx *zstd;
};

static void fail(struct parquet *p)
{
	out_fail(p->out, ENOMEM);
}

static void append(struct parquet *p, struct buffer *b, const void *bytes, size_t n)
{
	assert(b->n <= b->room);
	if (n > b->room - b->n) {
		const size_t room = (b->n + n) * 2 + 256;
		unsigned char *grown = realloc(b->bytes, room);
		if (!grown) {
			fail(p);
			return;
		}
		b->bytes = grown;
		b->room = room;
	}
	if (n)
		memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
}

static void put(struct parquet *p, const void *bytes, size_t n)
{
	out_write(p->out, bytes, n);
	p->offset += n;
}

static void append_u32(struct parquet *p, struct buffer *b, uint32_t value)
{
	const unsigned char bytes[] = { (unsigned char)value, (unsigned char)(value >> 8),
					(unsigned char)(value >> 16), (unsigned char)(value >> 24) };
	append(p, b, bytes, sizeof(bytes));
}

/* ---- Headers, in Thrift's compact protocol ---- */

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

static void append_varint(struct parquet *p, struct buffer *b, uint64_t value)
{
	unsigned char bytes[10];
	size_t n = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (unsigned char)(value | 0x80);
	bytes[n++] = (unsigned char)value;
	append(p, b, bytes, n);
}

static void append_byte(struct parquet *p, struct buffer *b, unsigned byte)
{
	append(p, b, &(unsigned char){ (unsigned char)byte }, 1);
}

/* A field's number is encoded as its distance from the last field's, in 4 bits. */
static void append_field(struct parquet *p, struct buffer *b, unsigned *last, unsigned field,
			 enum thrift_type type)
{
	assert(field > *last && field - *last <= 15);
	append_byte(p, b, (field - *last) << 4 | (unsigned)type);
	*last = field;
}

static void append_int(struct parquet *p, struct buffer *b, unsigned *last, unsigned field,
		       enum thrift_type type, uint64_t value)
{
	append_field(p, b, last, field, type);
	append_varint(p, b, value << 1); /* zigzag of a non-negative number */
}

static void append_string(struct parquet *p, struct buffer *b, const char *text)
{
	append_varint(p, b, strlen(text));
	append(p, b, text, strlen(text));
}

static void append_list(struct parquet *p, struct buffer *b, enum thrift_type type, uint32_t n)
{
	append_byte(p, b, (n < 15 ? n << 4 : 0xf0u) | (unsigned)type);
	if (n >= 15)
		append_varint(p, b, n);
}

static void append_stop(struct parquet *p, struct buffer *b)
{
	append_byte(p, b, 0);
}

/* ---- Row groups ---- */

enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { OPTIONAL = 1 };
enum { CONVERTED_UTF8 = 0 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3 };
enum { CODEC_ZSTD = 6 };
enum { DATA_PAGE = 0 };

static unsigned type_of(const struct parquet_column *column)
{
	return column->text ? TYPE_BYTE_ARRAY : TYPE_INT64;
}

/* Fills the page: one bit-packed run of which rows have a value, then the values. */
static void make_page(struct parquet *p, const struct column *column)
{
	const uint32_t groups = (p->rows + 7) / 8;
	struct buffer run = { 0 };
	assert(groups <= sizeof(column->present));
	append_varint(p, &run, (uint64_t)groups << 1 | 1);
	append(p, &run, column->present, groups);
	p->page.n = 0;
	append_u32(p, &p->page, (uint32_t)run.n);
	append(p, &p->page, run.bytes, run.n);
	append(p, &p->page, column->values.bytes, column->values.n);
	free(run.bytes);
}

static bool pack_page(struct parquet *p)
{
	const size_t most = ZSTD_compressBound(p->page.n);
	if (most > p->packed.room) {
		unsigned char *grown = realloc(p->packed.bytes, most);
		if (!grown)
			return false;
		p->packed.bytes = grown;
		p->packed.room = most;
	}
	p->packed.n =
		ZSTD_compressCCtx(p->zstd, p->packed.bytes, p->packed.room, p->page.bytes, p->page.n, LEVEL);
	return !ZSTD_isError(p->packed.n);
}

static void append_page_header(struct parquet *p, struct buffer *b)
{
	unsigned last = 0, inner = 0;
	append_int(p, b, &last, 1, THRIFT_I32, DATA_PAGE);
	append_int(p, b, &last, 2, THRIFT_I32, p->page.n);
	append_int(p, b, &last, 3, THRIFT_I32, p->packed.n);
	append_field(p, b, &last, 5, THRIFT_STRUCT);
	append_int(p, b, &inner, 1, THRIFT_I32, p->rows);
	append_int(p, b, &inner, 2, THRIFT_I32, ENCODING_PLAIN);
	append_int(p, b, &inner, 3, THRIFT_I32, ENCODING_RLE);
	append_int(p, b, &inner, 4, THRIFT_I32, ENCODING_RLE);
	append_stop(p, b);
	append_stop(p, b);
}

/* Appends the metadata of a column's part of the group. */
static void append_chunk(struct parquet *p, const struct parquet_column *column, uint64_t offset,
			 uint64_t plain, uint64_t packed)
{
	struct buffer *b = &p->groups;
	unsigned last = 0, inner = 0;
	append_int(p, b, &last, 2, THRIFT_I64, offset);
	append_field(p, b, &last, 3, THRIFT_STRUCT);
	append_int(p, b, &inner, 1, THRIFT_I32, type_of(column));
	append_field(p, b, &inner, 2, THRIFT_LIST);
	append_list(p, b, THRIFT_I32, 2);
	append_varint(p, b, ENCODING_PLAIN << 1);
	append_varint(p, b, ENCODING_RLE << 1);
	append_field(p, b, &inner, 3, THRIFT_LIST);
	append_list(p, b, THRIFT_BINARY, 1);
	append_string(p, b, column->name);
	append_int(p, b, &inner, 4, THRIFT_I32, CODEC_ZSTD);
	append_int(p, b, &inner, 5, THRIFT_I64, p->rows);
	append_int(p, b, &inner, 6, THRIFT_I64, plain);
	append_int(p, b, &inner, 7, THRIFT_I64, packed);
	append_int(p, b, &inner, 9, THRIFT_I64, offset);
	append_stop(p, b);
	append_stop(p, b);
}

/* Returns the column's size before compression, in bytes. */
static uint64_t write_column(struct parquet *p, unsigned i)
{
	const uint64_t offset = p->offset;
	struct buffer header = { 0 };
	make_page(p, &p->data[i]);
	if (!pack_page(p)) {
		fail(p);
		return 0;
	}
	append_page_header(p, &header);
	put(p, header.bytes, header.n);
	put(p, p->packed.bytes, p->packed.n);
	append_chunk(p, &p->columns[i], offset, header.n + p->page.n, header.n + p->packed.n);
	const uint64_t plain = header.n + p->page.n;
	free(header.bytes);
	p->data[i].values.n = 0;
	memset(p->data[i].present, 0, sizeof(p->data[i].present));
	return plain;
}

static void write_group(struct parquet *p)
{
	unsigned last = 0;
	uint64_t bytes = 0;
	assert(p->column == 0 && p->rows > 0 && p->rows <= GROUP_ROWS);
	append_field(p, &p->groups, &last, 1, THRIFT_LIST);
	append_list(p, &p->groups, THRIFT_STRUCT, p->n_columns);
	for (unsigned i = 0; i < p->n_columns; i++)
		bytes += write_column(p, i);
	append_int(p, &p->groups, &last, 2, THRIFT_I64, bytes);
	append_int(p, &p->groups, &last, 3, THRIFT_I64, p->rows);
	append_stop(p, &p->groups);
	p->n_groups++;
	p->all_rows += p->rows;
	p->rows = 0;
}

/* ---- Values ---- */

static bool is_full(const struct parquet *p)
{
	if (p->rows == GROUP_ROWS)
		return true;
	for (unsigned i = 0; i < p->n_columns; i++) {
		if (p->data[i].values.n > GROUP_BYTES)
			return true;
	}
	return false;
}

static void next_column(struct parquet *p)
{
	if (++p->column < p->n_columns)
		return;
	p->column = 0;
	p->rows++;
	if (is_full(p))
		write_group(p);
}

static struct buffer *present(struct parquet *p)
{
	struct column *column = &p->data[p->column];
	assert(p->column < p->n_columns && p->rows < GROUP_ROWS);
	column->present[p->rows / 8] |= (unsigned char)(1u << p->rows % 8);
	return &column->values;
}

void parquet_number(struct parquet *p, uint64_t value)
{
	struct buffer *b = present(p);
	assert(!p->columns[p->column].text);
	append_u32(p, b, (uint32_t)value);
	append_u32(p, b, (uint32_t)(value >> 32));
	next_column(p);
}

void parquet_text(struct parquet *p, const char *text)
{
	struct buffer *b = present(p);
	const size_t n = strlen(text);
	assert(p->columns[p->column].text);
	append_u32(p, b, (uint32_t)n);
	append(p, b, text, n);
	next_column(p);
}

void parquet_nothing(struct parquet *p)
{
	next_column(p);
}

/* ---- Files ---- */

struct parquet *parquet_create(struct out *out, const struct parquet_column *columns)
{
	struct parquet *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->out = out;
	p->columns = columns;
	while (columns[p->n_columns].name)
		p->n_columns++;
	p->data = calloc(p->n_columns, sizeof(*p->data));
	p->zstd = ZSTD_createCCtx();
	if (!p->data || !p->zstd) {
		parquet_destroy(p);
		return NULL;
	}
	put(p, MAGIC, strlen(MAGIC));
	return p;
}

void parquet_destroy(struct parquet *p)
{
	if (!p)
		return;
	for (unsigned i = 0; p->data && i < p->n_columns; i++)
		free(p->data[i].values.bytes);
	free(p->data);
	free(p->groups.bytes);
	free(p->page.bytes);
	free(p->packed.bytes);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

static void append_schema(struct parquet *p, struct buffer *b)
{
	unsigned last = 0;
	append_list(p, b, THRIFT_STRUCT, p->n_columns + 1);
	append_field(p, b, &last, 4, THRIFT_BINARY); /* the root: its name, and how many columns it has */
	append_string(p, b, "table");
	append_int(p, b, &last, 5, THRIFT_I32, p->n_columns);
	append_stop(p, b);
	for (unsigned i = 0; i < p->n_columns; i++) {
		last = 0;
		append_int(p, b, &last, 1, THRIFT_I32, type_of(&p->columns[i]));
		append_int(p, b, &last, 3, THRIFT_I32, OPTIONAL);
		append_field(p, b, &last, 4, THRIFT_BINARY);
		append_string(p, b, p->columns[i].name);
		if (p->columns[i].text)
			append_int(p, b, &last, 6, THRIFT_I32, CONVERTED_UTF8);
		append_stop(p, b);
	}
}

void parquet_finish(struct parquet *p)
{
	struct buffer end = { 0 };
	unsigned last = 0;
	assert(p->column == 0);
	if (p->rows)
		write_group(p);
	append_int(p, &end, &last, 1, THRIFT_I32, 1);
	append_field(p, &end, &last, 2, THRIFT_LIST);
	append_schema(p, &end);
	append_int(p, &end, &last, 3, THRIFT_I64, p->all_rows);
	append_field(p, &end, &last, 4, THRIFT_LIST);
	append_list(p, &end, THRIFT_STRUCT, p->n_groups);
	append(p, &end, p->groups.bytes, p->groups.n);
	append_field(p, &end, &last, 6, THRIFT_BINARY);
	append_string(p, &end, "msconvert " MSREC_VERSION);
	append_stop(p, &end);
	const uint32_t size = (uint32_t)end.n;
	append_u32(p, &end, size);
	append(p, &end, MAGIC, strlen(MAGIC));
	put(p, end.bytes, end.n);
	free(end.bytes);
	parquet_destroy(p);
}
