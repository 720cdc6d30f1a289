/* SPDX-License-Identifier: MIT */
#include "trace_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "wire.h"

void model_must(bool condition, const char *text, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
	abort();
}

/* ---- chance ---- */

uint64_t model_random(struct model *m)
{
	uint64_t z = m->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t model_below(struct model *m, uint32_t n)
{
	return (uint32_t)(model_random(m) % n);
}

/* Mostly small, now and then anything up to 2^64 - 1. */
static uint64_t random_number(struct model *m)
{
	const uint64_t r = model_random(m);

	switch (model_below(m, 8)) {
	case 0:
		return r;
	case 1:
		return UINT64_MAX - (r & 31);
	case 2:
		return r & 0xffffffff;
	default:
		return r & 0xff;
	}
}

/* ---- vectors ---- */

static void push(struct model_vector *v, size_t item_size, const void *item)
{
	if (v->n == v->capacity) {
		v->capacity = v->capacity ? 2 * v->capacity : 64;
		v->items = realloc(v->items, v->capacity * item_size);
		MUST(v->items);
	}
	memcpy((char *)v->items + v->n++ * item_size, item, item_size);
}

static struct model_vector copy_vector(const struct model_vector *v, size_t item_size)
{
	struct model_vector copy = { 0 };

	for (size_t i = 0; i < v->n; i++)
		push(&copy, item_size, (const char *)v->items + i * item_size);
	return copy;
}

/* ---- life ---- */

static const char *const arguments[] = { "program", "", "--flag", "caf\xc3\xa9" };

int model_memfd(const void *data, size_t size)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	MUST(fd >= 0);
	for (size_t done = 0; done < size;) {
		const ssize_t n = write(fd, (const char *)data + done, size - done);

		MUST(n > 0);
		done += (size_t)n;
	}
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

void model_create(struct model *m, uint64_t seed, const struct mst_writer_options *options)
{
	*m = (struct model){ .random = seed, .identity = options->identity, .fd = model_memfd(NULL, 0) };
	m->info = (struct mst_file_info){
		.pid = (uint32_t)model_random(m),
		.machine = (uint16_t)model_random(m),
		.page_size = 4096,
		.pages = seed & 1,
		.start_ns = model_random(m),
		.recorder = "model 1",
		.exe = "/bin/program",
		.cwd = "",
		.argc = model_below(m, 5),
		.argv = arguments,
		.instructions = seed >> 3 & 1,
		.stacks = seed >> 4 & 1,
		.exact = seed >> 5 & 1,
	};
	MUST(mst_writer_create(&m->writer, m->fd, &m->info, options) == 0);
	push(&m->stacks, sizeof(struct mst_stack), &(struct mst_stack){ MST_ROOT_STACK, MST_NONE });
	push(&m->kinds, sizeof(struct mst_kind), &(struct mst_kind){ .op = MST_OP_UNKNOWN });
}

void model_destroy(struct model *m)
{
	mst_writer_destroy(m->writer);
	if (m->fd >= 0)
		close(m->fd);
	free(m->modules.items);
	free(m->threads.items);
	free(m->frames.items);
	free(m->stacks.items);
	free(m->kinds.items);
	free(m->events.items);
	free(m->steps.items);
	free(m->blocks.items);
	free(m->counts.items);
	free(m->memory.items);
	free(m->thread_names.items);
	free(m->scripts.items);
}

void model_fork_state(struct model *parent, struct model *child)
{
	*child = *parent;
	child->fd = -1;
	child->random ^= model_random(parent);
	child->peak_resident = 0;
	child->info.parent_pid = parent->info.pid;
	child->info.pid = parent->info.pid + 1;
	child->modules = copy_vector(&parent->modules, sizeof(struct mst_module));
	child->threads = copy_vector(&parent->threads, sizeof(struct mst_thread));
	child->frames = copy_vector(&parent->frames, sizeof(struct mst_frame));
	child->stacks = copy_vector(&parent->stacks, sizeof(struct mst_stack));
	child->kinds = copy_vector(&parent->kinds, sizeof(struct mst_kind));
	child->events = copy_vector(&parent->events, sizeof(struct mst_event));
	child->steps = copy_vector(&parent->steps, sizeof(struct mst_sp_change));
	child->blocks = copy_vector(&parent->blocks, sizeof(struct model_block));
	child->counts = copy_vector(&parent->counts, sizeof(uint64_t));
	child->thread_names = copy_vector(&parent->thread_names, sizeof(struct mst_thread_name));
	child->scripts = copy_vector(&parent->scripts, sizeof(struct mst_script));
	child->memory = copy_vector(&parent->memory, sizeof(struct mst_memory_sample));
	MUST(mst_writer_fork_state(parent->writer, &child->writer) == 0);
}

void model_fork_file(struct model *child)
{
	child->fd = model_memfd(NULL, 0);
	child->info.argc = model_below(child, 5);
	MUST(mst_writer_fork_file(child->writer, child->fd, &child->info) == 0);
}

/* ---- definitions ---- */

static void add_thread(struct model *m)
{
	const struct mst_thread thread = { .tid = (uint32_t)model_random(m) };
	uint32_t id;

	MUST(mst_writer_thread(m->writer, &thread, &id) == 0 && id == m->threads.n);
	push(&m->threads, sizeof(thread), &thread);
}

static const char *const paths[] = { "/lib/libc.so.6", "/bin/program", "[vdso]", "" };

static void add_module(struct model *m)
{
	struct mst_module module = {
		.path = paths[model_below(m, 4)],
		.role = (uint8_t)model_below(m, 4),
		.build_id_size = (uint8_t)(model_below(m, 2) ? 20 : model_below(m, MST_BUILD_ID_MAX + 1)),
		.order = (uint32_t)m->modules.n,
		.start = random_number(m),
		.end = random_number(m),
		.bias = random_number(m),
	};
	uint32_t id;

	for (size_t i = 0; i < module.build_id_size; i++)
		module.build_id[i] = (uint8_t)model_random(m);
	MUST(mst_writer_module(m->writer, &module, &id) == 0 && id == m->modules.n);
	push(&m->modules, sizeof(module), &module);
	MUST(mst_writer_module(m->writer, &module, &id) == 0 && id == m->modules.n - 1);
}

/* Interned: a new id is the next one and an old id means the same content. */
static void intern(struct model_vector *v, size_t size, const void *item, uint32_t id)
{
	if (id == v->n)
		push(v, size, item);
	MUST(id < v->n);
}

static const struct mst_script scripts[] = {
	{ "/lib/program.py", "main" }, { "program.py", "main" }, { "", "<python>" },
	{ "/program.py", "" },         { "<string>", "\xff\n" }, { "lib/", "load" },
};

/* Takes no random number. */
static uint64_t script_address(struct model *m)
{
	const uint64_t seed = m->random * 0x9e3779b97f4a7c15u;
	const struct mst_script *const script = &scripts[seed % (sizeof(scripts) / sizeof(*scripts))];
	struct mst_script *known;
	uint32_t id;

	MUST(mst_writer_script(m->writer, script, &id) == 0);
	intern(&m->scripts, sizeof(*script), script, id);
	known = &((struct mst_script *)m->scripts.items)[id];
	MUST(strcmp(known->file, script->file) == 0 && strcmp(known->function, script->function) == 0);
	return mst_script_address(id, (uint32_t)(seed >> 32));
}

static uint32_t add_frame(struct model *m)
{
	struct mst_frame frame = { .module = MST_NONE, .address = random_number(m) }, *known;
	uint32_t id;

	if (m->modules.n)
		frame.module = model_below(m, (uint32_t)m->modules.n + 1) - 1;
	if (frame.module == MST_NONE && m->random % 4 == 0)
		frame.address = script_address(m);
	MUST(mst_writer_frame(m->writer, &frame, &id) == 0);
	intern(&m->frames, sizeof(frame), &frame, id);
	known = &((struct mst_frame *)m->frames.items)[id];
	MUST(known->module == frame.module && known->address == frame.address);
	return id;
}

static uint32_t add_stack(struct model *m)
{
	struct mst_stack stack = { .parent = MST_ROOT_STACK, .frame = 0 }, *known;
	uint32_t id;

	if (model_below(m, 3))
		stack.parent = model_below(m, (uint32_t)m->stacks.n);
	stack.frame = m->frames.n && model_below(m, 2) ? model_below(m, (uint32_t)m->frames.n) : add_frame(m);
	MUST(mst_writer_stack(m->writer, &stack, &id) == 0);
	intern(&m->stacks, sizeof(stack), &stack, id);
	known = &((struct mst_stack *)m->stacks.items)[id];
	MUST(known->parent == stack.parent && known->frame == stack.frame);
	return id;
}

bool model_same_kind(const struct mst_kind *a, const struct mst_kind *b)
{
	return a->op == b->op && a->flags == b->flags && a->align_log2 == b->align_log2 &&
	       a->stack == b->stack && a->size == b->size && a->cap == b->cap && a->usable == b->usable;
}

uint32_t model_kind(struct model *m)
{
	struct mst_kind kind = {
		.op = (uint8_t)model_below(m, MST_OP_COUNT),
		.flags = (uint8_t)(model_below(m, 4) ? 0 : model_below(m, 4)),
		.align_log2 = (uint8_t)(model_below(m, 4) ? 0 : model_below(m, 64)),
		.stack = model_below(m, 2) ? model_below(m, (uint32_t)m->stacks.n) : add_stack(m),
		.size = random_number(m),
	};
	uint32_t id;

	kind.cap = kind.size;
	if (!model_below(m, 4) && kind.size < UINT64_MAX)
		kind.cap += random_number(m) % (UINT64_MAX - kind.size);
	if (kind.flags & MST_KIND_USABLE)
		kind.usable = kind.size +
			      (kind.size < UINT64_MAX ? random_number(m) % (UINT64_MAX - kind.size) : 0);
	MUST(mst_writer_kind(m->writer, &kind, &id) == 0);
	intern(&m->kinds, sizeof(kind), &kind, id);
	MUST(model_same_kind(&((struct mst_kind *)m->kinds.items)[id], &kind));
	MUST(model_same_kind(mst_writer_kind_at(m->writer, id), &kind));
	return id;
}

/* ---- calls ---- */

static uint32_t any_kind(struct model *m)
{
	return model_below(m, 4) ? model_below(m, (uint32_t)m->kinds.n) : model_kind(m);
}

static bool is_page(const struct model *m, uint32_t kind)
{
	return mst_op_is_page(((struct mst_kind *)m->kinds.items)[kind].op);
}

/* A kind for the call of a free. */
static uint32_t call_kind(struct model *m)
{
	uint32_t kind;

	do
		kind = any_kind(m);
	while (is_page(m, kind));
	return kind;
}

/* A live block, removed or not; the unknown one if there is none, or by chance. */
static struct model_block any_block(struct model *m, bool take)
{
	struct model_block block = { .kind = MST_UNKNOWN_KIND, .index = UINT64_MAX, .ordinal = UINT64_MAX },
			   *blocks = m->blocks.items;
	size_t at;

	if (!m->blocks.n || !model_below(m, 10))
		return block;
	at = model_below(m, (uint32_t)m->blocks.n);
	block = blocks[at];
	if (take)
		blocks[at] = blocks[--m->blocks.n];
	return block;
}

static void keep_event(struct model *m, struct mst_event event)
{
	if (!m->identity)
		event.old_index = UINT64_MAX;
	event.thread = m->thread;
	event.time = m->time_ns >> MODEL_TIME_SHIFT;
	event.instructions = m->stepped = m->instructions;
	push(&m->events, sizeof(event), &event);
}

/* Its index. */
static uint64_t new_block(struct model *m, uint32_t kind, uint64_t ordinal)
{
	const struct model_block block = { .kind = kind, .index = m->allocs++, .ordinal = ordinal };

	while (m->counts.n <= kind)
		push(&m->counts, sizeof(uint64_t), &(uint64_t){ 0 });
	MUST(ordinal == ((uint64_t *)m->counts.items)[kind]++);
	push(&m->blocks, sizeof(block), &block);
	return block.index;
}

static void do_alloc(struct model *m)
{
	const uint32_t kind = any_kind(m);
	uint64_t ordinal;

	MUST(mst_writer_alloc(m->writer, kind, &ordinal) == 0);
	keep_event(m, (struct mst_event){ .type = MST_EVENT_ALLOC,
					  .kind = kind,
					  .old_kind = MST_NONE,
					  .index = new_block(m, kind, ordinal),
					  .old_index = UINT64_MAX });
}

static void do_free(struct model *m)
{
	const uint32_t call = model_below(m, 4) ? MST_NONE : call_kind(m);
	const struct model_block block = any_block(m, true);

	if (call == MST_NONE)
		MUST(mst_writer_free(m->writer, block.kind, block.ordinal) == 0);
	else
		MUST(mst_writer_free_by(m->writer, block.kind, block.ordinal, call) == 0);
	keep_event(m, (struct mst_event){ .type = MST_EVENT_FREE,
					  .kind = call,
					  .old_kind = block.kind,
					  .index = UINT64_MAX,
					  .old_index = block.index });
}

static void do_resize(struct model *m)
{
	const uint32_t kind = any_kind(m);
	const struct model_block block = any_block(m, true);
	uint64_t ordinal;

	MUST(mst_writer_resize(m->writer, block.kind, block.ordinal, kind, &ordinal) == 0);
	keep_event(m, (struct mst_event){ .type = MST_EVENT_RESIZE,
					  .kind = kind,
					  .old_kind = block.kind,
					  .index = new_block(m, kind, ordinal),
					  .old_index = block.index });
}

static void do_call(struct model *m)
{
	const uint32_t kind = any_kind(m);
	struct mst_event event = {
		.type = MST_EVENT_CALL,
		.kind = kind,
		.old_kind = MST_NONE,
		.index = UINT64_MAX,
		.old_index = UINT64_MAX,
	};

	if (is_page(m, kind)) {
		event.address = random_number(m);
		MUST(mst_writer_call(m->writer, kind) == MST_ERR_ARGUMENT);
		MUST(mst_writer_page(m->writer, kind, event.address) == 0);
	} else if (model_below(m, 2)) {
		MUST(mst_writer_page(m->writer, kind, 4096) == MST_ERR_ARGUMENT);
		MUST(mst_writer_call(m->writer, kind) == 0);
	} else {
		const struct model_block block = any_block(m, false);

		MUST(mst_writer_failed_resize(m->writer, block.kind, block.ordinal, kind) == 0);
		event.old_kind = block.kind;
		event.old_index = block.index;
	}
	keep_event(m, event);
}

/* Advances the instruction count, now and then by very much; older and impossible counts change nothing. */
static void count_on(struct model *m)
{
	uint64_t more = model_below(m, 3) ? model_below(m, 300) : 0;

	if (!model_below(m, 5000))
		more = INT64_MAX / 16;
	if (more > INT64_MAX - m->instructions)
		more = 0;
	m->instructions += more;
	mst_writer_instructions(m->writer, m->instructions);
	if (!model_below(m, 10))
		mst_writer_instructions(m->writer, model_below(m, 2) ? m->instructions / 2 : UINT64_MAX);
}

static size_t put_varint(uint8_t *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)v | 0x80;
	to[n++] = (uint8_t)v;
	return n;
}

/* A change of the stack pointer, mostly small and a multiple of eight. The writer refuses 0 bytes and a cut change. */
static void change_stack(struct model *m)
{
	const bool shrinks = model_below(m, 2), in_bytes = !model_below(m, 20);
	const uint64_t size = 1 + (model_below(m, 50) ? model_below(m, 40) : random_number(m) >> 8);
	const uint64_t passed = model_below(m, 2) ? (m->instructions - m->stepped) / 2 : 0;
	struct mst_sp_change step = { .record = (uint32_t)m->events.n };
	uint8_t bytes[20];
	size_t n = put_varint(bytes, size << 3 | in_bytes << 2 | shrinks << 1 | (passed != 0));

	if (passed)
		n += put_varint(bytes + n, passed);
	step.grown = in_bytes ? size : size * 8;
	if (shrinks)
		step.grown = -step.grown;
	step.instructions = m->stepped += passed;
	MUST(mst_writer_sp_changes(m->writer, (const uint8_t[]){ 7, 0 }, 2) == MST_ERR_ARGUMENT);
	MUST(n < 2 || mst_writer_sp_changes(m->writer, bytes, n - 1) == MST_ERR_ARGUMENT);
	MUST(mst_writer_sp_changes(m->writer, bytes, n) == 0);
	push(&m->steps, sizeof(step), &step);
}

/* Advances the time, mostly by little; another thread now and then, sometimes with an older time. */
static void move_on(struct model *m)
{
	uint64_t time = m->time_ns;

	if (!m->threads.n || !model_below(m, 500))
		add_thread(m);
	if (!model_below(m, 500))
		add_module(m);
	if (!model_below(m, 20))
		m->thread = model_below(m, (uint32_t)m->threads.n);
	time += model_below(m, model_below(m, 50) ? 2000 : 1000000);
	if (!model_below(m, 10) && time > 5000)
		time -= 5000;
	mst_writer_at(m->writer, time, m->thread);
	if (time > m->time_ns)
		m->time_ns = time;
	if (!m->info.instructions)
		return;
	count_on(m);
	for (uint32_t n = model_below(m, 30) ? 0 : model_below(m, model_below(m, 2000) ? 3 : 1000); n > 0;
	     n--)
		change_stack(m);
}

/* Any thread's; takes no random number. */
static void name_thread(struct model *m)
{
	static const char *const names[] = { "", "a", "worker 2", "\xff\n" };
	const struct mst_thread_name name = {
		.thread = (uint32_t)(m->random >> 20) % (uint32_t)m->threads.n,
		.time = m->time_ns >> MODEL_TIME_SHIFT,
		.name = names[m->random >> 40 & 3],
	};

	MUST(mst_writer_thread_name(m->writer, name.thread, m->time_ns, name.name) == 0);
	push(&m->thread_names, sizeof(name), &name);
}

/* A sample of the memory, with a number that repeats, of KiB that fit 64 bits as bytes. Takes no random number. */
static uint64_t sampled(uint64_t seed)
{
	return seed % 5 ? seed >> 50 << 10 : (seed >> 10) << 10;
}

static void add_sample(struct model *m)
{
	const uint64_t seed = m->random * 0x9e3779b97f4a7c15u;
	const bool detailed = seed >> 60 == 7;
	struct mst_memory_sample sample = {
		.time = (m->time_ns + (seed & 4095)) >> MODEL_TIME_SHIFT,
		.resident = sampled(seed),
		.detailed = detailed,
		.proportional = detailed && seed & 1 ? sampled(seed / 3) : UINT64_MAX,
		.swapped = detailed && seed & 2 ? sampled(seed / 7) : UINT64_MAX,
		.minor_faults = detailed ? seed : 0,
		.major_faults = detailed ? seed >> 9 : 0,
	};
	const struct mst_memory_sample *samples = (struct mst_memory_sample *)m->memory.items;
	const uint64_t ns = sample.time << MODEL_TIME_SHIFT;

	if (m->memory.n && sample.time < samples[m->memory.n - 1].time)
		sample.time = samples[m->memory.n - 1].time;
	MUST(mst_writer_memory(m->writer, ns, &sample) == 0);
	push(&m->memory, sizeof(sample), &sample);
	if (sample.resident > m->peak_resident)
		m->peak_resident = sample.resident;
	MUST(mst_writer_peak_resident(m->writer, sample.resident) == 0);
}

void model_step(struct model *m)
{
	const uint64_t before = mst_writer_events(m->writer);
	const uint32_t chance = model_below(m, 1000);

	move_on(m);
	if (m->random % 64 == 0)
		add_sample(m);
	if (m->random % 64 == 1)
		name_thread(m);
	if (chance < 450) {
		do_alloc(m);
	} else if (chance < 750) {
		do_free(m);
	} else if (chance < 880) {
		do_resize(m);
	} else if (chance < 980) {
		do_call(m);
	} else if (chance < 995) {
		const uint64_t n = model_below(m, 3);

		mst_writer_null_frees(m->writer, n);
		m->null_frees += n;
		MUST(mst_writer_events(m->writer) == before + n);
		return;
	} else {
		MUST(mst_writer_flush(m->writer) == 0);
		return;
	}
	MUST(mst_writer_events(m->writer) == before + 1);
}

struct mst_end model_end(const struct model *m)
{
	return (struct mst_end){
		.reason = MST_END_SIGNAL,
		.detail = 11,
		.time_ns = m->time_ns,
		.events = m->events.n + m->null_frees,
		.lost = m->allocs,
		.unknown_frees = UINT64_MAX,
		.implied_frees = m->info.pid,
	};
}

uint8_t *model_bytes(const struct model *m, size_t *size)
{
	const off_t end = lseek(m->fd, 0, SEEK_END);
	uint8_t *bytes = malloc((size_t)end + 1);

	MUST(bytes && pread(m->fd, bytes, (size_t)end, 0) == end);
	*size = (size_t)end;
	return bytes;
}

/* ---- index and end, which the reader doesn't need ---- */

static size_t parse_unit(const uint8_t *at, struct unit_header *header)
{
	size_t size = UNIT_PREFIX + wire_u32(at + 4);

	MUST(!unit_parse(at + UNIT_PREFIX, size - UNIT_PREFIX, header));
	for (uint32_t i = 0; i < header->n_columns; i++)
		size += header->columns[i].stored;
	return size;
}

/* One entry of the index against its unit: the place behind the entry. */
static const uint8_t *check_entry(const uint8_t *p, const uint8_t *end, const struct unit_header *unit,
				  size_t size, uint64_t *time)
{
	uint64_t number = 0;

	MUST(p && p < end && *p == unit->type);
	p = wire_varint(p + 1, end, &number);
	MUST(p && number == size);
	if (unit->type == UNIT_EVENTS) {
		p = wire_varint(p, end, &number);
		MUST(p && number == wire_u32(unit->fields + 32));
		p = wire_varint(p, end, &number);
		*time += number;
		MUST(p && *time == wire_u64(unit->fields + 16));
	}
	return p;
}

static void check_index(const struct model *m)
{
	size_t size, at, index_at, raw;
	uint8_t *bytes = model_bytes(m, &size), *column;
	const uint32_t end_size = wire_u32(bytes + size - 8);
	struct unit_header unit, index;
	const uint8_t *p;
	uint64_t time = 0;
	uint32_t n = 0;

	MUST(parse_unit(bytes + size - end_size, &unit) == end_size && unit.type == UNIT_END);
	index_at = wire_u64(unit.fields + 48);
	MUST(index_at + parse_unit(bytes + index_at, &index) == size - end_size);
	raw = index.columns[0].raw;
	p = column = malloc(raw);
	MUST(ZSTD_decompress(column, raw, bytes + size - end_size - index.columns[0].stored,
			     index.columns[0].stored) == raw);
	for (at = 0; at < index_at; n++) {
		const size_t unit_size = parse_unit(bytes + at, &unit);

		p = check_entry(p, column + raw, &unit, unit_size, &time);
		at += unit_size;
	}
	MUST(at == index_at && p == column + raw && wire_u32(index.fields) == n);
	free(column);
	free(bytes);
}

void model_finish(struct model *m)
{
	struct mst_end end = model_end(m);

	MUST(mst_writer_events(m->writer) == end.events);
	MUST(mst_writer_finish(m->writer, &end) == 0);
	MUST(lseek(m->fd, 0, SEEK_END) == (off_t)mst_writer_bytes(m->writer));
	check_index(m);
}
