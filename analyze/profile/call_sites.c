/* SPDX-License-Identifier: MIT */
#include "call_sites.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash_index.h"
#include "string_set.h"

/* The calls of a frame: `n` entries of `numbers` from `first` on. n = 0: not looked up yet. */
struct span {
	uint32_t first, n;
};

struct call_sites {
	struct symbolizer *symbolizer;
	struct string_set *texts; /* names and paths: equal ones have one address */
	const char *no_file;      /* "", one of them */
	struct call *items;
	uint32_t n_items, room_items;
	struct hash_index calls;     /* of items, by function, file and line */
	struct hash_index functions; /* of the first item of each function, by function and file */
	uint32_t *numbers;
	uint32_t n_numbers, room_numbers;
	struct span *spans; /* by frame */
	uint32_t room_spans;
};

struct call_sites *call_sites_create(struct symbolizer *symbolizer)
{
	struct call_sites *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->symbolizer = symbolizer;
	c->texts = string_set_create();
	c->no_file = c->texts ? string_set_add(c->texts, "", 0) : NULL;
	if (c->no_file && hash_index_init(&c->calls) && hash_index_init(&c->functions))
		return c;
	call_sites_destroy(c);
	return NULL;
}

void call_sites_destroy(struct call_sites *c)
{
	if (!c)
		return;
	string_set_destroy(c->texts);
	hash_index_finish(&c->calls);
	hash_index_finish(&c->functions);
	free(c->items);
	free(c->numbers);
	free(c->spans);
	free(c);
}

/* Formats the path and keeps a copy in `texts`. NULL: no memory. */
static const char *keep_path(struct call_sites *c, const struct symbol_line *line)
{
	if (!line->file)
		return c->no_file;
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

static char *put_hexadecimal(char *to, uint64_t number)
{
	unsigned shift = 60;
	while (shift && number >> shift == 0)
		shift -= 4;
	for (;; shift -= 4) {
		*to++ = "0123456789abcdef"[number >> shift & 15];
		if (shift == 0)
			return to;
	}
}

/* The name of code that has none, "[libfoo.so+0x1234]"; `object` NULL: in no file. NULL: no memory. printf(3) takes longer. */
static const char *keep_place(struct call_sites *c, const char *object, uint64_t address)
{
	const size_t n = object ? strlen(object) : 0;
	char *text = malloc(n + sizeof("[+0x0123456789abcdef]")), *to = text;
	if (!text)
		return NULL;
	*to++ = '[';
	if (object) {
		memcpy(to, object, n);
		to += n;
		*to++ = '+';
	}
	*to++ = '0';
	*to++ = 'x';
	to = put_hexadecimal(to, address);
	*to++ = ']';
	const char *kept = string_set_add(c->texts, text, (size_t)(to - text));
	free(text);
	return kept;
}

static const char *keep_function(struct call_sites *c, uint32_t frame, const struct symbol_line *line)
{
	if (line->function && *line->function)
		return string_set_add(c->texts, line->function, strlen(line->function));
	const char *object = symbolize_object(c->symbolizer, frame);
	const char *slash = object ? strrchr(object, '/') : NULL;
	return keep_place(c, slash ? slash + 1 : object, symbolize_address(c->symbolizer, frame));
}

static bool is_same_function(const struct call *a, const struct call *b)
{
	return a->function == b->function && a->file == b->file;
}

/* The number of the call's function. A function that no item has gets the next number, and item n_items. */
static uint32_t number_function(struct call_sites *c, const struct call *call, uint32_t hash)
{
	for (uint32_t i = hash_index_first(&c->functions, hash), id;
	     hash_index_next(&c->functions, hash, &i, &id);) {
		if (is_same_function(&c->items[id], call))
			return c->items[id].number_of_function;
	}
	hash_index_add(&c->functions, hash, c->n_items);
	return c->functions.used - 1;
}

/* Finds or adds a call, whose texts are in `texts`. False: no memory. */
static bool number_call(struct call_sites *c, struct call call, uint32_t *number)
{
	const uint32_t function = hash_words((uintptr_t)call.function, (uintptr_t)call.file);
	const uint32_t hash = hash_words(function, (uint64_t)call.line);
	if (!array_reserve(&c->items, c->n_items, &c->room_items, sizeof(*c->items)) ||
	    !hash_index_reserve(&c->calls) || !hash_index_reserve(&c->functions))
		return false;
	for (uint32_t i = hash_index_first(&c->calls, hash); hash_index_next(&c->calls, hash, &i, number);) {
		if (is_same_function(&c->items[*number], &call) && c->items[*number].line == call.line)
			return true;
	}
	call.number_of_function = number_function(c, &call, function);
	hash_index_add(&c->calls, hash, c->n_items);
	*number = c->n_items;
	c->items[c->n_items++] = call;
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
		.file = c->no_file,
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
