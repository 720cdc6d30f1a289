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

struct namestore {
	struct stringset *texts;
	struct mst_name *calls;
	uint32_t n_calls, room_calls;
	struct named_frame *frames;
	uint32_t n_frames, room_frames;
};

struct namestore *namestore_create(void)
{
	struct namestore *store = calloc(1, sizeof(*store));
	if (!store)
		return NULL;
	store->texts = stringset_create();
	if (store->texts)
		return store;
	free(store);
	return NULL;
}

void namestore_destroy(struct namestore *store)
{
	if (!store)
		return;
	stringset_destroy(store->texts);
	free(store->calls);
	free(store->frames);
	free(store);
}

bool namestore_frame(struct namestore *store, uint32_t frame)
{
	if (store->n_frames == CALLS_MOST ||
	    !array_reserve(&store->frames, store->n_frames, &store->room_frames, sizeof(*store->frames)))
		return false;
	store->frames[store->n_frames++] = (struct named_frame){ .frame = frame, .first = store->n_calls };
	return true;
}

bool namestore_call(struct namestore *store, const char *function, const char *path, uint32_t line)
{
	struct named_frame *frame = &store->frames[store->n_frames - 1];
	const char *slash = path ? strrchr(path, '/') : NULL, *file = slash ? slash + 1 : path;
	struct mst_name name = { .line = line };
	if (frame->n == NAMESTORE_CALLS_MOST || store->n_calls == CALLS_MOST ||
	    !array_reserve(&store->calls, store->n_calls, &store->room_calls, sizeof(*store->calls)))
		return false;
	bool fine = true;
	if (function) {
		name.function = stringset_add(store->texts, function, strlen(function));
		fine = name.function;
	}
	if (file && fine) {
		name.file = stringset_add(store->texts, file, strlen(file));
		fine = name.file;
	}
	if (slash && slash > path && fine) {
		name.directory = stringset_add(store->texts, path, (size_t)(slash - path));
		fine = name.directory;
	}
	if (fine)
		store->calls[store->n_calls++] = name;
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

int namestore_write(struct namestore *store, struct mst_writer *writer)
{
	int error = 0;
	if (store->n_frames)
		qsort(store->frames, store->n_frames, sizeof(*store->frames), compare);
	for (uint32_t i = 0; i < store->n_frames && !error; i++) {
		const struct named_frame *f = &store->frames[i];
		if (f->n && !(i && f->frame == f[-1].frame))
			error = mst_writer_names(writer, f->frame, store->calls + f->first, f->n);
	}
	return error;
}
