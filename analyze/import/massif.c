/* SPDX-License-Identifier: MIT */
/*
 * massif.out files as traces: the trees of the detailed snapshots. At each of them the trace has one block for each
 * path of the tree, so the live bytes at each snapshot, and at the peak among them, are those of the file. The file
 * doesn't hold numbers of calls and blocks. A unit of the file's time, whichever it is, becomes a millisecond. The
 * entries that Massif summed up get a frame with Massif's words.
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

#define DEPTH_MOST 4096u
#define SYNTHETIC ((uint64_t)1 << 60) /* addresses for frames whose own address has a second name */

/* An ancestor of the present node, or that node itself; the root is at 0. */
struct node {
	uint32_t frame;
	uint64_t children; /* still to be read */
	uint64_t bytes;    /* less those of the children read so far */
};

/* The block that stands for a stack. */
struct place {
	uint32_t stack, kind;
	uint64_t index;
	uint64_t bytes, wanted;
	bool active;
};

struct state {
	struct import *import;
	struct mst_writer *writer;
	struct imported_names *names;
	struct string_set *labels; /* numbered as frame_of_label, which has their frames */
	uint32_t *frame_of_label;
	uint32_t n_labels, room_labels;
	struct index_map label_of_frame;
	struct index_map place_of_stack;
	struct place *places;
	uint32_t n_places, room_places;
	uint32_t *active; /* [room_places] places with bytes in the last tree or in the present one */
	uint32_t n_active;
	struct node nodes[DEPTH_MOST];
	unsigned depth; /* of the present node plus 1; 0: not in a tree */
	uint64_t last_ns;
	bool any;
	char *command;
};

/* ---- Frames ---- */

/* The parts of a label: "0xADDRESS: FUNCTION (FILE:LINE)" or "... (in OBJECT)". split_label() writes NULs into it. */
struct label {
	uint64_t address;
	const char *function, *object, *file;
	uint32_t line;
};

static void split_where(struct label *label, char *where)
{
	const size_t n = strlen(where);
	char *colon;
	if (n && where[n - 1] == ')')
		where[n - 1] = '\0';
	if (strncmp(where, "in ", 3) == 0) {
		label->object = where + 3;
		return;
	}
	colon = strrchr(where, ':');
	if (!colon)
		return;
	*colon = '\0';
	label->file = where;
	label->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	if (label->line > INT32_MAX)
		label->line = 0;
}

static struct label split_label(char *text)
{
	struct label label = { .function = text };
	char *end, *where = NULL;
	if (strncmp(text, "0x", 2) != 0)
		return label;
	label.address = strtoull(text, &end, 16);
	if (strncmp(end, ": ", 2) != 0)
		return label;
	label.function = end + 2;
	for (char *at = end + 2; (at = strstr(at, " (")); at++)
		where = at;
	if (where) {
		*where = '\0';
		split_where(&label, where + 2);
	}
	if (strcmp(label.function, "\?\?\?") == 0)
		label.function = NULL;
	return label;
}

/* An inlined call shares the address of its caller, but needs a frame of its own. */
static int make_frame(struct state *s, char *text, uint32_t number, uint32_t *frame)
{
	const struct label label = split_label(text);
	struct mst_frame f = { .module = MST_NONE, .address = label.address };
	const struct mst_module module = { .path = label.object,
					   .role = MST_MODULE_LIBRARY,
					   .end = UINT64_MAX };
	uint64_t other;
	int error = label.object ? mst_writer_module(s->writer, &module, &f.module) : 0;
	if (!error)
		error = mst_writer_frame(s->writer, &f, frame);
	if (!error && index_map_find(&s->label_of_frame, *frame, &other)) {
		f.address = SYNTHETIC + number;
		error = mst_writer_frame(s->writer, &f, frame);
	}
	if (error)
		return import_check(s->import, error);
	const bool fine = index_map_put(&s->label_of_frame, *frame, number) &&
			  ((!label.function && !label.file) ||
			   (imported_names_frame(s->names, *frame) &&
			    imported_names_call(s->names, label.function, label.file, label.line)));
	return fine ? 0 : import_check(s->import, MST_ERR_NOMEM);
}

static int find_frame(struct state *s, char *text, uint32_t *frame)
{
	const size_t number = string_set_number(s->labels, text, strlen(text));
	if (number == 0 || number >= MST_MAX_FRAMES)
		return import_check(s->import, MST_ERR_NOMEM);
	if (number <= s->n_labels) {
		*frame = s->frame_of_label[number - 1];
		return 0;
	}
	if (s->n_labels >= MST_MAX_FRAMES ||
	    !array_reserve(&s->frame_of_label, s->n_labels, &s->room_labels, sizeof(*s->frame_of_label)))
		return import_check(s->import, MST_ERR_NOMEM);
	if (make_frame(s, text, (uint32_t)number, frame) != 0)
		return -1;
	s->frame_of_label[s->n_labels++] = *frame;
	return 0;
}

/* ---- Blocks ---- */

static int find_place(struct state *s, uint32_t stack, struct place **place)
{
	uint64_t number;
	if (!index_map_find(&s->place_of_stack, stack, &number)) {
		number = s->n_places;
		if (number == s->room_places) {
			const uint32_t room = s->room_places * 2 + 256;
			struct place *grown = reallocarray(s->places, room, sizeof(*grown));
			if (!grown)
				return import_check(s->import, MST_ERR_NOMEM);
			s->places = grown;
			uint32_t *active = reallocarray(s->active, room, sizeof(*active));
			if (!active)
				return import_check(s->import, MST_ERR_NOMEM);
			s->active = active;
			s->room_places = room;
		}
		if (!index_map_put(&s->place_of_stack, stack, number))
			return import_check(s->import, MST_ERR_NOMEM);
		s->places[s->n_places++] = (struct place){ .stack = stack };
	}
	*place = &s->places[number];
	return 0;
}

/* Counts bytes at the present node. Massif's trees begin with the innermost frame, stacks with the outermost. */
static int add_bytes(struct state *s, uint64_t bytes)
{
	struct place *place = NULL;
	uint32_t stack = MST_ROOT_STACK;
	assert(s->depth > 0 && s->depth <= DEPTH_MOST);
	for (unsigned i = s->depth; i-- > 1;) {
		const struct mst_stack one = { .parent = stack, .frame = s->nodes[i].frame };
		if (import_check(s->import, mst_writer_stack(s->writer, &one, &stack)) != 0)
			return -1;
	}
	if (find_place(s, stack, &place) != 0)
		return -1;
	place->wanted += bytes;
	assert(place->active || s->n_active < s->n_places);
	if (!place->active)
		s->active[s->n_active++] = (uint32_t)(place - s->places);
	place->active = true;
	return 0;
}

static int settle_place(struct state *s, struct place *place)
{
	const struct mst_kind k = {
		.op = place->bytes ? MST_OP_REALLOC_IN_PLACE : MST_OP_MALLOC,
		.stack = place->stack,
		.size = place->wanted,
		.cap = place->wanted,
	};
	uint32_t kind;
	int error;
	if (place->wanted == 0) {
		error = mst_writer_free(s->writer, place->kind, place->index);
	} else {
		error = mst_writer_kind(s->writer, &k, &kind);
		if (!error && place->bytes)
			error = mst_writer_resize(s->writer, place->kind, place->index, kind, &place->index);
		else if (!error)
			error = mst_writer_alloc(s->writer, kind, &place->index);
		place->kind = kind;
	}
	place->bytes = place->wanted;
	return import_check(s->import, error);
}

/* Writes a complete tree. Shrinking blocks come first, so the live bytes never exceed those of the file. */
static int settle_tree(struct state *s)
{
	uint32_t n = 0;
	for (unsigned growing = 0; growing < 2; growing++) {
		for (uint32_t i = 0; i < s->n_active; i++) {
			struct place *place = &s->places[s->active[i]];
			if (place->bytes == place->wanted || (place->wanted > place->bytes) != growing)
				continue;
			if (settle_place(s, place) != 0)
				return -1;
		}
	}
	for (uint32_t i = 0; i < s->n_active; i++) {
		struct place *place = &s->places[s->active[i]];
		place->wanted = 0;
		place->active = place->bytes != 0;
		if (place->active)
			s->active[n++] = s->active[i];
	}
	s->n_active = n;
	s->any = true;
	return 0;
}

/* ---- Lines ---- */

/* Ends the present node and each ancestor whose children are complete. */
static int end_nodes(struct state *s)
{
	while (s->depth && s->nodes[s->depth - 1].children == 0) {
		if (s->nodes[s->depth - 1].bytes && add_bytes(s, s->nodes[s->depth - 1].bytes) != 0)
			return -1;
		s->depth--;
	}
	return s->depth ? 0 : settle_tree(s);
}

/* `line` is "n3: 4711 LABEL"; the caller has skipped the indentation. */
static int read_node(struct state *s, char *line)
{
	struct node node = { 0 };
	char *end;
	node.children = strtoull(line + 1, &end, 10);
	if (*end != ':' || end[1] != ' ' || end == line + 1)
		return import_refuse(s->import, "a malformed line of a tree");
	line = end + 2;
	node.bytes = strtoull(line, &end, 10);
	if (end == line || *end != ' ' || node.bytes > INT64_MAX)
		return import_refuse(s->import, "a line of a tree without its bytes");
	if (s->depth) {
		struct node *above = &s->nodes[s->depth - 1];
		if (node.bytes > above->bytes)
			return import_refuse(s->import, "a tree whose parts are more than the whole");
		above->bytes -= node.bytes;
		above->children--;
		if (find_frame(s, end + 1, &node.frame) != 0)
			return -1;
	}
	if (s->depth == DEPTH_MOST)
		return import_refuse(s->import, "a tree that is too deep");
	s->nodes[s->depth++] = node;
	return node.children ? 0 : end_nodes(s);
}

static int begin_trace(struct state *s)
{
	const char *const argv[] = { s->command ? s->command : s->import->name };
	const struct import_info info = {
		.recorder = "massif, by msconvert " MSREC_VERSION,
		.argv = argv,
		.argc = 1,
		.page_size = IMPORT_PAGE_SIZE,
		.identity = true,
	};
	return import_begin(s->import, &s->writer, &info);
}

static int read_time(struct state *s, const char *text)
{
	char *end;
	const uint64_t time = strtoull(text, &end, 10);
	if (end == text || *end || time > INT64_MAX / IMPORT_NS_PER_MS - 1)
		return import_refuse(s->import, "a malformed time");
	s->last_ns = import_ms_to_ns(time);
	mst_writer_at(s->writer, s->last_ns, 0);
	return 0;
}

/* A notice on times of this unit; NULL: they are times. */
static const char *clock_of(const char *unit)
{
	if (strcmp(unit, "i") == 0)
		return "its times are instructions; each counts as a millisecond";
	if (strcmp(unit, "B") == 0)
		return "its times are bytes, allocated and freed; each counts as a millisecond";
	return NULL;
}

static int read_line(void *state, char *line, size_t n)
{
	struct state *s = state;
	char *at = line + strspn(line, " ");
	(void)n;
	if (s->depth || (*at == 'n' && at[1] >= '0' && at[1] <= '9')) {
		if (*at != 'n' || !s->writer)
			return import_refuse(s->import, "a tree of the wrong size");
		return read_node(s, at);
	}
	if (strncmp(line, "cmd: ", 5) == 0 && !s->command) {
		s->command = strdup(line + 5);
		return s->command ? 0 : import_check(s->import, MST_ERR_NOMEM);
	}
	if (strncmp(line, "time_unit: ", 11) == 0)
		s->import->clock = clock_of(line + 11);
	if (strncmp(line, "snapshot=", 9) == 0 && !s->writer)
		return begin_trace(s);
	if (strncmp(line, "time=", 5) == 0)
		return s->writer ? read_time(s, line + 5)
				 : import_refuse(s->import, "a time without a snapshot");
	return 0;
}

/* ---- Files ---- */

static int end_trace(struct state *s)
{
	struct mst_end end = { .reason = MST_END_UNKNOWN, .time_ns = s->last_ns };
	if (!s->any)
		return import_refuse(s->import, "a massif.out without a detailed snapshot");
	return import_finish(s->import, s->writer, s->names, &end);
}

static int read_file(struct state *s)
{
	if (import_lines(s->import, read_line, s) != 0)
		return -1;
	if (s->depth)
		import_cut(s->import);
	return end_trace(s);
}

static int import_file(struct import *import)
{
	struct state *s = calloc(1, sizeof(*s));
	if (!s)
		return import_check(import, MST_ERR_NOMEM);
	s->import = import;
	s->names = imported_names_create();
	s->labels = string_set_create();
	const int status = s->names && s->labels ? read_file(s) : import_check(import, MST_ERR_NOMEM);
	const int saved = errno;
	mst_writer_destroy(s->writer);
	imported_names_destroy(s->names);
	string_set_destroy(s->labels);
	index_map_finish(&s->label_of_frame);
	index_map_finish(&s->place_of_stack);
	free(s->frame_of_label);
	free(s->places);
	free(s->active);
	free(s->command);
	free(s);
	errno = saved;
	return status;
}

static bool recognize(const char *head, size_t n)
{
	return n > 6 && memcmp(head, "desc: ", 6) == 0;
}

const struct importer import_massif = {
	.name = "massif",
	.help = "a massif.out file: its detailed snapshots",
	.notice = "a massif.out has trees of what was live, but no numbers of calls and blocks",
	.recognize = recognize,
	.read = import_file,
};
