/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into any program: at its calls of malloc, calloc, realloc and free, captures the stack with the
 * recorder's unwinder and with libgcc's, which shares no code with it, and compares all frames. At the end
 * writes to the file $WITNESS_OUT.PID:
 *
 *     stacks COMPARED equal EQUAL shorter SHORTER other OTHER
 *
 * shorter: libgcc ended at code without a table, and all frames up to there were equal. The first few others
 * follow in full. With WITNESS_EVERY=N the witness captures every event and compares every Nth.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "modules.h"
#include "unwind.h"

#define CAPACITY 16384u
#define WANTED 2048u
#define OWN_MOST 16u
#define SHOWN 5u

#define WITNESS __attribute__((visibility("default"), noinline))

/* libgcc's interface, declared here because its header has the name of the recorder's. */
struct _Unwind_Context;
typedef int trace_function(struct _Unwind_Context *, void *);
int _Unwind_Backtrace(trace_function *, void *);
uintptr_t _Unwind_GetIPInfo(struct _Unwind_Context *, int *);

WITNESS void *malloc(size_t size);
WITNESS void *calloc(size_t n, size_t size);
WITNESS void *realloc(void *old, size_t size);
WITNESS void free(void *p);

#ifndef __GLIBC__
/* What libgcc asks of glibc; the recorder, which would find it, does not. */
__attribute__((visibility("hidden"))) int _dl_find_object(void *pc, struct modules_found *found);

struct search {
	uintptr_t pc;
	struct modules_found *found;
};

static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	const struct search *search = data;
	bool inside = false;

	(void)size;
	*search->found = (struct modules_found){ 0 };
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		const uintptr_t start = object->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && search->pc - start < p->p_memsz) {
			inside = true;
			search->found->map_start = (void *)start;
			search->found->map_end = (void *)(start + p->p_memsz);
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			search->found->frames = (void *)start;
		}
	}
	return inside;
}

int _dl_find_object(void *pc, struct modules_found *found)
{
	struct search search = { (uintptr_t)pc, found };

	return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}
#endif

/* The state of a thread. */
struct witness {
	bool busy;
	struct unwind_stack *stack;
	unsigned n, first; /* libgcc's frames, and the index of the caller's */
	uintptr_t raw[WANTED + OWN_MOST];
};

static __thread struct witness *witness __attribute__((tls_model("initial-exec")));
static __thread bool off __attribute__((tls_model("initial-exec")));

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);

static _Atomic uint64_t events, compared, equal, shorter, other;
static uint64_t every = 1;
static _Atomic bool ready;
static char report[16384];
static _Atomic size_t report_used;

/* Before malloc is known, and for dlsym() itself. */
static char arena[64 << 10] __attribute__((aligned(16)));
static _Atomic size_t arena_used;

static void *arena_alloc(size_t size)
{
	const size_t at = atomic_fetch_add(&arena_used, (size + 15) & ~(size_t)15);

	return at + size <= sizeof(arena) ? arena + at : NULL;
}

static bool in_arena(const void *p)
{
	return (const char *)p >= arena && (const char *)p < arena + sizeof(arena);
}

static uint64_t stamp(void)
{
	static _Atomic uint64_t now;

	return ++now;
}

static void *map(size_t bytes)
{
	void *p =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static struct witness *witness_now(void)
{
	char *memory;

	if (witness || !(memory = map(sizeof(*witness) + 64 + unwind_stack_bytes(CAPACITY))))
		return witness;
	witness = (struct witness *)memory;
	memory = (char *)(((uintptr_t)(witness + 1) + 63) & ~(uintptr_t)63);
	witness->stack = unwind_stack_init(memory, CAPACITY, WANTED);
	return witness;
}

static int take_frame(struct _Unwind_Context *context, void *data)
{
	struct witness *w = data;
	int exact;

	if (w->n == WANTED + OWN_MOST)
		return 5; /* _URC_END_OF_STACK */
	w->raw[w->n++] = _Unwind_GetIPInfo(context, &exact);
	return 0;
}

static void show(const struct witness *w, uint32_t node, unsigned bad)
{
	const struct unwind_node *nodes = w->stack->nodes;
	char line[512];
	size_t at;
	int n;

	for (unsigned i = 0; node && i < bad + 3; i++, node = nodes[node].parent) {
		const uintptr_t ours = unwind_node_pc(&nodes[node]);
		const uintptr_t theirs = w->first + i < w->n ? w->raw[w->first + i] - 1 : 0;
		Dl_info info = { 0 };

		if (i + 4 < bad)
			continue;
		dladdr((void *)ours, &info);
		n = snprintf(line, sizeof(line), "  %2u %#lx %#lx %s+%#lx %s\n", i, ours, theirs,
			     info.dli_fname ? info.dli_fname : "?", ours - (uintptr_t)info.dli_fbase,
			     info.dli_sname ? info.dli_sname : "");
		at = atomic_fetch_add(&report_used, (size_t)n);
		if (n > 0 && at + (size_t)n < sizeof(report))
			memcpy(report + at, line, (size_t)n);
	}
}

static void compare(struct witness *w, uint32_t node, uintptr_t caller)
{
	const struct unwind_node *nodes = w->stack->nodes;
	uint32_t n = node;
	unsigned i = 0, end;

	w->n = w->first = 0;
	_Unwind_Backtrace(take_frame, w);
	while (w->first < w->n && w->raw[w->first] != caller)
		w->first++;
	/* libgcc lists the end of the chain, pc 0, where clone() leaves one. */
	for (end = w->n; end > w->first && w->raw[end - 1] < 4096; end--)
		;
	for (; n && w->first + i < end && unwind_node_pc(&nodes[n]) == w->raw[w->first + i] - 1; i++)
		n = nodes[n].parent;
	atomic_fetch_add(&compared, 1);
	if (i >= WANTED || (!n && w->first + i == end)) {
		atomic_fetch_add(&equal, 1);
	} else if (n && w->first + i == end && i > 0) {
		atomic_fetch_add(&shorter, 1);
	} else if (atomic_fetch_add(&other, 1) < SHOWN) {
		show(w, node, i);
	}
}

static __attribute__((noinline)) void take(const struct unwind_regs *regs)
{
	const int saved = errno;
	struct witness *w;
	uint32_t node;

	if (!atomic_load(&ready) || off || !(w = witness_now()) || w->busy)
		return;
	w->busy = true;
	node = unwind_capture(w->stack, regs);
	if (atomic_fetch_add(&events, 1) % every == 0)
		compare(w, node, regs->pc);
	w->busy = false;
	errno = saved;
}

#define TAKE() take(CALLER_REGS())

static void resolve(void)
{
	static bool resolving;

	if (resolving)
		return;
	resolving = true;
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

WITNESS void *malloc(size_t size)
{
	if (!real_malloc)
		resolve();
	TAKE();
	return real_malloc ? real_malloc(size) : arena_alloc(size);
}

WITNESS void *calloc(size_t n, size_t size)
{
	if (!real_malloc)
		resolve();
	TAKE();
	return real_malloc ? real_calloc(n, size) : arena_alloc(n * size);
}

WITNESS void *realloc(void *old, size_t size)
{
	if (!real_malloc)
		resolve();
	TAKE();
	if (!in_arena(old))
		return real_realloc(old, size);
	void *p = real_malloc(size);
	const size_t readable = (size_t)(arena + sizeof(arena) - (char *)old);

	if (p)
		memcpy(p, old, size < readable ? size : readable);
	return p;
}

#ifndef __GLIBC__
WITNESS void *aligned_alloc(size_t align, size_t size);

/* musl refuses to align blocks where malloc() alone is replaced. */
WITNESS void *aligned_alloc(size_t align, size_t size)
{
	static void *(*real)(size_t, size_t);

	if (!real)
		real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	return real(align, size);
}
#endif

WITNESS void free(void *p)
{
	if (!p || in_arena(p))
		return;
	TAKE();
	real_free(p);
}

static __attribute__((constructor)) void begin(void)
{
	struct module_table *table = map(module_table_bytes(4096, 1 << 20));
	const char *value = getenv("WITNESS_EVERY");

	if (value && atoi(value) > 0)
		every = (uint64_t)atoi(value);
	if (!real_malloc)
		resolve();
	if (!table)
		return;
	table->capacity = 4096;
	table->text_capacity = 1 << 20;
	modules_init(table, (modules_find_function *)dlsym(RTLD_DEFAULT, "_dl_find_object"), stamp);
	/* libgcc's first walk allocates. */
	off = true;
	_Unwind_Backtrace(take_frame, witness_now());
	off = false;
	atomic_store(&ready, true);
}

static __attribute__((destructor)) void end(void)
{
	const char *name = getenv("WITNESS_OUT");
	const size_t used = atomic_load(&report_used);
	char path[4096], line[256];
	int fd, n;

	atomic_store(&ready, false);
	if (!name)
		return;
	snprintf(path, sizeof(path), "%s.%d", name, getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	n = snprintf(line, sizeof(line), "stacks %lu equal %lu shorter %lu other %lu\n", compared, equal,
		     shorter, other);
	if (fd < 0 || write(fd, line, (size_t)n) != n ||
	    write(fd, report, used < sizeof(report) ? used : sizeof(report)) < 0)
		return;
	close(fd);
}
