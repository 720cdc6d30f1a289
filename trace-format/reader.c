/* SPDX-License-Identifier: MIT */
/*
 * The reader: takes units one by one, checks them, keeps the definitions, hands out chunks. It
 * stops for good at the first thing that is wrong; what it delivered before is sound.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "reader.h"
#include "steps.h"
#include "sums.h"
#include "wire.h"

#define FORMAT_VERSION 1u

/* ---- problems ---- */

int reader_fail(struct mst_reader *r, int error, const char *format, ...)
{
	va_list args;
	int n = snprintf(r->problem, sizeof(r->problem), "at byte %llu: ", (unsigned long long)r->unit_start);

	va_start(args, format);
	vsnprintf(r->problem + n, sizeof(r->problem) - (size_t)n, format, args);
	va_end(args);
	return error;
}

/* ---- units ---- */

static int read_column(struct mst_reader *r, const struct unit_header_column *info)
{
	struct column *column;
	const uint8_t *data;
	size_t size;
	int got = input_peek(&r->input, info->stored, &data);

	if (got < 0)
		return reader_fail(r, got, "cannot be read");
	if (got == 0)
		return reader_fail(r, MST_ERR_TRUNCATED, "the file ends inside a unit");
	if (info->id >= UNIT_KNOWN_COLUMNS || info->codec != UNIT_ZSTD) {
		/* A column or codec from the future: absent, for us. */
		input_skip(&r->input, info->stored);
		return 0;
	}
	column = &r->columns[info->id];
	DAMAGED_IF(column->present, "column %u occurs twice", info->id);
	if (column->capacity < info->raw) {
		uint8_t *grown = realloc(column->data, info->raw);

		if (!grown)
			return reader_fail(r, MST_ERR_NOMEM, "no memory for a column");
		column->data = grown;
		column->capacity = info->raw;
	}
	size = ZSTD_decompressDCtx(r->zstd, column->data, info->raw, data, info->stored);
	DAMAGED_IF(ZSTD_isError(size) || size != info->raw, "column %u cannot be decompressed", info->id);
	column->size = size;
	column->present = true;
	input_skip(&r->input, info->stored);
	return 0;
}

/* Reads header and columns of the next unit: 1, 0 at the end of the input, or an error. */
static int read_unit(struct mst_reader *r)
{
	const uint8_t *data;
	const char *wrong;
	uint32_t size;
	int got;

	r->unit_start = r->input.offset;
	got = input_peek(&r->input, UNIT_PREFIX, &data);
	if (got < 0)
		return reader_fail(r, got, "cannot be read");
	if (got == 0) {
		if (input_left(&r->input) == 0)
			return 0;
		return reader_fail(r, MST_ERR_TRUNCATED, "the file ends inside a unit");
	}
	size = wire_u32(data + 4);
	DAMAGED_IF(wire_u32(data) != UNIT_MAGIC || size > UNIT_HEADER_MAX, "no unit where one was expected");
	got = input_peek(&r->input, UNIT_PREFIX + size, &data);
	if (got < 0)
		return reader_fail(r, got, "cannot be read");
	if (got == 0)
		return reader_fail(r, MST_ERR_TRUNCATED, "the file ends inside a unit");
	memcpy(r->header_bytes, data + UNIT_PREFIX, size);
	input_skip(&r->input, UNIT_PREFIX + size);
	wrong = unit_parse(r->header_bytes, size, &r->header);
	DAMAGED_IF(wrong, "%s", wrong);
	DAMAGED_IF(r->header.seq != r->n_units, "a unit is missing");
	r->n_units++;

	for (uint32_t i = 0; i < UNIT_KNOWN_COLUMNS; i++)
		r->columns[i].present = false;
	for (uint32_t i = 0; i < r->header.n_columns; i++) {
		const int err = read_column(r, &r->header.columns[i]);

		if (err)
			return err;
	}
	return 1;
}

/* Most often the names have been read beforehand, as far as they are sound. */
static int read_names(struct mst_reader *r)
{
	struct names_column columns[3] = { { NULL, 0 } };
	const char *wrong;

	if (r->names_units++ < r->names.units)
		return 0;
	for (uint32_t i = 0; i < 3; i++)
		if (r->columns[i].present)
			columns[i] = (struct names_column){ r->columns[i].data, r->columns[i].size };
	wrong = names_take(&r->names, &r->header, columns);
	if (!wrong)
		return 0;
	return *wrong ? reader_fail(r, MST_ERR_DAMAGED, "%s", wrong)
		      : reader_fail(r, MST_ERR_NOMEM, "no memory for names");
}

static int read_end(struct mst_reader *r)
{
	const uint8_t *f = r->header.fields;

	DAMAGED_IF(r->header.fields_size < FIELDS_END, "the END unit lacks fields");
	DAMAGED_IF(r->names.n_frames && r->names.frames[r->names.n_frames - 1].frame >= r->frames.n,
		   "names of a frame that isn't there");
	r->end = (struct mst_end){
		.reason = (uint8_t)wire_u32(f),
		.detail = wire_u32(f + 4),
		.time_ns = wire_u64(f + 8),
		.events = wire_u64(f + 16),
		.lost = wire_u64(f + 24),
		.unknown_frees = wire_u64(f + 32),
		.implied_frees = wire_u64(f + 40),
	};
	r->ended = true;
	return 0;
}

/* ---- chunks ---- */

static int read_symbols(struct mst_reader *r)
{
	const struct mst_kind *kinds = r->kinds.items;
	struct cursor symbols = column_cursor(r, COLUMN_SYMBOLS), counts = column_cursor(r, COLUMN_COUNTS);
	uint64_t delta, count, symbol = 0;

	for (uint32_t i = 0; i < r->chunk.n_symbols; i++) {
		DAMAGED_IF(!take_varint(&symbols, &delta) || !take_varint(&counts, &count),
			   "a symbol is malformed");
		symbol += (uint64_t)wire_unzigzag(delta);
		DAMAGED_IF(symbol >> 3 >= r->kinds.n || (symbol & 7) > MST_KEEP || count > r->chunk.n_records,
			   "a symbol is impossible");
		r->symbols[i] = (struct mst_symbol){
			.kind = (uint32_t)(symbol >> 3),
			.role = symbol & 7,
			.paged = (symbol & 7) == MST_CALL && mst_op_is_page(kinds[symbol >> 3].op),
			.count = (uint32_t)count,
		};
	}
	return 0;
}

/*
 * Expands the record column and proves what later loops rely on: every number names a symbol, an
 * OUT is followed by an ALLOC or CALL, a KEEP by a CALL, and the counts are true.
 */
static int read_records(struct mst_reader *r)
{
	const struct column *c = &r->columns[COLUMN_RECORDS];
	const uint32_t n = r->chunk.n_records, n_symbols = r->chunk.n_symbols;
	const bool narrow = n_symbols <= 256;
	uint32_t before = MST_ALLOC;

	DAMAGED_IF(n && (!c->present || c->size != (size_t)n * (narrow ? 1 : 2)),
		   "the record column has the wrong size");
	memset(r->seen, 0, n_symbols * sizeof(*r->seen));
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t number =
			narrow ? c->data[i] : c->data[2 * i] | (uint32_t)c->data[2 * i + 1] << 8;
		uint32_t role;

		DAMAGED_IF(number >= n_symbols, "a record is impossible");
		role = r->symbols[number].role;
		DAMAGED_IF((before == MST_OUT && role != MST_ALLOC && role != MST_CALL) ||
				   (before == MST_KEEP && role != MST_CALL),
			   "half a call is missing");
		r->records[i] = (uint16_t)number;
		r->seen[number]++;
		before = role;
	}
	DAMAGED_IF(before == MST_OUT || before == MST_KEEP, "half a call is missing");
	for (uint32_t i = 0; i < n_symbols; i++)
		DAMAGED_IF(r->seen[i] != r->symbols[i].count, "the counts of a chunk are not true");
	return 0;
}

/* How many records of the chunk have the given role. */
static uint32_t count_role(const struct mst_reader *r, enum mst_role role)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->chunk.n_symbols; i++) {
		if (r->symbols[i].role == (uint32_t)role)
			n += r->symbols[i].count;
	}
	return n;
}

static int read_times(struct mst_reader *r, uint64_t first)
{
	struct cursor c = column_cursor(r, COLUMN_TIME);
	uint64_t skip, delta;

	DAMAGED_IF(first < r->time, "time goes back");
	r->chunk.n_stamps = 1;
	r->stamps[0] = (struct mst_stamp){ .record = 0, .time = first };
	while (c.p != c.end) {
		struct mst_stamp last = r->stamps[r->chunk.n_stamps - 1];

		DAMAGED_IF(!take_varint(&c, &skip) || !take_varint(&c, &delta) || skip == 0 ||
				   skip >= r->chunk.n_records - last.record || delta > UINT64_MAX - last.time,
			   "the time column is malformed");
		last.record += (uint32_t)skip;
		last.time += delta;
		r->stamps[r->chunk.n_stamps++] = last;
	}
	r->time = r->stamps[r->chunk.n_stamps - 1].time;
	return 0;
}

static int read_runs(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, COLUMN_THREAD);
	uint64_t skip, thread;

	r->chunk.n_runs = 0;
	while (c.p != c.end) {
		struct mst_run run = { 0 };

		DAMAGED_IF(!take_varint(&c, &skip) || !take_varint(&c, &thread) || thread >= r->threads.n,
			   "the thread column is malformed");
		if (r->chunk.n_runs) {
			run = r->runs[r->chunk.n_runs - 1];
			DAMAGED_IF(skip == 0 || skip >= r->chunk.n_records - run.record,
				   "the thread column is malformed");
		}
		run.record += (uint32_t)skip;
		run.thread = (uint32_t)thread;
		DAMAGED_IF(r->chunk.n_runs == 0 && run.record != 0, "the thread column is malformed");
		r->runs[r->chunk.n_runs++] = run;
	}
	DAMAGED_IF(r->chunk.n_records && r->chunk.n_runs == 0, "the thread column is missing");
	return 0;
}

static int read_identity(struct mst_reader *r)
{
	const uint32_t n_freed = count_role(r, MST_FREE) + count_role(r, MST_OUT) + count_role(r, MST_KEEP);
	struct cursor c = column_cursor(r, COLUMN_IDENTITY);
	uint64_t last = 0, delta;

	r->chunk.n_freed = 0;
	if (!r->columns[COLUMN_IDENTITY].present)
		return 0;
	for (uint32_t i = 0; i < n_freed; i++) {
		uint64_t index;

		DAMAGED_IF(!take_varint(&c, &delta), "the identity column is malformed");
		index = last + (uint64_t)wire_unzigzag(delta);
		DAMAGED_IF(index != UINT64_MAX && index >= r->next_alloc,
			   "a block is freed before it exists");
		r->freed[i] = index;
		if (index != UINT64_MAX)
			last = index;
	}
	r->chunk.n_freed = n_freed;
	return 0;
}

static int read_addresses(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, COLUMN_ADDRESSES);
	uint64_t *addresses, delta, last = 0;
	uint32_t n = 0;
	int err;

	for (uint32_t i = 0; i < r->chunk.n_symbols; i++) {
		if (r->symbols[i].paged)
			n += r->symbols[i].count;
	}
	r->chunk.n_addresses = n;
	r->addresses.n = 0;
	if ((err = reader_grow(r, &r->addresses, sizeof(*addresses), n, r->max_records)))
		return err;
	addresses = r->addresses.items;
	for (uint32_t i = 0; i < n; i++) {
		DAMAGED_IF(!take_varint(&c, &delta), "the column of addresses is malformed");
		last += (uint64_t)wire_unzigzag(delta);
		addresses[i] = last;
	}
	return 0;
}

static bool is_base(const struct mst_reader *r)
{
	return r->info.base && wire_u32(r->header.fields + EVENTS_FLAGS_AT) & EVENTS_BASE;
}

/* A base comes before all else; what follows begins where it ends. */
static int look_at_base(struct mst_reader *r, bool base)
{
	DAMAGED_IF(base && !r->in_base, "a base in the midst of a trace");
	r->chunk.base = base;
	if (!base && r->in_base && r->time < r->begin)
		r->time = r->begin;
	r->in_base = base;
	return 0;
}

/* 1 if the chunk that was read is what one of its sort can be. */
static int check_base(struct mst_reader *r)
{
	const struct mst_chunk *chunk = &r->chunk;

	if (!chunk->base)
		return 1;
	DAMAGED_IF(r->time > r->begin, "a base of what was later");
	DAMAGED_IF(chunk->sums.null_frees, "calls in a base");
	for (uint32_t i = 0; i < chunk->n_symbols; i++)
		DAMAGED_IF(chunk->symbols[i].role != MST_ALLOC && chunk->symbols[i].role != MST_CALL,
			   "calls in a base");
	return 1;
}

static int read_chunk(struct mst_reader *r)
{
	const uint8_t *f = r->header.fields;
	struct mst_chunk *chunk = &r->chunk;
	const char *wrong;
	int err;

	DAMAGED_IF(r->header.fields_size < FIELDS_EVENTS, "an EVENTS unit lacks fields");
	chunk->first_record = wire_u64(f);
	chunk->first_alloc = wire_u64(f + 8);
	chunk->n_records = wire_u32(f + 32);
	chunk->n_symbols = wire_u32(f + 36);
	DAMAGED_IF(chunk->n_records > r->max_records || chunk->n_symbols > MST_MAX_SYMBOLS ||
			   (chunk->n_symbols > chunk->n_records && !is_base(r)),
		   "an EVENTS unit is larger than the format allows");
	DAMAGED_IF(chunk->first_record != r->next_record || chunk->first_alloc != r->next_alloc,
		   "a chunk is missing");
	chunk->sums = sums_unpack(f + 48);
	if ((err = look_at_base(r, is_base(r))))
		return err;
	if ((err = read_symbols(r)) || (err = read_records(r)) || (err = read_times(r, wire_u64(f + 16))) ||
	    (err = read_runs(r)))
		return err;
	r->next_record += chunk->n_records;
	r->next_alloc += count_role(r, MST_ALLOC);
	if ((err = read_identity(r)) || (err = read_addresses(r)))
		return err;
	chunk->symbols = r->symbols;
	chunk->records = r->records;
	chunk->stamps = r->stamps;
	chunk->runs = r->runs;
	chunk->freed = r->freed;
	chunk->addresses = r->addresses.items;
	wrong = r->instructions ? counts_take(r) : NULL;
	DAMAGED_IF(wrong, "%s", wrong);
	chunk->instructions = r->instructions;
	wrong = steps_check(r);
	DAMAGED_IF(wrong, "%s", wrong);
	return check_base(r);
}

/* ---- the stream ---- */

/* 1 = a chunk, 0 = the proper end, 2 = go on, else an error. */
static int read_next(struct mst_reader *r)
{
	int got = read_unit(r), err = 0;

	if (got < 0)
		return got;
	if (got == 0)
		return r->ended ? 0 : reader_fail(r, MST_ERR_TRUNCATED, "the file has no end mark");
	DAMAGED_IF(r->ended, "something follows the end mark");
	switch (r->header.type) {
	case UNIT_EVENTS:
		return read_chunk(r);
	case UNIT_STACKS:
		err = reader_take_stacks(r);
		break;
	case UNIT_KINDS:
		err = reader_take_kinds(r);
		break;
	case UNIT_MODULES:
		err = reader_take_modules(r);
		break;
	case UNIT_THREADS:
		err = reader_take_threads(r);
		break;
	case UNIT_NAMES:
		err = read_names(r);
		break;
	case UNIT_END:
		err = read_end(r);
		break;
	case UNIT_FILE:
		return reader_fail(r, MST_ERR_DAMAGED, "a second FILE unit");
	default:
		if (r->header.flags & UNIT_CRITICAL)
			return reader_fail(r, MST_ERR_VERSION, "a unit of unknown type %u", r->header.type);
	}
	return err ? err : 2;
}

int mst_reader_next(struct mst_reader *r, const struct mst_chunk **chunk)
{
	int got = r->state;

	if (got == 1) {
		do
			got = read_next(r);
		while (got == 2);
		if (got != 1)
			r->state = got;
	}
	*chunk = got == 1 ? &r->chunk : NULL;
	return got;
}

/* ---- the FILE unit ---- */

static int read_info_text(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	const uint32_t n = 3 + r->info.argc;

	DAMAGED_IF(r->info.argc > MST_MAX_ARGS, "more arguments than the format allows");
	r->text = calloc(n, sizeof(*r->text));
	if (!r->text)
		return reader_fail(r, MST_ERR_NOMEM, "no memory");
	for (; r->n_text < n; r->n_text++)
		DAMAGED_IF(!c.p || !take_text(&c, &r->text[r->n_text]), "the FILE unit is malformed");
	r->info.recorder = r->text[0];
	r->info.exe = r->text[1];
	r->info.cwd = r->text[2];
	r->info.argv = (const char *const *)r->text + 3;
	return 0;
}

static int read_file_unit(struct mst_reader *r)
{
	const uint8_t *f = r->header.fields;

	DAMAGED_IF(r->header.fields_size < FIELDS_FILE, "the FILE unit lacks fields");
	if (wire_u32(f) != FORMAT_VERSION)
		return reader_fail(r, MST_ERR_VERSION, "version %u, this program reads %u", wire_u32(f),
				   FORMAT_VERSION);
	if (wire_u32(f + 4) & ~(uint32_t)(FEATURE_SAMPLED | FEATURE_BASE | FEATURE_LARGE))
		return reader_fail(r, MST_ERR_VERSION, "features that this program lacks (%#x)",
				   wire_u32(f + 4));
	if (wire_u32(f + 4) & FEATURE_SAMPLED) {
		DAMAGED_IF(r->header.fields_size < FIELDS_FILE_SAMPLED, "the FILE unit lacks fields");
		r->info.sample_bytes = wire_u64(f + 48);
		DAMAGED_IF(r->info.sample_bytes < MST_SAMPLE_MIN || r->info.sample_bytes > MST_SAMPLE_MAX,
			   "an impossible sample");
	}
	r->time_shift = wire_u32(f + 8);
	DAMAGED_IF(r->time_shift > MST_MAX_TIME_SHIFT, "an impossible time unit");
	r->info.machine = (uint16_t)wire_u32(f + 12);
	r->info.page_size = wire_u32(f + 16);
	r->info.pid = wire_u32(f + 20);
	r->info.parent_pid = wire_u32(f + 24);
	r->info.argc = wire_u32(f + 28);
	r->info.start_ns = wire_u64(f + 32);
	r->info.pages = wire_u64(f + FILE_FEATURES_AT) & FEATURE_PAGES;
	r->max_records = wire_u32(f + 4) & FEATURE_LARGE ? MST_MAX_LARGE_RECORDS : MST_MAX_CHUNK_RECORDS;
	if (wire_u32(f + 4) & FEATURE_BASE) {
		DAMAGED_IF(r->header.fields_size < FIELDS_FILE_BASE, "the FILE unit lacks fields");
		r->begin = wire_u64(f + 56);
		DAMAGED_IF(r->begin > UINT64_MAX >> r->time_shift, "an impossible beginning");
		r->info.base = r->in_base = true;
		r->info.begin_ns = r->begin << r->time_shift;
	}
	return read_info_text(r);
}

/* What the trace says that it has; makes room for counts. */
static int read_features(struct mst_reader *r)
{
	const uint64_t features = wire_u64(r->header.fields + FILE_FEATURES_AT);

	r->info.instructions = features & FEATURE_INSTRUCTIONS;
	r->info.stacks = features & FEATURE_STACKS;
	r->info.exact = features & FEATURE_EXACT;
	if (!r->info.instructions)
		return 0;
	r->instructions = malloc(r->max_records * sizeof(*r->instructions));
	return r->instructions ? 0 : reader_fail(r, MST_ERR_NOMEM, "no memory");
}

/* The names of a trace stand behind its records; who replays these wants them before. */
static int look_ahead(struct mst_reader *r)
{
	uint64_t position;
	int err = input_seekable(&r->input, &position);

	if (!err)
		names_scan(&r->names, r->input.fd, position);
	return err ? reader_fail(r, err, "cannot be copied to a temporary file") : 0;
}

static int open_trace(struct mst_reader *r)
{
	const uint8_t *data;
	int got = input_peek(&r->input, UNIT_PREFIX + UNIT_FIXED, &data);

	if (got < 0)
		return got;
	if (got == 0)
		return MST_ERR_NOT_A_TRACE;
	if (wire_u32(data) != UNIT_MAGIC || wire_u32(data + UNIT_PREFIX) != UNIT_TAG ||
	    data[UNIT_PREFIX + 4] != UNIT_FILE)
		return MST_ERR_NOT_A_TRACE;
	got = read_unit(r);
	if (got < 0 || (got = read_file_unit(r)) || (got = read_features(r)))
		return got;
	return wire_u64(r->header.fields + FILE_FEATURES_AT) & FEATURE_NAMES ? look_ahead(r) : 0;
}

static int seed_definitions(struct mst_reader *r)
{
	int err;

	if ((err = reader_grow(r, &r->kinds, sizeof(struct mst_kind), 1, 1)) ||
	    (err = reader_grow(r, &r->stacks, sizeof(struct mst_stack), 1, 1)) ||
	    (err = reader_grow(r, &r->depths, sizeof(uint16_t), 1, 1)))
		return err;
	((struct mst_kind *)r->kinds.items)[r->kinds.n++] = (struct mst_kind){ .op = MST_OP_UNKNOWN };
	((struct mst_stack *)r->stacks.items)[r->stacks.n++] = (struct mst_stack){ MST_ROOT_STACK, MST_NONE };
	((uint16_t *)r->depths.items)[r->depths.n++] = 0;
	return 0;
}

/* For the largest chunk that there can be; what isn't touched takes no memory. */
static int make_room(struct mst_reader *r)
{
	const size_t n = r->max_records;

	r->symbols = malloc(MST_MAX_SYMBOLS * sizeof(*r->symbols));
	r->seen = malloc(MST_MAX_SYMBOLS * sizeof(*r->seen));
	r->records = malloc(n * sizeof(*r->records));
	r->stamps = malloc(n * sizeof(*r->stamps));
	r->runs = malloc(n * sizeof(*r->runs));
	r->freed = malloc(n * sizeof(*r->freed));
	return r->symbols && r->seen && r->records && r->stamps && r->runs && r->freed ? 0 : MST_ERR_NOMEM;
}

int mst_reader_create(struct mst_reader **reader, int fd)
{
	struct mst_reader *r = calloc(1, sizeof(*r));
	int err;

	*reader = NULL;
	if (!r)
		return MST_ERR_NOMEM;
	r->state = 1;
	input_init(&r->input, fd);
	r->zstd = ZSTD_createDCtx();
	err = r->zstd ? 0 : MST_ERR_NOMEM;
	if (err || (err = seed_definitions(r)) || (err = open_trace(r)) || (err = make_room(r))) {
		mst_reader_destroy(r);
		return err;
	}
	*reader = r;
	return 0;
}

void mst_reader_destroy(struct mst_reader *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n_text; i++)
		free(r->text[i]);
	free(r->text);
	for (uint32_t i = 0; i < r->modules.n; i++)
		free((char *)((struct mst_module *)r->modules.items)[i].path);
	free(r->kinds.items);
	free(r->stacks.items);
	free(r->depths.items);
	free(r->frames.items);
	free(r->modules.items);
	free(r->threads.items);
	names_finish(&r->names);
	for (size_t i = 0; i < UNIT_KNOWN_COLUMNS; i++)
		free(r->columns[i].data);
	free(r->symbols);
	free(r->seen);
	free(r->records);
	free(r->stamps);
	free(r->runs);
	free(r->freed);
	free(r->instructions);
	free(r->addresses.items);
	ZSTD_freeDCtx(r->zstd);
	input_finish(&r->input);
	free(r);
}
