/* SPDX-License-Identifier: MIT */
#include "symbolizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"
#include "jit.h"
#include "symbols.h"

/* What is done about the frames of a module. */
struct plan {
	bool wanted;
	bool gone;
	bool told; /* a notice has said so */
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
	       pinned_files_state(task->pinned_files, module, m->path) != KEPT_SAME;
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
		any = frames[i].module == MST_NONE;
	return any;
}

static bool add_module(struct symbolizer *n, uint32_t i)
{
	const struct mst_module *m = &n->modules[i];
	const int fd = pinned_files_fd(n->task->pinned_files, i);
	char held[64];
	const struct symbols_module module = {
		.path = m->path,
		.build_id = m->build_id,
		.build_id_size = m->build_id_size,
		.held = fd >= 0 ? held : NULL,
	};

	snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
	return symbols_add_module(n->symbols, &module) == i;
}

static int prepare(struct symbolizer *n)
{
	n->modules = mst_writer_modules(n->task->writer, &n->n_modules);
	n->plans = calloc(n->n_modules + 1u, sizeof(*n->plans));
	n->symbols = symbols_create(NULL, 0);
	if (!n->plans || !n->symbols)
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < n->n_modules; i++) {
		n->plans[i] = plan_module(n->task, i, &n->modules[i]);
		if (!add_module(n, i))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static void tell_gone(struct symbolizer *n, uint32_t module)
{
	const char *path = n->modules[module].path;
	const bool deleted = pinned_files_state(n->task->pinned_files, module, path) == KEPT_DELETED;

	/* A library in memory was never anywhere else. */
	if (!n->plans[module].gone || n->plans[module].told || strncmp(path, "/proc/", 6) == 0)
		return;
	n->plans[module].told = true;
	notices_add(n->task->said, "%s %s; the names of its functions are kept in the trace", path,
		    deleted ? "is gone" : "was replaced while it ran");
}

/* ---- frames ---- */

static int name_in_module(struct symbolizer *n, uint32_t frame, uint32_t module, uint64_t address)
{
	if (!n->plans[module].wanted || !symbols_has_file(n->symbols, module))
		return 0;
	tell_gone(n, module);
	return embed_names(n->task->writer, frame, symbols_describe(n->symbols, module, address),
			   symbols_linker_name(n->symbols, module, address));
}

static int name_made_code(struct symbolizer *n, uint32_t frame, uint64_t address)
{
	struct symbol_line line = { 0 };
	const struct symbol_chain chain = { .n = 1, .lines = &line };
	struct jit_name name;
	const char *slash;
	char *directory;
	int error;

	if (!n->asked_jit)
		n->jit = jit_open(n->task->pid, n->task->folder, n->task->since);
	n->asked_jit = true;
	name = n->jit ? jit_find(n->jit, address) : (struct jit_name){ 0 };
	if (!name.function)
		return 0;
	slash = name.file ? strrchr(name.file, '/') : NULL;
	directory = slash ? strndup(name.file, (size_t)(slash - name.file)) : NULL;
	line = (struct symbol_line){
		.directory = directory,
		.file = slash ? slash + 1 : name.file,
		.line = (int)name.line,
	};
	error = embed_names(n->task->writer, frame, &chain, name.function);
	free(directory);
	return error;
}

static int name_frames(struct symbolizer *n)
{
	uint32_t n_frames;
	int error = 0;

	mst_writer_frames(n->task->writer, &n_frames);
	for (uint32_t i = 0; i < n_frames && !error; i++) {
		const struct mst_frame frame = mst_writer_frames(n->task->writer, &n_frames)[i];

		error = frame.module == MST_NONE ? name_made_code(n, i, frame.address)
						 : name_in_module(n, i, frame.module, frame.address);
	}
	return error;
}

int symbolizer_run(const struct symbolizer_task *task)
{
	struct symbolizer n = { .task = task };
	int error = prepare(&n);
	const char *notice;

	if (!error)
		error = name_frames(&n);
	for (size_t i = 0; n.symbols && (notice = symbols_notice(n.symbols, i)); i++)
		notices_add(task->said, "%s", notice);
	jit_close(n.jit);
	symbols_destroy(n.symbols);
	free(n.plans);
	return error;
}
