/* SPDX-License-Identifier: MIT */
/*
 * Logs of glibc's mtrace as traces. Each line has one caller and an address, so each call has a stack of one frame,
 * and each free names its block. A log has no times: the importer puts one millisecond between calls.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import.h"
#include "imported_names.h"
#include "index_map.h"
#include "mst_limits.h"
#include "mst_writer.h"
#include "string_set.h"

#define NO_BLOCK UINT32_MAX

struct block {
	uint64_t index;
	uint32_t kind;
};

struct state {
	struct import *import;
	struct mst_writer *writer;
	struct imported_names *names;
	struct string_set *places; /* callers, numbered as `stacks` */
	uint32_t *stacks;
	uint32_t n_stacks, room_stacks;
	struct index_map addresses; /* of live blocks, to their indices in `blocks` */
	struct block *blocks;
	uint32_t n_blocks, room;
	uint32_t *unused; /* free entries of `blocks` */
	uint32_t n_unused;
	struct block resized; /* the block of "<", for the ">" that follows */
	uint64_t resized_from;
	bool resizing;
	uint64_t calls, unknown_frees, implied_frees;
};

/* ---- Blocks ---- */

static int put_block(struct state *s, uint64_t address, uint32_t kind, uint64_t index)
{
	if (!s->n_unused && s->n_blocks == s->room) {
		uint32_t room = s->room, room_unused = room;
		if (!array_reserve(&s->blocks, s->n_blocks, &room, sizeof(*s->blocks)) ||
		    !array_reserve(&s->unused, s->n_blocks, &room_unused, sizeof(*s->unused)))
			return import_check(s->import, MST_ERR_NOMEM);
		s->room = room;
	}
	const uint32_t number = s->n_unused ? s->unused[--s->n_unused] : s->n_blocks++;
	assert(number < s->n_blocks && s->n_blocks <= s->room);
	s->blocks[number] = (struct block){ index, kind };
	return index_map_put(&s->addresses, address, number) ? 0 : import_check(s->import, MST_ERR_NOMEM);
}

/* False: no known block has that address. */
static bool take_block(struct state *s, uint64_t address, struct block *block)
{
	uint64_t number;
	*block = (struct block){ UINT64_MAX, MST_UNKNOWN_KIND };
	if (!index_map_take(&s->addresses, address, &number))
		return false;
	assert(number < s->n_blocks && s->n_unused < s->n_blocks);
	*block = s->blocks[number];
	s->unused[s->n_unused++] = (uint32_t)number;
	return true;
}

/* An address that malloc returns again was freed without a line in the log. */
static int end_block(struct state *s, uint64_t address)
{
	const struct mst_kind implied = { .op = MST_OP_IMPLIED_FREE };
	struct block old;
	uint32_t by;
	if (!take_block(s, address, &old))
		return 0;
	s->implied_frees++;
	int error = mst_writer_kind(s->writer, &implied, &by);
	if (!error)
		error = mst_writer_free_by(s->writer, old.kind, old.index, by);
	return import_check(s->import, error);
}

/* ---- Callers ---- */

/* Splits "MODULE:(FUNCTION+OFFSET)[ADDRESS]" in place; missing parts are NULL. Returns the address. */
static uint64_t split_place(char *place, const char **module, const char **function)
{
	char *address = strrchr(place, '['), *name = strstr(place, ":(");
	*module = *function = NULL;
	if (!address)
		return 0;
	*address++ = '\0';
	if (name) {
		*name = '\0';
		name += strlen(":(");
		name[strcspn(name, "+)")] = '\0';
		*function = *name ? name : NULL;
	} else {
		place[strcspn(place, ":")] = '\0';
	}
	*module = *place ? place : NULL;
	return strtoull(address, NULL, 16);
}

static int make_stack(struct state *s, char *place, uint32_t *stack)
{
	const char *path, *function;
	struct mst_frame f = { .module = MST_NONE, .address = split_place(place, &path, &function) };
	struct mst_module module = { .path = path, .role = MST_MODULE_LIBRARY, .end = UINT64_MAX };
	struct mst_stack one = { .parent = MST_ROOT_STACK };
	int error = path ? mst_writer_module(s->writer, &module, &f.module) : 0;
	if (!error)
		error = mst_writer_frame(s->writer, &f, &one.frame);
	if (!error)
		error = mst_writer_stack(s->writer, &one, stack);
	if (error || !function)
		return import_check(s->import, error);
	const bool kept =
		imported_names_frame(s->names, one.frame) && imported_names_call(s->names, function, NULL, 0);
	return kept ? 0 : import_check(s->import, MST_ERR_NOMEM);
}

static int find_stack(struct state *s, char *place, uint32_t *stack)
{
	const size_t number = string_set_number(s->places, place, strlen(place));
	if (number == 0 || number >= MST_MAX_STACKS)
		return import_check(s->import, MST_ERR_NOMEM);
	if (number <= s->n_stacks) {
		*stack = s->stacks[number - 1];
		return 0;
	}
	if (s->n_stacks >= MST_MAX_STACKS ||
	    !array_reserve(&s->stacks, s->n_stacks, &s->room_stacks, sizeof(*s->stacks)))
		return import_check(s->import, MST_ERR_NOMEM);
	if (make_stack(s, place, stack) != 0)
		return -1;
	s->stacks[s->n_stacks++] = *stack;
	return 0;
}

/* ---- Calls ---- */

static int make_kind(struct state *s, uint8_t op, uint32_t stack, uint64_t size, uint64_t cap, uint32_t *kind)
{
	const struct mst_kind k = { .op = op, .stack = stack, .size = size, .cap = cap > size ? cap : size };
	return import_check(s->import, mst_writer_kind(s->writer, &k, kind));
}

static int do_alloc(struct state *s, uint32_t stack, uint64_t address, uint64_t size)
{
	uint32_t kind;
	uint64_t index;
	if (make_kind(s, MST_OP_MALLOC, stack, size, size, &kind) != 0)
		return -1;
	if (address == 0)
		return import_check(s->import, mst_writer_call(s->writer, kind));
	if (end_block(s, address) != 0 ||
	    import_check(s->import, mst_writer_alloc(s->writer, kind, &index)) != 0)
		return -1;
	return put_block(s, address, kind, index);
}

static int do_free(struct state *s, uint32_t stack, uint64_t address)
{
	struct block old;
	uint32_t by;
	if (address == 0)
		return 0;
	s->unknown_frees += !take_block(s, address, &old);
	if (make_kind(s, MST_OP_FREE, stack, 0, 0, &by) != 0)
		return -1;
	return import_check(s->import, mst_writer_free_by(s->writer, old.kind, old.index, by));
}

/* The second line of a realloc. */
static int do_resize(struct state *s, uint32_t stack, uint64_t address, uint64_t size)
{
	const uint64_t cap = mst_writer_kind_at(s->writer, s->resized.kind)->cap;
	const uint8_t op = address == s->resized_from ? MST_OP_REALLOC_IN_PLACE : MST_OP_REALLOC_MOVED;
	uint32_t kind;
	uint64_t index;
	s->resizing = false;
	if (address != s->resized_from && end_block(s, address) != 0)
		return -1;
	if (make_kind(s, op, stack, size, cap, &kind) != 0 ||
	    import_check(s->import,
			 mst_writer_resize(s->writer, s->resized.kind, s->resized.index, kind, &index)) != 0)
		return -1;
	return put_block(s, address, kind, index);
}

static int do_call(struct state *s, char what, uint32_t stack, uint64_t address, uint64_t size)
{
	uint32_t kind;
	if (s->resizing != (what == '>'))
		return import_refuse(s->import, "a realloc of which half is missing");
	mst_writer_at(s->writer, import_ms_to_ns(++s->calls), 0);
	switch (what) {
	case '+':
		return do_alloc(s, stack, address, size);
	case '-':
		return do_free(s, stack, address);
	case '<':
		s->unknown_frees += !take_block(s, address, &s->resized);
		s->resized_from = address;
		s->resizing = true;
		return 0;
	case '>':
		return do_resize(s, stack, address, size);
	}
	/* "!": a failed realloc; its block stays live. */
	if (make_kind(s, MST_OP_REALLOC_MOVED, stack, size, size, &kind) != 0)
		return -1;
	return import_check(s->import, mst_writer_call(s->writer, kind));
}

/* ---- Lines ---- */

/* Reads "0x12", "0" or "(nil)". */
static bool next_number(char **at, uint64_t *value)
{
	char *end;
	*at += strspn(*at, " ");
	if (strncmp(*at, "(nil)", 5) == 0) {
		*value = 0;
		*at += 5;
		return true;
	}
	if (!**at || !strchr("0123456789", **at))
		return false;
	errno = 0;
	*value = strtoull(*at, &end, 0);
	*at = end;
	return errno == 0 && (*end == ' ' || *end == '\0');
}

/* Reads "[@ PLACE] + ADDRESS SIZE". Blanks may be part of the place's path. */
static int read_line(void *state, char *line, size_t n)
{
	struct state *s = state;
	char *at = line, *place = NULL;
	uint64_t address, size = 0;
	uint32_t stack = MST_ROOT_STACK;
	(void)n;
	if (*at == '=' || *at == '\0')
		return 0;
	if (strncmp(at, "@ ", 2) == 0) {
		char *end = strrchr(at, ']');
		if (!end || end[1] != ' ')
			return import_refuse(s->import, "a line without a call");
		place = at + 2;
		at = end + 2;
		end[1] = '\0';
	}
	const char what = *at;
	if (!what || !strchr("+-<>!", what) || at[1] != ' ')
		return import_refuse(s->import, "not a call");
	at++;
	if (!next_number(&at, &address) || (what != '-' && what != '<' && !next_number(&at, &size)))
		return import_refuse(s->import, "a call without a number");
	if (address == UINT64_MAX || size > INT64_MAX)
		return import_refuse(s->import, "an impossible number");
	if (place && find_stack(s, place, &stack) != 0)
		return -1;
	return do_call(s, what, stack, address, size);
}

/* ---- Files ---- */

static int begin_trace(struct state *s)
{
	const struct import_info info = {
		.recorder = "mtrace, by msconvert " MSREC_VERSION,
		.argv = &s->import->name,
		.argc = 1,
		.page_size = IMPORT_PAGE_SIZE,
		.identity = true,
	};
	return import_begin(s->import, &s->writer, &info);
}

static int end_trace(struct state *s)
{
	struct mst_end end = {
		.reason = MST_END_UNKNOWN,
		.time_ns = import_ms_to_ns(s->calls),
		.unknown_frees = s->unknown_frees,
		.implied_frees = s->implied_frees,
	};
	return import_finish(s->import, s->writer, s->names, &end);
}

static int read_file(struct state *s)
{
	return begin_trace(s) || import_lines(s->import, read_line, s) ? -1 : end_trace(s);
}

static int import_file(struct import *import)
{
	struct state s = { .import = import,
			   .names = imported_names_create(),
			   .places = string_set_create() };
	const int status = s.names && s.places ? read_file(&s) : import_check(import, MST_ERR_NOMEM);
	const int saved = errno;
	mst_writer_destroy(s.writer);
	imported_names_destroy(s.names);
	string_set_destroy(s.places);
	free(s.stacks);
	index_map_finish(&s.addresses);
	free(s.blocks);
	free(s.unused);
	errno = saved;
	return status;
}

static bool recognize(const char *head, size_t n)
{
	static const char start[] = "= Start\n";
	return n >= strlen(start) && memcmp(head, start, strlen(start)) == 0;
}

const struct importer import_mtrace = {
	.name = "mtrace",
	.help = "a log of glibc's mtrace()",
	.notice = "mtrace's log has no times; a call counts as a millisecond",
	.recognize = recognize,
	.read = import_file,
};
