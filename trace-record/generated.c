/* SPDX-License-Identifier: MIT */
#include "generated.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

void generated_finish(struct generated *generated)
{
	free(generated->items);
	free(generated->names);
	*generated = (struct generated){ .pid = 0 };
}

const char *generated_last_name(const struct generated *generated, uint64_t pc)
{
	return generated->growth ? jit_growth_find(generated->growth, pc) : NULL;
}

/* Their lines were read before, because code has its line before it runs. Without memory the rest comes later. */
static void note_frames(struct generated *generated, const struct mst_writer *writer)
{
	uint32_t n;
	const struct mst_frame *frames = mst_writer_frames(writer, &n);

	for (; generated->seen < n; generated->seen++) {
		const struct mst_frame *frame = &frames[generated->seen];

		if (frame->module != MST_NONE || mst_frame_is_script(frame))
			continue;
		if (!array_reserve(&generated->items, generated->n, &generated->capacity,
				   sizeof(*generated->items)))
			return;
		generated->items[generated->n++] = (struct generated_frame){
			.pc = frame->address,
			.frame = generated->seen,
			.name = generated_last_name(generated, frame->address),
		};
	}
}

/* Keeps the name of a frame whose address has other code now. False: no memory. */
static bool keep_name(struct generated *generated, uint32_t frame, const char *name)
{
	if (!array_reserve_zeroed(&generated->names, frame, &generated->n_names, sizeof(*generated->names)))
		return false;
	generated->names[frame] = name;
	return true;
}

/* Gives the address another frame. False: that can't be; the frame has the new name, too. */
static bool renew(struct generated *generated, struct mst_writer *writer, struct generated_frame *item)
{
	const struct mst_frame frame = { .module = MST_NONE, .address = item->pc };
	uint32_t id;

	if (mst_writer_frame_again(writer, &frame, &id) != 0)
		return false;
	if (!keep_name(generated, item->frame, item->name))
		return false;
	item->frame = id;
	return true;
}

bool generated_look(struct generated *generated, struct mst_writer *writer)
{
	bool any = false;

	note_frames(generated, writer);
	if (generated->n && !generated->growth)
		generated->growth = jit_growth_create(generated->pid, generated->since);
	if (!generated->growth || !jit_growth_look(generated->growth))
		return false;
	for (uint32_t i = 0; i < generated->n; i++) {
		struct generated_frame *item = &generated->items[i];
		const char *name = jit_growth_news(generated->growth, item->pc);

		if (!name || name == item->name)
			continue;
		any |= item->name && renew(generated, writer, item);
		item->name = name;
	}
	/* The new frames are known already. */
	if (any)
		mst_writer_frames(writer, &generated->seen);
	return any;
}

const char *generated_name(const struct generated *generated, uint32_t frame)
{
	return frame < generated->n_names ? generated->names[frame] : NULL;
}

int generated_move(struct generated *to, struct generated *from, struct mst_remap *remap)
{
	uint32_t id;
	int err = 0;

	*to = (struct generated){ .pid = from->pid, .since = from->since, .growth = from->growth };
	for (uint32_t i = 0; i < from->n_names && !err; i++) {
		if (!from->names[i] || (err = mst_remap_frame(remap, i, &id)))
			continue;
		err = keep_name(to, id, from->names[i]) ? 0 : MST_ERR_NOMEM;
	}
	for (uint32_t i = 0; i < from->n && !err; i++) {
		if ((err = mst_remap_frame(remap, from->items[i].frame, &id)))
			break;
		if (!array_reserve(&to->items, to->n, &to->capacity, sizeof(*to->items))) {
			err = MST_ERR_NOMEM;
			break;
		}
		to->items[to->n] = from->items[i];
		to->items[to->n++].frame = id;
	}
	return err;
}
