/* SPDX-License-Identifier: MIT */
#include "symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "embed.h"
#include "embedded_names.h"
#include "ranges.h"

/* The name of a frame that is no code: the callers of stacks that were cut. A trace has one; a crafted one may have more. */
struct cut_name {
	char text[40];
	struct symbol_line line;
	struct symbol_chain chain;
};

struct symbolizer {
	const struct mst_reader *reader;
	struct cut_name cut;
	struct embedded_names *embedded;
	bool files_first;
	struct symbols *symbols;
	uint32_t *modules; /* by module of the trace: index in the symbolizer */
	uint32_t n_modules;
	bool *unloaded;                 /* by module of the trace: gone at its end */
	struct ranges open;             /* of addresses; value: module that is not */
	uint32_t n_embedded;            /* modules that these two are about */
	uint32_t *same;                 /* by frame of the trace */
	uint32_t n_same, same_embedded; /* frames and modules that it is about */
};

struct symbolizer *symbolize_create(const struct mst_reader *reader, const char *const *search_dirs,
				    size_t n_search_dirs, bool cache)
{
	struct symbolizer *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->reader = reader;
	n->files_first = n_search_dirs > 0;
	n->embedded = embedded_create(reader);
	n->symbols = symbols_create(search_dirs, n_search_dirs);
	if (!n->symbols || !n->embedded) {
		symbolize_destroy(n);
		return NULL;
	}
	if (cache)
		symbols_use_cache(n->symbols);
	return n;
}

void symbolize_destroy(struct symbolizer *n)
{
	if (!n)
		return;
	embedded_destroy(n->embedded);
	symbols_destroy(n->symbols);
	free(n->modules);
	free(n->unloaded);
	free(n->same);
	ranges_finish(&n->open);
	free(n);
}

struct symbols *symbolize_symbols(struct symbolizer *n)
{
	return n->symbols;
}

static const struct mst_frame *frame_at(const struct symbolizer *n, uint32_t frame)
{
	uint32_t count;

	return &mst_reader_frames(n->reader, &count)[frame];
}

/* Adds the modules that have been read since to the symbolizer. False: no memory. */
static bool add_modules(struct symbolizer *n, uint32_t wanted)
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
		const struct symbols_module module = {
			.path = m->path,
			.build_id = m->build_id,
			.build_id_size = m->build_id_size,
			.recorded_ns = mst_reader_info(n->reader)->start_ns,
		};

		n->modules[n->n_modules] = symbols_add_module(n->symbols, &module);
	}
	return true;
}

/* The symbolizer's module of a frame; false: the frame is in no object. */
static bool module_of(struct symbolizer *n, const struct mst_frame *frame, uint32_t *module)
{
	if (frame->module == MST_NONE || !add_modules(n, frame->module))
		return false;
	*module = n->modules[frame->module];
	return true;
}

static const struct symbol_chain *chain_in_files(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return symbols_describe(n->symbols, module_of(n, f, &module) ? module : SYMBOLS_NO_MODULE,
				f->address);
}

static const char *linker_name_in_files(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return module_of(n, f, &module) ? symbols_linker_name(n->symbols, module, f->address) : NULL;
}

/* Whether the trace is to be believed: it has names, and no file comes first and knows as much. */
static bool is_embedded(struct symbolizer *n, uint32_t frame)
{
	if (mst_reader_names(n->reader, frame) == 0)
		return false;
	if (!n->files_first)
		return true;
	if (chain_in_files(n, frame)->lines[0].file)
		return false;
	return !linker_name_in_files(n, frame) || mst_reader_name(n->reader, frame, 0).file;
}

static const char *linker_name(struct symbolizer *n, uint32_t frame)
{
	return is_embedded(n, frame) ? embedded_linker_name(n->embedded, frame)
				     : linker_name_in_files(n, frame);
}

enum symbol_role symbolize_role(struct symbolizer *n, uint32_t frame)
{
	/* A script's main() is a function like others. */
	return mst_frame_is_script(frame_at(n, frame)) ? SYMBOL_OTHER : symbol_role_of(linker_name(n, frame));
}

static const struct symbol_chain *cut_chain(struct symbolizer *n, uint32_t frames)
{
	snprintf(n->cut.text, sizeof(n->cut.text), "[stack cut at %" PRIu32 " frame%s]", frames,
		 frames == 1 ? "" : "s");
	n->cut.line = (struct symbol_line){ .function = n->cut.text };
	n->cut.chain = (struct symbol_chain){ .n = 1, .lines = &n->cut.line };
	return &n->cut.chain;
}

static const struct symbol_line earlier_line = { .function = "[before the recording]" };
static const struct symbol_chain earlier = { .n = 1, .lines = &earlier_line };

const struct symbol_chain *symbolize_describe(struct symbolizer *n, uint32_t frame)
{
	const uint32_t cut = mst_frame_cut(frame_at(n, frame));

	if (cut)
		return cut_chain(n, cut);
	if (mst_frame_is_earlier(frame_at(n, frame)))
		return &earlier;

	const struct symbol_chain *embedded =
		is_embedded(n, frame) ? embedded_chain(n->embedded, frame) : NULL;

	return embedded ? embedded : chain_in_files(n, frame);
}

const char *symbolize_function(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	if (mst_frame_cut(f))
		return cut_chain(n, mst_frame_cut(f))->lines[0].function;
	if (mst_frame_is_earlier(f))
		return earlier.lines[0].function;
	if (is_embedded(n, frame))
		return embedded_function(n->embedded, frame);
	return module_of(n, f, &module) ? symbols_function(n->symbols, module, f->address) : NULL;
}

static bool is_worth_embedding(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return is_embedded(n, frame) || (module_of(n, f, &module) && symbols_has_file(n->symbols, module));
}

int symbolize_embed(struct symbolizer *n, struct mst_writer *writer)
{
	uint32_t n_frames;
	int error = 0;

	mst_reader_frames(n->reader, &n_frames);
	mst_writer_steady_texts(writer);
	for (uint32_t i = 0; i < n_frames && !error; i++)
		if (is_worth_embedding(n, i))
			error = embed_names(writer, i, symbolize_describe(n, i), linker_name(n, i));
	return error;
}

const char *symbolize_object(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	return module_of(n, f, &module) ? symbols_object(n->symbols, module) : NULL;
}

struct type_info *symbolize_types(struct symbolizer *n, uint32_t frame, uint64_t *address)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	*address = f->address;
	return module_of(n, f, &module) ? symbols_types(n->symbols, module) : NULL;
}

/* Notes the modules that are gone at the end of what has been read of the trace. */
static bool note_unloaded(struct symbolizer *n)
{
	uint32_t count;
	const struct mst_module *modules = mst_reader_modules(n->reader, &count);

	if (n->n_embedded == count)
		return true;
	n->n_embedded = 0;
	free(n->unloaded);
	ranges_finish(&n->open);
	n->open = (struct ranges){ 0 };
	n->unloaded = calloc(count, sizeof(*n->unloaded));
	if (!n->unloaded)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		n->unloaded[i] |= modules[i].role == MST_MODULE_UNLOADED;
		if (modules[i].role == MST_MODULE_UNLOADED && modules[i].order < i)
			n->unloaded[modules[i].order] = true;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!n->unloaded[i] && !ranges_add(&n->open, modules[i].start, modules[i].end, i))
			return false;
	}
	ranges_seal(&n->open);
	n->n_embedded = count;
	return true;
}

/* Whether the frame's module is gone at the end. */
static bool is_unloaded(struct symbolizer *n, const struct mst_frame *f)
{
	return f->module != MST_NONE && note_unloaded(n) && n->unloaded[f->module];
}

/* What is where an unloaded frame was, by the end. */
static struct mst_frame frame_at_end(const struct symbolizer *n, const struct mst_frame *f)
{
	uint32_t count;
	const struct mst_module *modules = mst_reader_modules(n->reader, &count);
	const uint64_t address = f->address + modules[f->module].bias;
	const uint32_t module = ranges_find(&n->open, address);

	if (module == RANGES_NONE)
		return (struct mst_frame){ .module = MST_NONE, .address = address };
	return (struct mst_frame){ .module = module, .address = address - modules[module].bias };
}

const struct symbol_chain *symbolize_describe_at_end(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	if (!is_unloaded(n, f))
		return symbolize_describe(n, frame);
	const struct mst_frame now = frame_at_end(n, f);

	return symbols_describe(n->symbols, module_of(n, &now, &module) ? module : SYMBOLS_NO_MODULE,
				now.address);
}

const char *symbolize_object_at_end(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t module;

	if (!is_unloaded(n, f))
		return symbolize_object(n, frame);
	const struct mst_frame now = frame_at_end(n, f);

	return module_of(n, &now, &module) ? symbols_object(n->symbols, module) : NULL;
}

uint64_t symbolize_address(struct symbolizer *n, uint32_t frame)
{
	const struct mst_frame *f = frame_at(n, frame);
	uint32_t count;

	if (!mst_reader_info(n->reader)->exact || f->module == MST_NONE)
		return f->address;
	return f->address + mst_reader_modules(n->reader, &count)[f->module].bias;
}

/* Executable, interpreter, libraries; in load order among themselves. No object comes first. */
static uint64_t module_rank(const struct symbolizer *n, uint32_t module)
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

int symbolize_compare(struct symbolizer *n, uint32_t a, uint32_t b)
{
	const struct mst_frame *fa = frame_at(n, a), *fb = frame_at(n, b);
	const uint64_t addresses[2] = { symbolize_address(n, a), symbolize_address(n, b) };
	const uint64_t ra = module_rank(n, fa->module), rb = module_rank(n, fb->module);

	if (mst_reader_info(n->reader)->exact && addresses[0] != addresses[1])
		return addresses[0] < addresses[1] ? -1 : 1;
	if (ra != rb)
		return ra < rb ? -1 : 1;
	if (fa->module != fb->module)
		return fa->module < fb->module ? -1 : 1;
	return (fa->address > fb->address) - (fa->address < fb->address);
}

/* By address; equal ones with those first whose module is there at the end. */
static int compare_addresses(const void *va, const void *vb, void *symbolizer)
{
	struct symbolizer *n = symbolizer;
	const uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const uint64_t address_a = symbolize_address(n, a), address_b = symbolize_address(n, b);
	const bool gone_a = is_unloaded(n, frame_at(n, a)), gone_b = is_unloaded(n, frame_at(n, b));

	if (address_a != address_b)
		return address_a < address_b ? -1 : 1;
	return gone_a != gone_b ? gone_a - gone_b : (a > b) - (a < b);
}

static bool any_unloaded(struct symbolizer *n)
{
	bool any = false;

	if (!mst_reader_info(n->reader)->exact || !note_unloaded(n))
		return false;
	for (uint32_t i = 0; i < n->n_embedded && !any; i++)
		any = n->unloaded[i];
	return any;
}

const uint32_t *symbolize_same_addresses(struct symbolizer *n)
{
	uint32_t count, *order;

	if (!any_unloaded(n))
		return NULL;
	mst_reader_frames(n->reader, &count);
	if (n->same && n->n_same == count && n->same_embedded == n->n_embedded)
		return n->same;
	free(n->same);
	n->n_same = count;
	n->same_embedded = n->n_embedded;
	n->same = calloc(count, sizeof(*n->same));
	order = calloc(count, sizeof(*order));
	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order && n->same) {
		qsort_r(order, count, sizeof(*order), compare_addresses, n);
		for (uint32_t i = 0; i < count; i++) {
			const bool alike =
				i && symbolize_address(n, order[i]) == symbolize_address(n, order[i - 1]);

			n->same[order[i]] = alike ? n->same[order[i - 1]] : order[i];
		}
	} else {
		free(n->same);
		n->same = NULL;
	}
	free(order);
	return n->same;
}
