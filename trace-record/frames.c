/* SPDX-License-Identifier: MIT */
#include "frames.h"

#include <stdlib.h>
#include <string.h>

#include "shm.h"

#define ENTRIES 8192u /* a power of two */

/* Where a pc belongs, remembered. */
struct frame_entry {
	uint64_t pc;
	uint32_t frame;
	uint32_t module;  /* in the module table; MST_NONE: in none */
	uint32_t modules; /* size of the table when that was found out */
};

int frames_init(struct frames *frames)
{
	*frames = (struct frames){
		.ids = malloc(SHM_MODULES * sizeof(*frames->ids)),
		.entries = calloc(ENTRIES, sizeof(*frames->entries)),
	};
	if (!frames->ids || !frames->entries) {
		frames_finish(frames);
		return -1;
	}
	memset(frames->ids, 0xff, SHM_MODULES * sizeof(*frames->ids));
	return 0;
}

void frames_finish(struct frames *frames)
{
	free(frames->ids);
	free(frames->entries);
	*frames = (struct frames){ 0 };
}

void frames_forget(struct frames *frames)
{
	memset(frames->entries, 0, ENTRIES * sizeof(*frames->entries));
}

static uint32_t module_role(uint8_t role)
{
	switch (role) {
	case MODULE_EXECUTABLE:
		return MST_MODULE_EXECUTABLE;
	case MODULE_INTERPRETER:
		return MST_MODULE_INTERPRETER;
	case MODULE_VDSO:
		return MST_MODULE_VDSO;
	default:
		return MST_MODULE_LIBRARY;
	}
}

/* A copy, which the program can't change between a check and a use. */
static struct module module_at(const struct module_table *modules, uint32_t i)
{
	const struct module m = modules->modules[i];

	atomic_signal_fence(memory_order_seq_cst); /* nor is it read a second time */
	return m;
}

/* The text lies where msrec's own layout has it, whatever the table says. NULL: there is none, or no memory. */
static char *module_path(const struct module_table *modules, const struct module *m)
{
	const char *text = (const char *)&modules->modules[SHM_MODULES];
	const uint32_t text_used = atomic_load(&modules->text_used);

	if (text_used > SHM_MODULE_TEXT || m->path_size > text_used || m->path > text_used - m->path_size)
		return NULL;
	return strndup(text + m->path, m->path_size);
}

static int define_module(struct frames *frames, struct mst_writer *writer, uint32_t i)
{
	const struct module m = module_at(frames->modules, i);
	struct mst_module module = {
		.role = (uint8_t)module_role(m.role),
		.build_id_size = m.build_id_size <= MODULE_BUILD_ID_MAX ? m.build_id_size : 0,
		.order = m.order,
		.start = m.start,
		.end = m.end,
		.bias = m.bias,
	};
	char *path = module_path(frames->modules, &m), *real;
	int err;

	/*
	 * The loader's name may go through symbolic links; the file's own name is what others show. What
	 * /proc/self leads to is another thing here.
	 */
	real = path && path[0] == '/' && strncmp(path, "/proc/", 6) != 0 ? realpath(path, NULL) : NULL;
	if (real) {
		free(path);
		path = real;
	}
	memcpy(module.build_id, m.build_id, module.build_id_size);
	module.path = path ? path : "";
	err = mst_writer_module(writer, &module, &frames->ids[i]);
	free(path);
	return err;
}

static bool module_holds(const struct module *m, uint64_t pc, uint64_t stamp)
{
	const uint64_t closed = atomic_load_explicit(&m->closed, memory_order_acquire);

	return pc >= m->start && pc < m->end && (closed == 0 || stamp < closed);
}

static uint32_t modules_known(const struct module_table *modules)
{
	const uint32_t n = atomic_load_explicit(&modules->count, memory_order_acquire);

	return n < SHM_MODULES ? n : SHM_MODULES;
}

char *frames_executable(const struct module_table *modules)
{
	for (uint32_t i = 0; i < modules_known(modules); i++) {
		const struct module m = module_at(modules, i);

		if (m.role == MODULE_EXECUTABLE)
			return module_path(modules, &m);
	}
	return NULL;
}

int frames_find(struct frames *frames, struct mst_writer *writer, uint64_t pc, uint64_t stamp,
		uint32_t *frame)
{
	struct frame_entry *e = &frames->entries[(pc * 0x9e3779b97f4a7c15u) >> 51 & (ENTRIES - 1)];
	const uint32_t n = modules_known(frames->modules);
	struct mst_frame f = { .module = MST_NONE, .address = pc };
	uint32_t i = 0;
	int err;

	if (e->pc == pc &&
	    (e->module == MST_NONE ? e->modules == n
				   : module_holds(&frames->modules->modules[e->module], pc, stamp))) {
		*frame = e->frame;
		return 0;
	}
	while (i < n && !module_holds(&frames->modules->modules[i], pc, stamp))
		i++;
	if (i < n && frames->modules->modules[i].role == MODULE_RECORDER) {
		*e = (struct frame_entry){ pc, *frame = MST_NONE, i, n };
		return 0;
	}
	if (i < n) {
		if (frames->ids[i] == MST_NONE && (err = define_module(frames, writer, i)))
			return err;
		f.module = frames->ids[i];
		f.address = pc - frames->modules->modules[i].bias;
	}
	err = mst_writer_frame(writer, &f, frame);
	if (!err)
		*e = (struct frame_entry){ pc, *frame, i < n ? i : MST_NONE, n };
	return err;
}

int frames_tell_unloaded(struct frames *frames, struct mst_writer *writer)
{
	const uint32_t n = modules_known(frames->modules);
	uint32_t id;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		const struct mst_module unloaded = {
			.path = "",
			.role = MST_MODULE_UNLOADED,
			.order = frames->ids[i],
		};

		if (frames->ids[i] != MST_NONE && atomic_load(&frames->modules->modules[i].closed))
			err = mst_writer_module(writer, &unloaded, &id);
	}
	return err;
}
