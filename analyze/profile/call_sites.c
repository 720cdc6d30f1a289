/* SPDX-License-Identifier: MIT */
#include "call_sites.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "string_set.h"

/* The calls of a frame: `n` entries of `numbers` from `first` on. n = 0: not looked up yet. */
struct span {
	uint32_t first, n;
};

struct call_sites {
	struct symbolizer *symbolizer;
	struct string_set *texts;     /* names and paths */
	struct string_set *keys;      /* a call's function, file and line; numbered from 1 */
	struct string_set *functions; /* a call's function and file */
	struct call *items;
	uint32_t n_items, room_items;
	uint32_t *numbers;
	uint32_t n_numbers, room_numbers;
	struct span *spans; /* by frame */
	uint32_t room_spans;
	char *key;
	size_t room_key;
};

struct call_sites *call_sites_create(struct symbolizer *symbolizer)
{
	struct call_sites *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->symbolizer = symbolizer;
	c->texts = string_set_create();
	c->keys = string_set_create();
	c->functions = string_set_create();
	if (c->texts && c->keys && c->functions)
		return c;
	call_sites_destroy(c);
	return NULL;
}

void call_sites_destroy(struct call_sites *c)
{
	if (!c)
		return;
	string_set_destroy(c->texts);
	string_set_destroy(c->keys);
	string_set_destroy(c->functions);
	free(c->items);
	free(c->numbers);
	free(c->spans);
	free(c->key);
	free(c);
}

/* Formats the path and keeps a copy in `texts`. NULL: no memory. */
static const char *keep_path(struct call_sites *c, const struct symbol_line *line)
{
	if (!line->file)
		return "";
	if (!line->directory || !*line->directory || *line->file == '/')
		return string_set_add(c->texts, line->file, strlen(line->file));
	char *path;
	const int n = asprintf(&path, "%s/%s", line->directory, line->file);
	if (n < 0)
		return NULL;
	const char *kept = string_set_add(c->texts, path, (size_t)n);
	free(path);
	return kept;
}

static const char *keep_function(struct call_sites *c, uint32_t frame, const struct symbol_line *line)
{
	if (line->function && *line->function)
		return string_set_add(c->texts, line->function, strlen(line->function));
	const char *object = symbolize_object(c->symbolizer, frame);
	const char *slash = object ? strrchr(object, '/') : NULL;
	char *text;
	const int n = asprintf(&text, "[%s%s0x%" PRIx64 "]",
			       slash    ? slash + 1
			       : object ? object
					: "",
			       object ? "+" : "", symbolize_address(c->symbolizer, frame));
	if (n < 0)
		return NULL;
	const char *kept = string_set_add(c->texts, text, (size_t)n);
	free(text);
	return kept;
}

/* Fills `key` with "function NUL file NUL line" and *functions with the length of the first two parts. 0: no memory. */
static size_t make_key(struct call_sites *c, const struct call *call, size_t *functions)
{
	const size_t name = strlen(call->function) + 1, file = strlen(call->file) + 1;
	const size_t most = name + file + 16;
	if (most > c->room_key) {
		char *grown = realloc(c->key, most * 2);
		if (!grown)
			return 0;
		c->key = grown;
		c->room_key = most * 2;
	}
	memcpy(c->key, call->function, name);
	memcpy(c->key + name, call->file, file);
	*functions = name + file;
	return name + file + (size_t)sprintf(c->key + name + file, "%d", call->line);
}

/* Finds or adds a call. False: no memory. */
static bool number_call(struct call_sites *c, struct call call, uint32_t *number)
{
	size_t functions;
	const size_t n = make_key(c, &call, &functions);
	const size_t function = n ? string_set_number(c->functions, c->key, functions) : 0;
	if (function == 0 || !array_reserve(&c->items, c->n_items, &c->room_items, sizeof(*c->items)))
		return false;
	/* Nothing below fails, so each numbered key has an item. */
	const size_t key = string_set_number(c->keys, c->key, n);
	if (key == 0)
		return false;
	call.number_of_function = (uint32_t)function - 1;
	assert(key <= c->n_items + 1);
	if (key > c->n_items)
		c->items[c->n_items++] = call;
	*number = (uint32_t)key - 1;
	return true;
}

static bool add_call(struct call_sites *c, uint32_t frame, const struct symbol_line *line)
{
	const struct call call = {
		.function = keep_function(c, frame, line),
		.file = keep_path(c, line),
		.line = line->file ? line->line : 0,
		.named = line->function && *line->function,
	};
	return call.function && call.file &&
	       array_reserve(&c->numbers, c->n_numbers, &c->room_numbers, sizeof(*c->numbers)) &&
	       number_call(c, call, &c->numbers[c->n_numbers++]);
}

bool call_sites_mark(struct call_sites *c, const char *text, uint32_t *number)
{
	const struct call call = {
		.function = string_set_add(c->texts, text, strlen(text)),
		.file = "",
		.named = true,
	};
	return call.function && number_call(c, call, number);
}

const uint32_t *call_sites_of(struct call_sites *c, uint32_t frame, uint32_t *n)
{
	if (!array_reserve_zeroed(&c->spans, frame, &c->room_spans, sizeof(*c->spans)))
		return NULL;
	struct span *span = &c->spans[frame];
	if (span->n == 0) {
		const struct symbol_chain *chain = symbolize_describe(c->symbolizer, frame);
		span->first = c->n_numbers;
		for (uint32_t i = 0; i < chain->n; i++) {
			if (!add_call(c, frame, &chain->lines[i]))
				return NULL;
		}
		span->n = chain->n;
	}
	assert(span->first + span->n <= c->n_numbers);
	*n = span->n;
	return c->numbers + span->first;
}

const struct call *call_sites_at(const struct call_sites *c, uint32_t number)
{
	assert(number < c->n_items);
	return &c->items[number];
}

uint32_t call_sites_count(const struct call_sites *c)
{
	return c->n_items;
}
