/* SPDX-License-Identifier: MIT */
/*
 * Defines a reader's threads, modules, frames and stacks in a writer, each when it is first asked for.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mst_limits.h"
#include "mst_writer.h"

/* New ids by old ones, MST_NONE without a new one. */
struct ids {
	uint32_t *items;
	uint32_t n;
};

struct mst_remap {
	/* One of the two is NULL. */
	const struct mst_reader *from;
	const struct mst_writer *before;
	struct mst_writer *to;
	bool strip_paths;
	mst_rename *rename; /* NULL: names stay */
	void *context;
	struct ids threads, modules, frames, stacks;
	struct ids origins; /* the first old frame by new ones */
	struct ids path;    /* find_path()'s */

	/* The old names of threads: those of each thread are a chain. */
	struct ids first_name, last_name; /* by thread */
	struct ids next_name;             /* by name */
	uint32_t n_names;                 /* in the chains, or in the new trace already */
};

static bool reserve(struct ids *ids, uint32_t n)
{
	const uint32_t capacity = n + n / 2 + 16;
	uint32_t *items;

	if (n <= ids->n)
		return true;
	items = realloc(ids->items, capacity * sizeof(*items));
	if (!items)
		return false;
	memset(items + ids->n, 0xff, (capacity - ids->n) * sizeof(*items));
	ids->items = items;
	ids->n = capacity;
	return true;
}

int mst_remap_create(struct mst_remap **remap, const struct mst_reader *from, struct mst_writer *to,
		     bool strip_paths)
{
	struct mst_remap *t = *remap = calloc(1, sizeof(*t));

	if (!t)
		return MST_ERR_NOMEM;
	t->from = from;
	t->to = to;
	t->strip_paths = strip_paths;
	return 0;
}

int mst_remap_between(struct mst_remap **remap, const struct mst_writer *from, struct mst_writer *to)
{
	const int err = mst_remap_create(remap, NULL, to, false);

	if (!err)
		(*remap)->before = from;
	return err;
}

void mst_remap_rename(struct mst_remap *t, mst_rename *rename, void *context)
{
	t->rename = rename;
	t->context = context;
	t->strip_paths = true;
}

/* *text as the new trace has it; NULL stays. */
static int rename_text(const struct mst_remap *t, enum mst_text what, const char *module, const char **text)
{
	if (!t->rename || !*text)
		return 0;
	*text = t->rename(t->context, what, *text, module);
	return *text ? 0 : MST_ERR_NOMEM;
}

void mst_remap_destroy(struct mst_remap *t)
{
	if (!t)
		return;
	free(t->threads.items);
	free(t->modules.items);
	free(t->frames.items);
	free(t->stacks.items);
	free(t->origins.items);
	free(t->path.items);
	free(t->first_name.items);
	free(t->last_name.items);
	free(t->next_name.items);
	free(t);
}

static int copy_thread_name(struct mst_remap *t, const struct mst_thread_name *name)
{
	const char *text = name->name;
	int err = rename_text(t, MST_TEXT_THREAD, NULL, &text);

	if (!err)
		err = mst_writer_thread_name(t->to, t->threads.items[name->thread],
					     name->time << mst_reader_time_shift(t->from), text);
	return err == MST_ERR_LIMIT ? 0 : err;
}

/* Gives a new thread the names that it has had. */
static int copy_names_of(struct mst_remap *t, uint32_t thread)
{
	uint32_t n;
	const struct mst_thread_name *names = mst_reader_thread_names(t->from, &n);
	uint32_t i = thread < t->first_name.n ? t->first_name.items[thread] : MST_NONE;
	int err = 0;

	for (; i != MST_NONE && !err; i = t->next_name.items[i])
		err = copy_thread_name(t, &names[i]);
	return err;
}

int mst_remap_thread_names(struct mst_remap *t)
{
	uint32_t n, n_threads;
	const struct mst_thread_name *names = mst_reader_thread_names(t->from, &n);
	int err = 0;

	mst_reader_threads(t->from, &n_threads);
	for (; t->n_names < n && !err; t->n_names++) {
		const uint32_t i = t->n_names, thread = names[i].thread;

		if (thread < t->threads.n && t->threads.items[thread] != MST_NONE) {
			err = copy_thread_name(t, &names[i]);
			continue;
		}
		if (!reserve(&t->first_name, thread + 1) || !reserve(&t->last_name, thread + 1) ||
		    !reserve(&t->next_name, n))
			return MST_ERR_NOMEM;
		if (t->first_name.items[thread] == MST_NONE)
			t->first_name.items[thread] = i;
		else
			t->next_name.items[t->last_name.items[thread]] = i;
		t->last_name.items[thread] = i;
	}
	return err;
}

int mst_remap_thread(struct mst_remap *t, uint32_t thread, uint32_t *id)
{
	uint32_t n;
	const struct mst_thread *threads;
	int err = 0;

	assert(t->from);
	threads = mst_reader_threads(t->from, &n);
	if (thread >= n)
		return MST_ERR_ARGUMENT;
	if (!reserve(&t->threads, n))
		return MST_ERR_NOMEM;
	if (t->threads.items[thread] == MST_NONE && !(err = mst_remap_thread_names(t)) &&
	    !(err = mst_writer_thread(t->to, &threads[thread], &t->threads.items[thread])))
		err = copy_names_of(t, thread);
	*id = t->threads.items[thread];
	return err;
}

int mst_remap_thread_end(struct mst_remap *t, const struct mst_thread_end *end, uint64_t time_ns)
{
	const uint32_t id = end->thread < t->threads.n ? t->threads.items[end->thread] : MST_NONE;

	return id == MST_NONE ? 0 : mst_writer_thread_end(t->to, time_ns, id);
}

static int remap_module(struct mst_remap *t, uint32_t old, uint32_t *id)
{
	uint32_t n;
	struct mst_module module =
		(t->from ? mst_reader_modules(t->from, &n) : mst_writer_modules(t->before, &n))[old];
	const char *slash = t->strip_paths ? strrchr(module.path, '/') : NULL;
	int err = 0;

	assert(old < n);
	if (!reserve(&t->modules, n))
		return MST_ERR_NOMEM;
	if (slash && !t->rename)
		module.path = slash + 1;
	if (t->rename)
		module.build_id_size = 0;
	if (t->modules.items[old] == MST_NONE)
		err = rename_text(t, MST_TEXT_MODULE, NULL, &module.path);
	if (!err && t->modules.items[old] == MST_NONE)
		err = mst_writer_module(t->to, &module, &t->modules.items[old]);
	*id = t->modules.items[old];
	return err;
}

/* What a name is in the new trace. `module`: the path of the one that it is in; NULL: none. */
static int remap_name(const struct mst_remap *t, const char *module, struct mst_name *name)
{
	int err = rename_text(t, MST_TEXT_FUNCTION, module, &name->function);

	if (t->strip_paths)
		name->directory = NULL;
	if (!err)
		err = rename_text(t, MST_TEXT_FUNCTION, module, &name->full);
	return err ? err : rename_text(t, MST_TEXT_FILE, module, &name->file);
}

/* ---- frames of scripts ---- */

/* In the address of a script's frame: a function beyond all that SCRIPTS units may define. */
#define NAMED_ELSEWHERE (UINT64_C(1) << 61)

/* The function and line in the writer before. 1; 0: not known. */
static int script_in_writer(const struct mst_remap *t, const struct mst_frame *frame,
			    struct mst_script *script, uint32_t *line)
{
	uint32_t n;
	const struct mst_script *const scripts = mst_writer_scripts(t->before, &n);

	if (mst_script_function(frame) >= n)
		return 0;
	*script = scripts[mst_script_function(frame)];
	*line = mst_script_line(frame);
	return 1;
}

/* The same by the reader's names; *path is the caller's to free. 1; 0: not known; or an error. */
static int script_in_reader(const struct mst_remap *t, uint32_t old, struct mst_script *script,
			    uint32_t *line, char **path)
{
	struct mst_name name = { 0 };
	int err;

	if (mst_reader_names(t->from, old) != 1)
		return 0;
	name = mst_reader_name(t->from, old, 0);
	if ((err = remap_name(t, NULL, &name)))
		return err;
	*script = (struct mst_script){ .file = name.file ? name.file : "",
				       .function = name.function ? name.function : "" };
	*line = name.line;
	if (!name.directory)
		return 1;
	if (asprintf(path, "%s/%s", name.directory, script->file) < 0)
		return MST_ERR_NOMEM;
	script->file = *path;
	return 1;
}

/* Gives the frame the number that its function has in the new trace. What has none there gets its names by frame. */
static int remap_script(struct mst_remap *t, uint32_t old, struct mst_frame *frame)
{
	struct mst_script script = { 0 };
	char *path = NULL;
	uint32_t line = 0, id;
	int err = t->from ? script_in_reader(t, old, &script, &line, &path)
			  : script_in_writer(t, frame, &script, &line);

	if (err == 1 && (err = mst_writer_script(t->to, &script, &id)) == 0)
		frame->address = mst_script_address(id, line);
	else if (err == 0 || err == MST_ERR_LIMIT)
		frame->address |= NAMED_ELSEWHERE;
	free(path);
	return err == MST_ERR_LIMIT ? 0 : err;
}

int mst_remap_frame(struct mst_remap *t, uint32_t old, uint32_t *id)
{
	uint32_t n;
	const struct mst_frame *frames =
		t->from ? mst_reader_frames(t->from, &n) : mst_writer_frames(t->before, &n);
	int err = 0;

	if (old >= n)
		return MST_ERR_ARGUMENT;
	if (!reserve(&t->frames, n))
		return MST_ERR_NOMEM;
	if (t->frames.items[old] == MST_NONE) {
		struct mst_frame frame = frames[old];

		if (frame.module != MST_NONE)
			err = remap_module(t, frame.module, &frame.module);
		else if (mst_frame_is_script(&frame))
			err = remap_script(t, old, &frame);
		if (!err)
			err = mst_writer_frame(t->to, &frame, id);
		/* The same address in no module, other code: it stays a frame of its own. */
		if (!err && frame.module == MST_NONE && !mst_frame_is_script(&frame) && *id < t->origins.n &&
		    t->origins.items[*id] != MST_NONE)
			err = mst_writer_frame_again(t->to, &frame, id);
		if (err || !reserve(&t->origins, *id + 1))
			return err ? err : MST_ERR_NOMEM;
		t->frames.items[old] = *id;
		if (t->origins.items[*id] == MST_NONE)
			t->origins.items[*id] = old;
	}
	*id = t->frames.items[old];
	assert(*id != MST_NONE && t->origins.items[*id] != MST_NONE);
	return 0;
}

/* Collects in t->path the stacks from `stack` outwards that have no new id; *n of them. False: no memory. */
static bool find_path(struct mst_remap *t, const struct mst_stack *stacks, uint32_t stack, uint32_t *n)
{
	for (*n = 0; t->stacks.items[stack] == MST_NONE; stack = stacks[stack].parent) {
		if (!reserve(&t->path, *n + 1))
			return false;
		assert(stacks[stack].parent < stack);
		t->path.items[(*n)++] = stack;
	}
	return true;
}

int mst_remap_stack(struct mst_remap *t, uint32_t stack, uint32_t *id)
{
	uint32_t n;
	const struct mst_stack *stacks =
		t->from ? mst_reader_stacks(t->from, &n) : mst_writer_stacks(t->before, &n);
	uint32_t *ids;

	if (stack >= n)
		return MST_ERR_ARGUMENT;
	if (!reserve(&t->stacks, n))
		return MST_ERR_NOMEM;
	ids = t->stacks.items;
	ids[MST_ROOT_STACK] = MST_ROOT_STACK;
	if (!find_path(t, stacks, stack, &n))
		return MST_ERR_NOMEM;
	while (n > 0) {
		const struct mst_stack *old = &stacks[t->path.items[--n]];
		struct mst_stack stack_there = { .parent = ids[old->parent] };
		int err;

		assert(ids[old->parent] != MST_NONE);
		if ((err = mst_remap_frame(t, old->frame, &stack_there.frame)) ||
		    (err = mst_writer_stack(t->to, &stack_there, &ids[t->path.items[n]])))
			return err;
	}
	*id = ids[stack];
	return 0;
}

/* The path of the module that a frame is in; NULL: none. */
static const char *module_of(const struct mst_remap *t, uint32_t frame)
{
	uint32_t n;
	const uint32_t module = mst_reader_frames(t->from, &n)[frame].module;

	return module == MST_NONE ? NULL : mst_reader_modules(t->from, &n)[module].path;
}

static int remap_names_of(struct mst_remap *t, uint32_t old, uint32_t id)
{
	struct mst_name names[MST_MAX_NAMES];
	const uint32_t n = mst_reader_names(t->from, old);
	int err = 0;

	assert(n <= MST_MAX_NAMES);
	for (uint32_t i = 0; i < n && !err; i++) {
		names[i] = mst_reader_name(t->from, old, i);
		err = remap_name(t, module_of(t, old), &names[i]);
	}
	return n && !err ? mst_writer_names(t->to, id, names, n) : err;
}

int mst_remap_libraries(struct mst_remap *t)
{
	uint32_t n, n_frames, id;
	const struct mst_module *modules = mst_reader_modules(t->from, &n);
	const struct mst_frame *frames = mst_reader_frames(t->from, &n_frames);
	bool *has_frames = calloc(n + (size_t)1, sizeof(*has_frames));
	int err = has_frames ? 0 : MST_ERR_NOMEM;

	for (uint32_t i = 0; i < n_frames && !err; i++) {
		if (frames[i].module < n)
			has_frames[frames[i].module] = true;
	}
	for (uint32_t i = 0; i < n && !err; i++) {
		if (modules[i].role == MST_MODULE_LIBRARY && !has_frames[i])
			err = remap_module(t, i, &id);
	}
	free(has_frames);
	return err;
}

int mst_remap_unloaded(struct mst_remap *t)
{
	uint32_t n, id;
	const struct mst_module *modules = mst_reader_modules(t->from, &n);
	int err = reserve(&t->modules, n) ? 0 : MST_ERR_NOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		struct mst_module module = modules[i];

		if (module.role != MST_MODULE_UNLOADED || module.order >= i ||
		    t->modules.items[module.order] == MST_NONE)
			continue;
		module.order = t->modules.items[module.order];
		if ((err = rename_text(t, MST_TEXT_MODULE, NULL, &module.path)))
			break;
		err = mst_writer_module(t->to, &module, &id);
	}
	return err;
}

int mst_remap_names(struct mst_remap *t)
{
	uint32_t n, n_scripts;
	const struct mst_frame *const frames = mst_writer_frames(t->to, &n);
	int err = 0;

	assert(t->from);
	mst_writer_scripts(t->to, &n_scripts);
	mst_writer_steady_texts(t->to);
	for (uint32_t i = 0; i < n && i < t->origins.n && !err; i++) {
		if (mst_frame_is_script(&frames[i]) && mst_script_function(&frames[i]) < n_scripts)
			continue;
		if (t->origins.items[i] != MST_NONE)
			err = remap_names_of(t, t->origins.items[i], i);
	}
	return err;
}
