/* SPDX-License-Identifier: MIT */
#include "call_sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "string_set.h"

/* The calls of a frame: `n` numbers from `first` on; n = 0: not asked for yet. */
struct span {
	uint32_t first, n;
};

struct calls {
	struct naming *naming;
	struct stringset *texts;     /* names and paths */
	struct stringset *keys;      /* a call's function, file and line; numbered from 1 */
	struct stringset *functions; /* a call's function and file */
	struct call *items;
	uint32_t n_items, room_items;
	uint32_t *numbers;
	uint32_t n_numbers, room_numbers;
	struct span *spans; /* by frame */
	uint32_t n_spans;
	char *key;
	size_t room_key;
};

struct calls *calls_create(struct naming *naming)
{
	struct calls *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->naming = naming;
	c->texts = stringset_create();
	c->keys = stringset_create();
	c->functions = stringset_create();
	if (c->texts && c->keys && c->functions)
		return c;
	calls_destroy(c);
	return NULL;
}

void calls_destroy(struct calls *c)
{
	if (!c)
		return;
	stringset_destroy(c->texts);
	stringset_destroy(c->keys);
	stringset_destroy(c->functions);
	free(c->items);
	free(c->numbers);
	free(c->spans);
	free(c->key);
	free(c);
}

/* A copy of formatted text in the set. NULL: no memory. */
static const char *keep_path(struct calls *c, const struct symbol_line *line)
{
	if (!line->file)
		return "";
	if (!line->directory || !*line->directory || *line->file == '/')
		return stringset_add(c->texts, line->file, strlen(line->file));
	char *path;
	const int n = asprintf(&path, "%s/%s", line->directory, line->file);
	if (n < 0)
		return NULL;
	const char *kept = stringset_add(c->texts, path, (size_t)n);
	free(path);
	return kept;
}

static const char *keep_function(struct calls *c, uint32_t frame, const struct symbol_line *line)
{
	if (line->function && *line->function)
		return stringset_add(c->texts, line->function, strlen(line->function));
	const char *object = naming_object(c->naming, frame);
	const char *slash = object ? strrchr(object, '/') : NULL;
	char *text;
	const int n = asprintf(&text, "[%s%s0x%" PRIx64 "]",
			       slash    ? slash + 1
			       : object ? object
					: "",
			       object ? "+" : "", naming_address(c->naming, frame));
	if (n < 0)
		return NULL;
	const char *kept = stringset_add(c->texts, text, (size_t)n);
	free(text);
	return kept;
}

/* Makes "function NUL file NUL line"; the length of its first two parts in *functions. 0: no memory. */
static size_t make_key(struct calls *c, const struct call *call, size_t *functions)
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

static bool add_call(struct calls *c, uint32_t frame, const struct symbol_line *line)
{
	struct call call = {
		.function = keep_function(c, frame, line),
		.file = keep_path(c, line),
		.line = line->file ? line->line : 0,
		.named = line->function && *line->function,
	};
	if (!call.function || !call.file)
		return false;
	size_t functions;
	const size_t n = make_key(c, &call, &functions);
	const size_t function = n ? stringset_number(c->functions, c->key, functions) : 0;
	if (function == 0 || !array_reserve(&c->items, c->n_items, &c->room_items, sizeof(*c->items)) ||
	    !array_reserve(&c->numbers, c->n_numbers, &c->room_numbers, sizeof(*c->numbers)))
		return false;
	/* Behind this nothing fails: what has a number has an item. */
	const size_t number = stringset_number(c->keys, c->key, n);
	if (number == 0)
		return false;
	call.number_of_function = (uint32_t)function - 1;
	if (number > c->n_items)
		c->items[c->n_items++] = call;
	c->numbers[c->n_numbers++] = (uint32_t)number - 1;
	return true;
}

static bool reserve_spans(struct calls *c, uint32_t frame)
{
	if (frame < c->n_spans)
		return true;
	const uint32_t n = frame + frame / 2 + 64;
	struct span *spans = reallocarray(c->spans, n, sizeof(*spans));
	if (!spans)
		return false;
	memset(spans + c->n_spans, 0, (n - c->n_spans) * sizeof(*spans));
	c->spans = spans;
	c->n_spans = n;
	return true;
}

const uint32_t *calls_of(struct calls *c, uint32_t frame, uint32_t *n)
{
	if (!reserve_spans(c, frame))
		return NULL;
	struct span *span = &c->spans[frame];
	if (span->n == 0) {
		const struct symbol_chain *chain = naming_describe(c->naming, frame);
		span->first = c->n_numbers;
		for (uint32_t i = 0; i < chain->n; i++) {
			if (!add_call(c, frame, &chain->lines[i]))
				return NULL;
		}
		span->n = chain->n;
	}
	*n = span->n;
	return c->numbers + span->first;
}

const struct call *calls_at(const struct calls *c, uint32_t number)
{
	return &c->items[number];
}

uint32_t calls_count(const struct calls *c)
{
	return c->n_items;
}
