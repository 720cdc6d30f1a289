/* SPDX-License-Identifier: MIT */
/*
 * heaptrack's files as traces: format versions 1 to 3, plain or compressed. Each "+" becomes a
 * malloc, each "-" a free of a block of that size and stack; the file doesn't identify the block. A realloc is one
 * of each. The file has names and no modules, so the importer embeds the names in the trace. Addresses are those of
 * the run.
 *
 * The parser checks all indices where it reads them. Definitions stay within the limits of the trace format, texts
 * within TEXT_MOST bytes together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import.h"
#include "imported_names.h"
#include "mst_limits.h"
#include "mst_writer.h"
#include "string_set.h"

#define TEXT_MOST ((uint64_t)512 << 20)
#define VERSION_MOST 3

/* Definitions of one sort, numbered from 0. */
struct table {
	uint32_t *items;
	uint32_t n, room;
};

struct kind {
	uint32_t id;   /* in the trace */
	uint64_t live; /* blocks */
};

struct state {
	struct import *import;
	struct mst_writer *writer;
	unsigned version;
	char *command; /* NULL: the file has none */
	uint64_t page_size;

	const char **strings; /* from 1 on; of `texts` */
	uint32_t n_strings, room_strings;
	uint64_t text_bytes;
	struct string_set *texts;
	struct table frames; /* from 1 on: frames of the trace */
	struct table stacks; /* from 1 on: stacks of the trace */
	struct kind *kinds;
	uint32_t n_kinds, room_kinds;
	struct imported_names *names;
	uint64_t ms, unknown_frees;
};

static int add_number(struct state *s, struct table *table, uint32_t value, uint32_t most)
{
	if (table->n >= most || !array_reserve(&table->items, table->n, &table->room, sizeof(*table->items)))
		return import_refuse(s->import, "too many definitions");
	table->items[table->n++] = value;
	return 0;
}

/* ---- Lines ---- */

/* Reads the next hexadecimal number of a line; false: no number follows. */
static bool next_number(const char **at, uint64_t *value)
{
	const char *c = *at;
	uint64_t n = 0;
	unsigned digits = 0;
	while (*c == ' ')
		c++;
	for (;; c++, digits++) {
		const unsigned digit = *c >= '0' && *c <= '9'   ? (unsigned)(*c - '0')
				       : *c >= 'a' && *c <= 'f' ? (unsigned)(*c - 'a' + 10)
								: 16;
		if (digit == 16 || digits == 17)
			break;
		n = n << 4 | digit;
	}
	*value = n;
	*at = c;
	return digits > 0 && digits <= 16 && (*c == ' ' || *c == '\0');
}

/* ---- The trace's head ---- */

/* Splits the command line at blanks. The caller frees the array. NULL: no memory. */
static const char **split_command(char *command, uint32_t *argc)
{
	const char **argv = calloc(MST_MAX_ARGS < strlen(command) + 1 ? MST_MAX_ARGS : strlen(command) + 1,
				   sizeof(*argv));
	char *rest = NULL;
	*argc = 0;
	for (char *word = strtok_r(command, " ", &rest); argv && word && *argc < MST_MAX_ARGS;
	     word = strtok_r(NULL, " ", &rest))
		argv[(*argc)++] = word;
	return argv;
}

static int begin_trace(struct state *s)
{
	struct import_info info = {
		.recorder = "heaptrack, by msconvert " MSREC_VERSION,
		.page_size = (uint32_t)s->page_size,
	};
	const char **argv = s->command ? split_command(s->command, &info.argc) : NULL;
	if (s->command && !argv)
		return import_check(s->import, MST_ERR_NOMEM);
	info.argv = argv;
	const int status = import_begin(s->import, &s->writer, &info);
	free(argv);
	return status;
}

static int read_version(struct state *s, const char *at)
{
	uint64_t writer, version = 1; /* 1: files that don't name the version of their format */
	if (!next_number(&at, &writer))
		return import_refuse(s->import, "heaptrack's version is no number");
	if (*at && !next_number(&at, &version))
		return import_refuse(s->import, "the format's version is no number");
	if (version == 0 || version > VERSION_MOST)
		return import_refuse(s->import, "an unknown version of heaptrack's format");
	s->version = (unsigned)version;
	return 0;
}

static int read_command(struct state *s, const char *text)
{
	free(s->command);
	s->command = strdup(text);
	return s->command ? 0 : import_check(s->import, MST_ERR_NOMEM);
}

static void read_system(struct state *s, const char *at)
{
	uint64_t size;
	if (next_number(&at, &size) && size && size <= 1u << 30)
		s->page_size = size;
}

/* ---- Definitions ---- */

static int read_string(struct state *s, const char *text, size_t n)
{
	if (s->version >= 3) {
		const char *at = text;
		uint64_t size;
		if (!next_number(&at, &size) || *at != ' ' || size > n - (size_t)(at + 1 - text))
			return import_refuse(s->import, "a string that is shorter than it says");
		text = at + 1;
		n = (size_t)size;
	}
	s->text_bytes += n;
	if (n >= MST_MAX_TEXT || s->text_bytes > TEXT_MOST || memchr(text, '\0', n) ||
	    s->n_strings >= MST_MAX_FRAMES ||
	    !array_reserve(&s->strings, s->n_strings, &s->room_strings, sizeof(*s->strings)))
		return import_refuse(s->import, "too many strings, or a malformed one");
	const char *kept = string_set_add(s->texts, text, n);
	if (!kept)
		return import_check(s->import, MST_ERR_NOMEM);
	s->strings[s->n_strings++] = kept;
	return 0;
}

static const char *string_at(const struct state *s, uint64_t number)
{
	return number == 0 ? NULL : s->strings[number - 1];
}

/* Reads function, file and line of each call, innermost first; the last one may be a function alone. */
static int read_calls(struct state *s, const char *at, uint32_t frame)
{
	if (!imported_names_frame(s->names, frame))
		return import_check(s->import, MST_ERR_NOMEM);
	for (uint64_t function, file, line; next_number(&at, &function);) {
		if (!next_number(&at, &file) || !next_number(&at, &line))
			file = line = 0;
		if (function > s->n_strings || file > s->n_strings)
			return import_refuse(s->import, "an unknown string");
		if (!imported_names_call(s->names, string_at(s, function), string_at(s, file),
					 line > INT32_MAX ? 0 : (uint32_t)line))
			return import_refuse(s->import, "too many inlined calls");
	}
	return 0;
}

static int add_frame(struct state *s, uint64_t address, const char *path, uint32_t *frame)
{
	const struct mst_module module = {
		.path = path ? path : "",
		.role = MST_MODULE_LIBRARY,
		.end = UINT64_MAX,
	};
	struct mst_frame f = { .module = MST_NONE, .address = address };
	int error = path ? mst_writer_module(s->writer, &module, &f.module) : 0;
	if (!error)
		error = mst_writer_frame(s->writer, &f, frame);
	return import_check(s->import, error);
}

static int read_frame(struct state *s, const char *at)
{
	uint64_t address, module;
	uint32_t frame;
	if (!next_number(&at, &address) || !next_number(&at, &module))
		return import_refuse(s->import, "a frame without an address");
	if (module > s->n_strings)
		return import_refuse(s->import, "an unknown string");
	if (add_frame(s, address, string_at(s, module), &frame) != 0 || read_calls(s, at, frame) != 0)
		return -1;
	return add_number(s, &s->frames, frame, MST_MAX_FRAMES);
}

static int read_stack(struct state *s, const char *at)
{
	uint64_t frame, parent;
	uint32_t id;
	if (!next_number(&at, &frame) || !next_number(&at, &parent))
		return import_refuse(s->import, "a stack without a frame");
	if (frame == 0 || frame > s->frames.n || parent > s->stacks.n)
		return import_refuse(s->import, "an unknown frame or stack");
	const struct mst_stack stack = {
		.frame = s->frames.items[frame - 1],
		.parent = parent ? s->stacks.items[parent - 1] : MST_ROOT_STACK,
	};
	const int error = mst_writer_stack(s->writer, &stack, &id);
	return error ? import_check(s->import, error) : add_number(s, &s->stacks, id, MST_MAX_STACKS);
}

static int read_kind(struct state *s, const char *at)
{
	uint64_t size, stack;
	struct kind kind = { 0 };
	if (!next_number(&at, &size) || !next_number(&at, &stack))
		return import_refuse(s->import, "a kind of block without a size");
	if (stack > s->stacks.n || size > INT64_MAX)
		return import_refuse(s->import, "an unknown stack or an impossible size");
	const struct mst_kind k = {
		.op = MST_OP_MALLOC,
		.stack = stack ? s->stacks.items[stack - 1] : MST_ROOT_STACK,
		.size = size,
		.cap = size,
	};
	const int error = mst_writer_kind(s->writer, &k, &kind.id);
	if (error)
		return import_check(s->import, error);
	if (s->n_kinds >= MST_MAX_KINDS ||
	    !array_reserve(&s->kinds, s->n_kinds, &s->room_kinds, sizeof(*s->kinds)))
		return import_refuse(s->import, "too many definitions");
	s->kinds[s->n_kinds++] = kind;
	return 0;
}

/* ---- Calls ---- */

static int read_call(struct state *s, const char *at, bool comes)
{
	uint64_t number, index;
	if (!next_number(&at, &number) || number >= s->n_kinds)
		return import_refuse(s->import, "an unknown kind of block");
	struct kind *kind = &s->kinds[number];
	int error = 0;
	if (comes) {
		kind->live++;
		error = mst_writer_alloc(s->writer, kind->id, &index);
	} else if (kind->live) {
		kind->live--;
		error = mst_writer_free(s->writer, kind->id, UINT64_MAX);
	} else {
		s->unknown_frees++;
	}
	return import_check(s->import, error);
}

static int read_time(struct state *s, const char *at)
{
	uint64_t ms;
	if (!next_number(&at, &ms) || ms > INT64_MAX / IMPORT_NS_PER_MS - 1)
		return import_refuse(s->import, "a malformed time");
	if (ms > s->ms)
		s->ms = ms;
	mst_writer_at(s->writer, import_ms_to_ns(s->ms), 0);
	return 0;
}

static int read_resident(struct state *s, const char *at)
{
	struct mst_memory_sample sample = { .proportional = UINT64_MAX, .swapped = UINT64_MAX };
	uint64_t pages;
	if (!next_number(&at, &pages) || pages > INT64_MAX / s->page_size)
		return import_refuse(s->import, "an impossible amount of memory");
	sample.resident = pages * s->page_size;
	const int error = mst_writer_memory(s->writer, import_ms_to_ns(s->ms), &sample);
	return import_check(s->import, error == MST_ERR_LIMIT ? 0 : error);
}

/* ---- Files ---- */

static int read_line(void *state, char *line, size_t n)
{
	struct state *s = state;
	const char what = n > 1 && line[1] == ' ' ? *line : '\0';
	if (s->version == 0 && what != 'v')
		return *line == '#' || n == 0
			       ? 0
			       : import_refuse(s->import, "not a file of heaptrack with a version");
	if (what == 'v')
		return s->writer ? import_refuse(s->import, "a second version") : read_version(s, line + 2);
	if (what == 'x' || what == 'm')
		return import_refuse(s->import, "a raw recording, which heaptrack_interpret reads first");
	if (what == 'X')
		return read_command(s, line + 2);
	if (what == 'I')
		read_system(s, line + 2);
	if (!what || !strchr("sita+-cR", what))
		return 0;
	if (!s->writer && begin_trace(s) != 0)
		return -1;
	switch (what) {
	case 's':
		return read_string(s, line + 2, n - 2);
	case 'i':
		return read_frame(s, line + 2);
	case 't':
		return read_stack(s, line + 2);
	case 'a':
		return read_kind(s, line + 2);
	case 'c':
		return read_time(s, line + 2);
	case 'R':
		return read_resident(s, line + 2);
	}
	return read_call(s, line + 2, what == '+');
}

static int end_trace(struct state *s)
{
	struct mst_end end = {
		.reason = MST_END_UNKNOWN,
		.time_ns = import_ms_to_ns(s->ms),
		.unknown_frees = s->unknown_frees,
	};
	if (!s->writer)
		return import_refuse(s->import, "not a file of heaptrack");
	return import_finish(s->import, s->writer, s->names, &end);
}

static int read_file(struct state *s)
{
	return import_lines(s->import, read_line, s) ? -1 : end_trace(s);
}

static int import_file(struct import *import)
{
	struct state s = { .import = import,
			   .page_size = 4096,
			   .texts = string_set_create(),
			   .names = imported_names_create() };
	const int status = s.texts && s.names ? read_file(&s) : import_check(import, MST_ERR_NOMEM);
	const int saved = errno;
	mst_writer_destroy(s.writer);
	string_set_destroy(s.texts);
	imported_names_destroy(s.names);
	free(s.command);
	free(s.strings);
	free(s.frames.items);
	free(s.stacks.items);
	free(s.kinds);
	errno = saved;
	return status;
}

/* The first line is "v" and hexadecimal numbers alone. */
static bool recognize(const char *head, size_t n)
{
	size_t i = 2;
	while (i < n && head[i] && strchr("0123456789abcdef ", head[i]))
		i++;
	return n > 4 && head[0] == 'v' && head[1] == ' ' && i > 2 && i < n && head[i] == '\n';
}

const struct importer import_heaptrack = {
	.name = "heaptrack",
	.help = "a recording of heaptrack, plain, .gz or .zst",
	.recognize = recognize,
	.read = import_file,
};
