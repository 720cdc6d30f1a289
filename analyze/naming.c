/* SPDX-License-Identifier: MIT */
#include "naming.h"

#include <stdlib.h>

struct naming {
	const struct mst_reader *reader;
	struct symbols *symbols;
	uint32_t *modules; /* by module of the trace: index in the symbolizer */
	uint32_t n_modules;
};

struct naming *naming_create(const struct mst_reader *reader, const char *const *search_dirs,
			     size_t n_search_dirs)
{
	struct naming *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->reader = reader;
	n->symbols = symbols_create(search_dirs, n_search_dirs);
	if (!n->symbols) {
		naming_destroy(n);
		return NULL;
	}
	return n;
}

void naming_destroy(struct naming *n)
{
	if (!n)
		return;
	symbols_destroy(n->symbols);
	free(n->modules);
	free(n);
}

struct symbols *naming_symbols(struct naming *n)
{
	return n->symbols;
}

static const struct mst_frame *frame_at(const struct naming *n, uint32_t frame)
{
	uint32_t count;

	return &mst_reader_frames(n->reader, &count)[frame];
}

/* Tells the symbolizer of modules that have been read since. False: no memory. */
static bool add_modules(struct naming *n, uint32_t wanted)
{
	uint32_t count;
	const struct mst_module *modules = mst_reader_modules(n->reader, &count);
	uint32_t *grown;

	if (wanted < n->n_modules)
		return true;
	grown = realloc(n->modules, count * sizeof(*grown));
	if (!grown)
		return false;
	n->modules = grown;
	for (; n->n_modules < count; n->n_modules++) {
		const struct mst_module *m = &modules[n->n_modules];
		const struct symbols_module module = { m->path, m->build_id, m->build_id_size, NULL };

		n->modules[n->n_modules] = symbols_add_module(n->symbols, &module);
	}
	return true;
}

/* The symbolizer's module of a frame; false: the frame is in no object. */
static bool module_of(struct naming *n, const struct mst_frame *frame, uint32_t *module)
{
	if (frame->module == MST_NONE || !add_modules(n, frame->module))
		return false;
	*module = n->modules[frame->module];
	return true;
}

enum symbol_role naming_role(struct naming *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return module_of(n, f, &module) ? symbols_role(n->symbols, module, f->address) : SYMBOL_OTHER;
}

const char *naming_function(struct naming *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return module_of(n, f, &module) ? symbols_function(n->symbols, module, f->address) : NULL;
}

const struct symbol_chain *naming_describe(struct naming *n, uint32_t frame)
{
	static const struct symbol_line unknown_line = { 0 };
	static const struct symbol_chain unknown = { .n = 1, .lines = &unknown_line };
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return module_of(n, f, &module) ? symbols_describe(n->symbols, module, f->address) : &unknown;
}

const char *naming_object(struct naming *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return module_of(n, f, &module) ? symbols_object(n->symbols, module) : NULL;
}

uint64_t naming_address(struct naming *n, uint32_t frame)
{
	return frame_at(n, frame)->address;
}

/* Executable, interpreter, libraries; in load order among themselves. No object comes first. */
static uint64_t module_rank(const struct naming *n, uint32_t module)
{
	static const uint8_t rank[] = {
		[MST_MODULE_EXECUTABLE] = 1,
		[MST_MODULE_INTERPRETER] = 2,
		[MST_MODULE_LIBRARY] = 3,
		[MST_MODULE_VDSO] = 4,
	};
	uint32_t count;
	const struct mst_module *m;

	if (module == MST_NONE)
		return 0;
	m = &mst_reader_modules(n->reader, &count)[module];
	return (uint64_t)(m->role < sizeof(rank) ? rank[m->role] : sizeof(rank)) << 32 | m->order;
}

int naming_compare(struct naming *n, uint32_t a, uint32_t b)
{
	const struct mst_frame *fa = frame_at(n, a), *fb = frame_at(n, b);
	const uint64_t ra = module_rank(n, fa->module), rb = module_rank(n, fb->module);

	if (ra != rb)
		return ra < rb ? -1 : 1;
	if (fa->module != fb->module)
		return fa->module < fb->module ? -1 : 1;
	return (fa->address > fb->address) - (fa->address < fb->address);
}
