/* SPDX-License-Identifier: MIT */
#include "symbolizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"
#include "jit.h"
#include "symbols.h"

/* How the frames of a module are treated. */
struct plan {
	bool wanted;
	bool gone;
	bool reported; /* a notice has said so */
};

struct symbolizer {
	const struct symbolizer_task *task;
	const struct mst_module *modules;
	uint32_t n_modules;
	struct plan *plans; /* by module */
	struct symbols *symbols;
	struct jit *jit;
	bool asked_jit;
};

/* ---- modules ---- */

static bool is_gone(const struct symbolizer_task *task, uint32_t module, const struct mst_module *m)
{
	return m->role != MST_MODULE_VDSO &&
	       pinned_files_state(task->pinned_files, module, m->path) != PINNED_SAME;
}

static struct plan plan_module(const struct symbolizer_task *task, uint32_t module,
			       const struct mst_module *m)
{
	const bool gone = is_gone(task, module, m);

	return (struct plan){ .wanted = task->all || gone || m->role == MST_MODULE_VDSO, .gone = gone };
}

bool symbolizer_has_work(const struct symbolizer_task *task)
{
	uint32_t n_modules, n_frames;
	const struct mst_module *modules = mst_writer_modules(task->writer, &n_modules);
	const struct mst_frame *frames = mst_writer_frames(task->writer, &n_frames);
	bool any = false;

	for (uint32_t i = 0; i < n_modules && !any; i++)
		any = plan_module(task, i, &modules[i]).wanted;
	for (uint32_t i = 0; i < n_frames && !any; i++)
		any = frames[i].module == MST_NONE && !mst_frame_is_script(&frames[i]);
	return any;
}

static bool add_module(struct symbolizer *s, uint32_t i)
{
	const struct mst_module *m = &s->modules[i];
	const int fd = pinned_files_fd(s->task->pinned_files, i);
	char pinned[64];
	const struct symbols_module module = {
		.path = m->path,
		.build_id = m->build_id,
		.build_id_size = m->build_id_size,
		.pinned = fd >= 0 ? pinned : NULL,
	};

	snprintf(pinned, sizeof(pinned), "/proc/self/fd/%d", fd);
	return symbols_add_module(s->symbols, &module) == i;
}

static int prepare(struct symbolizer *s)
{
	s->modules = mst_writer_modules(s->task->writer, &s->n_modules);
	s->plans = calloc(s->n_modules + 1u, sizeof(*s->plans));
	s->symbols = symbols_create(NULL, 0);
	if (!s->plans || !s->symbols)
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < s->n_modules; i++) {
		s->plans[i] = plan_module(s->task, i, &s->modules[i]);
		if (!add_module(s, i))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static void report_gone(struct symbolizer *s, uint32_t module)
{
	const char *path = s->modules[module].path;
	const bool deleted = pinned_files_state(s->task->pinned_files, module, path) == PINNED_DELETED;

	/* A library in memory never had a file. */
	if (!s->plans[module].gone || s->plans[module].reported || strncmp(path, "/proc/", 6) == 0)
		return;
	s->plans[module].reported = true;
	notices_add(s->task->notices, "%s %s; the names of its functions are kept in the trace", path,
		    deleted ? "is gone" : "was replaced while it ran");
}

/* ---- frames ---- */

static int name_in_module(struct symbolizer *s, uint32_t frame, uint32_t module, uint64_t address)
{
	if (!s->plans[module].wanted || !symbols_has_file(s->symbols, module))
		return 0;
	report_gone(s, module);
	return embed_names(s->task->writer, frame, symbols_describe(s->symbols, module, address),
			   symbols_linker_name(s->symbols, module, address));
}

/* A function in a file outside of all modules. NULL: no such file is known. */
static int name_outside(struct symbolizer *s, uint32_t frame, const char *function, const char *file,
			uint32_t number)
{
	const char *const slash = file ? strrchr(file, '/') : NULL;
	char *const directory = slash ? strndup(file, (size_t)(slash - file)) : NULL;
	struct symbol_line line = {
		.directory = directory,
		.file = slash ? slash + 1 : file,
		.line = (int)number,
	};
	const struct symbol_chain chain = { .n = 1, .lines = &line };
	const int error = embed_names(s->task->writer, frame, &chain, function);

	free(directory);
	return error;
}

static int name_generated_code(struct symbolizer *s, uint32_t frame, uint64_t address)
{
	struct jit_name name;
	const char *before;

	if (s->task->generated && (before = generated_name(s->task->generated, frame)))
		return name_outside(s, frame, before, NULL, 0);
	if (!s->asked_jit)
		s->jit = jit_open(s->task->pid, s->task->folder, s->task->since);
	s->asked_jit = true;
	name = s->jit ? jit_find(s->jit, address) : (struct jit_name){ 0 };
	/* The program may have removed its file. */
	if (!name.function && s->task->generated)
		name.function = generated_last_name(s->task->generated, address);
	if (!name.function)
		return 0;
	return name_outside(s, frame, name.function, name.file, name.line);
}

static int name_frames(struct symbolizer *s)
{
	uint32_t n_frames;
	int error = 0;

	mst_writer_frames(s->task->writer, &n_frames);
	for (uint32_t i = 0; i < n_frames && !error; i++) {
		const struct mst_frame frame = mst_writer_frames(s->task->writer, &n_frames)[i];

		/* The names of scripts are in the trace already. */
		if (mst_frame_is_script(&frame))
			continue;
		error = frame.module == MST_NONE ? name_generated_code(s, i, frame.address)
						 : name_in_module(s, i, frame.module, frame.address);
	}
	return error;
}

int symbolizer_run(const struct symbolizer_task *task)
{
	struct symbolizer s = { .task = task };
	int error = prepare(&s);
	const char *notice;

	if (!error)
		error = name_frames(&s);
	for (size_t i = 0; s.symbols && (notice = symbols_notice(s.symbols, i)); i++)
		notices_add(task->notices, "%s", notice);
	jit_close(s.jit);
	symbols_destroy(s.symbols);
	free(s.plans);
	return error;
}
