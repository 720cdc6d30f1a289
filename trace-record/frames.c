/* SPDX-License-Identifier: MIT */
#include "frames.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "mst_limits.h"
#include "shm.h"

/* Of the cache, powers of two: at first, and when as many have been entered. */
#define ENTRIES_FIRST 256u
#define ENTRIES 8192u

/* The frame of a pc, remembered as long as its module stays. */
struct frame_entry {
	uint64_t pc;
	uint32_t frame;
	uint32_t module; /* in the module table; MST_NONE: in none */
	uint64_t known;  /* then: the module's `opened`; or, in no module, modules_entered() */
};

struct frame_module {
	uint64_t opened; /* of the table's entry when it was defined; 0: not defined */
	uint32_t id;     /* in the trace */
};

int frames_init(struct frames *frames)
{
	*frames = (struct frames){
		.entries = calloc(ENTRIES_FIRST, sizeof(*frames->entries)),
		.n_entries = ENTRIES_FIRST,
	};
	return frames->entries ? 0 : -1;
}

void frames_finish(struct frames *frames)
{
	free(frames->defined);
	free(frames->entries);
	script_names_finish(&frames->script_names);
	*frames = (struct frames){ 0 };
}

void frames_forget(struct frames *frames)
{
	memset(frames->entries, 0, frames->n_entries * sizeof(*frames->entries));
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

/* A copy, which the program cannot change between a check and a use. */
static struct module module_at(const struct module_table *modules, uint32_t i)
{
	const struct module m = modules->modules[i];

	atomic_signal_fence(memory_order_seq_cst); /* the table is not read a second time */
	return m;
}

/* msrec's own layout says where the text lies. NULL: the table names none inside of it, or no memory. */
static char *module_path(const struct module_table *modules, const struct module *m)
{
	const char *text = (const char *)&modules->modules[SHM_MODULES];
	const uint32_t text_used = atomic_load(&modules->text_used);

	if (text_used > SHM_MODULE_TEXT || m->path_size > text_used || m->path > text_used - m->path_size)
		return NULL;
	return strndup(text + m->path, m->path_size);
}

static int define_module(struct frames *frames, struct mst_writer *writer, uint32_t i, uint32_t *id)
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

	/* As other tools show it, without symbolic links. /proc/self is another process here. */
	real = path && path[0] == '/' && strncmp(path, "/proc/", 6) != 0 ? realpath(path, NULL) : NULL;
	if (real) {
		free(path);
		path = real;
	}
	memcpy(module.build_id, m.build_id, module.build_id_size);
	module.path = path ? path : "";
	err = mst_writer_module(writer, &module, id);
	free(path);
	return err;
}

/* The last stamp of the module's life, if `pc` was in it at `stamp`; else 0. */
static uint64_t module_holds(const struct module *m, uint64_t pc, uint64_t stamp)
{
	const uint64_t last = atomic_load_explicit(&m->closed, memory_order_acquire) - 1;

	return pc >= m->start && pc < m->end && stamp <= last ? last : 0;
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

/* Changes with every module that is entered into the table. */
static uint64_t modules_entered(const struct module_table *modules)
{
	return (uint64_t)atomic_load_explicit(&modules->reused, memory_order_acquire) +
	       modules_known(modules);
}

/* Of the modules that hold the pc, the first to be gone; MST_NONE: there is none. */
static uint32_t find_module(const struct module_table *modules, uint64_t pc, uint64_t stamp)
{
	const uint32_t n = modules_known(modules);
	uint32_t found = MST_NONE;
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t last = module_holds(&modules->modules[i], pc, stamp);

		if (last && last <= first) {
			found = i;
			first = last;
		}
	}
	return found;
}

/* Whether the entry's frame is right at `stamp`. */
static bool entry_holds(const struct frame_entry *e, const struct module_table *modules, uint64_t stamp)
{
	const struct module *m;

	if (e->module == MST_NONE)
		return e->known == modules_entered(modules);
	m = &modules->modules[e->module];
	return e->known == m->opened && module_holds(m, e->pc, stamp);
}

/* The trace's id of a module; MST_NONE: the trace has as many as it can have. */
static int module_id(struct frames *frames, struct mst_writer *writer, uint32_t i, uint32_t *id)
{
	const uint64_t opened = frames->modules->modules[i].opened;
	struct frame_module *d;

	if (!array_reserve_zeroed(&frames->defined, i, &frames->defined_room, sizeof(*frames->defined)))
		return MST_ERR_NOMEM;
	d = &frames->defined[i];
	if (d->opened != opened) {
		const int err = define_module(frames, writer, i, &d->id);

		if (err && err != MST_ERR_LIMIT)
			return err;
		if (err) {
			d->id = MST_NONE;
			atomic_store(&frames->modules->refused, 1);
		}
		d->opened = opened;
	}
	assert(d->opened == opened);
	*id = d->id;
	return 0;
}

/* The frame of a script, whose function has another number in the trace. */
static int define_script(struct frames *frames, struct mst_writer *writer, const struct mst_frame *f,
			 uint32_t *frame)
{
	struct script_frame at;
	struct mst_frame numbered = { .module = MST_NONE };
	uint32_t id;
	int err;

	if (!script_names_read(&frames->script_names, frames->scripts))
		return MST_ERR_NOMEM;
	at = script_names_frame(&frames->script_names, f->address);
	err = mst_writer_script(writer,
				&(struct mst_script){ .file = at.file ? at.file : "",
						      .function = at.function ? at.function : "<python>" },
				&id);
	if (err)
		return err;
	numbered.address = mst_script_address(id, at.line);
	return mst_writer_frame(writer, &numbered, frame);
}

/* The frame of a pc in module `i` of the table, or in no module (MST_NONE). */
static int define_frame(struct frames *frames, struct mst_writer *writer, uint32_t i, uint64_t pc,
			uint32_t *frame)
{
	struct mst_frame f = { .module = MST_NONE, .address = pc };
	const int err = i == MST_NONE ? 0 : module_id(frames, writer, i, &f.module);

	_Static_assert(SCRIPT_ADDRESS == MST_SCRIPT_ADDRESS && SCRIPT_LINE_BITS == MST_SCRIPT_LINE_BITS,
		       "a trace has the ring's frames of scripts");
	_Static_assert(SCRIPT_FUNCTIONS <= MST_MAX_SCRIPTS && SCRIPT_TEXT_MOST <= MST_MAX_SCRIPT_TEXT,
		       "a trace has room for all functions");
	if (err)
		return err;
	if (mst_frame_is_script(&f))
		return define_script(frames, writer, &f, frame);
	if (f.module != MST_NONE)
		f.address -= frames->modules->modules[i].bias;
	return mst_writer_frame(writer, &f, frame);
}

static inline struct frame_entry *entry_of(const struct frames *frames, uint64_t pc)
{
	return &frames->entries[(pc * 0x9e3779b97f4a7c15u) >> 51 & (frames->n_entries - 1)];
}

/* The cache grows once, and then begins anew; without memory it stays small. */
static void remember(struct frames *frames, struct frame_entry entry)
{
	struct frame_entry *entries;

	if (frames->n_entries < ENTRIES && ++frames->entered > ENTRIES_FIRST / 2 &&
	    (entries = calloc(ENTRIES, sizeof(*entries)))) {
		free(frames->entries);
		frames->entries = entries;
		frames->n_entries = ENTRIES;
	}
	*entry_of(frames, entry.pc) = entry;
}

int frames_find(struct frames *frames, struct mst_writer *writer, uint64_t pc, uint64_t stamp,
		uint32_t *frame)
{
	const struct frame_entry *const e = entry_of(frames, pc);
	const struct module *modules = frames->modules->modules;
	const uint64_t entered = modules_entered(frames->modules);
	uint32_t i;
	int err = 0;

	if (e->pc == pc && entry_holds(e, frames->modules, stamp)) {
		*frame = e->frame;
		return 0;
	}
	i = find_module(frames->modules, pc, stamp);
	if (i != MST_NONE && modules[i].role == MODULE_RECORDER)
		*frame = MST_NONE;
	else
		err = define_frame(frames, writer, i, pc, frame);
	if (!err)
		remember(frames,
			 (struct frame_entry){ pc, *frame, i, i == MST_NONE ? entered : modules[i].opened });
	return err;
}

int frames_emit_others(struct frames *frames, struct mst_writer *writer)
{
	const uint32_t n = modules_known(frames->modules);
	uint32_t id;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		const struct module *m = &frames->modules->modules[i];

		if (m->role == MODULE_LIBRARY && !atomic_load(&m->closed))
			err = module_id(frames, writer, i, &id);
	}
	return err;
}

int frames_emit_unloaded(struct frames *frames, struct mst_writer *writer)
{
	const uint32_t known = modules_known(frames->modules);
	const uint32_t n = known < frames->defined_room ? known : frames->defined_room;
	uint32_t id;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		const struct module *m = &frames->modules->modules[i];
		const struct frame_module *d = &frames->defined[i];
		const struct mst_module unloaded = {
			.path = "",
			.role = MST_MODULE_UNLOADED,
			.order = d->id,
		};

		if (d->opened && d->opened == m->opened && d->id != MST_NONE && atomic_load(&m->closed))
			err = mst_writer_module(writer, &unloaded, &id);
	}
	return err;
}
