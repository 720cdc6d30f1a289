/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "fleet_key.h"
#include "fleet_sums.h"
#include "hex.h"
#include "label_text.h"

/* ---- Functions ---- */

static const struct mst_module *find_module(const struct fleet *f, uint32_t module)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(f->report->reader, &n);
	return module < n ? &modules[module] : NULL;
}

/* The program has no name: it is the program, however its file is called. */
static const char *module_name(const struct fleet *f, uint32_t module)
{
	const struct mst_module *m = find_module(f, module);
	return !m || m->role == MST_MODULE_EXECUTABLE ? "" : sites_module(f->report->sites, module);
}

static uint64_t hash_build(uint64_t key, const struct mst_module *module)
{
	char text[2 * MST_BUILD_ID_MAX + 1] = "";
	if (!module)
		return fleet_key_text(key, "");
	hex_put(text, module->build_id, module->build_id_size);
	return fleet_key_text(key, *text ? text : module->path);
}

/* The item of a call's function. NULL: no memory. */
static struct fleet_item *find_function(struct fleet *f, enum fleet_part part, uint32_t call, uint32_t module)
{
	static const struct call none = { .function = "[no stack]", .file = "", .named = true };
	const struct call *c = call == MST_NONE ? &none : call_sites_at(f->report->calls, call);
	char *name = pool_copy(&f->pool, c->function), *library = pool_copy(&f->pool, module_name(f, module));
	bool fresh;
	if (!name || !library)
		return NULL;
	if (c->named)
		label_text_trim(name);
	label_text_module(library);
	uint64_t key = fleet_key_text(fleet_key_text(FLEET_KEY_BASIS, name), library);
	if (!c->named)
		key = hash_build(key, find_module(f, module));
	struct fleet_item *item = fleet_items_find(&f->parts[part], fleet_key_end(key), &fresh);
	if (!item || !fresh)
		return item;
	item->function = item->key;
	item->call = call;
	item->module = module;
	item->name = name;
	item->label_module = library;
	return item;
}

/* The functions of a frame, named when it is first seen. NULL: no memory. */
static const struct fleet_frame *find_frame(struct fleet *f, uint32_t frame, const struct mst_frame *frames)
{
	struct fleet_frame *known = &f->frames[frame];
	uint32_t n;
	if (known->known)
		return known;
	const uint32_t *calls = call_sites_of(f->report->calls, frame, &n);
	if (!calls)
		return NULL;
	*known = (struct fleet_frame){ .first = f->n_functions, .known = true };
	for (uint32_t i = 0; i < n; i++) {
		const struct fleet_item *item =
			find_function(f, FLEET_FUNCTION, calls[i], frames[frame].module);
		if (!item ||
		    !array_reserve(&f->functions, f->n_functions, &f->room_functions, sizeof(*f->functions)))
			return NULL;
		f->functions[f->n_functions++] = (uint32_t)(item - f->parts[FLEET_FUNCTION].items);
		known->n++;
	}
	return known;
}

/* ---- Frames ---- */

/* The number of a frame's item; MST_NONE: no memory. */
static uint32_t frame_item(struct fleet *f, uint32_t frame, const struct mst_frame *frames)
{
	bool fresh;
	if (f->frame_items[frame])
		return f->frame_items[frame] - 1;
	const struct fleet_frame *known = find_frame(f, frame, frames);
	const uint64_t key = hash_build(FLEET_KEY_BASIS, find_module(f, frames[frame].module));
	struct fleet_item *item =
		known ? fleet_items_find(&f->parts[FLEET_FRAME],
					 fleet_key_end(fleet_key_number(key, frames[frame].address)), &fresh)
		      : NULL;
	if (!item)
		return MST_NONE;
	if (fresh) {
		item->frame = frame;
		item->module = frames[frame].module;
		item->function =
			known->n ? f->parts[FLEET_FUNCTION].items[f->functions[known->first]].key : 0;
	}
	f->frame_items[frame] = (uint32_t)(item - f->parts[FLEET_FRAME].items) + 1;
	return f->frame_items[frame] - 1;
}

/* ---- Stacks ---- */

/* Which items have the present stack already: it calls itself. */
struct seen {
	uint32_t *by[2]; /* of functions and frames: the stack, counted from 1 */
	uint32_t room[2];
};

static bool see(struct seen *seen, unsigned which, uint32_t item, uint32_t stack, bool *again)
{
	if (!array_reserve_zeroed(&seen->by[which], item, &seen->room[which], sizeof(uint32_t)))
		return false;
	*again = seen->by[which][item] == stack + 1;
	seen->by[which][item] = stack + 1;
	return true;
}

static void add_to(struct fleet_item *item, const struct group *g, const uint64_t figures[FLEET_FIGURES])
{
	fleet_figures_add(item->figures, figures);
	if (item->largest == 0 || g->bytes > item->largest) {
		item->largest = g->bytes;
		item->stack = g->stack;
	}
}

/* False: no memory. */
static bool add_once(struct fleet *f, enum fleet_part part, uint32_t number, struct seen *seen,
		     const struct group *g, const uint64_t figures[FLEET_FIGURES])
{
	bool again;
	if (!see(seen, part == FLEET_FRAME, number, g->stack, &again))
		return false;
	if (!again)
		add_to(&f->parts[part].items[number], g, figures);
	return true;
}

/* Functions and frames, each once. False: no memory. */
static bool add_calls(struct fleet *f, const struct group *g, const uint64_t figures[FLEET_FIGURES],
		      struct seen *seen)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(f->report->reader, &n);
	const struct mst_frame *frames = mst_reader_frames(f->report->reader, &n);
	for (uint32_t s = g->stack; s != MST_ROOT_STACK; s = stacks[s].parent) {
		const uint32_t item = frame_item(f, stacks[s].frame, frames);
		if (item == MST_NONE || !add_once(f, FLEET_FRAME, item, seen, g, figures))
			return false;
		const struct fleet_frame *known = &f->frames[stacks[s].frame];
		for (uint32_t i = 0; i < known->n; i++) {
			if (!add_once(f, FLEET_FUNCTION, f->functions[known->first + i], seen, g, figures))
				return false;
		}
	}
	return true;
}

/* False: no memory. */
static bool add_stack(struct fleet *f, const struct group *g, struct seen *seen)
{
	struct report *r = f->report;
	const struct site *site = sites_of(r->sites, g->stack);
	uint64_t figures[FLEET_FIGURES];
	bool fresh;
	const uint64_t id = sites_id(r->sites, g->stack);
	if (!site || !id)
		return false;
	fleet_figures_of(figures, g);
	struct fleet_item *item = find_function(f, FLEET_SITE, site->call, site->module);
	if (!item)
		return false;
	f->site_of[g->stack] = (uint32_t)(item - f->parts[FLEET_SITE].items);
	if (g->bytes > item->largest) {
		item->call = site->call;
		item->module = site->module;
	}
	add_to(item, g, figures);
	const uint64_t function = item->key;
	const char *name = item->name;
	struct fleet_item *stack = fleet_items_find(&f->parts[FLEET_STACK], id, &fresh);
	if (!stack)
		return false;
	add_to(stack, g, figures);
	if (fresh) {
		stack->function = function;
		stack->name = name;
	}
	return add_calls(f, g, figures, seen);
}

bool fleet_stacks_add(struct fleet *f)
{
	struct seen seen = { 0 };
	mst_reader_stacks(f->report->reader, &f->n_stacks);
	mst_reader_frames(f->report->reader, &f->n_frames);
	f->frames = calloc(f->n_frames + (size_t)1, sizeof(*f->frames));
	f->frame_items = calloc(f->n_frames + (size_t)1, sizeof(*f->frame_items));
	f->site_of = malloc((f->n_stacks + (size_t)1) * sizeof(*f->site_of));
	bool fine = f->frames && f->frame_items && f->site_of;
	for (uint32_t i = 0; fine && i < f->n_stacks; i++)
		f->site_of[i] = MST_NONE;
	for (uint32_t i = 0; fine && i < f->nodes.n; i++)
		fine = add_stack(f, &f->nodes.items[i], &seen);
	free(seen.by[0]);
	free(seen.by[1]);
	return fine;
}

/* ---- For rows ---- */

/* Whether all calls of a stack are in rows of their own. */
static bool is_kept(const struct fleet *f, const struct mst_stack *stacks, uint32_t stack,
		    enum fleet_part part)
{
	for (; stack != MST_ROOT_STACK; stack = stacks[stack].parent) {
		const uint32_t frame = stacks[stack].frame;
		const struct fleet_frame *known = &f->frames[frame];
		if (part == FLEET_FRAME && !f->parts[part].items[f->frame_items[frame] - 1].kept)
			return false;
		for (uint32_t i = 0; part == FLEET_FUNCTION && i < known->n; i++) {
			if (!f->parts[part].items[f->functions[known->first + i]].kept)
				return false;
		}
	}
	return true;
}

void fleet_sums_rest(const struct fleet *f, enum fleet_part part, uint64_t rest[FLEET_FIGURES])
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(f->report->reader, &n);
	for (uint32_t i = 0; i < f->nodes.n; i++) {
		uint64_t figures[FLEET_FIGURES];
		fleet_figures_of(figures, &f->nodes.items[i]);
		if (!is_kept(f, stacks, f->nodes.items[i].stack, part))
			fleet_figures_add(rest, figures);
	}
}

const char *fleet_stacks_path(const struct fleet *f, uint32_t stack, struct callstack *frames,
			      struct stack_path *path)
{
	path->n = 0;
	if (!callstack_load(frames, stack))
		return NULL;
	for (uint32_t i = frames->n; i-- > 0;) {
		const struct fleet_frame *known = &f->frames[frames->frames[i]];
		for (uint32_t k = known->n; k-- > 0;) {
			const uint32_t number = f->functions[known->first + k];
			if (!stack_path_append(path, f->parts[FLEET_FUNCTION].items[number].name))
				return NULL;
		}
	}
	return stack_path_text(path);
}
