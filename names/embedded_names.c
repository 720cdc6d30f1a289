/* SPDX-License-Identifier: MIT */
#include "embedded_names.h"

#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "index_map.h"
#include "printable.h"
#include "string_set.h"

struct embedded_names {
	const struct mst_reader *reader;
	struct index_map shown;     /* by a text's address in the reader: that of what is shown for it */
	struct index_map readable;  /* the same of names as they are in symbol tables */
	struct string_set *strings; /* what is shown for texts that can't be shown as they are */
	struct symbol_chain chain;  /* the last answer; its lines have `room` */
	struct symbol_line *lines;
	uint32_t room;
};

struct embedded_names *embedded_create(const struct mst_reader *reader)
{
	struct embedded_names *embedded = calloc(1, sizeof(*embedded));
	if (!embedded)
		return NULL;
	embedded->reader = reader;
	embedded->strings = string_set_create();
	if (embedded->strings)
		return embedded;
	embedded_destroy(embedded);
	return NULL;
}

void embedded_destroy(struct embedded_names *embedded)
{
	if (!embedded)
		return;
	free(embedded->lines);
	index_map_finish(&embedded->shown);
	index_map_finish(&embedded->readable);
	string_set_destroy(embedded->strings);
	free(embedded);
}

/* Many frames name a text, and it can be long: each is looked at once. What finds no room here is looked at again. */
static const char *remember(struct index_map *map, const char *text, const char *shown)
{
	if (shown)
		index_map_put(map, (uintptr_t)text, (uintptr_t)shown);
	return shown;
}

static const char *remembered(const struct index_map *map, const char *text)
{
	uint64_t shown = 0;
	index_map_find(map, (uintptr_t)text, &shown);
	return (const char *)(uintptr_t)shown;
}

/* NULL stands for a name that isn't known. */
static const char *shown(struct embedded_names *embedded, const char *name)
{
	const char *known = name ? remembered(&embedded->shown, name) : NULL;
	if (!name || known)
		return known;
	const size_t n = strlen(name);
	const bool can_be = printable_run(name, n) == n;
	return remember(&embedded->shown, name,
			can_be ? name : string_set_add_shown(embedded->strings, name, n));
}

static const char *readable(struct embedded_names *embedded, const char *linker_name)
{
	const char *known = linker_name ? remembered(&embedded->readable, linker_name) : NULL;
	if (!linker_name || known)
		return known;
	char *text = demangle_name(linker_name);
	known = text ? string_set_add_shown(embedded->strings, text, strlen(text))
		     : shown(embedded, linker_name);
	free(text);
	return remember(&embedded->readable, linker_name, known);
}

static bool reserve(struct embedded_names *embedded, uint32_t n)
{
	if (n <= embedded->room)
		return true;
	struct symbol_line *lines = reallocarray(embedded->lines, n, sizeof(*lines));
	if (!lines)
		return false;
	embedded->lines = lines;
	embedded->room = n;
	return true;
}

const struct symbol_chain *embedded_chain(struct embedded_names *embedded, uint32_t frame)
{
	const uint32_t n = mst_reader_names(embedded->reader, frame);
	if (n == 0 || !reserve(embedded, n))
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		const struct mst_name name = mst_reader_name(embedded->reader, frame, i);
		const bool inlined = i + 1 < n;
		const char *full = inlined ? shown(embedded, name.full) : NULL;
		const char *function =
			inlined ? shown(embedded, name.function) : readable(embedded, name.function);
		embedded->lines[i] = (struct symbol_line){
			.function = full ? full : function,
			.plain = full ? function : NULL,
			.directory = shown(embedded, name.directory),
			.file = shown(embedded, name.file),
			.line = (int)name.line,
		};
	}
	embedded->chain = (struct symbol_chain){ .n = n, .lines = embedded->lines };
	return &embedded->chain;
}

const char *embedded_function(struct embedded_names *embedded, uint32_t frame)
{
	return readable(embedded, embedded_linker_name(embedded, frame));
}

const char *embedded_linker_name(const struct embedded_names *embedded, uint32_t frame)
{
	const uint32_t n = mst_reader_names(embedded->reader, frame);
	return n ? mst_reader_name(embedded->reader, frame, n - 1).function : NULL;
}
