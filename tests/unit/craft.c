/* SPDX-License-Identifier: MIT */
#include "craft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mstrace.h"
#include "trace_model.h"
#include "unit.h"
#include "wire.h"

void craft_set(struct bytes *bytes, const void *data, size_t n)
{
	bytes_clear(bytes);
	bytes_append(bytes, data, n);
}

void craft_words(struct bytes *bytes, const uint32_t *words, size_t n)
{
	bytes_clear(bytes);
	for (size_t i = 0; i < n; i++)
		bytes_u32(bytes, words[i]);
}

void craft_poke(struct bytes *bytes, size_t at, uint32_t value)
{
	assert_true(at + 4 <= bytes->size);
	wire_put_u32(bytes->data + at, value);
}

static void craft_events(struct part *p, uint32_t first_record, uint32_t first_alloc, uint32_t time)
{
	WORDS(p->fields, first_record, 0, first_alloc, 0, time, 0, time + 5, 0, 6, 6, 0, 0);
	while (p->fields.size < FIELDS_EVENTS)
		bytes_u64(&p->fields, 0);
	SET(p->columns[COLUMN_RECORDS], 1, 2, 3, 4, 5, 6);
	/* (1,ALLOC) (1,OUT) (2,ALLOC) (2,KEEP) (2,CALL) (2,FREE) */
	SET(p->columns[COLUMN_TOKENS], 16, 4, 12, 8, 1, 3);
	SET(p->columns[COLUMN_COUNTS], 1, 1, 1, 1, 1, 1);
	SET(p->columns[COLUMN_TIME], 3, 5);
	SET(p->columns[COLUMN_THREAD], 0, 0, 4, 1);
	SET(p->columns[COLUMN_ORDINALS], 0, 0, 0);
}

void craft_begin(struct craft *c)
{
	static const uint8_t types[] = { UNIT_FILE,  UNIT_THREADS, UNIT_MODULES, UNIT_STACKS,
					 UNIT_KINDS, UNIT_EVENTS,  UNIT_EVENTS,  UNIT_END };
	static const size_t n_columns[] = { 1, 1, 1, 3, 6, 6, 6, 0 };

	*c = (struct craft){ .n = 8 };
	for (size_t i = 0; i < c->n; i++) {
		c->parts[i].type = types[i];
		c->parts[i].flags = UNIT_CRITICAL;
		c->parts[i].n_columns = n_columns[i];
		for (uint8_t j = 0; j < CRAFT_MAX_COLUMNS; j++)
			c->parts[i].ids[j] = j;
	}
	WORDS(c->parts[CRAFT_FILE].fields, 1, 0, 10, 62, 4096, 4711, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
	SET(c->parts[CRAFT_FILE].columns[0], 1, 'r', 1, 'e', 1, 'c', 1, 'a');
	WORDS(c->parts[CRAFT_THREADS].fields, 0, 2);
	SET(c->parts[CRAFT_THREADS].columns[0], 5, 6);
	WORDS(c->parts[CRAFT_MODULES].fields, 0, 1);
	SET(c->parts[CRAFT_MODULES].columns[0], 1, 'm', 0, 0, 1, 1, 0, 2, 0xab, 0xcd);
	WORDS(c->parts[CRAFT_STACKS].fields, 1, 2, 0, 2);
	SET(c->parts[CRAFT_STACKS].columns[0], 0, 16, 1, 16);
	SET(c->parts[CRAFT_STACKS].columns[1], 0, 0);
	SET(c->parts[CRAFT_STACKS].columns[2], 0, 0);
	WORDS(c->parts[CRAFT_KINDS].fields, 1, 2);
	SET(c->parts[CRAFT_KINDS].columns[0], MST_OP_MALLOC, MST_OP_REALLOC_MOVED);
	SET(c->parts[CRAFT_KINDS].columns[1], 2, 2);
	SET(c->parts[CRAFT_KINDS].columns[2], 16, 32);
	SET(c->parts[CRAFT_KINDS].columns[3], 0, 0);
	SET(c->parts[CRAFT_KINDS].columns[4], 0, 4);
	SET(c->parts[CRAFT_KINDS].columns[5], 0, 0);
	craft_events(&c->parts[CRAFT_EVENTS], 0, 0, 100);
	craft_events(&c->parts[CRAFT_MORE], 6, 2, 105);
	WORDS(c->parts[CRAFT_END].fields, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 92);
}

/* Makes the header's checksum true again. */
static void seal(uint8_t *header)
{
	const uint32_t size = wire_u32(header - 4);

	wire_put_u32(header + size - 4, unit_crc(0, header, size - 4));
}

static void craft_part(const struct part *p, uint32_t seq, ZSTD_CCtx *zstd, struct bytes *out)
{
	struct unit_column columns[CRAFT_MAX_COLUMNS];
	const size_t start = out->size;
	uint8_t *header;
	uint32_t size;

	for (size_t i = 0; i < p->n_columns; i++)
		columns[i] = (struct unit_column){ p->ids[i], p->columns[i].data, p->columns[i].size };
	assert_int_equal(unit_encode(out, zstd, p->type, p->flags, seq, &p->fields, columns, p->n_columns),
			 0);
	header = out->data + start + UNIT_PREFIX;
	if (p->patch) {
		size = wire_u32(header - 4);
		assert_true(p->patch_at + (p->patch_word ? 4 : 1) <= size - 4);
		if (p->patch_word)
			wire_put_u32(header + p->patch_at, p->patch_value);
		else
			header[p->patch_at] = (uint8_t)p->patch_value;
		seal(header);
	}
	bytes_append(out, p->tail.data, p->tail.size);
}

struct bytes craft_encode(const struct craft *c)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct bytes out = { 0 };

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	for (size_t i = 0; i < c->n; i++)
		craft_part(&c->parts[i], (uint32_t)i, zstd, &out);
	ZSTD_freeCCtx(zstd);
	assert_false(out.failed);
	return out;
}

void craft_finish(struct craft *c)
{
	for (size_t i = 0; i < CRAFT_MAX_PARTS; i++) {
		bytes_free(&c->parts[i].fields);
		bytes_free(&c->parts[i].tail);
		for (size_t j = 0; j < CRAFT_MAX_COLUMNS; j++)
			bytes_free(&c->parts[i].columns[j]);
	}
}

void craft_patch_byte(struct craft *c, size_t i, size_t at, uint8_t value)
{
	c->parts[i].patch = true;
	c->parts[i].patch_at = at;
	c->parts[i].patch_value = value;
}

void craft_patch_word(struct craft *c, size_t i, size_t at, uint32_t value)
{
	craft_patch_byte(c, i, at, 0);
	c->parts[i].patch_word = true;
	c->parts[i].patch_value = value;
}

size_t craft_row(const struct craft *c, size_t part, size_t i)
{
	return UNIT_FIXED + c->parts[part].fields.size + i * UNIT_COLUMN;
}

/* ---- the tests ---- */

static void read_crafted(const struct crafted *test, int fd, unsigned threads)
{
	const struct mst_chunk *chunk;
	struct mst_reader *r;
	uint32_t events = 0;
	int status = mst_reader_create(&r, fd);

	if (!test->problem) {
		assert_null(r);
		assert_int_equal(status, test->status);
		return;
	}
	assert_int_equal(status, 0);
	assert_int_equal(mst_reader_parallel(r, threads), 0);
	while ((status = mst_reader_next(r, &chunk)) == 1) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event event;

		while (mst_cursor_next(&cursor, &event))
			events++;
	}
	assert_int_equal(status, test->status);
	assert_int_equal(events, test->events);
	if (!strstr(mst_reader_problem(r), test->problem))
		fail_msg("%s", mst_reader_problem(r));
	assert_int_equal(mst_reader_problem(r)[0] == 0, status == 0);
	mst_reader_destroy(r);
}

/* By one thread and by two. */
static void test_crafted(void **state)
{
	const struct crafted *test = *state;
	struct craft craft;

	craft_begin(&craft);
	test->spoil(&craft);
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct bytes bytes = craft_encode(&craft);
		const int fd = model_memfd(bytes.data, bytes.size);

		read_crafted(test, fd, threads);
		close(fd);
		bytes_free(&bytes);
	}
	craft_finish(&craft);
}

int craft_run(const char *name, const struct crafted *crafted, size_t n)
{
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));
	int failed;

	if (!tests)
		return 1;
	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){ crafted[i].name, test_crafted, NULL, NULL,
						(void *)(uintptr_t)&crafted[i] };
	failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
	free(tests);
	return failed;
}
