/* SPDX-License-Identifier: MIT */
#include "fleet_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes of texts, of which the ends say least, but for a file's. */
enum { NAME_MOST = 160, FILE_MOST = 100, PATH_MOST = 480, LONGEST = PATH_MOST };

const char *const fleet_parts[FLEET_PARTS] = { "run", "time", "size", "site", "function", "frame", "stack" };

const struct parquet_column fleet_columns[] = {
	{ "run", true },           { "part", true },          { "started_ms", false },
	{ "service", true },       { "version", true },       { "host", true },
	{ "key", true },           { "function", true },      { "name", true },
	{ "module", true },        { "build_id", true },      { "file", true },
	{ "line", false },         { "path", true },          { "start", false },
	{ "stop", false },         { "peak_bytes", false },   { "peak_blocks", false },
	{ "end_bytes", false },    { "end_blocks", false },   { "alloc_bytes", false },
	{ "alloc_blocks", false }, { "byte_seconds", false }, { "verdict", true },
	{ "growth", false },       { "labels", true },        { "program", true },
	{ "duration_ms", false },  { "threads", false },      { "lost", false },
	{ "resident", false },     { "sample_bytes", false }, { "rows", false },
	{ "schema", false },       { NULL, false },
};

static void write_key(struct table *table, uint64_t key)
{
	char text[17];
	snprintf(text, sizeof(text), "%016" PRIx64, key);
	table_text(table, text);
}

/* Whether a byte is the beginning of a character. */
static bool begins(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* The first `most` bytes, or a few less where these would end within a character. */
static void write_begin(struct table *table, const char *text, size_t most)
{
	char cut[LONGEST + 4];
	size_t n = text ? strnlen(text, most + 1) : 0;
	if (n <= most) {
		table_text(table, text ? text : "");
		return;
	}
	for (n = most - 3; n > 0 && !begins(text[n]); n--)
		;
	memcpy(cut, text, n);
	memcpy(cut + n, "...", 4);
	table_text(table, cut);
}

/* The last `most` bytes. */
static void write_end(struct table *table, const char *text, size_t most)
{
	size_t n = text ? strlen(text) : 0;
	if (n > most) {
		text += n - most;
		while (*text && !begins(*text))
			text++;
	}
	table_text(table, text ? text : "");
}

/* A path's outermost functions, and its innermost ones, which say more: two thirds of the room. */
static void write_path(struct table *table, const char *path)
{
	char cut[LONGEST + 4];
	size_t n = path ? strlen(path) : 0, begin = PATH_MOST / 3 - 4;
	if (n <= PATH_MOST) {
		table_text(table, path ? path : "");
		return;
	}
	while (begin > 0 && !begins(path[begin]))
		begin--;
	const char *end = path + n - (size_t)PATH_MOST * 2 / 3;
	while (*end && !begins(*end))
		end++;
	snprintf(cut, sizeof(cut), "%.*s...%s", (int)begin, path, end);
	table_text(table, cut);
}

static void write_run(struct table *table, const struct fleet_run_row *of_run)
{
	static const struct fleet_run_row none = { .labels = "", .program = "" };
	const struct fleet_run_row *r = of_run ? of_run : &none;
	table_text(table, r->labels);
	write_begin(table, r->program, PATH_MOST);
	table_number(table, r->duration_ms);
	table_number(table, r->threads);
	table_number(table, r->lost);
	table_number(table, r->resident);
	table_number(table, r->sample_bytes);
	table_number(table, r->rows);
	table_number(table, of_run ? FLEET_SCHEMA : 0);
}

void fleet_row_write(struct table *table, const struct fleet_run *run, const struct fleet_row *row,
		     const struct fleet_run_row *of_run)
{
	write_key(table, run->key);
	table_text(table, fleet_parts[row->part]);
	table_number(table, run->started_ms);
	table_text(table, run->service);
	table_text(table, run->version);
	table_text(table, run->host);
	write_key(table, row->key);
	write_key(table, row->function);
	write_begin(table, row->name, NAME_MOST);
	write_end(table, row->module, FILE_MOST);
	write_begin(table, row->build_id, FILE_MOST);
	write_end(table, row->file, FILE_MOST);
	table_number(table, row->line > 0 ? (uint64_t)row->line : 0);
	write_path(table, row->path);
	table_number(table, row->from);
	table_number(table, row->until);
	for (unsigned i = 0; i < FLEET_FIGURES; i++)
		table_number(table, row->figures[i]);
	table_text(table, row->verdict ? row->verdict : "");
	table_number(table, row->growth);
	write_run(table, of_run);
}

uint64_t fleet_row_size(struct out *counter, const struct fleet_run *run, const struct fleet_row *row)
{
	const uint64_t before = out_counted(counter);
	struct table table = { .out = counter, .form = TABLE_CSV, .columns = fleet_columns };
	fleet_row_write(&table, run, row, NULL);
	return out_counted(counter) - before;
}
