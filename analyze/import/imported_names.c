/* SPDX-License-Identifier: MIT */
#include "imported_names.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "string_set.h"

#define CALLS_MOST (1u << 25)

/* The calls of a frame: [first, first + n). */
struct named_frame {
	uint32_t frame, first, n;
};

struct imported_names {
	struct string_set *texts;
	struct mst_name *calls;
	uint32_t n_calls, room_calls;
	struct named_frame *frames;
	uint32_t n_frames, room_frames;
};

struct imported_names *imported_names_create(void)
{
	struct imported_names *names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->texts = string_set_create();
	if (names->texts)
		return names;
	free(names);
	return NULL;
}

void imported_names_destroy(struct imported_names *names)
{
	if (!names)
		return;
	string_set_destroy(names->texts);
	free(names->calls);
	free(names->frames);
	free(names);
}

bool imported_names_frame(struct imported_names *names, uint32_t frame)
{
	if (names->n_frames == CALLS_MOST ||
	    !array_reserve(&names->frames, names->n_frames, &names->room_frames, sizeof(*names->frames)))
		return false;
	names->frames[names->n_frames++] = (struct named_frame){ .frame = frame, .first = names->n_calls };
	return true;
}

bool imported_names_call(struct imported_names *names, const char *function, const char *path, uint32_t line)
{
	struct named_frame *frame = &names->frames[names->n_frames - 1];
	const char *slash = path ? strrchr(path, '/') : NULL, *file = slash ? slash + 1 : path;
	struct mst_name name = { .line = line };
	if (frame->n == IMPORTED_NAMES_CALLS_MOST || names->n_calls == CALLS_MOST ||
	    !array_reserve(&names->calls, names->n_calls, &names->room_calls, sizeof(*names->calls)))
		return false;
	bool fine = true;
	if (function) {
		name.function = string_set_add(names->texts, function, strlen(function));
		fine = name.function;
	}
	if (file && fine) {
		name.file = string_set_add(names->texts, file, strlen(file));
		fine = name.file;
	}
	if (slash && slash > path && fine) {
		name.directory = string_set_add(names->texts, path, (size_t)(slash - path));
		fine = name.directory;
	}
	if (fine)
		names->calls[names->n_calls++] = name;
	frame->n += fine;
	return fine;
}

static int compare(const void *a, const void *b)
{
	const struct named_frame *x = a, *y = b;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

int imported_names_write(struct imported_names *names, struct mst_writer *writer)
{
	int error = 0;
	array_sort(names->frames, names->n_frames, sizeof(*names->frames), compare);
	for (uint32_t i = 0; i < names->n_frames && !error; i++) {
		const struct named_frame *f = &names->frames[i];
		if (f->n && !(i && f->frame == f[-1].frame))
			error = mst_writer_names(writer, f->frame, names->calls + f->first, f->n);
	}
	return error;
}
