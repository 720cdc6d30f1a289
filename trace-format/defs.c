/* SPDX-License-Identifier: MIT */
#include "defs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mst_limits.h"
#include "unit.h"
#include "wire.h"

/* ---- tables ---- */

static int table_add(struct table *table, size_t item_size, uint32_t limit, const void *item, uint32_t *id)
{
	if (table->n >= limit)
		return MST_ERR_LIMIT;
	if (table->n == table->capacity) {
		const uint32_t capacity = table->capacity ? table->capacity * 2 : 64;
		void *items = realloc(table->items, capacity * item_size);

		if (!items)
			return MST_ERR_NOMEM;
		table->items = items;
		table->capacity = capacity;
	}
	memcpy((char *)table->items + table->n * item_size, item, item_size);
	*id = table->n++;
	return 0;
}

static int table_copy(struct table *to, const struct table *from, size_t item_size)
{
	*to = *from;
	to->capacity = from->n;
	to->items = malloc(from->n * item_size + 1);
	if (!to->items)
		return MST_ERR_NOMEM;
	if (from->n)
		memcpy(to->items, from->items, from->n * item_size);
	return 0;
}

/* ---- life ---- */

static uint32_t kind_hash(const struct mst_kind *kind)
{
	return hash_words((uint64_t)kind->stack << 8 | kind->op,
			  kind->size + (kind->cap - kind->size) * 0x10001);
}

int defs_init(struct defs *defs)
{
	const struct mst_stack root = { .parent = MST_ROOT_STACK, .frame = MST_NONE };
	const struct mst_kind unknown = { .op = MST_OP_UNKNOWN };
	const uint16_t depth = 0;
	uint32_t id;
	int err;

	*defs = (struct defs){ 0 };
	if (!hash_index_init(&defs->frame_index) || !stack_index_init(&defs->stack_index) ||
	    !hash_index_init(&defs->kind_index) || !hash_index_init(&defs->script_index))
		return MST_ERR_NOMEM;
	if ((err = table_add(&defs->stacks, sizeof(root), MST_MAX_STACKS, &root, &id)) ||
	    (err = table_add(&defs->depths, sizeof(depth), MST_MAX_STACKS, &depth, &id)) ||
	    (err = table_add(&defs->kinds, sizeof(unknown), MST_MAX_KINDS, &unknown, &id)))
		return err;
	hash_index_add(&defs->kind_index, kind_hash(&unknown), id);
	defs->stacks_with_kinds = unknown.stack + 1;
	/* The root and the unknown kind are in every trace without being written. */
	defs->stacks.written = defs->kinds.written = 1;
	return 0;
}

static void free_script(const struct mst_script *script)
{
	free((char *)script->file);
	free((char *)script->function);
}

void defs_finish(struct defs *defs)
{
	struct mst_module *modules = defs->modules.items;

	for (uint32_t i = 0; i < defs->modules.n; i++)
		free((char *)modules[i].path);
	free(defs->frames.items);
	free(defs->stacks.items);
	free(defs->depths.items);
	free(defs->kinds.items);
	free(defs->modules.items);
	free(defs->threads.items);
	for (uint32_t i = 0; i < defs->thread_names.n; i++)
		free((char *)((struct mst_thread_name *)defs->thread_names.items)[i].name);
	free(defs->thread_names.items);
	for (uint32_t i = 0; i < defs->marks.n; i++)
		free((char *)((struct mst_mark *)defs->marks.items)[i].name);
	free(defs->marks.items);
	free(defs->thread_ends.items);
	for (uint32_t i = 0; i < defs->scripts.n; i++)
		free_script(&((struct mst_script *)defs->scripts.items)[i]);
	free(defs->scripts.items);
	hash_index_finish(&defs->script_index);
	hash_index_finish(&defs->frame_index);
	stack_index_finish(&defs->stack_index);
	hash_index_finish(&defs->kind_index);
}

static int copy_paths(struct table *modules)
{
	struct mst_module *items = modules->items;

	for (uint32_t i = 0; i < modules->n; i++) {
		items[i].path = strdup(items[i].path);
		if (!items[i].path) {
			modules->n = i;
			return MST_ERR_NOMEM;
		}
	}
	return 0;
}

static int copy_thread_names(struct table *names)
{
	struct mst_thread_name *items = names->items;

	for (uint32_t i = 0; i < names->n; i++) {
		items[i].name = strdup(items[i].name);
		if (!items[i].name) {
			names->n = i;
			return MST_ERR_NOMEM;
		}
	}
	return 0;
}

static int copy_marks(struct table *marks)
{
	struct mst_mark *items = marks->items;

	for (uint32_t i = 0; i < marks->n; i++) {
		items[i].name = strdup(items[i].name);
		if (!items[i].name) {
			marks->n = i;
			return MST_ERR_NOMEM;
		}
	}
	return 0;
}

/* False: no memory; then *script holds nothing. */
static bool copy_script(struct mst_script *script)
{
	*script = (struct mst_script){ .file = strdup(script->file), .function = strdup(script->function) };
	if (script->file && script->function)
		return true;
	free_script(script);
	return false;
}

static int copy_scripts(struct table *scripts)
{
	for (uint32_t i = 0; i < scripts->n; i++) {
		if (!copy_script(&((struct mst_script *)scripts->items)[i])) {
			scripts->n = i;
			return MST_ERR_NOMEM;
		}
	}
	return 0;
}

int defs_copy(struct defs *to, const struct defs *from)
{
	int err;

	*to = (struct defs){ .stacks_with_kinds = from->stacks_with_kinds };
	if ((err = table_copy(&to->frames, &from->frames, sizeof(struct mst_frame))) ||
	    (err = table_copy(&to->stacks, &from->stacks, sizeof(struct mst_stack))) ||
	    (err = table_copy(&to->depths, &from->depths, sizeof(uint16_t))) ||
	    (err = table_copy(&to->kinds, &from->kinds, sizeof(struct mst_kind))) ||
	    (err = table_copy(&to->threads, &from->threads, sizeof(struct mst_thread))) ||
	    (err = table_copy(&to->modules, &from->modules, sizeof(struct mst_module))))
		return err;
	if ((err = copy_paths(&to->modules)) ||
	    (err = table_copy(&to->scripts, &from->scripts, sizeof(struct mst_script))) ||
	    (err = copy_scripts(&to->scripts)) ||
	    (err = table_copy(&to->thread_names, &from->thread_names, sizeof(struct mst_thread_name))) ||
	    (err = copy_thread_names(&to->thread_names)) ||
	    (err = table_copy(&to->marks, &from->marks, sizeof(struct mst_mark))) ||
	    (err = copy_marks(&to->marks)) ||
	    (err = table_copy(&to->thread_ends, &from->thread_ends, sizeof(struct mst_thread_end))))
		return err;
	if (!hash_index_copy(&to->frame_index, &from->frame_index) ||
	    !stack_index_copy(&to->stack_index, &from->stack_index) ||
	    !hash_index_copy(&to->kind_index, &from->kind_index) ||
	    !hash_index_copy(&to->script_index, &from->script_index))
		return MST_ERR_NOMEM;
	return 0;
}

/* ---- definitions ---- */

static uint32_t frame_hash(const struct mst_frame *frame)
{
	return hash_words(frame->address, frame->module);
}

int defs_frame_again(struct defs *defs, const struct mst_frame *frame, uint32_t *id)
{
	int err;

	if (!hash_index_reserve(&defs->frame_index))
		return MST_ERR_NOMEM;
	err = table_add(&defs->frames, sizeof(*frame), MST_MAX_FRAMES, frame, id);
	if (!err)
		hash_index_add(&defs->frame_index, frame_hash(frame), *id);
	return err;
}

int defs_frame(struct defs *defs, const struct mst_frame *frame, uint32_t *id)
{
	const uint32_t hash = frame_hash(frame);
	const struct mst_frame *frames = defs->frames.items;
	uint32_t found = MST_NONE;

	if (!hash_index_reserve(&defs->frame_index))
		return MST_ERR_NOMEM;
	if (frame->module != MST_NONE && frame->module >= defs->modules.n)
		return MST_ERR_ARGUMENT;
	for (uint32_t i = hash_index_first(&defs->frame_index, hash), at;
	     hash_index_next(&defs->frame_index, hash, &i, &at);) {
		if (frames[at].address == frame->address && frames[at].module == frame->module &&
		    (found == MST_NONE || at > found))
			found = at;
	}
	if (found == MST_NONE)
		return defs_frame_again(defs, frame, id);
	*id = found;
	return 0;
}

int defs_stack(struct defs *defs, const struct mst_stack *stack, uint32_t *id)
{
	const uint16_t *depths = defs->depths.items;
	uint16_t depth;
	uint32_t same;
	int err;

	if (!stack_index_reserve(&defs->stack_index, defs->stacks.items))
		return MST_ERR_NOMEM;
	/* The newest stack has no children. */
	*id = stack->parent != defs->stacks.n - 1
		      ? stack_index_find(&defs->stack_index, defs->stacks.items, stack)
		      : 0;
	if (*id)
		return 0;
	if (stack->parent >= defs->stacks.n || stack->frame >= defs->frames.n)
		return MST_ERR_ARGUMENT;
	if (depths[stack->parent] == MST_MAX_DEPTH)
		return MST_ERR_LIMIT;
	depth = depths[stack->parent] + 1;
	if ((err = table_add(&defs->depths, sizeof(depth), MST_MAX_STACKS, &depth, &same)))
		return err;
	if ((err = table_add(&defs->stacks, sizeof(*stack), MST_MAX_STACKS, stack, id))) {
		defs->depths.n--;
		return err;
	}
	stack_index_add(&defs->stack_index, defs->stacks.items, *id);
	return 0;
}

static bool same_kind(const struct mst_kind *a, const struct mst_kind *b)
{
	return a->stack == b->stack && a->size == b->size && a->op == b->op && a->cap == b->cap &&
	       a->flags == b->flags && a->align_log2 == b->align_log2 && a->usable == b->usable;
}

int defs_kind(struct defs *defs, const struct mst_kind *kind, uint32_t *id)
{
	const uint32_t hash = kind_hash(kind);
	const struct mst_kind *kinds = defs->kinds.items;
	int err;

	if (!hash_index_reserve(&defs->kind_index))
		return MST_ERR_NOMEM;
	/* A new stack's first kind is new, too. */
	for (uint32_t i = hash_index_first(&defs->kind_index, hash);
	     kind->stack < defs->stacks_with_kinds && hash_index_next(&defs->kind_index, hash, &i, id);) {
		if (same_kind(&kinds[*id], kind))
			return 0;
	}
	if (kind->stack >= defs->stacks.n || kind->cap < kind->size || kind->op >= MST_OP_COUNT ||
	    kind->align_log2 > 63 ||
	    (kind->flags & MST_KIND_USABLE ? kind->usable < kind->size : kind->usable != 0))
		return MST_ERR_ARGUMENT;
	err = table_add(&defs->kinds, sizeof(*kind), MST_MAX_KINDS, kind, id);
	if (err)
		return err;
	hash_index_add(&defs->kind_index, hash, *id);
	if (kind->stack >= defs->stacks_with_kinds)
		defs->stacks_with_kinds = kind->stack + 1;
	return 0;
}

static bool same_module(const struct mst_module *a, const struct mst_module *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias && a->role == b->role &&
	       a->order == b->order && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 && strcmp(a->path, b->path) == 0;
}

int defs_module(struct defs *defs, const struct mst_module *module, uint32_t *id)
{
	const struct mst_module *modules = defs->modules.items;
	struct mst_module copy = *module;
	int err;

	for (*id = 0; *id < defs->modules.n; ++*id) {
		if (same_module(&modules[*id], module))
			return 0;
	}
	if (module->build_id_size > MST_BUILD_ID_MAX || strlen(module->path) > MST_MAX_TEXT)
		return MST_ERR_LIMIT;
	copy.path = strdup(module->path);
	if (!copy.path)
		return MST_ERR_NOMEM;
	err = table_add(&defs->modules, sizeof(copy), MST_MAX_MODULES, &copy, id);
	if (err)
		free((char *)copy.path);
	return err;
}

static uint32_t script_hash(const struct mst_script *script)
{
	return hash_words(hash_text(script->file, strlen(script->file)),
			  hash_text(script->function, strlen(script->function)));
}

int defs_script(struct defs *defs, const struct mst_script *script, uint32_t *id)
{
	const uint32_t hash = script_hash(script);
	struct mst_script copy = *script;
	int err;

	if (!hash_index_reserve(&defs->script_index))
		return MST_ERR_NOMEM;
	for (uint32_t i = hash_index_first(&defs->script_index, hash);
	     hash_index_next(&defs->script_index, hash, &i, id);) {
		const struct mst_script *const at = &((struct mst_script *)defs->scripts.items)[*id];

		if (strcmp(at->file, script->file) == 0 && strcmp(at->function, script->function) == 0)
			return 0;
	}
	if (strlen(script->file) > MST_MAX_SCRIPT_TEXT || strlen(script->function) > MST_MAX_SCRIPT_TEXT)
		return MST_ERR_LIMIT;
	if (!copy_script(&copy))
		return MST_ERR_NOMEM;
	err = table_add(&defs->scripts, sizeof(copy), MST_MAX_SCRIPTS, &copy, id);
	if (err)
		free_script(&copy);
	else
		hash_index_add(&defs->script_index, hash, *id);
	return err;
}

int defs_thread(struct defs *defs, const struct mst_thread *thread, uint32_t *id)
{
	return table_add(&defs->threads, sizeof(*thread), MST_MAX_THREADS, thread, id);
}

int defs_thread_name(struct defs *defs, const struct mst_thread_name *name)
{
	struct mst_thread_name copy = *name;
	uint32_t id;
	int err;

	if (name->thread >= defs->threads.n)
		return MST_ERR_ARGUMENT;
	copy.name = strndup(name->name, MST_MAX_THREAD_NAME);
	if (!copy.name)
		return MST_ERR_NOMEM;
	err = table_add(&defs->thread_names, sizeof(copy), MST_MAX_THREAD_NAMES, &copy, &id);
	if (err)
		free((char *)copy.name);
	return err;
}

int defs_mark(struct defs *defs, const struct mst_mark *mark)
{
	const struct mst_mark *const items = defs->marks.items;
	struct mst_mark copy = *mark;
	uint32_t id;
	int err;

	if (mark->thread != MST_NONE && mark->thread >= defs->threads.n)
		return MST_ERR_ARGUMENT;
	assert(defs->marks.n == 0 || (mark->record >= items[defs->marks.n - 1].record &&
				      mark->time >= items[defs->marks.n - 1].time));
	copy.name = strndup(mark->name, MST_MAX_MARK);
	if (!copy.name)
		return MST_ERR_NOMEM;
	err = table_add(&defs->marks, sizeof(copy), MST_MAX_MARKS, &copy, &id);
	if (err)
		free((char *)copy.name);
	return err;
}

int defs_thread_end(struct defs *defs, const struct mst_thread_end *end)
{
	const struct mst_thread_end *const items = defs->thread_ends.items;
	uint32_t id;

	if (end->thread >= defs->threads.n)
		return MST_ERR_ARGUMENT;
	assert(defs->thread_ends.n == 0 || (end->record >= items[defs->thread_ends.n - 1].record &&
					    end->time >= items[defs->thread_ends.n - 1].time));
	return table_add(&defs->thread_ends, sizeof(*end), MST_MAX_THREADS, end, &id);
}

/* ---- columns ---- */

static void pack_range(struct table *table, struct bytes *fields)
{
	assert(table->written <= table->n && table->n <= table->capacity);
	bytes_u32(fields, table->written);
	bytes_u32(fields, table->n - table->written);
	table->written = table->n;
}

/* How many frames out of the stack before it a stack's parent is, if it is one of the nearest; else its number. */
static uint64_t parent_code(const struct mst_stack *stacks, uint32_t id)
{
	const uint32_t parent = stacks[id].parent;
	uint32_t at = id - 1, out = 0;

	assert(parent < id);
	for (; at != parent && at != MST_ROOT_STACK && out < STACKS_OUT_MAX; out++)
		at = stacks[at].parent;
	return at == parent ? (uint64_t)out << 1 : (uint64_t)(id - 1 - parent) << 1 | 1;
}

void defs_pack_stacks(struct defs *defs, struct bytes *fields, struct bytes *columns)
{
	const struct mst_frame *frames = defs->frames.items;
	const struct mst_stack *stacks = defs->stacks.items;
	uint32_t next_frame = defs->frames.written;
	uint64_t last = 0;

	for (uint32_t i = defs->frames.written; i < defs->frames.n; i++) {
		bytes_varint(&columns[COLUMN_FRAMES],
			     frames[i].module == MST_NONE ? 0 : frames[i].module + 1u);
		bytes_varint(&columns[COLUMN_FRAMES], wire_zigzag((int64_t)(frames[i].address - last)));
		last = frames[i].address;
	}
	for (uint32_t i = defs->stacks.written; i < defs->stacks.n; i++) {
		bytes_varint(&columns[COLUMN_PARENTS], parent_code(stacks, i));
		if (stacks[i].frame == next_frame) {
			bytes_varint(&columns[COLUMN_STACK_FRAMES], 0);
			next_frame++;
		} else {
			bytes_varint(&columns[COLUMN_STACK_FRAMES], stacks[i].frame + 1u);
		}
	}
	pack_range(&defs->stacks, fields);
	pack_range(&defs->frames, fields);
}

void defs_pack_kinds(struct defs *defs, struct bytes *fields, struct bytes *columns)
{
	const struct mst_kind *kinds = defs->kinds.items;
	uint32_t last = 0;

	for (uint32_t i = defs->kinds.written; i < defs->kinds.n; i++) {
		bytes_u8(&columns[COLUMN_OPS], kinds[i].op);
		bytes_varint(&columns[COLUMN_KIND_STACKS],
			     wire_zigzag((int64_t)kinds[i].stack - (int64_t)last));
		bytes_varint(&columns[COLUMN_SIZES], kinds[i].size);
		bytes_varint(&columns[COLUMN_CAPS], kinds[i].cap - kinds[i].size);
		bytes_u8(&columns[COLUMN_ALIGNS], kinds[i].align_log2);
		bytes_u8(&columns[COLUMN_FLAGS], kinds[i].flags);
		if (kinds[i].flags & MST_KIND_USABLE)
			bytes_varint(&columns[COLUMN_USABLES], kinds[i].usable - kinds[i].size);
		last = kinds[i].stack;
	}
	pack_range(&defs->kinds, fields);
}

void defs_pack_modules(struct defs *defs, struct bytes *fields, struct bytes *column)
{
	const struct mst_module *modules = defs->modules.items;

	for (uint32_t i = defs->modules.written; i < defs->modules.n; i++) {
		const struct mst_module *m = &modules[i];

		bytes_text(column, m->path);
		bytes_u8(column, m->role);
		bytes_varint(column, m->order);
		bytes_varint(column, m->start);
		bytes_varint(column, m->end - m->start);
		bytes_varint(column, m->bias);
		bytes_u8(column, m->build_id_size);
		bytes_append(column, m->build_id, m->build_id_size);
	}
	pack_range(&defs->modules, fields);
}

void defs_pack_scripts(struct defs *defs, struct bytes *fields, struct bytes *column)
{
	struct table *const table = &defs->scripts;
	const struct mst_script *scripts = table->items;
	uint32_t i = table->written;

	for (; i < table->n && column->size < MST_MAX_COLUMN_RAW / 2; i++) {
		bytes_text(column, scripts[i].file);
		bytes_text(column, scripts[i].function);
	}
	bytes_u32(fields, table->written);
	bytes_u32(fields, i - table->written);
	table->written = i;
}

void defs_pack_threads(struct defs *defs, struct bytes *fields, struct bytes *column)
{
	const struct mst_thread *threads = defs->threads.items;

	for (uint32_t i = defs->threads.written; i < defs->threads.n; i++)
		bytes_varint(column, threads[i].tid);
	pack_range(&defs->threads, fields);
}

void defs_pack_thread_names(struct defs *defs, struct bytes *fields, struct bytes *column)
{
	struct table *const table = &defs->thread_names;
	const struct mst_thread_name *names = table->items;
	uint64_t time = 0;

	bytes_u32(fields, table->n - table->written);
	for (uint32_t i = table->written; i < table->n; i++) {
		bytes_varint(column, names[i].thread);
		bytes_varint(column, wire_zigzag((int64_t)(names[i].time - time)));
		bytes_text(column, names[i].name);
		time = names[i].time;
	}
	table->written = table->n;
}

void defs_pack_marks(struct defs *defs, struct bytes *fields, struct bytes *column)
{
	struct table *const table = &defs->marks;
	const struct mst_mark *marks = table->items;
	uint64_t record = 0, time = 0;

	bytes_u32(fields, table->n - table->written);
	for (uint32_t i = table->written; i < table->n; i++) {
		bytes_varint(column, marks[i].record - record);
		bytes_varint(column, marks[i].time - time);
		bytes_varint(column, marks[i].thread == MST_NONE ? 0 : (uint64_t)marks[i].thread + 1);
		bytes_text(column, marks[i].name);
		record = marks[i].record;
		time = marks[i].time;
	}
	table->written = table->n;
}

void defs_pack_thread_ends(struct defs *defs, struct bytes *fields, struct bytes *column)
{
	struct table *const table = &defs->thread_ends;
	const struct mst_thread_end *ends = table->items;
	uint64_t record = 0, time = 0;

	bytes_u32(fields, table->n - table->written);
	for (uint32_t i = table->written; i < table->n; i++) {
		bytes_varint(column, ends[i].record - record);
		bytes_varint(column, ends[i].time - time);
		bytes_varint(column, ends[i].thread);
		record = ends[i].record;
		time = ends[i].time;
	}
	table->written = table->n;
}
