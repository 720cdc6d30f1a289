/* SPDX-License-Identifier: MIT */
#include "embedded_names.h"

#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "index_map.h"
#include "printable.h"
#include "string_set.h"

struct told {
	const struct mst_reader *reader;
	struct indexmap shown;     /* by a text's address in the reader: that of what is shown for it */
	struct indexmap readable;  /* the same of names as they are in symbol tables */
	struct stringset *strings; /* what is shown for texts that can't be shown as they are */
	struct symbol_chain chain; /* the last answer; its lines have `room` */
	struct symbol_line *lines;
	uint32_t room;
};

struct told *told_create(const struct mst_reader *reader)
{
	struct told *told = calloc(1, sizeof(*told));
	if (!told)
		return NULL;
	told->reader = reader;
	told->strings = stringset_create();
	if (told->strings)
		return told;
	told_destroy(told);
	return NULL;
}

void told_destroy(struct told *told)
{
	if (!told)
		return;
	free(told->lines);
	indexmap_finish(&told->shown);
	indexmap_finish(&told->readable);
	stringset_destroy(told->strings);
	free(told);
}

/* Many frames name a text, and it can be long: each is looked at once. What finds no room here is looked at again. */
static const char *remember(struct indexmap *map, const char *text, const char *shown)
{
	if (shown)
		indexmap_put(map, (uintptr_t)text, (uintptr_t)shown);
	return shown;
}

static const char *remembered(const struct indexmap *map, const char *text)
{
	uint64_t shown = 0;
	indexmap_find(map, (uintptr_t)text, &shown);
	return (const char *)(uintptr_t)shown;
}

/* NULL stands for a name that isn't known. */
static const char *shown(struct told *told, const char *name)
{
	const char *known = name ? remembered(&told->shown, name) : NULL;
	if (!name || known)
		return known;
	const size_t n = strlen(name);
	const bool can_be = printable_run(name, n) == n;
	return remember(&told->shown, name, can_be ? name : stringset_add_shown(told->strings, name, n));
}

static const char *readable(struct told *told, const char *linker_name)
{
	const char *known = linker_name ? remembered(&told->readable, linker_name) : NULL;
	if (!linker_name || known)
		return known;
	char *text = demangle_name(linker_name);
	known = text ? stringset_add_shown(told->strings, text, strlen(text)) : shown(told, linker_name);
	free(text);
	return remember(&told->readable, linker_name, known);
}

static bool reserve(struct told *told, uint32_t n)
{
	if (n <= told->room)
		return true;
	struct symbol_line *lines = reallocarray(told->lines, n, sizeof(*lines));
	if (!lines)
		return false;
	told->lines = lines;
	told->room = n;
	return true;
}

const struct symbol_chain *told_chain(struct told *told, uint32_t frame)
{
	const uint32_t n = mst_reader_names(told->reader, frame);
	if (n == 0 || !reserve(told, n))
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		const struct mst_name name = mst_reader_name(told->reader, frame, i);
		told->lines[i] = (struct symbol_line){
			.function = i + 1 < n ? shown(told, name.function) : readable(told, name.function),
			.directory = shown(told, name.directory),
			.file = shown(told, name.file),
			.line = (int)name.line,
		};
	}
	told->chain = (struct symbol_chain){ .n = n, .lines = told->lines };
	return &told->chain;
}

const char *told_function(struct told *told, uint32_t frame)
{
	return readable(told, told_linker_name(told, frame));
}

const char *told_linker_name(const struct told *told, uint32_t frame)
{
	const uint32_t n = mst_reader_names(told->reader, frame);
	return n ? mst_reader_name(told->reader, frame, n - 1).function : NULL;
}
