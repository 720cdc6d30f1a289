/* SPDX-License-Identifier: MIT */
/* What a reader knows up to the chunk delivered last. */
#include <assert.h>

#include "reader.h"

const struct mst_file_info *mst_reader_info(const struct mst_reader *r)
{
	return &r->file.info;
}

unsigned mst_reader_time_shift(const struct mst_reader *r)
{
	return r->file.time_shift;
}

const struct mst_kind *mst_reader_kinds(const struct mst_reader *r, uint32_t *n)
{
	assert(r->defs.known.kinds <= r->defs.kinds.n);
	*n = r->defs.known.kinds;
	return r->defs.kinds.items;
}

const struct mst_stack *mst_reader_stacks(const struct mst_reader *r, uint32_t *n)
{
	assert(r->defs.known.stacks <= r->defs.stacks.n);
	*n = r->defs.known.stacks;
	return r->defs.stacks.items;
}

const struct mst_frame *mst_reader_frames(const struct mst_reader *r, uint32_t *n)
{
	assert(r->defs.known.frames <= r->defs.frames.n);
	*n = r->defs.known.frames;
	return r->defs.frames.items;
}

const struct mst_module *mst_reader_modules(const struct mst_reader *r, uint32_t *n)
{
	assert(r->defs.known.modules <= r->defs.modules.n);
	*n = r->defs.known.modules;
	return r->defs.modules.items;
}

const struct mst_thread *mst_reader_threads(const struct mst_reader *r, uint32_t *n)
{
	assert(r->defs.known.threads <= r->defs.threads.n);
	*n = r->defs.known.threads;
	return r->defs.threads.items;
}

const struct mst_thread_name *mst_reader_thread_names(const struct mst_reader *r, uint32_t *n)
{
	*n = r->defs.thread_names.n;
	return r->defs.thread_names.items;
}

const struct mst_mark *mst_reader_marks(const struct mst_reader *r, uint32_t *n)
{
	*n = r->defs.marks.n;
	return r->defs.marks.items;
}

const struct mst_thread_end *mst_reader_thread_ends(const struct mst_reader *r, uint32_t *n)
{
	*n = r->defs.thread_ends.n;
	return r->defs.thread_ends.items;
}

const struct mst_memory_sample *mst_reader_memory(const struct mst_reader *r, uint32_t *n)
{
	*n = r->defs.memory.n;
	return r->defs.memory.items;
}

uint64_t mst_reader_peak_resident(const struct mst_reader *r)
{
	return r->defs.peak_resident;
}

uint64_t mst_reader_instructions(const struct mst_reader *r)
{
	return r->place.instructions;
}

/* The function of a frame; NULL: it is no line of a script, or the trace's SCRIPTS units lack the function. */
static const struct reader_script *script_of(const struct mst_reader *r, uint32_t frame)
{
	const struct mst_frame *const frames = r->defs.frames.items;

	if (frame >= r->defs.frames.n || !mst_frame_is_script(&frames[frame]) ||
	    mst_script_function(&frames[frame]) >= r->defs.scripts.n)
		return NULL;
	return &((struct reader_script *)r->defs.scripts.items)[mst_script_function(&frames[frame])];
}

uint32_t mst_reader_names(const struct mst_reader *r, uint32_t frame)
{
	uint32_t first;
	const uint32_t n = names_of(&r->names, frame, &first);

	return n ? n : script_of(r, frame) ? 1 : 0;
}

struct mst_name mst_reader_name(const struct mst_reader *r, uint32_t frame, uint32_t i)
{
	uint32_t first;
	const uint32_t n = names_of(&r->names, frame, &first);
	const struct reader_script *const script = n || i ? NULL : script_of(r, frame);

	if (script)
		return (struct mst_name){
			.function = *script->function ? script->function : NULL,
			.directory = script->directory,
			.file = script->file,
			.line = mst_script_line(&((struct mst_frame *)r->defs.frames.items)[frame]),
		};
	return i < n ? names_at(&r->names, first + i) : (struct mst_name){ 0 };
}

uint64_t mst_reader_sound_bytes(const struct mst_reader *r)
{
	return r->state < 0 ? r->unit.start : r->sound;
}

const struct mst_end *mst_reader_end(const struct mst_reader *r)
{
	return r->ended && r->state == 0 ? &r->end : NULL;
}

const char *mst_reader_problem(const struct mst_reader *r)
{
	return r->state < 0 ? r->problem : "";
}
