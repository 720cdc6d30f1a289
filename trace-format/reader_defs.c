/* SPDX-License-Identifier: MIT */
/* Definitions: the ids of each unit go on from those before it. */
#include <assert.h>
#include <string.h>

#include "reader.h"

int reader_grow(struct mst_reader *r, struct array *array, size_t item_size, uint64_t n, uint64_t limit)
{
	const uint64_t wanted = array->n + n;
	void *items;

	assert(array->n <= array->capacity);
	DAMAGED_IF(wanted > limit, "more definitions than the format allows");
	if (wanted <= array->capacity)
		return 0;
	items = realloc(array->items, (wanted + wanted / 2) * item_size);
	if (!items)
		return reader_fail(r, MST_ERR_NOMEM, "no memory for definitions");
	array->items = items;
	array->capacity = (uint32_t)(wanted + wanted / 2);
	return 0;
}

/*
 * Reads the range at `offset` of the fields: definitions [first, first + n). `known` must be the first, and
 * each definition takes at least one byte of `column`.
 */
static int definition_range(struct mst_reader *r, uint32_t offset, uint32_t known, uint8_t column,
			    uint32_t *n)
{
	*n = 0;
	DAMAGED_IF(r->unit.header.fields_size < offset + 8, "a unit lacks fields");
	DAMAGED_IF(wire_u32(r->unit.header.fields + offset) != known, "definitions are missing");
	*n = wire_u32(r->unit.header.fields + offset + 4);
	DAMAGED_IF(*n && (!r->unit.columns[column].present || r->unit.columns[column].size < *n),
		   "more definitions promised than there are");
	return 0;
}

static int read_frames(struct mst_reader *r, uint32_t n)
{
	struct cursor c = column_cursor(r, COLUMN_FRAMES);
	uint64_t module, delta, address = 0;
	struct mst_frame *frames;
	int err = reader_grow(r, &r->defs.frames, sizeof(*frames), n, MST_MAX_FRAMES);

	if (err)
		return err;
	frames = r->defs.frames.items;
	for (uint32_t i = 0; i < n; i++) {
		DAMAGED_IF(!take_varint(&c, &module) || !take_varint(&c, &delta) ||
				   module > r->defs.modules.n,
			   "a frame is malformed");
		address += (uint64_t)wire_unzigzag(delta);
		frames[r->defs.frames.n++] = (struct mst_frame){
			.module = module ? (uint32_t)module - 1 : MST_NONE,
			.address = address,
		};
	}
	return 0;
}

/* The parent of the next stack: a number of frames out of the stack before it, or by distance. Below `id`. */
static bool take_parent(struct cursor *parents, const struct mst_stack *stacks, uint32_t id, uint32_t *parent)
{
	uint64_t v;

	if (!take_varint(parents, &v))
		return false;
	*parent = id - 1;
	if (!(v & 1)) {
		for (; v && *parent && v <= 2 * STACKS_OUT_MAX; v -= 2)
			*parent = stacks[*parent].parent;
		return v == 0;
	}
	v >>= 1;
	*parent -= (uint32_t)v;
	return v < id;
}

int reader_take_stacks(struct mst_reader *r)
{
	struct cursor parents = column_cursor(r, COLUMN_PARENTS),
		      codes = column_cursor(r, COLUMN_STACK_FRAMES);
	uint32_t n, n_frames, next_frame = r->defs.frames.n;
	uint64_t code;
	struct mst_stack *stacks;
	uint16_t *depths;
	int err;

	if ((err = definition_range(r, 0, r->defs.stacks.n, COLUMN_PARENTS, &n)) ||
	    (err = definition_range(r, 8, r->defs.frames.n, COLUMN_FRAMES, &n_frames)) ||
	    (err = read_frames(r, n_frames)) ||
	    (err = reader_grow(r, &r->defs.stacks, sizeof(*stacks), n, MST_MAX_STACKS)) ||
	    (err = reader_grow(r, &r->defs.depths, sizeof(*depths), n, MST_MAX_STACKS)))
		return err;
	assert(r->defs.stacks.n == r->defs.depths.n);
	stacks = r->defs.stacks.items;
	depths = r->defs.depths.items;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t id = r->defs.stacks.n;
		uint32_t parent;

		DAMAGED_IF(!take_parent(&parents, stacks, id, &parent) || !take_varint(&codes, &code),
			   "a stack is malformed");
		code = code ? code - 1 : next_frame++;
		DAMAGED_IF(code >= r->defs.frames.n, "a stack names a frame that isn't there");
		assert(parent < id);
		DAMAGED_IF(depths[parent] >= MST_MAX_DEPTH, "a stack is too deep");
		depths[id] = depths[parent] + 1;
		stacks[id] = (struct mst_stack){ .parent = parent, .frame = (uint32_t)code };
		r->defs.stacks.n = r->defs.depths.n = id + 1;
	}
	return 0;
}

int reader_take_kinds(struct mst_reader *r)
{
	struct cursor ops = column_cursor(r, COLUMN_OPS), stacks = column_cursor(r, COLUMN_KIND_STACKS),
		      sizes = column_cursor(r, COLUMN_SIZES), caps = column_cursor(r, COLUMN_CAPS),
		      aligns = column_cursor(r, COLUMN_ALIGNS), flags = column_cursor(r, COLUMN_FLAGS),
		      usables = column_cursor(r, COLUMN_USABLES);
	uint64_t delta, more, stack = 0;
	struct mst_kind *kinds;
	uint32_t n;
	int err;

	if ((err = definition_range(r, 0, r->defs.kinds.n, COLUMN_OPS, &n)) ||
	    (err = reader_grow(r, &r->defs.kinds, sizeof(struct mst_kind), n, MST_MAX_KINDS)))
		return err;
	kinds = r->defs.kinds.items;
	for (uint32_t i = 0; i < n; i++) {
		struct mst_kind k = { 0 };

		DAMAGED_IF(!take_byte(&ops, &k.op) || !take_varint(&stacks, &delta) ||
				   !take_varint(&sizes, &k.size) || !take_varint(&caps, &more) ||
				   !take_byte(&aligns, &k.align_log2) || !take_byte(&flags, &k.flags),
			   "a kind is malformed");
		stack += (uint64_t)wire_unzigzag(delta);
		DAMAGED_IF(stack >= r->defs.stacks.n || k.op >= MST_OP_COUNT || k.align_log2 > 63 ||
				   more > UINT64_MAX - k.size,
			   "a kind is impossible");
		k.stack = (uint32_t)stack;
		k.cap = k.size + more;
		if (k.flags & MST_KIND_USABLE) {
			DAMAGED_IF(!take_varint(&usables, &more) || more > UINT64_MAX - k.size,
				   "a kind's usable size is malformed");
			k.usable = k.size + more;
		}
		r->defs.paged |= mst_op_is_page(k.op);
		kinds[r->defs.kinds.n++] = k;
	}
	return 0;
}

static bool take_module(struct cursor *c, struct mst_module *m)
{
	uint64_t order, size;
	char *path;

	if (!take_text(c, &path))
		return false;
	m->path = path;
	if (!take_byte(c, &m->role) || !take_varint(c, &order) || order > UINT32_MAX ||
	    !take_varint(c, &m->start) || !take_varint(c, &size) || !take_varint(c, &m->bias) ||
	    !take_byte(c, &m->build_id_size) || m->build_id_size > MST_BUILD_ID_MAX ||
	    (size_t)(c->end - c->p) < m->build_id_size) {
		free(path);
		return false;
	}
	m->order = (uint32_t)order;
	m->end = m->start + size;
	memcpy(m->build_id, c->p, m->build_id_size);
	c->p += m->build_id_size;
	return true;
}

int reader_take_modules(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	uint32_t n;
	int err;

	if ((err = definition_range(r, 0, r->defs.modules.n, 0, &n)) ||
	    (err = reader_grow(r, &r->defs.modules, sizeof(struct mst_module), n, MST_MAX_MODULES)))
		return err;
	for (uint32_t i = 0; i < n; i++) {
		struct mst_module m = { 0 };

		DAMAGED_IF(!take_module(&c, &m), "a module is malformed");
		if (!m.path)
			return reader_fail(r, MST_ERR_NOMEM, "no memory");
		((struct mst_module *)r->defs.modules.items)[r->defs.modules.n++] = m;
	}
	return 0;
}

static void free_script(struct reader_script *script)
{
	free(script->path);
	free(script->function);
}

void reader_free_scripts(struct array *scripts)
{
	for (uint32_t i = 0; i < scripts->n; i++)
		free_script(&((struct reader_script *)scripts->items)[i]);
	free(scripts->items);
}

/* Names the two parts of the path. */
static void split_path(struct reader_script *script)
{
	char *const slash = strrchr(script->path, '/');

	script->file = slash ? slash + 1 : *script->path ? script->path : NULL;
	script->directory = slash ? script->path : NULL;
	if (slash)
		*slash = '\0';
}

/* Without memory a text is NULL. */
static bool take_script(struct cursor *c, struct reader_script *script)
{
	if (take_text(c, &script->path) && take_text(c, &script->function) &&
	    (!script->path || strlen(script->path) <= MST_MAX_SCRIPT_TEXT) &&
	    (!script->function || strlen(script->function) <= MST_MAX_SCRIPT_TEXT))
		return true;
	free_script(script);
	return false;
}

int reader_take_scripts(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	uint32_t n;
	int err;

	if ((err = definition_range(r, 0, r->defs.scripts.n, 0, &n)) ||
	    (err = reader_grow(r, &r->defs.scripts, sizeof(struct reader_script), n, MST_MAX_SCRIPTS)))
		return err;
	for (uint32_t i = 0; i < n; i++) {
		struct reader_script script = { 0 };

		DAMAGED_IF(!take_script(&c, &script), "a function of a script is malformed");
		if (!script.path || !script.function) {
			free_script(&script);
			return reader_fail(r, MST_ERR_NOMEM, "no memory");
		}
		split_path(&script);
		((struct reader_script *)r->defs.scripts.items)[r->defs.scripts.n++] = script;
	}
	return 0;
}

int reader_take_threads(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	uint64_t tid;
	uint32_t n;
	int err;

	if ((err = definition_range(r, 0, r->defs.threads.n, 0, &n)) ||
	    (err = reader_grow(r, &r->defs.threads, sizeof(struct mst_thread), n, MST_MAX_THREADS)))
		return err;
	for (uint32_t i = 0; i < n; i++) {
		DAMAGED_IF(!take_varint(&c, &tid) || tid > UINT32_MAX, "a thread is malformed");
		((struct mst_thread *)r->defs.threads.items)[r->defs.threads.n++] =
			(struct mst_thread){ .tid = (uint32_t)tid };
	}
	return 0;
}

static bool take_thread_name(struct cursor *c, uint32_t n_threads, struct mst_thread_name *name)
{
	uint64_t thread, step;
	char *text;

	if (!take_varint(c, &thread) || thread >= n_threads || !take_varint(c, &step) || !take_text(c, &text))
		return false;
	name->thread = (uint32_t)thread;
	name->time += (uint64_t)wire_unzigzag(step);
	name->name = text;
	return true;
}

int reader_take_thread_names(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	struct mst_thread *threads = r->defs.threads.items;
	struct mst_thread_name name = { 0 };
	uint32_t n;
	int err;

	DAMAGED_IF(r->unit.header.fields_size < FIELDS_THREAD_NAMES, "a unit lacks fields");
	n = wire_u32(r->unit.header.fields);
	DAMAGED_IF(n && (!r->unit.columns[0].present || r->unit.columns[0].size / 3 < n),
		   "more names of threads promised than there are");
	if ((err = reader_grow(r, &r->defs.thread_names, sizeof(name), n, MST_MAX_THREAD_NAMES)))
		return err;
	for (uint32_t i = 0; i < n; i++) {
		DAMAGED_IF(!take_thread_name(&c, r->defs.threads.n, &name), "a thread's name is malformed");
		if (!name.name)
			return reader_fail(r, MST_ERR_NOMEM, "no memory");
		((struct mst_thread_name *)r->defs.thread_names.items)[r->defs.thread_names.n++] = name;
		threads[name.thread].name = name.name;
		DAMAGED_IF(strlen(name.name) > MST_MAX_THREAD_NAME, "a thread's name is too long");
	}
	return 0;
}

/* ---- marks ---- */

/* The mark behind *mark, whose numbers never go back. Without memory its name is NULL. */
static bool take_mark(struct cursor *c, uint32_t n_threads, struct mst_mark *mark)
{
	uint64_t record, time, thread;
	char *text;

	if (!take_varint(c, &record) || record > UINT64_MAX - mark->record || !take_varint(c, &time) ||
	    time > UINT64_MAX - mark->time || !take_varint(c, &thread) || thread > n_threads ||
	    !take_text(c, &text))
		return false;
	*mark = (struct mst_mark){
		.record = mark->record + record,
		.time = mark->time + time,
		.thread = thread ? (uint32_t)thread - 1 : MST_NONE,
		.name = text,
	};
	return true;
}

int reader_take_marks(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	struct mst_mark mark = { 0 };
	uint32_t n;
	int err;

	DAMAGED_IF(r->unit.header.fields_size < FIELDS_MARKS, "a unit lacks fields");
	n = wire_u32(r->unit.header.fields);
	DAMAGED_IF(n && (!r->unit.columns[0].present || r->unit.columns[0].size / 4 < n),
		   "more marks promised than there are");
	if ((err = reader_grow(r, &r->defs.marks, sizeof(mark), n, MST_MAX_MARKS)))
		return err;
	for (uint32_t i = 0; i < n; i++) {
		struct mst_mark *const all = r->defs.marks.items;
		const struct mst_mark *const last = r->defs.marks.n ? &all[r->defs.marks.n - 1] : NULL;

		DAMAGED_IF(!take_mark(&c, r->defs.threads.n, &mark), "a mark is malformed");
		if (!mark.name)
			return reader_fail(r, MST_ERR_NOMEM, "no memory");
		all[r->defs.marks.n++] = mark;
		DAMAGED_IF(strlen(mark.name) > MST_MAX_MARK, "a mark's name is too long");
		DAMAGED_IF(last && (mark.record < last->record || mark.time < last->time), "marks go back");
	}
	return 0;
}

/* ---- ends of threads ---- */

int reader_take_thread_ends(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	struct mst_thread_end end = { 0 };
	uint32_t n;
	int err;

	DAMAGED_IF(r->unit.header.fields_size < FIELDS_THREAD_ENDS, "a unit lacks fields");
	n = wire_u32(r->unit.header.fields);
	DAMAGED_IF(n && (!r->unit.columns[0].present || r->unit.columns[0].size / 3 < n),
		   "more ends of threads promised than there are");
	if ((err = reader_grow(r, &r->defs.thread_ends, sizeof(end), n, r->defs.threads.n)))
		return err;
	for (uint32_t i = 0; i < n; i++) {
		struct mst_thread_end *const all = r->defs.thread_ends.items;
		const struct mst_thread_end *const last =
			r->defs.thread_ends.n ? &all[r->defs.thread_ends.n - 1] : NULL;
		uint64_t record, time, thread;

		DAMAGED_IF(!take_varint(&c, &record) || record > UINT64_MAX - end.record ||
				   !take_varint(&c, &time) || time > UINT64_MAX - end.time ||
				   !take_varint(&c, &thread) || thread >= r->defs.threads.n,
			   "an end of a thread is malformed");
		end = (struct mst_thread_end){ end.record + record, end.time + time, (uint32_t)thread };
		DAMAGED_IF(last && (end.record < last->record || end.time < last->time),
			   "ends of threads go back");
		all[r->defs.thread_ends.n++] = end;
	}
	return 0;
}

/* ---- memory samples ---- */

#define KIB 1024u

/* A number that is kept as a sum of differences. */
static bool take_step(struct cursor *c, uint64_t *value)
{
	uint64_t step;

	if (!take_varint(c, &step))
		return false;
	*value += (uint64_t)wire_unzigzag(step);
	return true;
}

/* Of the entries before, in the units of the column: KiB, and one more where 0 is "not known". */
struct memory_step {
	uint64_t resident, proportional, swapped, minor_faults, major_faults;
};

static bool take_memory_entry(struct cursor *c, struct memory_step *at, struct mst_memory_sample *sample)
{
	uint64_t head;

	if (!take_varint(c, &head) || head >> 1 > UINT64_MAX - sample->time || !take_step(c, &at->resident) ||
	    at->resident > UINT64_MAX / KIB)
		return false;
	*sample = (struct mst_memory_sample){
		.time = sample->time + (head >> 1),
		.resident = at->resident * KIB,
		.proportional = UINT64_MAX,
		.swapped = UINT64_MAX,
		.detailed = head & 1,
	};
	if (!sample->detailed)
		return true;
	if (!take_step(c, &at->proportional) || !take_step(c, &at->swapped) ||
	    !take_step(c, &at->minor_faults) || !take_step(c, &at->major_faults) ||
	    at->proportional > UINT64_MAX / KIB || at->swapped > UINT64_MAX / KIB)
		return false;
	if (at->proportional)
		sample->proportional = (at->proportional - 1) * KIB;
	if (at->swapped)
		sample->swapped = (at->swapped - 1) * KIB;
	sample->minor_faults = at->minor_faults;
	sample->major_faults = at->major_faults;
	return true;
}

int reader_take_memory(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	struct memory_step at = { 0 };
	struct mst_memory_sample sample = { 0 };
	uint64_t from = 0;
	uint32_t n;
	int err;

	DAMAGED_IF(r->unit.header.fields_size < FIELDS_MEMORY, "a unit lacks fields");
	n = wire_u32(r->unit.header.fields + 8);
	r->defs.peak_resident = wire_u64(r->unit.header.fields);
	DAMAGED_IF(n && (!r->unit.columns[0].present || r->unit.columns[0].size / 2 < n),
		   "more samples promised than there are");
	if ((err = reader_grow(r, &r->defs.memory, sizeof(sample), n, MST_MAX_MEMORY_SAMPLES)))
		return err;
	if (r->defs.memory.n)
		from = ((struct mst_memory_sample *)r->defs.memory.items)[r->defs.memory.n - 1].time;
	for (uint32_t i = 0; i < n; i++) {
		DAMAGED_IF(!take_memory_entry(&c, &at, &sample) || sample.time < from,
			   "a sample of the memory is malformed");
		((struct mst_memory_sample *)r->defs.memory.items)[r->defs.memory.n++] = sample;
	}
	return 0;
}
