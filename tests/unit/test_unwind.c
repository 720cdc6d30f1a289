/* SPDX-License-Identifier: MIT */
/* cfi, modules and unwind, each alone; tests/stress/unwind_exact compares whole stacks. */

#include "cfi.h"
#include "modules.h"
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned failures;

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition);                      \
			failures++;                                                                          \
		}                                                                                            \
	} while (0)

/* Counts allocations, which the code under test must never make. */
void *__libc_malloc(size_t size);
static unsigned long mallocs;

void *malloc(size_t size)
{
	mallocs++;
	return __libc_malloc(size);
}

/*
 * A section made by hand: header without a table, one CIE, one FDE for [0x1000, 0x1100), whose
 * program is the test's.
 */
struct section {
	unsigned char bytes[512];
	size_t used;
};

static void put(struct section *s, const void *bytes, size_t size)
{
	memcpy(s->bytes + s->used, bytes, size);
	s->used += size;
}

static void put_u32(struct section *s, uint32_t value)
{
	put(s, &value, sizeof(value));
}

static void put_u64(struct section *s, uint64_t value)
{
	put(s, &value, sizeof(value));
}

static void fill_length(struct section *s, size_t at)
{
	uint32_t size = (uint32_t)(s->used - at - 4);

	memcpy(s->bytes + at, &size, sizeof(size));
}

static struct cfi_section build(struct section *s, const unsigned char *program, size_t size, bool signal)
{
	/* Version, frames pc-relative sdata4, no count, no table; frames follow at once. */
	static const unsigned char header[] = { 1, 0x1b, 0xff, 0xff, 4, 0, 0, 0 };
	/* CFA = rsp + 8, return address at CFA - 8. */
	static const unsigned char initial[] = { 0x0c, 7, 8, 0x90, 1 };
	size_t cie, fde;

	s->used = 0;
	put(s, header, sizeof(header));
	cie = s->used;
	put_u32(s, 0);
	put_u32(s, 0);
	put(s, "\1", 1);
	put(s, signal ? "zRS" : "zR", signal ? 4 : 3);
	put(s, "\1\x78\x10\1\0", 5); /* factors 1 and -8, register 16, R: absolute */
	put(s, initial, sizeof(initial));
	fill_length(s, cie);
	fde = s->used;
	put_u32(s, 0);
	put_u32(s, (uint32_t)(s->used - cie));
	put_u64(s, 0x1000);
	put_u64(s, 0x100);
	put(s, "\0", 1);
	put(s, program, size);
	fill_length(s, fde);
	put_u32(s, 0);
	return (struct cfi_section){ (uintptr_t)s->bytes, (uintptr_t)s->bytes + sizeof(header),
				     (uintptr_t)s->bytes + sizeof(header), (uintptr_t)s->bytes + s->used };
}

static void test_rows(void)
{
	static const unsigned char program[] = {
		0x41, 0x0e, 16,   0x86, 2,              /* +1: push rbp */
		0x43, 0x0d, 6,                          /* +4: rbp is the base */
		0x4c, 0x0a, 0x0c, 7,    8, 0xc6,        /* +16: an early return … */
		0x41, 0x0b,                             /* +17: … and the rest of the body */
		0x41, 0x08, 6,    0x07, 3, 0x14, 12, 2, /* +18: same, undefined, val_offset */
	};
	struct cfi_function f;
	struct cfi_work w;
	struct section s;
	struct cfi_section section = build(&s, program, sizeof(program), false);

	CHECK(!cfi_find(&section, 0xfff, &f));
	CHECK(!cfi_find(&section, 0x1100, &f));
	CHECK(cfi_find(&section, 0x10ff, &f) && f.start == 0x1000 && f.end == 0x1100 && !f.signal);
	CHECK(cfi_find_row(&f, 0x1000, &w) && w.row.cfa_register == CFI_RSP && w.row.cfa == 8);
	CHECK(w.row.kind[CFI_RIP] == CFI_OFFSET && w.row.value[CFI_RIP] == -8);
	CHECK(cfi_find_row(&f, 0x1003, &w) && w.row.cfa_register == CFI_RSP && w.row.cfa == 16);
	CHECK(w.row.kind[CFI_RBP] == CFI_OFFSET && w.row.value[CFI_RBP] == -16);
	CHECK(cfi_find_row(&f, 0x1004, &w) && w.row.cfa_register == CFI_RBP && w.row.cfa == 16);
	CHECK(cfi_find_row(&f, 0x1010, &w) && w.row.cfa_register == CFI_RSP && w.row.cfa == 8);
	CHECK(w.row.kind[CFI_RBP] == CFI_SAME);
	CHECK(cfi_find_row(&f, 0x1011, &w) && w.row.cfa_register == CFI_RBP && w.row.cfa == 16);
	CHECK(cfi_find_row(&f, 0x10ff, &w) && w.row.kind[CFI_RBP] == CFI_SAME);
	CHECK(w.row.kind[CFI_RBX] == CFI_UNDEFINED);
	CHECK(w.row.kind[CFI_R12] == CFI_VAL_OFFSET && w.row.value[CFI_R12] == -16);
}

struct memory {
	uint64_t words[16];
	unsigned links;
};

/* Addresses 0x8000 and up are the words. */
static bool read_words(void *context, uintptr_t address, unsigned bytes, bool link, uint64_t *value)
{
	struct memory *memory = context;

	if (address < 0x8000 || address > 0x8000 + sizeof(memory->words) - bytes)
		return false;
	*value = 0;
	memcpy(value, (const char *)memory->words + (address - 0x8000), bytes);
	memory->links += link;
	return true;
}

static enum cfi_result step_by(const unsigned char *program, size_t size, struct cfi_state *state,
			       struct memory *memory, struct cfi_step *step)
{
	struct cfi_function f;
	struct cfi_work w;
	struct section s;
	struct cfi_section section = build(&s, program, size, false);

	*step = (struct cfi_step){ .read = read_words, .context = memory, .state = state };
	if (!cfi_find(&section, 0x1050, &f) || !cfi_find_row(&f, 0x1050, &w))
		return CFI_FAILED;
	return cfi_take_step(step, &w);
}

static void test_steps(void)
{
	/* A realigned frame: CFA = *(rbp - 8), rbp saved at rbp. */
	static const unsigned char realigned[] = { 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0 };
	/* CFA = rsp + 8 + ((rip & 15) >= 11) * 8, as in a PLT. */
	static const unsigned char plt[] = { 0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
					     0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	static const unsigned char outermost[] = { 0x07, 16 };
	static const unsigned char needs_rbx[] = { 0x0d, 3 };
	static const unsigned char endless[] = { 0x0f, 3, 0x2f, 0xfd, 0xff };
	static const unsigned char underflow[] = { 0x0f, 2, 0x30, 0x22 };
	const uint32_t links = 1u << CFI_RIP | 1u << CFI_RSP | 1u << CFI_RBP;
	struct memory memory = { .words = { 0x8050, 0x7777, 0x4444, 0x5555 } };
	struct cfi_state state = { .known = links };
	struct cfi_step step;

	memory.words[9] = 0x1234; /* below CFA 0x8050 */
	state.value[CFI_RBP] = 0x8008;
	CHECK(step_by(realigned, sizeof(realigned), &state, &memory, &step) == CFI_OK);
	CHECK(state.value[CFI_RSP] == 0x8050 && state.value[CFI_RIP] == 0x1234);
	CHECK(state.value[CFI_RBP] == 0x7777 && step.return_at == 0x8048 && memory.links == 3);
	CHECK(step.used == 1u << CFI_RBP);

	state = (struct cfi_state){ .known = links };
	state.value[CFI_RSP] = 0x8008;
	state.value[CFI_RIP] = 0x400b;
	CHECK(step_by(plt, sizeof(plt), &state, &memory, &step) == CFI_OK);
	CHECK(state.value[CFI_RSP] == 0x8018 && state.value[CFI_RIP] == 0x4444);
	state.value[CFI_RSP] = 0x8008;
	state.value[CFI_RIP] = 0x400a;
	CHECK(step_by(plt, sizeof(plt), &state, &memory, &step) == CFI_OK);
	CHECK(state.value[CFI_RSP] == 0x8010 && state.value[CFI_RIP] == 0x7777);

	CHECK(step_by(outermost, sizeof(outermost), &state, &memory, &step) == CFI_OUTERMOST);
	CHECK(step_by(needs_rbx, sizeof(needs_rbx), &state, &memory, &step) == CFI_NEEDS_REGISTER);
	CHECK(step_by(endless, sizeof(endless), &state, &memory, &step) == CFI_FAILED);
	CHECK(step_by(underflow, sizeof(underflow), &state, &memory, &step) == CFI_FAILED);
	state.value[CFI_RSP] = 0x9000;
	CHECK(step_by((const unsigned char *)"", 0, &state, &memory, &step) == CFI_FAILED);
}

/* Changes a byte of the description of the code at pc. */
static void damage_near(const struct cfi_section *copy, uintptr_t pc, unsigned random)
{
	struct cfi_function f;
	unsigned char *at;

	if (!cfi_find(copy, pc, &f))
		return;
	at = (unsigned char *)(random % 3 ? f.own_end : f.common_end) - 1 - random % 40;
	if ((uintptr_t)at >= copy->start && (uintptr_t)at < copy->end)
		*at = (unsigned char)(random >> 8);
}

/* A real section, copied before an inaccessible page, with random changes: any answer is right, a crash is not. */
static void test_damaged(void)
{
	struct cfi_section real, copy;
	size_t bytes, rounded;
	unsigned char *pages, *start;
	unsigned found = 0;

	if (!modules_find((uintptr_t)strlen, &real) || real.header == 0) {
		CHECK(!"libc has call frame information");
		return;
	}
	bytes = real.end - real.start;
	rounded = (bytes + 4095) & ~(size_t)4095;
	pages = mmap(NULL, rounded + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages + rounded, 4096, PROT_NONE);
	start = pages + rounded - bytes;
	memcpy(start, (const void *)real.start, bytes);
	copy = (struct cfi_section){ real.header - real.start + (uintptr_t)start,
				     real.header_end - real.start + (uintptr_t)start, (uintptr_t)start,
				     (uintptr_t)start + bytes };
	srand(1);
	for (unsigned i = 0; i < 200000; i++) {
		/* Pointers in the copy are relative to it. */
		uintptr_t pc =
			(uintptr_t)strlen + (unsigned)rand() % 900000 - 450000 - real.start + copy.start;
		struct memory memory = { .words = { 0x8010, 0x8020, 0x8030 } };
		struct cfi_state state = { .known = 0x1ffff };
		struct cfi_step step = {
			.read = read_words, .context = &memory, .state = &state, .all_registers = true
		};
		struct cfi_function f;
		struct cfi_work w;

		if (i % 256 == 0)
			memcpy(start, (const void *)real.start, bytes);
		if (i > 20000)
			start[(unsigned)rand() % bytes] = (unsigned char)rand();
		for (unsigned reg = 0; reg < CFI_REGISTERS; reg++)
			state.value[reg] = 0x8000 + reg * 8;
		if (i > 20000 && i % 4 == 0)
			damage_near(&copy, pc, (unsigned)rand());
		if (cfi_find(&copy, pc, &f) && cfi_find_row(&f, pc, &w)) {
			cfi_take_step(&step, &w);
			found += i <= 20000;
		}
	}
	CHECK(found > 5000);
	munmap(pages, rounded + 4096);
}

static uint64_t stamp(void)
{
	static uint64_t now;

	return ++now;
}

static struct module_table *new_table(uint32_t capacity)
{
	struct module_table *table = mmap(NULL, module_table_bytes(capacity, 4096), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	table->capacity = capacity;
	table->text_capacity = 4096;
	return table;
}

static const struct module *module_of(struct module_table *table, uintptr_t pc)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (pc >= table->modules[i].start && pc < table->modules[i].end)
			return &table->modules[i];
	return NULL;
}

static bool has_path(struct module_table *table, const struct module *module, const char *path)
{
	return module->path_size == strlen(path) &&
	       memcmp(module_table_text(table) + module->path, path, module->path_size) == 0;
}

static void test_modules(struct module_table *table)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR), loader = getauxval(AT_BASE);
	const struct module *module;
	struct cfi_section section;
	char path[4096] = "";
	Dl_info info;

	module = module_of(table, (uintptr_t)test_modules);
	CHECK(table->count == 1);
	CHECK(module && module->role == MODULE_EXECUTABLE && module->order == 0);
	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	CHECK(module && has_path(table, module, path));

	CHECK(modules_find((uintptr_t)strlen, &section));
	module = module_of(table, (uintptr_t)strlen);
	CHECK(module && module->role == MODULE_LIBRARY && module->order > 0);
	CHECK(module && module->build_id_size == 20 && module->closed == 0 && module->opened > 0);
	CHECK(dladdr((void *)(uintptr_t)strlen, &info) != 0);
	CHECK(module && module->bias == (uintptr_t)info.dli_fbase);
	CHECK(module && has_path(table, module, info.dli_fname));

	CHECK(modules_find(loader + 0x2000, &section));
	module = module_of(table, loader + 0x2000);
	CHECK(module && module->role == MODULE_INTERPRETER);
	if (vdso != 0) {
		CHECK(modules_find(vdso + 64, &section));
		module = module_of(table, vdso + 64);
		CHECK(module && module->role == MODULE_VDSO && has_path(table, module, "[vdso]"));
	}
	for (uint32_t i = 0; i < table->count; i++)
		for (uint32_t j = 0; j < i; j++)
			CHECK(table->modules[i].order != table->modules[j].order);
	CHECK(!modules_find((uintptr_t)&section, &section));
	CHECK(!modules_find(0, &section));
	CHECK(table->refused == 0);
}

/* An unload closes exactly its own object; remembered stacks become invalid. */
static void test_closing(struct module_table *table, void *handle, uintptr_t inside)
{
	struct cfi_section section;
	uint64_t before = modules_state_now();
	const struct module *module;

	CHECK(modules_find(inside, &section));
	CHECK(modules_state_now() != before);
	module = module_of(table, inside);
	CHECK(module && module->closed == 0);
	before = modules_state_now();
	modules_closing_begin();
	CHECK(modules_state_now() & MODULES_CLOSING);
	dlclose(handle);
	modules_closing_end(4711, true);
	CHECK(!(modules_state_now() & MODULES_CLOSING));
	CHECK(modules_closings(modules_state_now()) != modules_closings(before));
	CHECK(module && module->closed == 4711);
	for (uint32_t i = 0; i < table->count; i++)
		CHECK(&table->modules[i] == module || table->modules[i].closed == 0);
	CHECK(!modules_find(inside, &section));
}

static void test_full_table(void)
{
	struct module_table *table = new_table(1);
	struct cfi_section section;

	modules_after_fork(table, NULL);
	CHECK(table->count == 1);
	CHECK(modules_find((uintptr_t)strlen, &section) && section.header != 0);
	CHECK(table->count == 1 && table->refused > 0);
}

/* A child has its parent's entries, and rules stay; but not if the parent has closed or replaced one since the fork. */
static void test_inherited(void)
{
	struct module_table *parents = new_table(8), *child = new_table(8);
	struct cfi_section section;
	uint64_t before, opened;

	modules_after_fork(parents, NULL);
	CHECK(modules_find((uintptr_t)strlen, &section));
	before = modules_state_now();
	modules_after_fork(child, parents);
	CHECK(child->count == 2 && child->text_used == parents->text_used);
	CHECK(memcmp(child->modules, parents->modules, 2 * sizeof(*child->modules)) == 0);
	CHECK(memcmp(module_table_text(child), module_table_text(parents), child->text_used) == 0);
	CHECK(modules_state_now() != before);
	CHECK(modules_closings(modules_state_now()) == modules_closings(before));
	CHECK(modules_find((uintptr_t)strlen, &section) && child->count == 2);

	opened = child->modules[1].opened++;
	modules_after_fork(new_table(8), child);
	CHECK(modules_closings(modules_state_now()) != modules_closings(before));
	child->modules[1].opened = opened;
	before = modules_state_now();
	child = new_table(8);
	modules_after_fork(child, NULL);
	CHECK(modules_find((uintptr_t)strlen, &section) && child->count == 2);
	child->modules[1].closed = stamp();
	parents = new_table(8);
	modules_after_fork(parents, child);
	CHECK(parents->count == 1 && modules_find((uintptr_t)strlen, &section) && parents->count == 2);
}

/* Loads the plug-in, finds its entry in the table, and unloads it. Returns the entry. */
static const struct module *load_once(struct module_table *table, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	struct cfi_section section;
	const uintptr_t inside = handle ? (uintptr_t)dlsym(handle, "plugin_run") : 0;
	const struct module *found = NULL;

	CHECK(modules_find(inside, &section));
	for (const struct module *m = table->modules; m < table->modules + table->count; m++)
		if (inside >= m->start && inside < m->end && m->closed == 0)
			found = m;
	modules_closing_begin();
	dlclose(handle);
	modules_closing_end(stamp(), true);
	return found;
}

/* An entry and its path's room are reused only after the reader has passed the closing. */
static void test_reuse(const char *path)
{
	struct module_table *table = new_table(8);
	const struct module *first, *second;
	uint32_t text;

	modules_after_fork(table, NULL);
	first = load_once(table, path);
	CHECK(first != NULL);
	if (!first)
		return;
	table->taken = first->closed;
	second = load_once(table, path);
	CHECK(second == first + 1 && table->reused == 0);
	text = table->text_used;
	for (unsigned i = 1; i < 100; i++) {
		const uint64_t opened = first->opened;

		table->taken = first->closed + 1;
		CHECK(load_once(table, path) == first);
		CHECK(first->opened > opened && first->closed > first->opened && table->reused == i);
	}
	CHECK(table->count == 3);
	CHECK(table->text_used == text && table->refused == 0);
}

static struct unwind_stack *stack;

static __attribute__((noinline)) uint32_t capture(void)
{
	struct unwind_regs regs = {
		(uintptr_t)__builtin_return_address(0),
		(uintptr_t)__builtin_dwarf_cfa(),
		*(uintptr_t *)__builtin_frame_address(0),
	};

	return unwind_capture(stack, &regs);
}

static __attribute__((noinline)) uint32_t descend(unsigned depth)
{
	uint32_t node = depth > 0 ? descend(depth - 1) : capture();

	__asm__ volatile("");
	return node;
}

static uint32_t depth_of(uint32_t node)
{
	return stack->nodes[node].depth;
}

static void test_capture(void)
{
	const size_t bytes = unwind_stack_bytes(256);
	uint32_t node, again, made;
	unsigned long before;

	stack = unwind_stack_init(
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 256, 32);
	before = mallocs;
	errno = 77;
	node = descend(3);
	CHECK(depth_of(node) > 4 && depth_of(node) < 64);
	CHECK(unwind_node_pc(&stack->nodes[node]) - (uintptr_t)descend < 200);
	/* Equal stacks have equal nodes, with other stacks in between; a node has one meaning. */
	for (volatile unsigned i = 0; i < 3; i++) {
		node = descend(3);
		again = capture();
		CHECK(again != node && depth_of(again) < depth_of(node));
	}
	made = stack->n_nodes;
	for (volatile unsigned i = 0; i < 30; i++) {
		again = descend(i % 3);
		CHECK(depth_of(again) == depth_of(node) - 3 + i % 3);
	}
	CHECK(stack->n_nodes <= made + 6);
	/* The wanted frames are there at any depth of the stack; nodes begin anew when there is no room. */
	stack->emitted = stack->n_contexts;
	CHECK(depth_of(descend(1000)) >= 32);
	CHECK(stack->emitted < stack->n_contexts && stack->n_nodes <= 256);
	CHECK(depth_of(descend(40)) >= 32);
	CHECK(errno == 77 && mallocs == before);
}

/* Six stacks of more than 55 frames of their own: more frames than there is room for. */
static uint32_t descend_six_ways(void)
{
	uint32_t node = descend(55);

	CHECK(descend(55) != node);
	node = descend(55);
	CHECK(descend(55) != node);
	CHECK(descend(55) != node);
	return unwind_context(stack, descend(55));
}

/* What a stack is outlives where it is: when nodes begin anew, no context does. */
static void test_contexts(void)
{
	const size_t bytes = unwind_stack_bytes(256);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t made, first, second;

	stack = unwind_stack_init(memory, 256, 64);
	first = second = 0;
	made = 0;
	for (volatile unsigned i = 0; i < 4; i++) {
		second = descend_six_ways();
		CHECK(stack->n_contexts > 300 && stack->n_nodes <= 256);
		CHECK(i == 0 || (stack->n_contexts == made && second == first));
		made = stack->n_contexts;
		first = second;
	}
	/* Each is a pc below a context of a lower number. */
	for (uint32_t i = UNWIND_ROOT + 1; i < stack->n_contexts; i++)
		CHECK(stack->contexts[i].parent < i || stack->contexts[i].parent == UNWIND_CUT);
	munmap(memory, bytes);
}

/* A stack of one frame, in code that is nowhere. */
static uint32_t capture_at(uintptr_t pc, const uint64_t *sp)
{
	const struct unwind_regs regs = { .pc = pc, .sp = (uintptr_t)sp };

	return unwind_context(stack, unwind_capture(stack, &regs));
}

/* All contexts that there is room for, to the last one. */
static void test_full_contexts(void)
{
	const uint32_t most = 256 * UNWIND_CONTEXTS_PER_NODE;
	const size_t bytes = unwind_stack_bytes(256);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uintptr_t first = 0x100000;
	uint64_t places[256] = { 0 };
	unsigned made = 0;

	stack = unwind_stack_init(memory, 256, 64);
	for (; made < most - 150; made++)
		CHECK(capture_at(first + made, places) == made + 1);
	/* Nodes begin anew; so there is no other reason to forget contexts before all are used. */
	for (unsigned i = 1; i < 256 && stack->n_nodes > 2; i++)
		CHECK(capture_at(first, places + i) == UNWIND_ROOT + 1);
	for (; made < most - 1; made++)
		CHECK(capture_at(first + made, places) == made + 1);
	CHECK(stack->n_contexts == most && stack->n_nodes < 200);
	for (unsigned i = 0; i < 50; i++)
		CHECK(capture_at(first + made - 1 - i, places) == made - i && stack->n_contexts == most);
	CHECK(capture_at(first + made, places) == UNWIND_ROOT + 1);
	munmap(memory, bytes);
}

static unsigned touched_pages(void *memory, size_t bytes)
{
	static unsigned char page[8192];
	unsigned n = 0;

	CHECK(bytes / 4096 <= sizeof(page) && mincore(memory, bytes, page) == 0);
	for (size_t i = 0; i < bytes / 4096; i++)
		n += page[i] & 1;
	return n;
}

/* A thread with few stacks uses few pages; the next thread ignores their old content. */
static void test_memory(void)
{
	const size_t bytes = unwind_stack_bytes(8192) & ~(size_t)4095;
	void *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stack = unwind_stack_init(memory, 8192, 256);
	CHECK(depth_of(descend(0)) < depth_of(descend(20)));
	CHECK(touched_pages(memory, bytes) <= 10);
	for (unsigned round = 0; round < 3; round++) {
		const uint32_t first = descend(2);

		for (unsigned depth = 250; depth > 0; depth--)
			CHECK(depth_of(descend(depth - 1)) <= 256 * 4);
		CHECK(depth_of(descend(3)) == depth_of(first) + 1);
		stack = unwind_stack_init(memory, 8192, 256);
		CHECK(stack->n_nodes == UNWIND_ROOT + 1);
	}
	munmap(memory, bytes + 4096);
}

int main(int argc, char **argv)
{
	struct module_table *table = new_table(64);
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	modules_init(table, (modules_find_function *)dlsym(RTLD_DEFAULT, "_dl_find_object"), stamp);
	test_rows();
	test_steps();
	test_modules(table);
	test_damaged();
	if (handle) {
		test_closing(table, handle, (uintptr_t)dlsym(handle, "plugin_run"));
		test_reuse(argv[1]);
	}
	test_capture();
	test_contexts();
	test_full_contexts();
	test_memory();
	test_full_table();
	test_inherited();
	if (failures == 0)
		puts("ok");
	return failures != 0;
}
